r"""Kendall's tau-b of the dissimilarities of many samples, from a table of bins.

Of two pairs of samples it is known which comes first in a representation if they are in different
bins. So the sum of the signs is known but for those in the same bin of one side, and those are left
out of the number of signs, too: tau of the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...representation import Representation, view
from ...views.rank_bins import label_entries, rank_bins
from ...views.rectangles import rectangles
from .grid import PairGrid

BINS = 2048  # of each side
TOGETHER = 8  # tables in memory at a time


class ConcordanceBins(NamedTuple):
    """The wide bin of each narrow one, and that of the diagonal; how many couples of pairs there
    are, of these how many in the same bin, and how many are known to be ties."""

    labels: np.ndarray
    diagonal: int
    couples: float
    unknown: float
    tied: float

    @property
    def ordered(self) -> float:
        """How many couples of pairs have an order."""
        return self.couples - self.unknown


@view
def concordance_bins(x: Representation, kind: str) -> ConcordanceBins:
    """Wide bins with about the same number of dissimilarities each."""
    bins = rank_bins(x, kind)
    labels = np.clip(((bins.ranks + 0.5) * BINS).astype(np.int64), 0, BINS - 1)
    narrow = bins.counts / 2
    wide = np.bincount(labels, weights=narrow, minlength=BINS)
    lowest = int(labels[np.flatnonzero(bins.counts)[0]])
    tied = _couples(narrow[bins.tied]).sum()
    return ConcordanceBins(
        labels, lowest, float(_couples(narrow.sum())), float(_couples(wide).sum()), float(tied)
    )


def tau_error(a: ConcordanceBins, b: ConcordanceBins) -> float:
    r"""Return the largest possible error of tau from these bins.

    With S the sum of the signs and :math:`P_x, P_y` the couples without ties, tau is :math:`S /
    \sqrt{P_x P_y}`. Those in different bins are :math:`\hat P_x = P_x - U_x`, and :math:`|S - \hat
    S| \le U_x + U_y`, so with :math:`|\hat S| \le (\hat P_x \hat P_y)^{1/2}`

    .. math:: \left| \frac{S}{\sqrt{P_x P_y}} - \frac{\hat S}{\sqrt{\hat P_x \hat P_y}} \right| \le
        \frac{U_x + U_y}{\sqrt{P_x P_y}} + 1 - \sqrt{\frac{\hat P_x \hat P_y}{P_x P_y}}

    :math:`P_x` is at least :math:`\hat P_x`, and at most what is not known to be tied. For values
    without ties it is about 3 / 2048. Couples that are close on one side have little order on the
    other, so the value is further from 0 than tau, but by a few ten-thousandths only.
    """
    most = [bins.couples - bins.tied for bins in (a, b)]
    doubtful = sum(bins.unknown - bins.tied for bins in (a, b))
    known = math.sqrt(a.ordered) * math.sqrt(b.ordered)
    if known == 0:
        return 2.0
    return min(2.0, doubtful / known + 1 - known / (math.sqrt(most[0]) * math.sqrt(most[1])))


def rank_concordances(grid: PairGrid, kind: str) -> np.ndarray:
    """Tau-b of all pairs, a few of them in one pass."""
    values: list[float] = []
    for start in range(0, len(grid.pairs), TOGETHER):
        values += _concordances(grid, kind, grid.pairs[start : start + TOGETHER])
    return np.array(values)


def _concordances(grid: PairGrid, kind: str, pairs: list[tuple[int, int]]) -> list[float]:
    bins = {i: concordance_bins(grid.representations[i], kind) for p in pairs for i in p}
    entries = {i: label_entries(grid.representations[i], kind, b.labels) for i, b in bins.items()}
    tables = np.zeros((len(pairs), BINS * BINS), dtype=np.int64)
    for at in rectangles(grid.samples):
        labels = {i: labels_at(at).reshape(-1) for i, labels_at in entries.items()}
        for table, (i, j) in zip(tables, pairs):
            np.add.at(table, BINS * labels[i] + labels[j], at.weight)
    values = []
    for table, (i, j) in zip(tables, pairs):
        table[BINS * bins[i].diagonal + bins[j].diagonal] -= grid.samples
        values.append(_tau(table.reshape(BINS, BINS), bins[i], bins[j]))
    return values


def _tau(table: np.ndarray, a: ConcordanceBins, b: ConcordanceBins) -> float:
    """Sum of the signs of all couples in different bins, over the root of their numbers."""
    total, after = 0.0, np.zeros(BINS)
    for row in table[::-1] / 2:
        cumulated = np.cumsum(after)
        higher, lower = cumulated[-1] - cumulated, cumulated - after
        total += float(row @ (higher - lower))
        after += row
    known = math.sqrt(a.ordered) * math.sqrt(b.ordered)
    return total / known if known else 0.0


def _couples(counts: np.ndarray) -> np.ndarray:
    """Number of couples among so many."""
    return counts * (counts - 1) / 2
