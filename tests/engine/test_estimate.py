"""How long a comparison takes, by a clock that the tests set."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from factories.measures import declared
from factories.synthetic import tight_groups

import resemblance as rs
from resemblance.base.formatting import format_duration
from resemblance.base.progress import format_time_left
from resemblance.bench.resi import evaluate
from resemblance.engine import estimate
from resemblance.intermediates.rectangles import force_blockwise

START = 1000.0  # seconds that only the first pair takes: imports


def made(count, widths=(3,), seed=0, n=20):
    rng = np.random.default_rng(seed)
    names = [f"seed {seed}, {i}" for i in range(count)]
    return {name: rng.standard_normal((n, widths[i % len(widths)])) for i, name in enumerate(names)}


@pytest.fixture
def clock(monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])
    return seconds


def timed(clock, of_one, of_pair, **claims):
    """A measure that takes these seconds for each representation and for each pair, by width."""
    start = [START]

    @rs.cached
    def prepared(x):
        clock[0] += of_one(x.shape[1])
        return x.array.sum(axis=0)

    @declared("Timed", larger_is_more_similar=False, range=(0, np.inf), **claims)
    def timed(x, y):
        total = prepared(x).sum() - prepared(y).sum()
        clock[0] += of_pair(x.shape[1], y.shape[1])
        if x.name and start:  # not where it is tried out to plan
            clock[0] += start.pop()
        return abs(float(total))

    return timed


WIDTHS = (2, 4, 8)
BY_WIDTH = {"of_one": lambda d: d**2, "of_pair": lambda d, e: d * e}
CONSTANT = {"of_one": lambda d: 20.0, "of_pair": lambda d, e: 0.5}
CASES = {
    "a square": ([made(20)], CONSTANT, 210, 20 * 20 + 210 / 2),
    "both orders": ([made(20)], CONSTANT | {"symmetric": False}, 200, 20 * 20 + 400 / 2),
    "a rectangle": ([made(20), made(10, seed=1)], CONSTANT, 200, 30 * 20 + 200 / 2),
    "widths": ([made(30, WIDTHS)], BY_WIDTH, 465, 840 + (140**2 + 840) / 2),
}


@pytest.mark.parametrize("case", CASES)
def test_work_takes_the_seconds_of_its_representations_and_pairs(clock, capsys, case):
    sides, laws, pairs, seconds = CASES[case]
    rs.compare(*sides, measures=timed(clock, **laws))
    line = f"comparing: {pairs} pairs take about {format_duration(seconds)}\n"
    assert capsys.readouterr().err == line


def test_the_estimate_names_the_measures_that_it_leaves_out(clock, capsys):
    measures = [timed(clock, **CONSTANT), "cka[estimator=debiased]"]
    with force_blockwise(True):
        rs.compare(made(20, (8,)), measures=measures)
    ending = "; the estimate leaves out the joint pass of cka[estimator=debiased]\n"
    assert capsys.readouterr().err.endswith(ending)


def test_the_time_left_is_that_of_the_remaining_steps():
    assert format_time_left(30.0, 10, 30) == ", about 60 s left"


def test_short_work_is_not_announced(clock, capsys):
    brief = timed(clock, of_one=lambda d: 0.0, of_pair=lambda d, e: 0.2)
    rs.compare(made(20), measures=brief)  # 42 seconds
    assert capsys.readouterr().err == ""


@pytest.fixture
def measured():
    """A measure that keeps the pairs that it is computed for."""
    pairs = []

    @declared("Kept", larger_is_more_similar=False, range=(0, np.inf))
    def kept(x, y):
        if x.name:  # the estimate of memory compares small arrays without names
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


def test_a_suite_announces_long_work(monkeypatch, capsys):
    monkeypatch.setattr(estimate, "LONG_COMPARISON_SECONDS", 0.0)
    monkeypatch.setattr(estimate, "MIN_TIMED_PAIRS", 10)
    evaluate(
        tight_groups(setting="labels"), measures=["cka"], progress=lambda stage, done, total: None
    )
    assert "pairs take about" in capsys.readouterr().err
