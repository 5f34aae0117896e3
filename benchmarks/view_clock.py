"""A clock for views: what each takes without the views that it asks for, and who asks for it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from resemblance import representation
from resemblance.engine.scoring import _score
from resemblance.measure import Measure
from resemblance.representation import Representation

ROOM = 10**9  # bytes of views, after which they are dropped and, where needed, computed again
VALUE, VIEW, PAIR_VIEW = "values", "views", "pair views"

Part = tuple[str, Hashable]  # a kind, and a view or the specification of a measure


class Ledger:
    """The least seconds of each part, without those of the parts that it asks for."""

    def __init__(self) -> None:
        self.seconds: dict[Part, float] = {}
        self.asks: dict[Part, set[Part]] = defaultdict(set)
        self._open: list[tuple[Part, float, list[float]]] = []

    def begin(self, part: Part) -> None:
        """Note that a part begins to be computed, for the part that is being computed now."""
        self._open.append((part, time.process_time(), []))

    def asked(self, part: Part) -> None:
        """Note that the part that is being computed needs another one."""
        if self._open:
            self.asks[self._open[-1][0]].add(part)

    def end(self) -> None:
        """Note that the part that is being computed is done."""
        part, start, others = self._open.pop()
        elapsed = time.process_time() - start
        self.seconds[part] = min(elapsed - sum(others), self.seconds.get(part, np.inf))
        if self._open:
            self._open[-1][2].append(elapsed)

    def end_all(self) -> None:
        """Note that all is done, also views that could not be computed."""
        while self._open:
            self.end()

    def forget(self, part: Part) -> None:
        """Forget a part that could not be computed."""
        self.seconds.pop(part, None)

    def shares(self, kind: str) -> Iterator[tuple[float, frozenset[str]]]:
        """Yield seconds of a kind with the measures of which each needs them, all parts with the
        same measures in one sum."""
        users: dict[Part, set[str]] = defaultdict(set)
        for part in list(self.seconds):
            if part[0] == VALUE:
                for needed in self._needed(part):
                    users[needed].add(str(part[1]))
        sums: dict[frozenset[str], float] = defaultdict(float)
        for part, specs in users.items():
            if part[0] == kind:
                sums[frozenset(specs)] += self.seconds.get(part, 0.0)
        for specs in sorted(sums, key=sorted):
            yield sums[specs], specs

    def _needed(self, part: Part) -> set[Part]:
        """Return a part and all that it needs, directly or not."""
        needed, waiting = {part}, [part]
        while waiting:
            more = self.asks[waiting.pop()] - needed
            needed |= more
            waiting += more
        return needed


class TimedViews(dict):  # type: ignore[type-arg]
    """Remembered views that tell a ledger what is asked for and how long it takes to compute."""

    def __init__(self, ledger: Ledger, kind: str):
        super().__init__()
        self._ledger, self._kind = ledger, kind

    def __contains__(self, key: object) -> bool:
        part = self._kind, key
        self._ledger.asked(part)
        known = super().__contains__(key)
        if not known:
            self._ledger.begin(part)
        return known

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)
        self._ledger.end()


def timed_pair(
    measures: Sequence[Measure], arrays: Sequence[np.ndarray], ledger: Ledger
) -> set[str]:
    """Compute all measures of one pair, with the views of both cold and then warm.

    Return those that have no value for these arrays.
    """
    undefined = set[str]()
    pair: list[Representation] = []
    for m in measures:
        if not pair or sum(map(_bytes, pair)) > ROOM:
            pair = [Representation(array) for array in arrays]
            for r in pair:
                r._views = TimedViews(ledger, VIEW)
        for _ in range(2):
            shared = TimedViews(ledger, PAIR_VIEW)
            token = representation._pair.set((pair[0], pair[1], shared))
            ledger.begin((VALUE, m.spec.partition("[labels")[0]))
            score = _score(m, *pair, (0, 1))
            ledger.end_all()
            representation._pair.reset(token)
            if score.reason:
                undefined.add(m.spec)
                ledger.forget((VALUE, m.spec))
    return undefined


def _bytes(x: Representation) -> int:
    return sum(_size(value) for value in x.views.values())


def _size(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_size, value))
    return int(getattr(value, "nbytes", 0))
