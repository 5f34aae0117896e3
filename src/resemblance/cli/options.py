"""Declare commands: the shared options, and the common steps before and after a command."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, signature, unwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.text import check_choice, escape_control_characters
from .choices import FORMATS, LAYOUT_WORDS, TEXT_FORMATS
from .ending import (
    report_failures,
    report_interruption,
    report_written_files,
    run_provenance,
    silence_warnings,
    try_to_write,
    unwritten_files,
)
from .inputs import (
    check_named_files_are_kept,
    check_output_paths,
    choose_format,
    help_examples,
    join_paragraph_lines,
    warn_trial_run,
)

# ----------------------------------------------------------------------------- options of commands

HelpTexts = Mapping[str, Any]  # by parameter: help text, or a Typer option or argument
# Options that several commands share. Other options have a table in the module of the command; the
# key "command.option" belongs to a single command.
SHARED_HELP: HelpTexts = {
    "inputs": "Files (.npy, .npz, .safetensors, .parquet, .jsonl), folders of .npy and .npz files, "
    "or folders of features. archive.npz/key names one array of an archive.",
    "column": "The column of a table, or the array of an archive, with the vectors.",
    "ids": "The column, or the array, with the sample ids; default: a column named id, filename or "
    "similar.",
    "pool": "How to reduce arrays with tokens or positions to (samples, features): first, last, "
    "mean, max or flatten for (samples, tokens, features); mean, max, flatten or positions for "
    "(samples, channels, height, width).",
    "measures": typer.Option(
        "--measures",
        "-m",
        help="Measures to compute, separated by commas: a name (cka), a label (CKA), a name with "
        "parameters (cka\\[kernel=rbf]), a preset (resi), or FILE.py:NAME (the file is executed).",
    ),
    "format": "Format: table or json.",
    "output": typer.Option(
        "--output", "-o", help="Write the results to this file, not to standard output."
    ),
    "columns": "Columns of tables as text, Markdown and LaTeX, with commas: x,y,value,interval.",
    "opened": typer.Option("--open", help="Open the page in the browser."),
    "save": "Save each result to this file as soon as it is computed; an interrupted run can "
    "resume.",
    "memory": "Memory per task for intermediate results, such as 2GB; half: half of the available "
    "memory.",
    "jobs": typer.Option("--jobs", "-j", min=1, help="Number of processes; default: 1."),
    "scheduler": "Compute on the Dask cluster at this address instead of this machine.",
    "planned": typer.Option(
        "--plan", help="Print an estimate of time and memory, and compute nothing."
    ),
    "seed": typer.Option(min=0, help="Random seed."),
    "within": "A file with a label for each sample (.npy, .npz, .csv, .txt): samples are permuted "
    "only within groups of equal labels, so differences between groups count as chance.",
    "whole_blocks": "A file with a label for each sample: samples with the same label (such as the "
    "sentences of one document) are permuted together.",
    "n_permutations": typer.Option(
        min=1, help="Number of permutations, for measures that need them."
    ),
    "confidence_level": "Confidence level of the intervals.",
    "exit_zero": typer.Option(
        "--exit-zero", help="Exit with code 0 after any answer; mistakes keep their exit codes."
    ),
    "quiet": typer.Option("--quiet", "-q", help="Hide progress and messages; show only errors."),
}


def option_parameter(
    name: str, kind: Any, help: str, *spellings: str, default: Any = None, **settings: Any
) -> Parameter:
    """Return an option of a command, for the signature that Typer reads.

    ``kind``: the type of the value. ``help``: the sentence in the help. ``spellings``: such as
    "--output" and "-o"; by default the name. ``default``: the value if the option is not given.
    ``settings``: for ``typer.Option``.
    """
    return keyword_parameter(
        name, Annotated[kind, typer.Option(*spellings, help=help, **settings)], default
    )


def keyword_parameter(name: str, kind: Any, default: Any = None) -> Parameter:
    """Return a keyword-only parameter of a command, with the annotation ``kind``; ``kind`` may hold
    the declaration of an option."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def function_parameters(function: Callable[..., object], start: int = 0) -> list[Parameter]:
    """Return the parameters of ``function``, from position ``start``, as keyword-only parameters of
    a command, with annotations that are types, not texts."""
    names: dict[str, Any] = getattr(unwrap(function), "__globals__", {})

    def typed(parameter: Parameter) -> Parameter:
        kind = parameter.annotation
        # evaluate parameter annotations only: the return annotation may name a class that is not
        # imported yet
        kind = eval(kind, names) if isinstance(kind, str) else kind
        return parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind)

    return list(map(typed, list(signature(function).parameters.values())[start:]))


def set_parameters(command: Callable[..., Any], *parameters: Parameter) -> Callable[..., Any]:
    """Set the signature of ``command``, a function with ``**words``, which Typer reads; return the
    same function."""
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


