"""The command that checks measures and statistics, of the catalogue or of a user's file, against
their claims."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..checks import check_measure, check_statistic
from ..measure import Measure
from ..report.of_checks import CHECK_FORMATS, emit_checks
from .comparing import Output, Quiet
from .options import choose_format, chosen_entries
from .progress import bars

CHECK = (
    "check mine.py:my_measure",
    'check "mine.py:my_measure[power=2]" cka --format markdown -o checks.md',
)


def check_command(
    measures: Annotated[
        list[str],
        typer.Argument(
            help="FILE.py:NAME, which is run, or names, labels and specifications of the catalogue."
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(help="table, json, markdown or csv; default: by the suffix of --output."),
    ] = None,
    output: Output = None,
    quiet: Quiet = False,
) -> int:
    """Check measures and statistics against what they claim, on small data: invariances, range,
    hostile input.

    Exit code 1 if a check fails.
    """
    kind = choose_format(format, output, CHECK_FORMATS)
    with bars(quiet or not sys.stderr.isatty()) as progress:
        outcomes = {
            entry.spec: check_measure(entry, progress=progress)
            if isinstance(entry, Measure)
            else check_statistic(entry, progress=progress)
            for entry in chosen_entries(measures)
        }
    emit_checks(outcomes, kind, output)
    return int(any(o.holds is False for of_entry in outcomes.values() for o in of_entry))
