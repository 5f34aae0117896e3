"""The table of drifts: values, intervals, and thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.arrays import scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..base.text import html_fact_table
from ..data.representation import Representation, pair_cache
from ..intermediates.points import size
from ..intermediates.spectra import decomposition
from ..measures import (
    cka,
    eigenspectrum_similarity,
    mmd,
    procrustes,
    rsa,
    sliced_wasserstein,
    subspace_overlap,
)
from ..significance.resampling import clipped_interval, random_halves
from ..statistics.spectrum import effective_rank, participation_ratio
from .findings import bootstrap_mean_interval
from .maps import MIN_COMPONENT_SHARE
from .retrieval import NeighborLosses

DriftSide = Literal["geometry", "coordinates", "index"]
VersionPair = tuple[Representation, Representation]
SUBSPACE_COMPONENTS = 5


@dataclass(frozen=True)
class DriftTest:
    """A measure of the distance between the current version and the reference; 0 means no change.

    ``aspect`` is "geometry" if no rotation, translation or factor of scale affects the value,
    "index" for the neighbours that new queries lose among old vectors, else "coordinates".
    ``paired`` says whether the value depends on the pairing of samples; ``is_share`` whether a
    fixed number between 0 and 1 can be the threshold. ``value`` is ``None`` if there is no number;
    ``reason`` says why.
    """

    name: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    threshold: float | None
    exceeds_threshold: bool
    aspect: DriftSide
    paired: bool
    is_share: bool
    reason: str = ""
    confidence_level: float = 0.95  # confidence of the interval
    pvalue: float | None = None  # p-value of a permutation test, for batches of different samples

    def _repr_html_(self) -> str:
        fields = {name.replace("_", " "): value for name, value in vars(self).items()}
        known_fields = {name: value for name, value in fields.items() if value is not None}
        return html_fact_table(f"Drift: {self.label}", known_fields)


def _relative_change(
    x: Representation, y: Representation, value: Callable[[Representation], float]
) -> float:
    low, high = sorted(value(r) for r in (x, y))
    return 1 - low / high if high > 0 else math.nan


def _scaled_wasserstein(x: Representation, y: Representation) -> float:
    return float(sliced_wasserstein.evaluate(x, y)) * math.sqrt(x.shape[0]) / _defined_radius(x)


def _mean_displacement(x: Representation, y: Representation) -> float:
    return float(((y.array - x.array) ** 2).sum()) / _defined_radius(x) ** 2


def _defined_radius(x: Representation) -> float:
    length = scalar(size(x))
    if length**2 == 0:
        raise UndefinedError(
            "the reference, or half of it, is constant (all its rows are equal): it has no radius"
        )
    return length


def _subspace_change(x: Representation, y: Representation) -> float:
    """Return 1 minus the overlap of the leading subspaces.

    The number of components is at most the number of the reference's non-negligible components.
    """
    variance = to_numpy(decomposition(x).singular) ** 2
    if 0 in (len(variance), len(decomposition(y).singular)):
        raise UndefinedError("all components of one version are rounding error")
    k = int((variance > MIN_COMPONENT_SHARE * variance.sum()).sum())
    return 1 - float(subspace_overlap.with_parameters(k=min(SUBSPACE_COMPONENTS, k)).evaluate(x, y))


class DriftRow(NamedTuple):
    """A row of the table before any computation: the fixed fields of :class:`DriftTest`."""

    name: str
    label: str
    aspect: DriftSide
    paired: bool
    is_share: bool


DRIFT_ROWS = (
    DriftRow("cka", "CKA: 1 − debiased linear CKA", "geometry", True, True),
    DriftRow("procrustes", "Procrustes, squared", "geometry", True, True),
    DriftRow("procrustes_root", "Procrustes, root of it", "geometry", True, False),
    DriftRow("subspace", "Subspace of the five leading components", "geometry", True, True),
    DriftRow("eigenspectrum", "Eigenspectrum", "geometry", False, True),
    DriftRow(
        "participation_ratio", "Participation ratio, relative change", "geometry", False, True
    ),
    DriftRow("effective_rank", "Effective rank, relative change", "geometry", False, True),
    DriftRow(
        "displacement",
        "Displacement, squared, in radii of the reference",
        "coordinates",
        True,
        True,
    ),
    DriftRow("rdm", "RDM: 1 − RSA of cosine dissimilarities", "coordinates", True, True),
    DriftRow(
        "sliced_wasserstein",
        "Sliced Wasserstein, in radii of the reference",
        "coordinates",
        False,
        False,
    ),
    DriftRow("mmd", "MMD", "coordinates", False, False),
)
# drifts that compare column i with column i
COLUMNWISE_DRIFTS = ("displacement", "sliced_wasserstein", "mmd")
SEARCH_DRIFT_ROWS = (
    DriftRow("neighbours", "Neighbours lost, everything re-embedded", "geometry", True, True),
    DriftRow("old_index", "Neighbours lost, new queries on old vectors", "index", True, True),
)
DRIFT_FUNCTIONS: dict[str, Callable[[Representation, Representation], Any]] = {
    "cka": lambda x, y: 1 - cka.with_parameters(estimator="debiased").evaluate(x, y),
    "procrustes": lambda x, y: procrustes.with_parameters(squared=True).evaluate(x, y) / 2,
    "procrustes_root": lambda x, y: procrustes.evaluate(x, y) / 2**0.5,
    "subspace": _subspace_change,
    "eigenspectrum": lambda x, y: 1 - eigenspectrum_similarity.evaluate(x, y),
    "participation_ratio": lambda x, y: _relative_change(x, y, participation_ratio.evaluate),
    "effective_rank": lambda x, y: _relative_change(x, y, effective_rank.evaluate),
    "displacement": _mean_displacement,
    "rdm": lambda x, y: 1 - rsa.with_parameters(rdm="cosine").evaluate(x, y),
    "sliced_wasserstein": _scaled_wasserstein,
    "mmd": mmd.evaluate,
}


class DriftRules(NamedTuple):
    """The rules that judge drifts: a fixed threshold or, without a threshold, the drift of the
    reference under noise of size ``tolerance``."""

    threshold: float | None
    tolerance: float
    n_resamples: int
    seed: int


def noisy_versions(x: np.ndarray, rules: DriftRules, n_resamples: int) -> Iterator[np.ndarray]:
    """Yield ``n_resamples`` copies of x (n, d) with noise of ``tolerance`` times the radius of x,
    equal in all directions that the samples span.

    The noise rotates with the data: the noise is W U Vᵀ with W random and U S Vᵀ the centred data.
    """
    u, vt, length = _noise_basis(x, rules.tolerance)
    frame = u @ vt
    for draw in range(n_resamples):
        random = generator(rules.seed, "noise of the tolerance", len(x), draw)
        yield x + length * (random.standard_normal((len(x), len(x))) @ frame)


def noise_frame(x: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the directions of the noise times the size of the noise, (r, d): standard normal
    numbers (n, r) times the frame are the noise of n rows. ``x``: (n, d). ``tolerance``: in radii
    of x."""
    u, vt, length = _noise_basis(x, tolerance)
    peaks = np.abs(u).argmax(axis=0)
    return length * np.sign(u[peaks, np.arange(len(vt))])[:, None] * vt


