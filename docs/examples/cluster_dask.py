"""Compare the arrays of a folder with a Dask cluster, whose workers need not see the folder.

Here the cluster is of two processes on this machine. For one of many machines, start a scheduler
and workers, and give the address of the scheduler::

    python cluster_dask.py FOLDER
    python cluster_dask.py FOLDER tcp://host:8786

Run again it continues. Each array goes to the cluster once, and so does each intermediate of it: it
stays
with the worker that computed it, and others fetch it from there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from dask.distributed import Client, LocalCluster

import resemblance as rs


def compared(folder: str, client: Client, **options: Any) -> rs.Comparison:
    """Compare the arrays of a folder with the workers of a client, and keep the values in it."""
    arrays = {file.stem: np.load(file) for file in sorted(Path(folder).glob("*.npy"))}
    return rs.compare(
        arrays, jobs=client.get_executor(), save=Path(folder) / "comparison.db", **options
    )


if __name__ == "__main__":
    addresses = sys.argv[2:] or [LocalCluster(n_workers=2, threads_per_worker=1)]
    with Client(addresses[0]) as connected:
        print(compared(sys.argv[1], connected))
