"""The samples that models see, and fingerprints (SHA-256) of the content of samples and weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..base.extras import import_optional

SampleKind = Literal["texts", "images", "arrays", "batches", "graph"]
SAMPLE_FILE_FORMS = (
    "a .txt, .csv, .tsv, .jsonl or .parquet file of texts, a .npy or .npz file, a folder of "
    "images, a folder of Cora with raw/ind.cora.*, file.py:function"
)
SAMPLE_OBJECT_FORMS = (
    ", or an object of Python: a list of texts or of images, an array or a tensor with a row per "
    "sample, a data set or loader of PyTorch or PyTorch Geometric, a data set of Hugging Face, or "
    "a column or data frame of pandas or polars"
)
SAMPLE_FORMS = SAMPLE_FILE_FORMS + SAMPLE_OBJECT_FORMS


@dataclass(frozen=True)
class Samples:
    """Samples in a fixed order, which models see in batches.

    ``kind``: ``batch`` reads ``"texts"``, ``"images"`` and ``"arrays"``, a part at a time;
    ``batches`` yields ``"batches"`` and ``"graph"``, ready for the model. ``ids``: the name of each
    sample, if samples have names. ``labels``: the class of each sample, as a whole number.
    ``count``: the number of samples; None if unknown before all batches are read. ``places``: the
    positions of selected samples, among ``total`` samples. ``facts``: recorded facts about the
    source, for JSON. ``read(start, stop)``, ``stream()``, ``digest(count)`` for the first ``count``
    samples and ``keys(positions)``: the functions behind ``batch``, ``batches``, ``fingerprint``
    and ``distinct``.
    """

    kind: SampleKind
    name: str
    ids: tuple[str, ...] | None = None
    labels: np.ndarray | None = None
    count: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    read: Any = None
    stream: Any = None
    digest: Any = None
    keys: Any = None
    places: tuple[int, ...] | None = None
    total: int | None = None

    @cached_property
    def fingerprint(self) -> str | None:
        """The SHA-256 of the content of the samples; None if the samples cannot be read twice."""
        return None if self.digest is None else str(self.digest(self.count))

    @cached_property
    def distinct(self) -> dict[Any, int] | None:
        """The position of the first sample with each key; equal samples have equal keys. None if
        keys are unknown."""
        if self.keys is None:
            return None
        number_by_key: dict[Any, int] = {}
        for number, key in enumerate(self.keys(range(len(self)))):
            number_by_key.setdefault(key, number)
        return number_by_key

    def __len__(self) -> int:
        """Return the number of samples; raise ``TypeError`` if the number is unknown."""
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


def validate_texts(texts: Iterable[Any], source: str, noun: str = "sample") -> list[str]:
    """Return texts as a list; raise ``ValueError`` for no text, for an entry other than a text, and
    for a blank text. ``source`` and ``noun``: the list and an entry in messages."""
    checked = list(texts)
    if not checked:
        raise ValueError(f"load_samples: {source} holds no text")
    for number, text in enumerate(checked, 1):
        if not isinstance(text, str):
            problem = f"{noun} {number} is a {type(text).__name__}"
            raise ValueError(f"load_samples: {source} must hold texts only; {problem}")
        if not text.strip():
            raise ValueError(
                f"load_samples: {noun} {number} of {source} is blank, and a model has nothing to "
                "read there; remove it"
            )
    return checked


def samples_from_texts(texts: list[str], name: str, **fields: Any) -> Samples:
    """Return texts as samples. ``fields``: further fields of :class:`Samples`, such as
    ``labels``."""
    return Samples(
        "texts",
        name,
        count=len(texts),
        read=lambda start, stop: texts[start:stop],
        digest=lambda count: digest_texts(texts[:count]),
        keys=lambda positions: [texts[i] for i in positions],
        **fields,
    )


DIGEST_BLOCK_BYTES = 2**24  # bytes of an array in memory at a time


def digest_texts(texts: Iterable[str]) -> str:
    """Return the fingerprint of texts in their order, a hexadecimal SHA-256."""
    digest = hashlib.sha256(b"texts")
    for text in texts:
        _add_to_digest(digest, text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def digest_files(contents: Mapping[str, bytes]) -> str:
    """Return the fingerprint of files from ``contents``: the fingerprint of each file by name."""
    digest = hashlib.sha256(b"files")
    for name, content in contents.items():
        _add_to_digest(digest, name.encode("utf-8", "surrogatepass"))
        _add_to_digest(digest, content)
    return digest.hexdigest()


def digest_file(path: Path) -> bytes:
    """Return the SHA-256 of the content of a file, as bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def digest_row(row: Any) -> bytes:
    """Return the SHA-256 of the values of a row of an array or tensor, as bytes."""
    return hashlib.sha256(_contiguous_bytes(row)).digest()


