"""What is drawn of every experiment of the manifold suite: its point clouds, and the curves of all
measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import MeasureInfo
from ...results.figures import Chart, Cloud, Clouds, Line
from .clouds import CloudCase, clouds
from .grades import ManifoldFacts

NAMES: Mapping[str, str] = {  # of the measures of the MKA paper; these are shown at first
    "mka": "MKA", "kcka[variant=code]": "kCKA (code)", "kcka": "kCKA", "cka": "CKA",
    "cka[kernel=rbf]": "CKA-RBF (δ 1)", "cka[bandwidth=0.2,kernel=rbf]": "CKA-RBF (δ 0.2)",
    "svcca": "SVCCA", "imd": "IMD", "rtd": "RTD",
    "mka[k=15]": "MKA (k 15)", "cka[bandwidth=0.45,kernel=rbf]": "CKA-RBF (δ 0.45)",
}  # fmt: skip
FIRST = tuple(NAMES)[:9]
AXES = {"k": "neighbours k", "n": "samples n", "d": "features d", "t": "distance t", "r": "r"}
COLOURS = 12  # of points
LEAST, MOST = -0.2, 1.04  # beyond which a curve leaves its diagram
Curve = Mapping[float, float]


class Style(NamedTuple):
    """How a measure is drawn: its name, whether it is shown at first, and whether it is a distance,
    which is turned upside down."""

    spec: str
    name: str
    is_shown: bool
    is_distance: bool

    @property
    def note(self) -> str:
        """What the pointer reads at the name."""
        turned = ", a distance: drawn as 1 − value / the largest of the diagram"
        return f"{self.spec}{turned if self.is_distance else ''}"


def styles(facts: ManifoldFacts, usual: Iterable[str]) -> dict[str, Style]:
    """Return how every measure is drawn, those of the paper first; a measure that is not among the
    ``usual`` is one of the user's and is shown."""
    names = {e.spec: NAMES.get(e.spec) or _name(e) for e in facts.entrants}
    count = Counter(names.values())
    are_few, specs = len(names) <= len(FIRST), set(usual)
    order = [spec for spec in FIRST if spec in names]
    order += [spec for spec in names if spec not in order]
    return {
        spec: Style(
            spec,
            names[spec] if count[names[spec]] == 1 else spec,
            are_few or spec in FIRST or spec not in specs,
            not facts.entrant(spec).larger_is_more_similar,
        )
        for spec in order
    }


def _name(entrant: MeasureInfo) -> str:
    """Return the label of a measure with its parameters: Jaccard (euclidean)."""
    parameters = [
        value if isinstance(value, str) else f"{name} {value}"
        for name, value in entrant.parameters.items()
    ]
    return f"{entrant.label} ({', '.join(parameters)})" if parameters else entrant.label


# ------------------------------------------------------------------------------------------- curves


def chart(
    drawn: Mapping[str, Style], title: str, x: str, curves: Mapping[str, Curve], log_x: bool = False
) -> Chart:
    """Draw the values of measures; a distance as 1 - value / the largest of the diagram, which
    keeps its order and its shape."""
    lines = {
        spec: _line(drawn[spec], AXES.get(x, x), curve, _upright(curve, drawn[spec].is_distance))
        for spec, curve in curves.items()
        if curve
    }
    shown = [y for spec, line in lines.items() if drawn[spec].is_shown for _, y in line.points]
    low = LEAST if min(shown, default=0.0) < -0.01 else 0.0
    name = title.split(",")[0].lower()
    return Chart(
        f"{name} {x}" if "neighbours" in name else name,
        title,
        AXES.get(x, x),
        "similarity",
        tuple(lines.values()),
        log_x=log_x,
        span_y=(low, 1.0),
    )


def _upright(curve: Curve, is_distance: bool) -> list[float]:
    largest = max(map(abs, curve.values())) or 1.0
    values = (1 - value / largest if is_distance else value for value in curve.values())
    return [min(max(value, LEAST), MOST) for value in values]


def _line(style: Style, x: str, curve: Curve, heights: Sequence[float]) -> Line:
    titles = (f"{style.name}: {_number(value)} at {x} = {at:g}" for at, value in curve.items())
    return Line(
        style.name,
        tuple(zip(map(float, curve), heights)),
        titles=tuple(titles),
        note=style.note,
        is_dashed=style.is_distance,
        is_shown=style.is_shown,
    )


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def tau_chart(
    facts: ManifoldFacts, drawn: Mapping[str, Style], experiment: str, at: Sequence[float] | None
) -> Chart:
    """Draw Kendall's tau with the known order by number of neighbours."""
    lines = []
    for spec, style in drawn.items():
        taus = {
            float(k): tau
            for k, tau in facts.taus_over_k(spec, experiment, at).items()
            if not math.isnan(tau)
        }
        if taus:
            lines.append(_line(style, AXES["k"], taus, list(taus.values())))
    title = "Order by numbers of neighbours"
    return Chart("order", title, AXES["k"], "τ", tuple(lines), log_x=True, span_y=(-1.0, 1.0))


