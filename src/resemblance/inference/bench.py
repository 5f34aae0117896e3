"""Where the tasks of inference are carried out, and the vectors that they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
from ..store import Store, Vector, VectorKey
from .layout import Layout, Pair
from .tasks import LeftOutTask, NullTask, Task, run_vectors

PIECES_PER_WORKER = 2


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
    vectors: dict[VectorKey, Vector] = field(default_factory=dict)

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
                for vector in store.vectors(self.layout.tokens):
                    self.vectors[vector[:6]] = vector

    def has(self, m: Measure, pair: Pair, kind: str, start: int = 0) -> bool:
        """Say whether a vector was computed before."""
        return self._key(m, pair, kind, start) in self.vectors

    def vector(self, m: Measure, pair: Pair, kind: str, start: int = 0) -> Vector:
        """Return a vector that was computed."""
        return self.vectors[self._key(m, pair, kind, start)]

    def run(self, tasks: Sequence[Task], weight: float) -> None:
        """Carry out tasks, which count for ``weight`` together."""
        steps = sum(map(_size, tasks)) or 1
        keep = self._keep()
        with Store(self.save) if self.save and not keep else nullcontext() as store:
            for batch in self._finished(tasks, keep):
                for vector in batch:
                    self.vectors[vector[:6]] = vector
                if store:
                    store.put_vectors(batch)
                self.tick(weight * len(batch) / steps)
        if not tasks:
            self.tick(weight)

    def _keep(self) -> Path | None:
        """Return the file if workers write it themselves; it is closed here then."""
        if self.save is None or self.executor is None or not shares_files(self.executor):
            return None
        return self.save if has_locks(self.save.parent) else None

    def _finished(self, tasks: Sequence[Task], keep: Path | None) -> Iterator[list[Vector]]:
        if self.executor is None:
            return _here(tasks)
        check_travel({m for task in tasks for m in task.measures}, self.executor)
        calls = [Call(title_of(task), run_vectors, (task, keep)) for task in tasks]
        results = results_of(calls, self.executor, self.save, "evidence")
        return (vectors for _, vectors in results)

    def _key(self, m: Measure, pair: Pair, kind: str, start: int) -> VectorKey:
        tokens = self.layout.tokens
        return m.spec, m.version, tokens[pair[0]], tokens[pair[1]], kind, start


def title_of(task: Task) -> str:
    """Return what a task is called in messages: its representations and its measures."""
    names = [r.name for r in task.representations.values()]
    measures = ", ".join(dict.fromkeys(m.name for m in task.measures))
    ends = names if len(names) < 3 else [names[0], "...", names[-1]]
    return f"evidence for {', '.join(ends)} by {measures}"


def _here(tasks: Sequence[Task]) -> Iterator[list[Vector]]:
    with single_threaded():
        for task, following in zip(tasks, [*tasks[1:], None]):
            for vector in task.vectors():
                yield [vector]
            needed = set(map(id, following.representations.values())) if following else set()
            for representation in task.representations.values():
                if id(representation) not in needed:
                    representation.forget()


def _size(task: Task) -> int:
    """Return how many vectors a task yields."""
    if isinstance(task, NullTask):
        return sum(len(chunk.cells) for chunk in task.chunks)
    return len(task.cells) if isinstance(task, LeftOutTask) else len(task.measures)
