"""Each check finds the measure that is wrong in that respect, and in no other; the command shows
it."""

from __future__ import annotations

import json
import random as standard
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy.stats import spearmanr

import resemblance as rs
from resemblance.checks import behavior, check_measure
from resemblance.checks.arrays import NO_STRICT, NO_TORCH, array_library_checks
from resemblance.checks.checking import applicable_checks
from resemblance.intermediates.points import preshape
from resemblance.intermediates.spectra import decomposition

CKA = {"orthogonal", "isotropic_scaling", "translation", "sample_rotation"}
CLAIMS = {
    "label": "CKA",
    "family": "similarity_matrix",
    "larger_is_more_similar": True,
    "range": (0, 1),
    "symmetric": True,
    "citation": "kornblith2019similarity",
    "invariant_to": CKA,
}
cka = rs.cka.function


def declare(**claims):
    return rs.measure(**CLAIMS | claims)


def dimensions(x):
    variance = decomposition(x).singular ** 2
    return x.xp.sum(variance) ** 2 / x.xp.sum(variance**2)


def in_numpy(x):
    return isinstance(x.array, np.ndarray)


# ------------------------------------------------------------------- each wrong in one respect

WRONG = dict[rs.Measure, set[str]]()


def wrong(*checks, **claims):
    """Declare a function of this module that fails these checks and no others."""

    def declared(function):
        function.__doc__ = f"{function.__name__}: see its name."
        measure = declare(**claims)(function)
        WRONG[measure] = set(checks)
        return measure

    return declared


def largest(x):
    return float(x.xp.max(x.array))


LINEAR = {"invariant to invertible linear", "invariant to affine"}
FALSE_CLAIMS = {  # of CKA, and the checks that fail
    "right": ({}, {}),
    "too_invariant": ({"invariant_to": CKA | {"affine"}}, LINEAR),
    "too_modest": (
        {"invariant_to": {"orthogonal", "isotropic_scaling"}},
        {"invariant to translation"},
    ),
    "secretly_symmetric": ({"symmetric": False}, {"symmetric"}),
    "secretly_one": ({"identity": False}, {"identity"}),
    "turned_round": ({"larger_is_more_similar": False, "identity": False}, {"direction"}),
    "metric_similarity": ({"metric": True}, {"triangle inequality"}),
}
FACTORS = {  # by which CKA is multiplied, and the checks that fail
    "never_one": (lambda x, y: 0.9, {"identity"}),
    "never_one_of_wide": (
        lambda x, y: 0.9 if min(x.shape[1], y.shape[1]) > x.shape[0] else 1.0,
        {"identity"},
    ),
    "remembering": (  # the checks for NaN and for lost digits have their own intermediates
        lambda x, y: 1 - 1e-8 * (len(x._cache) > 4),
        {"same value cold and warm"},
    ),
    "precise": (lambda x, y: 0.9 if x.shape == (60, 6) and is_single(x) else 1.0, {"float32"}),
    "overflowing": (lambda x, y: 0.9 if largest(x) > 1e100 else 1.0, {"every scale"}),
    "bound_to_the_origin": (lambda x, y: 0.9 if 1e5 < largest(x) < 1e10 else 1.0, {"huge offset"}),
    "random": (lambda x, y: 1 - 1e-12 * np.random.default_rng().random(), {"deterministic"}),
    "other_on_standard_arrays": (
        lambda x, y: 0.9 if "strict" in type(x.array).__module__ else 1.0,
        {"array API"},
    ),
}


def is_single(x):
    return in_numpy(x) and (x.array == np.float32(x.array)).all()


def times(factor):
    return lambda x, y: factor(x, y) * cka(x, y)


def put(name, function, checks, claims):
    """Put a measure under its name into this module, where a worker looks for it."""
    function.__name__ = function.__qualname__ = name
    globals()[name] = wrong(*checks, **claims)(function)
    return globals()[name]


OF_CKA = {
    **{k: put(k, times(lambda x, y: 1.0), *v[::-1]) for k, v in FALSE_CLAIMS.items()},
    **{k: put(k, times(factor), checks, {}) for k, (factor, checks) in FACTORS.items()},
    "other_on_tensors": put(
        "other_on_tensors",
        times(lambda x, y: 1.0 if in_numpy(x) else 0.9),
        {"PyTorch", "array API"},
        {"differentiable": False},
    ),
}


