"""Representational similarity analysis: correlation of dissimilarities in two representations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..base.arrays import Array, clip_above_one, frobenius_inner, records_gradient, to_numpy
from ..contracts._measure import measure
from ..contracts.claims import COSINE_INVARIANCES, SHAPE_INVARIANCES, AllPairs, Product, Scores
from ..data.representation import Representation
from ..intermediates.distances import SampleCovariance, rdm_vectors, shared_pairs, whitened_gram
from ..intermediates.matrices import dissimilarity_pair_matrix
from ..intermediates.missing_pairs import has_missing_pairs
from ..intermediates.pair_matrix import expected_cosine
from ..intermediates.rank_bins import concordance_bins, rank_bins, rank_concordances, tau_error
from ..intermediates.rectangles import MAX_STORED_SAMPLES, all_row_column_pairs, is_blockwise
from .inner_products import constant_zero, prefers_batched_products, warn_near_ceiling
from .leave_one_out.similarity_analysis import leave_one_out_rank_products, leave_one_out_rsa

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


@measure(
    label="RSA", family="similarity_matrix", version=4, larger_is_more_similar=True, range=(-1, 1),
    citation="kriegeskorte2008representational", min_samples=3, differentiable=False,
    takes="dissimilarities", leave_one_out=leave_one_out_rsa,
    compares=Product(
        dissimilarity_pair_matrix, blocks=True, by_rows=prefers_batched_products,
        rows_of=leave_one_out_rank_products,
    ),
)  # fmt: skip
def rsa(
    x: Representation,
    y: Representation,
    *,
    rdm: Literal["correlation", "cosine", "euclidean", "sqeuclidean"] = "correlation",
    compare: RdmComparison = "spearman",
    covariance: SampleCovariance = None,
) -> Array:
    r"""Representational similarity analysis: the correlation of two matrices of dissimilarities
    between samples.

    .. math:: \operatorname{corr} \left( \operatorname{vec}_{i<j} D_X, \operatorname{vec}_{i<j} D_Y
        \right)

    ``rdm`` is the dissimilarity within a representation: ``"correlation"`` (1 - Pearson over
    features), ``"cosine"``, ``"euclidean"``, ``"sqeuclidean"``. ``compare`` is the correlation of
    the two upper triangles: ``"spearman"`` (average ranks for ties), ``"pearson"``, ``"cosine"``
    (uncentred), ``"kendall"`` (tau-b). For a model that predicts ties, use ``"kendall_a"``
    (concordant minus discordant over all pairs) or ``"rho_a"`` (the covariance of ranks times 12 /
    (p³ - p) for p pairs), which are less than 1 where there are ties (Schütt et al. 2023).

    ``"whitened_cosine"`` and ``"whitened_pearson"`` allow for the dependence of dissimilarities
    that share a sample (Diedrichsen et al. 2021):

    .. math:: \frac{d_X^\top V^{-1} d_Y}{\sqrt{d_X^\top V^{-1} d_X \; d_Y^\top V^{-1} d_Y}},
        \qquad V = (C S C^\top) \circ (C S C^\top)

    with C the contrasts of all pairs and S the ``covariance`` of the errors of the samples: a
    variance for each sample such as 1 / trials, by default equal, or an (n, n) matrix, for example
    where the responses to samples that follow each other share noise. With equal variances and
    ``rdm="sqeuclidean"``, ``"whitened_cosine"`` is linear ``cka``. ``"whitened_pearson"`` first
    removes, in the same metric, the part that equal dissimilarities explain; ``corr_cov`` of
    rsatoolbox subtracts the plain mean, which is the same for equal variances only. The code forms
    no matrix of pairs by pairs: O(n^3) time with a matrix S.

    X or Y may hold given dissimilarities (:func:`~resemblance.from_dissimilarities`,
    :func:`~resemblance.dissimilarities`), whatever ``rdm`` is. If some dissimilarities are missing,
    the measure compares the pairs present in X and in Y, at least three; results record the number
    of pairs as ``pairs``. Whitened comparisons accept no missing pairs.

    X is (n, d), Y is (n, e), n >= 3. A row without direction (constant, for ``"correlation"``) has
    dissimilarity 1 to all other rows. With d = 1 and ``"correlation"`` no row has a direction.
    O(n^2 (d + log n)) time, n^2/2 numbers per representation. Raises ``UndefinedError`` when all
    dissimilarities of a representation are equal. Raises ``ValueError`` when the
    ``covariance`` is neither n positive numbers nor a positive definite (n, n) matrix, or for a
    ``covariance`` with a comparison that is not whitened.

    For more than 4096 samples O(n^2 d) time and O(n d) memory. Pearson and cosine stay exact.
    ``"spearman"`` gives a rank to each of 2^18 bins, and ``"kendall"`` leaves out pairs within the
    same of 2048 bins; results record as ``rank_error_bound`` how far the value can be from the
    exact value. Usually the bounds are 1e-5 and 1.5e-3, and the errors 1e-9 and 2e-4. The other
    comparisons are computed as for few samples.

    Use it when you compare with studies of brains or behaviour, or know only dissimilarities.

    Beware. An offset changes the default, correlation distance with Spearman correlation. Pairs of
    samples are not independent: test by permuting samples, never pairs.

    Reference: Kriegeskorte et al. 2008. ``"correlation"`` depends on a common offset unless the
    offset is equal for all features, so the measure is not translation invariant, although some
    sources list the measure as translation invariant.
    """
    if covariance is not None and not compare.startswith("whitened"):
        raise ValueError(f"rsa: covariance is for whitened comparisons, not {compare!r}")
    if compare.startswith("whitened"):
        a, b = (whitened_gram(r, rdm, compare, covariance) for r in (x, y))
        return 1.0 if x is y else min(1.0, float(np.vdot(a, b)))
    a, b = rdm_vectors(x, y, rdm, compare)
    if compare.startswith("kendall"):
        return kendall_tau_from_ranks(a, b, compare)
    is_itself = x is y and compare != "rho_a" and not records_gradient(x.source)
    # The inner product of a unit vector with itself differs from 1 by rounding.
    return 1.0 if is_itself else clip_above_one(frobenius_inner(a, b))


@rsa.claim("uninformative")
def uninformative_dissimilarities(
    x: Representation, y: Representation, rdm: str, compare: str, covariance: SampleCovariance
) -> str:
    """Near an extreme with ``compare="cosine"`` or "whitened_cosine" when the dissimilarities vary
    little, for any number of samples.

    In this case the value of the pair is near the value of equal data, whatever the data. The
    function then returns a warning as text, otherwise "", and always "" for a comparison other than
    "cosine" and "whitened_cosine".
    """
    if compare not in ("cosine", "whitened_cosine"):
        return ""
    matrices = (dissimilarity_pair_matrix(r, rdm, compare, covariance) for r in (x, y))
    return warn_near_ceiling(x.n_samples, expected_cosine(*matrices))


@rsa.claim("claims_for")
def _rsa_claims(rdm: str, compare: RdmComparison) -> dict[str, Any]:
    """Return the claims of ``rsa`` that depend on the dissimilarities and on the comparison."""
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
    if compare in ("kendall_a", "rho_a"):  # with ties, X with itself scores below 1
        claims["identity"] = False
    return claims


@rsa.claim("diagnostics")
def rank_error_bound(
    x: Representation, y: Representation, rdm: str, compare: str
) -> dict[str, float]:
    """Return {"rank_error": bound of the error} for a value of many samples; {} if the value is
    exact.

    If given dissimilarities are missing, return {"pairs": the number of pairs that have a
    dissimilarity in x and in y}.
    """
    if has_missing_pairs(x) or has_missing_pairs(y):
        return {"pairs": float(shared_pairs(x, y).sum())}
    if not is_blockwise(x) or compare not in ("spearman", "kendall"):
        return {}
    if compare == "kendall":
        return {"rank_error": tau_error(*(concordance_bins(r, kind=rdm) for r in (x, y)))}
    angle = sum(rank_bins(r, kind=rdm).error for r in (x, y))
    return {"rank_error": float(2 * np.sin(min(angle, np.pi) / 2))}


def kendall_tau_from_ranks(x_ranks: Array, y_ranks: Array, compare: str) -> float:
    """Return Kendall's tau-b of two vectors of ranks ``x_ranks`` and ``y_ranks``, (pairs,), or
    tau-a if ``compare`` is ``"kendall_a"``.

    tau-a is tau-b times the square roots of the two shares of pairs of entries without ties.
    """
    from scipy.stats import kendalltau  # importing scipy.stats takes as long as resemblance

    ranks = to_numpy(x_ranks), to_numpy(y_ranks)
    tau = float(kendalltau(*ranks).statistic)
    if compare == "kendall":
        return tau
    pairs = len(ranks[0]) * (len(ranks[0]) - 1)
    tie_counts = (np.unique(r, return_counts=True)[1].astype(float) for r in ranks)
    return tau * math.prod(math.sqrt(1 - float((k * (k - 1)).sum()) / pairs) for k in tie_counts)


# ------------------------------------------------------------------------------------- many samples


def kendall_by_bins(xs: Sequence[Representation], ys: Sequence[Representation], rdm: str) -> Scores:
    """Return Kendall's tau-b for all pairs of ``xs`` and ``ys``, (rows, columns), from
    dissimilarities of ``rdm`` in 2048 bins of ranks.

    Only pairs of dissimilarities in different bins have an order.
    """
    grid = all_row_column_pairs(xs, ys)
    return Scores(rank_concordances(grid, rdm)[grid.places])
