"""Files that commands read: arrays, archives, tables, folders, and one line for what is none."""

from __future__ import annotations

import json
import os
import sys
import zipfile

import numpy as np
import pandas
import pytest
import safetensors.numpy as safetensors
from factories.commands import write_arrays

import resemblance as rs


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a.npy, b.npy, c.npy of the same samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_arrays(tmp_path)
    return tmp_path


def names(call, *inputs):
    code, out, err = call("compare", *inputs, "-m", "magnitude_difference", "--format", "json")
    assert code == 0, err
    return json.loads(out)["rows"]


def test_archives_and_folders(call, folder):
    a = np.load("a.npy")
    np.savez("net.npz", conv1=a, conv2=a + 1)
    for model in ("m1", "m2"):
        (folder / "runs" / model).mkdir(parents=True)
        for layer in (1, 2, 10):
            np.save(folder / "runs" / model / f"conv{layer}.npy", a + layer)
    np.savez(folder / "runs" / "all.npz", x=a)
    (folder / "runs" / "notes.txt").write_text("not an array")
    safetensors.save_file({"conv": a, "head": a + 1}, "net.safetensors")
    assert names(call, "net.npz", "a.npy") == ["net/conv1", "net/conv2", "a"]
    assert names(call, "net.safetensors", "a.npy") == ["net/conv", "net/head", "a"]
    inside = ["m1/conv1", "m1/conv2", "m1/conv10"]
    assert names(call, "runs/m1", "runs/m2")[:3] == [f"runs/{name}" for name in inside]
    assert names(call, "runs")[:4] == ["all/x", *inside]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_unicode(call, folder):
    (folder / "odd").mkdir()
    np.save(os.fsdecode(os.fsencode(folder) + b"/odd/\xff.npy"), np.load("a.npy"))
    assert names(call, "odd", "a.npy") == ["\ufffd", "a"]


def prepare_bad_files(folder):
    a = np.load("a.npy")
    (folder / "empty").mkdir()
    (folder / "text.txt").write_text("hello")
    (folder / "junk.npy").write_text("this is no array")
    (folder / "nothing.npy").touch()
    (folder / "junk.npz").write_text("this is no archive")
    (folder / "broken.py").write_text("1 / 0")
    np.save("pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez("pickled.npz", x=np.array([{"a": 1}], dtype=object))
    np.savez("none.npz")
    np.save("flat.npy", np.arange(30.0))
    np.save("words.npy", np.array([["a", "b"]] * 30))
    np.save("short.npy", a[:20])
    (folder / "cut.npy").write_bytes((folder / "a.npy").read_bytes()[:-8])
    for name in ("weights.pt", "table.csv", "junk.safetensors"):
        (folder / name).write_text("1,2")
    (folder / "loop.npy").symlink_to(folder / "loop.npy")
    shape = b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 5), }".ljust(117) + b"\n"
    (folder / "negative.npy").write_bytes(np.lib.format.magic(1, 0) + b"v\x00" + shape + bytes(160))
    write_bomb(folder / "bomb.npz")
    pandas.DataFrame({"a": np.arange(30), "species": ["x"] * 30}).to_parquet(
        folder / "text.parquet"
    )


def write_bomb(path):
    """An archive that says it unpacks to 5 GiB."""
    np.savez_compressed(path, x=np.zeros((10, 2)))
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (0xFFFFFFFF).to_bytes(
        4, "little"
    )  # the size follows in an extra field
    extra = (
        (1).to_bytes(2, "little") + (8).to_bytes(2, "little") + (5 * 2**30).to_bytes(8, "little")
    )
    name = int.from_bytes(data[directory + 28 : directory + 30], "little")
    data[directory + 30 : directory + 32] = len(extra).to_bytes(2, "little")
    data[directory + 46 + name : directory + 46 + name] = extra
    end = data.index(b"PK\x05\x06")
    size = int.from_bytes(data[end + 12 : end + 16], "little") + len(extra)
    data[end + 12 : end + 16] = size.to_bytes(4, "little")
    path.write_bytes(data)


