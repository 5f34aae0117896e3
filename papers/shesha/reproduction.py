"""The reproduction of the paper of Shesha: its page, and its tables in the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from papers.markdown import cell, claims_table, fixed, percent, table
from papers.reproductions import Paper, Tables
from resemblance.results.result import Result
from resemblance.results.sections import Entry, Table

from .suite import run

CANARY_MEASURES = ("RDM drift", "CKA, debiased", "Procrustes (root)", "Procrustes (squared)")
Written = Callable[[Entry], str]


def tables(result: Result) -> Tables:
    """Return the tables of the documentation: all claims, alarms of the canary, few labels."""
    canary = {t.name: t for t in result["canary"].tables}
    (foretold,) = (t for t in result["fewshot"].tables if t.name == "fewshot_foretold")
    return {
        "claims": claims_table(result.claims),
        "canary": _canary(canary["canary_measures"], canary["canary_alarms"]),
        "fewshot": _fewshot(foretold),
    }


def _canary(measures: Table, alarms: Table) -> str:
    """How well four drifts follow accuracy, and their alarms by three thresholds."""
    rows: list[tuple[str, Table, str, Written]] = [
        ("Spearman with the accuracy lost, noise", measures, "Spearman, noise", fixed),
        ("AUC for more than 2 points lost", measures, "AUC, 2 points", fixed),
        ("first α beyond 0.05, as in the paper (median)", alarms, "first α, 0.05", fixed),
    ]
    for threshold in ("0.05", "5 % of the scale", "calibrated"):
        for what in ("false alarms", "caught"):
            name = f"{what}, {threshold}"
            rows.append((name, alarms, name, percent))
    lines = [
        (title, *(write(_entry(of, measure, column)) for measure in CANARY_MEASURES))
        for title, of, column, write in rows
    ]
    return table(("", *CANARY_MEASURES), lines)


def _entry(of: Table, row: str, column: str) -> Entry:
    (cells,) = (cells for cells in of.rows if cells[0] == row)
    return cells[of.columns.index(column)]


def _fewshot(foretold: Table) -> str:
    labels: Sequence[str] = [c for c in foretold.columns if c.endswith(" labels")]
    columns = ("statistic", "Spearman, mean [95 %]", *labels)
    lines = [
        (cell(row[0]), *(fixed(row[foretold.columns.index(c)]) for c in columns[1:]))
        for row in foretold.rows
    ]
    return table(columns, lines)


SIZES: Mapping[str, str] = {"small": "small", "default": "default", "paper": "paper"}
PAPER = Paper(
    name="shesha",
    citation="Raju 2026, on the stability of representations (Shesha)",
    url="https://arxiv.org/abs/2601.09173",
    run=run,
    sizes=SIZES,
    heading="Shesha: stability, similarity and drift",
    introduction=(
        "Raju 2026 (arXiv 2601.09173) asks of one representation how reliable its geometry is, "
        "besides how similar it is to others. The experiments that need no download are repeated, "
        "with the author's random numbers where data are made, and the paper's numbers are shown "
        "next to ours."
    ),
    about="""\
Reproduced are the experiments that need no download: those on made data (recovery, chance,
deletion, quadrants, the null model, invariances) with the author's random numbers, to the printed
precision; transformations of encoders, steering, the canary and transfer with few labels on small
models that are trained here. The encoders and language models of the paper need downloads and are
left out. Two of the experiments grade measures; they are the
[stability suite](../../docs/stability-suite.md) of the library, and the others are here.
[Differences](differences.md) explains the results and lists where we differ from the paper.""",
    kept=("canary_measures", "canary_alarms", "fewshot_foretold"),
    tables=tables,
)
