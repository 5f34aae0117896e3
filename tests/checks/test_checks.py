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
from factories.output import assert_fits
from scipy.stats import spearmanr

import resemblance as rs
from resemblance import cli
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


# ---------------------------------------------------------------- each wrong in one respect: claims


@declare()
def right(x, y):
    """Right: what all the others are but for one thing."""
    return cka(x, y)


@declare(invariant_to=CKA | {"affine"})
def too_invariant(x, y):
    """Claims two invariances that it does not have."""
    return cka(x, y)


@declare(invariant_to={"orthogonal", "isotropic_scaling"})
def too_modest(x, y):
    """Claims fewer invariances than it has."""
    return cka(x, y)


@declare(invariant_to=CKA - {"translation"})
def too_streamed(x, y):
    """Claims that maps of the samples change nothing, and weights them."""
    return weighted(x, y)


@declare(symmetric=False, identity=False)
def anchored(x, y):
    """Claims that a translation of Y changes nothing."""
    value, unit = cka(x, y), y.array / y.xp.max(y.xp.abs(y.array))
    rest = unit - y.xp.mean(unit, axis=0)
    return value * y.xp.sum(rest**2) / y.xp.sum(unit**2)


@declare()
def refusing(x, y):
    """Claims that scale changes nothing, and refuses all but one."""
    if not all(0.5 < float(abs(r.array).max()) < 8 for r in (x, y)):
        raise rs.UndefinedError("refusing: too large, or too small")
    return cka(x, y)


@declare(symmetric=False)
def secretly_symmetric(x, y):
    """Does not claim that it is symmetric."""
    return cka(x, y)


@declare()
def one_sided(x, y):
    """Claims that it is symmetric, and depends on which side has more dimensions."""
    ratio = dimensions(x) / dimensions(y)
    return cka(x, y) * x.xp.where(ratio < 1, ratio, x.xp.ones_like(ratio))


@declare()
def negative(x, y):
    """Leaves the range."""
    return 2 * cka(x, y) - 1


@declare()
def never_one(x, y):
    """Claims that X with itself is 1."""
    return 0.9 * cka(x, y)


@declare()
def never_one_of_wide(x, y):
    """Claims that X with itself is 1, and breaks the claim for more features than samples."""
    return cka(x, y) * (0.9 if min(x.shape[1], y.shape[1]) > x.shape[0] else 1.0)


@declare(identity=False)
def secretly_one(x, y):
    """Does not claim that X with itself is 1."""
    return cka(x, y)


@declare(invariant_to=CKA - {"sample_rotation"}, differentiable=False)
def lead_subspace(x, y, *, k: int = 10):
    """Right: compares fewer components than wide data have, and all that small data have."""
    a, b = (np.linalg.svd(preshape(r), full_matrices=False)[0][:, :k] for r in (x, y))
    return float(((a.T @ b) ** 2).sum() / max(min(a.shape[1], b.shape[1]), 1))


@declare(invariant_to=CKA - {"sample_rotation"} | {"affine"}, differentiable=False)
def too_invariant_subspace(x, y, *, k: int = 10):
    """Claims what holds as long as all components are compared."""
    return lead_subspace.function(x, y, k=k)


@declare(invariant_to={"orthogonal", "isotropic_scaling"}, symmetric=False)
def wrong_in_all(x, y):
    """Claims too little, and leaves the range everywhere."""
    return 2 + cka(x, y) + dimensions(x) / 10


@declare(larger_is_more_similar=False, identity=False)
def turned_round(x, y):
    """Claims to be a difference."""
    return cka(x, y)


@declare(larger_is_more_similar=False, metric=True)
def no_metric(x, y):
    """Claims the triangle inequality."""
    return 1 - cka(x, y)


@declare(metric=True)
def metric_similarity(x, y):
    """Claims to be a metric and a similarity."""
    return cka(x, y)


# ---------------------------------------------------------------------------------------- behaviour


def weighted(x, y):
    a, b = (preshape(r) * r.xp.arange(1.0, r.shape[0] + 1)[:, None] for r in (x, y))
    sums = [x.xp.sum((p.T @ q) ** 2) for p, q in ((a, b), (a, a), (b, b))]
    if not float(sums[1] * sums[2]) > 0:
        raise rs.UndefinedError("weighted: constant")
    return x.xp.minimum(sums[0] / x.xp.sqrt(sums[1] * sums[2]), x.xp.ones_like(sums[0]))


@declare(invariant_to=CKA - {"sample_rotation"}, differentiable=False)
def order_dependent(x, y):
    """Weights later samples more."""
    with np.errstate(all="ignore"):
        return weighted(x, y)


@declare(invariant_to=CKA - {"sample_rotation"}, differentiable=False)
def ranking_by_rounding(x, y):
    """Ranks distances, of which rounding orders those that are equal."""
    ranked = []
    for a in map(preshape, (x, y)):
        squares = (a * a).sum(axis=1)
        distances = squares[:, None] + squares - 2 * a @ a.T
        ranked.append(distances[np.triu_indices(len(a), 1)])
    if min(map(np.ptp, ranked)) < 1e-9:
        raise rs.UndefinedError("ranking_by_rounding: equal distances")
    return (1 + spearmanr(*ranked).statistic) / 2


