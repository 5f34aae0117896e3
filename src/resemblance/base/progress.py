"""Progress of long computations: a bar on standard error, lines where standard error is no
terminal, or calls of a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .context_values import context_value
from .formatting import format_duration

Progress = bool | Callable[[int, int], None]
PERCENT_STEPS = 100
SECONDS_BETWEEN_LINES = 30.0  # where standard error is no terminal
T = TypeVar("T")


@contextmanager
def progress_reporter(
    progress: Progress, total: int | None, title: str
) -> Iterator[Callable[[int], None]]:
    """Yield a function to call after every part of the work, with the number of steps completed
    since the last call.

    ``progress``: True shows a bar, or a line every half minute where standard error is no terminal;
    a callable receives (completed steps, total); False shows nothing. ``total``: the number of
    steps, or None if unknown; a callable then receives 0. ``title``: the words before the bar.
    """
    steps = 0

    def count(n_steps: int) -> None:
        nonlocal steps
        steps += n_steps
        if callable(progress):
            progress(steps, total or 0)

    if progress is not True or total == 0:
        yield count
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _print_progress_lines(total, title)
        return
    with Bar(console=console, transient=True) as bar:
        job = bar.add_task(title, total=total)
        yield lambda n_steps: bar.advance(job, n_steps)


def _print_progress_lines(total: int | None, title: str) -> Callable[[int], None]:
    """Return a function to call with the number of steps completed since the last call; the
    function prints a line on standard error every 30 seconds. ``total``: the number of steps, None
    if unknown. ``title``: the first words of the line."""
    start, steps, next_report = time.monotonic(), 0, SECONDS_BETWEEN_LINES

    def count(n_steps: int) -> None:
        nonlocal steps, next_report
        steps += n_steps
        elapsed = time.monotonic() - start
        if elapsed < next_report or not n_steps:
            return
        next_report = elapsed + SECONDS_BETWEEN_LINES
        share = f"{PERCENT_STEPS * steps // total} %" if total else f"{steps:,} steps"
        estimate = format_time_left(elapsed, steps, total)
        print(
            f"{title}: {share} after {format_duration(elapsed)}{estimate}",
            file=sys.stderr,
            flush=True,
        )

    return count


def format_time_left(elapsed: float, steps: int, total: int | None) -> str:
    """Format the estimated time of the remaining steps at the speed so far, ", about 3.5 h left";
    "" if the time is unknown. ``elapsed``: seconds so far. ``steps``: completed steps. ``total``:
    all steps, or None."""
    if not steps or not total or steps >= total:
        return ""
    return f", about {format_duration(elapsed / steps * (total - steps))} left"


def progress_announcer(progress: Progress, title: str) -> Callable[[str], None]:
    """Return a function to print the name of a stage as a line on standard error, above a bar.

    The function prints nothing unless ``progress`` is True.
    """

    def announce(text: str) -> None:
        if progress is True:
            print(f"{title}: {text}", file=sys.stderr, flush=True)

    return announce


_partial_counter: ContextVar[Callable[[float], None] | None] = ContextVar("partial", default=None)


def partial_work_counter(count: Callable[[float], None]) -> AbstractContextManager[None]:
    """Return a context manager that yields None: inside the ``with`` block, ``count`` is called
    with the number of steps, a fraction too, that :func:`count_partial_work` reports."""
    return context_value(_partial_counter, count)


def count_partial_work(steps: float) -> None:
    """Report completed steps, also fractions of a step, to the counter of
    :func:`partial_work_counter`; do nothing outside the context."""
    if count := _partial_counter.get():
        count(steps)


@contextmanager
def percent_reporter(
    progress: Progress, total: float, title: str
) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the size of every completed part of ``total``, in the unit of
    ``total``. The progress counts whole percents, and the end of the block completes the total.

    ``progress``: True for a bar, False for none, or a function of (completed percents, 100).
    ``title``: the words before the bar.
    """
    size, last_percent = 0.0, 0
    with progress_reporter(progress, PERCENT_STEPS, title) as advance:

        def count(part_size: float) -> None:
            nonlocal size, last_percent
            size += part_size
            # The term 1e-9 corrects rounding in the sum of the parts
            hundredths = int(PERCENT_STEPS * size / total + 1e-9)
            advance(min(PERCENT_STEPS, hundredths) - last_percent)
            last_percent = min(PERCENT_STEPS, hundredths)

        yield count
        count(total - size)


def count_items(items: Iterable[T], count: Callable[[int], None]) -> Iterator[T]:
    """Yield items, and call ``count(1)`` after the work on every item, when the caller requests the
    next item."""
    for item in items:
        yield item
        count(1)
