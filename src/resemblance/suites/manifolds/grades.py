"""What the manifold suite found, as one value that can be saved, and the grades that follow from
it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...comparison import MeasureInfo
from ...documents import check_types, read_document
from ...grounding import by_reference, concordance, kendall
from ...notebook import card
from ...results.headlines import is_trial
from ...store import write_atomically

FORMAT = 1
CLUSTERS = (2, 3, 4, 5, 6, 10, 12)  # of the original experiment: the order among these is graded


class Point(NamedTuple):
    """One comparison with a reference: value and difference are NaN where there is a reason.

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
    value: float
    difference: float
    reason: str | None


class Sweep(NamedTuple):
    """A chosen measure at another number of neighbours: its specification, the number, and what it
    is called then."""

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
    similarity; 1 is the best. ``peak``: the r at which the S-curve is found to be most like the
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


@dataclass(frozen=True, eq=False, repr=False)
class ManifoldResult:
    """Everything that a run of the manifold suite found; what grades, claims and the report are
    made of.

    ``chosen``: the specifications of the measures that are graded; ``measures``: those and the ones
    with another number of neighbours. ``seconds``: mean time of one comparison by measure; views
    that measures share are counted for the first that took them. ``left_out``: measures that were
    not compared everywhere, and why.
    """

    size: str
    chosen: tuple[str, ...]
    measures: tuple[MeasureInfo, ...]
    sweeps: tuple[Sweep, ...]
    points: tuple[Point, ...]
    seconds: Mapping[str, float]
    left_out: Mapping[str, str]
    provenance: Mapping[str, Any]

    @property
    def is_trial(self) -> bool:
        """Whether it is a run of the size that is only for trying out."""
        return is_trial("manifolds", self.size)

    def __repr__(self) -> str:
        return (
            "<ManifoldResult: "
            f"{', '.join(f'{name} {fact}' for name, fact in self._facts().items())}>"
        )

    def _repr_html_(self) -> str:
        return card("Result of the manifold suite", self._facts())

    def _facts(self) -> dict[str, str]:
        missing = sum(math.isnan(point.value) for point in self.points)
        return {
            "size": self.size,
            "measures": str(len(self.chosen)),
            "comparisons": str(len(self.points)),
            "without a value": str(missing),
        }

    def info(self, spec: str) -> MeasureInfo:
        """Return the description of a measure; ``KeyError`` if it took no part."""
        found = {m.spec: m for m in self.measures}
        return found[spec]

    def curve(
        self, measure: str, experiment: str, along: str = "at", **where: float
    ) -> dict[float, float]:
        """Return the value of a measure by ``along`` ("at", "n" or "d") where other facts are as
        given.

        Values of several seeds are averaged; a point without a value is left out.
        """
        return _means((getattr(p, along), p.value) for p in self._of(measure, experiment, where))

    def curve_over_k(self, measure: str, experiment: str, **where: float) -> dict[float, float]:
        """Return the value of a chosen measure by number of neighbours."""
        specs = {s.spec: s.k for s in self.sweeps if s.measure == measure}
        return _means(
            (specs[p.measure], p.value)
            for p in self.points
            if p.measure in specs and p.over_k and p.experiment == experiment and _matches(p, where)
        )

    def tau(self, measure: str, experiment: str, at: Iterable[float] | None = None) -> float:
        """Return Kendall's tau of the differences with the known order of "rings" or "clusters"."""
        return self._agreement(kendall, measure, experiment, at)

    def conformity(self, measure: str, experiment: str, at: Iterable[float] | None = None) -> float:
        """Return the share of pairs in the known order of "rings" or "clusters", equal differences
        counting half."""
        return self._agreement(concordance, measure, experiment, at)

    def grade(self, measure: str) -> Grade:
        """Return the grades of one measure."""
        taus = [self.tau(measure, e, at) for e, at in (("rings", None), ("clusters", CLUSTERS))]
        shares = [
            self.conformity(measure, e, at) for e, at in (("rings", None), ("clusters", CLUSTERS))
        ]
        similarity = self.info(measure).larger_is_more_similar
        lost = [p.value for p in self._of(measure, "lost", {})]
        return Grade(
            measure,
            taus[0],
            shares[0],
            taus[1],
            shares[1],
            self._over_k(measure),
            self._variation(measure, "n"),
            self._variation(measure, "d"),
            _mean(lost),
            self._kept(measure) if similarity else np.nan,
            self._peak(measure),
        )

    def grades(self) -> tuple[Grade, ...]:
        """Return the grades of the chosen measures, the best orders first; of a trial, as the
        measures were given."""
        found = [self.grade(measure) for measure in self.chosen]
        if self.is_trial:
            return tuple(found)
        return tuple(
            sorted(found, key=lambda g: (-_or_least(g.rings) - _or_least(g.clusters), g.measure))
        )

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, atomically; numbers that are not there are null."""
        points = {name: [_plain(getattr(p, name)) for p in self.points] for name in Point._fields}
        measures = [{**m._asdict(), "range": [_plain(v) for v in m.range]} for m in self.measures]
        found = {**vars(self), "format": FORMAT, "points": points, "measures": measures}
        write_atomically(
            Path(path), json.dumps(found, allow_nan=False, ensure_ascii=False, default=dict)
        )

    def _of(self, measure: str, experiment: str, where: Mapping[str, float]) -> list[Point]:
        return [
            p
            for p in self.points
            if p.measure == measure
            and p.experiment == experiment
            and not p.over_k
            and _matches(p, where)
        ]

    def _agreement(
        self, quality: Callable[..., Any], measure: str, experiment: str, at: Iterable[float] | None
    ) -> float:
        wanted = None if at is None else set(at)
        own = [p for p in self.points if p.measure == measure and p.experiment == experiment]
        found = {p.at: p.difference for p in own if wanted is None or p.at in wanted}
        if any(math.isnan(v) for v in found.values()):
            return np.nan  # an order without one of its members would be easier than the whole
        (block,) = by_reference(list(found))
        return float(quality(np.array(list(found.values())), block.expected).value)

    def _over_k(self, measure: str) -> float:
        places = dict.fromkeys((p.experiment, p.n, p.d) for p in self.points if p.over_k)
        kinds = ("swiss_roll", "perturbed")
        curves = [self.curve_over_k(measure, e, n=n, d=d) for e, n, d in places if e in kinds]
        return _mean([_spread(curve.values()) for curve in curves if len(curve) > 1])

    def _variation(self, measure: str, along: str) -> float:
        fixed = self._fixed("d" if along == "n" else "n", along)
        return (
            np.nan
            if fixed is None
            else _spread(self.curve(measure, "perturbed", along, **fixed).values())
        )

    def _fixed(self, name: str, along: str) -> dict[str, float] | None:
        """Return the number of features (or samples) at which there are the most numbers of samples
        (or features)."""
        found: dict[float, set[float]] = {}
        for p in self.points:
            if p.experiment == "perturbed" and not p.over_k:
                found.setdefault(getattr(p, name), set()).add(getattr(p, along))
        return {name: max(found, key=lambda value: len(found[value]))} if found else None

    def _kept(self, measure: str) -> float:
        shares = []
        for n, d in dict.fromkeys((p.n, p.d) for p in self._of(measure, "moved", {})):
            curve = self.curve(measure, "moved", n=n, d=d)
            longest = max(p.at for p in self._of(measure, "moved", {"n": n, "d": d}))
            if len(curve) > 1 and curve.get(0.0):
                shares.append(curve.get(longest, math.nan) / curve[0.0])
        return _mean(shares)

    def _peak(self, measure: str) -> float:
        known = [p for p in self._of(measure, "swiss_roll", {}) if not math.isnan(p.difference)]
        if not known:
            return np.nan
        least = min(p.difference for p in known)
        if least == max(p.difference for p in known):
            return np.nan  # what tells nothing apart has no peak
        # A plateau around the right place peaks there: of equal differences, the one nearest to the
        # middle counts.
        return min(
            (p.at for p in known if p.difference <= least + 1e-5), key=lambda r: abs(r - 0.5)
        )


def load_manifolds(path: str | Path) -> ManifoldResult:
    """Read a result that was saved. Raises ``ValueError`` for anything else."""
    return read_document(
        Path(path), _made, "a result", "remove it and run the suite again: comparisons are kept"
    )


def _made(found: dict[str, Any]) -> ManifoldResult:
    if found.pop("format") != FORMAT:
        raise ValueError("it has another format")
    columns = (_numbers(name, found["points"][name]) for name in Point._fields)
    points = tuple(Point(*row) for row in zip(*columns, strict=True))
    measures = tuple(
        MeasureInfo(**{**m, "range": tuple(map(float, m["range"]))}) for m in found["measures"]
    )
    sweeps = tuple(Sweep(*sweep) for sweep in found["sweeps"])
    rest = {
        "chosen": tuple(found["chosen"]),
        "points": points,
        "measures": measures,
        "sweeps": sweeps,
    }
    result = ManifoldResult(**{**found, **rest})
    check_types(result, ManifoldResult)
    if not {*result.chosen, *(p.measure for p in points)} <= {m.spec for m in measures}:
        raise ValueError("it names measures that it does not describe")
    return result


def _numbers(name: str, column: list[Any]) -> list[Any]:
    return (
        [math.nan if v is None else float(v) for v in column]
        if name in ("value", "difference")
        else column
    )


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _matches(point: Point, where: Mapping[str, float]) -> bool:
    return all(getattr(point, name) == value for name, value in where.items())


def _means(pairs: Iterable[tuple[float, float]]) -> dict[float, float]:
    found: dict[float, list[float]] = {}
    for key, value in pairs:
        if not math.isnan(value):
            found.setdefault(key, []).append(value)
    return {key: float(np.mean(found[key])) for key in sorted(found)}


def _mean(values: Iterable[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    return float(np.mean(known)) if known else np.nan


def _spread(values: Iterable[float]) -> float:
    """Coefficient of variation; NaN for a single value or a mean of zero."""
    known = np.array(list(values))
    return (
        float(known.std() / abs(known.mean())) if len(known) > 1 and known.mean() != 0 else np.nan
    )


def _or_least(value: float) -> float:
    return -2.0 if math.isnan(value) else value
