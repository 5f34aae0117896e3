"""Compare all layers of a large model, one file per layer, with a Dask cluster of this machine.

The workers map the files into memory, so no layer travels::

    python layers_dask.py FOLDER

Run the program again after an interruption; it continues. Workers on other machines must see the
folder under the same path.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dask.distributed import Client, LocalCluster

import resemblance as rs


def compared(folder: str, client: Client, measures: object) -> rs.Comparison:
    """Compare the layers of a folder with the workers of a client."""
    layers = {path.stem: path for path in sorted(Path(folder).glob("*.npy"))}
    executor, scores = client.get_executor(), Path(folder) / "comparison.db"
    return rs.compare(layers, measures=measures, jobs=executor, save=scores)


if __name__ == "__main__":
    # Dask counts mapped files as memory of a worker, so the workers have no limit.
    options = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0"}
    cluster = LocalCluster(n_workers=2, **options)
    with cluster, Client(cluster) as connected:
        print(compared(sys.argv[1], connected, "cka[estimator=debiased]"))
