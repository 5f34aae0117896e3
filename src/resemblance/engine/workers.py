"""Run calls on the workers of an executor, and repeat the calls of killed workers."""

from __future__ import annotations

import os
import pickle
import sys
import threading
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
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import LibController, ThreadpoolController

from ..base.arrays import full_precision
from ..base.shared_setting import SharedSetting
from ..base.text import warn

MAX_CALL_ATTEMPTS = 3  # attempts per call if workers are lost; Dask has the same default


class WorkerCall(NamedTuple):
    """A function call for a worker, with a name for messages.

    ``uses`` are the keys of the shared representations that the call needs until it is finished.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    uses: tuple[Any, ...] = ()


class LostWorkerError(ValueError):
    """A call ended every worker that ran it, most often for lack of memory."""


class WorkerPool:
    """A replaceable process pool on this machine.

    The class stands in for ``ProcessPoolExecutor``, which is unusable after the death of a process.
    ``make`` returns a new ``ProcessPoolExecutor`` with processes that start at the first call;
    ``first`` is the pool to use before any replacement.
    """

    def __init__(
        self, make: Callable[[], ProcessPoolExecutor], first: ProcessPoolExecutor | None = None
    ):
        self._make = make
        self.pool = first or make()

    @classmethod
    def like(cls, executor: object) -> WorkerPool | None:
        """Return a replaceable pool with the settings of ``executor``, which uses ``executor``
        first.

        Return None if ``executor`` is not a process pool.
        """
        if isinstance(executor, WorkerPool):
            return executor
        if not isinstance(executor, ProcessPoolExecutor):
            return None
        settings = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
        # The executor keeps its settings in private attributes.
        values = {name: getattr(executor, f"_{name}") for name in settings}
        return cls(partial(ProcessPoolExecutor, **values), executor)

    @property
    def _max_workers(self) -> int:
        """The number of processes, under the attribute name of Python's executors."""
        return count_workers(self.pool)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Submit a call ``function(*arguments)``, to a new pool if the present pool is broken;
        return its future."""
        try:
            return self.pool.submit(function, *arguments)
        except BrokenProcessPool:  # a process was killed while it had no work
            self.renew()
            return self.pool.submit(function, *arguments)

    def renew(self) -> None:
        """Replace the pool by a new pool of the same kind; calls that have not begun are
        cancelled."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool = self._make()


