"""Run all checks of a measure or of a statistic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ..catalogue import get_measure, get_statistic
from ..contracts._measure import Measure, MeasureArgument, require_measure_extra
from ..contracts._statistic import Statistic
from .arrays import array_library_checks, same_on_tensors
from .behavior import behavior_checks, different_widths
from .claims import UNKNOWN_CLAIM, claim_checks, declaration
from .hostile import HOSTILE_GROUPS, hostile_outcome, hostile_pairs
from .pairing import pairing_checks
from .repeats import repeats
from .statistics import hostile_statistic_checks, inputs_from_pair, statistic_claims
from .ties import ties_in_wide_data
from .trial import (
    CheckContext,
    CheckFunction,
    CheckResult,
    Outcome,
    call_outcome,
    format_user_error,
    measure_check_context,
    statistic_check_context,
)

GENERIC_DATA_CHECK = "a number for generic data"


def check_measure(
    measure: MeasureArgument, *, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a measure, on small data without special symmetry.

    Claims are checked in two directions: a declared property must hold, and an invariance, a
    symmetry or an identity that holds without being declared is also a failure, if it holds on data
    wider than every parameter that may be a number of components or neighbours. The triangle
    inequality is searched for violations; finding none proves nothing. Hostile data must give a
    finite number in the range, or a ``ValueError`` with the reason. ``progress(name, done, total)``
    is called after each check. If generic data give no number, the result has only this outcome.

    Of a plain function nothing is claimed, so no claim can fail: ``claimed`` is ``"unknown"``, and
    ``holds`` is True for each property that holds. The outcome ``"declaration"`` comes first; the
    detail is the decorator with these properties, for :func:`resemblance.measure`. The other
    checks, such as hostile data, are the same.

    Raises ``ValueError`` for a measure that does not exist, ``ImportError`` for a measure whose
    optional dependency is not installed.
    """
    entry = get_measure(measure)
    require_measure_extra(entry)
    trial = measure_check_context(entry)
    outcomes = _run_checks(trial, entry.spec, progress)
    if entry.is_declared or len(outcomes) == 1:
        return outcomes
    return (Outcome("declaration", UNKNOWN_CLAIM, None, declaration(trial, outcomes)), *outcomes)


def check_statistic(
    statistic: Statistic | str, *, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a statistic of one representation, on small data without
    special symmetry.

    The checks of :func:`check_measure` that need only one representation apply: claims in two
    directions, with the same change of every array of features, and hostile data. A further check
    multiplies degenerate data by numbers, such as a constant of 0.1 in place of 1, and tests that
    no value is rounding error. The direction of a statistic is tested by destroying the structure
    that the statistic measures, for example by permuting each feature independently. ``progress``:
    called with the specification, the number of finished checks, and the number of all checks.

    Raises ``ValueError`` for a statistic that does not exist.
    """
    entry = get_statistic(statistic)
    return _run_checks(statistic_check_context(entry), entry.spec, progress)


def _run_checks(
    trial: CheckContext, spec: str, progress: Callable[[str, int, int], None] | None
) -> tuple[Outcome, ...]:
    checks, outcomes = applicable_checks(trial.entry), list[Outcome]()
    for outcome in iterate_outcomes(trial, checks):
        outcomes.append(outcome)
        if progress:
            progress(spec, len(outcomes), len(checks))
    return tuple(sorted(outcomes, key=_failure_order))


# Checks that make other checks fail, in this order: a random measure breaks claims that hold
# without randomness.
ROOT_CAUSE_CHECKS = ("deterministic", "global generator untouched", "inputs unchanged")


def _failure_order(outcome: Outcome) -> int:
    """Return the sort key of an outcome: failed checks that make other checks fail come first, and
    all other outcomes keep their order."""
    if outcome.holds is not False or outcome.check not in ROOT_CAUSE_CHECKS:
        return len(ROOT_CAUSE_CHECKS)
    return ROOT_CAUSE_CHECKS.index(outcome.check)


def applicable_checks(entry: Measure | Statistic) -> dict[str, CheckFunction]:
    """Return all checks of a measure or statistic, by name, in the order of execution."""
    hostile: dict[str, CheckFunction] = {
        f"hostile: {g}": partial(hostile_data, group=g) for g in HOSTILE_GROUPS
    }
    if isinstance(entry, Statistic):
        checks = statistic_claims(entry) | behavior_checks() | {"PyTorch": same_on_tensors}
        if entry.family == "trials":  # trials have the order of the recording
            del checks["order of samples"]
        return {
            GENERIC_DATA_CHECK: generic_data,
            **checks,
            **hostile,
            **hostile_statistic_checks(entry),
        }
    shapes = {"different widths": different_widths, "ties in wide data": ties_in_wide_data}
    repeat_checks = repeats(entry)
    checks = {
        **claim_checks(entry),
        **pairing_checks(),
        **behavior_checks(),
        **repeat_checks,
        **shapes,
        **array_library_checks(),
    }
    return {GENERIC_DATA_CHECK: generic_data, **checks, **hostile}


def iterate_outcomes(trial: CheckContext, checks: Mapping[str, CheckFunction]) -> Iterator[Outcome]:
    """Yield the outcome of each check, in order; stop after the first outcome if generic data give
    no number. An error in a check is a failure. ``checks``: by name."""
    for name, check in checks.items():
        try:
            ruling = check(trial)
        # Any error of the user's function is the outcome of the check.
        except (Exception, SystemExit) as error:
            ruling = "", False, format_user_error(error, trial.entry)
        yield Outcome(name, *ruling)
        if name == GENERIC_DATA_CHECK and not ruling[1]:
            return


def generic_data(trial: CheckContext) -> CheckResult:
    """Check that generic data without special symmetry give a finite number; another check tests
    the range."""
    reply = call_outcome(trial.entry, *trial.inputs())
    is_number = math.isfinite(reply.value)
    return "", is_number, "" if is_number else reply.fault or reply.refusal


def hostile_data(trial: CheckContext, *, group: str) -> CheckResult:
    """Check that the hostile data of a group give a number in the range, or a refusal with the
    reason. ``group``: a key of ``HOSTILE_GROUPS``."""
    faults = []
    for case in HOSTILE_GROUPS[group]:
        if isinstance(trial.entry, Statistic):
            x, y = (trial.suited(a.copy()) for a in hostile_pairs()[case])
            reply = call_outcome(trial.entry, *inputs_from_pair(trial, x, y))
        else:
            reply = hostile_outcome(trial, case)
        if reply.fault:
            faults.append(f"{case}: {reply.fault}")
    suffix = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return "", not faults, f"{faults[0]}{suffix}" if faults else ""
