"""Tables of the paper next to the corresponding numbers of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from papers.published import PublishedValue, published
from resemblance.bench.sensitivity.findings import (
    CORRELATION_NAMES,
    DING_LABELS,
    PAPER_CKA,
    PAPER_PROCRUSTES,
    PAPER_PWCCA,
    CorrelationName,
    Findings,
    ding_label,
)
from resemblance.bench.sensitivity.page import BENCHMARK_NUMBERS, mean_or_none
from resemblance.sections.sections import Table, TableEntry

from .claims import SHORT, ByBenchmark

BY_LAYER: Mapping[CorrelationName, tuple[str, ...]] = {
    "spearman": ("3", "5", "7", "9", "11", "13"),
    "kendall": ("4", "6", "8", "10", "12", "14"),
}
CORRUPTIONS: Mapping[CorrelationName, str] = {"spearman": "16", "kendall": "17"}
ALIKE: Mapping[str, str] = {  # our corruption, by the paper's name
    "gaussian_noise": "gaussian_noise", "shot_noise": "shot_noise",
    "impulse_noise": "impulse_noise", "gaussian_blur": "blur", "brightness": "brightness",
    "contrast": "contrast", "elastic_transform": "elastic", "pixelate": "pixelate",
    "jpeg_compression": "compression",
}  # fmt: skip
AUDIT = (
    "Of the paper's Table 1, the row of CIFAR-10C has Kendall's and Spearman's correlations "
    "across columns (by its Tables 16 and 17: Procrustes 0.060 and 0.041, CKA 0.057 and 0.038); "
    "it is corrected here. Averages over vision inherit the error: correct are Procrustes 0.303 "
    "and 0.230, CKA 0.312 and 0.217. For mean CCA the sign of correlations was turned for print "
    "and that of p-values was not. The p-values of PC deletion belong to 182 pairs, where the "
    "text has 140."
)


def published_tables(by_benchmark: ByBenchmark) -> list[Table]:
    """Return the paper's tables for which the run has numbers, next to our numbers."""
    language = _of_domain(by_benchmark, "language")
    vision = _of_domain({"pretraining": by_benchmark.get("pretraining", ())}, "vision")
    tables = [_table_1(by_benchmark, quality) for quality in CORRELATION_NAMES]
    for quality in CORRELATION_NAMES:
        if language:
            tables.append(by_layer(language, quality))
        if vision:
            tables.append(by_corruption(vision["pretraining"], quality))
    return tables


def _of_domain(by_benchmark: ByBenchmark, domain: str) -> dict[str, Findings]:
    """Return the findings in one model family of a domain, by benchmark."""
    families = ((name, family) for name, members in by_benchmark.items() for family in members)
    return {name: family for name, family in families if family.family.domain == domain}


def leaders(by_benchmark: ByBenchmark) -> Table:
    """Return our correlations of the three measures of the paper, and the best of all measures."""
    columns = {
        f"{BENCHMARK_NUMBERS[name]} {findings.family.domain}": findings
        for name, families in by_benchmark.items()
        for findings in families
    }
    specs = list(dict.fromkeys(s for f in columns.values() for s in f.correlations.measures))
    values = {
        where: {spec: findings.correlations.mean(spec) for spec in specs}
        for where, findings in columns.items()
    }
    values["mean"] = {spec: mean_or_none(of[spec] for of in values.values()) for spec in specs}
    labels = {spec: label for f in columns.values() for spec, label in f.labels.items()}
    heads = {**SHORT, PAPER_PWCCA: "PWCCA, all directions"}
    records = [
        {
            "benchmark": where,
            **{head: column.get(spec) for spec, head in heads.items()},
            f"best of {len(specs)}": _best(column, labels),
        }
        for where, column in values.items()
    ]
    return Table.of(records, "leaders", "Spearman's ρ, mean over layers and functionalities")


def _best(values: Mapping[str, float | None], labels: Mapping[str, str]) -> str | None:
    """Return the label and value of the measure with the largest value, as text, or None."""
    finite = {spec: value for spec, value in values.items() if value is not None}
    if not finite:
        return None
    spec = max(finite, key=finite.__getitem__)
    return f"{ding_label(spec, labels)} {finite[spec]:.2f}"


# ------------------------------------------------------------------------------ tables of the paper

Record = dict[str, TableEntry]
# Maps a printed cell to the title of its row, the source of our value, our findings, and the
# indices of our cells in the findings.
Row = Callable[[PublishedValue], tuple[Record, Record, Findings | None, Sequence[int] | None]]


