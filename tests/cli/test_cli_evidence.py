"""The command that says how sure similarities are: what it reads, prints, writes and refuses."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import resemblance as rs
from resemblance import cli
from resemblance.cli.inputs import read_label_file

N = 40
LABELS = np.arange(N) % 4


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a.npy, b.npy, c.npy of the same samples, flat.npy, and labels of the
    samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    g = np.random.default_rng(0)
    a = g.standard_normal((N, 5))
    b = a @ g.standard_normal((5, 4)) + 0.5 * g.standard_normal((N, 4))
    for name, array in (("a", a), ("b", b), ("c", g.standard_normal((N, 6)))):
        np.save(f"{name}.npy", array)
    np.save("flat.npy", np.ones((N, 3)))
    np.save("labels.npy", LABELS)
    np.save("blocks.npy", np.arange(N) // 4)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Return a function that runs the command ``evidence`` and returns exit code, output and
    errors."""

    def run(*words):
        code = cli.run(["evidence", *words])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def expected(*names, **options):
    arrays = {name: np.load(f"{name}.npy") for name in names}
    return rs.evidence(arrays, progress=False, **options)


def records(text):
    return json.loads(text)["records"]


# ------------------------------------------------------------------------------------------ results


def test_the_table_has_everything_about_a_pair_and_then_the_design(call):
    words = ("-m", "cka,procrustes", "--n-permutations", "49")
    code, out, err = call("a.npy", "b.npy", *words)
    assert (code, err) == (0, "")
    lines = out.strip().splitlines()
    assert re.split(r" {3,}", lines[0].strip()) == [
        "measure", "x", "y", "value", "95 % interval", "chance", "above chance", "p", "how",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[2:4]] == ["CKA", "OrthProc"]
    assert lines[-2].startswith("a and b are significantly above chance with ")
    assert "49 permutations" in lines[-1]
    assert "smallest possible p: 0.02" in lines[-1]
    assert "adjusted" in call("a.npy", "b.npy", "c.npy", *words)[1].splitlines()[0]
    both = ("a.npy", "b.npy", "-m", "cka[estimator=debiased],mutual_knn")
    assert "parameters: MutualKNN (k=10, cosine)" in call(*both)[1].splitlines()[-1]
    row = records(call(*both, "--format", "json")[1])[1]
    assert (row["label"], row["chance"]) == ("CKA (debiased)", 0)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--within", "labels.npy"], {"within": LABELS}),
        (["--whole-blocks", "blocks.npy"], {"whole_blocks": np.arange(N) // 4}),
        (["--time-series", "--max-shift", "9"], {"time_series": True, "max_shift": 9}),
        (["--confidence-level", "0.8", "--seed", "3"], {"confidence_level": 0.8, "seed": 3}),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_the_options_are_those_of_the_library(call, words, options):
    common = ["-m", "procrustes,mutual_knn", "--n-permutations", "19", "--format", "json"]
    code, out, _ = call("a.npy", "b.npy", *common, *words)
    assert code == 0
    same = expected("a", "b", measures=["procrustes", "mutual_knn"], n_permutations=19, **options)
    assert records(out) == same.records()
    assert json.loads(out)["design"]["words"] == same.design.words
    assert json.loads(out)["confidence_level"] == same.confidence_level


def test_values_that_failed_are_counted_and_the_code_is_1(call):
    code, out, err = call("a.npy", "flat.npy", "-m", "cka", "--n-permutations", "9")
    assert code == 1
    assert "constant" in out
    assert err.startswith("error: 3 of 4 values could not be computed; most often: ")


# ----------------------------------------------------------------------------------------- mistakes


def test_a_mistake_is_one_line(refused, folder):
    np.save("few.npy", LABELS[:-1])
    np.save("unequal.npy", np.arange(N) // 7)
    (folder / "named.csv").write_text("\n".join(["class", *map(str, LABELS)]))
    refused("""
        a.npy | two representations are needed; a.npy is one
        a.npy cka | cka is a measure, not a file
        a.npy b.npy --confidence-level 95 | --confidence-level must be between 0 and 1, such as 0.95
        a.npy b.npy --within few.npy | --within few.npy has 39 labels for 40 samples
        a.npy b.npy --within named.csv | if its first line, 'class', is a header, delete that line
        a.npy b.npy --whole-blocks c.npy | --whole-blocks c.npy must be one label per sample
        a.npy b.npy --whole-blocks unequal.npy | or give --within the size
        a.npy b.npy --within b.parquet | labels are read from .npy, .npz, .csv
        a.npy b.npy --time-series --within labels.npy | leave out --within
        a.npy b.npy --time-series --whole-blocks blocks.npy | leave out --whole-blocks
        a.npy b.npy --within labels.npy -o labels.npy | .npy; choose one of
        a.npy b.npy -m ckaa | ckaa
    """)


# ------------------------------------------------------------------------------------------- labels


def test_labels_are_read_from_all_kinds_of_files(folder):
    words = [f"word {i}" for i in LABELS]
    np.savez("labels.npz", LABELS)
    np.save("words.npy", np.array(words))
    (folder / "labels.txt").write_text("\n".join(words) + "\n\n", encoding="utf-8-sig")
    (folder / "labels.csv").write_text("\r\n".join(f'"{word}"' for word in words))
    assert read_label_file(None, "--within") is None
    for name in ("labels.npy", "labels.npz"):
        assert read_label_file(folder / name, "--within").tolist() == LABELS.tolist()
    for name in ("words.npy", "labels.txt", "labels.csv"):
        assert read_label_file(folder / name, "--within").tolist() == words


def test_labels_that_cannot_be_read_name_the_remedy(folder):
    np.savez("two.npz", a=LABELS, b=LABELS)
    np.savez("none.npz")
    np.save("objects.npy", np.array([{}, None], dtype=object))
    (folder / "bad.npy").write_bytes(b"nothing")
    (folder / "zip.npz").write_bytes(b"nothing")
    (folder / "cut.npz").write_bytes((folder / "two.npz").read_bytes()[:99])
    (folder / "columns.csv").write_text("a\nb,c\n")
    (folder / "gap.txt").write_text("a\n\nb\n")
    (folder / "empty.txt").write_text("\n")
    (folder / "quotes.csv").write_text('a\n"b"c\n')
    (folder / "latin.txt").write_bytes("ä".encode("latin-1"))
    for name, message in {
        "two.npz": "must contain one array; got a, b; save only the labels",
        "none.npz": "must contain one array; got none",
        "objects.npy": "cannot be read: an array with one number or word per sample",
        "bad.npy": "cannot be read",
        "zip.npz": "cannot be read",
        "cut.npz": "cannot be read",
        "columns.csv": "line 2: 2 columns; leave only the column with the labels",
        "gap.txt": "line 2 is empty: every sample needs a label",
        "empty.txt": "is empty; write one label per line",
        "latin.txt": "is not UTF-8",
        "quotes.csv": "is no CSV",
    }.items():
        with pytest.raises(ValueError, match=f"^--whole-blocks:? .*{name}.*{message}"):
            read_label_file(folder / name, "--whole-blocks")


def test_layers_of_two_folders_have_the_names_of_their_models(call, folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        np.save(folder / name / "layer.npy", np.load(folder / "a.npy"))
    code, out, _ = call("one", "--against", "two", "--format", "csv", "-m", "cka")
    assert code == 0
    assert "one/layer,two/layer" in out
