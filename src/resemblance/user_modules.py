"""The modules that define measures and statistics, files of users among them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
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


class TextLoader(SourceFileLoader):
    """Runs the text of a file, and neither reads nor writes what was compiled of it before: a file
    in ``__pycache__`` may hold other code than the one that is read and reviewed."""

    def get_code(self, fullname: str) -> Any:
        """Return the text of a module, compiled."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_module(file: str, name: str) -> Any:
    """Run the text of a Python file that is not part of a package, such as a user's measures."""
    return _loaded(file, name, None)


def load_packaged(file: str) -> Any:
    """Run a Python file of a package under its full name, so that it can import its neighbours,
    whose text is run, too."""
    path = Path(file).resolve()
    names = [path.stem]
    while (path.parent / "__init__.py").exists():
        path = path.parent
        names.insert(0, path.name)
    if names[0] not in sys.modules:
        sys.path_hooks.insert(0, _finder_below(path))
        _loaded(str(path / "__init__.py"), names[0], [str(path)])
    return importlib.import_module(".".join(names))


def _finder_below(package: Path) -> Callable[[str], Any]:
    """Return what Python finds the modules in the folders of a package with."""
    finder = FileFinder.path_hook((TextLoader, SOURCE_SUFFIXES))

    def find(folder: str) -> Any:
        if not Path(folder).is_relative_to(package):
            raise ImportError(f"{folder} is not of {package}")
        return finder(folder)

    return find


def _loaded(file: str, name: str, folders: list[str] | None) -> Any:
    spec = importlib.util.spec_from_file_location(
        name, file, loader=TextLoader(name, file), submodule_search_locations=folders
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
