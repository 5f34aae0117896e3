"""Folders of arrays as models: the models of a benchmark, and the models of users."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..base.arrays import to_numpy
from ..base.json_files import (
    CHECKSUM_FILE,
    FINGERPRINT_ENTRY,
    file_record,
    is_undamaged,
    read_document,
    read_file_records,
)
from ..data.model_features import ModelFeatures, check_map_shapes
from ..data.representation import Representation, fingerprint
from .files import check_readable_array, natural_sort_key
from .recipe import DEFAULT_TRAITS, TRAINING_SETTINGS, ModelOutputs, model_name

TRAITS_FILE = CHECKSUM_FILE
SAMPLE_IDS_FILE = "samples.json"
TRAITS_REMEDY = "mend it, or write the features again"
IDS_REMEDY = 'write {"ids": [...]} with the name of each sample'
PASS_FOLDER_PREFIX = ".pass-"  # begins the folder names of unfinished extractions
Verify = bool | Literal["changed"]
NON_LAYER_ARRAYS = ("outputs", "labels")
# Entries of traits.json that are no traits of the model
FOLDER_ENTRIES = ("name", "layers", "maps", "files")
STORE_ENTRIES = ("format", "settings", "modules")  # likewise, in a feature store
# Bytes of the name of a layer, and of a file without its suffix
MAX_LAYER_NAME_BYTES, MAX_FILE_NAME_BYTES = 200, 250


def read_models(folder: str | Path, *, verify: Verify = False) -> tuple[ModelFeatures, ...]:
    """Return the models in a folder: each folder inside with a ``traits.json`` is one model.

    ``traits.json`` is an object with any of these entries: ``name``, ``domain``, ``dataset``,
    ``architecture`` (words; models are compared when they agree in all three), ``setting``
    ("normal", "layers", "labels", "shortcut", "augmentation", "pretrained" or "finetuned"),
    ``strength`` (0 to 1), ``seed`` (a number), ``pretrain`` (the seed of the pretrained model from
    which a fine-tuned model started), ``accuracy``, ``accuracies`` (an object: accuracies on other
    inputs, by name), ``right`` (an object: by the same names, a word with a 1 for each input with a
    correct answer and a 0 for each input with a wrong answer), ``layers`` (a list with the names of
    the layers in the order of the network, or an object of lists by pooling), and ``maps`` (an
    object: channels, height and width of each layer with maps, flattened in this order).

    A ``samples.json`` with a list ``ids`` names the samples of the rows. The folder also holds one
    array (n_samples, n_features) per layer, ``<layer>.npy`` or ``<pooling>.<layer>.npy``, and, when
    known, ``outputs.npy`` (n_samples, n_classes) with logits and ``labels.npy`` (n_samples,) with
    the true classes. Logits and classes give a missing accuracy. Without ``layers``, all other
    arrays are layers, in natural order ("block2" before "block10"). A model with several poolings
    gives one model per pooling. Layers stay on disk until needed.

    A benchmark reads a missing ``setting`` as "normal", and a missing ``strength`` or ``seed`` as
    0; the traits of the model contain only the entries in the folder.

    ``verify``: compare each array with its checksum in the entry ``files``, if present;
    ``"changed"``: only arrays with another size or modification time than recorded there. If size
    and time are as recorded, the array is assumed to have the recorded fingerprint as well.

    Raises ``ValueError`` for a folder without a model and for invalid traits or arrays.
    """
    root = Path(folder)
    files = [
        file
        for file in root.rglob(TRAITS_FILE)
        if not is_partial_folder(file.parent.relative_to(root))
    ]
    if not files:
        raise ValueError(f"{root} holds no model: no folder inside it has a {TRAITS_FILE}")
    folders = [file.parent for file in sorted(files, key=natural_sort_key)]
    return tuple(
        s for model_folder in folders for s in read_model(model_folder, verify=verify, defaults={})
    )


def list_unread_folders(folder: str | Path) -> dict[str, str]:
    """Return the folders with arrays that :func:`read_models` does not read, as paths inside
    ``folder``, with the reasons. Unfinished folders are not listed."""
    root = Path(folder)
    array_folders = sorted({file.parent for file in root.rglob("*.npy")}, key=natural_sort_key)
    unread_folders = [
        array_folder for array_folder in array_folders if not (array_folder / TRAITS_FILE).exists()
    ]
    names = [array_folder.relative_to(root) for array_folder in unread_folders]
    return {
        str(name): f"no {TRAITS_FILE} beside its arrays"
        for name in names
        if not is_partial_folder(name)
    }


def read_model(
    folder: str | Path, *, verify: Verify = False, defaults: Mapping[str, Any] = DEFAULT_TRAITS
) -> tuple[ModelFeatures, ...]:
    """Return the features of the model in a folder, once per pooling.

    ``verify``: whether to check the arrays against the recorded checksums: True, False, or
    "changed" for arrays with another size or time. ``defaults``: the values of traits that the
    folder lacks. With {}, no trait is added. Raises ``ValueError`` for missing, damaged or unfit
    files.
    """
    folder = Path(folder)
    traits = _read_traits(folder)
    outputs, labels = (
        _optional_array_path(folder / f"{part}.npy", verify) for part in NON_LAYER_ARRAYS
    )
    check_outputs(folder, outputs, labels)
    if "accuracy" not in traits and outputs is not None and labels is not None:
        traits["accuracy"] = float((outputs.argmax(axis=1) == labels).mean())
    ids = _read_sample_ids(folder)
    title = traits.get("name") or model_name({**DEFAULT_TRAITS, **traits})
    files_by_pooling, maps = _layer_files(folder, traits.get("layers")), traits.get("maps", {})
    entries = {
        k: value for k, value in traits.items() if k not in (*FOLDER_ENTRIES, *STORE_ENTRIES)
    }
    by_pooling = {
        pooling: {
            layer: Representation(_check_array_file(file, verify), f"{title}/{layer}", ids=ids)
            for layer, file in files.items()
        }
        for pooling, files in files_by_pooling.items()
    }
    widths = {k: r.shape[1] for layers in by_pooling.values() for k, r in layers.items()}
    check_map_shapes(f"{folder / TRAITS_FILE}", maps, widths)
    shapes = {layer: (shape[0], shape[1], shape[2]) for layer, shape in maps.items()}
    model_features = []
    for pooling, layers in by_pooling.items():
        model_traits = {**defaults, **entries} | (
            {"pooling": pooling} if pooling or defaults else {}
        )
        maps = {layer: shape for layer, shape in shapes.items() if layer in layers}
        model_features.append(ModelFeatures(title, layers, outputs, model_traits, labels, maps))
    return tuple(model_features)


def write_model(
    folder: Path,
    extraction: ModelOutputs,
    traits: Mapping[str, Any],
    state: Mapping[str, np.ndarray],
) -> None:
    """Write a trained model to a folder for :func:`read_model`, completely or not at all.

    ``traits.json`` contains ``traits``, the measured accuracies, and the record of each file: the
    checksum and, for a layer, the fingerprint. ``weights.npz`` contains ``state``, the weights by
    name.
    """
    arrays = {
        f"{pooling}.{layer}": array
        for pooling, layers in extraction.layers.items()
        for layer, array in layers.items()
    }
    measured: dict[str, Any] = {
        "accuracy": extraction.accuracies["test"],
        "accuracies": dict(extraction.accuracies),
        "layers": {pooling: list(layers) for pooling, layers in extraction.layers.items()},
    }
    if extraction.maps:
        layer_arrays = [pair for layers in extraction.layers.values() for pair in layers.items()]
        widths = {layer: array.shape[1] for layer, array in layer_arrays}
        check_map_shapes(f"the extraction for {folder}", extraction.maps, widths)
        measured["maps"] = {layer: list(shape) for layer, shape in extraction.maps.items()}
    if extraction.right:
        flags_by_name = {name: is_right.astype(int) for name, is_right in extraction.right.items()}
        measured["right"] = {
            name: "".join(map(str, flags)) for name, flags in flags_by_name.items()
        }
    arrays |= {"outputs": extraction.outputs, "labels": extraction.labels}
    _write_model_files(folder, arrays, {**traits, **measured}, state=state)


def _write_model_files(
    folder: Path,
    arrays: Mapping[str, np.ndarray],
    traits: Mapping[str, Any],
    *,
    ids: Sequence[Any] | None = None,
    state: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write the files of a model, completely or not at all, and replace the folder of an earlier
    model.

    ``arrays`` go to ``<name>.npy``, ``traits`` to ``traits.json``, ``ids`` to ``samples.json``, and
    ``state`` to ``weights.npz``; None writes no file.
    """
    partial = folder.with_name(f".partial-{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array, allow_pickle=False)
        if state is not None:
            np.savez(partial / "weights.npz", **state)  # type: ignore[arg-type]
        if ids is not None:
            (partial / SAMPLE_IDS_FILE).write_text(
                json.dumps({"ids": ids}) + "\n", encoding="utf-8"
            )
        document = {**traits, "files": record_model_files(partial.glob("*.np[yz]"))}
        (partial / TRAITS_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def record_model_files(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the record of each file in ``paths``, by file name. The record of a layer contains the
    fingerprint of the array."""
    records = {}
    for path in paths:
        is_layer = path.suffix == ".npy" and path.stem not in NON_LAYER_ARRAYS
        facts = {FINGERPRINT_ENTRY: fingerprint(Representation(path))} if is_layer else {}
        records[path.name] = file_record(path, facts)
    return records


def is_complete(folder: Path) -> bool:
    """Return whether a folder of :func:`write_model` has a record of every array, the outputs, the
    labels and undamaged weights. The arrays are not read."""
    weights, records = folder / "weights.npz", read_file_records(folder)
    files = {weights, *(folder / f"{part}.npy" for part in NON_LAYER_ARRAYS), *folder.glob("*.npy")}
    is_whole = all(file.exists() and file.name in records for file in files)
    return is_whole and is_undamaged(weights, read=False)


def _read_sample_ids(folder: Path) -> tuple[Hashable, ...] | None:
    file = folder / SAMPLE_IDS_FILE
    if not file.exists():
        return None
    entries = read_document(
        file, lambda entries: entries["ids"], "a list of ids of samples", IDS_REMEDY
    )
    if not isinstance(entries, list) or not all(isinstance(i, str | int) for i in entries):
        raise ValueError(f"{file} must hold ids, a list of words or numbers")
    return tuple(entries)


def is_partial_folder(folder: Path) -> bool:
    """Return whether a folder is inside the folder of an unfinished or killed run."""
    return any(part.startswith((".partial-", PASS_FOLDER_PREFIX)) for part in folder.parts)


def _read_traits(folder: Path) -> dict[str, Any]:
    file = folder / TRAITS_FILE
    content = read_document(file, lambda entries: entries, "an object of traits", TRAITS_REMEDY)
    if not isinstance(content, dict):
        raise ValueError(f"{file} must hold an object of traits; got {type(content).__name__}")
    if "modules" in content and not content.get("layers"):
        raise ValueError(
            f"{folder} has no complete layers yet: the extraction was interrupted; repeat the call "
            "of extract_features to resume"
        )
    check_traits(file, content)
    return content


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_number_of_kind(value: Any, kind: Any = int | float) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return _is_number_of_kind(value) and 0 <= value <= 1  # also excludes NaN


def _are_shares(value: Any) -> bool:
    return isinstance(value, dict) and all(
        k and _is_word(k) and _is_share(v) for k, v in value.items()
    )


WORD_RULE = "a word that can be printed"
WHOLE_NUMBER_RULE = "a whole number"
SHARE_RULE = "a number between 0 and 1"
# Checks of traits, and the requirements in words
TRAIT_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "setting": (lambda value: value in TRAINING_SETTINGS, f"one of {', '.join(TRAINING_SETTINGS)}"),
    "domain": (_is_word, WORD_RULE),
    "dataset": (_is_word, WORD_RULE),
    "architecture": (_is_word, WORD_RULE),
    "name": (lambda value: isinstance(value, str) and bool(value), "a word"),
    "seed": (lambda value: _is_number_of_kind(value, int), WHOLE_NUMBER_RULE),
    "pretrain": (lambda value: _is_number_of_kind(value, int), WHOLE_NUMBER_RULE),
    "strength": (_is_share, SHARE_RULE),
    "accuracy": (_is_share, SHARE_RULE),
    "accuracies": (
        _are_shares,
        "an object of numbers between 0 and 1 by names that can be printed",
    ),
}


def check_traits(file: Path, traits: Mapping[str, Any]) -> None:
    """Raise ``ValueError``, naming ``file``, for traits that do not describe a model; layers and
    maps are not checked here. ``traits``: the entries of ``traits.json``."""
    for name, (fits, requirement) in TRAIT_RULES.items():
        if name in traits and not fits(traits[name]):
            raise ValueError(f"{file}: {name} must be {requirement}; got {traits[name]!r}")


def check_outputs(folder: Path, outputs: np.ndarray | None, labels: np.ndarray | None) -> None:
    """Raise ``ValueError`` if the outputs of a folder are not finite logits (n, classes), or the
    labels are not classes of these logits. None is not checked."""
    if labels is not None:
        _check_folder_labels(folder / "labels.npy", labels)
    if outputs is None:
        return
    is_numeric = outputs.ndim == 2 and np.issubdtype(outputs.dtype, np.number)
    if not is_numeric or not np.isfinite(outputs).all():
        description = f"{outputs.dtype} {outputs.shape}"
        raise ValueError(
            f"{folder / 'outputs.npy'} must be (n_samples, n_classes) finite numbers; got "
            f"{description}"
        )
    if labels is not None and labels.shape != outputs.shape[:1]:
        raise ValueError(
            f"{folder}: outputs.npy has {len(outputs)} samples and labels.npy the shape "
            f"{labels.shape}"
        )
    if labels is not None and labels.max(initial=0) >= outputs.shape[1]:
        description = (
            f"labels.npy has the class {labels.max()} and outputs.npy {outputs.shape[1]} columns"
        )
        raise ValueError(
            f"{folder}: {description}; a label is the number, from 0, of the column of its class"
        )


def _check_folder_labels(file: Path, labels: np.ndarray) -> None:
    if labels.ndim != 1:
        raise ValueError(f"{file} must be (n_samples,) classes; got shape {labels.shape}")
    if not np.issubdtype(labels.dtype, np.integer) or labels.min(initial=0) < 0:
        is_whole = labels.dtype.kind in "iu"
        description = f"the class {labels.min()}" if is_whole else f"the dtype {labels.dtype}"
        raise ValueError(
            f"{file} must hold classes as whole numbers from 0; got {description}: number the "
            "classes as the columns of outputs.npy (numpy.unique(labels, return_inverse=True) "
            "does)"
        )


def _layer_files(folder: Path, layers: Any) -> dict[str, dict[str, Path]]:
    """Return the file of each layer, by pooling and then by layer.

    ``layers``: the entry of ``traits.json``: None for all arrays in natural order, a list of
    layers, or an object of lists by pooling. Without poolings, the pooling is "". Raises
    ``ValueError`` if a pooling has no layer.
    """
    by_pooling: dict[str, dict[str, Path]] = {}
    if layers is None:
        files = [file for file in folder.glob("*.npy") if file.stem not in NON_LAYER_ARRAYS]
        by_pooling = {"": {file.stem: file for file in sorted(files, key=natural_sort_key)}}
    elif isinstance(layers, Mapping):
        for pooling in _check_entry_names(folder, list(layers), "pooling"):
            names = _check_entry_names(folder, layers[pooling])
            by_pooling[pooling] = {name: folder / f"{pooling}.{name}.npy" for name in names}
    else:
        by_pooling = {
            "": {name: folder / f"{name}.npy" for name in _check_entry_names(folder, layers)}
        }
    if not by_pooling or not all(by_pooling.values()):
        raise ValueError(
            f"{folder} has no layers: no array besides outputs and labels, or an empty list of "
            "layers"
        )
    return by_pooling


def _check_entry_names(folder: Path, names: Any, noun: str = "layer") -> list[str]:
    """Return the names of layers or poolings unchanged; raise ``ValueError`` for names that are
    repeated or cannot be file names. ``noun``: "layer" or "pooling"; only a pooling may be ""."""
    file = folder / TRAITS_FILE
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"{file}: layers must be a list of names, or an object of lists by pooling"
        )
    for name, count in Counter(names).items():
        is_empty = not name and noun == "layer"  # the only pooling may have an empty name
        if count > 1 or is_empty or not is_file_name(name):
            raise ValueError(
                f"{file}: the {noun} {name!r} must be there once, as the name of a file in this "
                "folder"
            )
    return names


def check_file_names(layers: Iterable[str]) -> None:
    """Raise ``ValueError`` for a layer name that cannot be a file name."""
    for layer in layers:
        if not layer or not is_file_name(layer):
            raise ValueError(
                f"the layer {layer!r} cannot be the name of a file: it is longer than "
                f"{MAX_LAYER_NAME_BYTES} bytes, or has a slash or control characters; leave it out"
            )


def is_file_name(name: str) -> bool:
    """Return whether a word can be part of a file name in any folder: printable, without slashes,
    and at most 200 bytes."""
    is_safe = name.isprintable() and not {"/", "\\"} & set(name)
    return is_safe and len(name.encode()) <= MAX_LAYER_NAME_BYTES


def _optional_array_path(path: Path, verify: Verify) -> np.ndarray | None:
    if not path.exists():
        return None
    return np.load(_check_array_file(path, verify), allow_pickle=False)


def _check_array_file(path: Path, verify: Verify) -> Path:
    """Return the path of an array, after a check that the array is readable and, if ``verify`` is
    True or "changed", undamaged: "changed" reads only an array with another size or time than
    recorded."""
    if not path.is_file():
        raise ValueError(f"{path} is missing")
    if verify and not is_undamaged(path, read=verify is True):
        raise ValueError(f"{path} is damaged: its checksum is not the one in {TRAITS_FILE}")
    return check_readable_array(path)


def save_features(features: ModelFeatures, folder: str | Path) -> Path:
    """Write the features of a model to a new folder for :func:`open_features`, :func:`read_models`
    and every command.

    The folder gets an array per layer, the outputs, the labels, the sample ids, and ``traits.json``
    with the name, the traits and the order of the layers. The folder is written completely or not
    at all. Returns the path of the folder.

    Raises ``ValueError``, before anything is written, for an existing folder, and for features that
    would not read back unchanged: layer names that are no file names or clash with other files in
    the folder, layers with different ids, ids and traits that JSON cannot hold, and outputs, labels
    and traits that :func:`read_models` refuses.
    """
    folder = Path(folder)
    if folder.exists():
        raise ValueError(f"save_features: {folder} exists; choose another folder, or remove it")
    pooling, layers, arrays = features.traits.get("pooling", ""), list(features.layers), {}
    for layer, r in features.layers.items():
        name = layer if pooling == "" else f"{pooling}.{layer}"
        is_plain = all(isinstance(word, str) and is_file_name(word) for word in (pooling, layer))
        if (
            not is_plain
            or not layer
            or name in NON_LAYER_ARRAYS
            or len(name.encode()) > MAX_FILE_NAME_BYTES
        ):
            raise ValueError(
                f"save_features: the layer {name!r} cannot be the name of a file in the folder: it "
                "has a slash, control characters or too many letters, or is one of "
                f"{', '.join(NON_LAYER_ARRAYS)}; rename it"
            )
        arrays[name] = to_numpy(r.source)
    for name, array in (("outputs", features.outputs), ("labels", features.labels)):
        arrays |= {} if array is None else {name: np.asarray(array)}
    if clashes := sorted(features.traits.keys() & {*FOLDER_ENTRIES, *STORE_ENTRIES}):
        raise ValueError(
            f"save_features: {clashes[0]!r} is not a trait but an entry of the folder; rename the "
            "trait"
        )
    traits = {**features.traits, "name": features.name}
    traits["layers"] = layers if pooling == "" else {pooling: layers}
    if features.maps:
        traits["maps"] = {layer: list(shape) for layer, shape in features.maps.items()}
    _check_json(traits, "traits")
    ids = None if features.last.ids is None else list(features.last.ids)
    if any(r.ids != features.last.ids for r in features.layers.values()):
        raise ValueError("save_features: the layers have different ids; give all the same")
    if ids is not None and not all(isinstance(name, str | int) for name in ids):
        raise ValueError("save_features: ids must be words or whole numbers to be written")
    _check_json(ids, "ids")
    check_traits(folder / TRAITS_FILE, traits)
    check_outputs(folder, arrays.get("outputs"), arrays.get("labels"))
    _write_model_files(folder, arrays, traits, ids=ids)
    return folder


def _check_json(value: Any, noun: str) -> None:
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"save_features: {noun} cannot be written as JSON: {error}") from error
    if json.loads(text) != value:
        raise ValueError(
            f"save_features: {noun} would not read back from JSON as they are; use lists for "
            "tuples and words for the names of entries"
        )
