"""The command that compares two versions of a representation; its exit code is the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..display import encodable
from ..drift import DriftReport, drift
from ..drift.verdict import PURPOSES, Purpose
from ..report.of_drift import output_of
from ..report.output import Output
from ..representation import Representation
from .declaring import Seed, commands_of, run_provenance, writing
from .labels import read_labels
from .options import check_choice

DRIFT = (
    "drift old.npy new.npy",
    "drift old.npy new.npy --for head --labels classes.npy --html drift.html --open",
    "drift old.npy new.npy --threshold 0.05 -o drift.json --quiet",
)

For = Annotated[
    str,
    typer.Option(
        "--for",
        help="What counts as drift. index (the strictest): whatever breaks a search among old "
        "vectors by new ones. head: whatever breaks a classifier trained on the old version. "
        "geometry: only what no rotation, translation or rescaling can undo; exit code 0 then "
        "does not cover old vectors or heads.",
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        help='"calibrated" (default: from noise of size --tolerance), or one cut-off below 1 for '
        "all drifts on a 0-1 "
        "scale; 5 % is 0.05."
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        min=20, help="Samples to use, drawn at random; their neighbours are looked up among all."
    ),
]
Reference = Annotated[
    Path, typer.Argument(help="The version to compare with, a .npy file (samples, features).")
]
Current = Annotated[
    Path, typer.Argument(help="The current version, of the same samples in the same order.")
]
Tolerance = Annotated[
    float,
    typer.Option(help="Size of the noise of a calibrated threshold, in radii of the reference."),
]
Labels = Annotated[
    Path | None, typer.Option(help="A file with the class of each sample (.npy, .npz, .csv, .txt).")
]
Neighbours = Annotated[int, typer.Option("--k", min=1, help="Number of nearest neighbours.")]
Draws = Annotated[
    int, typer.Option(min=10, help="Number of random halves for intervals and thresholds.")
]


@writing(
    ("table", "json"),
    files=("reference", "current", "labels"),
    page="Write a page that shows what changed.",
)
def drift_command(
    reference: Reference,
    current: Current,
    context: typer.Context,
    progress: bool,
    purpose: For = "index",
    threshold: Threshold = "calibrated",
    tolerance: Tolerance = 0.05,
    labels: Labels = None,
    samples: Samples = 1000,
    k: Neighbours = 10,
    draws: Draws = 50,
    seed: Seed = 0,
) -> Output:
    """Report whether, how much and how a representation changed between two versions of a model.

    The exit code is 0 without drift above the threshold, 1 with drift, 2 for a mistake in the call.
    --for sets what counts: with "geometry" a rotation passes, although old and new vectors cannot
    be compared. Drifts are averages, so a change in a few samples may pass. Rows in another order
    never pass.
    """
    check_choice("for", purpose, tuple(PURPOSES))
    report = drift(
        read_version(reference),
        read_version(current),
        purpose=cast(Purpose, purpose),
        labels=read_labels(labels, "--labels"),
        threshold=_limit(threshold),
        tolerance=tolerance,
        k=k,
        draws=draws,
        seed=seed,
        max_samples=samples,
        progress=progress,
    )
    report = replace(report, provenance=_provenance(report, reference, current, context))
    return output_of(report)


def _provenance(
    report: DriftReport, reference: Path, current: Path, context: typer.Context
) -> dict[str, Any]:
    """Return the provenance with the command, the date, the machine and the files as passed.

    Arrays from archives have no path of their own.
    """
    files = {"reference": reference, "current": current}
    sides = {
        side: report.provenance[side] | {"file": encodable(str(file))}
        for side, file in files.items()
    }
    return report.provenance | sides | run_provenance(context)


def read_version(path: Path) -> Representation:
    """Return the one array of a file."""
    from ..sources.files import read_files

    arrays = list(read_files([path]).values())
    if len(arrays) != 1:
        raise ValueError(f"{path} holds {len(arrays)} arrays; give a file with one")
    return arrays[0]


def _limit(text: str) -> float | str:
    if text == "calibrated":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--threshold must be a number or calibrated; got {text!r}") from None


commands = commands_of(("drift", drift_command, DRIFT))