@wrong("invariant to translation", "huge offset", symmetric=False, identity=False)
def anchored(x, y):
    value, unit = cka(x, y), y.array / y.xp.max(y.xp.abs(y.array))
    rest = unit - y.xp.mean(unit, axis=0)
    return value * y.xp.sum(rest**2) / y.xp.sum(unit**2)


@wrong("invariant to isotropic scaling", "every scale", "huge offset", "array API")
def refusing(x, y):
    if not all(0.5 < float(abs(r.array).max()) < 8 for r in (x, y)):
        raise rs.UndefinedError("refusing: too large, or too small")
    return cka(x, y)


@wrong("symmetric", "different widths")
def one_sided(x, y):
    ratio = dimensions(x) / dimensions(y)
    return cka(x, y) * x.xp.where(ratio < 1, ratio, x.xp.ones_like(ratio))


# It compares fewer components than wide data have, and all that small data have; its singular
# values tie.
@wrong("ties in wide data", invariant_to=CKA - {"sample_rotation"}, differentiable=False)
def lead_subspace(x, y, *, k: int = 10):
    a, b = (np.linalg.svd(preshape(r), full_matrices=False)[0][:, :k] for r in (x, y))
    return float(((a.T @ b) ** 2).sum() / max(min(a.shape[1], b.shape[1]), 1))


@wrong(
    *("ties in wide data", *LINEAR),
    invariant_to=CKA - {"sample_rotation"} | {"affine"},
    differentiable=False,
)
def too_invariant_subspace(x, y, *, k: int = 10):
    return lead_subspace.function(x, y, k=k)


@wrong("triangle inequality", larger_is_more_similar=False, metric=True)
def no_metric(x, y):
    return 1 - cka(x, y)


def weighted(x, y):
    a, b = (preshape(r) * r.xp.arange(1.0, r.shape[0] + 1)[:, None] for r in (x, y))
    sums = [x.xp.sum((p.T @ q) ** 2) for p, q in ((a, b), (a, a), (b, b))]
    if not float(sums[1] * sums[2]) > 0:
        raise rs.UndefinedError("weighted: constant")
    return x.xp.minimum(sums[0] / x.xp.sqrt(sums[1] * sums[2]), x.xp.ones_like(sums[0]))


@wrong(
    *("order of samples", "ties in wide data"),
    invariant_to=CKA - {"sample_rotation"},
    differentiable=False,
)
def order_dependent(x, y):
    with np.errstate(all="ignore"):
        return weighted(x, y)


@wrong("ties in wide data", invariant_to=CKA - {"sample_rotation"}, differentiable=False)
def ranking_by_rounding(x, y):
    ranked = []
    for a in map(preshape, (x, y)):
        squares = (a * a).sum(axis=1)
        distances = squares[:, None] + squares - 2 * a @ a.T
        ranked.append(distances[np.triu_indices(len(a), 1)])
    if min(map(np.ptp, ranked)) < 1e-9:
        raise rs.UndefinedError("ranking_by_rounding: equal distances")
    return (1 + spearmanr(*ranked).statistic) / 2


@wrong("inputs unchanged")
def writing(x, y):
    if in_numpy(x):
        x.source[...] *= 0.5
    return cka(x, y)


@wrong("inputs unchanged")
def writing_into_y(x, y):
    return writing.function(y, x)


@wrong("global generator untouched")
def drawing(x, y):
    np.random.random()  # noqa: NPY002 - that is what is wrong
    return cka(x, y)


@wrong("global generator untouched")
def drawing_elsewhere(x, y):
    standard.random()
    return cka(x, y)


@wrong("different widths", "hostile: shapes")
def narrow(x, y):
    if x.shape[1] != y.shape[1]:
        raise IndexError("column 6 is out of bounds")
    return cka(x, y)


@wrong("few samples", "hostile: few samples")
def demanding(x, y):
    if x.shape[0] < 5:
        raise IndexError("row 4 is out of bounds")
    return cka(x, y)


@wrong("variants")
def incomplete(x, y, *, kind: Literal["linear", "new"] = "linear"):
    return {"linear": cka}[kind](x, y)


misnamed = declare()(lambda x, y: cka(x, y))
WRONG[misnamed] = {"pickles"}


@wrong("gradient", "finite gradient")
def without_gradient(x, y):
    return float(cka(x, y))


@wrong("gradient")
def wrong_gradient(x, y):
    value = cka(x, y)
    return value / 2 + value.detach() / 2 if hasattr(value, "detach") else value


