"""The numbers of one family of models as tables, figures and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Entry, Table
from .grading import FEWEST_BLOCKS, LEVEL, QUALITIES, mean_of_all, value_of
from .settings import CKA, MEAN_CCA, MEAN_SQUARED_CCA, PAPER, PROCRUSTES, PWCCA
from .subjects import Family

Finding = tuple[Family, dict[str, Any]]  # what was found in one family
NAMES: Mapping[str, str] = {
    PROCRUSTES: "Procrustes", CKA: "CKA", PWCCA: "PWCCA (all directions)", MEAN_CCA: "mean CCA",
    MEAN_SQUARED_CCA: "mean squared CCA",
}  # fmt: skip
SHORT: Mapping[str, str] = {**NAMES, PWCCA: "PWCCA", MEAN_SQUARED_CCA: "squared CCA"}
INDEPENDENT = (
    "Naive p-values assume that pairs are independent, as the paper's do; permuted ones do not."
)
FEW = 25  # cells whose p-values are all shown
CONTRASTS = ((PROCRUSTES, CKA), (PROCRUSTES, PWCCA), (CKA, PWCCA))


def name_of(spec: str, labels: Mapping[str, str]) -> str:
    """Return what a measure is called in tables: the name in the paper, or its label with what it
    is fixed to."""
    if spec in NAMES:
        return NAMES[spec]
    parameters = spec.partition("[")[2]
    return labels.get(spec, spec) + (f" [{parameters}" if parameters else "")


def _versus(a: str, b: str) -> str:
    """Name a difference between two measures of the paper, short enough for a figure."""
    return f"{SHORT[a]} - {SHORT[b]}"


def scores_of(found: Iterable[Finding]) -> dict[str, dict[str, float | None]]:
    """Return the mean correlation over layers of every measure, by family, functionality and
    quality.

    A measure with failed comparisons there has none, so that nothing is gained by failing where it
    is hard.
    """
    return {
        f"{family.title}/{functionality}/{quality}": {
            spec: entry[quality][0] for spec, entry in means.items()
        }
        for family, numbers in found
        for functionality, means in numbers["means"].items()
        if functionality != "*"
        for quality in QUALITIES
    }


# ------------------------------------------------------------------------------------------- tables


def tables_of(finding: Finding) -> list[Table]:
    """Return the tables of a family: means, layers, functionalities, p-values and differences
    between measures."""
    family, numbers = finding
    made = [_means(family, numbers)]
    made += [
        _matrix(family, numbers, "layer", quality)
        for quality in QUALITIES
        if len(_keys(numbers, "layer")) > 1
    ]
    if len(_keys(numbers, "functionality")) > 1:
        made.append(_matrix(family, numbers, "functionality", "spearman"))
    made += [
        _p_values(family, numbers),
        *(_differences(family, numbers, quality) for quality in QUALITIES),
    ]
    return [
        *made,
        *([_differences_by_layer(family, numbers)] if len(numbers["by_layer"]) > 1 else []),
    ]


def _keys(numbers: Mapping[str, Any], what: str) -> list[str]:
    return list(dict.fromkeys(c[what] for c in numbers["cells"]))


def _best_first(rows: Iterable[tuple[Entry, ...]], column: int) -> tuple[tuple[Entry, ...], ...]:
    """Sort rows by a column of numbers, the largest first, None last."""
    return tuple(sorted(rows, key=lambda r: (r[column] is None, -float(r[column] or 0), str(r[0]))))


def _means(family: Family, numbers: Mapping[str, Any]) -> Table:
    cells, means = numbers["cells"], numbers["means"]["*"]
    rows = [
        (
            name_of(spec, numbers["labels"]),
            *e["spearman"],
            *e["kendall"],
            _mean(cells, spec, "spearman_every"),
            _mean(cells, spec, "spearman_alone"),
            _share(cells, spec),
            e["rejected"],
            float(e["draws"]),
            _incomplete(e),
        )
        for spec, e in means.items()
    ]
    columns = (
        "measure", "ρ", "ρ low", "ρ high", "τ", "τ low", "τ high", "ρ, every reference",
        "ρ, no self pair",
        "naive p ≤ 0.05", "permuted p ≤ 0.05", "draws", "known pairs only",
    )  # fmt: skip
    count = (
        f"mean over {len(cells)} cells (layers times functionalities)"
        if len(cells) > 1
        else "one cell"
    )
    note = (
        f"{cells[0]['n']} representations, {count}. Spearman's ρ and Kendall's τ, with intervals: "
        "95 % of bootstrap samples of models, or of what they share, the reference chosen anew. "
        "Then ρ with every reference in turn, ρ without the pair of the reference with itself, "
        f"and the share of cells with a p-value of at most 0.05. {INDEPENDENT} "
        f"{_sureness(numbers)} A measure with failed comparisons has no mean and stands last; "
        "what its other pairs give is in the last column."
    )
    return Table(
        f"{family.title}: measures",
        f"All measures: {family.title}",
        columns,
        _best_first(rows, 1),
        note,
    )


def _sureness(numbers: Mapping[str, Any]) -> str:
    """Say of how many bootstrap samples intervals are, and how small a permuted p-value can be."""
    given, blocks = numbers["draws"], numbers["blocks"]
    text = (
        f"Draws: the bootstrap samples, of {given}, in which the measure has a value; intervals "
        "are of these."
    )
    if not given:
        text = (
            f"There are no intervals: samples would be drawn from {blocks} blocks, and "
            f"{FEWEST_BLOCKS} are needed."
        )
    smallest = numbers["smallest"]
    few = (
        "so that none is given"
        if smallest > LEVEL
        else "by the number of orders, or of permutations"
    )
    return (
        f"{text} The smallest permuted p-value that these models can give is {smallest:.2g}, {few}."
    )


def _incomplete(entry: Mapping[str, Any]) -> str | None:
    """What a measure with failed comparisons has on the pairs that are known, and how many these
    are."""
    known, (pairs, of) = entry["spearman_known"], entry["pairs"]
    return (
        None
        if known is None or entry["spearman"][0] is not None
        else f"{known:.2f} ({pairs} of {of})"
    )


def _mean(cells: Sequence[Mapping[str, Any]], spec: str, key: str) -> float | None:
    entries = [c["values"][spec] for c in cells]
    return mean_of_all(e[key] if e["whole"] else None for e in entries)


def _share(cells: Sequence[Mapping[str, Any]], spec: str) -> float | None:
    entries = [c["values"][spec] for c in cells]
    p = [e["naive"][0] if e["whole"] else None for e in entries]
    return mean_of_all(None if v is None else float(v <= LEVEL) for v in p)


def _matrix(family: Family, numbers: Mapping[str, Any], by: str, quality: str) -> Table:
    """Measures times layers, or times functionalities: the mean over the other."""
    keys = _keys(numbers, by)
    groups = [[c for c in numbers["cells"] if c[by] == key] for key in keys]
    rows = []
    for spec in numbers["means"]["*"]:
        values = [mean_of_all(value_of(c, spec, quality) for c in group) for group in groups]
        rows.append(
            (name_of(spec, numbers["labels"]), numbers["means"]["*"][spec][quality][0], *values)
        )
    title = f"{quality.capitalize()} by {by}: {family.title}"
    return Table(
        f"{family.title}: {by} {quality}", title, ("measure", "mean", *keys), _best_first(rows, 1)
    )


def _p_values(family: Family, numbers: Mapping[str, Any]) -> Table:
    if len(numbers["cells"]) > FEW:
        return _rejections(family, numbers)
    labels = numbers["labels"]
    rows = tuple(
        (
            c["layer"],
            c["functionality"],
            name_of(spec, labels),
            _marked(e, "spearman", c["n"]),
            _marked(e, "kendall", c["n"]),
            *e["naive"],
            e["permuted"],
        )
        for c in numbers["cells"]
        for spec, e in c["values"].items()
        if spec in PAPER.values()
    )
    columns = (
        "layer",
        "functionality",
        "measure",
        "ρ",
        "τ",
        "naive p (ρ)",
        "naive p (τ)",
        "permuted p (ρ)",
    )
    note = f"One-sided p-values for the measures of the paper. {INDEPENDENT} {_sureness(numbers)}"
    return Table(f"{family.title}: p-values", f"p-values: {family.title}", columns, rows, note)


def _rejections(family: Family, numbers: Mapping[str, Any]) -> Table:
    """Where cells are many: by layer, the share of functionalities with a small p-value."""
    rows = []
    for layer in _keys(numbers, "layer"):
        cells = [c for c in numbers["cells"] if c["layer"] == layer]
        for spec in (spec for spec in numbers["means"]["*"] if spec in PAPER.values()):
            p = [c["values"][spec]["permuted"] for c in cells]
            small = mean_of_all(None if v is None else float(v <= LEVEL) for v in p)
            means = [
                mean_of_all(value_of(c, spec, quality) for c in cells) for quality in QUALITIES
            ]
            rows.append(
                (layer, name_of(spec, numbers["labels"]), *means, _share(cells, spec), small)
            )
    columns = ("layer", "measure", "ρ", "τ", "naive p ≤ 0.05", "permuted p ≤ 0.05")
    note = (
        "By layer, mean correlations and the share of functionalities with one-sided p of at most "
        f"0.05. {INDEPENDENT} {_sureness(numbers)}"
    )
    return Table(
        f"{family.title}: p-values", f"p-values: {family.title}", columns, tuple(rows), note
    )


DIFFERENCES = (
    "first",
    "second",
    "first - second",
    "low",
    "high",
    "low, all copies",
    "high, all copies",
    "draws",
)


def _marked(entry: Mapping[str, Any], quality: str, of: int) -> Entry:
    """A correlation; with the number of pairs that it rests on where comparisons failed."""
    value = entry[quality][0]
    return (
        value
        if entry["whole"] or value is None
        else f"{value:.2f} ({entry['pairs']} of {of} pairs)"
    )


def _differences(family: Family, numbers: Mapping[str, Any], quality: str) -> Table:
    rows = tuple(
        (name_of(a, numbers["labels"]), name_of(b, numbers["labels"]), *rest)
        for a, b, *rest in numbers["contrasts"]["*"][quality]
    )
    note = (
        f"Differences of {quality.capitalize()}'s correlation, mean over cells, with 95 % "
        "bootstrap intervals: with one pair of the reference with itself, and with one for each "
        "time that it was drawn, as the paper's procedure gives it. Draws: the bootstrap samples "
        "that have a value. Measures with failed comparisons are not there."
    )
    title = f"Measures against each other, {quality.capitalize()}: {family.title}"
    return Table(f"{family.title}: differences {quality}", title, DIFFERENCES, rows, note)


def _differences_by_layer(family: Family, numbers: Mapping[str, Any]) -> Table:
    """The measures of the paper against each other in every layer, as in its Appendix E."""
    rows = tuple(
        (layer, name_of(a, numbers["labels"]), name_of(b, numbers["labels"]), *rest)
        for layer, found in numbers["by_layer"].items()
        for a, b, *rest in found
        if (a, b) in CONTRASTS
    )
    note = (
        "Differences of Kendall's correlation in every layer, mean over functionalities; columns "
        "as above."
    )
    title = f"Measures against each other by layer: {family.title}"
    return Table(
        f"{family.title}: differences by layer", title, ("layer", *DIFFERENCES), rows, note
    )


# ------------------------------------------------------------------------------------------ figures


def figures_of(finding: Finding) -> list[Chart | Bars]:
    """Return the bootstrap comparison of the measures of the paper, on the whole and by layer."""
    family, numbers = finding
    found = {(a, b): rest for a, b, *rest in numbers["contrasts"]["*"]["kendall"]}
    bars = tuple(
        Bar(_versus(a, b), *found[a, b][:3])
        for a, b in found
        if a in PAPER.values() and b in PAPER.values()
    )
    figures: list[Chart | Bars] = []
    if bars:
        note = (
            "95 % bootstrap intervals; an interval without 0 is a difference that these models "
            "establish."
        )
        title = f"Bootstrap comparison: {family.title}"
        figures.append(
            Bars(
                f"{family.title}: bootstrap",
                title,
                "difference of Kendall's correlation",
                bars,
                note,
                0.0,
            )
        )
    lines = _by_layer(numbers) if len(numbers["by_layer"]) > 2 else ()
    if lines:
        title = f"Bootstrap comparison by layer: {family.title}"
        note = (
            "95 % bootstrap intervals with one pair of the reference with itself. x: layers in "
            "the order of the "
        )
        note += "network, from 1: " + ", ".join(numbers["by_layer"])
        y = "difference of Kendall's correlation"
        figures.append(
            Chart(
                f"{family.title}: bootstrap by layer", title, "layer", y, lines, note, threshold=0.0
            )
        )
    return figures


def _by_layer(numbers: Mapping[str, Any]) -> tuple[Line, ...]:
    lines = []
    for a, b in CONTRASTS:
        points, intervals = [], []
        for position, rows in enumerate(numbers["by_layer"].values()):
            for value, low, high in (
                (r[2], r[3], r[4]) for r in rows if (r[0], r[1]) == (a, b) and r[3] is not None
            ):
                points.append((position + 1.0, value))
                intervals.append((low, high))
        if points:
            lines.append(Line(_versus(a, b), tuple(points), tuple(intervals)))
    return tuple(lines)
