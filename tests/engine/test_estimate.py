"""How long a comparison takes: laws of the estimate, with seconds that the tests set."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import resemblance as rs
from resemblance.base.progress import format_time_left
from resemblance.bench.resi import evaluate
from resemblance.bench.synthetic import tight_groups
from resemblance.comparison.store import ScoreFile
from resemblance.data.representation import fingerprint
from resemblance.engine import estimate
from resemblance.engine.estimate import TimeEstimate
from resemblance.engine.tasks import run_pair_blocks
from resemblance.engine.work import ComparisonPlan, find_missing_pairs
from resemblance.inference import permuted

REPRESENTATION, PAIR, START = 2.0, 0.5, 1000.0  # seconds; only the first pair takes START


def made(count, widths=(3,), seed=0, n=20):
    rng = np.random.default_rng(seed)
    names = [f"seed {seed}, {i}" for i in range(count)]
    return {name: rng.standard_normal((n, widths[i % len(widths)])) for i, name in enumerate(names)}


def estimated(*works, workers=1, of_pair=lambda x, y: PAIR, of_one=lambda x: REPRESENTATION):
    """Return the estimate after its first pairs, which take the seconds of a law, and what is left
    to compute."""
    todos = find_missing_pairs(works)
    result, seen = TimeEstimate(works, todos, workers, 10**9, 1e12), dict[str, set[str]]()
    width = {fingerprint(r): r.shape[1] for work in works for r in work.all}
    for batch in run_pair_blocks([], None, None, None, False, first=result.tasks):
        for c in batch:
            assert not result.is_complete
            computed = seen.setdefault(c.measure, set())
            seconds = 0.0 if computed else START
            for ends in {frozenset((c.data[x], c.data[y])) for x, y in zip(c.x, c.y)}:
                x, y = ends
                seconds += of_pair(width[x], width[y])
                seconds += sum(of_one(width[end]) for end in ends - computed)
                computed |= ends
            result.take([c._replace(seconds=seconds)])
    assert result.is_complete
    return result, todos


# ------------------------------------------------------------------------------------------- laws


def test_a_square_takes_the_seconds_of_its_representations_and_pairs():
    result, (todo,) = estimated(ComparisonPlan.of(made(20), ["rsa"]))
    assert result.seconds() == {"rsa": pytest.approx(20 * REPRESENTATION + 210 * PAIR)}
    assert np.count_nonzero(todo["rsa"]) == 210 - 3


def test_both_orders_of_a_pair_count_as_they_are_timed():
    result, (todo,) = estimated(ComparisonPlan.of(made(20), ["linear_regression"]))
    seconds = 20 * REPRESENTATION + 200 * PAIR  # 400 values
    assert result.seconds() == {"linear_regression": pytest.approx(seconds)}
    assert np.count_nonzero(todo["linear_regression"]) == 400 - 6


def test_a_rectangle_takes_the_seconds_of_rows_columns_and_pairs():
    result, (todo,) = estimated(ComparisonPlan.of(made(20), ["rsa"], made(10, seed=1)))
    assert result.seconds() == {"rsa": pytest.approx(30 * REPRESENTATION + 200 * PAIR)}
    assert np.count_nonzero(todo["rsa"]) == 200 - 4


@pytest.mark.parametrize("other", [None, made(15, seed=1)])
def test_a_measure_that_computes_pairs_together_is_timed_so(other):
    result, (todo,) = estimated(ComparisonPlan.of(made(20), ["cka"], other))
    pairs, of_block = (210, 66) if other is None else (300, 144)
    count = 20 if other is None else 35
    assert result.seconds() == {"cka": pytest.approx(count * REPRESENTATION + pairs * PAIR)}
    assert np.count_nonzero(todo["cka"]) == pairs - of_block


def test_widths_have_rates_of_their_own():
    widths = (2, 4, 8)
    result, _ = estimated(
        ComparisonPlan.of(made(30, widths), ["procrustes"]),
        of_pair=lambda x, y: x * y,
        of_one=lambda x: x**2,
    )
    pairs = sum(widths) * 10 * sum(widths) * 10 + sum(10 * d**2 for d in widths)
    seconds = 10 * sum(d**2 for d in widths) + pairs / 2
    assert result.seconds() == {"procrustes": pytest.approx(seconds)}


def test_comparisons_of_one_size_share_their_first_pairs():
    works = [ComparisonPlan.of(made(10, seed=seed), ["rsa"]) for seed in range(4)]
    result, todos = estimated(*works)
    assert [np.count_nonzero(todo["rsa"]) for todo in todos] == [52, 55, 55, 55]
    assert result.seconds() == {"rsa": pytest.approx(40 * REPRESENTATION + 220 * PAIR)}


def test_little_work_is_not_timed():
    for count, first in ((13, 0), (14, 3)):  # 91 and 105 pairs
        work = ComparisonPlan.of(made(count), ["rsa"])
        todos = find_missing_pairs([work])
        result = TimeEstimate([work], todos, 1, 10**9, 1e12)
        assert np.count_nonzero(work.todo()["rsa"] & ~todos[0]["rsa"]) == first
        assert bool(result.tasks) == bool(first)


def test_what_a_file_holds_is_not_in_the_estimate(tmp_path):
    reps, file = made(24), tmp_path / "run.comparison"
    rs.compare(dict(list(reps.items())[:10]), measures="rsa", save=file, progress=False)
    work = ComparisonPlan.of(reps, ["rsa"])
    with ScoreFile(file, read_only=True) as store:
        for column in store.columns({fingerprint(r) for r in work.all}):
            work.put(column)
    result, _ = estimated(work)
    assert result.seconds() == {"rsa": pytest.approx(24 * REPRESENTATION + 245 * PAIR)}


def test_the_line_names_pairs_time_workers_and_the_dearest_measures():
    work = ComparisonPlan.of(made(20), ["rsa", "procrustes"])
    result, _ = estimated(work, of_one=lambda x: 20.0)
    assert result.line == "420 pairs take about 17 min, above all rsa 8.4 min, procrustes 8.4 min"
    result, _ = estimated(ComparisonPlan.of(made(20), ["rsa"]), of_one=lambda x: 20.0, workers=2)
    assert result.line == "210 pairs take about 4.2 min on 2 workers"
    assert (
        estimated(ComparisonPlan.of(made(14), ["rsa"]), of_one=lambda x: 0.0)[0].line == ""
    )  # 53 s


# ------------------------------------------------------------------------------------- in a run


@pytest.fixture
def measured():
    """A measure that keeps the pairs that it is computed for."""
    pairs = []

    @rs.measure(
        label="Kept",
        family="descriptive",
        larger_is_more_similar=False,
        range=(0, np.inf),
        symmetric=True,
        citation="klabunde2025similarity",
    )
    def kept(x, y):
        pairs.append((x.name, y.name))
        return abs(float(x.array.sum() - y.array.sum()))

    return kept, pairs


@pytest.mark.parametrize("workers", [0, 2])
def test_the_first_pairs_are_computed_once_and_values_stay(measured, monkeypatch, capsys, workers):
    measure, pairs = measured
    reps, measures = made(20, (3, 5)), [measure, "rsa", "linear_regression"]
    before = rs.compare(reps, measures=measures, progress=False)
    monkeypatch.setattr(estimate, "LONG_COMPARISON_SECONDS", 0.0)
    pairs.clear()
    if workers:
        with ThreadPoolExecutor(workers) as pool:
            after = rs.compare(reps, measures=measures, jobs=pool)
    else:
        after = rs.compare(reps, measures=measures)
    assert len(pairs) == len(set(pairs)) == 210
    for m in before.measures:
        np.testing.assert_array_equal(after[m.spec], before[m.spec])
    err = capsys.readouterr().err
    assert err.startswith("comparing: 620 pairs take about ")
    assert err.count("\n") == 1
    assert (" on 2 workers" in err) == bool(workers)


@pytest.mark.parametrize("progress", [False, lambda done, total: None])
def test_nothing_is_printed_without_a_reader(monkeypatch, capsys, progress):
    monkeypatch.setattr(estimate, "LONG_COMPARISON_SECONDS", 0.0)
    rs.compare(made(20), measures="rsa", progress=progress)
    assert capsys.readouterr().err == ""


def test_short_work_is_not_announced(capsys):
    rs.compare(made(20), measures="rsa")
    assert capsys.readouterr().err == ""


def test_a_suite_announces_long_work(monkeypatch, capsys):
    monkeypatch.setattr(estimate, "LONG_COMPARISON_SECONDS", 0.0)
    monkeypatch.setattr(estimate, "MIN_TIMED_PAIRS", 10)
    models = tight_groups(setting="labels")
    evaluate(models, measures=["cka"])
    assert capsys.readouterr().err == ""
    evaluate(models, measures=["cka"], progress=lambda stage, done, total: None)
    assert "pairs take about" in capsys.readouterr().err


def test_permutations_are_announced_with_their_time(monkeypatch, capsys):
    monkeypatch.setattr(permuted, "LONG_COMPARISON_SECONDS", 0.0)
    rs.evidence(made(3), measures="procrustes", n_permutations=1999)
    line = "procrustes: all 3 pairs x 1,999 permutations = 5,997 values, about "
    assert line in capsys.readouterr().err


# --------------------------------------------------------------------------------------- in words


@pytest.mark.parametrize(
    ("steps", "total", "text"),
    [(10, 30, ", about 60 s left"), (40, 40, ""), (0, 40, ""), (10, None, ""), (10, 0, "")],
)
def test_the_time_left_follows_from_the_speed_so_far(steps, total, text):
    assert format_time_left(30.0, steps, total) == text
