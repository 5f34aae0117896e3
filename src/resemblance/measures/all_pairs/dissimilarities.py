"""Representational similarity analysis of many pairs together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...claims import Scores
from ...representation import Representation
from ...views.passes import dissimilarity_spread
from ...views.rank_bins import rank_bins, rank_entries
from ...views.rectangles import (
    ABOVE,
    Entries,
    Rectangle,
    dissimilar_points,
    dissimilarities_of,
    products,
    without_diagonal,
)
from .concordance import concordance_bins, rank_concordances, tau_error
from .grid import PairGrid, grid_of


def dissimilarity_correlations(
    xs: Sequence[Representation], ys: Sequence[Representation], rdm: str, compare: str
) -> Scores:
    r"""RSA of many pairs, with what is recorded as ``rank_error``: a bound of the error.

    ``"pearson"`` and ``"cosine"`` are exact. ``"spearman"`` takes the mean rank of each of 2^18
    bins for all ranks in it. Both vectors of ranks turn by no more than an angle that is known (see
    :class:`~resemblance.views.rank_bins.RankBins`), and with them the angle between them, by no
    more than the sum :math:`\varphi`; so its cosine, the value, changes by at most :math:`2 \sin
    (\varphi / 2)`. ``"kendall"`` counts the order of pairs in different ones of 2048 bins: see
    :func:`~.concordance.tau_error`.

    Two passes, three for ranks, all but the last once per representation. O(n^2 d) time for each
    representation and O(n^2) for each pair, O(n d) memory. Raises ``Undefined`` when all
    dissimilarities of a representation are equal.
    """
    grid = grid_of(xs, ys)
    if compare == "kendall":
        values = rank_concordances(grid, rdm)
    else:
        values = np.minimum(_cosines(grid, rdm, compare), 1)
    if compare in ("pearson", "cosine"):
        return grid.scores(values)
    sides = ([grid.representations[i] for i in pair] for pair in grid.pairs)
    errors = [_error(x, y, rdm, compare) for x, y in sides]
    return grid.scores(values, rank_error=np.array(errors))


def rank_error(x: Representation, y: Representation, rdm: str, compare: str) -> dict[str, float]:
    """Return the bound of the error of the value of many samples; nothing where it is exact."""
    if x.shape[0] <= ABOVE or compare not in ("spearman", "kendall"):
        return {}
    return {"rank_error": _error(x, y, rdm, compare)}


def _error(x: Representation, y: Representation, rdm: str, compare: str) -> float:
    if compare == "kendall":
        return tau_error(*(concordance_bins(r, kind=rdm) for r in (x, y)))
    angle = sum(rank_bins(r, kind=rdm).error for r in (x, y))
    return float(2 * np.sin(min(angle, np.pi) / 2))


def _cosines(grid: PairGrid, kind: str, compare: str) -> np.ndarray:
    """Cosines of what is compared of both, over all pairs of different samples."""
    matrices = [_entries(r, kind, compare) for r in grid.representations]
    energies = [_energy(r, kind, compare) for r in grid.representations]
    a, b = grid.ends(energies)
    return products(matrices, grid.pairs, grid.samples) / (np.sqrt(a) * np.sqrt(b))


def _energy(x: Representation, kind: str, compare: str) -> float:
    """Sum of the squares of what is compared."""
    if compare == "spearman":
        return rank_bins(x, kind=kind).energy
    spread, n = dissimilarity_spread(x, kind=kind), x.shape[0]
    return spread.squares + (n * (n - 1) * spread.mean**2 if compare == "cosine" else 0.0)


def _entries(x: Representation, kind: str, compare: str) -> Entries:
    """What is compared of each pair of samples; 0 on the diagonal."""
    if compare == "spearman":
        return rank_entries(x, kind)
    mean = dissimilarity_spread(x, kind=kind).mean if compare == "pearson" else 0.0
    entries = dissimilarities_of(dissimilar_points(x, kind=kind), kind)

    def centred(at: Rectangle) -> Array:
        block = entries(at)
        block -= mean
        return without_diagonal(block) if at.is_square else block

    return centred
