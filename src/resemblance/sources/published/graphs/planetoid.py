"""Cora, as its eight files of the Planetoid split hold it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..pickles import ARRAYS, read_pickle
from .nodes import GraphData, Origin, check, check_size, reading

CORA = Origin(
    "Cora",
    "https://github.com/kimiyoung/planetoid",
    "raw/ind.cora.allx",
    ("graphs/cora", "graphs/cora/Cora", "cora", "cora/Cora", "Cora", "Cora/Cora"),
    {
        "nodes": 2708, "features": 1433, "links both ways": 10_556, "classes": 7,
        "training nodes": 140, "validation nodes": 500, "test nodes": 1000,
    },
)  # fmt: skip
SHA256 = {
    "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
}
VALIDATION = 500  # nodes, those after the training nodes


class _MatrixParts:
    """What a pickled sparse matrix becomes: an object with its parts, which are to be checked."""


_NAMES: Mapping[str, Any] = {
    **ARRAYS,
    "scipy.sparse.csr.csr_matrix": _MatrixParts,
    "scipy.sparse._csr.csr_matrix": _MatrixParts,
    "collections.defaultdict": defaultdict,
    "__builtin__.list": list,
    "builtins.list": list,
}


def read_cora(folder: Path, strict: bool, normalized: bool = True) -> GraphData:
    """Return Cora from the files ``raw/ind.cora.*`` of a folder.

    Each file is a pickle of Python 2, read without running anything; ``strict`` also compares its
    SHA-256. The training nodes are the first, as many as ``y`` has, then come 500 of validation,
    and the nodes of ``test.index`` are those of the test. Links are taken both ways, without
    repetitions and links of a node to itself. ``normalized``: each row of words is divided by its
    sum.

    Reference: Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with Graph
    Embeddings", ICML 2016.
    """
    raw = folder / "raw"
    parts = {name: _part(raw / f"ind.cora.{name}", name, strict) for name in SHA256}
    test = np.sort(parts["test.index"])
    known, first = len(parts["ally"]), len(parts["y"])
    with reading(raw / "ind.cora.allx", CORA):
        _check_rows(parts["allx"], known, parts["tx"].shape[1])
    with reading(raw / "ind.cora.tx", CORA):
        _check_rows(parts["tx"], len(parts["ty"]), parts["allx"].shape[1])
    with reading(raw / "ind.cora.test.index", CORA):
        if not np.array_equal(test, np.arange(known, known + len(parts["ty"]))):
            raise ValueError("its nodes are not those after the nodes of allx")
    x = np.concatenate([parts["allx"], parts["tx"]])
    labels = np.concatenate([parts["ally"], parts["ty"]])
    x[parts["test.index"]], labels[parts["test.index"]] = x[test], labels[test]
    if normalized:
        x /= np.clip(x.sum(axis=1, keepdims=True), 1, None)
    train, validation = np.arange(first), np.arange(first, min(first + VALIDATION, known))
    links, classes = parts["graph"], int(labels.max()) + 1
    data = GraphData(x, labels, links, train, validation, test, test, classes)
    return check(data, links.shape[1], folder, CORA, strict)


def _part(path: Path, name: str, strict: bool) -> np.ndarray:
    with reading(path, CORA):
        content = path.read_bytes()
        if strict and hashlib.sha256(content).hexdigest() != SHA256[name]:
            raise ValueError("it has another SHA-256")
        if name == "test.index":
            return np.array(content.split(), np.int64)
        value = read_pickle(path, _NAMES)
        if name == "graph":
            return _links(value)
        return value.argmax(axis=1) if name.endswith("y") else _dense(value)


def _links(neighbours: dict[int, list[int]]) -> np.ndarray:
    pairs = np.array(
        [(i, j) for i, nodes in neighbours.items() for j in nodes if i != j], np.int64
    ).reshape(-1, 2)
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T.copy()


def _dense(parts: Any) -> np.ndarray:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((parts.data, parts.indices, parts.indptr), shape=parts._shape)
    matrix.check_format()  # before its indices are followed
    check_size(matrix.shape[0] * matrix.shape[1])
    return matrix.astype(np.float32).toarray()


def _check_rows(x: np.ndarray, nodes: int, width: int) -> None:
    if x.shape != (nodes, width):
        raise ValueError(
            f"it is {x.shape[0]} x {x.shape[1]}; there are classes of {nodes} such nodes, and "
            f"{width} words"
        )
