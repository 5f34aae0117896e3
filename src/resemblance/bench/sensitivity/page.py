"""The page of the sensitivity suite: a section per benchmark with tables and the figures of the
paper, and Table 1 over all benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from resemblance.sections.figures import Bar, Bars, Chart, Line
from resemblance.sections.sections import Section, Table, TableEntry
from resemblance.sections.values import finite_or_none

from ..case import Case
from ..page import ScoreColumn
from .cases import BENCHMARKS, Benchmark
from .findings import (
    CORRELATION_NAMES,
    DING_LABELS,
    MEAN_SQUARED_CCA,
    PAPER_CKA,
    PAPER_MEASURES,
    PAPER_PROCRUSTES,
    PAPER_PWCCA,
    CorrelationName,
    Estimate,
    Findings,
    deleted_shares,
)
from .operators import Deletion
from .tables import (
    CORRELATION_SIGNS,
    PAPER_CONTRASTS,
    TableRecord,
    contrasts_by_layer,
    family_tables,
    measure_contrasts,
    sort_best_first,
)

SHORT_DING_LABELS: Mapping[str, str] = {
    **DING_LABELS,
    PAPER_PWCCA: "PWCCA",
    MEAN_SQUARED_CCA: "squared CCA",
}
BENCHMARK_NUMBERS = {benchmark.name: i + 1 for i, benchmark in enumerate(BENCHMARKS)}
ABOUT_SENSITIVITY = (
    "A measure should respond to changes in the function of a representation, and ignore all other "
    "changes (Ding, Denain and Steinhardt 2021). In every benchmark the representation with the "
    "best functionality is the reference, and distances from it should be in the order of the "
    "differences in functionality. Correlations are means over layers and functionalities; "
    "intervals cover 95 % of bootstrap samples of models. They show what other models of the same "
    "kind would give, not what other data or architectures would."
)
NO_AVERAGE_NOTE = (
    "A measure with a missing value or with failed comparisons has no mean and comes last."
)
FindingsByColumn = Mapping[tuple[str, str], Findings]  # by benchmark and family
Curves = Mapping[str, Deletion]  # by the name of a measure


def benchmark_section(
    benchmark: Benchmark, findings: Sequence[Findings], reasons: Mapping[str, str]
) -> Section:
    """Return the section of a benchmark, with tables and figures. ``findings``: of every family.
    ``reasons``: by name, why models or tasks are left out."""
    tables = [table for entry in findings for table in family_tables(entry)]
    figures = [figure for entry in findings for figure in _bootstrap_figures(entry)]
    paper_figures = {"layers": _figure_1, "deletion": _figure_2}
    for entry in findings if benchmark.name in paper_figures else ():
        paper_tables, charts = paper_figures[benchmark.name](entry)
        tables += paper_tables
        figures += charts
    return Section(
        benchmark.name,
        benchmark.title,
        benchmark.about,
        tuple(tables),
        tuple(figures),
        reasons=reasons,
    )


def sensitivity_score_columns(cases: Iterable[Case]) -> list[ScoreColumn]:
    """Return the columns of the table of all scores, one column per task in the order of ``cases``.

    The tooltip of a column names the correlation and the models, and gives the reliability of the
    expected differences or says that the reliability is unknown.
    """
    columns = []
    for case in cases:
        *_, name, quality = case.cell
        repeats = "the reliability of its differences on other inputs is unknown"
        if case.reliability is not None:
            repeats = (
                f"on other inputs its differences have a reliability of {case.reliability:.2f}"
            )
        columns.append(
            ScoreColumn(
                case.test,
                case.cell,
                f"{BENCHMARK_NUMBERS[case.test]} {case.test}",
                f"{name} {CORRELATION_SIGNS['kendall' if quality == 'kendall' else 'spearman']}",
                f"{quality.capitalize()}'s correlation, {case.models}; {repeats}",
                {"models": case.models, "correlation": quality.capitalize()},
            )
        )
    return columns


# --------------------------------------------------------------------- figures of every benchmark


def _bootstrap_figures(findings: Findings) -> Iterator[Chart | Bars]:
    """Yield figures of the differences between the measures of the paper, over all tasks and by
    layer.

    The figure by layer needs more than two layers. A figure without content is left out.
    """
    bars = tuple(
        Bar(_contrast_title(c.first, c.second), c.difference, c.low, c.high)
        for c in measure_contrasts(findings.correlations, "kendall")
        if {c.first, c.second} <= set(PAPER_MEASURES.values())
    )
    layers = dict.fromkeys(layer for layer, _ in findings.correlations.names)
    lines = [
        _line_by_layer(findings, layers, *pair)
        for pair in (PAPER_CONTRASTS if len(layers) > 2 else ())
    ]
    lines = [line for line in lines if line.points]
    title, axis = findings.family.title, "difference of Kendall's correlation"
    if bars:
        note = (
            "95 % bootstrap intervals; an interval without 0 is a difference that these models "
            "establish."
        )
        head = f"Bootstrap comparison: {title}"
        yield Bars(f"{title}: bootstrap", head, axis, bars, note, threshold=0.0)
    if lines:
        note = (
            "95 % bootstrap intervals with one pair of the reference with itself. x: layers in "
            f"the order of the network, from 1: {', '.join(layers)}"
        )
        head = f"Bootstrap comparison by layer: {title}"
        name = f"{title}: bootstrap by layer"
        yield Chart(name, head, "layer", axis, tuple(lines), note, threshold=0.0)


def _contrast_title(first: str, second: str) -> str:
    """Return a short title for the difference between two measures of the paper."""
    return f"{SHORT_DING_LABELS[first]} - {SHORT_DING_LABELS[second]}"


def _line_by_layer(findings: Findings, layers: Iterable[str], first: str, second: str) -> Line:
    points, intervals = [], []
    by_layer = contrasts_by_layer(findings.correlations, first, second)
    for position, layer in enumerate(layers):
        c = by_layer.get(layer)
        if c and c.low is not None and c.high is not None:
            points.append((position + 1.0, c.difference))
            intervals.append((c.low, c.high))
    return Line(_contrast_title(first, second), tuple(points), tuple(intervals))


# ------------------------------------------------------------------- Figures 1 and 2 of the paper


def _figure_1(findings: Findings) -> tuple[list[Table], list[Chart | Bars]]:
    """Return the tables and figures of Figure 1: the middle layer against all layers of its own
    model and of another seed."""
    title, layers, depths = findings.family.title, findings.layers(), findings.depths()
    records = list[TableRecord]()
    for spec, d in depths.items():
        shares = [finite_or_none(share) for share in d.exceeding]
        mean = mean_or_none(shares)
        records.append({"measure": findings.name(spec), "mean": mean, **dict(zip(layers, shares))})
    specificity = Table.of(
        sort_best_first(records, "mean"),
        f"{title}: specificity",
        f"Do layers differ more than seeds? {title}",
        "By layer, the share of the other layers of the same model that are farther from it than "
        "the same layer of another seed; the mean over pairs of seeds. Near 1: layers differ more "
        "than random starts. Near 0: the measure fails the specificity test of the paper.",
        columns=("measure", "mean", *layers),
    )
    (members,) = findings.sets.sets.values()
    accuracies = members.functionality["probe"].reshape(-1, len(layers)).mean(axis=0)
    probes = Table.of(
        [{"layer": layer, "accuracy": float(a)} for layer, a in zip(layers, accuracies)],
        f"{title}: probes",
        f"Accuracy of probes: {title}",
        "Mean over seeds.",
    )
    middle = len(layers) // 2
    note = (
        f"Distances of layer {layers[middle]} from every layer, from 1, mean over "
        "seeds; the threshold is the distance from the same layer of another seed. Layers below "
        "it differ less than two random starts."
    )
    charts = list[Chart | Bars]()
    for spec in (spec for spec in (PAPER_CKA, PAPER_PROCRUSTES, PAPER_PWCCA) if spec in depths):
        own_distances, other_distances = (matrix[middle] for matrix in depths[spec][1:3])
        charts.append(
            Chart(
                f"{title}: {findings.name(spec)} by layer",
                f"Figure 1, {findings.name(spec)}: {title}",
                "layer",
                "distance",
                (
                    _layers_line("same model", own_distances),
                    _layers_line("another seed", other_distances),
                ),
                note,
                threshold=finite_or_none(other_distances[middle]),
            )
        )
    return [specificity, probes], charts


def _layers_line(name: str, values: Iterable[float]) -> Line:
    return Line(name, tuple((i + 1.0, float(v)) for i, v in enumerate(values) if v == v))


def _figure_2(findings: Findings) -> tuple[list[Table], list[Chart | Bars]]:
    """Return the table and figures of Figure 2: distances from undeleted representations, as a
    function of the share of deleted components."""
    layer, members = list(findings.sets.sets.items())[-1]
    shares = deleted_shares(members)
    accuracies = members.functionality["probe"].reshape(-1, len(shares)).mean(axis=0).tolist()
    probe = dict(zip(shares, accuracies))
    deletions = {findings.name(spec): d for spec, d in findings.deletions().items()}
    curves = {name: d for name, d in deletions.items() if not d.unknown}
    reasons = {name: d.unknown for name, d in deletions.items() if d.unknown}
    table = _detection_table(findings.family.title, layer, curves, reasons, probe)
    chart = _deletion_chart(findings.family.title, layer, curves, probe)
    return [table], [chart, _detection_bars(findings.family.title, curves, reasons)]


def _detection_table(
    title: str, layer: str, curves: Curves, reasons: Mapping[str, str], probe: Mapping[float, float]
) -> Table:
    records: list[TableRecord] = [
        {
            "measure": name,
            "detected": d.detected,
            "probe there": None if d.detected is None else probe[d.detected],
            "threshold": d.threshold,
        }
        for name, d in curves.items()
    ]
    note = (
        f"Layer {layer}. Detected: the smallest share of deleted components at which "
        "the distance from the undeleted representation exceeds the mean distance between seeds "
        "(threshold); none where it never does. Probe: accuracy with that share deleted; "
        f"{probe[0.0]:.3f} with none. Shares tried: " + ", ".join(f"{s:.2f}" for s in probe) + "."
    )
    missing_note = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return Table.of(
        sorted(records, key=lambda r: (r["detected"] is None, r["detected"] or 0, r["measure"])),
        f"{title}: detection",
        f"How much can be deleted undetected? {title}",
        note + (f" Without a value ({missing_note})." if missing_note else ""),
        columns=("measure", "detected", "probe there", "threshold"),
    )


def _deletion_chart(title: str, layer: str, curves: Curves, probe: Mapping[float, float]) -> Chart:
    lines = [
        Line(name, tuple(zip(d.share, np.divide(d.distance, d.threshold).tolist())))
        for name, d in curves.items()
        if d.measure in PAPER_MEASURES.values() and d.threshold
    ]
    return Chart(
        f"{title}: deletion",
        f"Figure 2: {title}, {layer}",
        "share of components deleted",
        "distance / threshold; accuracy",
        (*lines, Line("accuracy of probes", tuple(probe.items()))),
        "Distances in units of the mean distance between seeds, the threshold, which is 1; mean "
        "over seeds. The accuracy of probes, a share of 1, is on the same axis.",
        threshold=1.0,
    )


def _detection_bars(title: str, curves: Curves, reasons: Iterable[str]) -> Bars:
    order = sorted(curves.items(), key=lambda item: (item[1].detected or 2.0, item[1].measure))
    undetected = [name for name, d in order if d.detected is None]
    note = "Smallest share of components whose deletion is detected; small is sensitive."
    note += f" Never detected by {', '.join(undetected)}." if undetected else ""
    note += f" Without a value, which is different: {', '.join(reasons)}." if reasons else ""
    return Bars(
        f"{title}: detected",
        f"Seen from: {title}",
        "share of components deleted",
        tuple(Bar(name, d.detected) for name, d in order if d.detected is not None),
        note,
    )


# ------------------------------------------------------------------------------------------ Table 1


def summary_section(findings: Mapping[str, Sequence[Findings]]) -> Section:
    """Return the section with Table 1 of the paper for all benchmarks of the run, with intervals.
    ``findings``: by benchmark, of every family."""
    columns = {(name, f.family.title): f for name, families in findings.items() for f in families}
    titles = list(dict.fromkeys(title for _, title in columns))
    tables = [_overall_table(columns, titles)] if len(titles) > 1 else []
    tables += [_table_1(columns, title) for title in titles]
    averages = _average_estimates(columns, "spearman").items()
    bars = tuple(Bar(name, v, low, high) for name, (v, low, high) in averages if v is not None)
    note = (
        "Mean over benchmarks and models. The ends of the intervals are the means of the ends of "
        "the benchmarks' intervals, which is wider than an interval of the mean. Measures without "
        "a value somewhere are left out."
    )
    title = "All benchmarks: mean of Spearman's correlations"
    figure = Bars("average", title, "correlation", bars, note, threshold=0.0)
    head = "Table 1: all benchmarks"
    return Section("summary", head, ABOUT_SENSITIVITY, tuple(tables), (figure,))


def _average_estimates(columns: FindingsByColumn, quality: CorrelationName) -> dict[str, Estimate]:
    """Return, by name of a measure, the mean of its estimates over columns, with the means of the
    interval ends; best first, measures without a mean last."""
    names = {
        spec: findings.name(spec)
        for findings in columns.values()
        for spec in findings.correlations.measures
    }
    averages = {}
    for spec, name in names.items():
        estimates = [findings.correlations.estimate(spec, quality) for findings in columns.values()]
        averages[name] = Estimate(*map(mean_or_none, zip(*estimates)))
    by_value = sorted(
        averages.items(), key=lambda r: (r[1].value is None, -round(r[1].value or 0, 9), r[0])
    )
    return dict(by_value)


def mean_or_none(values: Iterable[float | None]) -> float | None:
    """Return the mean of ``values``; None without values, or if a value is None."""
    numbers = list(values)
    finite_numbers = [v for v in numbers if v is not None]
    if numbers and len(finite_numbers) == len(numbers):
        return sum(finite_numbers) / len(numbers)
    return None


def _overall_table(columns: FindingsByColumn, titles: Sequence[str]) -> Table:
    """Return the table with the mean over benchmarks of every measure, for both correlations: over
    all families, and for every family in ``titles``."""
    parts = {
        f"{CORRELATION_SIGNS[q]}, {title}": _average_estimates(
            _columns_of_family(columns, title), q
        )
        for q, title in product(CORRELATION_NAMES, titles)
    }
    spearman, kendall = (_average_estimates(columns, quality) for quality in CORRELATION_NAMES)
    records = [
        {
            "measure": name,
            "ρ": mean.value,
            "τ": kendall[name].value,
            **{
                head: estimates[name].value if name in estimates else None
                for head, estimates in parts.items()
            },
        }
        for name, mean in spearman.items()
    ]
    return Table.of(records, "overall", "All models", f"Means over benchmarks. {NO_AVERAGE_NOTE}")


def _columns_of_family(columns: FindingsByColumn, title: str) -> FindingsByColumn:
    return {key: findings for key, findings in columns.items() if key[1] == title}


def _table_1(columns: FindingsByColumn, title: str) -> Table:
    """Return Table 1 for the family with this title: measures by benchmarks, with a selector for
    the correlation."""
    family = _columns_of_family(columns, title)
    averages = {quality: _average_estimates(family, quality) for quality in CORRELATION_NAMES}
    records = []
    for name in averages["spearman"]:
        record: dict[tuple[str, str], TableEntry] = {("", "measure"): name}
        for quality in CORRELATION_NAMES:
            word = quality.capitalize()
            record[word, "mean"] = averages[quality][name].value
            for (benchmark, _), findings in family.items():
                by_name = {findings.name(spec): spec for spec in findings.correlations.measures}
                record[word, f"{BENCHMARK_NUMBERS[benchmark]} {benchmark}"] = (
                    _format_estimate(findings.correlations.estimate(by_name[name], quality))
                    if name in by_name
                    else None
                )
        records.append(record)
    note = (
        "Mean correlations over layers and functionalities with their 95 % bootstrap intervals. "
        f"{NO_AVERAGE_NOTE}"
    )
    words = [q.capitalize() for q in CORRELATION_NAMES for _ in range(len(family) + 1)]
    return Table.of(
        records,
        f"table 1 {title}",
        f"Table 1: {title}",
        note,
        selectors=("correlation",),
        choices=(("",), *((word,) for word in words)),
    )


def _format_estimate(estimate: Estimate) -> str | None:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None if estimate.value is None else f"{estimate.value:z.2f}"
    return f"{estimate.value:z.2f} ({estimate.low:z.2f} to {estimate.high:z.2f})"
