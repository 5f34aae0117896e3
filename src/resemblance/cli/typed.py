"""The command line of the command that is running."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import typer

from ..display import encodable
from ..provenance import machine_words, versions


def typed_command(context: typer.Context) -> str:
    """Return the running command without options that have their defaults."""
    words = context.command_path.split()
    for parameter in context.command.params:
        words += _words(parameter, context.params.get(parameter.name or ""), context)
    return encodable(shlex.join(words))


def run_provenance(context: typer.Context) -> dict[str, str]:
    """Return the command that is running, the date, the machine, and versions of libraries."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": typed_command(context),
        "machine": machine_words(),
        "libraries": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }


def _words(parameter: Any, value: Any, context: typer.Context) -> Iterator[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if parameter.param_type_name == "argument":
        yield from (str(one) for one in values if one is not None)
    elif value != parameter.get_default(context) and value not in (None, [], ()):
        for one in values:
            yield from _option(parameter, one)


def _option(parameter: Any, value: Any) -> Iterator[str]:
    if value is False and parameter.secondary_opts:
        yield parameter.secondary_opts[0]
    elif isinstance(value, bool):
        yield parameter.opts[0]
    else:
        yield from (parameter.opts[0], str(value))
