"""What the machine has left: the least of its own memory, of control groups, and of the limit on
addresses."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resemblance import cli  # noqa: F401 - for other processes
from resemblance.engine.jobs import process_pool
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


def test_the_limit_on_addresses_counts():
    code = (
        "import resource; from resemblance.engine.memory import available_memory; "
        f"resource.setrlimit(resource.RLIMIT_AS, ({3 * GB}, {3 * GB})); print(available_memory())"
    )
    left = int(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
    )
    assert 0 < left < 3 * GB


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


def pages_taken() -> int:
    """Return how many pages of memory a second array takes after a first one has ended."""
    import resource

    np.ones(4_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(4_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def pages_of_a_process(preparation: str) -> int:
    code = f"from test_machine import *\n{preparation}\nprint(pages_taken())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, check=True
    )
    return int(done.stdout.split()[-1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that gives memory back")
def test_processes_of_ours_keep_the_memory_that_they_free():
    with process_pool(2) as pool:
        assert pool.submit(pages_taken).result() < 10
    assert pages_of_a_process("with pytest.raises(SystemExit): cli.app(['--version'])") < 10
    assert pages_of_a_process("") >= 10  # that of a user is left as it is
