"""The engine: the same numbers whatever the executor, size of blocks, memory and order, and no
work done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from factories.files import forging
from factories.measures import declared
from threadpoolctl import threadpool_info, threadpool_limits

import resemblance as rs
from resemblance.comparison.comparison import (
    Comparison,
    comparison_description,
    write_missing_scores,
)
from resemblance.comparison.scores import ScoreBatch, ScoreMatrix
from resemblance.comparison.store import ScoreFile
from resemblance.engine.execution import compare_many
from resemblance.engine.work import ComparisonPlan
from resemblance.engine.workers import LostWorkerError

ENGINE = sys.modules["resemblance.engine.execution"]
FAST = [m for m in rs.preset("default") if m.name != "rtd"]


@pytest.fixture(scope="module")
def reps() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((40, 6))
    return {
        f"net/{i}": latent @ rng.standard_normal((6, 5 + i))
        + 0.3 * rng.standard_normal((40, 5 + i))
        for i in range(5)
    }


@pytest.fixture(scope="module")
def plain(reps) -> Comparison:
    return rs.compare(reps, progress=False)


def one_score(x: str, y: str) -> ScoreBatch:
    """Return a column of one value, that of the measure m for the data x and y."""
    return ScoreBatch("m", 1, (x, y), np.array([0]), np.array([1]), np.array([1.0]))


def same(a: Comparison, b: Comparison) -> bool:
    return [m.spec for m in a.measures] == [m.spec for m in b.measures] and all(
        np.array_equal(a[m.spec], b[m.spec], equal_nan=True) for m in a.measures
    )


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


@pytest.mark.filterwarnings("ignore:compare. memory=.* is less than one pair takes")
def test_sizes_of_blocks_and_memory_do_not_change_the_numbers(reps, plain, subtests):
    sizes = [{"block_size": size} for size in (1, 2, 3, 100)]
    for options in [*sizes, *({"memory": m} for m in ("1B", "20 kB", "1MB", "100GiB"))]:
        with subtests.test(str(options)):
            assert same(plain, rs.compare(reps, **options, progress=False))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_process_pool(reps, plain, method):
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        assert same(plain, rs.compare(reps, jobs=pool, progress=False))


def test_thread_pool(reps, plain):
    with ThreadPoolExecutor(3) as pool:
        assert same(plain, rs.compare(reps, jobs=pool, block_size=1, progress=False))


def test_layout_in_memory_does_not_change_the_last_digits(plain, reps):
    """Columns of a larger array, every other row, Fortran order: workers get them as copies in
    another layout."""
    strided = {}
    for name, data in reps.items():
        wide = np.zeros((2 * len(data), 3 * data.shape[1]), order="F")
        wide[::2, ::3] = data
        strided[name] = wide[::2, ::3]
    assert same(plain, rs.compare(strided, progress=False))


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


def test_same_names_on_both_sides_of_a_rectangle(rng):
    a, b = {"conv1": rng.standard_normal((20, 3))}, {"conv1": rng.standard_normal((20, 4))}
    compared = rs.compare(a, b, measures="cka", progress=False)
    assert compared["cka"][0, 0] == rs.cka(a["conv1"], b["conv1"])


# --------------------------------------------------------------------------- work is not done twice


def counting(monkeypatch, module, name):
    calls = []
    function = getattr(module, name)
    monkeypatch.setattr(
        module, name, lambda *args, **kwargs: (calls.append(args), function(*args, **kwargs))[1]
    )
    return calls


def test_what_depends_on_one_representation_is_computed_once_per_representation(reps, monkeypatch):
    import array_api_compat.numpy.linalg as linalg

    from resemblance.intermediates import distances, heat, neighbors, summaries

    rs.compare(reps, measures=FAST, progress=False)  # the memory plan probes the measures once
    svds = counting(monkeypatch, linalg, "svd")
    # Distances are of one block; neighbours by cosine and Euclidean; uniformities of one block,
    # their sum, and that with the samples themselves.
    work = [
        (distances, "_pair_sums_by_sample", 1),
        (distances, "average_ranks", 1),
        (neighbors, "neighbor_similarity", 2),
        (heat, "chebyshev_traces", 1),
        (summaries, "_log_sum_exp", 3),
    ]
    calls = {name: counting(monkeypatch, module, name) for module, name, _ in work}
    rs.compare(reps, measures=FAST, progress=False)
    for _, name, per_representation in work:
        assert len(calls[name]) == per_representation * len(reps), name
    factorisations = [args for args in svds if args[0].shape[0] == 40]
    assert len(factorisations) == len(reps)  # centred; that of the rows as they are follows


def test_cross_products_are_computed_once_per_pair(reps, monkeypatch):
    from resemblance.intermediates import points

    x, y = (rs.Representation(v) for v in list(reps.values())[:2])
    products = counting(monkeypatch, points, "transpose_matrix")
    from resemblance.data.representation import pair_cache

    with pair_cache(x, y):
        for m in FAST:
            m.evaluate(x, y)
        first = len(products)
        for m in FAST:
            m.evaluate(x, y)
    assert first > 0
    assert len(products) == first


def test_intermediates_do_not_outlive_the_comparison(reps):
    kept = [rs.Representation(data, name) for name, data in reps.items()]
    rs.compare(kept, measures=["cka", "rsa"], progress=False)
    assert all(np.ndim(value) == 0 for r in kept for value in r.cache.values())


def test_peak_memory_stays_within_the_budget():
    """Six representations of 1,200 samples: one n x n matrix is 11.5 MB, and five measures want one
    and two halves of it."""
    rng = np.random.default_rng(0)
    reps = {str(i): rng.standard_normal((1200, 4)) for i in range(6)}
    measures = ["rsa", "distance_correlation", "rsm_norm_difference", "cka[kernel=rbf]", "cka"]
    peaks = {}
    for memory in ("30MB", "2GB"):
        tracemalloc.start()
        result = rs.compare(reps, measures=measures, memory=memory, progress=False)
        peaks[memory] = tracemalloc.get_traced_memory()[1] / 1e6, result
        tracemalloc.stop()
    assert same(peaks["30MB"][1], peaks["2GB"][1])
    assert peaks["2GB"][0] > 6 * 2 * 11.5
    assert peaks["30MB"][0] < 30 + 60  # transients: blocks of rows and the vectors being sorted


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


def hungry(x, y):
    """Hungry: needs more than there is."""
    return float(np.empty(10**17).sum())


def hungry_torch(x, y):
    """Hungry torch: the same of PyTorch."""
    import torch

    return float(torch.empty(10**17).sum())


def infinite(x, y):
    """Infinite: hands SciPy what is not finite."""
    from scipy.linalg import svdvals

    return float(svdvals(x.array / 0.0)[0])


def exhausted(x, y):
    """Exhausted: fails as Python itself does, without a word."""
    raise MemoryError


def divergent(x, y):
    """Divergent: hands PyTorch what is not finite."""
    import torch

    return float(torch.linalg.svdvals(torch.full((3, 3), torch.nan))[0])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (hungry, r"not enough memory for hungry .*\(40, 5\) and \(40, 6\): Unable to .* fewer"),
        (exhausted, r"not enough memory for exhausted .*\(40, 5\) and \(40, 6\); use fewer"),
        (hungry_torch, "not enough memory for hungry_torch of arrays .*DefaultCPUAllocator"),
        (infinite, "infinite: array must not contain infs or NaNs"),
        (divergent, "divergent: linalg.svd: The algorithm failed to converge"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_one_measure_that_fails_does_not_take_the_others_with_it(reps, plain, function, reason):
    bad = declared("Bad")(function)
    result = rs.compare(reps, measures=[bad, rs.cka], progress=False)
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
        r"hard_correlation_match .*\(30, 30000\) .*\(30, 30001\): .* 14\.\d GB and 1 GB are left"
    )
    assert re.search(f"not enough memory for {message}; use fewer", reasons["wide", "also wide"])


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
        UserWarning, match=r"memory='15 kB' is less .*\(distance_correlation \d+\.?\d* kB\); it is"
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


def test_too_few_samples_are_seen_before_a_measure_is_tried_out(reps, monkeypatch):
    from resemblance.engine import intermediate_sizes

    sizes = []
    made = intermediate_sizes.generator(0, "probe")
    monkeypatch.setattr(intermediate_sizes, "generator", lambda *_: sizes.append(_) or made)
    result = rs.compare(reps, measures="jaccard[k=9999]", progress=False)
    assert "at least 10000 samples" in result.failures[0].reason
    assert not sizes


def test_a_task_that_ends_every_worker_names_the_usual_cause_and_what_is_kept(reps, tmp_path):
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.warns(UserWarning, match="a worker ended before its work was done"),
        pytest.raises(LostWorkerError, match=r"by dying: .*lack of memory.* kept in .*run\.db"),
    ):
        rs.compare(reps, measures=[dying], jobs=pool, save=tmp_path / "run.db", progress=False)


@pytest.mark.parametrize("spill", [None, False])
def test_a_killed_worker_costs_its_task_and_not_the_run(reps, plain, tmp_path, spill):
    victims = []

    def kill(done: int, total: int) -> None:
        if done and not victims:
            victims.extend(pool._processes)
            os.kill(victims[0], signal.SIGKILL)

    with (
        ProcessPoolExecutor(2, get_context("fork")) as pool,
        pytest.warns(UserWarning, match="a worker ended before its work was done"),
    ):
        result = rs.compare(reps, jobs=pool, block_size=1, spill=spill, progress=kill)
    assert victims
    assert same(plain, result)


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
        pytest.warns(UserWarning, match="to be done again: .*intermediates of"),
    ):
        result = rs.compare(reps, measures=dying_once, jobs=pool, block_size=2, progress=False)
    assert same(rs.compare(reps, measures=dying_once, progress=False), result)


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


def test_mistakes_in_data_name_the_entry():
    masked = np.ma.masked_array(np.eye(4), mask=np.eye(4))
    with pytest.raises(ValueError, match="representation 'layer17' is a masked array"):
        rs.compare({"layer3": np.eye(4), "layer17": masked})
    with pytest.raises(ValueError, match=r"representation 'x1' must be \(n_samples, n_features\)"):
        rs.compare([np.eye(4), np.ones(4)])


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


def test_rounding_is_not_outside_the_range(reps):
    assert wild.with_parameters(value=1 + 1e-9)(reps["net/0"], reps["net/1"]) > 1


@declared("Void")
def void(x, y) -> float:
    """Void: no number."""
    return float("nan")


def test_a_nan_of_ones_own_measure_is_called_that(reps):
    with pytest.raises(ValueError, match=r"void returned NaN \(not a number\)"):
        void(reps["net/0"], reps["net/1"])


def unlike(x, y):
    """Unlike: labelled like another."""
    return 0.0


UNLIKE = declared("CKA")(unlike)


def test_two_measures_of_one_label_are_refused_but_variants_of_one_are_not(reps):
    with pytest.raises(
        ValueError, match=r"(cka and unlike|unlike and cka) are both labelled 'CKA'"
    ):
        rs.compare(reps, measures=["cka", UNLIKE], progress=False)
    assert len(rs.compare(reps, measures=["cka", "cka[kernel=rbf]"], progress=False).measures) == 2


def cka(x, y):
    """CKA of another kind."""
    return 0.0


IMPOSTOR = declared("CKA")(cka)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: rs.compare(r, [rs.cka]), "measures go by keyword"),
        (lambda r: rs.compare(r, rs.cka), "measures go by keyword"),
        (lambda r: rs.compare({}), "nothing to compare"),
        (lambda r: rs.compare(r, measures=[]), "measures is empty"),
        (lambda r: rs.compare(r, measures=["ckaa"]), "did you mean 'cka'"),
        (lambda r: rs.compare(r, block_size=0), "block_size must be a whole number of at least 1"),
        (lambda r: rs.compare(r, measures=[rs.cka, IMPOSTOR]), "a name that is taken"),
        (lambda r: rs.compare(r, memory="lots"), "memory must be"),
        (lambda r: rs.compare(r, memory=0), "memory must be"),
        (lambda r: rs.compare(r, memory="1e400GB"), "memory must be"),
        (lambda r: rs.compare(r, memory="10"), 'did you mean "10GB"'),
        (lambda r: rs.compare(r, memory=2), 'did you mean "2GB"'),
        (lambda r: rs.compare({**r, "short": np.ones((30, 2))}), "'short' has 30"),
        (lambda r: rs.compare([rs.Representation(np.ones((4, 2)), "a")] * 2), "two .* called 'a'"),
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


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_sample_ids_must_match_and_can_be_joined(rng):
    x, y = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    a = rs.Representation(x, "a", ids=list("abcdef"))
    b = rs.Representation(y[::-1], "b", ids=list("fedcba"))
    with pytest.raises(ValueError, match=r"another order.*join_samples"):
        rs.cka(a, b)
    with pytest.raises(ValueError, match="join_samples"):
        rs.compare([a, b], measures="cka", progress=False)
    assert rs.cka(*rs.join_samples(a, b)) == pytest.approx(rs.cka(x, y))
    short = rs.Representation(y[[4, 1, 2]], ids=list("ebc"))
    with pytest.raises(ValueError, match="same number of samples"):
        rs.cka(a, short)
    assert rs.cka(*rs.join_samples(a, short)) == pytest.approx(rs.cka(x[[1, 2, 4]], y[[1, 2, 4]]))
    with pytest.raises(ValueError, match="one unique id per sample"):
        rs.join_samples(a, rs.Representation(y))


# -------------------------------------------------------------------------- several comparisons


PARTS = [slice(0, 3), slice(1, 4), slice(3, 5)]


def arguments(reps):
    """Three lists of representations, two of which share two, and a rectangle of other measures."""
    parts = [dict(list(reps.items())[part]) for part in PARTS]
    return [*((part, FAST) for part in parts), (parts[0], ["rsa", "pwcca"], parts[2])]


def works_of(reps) -> list[ComparisonPlan]:
    return [ComparisonPlan.of(*entries) for entries in arguments(reps)]


@pytest.fixture(scope="module")
def one_by_one(reps) -> list[Comparison]:
    return [rs.compare(x, *y, measures=measures) for x, measures, *y in arguments(reps)]


def all_same(found, expected) -> bool:
    assert [(c.rows, c.columns) for c in found] == [(c.rows, c.columns) for c in expected]
    return all(map(same, found, expected))


@pytest.mark.parametrize("block_size", [None, 1])
def test_several_comparisons_in_one_run_are_those_made_one_by_one(reps, one_by_one, block_size):
    assert all_same(compare_many(works_of(reps), block_size=block_size), one_by_one)
    with ThreadPoolExecutor(2) as pool:
        assert all_same(
            compare_many(works_of(reps), block_size=block_size, executor=pool), one_by_one
        )
    assert compare_many([]) == ()


def test_what_several_comparisons_share_is_computed_once(reps, one_by_one):
    seen = []
    compare_many(works_of(reps), progress=lambda done, total: seen.append((done, total)))
    symmetric = len(FAST) - 2  # without pwcca and linear_regression
    pairs, ordered = 6 + (6 - 3) + (3 - 1), 9 + (9 - 4) + (4 - 1)
    rectangle = 2 * (6 - 2)  # two of its pairs are known, of both of its measures
    assert seen[-1][0] == seen[-1][1] == symmetric * pairs + 2 * ordered + rectangle
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_several_comparisons_are_continued(reps, one_by_one, tmp_path):
    path, seen = tmp_path / "run.db", []

    def stop_half_way(done: int, total: int) -> None:
        seen.append(total)
        if done > total / 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        compare_many(works_of(reps), save=path, progress=stop_half_way)
    with ScoreFile(path) as store:
        before = store.count()
    rest = []
    found = compare_many(works_of(reps), save=path, progress=lambda done, total: rest.append(total))
    assert rest[-1] == seen[-1] - before
    assert all_same(found, one_by_one)
    assert rs.load(path).columns == one_by_one[-1].columns  # the file describes the last


def test_intermediates_of_a_comparison_are_gone_when_the_next_begins(reps):
    holding = []

    @declared("Holding")
    def watching(x, y):
        """Holding: which representations hold arrays now."""
        rs.cka.function(x, y)
        if x.name:  # not when it is tried out to plan
            holding.append({r.name for r in inputs if any(np.ndim(v) for v in r.cache.values())})
        return 0.0

    inputs = [rs.Representation(data, name) for name, data in reps.items()]
    compare_many(
        [ComparisonPlan.of(inputs[:2], [watching]), ComparisonPlan.of(inputs[2:], [watching])]
    )
    names = [r.name for r in inputs]
    assert all(held <= set(names[:2]) for held in holding[:3])
    assert all(held <= set(names[2:]) for held in holding[3:])
    assert set.union(*holding) == set(names)
    assert not any(np.ndim(v) for r in inputs for v in r.cache.values())


class Submitting:
    """An executor that only counts what it gets, in the place of a pool of some workers."""

    def __init__(self, workers):
        self._max_workers = workers
        self.tasks = []

    def submit(self, function, task, *loans):
        self.tasks.append(task)
        future = Future()
        future.set_result(function(task, *loans))
        return future


@pytest.mark.parametrize("workers", [1, 3, 20])
def test_there_are_as_many_tasks_as_the_workers_of_the_executor_need(reps, plain, workers):
    executor = Submitting(workers)
    assert same(plain, rs.compare(reps, jobs=executor))
    assert len(executor.tasks) >= min(2 * workers, 15)
    executor = Submitting(workers)
    rs.compare(list(reps.values())[:3], list(reps.values()), measures="cka", jobs=executor)
    assert len(executor.tasks) >= min(2 * workers, 15 - 3)  # three pairs are there in both orders


def test_the_tasks_of_several_comparisons_are_shared_by_their_sizes(reps):
    few, many = dict(list(reps.items())[:2]), reps
    executor = Submitting(3)
    compare_many([ComparisonPlan.of(few, "cka"), ComparisonPlan.of(many, "rsa")], executor=executor)
    sizes = dict.fromkeys(("cka", "rsa"), 0)
    for task in executor.tasks:
        sizes[task.measures[0].name] += 1
    assert sizes["cka"] == 1 or sizes["cka"] < sizes["rsa"]
    assert 6 <= len(executor.tasks) <= 12


# ------------------------------------------------------------------------------ saving and resuming


class Interrupted(Exception):
    pass


def test_save_and_load_give_everything_back(plain, tmp_path):
    plain.save(tmp_path / "result.db")
    back = rs.load(tmp_path / "result.db")
    assert same(plain, back)
    assert (back.rows, back.columns, back.failures) == (plain.rows, plain.columns, plain.failures)
    assert [m._replace(range=tuple(m.range)) for m in back.measures] == list(plain.measures)
    assert back.provenance == plain.provenance
    assert not back["cka"].flags.writeable


def test_an_interrupted_run_is_continued_without_repeating(reps, plain, tmp_path):
    path, seen = tmp_path / "run.db", []

    def stop_half_way(done: int, total: int) -> None:
        seen.append((done, total))
        if done > total / 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        rs.compare(reps, save=path, progress=stop_half_way)
    partial = rs.load(path)
    assert {f.reason for f in partial.failures} == {"not computed"}
    done_before = ScoreFile(path).count()
    assert done_before >= seen[-2][0]

    seen.clear()
    result = rs.compare(reps, save=path, progress=lambda done, total: seen.append((done, total)))
    asymmetric = 2 * 10 + 5  # ordered pairs of pwcca and linear_regression; the others have 15
    assert ScoreFile(path).count() == 22 * 15 + 2 * asymmetric
    assert seen[-1][0] == seen[-1][1] < 24 * 15
    assert same(plain, result)

    seen.clear()
    assert same(plain, rs.compare(reps, save=path, progress=lambda done, total: seen.append(done)))
    assert not seen


def test_scores_are_not_kept_in_a_file_with_the_suffix_of_another_kind(tmp_path):
    for name, instead in (("a.html", "to_html"), ("a.pdf", "savefig"), ("a.tex", "to_table")):
        with pytest.raises(ValueError, match=instead):
            rs.compare([np.eye(4), np.eye(4)], measures="cka", save=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_suffix_is_the_format_of_a_table(plain, tmp_path):
    for name, part in (("a.tex", "tabular"), ("a.csv", "measure,label,x,y,value"), ("a.md", "---")):
        plain.to_table(tmp_path / name)
        assert part in (tmp_path / name).read_text()


def test_what_was_not_computed_is_saved_as_missing_not_as_failed(reps, plain, tmp_path):
    def stop(done: int, total: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        rs.compare(reps, measures=["cka", "rsa"], save=tmp_path / "run.db", progress=stop)
    rs.load(tmp_path / "run.db").save(tmp_path / "copy.db")
    again = rs.compare(reps, measures=["cka", "rsa"], save=tmp_path / "copy.db", progress=False)
    assert not again.failures
    assert np.array_equal(again["rsa"], plain["rsa"])


def test_a_failure_names_the_representation_it_is_shown_for(reps, tmp_path):
    bad = {"good": reps["net/0"], "dead 1": np.zeros((40, 3)), "dead 2": np.zeros((40, 3))}
    for names in (bad, {name.upper(): data for name, data in bad.items()}):
        result = rs.compare(names, measures=["cka"], save=tmp_path / "run.db", progress=False)
        for f in result.failures:
            named = [name for name in (f.x, f.y) if "dead" in name.lower()]
            assert any(f"representation {name!r} is constant" in f.reason for name in named)


def test_more_measures_and_representations_compute_only_what_is_new(reps, plain, tmp_path):
    path, seen = tmp_path / "run.db", []
    few = dict(list(reps.items())[:3])
    rs.compare(few, measures=["cka"], save=path, progress=False)
    both = rs.compare(
        reps, measures=["cka", "rsa"], save=path, progress=lambda done, total: seen.append(total)
    )
    assert seen[-1] == 15 - 6 + 15
    assert np.array_equal(both["cka"], plain["cka"])
    assert np.array_equal(both["rsa"], plain["rsa"])


def test_a_new_version_of_a_measure_or_other_data_are_computed_again(reps, tmp_path):
    from dataclasses import replace

    path, seen = tmp_path / "run.db", []
    rs.compare(reps, measures=["cka"], save=path, progress=False)
    newer = replace(rs.cka, version=rs.cka.version + 1)
    rs.compare(reps, measures=[newer], save=path, progress=lambda done, total: seen.append(total))
    assert seen[-1] == 15
    other = {name: data + (1e-9 if name == "net/0" else 0) for name, data in reps.items()}
    rs.compare(other, measures=["cka"], save=path, progress=lambda done, total: seen.append(total))
    assert seen[-1] == 5


KILLED = """
import sys, numpy as np, resemblance as rs
rng = np.random.default_rng(0)
reps = {str(i): rng.standard_normal((300, 20)) for i in range(12)}
rs.compare(reps, measures=["imd", "cka", "rsa"], save=sys.argv[1], progress=False)
print("finished")
"""


def test_kill_minus_nine_loses_at_most_the_pair_in_flight(tmp_path):
    path = tmp_path / "killed.db"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.stat().st_size and _count(path) > 3:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _count(path)
    assert before > 3
    uninterrupted = tmp_path / "whole.db"
    for file in (path, uninterrupted):
        command = [sys.executable, "-c", KILLED, str(file)]
        assert subprocess.run(command, capture_output=True, check=True).stdout == b"finished\n"
    assert same(rs.load(path), rs.load(uninterrupted))
    assert not rs.load(path).failures


def _count(path) -> int:
    with suppress(ValueError), ScoreFile(path, read_only=True) as store:
        return store.count()
    return 0


def test_a_worker_keeps_a_value_as_soon_as_it_is_there(reps, tmp_path):
    path, kept = tmp_path / "run.db", []

    @declared("Looking")
    def looking(x, y):
        """Looking: how many values are in the file now."""
        time.sleep(0.06)  # shorter work is written together with that of the next pairs
        kept.append(_count(path))
        return 0.0

    with ThreadPoolExecutor(1) as pool:
        rs.compare(reps, measures=[looking], jobs=pool, block_size=5, save=path, progress=False)
    assert kept[-1] > 0  # all pairs are one task, which has not ended when the last is computed


def test_two_processes_on_one_file(tmp_path):
    path = tmp_path / "shared.db"
    processes = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    assert all(p.communicate(timeout=120)[0] == b"finished\n" for p in processes)
    assert not rs.load(path).failures


def test_loading_does_not_write(plain, tmp_path):
    plain.save(tmp_path / "result.db")
    (tmp_path / "result.db").chmod(0o444)
    before = (tmp_path / "result.db").read_bytes()
    assert same(plain, rs.load(tmp_path / "result.db"))
    assert (tmp_path / "result.db").read_bytes() == before


def test_a_finished_comparison_is_one_plain_file(plain, reps, tmp_path):
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    with ThreadPoolExecutor(2) as pool:
        rs.compare(reps, measures="rsa", jobs=pool, save=path, progress=False)
    assert os.listdir(tmp_path) == ["run.db"]
    # What SQLite writes there for a file without a log.
    assert path.read_bytes()[18:20] == b"\x01\x01"
    plain.save(path)
    assert os.listdir(tmp_path) == ["run.db"]


def _left_open(path, reps) -> None:
    """Write a comparison and end without closing the file, as after a kill."""
    process = get_context("fork").Process(target=_compute_and_die, args=(path, reps))
    process.start()
    process.join()
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


def _compute_and_die(path, reps) -> None:
    store = ScoreFile(path)
    plain = rs.compare(reps, measures="cka", progress=False)
    write_missing_scores(plain, store)
    store.describe(comparison_description(plain))
    os._exit(9)


def test_what_a_kill_left_in_the_log_is_taken_in(reps, plain, tmp_path):
    path = tmp_path / "run.db"
    _left_open(path, reps)
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])
    rs.compare(reps, measures="cka", save=path, progress=False)
    assert os.listdir(tmp_path) == ["run.db"]
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])


def test_where_nothing_can_be_written(reps, plain, tmp_path):
    """A folder in the place of what SQLite would create has the effect of a medium that is read
    only."""
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    connection = sqlite3.connect(path)
    # A file from before there was one without a log.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    (tmp_path / "run.db-shm").mkdir()
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])


def test_a_log_is_never_passed_over_where_nothing_can_be_written(reps, plain, tmp_path):
    path = tmp_path / "run.db"
    _left_open(path, reps)
    (tmp_path / "run.db-shm").unlink()
    (tmp_path / "run.db-shm").mkdir()
    assert np.array_equal(rs.load(path)["cka"], plain["cka"])
    (tmp_path / "run.db-wal").unlink()
    (tmp_path / "run.db-wal").mkdir()  # a log that cannot be opened
    with pytest.raises(ValueError, match=r"run\.db was not closed: copy it with run\.db-wal"):
        rs.load(path)


def noted(name: str, value: str) -> str:
    """Put a value, as JSON, into the notes of all rows of scores."""
    return f"UPDATE scores SET notes = json_set(notes, '$.{name}', json('{value}'))"


SEVEN, INFINITE = "x'0000000000001c40'", "x'000000000000f07f'"
SABOTAGE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON scores BEGIN UPDATE scores SET size = 0; END",
    "view": "CREATE VIEW v AS SELECT * FROM scores",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX i ON scores (size)",
    "range": f"UPDATE scores SET numbers = CAST({SEVEN} || substr(numbers, 9) AS BLOB)",
    "infinite value": f"UPDATE scores SET numbers = CAST({INFINITE} || substr(numbers, 9) AS BLOB)",
    "infinite diagnostic": "UPDATE scores SET "
    f"numbers = CAST(substr(numbers, 1, length(numbers) - 8) || {INFINITE} AS BLOB)",
    "values": "UPDATE scores SET numbers = x'00'",
    "seconds": noted("seconds", '"soon"'),
    "reason": noted("reasons", '{"0": 1}'),
    "no reason": noted("reasons", '{"0": "none"}'),
    "caveat": noted("caveats", '{"0": 1}'),
    "no entry": noted("caveats", '{"9999": "few"}'),
    "names": noted("names", "[]"),
    "a taken name": noted("names", '["value"]'),
    "notes": "UPDATE scores SET notes = '[]'",
    "no notes": "UPDATE scores SET notes = x'ff'",
    "deep notes": "UPDATE scores SET notes = printf('%.*c', 200000, '[')",
    "pairs": "UPDATE scores SET pairs = x'00'",
    "data": "UPDATE scores SET data = json_array(json_extract(data, '$[0]'))",
    "no data": "UPDATE scores SET data = x'ff'",
    "size": "UPDATE scores SET size = size + 1",
    "a million": "UPDATE scores SET size = 1000000000000",
    "version": "UPDATE scores SET version = 'first'",
}
DESCRIBED = {
    "own range": "replace(description, '\"range\": [0, 1]', '\"range\": [0, 9]')",
    "no measures": '\'{"rows": [], "columns": []}\'',
    "a list": "'[]'",
    "deep": "printf('%.*c', 200000, '[')",
    "other rows": "replace(replace(description, 'net/0', 'net/9'), 'fingerprint', 'print')",
    "wrong types": "replace(description, '\"range\": [0, 1]', '\"range\": 3')",
}


def test_a_damaged_or_forged_file_is_refused_by_its_name(reps, tmp_path, subtests):
    path = tmp_path / "run.db"
    rs.compare(reps, measures="cka", save=path, progress=False)
    whole = path.read_bytes()
    described = {k: f"UPDATE header SET description = {v}" for k, v in DESCRIBED.items()}
    refused = r"run\.db (is damaged|holds what resemblance does not|cannot be used)"
    for what, statement in {**SABOTAGE, **described, "no header": "DROP TABLE header"}.items():
        path.write_bytes(whole)
        with forging(path) as connection:
            connection.execute(statement)
            if what == "own range":
                connection.execute(SABOTAGE["range"])
        with subtests.test(what), pytest.raises(ValueError, match=refused):
            rs.load(path)
        if what in SABOTAGE:
            with subtests.test(what, use="compare"), pytest.raises(ValueError, match=refused):
                rs.compare(reps, measures="cka", save=path, progress=False)


def test_a_byte_that_changes_on_the_disk_changes_no_number(reps, plain, tmp_path):
    path, g = tmp_path / "run.db", np.random.default_rng(0)
    rs.compare(reps, measures=["cka", "procrustes"], save=path, progress=False)
    whole, refused = path.read_bytes(), list[str]()
    for place in g.integers(len(whole), size=400):
        changed = bytes([whole[place] ^ 1 << int(g.integers(8))])
        path.write_bytes(whole[:place] + changed + whole[place + 1 :])
        try:
            result = rs.load(path)
        except ValueError as error:
            refused.append(str(error))
            continue
        for m in result.measures:
            values = plain[m.spec]
            assert np.array_equal(
                np.where(np.isnan(result[m.spec]), values, result[m.spec]), values
            )
    assert len(refused) > 50
    assert all(words.startswith(str(path)) for words in refused)
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE scores SET size = size + 0, version = 2")
    with pytest.raises(ValueError, match=r"run\.db is damaged: .* changed .*; delete the file"):
        rs.load(path)


def test_an_empty_file_is_no_comparison(tmp_path):
    (tmp_path / "empty.db").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.db is not .* \(it is empty\)"):
        rs.load(tmp_path / "empty.db")


def test_a_file_has_its_tables_from_its_first_byte(tmp_path):
    path, states = tmp_path / "run.db", []

    class Watched(ScoreFile):
        def _write_ahead(self):
            with ScoreFile(path, read_only=True) as reader:  # as another process, or after a kill
                states.append(reader.count())
            super()._write_ahead()

    with Watched(path):
        assert states == [0]


def test_a_full_disk_names_the_file(reps, tmp_path):
    path = tmp_path / "run.db"
    with ScoreFile(path) as store:
        store._db.execute("PRAGMA max_page_count = 4")
        store._pending = [one_score(str(i), "y" * 1000) for i in range(1000)]
        with pytest.raises(OSError, match=r"run\.db cannot be written: database or disk is full"):
            store.flush()
        store._pending = []


def _put_twenty(path, barrier, number: int) -> None:
    barrier.wait()
    with ScoreFile(path) as store:
        store.put(one_score(str(number), str(i)) for i in range(20))


def test_processes_that_create_one_file_at_the_same_moment(tmp_path):
    context = get_context("fork")
    for attempt in range(20):
        path, barrier = tmp_path / f"{attempt}.db", context.Barrier(4)
        processes = [
            context.Process(target=_put_twenty, args=(path, barrier, number)) for number in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 4
        with ScoreFile(path) as store:
            assert store.count() == 80


def test_files_that_are_not_comparisons(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        rs.load(tmp_path / "missing.db")
    (tmp_path / "table.csv").write_text("measure,x,y,value")
    with pytest.raises(ValueError, match=r"table.csv is not a saved result .*result\.save\(path\)"):
        rs.load(tmp_path / "table.csv")
    with pytest.raises(ValueError, match="is a folder; name a file in it"):
        rs.compare([np.eye(4)], measures="cka", save=tmp_path, progress=False)
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere; create"):
        rs.compare([np.eye(4)], measures="cka", save=tmp_path / "nowhere" / "a", progress=False)
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(ValueError, match=r"text\.db is not a saved result"):
        rs.load(tmp_path / "text.db")
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(ValueError, match="has format 0"):
        rs.load(tmp_path / "other.db")
    with ScoreFile(tmp_path / "damaged.db") as store:
        store.describe({"rows": []})
    with pytest.raises(ValueError, match="is damaged"):
        rs.load(tmp_path / "damaged.db")


# --------------------------------------------------------------------------------------- the result


def test_difference_is_larger_for_more_different(plain):
    for m in plain.measures:
        difference = plain.dissimilarity(m.spec)
        others = difference.sum(axis=1) - np.diag(difference)
        assert np.all(np.diag(difference).mean() < others / (len(difference) - 1)), m.spec
    assert plain.dissimilarity("cka") == pytest.approx(1 - plain["cka"])
    assert plain.dissimilarity("procrustes") is plain["procrustes"]


def test_lookup_by_name_label_or_measure(plain):
    assert plain["CKA"] is plain["cka"] is plain[rs.cka]
    with pytest.raises(KeyError, match="no measure"):
        plain[rs.cka.with_parameters(estimator="debiased")]
    with pytest.raises(KeyError, match="did you mean 'cka'"):
        plain["ckaa"]


def test_frames(plain, reps):
    frame = plain.to_pandas()
    assert len(frame) == 24 * 25
    row = frame[(frame.measure == "cka") & (frame.x == "net/0") & (frame.y == "net/3")]
    assert row.value.item() == plain["cka"][0, 3]
    cube = plain.to_xarray()
    assert cube["cka"].sel(x="net/0", y="net/3").item() == plain["cka"][0, 3]
    assert set(cube) == {m.spec for m in plain.measures}


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


def test_blas_threads_are_pinned_during_a_run_and_restored(reps):
    during = []

    @declared("Threads", range=(0, 9))
    def threads(x, y):
        """Threads: what BLAS uses now."""
        during.extend(i["num_threads"] for i in threadpool_info())
        return 0.0

    with threadpool_limits(limits=2):  # on any machine more than the one thread of a run
        before = [(i["filepath"], i["num_threads"]) for i in threadpool_info()]
        rs.compare(reps, measures=[threads], progress=False)
        after = [(i["filepath"], i["num_threads"]) for i in threadpool_info()]
    assert 2 in {count for _, count in before}
    assert set(during) == {1}
    assert after == before


def test_progress_counts_both_orders_of_asymmetric_measures(reps):
    seen = []
    rs.compare(
        reps,
        measures=["linear_regression"],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (25, 25)
    assert len({done for done, _ in seen}) == len(seen)


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


@declared("Column40", larger_is_more_similar=False, range=(0, np.inf))
def column_four(x, y):
    """Column four: raises on anything narrower."""
    return abs(x.array[0, 4] - y.array[0, 4]) + len(x.array[np.arange(40) > 3]) * 0


def test_a_measure_that_needs_more_than_the_probe_has(reps):
    assert np.isfinite(
        rs.compare(reps, measures=[column_four], progress=False)["column_four"]
    ).all()


def test_intermediates_are_planned_with_the_sizes_of_parameters():
    from resemblance.engine.intermediate_sizes import intermediates_used

    assert sum(intermediates_used(rs.jaccard.with_parameters(k=30), 100_000, 8).values()) < 1e9
    assert sum(intermediates_used(rs.rtd, 10_000, 64).values()) < 1e8
    assert sum(intermediates_used(rs.rsa, 4000, 64).values()) == pytest.approx(6.4e7, rel=0.2)
    assert sum(intermediates_used(rs.rsa, 10_000, 64).values()) < 2e7  # no matrix of all pairs


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


def test_memory_mapped_files_are_compared_by_path(reps, plain, tmp_path):
    for name, data in reps.items():
        np.save(tmp_path / f"{name.replace('/', '_')}.npy", data)
    paths = sorted(tmp_path.glob("*.npy"))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        result = rs.compare([rs.Representation(p) for p in paths], jobs=pool, progress=False)
    assert same(plain, result)
    assert result.rows == tuple(f"net_{i}" for i in range(5))


def test_tensors_are_compared_like_arrays(reps, plain):
    import torch

    tensors = {name: torch.from_numpy(data) for name, data in reps.items()}
    result = rs.compare(tensors, progress=False)
    for m in plain.measures:
        assert result[m.spec] == pytest.approx(plain[m.spec], rel=1e-8, abs=1e-7), m.spec
    assert "torch" in result.provenance["libraries"]


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


def test_a_value_that_is_there_stays(tmp_path):
    first, second = np.array([0], np.int32), np.array([1], np.int32)
    matrix = ScoreMatrix("own", 1, False, ("a", "b"), ("a", "b"))
    with ScoreFile(tmp_path / "c.db") as store:
        for value in (1.0, 2.0):
            store.put([ScoreBatch("own", 1, ("a", "b"), first, second, np.array([value]), 0.1)])
            store.flush()
        store.put([ScoreBatch("own", 1, ("a", "b"), first, first, np.array([3.0]), 0.1)])
        store.flush()
        for column in store.columns():
            matrix.put(column)
        matrix.put(ScoreBatch("own", 1, ("a", "b"), first, second, np.array([5.0]), 0.1))
        assert matrix.values[0].tolist() == [3.0, 1.0]
        assert store.count(self_pairs=True) == 1


def test_a_row_names_all_its_data(tmp_path):
    sides = np.array([0], np.int32), np.array([1], np.int32)
    path = tmp_path / "c.db"
    with ScoreFile(path) as store:
        store.put([ScoreBatch("own", 1, ("a", "b"), *sides, np.array([1.0]), 0.1)])
    with forging(path) as connection:
        connection.execute("""UPDATE scores SET data = '["a"]'""")
    with ScoreFile(path, read_only=True) as store, pytest.raises(ValueError, match="does not name"):
        list(store.columns())


def test_one_value_by_its_names():
    g = np.random.default_rng(0)
    named = {name: g.standard_normal((20, 3)) for name in "abc"}
    scores = rs.compare(named, measures=["cka", "procrustes"], progress=False)
    assert scores["cka", "a", "c"] == scores["cka"][0, 2]
    assert isinstance(scores[scores.measures[1], "b", "c"], float)
    assert (
        rs.evidence(named, measures="cka", progress=False)["cka", "a", "b"] == scores["cka"][0, 1]
    )
    with pytest.raises(KeyError, match="no 'd' in this comparison"):
        scores["cka", "a", "d"]
    with pytest.raises(KeyError, match="no measure 'cca'"):
        scores["cca", "a", "b"]


def test_a_damaged_record_is_named_and_not_taken_for_a_pair_that_was_not_computed(tmp_path):
    rng = np.random.default_rng(0)
    layers = {name: rng.standard_normal((20, 3)) for name in "abc"}
    whole, damaged = tmp_path / "x.comparison", tmp_path / "y.comparison"
    rs.compare(layers, measures=["cka", "rsa"], progress=False).save(whole)
    content, expected, refused = whole.read_bytes(), rs.load(whole), 0
    for place in rng.choice(len(content), 250, replace=False):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        damaged.write_bytes(flipped)
        try:
            loaded = rs.load(damaged)
        except ValueError:
            refused += 1
            continue
        assert not [f for f in loaded.failures if f.reason == "not computed"], place
        for spec in ("cka", "rsa"):
            np.testing.assert_array_equal(loaded[spec], expected[spec])
    assert refused
