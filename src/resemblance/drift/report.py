"""Drift: how much, and in what way, a representation changed between two versions of a model."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from ..arrays import scalar, to_numpy
from ..representation import Representation, Undefined, as_representation, finite
from ..rng import generator
from ..views.points import size
from .findings import KINDS, Finding, Found, find
from .maps import Fit
from .table import ROWS, Drift, Threshold, table

MOST_MOVED, DRAWN = 10, 150
LOSSES = ("collapse", "neighbours", "classes")


@dataclass(frozen=True)
class Moved:
    """A sample and how far it moved, in radii of the current version: as it is, and beyond what the map explains."""

    index: int
    id: Hashable | None
    distance: float
    unexplained: float


@dataclass(frozen=True)
class DriftReport:
    """What :func:`drift` found. ``drifted`` is the verdict; everything else says why, and in what way."""

    drifted: bool
    verdict: str
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, words, lists and dictionaries: what JSON can hold."""
        return {**asdict(self), "named": list(self.named)}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False, default=str) + "\n"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(d.label)}</td><td>{_brief(d.value)}</td></tr>" for d in self.drifts)
        found = "".join(f"<li>{escape(f'{f.kind}: {f.said}')}</li>" for f in self.findings if f.named)
        return f"<p><b>{escape(self.verdict)}</b></p><ul>{found}</ul><table>{rows}</table>"


