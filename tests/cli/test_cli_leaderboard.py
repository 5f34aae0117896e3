"""The command ``leaderboard`` and ``rs.leaderboard``: what they print, write and refuse."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from factories.boards import SERIES, SPECS, cards, scores_of

import resemblance as rs
from resemblance.bench.ranking import ranking, read_board, read_scores, score, write_scores
from resemblance.bench.ranking.ranking import SHIPPED_ARCHITECTURES, packs_of
from resemblance.bench.ranking.trivial import TRIVIAL_SPECS
from resemblance.bench.reliability import LEAST_RELIABILITY


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A file of scores; nothing ships with the library."""
    monkeypatch.setattr(ranking, "SHIPPED", tmp_path / "shipped.jsonl")
    monkeypatch.setenv("COLUMNS", "200")
    return write_scores(tmp_path / "mine.jsonl", scores_of())


@pytest.fixture
def board(results, call):
    """Run a command of the board on the results."""
    return lambda *words: call("leaderboard", results, "--packs", SERIES, *words)


def test_versions_of_a_measure_are_never_mixed(results):
    shared = read_board(results, packs=SERIES)
    newer = next(s for s in scores_of() if s.suite == "resi" and s.measure.spec == "jaccard")
    version = newer.measure.version + 1
    measure = newer.measure._replace(version=version)
    later = write_scores(results.with_name("later.jsonl"), [newer._replace(measure=measure)])
    board = read_board(results, later, packs=SERIES)
    assert set(shared.scores["resi"]) == set(shared.scores["sensitivity"]) == set(SPECS)
    assert board.scores["resi"]["jaccard"].measure.version == version
    assert "jaccard" not in board.scores["sensitivity"]


def test_a_file_of_another_series_is_refused(results):
    with pytest.raises(ValueError, match="holds no scores on packs of the series 'compact'"):
        read_board(results)


# --------------------------------------------------------------------------------------------- show


def test_show_prints_an_answer_per_question_and_a_line_per_measure(board):
    code, out, err = board()
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "Which models were trained alike (6 tasks, AUPRC)" in lines
    assert any(line.startswith("surely behind 4 of 5") for line in lines)
    assert any(line.startswith("surely worse than CKA AngShape −0.") for line in lines)
    assert any(line.startswith("measure training layers") for line in lines)
    assert any(re.match(r"CKA.* \d\.\d\d\*", line) for line in lines)
    assert "from the measure's own paper: OrthProc (sensitivity)." in " ".join(out.split())


def test_show_compares_the_chosen_measures_in_the_chosen_tasks(board):
    _, out, _ = board("--benchmark", "resi", "--metrics", "--format", "json")
    document = json.loads(out)
    metrics = {card.spec for card in cards() if card.metric}
    assert {r["spec"] for r in document["ranking"]} == metrics
    assert [q["you want to know"] for q in document["questions"]] == [
        "which models were trained alike (6 tasks, AUPRC)",
        "how far apart layers are (4 tasks, Spearman)",
    ]
    _, out, _ = board("--domain", "vision", "--format", "json")
    found = {q["you want to know"].partition(" (")[2] for q in json.loads(out)["questions"]}
    assert found == {"3 tasks, AUPRC)", "2 tasks, Spearman)", "7 tasks, Spearman)"}
    _, out, _ = board("--benchmark", "resi", "--test", "labels", "--format", "json")
    assert len(json.loads(out)["questions"]) == 1
    _, out, _ = board("--baseline", "jaccard", "--format", "json")
    assert "surely better than Jaccard" in json.loads(out)["questions"][0]


def test_questions_without_seeds_are_shown_and_not_ranked(board):
    code, out, _ = board("--benchmark", "manifolds")
    assert code == 0
    assert "shown, not ranked (without two seeds of every network, there are" in out
    _, out, _ = board("--benchmark", "manifolds", "--format", "csv")
    records = list(csv.DictReader(io.StringIO(out)))
    assert {r["spec"] for r in records} == set(SPECS)
    assert {r["shapes_may_be_best"] for r in records} == {""}
    assert all(float(r["shapes"]) for r in records)


@pytest.mark.parametrize("suffix", ["md", "tex", "parquet", "txt"])
def test_show_writes_every_format(board, tmp_path, suffix):
    target = tmp_path / f"ranking.{suffix}"
    assert board("-o", target)[:2] == (0, "")
    start = b"PAR1" if suffix == "parquet" else b""
    assert target.read_bytes().startswith(start)
    assert start or "the models are random" in " ".join(target.read_text().split())


def test_mistakes_are_one_line(refused, results):
    board = f"leaderboard {results} --packs {SERIES}"
    refused(f"""
        {board} --benchmark resy | the leaderboard has no tasks 'resy'; did you mean 'resi'?
        {board} --family ccx | the leaderboard has no measures 'ccx'
        {board} --test accuracy | 'accuracy' is a test of a benchmark: name the benchmark as well
        {board} --benchmark resi --domain vision | not both
        {board} --metrics --family alignment | not both
        {board} --baseline ckaa | the baseline 'ckaa' has no scores; did you mean 'cka'?
    """)


