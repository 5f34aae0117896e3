"""Available memory of this process, and memory budgets."""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The files with the limit and the use of a control group, and the line of its statistics with the
# reclaimable bytes.
CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
HALF_KEYWORD = "half"  # half of the available memory when the work begins
FALLBACK_MEMORY_BYTES = 2 * 10**9  # bytes, if the available memory is unknown
MIN_BUDGET_BYTES = 10**8
BYTE_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
BYTE_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes available to this process, or ``None`` if the system does not report memory.

    The result is the minimum of the available memory of the machine, the remaining memory of the
    control groups (containers) of the process, and the remaining address space (``ulimit -v``).
    ``root`` is the folder with ``proc`` and ``sys``.
    """
    bounds = [*_machine_memory(root), *_cgroup_memories(root), *_address_space_left(root)]
    return max(0, min(bounds)) if bounds else None


def _machine_memory(root: Path) -> Iterator[int]:
    lines = [
        line
        for line in _read_system_lines(root / "proc/meminfo")
        if line.startswith("MemAvailable:")
    ]
    if lines:
        yield 1024 * int(lines[0].split()[1])
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        # This system does not report available memory; use the total memory of the machine.
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _cgroup_memories(root: Path) -> Iterator[int]:
    """Yield the remaining bytes of every control group above this process that has a limit, in
    versions 1 and 2. ``root``: the folder with ``proc`` and ``sys``."""
    for line in _read_system_lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        innermost = top / path.lstrip("/")
        for group in (innermost, *innermost.parents):
            yield from _cgroup_memory(group)
            if group == top:
                break


def _cgroup_memory(group: Path) -> Iterator[int]:
    for limit, used, reclaimed in CGROUP_FILES:
        numbers = [*_read_system_lines(group / limit), *_read_system_lines(group / used)]
        if len(numbers) == 2 and all(number.isdigit() for number in numbers):
            entries = map(str.split, _read_system_lines(group / "memory.stat"))
            freed = sum(int(entry[1]) for entry in entries if entry[0] == reclaimed)
            yield int(numbers[0]) - int(numbers[1]) + freed


def _address_space_left(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read_system_lines(root / "proc/self/statm")
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0].split()[0]) * resource.getpagesize()


def _read_system_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def parse_bytes(memory: int | str) -> int:
    """Return the number of bytes for 2_000_000_000, "2GB", "512 MiB", or "half" (of available
    memory).

    Raises ``ValueError`` for anything else, also for a bare number below a million, because the
    unit is missing.
    """
    if memory == HALF_KEYWORD:
        available = available_memory()
        return FALLBACK_MEMORY_BYTES if available is None else max(MIN_BUDGET_BYTES, available // 2)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\+?\d+)?)\s*([kmg]?i?b)?\s*", str(memory).lower())
    size = float(match[1]) * BYTE_UNITS[match[2] or ""] if match else 0.0
    if match is None or not 1 <= size < math.inf:
        raise ValueError(
            f'memory must be a positive number of bytes such as "2GB", or "half"; got {memory!r}'
        )
    if not match[2] and size < 1e6:
        raise ValueError(
            f'memory={memory!r} is {size:g} bytes, too few for any work; did you mean "{memory}GB"?'
        )
    return int(size)


def memory_budget(memory: int | str, executor: object = None) -> int:
    """Return the bytes for the intermediates of a task. ``memory``: bytes, text such as "2GB", or
    "half". ``executor``: None for computation in this process.

    A given number is the budget. For "half", all workers on this machine share half of the
    available memory; the memory of other machines is unknown, and the budget is 2 GB.
    """
    from .workers import count_workers, is_on_this_machine

    if memory != HALF_KEYWORD or executor is None:
        return parse_bytes(memory)
    if not is_on_this_machine(executor):
        return FALLBACK_MEMORY_BYTES
    return max(MIN_BUDGET_BYTES, parse_bytes(memory) // count_workers(executor))


def keep_freed_memory() -> None:
    """Let the process keep the memory of freed arrays for later arrays.

    The GNU C library returns the memory of large arrays to the system and takes new memory page by
    page, for up to a fifth of the time of a comparison. Worker processes of the package call this
    function; on other systems the function does nothing.
    """
    trim_threshold, mmap_threshold = -1, -3  # as malloc.h names them
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(trim_threshold, 2**31 - 1)
        # Older C libraries accept at most 32 MiB.
        mallopt(mmap_threshold, 2**30) or mallopt(mmap_threshold, 2**25)
