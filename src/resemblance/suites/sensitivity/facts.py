"""What the sensitivity benchmark finds in one family of models, by measure; JSON only in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from ..families import ModelFamily
from .operators import Deletion

Quality = Literal["spearman", "kendall"]
QUALITIES: tuple[Quality, ...] = ("spearman", "kendall")
ALL = "*"  # the mean over all functionalities, among means by functionality
LEVEL = 0.05

# The measures of the paper, as its authors' code computes them.
PROCRUSTES, CKA, PWCCA = "procrustes", "cka", "pwcca[directions=all]"
MEAN_CCA = "mean_cca[divisor=width]"
MEAN_SQUARED_CCA = "mean_cca[aggregation=mean_squared,divisor=width]"
PAPER: Mapping[str, str] = {  # by the name in the paper
    "Procrustes": PROCRUSTES, "CKA": CKA, "PWCCA": PWCCA, "mean_CCA": MEAN_CCA,
    "mean_sq_CCA": MEAN_SQUARED_CCA,
}  # fmt: skip
NAMES: Mapping[str, str] = {  # in tables
    PROCRUSTES: "Procrustes", CKA: "CKA", PWCCA: "PWCCA (all directions)", MEAN_CCA: "mean CCA",
    MEAN_SQUARED_CCA: "mean squared CCA",
}  # fmt: skip


class Estimate(NamedTuple):
    """A value with its 95 % bootstrap interval; None for what has no value."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Correlation(NamedTuple):
    """A rank correlation of one measure in one cell.

    ``every_reference``: the mean over all possible references. ``no_self_pair``: without the pair
    of the reference with itself. ``naive``: the one-sided p-value for independent pairs.
    """

    estimate: Estimate
    every_reference: float | None
    no_self_pair: float | None
    naive: float | None


class CellScore(NamedTuple):
    """One measure in one cell.

    ``permuted``: the p-value of Spearman's correlation by permutation. ``pairs``: how many
    distances the correlations use; ``is_complete``: none of the distances from the best failed.
    """

    spearman: Correlation
    kendall: Correlation
    permuted: float | None
    pairs: int
    is_complete: bool

    def correlation(self, quality: Quality) -> Correlation:
        """Return one of the two correlations."""
        return self.spearman if quality == "spearman" else self.kendall

    def value(self, quality: Quality) -> float | None:
        """Return a correlation; None where it is undefined or a comparison failed."""
        return self.correlation(quality).estimate.value if self.is_complete else None


class GradedCell(NamedTuple):
    """All measures on one layer and one functionality of n representations."""

    layer: str
    functionality: str
    n: int
    scores: Mapping[str, CellScore]


class MeanCorrelation(NamedTuple):
    """The mean of a correlation over cells, and the mean over known pairs if some failed."""

    estimate: Estimate
    of_known_pairs: float | None


class MeanScore(NamedTuple):
    """The mean of one measure over cells.

    ``draws``: the bootstrap samples in which Spearman's correlation has a value. ``pairs``: the
    known ones ``of`` all. ``rejected``: the share of cells with a permuted p-value of at most 0.05.
    """

    spearman: MeanCorrelation
    kendall: MeanCorrelation
    draws: int
    pairs: int
    of: int
    rejected: float | None

    def correlation(self, quality: Quality) -> MeanCorrelation:
        """Return one of the two means."""
        return self.spearman if quality == "spearman" else self.kendall

    def estimate(self, quality: Quality) -> Estimate:
        """Return one of the two means with its interval; None if some comparison failed."""
        return self.correlation(quality).estimate


