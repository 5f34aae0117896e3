"""Public names with their parameters, and all commands with their options."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import resemblance as rs
from resemblance.cli import commands

MODULES = (
    "", ".bench", ".bench.packs", ".bench.ranking", ".plot", ".report", ".stability", ".statistics",
)  # fmt: skip


def names(scratch: Path) -> dict[str, Any]:
    return {
        "names": public_names(),
        "commands": dict(options_of(typer.main.get_command(commands()))),
    }


def public_names() -> dict[str, str]:
    """The parameters of every public name; of a class, also those of its public methods."""
    table = {}
    for module in (import_module(f"resemblance{name}") for name in MODULES):
        for name in module.__all__:
            member = getattr(module, name)
            table[f"{module.__name__}.{name}"] = parameters(member)
            if inspect.isclass(member):
                table |= {
                    f"{module.__name__}.{name}.{attribute}": parameters(getattr(member, attribute))
                    for base in member.__mro__
                    if base.__module__.startswith("resemblance.")
                    for attribute in vars(base)
                    if not attribute.startswith("_")
                }
    return table


def parameters(member: Any) -> str:
    function = member.function if isinstance(member, rs.Measure | rs.Statistic) else member
    if not callable(function):
        return type(function).__name__
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "()"
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return re.sub(" at 0x[0-9a-f]+", "", text)


def options_of(command: Any, path: str = "") -> Any:
    """Yield the names of all commands with their arguments and options."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from options_of(command.get_command(None, name), f"{path} {name}".strip())
    else:
        yield path, sorted("/".join([*p.opts, *p.secondary_opts]) for p in command.params)
