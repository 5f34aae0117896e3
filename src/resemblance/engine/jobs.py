"""Where work is done: in this process, in a pool of processes, or by an executor of the caller."""

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
# What a worker does first, as text so that nothing of ours is imported before. Interrupts
# from the keyboard reach all processes, and only the parent is to answer them; and a worker ends
# when its parent does, however that ends.
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
    """Yield the executor that ``jobs`` asks for; None computes in this process.

    A number opens a pool of so many processes and closes the pool in the end; the caller closes an
    executor that the caller passed.

    Raises ``ValueError`` for a number below 1, and for what is neither a number nor an executor.
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
    """Yield a pool of processes that ends at once, silently, when something goes wrong here."""
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
    """Submit a task while interrupts from the keyboard wait, so that a worker that this starts
    never gets one.

    A worker ignores interrupts from its first line on, but it takes a second to come to that line.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        return submit(*args, **kwargs)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return submit(*args, **kwargs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _terminate_workers(executor: ProcessPoolExecutor) -> None:
    """End the workers.

    Cancelled tasks must be out of the pool before, or its thread prints a traceback of its own.
    """
    workers = list((executor._processes or {}).values())  # shutdown forgets them
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
