"""The sections of the result: one for each benchmark, and Table 1 of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from ...results.claims import Claim
from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Entry, RankRule, Section, Table
from .benchmarks import BENCHMARKS, Benchmark
from .facts import (
    ALL,
    MEAN_SQUARED_CCA,
    NAMES,
    PAPER,
    PWCCA,
    QUALITIES,
    Estimate,
    FamilyFacts,
    Quality,
    SuiteFacts,
    mean_or_none,
)
from .family_tables import CONTRASTS, tables_of
from .paper_figures import figures_of_paper

CONSTANT_MEASURE = (
    "all distances are equal up to rounding, so nothing can be ranked: after centring and scaling, "
    "a measure of size or position is constant"
)
SHORT: Mapping[str, str] = {**NAMES, PWCCA: "PWCCA", MEAN_SQUARED_CCA: "squared CCA"}
NUMBERS = {benchmark.name: i + 1 for i, benchmark in enumerate(BENCHMARKS)}
ABOUT = (
    "A measure should respond to changes that affect what a representation can do, and ignore "
    "those that do not (Ding, Denain and Steinhardt 2021). In every benchmark the representation "
    "with the best functionality is the reference, and distances from it should be in the order "
    "of the differences in functionality. Correlations are means over layers and functionalities; "
    "intervals cover 95 % of bootstrap samples of models. They show what other models of the same "
    "kind would give, not what other data or architectures would."
)
UNKNOWN = (
    "A measure without a value somewhere, or with failed comparisons, has no mean and comes last."
)
NOTHING = Estimate(None)
Columns = Mapping[tuple[str, str], FamilyFacts]  # by benchmark and family


# ------------------------------------------------------------------------------------ one benchmark


def benchmark_section(
    benchmark: Benchmark,
    facts: Sequence[FamilyFacts],
    claims: tuple[Claim, ...],
    reasons: Mapping[str, str],
) -> Section:
    """Return the tables, figures and scores of one benchmark."""
    paper = [figures_of_paper(family) for family in facts]
    tables = [table for family in facts for table in tables_of(family)]
    figures = [figure for family in facts for figure in bootstrap_figures(family)]
    tables += [table for shown, _ in paper for table in shown]
    figures += [figure for _, shown in paper for figure in shown]
    return Section(
        benchmark.name,
        benchmark.title,
        benchmark.about,
        tuple(tables),
        tuple(figures),
        claims,
        scores_of(facts),
        reasons,
        rules=rules_of(facts),
    )


def scores_of(facts: Iterable[FamilyFacts]) -> dict[str, dict[str, float | None]]:
    """Return the mean correlation over layers of every measure, by family, functionality and
    quality.

    A measure with failed comparisons there has none, so that failing on hard pairs never helps.
    """
    scores = {}
    for family in facts:
        names = [name for name in family.grades.means if name != ALL]
        for name, quality in product(names, QUALITIES):
            means = family.grades.means[name]
            values = {spec: score.estimate(quality).value for spec, score in means.items()}
            scores[f"{family.family.title}/{name}/{quality}"] = values
    return scores


def rules_of(facts: Iterable[FamilyFacts]) -> dict[str, RankRule]:
    """Return the family of models that every cell is of."""
    return {
        cell: RankRule(models=family.family.title)
        for family in facts
        for cell in scores_of([family])
    }


def bootstrap_figures(facts: FamilyFacts) -> list[Chart | Bars]:
    """Return the measures of the paper against each other, over all cells and by layer."""
    bars = tuple(
        Bar(_versus(c.first, c.second), c.difference, c.low, c.high)
        for c in facts.grades.contrasts["kendall"]
        if {c.first, c.second} <= set(PAPER.values())
    )
    pairs = CONTRASTS if len(facts.grades.by_layer) > 2 else ()
    lines = [line for pair in pairs if (line := _line_by_layer(facts, *pair)).points]
    figures: list[Chart | Bars] = []
    title, axis = facts.family.title, "difference of Kendall's correlation"
    if bars:
        note = (
            "95 % bootstrap intervals; an interval without 0 is a difference that these models "
            "establish."
        )
        head = f"Bootstrap comparison: {title}"
        figures.append(Bars(f"{title}: bootstrap", head, axis, bars, note, threshold=0.0))
    if lines:
        note = (
            "95 % bootstrap intervals with one pair of the reference with itself. x: layers in "
            f"the order of the network, from 1: {', '.join(facts.grades.by_layer)}"
        )
        head = f"Bootstrap comparison by layer: {title}"
        name = f"{title}: bootstrap by layer"
        figures.append(Chart(name, head, "layer", axis, tuple(lines), note, threshold=0.0))
    return figures


def _versus(first: str, second: str) -> str:
    """Name a difference between two measures of the paper, short enough for a figure."""
    return f"{SHORT[first]} - {SHORT[second]}"


def _line_by_layer(facts: FamilyFacts, first: str, second: str) -> Line:
    points, intervals = [], []
    for position, contrasts in enumerate(facts.grades.by_layer.values()):
        for c in contrasts:
            if (c.first, c.second) == (first, second) and c.low is not None and c.high is not None:
                points.append((position + 1.0, c.difference))
                intervals.append((c.low, c.high))
    return Line(_versus(first, second), tuple(points), tuple(intervals))


# ------------------------------------------------------------------------------------------ Table 1


def summary_section(facts: SuiteFacts, claims: tuple[Claim, ...]) -> Section:
    """Return Table 1 of the paper for all benchmarks that were run, with intervals."""
    columns = {(name, f.family.title): f for name, families in facts.items() for f in families}
    titles = list(dict.fromkeys(title for _, title in columns))
    tables = [_overall(columns, titles)] if len(titles) > 1 else []
    tables += [_table_1(columns, title) for title in titles]
    averages = _averages(columns, "spearman").items()
    bars = tuple(Bar(name, v, low, high) for name, (v, low, high) in averages if v is not None)
    note = (
        "Mean over benchmarks and models. The ends of the intervals are the means of the ends of "
        "the benchmarks' intervals, which is wider than an interval of the mean. Measures without "
        "a value somewhere are left out."
    )
    title = "All benchmarks: mean of Spearman's correlations"
    figure = Bars("average", title, "correlation", bars, note, threshold=0.0)
    head = "Table 1: all benchmarks"
    return Section("summary", head, ABOUT, tuple(tables), (figure,), claims)


def _averages(columns: Columns, quality: Quality) -> dict[str, Estimate]:
    """Return by name the mean of every measure over columns, and of the ends of its intervals, the
    best first."""
    specs = dict.fromkeys(spec for facts in columns.values() for spec in facts.grades.means[ALL])
    labels = {spec: facts.name(spec) for facts in columns.values() for spec in facts.labels}
    rows = []
    for spec in specs:
        estimates = [facts.estimate(spec, quality) for facts in columns.values()]
        rows.append((labels[spec], Estimate(*map(mean_or_none, zip(*estimates)))))
    return dict(sorted(rows, key=lambda r: (r[1].value is None, -(r[1].value or 0), r[0])))


def _overall(columns: Columns, titles: Sequence[str]) -> Table:
    """The mean over benchmarks of every measure on all models, by both qualities, and by models."""
    parts = [_averages(_of_family(columns, t), q) for q in QUALITIES for t in titles]
    spearman, kendall = (_averages(columns, quality) for quality in QUALITIES)
    rows = tuple(
        (name, mean.value, kendall[name].value, *(p.get(name, NOTHING).value for p in parts))
        for name, mean in spearman.items()
    )
    heads = [f"{sign}, {title}" for sign in ("ρ", "τ") for title in titles]
    note = f"Means over benchmarks. {UNKNOWN}"
    return Table("overall", "All models", ("measure", "ρ", "τ", *heads), rows, note)


def _of_family(columns: Columns, title: str) -> Columns:
    return {key: facts for key, facts in columns.items() if key[1] == title}


def _table_1(columns: Columns, title: str) -> Table:
    """Table 1 for one family of models: measures by benchmarks, for the correlation that a reader
    chooses."""
    family = _of_family(columns, title)
    by_quality = {quality: _means(family, quality) for quality in QUALITIES}
    order = list(_averages(family, "spearman"))
    rows: list[tuple[Entry, ...]] = [
        (name, *(entry for means in by_quality.values() for entry in means[name])) for name in order
    ]
    heads = ("mean", *(f"{NUMBERS[name]} {name}" for name, _ in family))
    words = tuple(quality.capitalize() for quality in QUALITIES for _ in heads)
    note = (
        "Mean correlations over layers and functionalities with their 95 % bootstrap intervals. "
        f"{UNKNOWN}"
    )
    return Table(
        f"table 1 {title}",
        f"Table 1: {title}",
        ("measure", *heads * len(QUALITIES)),
        tuple(rows),
        note,
        ("", *words),
        selectors=("correlation",),
        choices=(("",), *((word,) for word in words)),
    )


def _means(family: Columns, quality: Quality) -> dict[str, tuple[Entry, ...]]:
    """Return by name the mean of every measure over benchmarks, and its mean in each."""
    by_name = [
        {facts.name(spec): s.estimate(quality) for spec, s in facts.grades.means[ALL].items()}
        for facts in family.values()
    ]
    return {
        name: (mean.value, *(_with_interval(estimates.get(name)) for estimates in by_name))
        for name, mean in _averages(family, quality).items()
    }


def _with_interval(estimate: Estimate | None) -> str | None:
    if estimate is None or estimate.value is None:
        return None
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
