"""Calls carried out by workers: what becomes of those whose worker is killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from types import SimpleNamespace

import pytest

from resemblance.engine.workers import (
    MAX_CALL_ATTEMPTS,
    LostWorkerError,
    WorkerCall,
    WorkerPool,
    count_workers,
    is_on_this_machine,
    run_calls,
)


def new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, get_context("fork"))


@pytest.fixture
def pool():
    workers = WorkerPool(new_pool)
    yield workers
    workers.pool.shutdown()


def note(folder, name) -> int:
    """Return how often a call of this name was begun, this time included."""
    with (folder / name).open("a") as file:
        file.write("x")
    return len((folder / name).read_text())


def killed_at_first(folder, name):
    if note(folder, name) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def always_killed(folder, name):
    note(folder, name)
    os.kill(os.getpid(), signal.SIGKILL)


def undisturbed(folder, name):
    note(folder, name)
    return name


def calls(folder, **functions):
    return [WorkerCall(name, function, (folder, name)) for name, function in functions.items()]


def test_a_call_that_kills_every_worker_is_named_after_all_others_are_done(pool, tmp_path):
    functions = dict.fromkeys("abce", undisturbed)
    todo = calls(tmp_path, killer=always_killed, **functions, second=always_killed)
    done = list(run_calls(todo, pool, lambda line: None))
    assert {call.name for call, _ in done[:4]} == set("abce")
    for call, future in done[4:]:
        with pytest.raises(LostWorkerError, match=f"^{call.name}: a worker ended .* 3 times"):
            future.result()
        assert len((tmp_path / call.name).read_text()) == MAX_CALL_ATTEMPTS
    assert len(done) == 6


def test_a_pool_of_the_caller_is_replaced_for_this_run(tmp_path):
    settings = {"initializer": os.environ.__setitem__, "initargs": ("OF_THE_POOL", "set")}
    with ProcessPoolExecutor(2, get_context("fork"), **settings) as pool:
        todo = calls(tmp_path, a=killed_at_first, b=from_initializer, c=always_killed)
        with pytest.warns(UserWarning, match="a worker ended before it finished.* repeating: "):
            done = {call.name: future for call, future in run_calls(todo, pool)}
        assert done["a"].result() == "a"
        assert done["b"].result() == "set"
        with pytest.raises(LostWorkerError, match=r"^c: .* 3 times"):
            done["c"].result()
        again = calls(tmp_path, d=from_initializer)  # with a pool that is broken from the start
        ((_, future),) = run_calls(again, pool, lambda line: None)
        assert future.result() == "set"
    assert not active_children()


def from_initializer(folder, name):
    return os.environ["OF_THE_POOL"]


class KilledWorker(Exception):
    """Named as the error of Dask."""


class Scheduler:
    """An executor with a client, as Dask has it, whose workers all end."""

    def __init__(self, threads=(), planned=()):
        cluster = SimpleNamespace(plan=planned) if planned else None
        self._client = SimpleNamespace(nthreads=lambda: dict(enumerate(threads)), cluster=cluster)

    def submit(self, function, *arguments, pure):
        assert not pure
        future = Future()
        future.set_exception(KilledWorker("train_one-8fa3"))
        return future


def test_a_call_that_dask_gave_up_is_named(tmp_path):
    ((_, future),) = run_calls(calls(tmp_path, a=undisturbed), Scheduler())
    with pytest.raises(
        LostWorkerError, match=r"^a: a worker ended .*LocalCluster\(memory_limit=None\)"
    ):
        future.result()


def test_calls_are_taken_as_workers_become_free():
    taken: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        todo = (taken.append(i) or WorkerCall(str(i), abs, (i,)) for i in range(40))
        next(outcomes := run_calls(todo, pool))
        assert len(taken) <= 5
        assert len(list(outcomes)) == 39
        assert is_on_this_machine(pool)


def test_an_executor_says_how_many_workers_it_has(pool):
    assert count_workers(pool) == 2
    assert count_workers(ThreadPoolExecutor(7)) == 7
    assert count_workers(Scheduler([4, 4, 2])) == 10
    assert count_workers(Scheduler([], planned=range(30))) == 30
    assert count_workers(Scheduler()) == 1
    assert count_workers(object()) == os.cpu_count()
