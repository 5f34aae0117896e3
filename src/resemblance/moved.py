"""Names of the version before: each leads to where the thing is now, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

RENAMED = {"Findings": "Result", "Setting": "RunConfig", "load_findings": "load_result"}


def finder(
    module: str, places: Sequence[str], papers: Mapping[str, str] = {}
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names are in these places now, modules of this
    package.

    ``papers``: names that left the package, and where they are in the repository; asking for one is
    an ``ImportError`` that says so.
    """

    def find(name: str) -> Any:
        if name in papers:
            raise ImportError(
                f"{module}.{name} is no longer in the package: it is in {papers[name]} of the "
                "repository, outside the library"
            )
        new = RENAMED.get(name, name)
        for place in () if name.startswith("__") else places:
            value = _value(import_module(place, __package__), new)
            if value is not None:
                message = f"{module}.{name} is now {__package__}{place}.{new}"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find


def renamed(owner: str, old: str, new: str) -> Any:
    """Return a property under the old name of an attribute, which gives the new one, with a
    warning."""

    def get(instance: Any) -> Any:
        message = f"{owner}.{old} is now {owner}.{new}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(instance, new)

    return property(get)


def _value(module: ModuleType, name: str) -> Any:
    """Return what has a name in a module, also a module inside it; None where there is nothing."""
    if not hasattr(module, name) and hasattr(module, "__path__"):
        full = f"{module.__name__}.{name}"
        return import_module(full) if find_spec(full) else None
    return getattr(module, name, None)


def register(module: str, places: Sequence[str], papers: Mapping[str, str] = {}) -> None:
    """Let a module that does not exist any more be imported, with its names in these places."""
    stand_in = ModuleType(module, "Moved: see the warnings.")
    stand_in.__getattr__ = finder(module, places, papers)  # type: ignore[method-assign]
    sys.modules[module] = stand_in
