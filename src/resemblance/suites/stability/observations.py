"""What disturbed weights do to a model: its last layer and its answers after each change, computed
from the weights or read from a pack."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...json_files import read_document
from ..experiments import Part
from ..pinned import Reduction

INDEX = "canary.json"
LAYERS = "canary"


class WeightChange(NamedTuple):
    """One change of weights and its effect on the answers: the accuracy with them, and how many
    answers became wrong or right."""

    name: str
    level: float
    accuracy: float
    lost: int
    gained: int


class Observation(NamedTuple):
    """A model before and after the changes of one part.

    ``reference``: its last layer as it was trained, (n_samples, n_features); ``layers``: that layer
    with unchanged weights, computed again, and after each change. ``accuracy``: before.
    """

    accuracy: float
    changes: tuple[WeightChange, ...]
    reference: np.ndarray
    layers: tuple[np.ndarray, ...]


def write_observation(
    pack: Path, number: int, part: Part, seen: Observation, reduction: Reduction
) -> dict[str, Any]:
    """Write the arrays of a part into a pack, and return the entry of its index."""
    dataset = part["model"].split("/")[1]
    arrays = [reduction.array(a, dataset) for a in (seen.reference, *seen.layers)]
    (pack / LAYERS).mkdir(exist_ok=True)
    np.save(pack / LAYERS / f"{number}.npy", np.stack(arrays))
    changes = [list(change) for change in seen.changes]
    return {"part": dict(part), "accuracy": seen.accuracy, "changes": changes}


def write_index(pack: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Write the index of all parts of a pack."""
    (pack / INDEX).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def observations(pack: Path) -> Iterator[tuple[Part, Observation]]:
    """Yield the parts of a pack, without measures, and what it has of each."""
    for number, entry in enumerate(_index(pack)):
        yield entry["part"], _observation(pack, number, entry)


def pinned_parts(pack: Path) -> list[Part]:
    """Return the parts of a pack, without measures."""
    return [entry["part"] for entry in _index(pack)]


def read_observation(pack: Path, part: Part) -> Observation:
    """Return what a pack has of a part."""
    number, entry = next(
        (i, entry) for i, entry in enumerate(_index(pack)) if entry["part"].items() <= part.items()
    )
    return _observation(pack, number, entry)


def _observation(pack: Path, number: int, entry: Mapping[str, Any]) -> Observation:
    arrays = np.load(pack / LAYERS / f"{number}.npy", allow_pickle=False)
    changes = tuple(WeightChange(*change) for change in entry["changes"])
    return Observation(entry["accuracy"], changes, arrays[0], tuple(arrays[1:]))


def _index(pack: Path) -> list[dict[str, Any]]:
    return read_document(pack / INDEX, list, "the index of a pack")
