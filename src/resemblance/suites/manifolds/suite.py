"""The manifold suite: point clouds whose similarity is known, and what measures make of them.

Islam et al. 2025, Section 5 and its appendix: a Swiss roll against S-curves, rings and clusters
that merge (Barannikov et al. 2022), Gaussian spots with noise and without correspondence, uniform
spots of which one moves away.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...catalogue import get_measures
from ...compare import compare
from ...comparison import Comparison, info_of
from ...measure import Measure
from ...representation import Representation
from ...sources.point_clouds import (
    clusters,
    gaussian_spots,
    rings,
    swiss_roll_s_curve,
    uniform_spots,
)
from ...suggestions import did_you_mean
from ..study import Progress, check_folder, remember_suite
from .grades import ManifoldResult, Point, Sweep

MEASURES: tuple[str, ...] = (
    "mka", "mka[k=15]", "kcka", "kcka[variant=code]", "cka", "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.45]",
    "cka[kernel=rbf,bandwidth=0.2]", "svcca", "imd", "rtd", "rtd_lite",
    "mutual_knn[metric=euclidean]",
    "jaccard[metric=euclidean]", "information_imbalance", "default",
)  # fmt: skip
SLOW = frozenset({"rtd"})  # compared only up to a number of samples that depends on the size
MOST_NEIGHBOURS = {"imd": 50, "rank_similarity": 200}  # in sweeps: their time grows with k
KS = (5, 10, 15, 25, 50, 100, 150, 200, 250, 300, 400, 450)
ROLL_KS = (*KS, 600, 800)
COUNTS = tuple(range(2, 13))  # numbers of clusters
NOISE = 0.5


class Size(NamedTuple):
    """How large the suite is.

    ``roll`` samples and ``rs`` positions of the Swiss roll; ``spots``: samples at ``spots_d``
    features, and ``d_spots`` features at ``spots_n`` samples, each with so many ``seeds``;
    ``cubes``: samples of each of two cubes, the same for features, and ``moves``, the distances by
    which one moves; ``ks``: numbers of neighbours; ``sweep_d``: features at which these are varied;
    ``slow``: the most samples for a measure that is slow.
    """

    roll: int
    rs: tuple[float, ...]
    spots: tuple[int, ...]
    spots_d: int
    d_spots: tuple[int, ...]
    seeds: int
    cubes: tuple[int, ...]
    d_cubes: tuple[int, ...]
    moves: tuple[float, ...]
    sweep_d: tuple[int, int]
    ks: tuple[int, ...] = KS
    slow: int = 500


SIZES: Mapping[str, Size] = {
    "small": Size(
        250,
        (0.0, 0.25, 0.5, 0.75, 1.0),
        (120, 250),
        50,
        (2, 50),
        1,
        (60, 125),
        (2, 50),
        (0.0, 1.0, 5.0),
        (2, 50),
        (5, 15, 50),
        300,
    ),
    "default": Size(
        1000,
        tuple(i / 20 for i in range(21)),
        (250, 500, 1000),
        1000,
        (2, 10, 100, 500, 1000),
        3,
        (125, 250, 500),
        (2, 10, 100, 1000),
        (0.0, 0.5, 1.0, 2.0, 5.0, 10.0),
        (2, 100),
    ),
    "paper": Size(
        1000,
        tuple(i / 40 for i in range(41)),
        (250, 500, 1000, 2000, 5000),
        1000,
        (2, 10, 100, 500, 1000, 2000),
        5,
        (250, 500, 1000, 2500),
        (2, 10, 100, 1000),
        (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        (2, 100),
    ),
}


class Case(NamedTuple):
    """One reference, and the shapes it is compared with (``at``: r, number of rings or clusters, or
    distance moved).

    ``over_k``: by every number of neighbours instead of the one that a measure has.
    """

    shape: str
    n: int
    d: int
    seed: int
    at: tuple[float, ...]
    over_k: bool = False


class Shape(NamedTuple):
    """A cloud that the reference of a case is compared with, and of which experiment it is a
    point."""

    experiment: str
    at: float
    array: np.ndarray


def cases(size: Size) -> tuple[Case, ...]:
    """Return what is compared, each case once, smaller ones first within an experiment."""
    low, high = size.sweep_d
    found = [
        Case("swiss_roll", size.roll, 2, 0, size.rs),
        Case("swiss_roll", size.roll, 2, 0, (0.5,), True),
        *(Case("rings", 500, 2, 0, (1, 2, 3, 4, 5), sweep) for sweep in (False, True)),
        *(Case("clusters", 300, 2, 7, COUNTS, sweep) for sweep in (False, True)),
        *(
            Case("spots", n, size.spots_d, seed, (NOISE,))
            for n in size.spots
            for seed in range(size.seeds)
        ),
        *(
            Case("spots", size.spots[-1], d, seed, (NOISE,))
            for d in size.d_spots
            for seed in range(size.seeds)
        ),
        *(Case("spots", size.spots[-1], d, 0, (NOISE,), True) for d in (low, high)),
        *(Case("cubes", 2 * n, high, 0, size.moves) for n in size.cubes),
        *(Case("cubes", 2 * size.cubes[-1], d, 0, size.moves) for d in size.d_cubes),
        *(Case("cubes", 2 * size.cubes[-1], d, 0, size.moves[-1:], True) for d in (low, high)),
    ]
    return tuple(dict.fromkeys(found))


def clouds(case: Case) -> tuple[np.ndarray, list[Shape]]:
    """Return the reference of a case and the shapes it is compared with."""
    at = case.at
    if case.shape == "swiss_roll":
        pairs = [swiss_roll_s_curve(r, n=case.n) for r in at]
        return pairs[0].first, [Shape("swiss_roll", r, pair.second) for r, pair in zip(at, pairs)]
    if case.shape == "rings":
        return rings(1), [Shape("rings", k, rings(int(k))) for k in at]
    if case.shape == "clusters":
        return clusters(1, seed=case.seed), [
            Shape("clusters", k, clusters(int(k), seed=case.seed)) for k in at
        ]
    if case.shape == "cubes":
        n = case.n // 2
        moved = [Shape("moved", t, uniform_spots(n, case.d, t, seed=case.seed)) for t in at]
        return uniform_spots(n, case.d, 0.0, seed=case.seed), moved
    spots = gaussian_spots(case.n, case.d, noise=at[0], seed=case.seed)
    return spots.reference, [
        Shape("perturbed", at[0], spots.perturbed),
        Shape("lost", 0.0, spots.lost),
    ]


# ---------------------------------------------------------------------------------------------- run


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    executor: Executor | None = None,
    memory: int | str = "2GB",
    progress: Progress | None = None,
) -> ManifoldResult:
    """Put measures through the manifold suite, and continue where an earlier run in the same folder
    stopped.

    Parameters
    ----------
    folder : keeps every comparison (``comparisons.db``) and the result (``result.json``); without
        it nothing is kept. A later run computes only what is new: other measures, or the larger
        size.
    measures : measures, names, specifications, presets. Default: MKA, kCKA, CKA with linear and RBF
        kernels, SVCCA, IMD and RTD, as in the paper, some that look at Euclidean neighbours, and
        the 24 of ``preset("default")``. Those with a parameter ``k`` are also compared over numbers
        of neighbours. RTD is compared up to 500 samples only, beyond which it takes very long.
    size : ``"small"`` (a trial in seconds), ``"default"`` (minutes), or ``"paper"`` (up to 5000
        samples; hours).
    executor, memory : as for :func:`resemblance.compare`.
    progress : called with ("comparing", done, total).

    Where we differ from the paper: the values themselves are graded, not exp(-value/γ) with a γ
    that was tuned and not reported; RTD and IMD are not averages of random runs; points are drawn
    by our own generator, where the paper's seeds are not known; the default size has 1000 samples
    where the paper has 5000.

    Raises ``ValueError`` for a size or a measure that does not exist.

    Reference: Islam et al. 2025, Sections 5.1 to 5.3 and appendix; Barannikov et al. 2022.
    """
    if size not in SIZES:
        raise ValueError(f"size cannot be {size!r}{did_you_mean(size, tuple(SIZES))}")
    chosen = get_measures(measures if measures is not None else MEASURES)
    sweeps = tuple(Sweep(m.spec, k, varied) for m in chosen for k, varied in _over_k(m, ROLL_KS))
    ready, save = None, None
    if folder is not None:
        ready, save = Path(folder) / "result.json", Path(folder) / "comparisons.db"
        check_folder(ready.parent)
        ready.parent.mkdir(parents=True, exist_ok=True)
        remember_suite(ready.parent, "manifolds", size)
    plan = [(case, _measures_of(case, chosen, SIZES[size])) for case in cases(SIZES[size])]
    done = list(_compared(plan, progress, {"save": save, "executor": executor, "memory": memory}))
    result = _result(size, chosen, sweeps, done, SIZES[size])
    if ready is not None:
        result.save(ready)
    return result


def _over_k(measure: Measure, ks: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the specifications of a measure by number of neighbours, if it has one."""
    yield from ((k, measure.where(k=k).spec) for k in ks if k <= _most(measure))


