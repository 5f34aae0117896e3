"""The data sets of the graph models: read as other libraries read them, and refused when they are
not what they should be. Cora itself where there is a copy, otherwise a made one."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from factories import graph_data
from factories.files import Touching
from scipy.sparse import csr_matrix

from resemblance.bench.training.graphs import data as graphs


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return graph_data.write_all(tmp_path_factory.mktemp("data"))


def check_split(ours: graphs.GraphData, other) -> None:
    masks = (other.train_mask, other.val_mask, other.test_mask)
    for part, mask in zip((ours.train, ours.validation, ours.test), masks):
        assert np.array_equal(part, np.flatnonzero(mask.numpy()))


def test_cora_is_what_pytorch_geometric_reads(folder, tmp_path):
    from torch_geometric.datasets import Planetoid
    from torch_geometric.transforms import NormalizeFeatures

    copy = Path(os.environ.get("RESEMBLANCE_DATA", folder))
    is_published = (copy / "Cora").is_dir()
    copy = copy if is_published else folder
    ours = graphs.read("cora", copy, strict=is_published)
    raw = next(path.parent for path in copy.glob("**/raw/ind.cora.allx"))
    shutil.copytree(raw, tmp_path / "Cora" / "raw")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old names in the pickles
        other = Planetoid(str(tmp_path), "Cora", transform=NormalizeFeatures())[0]
    assert np.array_equal(ours.x, other.x.numpy())
    assert ours.x.dtype == np.float32
    assert np.array_equal(ours.labels, other.y.numpy())
    links = other.edge_index.numpy()  # by the first node in some versions, by the second in others
    assert np.array_equal(ours.links, links[:, np.lexsort(links[::-1])])
    check_split(ours, other)
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
    check_split(ours, other)


def test_arxiv_is_what_was_written(tmp_path):
    from torch_geometric.utils import to_undirected

    made = graph_data.write_arxiv(tmp_path / "ogbn_arxiv")
    ours = graphs.read("ogbn-arxiv", tmp_path, strict=False)
    assert np.array_equal(ours.x, made.words)
    assert np.array_equal(ours.labels, made.labels)
    assert np.array_equal(ours.links, to_undirected(torch.from_numpy(made.links.T)).numpy())
    parts = np.concatenate([ours.train, ours.validation, ours.test])
    assert np.array_equal(np.sort(parts), np.arange(120))


def test_ten_thousand_nodes_are_compared_sorted_on_flickr_and_as_drawn_on_arxiv(
    tmp_path, monkeypatch
):
    test = np.arange(50_000, 75_000)
    authors = np.random.RandomState(2024).choice(test, 10_000, replace=False)
    assert np.array_equal(graphs.compared_nodes(test), authors)
    assert np.array_equal(graphs.compared_nodes(test[:10_000]), test[:10_000])
    monkeypatch.setattr(graphs, "MAX_COMPARED_NODES", 20)
    graph_data.write_flickr(tmp_path / "flickr")
    graph_data.write_arxiv(tmp_path / "arxiv")
    for dataset, order in (("flickr", np.sort), ("ogbn-arxiv", np.asarray)):
        data = graphs.read(dataset, tmp_path, strict=False)
        authors = np.random.RandomState(2024).choice(data.test, 20, replace=False)
        assert np.array_equal(data.compared, order(authors))


def test_files_that_change_are_read_again(tmp_path):
    graph_data.write_arxiv(tmp_path / "arxiv")
    before = graphs.read("ogbn-arxiv", tmp_path, strict=False)
    assert graphs.read("ogbn-arxiv", tmp_path, strict=False) is before
    shutil.rmtree(tmp_path / "arxiv")
    graph_data.write_arxiv(tmp_path / "arxiv", nodes=150)
    assert len(graphs.read("ogbn-arxiv", tmp_path, strict=False).x) == 150


# ------------------------------------------------------------------------------------- refusals


def test_a_missing_or_damaged_file_is_named(folder, tmp_path, subtests):
    shutil.copytree(folder / "graphs", tmp_path / "graphs")
    for path in (path for path in (tmp_path / "graphs").rglob("*") if path.is_file()):
        place = path.relative_to(tmp_path / "graphs")
        dataset, content = place.parts[0].replace("_", "-"), path.read_bytes()
        with subtests.test(str(place)):
            for damage in (content[: len(content) // 2], b"\x00 no data \x00", b""):
                path.write_bytes(damage)
                with pytest.raises(ValueError, match=rf"{path.name} is not .* get it from http"):
                    graphs.read(dataset, tmp_path, strict=False)
            path.unlink()
            with pytest.raises(ValueError, match=rf"{path.name} is missing.* get it from http"):
                graphs.read(dataset, tmp_path, strict=False)
            path.write_bytes(content)


def test_other_data_are_refused_where_the_published_are_wanted(folder):
    with pytest.raises(ValueError, match=r"ind.cora.x is not the file of Cora .*another SHA256"):
        graphs.read("cora", folder)
    with pytest.raises(ValueError, match=r"flickr is not Flickr: 120 nodes, expected 89,250"):
        graphs.read("flickr", folder)
    with pytest.raises(ValueError, match=r"OGBN-Arxiv: 120 nodes, expected 169,343"):
        graphs.read("ogbn-arxiv", folder)


UNFIT = [
    ("role.json", {"tr": [0, 1], "va": [2], "te": [1, 3]}, "nodes in two parts"),
    ("role.json", {"tr": [0, 120], "va": [2], "te": [3]}, "a split with nodes outside 0 to 119"),
    ("role.json", {"tr": [], "va": [2], "te": [3]}, "no nodes to train with"),
    ("role.json", {"tr": [0], "va": [2]}, "role.json is not the file of Flickr"),
    ("class_map.json", {"0": 3}, "classes outside 0 to 3"),
    ("class_map.json", {"200": 3}, "class_map.json is not the file of Flickr"),
    ("class_map.json", {"-1": 3}, "class_map.json is not .*it has a node -1"),
    ("feats.npy", np.zeros(120), "feats.npy is not .* not of nodes by features"),
    ("feats.npy", np.zeros((0, 5)), "feats.npy is not .* not of nodes by features"),
    ("feats.npy", np.array([Touching(Path("ran"))], dtype=object), "feats.npy is not the file"),
]


def test_parts_that_do_not_fit(tmp_path, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    for i, (name, content, message) in enumerate(UNFIT):
        graph_data.write_flickr(tmp_path / str(i) / "flickr")
        path = tmp_path / str(i) / "flickr" / "raw" / name
        if isinstance(content, dict):
            path.write_text(json.dumps(content))
        else:
            np.save(path, content, allow_pickle=True)
        with subtests.test(message), pytest.raises(ValueError, match=message):
            graphs.read("flickr", tmp_path / str(i), strict=False)
    assert not Path("ran").exists()


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
    graph_data.write_cora(tmp_path / "cora")
    matrix = csr_matrix(np.eye(28, 40, dtype=np.float32))
    matrix.indices[3] = 4_000_000
    (tmp_path / "cora/raw/ind.cora.tx").write_bytes(pickle.dumps(matrix, 2))
    with pytest.raises(ValueError, match=r"ind.cora.tx is not the file of Cora"):
        graphs.read("cora", tmp_path, strict=False)


# ------------------------------------------------------------------------------------ downloads


def test_a_library_downloads_what_is_missing_into_the_folder_that_is_read(tmp_path, monkeypatch):
    made = types.SimpleNamespace(
        Planetoid=lambda root, name: graph_data.write_cora(Path(root) / name),
        Flickr=lambda root: graph_data.write_flickr(Path(root)),
        NodePropPredDataset=lambda name, root: graph_data.write_arxiv(
            Path(root) / name.replace("-", "_")
        ),
        __spec__=types.SimpleNamespace(),
    )
    for name in ("torch_geometric.datasets", "ogb", "ogb.nodeproppred"):
        monkeypatch.setitem(sys.modules, name, made)
    for dataset in graphs.GRAPH_READERS:
        data = graphs.read(dataset, tmp_path, download=True, strict=False)
        assert np.array_equal(graphs.read(dataset, tmp_path, strict=False).x, data.x)


def test_a_failed_download_names_the_files_to_fetch(tmp_path, monkeypatch):
    def connect(root, name):
        raise OSError("Cannot connect to host github.com:443")

    made = types.SimpleNamespace(Planetoid=connect)
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", made)
    match = r"cora/raw.* is missing.*get it from https.*and put the files into .*Cannot connect"
    with pytest.raises(ValueError, match=match):
        graphs.read("cora", tmp_path, download=True)


def test_without_ogb_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"edge.csv.gz is missing.*install the package ogb"):
        graphs.read("ogbn-arxiv", tmp_path, download=True)
    assert not list(tmp_path.iterdir())