def test_a_file_without_scores_is_named(call, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    for path, problem in ((tmp_path, "Is a directory"), (tmp_path / "notes.txt", "line 1 of")):
        code, _, err = call("leaderboard", path)
        assert (code, err.count("\n")) == (2, 1)
        assert str(path) in err
        assert problem in err


# ----------------------------------------------------------------------------------------- versions


def test_the_newest_version_counts_also_beyond_nine(results):
    newest = [scores for scores in scores_of(seed=5) if scores.measure.spec == "cka"]
    files = []
    for version in (9, 10):
        several = [s._replace(measure=s.measure._replace(version=version)) for s in newest]
        files.append(write_scores(results.with_name(f"{version}.jsonl"), several))
    assert read_board(results, *files, packs=SERIES).cards["cka"].version == 10


def test_scores_on_an_earlier_pack_do_not_mix_with_new_ones(results):
    newer = [
        scores._replace(pack="resi-tiny@10", manifest="f" * 64)
        for scores in scores_of(cards(SPECS[:3]), seed=1, suites=["resi"])
    ]
    board = read_board(write_scores(results, newer), packs=SERIES)
    assert {s.pack for s in board.scores["resi"].values()} == {"resi-tiny@10"}
    assert set(board.scores["resi"]) == set(SPECS[:3])


# -------------------------------------------------------------------------------- rs.leaderboard


def test_a_frame_of_the_leaderboard(results):
    frame = rs.leaderboard(results, packs=SERIES).to_pandas()
    assert sorted(frame["spec"]) == sorted(SPECS)
    assert frame["largest_shortfall"].is_monotonic_increasing
    rows = frame.set_index("spec")
    assert rows.loc["cka", "layers_difference"] == 0
    assert (rows["layers_low"] <= rows["layers_difference"]).all()
    best = rows.loc[rows["layers"].idxmax()]
    assert best["layers_may_be_best"]
    card = next(card for card in cards() if card.spec == "procrustes")
    row = rows.loc["procrustes"]
    assert (row["version"], row["metric"]) == (card.version, card.metric)
    assert rows["own_suites"].to_dict() == {
        spec: "sensitivity" * (spec == "procrustes") for spec in rows.index
    }
    assert row["cpu_seconds"] == 3 * 3.0


def test_a_measure_without_an_answer_is_last_and_named(results):
    some = [s for s in scores_of() if (s.suite, s.measure.spec) != ("resi", "jaccard")]
    found = rs.leaderboard(write_scores(results.with_name("some.jsonl"), some), packs=SERIES)
    assert found.records()[-1]["spec"] == "jaccard"
    assert found.records()[-1]["layers"] is None


def test_the_board_that_ships_has_the_entries_of_the_preset():
    for scores in read_board().scores.values():
        assert set(scores) - set(TRIVIAL_SPECS) == {m.spec for m in rs.preset("leaderboard")}
    with pytest.raises(ValueError, match="disagreement compares predictions"):
        score(packs_of()[0], "disagreement")


def test_what_the_board_that_ships_answers():
    """The numbers of an independent computation from all distances of the packs."""
    answers = {a.question.name: a for a in rs.leaderboard().answers}
    training, layers = answers["training"], answers["layers"]
    best = {spec for line in training.best for spec in line.measures}
    assert {"rsm_norm_difference", "bures", "procrustes_size_shape"} <= best
    assert (training.n_tasks, training.degrees_of_freedom, layers.degrees_of_freedom) == (
        12,
        12,
        27,
    )
    norm = training.of("rsm_norm_difference")
    assert norm.score == pytest.approx(0.83, abs=0.005)
    assert norm.joint == pytest.approx((0.15, 0.05, 0.24), abs=0.012)
    assert [line.measures for line in layers.best] == [("eigenspace_overlap",)]
    assert training.of("size_alone").score == pytest.approx(0.77, abs=0.005)
    assert training.of("size_alone").score > training.of("cka").score
    assert training.of("random_guessing").score < 0.4
    assert layers.of("random_guessing").score == pytest.approx(0, abs=0.05)
    assert answers["deletion"].of("rsa") is None


ARCHITECTURES = "leaderboard --packs architectures --unit networks"


def test_what_ten_networks_answer(call):
    board = rs.leaderboard(packs="architectures", unit="networks")
    training, layers = board.answers
    assert (len(training.models), training.degrees_of_freedom) == (10, 9)
    assert (len(layers.models), layers.degrees_of_freedom) == (9, 8)
    assert not any(line.joint.is_better for a in board.answers for line in a.measures)
    worse = {m for line in training.measures if line.joint.is_worse for m in line.measures}
    assert worse == {"imd", "mmd", "sliced_wasserstein"}
    sentence = "(10 for training, 9 for layers): better than CKA: no measure. Worse than CKA: "
    assert sentence in rs.leaderboard().caveats[-1]
    assert "MMD has no answer to how far apart" in rs.leaderboard(baseline="mmd").caveats[-1]
    assert "other networks on the same data sets" in call(ARCHITECTURES)[1]
    assert "with other data sets" in call("leaderboard --unit networks --benchmark resi")[1]
    found = call(f"{ARCHITECTURES} --format json")[1]
    assert json.loads(found)["questions"][0]["surely better than CKA"] == "none"


def test_scores_on_another_pack_of_ten_networks_are_refused(tmp_path):
    own = next(s for s in read_scores(SHIPPED_ARCHITECTURES) if s.measure.spec == "cka")
    for changes, problem in (
        ({"manifest": "0" * 64}, "two copies of resi-architectures@1 .* --against FILE"),
        ({"pack": "resi-architectures@2"}, "this version of the library does not know"),
    ):
        file = write_scores(tmp_path / f"{problem[:3]}.jsonl", [own._replace(**changes)])
        with pytest.raises(ValueError, match=problem):
            rs.leaderboard(file, packs="architectures")


def test_tasks_that_expect_noise_are_not_counted(call):
    board = read_board()
    unranked = board.unranked["resi"]
    assert len(unranked) == 9
    assert max(unranked.values()) < LEAST_RELIABILITY
    assert unranked.keys() <= board.results["resi"].scores().keys()
    assert not unranked.keys() & board.results["resi"].ranks().keys()
    assert "Not counted: 9 tasks whose expected" in call("leaderboard --benchmark resi")[1]
    assert "Not counted" not in call("leaderboard --benchmark stability")[1]
