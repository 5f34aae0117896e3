"""The tables of the ReSi paper: per table its title, version, columns and one row per measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DOMAINS = {"Graph": "graphs", "Lang": "language", "Vision": "vision"}
TESTS = {
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
NO_ROW = "the table as it was read has no row for this measure"
NO_VALUE = "the row as it was read is too short"
SURPLUS = "the row as it was read has more values than the table has columns"
SHORT = "the row as it was read has fewer values than the table has columns"
CUT = "the table as it was read breaks off in this row"
DISAGREES = "Table 3 and the table of this test in the same version print different values"


def lines(content: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """One line per table, column and measure of the paper, whether the value could be read or
    not."""
    tables, disagreeing = content["tables"], disagreements(content)
    measures = list(tables["3_final"]["rows"])
    for name in sorted(tables, key=lambda name: (int(name.strip("ab").split("_")[0]), name)):
        table = tables[name]
        about = (name, title(table), table["source"].partition(" (")[0])
        for column in table["columns"]:
            for measure in measures:
                conflict = (name, column, measure) in disagreeing
                yield (
                    *about,
                    *facets(name, column),
                    measure,
                    *facts(table, column, measure, conflict),
                )


def title(table: dict[str, Any]) -> str:
    """The title without remarks on how the table was read."""
    return table["title"].partition(";")[0].replace(" (caption: 1+2)", "")


def facets(table: str, column: str) -> tuple[str, ...]:
    """Test, quality, domain, data set, architecture and pooling of a column; empty where the table
    does not say."""
    prefix, _, model = column.partition("|")
    test, quality = PREFIXES.get(prefix) or (TESTS[table], prefix.lower())
    if (test, quality) == ("accuracy", "spearman"):
        quality = "spearman_accuracy"
    first, _, second = model.partition("/")
    if table.startswith("3_"):
        domain, (dataset, architecture) = DOMAINS[model], EXAMPLES[table, model]
    elif test == "runtime":
        domain, dataset, architecture = DOMAINS[first], "", second.replace("GraphSAGE", "SAGE")
    elif second:
        domain, dataset, architecture = (
            "graphs" if int(table.strip("ab")) < 13 else "language",
            first,
            second,
        )
    else:
        domain, dataset, architecture = "vision", "IN100" if int(table) < 25 else "CIFAR-100", model
    return test, quality, domain, dataset, architecture, pooling(table, domain, architecture)


def pooling(table: str, domain: str, architecture: str) -> str:
    if domain == "graphs":
        return "node"
    if domain == "vision" or table == "30":
        return ""
    if table in ("14", "15b", "16b", "18b"):
        return "mean"
    return "last" if architecture == "SmolLM2" else "cls"  # a decoder has no CLS token


def facts(table: dict[str, Any], column: str, measure: str, conflict: bool) -> tuple[object, ...]:
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
    """Why the values of a row may stand in the wrong columns, or nothing."""
    surplus = sum(other["status"] == "extra_tokens" for other in table["rows"].values())
    if row["status"] == "ok":
        return CUT if surplus > len(table["rows"]) / 2 else ""
    return SURPLUS if row["status"] == "extra_tokens" else SHORT


def disagreements(content: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Table, column and measure of cells that two tables of the same version print differently.

    Cells in which only the Table 3 of the later version differs are results that changed between
    the versions.
    """
    found = set()
    for cell in content["cross_check_with_table3"]["disagreeing_cells"]:
        if cell["table3"] == "3_submission":
            found.add(("3_submission", cell["column"], cell["measure"]))
            found.add((cell["other_table"], cell["other_column"], cell["measure"]))
    return found
