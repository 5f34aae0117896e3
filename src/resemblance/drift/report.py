"""Drift: how much, and in what way, a representation changed between two versions of a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..comparison import environment
from ..progress import Progress, in_hundredths
from ..representation import Representation, fingerprint
from ..rng import generator
from .changes import Moved, MovedClass, Reordered, moved_classes, moved_samples
from .findings import Found, find
from .inputs import check_parameters, checked, checked_threshold, together, unit_of
from .kinds import KINDS, LOSSES, Finding, brief
from .losses import classes_of, neighbours_of
from .maps import Fit
from .retrieval import Lost, Search, Version, neighbours_lost, noise_draws, queries_of
from .rows import rows_of, same_rows
from .table import Drift, Rules, neighbour_rows, noise_frame, noisy, table
from .verdict import Judgement, Purpose, has_drifted, judge, lines, verdict

MOST_MOVED, DRAWN, LOSS_DRAWS = 10, 150, 20
FINDINGS = 5  # what the findings take, in draws


@dataclass(frozen=True, repr=False)
class DriftReport:
    """What :func:`drift` found. ``drifted`` is the verdict; everything else says why, and in what
    way.

    ``geometry`` judges what no rotation, translation or factor of scale changes, ``coordinates``
    where the samples are, ``index`` the neighbours that new queries lose among old vectors.
    ``settings["purpose"]`` says which of them count.
    """

    drifted: bool
    verdict: str
    geometry: Judgement
    coordinates: Judgement
    index: Judgement
    drifts: tuple[Drift, ...]
    findings: tuple[Finding, ...]
    reordered: (
        Reordered | None
    )  # if the current version holds the same, or nearly the same, rows in another order
    map: str  # the map from reference to current that was chosen
    unexplained: float  # share of the variance of the current version that it does not explain
    ladder: tuple[tuple[str, float], ...]  # the same share for maps of growing freedom
    moved: tuple[Moved, ...]  # the samples farthest from where the map puts them
    moved_before: tuple[Moved, ...]  # the samples farthest from where they were
    classes: tuple[MovedClass, ...]  # with labels: every class, and the class nearest to it
    picture: dict[str, list[tuple[float, float]]]  # samples in the plane of largest variance
    settings: dict[str, Any]
    provenance: dict[str, Any]  # versions of libraries; file, shape and fingerprint of the data

    @property
    def named(self) -> tuple[str, ...]:
        """The kinds of change that happened."""
        return tuple(f.kind for f in self.findings if f.named)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is judged, a sentence each: the geometry, the coordinates, and new queries on old
        vectors."""
        return lines(self.settings["purpose"], (self.geometry, self.coordinates, self.index))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, words, lists and dictionaries: what JSON can hold."""
        return {**asdict(self), "named": list(self.named)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return (
            json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False, default=str)
            + "\n"
        )

    def __repr__(self) -> str:
        return "\n".join([f"DriftReport: {self.verdict}", *(f"  {line}" for line in self.lines)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(d.label)}</td><td>{brief(d.value)}</td></tr>" for d in self.drifts
        )
        found = "".join(
            f"<li>{escape(f'{f.kind}: {f.said}')}</li>" for f in self.findings if f.named
        )
        all_sides = "".join(f"<p>{escape(line)}</p>" for line in self.lines)
        return (
            f"<p><b>{escape(self.verdict)}</b></p>{all_sides}<ul>{found}</ul><table>{rows}</table>"
        )


def drift(
    reference: Any,
    current: Any,
    *,
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
    """Say how much, and in what way, ``current`` differs from ``reference``: two versions of the
    same samples.

    The drifts are a table: debiased CKA, Procrustes, the leading subspace, the spectrum and the
    number of directions; of the coordinates, how far samples moved, the cosine dissimilarities
    (RDM), sliced Wasserstein, and MMD; and the share of nearest neighbours that are lost, when
    everything is embedded again and when new queries search old vectors. The findings name what
    happened: a translation, a change of scale, a rotation (reflections included), another linear
    map, a loss of dimensions, of neighbours, of classes. A loss of neighbours that the map accounts
    for is not named, so nothing is named twice.

    Parameters
    ----------
    reference, current : (n, d) and (n, e) with the same samples in the same order; widths may
        differ (the narrower is padded with zeros). Representations with ids must have the same ids.
    purpose : what the representation is for, which decides what counts as drift. ``"index"``, the
        strictest: old vectors are searched with new ones, so the geometry, the coordinates (a
        rotation, translation or change of scale is drift) and the neighbours that new queries lose
        among old vectors count. ``"head"``: a classifier trained on the old version reads the new
        one; geometry and coordinates count. ``"geometry"``: only what a rotation, a translation and
        a factor of scale do not undo counts; "no drift" then says nothing about old vectors or
        heads. The report judges all three in any case. Rows in another order are drift for every
        purpose.
    labels : n classes, for class-structure loss.
    threshold : a number between 0 and 1, with which all drifts on a scale from 0 to 1 and all
        losses are compared; or ``"calibrated"``: each has a threshold of its own, the 95th
        percentile of what the reference gives against itself with noise of size ``tolerance``. For
        drifts of distributions (MMD, Wasserstein, spectrum, directions) one random half of the
        samples against the other counts if it gives more.
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
    1e50,
    :class:`~resemblance.Undefined` for a constant reference or NaN.

    Reference: Raju 2026, Section 10, for most of the drifts. There CKA is called debiased and is
    not, Procrustes drift is the root (kept here beside its square: it alone grows linearly with a
    small change), and thresholds are fixed.
    """
    limit = checked_threshold(threshold)
    check_parameters(
        tolerance=tolerance, purpose=purpose, draws=draws, k=k, max_samples=max_samples, seed=seed
    )
    x, y, groups = checked(reference, current, labels)
    rules = Rules(limit, float(tolerance), int(draws), int(seed))
    used = _used(x, y, groups, rules, int(k), int(max_samples))
    settings = {
        "purpose": purpose,
        "samples": x.shape[0],
        "used": len(used.chosen),
        "queries": len(used.queries),
        "widths": [x.shape[1], y.shape[1]],
        "threshold": "calibrated" if limit is None else limit,
        "tolerance": rules.tolerance,
        "draws": rules.draws,
        "k": used.k,
        "seed": rules.seed,
        "labels": labels is not None,
    }
    rows, found, reordered = _measured(used, rules, progress)
    names = None if groups is None else dict(zip(groups.tolist(), np.asarray(labels).tolist()))
    return _report(rows, found, reordered, used, x, y, names, settings)


class Used(NamedTuple):
    """The samples that are used: of both versions in one unit and width, and the rows of all."""

    x: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    chosen: np.ndarray
    queries: np.ndarray
    k: int
    all: tuple[Version, Version]
    is_reduced: bool  # to fewer dimensions than there are


def _used(
    x: Representation, y: Representation, groups: np.ndarray | None, rules: Rules, k: int, most: int
) -> Used:
    n, both = x.shape[0], (rows_of(x), rows_of(y))
    chosen = np.sort(generator(rules.seed, "samples", n).permutation(n)[:most])
    before, after = (rows.take(chosen) for rows in both)
    unit, width = unit_of(before, after), max(x.shape[1], y.shape[1])
    a, b, is_reduced = together(before, after, unit)
    queries = chosen[queries_of(len(chosen), n, width, rules.seed)]
    classes = None if groups is None else groups[chosen]
    whole = (Version(both[0], unit, width), Version(both[1], unit, width))
    return Used(a, b, classes, chosen, queries, max(1, min(k, len(chosen) // 4)), whole, is_reduced)


def _measured(
    used: Used, rules: Rules, progress: Progress
) -> tuple[tuple[Drift, ...], Found, Reordered | None]:
    """The drifts, the findings, and whether the rows are the same in another order."""
    n, width = len(used.all[0].rows.source), used.all[0].width
    noise = noise_draws(rules.draws, len(used.queries), n, width) if rules.threshold is None else 0
    point = n / (30 * used.x.size * min(used.x.shape))  # one search among all rows, in draws
    total = rules.draws + FINDINGS + point * width * len(used.queries) * (4 + 2 * noise)
    with in_hundredths(progress, total, "drift") as tick:
        rows = table(used.x, used.y, rules, tick)
        if not np.ptp(used.y, axis=0).any():
            return _sorted((*rows, *neighbour_rows(None, rules))), _collapsed(used.y), None
        found = find(used.x, used.y, used.classes, rules.seed)
        tick(FINDINGS)
        lost = _lost(used, found, rules, noise, lambda points: tick(point * width * points))
    rows = _sorted((*rows, *neighbour_rows(lost, rules)))
    neighbours = neighbours_of(lost, used.k, found.beyond, rules.seed)
    findings = (*found.findings[:-1], neighbours, found.findings[-1])
    order = (
        Reordered(lost.moved, same_rows(*(version.rows for version in used.all)))
        if lost.moved
        else None
    )
    return rows, found._replace(findings=_judged(findings, rows, used, rules)), order


def _sorted(rows: tuple[Drift, ...]) -> tuple[Drift, ...]:
    return tuple(
        sorted(rows, key=lambda row: ("geometry", "coordinates", "index").index(row.judges))
    )


def _lost(
    used: Used, found: Found, rules: Rules, noise: int, tick: Callable[[float], None]
) -> Lost:
    before, after = used.all
    whole = None if used.is_reduced or len(used.chosen) == len(before.rows.source) else found.whole
    frame = noise_frame(before.take(used.chosen), rules.tolerance) if noise else None
    search = Search(before, after, used.queries, used.k, tick)
    return neighbours_lost(
        search, used.chosen, found.mapped, used.y, whole, frame, noise, rules.seed
    )


def _collapsed(y: np.ndarray) -> Found:
    """What is found when all samples of the current version are one point."""
    said = "all samples of the current version are the same point"
    findings = [
        Finding(kind, kind == "collapse", None, None, None, said, exceeds=kind == "collapse")
        for kind in KINDS
    ]
    fit = Fit("identity", 0 * y, 0 * y, 1.0, np.zeros(len(y)))
    return Found(tuple(findings), fit, 1.0, (), y, None, "")


def _judged(
    findings: tuple[Finding, ...], rows: tuple[Drift, ...], used: Used, rules: Rules
) -> tuple[Finding, ...]:
    """The findings with thresholds for losses, and whether they are above them."""
    by_name = {row.name: row for row in rows}
    limits: dict[str, float | None] = dict.fromkeys(LOSSES, rules.threshold)
    limits["neighbours"] = by_name["neighbours"].threshold
    if rules.threshold is None:
        limits["collapse"] = by_name["effective_rank"].threshold
        if any(f.named and f.kind == "classes" for f in findings):
            limits["classes"] = _limit_of_classes(used, rules)
    return tuple(
        replace(f, threshold=limits[f.kind], exceeds=_exceeds(f, limits[f.kind]))
        if f.kind in LOSSES
        else f
        for f in findings
    )


def _limit_of_classes(used: Used, rules: Rules) -> float:
    """The 95th percentile of the loss of class structure under noise of the tolerance."""
    versions = noisy(used.x, rules, min(rules.draws, LOSS_DRAWS))
    lost = [classes_of(used.x, other, used.classes, rules.seed).amount or 0.0 for other in versions]
    return max(0.0, float(np.quantile(lost, 0.95)))


def _exceeds(finding: Finding, limit: float | None) -> bool:
    """A loss has to be named too, but that of neighbours not: what the map accounts for is lost all
    the same."""
    counts = finding.named or (finding.kind == "neighbours" and finding.assessed)
    return counts and (finding.amount is None or limit is None or finding.amount > limit)


def _report(
    rows: tuple[Drift, ...],
    found: Found,
    reordered: Reordered | None,
    used: Used,
    x: Representation,
    y: Representation,
    names: dict[int, Hashable] | None,
    settings: dict[str, Any],
) -> DriftReport:
    purpose, a, b, classes = settings["purpose"], used.x, used.y, used.classes
    sides = judge(purpose, rows, found.findings, (x.shape[1], y.shape[1]), used.k)
    labels = (
        None
        if classes is None or names is None
        else dict(zip(used.chosen.tolist(), map(names.get, classes)))
    )
    moved = moved_samples(a, b, found, used.chosen, x.ids, labels)
    provenance = {**environment(), "reference": _identity(x), "current": _identity(y)}
    return DriftReport(
        has_drifted(sides, reordered),
        verdict(purpose, sides, found.findings, reordered),
        sides["geometry"],
        sides["coordinates"],
        sides["index"],
        rows,
        found.findings,
        reordered,
        found.fit.name,
        float(found.fit.residual.mean()),
        found.ladder,
        tuple(sorted(moved, key=lambda m: -m.unexplained)[:MOST_MOVED]),
        tuple(sorted(moved, key=lambda m: -m.distance)[:MOST_MOVED]),
        moved_classes(a, b, found, classes, names),
        _picture(a, b, found),
        settings,
        provenance,
    )


def _identity(x: Representation) -> dict[str, Any]:
    return {
        "file": None if x.path is None else str(x.path),
        "shape": list(x.shape),
        "dtype": str(x.source.dtype).removeprefix("torch."),
        "fingerprint": fingerprint(x),
    }


def _picture(x: np.ndarray, y: np.ndarray, found: Found) -> dict[str, list[tuple[float, float]]]:
    """The first samples in the plane of largest variance: before, after, and where the map puts
    them."""
    centre = y.mean(axis=0)
    both = np.concatenate([x - x.mean(axis=0), y - centre])
    axes = np.linalg.svd(both, full_matrices=False)[2][:2].T
    clouds = {
        "reference": x - centre,
        "current": y - centre,
        "mapped": found.scale * found.fit.predicted + (y - found.fit.target - centre),
    }
    flat = {name: (cloud[:DRAWN] @ axes).round(6) for name, cloud in clouds.items()}
    return {
        name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane]
        for name, plane in flat.items()
    }
