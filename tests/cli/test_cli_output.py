"""What the command line prints for people: colours, headers, pooled inputs, citations, pages, and
examples; all of it no wider than the terminal."""

from __future__ import annotations

import json
import re
import shlex
import webbrowser

import numpy as np
import pytest
from factories.commands import command_leaves, write_arrays
from factories.output import assert_fits, on_terminal

import resemblance as rs
from resemblance import citations, cli
from resemblance.engine import forecast, memory
from resemblance.report.citing import format_reference
from resemblance.report.markup import tables_to_latex
from resemblance.report.terminal import plain_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with files a.npy, b.npy and c.npy of the same samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_arrays(tmp_path)
    return tmp_path


# --------------------------------------------------------------------- colours, headers and pooling


def colored(words, monkeypatch, **environment):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return on_terminal(lambda: cli.run(words.split()), 120, terminal="xterm-256color")


def test_pvalues_are_colored_unless_the_terminal_has_no_color(folder, monkeypatch):
    words = "evidence a.npy b.npy -m cka -q"
    assert "\x1b[32m" in colored(words, monkeypatch)
    assert "\x1b[32m" not in colored(words, monkeypatch, NO_COLOR="1")


def test_a_pipe_gets_colors_only_by_force(call, folder, monkeypatch):
    words = ["evidence", "a.npy", "b.npy", "-m", "cka", "-q"]
    assert "\x1b" not in call(*words)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[32m" in call(*words)[1]


def test_columns_of_a_matrix_have_names_where_they_fit(call, folder):
    for name in ("first", "second"):
        np.save(folder / f"{name}{'x' * 40}.npy", np.load("a.npy"))
    _, out, _ = call("compare a.npy b.npy c.npy -m cka -q")
    assert ["a", "b", "c"] in [line.split() for line in out.splitlines()]
    long = [f"{name}{'x' * 40}.npy" for name in ("first", "second")]
    _, out, _ = call("compare", "a.npy", *long, "-m", "cka", "-q")
    assert ["1", "2", "3"] in [line.split() for line in out.splitlines()]
    assert f"2 first{'x' * 40}" in out


def test_pool_makes_rows_of_tokens_and_maps(call, rng):
    tokens, maps = rng.standard_normal((30, 5, 4)), rng.standard_normal((30, 3, 4, 2))
    np.save("deep.npy", tokens)
    np.savez("deep.npz", x=maps)
    for file, pool, rows in (
        ("deep.npy", "last", tokens[:, -1]),
        ("deep.npz", "max", maps.max(axis=(2, 3))),
    ):
        code, out, _ = call(f"compare a.npy {file} --pool {pool} -m cka --format json")
        assert code == 0
        expected = rs.cka(np.load("a.npy"), rows)
        assert json.loads(out)["records"][1]["value"] == pytest.approx(expected, rel=1e-12)


def test_pool_that_is_missing_wrong_or_idle(refused):
    np.save("tokens.npy", np.ones((30, 5, 4)))
    refused("""
        compare a.npy tokens.npy -m cka | --pool mean
        compare a.npy tokens.npy -m cka --pool positions | tokens.npy
        compare a.npy tokens.npy -m cka --pool positions | pool must be one of 'first'
        compare a.npy b.npy -m cka --pool mean | has no effect
    """)


# ------------------------------------------------------------------------------ citations and pages


def test_cite_prints_each_work_once_as_bibtex_or_text(call, refused):
    assert call("cite", "cka", "CKA", "resi")[1] == rs.cite("cka", "resi") + "\n"
    assert call("cite")[1] == call("cite resemblance")[1]
    _, out, _ = call("cite gulp --format text")
    assert out.startswith("Boix-Adserà et al. (2022). GULP: a Prediction-Based Metric")
    assert "https://arxiv.org/abs/2210.06545" in out
    refused("""
        cite ckaa | did you mean 'cka'
        cite cka --format apa | apa
    """)


def test_every_work_can_be_written_as_text():
    for key in citations.bibliography():
        text = format_reference(key)
        assert not set("{}\\") & set(text.partition(" http")[0]), text
        assert re.search(r"\((19|20)\d\d\)\. ", text)


@pytest.mark.parametrize(
    "words",
    [
        "compare a.npy b.npy --measures cka",
        "evidence a.npy b.npy --measures cka",
        "compare a.npy b.npy --measures cka --stream",
        "drift a.npy a.npy --n-resamples 10",
        "upgrade-index a.npy a.npy q.npy q.npy",
    ],
)
def test_commands_with_a_page_begin_and_end_alike(call, refused, folder, monkeypatch, words):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda url: shown.append(url) or len(shown) == 1)
    np.save("q.npy", np.load("a.npy") + 0.1)
    end, out, err = call(f"{words} -o t.json --html p.html")
    assert (out, err) == ("", "wrote t.json, p.html\n")
    assert json.loads((folder / "t.json").read_text())["provenance"]
    assert f"resemblance {words}" in (folder / "p.html").read_text(encoding="utf-8")
    assert call(f"{words} -q -o t.txt --html p.html --open") == (end, "", "")
    assert shown == [(folder / "p.html").resolve().as_uri()]
    assert "no browser" in call(f"{words} -q -o t.txt --html p.html --open")[2]
    (folder / "place").mkdir()
    refused(f"""
        {words} --open | --html
        {words} --format jsn | did you mean 'json'
        {words} -o t.png | tables cannot be written as .png; choose one of .txt, .json
        {words} -o a.npy/t.json | a.npy is a file, so a.npy/t.json cannot be written into it
        {words} -o /dev/full --format json | No space left on device: '/dev/full'
        {words} --html place | place is a folder
        {words} --html p.png | a page is written as .html, not as .png
    """)


