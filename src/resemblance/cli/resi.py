"""The commands of the ReSi benchmark: run it, see how far it is, read its results, report, compare
with the papers."""

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
from ..sources.trained import DOMAINS
from ..suites.published import PAPERS
from ..suites.resi.evaluation import PRESETS, ResiResult, load_resi
from ..suites.resi.grading import FAILURES, PERMUTATIONS, PROTOCOLS
from ..suites.resi.tests import SUITES
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
    "run", epilog=examples("resi run", "resi run trial --suite slice --measure mine.py:my_measure")
)
def run_command(
    study: Study = Path("resi"),
    suite: Annotated[
        str | None,
        typer.Option(help="mini (minutes; the default), standard (hours), or slice (a trial)."),
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
    """Train the models of a suite, compare them by all measures, grade and rank the measures, and
    write a report.

    Run again with the same folder it continues, and computes only what is new.
    """
    from ..suites.resi.suite import run

    check_options(suite, domain, models, protocol, permute, failures, memory)
    chosen = beside(chosen_measures(measures), measure, [PRESETS[protocol]])
    try:
        with processes(jobs or os.cpu_count() or 1) as executor, bars(quiet) as progress:
            result = run(
                study,
                suite=suite or "mini",
                domains=tuple(domain or DOMAINS),
                models=models,
                measures=chosen,
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
    if not result.scores:
        return complain(nothing_to_rank(result), code=1)
    if not quiet:
        announce(result, page)
    return 0


@commands.command("status", epilog=examples("resi status"))
def status_command(
    study: Study = Path("resi"),
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """Say how far a study is."""
    from ..suites.resi.suite import status

    check_choice("format", format, ("table", "json"))
    found = status(study)
    if format == "json":
        print(json.dumps(found._asdict()))
        return
    trained = (
        f"{found.trained} of {found.planned} models trained"
        if found.planned
        else f"models from {found.models}"
    )
    state = "running now" if found.running else "not running"
    print(f"{study}: suite {found.suite}, {state}" if found.suite else f"{study}: {state}")
    alone = f", {found.alone} of them of a representation with itself" if found.alone else ""
    print(
        f"{trained}\n{found.comparisons} comparisons{alone}\n{found.scores} scores\nlast: "
        f"{found.last or '-'}"
    )


@commands.command("results", epilog=examples("resi results", "resi results -o scores.csv"))
def results_command(
    study: Study = Path("resi"),
    format: Annotated[
        str | None, typer.Option(help="table, csv, json or parquet; default: as --output says.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results here, not out.")
    ] = None,
) -> None:
    """Print or write the scores of a study: measures x tests x domains."""
    from ..report.resi_output import emit_scores

    kind = choose_format(format, output)
    check_targets(kind, (), output, None, None)
    result = result_of(study)
    warn_of_trial(result.is_trial, kind)
    emit_scores(result, kind, output)


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
    result = result_of(study).only(family) if family else result_of(study)
    print(f"Open {write_report(result, output or study / 'index.html').resolve()}")


@commands.command(
    "compare-published", epilog=examples("resi compare-published resi --domain vision")
)
def compare_published_command(
    study: Study = Path("resi"),
    domain: Annotated[
        str | None, typer.Option(help="graphs, language or vision; default: all.")
    ] = None,
    paper: Annotated[
        str, typer.Option(help="resi, or mka: Islam et al., who have other models.")
    ] = "resi",
) -> None:
    """Print the mean rank of every measure in the published tables beside that in a study."""
    from ..report.resi_terminal import published_table

    if domain is not None:
        check_choice("domain", domain, DOMAINS)
    check_choice("paper", paper, tuple(PAPERS))
    show([*published_table(result_of(study), domain, paper)])


def nothing_to_rank(result: ResiResult) -> str:
    """Say why no measure could be put to a test: which models are missing, and which folders were
    left out."""
    left = [f"{folder}: {why}" for folder, why in result.left_out.items()]
    why = [f"{a.test}: {a.reason}" for a in result.absent]
    return f"too few models for any test ({'; '.join([*left, *why]) or 'there are none'})"


def announce(result: ResiResult, page: Path) -> None:
    """Print what was evaluated, how the groups of models behave, the ranking, and where the page
    is."""
    from ..report.resi_terminal import group_table, headline_lines, ranking_table

    groups = [group_table(result)] if result.groups else []
    show([*headline_lines(result), *groups, ranking_table(result), f"Open {page.resolve()}"])
    show(["Continue, or add measures: the same command with --measure FILE.py:NAME"])


def check_options(
    suite: str | None,
    domains: Sequence[str] | None,
    models: Path | None,
    protocol: str,
    permute: str | None,
    failures: str | None,
    memory: str,
) -> None:
    """Find mistakes in the options, and missing packages, before the work."""
    if models is not None and (suite or domains):
        raise ValueError(
            "--models brings models along; --suite and --domain are for models to be trained"
        )
    check_choice("suite", suite or "mini", tuple(SUITES))
    for domain in domains or ():
        check_choice("domain", domain, DOMAINS)
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("permute", permute or "models", PERMUTATIONS)
    check_choice("failures", failures or "last", FAILURES)
    parse_bytes(memory)
    for package in ("jinja2", "pandas", "pyarrow"):
        try:
            check(package)
        except ImportError as error:  # one name for all it needs, not one after the other
            raise ImportError(f"{package} is not installed: {install_hint('resi')}") from error


def result_of(study: Path) -> ResiResult:
    """Return the result of a study; ``ValueError`` when it has none yet."""
    if not (study / "result.json").exists():
        raise ValueError(f"{study} has no results yet: resemblance resi run {study}")
    return load_resi(study / "result.json")


def write_report(result: ResiResult, path: Path) -> Path:
    """Write the page of a result and return its path."""
    from ..report.resi_page import write_resi_page
    from ..report.resi_terminal import published_rows

    write_resi_page(result, path, published=published_rows(result))
    return path