def _noise_basis(x: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray, float]:
    u, s, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    is_spanned = s**2 > MIN_COMPONENT_SHARE * (s**2).sum()
    length = (
        tolerance * float(np.linalg.norm(s)) / math.sqrt(len(x) * max(1, int(is_spanned.sum())))
    )
    return u[:, is_spanned], vt[is_spanned], length


def drift_table(
    x: np.ndarray,
    y: np.ndarray,
    widths: tuple[int, int],
    rules: DriftRules,
    tick: Callable[[float], None],
) -> tuple[DriftTest, ...]:
    """Return the drifts with their thresholds, and with intervals from random halves of the
    samples. ``tick`` is called after each draw.

    ``widths``: the numbers of columns of the two versions before padding with zeros. With two
    widths a drift that compares column by column has no value. A calibrated threshold is the 95th
    percentile of a drift between the reference and copies with noise. For unpaired drifts the 95th
    percentile between two halves of the reference counts instead if larger.
    """
    versions = Representation(x), Representation(y)
    rows = [
        row for row in DRIFT_ROWS if widths[0] == widths[1] or row.name not in COLUMNWISE_DRIFTS
    ]
    half_values, noise, halves = ({row.name: list[float]() for row in rows} for _ in range(3))
    noisy_samples = (
        noisy_versions(x, rules, rules.n_resamples) if rules.threshold is None else repeat(x)
    )
    for half, noisy_sample in zip(
        random_halves(len(x), n_resamples=rules.n_resamples, seed=rules.seed), noisy_samples
    ):
        half_reference, other_half = Representation(x[half]), np.delete(x, half, axis=0)
        _append_drift_values(half_values, (half_reference, Representation(y[half])), rows)
        if rules.threshold is None:
            unpaired = [row for row in rows if not row.paired]
            # Two halves of equal size; an odd number of samples drops one sample.
            equal_half = Representation(x[half[: len(other_half)]])
            _append_drift_values(halves, (equal_half, Representation(other_half)), unpaired)
            _append_drift_values(noise, (versions[0], Representation(noisy_sample)), rows)
        tick(1)
    limits = {
        row.name: _calibrated_threshold(row, rules, noise[row.name], halves[row.name])
        for row in rows
    }
    reason = (
        f"it compares column by column, and the versions have {widths[0]} and {widths[1]} columns"
    )
    return tuple(
        _drift_from_values(row, versions, half_values[row.name], limits[row.name])
        if row in rows
        else _drift_without_value(row, reason, exceeds_threshold=False)
        for row in DRIFT_ROWS
    )


