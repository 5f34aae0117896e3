"""Claims of a paper, the numbers of a run for or against a claim, and the verdict."""

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
    """The facts lack a value that a claim needs; the reason is shown with the claim."""


class Evidence(NamedTuple):
    """The evidence of a run for a claim: our numbers as text, whether every part of the claim
    holds, and a note on failing parts.

    ``holds_for_them``: whether the claim holds for the numbers of the paper itself.
    """

    ours: str
    holds: tuple[bool, ...]
    note: str = ""
    holds_for_them: bool = True


Judge = TypeVar("Judge", bound=Callable[[Any], Evidence])
# number, text, the paper's numbers, and the function that returns the evidence of a run
Claims: TypeAlias = list[tuple[str, str, str, Callable[[Any], Evidence]]]


def claim(claims: Claims, number: str, text: str, paper: str) -> Callable[[Judge], Judge]:
    """Append a claim of a paper, with the paper's numbers, to ``claims``.

    The decorated function returns the evidence of a run, or raises :class:`NoData` where the facts
    lack a measure or a size.
    """

    def declared(judge: Judge) -> Judge:
        claims.append((number, text, paper, judge))
        return judge

    return declared


def judged(
    claims: Iterable[tuple[str, str, str, Callable[[Any], Evidence]]], facts: Any
) -> tuple[Claim, ...]:
    """Return claims with their verdicts.

    A claim is reproduced when all its parts hold, and in part when some parts hold.
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
    """Return a number as text with ``digits`` digits after the point, and a real minus sign."""
    return format_fixed(value, digits)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Return mean and standard deviation as text."""
    return f"{number(float(np.mean(values)), digits)} ± {number(float(np.std(values)), digits)}"


def with_interval(values: Sequence[float], digits: int = 3) -> str:
    """Return a value and the ends of its interval as text."""
    value, low, high = (number(v, digits) for v in values)
    return f"{value} [{low}, {high}]"


def as_printed(ours: float, printed: float, digits: int = 3) -> bool:
    """Return whether a number equals the printed number at the precision of print."""
    return number(ours, digits) == number(printed, digits)


def count(answers: Iterable[bool]) -> str:
    """Return the number of true answers and the number of answers as text."""
    known = list(answers)
    return f"{sum(known)} of {len(known)}"
