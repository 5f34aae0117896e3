"""The findings of a benchmark in a family of models: arrays of rank correlations for all tasks,
also in bootstrap samples and under permutations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from resemblance.sections.values import add_parameters_to_label, finite_or_none
from resemblance.significance import (
    attainable,
    bootstrap_counts,
    exchanges,
    known_mean,
    percentile_interval,
)

from ..study_models import ModelFamily
from .cases import FamilySets, RepresentationSet
from .models import SensitivitySize
from .operators import Deletion, Depth, deletion_curve, depth_from_differences
from .procedure import agreement, expected_differences, one_sided, reference_of
from .resampling import CopyRule, bootstrap, permutation_test, unit_ranks

CorrelationName = Literal["spearman", "kendall"]
PValueKind = Literal["best", "known", "every", "alone", "naive"]
CORRELATION_NAMES: tuple[CorrelationName, ...] = ("spearman", "kendall")
P_VALUE_KINDS: tuple[PValueKind, ...] = ("best", "known", "every", "alone", "naive")
COPY_RULES: tuple[CopyRule, ...] = ("one", "all")
MIN_BLOCKS = 4  # with fewer blocks, too few bootstrap samples differ
P_VALUE_LEVEL = 0.05

# The measures of the paper, as in the authors' code.
PAPER_PROCRUSTES, PAPER_CKA, PAPER_PWCCA = "procrustes", "cka", "pwcca[directions=all]"
MEAN_CCA = "mean_cca[divisor=width]"
MEAN_SQUARED_CCA = "mean_cca[aggregation=mean_squared,divisor=width]"
PAPER_MEASURES: Mapping[str, str] = {  # by name in the paper
    "Procrustes": PAPER_PROCRUSTES, "CKA": PAPER_CKA, "PWCCA": PAPER_PWCCA, "mean_CCA": MEAN_CCA,
    "mean_sq_CCA": MEAN_SQUARED_CCA,
}  # fmt: skip
DING_LABELS: Mapping[str, str] = {  # labels in tables
    PAPER_PROCRUSTES: "Procrustes",
    PAPER_CKA: "CKA",
    PAPER_PWCCA: "PWCCA (all directions)",
    MEAN_CCA: "mean CCA",
    MEAN_SQUARED_CCA: "mean squared CCA",
}


def ding_label(spec: str, labels: Mapping[str, str]) -> str:
    """Return the name of a measure in the paper; for other measures, the label from ``labels`` (by
    specification) with parameters."""
    return DING_LABELS.get(spec) or add_parameters_to_label(labels.get(spec, spec), spec)


class Estimate(NamedTuple):
    """A value with its 95 % bootstrap interval; None for a missing number."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Contrast(NamedTuple):
    """The difference first - second of two mean correlations, with its 95 % bootstrap interval.

    ``low`` and ``high`` count a single pair of the reference with itself; ``low_copies`` and
    ``high_copies`` count a pair for every copy of the reference in the bootstrap sample.
    ``n_resamples``: the number of bootstrap samples in which the difference has a value.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    low_copies: float | None
    high_copies: float | None
    n_resamples: int


class Correlations(NamedTuple):
    """Rank correlations of measures in all tasks, observed and in bootstrap samples.

    ``measures``: by specification. ``names``: layer and functionality of every task. ``observed``:
    (kinds, qualities, measures, cells), NaN without a value; the qualities are Spearman's and
    Kendall's correlation. The kinds are: "best", the correlation with distances from the best
    representation; "known", the same over known distances only; "every", the mean over all
    references (Spearman only); "alone", the correlation without the pair of the reference with
    itself; and "naive", the p-value for independent pairs. ``resampled``: (copies, qualities,
    measures, cells, draws); the copies are "one" and "all". ``pvalue``: permutation p-value of
    Spearman's correlation, (measures, cells). ``pairs``: the number of known distances, (measures,
    cells), out of ``of``. ``blocks``: the number of bootstrap units. ``smallest``: the smallest
    attainable permutation p-value.
    """

    measures: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    observed: np.ndarray
    resampled: np.ndarray
    pvalue: np.ndarray
    pairs: np.ndarray
    of: int
    blocks: int
    smallest: float

    def cells(self, *, layer: str | None = None, functionality: str | None = None) -> list[int]:
        """Return the positions, in ``names``, of the tasks of a layer, of a functionality, or of
        both; without arguments, of all tasks."""
        return [
            i
            for i, (own_layer, own_functionality) in enumerate(self.names)
            if layer in (None, own_layer) and functionality in (None, own_functionality)
        ]

    def mean(
        self,
        measure: str,
        quality: CorrelationName = "spearman",
        cells: Sequence[int] | None = None,
        kind: PValueKind = "best",
    ) -> float | None:
        """Return the mean correlation (or naive p-value) of a measure over tasks; None for an
        absent measure, or if a task has no value.

        ``quality``: "spearman" or "kendall". ``cells``: positions of tasks, by default all tasks.
        ``kind``: of observed value, see ``observed``.
        """
        if measure not in self.measures:
            return None
        m, q = self.measures.index(measure), CORRELATION_NAMES.index(quality)
        values = self.observed[P_VALUE_KINDS.index(kind), q, m]
        selection = values if cells is None else values[list(cells)]
        return finite_or_none(selection.mean()) if len(selection) else None

    def estimate(self, measure: str, quality: CorrelationName = "spearman") -> Estimate:
        """Return the mean correlation of a measure over all tasks with its bootstrap interval."""
        mean = self.mean(measure, quality)
        if mean is None:
            return Estimate(None)
        return Estimate(mean, *_bootstrap_interval(self.drawn(measure, quality)))

    def drawn(
        self,
        measure: str,
        quality: CorrelationName = "spearman",
        cells: Sequence[int] | None = None,
        copies: CopyRule = "one",
    ) -> np.ndarray:
        """Return the mean correlation over tasks in every bootstrap sample, (draws,); all tasks
        share the resampled models.

        ``cells``: positions of tasks, by default all tasks. ``copies``: whether the reference forms
        "one" pair with itself, or "all" pairs with its copies in the sample.
        """
        m, q = self.measures.index(measure), CORRELATION_NAMES.index(quality)
        values = self.resampled[COPY_RULES.index(copies), q, m]
        means: np.ndarray = (values if cells is None else values[list(cells)]).mean(axis=0)
        return means

    def contrast(
        self, first: str, second: str, quality: CorrelationName, cells: Sequence[int] | None = None
    ) -> Contrast | None:
        """Return the difference of the mean correlations of two measures, ``first`` minus
        ``second``, given by specification; None if a measure has no mean. ``quality``: "spearman"
        or "kendall". ``cells``: positions of tasks, by default all tasks."""
        a, b = (self.mean(measure, quality, cells) for measure in (first, second))
        if a is None or b is None:
            return None
        singles, copies = (
            self.drawn(first, quality, cells, c) - self.drawn(second, quality, cells, c)
            for c in COPY_RULES
        )
        return Contrast(
            first,
            second,
            a - b,
            *_bootstrap_interval(singles),
            *_bootstrap_interval(copies),
            count_values(singles),
        )

    def rejected(self, measure: str, cells: Sequence[int] | None = None) -> list[float | None]:
        """Return two shares of tasks: with a naive, and with a permutation p-value of Spearman's
        correlation of at most 0.05; None for a share if a task has no p-value. ``cells``: positions
        of tasks, by default all tasks."""
        m = self.measures.index(measure)
        is_complete = ~np.isnan(self.observed[0, 0, m])
        naive_p = np.where(is_complete, self.observed[P_VALUE_KINDS.index("naive"), 0, m], np.nan)
        selection = list(range(len(self.names))) if cells is None else list(cells)
        return [
            None if np.isnan(p).any() else float((p <= P_VALUE_LEVEL).mean())
            for p in (naive_p[selection], self.pvalue[m, selection])
        ]


class Findings(NamedTuple):
    """The findings of a benchmark in a family of models.

    ``labels``: of measures, by specification. ``sets``: the compared sets. ``differences``: by
    layer, then measure, (references, representations), not rounded. ``correlations``: between the
    differences and differences in functionality. ``failed``: by measure, the number of failed
    comparisons and the reason.
    """

    family: ModelFamily
    labels: Mapping[str, str]
    sets: FamilySets
    differences: Mapping[str, Mapping[str, np.ndarray]]
    correlations: Correlations
    failed: Mapping[str, str] = {}

    def name(self, spec: str) -> str:
        """Return the name of a measure in tables."""
        return ding_label(spec, self.labels)

    @property
    def constant(self) -> tuple[str, ...]:
        """Measures, by specification, with equal differences for all pairs of a layer, in every
        layer, because normalisation removes the measured property."""
        spans = defaultdict[str, list[float]](list)
        for by_measure in self.differences.values():
            for spec, d in by_measure.items():
                values = d[~np.isnan(d)]
                spans[spec].append(np.ptp(values) if values.size else np.nan)
        return tuple(spec for spec, ranges in spans.items() if set(ranges) == {0.0})

    def depths(self) -> dict[str, Depth]:
        """Return the specificity to depth by measure, except constant measures (benchmark 1)."""
        (d,), layers, constant = self.differences.values(), len(self.layers()), self.constant
        return {
            spec: depth_from_differences(spec, values.reshape(shape * 2))
            for spec, values in d.items()
            if spec not in constant
            for shape in [(len(values) // layers, layers)]
        }

    def layers(self) -> tuple[str, ...]:
        """Return the names of the layers in the single set of benchmark 1."""
        (members,) = self.sets.sets.values()
        return tuple(dict.fromkeys(name.rpartition("/")[2] for name in members.columns))

    def deletions(self) -> dict[str, Deletion]:
        """Return the response to deletions in the last layer by measure, except constant measures
        (benchmark 2); the curve is unknown if distances are missing."""
        layer, members = list(self.sets.sets.items())[-1]
        shares, seeds, constant = deleted_shares(members), len(members.rows), self.constant
        return {
            spec: deletion_curve(spec, shares, values.reshape(seeds, seeds, len(shares)))
            for spec, values in self.differences[layer].items()
            if spec not in constant
        }


def deleted_shares(members: RepresentationSet) -> tuple[float, ...]:
    """Return the shares of deleted components in a set of benchmark 2, in the order of the columns
    of a seed: 0, ..., (d - 1) / d."""
    steps = len(members.columns) // len(members.rows)
    ks = [int(name.rpartition(" ")[2]) for name in list(members.columns)[:steps]]
    return tuple(k / (ks[-1] + 1) for k in ks)


# ------------------------------------------------------------------------------------- computed


def findings_in_family(
    family_sets: FamilySets,
    labels: Mapping[str, str],
    differences: Mapping[str, Mapping[str, np.ndarray]],
    reasons: Mapping[str, str],
    size: SensitivitySize,
) -> Findings:
    """Correlate the distances of every measure with every functionality of every set.

    ``labels``: of measures, by specification. ``differences``: by layer, then measure, (references,
    representations). ``reasons``: by measure, the failed comparisons. ``size``: sets the numbers of
    bootstrap samples and permutations.
    """
    names = tuple(family_sets.cells)
    n = len(family_sets.sets[names[0][0]].columns)
    measures = tuple(differences[names[0][0]])
    blocks = count_bootstrap_units(n, family_sets.drawn)
    counts = bootstrap_counts(n, **family_sets.drawn, n_resamples=size.n_resamples)
    orders = exchanges(n, **family_sets.exchanged, n_permutations=size.permutations)
    min_p = max(attainable(n, **family_sets.exchanged), 1 / (1 + size.permutations))
    if blocks < MIN_BLOCKS or size.n_resamples == 1:
        counts = counts[:0]
    shape = (len(CORRELATION_NAMES), len(measures), len(names))
    observed = np.full((len(P_VALUE_KINDS), *shape), np.nan)
    resampled = np.empty((len(COPY_RULES), *shape, len(counts)))
    p, pairs = np.full((2, len(measures), len(names)), np.nan)
    for c, (layer, name) in enumerate(names):
        d, members = differences[layer], family_sets.sets[layer]
        f, rows = members.functionality[name], members.rows
        expected = np.array([expected_differences(f, row) for row in rows])
        ranks = unit_ranks(expected, np.array(rows), True)
        for m, spec in enumerate(measures):
            observed[:, :, m, c], pairs[m, c] = _observed_correlations(d[spec], f, rows, ranks)
        for i, copies in enumerate(COPY_RULES):
            for q, values in enumerate(bootstrap(d, f, counts, rows=rows, copies=copies)):
                resampled[i, q, :, c] = list(values.values())
        if min_p <= P_VALUE_LEVEL:
            p[:, c] = list(permutation_test(d, f, orders, rows=rows).values())
    correlations = Correlations(measures, names, observed, resampled, p, pairs, n, blocks, min_p)
    return Findings(family_sets.family, labels, family_sets, differences, correlations, reasons)


def count_bootstrap_units(n: int, design: Mapping[str, Any]) -> int:
    """Return the number of bootstrap units; for a crossed design, the smaller of the two numbers.

    ``n``: the number of models, the units without a design. ``design``: {} or a single entry:
    "blocks" or "nested" with a label per model, or "crossed" with two such labels.
    """
    kinds = design.get("crossed") or [
        design[name] for name in ("blocks", "nested") if name in design
    ]
    return min((len(set(kind)) for kind in kinds), default=n)


def _observed_correlations(
    d: np.ndarray, f: np.ndarray, rows: tuple[int, ...], ranks: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return two values: the observed values of a measure in a task, (kinds, qualities), and the
    number of known distances from the best representation.

    ``d``: distances (references, n). ``f``: the functionality (n,). ``rows``: the positions of the
    references. ``ranks``: the expected ranks of every row, (references, n), centred and scaled to
    unit length.
    """
    best_agreement = agreement(d, f, rows=rows)
    distinct_agreement = agreement(d, f, rows=rows, self_pair=False)
    reference = reference_of(f, np.array(rows))
    p_values = one_sided(d[rows.index(reference)], expected_differences(f, reference))
    if np.isnan(d).any():
        mean_rho = agreement(d, f, rows=rows, reference="every").spearman
    else:
        mean_rho = float(known_mean((unit_ranks(d, np.array(rows), True) * ranks).sum(axis=1)))
    values = np.array(
        [
            best_agreement[:2],
            best_agreement[:2],
            (mean_rho, np.nan),
            distinct_agreement[:2],
            p_values,
        ]
    )
    if best_agreement.pairs < len(f):
        values[[P_VALUE_KINDS.index(kind) for kind in ("best", "every", "alone")]] = np.nan
    return values, best_agreement.pairs


def _bootstrap_interval(draws: np.ndarray) -> tuple[float | None, float | None]:
    """Return the ends (low, high) of the 95 % percentile interval of the draws, (draws,), without
    NaN; (None, None) if all draws are NaN."""
    low, high = percentile_interval(draws)
    return finite_or_none(low), finite_or_none(high)


def count_values(draws: np.ndarray) -> int:
    """Return the number of entries of ``draws`` that are not NaN."""
    return int((~np.isnan(draws)).sum())
