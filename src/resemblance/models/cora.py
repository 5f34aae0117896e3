"""Read Cora, a graph of papers with classes, from the published files; check graph data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .published_files import (
    DatasetOrigin,
    naming_dataset_file,
    read_verified_bytes,
    unpickle_plain_data,
)


class GraphData(NamedTuple):
    """A graph with node features, labels, links and the published split.

    ``x``: features (n, d) of the nodes, in float32. ``labels``: (n,), from 0 to ``classes`` - 1.
    ``links``: (2, n_links), with one column per direction. ``train``, ``validation``, ``test``: the
    nodes of the published split. ``compared``: the test nodes to compare.
    """

    x: np.ndarray
    labels: np.ndarray
    links: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    compared: np.ndarray
    classes: int


def check_graph_data(
    data: GraphData,
    links: int,
    folder: Path,
    origin: DatasetOrigin,
    counts: Mapping[str, int] | None,
) -> GraphData:
    """Return a graph data set unchanged, after a check of its consistency.

    ``links``: the number of links in the files. ``counts``: the published sizes by noun, in the
    order nodes, features, links, classes, and the three parts of the split; None for no check of
    sizes. Raises ``ValueError``, naming the folder and the origin, if a check fails.
    """
    n = len(data.labels)
    split_nodes = np.concatenate([data.train, data.validation, data.test])
    problems = {
        f"features of {len(data.x)} nodes, classes of {n}": len(data.x) != n,
        f"classes outside 0 to {data.classes - 1}": not _are_indices_below(
            data.labels, data.classes
        ),
        f"links of nodes outside 0 to {n - 1}": not _are_indices_below(data.links, n),
        f"a split with nodes outside 0 to {n - 1}": not _are_indices_below(split_nodes, n),
        "nodes in two parts of the split": len(np.unique(split_nodes)) < len(split_nodes),
        "no nodes to train with or to test on": not (len(data.train) and len(data.test)),
        "features that are not finite": not np.isfinite(data.x).all(),
    }
    split_sizes = (len(data.train), len(data.validation), len(data.test))
    sizes = (n, data.x.shape[1], links, data.classes, *split_sizes)
    for (noun, expected), size in zip((counts or {}).items(), sizes):
        problems[f"{size:,} {noun}, expected {expected:,}"] = size != expected
    for problem, is_so in problems.items():
        if is_so:
            raise ValueError(f"{folder} is not {origin.title}: {problem}; get it from {origin.url}")
    return data


def _are_indices_below(values: np.ndarray, end: int) -> bool:
    return bool(((values >= 0) & (values < end)).all())


CORA_ORIGIN = DatasetOrigin(
    "Cora",
    "https://github.com/kimiyoung/planetoid",
    ("graphs/cora", "graphs/cora/Cora", "cora", "cora/Cora", "Cora", "Cora/Cora"),
    "raw/ind.cora.allx",
)
CORA_COUNTS = {
    "nodes": 2708, "features": 1433, "links both ways": 10_556, "classes": 7,
    "training nodes": 140, "validation nodes": 500, "test nodes": 1000,
}  # fmt: skip
CORA_SHA256 = {
    "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
}
CORA_VALIDATION_NODES = 500  # nodes directly after the training nodes


def read_cora(folder: Path, strict: bool, normalized: bool = True) -> GraphData:
    """Return Cora from the files ``raw/ind.cora.*`` of a folder.

    Each file except ``test.index`` is a pickle of Python 2. ``strict`` compares the SHA-256 of each
    file and the published sizes. The training nodes are the first nodes, as many as ``y`` has rows.
    The 500 validation nodes follow, and ``test.index`` lists the test nodes. Links are taken in
    both directions, without repetitions and self-loops. ``normalized``: each row of words is
    divided by the sum of the row.

    Reference: Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with Graph
    Embeddings", ICML 2016.
    """
    raw_folder, arrays = folder / "raw", dict[str, Any]()
    for name, digest in CORA_SHA256.items():
        with naming_dataset_file(raw_folder / f"ind.cora.{name}", CORA_ORIGIN) as path:
            content = read_verified_bytes(path, digest if strict else "")
            arrays[name] = _cora_part(name, content)
    with naming_dataset_file(raw_folder / "ind.cora.allx", CORA_ORIGIN):
        x = np.concatenate([arrays["allx"], arrays["tx"]])
        labels = np.concatenate([arrays["ally"], arrays["ty"]])
    n_train, n_labeled, test = len(arrays["y"]), len(arrays["ally"]), np.sort(arrays["test.index"])
    with naming_dataset_file(raw_folder / "ind.cora.test.index", CORA_ORIGIN):
        if not np.array_equal(test, np.arange(n_labeled, len(labels))):
            raise ValueError("its nodes are not those after the nodes of allx")
        x[arrays["test.index"]], labels[arrays["test.index"]] = x[test], labels[test]
    if normalized:
        x /= np.clip(x.sum(axis=1, keepdims=True), 1, None)
    train = np.arange(n_train)
    validation = np.arange(n_train, min(n_train + CORA_VALIDATION_NODES, n_labeled))
    links, classes = arrays["graph"], int(labels.max()) + 1
    data = GraphData(x, labels, links, train, validation, test, test, classes)
    return check_graph_data(
        data, links.shape[1], folder, CORA_ORIGIN, CORA_COUNTS if strict else None
    )


def _cora_part(name: str, content: bytes) -> np.ndarray:
    if name == "test.index":
        return np.array(content.split(), np.int64)
    value = unpickle_plain_data(content)
    if name == "graph":
        links = [(i, j) for i, nodes in value.items() for j in nodes if i != j]
        pairs = np.array(links, np.int64).reshape(-1, 2)
        return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T.copy()
    if name.endswith("y"):
        return value.argmax(axis=1)
    value.check_format()  # before the indices are used
    return value.astype(np.float32).toarray()
