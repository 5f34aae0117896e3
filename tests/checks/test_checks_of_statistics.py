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


WRONG = dict[rs.Statistic, set[str]]()


def wrong(*checks, **claims):
    """Declare a function of this module that fails these checks and no others."""

    def declared(function):
        function.__doc__ = f"{function.__name__}: see its name."
        statistic = declare(**claims)(function)
        WRONG[statistic] = set(checks)
        return statistic

    return declared


@wrong()
def right(x, labels):
    return ratio(x, labels)


@wrong(family="perturbation", range=(0, np.inf), larger_is_more_stable=None)
def right_of_controls(x, control):
    return rs.statistics.perturbation_magnitude.function(x, control, unit="deviations")


@wrong(family="replicates", range=(-1, 1), invariant_to=SHAPE - {"translation"})
def right_of_replicates(x, replicate):
    return rs.statistics.replicate.function(x, replicate)


@wrong(
    family="trials", larger_is_more_stable=False, range=(0, 2), invariant_to=SHAPE - {"translation"}
)
def right_of_trials(x):
    return rs.statistics.centroid_drift.function(x)


@wrong("invariant to invertible linear", "invariant to affine", invariant_to=SHAPE | {"affine"})
def too_invariant(x, labels):
    return ratio(x, labels)


@wrong("invariant to translation", invariant_to=SHAPE - {"translation"})
def too_modest(x, labels):
    return ratio(x, labels)


@wrong("direction", larger_is_more_stable=False)
def turned_round(x, labels):
    return ratio(x, labels)


@wrong("every scale")
def overflowing(x, labels):
    return ratio(x, labels) * (0.9 if x.array.max() > 1e100 else 1.0)


@wrong("huge offset")
def bound_to_the_origin(x, labels):
    return ratio(x, labels) * (0.9 if 1e5 < x.array.max() < 1e10 else 1.0)


@wrong("hostile: rounding")
def unguarded(x, labels):
    points = x.array - x.array.mean(axis=0)
    if not points.any():
        raise rs.UndefinedError("unguarded: constant")
    points = points / np.abs(points).max()
    total = (points**2).sum()
    groups = [points[labels == c] for c in np.unique(labels)]
    return min(sum(len(g) * (g.mean(axis=0) ** 2).sum() for g in groups) / total, 1.0)


@wrong("order of samples")
def order_dependent(x, labels):
    last = -1 if len(labels) > 20 and np.bincount(labels).min() > 2 else None
    return ratio(rs.Representation(x.array[:last]), labels[:last])


@wrong("inputs unchanged")
def writing(x, labels):
    if isinstance(x.array, np.ndarray):
        x.source[...] *= 0.5
    return ratio(x, labels)


@wrong("deterministic")
def random(x, labels):
    return ratio(x, labels) * (1 - 1e-12 * np.random.default_rng().random())


@wrong("PyTorch")
def other_on_tensors(x, labels):
    return ratio(x, labels) * (1.0 if isinstance(x.array, np.ndarray) else 0.9)


@wrong("hostile: labels")
def trusting(x, labels):
    counts = np.bincount(labels)
    return ratio(x, labels) if len(counts) > 1 else float(counts[1])


@wrong("hostile: zeros")
def not_a_number(x, labels):
    return ratio(x, labels) if x.array.any() else float("nan")


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
