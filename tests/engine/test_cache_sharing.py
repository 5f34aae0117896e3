"""Intermediates computed once and shared with all workers: shared arrays are bitwise equal to
computed arrays, and no file stays behind, even after a kill."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from factories.measures import declared, same_scores
from scipy import sparse

import resemblance as rs
from resemblance.data.representation import (
    Representation,
    cached,
    force_large_arrays,
    is_large_array,
)
from resemblance.engine import cache_sharing
from resemblance.engine.cache_sharing import load_shared, with_filled_cache

DEFAULT = [m for m in rs.preset("default") if m.name != "rtd"]


class Pickling:
    """An executor unknown to the package that pickles all arguments, like an executor on other
    machines."""

    def submit(self, function, *arguments):
        future = Future()
        future.set_result(function(*pickle.loads(pickle.dumps(arguments))))
        return future

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def fork_pool():
    return ProcessPoolExecutor(2, get_context("fork"))


def threads():
    return ThreadPoolExecutor(2)


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    common = rng.standard_normal((40, 6))
    arrays = {str(i): common + 0.5 * rng.standard_normal((40, 6)) for i in range(5)}
    constant = {"constant": np.ones((40, 6))}
    return arrays | constant | {"wide": rng.standard_normal((40, 50)).astype(np.float32)}


# ---------------------------------------------------------------------------- of all measures


@pytest.mark.parametrize("executor", [Pickling, fork_pool, threads])
def test_what_is_lent_changes_no_bit(arrays, executor, tmp_path):
    arrays["1"] = np.asfortranarray(arrays["1"])
    rows = dict(list(arrays.items())[:3])
    options = {"measures": DEFAULT, "block_size": 2, "spill": tmp_path}
    with executor() as pool:
        for sides in ([arrays], [rows, arrays]):
            expected = rs.compare(*sides, measures=DEFAULT)
            result = rs.compare(*sides, jobs=pool, **options)
            assert same_scores(expected, result)
            assert result.failures == expected.failures
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(40, 7), (30, 44), (25, 1)])
def test_all_measures_have_the_same_bits(rng, shape, tmp_path):
    data = rng.standard_normal((2, *shape)).astype(np.float32)
    data[1] += data[0]
    measures = [m for m in rs.preset("all") if m.requires is None]
    options = {"measures": [m for m in measures if "labels" not in m.defaults], "progress": False}
    expected = rs.compare(list(data), **options)
    lent = rs.compare(list(data), **options, jobs=Pickling(), spill=tmp_path)
    assert same_scores(expected, lent)
    assert lent.failures == expected.failures


@cached
def all_kinds(x: Representation, scale: float = 1.0) -> tuple:
    """Arrays of all layouts: parts of each other, strided, broadcast, empty, sparse."""
    a = scale * x.array
    record = np.zeros(5, dtype=[("flag", "i1"), ("value", "f8")])
    record["value"] = a[:5, 0]
    entry, constant = np.asarray(a[0, 0]), np.broadcast_to(a[0], a.shape)
    parts = (a, a.T, a[1:], a[:, 1:3], constant, entry, a[:0], np.asfortranarray(a + 1))
    return (*parts, record["value"], sparse.csr_matrix(np.round(a)), ("a", "b"))


@cached
def of_source(x: Representation) -> tuple[np.ndarray, int]:
    return x.source[1:], 7


@cached
def unpicklable(x: Representation):
    return lambda: x.array.sum()


@declared("Kinds", range=(0, np.inf))
def of_kinds(x, y):
    """Kinds: the difference of all arrays of all kinds."""

    @cached
    def local(r: Representation) -> np.ndarray:
        return r.array + 1

    total = abs(unpicklable(x)() - unpicklable(y)()) + abs(local(x) - local(y)).sum()
    for scale in (1.0, 2.0):
        for a, b in zip(all_kinds(x, scale=scale), all_kinds(y, scale=scale)):
            if not isinstance(a, tuple):
                total += abs(a - b).sum()
    return float(total + abs(of_source(x)[0] - of_source(y)[0]).sum())


@pytest.mark.parametrize("order", ["C", "F"])
def test_intermediates_of_any_kind_are_lent(rng, order, tmp_path):
    data = [np.asarray(rng.standard_normal((9, 4)), order=order) for _ in range(3)]
    expected = rs.compare(data, measures=of_kinds, progress=False)
    lent = rs.compare(data, measures=of_kinds, jobs=Pickling(), spill=tmp_path, progress=False)
    assert same_scores(expected, lent)
    assert expected["of_kinds"][0, 1] > 0


@declared("Blocks", range=(0, 1))
def is_computed_in_blocks(x, y):
    """Blocks: whether no array is copied as a whole."""
    return float(is_large_array(x) and is_large_array(y))


def test_no_worker_copies_a_large_array(arrays, tmp_path):
    options = {"jobs": Pickling(), "spill": tmp_path, "block_size": 2, "progress": False}
    with force_large_arrays(True):
        table = rs.compare(arrays, measures=is_computed_in_blocks, **options)
    assert (table["is_computed_in_blocks"] == 1).all()


def test_intermediates_travel_with_a_representation_to_a_cluster(rng):
    x = Representation(rng.standard_normal((30, 5)), "x")
    measures = (rs.cka, rs.get_measure("rsa"), rs.get_measure("pwcca"))
    lent = load_shared(pickle.loads(pickle.dumps(with_filled_cache(x, measures))))
    for m in measures:
        assert m.evaluate(lent, lent) == m.evaluate(x, x)


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


# ---------------------------------------------------------------------- computed once, and bounded


@cached
def noted(x: Representation) -> np.ndarray:
    with Path(os.environ["NOTES"]).open("a") as file:
        file.write(f"{x.name}\n")
    return np.ones(len(x.array))


@declared("Noting")
def noting(x, y):
    """Noting: 1, and the name of each representation whose intermediate is computed goes into a
    file."""
    return float(noted(x) @ noted(y) / len(x.array))


@pytest.mark.parametrize("executor", [fork_pool, threads])
@pytest.mark.parametrize("block_size", [None, 1])
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


def test_tensors_are_not_lent(arrays, tmp_path):
    import torch

    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    with fork_pool() as pool:
        options = {"jobs": pool, "block_size": 2, "spill": tmp_path, "progress": False}
        result = rs.compare(tensors, measures="procrustes", **options)
    assert same_scores(rs.compare(tensors, measures="procrustes"), result)


@pytest.mark.parametrize("writer", ["write_array", "serialize_cache"])
def test_a_full_disk_costs_time_only(arrays, writer, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_sharing, writer, full)
    result = rs.compare(arrays, measures="cka", jobs=Pickling(), spill=tmp_path, progress=False)
    assert same_scores(rs.compare(arrays, measures="cka"), result)
    assert not list(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------- folders


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob(f"{cache_sharing.SHARED_FOLDER_PREFIX}-*"))


def test_the_folder_is_private_and_is_removed_also_when_a_run_is_stopped(arrays, tmp_path):
    def stop(done: int, total: int) -> None:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert str(os.getpid()) in folder.name.split("-")
        if done:
            raise KeyboardInterrupt

    with fork_pool() as pool, pytest.raises(KeyboardInterrupt):
        rs.compare(arrays, measures="cka", jobs=pool, spill=tmp_path, progress=stop)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("executor", "spill", "count"),
    [(fork_pool, None, 1), (fork_pool, False, 0), (Pickling, None, 0), (threads, None, 0)],
)
def test_only_processes_here_get_a_folder_by_themselves(
    arrays, executor, spill, count, tmp_path, monkeypatch
):
    monkeypatch.setattr(cache_sharing, "SHARED_MEMORY_FOLDER", tmp_path)
    seen = []
    with executor() as pool:
        options = {"jobs": pool, "spill": spill, "measures": "cka"}
        rs.compare(arrays, **options, progress=lambda *_: seen.append(len(leftovers(tmp_path))))
    assert set(seen) == {count}


@pytest.mark.parametrize(
    ("spill", "problem"),
    [
        ("/nowhere", "spill='/nowhere' is not a folder; make it first"),
        ("/proc", "cannot be written to /proc .*; choose another folder with spill="),
    ],
)
def test_folders_that_cannot_hold_files_are_refused(arrays, spill, problem):
    with fork_pool() as pool, pytest.raises(ValueError, match=problem):
        rs.compare(arrays, measures="cka", jobs=pool, spill=spill)


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
    prefix = f"{cache_sharing.SHARED_FOLDER_PREFIX}-{socket.gethostname()}"
    alive = tmp_path / f"{prefix}-{os.getpid()}-abc"
    for folder in (elsewhere, alive):
        folder.mkdir()
    assert run(tmp_path) == 0
    assert leftovers(tmp_path) == sorted([elsewhere.name, alive.name])
