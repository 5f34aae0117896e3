"""What the machine still has to give: the memory that this process may take before it fails or is
killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Where a control group says its limit, what it uses, and which line of its statistics is given back
# when needed.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that are left to this process, ``None`` where the system does not say.

    The least of what the machine has available, what its control groups (containers) leave, and
    what is left of its limit on addresses (``ulimit -v``). ``root`` is where ``proc`` and ``sys``
    are.
    """
    left = [*_of_machine(root), *_of_groups(root), *_of_addresses(root)]
    return max(0, min(left)) if left else None


def _of_machine(root: Path) -> Iterator[int]:
    found = [
        line.split() for line in _lines(root / "proc/meminfo") if line.startswith("MemAvailable:")
    ]
    if found:
        yield 1024 * int(found[0][1])
    elif "SC_PHYS_PAGES" in getattr(
        os, "sysconf_names", ()
    ):  # all there is, where nobody says what is available
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> Iterator[int]:
    """What every control group above this process leaves, in the first or the second version of
    control groups."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        own = top / path.lstrip("/")
        for group in (own, *own.parents):
            yield from _of_group(group)
            if group == top:
                break


def _of_group(group: Path) -> Iterator[int]:
    for limit, used, given_back in GROUP_FILES:
        numbers = [*_lines(group / limit), *_lines(group / used)]
        if len(numbers) == 2 and all(number.isdigit() for number in numbers):
            freed = [
                int(line.split()[1])
                for line in _lines(group / "memory.stat")
                if line.split()[0] == given_back
            ]
            yield int(numbers[0]) - int(numbers[1]) + sum(freed)


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
