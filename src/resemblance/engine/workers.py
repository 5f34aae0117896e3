"""Calls carried out by the workers of an executor, also when a worker is killed meanwhile."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from ..base.arrays import full_precision
from ..base.text import warn

MAX_CALL_ATTEMPTS = 3  # of a call whose worker is lost; Dask has the same number


class WorkerCall(NamedTuple):
    """A function to call, its arguments, what messages name the call by, and what it has on loan
    until it is carried out."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    uses: tuple[Any, ...] = ()


class LostWorkerError(ValueError):
    """A call ends every worker that takes it: most often there is too little memory for it."""


class WorkerPool:
    """Processes on this machine that can be replaced.

    It takes the place of a ``ProcessPoolExecutor``, which is of no use once one of its processes
    was killed. ``make`` returns such a pool, whose processes start when there is work; ``first`` is
    used before.
    """

    def __init__(
        self, make: Callable[[], ProcessPoolExecutor], first: ProcessPoolExecutor | None = None
    ):
        self._make = make
        self.pool = first or make()

    @classmethod
    def like(cls, executor: object) -> WorkerPool | None:
        """Return an executor that is replaced by others like it when it breaks; None for one that
        is no pool of processes."""
        if isinstance(executor, WorkerPool):
            return executor
        if not isinstance(executor, ProcessPoolExecutor):
            return None
        settings = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
        values = {name: getattr(executor, f"_{name}") for name in settings}  # as Python names them
        return cls(partial(ProcessPoolExecutor, **values), executor)

    @property
    def _max_workers(self) -> int:
        """The number of processes, by the name that the executors of Python have for it."""
        return count_workers(self.pool)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Let a process call a function, in a new pool if the present one is broken."""
        try:
            return self.pool.submit(function, *arguments)
        except BrokenProcessPool:  # a process was killed while it had no work
            self.renew()
            return self.pool.submit(function, *arguments)

    def renew(self) -> None:
        """Take a new pool."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool = self._make()


def count_workers(executor: object) -> int:
    """Return how many calls an executor carries out at a time.

    Pools of Python, joblib and mpi4py say it themselves. The executor of a Dask client has the
    threads of all workers that the scheduler knows, or one for each worker that its cluster has
    asked for, if these are more. For any other it is the number of processors here.
    """
    _check_executor_type(executor)
    client = getattr(executor, "_client", None)
    if client is not None:
        n_planned = len(getattr(client.cluster, "plan", ()))
        threads: int = sum(client.nthreads().values())
        return max(1, n_planned, threads)
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def _check_executor_type(executor: object) -> None:
    if isinstance(executor, int | str):
        raise ValueError(
            "executor must be one of concurrent.futures, such as ProcessPoolExecutor(4), or take "
            f"calls as these do; got {executor!r}"
        )


def is_on_this_machine(executor: object) -> bool:
    """Say whether the workers of an executor run on this machine, with its memory and its files."""
    return is_process_pool(executor) or isinstance(executor, ThreadPoolExecutor)


def is_local_cluster(executor: object) -> bool:
    """Say whether the workers of an executor are those of a Dask cluster on this machine alone."""
    cluster = getattr(getattr(executor, "_client", None), "cluster", None)
    return type(cluster).__name__ == "LocalCluster"  # Dask's, which need not be installed


def is_process_pool(executor: object) -> bool:
    """Say whether the workers of an executor are processes of a pool of Python's own."""
    return isinstance(executor, ProcessPoolExecutor | WorkerPool)