def along(
    facts: ManifoldFacts,
    drawn: Mapping[str, Style],
    experiment: str,
    x: str,
    where: Mapping[str, float],
) -> Chart:
    """Draw measures along samples ("n"), features ("d") or the distance moved ("t") with the others
    fixed."""
    titles = {"n": "Numbers of samples", "d": "Numbers of features", "t": "Distance moved"}
    fixed = {"at" if name == "t" else name: value for name, value in where.items()}
    axis = "at" if x == "t" else x
    curves = {spec: facts.curve(spec, experiment, axis, **fixed) for spec in drawn}
    return chart(drawn, f"{titles[x]}, {_written(where)}", x, curves, log_x=x != "t")


def over_k(facts: ManifoldFacts, drawn: Mapping[str, Style], experiment: str) -> list[Chart]:
    """Draw measures over numbers of neighbours, one diagram for each number of samples and
    features."""
    points = [p for p in facts.of(experiment) if p.over_k]
    charts = []
    for n, d in sorted({(p.n, p.d) for p in points}):
        curves = {spec: facts.curve_over_k(spec, experiment, n=n, d=d) for spec in drawn}
        where: dict[str, float] = {"n": n, "d": d}
        if experiment == "moved":
            where["t"] = max(p.at for p in points)
        diagram = chart(drawn, f"Numbers of neighbours, {_written(where)}", "k", curves, True)
        charts.append(diagram._replace(name=f"neighbours at d {d}"))
    return charts


def _written(facts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in facts.items())


# ------------------------------------------------------------------------------------------- clouds

SAME = "Points of one colour are the same samples in all clouds."


def roll_clouds() -> Clouds:
    """Draw the Swiss roll and some of the S-curves it is compared with, which are much smaller."""
    reference, variants = clouds(CloudCase("swiss_roll", 480, 2, 0, (0.0, 0.25, 0.5, 1.0)))
    ramp = np.arange(480) * COLOURS // 480
    shapes = {"Swiss roll": reference} | {f"S-curve, r = {v.at:g}": v.array for v in variants}
    drawn = (_cloud(name, points / np.ptp(points), ramp) for name, points in shapes.items())
    return _clouds(*drawn)._replace(note=f"{SAME} Each cloud has a scale of its own.")


def ring_clouds() -> Clouds:
    """Draw five rings, of which more and more lie on each other."""
    _, variants = clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
    ramp = np.repeat([1, 3, 5, 8, 10], 100)  # the first of rings that lie on each other is on top
    return _clouds(*(_cloud(f"{v.at:g} of radius 1", v.array[::-1], ramp[::-1]) for v in variants))


def cluster_clouds() -> Clouds:
    """Draw the same points in one cluster and in more."""
    reference, variants = clouds(CloudCase("clusters", 300, 2, 7, (2, 3, 6, 12)))
    ramp = np.repeat(np.arange(60) % COLOURS, 5)
    split = [_cloud(f"{v.at:g} clusters", v.array, ramp) for v in variants]
    return _clouds(_cloud("one", reference, ramp), *split)


def spot_clouds(experiment: str) -> Clouds:
    """Draw a Gaussian spot, and the same with noise ("perturbed") or an independent one
    ("lost")."""
    reference, variants = clouds(CloudCase("spots", 300, 2, 0, (0.5,)))
    ramp = _by_angle(reference[:, 0], reference[:, 1])
    (other,) = (v.array for v in variants if v.experiment == experiment)
    name = {"perturbed": "with noise", "lost": "independent"}[experiment]
    return _clouds(_cloud("Gaussian spot", reference, ramp), _cloud(name, other, ramp))


def cube_clouds() -> Clouds:
    """Draw two uniform cubes, of which one moves away."""
    reference, variants = clouds(CloudCase("cubes", 400, 2, 0, (2.0, 5.0)))
    ramp = _by_angle(reference[:, 0] % 1.1, reference[:, 1])
    moved = [_cloud(f"t = {v.at:g}", v.array, ramp) for v in variants]
    return _clouds(_cloud("t = 0", reference, ramp), *moved)


def _by_angle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Colours of points by their order around the origin."""
    return np.argsort(np.argsort(np.arctan2(y, x))) * COLOURS // len(x)


def _cloud(name: str, points: np.ndarray, groups: np.ndarray) -> Cloud:
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    places = (points - middle).round(4).tolist()
    return Cloud(name, tuple((x, y) for x, y in places), tuple(groups.tolist()))


def _clouds(*shapes: Cloud) -> Clouds:
    return Clouds("clouds", "What is compared", shapes, SAME)
