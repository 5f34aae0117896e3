"""Thumbnails for notebooks, as SVG inside HTML: heat maps and rows of dots, as on a page.

Thumbnails need no package, no style sheet and no JavaScript; text has the colour of the notebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from typing import Any

from ..base.results import BaseResult
from ..comparison.comparison import Comparison, MeasureInfo, unique_measure_title
from ..inference.result import Evidence
from ..report.chapters import mean_rank_chart
from ..report.colors import colors_by_class
from ..report.comparing.figures import NOT_SIGNIFICANT_NOTE, annotate_heat_map, measure_heat_map
from ..report.comparing.stats import format_chance_range
from ..report.evidence_words import result_of_measure
from ..report.maps import static_map_svg
from ..report.of_drift import drift_result
from ..report.rows import bar_rows_svg
from ..sections.figures import Bars
from ..sections.result import Result, opening_sentences
from ..versions import DriftReport

MAX_NOTEBOOK_CELLS = 4096  # cells of all maps, because a notebook stores the thumbnails
MAX_NOTEBOOK_MAPS, MAX_NOTEBOOK_RANKS = 4, 10
MAP_WIDTH_PIXELS, ROWS_WIDTH_PIXELS = 370, 440  # widths in pixels
TEXT_COLOR, NOTEBOOK_BLUE, NOTEBOOK_RED = "#1c2530", "#0072B2", "#D55E00"
# Attributes by CSS class, in place of a style sheet
INLINE_STYLES: Mapping[str, Mapping[str, str]] = {
    "chart": {"fill": "currentColor", "font_family": "sans-serif", "font_size": "11"},
    "end": {"text_anchor": "end", "fill_opacity": ".7"},
    "end name": {"text_anchor": "end"},
    "mid": {"text_anchor": "middle", "fill_opacity": ".7"},
    "mid name": {"text_anchor": "middle"},
    "mid axis": {"text_anchor": "middle"},
    "count": {"text_anchor": "middle", "fill": TEXT_COLOR},
    "count light": {"text_anchor": "middle", "fill": "#fff"},
    "missing": {"fill": "#8884"},
    "cells": {"shape_rendering": "crispEdges"},
    "scale": {"shape_rendering": "crispEdges"},
    "unsure": {"fill": "none", "stroke": TEXT_COLOR, "vector_effect": "non-scaling-stroke"},
    "unsure light": {"fill": "none", "stroke": "#fff", "vector_effect": "non-scaling-stroke"},
    "edge": {"fill": "none", "stroke": "#fff", "stroke_width": "1.8"},
    "stem": {"stroke": NOTEBOOK_BLUE, "stroke_width": "5", "stroke_opacity": ".28"},
    "dot": {"fill": NOTEBOOK_BLUE},
    "stem over": {"stroke": NOTEBOOK_RED, "stroke_width": "5", "stroke_opacity": ".5"},
    "dot over": {"fill": NOTEBOOK_RED},
    "range": {"fill": "none", "stroke": "currentColor"},
    "grid": {"fill": "none", "stroke": "currentColor", "stroke_opacity": ".2"},
    "grid zero": {"fill": "none", "stroke": "currentColor", "stroke_opacity": ".4"},
    "limit": {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "5 3"},
    "reach": {"stroke": "none"},
    "point": {"fill": "currentColor", "fill_opacity": ".4"},
    "ceiling": {"fill": "currentColor", "fill_opacity": ".15"},
    "bracket": {"fill": "none", "stroke": "currentColor"},
    "mid level": {"text_anchor": "middle", "font_size": "9.5"},
}


def picture(result: Any) -> str:
    """Return HTML with maps of a comparison or an evidence, ranks of a result, or drifts of a
    report; "" for other results."""
    if isinstance(result, Comparison | Evidence):
        return "".join(_map_thumbnails(result))
    if isinstance(result, Result):
        return _rank_thumbnail(result)
    if isinstance(result, DriftReport):
        figures = drift_result(result)["drifts"].figures
        return "".join(_bars_html(figure) for figure in figures if isinstance(figure, Bars))
    if isinstance(result, BaseResult):
        return ""
    raise ValueError(f"there is no picture of a {type(result).__name__}")


# --------------------------------------------------------------------------------------------- maps


def _map_thumbnails(result: Comparison | Evidence) -> Iterator[str]:
    """Yield the maps of the first measures as HTML, and a note on omitted maps. Large maps are all
    omitted."""
    evidence = result if isinstance(result, Evidence) else None
    comparison = result.comparison if isinstance(result, Evidence) else result
    cells = len(comparison.rows) * len(comparison.columns)
    count = min(MAX_NOTEBOOK_MAPS, MAX_NOTEBOOK_CELLS // max(cells, 1), len(comparison.measures))
    count = 0 if cells <= 1 else count
    for info in comparison.measures[:count]:
        heat = measure_heat_map(comparison, info)
        if evidence is not None:
            heat = annotate_heat_map(heat, result_of_measure(evidence, info))
        yield (
            f"<div style='display:inline-block;width:{MAP_WIDTH_PIXELS}px;margin:8px 16px 0 0'>"
            f"<b>{escape(unique_measure_title(comparison, info))}</b>"
            f"{static_map_svg(heat, notebook_style)}"
            f"<small>{escape(_map_caption(comparison, info, evidence))}</small></div>"
        )
    remainder = comparison.measures[count:]
    hatched = isinstance(result, Evidence) and count
    notes = [f"Lines across: {NOT_SIGNIFICANT_NOTE}."] if hatched else []
    if remainder and cells > 1:
        notes.append(
            f".plot({remainder[0].spec!r}) draws the map of a measure; {len(remainder)} not here."
        )
    yield f"<p><small>{escape(' '.join(notes))}</small></p>" if notes else ""


def _map_caption(comparison: Comparison, info: MeasureInfo, evidence: Evidence | None) -> str:
    chance = format_chance_range(comparison, info, evidence)
    direction = "larger" if info.larger_is_more_similar else "smaller"
    return f"{direction} is more similar{f'; chance is {chance}' if chance else ''}"


# --------------------------------------------------------------------------------------------- rows


def _rank_thumbnail(result: Result) -> str:
    """Return HTML with the first opening sentence, and the mean ranks of the first ten measures."""
    headline = opening_sentences(result)
    lines = "".join(f"<p>{escape(line)}</p>" for line in headline.splitlines()[:1])
    figure = mean_rank_chart(result)
    if figure is None:
        return lines
    n_remaining = len(figure.bars) - MAX_NOTEBOOK_RANKS
    note = (
        f"<p><small>{n_remaining} more: .plot() draws all.</small></p>" if n_remaining > 0 else ""
    )
    return f"{lines}{_bars_html(figure._replace(bars=figure.bars[:MAX_NOTEBOOK_RANKS]))}{note}"


def _bars_html(figure: Bars) -> str:
    return (
        f"<div style='width:{ROWS_WIDTH_PIXELS}px'>{bar_rows_svg(figure, notebook_style)}</div>"
        if figure.bars
        else ""
    )


# ----------------------------------------------------------------------------------------- drawings


def notebook_style(kind: str, group_kind: str = "") -> Mapping[str, str]:
    """Return the attributes of a figure element without a style sheet: the colour of a map cell, or
    the entry of ``INLINE_STYLES``; {} for an unknown kind. ``kind``, ``group_kind``: the CSS
    classes of the element and of the group around the element."""
    if color := _inline_map_colors().get(kind):
        return {"fill": color}
    kind = kind.removesuffix(" matrix")
    full_kind = f"{kind} over" if group_kind.endswith(" over") else kind
    return INLINE_STYLES.get(full_kind, INLINE_STYLES.get(kind, {}))


@cache
def _inline_map_colors() -> Mapping[str, str]:
    """Return the colours of map cells by CSS class, as "#rrggbb"."""
    return {
        kind: "#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in color.tolist()))
        for kind, color in colors_by_class().items()
    }
