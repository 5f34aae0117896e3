"""Fingerprints of the content of samples and of weights: SHA-256, computed a piece at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...extras import need

PIECE = 2**24  # bytes of an array that are in memory at a time


def digest_of_texts(texts: Iterable[str]) -> str:
    """Return the fingerprint of texts in their order."""
    digest = hashlib.sha256(b"texts")
    for text in texts:
        _add(digest, text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def digest_of_files(contents: Mapping[str, bytes]) -> str:
    """Return the fingerprint of files by name, from those of their contents."""
    digest = hashlib.sha256(b"files")
    for name, content in contents.items():
        _add(digest, name.encode("utf-8", "surrogatepass"))
        _add(digest, content)
    return digest.hexdigest()


def digest_of_file(path: Path) -> bytes:
    """Return the fingerprint of the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def digests_of_rows(array: Any) -> list[bytes]:
    """Return the fingerprint of each row of an array or tensor."""
    return [hashlib.sha256(_bytes(array[i : i + 1])).digest() for i in range(len(array))]


def digest_of_images(images: Iterable[Any]) -> str:
    """Return the fingerprint of images of Pillow, of their pixels."""
    digest = hashlib.sha256(b"images")
    for image in images:
        _add(digest, f"{image.mode} {image.size}".encode())
        _add(digest, image.tobytes())
    return digest.hexdigest()


def digest_of_arrays(arrays: Iterable[tuple[str, Any]]) -> str:
    """Return the fingerprint of arrays or tensors by name: their shapes, types and values."""
    digest = hashlib.sha256(b"arrays")
    for name, array in arrays:
        _add(digest, f"{name} {array.dtype} {tuple(array.shape)}".encode())
        for piece in _pieces(array):
            digest.update(piece)
    return digest.hexdigest()


def digest_after(before: str, value: Any) -> str:
    """Return the fingerprint of what one of ``before`` was of, and then a sample or a batch.

    It does not depend on what a model or its tokenizer does with the samples.
    """
    digest = hashlib.sha256(before.encode())
    for kind, content in _contents(value):
        _add(digest, kind.encode())
        _add(digest, content)
    return digest.hexdigest()


def _contents(value: Any) -> Iterator[tuple[str, bytes]]:
    """Yield what is in a sample or a batch: texts, pixels, arrays, and the names of entries."""
    if isinstance(value, str):
        yield "text", value.encode("utf-8", "surrogatepass")
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield "array", digest_of_arrays([("", value)]).encode()
    elif hasattr(value, "tobytes") and hasattr(value, "mode"):
        yield "image", digest_of_images([value]).encode()
    elif isinstance(value, Mapping) or hasattr(value, "num_nodes"):
        for key in sorted(value.keys(), key=str):
            yield "entry", str(key).encode()
            yield from _contents(value[key])
    elif isinstance(value, list | tuple):
        yield "list", str(len(value)).encode()
        for entry in value:
            yield from _contents(entry)
    else:
        plain = value is None or isinstance(value, int | float)
        yield "other", (repr(value) if plain else type(value).__name__).encode()


def _add(digest: Any, content: bytes) -> None:
    """Add a content and its length, so that no two lists of contents give the same bytes."""
    digest.update(len(content).to_bytes(8, "little"))
    digest.update(content)


def _pieces(array: Any) -> Iterable[bytes]:
    if not array.shape or 0 in array.shape:
        yield _bytes(array)
        return
    row = max(1, int(np.prod(array.shape[1:])) * array.dtype.itemsize)
    step = max(1, PIECE // row)
    for start in range(0, array.shape[0], step):
        yield _bytes(array[start : start + step])


def _bytes(array: Any) -> bytes:
    if hasattr(array, "detach"):  # a tensor, perhaps of a type that NumPy lacks
        torch = need("torch")
        flat = array.detach().cpu().contiguous().reshape(-1)
        array = flat.view(torch.uint8).numpy() if flat.numel() else flat.float().numpy()
    return np.ascontiguousarray(array).tobytes()
