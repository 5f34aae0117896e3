"""The commands that every suite has, from one factory, on models or on a pack."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..base.extras import require_package
from ..base.formatting import count_with_noun
from ..base.text import check_choice
from ..engine.memory import parse_bytes
from .ending import command_as_typed, print_error, progress_bars, silence_warnings
from .executors import open_executors
from .inputs import (
    add_user_measures,
    check_output_paths,
    check_page_suffix,
    load_user_claims,
    parse_measures,
)
from .options import (
    ALL_JOBS_OPTION,
    CONTEXT_PARAMETER,
    SHARED_HELP,
    HelpTexts,
    add_command,
    function_parameters,
    keyword_parameter,
    new_group,
    option_parameter,
    output_command,
    set_parameters,
)

if TYPE_CHECKING:
    from ..bench.status import StudyStatus
    from ..bench.study import Purpose
    from ..contracts._measure import Measure
    from ..models.recipe import Recipe
    from ..sections.result import Result

StudyArgument = Annotated[Path, typer.Argument(help="The folder of the study.")]


def _empty_options() -> dict[str, object]:
    return {}


def _without_preview(folder: Path, **options: Any) -> bool:
    return False


def _load_study_result(folder: Path) -> Result:
    from ..bench.loading import load_study

    return load_study(folder)


class SuiteCommands(NamedTuple):
    """What the commands of a suite must know of it.

    ``run``: called with the folder and, by name, measures (None for the usual), executor, memory,
    progress, and where they were given size, only, domains and claims. ``sizes``: their names;
    ``size`` is the default, ``trial`` the one for trying out. ``measures``: the usual ones, for the
    suite's own options. ``experiments``, ``domains``: what a run can be restricted to. ``options``:
    a function whose parameters are options of this suite alone; it checks them, and returns what
    ``run`` takes. ``read``: returns the result in a folder; its other parameters are options of
    ``report``. ``plan``: the models that a study needs. ``preview``: called before a run as ``run``
    is, and does what the options ask for instead; it returns whether they do. ``trains``: whether
    ``run`` takes a ``trainer``. ``keeps_options``: a run that names no options has those of the
    study.
    """

    name: str
    help: str
    run: Callable[..., Result]
    sizes: Sequence[str]
    measures: Callable[[Mapping[str, object]], Iterable[str | Measure]]
    size: str = "default"
    trial: str = "small"
    experiments: Sequence[str] = ()
    domains: Sequence[str] = ()
    options: Callable[..., dict[str, object]] = _empty_options
    read: Callable[..., Result] = _load_study_result
    plan: Callable[[Purpose], Sequence[Recipe]] | None = None
    preview: Callable[..., bool] = _without_preview
    trains: bool = False
    keeps_options: bool = False


def suite_commands(suite: SuiteCommands, help: HelpTexts = SHARED_HELP) -> typer.Typer:
    """Return the commands of a suite: ``run``, ``status``, ``results`` and ``report``; ``help``: of
    the options of its own."""
    name, trial = suite.name, f"--size {suite.trial}"
    commands = new_group(suite.help, f"{name} run trial {trial}")
    calls = {
        "run": (f"{name} run", f"{name} run trial {trial} --measure mine.py:my_measure"),
        "status": (f"{name} status",),
        "results": (f"{name} results", f"{name} results -o scores.csv"),
        "report": (f"{name} report", f"{name} report -o page.html"),
    }
    makers = (run_command, _status_command, _results_command, _report_command)
    for (command, lines), make in zip(calls.items(), makers):
        add_command(commands, command, make(suite), *lines, help={**help, **HELP})
    return commands


# ---------------------------------------------------------------------------------------------- run


def run_command(suite: SuiteCommands) -> Callable[..., int]:
    """Return the command that runs a suite."""

    def command(**words: Any) -> int:
        """Run the suite in a folder and write a report.

        Run again in the same folder, it continues and computes only what is missing. The report
        covers the measures and experiments of the last run; earlier results stay in the folder.
        """
        options = _run_options(suite, words)
        if "pack" not in options and suite.preview(words["study"], **options):
            return 0
        return _run_and_report(suite, words, options)

    return set_parameters(command, *_run_parameters(suite))


def _run_parameters(suite: SuiteCommands) -> list[Parameter]:
    options = function_parameters(suite.options)
    parameters = [p for p in options if p.default is Parameter.empty]  # arguments before the study
    sizes = f"One of: {', '.join(suite.sizes)}; default: {suite.size}."
    parameters += [study_argument(suite.name), option_parameter("size", str | None, sizes)]
    for name, what, names in (
        ("only", "Only this experiment", suite.experiments),
        ("domain", "Only models of this domain", suite.domains),
    ):
        if names:
            help = f"{what} (repeatable): {', '.join(names)}."
            parameters += [option_parameter(name, list[str] | None, help)]
    has_models = any(p.default is Parameter.empty for p in options)
    parameters += [] if has_models else [PACK_PARAMETER]
    parameters += [p for p in options if p.default is not Parameter.empty]
    return [
        CONTEXT_PARAMETER,
        *parameters,
        OPEN_PAGE_PARAMETER,
        *COMMON_RUN_PARAMETERS,
        *(GPU_PARAMETERS if suite.trains else ()),
    ]


def _run_options(suite: SuiteCommands, words: Mapping[str, Any]) -> dict[str, object]:
    """Check the options of a run before the work, and return them as ``run`` takes them."""
    parse_bytes(words["memory"])
    if words.get("pack"):
        settled = parse_pack_options(words, _run_parameters(suite), suite.name)
        settings = {p.name: p.default for p in function_parameters(suite.options)}
        return settled | _comparison_options(suite, words, settings)
    size = words["size"]
    for name, values, known in (
        ("size", [size] if size else (), suite.sizes),
        ("only", words.get("only") or (), suite.experiments),
        ("domain", words.get("domain") or (), suite.domains),
    ):
        for value in values:
            check_choice(f"--{name}", value, tuple(known))
    settings = suite.options(**{p.name: words[p.name] for p in function_parameters(suite.options)})
    optional = {
        "size": size,
        "only": words.get("only"),
        "domains": words.get("domain"),
        "claims": load_user_claims(words["claims"]) if words["claims"] else None,
    }
    options = {
        name: value for name, value in (optional | settings).items() if value not in (None, [])
    }
    return _comparison_options(suite, words, settings) | options


def _comparison_options(
    suite: SuiteCommands, words: Mapping[str, Any], settings: Mapping[str, object]
) -> dict[str, object]:
    """Return which measures a run compares by, and in how much memory."""
    require_package("jinja2")
    usual = suite.measures({**settings, "study": words["study"]})
    measures = add_user_measures(parse_measures(words["measures"]), words["measure"], usual)
    return {"measures": measures, "memory": words["memory"]}


def _run_and_report(
    suite: SuiteCommands, words: Mapping[str, Any], options: Mapping[str, object]
) -> int:
    """Run a suite, write its report and say where; return the exit code of the command."""
    from ..bench.status import provenance_of_runs, record_run
    from ..report.output import print_tables
    from ..report.page import open_page
    from ..report.terminal import result_tables

    study, quiet = words["study"], words["quiet"]
    silence_warnings(quiet)
    where = open_executors(words["jobs"], words["scheduler"], words.get("gpu_resource"))
    try:
        with where as (executor, trainer), progress_bars(quiet) as progress:
            more = {"trainer": trainer} if trainer else {}
            run = pack_runner(suite.name, options) or suite.run
            result = run(study, executor=executor, progress=progress, **more, **options)
        record_run(study, command_as_typed(words["context"]))
        page = result.to_html(study / "index.html", provenance=provenance_of_runs(study))
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: what is done is kept in {study}; the same command continues from there",
            err=True,
        )
        return 130
    if options.get("models") and not result.scores():
        return print_error(_too_few_models_message(result), code=1)
    if not quiet:
        _warn_unjudged_claims(options.get("claims"), result)
        print_tables(result_tables(result))
        print(f"Open {page.resolve()}\nAdd measures: the same command with --measure FILE.py:NAME")
    if words["opened"]:
        open_page(page)
    return _report_untrained_models(result)


def _report_untrained_models(result: Result) -> int:
    """Say how many models could not be trained; return the exit code of the command."""
    untrained = result.provenance.get("untrained")
    if not untrained:
        return 0
    word = count_with_noun(len(untrained), "model")
    return print_error(f"{word} could not be trained; the same command tries again", code=1)


def _warn_unjudged_claims(judges: object, result: Result) -> None:
    """Say which claims nobody judged, because the result has no section of their name."""
    names = [section.name for section in result.sections]
    unused = [name for name in judges if name not in names] if isinstance(judges, Mapping) else []
    if unused:
        typer.echo(
            f"--claims: {', '.join(unused)} not judged; the result has only the sections "
            f"{', '.join(names)}",
            err=True,
        )


def _too_few_models_message(result: Result) -> str:
    """Say why models of a user's own are too few, and which folders were left out."""
    reasons = [
        f"{section.name}: {reason}"
        for section in result.sections
        if section.name != "failures"
        for reason in section.reasons.values()
    ]
    why = "; ".join(dict.fromkeys([*result.caveats, *reasons])) or "there are none"
    return f"too few models for any test ({why})"


