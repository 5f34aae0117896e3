"""What a run of the manifold suite says: a section for every experiment, the grades of all
measures, times and failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ...results.figures import Chart, Clouds
from ...results.result import Result
from ...results.sections import RankRule, Section, Table
from ...results.values import known
from ..study import Judge, judged_by
from . import curves
from .curves import Style, along, chart, over_k, tau_chart
from .grades import CLUSTERS, Grade, ManifoldFacts, Measurement

EXPERIMENTS: Mapping[str, str] = {  # names of sections, and their titles
    "swiss roll": "Swiss roll and S-curve",
    "rings": "Rings that merge",
    "clusters": "Clusters that split",
    "perturbed": "Perturbed spots",
    "lost": "Lost correspondence",
    "moved": "Spots that move apart",
}
ABOUT: Mapping[str, str] = {
    "swiss roll": "The S-curve at r = 0.5 unrolls the Swiss roll; elsewhere it winds around, and "
    "points that are far apart on the roll meet. A measure of manifolds is largest in the middle. "
    "Figures 1 and 7 of the paper. Dashed lines are distances, drawn as 1 − value / the largest of "
    "the diagram: their order and shape count, not their level.",
    "rings": "Five rings that merge step by step against five separate rings: the similarity "
    "should fall from left to right, and Kendall's τ with the known order should be 1. "
    "Figure 2 of the paper.",
    "clusters": "One cluster against the same points in a growing number of clusters: the "
    "similarity should fall. τ is computed over 2, 3, 4, 5, 6, 10 and 12 clusters, as in the "
    "original experiment. "
    "Figure 6 of the paper.",
    "perturbed": "A Gaussian blob and the same blob with noise half as large: equally alike for "
    "few and many samples or features, so the curve should be flat. Figures 3 (a–e) and 8 of "
    "the paper.",
    "lost": "Two unrelated blobs: a similarity should be 0. A value above 0 here is a bias that "
    "inflates all other results. Figures 3 (f–i) and 8 of the paper.",
    "moved": "Two uniform cubes of points, one of which moves away by t, against both in place: "
    "neighbourhoods inside a cube do not change, so the curve should level off. "
    "Figures 3 (j–n) and 9 of the paper.",
}
TITLE = "The manifold suite: measures on shapes whose similarity is known"
INTRODUCTION = (
    "Swiss rolls, rings, clusters and Gaussian blobs (“spots”) in two or more dimensions, for "
    "which we know which pairs are more alike, or that the value must not change. Each measure "
    "sees the same points in the same "
    "order in both shapes. The experiments are those of Islam, Liu and Sarkar (“Manifold "
    "Approximation leads to Robust Kernel Alignment”, arXiv 2510.22953), rings and clusters those "
    "of Barannikov et al. (“Representation Topology Divergence”, ICML 2022)."
)
GRADES: Sequence[tuple[str, str, str]] = (  # field of a grade, heading, what it says
    (
        "rings",
        "τ rings",
        "Kendall's τ of the differences with the known order; 1 is right, −1 the opposite order",
    ),
    (
        "rings_conformity",
        "in order, rings",
        "share of pairs of comparisons in the right order; equal differences count half",
    ),
    ("clusters", "τ clusters", "Kendall's τ of the differences with the known order"),
    (
        "clusters_conformity",
        "in order, clusters",
        "share of pairs of comparisons in the right order",
    ),
    ("over_k", "over k", "coefficient of variation over numbers of neighbours; 0 is the best"),
    ("over_n", "over n", "coefficient of variation over numbers of samples; 0 is the best"),
    ("over_d", "over d", "coefficient of variation over numbers of features; 0 is the best"),
    ("lost", "lost", "mean value without any correspondence; of a similarity 0 is right"),
    (
        "kept",
        "kept",
        "value after the longest move over the value before, of a similarity; 1 is the best",
    ),
    ("peak", "peak r", "where the S-curve is most like the Swiss roll; 0.5 is right"),
)
WORDS = {
    "swiss_roll": "Swiss roll", "rings": "rings", "clusters": "clusters",
    "perturbed": "perturbed spots", "lost": "lost correspondence", "moved": "moved spots",
}  # fmt: skip


def check_claims(claims: Mapping[str, Judge] | None) -> None:
    """Raise ``ValueError`` for claims of a section that no result has."""
    unknown = [name for name in claims or () if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(
            f"manifolds.run: there is no section {unknown[0]!r} for claims; known: "
            f"{', '.join(EXPERIMENTS)}"
        )


def result_of(
    facts: ManifoldFacts,
    claims: Mapping[str, Judge] | None = None,
    usual: Iterable[str] | None = None,
) -> Result:
    """Return what was measured as tables, figures and scores, with the verdicts of ``claims`` by
    section.

    ``usual``: specifications of the measures of the suite, of which only those of the paper are
    shown at first; by default all measures here.
    """
    check_claims(claims)
    drawn = curves.styles(facts, facts.measures if usual is None else usual)
    grades = facts.grades()
    experiments = [name for name in EXPERIMENTS if facts.of(name.replace(" ", "_"))]
    sections = [_experiment(name, facts, drawn, grades, claims or {}) for name in experiments]
    sections += [_grade_section(facts, drawn, grades), _times(facts, drawn)]
    if facts.left_out or any(p.value is None for p in facts.points):
        sections.append(_failures(facts, drawn))
    seeds = {p.seed for p in facts.of("perturbed")}
    return Result(
        "manifolds",
        facts.size,
        tuple(sections),
        {spec: style.name for spec, style in drawn.items()},
        provenance=facts.provenance,
        facts={"data": "point clouds drawn here", "models": "none", "seeds": str(len(seeds))},
        lead="" if facts.is_trial else _lead(grades, drawn),
        title=TITLE,
        about=INTRODUCTION,
        counts={
            "measure" if len(drawn) == 1 else "measures": str(len(drawn)),
            "comparisons": f"{len(facts.points):,}".replace(",", "\u202f"),
        },
    )


def _lead(grades: Sequence[Grade], drawn: Mapping[str, Style]) -> str:
    """Say which measures find both orders, and which of these the place of the Swiss roll."""
    both = [g for g in grades if g.rings == 1 and g.clusters == 1]  # NaN is no order
    if not both:
        count = "1 measure" if len(drawn) == 1 else f"{len(drawn)} measures"
        return f"None of {count} puts both the rings and the clusters in the right order."
    names = [drawn[g.measure].name for g in both]
    also = [drawn[g.measure].name for g in both if abs(g.peak - 0.5) <= 0.1]
    among = "" if len(both) == len(drawn) else f"Of {len(drawn)} measures, only "
    orders = (
        f"{among}{_all(names)} put{'' if len(both) > 1 else 's'} both the rings and the clusters "
        "in the right order"
    )
    if not also:
        return f"{orders}."
    who = ("they" if len(both) > 1 else "it") if also == names else _all(also)
    finds = "finds" if len(also) == 1 else "find"
    return f"{orders}; {who} also {finds} the S-curve that unrolls the Swiss roll."


def _all(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# -------------------------------------------------------------------------------------- experiments


def _experiment(
    name: str,
    facts: ManifoldFacts,
    drawn: Mapping[str, Style],
    grades: Sequence[Grade],
    claims: Mapping[str, Judge],
) -> Section:
    scores = _scores(name, grades)
    return Section(
        name,
        EXPERIMENTS[name],
        ABOUT[name],
        figures=_figures(name, facts, drawn),
        claims=judged_by(claims, name, facts),
        scores=scores,
        rules={cell: RankRule(models=name) for cell in scores},
    )


def _scores(name: str, grades: Sequence[Grade]) -> dict[str, dict[str, float | None]]:
    """Return the cells in which every measure has a value that means the same: two orders and one
    place."""
    if name in ("rings", "clusters"):
        return {"tau": {g.measure: known(getattr(g, name)) for g in grades}}
    if name == "swiss roll":
        return {"peak": {g.measure: known(-abs(g.peak - 0.5)) for g in grades}}
    return {}


def _figures(
    name: str, facts: ManifoldFacts, drawn: Mapping[str, Style]
) -> tuple[Clouds | Chart, ...]:
    if name == "swiss roll":
        return (curves.roll_clouds(), *_roll(facts, drawn))
    if name == "rings":
        values = {m: facts.curve(m, name) for m in drawn}
        rings = chart(drawn, "Rings of radius 1, against one", "rings", values)
        return (curves.ring_clouds(), rings, tau_chart(facts, drawn, name, None))
    if name == "clusters":
        values = {m: facts.curve(m, name) for m in drawn}
        split = chart(drawn, "Clusters, against one", "clusters", values)
        return (curves.cluster_clouds(), split, tau_chart(facts, drawn, name, CLUSTERS))
    if name == "moved":
        return (curves.cube_clouds(), *_moved(facts, drawn))
    sizes = (along(facts, drawn, name, x, facts.common(name, x)) for x in ("n", "d"))
    return (curves.spot_clouds(name), *sizes, *over_k(facts, drawn, name))


def _roll(facts: ManifoldFacts, drawn: Mapping[str, Style]) -> tuple[Chart, Chart]:
    by_r = {m: facts.curve(m, "swiss_roll") for m in drawn}
    by_k = {m: facts.curve_over_k(m, "swiss_roll") for m in drawn}
    return (
        chart(drawn, "Against the S-curve at r", "r", by_r),
        chart(drawn, "Numbers of neighbours, r = 0.5", "k", by_k, log_x=True),
    )


def _moved(facts: ManifoldFacts, drawn: Mapping[str, Style]) -> list[Chart]:
    longest = max(p.at for p in facts.of("moved"))
    place = {**facts.common("moved", "d"), **facts.common("moved", "n"), "t": longest}
    charts = []
    for x in "tdn":
        fixed = {name: value for name, value in place.items() if name != x}
        charts.append(along(facts, drawn, "moved", x, fixed))
    return charts + over_k(facts, drawn, "moved")


# ---------------------------------------------------------------------------------- grades, times


def _grade_section(
    facts: ManifoldFacts, drawn: Mapping[str, Style], grades: Sequence[Grade]
) -> Section:
    goodness = [
        [_goodness(name, getattr(g, name), drawn[g.measure].is_distance) for name, _, _ in GRADES]
        for g in grades
    ]
    table = Table(
        "grades",
        "Grades of the measures",
        ("measure", *(heading for _, heading, _ in GRADES)),
        tuple(
            (drawn[g.measure].name, *(known(getattr(g, name)) for name, _, _ in GRADES))
            for g in grades
        ),
        "The shade is how good a value is.",
        shades=tuple((None, *row) for row in goodness),
        framed=() if facts.is_trial else _best(goodness),
        hints=("", *(hint for _, _, hint in GRADES)),
        is_leading=True,
    )
    about = (
        "Order: Kendall's τ of the measured differences with the known order, with its sign, and "
        "the share of pairs in order. Stability: coefficient of variation of the value where "
        "nothing should change. Lost: the mean value without correspondence, of a distance as it "
        "is. Kept: of a similarity, the share that remains when one cloud is far away."
    )
    data = Table(
        "grades by measure",
        "Grades by measure",
        Grade._fields,
        tuple((g.measure, *map(known, g[1:])) for g in grades),
        is_data=True,
    )
    points = tuple((*p[:6], int(p.over_k), *p[7:]) for p in facts.points)
    comparisons = Table(
        "comparisons", "Every comparison", Measurement._fields, points, is_data=True
    )
    return Section("grades", "Grades", about, (table, data, comparisons))


def _goodness(name: str, value: float, is_distance: bool) -> float | None:
    """Return how good a grade is, from 0 to 1; None where it has no value, or no right one."""
    if math.isnan(value) or (name == "lost" and is_distance):
        return None
    goodness = {
        "over_k": 1 - 2 * value,
        "over_n": 1 - 2 * value,
        "over_d": 1 - 2 * value,
        "lost": 1 - 1.5 * abs(value),
        "peak": 1 - 2 * abs(value - 0.5),
    }.get(name, value)
    return min(max(goodness, 0.0), 1.0)


def _best(goodness: Sequence[Sequence[float | None]]) -> tuple[tuple[int, int], ...]:
    """Return row and column of the best of every column of grades, which is the second of the table
    and later."""
    cells = []
    for column, values in enumerate(zip(*goodness), start=1):
        best = max((v for v in values if v is not None), default=None)
        cells += [(row, column) for row, v in enumerate(values) if v is not None and v == best]
    return tuple(cells)


def _times(facts: ManifoldFacts, drawn: Mapping[str, Style]) -> Section:
    seconds = sorted((facts.seconds[m], drawn[m].name) for m in drawn if m in facts.seconds)
    rows = tuple((name, 1000 * time) for time, name in seconds)
    about = (
        "Mean time of one comparison. The cost of a view that measures share, such as distances, "
        "is charged to the first measure that uses it."
    )
    table = Table("times", "Time of a comparison", ("measure", "ms"), rows)
    return Section("times", "Times", about, (table,))


def _failures(facts: ManifoldFacts, drawn: Mapping[str, Style]) -> Section:
    """Comparisons without a value by measure and reason, the most frequent first, and what was left
    out."""
    experiments: dict[tuple[str, str], list[str]] = {}
    for p in facts.points:
        if p.reason:
            name = drawn[p.measure].name if p.measure in drawn else p.measure
            experiments.setdefault((name, p.reason), []).append(WORDS[p.experiment])
    rows = sorted(
        (
            (name, reason, ", ".join(dict.fromkeys(where)), len(where))
            for (name, reason), where in experiments.items()
        ),
        key=lambda row: (-row[3], row[0], row[1]),
    )
    columns = ("measure", "reason", "experiments", "comparisons")
    table = Table("failures", "Comparisons without a value", columns, tuple(rows))
    about = (
        "An order that lacks one of its values has no τ."
        if rows
        else "Every comparison that was made has a value."
    )
    reasons = {drawn[m].name: f"left out {why}" for m, why in facts.left_out.items()}
    return Section("failures", "Failures", about, (table,) if rows else (), reasons=reasons)
