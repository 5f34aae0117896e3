"""Folders of arrays as subjects: what a study keeps of its own models, and how others bring
theirs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..documents import read_document
from ..representation import Representation
from ..subject import DEFAULTS, SETTINGS, Extraction, Subject, subject_name
from .files import natural, readable

TRAITS = "traits.json"
NOT_LAYERS = ("outputs", "labels")


def read_subjects(folder: str | Path, *, verify: bool = False) -> tuple[Subject, ...]:
    """Return the subjects in a folder and all folders inside it: each that holds a ``traits.json``
    is one model.

    ``traits.json`` is an object with any of these entries: ``domain``, ``dataset``,
    ``architecture`` (words; models are compared when they agree in all three), ``setting``
    ("normal", "layers", "labels", "shortcut", "augmentation", "pretrained" or "finetuned"),
    ``strength`` (0 to 1), ``seed`` (a number), ``pretrain`` (the seed of the pretrained model that
    a fine-tuned one started from), ``accuracy``, ``accuracies`` (an object: on other inputs, by
    their name), and ``layers``: the names of the layers in the order of the network, a list, or an
    object of such lists by pooling. Beside it lie one array (n_samples, n_features) per layer,
    ``<layer>.npy`` or ``<pooling>.<layer>.npy``, and, when known, ``outputs.npy`` (n_samples,
    n_classes) with logits and ``labels.npy`` (n_samples,) with the true classes, from which a
    missing accuracy is computed. Without ``layers``, all other arrays are layers, in natural order
    ("block2" before "block10"). A model with several poolings is one subject for each. Layers stay
    on disk until they are needed.

    ``verify``: compare every array with the checksum that lies beside it (``<array>.json``), if
    there is one.

    Raises ``ValueError`` for a folder without a model and for traits or arrays that do not fit.
    """
    root = Path(folder)
    files = sorted(root.rglob(TRAITS), key=natural)
    files = [file for file in files if not _is_partial(file.parent.relative_to(root))]
    if not files:
        raise ValueError(f"{root} holds no model: no folder inside it has a {TRAITS}")
    return tuple(s for file in files for s in read_subject(file.parent, verify=verify))


def folders_left_out(folder: str | Path) -> dict[str, str]:
    """Return the folders with arrays that :func:`read_subjects` does not take for models, and
    why."""
    root = Path(folder)
    holding = sorted({file.parent for file in root.rglob("*.npy")}, key=natural)
    return {
        str(own.relative_to(root)): f"no {TRAITS} beside its arrays"
        for own in holding
        if not (own / TRAITS).exists() and not _is_partial(own.relative_to(root))
    }


def read_subject(
    folder: str | Path, *, verify: bool = False, name: str | None = None
) -> tuple[Subject, ...]:
    """Return the subjects, one per pooling, of the model in one folder (see
    :func:`read_subjects`)."""
    folder = Path(folder)
    traits = _traits(folder)
    outputs, labels = (_optional(folder / f"{what}.npy", verify) for what in NOT_LAYERS)
    _check_outputs(folder, outputs, labels)
    if "accuracy" not in traits and outputs is not None and labels is not None:
        traits["accuracy"] = float((outputs.argmax(axis=1) == labels).mean())
    subjects = []
    for pooling, files in _layer_files(folder, traits.pop("layers", None)).items():
        called = name or subject_name(traits)
        layers = {
            layer: Representation(_checked(file, verify), f"{called}/{layer}")
            for layer, file in files.items()
        }
        subjects.append(Subject(called, layers, outputs, traits | {"pooling": pooling}, labels))
    return tuple(subjects)


def write_subject(
    folder: Path, extraction: Extraction, traits: Mapping[str, Any], state: Mapping[str, np.ndarray]
) -> None:
    """Write a trained model so that :func:`read_subject` reads it: at once, completely, or not at
    all.

    Beside every array lies a small JSON file with its checksum, shape and dtype; the weights are
    ``weights.npz``.
    """
    partial = folder.with_name(f".partial-{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    arrays = {
        f"{pooling}.{layer}": a
        for pooling, layers in extraction.layers.items()
        for layer, a in layers.items()
    }
    for name, array in {
        **arrays,
        "outputs": extraction.outputs,
        "labels": extraction.labels,
    }.items():
        _write_array(partial / f"{name}.npy", array)
    np.savez(partial / "weights.npz", **state)  # type: ignore[arg-type]
    _describe(partial / "weights.npz", {})
    layers = {pooling: list(found) for pooling, found in extraction.layers.items()}
    known = {
        "accuracy": extraction.accuracies["test"],
        "accuracies": dict(extraction.accuracies),
        "layers": layers,
    }
    (partial / TRAITS).write_text(json.dumps({**traits, **known}, indent=1) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_array(path: Path, array: np.ndarray) -> None:
    np.save(path, array, allow_pickle=False)
    _describe(path, {"shape": list(array.shape), "dtype": str(array.dtype)})


def _describe(path: Path, facts: Mapping[str, Any]) -> None:
    path.with_suffix(".json").write_text(json.dumps({"sha256": checksum(path), **facts}) + "\n")


def is_complete(folder: Path) -> bool:
    """Whether a folder that :func:`write_subject` wrote has all its parts, and the weights are
    undamaged."""
    parts = {
        "outputs.npy",
        "labels.npy",
        "weights.npz",
        *(path.name for path in folder.glob("*.npy")),
    }
    return all(
        (folder / p).exists() and (folder / p).with_suffix(".json").exists() for p in parts
    ) and (_recorded(folder / "weights.npz") == checksum(folder / "weights.npz"))


def _recorded(path: Path) -> str | None:
    """Return the checksum that lies beside a file; a JSON file of another kind is none of ours."""
    try:
        recorded = read_document(
            path.with_suffix(".json"), lambda entry: entry.get("sha256"), "a checksum"
        )
    except ValueError:
        return None
    return None if recorded is None else str(recorded)


def _is_partial(folder: Path) -> bool:
    return any(part.startswith(".partial-") for part in folder.parts)


def _traits(folder: Path) -> dict[str, Any]:
    file = folder / TRAITS
    given = read_document(file, lambda found: found, "an object of traits")
    if not isinstance(given, dict):
        raise ValueError(f"{file} must hold an object of traits; got {type(given).__name__}")
    traits = {**DEFAULTS, **given}
    if traits["setting"] not in SETTINGS:
        raise ValueError(
            f"{file}: setting must be one of {', '.join(SETTINGS)}; got {traits['setting']!r}"
        )
    for name in ("strength", "seed", "accuracy", "pretrain"):
        value = traits.get(name, 0)
        if isinstance(value, bool) or not isinstance(
            value, int if name in ("seed", "pretrain") else int | float
        ):
            raise ValueError(f"{file}: {name} must be a number; got {value!r}")
    for name in ("strength", "accuracy"):
        if not 0 <= traits.get(name, 0) <= 1:  # nor NaN
            raise ValueError(f"{file}: {name} must be between 0 and 1; got {traits[name]}")
    for name in ("domain", "dataset", "architecture"):
        if not isinstance(traits[name], str) or not traits[name].isprintable():
            raise ValueError(
                f"{file}: {name} must be a word that can be printed; got {traits[name]!r}"
            )
    more = traits.get("accuracies", {})
    if not isinstance(more, dict) or not all(
        isinstance(v, int | float) and 0 <= v <= 1 for v in more.values()
    ):
        raise ValueError(
            f"{file}: accuracies must be an object of numbers between 0 and 1; got {more!r}"
        )
    for name in more:
        if not name.isprintable() or not name:
            raise ValueError(f"{file}: accuracies are by a name that can be printed; got {name!r}")
    return traits


def _check_outputs(folder: Path, outputs: np.ndarray | None, labels: np.ndarray | None) -> None:
    if labels is not None:
        _check_labels(folder / "labels.npy", labels)
    if outputs is None:
        return
    if (
        outputs.ndim != 2
        or not np.issubdtype(outputs.dtype, np.number)
        or not np.isfinite(outputs).all()
    ):
        got = f"{outputs.dtype} {outputs.shape}"
        raise ValueError(
            f"{folder / 'outputs.npy'} must be (n_samples, n_classes) finite numbers; got {got}"
        )
    if labels is not None and labels.shape != outputs.shape[:1]:
        raise ValueError(
            f"{folder}: outputs.npy has {len(outputs)} samples and labels.npy the shape "
            f"{labels.shape}"
        )
    if labels is not None and labels.max(initial=0) >= outputs.shape[1]:
        got = f"labels.npy has the class {labels.max()} and outputs.npy {outputs.shape[1]} columns"
        raise ValueError(
            f"{folder}: {got}; a label is the number, from 0, of the column of its class"
        )


def _check_labels(file: Path, labels: np.ndarray) -> None:
    if labels.ndim != 1:
        raise ValueError(f"{file} must be (n_samples,) classes; got shape {labels.shape}")
    if not np.issubdtype(labels.dtype, np.integer) or labels.min(initial=0) < 0:
        got = (
            f"the dtype {labels.dtype}"
            if labels.dtype.kind not in "iu"
            else f"the class {labels.min()}"
        )
        remedy = (
            "number the classes as the columns of outputs.npy (numpy.unique(labels, "
            "return_inverse=True) does)"
        )
        raise ValueError(f"{file} must hold classes as whole numbers from 0; got {got}: {remedy}")


def _layer_files(folder: Path, layers: Any) -> dict[str, dict[str, Path]]:
    """Return by pooling, then by layer, the file of each array."""
    if layers is None:
        found = sorted((f for f in folder.glob("*.npy") if f.stem not in NOT_LAYERS), key=natural)
        by_pooling = {"": {file.stem: file for file in found}}
    elif isinstance(layers, Mapping):
        poolings = _names(folder, list(layers), "pooling")
        by_pooling = {
            p: {n: folder / f"{p}.{n}.npy" for n in _names(folder, layers[p])} for p in poolings
        }
    else:
        by_pooling = {"": {name: folder / f"{name}.npy" for name in _names(folder, layers)}}
    if not by_pooling or not all(by_pooling.values()):
        raise ValueError(
            f"{folder} has no layers: no array besides outputs and labels, or an empty list of "
            "layers"
        )
    return by_pooling


def _names(folder: Path, names: Any, what: str = "layer") -> list[str]:
    """Return the names of layers, or poolings, that can be part of the name of a file in this
    folder, each once."""
    file = folder / TRAITS
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"{file}: layers must be a list of names, or an object of lists by pooling"
        )
    fewest = 0 if what == "pooling" else 1  # a model with one pooling need not name it
    for name, count in Counter(names).items():
        if (
            count > 1
            or not name.isprintable()
            or {"/", "\\"} & set(name)
            or not fewest <= len(name) < 200
        ):
            raise ValueError(
                f"{file}: the {what} {name!r} must be there once, as the name of a file in this "
                "folder"
            )
    return names


def _optional(path: Path, verify: bool) -> np.ndarray | None:
    if not path.exists():
        return None
    array: np.ndarray = np.load(_checked(path, verify), allow_pickle=False)
    return array


def _checked(path: Path, verify: bool) -> Path:
    """Return the path of an array that can be read and is what its checksum says."""
    if not path.is_file():
        raise ValueError(f"{path} is missing")
    recorded = _recorded(path) if verify else None
    if recorded is not None and recorded != checksum(path):
        raise ValueError(
            f"{path} is damaged: its checksum is not the one in {path.with_suffix('.json').name}"
        )
    return readable(path)
