"""The tables of the paper next to the same numbers of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from papers.published import PublishedValue, published
from resemblance.results.sections import Entry, Table
from resemblance.suites.sensitivity.findings import (
    CKA,
    NAMES,
    PAPER,
    PROCRUSTES,
    PWCCA,
    QUALITIES,
    Findings,
    Quality,
    name_of,
)
from resemblance.suites.sensitivity.page import NUMBERS, mean_or_none

ByBenchmark = Mapping[str, Sequence[Findings]]
BY_LAYER: Mapping[Quality, tuple[str, ...]] = {
    "spearman": ("3", "5", "7", "9", "11", "13"),
    "kendall": ("4", "6", "8", "10", "12", "14"),
}
CORRUPTIONS: Mapping[Quality, str] = {"spearman": "16", "kendall": "17"}
ALIKE: Mapping[str, str] = {  # our corruption by the paper's
    "gaussian_noise": "gaussian_noise", "shot_noise": "shot_noise",
    "impulse_noise": "impulse_noise", "gaussian_blur": "blur", "brightness": "brightness",
    "contrast": "contrast", "elastic_transform": "elastic", "pixelate": "pixelate",
    "jpeg_compression": "compression",
}  # fmt: skip
THREE: Mapping[str, str] = {"Procrustes": PROCRUSTES, "CKA": CKA, "PWCCA": PWCCA}
AUDIT = (
    "Of the paper's Table 1, the row of CIFAR-10C has Kendall's and Spearman's correlations "
    "across columns (by its Tables 16 and 17: Procrustes 0.060 and 0.041, CKA 0.057 and 0.038); "
    "it is corrected here. Averages over vision inherit the error: correct are Procrustes 0.303 "
    "and 0.230, CKA 0.312 and 0.217. For mean CCA the sign of correlations was turned for print "
    "and that of p-values was not. The p-values of PC deletion belong to 182 pairs, where the "
    "text has 140."
)


def published_tables(by_benchmark: ByBenchmark) -> list[Table]:
    """Return the tables of the paper that the run has numbers for, each next to ours."""
    language = _of_domain(by_benchmark, "language")
    vision = _of_domain({"pretraining": by_benchmark.get("pretraining", ())}, "vision")
    tables = [_table_1(by_benchmark, quality) for quality in QUALITIES]
    for quality in QUALITIES:
        if language:
            tables.append(by_layer(language, quality))
        if vision:
            tables.append(by_corruption(vision["pretraining"], quality))
    return tables


def _of_domain(by_benchmark: ByBenchmark, domain: str) -> dict[str, Findings]:
    """Return the findings in one family of a domain, by benchmark."""
    families = ((name, family) for name, members in by_benchmark.items() for family in members)
    return {name: family for name, family in families if family.family.domain == domain}


def leaders(by_benchmark: ByBenchmark) -> Table:
    """Return our correlations of the three measures of the paper, and the best of all measures."""
    columns = {
        f"{NUMBERS[name]} {findings.family.domain}": findings
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
    heads = ("Procrustes", "CKA", "PWCCA, all directions")
    records = [
        {
            "benchmark": where,
            **dict(zip(heads, (column.get(spec) for spec in THREE.values()))),
            f"best of {len(specs)}": _best(column, labels),
        }
        for where, column in values.items()
    ]
    return Table.of(records, "leaders", "Spearman's ρ, mean over layers and functionalities")


def _best(values: Mapping[str, float | None], labels: Mapping[str, str]) -> str | None:
    """Return the measure with the largest value, and the value."""
    finite = {spec: value for spec, value in values.items() if value is not None}
    if not finite:
        return None
    spec = max(finite, key=finite.__getitem__)
    return f"{name_of(spec, labels)} {finite[spec]:.2f}"


# ------------------------------------------------------------------------------------------ Table 1


def _table_1(by_benchmark: ByBenchmark, quality: Quality) -> Table:
    """The rows of the paper's Table 1, and our correlation for the same benchmark and domain."""
    ours = {
        (name, findings.family.domain): [
            findings.correlations.mean(s, quality) for s in THREE.values()
        ]
        for name, families in by_benchmark.items()
        for findings in families
    }
    printed = defaultdict[tuple[str, str, str], dict[str, float | None]](dict)
    for cell in published("1", paper="ding"):
        if cell.quality == quality and cell.test != "average":
            printed[cell.test, cell.domain, cell.dataset][cell.label] = _corrected(cell)
    rows = tuple(
        (
            f"{NUMBERS[test]} {functionality}",
            domain,
            *(values.get(name) for name in THREE),
            *ours.get((test, domain), [None] * len(THREE)),
        )
        for (test, domain, functionality), values in printed.items()
    )
    columns = ("the paper's row", "domain", *_heads(THREE, "paper"), *_heads(THREE, "ours"))
    note = (
        "Ours: the same benchmark on our models of that domain, with other data and "
        "functionalities."
    )
    note += f" {AUDIT}" if quality == QUALITIES[0] else ""
    title = f"The paper's Table 1 and ours: {quality.capitalize()}"
    return Table(f"paper {quality}", title, columns, rows, note)


