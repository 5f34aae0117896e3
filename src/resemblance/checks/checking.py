"""All checks of a measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ..catalogue import get_measure
from ..measure import Measure, require
from .arrays import tensors
from .behaviour import behaviour
from .claims import claims
from .hostile import GROUPS, hostile_pairs
from .trial import Check, Outcome, Ruling, Trial, answer, in_words, trial_of

FIRST = "a number for generic data"


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
    chosen = get_measure(measure)
    require(chosen)
    trial = trial_of(chosen)
    checks, outcomes = checks_of(trial.measure), list[Outcome]()
    for outcome in outcomes_of(trial, checks):
        outcomes.append(outcome)
        if progress:
            progress(chosen.spec, len(outcomes), len(checks))
    return tuple(outcomes)


def checks_of(measure: Measure) -> dict[str, Check]:
    """Return all checks of a measure, by their names, in the order in which they are made."""
    hostile: dict[str, Check] = {f"hostile: {g}": partial(hostile_data, group=g) for g in GROUPS}
    return {FIRST: generic_data, **claims(measure), **behaviour(), **tensors(), **hostile}


def outcomes_of(trial: Trial, checks: Mapping[str, Check]) -> Iterator[Outcome]:
    """Yield the outcomes of checks; no more than the first where there is no number to check."""
    for name, check in checks.items():
        try:
            ruling = check(trial)
        except (
            Exception,
            SystemExit,
        ) as error:  # of the measure: whatever it is, it is the outcome
            ruling = "", False, in_words(error, trial.measure)
        yield Outcome(name, *ruling)
        if name == FIRST and not ruling[1]:
            return


def generic_data(trial: Trial) -> Ruling:
    """Check that there is a number for two related representations without special symmetry; that
    it is in the range is another check."""
    reply = answer(trial.measure, *trial.pair())
    is_number = math.isfinite(reply.value)
    return "", is_number, "" if is_number else reply.fault or reply.refusal


def hostile_data(trial: Trial, *, group: str) -> Ruling:
    """Check that data that break formulas have a number in the range, or a reason why not."""
    pairs, faults = hostile_pairs(), []
    for case in GROUPS[group]:
        x, y = map(trial.suited, pairs[case])
        if fault := answer(trial.measure, x, y).fault:
            faults.append(f"{case}: {fault}")
    more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return "", not faults, f"{faults[0]}{more}" if faults else ""
