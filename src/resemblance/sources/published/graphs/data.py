"""The data sets of the graph models, each from its original files: which reader, where they may be,
and who downloads them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ....extras import need
from .arxiv import ARXIV, read_arxiv
from .flickr import FLICKR, read_flickr
from .nodes import GraphData, Origin
from .planetoid import CORA, SHA256, read_cora

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
    origin, reader = READERS[dataset]
    place = _place(folder, origin)
    if place is None and download:
        _download(dataset, folder)
        place = _place(folder, origin)
    if place is None:
        raise ValueError(
            f"{folder / origin.folders[0] / origin.file} is missing: {origin.title} is expected "
            f"there; get it from {origin.url}{_why_not(dataset) if download else ''}"
        )
    return _remembered(reader, place, strict, _stamp(place))


def _place(folder: Path, origin: Origin) -> Path | None:
    """Return the folder of a data set, or None."""
    places = (folder / name for name in origin.folders)
    return next((place for place in places if (place / origin.file).is_file()), None)


def _stamp(folder: Path) -> tuple[Any, ...]:
    """Return sizes and times of the files of a data set."""
    files = [path for path in sorted(folder.glob("*/**/*")) if path.is_file()]
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)


@lru_cache(maxsize=1)  # a study reads the same data twice for every model
def _remembered(reader: Reader, folder: Path, strict: bool, stamp: tuple[Any, ...]) -> GraphData:
    return reader(folder, strict)


def _download(dataset: str, folder: Path) -> None:
    """Let the library that knows a data set download it to one of its folders."""
    if dataset == "cora":
        need("torch_geometric.datasets").Planetoid(str(folder), name="Cora")
    elif dataset == "flickr":
        need("torch_geometric.datasets").Flickr(str(folder / "flickr"))
    elif _has_ogb():
        library = importlib.import_module("ogb.nodeproppred")
        library.NodePropPredDataset("ogbn-arxiv", root=str(folder))


def _has_ogb() -> bool:
    return importlib.util.find_spec("ogb") is not None


def _why_not(dataset: str) -> str:
    """Return why a data set that may be downloaded was not."""
    is_ogb_needed = dataset == "ogbn-arxiv" and not _has_ogb()
    return ", or install the package ogb, which can download it" if is_ogb_needed else ""
