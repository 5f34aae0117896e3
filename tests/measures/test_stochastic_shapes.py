"""Shape distances of noisy responses: recorded values, closed forms, stimuli and refused input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import resemblance as rs
from resemblance.checks.repeats import repeats
from resemblance.checks.trial import measure_check_context

N, REPEATS, D = 15, 30, 6
GAUSS, ENERGY = rs.gaussian_stochastic_shape, rs.energy_stochastic_shape


def network(g: np.random.Generator, size: float = 0.8) -> np.ndarray:
    """Responses (stimuli, repeats, units) with a covariance of their own for each stimulus."""
    means = g.standard_normal((N, D))
    mixing = g.standard_normal((N, REPEATS, D)), g.standard_normal((N, D, D)) / 2
    return means[:, None] + size * np.einsum("nri,nij->nrj", *mixing)


def named(x: np.ndarray, name: str = "x") -> rs.Representation:
    """A representation of (stimuli, repeats, units) with the stimuli for ids."""
    stimuli = np.repeat([f"s{i}" for i in range(len(x))], x.shape[1])
    return rs.Representation(x.reshape(-1, x.shape[2]), name, ids=list(stimuli))


RANDOM = np.random.default_rng(0)
X, Y = network(RANDOM), network(RANDOM)
FEW_X, FEW_Y = X[:6, :10], Y[:6, :10]
TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((D, D)))[0]


def test_values_are_those_of_netrep_where_it_minimises_what_it_reports() -> None:
    # netrep of July 2024: GaussianStochasticMetric(alpha=2), EnergyStochasticMetric(tol=1e-12)
    assert GAUSS(named(X), named(Y), alpha=2) == pytest.approx(3.968834210326853, rel=1e-12)
    assert ENERGY(named(X), named(Y)) == pytest.approx(1.015989151290426, rel=1e-9)
    # Its own start gives 3.35803 and 2.18756 for these: a local minimum
    assert GAUSS(named(X), named(Y)) == pytest.approx(3.354851270496, rel=1e-9)
    assert GAUSS(named(X), named(Y), alpha=0) == pytest.approx(2.12234850336, rel=1e-9)


def test_swapped_arguments_and_turned_copies(subtests: Any) -> None:
    cases = {
        **{f"alpha={a}": lambda x, y, a=a: GAUSS(x, y, alpha=a) for a in (0, 0.5, 1, 2)},
        "energy": ENERGY,
    }
    x, turned = named(FEW_X), named(FEW_X @ TURN)
    for name, distance in cases.items():
        with subtests.test(name):
            value = distance(x, named(FEW_Y))
            assert distance(named(FEW_Y), x) == pytest.approx(value, rel=1e-7)
            assert distance(x, turned) == pytest.approx(0, abs=1e-4)
            more = distance(x, named(np.pad(FEW_Y, [(0, 0), (0, 0), (0, 3)])))
            assert more == pytest.approx(value, rel=0.02)
    for distance in (GAUSS, ENERGY):
        assert distance(x, turned, alignment="none") > 0.5
        order = [3, 1, 0, 5, 4, 2]
        moved = distance(x, named(FEW_X[:, :, order]), alignment="permutation")
        assert moved == pytest.approx(0, abs=1e-4)


def root_of(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(values.clip(0))) @ vectors.T


@pytest.mark.parametrize(("repeats", "width"), [(REPEATS, D), (REPEATS, 2), (4, D), (3, 1)])
def test_without_a_rotation_it_is_the_mean_of_bures_distances(repeats: int, width: int) -> None:
    """Also where Y has fewer columns than X, and both have fewer repeats than columns."""
    x, y = X[:, :repeats], Y[:, :repeats, :width]
    total = 0.0
    for a, b in zip(x, np.pad(y, [(0, 0), (0, 0), (0, D - width)])):
        s, t = np.cov(a.T), np.cov(b.T)
        total += ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(s + t)
        total -= 2 * np.linalg.norm(root_of(s) @ root_of(t), "nuc")
    for value in (
        GAUSS(named(x), named(y), alignment="none"),
        GAUSS(named(y), named(x), alignment="none"),
    ):
        assert value**2 == pytest.approx(total / N, rel=1e-7)


def test_inference_moves_stimuli_as_wholes() -> None:
    g, x, other = np.random.default_rng(5), X[:8, :6, :4], Y[:8, :6, :4]
    near = x + 0.1 * g.standard_normal(x.shape)
    blocks = np.repeat(np.arange(len(x)), x.shape[1])
    rows, columns = {"x": named(x)}, {"near": named(near), "other": named(other)}
    options: dict[str, Any] = {"whole_blocks": blocks, "n_permutations": 19, "progress": False}
    gauss = GAUSS.with_parameters(starts=2)
    evidence = rs.evidence(rows, columns, measures=[gauss], **options)
    p = evidence.pvalue(gauss)[0]
    assert p[0] == pytest.approx(1 / 20)
    assert p[1] > 0.05
    again = rs.evidence(rows, columns, measures=[gauss], **options)
    assert (again.pvalue(gauss)[0] == p).all()


def test_saved_values_belong_to_their_stimuli(tmp_path: Any) -> None:
    save = tmp_path / "a.comparison"
    whole, names = named(FEW_X), [f"t{i % 10}" for i in range(FEW_X[..., 0].size)]
    other = rs.Representation(whole.source, "x", ids=names)
    for r in (whole, other):
        y = rs.Representation(named(FEW_Y).source, "y", ids=r.ids)
        value = rs.compare({"x": r}, {"y": y}, measures=[GAUSS], save=save, progress=False)
        assert value["gaussian_stochastic_shape"][0, 0] == pytest.approx(GAUSS(r, y))


def test_what_has_no_distance_is_refused(subtests: Any) -> None:
    bare = rs.Representation(named(X).source)
    single = rs.Representation(bare.source[:31], ids=["a"] * 30 + ["b"])
    ids = ["a"] * 3 + ["b"] * 2
    unequal = rs.Representation(bare.source[:5], ids=ids)
    holes = named(np.where(X > 2, np.nan, X))
    cases = {
        "no ids": (GAUSS, bare, {}, "ids=stimuli"),
        "one repeat": (GAUSS, single, {}, "one row of 'b'"),
        "unequal repeats": (ENERGY, unequal, {}, "equally many"),
        "NaN": (GAUSS, holes, {}, "NaN"),
        "alignment": (GAUSS, named(X), {"alignment": "rotation"}, "alignment"),
        "alpha": (GAUSS, named(X), {"alpha": 3.0}, "alpha"),
        "other stimuli": (
            lambda x, _: GAUSS(x, rs.Representation(x.source, ids=x.ids[::-1])),
            named(X), {}, "order",
        ),
    }  # fmt: skip
    for name, (distance, x, options, words) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=words):
            distance(x, x, **options) if options else distance(x, x)
    assert GAUSS(unequal, unequal) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("measure", [GAUSS, ENERGY])
def test_a_common_offset_keeps_the_value_or_has_none(measure: Any) -> None:
    """Once the offset fixes the direction, the value stays; where rounding decides on the rotation,
    there is none."""
    x, y = X, Y
    limit = measure(named(x + 1e4), named(y + 1e4))
    for offset in (1e5, 1e6):
        assert measure(named(x + offset), named(y + offset)) == pytest.approx(limit, rel=1e-3)
    for offset in (1e8, 1e10):
        with pytest.raises(rs.UndefinedError, match="subtract the mean of all rows"):
            measure(named(x + offset), named(y + offset))
    far = [named(z + 1e8) for z in (x, y)]
    centered = [rs.Representation(r.array - r.array.mean(axis=0), ids=r.ids) for r in far]
    assert measure(*centered) == pytest.approx(
        measure(named(x - x.mean(axis=(0, 1))), named(y - y.mean(axis=(0, 1)))), rel=1e-5
    )


@rs.measure(
    label="Paired", family="alignment", citation="nobody2026nothing", takes="repeats",
    larger_is_more_similar=False, range=(0, np.inf), invariant_to=frozenset(), min_samples=4,
)  # fmt: skip
def paired(x: rs.Representation, y: rs.Representation) -> Any:
    """Paired: a distance that pairs the repeats by their places and takes rows without ids."""
    width = min(x.shape[1], y.shape[1])
    return x.xp.mean((x.array[:, :width] - y.array[:, :width]) ** 2)


def test_checks_find_a_measure_that_pairs_repeats_or_needs_none() -> None:
    trial = measure_check_context(paired)
    for check in repeats(paired).values():
        assert check(trial)[1] is False
        assert check(measure_check_context(ENERGY))[1] is True
    assert repeats(rs.cka) == {}