class Contrast(NamedTuple):
    """The difference first - second of a mean correlation, with its 95 % bootstrap interval.

    ``low`` and ``high`` count one pair of the reference with itself, ``low_copies`` and
    ``high_copies`` one for each time that the reference was drawn. ``draws``: the bootstrap samples
    in which the difference has a value.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    low_copies: float | None
    high_copies: float | None
    draws: int


class Grades(NamedTuple):
    """All measures on all cells of one family.

    ``means``: by functionality, and over all of them (``ALL``), by measure. ``contrasts``: by
    quality, over all cells; ``by_layer``: of Kendall's correlation in every layer. ``failed``: by
    measure, how many comparisons failed and why. ``constant_measures``: those with equal distances
    for all pairs. ``constant``: functionalities in which all models are equal, which are no cells.
    ``blocks``: how many units bootstrap samples are drawn from. ``draws``: how many samples.
    ``smallest``: the smallest permuted p-value that is attainable.
    """

    cells: tuple[GradedCell, ...]
    means: Mapping[str, Mapping[str, MeanScore]]
    contrasts: Mapping[str, tuple[Contrast, ...]]
    by_layer: Mapping[str, tuple[Contrast, ...]]
    failed: Mapping[str, str]
    constant_measures: tuple[str, ...]
    constant: Mapping[str, str]
    blocks: int
    draws: int
    smallest: float


Shares: TypeAlias = tuple[float | None, ...]


class MiddleLayer(NamedTuple):
    """Distances of the middle layer from all layers, of its own model and of another seed."""

    within: Shares
    across: Shares


class Specificity(NamedTuple):
    """Benchmark 1 by layer: Figure 1 of the paper.

    ``probe``: accuracy by layer. ``middle``: position of the middle layer. ``exceeding``: by
    measure and layer, as :class:`resemblance.suites.sensitivity.Depth`. ``zoom``: for the measures
    of the paper.
    """

    layers: tuple[str, ...]
    probe: tuple[float, ...]
    middle: int
    exceeding: Mapping[str, Shares]
    zoom: Mapping[str, MiddleLayer]


class DeletionCurves(NamedTuple):
    """Benchmark 2 in the last layer: Figure 2 of the paper.

    ``shares``: of the components deleted. ``probe``: accuracy with that share deleted. ``unknown``:
    why a measure has no curve.
    """

    layer: str
    shares: tuple[float, ...]
    probe: tuple[float, ...]
    curves: Mapping[str, Deletion]
    unknown: Mapping[str, str]


class FamilyFacts(NamedTuple):
    """What one benchmark finds in one family of models; ``labels``: of measures, by specification.

    ``specificity`` is of benchmark 1, ``deletion`` of benchmark 2.
    """

    family: ModelFamily
    labels: Mapping[str, str]
    grades: Grades
    specificity: Specificity | None = None
    deletion: DeletionCurves | None = None

    def name(self, spec: str) -> str:
        """Return what a measure is called in tables."""
        return name_of(spec, self.labels)

    def estimate(self, spec: str, quality: Quality, functionality: str = ALL) -> Estimate:
        """Return the mean correlation of a measure; without a value if it took no part."""
        score = self.grades.means.get(functionality, {}).get(spec)
        return Estimate(None) if score is None else score.estimate(quality)


SuiteFacts: TypeAlias = Mapping[str, tuple[FamilyFacts, ...]]  # by benchmark


def name_of(spec: str, labels: Mapping[str, str]) -> str:
    """Return the name of a measure in the paper, or its label with its parameters."""
    if spec in NAMES:
        return NAMES[spec]
    parameters = spec.partition("[")[2]
    return labels.get(spec, spec) + (f" [{parameters}" if parameters else "")


def mean_or_none(values: Iterable[float | None]) -> float | None:
    """Return the mean of numbers; None when there are none, or one of them has no value."""
    numbers = list(values)
    finite = [v for v in numbers if v is not None]
    return sum(finite) / len(numbers) if numbers and len(finite) == len(numbers) else None


def mean_value(cells: Iterable[GradedCell], spec: str, quality: Quality) -> float | None:
    """Return the mean correlation of a measure over cells; None if one has no value."""
    return mean_or_none(cell.scores[spec].value(quality) for cell in cells)


def share_of_small(p_values: Iterable[float | None]) -> float | None:
    """Return the share of p-values of at most 0.05; None if one of them has no value."""
    return mean_or_none(None if p is None else float(p <= LEVEL) for p in p_values)