def drift(
    reference: Any,
    current: Any,
    *,
    labels: Sequence[Any] | None = None,
    threshold: Threshold = "calibrated",
    draws: int = 50,
    seed: int = 0,
    k: int = 10,
    max_samples: int = 1000,
) -> DriftReport:
    """Say how much, and in what way, ``current`` differs from ``reference``: two versions of the same samples.

    The drifts are a table: of the dissimilarities between samples (RDM), debiased CKA, Procrustes, sliced Wasserstein,
    MMD, the leading subspace, the spectrum, and the number of directions. The findings name what happened: a
    translation, a change of scale, a rotation, another linear map, a loss of dimensions, of neighbours, of classes.
    A rotation that is named is removed before neighbours are compared, so nothing is named twice.

    Parameters
    ----------
    reference, current : (n, d) and (n, e) with the same samples in the same order; widths may differ (the narrower is
        padded with zeros). Representations with ids must have the same ids.
    labels : n classes, for class-structure loss.
    threshold : a number, with which all drifts on a scale from 0 to 1 and all losses are compared; or ``"calibrated"``:
        each drift has a threshold of its own, the 95th percentile over random halves of the reference. For drifts of
        distributions (MMD, Wasserstein, spectrum, directions) these are halves of the samples against each other; for
        those that follow each sample, the reference against a random half of its directions.
    draws : number of random halves for intervals and thresholds.
    k : neighbours of every sample; fewer if n < 4k.
    max_samples : more samples than this are thinned out at random, by ``seed``; the settings say how many were used.

    Intervals are 95 % of the estimates from random halves without replacement: a bootstrap draws samples twice, and the
    zero distances between copies look like agreement. Findings use held-out residuals of nested maps: a kind is named
    when the gain is larger than what samples, or split halves, give by chance, and not negligible.

    Raises ``ValueError`` for versions that cannot be compared, :class:`~resemblance.Undefined` for a constant
    reference or NaN.

    Reference: Raju 2026, Section 10, for most of the drifts. There CKA is called debiased and is not, Procrustes drift
    is the root (kept here beside its square: it alone grows linearly with a small change), and thresholds are fixed.
    """
    x, y = _checked(reference, current, labels)
    if not (threshold == "calibrated" or (isinstance(threshold, int | float) and 0 < threshold < math.inf)):
        raise ValueError(f'drift: threshold must be "calibrated" or a positive number; got {threshold!r}')
    if draws < 10 or k < 1 or max_samples < 20:
        raise ValueError("drift: draws must be at least 10, k at least 1, max_samples at least 20")
    n = x.shape[0]
    chosen = np.sort(generator(seed, "samples", n).permutation(n)[:max_samples])
    a, b = _padded(to_numpy(x.array)[chosen], to_numpy(y.array)[chosen])
    groups = None if labels is None else [labels[i] for i in chosen.tolist()]
    rows = table(a[:, : x.shape[1]], b[:, : y.shape[1]], threshold, draws, seed)
    k = max(1, min(k, len(chosen) // 4))
    settings = {"samples": n, "used": len(chosen), "widths": [x.shape[1], y.shape[1]], "threshold": threshold,
                "draws": draws, "k": k, "seed": seed, "labels": labels is not None}  # fmt: skip
    if not np.ptp(b, axis=0).any():
        return _report(rows, _collapsed(b), a, b, chosen, x.ids, settings)
    return _report(rows, find(a, b, groups, k, seed), a, b, chosen, x.ids, settings)


def _checked(reference: Any, current: Any, labels: Sequence[Any] | None) -> tuple[Representation, Representation]:
    x, y = as_representation(reference, "reference"), as_representation(current, "current")
    (n, _), (m, _) = x.shape, y.shape
    if n != m:
        raise ValueError(f"drift: the reference has {n} samples and the current version {m}; give the same inputs")
    if x.ids is not None and y.ids is not None and x.ids != y.ids:
        raise ValueError("drift: the sample ids of both versions differ; see resemblance.join_samples")
    if n < 20:
        raise Undefined(f"drift needs at least 20 samples; got {n}")
    if labels is not None and len(labels) != n:
        raise ValueError(f"drift: {len(labels)} labels for {n} samples; give one for each")
    if labels is not None and len(set(np.asarray(labels).tolist())) < 2:
        raise ValueError("drift: labels name one class only; leave them out, or give at least two classes")
    finite(x), finite(y)
    if scalar(size(x)) == 0:
        raise Undefined("drift: the reference is constant (all its rows are equal): there is nothing to lose")
    return x, y


def _padded(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = max(x.shape[1], y.shape[1])
    a, b = (np.pad(data, ((0, 0), (0, width - data.shape[1]))) for data in (x, y))
    return a, b


def _collapsed(y: np.ndarray) -> Found:
    """What is found when all samples of the current version are one point."""
    said = "all samples of the current version are the same point"
    findings = [Finding(kind, kind == "collapse", None, None, None, said) for kind in KINDS]
    fit = Fit("identity", 0 * y, 0 * y, 1.0, np.zeros(len(y)))
    return Found(tuple(findings), fit, 1.0, ())


def _report(
    rows: tuple[Drift, ...], found: Found, x: np.ndarray, y: np.ndarray, chosen: np.ndarray, ids: Any, settings: Any
) -> DriftReport:
    radius = float(np.sqrt(y.var(axis=0).sum())) or 1.0
    before = np.linalg.norm(y - x, axis=1) / radius
    after = np.linalg.norm(found.fit.target - found.scale * found.fit.predicted, axis=1) / radius
    moved = [
        Moved(int(i), None if ids is None else ids[i], float(p), float(q)) for i, p, q in zip(chosen, before, after)
    ]
    limit = settings["threshold"]
    lost = [f for f in found.findings if f.named and f.kind in LOSSES and (limit == "calibrated" or _above(f, limit))]
    far = [d for d in rows if d.exceeds]
    return DriftReport(
        bool(far or lost), _verdict(far, lost, found), rows, found.findings, found.fit.name,
        float(found.fit.residual.mean()), found.ladder, tuple(sorted(moved, key=lambda m: -m.unexplained)[:MOST_MOVED]),
        tuple(sorted(moved, key=lambda m: -m.distance)[:MOST_MOVED]), _picture(x, y, found), settings,
    )  # fmt: skip


def _above(finding: Finding, limit: float) -> bool:
    return finding.amount is None or finding.amount > limit


def _verdict(far: list[Drift], lost: list[Finding], found: Found) -> str:
    named = [WORDS[f.kind] for f in found.findings if f.named]
    what = f"What happened: {', '.join(named)}." if named else "No kind of change is named."
    if not far and not lost:
        return f"No drift beyond the threshold. {what}"
    count = f"{len(far)} of {len(ROWS)} drifts are beyond their threshold" if far else "a loss is beyond the threshold"
    return f"Drift: {count}. {what}"


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
