"""A graph whose nodes are classified, and what all readers of such data sets check."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ..origins import Origin, content_of, find, place_of, plain_data, reading

MOST = 10_000  # nodes whose representations are compared
DRAW = 2024  # the seed of the authors' draw of these


class GraphData(NamedTuple):
    """Nodes with features ``x`` (n, d) in float32 and ``labels`` (n,) from 0 to ``classes`` - 1,
    ``links`` (2, n_links) with each direction in a column, and the nodes of the published split.

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


def compared_nodes(test: np.ndarray) -> np.ndarray:
    """Return the test nodes whose representations are compared: all of them, or 10,000 drawn as in
    the authors' code, in the order in which they were drawn."""
    if len(test) <= MOST:
        return test
    return np.random.RandomState(DRAW).choice(test, MOST, replace=False)


def check(
    data: GraphData, links: int, folder: Path, origin: Origin, counts: Mapping[str, int] | None
) -> GraphData:
    """Return a data set if its parts fit together and have the published sizes, if any are given.

    ``links``: how many the files have. Raises ``ValueError`` with the folder otherwise.
    """
    n = len(data.labels)
    split = np.concatenate([data.train, data.validation, data.test])
    problems = {
        f"features of {len(data.x)} nodes, classes of {n}": len(data.x) != n,
        f"classes outside 0 to {data.classes - 1}": not _within(data.labels, data.classes),
        f"links of nodes outside 0 to {n - 1}": not _within(data.links, n),
        f"a split with nodes outside 0 to {n - 1}": not _within(split, n),
        "nodes in two parts of the split": len(np.unique(split)) < len(split),
        "no nodes to train with or to test on": not (len(data.train) and len(data.test)),
        "features that are not finite": not np.isfinite(data.x).all(),
    }
    parts = (len(data.train), len(data.validation), len(data.test))
    sizes = (n, data.x.shape[1], links, data.classes, *parts)
    for (what, expected), size in zip((counts or {}).items(), sizes):
        problems[f"{size:,} {what}, expected {expected:,}"] = size != expected
    for problem, is_so in problems.items():
        if is_so:
            raise ValueError(f"{folder} is not {origin.title}: {problem}; get it from {origin.url}")
    return data


def _within(values: np.ndarray, end: int) -> bool:
    return values.size == 0 or (values.min() >= 0 and values.max() < end)


CORA = Origin(
    "Cora",
    "https://github.com/kimiyoung/planetoid",
    ("graphs/cora", "graphs/cora/Cora", "cora", "cora/Cora", "Cora", "Cora/Cora"),
    "raw/ind.cora.allx",
)
CORA_COUNTS = {
    "nodes": 2708, "features": 1433, "links both ways": 10_556, "classes": 7,
    "training nodes": 140, "validation nodes": 500, "test nodes": 1000,
}  # fmt: skip
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


def read_cora(folder: Path, strict: bool, normalized: bool = True) -> GraphData:
    """Return Cora from the files ``raw/ind.cora.*`` of a folder.

    Each file is a pickle of Python 2; ``strict`` compares its SHA-256. The training nodes are the
    first, as many as ``y`` has, then come 500 of validation, and the nodes of ``test.index`` are
    those of the test. Links are taken both ways, without repetitions and links of a node to itself.
    ``normalized``: each row of words is divided by its sum.

    Reference: Yang, Cohen and Salakhutdinov, "Revisiting Semi-Supervised Learning with Graph
    Embeddings", ICML 2016.
    """
    raw, parts = folder / "raw", dict[str, Any]()
    for name, digest in SHA256.items():
        with reading(raw / f"ind.cora.{name}", CORA) as path:
            content = content_of(path, digest if strict else "")
            parts[name] = _cora_part(name, content)
    with reading(raw / "ind.cora.allx", CORA):
        x = np.concatenate([parts["allx"], parts["tx"]])
        labels = np.concatenate([parts["ally"], parts["ty"]])
    first, known, test = len(parts["y"]), len(parts["ally"]), np.sort(parts["test.index"])
    with reading(raw / "ind.cora.test.index", CORA):
        if not np.array_equal(test, np.arange(known, len(labels))):
            raise ValueError("its nodes are not those after the nodes of allx")
        x[parts["test.index"]], labels[parts["test.index"]] = x[test], labels[test]
    if normalized:
        x /= np.clip(x.sum(axis=1, keepdims=True), 1, None)
    train, validation = np.arange(first), np.arange(first, min(first + VALIDATION, known))
    links, classes = parts["graph"], int(labels.max()) + 1
    data = GraphData(x, labels, links, train, validation, test, test, classes)
    return check(data, links.shape[1], folder, CORA, CORA_COUNTS if strict else None)


def _cora_part(name: str, content: bytes) -> np.ndarray:
    if name == "test.index":
        return np.array(content.split(), np.int64)
    value = plain_data(content)
    if name == "graph":
        links = [(i, j) for i, nodes in value.items() for j in nodes if i != j]
        pairs = np.array(links, np.int64).reshape(-1, 2)
        return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T.copy()
    if name.endswith("y"):
        return value.argmax(axis=1)
    value.check_format()  # before its indices are followed
    return value.astype(np.float32).toarray()


