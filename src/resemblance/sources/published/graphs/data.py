"""The data sets of the graph models: nodes with features and classes, links, and the published
splits, read from their original files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..pickles import ARRAYS, read_pickle

CORA = "https://github.com/kimiyoung/planetoid"
CORA_FILES = {  # the SHA-256 of each
    "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
}
CORA_FOLDERS = ("graphs/cora/raw", "cora/raw", "Cora/raw")
CORA_FOLDERS += ("graphs/cora/Cora/raw", "cora/Cora/raw", "Cora/Cora/raw")
VALIDATION = 500  # nodes after those of training


class GraphData(NamedTuple):
    """Nodes with features ``x`` (n, d) in float32 and ``labels`` (n,), ``links`` (2, n_links) with
    each direction as a column, and the nodes of the published split.

    ``compared``: the test nodes whose representations are compared.
    """

    x: np.ndarray
    labels: np.ndarray
    links: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    compared: np.ndarray
    classes: int


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> GraphData:
    """Return a data set from its original files.

    Raises ``ValueError`` for files that are missing, damaged or not those of the data set.
    """
    if dataset != "cora":
        raise ValueError(f"graphs: no data set {dataset!r}")
    return _cora(_folder(folder, CORA_FOLDERS, "ind.cora.x", "Cora", CORA), strict)


def _folder(folder: Path, places: Iterable[str], file: str, title: str, source: str) -> Path:
    """Return the first of several places below a folder that has a file."""
    options = [folder / place for place in places]
    for place in options:
        if (place / file).is_file():
            return place
    raise ValueError(
        f"{options[0] / file} is missing: {title} needs its files; get them from {source}"
    )


# --------------------------------------------------------------------------------------------- Cora


class _SparseParts:
    """What a pickled matrix of SciPy becomes: its parts, as attributes, to be checked."""

    def __init__(self, *arguments: object) -> None: ...


_CORA_NAMES = ARRAYS | {
    "scipy.sparse.csr.csr_matrix": _SparseParts,
    "scipy.sparse._csr.csr_matrix": _SparseParts,
    "collections.defaultdict": defaultdict,
    "__builtin__.list": list,
    "builtins.list": list,
}


def _cora(folder: Path, strict: bool) -> GraphData:
    parts = {name: _cora_part(folder / f"ind.cora.{name}", name, strict) for name in CORA_FILES}
    test, order = parts["test.index"], np.sort(parts["test.index"])
    x = np.concatenate([_dense(parts["allx"]), _dense(parts["tx"])]).astype(np.float32)
    labels = np.concatenate([parts["ally"], parts["ty"]]).argmax(axis=1)
    x[test], labels[test] = x[order], labels[order]
    x /= np.clip(x.sum(axis=1, keepdims=True), 1, None)
    pairs = np.array([(i, j) for i, near in parts["graph"].items() for j in near if i != j])
    links = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T.copy()
    first = len(parts["y"])
    train, validation = np.arange(first), np.arange(first, first + VALIDATION)
    return GraphData(x, labels, links, train, validation, order, order, parts["y"].shape[1])


def _cora_part(path: Path, name: str, strict: bool) -> Any:
    if not path.is_file():
        raise ValueError(f"{path} is missing: Cora needs it; get it from {CORA}")
    if strict and hashlib.sha256(path.read_bytes()).hexdigest() != CORA_FILES[name]:
        raise ValueError(f"{path} is not the file of Cora: another SHA-256; get it from {CORA}")
    if name == "test.index":
        return np.array(path.read_text().split(), np.int64)
    return read_pickle(path, _CORA_NAMES)


def _dense(parts: Any) -> np.ndarray:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((parts.data, parts.indices, parts.indptr), shape=parts._shape)
    matrix.check_format()
    return matrix.toarray()
