"""Time and memory of extracting features from growing numbers of samples.

python benchmarks/features.py MODEL DATA --samples 1000 10000 50000

Each number of samples is a process of its own, with one thread; its peak is that of resident
memory. MODEL and DATA are those of ``resemblance models``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile

RUN = """
import json, resource, sys, time
import torch
import resemblance as rs
from resemblance.sources.models import load_samples

torch.set_num_threads(1)
model, data, limit, folder = sys.argv[1:]
samples = load_samples(data, limit=int(limit))
before = time.process_time()
subject = rs.extract_features(model, samples, folder, progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
seconds = time.process_time() - before
print(json.dumps([subject.last.n_samples, len(subject.layers), seconds, peak]))
"""


def measured(model: str, data: str, limit: int) -> tuple[int, int, float, float]:
    """Return samples, layers, CPU seconds, and the peak of memory in MB of one process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RUN, model, data, str(limit), folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    n, layers, seconds, peak = json.loads(output.splitlines()[-1])
    return n, layers, seconds, peak


def main() -> None:
    """Print a line per number of samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--samples", type=int, nargs="+", default=[1000, 10_000, 50_000])
    options = parser.parse_args()
    print("samples  layers  CPU s  peak MB")
    for limit in options.samples:
        n, layers, seconds, peak = measured(options.model, options.data, limit)
        print(f"{n:7,}  {layers:6}  {seconds:5.0f}  {peak:7.0f}", flush=True)


if __name__ == "__main__":
    main()
