"""What the machine has left: the least of its own memory, of control groups, and of the limit on
addresses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from resemblance.engine.memory import available_memory

GB = 10**9


MACHINE = {
    "proc/meminfo": f"MemTotal: {64 * GB // 1024} kB\nMemAvailable:   {32 * GB // 1024} kB\n"
}
UNLIMITED = {"sys/fs/cgroup/user/memory.max": "max\n", "sys/fs/cgroup/user/memory.current": "5\n"}


GROUPS = {
    "of the process": (UNLIMITED | {"proc/self/cgroup": "0::/user/job\n"}, 32 * GB),
    "above that of the process": (
        {
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/memory.max": f"{8 * GB}\n",
            "sys/fs/cgroup/user/memory.current": f"{3 * GB}\n",
            "sys/fs/cgroup/user/memory.stat": f"anon {GB}\ninactive_file {GB}\n",
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/job/memory.current": f"{2 * GB}\n",
        },
        6 * GB,
    ),
    "seen from inside a container": (
        {
            "proc/self/cgroup": "5:cpu:/\n4:memory:/gone/elsewhere\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{5 * GB}\n",
            "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 0\n",
        },
        0,
    ),
    "none": ({}, 32 * GB),
}


@pytest.mark.parametrize("group", GROUPS)
def test_the_least_of_machine_and_groups(tmp_path, group):
    files, expected = GROUPS[group]
    for name, text in (MACHINE | files).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_memory(tmp_path) == pytest.approx(expected, abs=2048)


LIMITED = """
import resource, numpy as np, resemblance as rs
from resemblance.intermediates.distances import distances
@rs.measure(label="All", family="descriptive", larger_is_more_similar=False, range=(0, np.inf),
            symmetric=True, citation="nobody2026nothing")
def whole(x, y):
    "Whole matrices of distances."
    return float(np.abs(distances(x) - distances(y)).max())
noise = np.random.default_rng(0).standard_normal((2, 12_000, 8))
resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000, 2_500_000_000))
result = rs.compare(list(noise), measures=["cka", whole, "procrustes"],
                    progress=False)
print(sorted({f.measure for f in result.failures}),
      {f.reason.split(" for ")[0] for f in result.failures})
"""


def test_under_a_limit_the_measures_that_fit_are_computed():
    """The distances of two representations are 2.3 GB of the 2.5 GB of which Python and its
    libraries take more."""
    run = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert run.stdout == "['whole'] {'not enough memory'}\n", run.stderr