# ------------------------------------------------------------------------------------ after a run


def _status_command(suite: SuiteCommands) -> Callable[..., None]:
    def command(**words: Any) -> None:
        """Show the progress of a study."""
        from ..bench.status import status
        from ..bench.study import purpose

        check_choice("--format", words["format"], ("table", "json"))
        study = words["study"]
        _check_study_suite(suite, study, purpose(study).suite)
        known = status(study, suite.plan)
        print(
            json.dumps(known._asdict())
            if words["format"] == "json"
            else _format_study_status(study, known)
        )

    format = keyword_parameter("format", str, "table")
    return set_parameters(command, study_argument(suite.name), format)


def _format_study_status(study: Path, known: StudyStatus) -> str:
    itself = f", {known.alone} of them of a representation with itself" if known.alone else ""
    planned = f" of {known.planned}" if known.planned else ""
    lines = {
        f"models from {known.models}": known.models,
        f"{known.trained}{planned} models trained": known.trained or known.planned,
        f"{known.parts} finished parts": known.parts,
        f"{known.comparisons} comparisons{itself}": known.comparisons,
    }
    return "\n".join(
        [
            f"{study}: {', '.join(filter(None, (known.suite, known.size)))}, "
            f"{'running now' if known.running else 'not running'}",
            *(line for line, is_shown in lines.items() if is_shown),
            f"{known.scores} scores",
            f"last: {known.last or '-'}",
        ]
    )


