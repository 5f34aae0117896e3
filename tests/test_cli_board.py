"""The commands of the board and ``rs.board``: what they print, write and refuse."""

from __future__ import annotations

import csv
import io
import json
import re
import webbrowser

import pytest
from factories.boards import SERIES, SPECS, cards, files_of
from factories.output import assert_fits

import resemblance as rs
from resemblance import cli
from resemblance.boards import board_of, ranking, read_board, score, write_scores
from resemblance.boards.ranking import packs_of
from resemblance.suites.reliability import LEAST_RELIABILITY
from scripts.board_scores import reliabilities


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results; nothing ships with the library."""
    monkeypatch.setattr(ranking, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("COLUMNS", "200")
    for scores in files_of():
        write_scores(tmp_path / "results", scores)
    return tmp_path / "results"


@pytest.fixture
def board(results, call):
    """Run a command of the board on the results."""
    return lambda command, *words: call("board", command, results, "--series", SERIES, *words)


def order(**chosen):
    """The measures of the small board, best first."""
    return [p.measure for p in board_of(files_of(**chosen)).ranks.places.rows]


def test_versions_of_a_measure_are_never_mixed(results):
    shared = read_board(results, series=SERIES)
    newer = next(s for s in files_of() if s.suite == "resi" and s.measure.spec == "jaccard")
    version = newer.measure.version + 1
    write_scores(results, newer._replace(measure=newer.measure._replace(version=version)))
    board = read_board(results, series=SERIES)
    assert "jaccard" in shared.ranks.labels
    assert "jaccard" not in board.ranks.labels
    assert board.files["resi"]["jaccard"].measure.version == version
    assert "jaccard" not in board.files["sensitivity"]


def test_a_folder_of_another_series_is_refused(results):
    with pytest.raises(ValueError, match="holds no scores on packs of the series 'compact'"):
        read_board(results)


# --------------------------------------------------------------------------------------------- show


def test_show_prints_places_with_their_intervals(board):
    code, out, err = board("show")
    assert (code, err) == (0, "")
    heading, lines = out.splitlines()[2], out.splitlines()[4:]
    assert heading.split() == ["place", "measure", "mean", "rank", "95", "%", "CPU", "time"]
    labels = board_of(files_of()).ranks.labels
    for spec, line in zip(order(), lines):
        assert re.search(rf"\d +{re.escape(labels[spec])}[ *]+\d+\.\d\d +\d\.\d to \d\.\d", line)
    assert "The leader without resi:" in out
    assert "Not counted, for fewer than 6 cells: manifolds." in out
    assert f"its own paper: {labels['procrustes']} (sensitivity)." in " ".join(out.split())


def test_show_ranks_the_chosen_measures_in_the_chosen_cells(board):
    _, out, _ = board("show", "--suite", "resi", "--metrics", "--format", "json")
    document = json.loads(out)
    metrics = {card.spec for card in cards() if card.metric}
    assert {r["spec"] for r in document["ranking"]} == metrics
    assert sum(r["place"] for r in document["ranking"]) >= 1
    assert document["counts"].keys() == {"resi"}
    assert "rank_sensitivity" not in document["ranking"][0]
    _, out, _ = board("show", "--domain", "vision", "--format", "json")
    assert json.loads(out)["counts"] == {"resi": 5, "sensitivity": 7}
    _, out, _ = board("show", "--suite", "resi", "--test", "accuracy", "--format", "json")
    assert json.loads(out)["counts"] == {"resi": 6}


def test_show_says_that_cells_are_too_few(board):
    code, out, _ = board("show", "--suite", "manifolds")
    assert code == 0
    assert out.startswith("Too few cells for an order: 2 cells")
    assert len(out.splitlines()) == 1
    _, out, _ = board("show", "--suite", "manifolds", "--format", "csv")
    records = list(csv.DictReader(io.StringIO(out)))
    assert {r["spec"] for r in records} == set(SPECS)
    assert {r["place"] for r in records} == {""}


@pytest.mark.parametrize("suffix", ["csv", "json", "md", "tex", "parquet", "txt"])
def test_show_writes_every_format(board, tmp_path, suffix):
    target = tmp_path / f"ranking.{suffix}"
    code, out, _ = board("show", "-o", target)
    assert (code, out) == (0, "")
    starts = {"csv": b"spec,", "json": b"{", "parquet": b"PAR1"}
    assert target.read_bytes().startswith(starts.get(suffix, target.read_bytes()[:1]))
    if suffix in ("md", "tex", "txt"):
        assert "A place runs over" in target.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--suite", "resy"], "the board has no cells 'resy'; did you mean 'resi'?"),
        (["--family", "ccx"], "the board has no measures 'ccx'"),
        (["--test", "accuracy"], "name the suite of 'accuracy'"),
        (["--suite", "resi", "--domain", "vision"], "not both"),
        (["--metrics", "--family", "alignment"], "not both"),
        (["--format", "parquet"], "needs --output"),
    ],
)
def test_mistakes_are_one_line(board, words, message):
    code, out, err = board("show", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_without_scores_is_named(call, tmp_path):
    code, _, err = call("board", "show", tmp_path)
    assert code == 2
    assert f"{tmp_path} holds no score files" in err


def test_a_board_to_which_nobody_has_submitted_shows_what_ships(call, tmp_path):
    assert call("board", "init", tmp_path / "mine", "-q")[0] == 0
    shipped = call("board show --suite manifolds --format csv")
    assert (
        call("board", "show", tmp_path / "mine", "--suite", "manifolds", "--format", "csv")
        == shipped
    )
    assert shipped[0] == 0


def test_the_ranking_fits_80_columns(results, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    words = ["board", "show", str(results), "--series", SERIES]
    assert_fits(lambda: cli.run(words), capsys, 80)


# -------------------------------------------------------------------------------------------- build


def test_build_writes_a_site_and_opens_it(board, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda url: shown.append(url) or True)
    code, out, _ = board("build", "--output", tmp_path / "site", "--open")
    assert code == 0
    page = tmp_path / "site" / "index.html"
    assert out == f"Open {page}\n"
    assert shown == [page.as_uri()]
    assert page.exists()


def test_build_refuses_a_folder_of_something_else(board, results):
    code, _, err = board("build", "--output", results)
    assert code == 2
    assert "other content than a site" in err


# ----------------------------------------------------------------------------------------- versions


def test_the_newest_version_counts_also_beyond_nine(results):
    newest = files_of(seed=5)
    for scores in newest:
        if scores.measure.spec == "cka":
            for version in (9, 10):
                card = scores.measure._replace(version=version)
                write_scores(results, scores._replace(measure=card))
    assert read_board(results, series=SERIES).cards["cka"].version == 10


def test_scores_on_an_earlier_pack_do_not_mix_with_new_ones(results):
    for scores in files_of(cards(SPECS[:3]), seed=1):
        if scores.suite == "resi":
            write_scores(results, scores._replace(pack="resi-tiny@10", manifest="f" * 64))
    board = read_board(results, series=SERIES)
    assert {s.pack for s in board.files["resi"].values()} == {"resi-tiny@10"}
    assert set(board.ranks.labels) == set(SPECS[:3])


# ----------------------------------------------------------------------------------------- rs.board


def test_a_frame_of_the_ranking(results):
    frame = rs.board(results, series=SERIES)
    assert list(frame["spec"]) == order()
    assert list(frame["place"]) == sorted(frame["place"])
    assert (frame["low"] <= frame["mean_rank"]).all()
    assert (frame["best"] <= frame["place"]).all()
    assert frame["is_tied"].iloc[0]
    suites = frame[["rank_resi", "rank_sensitivity"]]
    assert frame["rank_manifolds"].notna().all()  # two cells, which do not count
    ties = board_of(files_of()).ranks.places
    widths = (frame["worst"] - frame["best"]).tolist()
    assert widths == [len(ties.tied_with(spec)) for spec in frame["spec"]]
    assert suites.mean(axis=1).to_numpy() == pytest.approx(frame["mean_rank"].to_numpy())
    row = frame.set_index("spec").loc["procrustes"]
    card = next(card for card in cards() if card.spec == "procrustes")
    assert (row["version"], row["metric"]) == (card.version, card.metric)
    assert frame.set_index("spec")["own_suites"].to_dict() == {
        spec: "sensitivity" * (spec == "procrustes") for spec in frame["spec"]
    }
    assert row["cpu_seconds"] == 3 * 3.0


def test_measures_without_a_place_are_last(results):
    (results / "resi-tiny@1" / "jaccard@v1.json").unlink(missing_ok=True)
    for path in (results / "resi-tiny@1").glob("jaccard@*.json"):
        path.unlink()
    frame = rs.board(results, series=SERIES)
    assert frame["spec"].iloc[-1] == "jaccard"
    assert frame["place"].isna().tolist() == [False] * 4 + [True]


def test_the_board_that_ships_has_the_entries_of_the_preset():
    for files in read_board().files.values():
        assert set(files) == {m.spec for m in rs.preset("board")}
    with pytest.raises(ValueError, match="disagreement compares predictions"):
        score(packs_of()[0], "disagreement")


def test_cells_that_expect_noise_are_shown_and_not_ranked(call):
    board = read_board()
    unranked = board.unranked["resi"]
    assert len(unranked) == 9
    assert max(unranked.values()) < LEAST_RELIABILITY
    assert unranked.keys() <= board.results["resi"].scores().keys()
    assert not unranked.keys() & (board.ranks.cells["resi"].keys() | board.results["resi"].ranks())
    assert "not ranked: 9 cells whose expected" in call("board show --suite resi")[1]
    assert "not ranked" not in call("board show --suite stability")[1]


def test_reliabilities_are_those_of_the_inputs_of_the_packs():
    known = json.loads(ranking.RELIABILITIES.read_text())
    expected = {p.manifest.sha256: of for p in packs_of() if (of := reliabilities(p))}
    assert known.keys() == expected.keys()
    for manifest, cells in known.items():
        assert cells == pytest.approx(expected[manifest], abs=1e-6)


def test_the_room_and_the_function_have_different_names():
    assert callable(rs.board)
    assert re.search(r"published ranking", rs.board.__doc__ or "")
    assert rs.boards.read_board is read_board
