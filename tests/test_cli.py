"""The command line: what it prints, what it writes, and one line for every mistake."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
from conftest import assert_fits, on_terminal
from typer.testing import CliRunner

import resemblance as rs
from resemblance import cli
from resemblance.store import Store

OWN = '''
import time
import resemblance as rs

claims = dict(family="statistic", larger_is_more_similar=False, range=(0, float("inf")), symmetric=True, reference="x")

@rs.measure(label="SizeDiff", **claims)
def size_difference(x, y):
    """Size difference: how much more one representation varies."""
    return abs(float((x.array**2).sum()) - float((y.array**2).sum()))

@rs.measure(label="Slow", **claims)
def slow(x, y):
    """Slow: takes a minute for representations of different names."""
    time.sleep(0 if x.name == y.name else 60)
    return 0.0

def plain(x, y):
    return 0.0
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with files a.npy, b.npy, c.npy of the same samples, and nan.npy with one missing value."""
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


@pytest.fixture
def call(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*words):
        code = cli.run([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


def loaded():
    return {name: np.load(f"{name}.npy") for name in ("a", "b", "c")}


# ---------------------------------------------------------------------------------------------------------- compare


def test_two_files_are_one_line_per_measure(call):
    code, out, err = call(
        "compare", "a.npy", "b.npy", "--measures", "cka,OrthProc", "-m", "cka[kernel=rbf,bandwidth=0.5]"
    )
    assert (code, err) == (0, "")
    a, b, _ = loaded().values()
    lines = {line.split()[1]: line for line in out.splitlines() if line.strip() and "─" not in line}
    assert f"{rs.cka(a, b):.4g}" in lines["cka"]
    assert f"{rs.procrustes(a, b):.4g}" in lines["procrustes"]
    assert f"{rs.cka(a, b, kernel='rbf', bandwidth=0.5):.4g}" in lines["cka[bandwidth=0.5,kernel=rbf]"]


def test_all_default_measures(call):
    code, out, _ = call("compare", "a.npy", "b.npy")
    assert code == 0
    assert all(m.name in out for m in rs.preset("default"))


def test_json_holds_records_measures_and_provenance(call):
    code, out, _ = call("compare", "a.npy", "b.npy", "c.npy", "-m", "cka,gulp", "--format", "json")
    assert code == 0
    document = json.loads(out)
    expected = rs.compare(loaded(), measures=["cka", "gulp"], progress=False)
    assert document["records"] == expected.records()
    assert document["provenance"]["n_samples"] == 30
    assert document["measures"][1]["range"] == [0, None]
    assert set(document["seconds"]) == {"cka", "gulp"}


def test_nan_is_null_with_its_reason_and_exit_code_1(call):
    code, out, err = call("compare", "a.npy", "nan.npy", "-m", "cka", "--format", "json")
    assert code == 1
    assert "NaN," not in out
    records = json.loads(out)["records"]
    assert [r["value"] is None for r in records] == [False, True, True, True]
    assert "row 3, column 2" in records[1]["reason"]
    assert err.startswith("error: 3 of 4 values could not be computed; most often: representation 'nan'")
    assert err.count("\n") == 1


def test_csv(call):
    code, out, _ = call("compare", "a.npy", "b.npy", "-m", "cka", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0]) == ["measure", "label", "x", "y", "value", "reason"]
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
    assert call("compare", "a.npy", "nan.npy", "-m", "cka", "-o", "x.parquet", "-q")[0] == 1
    frame = pandas.read_parquet("x.parquet")
    assert frame["value"].isna().tolist() == [False, True, True, True]


def test_page_and_saved_results(call, folder):
    code, _, err = call("compare", "a.npy", "b.npy", "-m", "cka", "--html", "p.html", "--save", "r.db")
    assert (code, err) == (0, "wrote p.html, r.db\n")
    assert "CKA" in (folder / "p.html").read_text(encoding="utf-8")
    again = rs.load("r.db")
    assert again["cka"][0, 1] == rs.cka(*list(loaded().values())[:2])


def test_quiet_says_nothing(call):
    assert call("compare", "a.npy", "b.npy", "-m", "cka", "-q", "-o", "x.json") == (0, "", "")


def test_processes_give_the_same(call):
    one = call("compare", "a.npy", "b.npy", "c.npy", "-m", "cka,own.py:size_difference", "--format", "csv")
    two = call(
        "compare", "a.npy", "b.npy", "c.npy", "-m", "cka,own.py:size_difference", "--format", "csv", "--jobs", "2"
    )
    assert one[0] == 0
    assert one[:2] == two[:2]


def test_presets_and_own_measures_mix():
    chosen = cli.chosen_measures(["resi, mean_cca", "own.py:size_difference"])
    assert [m.spec for m in chosen[:24]] == [m.spec for m in rs.preset("resi")]
    assert [m.label for m in chosen[24:]] == ["MeanCCA", "SizeDiff"]
    assert cli.chosen_measures(None) is None


# ----------------------------------------------------------------------------------------------------------- inputs


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
    odd = ["naïve 日本語", "<script>alert(1)</script>".replace("/", "∕"), "[red]x", "a,b", "new\nline\x1b[31m"]
    for name in odd:
        np.save(folder / f"{name}.npy", np.load("a.npy"))
    found = names(call, *(f"{name}.npy" for name in odd))
    assert found[:4] == odd[:4]
    assert found[4].isprintable()
    code, out, _ = call("compare", *(f"{name}.npy" for name in odd), "-m", "cka", "--html", "p.html")
    assert code == 0
    assert "[red]x" in out
    assert "<script>alert" not in (folder / "p.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_unicode(call, folder):
    (folder / "odd").mkdir()
    np.save(os.fsdecode(os.fsencode(folder) + b"/odd/\xff.npy"), np.load("a.npy"))
    assert names(call, "odd", "a.npy") == ["\ufffd", "a"]


# --------------------------------------------------------------------------------------------------------- mistakes


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare", "Missing argument"),
        ("compare a.npy", "two representations are needed"),
        ("compare missing.npy a.npy", "missing.npy does not exist"),
        ("compare empty a.npy", "empty holds no .npy or .npz file"),
        ("compare text.txt a.npy", "text.txt is neither"),
        ("compare junk.npy a.npy", "junk.npy cannot be read: the magic string"),
        ("compare nothing.npy a.npy", "nothing.npy cannot be read"),
        ("compare junk.npz a.npy", "junk.npz is not a readable .npz archive"),
        ("compare pickled.npy a.npy", "pickled.npy cannot be read: it holds Python objects"),
        ("compare pickled.npz a.npy", "array 'x', cannot be read: it holds Python objects"),
        ("compare none.npz a.npy", "none.npz is an empty archive"),
        ("compare cut.npy a.npy", "cut.npy cannot be read"),
        ("compare flat.npy a.npy", "must be (n_samples, n_features); got shape (30,)"),
        ("compare words.npy a.npy", "must hold real numbers"),
        ("compare short.npy a.npy", "has 20 samples (rows) and 'a' has 30"),
        ("compare a.npy a.npy", "a.npy is given twice"),
        ("compare a.npy b.npy -m ckaa", "no measure 'ckaa'; did you mean 'cka'?"),
        ("compare a.npy b.npy -m ,", "--measures is empty"),
        ("compare a.npy b.npy -m cka[kernl=rbf]", "no parameter 'kernl'; did you mean 'kernel'?"),
        ("compare a.npy b.npy -m cka[kernel=x]", "kernel must be one of 'linear', 'rbf'"),
        ("compare a.npy b.npy -m gone.py:x", "gone.py does not exist"),
        ("compare a.npy b.npy -m broken.py:x", "broken.py cannot be loaded: ZeroDivisionError"),
        ("compare a.npy b.npy -m own.py:sizedifference", "did you mean 'size_difference'?"),
        ("compare a.npy b.npy -m own.py:plain", "is not a measure: decorate it"),
        ("compare a.npy b.npy --format xls", "--format cannot be 'xls'; known: table, json, csv, parquet"),
        ("compare a.npy b.npy --format jsn", "did you mean 'json'?"),
        ("compare a.npy b.npy --format parquet", "needs --output"),
        ("compare a.npy b.npy --output gone/x.csv", "the folder gone does not exist"),
        ("compare a.npy b.npy --html empty", "empty is a folder"),
        ("compare a.npy b.npy --save a.npy", "a.npy is given twice"),
        ("compare a.npy b.npy --memory lots", "memory must be a positive number of bytes"),
        ("compare a.npy b.npy --jobs 0", "Invalid value for '--jobs'"),
        ("compare a.npy b.npy --bogus", "No such option: --bogus"),
        ("measures --family ccaa", "no family 'ccaa'; did you mean 'cca'?"),
        ("measures --invariant-to rotation", "no invariance 'rotation'"),
        ("measures --format csv", "--format cannot be 'csv'"),
        ("explain nonsense", "no measure 'nonsense'"),
        ("expalin cka", "No such command"),
    ],
)
def test_every_mistake_is_one_line(call, folder, words, message):
    prepare_bad_files(folder)
    code, out, err = call(*words.split())
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_errors_of_the_library_itself_are_not_hidden(monkeypatch):
    def broken(*args, **named):
        raise TypeError("a defect")

    monkeypatch.setattr(cli, "compare", broken)
    with pytest.raises(TypeError, match="a defect"):
        cli.run(["compare", "a.npy", "b.npy"])


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [("--html p.html", "matplotlib", "report"), ("-o x.parquet", "pyarrow", "frames")],
)
def test_missing_packages_are_found_before_the_work(call, monkeypatch, words, package, extra):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == package else found(name, *a))
    monkeypatch.setattr(cli, "compare", None)
    code, _, err = call("compare", "a.npy", "b.npy", *words.split())
    assert (code, err) == (2, f'error: {package} is not installed: pip install "resemblance[{extra}]"\n')


