"""Studies and files of comparisons where the file system has no locks, as some on networks."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from factories import HANG_SECONDS

import resemblance as rs
from resemblance.base import locks
from resemblance.base.locks import STALE_AFTER, has_locks, lock_folder, soft_lock
from resemblance.bench.study import Purpose, is_running, study_folder
from resemblance.comparison import store
from resemblance.comparison.scores import ScoreBatch
from resemblance.comparison.store import ScoreFile


@pytest.fixture
def lockless(monkeypatch):
    """A file system without locks."""

    def lock(file, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "lockf", lock)


def holding(folder, name=".held", **owner):
    """Write the file of another process that holds a folder; ``age`` is that of its last sign."""
    age = owner.pop("age", 0)
    (folder / name).write_text(json.dumps(owner))
    os.utime(folder / name, (time.time() - age,) * 2)


def cell(name: str) -> ScoreBatch:
    return ScoreBatch("m", 1, (name,), np.array([0]), np.array([0]), np.array([1.0]))


def test_whether_there_are_locks_is_tried_out(tmp_path, monkeypatch):
    assert has_locks(tmp_path)
    assert not list(tmp_path.iterdir())
    assert has_locks(tmp_path / "missing")
    for number in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):

        def lock(file, operation, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "lockf", lock)
        assert not has_locks(tmp_path)


# ---------------------------------------------------------------------------------------- a study


def test_a_study_without_locks_is_for_one_process_at_a_time(tmp_path, lockless):
    with lock_folder(tmp_path):
        assert is_running(tmp_path)
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        with (
            pytest.raises(ValueError, match=f"{owner} .* is working on .*; wait until"),
            lock_folder(tmp_path, patience=0.0),
        ):
            pass
        assert is_running(tmp_path)  # the attempt took nothing away
    assert not is_running(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_study_of_a_killed_process_is_free_at_once(tmp_path, lockless):
    code = (
        "import sys, time; from pathlib import Path; from resemblance.base.locks import soft_lock\n"
    )
    code += "with soft_lock(Path(sys.argv[1]), 'it'): print('held', flush=True); time.sleep(600)"
    words = [sys.executable, "-c", code, str(tmp_path / ".held")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        assert is_running(tmp_path)
        process.send_signal(signal.SIGKILL)
    with study_folder(tmp_path, Purpose("resi", "mini")):
        pass
    assert not (tmp_path / ".held").exists()


def test_a_process_elsewhere_is_heard_of_or_dead(tmp_path, lockless):
    holding(tmp_path, host="node17", pid=os.getpid(), age=STALE_AFTER / 2)
    with pytest.raises(ValueError, match=r"on node17 .* is working on"), lock_folder(tmp_path, 0):
        pass
    holding(tmp_path, host="node17", pid=os.getpid(), age=STALE_AFTER + 60)
    with lock_folder(tmp_path):
        assert json.loads((tmp_path / ".held").read_text())["host"] == socket.gethostname()
    holding(tmp_path, host="node17", pid=1, age=STALE_AFTER + 60)
    holding(tmp_path, ".held-removal", host="node18", pid=1)  # another is about to take it over
    with pytest.raises(ValueError, match="on node17"), lock_folder(tmp_path, 0):
        pass
    holding(tmp_path, ".held-removal", host="node18", pid=1, age=STALE_AFTER + 60)
    with lock_folder(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_holder_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 0.01)
    file = tmp_path / "f"
    with soft_lock(file, "it"):
        os.utime(file, (0, 0))
        deadline = time.monotonic() + HANG_SECONDS
        while not file.stat().st_mtime and time.monotonic() < deadline:
            time.sleep(0.01)
        assert file.stat().st_mtime > 0


def test_a_holder_that_slept_leaves_the_lock_to_who_took_it_over(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 0.01)
    file, code = tmp_path / "f", "from resemblance.base.locks import soft_lock, Path\n"
    code += f"with soft_lock(Path({str(tmp_path / 'f')!r}), 'it'):\n    print(flush=True), input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        sleeper.stdout.readline()
        os.kill(sleeper.pid, signal.SIGSTOP)
        os.utime(file, (time.time() - STALE_AFTER - 60,) * 2)
        with soft_lock(file, "it"):
            holder = file.read_text()
            os.kill(sleeper.pid, signal.SIGCONT)
            sleeper.communicate(b"\n", timeout=HANG_SECONDS)
            assert file.read_text() == holder
            with pytest.raises(ValueError, match=f"process {os.getpid()} "), soft_lock(file, "it"):
                pass
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------- a file of comparisons


def test_a_file_is_written_and_read_without_any_lock(tmp_path, lockless, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_SECONDS", 0.1)
    path = tmp_path / "run.db"
    with ScoreFile(path) as file:
        file.put([cell("a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")  # a lock that would keep out who asks for locks
        with ScoreFile(path) as file:
            file.put([cell("b")])
            file.flush()
            assert "run.db-held" in os.listdir(tmp_path)
            with closing(store.open_score_file_read_only(path)) as reader:
                assert reader.execute("SELECT sum(size) FROM scores").fetchone() == (2,)
    assert os.listdir(tmp_path) == ["run.db"]


def test_a_file_without_locks_has_one_writer(tmp_path, lockless):
    path = tmp_path / "run.db"
    ours = rf"^process {os.getpid()} .* working on .*run\.db"
    with ScoreFile(path), pytest.raises(ValueError, match=ours):
        ScoreFile(path)
    with ScoreFile(path):
        holding(tmp_path, "run.db-held", host="node17", pid=1)
    with pytest.raises(ValueError, match=r"^process 1 on node17 .* working on .*run\.db"):
        ScoreFile(path)


def test_what_a_kill_left_in_a_log_is_read_without_locks(tmp_path, lockless, monkeypatch):
    path = tmp_path / "run.db"
    with monkeypatch.context() as with_locks:
        with_locks.setattr(fcntl, "lockf", lambda file, operation: None)
        first = ScoreFile(path)
        first.put([cell("a")])
        first.flush()
        for name in ("run.db", "run.db-wal"):  # what is on the disk when a process is killed
            (tmp_path / f"killed-{name}").write_bytes((tmp_path / name).read_bytes())
        first.__exit__()
    left = tmp_path / "killed-run.db"
    with closing(store.open_score_file_read_only(left)) as reader:
        assert reader.execute("SELECT sum(size) FROM scores").fetchone() == (1,)
    with ScoreFile(left) as file:
        assert [c.data for c in file.columns()] == [("a",)]
    assert sorted(os.listdir(tmp_path)) == ["killed-run.db", "run.db"]


def test_only_the_driver_writes_where_there_are_no_locks(tmp_path, lockless, rng):
    arrays = {name: rng.standard_normal((20, 3)) for name in "abcd"}
    expected = rs.compare(arrays, measures=["cka", "rsa"])
    with ThreadPoolExecutor(2) as pool:
        path = tmp_path / "run.db"
        found = rs.compare(arrays, measures=["cka", "rsa"], jobs=pool, block_size=1, save=path)
    for comparison in (found, rs.load(path)):
        assert all(np.array_equal(comparison[m], expected[m]) for m in ("cka", "rsa"))
    assert os.listdir(tmp_path) == ["run.db"]
