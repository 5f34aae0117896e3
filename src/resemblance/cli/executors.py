"""Executors for the commands: processes on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..base.extras import import_optional

SCHEDULER_TIMEOUT = "30s"  # time for a scheduler to answer


class ExecutorAndTrainer(NamedTuple):
    """The executor for all work, None for this process; and a separate executor for training, if
    any."""

    work: Executor | None
    trainer: Executor | None = None


@contextmanager
def open_executors(
    jobs: int | None, scheduler: str | None = None, gpu_resource: str | None = None
) -> Iterator[ExecutorAndTrainer]:
    """Yield the executors that the options of a command request.

    ``jobs``: the number of processes on this machine. ``scheduler``: the address or file of a Dask
    scheduler. ``gpu_resource``: the resource of workers that train. Without ``jobs`` and
    ``scheduler`` this process computes.

    Raises ``ValueError`` for contradictory options, and for a cluster that does not answer or has
    no worker with the resource.
    """
    if scheduler is None:
        if gpu_resource:
            raise ValueError("--gpu-resource chooses workers of a cluster: also give --scheduler")
        from ..engine.jobs import process_pool

        with process_pool(jobs or 1) as executor:
            yield ExecutorAndTrainer(executor)
        return
    if jobs is not None:
        raise ValueError("--jobs sets local processes, --scheduler a cluster: give one of them")
    with _dask_client(scheduler) as client:
        trainer = None
        if gpu_resource:
            _check_gpu_resource(client, scheduler, gpu_resource)
            trainer = client.get_executor(resources={gpu_resource: 1})
        yield ExecutorAndTrainer(client.get_executor(), trainer)


@contextmanager
def _dask_client(scheduler: str) -> Iterator[Any]:
    """Yield a client of a Dask cluster, given the address or the scheduler file; wait for the first
    worker if the cluster has no workers."""
    distributed = import_optional("distributed")
    is_file = Path(scheduler).is_file()
    address = {"scheduler_file": scheduler} if is_file else {"address": scheduler}
    try:
        client = distributed.Client(**address, timeout=SCHEDULER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--scheduler {scheduler}: no Dask scheduler answers at this address ({error}); give "
            "an address such as tcp://host:8786, or the scheduler file"
        ) from error
    with client:
        if not client.nthreads():
            print(f"waiting for a worker of {scheduler}", file=sys.stderr)
            client.wait_for_workers(1)
        yield client


def _check_gpu_resource(client: Any, scheduler: str, name: str) -> None:
    resources = client.run_on_scheduler(_worker_resources)
    if name not in resources:
        names = ", ".join(resources) or "none"
        raise ValueError(
            f"--gpu-resource {name}: no worker of {scheduler} has this resource (resources: "
            f"{names}); start "
            f'some with dask worker --resources "{name}=1"'
        )


def _worker_resources(dask_scheduler: Any) -> list[str]:
    """Return the sorted names of the resources of all workers of ``dask_scheduler``, the scheduler
    object of Dask."""
    return sorted({name for w in dask_scheduler.workers.values() for name in w.resources})
