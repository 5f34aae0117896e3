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

from ..json_files import check_types, is_undamaged, read_document, recorded_in, write_atomically
from ..locks import locked
from ..subject import Subject
from .files import natural
from .model_folder import IDS, PASS, TRAITS, read_subject, records_of

FORMAT = 3
IDENTITY = {
    "model": (
        "class", "sha256", "file sha256", "definition", "part", "processor", "preparation",
        "max_length",
    ),
    "data": ("kind", "n_samples", "fingerprint"),
}  # fmt: skip
AGAIN = "remove its folder, and extract the features again"


@dataclass(frozen=True)
class StoreFacts:
    """What a store is about.

    ``model``: where the model comes from, its class, and a hash of its weights. ``data``: name,
    kind and hash of the samples. ``settings``: what else decides the values, such as the size of
    batches. ``layers``: by pooling, the layers in the order of the model. ``modules``: by pooling,
    the modules that were watched, whose outputs are these layers. ``files``: what is recorded of
    each array.
    """

    name: str
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    settings: Mapping[str, Any]
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def open_features(folder: str | Path, *, pool: str | None = None) -> Subject:
    """Return the model whose features are in a folder; its layers stay on disk until needed.

    ``folder``: what :func:`extract_features` or ``compare_models(..., save=)`` wrote: the folder of
    a model, or one that holds the folder of a single model. ``pool``: which pooling, if there are
    several. The ``traits`` of the subject hold its provenance: ``"model"`` and ``"data"``.

    Raises ``ValueError`` for a folder without features, and where it is not clear which model or
    pooling is meant.
    """
    place = _model_folder(Path(folder))
    read_facts(place)  # that it is a store, and complete
    subjects = {s.traits["pooling"]: s for s in read_subject(place, defaults={})}
    if pool is None and len(subjects) > 1:
        raise ValueError(
            f"{place} has several poolings: pass pool={' or '.join(map(repr, subjects))}"
        )
    if pool is not None and pool not in subjects:
        raise ValueError(f"{place} has no pooling {pool!r}; it has {', '.join(subjects)}")
    return subjects[pool] if pool else next(iter(subjects.values()))


def read_facts(folder: Path) -> StoreFacts:
    """Return what a store is about; ``ValueError`` if the folder is none."""
    return read_document(folder / TRAITS, _facts_of, "a store of features", AGAIN)


def _facts_of(entries: dict[str, Any]) -> StoreFacts:
    if entries.pop("format") != FORMAT:
        raise ValueError("it is of another version")
    del entries["architecture"]
    for part in ("layers", "modules"):
        entries[part] = {pooling: tuple(names) for pooling, names in entries[part].items()}
    facts = StoreFacts(**entries)
    check_types(facts, StoreFacts)
    return facts


def feature_folders(folder: Path) -> list[Path]:
    """Return the folders of models in a folder, itself included, in natural order."""
    if is_store(folder):
        return [folder]
    return sorted((f.parent for f in folder.glob(f"*/{TRAITS}") if is_store(f.parent)), key=natural)


def is_store(folder: Path) -> bool:
    """Return whether a folder has the features of a model, complete or not."""
    file = folder / TRAITS
    return file.is_file() and '"modules"' in file.read_text(encoding="utf-8", errors="replace")


def _model_folder(folder: Path) -> Path:
    places = feature_folders(folder)
    if not places:
        raise ValueError(f"{folder} holds no features: no {TRAITS} of a model in it")
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
    if not (folder / TRAITS).exists():
        write_facts(folder, facts)
        return facts
    before = read_facts(folder)
    check_same(folder, "model", facts.model, before.model)
    check_same(folder, "data", facts.data, before.data)
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
        gone = {x for x, f in files.items() if not (f.is_file() and is_undamaged(f, read=False))}
        without = {layer.partition("#")[0] for layer in gone}
        modules[pooling] = tuple(name for name in names if name not in without)
    return replace(facts, modules=modules)


def check_same(folder: Path, what: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a store is about another "model", or about other "data"."""
    for name in IDENTITY[what]:
        both = [facts.get(name) for facts in (ours, theirs)]
        if name == "class":  # without its module, which depends on how the file was imported
            both = [str(value).rpartition(".")[2] if value else None for value in both]
        is_unknown = what == "data" and None in both  # until a loader has ended
        if both[0] != both[1] and not is_unknown:
            why = ": its class, options or code changed since" if name == "definition" else ""
            raise ValueError(
                f"{folder} holds features of another {what} ({name} {theirs.get(name)}, not "
                f"{ours.get(name)}{why}); choose another {'name or ' * (what == 'model')}folder"
            )


def write_facts(folder: Path, facts: StoreFacts) -> None:
    """Write what a store is about, and the traits by which its layers are read."""
    entries = {"format": FORMAT, "architecture": facts.model.get("class", "model"), **vars(facts)}
    write_atomically(folder / TRAITS, json.dumps(entries, indent=1) + "\n")


def merged(
    facts: StoreFacts,
    data: Mapping[str, Any],
    layers: Mapping[str, Sequence[str]],
    modules: Sequence[str],
    order: Sequence[str],
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
    return replace(facts, data=dict(data), layers=all_layers, modules=all_modules)


def pass_folder(folder: Path, *parts: Any) -> Path:
    """Return the folder of a pass over the samples, by what it computes."""
    text = json.dumps(parts, sort_keys=True)
    return folder / f"{PASS}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def finish_pass(folder: Path, paths: Sequence[Path], facts: StoreFacts, ids: Sequence[str]) -> None:
    """Take the complete arrays of a pass into a store, with what the store has then.

    ``ids``: the names of the samples of all rows. All is on the disk before the document of the
    pass says so, so that no loss of power changes what is taken to be complete.
    """
    place = paths[0].parent
    write_atomically(place / IDS, json.dumps({"ids": list(ids)}) + "\n")
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    write_facts(place, replace(facts, files={**facts.files, **records_of(paths)}))
    tidy(folder)


def tidy(folder: Path) -> None:
    """Move the arrays of passes that are complete into a store, and remove what is left of others.

    The last that is moved is the document of what the store has. After a kill, what was not moved
    follows. Arrays that have changed since they were complete are not moved.
    """
    for place in folder.glob(f"{PASS}*"):
        records = recorded_in(place)
        files = [place / name for name in records if (place / name).exists()]
        if records and all(is_undamaged(path, read=False) for path in files):
            for path in (*files, place / IDS, place / TRAITS):
                if path.exists():
                    os.replace(path, folder / path.name)
            shutil.rmtree(place, ignore_errors=True)
        (place / TRAITS).unlink(missing_ok=True)
        if not any(place.glob("*.npy")):
            shutil.rmtree(place, ignore_errors=True)
