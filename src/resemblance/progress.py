"""Progress of long work: a bar on standard error, or calls of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Progress = bool | Callable[[int, int], None]
HUNDREDTHS = 100
T = TypeVar("T")


@contextmanager
def reporting(
    progress: Progress, total: int | None, called: str
) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further steps; ``None``: the total is unknown."""
    steps = 0

    def count(more: int) -> None:
        nonlocal steps
        steps += more
        if callable(progress):
            progress(steps, total or 0)

    if progress is not True or total == 0:
        yield count
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        job = bar.add_task(called, total=total)
        yield lambda more: bar.advance(job, more)


@contextmanager
def in_hundredths(
    progress: Progress, total: float, called: str
) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the size of each further part; at the end all is counted."""
    size, reported = 0.0, 0
    with reporting(progress, HUNDREDTHS, called) as advance:

        def count(more: float) -> None:
            nonlocal size, reported
            size += more
            hundredths = int(HUNDREDTHS * size / total + 1e-9)  # parts may add up to a little less
            advance(min(HUNDREDTHS, hundredths) - reported)
            reported = min(HUNDREDTHS, hundredths)

        yield count
        count(total - size)


def counted(items: Iterable[T], count: Callable[[int], None]) -> Iterator[T]:
    """Yield items, and count each when the next is asked for, which is when its work is done."""
    for item in items:
        yield item
        count(1)