CONTEXT_PARAMETER = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _with_help(parameter: Parameter, command: str, help: HelpTexts) -> Parameter:
    """Return the parameter of a command with its help: an option, or without a default an argument.
    A parameter that has a declaration, or has no help, is returned unchanged.

    ``help``: by "command.parameter", or by "parameter" for all commands.
    """
    name, kind = parameter.name, parameter.annotation
    info = help.get(f"{command}.{name}", help.get(name))
    if info is None or hasattr(kind, "__metadata__"):
        return parameter
    if isinstance(info, str) and parameter.default is Parameter.empty:
        info = typer.Argument(help=info)
    elif isinstance(info, str):
        info = typer.Option(*[f"--{name.replace('_', '-')}"] * (kind is bool), help=info)
    return parameter.replace(annotation=Annotated[kind, info])


def add_command(
    group: typer.Typer,
    name: str,
    command: Callable[..., Any],
    *calls: str,
    help: HelpTexts = SHARED_HELP,
) -> None:
    """Add a command to a group; the help begins with the docstring and ends with the example calls
    ``calls``.

    ``help``: of the command's own options, or of shared options with a different help.
    """
    help_texts = {**SHARED_HELP, **help}
    set_parameters(
        command, *(_with_help(p, name, help_texts) for p in function_parameters(command))
    )
    text = join_paragraph_lines(command.__doc__)
    summary = text.partition("\n\n")[0]
    group.command(name, help=text, short_help=summary, epilog=help_examples(*calls))(command)


def new_group(text: str, call: str) -> typer.Typer:
    """Return an empty group of commands; the help ends with an example call."""
    return typer.Typer(
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        help=text,
        epilog=help_examples(call),
    )


def command_group(
    *entries: tuple[str, Callable[..., Any], Sequence[str]], help: HelpTexts = SHARED_HELP
) -> typer.Typer:
    """Return a group of commands. ``entries``: triples (name, function, example calls). ``help``:
    the help of options, by name."""
    group = typer.Typer()
    for name, command, calls in entries:
        add_command(group, name, command, *calls, help=help)
    return group


# -------------------------------------------------------------------- how a command begins and ends


def output_command(
    formats: Sequence[str] = FORMATS,
    *,
    files: Sequence[str] = (),
    save: str = "",
    folder: str = "",
    page: str = "",
    place: Path | None = None,
    resumed: str = "",
    needs: tuple[str, ...] = (),
    can_refuse: bool = False,
    has_summary: bool = False,
    layouts: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., int]]:
    """Make a command from a function that returns its output: a comparison, an evidence, the result
    of a suite or an :class:`.Output`.

    The command has the parameters of the function, except three parameters that the decorator
    passes: ``progress`` (whether to show progress), ``context`` and ``html`` (the file for the
    page). The command also has the options ``--format``, with the choices ``formats``, ``--output``
    and ``--quiet``. ``page``: the help of ``--html``; adds ``--html`` and ``--open``. ``place``:
    the page file without ``--html``. ``files``: parameters with input files. ``save``: the
    parameter with the file that the function writes; ``folder``: the same for a folder.
    ``resumed``: the noun for saved results of an interrupted run, if the same command resumes the
    run. ``needs``: packages that the function needs. ``can_refuse``: the exit code can be an
    answer, so the command has ``--exit-zero``. ``has_summary``: print the summary of the result on
    standard error if the table goes to a file. ``layouts``: the choices of ``--layout``, which
    selects the rows of a table beside ``--columns``.
    """

    output_parameters = _output_parameters(formats, page, place, layouts, can_refuse)

    def declared(function: Callable[..., Any]) -> Callable[..., int]:
        parameters = function_parameters(function)
        injected_names = {p.name for p in parameters} & {"context", "progress", "html"}

        def command(context: typer.Context, **words: Any) -> int:
            from ..report.output import write_output

            format_name, output = words.pop("format"), words.pop("output")
            quiet, is_opened = words.pop("quiet"), words.pop("opened", False)
            exit_zero = words.pop("exit_zero", False)
            layout, names = words.pop("layout", None), words.pop("columns", None)
            columns = [name.strip() for name in names.split(",")] if names else []
            if layout is not None:
                check_choice("--layout", layout, layouts)
            html, target = words.pop("html", None), words.get(save or folder)
            if is_opened and html is None:
                raise ValueError("--open needs a page: give --html FILE, such as --html page.html")
            is_planned = words.get("planned", False)
            html, is_opened = _warn_no_page_of_plan(html) if is_planned else (html, is_opened)
            kind = choose_format(format_name, output, formats)
            if (layout or columns) and kind not in TEXT_FORMATS:
                raise ValueError(
                    f"--layout and --columns are for .txt, .md and .tex; a {kind} file has all"
                )
            silence_warnings(quiet)
            inputs = list(_file_names(words, files))
            check_named_files_are_kept(words.values(), (output, html))
            check_output_paths(kind, inputs, output, html, target if save else None, needs)
            injected = {"context": context, "progress": not quiet, "html": html}
            try:
                content = function(**words, **{name: injected[name] for name in injected_names})
                if not quiet and (kind != "table" or output is not None):
                    _print_first_lines(content)
                if has_summary and output is not None and not quiet:
                    print(escape_control_characters(content.summary(), keep="\n"), file=sys.stderr)
                try:
                    write_output(content, kind, output, layout=layout, columns=columns)
                # An output file that cannot be stored does not prevent other outputs.
                finally:
                    if html:
                        write_page = partial(_write_content_page, content, html, context)
                        try_to_write(context, "page", html, write_page)
            except KeyboardInterrupt:
                if not resumed or words.get("streamed", False):
                    raise
                return report_interruption(target, resumed, is_folder=bool(folder))
            code = _finish_command(
                content, kind, context, (output, html, target), is_opened, is_planned, quiet
            )
            return 0 if exit_zero else code

        command.__doc__ = function.__doc__
        own_parameters = [p for p in parameters if p.name not in injected_names]
        return set_parameters(command, CONTEXT_PARAMETER, *own_parameters, *output_parameters)

    return declared


