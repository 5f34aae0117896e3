"""Each check finds the statistic that is wrong in that respect, and in no other; the command checks
statistics, too."""

from __future__ import annotations

import json

import numpy as np
import pytest

import resemblance as rs
from resemblance.checks import check_statistic
from resemblance.checks.behavior import behavior_checks
from resemblance.checks.checking import applicable_checks

SHAPE = {"orthogonal", "isotropic_scaling", "translation"}
CLAIMS = {
    "label": "VR",
    "family": "supervised",
    "larger_is_more_stable": True,
    "range": (0, 1),
    "citation": "raju2026geometric",
    "invariant_to": SHAPE,
    "min_samples": 4,
}
ratio = rs.statistics.variance_ratio.function


def declare(**claims):
    return rs.statistic(**CLAIMS | claims)


@declare()
def right(x, labels):
    """Right: what all the others are but for one thing."""
    return ratio(x, labels)


@declare(family="perturbation", range=(0, np.inf), larger_is_more_stable=None)
def right_of_controls(x, control):
    """Right if both arrays are changed alike."""
    return rs.statistics.perturbation_magnitude.function(x, control, unit="deviations")


@declare(family="replicates", range=(-1, 1), invariant_to=SHAPE - {"translation"})
def right_of_replicates(x, replicate):
    """Right if the samples of both are in one order."""
    return rs.statistics.replicate.function(x, replicate)


@declare(
    family="trials", larger_is_more_stable=False, range=(0, 2), invariant_to=SHAPE - {"translation"}
)
def right_of_trials(x):
    """Right if it is not asked of another order of recording."""
    return rs.statistics.centroid_drift.function(x)


@declare(invariant_to=SHAPE | {"affine"})
def too_invariant(x, labels):
    """Claims two invariances that it does not have."""
    return ratio(x, labels)


@declare(invariant_to=SHAPE - {"translation"})
def too_modest(x, labels):
    """Claims fewer invariances than it has."""
    return ratio(x, labels)


@declare(larger_is_more_stable=False)
def turned_round(x, labels):
    """Claims that less is more stable."""
    return ratio(x, labels)


@declare()
def overflowing(x, labels):
    """Gives large numbers another value."""
    return ratio(x, labels) * (0.9 if x.array.max() > 1e100 else 1.0)


@declare()
def bound_to_the_origin(x, labels):
    """Gives data far from the origin another value."""
    return ratio(x, labels) * (0.9 if 1e5 < x.array.max() < 1e10 else 1.0)


@declare()
def unguarded(x, labels):
    """Takes what rounding leaves of a mean for a spread."""
    points = x.array - x.array.mean(axis=0)
    if not points.any():
        raise rs.UndefinedError("unguarded: constant")
    points = points / np.abs(points).max()
    total = (points**2).sum()
    groups = [points[labels == c] for c in np.unique(labels)]
    return min(sum(len(g) * (g.mean(axis=0) ** 2).sum() for g in groups) / total, 1.0)


@declare()
def order_dependent(x, labels):
    """Leaves out the last sample where it can."""
    last = -1 if len(labels) > 20 and np.bincount(labels).min() > 2 else None
    return ratio(rs.Representation(x.array[:last]), labels[:last])


@declare()
def writing(x, labels):
    """Halves X in its place."""
    if isinstance(x.array, np.ndarray):
        x.source[...] *= 0.5
    return ratio(x, labels)


@declare()
def random(x, labels):
    """Is another number each time."""
    return ratio(x, labels) * (1 - 1e-12 * np.random.default_rng().random())


@declare()
def other_on_tensors(x, labels):
    """Gives tensors another value."""
    return ratio(x, labels) * (1.0 if isinstance(x.array, np.ndarray) else 0.9)


@declare()
def trusting(x, labels):
    """Takes for granted that there are two classes."""
    counts = np.bincount(labels)
    return ratio(x, labels) if len(counts) > 1 else float(counts[1])


@declare()
def not_a_number(x, labels):
    """Returns NaN for zeros."""
    return ratio(x, labels) if x.array.any() else float("nan")


WRONG = {
    right: set(),
    right_of_controls: set(),
    right_of_replicates: set(),
    right_of_trials: set(),
    too_invariant: {"invariant to invertible linear", "invariant to affine"},
    too_modest: {"invariant to translation"},
    turned_round: {"direction"},
    overflowing: {"every scale"},
    bound_to_the_origin: {"huge offset"},
    unguarded: {"hostile: rounding"},
    order_dependent: {"order of samples"},
    writing: {"inputs unchanged"},
    random: {"deterministic"},
    other_on_tensors: {"PyTorch"},
    trusting: {"hostile: labels"},
    not_a_number: {"hostile: zeros"},
}


def failing(statistic):
    return {o.check: o.detail for o in check_statistic(statistic) if o.holds is False}


def test_what_is_wrong_is_found_and_nothing_else(subtests):
    for statistic, checks in WRONG.items():
        with subtests.test(str(statistic)):
            assert set(details := failing(statistic)) == checks, details


def test_a_value_outside_the_range_is_found_wherever_it_occurs():
    narrow = declare(range=(0, 0.1))(right.function)
    assert {"range", "hostile: shapes"} <= set(failing(narrow))


def test_statistics_have_all_checks_of_behavior_and_no_check_of_what_is_not_there():
    """That each of these finds its fault is proved of measures."""
    assert set(behavior_checks()) <= set(applicable_checks(right))
    assert "a number for generic data" in applicable_checks(right)
    assert "order of samples" not in applicable_checks(right_of_trials)
    assert "direction" not in applicable_checks(right_of_controls)
    assert "hostile: labels" not in applicable_checks(right_of_replicates)


def test_a_direction_that_not_all_data_show_is_undecided():
    undecided = declare()(lambda x, labels: float(abs(x.array[1, 1]) % 1))
    (direction,) = [o for o in check_statistic(undecided) if o.check == "direction"]
    assert (direction.claimed, direction.holds) == ("larger", None)
    assert direction.detail.count("then") == 3


def test_details_are_counterexamples_in_numbers():
    assert failing(too_invariant)["invariant to affine"].startswith("s(TX) = ")
    assert failing(unguarded)["hostile: rounding"].startswith(
        "a constant, times a number: nan (1), 1 (0.1), "
    )


def test_progress_counts_every_check():
    calls = []
    outcomes = check_statistic("gbc", progress=lambda *call: calls.append(call))
    assert calls == [("gbc", done, len(outcomes)) for done in range(1, len(outcomes) + 1)]
    with pytest.raises(ValueError, match="did you mean 'gbc'"):
        check_statistic("gcb")


OWN = """
import resemblance as rs

@rs.statistic(label="Largest", family="spectrum", larger_is_more_stable=None,
    range=(0, float("inf")), citation="x", invariant_to={"permutation"})
def largest(x, *, half: bool = False):
    '''The largest number of all.'''
    return float(abs(x.array).max()) / (1 + half)
"""


def test_the_command_checks_statistics_too(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    code, out, _ = call("check", "own.py:largest[half=True]", "gbc", "cka", "--format", "json")
    records = json.loads(out)["records"]
    assert code == 0, [r for r in records if r["holds"] is False]
    assert {r["measure"] for r in records} == {"largest[half=True]", "gbc", "cka"}
    assert "has no measure or statistic 'larges'" in call("check", "own.py:larges")[2]
