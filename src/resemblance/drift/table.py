"""The table of drifts: one number each, its interval, and the threshold it is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import scalar
from ..measures import cka, eigenspectrum_similarity, mmd, procrustes, rsa, sliced_wasserstein, subspace_overlap
from ..representation import Representation, Undefined
from ..rng import generator
from ..views.distributions import effective_rank, participation_ratio
from ..views.points import size

Threshold = float | str


@dataclass(frozen=True)
class Drift:
    """One number for how far the current version is from the reference: 0 for none.

    ``paired`` says whether it matters which sample is which; ``is_share`` that it lies on a scale on which 1 is all
    there is to lose. ``value`` is ``None``, with the ``reason``, where there is no number.
    """

    name: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    threshold: float | None
    exceeds: bool
    paired: bool
    is_share: bool
    reason: str = ""


def _relative(x: Representation, y: Representation, value: Callable[[Representation], Any]) -> float:
    low, high = sorted(scalar(value(r)) for r in (x, y))
    return 1 - low / high


def _carried(x: Representation, y: Representation) -> float:
    return float(sliced_wasserstein(x, y)) * math.sqrt(x.shape[0]) / scalar(size(x))


class _Row(NamedTuple):
    """A line of the table: names, whether samples are paired and 1 is all there is to lose, and the number."""

    name: str
    label: str
    paired: bool
    is_share: bool
    of: Callable[[Any, Any], float]


ROWS = (
    _Row("rdm", "RDM: 1 − RSA of cosine dissimilarities", True, True, lambda x, y: 1 - rsa(x, y, rdm="cosine")),
    _Row("cka", "CKA: 1 − debiased linear CKA", True, True, lambda x, y: 1 - cka(x, y, estimator="debiased")),
    _Row("procrustes", "Procrustes, squared", True, True, lambda x, y: procrustes(x, y, squared=True) / 2),
    _Row("procrustes_root", "Procrustes, root of it", True, False, lambda x, y: procrustes(x, y) / 2**0.5),
    _Row("subspace", "Subspace of 5 components", True, True, lambda x, y: 1 - subspace_overlap(x, y)),
    _Row("sliced_wasserstein", "Sliced Wasserstein, in radii of the reference", False, False, _carried),
    _Row("mmd", "MMD", False, False, lambda x, y: mmd(x, y)),
    _Row("eigenspectrum", "Eigenspectrum", False, True, lambda x, y: 1 - eigenspectrum_similarity(x, y)),
    _Row("participation_ratio", "Participation ratio, relative change", False, True,
         lambda x, y: _relative(x, y, participation_ratio)),
    _Row("effective_rank", "Effective rank, relative change", False, True,
         lambda x, y: _relative(x, y, effective_rank)),
)  # fmt: skip


def table(x: np.ndarray, y: np.ndarray, threshold: Threshold, draws: int, seed: int) -> tuple[Drift, ...]:
    """The drifts with intervals from halves of the samples, compared with the threshold."""
    n = len(x)
    random = generator(seed, "halves of samples", n)
    halves = [random.permutation(n)[: n // 2] for _ in range(draws)]
    whole = Representation(x), Representation(y)
    pairs = [(Representation(x[h]), Representation(y[h])) for h in halves]
    null = _null(x, draws, seed) if threshold == "calibrated" else {}
    return tuple(_row(row, whole, pairs, null, threshold) for row in ROWS)


def _row(row: _Row, whole: Any, pairs: Any, null: dict[bool, Any], threshold: Threshold) -> Drift:
    try:
        value = max(0.0, float(row.of(*whole)))
    except Undefined as error:
        lost = _value(row, (whole[0], whole[0])) is not None  # the reference has a value, the current version has not
        return Drift(row.name, row.label, None, None, None, None, lost, row.paired, row.is_share, str(error))
    estimates = np.array([v for pair in pairs if (v := _value(row, pair)) is not None])
    limit: float | None = float(threshold) if row.is_share and not null else None
    if null:
        chance = [v for pair in null[row.paired] if (v := _value(row, pair)) is not None]
        limit = max(1e-6, float(np.quantile(chance, 0.95))) if chance else None
    around = estimates - estimates.mean() if len(estimates) else np.zeros(1)
    low, high = (max(0.0, value + float(np.quantile(around, q))) for q in (0.025, 0.975))
    return Drift(row.name, row.label, value, low, high, limit, limit is not None and value > limit, row.paired,
                 row.is_share)  # fmt: skip


def _value(row: _Row, pair: Any) -> float | None:
    try:
        return float(row.of(*pair))
    except Undefined:
        return None


def _null(x: np.ndarray, draws: int, seed: int) -> dict[bool, Any]:
    """Pairs of halves of the reference: by paired or not."""
    random, (n, d) = generator(seed, "halves of the reference", *x.shape), x.shape
    whole, directions, samples = Representation(x), [], []
    for _ in range(draws):
        basis = np.linalg.qr(random.standard_normal((d, d)))[0][:, : (d + 1) // 2]
        directions.append((whole, Representation(x @ basis)))
        order = random.permutation(n)
        samples.append((Representation(x[order[: n // 2]]), Representation(x[order[n // 2 : 2 * (n // 2)]])))
    return {True: directions, False: samples}