@declare()
def writing(x, y):
    """Halves X in its place."""
    if in_numpy(x):
        x.source[...] *= 0.5
    return cka(x, y)


@declare()
def writing_into_y(x, y):
    """Halves Y in its place."""
    return writing.function(y, x)


@declare()
def remembering(x, y):
    """Depends on what was computed before."""
    is_warm = len(x._cache) > 4  # the checks for NaN and for lost digits have their own
    return cka(x, y) * (1 - 1e-8 * is_warm)


@declare()
def precise(x, y):
    """Takes data of single precision for something else."""
    is_single = x.shape == (60, 6) and in_numpy(x) and (x.array == np.float32(x.array)).all()
    return cka(x, y) * (0.9 if is_single else 1.0)


@declare()
def overflowing(x, y):
    """Gives large numbers another value."""
    return cka(x, y) * (0.9 if float(x.xp.max(x.array)) > 1e100 else 1.0)


@declare()
def bound_to_the_origin(x, y):
    """Gives data far from the origin another value."""
    return cka(x, y) * (0.9 if 1e5 < float(x.xp.max(x.array)) < 1e10 else 1.0)


@declare()
def random(x, y):
    """Is another number each time."""
    return cka(x, y) * (1 - 1e-12 * np.random.default_rng().random())


@declare()
def drawing(x, y):
    """Draws from the global generator."""
    np.random.random()  # noqa: NPY002 - that is what is wrong
    return cka(x, y)


@declare()
def drawing_elsewhere(x, y):
    """Draws from the generator of Python."""
    standard.random()
    return cka(x, y)


@declare()
def narrow(x, y):
    """Fails with what is no reason for two widths."""
    if x.shape[1] != y.shape[1]:
        raise IndexError("column 6 is out of bounds")
    return cka(x, y)


@declare()
def demanding(x, y):
    """Fails for few samples, which it claims to take."""
    if x.shape[0] < 5:
        raise IndexError("row 4 is out of bounds")
    return cka(x, y)


@declare()
def incomplete(x, y, *, kind: Literal["linear", "new"] = "linear"):
    """Has a choice that nothing implements."""
    return {"linear": cka}[kind](x, y)


misnamed = declare()(lambda x, y: cka(x, y))


# ------------------------------------------------------------------------------- tensors, hostility


@declare(differentiable=False)
def other_on_tensors(x, y):
    """Gives tensors another value."""
    return cka(x, y) * (1.0 if in_numpy(x) else 0.9)


@declare()
def without_gradient(x, y):
    """Claims a gradient, and leaves the graph."""
    return float(cka(x, y))


@declare()
def wrong_gradient(x, y):
    """Loses half of its gradient."""
    value = cka(x, y)
    return value / 2 + value.detach() / 2 if hasattr(value, "detach") else value


@declare(differentiable=False)
def other_on_standard_arrays(x, y):
    """Gives arrays of the standard another value."""
    return cka(x, y) * (0.9 if "strict" in type(x.array).__module__ else 1.0)


@declare()
def infinite_gradient(x, y):
    """Adds nothing, whose derivative is infinite where a unit is dead."""
    return cka(x, y) + 0 * x.xp.sum(x.xp.sqrt(x.xp.sum(preshape(x) ** 2, axis=0)))


@declare()
def not_a_number(x, y):
    """Returns NaN for zeros."""
    return float("nan") if not bool(x.xp.any(x.array != 0)) else cka(x, y)


@declare()
def dividing(x, y):
    """Divides by the spread."""
    if bool(x.xp.all(x.array == x.array[:1, :])):
        raise ZeroDivisionError("division by zero")
    return cka(x, y)


@declare()
def warning(x, y):
    """Divides zero by zero, and goes on."""
    if in_numpy(x) and np.isclose(x.array.sum(), 1e6 * x.array.size, rtol=1e-3):
        np.zeros(1) / np.zeros(1)
    return cka(x, y)


@declare()
def several_numbers(x, y):
    """Returns no number."""
    return np.ones(3)


@declare()
def broken(x, y):
    """Fails."""
    return [][0]


