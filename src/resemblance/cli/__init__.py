"""The command line: every command wraps a function of the library, and every mistake is a line on
standard error."""

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

# By panel of the help: command name, module and help line. A module is imported only when its
# command is called.
PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Compare": {
        "compare": ("comparing", "Compare layers of the same samples with many measures."),
        "compare-models": ("models", "Run models on the same samples and compare all layers."),
        "statistic": ("statistics", "Compute statistics of single representations."),
        "demo": ("models", "Train small networks, compare all layers, and write a page."),
    },
    "Certainty": {
        "evidence": ("certainty", "Compute intervals, chance levels and p-values of similarities."),
        "score-models": (
            "certainty",
            "Score models on the recordings of several subjects, with a noise ceiling.",
        ),
        "score-models-over-time": (
            "certainty",
            "Score models at every time of the recordings of several subjects.",
        ),
    },
    "Versions": {
        "drift": ("drift", "Report how a representation changed between two versions."),
        "upgrade-index": (
            "drift",
            "Decide whether a search index can be kept under a new embedding model.",
        ),
    },
    "Benchmarks": {
        "bench": (
            "entries",
            "Run benchmarks of measures: resi, sensitivity, manifolds, stability.",
        ),
        "pack": (
            "packs",
            "List, fetch, verify and build feature packs: the frozen features of a benchmark.",
        ),
        "leaderboard": ("board", "Print which measures answer which question, on frozen features."),
        "rank": ("ranking", "Score a measure on frozen features, and compare it with a baseline."),
        "check": ("comparing", "Test the declared properties of measures on small data."),
    },
    "Information": {
        "measures": ("comparing", "List the measures with their declared properties."),
        "explain": ("comparing", "Explain a measure: definition, declared properties, parameters."),
        "cite": ("comparing", "Print the references to cite."),
    },
}


@cache
def commands() -> typer.Typer:
    """Return the command line with all commands."""
    from .groups import lazy_command_line

    return lazy_command_line(PANELS)


def app(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Exit codes: 0 success; 1 the command's negative answer (drift, missing values); 2 mistaken use;
    3 an error in a user's own file; 70 a defect of this package; 130 interrupted.
    """
    _prepare_streams()
    keep_freed_memory()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line with the words ``arguments`` and return the exit code of :func:`app`; no
    words print the help.

    A mistake prints a line on standard error, not a traceback.
    """
    words = list(arguments) or ["--help"]
    # --version needs no command.
    if words == ["--version"]:
        print(f"resemblance {__version__}")
        return 0
    try:
        with one_line_warnings():
            return int(commands()(words, prog_name="resemblance", standalone_mode=False) or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    # SystemExit in a user's file would end the command with success.
    except SystemExit as error:
        if not user_code_frames(error):
            raise
        return report_error(error)
    except Exception as error:
        return report_error(error)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller has closed the stream
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
        # A character that the terminal cannot encode must not end the command.
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
