"""The reproduction of the ReSi paper: the ReSi suite with the conclusions of the paper, and the
paper's ranks next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from papers.markdown import claims_table, fixed, table
from papers.reproductions import Paper, Tables
from resemblance import bench
from resemblance.bench.resi import load_evaluation
from resemblance.bench.resi.planning import CORE_SECONDS, SPEEDS, plan, plan_table
from resemblance.bench.study_models import display_names
from resemblance.sections.result import Result
from resemblance.sections.sections import Table, TableEntry

from .claims import CLAIMS
from .ranks import with_published

MEASURES = ("default", "mka", "kcka")


def run(folder: str | Path, **options: Any) -> Result:
    """Run the ReSi suite in a folder, or resume there; return the result with judged claims and a
    section of the paper's ranks.

    The measures are the 24 measures of the paper and the measures of Islam et al. 2025.

    ``options``: see :func:`resemblance.bench.run`.
    """
    result = bench.run("resi", folder, measures=MEASURES, claims=CLAIMS, **options)
    return with_published(result, load_evaluation(folder))


def tables(result: Result) -> Tables:
    """Return the tables of the documentation: all claims, the groups of models, and the time and
    memory that the paper's models need."""
    columns, rows, note = plan_table(plan(size="paper"))
    return {
        "claims": claims_table(result.claims),
        "groups": groups_table(result),
        "paper-plan": f"{table(columns, rows)}\n\n{note}",
        "paper-speeds": speed_table(),
    }


def speed_table() -> str:
    """Return a table of the training speeds of the paper's models."""
    speeds = [
        (
            *display_names(*of),
            f"{speed.examples:,.0f}",
            f"{speed.per_second:,.0f}",
            f"{speed.hours:.2g}",
        )
        for of, speed in SPEEDS.items()
    ]
    measured = ", ".join(f"{display_names(*of)[1]} {time:g} s" for of, time in CORE_SECONDS.items())
    header = ("data set", "architecture", "examples", "a second", "GPU hours a model")
    note = f"Measured on one core, a model of Cora or SST-2: {measured}."
    return f"{table(header, speeds)}\n\n{note}"


def groups_table(result: Result) -> str:
    """Return a table of the accuracies of model groups in every test, mean and range, by
    architecture."""
    rows = []
    models: dict[str, None] = {}
    for section in result.sections:
        for of in (t for t in section.tables if t.name == "groups"):
            cells: dict[str, list[str]] = {}
            for row in of.rows:
                cells.setdefault(str(row[1]), []).append(_group(of, row))
            models |= dict.fromkeys(cells)
            rows += [
                (section.title if i == 0 else "", dict(zip(cells, line)))
                for i, line in enumerate(zip_longest(*cells.values(), fillvalue=""))
            ]
    lines = ([title, *(line.get(m, "") for m in models)] for title, line in rows)
    return table(("test", *models), lines)


def _group(of: Table, row: Sequence[TableEntry]) -> str:
    """Return the text of a group: name, mean and range of the accuracies, and the inputs unless
    clean."""
    entry = dict(zip(of.columns, row))
    mean, low, high = (fixed(entry[name], 3) for name in ("accuracy", "from", "to"))
    between = f"({low} to {high})" if low != high else "(all)"
    where = "" if entry["inputs"] in ("clean", "none") else f", on {entry['inputs']} inputs"
    return f"{entry['group']}: {mean} {between}{where}"


PAPER = Paper(
    name="resi",
    citation=(
        "Klabunde et al. 2025, “ReSi: A Comprehensive Benchmark for Representational Similarity "
        "Measures”, ICLR"
    ),
    url="https://arxiv.org/abs/2408.00531",
    run=run,
    sizes={"small": "slice", "default": "mini", "paper": "standard"},
    heading="ReSi: six tests of similarity measures",
    about="""\
Reproduced are the six tests, on small models of three domains that are trained here instead of the
paper's, so mean ranks can be compared and scores cannot. The paper ranks the measures of its final
version; the tables that could be read are those of its first, and parts of them are lost (see
`published` in `../published.py`). `python -m papers resi-compare FOLDER` compares any study with
them, `--paper mka` with the tables of Islam et al. 2025. [The ranking with
intervals](ranking.md) says what the tests settle about the measures. [Differences](differences.md)
lists where the paper, its code and the suite differ.""",
    kept=("ours", "groups"),
    tables=tables,
)
