"""By which rules the ReSi suite makes scores: the definitions of the paper, or what its authors'
code computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...grounding import (
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
from ...significance import mantel, pairings

PROTOCOLS = ("paper", "resi-code")
PERMUTATIONS = ("models", "pairs")
FAILURES = ("last", "unranked")
# by protocol: what becomes of failures, what is permuted, and the preset of measures
UNRANKED: Mapping[str, str] = {"paper": "last", "resi-code": "unranked"}
PERMUTED: Mapping[str, str] = {"paper": "models", "resi-code": "pairs"}
PRESETS: Mapping[str, str] = {"paper": "default", "resi-code": "resi"}
Rules = Mapping[tuple[str, str], Rule]  # by what is expected, and the quality
RULES: Mapping[str, Rules] = {
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
        ("group", "auprc"): Rule(  # the code scores similarities as they are
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


def rules_of(protocol: str, permute: str) -> Rules:
    """Return the rules of a protocol, with p-values of correlations with what is predicted by
    permuting "models", or "pairs"."""
    rules, prediction = RULES[protocol], ("prediction", "spearman")
    p_value = partial(_p_value, permute=permute)
    return {**rules, prediction: rules[prediction]._replace(p_value=p_value)}


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """Raise ``ValueError`` when ``value`` is none of the known words."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def _p_value(
    differences: np.ndarray, expected: np.ndarray, both_orders: bool, permute: str
) -> float | None:
    if permute == "models":
        p = mantel(differences, expected, both_orders=both_orders, seed=0)
    else:
        (block,) = by_prediction(expected, both_orders=both_orders)
        p = pairings(differences[block.rows, block.columns], block.expected, seed=0)
    return None if np.isnan(p) else p
