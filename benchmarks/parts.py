"""Time parts of the library, each next to another way to the same numbers: CPU seconds of one
thread.

    python benchmarks/parts.py neighbours       single precision that proposes; double alone
    python benchmarks/parts.py splits           the feature split; shesha-geometry, if it is there
    python benchmarks/parts.py streams --rows 200000 --output docs/_generated/stream-costs.md
    python benchmarks/parts.py manifold --samples 50000 --features 512 --neighbours 15
    python benchmarks/parts.py searches --samples 50000      exact and approximate neighbours of MKA
    python benchmarks/parts.py features MODEL DATA --samples 1000 10000 50000

``pip install --target folder --no-deps shesha-geometry`` and ``PYTHONPATH=folder`` make
shesha-geometry importable. MODEL and DATA have the same form as for ``resemblance compare-models``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench import alone, clocked, command, cpu_seconds, grid, peak

import resemblance as rs
from resemblance.base.arrays import row_blocks
from resemblance.intermediates.search import nearest_by_full_comparison, search_nearest
from resemblance.intermediates.similarities import Similarity, neighbor_similarity
from resemblance.intermediates.ties import Nearest, stack_row_blocks
from resemblance.statistics import rdm
from resemblance.statistics.rdm import mean_rdm_agreement
from resemblance.statistics.splits import feature_halves, feature_split

SHAPES = ((600, 64), (2000, 256), (6000, 512), (16000, 128))
NEIGHBORS = 10
WIDTH, BATCH = 256, 4096  # columns per layer, and samples per batch, of a stream of two layers
STREAMS = {
    '`method="gram"`': {},
    '`method="gram", directions=True`': {"directions": True},
    '`method="qr"`': {"method": "qr"},
}
STREAMED = (
    "stream", "CPU s per million samples", "memory, MB", "CPU s of a comparison by 20 measures",
)  # fmt: skip
EXTRACTION = """
import json, sys, time, torch
from bench import peak
import resemblance as rs
from resemblance.models.sample_sources import load_samples

