"""The command line: what it prints and writes, how it ends, and one line for every mistake."""

from __future__ import annotations

import csv
import importlib
import importlib.metadata
import importlib.util
import io
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from factories import HANG_SECONDS
from factories.commands import write_arrays
from factories.output import on_terminal

import resemblance as rs
from resemblance import cli
from resemblance.base import extras
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
    """Slow: takes an hour for representations of different names."""
    time.sleep(0 if x.name == y.name else 3600)
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

def distance(x, y, *, power: int = 1):
    return abs(x[:, :3] - y[:, :3]).sum() ** power

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
    """A folder with a.npy, b.npy, c.npy of the same samples, nan.npy with one missing value, and
    measures of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_arrays(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def loaded():
    return {name: np.load(f"{name}.npy") for name in ("a", "b", "c")}


# ---------------------------------------------------------------------------------------- compare


@pytest.mark.filterwarnings("always")
def test_an_empty_file_is_no_saved_comparison(call, folder):
    (folder / "run.db").touch()
    code, _, err = call("compare a.npy b.npy -m cka --save run.db")
    assert code == 0
    assert "warning: run.db is empty: no saved results, so the run starts from the beginning" in err
    assert rs.load("run.db").rows == ("a", "b")


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


@pytest.mark.parametrize(
    ("name", "start"),
    {
        "out.json": "{",
        "out.csv": "measure,",
        "out.txt": " ",
        "out.parquet": "PAR1",
        "out.tex": "% The tables need",
        "out.md": "| ",
    }.items(),
)
def test_the_suffix_of_the_output_is_its_format(call, folder, name, start):
    code, out, err = call("compare", "a.npy", "b.npy", "-m", "cka", "--output", name)
    assert (code, out, err) == (0, "", f"wrote {name}\n")
    assert (folder / name).read_bytes().startswith(start.encode())
    if not name.endswith(("parquet", "csv")):
        assert call("compare", "a.npy", "b.npy", "--plan", "-o", name)[0] == 0
        assert (folder / name).read_bytes().startswith(start.encode())


def test_presets_and_own_measures_mix():
    chosen = parse_measures(["resi, mean_cca", "own.py:size_difference"])
    assert [m.spec for m in chosen[:24]] == [m.spec for m in rs.preset("resi")]
    assert [m.label for m in chosen[24:]] == ["MeanCCA", "SizeDiff"]
    assert parse_measures(None) is None


def test_a_plain_function_of_a_file_is_a_measure(call):
    a, b = np.load("a.npy"), np.load("b.npy")
    code, out, _ = call("compare a.npy b.npy -m 'own.py:distance[power=2]' --format json")
    values = [r["value"] for r in json.loads(out)["records"]]
    assert code == 0
    assert values[1] == pytest.approx(abs(a[:, :3] - b[:, :3]).sum() ** 2)
    code, out, _ = call("check own.py:distance")
    assert "larger_is_more_similar=False, range=(0, np.inf)" in re.sub(r"\s+", " ", out)


# --------------------------------------------------------------------------------------- mistakes


def test_every_mistake_is_one_line(refused):
    refused("""
        compare | nothing to compare: give files or folders
        compare --stream | nothing to stream
        compare a.npy | a comparison needs two representations
        compare a.npy b.npy -m ckaa | no measure 'ckaa'; did you mean 'cka'?
        compare a.npy b.npy -m , | --measures is empty
        compare a.npy b.npy -m cka[kernl=rbf] | no parameter 'kernl'; did you mean 'kernel'?
        compare a.npy b.npy -m cka[kernel=x] | kernel must be one of 'linear', 'rbf'
        compare a.npy b.npy -m own.py | own.py is a file; name a measure in the file, own.py:NAME
        compare a.npy procrustes -m cka | procrustes is a measure, not a file: give measures as
        compare a.npy b.npy -m own.py:power[sharpnes=1] | did you mean 'sharpness'?
        bench report study --html x.png | x.png: a page is written as .html
        compare a.npy b.npy -m own.py:sizedifference | did you mean 'size_difference'?
        compare a.npy b.npy -m own.py:plain | plain returns equal values
        compare a.npy b.npy -m own.py:divide | is not a measure: decorate it
        compare a.npy b.npy --format jsn | did you mean 'json'?
        compare a.npy b.npy --format parquet | needs --output
        compare a.npy b.npy --memory lots | memory must be a positive number of bytes
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
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
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