def run_calls(
    calls: Iterable[WorkerCall], executor: Executor | None, say: Callable[[str], None] = warn
) -> Iterator[tuple[WorkerCall, Future[Any]]]:
    """Yield each call with its future as soon as that is done; without an executor, one by one.

    Calls are taken when they are about to be made, and those not begun are cancelled when the
    caller stops. A call whose worker is killed is made again, by Dask, or here: the pool of
    processes that is broken then is replaced by one like it until the calls are done, about which
    ``say`` is told. All that the pool had is lost with it, and nothing says which call the killed
    process had; so these calls are made again after all others, and the second time alone. After
    ``ATTEMPTS`` times the future of a call has a :class:`LostWorkerError` with its name. An
    executor of another kind may break: then so do the futures of all its calls.
    """
    if executor is None:
        yield from ((call, _call_here(call)) for call in calls)
        return
    _check_executor_type(executor)
    pool = WorkerPool.like(executor)
    submit: Callable[..., Future[Any]] = (pool or executor).submit
    # Dask takes equal calls for one and the same unless it is told that functions do more than
    # return a value, as by writing a file.
    options = {"pure": False} if hasattr(executor, "_client") else {}
    queue, lost_calls = ((call, 0) for call in calls), list[tuple[WorkerCall, int]]()
    pending: dict[Future[Any], tuple[WorkerCall, int]] = {}
    try:
        while True:
            for _ in range(_max_pending_calls(executor) - len(pending)):
                entry = next(queue, None)
                if (
                    entry is None
                    and lost_calls
                    and (lost_calls[0][1] < MAX_CALL_ATTEMPTS - 1 or not pending)
                ):
                    entry = lost_calls.pop(0)
                if entry is None:
                    break
                pending[submit(entry[0].function, *entry[0].arguments, **options)] = entry
            if not pending:
                return
            ready = wait(pending, return_when=FIRST_COMPLETED).done
            if pool and any(_is_worker_lost(future, pool) for future in ready):
                ready = wait(pending).done  # of what a broken pool had, nothing goes on
                pool.renew()
                names = ", ".join(pending[f][0].name for f in ready if _is_worker_lost(f, pool))
                say(f"a worker ended before its work was done; to be done again: {names}")
            for future in ready:
                call, losses = pending.pop(future)
                if not _is_worker_lost(future, pool):
                    yield call, future
                elif pool and losses + 1 < MAX_CALL_ATTEMPTS:
                    lost_calls.append((call, losses + 1))
                else:
                    yield call, _lost_worker_error(call)
            lost_calls.sort(key=lambda entry: entry[1])
    finally:
        for future in pending:
            future.cancel()
        if pool and executor not in (pool, pool.pool):
            pool.pool.shutdown(cancel_futures=True)


def call_results(
    calls: Iterable[WorkerCall],
    executor: Executor,
    save: str | Path | None,
    caller: str = "compare",
) -> Iterator[tuple[WorkerCall, Any]]:
    """Yield calls with what they return as soon as they are done; errors say what is kept in
    ``save``."""
    hint = f"what was computed is kept in {save}; the same call continues"
    hint = "save=FILE keeps results" if save is None else hint
    try:
        for call, future in run_calls(calls, executor):
            yield call, future.result()
    except BrokenExecutor as error:
        cause = "a worker ended before its work was done, most often for lack of memory"
        remedy = "take fewer workers, or a smaller memory="
        raise type(error)(f"{caller}: {cause}: {remedy}; {hint}") from error
    except LostWorkerError as error:
        raise LostWorkerError(f"{caller}: {error}; {hint}") from error


def check_picklable(measures: Iterable[Any], executor: Executor) -> None:
    """Raise for a measure that cannot be sent to the processes of an executor."""
    if is_process_pool(executor):
        for measure in measures:
            pickle.dumps(measure)  # it fails here; the pool might never end


def _call_here(call: WorkerCall) -> Future[Any]:
    future = Future[Any]()
    try:
        future.set_result(call.function(*call.arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def _max_pending_calls(executor: Executor) -> int:
    """Return how many calls an executor has at a time: one for each process; for each thread one,
    and one to go on with; more of a cluster, which takes a while to hand them out, or whose workers
    nobody counts."""
    workers = count_workers(executor)
    if is_process_pool(executor):
        return workers
    return 2 * workers if isinstance(executor, ThreadPoolExecutor) else max(100, 10 * workers)


def _is_worker_lost(future: Future[Any], pool: WorkerPool | None) -> bool:
    error = None if future.cancelled() else future.exception()
    if pool:
        return isinstance(error, BrokenProcessPool)
    return type(error).__name__ == "KilledWorker"  # Dask's, which need not be installed


def _lost_worker_error(call: WorkerCall) -> Future[Any]:
    future = Future[Any]()
    future.set_exception(
        LostWorkerError(
            f"{call.name}: its worker ended before the work was done, {MAX_CALL_ATTEMPTS} times, "
            "most often for lack of memory: take fewer workers, or a machine with more memory"
        )
    )
    return future


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run BLAS, OpenMP and PyTorch on one thread, and in full precision, inside this block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    with threadpool_limits(limits=1), full_precision():
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)
