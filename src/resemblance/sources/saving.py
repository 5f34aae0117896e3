"""Models of users, written to the folders that studies and commands read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..arrays import to_numpy
from ..subject import Subject
from .folders import IDS, TRAITS, write_array


def save_subject(subject: Subject, folder: str | Path) -> Path:
    """Write a model to a new folder, which :func:`read_subjects` and every command read.

    The folder gets an array for each layer, the outputs, the labels, the ids of the samples, and
    ``traits.json`` with the name, the traits and the order of the layers. It is complete or not
    there. Returns its path.

    Raises ``ValueError`` for a folder that exists, for names of layers that are no names of files,
    and for ids or traits that JSON cannot hold.
    """
    folder = Path(folder)
    if folder.exists():
        raise ValueError(f"save_subject: {folder} exists; choose another folder, or remove it")
    pooling = str(subject.traits.get("pooling", ""))
    for layer in subject.layers:
        if not layer.isprintable() or {"/", "\\"} & set(layer):
            raise ValueError(f"save_subject: the layer {layer!r} is no name of a file; rename it")
    documents = {TRAITS: _as_json(_traits(subject, pooling), "traits")}
    if (ids := subject.last.ids) is not None:
        if not all(isinstance(name, str | int) for name in ids):
            raise ValueError("save_subject: ids must be words or whole numbers to be written")
        documents[IDS] = _as_json({"ids": list(ids)}, "ids")
    partial = folder.with_name(f".partial-{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, text in documents.items():
        (partial / name).write_text(text, encoding="utf-8")
    _write_arrays(subject, pooling, partial)
    os.replace(partial, folder)
    return folder


def _traits(subject: Subject, pooling: str) -> dict[str, Any]:
    layers = list(subject.layers)
    traits = {**subject.traits, "name": subject.name}
    traits["layers"] = {pooling: layers} if pooling else layers
    if subject.maps:
        traits["maps"] = {layer: list(shape) for layer, shape in subject.maps.items()}
    return traits


def _write_arrays(subject: Subject, pooling: str, folder: Path) -> None:
    start = f"{pooling}." if pooling else ""
    for layer, r in subject.layers.items():
        write_array(folder / f"{start}{layer}.npy", to_numpy(r.source))
    for name, array in (("outputs", subject.outputs), ("labels", subject.labels)):
        if array is not None:
            write_array(folder / f"{name}.npy", array)


def _as_json(value: Any, what: str) -> str:
    try:
        return json.dumps(value, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"save_subject: {what} cannot be written as JSON: {error}") from error
