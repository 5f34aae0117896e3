"""The commands of the command line by their names, and files that they read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer

from resemblance import cli


def command_leaves() -> dict[str, Any]:
    """Return every command that has no commands of its own, by the words that call it."""
    return dict(_leaves(typer.main.get_command(cli.commands()), ""))


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for word in command.list_commands(None):
        yield from _leaves(command.get_command(None, word), f"{name} {word}".strip())


def write_arrays(folder: Path) -> None:
    """Write a.npy, b.npy, c.npy, of the same samples, and nan.npy with one missing value."""
    g = np.random.default_rng(0)
    a = g.standard_normal((30, 5))
    b = a @ g.standard_normal((5, 4)) + 0.5 * g.standard_normal((30, 4))
    with_nan = a.copy()
    with_nan[3, 2] = np.nan
    for name, array in {"a": a, "b": b, "c": g.standard_normal((30, 3)), "nan": with_nan}.items():
        np.save(folder / f"{name}.npy", array)
