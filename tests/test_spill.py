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
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
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
    with ProcessPoolExecutor(1) as pool, lending(pool, tmp_path) as lender:
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert str(os.getpid()) in folder.name.split("-")
        assert isinstance(lender, Files)
    assert leftovers(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), lending(Executor(), tmp_path):
        raise KeyboardInterrupt
    assert leftovers(tmp_path) == []


def test_only_executors_with_processes_here_get_a_folder_by_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "IN_MEMORY", tmp_path)
    with ProcessPoolExecutor(1) as pool, lending(pool, None) as lender:
        assert isinstance(lender, Files)
        assert len(leftovers(tmp_path)) == 1
        with lending(pool, False) as other:
            assert other is None
    for executor in (None, Executor()):
        with lending(executor, None) as lender:
            assert lender is None
    problem = "spill='/nowhere' is not a folder; make it first"
    with pytest.raises(ValueError, match=problem), lending(Executor(), "/nowhere"):
        pass


KILLED = """
import os, signal, sys, numpy as np
from concurrent.futures import Executor
from resemblance.lending import lending
with lending(Executor(), sys.argv[1]):
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
