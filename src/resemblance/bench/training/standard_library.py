"""Sentences and a call graph for every installation: a frozen extract of CPython's standard
library."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np


class Calls(NamedTuple):
    """Functions of the standard library, and the calls between functions.

    ``labels``: (n,) the package of every function, as an index into ``packages``. ``names``:
    "package.module.function". ``words``: (n,) for every function, the indices into ``vocabulary``
    of the words in the function's identifiers. ``edges``: (n_edges, 2) pairs of functions i < j,
    without repetitions; in a pair, one function calls a name that the other function defines.
    """

    packages: Sequence[str]
    labels: np.ndarray
    names: Sequence[str]
    vocabulary: Sequence[str]
    words: Sequence[Sequence[int]]
    edges: np.ndarray


class Sentences(NamedTuple):
    """Sentences of docstrings.

    ``labels``: (n,) the package of every sentence, as an index into ``packages``. ``files``: the
    module of every sentence.
    """

    packages: Sequence[str]
    labels: np.ndarray
    texts: Sequence[str]
    files: Sequence[str]


class Snapshot(NamedTuple):
    """The extract of the Python release ``python``; ``fingerprint`` is the SHA-256 of the extract's
    file."""

    python: str
    graph: Calls
    sentences: Sentences
    fingerprint: str


@lru_cache(maxsize=1)  # every model of a study reads the same extract several times
def load_snapshot() -> Snapshot:
    """Return the frozen extract of the standard library of CPython 3.11.7.

    ``graph``: 2,800 functions, the 350 best connected functions of each of the 8 packages with the
    most functions; 800 words. ``sentences``: up to 600 sentences of 4 to 40 words from each of the
    10 packages with the most sentences, without repetitions. The standard library differs between
    releases, so this package ships the extract: all machines read the same bytes.
    ``scripts/snapshot.py`` of the repository wrote the extract.
    """
    data = (files("resemblance.bench.training") / "data" / "stdlib.json.gz").read_bytes()
    content = json.loads(gzip.decompress(data))
    parts = [content[part] for part in ("graph", "sentences")]
    for part in parts:
        part["labels"] = np.array(part["labels"], np.int64)
    parts[0]["edges"] = np.array(parts[0]["edges"], np.int64)
    fingerprint = hashlib.sha256(data).hexdigest()
    return Snapshot(content["python"], Calls(**parts[0]), Sentences(**parts[1]), fingerprint)
