r"""What is expected of pairs of representations, and how well measured differences agree with it.

A :class:`Block` is a set of pairs that may be ranked against each other, with the difference
expected of each. A quality sees two vectors per block, the measured and the expected differences,
and is averaged over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from ..significance import pairs_of, rank_correlation, ranks_of_rows


class Block(NamedTuple):
    """Pairs (row, column) of a matrix of differences, and the difference expected of each (only its
    order counts)."""

    rows: np.ndarray
    columns: np.ndarray
    expected: np.ndarray


ExpectedBlocks = tuple[Block, ...]


# ------------------------------------------------------------------------------------- expectations


def by_prediction(expected: np.ndarray, *, both_orders: bool = False) -> ExpectedBlocks:
    """One block of all pairs of models, which are expected to differ as much as their predictions
    do.

    ``expected``: (n, n) symmetric. ``both_orders``: of an asymmetric measure, (i, j) and (j, i) are
    two pairs.
    """
    rows, columns = pairs_of(len(expected), both_orders)
    return (Block(rows, columns, np.asarray(expected, float)[rows, columns]),)


def by_group(groups: Sequence[object], *, both_orders: bool = False) -> ExpectedBlocks:
    """One block per group: pairs inside it (expected difference 0) and of a member with an outsider
    (1).

    ``groups``: the group of each of n models. ``both_orders``: of an asymmetric measure also
    (outsider, member), and both orders inside; without it, inside pairs in the order of the list
    and (member, outsider).
    """
    return tuple(
        _group_block(np.array([g == group for g in groups]), both_orders)
        for group in dict.fromkeys(groups)
    )


def by_anchor(groups: Sequence[object]) -> ExpectedBlocks:
    """One block per model: its pairs with the others of its group (0) and with outsiders (1),
    itself first (Eq. 7)."""
    blocks = []
    for anchor, group in enumerate(groups):
        others = np.array([i for i in range(len(groups)) if i != anchor], dtype=int)
        expected = np.array([float(groups[i] != group) for i in others])
        blocks.append(Block(np.full(len(others), anchor), others, expected))
    return tuple(blocks)


def by_distance(layers: int) -> ExpectedBlocks:
    """One block of all pairs of layers (lower, upper), expected to differ as their positions do."""
    rows, columns = pairs_of(layers, both_orders=False)
    return (Block(rows, columns, (columns - rows).astype(float)),)


def by_nesting(layers: int) -> ExpectedBlocks:
    """One block per pair of layers (1) with all pairs that lie between them (0): the nested tuples
    of Eq. 8."""
    rows, columns = pairs_of(layers, both_orders=False)
    blocks = []
    for i, j in zip(rows, columns):
        mask = (rows >= i) & (columns <= j)
        is_outer = (rows[mask] == i) & (columns[mask] == j)
        blocks.append(Block(rows[mask], columns[mask], is_outer.astype(float)))
    return tuple(blocks)


def by_source(layers: int) -> ExpectedBlocks:
    """One block per layer and side: its pairs with all layers above it, or below it, at their
    distances."""
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
    mask = (
        is_within | is_leaving | is_entering
        if both_orders
        else is_within & (rows < columns) | is_leaving
    )
    return Block(rows[mask], columns[mask], (~is_within[mask]).astype(float))


# ---------------------------------------------------------------------------------------- qualities


class BlockScore(NamedTuple):
    """A quality of one block, and the weight it has in the average over blocks. NaN: there is
    nothing to compare."""

    value: float
    weight: float = 1.0


BlockQuality = Callable[[np.ndarray, np.ndarray], BlockScore]


def spearman(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    r"""Spearman's rank correlation of measured and expected differences, in [-1, 1], 1 for the same
    order.

    Pearson's correlation of the ranks, ties sharing their mean rank. Pairs that were not measured
    (NaN) are left out. NaN with fewer than two pairs, or when all measured or all expected
    differences are equal.
    """
    measured, expected = _complete_pairs(measured, expected)
    if len(measured) < 2 or np.ptp(expected) == 0 or (measured == measured[0]).all():
        return BlockScore(np.nan)
    a, b = (ranks_of_rows(v) for v in (measured, expected))
    return BlockScore(float(rank_correlation(a, b)))


def conformity(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    r"""Share of comparisons of two pairs in which the one expected to differ less does not differ
    more, in [0, 1].

    Equal differences conform, as the paper's :math:`\le` says (Klabunde et al. 2025, Eqs. 7 and 8).
    Pairs that were not measured are left out. The weight is the number of comparisons, so that the
    average over blocks is the share of all comparisons of all blocks.
    """
    return _conformity_with_ties(*_complete_pairs(measured, expected), ties=True)


def auprc(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Area under the precision-recall curve for finding the pairs expected to be alike by small
    differences, in [0, 1].

    Average precision: the sum of precisions over the steps of recall, without interpolation; equal
    differences share one threshold. A measure that does not know gets about the share of such
    pairs, not one half. Pairs that were not measured are left out; NaN if no pair of either kind
    remains.
    """
    measured, expected = _complete_pairs(measured, expected)
    positives = expected == 0
    if positives.all() or not positives.any():
        return BlockScore(np.nan)
    return BlockScore(_average_precision(positives, -ranks_of_rows(measured)))


