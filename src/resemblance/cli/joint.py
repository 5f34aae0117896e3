"""The command that ranks measures over the studies of several suites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..extras import check
from ..report import write_page
from ..report.output import emit, show
from ..report.terminal import headline_lines, leading_tables
from ..suites.joint import joint
from .declaring import File, Format, Opened, commands_of, run_provenance, show_page
from .options import check_targets, choose_format, warn_of_trial

JOINT = (
    "joint resi sensitivity manifolds stability",
    "joint resi manifolds -o ranks.csv",
    "joint resi manifolds --html ranks.html --open",
)


def joint_command(
    context: typer.Context,
    studies: Annotated[
        list[Path], typer.Argument(help="Folders of studies, each of another suite.")
    ],
    format: Format = None,
    output: File = None,
    html: Annotated[Path, typer.Option(help="Write the page to this file.")] = Path("joint.html"),
    opened: Opened = False,
) -> None:
    """Rank the measures that several suites share, and judge the conclusions of their papers.

    Run the suites first, with common measures: resemblance resi, sensitivity, manifolds, stability.
    """
    kind = choose_format(format, output)
    check_targets(kind, (), output, html, None)
    check("jinja2")
    ranking = joint(studies)
    write_page(ranking, html, provenance=run_provenance(context))
    warn_of_trial(ranking.is_trial, kind)
    if kind == "table" and output is None:
        show([*headline_lines(ranking), *leading_tables(ranking)])
        print(f"Open {html.resolve()}")
    else:
        emit(ranking, kind, output)
    show_page(html, opened)


commands = commands_of(("joint", joint_command, JOINT))
