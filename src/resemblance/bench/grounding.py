r"""Expected differences of pairs of representations, and scores of how well measured differences
agree.

A :class:`Block` is a set of pairs that may be ranked against each other, with the expected
difference of every pair. A quality function maps two vectors per block, the measured and the
expected differences, to a score. A rule averages the scores over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from ..significance import pairs_of, rank_correlation, ranks_of_rows


class Block(NamedTuple):
    """Pairs of representations, as positions in a matrix of differences, and the expected
    difference of each pair: three arrays (pairs,). Only the order of the expected differences
    counts."""

    rows: np.ndarray
    columns: np.ndarray
    expected: np.ndarray


ExpectedBlocks = tuple[Block, ...]


# ------------------------------------------------------------------------------------- expectations


def by_prediction(expected: np.ndarray, *, both_orders: bool = False) -> ExpectedBlocks:
    """Return one block of all pairs of n models, with the entries of ``expected`` (n, n),
    symmetric, as expected differences.

    ``both_orders``: count (i, j) and (j, i) as two pairs, for an asymmetric measure.
    """
    rows, columns = pairs_of(len(expected), both_orders)
    return (Block(rows, columns, np.asarray(expected, float)[rows, columns]),)


def by_group(groups: Sequence[object], *, both_orders: bool = False) -> ExpectedBlocks:
    """Return a block per group: pairs within the group (expected difference 0), and pairs of a
    member and an outsider (expected difference 1).

    ``groups``: the group of every model. ``both_orders``: for an asymmetric measure, add (outsider,
    member) and the reversed pairs within the group. Without ``both_orders``, pairs within the group
    follow the order of the list, and mixed pairs are (member, outsider).
    """
    return tuple(
        _group_block(np.array([g == group for g in groups]), both_orders)
        for group in dict.fromkeys(groups)
    )


def by_anchor(groups: Sequence[object]) -> ExpectedBlocks:
    """Return a block per model, the anchor: pairs (anchor, other model), with expected difference 0
    in the group of the anchor and 1 outside (Eq. 7). ``groups``: the group of every model."""
    blocks = []
    for anchor, group in enumerate(groups):
        others = np.array([i for i in range(len(groups)) if i != anchor], dtype=int)
        expected = np.array([float(groups[i] != group) for i in others])
        blocks.append(Block(np.full(len(others), anchor), others, expected))
    return tuple(blocks)


def by_distance(layers: int) -> ExpectedBlocks:
    """Return one block of all pairs (lower, upper) of ``layers`` layers; the expected difference is
    the distance of the layer indices."""
    rows, columns = pairs_of(layers, both_orders=False)
    return (Block(rows, columns, (columns - rows).astype(float)),)


def by_nesting(layers: int) -> ExpectedBlocks:
    """Return a block per pair (lower, upper) of ``layers`` layers: the pair itself (expected
    difference 1), and all pairs of layers from the lower to the upper layer (0), the nested tuples
    of Eq. 8."""
    rows, columns = pairs_of(layers, both_orders=False)
    blocks = []
    for i, j in zip(rows, columns):
        mask = (rows >= i) & (columns <= j)
        is_outer = (rows[mask] == i) & (columns[mask] == j)
        blocks.append(Block(rows[mask], columns[mask], is_outer.astype(float)))
    return tuple(blocks)


def by_source(layers: int) -> ExpectedBlocks:
    """Return two blocks for each of ``layers`` layers: the pairs of the layer with all layers
    above, and the pairs with all layers below. The expected difference is the distance of the layer
    indices."""
    blocks = []
    for source in range(layers):
        for targets in (np.arange(source + 1, layers), np.arange(source)):
            distance = np.abs(targets - source).astype(float)
            blocks.append(Block(np.full(len(targets), source), targets, distance))
    return tuple(blocks)


def _group_block(members: np.ndarray, both_orders: bool) -> Block:
    rows, columns = pairs_of(len(members), both_orders=True)
    is_within, is_leaving = members[rows] & members[columns], members[rows] & ~members[columns]
    is_entering = ~members[rows] & members[columns]
    if both_orders:
        mask = is_within | is_leaving | is_entering
    else:
        mask = is_within & (rows < columns) | is_leaving
    return Block(rows[mask], columns[mask], (~is_within[mask]).astype(float))


# ---------------------------------------------------------------------------------------- qualities


class BlockScore(NamedTuple):
    """The score of a block, and the weight of the block in the average over blocks. The score is
    NaN if the block has nothing to compare."""

    value: float
    weight: float = 1.0


BlockQuality = Callable[[np.ndarray, np.ndarray], BlockScore]


def spearman(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Spearman's rank correlation of measured and expected differences, both (pairs,), in [-1, 1];
    1 for equal order. The weight is 1.

    Pearson's correlation of the ranks; ties share their mean rank. Pairs without a measured
    difference (NaN) are left out. NaN with fewer than two pairs, or if all measured or all expected
    differences are equal.
    """
    measured, expected = _complete_pairs(measured, expected)
    if len(measured) < 2 or np.ptp(expected) == 0 or (measured == measured[0]).all():
        return BlockScore(np.nan)
    a, b = (ranks_of_rows(v) for v in (measured, expected))
    return BlockScore(float(rank_correlation(a, b)))


