"""The commands of a suite, and its result in a terminal and in files."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas
import pytest
import typer
from factories.figures import CLAIMS, FINDINGS, TABLE
from factories.files import hide
from factories.output import assert_fits

import resemblance as rs
from resemblance import cli
from resemblance.bench.study import Purpose, add_claims, append_to_log, study_folder
from resemblance.cli.suites import SuiteCommands, bench_commands
from resemblance.report import terminal, write_page
from resemblance.report.output import print_tables, write_output
from resemblance.sections.claims import NO_DATA, NOT_REPRODUCED, REPRODUCED, Claim
from resemblance.sections.result import RESULT_COLUMNS, Result
from resemblance.sections.sections import Section, Table

NOTHING = Result("toy", "small", ())


def run_toy(
    folder,
    *,
    measures=None,
    size="default",
    only=None,
    power=1,
    claims=None,
    executor=None,
    memory="2GB",
    progress=None,
):
    """Run the toy suite."""
    measures = (rs.cka, rs.rsa) if measures is None else measures
    if measures[0].name == "procrustes":
        raise KeyboardInterrupt
    sums = [(n, n * (n + 1) / 2) for n in range(3)]
    section = Section(
        "sums",
        "Sums",
        "of numbers",
        (Table("t", "T", ("n", "sum"), tuple(sums)),),
        scores={"cell": {m.spec: float(i) for i, m in enumerate(measures)}},
    )
    with study_folder(folder, Purpose("toy", size)) as (place, _):
        sections = []
        for done, name in enumerate(only or ("sums", "other"), 1):
            of_paper = CLAIMS[:1] if name == "sums" else ()
            sections.append(section._replace(name=name, claims=of_paper))
            if progress:
                progress("adding", done, 2)
        labels = {m.spec: m.label for m in measures}
        about = {"provenance": {"power": power}, "title": "Toys", "about": "Toys first."}
        result = Result("toy", size, tuple(sections), labels, **about)
        result = add_claims(result, claims, {"sums": sums, "other": sums})
        result.save(place / "result.json")
        append_to_log(place, f"toy: {len(sections)} sections")
    return result


def power_of_toys(power: Annotated[int, typer.Option(help="Of toys.")] = 1) -> dict[str, object]:
    """The option that only toys have."""
    if power < 0:
        raise ValueError("--power must not be negative")
    return {"power": power}


def one_section(study: Path, section: Annotated[str, typer.Option(help="Only this.")] = ""):
    """The result of a study, or one of its sections."""
    result = rs.load(study / "result.json")
    sections = tuple(s for s in result.sections if section in ("", s.name))
    return replace(result, sections=sections)


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    commands = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    toy = SuiteCommands(
        "toy",
        run_toy,
        ("small", "default"),
        lambda options: ("cka", "rsa"),
        experiments=("sums", "other"),
        options=power_of_toys,
        read=one_section,
    )
    commands.add_typer(bench_commands({"toy": toy}, {}), name="bench")
    monkeypatch.setattr(cli, "commands", lambda: commands)
    monkeypatch.chdir(tmp_path)

    def called(*words):
        command, *more = map(str, words)
        code = cli.run(["bench", command, *["toy"] * (command == "run"), *more])
        return code, *capsys.readouterr()

    return called


def test_run_prints_and_writes_and_continues(call, tmp_path):
    code, out, err = call("run", "--jobs", 1)
    assert code == 0
    assert re.search(r"S1 +reproduced", out)
    assert re.search(r"\n RSA +1\.0\n", out)
    assert f"Open {tmp_path / 'toy' / 'index.html'}" in out
    assert "adding: 2 of 2" in err
    page = (tmp_path / "toy" / "index.html").read_text(encoding="utf-8")
    assert "<h1>Toys</h1>" in page
    assert "Toys first." in page
    assert call("run", "--jobs", 2, "--quiet") == (0, "", "")
    found = rs.load(tmp_path / "toy" / "result.json")
    assert [s.name for s in found.sections] == ["sums", "other"]


def test_a_suite_has_options_of_its_own(call, tmp_path):
    assert call("run", "--power", 3, "-q", "-j", 1)[0] == 0
    assert rs.load(tmp_path / "toy" / "result.json").provenance["power"] == 3
    code, _, err = call("run", "--power", -1)
    assert (code, err) == (2, "error: --power must not be negative\n")
    assert call("report", "toy", "--section", "other", "--html", "part.html")[0] == 0
    assert "Sums of" not in (tmp_path / "part.html").read_text(encoding="utf-8")


JUDGES = """
from resemblance.sections.claims import Claim

