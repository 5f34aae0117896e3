"""A store of features: the layers of a model for fixed inputs, as files that stay on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..json_files import (
    DAMAGED,
    check_types,
    is_undamaged,
    read_document,
    record,
    recorded,
    write_atomically,
)
from ..locks import locked
from ..representation import Representation, fingerprint
from ..subject import Subject
from .files import natural
from .model_folder import FEATURES, IDS, NOT_LAYERS, TRAITS, read_subject

FORMAT = 2
IDENTITY = {
    "model": (
        "class", "sha256", "file sha256", "definition", "part", "processor", "preparation",
        "max_length",
    ),
    "data": ("kind", "n_samples", "fingerprint"),
}  # fmt: skip
TRAITS_OF_STORE = ("architecture", "pooling", "accuracy", "model", "data")
PASS = ".pass-"  # the start of the name of a folder with arrays that are not complete
AGAIN = "remove its folder, and extract the features again"
FINISHED = "finished.json"  # in the folder of a pass whose arrays are complete


@dataclass(frozen=True)
class StoreFacts:
    """What a store is about.

    ``model``: where the model comes from, its class, and a hash of its weights. ``data``: name,
    kind and hash of the samples. ``settings``: what else decides the values, such as the size of
    batches. ``layers``: by pooling, the layers in the order of the model. ``modules``: by pooling,
    the modules that were watched, whose outputs are these layers. ``n_batches``: how many batches
    the model was run on.
    """

    name: str
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    settings: Mapping[str, Any]
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_batches: int = 0


def open_features(folder: str | Path, *, pool: str | None = None) -> Subject:
    """Return the model whose features are in a folder; its layers stay on disk until needed.

    ``folder``: what :func:`extract_features` or ``compare_models(..., save=)`` wrote: the folder of
    a model, or one that holds the folder of a single model. ``pool``: which pooling, if there are
    several. The ``traits`` of the subject hold its provenance: ``"model"`` and ``"data"``.

    Raises ``ValueError`` for a folder without features, and where it is not clear which model or
    pooling is meant.
    """
    place = _model_folder(Path(folder))
    facts = read_facts(place)
    subjects = {s.traits["pooling"]: s for s in read_subject(place, name=facts.name)}
    if {name: tuple(subject.layers) for name, subject in subjects.items()} != facts.layers:
        raise ValueError(f"{place / TRAITS} has other layers than {FEATURES}; {AGAIN}")
    if pool is None and len(subjects) > 1:
        raise ValueError(
            f"{place} has several poolings: pass pool={' or '.join(map(repr, subjects))}"
        )
    if pool is not None and pool not in subjects:
        raise ValueError(f"{place} has no pooling {pool!r}; it has {', '.join(subjects)}")
    subject = subjects[pool] if pool else next(iter(subjects.values()))
    traits = {name: subject.traits[name] for name in TRAITS_OF_STORE if name in subject.traits}
    return replace(subject, traits=traits)


def read_facts(folder: Path) -> StoreFacts:
    """Return what a store is about; ``ValueError`` if the folder is none."""
    return read_document(folder / FEATURES, _facts_of, "a store of features", AGAIN)


def _facts_of(entries: dict[str, Any]) -> StoreFacts:
    if entries.pop("format") != FORMAT:
        raise ValueError("it is of another version")
    for part in ("layers", "modules"):
        entries[part] = {pooling: tuple(names) for pooling, names in entries[part].items()}
    facts = StoreFacts(**entries)
    check_types(facts, StoreFacts)
    return facts


def feature_folders(folder: Path) -> list[Path]:
    """Return the folders of models in a folder, itself included, in natural order."""
    if (folder / FEATURES).is_file():
        return [folder]
    return sorted((file.parent for file in folder.glob(f"*/{FEATURES}")), key=natural)


def _model_folder(folder: Path) -> Path:
    places = feature_folders(folder)
    if not places:
        raise ValueError(f"{folder} holds no features: no {FEATURES} in it")
    if len(places) > 1:
        names = ", ".join(place.name for place in places)
        raise ValueError(
            f"{folder} holds the features of several models: {names}; open one of these folders, "
            "or all by rs.read_subjects"
        )
    return places[0]


# ------------------------------------------------------------------------------------------ writing


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold a store for one writer; ``ValueError`` while another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", wait=False) as is_ours:
        if not is_ours:
            raise ValueError(f"another process writes features to {folder}; wait for it")
        yield


def begin(folder: Path, facts: StoreFacts) -> StoreFacts:
    """Return what is in a store of this model, these samples and settings, made if it is new.

    Raises ``ValueError`` if the folder holds another model, other samples, or features that were
    extracted by other settings.
    """
    if not (folder / FEATURES).exists():
        write_facts(folder, facts)
        return facts
    before = read_facts(folder)
    _check_same(folder, "model", facts.model, before.model, "choose another name or folder")
    check_data(folder, facts.data, before.data)
    for name, value in facts.settings.items():
        if before.settings.get(name) != value:
            raise ValueError(
                f"{folder} was extracted with {name}={before.settings.get(name)!r}; pass the same, "
                "or choose another folder"
            )
    return before


def with_files(folder: Path, facts: StoreFacts) -> StoreFacts:
    """Return what a store is about without the modules of layers whose files were deleted, or have
    changed."""
    modules = {}
    for pooling, names in facts.modules.items():
        files = {x: folder / f"{pooling}.{x}.npy" for x in facts.layers.get(pooling, ())}
        gone = {x for x, file in files.items() if not _is_there(file)}
        without = {layer.partition("#")[0] for layer in gone}
        modules[pooling] = tuple(name for name in names if name not in without)
    return replace(facts, modules=modules)


def _is_there(file: Path) -> bool:
    return file.is_file() and is_undamaged(file, read=False)


def _check_same(
    folder: Path, what: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], remedy: str
) -> None:
    """Raise ``ValueError`` if a store is about another model, or about other data."""
    for name in IDENTITY[what]:
        both = [facts.get(name) for facts in (ours, theirs)]
        if name == "class":  # without its module, which depends on how the file was imported
            both = [str(value).rpartition(".")[2] if value else None for value in both]
        is_unknown = what == "data" and None in both  # until a loader has ended
        if both[0] != both[1] and not is_unknown:
            why = ": its class, options or code changed since" if name == "definition" else ""
            raise ValueError(
                f"{folder} holds features of another {what} ({name} {theirs.get(name)}, not "
                f"{ours.get(name)}{why}); {remedy}"
            )


def write_facts(folder: Path, facts: StoreFacts) -> None:
    """Write what a store is about, and the traits by which its layers are read."""
    entries = {"format": FORMAT, **vars(facts)}
    if facts.layers:
        traits: dict[str, Any] = {"name": facts.name}
        traits["architecture"] = facts.model.get("class", "model")
        traits |= {"model": dict(facts.model), "data": dict(facts.data)}
        traits |= {"layers": {pool: list(names) for pool, names in facts.layers.items()}}
        write_atomically(folder / TRAITS, json.dumps(traits, indent=1) + "\n")
    write_atomically(folder / FEATURES, json.dumps(entries, indent=1) + "\n")


def check_data(folder: Path, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a store is about other data."""
    _check_same(folder, "data", ours, theirs, "choose another folder")


