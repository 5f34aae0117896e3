"""The command that compares two versions of a representation and says, by its exit code, whether it drifted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..drift import DriftReport, drift
from ..report.output import deliver, deliver_tables
from ..representation import Representation
from .options import check_targets, choose_format


def drift_command(
    reference: Annotated[Path, typer.Argument(help="The version to compare with, a .npy file (samples, features).")],
    current: Annotated[Path, typer.Argument(help="The version in question, of the same samples in the same order.")],
    threshold: Annotated[
        str, typer.Option(help="calibrated (by noise of --tolerance), or a number for what lies between 0 and 1.")
    ] = "calibrated",
    tolerance: Annotated[float, typer.Option(help="Size of that noise, in radii of the reference.")] = 0.05,
    coordinates: Annotated[
        bool, typer.Option("--coordinates", help="Rotation, translation and scale are drift too: for heads in use.")
    ] = False,
    labels: Annotated[Path | None, typer.Option(help="A .npy file with the class of every sample.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that shows what changed.")] = None,
    format: Annotated[str | None, typer.Option(help="table or json; by default as --output says.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result here, not out.")] = None,
    draws: Annotated[int, typer.Option(min=10, help="Random halves for intervals and thresholds.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
) -> int:
    """Say whether, how much, and in what way a representation changed between two versions of a model.

    The exit code is 0 without drift beyond the threshold, 1 with drift, 2 for a mistake in the call.
    """
    format = choose_format(format, output, ("table", "json"))
    files = [str(path) for path in (reference, current, labels) if path is not None]
    check_targets(format, files, output, html, None)
    x, y = _read(reference), _read(current)
    found = drift(
        x, y, labels=_labels(labels), threshold=_threshold(threshold), tolerance=tolerance, coordinates=coordinates,
        draws=draws, seed=seed,
    )  # fmt: skip
    if html:
        _write_page(found, html)
    _emit(found, format, output)
    return int(found.drifted)


def _read(path: Path) -> Representation:
    from ..sources.files import read_files

    found = list(read_files([path]).values())
    if len(found) != 1:
        raise ValueError(f"{path} holds {len(found)} arrays; give a file with one")
    return found[0]


def _labels(path: Path | None) -> Any:
    import numpy as np

    if path is None:
        return None
    if not path.is_file():
        raise ValueError(f"{path} does not exist")
    try:
        classes = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read: a .npy file with one number or word per sample is needed") from error
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ValueError(f"{path} must be a .npy file with one class per sample")
    return classes


def _threshold(text: str) -> float | str:
    if text == "calibrated":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--threshold must be a number or calibrated; got {text!r}") from None


def _write_page(found: DriftReport, path: Path) -> None:
    from ..report.drift_page import write_drift_page

    write_drift_page(found, path)


def _emit(found: DriftReport, format: str, output: Path | None) -> None:
    from ..report.drift_data import drift_table, finding_table

    if format == "json":
        deliver(found.to_json(), output)
    else:
        deliver_tables([drift_table(found), "", finding_table(found), "", *found.lines, found.verdict], output)
