"""Archives of arrays, and tables: find the representations, the sample ids, and the unread
arrays."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.extras import import_optional, require_package
from ..base.formatting import list_names
from ..base.text import did_you_mean
from ..data.sample_ids import ID_COLUMN_NAME

# Bytes of an unpacked archive in memory; a small archive may unpack without end
MAX_UNPACKED_BYTES = 4 * 2**30
ARCHIVE_SUFFIXES, TABLE_FILE_SUFFIXES = (".npz", ".safetensors"), (".parquet", ".jsonl", ".ndjson")
# The arrays of a sparse matrix of SciPy
SPARSE_KEYS = {"indices", "indptr", "format", "shape", "data", "row", "col", "offsets", "_is_array"}
NUMERIC_DTYPE_KINDS = "biufc"


class ArchiveArray(NamedTuple):
    """An array of an archive: the key, the shape, and the letter of NumPy for the kind of the
    dtype, such as "f". The kind is "" for an entry that is no array."""

    key: str
    shape: tuple[int, ...]
    kind: str

    def __str__(self) -> str:
        kinds = {"U": "words", "S": "words", "O": "Python objects", "": "no array of NumPy"}
        content = kinds.get(self.kind, "")
        return f"{self.key!r} {self.shape if self.kind else ''} {content}".replace(
            "  ", " "
        ).rstrip()


class ArchiveRoles(NamedTuple):
    """The keys of the representations in an archive, the key of the sample ids, and the unread
    arrays."""

    keys: tuple[str, ...]
    ids: str | None
    left_out: tuple[ArchiveArray, ...]


def list_archive_arrays(path: Path) -> list[ArchiveArray]:
    """Return the arrays of a ``.npz`` or ``.safetensors`` file; only the headers are read.

    Raises ``ValueError``, naming the file, for an archive that is damaged or empty, and for a
    ``.npz`` file that unpacks to more than 4 GiB.
    """
    if path.suffix == ".npz":
        entries = _archive_headers(path)
    else:
        with open_tensor_file(path) as file:
            keys = list(file.keys())
            entries = [_tensor_archive_array(key, file.get_slice(key)) for key in keys]
    if not entries:
        raise ValueError(f"{path} is an empty archive")
    return entries


def _tensor_archive_array(key: str, tensor: Any) -> ArchiveArray:
    """Return the archive entry of a tensor: kind "i" for whole numbers, which may be ids, and kind
    "f" for all other dtypes."""
    is_whole = tensor.get_dtype()[:1] in "IU"
    return ArchiveArray(key, tuple(tensor.get_shape()), "i" if is_whole else "f")


def _archive_headers(path: Path) -> list[ArchiveArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > MAX_UNPACKED_BYTES:
                limit = f"more than {MAX_UNPACKED_BYTES / 2**30:g} GiB"
                raise ValueError(
                    f"{path} unpacks to {size / 2**30:.1f} GiB, {limit}; save its arrays as .npy "
                    "files"
                )
            names = archive.namelist()
            arrays = [name for name in names if name.endswith(".npy")]
            if names and not arrays:
                raise ValueError(
                    f"{path} is a zip archive without arrays of NumPy: it holds {names[0]!r}; save "
                    "arrays by np.savez"
                )
            return [_npy_member_header(archive, name) for name in arrays]
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(
            f"{path} is not a readable .npz archive: {error}; write it again"
        ) from error


def _npy_member_header(archive: zipfile.ZipFile, name: str) -> ArchiveArray:
    key = name.removesuffix(".npy")
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    try:
        with archive.open(name) as file:
            version = np.lib.format.read_magic(file)
            shape, _, dtype = readers[min(version[0], 2)](file)
            return ArchiveArray(key, tuple(shape), dtype.kind)
    except Exception:  # a damaged entry raises when the array is read
        return ArchiveArray(key, (), "")


def find_archive_roles(path: Path, key: str | None, ids: str | None) -> ArchiveRoles:
    """Return the roles of the arrays in an archive: representations, sample ids, or unread arrays.

    Representations: the array ``key``; without ``key`` all arrays of numbers with two axes or more,
    except ``ids``; if there are none, the array of an archive with a single array. Sample ids: the
    array ``ids``; without ``ids`` an array with a usual name and an entry per sample; else None.
    With ``key``, no array counts as unread.

    Raises ``ValueError`` if the archive has no array ``key`` or ``ids``, or no representation.
    """
    entries = list_archive_arrays(path)
    for name in (key, ids):
        if name is not None and name not in (keys := [entry.key for entry in entries]):
            raise ValueError(f"{path} has no array {name!r}{did_you_mean(name, keys)}")
    if key is not None:
        array_entries = [entry for entry in entries if entry.key == key]
    else:
        array_entries = [
            e
            for e in entries
            if e.key != ids and len(e.shape) > 1 and e.kind in NUMERIC_DTYPE_KINDS
        ]
    if not array_entries and {"format", "shape", "data"} <= {e.key for e in entries} <= SPARSE_KEYS:
        raise ValueError(
            f"{path} is a sparse matrix of SciPy; save its values: np.save('x.npy', "
            f"scipy.sparse.load_npz({str(path)!r}).toarray())"
        )
    if not array_entries:
        if len(entries) > 1:
            raise ValueError(
                f"{path} holds no array (n_samples, n_features) of numbers: "
                f"{list_names(entries, 5)}; name one, {path}/{entries[0].key}"
            )
        array_entries = entries
    other_entries = [entry for entry in entries if entry not in array_entries]
    counts = {entry.shape[0] for entry in array_entries if entry.shape}
    names = ids if ids is not None else _find_sample_name_key(other_entries, counts)
    unread_entries = () if key else tuple(entry for entry in other_entries if entry.key != names)
    return ArchiveRoles(tuple(entry.key for entry in array_entries), names, unread_entries)


def _find_sample_name_key(entries: Sequence[ArchiveArray], counts: set[int]) -> str | None:
    """Return the key of the array with the sample ids among ``entries``: a usual name, words or
    whole numbers, one per sample.

    ``counts``: the numbers of samples of the representations. The shortest key wins. None without
    such an array, or if the numbers of samples differ.
    """
    candidates = [
        e
        for e in entries
        if ID_COLUMN_NAME.fullmatch(e.key) and len(e.shape) == 1 and e.kind in "USiu"
    ]
    candidates = [e for e in candidates if {e.shape[0]} == counts]
    return min(candidates, key=lambda e: len(e.key)).key if candidates else None


def format_unread_arrays(path: Path, arrays: Sequence[ArchiveArray], files: int) -> str:
    """Return a line for a message about the unread arrays ``arrays``, at least one, of the archive
    ``path``.

    ``files``: the number of archives with unread arrays, this archive included.
    """
    note = f", and those of {files - 1} more files" if files > 1 else ""
    return (
        f"left out of {path}: {list_names(arrays, 5)}{note}; {path}/{arrays[0].key} "
        "names one to read it"
    )


# ------------------------------------------------------------------------------------------ content


def read_archive_array(path: Path, key: str) -> Any:
    """Return an array of an archive; raise ``ValueError`` for an entry that is no array."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            array = archive[key]
        if not isinstance(array, np.ndarray):
            raise ValueError("the entry is not an array of NumPy, although its name ends in .npy")
        return array
    with open_tensor_file(path) as file:
        return to_numpy(file.get_tensor(key))


