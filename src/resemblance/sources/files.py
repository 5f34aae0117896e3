"""Files of arrays, tables or tensors, and folders of these, as named representations."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..array_files import explained, open_array
from ..arrays import to_numpy
from ..display import encodable
from ..extras import check, need
from ..representation import Representation
from .layouts import from_maps, from_tokens

SUFFIXES = (".npy", ".npz")  # what is read from folders
READABLE = (*SUFFIXES, ".parquet", ".safetensors")
# Bytes of an unpacked archive, which is held in memory: a small one may unpack without end
UNPACKED = 4 * 2**30
SAVE = 'save the array by np.save("x.npy", array)'
SAVE_TABLE = 'np.save("x.npy", pandas.read_csv(...).to_numpy())'
REMEDIES = {
    ".pt": f"it may run code when it is read; load it where you trust it and {SAVE}",
    ".csv": f"choose the columns and lines that are numbers: {SAVE_TABLE}",
    ".h5": f"it may hold anything; {SAVE}",
}
ALIASES = {
    ".pth": ".pt", ".ckpt": ".pt", ".bin": ".pt", ".pkl": ".pt", ".pickle": ".pt", ".tsv": ".csv",
    ".txt": ".csv",
    ".hdf5": ".h5", ".mat": ".h5",
}  # fmt: skip
POOLING: Mapping[int, Callable[..., Representation]] = {3: from_tokens, 4: from_maps}  # by axes


class StoredArray(NamedTuple):
    """An array in a file, with a longer name in case of a clash, its key in an archive, and the ids
    of its samples."""

    name: str
    longer: str
    path: Path
    key: str | None = None
    ids: tuple[Hashable, ...] | None = None


def read_files(paths: Iterable[str | Path], *, pool: str = "") -> dict[str, Representation]:
    """Return the representations in files and folders, by name, in the order given.

    A ``.npy`` file is one representation, named after it, and stays on disk until it is needed. An
    ``.npz`` archive holds one per array, named "archive/key". A folder stands for all such files
    inside it, in natural order ("conv2" before "conv10"), named by their path inside the folder. A
    ``.parquet`` file is a data frame, whose index names the samples, and a ``.safetensors`` file
    holds one representation per tensor; both only by their own name. A folder of features (see
    :func:`open_features`) stands for the layers of its models, named "model/layer", with the ids of
    their samples. Names leave the suffix out;
    those that would be used twice become the path as it was given. Files with Python objects are
    refused, because reading them would run code.

    ``pool``: how arrays of tokens, (n, tokens, d), or of maps, (n, channels, height, width), become
    (n, d), as by :func:`~resemblance.from_tokens` and :func:`~resemblance.from_maps`.

    Raises ``ValueError``, naming the file, for what cannot be read as (n_samples, n_features)
    numbers, and for an archive whose arrays take more than 4 GiB; ``.npy`` files may be of any
    size. Raises it, too, for a ``pool`` when no array has tokens or maps.
    """
    arrays = [array for path in paths for array in _arrays_at(Path(path))]
    uses = Counter(array.name for array in arrays)
    representations: dict[str, Representation] = {}
    pooled = 0
    for array in arrays:
        name = encodable(array.name if uses[array.name] == 1 else array.longer)
        if name in representations:
            raise ValueError(f"{array.path} is given twice, or two inputs are called {name!r}")
        representations[name], is_pooled = _read(array, name, pool)
        pooled += is_pooled
    if pool and not pooled:
        raise ValueError(
            f"pool={pool!r} has nothing to pool: all arrays are (n_samples, n_features); leave it "
            "out"
        )
    return representations


def _arrays_at(path: Path) -> Iterator[StoredArray]:
    if path.is_dir() and (layers := list(_features_in(path))):
        yield from layers
    elif path.is_dir():
        inside = [p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()]
        if not inside:
            raise ValueError(f"{path} holds no .npy or .npz file")
        for file in sorted(inside, key=natural):
            yield from _in_file(file, file.relative_to(path).with_suffix("").as_posix())
    elif not path.exists():
        raise ValueError(f"{path} does not exist")
    elif path.suffix not in READABLE:
        remedy = REMEDIES.get(ALIASES.get(path.suffix, path.suffix), SAVE)
        raise ValueError(f"{path} is neither a .npy nor a .npz file nor a folder: {remedy}")
    else:
        yield from _in_file(path, path.stem)


def _features_in(folder: Path) -> Iterator[StoredArray]:
    """Yield the layers of the models whose features are in a folder; with several poolings, the
    name of a layer begins with its own."""
    from .features import feature_folders  # which reads arrays by this module
    from .model_folder import read_subject

    for place in feature_folders(folder):
        subjects = read_subject(place)
        for subject in subjects:
            start = f"{subject.traits['pooling']}." if len(subjects) > 1 else ""
            for layer, r in subject.layers.items():
                name = f"{subject.name}/{start}{layer}"
                longer = f"{folder.as_posix()}/{name}"
                assert r.path is not None  # of a file
                yield StoredArray(name, longer, r.path, ids=r.ids)


def _in_file(path: Path, name: str) -> Iterator[StoredArray]:
    longer = path.with_suffix("").as_posix()
    if path.suffix in (".npy", ".parquet"):
        yield StoredArray(name, longer, path)
        return
    if path.suffix == ".npz":
        keys = _archive_keys(path)
    else:
        with _tensors(path) as file:
            keys = list(file.keys())
    if not keys:
        raise ValueError(f"{path} is an empty archive")
    for key in keys:
        yield StoredArray(f"{name}/{key}", f"{longer}/{key}", path, key)


def _archive_keys(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > UNPACKED:
                limit = f"more than {UNPACKED / 2**30:g} GiB"
                raise ValueError(
                    f"{path} unpacks to {size / 2**30:.1f} GiB, {limit}; save its arrays as .npy "
                    "files"
                )
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            return [name.removesuffix(".npy") for name in names]
    except (zipfile.BadZipFile, OSError) as error:
        raise ValueError(f"{path} is not a readable .npz archive: {error}") from error


def _read(array: StoredArray, name: str, pool: str) -> tuple[Representation, bool]:
    """Return the representation of an array, and whether it was pooled."""
    key, is_archive = array.key, array.path.suffix == ".npz"
    where = str(array.path) if key is None else f"{array.path}, array {key!r},"
    with explained(where) if is_archive or array.path.suffix == ".parquet" else nullcontext():
        data = _content(array)
        axes = open_array(data).ndim if isinstance(data, Path) else data.ndim
        if not pool or axes not in POOLING:
            return Representation(data, name, ids=array.ids), False
    with explained(where):
        return POOLING[axes](data, pool=pool, name=name), True


def _content(array: StoredArray) -> Any:
    """Return what is in a file, or the path of a ``.npy`` file, which stays on disk."""
    path, key = array.path, array.key
    if path.suffix == ".parquet":
        check("pyarrow")
        return need("pandas").read_parquet(path)
    if key is None:
        return readable(path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return archive[key]
    with _tensors(path) as file:
        return to_numpy(file.get_tensor(key))


def readable(path: Path) -> Path:
    """Return the path of a ``.npy`` file; ``ValueError``, naming the file, if it holds no array."""
    open_array(path)
    return path


@contextmanager
def _tensors(path: Path) -> Iterator[Any]:
    """Open a file of tensors, by PyTorch if installed, because NumPy lacks some types."""
    safetensors = need("safetensors")
    framework = "np" if importlib.util.find_spec("torch") is None else "pt"
    try:
        with safetensors.safe_open(path, framework=framework) as file:
            yield file
    except (safetensors.SafetensorError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def natural(path: Path) -> list[tuple[int, int, str]]:
    """Return the key of a path by which numbers inside names are sorted as numbers."""
    parts = re.split(r"(\d+)", path.as_posix())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]
