"""Ranks of the dissimilarities of many samples, from a histogram with many bins."""

from __future__ import annotations

import functools
import math
import operator
from typing import NamedTuple

import numpy as np

from ..base.arrays import (
    Array,
    bincount,
    epsilon,
    namespace,
    supports_bincount,
    take_from_table,
    to_numpy,
)
from ..data.representation import Representation, cached
from .chords import TIE_EPSILONS, TIE_SHARE
from .distances import DissimilaritySummary, dissimilarity_entries, dissimilarity_summary
from .rectangles import (
    BlockFunction,
    MatrixBlock,
    UniquePairs,
    diagonal_mask,
    set_diagonal,
    upper_blocks,
)

MAX_RANK_BINS = 2**18
DENSITY_CELLS = 2**12  # cells of equal width; cells with more dissimilarities get more bins
DENSITY_SAMPLES = 1024  # samples for the estimate of the density of dissimilarities
# Share of a cell; irrational, so that no round number lies at an edge.
CELL_MARGIN = (3 - math.sqrt(5)) / 2
CONCORDANCE_BINS_PER_SIDE = 2048  # bins per representation for Kendall's tau
TABLES_IN_MEMORY = 8  # contingency tables in memory at a time
# A bin with more than this multiple of the mean count is tested for equal values.
CROWDED_BIN_RATIO = 64


class RankBins(NamedTuple):
    """The mean rank of the dissimilarities in every bin (``ranks``), centred, divided by the
    number of pairs.

    ``low`` and ``scale`` map values to cells, ``base`` and ``slope`` map cell numbers to bins.
    ``counts`` are of ordered pairs. In bins marked ``tied`` all values are equal up to rounding.
    """

    low: float
    scale: float
    base: np.ndarray
    slope: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray
    tied: np.ndarray

    def at(self, block: Array) -> Array:
        """Return the bin number of every value of a float64 array, in the shape of ``block``. The
        array is overwritten."""
        xp = namespace(block)
        block -= self.low
        block *= self.scale
        cells = xp.astype(block, xp.int64)
        block *= take_from_table(self.slope, cells)
        block += take_from_table(self.base, cells)
        return xp.astype(block, xp.int64)

    @property
    def energy(self) -> float:
        """The sum of the squares of ``ranks``, the centred ranks over the number of pairs, over all
        ordered pairs of samples."""
        return float(self.counts @ self.ranks**2)

    @property
    def error(self) -> float:
        r"""Upper bound of the angle between the vector of the mean ranks and the vector of the
        ranks.

        With ranks r of L pairs and the mean :math:`\hat r` of every bin, :math:`r - \hat r` sums to
        zero in every bin, so it is orthogonal to :math:`\hat r`, and the angle is :math:`\arctan
        (\lVert r - \hat r \rVert / \lVert \hat r \rVert)`. The squared deviations of m ranks in a
        bin are at most the squared deviations of m consecutive numbers, :math:`(m^3 - m) / 12`, and
        0 if all are tied.
        """
        m = np.where(self.tied, 0, self.counts / 2)
        pairs = float(self.counts.sum()) / 2
        squares_within = float(np.maximum(m**3 - m, 0).sum()) / 12 / pairs**2
        return math.atan2(math.sqrt(2 * squares_within), math.sqrt(self.energy))


@cached("k")
def rank_bins(x: Representation, kind: str) -> RankBins:
    """Return the bins of the dissimilarities of ``kind``, with the count and the mean rank of every
    bin.

    Mean ranks are centred and divided by the number of pairs, so they lie between -0.5 and 0.5.
    Counts are of ordered pairs. A pass finds the range, and a pass counts. Data with many ties need
    another pass.
    """
    spread, entries = dissimilarity_summary(x, kind), _double_precision_entries(x, kind)
    bins = _density_bin_edges(x, kind, spread)
    tables = (
        tile.weight * bincount(bins.at(entries(tile)), MAX_RANK_BINS)
        for tile in upper_blocks(x.shape[0])
    )
    counts = np.array(to_numpy(functools.reduce(operator.iadd, tables)))
    counts[bins.at(np.array([spread.low]))] -= x.shape[0]  # the diagonal
    bins = bins._replace(counts=counts, ranks=_centered_mean_ranks(counts))
    return bins._replace(tied=_tied_bins(bins, entries, spread, x))


def rank_entries(x: Representation, kind: str) -> BlockFunction:
    """Return a function that computes blocks of the mean ranks of the dissimilarities of ``kind``,
    centred and divided by the number of pairs, 0 on the diagonal."""
    entries, bins = _double_precision_entries(x, kind), rank_bins(x, kind)

    def ranks(tile: MatrixBlock) -> Array:
        block = take_from_table(bins.ranks, bins.at(entries(tile)))
        return set_diagonal(block) if tile.is_square else block

    return ranks


