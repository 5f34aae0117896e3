"""Progress of long work: a bar on standard error, or a function that is told how far it is."""

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
    """Yield a function that is told how much more is done, of a total or (``None``) of nobody knows
    how much."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if callable(progress):
            progress(done, total or 0)

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
    """Yield a function that is told how much more of work with parts of any size is done; all of it
    at the end."""
    done, told = 0.0, 0
    with reporting(progress, HUNDREDTHS, called) as show:

        def count(more: float) -> None:
            nonlocal done, told
            done += more
            now = min(
                HUNDREDTHS, int(HUNDREDTHS * done / total + 1e-9)
            )  # the parts may add up to a little less
            show(now - told)
            told = now

        yield count
        count(total - done)


def counted(items: Iterable[T], count: Callable[[int], None]) -> Iterator[T]:
    """Yield items, and count each when the next is asked for: when the work on it is done."""
    for item in items:
        yield item
        count(1)
