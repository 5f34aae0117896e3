"""The measurements of the manifold suite, as curves, orders and grades."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.comparison.comparison import MeasureInfo
from resemblance.sections.headlines import is_trial
from resemblance.sections.ranks import ScoresByMeasure
from resemblance.sections.sections import RankRule
from resemblance.sections.values import mean_without_missing

from ..case import Score, score_against_reference
from ..grounding import BlockScore, Rule, by_reference, concordance, kendall
from ..ranks import TaskKey
from ..scoring import FailedComparisons

# The original experiment grades the order of these numbers of clusters.
ORIGINAL_CLUSTER_COUNTS = (2, 3, 4, 5, 6, 10, 12)
PLATEAU_TOLERANCE = 1e-5  # differences up to this tolerance are equal for the peak


def difference_peak(measured: np.ndarray, positions: np.ndarray) -> float:
    """Return the position of the smallest difference; NaN if a difference is missing, or all
    differences are equal.

    ``measured``: the differences. ``positions``: of every difference, from 0 to 1. Among equal
    smallest differences, the position nearest to the middle (0.5) counts, so a plateau around the
    middle has its peak in the middle.
    """
    if not len(measured) or np.isnan(measured).any() or (measured == measured[0]).all():
        return math.nan
    plateau = positions[measured <= measured.min() + PLATEAU_TOLERANCE]
    return float(plateau[np.argmin(np.abs(plateau - 0.5))])


def closeness_to_middle(measured: np.ndarray, positions: np.ndarray) -> BlockScore:
    """Return minus the distance of the position of the smallest difference from 0.5; 0 is best, the
    weight is 1. NaN if a difference is missing, or all differences are equal.

    ``measured``: the differences, (n,). ``positions``: of the differences, (n,), from 0 to 1.
    """
    return BlockScore(-abs(difference_peak(measured, positions) - 0.5))


# Rules need all values, because an order or a peak is easier to find without some of its members.
MANIFOLD_ORDER_RULE = Rule(by_reference, kendall, is_complete=True)
MANIFOLD_CONFORMITY_RULE = MANIFOLD_ORDER_RULE._replace(quality=concordance)
MANIFOLD_PEAK_RULE = MANIFOLD_ORDER_RULE._replace(quality=closeness_to_middle)


class Measurement(NamedTuple):
    """The comparison of a cloud with its reference; value and difference are None if a reason is
    given.

    ``experiment``: "swiss_roll", "rings", "clusters", "perturbed", "lost" or "moved". ``at``: r,
    number of coinciding rings, number of clusters, share of noise, or distance moved. ``over_k``:
    belongs to a sweep over numbers of neighbours. ``difference``: larger means more different,
    whatever the direction of the measure.
    """

    experiment: str
    measure: str
    n: int
    d: int
    seed: int
    at: float
    over_k: bool
    value: float | None
    difference: float | None
    reason: str | None


class Measured(NamedTuple):
    """The measurements of a run, for its page and for judging claims.

    ``measures``: graded measures, by specification, in the order of the run. ``sweeps``: by measure
    and number of neighbours, the specification with this number. ``points``: by experiment and
    specification. ``scores``: of every measure in every task. ``cells``: the tasks with the rules
    for ranking. ``seconds``, ``failed``: of comparisons. ``left_out``: by specification, the
    skipped comparisons and the reasons. ``provenance``: versions and precision of the computation.
    """

    size: str
    measures: Mapping[str, MeasureInfo]
    sweeps: Mapping[str, Mapping[int, str]]
    points: Mapping[tuple[str, str], Sequence[Measurement]]
    scores: tuple[Score, ...] = ()
    cells: Mapping[TaskKey, tuple[ScoresByMeasure, RankRule]] = {}
    seconds: Mapping[str, Mapping[str, float]] = {}
    failed: tuple[FailedComparisons, ...] = ()
    left_out: Mapping[str, str] = {}
    provenance: Mapping[str, Any] = {}

    @property
    def is_trial(self) -> bool:
        """Whether the size is a trial size."""
        return is_trial("manifolds", self.size)

    def of(self, experiment: str | None = None) -> list[Measurement]:
        """Return all points, or the points of an experiment, sweeps included."""
        selection = (of for (e, _), of in self.points.items() if experiment in (None, e))
        return [p for points in selection for p in points]


def curve(
    run: Measured, measure: str, experiment: str, axis: str = "at", **filters: float
) -> dict[float, float]:
    """Return the value of a measure, given by its specification, by ``axis``: "at", "n" or "d".

    ``experiment``: the name of the experiment. ``filters``: fixed values of other fields of a
    :class:`Measurement`, such as ``n=1000``. Sweeps over neighbours are left out. Values of several
    seeds are averaged; a point without a value is left out.
    """
    points = _points_where(run, experiment, measure, over_k=False, **filters)
    return _mean_by_x((getattr(p, axis), p.value) for p in points)


def curve_over_k(
    run: Measured, measure: str, experiment: str, **filters: float
) -> dict[float, float]:
    """Return the value of a measure, given by its specification, by number of neighbours; {} for a
    measure without neighbours.

    ``filters``: fixed values of other fields of a :class:`Measurement`, such as ``n=1000``. Values
    of several seeds are averaged; a number without a value is left out.
    """
    specs_by_k = run.sweeps.get(measure, {})
    return _mean_by_x(
        (k, p.value)
        for k, spec in specs_by_k.items()
        for p in _points_where(run, experiment, spec, over_k=True, **filters)
    )


def tau(
    run: Measured,
    measure: str,
    experiment: str,
    positions: Collection[float] | None = None,
    rule: Rule = MANIFOLD_ORDER_RULE,
) -> float:
    """Score the order of the differences that a measure found in an experiment; NaN if a difference
    is missing.

    Each point of "rings" or "clusters" has a position: the number of coinciding rings or of
    clusters. ``rule`` compares the differences with the positions: by default as Kendall's tau.
    ``positions``: the positions that count; by default all.
    """
    points = run.points.get((experiment, measure), ())
    differences = {p.at: p.difference for p in points if positions is None or p.at in positions}
    return score_against_reference(
        rule, np.array(list(differences.values()), float), list(differences)
    )


def taus_over_k(
    run: Measured, measure: str, experiment: str, positions: Collection[float] | None = None
) -> dict[int, float]:
    """Return Kendall's tau of a measure, given by its specification, by number of neighbours; NaN
    if an order lacks a value, {} for a measure without neighbours. ``experiment``: "rings" or
    "clusters". ``positions``: the numbers of rings or clusters that count, by default all."""
    return {
        k: tau(run, spec, experiment, positions)
        for k, spec in sorted(run.sweeps.get(measure, {}).items())
        if _points_where(run, experiment, spec, over_k=True)
    }


def most_complete_size(run: Measured, experiment: str, axis: str) -> dict[str, float]:
    """Return the number of features with comparisons at the most numbers of samples, {"d": 1000.0},
    for ``axis="n"``; for ``axis="d"`` the number of samples with comparisons at the most numbers of
    features, {"n": ...}. {} without the experiment."""
    name, numbers = "d" if axis == "n" else "n", dict[float, set[float]]()
    for p in run.of(experiment):
        if not p.over_k:
            numbers.setdefault(getattr(p, name), set()).add(getattr(p, axis))
    return {name: max(numbers, key=lambda n: len(numbers[n]))} if numbers else {}


def _points_where(
    run: Measured, experiment: str, measure: str, **filters: object
) -> list[Measurement]:
    points = list(run.points.get((experiment, measure), ()))
    for name, value in filters.items():
        points = [p for p in points if getattr(p, name) == value]
    return points


def _mean_by_x(pairs: Iterable[tuple[float, float | None]]) -> dict[float, float]:
    values = dict[float, list[float]]()
    for key, value in pairs:
        if value is not None:
            values.setdefault(key, []).append(value)
    return {key: float(np.mean(values[key])) for key in sorted(values)}


# ------------------------------------------------------------------------------------------- grades


def _variation_over_k(run: Measured, measure: str) -> float:
    points = (p for e in ("swiss_roll", "perturbed") for p in run.of(e) if p.over_k)
    places = dict.fromkeys((p.experiment, p.n, p.d) for p in points)
    curves = (curve_over_k(run, measure, e, n=n, d=d) for e, n, d in places)
    return mean_without_missing(
        _coefficient_of_variation(values.values()) for values in curves if len(values) > 1
    )


def _variation_along(run: Measured, measure: str, axis: str) -> float:
    filters = most_complete_size(run, "perturbed", axis)
    return _coefficient_of_variation(curve(run, measure, "perturbed", axis, **filters).values())


def _coefficient_of_variation(values: Iterable[float]) -> float:
    """Return the standard deviation of ``values`` (divisor n) divided by the magnitude of their
    mean, without unit; NaN for fewer than two values or a mean of zero."""
    numbers = np.array(list(values))
    if len(numbers) < 2 or numbers.mean() == 0:
        return np.nan
    return float(numbers.std() / abs(numbers.mean()))


def _share_kept_when_moved(run: Measured, measure: str) -> float:
    shares, points = list[float](), _points_where(run, "moved", measure, over_k=False)
    for n, d in dict.fromkeys((p.n, p.d) for p in points):
        values = curve(run, measure, "moved", n=n, d=d)
        distance = max(p.at for p in points if (p.n, p.d) == (n, d))
        if len(values) > 1 and values.get(0.0):
            shares.append(values.get(distance, math.nan) / values[0.0])
    return (
        mean_without_missing(shares) if run.measures[measure].larger_is_more_similar else math.nan
    )


def _swiss_roll_peak(run: Measured, measure: str) -> float:
    roll = _points_where(run, "swiss_roll", measure, over_k=False)
    return difference_peak(
        np.array([p.difference for p in roll], float), np.array([p.at for p in roll])
    )


# By name, the heading of a grade and its explanation.
GRADES: Mapping[str, tuple[str, str]] = {
    "rings": ("τ rings", "Kendall's τ of the differences with the known order; 1 is right, −1 the "
              "opposite order"),
    "rings_conformity": ("in order, rings", "share of pairs of comparisons in the right order; "
                         "equal differences count half"),
    "clusters": ("τ clusters", "Kendall's τ of the differences with the known order"),
    "clusters_conformity": ("in order, clusters", "share of pairs of comparisons in the right "
                            "order"),
    "over_k": ("over k", "coefficient of variation over numbers of neighbours; 0 is the best"),
    "over_n": ("over n", "coefficient of variation over numbers of samples; 0 is the best"),
    "over_d": ("over d", "coefficient of variation over numbers of features; 0 is the best"),
    "lost": ("lost", "mean value without any correspondence; of a similarity 0 is right"),
    "kept": ("kept", "value after the longest move over the value before, of a similarity; 1 is "
             "the best"),
    "peak": ("peak r", "where the S-curve is most like the Swiss roll; 0.5 is right"),
}  # fmt: skip


def grade(run: Measured, measure: str) -> dict[str, float]:
    """Return the grades of a measure, given by its specification, by the names in ``GRADES``; NaN
    for a missing grade."""
    return {
        "rings": tau(run, measure, "rings"),
        "rings_conformity": tau(run, measure, "rings", rule=MANIFOLD_CONFORMITY_RULE),
        "clusters": tau(run, measure, "clusters", ORIGINAL_CLUSTER_COUNTS),
        "clusters_conformity": tau(
            run, measure, "clusters", ORIGINAL_CLUSTER_COUNTS, MANIFOLD_CONFORMITY_RULE
        ),
        "over_k": _variation_over_k(run, measure),
        "over_n": _variation_along(run, measure, "n"),
        "over_d": _variation_along(run, measure, "d"),
        "lost": mean_without_missing(
            p.value for p in _points_where(run, "lost", measure, over_k=False)
        ),
        "kept": _share_kept_when_moved(run, measure),
        "peak": _swiss_roll_peak(run, measure),
    }


def grades(run: Measured) -> dict[str, dict[str, float]]:
    """Return the grades by measure, then by name, the best orders of rings and clusters first; for
    a trial, in the order of the run."""
    by_measure = {measure: grade(run, measure) for measure in run.measures}
    if run.is_trial:
        return by_measure

    def order(measure: str) -> tuple[float, str]:
        orders = (by_measure[measure][name] for name in ("rings", "clusters"))
        return -sum(-2.0 if math.isnan(value) else value for value in orders), measure

    return {measure: by_measure[measure] for measure in sorted(by_measure, key=order)}
