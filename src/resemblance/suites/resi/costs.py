"""What the comparisons of the six tests cost by the number and the size of representations: CPU
hours of one core, told before they start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...engine.costs import cost_table, seconds_of
from ...measure import Measure, Rows
from ...subject import MapShape
from ..case import Case
from ..feature_maps import by_size, step_of
from ..scoring import distinct_parts

FEWER = (5000, 2000, 1000, 500, 200)  # numbers of samples that are offered
MANY = 24.0  # CPU hours above which somebody is told
HOUR = 3600


class Workload(NamedTuple):
    """Representations of one size, and pairs of them to compare.

    ``rows_of_maps``: what the rows are where layers are maps, so that only some measures compare
    them (see :func:`resemblance.measure`); None: all do.
    """

    rows: int
    width: int
    representations: int
    pairs: int
    rows_of_maps: Rows | None = None


def all_pairs(rows: int, width: int, representations: int) -> Workload:
    """Return the work of comparing all pairs of so many representations, each also with itself."""
    return Workload(rows, width, representations, representations * (representations + 1) // 2)


def of_layers(
    rows: int, widths: Sequence[int], shapes: Sequence[MapShape | None]
) -> Iterator[Workload]:
    """Yield the work of comparing all pairs of layers on so many samples.

    ``widths``: the features of every layer; ``shapes``: what it is a map of, or None. All pairs
    count as those of the widest.
    """
    kind: Rows | None = "samples" if any(shapes) else None
    yield from _between(rows, widths, kind)
    for size, pairs in by_size(shapes).items() if kind else ():
        members = sorted({i for i, _ in pairs})
        channels = [(shapes[i] or (widths[i],))[0] for i in members]
        positions = rows * (size[0] * size[1] if size else 1)
        step = step_of(rows, size) if size else 1
        yield from _between(-(-positions // step), channels, "positions")


def _between(rows: int, widths: Sequence[int], kind: Rows | None) -> Iterator[Workload]:
    for width in sorted(set(widths)):
        yield Workload(rows, width, widths.count(width), 0, kind)
    yield all_pairs(rows, max(widths), len(widths))._replace(representations=0, rows_of_maps=kind)


def of_cases(cases: Iterable[Case], samples: int | None = None) -> Iterator[Workload]:
    """Yield the work of the cases of the six tests, on at most so many samples.

    Every test counts as if it were alone, though tests share representations and pairs.
    """
    for part in distinct_parts(cases):
        layers = list(part.rows.values())
        rows = min(samples or layers[0].shape[0], layers[0].shape[0])
        shapes = [part.maps.get(name) for name in part.rows]
        yield from of_layers(rows, [x.shape[1] for x in layers], shapes)


def comparing_hours(works: Iterable[Workload], measures: Iterable[Measure]) -> float:
    """Return the CPU hours of one core that comparisons by measures take together, views that they
    share computed once.

    A measure of a user's own, which nobody has timed, is not in the sum.
    """
    known = [m for m in measures if cost_table().name_of(m)]
    representations, pairs = (Counter[tuple[int, int, Rows | None]]() for _ in range(2))
    for work in works:
        size = (work.rows, work.width, work.rows_of_maps)
        representations[size] += work.representations
        pairs[size] += work.pairs
    hours = 0.0
    for (rows, width, kind), count in pairs.items():
        some = [m for m in known if kind in (None, m.rows_of_maps)]
        loads = representations[rows, width, kind]
        seconds = seconds_of(some, rows, width, pairs=count, representations=loads, both_ways=True)
        hours += (seconds or 0.0) / HOUR
    return hours


def advice(
    works: Callable[[int | None], Iterable[Workload]],
    measures: Sequence[Measure],
    limit: float = MANY,
    share: float = 1.0,
) -> str:
    """Return what to tell somebody before comparisons of more than ``limit`` CPU hours; an empty
    string if they take less.

    ``works``: the work on a number of samples, or on all of them (None). ``share``: of the work,
    what is still to be done; on fewer samples all of it is.
    """
    everything = list(works(None))
    total = share * comparing_hours(everything, measures)
    if total <= limit:
        return ""
    hours = {m.spec: share * comparing_hours(everything, [m]) for m in measures}
    dearest = sorted(hours, key=lambda spec: -hours[spec])[:3]
    most = ", ".join(f"{spec} {brief_estimate(hours[spec])}" for spec in dearest)
    text = f"comparing takes about {brief_estimate(total)} CPU hours of one core (above all {most})"
    for samples in FEWER:
        fewer = comparing_hours(works(samples), measures)
        if fewer <= limit:
            remedy = f"samples={samples} (--samples {samples}) takes about {brief_estimate(fewer)}"
            return f"{text}; {remedy}"
    return f"{text}; fewer samples (--samples N), measures or models take less"


def brief_estimate(value: float) -> str:
    """Write a number, such as of hours, in as many digits as an estimate has."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
