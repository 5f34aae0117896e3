"""What inference has for each measure of the catalogue, read from its claims."""

from __future__ import annotations

from inference_claims import UNPAIRED, WITHOUT_PRODUCT
from left_out_claims import WITHOUT_LEFT_OUT

import resemblance as rs
from resemblance.inference.intervals import kind_of
from resemblance.inference.reordered_views import moves_of
from resemblance.significance.orders import Design

KINDS = {"left_out": "without each sample", "halves": "40 halves", "groups": "20 groups"}
SAMPLES, WIDEST = 100, 50  # of a study that needs groups for canonical correlations


def inference_rows(m: rs.Measure) -> dict[str, str]:
    """Return how the p-values, intervals and chance of a measure are made."""
    chance = "exact" if m.chance or m.product else "from orders"
    if WITHOUT_PRODUCT.get(m.name) == UNPAIRED:
        chance = "is the value"
    views = "carried" if moves_of(m).of_view is not None else "computed anew"
    return {
        "p-values": p_values(m),
        "intervals": intervals(m),
        "chance": chance,
        "views of other orders": views,
    }


def p_values(m: rs.Measure) -> str:
    """Return how p-values come about; if by orders, why."""
    if m.product:
        return "exact moments"
    reason = WITHOUT_PRODUCT.get(m.name)
    return ("none" if reason == UNPAIRED else "orders") + (f": {reason}" if reason else "")


def intervals(m: rs.Measure) -> str:
    """Return how intervals come about; if by groups, why."""
    kind = kind_of(m, Design(SAMPLES), WIDEST)
    reason = WITHOUT_LEFT_OUT.get(m.name)
    return f"{KINDS[kind]}: {reason}" if kind == "groups" and reason else KINDS[kind]
