"""Checks of a measure that reads repeats: rows with equal ids are repeats of one stimulus."""

from __future__ import annotations

import numpy as np

from ..base.rng import generator
from ..contracts._measure import Measure
from ..data.representation import Representation
from .data import stimuli
from .trial import CheckContext, CheckFunction, CheckResult, generic_value, warnings_as_errors


def repeats(measure: Measure) -> dict[str, CheckFunction]:
    """Return the checks of a measure that reads repeats, by name; {} for other measures."""
    if measure.takes != "repeats":
        return {}
    return {"order of repeats": order_of_repeats, "without repeats": without_repeats}


def order_of_repeats(trial: CheckContext) -> CheckResult:
    """Check that permuting the repeats of X within each stimulus does not change the value: repeats
    of X are not paired with repeats of Y."""
    x, y = trial.inputs()
    names, order = np.array(stimuli(trial.samples)), np.arange(trial.samples)
    for name in np.unique(names):
        rows = np.flatnonzero(names == name)
        order[rows] = generator(int(name), "order of repeats").permutation(rows)
    value_before, value_after = generic_value(trial), trial.value_or_nan(x[order], y)
    detail = f"m(X, Y) = {value_before:.6g}, repeats of X in another order {value_after:.6g}"
    holds = abs(value_after - value_before) <= max(1e-7, trial.rounding) * max(1, abs(value_before))
    return "", holds, "" if holds else detail


def without_repeats(trial: CheckContext) -> CheckResult:
    """Check that the measure refuses rows without ids, and rows with unique ids."""
    names = [f"stimulus {i}" for i in range(trial.samples)]
    for case, ids in (("rows without ids", None), ("one row of each stimulus", names)):
        x, y = (Representation(a, ids=ids) for a in trial.inputs())
        try:
            with warnings_as_errors():
                value = float(trial.entry.evaluate(x, y))
        except ValueError:
            continue
        return "", False, f"{case}: {value:.6g}, not refused; raise rs.UndefinedError"
    return "", True, ""
