"""What is recommended has all that is asked for, in the order of the evidence, and is traced."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import choosing
import numpy as np
import pytest
from factories import boards
from factories.output import assert_fits

import resemblance as rs
from resemblance import cli
from resemblance.boards import Board, read_board
from resemblance.boards.views import DOMAINS, domain_of, ranks_in
from resemblance.choosing import QUESTIONS, SIGHTS, Needs, sizes
from resemblance.choosing.questions import asking
from resemblance.choosing.recommending import blind
from resemblance.claims import INVARIANCES
from resemblance.engine.costs import seconds_of
from resemblance.significance import SETTLING, places

ROOT = Path(__file__).parents[1]
BEST = {"procrustes": 0.9, "cka": 0.8, "rsa": 0.7, "jaccard": 0.6}
SPECS = {m.spec for m in (*rs.list_measures(), *rs.preset("board"))}


def score(spec: str, suite: str, test: str, cell: str) -> float | None:
    """Four measures are far ahead, in this order; imd fails; mmd sees no noise; in language cka is
    the worst."""
    if spec == "imd":
        return None
    if spec == "mmd" and "noise" in cell:
        return 0.5
    if spec == "cka" and "language" in cell:
        return -0.9
    jitter = np.random.default_rng([*map(ord, f"{spec}{cell}")]).uniform(0, 0.05)
    return BEST.get(spec, 0.2) + float(jitter)


@pytest.fixture(scope="module")
def board() -> Board:
    return boards.board(score)


@pytest.fixture(autouse=True)
def shipped(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the made-up board be the one that ships."""
    monkeypatch.setattr("resemblance.choosing.recommending.read_board", lambda: board)


# ----------------------------------------------------------------------------------- filters


def test_all_measures_are_candidates_or_excluded_for_a_reason():
    r = rs.recommend(invariant_to="affine", metric=True)
    assert {c.measure for c in r.candidates} | {e.measure for e in r.excluded} == SPECS
    assert len(r.candidates) + len(r.excluded) == len(SPECS)
    assert all(e.reasons and all(e.reasons) for e in r.excluded)
    assert [c.measure for c in r.candidates] == ["gulp"]
    assert "gulp alone" in r.line
    assert r.reasons()["is not a metric"].count("mean_cca") == 1
    assert "changes under affine" in " ".join({e.measure: e.reasons for e in r.excluded}["cka"])


@pytest.mark.parametrize("words", [[w] for w in INVARIANCES] + [["orthogonal", "translation"]])
def test_candidates_ignore_what_must_not_count_and_see_what_must(words):
    for c in rs.recommend(invariant_to=words).candidates:
        assert set(words) <= rs.get_measure(c.measure).invariant_to
        assert set(words) <= set(c.ignores)
    for c in rs.recommend(must_see=words).candidates:
        assert not set(words) & rs.get_measure(c.measure).invariant_to


@pytest.mark.parametrize("claim", ["metric", "differentiable", "symmetric"])
def test_claims_are_required_when_asked_for(claim):
    chosen = {c.measure for c in rs.recommend(**{claim: True}).candidates}
    assert chosen == {c.measure for c in rs.recommend().candidates} & {
        m.spec for m in map(rs.get_measure, SPECS) if getattr(m, claim)
    }


def test_a_measure_that_does_not_see_a_change_is_excluded_with_its_number(board):
    r = rs.recommend(must_see="noise")
    (mmd,) = [e for e in r.excluded if e.measure == "mmd"]
    assert mmd.reasons == ("does not see noise: median skill 0.00 over 3 cells",)
    (imd,) = [e for e in r.excluded if e.measure == "imd"]
    assert imd.reasons == ("has no score that shows whether it sees noise",)
    assert blind("cka", SIGHTS["noise"], board) == ""
    assert blind("cka", SIGHTS["layers"], board) == ""  # the median, so one domain is outvoted


def test_few_samples_and_missing_extras_exclude(monkeypatch):
    r = rs.recommend(n=20)
    assert r.reasons()["needs at least 101 samples"] == ["kcka", "mka"]

    def absent(measure: rs.Measure) -> None:
        if measure.extra:
            raise ImportError("numba is not installed: pip install numba")

    monkeypatch.setattr("resemblance.choosing.recommending.require", absent)
    reasons = rs.recommend().reasons()
    assert reasons["needs the extra topology: numba is not installed: pip install numba"] == ["rtd"]


def test_a_budget_is_for_all_pairs_and_needs_a_size():
    one, many = (rs.recommend(n=200, d=16, budget=0.5, pairs=p) for p in (1, 1000))
    assert len(many.candidates) < len(one.candidates)
    late = [e for e in many.excluded if any("takes about" in why for why in e.reasons)]
    assert late
    for exclusion in late:
        m = rs.get_measure(exclusion.measure)
        assert seconds_of([m], 200, 16, pairs=1000) > 0.5
    with pytest.raises(ValueError, match="a budget needs n and d"):
        rs.recommend(budget=1)


