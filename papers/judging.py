"""What a paper says, the numbers of a run that speak for or against it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from resemblance.base.formatting import format_fixed
from resemblance.sections.claims import (
    CONTRADICTED,
    NO_DATA,
    NOT_REPRODUCED,
    PARTLY_REPRODUCED,
    REPRODUCED,
    Claim,
)


class NoData(ValueError):
    """The facts lack what a claim needs; the reason is shown with the claim."""


class Evidence(NamedTuple):
    """What a run has for a claim: its numbers in words, which parts hold, and why others do not.

    ``holds_for_them``: whether the claim holds for the numbers of the paper itself.
    """

    ours: str
    holds: tuple[bool, ...]
    note: str = ""
    holds_for_them: bool = True


Judge = TypeVar("Judge", bound=Callable[[Any], Evidence])
# number, text, the paper's numbers, and what has the evidence of a run
Claims: TypeAlias = list[tuple[str, str, str, Callable[[Any], Evidence]]]


def claim(claims: Claims, number: str, text: str, paper: str) -> Callable[[Judge], Judge]:
    """Add a claim of a paper, with its numbers there, to others: the decorated function returns the
    evidence of a run, or raises :class:`NoData` where the facts lack a measure or a size."""

    def declared(judge: Judge) -> Judge:
        claims.append((number, text, paper, judge))
        return judge

    return declared


def judged(
    claims: Iterable[tuple[str, str, str, Callable[[Any], Evidence]]], facts: Any
) -> tuple[Claim, ...]:
    """Return claims with their verdicts.

    A claim is reproduced when all parts of it hold, and in part when some do.
    """
    verdicts = []
    for number, text, paper, judge in claims:
        try:
            ours, holds, note, holds_for_them = judge(facts)
        except NoData as error:
            verdicts.append(Claim(number, text, paper, "–", NO_DATA, str(error)))
            continue
        none = NOT_REPRODUCED if holds_for_them else CONTRADICTED
        verdict = REPRODUCED if all(holds) else PARTLY_REPRODUCED if any(holds) else none
        verdicts.append(Claim(number, text, paper, ours, verdict, note))
    return tuple(verdicts)


# --------------------------------------------------------------------------- numbers in sentences


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many digits after the point, and a real minus sign."""
    return format_fixed(value, digits)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Write mean and deviation."""
    return f"{number(float(np.mean(values)), digits)} ± {number(float(np.std(values)), digits)}"


def with_interval(values: Sequence[float], digits: int = 3) -> str:
    """Write a value and the ends of its interval."""
    value, low, high = (number(v, digits) for v in values)
    return f"{value} [{low}, {high}]"


def as_printed(ours: float, printed: float, digits: int = 3) -> bool:
    """Whether a number is the printed one at the precision of print."""
    return number(ours, digits) == number(printed, digits)


def count(answers: Iterable[bool]) -> str:
    """Write how many of all are true."""
    known = list(answers)
    return f"{sum(known)} of {len(known)}"
