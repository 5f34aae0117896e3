"""Commands of the benchmarks: run a benchmark on models or on a pack, and read its study."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    CONTEXT_PARAMETER,
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
    from concurrent.futures import Executor

    from ..bench.status import StudyStatus
    from ..bench.study import Purpose
    from ..contracts._measure import Measure
    from ..models.recipe import Recipe
    from ..report.output import Output
    from ..sections.result import Result

StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.")]
STUDY_ARGUMENT = typer.Argument(metavar="STUDY", help="The folder of the study; default: NAME.")
BENCH_EXAMPLES: Mapping[str, Sequence[str]] = {
    "run": (
        "bench run resi",
        "bench run resi trial --size slice --add-measure mine.py:my_measure",
        "bench run manifolds study --size small -m cka,rsa",
        "bench run sensitivity own --models models/ --only layers",
        "bench run resi packed --pack resi-compact@1",
    ),
    "status": ("bench status study",),
    "results": ("bench results study", "bench results study -o scores.csv"),
    "report": ("bench report study", "bench report study --html page.html"),
}


def _empty_options() -> dict[str, object]:
    return {}


def _without_preview(folder: Path, **options: Any) -> bool:
    return False


def _load_study_result(folder: Path) -> Result:
    from ..bench.loading import load_study

    return load_study(folder)


class SuiteCommands(NamedTuple):
    """The description of a benchmark for its commands.

    ``run``: called with the folder and keyword arguments: measures (None for the default measures),
    executor, memory, progress, and if given size, only, domains and claims. ``sizes``: names of
    sizes; ``size`` is the default. ``measures``: returns the default measures, given the
    benchmark's own options. ``experiments``, ``domains``: possible restrictions of a run.
    ``options``: a function with the benchmark's own options as parameters; it checks the options
    and returns keyword arguments of ``run``. ``read``: returns the result in a folder; its other
    parameters are options of ``report``. ``plan``: returns the models that a study needs.
    ``preview``: called before a run with the arguments of ``run``; does the work of options that
    replace a run, and returns whether such options were given. ``trains``: whether ``run`` has a
    parameter ``trainer``. ``keeps_options``: a run without options keeps the options of the study.
    """

    name: str
    run: Callable[..., Result]
    sizes: Sequence[str]
    measures: Callable[[Mapping[str, object]], Iterable[str | Measure]]
    size: str = "default"
    experiments: Sequence[str] = ()
    domains: Sequence[str] = ()
    options: Callable[..., dict[str, object]] = _empty_options
    read: Callable[..., Result] = _load_study_result
    plan: Callable[[Purpose], Sequence[Recipe]] | None = None
    preview: Callable[..., bool] = _without_preview
    trains: bool = False
    keeps_options: bool = False


Benchmarks = Mapping[str, SuiteCommands]  # by name


def bench_commands(benchmarks: Benchmarks, help: HelpTexts) -> typer.Typer:
    """Return the group with the commands ``run``, ``status``, ``results`` and ``report``. ``help``:
    of the options of single benchmarks, by parameter or "command.parameter"."""
    commands = new_group(
        "Run a benchmark of measures, and read the results of its study.", BENCH_EXAMPLES["run"][0]
    )
    makers = (_run_command, _status_command, _results_command, _report_command)
    for (command, calls), make in zip(BENCH_EXAMPLES.items(), makers):
        texts = {**help, **_help_by_panel(benchmarks, command, help), **HELP}
        add_command(commands, command, make(benchmarks), *calls, help=texts)
    return commands


def _help_by_panel(benchmarks: Benchmarks, command: str, help: HelpTexts) -> HelpTexts:
    """Return the help of options of single benchmarks, by "command.option", in panels named after
    the benchmarks."""
    get_parameters = _report_parameters if command == "report" else _own_parameters
    owners: dict[str, list[str]] = {}
    parameters: dict[str, Parameter] = {}
    for suite in benchmarks.values():
        for parameter in get_parameters(suite):
            owners.setdefault(parameter.name, []).append(suite.name)
            parameters[parameter.name] = parameter
    return {
        f"{command}.{name}": typer.Option(
            *[f"--{name.replace('_', '-')}"] * (parameter.annotation is bool),
            help=help.get(f"{command}.{name}", help.get(name)),
            rich_help_panel=f"Options of {' and '.join(owners[name])}",
        )
        for name, parameter in parameters.items()
    }


# ---------------------------------------------------------------------------------------------- run


def _run_command(benchmarks: Benchmarks) -> Callable[..., int]:
    """Return the command that runs a benchmark."""

    def command(**words: Any) -> int:
        """Run a benchmark in a folder and write a report.

        Without STUDY the folder has the name of the benchmark. Repeat the command in the same
        folder to resume: only missing results are computed. The report covers the measures and
        experiments of the last run; earlier results stay in the folder.
        """
        check_choice("NAME", words["benchmark"], tuple(benchmarks))
        suite = benchmarks[words["benchmark"]]
        words["study"] = words["study"] or Path(suite.name)
        _refuse_foreign_options(benchmarks, suite, words)
        options = _run_options(suite, words)
        if "pack" not in options and suite.preview(words["study"], **options):
            return 0
        return _run_and_report(suite, words, options)

    return set_parameters(command, *_run_parameters(benchmarks))


def _run_parameters(benchmarks: Benchmarks) -> list[Parameter]:
    """Return the parameters of ``run``: parameters of all benchmarks, then parameters of single
    benchmarks."""
    names = ", ".join(benchmarks)
    own_parameters = {
        parameter.name: parameter
        for suite in benchmarks.values()
        for parameter in _own_parameters(suite)
    }
    return [
        CONTEXT_PARAMETER,
        keyword_parameter(
            "benchmark",
            Annotated[str, typer.Argument(metavar="NAME", help=f"The benchmark: {names}.")],
            Parameter.empty,
        ),
        keyword_parameter("study", Annotated[Path | None, STUDY_ARGUMENT], None),
        option_parameter(
            "size", str | None, _choices_by_benchmark("Size of the study", benchmarks, "sizes")
        ),
        PACK_PARAMETER,
        *(
            option_parameter(
                name, list[str] | None, _choices_by_benchmark(text, benchmarks, attribute)
            )
            for name, text, attribute in (
                ("only", "Only this experiment (repeatable)", "experiments"),
                ("domain", "Only models of this domain (repeatable)", "domains"),
            )
        ),
        *own_parameters.values(),
        OPEN_PAGE_PARAMETER,
        *COMMON_RUN_PARAMETERS,
        *GPU_PARAMETERS,
    ]


def _own_parameters(suite: SuiteCommands) -> list[Parameter]:
    """Return the parameters for the options of a benchmark."""
    return function_parameters(suite.options)


def _choices_by_benchmark(text: str, benchmarks: Benchmarks, attribute: str) -> str:
    """Return the help of an option: ``text`` with the choices in the field ``attribute`` of each
    benchmark."""
    words = {
        suite.name: ", ".join(
            f"{choice} (default)" if attribute == "sizes" and choice == suite.size else choice
            for choice in getattr(suite, attribute)
        )
        for suite in benchmarks.values()
        if getattr(suite, attribute)
    }
    groups: dict[str, list[str]] = {}
    for name, choices in words.items():
        groups.setdefault(choices, []).append(name)
    parts = (f"{', '.join(names)}: {choices}" for choices, names in groups.items())
    return f"{text}. {'; '.join(parts)}."


def _refuse_foreign_options(
    benchmarks: Benchmarks, suite: SuiteCommands, words: Mapping[str, Any]
) -> None:
    """Raise ``ValueError`` for a given option that only other benchmarks than ``suite`` have.
    ``words``: the values of all options by name."""
    owners: dict[str, list[str]] = {}
    defaults: dict[str, Any] = {"only": None, "domain": None, "gpu_resource": None}
    for benchmark in benchmarks.values():
        own_defaults = {p.name: p.default for p in _own_parameters(benchmark)}
        defaults |= own_defaults
        names = [
            *own_defaults,
            *["only"] * bool(benchmark.experiments),
            *["domain"] * bool(benchmark.domains),
        ]
        for name in [*names, *["gpu_resource"] * benchmark.trains]:
            owners.setdefault(name, []).append(benchmark.name)
    for name, having in owners.items():
        if suite.name not in having and words[name] not in (defaults[name], []):
            raise ValueError(
                f"--{name.replace('_', '-')} is an option of bench run {' and '.join(having)}; "
                f"{suite.name} does not have it"
            )


def _run_options(suite: SuiteCommands, words: Mapping[str, Any]) -> dict[str, object]:
    """Check the options of a run before the work, and return them as keyword arguments of ``run``.
    ``words``: the values of the options of the command by name."""
    parse_bytes(words["memory"])
    if words.get("pack"):
        pack_options = parse_pack_options(suite, words)
        settings = {p.name: p.default for p in function_parameters(suite.options)}
        return pack_options | _comparison_options(suite, words, settings)
    size = words["size"]
    for name, values, choices in (
        ("size", [size] if size else (), suite.sizes),
        ("only", words.get("only") or (), suite.experiments),
        ("domain", words.get("domain") or (), suite.domains),
    ):
        for value in values:
            check_choice(f"--{name}", value, tuple(choices))
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
    """Return {"measures", "memory"} of a run; None for the default measures.

    ``words``: the values of the options of the command. ``settings``: the benchmark's own options.
    """
    require_package("jinja2")
    defaults = suite.measures({**settings, "study": words["study"]})
    measures = add_user_measures(parse_measures(words["measures"]), words["add_measure"], defaults)
    return {"measures": measures, "memory": words["memory"]}


def _run_and_report(
    suite: SuiteCommands, words: Mapping[str, Any], options: Mapping[str, object]
) -> int:
    """Run a suite, write its report and print the tables and the path; return the exit code: 130
    after an interruption, 1 for models that are too few or failed, otherwise 0.

    ``words``: the values of the options of the command. ``options``: the keyword arguments of
    ``run``.
    """
    from ..bench.status import provenance_of_runs, record_run
    from ..report.output import print_tables
    from ..report.page import open_page
    from ..report.terminal import result_tables

    study, quiet = words["study"], words["quiet"]
    silence_warnings(quiet)
    executors = open_executors(words["jobs"], words["scheduler"], words.get("gpu_resource"))
    try:
        with executors as (executor, trainer), progress_bars(quiet) as progress:
            trainer_options = {"trainer": trainer} if trainer else {}
            run = pack_runner(suite.name, options) or suite.run
            result = run(study, executor=executor, progress=progress, **trainer_options, **options)
        record_run(study, command_as_typed(words["context"]))
        page = result.to_html(study / "index.html", provenance=provenance_of_runs(study))
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: finished results are saved in {study}; repeat the command to resume",
            err=True,
        )
        return 130
    if options.get("models") and not result.scores():
        return print_error(_too_few_models_message(result), code=1)
    if not quiet:
        _warn_unjudged_claims(options.get("claims"), result)
        print_tables(result_tables(result))
        print(
            f"Open {page.resolve()}\nTo add a measure, repeat the command with --add-measure "
            "FILE.py:NAME"
        )
    if words["opened"]:
        open_page(page)
    return _report_untrained_models(result)


def _report_untrained_models(result: Result) -> int:
    """Report the number of models with failed training; return the exit code, 1 for such models,
    otherwise 0."""
    untrained = result.provenance.get("untrained")
    if not untrained:
        return 0
    word = count_with_noun(len(untrained), "model")
    return print_error(f"{word} could not be trained; repeat the command to try again", code=1)


def _warn_unjudged_claims(judges: object, result: Result) -> None:
    """Print a warning about claims for sections that the result lacks. ``judges``: the functions by
    section, or None."""
    names = [section.name for section in result.sections]
    unused_names = (
        [name for name in judges if name not in names] if isinstance(judges, Mapping) else []
    )
    if unused_names:
        typer.echo(
            f"--claims: {', '.join(unused_names)} not judged; the sections of the result are "
            f"{', '.join(names)}",
            err=True,
        )


def _too_few_models_message(result: Result) -> str:
    """Return a message that explains why the user's models are too few, with the folders left
    out."""
    reasons = [
        f"{section.name}: {reason}"
        for section in result.sections
        if section.name != "failures"
        for reason in section.reasons.values()
    ]
    explanation = "; ".join(dict.fromkeys([*result.caveats, *reasons])) or "there are none"
    return f"too few models for any test ({explanation})"


# ------------------------------------------------------------------------------------ after a run


def _status_command(benchmarks: Benchmarks) -> Callable[..., int]:
    @output_command(("table", "json"))
    def command(study: StudyArgument) -> Output:
        """Show the progress of a study."""
        from ..bench.status import status
        from ..report.output import Output

        state = status(study, _benchmark_of_study(benchmarks, study).plan)
        return Output([_format_study_status(study, state)], state._asdict())

    return command


def _format_study_status(study: Path, state: StudyStatus) -> str:
    self_note = f", and {state.alone} of a representation with itself" if state.alone else ""
    planned_note = f" of {state.planned}" if state.planned else ""
    lines = {
        f"models from {state.models}": state.models,
        f"{state.trained}{planned_note} models trained": state.trained or state.planned,
        f"{state.parts} finished parts": state.parts,
        f"{state.comparisons - state.alone} comparisons of different representations{self_note}": (
            state.comparisons
        ),
    }
    return "\n".join(
        [
            f"{study}: {', '.join(filter(None, (state.suite, state.size)))}, "
            f"{'running now' if state.running else 'not running'}",
            *(line for line, is_shown in lines.items() if is_shown),
            f"{state.scores} scores",
            f"last: {state.last or '-'}",
        ]
    )


def _results_command(benchmarks: Benchmarks) -> Callable[..., int]:
    @output_command()
    def command(study: StudyArgument) -> Result:
        """Print or write the claims and the ranking of the measures.

        CSV and Parquet hold every score, JSON holds everything.
        """
        return result_of_study(benchmarks, study)

    return command


def _report_command(benchmarks: Benchmarks) -> Callable[..., None]:
    parameters = {
        parameter.name: parameter
        for suite in benchmarks.values()
        for parameter in _report_parameters(suite)
    }

    def command(**words: Any) -> None:
        """Write the report of a study again, as one HTML file."""
        from ..bench.status import provenance_of_runs

        study, page = words["study"], words["html"]
        silence_warnings(words["quiet"])
        check_page_suffix(page)
        check_output_paths("html", (), None, page, None)
        options = {name: words[name] for name in parameters if words[name]}
        result = result_of_study(benchmarks, study, **options)
        runs = provenance_of_runs(study)
        target = page or study / "index.html"
        written_path = result.to_html(target, open=words["opened"], provenance=runs)
        if not words["quiet"]:
            print(f"Open {written_path.resolve()}")

    return set_parameters(
        command,
        keyword_parameter("study", StudyArgument, Parameter.empty),
        keyword_parameter("html", Path | None),
        OPEN_PAGE_PARAMETER,
        *parameters.values(),
        keyword_parameter("quiet", bool, False),
    )


def _report_parameters(suite: SuiteCommands) -> list[Parameter]:
    """Return the parameters for the report options of a benchmark: the parameters of ``read`` after
    the folder."""
    return function_parameters(suite.read, start=1)


def _benchmark_of_study(benchmarks: Benchmarks, study: Path) -> SuiteCommands:
    """Return the benchmark of a study.

    Raises ``ValueError`` for a folder without a study, and for a benchmark without commands.
    """
    from ..bench.study import purpose

    name = purpose(study).suite
    if name not in benchmarks:
        raise ValueError(f"{study} is a study of {name}; bench knows {', '.join(benchmarks)}")
    return benchmarks[name]


def result_of_study(benchmarks: Benchmarks, study: Path, **options: object) -> Result:
    """Return the result of a study.

    Raises ``ValueError`` if the study has no result yet, and for ``options`` that reports of the
    benchmark lack.
    """
    from ..bench.loading import load_study

    if not (study / "study.json").exists():
        result = load_study(study)
        suite = benchmarks.get(result.suite)
    else:
        suite = _benchmark_of_study(benchmarks, study)
        if not (study / "result.json").exists():
            raise ValueError(f"{study} has no results yet; run: {_command_to_run(suite, study)}")
    foreign_names = (
        options.keys() - {p.name for p in _report_parameters(suite)} if suite else options
    )
    for name in foreign_names:
        owners = [
            b.name for b in benchmarks.values() if name in {p.name for p in _report_parameters(b)}
        ]
        raise ValueError(f"--{name} is for studies of {' and '.join(owners)}, and {study} is none")
    return suite.read(study, **options) if suite else result


def _command_to_run(suite: SuiteCommands, study: Path) -> str:
    """Return the command, as a line of the shell, that starts a study, or continues a study with
    the same size and models."""
    from ..bench.study import purpose

    words = ["resemblance", "bench", "run", suite.name, str(study)]
    study_purpose = purpose(study)
    if study_purpose.models and ("@" in study_purpose.models or not suite.keeps_options):
        words = _add_models_option(words, study_purpose.models)
    if not suite.keeps_options and study_purpose.size not in ("", suite.size):
        words += ["--size", study_purpose.size]
    return shlex.join(words)


def _add_models_option(words: list[str], models: str) -> list[str]:
    """Return ``words``, the words of a command, with the option for a pack, or for the user's own
    models, added at the end. ``models``: the name of a pack, or a folder."""
    from ..bench.packs.archive import PACK_IDENTITY_PATTERN

    if PACK_IDENTITY_PATTERN.fullmatch(models) and "@" in models:
        return [*words, "--pack", models]
    return [*words, "--models", models]


OPEN_PAGE_PARAMETER = keyword_parameter("opened", bool, False)


def _common_run_options(
    add_measure: list[str] | None = None,
    measures: list[str] | None = None,
    claims: str | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    memory: str = "half",
    quiet: bool = False,
) -> None:
    """Declare the options of the command ``run`` that all benchmarks share."""


COMMON_RUN_PARAMETERS = function_parameters(_common_run_options)
HELP: HelpTexts = {
    "add_measure": "Add a measure to the default measures, or to --measures: a name, or "
    "FILE.py:NAME (the file is executed; repeatable).",
    "measures": typer.Option(
        "--measures", "-m", help="Measures to use instead of the default measures."
    ),
    "claims": "Judge the claims of a paper with FILE.py:NAME (the file is executed), a mapping "
    "from sections to functions.",
    "scheduler": "Compute on the Dask cluster with this address or scheduler file, not in local "
    "processes.",
    "gpu_resource": "Train only on workers of the cluster with this resource, such as GPU.",
    "pack": "Use the frozen features of this pack, NAME@VERSION, instead of trained models.",
    "report.html": "Write the page to this file; default: index.html in the study.",
}
GPU_PARAMETERS = (keyword_parameter("gpu_resource", str | None),)
PACK_PARAMETER = keyword_parameter("pack", str | None)
OPTIONS_SETTLED_BY_PACK = ("size", "only", "domain", "claims", "gpu_resource")


def parse_pack_options(suite: SuiteCommands, words: Mapping[str, Any]) -> dict[str, object]:
    """Return the options of a run on a pack, as keyword arguments of :func:`resemblance.bench.run`:
    the opened pack under "pack". ``words``: the values of the options by name.

    Raises ``ValueError`` for options fixed by the pack, and for the pack of another benchmark.
    """
    from ..bench.packs import open_pack

    defaults = dict.fromkeys(OPTIONS_SETTLED_BY_PACK)
    defaults |= {p.name: p.default for p in _own_parameters(suite)}
    for name, default in defaults.items():
        if words[name] not in (default, []):
            raise ValueError(
                f"--{name.replace('_', '-')} and --pack cannot be combined: the pack fixes the "
                "models, the inputs and the options of a benchmark"
            )
    pack = open_pack(words["pack"])
    if pack.manifest.suite != suite.name:
        raise ValueError(
            f"{pack.manifest.identity} is a pack of {pack.manifest.suite}, not of {suite.name}: "
            f"resemblance bench run {pack.manifest.suite} --pack {words['pack']}"
        )
    return {"pack": pack}


def pack_runner(suite: str, options: Mapping[str, object]) -> Any:
    """Return a function that runs the benchmark ``suite`` on the pack in the options; None without
    a pack."""
    from ..bench import run

    def run_on_pack(study: Path, executor: Executor | None, **words: Any) -> Result:
        return run(suite, study, jobs=executor, **words)

    return run_on_pack if "pack" in options else None
