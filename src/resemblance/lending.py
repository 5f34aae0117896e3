"""What travels to the workers of an executor in place of representations, and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from .measure import Measure
from .plan import TileTask
from .representation import Representation
from .spill import Files, Shared, bytes_of_views, folders_for, lent_views, private_folders
from .workers import Call, has_processes, is_local_cluster, workers_of

Measures = tuple[Measure, ...]


class Lender(Protocol):
    """Lends representations with their views to workers."""

    def has_room(self, representations: Iterable[Representation], measures: Measures) -> bool:
        """Say whether the views of all can be lent."""

    def lend(self, x: Representation, measures: Measures) -> tuple[Any, list[Call]]:
        """Return what travels in place of a representation, and the calls to make before, the
        first time."""

    def end(self, x: Representation, measures: Measures) -> None:
        """Give up what was lent: no call needs it any more."""


class Threads:
    """Lends representations to threads of this process.

    Views stay as long as tasks may need them if ``room`` bytes suffice for all, and else as long as
    calls in progress do.
    """

    def __init__(self, room: int):
        self._room = room
        self._staying: dict[Hashable, int] = {}

    def has_room(self, representations: Iterable[Representation], measures: Measures) -> bool:
        """Say whether all views can stay."""
        return sum(bytes_of_views(*x.shape, measures) for x in representations) <= self._room

    def lend(self, x: Representation, measures: Measures) -> tuple[Any, list[Call]]:
        """Return the representation itself."""
        size = bytes_of_views(*x.shape, measures)
        if (id(x), measures) not in self._staying and size <= self._room:
            self._staying[id(x), measures] = size
            self._room -= size
        return Shared(x), []

    def rest(self, x: Representation, measures: Measures) -> None:
        """Let the representation, which no call in progress needs, forget its views if they cannot
        stay."""
        if (id(x), measures) not in self._staying:
            x.forget()

    def end(self, x: Representation, measures: Measures) -> None:
        """Let the representation forget its views."""
        self._room += self._staying.pop((id(x), measures), 0)
        x.forget()


class Cluster:
    """Lends representations as futures of a Dask cluster, whose workers hand views on."""

    def __init__(self, executor: Any):
        self._client, self._options = executor._client, executor._kwargs
        self._lent: dict[tuple[int, Measures], tuple[Representation, Any]] = {}

    def has_room(self, representations: Iterable[Representation], measures: Measures) -> bool:
        """Say whether views can travel; the workers of a cluster write those to disk that do not
        fit their memory."""
        return all(isinstance(x.source, np.ndarray) for x in representations)

    def lend(self, x: Representation, measures: Measures) -> tuple[Any, list[Call]]:
        """Return the future of a representation with its views."""
        key = id(x), measures
        if not isinstance(x.source, np.ndarray):
            return x, []
        if key not in self._lent:
            options = {"pure": False, **self._options}
            self._lent[key] = x, self._client.submit(lent_views, x, measures, **options)
        return self._lent[key][1], []

    def end(self, x: Representation, measures: Measures) -> None:
        """Let go of the future, whose views end with it."""
        self._lent.pop((id(x), measures), None)


@contextmanager
def lending(
    executor: Executor | None, spill: str | Path | bool | None, memory: int
) -> Iterator[Lender | None]:
    """Yield what lends views to the workers of an executor; None if they compute their own.

    ``spill`` is a folder that all workers see, False for none, and by default that of the memory of
    this machine, or that of temporary files, for the processes of a pool or of a Dask cluster on
    this machine. ``memory`` is the budget of each worker for views.
    """
    if isinstance(executor, ThreadPoolExecutor):
        yield Threads(memory * workers_of(executor))
    elif executor is None or spill is False:
        yield None
    elif isinstance(spill, str | Path) or has_processes(executor) or is_local_cluster(executor):
        with private_folders(folders_for(spill)) as room:
            yield Files(room)
    else:
        yield Cluster(executor) if hasattr(executor, "_client") else None


class Use(NamedTuple):
    """What a call needs: a representation with its views for some measures."""

    x: Representation
    measures: Measures

    @property
    def key(self) -> Hashable:
        """What it is told apart by from other uses."""
        return id(self.x), self.measures


class Loans:
    """The calls of tasks, on representations that are lent for as long as calls need them.

    ``make`` returns the call of a task from what travels in place of its representations.
    """

    def __init__(self, lender: Lender | None, make: Callable[[Any, list[Any]], Call]):
        self._lender, self._make = lender, make
        self._users = Counter[Hashable]()
        self._current: dict[Hashable, Use] = {}  # of the tasks that are handed out now
        self._uses: dict[int, tuple[Call, list[Use]]] = {}

    def calls(self, tasks: Iterable[TileTask]) -> Iterator[Call]:
        """Yield the calls of tasks on one list of representations, and those to make before.

        Nothing is lent for a single task: no other has the same views. Between two lists, or groups
        of measures, what was lent ends with the last call that needs it.
        """
        for _, group in groupby(tasks, key=lambda task: task.measures):
            head = list(islice(group, 2))
            lender = self._lender if len(head) > 1 else None
            for task in chain(head, group):
                yield from self._calls(task, lender)
            past, self._current = self._current, {}
            for use in past.values():
                self._end_if_unused(use)

    def done(self, call: Call) -> None:
        """Take note that a call was carried out."""
        _, uses = self._uses.pop(id(call), (None, []))
        for use in uses:
            self._users[use.key] -= 1
            self._end_if_unused(use)

    def _calls(self, task: TileTask, lender: Lender | None) -> Iterator[Call]:
        if lender is None:
            yield self._make(task, list(task.representations))
            return
        loans, uses = [], [Use(x, task.measures) for x in task.representations]
        for use in uses:
            self._current[use.key] = use
            loan, before = lender.lend(*use)
            loans.append(loan)
            for call in before:
                yield self._counted(call, [use])
        yield self._counted(self._make(task, loans), uses)

    def _counted(self, call: Call, uses: list[Use]) -> Call:
        """Return a call after taking note of what it needs until it is carried out, which may be
        late if its worker is lost."""
        self._uses[id(call)] = call, uses  # call, so that no other gets its id
        self._users.update(use.key for use in uses)
        return call

    def _end_if_unused(self, use: Use) -> None:
        if self._lender is None or self._users[use.key] > 0:
            return
        if use.key not in self._current:
            del self._users[use.key]
            self._lender.end(*use)
        elif isinstance(self._lender, Threads):
            self._lender.rest(*use)
