"""The plan of a comparison: the predicted values, tasks and memory are the actual values, tasks and
memory."""

from __future__ import annotations

import importlib
import re
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from factories.measures import declared
from numpy.lib.format import open_memmap

import resemblance as rs
from resemblance import cli
from resemblance.data.representation import fingerprint, pair_cache
from resemblance.engine.intermediate_sizes import pair_cache_bytes
from resemblance.models.files import read_files

FORECAST = importlib.import_module("resemblance.engine.forecast")
RAISING = '''
import resemblance as rs

@rs.measure(label="Raises", family="descriptive", larger_is_more_similar=False,
    range=(0, float("inf")), symmetric=True, citation="x")
def raises(x, y):
    """Raises: always."""
    raise RuntimeError("it was called")
'''


def made(count, n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return {f"r{i}": rng.standard_normal((n, d)) for i in range(count)}


def expected(forecast, spec):
    return next(m for m in forecast.measures if m.measure == spec)


def counting(calls):
    """A measure whose intermediate says for which representation it is computed."""

    @rs.cached
    def squares(x):
        calls.append(x.name)
        return x.array**2

    @declared("Counted", larger_is_more_similar=False, range=(0, np.inf))
    def counted(x, y):
        return abs(float(squares(x).sum() - squares(y).sum()))

    return counted


# ----------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize("other", [None, made(4, seed=1)])
def test_values_are_those_that_compare_computes(other):
    totals = []
    work = {"measures": ["cka", "linear_regression", "procrustes"]}
    forecast = rs.plan(made(5), other, **work)
    rs.compare(made(5), other, progress=lambda done, total: totals.append(total), **work)
    assert sum(m.values for m in forecast.measures) == totals[0]
    counts = [m.values for m in forecast.measures]
    assert counts == ([15, 25, 15] if other is None else [20, 20, 20])
    assert not any(m.stored for m in forecast.measures)


def test_what_a_file_holds_is_done_and_the_file_is_left_alone(tmp_path):
    path, reps = tmp_path / "run.comparison", made(5)
    rs.compare(dict(list(reps.items())[:3]), measures="cka", save=path, progress=False)
    before = path.read_bytes()
    forecast = rs.plan(reps, measures=["cka", "procrustes"], save=path)
    cka, procrustes = forecast.measures
    assert (cka.values, cka.stored) == (9, 6)
    assert (procrustes.values, procrustes.stored) == (15, 0)
    assert path.read_bytes() == before
    rs.compare(reps, measures=["cka", "procrustes"], save=path, progress=False)
    done = rs.plan(reps, measures=["cka", "procrustes"], save=path)
    assert [m.values for m in done.measures] == [0, 0]
    assert (done.values, done.tasks, done.passes) == (0, 0, 0)
    assert rs.plan(reps, measures="cka", save=tmp_path / "none").measures[0].values == 15
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("memory", "count"), [("1GB", 6), ("12 kB", 6), ("30 kB", 9)])
def test_intermediates_are_computed_as_often_as_it_says(memory, count):
    calls = []
    counted, reps = counting(calls), made(count)
    forecast = rs.plan(reps, measures=[counted], memory=memory)
    calls.clear()  # of the probe
    rs.compare(reps, measures=[counted], memory=memory, progress=False)
    assert forecast.passes == pytest.approx(len(calls) / count)
    assert (forecast.passes > 1) == (memory != "1GB")


def test_tasks_are_those_that_an_executor_gets():
    tasks = []

    class Counted:
        _max_workers = 3

        def submit(self, function, /, *arguments):
            tasks.append(function)
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(function, *arguments)

    forecast = rs.plan(made(8), measures=["cka", "jaccard"], jobs=Counted())
    assert not tasks
    rs.compare(made(8), measures=["cka", "jaccard"], jobs=Counted(), progress=False)
    assert (forecast.tasks, forecast.workers) == (len(tasks), 3)
    assert forecast.tasks >= 6
    assert "on 3 workers" in forecast.summary()
    assert forecast.passes > 1


# ------------------------------------------------------------------------------------------ memory


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_budget_bounds_the_memory_of_a_comparison(dtype):
    rng = np.random.default_rng(0)
    data = {str(i): rng.standard_normal((400, 40)).astype(dtype) for i in range(12)}
    options = {"measures": ["procrustes", "cka", "pwcca", "aligned_cosine"], "progress": False}
    rs.compare(dict(list(data.items())[:2]), **options)  # probes and imports
    peaks = {}
    for memory in (4_500_000, 10**9):
        tracemalloc.start()
        rs.compare(data, **options, memory=memory)
        peaks[memory] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[4_500_000] < 4_500_000 < peaks[10**9]


def test_large_gram_matrices_count_the_blocks_that_they_hold_together(tmp_path):
    files = [tmp_path / f"{i}.npy" for i in range(12)]
    for file in files:
        open_memmap(file, "w+", np.float16, (10_000, 4096)).flush()
    forecast = rs.plan(files, measures="cka", memory="1GB")
    assert (forecast.tasks, forecast.passes) == (1, 1)
    assert 1 < forecast.memory / (12 * 8 * 256 * 4096) < 1.2
    small = rs.plan(files, measures="cka", memory="80MB")
    assert small.memory < 80e6
    assert small.passes > 1