def test_a_file_that_is_no_array_is_one_line(refused, folder):
    prepare_bad_files(folder)
    refused("""
        compare empty a.npy | empty holds no .npy or .npz file
        compare text.txt a.npy | text.txt is neither
        compare junk.npy a.npy | junk.npy cannot be read: the magic string
        compare nothing.npy a.npy | nothing.npy cannot be read
        compare junk.npz a.npy | junk.npz is not a readable .npz archive
        compare pickled.npy a.npy | pickled.npy cannot be read: it holds Python objects
        compare pickled.npz a.npy | array 'x', cannot be read: it holds Python objects
        compare none.npz a.npy | none.npz is an empty archive
        compare cut.npy a.npy | cut.npy cannot be read
        compare flat.npy a.npy | must be (n_samples, n_features); got shape (30,)
        compare words.npy a.npy | must hold real numbers
        compare short.npy a.npy | has 20 samples (rows) and 'a' has 30
        compare a.npy a.npy | a.npy is given twice
        compare weights.pt a.npy | .ndjson): reading the file may run code
        compare table.csv a.npy | choose the columns that are numbers, and the one with ids
        compare loop.npy a.npy | loop.npy does not exist
        compare bomb.npz a.npy | bomb.npz unpacks to 5.0 GiB, more than 4 GiB
        compare text.parquet a.npy | columns that are not numbers: 'species'
        compare junk.safetensors a.npy | junk.safetensors cannot be read
    """)


def write_tables(folder):
    """The vectors of a.npy in the files of other tools, each with the names of its rows."""
    a, ids = np.load("a.npy"), [f"image {i}" for i in range(30)]
    np.savez("feats.npz", features=a, filenames=ids, labels=np.arange(30) % 3)
    np.savez("bytes.npz", x=a, ids=np.array(ids, dtype="S"), note=np.array("fast"))
    np.savez("objects.npz", x=a, names=np.array(ids, dtype=object), meta=np.array([{}], object))
    np.savez("both.npz", train=a, test=a[:9], keys=ids)
    frame = pandas.DataFrame({"id": ids, "vec": a.tolist(), "title": ["x"] * 30})
    frame.to_parquet("store.parquet")
    frame.rename(columns={"id": "doc"}).to_parquet("odd.parquet")
    frame.assign(price=1.5).to_parquet("price.parquet")
    frame.assign(other=(a + 1).tolist()).to_parquet("two.parquet")
    text = "".join(json.dumps({"_id": i, "v": v}) + "\n" for i, v in zip(ids, a.tolist()))
    (folder / "lines.jsonl").write_text(text)
    (folder / "broken.jsonl").write_text(text + "{\n")
    (folder / "ragged.jsonl").write_text(text + '{"_id": "more", "v": [1, 2]}\n')
    (folder / "short.jsonl").write_text(text + '{"_id": "more"}\n')
    with zipfile.ZipFile("zipped.npz", "w") as archive:
        archive.writestr("x.npy", b"no array")
    with zipfile.ZipFile("papers.npz", "w") as archive:
        archive.writestr("notes.txt", "no array")
    np.save("turned.npy", a[::-1])
    (folder / "twice.npy").write_bytes((folder / "a.npy").read_bytes() * 2)
    (folder / "true.npy").write_bytes(
        (folder / "a.npy").read_bytes().replace(b"(30, 5)", b"(True,)")
    )
    os.mkfifo(folder / "pipe.npy")


def score(call, *inputs):
    code, out, err = call("compare", *inputs, "-m", "cka", "--format", "json")
    assert code == 0, err
    return json.loads(out)["records"][1]["value"], err


@pytest.mark.filterwarnings("always")
def test_vectors_with_names_are_read_from_the_files_of_other_tools(call, folder):
    write_tables(folder)
    value, err = score(call, "feats.npz", "store.parquet")
    assert value == pytest.approx(1)
    assert "left out of feats.npz: 'labels' (30,); feats.npz/labels names one to read it" in err
    assert "the vectors are 'vec'; left out: 'title'" in err
    for inputs in (
        ("feats.npz/features", "lines.jsonl"),
        ("bytes.npz", "a.npy"),
        ("objects.npz", "store.parquet/vec"),
        ("odd.parquet", "a.npy", "--ids", "doc"),
        ("price.parquet/vec", "a.npy"),
        ("two.parquet/vec", "two.parquet/other"),
        ("store.parquet", "price.parquet", "--column", "vec", "--ids", "id"),
    ):
        assert score(call, *inputs)[0] == pytest.approx(1), inputs
    assert names(call, "two.parquet/vec", "two.parquet/other") == ["two/vec", "two/other"]
    assert names(call, "feats.npz", "bytes.npz/x") == ["feats/features", "bytes/x"]
    twins = names(call, "store.parquet", "a.npy", "price.parquet/vec", "lines.jsonl")
    assert twins == ["store", "a", "price/vec", "lines"]
    pandas.DataFrame(np.load("a.npy")).rename(columns=str).to_parquet("a.parquet")
    assert names(call, "a.npy", "a.parquet") == ["a.npy", "a.parquet"]
    turned = [f"image {i}" for i in range(30)][::-1]
    np.savez("turned.npz", x=np.load("turned.npy"), names=turned)
    code, _, err = call("compare feats.npz turned.npz -m cka")
    assert (code, "in a different order" in err) == (2, True)


