"""Run the tasks of inference and collect the resulting vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain, compress, groupby
from typing import TypeVar

import numpy as np

from ..comparison.scores import ScoreBatch
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure
from ..engine.cache_sharing import shared_cache
from ..engine.memory import parse_bytes
from ..engine.tasks import run_pair_blocks
from ..engine.work import BlockJob, ComparisonPlan, PairBlock, RunOptions
from ..engine.workers import count_workers, is_on_this_machine, single_threaded
from .layout import IndexPair, InferencePairs

TILE_TASKS_PER_WORKER = 2
RequiredPairs = Mapping[Measure, list[IndexPair]]
Chunk = TypeVar("Chunk")
VectorKey = tuple[str, int, str, str, str]  # measure, version, data of x, data of y, kind


@dataclass(frozen=True, eq=False)
class InferenceRun:
    """Runs tasks for the pairs of a layout and keeps the vectors, also in the file of the options.

    ``vectors`` are the vectors computed in this run or in an earlier run with the same file;
    ``notes`` give reasons for missing numbers. ``advance`` counts the steps of a pair: the value,
    chunks of permutations, and values on parts; ``announce`` prints a message before long work.
    """

    layout: InferencePairs
    options: RunOptions
    advance: Callable[[int], None]
    announce: Callable[[str], None]
    vectors: dict[VectorKey, np.ndarray] = field(default_factory=dict)
    notes: dict[VectorKey, str] = field(default_factory=dict)

    @property
    def memory(self) -> int:
        """The budget for the intermediates of a task, in bytes."""
        return parse_bytes(self.options["memory"])

    @property
    def pieces(self) -> int:
        """The number of tasks to divide work into."""
        executor = self.options.get("executor")
        return TILE_TASKS_PER_WORKER * count_workers(executor) if executor else 1

    def remember(self) -> None:
        """Read the vectors of the representations from the file, if there is a file."""
        save = self.options.get("save")
        if save is not None:
            with ScoreFile(save) as store:
                self._take(store.columns(self.layout.tokens, by_inference=True))

    def missing(
        self, requests: RequiredPairs, kind: str, size: int = 0
    ) -> dict[Measure, list[IndexPair]]:
        """Return the pairs without a vector of at least ``size`` numbers."""
        missing = dict[Measure, list[IndexPair]]()
        for m, pairs in requests.items():
            vectors = [self.vectors.get(self._key(m, pair, kind)) for pair in pairs]
            is_missing = [numbers is None or len(numbers) < size for numbers in vectors]
            missing[m] = list(compress(pairs, is_missing))
        return missing

    def vector(self, m: Measure, pair: IndexPair, kind: str) -> np.ndarray:
        """Return a computed vector."""
        return self.vectors[self._key(m, pair, kind)]

    def note(self, m: Measure, pair: IndexPair, kind: str) -> str:
        """Return the reason for missing numbers of a vector, or ""."""
        return self.notes.get(self._key(m, pair, kind), "")

    def pieces_of(
        self, missing: Mapping[Chunk, RequiredPairs]
    ) -> Iterator[tuple[RequiredPairs, list[Chunk]]]:
        """Yield (pairs, chunks): chunks with the same missing pairs, as many as a task computes."""
        for pairs, group in groupby(missing, key=missing.__getitem__):
            chunks = list(group)
            size = math.ceil(len(chunks) / self.pieces)
            for start in range(0, len(chunks), size):
                yield pairs, chunks[start : start + size]

    def tasks(
        self,
        requests: RequiredPairs,
        job_of: Callable[[tuple[str, ...]], BlockJob],
        memory: int | None = None,
        blocks: int = 1,
    ) -> Iterator[PairBlock]:
        """Yield the tasks for some pairs, with at least ``blocks`` blocks of representations.

        ``job_of`` returns the job of a task from the tokens of its representations.
        """
        representations, tokens = self.layout.all, self.layout.tokens
        work = ComparisonPlan(representations, None, [m for m in requests if requests[m]], [], {})
        todo = {
            m.spec: np.zeros((len(representations), len(representations)), bool)
            for m in work.measures
        }
        for m in work.measures:
            todo[m.spec][tuple(np.transpose(requests[m]))] = True
        token_of = {id(r): token for r, token in zip(representations, tokens)}
        height = math.ceil(len(representations) / blocks)
        # A permuted intermediate has its own memory.
        for task in work.tasks(todo, memory or self.memory, height=height, apart=True):
            yield task._replace(job=job_of(tuple(token_of[id(r)] for r in task.representations)))

    def run(self, tasks: Iterable[PairBlock], *, counted: bool = False, lent: bool = False) -> None:
        """Run tasks; ``counted`` tasks advance the progress bar.

        ``lent``: workers share the cached intermediates of representations.
        """
        executor, save, tasks = self.options.get("executor"), self.options.get("save"), iter(tasks)
        if (first := next(tasks, None)) is None:
            return
        with ExitStack() as file, ExitStack() as stack:
            store = file.enter_context(ScoreFile(save)) if save is not None else None
            workers_write = store is not None and store.is_shared and is_on_this_machine(executor)
            stack.enter_context(single_threaded())
            spill = self.options.get("spill") if lent else False
            intermediates = stack.enter_context(shared_cache(executor, spill, self.memory))
            if workers_write:
                # A worker forked while the file is open would keep its lock.
                file.close()
                store = None
            keep = self.options.get("keep", False)
            batches = run_pair_blocks(
                [chain([first], tasks)],
                executor,
                intermediates,
                save,
                workers_write,
                "evidence",
                keep,
            )
            for batch in stack.enter_context(closing(batches)):
                self._take(batch)
                if store:
                    store.put(batch)
                if counted:
                    self.advance(sum(column.size for column in batch))

    def _take(self, columns: Iterable[ScoreBatch]) -> None:
        for c in columns:
            for entry, (x, y, numbers) in enumerate(zip(c.x.tolist(), c.y.tolist(), c.values)):
                key = c.measure, c.version, c.data[x], c.data[y], c.kind
                if len(numbers) >= len(self.vectors.get(key, ())):  # keep the longer vector
                    self.vectors[key] = numbers
                    self.notes.pop(key, None)
                    if entry in c.reasons:
                        self.notes[key] = c.reasons[entry]

    def _key(self, m: Measure, pair: IndexPair, kind: str) -> VectorKey:
        tokens = self.layout.tokens
        return m.spec, m.version, tokens[pair[0]], tokens[pair[1]], kind
