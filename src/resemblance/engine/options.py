"""The options of a run: workers, memory, file and progress, checked once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.progress import Progress
from ..significance.resampling import check_positive_integers
from .memory import HALF_KEYWORD, memory_budget
from .workers import count_workers


@dataclass(frozen=True)
class RunOptions:
    """The checked options of a run; the parameters of :func:`compare` have the same names.

    ``memory`` is the budget of a block in bytes, and ``memory_option`` the option in the words of
    the caller. ``keep``: representations in the calling process keep intermediates, and the caller
    clears the caches. ``announce`` receives the time estimate of long work; by default, the
    progress bar prints the estimate.
    """

    executor: Executor | None
    memory: int
    memory_option: int | str
    block_size: int | None = None
    progress: Progress = True
    save: str | Path | None = None
    spill: str | Path | bool | None = None
    keep: bool = False
    announce: Callable[[str], None] | None = None

    @property
    def workers(self) -> int:
        """The number of blocks that are computed at the same time."""
        return count_workers(self.executor) if self.executor else 1


def check_run_options(
    executor: Executor | None = None,
    memory: int | str = HALF_KEYWORD,
    block_size: int | None = None,
    **options: Any,
) -> RunOptions:
    """Return the checked options of a run, with ``memory`` converted to bytes; raises
    ``ValueError`` for invalid options. ``options``: further fields of :class:`RunOptions`."""
    if block_size is not None:
        check_positive_integers("compare", block_size=block_size)
    return RunOptions(executor, memory_budget(memory, executor), memory, block_size, **options)
