"""Leave-one-out representational similarity analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base.arrays import as_float64, row_blocks
from ...data.representation import Representation, cached, representation_title
from ...intermediates.distances import (
    SampleCovariance,
    SampleWhitening,
    rdm_vector,
    sample_whitening,
    whiten_dissimilarities,
    whitened_gram,
)
from .inner_products import (
    check_min_samples,
    check_remainder,
    condensed_row_sums,
    leave_one_out_squared_sizes,
)

LEAVE_ONE_OUT_BINS = 128  # bins of the ranks
MAX_ROWS_IN_DOUBLE = 64  # rows, of all representations, held in double precision at the same time


def leave_one_out_rsa(
    x: Representation,
    y: Representation,
    rdm: str,
    compare: str,
    covariance: SampleCovariance = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return the leave-one-out RSA, shape (n,), in [-1, 1].

    Kendall's coefficients and ``"rho_a"`` have no leave-one-out form here. ``rows``, used for
    ``"spearman"`` only: the output of :func:`leave_one_out_rank_products`, if already computed.

    Every comparison except ``"spearman"`` is exact: the sum over all pairs minus the sum over the
    pairs of a sample. ``"spearman"`` is nearly exact. Without sample i the rank :math:`r_p` of a
    pair p falls by the number :math:`c_p` of pairs of i below p, and the rank :math:`s_p` in Y
    falls by :math:`e_p`:

    .. math:: \operatorname{cov}(r - c, s - e) = \operatorname{cov}(r, s) - \operatorname{cov}(c, s)
        - \operatorname{cov}(r, e) + \operatorname{cov}(c, e)

    Every term is exact except the last. The last term uses the means of c and e in 128 bins of the
    ranks. The values correlate with the values of n separate calls at 0.99999 or more, and the
    jackknife standard error is within 0.1 % (n = 36). Tied pairs have average ranks.

    O(n^2) time, or O(n^2 log n) for ranks. Raises ``UndefinedError`` if all dissimilarities are
    equal, or nearly equal, without some sample.
    """
    check_min_samples("rsa", x, 3)
    if rdm in ("euclidean", "sqeuclidean"):
        leave_one_out_squared_sizes(x), leave_one_out_squared_sizes(y)
    if compare == "spearman":
        return _leave_one_out_spearman(
            x,
            y,
            rdm,
            leave_one_out_rank_products([x, y], [(0, 1)], rdm)[0] if rows is None else rows,
        )
    if compare.startswith("whitened"):
        return _leave_one_out_whitened(x, y, rdm, compare, covariance)
    d, e = (as_float64(rdm_vector(r, kind=rdm, compare=compare)) for r in (x, y))
    squares = [_leave_one_out_squared_norms(r, rdm, compare) for r in (x, y)]
    product = _leave_one_out_pair_products(d, e, x.shape[0], is_centered=compare == "pearson")
    return np.clip(product / np.sqrt(squares[0] * squares[1]), -1, 1)


def _leave_one_out_pair_products(
    d: np.ndarray, e: np.ndarray, n: int, is_centered: bool
) -> np.ndarray:
    """Return, for every sample, the inner product of ``d`` and ``e`` without the pairs of the
    sample: (n,).

    ``d``, ``e``: condensed, (n (n - 1) / 2,). ``is_centered``: d and e have mean 0; then the
    remaining pairs are centred before the product.
    """
    product: np.ndarray = d @ e - condensed_row_sums(d * e, n)
    if not is_centered:
        return product
    pairs = (n - 1) * (n - 2) / 2
    # A centred vector sums to zero, so the remaining pairs sum to minus the row sum.
    sums = condensed_row_sums(d, n) * condensed_row_sums(e, n)
    return product - sums / pairs


@cached("n")
def _leave_one_out_squared_norms(x: Representation, kind: str, compare: str) -> np.ndarray:
    """Return the squared norm of the unit vector of pairs without the pairs of each sample, (n,),
    in [0, 1].

    The unit vector holds the dissimilarities of ``kind``, prepared for the comparison ``compare``;
    for "pearson" the remaining pairs are centred again.
    """
    vector = as_float64(rdm_vector(x, kind=kind, compare=compare))
    remainders = _leave_one_out_pair_products(
        vector, vector, x.shape[0], is_centered=compare == "pearson"
    )
    check_remainder(f"the {kind} dissimilarities of {representation_title(x)}", remainders)
    return remainders


