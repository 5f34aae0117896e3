"""What comparisons cost, told before they start: laws, not times."""

from __future__ import annotations

import warnings
from functools import partial

import pytest
from factories.files import GOLDEN

import resemblance as rs
from resemblance.suites.resi import evaluate, evaluation
from resemblance.suites.resi.cases import six_tests
from resemblance.suites.resi.costs import (
    COSTS,
    Law,
    Workload,
    advice,
    all_pairs,
    comparing_hours,
    of_cases,
    of_layers,
)

ROOT = GOLDEN.parents[1]
CKA, LINREG, JACCARD = map(rs.get_measure, ("cka", "linear_regression", "jaccard"))


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import paper_costs

    return paper_costs


def test_the_laws_are_near_what_was_measured(script):
    measured = [c for c in script.stored(script.MEASURED, script.Cost) if c.outcome == "measured"]
    assert {c.measure for c in measured} == set(COSTS)
    for c in measured:
        for seconds, counts in ((c.representation, (1, 0)), (c.pair, (0, 1))):
            if seconds > 0.2:
                law = COSTS[c.measure].seconds(c.rows, c.width, *counts)
                assert 0.5 < law / seconds < 2, c


def test_the_tables_of_the_page_are_those_of_what_was_measured(script):
    assert script.TABLES.read_text("utf-8") == script.tables()


def test_seconds_grow_by_the_powers_of_samples_and_features():
    law = Law(3.0, 2.0, 0.5)
    assert law.at(5000, 512) == 3.0
    assert law.at(10_000, 512) == 12.0
    assert law.at(5000, 2048) == 6.0


def test_hours_are_those_of_representations_and_pairs():
    cost = COSTS["cka"]
    (hours,) = comparing_hours([Workload(5000, 512, 7, 3)], [CKA]).values()
    assert hours == pytest.approx((7 * cost.one.seconds + 3 * cost.pair.seconds) / 3600)
    assert all_pairs(5000, 512, 4) == Workload(5000, 512, 4, 10)


def test_an_asymmetric_measure_compares_every_pair_twice():
    work = Workload(5000, 512, 0, 5)
    (hours,) = comparing_hours([work], [LINREG]).values()
    assert hours == pytest.approx(10 * COSTS["linear_regression"].pair.seconds / 3600)


def test_more_features_than_samples_cost_their_reduction_besides():
    narrow, wide, wider = (Workload(5000, d, 1, 0) for d in (5000, 25_088, 50_176))
    (a,), (b,), (c,) = (comparing_hours([w], [CKA]).values() for w in (narrow, wide, wider))
    assert b > a
    assert c - a == pytest.approx(2 * (b - a))


def test_a_measure_that_nobody_has_timed_counts_as_the_dearest_of_its_family():
    (hours,) = comparing_hours([all_pairs(5000, 512, 2)], [rs.mutual_knn]).values()
    (kin,) = comparing_hours([all_pairs(5000, 512, 2)], [JACCARD]).values()
    assert hours >= kin > 0
    debiased = rs.cka.where(estimator="debiased")
    assert [*comparing_hours([all_pairs(9, 9, 2)], [debiased]).values()] == [
        *comparing_hours([all_pairs(9, 9, 2)], [CKA]).values()
    ]


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
    hours = comparing_hours(works(None), measures)
    total, few = sum(hours.values()), sum(comparing_hours(works(2000), measures).values())
    assert advice(works, measures, limit=1.01 * total) == ""
    text = advice(works, measures, limit=1.01 * few)
    assert f"{total:.2g} CPU hours" in text
    dearer, cheaper = sorted(hours, key=lambda spec: -hours[spec])
    assert text.index(dearer) < text.index(cheaper)
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
