"""What was measured on the shapes of the manifold suite, and the grades that follow from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...comparison import MeasureInfo
from ...grounding import BlockScore, Rule, by_reference, concordance, kendall
from ...json_files import check_types, read_document, write_atomically
from ...results.codec import decode, encode, spell
from ...results.headlines import is_trial
from ..case import value_of

FORMAT = 2
CLUSTERS = (2, 3, 4, 5, 6, 10, 12)  # of the original experiment: the order among these is graded
PLATEAU = 1e-5  # differences that are this close are equal where the peak is looked for


def peak(measured: np.ndarray, at: np.ndarray) -> float:
    """Return where the smallest difference is; NaN where one is missing, or all are equal.

    A plateau around the right place peaks there: of equal differences, the one nearest to the
    middle counts.
    """
    if not len(measured) or np.isnan(measured).any() or (measured == measured[0]).all():
        return math.nan
    plateau = at[measured <= measured.min() + PLATEAU]
    return float(plateau[np.argmin(np.abs(plateau - 0.5))])


def closeness(measured: np.ndarray, at: np.ndarray) -> BlockScore:
    """How near the smallest difference is to the middle: 0 is there, less is farther."""
    return BlockScore(-abs(peak(measured, at) - 0.5))


# An order, or a peak, without one of its members would be easier to find than the whole.
ORDER = Rule(by_reference, kendall, is_complete=True)
PLACE = Rule(by_reference, closeness, is_complete=True)


class Measurement(NamedTuple):
    """One comparison with a reference: value and difference are None where there is a reason.

    ``experiment``: "swiss_roll", "rings", "clusters", "perturbed", "lost" or "moved". ``at``: r,
    number of rings on each other, number of clusters, share of noise, or the distance moved.
    ``over_k``: one of a sweep over numbers of neighbours. ``difference``: larger is more different,
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


class Sweep(NamedTuple):
    """A measure at another number of neighbours: its specification, the number, and the
    specification it has then."""

    measure: str
    k: int
    spec: str


class Grade(NamedTuple):
    """How a measure does in the suite; NaN where it has no value.

    ``rings``, ``clusters``: Kendall's tau of the differences with the known order, 1 for the right
    one and -1 for its opposite; ``*_conformity``: the share of pairs in the right order, ties half.
    ``over_k``, ``over_n``, ``over_d``: coefficient of variation (standard deviation over mean) of
    the value over numbers of neighbours, samples and features, where
    nothing should depend on them; 0 is the best. ``lost``: mean value without any correspondence;
    of a similarity 0 is right. ``kept``: value after the longest move over that before, of a
    similarity; 1 is the best. ``peak``: the r at which the measure finds the S-curve most like the
    roll; 0.5 is right.
    """

    measure: str
    rings: float
    rings_conformity: float
    clusters: float
    clusters_conformity: float
    over_k: float
    over_n: float
    over_d: float
    lost: float
    kept: float
    peak: float


