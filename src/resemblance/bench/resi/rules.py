"""Scoring and ranking rules of the ReSi suite: the definitions of the paper, or the computations of
the authors' code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from resemblance.base.text import check_choice
from resemblance.sections.values import finite_or_none
from resemblance.significance import mantel, pairings

from ..case import Score
from ..grounding import (
    Rule,
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
    spearman,
    spearman_of_complete,
)
from ..ranks import ScoresAndRulesByTask, TaskKey, rank_rule
from .groups import GROUP_RULES

PROTOCOL_NAMES = ("paper", "resi-code")
PERMUTATION_UNITS = ("models", "pairs")
FAILURE_RULES = ("last", "unranked")
# By protocol: the treatment of failures, the permuted unit, and the preset of measures.
FAILURE_RULE_BY_PROTOCOL: Mapping[str, str] = {"paper": "last", "resi-code": "unranked"}
PERMUTED_BY_PROTOCOL: Mapping[str, str] = {"paper": "models", "resi-code": "pairs"}
PRESET_BY_PROTOCOL: Mapping[str, str] = {"paper": "default", "resi-code": "resi"}
# Qualities that count in a ranking: all except conformity.
RANKED_QUALITIES = (
    "spearman_accuracy",
    "spearman_jsd",
    "spearman_disagreement",
    "auprc",
    "spearman",
)
MIN_CHOSEN_SAMPLES = 2
RulesByQuality = Mapping[tuple[str, str], Rule]  # by kind of expectation and quality
RULES_BY_PROTOCOL: Mapping[str, RulesByQuality] = {
    "paper": {
        ("prediction", "spearman"): Rule(by_prediction, spearman),
        ("group", "conformity"): Rule(lambda groups, both_orders: by_anchor(groups), conformity),
        ("group", "auprc"): Rule(by_group, auprc),
        ("order", "conformity"): Rule(lambda layers, both_orders: by_nesting(layers), conformity),
        ("order", "spearman"): Rule(lambda layers, both_orders: by_distance(layers), spearman),
    },
    "resi-code": {
        ("prediction", "spearman"): Rule(by_prediction, spearman),
        ("group", "conformity"): Rule(
            lambda groups, both_orders: by_group(groups), conformity_strict, complete_mean
        ),
        # The authors' code does not rescale similarities.
        ("group", "auprc"): Rule(
            lambda groups, both_orders: by_group(groups),
            auprc_of_ratios,
            complete_mean,
            of_similarities=auprc_of_similarities,
        ),
        ("order", "conformity"): Rule(
            lambda layers, both_orders: by_source(layers), conformity_of_missing
        ),
        ("order", "spearman"): Rule(
            lambda layers, both_orders: by_source(layers), spearman_of_complete
        ),
    },
}


@dataclass(frozen=True)
class ScoringOptions:
    """How a run scores and ranks measures, and on how many samples.

    ``protocol``: "paper" or "resi-code". ``permute``: the unit of permutation tests, "models" or
    "pairs". ``failures``: "last" or "unranked", as for ``resemblance.sections.ranks.rank_within``.
    The protocol determines the defaults of ``permute`` and ``failures``. ``groups``: "separated" or
    "published". ``max_samples``: the largest number of compared samples.

    Raises ``ValueError`` for unknown or contradictory options.
    """

    protocol: str = "paper"
    permute: str | None = None
    failures: str | None = None
    groups: str | None = None
    max_samples: int | None = None

    def __post_init__(self) -> None:
        check_choice("protocol", self.protocol, PROTOCOL_NAMES)
        for name, default, words in (
            ("permute", PERMUTED_BY_PROTOCOL[self.protocol], PERMUTATION_UNITS),
            ("failures", FAILURE_RULE_BY_PROTOCOL[self.protocol], FAILURE_RULES),
            ("groups", "separated", GROUP_RULES),
        ):
            object.__setattr__(self, name, getattr(self, name) or default)
            check_choice(name, getattr(self, name), words)
        if (self.protocol, self.failures) == ("resi-code", "last"):
            raise ValueError(
                'the authors\' code ranks no failures last: failures="unranked" goes with '
                'protocol="resi-code"'
            )
        n = self.max_samples
        if n is not None and not (type(n) is int and n >= MIN_CHOSEN_SAMPLES):
            raise ValueError(
                f"max_samples must be a whole number of at least {MIN_CHOSEN_SAMPLES}; got {n!r}"
            )

    @property
    def rules(self) -> RulesByQuality:
        """The rules of the protocol, by kind of expectation and quality, with p-values for
        correlations with predicted differences."""
        rules, prediction = RULES_BY_PROTOCOL[self.protocol], ("prediction", "spearman")
        pvalue = partial(_permutation_pvalue, permute=self.permute)
        return {**rules, prediction: rules[prediction]._replace(pvalue=pvalue)}


def resi_tasks_with_rules(scores: Iterable[Score], options: ScoringOptions) -> ScoresAndRulesByTask:
    """Return by task, with the key ``Score.cell``, a pair: the scores by measure, and the rule that
    ranks measures. Conformity ranks no measure and is left out.

    In the layer test, measures are ranked for every model; the rank of a measure in the task is its
    mean rank over models. With the option ``protocol="resi-code"``, ranks are aggregated as in the
    authors' notebook for Figure 3, with four differences. Measures without a value have no rank. In
    the layer test the ranks of all measures and models are averaged, so every measure has the same
    rank. Among several poolings of a model only the first pooling counts. All tasks are ranked,
    whatever their reliability.
    """
    is_code = options.protocol == "resi-code"
    members: dict[TaskKey, list[Score]] = defaultdict(list)
    for score in scores:
        if score.cell[1] in RANKED_QUALITIES:
            members[score.cell].append(score)
    first_cells: dict[TaskKey, TaskKey] = {}
    for cell, cell_scores in members.items():
        if not is_code or any(
            finite_or_none(value) is not None for s in cell_scores for value in s.parts
        ):
            first_cells.setdefault(cell[:5] if is_code else cell, cell)
    failures = "unranked" if is_code else str(options.failures)
    return {
        cell: (
            {s.measure: finite_or_none(s.value) for s in members[cell]},
            rank_rule(
                members[cell],
                cell[0],
                "/".join(cell[2:5]),
                failures=failures,
                is_shared=is_code and cell[0] == "layers",
                is_ranked=is_code,
            ),
        )
        for cell in first_cells.values()
    }


def _permutation_pvalue(
    differences: np.ndarray, expected: np.ndarray, both_orders: bool, permute: str | None
) -> float | None:
    if permute == "models":
        p = mantel(differences, expected, both_orders=both_orders, seed=0)
    else:
        (block,) = by_prediction(expected, both_orders=both_orders)
        p = pairings(differences[block.rows, block.columns], block.expected, seed=0)
    return None if np.isnan(p) else p
