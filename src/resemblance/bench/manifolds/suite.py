"""The manifold suite: Swiss rolls, rings, clusters and Gaussian blobs with known similarity."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.codec import encode_value
from resemblance.base.json_files import decode_record
from resemblance.comparison.comparison import measure_info
from resemblance.contracts._measure import Measure
from resemblance.data.representation import Representation
from resemblance.sections.values import finite_or_none

from ..case import Case, Part, Score
from ..feature_maps import scratch_folder
from ..pinned import FrozenFeatures, Reduction
from ..ranks import tasks_with_rank_rules
from ..scoring import ComparisonsByPart, failed_comparisons, mean_comparison_seconds, scores_in_case
from ..study import purpose
from ..suite import Outcome, Suite, SuiteRun
from .clouds import (
    ROLL_SWEEP_NEIGHBORS,
    SWEEP_NEIGHBORS,
    CloudCase,
    ManifoldSize,
    cloud_cases,
    sample_clouds,
)
from .page import EXPERIMENTS, MANIFOLDS_TITLE, manifolds_result
from .values import (
    MANIFOLD_ORDER_RULE,
    MANIFOLD_PEAK_RULE,
    ORIGINAL_CLUSTER_COUNTS,
    Measured,
    Measurement,
)

MEASURES: tuple[str, ...] = (
    "mka", "mka[k=15]", "kcka", "kcka[variant=code]", "cka", "cka[kernel=rbf]",
    "cka[kernel=rbf,bandwidth=0.45]",
    "cka[kernel=rbf,bandwidth=0.2]", "svcca", "imd", "rtd", "rtd_lite",
    "mutual_knn[metric=euclidean]",
    "jaccard[metric=euclidean]", "information_imbalance", "default",
)  # fmt: skip
CLOUDS_FOLDER = "clouds"
GRADED_SHAPES = {
    "swiss_roll": ("peak", MANIFOLD_PEAK_RULE),
    "rings": ("tau", MANIFOLD_ORDER_RULE),
    "clusters": ("tau", MANIFOLD_ORDER_RULE),
}
# Compared only up to a number of samples, which depends on the size of the suite.
SLOW_CLOUD_MEASURES = frozenset({"rtd"})
MAX_SWEEP_NEIGHBORS = {"imd": 50, "rank_similarity": 200}  # in sweeps: run time grows with k
# Positions r of the S-curve.
TWENTY_ROLL_STEPS, FORTY_ROLL_STEPS = (tuple(i / n for i in range(n + 1)) for n in (20, 40))
SIZES: Mapping[str, ManifoldSize] = {
    "small": ManifoldSize(
        roll=250, rs=(0.0, 0.25, 0.5, 0.75, 1.0),
        spots=(120, 250), spots_d=50, d_spots=(2, 50), seeds=1,
        cubes=(60, 125), d_cubes=(2, 50), moves=(0.0, 1.0, 5.0),
        sweep_d=(2, 50), ks=(5, 15, 50), slow=300,
    ),
    "default": ManifoldSize(
        roll=1000, rs=TWENTY_ROLL_STEPS,
        spots=(250, 500, 1000), spots_d=1000, d_spots=(2, 10, 100, 500, 1000), seeds=3,
        cubes=(125, 250, 500), d_cubes=(2, 10, 100, 1000), moves=(0.0, 0.5, 1.0, 2.0, 5.0, 10.0),
        sweep_d=(2, 100),
    ),
    "paper": ManifoldSize(
        roll=1000, rs=FORTY_ROLL_STEPS,
        spots=(250, 500, 1000, 2000, 5000), spots_d=1000,
        d_spots=(2, 10, 100, 500, 1000, 2000), seeds=5,
        cubes=(250, 500, 1000, 2500), d_cubes=(2, 10, 100, 1000),
        moves=(0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        sweep_d=(2, 100),
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------- clouds on the disk


class CloudComparison(NamedTuple):
    """A reference with its clouds as a part, and the experiment of every cloud. ``about``: the
    description of the clouds."""

    about: CloudCase
    part: Part
    experiments: tuple[str, ...]


def write_clouds(
    folder: Path, size: str, plan: Iterable[CloudCase], half: bool = False
) -> dict[str, Any]:
    """Write the clouds of the cases ``plan`` into a folder, and return the facts for reading the
    clouds. ``size``: of the suite. ``half``: in half precision."""
    documents = []
    for number, case in enumerate(plan):
        reference, variants = sample_clouds(case)
        place = folder / CLOUDS_FOLDER / str(number)
        place.mkdir(parents=True)
        arrays = {str(i): v.array for i, v in enumerate(variants)}
        for name, points in {"reference": reference, **arrays}.items():
            np.save(place / f"{name}.npy", points.astype(np.float16) if half else points)
        descriptions = [[v.experiment, float(v.at)] for v in variants]
        documents.append({"case": encode_value(case), "variants": descriptions})
    return {"size": size, "clouds": documents}


def read_cloud_comparisons(content: FrozenFeatures) -> list[CloudComparison]:
    """Read the comparisons from the clouds of a run or of a pack, in the order of the cases.
    ``content``: the folder and the facts, with the entry "clouds"."""
    return [
        _read_cloud_comparison(
            content.folder / CLOUDS_FOLDER / str(number), entry["case"], entry["variants"]
        )
        for number, entry in enumerate(content.facts["clouds"])
    ]


def _read_cloud_comparison(
    folder: Path, document: Any, variants: Sequence[tuple[str, float]]
) -> CloudComparison:
    columns = {
        f"{experiment} {position:g}": Representation(
            folder / f"{i}.npy", f"{experiment} {position:g}"
        )
        for i, (experiment, position) in enumerate(variants)
    }
    reference = {"reference": Representation(folder / "reference.npy")}
    part = Part(reference, [position for _, position in variants], columns)
    return CloudComparison(
        decode_record(CloudCase, document), part, tuple(experiment for experiment, _ in variants)
    )


def write_clouds_to_pack(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the clouds of a size of the suite into a pack, and return the facts that the pack
    stores.

    ``study``: the folder of the study. ``pack``: the folder with the content of the pack. A pack
    with a reduced number of samples contains only the clouds of ranked tasks, with all points,
    because these clouds are small.
    """
    size = purpose(study).size
    cases, content = cloud_cases(SIZES[size]), "all shapes"
    if reduction.samples is not None:
        content = "the shapes of the cells that rank"
        cases = tuple(c for c in cases if c.shape in GRADED_SHAPES and not c.over_k)
    return {**write_clouds(pack, size, cases, reduction.half), "content": content}


