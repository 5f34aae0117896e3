"""The samples that models see: texts, images, arrays, graphs or batches, from files or objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .contents import digest_of_texts

Kind = Literal["texts", "images", "arrays", "batches", "graph"]
FORMS = (
    "a .txt, .csv, .tsv, .jsonl or .parquet file of texts, a .npy or .npz file, a folder of "
    "images, a folder of Cora with raw/ind.cora.*, file.py:function, or an object of Python: a "
    "list of texts or of images, an array or a tensor with a row per sample, a data set or loader "
    "of PyTorch or PyTorch Geometric, a data set of Hugging Face, or a column or data frame of "
    "pandas or polars"
)


@dataclass(frozen=True)
class Samples:
    """Samples in a fixed order, which models see in batches.

    ``kind``: ``"texts"``, ``"images"`` and ``"arrays"`` are read by ``batch``, a piece at a time;
    ``"batches"`` and ``"graph"`` are ready for the model and come from ``batches``. ``ids``: the
    name of each sample, if it has one. ``labels``: the class of each sample, as a whole number.
    ``count``: None where it is not known before all batches are read. ``facts``: what is recorded
    of the source, for JSON. ``read``, ``stream``, ``digest`` and ``keys`` are behind ``batch``,
    ``batches``, ``fingerprint`` and ``distinct``.
    """

    kind: Kind
    name: str
    ids: tuple[str, ...] | None = None
    labels: np.ndarray | None = None
    count: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    read: Any = None
    stream: Any = None
    digest: Any = None
    keys: Any = None

    @cached_property
    def fingerprint(self) -> str | None:
        """The SHA-256 of the content of these samples; None where it cannot be read twice."""
        return None if self.digest is None else str(self.digest(self.count))

    @cached_property
    def distinct(self) -> dict[Any, int] | None:
        """The first of equal samples, by what makes them equal; None where this is not known."""
        if self.keys is None:
            return None
        first: dict[Any, int] = {}
        for number, key in enumerate(self.keys(self.count)):
            first.setdefault(key, number)
        return first

    def __len__(self) -> int:
        """Return the number of samples; ``TypeError`` where it is not known."""
        if self.count is None:
            raise TypeError(f"the number of samples of {self.name} is not known; see .count")
        return self.count

    def batch(self, start: int, stop: int) -> Any:
        """Return the samples from ``start`` to before ``stop``: a list, or a part of an array."""
        if self.read is None:
            raise ValueError(f"{self.name} holds {self.kind}, which come from .batches()")
        return self.read(start, min(stop, len(self)))

    def batches(self) -> Iterator[Any]:
        """Return an iterator over batches that are ready for a model."""
        if self.stream is None:
            raise ValueError(f"{self.name} holds {self.kind}, which come from .batch(start, stop)")
        return iter(self.stream())


def load_samples(
    data: Any,
    *,
    column: str | None = None,
    name: str = "",
    limit: int | None = None,
    unique: bool = False,
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
    limit : the most samples to read, from the first.
    unique : leave out texts, image files, images and rows that equal an earlier one. Copies make
        intervals too narrow and unrelated models alike.

    Raises ``ValueError``, with the remedy, for a source of another form, a column that does not
    exist or must be chosen, a list with a blank text, and a file that cannot be read. Blank lines
    of files are left out and counted in ``facts``. Warns of a first line that names columns and
    looks like a sample, and of a ``.txt`` file that looks like a table.
    """
    from . import objects, sample_files

    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"load_samples: limit must be a whole number from 1; got {limit!r}")
    if isinstance(data, Samples):
        samples = data
    elif isinstance(data, str | Path):
        samples = sample_files.read_source(str(data), column)
    else:
        samples = objects.samples_of(data, column)
    samples = objects.without_copies(samples) if unique else samples
    return limited(replace_name(samples, name) if name else samples, limit)


def limited(samples: Samples, limit: int | None) -> Samples:
    """Return the first samples."""
    if limit is None or (samples.count is not None and samples.count <= limit):
        return samples
    if samples.read is None:
        remedy = "give fewer batches, or choose rows of the results"
        raise ValueError(
            f"load_samples: limit={limit} cannot cut {samples.kind} of {samples.name}; {remedy}"
        )
    return replace(
        samples,
        ids=None if samples.ids is None else samples.ids[:limit],
        labels=None if samples.labels is None else samples.labels[:limit],
        count=limit,
        facts={**samples.facts, "limit": limit, "of": samples.count},
    )


def replace_name(samples: Samples, name: str) -> Samples:
    """Return the samples under another name."""
    return replace(samples, name=name)


def checked_texts(texts: Iterable[Any], where: str, what: str = "sample") -> list[str]:
    """Return texts as a list; ``ValueError`` for one that is none or has only blanks."""
    checked = list(texts)
    if not checked:
        raise ValueError(f"load_samples: {where} holds no text")
    for number, text in enumerate(checked, 1):
        if not isinstance(text, str):
            got = f"{what} {number} is a {type(text).__name__}"
            raise ValueError(f"load_samples: {where} must hold texts only; {got}")
        if not text.strip():
            raise ValueError(
                f"load_samples: {what} {number} of {where} is blank, and a model has nothing to "
                "read there; remove it"
            )
    return checked


def of_texts(texts: list[str], name: str, **parts: Any) -> Samples:
    """Return texts as samples."""

    def read(start: int, stop: int) -> list[str]:
        return texts[start:stop]

    def keys(count: int) -> list[str]:
        return texts[:count]

    def digest(count: int) -> str:
        return digest_of_texts(keys(count))

    return Samples("texts", name, count=len(texts), read=read, digest=digest, keys=keys, **parts)
