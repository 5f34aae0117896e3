"""Compare all layers of a large language model: debiased CKA of 66 x 66 layers of 4,096 features.

    python benchmarks/language_model.py FOLDER             # 66 layers, 10,000 samples: 5.4 GB
    python benchmarks/language_model.py FOLDER --cluster   # the same map by two workers of Dask
    python benchmarks/language_model.py FOLDER --layers 8 --samples 5000 --no-table

The activations are made data in half precision, one ``.npy`` file per layer, mapped into memory.
Neighbouring layers share most of their factors, as in a residual stream. The script writes the
files that are missing, compares the layers, and checks three scores against plain NumPy.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
from bench import GENERATED, command, grid

import resemblance as rs

TABLE = GENERATED / "language-model.md"
MEASURE = "cka[estimator=debiased]"
FACTORS, ROWS_PER_BLOCK = 64, 1000


def write_layers(folder: Path, layers: int, samples: int, features: int) -> dict[str, Path]:
    """Write the layers that are missing in the folder; return the paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {f"layer{i:02}": folder / f"layer{i:02}.npy" for i in range(layers)}
    factors = np.random.default_rng(0).standard_normal((samples, FACTORS), dtype=np.float32)
    noise = np.random.default_rng(1).standard_normal((samples, FACTORS), dtype=np.float32)
    for i, path in enumerate(paths.values()):
        if path.exists():
            continue
        rng = np.random.default_rng(2 + i)
        drift = np.float32(i / layers)  # the further apart two layers are, the less they share
        hidden = np.cos(drift) * factors + np.sin(drift) * noise
        weights = rng.standard_normal((FACTORS, features), dtype=np.float32) / 8
        partial = path.with_suffix(".partial")
        array = np.lib.format.open_memmap(partial, "w+", np.float16, (samples, features))
        for start in range(0, samples, ROWS_PER_BLOCK):
            rows = hidden[start : start + ROWS_PER_BLOCK] @ weights
            rows += rng.standard_normal(rows.shape, dtype=np.float32)
            array[start : start + ROWS_PER_BLOCK] = rows
        array.flush()
        partial.rename(path)
    return paths


def plain_score(x: np.ndarray, y: np.ndarray) -> float:
    """Return debiased CKA of two arrays from their whole Gram matrices."""
    x_gram, y_gram = (u_centered_gram(array) for array in (x, y))
    product, squares = np.vdot(x_gram, y_gram), [np.vdot(g, g) for g in (x_gram, y_gram)]
    return float(product / np.sqrt(np.prod(squares)))


def u_centered_gram(array: np.ndarray) -> np.ndarray:
    """Return the U-centred Gram matrix, (n, n)."""
    points = array.astype(np.float64)
    points -= points.mean(axis=0)
    gram, n = points @ points.T, len(points)
    np.fill_diagonal(gram, 0)
    sums = gram.sum(axis=1)
    gram -= (sums[:, None] + sums) / (n - 2) - sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(gram, 0)
    return gram


def cpu_and_peak() -> tuple[float, float]:
    """Return the CPU seconds of this process and its ended workers together, and the largest peak
    memory of one of these processes in GiB."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used), max(u.ru_maxrss for u in used) / 2**20


def main(
    folder: str,
    layers: int = 66,
    samples: int = 10_000,
    features: int = 4096,
    cluster: bool = False,
    no_table: bool = False,
) -> None:
    """Compare the layers, and write the table."""
    paths = write_layers(Path(folder), layers, samples, features)
    start, before = time.perf_counter(), cpu_and_peak()[0]
    if cluster:
        from dask.distributed import Client, LocalCluster

        options = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0"}
        workers = LocalCluster(n_workers=2, **options)
        with workers, Client(workers) as client:
            result = rs.compare(paths, measures=MEASURE, jobs=client.get_executor())
    else:
        result = rs.compare(paths, measures=MEASURE)
    wall = time.perf_counter() - start
    cpu, peak = cpu_and_peak()
    scores, arrays = result[MEASURE], [np.load(path, mmap_mode="r") for path in paths.values()]
    for i, j in {(0, 1), (0, layers - 1), (layers // 2, layers - 2)}:
        expected = plain_score(arrays[i], arrays[j])
        print(f"{i} {j}: {scores[i, j]:.12f}, in plain NumPy {expected:.12f}", flush=True)
        assert abs(scores[i, j] - expected) < 1e-9
    shape = f"{layers} × {layers} layers of {samples:,} × {features:,}"
    where = "two workers of Dask" if cluster else "one process"
    line = (shape, where, f"{(cpu - before) / 60:.1f}", f"{peak:.1f}")
    print(*line, f"{wall / 60:.1f} minutes", sep=", ", flush=True)
    if not no_table:
        head = ("float16, in files", "run in", "CPU minutes", "peak memory of a process, GiB")
        rows = TABLE.read_text("utf-8").splitlines()[2:] if TABLE.exists() else []
        known = [tuple(c.strip() for c in row.strip("|").split("|")) for row in rows]
        lines = [row for row in known if row[:2] != line[:2]] + [line]
        TABLE.write_text(grid(head, lines, "| --- | --- | --: | --: |") + "\n", "utf-8")


if __name__ == "__main__":
    command(__doc__, main)