@pytest.mark.filterwarnings("always")
def test_a_plan_has_no_page(call, folder):
    code, out, message = call("compare a.npy b.npy --plan --html p.html")
    assert (code, bool(out), (folder / "p.html").exists()) == (0, True, False)
    assert "--plan computes nothing, so p.html is not written" in message


def test_a_study_below_a_file_names_the_place(refused, folder):
    refused("""
        bench run resi a.npy/study | a.npy/study
        bench run resi a.npy | a.npy is a file
        bench run sensitivity a.npy/study | a.npy/study
        compare a.npy b.npy --save /dev/full | /dev/full cannot be used as a comparison file
    """)


# ------------------------------------------------------------------------------- examples


def test_examples_of_every_help_are_calls_that_parse(subtests):
    for name, command in command_leaves().items():
        with subtests.test(name):
            lines = (command.epilog or "").replace(r"\[", "[").split("\n\n")
            assert lines[0] == "Examples:"
            assert len(lines) > 1
            for line in lines[1:]:
                words = shlex.split(line.partition(" > ")[0].removeprefix(f"resemblance {name}"))
                assert line.startswith(f"resemblance {name}")
                command.make_context("example", words)


# ------------------------------------------------------------------------------- widths


@pytest.mark.parametrize(
    "words",
    [
        "compare many -q -m default",
        "compare a.npy nan.npy -m cka,rsa -q",
        "compare a.npy b.npy c.npy -m cka,rsa --plan -q",
        "compare --stream a.npy b.npy c.npy -m cka,procrustes -q",
    ],
)
def test_a_terminal_gets_every_word_in_80_columns(words, folder, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    (folder / "many").mkdir()
    for i in range(12):
        rows = np.random.default_rng(i).standard_normal((30, 4))
        np.save(folder / "many" / f"network-of-seed-{i}.npy", rows)
    for module in (forecast, memory):
        monkeypatch.setattr(module, "available_memory", lambda: 8_000_000_000)
    assert_fits(lambda: cli.run(words.split()), capsys, 80)


# ------------------------------------------------------------------------------- tables for papers


def test_tables_for_papers_escape_names_and_keep_all_rows(call, folder):
    np.save("x_1 & 50%|<b>.npy", np.load("a.npy"))
    words = ["evidence", "x_1 & 50%|<b>.npy", "b.npy", "-m", "cka,procrustes", "-q", "--format"]
    _, latex, _ = call(*words, "latex")
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 1
    assert r"x\_1 \& 50\%|\textless{}b\textgreater{}" in latex
    assert len(re.findall(r" & .* \\\\$", latex, flags=re.MULTILINE)) == 3
    outside = re.sub(r"\\begin{tabular}.*\\end{tabular}", "", latex, flags=re.DOTALL)
    assert all(line.startswith("%") for line in outside.split("\n") if line)
    assert "\n% a\n% b\n" in tables_to_latex(["a\nb", plain_table(["p"], [["< 1e-4"]])])
    assert r"$<10^{-4}$" in tables_to_latex([plain_table(["p"], [["< 1e-4"]])])
    _, markdown, _ = call(*words, "markdown")
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert len(rows) == 4
    assert r"x\_1 & 50%\|\<b\>" in rows[2]


# ----------------------------------------------------------------------------------- names of users

LAYERS = ["a\udcff\x00\x1b\r=1", "＝1", "＠sum"]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "md", "tex", "txt", "html"])
@pytest.mark.parametrize("make", ["compare", "evidence"])
def test_names_that_no_file_can_hold_cost_no_result(tmp_path, kind, make):
    rng = np.random.default_rng(0)
    layers = {name: rng.standard_normal((20, 3)) for name in LAYERS}
    result = getattr(rs, make)(layers, measures=["cka"], progress=False)
    path = tmp_path / f"result.{kind}"
    if kind == "html":
        rs.report.write_page(result, path)
    else:
        result.to_table(path)
    if kind in ("parquet", "json"):
        return
    text = path.read_bytes().decode("utf-8")
    assert not {"\x00", "\x1b", "\r"} & set(text)
    if kind == "csv":
        assert "'＝1" in text
        assert "'＠sum" in text


def test_chance_of_zero_has_no_sign(rng):
    layers = {name: rng.standard_normal((20, 3)) for name in "ab"}
    evidence = rs.evidence(layers, measures="cka[estimator=debiased]", progress=False)
    chance = evidence.to_pandas()["chance"].dropna()
    assert not np.signbit(chance[chance == 0]).any()
