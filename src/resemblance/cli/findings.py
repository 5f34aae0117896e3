"""The commands that every suite of experiments has: run it, read what it found, write its
report."""

# Annotations are evaluated here, because the help of an option names what a suite has.
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..extras import check
from ..measure import Measure
from ..report.output import emit, show
from ..results.result import Result, load_result
from ..suites.experiments import Experiment
from ..tiles import parse_bytes
from .errors import complain
from .options import (
    beside,
    check_choice,
    check_targets,
    choose_format,
    chosen_measures,
    examples,
    processes,
    warn_of_trial,
)
from .progress import bars

Beside = Annotated[
    list[str] | None,
    typer.Option(
        help="Adds a measure to the usual, or to those of --measures; file.py:mine runs it "
        "(repeatable)."
    ),
]
Measures = Annotated[
    list[str] | None, typer.Option("--measures", "-m", help="Replaces the usual measures by these.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Processes; default: all processors.")
]
Memory = Annotated[str, typer.Option(help="Memory for intermediate results, per process.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages but errors.")]


class Suite(NamedTuple):
    """What the commands of a suite must know of it: see :func:`suite_commands`."""

    name: str
    folder: str
    sizes: Collection[str]
    run: Callable[..., Result]
    experiments: Sequence[Experiment]
    usual_measures: Sequence[str | Measure]
    title: str | None
    introduction: str
    domains: Collection[str] = ()


def suite_commands(
    suite: str,
    folder: str,
    help: str,
    sizes: Collection[str],
    run: Callable[..., Result],
    experiments: Sequence[Experiment],
    usual_measures: Sequence[str | Measure] = (),
    *,
    title: str | None = None,
    introduction: str = "",
    domains: Collection[str] = (),
) -> typer.Typer:
    """Return the commands ``run``, ``results`` and ``report`` of a suite.

    Parameters
    ----------
    suite : its name, which is also the command.
    folder : the default folder of a study.
    help : what the suite is, in a sentence.
    sizes : the names of its sizes; one is "default".
    run : called with the folder and, by name, measures (None for the usual), size, only (names of
        experiments, None for all), executor, memory and progress.
    experiments : all its experiments.
    usual_measures : what a measure of the user stands beside.
    title, introduction : of the page.
    domains : of the models that it trains, if one can choose; ``run`` is then also called with
        domains.
    """
    commands = typer.Typer(
        context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True, help=help
    )
    found = Suite(
        suite, folder, sizes, run, experiments, usual_measures, title, introduction, domains
    )
    for name, make in (("run", _run), ("results", _results), ("report", _report)):
        commands.command(name, epilog=examples(*_calls(found)[name]))(make(found))
    return commands


def _calls(suite: Suite) -> dict[str, tuple[str, ...]]:
    call, folder = suite.name, suite.folder
    trial = " --size small" if "small" in suite.sizes else ""
    return {
        "run": (f"{call} run {folder}", f"{call} run trial{trial} --measure mine.py:my_measure"),
        "results": (f"{call} results {folder}", f"{call} results {folder} -o scores.csv"),
        "report": (f"{call} report {folder}", f"{call} report {folder} -o page.html"),
    }