def _results_command(suite: SuiteCommands) -> Callable[..., int]:
    @output_command()
    def command(study: StudyArgument = Path(suite.name)) -> Result:
        """Print or write the claims and the ranking of the measures.

        CSV and Parquet hold every score, JSON holds everything.
        """
        return result_of_study(suite, study)

    return command


def _report_command(suite: SuiteCommands) -> Callable[..., None]:
    parameters = function_parameters(suite.read, skipped=1)

    def command(**words: Any) -> None:
        """Write the report of a study again, as one HTML file."""
        from ..bench.status import provenance_of_runs

        study, output = words["study"], words["output"]
        check_page_suffix(output)
        check_output_paths("html", (), None, output, None)
        result = result_of_study(suite, study, **{p.name: words[p.name] for p in parameters})
        runs = provenance_of_runs(study)
        target = output or study / "index.html"
        page = result.to_html(target, open=words["opened"], provenance=runs)
        print(f"Open {page.resolve()}")

    output = keyword_parameter("output", Path | None)
    return set_parameters(
        command, study_argument(suite.name), output, OPEN_PAGE_PARAMETER, *parameters
    )


def result_of_study(suite: SuiteCommands, study: Path, **options: object) -> Result:
    """Return the result of a study.

    Raises ``ValueError`` when there is none yet, or the study is of another suite.
    """
    from ..bench.study import purpose

    if (study / "study.json").exists():
        _check_study_suite(suite, study, purpose(study).suite)
    if not (study / "result.json").exists():
        raise ValueError(f"{study} has no results yet: {_command_to_run(suite, study)}")
    result = suite.read(study, **options)
    _check_study_suite(suite, study, result.suite)
    return result


