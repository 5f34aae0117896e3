"""Small made copies of the data sets of the graph models, in the files of the published ones.

Their nodes have classes that links and words give away, so that a network can learn them.
"""

from __future__ import annotations

import gzip
import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

TODAY = {b"numpy._core.multiarray": b"numpy.core.multiarray"}
TODAY |= {b"scipy.sparse._csr": b"scipy.sparse.csr"}


class Made(NamedTuple):
    words: np.ndarray  # (n, d) of zeros and ones
    labels: np.ndarray
    links: np.ndarray  # (n_links, 2), each in one direction


def made(nodes: int, features: int, classes: int, seed: int = 0) -> Made:
    draws = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    typical = draws.random((classes, features)) < 0.3
    words = draws.random((nodes, features)) < np.where(typical[labels], 0.4, 0.05)
    words[:, 0] = True
    ends = draws.integers(nodes, size=(3 * nodes, 2))
    keep = (labels[ends[:, 0]] == labels[ends[:, 1]]) | (draws.random(len(ends)) < 0.2)
    return Made(words.astype(np.float32), labels, ends[keep & (ends[:, 0] != ends[:, 1])])


def write_cora(folder: Path, train: int = 28, other: int = 532, test: int = 40) -> Made:
    """Write the eight files into ``folder/raw``, and return their nodes. As in the original, the
    last nodes are those of the test, in another order."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    data = made(train + other + test, 40, 7)
    known = train + other
    order = np.random.default_rng(1).permutation(np.arange(known, known + test))
    one_hot = np.eye(7, dtype=np.int32)[data.labels]
    neighbors: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(len(data.labels)):
        neighbors[i]  # an isolated node has an entry too
    for i, j in data.links.tolist():
        neighbors[i].append(j)
        neighbors[j].append(i)
    neighbors[0] += [0, neighbors[0][0]]  # a link to itself, and a repeated one
    parts: dict[str, Any] = {"graph": neighbors, "ally": one_hot[:known], "ty": one_hot[order]}
    parts |= {"y": one_hot[:train], "x": csr_matrix(data.words[:train])}
    parts |= {"allx": csr_matrix(data.words[:known]), "tx": csr_matrix(data.words[order])}
    for name, part in parts.items():
        content = pickle.dumps(part, 2)
        for today, then in TODAY.items():
            content = content.replace(today, then)
        (raw / f"ind.cora.{name}").write_bytes(content)
    (raw / "ind.cora.test.index").write_text("".join(f"{node}\n" for node in order))
    return data


def write_flickr(folder: Path, nodes: int = 120) -> Made:
    """Write the four files into ``folder/raw``, and return their nodes."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    data = made(nodes, 20, 7)
    both = np.unique(np.concatenate([data.links, data.links[:, ::-1]]), axis=0).T
    matrix = csr_matrix((np.ones(both.shape[1]), both), shape=(nodes, nodes))
    np.savez(
        raw / "adj_full.npz",
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        shape=np.array(matrix.shape),
    )
    np.save(raw / "feats.npy", data.words.astype(np.float64))
    classes = {str(i): int(label) for i, label in reversed([*enumerate(data.labels)])}
    (raw / "class_map.json").write_text(json.dumps(classes))
    order = np.random.default_rng(2).permutation(nodes).tolist()
    half, rest = nodes // 2, 3 * nodes // 4
    roles = {"tr": order[:half], "va": order[half:rest], "te": order[rest:]}
    (raw / "role.json").write_text(json.dumps(roles))
    return data


def write_arxiv(folder: Path, nodes: int = 120) -> Made:
    """Write the tables into ``folder/raw`` and ``folder/split/time``, and return their nodes."""
    data = made(nodes, 12, 6)
    order = np.random.default_rng(3).permutation(nodes)
    half, rest = nodes // 2, 3 * nodes // 4
    tables = {
        "raw/edge": np.concatenate([data.links, data.links[:2, ::-1]]),
        "raw/node-feat": data.words,
        "raw/node-label": data.labels[:, None],
        "split/time/train": np.sort(order[:half])[:, None],
        "split/time/valid": np.sort(order[half:rest])[:, None],
        "split/time/test": np.sort(order[rest:])[:, None],
    }
    for name, table in tables.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(",".join(map(str, row)) + "\n" for row in table.tolist())
        path.write_bytes(gzip.compress(rows.encode()))
    return data


def write_all(folder: Path) -> Path:
    """Write all three below ``folder/graphs``, and return the folder."""
    write_cora(folder / "graphs" / "cora")
    write_flickr(folder / "graphs" / "flickr")
    write_arxiv(folder / "graphs" / "ogbn_arxiv")
    return folder