# ------------------------------------------------------------------------------------------ compare


def clouds_tasks(content: FrozenFeatures) -> list[Case]:
    """Return the tasks that rank measures: the orders of clouds of rings and of clusters, and the
    position of the largest score on the Swiss roll."""
    return list(_graded_cloud_cases(read_cloud_comparisons(content), SIZES[content.facts["size"]]))


def evaluate_clouds(run: SuiteRun, content: FrozenFeatures | None) -> Outcome:
    """Compare the clouds of a pack, or without ``content`` clouds drawn for this run in a temporary
    folder. The facts of every section are the measurements."""
    with scratch_folder(run.folder / "clouds") as scratch:
        assert scratch is not None
        if content is None:
            facts = write_clouds(scratch, run.size, cloud_cases(SIZES[run.size]))
            content = FrozenFeatures(scratch, facts, "")
        measurements = compared_clouds(content, run.measures, run.compare)
    result = manifolds_result(measurements, run.usual)
    return Outcome(result, dict.fromkeys(EXPERIMENTS, measurements))


def _graded_cloud_cases(shapes: Iterable[CloudComparison], size: ManifoldSize) -> Iterator[Case]:
    """Yield the tasks that rank measures, from the comparisons of the clouds.

    Only comparisons of ``GRADED_SHAPES`` that do not vary the number of neighbours give a task. The
    construction of the clouds fixes the expectation, so the reliability is 1.
    """
    for case, part, _ in shapes:
        if case.shape not in GRADED_SHAPES or case.over_k:
            continue
        if case.shape == "clusters" and part.columns:
            columns = {
                a: c
                for a, c in zip(part.expected, part.columns.items())
                if a in ORIGINAL_CLUSTER_COUNTS
            }
            part = part._replace(expected=list(columns), columns=dict(columns.values()))
        test, (cell, rule) = case.shape.replace("_", " "), GRADED_SHAPES[case.shape]
        slow_measures = _too_slow_measures(case, size)
        yield Case(test, (cell,), rule, (part,), test, slow_measures, reliability=1.0)


def _too_slow_measures(case: CloudCase, size: ManifoldSize) -> frozenset[str]:
    return SLOW_CLOUD_MEASURES if case.n > size.slow else frozenset()


def compared_clouds(
    content: FrozenFeatures,
    measures: Sequence[Measure],
    compare: Callable[[Sequence[Case]], ComparisonsByPart],
) -> Measured:
    """Compare all clouds of a run or of a pack at once, and return the measurements.

    ``content``: the stored clouds. ``measures``: the measures of the run. ``compare``: maps tasks
    to comparisons by part.
    """
    name = content.facts["size"]
    shapes = read_cloud_comparisons(content)
    infos = list(map(measure_info, measures))
    size, measured_cases = SIZES[name], list[Case]()
    for cloud_case, part, _ in shapes:
        if case_measures := _measures_at(cloud_case, measures, size):
            test = f"{cloud_case.shape.replace('_', ' ')}{' over k' if cloud_case.over_k else ''}"
            measured_cases.append(
                Case(test, (), MANIFOLD_ORDER_RULE, (part,), measures=case_measures)
            )
    ranked_cases = list(_graded_cloud_cases(shapes, size))
    reasons = _uncompared_clouds(measures, shapes, size)
    comparisons = compare([*measured_cases, *ranked_cases])
    points = defaultdict[tuple[str, str], list[Measurement]](list)
    for point in (
        p for s in shapes if s.part.key in comparisons for p in _cloud_measurements(s, comparisons)
    ):
        points[point.experiment, point.measure].append(point)
    rows = {
        (*s.key, s.measure): s for case in ranked_cases for s in scores_in_case(case, comparisons)
    }
    scores = [
        rows.get((*c.key, m.spec))
        or Score(c.test, c.cell, m.spec, m.label, np.nan, reason=f"left out {reasons[m.spec]}")
        for c in ranked_cases
        for m in infos
    ]
    provenance = dict(next(iter(comparisons.values())).provenance) if comparisons else {}
    return Measured(
        name,
        {info.spec: info for info in infos},
        {m.spec: _sweep_measures(m) for m in measures},
        points,
        tuple(scores),
        tasks_with_rank_rules(ranked_cases, scores),
        mean_comparison_seconds(measured_cases, comparisons, lambda case: "ms"),
        tuple(failed_comparisons(measured_cases, comparisons, lambda case: (case.test, ""))),
        reasons,
        {k: v for k, v in provenance.items() if k not in ("rows", "columns", "n_samples")},
    )


