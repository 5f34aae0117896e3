"""Read files of arrays, tables or tensors, and folders of files, as named representations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.formatting import list_names
from ..base.text import replace_undecodable, warn
from ..data.array_files import name_file_in_errors, open_npy, refuse_special_file
from ..data.layouts import from_maps, from_tokens
from ..data.representation import Representation
from .contents import (
    ARCHIVE_SUFFIXES,
    TABLE_FILE_SUFFIXES,
    ArchiveArray,
    find_archive_roles,
    format_unread_arrays,
    read_archive_array,
    read_archive_ids,
    read_table_frame,
)

ARRAY_SUFFIXES = (".npy", ".npz")  # suffixes of the files read from folders
READABLE_SUFFIXES = (".npy", *ARCHIVE_SUFFIXES, *TABLE_FILE_SUFFIXES)
SAVE_ARRAY_HINT = 'save the array by np.save("x.npy", array)'
SAVE_TABLE_HINT = 'pandas.read_csv(path, index_col="id").to_parquet("x.parquet")'
SUFFIX_REMEDIES = {
    ".pt": f"reading the file may run code; if you trust the file, load it and {SAVE_ARRAY_HINT}",
    ".csv": f"choose the columns that are numbers, and the one with ids: {SAVE_TABLE_HINT}",
    ".feather": 'write it as Parquet: pandas.read_feather(path).to_parquet("x.parquet")',
    ".gz": "it is compressed: unpack it first",
    ".h5": f"the content is unknown; {SAVE_ARRAY_HINT}",
    ".json": "write one JSON object a line, as .jsonl",
}
SUFFIX_ALIASES = {
    ".pth": ".pt", ".ckpt": ".pt", ".bin": ".pt", ".pkl": ".pt", ".pickle": ".pt", ".tsv": ".csv",
    ".txt": ".csv",
    ".hdf5": ".h5", ".mat": ".h5", ".arrow": ".feather", ".bz2": ".gz", ".xz": ".gz", ".zst": ".gz",
}  # fmt: skip
# Pooling functions by the number of axes
POOL_BY_AXES: Mapping[int, Callable[..., Representation]] = {3: from_tokens, 4: from_maps}


class StoredArray(NamedTuple):
    """An array in a file: a name; a longer name, used if two names are equal; the file; the key of
    the array in an archive or table; and the sample ids, or the name of the table column with the
    sample ids."""

    name: str
    longer: str
    path: Path
    key: str | None = None
    ids: tuple[Hashable, ...] | str | None = None


class InputLocation(NamedTuple):
    """A path as the user wrote the path, split: the file or folder that exists, and the rest as a
    key; None without a rest."""

    path: Path
    key: str | None


class ReadRequest(NamedTuple):
    """The key of the array or column to read from all files, and the key of the ids; None for the
    defaults of each file. ``left_out`` collects the unread arrays, by file."""

    column: str | None
    ids: str | None
    left_out: dict[Path, tuple[ArchiveArray, ...]]


def read_files(
    paths: Iterable[str | Path], *, pool: str = "", column: str = "", ids: str = ""
) -> dict[str, Representation]:
    """Return the representations in files and folders, by name, in the given order.

    A ``.npy`` file is one representation with the name of the file; the array stays on disk until
    needed. An ``.npz`` archive and a ``.safetensors`` file hold one representation per array with
    two axes or more, named "archive/key". An array called ``ids``, ``filenames`` or the like
    contains the sample ids; a warning names the other arrays. A path such as ``archive.npz/key``
    chooses one array. A ``.parquet`` file and a ``.jsonl`` file are tables: see
    :class:`Representation`; ``table.parquet/column`` chooses a column of vectors.

    A folder stands for all ``.npy`` and ``.npz`` files inside, in natural order ("conv2" before
    "conv10"), named by their path inside the folder. A folder of features (see
    :func:`open_features`) stands for the layers of its models, named "model/layer", with the sample
    ids; ``folder/model/layer`` and ``folder/layer`` choose one layer.

    Names omit the suffix. If two names are equal, the path as given becomes the name. Files with
    Python objects are refused, because reading Python objects would run code.

    ``pool``: how arrays of tokens, (n, tokens, d), or of maps, (n, channels, height, width), become
    (n, d), as in :func:`~resemblance.from_tokens` and :func:`~resemblance.from_maps`. ``column``:
    the array of archives, or the column of tables, to read. ``ids``: the array or column with the
    sample ids.

    Raises ``ValueError``, naming the file, for content other than (n_samples, n_features) numbers,
    and for an ``.npz`` archive that unpacks to more than 4 GiB; other files may have any size. Also
    raises ``ValueError`` for a ``pool`` if no array has tokens or maps.
    """
    representations: dict[str, Representation] = {}
    pooled = 0
    for name, array in _named_arrays(paths, ReadRequest(column or None, ids or None, {})).items():
        representations[name], is_pooled = _read_stored_array(array, name, pool)
        pooled += is_pooled
    if pool and not pooled:
        raise ValueError(
            f"pool={pool!r} has no effect: all arrays are (n_samples, n_features); leave out pool"
        )
    return representations


def read_recordings(paths: Iterable[str | Path]) -> dict[str, np.ndarray]:
    """Return the arrays with three axes in files and folders, by name: the short names of the
    arrays, or longer names where two are equal.

    Raises ``ValueError``, naming the file, for tables and for arrays with another number of axes.
    """
    recordings = {}
    for name, array in _named_arrays(paths, ReadRequest(None, None, {})).items():
        if array.path.suffix in TABLE_FILE_SUFFIXES:
            raise ValueError(f"{array.path} is a table; recordings over time are arrays, .npy")
        key = array.key
        data = open_npy(array.path) if key is None else read_archive_array(array.path, key)
        if data.ndim != 3:
            raise ValueError(
                f"{array.path} has shape {data.shape}; recordings over time have three axes: "
                "trials, bins and units, in any order"
            )
        recordings[name] = np.asarray(data)
    return recordings


def _named_arrays(paths: Iterable[str | Path], request: ReadRequest) -> dict[str, StoredArray]:
    """Return the arrays in files and folders by unique names, in the given order; warn of unread
    arrays. ``request``: the columns to read; unread arrays are added to ``request.left_out``.
    Raises ``ValueError`` for an array given twice."""
    arrays = [array for path in paths for array in _arrays_at(Path(path), request)]
    if request.left_out:
        warn(format_unread_arrays(*next(iter(request.left_out.items())), len(request.left_out)))
    name_counts = Counter(array.name for array in arrays)
    long_name_counts = Counter(array.longer for array in arrays)
    named: dict[str, StoredArray] = {}
    for array in arrays:
        full_name = "/".join(filter(None, (array.path.as_posix(), array.key)))
        long_name = array.longer if long_name_counts[array.longer] == 1 else full_name
        name = replace_undecodable(array.name if name_counts[array.name] == 1 else long_name)
        if name in named:
            raise ValueError(f"{array.path} is given twice, or two inputs are called {name!r}")
        named[name] = array
    return named


def _arrays_at(path: Path, request: ReadRequest) -> Iterator[StoredArray]:
    location = _locate_input(path)
    path, key = location
    if path.is_dir() and (layers := list(_features_in(path))):
        yield from layers if key is None else _find_layer_by_key(layers, key, path)
    elif path.is_dir():
        files = [p for p in path.rglob("*") if p.suffix in ARRAY_SUFFIXES and p.is_file()]
        if not files:
            tables = sorted(p for p in path.rglob("*") if p.suffix in TABLE_FILE_SUFFIXES)
            remedy = "name another"
            if tables:
                remedy = f"the folder contains tables: name each table, such as {tables[0]}"
            raise ValueError(f"{path} holds no .npy or .npz file; {remedy}")
        for file in sorted(files, key=natural_sort_key):
            name = file.relative_to(path).with_suffix("").as_posix()
            yield from _arrays_in_file(InputLocation(file, None), name, request)
    elif not path.exists():
        raise ValueError(f"{path} does not exist; check the path")
    elif path.suffix not in READABLE_SUFFIXES:
        refuse_special_file(path)
        remedy = SUFFIX_REMEDIES.get(SUFFIX_ALIASES.get(path.suffix, path.suffix), SAVE_ARRAY_HINT)
        suffixes = ", ".join(READABLE_SUFFIXES)
        raise ValueError(
            f"{path} is neither a folder nor a file that is read ({suffixes}): {remedy}"
        )
    else:
        yield from _arrays_in_file(location, path.stem, request)


def _locate_input(path: Path) -> InputLocation:
    """Return a path split into a file or a folder of features, and the rest of the path as a key.

    The key is None for a path that exists, or has no such parent.
    """
    if path.exists():
        return InputLocation(path, None)
    for depth, parent in enumerate(path.parents, 1):
        is_archive = parent.suffix in (*ARCHIVE_SUFFIXES, *TABLE_FILE_SUFFIXES) and parent.is_file()
        # The key of a layer is "layer" or "model/layer", so folders further up are not searched.
        is_near_folder = depth <= 2 and parent.is_dir() and parent != Path(".")
        if is_archive or (is_near_folder and _holds_features(parent)):
            return InputLocation(parent, path.relative_to(parent).as_posix())
    return InputLocation(path, None)


def _holds_features(folder: Path) -> bool:
    from .features import feature_folders

    return any(True for _ in feature_folders(folder))


def _find_layer_by_key(layers: list[StoredArray], key: str, folder: Path) -> list[StoredArray]:
    """Return a list with the one layer of a folder that has the key, "model/layer" or "layer";
    raise ``ValueError`` for no match, and for matches in several models. ``layers``: all layers of
    the folder."""
    matches = [a for a in layers if key in (a.name, a.name.partition("/")[2])]
    if len(matches) != 1:
        count_phrase = f"{len(matches)} layers" if matches else "no layer"
        layer_list = list_names((f"{folder}/{a.name}" for a in matches or layers), 5)
        raise ValueError(f"{folder} has {count_phrase} {key!r}; name one of {layer_list}")
    return matches


def _features_in(folder: Path) -> Iterator[StoredArray]:
    """Yield the layers of the models with features in a folder, named "model/layer".

    A model with several poolings has names "model/pooling.layer".
    """
    from .features import feature_folders  # features.py imports this module
    from .model_folder import read_model

    for model_folder in feature_folders(folder):
        model_features = read_model(model_folder)
        for features in model_features:
            prefix = f"{features.traits['pooling']}." if len(model_features) > 1 else ""
            for layer, r in features.layers.items():
                name = f"{features.name}/{prefix}{layer}"
                long_name = f"{folder.as_posix()}/{name}"
                assert r.path is not None  # layers in a folder are files
                yield StoredArray(name, long_name, r.path, ids=r.ids)


def _arrays_in_file(
    location: InputLocation, name: str, request: ReadRequest
) -> Iterator[StoredArray]:
    path, key = location.path, location.key or request.column
    long_name = path.with_suffix("").as_posix()
    if path.suffix == ".npy":
        yield StoredArray(name, long_name, path)
    elif path.suffix in TABLE_FILE_SUFFIXES:
        ending = f"/{location.key}" if location.key else ""
        yield StoredArray(name + ending, long_name + ending, path, key, request.ids)
    else:
        roles = find_archive_roles(path, key, request.ids)
        if roles.left_out:
            request.left_out[path] = roles.left_out
        with name_file_in_errors(f"{path}, ids {roles.ids!r},"):
            names = read_archive_ids(path, roles.ids) if roles.ids else None
        for array_key in roles.keys:
            yield StoredArray(
                f"{name}/{array_key}", f"{long_name}/{array_key}", path, array_key, names
            )


def _read_stored_array(array: StoredArray, name: str, pool: str) -> tuple[Representation, bool]:
    """Return the representation of an array, and whether the array was pooled.

    Only arrays with three or four axes are pooled, and only if ``pool`` is not "".
    """
    key, is_table, ids = array.key, array.path.suffix in TABLE_FILE_SUFFIXES, array.ids
    title = str(array.path) if key is None else f"{array.path}, array {key!r},"
    with name_file_in_errors(title) if is_table or array.path.suffix == ".npz" else nullcontext():
        if is_table:
            return Representation(read_table_frame(array.path), name, ids=ids, column=key), False
        data = (
            check_readable_array(array.path) if key is None else read_archive_array(array.path, key)
        )
        axes = open_npy(data).ndim if isinstance(data, Path) else data.ndim
        if not pool or axes not in POOL_BY_AXES:
            return Representation(data, name, ids=ids), False
    with name_file_in_errors(title):
        return POOL_BY_AXES[axes](data, pool=pool, name=name, ids=ids), True


def check_readable_array(path: Path) -> Path:
    """Return the path of a ``.npy`` file; raise ``ValueError``, naming the file, for a file without
    an array."""
    open_npy(path)
    return path


def natural_sort_key(path: Path) -> list[tuple[int, int, str]]:
    """Return a sort key of a path, with numbers inside names sorted as numbers: a triple per
    part."""
    parts = re.split(r"(\d+)", path.as_posix())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]
