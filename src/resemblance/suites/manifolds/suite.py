"""The manifold suite: Swiss rolls, rings, clusters and Gaussian blobs whose similarity is known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...catalogue import get_measures
from ...compare import compare
from ...comparison import Comparison, info_of
from ...display import did_you_mean
from ...measure import Measure
from ...representation import Representation
from ...results.result import Result
from ...results.values import known
from ..scoring import seconds_per_pair
from ..study import Judge, Progress, Purpose, log, study_folder
from .clouds import KS, ROLL_KS, CloudCase, ManifoldSize, Variant, cases, clouds
from .grades import ManifoldFacts, Measurement, Sweep
from .sections import check_claims, result_of

MEASURES: tuple[str, ...] = (
    "mka", "mka[k=15]", "kcka", "kcka[variant=code]", "cka", "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.45]",
    "cka[kernel=rbf,bandwidth=0.2]", "svcca", "imd", "rtd", "rtd_lite",
    "mutual_knn[metric=euclidean]",
    "jaccard[metric=euclidean]", "information_imbalance", "default",
)  # fmt: skip
SLOW = frozenset({"rtd"})  # compared only up to a number of samples that depends on the size
MOST_NEIGHBOURS = {"imd": 50, "rank_similarity": 200}  # in sweeps: their time grows with k
TWENTIETHS, FORTIETHS = (tuple(i / n for i in range(n + 1)) for n in (20, 40))  # of the S-curve
SIZES: Mapping[str, ManifoldSize] = {
    "small": ManifoldSize(
        roll=250, rs=(0.0, 0.25, 0.5, 0.75, 1.0),
        spots=(120, 250), spots_d=50, d_spots=(2, 50), seeds=1,
        cubes=(60, 125), d_cubes=(2, 50), moves=(0.0, 1.0, 5.0),
        sweep_d=(2, 50), ks=(5, 15, 50), slow=300,
    ),
    "default": ManifoldSize(
        roll=1000, rs=TWENTIETHS,
        spots=(250, 500, 1000), spots_d=1000, d_spots=(2, 10, 100, 500, 1000), seeds=3,
        cubes=(125, 250, 500), d_cubes=(2, 10, 100, 1000), moves=(0.0, 0.5, 1.0, 2.0, 5.0, 10.0),
        sweep_d=(2, 100),
    ),
    "paper": ManifoldSize(
        roll=1000, rs=FORTIETHS,
        spots=(250, 500, 1000, 2000, 5000), spots_d=1000,
        d_spots=(2, 10, 100, 500, 1000, 2000), seeds=5,
        cubes=(250, 500, 1000, 2500), d_cubes=(2, 10, 100, 1000),
        moves=(0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        sweep_d=(2, 100),
    ),
}  # fmt: skip


def run(
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    size: str = "default",
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: Progress | None = None,
    claims: Mapping[str, Judge] | None = None,
) -> Result:
    """Put measures through the manifold suite, and continue where an earlier run in the same folder
    stopped.

    Parameters
    ----------
    folder : keeps every comparison (``comparisons.db``), what was measured (``facts.json``, read by
        :func:`~resemblance.suites.manifolds.load_facts`) and the result (``result.json``); without
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
    claims : by the name of a section ("swiss roll", "rings", "clusters", "perturbed", "lost",
        "moved"), a function that judges claims by the facts, a
        :class:`~resemblance.suites.manifolds.ManifoldFacts`; their verdicts are shown in the
        section.

    Where we differ from the paper: the values themselves are graded, not exp(-value/γ) with a γ
    that was tuned and not reported; RTD and IMD are not averages of random runs; points are drawn
    by our own generator, where the paper's seeds are not known; the default size has 1000 samples
    where the paper has 5000.

    Raises ``ValueError`` for a size or a measure that does not exist.

    Reference: Islam et al. 2025, Sections 5.1 to 5.3 and appendix; Barannikov et al. 2022.
    """
    if size not in SIZES:
        raise ValueError(
            f"manifolds.run: size cannot be {size!r}{did_you_mean(size, tuple(SIZES))}"
        )
    check_claims(claims)
    entrants = get_measures(MEASURES if measures is None else measures)
    with study_folder(folder, Purpose("manifolds", size)) as (place, _):
        options: dict[str, Any] = {
            "executor": executor,
            "memory": memory,
            "save": place / "comparisons.db",
        }
        facts = collect(entrants, size, progress, **options)
        result = result_of(facts, claims, usual=[m.spec for m in get_measures(MEASURES)])
        publish(place, facts, result)
    return result


def publish(folder: Path, facts: ManifoldFacts, result: Result) -> None:
    """Write what a run measured, and its result, into its study."""
    facts.save(folder / "facts.json")
    result.save(folder / "result.json")
    log(folder, f"manifolds: {len(facts.points)} comparisons, {len(result.claims)} claims")


def collect(
    measures: Iterable[str | Measure],
    size: str = "default",
    progress: Progress | None = None,
    *,
    plan: Sequence[CloudCase] | None = None,
    draw: Callable[[CloudCase], tuple[np.ndarray, Sequence[Variant]]] = clouds,
    **options: Any,
) -> ManifoldFacts:
    """Compare all clouds by measures and return what was measured, of which :func:`run` makes its
    result.

    ``plan``: the cases, by default all of the size; ``draw``: returns the clouds of a case.
    ``options`` are those of :func:`resemblance.compare`.
    """
    entrants = get_measures(measures)
    chosen = cases(SIZES[size]) if plan is None else plan
    work = [(case, _measures_of(case, entrants, SIZES[size])) for case in chosen]
    total, end = sum(case.variants * len(compared_by) for case, compared_by in work), 0
    points, provenance = list[Measurement](), dict[str, Any]()
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for case, compared_by in work:
        end += case.variants * len(compared_by)
        if compared_by:
            reference, variants = draw(case)
            others = [Representation(v.array, f"{v.experiment} {v.at:g}") for v in variants]
            comparison = compare(
                Representation(reference, "reference"),
                others,
                measures=compared_by,
                **options,
                progress=partial(_show, progress, end, total),
            )
            points += _points(case, variants, comparison)
            for spec, spent in seconds_per_pair(comparison).items():
                seconds[spec].append(spent)
            provenance = provenance or dict(comparison.provenance)
        _show(progress, end, total, 0, 0)
    swept = {point.measure for point in points if point.over_k}
    sweeps = [
        Sweep(m.spec, k, m.where(k=k).spec) for m in entrants for k in ROLL_KS if k <= _most(m)
    ]
    return ManifoldFacts(
        size,
        tuple({m.spec: info_of(m) for m in entrants}.values()),
        tuple(s for s in sweeps if s.spec in swept),
        tuple(points),
        {spec: float(np.mean(times)) for spec, times in seconds.items()},
        _left_out(entrants, chosen, SIZES[size]),
        {k: v for k, v in provenance.items() if k not in ("rows", "columns", "n_samples")},
    )


def _show(progress: Progress | None, end: int, total: int, ready: int, missing: int) -> None:
    """Say how much is done where ``ready`` of the ``missing`` comparisons up to an end are."""
    if progress:
        progress("comparing", end - missing + ready, total)


# ----------------------------------------------------------------------------------------- measures


def _most(measure: Measure) -> float:
    """Return the largest number of neighbours that a measure is compared over; 0 if it has none."""
    if not isinstance(measure.defaults.get("k"), int):
        return 0
    limit = measure.limits.get("k", (1, math.inf))[1]
    return min(MOST_NEIGHBOURS.get(measure.name, math.inf), limit)


def _measures_of(case: CloudCase, entrants: Sequence[Measure], size: ManifoldSize) -> list[Measure]:
    """Return the measures that a case is for, each specification once."""
    if case.over_k:
        ks = _neighbours(case, size)
        entrants = [m.where(k=k) for m in entrants for k in ks if k <= _most(m)]
    fast = {m.spec: m for m in entrants if m.name not in SLOW or case.n <= size.slow}
    return list(fast.values())


def _neighbours(case: CloudCase, size: ManifoldSize) -> list[int]:
    """Return the numbers of neighbours of a sweep."""
    ks = ROLL_KS if case.shape == "swiss_roll" and size.ks == KS else size.ks
    return [k for k in ks if k < case.n]


def _left_out(
    entrants: Sequence[Measure], plan: Sequence[CloudCase], size: ManifoldSize
) -> dict[str, str]:
    """Return where measures were not compared, and why."""
    samples = f"above {size.slow} samples: it takes too long"
    neighbours = "above {:g} neighbours: its time grows with them, or it takes no more"
    largest = max((case.n for case in plan), default=0)
    most = max((k for case in plan if case.over_k for k in _neighbours(case, size)), default=0)
    slow = {m.spec: samples for m in entrants if m.name in SLOW and largest > size.slow}
    capped = {m.spec: neighbours.format(_most(m)) for m in entrants if 0 < _most(m) < most}
    return slow | capped


def _points(
    case: CloudCase, variants: Sequence[Variant], comparison: Comparison
) -> Iterator[Measurement]:
    reasons = {(f.measure, f.y): f.reason for f in comparison.failures}
    for info in comparison.measures:
        values, differences = comparison[info.spec][0], comparison.difference(info.spec)[0]
        for variant, name, value, difference in zip(
            variants, comparison.columns, values, differences
        ):
            yield Measurement(
                variant.experiment,
                info.spec,
                case.n,
                case.d,
                case.seed,
                float(variant.at),
                case.over_k,
                known(value),
                known(difference),
                reasons.get((info.spec, name)),
            )
