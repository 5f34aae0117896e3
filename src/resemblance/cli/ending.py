"""How a command ends: messages and progress on standard error, exit codes, and pages to open."""

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
# with it in the environment, errors come with their full traceback
DEBUG_VARIABLE = "RESEMBLANCE_DEBUG"
PACKAGE_ROOT = Path(__file__).parents[1]
RUN_DATE_KEY = f"{__name__}.date"  # of the run, in the meta data of its context
# files of the run, with the error of each, in the same place
UNWRITTEN_FILES_KEY = f"{__name__}.unwritten"
TRACEBACK_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)\n(?: {4,}(?!File )(.+)\n)?')


def print_error(message: str, code: int = EXIT_USAGE_ERROR) -> int:
    """Print a mistake as one line, and return the exit code."""
    print(f"error: {escape_control_characters(' '.join(message.split()))}", file=sys.stderr)
    return code


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print warnings as one line, like mistakes, without the line of Python that they come from."""

    def show(message: Warning | str, *arguments: object, **options: object) -> None:
        print(
            f"warning: {escape_control_characters(' '.join(str(message).split()))}", file=sys.stderr
        )

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def report_error(error: Exception | SystemExit) -> int:
    """Report an error and return the exit code.

    It is a mistake in the call, one in a user's file, or a defect of ours.
    """
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    format_message = getattr(
        error, "format_message", None
    )  # typer's own errors, by whatever name it exports them
    if format_message is not None:
        return print_error(format_message())
    if isinstance(error, UserFileError):
        return print_error(str(error), EXIT_USER_CODE_ERROR)
    if frames := user_code_frames(error):
        print(f"error: {type(error).__name__}: {error}", *frames, sep="\n  ", file=sys.stderr)
        return EXIT_USER_CODE_ERROR
    if isinstance(error, USAGE_ERRORS) and not _is_array_operation_error(error):
        return print_error(str(error) or type(error).__name__)
    return _report_internal_error(error)


def user_code_frames(error: BaseException) -> list[str]:
    """The places in users' files that an error came through, also in a worker.

    None for an error of another origin.
    """
    files = {
        getattr(module, "__file__", None)
        for name, module in sys.modules.items()
        if name.startswith(USER_MODULE_PREFIX)
    }
    # The frames of a worker travel as text only, as the cause of the error.
    frames = TRACEBACK_FRAME.findall("".join(traceback.format_exception(error)))
    lines = [
        f"{_relative_path(file)}:{line}, in {name}: {code}"
        for file, line, name, code in frames
        if file in files
    ]
    return list(dict.fromkeys(lines))


def _is_array_operation_error(error: Exception) -> bool:
    """Return whether a plain ``ValueError`` is of an operation on arrays that failed, and not of a
    ``raise`` of this package, or of code that is not installed, which check what users give."""
    if type(error) is not ValueError and not type(error).__module__.startswith("numpy"):
        return False
    cause = error.__cause__  # of an error in a worker: the text of its traceback
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
    """Ignore the warnings of a command that is to be quiet."""
    if is_quiet:
        warnings.simplefilter("ignore", UserWarning)


def try_to_write(
    context: typer.Context, noun: str, path: Path, write: Callable[[], object]
) -> None:
    """Write a file beside the answer of a command; a file that cannot be made does not end the run.

    A file that the answer does not have (``ValueError``) is a note and no mistake. A file that the
    disk does not take (``OSError``) ends the command with a mistake after all other outputs.
    """
    try:
        write()
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        print(escape_control_characters(f"no {noun} written to {path}: {reason}"), file=sys.stderr)
        context.meta.setdefault(UNWRITTEN_FILES_KEY, {})[path] = error


def unwritten_files(context: typer.Context) -> Mapping[Path, Exception]:
    """Return the files that :func:`try_to_write` could not write, with the error of each."""
    return dict(context.meta.get(UNWRITTEN_FILES_KEY, {}))


def report_written_files(paths: Iterable[Path | None], page: Path | None, quiet: bool) -> None:
    """Report which files were written, and open the page, if any, in the browser."""
    if not quiet and (names := [str(path) for path in paths if path]):
        print(escape_control_characters(f"wrote {', '.join(names)}"), file=sys.stderr)
    if page is not None:
        from ..report.page import open_page

        open_page(page)


def report_failures(content: Any, quiet: bool) -> int:
    """Say which values of a comparison or an evidence could not be computed; return the exit code
    of the command."""
    from ..comparison.comparison import Comparison
    from ..report.comparing.stats import failure_groups

    comparison = content if isinstance(content, Comparison) else content.comparison
    groups = failure_groups(comparison)
    for group in groups:
        # of the default list: nobody asked for it
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
    """Say what an interrupted command saved, in a file or a folder; return its exit code."""
    message = "nothing was saved; with --save FILE a later run continues"
    if save is not None and is_folder:
        message = f"what is done is in {save}; the same command continues from there"
    elif save is not None:
        from ..comparison.store import ScoreFile

        with ScoreFile(save) as store:
            count = store.count()
        message = f"{count} {results} are saved in {save}; the same command continues from there"
    print(escape_control_characters(f"interrupted: {message}"), file=sys.stderr)
    return 130


# ---------------------------------------------------------------------- the command that is running


def command_as_typed(context: typer.Context) -> str:
    """Return the running command without options that have their defaults."""
    words = context.command_path.split()
    for parameter in context.command.params:
        words += _parameter_words(parameter, context.params.get(parameter.name or ""), context)
    return replace_undecodable(shlex.join(words))


def run_provenance(context: typer.Context) -> dict[str, str]:
    """Return the command that is running, the date, the machine, and versions of libraries.

    All that one run writes has one date, so that its file and its page agree.
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
    """Yield what shows progress on standard error.

    A bar per stage with the time left, or lines if it is a file.
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
    """Progress as lines of a log: one at the start, the end and each tenth of every stage."""

    def __init__(self) -> None:
        self._last: tuple[str, int] = ("", -1)
        self._started: dict[str, tuple[float, int]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print a line if another tenth is done."""
        start_time, start_count = self._started.setdefault(stage, (time.monotonic(), done))
        tenth = 10 * done // max(total, 1)
        if (stage, tenth) == self._last:
            return
        self._last = (stage, tenth)
        note = format_time_left(
            time.monotonic() - start_time, done - start_count, total - start_count
        )
        print(f"{stage}: {done} of {total}{note}", file=sys.stderr, flush=True)