def _most(measure: Measure) -> float:
    """Return the largest number of neighbours that a measure is compared over; 0 if it has none."""
    if not isinstance(measure.defaults.get("k"), int):
        return 0
    return min(
        MOST_NEIGHBOURS.get(measure.name, math.inf), measure.limits.get("k", (1, math.inf))[1]
    )


def _measures_of(case: Case, chosen: Sequence[Measure], size: Size) -> list[Measure]:
    """Return the measures that a case is for, each specification once."""
    if case.over_k:
        ks = [
            k
            for k in (ROLL_KS if case.shape == "swiss_roll" and size.ks == KS else size.ks)
            if k < case.n
        ]
        chosen = [m.where(k=k) for m in chosen for k in ks if k <= _most(m)]
    found = {m.spec: m for m in chosen if m.name not in SLOW or case.n <= size.slow}
    return list(found.values())


def _compared(
    plan: Sequence[tuple[Case, Sequence[Measure]]],
    progress: Progress | None,
    options: Mapping[str, Any],
) -> Iterator[tuple[Case, list[Shape], Comparison]]:
    total = sum(len(measures) * _shapes(case) for case, measures in plan)
    before = 0
    for case, measures in plan:
        size = len(measures) * _shapes(case)

        def show(ready: int, missing: int, start: int = before, size: int = size) -> None:
            if progress:
                progress("comparing", start + size - missing + ready, total)

        if measures:
            reference, shapes = clouds(case)
            show(0, size)
            yield case, shapes, _compare(reference, shapes, measures, {**options, "progress": show})
        before += size
        show(size, size)


