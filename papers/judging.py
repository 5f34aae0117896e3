"""What a paper says, the numbers of a run that speak for or against it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from resemblance.results.claims import CONTRADICTED, NO_DATA, NOT, PARTLY, REPRODUCED, Claim


class NoData(ValueError):
    """The facts lack what a claim needs; the reason is shown with the claim."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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


def claim(claims: Claims, number: str, text: str, theirs: str) -> Callable[[Judge], Judge]:
    """Add a claim of a paper to others: the decorated function returns the evidence of a run."""

    def declared(judge: Judge) -> Judge:
        claims.append((number, text, theirs, judge))
        return judge

    return declared


def judged(
    claims: Iterable[tuple[str, str, str, Callable[[Any], Evidence]]], facts: Any
) -> tuple[Claim, ...]:
    """Return claims, given as number, text, the paper's numbers and a judge, with their verdicts.

    A claim is reproduced when all parts of it hold, and in part when some do. A judge raises
    :class:`NoData` where the facts lack a measure or a size; nothing else is caught.
    """
    return tuple(
        _judged(number, text, theirs, judge, facts) for number, text, theirs, judge in claims
    )


def _judged(
    number: str, text: str, theirs: str, judge: Callable[[Any], Evidence], facts: Any
) -> Claim:
    try:
        evidence = judge(facts)
    except NoData as error:
        return Claim(number, text, theirs, "–", NO_DATA, error.reason)
    none = NOT if evidence.holds_for_them else CONTRADICTED
    verdict = REPRODUCED if all(evidence.holds) else PARTLY if any(evidence.holds) else none
    return Claim(number, text, theirs, evidence.ours, verdict, evidence.note)
