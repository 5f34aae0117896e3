"""All checks of a measure, and of a statistic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ..catalogue import get_measure, get_statistic
from ..contracts._measure import Measure, require_measure_extra
from ..contracts._statistic import Statistic
from .arrays import array_library_checks, same_on_tensors
from .behavior import behavior_checks, different_widths
from .claims import claim_checks, forget_values
from .hostile import HOSTILE_GROUPS, hostile_pairs
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
    measure: Measure | str, *, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a measure, on small data without special symmetry.

    Claims are checked in both directions: what is claimed must hold, and an invariance, a symmetry
    or an identity that holds without being claimed is a failure, too, if it holds on data wider
    than every parameter that may be a number of components or neighbours. The triangle inequality
    is searched for violations; that none was found proves nothing. Hostile data must give a finite
    number in the range, or a ``ValueError`` that says why not. ``progress(name, done, total)`` is
    called after each check. Where generic data give no number, that is the only outcome.

    Raises ``ValueError`` for a measure that does not exist, ``ImportError`` for one whose optional
    dependency is not installed.
    """
    entry = get_measure(measure)
    require_measure_extra(entry)
    return _run_checks(measure_check_context(entry), entry.spec, progress)


def check_statistic(
    statistic: Statistic | str, *, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Outcome, ...]:
    """Return the outcome of every check of a statistic of one representation, on small data without
    special symmetry.

    They are those of :func:`check_measure`, as far as there is one representation: claims in both
    directions, with every array of features changed alike; hostile data; and that no number, such
    as a constant of 0.1 in the place of 1, makes a value of rounding. What a larger value is more
    of is tried by destroying it: with each feature in an order of its own, for example.

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


# Why others fail: a measure with chance in it breaks claims that it would hold. In this order.
ROOT_CAUSE_CHECKS = ("deterministic", "global generator untouched", "inputs unchanged")


def _failure_order(outcome: Outcome) -> int:
    """Return the place of an outcome: what causes others to fail comes first, if it fails."""
    if outcome.holds is not False or outcome.check not in ROOT_CAUSE_CHECKS:
        return len(ROOT_CAUSE_CHECKS)
    return ROOT_CAUSE_CHECKS.index(outcome.check)


def applicable_checks(entry: Measure | Statistic) -> dict[str, CheckFunction]:
    """Return all checks of a measure or statistic, by their names, in the order in which they are
    made."""
    hostile: dict[str, CheckFunction] = {
        f"hostile: {g}": partial(hostile_data, group=g) for g in HOSTILE_GROUPS
    }
    if isinstance(entry, Statistic):
        checks = statistic_claims(entry) | behavior_checks() | {"PyTorch": same_on_tensors}
        if entry.family == "trials":  # whose order is that of recording
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
    """Yield the outcomes of checks; no more than the first where there is no number to check."""
    forget_values()
    for name, check in checks.items():
        try:
            ruling = check(trial)
        except (
            Exception,
            SystemExit,
        ) as error:  # of the user's function: whatever it is, it is the outcome
            ruling = "", False, format_user_error(error, trial.entry)
        yield Outcome(name, *ruling)
        if name == GENERIC_DATA_CHECK and not ruling[1]:
            return


def generic_data(trial: CheckContext) -> CheckResult:
    """Check that there is a number for generic data without special symmetry; that it is in the
    range is another check."""
    reply = call_outcome(trial.entry, *trial.inputs())
    is_number = math.isfinite(reply.value)
    return "", is_number, "" if is_number else reply.fault or reply.refusal


def hostile_data(trial: CheckContext, *, group: str) -> CheckResult:
    """Check that data that break formulas have a number in the range, or a reason why not."""
    pairs, faults = hostile_pairs(), []
    for case in HOSTILE_GROUPS[group]:
        x, y = map(trial.suited, pairs[case])
        inputs = inputs_from_pair(trial, x, y) if isinstance(trial.entry, Statistic) else (x, y)
        if fault := call_outcome(trial.entry, *inputs).fault:
            faults.append(f"{case}: {fault}")
    suffix = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return "", not faults, f"{faults[0]}{suffix}" if faults else ""