def test_an_interruption_says_what_was_saved(call, monkeypatch):
    def interrupted(representations, *, save, **options):
        rs.compare(representations, measures=["cka"], save=save, progress=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "compare", interrupted)
    code, _, err = call("compare", "a.npy", "b.npy", "--save", "r.db")
    assert (code, err) == (130, "interrupted: 3 results are saved in r.db; the same command continues from there\n")
    code, _, err = call("compare", "a.npy", "b.npy")
    assert (code, err) == (130, "interrupted: nothing was saved; with --save FILE a later run continues\n")


# -------------------------------------------------------------------------------------------------- other commands


def test_measures(call):
    code, out, _ = call("measures", "--family", "cca", "--format", "json")
    assert code == 0
    assert {m["name"] for m in json.loads(out)} == {m.name for m in rs.list_measures(family="cca")}
    code, out, _ = call("measures", "--invariant-to", "orthogonal", "--invariant-to", "translation")
    assert code == 0
    assert " procrustes " in out
    assert "jaccard" not in out


@pytest.mark.parametrize("spec", ["cka", "CKA", "cka[estimator=debiased]", "own.py:size_difference"])
def test_explain(call, spec):
    code, out, _ = call("explain", spec)
    assert code == 0
    assert "more similar is" in out
    if "[" in spec:
        assert "'debiased'" in out