def _command_to_run(suite: SuiteCommands, study: Path) -> str:
    """Return the command that begins a study or, of the same size and models, continues it."""
    from ..bench.study import purpose

    words = ["resemblance", suite.name, "run", str(study)]
    known = purpose(study) if (study / "study.json").exists() else None
    if known and known.models and ("@" in known.models or not suite.keeps_options):
        words = _add_models_option(suite, words, known.models)
    if known and not suite.keeps_options and known.size not in ("", suite.size):
        words += ["--size", known.size]
    return shlex.join(words)


def _add_models_option(suite: SuiteCommands, words: list[str], models: str) -> list[str]:
    """Return a command that runs a suite with a pack, or models of a user's own."""
    from ..bench.packs.archive import PACK_IDENTITY_PATTERN

    if PACK_IDENTITY_PATTERN.fullmatch(models) and "@" in models:
        return [*words, "--pack", models]
    if any(p.name == "models" for p in function_parameters(suite.options)):
        return [*words, "--models", models]
    return [*words[:2], "evaluate", models, *words[3:]]


def _check_study_suite(suite: SuiteCommands, study: Path, name: str) -> None:
    if name != suite.name:
        raise ValueError(f"{study} is a study of {name}, not of {suite.name}")


OPEN_PAGE_PARAMETER = keyword_parameter("opened", bool, False)


def _common_run_options(
    measure: list[str] | None = None,
    measures: list[str] | None = None,
    claims: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    memory: str = "half",
    quiet: bool = False,
) -> None:
    """The options of the command ``run`` of all suites."""


COMMON_RUN_PARAMETERS = function_parameters(_common_run_options)
HELP: HelpTexts = {
    "measure": "Add a measure to the usual ones, or to --measures; file.py:name is run "
    "(repeatable).",
    "measures": typer.Option("--measures", "-m", help="Use these instead of the usual measures."),
    "claims": "Judge the claims of a paper by FILE.py:NAME, a mapping from sections to functions.",
    "jobs": ALL_JOBS_OPTION,
    "scheduler": "Compute on the Dask cluster with this address or scheduler file instead of "
    "local processes.",
    "gpu_resource": "Train only on workers of the cluster with this resource, such as GPU.",
    "pack": "Use the features of this pack, NAME@VERSION; nothing is trained.",
    "report.output": typer.Option("--output", "-o", help="Default: index.html in the study."),
    "status.format": "table or json.",
}
# of the command ``run``, for suites that train models elsewhere than they compare
GPU_PARAMETERS = (keyword_parameter("gpu_resource", str | None),)
PACK_PARAMETER = keyword_parameter("pack", str | None)
OPTIONS_ALLOWED_WITH_PACK = {"study", "pack"} | {
    p.name for p in (CONTEXT_PARAMETER, OPEN_PAGE_PARAMETER, *COMMON_RUN_PARAMETERS)
} - {"claims"}


def study_argument(folder: str) -> Parameter:
    """Return the argument that names the folder of a study."""
    return keyword_parameter("study", StudyArgument, Path(folder))


def parse_pack_options(
    words: Mapping[str, Any], parameters: Iterable[Parameter], suite: str
) -> dict[str, object]:
    """Return the options of a run on a pack as :func:`resemblance.bench.run` takes them.

    Raises ``ValueError`` for options that choose what a pack has settled, and for the pack of
    another suite.
    """
    from ..bench.packs import open_pack

    for parameter in parameters:
        name = parameter.name
        if name not in OPTIONS_ALLOWED_WITH_PACK and words[name] != parameter.default:
            raise ValueError(
                f"--{name.replace('_', '-')} and --pack exclude each other: what a suite runs on, "
                "and how, is settled by the pack"
            )
    pack = open_pack(words["pack"])
    if pack.manifest.suite != suite:
        raise ValueError(
            f"{pack.manifest.identity} is a pack of {pack.manifest.suite}, not of {suite}: "
            f"resemblance {pack.manifest.suite} run --pack {words['pack']}"
        )
    return {"pack": pack}


def pack_runner(suite: str, options: Mapping[str, object]) -> Any:
    """Return what runs a suite on the pack among the options; None without one."""
    from ..bench import run

    return partial(run, suite) if "pack" in options else None
