"""The command that prints what to cite, for measures, statistics, suites and the software."""

from __future__ import annotations

from typing import Annotated

import typer

from ..citations import SOFTWARE, bibtex_of, keys_of
from ..report.output import deliver, show
from ..report.references import reference
from .options import check_choice

CITE = ("cite", "cite cka procrustes rsa", "cite resi --format text", "cite cka > references.bib")


def cite_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Measures and statistics (names, labels, specifications), suites, or resemblance."
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="bibtex or text.")] = "bibtex",
) -> None:
    """Print what to cite: the papers of measures, statistics and suites, or this software.

    Each entry is printed once. Without a name it is the entry of the software.
    """
    check_choice("format", format, ("bibtex", "text"))
    chosen = names or [SOFTWARE]
    if format == "text":
        keys = dict.fromkeys(key for name in chosen for key in keys_of(name))
        show([reference(key) for key in keys])
    else:
        deliver(f"{bibtex_of(chosen)}\n", None)
