"""Null distributions of measures: exact permutation moments if available, else permutations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import filterfalse
from typing import NamedTuple

import numpy as np

from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..significance.multiple_testing import MIN_RELATIVE_SPREAD
from ..significance.orders import Design
from .exact_pairs import ProfilesByPair, exact_pairs, format_permutation_notice
from .layout import IndexPair
from .moments import MomentProfile, exact_null
from .permuted import draw_blocks, format_estimated_time, missing_draws, values_in_draws
from .run import InferenceRun

EXACT_MOMENTS = "exact moments"
PAIRING_INDEPENDENT = "does not depend on the pairing"
PAIRING_INDEPENDENT_REASON = (
    "the value is the same for every permutation of the samples, so the "
    "value does not depend on the pairing of samples"
)
MIN_TRUSTED_EXACT_P = 1e-4  # smaller p-values from exact moments are not reliable

# Chance, spread, p, the permuted values, the method, and the observed value
NullEntry = tuple[float, float, float, np.ndarray | float, str, float]


class NullCells(NamedTuple):
    """The null distribution of a measure, for each pair of unrelated representations.

    ``chance`` and ``spread`` are the mean and the standard deviation, ``pvalue`` the p-values,
    including untrusted small p-values of exact moments, all (rows, columns). ``drawn`` has the
    values of each permutation, (rows, columns, draws), NaN for pairs with exact moments; the last
    axis is empty if all pairs have exact moments or shifts. ``how`` names the method for each pair.
    A value that does not depend on the pairing has no chance, no spread and no p. ``observed`` are
    the tested values: the values of the comparison, but for time series the values of the unshifted
    windows, which have fewer samples.
    """

    chance: np.ndarray
    spread: np.ndarray
    pvalue: np.ndarray
    drawn: np.ndarray
    how: tuple[tuple[str, ...], ...]
    observed: np.ndarray

    @property
    def is_exact(self) -> np.ndarray:
        """A mask of the pairs with exact moments, (rows, columns)."""
        return np.array(self.how) == EXACT_MOMENTS

    def scale(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the spread that standardise the pairs of a map, (rows, columns)
        each.

        Mean and spread are computed from the permuted values together with the observed value:
        under the null hypothesis all are exchangeable, and a scale without the observed value would
        break the exchange. The spread is at least a rounding error.
        """
        center, spread = self.chance, self.spread
        if self.drawn.shape[-1]:
            null_values = self.drawn[..., 1:] if design.is_exhaustive else self.drawn
            values = np.concatenate([self.observed[..., None], null_values], axis=-1)
            is_known = ~np.isnan(values)
            count = np.maximum(is_known.sum(axis=-1), 1)
            center = np.where(is_known, values, 0).sum(axis=-1) / count
            squares = np.where(is_known, values - center[..., None], 0) ** 2
            spread = np.sqrt(squares.sum(axis=-1) / count)
            center = np.where(self.is_exact, self.chance, center)
            spread = np.where(self.is_exact, self.spread, spread)
        sizes = np.fmax(np.abs(center), np.abs(self.observed))
        return center, np.fmax(spread, MIN_RELATIVE_SPREAD * np.fmax(sizes, MIN_RELATIVE_SPREAD))


def format_pvalue(p: float, method: str = "") -> str:
    """Return a p-value as text; a value below 1e-4 becomes "< 1e-4", as does 1e-4 if ``method`` is
    exact moments; NaN becomes "–"."""
    if math.isnan(p):
        return "–"
    is_small = p < MIN_TRUSTED_EXACT_P or (p == MIN_TRUSTED_EXACT_P and method == EXACT_MOMENTS)
    return "< 1e-4" if is_small else f"{p:.2g}"


