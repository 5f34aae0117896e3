"""Load samples from files, folders, functions and Python objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..base.extras import import_optional
from ..base.rng import generator
from ..base.text import replace_undecodable
from ..data.array_files import name_file_in_errors, open_npy
from .batches import check_not_shuffled, is_graph
from .cora import read_cora
from .files import natural_sort_key
from .samples import (
    SAMPLE_FORMS,
    Samples,
    digest_arrays,
    digest_file,
    digest_files,
    digest_images,
    digest_row,
    digest_texts,
    samples_from_texts,
    validate_texts,
)
from .scripts import call_function_spec, is_function_spec
from .tables import (
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    TEXT_COLUMNS,
    TEXT_SUFFIXES,
    find_label_column,
    find_sample_column,
    read_texts,
    to_integer_labels,
)


def load_samples(
    data: Any,
    *,
    column: str | None = None,
    name: str = "",
    max_samples: int | None = None,
    unique: bool = False,
    seed: int = 0,
) -> Samples:
    """Return the samples in a file, a folder or a Python object.

    Files: ``.txt`` has a text per line, in UTF-8. ``.csv`` has a header and may quote. ``.tsv`` has
    a header and no quoting, as in GLUE, so that quotes are part of the text. ``.jsonl`` has an
    object or a text per line. ``.parquet`` is a table. ``.npy`` stays on disk. ``.npz`` holds one
    array, or several arrays, and ``column`` names one array. A folder of images is read in natural
    order; its sub-folders, if any, are the classes. A folder of Cora holds ``raw/ind.cora.*``; the
    features are as in the files, not divided by the sums of rows. ``file.py:function`` returns any
    of the objects below.

    Objects: a list of texts, of Pillow images or of paths of images; an array or tensor with a row
    per sample; a PyTorch data set with a length and with samples that are texts, images or tensors,
    or tuples that begin with a text, image or tensor; a loader, or a list, of batches for a model;
    a graph of PyTorch Geometric; a data set of Hugging Face; a column or data frame of pandas or
    polars. Images and arrays are read when needed.

    Parameters
    ----------
    data : the source.
    column : the column of a table, or the name of an array in an archive. The default is
        ``sentence`` or ``text``, or else the only column with texts in most cells; for data sets
        also ``image`` or ``img``.
    name : name of the samples. Default: the name of the file or folder.
    max_samples, seed : the largest number of samples to read. If there are more samples, ``seed``
        draws this number, and the samples stay in their order.
    unique : leave out texts, image files, images and rows that equal an earlier sample. Duplicates
        make intervals too narrow and unrelated models similar.

    Raises ``ValueError``, with the remedy, for a source of another form, an unknown column, several
    possible columns without ``column``, a list with a blank text, and an unreadable file. Blank
    lines of files are left out and counted in ``facts``. Warns if a first line names columns but
    looks like a sample, and if a ``.txt`` file looks like a table.
    """
    if max_samples is not None and (
        isinstance(max_samples, bool) or not isinstance(max_samples, int) or max_samples < 1
    ):
        raise ValueError(
            f"load_samples: max_samples must be a whole number from 1; got {max_samples!r}"
        )
    if isinstance(data, Samples):
        samples = data
    elif isinstance(data, str | Path):
        samples = _samples_from_spec(str(data), column)
    else:
        samples = samples_from_object(data, column)
    samples = replace(samples, name=name) if name else samples
    if unique and samples.distinct is None:
        raise ValueError(
            f"load_samples: unique=True cannot compare the entries of {samples.name}; leave out "
            "the duplicates yourself"
        )
    if unique and len(positions := list((samples.distinct or {}).values())) < len(samples):
        samples = select_samples(
            samples, positions, {"copies left out": len(samples) - len(positions)}
        )
    if max_samples is None or (samples.count is not None and samples.count <= max_samples):
        return samples
    if samples.read is None:
        remedy = "give fewer batches, or choose rows of the results"
        raise ValueError(
            f"load_samples: max_samples={max_samples} cannot cut {samples.kind} of {samples.name}; "
            f"{remedy}"
        )
    # Draw samples, because the first samples may all belong to one class
    positions = sorted(
        generator(seed, "limit").choice(len(samples), max_samples, replace=False).tolist()
    )
    return select_samples(samples, positions, {"limit": max_samples, "of": samples.count})


def first_batch(samples: Samples, batch_size: int, seed: int) -> Samples:
    """Return the samples of a single batch: ``batch_size`` random samples where possible, otherwise
    the first batch of the samples; a graph stays whole."""
    if samples.read is not None:
        return load_samples(samples, max_samples=batch_size, seed=seed)
    if samples.kind == "graph":
        return samples

    def first() -> Iterator[Any]:
        return islice(samples.batches(), 1)

    return replace(samples, ids=None, labels=None, count=None, stream=first, digest=None)


def _samples_from_spec(spec: str, column: str | None) -> Samples:
    path = Path(spec)
    if is_function_spec(spec):
        data, function = call_function_spec(spec, "load_samples")
        return replace(samples_from_object(data, column), name=function)
    if not path.exists():
        raise ValueError(f"load_samples: {spec} does not exist; data may be {SAMPLE_FORMS}")
    if column is not None and (path.is_dir() or path.suffix == ".npy"):
        raise ValueError(f"load_samples: {path} has no columns; leave column={column!r} out")
    if path.is_dir():
        is_cora = (path / "raw" / "ind.cora.x").exists()
        return _samples_from_cora(path) if is_cora else _read_image_folder(path)
    if path.suffix in TEXT_SUFFIXES:
        return read_texts(path, column)
    if path.suffix in (".npy", ".npz"):
        return _samples_from_array_file(path, column)
    raise ValueError(
        f"load_samples: {path} has no suffix that is known; data may be {SAMPLE_FORMS}"
    )


def _samples_from_array_file(path: Path, column: str | None) -> Samples:
    facts: dict[str, Any] = {"file": path.name}
    if path.suffix == ".npy":
        return samples_from_array(open_npy(path), path.stem, facts)
    with name_file_in_errors(str(path)), np.load(path, allow_pickle=False) as archive:
        keys = list(archive.files)
        if column is None and len(keys) != 1:
            key_list = ", ".join(keys) or "none"
            raise ValueError(f"it has the arrays {key_list}; choose one by column")
        key = column or keys[0]
        if key not in keys:
            raise ValueError(f"it has no array {key!r}; it has {', '.join(keys)}")
        return samples_from_array(archive[key], path.stem, facts | {"array": key})


def _samples_from_cora(folder: Path) -> Samples:
    torch, graphs = import_optional("torch"), import_optional("torch_geometric.data")
    data = read_cora(folder, strict=False, normalized=False)
    nodes = len(data.labels)
    masks = {}
    for part in ("train", "val", "test"):
        mask = torch.zeros(nodes, dtype=torch.bool)
        mask[getattr(data, {"val": "validation"}.get(part, part))] = True
        masks[f"{part}_mask"] = mask
    x, links, y = (torch.from_numpy(part) for part in (data.x, data.links, data.labels))
    graph = graphs.Data(x=x, edge_index=links, y=y, **masks)
    facts = {"folder": folder.name, "features": "as in the files"}
    return samples_from_graph(graph, folder.name, facts)


def samples_from_object(data: Any, column: str | None) -> Samples:
    """Return the samples in a Python object: a data set, a table, a graph, texts, an array, a list,
    or batches. ``column``: the column of a table; None for the usual columns. Raises ``ValueError``
    for other objects."""
    if isinstance(data, Samples):
        return data
    if hasattr(data, "column_names") and hasattr(data, "__getitem__"):
        return _samples_from_dataset(data, column)
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        return _samples_from_frame(data, column)
    if column is not None:
        raise ValueError(
            f"load_samples: a {type(data).__name__} has no columns; leave column={column!r} out"
        )
    if is_graph(data):
        return samples_from_graph(data, "graph")
    if hasattr(data, "to_list") and hasattr(data, "dtype"):  # a column of pandas or polars
        return samples_from_texts(
            validate_texts(data.to_list(), "the column"), str(data.name or "texts")
        )
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return samples_from_array(data, "array")
    if isinstance(data, list | tuple):
        return _samples_from_list(data)
    if hasattr(data, "batch_size") or not hasattr(data, "__getitem__"):
        return _samples_from_batches(data)
    if isinstance(data, Mapping) or not hasattr(data, "__len__"):
        raise ValueError(f"load_samples: data may be {SAMPLE_FORMS}; got {type(data).__name__}")
    return _samples_from_items(data)


def is_image(value: Any) -> bool:
    """Return whether a value is a Pillow image."""
    return all(hasattr(value, part) for part in ("convert", "mode", "size", "tobytes"))


def samples_from_array(array: Any, name: str, facts: Mapping[str, Any] | None = None) -> Samples:
    """Return an array or tensor with a row per sample as samples; an array of texts becomes texts.
    ``facts``: added to the recorded facts."""
    shape = tuple(array.shape)
    kind = getattr(array.dtype, "kind", "f")
    if kind in "UT" or (kind == "O" and len(shape) == 1):
        texts = validate_texts(array.tolist(), "the array")
        return samples_from_texts(texts, name, facts=dict(facts or {}))
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
        digest=lambda count: digest_arrays([("", array[:count])]),
        keys=lambda positions: [digest_row(array[i : i + 1]) for i in positions],
    )


def samples_from_graph(graph: Any, name: str, facts: Mapping[str, Any] | None = None) -> Samples:
    """Return a graph of PyTorch Geometric as samples; the nodes are the samples. ``y`` gives the
    labels if ``y`` has a whole number per node."""
    keys, nodes = sorted(graph.keys()), int(graph.num_nodes)
    tensors = [(key, graph[key]) for key in keys if hasattr(graph[key], "detach")]
    y: Any = graph["y"] if "y" in keys else None
    has_classes = hasattr(y, "detach") and y.shape == (nodes,) and not y.is_floating_point()
    labels = np.asarray(y.cpu().numpy()) if has_classes else None
    about = {"unit": "nodes"} | dict(facts or {})
    stream, digest = (lambda: [graph]), (lambda count: digest_arrays(tensors))
    return Samples("graph", name, None, labels, nodes, about, stream=stream, digest=digest)


def _samples_from_list(data: list[Any] | tuple[Any, ...]) -> Samples:
    if not data:
        raise ValueError(f"load_samples: the list is empty; data may be {SAMPLE_FORMS}")
    if isinstance(data[0], str) and all(_is_image_file(entry) for entry in data):
        data = [Path(entry) for entry in data]
    if all(isinstance(entry, Path) for entry in data):
        return _samples_from_image_files(list(data), None, {})
    if isinstance(data[0], str):
        return samples_from_texts(validate_texts(data, "the list"), "texts")
    if all(is_image(entry) for entry in data):
        return _samples_from_images(data)
    return _samples_from_batches(data)


def _is_image_file(value: Any) -> bool:
    suffix = value[-5:].lower().rpartition(".")[2] if isinstance(value, str) else ""
    return f".{suffix}" in IMAGE_SUFFIXES and "\n" not in value and Path(value).is_file()


def _samples_from_images(images: Any) -> Samples:
    return Samples(
        "images",
        "images",
        count=len(images),
        read=lambda start, stop: [image.convert("RGB") for image in images[start:stop]],
        digest=lambda count: digest_images(images[:count]),
        keys=lambda positions: [digest_images([images[i]]) for i in positions],
    )


def _samples_from_batches(data: Any) -> Samples:
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ValueError(f"load_samples: data may be {SAMPLE_FORMS}; got {type(data).__name__}")
    check_not_shuffled(data)
    source: Any = getattr(data, "dataset", None)
    is_whole = hasattr(source, "__len__") and not getattr(data, "drop_last", False)
    count = len(source) if is_whole and getattr(data, "batch_sampler", None) else None
    return Samples("batches", "batches", count=count, stream=lambda: data)


def _samples_from_items(data: Any) -> Samples:
    """Return a data set of PyTorch as samples that are read separately; ``targets`` gives the
    labels. A data set of one graph becomes a graph."""
    count = len(data)
    example = _first_model_input(data[0]) if count else None
    if is_graph(example):
        if count == 1:
            return samples_from_graph(example, type(data).__name__)
        raise ValueError(
            f"load_samples: a data set of {count} graphs needs batches; pass "
            "torch_geometric.loader.DataLoader(data)"
        )
    kinds = {"texts": isinstance(example, str), "images": is_image(example)}
    kinds["arrays"] = hasattr(example, "shape") and hasattr(example, "dtype")
    kind = next((kind for kind, is_so in kinds.items() if is_so), None)
    if kind is None:
        raise ValueError(
            "load_samples: a data set must hold texts, images or tensors, or tuples that begin "
            f"with one; got {type(example).__name__}: pass a DataLoader(data, batch_size=32)"
        )

    def read(start: int, stop: int) -> Any:
        entries = [_first_model_input(data[i]) for i in range(start, stop)]
        if kind == "images":
            return [image.convert("RGB") for image in entries]
        return entries if kind == "texts" else stack_entries(entries)

    labels = to_integer_labels(getattr(data, "targets", ()))
    labels = labels if labels is not None and len(labels) == count else None
    return Samples(kind, type(data).__name__, labels=labels, count=count, read=read)  # type: ignore[arg-type]


def select_samples(samples: Samples, positions: Sequence[int], facts: Mapping[str, Any]) -> Samples:
    """Return new samples: the samples at the given positions, in the order of the positions, with
    ``facts`` added to the recorded facts. The content is still read when needed."""

    def read(start: int, stop: int) -> Any:
        entries = [samples.batch(i, i + 1)[0] for i in positions[start:stop]]
        return stack_entries(entries) if samples.kind == "arrays" else entries

    def keys(indices: Iterable[int]) -> Any:
        return samples.keys([positions[i] for i in indices])

    def digest(count: int) -> str:
        sample_keys = keys(range(count))
        return digest_texts([k.hex() if isinstance(k, bytes) else k for k in sample_keys])

    return replace(
        samples,
        ids=None if samples.ids is None else tuple(samples.ids[i] for i in positions),
        labels=None if samples.labels is None else samples.labels[list(positions)],
        count=len(positions),
        places=tuple(
            positions if samples.places is None else (samples.places[i] for i in positions)
        ),
        total=samples.count if samples.places is None else samples.total,
        facts={**samples.facts, **facts},
        read=read,
        digest=None if samples.keys is None else digest,
        keys=None if samples.keys is None else keys,
    )


def stack_entries(entries: list[Any]) -> Any:
    """Return arrays or tensors of samples, stacked to one array with a row per sample."""
    if hasattr(entries[0], "detach"):
        return import_optional("torch").stack(entries)
    return np.stack(entries)


def _first_model_input(entry: Any) -> Any:
    return entry[0] if isinstance(entry, tuple | list) and entry else entry


def _samples_from_dataset(data: Any, column: str | None) -> Samples:
    if isinstance(data, Mapping):
        split_list = ", ".join(map(repr, data))
        raise ValueError(
            f"load_samples: the data set has the splits {split_list}; pass one, data[...]"
        )
    source, count = "the data set", len(data)
    if not count:
        raise ValueError("load_samples: the data set is empty")
    names = tuple(data.column_names)
    example = data[0]
    columns = {name: data[name] if isinstance(example[name], str) else () for name in names}
    sample_column = find_sample_column(columns, column, source, (*TEXT_COLUMNS, *IMAGE_COLUMNS))
    labels = find_label_column({name: list(data[name]) for name in LABEL_COLUMNS if name in names})
    facts = {"column": sample_column}
    if isinstance(example[sample_column], str):
        texts = validate_texts(data[sample_column], source)
        return samples_from_texts(texts, sample_column, labels=labels, facts=facts)

    def read(start: int, stop: int) -> Any:
        entries = list(data[start:stop][sample_column])
        if is_image(example[sample_column]):
            return [image.convert("RGB") for image in entries]
        return stack_entries([np.asarray(entry) for entry in entries])

    kind: Any = "images" if is_image(example[sample_column]) else "arrays"
    version = getattr(data, "_fingerprint", None)
    facts |= {} if version is None else {"fingerprint of the data set": version}
    return Samples(kind, sample_column, None, labels, count, facts, read)


def _samples_from_frame(data: Any, column: str | None) -> Samples:
    if not len(data):
        raise ValueError("load_samples: the data frame has no rows")
    columns = {str(name): data[name].to_list() for name in data.columns}
    if column is None and all(isinstance(v[0], int | float) for v in columns.values()):
        raise ValueError(
            "load_samples: the data frame holds numbers; pass data.to_numpy() for a sample per row"
        )
    sample_column = find_sample_column(columns, column, "the data frame")
    texts = validate_texts(columns[sample_column], "the data frame", "row")
    return samples_from_texts(
        texts, sample_column, labels=find_label_column(columns), facts={"column": sample_column}
    )


IMAGE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
)  # fmt: skip


def _read_image_folder(folder: Path) -> Samples:
    """Return the images in a folder and below in natural order. The sub-folders are the classes.
    Hidden files are left out, and ``facts`` name other files."""
    files = {file: file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
    hidden_pattern = re.compile(r"(^|/)\.")
    visible_files = {
        f: name for f, name in files.items() if not hidden_pattern.search(name.as_posix())
    }
    images = [file for file in visible_files if file.suffix.lower() in IMAGE_SUFFIXES]
    if not images:
        raise ValueError(
            f"load_samples: {folder} holds no image ({', '.join(IMAGE_SUFFIXES)}), and no "
            "raw/ind.cora.* of Cora; name another folder, or a file"
        )
    other_names = sorted(
        name.as_posix() for file, name in visible_files.items() if file not in set(images)
    )
    facts = {"folder": folder.name} | ({"other files left out": other_names} if other_names else {})
    return _samples_from_image_files(images, folder, facts)


def _samples_from_image_files(
    files: Sequence[Path], folder: Path | None, facts: dict[str, Any]
) -> Samples:
    """Return image files as samples: in natural order below ``folder``, or in the order of the list
    if ``folder`` is None.

    If every image is in a sub-folder, the sub-folders give the labels.
    """
    names = {file: file.relative_to(folder) if folder else file for file in files}
    if folder is not None:
        files = sorted(files, key=lambda file: natural_sort_key(names[file]))
    by_name = {replace_undecodable(names[file].as_posix()): file for file in files}
    if len(by_name) < len(files):
        raise ValueError("load_samples: an image is listed twice; name each once")
    labels = None
    if folder is not None and all(len(name.parts) > 1 for name in names.values()):
        class_names = {name.parts[0] for name in names.values()}
        classes = sorted(class_names, key=lambda class_name: natural_sort_key(Path(class_name)))
        numbers = {class_name: number for number, class_name in enumerate(classes)}
        labels = np.array([numbers[names[file].parts[0]] for file in files])
        facts = facts | {"classes": [replace_undecodable(class_name) for class_name in classes]}
    digest_once = cache(digest_file)
    return Samples(
        "images",
        folder.name if folder is not None else "images",
        tuple(by_name),
        labels,
        len(files),
        facts,
        read=lambda start, stop: [open_image(file) for file in files[start:stop]],
        digest=lambda count: digest_files(dict(zip(by_name, map(digest_once, files[:count])))),
        keys=lambda positions: [digest_once(files[i]) for i in positions],
    )


def open_image(path: Path) -> Any:
    """Return an image in red, green and blue; raise ``ValueError``, naming the file, for a broken
    image."""
    pillow = import_optional("PIL.Image")
    try:
        with pillow.open(path) as image:
            return image.convert("RGB")
    except Exception as error:  # a decoder may raise anything for a damaged file
        raise ValueError(
            f"load_samples: {path} is not an image that can be read ({error}); remove or replace it"
        ) from error
