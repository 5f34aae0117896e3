"""Every check of every measure, at the precision of the catalogue: claims in both directions,
invariant where claimed and variant where not."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from factories.measures import with_each

import resemblance as rs
from resemblance.checks.checking import applicable_checks, iterate_outcomes
from resemblance.checks.claims import claim_checks
from resemblance.checks.data import generic_pair, varied_representations, with_repeats
from resemblance.checks.groups import apply_random_transformation
from resemblance.checks.trial import CheckContext, limit_neighbors, measure_check_context
from resemblance.contracts._measure import Measure

# Claims hold where values mean little, too.
pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

NUMBERS = {"ridge": (0.0, 0.01), "alpha": (0.0, 0.5, 1.0)}  # on which claims depend
# How far the values of two local minima are apart with few starts, by alpha.
LOCAL_MINIMA = {
    "orthogonal": {0.0: 0.03, 0.5: 1e-3, 1.0: 1e-3},
    "permutation": {0.0: 0.1, 0.5: 0.1, 1.0: 1e-3},
    "none": dict.fromkeys((0.0, 0.5, 1.0), 1e-9),
}
SMALL = {"k": 3, "probes": 64, "repeats": 2, "starts": 4}


def tried(m: Measure, samples: int = 60) -> CheckContext:
    """A trial in which rounding may move a value by 1e-9; by more where squared distances are near
    the rank tolerance, or roots are of cancellations, and where a search may end in another local
    minimum."""
    rounding = 1e-6 if m.name in ("gulp", "imd", "rtd") else 1e-9
    parameters = {**m.defaults, **dict(m.parameters)}
    if parameters.get("starts") == SMALL["starts"]:
        rounding = LOCAL_MINIMA[parameters["alignment"]][parameters["alpha"]]
    return measure_check_context(m, samples, rounding)


def values_of(m: Measure) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the parameters whose values can be counted, with these."""
    kinds = typing.get_type_hints(m.function)
    yield from m.choices.items()
    for name in m.defaults:
        if kinds[name] is bool or name in NUMBERS:
            yield name, (False, True) if kinds[name] is bool else NUMBERS[name]


