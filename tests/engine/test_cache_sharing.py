"""Intermediates computed once for all workers: what is lent is what would be computed, to the last
bit, and nothing stays behind, also after a kill."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

import resemblance as rs
from resemblance.data.representation import Representation, cached, pair_cache, working_values
from resemblance.engine import cache_sharing
from resemblance.engine.cache_sharing import (
    SharedRepresentation,
    attach_cache,
    fill_cache,
    load_shared,
    serialize_cache,
    share_by_files,
    shared_cache,
    with_filled_cache,
    write_array,
)

MEASURES = (rs.cka, rs.get_measure("rsa"), rs.get_measure("pwcca"))
ALL = [m for m in rs.preset("all") if m.requires is None]
ABOUT = {"family": "descriptive", "larger_is_more_similar": True, "range": (0, np.inf)}
ABOUT |= {"symmetric": True, "citation": "nobody2026nothing"}


def fork_pool():
    return ProcessPoolExecutor(2, get_context("fork"))


def threads():
    return ThreadPoolExecutor(2)


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.fixture
def x(rng) -> Representation:
    return Representation(rng.standard_normal((30, 5)), "x", ids=range(30))


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    common = rng.standard_normal((40, 6))
    arrays = {str(i): common + 0.5 * rng.standard_normal((40, 6)) for i in range(6)}
    return arrays | {"wide": rng.standard_normal((40, 50)).astype(np.float32)}


# --------------------------------------------------------------------------- as bytes, and back


class Kinds(NamedTuple):
    plain: np.ndarray
    alias: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    constant: np.ndarray
    entry: np.ndarray
    nothing: np.ndarray
    fortran: np.ndarray
    protected: np.ndarray
    record: np.ndarray
    words: tuple[str, ...]
    table: sparse.csr_matrix


@cached
def kinds(x: Representation, scale: float = 1.0) -> Kinds:
    a = scale * x.array
    protected = a[:, :1].copy()
    protected.flags.writeable = False
    record = np.zeros(5, dtype=[("flag", "i1"), ("value", "f8")])
    entry, constant = np.asarray(a[0, 0]), np.broadcast_to(a[0], a.shape)
    parts = (a, a.T, a[1:], a[:, 1:3], constant, entry, a[:0], np.asfortranarray(a + 1), protected)
    return Kinds(*parts, record["value"], ("a", "b"), sparse.csr_matrix(np.round(a)))


@cached
def of_source(x: Representation) -> tuple[np.ndarray, int]:
    return x.source[1:], 7


@cached
def unpicklable(x: Representation):
    return lambda: x.shape


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    if sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    return [a for part in value for a in arrays_in(part)] if isinstance(value, tuple) else []


def packed(x: Representation) -> np.ndarray:
    return np.frombuffer(b"".join(serialize_cache(x)), np.uint8)


def again(x: Representation) -> Representation:
    """Return a representation of the same data that finds the intermediates of another."""
    return attach_cache(Representation(x.source, x.name), pickle.loads(pickle.dumps(packed(x))))


@pytest.mark.parametrize("order", ["C", "F"])
def test_intermediates_come_back_as_they_were(rng, order):
    x = Representation(np.asarray(rng.standard_normal((6, 4)), order=order), "x")
    expected = [kinds(x), kinds(x, scale=2.0), of_source(x), working_values(x)]
    y = again(x)
    x.clear_cache()
    result = [kinds(y), kinds(y, scale=2.0), of_source(y), working_values(y)]
    for a, b in zip(expected, result, strict=True):
        for one, other in zip(arrays_in(a), arrays_in(b), strict=True):
            assert (one.strides, one.dtype) == (other.strides, other.dtype) or not one.size
            np.testing.assert_array_equal(one, other)
    assert result[0].words == ("a", "b")
    assert not result[0].protected.flags.writeable
    assert np.shares_memory(result[0].alias, result[0].plain)
    assert np.shares_memory(result[0].rows, result[0].plain)
    assert np.shares_memory(working_values(y), y.source) == (order == "C")
    assert not np.shares_memory(result[0].plain, result[1].plain)


def test_memory_is_packed_once(rng):
    x = Representation(rng.standard_normal((100, 50)))
    kinds(x)  # of the size of the source: plain, columns, constant, Fortran, the sparse one
    assert len(packed(x)) < 5 * x.source.nbytes
    plain = Representation(x.source)
    working_values(plain)
    assert len(packed(plain)) < 1000


def test_what_cannot_be_packed_is_computed_again(rng):
    @cached
    def local(x: Representation) -> np.ndarray:
        return x.array + 1

    x = Representation(rng.standard_normal((6, 4)))
    assert unpicklable(x)() == (6, 4)
    assert local(x)[0, 0] == x.array[0, 0] + 1
    y = again(x)
    assert unpicklable(y)() == (6, 4)
    np.testing.assert_array_equal(local(y), local(x))


@pytest.mark.parametrize("shape", [(40, 7), (30, 44), (25, 1)])
def test_all_measures_have_the_same_bits_with_packed_intermediates(rng, shape):
    data = rng.standard_normal((2, *shape)).astype(np.float32)
    data[1] += data[0]
    x, y = (Representation(d, n) for d, n in zip(data, "xy"))
    expected = values_of(x, y)
    for r in (x, y):
        r.clear_cache()
        fill_cache(r, ALL)
    computed = set(x.cache)
    lent = again(x), again(y)
    assert values_of(*lent) == expected
    assert not {k for k in set(lent[0].cache) - computed if k[0] is not working_values}


def values_of(x, y):
    scores = {}
    with pair_cache(x, y):
        for m in ALL:
            try:
                scores[m.spec] = m.evaluate(x, y)
            except ValueError as error:
                scores[m.spec] = str(error)
    return scores


# ------------------------------------------------------------------------------------------- loans


def test_a_loan_travels_as_paths_and_is_the_same_for_all_that_open_it(x, tmp_path):
    loan, before, end = share_by_files(x, MEASURES, tmp_path)
    assert len(pickle.dumps(loan)) < 2000
    for call in before:
        call.function(*call.arguments)
    (file,) = tmp_path.glob("*.cache")
    content = file.read_bytes()
    first, second = (load_shared(pickle.loads(pickle.dumps(loan))) for _ in "ab")
    np.testing.assert_array_equal(first.source, x.source)
    assert (first.name, first.ids, first.dtype) == (x.name, x.ids, x.dtype)
    for m in MEASURES:
        assert m.evaluate(first, first) == m.evaluate(x, x)
    assert set(first.cache) <= set(x.cache)
    for (
        array
    ) in first.cache.values():  # who changes an intermediate changes neither others nor the file
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = 0
    assert rs.cka.evaluate(second, second) == rs.cka.evaluate(x, x)
    assert file.read_bytes() == content
    end()
    assert {path.suffix for path in tmp_path.iterdir()} <= {".lock"}


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_is_mapped_again_without_its_header(rng, tmp_path, order):
    np.save(tmp_path / "x.npy", np.asarray(rng.standard_normal((6, 4)), dtype="f4", order=order))
    x = Representation(tmp_path / "x.npy", ids=range(6))
    travelling = pickle.dumps(x)
    with (tmp_path / "x.npy").open("r+b") as file:
        file.write(bytes(10))  # which threads of Python 3.11 can fail to read
    y = pickle.loads(travelling)
    np.testing.assert_array_equal(y.source, x.source)
    assert (y.source.strides, y.source.dtype, y.ids) == (x.source.strides, x.source.dtype, x.ids)


def test_other_loans(x, tmp_path):
    lent = load_shared(pickle.loads(pickle.dumps(with_filled_cache(x, MEASURES))))
    for m in MEASURES:
        assert m.evaluate(lent, lent) == m.evaluate(x, x)
    assert load_shared(x) is not x
    assert load_shared(SharedRepresentation(x, MEASURES, None)) is x
    constant = Representation(np.ones((30, 5)), "c")
    loan, _, _ = share_by_files(constant, MEASURES, tmp_path)
    for _ in "ab":  # a measure that fails leaves the intermediates of the others
        with pytest.raises(rs.UndefinedError, match="'c' is constant"):
            rs.cka.evaluate(load_shared(loan), load_shared(loan))
    on_file = write_array(x, tmp_path / "x")
    assert share_by_files(on_file, MEASURES, tmp_path)[0].representation is on_file


def test_a_full_disk_costs_time_only(x, arrays, tmp_path, monkeypatch):
    loan, _, _ = share_by_files(x, MEASURES, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(cache_sharing, "serialize_cache", full)
        y = load_shared(loan)
    assert rs.cka.evaluate(y, y) == pytest.approx(1)
    assert not loan.intermediates.exists()
    expected = rs.compare(arrays, measures="cka", progress=False)
    folder = tmp_path / "of arrays"
    folder.mkdir()
    with monkeypatch.context() as patch, fork_pool() as pool:
        patch.setattr(cache_sharing, "write_array", full)
        options = {"jobs": pool, "block_size": 2, "spill": folder, "progress": False}
        result = rs.compare(arrays, measures="cka", **options)
    np.testing.assert_array_equal(result["cka"], expected["cka"])
    assert not list(folder.iterdir())


# ----------------------------------------------------------------------------------------- folders


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob(f"{cache_sharing.SHARED_FOLDER_PREFIX}-*"))


def test_the_folder_is_private_and_is_removed(tmp_path):
    with ProcessPoolExecutor(1) as pool, shared_cache(pool, tmp_path, 0):
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert str(os.getpid()) in folder.name.split("-")
    assert leftovers(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), shared_cache(Executor(), tmp_path, 0):
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []


def test_only_executors_with_processes_here_get_a_folder_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_sharing, "SHARED_MEMORY_FOLDER", tmp_path)
    with ProcessPoolExecutor(1) as pool, shared_cache(pool, None, 0):
        assert len(leftovers(tmp_path)) == 1
        for executor, spill in ((pool, False), (None, None), (Executor(), None)):
            with shared_cache(executor, spill, 0) as intermediates:
                assert intermediates is None
    for spill, problem in {
        "/nowhere": "spill='/nowhere' is not a folder; make it first",
        "/proc": "cannot be written to /proc .*; name another folder by spill=",
    }.items():
        with pytest.raises(ValueError, match=problem), shared_cache(Executor(), spill, 0):
            pass


KILLED = """
import os, signal, sys
from concurrent.futures import Executor
from resemblance.engine.cache_sharing import shared_cache
with shared_cache(Executor(), sys.argv[1], 0):
    if len(sys.argv) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run(*words) -> int:
    return subprocess.run([sys.executable, "-c", KILLED, *map(str, words)]).returncode


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    assert run(tmp_path, "kill") == -signal.SIGKILL
    (left,) = leftovers(tmp_path)
    elsewhere = tmp_path / left.replace(socket.gethostname(), "another-machine")
    alive = (
        tmp_path / f"{cache_sharing.SHARED_FOLDER_PREFIX}-{socket.gethostname()}-{os.getpid()}-abc"
    )
    for folder in (elsewhere, alive):
        folder.mkdir()
    assert run(tmp_path) == 0
    assert leftovers(tmp_path) == sorted([elsewhere.name, alive.name])


