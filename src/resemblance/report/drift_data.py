"""What a drift report shows: numbers as text, and tables for a terminal."""

from __future__ import annotations

from typing import Any

from ..drift import Drift, DriftReport, Finding
from ..drift.report import WORDS
from .terminal import plain_table

ROUNDING = 1e-9  # what is smaller is shown as 0


def drift_table(report: DriftReport) -> Any:
    """Return a line per drift: the value, its interval, the threshold, and whether it is beyond."""
    rows = [
        (d.judges, d.name, number(d.value), bounds(d), number(d.threshold), d.reason or ("drift" if d.exceeds else ""))
        for d in report.drifts
    ]
    return plain_table(("verdict", "drift", "value", "95 % interval", "threshold", ""), rows, right=(2, 3, 4))


def finding_table(report: DriftReport) -> Any:
    """Return a line per kind of change: whether it is named or was not looked for, and a sentence."""
    rows = [(status(f), WORDS[f.kind], f.said) for f in report.findings]
    return plain_table(("happened", "kind of change", "what was found"), rows)


def status(finding: Finding) -> str:
    """Say whether a kind of change happened: yes, no, or not looked for."""
    if not finding.looked_for:
        return "not looked for"
    return "yes" if finding.named else "no"


def bounds(part: Drift | Finding) -> str:
    """Write an interval."""
    return "" if part.low is None else f"{number(part.low)} to {number(part.high)}"


def number(value: float | None) -> str:
    """Write a number with three digits, rounding noise as 0, a missing one as a dash."""
    if value is None:
        return "–"
    return "0" if abs(value) < ROUNDING else f"{value:.3g}".replace("-", "−")
