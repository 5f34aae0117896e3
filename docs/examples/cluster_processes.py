"""Compare the arrays of a folder in the processes of this machine.

Each ``.npy`` file is a representation, (n_samples, n_features), and the rows of all are the same
samples::

    python cluster_processes.py FOLDER

Run again it continues. Intermediates of the representations are computed once, in the memory that
the
processes share.
"""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import resemblance as rs


def compared(folder: str, executor: Executor, **options: Any) -> rs.Comparison:
    """Compare the arrays of a folder with any executor, and keep the values in it."""
    arrays = {file.stem: file for file in sorted(Path(folder).glob("*.npy"))}
    return rs.compare(arrays, jobs=executor, save=Path(folder) / "comparison.db", **options)


if __name__ == "__main__":  # without this line each process would begin a pool of its own
    with ProcessPoolExecutor() as pool:
        print(compared(sys.argv[1], pool))