# --------------------------------------------------------------------------------- in a comparison


@cached
def noted(x: Representation) -> np.ndarray:
    with Path(os.environ["NOTES"]).open("a") as file:
        file.write(f"{x.name}\n")
    return np.ones(len(x.array))


@rs.measure(label="Noting", **ABOUT)
def noting(x, y):
    """Noting: 1, and the name of each representation whose intermediate is computed goes into a
    file."""
    return float(noted(x) @ noted(y) / len(x.array))


@pytest.mark.parametrize("executor", [fork_pool, threads])
@pytest.mark.parametrize("block_size", [None, 1, 3])
def test_each_intermediate_is_computed_once(arrays, executor, block_size, tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    monkeypatch.setenv("NOTES", str(notes))
    few = dict(list(arrays.items())[:3])
    with executor() as pool:
        options = {"measures": noting, "jobs": pool, "block_size": block_size, "progress": False}
        for inputs in ([arrays], [few, arrays]):
            rs.compare(*inputs, **options)
            assert sorted(notes.read_text().split()) == sorted(name for a in inputs for name in a)
            notes.unlink()


@pytest.mark.parametrize("room", [0.0, 1.5, 4.5])
def test_only_what_there_is_room_for_is_lent(arrays, room, tmp_path, monkeypatch):
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    size = 8 * 40 * (2 * 6 + 1) * room  # of files for an array and its intermediates
    monkeypatch.setattr(cache_sharing, "_free_bytes", lambda folder: size)
    del arrays["wide"]
    with fork_pool() as pool:
        options = {"jobs": pool, "block_size": 1, "spill": tmp_path, "progress": False}
        result = rs.compare(arrays, measures=noting, **options)
    np.testing.assert_array_equal(result["noting"], 1)
    computed = len((tmp_path / "notes").read_text().split())
    assert computed == 36 - 5 * int(room)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("executor", [fork_pool, threads])
@pytest.mark.parametrize("how", [None, False, "folder"])
def test_what_is_lent_changes_no_bit(arrays, executor, how, tmp_path):
    rows = dict(list(arrays.items())[:3])
    measures = [m for m in rs.preset("default") if m.name != "rtd"]
    expected = [rs.compare(arrays, measures=measures), rs.compare(rows, arrays, measures=measures)]
    options = {"measures": measures, "spill": tmp_path if how == "folder" else how, "block_size": 2}
    with executor() as pool:
        results = [
            rs.compare(arrays, jobs=pool, **options),
            rs.compare(rows, arrays, jobs=pool, **options),
        ]
    for one, other in zip(expected, results, strict=True):
        assert one.failures == other.failures
        for m in measures:
            np.testing.assert_array_equal(one[m.spec], other[m.spec], err_msg=m.spec)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:compare. memory=.* is less than one pair takes")
def test_groups_of_measures_and_small_budgets_are_lent_one_after_the_other(arrays, tmp_path):
    measures = ["cka", "rsa", "jaccard", "distance_correlation", "procrustes"]
    expected = rs.compare(arrays, measures=measures)
    with fork_pool() as pool:
        result = rs.compare(
            arrays, measures=measures, jobs=pool, memory="60 kB", block_size=2, spill=tmp_path
        )
    for m in measures:
        np.testing.assert_array_equal(expected[m], result[m])
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_stopped_leaves_nothing_behind(arrays, tmp_path):
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with fork_pool() as pool, pytest.raises(KeyboardInterrupt):
        rs.compare(arrays, measures=MEASURES, jobs=pool, spill=tmp_path, progress=stop)
    assert not list(tmp_path.iterdir())


def test_other_executors_share_through_a_folder(arrays, tmp_path):
    class Elsewhere:
        """An executor of nobody's: it pickles what it gets, as one of other machines."""

        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*pickle.loads(pickle.dumps(arguments))))
            return future

    expected = rs.compare(arrays, measures="cka")
    lent = rs.compare(arrays, measures="cka", jobs=Elsewhere(), block_size=1, spill=tmp_path)
    np.testing.assert_array_equal(lent["cka"], expected["cka"])