def _records(
    cells: Iterable[PublishedValue], names: Mapping[str, str], quality: CorrelationName, row: Row
) -> list[Record]:
    """Return a record for every printed row: the title of the row, the paper's values, and our
    values.

    Where the paper prints a wrong value, the record has the right value.
    """
    printed = dict[tuple[str, ...], tuple[PublishedValue, dict[str, float | None]]]()
    for cell in cells:
        value = float(cell.reason.rpartition(" ")[2]) if cell.doubtful else cell.value
        key = (cell.test, cell.domain, cell.dataset, cell.architecture)
        printed.setdefault(key, (cell, {}))[1][cell.measure] = value
    records = []
    for first, theirs in printed.values():
        what, where, findings, of = row(first)
        records.append(
            {
                **what,
                **{f"{name}, paper": theirs.get(spec) for spec, name in names.items()},
                **where,
                **{
                    f"{name}, ours": findings and findings.correlations.mean(spec, quality, of)
                    for spec, name in names.items()
                },
            }
        )
    return records


def _table_1(by_benchmark: ByBenchmark, quality: CorrelationName) -> Table:
    """Return the rows of the paper's Table 1 with our correlations for the same benchmark and
    domain."""

    def row(cell: PublishedValue) -> tuple[Record, Record, Findings | None, None]:
        what = {
            "the paper's row": f"{BENCHMARK_NUMBERS[cell.test]} {cell.dataset}",
            "domain": cell.domain,
        }
        return {**what}, {}, _of_domain(by_benchmark, cell.domain).get(cell.test), None

    cells = [c for c in published("1", paper="ding") if c.quality == quality]
    note = (
        "Ours: the same benchmark on our models of that domain, with other data and "
        "functionalities."
    )
    note += f" {AUDIT}" if quality == CORRELATION_NAMES[0] else ""
    return Table.of(
        _records((c for c in cells if c.test != "average"), SHORT, quality, row),
        f"paper {quality}",
        f"The paper's Table 1 and ours: {quality.capitalize()}",
        note,
    )


def by_layer(language: Mapping[str, Findings], quality: CorrelationName) -> Table:
    """Return the paper's tables by layer with the corresponding layers of our language models."""

    def row(cell: PublishedValue) -> tuple[Record, Record, Findings, Sequence[int]]:
        findings, what = language[cell.test], (cell.dataset, cell.architecture)
        layer = _corresponding_layer(findings, cell.test, cell.architecture)
        of = findings.correlations.cells(layer=layer) if layer else []
        return dict(zip(("functionality", "model"), what)), {"our layer": layer}, findings, of

    cells = [cell for table in BY_LAYER[quality] for cell in published(table, paper="ding")]
    return Table.of(
        _records((cell for cell in cells if cell.test in language), DING_LABELS, quality, row),
        f"paper layers {quality}",
        f"The paper's layers and ours: {quality.capitalize()}",
        "The paper's Tables 3 to 14. Ours: the language models, mean over functionalities, in the "
        "layer at the same share of the depth; for deleted components counted from the last "
        "layer, as we have fewer; for probes all.",
    )


def _corresponding_layer(findings: Findings, test: str, architecture: str) -> str | None:
    """Return our layer that corresponds to the paper's layer, or None without a corresponding
    layer."""
    layers = list(dict.fromkeys(layer for layer, _ in findings.correlations.names))
    number = architecture.rpartition(" layer ")[2]
    if test == "layers" or not number.isdigit():
        return "all" if test == "layers" else None
    depth = 12 if architecture.startswith("BERT-base") else 8
    if test == "deletion":
        back = depth - int(number)
        return layers[-1 - back] if back < len(layers) else None
    return layers[max(1, round(int(number) / depth * len(layers))) - 1]


def by_corruption(vision: Findings, quality: CorrelationName) -> Table:
    """Return the paper's table by corruption with the same corruptions of our vision models."""

    def row(cell: PublishedValue) -> tuple[Record, Record, Findings, Sequence[int] | None]:
        name = ALIKE.get(cell.dataset)
        of = vision.correlations.cells(functionality=name) if name else []
        is_average = cell.dataset == "Average"
        where: Record = {"our corruption": "mean of all" if is_average else name}
        return {"corruption": cell.dataset}, where, vision, None if is_average else of

    two = {spec: DING_LABELS[spec] for spec in (PAPER_PROCRUSTES, PAPER_CKA)}
    return Table.of(
        _records(published(CORRUPTIONS[quality], paper="ding"), two, quality, row),
        f"paper corruptions {quality}",
        f"The paper's corruptions and ours: {quality.capitalize()}",
        f"The paper's Table {CORRUPTIONS[quality]}. Ours: small networks on digits of 8 x 8 "
        "pixels; colour and weather have no counterpart there.",
    )
