"""Objects of Python as samples: lists, arrays, tensors, data sets, loaders, tables and graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...display import encodable
from ...extras import need
from ..batches import check_order, is_graph
from ..files import natural
from .samples import (
    FORMS,
    Samples,
    checked_texts,
    digest_of_arrays,
    digest_of_file,
    digest_of_files,
    digest_of_images,
    digest_of_row,
    digest_of_texts,
    of_texts,
)
from .tables import IMAGES, LABELS, TEXTS, as_labels, column_of, labels_in


def samples_of(data: Any, column: str | None) -> Samples:
    """Return the samples in an object; see :func:`resemblance.sources.models.load_samples`."""
    if isinstance(data, Samples):
        return data
    if hasattr(data, "column_names") and hasattr(data, "__getitem__"):
        return _of_dataset(data, column)
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return _of_frame(data, column)
    if column is not None:
        raise ValueError(
            f"load_samples: a {type(data).__name__} has no columns; leave column={column!r} out"
        )
    if is_graph(data):
        return of_graph(data, "graph")
    if hasattr(data, "to_list") and hasattr(data, "dtype"):  # a column of pandas or polars
        return of_texts(checked_texts(data.to_list(), "the column"), str(data.name or "texts"))
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return of_array(data, "array")
    if isinstance(data, list | tuple):
        return _of_list(data)
    if hasattr(data, "batch_size") or not hasattr(data, "__getitem__"):
        return _of_batches(data)
    if isinstance(data, Mapping) or not hasattr(data, "__len__"):
        raise ValueError(f"load_samples: data may be {FORMS}; got {type(data).__name__}")
    return _of_items(data)


def is_image(value: Any) -> bool:
    """Return whether this is an image of Pillow."""
    return all(hasattr(value, part) for part in ("convert", "mode", "size", "tobytes"))


def of_array(array: Any, name: str, facts: Mapping[str, Any] | None = None) -> Samples:
    """Return an array or tensor with a row per sample as samples; texts as texts."""
    shape = tuple(array.shape)
    kind = getattr(array.dtype, "kind", "f")
    if kind in "UT" or (kind == "O" and len(shape) == 1):
        texts = checked_texts(array.tolist(), "the array")
        return of_texts(texts, name, facts=dict(facts or {}))
    if not shape or shape[0] == 0 or kind not in "biuf":
        raise ValueError(
            f"load_samples: {name} must be an array of numbers with a row per sample; got shape "
            f"{shape} of {array.dtype}"
        )
    return Samples(
        "arrays",
        name,
        count=shape[0],
        facts={"shape": list(shape), "dtype": str(array.dtype), **(facts or {})},
        read=lambda start, stop: array[start:stop],
        digest=lambda count: digest_of_arrays([("", array[:count])]),
        keys=lambda places: [digest_of_row(array[i : i + 1]) for i in places],
    )


def of_graph(graph: Any, name: str, facts: Mapping[str, Any] | None = None) -> Samples:
    """Return a graph of PyTorch Geometric, whose samples are its nodes."""
    keys = sorted(graph.keys())
    tensors = [(key, graph[key]) for key in keys if hasattr(graph[key], "detach")]
    nodes = int(graph.num_nodes)
    labels = _classes(graph["y"], nodes) if "y" in keys else None
    about = {"unit": "nodes"} | dict(facts or {})
    stream, digest = (lambda: [graph]), (lambda count: digest_of_arrays(tensors))
    return Samples("graph", name, None, labels, nodes, about, stream=stream, digest=digest)


def _classes(y: Any, nodes: int) -> np.ndarray | None:
    """Return the classes of the nodes of a graph, if it has one for each."""
    has_classes = hasattr(y, "detach") and y.shape == (nodes,) and not y.is_floating_point()
    return np.asarray(y.cpu().numpy()) if has_classes else None


def _of_list(data: list[Any] | tuple[Any, ...]) -> Samples:
    if not data:
        raise ValueError(f"load_samples: the list is empty; data may be {FORMS}")
    if isinstance(data[0], str) and all(_is_image_file(entry) for entry in data):
        data = [Path(entry) for entry in data]
    if all(isinstance(entry, Path) for entry in data):
        return of_image_files(list(data), None, {})
    if isinstance(data[0], str):
        return of_texts(checked_texts(data, "the list"), "texts")
    if all(is_image(entry) for entry in data):
        return _of_images(data)
    return _of_batches(data)


def _is_image_file(value: Any) -> bool:
    suffix = value[-5:].lower().rpartition(".")[2] if isinstance(value, str) else ""
    return f".{suffix}" in IMAGE_SUFFIXES and "\n" not in value and Path(value).is_file()


def _of_images(images: Any) -> Samples:
    return Samples(
        "images",
        "images",
        count=len(images),
        read=lambda start, stop: [image.convert("RGB") for image in images[start:stop]],
        digest=lambda count: digest_of_images(images[:count]),
        keys=lambda places: [digest_of_images([images[i]]) for i in places],
    )


def _of_batches(data: Any) -> Samples:
    """Return a loader, or an iterable of batches, as samples."""
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ValueError(f"load_samples: data may be {FORMS}; got {type(data).__name__}")
    check_order(data)
    source: Any = getattr(data, "dataset", None)
    is_whole = hasattr(source, "__len__") and not getattr(data, "drop_last", False)
    count = len(source) if is_whole and getattr(data, "batch_sampler", None) else None
    return Samples("batches", "batches", count=count, stream=lambda: data)


def _of_items(data: Any) -> Samples:
    """Return a data set with a length as samples, which are read one by one."""
    count = len(data)
    first = _input(data[0]) if count else None
    if is_graph(first):
        if count == 1:
            return of_graph(first, type(data).__name__)
        raise ValueError(
            f"load_samples: a data set of {count} graphs needs batches; pass "
            "torch_geometric.loader.DataLoader(data)"
        )
    kinds = {"texts": isinstance(first, str), "images": is_image(first)}
    kinds["arrays"] = hasattr(first, "shape") and hasattr(first, "dtype")
    kind = next((kind for kind, is_so in kinds.items() if is_so), None)
    if kind is None:
        raise ValueError(
            "load_samples: a data set must hold texts, images or tensors, or tuples that begin "
            f"with one; got {type(first).__name__}: pass a DataLoader(data, batch_size=32)"
        )

    def read(start: int, stop: int) -> Any:
        entries = [_input(data[i]) for i in range(start, stop)]
        if kind == "images":
            return [image.convert("RGB") for image in entries]
        return entries if kind == "texts" else stacked(entries)

    labels = as_labels(getattr(data, "targets", ()))
    labels = labels if labels is not None and len(labels) == count else None
    return Samples(kind, type(data).__name__, labels=labels, count=count, read=read)  # type: ignore[arg-type]


def without_copies(samples: Samples) -> Samples:
    """Return samples without those that equal an earlier one, and their number in ``facts``."""
    if samples.distinct is None:
        raise ValueError(
            f"load_samples: unique=True cannot compare the entries of {samples.name}; leave out "
            "the copies yourself"
        )
    places = list(samples.distinct.values())
    if len(places) == len(samples):
        return samples
    return chosen(samples, places, {"copies left out": len(samples) - len(places)})


def chosen(samples: Samples, places: Sequence[int], facts: Mapping[str, Any]) -> Samples:
    """Return the samples at some places, with more facts."""

    def read(start: int, stop: int) -> Any:
        parts = [samples.batch(i, i + 1)[0] for i in places[start:stop]]
        return stacked(parts) if samples.kind == "arrays" else parts

    def keys(some: Iterable[int]) -> Any:
        return samples.keys([places[i] for i in some])

    def digest(count: int) -> str:
        of_each = keys(range(count))
        return digest_of_texts([k.hex() if isinstance(k, bytes) else k for k in of_each])

    return replace(
        samples,
        ids=None if samples.ids is None else tuple(samples.ids[i] for i in places),
        labels=None if samples.labels is None else samples.labels[list(places)],
        count=len(places),
        places=tuple(places if samples.places is None else (samples.places[i] for i in places)),
        total=samples.count if samples.places is None else samples.total,
        facts={**samples.facts, **facts},
        read=read,
        digest=None if samples.keys is None else digest,
        keys=None if samples.keys is None else keys,
    )


def stacked(entries: list[Any]) -> Any:
    """Return arrays or tensors of samples as one, with a row per sample."""
    if hasattr(entries[0], "detach"):
        return need("torch").stack(entries)
    return np.stack(entries)


def _input(entry: Any) -> Any:
    return entry[0] if isinstance(entry, tuple | list) and entry else entry


def _of_dataset(data: Any, column: str | None) -> Samples:
    """Return a column of a data set of Hugging Face."""
    if isinstance(data, Mapping):
        listed = ", ".join(map(repr, data))
        raise ValueError(f"load_samples: the data set has the splits {listed}; pass one, data[...]")
    where, count = "the data set", len(data)
    if not count:
        raise ValueError("load_samples: the data set is empty")
    names = tuple(data.column_names)
    first = data[0]
    columns = {name: data[name] if isinstance(first[name], str) else () for name in names}
    chosen = column_of(columns, column, where, (*TEXTS, *IMAGES))
    labels = labels_in({name: list(data[name]) for name in LABELS if name in names})
    about = {"column": chosen}
    if isinstance(first[chosen], str):
        texts = checked_texts(data[chosen], where)
        return of_texts(texts, chosen, labels=labels, facts=about)

    def read(start: int, stop: int) -> Any:
        entries = list(data[start:stop][chosen])
        if is_image(first[chosen]):
            return [image.convert("RGB") for image in entries]
        return stacked([np.asarray(entry) for entry in entries])

    kind: Any = "images" if is_image(first[chosen]) else "arrays"
    version = getattr(data, "_fingerprint", None)
    about |= {} if version is None else {"fingerprint of the data set": version}
    return Samples(kind, chosen, None, labels, count, about, read)


def _of_frame(data: Any, column: str | None) -> Samples:
    """Return a column of texts of a data frame of pandas or polars."""
    if not len(data):
        raise ValueError("load_samples: the data frame has no rows")
    columns = {str(name): data[name].to_list() for name in data.columns}
    if column is None and all(isinstance(v[0], int | float) for v in columns.values()):
        raise ValueError(
            "load_samples: the data frame holds numbers; pass data.to_numpy() for a sample per row"
        )
    chosen = column_of(columns, column, "the data frame")
    texts = checked_texts(columns[chosen], "the data frame", "row")
    return of_texts(texts, chosen, labels=labels_in(columns), facts={"column": chosen})


IMAGE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
)  # fmt: skip


def read_folder_of_images(folder: Path) -> Samples:
    """Return the images in a folder in natural order; its sub-folders are their classes."""
    files = [file for file in folder.rglob("*") if file.is_file() and not _is_hidden(folder, file)]
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    if not images:
        raise ValueError(
            f"load_samples: {folder} holds no image ({', '.join(IMAGE_SUFFIXES)}), and no "
            "raw/ind.cora.* of Cora; name another folder, or a file"
        )
    others = sorted(str(f.relative_to(folder).as_posix()) for f in files if f not in set(images))
    facts = {"folder": folder.name} | ({"other files left out": others} if others else {})
    return of_image_files(images, folder, facts)


def of_image_files(files: Sequence[Path], folder: Path | None, facts: dict[str, Any]) -> Samples:
    """Return files of images as samples: in natural order below a folder, or as they are listed."""
    if folder is not None:
        files = sorted(files, key=lambda file: natural(file.relative_to(folder)))
    by_name = {_file_name(file, folder): file for file in files}
    if len(by_name) < len(files):
        raise ValueError("load_samples: an image is listed twice; name each once")
    digest_once = cache(digest_of_file)
    labels, classes = _classes_of_files(files, folder)
    return Samples(
        "images",
        folder.name if folder is not None else "images",
        tuple(by_name),
        labels,
        len(files),
        facts | ({"classes": classes} if classes else {}),
        read=lambda start, stop: [open_image(file) for file in files[start:stop]],
        digest=lambda count: digest_of_files(dict(zip(by_name, map(digest_once, files[:count])))),
        keys=lambda places: [digest_once(files[i]) for i in places],
    )


def open_image(path: Path) -> Any:
    """Return an image in red, green and blue; ``ValueError``, naming the file, if it is broken."""
    image = need("PIL.Image")
    try:
        with image.open(path) as opened:
            return opened.convert("RGB")
    except Exception as error:  # whatever a damaged file causes in its decoder
        raise ValueError(
            f"load_samples: {path} is not an image that can be read ({error}); remove or replace it"
        ) from error


def _classes_of_files(
    files: Sequence[Path], folder: Path | None
) -> tuple[np.ndarray | None, list[str]]:
    parts = [file.relative_to(folder).parts if folder else () for file in files]
    if not all(len(part) > 1 for part in parts):
        return None, []
    classes = sorted({part[0] for part in parts}, key=lambda name: natural(Path(name)))
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers[part[0]] for part in parts]), [encodable(name) for name in classes]


def _file_name(file: Path, folder: Path | None) -> str:
    return encodable((file.relative_to(folder) if folder else file).as_posix())


def _is_hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
