"""What the page of the manifold suite shows: panels of curves, clouds of points, grades,
failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..catalogue import get_measures
from ..comparison import MeasureInfo
from ..suites.manifolds.grades import CLUSTERS, ManifoldResult
from ..suites.manifolds.suite import MEASURES, Case, clouds
from ..suites.manifolds.words import CKA, IMD, KCKA, KCKA_CODE, MKA, RBF, RBF_20, RTD, SHORT, SVCCA

FIRST = (
    MKA,
    KCKA_CODE,
    KCKA,
    CKA,
    RBF,
    RBF_20,
    SVCCA,
    IMD,
    RTD,
)  # what is shown before anything is chosen
COLOURS = 12  # of points


class Line(NamedTuple):
    """How a measure is drawn: its number and name, whether it is shown at first, is a distance, is
    not of the suite."""

    number: int
    spec: str
    text: str
    is_shown: bool
    is_distance: bool
    is_added: bool


class Curve(NamedTuple):
    """The points (x, y, value) of one measure in a panel: y is what is drawn, between 0 and 1 where
    it can be."""

    line: Line
    points: tuple[tuple[float, float, float], ...]


class Panel(NamedTuple):
    """A diagram; ``scale``: "linear", or "log" for numbers of samples, features or neighbours."""

    title: str
    x: str
    scale: str
    curves: tuple[Curve, ...]
    y: str = "similarity"
    low: float = 0.0


class Cloud(NamedTuple):
    """A picture of points: (n, 2), and a colour from 0 to ``COLOURS`` - 1 for each; equal colours
    are equal samples."""

    title: str
    points: np.ndarray
    colours: np.ndarray


class Figure(NamedTuple):
    """What the page shows of one experiment."""

    key: str
    title: str
    note: str
    clouds: tuple[Cloud, ...]
    panels: tuple[Panel, ...]


class FailureRow(NamedTuple):
    """How many comparisons of a measure have no value, why, and in which experiments."""

    text: str
    reason: str
    comparisons: int
    experiments: str


WORDS = {
    "swiss_roll": "Swiss roll",
    "rings": "rings",
    "clusters": "clusters",
    "perturbed": "perturbed spots",
    "lost": "lost correspondence",
    "moved": "moved spots",
}
MOVES = (  # title of a panel, its axis, what it is along, scale
    ("Distance moved", "t", "at", "linear"),
    ("Numbers of features", "d", "d", "log"),
    ("Numbers of samples", "n", "n", "log"),
)


def lines(result: ManifoldResult) -> dict[str, Line]:
    """Return how every chosen measure is drawn, those of the paper first."""
    usual = {m.spec for m in get_measures(MEASURES)}
    infos = {spec: result.info(spec) for spec in result.chosen}
    told = {spec: SHORT.get(spec) or _name(info) for spec, info in infos.items()}
    count = Counter(told.values())
    order = sorted(
        result.chosen,
        key=lambda s: (FIRST.index(s) if s in FIRST else len(FIRST), result.chosen.index(s)),
    )
    few = len(order) <= len(FIRST)
    return {
        spec: Line(
            index,
            spec,
            told[spec] if count[told[spec]] == 1 else spec,
            few or spec in FIRST or spec not in usual,
            not infos[spec].larger_is_more_similar,
            spec not in usual,
        )
        for index, spec in enumerate(order)
    }


def _name(info: MeasureInfo) -> str:
    """Return the label of a measure with its parameters: Jaccard (euclidean)."""
    given = [str(v) if isinstance(v, str) else f"{name} {v}" for name, v in info.parameters.items()]
    return f"{info.label} ({', '.join(given)})" if given else info.label


def figures(result: ManifoldResult) -> tuple[Figure, ...]:
    """Return everything that is drawn, in the order of the paper."""
    drawn = lines(result)
    return (
        _swiss_roll(result, drawn),
        _rings(result, drawn),
        _clusters(result, drawn),
        _spots(result, drawn, "perturbed"),
        _spots(result, drawn, "lost"),
        _moved(result, drawn),
    )


def failure_rows(result: ManifoldResult) -> tuple[FailureRow, ...]:
    """Return the comparisons without a value by measure and reason, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for p in result.points:
        if p.reason:
            found.setdefault((p.measure, p.reason), []).append(WORDS[p.experiment])
    rows = [
        FailureRow(SHORT.get(m, m), why, len(e), ", ".join(dict.fromkeys(e)))
        for (m, why), e in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.comparisons, row.text, row.reason)))


