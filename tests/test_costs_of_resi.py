"""What comparisons cost, told before they start: laws, not times."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import pytest
from factories.files import GOLDEN

import resemblance as rs
from resemblance.engine.costs import seconds_of
from resemblance.suites.resi import evaluate, evaluation
from resemblance.suites.resi.cases import six_tests
from resemblance.suites.resi.costs import (
    Workload,
    advice,
    all_pairs,
    comparing_hours,
    of_cases,
    of_layers,
)

ROOT = GOLDEN.parents[1]
CKA, LINREG, JACCARD = map(rs.get_measure, ("cka", "linear_regression", "jaccard"))


def test_hours_are_those_of_representations_and_pairs():
    parts = [seconds_of([CKA], 5000, 512, representations=r, pairs=1 - r) for r in (1, 0)]
    works = [Workload(5000, 512, 4, 3), Workload(5000, 512, 3, 0)]
    assert comparing_hours(works, [CKA]) == pytest.approx((7 * parts[0] + 3 * parts[1]) / 3600)
    assert all_pairs(5000, 512, 4) == Workload(5000, 512, 4, 10)


def test_an_asymmetric_measure_computes_every_pair_twice():
    once, both = (
        seconds_of([LINREG], 5000, 512, representations=0, both_ways=both) for both in (False, True)
    )
    assert once < both < 2 * once  # the views of the pair serve both
    hours = comparing_hours([Workload(5000, 512, 0, 5)], [LINREG])
    assert hours == pytest.approx(5 * both / 3600)


def test_measures_together_cost_shared_views_once_and_those_nobody_has_timed_nothing():
    works = [all_pairs(5000, 512, 2)]
    together = comparing_hours(works, [JACCARD, rs.rank_similarity])
    alone = [comparing_hours(works, [m]) for m in (JACCARD, rs.rank_similarity)]
    assert max(alone) < together < sum(alone)
    own = replace(JACCARD, name="own")
    assert comparing_hours(works, [JACCARD, own]) == alone[0]


def test_layers_that_are_maps_are_compared_in_two_ways():
    works = list(of_layers(5000, [49 * 8, 8, 8], [(8, 7, 7), (8, 1, 1), None]))
    samples = [w for w in works if w.rows_of_maps == "samples"]
    assert samples == [
        Workload(5000, 8, 2, 0, "samples"),
        Workload(5000, 392, 1, 0, "samples"),
        Workload(5000, 392, 0, 6, "samples"),
    ]
    positions = [w for w in works if w.rows_of_maps == "positions"]
    assert {(w.rows, w.width) for w in positions} == {(5000, 8)}  # a step of 49, and one of 1
    # 7 x 7: one layer; 1 x 1: all three; no maps: the last alone
    assert [w.pairs for w in positions if w.pairs] == [1, 6, 1]
    assert {w.rows_of_maps for w in of_layers(50, [3, 4], [None, None])} == {None}
    assert of_layers(10_000, [4], [(4, 1, 1)]).__next__().rows == 10_000
    assert list(of_layers(10_000, [4], [(4, 1, 1)]))[-1].rows == 5000


def test_work_of_cases_is_of_their_parts_and_of_fewer_samples(tight):
    cases = six_tests(tight).cases
    works = list(of_cases(cases))
    parts = {part.key: len(part.rows) for case in cases for part in case.parts}
    assert len(parts) < len(cases)  # for both qualities once
    assert sum(w.pairs for w in works) == sum(n * (n + 1) // 2 for n in parts.values())
    assert {w.rows for w in works} == {tight[0].last.shape[0]}
    assert {w.rows for w in of_cases(cases, samples=7)} == {7}


@pytest.fixture
def tight():
    from resemblance.sources.synthetic import tight_groups

    return tight_groups(setting="labels")


def test_what_takes_long_says_so_and_offers_samples():
    def works(samples):
        return [all_pairs(min(samples or 10_000, 10_000), 512, 100)]

    measures = [CKA, rs.imd]
    total, few = (comparing_hours(works(samples), measures) for samples in (None, 2000))
    assert advice(works, measures, limit=1.01 * total) == ""
    text = advice(works, measures, limit=1.01 * few)
    assert f"{total:.2g} CPU hours" in text
    dearer, cheaper = sorted(measures, key=lambda m: -comparing_hours(works(None), [m]))
    assert text.index(dearer.spec) < text.index(cheaper.spec)
    assert "--samples 2000" in text  # the most that are few enough
    assert "--samples N" in advice(works, measures, limit=0)
    half = advice(works, measures, limit=0, share=0.5)
    assert f"takes about {total / 2:.2g} CPU hours" in half


def test_comparisons_that_take_long_are_told_before_they_start_and_once(
    tight, tmp_path, monkeypatch
):
    monkeypatch.setattr(evaluation, "advice", partial(advice, limit=0))
    file, events = tmp_path / "comparisons.db", []

    def progress(stage, done, total):
        events.append((stage, done))

    def tell(text, **more):
        events.append(("warned", str(text)))

    monkeypatch.setattr(warnings, "warn", tell)
    evaluate(tight, measures=["cka"], save=file, progress=progress)
    (warned,) = (i for i, (stage, _) in enumerate(events) if stage == "warned")
    assert "--samples N" in events[warned][1]
    assert not any(done for _, done in events[:warned])  # nothing is done before
    monkeypatch.undo()
    monkeypatch.setattr(evaluation, "advice", partial(advice, limit=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is left to be compared
        evaluate(tight, measures=["cka"], save=file)
    with pytest.warns(UserWarning, match=r"comparing takes about .* CPU hours"):
        evaluate(tight, measures=["cka", "imd"], save=file)
