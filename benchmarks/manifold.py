"""Cost of MKA: one pair of many samples, and all pairs of a grid. Run with BLAS on one thread
(OMP_NUM_THREADS=1).

python benchmarks/manifold.py --samples 50000 --features 512 --neighbours 15

With --approximate instead: the exact search of neighbours beside the approximate one (extra
"neighbours"), for a pair of clustered and a pair of isotropic representations.
"""

from __future__ import annotations

import resource
import time

import numpy as np
from bench import options

import resemblance as rs


def pair(samples: int, features: int, neighbours: int) -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, features), dtype=np.float32)
    x, y = (
        rs.Representation(data),
        rs.Representation(data + 0.5 * rng.standard_normal(data.shape, dtype=np.float32)),
    )
    start = time.process_time()
    value = rs.mka(x, y, k=neighbours)
    both = time.process_time() - start
    start = time.process_time()
    rs.mka(x, y, k=neighbours)
    again = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n={samples} d={features} k={neighbours}: mka {value:.4f}")
    print(
        f"  {both:.1f} CPU s for two representations and their pair, {1000 * again:.0f} ms for "
        "the pair alone"
    )
    print(f"  peak memory {peak:.2f} GiB")


def grid(count: int, samples: int, features: int, neighbours: int) -> None:
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.standard_normal((samples, features)) for i in range(count)}
    start = time.process_time()
    rs.compare(data, measures=[rs.mka.where(k=neighbours)], progress=False)
    spent, pairs = time.process_time() - start, count * (count - 1) // 2
    what = f"grid of {count}, n={samples} d={features} k={neighbours}"
    print(f"{what}: {spent:.2f} CPU s, {1000 * spent / pairs:.1f} ms each")


def searches(samples: int, features: int, neighbours: int) -> None:
    """Print time, value and recall of both searches: 50 Gaussian clusters, and one Gaussian."""
    for spread in (3.0, 0.0):
        rng = np.random.default_rng(0)
        centers = spread * rng.standard_normal((50, features), dtype=np.float32)
        data = (
            rng.standard_normal((samples, features), dtype=np.float32)
            + centers[rng.integers(50, size=samples)]
        )
        pair = [data, data + 0.5 * rng.standard_normal(data.shape, dtype=np.float32)]
        for index in ("exact", "hnsw"):
            x, y = map(rs.Representation, pair)
            start = time.process_time()
            value = rs.mka(x, y, k=neighbours, index=index)
            spent = time.process_time() - start
            recalls = [rs.neighbour_recall(r, k=neighbours, index=index) for r in (x, y)]
            what = (
                f"n={samples} d={features} k={neighbours} {'clusters' if spread else 'isotropic'} "
                f"{index}"
            )
            print(
                f"{what}: {spent:.1f} CPU s, mka {value:.4f}, recall {recalls[0]:.4f} "
                f"{recalls[1]:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    chosen = options(__doc__, "approximate", samples=20_000, features=512, neighbours=15)
    sizes = chosen.samples, chosen.features, chosen.neighbours
    if chosen.approximate:
        searches(*sizes)
    else:
        grid(15, 2000, 256, chosen.neighbours)
        pair(*sizes)