# ------------------------------------------------------------------------------------------ figures


def _swiss_roll(result: ManifoldResult, drawn: Mapping[str, Line]) -> Figure:
    reference, shapes = clouds(Case("swiss_roll", 480, 2, 0, (0.0, 0.25, 0.5, 1.0)))
    ramp = np.arange(480) * COLOURS // 480
    pictures = [
        Cloud("Swiss roll", reference, ramp),
        *(Cloud(f"S-curve, r = {s.at:g}", s.array, ramp) for s in shapes),
    ]
    by_r = {m: result.curve(m, "swiss_roll") for m in drawn}
    by_k = {m: result.curve_over_k(m, "swiss_roll") for m in drawn}
    panels = (
        _panel(drawn, "Against the S-curve at r", "r", by_r),
        _panel(drawn, "Numbers of neighbours, r = 0.5", "k", by_k, "log"),
    )
    note = (
        "The S-curve at r = 0.5 unrolls the Swiss roll; elsewhere it winds around, and points "
        "that are far apart on the roll meet. A measure of manifolds is largest in the middle. "
        "Figures 1 and 7 of the paper."
    )
    return Figure("roll", "Swiss roll and S-curve", note, tuple(pictures), panels)


def _rings(result: ManifoldResult, drawn: Mapping[str, Line]) -> Figure:
    _, shapes = clouds(Case("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    ramp = np.repeat([1, 3, 5, 8, 10], 100)  # the first of rings that lie on each other is on top
    pictures = [Cloud(f"{s.at:g} of radius 1", s.array[::-1], ramp[::-1]) for s in shapes]
    values = {m: result.curve(m, "rings") for m in drawn}
    panels = (
        _panel(drawn, "Rings of radius 1, against one", "rings", values),
        _taus(result, drawn, "rings", None),
    )
    note = (
        "Five rings, of which more and more lie on each other, against five that do not: the "
        "similarity should fall from left to right, and Kendall's τ with the known order be 1. "
        "Figure 2 of the paper."
    )
    return Figure("rings", "Rings that merge", note, tuple(pictures), panels)


def _clusters(result: ManifoldResult, drawn: Mapping[str, Line]) -> Figure:
    reference, shapes = clouds(Case("clusters", 300, 2, 7, (2, 3, 6, 12)))
    ramp = np.repeat(np.arange(60) % COLOURS, 5)
    pictures = [
        Cloud("one", reference, ramp),
        *(Cloud(f"{s.at:g} clusters", s.array, ramp) for s in shapes),
    ]
    values = {m: result.curve(m, "clusters") for m in drawn}
    panels = (
        _panel(drawn, "Clusters, against one", "clusters", values),
        _taus(result, drawn, "clusters", CLUSTERS),
    )
    note = (
        "One cluster against the same points in more and more clusters: the similarity should "
        "fall. τ is that of 2, 3, 4, 5, 6, 10 and 12 clusters, as in the original experiment. "
        "Figure 6 of the paper."
    )
    return Figure("clusters", "Clusters that split", note, tuple(pictures), panels)


def _spots(result: ManifoldResult, drawn: Mapping[str, Line], experiment: str) -> Figure:
    reference, (perturbed, lost) = clouds(Case("spots", 300, 2, 0, (0.5,)))
    ramp = np.argsort(np.argsort(np.arctan2(reference[:, 1], reference[:, 0]))) * COLOURS // 300
    shown = perturbed if experiment == "perturbed" else lost
    word = "with noise" if experiment == "perturbed" else "independent"
    pictures = (Cloud("Gaussian spot", reference, ramp), Cloud(word, shown.array, ramp))
    fixed = {along: _common(result, experiment, along) for along in ("n", "d")}
    over = sorted({(p.n, p.d) for p in result.points if p.experiment == experiment and p.over_k})
    panels = [
        *(
            _panel(
                drawn,
                f"Numbers of {word_of}, {_told(fixed[along])}",
                along,
                {m: result.curve(m, experiment, along, **fixed[along]) for m in drawn},
                "log",
            )
            for along, word_of in (("n", "samples"), ("d", "features"))
        ),
        *(
            _panel(
                drawn,
                f"Numbers of neighbours, {_told({'n': n, 'd': d})}",
                "k",
                {m: result.curve_over_k(m, experiment, n=n, d=d) for m in drawn},
                "log",
            )
            for n, d in over
        ),
    ]
    notes = {
        "perturbed": "A Gaussian spot and the same with noise half as large: as alike with many "
        "samples or features as with few, so that a curve should be flat. Figure 3 (a–e) and 8 of "
        "the paper.",
        "lost": "Two spots that have nothing to do with each other: a similarity should be 0. "
        "What a measure finds here it finds in addition everywhere. Figure 3 (f–i) and 8 of the "
        "paper.",
    }
    titles = {"perturbed": "Perturbed spots", "lost": "Lost correspondence"}
    return Figure(experiment, titles[experiment], notes[experiment], pictures, tuple(panels))


def _moved(result: ManifoldResult, drawn: Mapping[str, Line]) -> Figure:
    reference, (near, far) = clouds(Case("cubes", 400, 2, 0, (2.0, 5.0)))
    ramp = (
        np.argsort(np.argsort(np.arctan2(reference[:, 1], reference[:, 0] % 1.1))) * COLOURS // 400
    )
    pictures = (
        Cloud("t = 0", reference, ramp),
        Cloud("t = 2", near.array, ramp),
        Cloud("t = 5", far.array, ramp),
    )
    own = [p for p in result.points if p.experiment == "moved"]
    facts = {
        **_common(result, "moved", "d"),
        **_common(result, "moved", "n"),
        "t": max(p.at for p in own),
    }
    over = sorted({(p.n, p.d) for p in own if p.over_k})
    panels = (
        *(
            _panel(
                drawn,
                f"{title}, {_told({k: v for k, v in facts.items() if k != x})}",
                x,
                _all(
                    result,
                    drawn,
                    along,
                    **{"at" if k == "t" else k: v for k, v in facts.items() if k != x},
                ),
                scale,
            )
            for title, x, along, scale in MOVES
        ),
        *(
            _panel(
                drawn,
                f"Numbers of neighbours, {_told({'n': a, 'd': b, 't': facts['t']})}",
                "k",
                {m: result.curve_over_k(m, "moved", n=a, d=b) for m in drawn},
                "log",
            )
            for a, b in over
        ),
    )
    note = (
        "Two uniform cubes of points, of which one moves away by t, against both at their places: "
        "no neighbourhood changes as long as it lies inside a cube. A curve should settle. "
        "Figures 3 (j–n) and 9 of the paper."
    )
    return Figure("moved", "Spots that move apart", note, pictures, panels)


def _all(
    result: ManifoldResult, drawn: Iterable[str], along: str, **where: float
) -> dict[str, dict[float, float]]:
    return {m: result.curve(m, "moved", along, **where) for m in drawn}


def _common(result: ManifoldResult, experiment: str, along: str) -> dict[str, float]:
    """Return the number of features (or samples) at which most numbers of samples (or features)
    were compared."""
    name = "d" if along == "n" else "n"
    found: dict[float, set[float]] = {}
    for p in result.points:
        if p.experiment == experiment and not p.over_k:
            found.setdefault(getattr(p, name), set()).add(getattr(p, along))
    return {name: max(found, key=lambda value: len(found[value]))}


def _told(facts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in facts.items())


def _panel(
    drawn: Mapping[str, Line],
    title: str,
    x: str,
    values: Mapping[str, Mapping[float, float]],
    scale: str = "linear",
) -> Panel:
    curves = [
        Curve(drawn[m], _scaled(curve, drawn[m].is_distance))
        for m, curve in values.items()
        if curve
    ]
    low = min((y for c in curves if c.line.is_shown for _, y, _ in c.points), default=0.0)
    return Panel(title, x, scale, tuple(curves), low=-0.2 if low < -0.01 else 0.0)


def _scaled(
    curve: Mapping[float, float], is_distance: bool
) -> tuple[tuple[float, float, float], ...]:
    """A distance is drawn as 1 - value / the largest of the panel, which keeps its order and its
    shape."""
    most = max(map(abs, curve.values())) or 1.0
    return tuple((x, max(1 - v / most if is_distance else v, -0.2), v) for x, v in curve.items())


def _taus(
    result: ManifoldResult, drawn: Mapping[str, Line], experiment: str, at: Sequence[float] | None
) -> Panel:
    curves = []
    for m, line in drawn.items():
        specs = {s.k: s.spec for s in result.sweeps if s.measure == m}
        taus = {k: result.tau(spec, experiment, at) for k, spec in sorted(specs.items())}
        known = tuple((float(k), t, t) for k, t in taus.items() if not math.isnan(t))
        curves += [Curve(line, known)] if known else []
    return Panel("Order by numbers of neighbours", "k", "log", tuple(curves), "τ", -1.0)