def test_no_measure_keeps_a_matrix_of_all_pairs_of_many_samples():
    more = map(rs.get_measure, ("cka[kernel=rbf]", "rsa[compare=kendall]"))
    for m in (*rs.list_measures(), *more):
        assert pair_cache_bytes(m, 50_000, 128, 128) < 1e9, m.spec


HELD_SPECS = ["cka", "cka[kernel=rbf]", "rsa", "distance_correlation", "procrustes", "svcca", "imd"]


@pytest.mark.parametrize("spec", [*HELD_SPECS, "mutual_knn[k=7]", "mutual_knn[k=6]"])
@pytest.mark.parametrize("shape", [(600, 40), (400, 200), (200, 500)])
def test_the_forecast_memory_of_a_pair_is_the_memory_that_the_pair_holds(spec, shape):
    """A parameter such as k, equal to a size of the small arrays, does not grow with the data."""
    rng, measure = np.random.default_rng(0), rs.get_measure(spec)
    x, y = (rs.Representation(rng.standard_normal(shape)) for _ in "xy")
    with pair_cache(x, y) as shared:
        measure.evaluate(x, y)
    sources = {id(x.source), id(y.source)}
    stack, arrays = [*x.cache.values(), *y.cache.values(), *shared.values()], {}
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(value)
        elif isinstance(value, np.ndarray) and id(value.base) not in sources:
            arrays[value.ctypes.data, value.nbytes] = value.nbytes
    held = sum(arrays.values())
    assert abs(pair_cache_bytes(measure, *shape, shape[1], False) / held - 1) < 0.02


def test_what_does_not_fit_says_what_would(monkeypatch):
    readings = iter([4_000_000])
    with monkeypatch.context() as one:
        one.setattr(FORECAST, "available_memory", lambda: next(readings))
        once = rs.plan(made(3, 900), measures="distance_correlation", memory="1GB")
    assert (once.available, once.budget) == (4_000_000, 10**9)
    assert "does not fit" in once.measures[0].note
    monkeypatch.setattr(FORECAST, "available_memory", lambda: 4_000_000)
    forecast = rs.plan(made(3, 900), measures=["cka", "distance_correlation"])
    cka, distances = forecast.measures
    assert (cka.note, cka.values) == ("", 6)
    assert (distances.values, distances.stored) == (0, 0)
    samples = int(re.fullmatch(r"does not fit: use at most (\d+) samples", distances.note)[1])
    assert rs.plan(made(3, samples), measures="distance_correlation").measures[0].note == ""
    more = rs.plan(made(3, int(1.2 * samples)), measures="distance_correlation")
    assert "does not fit" in more.measures[0].note
    monkeypatch.setattr(FORECAST, "available_memory", lambda: 1)
    assert rs.plan(made(2), measures="cka").measures[0].note == "does not fit: use fewer features"


def test_it_is_shown_and_exported():
    forecast = rs.plan(made(3), measures=["cka", "rsa"])
    assert repr(forecast).startswith("12 values of 2 measures, ")
    records = forecast.records()
    assert [r["measure"] for r in records] == ["cka", "rsa", "together"]
    assert records[-1]["values"] == 12
    assert list(forecast.to_pandas()["measure"]) == ["cka", "rsa", "together"]
    assert "3 representations of 60 x 8<" in forecast._repr_html_()
    mixed = rs.plan([*made(2).values(), np.ones((60, 11))], measures="cka")
    assert "3 representations of 60 x 8 to 11<" in mixed._repr_html_()


# ------------------------------------------------------------------------------------ command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, array in made(3).items():
        np.save(f"{name}.npy", array)
    (tmp_path / "own.py").write_text(RAISING)
    return tmp_path


FILES = ("compare", "r0.npy", "r1.npy", "r2.npy")


def test_a_plan_computes_nothing(folder, capsys):
    own = ("-m", "own.py:raises,cka")
    assert cli.run([*FILES, *own, "--plan", "--save", "run.comparison"]) == 0
    assert "12 to compute" in capsys.readouterr().out
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == [
        "own.py", "r0.npy", "r1.npy", "r2.npy",
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_plan_reads_headers_and_not_files(tmp_path, order):
    """80 GB of zeros without a block on the disk."""
    paths = [tmp_path / f"{name}.npy" for name in "ab"]
    for path in paths:
        open_memmap(path, "w+", np.float32, (10**6, 10**4), order == "F").flush()
    start = time.process_time()
    forecast = rs.plan(dict(read_files(list(map(str, paths)))), measures="cka")
    assert time.process_time() - start < 10
    assert (forecast.samples, forecast.features) == (10**6, (10**4, 10**4))


def test_a_plan_leaves_the_data_as_they_are(tmp_path):
    """A plan identifies files by other keys than the fingerprints under which scores are saved."""
    for name, seed in (("a", 0), ("b", 1)):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(seed).standard_normal((20, 3)))
    layers = dict(read_files([str(tmp_path)]))
    before = rs.plan(layers, measures="cka").measures[0].values
    after = rs.compare(layers, measures="cka", progress=False, save=tmp_path / "s.comparison")
    assert before == 3
    expected = [fingerprint(rs.Representation(np.load(tmp_path / f"{n}.npy"))) for n in "ab"]
    assert [of["fingerprint"] for of in after.provenance["rows"].values()] == expected
    known = rs.plan(layers, measures="cka", save=tmp_path / "s.comparison").measures[0]
    assert (known.values, known.stored) == (0, 3)
