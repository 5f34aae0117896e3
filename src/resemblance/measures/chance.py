"""Where a value means little: what too few samples make of a measure, whatever the data.

Each function here is the claim ``uninformative`` of some measures: a function of what they are
functions of, which returns a sentence, or an empty one. A value is *fixed* when the samples leave
it no other; it is *near* that of equal representations when unrelated ones reach ``NEAR`` of the
way to it, on average over all orders of the samples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import norm, scalar
from ..representation import Representation
from ..views.grams import GramKernel, Pairs
from ..views.matrices import (
    centred_distances,
    dissimilarities,
    expected_cosine,
    expected_inner,
    kernel_gram,
    smoother,
)
from ..views.neighbours import own_cosines
from ..views.points import size, unit_rows
from ..views.spectra import components_for, direction_flatness, rank, root_flatness, with_tied
from ..views.summaries import uniformity
from .expected import chance_of_return, mean_of_leading_grams

NEAR = 0.8
STEPS = (0.99, 0.95, 0.9, NEAR)


def fixed(n: int) -> str:
    """The sentence for a value that n samples fix."""
    return f"fixed by the number of samples: {n} leave it this value whatever the data"


def near(n: int, share: float) -> str:
    """The sentence for a share of the way to the value of equal representations; empty for a small
    one."""
    reached = next((step for step in STEPS if share >= step), None)
    if reached is None:
        return ""
    return (
        f"little above chance: unrelated representations of {n} samples come {reached:.0%} of the "
        "way to equal ones"
    )


def of_spans(x: Representation, y: Representation) -> str:
    """Fixed when one side has n - 1 independent columns (n <= d + 1 or n <= e + 1); near for 0.8 (n
    - 1) of them."""
    return "" if _narrow(x, y) else _filled(x.n_samples, x.n_samples - 1, rank(x), rank(y))


def of_weighted_spans(x: Representation, y: Representation, weights: str, directions: str) -> str:
    """Fixed when one side has n - 1 independent columns, with ``directions="all"`` the side that
    gives no weights."""
    if directions != "all":
        return of_spans(x, y)
    partners = {"first": (y,), "second": (x,), "symmetric": (x, y)}[weights]
    n, widest = x.n_samples, min(r.shape[1] for r in partners)
    return "" if widest < NEAR * (n - 1) else _filled(n, n - 1, min(map(rank, partners)))


def of_leading_spans(
    x: Representation, y: Representation, explained_variance: float, truncation: str
) -> str:
    """Fixed when n - 1 components of one side are kept, with those tied with the last; near for 0.8
    (n - 1) of them."""
    if truncation == "resi" or _narrow(x, y):
        return ""
    counts = (
        with_tied(r, count=components_for(r, explained_variance=explained_variance)) for r in (x, y)
    )
    return _filled(x.n_samples, x.n_samples - 1, *counts)


def of_components(x: Representation, y: Representation, k: int) -> str:
    """Fixed when k components of one side, with those tied with the last, are n - 1; near for 0.8
    (n - 1)."""
    if _narrow(x, y):
        return ""
    return _filled(x.n_samples, x.n_samples - 1, *(with_tied(r, count=k) for r in (x, y)))


def of_predictor(x: Representation, y: Representation, predict: str) -> str:
    """Fixed when the predictor has n - 1 independent columns (n <= d + 1); near for 0.8 (n - 1) of
    them."""
    predictor = x if predict == "second" else y
    return "" if _narrow(predictor) else _filled(x.n_samples, x.n_samples - 1, rank(predictor))


def of_column_spaces(x: Representation, y: Representation) -> str:
    """Fixed when one side has n independent columns, not centred (n <= d or n <= e); near for 0.8 n
    of them."""
    if _narrow(x, y):
        return ""
    return _filled(x.n_samples, x.n_samples, *(rank(r, centered=False) for r in (x, y)))


def of_smoothers(x: Representation, y: Representation, ridge: float) -> str:
    """Fixed when one side has n - 1 independent columns and ``ridge`` is 0; near for few samples
    with any ridge."""
    n = x.n_samples
    if _narrow(x, y):
        return ""
    if not ridge and max(rank(x), rank(y)) == n - 1:
        return fixed(n)
    P, Q = smoother(x, ridge), smoother(y, ridge)
    return near(n, 2 * expected_inner(P, Q) / (P.square + Q.square))


def of_grams(
    x: Representation,
    y: Representation,
    kernel: str = "linear",
    estimator: str = "biased",
    bandwidth: float = 1.0,
    pairs: Pairs = "distinct",
) -> str:
    """Near when the effective dimensions of both Gram matrices approach n - 1, as for n well below
    d; not debiased."""
    if x.n_samples == 2:
        return fixed(2)
    if estimator != "biased" or (kernel in ("linear", "cosine") and is_low(x, y)):
        return ""
    of = GramKernel(kernel, bandwidth, pairs)
    K, L = kernel_gram(x, of), kernel_gram(y, of)
    return near(x.n_samples, expected_cosine(K, L))


def of_shrunk_grams(x: Representation, y: Representation, shrinkage: float) -> str:
    """Near when the effective dimensions of both Gram matrices approach n - 1, as for n well below
    d."""
    return of_grams(x, y)


def of_leading_grams(x: Representation, y: Representation, explained_variance: float) -> str:
    """Near when the effective dimensions of the leading components approach n - 1, as for n well
    below d."""
    if is_low(x, y):
        return ""
    return near(x.n_samples, mean_of_leading_grams(x, y, explained_variance=explained_variance))


def of_distances(x: Representation, y: Representation, squared: bool) -> str:
    """Near when the distances between samples are nearly equal, as for few samples of many
    features."""
    share = expected_cosine(centred_distances(x), centred_distances(y))
    return near(x.n_samples, share if squared else math.sqrt(max(share, 0.0)))


def of_dissimilarities(
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
    matrices = (dissimilarities(r, rdm, compare, variances) for r in (x, y))
    return near(x.n_samples, expected_cosine(*matrices))


def of_rotations(x: Representation, y: Representation, alpha: float = 1.0) -> str:
    """Near when the singular values of both sides are n - 1 nearly equal ones, as for n <= d; fixed
    if whitened."""
    if alpha == 0:
        return of_spans(x, y)
    if is_low(x, y) or not all(scalar(size(r)) for r in (x, y)):
        return ""
    return near(x.n_samples, root_flatness(x, alpha=alpha) * root_flatness(y, alpha=alpha))


def of_row_directions(x: Representation, y: Representation) -> str:
    """Near when the rows of both sides point in nearly orthogonal directions, as for n below d."""
    return "" if is_low(x, y) else near(x.n_samples, direction_flatness(x) * direction_flatness(y))


def of_matched_columns(x: Representation, y: Representation, matching: str = "") -> str:
    """Near when n is so small that among unrelated columns some correlate: about a dozen for a
    thousand columns."""
    # One to one, the best are few.
    n, columns = x.n_samples, min(x.shape[1], y.shape[1]) / (2 if matching else 1)
    if n > 64 or columns < 2:
        return ""
    if n == 2:
        return near(n, NEAR)
    from scipy.special import stdtrit

    # Of the statistic t of a correlation, the largest of so many.
    quantile = float(stdtrit(n - 2, 1 - 1 / columns))
    return near(n, quantile / math.sqrt(n - 2 + quantile**2))


def of_neighbour_sets(x: Representation, y: Representation, k: int, corrected: bool = False) -> str:
    """Fixed when all other samples are neighbours (k = n - 1); near for 0.8 (n - 1) of them."""
    share = k / (x.n_samples - 1)
    return "" if corrected else fixed(x.n_samples) if share == 1 else near(x.n_samples, share)


def of_neighbour_unions(x: Representation, y: Representation, k: int) -> str:
    """Fixed when all other samples are neighbours (k = n - 1); near for 0.9 (n - 1) of them."""
    share = k / (x.n_samples - 1)
    return fixed(x.n_samples) if share == 1 else near(x.n_samples, share / (2 - share))


def of_mean_ranks(x: Representation, y: Representation, k: int, corrected: bool) -> str:
    """Fixed when all other samples are neighbours (k = n - 1)."""
    return fixed(x.n_samples) if k == x.n_samples - 1 and not corrected else ""


def of_returns(x: Representation, y: Representation, k: int, metric: Any, index: Any) -> str:
    """Near when chance leads back anyway: k of about 1.3 times the root of n, or more."""
    n = x.n_samples
    if k == n - 1:
        return fixed(n)
    if n > k * k:
        return ""
    return near(n, chance_of_return(x, k=k, metric=metric, index=index))


def of_profiles(x: Representation, y: Representation, k: int, of: str, index: Any) -> str:
    """Near with ``of="distance"`` when 1 - cos varies little, for any number of samples."""
    if of == "similarity":
        return ""
    near_by = [1 - own_cosines(r, k=k, index=index) for r in (x, y)]
    # The mean over all pairs.
    overall = [1 - scalar(norm(r.xp.mean(unit_rows(r), axis=0))) ** 2 for r in (x, y)]
    product = near_by[0].sum(axis=1) * overall[1] + near_by[1].sum(axis=1) * overall[0]
    lengths = [np.sqrt((o**2).sum(axis=1) + k * mean**2) for o, mean in zip(near_by, overall)]
    return near(x.n_samples, float(np.mean(product / np.maximum(lengths[0] * lengths[1], 1e-300))))


def of_far_samples(x: Representation, y: Representation, rows: str, self_pairs: bool) -> str:
    """Fixed with ``rows="raw"`` when all samples are so far apart that each one sees only
    itself."""
    if rows == "unit" or not self_pairs:
        return ""
    alone = all(
        scalar(uniformity(r, unit=False, self_pairs=True)) + math.log(r.n_samples) < 1e-6
        for r in (x, y)
    )
    return (
        "fixed by the scale of the data: all samples are so far apart that each one sees only "
        "itself"
        if alone
        else ""
    )


def _filled(n: int, room: int, *dimensions: int) -> str:
    """The sentence for spaces of these dimensions, of ``room`` possible ones."""
    return fixed(n) if max(dimensions) >= room else near(n, max(dimensions) / room)


def _narrow(*sides: Representation) -> bool:
    """Say whether all sides have too few columns for one of them to span most of what the samples
    have."""
    return max(r.shape[1] for r in sides) < NEAR * (sides[0].n_samples - 1)


def is_low(x: Representation, y: Representation) -> bool:
    """Say whether both sides together have too few columns for a product of two flatnesses to come
    near 1."""
    room = x.n_samples - 1
    return math.sqrt(min(x.shape[1], room) * min(y.shape[1], room)) < NEAR * room
