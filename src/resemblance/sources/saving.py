"""Models of users, written to the folders that studies and commands read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..subject import DEFAULTS, Subject
from .folders import (
    FEATURES,
    IDS,
    NOT_LAYERS,
    TRAITS,
    check_outputs,
    check_traits,
    is_file_name,
    write_array,
)

# Names of arrays whose file, or the record of it, would be another file of the folder
RESERVED = (*NOT_LAYERS, *(Path(file).stem for file in (TRAITS, IDS, FEATURES)))
LONGEST_FILE = 250  # bytes of the name of a file without its ending


def save_subject(subject: Subject, folder: str | Path) -> Path:
    """Write a model to a new folder, which :func:`read_subjects` and every command read.

    The folder gets an array for each layer, the outputs, the labels, the ids of the samples, and
    ``traits.json`` with the name, the traits and the order of the layers. It is complete or not
    there. Returns its path.

    Raises ``ValueError``, before it writes anything, for a folder that exists, and for what would
    not read back as it is: names of layers that are no names of files or those of other files in
    the folder, layers with different ids, ids and traits that JSON cannot hold, and outputs,
    labels and traits that :func:`read_subjects` refuses.
    """
    folder = Path(folder)
    if folder.exists():
        raise ValueError(f"save_subject: {folder} exists; choose another folder, or remove it")
    arrays = _arrays(subject)
    documents = {TRAITS: _traits(subject, folder)}
    if (ids := _ids(subject)) is not None:
        documents[IDS] = _as_json({"ids": ids}, "ids")
    check_outputs(folder, arrays.get("outputs"), arrays.get("labels"))
    partial = folder.with_name(f".partial-{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for file, text in documents.items():
            (partial / file).write_text(text, encoding="utf-8")
        for name, array in arrays.items():
            write_array(partial / f"{name}.npy", array)
        os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def _traits(subject: Subject, folder: Path) -> str:
    """Return the document of the traits, checked as it is when it is read."""
    pooling, layers = subject.traits.get("pooling", ""), list(subject.layers)
    if clashes := sorted({"name", "layers", "maps"} & subject.traits.keys()):
        raise ValueError(f"save_subject: {clashes[0]!r} in traits is a part of its own; rename it")
    traits = {**subject.traits, "name": subject.name}
    traits["layers"] = layers if pooling == "" else {pooling: layers}
    if subject.maps:
        traits["maps"] = {layer: list(shape) for layer, shape in subject.maps.items()}
    text = _as_json(traits, "traits")
    check_traits(folder / TRAITS, {**DEFAULTS, **traits})
    return text


def _ids(subject: Subject) -> list[Any] | None:
    ids = subject.last.ids
    if any(r.ids != ids for r in subject.layers.values()):
        raise ValueError("save_subject: the layers have different ids; give all the same")
    if ids is not None and not all(isinstance(name, str | int) for name in ids):
        raise ValueError("save_subject: ids must be words or whole numbers to be written")
    return None if ids is None else list(ids)


def _arrays(subject: Subject) -> dict[str, np.ndarray]:
    """Return the arrays by the names of their files, which no other file of the folder has."""
    pooling, arrays = subject.traits.get("pooling", ""), {}
    for layer, r in subject.layers.items():
        name = layer if pooling == "" else f"{pooling}.{layer}"
        is_plain = all(isinstance(word, str) and is_file_name(word) for word in (pooling, layer))
        if not is_plain or not layer or name in RESERVED or len(name.encode()) > LONGEST_FILE:
            raise ValueError(
                f"save_subject: the layer {name!r} cannot be the name of a file in the folder: it "
                "has a slash, control characters or too many letters, or is one of "
                f"{', '.join(RESERVED)}; rename it"
            )
        arrays[name] = to_numpy(r.source)
    answers = {"outputs": subject.outputs, "labels": subject.labels}
    return arrays | {name: np.asarray(a) for name, a in answers.items() if a is not None}


def _as_json(value: Any, what: str) -> str:
    try:
        text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"save_subject: {what} cannot be written as JSON: {error}") from error
    if json.loads(text) != value:
        raise ValueError(
            f"save_subject: {what} would not read back from JSON as they are; use lists for tuples "
            "and words for the names of entries"
        )
    return text