def _shapes(case: Case) -> int:
    return 2 if case.shape == "spots" else len(case.at)


def _compare(
    reference: np.ndarray,
    shapes: Sequence[Shape],
    measures: Sequence[Measure],
    options: Mapping[str, Any],
) -> Comparison:
    others = [Representation(s.array, f"{s.experiment} {s.at:g}") for s in shapes]
    return compare(Representation(reference, "reference"), others, measures=measures, **options)


def _result(
    size: str,
    chosen: Sequence[Measure],
    sweeps: Sequence[Sweep],
    done: Sequence[tuple[Case, Sequence[Shape], Comparison]],
    sizes: Size,
) -> ManifoldResult:
    points = tuple(
        point for case, shapes, comparison in done for point in _points(case, shapes, comparison)
    )
    computed = {info.spec: info for _, _, comparison in done for info in comparison.measures}
    given = {info.spec: info for info in map(info_of, chosen)}
    used = {point.measure for point in points if point.over_k}
    spent: defaultdict[str, list[float]] = defaultdict(list)
    for _, _, comparison in done:
        for cell in comparison.cells:
            spent[cell.measure].append(cell.seconds)
    left_out = {
        m.spec: f"above {sizes.slow} samples: it takes too long" for m in chosen if m.name in SLOW
    }
    capped = {
        m.spec: f"above {_most(m):g} neighbours" for m in chosen if 0 < _most(m) < max(ROLL_KS)
    }
    left_out |= {
        spec: f"{why}: its time grows with them, or it takes no more"
        for spec, why in capped.items()
    }
    provenance = {
        k: v for k, v in done[0][2].provenance.items() if k not in ("rows", "columns", "n_samples")
    }
    return ManifoldResult(
        size,
        tuple(given),
        tuple((given | computed | given).values()),
        tuple(s for s in sweeps if s.spec in used),
        points,
        {spec: float(np.mean(seconds)) for spec, seconds in spent.items()},
        left_out,
        provenance,
    )


def _points(case: Case, shapes: Sequence[Shape], comparison: Comparison) -> Iterator[Point]:
    reasons = {(f.measure, f.y): f.reason for f in comparison.failures}
    for info in comparison.measures:
        values, differences = comparison[info.spec][0], comparison.difference(info.spec)[0]
        for shape, name, value, difference in zip(shapes, comparison.columns, values, differences):
            yield Point(
                shape.experiment,
                info.spec,
                case.n,
                case.d,
                case.seed,
                float(shape.at),
                case.over_k,
                float(value),
                float(difference),
                reasons.get((info.spec, name)),
            )
