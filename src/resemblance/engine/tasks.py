"""Run the blocks of comparisons in the calling process, or on the workers of an executor."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

from ..base.formatting import list_names
from ..comparison.scores import ScoreBatch
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure
from ..data.representation import Representation
from .cache_sharing import SharedCache, SharedRepresentation, load_shared
from .options import RunOptions
from .plan import PairBlock
from .scoring import score_block
from .workers import WorkerCall, call_results, check_picklable, is_on_this_machine, single_threaded


def run_pair_blocks(
    streams: Sequence[Iterable[PairBlock]],
    options: RunOptions,
    cache: SharedCache | None,
    *,
    caller: str = "compare",
    first: Sequence[PairBlock] = (),
    failures: Sequence[ScoreBatch] = (),
) -> Generator[list[Any], None, None]:
    """Yield results, in lists, as soon as this process or a worker has computed and saved the
    results.

    ``streams`` are the blocks per comparison. ``first``: blocks before all other blocks, without
    shared intermediates. ``failures``, known in advance, are saved and yielded first. ``caller`` is
    the function name in errors.
    """
    with single_threaded(), ExitStack() as stack:
        store = stack.enter_context(ScoreFile(options.save)) if options.save is not None else None
        if store and failures:
            store.put(failures)
        if failures:
            yield list(failures)
        workers_write = store and store.is_shared and is_on_this_machine(options.executor)
        file = options.save if workers_write else None  # which workers write
        if file is not None:
            stack.close()  # a worker forked while the file is open would keep its lock
            store = None
        if options.executor is None:
            batches = _run_in_process(chain(first, *streams), options.keep)
        else:
            batches = _run_on_workers(streams, options, cache, caller, first, file)
        for batch in stack.enter_context(closing(batches)):
            if store:
                store.put(batch)
            yield batch
        if file is not None:
            # Two workers that close the file at the same time leave the log to each other.
            with ScoreFile(file):
                pass


def _run_on_workers(
    streams: Sequence[Iterable[PairBlock]],
    options: RunOptions,
    cache: SharedCache | None,
    caller: str,
    first: Sequence[PairBlock],
    file: str | Path | None,
) -> Generator[list[Any], None, None]:
    """Yield results from workers, a list per call; a worker writes its results into ``file``,
    unless None.

    ``streams``: the blocks per comparison. ``first``: blocks before all other blocks, without
    shared intermediates. ``caller``: the function name in errors.
    """
    checked, executor = set[Measure](), cast(Executor, options.executor)
    make_call = partial(_call_for_block, file=file)
    groups = (_check_picklable_blocks(blocks, executor, checked) for blocks in streams)
    calls = (cache.calls(g, make_call) if cache else map(make_call, g) for g in groups)
    first_calls = map(make_call, _check_picklable_blocks(first, executor, checked))
    all_calls = chain(first_calls, chain.from_iterable(calls))
    for call, results in call_results(all_calls, executor, options.save, caller):
        if cache:
            cache.done(call)
        if call.function is compute_on_worker:
            yield results


def compute_block(block: PairBlock) -> Iterator[list[Any]]:
    """Yield the results of the job of a block, or the scores of a block without a job, in
    lists."""
    return block.job(block) if block.job else score_block(block)


def _run_in_process(blocks: Iterable[PairBlock], keep: bool) -> Generator[list[Any], None, None]:
    """Yield the results of blocks, computed in this process; unless ``keep``, drop the
    intermediates that the next block does not need.

    An exception drops all intermediates, unless ``keep``.
    """
    previous: PairBlock | None = None
    try:
        for block in blocks:
            if previous and not keep:
                is_related = block.measures == previous.measures
                _clear_caches(previous, block.representations if is_related else ())
            previous = block
            yield from compute_block(block)
    finally:
        if previous and not keep:
            _clear_caches(previous)


def _clear_caches(block: PairBlock, kept: Sequence[Representation] = ()) -> None:
    kept_ids = set(map(id, kept))
    for representation in block.representations:
        if id(representation) not in kept_ids:
            representation.clear_cache()


def _check_picklable_blocks(
    blocks: Iterable[PairBlock], executor: Executor, checked: set[Measure]
) -> Iterator[PairBlock]:
    """Yield the blocks unchanged; a measure that cannot be pickled raises the exception of
    ``pickle``. ``checked``: measures that need no check; the function adds measures."""
    for block in blocks:
        check_picklable(set(block.measures) - checked, executor)
        checked.update(block.measures)
        yield block


def _call_for_block(
    block: PairBlock, shared: Sequence[Any] = (), *, file: str | Path | None = None
) -> WorkerCall:
    """Return the worker call that computes a block. ``shared``: the shared representations; by
    default the plain representations of the block. ``file``: where the worker writes results.

    The block refers to a representation by position among the arguments, because a cluster replaces
    futures by values only in arguments.
    """
    places = {id(r): place for place, r in enumerate(block.representations)}
    rows, columns = ([places[id(r)] for r in side] for side in (block.rows, block.columns))
    ends = [(block.rows[i], block.columns[i]) for i in (0, -1)]
    pairs = dict.fromkeys(" and ".join(r.name for r in pair) for pair in ends)
    title = f"{' to '.join(pairs)} by {list_names((m.name for m in block.measures), 3)}"
    places_only = block.on(rows, columns)  # type: ignore[arg-type]
    arguments = (places_only, file, *(shared or block.representations))
    return WorkerCall(title, compute_on_worker, arguments)


def compute_on_worker(
    block: PairBlock, file: str | Path | None, *shared: SharedRepresentation | Representation
) -> list[Any]:
    """Return the results of a block; called in a worker.

    ``shared`` are the shared or plain representations of the block; the worker drops copies after
    the block. If there is a ``file``, the worker writes every batch of scores to the file at once.
    """
    results: list[Any] = []
    with single_threaded(), ScoreFile(file) if file else nullcontext() as store:
        inputs = list(map(load_shared, shared))
        rows, columns = ([inputs[p] for p in side] for side in (block.rows, block.columns))
        for batch in compute_block(block.on(rows, columns)):
            results += batch
            if store:
                store.put(batch)
    return results
