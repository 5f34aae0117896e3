"""What comparisons cost by the number and the size of representations: CPU hours of one core, told
before they start.

``COSTS`` was fitted to what ``benchmarks/paper_costs.py`` measured, every measure alone. Measures
together share views, so all 24 take less than the sum of the hours that are given here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...catalogue import get_measure
from ...measure import Measure, Rows
from ...subject import MapShape
from ..case import Case
from ..feature_maps import by_size, step_of
from ..scoring import distinct_parts

ROWS, WIDTH, WIDE = 5000, 512, 25_088  # the size that ``seconds`` are of; that of wide arrays
FEWER = (5000, 2000, 1000, 500, 200)  # numbers of samples that are offered
MANY = 24.0  # CPU hours above which somebody is told
HOUR = 3600


class Law(NamedTuple):
    """Seconds at a size of reference, and the powers of samples and features by which they grow."""

    seconds: float
    rows: float
    width: float

    def at(self, rows: int, width: float, reference: int = WIDTH) -> float:
        """Return the seconds at another size."""
        factor: float = (rows / ROWS) ** self.rows * (width / reference) ** self.width
        return self.seconds * factor


class Cost(NamedTuple):
    """What a measure costs: for a representation, for a pair of them, and besides, for one with
    more features than samples, its reduction to as many."""

    one: Law
    pair: Law
    wide: Law = Law(0.0, 0.0, 0.0)

    def seconds(self, rows: int, width: int, representations: int, pairs: float) -> float:
        """Return the seconds of so many representations and pairs."""
        narrow = min(rows, width)
        reduction = self.wide.at(rows, width, WIDE) if width > rows else 0.0
        one, pair = self.one.at(rows, narrow) + reduction, self.pair.at(rows, narrow)
        return representations * one + pairs * pair


COSTS: Mapping[str, Cost] = {
    "pwcca": Cost(Law(0.47, 1.0, 1.7), Law(0.15, 0.2, 2.3)),
    "svcca": Cost(Law(0.45, 0.9, 1.6), Law(0.051, 1.0, 1.9)),
    "aligned_cosine": Cost(Law(0.071, 1.2, 1.0), Law(0.19, 0.5, 2.2)),
    "angular_shape": Cost(Law(0.054, 1.4, 1.1), Law(0.087, 0.5, 2.1)),
    "hard_correlation_match": Cost(Law(0.093, 1.6, 1.0), Law(0.079, 0.5, 2.1)),
    "linear_regression": Cost(Law(0.25, 0.9, 1.7), Law(0.051, 1.0, 2.0)),
    "procrustes": Cost(Law(0.034, 1.1, 0.9), Law(0.087, 0.5, 2.1)),
    "permutation_procrustes": Cost(Law(0.083, 0.3, 2.2), Law(0.091, 0.4, 2.1)),
    "procrustes_size_shape": Cost(Law(0.082, 1.3, 1.6), Law(0.089, 0.5, 2.0)),
    "soft_correlation_match": Cost(Law(0.081, 1.6, 0.8), Law(0.055, 0.9, 1.9)),
    "cka": Cost(Law(0.083, 0.9, 1.6), Law(0.052, 1.0, 2.0), Law(150.0, 2.0, 1.0)),
    "distance_correlation": Cost(Law(1.4, 2.1, 0.5), Law(0.01, 2.2, 0.0), Law(160.0, 2.0, 1.0)),
    "eigenspace_overlap": Cost(Law(0.45, 0.7, 1.6), Law(0.052, 0.9, 2.0)),
    "gulp": Cost(Law(0.48, 1.0, 1.6), Law(0.051, 1.0, 2.0)),
    "rsa": Cost(Law(2.4, 2.3, 0.4), Law(0.0061, 1.9, 0.1), Law(57.0, 2.0, 1.0)),
    "rsm_norm_difference": Cost(Law(1.3, 2.0, 0.6), Law(0.011, 1.9, 0.0), Law(160.0, 2.0, 1.0)),
    "second_order_cosine": Cost(Law(0.72, 1.9, 0.5), Law(0.037, 1.1, 0.7)),
    "jaccard": Cost(Law(0.76, 1.8, 0.5), Law(0.0012, 0.9, 0.4)),
    "rank_similarity": Cost(Law(0.69, 1.8, 0.5), Law(0.0026, 0.9, 0.1)),
    "imd": Cost(Law(1.8, 2.1, 0.1), Law(0.0005, 0.0, 0.0)),
    "rtd": Cost(Law(0.16, 0.1, 0.2), Law(0.23, 0.1, 0.0)),
    "concentricity_difference":
        Cost(Law(0.062, 1.6, 1.0), Law(0.0005, 0.0, 0.0), Law(5.7, 1.0, 1.0)),
    "magnitude_difference": Cost(Law(0.012, 0.8, 0.8), Law(0.0005, 0.0, 0.0), Law(4.0, 1.0, 1.0)),
    "uniformity_difference": Cost(Law(0.81, 1.9, 0.5), Law(0.0005, 0.0, 0.0)),
}  # fmt: skip


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


def comparing_hours(works: Iterable[Workload], measures: Sequence[Measure]) -> dict[str, float]:
    """Return the CPU hours of one core that comparisons take, by the specification of a measure.

    A measure that nobody has timed counts as the dearest of its family, or of all.
    """
    costs, works = {m: _cost(m) for m in measures}, list(works)
    hours = dict.fromkeys((m.spec for m in measures), 0.0)
    for m in measures:
        for work in works:
            if work.rows_of_maps in (None, m.rows_of_maps):
                pairs = work.pairs * (1 if m.symmetric else 2)
                seconds = costs[m].seconds(work.rows, work.width, work.representations, pairs)
                hours[m.spec] += seconds / HOUR
    return hours


def _cost(m: Measure) -> Cost:
    """Return the cost of a measure: of this specification, of this name, or the dearest of kin."""
    known = COSTS.get(m.spec) or COSTS.get(m.name)
    if known is not None:
        return known
    kin = [cost for name, cost in COSTS.items() if get_measure(name).family == m.family]
    return max(kin or COSTS.values(), key=lambda cost: cost.one.seconds + cost.pair.seconds)


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
    hours = {
        spec: share * of_all for spec, of_all in comparing_hours(works(None), measures).items()
    }
    total = sum(hours.values())
    if total <= limit:
        return ""
    dearest = sorted(hours, key=lambda spec: -hours[spec])[:3]
    most = ", ".join(f"{spec} {brief_estimate(hours[spec])}" for spec in dearest)
    text = f"comparing takes about {brief_estimate(total)} CPU hours of one core (above all {most})"
    for samples in FEWER:
        fewer = sum(comparing_hours(works(samples), measures).values())
        if fewer <= limit:
            remedy = f"samples={samples} (--samples {samples}) takes about {brief_estimate(fewer)}"
            return f"{text}; {remedy}"
    return f"{text}; fewer samples (--samples N), measures or models take less"


def brief_estimate(value: float) -> str:
    """Write a number, such as of hours, in as many digits as an estimate has."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
