"""What many workers cost: the processor time of all together against that of one process alone.

    python benchmarks/cores.py --write

The script times a pool of processes and a Dask cluster of two processes, with intermediates shared
by the tasks or computed by every task. The script prints, and writes to ``cores.csv``, the CPU
seconds of all workers without their start, the longest start, the longest task, and whether all
values are bitwise equal to the values of one process. Every row is the fastest of several runs.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench import clocked, command, model_like, store

import resemblance as rs

MEASURES = tuple(m for m in rs.preset("default") if m.name != "rtd")
Arrays = Mapping[str, np.ndarray]


class Cost(NamedTuple):
    """CPU seconds of one process, and of all workers for a number of tasks."""

    executor: str
    intermediates: str
    tasks: int
    serial: float
    workers: float
    ratio: float
    longest: float
    driver: float
    start: float
    same: bool


def timed(log: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a call in a worker, and append its CPU seconds to the file ``log``."""
    start = time.process_time()
    result = function(*arguments)
    with Path(log).open("a") as file:
        file.write(f"{function.__name__} {time.process_time() - start}\n")
    return result


def started(call: int, arrays: Arrays) -> tuple[int, float]:
    """Import and compile everything; return the process id and its CPU seconds so far."""
    rs.compare({k: v[:60] for k, v in arrays.items()}, measures=MEASURES, progress=False)
    return spent(call)


def spent(call: int) -> tuple[int, float]:
    """Return the process id and its CPU seconds so far. ``call`` differs between calls, because
    Dask runs equal calls only once."""
    time.sleep(0.5)  # every process gets a call
    return os.getpid(), time.process_time()


def of_each(executor: Executor, function: Callable[..., Any], *arguments: Any) -> dict[int, float]:
    """Return the CPU seconds of every process of an executor, by process id."""
    calls: list[Future[Any]] = [executor.submit(function, i, *arguments) for i in range(8)]
    seconds: dict[int, float] = {}
    for process, elapsed in (call.result() for call in calls):
        seconds[process] = max(elapsed, seconds.get(process, 0))
    return seconds


@contextmanager
def pool(workers: int) -> Iterator[Executor]:
    """Yield a pool of processes."""
    with ProcessPoolExecutor(workers) as executor:
        yield executor


@contextmanager
def dask_cluster(workers: int) -> Iterator[Executor]:
    """Yield the executor of a Dask cluster of processes on this machine."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


def cost(
    name: str, executor: Executor, arrays: Arrays, spill: bool | None, block_size: int | None
) -> Cost:
    """Compare once with a warm executor and once in this process, and return the costs."""
    pair = dict(list(arrays.items())[:2])
    start_seconds = of_each(executor, started, pair)
    with tempfile.NamedTemporaryFile() as log:
        submit = executor.submit
        executor.submit = partial(submit, timed, log.name)  # type: ignore[method-assign]
        settings = {"measures": MEASURES, "progress": False}
        driver, remote_result = clocked(
            lambda: rs.compare(
                arrays, jobs=executor, spill=spill, block_size=block_size, **settings
            )
        )
        executor.submit = submit  # type: ignore[method-assign]
        end_seconds = of_each(executor, spent)
        entries = [line.split() for line in Path(log.name).read_text().splitlines()]
    serial, local_result = clocked(lambda: rs.compare(arrays, **settings))
    is_equal = all(
        np.array_equal(local_result[m.spec], remote_result[m.spec], equal_nan=True)
        for m in MEASURES
    )
    max_seconds = max(float(entry[1]) for entry in entries)
    tasks = sum(entry[0] == "compute_on_worker" for entry in entries)
    workers = sum(end_seconds[process] - start_seconds[process] for process in end_seconds)
    intermediates = "computed by each task" if spill is False else "shared"
    ratio, max_start = workers / serial, max(start_seconds.values())
    return Cost(
        name, intermediates, tasks, serial, workers, ratio, max_seconds, driver, max_start, is_equal
    )


def main(
    samples: int = 1000, features: int = 128, count: int = 12, runs: int = 3, write: bool = False
) -> None:
    """Time all executors, print the costs, and write the file if ``write``."""
    arrays = model_like(samples, features, count)
    started(0, dict(list(arrays.items())[:2]))
    rows = []
    for name, executors in (("2 processes", pool), ("Dask, 2 processes", dask_cluster)):
        with executors(2) as executor:
            for spill, block_size in ((None, None), (False, None), (False, 2)):
                costs = [cost(name, executor, arrays, spill, block_size) for _ in range(runs)]
                best = min(costs, key=lambda c: c.ratio)
                rows.append(best._replace(same=all(c.same for c in costs)))
                print(rows[-1], flush=True)
    if write:
        store(Path(__file__).with_suffix(".csv"), rows)


if __name__ == "__main__":
    command(__doc__, main)