def _corrected(cell: PublishedValue) -> float | None:
    return float(cell.reason.rpartition(" ")[2]) if cell.doubtful else cell.value


def _heads(names: Iterable[str], whose: str) -> list[str]:
    return [f"{name}, {whose}" for name in names]


# ----------------------------------------------------------------------------------- Tables 3 to 17


def by_layer(language: Mapping[str, Findings], quality: Quality) -> Table:
    """Return the paper's tables by layer with the corresponding layer of our language models."""
    printed = defaultdict[tuple[str, str, str], dict[str, float | None]](dict)
    for cell in (cell for table in BY_LAYER[quality] for cell in published(table, paper="ding")):
        if cell.test in language:
            printed[cell.test, cell.dataset, cell.architecture][cell.measure] = cell.value
    rows: list[tuple[Entry, ...]] = []
    for (test, functionality, architecture), cells in printed.items():
        layer = _corresponding_layer(language[test], test, architecture)
        measured = (_ours(language[test], layer, spec, quality) for spec in PAPER.values())
        values = (cells.get(spec) for spec in PAPER.values())
        rows.append((functionality, architecture, *values, layer, *measured))
    names = [NAMES[spec] for spec in PAPER.values()]
    theirs, ours = _heads(names, "paper"), _heads(names, "ours")
    columns = ("functionality", "model", *theirs, "our layer", *ours)
    note = (
        "The paper's Tables 3 to 14. Ours: the language models, mean over functionalities, in the "
        "layer at the same share of the depth; for deleted components counted from the last "
        "layer, as we have fewer; for probes all."
    )
    title = f"The paper's layers and ours: {quality.capitalize()}"
    return Table(f"paper layers {quality}", title, columns, tuple(rows), note)


def _corresponding_layer(findings: Findings, test: str, architecture: str) -> str | None:
    """Return our layer that corresponds to one of the paper's; None where there is none."""
    layers = list(dict.fromkeys(layer for layer, _ in findings.correlations.names))
    number = architecture.rpartition(" layer ")[2]
    if test == "layers" or not number.isdigit():
        return "all" if test == "layers" else None
    depth = 12 if architecture.startswith("BERT-base") else 8
    if test == "deletion":
        back = depth - int(number)
        return layers[-1 - back] if back < len(layers) else None
    return layers[max(1, round(int(number) / depth * len(layers))) - 1]


def _ours(findings: Findings, layer: str | None, spec: str, quality: Quality) -> float | None:
    cells = findings.correlations.cells(layer=layer) if layer else []
    return findings.correlations.mean(spec, quality, cells)


def by_corruption(vision: Findings, quality: Quality) -> Table:
    """Return the paper's table by corruption with the same corruption of our vision models."""
    printed = defaultdict[str, dict[str, float | None]](dict)
    for cell in published(CORRUPTIONS[quality], paper="ding"):
        printed[cell.dataset][cell.measure] = cell.value
    rows, c = list[tuple[Entry, ...]](), vision.correlations
    for corruption, values in printed.items():
        name = ALIKE.get(corruption)
        cells = None if corruption == "Average" else c.cells(functionality=name) if name else []
        theirs = (values.get(spec) for spec in (PROCRUSTES, CKA))
        ours = (c.mean(spec, quality, cells) for spec in (PROCRUSTES, CKA))
        our_name = "mean of all" if corruption == "Average" else name
        rows.append((corruption, *theirs, our_name, *ours))
    columns = (
        "corruption", "Procrustes, paper", "CKA, paper", "our corruption", "Procrustes, ours",
        "CKA, ours",
    )  # fmt: skip
    note = (
        f"The paper's Table {CORRUPTIONS[quality]}. Ours: small networks on digits of 8 x 8 "
        "pixels; colour and weather have no counterpart there."
    )
    title = f"The paper's corruptions and ours: {quality.capitalize()}"
    return Table(f"paper corruptions {quality}", title, columns, tuple(rows), note)