def test_a_measure_of_ones_own_that_returns_no_number_is_named(refused):
    refused("""
        compare a.npy b.npy -m own.py:rows | rows must return one number; it returned
        compare a.npy b.npy -m own.py:rows | array of shape (30, 5)
        compare a.npy b.npy -m own.py:nothing | nothing must return one number; it returned None
        compare a.npy b.npy -m own.py:imaginary | imaginary must return one number; it returned 0.5j
    """)


@pytest.mark.parametrize(
    ("words", "packages", "extra"),
    [
        ("compare a.npy b.npy --html p.html", ["jinja2"], "report"),
        ("compare a.npy b.npy -o x.parquet", ["pyarrow"], "frames"),
        ("demo -o layers", ["torch"], "torch"),
        ("demo", ["torch", "jinja2"], "models"),
        ("compare-models a=x.py:f b=x.py:g --data a.npy --html p", ["jinja2", "torch"], "models"),
        ("compare a.npy b.npy --html p.html -o x.parquet", ["pandas", "jinja2"], "resi"),
        ("evidence a.npy b.npy -o x.parquet", ["pandas", "pyarrow"], "frames"),
        ("compare a.npy b.npy --html p -o x.parquet", ["pandas", "pyarrow", "jinja2"], "resi"),
    ],
)
def test_all_missing_packages_are_named_before_the_work(call, monkeypatch, words, packages, extra):
    without(monkeypatch, *packages)
    monkeypatch.setattr(COMPARE, "compare", None)
    names = " and ".join([", ".join(packages[:-1]), packages[-1]]) if packages[1:] else packages[0]
    said = f"{names} {'are' if packages[1:] else 'is'} not installed"
    assert call(words) == (2, "", f"error: {said}: {install_hint(extra, *packages)}\n")
    assert not Path("layers").exists()


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


def test_hints_name_where_this_package_was_installed_from_and_never_its_name(monkeypatch, tmp_path):
    """By the source that runs, or the folder that pip wrote down; the name may be another's."""
    without(monkeypatch, "faiss", "torch_geometric", "transformers")
    source = tmp_path / "a b"
    source.mkdir()
    (source / "pyproject.toml").write_text('[project]\nname = "resemblance"\n')
    monkeypatch.setattr(extras, "__file__", str(source / "src" / "resemblance" / "extras.py"))
    assert install_hint("bio") == f'pip install -e "{source}[bio]"'
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib" / "resemblance" / "extras.py"))
    for text, hint in [
        (
            json.dumps({"url": source.as_uri(), "dir_info": {}}),
            f'pip install "{source}[neighbors]"',
        ),
        (json.dumps({"url": (tmp_path / "gone").as_uri()}), "pip install faiss-cpu"),
        (json.dumps({"url": "https://example.org/x.whl"}), "pip install faiss-cpu"),
        (None, "pip install faiss-cpu"),
    ]:
        found = SimpleNamespace(read_text=lambda name, text=text: text)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name, found=found: found)
        assert install_hint("neighbors") == hint
    assert install_hint("neighbors", "faiss") == "pip install faiss-cpu"
    assert install_hint("resi") == "pip install torch-geometric transformers"


def test_an_interruption_says_what_was_saved(call, monkeypatch):
    compare = rs.compare

    def interrupted(representations, *, save, **options):
        compare(representations, measures=["cka"], save=save, progress=False)
        raise KeyboardInterrupt

    monkeypatch.setattr(COMPARE, "compare", interrupted)
    code, _, err = call("compare a.npy b.npy --save r.db")
    assert (code, err) == (
        130,
        "interrupted: 3 results are saved in r.db; repeat the command to resume\n",
    )
    code, _, err = call("compare a.npy b.npy")
    assert (code, err) == (
        130,
        "interrupted: nothing was saved; with --save FILE an interrupted run can resume\n",
    )


# --------------------------------------------------------------------------------- other commands


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


def test_explain_knows_measures_and_statistics(call, subtests):
    specs = ("CKA", "cka[estimator=debiased]", "own.py:size_difference", "rtd")
    for spec in (*specs, *(s.label for s in rs.list_statistics())):
        with subtests.test(spec):
            code, out, _ = call("explain", spec)
            assert code == 0
            assert f"more {'similar' if spec in specs else 'stable'} is" in out
            # never by the bare name, which may be that of another package in an index
            assert not re.search(r"pip install (-e )?\"?resemblance\[", " ".join(out.split()))
            assert ("'debiased'" in out) >= ("[" in spec)
            assert (f'resemblance cite "{spec}"' in out) == ("[" in spec)