def read_archive_ids(path: Path, key: str) -> tuple[Any, ...]:
    """Return the sample ids in an array of an archive, as Python words or numbers; raise
    ``ValueError`` for an array with more axes than one."""
    array = np.asarray(read_archive_array(path, key))
    if array.ndim != 1:
        raise ValueError(f"ids are one a sample, in one axis; {key!r} has shape {array.shape}")
    return tuple(
        np.char.decode(array, "utf-8").tolist() if array.dtype.kind == "S" else array.tolist()
    )


def read_table_frame(path: Path) -> Any:
    """Return a ``.parquet`` file as a pyarrow table, or a ``.jsonl`` file as a pandas data frame.

    A line of JSON is an object, or a list with the numbers of a vector. Needs the extra ``frames``.
    Raises ``ValueError``, naming the line, for other content.
    """
    if path.suffix == ".parquet":
        require_package("pandas")
        return import_optional("pyarrow.parquet").read_table(path, partitioning=None)
    columns: dict[str, list[Any]] = {}
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                _append_json_line(columns, line, number)
    if not columns:
        raise ValueError("it has no line")
    return import_optional("pandas").DataFrame(
        {name: _plain_column_cells(values) for name, values in columns.items()}
    )


def _append_json_line(columns: dict[str, list[Any]], line: str, number: int) -> None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number} is no JSON: {error}; write an object a line") from error
    if isinstance(record, list):
        record = {"vector": record}
    if not isinstance(record, dict):
        raise ValueError(
            f"line {number} must be an object, {{...}}, or a vector, [...]; got "
            f"{type(record).__name__}"
        )
    if columns and record.keys() != columns.keys():
        key = sorted(record.keys() ^ columns.keys())[0]
        raise ValueError(f"line {number} and the first line do not both have {key!r}")
    for name, value in record.items():
        is_vector = isinstance(value, list) and value and isinstance(value[0], int | float)
        columns.setdefault(name, []).append(np.asarray(value) if is_vector else value)


def _plain_column_cells(values: list[Any]) -> Any:
    """Return the cells of a column as a list, or, for a column with lists or vectors, as an array
    of objects."""
    if not any(isinstance(value, np.ndarray | list) for value in values):
        return values
    cells = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        cells[index] = value
    return cells


@contextmanager
def open_tensor_file(path: Path) -> Iterator[Any]:
    """Open a safetensors file for a ``with`` block; the tensors are of PyTorch if installed,
    otherwise of NumPy.

    Raises ``ValueError``, naming the file, for an unreadable file.
    """
    safetensors = import_optional("safetensors")
    framework = "np" if importlib.util.find_spec("torch") is None else "pt"
    try:
        with safetensors.safe_open(path, framework=framework) as file:
            yield file
    except (safetensors.SafetensorError, TypeError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}; write it again") from error