def _run(suite: Suite) -> Callable[..., int]:
    names = [e.name for e in suite.experiments]

    def run_command(
        study: Annotated[Path, typer.Argument(help="The folder of the study.")] = Path(
            suite.folder
        ),
        size: Annotated[str, typer.Option(help=f"One of: {', '.join(suite.sizes)}.")] = "default",
        only: Annotated[
            list[str] | None,
            typer.Option(help=f"Only this experiment (repeatable): {', '.join(names)}."),
        ] = None,
        domain: Annotated[
            list[str] | None,
            typer.Option(
                help=f"Only models of this domain (repeatable): {', '.join(suite.domains)}.",
                hidden=not suite.domains,
            ),
        ] = None,
        measure: Beside = None,
        measures: Measures = None,
        jobs: Jobs = None,
        memory: Memory = "2GB",
        quiet: Quiet = False,
    ) -> int:
        """Do the experiments, judge the claims, and write a report.

        Run again with the same folder it continues, and computes only what is new. The report is of
        the measures and experiments of the last run; what others found is kept.
        """
        check_choice("size", size, tuple(suite.sizes))
        for name in only or ():
            check_choice("only", name, names)
        for name in domain or ():
            check_choice("domain", name, tuple(suite.domains))
        parse_bytes(memory)
        check("jinja2")
        chosen = beside(chosen_measures(measures), measure, suite.usual_measures)
        options: dict[str, object] = {
            "measures": chosen,
            "size": size,
            "only": only or None,
            "memory": memory,
        }
        if domain:
            options["domains"] = domain
        return carry_out(suite, study, jobs or os.cpu_count() or 1, quiet, options)

    return run_command


def carry_out(suite: Suite, study: Path, jobs: int, quiet: bool, options: dict[str, object]) -> int:
    """Run a suite in a folder with these options, write its report and say where; return the status
    of the command."""
    from ..report.result_tables import result_tables

    try:
        with processes(jobs) as executor, bars(quiet) as progress:
            findings = suite.run(study, executor=executor, progress=progress, **options)
        page = _write_report(suite, findings, study / "index.html")
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: what is done is kept in {study}; the same command continues from there",
            err=True,
        )
        return 130
    if options.get("models") and not findings.scores():
        return complain(_nothing_to_rank(findings), code=1)
    if not quiet:
        show(result_tables(findings))
        print(f"Open {page.resolve()}\nAdd measures: the same command with --measure FILE.py:NAME")
    return 0


def _nothing_to_rank(findings: Result) -> str:
    """Say why models of somebody's own make no experiment, and which folders were left out."""
    why = [
        f"{s.name}: {what}: {reason}"
        for s in findings.sections
        for what, reason in s.reasons.items()
    ]
    return (
        "too few models for any experiment "
        f"({'; '.join([*findings.remarks, *why]) or 'there are none'})"
    )


def _results(suite: Suite) -> Callable[..., None]:
    def results_command(
        study: Annotated[Path, typer.Argument(help="The folder of the study.")] = Path(
            suite.folder
        ),
        format: Annotated[
            str | None, typer.Option(help="table, csv, json or parquet; default: as --output says.")
        ] = None,
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="Write the results here, not out.")
        ] = None,
    ) -> None:
        """Print or write the claims and how the measures stand; as CSV or Parquet every score, as
        JSON everything."""
        kind = choose_format(format, output)
        check_targets(kind, (), output, None, None)
        found = _findings_of(suite, study)
        warn_of_trial(found.is_trial, kind)
        emit(found, kind, output)

    return results_command


def _report(suite: Suite) -> Callable[..., None]:
    def report_command(
        study: Annotated[Path, typer.Argument(help="The folder of the study.")] = Path(
            suite.folder
        ),
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="Default: index.html in the study.")
        ] = None,
    ) -> None:
        """Write the report of a study again, as one HTML file."""
        findings = _findings_of(suite, study)
        check_targets("html", (), None, output, None)
        print(f"Open {_write_report(suite, findings, output or study / 'index.html').resolve()}")

    return report_command


def _findings_of(suite: Suite, study: Path) -> Result:
    """Return what a study found; ``ValueError`` when there is nothing yet, or it is a study of
    another suite."""
    if not (study / "result.json").exists():
        raise ValueError(f"{study} has no results yet: resemblance {suite.name} run {study}")
    found = load_result(study / "result.json")
    if found.suite != suite.name:
        raise ValueError(f"{study} is a study of {found.suite}, not of {suite.name}")
    return found


def _write_report(suite: Suite, findings: Result, path: Path) -> Path:
    from ..report import write_page

    return write_page(findings, path, title=suite.title or "", introduction=suite.introduction)