def merged(
    facts: StoreFacts,
    data: Mapping[str, Any],
    layers: Mapping[str, Sequence[str]],
    modules: Sequence[str],
    order: Sequence[str],
    *,
    n_batches: int,
) -> StoreFacts:
    """Return what a store is about after a pass that added layers, by pooling, of some modules.

    ``order``: the names of all modules, in whose order the layers come.
    """
    places = {name: i for i, name in enumerate(order)}

    def place(layer: str) -> tuple[int, int]:
        name, _, call = layer.partition("#")
        return places.get(name, len(places)), int(call or 0)

    all_layers, all_modules = dict(facts.layers), dict(facts.modules)
    for pooling, names in layers.items():
        both = dict.fromkeys([*facts.layers.get(pooling, ()), *names])
        all_layers[pooling] = tuple(sorted(both, key=place))
        both = dict.fromkeys([*facts.modules.get(pooling, ()), *modules])
        all_modules[pooling] = tuple(both)
    return replace(
        facts,
        data=dict(data),
        layers=all_layers,
        modules=all_modules,
        n_batches=facts.n_batches + n_batches,
    )


def pass_folder(folder: Path, *parts: Any) -> Path:
    """Return the folder of a pass over the samples, by what it computes."""
    text = json.dumps(parts, sort_keys=True)
    return folder / f"{PASS}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def finish_pass(place: Path, files: Mapping[str, Path], facts: StoreFacts) -> None:
    """Write down that the arrays of a pass are complete, and what the store has with them."""
    for path in files.values():
        record_array(path)
    content = {"files": list(files), "facts": {"format": FORMAT, **vars(facts)}}
    write_atomically(place / FINISHED, json.dumps(content) + "\n")


def tidy(folder: Path) -> None:
    """Take in the passes that a kill left complete, and remove what is left of others."""
    for place in folder.glob(f"{PASS}*"):
        if not take_in(folder, place) and not any(place.glob("*.npy")):
            shutil.rmtree(place)


def take_in(folder: Path, place: Path) -> bool:
    """Move the complete arrays of a pass into a store, each with its checksum and fingerprint.

    After a kill, those that were not moved yet follow. Returns False, and moves nothing, for a pass
    that is not complete, or whose arrays have changed since.
    """
    try:
        content = read_document(place / FINISHED, dict, "a pass that is complete")
        names, facts = list(map(str, content["files"])), _facts_of(content["facts"])
    except DAMAGED:
        return False
    if not all(_is_intact(folder, place, f"{name}.npy") for name in names):
        return False
    for name in names:
        for file in (f"{name}.npy", f"{name}.json"):
            if (place / file).exists():
                os.replace(place / file, folder / file)
    write_facts(folder, facts)
    shutil.rmtree(place, ignore_errors=True)
    return True


def _is_intact(folder: Path, place: Path, file: str) -> bool:
    """Return whether an array of a pass is as it was recorded, or was moved already."""
    path = place / file
    if path.exists():
        return bool(recorded(path)) and is_undamaged(path, read=False)
    return (folder / file).exists()


def record_array(path: Path) -> None:
    """Write the checksum of an array, and the fingerprint of a layer, next to it."""
    is_layer = path.stem not in NOT_LAYERS
    record(path, {"fingerprint": fingerprint(Representation(path))} if is_layer else {})


def write_ids(folder: Path, ids: Sequence[str]) -> None:
    """Write the names of the samples of all rows."""
    write_atomically(folder / IDS, json.dumps({"ids": list(ids)}) + "\n")
