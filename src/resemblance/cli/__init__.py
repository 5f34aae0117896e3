"""The command line: each command does what the library offers, each mistake is one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from ..engine.memory import keep_freed_memory
from .ending import end_with, own_frames, plain_warnings

# By panel of the help, the commands: the module of each, and what it does. A module is imported
# only when its command is called.
PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Compare": {
        "compare": ("comparing", "Compare layers of the same samples by many measures."),
        "models": ("models", "Run models over the same samples and compare all their layers."),
        "stream": ("comparing", "Compare layers of any number of samples, read in batches."),
        "demo": ("models", "Train small networks, compare all their layers, write a page."),
    },
    "Certainty": {
        "evidence": ("certainty", "Compute intervals, chance levels and p-values of similarities."),
        "across": ("certainty", "Score models on several subjects, with the noise ceiling."),
    },
    "Drift": {
        "drift": ("drift", "Report how a representation changed between two versions."),
        "upgrade": ("drift", "Keep an index under a new embedding model, or re-embed?"),
    },
    "Benchmarks": {
        "resi": ("entries", "The ReSi benchmark: six tests on models of three domains."),
        "sensitivity": ("entries", "Do measures respond to what affects function?"),
        "manifolds": ("entries", "Swiss rolls, rings and clusters of known similarity."),
        "stability": ("entries", "Do measures see what was deleted, and warn in time?"),
        "joint": ("entries", "Rank the measures that several benchmarks share."),
        "pack": ("packs", "The pinned features of a benchmark, for comparable scores."),
    },
    "Board": {
        "board": ("board", "The ranking of all measures on the same pinned features."),
        "rank": ("ranking", "Score a measure, and print where it stands among all others."),
        "submit": ("submitting", "Add a measure to a repository of results."),
        "check": ("comparing", "Check measures against what they claim, on small data."),
    },
    "Information": {
        "measures": ("comparing", "List the measures with their claims."),
        "explain": ("comparing", "Explain a measure: definition, claims, parameters."),
        "cite": ("comparing", "Print what to cite."),
    },
}
MODULES = {name: module for panel in PANELS.values() for name, (module, _) in panel.items()}


class Commands(TyperGroup):
    """All commands, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None for one there is not."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            module = import_module(f".{MODULES[cmd_name]}", __name__)
            group = typer.main.get_group(module.commands)
            self.commands.update(group.commands)
        if cmd_name not in MODULES:  # for the names that it may be meant to be
            for name in MODULES:
                self.get_command(ctx, name)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, for which no command is imported."""
        lines = {
            name: TyperCommand(name=name, help=line, rich_help_panel=title)
            for title, panel in PANELS.items()
            for name, (_, line) in panel.items()
        }
        about = {"name": self.name, "help": self.help, "params": self.params}
        TyperGroup(commands=lines, **about).format_help(ctx, formatter)  # type: ignore[arg-type]


commands = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compare neural-network representations: measures with proven claims, and one fast "
    "engine for all pairs.",
)


def app(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    0 fine, 1 the command's own no (drift, values that could not be computed), 2 mistaken use, 3 an
    error in a user's own file, 70 a defect of this package, 130 interrupted.
    """
    _prepare_streams()
    keep_freed_memory()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code.

    A mistake is one line on standard error, not a traceback.
    """
    try:
        with plain_warnings():
            return int(
                commands(
                    list(arguments) or ["--help"], prog_name="resemblance", standalone_mode=False
                )
                or 0
            )
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except SystemExit as error:  # of a user's file, which would end the command as if all were well
        if not own_frames(error):
            raise
        return end_with(error)
    except Exception as error:
        return end_with(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
        elif hasattr(
            stream, "reconfigure"
        ):  # a character that the terminal does not have is no reason to fail
            stream.reconfigure(errors="replace")


@commands.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"resemblance {__version__}")
        raise typer.Exit()
