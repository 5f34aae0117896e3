"""Samples from files, folders, functions and objects of Python: the one door to all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...extras import need
from ...inputs import explained, open_array
from ...rng import generator
from ..training.graphs.data import read_cora
from .objects import chosen, of_array, of_graph, read_folder_of_images, samples_of, without_copies
from .samples import FORMS, Samples
from .scripts import call_function, is_function
from .tables import TEXT_SUFFIXES, read_texts


def load_samples(
    data: Any,
    *,
    column: str | None = None,
    name: str = "",
    limit: int | None = None,
    unique: bool = False,
    seed: int = 0,
) -> Samples:
    """Return the samples in a file, a folder or an object of Python.

    Files: ``.txt`` has a text per line, in UTF-8. ``.csv`` has a header and may quote; ``.tsv`` has
    a header and no quoting, as in GLUE, so that quotes are part of the text; ``.jsonl`` has an
    object or a text per line; ``.parquet`` is a table. ``.npy`` stays on disk; ``.npz`` holds one
    array, or several of which ``column`` names one. A folder of images is read in natural order,
    and its sub-folders, if it has any, are the classes. A folder of Cora holds ``raw/ind.cora.*``:
    its features are those of the files, not divided by the sums of their rows.
    ``file.py:function`` returns any of the objects below.

    Objects: a list of texts, of images of Pillow or of their paths; an array or tensor with a row
    per sample; a data set of PyTorch with a length, whose samples are texts, images or tensors, or
    tuples that begin with one; a loader, or a list, of batches that a model can be called with; a
    graph of PyTorch Geometric; a data set of Hugging Face; a column or data frame of pandas or
    polars. Images and arrays are read when they are needed.

    Parameters
    ----------
    data : the source.
    column : of a table, or the name of an array in an archive. The default is ``sentence`` or
        ``text``, or else the only column most of whose values are texts; of data sets also
        ``image`` or ``img``.
    name : of the samples, by default that of the file or folder.
    limit, seed : the most samples to read, drawn by the seed, in their order.
    unique : leave out texts, image files, images and rows that equal an earlier one. Copies make
        intervals too narrow and unrelated models alike.

    Raises ``ValueError``, with the remedy, for a source of another form, a column that does not
    exist or must be chosen, a list with a blank text, and a file that cannot be read. Blank lines
    of files are left out and counted in ``facts``. Warns of a first line that names columns and
    looks like a sample, and of a ``.txt`` file that looks like a table.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"load_samples: limit must be a whole number from 1; got {limit!r}")
    if isinstance(data, Samples):
        samples = data
    elif isinstance(data, str | Path):
        samples = _of_word(str(data), column)
    else:
        samples = samples_of(data, column)
    samples = without_copies(samples) if unique else samples
    return _limited(replace(samples, name=name) if name else samples, limit, seed)


def _limited(samples: Samples, limit: int | None, seed: int) -> Samples:
    """Return samples that are drawn: the first may be of one class."""
    if limit is None or (samples.count is not None and samples.count <= limit):
        return samples
    if samples.read is None:
        remedy = "give fewer batches, or choose rows of the results"
        raise ValueError(
            f"load_samples: limit={limit} cannot cut {samples.kind} of {samples.name}; {remedy}"
        )
    places = generator(seed, "limit").choice(len(samples), limit, replace=False)
    return chosen(samples, sorted(places.tolist()), {"limit": limit, "of": samples.count})


def _of_word(spec: str, column: str | None) -> Samples:
    """Return the samples behind a word."""
    path = Path(spec)
    if is_function(spec):
        data, function = call_function(spec, "load_samples")
        return replace(samples_of(data, column), name=function)
    if not path.exists():
        raise ValueError(f"load_samples: {spec} does not exist; data may be {FORMS}")
    if path.is_dir():
        is_cora = (path / "raw" / "ind.cora.x").exists()
        return _cora(path) if is_cora else read_folder_of_images(path)
    if path.suffix in TEXT_SUFFIXES:
        return read_texts(path, column)
    if path.suffix in (".npy", ".npz"):
        return _array(path, column)
    raise ValueError(f"load_samples: {path} has no suffix that is known; data may be {FORMS}")


def _array(path: Path, column: str | None) -> Samples:
    facts: dict[str, Any] = {"file": path.name}
    if path.suffix == ".npy":
        return of_array(open_array(path), path.stem, facts)
    with explained(str(path)), np.load(path, allow_pickle=False) as archive:
        keys = list(archive.files)
        if column is None and len(keys) != 1:
            listed = ", ".join(keys) or "none"
            raise ValueError(f"it has the arrays {listed}; choose one by column")
        key = column or keys[0]
        if key not in keys:
            raise ValueError(f"it has no array {key!r}; it has {', '.join(keys)}")
        return of_array(archive[key], path.stem, facts | {"array": key})


def _cora(folder: Path) -> Samples:
    """Return Cora as the graph that PyTorch Geometric makes of its files."""
    torch, graphs = need("torch"), need("torch_geometric.data")
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
    return of_graph(graph, folder.name, facts)
