"""Samples from files, folders and objects, whatever their form."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from factories.graph_data import write_cora
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader as GraphLoader

from resemblance.models import load_samples
from resemblance.models.cora import read_cora

TEXTS = ["a good film", 'it "works" , mostly', "\u00e9t\u00e9\u2028and \x0b more"]


@pytest.fixture
def write(tmp_path):
    def to(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to


def contents(samples):
    return samples.kind, list(samples.batch(0, len(samples)))


# ----------------------------------------------------------------------------------- files of texts


def test_a_text_per_line(write):
    plain = load_samples(write("lines.txt", "\n".join(TEXTS)))
    assert contents(plain) == ("texts", TEXTS)
    assert (plain.name, plain.ids, plain.labels, plain.count) == ("lines", None, None, 3)
    assert plain.batch(1, 2) == TEXTS[1:2]
    assert plain.batch(2, 9) == TEXTS[2:]
    other = load_samples(write("b.txt", "\ufeff" + "\r\n".join(TEXTS) + "\r\n"), name="mine")
    assert contents(other) == contents(plain)
    assert other.fingerprint == plain.fingerprint == load_samples(TEXTS).fingerprint
    assert load_samples(TEXTS[::-1]).fingerprint != plain.fingerprint
    assert load_samples(["".join(TEXTS)]).fingerprint != load_samples(TEXTS).fingerprint
    assert other.name == "mine"


def test_blank_lines_of_files_are_left_out_and_counted(write, subtests):
    files = {
        "a.txt": "one\n\n10\n \t\n",
        "a.tsv": "text\tlabel\none\t0\n\t5\n10\t1\n\n",
        "a.csv": "label,text\n0,one\n5, \n1,10\n\n",
        "a.jsonl": '{"text": "one", "label": 0}\n\n{"text": null, "label": 5}\n'
        '{"text": "10", "label": 1}\n',
    }
    for name, content in files.items():
        with subtests.test(name):
            samples = load_samples(write(name, content))
            assert contents(samples) == ("texts", ["one", "10"])
            assert samples.facts["blank left out"] == 2
            assert samples.labels is None or samples.labels.tolist() == [0, 1]
    pd.DataFrame({"text": ["one", None, "10"], "label": [0, 5, 1]}).to_parquet(
        write("a.parquet", "")
    )
    samples = load_samples(str(write("a.txt", "").parent / "a.parquet"))
    assert (contents(samples)[1], samples.facts["blank left out"]) == (["one", "10"], 1)


def test_any_row_may_say_which_column_is_text(write):
    csv = "id,review\n1,10\n2,a good film\n3,nothing good\n"
    assert load_samples(write("a.csv", csv)).batch(0, 3) == ["10", "a good film", "nothing good"]
    frame = pd.DataFrame({"id": ["1", "2", "3"], "review": ["10", "a good film", "no"]})
    assert load_samples(frame).name == load_samples(Table(**frame.to_dict("list"))).name == "review"
    with pytest.raises(ValueError, match="two columns 'a'"):
        load_samples(write("b.csv", "a,a\nx,y\n"), column="a")


def test_a_table_without_quoting_is_read_exactly(write):
    rows = [f"{text}\t{i % 2}" for i, text in enumerate(['"half a quote', "b , c", 'd "e" f '])]
    samples = load_samples(write("dev.tsv", "\n".join(["sentence\tlabel", *rows]) + "\n"))
    assert samples.batch(0, 3) == ['"half a quote', "b , c", 'd "e" f ']
    np.testing.assert_array_equal(samples.labels, [0, 1, 0])
    assert samples.facts == {"file": "dev.tsv", "column": "sentence"}


def test_objects_of_json(write):
    lines = [json.dumps({"text": text, "label": str(i)}) for i, text in enumerate(TEXTS)]
    samples = load_samples(write("a.jsonl", "\n".join(lines)))
    assert contents(samples) == ("texts", TEXTS)
    np.testing.assert_array_equal(samples.labels, [0, 1, 2])
    assert load_samples(write("b.jsonl", '"one"\n"two"\n')).batch(0, 2) == ["one", "two"]


REFUSED_FILES = {
    "lines.txt": [("\n \t\n", "holds no text")],
    "bad.tsv": [("sentence\tlabel\na\t1\nb\tc\t1\n", "line 3 .* has 3 cells, and the header 2")],
    "b.csv": [('text\n"a" b"\n', "line 2 of .* is no CSV"), ("text\n", "no row below its header")],
    "c.jsonl": [
        ("[" * 100_000, "line 1 of .* is no JSON"),
        ("[1]", "line 1 of .* must be an object or a text; got list"),
        ('{"text": "a"}\n{"b": 1}', "line 2 of .* lacks the entries text"),
        ('{"text": "a"}\n{"text": 1}', "line 2 of .* holds a int, not a text"),
    ],
}


def test_files_of_other_content_are_refused_by_line(write, subtests):
    for name, cases in REFUSED_FILES.items():
        for content, message in cases:
            with subtests.test(message), pytest.raises(ValueError, match=message):
                load_samples(write(name, content))


WARNED_FILES = {
    "a.csv": "it 's a charming journey\na good film .\nit works\n",
    "b.csv": "a mess .\na good film .\nit works\n",
    "c.tsv": "1\tbad\n0\tgood\n",
    "d.txt": "sentence,label\na film,1\n",
    "e.txt": "a film\t1\na good film\t0\n",
    "f.csv": "2023,comment\n1,a film\n",
}
USUAL_FILES = {
    "good.csv": "review of the film\na good film .\nit works\n",
    "best.txt": "Text, in short, is good\na film\nno film\n",
    "fine.txt": "text\na film\nno film\n",
    "good.txt": "A text, label and all .\na good film .\nit works , mostly\na tab\tin one\n",
}


def test_a_first_line_like_a_sample_and_a_text_like_a_table_are_warned_of(write, subtests):
    for name, content in WARNED_FILES.items():
        with subtests.test(name), pytest.warns(UserWarning, match=rf"{name}.*(save it|above it)"):
            load_samples(write(name, content))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, content in USUAL_FILES.items():
            load_samples(write(name, content))


def test_a_table_of_parquet(tmp_path):
    frame = pd.DataFrame({"title": ["x", "y"], "body": ["one", "two"], "label": [3, 4]})
    frame.to_parquet(tmp_path / "a.parquet")
    samples = load_samples(tmp_path / "a.parquet", column="body")
    assert contents(samples) == ("texts", ["one", "two"])
    np.testing.assert_array_equal(samples.labels, [3, 4])
    with pytest.raises(ValueError, match=r"2 columns of texts; choose one of 'title', 'body', 'la"):
        load_samples(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"has no column 'text'; it has 'title', 'body'"):
        load_samples(tmp_path / "a.parquet", column="text")


# ------------------------------------------------------------------------------------------- images


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pets"
    for i, name in enumerate(["dog/10.png", "dog/2.png", "cat/1.png"]):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 3), 20 * i).save(root / name)
    return root


def test_a_folder_of_images(folder):
    (folder / "notes.md").write_text("x")
    (folder / ".DS_Store").write_text("x")
    samples = load_samples(folder)
    assert (samples.kind, samples.name) == ("images", "pets")
    assert samples.ids == ("cat/1.png", "dog/2.png", "dog/10.png")
    np.testing.assert_array_equal(samples.labels, [0, 1, 1])
    assert samples.facts["classes"] == ["cat", "dog"]
    assert samples.facts["other files left out"] == ["notes.md"]
    images = samples.batch(0, 2)
    assert [image.getpixel((0, 0)) for image in images] == [(40, 40, 40), (20, 20, 20)]
    files = load_samples([folder / name for name in samples.ids])
    assert [np.asarray(i).max() for i in files.batch(0, 3)] == [40, 20, 0]
    before = samples.fingerprint
    Image.new("L", (4, 3), 99).save(folder / "cat/1.png")
    assert load_samples(folder).fingerprint != before


def test_a_broken_image_is_refused_when_it_is_read(folder):
    (folder / "dog/2.png").write_bytes(b"\x89PNG broken")
    samples = load_samples(folder)
    assert len(samples.batch(0, 1)) == 1
    with pytest.raises(ValueError, match=r"2.png is not an image"):
        samples.batch(0, 2)


# ------------------------------------------------------------------------------------------- arrays


def test_arrays_in_files(tmp_path):
    array = np.arange(24.0).reshape(6, 4)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "one.npz", only=array)
    np.savez(tmp_path / "two.npz", x=array, y=array[:2])
    samples = load_samples(tmp_path / "a.npy")
    assert isinstance(samples.batch(0, 2), np.memmap)
    np.testing.assert_array_equal(samples.batch(2, 4), array[2:4])
    assert samples.facts == {"shape": [6, 4], "dtype": "float64", "file": "a.npy"}
    same = load_samples(tmp_path / "one.npz")
    assert same.fingerprint == samples.fingerprint == load_samples(array).fingerprint
    assert load_samples(array.astype(np.float32)).fingerprint != samples.fingerprint
    assert load_samples(tmp_path / "two.npz", column="y").count == 2
    with pytest.raises(ValueError, match=r"it has the arrays x, y; choose one by column"):
        load_samples(tmp_path / "two.npz")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"holds Python objects"):
        load_samples(tmp_path / "objects.npy")


def test_tensors_and_data_sets():
    tensor = torch.arange(12.0).reshape(4, 3)
    samples = load_samples(tensor)
    assert (samples.kind, samples.count) == ("arrays", 4)
    assert torch.equal(samples.batch(1, 3), tensor[1:3])
    assert load_samples(tensor.bfloat16()).fingerprint != samples.fingerprint
    data = load_samples(TensorDataset(tensor, torch.arange(4)))
    assert torch.equal(data.batch(0, 3), tensor[:3])
    assert (data.fingerprint, data.count) == (None, 4)


def test_loaders_and_lists_of_batches():
    tensor = torch.arange(12.0).reshape(4, 3)
    loader = load_samples(DataLoader(TensorDataset(tensor), batch_size=3))
    assert (loader.kind, loader.count, loader.fingerprint) == ("batches", 4, None)
    assert [len(batch[0]) for batch in loader.batches()] == [3, 1]
    assert [len(batch[0]) for batch in loader.batches()] == [3, 1]
    batches = load_samples([{"x": tensor[:2]}, {"x": tensor[2:]}])
    assert batches.kind == "batches"
    assert len(list(batches.batches())) == 2
    with pytest.raises(TypeError, match=r"is not known"):
        len(batches)
    with pytest.raises(ValueError, match=r"come from .batches\(\)"):
        batches.batch(0, 1)
    with pytest.raises(ValueError, match=r"come from .batch\(start, stop\)"):
        load_samples(["a"]).batches()


# ------------------------------------------------------------------------ tables, graphs, functions


def test_columns_and_frames():
    for library in (pd, pl):
        frame = library.DataFrame({"review": ["one", "two"], "label": [0, 1]})
        assert contents(load_samples(frame["review"])) == ("texts", ["one", "two"])
        samples = load_samples(frame)
        assert (samples.name, samples.batch(0, 2)) == ("review", ["one", "two"])
        np.testing.assert_array_equal(samples.labels, [0, 1])


class Table:
    """What a data set of Hugging Face offers."""

    def __init__(self, **columns):
        self.columns, self.column_names = columns, list(columns)

    def __len__(self):
        return len(self.columns[self.column_names[0]])

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.columns[key]
        return {name: values[key] for name, values in self.columns.items()}


def test_data_sets_with_columns():
    samples = load_samples(Table(idx=[1, 2], sentence=["one", "two"], label=[1, 0]))
    assert contents(samples) == ("texts", ["one", "two"])
    np.testing.assert_array_equal(samples.labels, [1, 0])
    images = load_samples(Table(image=[Image.new("L", (2, 2))] * 3, label=[0, 1, 1]))
    assert (images.kind, len(images)) == ("images", 3)
    assert len(images.batch(1, 3)) == 2
    vectors = load_samples(Table(v=[[1.0, 2.0], [3.0, 4.0]]), column="v")
    np.testing.assert_array_equal(vectors.batch(0, 2), [[1, 2], [3, 4]])


def test_graphs():
    x, links = torch.eye(4), torch.tensor([[0, 1], [1, 0]])
    graph = Data(x=x, edge_index=links, y=torch.tensor([0, 1, 1, 0]))
    samples = load_samples(graph)
    assert (samples.kind, samples.count) == ("graph", 4)
    np.testing.assert_array_equal(samples.labels, [0, 1, 1, 0])
    assert next(samples.batches()) is graph
    assert samples.fingerprint != load_samples(Data(x=x, edge_index=links)).fingerprint
    loader = load_samples(GraphLoader([graph, graph], batch_size=2))
    assert loader.kind == "batches"
    assert next(loader.batches()).num_nodes == 8


def test_cora_has_the_features_of_its_files(tmp_path):
    words = write_cora(tmp_path).words
    graph = next(load_samples(tmp_path).batches())
    np.testing.assert_array_equal(graph.x, words)
    published = read_cora(tmp_path, strict=False)
    np.testing.assert_allclose(published.x, words / words.sum(1, keepdims=True))


def test_copies_are_left_out_on_request(tmp_path, subtests):
    array = np.array([[1.0, 2], [3, 4], [1, 2], [5, 6], [3, 4]])
    images = [Image.new("L", (2, 2), int(row[0])) for row in array]
    for number, image in enumerate(images):
        image.save(tmp_path / f"{number}.png")
    (tmp_path / "texts.txt").write_text("a\nb\na\nc\nb\n")
    texts = pd.DataFrame({"text": list("abacb"), "label": range(5)})
    for data in (tmp_path / "texts.txt", texts, images, tmp_path, array, torch.tensor(array)):
        with subtests.test(type(data).__name__):
            every, samples = load_samples(data), load_samples(data, unique=True)
            assert (len(every), len(every.distinct), len(samples)) == (5, 3, 3)
            assert samples.facts["copies left out"] == 2
            for i, place in enumerate((0, 1, 3)):
                assert np.array_equal(samples.batch(i, 9)[0], every.batch(place, 9)[0])
            assert samples.labels is None or samples.labels.tolist() == [0, 1, 3]
            assert samples.ids is None or samples.ids == ("0.png", "1.png", "3.png")
            assert samples.fingerprint != every.fingerprint
            few = load_samples(data, unique=True, max_samples=2)
            assert (len(few.batch(0, 9)), few.fingerprint) == (2, load_samples(few).fingerprint)
    unique = load_samples(list("abacb"), unique=True)
    assert unique.fingerprint == load_samples(list("abc")).fingerprint


def test_samples_that_are_drawn():
    texts = [str(i) for i in range(50)]
    few = load_samples(texts, max_samples=9)
    drawn = few.batch(0, 9)
    assert drawn == sorted(set(drawn), key=int)
    assert drawn != texts[:9]
    assert drawn == load_samples(texts, max_samples=9).batch(0, 99)
    assert drawn != load_samples(texts, max_samples=9, seed=1).batch(0, 9)
    assert few.batch(1, 9) == drawn[1:]
    assert few.fingerprint == load_samples(drawn).fingerprint
    assert load_samples(TEXTS, max_samples=9).count == 3
    assert load_samples(few).batch(0, 2) == drawn[:2]
    frame = pd.DataFrame({"text": texts, "label": range(50)})
    np.testing.assert_array_equal(load_samples(frame, max_samples=9).labels, list(map(int, drawn)))


NO_ROWS, NO_COUNT = (
    "an array of numbers with a row per sample",
    "max_samples must be a whole number",
)
REFUSED = [
    ("nowhere.py:texts", {}, "nowhere.py does not exist"),
    ("nothing.txt", {}, "nothing.txt does not exist; data may be a .txt"),
    ([], {}, "the list is empty"),
    (["a", 3], {}, "sample 2 is a int"),
    (["a", " "], {}, "sample 2 of the list is blank"),
    (3, {}, "data may be .*; got int"),
    ({"a": 1}, {}, "data may be .*; got dict"),
    (SimpleNamespace(__getitem__=None), {}, "data may be"),
    (TEXTS, {"column": "a"}, "columns; leave column='a' out"),
    (np.array(3.0), {}, NO_ROWS),
    (np.empty((0, 3)), {}, NO_ROWS),
    (np.array([1j]), {}, NO_ROWS),
    (pd.Series(["a", np.nan], dtype=object), {}, "sample 2 is a float"),
    (pd.DataFrame(np.ones((3, 2))), {}, "to_numpy"),
    (pl.DataFrame(np.ones((3, 2))), {}, "to_numpy"),
    *((TEXTS, {"max_samples": limit}, NO_COUNT) for limit in (0, -1, True, 1.5)),
    ([torch.eye(2)], {"max_samples": 1}, "max_samples=1 cannot cut batches"),
    ([torch.eye(2)], {"unique": True}, "cannot compare the entries of batches"),
]


def test_what_is_no_data_or_cannot_be_chosen_is_refused(subtests):
    for data, options, message in REFUSED:
        with subtests.test(message), pytest.raises(ValueError, match=message):
            load_samples(data, **options)
