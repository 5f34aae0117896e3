"""Maps of layers: how often any pair of unrelated models is called similar, and what is missed."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from validity_studies import Key, Numbers, Study, percentages, values_in_orders

import resemblance as rs
from resemblance.inference import Evidence, NullCells
from resemblance.inference.moments import Profile, exact_null, profile
from resemblance.inference.nulls import EXACT
from resemblance.representation import Representation
from resemblance.significance.multiple_testing import step_down
from resemblance.significance.orders import design_of

LEVEL = 0.05
SAMPLES, WIDTH, DRAWS = 80, 40, 199
SIGNAL = 0.1


class Map(NamedTuple):
    """The layers of two models; ``is_shared`` marks the pairs that share a signal."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...]
    is_shared: np.ndarray


def models(rng: np.random.Generator, layers: int, signal: float) -> Map:
    """Return two models with weights and inputs of their own; their later halves share factors."""
    factors = rng.standard_normal((SAMPLES, 3))
    sides = [layers_of(rng, layers, signal * factors) for _ in range(2)]
    late = np.arange(layers) >= layers // 2
    return Map(*map(tuple, sides), np.outer(late, late) & (signal > 0))


def layers_of(rng: np.random.Generator, layers: int, factors: np.ndarray) -> list[Representation]:
    hidden = rng.standard_normal((SAMPLES, WIDTH))
    representations = []
    for layer in range(layers):
        hidden = np.tanh(hidden @ rng.standard_normal((WIDTH, WIDTH)) / 6)
        hidden += 0.3 * rng.standard_normal(hidden.shape)
        late = factors @ rng.standard_normal((factors.shape[1], WIDTH))
        values = hidden + late if layer >= layers // 2 else hidden
        representations.append(Representation(values, f"layer {layer}"))
    return representations


def evidence_of(comparison: rs.Comparison, m: rs.Measure, nulls: NullCells, draws: int) -> Evidence:
    """Return the evidence that these nulls are, as of :func:`resemblance.evidence`."""
    design = design_of(SAMPLES, draws=draws)
    return Evidence(comparison, design, 0.95, {m.spec: nulls}, {}, False)


def by_moments(of: Map, m: rs.Measure) -> Evidence:
    """Return evidence from exact moments."""
    left = [profile(x, m, "left") for x in of.rows]
    right = [profile(y, m, "right") for y in of.columns]
    comparison = rs.compare(of.rows, of.columns, measures=[m], progress=False)
    values = comparison[m]
    cells = np.array(
        [[_exact(m, values[i, j], a, b) for j, b in enumerate(right)] for i, a in enumerate(left)]
    )
    chance, spread, p = np.moveaxis(cells, -1, 0)
    nulls = NullCells(chance, spread, p, np.zeros((*p.shape, 0)), _ways(p, EXACT), values)
    return evidence_of(comparison, m, nulls, 1)


def _exact(m: rs.Measure, value: float, a: Profile, b: Profile) -> tuple[float, float, float]:
    null = exact_null(m, value, a, b, SAMPLES)
    return null.chance, null.spread, null.p


def by_orders(of: Map, m: rs.Measure, seed: int) -> Evidence:
    """Return evidence from orders; all columns share that of a draw."""
    design = design_of(SAMPLES, draws=DRAWS, seed=seed)
    orders = [np.arange(SAMPLES), *(design.order(draw) for draw in range(DRAWS))]
    values = values_in_orders(m, of.rows, of.columns, orders)
    observed, drawn = values[..., 0], values[..., 1:]
    p = np.array([[design.p_value(float(v[0]), v[1:]) for v in row] for row in values])
    moments = drawn.mean(axis=-1), drawn.std(axis=-1)
    nulls = NullCells(*moments, p, drawn, _ways(p, "orders"), observed)
    comparison = rs.compare(of.rows, of.columns, measures=[m], progress=False)
    return evidence_of(comparison, m, nulls, DRAWS)


def _ways(p: np.ndarray, way: str) -> tuple[tuple[str, ...], ...]:
    return tuple((way,) * p.shape[1] for _ in p)


def all_errors(decisions: dict[str, np.ndarray], is_shared: np.ndarray) -> Numbers:
    """Say of each way whether any unrelated pair is rejected, which share of the rejected ones is
    unrelated, and which share of the others is rejected."""
    numbers: Numbers = {}
    for way, is_rejected in decisions.items():
        wrong = int((is_rejected & ~is_shared).sum())
        numbers[Key(way, "", "family-wise error")] = float(wrong > 0)
        if is_shared.any():
            share = wrong / max(1, int(is_rejected.sum()))
            numbers[Key(way, "", "false discovery rate")] = share
            numbers[Key(way, "", "power")] = float(is_rejected[is_shared].mean())
    return numbers


def best_of(evidence: Evidence, m: rs.Measure) -> np.ndarray:
    """Say which pair is significant as the best one: that one or none."""
    best = evidence.best(m)
    chosen = np.zeros((len(evidence.rows), len(evidence.columns)), dtype=bool)
    chosen[evidence.place(best.row, best.column)] = best.p <= LEVEL
    return chosen


def small(signal: float, rng: np.random.Generator) -> Numbers:
    """Test the 36 pairs of two models of six layers in all ways."""
    of, m = models(rng, 6, signal), rs.get_measure("cka")
    exact, drawn = by_moments(of, m), by_orders(of, m, int(rng.integers(2**31)))
    null = drawn.nulls[m.spec]
    raw = step_down(null.observed.ravel(), null.drawn.reshape(-1, DRAWS).T)
    decisions = {
        "not adjusted, exact moments": exact.p(m) <= LEVEL,
        "adjusted, exact moments (Holm)": exact.adjusted(m) <= LEVEL,
        "adjusted, orders (step-down maxT)": drawn.adjusted(m) <= LEVEL,
        "step-down maxT of the values as they are": raw.reshape(null.p.shape) <= LEVEL,
        "false discovery rate, exact moments": exact.fdr(m) <= LEVEL,
        "false discovery rate, orders": drawn.fdr(m) <= LEVEL,
        "best, exact moments": best_of(exact, m),
        "best, orders": best_of(drawn, m),
    }
    return all_errors(decisions, of.is_shared)


def large(signal: float, rng: np.random.Generator) -> Numbers:
    """Test the 576 pairs of two models of 24 layers by exact moments."""
    of, m = models(rng, 24, signal), rs.get_measure("cka[estimator=debiased]")
    evidence = by_moments(of, m)
    decisions = {
        "not adjusted, exact moments": evidence.p(m) <= LEVEL,
        "adjusted, exact moments (Holm)": evidence.adjusted(m) <= LEVEL,
        "false discovery rate, exact moments": evidence.fdr(m) <= LEVEL,
        "best, exact moments": best_of(evidence, m),
    }
    return all_errors(decisions, of.is_shared)


STUDIES = (
    Study("maps", "6 x 6, unrelated", 500, partial(small, 0.0), percentages),
    Study("maps", "6 x 6, 9 pairs share a signal", 200, partial(small, SIGNAL), percentages),
    Study("maps", "24 x 24, unrelated", 300, partial(large, 0.0), percentages),
    Study("maps", "24 x 24, 144 pairs share a signal", 60, partial(large, SIGNAL), percentages),
)
