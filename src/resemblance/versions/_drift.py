"""Drift: how much, and in what way, a representation changed between two versions of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.progress import Progress, in_hundredths
from ..base.rng import generator
from ..comparison.provenance import environment
from ..data.cautions import cautions_of
from ..data.representation import Representation, fingerprint
from .diagnosis import Diagnosis, diagnose
from .facts import facts_of, facts_of_batches, has_copies
from .findings import LOSSES, WORDS, Finding, not_assessed
from .inputs import check_flag, check_parameters, checked, checked_threshold, together, unit_of
from .losses import classes_of, neighbours_of
from .maps import Fit, radius
from .moved import (
    MovedClass,
    Part,
    Reordered,
    class_means,
    map_of_most,
    moved_classes,
    moved_samples,
)
from .result import DriftReport
from .retrieval import (
    Lost,
    Rows,
    Sample,
    neighbours_lost,
    noise_draws,
    queries_of,
    rows_of,
    same_rows,
)
from .table import Drift, Rules, neighbour_rows, noise_frame, noisy, table
from .unpaired import LEVEL as TOGETHER
from .unpaired import Batches, checked_batches, differences, drawn_rows
from .verdict import Purpose, has_drifted, judge, judge_batches, verdict, verdict_on_batches

MOST_MOVED, DRAWN, LOSS_DRAWS = 10, 150, 20
FINDINGS = 5  # what the findings take, in draws


def drift(
    reference: Any,
    current: Any,
    *,
    paired: bool = True,
    purpose: Purpose = "index",
    labels: Any = None,
    threshold: float | str = "calibrated",
    tolerance: float = 0.05,
    draws: int = 50,
    seed: int = 0,
    k: int = 10,
    max_samples: int = 1000,
    progress: Progress = True,
) -> DriftReport:
    """Say how, and how much, ``current`` differs from ``reference``, on the same samples.

    The drifts are a table: debiased CKA, Procrustes, the leading subspace, the spectrum and the
    number of directions; of the coordinates, how far samples moved, the cosine dissimilarities
    (RDM), sliced Wasserstein, and MMD; and the share of nearest neighbours that are lost, when
    everything is embedded again and when new queries search old vectors. The findings name what
    happened: a translation, a change of scale, a rotation (reflections included), another linear
    map, a loss of dimensions, of neighbours, of class structure, and which classes moved otherwise
    than the rest. A loss of neighbours that the map accounts for is not named, so nothing is named
    twice. First come facts of the rows that no map explains (``row_facts``): rows that are
    equal to the last bit, as in a half-migrated index, or equal up to their lengths, zeros, copies,
    outliers, packed bits, other inputs.

    Parameters
    ----------
    reference, current : (n, d) and (n, e) with the same samples in the same order; widths may
        differ: the narrower version is padded with zeros, and displacement, sliced Wasserstein and
        MMD, which compare column by column, have no value; another width is itself drift of the
        coordinates. Representations with ids must have the same ids.
    paired : whether the rows are the same samples. With ``paired=False`` they are batches of other
        samples by one model, (n, d) and (m, d), such as the traffic of two days: tests by
        permutation of the pooled rows (energy distance, MMD, a classifier, the spectra), a
        Kolmogorov-Smirnov test of every feature, and tests of the classes say whether the
        distributions differ, at 5 % for all tests together (Bonferroni). Rows of the table that
        need pairs have no value and say so.
    purpose : what the representation is for, which decides what counts as drift. ``"index"``, the
        strictest: old vectors are searched with new ones, so the geometry, the coordinates (a
        rotation, translation or change of scale is drift) and the neighbours that new queries lose
        among old vectors count. ``"head"``: a classifier trained on the old version reads the new
        one; geometry and coordinates count. ``"geometry"``: only what a rotation, a translation and
        a factor of scale do not undo counts; "no drift" then says nothing about old vectors or
        heads. The report judges all three in any case. Rows in another order are drift for every
        purpose.
    labels : n classes (of other samples a pair, n and m classes), for the loss of class structure
        and the classes that moved: their means are those of all samples, also of those that are
        thinned out.
    threshold : a number between 0 and 1, with which all drifts on a scale from 0 to 1 and all
        losses are compared; or ``"calibrated"``: each has a threshold of its own, the 95th
        percentile of what the reference gives against itself with noise of size ``tolerance`` (of
        classes that moved, ``tolerance`` itself). For drifts of distributions (MMD, Wasserstein,
        spectrum, directions) one random half of the samples against the other counts if it gives
        more.
    tolerance : size of that noise in radii of the reference, alike in all directions that its
        samples span.
    draws : number of random halves for intervals, and of halves and noise for thresholds (of
        losses: at most 20).
    k : neighbours of every sample; fewer if n < 4k.
    max_samples : more samples than this are thinned out at random, by ``seed``; the settings say
        how many were used. Neighbours of 200 to 500 of them are looked up among all samples. All
        values are checked for NaN.
    progress : show a bar on standard error if that is a terminal, or call ``progress(done,
        total)``.

    Each drift is above a calibrated threshold in 5 % of the cases where the change is exactly as
    large as ``tolerance``; the verdict takes any of a dozen drifts, so it says "drift" there in up
    to about 27 %, and in about 40 % with ``draws=10``. At 0.8 of the tolerance few
    changes are called drift, at 1.2 times the tolerance nearly all (docs/validity.md).

    Intervals of drifts are 95 % of the estimates from random halves without replacement: a
    bootstrap draws samples twice, and the zero distances between copies look like agreement.
    Findings use held-out residuals of nested maps, and 99 % intervals: bootstraps of one number per
    sample, or for shift, scale and effective rank a jackknife over five parts of the samples. A
    kind is named when its interval excludes none of it and it is not negligible. With fewer samples
    than directions some kinds cannot be told apart; the findings say which were not assessed.

    Data are divided by one common scale. With d > 2n they are first turned into the 2n dimensions
    that both span. With m samples used, about O(draws · m d min(m, d)) time and O(n d) times some
    thousands for neighbours; files stay on disk but for m rows and one block.

    Raises ``ValueError`` for versions that cannot be compared or whose sizes differ by more than
    1e50, :class:`~resemblance.Undefined` for NaN, and for a reference that is constant or whose
    samples differ by less than rounding.

    Reference: Raju 2026, Section 10, for most of the drifts. There CKA is called debiased and is
    not, Procrustes drift is the root (kept here with its square: it alone grows linearly with a
    small change), and thresholds are fixed.
    """
    limit = checked_threshold(threshold)
    check_parameters(
        tolerance=tolerance, purpose=purpose, draws=draws, k=k, max_samples=max_samples, seed=seed
    )
    if not check_flag("drift: paired", paired):
        if limit is not None:
            raise ValueError(
                "drift: with paired=False tests by permutation decide, at 5 % for all together; "
                'leave threshold="calibrated"'
            )
        return _unpaired(reference, current, labels, purpose, seed, max_samples, progress)
    x, y, groups = checked(reference, current, labels)
    rules = Rules(limit, float(tolerance), int(draws), int(seed))
    names = {} if groups is None else dict(zip(groups.tolist(), np.asarray(labels).tolist()))
    both = rows_of(x), rows_of(y)
    facts = facts_of(*both, seed=rules.seed)
    sample = _sample(both, groups, rules, int(k), int(max_samples))
    rows, diagnosis, reordered, classes = _measured(sample, rules, names, progress)
    findings = diagnosis.findings
    widths = x.shape[1], y.shape[1]
    sides = judge(purpose, rows, findings, widths, sample.k)
    label = None if groups is None else {i: names[groups[i]] for i in sample.rows.tolist()}
    moved = moved_samples(sample.x, sample.y, diagnosis, sample.rows, x.ids, label)
    return DriftReport(
        drifted=has_drifted(sides, reordered),
        verdict=verdict(purpose, sides, findings, reordered, facts),
        row_facts=facts,
        **sides,
        drifts=rows,
        findings=findings,
        reordered=reordered,
        map=diagnosis.fit.name,
        unexplained=float(diagnosis.fit.residual.mean()),
        ladder=diagnosis.ladder,
        moved=tuple(sorted(moved, key=lambda m: -m.unexplained)[:MOST_MOVED]),
        moved_before=tuple(sorted(moved, key=lambda m: -m.distance)[:MOST_MOVED]),
        classes=classes,
        features=(),
        picture=_picture(sample.x, sample.y, diagnosis),
        settings={"purpose": purpose, **_settings(sample, rules, widths, labels is not None)},
        provenance={**environment(), "reference": _identity(x), "current": _identity(y)},
        cautions=cautions_of((x, y), copies=not has_copies(facts)),
    )


def _settings(
    sample: Sample, rules: Rules, widths: tuple[int, int], has_labels: bool
) -> dict[str, Any]:
    """By what the same samples were compared."""
    return {
        "labels": has_labels,
        "paired": True,
        "samples": len(sample.all[0].source),
        "used": len(sample.rows),
        "queries": len(sample.queries),
        "widths": list(widths),
        "threshold": "calibrated" if rules.threshold is None else rules.threshold,
        "tolerance": rules.tolerance,
        "draws": rules.draws,
        "k": sample.k,
        "seed": rules.seed,
    }


def _unpaired(
    reference: Any,
    current: Any,
    labels: Any,
    purpose: Purpose,
    seed: int,
    most: int,
    progress: Progress,
) -> DriftReport:
    """Compare batches of other samples."""
    seed, most = int(seed), int(most)
    x, y, classes, names = checked_batches(reference, current, labels)
    both = rows_of(x), rows_of(y)
    facts = facts_of_batches(*both)
    cautions = [cautions_of((batch,), copies=not has_copies(facts)) for batch in (x, y)]
    drawn = [drawn_rows(v, most, seed, side) for v, side in zip(both, ("x", "y"))]
    a, b = (v.take(rows) for v, rows in zip(both, drawn))
    unit = unit_of(a, b)
    groups = None if classes is None else (classes[0][drawn[0]], classes[1][drawn[1]])
    with in_hundredths(progress, 1.0, "drift") as tick:
        shown = differences(Batches(a / unit, b / unit, groups, names), seed)
        tick(1.0)
    sides = judge_batches(purpose, shown.drifts)
    columns = [feature.column for feature in shown.features]
    return DriftReport(
        drifted=has_drifted(sides, None),
        verdict=verdict_on_batches(purpose, sides, shown.drifts, facts, columns, TOGETHER),
        row_facts=facts,
        **sides,
        drifts=shown.drifts,
        findings=shown.findings,
        reordered=None,
        map="",
        unexplained=None,
        ladder=(),
        moved=(),
        moved_before=(),
        classes=shown.classes,
        features=tuple(
            f._replace(before=f.before * unit, after=f.after * unit) for f in shown.features
        ),
        picture=_plane(a / unit, b / unit),
        settings={
            "purpose": purpose,
            "paired": False,
            "samples": x.shape[0],
            "batch": y.shape[0],
            "used": len(a),
            "batch_used": len(b),
            "widths": [x.shape[1], y.shape[1]],
            "tests": shown.tests,
            "level": TOGETHER,
            "threshold": "calibrated",
            "seed": seed,
            "labels": labels is not None,
        },
        provenance={**environment(), "reference": _identity(x), "current": _identity(y)},
        cautions=tuple(dict.fromkeys((*cautions[0], *cautions[1]))),
    )


def _plane(x: np.ndarray, y: np.ndarray) -> dict[str, list[tuple[float, float]]]:
    """The first rows of both batches in the plane of largest variance of all."""
    pooled = np.concatenate([x, y])
    centre = pooled.mean(axis=0)
    axes = np.linalg.svd(pooled - centre, full_matrices=False)[2][:2].T
    planes = {"reference": x, "current": y}
    flat = {name: ((v[:DRAWN] - centre) @ axes).round(6) for name, v in planes.items()}
    return {
        name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane]
        for name, plane in flat.items()
    } | {"mapped": []}


def _sample(
    both: tuple[Rows, Rows], groups: np.ndarray | None, rules: Rules, k: int, most: int
) -> Sample:
    n = len(both[0].source)
    indices = np.sort(generator(rules.seed, "samples", n).permutation(n)[:most])
    drawn = both[0].take(indices), both[1].take(indices)
    unit, width = unit_of(*drawn), max(rows.width for rows in both)
    a, b, is_reduced = together(*drawn, unit)
    queries = indices[queries_of(len(indices), n, width, rules.seed)]
    before, after = (rows._replace(unit=unit, width=width) for rows in both)
    k = max(1, min(k, len(indices) // 4))
    return Sample(a, b, groups, indices, queries, k, all=(before, after), is_reduced=is_reduced)


def _measured(
    sample: Sample, rules: Rules, names: Mapping[int, Hashable], progress: Progress
) -> tuple[tuple[Drift, ...], Diagnosis, Reordered | None, tuple[MovedClass, ...]]:
    """The drifts, the findings, whether the rows are the same in another order, and the classes."""
    n, width = len(sample.all[0].source), sample.all[0].width
    noise = 0
    if rules.threshold is None:
        noise = noise_draws(rules.draws, len(sample.queries), n, width)
    point = n / (30 * sample.x.size * min(sample.x.shape))  # one search among all rows, in draws
    total = rules.draws + FINDINGS + point * width * len(sample.queries) * (4 + 2 * noise)
    with in_hundredths(progress, total, "drift") as tick:
        rows = table(sample.x, sample.y, sample.widths, rules, tick)
        if not np.ptp(sample.y, axis=0).any():
            collapsed = _collapsed(sample.y)
            _, classes = _classes(sample, collapsed, names)
            return _sorted((*rows, *neighbour_rows(None, rules))), collapsed, None, classes
        diagnosis = diagnose(sample.x, sample.y, sample.classes, rules.seed)
        tick(FINDINGS)
        lost = _lost(sample, diagnosis, rules, noise, lambda points: tick(point * width * points))
    rows = _sorted((*rows, *neighbour_rows(lost, rules)))
    neighbours = neighbours_of(lost, sample.k, diagnosis.beyond, rules.seed)
    moved, classes = _classes(sample, diagnosis, names)
    if lost.moved:
        moved = not_assessed("moved_classes", "the rows are in another order")
    findings = (*diagnosis.findings[:-1], neighbours, diagnosis.findings[-1], moved)
    order = Reordered(lost.moved, same_rows(*sample.all)) if lost.moved else None
    judged = diagnosis._replace(findings=_judged(findings, rows, sample, rules))
    return rows, judged, order, classes


def _classes(
    sample: Sample, diagnosis: Diagnosis, names: Mapping[int, Hashable]
) -> tuple[Finding, tuple[MovedClass, ...]]:
    """Whether classes moved otherwise than the rest, and all classes."""
    if sample.groups is None:
        return not_assessed("moved_classes", "it needs labels"), ()
    means = class_means(_parts(sample, sample.groups, diagnosis), names)
    return moved_classes(means, (radius(sample.x), radius(sample.y)))


def _parts(sample: Sample, groups: np.ndarray, diagnosis: Diagnosis) -> Iterator[Part]:
    """All samples with their classes, before, after, and where the map of most classes puts them;
    where other samples have no map, only those in use.

    Where every class has a shift of its own, most have none.
    """
    (before, after), classes = sample.all, groups[sample.rows]
    has_shifts = diagnosis.fit.name == "classes"
    if not has_shifts and diagnosis.whole is None:
        yield classes, sample.x, sample.y, diagnosis.mapped
        return
    name, factor = ("identity", 1.0) if has_shifts else (diagnosis.fit.name, diagnosis.scale)
    affine = map_of_most(sample.x, sample.y, classes, name, factor)
    if sample.is_reduced:
        yield classes, sample.x, sample.y, affine(sample.x)
        return
    for start, x in before.blocks():
        rows = np.arange(start, start + len(x))
        yield groups[rows], x, after.take(rows), affine(x)


def _sorted(rows: tuple[Drift, ...]) -> tuple[Drift, ...]:
    return tuple(
        sorted(rows, key=lambda row: ("geometry", "coordinates", "index").index(row.judges))
    )


def _lost(
    sample: Sample, diagnosis: Diagnosis, rules: Rules, noise: int, tick: Callable[[float], None]
) -> Lost:
    before, _ = sample.all
    is_part = not sample.is_reduced and len(sample.rows) < len(before.source)
    whole = diagnosis.whole if is_part else None
    frame = noise_frame(before.take(sample.rows), rules.tolerance) if noise else None
    return neighbours_lost(sample, diagnosis.mapped, whole, frame, noise, rules.seed, tick)


def _collapsed(y: np.ndarray) -> Diagnosis:
    """What is found when all samples of the current version are one point."""
    words = "all samples of the current version are the same point"
    findings = {kind: not_assessed(kind, words) for kind in WORDS}
    findings["collapse"] = replace(findings["collapse"], named=True, exceeds=True)
    fit = Fit("identity", 0 * y, 0 * y, 1.0, np.zeros(len(y)))
    kinds = tuple(findings.values())
    return Diagnosis(kinds, fit, scale=1.0, ladder=(), mapped=y, whole=None, beyond="")


def _judged(
    findings: tuple[Finding, ...], rows: tuple[Drift, ...], sample: Sample, rules: Rules
) -> tuple[Finding, ...]:
    """The findings with thresholds for losses, and whether they are above them."""
    by_name = {row.name: row for row in rows}
    limits: dict[str, float | None] = dict.fromkeys(LOSSES, rules.threshold)
    limits["neighbours"] = by_name["neighbours"].threshold
    if rules.threshold is None:
        limits["moved_classes"] = rules.tolerance
        limits["collapse"] = by_name["effective_rank"].threshold
        if any(f.named and f.kind == "classes" for f in findings):
            limits["classes"] = _limit_of_classes(sample, rules)
    return tuple(
        replace(f, threshold=limits[f.kind], exceeds=_exceeds(f, limits[f.kind]))
        if f.kind in LOSSES
        else f
        for f in findings
    )


def _limit_of_classes(sample: Sample, rules: Rules) -> float:
    """The 95th percentile of the loss of class structure under noise of the tolerance."""
    versions = noisy(sample.x, rules, min(rules.draws, LOSS_DRAWS))
    losses = (classes_of(sample.x, other, sample.classes, rules.seed) for other in versions)
    return max(0.0, float(np.quantile([loss.amount or 0.0 for loss in losses], 0.95)))


def _exceeds(finding: Finding, limit: float | None) -> bool:
    """Whether a loss is above its threshold: it must also be named, but for that of neighbours, as
    what the map accounts for is lost all the same."""
    counts = finding.named or (finding.kind == "neighbours" and finding.assessed)
    return counts and (finding.amount is None or limit is None or finding.amount > limit)


def _identity(x: Representation) -> dict[str, Any]:
    return {
        "file": None if x.path is None else str(x.path),
        "shape": list(x.shape),
        "dtype": str(x.source.dtype).removeprefix("torch."),
        "fingerprint": fingerprint(x),
    }


def _picture(
    x: np.ndarray, y: np.ndarray, diagnosis: Diagnosis
) -> dict[str, list[tuple[float, float]]]:
    """The first samples in the plane of largest variance: before, after, and as mapped."""
    centre = y.mean(axis=0)
    both = np.concatenate([x - x.mean(axis=0), y - centre])
    axes = np.linalg.svd(both, full_matrices=False)[2][:2].T
    clouds = {
        "reference": x - centre,
        "current": y - centre,
        "mapped": diagnosis.scale * diagnosis.fit.predicted + (y - diagnosis.fit.target - centre),
    }
    flat = {name: (cloud[:DRAWN] @ axes).round(6) for name, cloud in clouds.items()}
    return {
        name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane]
        for name, plane in flat.items()
    }