@wrong("finite gradient")
def infinite_gradient(x, y):
    """Adds nothing, whose derivative is infinite where a unit is dead."""
    return cka(x, y) + 0 * x.xp.sum(x.xp.sqrt(x.xp.sum(preshape(x) ** 2, axis=0)))


@wrong("hostile: zeros")
def not_a_number(x, y):
    return float("nan") if not bool(x.xp.any(x.array != 0)) else cka(x, y)


@wrong("hostile: constant", "hostile: zeros")
def dividing(x, y):
    if bool(x.xp.all(x.array == x.array[:1, :])):
        raise ZeroDivisionError("division by zero")
    return cka(x, y)


@wrong("hostile: offsets")
def warning(x, y):
    if in_numpy(x) and np.isclose(x.array.sum(), 1e6 * x.array.size, rtol=1e-3):
        np.zeros(1) / np.zeros(1)
    return cka(x, y)


@wrong("a number for generic data")
def several_numbers(x, y):
    return np.ones(3)


@wrong("a number for generic data")
def broken(x, y):
    return [][0]


# ------------------------------------------------------------------------- wrong in several ways


@declare(invariant_to=CKA - {"translation"})
def too_streamed(x, y):
    """Claims that maps of the samples change nothing, and weights them."""
    return weighted(x, y)


@declare()
def negative(x, y):
    """Leaves the range."""
    return 2 * cka(x, y) - 1


@declare(invariant_to={"orthogonal", "isotropic_scaling"}, symmetric=False)
def wrong_in_all(x, y):
    """Claims too little, and leaves the range everywhere."""
    return 2 + cka(x, y) + dimensions(x) / 10


@cache
def outcomes_of(measure):
    return check_measure(measure)


def failing(measure):
    return {o.check for o in outcomes_of(measure) if o.holds is False}


@pytest.mark.parametrize("m", WRONG, ids=str)
def test_what_is_wrong_is_found_and_nothing_else(m):
    assert failing(m) == WRONG[m]


def test_a_value_outside_the_range_is_found_wherever_it_occurs():
    found = failing(negative)
    elsewhere = {o for o in found if not o.startswith("hostile: ")}
    assert elsewhere == {"range", "different widths"}


def test_every_fault_is_found_where_one_is_everywhere():
    assert {o.check for o in outcomes_of(wrong_in_all)} == set(applicable_checks(wrong_in_all))
    assert {"range", "identity", "invariant to translation"} <= failing(wrong_in_all)
    assert "inputs unchanged" not in failing(wrong_in_all)
    for measure, check in (
        (wrong_in_all, "range"),
        (OF_CKA["turned_round"], "X is most similar to X"),
    ):
        assert "(seed 0)" in outcome(measure, check).detail  # the first one


def test_triangles_are_tried_over_each_corner(subtests):
    def corner(r):  # of a line, a line that is padded, a line that is moved
        return "Y" if r.shape[1] == 20 else "Z" if r.array.mean() > 3 else "X"

    for longest in ("XY", "YZ"):
        with subtests.test(longest):

            @declare(larger_is_more_similar=False, range=(0, 3), metric=True)
            def uneven(x, y, *, longest: str = longest):
                """Is 1 everywhere but between two corners."""
                return 3.0 if {corner(x), corner(y)} == set(longest) else float(x is not y)

            triangle = outcome(uneven, "triangle inequality")
            assert triangle.holds is False
            assert "= 3 > " in triangle.detail


def test_maps_of_samples_are_found_not_to_be_harmless():
    assert "invariant to sample rotation" in failing(too_streamed)


def outcome(measure, check):
    (found,) = [o for o in outcomes_of(measure) if o.check == check]
    return found


def test_details_are_counterexamples_in_numbers():
    linear = outcome(OF_CKA["too_invariant"], "invariant to invertible linear")
    assert linear.claimed == "claimed"
    changed, original = (
        float(part.split("= ")[1].split(" (")[0]) for part in linear.detail.split(", m(X, Y)")
    )
    assert changed != pytest.approx(original, rel=1e-3)
    assert (
        "declare the property" in outcome(OF_CKA["too_modest"], "invariant to translation").detail
    )
    assert "0.9, not 1" in outcome(OF_CKA["never_one"], "identity").detail
    assert "IndexError: list index out of range (test_checks.py:" in outcomes_of(broken)[0].detail
    assert outcome(warning, "hostile: offsets").detail.startswith(
        "huge offset of one side: Runtime"
    )
    assert "returned nan" in outcome(not_a_number, "hostile: zeros").detail


