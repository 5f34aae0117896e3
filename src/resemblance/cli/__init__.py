"""The command line: each command does what the library offers, each mistake is one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from .. import __version__
from ..engine.memory import keep_freed_memory
from . import comparing, entries
from .board import board_commands
from .checking import CHECK, check_command
from .choosing import CHOOSE, choose_command
from .cite import CITE, cite_command
from .demo import CALLS, demo_command
from .drift import DRIFT, drift_command
from .errors import end_with, own_frames, plain_warnings
from .evidence import EVIDENCE, evidence_command
from .joint import JOINT, joint_command
from .models import MODELS, models_command
from .options import examples, flowing
from .packs import packs
from .ranking import RANK, rank_command
from .stream import STREAM, stream_command
from .submitting import SUBMIT, submit_command

commands = typer.Typer(
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


comparing.add_commands(commands)
entries.add_commands(commands)
commands.command("check", epilog=examples(*CHECK))(check_command)
commands.command("choose", epilog=examples(*CHOOSE))(choose_command)
commands.command("models", epilog=examples(*MODELS))(models_command)
commands.command("stream", epilog=examples(*STREAM))(stream_command)
commands.command("evidence", epilog=examples(*EVIDENCE))(evidence_command)
commands.command("drift", epilog=examples(*DRIFT))(drift_command)
commands.command("joint", epilog=examples(*JOINT))(joint_command)
commands.command("rank", epilog=examples(*RANK))(rank_command)
commands.command("submit", epilog=examples(*SUBMIT))(submit_command)
commands.add_typer(packs, name="pack")
commands.add_typer(board_commands, name="board")
commands.command("cite", epilog=examples(*CITE))(cite_command)
commands.command("demo", epilog=examples(*CALLS))(demo_command)


for _command in commands.registered_commands:
    _command.help = flowing(_command.help or getattr(_command.callback, "__doc__", None))


@commands.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"resemblance {__version__}")
        raise typer.Exit()