def label_entries(x: Representation, kind: str, labels: np.ndarray) -> BlockFunction:
    """Return a function that computes blocks of ``labels[bin]`` of the bin of every dissimilarity
    (leaves the array API). ``labels``: a number per bin."""
    entries, bins = _double_precision_entries(x, kind), rank_bins(x, kind)
    return lambda tile: labels[to_numpy(bins.at(entries(tile)))]


def _double_precision_entries(x: Representation, kind: str) -> BlockFunction:
    """Return a function that computes blocks of the dissimilarities of ``kind`` as float64, with
    the smallest dissimilarity on the diagonal: on the device of the data if the library can count
    values there, otherwise in NumPy."""
    entries = dissimilarity_entries(x, kind)
    low, on_device = dissimilarity_summary(x, kind).low, supports_bincount(x.array)

    def in_double(tile: MatrixBlock) -> Array:
        block = entries(tile)
        block = set_diagonal(block, low) if tile.is_square else block
        if on_device:
            return namespace(block).astype(block, namespace(block).float64, copy=False)
        return np.require(to_numpy(block), np.float64, ["W"])  # arrays from JAX are read-only

    return in_double


def _density_bin_edges(x: Representation, kind: str, spread: DissimilaritySummary) -> RankBins:
    """Return bins that are narrow where the dissimilarities of a subset of the samples are dense;
    the fields ``counts``, ``ranks`` and ``tied`` are empty.

    ``spread``: the least and the largest dissimilarity of all pairs.
    """
    scale = (DENSITY_CELLS - 2) / (spread.high - spread.low)
    step = -(-x.shape[0] // DENSITY_SAMPLES)
    sample = slice(0, x.shape[0], step)
    block = to_numpy(dissimilarity_entries(x, kind)(MatrixBlock(sample, sample))).astype(np.float64)
    values = np.clip(block[~diagonal_mask(block)], spread.low, spread.high)
    low = spread.low - CELL_MARGIN / scale
    shares = np.bincount(((values - low) * scale).astype(np.int64), minlength=DENSITY_CELLS)
    widths = 1 + np.floor((MAX_RANK_BINS - DENSITY_CELLS) * (shares / max(1, len(values))))
    base = np.cumsum(widths) - widths - widths * np.arange(DENSITY_CELLS)
    unknown = np.empty(0)
    return RankBins(low, scale, base, widths, unknown, unknown, unknown)


def _centered_mean_ranks(counts: np.ndarray) -> np.ndarray:
    """Return the mean rank of every bin among all pairs, minus the mean of all ranks, divided by
    the number of pairs. ``counts``: the number of pairs in every bin, bins in ascending order."""
    total = counts.sum()
    return (2 * np.cumsum(counts) - counts - total) / (2 * total)


def _tied_bins(
    bins: RankBins, entries: BlockFunction, spread: DissimilaritySummary, x: Representation
) -> np.ndarray:
    """Return a mask of the bins with more than one value and all values equal up to rounding. Bins
    with few values are tested only if all bins have few values."""
    pairs = bins.counts.sum() / 2
    crowded = bins.counts / 2 > max(1.0, CROWDED_BIN_RATIO * pairs / MAX_RANK_BINS)
    lows, highs = np.full(MAX_RANK_BINS, np.inf), np.full(MAX_RANK_BINS, -np.inf)
    for tile in upper_blocks(x.shape[0]) if crowded.any() else ():
        block = to_numpy(entries(tile))
        places = bins.at(block.copy())
        mask = crowded[places]
        np.minimum.at(lows, places[mask], block[mask])
        np.maximum.at(highs, places[mask], block[mask])
    eps, reach = epsilon(x.array), spread.high - spread.low
    tolerance = max(TIE_EPSILONS * eps, TIE_SHARE) * spread.high
    rounding = min(tolerance, 1e-3 * reach / pairs)
    return crowded & (np.where(crowded, highs - lows, np.inf) <= rounding)


# ------------------------------------------------------------------------------------ Kendall's tau


class ConcordanceBins(NamedTuple):
    """Wide bins for Kendall's tau. A couple is two pairs of samples.

    ``labels``: the wide bin of every bin of :class:`RankBins`. ``diagonal``: the wide bin of the
    diagonal. ``couples``: the number of all couples. ``unknown``: the number of couples in the same
    wide bin. ``tied``: the number of couples known to be ties.
    """

    labels: np.ndarray
    diagonal: int
    couples: float
    unknown: float
    tied: float

    @property
    def ordered(self) -> float:
        """The number of couples of pairs with a known order."""
        return self.couples - self.unknown


@cached("k")
def concordance_bins(x: Representation, kind: str) -> ConcordanceBins:
    """Return wide bins with about equal numbers of dissimilarities of ``kind``, to bound the
    number of concordant couples of pairs."""
    bins = rank_bins(x, kind)
    labels = np.clip(
        ((bins.ranks + 0.5) * CONCORDANCE_BINS_PER_SIDE).astype(np.int64),
        0,
        CONCORDANCE_BINS_PER_SIDE - 1,
    )
    narrow = bins.counts / 2
    counts = np.bincount(labels, weights=narrow, minlength=CONCORDANCE_BINS_PER_SIDE)
    lowest = int(labels[np.flatnonzero(bins.counts)[0]])
    tied_couples = _couple_count(narrow[bins.tied]).sum()
    return ConcordanceBins(
        labels,
        lowest,
        float(_couple_count(narrow.sum())),
        float(_couple_count(counts).sum()),
        float(tied_couples),
    )


def tau_error(a: ConcordanceBins, b: ConcordanceBins) -> float:
    r"""Return the largest possible error of tau from these bins.

    With S the sum of the signs and :math:`P_x, P_y` the couples without ties, tau is :math:`S /
    \sqrt{P_x P_y}`. The couples in different bins are :math:`\hat P_x = P_x - U_x`, and :math:`|S -
    \hat S| \le U_x + U_y`, so with :math:`|\hat S| \le (\hat P_x \hat P_y)^{1/2}`

    .. math:: \left| \frac{S}{\sqrt{P_x P_y}} - \frac{\hat S}{\sqrt{\hat P_x \hat P_y}} \right| \le
        \frac{U_x + U_y}{\sqrt{P_x P_y}} + 1 - \sqrt{\frac{\hat P_x \hat P_y}{P_x P_y}}

    :math:`P_x` is at least :math:`\hat P_x`, and at most the couples not known to be tied. For
    values without ties the error is about 3 / 2048. Couples close in x have little order in y, so
    the value is further from 0 than tau, but only by a few ten-thousandths.
    """
    max_couples = [bins.couples - bins.tied for bins in (a, b)]
    doubtful = sum(bins.unknown - bins.tied for bins in (a, b))
    norm = math.sqrt(a.ordered) * math.sqrt(b.ordered)
    if norm == 0:
        return 2.0
    return min(
        2.0, doubtful / norm + 1 - norm / (math.sqrt(max_couples[0]) * math.sqrt(max_couples[1]))
    )


def rank_concordances(grid: UniquePairs, kind: str) -> np.ndarray:
    """Return tau-b of the dissimilarities of ``kind``, from wide bins, for every pair of
    representations in ``grid``, (pairs,), computed for a few pairs per pass."""
    values: list[float] = []
    for start in range(0, len(grid.pairs), TABLES_IN_MEMORY):
        values += _concordances(grid, kind, grid.pairs[start : start + TABLES_IN_MEMORY])
    return np.array(values)


def _concordances(grid: UniquePairs, kind: str, pairs: list[tuple[int, int]]) -> list[float]:
    bins = {i: concordance_bins(grid.representations[i], kind) for p in pairs for i in p}
    entries = {i: label_entries(grid.representations[i], kind, b.labels) for i, b in bins.items()}
    tables = np.zeros(
        (len(pairs), CONCORDANCE_BINS_PER_SIDE * CONCORDANCE_BINS_PER_SIDE), dtype=np.int64
    )
    for tile in upper_blocks(grid.samples):
        labels = {i: labels_at(tile).reshape(-1) for i, labels_at in entries.items()}
        for table, (i, j) in zip(tables, pairs):
            np.add.at(table, CONCORDANCE_BINS_PER_SIDE * labels[i] + labels[j], tile.weight)
    values = []
    for table, (i, j) in zip(tables, pairs):
        table[CONCORDANCE_BINS_PER_SIDE * bins[i].diagonal + bins[j].diagonal] -= grid.samples
        values.append(
            _tau_from_table(
                table.reshape(CONCORDANCE_BINS_PER_SIDE, CONCORDANCE_BINS_PER_SIDE),
                bins[i],
                bins[j],
            )
        )
    return values


def _tau_from_table(table: np.ndarray, a: ConcordanceBins, b: ConcordanceBins) -> float:
    """Return tau-b from wide bins: the sum of the signs of all couples in different bins, divided
    by the root of the product of the couple counts; 0 if all couples of a side are in the same bin.
    ``table``: the counts of ordered pairs, by bin of a (row) and bin of b (column)."""
    total, counts = 0.0, np.zeros(CONCORDANCE_BINS_PER_SIDE)
    for row in table[::-1] / 2:
        cumulated = np.cumsum(counts)
        higher, lower = cumulated[-1] - cumulated, cumulated - counts
        total += float(row @ (higher - lower))
        counts += row
    norm = math.sqrt(a.ordered) * math.sqrt(b.ordered)
    return total / norm if norm else 0.0


def _couple_count(counts: np.ndarray) -> np.ndarray:
    """Return the number of couples c (c - 1) / 2 among c elements, for every count c in
    ``counts``."""
    return counts * (counts - 1) / 2
