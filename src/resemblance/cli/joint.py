"""The command that ranks measures over the studies of several suites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..extras import check
from ..report.output import show
from ..suites.joint import joint
from .options import check_targets, choose_format, warn_of_trial


def joint_command(
    studies: Annotated[
        list[Path], typer.Argument(help="Folders of studies, each of another suite.")
    ],
    format: Annotated[
        str | None, typer.Option(help="table, json, csv or parquet; default: as --output says.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the ranking here, not out.")
    ] = None,
    html: Annotated[Path, typer.Option(help="Write the page here.")] = Path("joint.html"),
) -> None:
    """Rank the measures that several suites have in common, and say which conclusions of their
    papers hold.

    Run the suites first, with common measures: resemblance resi, sensitivity, manifolds, stability.
    """
    from ..report.findings_output import emit_findings, headline_lines, place_table
    from ..report.findings_page import write_findings_page

    kind = choose_format(format, output)
    check_targets(kind, (), output, html, None)
    check("jinja2")
    ranking = joint(studies)
    write_findings_page(ranking, html, title=ranking.title, introduction=ranking.about)
    warn_of_trial(ranking.is_trial, kind)
    if kind == "table" and output is None:
        show([*headline_lines(ranking), place_table(ranking)])
        print(f"Open {html.resolve()}")
    else:
        emit_findings(ranking, kind, output)
