"""Drift: how much, and in what way, a representation changed between two versions of a model."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, Undefined, as_representation, finite
from ..rng import generator
from ..statistic import classes as checked_labels
from .findings import Found, find
from .kinds import KINDS, LOSSES, Finding
from .losses import classes_of, neighbours_of
from .maps import Fit
from .table import Drift, Rules, noisy, table

MOST_MOVED, DRAWN, LOSS_DRAWS = 10, 150, 20
UNITS = 1e50  # versions whose sizes differ by more are in different units, and squares of them overflow


@dataclass(frozen=True)
class Moved:
    """A sample and how far it moved, in radii of the current version: as it is, and beyond what the map explains."""

    index: int
    id: Hashable | None
    distance: float
    unexplained: float


@dataclass(frozen=True)
class Judgement:
    """One of the two verdicts: whether something is beyond its threshold, and whether that counts as drift here."""

    drifted: bool
    counts: bool
    said: str


@dataclass(frozen=True, repr=False)
class DriftReport:
    """What :func:`drift` found. ``drifted`` is the verdict; everything else says why, and in what way.

    ``geometry`` judges what no rotation, translation or factor of scale changes, ``coordinates`` where the samples are.
    """

    drifted: bool
    verdict: str
    geometry: Judgement
    coordinates: Judgement
    drifts: tuple[Drift, ...]
    findings: tuple[Finding, ...]
    map: str  # the map from reference to current that was chosen
    unexplained: float  # share of the variance of the current version that it does not explain
    ladder: tuple[tuple[str, float], ...]  # the same share for maps of growing freedom
    moved: tuple[Moved, ...]  # the samples farthest from where the map puts them
    moved_before: tuple[Moved, ...]  # the samples farthest from where they were
    picture: dict[str, list[tuple[float, float]]]  # samples in the plane of largest variance
    settings: dict[str, Any]

    @property
    def named(self) -> tuple[str, ...]:
        """The kinds of change that happened."""
        return tuple(f.kind for f in self.findings if f.named)

    @property
    def lines(self) -> tuple[str, str]:
        """Both verdicts, a line each."""
        other = "" if self.coordinates.counts else " (not asked for)"
        return f"geometry: {self.geometry.said}", f"coordinates: {self.coordinates.said}{other}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, words, lists and dictionaries: what JSON can hold."""
        return {**asdict(self), "named": list(self.named)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False, default=str) + "\n"

    def __repr__(self) -> str:
        return "\n".join([f"DriftReport: {self.verdict}", *(f"  {line}" for line in self.lines)])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(d.label)}</td><td>{_brief(d.value)}</td></tr>" for d in self.drifts)
        found = "".join(f"<li>{escape(f'{f.kind}: {f.said}')}</li>" for f in self.findings if f.named)
        both = "".join(f"<p>{escape(line)}</p>" for line in self.lines)
        return f"<p><b>{escape(self.verdict)}</b></p>{both}<ul>{found}</ul><table>{rows}</table>"