FLICKR = Origin(
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
        links = _flickr_links(path)
    labels = np.full(len(x), -1, np.int64)  # where the file has none
    with reading(raw / "class_map.json", FLICKR) as path:
        of_nodes = json.loads(path.read_text())
        places = np.array(list(of_nodes), np.int64)
        if len(places) and places.min() < 0:
            raise ValueError(f"it has a node {places.min()}")
        labels[places] = list(of_nodes.values())
    with reading(raw / "role.json", FLICKR) as path:
        roles = json.loads(path.read_text())
        train, validation, test = (
            np.sort(np.array(roles[name], np.int64)) for name in ("tr", "va", "te")
        )
    classes, compared = int(labels.max()) + 1, np.sort(compared_nodes(test))
    data = GraphData(x, labels, links, train, validation, test, compared, classes)
    return check(data, links.shape[1], folder, FLICKR, FLICKR_COUNTS if strict else None)


def _flickr_links(path: Path) -> np.ndarray:
    from scipy.sparse import csr_matrix

    with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
        entries = (parts["data"], parts["indices"], parts["indptr"])
        matrix = csr_matrix(entries, shape=tuple(parts["shape"]))
    matrix.check_format()  # before its indices are followed
    coordinates = matrix.tocoo()
    return np.stack([coordinates.row, coordinates.col]).astype(np.int64)


ARXIV = Origin(
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
    ``split/time/{train,valid,test}.csv.gz``.

    Citations are taken both ways, without repetitions. The compared nodes are 10,000 of the test
    nodes, in the order in which they were drawn.

    Reference: Hu et al., "Open Graph Benchmark: Datasets for Machine Learning on Graphs", NeurIPS
    2020.
    """
    cited = _table(folder / "raw" / "edge.csv.gz", np.int64, 2)
    x = _table(folder / "raw" / "node-feat.csv.gz", np.float32)
    labels = _table(folder / "raw" / "node-label.csv.gz", np.int64, 1)[:, 0]
    train, validation, test = (
        _table(folder / "split" / "time" / f"{part}.csv.gz", np.int64, 1)[:, 0]
        for part in ("train", "valid", "test")
    )
    classes, compared = int(labels.max()) + 1, compared_nodes(test)
    # Both ways, each once, ordered by first and second node
    first, second = np.concatenate([cited, cited[:, ::-1]]).T
    stride = int(cited.max()) + 1
    links = np.stack(np.divmod(np.unique(first * stride + second), stride))
    data = GraphData(x, labels, links, train, validation, test, compared, classes)
    return check(data, len(cited), folder, ARXIV, ARXIV_COUNTS if strict else None)


def _table(path: Path, kind: type, columns: int | None = None) -> np.ndarray:
    with reading(path, ARXIV):
        table: np.ndarray = np.loadtxt(path, kind, delimiter=",", ndmin=2)
        if not len(table) or (columns and table.shape[1] != columns):
            raise ValueError(f"{table.shape[0]} rows of {table.shape[1]} numbers")
    return table


Reader = Callable[[Path, bool], GraphData]
READERS: Mapping[str, tuple[Origin, Reader]] = {
    "cora": (CORA, read_cora),
    "flickr": (FLICKR, read_flickr),
    "ogbn-arxiv": (ARXIV, read_arxiv),
}
CHECKSUMS = {"cora": SHA256}  # those known, by data set and file


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> GraphData:
    """Return a data set from its original files below a folder.

    ``"cora"``: ``graphs/cora/raw/ind.cora.*``, eight files; ``"flickr"``:
    ``graphs/flickr/raw/{adj_full.npz,feats.npy,class_map.json,role.json}``; ``"ogbn-arxiv"``:
    ``graphs/ogbn_arxiv/{raw,split/time}/*.csv.gz``. The folder ``graphs`` may be left out, and
    where PyTorch Geometric or OGB put their downloads is known too. ``download``: whether one of
    these may download what is not there. ``strict``: whether all numbers of nodes, features, links
    and classes must be the published ones.

    Raises ``ValueError`` that names the file, or the folder, which is missing, damaged or another,
    and says where to get it.
    """
    (origin, reader), note = READERS[dataset], ""
    if download and place_of(folder, origin) is None:
        note = _download(dataset, folder)
    place = find(folder, origin, note)
    files = [path for path in sorted(place.glob("*/**/*")) if path.is_file()]
    stamp = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _remembered(reader, place, strict, stamp)


@lru_cache(maxsize=1)  # a study reads the same data twice for every model
def _remembered(reader: Reader, folder: Path, strict: bool, stamp: tuple[Any, ...]) -> GraphData:
    return reader(folder, strict)


def _download(dataset: str, folder: Path) -> str:
    """Let the library that knows a data set download it to one of its folders; return a remedy
    without the library."""
    if dataset == "cora":
        need("torch_geometric.datasets").Planetoid(str(folder), name="Cora")
    elif dataset == "flickr":
        need("torch_geometric.datasets").Flickr(str(folder / "flickr"))
    elif importlib.util.find_spec("ogb") is None:
        return ", or install the package ogb, which can download it"
    else:
        library = importlib.import_module("ogb.nodeproppred")
        library.NodePropPredDataset("ogbn-arxiv", root=str(folder))
    return ""
