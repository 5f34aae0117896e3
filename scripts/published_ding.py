"""The tables of Ding et al. 2021: the rows of Table 1 and, for Tables 3 to 14, 16 and 17, values
and p-values by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SOURCE = "arXiv 2108.01661"
MEASURES = {
    "Procrustes": "procrustes",
    "CKA": "cka",
    "PWCCA": "pwcca[directions=all]",
    "mean_CCA": "mean_cca[divisor=width]",
    "mean_sq_CCA": "mean_cca[aggregation=mean_squared,divisor=width]",
}
TESTS = {1: "layers", 2: "deletion", 3: "finetuning", 4: "pretraining"}
PLACES = {  # by table: benchmark, models, what the rows are
    **dict.fromkeys(("3", "4", "5", "6"), (1, "BERT-base")),
    **dict.fromkeys(("7", "8"), (2, "BERT-base")),
    **dict.fromkeys(("9", "10"), (3, "BERT-base")),
    **dict.fromkeys(("11", "12", "13", "14"), (4, "BERT-medium")),
}
TRANSPOSED = (
    "the row is printed with Kendall's and Spearman's correlations across columns: by "
    "Tables 16 and 17 it is {}"
)
INHERITED = "the average inherits the transposed row CIFAR-10C: by Tables 16 and 17 it is {}"
CORRECT = {  # by functionality, measure and quality
    ("OOD: CIFAR-10C", "Procrustes", "kendall"): TRANSPOSED.format("0.041"),
    ("OOD: CIFAR-10C", "CKA", "spearman"): TRANSPOSED.format("0.057"),
    ("average", "Procrustes", "kendall"): INHERITED.format("0.230"),
    ("average", "CKA", "spearman"): INHERITED.format("0.312"),
}
FLIPPED = "the sign was turned for print but the p-value was not: it is that of the opposite side"
QUALITIES = ("spearman", "kendall")


def lines(tables: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """One line per cell of the tables."""
    yield from first(tables["table1"])
    for number in (*PLACES, "16", "17"):
        yield from later(number, tables[f"table{number}"])


def first(table: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """Lines of Table 1: the benchmarks, and the averages of both domains."""
    for domain in ("language", "vision"):
        rows = [
            *table[domain],
            {"benchmark": None, "functionality": "average", **table[f"{domain}_average"]},
        ]
        for row in rows:
            model = {None: "", 4: "BERT-medium"}.get(row["benchmark"], "BERT-base")
            model = "ResNet-14" if domain == "vision" and model else model
            test, dataset = TESTS.get(row["benchmark"], "average"), row["functionality"]
            for label in (label for label in MEASURES if label in row):
                for quality, value in zip(QUALITIES, row[label]):
                    reason = (
                        CORRECT.get((dataset, label, quality), "") if domain == "vision" else ""
                    )
                    about = ("1", "Summary of results", SOURCE, test, quality, domain, dataset)
                    facts = (MEASURES[label], value, "", int(bool(reason)), reason)
                    yield *about, model, "", label, *facts


def later(number: str, table: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """Lines of a table by layer, or by corruption."""
    corruptions = number in ("16", "17")
    benchmark, model = (4, "ResNet-14") if corruptions else PLACES[number]
    title = "CIFAR-10C, mean over layers" if corruptions else table["functionality"]
    for name, row in table["rows"].items():
        dataset, layer = (name, "") if corruptions else (table["functionality"], name)
        for label, cell in row.items():
            value, p = (cell, None) if corruptions else (cell["value"], cell["p"])
            flipped = label.startswith("mean_") and p is not None and (p > 0.5) == (value > 0)
            about = (
                number,
                title,
                SOURCE,
                TESTS[benchmark],
                table["statistic"],
                "vision" if corruptions else "language",
            )
            where = (dataset, f"{model} layer {layer}" if layer else model, "")
            yield (
                *about,
                *where,
                label,
                MEASURES[label],
                value,
                "" if p is None else p,
                0,
                FLIPPED if flipped else "",
            )