def _cloud_measurements(
    shape: CloudComparison, comparisons: ComparisonsByPart
) -> Iterator[Measurement]:
    (case, part, experiments), comparison = shape, comparisons[shape.part.key]
    reasons = {(f.measure, f.y): f.reason for f in comparison.failures}
    setting = (case.n, case.d, case.seed)
    for spec in (info.spec for info in comparison.measures):
        pairs = zip(comparison[spec][0], comparison.dissimilarity(spec)[0])
        for name, (value, difference), experiment, position in zip(
            comparison.columns, pairs, experiments, part.expected, strict=True
        ):
            outcome = finite_or_none(value), finite_or_none(difference), reasons.get((spec, name))
            yield Measurement(experiment, spec, *setting, float(position), case.over_k, *outcome)


# ----------------------------------------------------------------------------------------- measures


def _max_neighbors_of_measure(measure: Measure) -> float:
    """Return the largest number of neighbours for a measure in a sweep, possibly infinity; 0 for a
    measure without neighbours."""
    if not isinstance(measure.defaults.get("k"), int):
        return 0
    limit = measure.limits.get("k", (1, math.inf))[1]
    return min(MAX_SWEEP_NEIGHBORS.get(measure.name, math.inf), limit)


def _sweep_measures(measure: Measure) -> dict[int, str]:
    """Return, by number of neighbours up to the largest number for the measure, the specification
    with this number; {} for a measure without neighbours."""
    return {
        k: measure.with_parameters(k=k).spec
        for k in ROLL_SWEEP_NEIGHBORS
        if k <= _max_neighbors_of_measure(measure)
    }


def _measures_at(
    case: CloudCase, measures: Iterable[Measure], size: ManifoldSize
) -> tuple[Measure, ...]:
    """Return the ``measures`` to compare in a case, without repetition and without measures that
    are too slow; in a sweep over neighbours, every measure with every number of neighbours that the
    measure takes."""
    if case.over_k:
        ks = _sweep_neighbors(case, size)
        measures = [
            m.with_parameters(k=k)
            for m in measures
            for k in ks
            if k <= _max_neighbors_of_measure(m)
        ]
    slow_measures = _too_slow_measures(case, size)
    return tuple({m.spec: m for m in measures if m.name not in slow_measures}.values())


def _sweep_neighbors(case: CloudCase, size: ManifoldSize) -> list[int]:
    """Return the numbers of neighbours of a sweep that are below the number of samples of the
    case."""
    ks = size.ks
    if case.shape == "swiss_roll" and ks == SWEEP_NEIGHBORS:
        ks = ROLL_SWEEP_NEIGHBORS
    return [k for k in ks if k < case.n]


def _uncompared_clouds(
    measures: Iterable[Measure], shapes: Iterable[CloudComparison], size: ManifoldSize
) -> dict[str, str]:
    """Return, by specification, why a measure skips some comparisons of clouds; without an entry
    for measures that skip none."""
    samples = f"above {size.slow} samples: too slow"
    neighbors = "above {:g} neighbours: its time grows with them, or it takes no more"
    plan = [shape.about for shape in shapes]
    max_samples = max((case.n for case in plan), default=0)
    max_neighbors = max(
        (k for case in plan if case.over_k for k in _sweep_neighbors(case, size)), default=0
    )
    slow_reasons = {
        m.spec: samples
        for m in measures
        if m.name in SLOW_CLOUD_MEASURES and max_samples > size.slow
    }
    neighbor_reasons = {
        m.spec: neighbors.format(_max_neighbors_of_measure(m))
        for m in measures
        if 0 < _max_neighbors_of_measure(m) < max_neighbors
    }
    return slow_reasons | neighbor_reasons


SUITE = Suite(
    "manifolds",
    MANIFOLDS_TITLE,
    prepare=lambda run: None,
    tasks=clouds_tasks,
    sizes=SIZES,
    measures=MEASURES,
    evaluate=evaluate_clouds,
    judged=EXPERIMENTS,
    write_pack=write_clouds_to_pack,
    read_pack=lambda features: features,
)
