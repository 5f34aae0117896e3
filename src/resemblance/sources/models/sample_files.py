"""Samples by the name of a file, a folder or a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...extras import need
from ...inputs import explained, open_array
from ..training.graphs.data import read_cora
from .image_files import read_folder_of_images
from .objects import of_array, of_graph, samples_of
from .python_files import call_function, is_function
from .samples import FORMS, Samples, replace_name
from .text_files import TEXT_SUFFIXES, read_texts


def read_source(spec: str, column: str | None) -> Samples:
    """Return the samples behind a word; see :func:`resemblance.sources.models.load_samples`."""
    path = Path(spec)
    if is_function(spec):
        data, function = call_function(spec, "load_samples")
        return replace_name(samples_of(data, column), function)
    if not path.exists():
        raise ValueError(f"load_samples: {spec} does not exist; data may be {FORMS}")
    if path.is_dir():
        is_cora = (path / "raw" / "ind.cora.x").exists()
        return _cora(path) if is_cora else read_folder_of_images(path)
    if path.suffix in TEXT_SUFFIXES:
        return read_texts(path, column)
    if path.suffix in (".npy", ".npz"):
        return _array(path, column)
    raise ValueError(f"load_samples: {path} has no suffix that is known; data may be {FORMS}")


def _array(path: Path, column: str | None) -> Samples:
    facts: dict[str, Any] = {"file": path.name}
    if path.suffix == ".npy":
        return of_array(open_array(path), path.stem, facts)
    with explained(str(path)), np.load(path, allow_pickle=False) as archive:
        keys = list(archive.files)
        if column is None and len(keys) != 1:
            listed = ", ".join(keys) or "none"
            raise ValueError(f"it has the arrays {listed}; choose one by column")
        key = column or keys[0]
        if key not in keys:
            raise ValueError(f"it has no array {key!r}; it has {', '.join(keys)}")
        return of_array(archive[key], path.stem, facts | {"array": key})


def _cora(folder: Path) -> Samples:
    """Return Cora as the graph that PyTorch Geometric makes of its files."""
    torch, graphs = need("torch"), need("torch_geometric.data")
    data = read_cora(folder, strict=False, normalized=False)
    nodes = len(data.labels)
    masks = {}
    for part in ("train", "val", "test"):
        mask = torch.zeros(nodes, dtype=torch.bool)
        mask[getattr(data, {"val": "validation"}.get(part, part))] = True
        masks[f"{part}_mask"] = mask
    x, links, y = (torch.from_numpy(part) for part in (data.x, data.links, data.labels))
    graph = graphs.Data(x=x, edge_index=links, y=y, **masks)
    facts = {"folder": folder.name, "features": "as in the files"}
    return of_graph(graph, folder.name, facts)
