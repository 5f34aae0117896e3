"""Where the tasks of inference are carried out, and the vectors that they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.scores import Column
from ..engine.store import Store
from ..engine.workers import (
    Call,
    check_travel,
    results_of,
    shares_files,
    single_threaded,
    workers_of,
)
from ..locks import has_locks
from ..measure import Measure
from .layout import Layout, Pair
from .tasks import LeftOutTask, NullTask, Task, run_vectors

PIECES_PER_WORKER = 2
VectorKey = tuple[str, int, str, str, str]  # measure, version, data of both sides, kind


@dataclass(frozen=True, eq=False)
class Bench:
    """Carries out tasks here or by an executor, and keeps their vectors, also in a file.

    ``vectors`` are those computed so far, in this run or an earlier one with the same file.
    ``tick`` counts finished work.
    """

    layout: Layout
    executor: Executor | None
    memory: int
    save: Path | None
    tick: Callable[[float], None]
    spill: str | Path | bool | None = None
    vectors: dict[VectorKey, np.ndarray] = field(default_factory=dict)

    @property
    def pieces(self) -> int:
        """Into how many tasks work is cut."""
        return PIECES_PER_WORKER * workers_of(self.executor) if self.executor else 1

    @property
    def options(self) -> dict[str, Any]:
        """How comparisons are computed here."""
        settings = {"executor": self.executor, "memory": self.memory, "save": self.save}
        return {**settings, "spill": self.spill, "progress": False}

    def remember(self) -> None:
        """Read the vectors of these representations from the file, if there is one."""
        if self.save is not None:
            with Store(self.save) as store:
                self._take(store.columns(self.layout.tokens, by_inference=True))

    def has(self, m: Measure, pair: Pair, kind: str) -> bool:
        """Say whether a vector was computed before."""
        return self._key(m, pair, kind) in self.vectors

    def vector(self, m: Measure, pair: Pair, kind: str) -> np.ndarray:
        """Return a vector that was computed."""
        return self.vectors[self._key(m, pair, kind)]

    def run(self, tasks: Sequence[Task], weight: float) -> None:
        """Carry out tasks, which count for ``weight`` together."""
        steps = sum(map(_size, tasks)) or 1
        keep = self._keep()
        with Store(self.save) if self.save and not keep else nullcontext() as store:
            for batch in self._finished(tasks, keep):
                self._take(batch)
                if store:
                    store.put(batch)
                self.tick(weight * len(batch) / steps)
        if not tasks:
            self.tick(weight)

    def _keep(self) -> Path | None:
        """Return the file if workers write it themselves; it is closed here then."""
        if self.save is None or self.executor is None or not shares_files(self.executor):
            return None
        return self.save if has_locks(self.save.parent) else None

    def _finished(self, tasks: Sequence[Task], keep: Path | None) -> Iterator[list[Column]]:
        if self.executor is None:
            return _here(tasks)
        check_travel({m for task in tasks for m in task.measures}, self.executor)
        calls = [Call(title_of(task), run_vectors, (task, keep)) for task in tasks]
        results = results_of(calls, self.executor, self.save, "evidence")
        return (vectors for _, vectors in results)

    def _take(self, columns: Iterable[Column]) -> None:
        for c in columns:
            for x, y, numbers in zip(c.x.tolist(), c.y.tolist(), c.values):
                self.vectors[c.measure, c.version, c.data[x], c.data[y], c.kind] = numbers

    def _key(self, m: Measure, pair: Pair, kind: str) -> VectorKey:
        tokens = self.layout.tokens
        return m.spec, m.version, tokens[pair[0]], tokens[pair[1]], kind


def title_of(task: Task) -> str:
    """Return what a task is called in messages: its representations and its measures."""
    names = [r.name for r in task.representations.values()]
    measures = ", ".join(dict.fromkeys(m.name for m in task.measures))
    ends = names if len(names) < 3 else [names[0], "...", names[-1]]
    return f"evidence for {', '.join(ends)} by {measures}"


def _here(tasks: Sequence[Task]) -> Iterator[list[Column]]:
    with single_threaded():
        for task, following in zip(tasks, [*tasks[1:], None]):
            for column in task.vectors():
                yield [column]
            needed = set(map(id, following.representations.values())) if following else set()
            for representation in task.representations.values():
                if id(representation) not in needed:
                    representation.forget()


def _size(task: Task) -> int:
    """Return how many vectors a task yields."""
    if isinstance(task, NullTask):
        return sum(len(chunk.cells) for chunk in task.chunks)
    return len(task.cells) if isinstance(task, LeftOutTask) else len(task.measures)
