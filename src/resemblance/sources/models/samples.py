"""The samples that models see: texts, images, arrays, graphs or batches, from files or objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
        for number, key in enumerate(self.keys(range(len(self)))):
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

    def keys(places: Iterable[int]) -> list[str]:
        return [texts[i] for i in places]

    def digest(count: int) -> str:
        return digest_of_texts(texts[:count])

    return Samples("texts", name, count=len(texts), read=read, digest=digest, keys=keys, **parts)
