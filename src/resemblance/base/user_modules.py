"""The modules that define measures and statistics, files of users among them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

SIBLING_MODULES = "__neighbours__"  # the files beside a user's file that it imports
USER_MODULE_PREFIX = "measures_"  # how the modules begin that are made of users' files
PACKAGE = __name__.partition(".")[0]  # the name of this library


class UserFileError(ValueError):
    """The file of a user cannot be loaded, or what it defines fails."""


def user_module_name(file: str) -> str:
    """Return the name of the module that is made of a user's file; it cannot be imported."""
    digest = hashlib.blake2b(os.path.realpath(file).encode(), digest_size=6)
    return f"{USER_MODULE_PREFIX}{digest.hexdigest()}"


def restore_function(
    module: str, name: str, parameters: tuple[tuple[str, Any], ...], file: str | None
) -> Any:
    """Return a measure or statistic by its place of definition, as another process needs it."""
    try:
        definition = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        if file is None:
            raise
        definition = getattr(load_user_file(file, module), name)
    return definition.with_parameters(**dict(parameters))


def function_version(function: Callable[..., Any]) -> int:
    """Return 1 for a measure of this library; for any other a number that depends on its file, and
    on the files beside that one which it imports."""
    if function.__module__.partition(".")[0] == PACKAGE:
        return 1
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    module = sys.modules.get(function.__module__)
    files = [file, *getattr(module, SIBLING_MODULES, ())] if file else []
    try:
        texts = [Path(path).read_text(encoding="utf-8") for path in files]
        text = "".join(texts) if texts else inspect.getsource(function)
    except (OSError, TypeError, UnicodeDecodeError):
        return 1
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


class SourceTextLoader(SourceFileLoader):
    """Runs the text of a file, and neither reads nor writes what was compiled of it before: a file
    in ``__pycache__`` may hold other code than the one that is read and reviewed."""

    def get_code(self, fullname: str) -> Any:
        """Return the text of a module, compiled."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_user_file(file: str, name: str) -> Any:
    """Run the text of a Python file that is not part of a package, such as a user's measures.

    The file imports the files and packages beside it, as a script does.
    """
    with import_siblings(file) as imported:
        module = _execute_source(file, name, None)
    paths = sorted({str(part.__file__) for part in imported})
    if paths:
        setattr(module, SIBLING_MODULES, tuple(paths))
    return module


@contextmanager
def import_siblings(file: str) -> Iterator[list[ModuleType]]:
    """Let code import what is beside a file, by its text, and yield the modules that it imports.

    Afterwards the modules of the process are as they were, so that the file of another folder
    imports its own neighbours of the same names.
    """
    folder, imported = Path(file).resolve().parent, list[ModuleType]()
    if any(
        isinstance(finder, _SiblingFinder) and finder.folder == folder for finder in sys.meta_path
    ):
        yield imported  # the file is being loaded
        return
    finder = _SiblingFinder(folder)
    hidden = {name: sys.modules.pop(name) for name in finder.names_of_others()}
    sys.meta_path.insert(0, finder)
    try:
        yield imported
    finally:
        sys.meta_path.remove(finder)
        imported += [sys.modules.pop(name) for name in finder.names if name in sys.modules]
        sys.modules.update(hidden)


class _SiblingFinder:
    """Finds the modules and packages of a folder before all others, as Python does for a script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []  # the modules that it found

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how a module in the folder is loaded; None for one that is elsewhere."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == PACKAGE:
            return None
        if path is not None and top not in self.names:
            return None  # a part of a package that is elsewhere
        for place in [str(self.folder)] if path is None else path:
            spec = FileFinder(place, (SourceTextLoader, SOURCE_SUFFIXES)).find_spec(name)
            if spec is not None and spec.loader is not None:
                self.names.append(name)
                return spec
        return None

    def names_of_others(self) -> list[str]:
        """Return the modules of users elsewhere that go by the name of one in the folder, and what
        is inside them."""
        tops = {p.stem for p in self.folder.glob("*.py")}
        tops |= {p.parent.name for p in self.folder.glob("*/__init__.py")}
        tops -= {PACKAGE, "__main__"}
        return [
            name
            for name, module in sys.modules.items()
            if name.partition(".")[0] in tops and not self._stays(name, module)
        ]

    def _stays(self, name: str, module: Any) -> bool:
        file: Any = getattr(module, "__file__", None)
        is_installed = not file or bool({"site-packages", "dist-packages"} & set(Path(file).parts))
        is_here = bool(file) and Path(file).resolve().is_relative_to(self.folder)
        return is_installed or is_here or name in sys.stdlib_module_names


def load_packaged_file(file: str) -> Any:
    """Run a Python file of a package under its full name, so that it can import its neighbours,
    whose text is run, too."""
    path = Path(file).resolve()
    names = [path.stem]
    while (path.parent / "__init__.py").exists():
        path = path.parent
        names.insert(0, path.name)
    if names[0] not in sys.modules:
        sys.path_hooks.insert(0, _package_finder(path))
        _execute_source(str(path / "__init__.py"), names[0], [str(path)])
    return importlib.import_module(".".join(names))


def _package_finder(package: Path) -> Callable[[str], Any]:
    """Return what Python finds the modules in the folders of a package with."""
    finder = FileFinder.path_hook((SourceTextLoader, SOURCE_SUFFIXES))

    def find(folder: str) -> Any:
        if not Path(folder).is_relative_to(package):
            raise ImportError(f"{folder} is not of {package}")
        return finder(folder)

    return find


def _execute_source(file: str, name: str, folders: list[str] | None) -> Any:
    spec = importlib.util.spec_from_file_location(
        name, file, loader=SourceTextLoader(name, file), submodule_search_locations=folders
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
