"""The memory that is left to this process before it fails or is killed, and what it frees."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The files with the limit and the use of a control group, and the line of its statistics with what
# it gives back when memory is needed.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that are left to this process, ``None`` where the system does not say.

    It is the least of what the machine has available, what the control groups (containers) of this
    process leave, and what its limit on addresses leaves (``ulimit -v``). ``root`` holds ``proc``
    and ``sys``.
    """
    bounds = [*_of_machine(root), *_of_groups(root), *_of_addresses(root)]
    return max(0, min(bounds)) if bounds else None


def _of_machine(root: Path) -> Iterator[int]:
    lines = [line for line in _lines(root / "proc/meminfo") if line.startswith("MemAvailable:")]
    if lines:
        yield 1024 * int(lines[0].split()[1])
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        # This system does not say what is available, so it is all memory that the machine has
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> Iterator[int]:
    """Yield what each control group above this process leaves; both versions are read."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        innermost = top / path.lstrip("/")
        for group in (innermost, *innermost.parents):
            yield from _of_group(group)
            if group == top:
                break


def _of_group(group: Path) -> Iterator[int]:
    for limit, used, reclaimed in GROUP_FILES:
        numbers = [*_lines(group / limit), *_lines(group / used)]
        if len(numbers) == 2 and all(number.isdigit() for number in numbers):
            entries = map(str.split, _lines(group / "memory.stat"))
            freed = sum(int(entry[1]) for entry in entries if entry[0] == reclaimed)
            yield int(numbers[0]) - int(numbers[1]) + freed


def _of_addresses(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _lines(root / "proc/self/statm")
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0].split()[0]) * resource.getpagesize()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def keep_freed_memory() -> None:
    """Let this process keep the memory of arrays that end, for those that follow.

    The C library of GNU gives that of large ones back, and takes new memory page by page, for up to
    a fifth of the time of a comparison. This is for processes of our own; it does nothing on other
    systems.
    """
    trim_threshold, mmap_threshold = -1, -3  # as malloc.h names them
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(mmap_threshold, 2**30) or mallopt(mmap_threshold, 2**25)  # what older ones accept
