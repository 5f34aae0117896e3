"""Compare arrays, or run the ReSi benchmark, in jobs of SLURM, through Dask and dask-jobqueue.

Run it on a node that may submit jobs and sees the folder, in a terminal that stays::

    pip install dask-jobqueue
    python cluster_slurm.py compare /shared/arrays
    python cluster_slurm.py study /shared/study

Started again it continues. What a site must change is in ``nodes``; the classes of dask-jobqueue
for PBS, LSF, SGE, OAR and HTCondor take the same arguments.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dask.distributed import Client

import resemblance as rs
from resemblance.bench import run
from resemblance.sections import Result


def compared(folder: str, cluster: Any, **options: Any) -> rs.Comparison:
    """Compare the arrays of a folder with the workers of any Dask cluster.

    They see the folder: only paths are sent.
    """
    arrays = {file.stem: file for file in sorted(Path(folder).glob("*.npy"))}
    save = Path(folder) / "comparison.db"
    with Client(cluster) as client:
        client.wait_for_workers(1)
        return rs.compare(arrays, jobs=client.get_executor(), save=save, **options)


def study(folder: str, cluster: Any, resource: str | None = None, **options: Any) -> Result:
    """Run the benchmark in a folder with the workers of any Dask cluster.

    ``resource``: train only on workers that have it.
    """
    with Client(cluster) as client:
        client.wait_for_workers(1)
        trainer = client.get_executor(resources={resource: 1}) if resource else None
        return run("resi", folder, jobs=client.get_executor(), trainer=trainer, **options)


def nodes() -> Any:
    """Return a cluster whose jobs are of 16 processes with one thread each."""
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        queue="cpu", cores=16, processes=16, memory="64GB", walltime="12:00:00", interface="ib0"
    )


if __name__ == "__main__":
    what, place = sys.argv[1:]
    with nodes() as jobs:
        jobs.scale(jobs=4)
        print(study(place, jobs, size="mini") if what == "study" else compared(place, jobs))
