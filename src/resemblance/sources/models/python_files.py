"""What a function in a Python file of a user returns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ...user_modules import OwnFileError, load_module, own_module

PYTHON = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")


def is_function(spec: str) -> bool:
    """Return whether a word has the form ``file.py:function``."""
    return PYTHON.fullmatch(spec) is not None


def call_function(spec: str, caller: str) -> tuple[Any, str]:
    """Return what ``file.py:function`` returns, and the name of the function.

    Raises ``ValueError`` for a file or function that does not exist, ``OwnFileError`` for one that
    fails or that ends the program.
    """
    match = PYTHON.fullmatch(spec)
    assert match is not None
    path, function = Path(match["file"]), match["function"]
    if not path.is_file():
        raise ValueError(f"{caller}: {path} does not exist; name the file of {function}")
    try:
        module = load_module(str(path.resolve()), own_module(str(path)))
    except (Exception, SystemExit) as error:  # which would end the command as if all were well
        raise OwnFileError(f"{caller}: {path} cannot be imported: {_reason(error)}") from error
    if not callable(getattr(module, function, None)):
        functions = [name for name, value in vars(module).items() if callable(value)]
        defined = ", ".join(name for name in functions if not name.startswith("_")) or "none"
        raise ValueError(f"{caller}: {path} has no function {function!r}; it has {defined}")
    try:
        return getattr(module, function)(), function
    except (Exception, SystemExit) as error:
        raise OwnFileError(f"{caller}: {spec} failed: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
