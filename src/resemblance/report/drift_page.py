"""One self-contained HTML page of the drift between two versions of a representation: it loads nothing, and prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..drift import DriftReport
from ..drift.report import WORDS
from ..extras import need
from ..store import write_atomically
from .drift_data import bounds, number
from .drift_figures import bar, clouds, ladder

MAPS = {
    "identity": "none needed but a shift and a factor of scale",
    "rotation": "a rotation, with a shift and a factor of scale",
    "linear": "a linear map with a shift",
    "classes": "a shift of each class",
}


def write_drift_page(report: DriftReport, path: str | Path, *, title: str = "Drift between two versions") -> None:
    """Write what :func:`resemblance.drift` found to one HTML file.

    The page has both verdicts, the kinds of change with what was found of each, pictures of the samples before and
    after the map that was chosen, what maps of growing freedom leave unexplained, every drift with its interval and
    threshold, the samples that moved most, and the settings. It needs no network; two calls with the same report write
    the same bytes, and a reader sees the old or the new file, never a part.

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
    return {
        "report": report, "kinds": WORDS, "map": MAPS[report.map], "before": before, "after": after,
        "ladder": ladder(report) if report.ladder else "", "bars": [(d, bar(d)) for d in report.drifts],
        "named": [f for f in report.findings if f.named],
        "others": [f for f in report.findings if f.looked_for and not f.named],
        "unsought": [f for f in report.findings if not f.looked_for],
    }  # fmt: skip


def _template() -> Any:
    jinja2 = need("jinja2")
    here = Path(__file__).parent
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"number": number, "bounds": bounds}
    environment.globals["css"] = (here / "drift_page.css").read_text(encoding="utf-8")
    return environment.from_string((here / "drift.html.j2").read_text(encoding="utf-8"))