def format_labeled_pvalue(p: float, method: str = "") -> str:
    """Return a p-value as text with the letter p: "p = 0.03" or "p < 1e-4". If ``method`` is exact
    moments, 1e-4 also becomes "p < 1e-4"."""
    text = format_pvalue(p, method)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def compute_null_cells(
    run: InferenceRun,
    comparison: Comparison,
    measures: Sequence[Measure],
    design: Design,
    exact: bool,
) -> dict[str, NullCells]:
    """Compute the missing permuted values; return the null distributions of all pairs with a score
    in ``comparison``, by specification of the measure. ``exact``: whether exact moments may replace
    permutations."""
    layout = run.layout
    pairs = {m: layout.with_values(m, comparison[m.spec]) for m in measures}
    choices = exact_pairs(run, pairs, design, exact)
    profiles = {m: choices[m].profiles if m in choices else {} for m in measures}
    permuted_pairs = {m: list(filterfalse(profiles[m].__contains__, pairs[m])) for m in measures}
    varying_pairs = {m: permuted_pairs[m] if m.needs_pairing else [] for m in measures}
    to_permute = {m: varying for m, varying in varying_pairs.items() if varying}
    for m in to_permute:
        if words := format_permutation_notice(
            layout, m, choices.get(m), len(varying_pairs[m]), design
        ):
            run.announce(words + format_estimated_time(run, m, varying_pairs[m], design))
    missing = missing_draws(run, to_permute, design)
    n_missing = sum(len(gaps) for requests in missing.values() for gaps in requests.values())
    run.advance(len(missing) * sum(len(layout.pairs(m)) for m in measures) - n_missing)
    run.compute(draw_blocks(run, missing, design), counted=True, shared=True)
    return {
        m.spec: _collect_null_cells(run, comparison, m, profiles[m], varying_pairs[m], design)
        for m in measures
    }


# ------------------------------------------------------------------------------------------ results


def _collect_null_cells(
    run: InferenceRun,
    comparison: Comparison,
    m: Measure,
    profiles: ProfilesByPair,
    permuted_pairs: Sequence[IndexPair],
    design: Design,
) -> NullCells:
    """Return the null distributions of a measure as matrices; NaN for pairs without a score.
    ``profiles``: the pairs with exact moments. ``permuted_pairs``: the pairs with permuted values.
    """
    layout, values = run.layout, comparison[m.spec]
    n_permutations = design.total if permuted_pairs and not design.shifts else 0
    chance, spread, p = np.full((3, *layout.shape), np.nan)
    drawn, methods = (
        np.full((*layout.shape, n_permutations), np.nan),
        np.full(layout.shape, "", dtype=object),
    )
    tables = chance, spread, p, drawn, methods, np.array(values)
    for pair in layout.with_values(m, values):
        value = float(values[layout.cells(m, pair)[0]])
        if pair in profiles:
            entry = _exact_entry(m, value, profiles[pair], design)
        elif not m.needs_pairing:
            entry = _constant_null_entry(value)
        else:
            entry = _permuted_entry(run, m, pair, value, design)
        for place in layout.cells(m, pair):
            for table, number in zip(tables, entry):
                table[place] = number
    return NullCells(chance, spread, p, drawn, tuple(map(tuple, methods)), tables[-1])


def _exact_entry(
    m: Measure, value: float, sides: tuple[MomentProfile, MomentProfile], design: Design
) -> NullEntry:
    exact = exact_null(m, value, *sides, design.n)
    if exact.spread == 0:
        return _constant_null_entry(value)
    return (
        exact.chance,
        exact.spread,
        max(exact.pvalue, 1 / design.count),
        np.nan,
        EXACT_MOMENTS,
        value,
    )


def _constant_null_entry(value: float) -> NullEntry:
    """Return an entry with ``value`` and without chance level: a constant null distribution gives
    no evidence."""
    return np.nan, np.nan, np.nan, np.nan, PAIRING_INDEPENDENT, value


def _permuted_entry(
    run: InferenceRun, m: Measure, pair: IndexPair, value: float, design: Design
) -> NullEntry:
    """Return the entry of a pair with score ``value``, from the stored values under permutations or
    shifts. If all permutations are visited and give one value, the entry has no chance level."""
    drawn = values_in_draws(run, m, pair, design)
    if design.shifts:
        value, drawn = float(drawn[0]), drawn[1:]
    defined_values, sign = drawn[~np.isnan(drawn)], 1 if m.larger_is_more_similar else -1
    if design.is_exhaustive and np.ptp(drawn) <= MIN_RELATIVE_SPREAD * np.abs(drawn).max():
        return _constant_null_entry(value)
    chance, spread = (
        (defined_values.mean(), defined_values.std()) if len(defined_values) else (np.nan, np.nan)
    )
    p = design.pvalue(sign * value, sign * drawn)
    method = _null_method_text(design, len(drawn) - len(defined_values))
    drawn = drawn[:0] if design.shifts else drawn
    return float(chance), float(spread), p, drawn, method, value


def _null_method_text(design: Design, missing: int) -> str:
    """Return the method of the null distribution of a pair in words, with the number ``missing``
    of permuted values that are undefined."""
    return f"{design.words}, {missing} without a value" if missing else design.words
