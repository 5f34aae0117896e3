"""Representational similarity analysis: how far the dissimilarities of two representations
correlate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    as_float64,
    clip_above_one,
    frobenius_inner,
    records_gradient,
    row_blocks,
    to_numpy,
)
from ..contracts._measure import measure
from ..contracts.claims import COSINE_INVARIANCES, SHAPE_INVARIANCES, AllPairs, Product, Scores
from ..data.representation import Representation, cached, representation_title
from ..intermediates.distances import (
    MAX_GATHERED_NUMBERS,
    rdm_vector,
    rdm_vectors,
    sample_weights_in_mean,
    shared_pairs,
    whiten_dissimilarities,
    whitened_gram,
)
from ..intermediates.matrices import dissimilarity_pair_matrix, expected_cosine
from ..intermediates.missing_pairs import has_missing_pairs
from ..intermediates.rank_bins import concordance_bins, rank_bins, rank_concordances, tau_error
from ..intermediates.rectangles import MAX_STORED_SAMPLES, all_row_column_pairs, is_blockwise
from .inner_products import (
    check_min_samples,
    check_remainder,
    condensed_row_sums,
    constant_zero,
    leave_one_out_squared_sizes,
    prefers_batched_products,
    warn_near_ceiling,
)

RdmComparison = Literal[
    "spearman",
    "pearson",
    "cosine",
    "kendall",
    "kendall_a",
    "rho_a",
    "whitened_cosine",
    "whitened_pearson",
]


def uninformative_dissimilarities(
    x: Representation,
    y: Representation,
    rdm: str,
    compare: str,
    variances: tuple[float, ...] | None,
) -> str:
    """Near with ``compare="cosine"`` when the dissimilarities vary little, for any number of
    samples."""
    if compare not in ("cosine", "whitened_cosine"):
        return ""
    matrices = (dissimilarity_pair_matrix(r, rdm, compare, variances) for r in (x, y))
    return warn_near_ceiling(x.n_samples, expected_cosine(*matrices))


RANK_PRODUCT = Product(
    dissimilarity_pair_matrix,
    blocks=True,
    by_rows=prefers_batched_products,
    rows_of=lambda representations, pairs, rdm: leave_one_out_rank_products(
        representations, pairs, rdm
    ),
)


def _rsa_claims(rdm: str, compare: RdmComparison) -> dict[str, Any]:
    """Return the claims that depend on the dissimilarities and how they are compared."""
    unchanged_by = {
        "correlation": {"permutation", "isotropic_scaling"},
        "cosine": COSINE_INVARIANCES,
    }
    claims: dict[str, Any] = {"invariant_to": unchanged_by.get(rdm, SHAPE_INVARIANCES)}
    claims |= {"min_features": 2} if rdm == "correlation" else {}  # one number has no correlation
    if compare in ("pearson", "cosine"):
        claims |= {
            "differentiable": True,
            "compares": Product(dissimilarity_pair_matrix, blocks=True),
        }
    if compare in ("kendall", "kendall_a", "rho_a"):
        claims |= {"compares": None, "chance": constant_zero, "leave_one_out": None}
    if compare == "kendall":
        claims["all_pairs"] = AllPairs(kendall_by_bins, MAX_STORED_SAMPLES)
    if compare.startswith("whitened"):
        claims["compares"] = Product(dissimilarity_pair_matrix)
    if compare in ("kendall_a", "rho_a"):  # ties bring it below 1, for X with itself, too
        claims["identity"] = False
    return claims


@measure(
    label="RSA", family="similarity_matrix", version=3, larger_is_more_similar=True, range=(-1, 1),
    citation="kriegeskorte2008representational", min_samples=3, differentiable=False,
    takes="dissimilarities", compares=RANK_PRODUCT,
    uninformative=uninformative_dissimilarities, claims_for=_rsa_claims,
)  # fmt: skip
def rsa(
    x: Representation,
    y: Representation,
    *,
    rdm: Literal["correlation", "cosine", "euclidean", "sqeuclidean"] = "correlation",
    compare: RdmComparison = "spearman",
    variances: tuple[float, ...] | None = None,
) -> Array:
    r"""Representational similarity analysis: the correlation of two matrices of dissimilarities
    between samples.

    .. math:: \operatorname{corr} \left( \operatorname{vec}_{i<j} D_X, \operatorname{vec}_{i<j} D_Y
        \right)

    ``rdm`` is the dissimilarity within a representation: ``"correlation"`` (1 - Pearson over
    features), ``"cosine"``, ``"euclidean"``, ``"sqeuclidean"``. ``compare`` is the correlation of
    the two upper triangles: ``"spearman"`` (average ranks for ties), ``"pearson"``, ``"cosine"``
    (uncentred), ``"kendall"`` (tau-b). For ties in a model ``"kendall_a"`` (concordant minus
    discordant over all pairs) and ``"rho_a"`` (the covariance of ranks times 12 / (p³ - p) for p
    pairs), which are less than 1 where there are ties (Schütt et al. 2023).

    ``"whitened_cosine"`` and ``"whitened_pearson"`` allow for the dependence of dissimilarities
    that share a sample (Diedrichsen et al. 2021):

    .. math:: \frac{d_X^\top V^{-1} d_Y}{\sqrt{d_X^\top V^{-1} d_X \; d_Y^\top V^{-1} d_Y}},
        \qquad V = (C S C^\top) \circ (C S C^\top)

    with C the contrasts of all pairs and S the diagonal matrix of ``variances``, a number for each
    sample such as 1 / trials, by default equal. With equal ones and ``rdm="sqeuclidean"``
    ``"whitened_cosine"`` is linear ``cka``. ``"whitened_pearson"`` removes before, in the same
    metric, what equal dissimilarities explain. No matrix of pairs by pairs is formed.

    Either side may hold given dissimilarities (:func:`~resemblance.from_dissimilarities`,
    :func:`~resemblance.dissimilarities`), whatever ``rdm`` is. Where some of these are missing, the
    comparison is of the pairs that both sides have, at least three; results record their number as
    ``pairs``. Whitened comparisons take no missing pairs.

    X is (n, d), Y is (n, e), n >= 3. A row without direction (constant, for ``"correlation"``) has
    dissimilarity 1 to all others. With d = 1 and ``"correlation"`` no row has one. O(n^2 (d + log
    n)) time, n^2/2 numbers per representation. Raises ``UndefinedError`` when all dissimilarities
    of a representation are equal, and ``ValueError`` for ``variances`` that are not n positive
    numbers, or with a comparison that is not whitened.

    For more than 4096 samples O(n^2 d) time and O(n d) memory. Pearson and cosine stay exact. For
    ``"spearman"`` 2^18 bins have a rank each, and for ``"kendall"`` pairs in the same one of 2048
    bins are left out; results record as ``rank_error_bound`` how far the value can be from the
    exact one. Usually the bounds are 1e-5 and 1.5e-3, and the errors 1e-9 and 2e-4. The others are
    computed as for few samples.

    Use it when you compare with studies of brains or behaviour, or only dissimilarities are known.

    Beware. The default, correlation distance with Spearman correlation, is changed by an offset.
    Pairs of samples are not independent: test by permuting samples, never pairs.

    Reference: Kriegeskorte et al. 2008. ``"correlation"`` depends on a common offset of the
    features unless it is the same for all of them, so it is not translation invariant, although it
    is listed as such in places.
    """
    if variances is not None and not compare.startswith("whitened"):
        raise ValueError(f"rsa: variances are for whitened comparisons, not {compare!r}")
    if compare.startswith("whitened"):
        a, b = (whitened_gram(r, rdm, compare, variances) for r in (x, y))
        return 1.0 if x is y else min(1.0, float(np.vdot(a, b)))
    a, b = rdm_vectors(x, y, rdm, compare)
    if compare.startswith("kendall"):
        return kendall_tau_from_ranks(a, b, compare)
    is_itself = x is y and compare != "rho_a" and not records_gradient(x.source)
    return (
        1.0 if is_itself else clip_above_one(frobenius_inner(a, b))
    )  # a product of its own is off by rounding


def kendall_tau_from_ranks(x_ranks: Array, y_ranks: Array, compare: str) -> float:
    """Kendall's tau-b, or for ``"kendall_a"`` tau-a: times the root of both shares of pairs of
    entries that are not tied."""
    from scipy.stats import kendalltau  # takes as long to import as the rest of the library

    ranks = to_numpy(x_ranks), to_numpy(y_ranks)
    tau = float(kendalltau(*ranks).statistic)
    if compare == "kendall":
        return tau
    pairs = len(ranks[0]) * (len(ranks[0]) - 1)
    tie_counts = (np.unique(r, return_counts=True)[1].astype(float) for r in ranks)
    return tau * math.prod(math.sqrt(1 - float((k * (k - 1)).sum()) / pairs) for k in tie_counts)


# --------------------------------------------------------------------------------- without a sample

LEAVE_ONE_OUT_BINS = 128  # of the ranks
# rows of all representations that are in memory at a time in double precision
MAX_ROWS_IN_DOUBLE = 64


@rsa.claim("leave_one_out")
def leave_one_out_rsa(
    x: Representation,
    y: Representation,
    rdm: str,
    compare: str,
    variances: tuple[float, ...] | None = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    r"""RSA without each sample, shape (n,), in [-1, 1]; not for Kendall's coefficients and
    ``"rho_a"``. ``rows`` for ``"spearman"``: those of :func:`leave_one_out_rank_products`, if they
    are known.

    Exact but for ``"spearman"``: sums over all pairs minus sums over those of a sample.
    For ``"spearman"`` nearly so. Without sample i the rank :math:`r_p` of a pair p falls by the
    number :math:`c_p` of the pairs of i below it, and :math:`s_p` in Y by :math:`e_p`:

    .. math:: \operatorname{cov}(r - c, s - e) = \operatorname{cov}(r, s) - \operatorname{cov}(c, s)
        - \operatorname{cov}(r, e) + \operatorname{cov}(c, e)

    where all is exact but the last, which is computed from the means of c and e in 128 bins of the
    ranks: the values correlate by 0.99999 or more with those of n calls, and the standard error of
    the jackknife is within 0.1 % of theirs (n = 36). With ties, average ranks.

    O(n^2) time, or O(n^2 log n) for ranks. Raises ``UndefinedError`` when all dissimilarities
    without some sample are equal, or nearly so.
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
        return _leave_one_out_whitened(x, y, rdm, compare, variances)
    d, e = (as_float64(rdm_vector(r, kind=rdm, compare=compare)) for r in (x, y))
    squares = [_leave_one_out_squared_norms(r, rdm, compare) for r in (x, y)]
    product = _leave_one_out_pair_products(d, e, x.shape[0], is_centered=compare == "pearson")
    return np.clip(product / np.sqrt(squares[0] * squares[1]), -1, 1)


