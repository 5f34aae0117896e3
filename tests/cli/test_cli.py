"""The command line: what it prints, what it writes, and one line for every mistake."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import itertools
import json
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest
import typer
from factories.output import assert_fits, on_terminal
from typer.testing import CliRunner

import resemblance as rs
from resemblance import cli
from resemblance.base.extras import install_hint
from resemblance.cli import ending
from resemblance.cli.inputs import parse_measures
from resemblance.comparison.store import ScoreFile
from resemblance.engine.jobs import process_pool
from resemblance.report.output import records_to_csv

COMPARE = importlib.import_module("resemblance.engine._compare")

OWN = '''
import time
import resemblance as rs

claims = dict(family="descriptive", larger_is_more_similar=False, range=(0, float("inf")),
    symmetric=True, invariant_to={"permutation"}, citation="x")

@rs.measure(label="SizeDiff", **claims)
def size_difference(x, y):
    """Size difference: how much more one representation varies."""
    return abs(float((x.array**2).sum()) - float((y.array**2).sum()))

@rs.measure(label="Slow", **claims)
def slow(x, y):
    """Slow: takes a minute for representations of different names."""
    time.sleep(0 if x.name == y.name else 60)
    return 0.0

@rs.measure(label="Power", **claims)
def power(x, y, *, sharpness: int = 1, mean: bool = False):
    """Power: what it is told."""
    return sharpness + mean / 2

def divide(n):
    return n / 0

@rs.measure(label="Broken", **claims)
def broken(x, y):
    """Broken: a mistake, one call below."""
    return divide(x.shape[0])

@rs.measure(label="Refusing", **claims)
def refusing(x, y):
    """Refusing: raises what wrong use raises."""
    raise ValueError("not these")

def plain(x, y):
    return 0.0

@rs.measure(label="Rows", **claims)
def rows(x, y):
    """Rows: an array, where a number is due."""
    return x.array - x.array

@rs.measure(label="Nothing", **claims)
def nothing(x, y):
    """Nothing: returns none."""

@rs.measure(label="Imaginary", **claims)
def imaginary(x, y):
    """Imaginary: no real number."""
    return 0.5j
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with files a.npy, b.npy, c.npy of the same samples, and nan.npy with one missing
    value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    g = np.random.default_rng(0)
    a = g.standard_normal((30, 5))
    b = a @ g.standard_normal((5, 4)) + 0.5 * g.standard_normal((30, 4))
    with_nan = a.copy()
    with_nan[3, 2] = np.nan
    for name, array in {"a": a, "b": b, "c": g.standard_normal((30, 3)), "nan": with_nan}.items():
        np.save(f"{name}.npy", array)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def loaded():
    return {name: np.load(f"{name}.npy") for name in ("a", "b", "c")}


# ------------------------------------------------------------------------------------------ compare


@pytest.mark.filterwarnings("always")
def test_an_empty_file_is_no_saved_comparison(call, folder):
    (folder / "run.db").touch()
    code, _, err = call("compare a.npy b.npy -m cka --save run.db")
    assert code == 0
    assert "warning: run.db is empty: no results were saved in it, so all begin anew" in err
    assert rs.load("run.db").rows == ("a", "b")


def test_two_files_are_one_line_per_measure(call):
    code, out, err = call(
        "compare a.npy b.npy --measures cka,OrthProc -m 'cka[kernel=rbf,bandwidth=0.5]'"
    )
    assert (code, err) == (0, "")
    a, b, _ = loaded().values()
    lines = {line.split()[1]: line for line in out.splitlines() if line.strip() and "─" not in line}
    assert f"{rs.cka(a, b):.4g}" in lines["cka"]
    assert f"{rs.procrustes(a, b):.4g}" in lines["procrustes"]
    assert (
        f"{rs.cka(a, b, kernel='rbf', bandwidth=0.5):.4g}" in lines["cka[bandwidth=0.5,kernel=rbf]"]
    )


def test_all_default_measures(call):
    code, out, _ = call("compare a.npy b.npy")
    assert code == 0
    assert all(m.name in out for m in rs.preset("default"))


def test_json_holds_records_measures_and_provenance(call):
    code, out, _ = call("compare a.npy b.npy c.npy -m cka,gulp --format json")
    assert code == 0
    document = json.loads(out)
    expected = rs.compare(loaded(), measures=["cka", "gulp"], progress=False)
    assert document["records"] == expected.records()
    assert document["provenance"]["n_samples"] == 30
    assert document["measures"][1]["range"] == [0, None]
    assert set(document["seconds"]) == {"cka", "gulp"}


def test_nan_is_null_with_its_reason_and_exit_code_1(call):
    code, out, err = call("compare a.npy nan.npy -m cka --format json")
    assert code == 1
    assert "NaN," not in out
    records = json.loads(out)["records"]
    assert [r["value"] is None for r in records] == [False, True, True, True]
    assert "row 3, column 2" in records[1]["reason"]
    assert err.startswith(
        "error: 3 of 4 values could not be computed; most often: representation 'nan'"
    )
    assert err.count("\n") == 1


def test_exit_zero_is_for_answers_and_not_for_mistakes(call):
    code, out, err = call("compare a.npy nan.npy -m cka --exit-zero --format csv")
    assert (code, out.count("\n")) == (0, 5)
    assert err.startswith("error: 3 of 4 values could not be computed")
    assert call("compare a.npy gone.npy -m cka --exit-zero")[0] == 2
    assert call("drift a.npy c.npy --unpaired -q")[0] == 2  # of other widths
    assert call("check own.py:imaginary -q")[0] == 1
    assert call("check own.py:imaginary -q --exit-zero --html checks.html")[0] == 0
    assert "imaginary" in Path("checks.html").read_text(encoding="utf-8")


def test_inputs_are_compared_with_others(call):
    code, out, _ = call("compare a.npy b.npy --against c.npy -m cka,procrustes --format json")
    assert code == 0
    a, b, c = loaded().values()
    rows, columns = {"a": a, "b": b}, {"c": c}
    expected = rs.compare(rows, columns, measures=["cka", "procrustes"], progress=False)
    assert json.loads(out)["records"] == expected.records()
    assert call("compare a.npy --against b.npy -m cka -q")[0] == 0
    code, out, _ = call("compare a.npy --against b.npy c.npy -m cka --plan --format json")
    assert (code, json.loads(out)["measures"][0]["values"]) == (0, 2)


def test_csv(call):
    code, out, _ = call("compare a.npy b.npy -m cka --format csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0]) == ["measure", "label", "x", "y", "value", "reason", "chance"]
    assert float(rows[1]["value"]) == rs.cka(*list(loaded().values())[:2])


@pytest.mark.parametrize("name", ["out.json", "out.csv", "out.txt", "out.parquet"])
def test_the_suffix_of_the_output_is_its_format(call, folder, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    code, out, err = call("compare", "a.npy", "b.npy", "-m", "cka", "--output", name)
    assert (code, out, err) == (0, "", f"wrote {name}\n")
    content = (folder / name).read_bytes()
    start = {"out.json": b"{", "out.csv": b"measure,", "out.txt": b" ", "out.parquet": b"PAR1"}
    assert content.startswith(start[name])


def test_parquet_can_be_read_again(call):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert call("compare a.npy nan.npy -m cka -o x.parquet -q")[0] == 1
    frame = pandas.read_parquet("x.parquet")
    assert frame["value"].isna().tolist() == [False, True, True, True]


def test_page_and_saved_results(call, folder):
    code, _, err = call("compare a.npy b.npy -m cka --html p.html --save r.db")
    assert (code, err) == (0, "wrote p.html, r.db\n")
    assert "CKA" in (folder / "p.html").read_text(encoding="utf-8")
    again = rs.load("r.db")
    assert again["cka"][0, 1] == rs.cka(*list(loaded().values())[:2])


def test_processes_give_the_same(call):
    words = "compare a.npy b.npy c.npy -m cka,own.py:size_difference --format csv"
    one, two = call(words), call(f"{words} --jobs 2")
    assert one[0] == 0
    assert one[:2] == two[:2]


def test_presets_and_own_measures_mix():
    chosen = parse_measures(["resi, mean_cca", "own.py:size_difference"])
    assert [m.spec for m in chosen[:24]] == [m.spec for m in rs.preset("resi")]
    assert [m.label for m in chosen[24:]] == ["MeanCCA", "SizeDiff"]
    assert parse_measures(None) is None


# ------------------------------------------------------------------------------------------- inputs


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
    assert names(call, "net.npz", "a.npy") == ["net/conv1", "net/conv2", "a"]
    inside = ["m1/conv1", "m1/conv2", "m1/conv10"]
    assert names(call, "runs/m1", "runs/m2")[:3] == [f"runs/{name}" for name in inside]
    assert names(call, "runs")[:4] == ["all/x", *inside]


def test_equal_names_become_paths(call, folder):
    (folder / "other").mkdir()
    np.save(folder / "other" / "a.npy", np.load("a.npy") + 1)
    assert names(call, "a.npy", "other/a.npy") == ["a", "other/a"]


def test_odd_names(call, folder):
    odd = [
        "naïve 日本語",
        "<script>alert(1)</script>".replace("/", "∕"),
        "[red]x",
        "a,b",
        "new\nline\x1b[31m",
    ]
    for name in odd:
        np.save(folder / f"{name}.npy", np.load("a.npy"))
    found = names(call, *(f"{name}.npy" for name in odd))
    assert found[:4] == odd[:4]
    assert found[4].isprintable()
    code, out, _ = call(
        "compare", *(f"{name}.npy" for name in odd), "-m", "cka", "--html", "p.html"
    )
    assert code == 0
    assert "[red]x" in out
    assert "<script>alert" not in (folder / "p.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_unicode(call, folder):
    (folder / "odd").mkdir()
    np.save(os.fsdecode(os.fsencode(folder) + b"/odd/\xff.npy"), np.load("a.npy"))
    assert names(call, "odd", "a.npy") == ["\ufffd", "a"]


# ----------------------------------------------------------------------------------------- mistakes


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


def test_every_mistake_is_one_line(refused, folder):
    prepare_bad_files(folder)
    refused("""
        compare | nothing to compare: give files or folders
        compare --stream | nothing to stream
        compare a.npy | a comparison needs two representations
        compare missing.npy a.npy | missing.npy does not exist
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
        compare a.npy b.npy -m ckaa | no measure 'ckaa'; did you mean 'cka'?
        compare a.npy b.npy -m , | --measures is empty
        compare a.npy b.npy -m cka[kernl=rbf] | no parameter 'kernl'; did you mean 'kernel'?
        compare a.npy b.npy -m cka[kernel=x] | kernel must be one of 'linear', 'rbf'
        compare a.npy b.npy -m gone.py:x | gone.py does not exist
        compare a.npy b.npy -m own.py | own.py is a file: name one of its measures, own.py:NAME
        compare a.npy procrustes -m cka | procrustes is a measure, not a file: give measures as
        compare a.npy b.npy -m own.py:power[sharpnes=1] | did you mean 'sharpness'?
        compare weights.pt a.npy | .ndjson): it may run code
        compare table.csv a.npy | choose the columns that are numbers, and the one with ids
        compare loop.npy a.npy | loop.npy does not exist
        compare a.npy b.npy --save loop.npy/x | does not exist
        compare negative.npy a.npy | negative.npy cannot be read
        compare bomb.npz a.npy | bomb.npz unpacks to 5.0 GiB, more than 4 GiB
        compare text.parquet a.npy | columns that are not numbers: 'species'
        compare junk.safetensors a.npy | junk.safetensors cannot be read
        bench report study --html x.png | x.png: a page is written as .html
        bench results study -o x.xlsx | no table is written as .xlsx
        compare a.npy b.npy -m own.py:sizedifference | did you mean 'size_difference'?
        compare a.npy b.npy -m own.py:plain | is not a measure: decorate it
        compare a.npy b.npy --format xls | got 'xls'
        compare a.npy b.npy --format jsn | did you mean 'json'?
        compare a.npy b.npy --format parquet | needs --output
        compare a.npy b.npy --save a.npy | a.npy is given twice
        compare a.npy b.npy --memory lots | memory must be a positive number of bytes
        compare a.npy b.npy --jobs 0 | Invalid value for '--jobs'
        compare a.npy b.npy --bogus | No such option: --bogus
        measures --family ccaa | no family 'ccaa'; did you mean 'cca'?
        measures --invariant-to rotation | no invariance 'rotation'; did you mean 'orthogonal'?
        explain nonsense | no measure 'nonsense'
        expalin cka | No such command
    """)


def test_a_defect_of_the_library_has_its_own_exit_code(call, monkeypatch):
    def broken(*args, **named):
        raise TypeError("a defect")

    monkeypatch.setattr(COMPARE, "compare", broken)
    code, out, err = call("compare a.npy b.npy -m cka")
    assert (code, out) == (70, "")
    first, second = err.splitlines()
    assert first.startswith("internal error: TypeError: a defect (test_cli.py:")
    assert "report it" in second
    assert "Traceback" not in err
    monkeypatch.setenv("RESEMBLANCE_DEBUG", "1")
    code, _, err = call("compare a.npy b.npy -m cka")
    assert code == 70
    assert "Traceback" in err


def test_a_value_error_that_this_package_does_not_raise_is_a_defect(call, monkeypatch, subtests):
    x = np.ones((2, 3))
    calls = {
        70: [(np.concatenate, [x, x[0]]), (np.linalg.inv, np.ones((3, 3))), (np.matmul, x, x)],
        2: [(rs.get_measure, "ckaa"), (rs.plan, ["a", "a"])],
    }
    with ProcessPoolExecutor(1) as pool:
        for code, act in ((c, partial(*one)) for c in calls for one in calls[c]):
            for here in (act, lambda act=act: pool.submit(act).result()):
                with subtests.test(act=act):
                    monkeypatch.setattr(COMPARE, "compare", lambda *_, here=here, **__: here())
                    assert call("compare a.npy b.npy -m cka")[0] == code


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_measure_of_ones_own_shows_its_own_lines(call, jobs):
    code, out, err = call("compare", "a.npy", "b.npy", "-m", "cka,own.py:broken", "--jobs", jobs)
    assert (code, out) == (3, "")
    lines = err.splitlines()
    assert lines[0] == "error: ZeroDivisionError: division by zero"
    assert [line.split(", in ")[1] for line in lines[1:]] == [
        "broken: return divide(x.shape[0])",
        "divide: return n / 0",
    ]
    assert lines[1].startswith("  own.py:")
    code, _, err = call("compare", "a.npy", "b.npy", "-m", "own.py:refusing", "--jobs", jobs)
    assert code == 3
    assert err.startswith("error: ValueError: not these\n  own.py:")


def test_a_file_of_ones_own_that_cannot_be_loaded(call, folder):
    for text, message in [
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("def", "SyntaxError: "),
        ("import sys\nsys.exit(0)", "SystemExit: 0 (line 2)"),
    ]:
        (folder / "broken.py").write_text(text)
        for words in (
            ("compare", "a.npy", "b.npy", "-m"), ("check",), ("rank",),
            ("compare", "--stream", "a.npy", "b.npy", "-m"),
        ):  # fmt: skip
            code, out, err = call(*words, "broken.py:x")
            assert (code, out) == (3, ""), words
            assert err.startswith(f"error: broken.py cannot be loaded: {message}")
            assert err.count("\n") == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_measure_of_ones_own_that_returns_no_number_is_named(call, jobs):
    wrong = {"rows": "array of shape (30, 5)", "nothing": "None", "imaginary": "0.5j"}
    for name, what in wrong.items():
        code, _, err = call("compare", "a.npy", "b.npy", "-m", f"own.py:{name}", "--jobs", jobs)
        assert (code, err.count("\n")) == (2, 1)
        assert f"{name} must return one number; it returned" in err
        assert what in err


def test_parameters_of_a_measure_of_ones_own(call):
    specs = "own.py:power,own.py:power[sharpness=2],own.py:power[sharpness=3,mean=True]"
    code, out, err = call("compare", "a.npy", "b.npy", "-m", specs, "--format", "json")
    assert (code, err) == (0, "")
    found = {r["measure"]: r["value"] for r in json.loads(out)["records"]}
    assert found == {"power": 1.0, "power[sharpness=2]": 2.0, "power[mean=True,sharpness=3]": 3.5}


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [("--html p.html", "jinja2", "report"), ("-o x.parquet", "pyarrow", "frames")],
)
def test_missing_packages_are_found_before_the_work(call, monkeypatch, words, package, extra):
    without(monkeypatch, package)
    monkeypatch.setattr(COMPARE, "compare", None)
    code, _, err = call("compare", "a.npy", "b.npy", *words.split())
    assert code == 2
    assert err == f"error: {package} is not installed: {install_hint(extra, package)}\n"


@pytest.mark.parametrize(
    ("words", "packages", "extra"),
    [
        ("demo", ("torch", "jinja2"), "models"),
        (
            "compare-models a=x.py:f b=x.py:g --data a.npy --html p.html",
            ("torch", "jinja2"),
            "models",
        ),
        ("compare a.npy b.npy --html p.html -o x.parquet", ("pandas", "jinja2"), "resi"),
        ("evidence a.npy b.npy -o x.parquet", ("pandas", "pyarrow"), "frames"),
        ("compare a.npy b.npy --html p.html -o x.parquet", ("pandas", "pyarrow", "jinja2"), "resi"),
    ],
)
def test_all_missing_packages_are_named_at_once(call, monkeypatch, words, packages, extra):
    without(monkeypatch, *packages)
    code, _, err = call(words)
    names = f"{', '.join(packages[:-1])} and {packages[-1]}"
    if packages == ("torch", "jinja2") and words != "demo":
        names = "jinja2 and torch"
    hint = install_hint(extra, *names.replace(" and ", ", ").split(", "))
    assert (code, err) == (2, f"error: {names} are not installed: {hint}\n")


def without(monkeypatch, *packages):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in packages else found(name, *a)
    )


def test_a_measure_of_the_default_list_may_be_missing(call, monkeypatch):
    """Nobody asked for RTD: a line says that it was left out, and the command succeeds."""
    without(monkeypatch, "numba")
    code, out, err = call("compare a.npy b.npy")
    assert code == 0
    assert "procrustes" in out
    assert err == f"rtd left out: needs an optional dependency: {install_hint('topology')}\n"
    code, _, err = call("compare a.npy nan.npy")
    assert code == 1
    assert "error: 69 of 96 values could not be computed; most often: representation 'nan'" in err
    assert call("compare a.npy b.npy -m rtd")[0] == 2


def test_the_demonstration_leaves_nothing_when_a_package_is_missing(call, monkeypatch, folder):
    without(monkeypatch, "torch")
    code, _, err = call("demo -o layers")
    assert code == 2
    assert err.startswith("error: torch is not installed: pip install ")
    assert not (folder / "layers").exists()


def test_hints_never_name_this_package_as_an_index_would(monkeypatch, tmp_path):
    from resemblance.base import extras

    def checkout(folder, editable):
        monkeypatch.setattr(extras, "_source_checkout", lambda: (folder, editable))

    checkout(None, False)
    without(monkeypatch, "faiss", "torch_geometric", "transformers")
    assert (
        install_hint("neighbors") == install_hint("neighbors", "faiss") == "pip install faiss-cpu"
    )
    assert install_hint("resi") == "pip install torch-geometric transformers"
    checkout(tmp_path / "a folder", False)
    assert install_hint("bio") == f'pip install "{tmp_path / "a folder"}[bio]"'
    checkout(tmp_path, True)
    assert install_hint("bio") == f'pip install -e "{tmp_path}[bio]"'


def test_where_this_package_was_installed_from(monkeypatch, tmp_path):
    """From the source that runs, or the folder that pip wrote down, or nowhere that is known."""
    import importlib.metadata
    from types import SimpleNamespace

    from resemblance.base import extras

    source = tmp_path / "a b"
    source.mkdir()
    site = tmp_path / "lib" / "site" / "resemblance" / "extras.py"
    monkeypatch.setattr(extras, "__file__", str(site))
    for text, expected in [
        (json.dumps({"url": source.as_uri(), "dir_info": {}}), (source, False)),
        (json.dumps({"url": (tmp_path / "gone").as_uri()}), (None, False)),
        (json.dumps({"url": "https://example.org/x.whl"}), (None, False)),
        (None, (None, False)),
    ]:
        (source / "pyproject.toml").write_text('[project]\nname = "resemblance"\n')
        found = SimpleNamespace(read_text=lambda name, text=text: text)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name, found=found: found)
        assert extras._source_checkout() == expected


def test_an_interruption_says_what_was_saved(call, monkeypatch):
    compare = rs.compare

    def interrupted(representations, *, save, **options):
        compare(representations, measures=["cka"], save=save, progress=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(COMPARE, "compare", interrupted)
    code, _, err = call("compare a.npy b.npy --save r.db")
    assert (code, err) == (
        130,
        "interrupted: 3 results are saved in r.db; the same command continues from there\n",
    )
    code, _, err = call("compare a.npy b.npy")
    assert (code, err) == (
        130,
        "interrupted: nothing was saved; with --save FILE a later run continues\n",
    )


# ----------------------------------------------------------------------------------- other commands


def test_measures(call):
    code, out, _ = call("measures --family cca --format json")
    assert code == 0
    assert {m["name"] for m in json.loads(out)} == {m.name for m in rs.list_measures(family="cca")}
    code, out, _ = call("measures --invariant-to orthogonal --invariant-to translation")
    assert code == 0
    assert " procrustes " in out
    assert "jaccard" not in out
    assert call("measures --invariant-to orthogonal,translation")[1] == out


def test_measures_has_every_filter_of_list_measures(call):
    code, out, _ = call(
        "measures --not-invariant-to affine,orthogonal --no-metric --symmetric --differentiable "
        "--n-samples 10 --n-features 2 --format json"
    )
    expected = rs.list_measures(
        not_invariant_to=["affine", "orthogonal"],
        metric=False,
        symmetric=True,
        differentiable=True,
        n_samples=10,
        n_features=2,
    )
    assert code == 0
    assert [m["name"] for m in json.loads(out)] == [m.name for m in expected] != []
    for option, name in (("invariant-to", "invariance"), ("not-invariant-to", "invariance")):
        code, _, err = call(f"measures --{option} afine")
        assert (code, err) == (2, f"error: no {name} 'afine'; did you mean 'affine'?\n")
    code, _, err = call("measures --family ca")
    assert code == 2
    assert "did you mean 'cca'?" in err


@pytest.mark.filterwarnings("default")
def test_measures_says_that_no_measure_is_left(call):
    code, out, err = call("measures --family outputs --invariant-to orthogonal --format json")
    assert (code, json.loads(out)) == (0, [])
    assert err.startswith("warning: no measure has all these properties")


@pytest.mark.parametrize(
    "spec", ["cka", "CKA", "cka[estimator=debiased]", "own.py:size_difference", "rtd"]
)
def test_explain(call, spec):
    code, out, _ = call("explain", spec)
    assert code == 0
    assert "more similar is" in out
    # never by the bare name, which may be that of another package in an index
    assert not re.search(r"pip install (-e )?\"?resemblance\[", " ".join(out.split()))
    if "[" in spec:
        assert "'debiased'" in out


def test_explain_knows_statistics(call, subtests):
    for s in rs.list_statistics():
        with subtests.test(str(s)):
            code, out, _ = call("explain", s.label)
            assert code == 0
            assert s.name in out
            assert s.citation in out
            assert "more stable is" in out


def commands_below(command, *words):
    names = command.list_commands(None) if hasattr(command, "list_commands") else ()
    if not names:
        yield words
    for name in names:
        yield from commands_below(command.get_command(None, name), *words, name)


def test_every_help_has_examples_that_name_it(call, subtests):
    for words in commands_below(typer.main.get_command(cli.commands())):
        with subtests.test(" ".join(words)):
            code, out, _ = call(*words, "--help")
            assert code == 0
            assert f"resemblance {' '.join(words)}" in out.partition("Examples:")[2]


def test_tables_and_tensors_are_read(call, folder):
    safetensors = pytest.importorskip("safetensors.numpy")
    a = np.load("a.npy")
    pandas.DataFrame(a, index=[f"image {i}" for i in range(30)]).add_prefix("u").to_parquet(
        "named.parquet"
    )
    pandas.DataFrame(a[::-1], index=[f"image {i}" for i in range(30)][::-1]).add_prefix(
        "u"
    ).to_parquet("turned.parquet")
    safetensors.save_file({"conv": a, "head": a + 1}, "net.safetensors")
    assert names(call, "named.parquet", "net.safetensors") == ["named", "net/conv", "net/head"]
    code, _, err = call("compare named.parquet turned.parquet -m cka")
    assert code == 2
    assert "in another order" in err


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
    assert (code, "in another order" in err) == (2, True)


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
        "compare a.npy turned.npy --column vec": "--column chooses in archives and tables",
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


def test_help_and_version(call):
    assert call("--version") == (0, f"resemblance {rs.__version__}\n", "")
    code, out, _ = call()
    assert code == 0
    for command in ("compare", "measures", "explain", "demo"):
        assert command in out
        assert call(command, "--help")[0] == 0


def test_the_commands_work_as_a_typer_application():
    found = CliRunner().invoke(
        cli.commands(), ["compare", "a.npy", "b.npy", "-m", "cka", "--format", "csv"]
    )
    assert found.exit_code == 0
    assert found.stdout.startswith("measure,label,x,y,value,reason,chance\n")


# -------------------------------------------------------------------------------- as a real process


def process(words, **options):
    """Run the command line in a process of its own, as it is typed."""
    program = "from resemblance.cli import app; app()"
    command = [sys.executable, "-c", program, *shlex.split(words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_results_and_messages_are_separate_streams():
    running = process("compare a.npy nan.npy -m cka --format json")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert json.loads(out)["records"][0]["value"] == pytest.approx(1)
    assert err.startswith("error: 3 of 4")
    assert "Traceback" not in err


def test_it_is_a_module_to_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "resemblance", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"resemblance {rs.__version__}\n")


def in_one_process(code, arguments):
    """What commands print, one after the other in a process of their own; each must succeed."""
    program = (
        "import os, sys\nfrom resemblance.cli import app\n"
        f"for argument in {arguments!r}:\n    try:\n        {code}\n"
        "    except SystemExit as end:\n        assert not end.code, argument\n"
        "    else:\n        raise AssertionError('it did not exit')\n    print('\\n-- the next')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return re.split(rb"\r?\n-- the next\r?\n", done.stdout)[:-1]


def test_any_encoding_of_the_terminal_will_do():
    commands = ["measures", "explain cka", "explain rtd", "compare a.npy b.npy -m cka,gulp"]
    cases = list(itertools.product(["ascii", "latin-1", "cp1252"], commands))
    code = "sys.stdout.reconfigure(encoding=argument[0]); app(argument[1].split())"
    printed = in_one_process(code, cases)
    assert len(printed) == len(cases)
    for text in printed:
        assert b"cka" in text.lower() or b"rtd" in text


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors")
def test_standard_error_may_be_closed():
    command = (
        f"exec '{sys.executable}' -m resemblance compare a.npy nan.npy -m cka --format csv 2>&-"
    )
    done = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout.startswith("measure,label,x,y,value,reason\n")
    assert "error" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_goes_away_does_not_change_the_exit_code():
    codes = {
        "measures": 0,
        "measures --format json": 0,
        "compare a.npy b.npy -m cka --format csv": 0,
        "compare a.npy nan.npy -m cka": 1,
        "drift a.npy a.npy --n-resamples 10": 0,
    }
    program = (  # each command is a process, and imports are done once
        "import os, sys\nfrom resemblance.cli import app\ncodes = []\n"
        f"for words in {list(codes)!r}:\n    if not os.fork():\n        app(words.split())\n"
        "    codes.append(os.waitstatus_to_exitcode(os.wait()[1]))\nprint(codes, file=sys.stderr)"
    )
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert json.loads(done.stderr.splitlines()[-1]) == list(codes.values())
    assert "BrokenPipe" not in done.stderr


def test_completion_for_the_shell():
    code = "os.environ['_RESEMBLANCE_COMPLETE'] = 'source_' + argument; app([])"
    printed = in_one_process(code, ["bash", "zsh", "fish"])
    assert len(printed) == 3
    for text in printed:
        assert b"_RESEMBLANCE_COMPLETE" in text


def test_help_needs_no_framework_and_no_command():
    heavy = ("torch", "numba", "matplotlib", "pandas", "sklearn", "jinja2")
    heavy += ("resemblance.bench", "resemblance.bench.ranking", "resemblance.report")
    code = (
        "import sys; from resemblance.cli import run; run(['--help']);"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out.rstrip().endswith("[]")
    panels = ("Compare", "Certainty", "Versions", "Benchmarks", "Information")
    places = [out.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)


def test_models_continue_in_their_folder(call, folder, monkeypatch):
    pytest.importorskip("torch")
    (folder / "nets.py").write_text(
        "import torch\n\ndef one():\n    torch.manual_seed(0)\n    return torch.nn.Sequential("
        "torch.nn.Linear(5, 4), torch.nn.ReLU())\n"
    )
    words = ("compare-models", "a=nets.py:one", "b=nets.py:one", "--data", "a.npy", "-m", "cka")
    words += ("--save", "run", "-o", "out.csv")

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("resemblance.models.two_models.evidence_from_comparison", stop)
        code, _, err = call(*words)
        assert (code, "what is done is in run" in err) == (130, True)
    code, _, err = call(*words)
    assert (code, err.splitlines()[-1]) == (0, "wrote out.csv, run")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_control_c(folder, jobs):
    words = f"compare a.npy b.npy -m own.py:slow --save r.db --jobs {jobs}"
    running = process(words, start_new_session=True, preexec_fn=heed_interrupts)
    deadline = time.monotonic() + 60
    while not saved(folder / "r.db") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert saved(folder / "r.db") >= 1
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.startswith("interrupted: ")
    assert "saved in r.db; the same command continues from there" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("after", [0.0, 0.3, 1.0])
def test_control_c_while_workers_start(folder, after):
    words = "compare a.npy b.npy -m own.py:slow --save r.db --jobs 2"
    running = process(words, start_new_session=True, preexec_fn=heed_interrupts)
    deadline = time.monotonic() + 60
    while not (folder / "r.db").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after)  # the file is made before the workers
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert re.fullmatch(r"interrupted: \d+ results are saved in r\.db; .*\n", err)


def test_an_interrupt_after_the_work_says_what_was_saved(call, folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("resemblance.report.output.write_output", interrupt)
    code, _, err = call("compare a.npy b.npy -m cka --save r.db")
    assert code == 130
    assert (
        err == "interrupted: 3 results are saved in r.db; the same command continues from there\n"
    )


def test_a_warning_is_one_plain_line(folder):
    words = "compare a.npy b.npy -m distance_correlation --memory 5kB"
    out, err = process(words).communicate(timeout=60)
    assert "distance_correlation" in out
    text = r"memory='5kB' is less than one pair takes \(distance_correlation .* kB\); .*"
    assert re.fullmatch(rf"warning: compare: {text}\n", err)
    assert process(f"{words} --quiet").communicate(timeout=60)[1] == ""


def heed_interrupts():
    """A job that a shell runs in the background ignores interrupts, and what it starts inherits
    that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def saved(path):
    if not path.exists():
        return 0
    try:
        with ScoreFile(path) as store:
            return store.count()
    except ValueError:
        return 0


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    "words",
    [
        "measures",
        "explain shape",
        "compare a.npy b.npy -q -m default",
        "compare a.npy nan.npy -q -m cka,rsa",
        "compare a.npy b.npy c.npy nan.npy -q -m cka,gulp",
        "compare many -q -m default",
    ],
)
def test_tables_fit_the_terminal(words, columns, folder, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    (folder / "many").mkdir()
    for i in range(12):
        np.save(
            folder / "many" / f"network-of-seed-{i}.npy",
            np.random.default_rng(i).standard_normal((30, 4)),
        )
    assert_fits(lambda: cli.run(words.split()), capsys, columns)


def test_columns_say_how_wide_a_terminal_is(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = on_terminal(lambda: cli.run(["measures"]), 200)
    assert 50 < max(map(len, shown.splitlines())) <= 60


def test_a_pipe_gets_one_line_per_row_however_long(call, folder, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    long = "layer" * 30
    np.save(folder / f"{long}1.npy", loaded()["a"])
    _, out, _ = call("compare", f"{long}1.npy", "b.npy", "nan.npy", "-m", "cka")
    assert len([line for line in out.splitlines() if f"{long}1" in line]) == 1
    shown = on_terminal(
        lambda: cli.run(["compare", f"{long}1.npy", "b.npy", "-m", "cka", "-q"]), 80
    )
    assert (
        max(map(len, shown.splitlines())) <= 80
    )  # a name that is too long for any terminal is cut


def test_names_cannot_steer_the_terminal(call, folder):
    wild = "\x1b]0;title\x07\x1b[31mred"
    np.save(folder / f"{wild}.npy", loaded()["a"])
    _, out, _ = call("compare", f"{wild}.npy", "b.npy", "-m", "cka", "-q")
    code, _, err = call("compare", f"{wild}.npy", f"no{wild}.npy", "-m", "cka")
    assert code == 2
    assert not set("\x1b\x07") & set(out + err)
    assert "\\x1b[31mred" in err


def test_rounding_of_a_distance_is_written_as_0(call, folder):
    np.save(folder / "copy.npy", loaded()["a"])
    a, copy = loaded()["a"], np.load("copy.npy")
    assert 0 < rs.procrustes(a, copy) < 1e-12
    _, out, _ = call("compare a.npy copy.npy -m procrustes")
    (line,) = [line for line in out.splitlines() if "OrthProc" in line]
    assert line.split()[2] == "0"
    _, out, _ = call("compare a.npy copy.npy b.npy -m procrustes_size_shape")
    assert "e-" not in out
    _, out, _ = call("compare a.npy copy.npy -m procrustes --format json")
    assert 0 < json.loads(out)["records"][1]["value"] < 1e-12  # a program gets every digit


def test_a_full_disk_leaves_the_old_files(call, folder, monkeypatch):
    for name in ("out.csv", "page.html", "out.parquet"):
        (folder / name).write_text("the old one")

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(pandas.DataFrame, "to_parquet", full)
    for words in (["-o", "out.csv"], ["-o", "out.parquet"], ["--html", "page.html"]):
        code, _, err = call("compare", "a.npy", "b.npy", "-m", "cka", "-q", *words)
        assert code == 2
        assert "No space left" in err
    monkeypatch.undo()
    assert {(folder / name).read_text() for name in ("out.csv", "page.html", "out.parquet")} == {
        "the old one"
    }
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_devices_and_links_are_written_through(call, folder):
    (folder / "link.csv").symlink_to(folder / "target.csv")
    assert call("compare a.npy b.npy -m cka -q -o link.csv")[0] == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "target.csv").read_text().startswith("measure,")
    assert call("compare", "a.npy", "b.npy", "-m", "cka", "-q", "-o", os.devnull)[0] == 0
    assert not Path(os.devnull).is_file()


def test_a_spreadsheet_runs_no_name_as_a_formula(call, folder):
    for name in ("=HYPERLINK(1)", "@x", "+y", "-z"):
        np.save(folder / f"{name}.npy", loaded()["a"])
    paths = [f"./{name}.npy" for name in ("=HYPERLINK(1)", "@x", "+y", "-z")]
    _, out, _ = call("compare", *paths, "b.npy", "-m", "rsa", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["x"] for row in rows} == {"'=HYPERLINK(1)", "'@x", "'+y", "'-z", "b"}
    assert all(-1 <= float(row["value"]) <= 1 for row in rows)


def test_an_error_ends_the_processes_of_the_pool_and_no_other_child():
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    workers = []

    def fail(pool) -> None:
        pool.submit(time.sleep, 60)
        workers.extend(pool.pool._processes.values())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), process_pool(2) as pool:
        fail(pool)
    for worker in workers:
        worker.join(30)
        assert not worker.is_alive()
    other.join(0.2)
    assert workers
    assert other.is_alive()
    other.kill()


def test_names_of_files_cannot_steer_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("a", "\x1b[31mb\n")):
        np.save(f"{name}.npy", np.random.default_rng(i).standard_normal((9, 3)))
    files, target = ["a.npy", "\x1b[31mb\n.npy"], "\x1b[2J\n.csv"
    assert cli.run(["compare", *files, "-m", "cka", "-o", target]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert shown.err.count("\n") == 1
    assert Path(target).exists()
    assert ending.report_interruption(Path(target).with_suffix(".db")) == 130
    assert "\x1b" not in capsys.readouterr().err


def test_control_characters_of_names_end_no_row_and_steer_no_terminal():
    names = ["\r=1", "a\r\n=1", "\x1b[2J", "\x9b31m", "\u2028", "two\nlines"]
    text = records_to_csv(names, [dict.fromkeys(names, name) for name in names])
    assert not set(text) & set("\r\x1b\x9b\u2028")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[0] == r"'\r=1"
    assert [row[0] for row in rows] == header
    assert {len(row) for row in rows} == {len(names)}
