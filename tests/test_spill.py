"""Views computed once for all workers: what is lent is what would be computed, and nothing stays
behind, also after a kill."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import resemblance as rs
from resemblance import spill
from resemblance.lending import lending
from resemblance.representation import Representation, view
from resemblance.spill import Files, Shared, lent_views, opened, write_views

MEASURES = (rs.cka, rs.get_measure("rsa"), rs.get_measure("pwcca"))
ROOM = 1e9


@view
def counted(x: Representation) -> np.ndarray:
    return np.array([os.getpid(), threading.get_ident()])


@rs.measure(
    label="Counting",
    family="statistic",
    larger_is_more_similar=True,
    range=(0, np.inf),
    symmetric=True,
    reference="nobody2026nothing",
)
def counting(x, y):
    """Counting: notes whose view it computes."""
    return float(counted(x)[0] > 0)


@pytest.fixture
def x(rng) -> Representation:
    return Representation(rng.standard_normal((30, 5)), "x", ids=range(30))


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob(f"{spill.PREFIX}-*"))


def test_a_representation_travels_as_the_paths_of_its_data_and_views(x, tmp_path):
    loan, before = Files({tmp_path: ROOM}).lend(x, MEASURES)
    assert len(pickle.dumps(loan)) < 2000 < x.source.nbytes + 1500
    assert len(before) == 1
    before[0].function(*before[0].arguments)
    y = opened(pickle.loads(pickle.dumps(loan)))
    np.testing.assert_array_equal(y.source, x.source)
    assert (y.name, y.ids, y.dtype) == (x.name, x.ids, x.dtype)
    for m in MEASURES:
        assert m.evaluate(y, y) == m.evaluate(x, x)
    assert set(y.views) <= set(x.views)


def test_the_first_worker_computes_the_views_and_the_others_read_them(x, tmp_path):
    lender = Files({tmp_path: ROOM})
    loan, _ = lender.lend(x, (counting,))
    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(lambda _: counted(opened(loan)).tolist(), range(8)))
    assert len(set(map(tuple, first))) == 1
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(view_in_worker, loan).result() == first[0]


def view_in_worker(loan):
    return counted(opened(loan)).tolist()


def test_what_was_lent_is_lent_again_until_it_ends(x, tmp_path):
    lender = Files({tmp_path: ROOM})
    loan, before = lender.lend(x, MEASURES)
    assert lender.lend(x, MEASURES) == (loan, [])
    other, more = lender.lend(x, MEASURES[:1])
    assert other.representation is loan.representation
    for call in (*before, *more):
        call.function(*call.arguments)
    lender.end(x, MEASURES)
    assert not loan.file.exists()
    assert opened(other).shape == (30, 5)
    lender.end(x, MEASURES[:1])
    lender.end(x, MEASURES[:1])  # nothing more to end
    assert [p.suffix for p in tmp_path.iterdir()] in ([], [".lock"], [".lock"] * 2)


def test_an_array_in_a_file_is_not_written_again(tmp_path, rng):
    np.save(tmp_path / "x.npy", rng.standard_normal((30, 5)))
    x, folder = Representation(tmp_path / "x.npy"), tmp_path / "spill"
    folder.mkdir()
    lender = Files({folder: ROOM})
    loan, _ = lender.lend(x, MEASURES)
    write_views(loan)
    assert {p.suffix for p in folder.iterdir()} == {".views", ".lock"}
    lender.end(x, MEASURES)
    assert (tmp_path / "x.npy").exists()


def test_only_what_there_is_room_for_is_lent(x, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    size = spill._bytes_of(x, MEASURES)
    assert size > x.source.nbytes
    lender = Files({tmp_path / "a": 1.5 * size, tmp_path / "b": 1.5 * size})
    others = [Representation(x.source + i, str(i)) for i in range(3)]
    loans = [lender.lend(r, MEASURES)[0] for r in others]
    assert [loan.file.parent.name for loan in loans[:2]] == ["a", "b"]
    assert loans[2] is others[2]
    lender.end(others[0], MEASURES)
    assert lender.lend(others[2], MEASURES)[0].file.parent.name == "a"


def test_a_full_disk_costs_time_only(x, tmp_path, monkeypatch):
    loan, _ = Files({tmp_path: ROOM}).lend(x, MEASURES)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("resemblance.packed_views.Packed.write", full)
    y = opened(loan)
    assert rs.cka.evaluate(y, y) == pytest.approx(1)
    assert not loan.file.exists()


def test_a_disk_that_fills_up_before_the_array_is_written_costs_time_only(
    arrays, tmp_path, monkeypatch
):
    def full(path, array):
        path.touch()
        raise OSError(28, "No space left on device")

    expected = rs.compare(arrays, measures="cka", progress=False)
    with monkeypatch.context() as patch, fork_pool() as pool:
        patch.setattr(spill.np, "save", full)
        options = {"executor": pool, "tile": 2, "spill": tmp_path, "progress": False}
        result = rs.compare(arrays, measures="cka", **options)
    np.testing.assert_array_equal(result["cka"], expected["cka"])
    assert not list(tmp_path.iterdir())


def test_tensors_and_views_of_other_libraries_are_not_lent(x, tmp_path):
    import torch

    tensor = Representation(torch.from_numpy(x.source), "t")
    assert Files({tmp_path: ROOM}).lend(tensor, MEASURES) == (tensor, [])


def test_a_measure_that_fails_leaves_the_views_of_the_others(tmp_path):
    constant = Representation(np.ones((30, 5)), "c")
    loan, _ = Files({tmp_path: ROOM}).lend(constant, MEASURES)
    write_views(loan)
    with pytest.raises(rs.Undefined, match="'c' is constant"):
        rs.cka.evaluate(opened(loan), opened(loan))


def test_views_in_memory_are_the_same(x):
    lent = pickle.loads(pickle.dumps(lent_views(x, MEASURES)))
    y = opened(lent)
    for m in MEASURES:
        assert m.evaluate(y, y) == m.evaluate(x, x)
    assert opened(x) is not x
    assert opened(Shared(x)) is x


# ----------------------------------------------------------------------------------------- folders


def test_the_folder_is_private_and_is_removed(tmp_path):
    with ProcessPoolExecutor(1) as pool, lending(pool, tmp_path, 0) as lender:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert str(os.getpid()) in folder.name.split("-")
        assert isinstance(lender, Files)
    assert leftovers(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), lending(Executor(), tmp_path, 0):
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []


def test_only_executors_with_processes_here_get_a_folder_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "IN_MEMORY", tmp_path)
    with ProcessPoolExecutor(1) as pool, lending(pool, None, 0) as lender:
        assert isinstance(lender, Files)
        assert len(leftovers(tmp_path)) == 1
        with lending(pool, False, 0) as other:
            assert other is None
    for executor in (None, Executor()):
        with lending(executor, None, 0) as lender:
            assert lender is None
    problem = "spill='/nowhere' is not a folder; make it first"
    with pytest.raises(ValueError, match=problem), lending(Executor(), "/nowhere", 0):
        pass
    problem = "cannot be written to /proc .*; name another folder by spill="
    with pytest.raises(ValueError, match=problem), lending(Executor(), "/proc", 0):
        pass


KILLED = """
import os, signal, sys, numpy as np
from concurrent.futures import Executor
from resemblance.lending import lending
with lending(Executor(), sys.argv[1], 0):
    if len(sys.argv) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run(*words) -> int:
    return subprocess.run([sys.executable, "-c", KILLED, *map(str, words)]).returncode


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    assert run(tmp_path, "kill") == -signal.SIGKILL
    (left,) = leftovers(tmp_path)
    elsewhere = tmp_path / left.replace(socket.gethostname(), "another-machine")
    alive = tmp_path / f"{spill.PREFIX}-{socket.gethostname()}-{os.getpid()}-abc"
    for folder in (elsewhere, alive):
        folder.mkdir()
    assert run(tmp_path) == 0
    assert leftovers(tmp_path) == sorted([elsewhere.name, alive.name])


