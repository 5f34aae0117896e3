"""How a command ends: messages and progress on standard error, exit codes, and opening the page."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.extras import MISSING_DEPENDENCY
from ..base.progress import format_time_left
from ..base.text import escape_control_characters, replace_undecodable
from ..base.user_modules import USER_MODULE_PREFIX, UserFileError

if TYPE_CHECKING:
    import typer

EXIT_USAGE_ERROR, EXIT_USER_CODE_ERROR, EXIT_INTERNAL_ERROR = 2, 3, 70
USAGE_ERRORS = (ValueError, ImportError, OSError, sqlite3.Error, MemoryError, BrokenExecutor)
# If this environment variable is set, errors come with the full traceback.
DEBUG_VARIABLE = "RESEMBLANCE_DEBUG"
PACKAGE_ROOT = Path(__file__).parents[1]
RUN_DATE_KEY = f"{__name__}.date"  # date of the run, in the metadata of the command context
# Files that the run could not write, with their errors, in the same metadata.
UNWRITTEN_FILES_KEY = f"{__name__}.unwritten"
# Advice for Python in messages of the library, and the words for the command line.
PYTHON_ADVICE = (
    (r"^(compare|evidence|score_models|drift|upgrade_index|run|combine|bench\.rank): ", ""),
    (r"; if these are batches of one layer, pass np\.concatenate\(X\)", ""),
    (r"; for one use rs\.evidence", "; for a single subject use resemblance evidence"),
    (r"paired=False, or --unpaired", "--unpaired"),
)
TRACEBACK_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)\n(?: {4,}(?!File )(.+)\n)?')


def print_error(message: str, code: int = EXIT_USAGE_ERROR) -> int:
    """Print an error as a single line on standard error, and return ``code``."""
    print(f"error: {escape_control_characters(' '.join(message.split()))}", file=sys.stderr)
    return code


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print warnings inside the ``with`` block as single lines on standard error, without the
    source line of the warning."""

    def show(message: Warning | str, *arguments: object, **options: object) -> None:
        print(
            f"warning: {escape_control_characters(' '.join(str(message).split()))}", file=sys.stderr
        )

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def report_error(error: Exception | SystemExit) -> int:
    """Print an error on standard error and return the exit code.

    The error is a mistake in the call (2), an error in a user's file (3), or a defect of this
    package (70).
    """
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    # Typer's own errors, recognised by this method because Typer exports their classes under
    # varying names.
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        return print_error(format_message())
    if isinstance(error, UserFileError):
        return print_error(str(error), EXIT_USER_CODE_ERROR)
    if frames := user_code_frames(error):
        lines = *getattr(error, "__notes__", ()), *frames
        print(f"error: {type(error).__name__}: {error}", *lines, sep="\n  ", file=sys.stderr)
        return EXIT_USER_CODE_ERROR
    if isinstance(error, USAGE_ERRORS) and not _is_array_operation_error(error):
        return print_error(_without_python_advice(str(error)) or type(error).__name__)
    return _report_internal_error(error)


def _without_python_advice(text: str) -> str:
    """Return a message of the library for the command line, with the advice for Python in
    ``PYTHON_ADVICE`` replaced."""
    for pattern, words in PYTHON_ADVICE:
        text = re.sub(pattern, words, text)
    return text


def user_code_frames(error: BaseException) -> list[str]:
    """Return the lines of users' files in the traceback of an error, also of an error in a worker,
    as "file:line, in function: code".

    The value is [] for an error without lines of users' files.
    """
    files = {
        getattr(module, "__file__", None)
        for name, module in sys.modules.items()
        if name.startswith(USER_MODULE_PREFIX)
    }
    # The frames of a worker arrive as text only, as the cause of the error.
    frames = TRACEBACK_FRAME.findall("".join(traceback.format_exception(error)))
    lines = [
        f"{_relative_path(file)}:{line}, in {name}: {code}"
        for file, line, name, code in frames
        if file in files
    ]
    return list(dict.fromkeys(lines))


def _is_array_operation_error(error: Exception) -> bool:
    """Return whether an error is from a failed array operation, not from a check of the user's
    input.

    Only ``ValueError`` itself and the error classes of numpy can be such errors. The last line of
    the traceback decides. A ``raise`` statement in this package, or in code outside site-packages,
    is a check of input. Any other line, and any line of another installed package, is an array
    operation.
    """
    if type(error) is not ValueError and not type(error).__module__.startswith("numpy"):
        return False
    # The cause of an error in a worker contains the text of the traceback.
    cause = error.__cause__
    is_remote = type(cause).__name__ == "_RemoteTraceback"
    frames = TRACEBACK_FRAME.findall(
        str(cause) if is_remote else "".join(traceback.format_exception(error))
    )
    file, _, _, code = frames[-1] if frames else ("", "", "", "")
    place = Path(file)
    is_foreign = "site-packages" in place.parts and not place.is_relative_to(PACKAGE_ROOT)
    return bool(code) and (is_foreign or not code.startswith("raise"))


def _report_internal_error(error: BaseException) -> int:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    print(
        f"internal error: {text} ({Path(frame.filename).name}:{frame.lineno}, in {frame.name})\n"
        f"This is a bug in resemblance. Please report it with the output of the command under "
        f"{DEBUG_VARIABLE}=1.",
        file=sys.stderr,
    )
    return EXIT_INTERNAL_ERROR


def _relative_path(file: str) -> str:
    path, cwd = Path(file), Path(os.path.realpath(Path.cwd()))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else file


def silence_warnings(is_quiet: bool) -> None:
    """Ignore user warnings if the command is quiet."""
    if is_quiet:
        warnings.simplefilter("ignore", UserWarning)