@pytest.mark.filterwarnings("always")
def test_every_command_reads_them(call, folder):
    write_tables(folder)
    for words in (
        "evidence feats.npz store.parquet -m cka",
        "evidence feats.npz --against lines.jsonl -m cka",
        "score-models feats.npz bytes.npz --models store.parquet",
        "compare --stream feats.npz lines.jsonl -m cka",
        "drift feats.npz/features store.parquet/vec --n-resamples 10",
        "compare store.parquet feats.npz/features -m cka --plan",
    ):
        code, _, err = call(words)
        assert code == 0, (words, err)


def test_a_layer_of_a_folder_of_features_is_named_by_its_place(call, folder):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU())
    rs.extract_features(net, np.load("a.npy").astype("float32"), "saved/net")
    first, *_ = layers = names(call, "saved", "a.npy")
    assert layers[-1] == "a"
    layer = first.partition("/")[2]
    for place in (f"saved/{first}", f"saved/{layer}", f"saved/net/{layer}"):
        assert names(call, place, "a.npy") == [first, "a"]
    assert "error" not in call(f"drift saved/{layer} a.npy --n-resamples 10")[2]
    code, _, err = call("compare saved/none a.npy -m cka")
    assert (code, f"saved has no layer 'none'; name one of saved/{first}" in err) == (2, True)


def test_a_missing_file_is_not_searched_in_features_far_above(call, folder):
    (folder / "model").mkdir()
    (folder / "model" / "traits.json").write_text("{}")
    (folder / "a" / "b").mkdir(parents=True)
    missing = folder / "a" / "b" / "none.npy"
    code, _, err = call("compare", missing, missing)
    assert (code, f"{missing} does not exist" in err) == (2, True)


@pytest.mark.filterwarnings("always")
def test_files_with_the_wrong_content_have_their_reason(call, folder, subtests):
    write_tables(folder)
    for words, message in {
        "compare price.parquet a.npy": "'price'; for the vectors alone pass --column vec",
        "compare two.parquet a.npy": "vectors, 'vec', 'other': choose one, --column vec",
        "compare feats.npz/feature a.npy": "has no array 'feature'; did you mean 'features'",
        "compare feats.npz/filenames a.npy": "it holds words, such as 'image 0'",
        "compare broken.jsonl a.npy": "line 31 is no JSON",
        "compare ragged.jsonl a.npy": "most have 5 numbers, row 30 has 2",
        "compare short.jsonl a.npy": "line 31 and the first line do not both have 'v'",
        "compare both.npz a.npy": "and 'both/test' has 9",
        "compare a.npy turned.npy --column vec": "--column is for archives and tables",
        "compare zipped.npz a.npy": "array 'x', cannot be read",
        "compare papers.npz a.npy": "it holds 'notes.txt'; save arrays by np.savez",
        "compare twice.npy a.npy": "holds 1328 bytes after its array (30, 5)",
        "compare true.npy a.npy": "true.npy cannot be read",
        "compare pipe.npy a.npy": "pipe.npy is a pipe or a device",
        "drift a.npy pipe.npy": "pipe.npy is a pipe or a device",
    }.items():
        with subtests.test(words):
            code, _, err = call(words if words.startswith("drift") else f"{words} -m cka")
            assert (code, message in err) == (2, True), err
    pickled = np.array([*np.load("a.npy"), None], dtype=object)[:-1]
    np.save("rows.npy", pickled, allow_pickle=True)
    code, _, err = call("compare rows.npy a.npy -m cka")
    remedy = "np.save(path, np.array(np.load(path, allow_pickle=True).tolist(), dtype=float))"
    assert (code, remedy in err) == (2, True)
    eval(remedy, {"np": np, "path": "rows.npy"})
    assert score(call, "rows.npy", "a.npy")[0] == pytest.approx(1)