def _calibrated_threshold(
    row: DriftRow, rules: DriftRules, noise: list[float], halves: list[float]
) -> float | None:
    if rules.threshold is not None:
        return rules.threshold if row.is_share else None
    return max([1e-6, *(float(np.quantile(values, 0.95)) for values in (noise, halves) if values)])


def _append_drift_values(
    values: dict[str, list[float]], pair: VersionPair, rows: Sequence[DriftRow]
) -> None:
    with pair_cache(*pair):
        for row in rows:
            with suppress(UndefinedError):
                values[row.name].append(_drift_value(row, pair))


def _drift_value(row: DriftRow, pair: VersionPair) -> float:
    with np.errstate(all="ignore"):
        value = float(DRIFT_FUNCTIONS[row.name](*pair))
    if not math.isfinite(value):
        raise UndefinedError("one version is constant up to rounding, or its numbers overflow")
    return value


def _drift_from_values(
    row: DriftRow, versions: VersionPair, half_values: list[float], limit: float | None
) -> DriftTest:
    try:
        value = max(0.0, _drift_value(row, versions))
    except UndefinedError as error:
        # The row counts as drift if the reference has a value and the current version has none.
        return _drift_without_value(
            row, str(error), exceeds_threshold=_is_defined(row, versions[0])
        )
    if len(half_values) < 2:
        return _drift_with_value(row, value, limit)
    return _drift_with_value(
        row, value, limit, *clipped_interval(value, half_values, "halves", 0.95, (0.0, math.inf))
    )


def _is_defined(row: DriftRow, reference: Representation) -> bool:
    try:
        _drift_value(row, (reference, reference))
    except UndefinedError:
        return False
    return True


def _drift_with_value(
    row: DriftRow,
    value: float,
    limit: float | None,
    low: float | None = None,
    high: float | None = None,
) -> DriftTest:
    exceeds = limit is not None and value > limit
    numbers: dict[str, Any] = {"value": value, "low": low, "high": high, "threshold": limit}
    return DriftTest(**row._asdict(), **numbers, exceeds_threshold=exceeds)


def _drift_without_value(row: DriftRow, reason: str, *, exceeds_threshold: bool) -> DriftTest:
    empty_fields: dict[str, Any] = dict.fromkeys(("value", "low", "high", "threshold"))
    return DriftTest(
        **row._asdict(), **empty_fields, exceeds_threshold=exceeds_threshold, reason=reason
    )


def neighbor_loss_drifts(losses: NeighborLosses | None, rules: DriftRules) -> tuple[DriftTest, ...]:
    """Return the two rows of the table about lost neighbours. ``losses`` is ``None`` if all samples
    of the current version are a single point: the rows then have no value and exceed the
    threshold."""
    if losses is None:
        reason = "all samples of the current version are one point: none is nearer than another"
        return tuple(
            _drift_without_value(row, reason, exceeds_threshold=True) for row in SEARCH_DRIFT_ROWS
        )
    loss_pairs = (
        (losses.reembedded, losses.noise_reembedded),
        (losses.old_index, losses.noise_old_index),
    )
    return tuple(
        _search_drift(row, *loss_pair, rules)
        for row, loss_pair in zip(SEARCH_DRIFT_ROWS, loss_pairs)
    )


def _search_drift(
    row: DriftRow, losses: np.ndarray | None, noise: np.ndarray, rules: DriftRules
) -> DriftTest:
    if losses is None:
        return _drift_without_value(
            row, "new queries have another width than old vectors", exceeds_threshold=True
        )
    limit = rules.threshold
    if limit is None:
        highest = bootstrap_mean_interval(
            noise, rules.seed, "noise", row.name, confidence_level=0.9, size=len(losses)
        )[1]
        limit = max(1e-6, highest)
    return _drift_with_value(
        row,
        float(losses.mean()),
        limit,
        *bootstrap_mean_interval(losses, rules.seed, row.name, confidence_level=0.95),
    )