def conformity_strict(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Conformity as the authors' code computes it for tests 3 to 5: equal differences do not
    conform; every block counts 1.

    It compares largest - difference, which makes all finite differences equal when one is infinite.
    """
    measured, expected = _complete_pairs(measured, expected)
    with np.errstate(invalid="ignore"):
        similarity = measured.max(initial=-np.inf) - measured
    return BlockScore(
        _conformity_with_ties(*_complete_pairs(-similarity, expected), ties=False).value
    )


def conformity_of_missing(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Conformity as the authors' code computes it for test 6: a comparison with a missing
    difference conforms."""
    score = _conformity_with_ties(*_complete_pairs(measured, expected), ties=True)
    total = int((expected[:, None] < expected[None, :]).sum())
    violations = (1 - score.value) * score.weight if score.weight else 0.0
    return BlockScore(1 - violations / total if total else np.nan, total)


def spearman_of_complete(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Spearman correlation as the authors' code computes it for test 6: no value when a difference
    is missing."""
    return BlockScore(np.nan) if np.isnan(measured).any() else spearman(measured, expected)


def auprc_of_ratios(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """AUPRC as the authors' code computes it for distances: scored by (largest - difference) /
    largest.

    The same as :func:`auprc` except when all differences are negative, which turns the order round,
    or when one is infinite, which leaves no value.
    """
    measured, expected = _complete_pairs(measured, expected)
    positives = expected == 0
    if positives.all() or not positives.any() or not np.isfinite(measured).all():
        return BlockScore(np.nan)
    largest = measured.max() or 5e-5
    return BlockScore(_average_precision(positives, (largest - measured) / largest))


def auprc_of_similarities(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """AUPRC as the authors' code computes it for similarities, scored as they are: none when
    one is infinite."""
    values, _ = _complete_pairs(measured, expected)
    return auprc(measured, expected) if np.isfinite(values).all() else BlockScore(np.nan)


def _complete_pairs(measured: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mask = ~(np.isnan(measured) | np.isnan(expected))
    return measured[mask], expected[mask]


def _conformity_with_ties(measured: np.ndarray, expected: np.ndarray, ties: bool) -> BlockScore:
    # In the order of expectation, every pair is compared with those of strictly larger expectation.
    is_smaller = expected[:, None] < expected[None, :]
    conforms = (
        measured[:, None] <= measured[None, :] if ties else measured[:, None] < measured[None, :]
    )
    total = int(is_smaller.sum())
    return BlockScore(float((is_smaller & conforms).sum()) / total if total else np.nan, total)


def _average_precision(positive: np.ndarray, score: np.ndarray) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(positive, score))


# ----------------------------------------------------------------------------------------- averages


def pooled(agreements: Sequence[BlockScore]) -> float:
    """Mean weighted by what each block rests on; blocks without a value are left out."""
    scores = [a for a in agreements if a.weight > 0 and not np.isnan(a.value)]
    return (
        float(np.average([a.value for a in scores], weights=[a.weight for a in scores]))
        if scores
        else np.nan
    )


def complete_mean(agreements: Sequence[BlockScore]) -> float:
    """Mean over blocks, NaN if one of them has no value."""
    return float(np.mean([a.value for a in agreements])) if agreements else np.nan


class Rule(NamedTuple):
    """How one number is made of a matrix of differences: which blocks, which quality of each, which
    average.

    ``of_similarities``: the quality of a measure that is larger for what is more similar, where it
    is another. ``is_complete``: a measure that lacks one of the differences has no score; otherwise
    it is scored by the others. ``rounded``: returns differences without what is rounding.
    ``pvalue``: from the differences, what is expected, and whether both orders of a pair count.
    """

    blocks: Callable[..., ExpectedBlocks]
    quality: BlockQuality
    average: Callable[[Sequence[BlockScore]], float] = pooled
    of_similarities: BlockQuality | None = None
    is_complete: bool = False
    rounded: Callable[[np.ndarray], np.ndarray] | None = None
    pvalue: Callable[[np.ndarray, np.ndarray, bool], float | None] | None = None

    def of(self, larger_is_more_similar: bool) -> Rule:
        """Return the rule for measures of one direction."""
        if self.of_similarities is None or not larger_is_more_similar:
            return self
        return self._replace(quality=self.of_similarities)


def apply(rule: Rule, differences: np.ndarray, blocks: ExpectedBlocks) -> float:
    """Return the average of a quality over the blocks of a matrix of differences."""
    return rule.average([rule.quality(differences[b.rows, b.columns], b.expected) for b in blocks])


# ---------------------------------------------------------------- one reference against many others


def by_reference(expected: Sequence[float], *, both_orders: bool = False) -> ExpectedBlocks:
    """One block for a (1, n) matrix: a reference against n others, which are expected to differ
    from it so much, in the one order that it has."""
    columns = np.arange(len(expected))
    return (Block(np.zeros_like(columns), columns, np.asarray(expected, float)),)


def kendall(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    r"""Kendall's rank correlation :math:`\tau_b` of measured and expected differences, in [-1, 1],
    1 for one order.

    Pairs that were not measured (NaN) are left out. NaN with fewer than two pairs, or when all
    measured or all expected differences are equal.
    """
    measured, expected = _complete_pairs(measured, expected)
    if len(measured) < 2 or np.ptp(expected) == 0 or (measured == measured[0]).all():
        return BlockScore(np.nan)
    tau = kendalltau(measured, expected).statistic
    return BlockScore(round(float(tau), 12))  # the same order gives 1, not 0.9999999999999999


def concordance(measured: np.ndarray, expected: np.ndarray) -> BlockScore:
    """Conformity in which equal differences count half, so that a measure that tells nothing apart
    gets one half."""
    measured, expected = _complete_pairs(measured, expected)
    with_ties, without_ties = (
        _conformity_with_ties(measured, expected, ties=ties) for ties in (True, False)
    )
    return BlockScore((with_ties.value + without_ties.value) / 2, with_ties.weight)
