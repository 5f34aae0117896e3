"""One self-contained HTML page of a comparison: nothing is loaded from elsewhere, and it prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..comparison import Comparison, remark_notes, without_rounding
from ..extras import need
from ..store import write_atomically
from .data import (
    HeatMap,
    agreement,
    failure_groups,
    heat_map,
    is_square,
    number,
    off_diagonal,
    provenance,
    summary,
)
from .figures import Figure, colour_table, draw


class Plate(NamedTuple):
    """A heat map as it stands on the page: its data and its drawing."""

    data: HeatMap
    figure: Figure


def write_page(
    comparison: Comparison,
    path: str | Path,
    *,
    title: str = "Comparison of representations",
    introduction: str = "",
    facts: Mapping[str, str] | None = None,
    stretch: bool = False,
) -> Path:
    """Write a comparison to one HTML file and return its path.

    The page has a table of all measures, a heat map per measure, the reasons of failures, and the
    provenance. It needs no network and runs no foreign code; two calls with the same comparison
    write the same bytes, and a reader sees the old or the new file, never a part.

    Parameters
    ----------
    comparison : what :func:`resemblance.compare` or :func:`resemblance.load` returned.
    path : the file to write; its folder must exist.
    title : the heading. introduction : one paragraph below it, as plain text.
    facts : names and values to show at the top, such as accuracies.
    stretch : let the colours of every map span its values instead of the range of its measure; the
        maps say so.

    Needs the extra ``report``.
    """
    maps = [heat_map(comparison, info.spec, stretch=stretch) for info in comparison.measures]
    html = _template().render(
        title=title,
        introduction=introduction,
        comparison=comparison,
        square=is_square(comparison),
        pairs=_count_pairs(comparison),
        measures=summary(comparison),
        remarks=remark_notes(comparison),
        failures=failure_groups(comparison),
        failed=len(comparison.failures),
        provenance=provenance(comparison),
        facts=facts or {},
        **_drawn(comparison, maps),
    )
    write_atomically(Path(path), html)
    return Path(path)


def _drawn(comparison: Comparison, maps: Sequence[HeatMap]) -> dict[str, Any]:
    """Return what the page draws: the maps, and how far the measures agree, of two as a
    sentence."""
    found = agreement(comparison)
    overview = found if found and len(found.rows) > 2 else None
    crosses_zero = any(heat.scale.limits[0] < 0 for heat in maps)
    return {
        "plates": [_plate(heat) for heat in maps],
        "plate_width": plate_width(comparison),
        "overview": overview and _plate(overview),
        "overview_width": min(640, 200 + 36 * len(maps)),
        "agreeing": _agreeing(found) if found and not overview else "",
        "ramp": _ramp(),
        "opposite": _ramp(opposite=True) if crosses_zero else (),
        "data": page_data(comparison, [*maps, *([overview] if overview else [])]),
    }


def page_data(comparison: Comparison, maps: Iterable[HeatMap]) -> dict[str, Any]:
    """Return the names and numbers that the page shows under the pointer; six digits, null where
    there is no value."""
    return {
        "rows": comparison.rows,
        "columns": comparison.columns,
        "maps": {m.name: _map_data(m, comparison) for m in maps},
    }


def plate_width(comparison: Comparison) -> int:
    """Return the smallest width, in pixels, at which a heat map of this many names can be read."""
    widest = max(len(comparison.rows), len(comparison.columns))
    return 340 if widest <= 24 else 460 if widest <= 40 else 560


def _map_data(heat: HeatMap, comparison: Comparison) -> dict[str, Any]:
    is_measure = heat.name in comparison.values
    shown = without_rounding(heat.values, comparison.info(heat.name)) if is_measure else heat.values
    values = [
        [float(f"{v:.6g}") if math.isfinite(v) else None for v in row] for row in shown.tolist()
    ]
    reasons = {f"{i},{j}": reason for (i, j), reason in heat.reasons.items()}
    data: dict[str, Any] = {"values": values, "reasons": reasons}
    own_names = (heat.rows, heat.columns) != (comparison.rows, comparison.columns)
    return data | ({"rows": heat.rows, "columns": heat.columns} if own_names else {})


def _plate(heat: HeatMap) -> Plate:
    return Plate(heat, draw(heat))


def _agreeing(found: HeatMap) -> str:
    """Say in a sentence how far two measures agree."""
    value = float(found.values[0, 1])
    names = f"{found.rows[0]} and {found.rows[1]}"
    if not math.isfinite(value):
        return f"{names}: no correlation, for {found.reasons[0, 1]}."
    return f"{names}: {f'{value:.2f}'.replace('-', '−')}."


def _ramp(*, opposite: bool = False) -> list[str]:
    """Return the colours of the scale for a style sheet."""
    return [f"rgb({r:.0f} {g:.0f} {b:.0f})" for r, g, b in 255 * colour_table(9, opposite=opposite)]


def _count_pairs(comparison: Comparison) -> int:
    pairs = int(off_diagonal(comparison).sum())
    return pairs // 2 if is_square(comparison) else pairs


def _template() -> Any:
    jinja2 = need("jinja2")
    source = Path(__file__).with_name("compare.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["number"] = lambda value: number(value).replace("-", "−")
    return environment.from_string(source)