class ManifoldFacts(NamedTuple):
    """Everything that a run of the manifold suite measured; grades and claims are made of it.

    ``entrants``: the measures that are graded, in the order they were given; ``sweeps``: these
    measures at other numbers of neighbours. ``seconds``: by specification, the mean time of one
    comparison; the cost of a shared view is charged to the first measure that uses it.
    ``left_out``: by specification, where a measure was not compared, and why. ``provenance``:
    versions and precision of what computed them.
    """

    size: str
    entrants: tuple[MeasureInfo, ...]
    sweeps: tuple[Sweep, ...]
    points: tuple[Measurement, ...]
    seconds: Mapping[str, float]
    left_out: Mapping[str, str]
    provenance: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"<ManifoldFacts: size {self.size}, measures {len(self.entrants)}, comparisons "
            f"{len(self.points)}>"
        )

    @property
    def is_trial(self) -> bool:
        """Whether it is a run of the size that is only for trying out."""
        return is_trial("manifolds", self.size)

    @property
    def measures(self) -> tuple[str, ...]:
        """The specifications of the measures that are graded."""
        return tuple(entrant.spec for entrant in self.entrants)

    def entrant(self, measure: str) -> MeasureInfo:
        """Return the description of a measure; ``KeyError`` if it took no part."""
        return {entrant.spec: entrant for entrant in self.entrants}[measure]

    def of(self, experiment: str, **where: object) -> list[Measurement]:
        """Return the points of an experiment, sweeps included, whose other facts are as given."""
        points = [p for p in self.points if p.experiment == experiment]
        for name, fact in where.items():
            points = [p for p in points if getattr(p, name) == fact]
        return points

    def curve(
        self, measure: str, experiment: str, along: str = "at", **where: float
    ) -> dict[float, float]:
        """Return the value of a measure by ``along`` ("at", "n" or "d") where other facts are as
        given.

        Values of several seeds are averaged; a point without a value is left out.
        """
        points = self.of(experiment, measure=measure, over_k=False, **where)
        return _means((getattr(p, along), p.value) for p in points)

    def curve_over_k(self, measure: str, experiment: str, **where: float) -> dict[float, float]:
        """Return the value of a measure by number of neighbours."""
        neighbours = {s.spec: s.k for s in self.sweeps if s.measure == measure}
        points = self.of(experiment, over_k=True, **where)
        return _means((neighbours[p.measure], p.value) for p in points if p.measure in neighbours)

    def tau(self, measure: str, experiment: str, at: Iterable[float] | None = None) -> float:
        """Return Kendall's tau of the differences with the known order of "rings" or "clusters"."""
        return self._agreement(ORDER, measure, experiment, at)

    def taus_over_k(
        self, measure: str, experiment: str, at: Iterable[float] | None = None
    ) -> dict[int, float]:
        """Return Kendall's tau by number of neighbours; NaN where an order lacks a value."""
        swept = {p.measure for p in self.of(experiment, over_k=True)}
        specs = {s.k: s.spec for s in self.sweeps if s.measure == measure and s.spec in swept}
        return {k: self.tau(spec, experiment, at) for k, spec in sorted(specs.items())}

    def conformity(self, measure: str, experiment: str, at: Iterable[float] | None = None) -> float:
        """Return the share of pairs in the known order of "rings" or "clusters", equal differences
        counting half."""
        return self._agreement(ORDER._replace(quality=concordance), measure, experiment, at)

    def common(self, experiment: str, along: str) -> dict[str, float]:
        """Return the number of features (of samples) at which the most numbers of samples (of
        features) were compared: {"d": 1000.0} for ``along="n"``; empty without the experiment."""
        name = "d" if along == "n" else "n"
        numbers: dict[float, set[float]] = {}
        for p in self.of(experiment, over_k=False):
            numbers.setdefault(getattr(p, name), set()).add(getattr(p, along))
        return {name: max(numbers, key=lambda n: len(numbers[n]))} if numbers else {}

    def grade(self, measure: str) -> Grade:
        """Return the grades of one measure."""
        is_similarity = self.entrant(measure).larger_is_more_similar
        roll = self.of("swiss_roll", measure=measure, over_k=False)
        differences = np.array([p.difference for p in roll], float)  # NaN for None
        return Grade(
            measure,
            rings=self.tau(measure, "rings"),
            rings_conformity=self.conformity(measure, "rings"),
            clusters=self.tau(measure, "clusters", CLUSTERS),
            clusters_conformity=self.conformity(measure, "clusters", CLUSTERS),
            over_k=self._over_k(measure),
            over_n=self._variation(measure, "n"),
            over_d=self._variation(measure, "d"),
            lost=_mean(p.value for p in self.of("lost", measure=measure, over_k=False)),
            kept=self._kept(measure) if is_similarity else np.nan,
            peak=peak(differences, np.array([p.at for p in roll])),
        )

    def grades(self) -> tuple[Grade, ...]:
        """Return the grades of the measures, the best orders first; of a trial, as the measures
        were given."""
        grades = [self.grade(measure) for measure in self.measures]
        if self.is_trial:
            return tuple(grades)
        return tuple(
            sorted(grades, key=lambda g: (-_or_least(g.rings) - _or_least(g.clusters), g.measure))
        )

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, atomically."""
        document = {"format": FORMAT, **spell(encode(self))}
        write_atomically(Path(path), json.dumps(document, allow_nan=False, ensure_ascii=False))

    def _agreement(
        self, rule: Rule, measure: str, experiment: str, at: Iterable[float] | None
    ) -> float:
        places = None if at is None else set(at)
        points = self.of(experiment, measure=measure)
        chosen = {p.at: p.difference for p in points if places is None or p.at in places}
        return value_of(rule, np.array(list(chosen.values()), float), list(chosen))

    def _over_k(self, measure: str) -> float:
        places = dict.fromkeys((p.experiment, p.n, p.d) for p in self.points if p.over_k)
        kinds = ("swiss_roll", "perturbed")
        curves = [self.curve_over_k(measure, e, n=n, d=d) for e, n, d in places if e in kinds]
        return _mean(_spread(curve.values()) for curve in curves if len(curve) > 1)

    def _variation(self, measure: str, along: str) -> float:
        fixed = self.common("perturbed", along)
        return _spread(self.curve(measure, "perturbed", along, **fixed).values())

    def _kept(self, measure: str) -> float:
        shares = []
        points = self.of("moved", measure=measure, over_k=False)
        for n, d in dict.fromkeys((p.n, p.d) for p in points):
            curve = self.curve(measure, "moved", n=n, d=d)
            longest = max(p.at for p in points if (p.n, p.d) == (n, d))
            if len(curve) > 1 and curve.get(0.0):
                shares.append(curve.get(longest, math.nan) / curve[0.0])
        return _mean(shares)


def load_facts(path: str | Path) -> ManifoldFacts:
    """Read the facts of a study, by its folder or its file ``facts.json``.

    Raises ``ValueError`` for anything else.
    """
    remedy = "run the suite again in the same folder: comparisons are kept"
    file = Path(path) / "facts.json" if Path(path).is_dir() else Path(path)
    return read_document(file, _facts_of, "a result of the manifold suite", remedy)


def _facts_of(document: dict[str, Any]) -> ManifoldFacts:
    if document.pop("format") != FORMAT:
        raise ValueError("it has another format")
    facts: ManifoldFacts = decode(ManifoldFacts, document)
    check_types(facts, ManifoldFacts)
    return facts


def _means(pairs: Iterable[tuple[float, float | None]]) -> dict[float, float]:
    values: dict[float, list[float]] = {}
    for key, value in pairs:
        if value is not None:
            values.setdefault(key, []).append(value)
    return {key: float(np.mean(values[key])) for key in sorted(values)}


def _mean(values: Iterable[float | None]) -> float:
    numbers = [v for v in values if v is not None and not math.isnan(v)]
    return float(np.mean(numbers)) if numbers else np.nan


def _spread(values: Iterable[float]) -> float:
    """Coefficient of variation; NaN for a single value or a mean of zero."""
    numbers = np.array(list(values))
    if len(numbers) < 2 or numbers.mean() == 0:
        return np.nan
    return float(numbers.std() / abs(numbers.mean()))


def _or_least(value: float) -> float:
    return -2.0 if math.isnan(value) else value
