"""The layers of a PyTorch model to watch: those asked for by name or pattern, or all its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any, NoReturn

WHOLE = "model"  # the name of a model without parts, which its own list of modules calls ""

SHOWN, ALIKE = 8, 0.6  # names of layers in an error, and how alike they are at least
Layers = Sequence[str] | None  # names and patterns


def watched_modules(model: Any, layers: Layers) -> dict[str, Any]:
    """Return the modules of layers by name, by default all without parts and graph convolutions.

    A module with several names goes by the first that was asked for. Raises ``ValueError`` for a
    layer that does not exist.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    modules = {name: module for name, module in modules.items() if name} or {WHOLE: model}
    if layers is None:
        modules = {WHOLE: model} if _passes_messages(model) else modules
        names = [name for name, module in modules.items() if _is_whole(name, module, modules)]
    else:
        names = []
        for pattern in layers:
            names += _matching(pattern, modules) or _no_layer(pattern, modules)
    if not names:
        raise ValueError(
            "layers is empty; name at least one, or leave it out for all modules without parts"
        )
    first: dict[int, str] = {}
    for name in names:
        first.setdefault(id(modules[name]), name)
    return {name: modules[name] for name in first.values()}


def check_called(
    layers: Layers, poolings: Iterable[str], modules: Iterable[str], called: Iterable[str]
) -> None:
    """Raise ``ValueError`` for a layer asked for, or with a pooling of its own, that is not called.

    ``modules`` are the names of the watched modules, ``called`` those of the layers that were
    called, such as "relu" or "relu#2".
    """
    names = {name.partition("#")[0] for name in called}
    for pattern in layers or ():
        check_any_called(pattern, _matching(pattern, modules), names)
    unknown = sorted(set(poolings) - names - set(called))
    if unknown:
        raise ValueError(
            f"pool names {unknown[0]!r}, which is not among the layers {', '.join(called)}"
        )


def check_any_called(asked: str, modules: Sequence[str], called: Set[str]) -> None:
    """Raise ``ValueError`` if there are modules of what was asked for, and none was called."""
    if modules and not called & set(modules):
        why = "the model uses its weights without calling it, or does not use it"
        raise ValueError(f"layer {asked!r} was never called: {why}; choose a module around it")


def _is_whole(name: str, module: Any, modules: Mapping[str, Any]) -> bool:
    """Return whether a module has no parts, or is a graph convolution, but not inside another."""
    outer = (name[:i] for i, letter in enumerate(name) if letter == ".")
    if any(_passes_messages(modules[outer_name]) for outer_name in outer):
        return False
    return _passes_messages(module) or not any(module.children())


def _passes_messages(module: Any) -> bool:
    return hasattr(module, "propagate") and hasattr(module, "message")


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    names = list(names)
    if pattern in names:
        return [pattern]
    expression = _expression(pattern)
    return [name for name in names if expression.fullmatch(name)]


def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern: ``*`` and ``?`` stay between dots, ``**`` does
    not, and ``[12]`` is one of these letters."""
    parts = re.split(r"(\*\*|\*|\?|\[[^\[\]]+\])", pattern)
    wild = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    pieces = (
        (wild.get(part) or _letters(part)) if i % 2 else re.escape(part)
        for i, part in enumerate(parts)
    )
    try:
        return re.compile("".join(pieces))
    except re.error as error:
        raise ValueError(f"layers: {pattern!r} is no pattern: {error}") from None


def _letters(part: str) -> str:
    """Return the expression of a choice of letters such as ``[0-3]`` or ``[!0]``."""
    inside = part[1:-1].replace("\\", "\\\\")
    return f"[^{inside[1:]}]" if inside[0] == "!" and len(inside) > 1 else f"[{inside}]"


def _no_layer(pattern: str, layers: Iterable[str]) -> NoReturn:
    names = list(layers)
    if "*" in pattern:  # those of blocks that differ in their numbers only
        names = list(dict.fromkeys(re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name) for name in names))
    ends = [name for name in names if name.endswith(f".{pattern}")]  # the number of a block
    close = ends or get_close_matches(pattern, names, n=SHOWN, cutoff=ALIKE)
    hint = f", did you mean {close[0]!r}?" if close else ";"
    listed = ", ".join([*dict.fromkeys((*close, *names))][:SHOWN])
    listed += ", ..." if len(names) > SHOWN else ""
    raise ValueError(f"the model has no layer {pattern!r}{hint} it has {listed}")