def conformity(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    r"""Share of comparisons of two pairs in which the pair with the smaller expected difference
    does not have the larger measured difference, in [0, 1]. ``measured``, ``expected``: (pairs,).

    Equal differences conform, because the paper's inequality is :math:`\le` (Klabunde et al. 2025,
    Eqs. 7 and 8). Pairs without a measured difference are left out. The weight is the number of
    comparisons, so the average over blocks is the share among all comparisons of all blocks.
    """
    return _conformity_with_ties(*_complete_pairs(measured, expected), ties=True)


def auprc(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Area under the precision-recall curve for retrieving the similar pairs (expected difference
    0) by small measured differences, in [0, 1]. The weight is 1.

    Average precision: the sum of precisions over the steps of recall, without interpolation; equal
    differences share a threshold. An uninformative measure scores about the share of similar pairs,
    not 1/2. Pairs without a measured difference are left out; NaN if no similar or no dissimilar
    pair remains.
    """
    measured, expected = _complete_pairs(measured, expected)
    positives = expected == 0
    if positives.all() or not positives.any():
        return BlockScore(np.nan)
    return BlockScore(_average_precision(positives, -ranks_of_rows(measured)))


def conformity_strict(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return the conformity in [0, 1] as in the authors' code for tests 3 to 5: equal measured
    differences do not conform, and every block has weight 1.

    ``measured``, ``expected``: differences, (pairs,). Pairs with a measured difference of NaN are
    left out. The code compares (largest difference - difference). An infinite difference therefore
    makes all finite differences equal.
    """
    measured, expected = _complete_pairs(measured, expected)
    with np.errstate(invalid="ignore"):
        similarity = measured.max(initial=-np.inf) - measured
    return BlockScore(
        _conformity_with_ties(*_complete_pairs(-similarity, expected), ties=False).value
    )


def conformity_of_missing(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return the conformity in [0, 1] as in the authors' code for test 6: a comparison of two pairs
    conforms if a difference of the two is missing (NaN).

    ``measured``, ``expected``: differences, (pairs,). The weight is the number of comparisons, also
    of comparisons with a missing difference.
    """
    score = _conformity_with_ties(*_complete_pairs(measured, expected), ties=True)
    total = int((expected[:, None] < expected[None, :]).sum())
    violations = (1 - score.value) * score.weight if score.weight else 0.0
    return BlockScore(1 - violations / total if total else np.nan, total)


def spearman_of_complete(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return Spearman's correlation of measured and expected differences, both (pairs,), in [-1,
    1], with weight 1; NaN if any measured difference is missing, as in the authors' code for test
    6."""
    return BlockScore(np.nan) if np.isnan(measured).any() else spearman(measured, expected)


def auprc_of_ratios(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return the AUPRC as in the authors' code for distances.

    ``measured``: the differences, (pairs,). ``expected``, (pairs,): 0 for a similar pair, any other
    number for a dissimilar pair. The score of a pair is (largest - difference) / largest, with the
    largest measured difference of the block (5e-5 if the largest is 0).

    Equal to :func:`auprc` except in two cases. If all differences are negative, the order is
    reversed. If a difference is infinite, the result is NaN.
    """
    measured, expected = _complete_pairs(measured, expected)
    positives = expected == 0
    if positives.all() or not positives.any() or not np.isfinite(measured).all():
        return BlockScore(np.nan)
    largest = measured.max() or 5e-5
    return BlockScore(_average_precision(positives, (largest - measured) / largest))


def auprc_of_similarities(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return the AUPRC as in the authors' code for similarities, without rescaling.

    ``measured``: differences, (pairs,), not similarities. ``expected``, (pairs,): 0 for a similar
    pair. Equal to :func:`auprc`, but NaN if a measured difference is infinite.
    """
    values, _ = _complete_pairs(measured, expected)
    return auprc(measured, expected) if np.isfinite(values).all() else BlockScore(np.nan)


def _complete_pairs(measured: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mask = ~(np.isnan(measured) | np.isnan(expected))
    return measured[mask], expected[mask]


def _conformity_with_ties(measured: np.ndarray, expected: np.ndarray, ties: bool) -> BlockScore:
    # Sorted by expectation, each pair is compared with all pairs of strictly larger expectation.
    is_smaller = expected[:, None] < expected[None, :]
    conforms = (
        measured[:, None] <= measured[None, :] if ties else measured[:, None] < measured[None, :]
    )
    total = int(is_smaller.sum())
    return BlockScore(float((is_smaller & conforms).sum()) / total if total else np.nan, total)


def _average_precision(positive: np.ndarray, score: np.ndarray) -> float:
    """Return the average precision of retrieving the ``positive`` pairs by large scores; equal
    scores share a threshold. ``positive``, ``score``: (pairs,)."""
    order = np.argsort(-score, kind="stable")
    score = score[order]
    lasts = np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)  # of equal scores
    found = np.cumsum(positive[order])[lasts]
    precision, recall = found / (lasts + 1), found / found[-1]
    # From the end, as scikit-learn adds: the last digits are equal
    return float(np.sum(np.ascontiguousarray((np.diff(recall, prepend=0) * precision)[::-1])))


# ----------------------------------------------------------------------------------------- averages


def pooled(agreements: Sequence[BlockScore]) -> float:
    """Return the mean of block scores, weighted by the block weights. ``agreements``: the scores
    with their weights. Blocks without a score (NaN) or with weight 0 are left out. NaN if no block
    remains."""
    scores = [a for a in agreements if a.weight > 0 and not np.isnan(a.value)]
    if scores:
        return float(np.average([a.value for a in scores], weights=[a.weight for a in scores]))
    return np.nan


def complete_mean(agreements: Sequence[BlockScore]) -> float:
    """Return the unweighted mean of the block scores ``agreements``; NaN if any block has no score,
    or without blocks."""
    return float(np.mean([a.value for a in agreements])) if agreements else np.nan


class Rule(NamedTuple):
    """The rule for scoring a matrix of differences: a block function, a quality function for every
    block, and an average over blocks.

    ``blocks``: called with ``expected`` of a part and ``both_orders``. ``of_similarities``: a
    different quality for measures with larger values for more similar pairs. ``is_complete``: a
    measure with a missing difference has no score; if False, the score uses the remaining
    differences. ``rounded``: maps an array of differences to an array without rounding error.
    ``pvalue``: a function of the differences, the expected differences, and whether (i, j) and (j,
    i) are two pairs.
    """

    blocks: Callable[..., ExpectedBlocks]
    quality: BlockQuality
    average: Callable[[Sequence[BlockScore]], float] = pooled
    of_similarities: BlockQuality | None = None
    is_complete: bool = False
    rounded: Callable[[np.ndarray], np.ndarray] | None = None
    pvalue: Callable[[np.ndarray, np.ndarray, bool], float | None] | None = None

    def of(self, larger_is_more_similar: bool) -> Rule:
        """Return the rule for similarities (``larger_is_more_similar`` is True) or for distances.

        The rule for similarities has ``of_similarities`` as its quality. The rule for distances,
        and a rule without ``of_similarities``, is the rule itself.
        """
        if self.of_similarities is None or not larger_is_more_similar:
            return self
        return self._replace(quality=self.of_similarities)


def apply(rule: Rule, differences: np.ndarray, blocks: ExpectedBlocks) -> float:
    """Return the score of a measure by a rule: the average over ``blocks`` of the quality of a
    block.

    ``differences``: the measured differences, (rows, columns); NaN for a missing difference.
    """
    return rule.average([rule.quality(differences[b.rows, b.columns], b.expected) for b in blocks])


# ---------------------------------------------------------------- one reference against many others


def by_reference(expected: Sequence[float], *, both_orders: bool = False) -> ExpectedBlocks:
    """Return one block for a (1, n) matrix of differences: a reference against n representations,
    with n expected differences. ``both_orders`` has no effect, since a (1, n) matrix has a single
    order."""
    columns = np.arange(len(expected))
    return (Block(np.zeros_like(columns), columns, np.asarray(expected, float)),)


def kendall(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    r"""Kendall's rank correlation :math:`\tau_b` of measured and expected differences, both
    (pairs,), in [-1, 1]; 1 for equal order. The weight is 1.

    Pairs without a measured difference (NaN) are left out. NaN with fewer than two pairs, or if all
    measured or all expected differences are equal.
    """
    measured, expected = _complete_pairs(measured, expected)
    if len(measured) < 2 or np.ptp(expected) == 0 or (measured == measured[0]).all():
        return BlockScore(np.nan)
    tau = kendalltau(measured, expected).statistic
    # Without rounding, equal order would give 0.9999999999999999 instead of 1.
    return BlockScore(round(float(tau), 12))


def concordance(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Return the share of comparisons of two pairs in which the pair with the smaller expected
    difference has the smaller measured difference, in [0, 1].

    ``measured``, ``expected``: differences, (pairs,). Equal measured differences count 1/2, so a
    measure with all differences equal scores 1/2. Pairs without a measured difference are left out.
    The weight is the number of comparisons.
    """
    measured, expected = _complete_pairs(measured, expected)
    with_ties, without_ties = (
        _conformity_with_ties(measured, expected, ties=ties) for ties in (True, False)
    )
    return BlockScore((with_ties.value + without_ties.value) / 2, with_ties.weight)
