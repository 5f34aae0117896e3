"""The ReSi benchmark on a cluster with SLURM, through Dask and dask-jobqueue.

Run it on a node that may submit jobs and sees the folder of the study, in a terminal that stays::

    pip install dask-jobqueue
    python slurm.py /shared/study

Started again it continues. What a site must change is in ``nodes``.
"""

from __future__ import annotations

import sys
from typing import Any

from resemblance.results import Result
from resemblance.suites.resi import run


def study(folder: str, cluster: Any, resource: str | None = None, **options: Any) -> Result:
    """Run the benchmark in a folder with the workers of any Dask cluster.

    ``resource``: train only on workers that have it.
    """
    from dask.distributed import Client

    with Client(cluster) as client:
        client.wait_for_workers(1)
        trainer = client.get_executor(resources={resource: 1}) if resource else None
        return run(folder, executor=client.get_executor(), trainer=trainer, **options)


def nodes() -> Any:
    """Return a cluster whose jobs are of 16 processes with one thread each."""
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        queue="cpu", cores=16, processes=16, memory="64GB", walltime="12:00:00", interface="ib0"
    )


if __name__ == "__main__":
    with nodes() as jobs:
        jobs.scale(jobs=4)
        print(study(sys.argv[1], jobs, size="mini"))
