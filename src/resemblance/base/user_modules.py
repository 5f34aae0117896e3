"""Load the modules that define measures and statistics, including users' files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

SIBLING_MODULES = "__neighbours__"  # the attribute with the imported files of a user's folder
USER_MODULE_PREFIX = "measures_"  # the start of the module names of users' files
PACKAGE = __name__.partition(".")[0]  # the name of this package


class UserFileError(ValueError):
    """A user's file cannot be loaded, or a function defined in the file fails."""


def user_module_name(file: str) -> str:
    """Return the name under which a user's file is loaded: a hash of the path, which no import
    finds."""
    digest = hashlib.blake2b(os.path.realpath(file).encode(), digest_size=6)
    return f"{USER_MODULE_PREFIX}{digest.hexdigest()}"


def find_definition(module: str, name: str, file: str | None) -> Any:
    """Return the measure, statistic or function ``name`` of ``module``, the full module name, for
    unpickling in another process. ``file``: the path to load if no module has the name; without a
    path, the ``ModuleNotFoundError`` is raised."""
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        if file is None:
            raise
        return getattr(load_user_file(file, module), name)


def restore_function(
    module: str, name: str, parameters: tuple[tuple[str, Any], ...], file: str | None
) -> Any:
    """Return the measure or statistic ``name`` of ``module``, the full module name, with the
    parameters fixed, for unpickling in another process. ``parameters``: (name, value). ``file``:
    the path of a user's file; None for a module that Python can import."""
    return find_definition(module, name, file).with_parameters(**dict(parameters))


def function_version(function: Callable[..., Any]) -> int:
    """Return 1 for a measure of this package; for a user's measure, a hash of the file and of the
    imported files in the same folder.

    Without a readable file, the hash is of the function's source or bytecode; without bytecode, the
    version is 1.
    """
    if function.__module__.partition(".")[0] == PACKAGE:
        return 1
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    module = sys.modules.get(function.__module__)
    files = [file, *getattr(module, SIBLING_MODULES, ())] if file else []
    try:
        texts = [Path(path).read_text(encoding="utf-8") for path in files]
        text = "".join(texts) if texts else inspect.getsource(function)
        data = text.encode()
    except (OSError, TypeError, UnicodeDecodeError):
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None:
            return 1
        data = marshal.dumps(code, 2)  # typed at a prompt; later versions depend on references
    return _short_hash(data)


def text_version(text: str) -> int:
    """Return an integer that changes with a text."""
    return _short_hash(text.encode())


def _short_hash(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little")


class SourceTextLoader(SourceFileLoader):
    """Loads a module from source text and neither reads nor writes ``__pycache__``: cached bytecode
    may differ from the reviewed source."""

    def get_code(self, fullname: str) -> Any:
        """Return the compiled source of a module."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_user_file(file: str, name: str) -> Any:
    """Execute a Python file outside any package, such as a user's measures, and return the module.
    ``name``: the module name in ``sys.modules``.

    The file can import files and packages in the same folder, as a script can.
    """
    with import_siblings(file) as imported:
        module = _execute_source(file, name, None)
    paths = sorted({str(part.__file__) for part in imported})
    if paths:
        setattr(module, SIBLING_MODULES, tuple(paths))
    return module


@contextmanager
def import_siblings(file: str) -> Iterator[list[ModuleType]]:
    """Make the files beside ``file`` importable inside the ``with`` block, and yield a list, which
    contains the imported modules after the block; in a nested call for the same folder the list
    stays empty.

    After the block, ``sys.modules`` is restored, so a file in another folder imports its own
    siblings with the same names. The modules are loaded from source text.
    """
    folder, imported = Path(file).resolve().parent, list[ModuleType]()
    if any(
        isinstance(finder, _SiblingFinder) and finder.folder == folder for finder in sys.meta_path
    ):
        yield imported  # a nested call: the folder is already importable
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
    """Finds modules and packages in a folder before any other folder, as Python does for a
    script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []  # the modules found in the folder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the import spec of a module in the folder; None for a module elsewhere."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == PACKAGE:
            return None
        if path is not None and top not in self.names:
            return None  # a submodule of a package in another folder
        for place in [str(self.folder)] if path is None else path:
            spec = FileFinder(place, (SourceTextLoader, SOURCE_SUFFIXES)).find_spec(name)
            if spec is not None and spec.loader is not None:
                self.names.append(name)
                return spec
        return None

    def names_of_others(self) -> list[str]:
        """Return the names of user modules loaded from elsewhere that share a top-level name with a
        file in the folder, including submodules."""
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
    """Execute a Python file of a package under the full module name, and return the module.
    ``file``: the path, in a folder with ``__init__.py``.

    The file can import its siblings; the package's ``__init__`` and the siblings run from source
    text, too.
    """
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
    """Return a path hook for importing the modules in the folders of a package from source text;
    ``ImportError`` for other folders."""
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
