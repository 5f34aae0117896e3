"""The exact search of neighbours: single precision that proposes, beside double precision alone.

    python benchmarks/neighbours.py

CPU seconds of one thread for one representation, the smaller of two runs, and the rows that single
precision left open.
"""

from __future__ import annotations

import numpy as np
from bench import cpu_seconds
from threadpoolctl import threadpool_limits

import resemblance as rs
from resemblance.views.distances import row_blocks
from resemblance.views.search import nearest_to, search
from resemblance.views.similarities import Similarity, similarity_of
from resemblance.views.ties import Nearest, stacked

SHAPES = ((600, 64), (2000, 256), (6000, 512), (16000, 128))
NEIGHBOURS = 10


def in_full(similarity: Similarity) -> Nearest:
    """Every row in double precision."""
    blocks = row_blocks(similarity.points.shape[0])
    return stacked(nearest_to(np.arange(*block), similarity, NEIGHBOURS) for block in blocks)


def data(n: int, d: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "Gaussian": rng.standard_normal((n, d)),
        "one-hot": np.eye(min(n // 20, d))[rng.integers(min(n // 20, d), size=n)],
    }


def main() -> None:
    for n, d in SHAPES:
        for kind, points in data(n, d).items():
            for metric in ("cosine", "euclidean"):
                similarity = similarity_of(rs.Representation(points), metric)
                quick = cpu_seconds(lambda s=similarity: search(s, NEIGHBOURS), 2)
                full = cpu_seconds(lambda s=similarity: in_full(s), 2)
                redone = search(similarity, NEIGHBOURS).redone
                print(
                    f"{n:6} x {points.shape[1]:3}  {kind:8}  {metric:9}  double {full:7.3f} s  "
                    f"search {quick:7.3f} s  {full / quick:4.1f}x  open {redone}",
                    flush=True,
                )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
