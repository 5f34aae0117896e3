"""Drift: how much, and in which way, a representation changed between two versions of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.progress import Progress, percent_reporter
from ..base.rng import generator
from ..comparison.provenance import environment_versions
from ..data.caveats import data_caveats, equal_data_caveats
from ..data.representation import Representation, fingerprint
from .diagnosis import Diagnosis, diagnose
from .facts import find_batch_facts, find_version_facts, has_copied_rows
from .findings import CHANGE_NAMES, LOSS_KINDS, Finding, unassessed_finding
from .inputs import (
    check_flag,
    check_parameters,
    common_unit,
    to_common_space,
    validate_threshold,
    validate_versions,
)
from .losses import class_loss_finding, neighbor_loss_finding
from .maps import MapFit, rms_radius
from .moved import (
    ClassBlock,
    MovedClass,
    RowPermutation,
    find_moved_classes,
    majority_class_map,
    rank_moved_samples,
    version_class_means,
)
from .result import DriftReport
from .retrieval import (
    NeighborLosses,
    PairedSample,
    Rows,
    affordable_noise_draws,
    choose_queries,
    measure_neighbor_losses,
    same_rows,
    version_rows,
)
from .table import (
    DriftRules,
    DriftTest,
    drift_table,
    neighbor_loss_drifts,
    noise_frame,
    noisy_versions,
)
from .unpaired import BATCH_TEST_LEVEL as TOGETHER
from .unpaired import BatchPair, find_batch_differences, sample_batch_rows, validate_batches
from .verdict import (
    DriftPurpose,
    batch_verdict,
    drift_verdict,
    has_drifted,
    judge_batches,
    judge_versions,
)

MAX_MOVED_SAMPLES, PICTURED_SAMPLES, LOSS_DRAWS = 10, 150, 20
FINDINGS_COST = 5  # time of the findings, in draws


def drift(
    reference: Any,
    current: Any,
    *,
    paired: bool = True,
    purpose: DriftPurpose = "index",
    labels: Any = None,
    batch_labels: Any = None,
    threshold: float | str = "calibrated",
    tolerance: float = 0.05,
    n_resamples: int = 50,
    seed: int = 0,
    k: int = 10,
    max_samples: int = 1000,
    progress: Progress = True,
) -> DriftReport:
    """Measure and name the differences between ``current`` and ``reference`` on the same samples.

    The table of drifts has three kinds of rows. Geometry: debiased CKA, Procrustes, the leading
    subspace, the spectrum, the number of directions, and the share of nearest neighbours lost after
    all vectors are re-embedded. Coordinates: displacement of the samples, cosine dissimilarities
    (RDM), sliced Wasserstein, and MMD. Index: the share of nearest neighbours lost when new queries
    search old vectors. The findings name the kind of change: a translation, a change of scale, a
    rotation (reflections included), another linear map, a loss of dimensions, of neighbours or of
    class structure, and classes that moved differently from the rest. A loss of neighbours that the
    map explains is not named, so no change is named twice. The report begins with facts of the rows
    that no map explains (``row_facts``): rows that are equal to the last bit, as in a half-migrated
    index, or equal up to their lengths, zeros, copies, outliers, packed bits, other inputs.

    Parameters
    ----------
    reference, current : (n, d) and (n, e) with the same samples in the same order. Widths may
        differ: the narrower version is padded with zeros, and displacement, sliced Wasserstein and
        MMD, which compare column by column, have no value. A different width is itself drift of the
        coordinates. Representations with ids must have the same ids.
    paired : whether the rows are the same samples. With ``paired=False`` the rows are two batches
        of different samples by one model, (n, d) and (m, d), such as the traffic of two days.
        Permutation tests of the pooled rows (energy distance, MMD, a classifier, the spectra), a
        Kolmogorov-Smirnov test of every feature, and tests of the classes decide whether the
        distributions differ, at 5 % for all tests together (Bonferroni). Rows of the table that
        need pairs have no value and give the reason.
    purpose : the use of the representation, which decides on the drifts to count. ``"index"``, the
        strictest: new vectors search old vectors, so the geometry, the coordinates (a rotation,
        translation or change of scale is drift) and the neighbours that new queries lose among old
        vectors count. ``"head"``: a classifier trained on the old version reads the new version;
        geometry and coordinates count. ``"geometry"``: only changes that a rotation, a translation
        and a factor of scale cannot undo count; "no drift" then says nothing about old vectors or
        heads. The report judges all three purposes in any case. Rows in another order are drift for
        every purpose.
    labels : n classes, for the loss of class structure and the moved classes. Class means use all
        samples, including samples dropped by ``max_samples``.
    batch_labels : the m classes of ``current``, with ``paired=False`` and ``labels``.
    threshold : a number between 0 and 1, the threshold of all drifts on a scale from 0 to 1 and of
        all losses; or ``"calibrated"``: each drift has its own threshold, the 95th percentile of
        the drift between the reference and a copy with random noise of size ``tolerance`` (of moved
        classes, ``tolerance`` itself). For drifts of distributions (MMD, Wasserstein, spectrum,
        directions) the drift between two random halves of the samples replaces the threshold if it
        is larger.
    tolerance : size of the noise in radii of the reference, equal in all directions of the span of
        the reference.
    n_resamples : number of random halves for intervals, and of halves and noise draws for
        thresholds (at most 20 for losses).
    k : neighbours of every sample; fewer if n < 4k.
    max_samples : largest number of samples; a larger n is subsampled at random with ``seed``, and
        the settings contain the number of samples used. Neighbours of 200 to 500 of the samples are
        searched among all samples. All values are checked for NaN.
    seed : seed of the halves, of the noise, and of the subsample.
    progress : show a bar on standard error if standard error is a terminal, or call
        ``progress(done, total)``.

    Each drift is above a calibrated threshold in 5 % of the cases where the change is exactly as
    large as ``tolerance``. The verdict is "drift" if any of a dozen drifts is above its threshold,
    so at that size the verdict is "drift" in up to about 27 %, and in about 40 % with
    ``n_resamples=10``. At 0.8 of the tolerance few changes are called drift, at 1.2 times the
    tolerance nearly all (docs/validity.md).

    Intervals of drifts contain 95 % of the estimates from random halves without replacement: a
    bootstrap draws samples twice, and the zero distances between copies look like agreement.
    Findings use held-out residuals of nested maps, and 99 % intervals: bootstraps of one number per
    sample, or for shift, scale and effective rank a jackknife over five parts of the samples. The
    report names a kind of change when its interval excludes no change and the amount is not
    negligible. With fewer samples than directions some kinds cannot be distinguished; the findings
    list the kinds without an assessment.

    Data are divided by one common scale. With d > 2n both versions are first rotated into the 2n
    dimensions that they span together. With m samples used, about O(draws · m d min(m, d)) time and
    O(n d) times some thousands for neighbours; files stay on disk except for m rows and one block.

    Raises ``ValueError`` for versions that cannot be compared or whose sizes differ by more than
    1e50, :class:`~resemblance.UndefinedError` for NaN, and for a reference that is constant or
    whose samples differ by less than rounding.

    Reference: Raju 2026, Section 10, for most of the drifts. The paper's "debiased" CKA is not
    debiased, its Procrustes drift is the square root (kept here beside the square: only the root
    grows linearly with a small change), and its thresholds are fixed.
    """
    limit = validate_threshold(threshold)
    check_parameters(
        tolerance=tolerance,
        purpose=purpose,
        n_resamples=n_resamples,
        k=k,
        max_samples=max_samples,
        seed=seed,
    )
    if not check_flag("drift: paired", paired):
        if limit is not None:
            raise ValueError(
                "drift: with paired=False tests by permutation decide, at 5 % for all together; "
                'leave threshold="calibrated"'
            )
        return _drift_between_batches(
            reference, current, (labels, batch_labels), purpose, seed, max_samples, progress
        )
    if batch_labels is not None:
        raise ValueError(
            "drift: batch_labels are the classes of a batch of different samples: pass "
            "paired=False; for the same samples pass only labels"
        )
    x, y, groups = validate_versions(reference, current, labels)
    rules = DriftRules(limit, float(tolerance), int(n_resamples), int(seed))
    names = {} if groups is None else dict(zip(groups.tolist(), np.asarray(labels).tolist()))
    versions = version_rows(x), version_rows(y)
    facts = find_version_facts(*versions, seed=rules.seed)
    sample = _draw_paired_sample(versions, groups, rules, int(k), int(max_samples))
    rows, diagnosis, permutation, classes = _measure_paired_sample(sample, rules, names, progress)
    findings = diagnosis.findings
    widths = x.shape[1], y.shape[1]
    sides = judge_versions(purpose, rows, findings, widths, sample.k)
    label = None if groups is None else {i: names[groups[i]] for i in sample.rows.tolist()}
    moved_samples = rank_moved_samples(sample.x, sample.y, diagnosis, sample.rows, x.ids, label)
    return DriftReport(
        drifted=has_drifted(sides, permutation),
        conclusion=drift_verdict(
            purpose, sides, findings, permutation, facts, diagnosis.unexplained_phrase
        ),
        row_facts=facts,
        **sides,
        drifts=rows,
        findings=findings,
        reordered=permutation,
        map=diagnosis.fit.name,
        unexplained=float(diagnosis.fit.residual.mean()),
        unexplained_by_map=diagnosis.unexplained_by_map,
        moved=tuple(sorted(moved_samples, key=lambda m: -m.unexplained)[:MAX_MOVED_SAMPLES]),
        displaced=tuple(sorted(moved_samples, key=lambda m: -m.distance)[:MAX_MOVED_SAMPLES]),
        class_shifts=classes,
        features=(),
        projection=_drift_picture(sample.x, sample.y, diagnosis),
        settings={"purpose": purpose, **_drift_settings(sample, rules, widths, labels is not None)},
        provenance={
            **environment_versions(),
            "reference": _version_provenance(x),
            "current": _version_provenance(y),
        },
        caveats=(
            *data_caveats((x, y), copies=not has_copied_rows(facts)),
            *equal_data_caveats((x, y), ("the reference", "the current version")),
        ),
    )


def _drift_settings(
    sample: PairedSample, rules: DriftRules, widths: tuple[int, int], has_labels: bool
) -> dict[str, Any]:
    """Return the settings of a paired comparison: sample counts, widths, thresholds and seed.
    ``widths``: of the reference and of the current version."""
    return {
        "labels": has_labels,
        "paired": True,
        "samples": len(sample.all[0].source),
        "used": len(sample.rows),
        "queries": len(sample.queries),
        "widths": list(widths),
        "threshold": "calibrated" if rules.threshold is None else rules.threshold,
        "tolerance": rules.tolerance,
        "n_resamples": rules.n_resamples,
        "k": sample.k,
        "seed": rules.seed,
    }


def _drift_between_batches(
    reference: Any,
    current: Any,
    labels: tuple[Any, Any],
    purpose: DriftPurpose,
    seed: int,
    max_samples: int,
    progress: Progress,
) -> DriftReport:
    """Return the drift report of two batches of different samples by the same model. ``reference``,
    ``current``: arrays (n, d) and (m, d). ``labels``: the classes of the two batches, or (None,
    None)."""
    seed, max_samples = int(seed), int(max_samples)
    x, y, classes, names = validate_batches(reference, current, labels)
    batches = version_rows(x), version_rows(y)
    facts = find_batch_facts(*batches)
    caveats = [data_caveats((batch,), copies=not has_copied_rows(facts)) for batch in (x, y)]
    indices = [
        sample_batch_rows(v, max_samples, seed, side) for v, side in zip(batches, ("x", "y"))
    ]
    a, b = (v.take(rows) for v, rows in zip(batches, indices))
    unit = common_unit(a, b)
    groups = None if classes is None else (classes[0][indices[0]], classes[1][indices[1]])
    with percent_reporter(progress, 1.0, "drift") as tick:
        differences = find_batch_differences(BatchPair(a / unit, b / unit, groups, names), seed)
        tick(1.0)
    sides = judge_batches(purpose, differences.drifts)
    columns = [feature.column for feature in differences.features]
    return DriftReport(
        drifted=has_drifted(sides, None),
        conclusion=batch_verdict(purpose, sides, differences.drifts, facts, columns, TOGETHER),
        row_facts=facts,
        **sides,
        drifts=differences.drifts,
        findings=differences.findings,
        reordered=None,
        map="",
        unexplained=None,
        unexplained_by_map=(),
        moved=(),
        displaced=(),
        class_shifts=differences.classes,
        features=tuple(
            f._replace(before=f.before * unit, after=f.after * unit) for f in differences.features
        ),
        projection=_joint_principal_plane(a / unit, b / unit),
        settings={
            "purpose": purpose,
            "paired": False,
            "samples": x.shape[0],
            "batch": y.shape[0],
            "used": len(a),
            "batch_used": len(b),
            "widths": [x.shape[1], y.shape[1]],
            "tests": differences.tests,
            "level": TOGETHER,
            "threshold": "calibrated",
            "seed": seed,
            "labels": classes is not None,
        },
        provenance={
            **environment_versions(),
            "reference": _version_provenance(x),
            "current": _version_provenance(y),
        },
        caveats=tuple(dict.fromkeys((*caveats[0], *caveats[1]))),
    )


def _joint_principal_plane(x: np.ndarray, y: np.ndarray) -> dict[str, list[tuple[float, float]]]:
    """Return the first 150 rows of each batch as points in the plane of the first two principal
    components of the pooled rows, by "reference" (x) and "current" (y). The points of "mapped" are
    []."""
    pooled = np.concatenate([x, y])
    center = pooled.mean(axis=0)
    axes = np.linalg.svd(pooled - center, full_matrices=False)[2][:2].T
    planes = {"reference": x, "current": y}
    coordinates = {
        name: ((v[:PICTURED_SAMPLES] - center) @ axes).round(6) for name, v in planes.items()
    }
    return {
        name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane]
        for name, plane in coordinates.items()
    } | {"mapped": []}


def _draw_paired_sample(
    versions: tuple[Rows, Rows],
    groups: np.ndarray | None,
    rules: DriftRules,
    k: int,
    max_samples: int,
) -> PairedSample:
    n = len(versions[0].source)
    indices = np.sort(generator(rules.seed, "samples", n).permutation(n)[:max_samples])
    vectors = versions[0].take(indices), versions[1].take(indices)
    unit, width = common_unit(*vectors), max(rows.width for rows in versions)
    a, b, is_reduced = to_common_space(*vectors, unit)
    queries = indices[choose_queries(len(indices), n, width, rules.seed)]
    before, after = (rows._replace(unit=unit, width=width) for rows in versions)
    k = max(1, min(k, len(indices) // 4))
    return PairedSample(
        a, b, groups, indices, queries, k, all=(before, after), is_reduced=is_reduced
    )


def _measure_paired_sample(
    sample: PairedSample, rules: DriftRules, names: Mapping[int, Hashable], progress: Progress
) -> tuple[tuple[DriftTest, ...], Diagnosis, RowPermutation | None, tuple[MovedClass, ...]]:
    """Return four values: the drifts, the diagnosis, the permutation of the rows, and the moved
    classes. ``sample``: the two versions.

    ``names``: the label of each class, by class number; {} without labels. The permutation is None
    if the rows are in the same order, or if all current rows are equal.
    """
    n, width = len(sample.all[0].source), sample.all[0].width
    noise = 0
    if rules.threshold is None:
        noise = affordable_noise_draws(rules.n_resamples, len(sample.queries), n, width)
    point = n / (30 * sample.x.size * min(sample.x.shape))  # one search among all rows, in draws
    total = (
        rules.n_resamples + FINDINGS_COST + point * width * len(sample.queries) * (4 + 2 * noise)
    )
    with percent_reporter(progress, total, "drift") as tick:
        rows = drift_table(sample.x, sample.y, sample.widths, rules, tick)
        if not np.ptp(sample.y, axis=0).any():
            collapsed = _collapsed_diagnosis(sample.y)
            _, classes = _class_changes(sample, collapsed, names)
            return (
                _sort_by_side((*rows, *neighbor_loss_drifts(None, rules))),
                collapsed,
                None,
                classes,
            )
        diagnosis = diagnose(sample.x, sample.y, sample.classes, rules.seed)
        tick(FINDINGS_COST)
        losses = _find_lost_neighbors(
            sample, diagnosis, rules, noise, lambda points: tick(point * width * points)
        )
    rows = _sort_by_side((*rows, *neighbor_loss_drifts(losses, rules)))
    neighbors = neighbor_loss_finding(losses, sample.k, diagnosis.beyond, rules.seed)
    class_finding, classes = _class_changes(sample, diagnosis, names)
    if losses.moved:
        class_finding = unassessed_finding("moved_classes", "the rows are in another order")
    findings = (*diagnosis.findings[:-1], neighbors, diagnosis.findings[-1], class_finding)
    order = RowPermutation(losses.moved, same_rows(*sample.all)) if losses.moved else None
    judged_diagnosis = diagnosis._replace(
        findings=_apply_loss_thresholds(findings, rows, sample, rules)
    )
    return rows, judged_diagnosis, order, classes


def _class_changes(
    sample: PairedSample, diagnosis: Diagnosis, names: Mapping[int, Hashable]
) -> tuple[Finding, tuple[MovedClass, ...]]:
    """Return two values: the finding about classes that moved differently from the rest, and the
    shift of every class. Without labels, the finding is not assessed and the shifts are ().

    ``diagnosis``: gives the map from the reference to the current version. ``names``: the label of
    each class, by class number.
    """
    if sample.groups is None:
        return unassessed_finding("moved_classes", "it needs labels"), ()
    means = version_class_means(_sample_blocks_with_map(sample, sample.groups, diagnosis), names)
    return find_moved_classes(means, (rms_radius(sample.x), rms_radius(sample.y)))


def _sample_blocks_with_map(
    sample: PairedSample, groups: np.ndarray, diagnosis: Diagnosis
) -> Iterator[ClassBlock]:
    """Yield blocks of classes (n,), rows before, rows after, and rows mapped by the map of most
    classes, each (n, d).

    ``groups``: the class number of every sample. The blocks contain all samples, or only the
    subsample if the map is unknown for other rows. If every class has its own shift, the map of
    most classes is the identity.
    """
    (before, after), classes = sample.all, groups[sample.rows]
    has_shifts = diagnosis.fit.name == "classes"
    if not has_shifts and diagnosis.whole is None:
        yield classes, sample.x, sample.y, diagnosis.mapped
        return
    name, factor = ("identity", 1.0) if has_shifts else (diagnosis.fit.name, diagnosis.scale)
    affine = majority_class_map(sample.x, sample.y, classes, name, factor)
    if sample.is_reduced:
        yield classes, sample.x, sample.y, affine(sample.x)
        return
    for start, x in before.blocks():
        rows = np.arange(start, start + len(x))
        yield groups[rows], x, after.take(rows), affine(x)


def _sort_by_side(rows: tuple[DriftTest, ...]) -> tuple[DriftTest, ...]:
    return tuple(
        sorted(rows, key=lambda row: ("geometry", "coordinates", "index").index(row.aspect))
    )


def _find_lost_neighbors(
    sample: PairedSample,
    diagnosis: Diagnosis,
    rules: DriftRules,
    noise: int,
    tick: Callable[[float], None],
) -> NeighborLosses:
    before, _ = sample.all
    is_part = not sample.is_reduced and len(sample.rows) < len(before.source)
    affine_map = diagnosis.whole if is_part else None
    frame = noise_frame(before.take(sample.rows), rules.tolerance) if noise else None
    return measure_neighbor_losses(
        sample, diagnosis.mapped, affine_map, frame, noise, rules.seed, tick
    )


def _collapsed_diagnosis(y: np.ndarray) -> Diagnosis:
    """Return the diagnosis of a current version that is a single point: the collapse is named, and
    no other finding is assessed."""
    reason = "all samples of the current version are the same point"
    findings = {kind: unassessed_finding(kind, reason) for kind in CHANGE_NAMES}
    findings["collapse"] = replace(findings["collapse"], named=True, exceeds_threshold=True)
    fit = MapFit("identity", 0 * y, 0 * y, 1.0, np.zeros(len(y)))
    kinds = tuple(findings.values())
    return Diagnosis(kinds, fit, scale=1.0, unexplained_by_map=(), mapped=y, whole=None, beyond="")


def _apply_loss_thresholds(
    findings: tuple[Finding, ...],
    rows: tuple[DriftTest, ...],
    sample: PairedSample,
    rules: DriftRules,
) -> tuple[Finding, ...]:
    """Return all ``findings``, in order; a loss (``LOSS_KINDS``) has its threshold, and whether the
    loss exceeds the threshold. Other findings stay as they are. ``rows``: the drifts, with
    thresholds."""
    by_name = {row.name: row for row in rows}
    limits: dict[str, float | None] = dict.fromkeys(LOSS_KINDS, rules.threshold)
    limits["neighbours"] = by_name["neighbours"].threshold
    if rules.threshold is None:
        limits["moved_classes"] = rules.tolerance
        limits["collapse"] = by_name["effective_rank"].threshold
        if any(f.named and f.kind == "classes" for f in findings):
            limits["classes"] = _class_loss_threshold(sample, rules)
    return tuple(
        replace(
            f, threshold=limits[f.kind], exceeds_threshold=_exceeds_threshold(f, limits[f.kind])
        )
        if f.kind in LOSS_KINDS
        else f
        for f in findings
    )


def _class_loss_threshold(sample: PairedSample, rules: DriftRules) -> float:
    """Return the 95th percentile of the loss of accuracy of a linear discriminant (a share, at
    least 0) under noise of size ``tolerance``."""
    versions = noisy_versions(sample.x, rules, min(rules.n_resamples, LOSS_DRAWS))
    losses = (
        class_loss_finding(sample.x, version, sample.classes, rules.seed) for version in versions
    )
    return max(0.0, float(np.quantile([loss.amount or 0.0 for loss in losses], 0.95)))


def _exceeds_threshold(finding: Finding, limit: float | None) -> bool:
    """Return whether a loss exceeds its threshold ``limit``.

    Only a named loss counts, or any assessed loss of neighbours: neighbours are lost even when the
    map explains the loss. A loss that counts exceeds the threshold if the amount or the threshold
    is None.
    """
    counts = finding.named or (finding.kind == "neighbours" and finding.assessed)
    return counts and (finding.amount is None or limit is None or finding.amount > limit)


def _version_provenance(x: Representation) -> dict[str, Any]:
    return {
        "file": None if x.path is None else str(x.path),
        "shape": list(x.shape),
        "dtype": str(x.source.dtype).removeprefix("torch."),
        "fingerprint": fingerprint(x),
    }


def _drift_picture(
    x: np.ndarray, y: np.ndarray, diagnosis: Diagnosis
) -> dict[str, list[tuple[float, float]]]:
    """Return the first 150 samples as points in the plane of largest variance, by "reference",
    "current", and "mapped": the mapped reference.

    ``x``, ``y``: the reference and the current version, (n, d).
    """
    center = y.mean(axis=0)
    pooled = np.concatenate([x - x.mean(axis=0), y - center])
    axes = np.linalg.svd(pooled, full_matrices=False)[2][:2].T
    clouds = {
        "reference": x - center,
        "current": y - center,
        "mapped": diagnosis.scale * diagnosis.fit.predicted + (y - diagnosis.fit.target - center),
    }
    coordinates = {
        name: (cloud[:PICTURED_SAMPLES] @ axes).round(6) for name, cloud in clouds.items()
    }
    return {
        name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane]
        for name, plane in coordinates.items()
    }
