"""The page of the manifold suite: a section per experiment, the grades of all measures, times and
failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from resemblance.base.formatting import count_with_noun, format_count, format_number, join_words
from resemblance.comparison.comparison import MeasureInfo
from resemblance.contracts._measure import Measure
from resemblance.sections.figures import Chart, Cloud, Clouds, Figure, Line
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Table
from resemblance.sections.values import finite_or_none

from ..page import ScoreColumn, data_table, frame_sections, groups_by_test
from ..ranks import ScoreOverview, add_scores, summarize_scores
from .clouds import CloudCase, sample_clouds
from .values import (
    GRADES,
    ORIGINAL_CLUSTER_COUNTS,
    Measured,
    curve,
    curve_over_k,
    grades,
    most_complete_size,
    taus_over_k,
)

EXPERIMENTS: Mapping[str, str] = {  # names of sections, and titles
    "swiss roll": "Swiss roll and S-curve",
    "rings": "Rings that merge",
    "clusters": "Clusters that split",
    "perturbed": "Perturbed spots",
    "lost": "Lost correspondence",
    "moved": "Spots that move apart",
}
ABOUT_EXPERIMENTS: Mapping[str, str] = {
    "swiss roll": "The S-curve at r = 0.5 unrolls the Swiss roll; elsewhere it winds around, and "
    "points that are far apart on the roll meet. A measure of manifolds is largest in the middle. "
    "Figures 1 and 7 of the paper. Dashed lines are distances, drawn as 1 − value / the largest of "
    "the diagram: their order and shape count, not their level.",
    "rings": "Five rings that merge step by step against five separate rings: the similarity "
    "should fall from left to right, and Kendall's τ with the known order should be 1. "
    "Figure 2 of the paper.",
    "clusters": "One cluster against the same points in a growing number of clusters: the "
    "similarity should fall. τ is computed over 2, 3, 4, 5, 6, 10 and 12 clusters, as in the "
    "original experiment. Figure 6 of the paper.",
    "perturbed": "A Gaussian blob and the same blob with noise half as large: equally alike for "
    "few and many samples or features, so the curve should be flat. Figures 3 (a–e) and 8 of "
    "the paper.",
    "lost": "Two unrelated blobs: a similarity should be 0. A value above 0 here is a bias that "
    "inflates all other results. Figures 3 (f–i) and 8 of the paper.",
    "moved": "Two uniform cubes of points, one of which moves away by t, against both in place: "
    "neighbourhoods inside a cube do not change, so the curve should level off. "
    "Figures 3 (j–n) and 9 of the paper.",
}
MANIFOLDS_TITLE = "The manifold suite: measures on shapes whose similarity is known"
MANIFOLDS_INTRODUCTION = (
    "Swiss rolls, rings, clusters and Gaussian blobs (“spots”) in two or more dimensions, for "
    "which we know which pairs are more alike, or that the value must not change. Each measure "
    "sees the same points in the same "
    "order in both shapes. The experiments are those of Islam, Liu and Sarkar (“Manifold "
    "Approximation leads to Robust Kernel Alignment”, arXiv 2510.22953), rings and clusters those "
    "of Barannikov et al. (“Representation Topology Divergence”, ICML 2022)."
)
# The labels of the MKA paper; only these measures are visible at first.
MKA_PAPER_LABELS: Mapping[str, str] = {
    "mka": "MKA",
    "kcka[variant=code]": "kCKA (code)",
    "kcka": "kCKA",
    "cka": "CKA",
    "cka[kernel=rbf]": "CKA-RBF (δ 1)",
    "cka[bandwidth=0.2,kernel=rbf]": "CKA-RBF (δ 0.2)",
    "svcca": "SVCCA",
    "imd": "IMD",
    "rtd": "RTD",
    "mka[k=15]": "MKA (k 15)",
    "cka[bandwidth=0.45,kernel=rbf]": "CKA-RBF (δ 0.45)",
}
MEASURES_SHOWN_FIRST = tuple(MKA_PAPER_LABELS)[:9]
AXIS_TITLES = {
    "k": "neighbours k",
    "n": "samples n",
    "d": "features d",
    "t": "distance t",
    "r": "r",
}
MAX_POINT_COLORS = 12  # number of colours for points
# Curves are clipped beyond these values.
MIN_CHART_VALUE, MAX_CHART_VALUE = -0.2, 1.04
ValuesByX = Mapping[float, float]
StylesByMeasure = Mapping[str, "Style"]  # by specification


def manifolds_result(run: Measured, defaults: Iterable[Measure]) -> Result:
    """Return the measurements of a run as a result with tables, figures and scores.

    ``defaults``: the default measures of the suite. Of more than nine measures, a chart at first
    shows those in ``MEASURES_SHOWN_FIRST`` and those outside ``defaults``.
    """
    defaults, points = tuple(defaults), run.of()
    seeds = len({p.seed for p in run.of("perturbed")})
    styles, by_measure = measure_styles(run.measures, [m.spec for m in defaults]), grades(run)
    names = {spec: style.name for spec, style in styles.items()}
    overview = summarize_scores(
        "manifolds",
        run.scores,
        [run.measures[spec] for spec in names],
        run.cells,
        defaults,
        is_trial=run.is_trial,
    )._replace(names=names)
    sections = list[Section]()
    for name, title in EXPERIMENTS.items():
        if run.of(name.replace(" ", "_")):
            figures: tuple[Figure, ...] = (
                _experiment_clouds(name),
                *_experiment_charts(name, run, styles),
            )
            cells = {cell: entry for cell, entry in run.cells.items() if cell[0] == name}
            sections.append(
                add_scores(Section(name, title, ABOUT_EXPERIMENTS[name], (), figures), cells)
            )
    sections.append(_grade_section(run, styles, by_measure, overview))
    tasks = dict.fromkeys((score.test, score.cell) for score in run.scores)
    page = frame_sections(
        overview,
        sections,
        [ScoreColumn(test, cell, test, "/".join(cell)) for test, cell in tasks],
        run.seconds,
        run.failed,
        groups=groups_by_test(run.scores),
        kind="experiment",
        reasons={names[m]: f"left out {reason}" for m, reason in run.left_out.items()},
    )
    return Result(
        "manifolds",
        run.size,
        page,
        names,
        provenance=run.provenance,
        facts={
            "data": "point clouds drawn here",
            "models": "none",
            **({"seeds": str(seeds)} if seeds else {}),
            "measures": str(len(styles)),
            "comparisons": format_count(len(points)),
        },
        conclusion="" if run.is_trial else _peak_and_order_summary(by_measure, names),
        title=MANIFOLDS_TITLE,
        about=MANIFOLDS_INTRODUCTION,
    )


def _peak_and_order_summary(
    by_measure: Mapping[str, Mapping[str, float]], names: Mapping[str, str]
) -> str:
    """Return a sentence: the measures that order both rings and clusters correctly, and among these
    the measures that find the peak of the Swiss roll.

    ``by_measure``: the grades. ``names``: of measures, by specification.
    """
    hits = {m: g for m, g in by_measure.items() if g["rings"] == 1 == g["clusters"]}
    if not hits:
        count = count_with_noun(len(names), "measure")
        return f"None of {count} puts both the rings and the clusters in the right order."
    leaders = [names[m] for m in hits]
    names_at_peak = [names[m] for m, g in hits.items() if abs(g["peak"] - 0.5) <= 0.1]
    prefix = "" if len(hits) == len(names) else f"Of {len(names)} measures, only "
    sentence = (
        f"{prefix}{join_words(leaders)} put{'' if len(hits) > 1 else 's'} both the rings and "
        "the clusters in the right order"
    )
    if not names_at_peak:
        return f"{sentence}."
    subject = (
        ("they" if len(hits) > 1 else "it")
        if names_at_peak == leaders
        else join_words(names_at_peak)
    )
    verb = "finds" if len(names_at_peak) == 1 else "find"
    return f"{sentence}; {subject} also {verb} the S-curve that unrolls the Swiss roll."


# -------------------------------------------------------------------------------------- experiments


def _experiment_charts(name: str, run: Measured, styles: StylesByMeasure) -> list[Chart]:
    chart = partial(_measure_chart, styles)
    chart_by_size = partial(_charts_by_size, run, styles, name)
    curves = {m: curve(run, m, name.replace(" ", "_")) for m in styles}
    is_swept = any(p.over_k for p in run.of(name.replace(" ", "_")))
    if name == "swiss roll":
        curves_by_k = {m: curve_over_k(run, m, "swiss_roll") for m in styles}
        roll_chart = chart("Against the S-curve at r", "r", curves)
        k_chart = chart("Numbers of neighbours, r = 0.5", "k", curves_by_k, log_x=True)
        return [roll_chart, k_chart] if is_swept else [roll_chart]
    if name in ("rings", "clusters"):
        title = "Rings of radius 1, against one" if name == "rings" else "Clusters, against one"
        order = chart(title, name, curves)
        return [order, _tau_chart(run, styles, name)] if is_swept else [order]
    if name == "moved":
        max_t = max(p.at for p in run.of("moved"))
        fixed_values = {
            **most_complete_size(run, name, "d"),
            **most_complete_size(run, name, "n"),
            "t": max_t,
        }
        fixed_axes = {"t": "nd", "d": "nt", "n": "dt"}
        charts = [
            chart_by_size(x, {name: fixed_values[name] for name in axes})
            for x, axes in fixed_axes.items()
        ]
    else:
        charts = [chart_by_size(x, most_complete_size(run, name, x)) for x in "nd"]
    return [*charts, *_charts_over_k(run, styles, name)]


# ------------------------------------------------------------------------------------------- curves


class Style(NamedTuple):
    """How a chart draws a measure: name, visible at first or not, and whether the measure is a
    distance, which is drawn upside down."""

    spec: str
    name: str
    is_shown: bool
    is_distance: bool

    @property
    def note(self) -> str:
        """The tooltip of the name."""
        distance_note = ", a distance: drawn as 1 − value / the largest of its curve"
        return f"{self.spec}{distance_note if self.is_distance else ''}"


def measure_styles(
    measures: Mapping[str, MeasureInfo], default_specs: Iterable[str]
) -> dict[str, Style]:
    """Return the style of the line of every measure, by specification, the measures of the paper
    first.

    ``measures``: by specification. A measure outside ``default_specs`` is the user's own and is
    visible.
    """
    names = {
        spec: MKA_PAPER_LABELS.get(spec) or _label_with_options(info)
        for spec, info in measures.items()
    }
    count = Counter(names.values())
    are_few, specs = len(names) <= len(MEASURES_SHOWN_FIRST), set(default_specs)
    return {
        spec: Style(
            spec,
            names[spec] if count[names[spec]] == 1 else spec,
            are_few or spec in MEASURES_SHOWN_FIRST or spec not in specs,
            not measures[spec].larger_is_more_similar,
        )
        for spec in dict.fromkeys((*MEASURES_SHOWN_FIRST, *names))
        if spec in names
    }


def _label_with_options(info: MeasureInfo) -> str:
    """Return the label of a measure with its parameters: Jaccard (euclidean)."""
    parameters = [
        value if isinstance(value, str) else f"{name} {value}"
        for name, value in info.parameters.items()
    ]
    return f"{info.label} ({', '.join(parameters)})" if parameters else info.label


def _measure_chart(
    styles: StylesByMeasure,
    title: str,
    x: str,
    curves: Mapping[str, ValuesByX],
    log_x: bool = False,
) -> Chart:
    """Return a chart of the values of measures. A distance is drawn as 1 - value / (the largest
    value of the curve), which keeps order and shape.

    ``styles``: by specification. ``x``: the variable of the axis. ``curves``: by specification, the
    value by x. ``log_x``: whether the axis is logarithmic.
    """
    axis, lines = AXIS_TITLES.get(x, x), dict[str, Line]()
    for spec, values_by_x in curves.items():
        if values_by_x:
            max_value = max(map(abs, values_by_x.values())) or 1.0
            values = (
                1 - v / max_value if styles[spec].is_distance else v for v in values_by_x.values()
            )
            lines[spec] = _curve_line(
                styles[spec],
                axis,
                values_by_x,
                [min(max(v, MIN_CHART_VALUE), MAX_CHART_VALUE) for v in values],
            )
    heights = [y for spec, line in lines.items() if styles[spec].is_shown for _, y in line.points]
    low = MIN_CHART_VALUE if min(heights, default=0.0) < -0.01 else 0.0
    name = title.split(",")[0].lower()
    return Chart(
        f"{name} {x}" if "neighbors" in name else name,
        title,
        axis,
        "similarity",
        tuple(lines.values()),
        log_x=log_x,
        span_y=(low, 1.0),
    )


def _curve_line(style: Style, x: str, values: ValuesByX, heights: Iterable[float]) -> Line:
    numbers = {position: format_number(value, 4) for position, value in values.items()}
    return Line(
        style.name,
        tuple(zip(map(float, values), heights)),
        titles=tuple(
            f"{style.name}: {number} at {x} = {position:g}" for position, number in numbers.items()
        ),
        note=style.note,
        is_dashed=style.is_distance,
        is_shown=style.is_shown,
    )


def _tau_chart(run: Measured, styles: StylesByMeasure, experiment: str) -> Chart:
    """Return a chart of Kendall's tau with the known order of an ``experiment``, "rings" or
    "clusters", by number of neighbours. ``styles``: of the lines, by specification."""
    lines, counts = [], ORIGINAL_CLUSTER_COUNTS if experiment == "clusters" else None
    for spec, style in styles.items():
        taus_by_k = taus_over_k(run, spec, experiment, counts).items()
        taus = {float(k): tau for k, tau in taus_by_k if not math.isnan(tau)}
        if taus:
            lines.append(_curve_line(style, AXIS_TITLES["k"], taus, taus.values()))
    title = "Order by numbers of neighbours"
    return Chart(
        "order", title, AXIS_TITLES["k"], "τ", tuple(lines), log_x=True, span_y=(-1.0, 1.0)
    )


def _charts_by_size(
    run: Measured,
    styles: StylesByMeasure,
    experiment: str,
    x: str,
    fixed_values: Mapping[str, float],
) -> Chart:
    """Return a chart of measures in an ``experiment``, by ``x``: number of samples ("n"), number of
    features ("d") or distance moved ("t"). ``styles``: of the lines, by specification.
    ``fixed_values``: of the remaining variables."""
    titles = {"n": "Numbers of samples", "d": "Numbers of features", "t": "Distance moved"}
    filters = {"at" if name == "t" else name: value for name, value in fixed_values.items()}
    axis = "at" if x == "t" else x
    curves = {spec: curve(run, spec, experiment, axis, **filters) for spec in styles}
    return _measure_chart(
        styles, f"{titles[x]}, {_format_fixed_values(fixed_values)}", x, curves, log_x=x != "t"
    )


def _charts_over_k(run: Measured, styles: StylesByMeasure, experiment: str) -> list[Chart]:
    """Return charts of measures in an ``experiment`` by number of neighbours, a chart for every
    number of samples and features. ``styles``: of the lines, by specification."""
    points, charts = [p for p in run.of(experiment) if p.over_k], []
    for n, d in sorted({(p.n, p.d) for p in points}):
        curves = {spec: curve_over_k(run, spec, experiment, n=n, d=d) for spec in styles}
        fixed_values: dict[str, float] = {"n": n, "d": d}
        if experiment == "moved":
            fixed_values["t"] = max(p.at for p in points)
        diagram = _measure_chart(
            styles,
            f"Numbers of neighbours, {_format_fixed_values(fixed_values)}",
            "k",
            curves,
            True,
        )
        charts.append(diagram._replace(name=f"neighbours at d {d}"))
    return charts


def _format_fixed_values(facts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in facts.items())


# ------------------------------------------------------------------------------------------- clouds

SAME_SAMPLES_NOTE = "Points of one colour are the same samples in all clouds."


def _experiment_clouds(experiment: str) -> Clouds:
    """Return a figure with example point clouds of an experiment, sampled with few points."""
    note = SAME_SAMPLES_NOTE
    # The S-curves are much smaller than the roll.
    if experiment == "swiss roll":
        reference, variants = sample_clouds(
            CloudCase("swiss_roll", 480, 2, 0, (0.0, 0.25, 0.5, 1.0))
        )
        colors = np.arange(480) * MAX_POINT_COLORS // 480
        note = f"{SAME_SAMPLES_NOTE} Each cloud has a scale of its own."
        shapes = {"Swiss roll": reference} | {f"S-curve, r = {v.at:g}": v.array for v in variants}
        shapes = {name: points / np.ptp(points) for name, points in shapes.items()}
    # Reverse the points, so that among coinciding rings the first ring is on top.
    elif experiment == "rings":
        _, variants = sample_clouds(CloudCase("rings", 500, 2, 0, (1, 2, 3, 4, 5)))
        colors = np.repeat([1, 3, 5, 8, 10], 100)[::-1]
        shapes = {f"{v.at:g} of radius 1": v.array[::-1] for v in variants}
    elif experiment == "clusters":
        reference, variants = sample_clouds(CloudCase("clusters", 300, 2, 7, (2, 3, 6, 12)))
        colors = np.repeat(np.arange(60) % MAX_POINT_COLORS, 5)
        shapes = {"one": reference} | {f"{v.at:g} clusters": v.array for v in variants}
    elif experiment == "moved":
        reference, variants = sample_clouds(CloudCase("cubes", 400, 2, 0, (2.0, 5.0)))
        colors = _groups_by_angle(reference[:, 0] % 1.1, reference[:, 1])
        shapes = {"t = 0": reference} | {f"t = {v.at:g}": v.array for v in variants}
    else:
        reference, variants = sample_clouds(CloudCase("spots", 300, 2, 0, (0.5,)))
        colors = _groups_by_angle(reference[:, 0], reference[:, 1])
        name = {"perturbed": "with noise", "lost": "independent"}[experiment]
        (cloud,) = (v.array for v in variants if v.experiment == experiment)
        shapes = {"Gaussian spot": reference, name: cloud}
    clouds = tuple(_cloud_scatter(name, points, colors) for name, points in shapes.items())
    return Clouds("clouds", "What is compared", clouds, note)


def _groups_by_angle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the colours of points with coordinates x and y, (n,), by angle around the origin:
    equally many points of each of ``MAX_POINT_COLORS`` colours, from 0."""
    return np.argsort(np.argsort(np.arctan2(y, x))) * MAX_POINT_COLORS // len(x)