def variants(m: Measure) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Yield one parameter at another value: all choices, half of a number."""
    small = {name: SMALL[name] for name in ("probes", "repeats", "starts") if name in m.defaults}
    for name, values in values_of(m):
        others = (v for v in values if v not in (m.defaults[name], "probabilities"))  # other data
        yield from ((*small.items(), (name, v)) for v in others)
    if m.fit:
        yield (("held_out", 5),)
    for name, default in {**m.defaults, **dict(m.parameters)}.items():
        if type(default) is int and m.family in ("neighbors", "topology"):
            continue  # a number of neighbours or of draws decides on no claim
        if type(default) in (int, float) and default > 0 and name not in {*NUMBERS, *small}:
            is_one = default == 1 and type(default) is int
            yield ((name, 2 if is_one else type(default)(default / 2)),)


def members() -> list[Measure]:
    """Return the measures of the catalogue, the measures of the ReSi list, and variants of every
    measure."""
    listed = [
        *rs.list_measures(),
        *map(rs.get_measure, ("pls[components=2,held_out=5]", "ridge[held_out=5]")),
    ]
    everything = [
        *listed,
        *rs.preset("resi"),
        *(v for m in map(limit_neighbors, listed) for v in with_each(m, variants(m))),
    ]
    return list(dict.fromkeys(measure_check_context(m).entry for m in everything))


MEMBERS = members()
BASES = [measure_check_context(m).entry for m in rs.list_measures()]
# Held-out distances without a proof of the triangle inequality, and without a violation here
NO_VIOLATION_HELD_OUT = ("permutation_procrustes", "procrustes", "soft_matching")
SAME_CLASSES = ("disagreement", "jensen_shannon")  # features of outputs are classes


def undecided(m: Measure) -> set[str]:
    """The checks that may decide nothing, as few as there are."""
    checks = {"variants"} if not m.defaults.keys() - {"labels"} else set()
    if not m.differentiable:
        checks |= {"gradient", "finite gradient"}
    if m.held_out is not None and m.name in NO_VIOLATION_HELD_OUT:
        checks.add("triangle inequality")
    if ("estimator", "stochastic") in m.parameters:  # random vectors belong to positions
        checks.add("order of samples")
    if ("estimator", "features") in m.parameters:  # what other features give has no extreme
        checks |= {"X is most similar to X", "direction"}
    if "whitened" in m.spec and ("rdm", "sqeuclidean") in m.parameters:  # as CKA, but of samples
        checks.add("invariant to sample rotation")
    if ("search", "hnsw") in m.parameters or ("estimator", "stochastic") in m.parameters:
        checks.add("ties in wide data")  # an approximate index, and random vectors of positions
    if ("search", "hnsw") in m.parameters and m.name in ("kcka", "mka"):
        checks.add("axes of intermediates")  # the neighbours that the index misses
    return checks


FOLLOWS_THE_OFFSET = {
    "lost digits"
}  # of what claims no translation: its value may follow an offset


# There is a value but no gradient, and that is said: where singular vectors are ambiguous, PWCCA
# also where correlations tie, and where the best rotation may turn dead units anywhere.
AMBIGUOUS = {"a circle", "four categories", "one category a sample"}
TIED = AMBIGUOUS | {f"{kind} (X = Y)" for kind in AMBIGUOUS} | {"whitened", "both whitened"}
EQUAL = {f"{kind} (X = Y)" for kind, _ in varied_representations()} - {"one column (X = Y)"}
DEAD = {"a dead unit", "columns twice", "of rank 2", *AMBIGUOUS}
NO_GRADIENT = {
    "aligned_cosine": {f"{kind} (X = Y)" for kind in DEAD}
    | {"of rank 2", "dead units on each side"},
    **dict.fromkeys(("svcca", "subspace_overlap", "pwcka", "shape_distance"), TIED),
    **dict.fromkeys(("svcca[truncation=resi]", "svcca[explained_variance=0.495]"), TIED),
    **dict.fromkeys(
        ("subspace_overlap[k=2]", "pwcka[explained_variance=0.495]", "gulp[ridge=0.01]"), TIED
    ),
    **dict.fromkeys(
        ("pwcca", "pwcca[weights=second]", "pwcca[weights=symmetric]"),
        TIED | EQUAL | {"n < d", "rotated and scaled"},
    ),
}
FAMILIES = sorted({m.family for m in MEMBERS})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_check_holds(family, subtests):
    for m in [m for m in MEMBERS if m.family == family]:
        with subtests.test(str(m)):
            checks = applicable_checks(m)
            if m not in BASES:  # every variant is a member of its own
                del checks["variants"]
            if m.name == "gaussian_stochastic_shape":  # another order, another local minimum
                del checks["ties in wide data"]
            outcomes = list(iterate_outcomes(tried(m), checks))
            assert [o for o in outcomes if o.holds is False] == []
            open_checks = {o.check for o in outcomes if o.holds is None}
            if "translation" not in m.invariant_to:
                open_checks -= FOLLOWS_THE_OFFSET
            assert open_checks == undecided(m) & checks.keys()
            details = {o.check: o.detail for o in outcomes}
            assert set(details) == set(checks)
            is_narrow = m.name in SAME_CLASSES or m.spec == "pwcca[directions=resi]"
            is_narrow |= m.needs_equal_columns
            assert bool(details["different widths"]) == is_narrow
            if m.differentiable:
                refused = details["finite gradient"].removeprefix("no gradient: ").split(", ")
                assert set(refused) - {""} == NO_GRADIENT.get(m.spec, set())


REFUSED = {"pwcca[directions=resi,weights=second]", "pwcca[directions=resi,weights=symmetric]"}


def covering(
    candidates: list[tuple[tuple[str, Any], ...]],
) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Yield combinations of choices, until each pair of choices was together."""

    def pairs(chosen: tuple[tuple[str, Any], ...]) -> set[tuple[Any, ...]]:
        return {*itertools.combinations(chosen, min(2, len(chosen)))}

    missing = set[tuple[Any, ...]]().union(*map(pairs, candidates))
    while missing:
        best = max(candidates, key=lambda chosen: len(pairs(chosen) & missing))
        missing -= pairs(best)
        yield best


