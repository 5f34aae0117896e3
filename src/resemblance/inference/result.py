"""The result of evidence: scores of a comparison with chance levels, p-values and intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.rendering import to_html, to_text
from ..base.results import MappingResult
from ..base.rng import generator
from ..base.text import check_choice, did_you_mean
from ..comparison.comparison import (
    AnyMeasure,
    Comparison,
    Failure,
    MeasureInfo,
    most_similar,
    save_scores,
)
from ..comparison.scores import StoredResult
from ..contracts._measure import Measure
from ..contracts._statistic import class_indices
from ..data.representation import Representation
from ..engine._compare import compare_many
from ..engine.inputs import ComparisonInputs
from ..engine.options import check_run_options
from ..significance.multiple_testing import (
    ADJUST_METHODS,
    MIN_RELATIVE_SPREAD,
    AdjustMethod,
    adjust_pvalues,
    holm_adjust,
    permuted_level_share,
    split_significance_level,
    step_down_max_t,
)
from ..significance.orders import Design
from ..significance.resampling import half_width, standard_error
from ._sample_size import sample_size, samples_for_width
from .answers import Best, Contributions, CurvePoint, Difference, Influence, PairEvidence
from .bias import warn_biased_cka
from .evidence_file import EvidenceFields, serialize_evidence
from .intervals import PartCells
from .jackknife import (
    leave_group_out_values,
    leave_one_out_values,
    subsample_measure,
    subsample_representation,
)
from .moments import class_pair_contributions
from .nulls import MIN_TRUSTED_EXACT_P, PAIRING_INDEPENDENT, PAIRING_INDEPENDENT_REASON, NullCells

Adjustment = Literal["Holm", "step-down maxT", "step-down maxT and Holm"]
# Without similarity the standard deviation is sqrt(2) / n for any data, so the rule for detectable
# similarity holds.
STUDIED_MEASURES = ("cka[estimator=debiased]", "rsa", "rsa[compare=pearson]")


class EvidenceInputs(NamedTuple):
    """The inputs of evidence: representations by name, and measures by specification."""

    rows: Mapping[str, Representation]
    columns: Mapping[str, Representation]
    measures: Mapping[str, Measure]


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(MappingResult):
    """Scores of a comparison with their uncertainty: the return value of
    :func:`resemblance.evidence`.

    ``evidence["cka"]`` is the matrix of scores, the same as ``comparison["cka"]`` of the
    :class:`Comparison` ``comparison``; the methods return matrices of the same shape. All p-values
    are one-sided, in the direction of similarity. If all pairs of one list are compared, the
    diagonal has values but no chance, p-values or intervals (NaN): no representation is tested
    against itself. ``caveats`` give reasons to doubt chance levels or intervals for the data.
    ``inputs``: the representations and measures; None after reading from a file.
    """

    comparison: Comparison
    design: Design
    confidence_level: float
    nulls: Mapping[str, NullCells]
    parts: Mapping[str, PartCells]
    is_square: bool
    caveats: tuple[str, ...] = ()
    inputs: EvidenceInputs | None = None

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""
        return self.comparison.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.comparison.columns

    @property
    def measures(self) -> tuple[MeasureInfo, ...]:
        """The facts about each measure."""
        return self.comparison.measures

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The facts about the comparison: counts of samples, pooling, versions of the packages."""
        return self.comparison.provenance

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Reasons for missing values, missing intervals and missing chance levels."""
        reasons = [failure for cells in self.parts.values() for failure in cells.reasons]
        return (*self.comparison.failures, *reasons, *self._without_chance())

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.design.n

    @property
    def min_pvalue(self) -> float:
        """The smallest p-value that permutations can give; exact moments reach down to 1e-4."""
        return self.design.attainable

    def keys(self) -> tuple[str, ...]:
        """Return the specifications of the measures."""
        return self.comparison.keys()

    def __getitem__(self, key: Any) -> Any:
        return self.comparison[key]

    def summary(self) -> str:
        """Return the result and the caveats as text, with a line per pair for a few pairs."""
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)

    def chance(self, measure: AnyMeasure) -> np.ndarray:
        """Return the mean of the value over the permutations that the design allows.

        A mean below 1e-12 standard deviations of the permuted values is rounding, and becomes 0.
        """
        null = self._null(measure)
        is_rounding = abs(null.chance) <= MIN_RELATIVE_SPREAD * null.spread
        return np.where(is_rounding, 0.0, null.chance)

    def chance_std(self, measure: AnyMeasure) -> np.ndarray:
        """Return the standard deviation of the value over the permutations of the design."""
        return self._null(measure).spread

    def pvalue(self, measure: AnyMeasure, adjust: AdjustMethod = None) -> np.ndarray:
        """Return the p-value of each pair, optionally adjusted for the number of pairs.

        ``adjust=None``: the p-value of a pair that you chose before looking. ``"familywise"``: with
        probability 95 % none of the p-values below 0.05 is false. Permuted pairs are adjusted by
        step-down maxT of values in units of their spread around chance (Westfall and Young 1993).
        Pairs with exact moments, and a square with all permutations visited, are adjusted with Holm
        1979. If a map has pairs of both kinds, the two kinds share the level
        (``significance.multiple_testing.split_significance_level``). ``"fdr"``: the smallest false
        discovery rate at which a pair is significant (Benjamini and Hochberg 1995). The tail of
        exact moments is reliable down to 1e-4: a p-value of 1e-4 means 1e-4 or less.

        Raises ``ValueError`` for another adjustment.
        """
        check_choice("pvalue: adjust", adjust, ADJUST_METHODS)
        if adjust == "familywise":
            return self._whole(measure, self._familywise(measure))
        p = self._null(measure).pvalue
        if adjust == "fdr":
            tested = self._tested(measure)
            rates = np.full(p.shape, np.nan)
            rates[tested] = adjust_pvalues(p[tested], "fdr")
            p = rates
        return self._whole(measure, p)

    def null_method(self, measure: AnyMeasure) -> str:
        """Return the method of the null distribution; all methods if pairs differ."""
        return "; ".join(
            sorted({method for row in self._null(measure).how for method in row if method})
        )

    def above_chance(self, measure: AnyMeasure) -> np.ndarray:
        """Return (value - chance) / (best - chance), 0 at chance and 1 for the most similar value.

        Raises ``ValueError`` for a measure without a most similar value.
        """
        info = self.comparison.info(measure)
        best, null = most_similar(info), self._null(measure)
        if not math.isfinite(best):
            raise ValueError(f"above_chance: {info.spec} has no most similar value")
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (null.observed - null.chance) / (best - null.chance)
        return np.where(best == null.chance, np.nan, share)

    def adjust_method(self, measure: AnyMeasure) -> Adjustment:
        """Return the method of ``pvalue(measure, adjust="familywise")``."""
        if not self._is_joint(measure):
            return "Holm"
        has_both = (self._tested(measure) & self._null(measure).is_exact).any()
        return "step-down maxT and Holm" if has_both else "step-down maxT"

    def _is_joint(self, measure: AnyMeasure) -> bool:
        """Return whether the permuted pairs share the same draws."""
        has_draws = self._null(measure).drawn.shape[-1] > 0
        return has_draws and not (self.is_square and self.design.is_exhaustive)

    def _familywise(self, measure: AnyMeasure) -> np.ndarray:
        """Return p-values adjusted for the family-wise error rate, NaN outside the tested cells.

        Pairs with joint draws are adjusted by step-down maxT, other pairs by Holm; a mixture splits
        the significance level.
        """
        null, tested = self._null(measure), self._tested(measure)
        by_steps = tested & ~null.is_exact if self._is_joint(measure) else tested & False
        by_holm = tested & ~by_steps
        adjusted = np.full(tested.shape, np.nan)
        adjusted[by_holm] = holm_adjust(null.pvalue[by_holm])
        if by_steps.any():
            observed, drawn = (
                self._standardized(measure, values)[by_steps]
                for values in (null.observed, null.drawn)
            )
            adjusted[by_steps] = step_down_max_t(observed, drawn.T, self.design)
        if by_steps.any() and by_holm.any():
            share = permuted_level_share(by_steps.sum(), tested.sum(), self.min_pvalue)
            groups = adjusted[by_steps], adjusted[by_holm]
            adjusted[by_steps], adjusted[by_holm] = split_significance_level(
                groups, (share, 1 - share)
            )
        return adjusted

    def low(self, measure: AnyMeasure) -> np.ndarray:
        """Return the lower ends of the intervals."""
        return self._end(measure, -1)

    def high(self, measure: AnyMeasure) -> np.ndarray:
        """Return the upper ends of the intervals."""
        return self._end(measure, 1)

    def standard_error(self, measure: AnyMeasure) -> np.ndarray:
        """Return the standard error of each value."""
        parts = self.parts[self.comparison.info(measure).spec]
        return np.asarray(standard_error(parts.values, parts.kind))

    def best(self, measure: AnyMeasure, *, pairs: Sequence[tuple[str, str]] | None = None) -> Best:
        """Return the pair furthest above chance, with a p-value adjusted for the search over all
        pairs.

        ``pairs``: search only among these (row, column) names.
        """
        observed = self._standardized(measure, self._null(measure).observed)
        is_searched = self._tested(measure)
        if pairs is not None:
            is_chosen = np.zeros_like(is_searched)
            is_chosen[tuple(np.transpose([self._place(*pair) for pair in pairs]))] = True
            is_searched &= is_chosen
        standardized = np.where(is_searched, observed, np.nan)
        if np.isnan(standardized).all():
            spec = self.comparison.info(measure).spec
            raise ValueError(f"best: no pair of {spec} has a chance level")
        i, j = np.unravel_index(np.nanargmax(standardized), standardized.shape)
        value, p = (
            float(self[measure][i, j]),
            float(self.pvalue(measure, adjust="familywise")[i, j]),
        )
        return Best(self.rows[i], self.columns[j], value, p)

    def difference(
        self,
        measure: AnyMeasure,
        one: tuple[str, str],
        other: tuple[str, str],
        of: Evidence | None = None,
    ) -> Difference:
        r"""Return how much more similar the pair ``one`` is than the pair ``other``.

        .. math:: d = m(A, B) - m(A, C), \qquad d \pm t \, \mathrm{SE}(d)

        The standard error is computed from differences of resampled values: both pairs lose the
        same samples, so shared variation cancels. The difference is positive if the value of
        ``one`` is larger. ``of``: the evidence of ``other``, if computed from other samples; then
        the squares of the two standard errors are added. The p-value is two-sided.

        Warns for a biased estimator of CKA, because pairs of equal similarity and different widths
        differ by their bias. Raises ``KeyError`` for unknown names and ``ValueError`` for a pair
        without an interval, or with an interval of width 0.
        """
        from scipy.special import stdtr, stdtrit

        spec, values, parts, kinds = self.comparison.info(measure).spec, [], [], []
        warn_biased_cka(spec)
        for evidence, pair in ((self, one), (of or self, other)):
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f'difference: a pair is two names, ("a", "b"); got {pair!r}')
            place = evidence._place(*pair)
            kind, table, _ = evidence.parts[spec]
            if np.isnan(table[place]).any():
                raise ValueError(f"difference: {spec} has no interval for {pair[0]} and {pair[1]}")
            values.append(float(evidence[spec][place]))
            parts.append(table[place])
            kinds.append(kind)
        if of is None:
            error = float(standard_error(parts[0] - parts[1], kinds[0]))
        else:
            error = math.hypot(*(float(standard_error(v, k)) for v, k in zip(parts, kinds)))
        value, rounding = (
            values[0] - values[1],
            MIN_RELATIVE_SPREAD * max(MIN_RELATIVE_SPREAD, *map(abs, values)),
        )
        if error <= rounding:
            if abs(value) > rounding:
                raise ValueError(
                    f"difference: the values of {spec} do not vary between parts of the samples, "
                    "which says nothing about their error; use more samples, or another measure"
                )
            return Difference(value, value, value, 1.0)
        freedom = min(map(len, parts)) - 1
        half = float(stdtrit(freedom, (1 + self.confidence_level) / 2)) * error
        p = 2 * float(stdtr(freedom, -abs(value) / error))
        return Difference(value, value - half, value + half, p)

    def influence(self, measure: AnyMeasure, x: str, y: str, by: Any = None) -> Influence:
        """Return the influence of each sample on the score of ``x`` and ``y``, names of a row and a
        column, or of each group of samples with a label in ``by``, (n,).

        The influence is the score minus the score without the sample or group: positive if the
        sample increases the score. Measures that declare ``leave_one_out`` make the influence
        cheap, and exact except for RSA with ranks and CKA with an RBF or Laplace kernel, where the
        result is close. Other measures need n calls, and groups need a call per group. Raises
        ``ValueError`` for evidence from a file, which has no arrays.
        """
        m, first, second = self._inputs(measure, x, y)
        value = float(self[measure][self._place(x, y)])
        if by is None:
            samples = first.ids or tuple(range(first.shape[0]))
            return Influence(samples, value - leave_one_out_values(m, first, second))
        groups = _rows_by_label(class_indices("influence", first, by, "by"), by)
        values_without = leave_group_out_values(m, first, second, groups.values())
        return Influence(tuple(groups), value - values_without)

    def contributions(self, measure: AnyMeasure, x: str, y: str, labels: Any) -> Contributions:
        """Return the contribution of each pair of classes to the score of ``x`` and ``y``, names of
        a row and a column; the contributions add up to the score.

        ``labels``: the class of every sample, (n,).

        Raises ``ValueError`` for a measure that is not proportional to an inner product of two
        matrices, and for evidence from a file.
        """
        m, first, second = self._inputs(measure, x, y)
        numbers = class_indices("contributions", first, labels)
        return Contributions(
            tuple(_rows_by_label(numbers, labels)),
            class_pair_contributions(m, first, second, numbers),
        )

    def curve(
        self,
        measure: AnyMeasure,
        x: str,
        y: str,
        fractions: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
        n_resamples: int = 10,
    ) -> tuple[CurvePoint, ...]:
        """Return the mean and standard deviation of a score over random subsets of increasing size.

        If the curve still rises or falls at all samples, the measure is biased: the value depends
        on the number of samples. Raises ``ValueError`` for evidence from a file.
        """
        m, *sides = self._inputs(measure, x, y)
        if not all(0 < f <= 1 for f in fractions) or n_resamples < 2:
            raise ValueError(
                "curve: fractions must be above 0 and at most 1, and n_resamples at least 2; got "
                f"{list(fractions)} and {n_resamples}"
            )
        n, points = self.n_samples, []
        for size in sorted({max(2, round(f * n)) for f in fractions}):
            inputs = []
            for draw in range(n_resamples if size < n else 1):
                random = generator(self.design.seed, "curve", n, size, draw)
                rows = np.sort(random.choice(n, size, replace=False))
                first, second = (subsample_representation(r, rows) for r in sides)
                measure_of_rows = subsample_measure(m, rows, sides[0])
                inputs.append(ComparisonInputs.of([first], [measure_of_rows], [second]))
            comparisons = compare_many(inputs, check_run_options(progress=False))
            values = np.array([c[c.measures[0].spec][0, 0] for c in comparisons])
            spread = float(values.std(ddof=1)) if size < n else 0.0
            points.append(CurvePoint(size, float(values.mean()), spread))
        return tuple(points)

    def sample_size(
        self,
        measure: AnyMeasure,
        *,
        width: float | None = None,
        min_similarity: float | None = None,
    ) -> np.ndarray:
        """Return the number of samples that each pair needs, (rows, columns), using this data as a
        pilot.

        ``width``: the desired width of the interval; standard errors fall with the square root of
        the number of samples. ``min_similarity``: the smallest similarity to detect with 80 % power
        at the level 5 %. This option is available only for debiased CKA and RSA, and does not
        depend on the pilot (:func:`resemblance.sample_size`). NaN for pairs without an interval.
        Raises ``ValueError`` unless exactly one option is given.
        """
        if (width is None) == (min_similarity is None):
            raise ValueError("sample_size: give width= or min_similarity=")
        current_widths = self.high(measure) - self.low(measure)
        counts, is_known = np.full(current_widths.shape, np.nan), ~np.isnan(current_widths)
        if width is not None:
            # Equal data have an interval of width 0; any number of samples keeps the width.
            widths = np.maximum(current_widths[is_known], 1e-12)
            counts[is_known] = [samples_for_width(self.n_samples, w, width) for w in widths]
            return counts
        spec = self.comparison.info(measure).spec
        if spec not in STUDIED_MEASURES:
            raise ValueError(
                f"sample_size: the power of {spec} was not studied; studied measures: "
                f"{', '.join(STUDIED_MEASURES)}; else try parts of a pilot, as Evidence.curve does"
            )
        counts[is_known] = sample_size(min_similarity=min_similarity)
        return counts

    def records(self) -> list[dict[str, Any]]:
        """Return a record per measure and pair.

        A record has the columns of the comparison, then low, high, chance, above_chance, pvalue,
        pvalue_familywise, pvalue_fdr and how; None for a missing number.
        """
        tables = {m.spec: self._tables(m) for m in self.measures}
        records = self.comparison.records()
        places = product(self.measures, range(len(self.rows)), range(len(self.columns)))
        for record, (m, i, j) in zip(records, places):
            values = {name: float(table[i, j]) for name, table in tables[m.spec].items()}
            record |= {name: None if math.isnan(v) else v for name, v in values.items()}
            record["how"] = self.nulls[m.spec].how[i][j] or None
        return records

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` with one (quantity, x, y) variable per measure (extra
        ``frames``).

        The quantities are value, low, high, chance, above_chance, pvalue, pvalue_familywise and
        pvalue_fdr. The facts about a measure are attributes, as in :meth:`Comparison.to_xarray`.
        """
        values, data = self.comparison.to_xarray(), {}
        for m in self.measures:
            tables = {"value": self[m]} | self._tables(m)
            names, cells = list(tables), np.stack(list(tables.values()))
            data[m.spec] = (("quantity", "x", "y"), cells, values[m.spec].attrs)
        coords = {"quantity": names, "x": list(self.rows), "y": list(self.columns)}
        return import_optional("xarray").Dataset(data, coords=coords)

    def save(self, path: str | Path) -> None:
        """Write evidence to one file, whatever the suffix.

        :func:`resemblance.load` reads the file, and ``evidence(..., save=path)`` continues the
        file. The file has no arrays.
        """
        save_scores(replace(self.comparison, evidence=self), path, "Evidence")

    def stored(self) -> tuple[dict[str, Any], Iterator[StoredResult]]:
        """Return the content of a file of scores for this evidence, besides the values: the
        description, values of JSON by name, and an iterator over the tables."""
        fields = EvidenceFields(
            self.design, self.confidence_level, self.nulls, self.parts, self.is_square, self.caveats
        )
        return serialize_evidence(self.measures, fields)

    def pair(self, measure: AnyMeasure, row: str, column: str) -> PairEvidence:
        """Return all evidence about a measure of a pair.

        The fields are value, low, high, chance, above_chance, pvalue, pvalue_familywise, how, and
        the reason for missing fields.

        Raises ``KeyError`` for unknown names.
        """
        info, place = self.comparison.info(measure), self._place(row, column)
        tables = self._tables(info)
        names = ("low", "high", "chance", "above_chance", "pvalue", "pvalue_familywise")
        numbers = {name: float(tables[name][place]) for name in names}
        reasons = [
            f.reason for f in self.failures if (f.measure, f.x, f.y) == (info.spec, row, column)
        ]
        method = self._null(info).how[place[0]][place[1]]
        if not reasons and self.is_square and place[0] == place[1]:
            reasons = [f"{row} is not tested against itself"]
        value = float(self[info][place])
        return PairEvidence(value, **numbers, how=method, reason="; ".join(reasons))

    def _place(self, row: str, column: str) -> tuple[int, int]:
        """Return the (row, column) position of a pair; raise ``KeyError`` for unknown names."""
        for name, names in ((row, self.rows), (column, self.columns)):
            if name not in names:
                raise KeyError(f"no {name!r} in this evidence{did_you_mean(name, names)}")
        return self.rows.index(row), self.columns.index(column)

    def _without_chance(self) -> Iterator[Failure]:
        """Yield the reasons for pairs with a value and an interval, but no chance level."""
        for spec, null in self.nulls.items():
            for i, j in np.argwhere(np.array(null.how) == PAIRING_INDEPENDENT).tolist():
                yield Failure(
                    spec,
                    self.rows[i],
                    self.columns[j],
                    f"no chance level: {PAIRING_INDEPENDENT_REASON}",
                )

    def _null(self, measure: AnyMeasure) -> NullCells:
        return self.nulls[self.comparison.info(measure).spec]

    def _end(self, measure: AnyMeasure, sign: int) -> np.ndarray:
        """Return the lower ends (``sign=-1``) or the upper ends (``sign=1``) of the intervals,
        clipped to the range of the measure."""
        info = self.comparison.info(measure)
        kind, values, _ = self.parts[info.spec]
        ends = self[info] + sign * half_width(values, kind, self.confidence_level)
        return np.asarray(np.clip(ends, *info.range))

    def _standardized(self, measure: AnyMeasure, values: np.ndarray) -> np.ndarray:
        """Return values above chance in units of the null spread; larger is more similar."""
        center, unit = self._null(measure).scale(self.design)
        sign = 1 if self.comparison.info(measure).larger_is_more_similar else -1
        return np.asarray(sign * (values.T - center.T) / unit.T).T

    def _is_mirrored(self, measure: AnyMeasure) -> bool:
        return self.is_square and self.comparison.info(measure).symmetric

    def _tested(self, measure: AnyMeasure) -> np.ndarray:
        """Return a mask of the tests: the pairs with a p-value.

        For a symmetric measure in a square, only pairs above the diagonal count as tests.
        """
        is_tested = ~np.isnan(self._null(measure).pvalue)
        return np.triu(is_tested, 1) if self._is_mirrored(measure) else is_tested

    def _whole(self, measure: AnyMeasure, p: np.ndarray) -> np.ndarray:
        """Return p-values; p-values of exact moments are at least 1e-4.

        For a symmetric measure in a square, a missing p-value comes from the mirrored cell.
        """
        if self._is_mirrored(measure):
            p = np.where(np.isnan(p), p.T, p)
        return np.where(self._null(measure).is_exact, np.fmax(p, MIN_TRUSTED_EXACT_P), p)

    def _inputs(
        self, measure: AnyMeasure, row: str, column: str
    ) -> tuple[Measure, Representation, Representation]:
        """Return the measure and the two representations of a score."""
        if self.inputs is None:
            raise ValueError(
                "this evidence was read from a file and has no arrays: call rs.evidence with them "
                "and save= that file, which computes nothing again"
            )
        self._place(row, column)
        m = self.inputs.measures[self.comparison.info(measure).spec]
        return m, self.inputs.rows[row], self.inputs.columns[column]

    def _tables(self, info: MeasureInfo) -> dict[str, np.ndarray]:
        """Return the matrices for the columns of the records."""
        ends = {"low": self.low(info), "high": self.high(info), "chance": self.chance(info)}
        pvalues = {
            "pvalue" if adjust is None else f"pvalue_{adjust}": self.pvalue(info, adjust)
            for adjust in ADJUST_METHODS
        }
        return ends | {"above_chance": scores_above_chance(self, info)} | pvalues


def scores_above_chance(evidence: Evidence, info: MeasureInfo) -> np.ndarray:
    """Return (value - chance) / (best - chance) of the measure for every pair, (rows, columns): 0
    at chance and 1 for the most similar value; all NaN for a measure without a most similar
    value."""
    if not math.isfinite(most_similar(info)):
        return np.full(evidence[info].shape, np.nan)
    return evidence.above_chance(info)


def _rows_by_label(numbers: np.ndarray, labels: Any) -> dict[Hashable, np.ndarray]:
    """Return the positions of the samples with each label. ``numbers``: the labels as integers
    from 0, (n,). ``labels``: the labels, (n,), the keys of the result."""
    label_list = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    groups = (np.flatnonzero(numbers == group) for group in range(numbers.max() + 1))
    return {label_list[rows[0]]: rows for rows in groups}
