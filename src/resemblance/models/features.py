"""A feature store: the layers of a model for fixed inputs, as files on disk. The store grows batch
by batch and resumes after a kill."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.json_files import (
    DAMAGED_FILE_ERRORS,
    decode_record,
    is_undamaged,
    read_document,
    read_file_records,
    write_atomically,
)
from ..data.model_features import ModelFeatures
from .files import natural_sort_key
from .model_folder import (
    PASS_FOLDER_PREFIX,
    SAMPLE_IDS_FILE,
    TRAITS_FILE,
    is_partial_folder,
    read_model,
    record_model_files,
)

FEATURE_STORE_FORMAT = 3
IDENTITY_KEYS = {
    "model": (
        "class", "sha256", "file sha256", "hooks", "context", "definition", "part", "processor",
        "preparation", "max_length",
    ),
    "data": ("kind", "n_samples", "fingerprint"),
}  # fmt: skip
CHANGE_REASONS = {  # possible causes, by the entry that differs
    "definition": ": its class, hooks, options or code changed since",
    "hooks": ": hooks run with it",
    "context": ": modes of PyTorch such as autocast change the result",
}
EXTRACT_AGAIN_REMEDY = "remove its folder, and extract the features again"


@dataclass(frozen=True)
class StoreFacts:
    """The facts of a feature store.

    ``model``: the source of the model, its class, and a hash of the weights. ``data``: name, kind
    and hash of the samples. ``settings``: further settings that change the values, such as the
    batch size. ``layers``: by pooling, the layers in the order of the model. ``modules``: by
    pooling, the watched modules behind the layers. ``files``: the record of each array.
    """

    name: str
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    settings: Mapping[str, Any]
    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def open_features(folder: str | Path, *, pool: str | None = None) -> ModelFeatures:
    """Return the features of a model from a folder; the layers stay on disk until needed.

    ``folder``: a folder from :func:`extract_features`, :func:`save_features` or
    ``compare_models(..., save=)``: the folder of a model, or a folder around the folder of a single
    model. ``pool``: the pooling to open, if the folder has several poolings. The ``traits`` of an
    extracted model contain the provenance: ``"model"`` and ``"data"``.

    Raises ``ValueError`` for a folder without features, and for a folder with several models, or
    with several poolings if you do not choose a pooling.
    """
    folder = Path(folder)
    model_folders = feature_folders(folder)
    if not model_folders:
        raise ValueError(
            f"{folder} contains no features: there is no {TRAITS_FILE} of a model; make features "
            "with rs.extract_features"
        )
    if len(model_folders) > 1:
        names = ", ".join(model_folder.name for model_folder in model_folders)
        raise ValueError(
            f"{folder} contains the features of several models: {names}; open one of these "
            "folders, or read all with rs.read_models"
        )
    model_folder = model_folders[0]
    if is_feature_store(model_folder):
        read_store_facts(model_folder)  # raises if the store is incomplete
    models = read_model(model_folder, defaults={})
    model_features = {s.traits.get("pooling", ""): s for s in models}
    if pool is None and len(model_features) > 1:
        raise ValueError(
            f"{model_folder} has several poolings: pass "
            f"pool={' or '.join(map(repr, model_features))}"
        )
    if pool is not None and pool not in model_features:
        raise ValueError(
            f"{model_folder} has no pooling {pool!r}; it has {', '.join(model_features)}"
        )
    return model_features[pool] if pool else next(iter(model_features.values()))


def read_store_facts(folder: Path) -> StoreFacts:
    """Return the facts of a feature store; raise ``ValueError`` if the folder is no feature
    store."""
    return read_document(
        folder / TRAITS_FILE, _parse_store_facts, "a store of features", EXTRACT_AGAIN_REMEDY
    )


def _parse_store_facts(entries: dict[str, Any]) -> StoreFacts:
    if entries.pop("format") != FEATURE_STORE_FORMAT:
        raise ValueError("it is of another version")
    del entries["architecture"]
    facts: StoreFacts = decode_record(StoreFacts, entries)
    return facts


def feature_folders(folder: Path) -> list[Path]:
    """Return the model folders directly inside a folder, in natural order, without unfinished
    folders; or only the folder itself if the folder is a model folder."""
    if (folder / TRAITS_FILE).is_file():
        return [folder]
    folders = (file.parent for file in folder.glob(f"*/{TRAITS_FILE}"))
    complete = (f for f in folders if not is_partial_folder(f.relative_to(folder)))
    return sorted(complete, key=natural_sort_key)


def is_feature_store(folder: Path) -> bool:
    """Return whether a folder is a growing store of extracted features, complete or not, and not a
    folder of :func:`save_features`."""
    file = folder / TRAITS_FILE
    return file.is_file() and '"modules"' in file.read_text(encoding="utf-8", errors="replace")


def _has_saved_features(folder: Path) -> bool:
    """Return whether a folder has readable features of a model in the form of
    :func:`save_features`."""
    if is_feature_store(folder):
        return False
    try:
        return bool(read_model(folder, defaults={}))
    except (ValueError, OSError):
        return False


# ------------------------------------------------------------------------------------------ writing


def open_or_create_store(folder: Path, facts: StoreFacts) -> StoreFacts:
    """Return the stored facts of a store, after a check that model, samples and settings are those
    of ``facts``. Without a store, write ``facts`` and return ``facts``.

    Raises ``ValueError`` if the check fails, and for a folder of :func:`save_features`.
    """
    if not (folder / TRAITS_FILE).exists():
        write_store_facts(folder, facts)
        return facts
    if _has_saved_features(folder):
        raise ValueError(
            f"extract_features: {folder / TRAITS_FILE} is of features that save_features wrote; "
            "open them with rs.open_features, or choose another folder"
        )
    stored_facts = read_store_facts(folder)
    check_same_store(folder, "model", facts.model, stored_facts.model)
    check_same_store(folder, "data", facts.data, stored_facts.data)
    for name, value in facts.settings.items():
        if stored_facts.settings.get(name) != value:
            raise ValueError(
                f"{folder} was extracted with {name}={stored_facts.settings.get(name)!r}; pass "
                "the same, or choose another folder"
            )
    return stored_facts


def drop_missing_layers(folder: Path, facts: StoreFacts) -> StoreFacts:
    """Return new facts of a store: ``modules`` lacks the modules of layers whose files are deleted
    or changed. The files stay unchanged."""
    modules = {}
    for pooling, names in facts.modules.items():
        files = {x: folder / f"{pooling}.{x}.npy" for x in facts.layers.get(pooling, ())}
        missing_layers = {
            x for x, f in files.items() if not (f.is_file() and is_undamaged(f, read=False))
        }
        missing_modules = {layer.partition("#")[0] for layer in missing_layers}
        modules[pooling] = tuple(name for name in names if name not in missing_modules)
    return replace(facts, modules=modules)


def check_same_store(
    folder: Path, kind: str, expected: Mapping[str, Any], stored: Mapping[str, Any]
) -> None:
    """Raise ``ValueError`` if the facts of a model or of samples differ from the stored facts.

    ``kind``: "model" or "data". The function compares the entries in ``IDENTITY_KEYS`` only. An
    unknown fact of samples, None, agrees with any value.
    """
    for name in IDENTITY_KEYS[kind]:
        values = [facts.get(name) for facts in (expected, stored)]
        if name == "class":  # without the module: its name depends on the import
            values = [str(value).rpartition(".")[2] if value else None for value in values]
        is_unknown = kind == "data" and None in values  # before the end of a loader
        if values[0] != values[1] and not is_unknown:
            reason = CHANGE_REASONS.get(name, "")
            raise ValueError(
                f"{folder} holds features of another {kind} ({name} {stored.get(name)}, not "
                f"{expected.get(name)}{reason}); choose another "
                f"{'name or ' * (kind == 'model')}folder"
            )


def write_store_facts(folder: Path, facts: StoreFacts) -> None:
    """Write the facts of a store to ``traits.json``, with the architecture for readers of model
    folders."""
    entries = {
        "format": FEATURE_STORE_FORMAT,
        "architecture": facts.model.get("class", "model"),
        **vars(facts),
    }
    write_atomically(folder / TRAITS_FILE, json.dumps(entries, indent=1) + "\n")


def merge_store_facts(
    facts: StoreFacts,
    data: Mapping[str, Any],
    layers: Mapping[str, Sequence[str]],
    modules: Sequence[str],
    order: Sequence[str],
) -> StoreFacts:
    """Return the facts of a store after a pass that added layers.

    ``layers``: the added layers by pooling. ``modules``: the watched modules, added to each of
    these poolings. ``data``: the new facts of the samples. ``order``: the names of all modules, in
    the order for the layers.
    """
    positions = {name: i for i, name in enumerate(order)}

    def place(layer: str) -> tuple[int, int]:
        name, _, call = layer.partition("#")
        return positions.get(name, len(positions)), int(call or 0)

    all_layers, all_modules = dict(facts.layers), dict(facts.modules)
    for pooling, names in layers.items():
        union = dict.fromkeys([*facts.layers.get(pooling, ()), *names])
        all_layers[pooling] = tuple(sorted(union, key=place))
        union = dict.fromkeys([*facts.modules.get(pooling, ()), *modules])
        all_modules[pooling] = tuple(union)
    return replace(facts, data=dict(data), layers=all_layers, modules=all_modules)


def finish_pass(folder: Path, paths: Sequence[Path], facts: StoreFacts, ids: Sequence[str]) -> None:
    """Move the complete arrays of a pass into a store, and write the new facts of the store.

    ``folder``: the store. ``paths``: the array files, in the folder of the pass. ``ids``: the
    sample ids of all rows. All arrays are on disk before the facts of the pass are written.
    """
    pass_folder = paths[0].parent
    write_atomically(pass_folder / SAMPLE_IDS_FILE, json.dumps({"ids": list(ids)}) + "\n")
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    write_store_facts(
        pass_folder, replace(facts, files={**facts.files, **record_model_files(paths)})
    )
    recover_interrupted_passes(folder)


def recover_interrupted_passes(folder: Path) -> None:
    """Move the arrays of complete passes into a store, and remove passes without arrays.

    A pass is complete if the pass has records of all arrays. An unfinished pass keeps its arrays,
    to resume. The facts of the store are moved last. Arrays that changed after completion are not
    moved.
    """
    for pass_folder in folder.glob(f"{PASS_FOLDER_PREFIX}*"):
        records = read_file_records(pass_folder)
        files = [pass_folder / name for name in records if (pass_folder / name).exists()]
        if records and all(is_undamaged(path, read=False) for path in files):
            for path in (*files, pass_folder / SAMPLE_IDS_FILE, pass_folder / TRAITS_FILE):
                if path.exists():
                    os.replace(path, folder / path.name)
            shutil.rmtree(pass_folder, ignore_errors=True)
        (pass_folder / TRAITS_FILE).unlink(missing_ok=True)
        if not any(pass_folder.glob("*.npy")):
            shutil.rmtree(pass_folder, ignore_errors=True)


# ----------------------------------------------------------------------------------------- growing

PROGRESS_FILE = "progress.json"
HASHED_READ_BYTES = 2**24  # bytes of an array in memory at a time


class WrittenRows(NamedTuple):
    """The content on disk: the number of batches and of rows, the fingerprint of the samples of the
    rows, the kinds of pooled outputs, and for each array the width, the dtype and a hash of the
    rows."""

    batches: int = 0
    rows: int = 0
    digest: str = ""
    pooled: tuple[str, ...] = ()
    arrays: Mapping[str, tuple[int, str, str]] = {}


class GrowingArrays:
    """Arrays (n, d) in the ``.npy`` files of a folder; each batch of samples extends all arrays.

    A progress file records ``written`` and is replaced after each batch. When the folder is opened
    again, unchanged rows stay; if rows have changed, all arrays are written from the beginning.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.written = read_document(
                folder / PROGRESS_FILE, _parse_written_rows, "what is written"
            )
            self._hashes = {name: _resume_row_hash(self, name) for name in self.written.arrays}
        except DAMAGED_FILE_ERRORS:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self.written = WrittenRows()

    def path(self, name: str) -> Path:
        """Return the file of an array."""
        return self.folder / f"{name}.npy"

    def append(self, rows: Mapping[str, np.ndarray], digest: str, pooled: Iterable[str]) -> None:
        """Add the rows of a batch to all arrays, and replace the progress file.

        ``rows``: by array name, (samples in the batch, d). ``digest``: the fingerprint of all
        samples so far. ``pooled``: the kinds of pooled outputs in the batch. Raises ``ValueError``,
        and keeps the earlier batches, if the arrays, widths or dtypes differ from the first batch.
        """
        batches, n_before, _, previous_pooled, arrays = self.written
        if batches:
            _check_consistent_rows(arrays, rows)
        else:
            self._hashes = {name: hashlib.sha256() for name in rows}
        total = n_before + len(next(iter(rows.values())))
        for name, values in rows.items():
            content = np.ascontiguousarray(values).data
            self._hashes[name].update(content)
            with self.path(name).open("r+b" if batches else "wb") as file:
                file.write(_npy_header(total, values.shape[1], values.dtype))
                file.seek(n_before * values[:1].nbytes, os.SEEK_CUR)
                file.write(content)
                file.truncate()
        hashes = {name: digest.hexdigest() for name, digest in self._hashes.items()}
        arrays = {name: (p.shape[1], p.dtype.str, hashes[name]) for name, p in rows.items()}
        all_pooled = tuple(sorted({*previous_pooled, *pooled}))
        self.written = WrittenRows(batches + 1, total, digest, all_pooled, arrays)
        write_atomically(self.folder / PROGRESS_FILE, json.dumps(self.written._asdict()) + "\n")