def test_measures_of_outputs_are_never_recommended():
    r = rs.recommend(task="function")
    reason = "compares predictions of models, not representations"
    assert r.reasons()[reason] == ["accuracy_difference", "disagreement", "jensen_shannon"]
    assert any("disagreement" in remark for remark in r.remarks)


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ({"invariant_to": "rotation"}, "did you mean 'orthogonal'"),
        ({"must_see": "nois"}, "did you mean 'noise'"),
        ({"task": "functions"}, "did you mean 'function'"),
        ({"domain": "graph"}, "did you mean 'graphs'"),
        ({"invariant_to": "affine", "must_see": "translation"}, "which affine implies"),
        ({"invariant_to": "orthogonal", "must_see": "orthogonal"}, "drop one"),
        ({"n": 1}, "n must be at least 2 and a whole number; got 1"),
        ({"d": 0}, "d must be at least 1"),
        ({"pairs": 0}, "pairs must be at least 1"),
        ({"n": 9, "d": 9, "budget": float("nan")}, "budget must be at least 0; got nan"),
    ],
)
def test_mistakes_are_named_with_a_remedy(needs, message):
    with pytest.raises(ValueError, match=message):
        rs.recommend(**needs)


# ------------------------------------------------------------------------------------- order


def test_the_leader_alone_is_recommended_where_it_is_ahead_of_all():

    def single(spec: str, suite: str, test: str, cell: str) -> float:
        others = np.random.default_rng([*map(ord, f"{spec}{cell}")]).uniform()
        return 9.0 if spec == "procrustes" else float(others)

    few = [rs.get_measure(name) for name in ("procrustes", "cka", "rsa", "gulp", "jaccard")]
    r = rs.recommend(board=boards.board(single, few))
    assert "has no scores in resi, sensitivity, manifolds, stability" in r.reasons()
    assert r.measures == ("procrustes",)
    assert r.line == "procrustes is ahead of all others that have what is asked for."
    positions = [c.place.position for c in r.candidates]
    assert positions == sorted(positions)


@pytest.mark.parametrize("task", ["geometry", "drift"])
def test_where_nothing_is_told_apart_there_is_no_order_and_no_place(task):
    """Four cells are too few, and nine of random scores tell nothing."""

    def drawn(spec: str, suite: str, test: str, cell: str) -> float:
        return float(np.random.default_rng([*map(ord, f"{spec}{cell}")]).uniform())

    r = rs.recommend(n=100, d=8, task=task, board=boards.board(drawn))
    assert r.measures == tuple(sorted(c.measure for c in r.candidates))
    assert {c.place for c in r.candidates} == {None}
    assert r.line.startswith("No recommendation: ")
    assert (r.rule, r.worth) == ("", "")
    assert any("listed by name" in remark for remark in r.remarks)


def test_the_order_is_that_of_the_cells_that_ask_and_places_by_all_cells_are_shown():
    """One measure leads in the cells that ask, another in all others."""

    def turned(spec: str, suite: str, test: str, cell: str) -> float:
        asks = (suite, test) in QUESTIONS["training"].tests
        jitter = np.random.default_rng([*map(ord, f"{spec}{cell}")]).uniform(0, 0.05)
        return {"cka": 0.9 * asks, "rsa": 0.9 * (not asks)}.get(spec, 0.4) + float(jitter)

    r = rs.recommend(task="training", board=boards.board(turned))
    by_name = {c.measure: c for c in r.candidates}
    assert r.candidates[0].measure == "cka"
    positions = [by_name[m].overall.position for m in ("rsa", "cka")]
    assert (by_name["cka"].place.position, positions[0]) == (1, 1)
    assert positions[1] > 1
    assert by_name["rsa"].place.position == len(r.candidates)
    assert "Held out: " in r.worth
    assert any(words.startswith("place ") for words in by_name["rsa"].against)


