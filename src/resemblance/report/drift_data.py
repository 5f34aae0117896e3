"""What a drift report shows: numbers as text, and tables for a terminal."""

from __future__ import annotations

from typing import Any

from ..drift import Drift, DriftReport, Finding
from ..drift.kinds import WORDS, brief
from .terminal import plain_table


def drift_table(report: DriftReport) -> Any:
    """Return a line per drift: the value, its interval, the threshold, and whether it is above."""
    rows = [
        (d.judges, d.name, brief(d.value), bounds(d), brief(d.threshold), result(report, d))
        for d in report.drifts
    ]
    return plain_table(
        ("side", "test", "value", "95 % interval", "threshold", "result"), rows, right=(2, 3, 4)
    )


def result(report: DriftReport, found: Drift) -> str:
    """Say whether a drift is above its threshold, and whether that counts for the purpose of the
    report."""
    if not found.exceeds:
        return found.reason or ("" if found.threshold is not None else "not judged by a number")
    sides = {"geometry": report.geometry, "coordinates": report.coordinates, "index": report.index}
    said = "drift" if sides[found.judges].counts else "changed, not counted"
    return f"{said}: {found.reason}" if found.reason else said


def finding_table(report: DriftReport) -> Any:
    """Return a line per kind of change that was assessed: whether it is named, and a sentence."""
    rows = [(status(f), WORDS[f.kind], f.said) for f in report.findings if f.assessed]
    return plain_table(("happened", "kind of change", "what was found"), rows)


def unassessed(report: DriftReport) -> str:
    """Name the kinds of change that were not assessed, with the reasons, in one line."""
    reasons: dict[str, list[str]] = {}
    for f in report.findings:
        if not f.assessed:
            reasons.setdefault(f.said, []).append(WORDS[f.kind])
    return "; ".join(f"{', '.join(kinds)} ({why})" for why, kinds in reasons.items())


def status(finding: Finding) -> str:
    """Say whether a kind of change that was assessed happened: yes, no, or explained by the map."""
    if finding.explained:
        return "explained by the map"
    return "yes" if finding.named else "no"


def samples_used(report: DriftReport) -> str:
    """Say how many samples the report rests on."""
    s = report.settings
    if s["used"] == s["samples"]:
        drawn = f"All {s['samples']:,} samples were used"
    else:
        drawn = f"{s['used']:,} of {s['samples']:,} samples were used, drawn at random"
    return (
        f"{drawn}; {s['k']} neighbours of {s['queries']:,} of them were looked up among all "
        f"{s['samples']:,}."
    )


def bounds(part: Drift | Finding) -> str:
    """Write an interval."""
    return "" if part.low is None else f"{brief(part.low)} to {brief(part.high)}"


def facts(report: DriftReport) -> list[tuple[str, str]]:
    """How a report was made: what for, from which data, by what."""
    s, made = report.settings, report.provenance
    is_fixed = s["threshold"] != "calibrated"
    threshold = (
        f"{s['threshold']:g}" if is_fixed else f"calibrated by noise of {s['tolerance']:g} radii"
    )
    rows = [
        ("purpose", s["purpose"]),
        *((side, _data(made[side])) for side in ("reference", "current")),
    ]
    rows += [
        ("samples", samples_used(report)),
        ("threshold", threshold),
        ("random halves", str(s["draws"])),
    ]
    rows += [("seed", str(s["seed"])), ("labels", "given" if s["labels"] else "none")]
    libraries = ", ".join(f"{name} {version}" for name, version in made["libraries"].items())
    machine = f"Python {made['python']}, {libraries}, {made['machine']}"
    rows += [("made with", f"resemblance {made['resemblance']}, {machine}")]
    return rows + [(name, made[name]) for name in ("date", "command") if name in made]


def _data(one: dict[str, Any]) -> str:
    n, d = one["shape"]
    return (
        f"{one['file'] or 'an array'}: {n:,} × {d:,}, {one['dtype']}, fingerprint "
        f"{one['fingerprint']}"
    )
