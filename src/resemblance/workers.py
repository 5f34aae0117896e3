"""Calls carried out by the workers of an executor, also when a worker is killed meanwhile."""

from __future__ import annotations

import os
import warnings
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
from itertools import islice
from typing import Any, NamedTuple

AHEAD = 4  # calls for each worker that an executor has at a time
ATTEMPTS = 3  # of a call whose worker is lost; Dask has the same number


class Call(NamedTuple):
    """A function to call, its arguments, and what messages name the call by."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Outcome = tuple[Call, "Future[Any]"]
Say = Callable[[str], None]


class LostWorkerError(ValueError):
    """A call ends every worker that takes it: most often there is too little memory for it."""


class WorkerPool:
    """Processes on this machine that can be replaced.

    It takes the place of a ``ProcessPoolExecutor``, which is of no use once one of its processes
    was killed. ``make`` returns such a pool, whose processes start when there is work.
    """

    def __init__(self, make: Callable[[], ProcessPoolExecutor]):
        self._make = make
        self.pool = make()

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


def has_processes(executor: object) -> bool:
    """Say whether the workers of an executor are processes of a pool of Python's own."""
    return isinstance(executor, ProcessPoolExecutor | WorkerPool)


def warn(line: str) -> None:
    """Say something as a warning."""
    warnings.warn(line, stacklevel=2)


def carry_out(
    calls: Iterable[Call], executor: Executor | None, say: Say = warn
) -> Iterator[Outcome]:
    """Yield each call with its future as soon as that is done; without an executor, one by one.

    Calls that were not begun are cancelled when the caller stops. A call whose worker is killed is
    made again, by Dask, or here in a :class:`WorkerPool`, about which ``say`` is told. After
    ``ATTEMPTS`` times its future has a :class:`LostWorkerError` with its name; all others are
    carried out before. Any other pool is broken then: so are the futures of all its calls.
    """
    if executor is None:
        return ((call, _here(call)) for call in calls)
    if isinstance(executor, WorkerPool):
        return _by_processes(calls, executor, say)
    return _elsewhere(calls, executor)


def _here(call: Call) -> Future[Any]:
    future = Future[Any]()
    try:
        future.set_result(call.function(*call.arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def _elsewhere(calls: Iterable[Call], executor: Executor) -> Iterator[Outcome]:
    # Dask takes equal calls for one and the same unless it is told that functions do more than
    # return a value, as by writing a file.
    more = {"pure": False} if hasattr(executor, "_client") else {}
    waiting, ahead = iter(calls), AHEAD * workers_of(executor)
    pending: dict[Future[Any], Call] = {}
    try:
        while True:
            for call in islice(waiting, ahead - len(pending)):
                pending[executor.submit(call.function, *call.arguments, **more)] = call
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                call = pending.pop(future)
                yield call, _lost(call) if _has_lost_workers(future) else future
    finally:
        for future in pending:
            future.cancel()


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


def _by_processes(calls: Iterable[Call], pool: WorkerPool, say: Say) -> Iterator[Outcome]:
    """Carry out calls, no more at a time than there are processes.

    All calls in progress are lost when one process is killed, and nothing says which one it had. So
    they are made again after all others, and the second time alone.
    """
    waiting = iter(calls)
    queues: list[list[Call]] = [list(islice(waiting, 1)), *([] for _ in range(ATTEMPTS - 1))]
    pending: dict[Future[Any], tuple[Call, int]] = {}
    try:
        while pending or any(queues):
            while (losses := _next(queues, len(pending), workers_of(pool))) is not None:
                call = queues[losses].pop()
                pending[pool.submit(call.function, *call.arguments)] = call, losses
                if not queues[0]:
                    queues[0] += islice(waiting, 1)
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
                    queues[losses + 1].insert(0, call)
                else:
                    yield call, _lost(call)
    finally:
        for future in pending:
            future.cancel()


def _is_broken(future: Future[Any]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


def _next(queues: list[list[Call]], running: int, workers: int) -> int | None:
    """Return how often the next call was lost; None while all workers have work, or the next call
    has to wait until it can be made alone."""
    losses = next((i for i, queue in enumerate(queues) if queue), None)
    alone = losses == ATTEMPTS - 1
    return losses if running < (1 if alone else workers) else None
