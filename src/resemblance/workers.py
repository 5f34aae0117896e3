"""Calls carried out by the workers of an executor, also when a worker is killed meanwhile."""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

ATTEMPTS = 3  # of a call whose worker is lost; Dask has the same number


class Call(NamedTuple):
    """A function to call, its arguments, and what messages name the call by."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


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

    @property
    def _max_workers(self) -> int:
        """The number of processes, by the name that the executors of Python have for it."""
        return workers_of(self.pool)

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


def workers_of(executor: object) -> int:
    """Return how many calls an executor carries out at a time.

    Pools of Python, joblib and mpi4py say it themselves. The executor of a Dask client has the
    threads of all workers that the scheduler knows, or one for each worker that its cluster has
    asked for, if these are more. For any other it is the number of processors here.
    """
    client = getattr(executor, "_client", None)
    if client is not None:
        planned = len(getattr(client.cluster, "plan", ()))
        threads: int = sum(client.nthreads().values())
        return max(1, planned, threads)
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def shares_files(executor: object) -> bool:
    """Say whether the workers of an executor run on this machine, with its memory and its files."""
    return has_processes(executor) or isinstance(executor, ThreadPoolExecutor)


def is_local_cluster(executor: object) -> bool:
    """Say whether the workers of an executor are those of a Dask cluster on this machine alone."""
    cluster = getattr(getattr(executor, "_client", None), "cluster", None)
    return type(cluster).__name__ == "LocalCluster"  # Dask's, which need not be installed


def has_processes(executor: object) -> bool:
    """Say whether the workers of an executor are processes of a pool of Python's own."""
    return isinstance(executor, ProcessPoolExecutor | WorkerPool)


def warn(line: str) -> None:
    """Warn of the line outside this package that led here."""
    frame, level = sys._getframe(1), 2
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(line, stacklevel=level)


def carry_out(
    calls: Iterable[Call], executor: Executor | None, say: Callable[[str], None] = warn
) -> Iterator[tuple[Call, Future[Any]]]:
    """Yield each call with its future as soon as that is done; without an executor, one by one.

    Calls are taken when they are about to be made, and those not begun are cancelled when the
    caller stops. A call whose worker is killed is made again, by Dask, or here: the pool of
    processes that is broken then is replaced by one like it until the calls are done, about which
    ``say`` is told. After ``ATTEMPTS`` times its future has a :class:`LostWorkerError` with its
    name; all others are carried out before. An executor of another kind may break: then so do the
    futures of all its calls.
    """
    if executor is None:
        return ((call, _here(call)) for call in calls)
    if isinstance(executor, WorkerPool):
        return _by_processes(calls, executor, say)
    if isinstance(executor, ProcessPoolExecutor):
        return _replaceable(calls, executor, say)
    return _elsewhere(calls, executor)


def _here(call: Call) -> Future[Any]:
    future = Future[Any]()
    try:
        future.set_result(call.function(*call.arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def _elsewhere(calls: Iterable[Call], executor: Executor) -> Iterator[tuple[Call, Future[Any]]]:
    # Dask takes equal calls for one and the same unless it is told that functions do more than
    # return a value, as by writing a file.
    more = {"pure": False} if hasattr(executor, "_client") else {}
    remaining, pending = iter(calls), dict[Future[Any], Call]()
    try:
        while True:
            for call in islice(remaining, max(0, _at_a_time(executor) - len(pending))):
                pending[executor.submit(call.function, *call.arguments, **more)] = call
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                call = pending.pop(future)
                yield call, _lost(call) if _has_lost_workers(future) else future
    finally:
        for future in pending:
            future.cancel()


def _at_a_time(executor: Executor) -> int:
    """Return how many calls an executor has at a time: one for each thread, and one to go on with;
    more of a cluster, which takes a while to hand them out, or whose workers nobody counts."""
    workers = workers_of(executor)
    return 2 * workers if isinstance(executor, ThreadPoolExecutor) else max(100, 10 * workers)


def _has_lost_workers(future: Future[Any]) -> bool:
    error = None if future.cancelled() else future.exception()
    return type(error).__name__ == "KilledWorker"  # Dask's, which need not be installed


def _lost(call: Call) -> Future[Any]:
    future = Future[Any]()
    future.set_exception(
        LostWorkerError(
            f"{call.name}: its worker ended before the work was done, {ATTEMPTS} times, most often "
            "for lack of memory: take fewer workers, or a machine with more memory"
        )
    )
    return future


def _replaceable(
    calls: Iterable[Call], executor: ProcessPoolExecutor, say: Callable[[str], None]
) -> Iterator[tuple[Call, Future[Any]]]:
    """Carry out calls by a pool of the caller's, and by others like it when it is broken."""

    settings = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
    named = {name: getattr(executor, f"_{name}") for name in settings}  # as Python names them
    workers = WorkerPool(partial(ProcessPoolExecutor, **named), executor)
    try:
        yield from _by_processes(calls, workers, say)
    finally:
        if workers.pool is not executor:
            workers.pool.shutdown(cancel_futures=True)


def _by_processes(
    calls: Iterable[Call], pool: WorkerPool, say: Callable[[str], None]
) -> Iterator[tuple[Call, Future[Any]]]:
    """Carry out calls, no more at a time than there are processes.

    All calls in progress are lost when one process is killed, and nothing says which one it had. So
    they are made again after all others, and the second time alone.
    """
    remaining = Remaining(calls)
    pending: dict[Future[Any], tuple[Call, int]] = {}
    try:
        while True:
            while entry := remaining.next(len(pending), workers_of(pool)):
                pending[pool.submit(entry[0].function, *entry[0].arguments)] = entry
            if not pending:
                return
            ready = wait(pending, return_when=FIRST_COMPLETED).done
            if any(map(_is_broken, ready)):
                ready = wait(pending).done  # of what a broken pool had, nothing goes on
                pool.renew()
                lost = ", ".join(pending[future][0].name for future in ready if _is_broken(future))
                say(f"a worker ended before its work was done; to be done again: {lost}")
            for future in ready:
                call, losses = pending.pop(future)
                if not _is_broken(future):
                    yield call, future
                elif losses + 1 < ATTEMPTS:
                    remaining.again(call, losses + 1)
                else:
                    yield call, _lost(call)
    finally:
        for future in pending:
            future.cancel()


class Remaining:
    """Calls to be made: new ones in their order, then lost ones, those lost most often last."""

    def __init__(self, calls: Iterable[Call]):
        self._calls = iter(calls)
        self._lost: list[deque[Call]] = [deque() for _ in range(ATTEMPTS)]

    def again(self, call: Call, losses: int) -> None:
        """Take a call back that was lost so many times."""
        self._lost[losses].append(call)

    def next(self, running: int, workers: int) -> tuple[Call, int] | None:
        """Take the next call and how often it was lost; None while all workers have work, while it
        has to wait until it can be made alone, or if there is none."""
        if running < workers:
            for call in self._calls:
                return call, 0
        for losses, queue in enumerate(self._lost):
            alone = losses == ATTEMPTS - 1
            if queue:
                return (queue.popleft(), losses) if running < (1 if alone else workers) else None
        return None


def _is_broken(future: Future[Any]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run BLAS, OpenMP and PyTorch on one thread inside this block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    with threadpool_limits(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)
