"""How an evidence shows itself: a short table in a terminal, and maps in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from ..display import picture
from .result import Evidence
from .words import (
    ALPHA,
    Reading,
    Readings,
    brief,
    caveats_in_words,
    design_line,
    level_words,
    p_text,
    readings,
    results_in_words,
    scores,
    words_of,
)

LARGEST_MAP, MOST_MAPS = 20, 4  # representations along a side of a map, and maps, in a notebook
NAMES = ("measure", "value", "{level} interval", "chance", "above chance", "p", "how")
HATCH = "repeating-linear-gradient(135deg, rgb(128 128 128 / .75) 0 1px, transparent 1px 6px)"


def text_of(evidence: Evidence) -> str:
    """Return a head and a line for each measure."""
    known = readings(evidence)
    rows = [_names(evidence, known), *(_line(evidence, of) for of in known)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n  ".join([_head(evidence), *lines, *caveats_in_words(evidence)])


def html_of(evidence: Evidence) -> str:
    """Return the table of the measures and a map of each of the first measures, as HTML."""
    known = readings(evidence)
    rows = "".join(f"<tr>{_cells(_line(evidence, of))}</tr>" for of in known)
    header = "".join(f"<th>{escape(name)}</th>" for name in _names(evidence, known))
    first = escape(results_in_words(evidence, known)[0])
    table = f"<table><caption>{escape(_head(evidence))}</caption><tr>{header}</tr>{rows}</table>"
    parts = [f"<p>{first}</p>", table, *_maps(evidence, known)]
    lines = [*caveats_in_words(evidence), design_line(evidence)]
    return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in lines)])


def _head(evidence: Evidence) -> str:
    pairs = {frozenset((x, y)) for x in evidence.rows for y in evidence.columns if x != y}
    size = f"{len(evidence.rows)} x {len(evidence.columns)} representations"
    of = " and ".join((evidence.rows[0], evidence.columns[-1])) if len(pairs) == 1 else size
    return f"Evidence for {of}, {evidence.n_samples} samples"


def _names(evidence: Evidence, known: Sequence[Readings]) -> tuple[str, ...]:
    is_one = len(known[0].pairs) == 1
    names = [name.format(level=level_words(evidence)) for name in NAMES]
    return tuple(names if is_one else ["adjusted p" if name == "p" else name for name in names])


def _line(evidence: Evidence, known: Readings) -> tuple[str, ...]:
    """Return what one measure shows: of one pair its numbers, of several their spans."""
    pairs, spec = known.pairs, known.info.spec
    how = evidence.how(spec)
    if len(pairs) == 1:
        return spec, *_single(pairs[0]), how
    scores = (_span([getattr(pair, n) for pair in pairs]) for n in ("value", "chance", "above"))
    value, chance, above = scores
    tested = len(known.tested)
    count = f"{known.beyond} of {tested} ≤ {ALPHA:g}" if tested else "not tested"
    widest = max((pair.high - pair.low for pair in pairs if pair.high > pair.low), default=math.nan)
    interval = "" if math.isnan(widest) else f"± {brief(widest / 2)} or less"
    return spec, value, interval, chance, above, count, how


def _single(pair: Reading) -> tuple[str, ...]:
    return *scores(pair), p_text(pair.p, pair.how)


def _span(values: Sequence[float]) -> str:
    """Write the least and the largest of some numbers, both with two decimals if one has them."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "–"
    least, largest = min(known), max(known)
    is_plain = 0.01 <= max(-least, largest) < 10
    ends = (f"{round(x, 2) + 0.0:.2f}" if is_plain else brief(x) for x in (least, largest))
    return " to ".join(dict.fromkeys(ends))


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row)


def _maps(evidence: Evidence, known: Sequence[Readings]) -> Iterator[str]:
    """Yield the maps of the first measures, shaded by what is above chance, if they can be read."""
    largest = max(len(evidence.rows), len(evidence.columns))
    if all(len(of.pairs) <= 1 for of in known):
        return
    if largest > LARGEST_MAP:
        yield picture(evidence)
        return
    yield (
        "<p>Values; the bluer, the further above chance. Hatched: not beyond chance (adjusted p "
        f"&gt; {ALPHA:g}).</p>"
    )
    for of in known[:MOST_MAPS]:
        yield _map(evidence, of)


def _map(evidence: Evidence, known: Readings) -> str:
    header = "".join(f"<th>{escape(name)}</th>" for name in evidence.columns)
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(x)}</th>{''.join(map(_square, row))}</tr>"
        for x, row in zip(evidence.rows, known.cells)
    )
    caption = f"<caption style='text-align:left'>{escape(known.info.label)}</caption>"
    return f"<table>{caption}<tr><th></th>{header}</tr>{rows}</table>"


def _square(cell: Reading) -> str:
    share = 0.0 if math.isnan(cell.above) else min(max(cell.above, 0.0), 1.0)
    shade = f"rgb(31 119 180 / {0.55 * share:.2f})"
    is_hatched = cell.is_tested and not cell.is_beyond
    layers = f"background:{f'{HATCH}, ' if is_hatched else ''}linear-gradient({shade}, {shade})"
    style = f"{layers};text-align:right"
    return f'<td style="{style}" title="{escape(words_of(cell))}">{escape(brief(cell.value))}</td>'