def combinations() -> list[Measure]:
    """Combinations of what parameters can be, with every pair of values, that are no members: a
    claim made for a part can be false of it."""
    found = []
    for m in rs.list_measures():
        choices = [[(name, value) for value in values] for name, values in values_of(m)]
        small = m.with_parameters(
            **{name: number for name, number in SMALL.items() if name in m.defaults}
        )
        together = [c for c in itertools.product(*choices) if [*with_each(small, [c])]]
        found += with_each(small, covering(together))
    known = {m.spec for m in MEMBERS}
    return [m for m in found if m.spec not in known and m.name != "accuracy_difference"]


COMBINATIONS = combinations()


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_hold_for_every_pair_of_choices(family, subtests):
    for m in [m for m in COMBINATIONS if m.family == family]:
        trial = tried(m, samples=30)
        trial = trial._replace(seeds=range(1 if trial.rounding < 1e-3 else 3))
        with subtests.test(str(m)):
            if m.spec in REFUSED:
                with pytest.raises(
                    ValueError, match="pwcca: directions='resi' takes its weights fro"
                ):
                    m(*trial.inputs())
                continue
            outcomes = list(iterate_outcomes(trial, claim_checks(m)))
            assert [o for o in outcomes if o.holds is False] == []
            open_ = {o.check for o in outcomes if o.holds is None}
            assert open_ <= undecided(m) | {"triangle inequality"}


def test_equal_singular_values_are_kept_or_cut_together(subtests):
    """Balanced classes, one-hot: all singular values are equal, and which components lead is up to
    rounding."""
    for invariance in ["permutation", "orthogonal", "isotropic_scaling", "translation"]:
        for spec in [
            "svcca[explained_variance=0.5]",
            "pwcka",
            "pwcka[explained_variance=0.3]",
            "subspace_overlap[k=2]",
        ]:
            with subtests.test(f"{invariance}, {spec}"):
                m, rng = rs.get_measure(spec), np.random.default_rng(0)
                x, y = np.eye(4)[np.arange(40) % 4], rng.standard_normal((40, 2))
                white = np.linalg.qr(y - y.mean(axis=0))[0]
                for a, b in ((x, y), (y, x), (x, white), (np.c_[x, y], np.c_[white, y**2])):
                    value = m(a, b)
                    for _ in range(5):
                        assert m(
                            apply_random_transformation(a, invariance, rng),
                            apply_random_transformation(b, invariance, rng),
                        ) == pytest.approx(value, abs=1e-9)


def test_columns_are_classes_of_outputs():
    for name in SAME_CLASSES:
        with pytest.raises(ValueError, match=r"\(60, 4\) and Y \(60, 7\) must have the same cl"):
            rs.get_measure(name)(*generic_pair(d=4, e=7))


def test_zero_columns_change_nothing_for_rotation_invariant_measures(subtests):
    """But for the eigenspace overlap, which divides by the width."""
    x, y = map(rs.Representation, generic_pair())
    padded = rs.Representation(np.pad(x.array, ((0, 0), (0, 3))))
    for m in MEMBERS:
        if "orthogonal" in m.invariant_to and m.name != "eigenspace_overlap":
            with subtests.test(str(m)):
                a, b, wide = (with_repeats(m, r) for r in (x, y, padded))
                # Wider starts lead to other local minima, farther apart than turned copies do.
                error = max(1e-7, 3 * tried(m).rounding)
                assert m(wide, b) == pytest.approx(m(a, b), rel=error, abs=error)