def drift(
    reference: Any,
    current: Any,
    *,
    labels: Any = None,
    threshold: float | str = "calibrated",
    tolerance: float = 0.05,
    coordinates: bool = False,
    draws: int = 50,
    seed: int = 0,
    k: int = 10,
    max_samples: int = 1000,
) -> DriftReport:
    """Say how much, and in what way, ``current`` differs from ``reference``: two versions of the same samples.

    The drifts are a table: debiased CKA, Procrustes, the leading subspace, the spectrum and the number of directions;
    and, of the coordinates, how far samples moved, the cosine dissimilarities (RDM), sliced Wasserstein, and MMD. The
    findings name what happened: a translation, a change of scale, a rotation (reflections included), another linear
    map, a loss of dimensions, of neighbours, of classes. A rotation that is named is removed before neighbours are
    compared, so nothing is named twice.

    Parameters
    ----------
    reference, current : (n, d) and (n, e) with the same samples in the same order; widths may differ (the narrower is
        padded with zeros). Representations with ids must have the same ids.
    labels : n classes, for class-structure loss.
    threshold : a number, with which all drifts on a scale from 0 to 1 and all losses are compared; or ``"calibrated"``:
        each has a threshold of its own, the 95th percentile of what the reference gives against itself with noise of
        size ``tolerance``. For drifts of distributions (MMD, Wasserstein, spectrum, directions) one random half of the
        samples against the other counts if it gives more.
    tolerance : size of that noise in radii of the reference, alike in all directions that its samples span.
    coordinates : whether a change of the coordinates alone (translation, scale, rotation) is drift, as it is for a
        classifier that was trained on the old ones. Otherwise only what a rotation, a translation and a factor of scale
        do not undo is. The report has both verdicts.
    draws : number of random halves for intervals, and of halves and noise for thresholds (of losses: at most 20).
    k : neighbours of every sample; fewer if n < 4k.
    max_samples : more samples than this are thinned out at random, by ``seed``; the settings say how many were used.

    Intervals of drifts are 95 % of the estimates from random halves without replacement: a bootstrap draws samples
    twice, and the zero distances between copies look like agreement. Findings use held-out residuals of nested maps,
    and 99 % intervals: bootstraps of one number per sample, or for shift, scale and effective rank a jackknife over
    five parts of the samples. A kind is named when its interval excludes none of it and it is not negligible. With
    fewer samples than directions some kinds cannot be told apart; the findings say which were not looked for.

    Data are divided by one common scale. With d > 2n they are first turned into the 2n dimensions that both span. About
    O(draws · n d min(n, d)) time.

    Raises ``ValueError`` for versions that cannot be compared or whose sizes differ by more than 1e50,
    :class:`~resemblance.Undefined` for a constant reference or NaN.

    Reference: Raju 2026, Section 10, for most of the drifts. There CKA is called debiased and is not, Procrustes drift
    is the root (kept here beside its square: it alone grows linearly with a small change), and thresholds are fixed.
    """
    limit = _limit(threshold)
    _check_sizes(tolerance=tolerance, draws=draws, k=k, max_samples=max_samples, seed=seed, coordinates=coordinates)
    x, y, groups = _checked(reference, current, labels)
    n, rules = x.shape[0], Rules(limit, float(tolerance), int(draws), int(seed))
    chosen = np.sort(generator(rules.seed, "samples", n).permutation(n)[: int(max_samples)])
    a, b = _together(_rows(x, chosen), _rows(y, chosen))
    groups = None if groups is None else groups[chosen]
    k = max(1, min(int(k), len(chosen) // 4))
    settings = {
        "samples": n, "used": len(chosen), "widths": [x.shape[1], y.shape[1]],
        "threshold": "calibrated" if limit is None else limit, "tolerance": rules.tolerance,
        "coordinates": coordinates, "draws": rules.draws, "k": k, "seed": rules.seed, "labels": labels is not None,
    }  # fmt: skip
    rows = table(a, b, rules)
    found = find(a, b, groups, k, rules.seed) if np.ptp(b, axis=0).any() else _collapsed(b)
    found = found._replace(findings=_judged(found.findings, rows, a, groups, k, rules))
    return _report(rows, found, a, b, chosen, x.ids, settings)


def _limit(threshold: Any) -> float | None:
    """A number, or None for calibrated thresholds."""
    if isinstance(threshold, str) and threshold == "calibrated":
        return None
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and 0 < float(threshold) < math.inf:
        return float(threshold)
    raise ValueError(f'drift: threshold must be "calibrated" or a positive number; got {threshold!r}')


def _check_sizes(*, tolerance: Any, coordinates: Any, **counts: Any) -> None:
    if not isinstance(tolerance, Real) or isinstance(tolerance, bool) or not 0 < float(tolerance) < 1:
        raise ValueError(f"drift: tolerance must be a number between 0 and 1; got {tolerance!r}")
    if not isinstance(coordinates, bool | np.bool_):
        raise ValueError(f"drift: coordinates must be True or False; got {coordinates!r}")
    for (name, value), least in zip(counts.items(), (10, 1, 20, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"drift: {name} must be at least {least} and a whole number; got {value!r}")


def _checked(reference: Any, current: Any, labels: Any) -> tuple[Representation, Representation, np.ndarray | None]:
    x, y = as_representation(reference, "reference"), as_representation(current, "current")
    (n, _), (m, _) = x.shape, y.shape
    if n != m:
        raise ValueError(f"drift: the reference has {n} samples and the current version {m}; give the same inputs")
    if x.ids is not None and y.ids is not None and x.ids != y.ids:
        raise ValueError("drift: the sample ids of both versions differ; see resemblance.join_samples")
    if n < 20:
        raise Undefined(f"drift needs at least 20 samples; got {n}")
    groups = None if labels is None else checked_labels("drift", x, labels)
    if groups is not None and not groups.any():
        raise ValueError("drift: labels name one class only; leave them out, or give at least two classes")
    finite(x), finite(y)
    return x, y, groups


def _rows(x: Representation, chosen: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.asarray(to_numpy(x.array), dtype=np.float64)[chosen]
    return found


def _together(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in the same dimensions, at most 2n of them, and in one unit of size."""
    width, unit = max(x.shape[1], y.shape[1]), max(float(np.abs(x).max()), float(np.abs(y).max())) or 1.0
    before, after = (float(np.abs(data / unit - data[:1] / unit).max()) for data in (x, y))
    if before == 0 and not np.ptp(x, axis=0).any():
        raise Undefined("drift: the reference is constant (all its rows are equal): there is nothing to lose")
    if (after * UNITS < before and np.ptp(y, axis=0).any()) or before * UNITS < after:
        raise ValueError("drift: the sizes of both versions differ by more than 1e50: give both in the same unit")
    a, b = (np.pad(data / unit, ((0, 0), (0, width - data.shape[1]))) for data in (x, y))
    if width > 2 * len(x):
        basis = np.linalg.qr(np.concatenate([a, b]).T)[0]
        a, b = a @ basis, b @ basis
    return a, b


def _collapsed(y: np.ndarray) -> Found:
    """What is found when all samples of the current version are one point."""
    said = "all samples of the current version are the same point"
    findings = [Finding(kind, kind == "collapse", None, None, None, said) for kind in KINDS]
    fit = Fit("identity", 0 * y, 0 * y, 1.0, np.zeros(len(y)))
    return Found(tuple(findings), fit, 1.0, ())


def _judged(
    findings: tuple[Finding, ...], rows: tuple[Drift, ...], x: np.ndarray, classes: Any, k: int, rules: Rules
) -> tuple[Finding, ...]:
    """The findings with thresholds for losses, and whether those that are named are beyond them."""
    limits = dict.fromkeys(LOSSES, rules.threshold)
    if rules.threshold is None and any(f.named and f.kind in LOSSES for f in findings):
        limits = _limits(rows, x, classes, k, rules)
    return tuple(
        replace(f, threshold=limits[f.kind], exceeds=f.named and _is_above(f.amount, limits[f.kind]))
        if f.kind in LOSSES else f for f in findings
    )  # fmt: skip


def _limits(rows: tuple[Drift, ...], x: np.ndarray, classes: Any, k: int, rules: Rules) -> dict[str, float | None]:
    """The 95th percentile of each loss under noise of the tolerance; of dimensions, the threshold of effective rank."""
    lost: dict[str, list[float]] = {"neighbours": [], "classes": []}
    for other in noisy(x, rules, min(rules.draws, LOSS_DRAWS)):
        for found in (neighbours_of(x, x, other, k, "", rules.seed), classes_of(x, other, classes, rules.seed)):
            lost[found.kind].append(found.amount or 0.0)
    rank = next(row.threshold for row in rows if row.name == "effective_rank")
    return {"collapse": rank, **{kind: max(0.0, float(np.quantile(v, 0.95))) for kind, v in lost.items()}}


def _is_above(amount: float | None, limit: float | None) -> bool:
    return amount is None or limit is None or amount > limit


def _report(
    rows: tuple[Drift, ...], found: Found, x: np.ndarray, y: np.ndarray, chosen: np.ndarray, ids: Any, settings: Any
) -> DriftReport:
    radius = float(np.sqrt(y.var(axis=0).sum())) or 1.0
    before = np.linalg.norm(y - x, axis=1) / radius
    after = np.linalg.norm(found.fit.target - found.scale * found.fit.predicted, axis=1) / radius
    moved = [
        Moved(int(i), None if ids is None else ids[i], float(p), float(q)) for i, p, q in zip(chosen, before, after)
    ]
    geometry = _judgement("geometry", rows, found.findings, True)
    coordinates = _judgement("coordinates", rows, (), bool(settings["coordinates"]))
    drifted = geometry.drifted or (coordinates.counts and coordinates.drifted)
    return DriftReport(
        drifted, _verdict(drifted, found), geometry, coordinates, rows, found.findings, found.fit.name,
        float(found.fit.residual.mean()), found.ladder, tuple(sorted(moved, key=lambda m: -m.unexplained)[:MOST_MOVED]),
        tuple(sorted(moved, key=lambda m: -m.distance)[:MOST_MOVED]), _picture(x, y, found), settings,
    )  # fmt: skip


def _judgement(side: str, rows: tuple[Drift, ...], findings: tuple[Finding, ...], counts: bool) -> Judgement:
    mine = [d for d in rows if d.judges == side]
    far = sum(d.exceeds for d in mine)
    beyond = [WORDS[f.kind] for f in findings if f.exceeds]
    if far:
        beyond = [f"{far} of {len(mine)} drifts", *beyond]
    said = f"drift ({', '.join(beyond)} beyond the threshold)" if beyond else "no drift beyond the threshold"
    return Judgement(bool(beyond), counts, said)


def _verdict(drifted: bool, found: Found) -> str:
    named = [WORDS[f.kind] for f in found.findings if f.named]
    what = f"What happened: {', '.join(named)}." if named else "No kind of change is named."
    return f"{'Drift' if drifted else 'No drift'} beyond the threshold. {what}"


WORDS = dict(zip(KINDS, ("translation", "change of scale", "rotation", "anisotropic linear map", "loss of dimensions",
                         "loss of neighbours", "loss of class structure")))  # fmt: skip


def _picture(x: np.ndarray, y: np.ndarray, found: Found) -> dict[str, list[tuple[float, float]]]:
    """The first samples in the plane of largest variance: before, after, and where the map puts them."""
    centre = y.mean(axis=0)
    both = np.concatenate([x - x.mean(axis=0), y - centre])
    axes = np.linalg.svd(both, full_matrices=False)[2][:2].T
    clouds = {
        "reference": x - centre,
        "current": y - centre,
        "mapped": found.scale * found.fit.predicted + (y - found.fit.target - centre),
    }
    flat = {name: (cloud[:DRAWN] @ axes).round(6) for name, cloud in clouds.items()}
    return {name: [(float(p[0]), float(p[-1] if len(p) > 1 else 0.0)) for p in plane] for name, plane in flat.items()}


def _brief(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
