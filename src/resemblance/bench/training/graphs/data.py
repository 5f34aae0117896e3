"""Graphs for node classification (Cora, Flickr, OGBN-Arxiv), read from the published files."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.models.cora import CORA_ORIGIN, CORA_SHA256, GraphData, check_graph_data, read_cora
from resemblance.models.published_files import (
    DatasetOrigin,
    find_dataset_folder,
    naming_dataset_file,
    require_dataset_folder,
)

MAX_COMPARED_NODES = 10_000  # the largest number of compared nodes
COMPARED_NODES_SEED = 2024  # the authors' seed for the draw of compared nodes


def compared_nodes(test: np.ndarray) -> np.ndarray:
    """Return the indices of the test nodes on which representations are compared: all nodes of
    ``test``, or 10,000 of them, drawn as in the authors' code, in the order of the draw. ``test``:
    the indices of all test nodes."""
    if len(test) <= MAX_COMPARED_NODES:
        return test
    return np.random.RandomState(COMPARED_NODES_SEED).choice(
        test, MAX_COMPARED_NODES, replace=False
    )


FLICKR_ORIGIN = DatasetOrigin(
    "Flickr",
    "https://github.com/GraphSAINT/GraphSAINT",
    ("graphs/flickr", "flickr", "Flickr"),
    "raw/adj_full.npz",
)
FLICKR_COUNTS = {
    "nodes": 89_250, "features": 500, "links both ways": 899_756, "classes": 7,
    "training nodes": 44_625, "validation nodes": 22_312, "test nodes": 22_313,
}  # fmt: skip


def read_flickr(folder: Path, strict: bool) -> GraphData:
    """Return Flickr from ``raw/adj_full.npz``, ``feats.npy``, ``class_map.json`` and ``role.json``
    in ``raw`` below the folder.

    Features are not normalised. The compared nodes are 10,000 of the test nodes, sorted.
    ``strict``: whether the numbers of nodes, links and classes must equal the published numbers.

    Reference: Zeng et al., "GraphSAINT: Graph Sampling Based Inductive Learning Method", ICLR 2020.
    """
    raw_folder = folder / "raw"
    with naming_dataset_file(raw_folder / "feats.npy", FLICKR_ORIGIN) as path:
        x = np.load(path, allow_pickle=False).astype(np.float32)
        if x.ndim != 2 or not x.size:
            raise ValueError(f"it is an array of shape {x.shape}, not of nodes by features")
    with naming_dataset_file(raw_folder / "adj_full.npz", FLICKR_ORIGIN) as path:
        links = _flickr_links(path)
    labels = np.full(len(x), -1, np.int64)  # -1 marks a node without a label
    with naming_dataset_file(raw_folder / "class_map.json", FLICKR_ORIGIN) as path:
        classes_by_node = json.loads(path.read_text())
        places = np.array(list(classes_by_node), np.int64)
        if len(places) and places.min() < 0:
            raise ValueError(f"it has a node {places.min()}")
        labels[places] = list(classes_by_node.values())
    with naming_dataset_file(raw_folder / "role.json", FLICKR_ORIGIN) as path:
        roles = json.loads(path.read_text())
        train, validation, test = (
            np.sort(np.array(roles[name], np.int64)) for name in ("tr", "va", "te")
        )
    classes, compared = int(labels.max()) + 1, np.sort(compared_nodes(test))
    data = GraphData(x, labels, links, train, validation, test, compared, classes)
    return check_graph_data(
        data, links.shape[1], folder, FLICKR_ORIGIN, FLICKR_COUNTS if strict else None
    )


def _flickr_links(path: Path) -> np.ndarray:
    from scipy.sparse import csr_matrix

    with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
        entries = (parts["data"], parts["indices"], parts["indptr"])
        matrix = csr_matrix(entries, shape=tuple(parts["shape"]))
    matrix.check_format()  # an index out of range would read other memory
    coordinates = matrix.tocoo()
    return np.stack([coordinates.row, coordinates.col]).astype(np.int64)


ARXIV_ORIGIN = DatasetOrigin(
    "OGBN-Arxiv",
    "https://ogb.stanford.edu/docs/nodeprop/#ogbn-arxiv",
    ("graphs/ogbn_arxiv", "ogbn_arxiv", "ogbn-arxiv", "graphs/ogbn-arxiv", "arxiv"),
    "raw/edge.csv.gz",
)
ARXIV_COUNTS = {
    "nodes": 169_343, "features": 128, "links": 1_166_243, "classes": 40,
    "training nodes": 90_941, "validation nodes": 29_799, "test nodes": 48_603,
}  # fmt: skip


def read_arxiv(folder: Path, strict: bool) -> GraphData:
    """Return OGBN-Arxiv from ``raw/{edge,node-feat,node-label}.csv.gz`` and
    ``split/time/{train,valid,test}.csv.gz`` below the folder.

    Citations become links in both directions, without repetitions. The compared nodes are 10,000 of
    the test nodes, in the order of the draw. ``strict``: whether the numbers of nodes, links and
    classes must equal the published numbers.

    Reference: Hu et al., "Open Graph Benchmark: Datasets for Machine Learning on Graphs", NeurIPS
    2020.
    """
    citations = _read_number_table(folder / "raw" / "edge.csv.gz", np.int64, 2)
    x = _read_number_table(folder / "raw" / "node-feat.csv.gz", np.float32)
    labels = _read_number_table(folder / "raw" / "node-label.csv.gz", np.int64, 1)[:, 0]
    train, validation, test = (
        _read_number_table(folder / "split" / "time" / f"{part}.csv.gz", np.int64, 1)[:, 0]
        for part in ("train", "valid", "test")
    )
    classes, compared = int(labels.max()) + 1, compared_nodes(test)
    # Links in both directions, without repetitions, sorted by first and second node
    first, second = np.concatenate([citations, citations[:, ::-1]]).T
    stride = int(citations.max()) + 1
    links = np.stack(np.divmod(np.unique(first * stride + second), stride))
    data = GraphData(x, labels, links, train, validation, test, compared, classes)
    return check_graph_data(
        data, len(citations), folder, ARXIV_ORIGIN, ARXIV_COUNTS if strict else None
    )


def _read_number_table(path: Path, kind: type, columns: int | None = None) -> np.ndarray:
    with naming_dataset_file(path, ARXIV_ORIGIN):
        table: np.ndarray = np.loadtxt(path, kind, delimiter=",", ndmin=2)
        if not len(table) or (columns and table.shape[1] != columns):
            raise ValueError(f"{table.shape[0]} rows of {table.shape[1]} numbers")
    return table


GraphReader = Callable[[Path, bool], GraphData]
GRAPH_READERS: Mapping[str, tuple[DatasetOrigin, GraphReader]] = {
    "cora": (CORA_ORIGIN, read_cora),
    "flickr": (FLICKR_ORIGIN, read_flickr),
    "ogbn-arxiv": (ARXIV_ORIGIN, read_arxiv),
}
CHECKSUMS = {"cora": CORA_SHA256}  # known checksums by data set and file


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> GraphData:
    """Return a data set from the original files below a folder.

    ``"cora"``: ``graphs/cora/raw/ind.cora.*``, eight files; ``"flickr"``:
    ``graphs/flickr/raw/{adj_full.npz,feats.npy,class_map.json,role.json}``; ``"ogbn-arxiv"``:
    ``graphs/ogbn_arxiv/{raw,split/time}/*.csv.gz``. You may leave out the folder ``graphs``, or
    keep the layout of downloads by PyTorch Geometric or OGB. ``download``: whether PyTorch
    Geometric or OGB may download missing files. ``strict``: whether the numbers of nodes, features,
    links and classes must equal the published numbers.

    Raises ``ValueError`` with the name and the source of a file or folder that is missing, damaged
    or from another data set.
    """
    (origin, reader), note = GRAPH_READERS[dataset], ""
    if download and find_dataset_folder(folder, origin) is None:
        note = _download_graphs(dataset, folder)
    place = require_dataset_folder(folder, origin, note)
    files = [path for path in sorted(place.glob("*/**/*")) if path.is_file()]
    stamp = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _read_cached_graph(reader, place, strict, stamp)


@lru_cache(maxsize=1)  # a study reads the same data twice for every model
def _read_cached_graph(
    reader: GraphReader, folder: Path, strict: bool, stamp: tuple[Any, ...]
) -> GraphData:
    return reader(folder, strict)


def _download_graphs(dataset: str, folder: Path) -> str:
    """Download a data set into a folder with PyTorch Geometric or OGB. Return the reason, or a
    remedy, if the download fails or the library is not installed; otherwise an empty text."""
    if dataset == "ogbn-arxiv" and importlib.util.find_spec("ogb") is None:
        return ", or install the package ogb, which can download it"
    try:
        if dataset == "cora":
            import_optional("torch_geometric.datasets").Planetoid(str(folder), name="Cora")
        elif dataset == "flickr":
            import_optional("torch_geometric.datasets").Flickr(str(folder / "flickr"))
        else:
            library = importlib.import_module("ogb.nodeproppred")
            library.NodePropPredDataset("ogbn-arxiv", root=str(folder))
    except OSError as error:  # no network
        return f", and put the files into that folder (the download failed: {error})"
    return ""
