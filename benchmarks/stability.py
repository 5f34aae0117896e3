"""Time of the feature split, beside that of the package shesha-geometry where it can be imported.

    python benchmarks/stability.py [--samples 1600] [--features 512] [--splits 30]

CPU seconds of one thread each; ``pip install --target folder --no-deps shesha-geometry`` and
``PYTHONPATH=folder`` make the package importable. Both rank the dissimilarities exactly; the values
on the same halves are compared too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from bench import options
from threadpoolctl import threadpool_limits

from resemblance.stability import rdm
from resemblance.stability.rdm import mean_agreement
from resemblance.stability.splits import feature_split, halves


def seconds(function: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The least CPU time of several calls, and the value."""
    best, value = np.inf, np.nan
    for _ in range(repeats):
        start = time.process_time()
        value = function()
        best = min(best, time.process_time() - start)
    return best, value


def main() -> None:
    args = options(__doc__, samples=1600, features=512, splits=30, repeats=3)
    x = np.random.default_rng(0).standard_normal((args.samples, args.features)) + 0.3
    feature_split(x, k=1)  # compiles, once per machine
    ours, _ = seconds(lambda: feature_split(x, k=args.splits), args.repeats)
    print(f"resemblance, compiled ranks   {ours:8.2f} s")
    rdm.COMPILED = 2**63
    plain, _ = seconds(lambda: feature_split(x, k=args.splits), args.repeats)
    print(f"resemblance, NumPy only       {plain:8.2f} s")
    try:
        import shesha
    except ImportError:
        print("shesha-geometry is not installed: nothing to compare with")
        return
    theirs, value = seconds(lambda: shesha.feature_split(x, n_splits=args.splits, seed=320), 1)
    print(
        f"shesha-geometry               {theirs:8.2f} s: {theirs / ours:.1f} and "
        f"{theirs / plain:.1f} times as long"
    )
    random = np.random.default_rng(320)
    same = mean_agreement(
        (halves(x, random.permutation(x.shape[1])) for _ in range(args.splits)),
        "cosine",
        "spearman",
    )
    print(f"difference on the same halves {abs(same - value):.1e}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
