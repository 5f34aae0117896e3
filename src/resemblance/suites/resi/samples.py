"""Fewer inputs than a benchmark has, the same for all models of a data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...documents import replacing
from ...representation import Representation
from ...rng import generator
from ...subject import Subject


def rows_of(dataset: str, total: int, samples: int) -> np.ndarray:
    """Return which inputs are compared, in their order: the same for one data set and count, and
    part of those for a larger count."""
    drawn = generator(0, "samples of the ReSi benchmark", dataset).permutation(total)
    return np.sort(drawn[:samples])


def sampled(subjects: Iterable[Subject], samples: int | None, folder: Path) -> tuple[Subject, ...]:
    """Return models on fewer inputs, whose accuracies stay those on all inputs.

    ``folder``: keeps the layers on these inputs, so that they are read when they are needed.
    """
    return tuple(s if samples is None else _on_samples(s, samples, folder) for s in subjects)


def _on_samples(subject: Subject, samples: int, folder: Path) -> Subject:
    total = subject.last.shape[0]
    if total <= samples:
        return subject
    rows = rows_of(subject.traits["dataset"], total, samples)
    place = folder / str(samples) / subject.traits["recipe"] / subject.traits["pooling"]
    layers = {
        name: Representation(_file(layer, rows, place / f"{name}.npy"), layer.name)
        for name, layer in subject.layers.items()
    }
    outputs, labels = (
        None if values is None else values[rows] for values in (subject.outputs, subject.labels)
    )
    return replace(subject, layers=layers, outputs=outputs, labels=labels)


def _file(layer: Representation, rows: np.ndarray, file: Path) -> Path:
    """Return the file of some rows of a layer, written where it is not there yet."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as partial, partial.open("wb") as opened:
            np.save(opened, np.asarray(layer.source[rows]))
    return file