def test_every_place_can_be_computed_again_from_the_ranks(board):
    r = rs.recommend(task="function", invariant_to="orthogonal")
    names = [c.measure for c in r.candidates]
    by_mean = sorted(r.candidates, key=lambda c: (c.place.mean, c.measure))
    asked = {(suite, *key): of for suite, ranks in r.ranks.items() for key, of in ranks.items()}
    strata = {key: f"{key[0]}/{board.results[key[0]].models()[key[1:]]}" for key in asked}
    again = places({"function": asked}, strata={"function": strata})
    assert again.rows == tuple(c.place for c in by_mean)
    everywhere = ranks_in(board, names, lambda suite, test, cell: True)
    whole = places(everywhere, strata={s: board.results[s].models() for s in everywhere})
    assert {p.measure: p for p in whole.rows} == {c.measure: c.overall for c in r.candidates}
    for suite, of_suite in r.ranks.items():
        assert r.manifests[suite] == board.results[suite].provenance["manifest"]
        scores = board.results[suite].scores()
        for key, ranks in of_suite.items():
            assert (suite, key[0]) in QUESTIONS["function"].tests
            best = min(ranks, key=lambda spec: ranks[spec])
            known = [v for s, v in scores[key].items() if s in ranks and v is not None]
            assert scores[key][best] == max(known)


def test_a_domain_restricts_where_its_cells_can_settle_an_order():
    vision = rs.recommend(domain="vision")
    names = [cell for of in vision.ranks.values() for _, cell in of]
    assert names
    assert all("vision" in name for name in names)
    few = rs.recommend(domain="vision", task="drift")
    assert few.remarks[0] == (
        "3 cells of vision are too few to settle an order, so cells of all domains count"
    )
    assert {domain_of(c) for _, c in few.ranks["stability"]} == set(DOMAINS)


def test_what_argues_against_a_measure_is_said():
    r = rs.recommend(domain="vision", n=30, d=100)
    by_name = {c.measure: c.against for c in r.candidates}
    assert any("in language" in words for words in by_name["cka"])
    assert "not a metric" in by_name["cka"]
    assert not any("not a metric" in words for words in by_name["procrustes"])
    assert by_name["imd"][0].startswith("chance comes") or "failed in" in " ".join(by_name["imd"])
    assert any("failed in" in words for words in by_name["imd"])
    assert by_name["mean_cca"][0].startswith("fixed by the number of samples")
    assert not any("did you pass" in words for all_words in by_name.values() for words in all_words)
    assert "not symmetric" in by_name["pwcca"]


def test_saturated_measures_come_last_in_a_group_that_is_tied():
    debiased = "cka[estimator=debiased]"

    def nearly_equal(spec: str, suite: str, test: str, cell: str) -> float:
        jitter = np.random.default_rng([*map(ord, f"{spec}{cell}")]).uniform(0, 0.05)
        return {"mean_cca": 0.81, debiased: 0.8}.get(spec, 0.2) + float(jitter)

    close = boards.board(nearly_equal)
    for size, first in (({}, "mean_cca"), ({"n": 30, "d": 100}, debiased)):
        group = [c for c in rs.recommend(board=close, **size).candidates if c.is_tied]
        assert {c.measure for c in group} == {"mean_cca", debiased}
        assert group[0].measure == first


@pytest.mark.parametrize("task", QUESTIONS)
def test_every_task_has_tests_that_the_suites_have(task, board):
    chosen = ranks_in(board, board.cards, asking(QUESTIONS[task]))
    assert chosen
    tested = {(suite, test) for suite, keys in chosen.items() for test, _ in keys}
    assert set(QUESTIONS[task].tests) == tested


def test_recommendations_are_held_against_a_domain_that_was_left_out(board):
    (vision,) = [r for r in choosing.rows(board) if (r.question.name, r.domain) == ("", "vision")]
    assert (vision.learned, vision.tested, vision.measures) == (22, 11, 48)
    assert vision.chooser.has_best == (vision.chooser.best == 1)
    assert vision.chance == choosing.chance(vision.group, 48)
    assert vision.chance.best == pytest.approx(49 / (vision.group + 1))
    truth = {"a": 1.0, "b": 2.0, "c": 2.0, "d": 4.0}
    learned = {"a": 4.0, "b": 1.0, "c": 2.0, "d": 3.0}
    assert choosing.advised(["b", "c"], learned, truth)[:4] == (0, 2, 2, 2)
    assert choosing.advised(["d", "a"], learned, truth)[:4] == (1, 1, 2.5, 4)
    assert choosing.advised(["a"], truth, truth).agreement == pytest.approx(1)
    drawn = np.random.default_rng(0).permuted(np.tile(np.arange(1, 47), (4000, 1)), axis=1)[:, :9]
    assert choosing.chance(9, 46).best == pytest.approx(drawn.min(axis=1).mean(), rel=0.05)
    assert choosing.chance(9, 46).has_best == pytest.approx(
        (drawn == 1).any(axis=1).mean(), rel=0.1
    )


# ----------------------------------------------------------------------------- sizes and chance


