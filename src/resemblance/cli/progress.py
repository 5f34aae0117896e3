"""Progress on standard error for long commands: bars on a terminal, lines of a log elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bars(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield what shows progress on standard error.

    A bar per stage with the time left, or lines if it is a file.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    jobs: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True)) as shown:

        def update(stage: str, done: int, total: int) -> None:
            if stage not in jobs:
                jobs[stage] = shown.add_task(stage, total=total)
            shown.update(jobs[stage], completed=done, total=total)

        yield update


class Lines:
    """Progress as lines of a log: one at the start, the end and each tenth of every stage."""

    def __init__(self) -> None:
        self._last: tuple[str, int] = ("", -1)
        self._started: dict[str, tuple[float, int]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print a line if another tenth is done."""
        started, before = self._started.setdefault(stage, (time.monotonic(), done))
        tenth = 10 * done // max(total, 1)
        if (stage, tenth) == self._last:
            return
        self._last = (stage, tenth)
        left = (
            (time.monotonic() - started) / (done - before) * (total - done)
            if done > before
            else None
        )
        note = f", about {left:.0f} s left" if left is not None and done < total else ""
        print(f"{stage}: {done} of {total}{note}", file=sys.stderr, flush=True)
