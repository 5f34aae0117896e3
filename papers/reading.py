"""Make a file of papers/data from the tables of a paper as they were read from its text.

Run once: ``python -m papers.reading resi tables.json``, or ``ding`` or ``mka``. The same tables
always give the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .published import DATA

Line = tuple[object, ...]
WHERE = (
    "table", "title", "source", "test", "quality", "domain", "dataset", "architecture", "pooling",
    "label",
)  # fmt: skip
FACTS = ("value", "stars", "doubtful", "reason")
NO_ROW = "the table as it was read has no row for this measure"


def main(paper: str, source: str) -> None:
    """Write the file of a paper from its tables, in JSON."""
    lines, fields = PAPERS[paper]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    writer.writerows(lines(json.loads(Path(source).read_text())))
    content = gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)
    (DATA / f"{paper}_published.csv.gz").write_bytes(content)


# ------------------------------------------- ReSi: per table its title, version, columns and rows

DOMAINS = {"Graph": "graphs", "Lang": "language", "Vision": "vision"}
RESI_TESTS = {
    "7": "accuracy", "8": "output", "9": "labels", "10": "shortcut", "11": "augmentation",
    "12": "layers", "14": "output", "15a": "labels", "15b": "labels", "16a": "shortcut",
    "16b": "shortcut", "18a": "layers", "18b": "layers", "19": "accuracy", "20": "output",
    "21": "labels", "22": "shortcut", "23": "augmentation", "24": "layers", "25": "accuracy",
    "26": "labels", "27": "shortcut", "28": "augmentation", "29": "layers", "30": "runtime",
}  # fmt: skip
# Columns of tables that hold several tests begin with the test.
PREFIXES = {
    "Acc_Spearman": ("accuracy", "spearman_accuracy"),
    "AccCorr_Spearman": ("accuracy", "spearman_accuracy"),
    "JSD_Spearman": ("output", "spearman_jsd"),
    "JSDCorr_Spearman": ("output", "spearman_jsd"),
    "Disagreement_Spearman": ("output", "spearman_disagreement"),
    "LabelRandomization_AUPRC": ("labels", "auprc"),
    "Shortcut_AUPRC": ("shortcut", "auprc"),
    "Augmentation_AUPRC": ("augmentation", "auprc"),
    "LayerMonotonicity_Spearman": ("layers", "spearman"),
}
# What Table 3 shows of each domain: it names its data sets and models in the caption, not in the
# columns.
EXAMPLES = {
    ("3_submission", "Lang"): ("MNLI", "BERT"),
    ("3_final", "Lang"): ("SST2", "BERT"),
    **{(table, "Graph"): ("Flickr", "SAGE") for table in ("3_submission", "3_final")},
    **{(table, "Vision"): ("IN100", "RNet18") for table in ("3_submission", "3_final")},
}
NAN = "the paper prints nan"
NO_VALUE = "the row as it was read is too short"
SURPLUS = "the row as it was read has more values than the table has columns"
SHORT = "the row as it was read has fewer values than the table has columns"
CUT = "the table as it was read breaks off in this row"
DISAGREES = "Table 3 and the table of this test in the same version print different values"


def of_resi(content: dict[str, Any]) -> Iterator[Line]:
    """One line per table, column and measure of the paper, whether the value could be read or
    not."""
    tables, disagreeing = content["tables"], disagreements(content)
    for name in sorted(tables, key=lambda name: (int(name.strip("ab").split("_")[0]), name)):
        table = tables[name]
        title = table["title"].partition(";")[0].replace(" (caption: 1+2)", "")
        for column in table["columns"]:
            where = name, title, table["source"].partition(" (")[0], *resi_facets(name, column)
            for measure in tables["3_final"]["rows"]:
                conflict = (name, column, measure) in disagreeing
                yield *where, measure, *resi_facts(table, column, measure, conflict)


def resi_facets(table: str, column: str) -> Line:
    """Test, quality, domain, data set, architecture and pooling of a column; empty where the table
    does not say."""
    prefix, _, model = column.partition("|")
    test, quality = PREFIXES.get(prefix) or (RESI_TESTS[table], prefix.lower())
    if (test, quality) == ("accuracy", "spearman"):
        quality = "spearman_accuracy"
    first, _, second = model.partition("/")
    if table.startswith("3_"):
        domain, (dataset, architecture) = DOMAINS[model], EXAMPLES[table, model]
    elif test == "runtime":
        domain, dataset, architecture = DOMAINS[first], "", second.replace("GraphSAGE", "SAGE")
    elif second:
        domain = "graphs" if int(table.strip("ab")) < 13 else "language"
        dataset, architecture = first, second
    else:
        domain, dataset, architecture = "vision", "IN100" if int(table) < 25 else "CIFAR-100", model
    return test, quality, domain, dataset, architecture, pooling(table, domain, architecture)


def pooling(table: str, domain: str, architecture: str) -> str:
    """How the samples of a column came from tokens or nodes."""
    if domain == "graphs":
        return "node"
    if domain == "vision" or table == "30":
        return ""
    if table in ("14", "15b", "16b", "18b"):
        return "mean"
    return "last" if architecture == "SmolLM2" else "cls"  # a decoder has no CLS token


def resi_facts(table: dict[str, Any], column: str, measure: str, conflict: bool) -> Line:
    """Value, stars, 1 if the value is doubtful, and the reason for a missing or doubtful one."""
    row = table["rows"].get(measure)
    if row is None:
        return "", "", 0, NO_ROW
    cell = row["values"].get(column)
    if cell is None:
        return "", "", 0, NO_VALUE
    doubt = row_doubt(table, row) or (DISAGREES if conflict else "")
    if cell["v"] is None:
        return "", "", int(bool(doubt)), doubt or NAN
    return cell["v"], cell["sig"], int(bool(doubt)), doubt


def row_doubt(table: dict[str, Any], row: dict[str, Any]) -> str:
    """Why the values of a row may be in the wrong columns, or nothing."""
    surplus = sum(other["status"] == "extra_tokens" for other in table["rows"].values())
    if row["status"] == "ok":
        return CUT if surplus > len(table["rows"]) / 2 else ""
    return SURPLUS if row["status"] == "extra_tokens" else SHORT


def disagreements(content: dict[str, Any]) -> set[Line]:
    """Table, column and measure of cells that two tables of the same version print differently.

    Cells in which only the Table 3 of the later version differs are results that changed between
    the versions.
    """
    cells = content["cross_check_with_table3"]["disagreeing_cells"]
    both = [cell for cell in cells if cell["table3"] == "3_submission"]
    here = {("3_submission", cell["column"], cell["measure"]) for cell in both}
    return here | {(cell["other_table"], cell["other_column"], cell["measure"]) for cell in both}


# ---------------------- Ding et al. 2021: rows of Table 1; of the others values and p-values by row

DING_MEASURES = {
    "Procrustes": "procrustes",
    "CKA": "cka",
    "PWCCA": "pwcca[directions=all]",
    "mean_CCA": "mean_cca[divisor=width]",
    "mean_sq_CCA": "mean_cca[aggregation=mean_squared,divisor=width]",
}
BENCHMARKS = {1: "layers", 2: "deletion", 3: "finetuning", 4: "pretraining"}
PLACES = {  # by table: benchmark, models
    **dict.fromkeys(("3", "4", "5", "6"), (1, "BERT-base")),
    **dict.fromkeys(("7", "8"), (2, "BERT-base")),
    **dict.fromkeys(("9", "10"), (3, "BERT-base")),
    **dict.fromkeys(("11", "12", "13", "14"), (4, "BERT-medium")),
    **dict.fromkeys(("16", "17"), (4, "ResNet-14")),  # corruptions, the mean over layers
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


def of_ding(tables: dict[str, Any]) -> Iterator[Line]:
    """One line per cell of the tables."""
    yield from summary(tables["table1"])
    for number, (benchmark, model) in PLACES.items():
        yield from by_layer(number, BENCHMARKS[benchmark], model, tables[f"table{number}"])


def summary(table: dict[str, Any]) -> Iterator[Line]:
    """Lines of Table 1: the benchmarks, and the averages of both domains."""
    for domain in ("language", "vision"):
        average = {"benchmark": None, "functionality": "average", **table[f"{domain}_average"]}
        for row in (*table[domain], average):
            model = {None: "", 4: "BERT-medium"}.get(row["benchmark"], "BERT-base")
            model = "ResNet-14" if domain == "vision" and model else model
            test, dataset = BENCHMARKS.get(row["benchmark"], "average"), row["functionality"]
            for label in (label for label in DING_MEASURES if label in row):
                for quality, value in zip(("spearman", "kendall"), row[label]):
                    key = dataset, label, quality
                    reason = CORRECT.get(key, "") if domain == "vision" else ""
                    yield (
                        *("1", "Summary of results", "arXiv 2108.01661", test, quality, domain),
                        *(dataset, model, "", label, DING_MEASURES[label]),
                        *(value, "", int(bool(reason)), reason),
                    )


def by_layer(number: str, test: str, model: str, table: dict[str, Any]) -> Iterator[Line]:
    """Lines of a table by layer, or by corruption."""
    of_corruptions = "functionality" not in table
    title = "CIFAR-10C, mean over layers" if of_corruptions else table["functionality"]
    domain = "vision" if of_corruptions else "language"
    for name, row in table["rows"].items():
        dataset = name if of_corruptions else title
        architecture = model if of_corruptions else f"{model} layer {name}"
        for label, cell in row.items():
            value, p = (cell, None) if of_corruptions else (cell["value"], cell["p"])
            flipped = label.startswith("mean_") and p is not None and (p > 0.5) == (value > 0)
            yield (
                *(number, title, "arXiv 2108.01661", test, table["statistic"], domain),
                *(dataset, architecture, "", label, DING_MEASURES[label]),
                *(value, "" if p is None else p, 0, FLIPPED if flipped else ""),
            )


# ------------------------------- MKA: per table its title, columns and one row per measure

MKA_TESTS = {
    "1": "accuracy", "2": "output", "3": "labels", "4": "shortcut", "5": "augmentation",
    "6": "layers",
}  # fmt: skip
QUALITIES = {
    "JSD": "spearman_jsd", "Disagreement": "spearman_disagreement", "AUPRC": "auprc",
    "Conformity": "conformity", "Spearman": "spearman",
}  # fmt: skip
MKA_MEASURES = {
    "CKA": "cka[kernel=rbf]",
    "CKA (delta=0.45)": "cka[bandwidth=0.45,kernel=rbf]",
    "CKA (delta=0.2)": "cka[bandwidth=0.2,kernel=rbf]",
    "CKA (linear)": "cka",
    "kCKA (k=100)": "kcka[variant=code]",
    "MKA (k=15)": "mka[k=15]",
    "MKA (k=50)": "mka[k=50]",
    "MKA (k=100)": "mka",
    "MKA (k=200)": "mka[k=200]",
    "SVCCA": "svcca",
    "RTD": "rtd",
    "IMD": "imd",
    "AlignedCosineSimilarity": "aligned_cosine",
    "ConcentricityDifference": "concentricity_difference",
    "DistanceCorrelation": "distance_correlation",
    "EigenspaceOverlapScore": "eigenspace_overlap",
    "Gulp": "gulp",
    "HardCorrelationMatch": "hard_correlation_match",
    "JaccardSimilarity": "jaccard",
    "LinearRegression": "linear_regression",
    "MagnitudeDifference": "magnitude_difference",
    "OrthogonalAngularShapeMetricCentered": "angular_shape",
    "OrthogonalProcrustesCenteredAndNormalized": "procrustes",
    "PWCCA": "pwcca",
    "PermutationProcrustes": "permutation_procrustes",
    "ProcrustesSizeAndShapeDistance": "procrustes_size_shape",
    "RSA": "rsa",
    "RSMNormDifference": "rsm_norm_difference",
    "RankSimilarity": "rank_similarity",
    "SecondOrderCosineSimilarity": "second_order_cosine",
    "SoftCorrelationMatch": "soft_correlation_match",
    "UniformityDifference": "uniformity_difference",
}
ALIASES = {"MKA (k=100)": "UMAP (k=100)"}  # what Table 16 calls it
DASH = "the paper prints a dash"
MISPLACED = (
    "the row has a dash under one quality of a model and none under the other, so its values may "
    "be displaced"
)


def of_mka(tables: dict[str, Any]) -> Iterator[Line]:
    """One line per table, column and measure, whether there is a value or not."""
    for name, table in tables.items():
        if name == "about":
            continue
        facets = [mka_facets(table["title"], column) for column in table["columns"]]
        for position, where in enumerate(facets):
            for label, spec in MKA_MEASURES.items():
                facts = mka_facts(table["rows"], label, position, facets)
                yield name, table["title"], "arXiv 2510.22953", *where, label, spec, *facts


def mka_facts(rows: dict[str, Any], label: str, position: int, facets: list[Line]) -> Line:
    """Value, no stars, 1 if the value is doubtful, and the reason."""
    alias = ALIASES.get(label, "")
    row = rows.get(label, rows.get(alias))
    if row is None:
        return "", "", 0, NO_ROW
    value, doubtful = row[position], is_displaced(row, facets)
    renamed = f'the paper calls it "{alias}"' if label not in rows else ""
    reason = MISPLACED if doubtful else DASH if value is None else renamed
    return "" if value is None else value, "", int(doubtful), reason


def mka_facets(title: str, column: str) -> Line:
    """Test, quality, domain, data set, architecture and pooling of a column."""
    test, parts = MKA_TESTS[title.split("Test ")[1][0]], column.split("/")
    quality = next((QUALITIES[p] for p in parts if p in QUALITIES), "spearman_accuracy")
    rest = [p for p in parts if p not in QUALITIES]
    if "MNLI" in title:
        pooled, architecture = rest
        return test, quality, "language", "MNLI", architecture, pooled.lower()
    if "graph" in title:
        return test, quality, "graphs", *rest, "node"
    return test, quality, "vision", "IN100", rest[-1].replace(" ", "_"), ""


def is_displaced(row: list[float | None], facets: list[Line]) -> bool:
    """Return whether a model has a value under one quality and none under the other: both come from
    the same numbers."""
    missing: dict[Line, set[bool]] = {}
    for value, facet in zip(row, facets):
        missing.setdefault(facet[2:], set()).add(value is None)
    return any(len(states) > 1 for states in missing.values())


PAPERS = {
    "resi": (of_resi, (*WHERE, *FACTS)),
    "ding": (of_ding, (*WHERE, "measure", *FACTS)),
    "mka": (of_mka, (*WHERE, "measure", *FACTS)),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