def _output_parameters(
    formats: Sequence[str], page: str, place: Path | None, layouts: Sequence[str], can_refuse: bool
) -> list[Parameter]:
    """Return the options for the output of a command.

    ``formats``: the formats that the command has. ``page``: the help of the option for a page, ""
    without a page. ``place``: the default path of the page. ``layouts``: the layouts, () without.
    ``can_refuse``: whether the exit code can be an answer; adds ``--exit-zero``.
    """
    parameters = [
        keyword_parameter("format", _format_option(formats)),
        keyword_parameter("output", Path | None),
    ]
    if page:
        parameters += [
            option_parameter("html", Path | None, page, default=place),
            keyword_parameter("opened", bool, False),
        ]
    if layouts:
        parameters += [
            keyword_parameter("layout", _layout_option(layouts)),
            keyword_parameter("columns", str | None),
        ]
    if can_refuse:
        parameters.append(keyword_parameter("exit_zero", bool, False))
    return [*parameters, keyword_parameter("quiet", bool, False)]


def _layout_option(layouts: Sequence[str]) -> Any:
    words = "; ".join(f"{layout}, {LAYOUT_WORDS[layout]}" for layout in layouts)
    text = f"Rows of tables as text, Markdown and LaTeX: {words}."
    return Annotated[str | None, typer.Option(help=text, metavar="|".join(layouts))]


def _print_first_lines(content: Any) -> None:
    """Print on standard error what a table would show first: the first line of an output, or the
    caveats of a comparison."""
    from ..comparison.comparison import Comparison
    from ..report.output import Output

    if isinstance(content, Output):
        print(*content.shown[:1], sep="\n", end="\n" * bool(content.shown), file=sys.stderr)
    elif isinstance(content, Comparison):
        for caveat in content.caveats:
            print(escape_control_characters(f"Note: {caveat}."), file=sys.stderr)


def _finish_command(
    content: Any,
    kind: str,
    context: typer.Context,
    paths: Sequence[Path | None],
    is_opened: bool,
    is_planned: bool,
    quiet: bool,
) -> int:
    """Report the written files, open the page, and return the exit code; raise the first error of
    the disk.

    ``content``: the answer of the command. ``kind``: the format. ``paths``: the output, the page,
    and the saved file; None for none.
    """
    errors_by_path = unwritten_files(context)
    output, html, target = (None if path in errors_by_path else path for path in paths)
    report_written_files(
        (output, html, None if is_planned else target), html if is_opened else None, quiet
    )
    failed = [error for error in errors_by_path.values() if isinstance(error, OSError)]
    if failed:
        raise failed[0]
    return _exit_code(content, kind, quiet)


def _warn_no_page_of_plan(html: Path | None) -> tuple[None, bool]:
    """Return (None, False); warn if a page was requested."""
    if html:
        warnings.warn(f"--plan computes nothing, so {html} is not written", stacklevel=2)
    return None, False


def _exit_code(content: Any, kind: str, quiet: bool) -> int:
    """Return the exit code of a command with the result ``content``, and print the remaining
    messages about the result. ``kind``: the format of the output."""
    from ..comparison.comparison import Comparison
    from ..inference.result import Evidence
    from ..report.output import Output
    from ..sections.result import Result
    from ..versions import DriftReport, IndexUpgrade

    if isinstance(content, Output) and content.of is None:
        return content.code
    result = content.of if isinstance(content, Output) else content
    if isinstance(result, Comparison | Evidence):
        return report_failures(result, quiet)
    if isinstance(result, Result) and not quiet:
        warn_trial_run(result.is_trial, kind)
    if isinstance(result, DriftReport):
        return int(result.drifted)
    return result.code if isinstance(result, IndexUpgrade) else 0


def _format_option(formats: Sequence[str]) -> Any:
    choices = f"{', '.join(formats[:-1])} or {formats[-1]}"
    return Annotated[
        str | None, typer.Option(help=f"Format: {choices}; default: the suffix of --output.")
    ]


def _file_names(words: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = words[name]
        values = value if isinstance(value, list | tuple) else [value]
        yield from (str(item) for item in values if item is not None)


def _write_content_page(content: Any, html: Path, context: typer.Context) -> None:
    from ..report.output import Output

    result = content.page if isinstance(content, Output) else content
    result.to_html(html, provenance=run_provenance(context))
