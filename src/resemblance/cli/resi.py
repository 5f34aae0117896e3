"""The commands of the ReSi benchmark: run it, see how far it is, read its results, report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..extras import check, install_hint
from ..measure import FAMILIES
from ..report.output import show
from ..results.result import Result
from ..sources.trained import DOMAINS
from ..suites.resi.facts import load_facts
from ..suites.resi.grading import FAILURES, PERMUTATIONS, PRESETS, PROTOCOLS
from ..suites.resi.models import SIZES
from ..tiles import parse_bytes
from .errors import complain
from .options import (
    beside,
    check_choice,
    check_page,
    check_targets,
    choose_format,
    chosen_measures,
    examples,
    processes,
    warn_of_trial,
)
from .progress import bars

commands = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    help="The ReSi benchmark: do measures of similarity find what they should? Six tests on "
    "models of three domains.",
)
Study = Annotated[Path, typer.Argument(help="The folder of the study.")]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        help="Adds a measure to the 24, or to those of --measures; file.py:mine runs it "
        "(repeatable)."
    ),
]
Replaced = Annotated[
    list[str] | None, typer.Option("--measures", "-m", help="Replaces the 24 by these measures.")
]


@commands.command(
    "run", epilog=examples("resi run", "resi run trial --size slice --measure mine.py:my_measure")
)
def run_command(
    study: Study = Path("resi"),
    size: Annotated[
        str | None,
        typer.Option(help="mini (minutes; the default), standard (hours), or slice (a trial)."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="What --size was called before.", hidden=True)
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(help="graphs, language or vision (repeatable).")
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="A folder of models of your own; nothing is trained.")
    ] = None,
    measure: Beside = None,
    measures: Replaced = None,
    protocol: Annotated[
        str, typer.Option(help="paper, or resi-code: what the authors' code computes.")
    ] = "paper",
    permute: Annotated[
        str | None, typer.Option(help="What permutation tests permute: models or pairs.")
    ] = None,
    failures: Annotated[
        str | None,
        typer.Option(
            help="A measure that fails in a cell is ranked last, or unranked; default by protocol."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: all processors.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="Memory for intermediate results, per process.")
    ] = "2GB",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")
    ] = False,
) -> int:
    """Train the models of a size, compare them by all measures, grade and rank the measures, and
    write a report.

    Run again with the same folder it continues, and computes only what is new.
    """
    from ..suites.resi.suite import run

    size = size or suite
    check_options(size, domain, models, protocol, permute, failures, memory)
    wanted = beside(chosen_measures(measures), measure, [PRESETS[protocol]])
    try:
        with processes(jobs or os.cpu_count() or 1) as executor, bars(quiet) as progress:
            result = run(
                study,
                size=size or "mini",
                domains=tuple(domain or DOMAINS),
                models=models,
                measures=wanted,
                protocol=protocol,
                permute=permute,
                failures=failures,
                executor=executor,
                memory=memory,
                progress=progress,
            )
        page = write_report(result, study / "index.html")
    except KeyboardInterrupt:
        print(
            f"interrupted: what is done is kept in {study}; the same command continues from there",
            file=sys.stderr,
        )
        return 130
    if not result.scores():
        return complain(nothing_to_rank(result), code=1)
    if not quiet:
        announce(result, page)
    return 0


@commands.command("status", epilog=examples("resi status"))
def status_command(
    study: Study = Path("resi"),
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """Show the progress of a study."""
    from ..suites.resi.suite import status

    check_choice("format", format, ("table", "json"))
    known = status(study)
    if format == "json":
        print(json.dumps(known._asdict()))
        return
    trained = (
        f"{known.trained} of {known.planned} models trained"
        if known.planned
        else f"models from {known.models}"
    )
    state = "running now" if known.running else "not running"
    itself = f", {known.alone} of them of a representation with itself" if known.alone else ""
    print(
        f"{study}: {known.size or 'models of your own'}, {state}\n{trained}\n{known.comparisons} "
        f"comparisons{itself}\n{known.scores} scores\nlast: {known.last or '-'}"
    )


@commands.command("results", epilog=examples("resi results", "resi results -o scores.csv"))
def results_command(
    study: Study = Path("resi"),
    format: Annotated[
        str | None, typer.Option(help="table, csv, json or parquet; default: as --output says.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the results to this file instead of standard output."
        ),
    ] = None,
) -> None:
    """Print or write the scores of a study: measures x tests x domains."""
    from ..report.findings_output import emit_findings

    kind = choose_format(format, output)
    check_targets(kind, (), output, None, None)
    result = result_of_study(study)
    warn_of_trial(result.is_trial, kind)
    emit_findings(result, kind, output)


@commands.command("report", epilog=examples("resi report", "resi report -o page.html"))
def report_command(
    study: Study = Path("resi"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: index.html in the study.")
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(help="Only measures of this family, ranked among themselves (repeatable)."),
    ] = None,
) -> None:
    """Write the report of a study again, as one HTML file."""
    check_page(output)
    for name in family or ():
        check_choice("family", name, FAMILIES)
    result = result_of_study(study, family)
    print(f"Open {write_report(result, output or study / 'index.html').resolve()}")


def nothing_to_rank(result: Result) -> str:
    """Say why no measure could be tested: which models are missing, and which folders were left
    out."""
    why = [
        f"{section.name}: {reason}"
        for section in result.sections
        if section.name != "failures"
        for reason in section.reasons.values()
    ]
    return f"too few models for any test ({'; '.join([*result.remarks, *why]) or 'there are none'})"


def announce(result: Result, page: Path) -> None:
    """Print what was evaluated, the ranking, and where the page is."""
    from ..report.findings_output import finding_tables

    show([*finding_tables(result), f"Open {page.resolve()}"])
    show(["Continue, or add measures: the same command with --measure FILE.py:NAME"])


def check_options(
    size: str | None,
    domains: Sequence[str] | None,
    models: Path | None,
    protocol: str,
    permute: str | None,
    failures: str | None,
    memory: str,
) -> None:
    """Find mistakes in the options, and missing packages, before the work."""
    if models is not None and (size or domains):
        raise ValueError(
            "--models brings models along; --size and --domain are for models to be trained"
        )
    check_choice("size", size or "mini", tuple(SIZES))
    for domain in domains or ():
        check_choice("domain", domain, tuple(DOMAINS))
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("permute", permute or "models", PERMUTATIONS)
    check_choice("failures", failures or "last", FAILURES)
    parse_bytes(memory)
    for package in ("jinja2", "pandas", "pyarrow"):
        try:
            check(package)
        except ImportError as error:  # one name for all it needs, not one after the other
            raise ImportError(f"{package} is not installed: {install_hint('resi')}") from error


def result_of_study(study: Path, families: Sequence[str] | None = None) -> Result:
    """Return the result of a study, or of the measures of some families, ranked among these.

    Raises ``ValueError`` when it has none yet.
    """
    from ..suites.resi.sections import result_of

    facts = load_facts(study)
    return result_of(facts.only(families) if families else facts)


def write_report(result: Result, path: Path) -> Path:
    """Write the page of a result and return its path."""
    from ..report.page import write_page

    return write_page(result, path)