WRONG = {
    right: set(),
    too_invariant: {"invariant to invertible linear", "invariant to affine"},
    too_modest: {"invariant to translation"},
    anchored: {"invariant to translation", "huge offset"},
    refusing: {"invariant to isotropic scaling", "every scale", "huge offset", "array API"},
    secretly_symmetric: {"symmetric"},
    one_sided: {"symmetric", "different widths"},
    never_one: {"identity"},
    never_one_of_wide: {"identity"},
    ranking_by_rounding: {"ties in wide data"},
    secretly_one: {"identity"},
    lead_subspace: {"ties in wide data"},  # singular values tie, too
    too_invariant_subspace: {
        "invariant to invertible linear",
        "invariant to affine",
        "ties in wide data",
    },
    turned_round: {"direction"},
    no_metric: {"triangle inequality"},
    metric_similarity: {"triangle inequality"},
    order_dependent: {"order of samples", "ties in wide data"},
    writing: {"inputs unchanged"},
    writing_into_y: {"inputs unchanged"},
    remembering: {"same value cold and warm"},
    precise: {"float32"},
    overflowing: {"every scale"},
    bound_to_the_origin: {"huge offset"},
    random: {"deterministic"},
    drawing: {"global generator untouched"},
    drawing_elsewhere: {"global generator untouched"},
    narrow: {"different widths", "hostile: shapes"},
    demanding: {"few samples", "hostile: few samples"},
    incomplete: {"variants"},
    misnamed: {"pickles"},
    other_on_tensors: {"PyTorch", "array API"},
    other_on_standard_arrays: {"array API"},
    infinite_gradient: {"finite gradient"},
    without_gradient: {"gradient", "finite gradient"},
    wrong_gradient: {"gradient"},
    not_a_number: {"hostile: zeros"},
    dividing: {"hostile: constant", "hostile: zeros"},
    warning: {"hostile: offsets"},
    several_numbers: {"a number for generic data"},
    broken: {"a number for generic data"},
}


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
    for measure, check in ((wrong_in_all, "range"), (turned_round, "X is most similar to X")):
        assert "(seed 0)" in outcome(measure, check).detail  # the first one


def test_an_invariance_of_small_data_alone_need_not_be_claimed():
    linear = outcome(lead_subspace, "invariant to invertible linear")
    assert (linear.claimed, linear.holds) == ("not claimed", True)
    assert "of 64 features" in linear.detail


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
    linear = outcome(too_invariant, "invariant to invertible linear")
    assert linear.claimed == "claimed"
    changed, original = (
        float(part.split("= ")[1].split(" (")[0]) for part in linear.detail.split(", m(X, Y)")
    )
    assert changed != pytest.approx(original, rel=1e-3)
    assert "declare the property" in outcome(too_modest, "invariant to translation").detail
    assert "0.9, not 1" in outcome(never_one, "identity").detail
    assert "IndexError: list index out of range (test_checks.py:" in outcomes_of(broken)[0].detail
    assert outcome(warning, "hostile: offsets").detail.startswith(
        "huge offset of one side: Runtime"
    )
    assert "returned nan" in outcome(not_a_number, "hostile: zeros").detail


def test_what_cannot_be_decided_is_no_failure(monkeypatch):
    distance = outcome("rsm_norm_difference", "triangle inequality")
    assert (distance.claimed, distance.holds) == ("claimed", True)
    assert outcome(right, "variants").holds is None
    assert outcome(other_on_tensors, "gradient").holds is None
    assert outcome(misnamed, "documented").holds is None
    assert outcome(random, "same value cold and warm").holds is None
    monkeypatch.setattr(behavior, "MAX_PAIR_SECONDS", 0.0)
    (slow,) = [o for o in check_measure(right) if o.check == "speed"]
    assert slow.holds is None
    assert "s a pair of 60 samples" in slow.detail


def test_joint_maps_need_no_claim():
    modest = declare(invariant_to=CKA - {"sample_rotation"})(right.function)
    outcomes = {o.check: o for o in check_measure(modest)}  # equal to ``right``, with other claims
    assert outcomes["invariant to sample rotation"].holds is None


def test_without_other_libraries_their_arrays_are_not_checked(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = {o.check: o for o in check_measure(right)}
    assert {found[name].detail for name in array_library_checks()} == {NO_TORCH, NO_STRICT}
    assert not [o for o in found.values() if o.holds is False]


def test_progress_counts_every_check():
    calls = []
    total = len(check_measure("cka", progress=lambda *call: calls.append(call)))
    assert calls == [("cka", done, total) for done in range(1, total + 1)]


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


def test_the_table_fits_a_terminal(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    outcomes = outcomes_of(too_invariant)
    monkeypatch.setattr("resemblance.checks.check_measure", lambda m, progress: outcomes)
    shown = assert_fits(lambda: cli.run(["check", "cka"]), capsys)
    assert shown.count("✗") == 2
    assert f"{len(outcomes) - 3} checks hold, 2 fail, 1 could not be decided" in shown


def test_the_cause_comes_first():
    """Chance in a measure breaks claims that it would hold without it."""
    from resemblance.report.outputs import checks_output, count_outcomes

    outcomes = outcomes_of(random)
    failed = [outcome.check for outcome in outcomes if outcome.holds is False]
    assert outcomes[0].check == failed[0] == "deterministic"
    if len(failed) > 1:
        assert "mend 'deterministic' first" in count_outcomes(outcomes)
    assert "first" not in count_outcomes(outcomes_of("cka"))
    assert checks_output({"random": outcomes}).code == 1