def test_what_cannot_be_decided_is_no_failure(monkeypatch):
    distance = outcome("rsm_norm_difference", "triangle inequality")
    assert (distance.claimed, distance.holds) == ("claimed", True)
    assert outcome(OF_CKA["right"], "variants").holds is None
    assert outcome(OF_CKA["other_on_tensors"], "gradient").holds is None
    assert outcome(misnamed, "documented").holds is None
    assert outcome(OF_CKA["random"], "same value cold and warm").holds is None
    monkeypatch.setattr(behavior, "MAX_PAIR_SECONDS", 0.0)
    (slow,) = [o for o in check_measure(OF_CKA["right"]) if o.check == "speed"]
    assert slow.holds is None
    assert "s a pair of 60 samples" in slow.detail


def test_without_other_libraries_their_arrays_are_not_checked(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = {o.check: o for o in check_measure(OF_CKA["right"])}
    assert {found[name].detail for name in array_library_checks()} == {NO_TORCH, NO_STRICT}
    assert not [o for o in found.values() if o.holds is False]


# -------------------------------------------------------------------------------------- the command

OWN = '''
import resemblance as rs

claims = dict(family="descriptive", larger_is_more_similar=False, range=(0, float("inf")),
    symmetric=True, citation="x", differentiable=False)

@rs.measure(label="SizeDiff", invariant_to={"orthogonal", "sample_rotation"}, **claims)
def size_difference(x, y, *, half: bool = False):
    """Size difference: how much more one representation varies."""
    first, second = (float(abs(r.array - r.array.mean(axis=0)).max()) for r in (x, y))
    return abs(first - second) / (1 + half)
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return "own.py:size_difference"


def test_the_command_shows_what_holds(call, own):
    code, out, err = call("check", "cka", "-q")
    assert (code, err) == (0, "")
    count = len(outcomes_of("cka"))
    assert out.splitlines()[-1] == f"{count} checks hold"
    assert call("check", own, "cka")[0] == 1
    assert outcome("nbs", "variants").holds is None
    assert call("check", "nbs", "-q")[0] == 0


def test_a_measure_of_a_file_is_loaded_anew_for_workers(call, own):
    code, out, _ = call("check", f"{own}[half=True]", "--format", "json")
    records = json.loads(out)["records"]
    held = {r["check"]: r["holds"] for r in records}
    assert code == 1
    assert records[0]["measure"] == "size_difference[half=True]"
    assert [held[name] for name in ("pickles", "variants", "symmetric")] == [True] * 3
    assert not held["invariant to orthogonal"]
    assert not held["invariant to translation"]


def test_a_plain_function_of_a_file_is_loaded_anew_for_workers(call, own):
    Path("own.py").write_text("def gap(X, Y):\n    return float(abs(X.mean() - Y.mean()))\n")
    records = json.loads(call("check", "own.py:gap", "--format", "json")[1])["records"]
    assert {r["check"]: r["holds"] for r in records}["pickles"] is True


def test_a_file_that_is_another_each_time_it_is_loaded_is_found(call, own):
    drawn = "import random\nDRAWN = random.random()\n"
    Path("own.py").write_text(drawn + OWN.replace("(1 + half)", "(1 + half + DRAWN)"))
    records = json.loads(call("check", own, "--format", "json")[1])["records"]
    assert {r["check"]: r["holds"] for r in records}["pickles"] is False


def test_mistakes_are_one_line(refused, own):
    refused("""
        check ckaa | error: no measure 'ckaa'; did you mean 'cka'?
        check own.py:nothing | has no measure or statistic 'nothing'
    """)


def test_the_cause_comes_first():
    """Chance in a measure breaks claims that it would hold without it."""
    from resemblance.report.outputs import checks_output, count_outcomes

    outcomes = outcomes_of(OF_CKA["random"])
    failed = [outcome.check for outcome in outcomes if outcome.holds is False]
    assert outcomes[0].check == failed[0] == "deterministic"
    if len(failed) > 1:
        assert "mend 'deterministic' first" in count_outcomes(outcomes)
    assert "first" not in count_outcomes(outcomes_of("cka"))
    assert checks_output({"random": outcomes}).code == 1
