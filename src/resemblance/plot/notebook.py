"""Small pictures for notebooks, as SVG inside HTML: the maps and rows of dots of a page.

They need no package, no style sheet and no program; letters have the colour of the notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from typing import Any

from ..comparison.comparison import Comparison, MeasureInfo, label_of
from ..inference.result import Evidence
from ..report.chapters import standing
from ..report.colours import class_colours
from ..report.comparing.figures import HATCHING, heat_map, marked
from ..report.comparing.stats import chance_words
from ..report.evidence_words import readings_of
from ..report.maps import still_map
from ..report.of_drift import drift_result
from ..report.rows import bars
from ..sections.figures import Bars
from ..sections.result import Result
from ..versions import DriftReport

MOST_CELLS = 4096  # of all maps together: a notebook keeps what it shows
MOST_MAPS, MOST_ROWS = 4, 10
MAP, ROWS = 370, 440  # widths in pixels
INK, BLUE, RED = "#1c2530", "#0072B2", "#D55E00"
STYLE: Mapping[str, Mapping[str, str]] = {  # of the kinds of elements that say how they look
    "chart": {"fill": "currentColor", "font_family": "sans-serif", "font_size": "11"},
    "end": {"text_anchor": "end", "fill_opacity": ".7"},
    "end name": {"text_anchor": "end"},
    "mid": {"text_anchor": "middle", "fill_opacity": ".7"},
    "mid name": {"text_anchor": "middle"},
    "mid axis": {"text_anchor": "middle"},
    "count": {"text_anchor": "middle", "fill": INK},
    "count light": {"text_anchor": "middle", "fill": "#fff"},
    "missing": {"fill": "#8884"},
    "cells": {"shape_rendering": "crispEdges"},
    "scale": {"shape_rendering": "crispEdges"},
    "unsure": {"fill": "none", "stroke": INK, "vector_effect": "non-scaling-stroke"},
    "unsure light": {"fill": "none", "stroke": "#fff", "vector_effect": "non-scaling-stroke"},
    "edge": {"fill": "none", "stroke": "#fff", "stroke_width": "1.8"},
    "stem": {"stroke": BLUE, "stroke_width": "5", "stroke_opacity": ".28"},
    "dot": {"fill": BLUE},
    "stem over": {"stroke": RED, "stroke_width": "5", "stroke_opacity": ".5"},
    "dot over": {"fill": RED},
    "range": {"fill": "none", "stroke": "currentColor"},
    "grid": {"fill": "none", "stroke": "currentColor", "stroke_opacity": ".2"},
    "grid zero": {"fill": "none", "stroke": "currentColor", "stroke_opacity": ".4"},
    "limit": {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "5 3"},
    "reach": {"stroke": "none"},
}


def picture(thing: Any) -> str:
    """Return maps of a comparison or an evidence, ranks of a result, drifts of a report."""
    if isinstance(thing, Comparison | Evidence):
        return "".join(_maps(thing))
    if isinstance(thing, Result):
        return _standing(thing)
    if isinstance(thing, DriftReport):
        figures = drift_result(thing)["drifts"].figures
        return "".join(_dots(figure) for figure in figures if isinstance(figure, Bars))
    raise ValueError(f"there is no picture of a {type(thing).__name__}")


# --------------------------------------------------------------------------------------------- maps


def _maps(thing: Comparison | Evidence) -> Iterator[str]:
    """Yield the maps of the first measures, and what is not shown."""
    comparison = thing.comparison if isinstance(thing, Evidence) else thing
    cells = len(comparison.rows) * len(comparison.columns)
    count = min(MOST_MAPS, MOST_CELLS // max(cells, 1), len(comparison.measures))
    count = 0 if cells <= 1 else count
    for info in comparison.measures[:count]:
        heat = heat_map(comparison, info)
        if isinstance(thing, Evidence):
            heat = marked(heat, readings_of(thing, info))
        yield (
            f"<div style='display:inline-block;width:{MAP}px;margin:8px 16px 0 0'>"
            f"<b>{escape(label_of(comparison, info))}</b>{still_map(heat, notebook_style)}"
            f"<small>{escape(_reading(comparison, info))}</small></div>"
        )
    rest = comparison.measures[count:]
    hatched = isinstance(thing, Evidence) and count
    notes = [f"Lines across: {HATCHING}."] if hatched else []
    if rest and cells > 1:
        notes.append(f".plot({rest[0].spec!r}) draws the map of a measure; {len(rest)} not here.")
    yield f"<p><small>{escape(' '.join(notes))}</small></p>" if notes else ""


def _reading(comparison: Comparison, info: MeasureInfo) -> str:
    chance = chance_words(comparison, info)
    which = "larger" if info.larger_is_more_similar else "smaller"
    return f"{which} is more similar{f'; chance is {chance}' if chance else ''}"


# --------------------------------------------------------------------------------------------- rows


def _standing(result: Result) -> str:
    """Return the headline, and the mean ranks of the first ten measures."""
    headline = result.headline()
    lines = "".join(f"<p>{escape(line)}</p>" for line in headline.splitlines()[:1])
    figure = standing(result)
    if figure is None:
        return lines
    rest = len(figure.bars) - MOST_ROWS
    more = f"<p><small>{rest} more: .plot() draws all.</small></p>" if rest > 0 else ""
    return f"{lines}{_dots(figure._replace(bars=figure.bars[:MOST_ROWS]))}{more}"


def _dots(figure: Bars) -> str:
    return (
        f"<div style='width:{ROWS}px'>{bars(figure, notebook_style)}</div>" if figure.bars else ""
    )


# ----------------------------------------------------------------------------------------- drawings


def notebook_style(kind: str, inside: str = "") -> Mapping[str, str]:
    """Return the attributes of an element of a figure, for which there is no style sheet: the
    colour of a cell of a map, or as in ``STYLE``."""
    if colour := _colours().get(kind):
        return {"fill": colour}
    kind = kind.removesuffix(" matrix")
    over = f"{kind} over" if inside.endswith(" over") else kind
    return STYLE.get(over, STYLE.get(kind, {}))


@cache
def _colours() -> Mapping[str, str]:
    """Return the colours of the cells of maps by their kinds, in hexadecimal numbers."""
    return {
        kind: "#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in colour.tolist()))
        for kind, colour in class_colours().items()
    }