# ----------------------------------------------------------------------------- as a real process


def process(words, **options):
    """Run the command line in a process of its own, as it is typed."""
    program = "from resemblance.cli import app; app()"
    command = [sys.executable, "-c", program, *shlex.split(words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def in_one_process(code, arguments):
    """Return the output of every command; the commands run one after the other in one separate
    process, and every command must succeed."""
    program = (
        "import os, sys\nfrom resemblance.cli import app\n"
        f"for argument in {arguments!r}:\n    try:\n        {code}\n"
        "    except SystemExit as end:\n        assert not end.code, argument\n"
        "    else:\n        raise AssertionError('it did not exit')\n    print('\\n-- the next')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=HANG_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return re.split(rb"\r?\n-- the next\r?\n", done.stdout)[:-1]


def test_any_encoding_of_the_terminal_will_do():
    commands = ["explain rtd", "compare a.npy b.npy -m cka,gulp"]
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
    done = subprocess.run(
        ["/bin/sh", "-c", command], stdout=subprocess.PIPE, text=True, timeout=HANG_SECONDS
    )
    assert done.returncode == 1
    assert done.stdout.startswith("measure,label,x,y,value,reason\n")
    assert "error" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_goes_away_does_not_change_the_exit_code():
    codes = {
        "measures --format json": 0,
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
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=HANG_SECONDS
    )
    os.close(writer)
    assert json.loads(done.stderr.splitlines()[-1]) == list(codes.values())
    assert "BrokenPipe" not in done.stderr


def test_completion_for_the_shell():
    code = "os.environ['_RESEMBLANCE_COMPLETE'] = 'source_' + argument; app([])"
    printed = in_one_process(code, ["bash", "zsh", "fish"])
    assert len(printed) == 3
    for text in printed:
        assert b"_RESEMBLANCE_COMPLETE" in text


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("count", "after"), [(1, 0), (0, 0.5)])
def test_control_c_in_the_work_and_while_workers_start(folder, count, after):
    words = "compare a.npy b.npy -m own.py:slow --save r.db --jobs 2"
    running = process(words, start_new_session=True, preexec_fn=heed_interrupts)
    deadline = time.monotonic() + HANG_SECONDS
    while saved(folder / "r.db") < count and running.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(after)  # the file is made before the workers
    os.killpg(running.pid, signal.SIGINT)
    try:
        _, err = running.communicate(timeout=HANG_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 130
    text = r"interrupted: (\d+) results are saved in r\.db; repeat the command to resume\n"
    assert int(re.fullmatch(text, err)[1]) >= count


def heed_interrupts():
    """A job that a shell runs in the background ignores interrupts, and what it starts inherits
    that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def saved(path):
    """Return how many values a file has; -1 where there is none yet."""
    if not path.exists():
        return -1
    try:
        with ScoreFile(path) as store:
            return store.count()
    except ValueError:
        return -1


# ---------------------------------------------------------------------------------------- output


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
    for worker in workers:  # the pool joins the process, too, and may have taken its exit code
        assert multiprocessing.connection.wait([worker.sentinel], HANG_SECONDS)
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
    assert cli.run(["compare", "a.npy", "\x1b[31mgone.npy", "-m", "cka"]) == 2
    assert r"\x1b[31mgone" in (error := capsys.readouterr().err)
    assert "\x1b" not in error
    assert ending.report_interruption(Path(target).with_suffix(".db")) == 130
    assert "\x1b" not in capsys.readouterr().err


def test_names_in_csv_end_no_row_steer_no_terminal_and_are_no_formulas():
    formulas = ["=HYPERLINK(1)", "@x", "+y", "-z"]
    names = ["\r=1", "a\r\n=1", "\x1b[2J", "\x9b31m", "\u2028", "two\nlines", *formulas]
    text = records_to_csv(names, [dict.fromkeys(names, name) for name in names])
    assert not set(text) & set("\r\x1b\x9b\u2028")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[0] == r"'\r=1"
    assert header[-4:] == [f"'{name}" for name in formulas]
    assert [row[0] for row in rows] == header
    assert {len(row) for row in rows} == {len(names)}
