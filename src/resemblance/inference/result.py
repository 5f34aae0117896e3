"""How sure scores are: the values of a comparison with chance, p-values and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison import AnyMeasure, Comparison, Failure, MeasureInfo
from ..display import did_you_mean, drawn
from ..extras import need
from ..significance.adjusting import ROUNDING, false_discovery_rates, holm, step_down
from ..significance.orders import Design
from ..significance.parts import half_width, standard_error
from .cells import EXACT, SMALLEST, Best, EvidenceOrigin, NullCells, PartCells
from .differences import Difference, difference_of
from .samples import (
    Contributions,
    CurvePoint,
    Influence,
    contributions_of,
    curve_of,
    influence_of,
    samples_needed,
)
from .saving import save_evidence


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """How sure the scores of a comparison are: what :func:`resemblance.evidence` returns.

    ``evidence["cka"]`` is the matrix of values, as of a :class:`Comparison`, which ``comparison``
    is; the methods return matrices of the same shape. All p-values are one-sided, in the direction
    of similarity. Where all pairs of one list are compared, the diagonal has values but no chance,
    p-values or intervals (NaN): nothing is tested against itself. ``cautions`` say why chance
    or intervals are doubtful for these data. ``origin``: what it was computed from; None after
    reading from a file.
    """

    comparison: Comparison
    design: Design
    level: float
    nulls: Mapping[str, NullCells]
    parts: Mapping[str, PartCells]
    is_square: bool
    cautions: tuple[str, ...] = ()
    origin: EvidenceOrigin | None = None

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
    def failures(self) -> tuple[Failure, ...]:
        """Why pairs have no value, or a value and no interval."""
        reasons = [failure for cells in self.parts.values() for failure in cells.reasons]
        return (*self.comparison.failures, *reasons)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return self.design.n

    @property
    def attainable(self) -> float:
        """The smallest p-value that the orders can give; exact moments say down to 1e-4."""
        return self.design.attainable

    def __getitem__(self, measure: AnyMeasure) -> np.ndarray:
        return self.comparison[measure]

    def __repr__(self) -> str:
        from .shown import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from .shown import html_of

        return html_of(self)

    def plot(self, measure: Any = None, *, kind: str = "heatmap", **options: Any) -> Any:
        """Draw one measure by a function of :mod:`resemblance.plot`; return the axes (extra
        ``plot``).

        ``kind``: "heatmap", "layers", "mds", "tree" or "intervals"; ``options``: those of that
        function.
        """
        return drawn(self, measure, kind=kind, **options)

    def chance(self, measure: AnyMeasure) -> np.ndarray:
        """Return the mean of the value over the orders that the design allows."""
        return self._null(measure).chance

    def spread(self, measure: AnyMeasure) -> np.ndarray:
        """Return the standard deviation of the value over these orders."""
        return self._null(measure).spread

    def p(self, measure: AnyMeasure) -> np.ndarray:
        """Return the p-value of each pair; where moments are exact, 1e-4 means that or less."""
        return self._said(measure, self._null(measure).p)

    def how(self, measure: AnyMeasure) -> str:
        """Return how chance was found; all ways, if not the same for all pairs."""
        ways = {how for row in self._null(measure).how for how in row if how}
        return "; ".join(sorted(ways))

    def above_chance(self, measure: AnyMeasure) -> np.ndarray:
        """Return (value - chance) / (best - chance), 0 at chance and 1 for the most similar value.

        Raises ``ValueError`` for a measure without a most similar value.
        """
        info = self.comparison.info(measure)
        best = info.range[1] if info.larger_is_more_similar else info.range[0]
        if not np.isfinite(best):
            raise ValueError(f"above_chance: {info.spec} has no most similar value")
        chance, observed = self.chance(measure), self._null(measure).observed
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (observed - chance) / (best - chance)
        return np.where(best == chance, np.nan, share)

    def adjusted(self, measure: AnyMeasure) -> np.ndarray:
        """Return p-values that hold for all pairs of the map at once.

        With orders: step-down maxT of values in units of their spread around chance (Westfall and
        Young 1993). With exact moments, and in a square where all orders are visited: Holm 1979.
        """
        tested = self._tested(measure)
        adjusted = np.full(tested.shape, np.nan)
        if tested.any():
            adjusted[tested] = self._adjusted(measure, tested)
        return self._said(measure, self._mirrored(measure, adjusted))

    def fdr(self, measure: AnyMeasure) -> np.ndarray:
        """Return the false discovery rate at which each pair counts (Benjamini and Hochberg)."""
        p, tested = self._null(measure).p, self._tested(measure)
        rates = np.full(p.shape, np.nan)
        rates[tested] = false_discovery_rates(p[tested])
        return self._said(measure, self._mirrored(measure, rates))

    def low(self, measure: AnyMeasure) -> np.ndarray:
        """Return the lower ends of the intervals."""
        low: np.ndarray = self._ends(measure)[0]
        return low

    def high(self, measure: AnyMeasure) -> np.ndarray:
        """Return the upper ends of the intervals."""
        high: np.ndarray = self._ends(measure)[1]
        return high

    def standard_error(self, measure: AnyMeasure) -> np.ndarray:
        """Return the standard error of each value."""
        parts = self._parts(measure)
        errors: np.ndarray = standard_error(parts.values, parts.kind)
        return errors

    def best(self, measure: AnyMeasure) -> Best:
        """Return the pair furthest above chance, with a p-value that pays for the search."""
        info, standardised = self.comparison.info(measure), self._standardised(measure)
        if np.isnan(standardised).all():
            raise ValueError(f"best: no pair of {info.spec} has a chance level")
        i, j = np.unravel_index(np.nanargmax(standardised), standardised.shape)
        value, p = float(self[measure][i, j]), float(self.adjusted(measure)[i, j])
        return Best(self.rows[i], self.columns[j], value, p)

    def difference(
        self,
        measure: AnyMeasure,
        one: tuple[str, str],
        other: tuple[str, str],
        of: Evidence | None = None,
    ) -> Difference:
        r"""Return how much more similar the pair ``one`` is than ``other``.

        .. math:: d = m(A, B) - m(A, C), \qquad d \pm t \, \mathrm{SE}(d)

        with the standard error of the difference of the values without each part of the samples:
        both pairs lose the same samples, so what they share cancels. Positive where the value of
        ``one`` is larger. ``of``: the evidence that ``other`` is from, if that is on other samples;
        then the two standard errors add up as squares. The p-value is two-sided.

        Warns for a biased estimator of CKA: pairs of equal similarity and different widths differ
        by their bias. Raises ``KeyError`` for names that do not exist and ``ValueError`` for a pair
        without an interval, or with one that has no width.
        """
        return difference_of(self, measure, one, other, of)

    def influence(self, measure: AnyMeasure, row: str, column: str, by: Any = None) -> Influence:
        """Return how much each sample adds to a value, or each group of samples with a label.

        It is the value minus that without the sample or group: positive where it makes the value
        larger. Cheap for measures that declare ``left_out``, and exact but for RSA by ranks and CKA
        with an RBF or Laplace kernel, which are close; n calls for other measures, and a call for
        each group. Raises ``ValueError`` for evidence from a file, which has no arrays.
        """
        return influence_of(self, measure, row, column, by)

    def contributions(
        self, measure: AnyMeasure, row: str, column: str, labels: Any
    ) -> Contributions:
        """Return shares of a value that add up to it, one for each pair of classes.

        Raises ``ValueError`` for a measure that is not proportional to an inner product of two
        matrices, and for evidence from a file.
        """
        return contributions_of(self, measure, row, column, labels)

    def curve(
        self,
        measure: AnyMeasure,
        row: str,
        column: str,
        fractions: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
        draws: int = 10,
    ) -> tuple[CurvePoint, ...]:
        """Return the mean of a value over random parts of the samples, and its standard deviation.

        A curve that still rises or falls at all samples is that of a biased measure, whose value
        depends on their number. Raises ``ValueError`` for evidence from a file.
        """
        return curve_of(self, measure, row, column, fractions, draws)

    def samples_for(
        self, measure: AnyMeasure, *, width: float | None = None, detect: float | None = None
    ) -> np.ndarray:
        """Return how many samples each pair needs, (rows, columns), from this pilot.

        ``width``: of its interval; standard errors fall with the root of the number of samples.
        ``detect``: the smallest similarity to be found with 80 % power at the level 5 %, known for
        debiased CKA and RSA only, where it depends on no pilot (:func:`resemblance.samples_for`).
        NaN for pairs without an interval. Raises ``ValueError`` unless one of both is given.
        """
        return samples_needed(self, measure, width, detect)

    def records(self) -> list[dict[str, Any]]:
        """Return one record per measure and pair: the record of the comparison, then low, high,
        chance, above_chance, p, adjusted, fdr and how; None for what does not exist."""
        tables = {m.spec: self._columns_of(m.spec) for m in self.measures}
        at = {name: i for i, name in enumerate(self.rows)}
        to = {name: j for j, name in enumerate(self.columns)}
        records = []
        for record in self.comparison.records():
            spec, i, j = record["measure"], at[record["x"]], to[record["y"]]
            cells = {name: _or_none(table[i, j]) for name, table in tables[spec].items()}
            records.append(record | cells | {"how": self._null(spec).how[i][j] or None})
        return records

    def to_pandas(self) -> Any:
        """Return the records as a ``pandas.DataFrame`` (extra ``frames``)."""
        return need("pandas").DataFrame(self.records())

    def save(self, path: str | Path) -> None:
        """Write one file that :func:`resemblance.load_evidence` reads."""
        save_evidence(self, path)

    # ------------------------------------------------------------------------------------ inside

    def place(self, row: str, column: str) -> tuple[int, int]:
        """Return where a pair is in the matrices; ``KeyError`` for names that do not exist."""
        for name, names in ((row, self.rows), (column, self.columns)):
            if name not in names:
                raise KeyError(f"no {name!r} in this evidence{did_you_mean(name, names)}")
        return self.rows.index(row), self.columns.index(column)

    def _null(self, measure: AnyMeasure) -> NullCells:
        return self.nulls[self.comparison.info(measure).spec]

    def _parts(self, measure: AnyMeasure) -> PartCells:
        return self.parts[self.comparison.info(measure).spec]

    def _ends(self, measure: AnyMeasure) -> np.ndarray:
        info, parts = self.comparison.info(measure), self._parts(measure)
        half = half_width(parts.values, parts.kind, self.level)
        ends: np.ndarray = np.clip([self[measure] - half, self[measure] + half], *info.range)
        return ends

    def _standardised(self, measure: AnyMeasure) -> np.ndarray:
        """Return how many spreads each value is above chance, in the direction of similarity."""
        null = self._null(measure)
        centre, unit = _scale_of(null, self.design)
        z: np.ndarray = self._sign(measure) * (null.observed - centre) / unit
        return z

    def _sign(self, measure: AnyMeasure) -> int:
        return 1 if self.comparison.info(measure).larger_is_more_similar else -1

    def _tested(self, measure: AnyMeasure) -> np.ndarray:
        """Return which cells are tests of their own: of a symmetric measure, those above the
        diagonal of a square."""
        tested = ~np.isnan(self._null(measure).p)
        is_mirrored = self.is_square and self.comparison.info(measure).symmetric
        return np.triu(tested, 1) if is_mirrored else tested

    def _said(self, measure: AnyMeasure, p: np.ndarray) -> np.ndarray:
        """Return p-values without what the tails of exact moments are not trusted to say."""
        is_exact = np.array(self._null(measure).how) == EXACT
        return np.where(is_exact, np.fmax(p, SMALLEST), p) if is_exact.any() else p

    def _mirrored(self, measure: AnyMeasure, cells: np.ndarray) -> np.ndarray:
        if self.is_square and self.comparison.info(measure).symmetric:
            return np.where(np.isnan(cells), cells.T, cells)
        return cells

    def _adjusted(self, measure: AnyMeasure, tested: np.ndarray) -> np.ndarray:
        null = self._null(measure)
        if not null.drawn.shape[-1] or (self.is_square and self.design.is_exhaustive):
            return holm(null.p[tested])
        centre, unit = (table[tested, None] for table in _scale_of(null, self.design))
        drawn = self._sign(measure) * (null.drawn[tested] - centre) / unit
        return step_down(self._standardised(measure)[tested], drawn.T, self.design)

    def _columns_of(self, measure: str) -> dict[str, np.ndarray]:
        from .words import above_chance

        return {
            "low": self.low(measure),
            "high": self.high(measure),
            "chance": self.chance(measure),
            "above_chance": above_chance(self, self.comparison.info(measure)),
            "p": self.p(measure),
            "adjusted": self.adjusted(measure),
            "fdr": self.fdr(measure),
        }


def _scale_of(null: NullCells, design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the spread in whose units the pairs of a map are compared.

    Of the values drawn together with that observed: under the null hypothesis all are alike, and a
    scale that leaves one out would set it apart. At least what rounding leaves of no spread.
    """
    centre, spread = null.chance, null.spread
    if null.drawn.shape[-1]:
        others = null.drawn[..., 1:] if design.is_exhaustive else null.drawn
        values = np.concatenate([null.observed[..., None], others], axis=-1)
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=-1), 1)
        centre = np.where(known, values, 0).sum(axis=-1) / count
        squares = np.where(known, values - centre[..., None], 0) ** 2
        spread = np.sqrt(squares.sum(axis=-1) / count)
    sizes = np.fmax(np.abs(centre), np.abs(null.observed))
    return centre, np.fmax(spread, ROUNDING * np.fmax(sizes, ROUNDING))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
