"""Time the commonest job, all layers of one model against all of another by debiased CKA.

    python benchmarks/layers.py                 # the four shapes, and the table of the docs
    python benchmarks/layers.py --repeats 5 --no-table

Times are CPU seconds of one thread, the fastest of several runs; all implementations run by turns
in one process. *Plain* is the method of other packages: one Gram matrix per layer in single
precision, and the inner products of the Gram matrices. pytorch-cka is also timed if installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from array_api_compat import array_namespace
from bench import GENERATED, clocked, command, grid

import resemblance as rs

TABLE = GENERATED / "layers.md"
SHAPES = ((2000, 256, 18), (2000, 768, 18), (512, 4096, 18), (256, 36864, 8))
MEASURE = "cka[estimator=debiased]"
Layers = Mapping[str, Any]


def layers(n: int, d: int, count: int, seed: int) -> Layers:
    """Return ``count`` layers in single precision that share 32 factors of their samples, (n, d)
    each."""
    rng = np.random.default_rng(seed)
    factors = np.random.default_rng(0).standard_normal((n, 32), dtype=np.float32)
    return {
        f"layer{i}": factors @ rng.standard_normal((32, d), dtype=np.float32)
        + rng.standard_normal((n, d), dtype=np.float32)
        for i in range(count)
    }


def plain(a: Layers, b: Layers) -> Any:
    """Return debiased CKA of all pairs of layers, from one U-centred Gram matrix per layer.

    The computation uses the array library and the device of the layers.
    """
    xp = array_namespace(*a.values())
    x_grams, y_grams = (xp.stack([xp.reshape(_gram(x), (-1,)) for x in s.values()]) for s in (a, b))
    norms = [xp.linalg.vector_norm(grams, axis=1) for grams in (x_grams, y_grams)]
    return (x_grams @ y_grams.T) / xp.linalg.outer(*norms)


def _gram(x: Any) -> Any:
    xp, n = array_namespace(x), x.shape[0]
    x = x - xp.mean(x, axis=0)
    gram = x @ x.T
    diagonal = gram.reshape(-1)[:: n + 1]  # a view, not a copy
    diagonal[:] = 0
    sums = xp.sum(gram, axis=1)
    gram -= (sums[:, None] + sums) / (n - 2) - xp.sum(sums) / ((n - 1) * (n - 2))
    diagonal[:] = 0
    return gram


def compared(a: Layers, b: Layers) -> np.ndarray:
    return rs.compare(a, b, measures=MEASURE, progress=False)[MEASURE]


def in_single(a: Layers, b: Layers) -> np.ndarray:
    """Return debiased CKA of all pairs, computed in single precision where a bound on the error
    allows."""
    sides = [[rs.Representation(x, name, dtype="float32") for name, x in s.items()] for s in (a, b)]
    return rs.compare(*sides, measures=MEASURE, progress=False)[MEASURE]


def with_evidence(a: Layers, b: Layers) -> np.ndarray:
    return rs.evidence(a, b, measures=MEASURE, progress=False)[MEASURE]


def packaged(a: Layers, b: Layers) -> torch.Tensor:
    from cka import cka_from_features

    return cka_from_features(*([torch.as_tensor(x) for x in side.values()] for side in (a, b)))


WAYS: dict[str, Callable[[Layers, Layers], Any]] = {
    "pytorch-cka": packaged,
    "plain, single": plain,
    "compare": compared,
    "compare, single": in_single,
    "evidence": with_evidence,
}


def main(repeats: int = 3, no_table: bool = False) -> None:
    """Time all implementations by turns, and write the table."""
    torch.set_num_threads(1)
    calls = WAYS
    if not find_spec("cka"):
        calls = {n: function for n, function in WAYS.items() if function is not packaged}
    lines = []
    for n, d, count in SHAPES:
        a, b = layers(n, d, count, 1), layers(n, d, count, 2)
        runs = [{n: clocked(lambda w=w: w(a, b)) for n, w in calls.items()} for _ in range(repeats)]  # noqa: B023
        for name, (_, scores) in runs[-1].items():
            assert np.allclose(scores, runs[-1]["compare"][1], atol=1e-4), name
        fastest = (min(run[name][0] for run in runs) for name in calls)
        lines.append((f"{n:,}, {d:,}, {count} × {count}", *(f"{s:.2g}" for s in fastest)))
        print(*lines[-1], sep="  ", flush=True)
    if not no_table:
        marks = f"| --- |{' --: |' * len(calls)}"
        TABLE.write_text(grid(("n, d, layers", *calls), lines, marks) + "\n", "utf-8")


if __name__ == "__main__":
    command(__doc__, main)
