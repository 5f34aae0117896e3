"""How far a call is, as a bar on standard error or to a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = bool | Callable[[int, int], None]
PARTS = 100


@contextmanager
def reporting(progress: Progress, total: float) -> Iterator[Callable[[float], None]]:
    """Yield a function that is told how much more of the total is done; the user is told in hundredths."""
    done = 0.0

    def count(more: float) -> None:
        nonlocal done
        done += more
        if callable(progress):
            progress(min(PARTS, int(PARTS * done / total + 1e-9)), PARTS)

    if progress is not True:
        yield count
        count(total - done)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        job = bar.add_task("drift", total=total)
        yield lambda more: bar.advance(job, more)