def _leave_one_out_pair_products(
    d: np.ndarray, e: np.ndarray, n: int, is_centered: bool
) -> np.ndarray:
    """Return the inner products of two vectors of pairs without those of each sample, centred again
    if they were."""
    product: np.ndarray = d @ e - condensed_row_sums(d * e, n)
    if not is_centered:
        return product
    pairs = (n - 1) * (n - 2) / 2
    sums = condensed_row_sums(d, n) * condensed_row_sums(
        e, n
    )  # of the others, which sum to zero with these
    return product - sums / pairs


@cached
def _leave_one_out_squared_norms(x: Representation, kind: str, compare: str) -> np.ndarray:
    """Return the squared norms of the vector of pairs, of norm 1, without those of each sample."""
    vector = as_float64(rdm_vector(x, kind=kind, compare=compare))
    remainders = _leave_one_out_pair_products(
        vector, vector, x.shape[0], is_centered=compare == "pearson"
    )
    check_remainder(f"the {kind} dissimilarities of {representation_title(x)}", remainders)
    return remainders


def _leave_one_out_whitened(
    x: Representation, y: Representation, kind: str, compare: str, variances: Any
) -> np.ndarray:
    """Return the cosines of two whitened matrices without each sample, centred again."""
    weights = sample_weights_in_mean(x, variances)
    share = weights / (1 - weights)
    a, b = (whitened_gram(r, kind, compare, variances) for r in (x, y))

    def inner(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        rows, diagonal = (p * q).sum(axis=1), np.diagonal(p) * np.diagonal(q)
        removed = 2 * rows - diagonal + 2 * share * (rows - diagonal) - share**2 * diagonal
        return rows.sum() - removed

    products = [inner(a, b), inner(a, a), inner(b, b)]
    if compare == "whitened_pearson":
        constant = whiten_dissimilarities(1 - np.eye(len(a)), weights)
        a_product, b_product, square = (
            inner(a, constant),
            inner(b, constant),
            inner(constant, constant),
        )
        explained = (a_product * b_product, a_product**2, b_product**2)
        products = [p - e / square for p, e in zip(products, explained)]
    for r, remainders in zip((x, y), products[1:]):
        check_remainder(f"the {kind} dissimilarities of {representation_title(r)}", remainders)
    return np.clip(products[0] / np.sqrt(products[1] * products[2]), -1, 1)


def _leave_one_out_spearman(
    x: Representation, y: Representation, kind: str, inner: np.ndarray
) -> np.ndarray:
    """Spearman's correlation of two vectors of pairs without those of each sample; ``inner``: what
    :func:`leave_one_out_rank_products` returns of them."""
    n, m = x.shape[0], x.shape[0] * (x.shape[0] - 1) // 2
    # r, s, c and e sum to zero over all pairs but for what no sample changes: cov (r - c, s - e).
    mean_of_both = ((n - 1) * (n - 1 - m) / 2) ** 2 / ((n - 1) * (n - 2) / 2)
    higher_sums = _weight_sums_of_higher_ranks(
        x, rank_of_pairs(y, kind), kind
    ) + _weight_sums_of_higher_ranks(y, rank_of_pairs(x, kind), kind)
    product = 0.0
    for start, stop in row_blocks(m, MAX_GATHERED_NUMBERS):
        ranks = (rank_of_pairs(v, kind)[start:stop].astype(np.float64) for v in (x, y))
        product += float(np.vdot(*ranks))
    covariance = product - inner - higher_sums + _rank_product_sums(x, y, kind) - mean_of_both
    squares = [_leave_one_out_rank_squares(v, kind) for v in (x, y)]
    return np.clip(covariance / np.sqrt(squares[0] * squares[1]), -1, 1)


def leave_one_out_rank_products(
    representations: Sequence[Representation], pairs: Sequence[tuple[int, int]], rdm: str
) -> np.ndarray:
    """Return for each pair of positions in the list the inner products of the rows of
    :func:`_centered_rank_matrix`, shape (pairs, n)."""
    positions = {position for pair in pairs for position in pair}
    row_products = np.empty((len(pairs), representations[0].shape[0]))
    for start, stop in row_blocks(row_products.shape[1], MAX_ROWS_IN_DOUBLE):
        ranks = {
            position: _centered_rank_matrix(representations[position], rdm)[start:stop].astype(
                np.float64
            )
            for position in positions
        }
        for place, (i, j) in enumerate(pairs):
            row_products[place, start:stop] = np.vecdot(ranks[i], ranks[j])
    return row_products


@cached
def rank_of_pairs(x: Representation, kind: str) -> np.ndarray:
    """Return the average ranks of the dissimilarities, centred, shape (n (n - 1) / 2,): in single
    precision where it is exact."""
    place = _doubled_average_ranks(x, kind)
    precision = np.float32 if len(place) < 2**23 else np.float64
    return np.asarray((place - (len(place) - 1)) / 2, dtype=precision)


@cached
def _doubled_average_ranks(x: Representation, kind: str) -> np.ndarray:
    """Return twice the average rank of each pair, from 0."""
    vector = as_float64(rdm_vector(x, kind=kind, compare="spearman"))
    lowest = vector.min()
    n_tied = np.count_nonzero(vector == lowest)  # the lowest rank is (tied + 1) / 2
    centered = vector * ((n_tied - len(vector)) / 2 / lowest)
    doubled = np.rint(2 * centered) + len(vector) - 1
    return np.asarray(doubled, dtype=np.int32 if len(vector) < 2**30 else np.int64)


@cached
def _untied_pair_order(x: Representation, kind: str) -> np.ndarray:
    """Return the pairs in the order of their ranks; none, of shape (0,), if some are tied."""
    place = _doubled_average_ranks(x, kind)
    order = np.full(len(place), -1, dtype=place.dtype)
    order[place // 2] = np.arange(len(place), dtype=place.dtype)
    return order if order.min() >= 0 else order[:0]


def _weight_sums_of_higher_ranks(x: Representation, weights: np.ndarray, kind: str) -> np.ndarray:
    """Return for each sample, over its pairs, the sum of the weights of all pairs of higher ranks
    in x, with half of those of the same rank; the weights sum to zero."""
    place, order, n = _doubled_average_ranks(x, kind), _untied_pair_order(x, kind), x.shape[0]
    if len(order) < len(place):
        pair_weights = np.bincount(place, weights=weights)
        return condensed_row_sums((pair_weights / 2 - np.cumsum(pair_weights))[place], n)
    sums, lower_sum = np.zeros(n), 0.0
    for start, stop in row_blocks(len(order), MAX_GATHERED_NUMBERS):
        pair_weights = weights.take(order[start:stop])  # faster than by an index
        lower = np.cumsum(pair_weights, dtype=np.float64)
        higher = pair_weights / 2 - (lower_sum + lower)
        lower_sum += float(lower[-1])
        for side in _pair_samples_by_rank(x, kind)[:, start:stop]:
            sums += np.bincount(side, weights=higher, minlength=n)
    return sums


@cached
def _pair_samples_by_rank(x: Representation, kind: str) -> np.ndarray:
    """Return both samples of each pair, in the order of the ranks, shape (2, pairs)."""
    n, order = x.shape[0], _untied_pair_order(x, kind)
    samples = np.arange(n, dtype=np.int16 if n < 2**15 else np.int32)
    sides = (
        np.repeat(samples, np.arange(n)[::-1]),
        np.concatenate([samples[i:] for i in range(1, n)]),
    )
    return np.stack([side.take(order) for side in sides])


@cached
def _centered_rank_matrix(x: Representation, kind: str) -> np.ndarray:
    """Return r - c for the pairs of each sample, (n, n), 0 on the diagonal; c is the rank of a pair
    among those of its sample, from 1/2."""
    place, precision = (
        _square_matrix_of_pairs(_doubled_average_ranks(x, kind)),
        rank_of_pairs(x, kind).dtype,
    )
    ranks, middle = np.empty(place.shape, dtype=precision), len(_doubled_average_ranks(x, kind)) - 1
    for start, stop in row_blocks(len(place)):
        rows = place[start:stop]
        ranks[start:stop] = (rows - middle) / 2 - _ranks_in_rows(rows, start)
    np.fill_diagonal(ranks, 0)
    return ranks


def _square_matrix_of_pairs(pairs: np.ndarray) -> np.ndarray:
    """Return numbers of all pairs on both sides of a zero diagonal, (n, n)."""
    from scipy.spatial.distance import squareform

    return squareform(pairs, checks=False)


def _ranks_in_rows(place: np.ndarray, start: int) -> np.ndarray:
    """Return the ranks, from 1/2, within rows of integers >= 0, that of equal ones their mean; the
    diagonal, which begins in column ``start``, does not count."""
    rows, n = np.arange(len(place)), place.shape[1]
    bits = n.bit_length()
    keys = (place.astype(np.int64) << bits) + np.arange(n)  # sorted faster than their positions
    keys[rows, start + rows] = start + rows - (1 << bits)
    keys.sort(axis=1)
    order, sorted_values = keys & ((1 << bits) - 1), keys >> bits
    ranks = np.empty(place.shape)
    np.put_along_axis(ranks, order, np.arange(-0.5, n - 1), axis=1)
    tied_rows = np.flatnonzero((sorted_values[:, 1:] == sorted_values[:, :-1]).any(axis=1))
    if len(tied_rows):
        from scipy.stats import rankdata  # takes as long to import as the rest of the library

        pairs = place[tied_rows]
        pairs[np.arange(len(tied_rows)), start + tied_rows] = -1
        ranks[tied_rows] = rankdata(pairs, axis=1) - 1.5
    return ranks


def _rank_product_sums(x: Representation, y: Representation, kind: str) -> np.ndarray:
    """Return the sums over all pairs of the products c e for each sample, but for what both have in
    common within bins of the ranks, shape (n,)."""
    (bins, c), (other_bins, e) = (_binned_ranks(v, kind) for v in (x, y))
    joint_bins = bins * np.int16(LEAVE_ONE_OUT_BINS) + other_bins  # below 2^14
    pairs = np.bincount(joint_bins, minlength=LEAVE_ONE_OUT_BINS**2).reshape(
        LEAVE_ONE_OUT_BINS, LEAVE_ONE_OUT_BINS
    )
    return np.einsum("ij,ij->i", c @ pairs, e)


@cached
def _binned_ranks(x: Representation, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the bin of the rank of each pair, and for each sample the mean of c over the pairs of
    every bin, shape (n, bins)."""
    n, place = x.shape[0], _doubled_average_ranks(x, kind).astype(np.int64)
    bins = ((place + 1) * LEAVE_ONE_OUT_BINS // (2 * len(place))).astype(np.int16)
    counts = np.bincount(bins, minlength=LEAVE_ONE_OUT_BINS)
    n_higher = counts[::-1].cumsum()[::-1] - counts
    # Of the pairs of the bin, those above.
    share = (len(place) - (place + 1) / 2 - n_higher[bins]) / counts[bins]
    bin_matrix, shares, means = (
        _square_matrix_of_pairs(bins),
        _square_matrix_of_pairs(share),
        np.empty((n, LEAVE_ONE_OUT_BINS)),
    )
    for start, stop in row_blocks(n):
        places = (
            bin_matrix[start:stop] + LEAVE_ONE_OUT_BINS * np.arange(stop - start)[:, None]
        ).ravel()
        size = LEAVE_ONE_OUT_BINS * (stop - start)
        row_counts = np.bincount(places, minlength=size).reshape(-1, LEAVE_ONE_OUT_BINS)
        row_counts[:, 0] -= 1  # on the diagonal
        share_sums = np.bincount(places, shares[start:stop].ravel(), size).reshape(
            -1, LEAVE_ONE_OUT_BINS
        )
        means[start:stop] = row_counts.cumsum(axis=1) - row_counts + share_sums
    return bins, means


@cached
def _leave_one_out_rank_squares(x: Representation, kind: str) -> np.ndarray:
    """Return the sums of squares of the centred average ranks of the pairs without each sample.

    (m³ - m) / 12 for m pairs without ties, and (t³ - t) / 12 less for t pairs of the same rank.
    """
    n, place = x.shape[0], _doubled_average_ranks(x, kind)
    m, is_tied = (n - 1) * (n - 2) // 2, len(_untied_pair_order(x, kind)) < len(place)
    sizes = np.bincount(place) if is_tied else np.ones(0)
    missing = np.full(n, _tie_corrections(sizes[sizes > 1]).sum())
    for i, row in enumerate(_square_matrix_of_pairs(place) if is_tied else ()):
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
    """Return t³ - t, 0 without ties."""
    return t.astype(np.float64) ** 3 - t


# ------------------------------------------------------------------------------------- many samples


def kendall_by_bins(xs: Sequence[Representation], ys: Sequence[Representation], rdm: str) -> Scores:
    """Kendall's tau-b of many pairs, from the order of pairs in different ones of 2048 bins."""
    grid = all_row_column_pairs(xs, ys)
    return Scores(rank_concordances(grid, rdm)[grid.places])


@rsa.claim("diagnostics")
def rank_error_bound(
    x: Representation, y: Representation, rdm: str, compare: str
) -> dict[str, float]:
    """Return the bound of the error of the value of many samples; nothing where it is exact.

    Where given dissimilarities are missing, return the number of pairs that both sides have.
    """
    if has_missing_pairs(x) or has_missing_pairs(y):
        return {"pairs": float(shared_pairs(x, y).sum())}
    if not is_blockwise(x) or compare not in ("spearman", "kendall"):
        return {}
    if compare == "kendall":
        return {"rank_error": tau_error(*(concordance_bins(r, kind=rdm) for r in (x, y)))}
    angle = sum(rank_bins(r, kind=rdm).error for r in (x, y))
    return {"rank_error": float(2 * np.sin(min(angle, np.pi) / 2))}
