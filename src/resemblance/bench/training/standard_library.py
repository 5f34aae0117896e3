"""Text and a graph that each installation has: a frozen extract of CPython's standard library."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np


class Calls(NamedTuple):
    """Functions, and which calls which.

    ``labels``: (n,) the package of each function, as a place in ``packages``. ``names``:
    "package.module.function". ``words``: (n,) for each function the places in ``vocabulary`` of the
    words in its identifiers. ``edges``: (n_edges, 2) pairs of functions i < j, each once, of which
    one calls a name that the other defines.
    """

    packages: Sequence[str]
    labels: np.ndarray
    names: Sequence[str]
    vocabulary: Sequence[str]
    words: Sequence[Sequence[int]]
    edges: np.ndarray


class Sentences(NamedTuple):
    """Sentences of docstrings.

    ``labels``: (n,) the package of each sentence, as a place in ``packages``. ``files``: the module
    it is from.
    """

    packages: Sequence[str]
    labels: np.ndarray
    texts: Sequence[str]
    files: Sequence[str]


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
    data = (files("resemblance.bench.training") / "data" / "stdlib.json.gz").read_bytes()
    content = json.loads(gzip.decompress(data))
    parts = [content[part] for part in ("graph", "sentences")]
    for part in parts:
        part["labels"] = np.array(part["labels"], np.int64)
    parts[0]["edges"] = np.array(parts[0]["edges"], np.int64)
    fingerprint = hashlib.sha256(data).hexdigest()
    return Snapshot(content["python"], Calls(**parts[0]), Sentences(**parts[1]), fingerprint)
