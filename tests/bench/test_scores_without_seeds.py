"""The score without a seed is the score of the other models alone."""

from __future__ import annotations

import numpy as np
import pytest
from factories.synthetic import graded_outputs, noise_walk, tight_groups

import resemblance as rs
from resemblance.bench.case import Case
from resemblance.bench.resi.cases import six_tests
from resemblance.bench.scoring import score
from resemblance.bench.sensitivity.cases import FamilySets, RepresentationSet, cases_of_family
from resemblance.bench.study_models import ModelFamily
from resemblance.data.representation import Representation

MEASURES = [rs.get_measure(name) for name in ("cka", "linear_regression")]  # one is asymmetric
FAMILY = ModelFamily("vision", "made", "net", "mean")


def scores_by_task(cases: list[Case]) -> dict[tuple[tuple[str, ...], str], float]:
    return {(s.key, s.measure): s.value for s in score(cases, MEASURES)}


@pytest.mark.parametrize(
    "models",
    [
        tight_groups(samples=24, features=5, members=4, noise=1.0),
        graded_outputs(models=6, samples=24, features=5),
        noise_walk(models=3, samples=24, features=5),
    ],
)
def test_in_the_six_tests(models) -> None:
    compared = 0
    for s in score(six_tests(models).cases, MEASURES):
        for seed, value in s.without.items():
            others = [m for m in models if str(m.traits["seed"]) != seed]
            alone = scores_by_task(list(six_tests(others).cases))
            if (s.key, s.measure) in alone:  # the groups that differ may be others without a seed
                assert value == pytest.approx(alone[s.key, s.measure], nan_ok=True)
                compared += 1
    assert compared >= 6


def representations(n: int, units: tuple[str, ...]) -> RepresentationSet:
    g = np.random.default_rng(0)
    columns = {f"model{i}": Representation(g.standard_normal((20, 4))) for i in range(n)}
    accuracy = np.linspace(0.9, 0.4, n)[g.permutation(n)]
    return RepresentationSet(columns, tuple(range(n)), {"fog": accuracy}, units=units)


def without_unit(members: RepresentationSet, unit: str) -> RepresentationSet:
    kept = [i for i, other in enumerate(members.units) if other != unit]
    columns = list(members.columns.items())
    return RepresentationSet(
        dict(columns[i] for i in kept),
        tuple(range(len(kept))),
        {name: f[kept] for name, f in members.functionality.items()},
    )


@pytest.mark.parametrize("units", [tuple("abcdefgh"), tuple("aabbccdd")])
def test_a_reference_is_dropped_with_its_seed_and_the_next_best_takes_its_place(units) -> None:
    members = representations(8, units)
    (case, kendall) = cases_of_family("finetuning", FamilySets(FAMILY, {"top": members}))
    assert len(case.parts[0].rows) == 2  # the best model, and the best without its seed
    for s in score([case], MEASURES):
        assert set(s.without) == set(units)
        for unit, value in s.without.items():
            others = FamilySets(FAMILY, {"top": without_unit(members, unit)})
            alone = scores_by_task(list(cases_of_family("finetuning", others)))
            assert value == pytest.approx(alone[s.key, s.measure])
    assert {len(s.without) for s in score([kendall], MEASURES)} == {0}
