"""The outcomes of checks: a table for a person, records for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..checks import Outcome
from .output import Output
from .terminal import plain_table

CHECK_FORMATS = ("table", "json", "markdown", "csv")
HEADER = ("check", "claimed", "", "detail")
MARKS: Mapping[bool | None, str] = {True: "✓", False: "✗", None: "–"}
TONES: Mapping[bool | None, str] = {True: "good", False: "bad", None: "warning"}
Outcomes = Mapping[str, Sequence[Outcome]]


def checks_output(outcomes: Outcomes) -> Output:
    """Return what is written of the checks of measures, by their specifications; the code is 1 if
    one fails."""
    records = check_records(outcomes)
    failed = any(o.holds is False for of_measure in outcomes.values() for o in of_measure)
    return Output(check_tables(outcomes), {"records": records}, records, code=int(failed))


def check_tables(outcomes: Outcomes) -> list[Any]:
    """Return a table for each measure, and how many of its checks hold."""
    return [
        part
        for spec, of_measure in outcomes.items()
        for part in (spec, _table(of_measure), in_total(of_measure))
    ]


def check_records(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return a record for each check of each measure; ``holds`` is None for what is undecided."""
    return [
        {"measure": spec, **outcome._asdict()}
        for spec, of_measure in outcomes.items()
        for outcome in of_measure
    ]


def in_total(outcomes: Sequence[Outcome]) -> str:
    """Return how many checks hold, how many fail, and how many decide nothing."""
    counts = Counter(outcome.holds for outcome in outcomes)
    words = {False: "fail", None: "could not be decided"}
    rest = [f"{counts[holds]} {word}" for holds, word in words.items() if counts[holds]]
    return ", ".join([f"{counts[True]} checks hold", *rest])


def _table(outcomes: Sequence[Outcome]) -> Any:
    rows = [(o.check, o.claimed, MARKS[o.holds], o.detail) for o in outcomes]
    tones = [(i, 2, TONES[outcome.holds]) for i, outcome in enumerate(outcomes)]
    return plain_table(HEADER, rows, tones=tones)
