"""From comparisons to scores: what a case expects of pairs, and how well each measure agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...comparison import Comparison, MeasureInfo
from ...grounding import (
    Block,
    Rule,
    apply,
    auprc,
    auprc_of_ratios,
    auprc_of_similarities,
    by_anchor,
    by_distance,
    by_group,
    by_nesting,
    by_prediction,
    by_source,
    complete_mean,
    conformity,
    conformity_of_missing,
    conformity_strict,
    pooled,
    spearman,
    spearman_of_complete,
)
from ...representation import Representation
from ...significance import known_mean, mantel, pairings
from ..families import ModelFamily

PROTOCOLS = ("paper", "resi-code")
PERMUTATIONS = ("models", "pairs")
FAILURES = ("last", "unranked")
# by protocol: what becomes of failures, what is permuted, and the preset of measures
UNRANKED: Mapping[str, str] = {"paper": "last", "resi-code": "unranked"}
PERMUTED: Mapping[str, str] = {"paper": "models", "resi-code": "pairs"}
PRESETS: Mapping[str, str] = {"paper": "default", "resi-code": "resi"}


@dataclass(frozen=True, eq=False)
class Case:
    """One test of measures on one set of models: representations, and what is expected of them.

    ``parts`` are compared each by itself: one for tests of models, one per model for the test of
    layers. ``expectations``: by quality, one expectation per part. What it is depends on the case's
    ``kind``: for "prediction" an (n, n) matrix of differences in behaviour, for "group" the group
    of each representation, for "order" the number of layers. ``models``: by part, whose layers are
    compared; empty where models are.
    """

    test: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    kind: str
    parts: tuple[Mapping[str, Representation], ...]
    expectations: Mapping[str, tuple[Any, ...]]
    models: tuple[str, ...] = ()

    @property
    def family(self) -> ModelFamily:
        """The models that are compared."""
        return ModelFamily(self.domain, self.dataset, self.architecture, self.pooling)


class Score(NamedTuple):
    """The agreement of one measure with one expectation in one case.

    ``value`` is the mean of ``parts`` (one per model for the test of layers), NaN with a ``reason``
    when there is none; ``pairs`` is the number of pairs it rests on and ``failed`` of those for
    which the measure has no value.
    """

    test: str
    quality: str
    domain: str
    dataset: str
    architecture: str
    pooling: str
    measure: str
    label: str
    value: float
    parts: tuple[float, ...] = ()
    p_value: float | None = None
    pairs: int = 0
    failed: int = 0
    reason: str | None = None

    @property
    def cell(self) -> tuple[str, ...]:
        """What it is a score in: test, quality, domain, dataset, architecture, pooling."""
        return tuple(self[:6])

    @property
    def family(self) -> ModelFamily:
        """The models that were compared."""
        return ModelFamily(*self[2:6])


# Which rule makes a score of a matrix: the definitions of the paper, and what the authors' code
# computes instead.
RULES: Mapping[str, Mapping[tuple[str, str], Rule]] = {
    "paper": {
        ("prediction", "spearman"): Rule(by_prediction, spearman, pooled),
        ("group", "conformity"): Rule(
            lambda groups, both_orders: by_anchor(groups), conformity, pooled
        ),
        ("group", "auprc"): Rule(by_group, auprc, pooled),
        ("order", "conformity"): Rule(
            lambda layers, both_orders: by_nesting(layers), conformity, pooled
        ),
        ("order", "spearman"): Rule(
            lambda layers, both_orders: by_distance(layers), spearman, pooled
        ),
    },
    "resi-code": {
        ("prediction", "spearman"): Rule(by_prediction, spearman, pooled),
        ("group", "conformity"): Rule(
            lambda groups, both_orders: by_group(groups), conformity_strict, complete_mean
        ),
        ("group", "auprc"): Rule(
            lambda groups, both_orders: by_group(groups), auprc_of_ratios, complete_mean
        ),
        ("order", "conformity"): Rule(
            lambda layers, both_orders: by_source(layers), conformity_of_missing, pooled
        ),
        ("order", "spearman"): Rule(
            lambda layers, both_orders: by_source(layers), spearman_of_complete, pooled
        ),
    },
}


def grade(
    case: Case,
    comparisons: Sequence[Comparison],
    *,
    protocol: str = "paper",
    permute: str | None = None,
) -> list[Score]:
    """Return the score of every measure and quality of a case.

    ``comparisons``: one per part of the case. ``protocol``: ``"paper"`` for the definitions of
    Klabunde et al. 2025, ``"resi-code"`` for what the authors' code computes. ``permute``: what the
    permutation test of a correlation permutes, ``"models"`` (default of the first protocol) or
    ``"pairs"`` (of the second).
    """
    check_choice("protocol", protocol, PROTOCOLS)
    permute = permute or PERMUTED[protocol]
    check_choice("permute", permute, PERMUTATIONS)
    p_value = partial(_p_value, permute=permute)
    return [
        _score(
            case, comparisons, info, quality, rule_for(protocol, case.kind, quality, info), p_value
        )
        for info in comparisons[0].measures
        for quality in case.expectations
    ]


def rule_for(protocol: str, kind: str, quality: str, info: MeasureInfo) -> Rule:
    """Return the rule for a quality of a case of this kind.

    The authors' code scores similarities as they are.
    """
    rule = RULES[protocol][kind, quality.partition("_")[0]]
    as_it_is = info.larger_is_more_similar and rule.quality is auprc_of_ratios
    return rule._replace(quality=auprc_of_similarities) if as_it_is else rule


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Raise ``ValueError`` when ``value`` is none of the known words."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def _score(
    case: Case,
    comparisons: Sequence[Comparison],
    info: MeasureInfo,
    quality: str,
    rule: Rule,
    p_value: Callable[[np.ndarray, np.ndarray, bool], float | None],
) -> Score:
    both_orders = not info.symmetric
    parts, known, p = list[float](), list[bool](), None
    for comparison, expected in zip(comparisons, case.expectations[quality], strict=True):
        differences = comparison.difference(info.spec)
        blocks = rule.blocks(expected, both_orders=both_orders)
        parts.append(apply(rule, differences, blocks))
        known += _known_pairs(differences, blocks, info.symmetric)
        if case.kind == "prediction":
            p = p_value(differences, expected, both_orders)
    value = float(known_mean(parts))
    failed = len(known) - sum(known)
    reason = _reason(comparisons, info.spec, failed, value)
    where = (case.test, quality, case.domain, case.dataset, case.architecture, case.pooling)
    return Score(*where, info.spec, info.label, value, tuple(parts), p, sum(known), failed, reason)


def _known_pairs(differences: np.ndarray, blocks: Iterable[Block], symmetric: bool) -> list[bool]:
    """Whether each pair that the blocks use, counted once, has a value."""
    pairs = {(i, j) for b in blocks for i, j in zip(b.rows.tolist(), b.columns.tolist())}
    if symmetric:
        pairs = {(min(i, j), max(i, j)) for i, j in pairs}
    return [not np.isnan(differences[i, j]) for i, j in sorted(pairs)]


def _p_value(
    differences: np.ndarray, expected: np.ndarray, both_orders: bool, permute: str
) -> float | None:
    if permute == "models":
        p = mantel(differences, expected, both_orders=both_orders, seed=0)
    else:
        (block,) = by_prediction(expected, both_orders=both_orders)
        p = pairings(differences[block.rows, block.columns], block.expected, seed=0)
    return None if np.isnan(p) else p


def _reason(
    comparisons: Iterable[Comparison], measure: str, failed: int, value: float
) -> str | None:
    if failed:
        reasons = Counter(f.reason for c in comparisons for f in c.failures if f.measure == measure)
        most = f"; most often: {reasons.most_common(1)[0][0]}" if reasons else ""
        return f"{failed} comparisons failed{most}"
    if np.isnan(value):
        return (
            "all measured or all expected differences are equal, so there is no order to agree with"
        )
    return None
