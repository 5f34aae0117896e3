"""Open the executor of a computation: the calling process, a process pool, or the caller's
executor."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, TypeAlias, cast

from .workers import WorkerPool

Jobs: TypeAlias = int | Executor | None
# The first code of a worker, as text so that the worker imports no module of the package before. A
# keyboard interrupt reaches all processes, but only the parent may respond. A worker ends when its
# parent ends, for any reason.
WORKER_INITIALIZER = """
import multiprocessing, os, signal, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=lambda: (multiprocessing.parent_process().join(), os._exit(1)),
                 daemon=True).start()
from resemblance.engine.memory import keep_freed_memory
keep_freed_memory()
"""


@contextmanager
def open_executor(function: str, jobs: Jobs) -> Iterator[Executor | None]:
    """Yield the executor for ``jobs``; None means computation in the calling process.

    A number opens a pool with this number of processes and closes the pool in the end. The caller
    closes an executor passed as ``jobs``.

    Raises ``ValueError`` for a number below 1, and for anything except a number or an executor.
    """
    if jobs is None or hasattr(jobs, "submit"):
        yield cast("Executor | None", jobs)
        return
    if isinstance(jobs, bool) or not isinstance(jobs, Integral) or jobs < 1:
        raise ValueError(
            f"{function}: jobs must be a number of processes, at least 1, or an executor of "
            f"concurrent.futures, such as ProcessPoolExecutor(4); got {jobs!r}"
        )
    with process_pool(int(jobs)) as executor:
        yield executor


@contextmanager
def process_pool(jobs: int) -> Iterator[Executor | None]:
    """Yield a pool of ``jobs`` processes, or None for one process. After an exception the pool
    ends at once, without messages."""
    if jobs == 1:
        yield None
        return
    pool = WorkerPool(partial(_new_process_pool, jobs))
    try:
        yield cast(Executor, pool)
    except BaseException:
        _terminate_workers(pool.pool)
        raise
    pool.pool.shutdown()


def _new_process_pool(jobs: int) -> ProcessPoolExecutor:
    executor = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("spawn"),
        initializer=exec,
        initargs=(WORKER_INITIALIZER, {}),
    )
    executor.submit = partial(_submit_without_interrupts, executor.submit)  # type: ignore[method-assign]
    return executor


def _submit_without_interrupts(submit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``submit(*args, **kwargs)``, called while keyboard interrupts are blocked, so that no
    new worker receives an interrupt.

    A worker ignores interrupts from its first line on, but needs a second to reach the line.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return submit(*args, **kwargs)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return submit(*args, **kwargs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _terminate_workers(executor: ProcessPoolExecutor) -> None:
    """Terminate the worker processes of a pool.

    The function waits until cancelled tasks have left the pool; otherwise the thread of the pool
    prints a traceback.
    """
    workers = list((executor._processes or {}).values())  # shutdown clears the list
    executor.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + 1
    work_items = executor._pending_work_items
    while (
        any(item.future.cancelled() for item in list(work_items.values()))
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    for process in workers:
        process.terminate()
