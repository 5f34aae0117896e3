"""The command ``leaderboard`` and ``rs.leaderboard``: what they print, write and refuse."""

from __future__ import annotations

import json
import re

import pytest
from factories.boards import SERIES, SPECS, cards, scores_of

import resemblance as rs
from resemblance.bench.ranking import board_of, ranking, read_board, score, write_scores
from resemblance.bench.ranking.ranking import packs_of
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


def order(**chosen):
    """The measures of the small board, best first."""
    return [p.measure for p in board_of(scores_of(**chosen)).ranks.places.rows]


def test_versions_of_a_measure_are_never_mixed(results):
    shared = read_board(results, packs=SERIES)
    newer = next(s for s in scores_of() if s.suite == "resi" and s.measure.spec == "jaccard")
    version = newer.measure.version + 1
    measure = newer.measure._replace(version=version)
    later = write_scores(results.with_name("later.jsonl"), [newer._replace(measure=measure)])
    board = read_board(results, later, packs=SERIES)
    assert "jaccard" in shared.ranks.labels
    assert "jaccard" not in board.ranks.labels
    assert board.scores["resi"]["jaccard"].measure.version == version
    assert "jaccard" not in board.scores["sensitivity"]


def test_a_file_of_another_series_is_refused(results):
    with pytest.raises(ValueError, match="holds no scores on packs of the series 'compact'"):
        read_board(results)


# --------------------------------------------------------------------------------------------- show


def test_show_prints_places_with_their_intervals(board):
    code, out, err = board()
    assert (code, err) == (0, "")
    lines = out.splitlines()[4:]
    labels = board_of(scores_of()).ranks.labels
    for spec, line in zip(order(), lines):
        assert re.search(rf"\d +{re.escape(labels[spec])}[ *]+\d+\.\d\d +\d\.\d to \d\.\d", line)
    assert "The leader without resi:" in out
    assert "Not counted, for fewer than 6 cells: manifolds." in out
    assert f"its own paper: {labels['procrustes']} (sensitivity)." in " ".join(out.split())


def test_show_ranks_the_chosen_measures_in_the_chosen_cells(board):
    _, out, _ = board("--benchmark", "resi", "--metrics", "--format", "json")
    document = json.loads(out)
    metrics = {card.spec for card in cards() if card.metric}
    assert {r["spec"] for r in document["ranking"]} == metrics
    assert sum(r["place"] for r in document["ranking"]) >= 1
    assert document["counts"].keys() == {"resi"}
    assert "rank_sensitivity" not in document["ranking"][0]
    _, out, _ = board("--domain", "vision", "--format", "json")
    assert json.loads(out)["counts"] == {"resi": 5, "sensitivity": 7}
    _, out, _ = board("--benchmark", "resi", "--test", "accuracy", "--format", "json")
    assert json.loads(out)["counts"] == {"resi": 6}


def test_show_says_that_cells_are_too_few(board):
    code, out, _ = board("--benchmark", "manifolds")
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("Too few cells for an order: 2 cells")


def test_mistakes_are_one_line(refused, results):
    board = f"leaderboard {results} --packs {SERIES}"
    refused(f"""
        {board} --benchmark resy | the leaderboard has no cells 'resy'; did you mean 'resi'?
        {board} --family ccx | the leaderboard has no measures 'ccx'
        {board} --test accuracy | name the benchmark of 'accuracy'
        {board} --benchmark resi --domain vision | not both
        {board} --metrics --family alignment | not both
    """)


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
    assert set(board.ranks.labels) == set(SPECS[:3])


# -------------------------------------------------------------------------------- rs.leaderboard


def test_a_frame_of_the_ranking(results):
    frame = rs.leaderboard(results, packs=SERIES).to_pandas()
    assert list(frame["spec"]) == order()
    assert list(frame["place"]) == sorted(frame["place"])
    assert (frame["low"] <= frame["mean_rank"]).all()
    assert (frame["best"] <= frame["place"]).all()
    assert frame["is_tied"].iloc[0]
    suites = frame[["rank_resi", "rank_sensitivity"]]
    assert frame["rank_manifolds"].notna().all()  # two cells, which do not count
    ties = board_of(scores_of()).ranks.places
    widths = (frame["worst"] - frame["best"]).tolist()
    assert widths == [len(ties.tied_with(spec)) for spec in frame["spec"]]
    assert suites.mean(axis=1).to_numpy() == pytest.approx(frame["mean_rank"].to_numpy())
    row = frame.set_index("spec").loc["procrustes"]
    card = next(card for card in cards() if card.spec == "procrustes")
    assert (row["version"], row["metric"]) == (card.version, card.metric)
    assert row["own_suites"] == "sensitivity"
    assert row["cpu_seconds"] == 3 * 3.0


def test_the_board_that_ships_has_the_entries_of_the_preset():
    for scores in read_board().scores.values():
        assert set(scores) == {m.spec for m in rs.preset("leaderboard")}
    with pytest.raises(ValueError, match="disagreement compares predictions"):
        score(packs_of()[0], "disagreement")


def test_cells_that_expect_noise_are_shown_and_not_ranked(call):
    board = read_board()
    unranked = board.unranked["resi"]
    assert len(unranked) == 9
    assert max(unranked.values()) < LEAST_RELIABILITY
    assert unranked.keys() <= board.results["resi"].scores().keys()
    assert not unranked.keys() & (board.ranks.cells["resi"].keys() | board.results["resi"].ranks())
    assert "not ranked: 9 cells whose expected" in call("leaderboard --benchmark resi")[1]
    assert "not ranked" not in call("leaderboard --benchmark stability")[1]
