"""Flickr, as the four files of GraphSAINT hold it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .nodes import GraphData, Origin, check, check_size, compared_nodes, reading

FLICKR = Origin(
    "Flickr",
    "https://github.com/GraphSAINT/GraphSAINT",
    "raw/adj_full.npz",
    ("graphs/flickr", "flickr", "Flickr"),
    {
        "nodes": 89_250, "features": 500, "links both ways": 899_756, "classes": 7,
        "training nodes": 44_625, "validation nodes": 22_312, "test nodes": 22_313,
    },
)  # fmt: skip


def read_flickr(folder: Path, strict: bool) -> GraphData:
    """Return Flickr from ``raw/adj_full.npz``, ``feats.npy``, ``class_map.json`` and ``role.json``.

    Features are taken as they are. The compared nodes are 10,000 of the test nodes, sorted.

    Reference: Zeng et al., "GraphSAINT: Graph Sampling Based Inductive Learning Method", ICLR 2020.
    """
    raw = folder / "raw"
    with reading(raw / "feats.npy", FLICKR) as path:
        x = np.load(path, allow_pickle=False).astype(np.float32)
        if x.ndim != 2 or not x.size:
            raise ValueError(f"it is an array of shape {x.shape}, not of nodes by features")
    with reading(raw / "adj_full.npz", FLICKR) as path:
        links = _links(path)
    with reading(raw / "class_map.json", FLICKR) as path:
        labels = _labels(json.loads(path.read_text()), len(x))
    with reading(raw / "role.json", FLICKR) as path:
        roles = json.loads(path.read_text())
        train, validation, test = (
            np.sort(np.array(roles[name], np.int64)) for name in ("tr", "va", "te")
        )
    classes, compared = int(labels.max()) + 1, np.sort(compared_nodes(test))
    data = GraphData(x, labels, links, train, validation, test, compared, classes)
    return check(data, links.shape[1], folder, FLICKR, strict)


def _links(path: Path) -> np.ndarray:
    from scipy.sparse import csr_matrix

    with zipfile.ZipFile(path) as packed:  # before anything of it is unpacked
        check_size(sum(part.file_size for part in packed.infolist()))
    with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
        entries = (parts["data"], parts["indices"], parts["indptr"])
        matrix = csr_matrix(entries, shape=tuple(parts["shape"]))
    matrix.check_format()  # before its indices are followed
    coordinates = matrix.tocoo()
    return np.stack([coordinates.row, coordinates.col]).astype(np.int64)


def _labels(classes: Any, nodes: int) -> np.ndarray:
    """Return the class of each node; -1 where the file has none."""
    places = np.array(list(classes), np.int64)
    if len(places) and places.min() < 0:
        raise ValueError(f"it has a node {places.min()}")
    labels = np.full(nodes, -1, np.int64)
    labels[places] = list(classes.values())
    return labels
