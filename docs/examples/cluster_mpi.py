"""Compare arrays, or run the ReSi benchmark, in the processes of an MPI job, through mpi4py.

One process drives, all others work::

    pip install mpi4py
    mpiexec -n 17 python -m mpi4py.futures cluster_mpi.py compare /shared/arrays
    mpiexec -n 17 python -m mpi4py.futures cluster_mpi.py study /shared/study

Run again it continues. With ``-m mpi4py.futures`` a process that fails ends the whole job.
"""

from __future__ import annotations

import sys
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import resemblance as rs
from resemblance.bench import run
from resemblance.sections import Result


def compared(folder: str, executor: Executor, **options: Any) -> rs.Comparison:
    """Compare the arrays of a folder that all processes see with any executor.

    Intermediates are computed once, and handed on through the same folder; a faster one that all
    see, such
    as scratch, is better, or ``/dev/shm`` if all processes are of one machine.
    """
    arrays = {file.stem: file for file in sorted(Path(folder).glob("*.npy"))}
    save = Path(folder) / "comparison.db"
    return rs.compare(arrays, jobs=executor, save=save, spill=folder, **options)


def study(folder: str, executor: Executor, **options: Any) -> Result:
    """Run the benchmark in a folder with any executor."""
    return run("resi", folder, jobs=executor, **options)


if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    what, place = sys.argv[1:]
    with MPIPoolExecutor() as workers:
        print(study(place, workers, size="mini") if what == "study" else compared(place, workers))
