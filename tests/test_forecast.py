"""What a comparison will take, said before it begins, is what it then does."""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from factories.output import assert_fits
from numpy.lib.format import open_memmap

import resemblance as rs
from resemblance import cli
from resemblance.cli import comparing
from resemblance.engine import memory
from resemblance.engine.costs import MEASURED, CostGrid, Share, cost_table, seconds_of, yardstick
from resemblance.engine.forecast import duration
from resemblance.engine.view_sizes import pair_bytes
from resemblance.representation import fingerprint
from resemblance.sources.files import read_files

FORECAST = importlib.import_module("resemblance.engine.forecast")
RAISING = '''
import resemblance as rs

@rs.measure(label="Never", family="statistic", larger_is_more_similar=False,
    range=(0, float("inf")), symmetric=True, reference="x")
def never(x, y):
    """Never: is not called with data."""
    assert x.shape[0] == 23, "a probe of the shapes of views"
    return 0.0

@rs.measure(label="Raises", family="statistic", larger_is_more_similar=False,
    range=(0, float("inf")), symmetric=True, reference="x")
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
    """A measure whose view says for which representation it is computed."""

    @rs.view
    def squares(x):
        calls.append(x.name)
        return x.array**2

    @rs.measure(
        label="Counted",
        family="statistic",
        larger_is_more_similar=False,
        range=(0, np.inf),
        symmetric=True,
        reference="klabunde2025similarity",
    )
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


def test_equal_arrays_are_computed_once():
    reps = made(3)
    assert expected(rs.plan({**reps, "again": reps["r0"]}, measures="cka"), "cka").values == 6


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
    assert (done.seconds, done.tasks, done.passes) == (0, 0, 0)
    assert rs.plan(reps, measures="cka", save=tmp_path / "none").measures[0].values == 15
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("memory", "count"), [("1GB", 6), ("12 kB", 6), ("30 kB", 9)])
def test_views_are_computed_as_often_as_it_says(memory, count):
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

    forecast = rs.plan(made(8), measures=["cka", "jaccard"], executor=Counted())
    assert not tasks
    rs.compare(made(8), measures=["cka", "jaccard"], executor=Counted(), progress=False)
    assert (forecast.tasks, forecast.workers) == (len(tasks), 3)
    assert forecast.tasks >= 6
    assert "on 3 workers" in forecast.line
    assert forecast.passes > 1


# ----------------------------------------------------------------------------------------- seconds


def test_shared_views_are_counted_once():
    forecast = rs.plan(made(6), measures="default")
    assert 0 < forecast.views < sum(m.views for m in forecast.measures)
    assert 0 < forecast.pairs < sum(m.pairs for m in forecast.measures)
    assert forecast.seconds == forecast.views + forecast.pairs
    alone = rs.plan(made(6), measures="rsa")
    assert expected(forecast, "rsa").views == pytest.approx(alone.views)
    assert expected(forecast, "rsa").pairs == pytest.approx(alone.pairs)
    assert alone.seconds < forecast.seconds


def test_more_samples_features_and_representations_take_longer():
    seconds = [
        [rs.plan(made(*size), measures="default").seconds for size in sizes]
        for sizes in (
            [(4, 300, 32), (4, 1000, 32), (4, 3000, 32)],
            [(4, 300, 16), (4, 300, 100), (4, 300, 256)],
            [(2, 300, 32), (6, 300, 32), (18, 300, 32)],
        )
    ]
    assert all(one < two < three for one, two, three in seconds)


def test_an_asymmetric_measure_of_a_list_takes_twice_the_values():
    forecast = rs.plan(made(10, 300), measures=["linear_regression"])
    half = rs.plan(made(10, 300), made(5, 300, seed=1), measures=["linear_regression"])
    assert forecast.measures[0].values == 2 * half.measures[0].values
    assert half.pairs < forecast.pairs < 2 * half.pairs * 1.01


def test_a_measure_of_ones_own_is_unknown_and_not_free():
    forecast = rs.plan(made(3), measures=[counting([]), "rsa"])
    unknown = expected(forecast, "counted")
    assert (unknown.values, unknown.views, unknown.pairs) == (6, None, None)
    assert unknown.note == "cost not known"
    assert forecast.unknown == ("counted",)
    assert forecast.seconds == pytest.approx(rs.plan(made(3), measures="rsa").seconds)
    assert "more than" in forecast.line
    assert "counted" in forecast._repr_html_()


def test_parameters_that_were_not_measured_cost_what_the_default_does_and_it_says_so():
    forecast = rs.plan(made(3, 300), measures=["jaccard", "jaccard[k=7]"])
    plain, other = forecast.measures
    assert (plain.note, other.note) == ("", "as jaccard")
    assert other.views == plain.views


def test_the_table_knows_the_catalogue_and_is_small():
    table = cost_table()
    assert [m.spec for m in rs.list_measures() if table.name_of(m) is None] == []
    for m in rs.preset("default") + rs.preset("resi"):
        assert table.name_of(m) == m.spec
    assert MEASURED.stat().st_size < 70_000
    assert table.machine


def test_predictions_were_checked_within_a_factor_of_two():
    checks = json.loads(MEASURED.read_text("utf-8"))["checks"]
    assert len(checks) >= 4
    for *what, predicted, taken in checks:
        assert 0.5 < predicted / taken < 2, what


def test_powers_are_continued_between_and_beyond_sizes():
    sizes = [(n, d) for n in (100, 1000) for d in (10, 100)]
    shares = tuple((Share(1e-6 * n**2 * d, frozenset({"a", "b"})),) for n, d in sizes)
    grid = CostGrid((100, 1000), (10, 100), shares)
    for n, d in ((10, 5), (100, 10), (300, 30), (50_000, 4000)):
        for specs in ({"a"}, {"a", "b"}):
            assert grid.seconds(frozenset(specs), n, d) == pytest.approx(1e-6 * n**2 * d)
    assert grid.seconds(frozenset({"c"}), 100, 10) == 0


def test_between_nothing_and_something_seconds_are_a_straight_line():
    some = frozenset("a")
    shares = tuple((Share(s, some),) if s else () for s in (0.0, 3.0, 0.0, 3.0))
    grid = CostGrid((100, 1000), (10, 100), shares)
    assert grid.seconds(some, 100, 55) == pytest.approx(1.5)
    assert grid.seconds(some, 1000, 5) == 0


def test_more_features_than_samples_cost_what_they_do_for_the_fewest_samples():
    for power in (1, 2):
        few = [(Share(1e-6 * d**power, frozenset("a")),) for d in (10, 100)]
        many = [(Share(1e-9 * 1000 * d**2, frozenset("a")),) for d in (10, 100)]
        grid = CostGrid((100, 1000), (10, 100), few + many)
        assert grid.seconds(frozenset("a"), 1000, 1000) == pytest.approx(1.0)
        assert grid.seconds(frozenset("a"), 1000, 20_000) == pytest.approx(20.0**power)


def test_blocks_of_samples_continue_what_the_plain_function_takes():
    seconds = [seconds_of([rs.rsa], n, 512) for n in (4096, 4097, 5000, 10_000)]
    assert seconds[1] == pytest.approx(seconds[0], rel=0.01)
    assert 1 < seconds[2] < 5  # 2.6 s were measured
    assert seconds[3] == pytest.approx(4 * seconds[2])


def test_a_yardstick_is_measured():
    assert 1e-4 < yardstick() < 1


# ------------------------------------------------------------------------------------------ memory


def test_memory_is_that_of_views_within_the_budget():
    reps = made(8, 500)
    whole = rs.plan(reps, measures="distance_correlation", memory="1GB")
    small = rs.plan(reps, measures="distance_correlation", memory="4MB")
    assert whole.memory > 8 * 8 * 500 * 499 // 2 > small.memory
    assert small.memory < 4e6
    assert small.passes > whole.passes == 1
    assert small.views > whole.views
    assert small.budget == 4_000_000
    with ThreadPoolExecutor(2) as pool:
        both = rs.plan(reps, measures="distance_correlation", memory="10MB", executor=pool)
    assert small.memory < both.memory < 20e6


def test_no_measure_keeps_a_matrix_of_all_pairs_of_many_samples():
    more = map(rs.get_measure, ("cka[kernel=rbf]", "rsa[compare=kendall]"))
    for m in (*rs.list_measures(), *more):
        assert pair_bytes(m, 50_000, 128, 128) < 1e9, m.spec


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
    samples = int(re.fullmatch(r"does not fit: take at most (\d+) samples", distances.note)[1])
    assert rs.plan(made(3, samples), measures="distance_correlation").measures[0].note == ""
    more = rs.plan(made(3, int(1.2 * samples)), measures="distance_correlation")
    assert "does not fit" in more.measures[0].note
    monkeypatch.setattr(FORECAST, "available_memory", lambda: 1)
    assert rs.plan(made(2), measures="cka").measures[0].note == "does not fit: take fewer features"


# ---------------------------------------------------------------------- refused, and shown


def test_it_refuses_what_compare_refuses():
    ragged = {"a": np.ones((5, 2)), "b": np.ones((6, 2))}
    messages = []
    for function in (rs.plan, rs.compare):
        with pytest.raises(ValueError, match="samples") as error:
            function(ragged)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_it_is_shown_and_exported():
    forecast = rs.plan(made(3), measures=["cka", "rsa"])
    assert repr(forecast).startswith("Forecast(2 measures: about ")
    records = forecast.records()
    assert [r["measure"] for r in records] == ["cka", "rsa", "together"]
    assert records[-1]["values"] == 12
    assert list(forecast.to_pandas()["measure"]) == ["cka", "rsa", "together"]
    assert "3 representations of 60 x 8" in forecast._repr_html_()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (0.001, "< 0.01 s"), (0.234, "0.23 s"), (42.4, "42 s"), (720, "12 min"),
        (12_600, "3.5 h"), (40 * 86400, "40 days"),
    ],
)  # fmt: skip
def test_durations_are_those_of_people(seconds, text):
    assert duration(seconds) == text


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
    own = ("-m", "own.py:never,own.py:raises,cka")
    assert cli.run([*FILES, *own, "--plan", "--save", "run.comparison"]) == 0
    out = capsys.readouterr().out
    assert "not known  never, raises" in out
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == [
        "own.py", "r0.npy", "r1.npy", "r2.npy",
    ]  # fmt: skip


def test_a_plan_as_data(folder, capsys):
    assert cli.run([*FILES, "-m", "cka,rsa", "--plan", "--format", "json", "--jobs", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["workers"], document["samples"], document["features"]) == (2, 60, [8, 8])
    assert [m["measure"] for m in document["measures"]] == ["cka", "rsa"]
    assert document["seconds"] > 0
    assert cli.run([*FILES, "-m", "cka,rsa", "--plan", "-o", "plan.csv"]) == 0
    rows = list(csv.DictReader(io.StringIO((folder / "plan.csv").read_text())))
    assert [row["values"] for row in rows] == ["6", "6", "12"]


def test_a_plan_fits_a_terminal(folder, capsys, monkeypatch):
    monkeypatch.setattr(FORECAST, "slowness", lambda: 1.0)  # two calls measure two numbers
    for module in (FORECAST, memory):
        monkeypatch.setattr(module, "available_memory", lambda: 8_000_000_000)
    assert_fits(lambda: cli.run([*FILES, "--plan", "--memory", "2GB"]), capsys, columns=80)


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_long_work_is_announced_on_a_terminal_and_in_a_log(folder, capsys, monkeypatch, quiet):
    import sys

    monkeypatch.setattr(comparing, "LONG", 0.0)
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        assert cli.run([*FILES, "-m", "cka", *quiet]) == 0
        line = re.search(r"about .* of CPU, .*; --plan shows more", capsys.readouterr().err)
        assert bool(line) == (not quiet)


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
    """What a plan knows files by is not what scores are saved under."""
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
