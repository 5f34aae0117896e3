"""OGBN-Arxiv, as the tables of the Open Graph Benchmark hold it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .nodes import GraphData, Origin, check, compared_nodes, reading

ARXIV = Origin(
    "OGBN-Arxiv",
    "https://ogb.stanford.edu/docs/nodeprop/#ogbn-arxiv",
    "raw/edge.csv.gz",
    ("graphs/ogbn_arxiv", "ogbn_arxiv", "ogbn-arxiv", "graphs/ogbn-arxiv", "arxiv"),
    {
        "nodes": 169_343, "features": 128, "links": 1_166_243, "classes": 40,
        "training nodes": 90_941, "validation nodes": 29_799, "test nodes": 48_603,
    },
)  # fmt: skip


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
    data = GraphData(x, labels, _both_ways(cited), train, validation, test, compared, classes)
    return check(data, len(cited), folder, ARXIV, strict)


def _table(path: Path, kind: type, columns: int | None = None) -> np.ndarray:
    """Return the rows of a table of numbers without a header."""
    with reading(path, ARXIV):
        table: np.ndarray = np.loadtxt(path, kind, delimiter=",", ndmin=2)
        if not len(table) or (columns and table.shape[1] != columns):
            raise ValueError(f"{table.shape[0]} rows of {table.shape[1]} numbers")
    return table


def _both_ways(links: np.ndarray) -> np.ndarray:
    """Return links in both directions, (2, n_links), each once, ordered by first and second
    node."""
    first, second = np.concatenate([links, links[:, ::-1]]).T
    stride = int(links.max()) + 1
    return np.stack(np.divmod(np.unique(first * stride + second), stride))