def judge(facts):
    return [Claim("T1", "sums are even", "yes", str(facts[-1][1]), "reproduced")]

def broken(facts):
    return [1 / 0]

CLAIMS, BROKEN, WRONG = {"sums": judge}, {"sums": broken}, [judge]
"""


def test_a_file_of_claims_in_a_package_may_import_its_neighbors(call, tmp_path):
    folder = tmp_path / "some_papers" / "one"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "judges.py").write_text(JUDGES)
    (folder / "claims.py").write_text(
        "from some_papers.one.judges import BROKEN\nfrom .judges import CLAIMS\n"
    )
    before = set(folder.parent.rglob("*"))
    assert call("run", "--claims", f"{folder / 'claims.py'}:CLAIMS", "-q", "-j", 1)[0] == 0
    claims = rs.load(tmp_path / "toy" / "result.json")["sums"].claims
    assert [c.number for c in claims][1:] == ["T1"]
    code, _, err = call("run", "--claims", f"{folder / 'claims.py'}:BROKEN", "-q", "-j", 1)
    assert code == 3
    assert "judges.py:8, in broken: return [1 / 0]" in err
    assert set(folder.parent.rglob("*")) == before  # nothing compiled is left


def test_what_is_compiled_of_a_file_is_not_run_in_its_place(call, tmp_path, subtests):
    folder = tmp_path / "hidden_claims"
    folder.mkdir()
    for path in (folder / "__init__.py", folder / "judges.py", tmp_path / "judges.py"):
        path.write_text(JUDGES)
        hide("raise AssertionError('another code')", path)
    for file in ("judges.py", "hidden_claims/judges.py"):
        with subtests.test(file):
            code, _, err = call("run", "--claims", f"{file}:CLAIMS", "-q", "-j", 1)
            assert (code, err) == (0, "")


def test_mistakes_in_claims_are_one_line(call, tmp_path, subtests):
    values = "NONE, PAIR, NUMBER = ({'sums': lambda _, v=v: v} for v in (None, [('T1', 'a')], 3))"
    (tmp_path / "judges.py").write_text(f"{JUDGES}\n{values}")
    no_claims = "must return a list of resemblance.sections.Claim"
    for claims, message in (
        ("judges", "--claims must be FILE.py:NAME; got judges"),
        ("gone.py:CLAIMS", "gone.py does not exist"),
        ("judges.py:CLAIM", "has no claims 'CLAIM'; did you mean 'CLAIMS'?"),
        ("judges.py:WRONG", "must be a mapping from names of sections to functions"),
        ("judges.py:NONE", no_claims),
        ("judges.py:PAIR", no_claims),
        ("judges.py:NUMBER", no_claims),
    ):
        with subtests.test(claims):
            code, out, err = call("run", "--claims", claims, "-q", "-j", 1)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert err.startswith("error: ")
            assert message in err


def test_claims_of_a_section_that_was_not_run_are_named(call, tmp_path):
    (tmp_path / "judges.py").write_text("CLAIMS = {'summs': lambda facts: []}")
    code, _, err = call("run", "--claims", "judges.py:CLAIMS", "-j", 1)
    assert code == 0
    assert "--claims: summs not judged; the sections of the result are sums, other" in err


def test_status_asks_whose_study_it_is_before_it_plans(tmp_path, capsys):
    (tmp_path / "study.json").write_text('{"format": 3, "suite": "other", "size": "default"}')
    assert cli.run(["bench", "status", str(tmp_path)]) == 2
    assert (
        "is a study of other; bench knows resi, sensitivity, manifolds, stability"
        in capsys.readouterr().err
    )


def test_status_says_how_far_a_study_is(call):
    code, _, err = call("status", "toy")
    assert code == 2
    assert "toy is not a study: it has no study.json" in err
    call("run", "--size", "small", "-q", "-j", 1)
    _, out, _ = call("status", "toy")
    assert out.startswith("toy: toy, small, not running\n")
    assert "last: 2" in out
    _, out, _ = call("status", "toy", "--format", "json")
    facts = {"suite": "toy", "size": "small", "parts": 0, "scores": 4}
    assert facts.items() <= json.loads(out).items()
    assert call("status", "toy", "--format", "csv")[0] == 2


def test_an_interrupt_says_that_it_can_be_continued(call):
    code, out, err = call("run", "-m", "procrustes", "-j", 1, "-q")
    assert (code, out) == (130, "")
    assert "interrupted: finished results are saved in toy; repeat the command to resume" in err


def test_results_in_every_format(call, tmp_path):
    (tmp_path / "toy").mkdir()
    FINDINGS.save(tmp_path / "toy" / "result.json")
    _, out, _ = call("results", "toy")
    assert re.search(r"S3 +not reproduced +Procrustes has false alarms. +44 % +12 %", out)
    assert re.search(r"\n CKA +1\.0 *\n", out)
    assert "CKA has the best mean rank, 1.00, among 3 measures over 2 tasks" in out
    _, out, _ = call("results", "toy", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [r["kind"] for r in rows].count("claim") == 4
    ranks = {r["name"]: (r["value"], r["rank"]) for r in rows if r["measure"] == "gulp"}
    assert ranks == {"a": ("0.7", "2.0"), "b": ("", "3.0")}
    _, out, _ = call("results", "toy", "--format", "json")
    saved = json.loads((tmp_path / "toy" / "result.json").read_text(encoding="utf-8"))
    assert json.loads(out) == saved | {"trial": False}
    assert call("results", "toy", "-o", "found.parquet") == (0, "", "wrote found.parquet\n")
    frame = pandas.read_parquet(tmp_path / "found.parquet")
    assert list(frame.columns) == list(RESULT_COLUMNS)
    assert (len(frame), frame["value"].dtype) == (len(rows), float)


def test_the_rows_of_one_table_as_csv_and_parquet(tmp_path):
    write_output(FINDINGS, "csv", tmp_path / "t.csv", "deletion")
    rows_read = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [(r["measure"], r["p"], r["trial"]) for r in rows_read] == [
        ("CKA", "0.5", "False"),
        ("RSA", "1e-07", "False"),
        ("GULP", "", "False"),
    ]
    numeric = TABLE._replace(rows=(("CKA", 8, 0.5, 1.0, "a"),))
    plain = replace(FINDINGS, sections=(Section("s", "S", "", (numeric,)),))
    write_output(plain, "parquet", tmp_path / "t.parquet", "Spectral Deletion")  # its title
    assert pandas.read_parquet(tmp_path / "t.parquet").measure.tolist() == ["CKA"]
    with pytest.raises(ValueError, match="the result has no table 'x'; it has deletion"):
        write_output(plain, "csv", None, "x")
    both = (TABLE, Table("other", TABLE.title, ("a",), ()))
    with pytest.raises(ValueError, match="have different columns; name one of them"):
        write_output(Result("toy", "s", (Section("s", "S", "", both),)), "csv", None, TABLE.title)


def test_tables_of_data_are_what_csv_and_parquet_have(tmp_path):
    def data(name, columns, *rows):
        return Table(name, name, columns, rows, is_data=True)

    grades = data("grades", ("measure", "grade"), ("CKA", 0.5))
    values = [data(f"v{i}", ("a", "b"), (i, 0.5), (i, 0.25)) for i in (1, 2)]
    found = Result("toy", "full", (Section("s", "S", "", (*values, grades, TABLE)),))
    write_output(found, "csv", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "measure,grade,trial\nCKA,0.5,False\n"
    write_output(found, "parquet", tmp_path / "t.parquet")
    assert pandas.read_parquet(tmp_path / "t.parquet").values.tolist() == [
        [i, b, False] for i in (1, 2) for b in (0.5, 0.25)
    ]
    assert ">grades<" not in page_of(found, tmp_path)


def test_a_terminal_shows_leading_tables():
    table = TABLE._replace(is_leading=True, groups=("", "spectrum", "", "", ""))
    sections, facts, counts = (Section("s", "S", "", (table,)),), {"models": "3"}, {"pairs": "9"}
    text = told_by(Result("toy", "s", sections, facts=facts, counts={"models": "3"} | counts))
    assert "models 3; 9 pairs\n" in text
    assert "Spectral deletion" in text
    assert re.search(r"measure +spectrum k +p +value +mixed\n", text)
    assert re.search(r"RSA +16 +1e−7 +−0.04 +2.5\n", text)


def test_findings_without_scores_or_claims_in_every_format(tmp_path):
    for kind in ("table", "csv", "json", "parquet"):
        write_output(NOTHING, kind, tmp_path / f"none.{kind}")
    assert len(pandas.read_parquet(tmp_path / "none.parquet")) == 0
    assert (tmp_path / "none.table").read_text() == "toy, small\n\n"


SURE = {f"x{i}": {"cka": 0.9, "rsa": 0.5 + 0.1 * (i % 2), "imd": 0.55} for i in range(8)}


def ran(size="default", suite="stability", scores=SURE, **more):
    labels = {"cka": "CKA", "rsa": "RSA", "imd": "IMD"}
    claims = (
        Claim("S1", "it holds", "1", "2", NOT_REPRODUCED),
        Claim("S2", "it is so", "3", "3", REPRODUCED),
    )
    return Result(
        suite,
        size,
        (Section("part", "Part", "about", scores=scores, claims=claims),),
        labels,
        **more,
    )


def told_by(findings):
    target = io.StringIO()
    print_tables(terminal.result_tables(findings), target)
    return target.getvalue()


def page_of(findings, tmp_path):
    write_page(findings, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_trial_has_a_banner_and_neither_verdicts_nor_intervals_nor_order(tmp_path):
    found = ran("small")
    found.save(tmp_path / "result.json")
    assert rs.load(tmp_path / "result.json") == found
    assert {c.verdict for c in found.claims} == {NO_DATA}
    page, told = page_of(found, tmp_path), told_by(found)
    for words in (page, told):
        assert "Trial run: do not interpret these scores." in words
        assert "leads" not in words
        assert "not reproduced" not in words
        assert "95 %" not in words
    first = [line.split()[0] for line in told.splitlines() if line[1:4] in ("CKA", "RSA", "IMD")]
    assert first == ["CKA", "IMD", "RSA"]
    records = found.records()
    assert {(r["trial"], r["rank"]) for r in records} == {(True, None)}
    assert {r["trial"] for r in ran().records()} == {False}


def test_a_measure_that_plays_no_part_is_named():
    partly = {cell: {m: v for m, v in own.items() if m != "imd"} for cell, own in SURE.items()}
    assert "IMD plays no part" in told_by(ran(scores=partly))
    assert "so the measures have no effect" in told_by(ran(scores={}))
    assert "no part" not in told_by(ran())


def test_a_study_of_another_suite_is_a_mistake(call, tmp_path):
    (tmp_path / "toy").mkdir()
    replace(FINDINGS, suite="other").save(tmp_path / "toy" / "result.json")
    code, _, err = call("report", "toy", "--section", "sums")
    assert (code, err) == (2, "error: --section is for studies of toy, and toy is none\n")
    code, _, err = call("report", "toy", "--html", "nowhere/page.html")
    assert (code, err.count("\n")) == (2, 1)


def test_the_tables_fit_the_terminal_and_claims_without_data_are_one_line(call, tmp_path, capsys):
    words = "What is claimed, at some length. " * 4, "in the paper 0.5 ± 0.1", "in this run " * 9
    verdicts = enumerate((REPRODUCED, NO_DATA, NOT_REPRODUCED, NO_DATA))
    long = [Claim(str(i), *words, verdict, "") for i, verdict in verdicts]
    more = Section("more", "More", "about", claims=tuple(long))
    (tmp_path / "toy").mkdir()
    replace(FINDINGS, sections=(*FINDINGS.sections, more)).save(tmp_path / "toy" / "result.json")
    shown = assert_fits(lambda: cli.run(["bench", "results", "toy"]), capsys)
    assert "No data on 3 claims: S4, 1, 3." in shown
    _, piped, _ = call("results", "toy")
    # One line for each.
    assert len([line for line in piped.splitlines() if "What is claimed" in line]) == 2
