"""Run the jobs of inference for the missing pairs, and keep the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, compress, groupby
from typing import TypeVar

import numpy as np

from ..comparison.store import ScoreFile, name_damaged_score_file
from ..contracts._measure import Measure
from ..engine.cache_sharing import shared_cache
from ..engine.execution import BLOCKS_PER_WORKER
from ..engine.options import RunOptions
from ..engine.plan import BlockJob, ComparisonPlan, PairBlock
from ..engine.tasks import run_pair_blocks
from .job_results import JobResult, measured_pair, result_from_file, result_key
from .layout import IndexPair, InferencePairs

RequiredPairs = Mapping[Measure, list[IndexPair]]
Chunk = TypeVar("Chunk")
Result = TypeVar("Result", bound=JobResult)


@dataclass(frozen=True, eq=False)
class InferenceRun:
    """Runs jobs for the pairs of a layout and keeps the results, also in the file of the options.

    ``results`` are the results of this run, or of an earlier run with the same file. ``advance``
    counts the steps of a pair: the value, chunks of permutations, and values on parts; ``announce``
    prints a message before long work.
    """

    layout: InferencePairs
    options: RunOptions
    advance: Callable[[int], None]
    announce: Callable[[str], None]
    results: dict[Hashable, JobResult] = field(default_factory=dict)

    @property
    def n_chunks(self) -> int:
        """The number of blocks to divide work into: 1 without an executor."""
        return BLOCKS_PER_WORKER * self.options.workers if self.options.executor else 1

    def read_file(self) -> None:
        """Keep the results about the representations in the file ``save`` of the options, if there
        is a file."""
        save = self.options.save
        if save is not None:
            with ScoreFile(save) as store, name_damaged_score_file(store.path):
                self._keep(map(result_from_file, store.results(self.layout.tokens)))

    def missing(
        self, requests: RequiredPairs, kind: type[JobResult], size: int = 0, **facts: str | int
    ) -> dict[Measure, list[IndexPair]]:
        """Return the pairs of ``requests``, pairs by measure, without a result of type ``kind``
        with at least ``size`` values, by measure; measures without such pairs are left out.

        ``facts``: the fields of the result type ``kind`` other than pair, values and note.
        """
        missing = dict[Measure, list[IndexPair]]()
        for m, pairs in requests.items():
            results = [self.results.get(self._key(m, pair, kind, **facts)) for pair in pairs]
            is_missing = [result is None or len(result.values) < size for result in results]
            if any(is_missing):
                missing[m] = list(compress(pairs, is_missing))
        return missing

    def result(self, m: Measure, pair: IndexPair, kind: type[Result], **facts: str | int) -> Result:
        """Return the stored result of type ``kind`` for a pair. ``facts``: the fields of the result
        type ``kind`` other than pair, values and note. Raises ``KeyError`` for a pair without a
        result."""
        result = self.results[self._key(m, pair, kind, **facts)]
        assert isinstance(result, kind)
        return result

    def _key(
        self, m: Measure, pair: IndexPair, kind: type[JobResult], **facts: str | int
    ) -> Hashable:
        x, y = (self.layout.tokens[position] for position in pair)
        return result_key(kind, measured_pair(m, x, y), **facts)

    def group_chunks(
        self, missing: Mapping[Chunk, RequiredPairs]
    ) -> Iterator[tuple[RequiredPairs, list[Chunk]]]:
        """Yield the missing pairs, with the chunks that miss these pairs: as many chunks as a
        block computes. ``missing``: the missing pairs by chunk, in order; only neighbouring chunks
        with equal pairs are grouped."""
        for pairs, group in groupby(missing, key=missing.__getitem__):
            chunks = list(group)
            size = math.ceil(len(chunks) / self.n_chunks)
            for start in range(0, len(chunks) if pairs else 0, size):
                yield pairs, chunks[start : start + size]

    def blocks(
        self,
        requests: RequiredPairs,
        job_of: Callable[[tuple[str, ...]], BlockJob],
        memory: int | None = None,
        groups: int = 1,
    ) -> Iterator[PairBlock]:
        """Yield blocks of work that cover the pairs ``requests``, with at least ``groups`` groups
        of representations.

        ``job_of`` returns the job of a block from the tokens of its representations. ``memory``:
        bytes for intermediates, by default of the options.
        """
        representations, tokens = self.layout.all, self.layout.tokens
        missing = {m.spec: np.zeros((len(representations),) * 2, dtype=bool) for m in requests}
        for m, pairs in requests.items():
            missing[m.spec][tuple(np.transpose(pairs))] = True
        plan = ComparisonPlan(
            representations,
            None,
            list(requests),
            missing,
            self.options.memory if memory is None else memory,
            height=math.ceil(len(representations) / groups),
            shares_memory=False,  # a permuted intermediate has its own memory
        )
        token_of = {id(r): token for r, token in zip(representations, tokens)}
        for block in plan.blocks():
            yield block._replace(job=job_of(tuple(token_of[id(r)] for r in block.representations)))

    def compute(
        self, blocks: Iterable[PairBlock], *, counted: bool = False, shared: bool = False
    ) -> None:
        """Run the jobs of blocks and keep the results; ``counted`` results advance the progress
        bar.

        ``shared``: workers share the cached intermediates of representations.
        """
        options, blocks = self.options, iter(blocks)
        if (first := next(blocks, None)) is None:
            return
        spill = options.spill if shared else False
        with shared_cache(options.executor, spill, options.memory) as cache:
            batches = run_pair_blocks([chain([first], blocks)], options, cache, caller="evidence")
            with closing(batches):
                for batch in batches:
                    self._keep(batch)
                    if counted:
                        self.advance(len(batch))

    def _keep(self, results: Iterable[JobResult]) -> None:
        """Keep results; of two results with the same key, keep the result with more values."""
        for result in results:
            key = result.key
            earlier = self.results.get(key)
            if earlier is None or len(result.values) >= len(earlier.values):
                self.results[key] = result
