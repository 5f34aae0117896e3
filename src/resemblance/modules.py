"""The modules that define measures and statistics, files of users among them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OWN_MODULE = "measures_"  # how the modules begin that are made of users' files


class OwnFileError(ValueError):
    """The file of a user cannot be loaded, or what it defines fails."""


def own_module(file: str) -> str:
    """Return the name of the module that is made of a user's file; it cannot be imported."""
    digest = hashlib.blake2b(os.path.realpath(file).encode(), digest_size=6)
    return f"{OWN_MODULE}{digest.hexdigest()}"


def restore(
    module: str, name: str, parameters: tuple[tuple[str, Any], ...], file: str | None
) -> Any:
    """Return a measure or statistic by its place of definition, as another process needs it."""
    try:
        definition = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        if file is None:
            raise
        definition = getattr(load_module(file, module), name)
    return definition.where(**dict(parameters))


def version_of(function: Callable[..., Any]) -> int:
    """Return 1 for a measure of this library; for any other a number that depends on its file."""
    if function.__module__.partition(".")[0] == __package__:
        return 1
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    try:
        text = Path(file).read_text(encoding="utf-8") if file else inspect.getsource(function)
    except (OSError, TypeError, UnicodeDecodeError):
        return 1
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def load_module(file: str, name: str) -> Any:
    """Import a Python file that is not part of a package, such as a user's own measures."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_packaged(file: str) -> Any:
    """Import a Python file of a package by its full name, so that it can import its neighbours.

    The folder that holds the package is added to where modules are looked for.
    """
    path = Path(file)
    names = [path.stem]
    while (path.parent / "__init__.py").exists():
        path = path.parent
        names.insert(0, path.name)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    return importlib.import_module(".".join(names))
