"""One self-contained HTML page of the drift between two versions of a representation: it loads
nothing, and prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..drift import DriftReport
from ..drift.kinds import WORDS, brief
from ..extras import need
from ..store import write_atomically
from .drift_data import bounds, facts, result, samples_used, unassessed
from .drift_figures import axis, bar, clouds, ladder, scale_of

CLASSES = 12  # in the table of classes
SIDES = {"geometry": "Geometry", "coordinates": "Coordinates", "index": "Old index"}
MAPS = {
    "identity": "none needed but a shift and a factor of scale",
    "rotation": "a rotation, with a shift and a factor of scale",
    "linear": "a linear map with a shift",
    "classes": "a shift of each class",
}


def write_drift_page(
    report: DriftReport, path: str | Path, *, title: str = "Drift between two versions"
) -> None:
    """Write what :func:`resemblance.drift` found to one HTML file.

    The page has the verdict, the kinds of change with what was found of each, pictures of the
    samples before and after the map that was chosen, what maps of growing freedom leave
    unexplained, every drift with its interval and threshold, the classes and samples that moved
    most, and from what and how it was made. It needs no network; two calls with the same report
    write the same bytes, and a reader sees the old or the new file, never a part.

    Parameters
    ----------
    report : from :func:`resemblance.drift`.
    path : the file to write; its folder must exist.
    title : the heading.

    Needs the extra ``report``.
    """
    write_atomically(Path(path), _template().render(title=title, **_content(report)))


def _content(report: DriftReport) -> dict[str, Any]:
    before, after = clouds(report)
    scale = scale_of(report)
    return {
        "report": report,
        "kinds": WORDS,
        "map": MAPS[report.map],
        "before": before,
        "after": after,
        "ladder": ladder(report) if report.ladder else "",
        "axis": axis(scale),
        "sides": [
            (
                called,
                [(d, bar(d, scale), result(report, d)) for d in report.drifts if d.judges == side],
            )
            for side, called in SIDES.items()
        ],
        "named": [f for f in report.findings if f.named],
        "explained": [f for f in report.findings if f.explained],
        "others": [f for f in report.findings if f.assessed and not (f.named or f.explained)],
        "unassessed": unassessed(report),
        "samples": samples_used(report),
        "facts": facts(report),
        "drawn": len(report.picture["current"]),
        "classes": report.classes[:CLASSES],
        "uncounted": any(j.drifted for j in (report.geometry, report.coordinates, report.index)),
    }


def _template() -> Any:
    jinja2 = need("jinja2")
    here = Path(__file__).parent
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"number": brief, "bounds": bounds}
    environment.globals["css"] = (here / "drift_page.css").read_text(encoding="utf-8")
    return environment.from_string((here / "drift.html.j2").read_text(encoding="utf-8"))
