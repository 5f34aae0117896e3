"""The engine: the same numbers whatever the executor, size of blocks, memory and order, and no
work done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread, current_thread

import numpy as np
import pytest
import torch
from factories.measures import declared, same_scores
from scipy.linalg import svdvals
from threadpoolctl import threadpool_info, threadpool_limits

import resemblance as rs
from resemblance.comparison.store import ScoreFile
from resemblance.engine._compare import compare_many
from resemblance.engine.inputs import ComparisonInputs
from resemblance.engine.options import check_run_options
from resemblance.engine.workers import LostWorkerError

ENGINE = sys.modules["resemblance.engine.execution"]
FAST = [m for m in rs.preset("default") if m.name != "rtd"]


def test_every_cell_is_the_single_call_to_the_last_bit(reps, plain):
    names = list(reps)
    for m in rs.preset("default"):
        for i, x in enumerate(names):
            for j, y in enumerate(names):
                if i <= j or m.symmetric:
                    expected = m(reps[names[min(i, j)]], reps[names[max(i, j)]])
                    assert plain[m.name][i, j] == expected, (m.name, x, y)
                # the other order of an asymmetric measure comes from the transposed product: last
                # digits
                else:
                    assert plain[m.name][i, j] == pytest.approx(m(reps[x], reps[y]), rel=1e-12)


WAYS = {
    **{f"blocks of {size}": {"block_size": size} for size in (1, 2, 3, 100)},
    **{memory: {"memory": memory} for memory in ("1B", "20 kB", "1MB", "100GiB")},
    "threads": {"jobs": partial(ThreadPoolExecutor, 3), "block_size": 1},
    "forked": {"jobs": partial(ProcessPoolExecutor, 2, get_context("fork"))},
    "spawned": {"jobs": partial(ProcessPoolExecutor, 2, get_context("spawn"))},
}


@pytest.mark.filterwarnings("ignore:compare. memory=.* is less than one pair takes")
@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_computing_changes_a_bit(reps, plain, way):
    options = WAYS[way]
    with options["jobs"]() if "jobs" in options else nullcontext() as pool:
        assert same_scores(plain, rs.compare(reps, **options | {"jobs": pool}, progress=False))


def test_order_of_representations_only_permutes(reps, plain):
    backwards = rs.compare(dict(reversed(reps.items())), progress=False)
    for m in plain.measures:
        assert backwards[m.spec][::-1, ::-1] == pytest.approx(plain[m.spec], rel=1e-9, abs=1e-9)


def test_rectangle_and_one_pair(reps, plain):
    names = list(reps)
    rows, columns = ({k: reps[k] for k in part} for part in (names[:2], names[2:]))
    rectangle = rs.compare(rows, columns, progress=False)
    for m in rectangle.measures:
        assert rectangle[m.spec].shape == (2, 3)
        assert rectangle[m.spec] == pytest.approx(plain[m.spec][:2, 2:], rel=1e-12)
    one = rs.compare(reps[names[0]], reps[names[1]], measures="cka", progress=False)
    assert one["cka"].shape == (1, 1)
    square = rs.compare(reps, reps, measures="LinReg", progress=False)
    assert square["LinReg"] == pytest.approx(plain["LinReg"])
    one, other = list(reps.values())[:2]
    named = rs.compare({"conv1": one}, {"conv1": other}, measures="cka", progress=False)
    assert named["cka"][0, 0] == rs.cka(one, other)


# ----------------------------------------------------------------------------------------- failures


def test_failures_are_recorded_with_their_reason_and_spare_the_others(reps, plain):
    bad = dict(reps)
    bad["constant"] = np.ones((40, 3))
    bad["nan"] = np.full((40, 3), np.nan)
    result = rs.compare(bad, progress=False)
    for m in result.measures:
        assert np.array_equal(result[m.spec][:5, :5], plain[m.spec])
        assert np.isnan(result[m.spec][6]).all()
    reasons = {(f.measure, f.x, f.y): f.reason for f in result.failures}
    assert "'constant' is constant" in reasons["cka", "net/0", "constant"]
    assert "row 0, column 0" in reasons["magnitude_difference", "nan", "net/1"]
    assert len(reasons) == sum(int(np.isnan(result[m.spec]).sum()) for m in result.measures)
    assert np.isfinite(result["magnitude_difference"][5, :5]).all()


def test_a_bug_in_a_measure_is_not_a_failure(reps):
    @declared("Bug")
    def bug(x, y):
        """Bug: raises."""
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        rs.compare(reps, measures=[bug], progress=False)


def exhausted(x, y):
    raise MemoryError


FAILING = {  # functions, and the reasons of their failures
    "hungry": (
        lambda x, y: float(np.empty(10**17).sum()),
        r"not enough memory for hungry .*\(40, 5\) and \(40, 6\): Unable to .* fewer",
    ),
    "exhausted": (
        exhausted,
        r"not enough memory for exhausted .*\(40, 5\) and \(40, 6\); use fewer",
    ),
    "hungry_torch": (
        lambda x, y: float(torch.empty(10**17).sum()),
        "not enough memory for hungry_torch of arrays .*DefaultCPUAllocator",
    ),
    "infinite": (
        lambda x, y: float(svdvals(x.array / 0.0)[0]),
        "infinite: array must not contain infs or NaNs",
    ),
    "divergent": (
        lambda x, y: float(torch.linalg.svdvals(torch.full((3, 3), torch.nan))[0]),
        "divergent: linalg.svd: The algorithm failed to converge",
    ),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_one_measure_that_fails_does_not_take_the_others_with_it(reps, plain, name):
    function, reason = FAILING[name]
    function.__name__ = name
    result = rs.compare(reps, measures=[declared("Bad")(function), rs.cka], progress=False)
    assert np.array_equal(result["cka"], plain["cka"])
    assert len(result.failures) == 25
    reasons = {(f.x, f.y): f.reason for f in result.failures}
    assert re.search(reason, reasons["net/0", "net/1"])


WIDE = {
    "narrow": (30, 4),
    "wide": (30, 30_000),
    "also wide": (30, 30_001),
}  # 30,000 x 30,000 are 7.2 GB


@pytest.fixture
def wide(monkeypatch):
    """Representations of which two need 14 GB for the matching of neurons, on a machine with 1 GB
    left."""
    monkeypatch.setattr(ENGINE, "available_memory", lambda: 10**9)
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape) for name, shape in WIDE.items()}


def test_what_cannot_fit_the_machine_fails_before_the_work_and_alone(wide):
    seen = []
    result = rs.compare(
        wide,
        measures=["hard_correlation_match", "procrustes"],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[:2] == [(0, 12), (3, 12)]  # three pairs of wide ones, before anything is computed
    assert np.isfinite(result["procrustes"]).all()
    assert np.isfinite(result["hard_correlation_match"][0]).all()
    reasons = {(f.x, f.y): f.reason for f in result.failures}
    assert {*reasons} == {*product(list(WIDE)[1:], repeat=2)}
    message = (
        r"hard_correlation_match .*\(30, 30000\) .*\(30, 30001\): .* 14\.\d GB are needed and 1 GB"
    )
    assert re.search(
        f"not enough memory for {message} are left; use fewer", reasons["wide", "also wide"]
    )


def test_what_had_no_memory_is_tried_again_and_no_value_is_lost(reps, plain, tmp_path, monkeypatch):
    path = tmp_path / "run.db"
    compare = partial(rs.compare, reps, measures=["cka", "pwcca"], save=path, progress=False)
    with monkeypatch.context() as m:
        m.setattr(ENGINE, "available_memory", lambda: 1)
        assert len(compare().failures) == 50
        assert {f.reason.split(" for ")[0] for f in rs.load(path).failures} == {"not enough memory"}
    assert not compare().failures
    assert np.array_equal(rs.load(path)["pwcca"], plain["pwcca"])
    monkeypatch.setattr(ENGINE, "available_memory", lambda: 1)
    assert not compare().failures


def test_a_measure_beyond_the_budget_is_computed_with_a_warning(reps, plain):
    with pytest.warns(
        UserWarning,
        match=r"memory='15 kB' is less .*\(distance_correlation \d+\.?\d* kB\); the pair is",
    ) as caught:
        result = rs.compare(
            reps, measures=["procrustes", "distance_correlation"], memory="15 kB", progress=False
        )
    stream = rs.Stream()
    stream.update(reps)
    with pytest.warns(UserWarning, match="memory='100 B' is less") as streamed:
        stream.compare("cka", memory="100 B", progress=False)
    assert np.array_equal(result["distance_correlation"], plain["distance_correlation"])
    assert [w.filename for w in (*caught, *streamed)] == [__file__] * 2


def test_a_task_that_ends_every_worker_names_the_usual_cause_and_what_is_kept(reps, tmp_path):
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.warns(UserWarning, match="a worker ended before it finished"),
        pytest.raises(LostWorkerError, match=r"by dying: .*lack of memory.* saved in .*run\.db"),
    ):
        rs.compare(reps, measures=[dying], jobs=pool, save=tmp_path / "run.db", progress=False)


def test_a_killed_worker_costs_its_task_and_not_the_run(reps, plain):
    victims = []

    def kill(done: int, total: int) -> None:
        if done and not victims:
            victims.extend(pool._processes)
            os.kill(victims[0], signal.SIGKILL)

    with (
        ProcessPoolExecutor(2, get_context("fork")) as pool,
        pytest.warns(UserWarning, match="a worker ended before it finished"),
    ):
        result = rs.compare(reps, jobs=pool, block_size=1, progress=kill)
    assert victims
    assert same_scores(plain, result)


@declared("DyingOnce", range=(0, np.inf))
def dying_once(x, y):
    """Dying once: what kills the process that first computes intermediates for others."""
    died = Path(os.environ["DIED"])
    if x is y and not died.exists():
        died.touch()
        os._exit(9)
    return float(np.abs(x.array.sum() - y.array.sum()))


def test_a_worker_killed_while_it_computes_intermediates_costs_no_task(reps, tmp_path, monkeypatch):
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    with (
        ProcessPoolExecutor(2, get_context("fork")) as pool,
        pytest.warns(UserWarning, match="repeating: .*intermediates of"),
    ):
        result = rs.compare(reps, measures=dying_once, jobs=pool, block_size=2, progress=False)
    assert same_scores(rs.compare(reps, measures=dying_once, progress=False), result)


@declared("Dying")
def dying(x, y):
    """Dying: what the killer of processes does."""
    if len(x.array) == 40:
        os._exit(9)
    return 0.0


def test_equal_data_under_several_names_have_one_value(reps, tmp_path):
    x, y = reps["net/0"], reps["net/1"]
    named = {"a": x, "y": y, "b": x.copy(), "c": x.copy()}
    alone = rs.compare({"a": x, "y": y}, measures=FAST, progress=False)
    seen = []
    path, note = tmp_path / "run.db", lambda done, total: seen.append(total)
    with ThreadPoolExecutor(3) as pool:
        results = [
            rs.compare(named, measures=FAST, save=path, progress=note),
            rs.compare(named, measures=FAST, jobs=pool, block_size=1, progress=False),
            rs.compare(named, measures=FAST, jobs=1, progress=False),
            rs.load(path),
        ]
    assert seen[-1] == 3 * len(FAST) + 2  # pwcca and linear_regression in both orders
    for m in FAST:
        whole = alone[m.spec][np.ix_([0, 1, 0, 0], [0, 1, 0, 0])]
        assert all(np.array_equal(result[m.spec], whole) for result in results), m


def test_both_orders_of_a_pair_in_a_rectangle_are_one_value(reps):
    """Whichever task ends first; a measure that is not symmetric has two."""
    rows, seen = dict(list(reps.items())[:3]), []
    for block_size in (1, 3, None):
        result = rs.compare(
            rows,
            dict(reversed(reps.items())),
            measures=["svcca", "pwcca"],
            block_size=block_size,
            progress=lambda done, total: seen.append(total),
        )
        square = np.stack([result["svcca"][:, result.columns.index(name)] for name in rows], axis=1)
        assert np.array_equal(square, square.T)
        assert seen[-1] == (15 - 3) + 15


@declared("Wild")
def wild(x, y, *, value: float = 1.0) -> float:
    """Wild: whatever it is told."""
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (-175.2, "the value -175.2 is outside the declared range, 0 to 1"),
        (1.01, "the value 1.01 is outside the declared range, 0 to 1"),
        (float("inf"), "the value overflows"),
    ],
)
def test_the_declared_range_of_a_measure_is_checked(reps, value, reason):
    measure = wild.with_parameters(value=value)
    with pytest.raises(ValueError, match=reason):
        measure(reps["net/0"], reps["net/1"])
    result = rs.compare(reps, measures=[measure, "cka"], progress=False)
    assert np.isfinite(result["cka"]).all()
    assert len(result.failures) == 25
    assert reason in result.failures[0].reason


@declared("Void")
def void(x, y) -> float:
    """Void: no number."""
    return float("nan")


def test_a_value_beyond_the_range_by_rounding_counts_and_nan_does_not(reps):
    pair = reps["net/0"], reps["net/1"]
    assert wild.with_parameters(value=1 + 1e-9)(*pair) > 1
    with pytest.raises(ValueError, match=r"void returned NaN \(not a number\)"):
        void(*pair)


def cka(x, y):
    return 0.0


def unlike(x, y):
    return 0.0


IMPOSTOR, UNLIKE = map(declared("CKA"), (cka, unlike))


def numbered(reps, *ids):
    return [rs.Representation(data, ids=of) for data, of in zip(reps.values(), ids)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: rs.compare(r, [rs.cka]), "measures go by keyword"),
        (lambda r: rs.compare(r, rs.cka), "measures go by keyword"),
        (lambda r: rs.compare({}), "nothing to compare"),
        (lambda r: rs.compare(r, measures=[]), "measures is empty"),
        (lambda r: rs.compare(r, measures=["ckaa"]), "did you mean 'cka'"),
        (lambda r: rs.compare(r, measures="cka-debiased"), r"mean 'cka\[estimator=debiased\]'"),
        (lambda r: rs.compare(r, measures="cka[estimator=unbiased]"), "did you mean 'debiased'"),
        (lambda r: rs.compare(r, measures="cka[debiased]"), r"as in cka\[estimator=debiased\]"),
        (lambda r: rs.compare(r, block_size=0), "block_size must be a whole number of at least 1"),
        (lambda r: rs.compare(r, measures=[rs.cka, IMPOSTOR]), "a name that is taken"),
        (lambda r: rs.compare(r, measures=["cka", UNLIKE]), "cka.* both labelled 'CKA'"),
        (lambda r: rs.compare(r, memory="lots"), "memory must be"),
        (lambda r: rs.compare(r, memory=0), "memory must be"),
        (lambda r: rs.compare(r, memory="1e400GB"), "memory must be"),
        (lambda r: rs.compare(r, memory="10"), 'did you mean "10GB"'),
        (lambda r: rs.compare(r, memory=2), 'did you mean "2GB"'),
        (
            lambda r: rs.compare(numbered(r, range(40), range(40)[::-1])),
            "different order.*join_samples",
        ),
        (lambda r: rs.compare({**r, "short": np.ones((30, 2))}), "'short' has 30"),
        (lambda r: rs.compare([rs.Representation(np.ones((4, 2)), "a")] * 2), "two .* called 'a'"),
        (
            lambda r: rs.compare({"a": np.eye(4), "b": np.ma.masked_array(np.eye(4), np.eye(4))}),
            "representation 'b' is a masked array",
        ),
        (lambda r: rs.compare([np.eye(4), np.ones(4)]), r"'x1' must be \(n_samples, n_features\)"),
    ],
)
def test_mistakes_are_found_before_anything_is_computed(reps, call, message):
    with pytest.raises(ValueError, match=message):
        call(reps)


def test_labels_that_do_not_fit_are_found_before_anything_is_computed(reps, tmp_path):
    calls = []
    for measure in ("accuracy_difference", rs.accuracy_difference.with_parameters(labels=(0, 1))):
        with pytest.raises(ValueError, match=r"accuracy_difference needs labels=.* for 40"):
            rs.compare(
                reps,
                measures=["cka", measure],
                progress=lambda *counts: calls.append(counts),
                save=tmp_path / "run.db",
            )
    assert not calls
    assert not list(tmp_path.iterdir())


class Interrupted(Exception):
    pass


def test_several_comparisons_in_one_run_share_their_work_and_are_continued(reps, tmp_path):
    """Three lists of representations, two of which share two, and a rectangle of other measures."""
    a, b, c = (dict(list(reps.items())[part]) for part in (slice(3), slice(1, 4), slice(3, 5)))
    given = [(a, FAST), (b, FAST), (c, FAST), (a, ["rsa", "pwcca"], c)]
    expected = [rs.compare(x, *y, measures=measures) for x, measures, *y in given]
    path, seen, rest = tmp_path / "run.db", [], []

    def stop_half_way(done: int, total: int) -> None:
        seen.append(total)
        if done > total / 2:
            raise Interrupted

    def in_one_run(**options):
        return compare_many(
            [ComparisonInputs.of(*entries) for entries in given], check_run_options(**options)
        )

    with pytest.raises(Interrupted):
        in_one_run(save=path, progress=stop_half_way)
    with ScoreFile(path) as store:
        before = store.count()
    found = in_one_run(save=path, progress=lambda *step: rest.append(step))
    with ThreadPoolExecutor(2) as pool:
        for results in (found, in_one_run(block_size=1), in_one_run(executor=pool)):
            assert [(r.rows, r.columns) for r in results] == [(r.rows, r.columns) for r in expected]
            assert all(map(same_scores, results, expected))
    pairs, ordered = 6 + (6 - 3) + (3 - 1), 9 + (9 - 4) + (4 - 1)  # without those that are known
    assert seen[-1] == (len(FAST) - 2) * pairs + 2 * ordered + 2 * (6 - 2)
    assert rest[-1] == (seen[-1] - before, seen[-1] - before)
    assert [done for done, _ in rest] == sorted({done for done, _ in rest})
    assert rs.load(path).columns == expected[-1].columns  # the file describes the last
    assert compare_many([], check_run_options()) == ()


# --------------------------------------------------------------------------------------- the result


def test_difference_is_larger_for_more_different(plain):
    for m in plain.measures:
        difference = plain.dissimilarity(m.spec)
        others = difference.sum(axis=1) - np.diag(difference)
        assert np.all(np.diag(difference).mean() < others / (len(difference) - 1)), m.spec
    assert plain.dissimilarity("cka") == pytest.approx(1 - plain["cka"])
    assert plain.dissimilarity("procrustes") is plain["procrustes"]


def test_scores_and_values_by_name_label_or_measure(plain):
    assert plain["CKA"] is plain["cka"] is plain[rs.cka]
    assert plain["cka", "net/0", "net/2"] == plain["cka"][0, 2]
    assert isinstance(plain[plain.measures[1], "net/1", "net/2"], float)
    for key, message in (
        (rs.cka.with_parameters(estimator="debiased"), "no measure"),
        ("ckaa", "did you mean 'cka'"),
        (("cka", "net/0", "d"), "no 'd' in this comparison"),
        (("cca", "net/0", "net/1"), "no measure 'cca'"),
    ):
        with pytest.raises(KeyError, match=message):
            plain[key]


def test_a_dataset_can_be_written_as_netcdf(reps, tmp_path):
    xarray = pytest.importorskip("xarray")
    measures = ["cka[kernel=rbf]", "procrustes", "pwcca"]
    compared = rs.compare(reps, measures=measures, progress=False)
    compared.to_xarray().to_netcdf(tmp_path / "compared.nc")
    with xarray.open_dataset(tmp_path / "compared.nc") as back:
        assert list(map(str, back["x"].values)) == list(reps)
        for m in compared.measures:
            about = back[m.spec].attrs
            assert np.array_equal(back[m.spec].values, compared[m.spec])
            assert json.loads(about["parameters"]) == m.parameters
            assert (about["symmetric"], about["label"]) == (m.symmetric, m.label)


def test_repr_and_notebook_html(plain):
    assert "5 x 5 representations by 24 measures" in repr(plain)
    assert "cka" in repr(plain)
    page = plain._repr_html_()
    assert page.count("<tr>") == 25
    escaped = rs.compare(
        {"<script>": np.eye(5), "b": np.eye(5)[::-1]}, measures="cka", progress=False
    )
    assert "<script>" not in escaped._repr_html_()


def test_provenance(plain, reps):
    provenance = plain.provenance
    assert provenance["n_samples"] == 40
    assert provenance["rows"]["net/2"]["n_features"] == 7
    assert provenance["rows"]["net/2"]["computed_in"] == "float64"
    assert len({entry["fingerprint"] for entry in provenance["rows"].values()}) == 5
    assert provenance["libraries"]["numpy"] == np.__version__
    for name in ("scikit-learn", "numba"):
        pytest.importorskip({"scikit-learn": "sklearn"}.get(name, name))
        assert provenance["libraries"][name] == version(name)
    assert set(plain.seconds) == {m.spec for m in plain.measures}
    assert all(s > 0 for s in plain.seconds.values())


def test_threads_that_compare_at_once_restore_the_threads_of_blas(reps):
    """The first thread leaves while the second computes, and the second restores all numbers."""
    entered = {"first": Event(), "second": Event()}
    left, numbers = Event(), dict[str, list[object]]()

    def numbers_now():
        counts = [i["num_threads"] for i in threadpool_info()]
        return [*counts, torch.get_num_threads(), torch.get_float32_matmul_precision()]

    @declared("Waits", range=(0, 9))
    def waits(x, y):
        """Waits: until the other thread is inside, too."""
        name = current_thread().name
        entered[name].set()
        assert entered["second"].wait(60)
        if name == "second":
            assert left.wait(60)
        numbers[name] = numbers_now()
        return 0.0

    def run():
        name = current_thread().name
        if name == "second":
            assert entered["first"].wait(60)
        rs.compare({"x": reps["net/0"]}, measures=[waits], progress=False)
        if name == "first":
            left.set()
        numbers[f"after {name}"] = [torch.get_num_threads()]

    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        with threadpool_limits(limits=2):
            torch.set_num_threads(2)
            torch.set_float32_matmul_precision("high")
            before, both = numbers_now(), [Thread(target=run, name=name) for name in entered]
            for thread in both:
                thread.start()
            for thread in both:
                thread.join()
            assert numbers_now() == before
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)
    assert 2 in before
    assert "high" in before
    for name in entered:
        assert set(numbers[name]) == {1, "highest"}
        assert numbers[f"after {name}"] == [2]  # PyTorch has a number for every thread


def test_a_measure_that_cannot_travel_says_so(reps):
    @declared("Local")
    def local(x, y):
        """Local: defined in a function."""
        return 1.0

    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(ValueError, match="define it at the top level of a module"),
    ):
        rs.compare(reps, measures=[local], jobs=pool, progress=False)


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_bar_goes_to_standard_error_and_only_to_a_terminal(
    reps, capsys, monkeypatch, terminal
):
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")  # a dumb one has no bars
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    rs.compare(reps, measures=["cka"])
    printed, bar = capsys.readouterr()
    assert printed == ""
    assert ("comparing" in bar) == terminal
    assert terminal or bar == ""


def test_missing_optional_dependency(reps, monkeypatch):
    import importlib.util

    from resemblance.base.extras import install_hint

    find = importlib.util.find_spec

    def without(name, *more):
        return None if name == "numba" else find(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(ImportError, match=r'pip install .*\[topology\]"'):
        rs.compare(reps, measures=["cka", "rtd"], progress=False)
    result = rs.compare(reps, progress=False)  # nobody asked for rtd by name: recorded
    assert np.isnan(result["rtd"]).all()
    assert {f.reason for f in result.failures} == {
        f"needs an optional dependency: {install_hint('topology')}"
    }
