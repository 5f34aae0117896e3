"""How a command ends when something goes wrong: its message on standard error, its exit code."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path

from ..display import printable
from ..user_modules import OWN_MODULE, OwnFileError

USAGE, OWN, INTERNAL = 2, 3, 70
MISTAKES = (ValueError, ImportError, OSError, sqlite3.Error, MemoryError, BrokenExecutor)
DEBUG = "RESEMBLANCE_DEBUG"  # with it in the environment, errors come with their full traceback
PACKAGE = Path(__file__).parents[1]
FRAME = re.compile(r'File "(.+?)", line (\d+), in (\S+)\n(?: {4,}(?!File )(.+)\n)?')


def complain(message: str, code: int = USAGE) -> int:
    """Print a mistake as one line, and return the exit code."""
    print(f"error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as one line, like mistakes, without the line of Python that they come from."""

    def show(message: Warning | str, *where: object, **named: object) -> None:
        print(f"warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def end_with(error: Exception | SystemExit) -> int:
    """Report an error and return the exit code.

    It is a mistake in the call, one in a user's file, or a defect of ours.
    """
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    wrong_usage = getattr(
        error, "format_message", None
    )  # typer's own errors, by whatever name it exports them
    if wrong_usage is not None:
        return complain(wrong_usage())
    if isinstance(error, OwnFileError):
        return complain(str(error), OWN)
    if frames := own_frames(error):
        print(f"error: {type(error).__name__}: {error}", *frames, sep="\n  ", file=sys.stderr)
        return OWN
    if isinstance(error, MISTAKES) and not _is_of_numbers(error):
        return complain(str(error) or type(error).__name__)
    return _internal(error)


def own_frames(error: BaseException) -> list[str]:
    """The places in users' files that an error came through, also in a worker.

    None for an error of another origin.
    """
    files = {
        getattr(module, "__file__", None)
        for name, module in sys.modules.items()
        if name.startswith(OWN_MODULE)
    }
    # The frames of a worker travel as text only, as the cause of the error.
    frames = FRAME.findall("".join(traceback.format_exception(error)))
    lines = [
        f"{_short(file)}:{line}, in {name}: {code}"
        for file, line, name, code in frames
        if file in files
    ]
    return list(dict.fromkeys(lines))


def _is_of_numbers(error: Exception) -> bool:
    """Return whether a plain ``ValueError`` is of an operation on arrays that failed, and not of a
    ``raise`` of this package, or of code that is not installed, which check what users give."""
    if type(error) is not ValueError and not type(error).__module__.startswith("numpy"):
        return False
    cause = error.__cause__  # of an error in a worker: the text of its traceback
    is_remote = type(cause).__name__ == "_RemoteTraceback"
    frames = FRAME.findall(str(cause) if is_remote else "".join(traceback.format_exception(error)))
    file, _, _, code = frames[-1] if frames else ("", "", "", "")
    place = Path(file)
    is_foreign = "site-packages" in place.parts and not place.is_relative_to(PACKAGE)
    return bool(code) and (is_foreign or not code.startswith("raise"))


def _internal(error: BaseException) -> int:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())
    print(
        f"internal error: {what} ({Path(frame.filename).name}:{frame.lineno}, in {frame.name})\n"
        f"This is a bug in resemblance. Please report it with the output of the command under "
        f"{DEBUG}=1.",
        file=sys.stderr,
    )
    return INTERNAL


def _short(file: str) -> str:
    path, here = Path(file), Path(os.path.realpath(Path.cwd()))
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
