"""The tables of the documentation on what the models of the ReSi paper take."""

from __future__ import annotations

from papers.markdown import table
from resemblance.sources.training import DATASETS
from resemblance.suites.resi.budget import CORE_SECONDS, SPEEDS
from resemblance.suites.resi.planning import plan, table_of

MADE = "<!-- made by `python -m papers --write-only`; change the code, not this file -->"


def pages() -> dict[str, str]:
    """Return the files of the documentation, by path from the root."""
    columns, rows, note = table_of(plan(size="paper"))
    speeds = [
        (
            DATASETS[dataset].title,
            DATASETS[dataset].architectures[architecture].title,
            f"{speed.examples:,.0f}",
            f"{speed.per_second:,.0f}",
            f"{speed.hours:.2g}",
        )
        for (dataset, architecture), speed in SPEEDS.items()
    ]
    measured = ", ".join(
        f"{DATASETS[dataset].architectures[name].title} {seconds:g} s"
        for (dataset, name), seconds in CORE_SECONDS.items()
    )
    header = ("data set", "architecture", "examples", "a second", "GPU hours a model")
    return {
        "docs/_generated/resi-paper-plan.md": f"{MADE}\n\n{table(columns, rows)}\n\n{note}\n",
        "docs/_generated/resi-paper-speeds.md": (
            f"{MADE}\n\n{table(header, speeds)}\n\n"
            f"Measured on one core, a model of Cora or SST-2: {measured}.\n"
        ),
    }
