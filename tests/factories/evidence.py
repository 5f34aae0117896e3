"""Evidence around a small comparison, with made-up nulls and parts, for tests of what is shown."""

from __future__ import annotations

import numpy as np

import resemblance as rs
from resemblance.comparison.comparison import Comparison, measure_info
from resemblance.comparison.scores import ScoreMatrix
from resemblance.inference import Evidence, NullCells, PartCells
from resemblance.inference.nulls import EXACT_MOMENTS
from resemblance.report.comparing.stats import is_all_pairs_of_one_list
from resemblance.significance.orders import design_of

N = 40


def arrays(names, n=N, related=None, d=6, seed=0):
    """Arrays by name; the first ``related`` of them (by default all) have the same origin."""
    g = np.random.default_rng(seed)
    base = g.standard_normal((n, d))
    made = {}
    for i, name in enumerate(names):
        origin = base if related is None or i < related else g.standard_normal((n, d))
        made[name] = origin @ g.standard_normal((d, d)) + 0.2 * g.standard_normal((n, d))
    return made


def made_comparison(values, rows, columns=None, seconds=1.0) -> Comparison:
    """A comparison with these values by measure, as if they had been computed."""
    rows = tuple(rows)
    sides = rows, tuple(columns or rows)
    infos = tuple(measure_info(rs.get_measure(m)) for m in values)
    matrices = {m.spec: ScoreMatrix(m.spec, m.version, m.symmetric, *sides) for m in infos}
    for matrix, table in zip(matrices.values(), values.values(), strict=True):
        matrix.values[:], matrix.seconds = table, seconds
        places = map(tuple, np.argwhere(np.isnan(matrix.values)).tolist())
        matrix.reasons = dict.fromkeys(places, "a reason")
    entry = {"n_features": 3, "dtype": "float64", "computed_in": "float64"}
    data = [{name: {"fingerprint": name, **entry} for name in side} for side in sides]
    provenance = {"resemblance": "1", "n_samples": 9, "rows": data[0], "columns": data[1]}
    return Comparison(*sides, infos, matrices, provenance)


def compared(rows, columns=None, measures=("cka", "procrustes")):
    """A comparison of these arrays."""
    return rs.compare(rows, columns, measures=list(measures), progress=False)


def made_evidence(
    comparison: Comparison,
    *,
    within=None,
    whole_blocks=None,
    time_series=False,
    exact=(),
    chance=0.2,
    kind="left_out",
    n_permutations=99,
    confidence_level=0.95,
) -> Evidence:
    """Evidence whose nulls are normal: each measure has a chance level this far from its worst
    value, and the measures ``exact`` have no draws."""
    n = comparison.provenance["n_samples"]
    design = design_of(
        n,
        within=within,
        whole_blocks=whole_blocks,
        time_series=time_series,
        n_permutations=n_permutations,
    )
    nulls, parts = {}, {}
    for info in comparison.measures:
        values = comparison[info.spec]
        nulls[info.spec] = _null(comparison, info, design, chance, info.spec in exact)
        noise = np.random.default_rng(1).standard_normal((*values.shape, 20))
        parts[info.spec] = PartCells(kind, values[..., None] + 0.01 * noise)
    return Evidence(
        comparison, design, confidence_level, nulls, parts, is_all_pairs_of_one_list(comparison)
    )


def _null(comparison, info, design, chance, is_exact):
    values = comparison[info.spec]
    sign = 1 if info.larger_is_more_similar else -1
    worst = 0.0 if sign > 0 else np.nanmax(values, initial=1.0)
    middle = np.where(np.isnan(values), np.nan, worst + sign * chance)
    noise = np.random.default_rng(0).standard_normal((*values.shape, design.total))
    drawn = middle[..., None] + 0.05 * noise
    if is_all_pairs_of_one_list(comparison):
        np.fill_diagonal(middle, np.nan)
        drawn[np.diag_indices(len(values))] = np.nan
        drawn = np.where(info.symmetric, (drawn + drawn.swapaxes(0, 1)) / 2, drawn)
    spread = np.where(np.isnan(middle), np.nan, 0.05)
    p = np.full(values.shape, np.nan)
    for cell in np.argwhere(~np.isnan(middle)):
        i, j = cell
        p[i, j] = design.pvalue(sign * values[i, j], sign * drawn[i, j])
    if is_exact:
        p = np.where(p <= design.attainable, 1e-4, p)
        drawn = drawn[..., :0]
    words = EXACT_MOMENTS if is_exact else design.words
    how = tuple(tuple("" if np.isnan(p) else words for p in row) for row in p)
    return NullCells(middle, spread, p, drawn, how, values)
