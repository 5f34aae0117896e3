"""What samples do to a score: their influence, what classes contribute, and how many are needed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compare import compare_many
from ..comparison import AnyMeasure
from ..measure import Measure
from ..outline import Request
from ..representation import Representation
from ..rng import generator
from ..statistic import classes
from .leaving_out import influence_by_brute_force, left_out_values, on_rows, rows_of
from .moments import contributions
from .planning import samples_for, samples_for_width

if TYPE_CHECKING:
    from .cells import EvidenceOrigin
    from .result import Evidence

# Their spread without similarity is the root of 2 by n whatever the data, so the rule for what can
# be detected holds.
STUDIED = ("cka[estimator=debiased]", "rsa", "rsa[compare=pearson]")


class Influence(NamedTuple):
    """How much samples, or groups of them, add to a value: it, minus the value without each.

    ``of``: the id or the number of each sample, or the label of each group.
    """

    of: tuple[Hashable, ...]
    values: np.ndarray


class Contributions(NamedTuple):
    """Shares of a value that add up to it, one for each pair of classes: (classes, classes)."""

    classes: tuple[Hashable, ...]
    values: np.ndarray


class CurvePoint(NamedTuple):
    """The mean of a value over random parts of so many samples, and its standard deviation."""

    samples: int
    value: float
    spread: float


def influence_of(
    evidence: Evidence, measure: AnyMeasure, row: str, column: str, by: Any
) -> Influence:
    """Return what samples or groups add to a value: see ``Evidence.influence``."""
    m, (x, y) = _measure(evidence, measure), _pair(evidence, row, column)
    value = float(evidence[measure][evidence.place(row, column)])
    if by is None:
        names = x.ids or tuple(range(x.shape[0]))
        return Influence(names, value - left_out_values(m, x, y))
    labels = classes("influence", x, by, "by")
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    without = influence_by_brute_force(m, x, y, groups)
    return Influence(_names(by, groups), value - without)


def contributions_of(
    evidence: Evidence, measure: AnyMeasure, row: str, column: str, labels: Any
) -> Contributions:
    """Return what pairs of classes contribute: see ``Evidence.contributions``."""
    m, (x, y) = _measure(evidence, measure), _pair(evidence, row, column)
    numbers = classes("contributions", x, labels)
    groups = [np.flatnonzero(numbers == g) for g in range(numbers.max() + 1)]
    return Contributions(_names(labels, groups), contributions(m, x, y, numbers))


def curve_of(
    evidence: Evidence,
    measure: AnyMeasure,
    row: str,
    column: str,
    fractions: Sequence[float],
    draws: int,
) -> tuple[CurvePoint, ...]:
    """Return the value on parts of the samples: see ``Evidence.curve``."""
    m, sides = _measure(evidence, measure), _pair(evidence, row, column)
    if not all(0 < f <= 1 for f in fractions) or draws < 2:
        raise ValueError(
            f"curve: fractions must be above 0 and at most 1, and draws at least 2; got "
            f"{list(fractions)} and {draws}"
        )
    n, seed = evidence.n_samples, evidence.design.seed
    points = []
    for size in sorted({max(2, round(f * n)) for f in fractions}):
        requests = []
        for draw in range(draws if size < n else 1):
            random = generator(seed, "curve", n, size, draw)
            rows = np.sort(random.choice(n, size, replace=False))
            x, y = (rows_of(r, rows) for r in sides)
            requests.append(Request([x], [on_rows(m, rows, n)], [y]))
        comparisons = compare_many(requests, progress=False)
        values = np.array([c[c.measures[0].spec][0, 0] for c in comparisons])
        error = float(values.std(ddof=1)) if size < n else 0.0
        points.append(CurvePoint(size, float(values.mean()), error))
    return tuple(points)


def samples_needed(
    evidence: Evidence, measure: AnyMeasure, width: float | None, detect: float | None
) -> np.ndarray:
    """Return how many samples are needed for each pair: see ``Evidence.samples_for``."""
    if (width is None) == (detect is None):
        raise ValueError("samples_for: give width= or detect=")
    now = evidence.high(measure) - evidence.low(measure)
    needed = np.full(now.shape, np.nan)
    for place in np.argwhere(~np.isnan(now)):
        i, j = map(int, place)
        if width is None:
            needed[i, j] = samples_for(detect=_detectable(evidence, measure, detect))
        else:
            # An interval of width 0, of equal data, stays one.
            at_least = max(float(now[i, j]), 1e-12)
            needed[i, j] = samples_for_width(evidence.n_samples, at_least, width)
    return needed


def _detectable(evidence: Evidence, measure: AnyMeasure, detect: float | None) -> float:
    spec = evidence.comparison.info(measure).spec
    if spec not in STUDIED or detect is None:
        raise ValueError(
            f"samples_for: what {spec} detects was not studied; known for {', '.join(STUDIED)}; "
            "else try parts of a pilot, as Evidence.curve does"
        )
    return detect


def _measure(evidence: Evidence, measure: AnyMeasure) -> Measure:
    return _origin(evidence).measures[evidence.comparison.info(measure).spec]


def _pair(evidence: Evidence, row: str, column: str) -> tuple[Representation, Representation]:
    evidence.place(row, column)
    origin = _origin(evidence)
    return origin.rows[row], origin.columns[column]


def _origin(evidence: Evidence) -> EvidenceOrigin:
    if evidence.origin is None:
        raise ValueError(
            "this evidence was read from a file and has no arrays: call rs.evidence with them and "
            "save= that file, which computes nothing again"
        )
    return evidence.origin


def _names(labels: Any, groups: Sequence[np.ndarray]) -> tuple[Hashable, ...]:
    """Return the label of each group."""
    listed = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    return tuple(listed[rows[0]] for rows in groups)