def digest_images(images: Iterable[Any]) -> str:
    """Return the fingerprint of the modes, sizes and pixels of Pillow images in their order, a
    hexadecimal SHA-256."""
    digest = hashlib.sha256(b"images")
    for image in images:
        _add_to_digest(digest, f"{image.mode} {image.size}".encode())
        _add_to_digest(digest, image.tobytes())
    return digest.hexdigest()


def digest_arrays(arrays: Iterable[tuple[str, Any]]) -> str:
    """Return the fingerprint of arrays or tensors, a hexadecimal SHA-256 of their names, shapes,
    dtypes and values. ``arrays``: pairs (name, array), in order."""
    digest = hashlib.sha256(b"arrays")
    for name, array in arrays:
        _add_to_digest(digest, f"{name} {array.dtype} {tuple(array.shape)}".encode())
        for block in _array_blocks(array):
            digest.update(block)
    return digest.hexdigest()


def extend_digest(prior_digest: str, value: Any) -> str:
    """Return the fingerprint of all samples so far: of the samples behind ``prior_digest``,
    followed by ``value``, a sample or a batch."""
    digest = hashlib.sha256(prior_digest.encode())
    for kind, content in _digested_contents(value):
        _add_to_digest(digest, kind.encode())
        _add_to_digest(digest, content)
    return digest.hexdigest()


def _digested_contents(value: Any) -> Iterator[tuple[str, bytes]]:
    """Yield pairs (kind, content) for a sample or a batch: texts, pixels, arrays, and the names of
    entries. Of an unknown object, only the class counts."""
    if isinstance(value, str):
        yield "text", value.encode("utf-8", "surrogatepass")
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield "array", digest_arrays([("", value)]).encode()
    elif hasattr(value, "tobytes") and hasattr(value, "mode"):
        yield "image", digest_images([value]).encode()
    elif isinstance(value, Mapping) or hasattr(value, "num_nodes"):
        for key in sorted(value.keys(), key=str):
            yield "entry", str(key).encode()
            yield from _digested_contents(value[key])
    elif isinstance(value, list | tuple):
        yield "list", str(len(value)).encode()
        for entry in value:
            yield from _digested_contents(entry)
    else:
        is_plain = value is None or isinstance(value, int | float)
        yield "other", (repr(value) if is_plain else type(value).__name__).encode()


def _add_to_digest(digest: Any, content: bytes) -> None:
    """Add a content and its length to ``digest``, a hash object, in place."""
    digest.update(len(content).to_bytes(8, "little"))
    digest.update(content)


def _array_blocks(array: Any) -> Iterable[bytes]:
    if not array.shape or 0 in array.shape:
        yield _contiguous_bytes(array)
        return
    row = max(1, int(np.prod(array.shape[1:])) * array.dtype.itemsize)
    step = max(1, DIGEST_BLOCK_BYTES // row)
    for start in range(0, array.shape[0], step):
        yield _contiguous_bytes(array[start : start + step])


def _contiguous_bytes(array: Any) -> bytes:
    if hasattr(array, "detach"):  # NumPy lacks some dtypes of tensors
        torch = import_optional("torch")
        values = array.detach().cpu().contiguous().reshape(-1)
        array = values.view(torch.uint8).numpy() if values.numel() else values.float().numpy()
    return np.ascontiguousarray(array).tobytes()