# --------------------------------------------------------------------------------- in a comparison


@pytest.fixture
def arrays(rng) -> dict[str, np.ndarray]:
    common = rng.standard_normal((40, 6))
    arrays = {str(i): common + 0.5 * rng.standard_normal((40, 6)) for i in range(6)}
    return arrays | {"wide": rng.standard_normal((40, 50)).astype(np.float32)}


@view
def noted(x: Representation) -> float:
    with Path(os.environ["NOTES"]).open("a") as file:
        file.write(f"{x.name}\n")
    return np.ones(len(x.array))


@rs.measure(
    label="Noting",
    family="statistic",
    larger_is_more_similar=True,
    range=(0, np.inf),
    symmetric=True,
    reference="nobody2026nothing",
)
def noting(x, y):
    """Noting: 1, and the name of each representation whose view is computed goes into a file."""
    return float(noted(x) @ noted(y) / len(x.array))


def fork_pool():
    return ProcessPoolExecutor(2, get_context("fork"))


def threads():
    return ThreadPoolExecutor(2)


@pytest.mark.parametrize("executor", [fork_pool, threads])
@pytest.mark.parametrize("tile", [None, 1, 3])
def test_each_view_is_computed_once(arrays, executor, tile, tmp_path, monkeypatch):
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    rs.compare(arrays, measures=noting, progress=False)
    (tmp_path / "notes").unlink()
    with executor() as pool:
        rs.compare(arrays, measures=noting, executor=pool, tile=tile, progress=False)
        names = (tmp_path / "notes").read_text().split()
        assert sorted(names) == sorted(arrays)
        (tmp_path / "notes").unlink()
        few = dict(list(arrays.items())[:3])
        rs.compare(few, arrays, measures=noting, executor=pool, tile=tile, progress=False)
        assert len((tmp_path / "notes").read_text().split()) == len(few) + len(arrays)


