"""Text and a graph in each installation: a frozen extract of CPython's standard library."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np


class Calls(NamedTuple):
    """Functions, and which calls which.

    ``labels``: (n,) the package of each function, as a place in ``packages``. ``names``:
    "package.module.function". ``words``: (n,) for each function the places in ``vocabulary`` of the
    words in its identifiers. ``edges``: (n_edges, 2) pairs of functions i < j, each once, of which
    one calls a name that the other defines.
    """

    packages: tuple[str, ...]
    labels: np.ndarray
    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    words: tuple[tuple[int, ...], ...]
    edges: np.ndarray


class Sentences(NamedTuple):
    """Sentences of docstrings.

    ``labels``: (n,) the package of each sentence, as a place in ``packages``. ``files``: the module
    it is from.
    """

    packages: tuple[str, ...]
    labels: np.ndarray
    texts: tuple[str, ...]
    files: tuple[str, ...]


class Snapshot(NamedTuple):
    """The extract of the release ``python``; ``fingerprint`` is the SHA-256 of its file."""

    python: str
    graph: Calls
    sentences: Sentences
    fingerprint: str


def load_snapshot() -> Snapshot:
    """Return the frozen extract of the standard library of CPython 3.11.7.

    ``graph``: 2,800 functions, the 350 best connected ones of each of the 8 packages with most
    functions; 800 words. ``sentences``: up to 600 sentences of 4 to 40 words from each of the 10
    packages with most sentences, none twice. The standard library differs between releases, so the
    extract is part of this package: all machines see the same bytes. It was written by
    ``scripts/snapshot.py`` of the repository.
    """
    data = (files("resemblance.sources.training") / "data" / "stdlib.json.gz").read_bytes()
    content = json.loads(gzip.decompress(data))
    return Snapshot(
        content["python"],
        _calls(content["graph"]),
        _sentences(content["sentences"]),
        hashlib.sha256(data).hexdigest(),
    )


def _calls(part: Mapping[str, Any]) -> Calls:
    return Calls(
        tuple(part["packages"]),
        np.array(part["labels"], np.int64),
        tuple(part["names"]),
        tuple(part["vocabulary"]),
        tuple(map(tuple, part["words"])),
        np.array(part["edges"], np.int64),
    )


def _sentences(part: Mapping[str, Any]) -> Sentences:
    return Sentences(
        tuple(part["packages"]),
        np.array(part["labels"], np.int64),
        tuple(part["texts"]),
        tuple(part["files"]),
    )
