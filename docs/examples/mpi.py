"""The ReSi benchmark in the processes of an MPI job, through mpi4py.

One process drives, all others work::

    pip install mpi4py
    mpiexec -n 17 python -m mpi4py.futures mpi.py /shared/study

Run again it continues. With ``-m mpi4py.futures`` a process that fails ends the whole job.
"""

from __future__ import annotations

import sys
from concurrent.futures import Executor
from typing import Any

from resemblance.results import Result
from resemblance.suites.resi import run


def study(folder: str, executor: Executor, **options: Any) -> Result:
    """Run the benchmark in a folder with any executor."""
    return run(folder, executor=executor, **options)


if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as workers:
        print(study(sys.argv[1], workers, size="mini"))