def count_workers(executor: object) -> int:
    """Return the number of calls that an executor runs at the same time.

    Pools of Python, joblib and mpi4py report this number. For a Dask client the function returns
    the number of threads of all workers known to the scheduler, or the number of workers that the
    cluster has requested, if larger. For any other executor the function returns the number of
    local processors.
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
    """Return whether the workers of an executor share the memory and files of this machine; False
    without an executor."""
    return is_process_pool(executor) or isinstance(executor, ThreadPoolExecutor)


def is_local_cluster(executor: object) -> bool:
    """Return whether the executor belongs to a Dask cluster on this machine alone."""
    cluster = getattr(getattr(executor, "_client", None), "cluster", None)
    return type(cluster).__name__ == "LocalCluster"  # of Dask, an optional dependency


def is_process_pool(executor: object) -> bool:
    """Return whether the executor is a process pool of Python or of the package."""
    return isinstance(executor, ProcessPoolExecutor | WorkerPool)


def run_calls(
    calls: Iterable[WorkerCall], executor: Executor | None, say: Callable[[str], None] = warn
) -> Iterator[tuple[WorkerCall, Future[Any]]]:
    """Yield every call with its finished future; without an executor, run the calls one by one.

    The function reads ``calls`` lazily. When the caller stops early, pending calls are cancelled. A
    call with a killed worker is repeated, by Dask, or by this function: a broken process pool is
    replaced by a new pool of the same kind until the calls are done, and ``say`` receives a
    warning. A broken pool loses all its calls, and nothing reports the call of the killed process.
    So the lost calls are repeated after all other calls, and the second time alone. After
    ``MAX_CALL_ATTEMPTS`` attempts the future of a call has a :class:`LostWorkerError` with the name
    of the call. If an executor of another kind breaks, the futures of all pending calls fail.
    """
    if executor is None:
        yield from ((call, _call_here(call)) for call in calls)
        return
    _check_executor_type(executor)
    pool = WorkerPool.like(executor)
    submit: Callable[..., Future[Any]] = (pool or executor).submit
    # Dask runs equal calls only once unless the function is declared impure; calls write files.
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
                ready = wait(pending).done  # no call of a broken pool continues
                pool.renew()
                names = ", ".join(pending[f][0].name for f in ready if _is_worker_lost(f, pool))
                say(f"a worker ended before it finished; repeating: {names}")
            for future in ready:
                call, losses = pending.pop(future)
                if not _is_worker_lost(future, pool):
                    yield call, future
                elif pool and losses + 1 < MAX_CALL_ATTEMPTS:
                    lost_calls.append((call, losses + 1))
                else:
                    yield call, _lost_worker_error(call, is_cluster=pool is None)
            lost_calls.sort(key=lambda entry: entry[1])
    finally:
        running = [future for future in pending if not future.cancel()]
        if isinstance(executor, ThreadPoolExecutor):
            wait(running)  # a running thread would fill the shared caches after their release
        if pool and executor not in (pool, pool.pool):
            pool.pool.shutdown(cancel_futures=True)


def call_results(
    calls: Iterable[WorkerCall],
    executor: Executor,
    save: str | Path | None,
    caller: str = "compare",
) -> Iterator[tuple[WorkerCall, Any]]:
    """Yield every finished call with its return value; raise the exception of a call. Errors about
    lost workers name ``save``, the file with the results."""
    hint = f"finished results are saved in {save}; repeat the call to resume"
    hint = "save=FILE saves results as they are computed" if save is None else hint
    try:
        for call, future in run_calls(calls, executor):
            yield call, future.result()
    except BrokenExecutor as error:
        cause = "a worker ended before it finished, most often for lack of memory"
        remedy = "use fewer workers, or a smaller memory="
        raise type(error)(f"{caller}: {cause}: {remedy}; {hint}") from error
    except LostWorkerError as error:
        raise LostWorkerError(f"{caller}: {error}; {hint}") from error


def check_picklable(measures: Iterable[Any], executor: Executor) -> None:
    """Raise the exception of ``pickle`` if a measure cannot be pickled and the executor is a
    process pool."""
    if is_process_pool(executor):
        for measure in measures:
            pickle.dumps(measure)  # raises here, because the pool might hang


def _call_here(call: WorkerCall) -> Future[Any]:
    future = Future[Any]()
    try:
        future.set_result(call.function(*call.arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def _max_pending_calls(executor: Executor) -> int:
    """Return the number of calls to submit at a time.

    The number is the number of processes, or twice the number of threads, so that the next call of
    a thread is ready. For a cluster it is at least 100, because a cluster takes a while to
    distribute calls, and because the number of workers may be unknown.
    """
    workers = count_workers(executor)
    if is_process_pool(executor):
        return workers
    return 2 * workers if isinstance(executor, ThreadPoolExecutor) else max(100, 10 * workers)


def _is_worker_lost(future: Future[Any], pool: WorkerPool | None) -> bool:
    error = None if future.cancelled() else future.exception()
    if pool:
        return isinstance(error, BrokenProcessPool)
    return type(error).__name__ == "KilledWorker"  # of Dask, an optional dependency


def _lost_worker_error(call: WorkerCall, *, is_cluster: bool) -> Future[Any]:
    remedy = "use fewer workers, or a machine with more memory"
    if is_cluster:
        remedy += (
            ". Dask counts mapped files as memory of a worker, and ends a worker above its limit: "
            "start workers without a limit, LocalCluster(memory_limit=None) or "
            "`dask worker --memory-limit 0`"
        )
    future = Future[Any]()
    future.set_exception(
        LostWorkerError(
            f"{call.name}: a worker ended before it finished, {MAX_CALL_ATTEMPTS} times, most "
            f"often for lack of memory: {remedy}"
        )
    )
    return future


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Return the controller of the loaded libraries with threads. ``n_modules``: the number of
    imported modules; another number needs a new search."""
    return ThreadpoolController()


def _limit_threads(user_api: str, stack: ExitStack) -> None:
    """Run the BLAS libraries ("blas") or the OpenMP libraries ("openmp") on one thread until the
    exit stack closes."""
    pools = _thread_pools(len(sys.modules))
    for library in pools.select(user_api=user_api).lib_controllers:
        number = library.num_threads
        if number is not None and number > 1:
            stack.callback(_set_threads, library, number)
            _set_threads(library, 1)


def _set_threads(library: LibController, number: int) -> None:
    # threadpoolctl 3.8 ignores all threads of Python except the first that set a number.
    take_control = getattr(library, "clear_controlling_thread", lambda force: None)
    take_control(force=True)
    library.set_num_threads(number)
    take_control(force=True)


_SINGLE_BLAS_THREAD = SharedSetting(partial(_limit_threads, "blas"))
_TORCH_LOCK = threading.Lock()
_torch_threads = dict[int, int]()  # per thread of Python, the number of PyTorch to restore


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run BLAS, OpenMP and PyTorch on one thread and in full precision inside a ``with`` block.

    BLAS has one number of threads for the process. Threads of Python can be inside blocks at the
    same time; the last thread that leaves restores the number of BLAS. OpenMP and PyTorch have a
    number for each thread of Python, which that thread restores.
    """
    with full_precision(), ExitStack() as stack:
        if threading.get_ident() not in _torch_threads:  # a block inside a block limits nothing
            stack.enter_context(_SINGLE_BLAS_THREAD)
            stack.enter_context(_single_torch_thread())
            _limit_threads("openmp", stack)
        yield


@contextmanager
def _single_torch_thread() -> Iterator[None]:
    """Run PyTorch on one thread in this thread of Python.

    A thread of Python that uses PyTorch for the first time gets the number that another thread of
    Python set last. During the block of another thread this number is 1, and the number of the
    other thread is restored instead.
    """
    torch, this = sys.modules.get("torch"), threading.get_ident()
    with _TORCH_LOCK:
        own = torch.get_num_threads() if torch else 1
        number = own if own > 1 else max(_torch_threads.values(), default=1)
        _torch_threads[this] = number
        if torch:
            torch.set_num_threads(1)
    try:
        yield
    finally:
        with _TORCH_LOCK:
            if torch:
                torch.set_num_threads(number)
            del _torch_threads[this]