def _cloud_scatter(name: str, points: np.ndarray, groups: np.ndarray) -> Cloud:
    center = (points.max(axis=0) + points.min(axis=0)) / 2
    coordinates = (points - center).round(4).tolist()
    return Cloud(name, tuple((x, y) for x, y in coordinates), tuple(groups.tolist()))


# ------------------------------------------------------------------------------------------- grades


def _grade_section(
    run: Measured,
    styles: StylesByMeasure,
    by_measure: Mapping[str, Mapping[str, float]],
    overview: ScoreOverview,
) -> Section:
    grades = {
        m: {name: finite_or_none(value) for name, value in values.items()}
        for m, values in by_measure.items()
    }
    has_value = {
        n for values in grades.values() for n, value in values.items() if value is not None
    }
    headings = {n: heading for n, (heading, _) in GRADES.items() if n in has_value}
    goodness = [
        {name: _goodness(name, values[name], styles[m].is_distance) for name in headings}
        for m, values in grades.items()
    ]
    table = Table.of(
        (
            {"measure": styles[m].name, **{heading: values[n] for n, heading in headings.items()}}
            for m, values in grades.items()
        ),
        "grades",
        "Grades of the measures",
        "The shade is how good a value is.",
        shades=tuple((None, *values.values()) for values in goodness),
        framed=()
        if run.is_trial
        else _best_grade_cells([tuple(values.values()) for values in goodness]),
        hints=dict(GRADES.values()),
        is_leading=True,
    )
    about = (
        "Order: Kendall's τ of the measured differences with the known order, with its sign, and "
        "the share of pairs in order. Stability: coefficient of variation of the value where "
        "nothing should change. Lost: the mean value without correspondence, of a distance as it "
        "is. Kept: of a similarity, the share that remains when one cloud is far away."
    )
    data = (
        Table.of(
            ({"measure": m, **values} for m, values in grades.items()),
            "grades by measure",
            "Grades by measure",
            is_data=True,
        ),
        data_table(overview, "scores", run.scores, ("cell",)),
        Table.of(
            (p._asdict() | {"over_k": int(p.over_k)} for p in run.of()),
            "comparisons",
            "Every comparison",
            is_data=True,
        ),
    )
    return Section("grades", "Grades", about, (table, *data))


def _goodness(name: str, value: float | None, is_distance: bool) -> float | None:
    """Return the goodness of the grade ``name`` with the given value, from 0 (bad) to 1 (good);
    None for a missing grade, and for "lost" of a distance, which has no right value."""
    if value is None or (name == "lost" and is_distance):
        return None
    if name.startswith("over"):
        value = 1 - 2 * value
    elif name == "lost":
        value = 1 - 1.5 * abs(value)
    elif name == "peak":
        value = 1 - 2 * abs(value - 0.5)
    return min(max(value, 0.0), 1.0)


def _best_grade_cells(goodness: Sequence[Sequence[float | None]]) -> tuple[tuple[int, int], ...]:
    """Return (row, column) of every cell with the best grade of its column, ties included.

    ``goodness``: a row per measure and a column per grade; None is no grade. The returned columns
    count from 1, because column 0 of the printed table holds the names of the measures.
    """
    cells = []
    for column, values in enumerate(zip(*goodness), start=1):
        best_value = max((v for v in values if v is not None), default=None)
        cells += [
            (row, column) for row, v in enumerate(values) if v is not None and v == best_value
        ]
    return tuple(cells)