def test_help_and_version(call):
    assert call("--version") == (0, f"resemblance {rs.__version__}\n", "")
    code, out, _ = call()
    assert code == 0
    for command in ("compare", "measures", "explain", "demo"):
        assert command in out
        assert call(command, "--help")[0] == 0


def test_the_commands_work_as_a_typer_application():
    found = CliRunner().invoke(cli.commands, ["compare", "a.npy", "b.npy", "-m", "cka", "--format", "csv"])
    assert found.exit_code == 0
    assert found.stdout.startswith("measure,label,x,y,value,reason\n")


# ----------------------------------------------------------------------------------------------- as a real process


def process(*words, **options):
    command = [sys.executable, "-c", "from resemblance.cli import app; app()", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_results_and_messages_are_separate_streams():
    running = process("compare", "a.npy", "nan.npy", "-m", "cka", "--format", "json")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert json.loads(out)["records"][0]["value"] == 1.0
    assert err.startswith("error: 3 of 4")
    assert "Traceback" not in err


def test_help_needs_no_framework():
    code = (
        "import sys; from resemblance.cli import run; run(['--help']);"
        "print([m for m in ('torch', 'numba', 'matplotlib', 'pandas', 'sklearn', 'jinja2') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.rstrip().endswith("[]")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_control_c(folder, jobs):
    running = process(
        "compare", "a.npy", "b.npy", "-m", "own.py:slow", "--save", "r.db", "--jobs", jobs,
        start_new_session=True, preexec_fn=heed_interrupts,
    )  # fmt: skip
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


def heed_interrupts():
    """A job that a shell runs in the background ignores interrupts, and what it starts inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def saved(path):
    if not path.exists():
        return 0
    try:
        with Store(path) as store:
            return len(store.cells())
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
        np.save(folder / "many" / f"network-of-seed-{i}.npy", np.random.default_rng(i).standard_normal((30, 4)))
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
    shown = on_terminal(lambda: cli.run(["compare", f"{long}1.npy", "b.npy", "-m", "cka", "-q"]), 80)
    assert max(map(len, shown.splitlines())) <= 80  # a name that is too long for any terminal is cut


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
    _, out, _ = call("compare", "a.npy", "copy.npy", "-m", "procrustes")
    (line,) = [line for line in out.splitlines() if "OrthProc" in line]
    assert line.split()[2] == "0"
    _, out, _ = call("compare", "a.npy", "copy.npy", "b.npy", "-m", "procrustes_size_shape")
    assert "e-" not in out
    _, out, _ = call("compare", "a.npy", "copy.npy", "-m", "procrustes", "--format", "json")
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
    assert {(folder / name).read_text() for name in ("out.csv", "page.html", "out.parquet")} == {"the old one"}
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_devices_and_links_are_written_through(call, folder):
    (folder / "link.csv").symlink_to(folder / "target.csv")
    assert call("compare", "a.npy", "b.npy", "-m", "cka", "-q", "-o", "link.csv")[0] == 0
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