torch.set_num_threads(1)
model, data, limit, folder = sys.argv[1:]
samples = load_samples(data, max_samples=int(limit))
before = time.process_time()
subject = rs.extract_features(model, samples, folder, progress=False)
most = peak() / 2**20
seconds = time.process_time() - before
print(json.dumps([subject.last.n_samples, len(subject.layers), seconds, most]))
"""


def show(*entries: object) -> None:
    """Print a line, and flush the output."""
    print(*entries, sep="  ", flush=True)


# -------------------------------------------------------------------------------------- neighbours


def neighbors() -> None:
    """Print the seconds of the nearest-neighbour search for one representation, the minimum of two
    runs, and the number of rows that single precision could not decide."""
    for n, d in SHAPES:
        rng = np.random.default_rng(0)
        kinds = {
            "Gaussian": rng.standard_normal((n, d)),
            "one-hot": np.eye(min(n // 20, d))[rng.integers(min(n // 20, d), size=n)],
        }
        for kind, points in kinds.items():
            for metric in ("cosine", "euclidean"):
                similarity = neighbor_similarity(rs.Representation(points), metric)
                search_seconds, result = clocked(
                    lambda s=similarity: search_nearest(s, NEIGHBORS), 2
                )
                full_seconds = cpu_seconds(lambda s=similarity: in_full(s), 2)
                times = (
                    f"double {full_seconds:7.3f} s  search {search_seconds:7.3f} s  "
                    f"{full_seconds / search_seconds:4.1f}x"
                )
                size = f"{n:6} x {points.shape[1]:3}"
                show(size, f"{kind:8}", f"{metric:9}", times, f"open {result.redone}")


def in_full(similarity: Similarity) -> Nearest:
    """Return the nearest neighbours of every row, computed in double precision."""
    blocks = row_blocks(similarity.points.shape[0])
    return stack_row_blocks(
        nearest_by_full_comparison(np.arange(*block), similarity, NEIGHBORS) for block in blocks
    )


def manifold(samples: int = 20_000, features: int = 512, neighbors: int = 15) -> None:
    """Print the cost of MKA: for all pairs of 15 representations, and for one pair of many
    samples."""
    rng = np.random.default_rng(0)
    reps = {f"x{i}": rng.standard_normal((2000, 256)) for i in range(15)}
    mka = rs.mka.with_parameters(k=neighbors)
    grid_seconds = cpu_seconds(lambda: rs.compare(reps, measures=[mka], progress=False))
    size = f"grid of 15, n=2000 d=256 k={neighbors}"
    show(f"{size}: {grid_seconds:.2f} CPU s, {1000 * grid_seconds / 105:.1f} ms each")
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, features), dtype=np.float32)
    noisy = data + 0.5 * rng.standard_normal(data.shape, dtype=np.float32)
    x, y = map(rs.Representation, (data, noisy))
    total_seconds, value = clocked(lambda: mka(x, y))
    pair_seconds = cpu_seconds(lambda: mka(x, y))
    show(
        f"n={samples} d={features} k={neighbors}: mka {value:.4f}, {total_seconds:.1f} CPU s for "
        "two"
    )
    show(f"representations and their pair, {1000 * pair_seconds:.0f} ms for the pair alone")
    show(f"peak memory {peak() / 2**30:.2f} GiB")


def searches(samples: int = 20_000, features: int = 512, neighbors: int = 15) -> None:
    """Print time, value and recall of exact and approximate search, for 50 Gaussian clusters and
    for a single Gaussian."""
    for kind, spread in (("clusters", 3.0), ("isotropic", 0.0)):
        rng = np.random.default_rng(0)
        centers = spread * rng.standard_normal((50, features), dtype=np.float32)
        data = rng.standard_normal((samples, features), dtype=np.float32)
        data += centers[rng.integers(50, size=samples)]
        pair = [data, data + 0.5 * rng.standard_normal(data.shape, dtype=np.float32)]
        for index in ("exact", "hnsw"):
            settings = {"k": neighbors, "search": index}
            sides = list(map(rs.Representation, pair))
            seconds, value = clocked(lambda: rs.mka(*sides, **settings))  # noqa: B023
            recalls = " ".join(f"{rs.neighbor_recall(r, **settings):.4f}" for r in sides)
            size = f"n={samples} d={features} k={neighbors} {kind} {index}"
            show(f"{size}: {seconds:.1f} CPU s, mka {value:.4f}, recall {recalls}")


# ------------------------------------------------------------------------ splits, streams, features


def splits(samples: int = 1600, features: int = 512, splits: int = 30, repeats: int = 3) -> None:
    """Print the seconds of the feature split with and without compiled ranks, and of the package
    shesha-geometry, which also computes exact ranks; print the difference of the values on the same
    halves."""
    x = np.random.default_rng(0).standard_normal((samples, features)) + 0.3
    feature_split(x, k=1)  # compiles, once per machine
    our_seconds = cpu_seconds(lambda: feature_split(x, k=splits), repeats)
    show(f"resemblance, compiled ranks   {our_seconds:8.2f} s")
    rdm.MIN_COMPILED_VALUES = 2**63
    plain_seconds = cpu_seconds(lambda: feature_split(x, k=splits), repeats)
    show(f"resemblance, NumPy only       {plain_seconds:8.2f} s")
    try:
        import shesha
    except ImportError:
        show("shesha-geometry is not installed: nothing to compare with")
        return
    their_seconds, value = clocked(lambda: shesha.feature_split(x, n_splits=splits, seed=320))
    times = (
        f"{their_seconds / our_seconds:.1f} and {their_seconds / plain_seconds:.1f} times as long"
    )
    show(f"shesha-geometry               {their_seconds:8.2f} s: {times}")
    random = np.random.default_rng(320)
    pairs = (feature_halves(x, random.permutation(x.shape[1])) for _ in range(splits))
    agreement = mean_rdm_agreement(pairs, "cosine", "spearman")
    show(f"difference on the same halves {abs(agreement - value):.1e}")


def streams(rows: int = 200_000, repeats: int = 2, output: str = "") -> None:
    """Print or write the cost of a stream of two layers of 256 columns.

    The seconds are for the updates alone, the minimum over a few runs, scaled to a million samples.
    The memory is the peak of the memory that the stream allocates.
    """
    lines = []
    for name, settings in STREAMS.items():
        seconds, stream = min(
            (updated(rows, settings) for _ in range(repeats)), key=lambda run: run[0]
        )
        data = list(batches(4 * BATCH))
        tracemalloc.start()
        traced_stream = rs.Stream(**settings)
        for batch in data:
            traced_stream.update(batch)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        measures = rs.list_measures(invariant_to="sample_rotation")[:20]
        compare_seconds = cpu_seconds(lambda: stream.compare(measures, progress=False))  # noqa: B023
        numbers = f"{seconds * 1e6 / rows:.1f}", f"{peak_bytes / 1e6:.0f}", f"{compare_seconds:.1f}"
        lines.append((name, *numbers))
    table = grid(STREAMED, lines, "|---|--:|--:|--:|") + "\n"
    if output:
        Path(output).write_text(table)
    print(table, end="")


def updated(rows: int, settings: dict[str, object]) -> tuple[float, rs.Stream]:
    """Return the seconds of the updates of a stream, and the stream."""
    stream, seconds = rs.Stream(**settings), 0.0
    for batch in batches(rows):
        start = time.process_time()
        stream.update(batch)
        seconds += time.process_time() - start
    return seconds, stream


def batches(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield activations of two related layers, in single precision."""
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, 32, WIDTH), dtype=np.float32) / 6
    for start in range(0, rows, BATCH):
        latent = rng.standard_normal((min(BATCH, rows - start), 32), dtype=np.float32)
        shape = len(latent), WIDTH
        x, y = (
            np.tanh(latent @ m) + 0.1 * rng.standard_normal(shape, dtype=np.float32) for m in maps
        )
        yield {"x": x, "y": y}


def features(model: str, data: str, samples: tuple[int, ...] = (1000, 10_000, 50_000)) -> None:
    """Print time and peak memory of feature extraction for growing numbers of samples. Every number
    of samples runs in a separate process."""
    show("samples", "layers", "CPU s", "peak MB")
    for limit in samples:
        with tempfile.TemporaryDirectory() as folder:
            path = ":".join(sys.path)
            process = alone("-c", EXTRACTION, model, data, limit, folder, PYTHONPATH=path)
        if process.returncode:
            raise SystemExit(process.stderr)
        n, layers, seconds, peak_megabytes = json.loads(process.stdout.splitlines()[-1])
        show(f"{n:7,}", f"{layers:6}", f"{seconds:5.0f}", f"{peak_megabytes:7.0f}")


if __name__ == "__main__":
    command(__doc__, neighbors, splits, streams, manifold, searches, features)
