"""The data sets of the graph models: read as other libraries read them, and refused when they are
not what they should be. Cora itself where there is a copy, otherwise a made one."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from factories import graph_data
from factories.files import Touching

from resemblance.bench.training.graphs import data as graphs
from resemblance.models.published_files import unpickle_plain_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return graph_data.write_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def cora(folder) -> tuple[Path, bool]:
    """A folder with Cora, and whether it is the published one."""
    copy = Path(os.environ.get("RESEMBLANCE_DATA", folder))
    return (copy, True) if (copy / "Cora").is_dir() else (folder, False)


def place(folder: Path) -> Path:
    return next(p.parent for p in folder.glob("**/raw/ind.cora.allx"))


def test_cora_is_what_pytorch_geometric_reads(cora, tmp_path):
    ours = graphs.read("cora", cora[0], strict=cora[1])
    other = graph_data.planetoid(place(cora[0]), tmp_path)
    assert np.array_equal(ours.x, other.x.numpy())
    assert ours.x.dtype == np.float32
    assert np.array_equal(ours.labels, other.y.numpy())
    links = other.edge_index.numpy()  # by the first node in some versions, by the second in others
    assert np.array_equal(ours.links, links[:, np.lexsort(links[::-1])])
    masks = (other.train_mask, other.val_mask, other.test_mask)
    for part, mask in zip((ours.train, ours.validation, ours.test), masks):
        assert np.array_equal(part, np.flatnonzero(mask.numpy()))
    assert np.array_equal(ours.compared, ours.test)
    assert ours.classes == 7


def test_flickr_is_what_pytorch_geometric_reads(folder, tmp_path):
    from torch_geometric.datasets import Flickr

    ours = graphs.read("flickr", folder, strict=False)
    shutil.copytree(folder / "graphs/flickr", tmp_path / "copy")
    other = Flickr(str(tmp_path / "copy"))[0]
    assert np.array_equal(ours.x, other.x.numpy())
    assert np.array_equal(ours.labels, other.y.numpy())
    assert np.array_equal(ours.links, other.edge_index.numpy())
    masks = (other.train_mask, other.val_mask, other.test_mask)
    for part, mask in zip((ours.train, ours.validation, ours.test), masks):
        assert np.array_equal(part, np.flatnonzero(mask.numpy()))


def test_arxiv_is_what_was_written(tmp_path):
    import torch
    from torch_geometric.utils import to_undirected

    made = graph_data.write_arxiv(tmp_path / "ogbn_arxiv")
    ours = graphs.read("ogbn-arxiv", tmp_path, strict=False)
    assert np.array_equal(ours.x, made.words)
    assert np.array_equal(ours.labels, made.labels)
    assert np.array_equal(ours.links, to_undirected(torch.from_numpy(made.links.T)).numpy())
    parts = np.concatenate([ours.train, ours.validation, ours.test])
    assert np.array_equal(np.sort(parts), np.arange(120))


def test_ten_thousand_nodes_are_compared():
    test = np.arange(50_000, 75_000)
    drawn = graphs.compared_nodes(test)
    assert np.array_equal(drawn, np.random.RandomState(2024).choice(test, 10_000, replace=False))
    assert np.array_equal(graphs.compared_nodes(test[:10_000]), test[:10_000])


def test_flickr_compares_sorted_and_arxiv_drawn_nodes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "MAX_COMPARED_NODES", 20)
    for name in ("graphs/flickr", "graphs/ogbn_arxiv"):  # other files, which nobody remembers
        shutil.copytree(folder / name, tmp_path / name)
    flickr = graphs.read("flickr", tmp_path, strict=False)
    drawn = np.random.RandomState(2024).choice(flickr.test, 20, replace=False)
    assert np.array_equal(flickr.compared, np.sort(drawn))
    arxiv = graphs.read("ogbn-arxiv", tmp_path, strict=False)
    drawn = np.random.RandomState(2024).choice(arxiv.test, 20, replace=False)
    assert np.array_equal(arxiv.compared, drawn)
    assert len(np.unique(drawn)) == 20


@pytest.mark.parametrize(
    ("dataset", "source", "target"),
    [
        ("cora", "cora", name)
        for name in ("cora", "Cora", "cora/Cora", "graphs/cora/Cora", "Cora/Cora")
    ]
    + [("flickr", "flickr", "Flickr"), ("ogbn-arxiv", "ogbn_arxiv", "arxiv")],
)
def test_other_places(folder, tmp_path, dataset, source, target):
    shutil.copytree(folder / "graphs" / source, tmp_path / target)
    data = graphs.read(dataset, tmp_path, strict=False)
    assert len(data.x) == len(data.labels)


def test_files_that_change_are_read_again(tmp_path):
    graph_data.write_arxiv(tmp_path / "arxiv")
    before = graphs.read("ogbn-arxiv", tmp_path, strict=False)
    assert graphs.read("ogbn-arxiv", tmp_path, strict=False) is before
    shutil.rmtree(tmp_path / "arxiv")
    graph_data.write_arxiv(tmp_path / "arxiv", nodes=150)
    assert len(graphs.read("ogbn-arxiv", tmp_path, strict=False).x) == 150


# ------------------------------------------------------------------------------------- refusals


FLICKR = ["adj_full.npz", "feats.npy", "class_map.json", "role.json"]
ARXIV = ["raw/edge", "raw/node-feat", "raw/node-label"]
ARXIV += [f"split/time/{part}" for part in ("train", "valid", "test")]
FILES = [
    *(("cora", f"graphs/cora/raw/ind.cora.{name}") for name in graphs.CORA_SHA256),
    *(("flickr", f"graphs/flickr/raw/{name}") for name in FLICKR),
    *(("ogbn-arxiv", f"graphs/ogbn_arxiv/{name}.csv.gz") for name in ARXIV),
]


@pytest.mark.parametrize(("dataset", "name"), FILES)
def test_a_missing_or_damaged_file_is_named(folder, tmp_path, dataset, name):
    whole = Path(name).parts[1]
    shutil.copytree(folder / "graphs" / whole, tmp_path / "graphs" / whole)
    path = tmp_path / name
    content = path.read_bytes()
    for damage in (content[: len(content) // 2], b"\x00 no data \x00", b""):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match=rf"{path.name} is not .* get it from http"):
            graphs.read(dataset, tmp_path, strict=False)
    path.unlink()
    with pytest.raises(ValueError, match=rf"{path.name} is missing.* get it from http"):
        graphs.read(dataset, tmp_path, strict=False)


def test_other_data_are_refused_where_the_published_are_wanted(folder):
    with pytest.raises(ValueError, match=r"ind.cora.x is not the file of Cora .*another SHA256"):
        graphs.read("cora", folder)
    with pytest.raises(ValueError, match=r"flickr is not Flickr: 120 nodes, expected 89,250"):
        graphs.read("flickr", folder)
    with pytest.raises(ValueError, match=r"OGBN-Arxiv: 120 nodes, expected 169,343"):
        graphs.read("ogbn-arxiv", folder)


def flickr_with(folder: Path, name: str, content: object) -> Path:
    graph_data.write_flickr(folder / "flickr")
    (folder / "flickr" / "raw" / name).write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("role.json", {"tr": [0, 1], "va": [2], "te": [1, 3]}, "nodes in two parts"),
        (
            "role.json",
            {"tr": [0, 120], "va": [2], "te": [3]},
            "a split with nodes outside 0 to 119",
        ),
        ("role.json", {"tr": [], "va": [2], "te": [3]}, "no nodes to train with"),
        ("role.json", {"tr": [0], "va": [2]}, "role.json is not the file of Flickr"),
        ("class_map.json", {"0": 3}, "classes outside 0 to 3"),
        ("class_map.json", {"200": 3}, "class_map.json is not the file of Flickr"),
        ("class_map.json", {"-1": 3}, "class_map.json is not .*it has a node -1"),
    ],
)
def test_parts_that_do_not_fit(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        graphs.read("flickr", flickr_with(tmp_path, name, content), strict=False)


def test_an_array_of_objects_is_not_loaded(tmp_path):
    graph_data.write_flickr(tmp_path / "flickr")
    marker = tmp_path / "marker"
    values = np.array([Touching(marker)], dtype=object)
    np.save(tmp_path / "flickr/raw/feats.npy", values, allow_pickle=True)
    with pytest.raises(ValueError, match=r"feats.npy is not the file of Flickr"):
        graphs.read("flickr", tmp_path, strict=False)
    assert not marker.exists()


def test_plain_data_come_out_of_pickles_of_any_protocol(subtests):
    content = {"data": np.arange(6.0).reshape(2, 3), "labels": [1, 2], "name": "a"}
    for protocol in range(pickle.HIGHEST_PROTOCOL):
        with subtests.test(protocol):
            result = unpickle_plain_data(pickle.dumps(content, protocol))
            assert np.array_equal(result["data"], content["data"])
            assert (result["labels"], result["name"]) == ([1, 2], "a")


@pytest.mark.parametrize("name", ["x", "graph", "ally"])
def test_code_in_a_pickle_is_not_run(tmp_path, name):
    graph_data.write_cora(tmp_path / "cora")
    path, marker = tmp_path / "cora" / "raw" / f"ind.cora.{name}", tmp_path / "marker"
    code = f"open({str(marker)!r}, 'w')"
    hostile = (
        pickle.dumps(Touching(marker), 2),
        f"cbuiltins\ngetattr\n(cbuiltins\n__import__\nVeval\ntR(V{code}\ntR.".encode(),
        f"(Vtouch {marker}\nios\nsystem\n.".encode(),
    )
    for content in hostile:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"ind.cora.{name} .* refers to \w+.\w+"):
            graphs.read("cora", tmp_path, strict=False)
    assert not marker.exists()


def test_a_matrix_with_indices_beyond_its_width_is_refused(tmp_path):
    from scipy.sparse import csr_matrix

    graph_data.write_cora(tmp_path / "cora")
    matrix = csr_matrix(np.eye(28, 40, dtype=np.float32))
    matrix.indices[3] = 4_000_000
    (tmp_path / "cora/raw/ind.cora.tx").write_bytes(pickle.dumps(matrix, 2))
    with pytest.raises(ValueError, match=r"ind.cora.tx is not the file of Cora"):
        graphs.read("cora", tmp_path, strict=False)


@pytest.mark.parametrize("shape", [(120,), (0, 5)])
def test_features_of_another_shape_are_refused(tmp_path, shape):
    graph_data.write_flickr(tmp_path / "flickr")
    np.save(tmp_path / "flickr/raw/feats.npy", np.zeros(shape))
    with pytest.raises(ValueError, match=r"feats.npy is not .* not of nodes by features"):
        graphs.read("flickr", tmp_path, strict=False)


# ------------------------------------------------------------------------------------ downloads


def test_a_library_downloads_what_is_missing(tmp_path, monkeypatch):
    """Each library is asked for the folder in which its download is then looked for."""
    made = types.SimpleNamespace(
        Planetoid=lambda root, name: graph_data.write_cora(Path(root) / name),
        Flickr=lambda root: graph_data.write_flickr(Path(root)),
        NodePropPredDataset=lambda name, root: graph_data.write_arxiv(
            Path(root) / name.replace("-", "_")
        ),
    )
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", made)
    for name in ("ogb", "ogb.nodeproppred"):
        monkeypatch.setitem(sys.modules, name, made)
    made.__spec__ = types.SimpleNamespace()
    for dataset in graphs.GRAPH_READERS:
        data = graphs.read(dataset, tmp_path, download=True, strict=False)
        assert np.array_equal(graphs.read(dataset, tmp_path, strict=False).x, data.x)


def test_without_ogb_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"edge.csv.gz is missing.*https://ogb.*install the package ogb"
    ):
        graphs.read("ogbn-arxiv", tmp_path, download=True)
    assert not list(tmp_path.iterdir())