@pytest.mark.parametrize("executor", [fork_pool, threads])
@pytest.mark.parametrize("how", [None, False, "folder"])
def test_what_is_lent_changes_no_bit(arrays, executor, how, tmp_path):
    rows = dict(list(arrays.items())[:3])
    measures = [m for m in rs.preset("default") if m.name != "rtd"]
    expected = [rs.compare(arrays, measures=measures), rs.compare(rows, arrays, measures=measures)]
    options = {"measures": measures, "spill": tmp_path if how == "folder" else how, "tile": 2}
    with executor() as pool:
        results = [
            rs.compare(arrays, executor=pool, **options),
            rs.compare(rows, arrays, executor=pool, **options),
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
            arrays, measures=measures, executor=pool, memory="60 kB", tile=2, spill=tmp_path
        )
    for m in measures:
        np.testing.assert_array_equal(expected[m], result[m])
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_stopped_leaves_nothing_behind(arrays, tmp_path):
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with fork_pool() as pool, pytest.raises(KeyboardInterrupt):
        rs.compare(arrays, executor=pool, spill=tmp_path, progress=stop)
    assert not list(tmp_path.iterdir())


def test_other_executors_share_through_a_folder(arrays, tmp_path):
    class Elsewhere:
        """An executor of nobody's: it pickles what it gets, as one of other machines."""

        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*pickle.loads(pickle.dumps(arguments))))
            return future

    expected = rs.compare(arrays, measures="cka")
    lent = rs.compare(arrays, measures="cka", executor=Elsewhere(), tile=1, spill=tmp_path)
    np.testing.assert_array_equal(lent["cka"], expected["cka"])


@pytest.mark.parametrize("memory", ["5 kB", "1GB"])
@pytest.mark.filterwarnings("ignore:compare. memory=.* is less than one pair takes")
def test_threads_forget_what_no_task_needs(arrays, memory):
    inputs = [Representation(data, name) for name, data in arrays.items()]
    holding = []

    def look(done: int, total: int) -> None:
        holding.append(sum(any(map(np.ndim, r.views.values())) for r in inputs))

    with threads() as pool:
        rs.compare(inputs, measures="rsa", executor=pool, tile=1, memory=memory, progress=look)
    assert max(holding) == len(inputs) if memory == "1GB" else max(holding) < len(inputs)
    assert not any(isinstance(v, np.ndarray) for r in inputs for v in r.views.values())


def test_evidence_is_the_same_with_what_is_lent(arrays, tmp_path):
    options = {"measures": ["procrustes", "mutual_knn"], "draws": 19, "progress": False}
    few = dict(list(arrays.items())[:3])
    here = rs.evidence(few, **options)
    with fork_pool() as pool:
        there = rs.evidence(few, **options, executor=pool, spill=tmp_path)
    for m in options["measures"]:
        np.testing.assert_array_equal(here.p(m), there.p(m))
        np.testing.assert_array_equal(here.low(m), there.low(m))
    assert not list(tmp_path.iterdir())
