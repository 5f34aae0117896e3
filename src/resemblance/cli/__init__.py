"""The command line: each command does what the library offers, each mistake is one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from .. import __version__
from ..engine.memory import keep_freed_memory
from .ending import one_line_warnings, report_error, user_code_frames

if TYPE_CHECKING:
    import typer

# By panel of the help, the commands: the module of each, and what it does. A module is imported
# only when its command is called.
PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Compare": {
        "compare": ("comparing", "Compare layers of the same samples by many measures."),
        "compare-models": ("models", "Run models on the same samples and compare all layers."),
        "statistic": ("statistics", "Compute statistics of single representations."),
        "demo": ("models", "Train small networks, compare all their layers, write a page."),
    },
    "Certainty": {
        "evidence": ("certainty", "Compute intervals, chance levels and p-values of similarities."),
        "score-models": ("certainty", "Score models on several subjects, with the noise ceiling."),
    },
    "Versions": {
        "drift": ("drift", "Report how a representation changed between two versions."),
        "upgrade-index": ("drift", "Keep an index under a new embedding model, or re-embed?"),
    },
    "Benchmarks": {
        "bench": ("entries", "Benchmarks of measures: resi, sensitivity, manifolds, stability."),
        "pack": ("packs", "The pinned features of a benchmark, for comparable scores."),
        "leaderboard": ("board", "The ranking of all measures on the same pinned features."),
        "rank": ("ranking", "Score a measure, and print where it stands among all others."),
        "check": ("comparing", "Check measures against what they claim, on small data."),
    },
    "Information": {
        "measures": ("comparing", "List the measures with their claims."),
        "explain": ("comparing", "Explain a measure: definition, claims, parameters."),
        "cite": ("comparing", "Print what to cite."),
    },
}


@cache
def commands() -> typer.Typer:
    """Return all commands."""
    from .groups import lazy_command_line

    return lazy_command_line(PANELS)


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
    words = list(arguments) or ["--help"]
    if words == ["--version"]:  # which needs no command
        print(f"resemblance {__version__}")
        return 0
    try:
        with one_line_warnings():
            return int(commands()(words, prog_name="resemblance", standalone_mode=False) or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except SystemExit as error:  # of a user's file, which would end the command as if all were well
        if not user_code_frames(error):
            raise
        return report_error(error)
    except Exception as error:
        return report_error(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
        elif hasattr(
            stream, "reconfigure"
        ):  # a character that the terminal does not have is no reason to fail
            stream.reconfigure(errors="replace")