def try_to_write(
    context: typer.Context, noun: str, path: Path, write: Callable[[], object]
) -> None:
    """Call ``write`` for a file beside the answer of a command; a failure does not end the run.

    ``noun``: the file in messages. A file that the answer cannot provide (``ValueError``) causes a
    note, not an error. A file that the disk cannot store (``OSError``) ends the command with an
    error after all other outputs.
    """
    try:
        write()
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        print(escape_control_characters(f"no {noun} written to {path}: {reason}"), file=sys.stderr)
        context.meta.setdefault(UNWRITTEN_FILES_KEY, {})[path] = error


def unwritten_files(context: typer.Context) -> Mapping[Path, Exception]:
    """Return the errors of the files that :func:`try_to_write` could not write, by path."""
    return dict(context.meta.get(UNWRITTEN_FILES_KEY, {}))


def report_written_files(paths: Iterable[Path | None], page: Path | None, quiet: bool) -> None:
    """Print the names of the written files, ``paths`` without None, on standard error unless
    ``quiet``, and open ``page``, if any, in the browser."""
    if not quiet and (names := [str(path) for path in paths if path]):
        print(escape_control_characters(f"wrote {', '.join(names)}"), file=sys.stderr)
    if page is not None:
        from ..report.page import open_page

        open_page(page)


def report_failures(content: Any, quiet: bool) -> int:
    """Print on standard error how many values of ``content``, a comparison or an evidence, could
    not be computed, and the most frequent reason; return the exit code: 1 for such values,
    otherwise 0.

    A measure without its package does not count, and is named unless ``quiet``.
    """
    from ..comparison.comparison import Comparison
    from ..report.comparing.stats import failure_groups

    comparison = content if isinstance(content, Comparison) else content.comparison
    groups = failure_groups(comparison)
    for group in groups:
        # A measure of the default list without its package was not requested explicitly.
        if group.reason.startswith(MISSING_DEPENDENCY) and not quiet:
            print(f"{', '.join(group.measures)} left out: {group.reason}", file=sys.stderr)
    failed = [group for group in groups if not group.reason.startswith(MISSING_DEPENDENCY)]
    if not failed:
        return 0
    total = len(comparison.measures) * len(comparison.rows) * len(comparison.columns)
    n_failed, reason = sum(group.values for group in failed), failed[0].reason
    return print_error(
        f"{n_failed} of {total} values could not be computed; most often: {reason}", code=1
    )


def report_interruption(
    save: Path | None, results: str = "results", is_folder: bool = False
) -> int:
    """Report the saved results of an interrupted command on standard error, and return the exit
    code 130.

    ``save``: the file, or with ``is_folder`` the folder, of the results; None if nothing is saved.
    ``results``: the noun of the results.
    """
    message = "nothing was saved; with --save FILE an interrupted run can resume"
    if save is not None and is_folder:
        message = f"finished results are saved in {save}; repeat the command to resume"
    elif save is not None:
        from ..comparison.store import ScoreFile

        with ScoreFile(save) as store:
            count = store.count()
        message = f"{count} {results} are saved in {save}; repeat the command to resume"
    print(escape_control_characters(f"interrupted: {message}"), file=sys.stderr)
    return 130


# ---------------------------------------------------------------------- the command that is running


def command_as_typed(context: typer.Context) -> str:
    """Return the running command as a line of the shell, without options at their default
    values."""
    words = context.command_path.split()
    for parameter in context.command.params:
        words += _parameter_words(parameter, context.params.get(parameter.name or ""), context)
    return replace_undecodable(shlex.join(words))


def run_provenance(context: typer.Context) -> dict[str, str]:
    """Return the running command, the date, the machine, and versions of libraries, as texts by
    name.

    All outputs of a run share the same date.
    """
    from ..comparison.provenance import describe_machine, library_versions

    return {
        "date": context.meta.setdefault(
            RUN_DATE_KEY, datetime.now(UTC).isoformat(timespec="seconds")
        ),
        "command": command_as_typed(context),
        "machine": describe_machine(),
        "libraries": ", ".join(f"{name} {number}" for name, number in library_versions().items()),
    }


def _parameter_words(parameter: Any, value: Any, context: typer.Context) -> Iterator[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if parameter.param_type_name == "argument":
        yield from (str(item) for item in values if item is not None)
    elif value != parameter.get_default(context) and value not in (None, [], ()):
        for item in values:
            yield from _option_words(parameter, item)


def _option_words(parameter: Any, value: Any) -> Iterator[str]:
    if value is False and parameter.secondary_opts:
        yield parameter.secondary_opts[0]
    elif isinstance(value, bool):
        yield parameter.opts[0]
    else:
        yield from (parameter.opts[0], str(value))


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a function (stage, done, total) that shows progress on standard error; None if quiet.

    On a terminal, a bar per stage with the time left; otherwise log lines.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield ProgressLog()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    jobs: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def update(stage: str, done: int, total: int) -> None:
            if stage not in jobs:
                jobs[stage] = bars.add_task(stage, total=total)
            bars.update(jobs[stage], completed=done, total=total)

        yield update


class ProgressLog:
    """Progress as log lines: at the start, at the end and at every tenth of every stage."""

    def __init__(self) -> None:
        self._last: tuple[str, int] = ("", -1)
        self._started: dict[str, tuple[float, int]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print a line on standard error if another tenth of ``stage`` is done. ``done``,
        ``total``: numbers of steps."""
        start_time, start_count = self._started.setdefault(stage, (time.monotonic(), done))
        tenth = 10 * done // max(total, 1)
        if (stage, tenth) == self._last:
            return
        self._last = (stage, tenth)
        note = format_time_left(
            time.monotonic() - start_time, done - start_count, total - start_count
        )
        print(f"{stage}: {done} of {total}{note}", file=sys.stderr, flush=True)
