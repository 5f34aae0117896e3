"""What a stream costs: CPU seconds for a million samples, and memory, of two layers of 256 columns.

    python benchmarks/stream.py --rows 200000 --output docs/_generated/stream-costs.md

Time is that of one thread, without making the data, the least of a few runs scaled to a million
samples. Memory is the peak of what the stream allocates, which does not depend on their number.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench import options
from threadpoolctl import threadpool_limits

import resemblance as rs

WIDTH, BATCH = 256, 4096
KINDS = {
    '`method="gram"`': {},
    '`method="gram", directions=True`': {"directions": True},
    '`method="qr"`': {"method": "qr"},
}
HEAD = "| stream | CPU s per million samples | memory, MB | CPU s of a comparison by 20 measures |"


def batches(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Float32 activations of two related layers."""
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, 32, WIDTH), dtype=np.float32) / 6
    for start in range(0, rows, BATCH):
        latent = rng.standard_normal((min(BATCH, rows - start), 32), dtype=np.float32)
        x, y = (np.tanh(latent @ m) + 0.1 * rng.standard_normal(
            (len(latent), WIDTH), dtype=np.float32) for m in maps)  # fmt: skip
        yield {"x": x, "y": y}


def timed(rows: int, **options: object) -> tuple[float, rs.Stream]:
    """CPU seconds of the updates alone."""
    stream, spent = rs.Stream(**options), 0.0
    for batch in batches(rows):
        start = time.process_time()
        stream.update(batch)
        spent += time.process_time() - start
    return spent, stream


def row(name: str, rows: int, repeats: int, options: dict[str, object]) -> str:
    runs = [timed(rows, **options) for _ in range(repeats)]
    seconds, stream = min(runs, key=lambda run: run[0])
    data = list(batches(4 * BATCH))
    tracemalloc.start()
    watched = rs.Stream(**options)
    for batch in data:
        watched.update(batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    measures = rs.list_measures(invariant_to="sample_rotation")[:20]
    start = time.process_time()
    stream.compare(measures, progress=False)
    final = time.process_time() - start
    return f"| {name} | {seconds * 1e6 / rows:.1f} | {peak / 1e6:.0f} | {final:.1f} |"


if __name__ == "__main__":
    chosen = options(__doc__, rows=200_000, repeats=2, output=None)
    with threadpool_limits(1):
        lines = [row(n, chosen.rows, chosen.repeats, o) for n, o in KINDS.items()]
    table = "\n".join([HEAD, "|---|--:|--:|--:|", *lines]) + "\n"
    if chosen.output:
        Path(chosen.output).write_text(table)
    print(table, end="")
