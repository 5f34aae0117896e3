"""`resemblance rank`, and suites that run on packs from the command line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import warnings

import pytest
from factories.packs import OWN

import resemblance as rs
from resemblance.bench import run
from resemblance.bench.ranking import ranking, read_scores
from resemblance.checks import check_measure
from resemblance.cli.inputs import load_user_measure

NO_NETWORK_DIFFERS = "With networks as the random unit, no measure is shown to differ from CKA."


@pytest.fixture(scope="module")
def tiny(tiny_board, tmp_path_factory):
    """A file of scores on two tiny packs, next to the cache that has the packs."""
    folder = shutil.copytree(tiny_board, tmp_path_factory.mktemp("tiny") / "board")
    return folder / "scores.jsonl"


@pytest.fixture(autouse=True)
def folder(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("RESEMBLANCE_CACHE", str(tiny.with_name("cache")))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def words(tiny, *more):
    return ("rank", "mine.py:top_share", *among(tiny), *more)


def among(tiny):
    return ("--against", tiny, "--packs", "tiny", "-j", 1, "-q")


def test_rank_prints_a_verdict_per_question_and_the_cost(call, tiny):
    code, out, err = call(*words(tiny))
    assert (code, err) == (0, "")
    assert out.strip().startswith("TopShare (top_share): ")
    heads = (
        "models were trained alike (AUPRC)",
        "TopShare    CKA",
        " alone, 95 %  ",
        " together, 95 % ",
    )
    for text in (*heads, "times that of", NO_NETWORK_DIFFERS):
        assert text in out
    assert "top_share" not in tiny.read_text()


def test_a_table_for_a_paper_has_the_verdict_on_the_terminal_and_no_overclaim(call, tiny, folder):
    code, out, err = call(*words(tiny)[:-1], "-o", "t.tex")
    assert (code, out, err.count("TopShare (top_share): ")) == (0, "", 1)
    table = (folder / "t.tex").read_text()
    assert rf"\multicolumn{{7}}{{l}}{{{NO_NETWORK_DIFFERS}}}" in table
    assert "\n% \n" not in table


def test_rank_in_python_is_what_the_command_prints(call, tiny, folder):
    measure = load_user_measure(folder / "mine.py", "top_share")
    ranked = rs.bench.rank(measure, packs="tiny", against=tiny, save="kept.jsonl")
    _, out, _ = call(*words(tiny, "--format", "json"))
    document = json.loads(ranked.to_table(folder / "t.json").read_text())
    verdicts = [d["verdicts"] for d in (document, json.loads(out))]
    for verdict in (*verdicts[0], *verdicts[1]):
        assert verdict.pop("cpu_seconds") >= 0
    assert verdicts[0] == verdicts[1]
    assert ranked.summary().startswith("TopShare (top_share): ")
    page = ranked.to_html(folder / "p.html").read_text()
    assert "→ TopShare" in page
    assert r"\begin{tabular}" in ranked.to_table(folder / "t.tex").read_text()
    assert [s.measure.spec for s in read_scores("kept.jsonl")] == ["top_share"] * 2
    ranked.save(folder / "r.json")
    assert rs.load(folder / "r.json").ranking == ranked.ranking


@pytest.mark.parametrize(
    ("measures", "words", "problem"),
    [
        ((), {}, "needs a measure"),
        (("cka",), {"benchmark": "nothing"}, "got 'nothing'"),
        (("cka",), {"benchmark": "stability"}, "no pack of the benchmark"),
        (("cka",), {"packs": "architectures", "benchmark": "stability"}, "no pack of the bench"),
        (("cka",), {"packs": "nothing"}, "no packs of the series 'nothing'"),
        (("cka",), {"packs": "architectures", "against": None}, "build the pack .* --size arch"),
        (("cka",), {"unit": "models"}, "unit must be"),
        (("cka",), {"save": "mine.py"}, "line 1 of mine.py has no scores"),
        (("cka",), {"jobs": 0}, "jobs must be a number of processes, at least 1"),
        (("cka",), {"jobs": "2"}, "jobs must be a number of processes"),
        (("cka",), {"jobs": 2.5}, "jobs must be a number of processes"),
        (("cka",), {"baseline": "ckaa"}, "the baseline 'ckaa' has no scores"),
    ],
)
def test_rank_refuses_mistakes_before_the_work(tiny, measures, words, problem):
    with pytest.raises(ValueError, match=problem):
        rs.bench.rank(*measures, **{"packs": "tiny", "against": tiny, **words})


def test_a_pack_that_was_built_again_needs_scores_of_the_baseline(tiny, monkeypatch):
    monkeypatch.setattr(ranking, "ARCHITECTURES_SERIES", "tiny")
    monkeypatch.setattr(ranking, "ARCHITECTURES_PACK", "resi-tiny@1")
    monkeypatch.setattr(ranking, "SHIPPED_ARCHITECTURES", tiny.with_name("none"))
    with pytest.raises(ValueError, match=r"copy of resi-tiny@1, .*; give 'cka' as a measure, too"):
        rs.bench.rank("procrustes", packs="tiny")
    ranked = rs.bench.rank("procrustes", "cka", packs="tiny", unit="networks")
    assert {m.spec: m.baseline for m in ranked.measures} == {"procrustes": "CKA", "cka": "CKA"}
    assert "The random unit is the network" in ranked.summary()
    assert all(v.size_alone is not None for v in ranked.measures[0].verdicts)
    assert {s.measure.spec for s in ranked.scores} == {"procrustes", "cka"}


def test_saved_scores_are_used_like_all_others(call, tiny, folder):
    shutil.copy(tiny, folder / "more.jsonl")
    before = (folder / "more.jsonl").read_text().splitlines()
    call(*words(tiny, "--save", "more.jsonl"))
    after = (folder / "more.jsonl").read_text().splitlines()
    assert [line for line in after if line not in before] == [after[-1]]  # one line for a measure
    assert len(after) == len(before) + 1
    code, out, _ = call("rank", "cka", *among(folder / "more.jsonl"), "--format", "json")
    assert code == 0
    assert {v["verdict"] for v in json.loads(out)["verdicts"]} == {"baseline"}


def test_scores_of_one_suite_join_those_of_the_others(call, tiny, folder):
    for suite in ("resi", "manifolds"):
        call(*words(tiny, "--benchmark", suite, "--save", "kept.jsonl"))
    assert [s.suite for s in read_scores("kept.jsonl")] == ["manifolds", "resi"]


def test_scores_on_another_pack_of_the_name_are_refused(call, tiny, folder):
    manifest = read_scores(tiny)[0].manifest
    (folder / "other.jsonl").write_text(tiny.read_text().replace(manifest, "0" * 64))
    code, _, err = call(*words(folder / "other.jsonl"))
    assert code == 2
    assert "get the pack of the scores" in err


def test_a_measure_that_ends_the_process_is_an_error(call, tiny, folder):
    (folder / "mine.py").write_text(OWN.replace("first,", "raise SystemExit(0)\n    first,", 1))
    code, _, err = call(*words(tiny))
    assert code == 3
    assert "top_share ends the process, with 0" in err
    faults = [o.detail for o in check_measure(load_user_measure(folder / "mine.py", "top_share"))]
    assert faults == ["SystemExit: 0 (mine.py:11)"]


def test_a_measure_without_values_has_no_verdict(call, tiny, folder):
    raising = OWN.replace("first, second =", "raise rs.UndefinedError('no')\n    first, second =")
    (folder / "mine.py").write_text(raising)
    code, out, _ = call(*words(tiny, "--format", "json"))
    assert code == 0
    assert {v["verdict"] for v in json.loads(out)["verdicts"]} == {"no score"}
    code, out, err = call(*words(tiny))
    assert (code, err) == (0, "")
    assert out.count("No answer to which models were trained alike") == out.count("No answer") == 1


def test_a_warning_of_a_measure_is_given_once(call, tiny, folder):
    (folder / "mine.py").write_text(
        OWN.replace("first, second =", "import warnings; warnings.warn('odd')\n    first, second =")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = call("rank", "mine.py:top_share", *among(tiny)[:4], "-j", 2)
    assert (code, err.count("odd")) == (0, 1)


def test_a_measure_with_the_scores_of_another_is_said_to_be_the_same(call, tiny, folder):
    (folder / "again.py").write_text(OWN.replace("top_share", "again").replace("TopShare", "Again"))
    code, out, err = call("rank", "mine.py:top_share", "again.py:again", *among(tiny))
    assert (code, err) == (0, "")
    for label in ("TopShare", "Again"):
        assert re.search(rf"Same scores as {label} in (\d) of \1 questions: is it the same", out)
    code, out, _ = call(*words(tiny))
    assert "Same scores as" not in out


def test_a_page_is_of_all_benchmarks(call, tiny):
    code, out, err = call(*words(tiny, "--benchmark", "resi", "--html", "p.html"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "leave out --benchmark" in err


def test_rank_needs_no_pytorch(tiny, folder):
    code = (
        "import sys\nfrom resemblance.cli import run\n"
        f"code = run({[str(w) for w in words(tiny)]!r})\nsys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "TopShare" in done.stdout


# ------------------------------------------------------------------------------- suites on packs


def test_a_suite_runs_on_a_pack(call, tiny, folder):
    pack = "manifolds-tiny@1"
    words = ("bench", "run", "manifolds", "s", "--pack", pack, "-m", "cka,rsa", "-j", 1, "-q")
    assert call(*words) == (0, "", "")
    assert (folder / "s/index.html").exists()
    document = json.loads(call("bench results s --format json")[1])
    assert document["size"] == pack
    saved = {s["name"]: s["scores"] for s in document["sections"]}
    scores = run("manifolds", pack=pack, measures=["cka", "rsa"]).scores()
    assert saved["rings"]["tau"] == scores["rings", "tau"]
    (folder / "s/result.json").unlink()
    code, _, err = call("bench results s")
    assert (code, f"bench run manifolds s --pack {pack}" in err) == (2, True)


@pytest.mark.parametrize(
    ("suite", "more", "problem"),
    [
        ("manifolds", ("--size", "small"), "--size and --pack cannot be combined"),
        ("manifolds", ("--claims", "c.py:CLAIMS"), "--claims and --pack cannot be combined"),
        ("resi", ("--domain", "vision"), "--domain and --pack cannot be combined"),
        ("resi", ("--models", "m"), "--models and --pack cannot be combined"),
        ("sensitivity", ("--only", "layers"), "--only and --pack cannot be combined"),
        ("resi", (), "is a pack of manifolds, not of resi"),
    ],
)
def test_what_a_pack_has_settled_cannot_be_chosen(call, folder, suite, more, problem):
    code, _, err = call("bench", "run", suite, "s", "--pack", "manifolds-tiny@1", *more, "-q")
    assert code == 2
    assert problem in err
    assert not (folder / "s").exists()


def test_a_pack_that_is_not_there_is_refused(tiny):
    with pytest.raises(ValueError, match="is not installed"):
        run("resi", pack="nothing@1")