def test_tensors_are_not_lent(arrays, tmp_path):
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    expected = rs.compare(tensors, measures="procrustes")
    with fork_pool() as pool:
        options = {"jobs": pool, "block_size": 2, "spill": tmp_path, "progress": False}
        result = rs.compare(tensors, measures="procrustes", **options)
    np.testing.assert_array_equal(result["procrustes"], expected["procrustes"])


@pytest.mark.parametrize("memory", ["5 kB", "1GB"])
@pytest.mark.filterwarnings("ignore:compare. memory=.* is less than one pair takes")
def test_threads_forget_what_no_task_needs(arrays, memory):
    inputs = [Representation(data, name) for name, data in arrays.items()]
    holding = []

    def look(done: int, total: int) -> None:
        holding.append(sum(any(map(np.ndim, r.cache.values())) for r in inputs))

    with threads() as pool:
        rs.compare(inputs, measures="rsa", jobs=pool, block_size=1, memory=memory, progress=look)
    assert max(holding) == len(inputs) if memory == "1GB" else max(holding) < len(inputs)
    assert not any(isinstance(v, np.ndarray) for r in inputs for v in r.cache.values())


def test_evidence_is_the_same_with_what_is_lent(arrays, tmp_path):
    options = {"measures": ["procrustes", "mutual_knn"], "n_permutations": 19, "progress": False}
    few = dict(list(arrays.items())[:3])
    here = rs.evidence(few, **options)
    with fork_pool() as pool:
        there = rs.evidence(few, **options, jobs=pool, spill=tmp_path)
    for m in options["measures"]:
        np.testing.assert_array_equal(here.pvalue(m), there.pvalue(m))
        np.testing.assert_array_equal(here.low(m), there.low(m))
    assert not list(tmp_path.iterdir())
