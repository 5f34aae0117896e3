"""``compare --stream``: files, folders, parts of the samples, a user's function, states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import resemblance as rs
from resemblance.cli import run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5)).astype(np.float32)
LAYERS = {"a": X, "b": X[:, :3] + RNG.standard_normal((300, 3)).astype(np.float32)}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Both layers whole, and in two parts."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("all", slice(None)), ("one", slice(100)), ("two", slice(100, None))):
        (tmp_path / name).mkdir()
        for layer, x in LAYERS.items():
            np.save(tmp_path / name / f"{layer}.npy", x[rows])
    return tmp_path


def values(capsys, *arguments: str) -> dict[str, float]:
    capsys.readouterr()
    code = run(["compare", "--stream", *arguments, "--format", "json"])
    output, errors = capsys.readouterr()
    assert code == 0, errors
    records = json.loads(output)["records"] if "records" in output else json.loads(output)
    return {r["measure"]: r["value"] for r in records if (r["x"], r["y"]) == ("a", "b")}


EXPECTED = {m: rs.get_measure(m)(*LAYERS.values()) for m in ("cka", "procrustes")}


def test_files_folders_parts_states_and_functions_give_the_same(folder, capsys):
    own = "import numpy as np\n\ndef batches():\n    for part in ('one', 'two'):\n"
    own += "        yield {k: np.load(f'{part}/{k}.npy') for k in ('a', 'b')}\n"
    (folder / "mine.py").write_text(own)
    for arguments in (
        ["all"],
        ["all/a.npy", "all/b.npy", "--batch-size", "7"],
        ["one", "two", "--parts", "--method", "qr", "--directions"],
        ["mine.py:batches"],
    ):
        found = values(capsys, *arguments, "-m", "cka,procrustes", "--save", "all.npz")
        assert found == pytest.approx(EXPECTED, rel=1e-9)
        assert rs.Stream.load("all.npz").n_samples == 300
    for part in ("one", "two"):
        save = ["--save", f"{part}.npz", "-q", "-m", "cka"]
        assert run(["compare", "--stream", part, *save]) == 0
    merged = values(capsys, "--merge", "one.npz", "--merge", "two.npz", "-m", "cka,procrustes")
    assert merged == pytest.approx(EXPECTED, rel=1e-9)
    more = values(capsys, "two", "--merge", "one.npz", "-m", "cka,procrustes")
    assert more == pytest.approx(EXPECTED, rel=1e-9)


def test_mistakes_are_one_line(folder, call, refused):
    assert call("compare --stream one --save one.npz -q -m cka")[0] == 0
    refused("""
        compare --stream | nothing to stream
        compare --stream all --method svd | got 'svd'
        compare --stream all/a.npy one/b.npy | 'a' has 300 samples and 'b' has 100
        compare --stream absent.py:f | absent.py does not exist
        compare --stream absent.py:f all | returns all layers
        compare --stream --merge absent.npz | no stream at absent.npz
        compare --stream one/a.npy --save one/a.npy | one/a.npy is given twice
        compare --stream all --save none/all.npz | the folder none does not exist
        compare --stream all --against one | --against cannot be combined with --stream
        compare --stream all --against one | leave out --against
        compare --stream all --jobs 2 | add the sums with --merge
        compare --stream all --scheduler tcp://host:8786 | add the sums with --merge
        compare --stream all --plan | leave out --plan
        compare --stream all --pool mean | save arrays (samples, features)
        compare all --merge a.npz | --merge is an option of streams: add --stream
        compare all --parts | --parts is an option of streams
        compare all --batch-size 10 | --batch-size is an option of streams
        compare all --method gram | --method is an option of streams
        compare all --directions | --directions is an option of streams
        compare --stream two --merge one.npz --method qr | made with --method gram; leave out
        compare --stream two --merge one.npz --directions | made without --directions; leave
    """)


def test_a_measure_that_needs_the_samples_has_its_reason(folder, capsys):
    assert run(["compare", "--stream", "all", "-m", "rsa"]) == 1
    assert "needs the samples" in capsys.readouterr().err


# ------------------------------------------------------------------ names of columns and of samples


@pytest.fixture
def tables(folder) -> Path:
    """Both layers as tables with named columns, in two parts, the second in another order."""
    for part, rows in (("one", slice(100)), ("two", slice(100, None))):
        for layer, x in LAYERS.items():
            names = [f"{layer}{letter}" for letter in "vwxyz"[: x.shape[1]]]
            table = pd.DataFrame(x[rows], index=[f"{part}{i}" for i in range(len(x[rows]))])
            table.columns = pd.Index(names)
            order = names if part == "one" else names[::-1]
            table[order].to_parquet(folder / part / f"{layer}.parquet")
    return folder


def parquet(part: str) -> list[str]:
    return [f"{part}/a.parquet", f"{part}/b.parquet"]


def test_columns_of_equal_names_are_put_in_the_order_of_a_saved_state(tables, capsys):
    small = ["--batch-size", "30", "-m", "cka,procrustes"]
    assert run(["compare", "--stream", *parquet("one"), "--save", "one.npz", *small]) == 0
    assert "Note" not in capsys.readouterr().out
    later = ["compare", "--stream", *parquet("two"), "--merge", "one.npz", *small]
    assert run(later) == 0
    note = "Note: the columns of 'a', 'b' were put in the order of earlier batches."
    assert capsys.readouterr().out.splitlines()[0] == note
    assert run([*later, "--format", "csv"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == note
    assert values(capsys, *later[2:]) == pytest.approx(EXPECTED, rel=1e-9)


def test_states_are_merged_by_the_names_of_columns(tables, capsys):
    for part in ("one", "two"):
        save = ["--save", f"{part}.npz", "-q", "-m", "cka"]
        assert run(["compare", "--stream", *parquet(part), *save]) == 0
    merge = ["--merge", "one.npz", "--merge", "two.npz", "-m", "cka,procrustes"]
    capsys.readouterr()
    assert run(["compare", "--stream", *merge]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "Note: the columns of 'a', 'b' were put in the order of the first stream."
    assert values(capsys, *merge) == pytest.approx(EXPECTED, rel=1e-9)


def test_a_later_part_with_columns_of_other_names_is_refused(tables, capsys):
    assert run(["compare", "--stream", *parquet("one"), "--save", "one.npz", "-m", "cka"]) == 0
    other = pd.read_parquet(tables / "two" / "a.parquet").rename(columns={"ax": "ay2"})
    other.to_parquet(tables / "two" / "a.parquet")
    capsys.readouterr()
    assert run(["compare", "--stream", *parquet("two"), "--merge", "one.npz", "-m", "cka"]) == 2
    error = capsys.readouterr().err
    assert "layer 'a' has 'ay2' where layer 'a' of earlier batches has 'ax'" in error


def test_layers_of_other_samples_are_refused_by_their_ids(tables, capsys):
    table = pd.read_parquet(tables / "one" / "b.parquet")
    table[::-1].to_parquet(tables / "one" / "b.parquet")
    assert run(["compare", "--stream", *parquet("one"), "-m", "cka"]) == 2
    assert "has the samples of representation 'a' in a different order" in capsys.readouterr().err
