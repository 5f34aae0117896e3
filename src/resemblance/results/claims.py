"""What a paper says, what a run says of it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

REPRODUCED, PARTLY, NOT, NO_DATA = "reproduced", "in part", "not reproduced", "no data"
CONTRADICTED = "contradicted by the authors' own numbers"
VERDICTS = (REPRODUCED, PARTLY, NOT, CONTRADICTED, NO_DATA)
Facts = TypeVar("Facts")


class Claim(NamedTuple):
    """One claim: what the paper says, what its authors' code gives when run, what this run gives,
    and the verdict.

    ``verdict``: "reproduced", "in part", "not reproduced", "contradicted by the authors' own
    numbers" when these, like ours, say the opposite of its words, or "no data" when measures are
    missing in this run. ``note``: why it differs.
    """

    number: str
    claim: str
    theirs: str
    ours: str
    verdict: str
    note: str = ""


class NoData(ValueError):
    """A judge says that the facts lack what a claim needs; the reason is given with the claim."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Found(NamedTuple):
    """What a run says of a claim: in words, which parts of it hold, and why others do not.

    ``holds_for_them``: whether it holds for the numbers of the paper itself.
    """

    ours: str
    holds: tuple[bool, ...]
    note: str = ""
    holds_for_them: bool = True


def judged(
    claims: Iterable[tuple[str, str, str, Callable[[Facts], Found]]], facts: Facts
) -> tuple[Claim, ...]:
    """Return claims, given as number, text, what is theirs, and judge, with what the judges find in
    the facts.

    A claim is reproduced when all parts of it hold, and in part when some do. A judge raises
    :class:`NoData` where the facts lack a measure or a size; nothing else is caught.
    """
    return tuple(
        _judged(number, text, theirs, judge, facts) for number, text, theirs, judge in claims
    )


def _judged(
    number: str, text: str, theirs: str, judge: Callable[[Facts], Found], facts: Facts
) -> Claim:
    try:
        found = judge(facts)
    except NoData as error:
        return Claim(number, text, theirs, "–", NO_DATA, error.reason)
    none = NOT if found.holds_for_them else CONTRADICTED
    verdict = REPRODUCED if all(found.holds) else PARTLY if any(found.holds) else none
    return Claim(number, text, theirs, found.ours, verdict, found.note)