def _leave_one_out_whitened(
    x: Representation, y: Representation, kind: str, compare: str, covariance: SampleCovariance
) -> np.ndarray:
    """Return the leave-one-out ``compare``, "whitened_cosine" or "whitened_pearson", (n,), in [-1,
    1].

    ``kind``: the dissimilarity. ``covariance`` S of the errors of the samples: None for equal
    variances, n variances, or an (n, n) matrix. With P = S⁻¹ - S⁻¹ 1 1' S⁻¹ / 1' S⁻¹ 1, the inner
    product of two matrices D and E is tr(P D P E) / 4. Without sample i, P becomes P - p p' / P_ii,
    where p is column i of P.
    """
    whitening = sample_whitening(x.shape[0], covariance)
    precisions = whitening.precisions
    a, b = (whitened_gram(r, kind, compare, covariance) for r in (x, y))

    def inner(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        (half_p, full_p), (half_q, full_q) = _times_root(p, whitening), _times_root(q, whitening)
        rows = (half_p * half_q).sum(axis=1)
        return np.vdot(p, q) - 2 * rows / precisions + full_p * full_q / precisions**2

    products = [inner(a, b), inner(a, a), inner(b, b)]
    if compare == "whitened_pearson":
        constant = whiten_dissimilarities(1 - np.eye(len(a)), whitening)
        a_product = inner(a, constant)
        b_product = inner(b, constant)
        square = inner(constant, constant)
        explained = (a_product * b_product, a_product**2, b_product**2)
        products = [p - e / square for p, e in zip(products, explained)]
    for r, remainders in zip((x, y), products[1:]):
        check_remainder(f"the {kind} dissimilarities of {representation_title(r)}", remainders)
    return np.clip(products[0] / np.sqrt(products[1] * products[2]), -1, 1)


def _times_root(gram: np.ndarray, whitening: SampleWhitening) -> tuple[np.ndarray, np.ndarray]:
    """Return R' G, and the diagonal of R' G R, (n,), for a whitened matrix ``gram`` G (n, n) and
    the root R of ``whitening``."""
    half = whitening.root_times(gram)
    root = whitening.root
    full = np.diagonal(half) * root if root.ndim == 1 else (half * root.T).sum(axis=1)
    return half, np.asarray(full)


def _leave_one_out_spearman(
    x: Representation, y: Representation, kind: str, inner: np.ndarray
) -> np.ndarray:
    """Return Spearman's correlation of the dissimilarities of ``kind`` in x and y without the
    pairs of each sample, (n,).

    ``inner`` is the output (n,) of :func:`leave_one_out_rank_products` for the two representations.
    """
    n, m = x.shape[0], x.shape[0] * (x.shape[0] - 1) // 2
    # Over the pairs without a sample, r - c has the same sum for every sample, and so has s - e.
    mean_of_both = ((n - 1) * (n - 1 - m) / 2) ** 2 / ((n - 1) * (n - 2) / 2)
    higher = _doubled_sums_of_higher_ranks(x, y, kind)
    higher += _doubled_sums_of_higher_ranks(y, x, kind)
    product = np.vdot(*(_doubled_centered_ranks(v, kind) for v in (x, y))) / 4
    higher_sums = condensed_row_sums(higher.astype(np.float64), n) / 4
    covariance = product - inner - higher_sums + _rank_product_sums(x, y, kind) - mean_of_both
    squares = [_leave_one_out_rank_squares(v, kind) for v in (x, y)]
    return np.clip(covariance / np.sqrt(squares[0] * squares[1]), -1, 1)


def leave_one_out_rank_products(
    representations: Sequence[Representation], pairs: Sequence[tuple[int, int]], rdm: str
) -> np.ndarray:
    """Return the inner products of the rows of r - c (:class:`_RanksBySample`) of two
    representations, shape (pairs, n).

    ``pairs``: pairs of positions in ``representations``. ``rdm``: the dissimilarity.
    """
    row_products = np.empty((len(pairs), representations[0].shape[0]))
    for start, stop in row_blocks(row_products.shape[1], MAX_ROWS_IN_DOUBLE):
        ranks = [
            _ranks_by_sample(r, rdm).centered[start:stop].astype(np.float64)
            for r in representations
        ]
        for place, (i, j) in enumerate(pairs):
            row_products[place, start:stop] = np.vecdot(ranks[i], ranks[j])
    return row_products


@cached("pairs")
def _doubled_centered_ranks(x: Representation, kind: str) -> np.ndarray:
    """Return twice the average ranks of the dissimilarities of ``kind``, minus twice the mean rank,
    whole numbers in float64, row by row above the diagonal, shape (n (n - 1) / 2,)."""
    vector = as_float64(rdm_vector(x, kind=kind, compare="spearman"))
    lowest = vector.min()
    n_tied = np.count_nonzero(vector == lowest)  # the lowest rank is (tied + 1) / 2
    return np.asarray(np.rint(vector * ((n_tied - len(vector)) / lowest)))


@cached("pairs")
def _rank_groups(x: Representation, kind: str) -> np.ndarray:
    """Return the number, from 0, of the rank of every pair of samples among the different ranks, (n
    (n - 1) / 2,)."""
    ranks = _doubled_centered_ranks(x, kind)
    place = (ranks + (len(ranks) - 1)).astype(np.intp)
    is_used = (np.bincount(place) > 0).astype(np.intp)
    return (is_used.cumsum() - 1).take(place)


def _doubled_sums_of_higher_ranks(x: Representation, y: Representation, kind: str) -> np.ndarray:
    """Return, for every pair p of samples, twice the sum of the doubled centred ranks in y of all
    pairs that rank higher than p in x, as integers, (n (n - 1) / 2,). A pair with the same rank as
    p, and p, count half."""
    groups = _rank_groups(x, kind)
    # Sums of whole numbers are faster than sums of floats.
    sums = np.bincount(groups, _doubled_centered_ranks(y, kind)).astype(np.int64)
    sums -= 2 * np.cumsum(sums)  # the ranks sum to 0
    return sums.take(groups)


class _RanksBySample(NamedTuple):
    """Ranks of the pairs of every sample among all pairs and among the pairs of the sample.

    ``centered`` (n, n): r - c, 0 on the diagonal, where r is the centred rank of a pair among all
    pairs, and c the rank of a pair (from 1/2) among the pairs of the sample of the row. ``bins``:
    the rank bin of every pair, (n (n - 1) / 2,). ``means`` (n, bins): for every sample the mean,
    over the pairs in a bin, of the number of pairs of the sample that rank below.
    """

    centered: np.ndarray
    bins: np.ndarray
    means: np.ndarray


@cached("n n", "pairs", "n k")
def _ranks_by_sample(x: Representation, kind: str) -> _RanksBySample:
    doubled = _doubled_centered_ranks(x, kind)
    ranks, n, m = _square_matrix_of_pairs(doubled), x.shape[0], len(doubled)
    bins = (doubled + m).astype(np.int64) * LEAVE_ONE_OUT_BINS // (2 * m)
    ends = 2 * np.bincount(bins, minlength=LEAVE_ONE_OUT_BINS).cumsum()
    sizes = np.maximum(np.diff(ends, prepend=0), 1)
    centered = np.empty((n, n), dtype=np.float32 if m <= 2**23 else np.float64)
    means = np.empty((n, LEAVE_ONE_OUT_BINS))
    for start, stop in row_blocks(n, MAX_ROWS_IN_DOUBLE):
        rows = ranks[start:stop]
        own, ordered = _ranks_in_rows(rows + (m - 1), start)
        centered[start:stop] = rows / 2 - own
        means[start:stop] = np.diff(_doubled_sums_of_lower_pairs(ordered, ends), prepend=0) / sizes
    np.fill_diagonal(centered, 0)
    return _RanksBySample(centered, bins.astype(np.int16), means)


def _doubled_sums_of_lower_pairs(ordered: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return, for every row and bin, twice the sum, over all pairs up to the end of the bin, of the
    number of pairs of the row that rank below, as integers, (rows, bins).

    ``ordered``: the doubled average ranks of the pairs of the row, ascending after an entry -1,
    (rows, n). ``ends``: twice the number of pairs up to the end of each bin, (bins,). A pair of the
    row is below all later pairs, and half below the pairs of the same rank.
    """
    positions, rows = ordered.astype(np.int64) + 1, np.arange(len(ordered))[:, None]
    bins = positions[:, 1:] * len(ends) // ends[-1] + len(ends) * rows
    counts = np.bincount(bins.ravel(), minlength=len(ends) * len(rows)).reshape(len(rows), -1)
    counts = counts.cumsum(axis=1)
    sums = positions.cumsum(axis=1).take(counts + ordered.shape[1] * rows)
    return counts * ends - sums


def _square_matrix_of_pairs(pairs: np.ndarray) -> np.ndarray:
    """Return the symmetric (n, n) matrix of a vector of pairs, (n (n - 1) / 2,) row by row above
    the diagonal, with a zero diagonal."""
    from scipy.spatial.distance import squareform

    return squareform(pairs, checks=False)


def _ranks_in_rows(place: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks (from 1/2) of integers >= 0 within every row of ``place``, (rows, n), and
    the rows in ascending order, (rows, n); ties have the mean rank.

    ``place`` holds rows of an (n, n) matrix, from row ``start`` on. Entries on the diagonal of the
    matrix are not ranked: they have the rank -1/2 and the value -1.
    """
    rows, n = np.arange(len(place)), place.shape[1]
    bits = n.bit_length()
    # The low bits hold the column: sorting such keys is faster than argsort. place is below n^2.
    precision = np.int32 if 3 * bits < 32 else np.int64
    keys = (place.astype(precision) << bits) + np.arange(n, dtype=precision)
    keys[rows, start + rows] = start + rows - (1 << bits)
    keys.sort(axis=1)
    # Positions of the word size are faster indices.
    order, sorted_values = (keys & ((1 << bits) - 1)).astype(np.intp), keys >> bits
    ranks, ascending = np.empty(place.shape), np.arange(-0.5, n - 1)
    for row, columns in zip(ranks, order):  # faster than np.put_along_axis
        row[columns] = ascending
    tied_rows = np.flatnonzero((sorted_values[:, 1:] == sorted_values[:, :-1]).any(axis=1))
    if len(tied_rows):
        from scipy.stats import rankdata  # importing scipy.stats takes as long as resemblance

        pairs = place[tied_rows]
        pairs[np.arange(len(tied_rows)), start + tied_rows] = -1
        ranks[tied_rows] = rankdata(pairs, axis=1) - 1.5
    return ranks, sorted_values


def _rank_product_sums(x: Representation, y: Representation, kind: str) -> np.ndarray:
    """Return, for each left-out sample, the sum over all pairs p of the product c_p e_p, shape
    (n,).

    c_p and e_p are the numbers of pairs of the left-out sample that rank below p, in x and in y.
    The function uses the means of c and e within bins of ranks, so the covariance of c and e within
    a bin is missing.
    """
    (_, bins, c), (_, other_bins, e) = (_ranks_by_sample(v, kind) for v in (x, y))
    joint_bins = bins * np.int16(LEAVE_ONE_OUT_BINS) + other_bins  # below 2^14
    pairs = np.bincount(joint_bins, minlength=LEAVE_ONE_OUT_BINS**2).reshape(
        LEAVE_ONE_OUT_BINS, LEAVE_ONE_OUT_BINS
    )
    return np.vecdot(c @ pairs, e)


@cached("n")
def _leave_one_out_rank_squares(x: Representation, kind: str) -> np.ndarray:
    """Return the sum of squares of the centred average ranks of the pairs without each sample,
    ranked again, (n,).

    The sum is (m³ - m) / 12 for m pairs without ties; t pairs of the same rank subtract (t³ - t) /
    12.
    """
    n, groups = x.shape[0], _rank_groups(x, kind)
    m, is_tied = (n - 1) * (n - 2) // 2, groups.max() + 1 < len(groups)
    sizes = np.bincount(groups) if is_tied else np.ones(0)
    missing = np.full(n, _tie_corrections(sizes[sizes > 1]).sum())
    for i, row in enumerate(_square_matrix_of_pairs(groups) if is_tied else ()):
        values, counts = np.unique(np.delete(row, i), return_counts=True)
        missing[i] += (
            _tie_corrections(sizes[values] - counts) - _tie_corrections(sizes[values])
        ).sum()
    correction = _tie_corrections(np.array(m))
    squares: np.ndarray = (correction - missing) / 12
    check_remainder(
        f"the {kind} dissimilarities of {representation_title(x)}", squares / correction
    )
    return squares


def _tie_corrections(t: np.ndarray) -> np.ndarray:
    """Return t³ - t for numbers ``t`` of pairs with the same rank; 0 for an untied pair (t =
    1)."""
    return t.astype(np.float64) ** 3 - t
