"""Checks of the effect of permuting the samples of one representation, on the value and on
intermediates."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import scalar
from ..base.rng import generator
from ..data.representation import Representation
from ..inference.reorder import permute_representation
from .claims import compare_claim_to_behavior, equation
from .data import with_repeats
from .trial import (
    CheckContext,
    CheckFunction,
    CheckResult,
    call_checked,
    generic_value,
    warnings_as_errors,
)

TIED_DECIMALS = 0  # decimals of rounded data with tied values and distances


def pairing_checks() -> dict[str, CheckFunction]:
    """Return the checks of permutations of the samples of one representation, by name."""
    return {"needs no pairing": needs_no_pairing, "axes of intermediates": declared_axes}


def needs_no_pairing(trial: CheckContext) -> CheckResult:
    """Check m(X, PY) = m(X, Y) for permutations P of the samples, if ``needs_pairing`` is False;
    otherwise check that the equation fails."""
    return compare_claim_to_behavior(trial, not trial.entry.needs_pairing, _pairing_change)


def declared_axes(trial: CheckContext) -> CheckResult:
    """Check that intermediates permuted along their declared axes give the same value as
    intermediates of the permuted array, with generic data and with ties. If permuting the samples
    of X and Y together changes the value, the check decides nothing."""
    for seed in trial.seeds:
        for kind, decimals in (("generic", 16), ("tied", TIED_DECIMALS)):
            x, y = (trial.suited(array.round(decimals)) for array in trial.inputs(seed))
            order = generator(seed, "order of one side").permutation(len(y))
            a, b, reordered = (
                with_repeats(trial.entry, Representation(array)) for array in (x, y, y[order])
            )
            first = _value_or_nan(trial, a, b)  # fills the cache of y
            moved = _value_or_nan(trial, a, permute_representation(b, order, with_source=True))
            expected = _value_or_nan(trial, a, reordered)
            if not trial.same(moved, expected) and not np.isnan([moved, expected]).all():
                both = (with_repeats(trial.entry, Representation(z[order])) for z in (x, y))
                if not trial.same(_value_or_nan(trial, *both), first):
                    return "", None, f"the order of the samples decides ({kind} data, seed {seed})"
                detail = (
                    f"m(X, PY) = {moved:.6g} with intermediates of Y moved along their axes, "
                    f"{expected:.6g} with new ones ({kind} data, seed {seed}): correct the words "
                    "of rs.cached"
                )
                return "", False, detail
    return "", True, ""


def _value_or_nan(trial: CheckContext, x: Representation, y: Representation) -> float:
    try:
        with warnings_as_errors():
            return scalar(call_checked(trial.entry, x, y))
    except ValueError:
        return math.nan


def _pairing_change(trial: CheckContext) -> str:
    for seed in trial.seeds:
        x, y = trial.inputs(seed)
        order = generator(seed, "order of one side").permutation(len(y))
        value_before, value_after = generic_value(trial, seed), trial.value_or_nan(x, y[order])
        if not trial.same(value_after, value_before):
            return equation("m(X, PY)", value_after, value_before, seed)
    return ""
