"""Peak memory of comparing a few large representations under a byte budget.

    python benchmarks/memory.py --samples 10000 --memory 2GB

Prints the peak resident memory of the process, less what it had before the comparison.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import resemblance as rs

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--samples", type=int, default=10_000)
parser.add_argument("--features", type=int, default=64)
parser.add_argument("--count", type=int, default=3)
parser.add_argument("--memory", default="2GB")
parser.add_argument(
    "--measures", nargs="*", default=[m.name for m in rs.preset("default") if m.name != "rtd"]
)
options = parser.parse_args()

rng = np.random.default_rng(0)
latent = rng.standard_normal((options.samples, 20))
reps = {
    str(i): np.tanh(latent @ rng.standard_normal((20, options.features)))
    for i in range(options.count)
}
rs.compare({k: v[:50] for k, v in reps.items()}, measures=options.measures, progress=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
result = rs.compare(reps, measures=options.measures, memory=options.memory, progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(result)
print(
    f"before {before / 1e6:.2f} GB, peak {peak / 1e6:.2f} GB, {time.perf_counter() - start:.0f} s "
    "wall"
)