def _parse_written_rows(entries: dict[str, Any]) -> WrittenRows:
    written: WrittenRows = decode_record(WrittenRows, entries)
    if not (written.batches > 0 < written.rows and written.arrays):
        raise ValueError("nothing is written")
    return written


def _resume_row_hash(arrays: GrowingArrays, name: str) -> Any:
    """Return the SHA-256 object of the rows of an array, ready for more rows; raise ``ValueError``
    if the rows on disk differ from the record."""
    width, kind, expected = arrays.written.arrays[name]
    rows, dtype = arrays.written.rows, np.dtype(kind)
    n_left, digest = rows * width * dtype.itemsize, hashlib.sha256()
    with arrays.path(name).open("rb") as file:
        file.seek(len(_npy_header(rows, width, dtype)))
        while chunk := file.read(min(HASHED_READ_BYTES, n_left)):
            digest.update(chunk)
            n_left -= len(chunk)
    if digest.hexdigest() != expected:
        raise ValueError(f"{name} has other rows")
    return digest


def _npy_header(rows: int, width: int, dtype: np.dtype[Any]) -> bytes:
    """Return the header of a ``.npy`` file with a matrix (``rows``, ``width``) of ``dtype``; the
    length of the header does not depend on the number of rows."""
    file, description = io.BytesIO(), np.lib.format.dtype_to_descr(dtype)
    head = {"descr": description, "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(file, head)
    return file.getvalue()


def _check_consistent_rows(
    arrays: Mapping[str, tuple[int, str, str]], rows: Mapping[str, np.ndarray]
) -> None:
    if mismatches := sorted(set(arrays) ^ set(rows)):
        raise ValueError(f"{mismatches[0]} is not in all batches; leave that layer out")
    counts = {len(values) for values in rows.values()}
    if len(counts) > 1:
        raise ValueError(f"the layers of one batch have {sorted(counts)} rows; all must have each")
    for name, values in rows.items():
        width, kind, _ = arrays[name]
        if (values.shape[1], values.dtype.str) != (width, kind):
            raise ValueError(
                f"{name} gives {values.shape[1]} values of {values.dtype} per row, and {width} of "
                f"{np.dtype(kind)} in the batches before; give inputs of one size, or do not pool "
                '"flatten"'
            )