def test_chance_is_that_of_unrelated_representations():
    m = rs.get_measure("cka")
    known = sizes.at_size([m, rs.procrustes, rs.mean_cca], 60, 6)
    rng = np.random.default_rng(5)
    for spec in known:
        drawn = [rs.get_measure(spec)(*rng.standard_normal((2, 60, 6))) for _ in range(20)]
        assert known[spec].chance == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn))
    assert known["cka"].source == "closed form"
    assert known["procrustes"].source == "mean of 3 Gaussian pairs"
    assert 0 < known["procrustes"].closeness < 0.5
    assert known["cka"].memory > 0


def test_what_is_too_large_is_not_drawn_but_has_a_cost():
    known = sizes.at_size([rs.get_measure("cka")], 10**6, 512)["cka"]
    assert known.chance is None
    assert known.seconds > 1


def test_costs_grow_with_pairs_and_views_are_shared():
    """One pair is of two representations, three are of three, and ten of five."""
    m = rs.get_measure("cka")
    one, three, ten = (seconds_of([m], 500, 128, pairs=p) for p in (1, 3, 10))
    assert one < three < 3 * one
    views = one - three / 3
    assert ten == pytest.approx(5 * views + 10 * (one - 2 * views))


# --------------------------------------------------------------------------------- the result


def test_it_shows_itself():
    r = rs.recommend(task="layers", n=50, d=5)
    assert repr(r).startswith("<Recommendation: ")
    assert len(repr(r)) < 400
    page = r._repr_html_()
    assert "procrustes" in page
    assert page.count("<table>") == 2
    frame = r.to_pandas()
    assert list(frame.measure) == [c.measure for c in r.candidates]
    assert {"position", "best", "worst", "chance", "seconds", "against"} <= set(frame.columns)
    document = json.loads(json.dumps(r.document(), allow_nan=False))
    assert document["group"] == list(r.measures)
    assert len(document["excluded"]) + len(document["candidates"]) == len(SPECS)
    cells_of = {(c["test"], c["cell"]) for of in document["ranks"].values() for c in of}
    assert len(cells_of) >= SETTLING


def test_the_command_asks_for_the_same(call):
    r = rs.recommend(
        invariant_to={"affine"}, must_see="deleted components", n=300, task="function", metric=True
    )
    words = r.needs.command
    assert words == (
        "resemblance choose --invariant-to affine --must-see 'deleted components' -n 300 "
        "--task function --metric"
    )
    code, out, _ = call(*shlex.split(words)[1:], "--format", "json")
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(r.document()))


def test_importing_the_package_does_not_import_the_chooser():
    code = "import resemblance, sys; assert 'resemblance.choosing' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "recommend" in rs.__all__


# -------------------------------------------------------------------------------- the command


def test_without_a_terminal_and_options_it_says_what_to_give(call):
    code, out, err = call("choose")
    assert (code, out) == (2, "")
    assert "say what you need, such as --task function" in err
    assert err.count("\n") == 1


def test_the_command_prints_the_group_and_all_reasons(call):
    code, out, _ = call("choose", "--invariant-to", "affine", "-n", 50, "-d", 5)
    assert code == 0
    assert "mean_cca" in out
    assert "changes under" in out
    for spec in SPECS:
        assert spec in out
    code, out, _ = call("choose", "--task", "layers", "--format", "markdown")
    assert code == 0
    assert "| measure |" in out
    assert call("choose", "--task", "layer")[0] == 2


@pytest.mark.parametrize("words", ["--invariant-to affine -n 50 -d 5", "--task layers", "-n 20"])
def test_the_answer_fits_a_terminal(words, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert_fits(lambda: cli.run(["choose", *words.split()]), capsys)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let a person at a terminal give these answers."""

    def give(*answers: str) -> None:
        lines = iter(answers)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.prompt", lambda text, default: next(lines) or default)

    return give


def test_in_a_terminal_it_asks_and_prints_the_command(call, answer):
    answer("?", "layers", "orthogonal, translation", "noise", "", "?", "1", "40", "4")
    code, out, _ = call("choose")
    assert code == 0
    assert "layers: Which layer corresponds to which?" in out
    assert "a number of at least 2, or unknown; got '1'" in out
    assert (
        out.rstrip().endswith(
            "resemblance choose --invariant-to orthogonal,translation --must-see noise -n 40 -d 4 "
            "--task layers"
        )
        or "--must-see noise" in out
    )


def test_with_defaults_only_it_asks_for_no_features(call, answer):
    answer("", "none", "", "", "")
    code, out, _ = call("choose")
    assert code == 0
    assert "resemblance choose" in out


def test_needs_without_anything_have_a_command():
    assert Needs().command == "resemblance choose"


# ------------------------------------------------------------------------------ what ships


def test_the_table_of_the_page_is_what_the_scores_that_ship_make():
    for file, text in choosing.documents(read_board()).items():
        assert file.read_text("utf-8") == text
