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
from resemblance.bench.ranking import read_scores
from resemblance.checks import check_measure
from resemblance.cli.inputs import load_user_measure


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


def test_rank_prints_place_neighbors_suites_and_cost(call, tiny):
    code, out, err = call(*words(tiny))
    assert (code, err) == (0, "")
    assert "Place " in out
    assert "of 5, with a mean rank of" in out
    for text in ("→", "CKA", "manifolds", "leader", "CPU time: ", "times that of CKA"):
        assert text in out
    assert "top_share" not in tiny.read_text()


def test_rank_in_python_is_what_the_command_prints(call, tiny, folder):
    measure = load_user_measure(folder / "mine.py", "top_share")
    ranks = rs.bench.rank(measure, packs="tiny", against=tiny, save="kept.jsonl")
    _, out, _ = call(*words(tiny, "--format", "json"))
    document = json.loads(ranks.to_table(folder / "t.json").read_text())
    standings = [d["standings"][0] for d in (document, json.loads(out))]
    for standing in standings:
        assert standing.pop("seconds") >= 0
        assert standing.pop("times") > 0
    assert standings[0] == standings[1]
    assert "TopShare (top_share): Place " in ranks.summary()
    assert "TopShare (top_share): Place " in ranks.to_html(folder / "p.html").read_text()
    assert [s.measure.spec for s in read_scores("kept.jsonl")] == ["top_share"] * 2
    ranks.save(folder / "r.json")
    assert rs.load(folder / "r.json").ranking == ranks.ranking


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"benchmark": "nothing"}, "got 'nothing'"),
        ({"benchmark": "stability"}, "no pack of it"),
        ({"packs": "nothing"}, "no packs of the series 'nothing'"),
        ({"save": "mine.py"}, "line 1 of mine.py has no scores"),
        *(({"jobs": jobs}, "jobs must be a number of processes") for jobs in (0, "2", 2.5)),
    ],
)
def test_rank_refuses_mistakes_before_the_work(tiny, words, problem):
    with pytest.raises(ValueError, match=problem):
        rs.bench.rank("cka", **{"packs": "tiny", "against": tiny, **words})
    with pytest.raises(ValueError, match="needs a measure"):
        rs.bench.rank(packs="tiny", against=tiny)


def test_saved_scores_are_ranked_like_all_others(call, tiny, folder):
    shutil.copy(tiny, folder / "more.jsonl")
    before = (folder / "more.jsonl").read_text().splitlines()
    call(*words(tiny, "--save", "more.jsonl"))
    after = (folder / "more.jsonl").read_text().splitlines()
    assert [line for line in after if line not in before] == [after[-1]]  # one line for a measure
    assert len(after) == len(before) + 1
    code, out, _ = call("rank", "cka", *among(folder / "more.jsonl"), "--format", "json")
    (standing,) = json.loads(out)["standings"]
    assert (code, standing["among"]) == (0, 5)


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


def test_one_suite_with_few_cells_gives_no_place(call, tiny):
    code, out, _ = call(*words(tiny, "--benchmark", "manifolds"))
    assert code == 0
    assert re.search(r"It has no place: .* 6 cells of a suite; there are \d cells", out)


def test_a_measure_without_values_has_no_place(call, tiny, folder):
    raising = OWN.replace("first, second =", "raise rs.UndefinedError('no')\n    first, second =")
    (folder / "mine.py").write_text(raising)
    code, out, _ = call(*words(tiny, "--format", "json"))
    (standing,) = json.loads(out)["standings"]
    assert (code, standing["place"]) == (0, None)
    assert sum(standing["missing"].values()) == standing["cells"]
    code, out, err = call(*words(tiny))
    assert (code, err) == (0, "")
    assert out.splitlines()[1].startswith(f"No score in any of {standing['cells']} cells")
    assert "Place" not in out


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
        assert f"It has the same score as {label} in" in out
    code, out, _ = call(*words(tiny))
    assert "It has the same score as" not in out


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
        ("manifolds", ("--size", "small"), "--size and --pack exclude each other"),
        ("manifolds", ("--claims", "c.py:CLAIMS"), "--claims and --pack exclude each other"),
        ("resi", ("--domain", "vision"), "--domain and --pack exclude each other"),
        ("resi", ("--models", "m"), "--models and --pack exclude each other"),
        ("sensitivity", ("--only", "layers"), "--only and --pack exclude each other"),
        ("resi", (), "is a pack of manifolds, not of resi"),
    ],
)
def test_what_a_pack_has_settled_cannot_be_chosen(call, folder, suite, more, problem):
    code, _, err = call("bench", "run", suite, "s", "--pack", "manifolds-tiny@1", *more, "-q")
    assert code == 2
    assert problem in err
    assert not (folder / "s").exists()


def test_a_pack_that_is_not_there_is_refused(tiny):
    with pytest.raises(ValueError, match="neither ships with the library"):
        run("resi", pack="nothing@1")
