"""The engine: all pairs of representations by many measures, every shared part computed once."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from .arrays import scalar
from .catalogue import get_measures, list_measures, preset
from .comparison import Comparison, assemble, describe, info_of, provenance_of
from .extras import NEEDS, install_hint
from .given import named_sides
from .inputs import hint_of_counts
from .measure import Measure, require
from .representation import Representation, Undefined, check_same_samples, comparing, fingerprint, title
from .store import COLUMNS, Cell, Store
from .tiles import Tile, group_measures, parse_bytes, tiles

Progress = bool | Callable[[int, int], None]
Done = TypeVar("Done")


class Task(NamedTuple):
    """A tile with the representations it needs and the cells still to compute: all that travels to a worker."""

    measures: tuple[Measure, ...]
    representations: Mapping[int, Representation]
    wanted: tuple[tuple[int, int, tuple[int, ...]], ...]  # row, column, positions of the measures to compute
    both_orders: bool  # of asymmetric measures: needed for all pairs of one list, not for a rectangle


def compare(
    representations: Any,
    other: Any = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    tile: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
) -> Comparison:
    """Compare representations of the same samples by many measures, each shared part computed once.

    Parameters
    ----------
    representations : a mapping from names to (n_samples, n_features) arrays, several arrays or
        :class:`Representation`, or one array. Their rows are the same samples in the same order. In the place of an
        array may stand a :class:`Subject`, whose layers are called ``model/layer`` (models of one name are numbered),
        or a mapping from layers to arrays. The views of the representations are dropped when they are no longer needed.
    other : the same, for the columns of a rectangle; without it all pairs of ``representations`` are compared.
    measures : measures, names, labels, specifications such as ``"cka[estimator=debiased]"``, or names of presets.
        Default: the 24 measures of ``preset("default")``; one whose optional dependency is missing is then recorded
        as failed, while a measure asked for by name raises ``ImportError``.
    executor : any ``concurrent.futures.Executor``. Blocks of pairs are its tasks; the values are the same, to the last
        bit, for every executor. A task computes the views of its own representations, so b blocks compute each view
        up to b times: an executor pays when pairs are many or measures of pairs are slow.
    memory : budget in bytes for the views held at a time, per task. Numbers do not depend on it.
    tile : largest number of representations in one side of a block. Default: what fits ``memory``; with an executor
        also few enough that there is a task for each processor.
    progress : show a bar on standard error, or call ``progress(done, total)``.
    save : file in which every result is kept as soon as it is computed. Run again with the same file, only what is
        missing is computed: after an interruption, or for more measures and representations.

    Returns
    -------
    :class:`Comparison`. A pair that a measure cannot handle is NaN there, with the reason; nothing else is caught.

    Raises ``ValueError`` when representations have different numbers of samples, sample ids or array libraries, or when
    two have the same name. BLAS runs on one thread while it works (it is faster on many small problems, and the same on
    every machine); the setting is restored.
    """
    rows, columns = named_sides(representations, other)
    every = rows + (columns or [])
    _check(rows, columns)
    chosen, missing = _choose(measures)
    if tile is not None and tile < 1:
        raise ValueError(f"compare: tile must be at least 1; got {tile}")
    infos = tuple(info_of(m) for m in (*chosen, *missing))
    provenance = provenance_of(rows, columns or rows)
    names, column_names = [r.name for r in rows], [r.name for r in columns or rows]

    with ExitStack() as stack:
        store = stack.enter_context(Store(save)) if save is not None else None
        done = {c[:4]: c for c in store.cells(map(fingerprint, every))} if store else {}
        if store:
            store.describe(describe(names, column_names, infos, provenance))
        stack.enter_context(single_threaded())
        block = tile if tile is not None or executor is None else _block_for_workers(len(every))
        todo = _unfinished(chosen, every, len(rows), columns is not None, done) if done else chosen
        plan = _plan(todo, every, len(rows), columns is not None, parse_bytes(memory), block)
        tasks = [task for t in plan if (task := _task(t, every, done, both_orders=columns is None)).wanted]
        show = stack.enter_context(_reporting(progress, sum(_count(t) for t in tasks)))
        for cells in _run(tasks, executor):
            done |= {c[:4]: c for c in cells}
            show(len(cells))
            if store:
                store.put(cells)
    absent = {m.spec: f"{NEEDS}: {install_hint(m.extra or '')}" for m in missing}
    return assemble(names, column_names, infos, done.values(), provenance, absent)


# ------------------------------------------------------------------------------------------------ running the tasks


def _run(tasks: Sequence[Task], executor: Executor | None) -> Iterator[list[Cell]]:
    """Yield finished cells: pair by pair in this process, task by task from an executor."""
    if executor is None:
        for position, task in enumerate(tasks):
            yield from _pairs(task)
            following = tasks[position + 1] if position + 1 < len(tasks) else None
            kept = set(following.representations) if following and following.measures == task.measures else set()
            for index in set(task.representations) - kept:
                task.representations[index].forget()
        return
    yield from as_finished({executor.submit(run_task, task) for task in tasks})


def as_finished(pending: set[Future[Done]]) -> Iterator[Done]:
    """Yield what futures give, in the order in which they end; cancel those that are left when the caller stops."""
    try:
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        for future in pending:
            future.cancel()


def run_task(task: Task) -> list[Cell]:
    """Compute one task in a worker, on fresh representations, so that their views end with it."""
    fresh = {i: copy(r) for i, r in task.representations.items()}
    with single_threaded():
        return [cell for cells in _pairs(task._replace(representations=fresh)) for cell in cells]


def _pairs(task: Task) -> Iterator[list[Cell]]:
    for row, column, positions in task.wanted:
        x, y = task.representations[row], task.representations[column]
        with comparing(x, y):
            yield [cell for p in positions for cell in _cells(task.measures[p], x, y, task.both_orders)]


def _count(task: Task) -> int:
    """Number of cells of a task."""
    doubled = [task.both_orders and not m.symmetric for m in task.measures]
    return sum(1 + (doubled[p] and row != column) for row, column, positions in task.wanted for p in positions)


def _cells(measure: Measure, x: Representation, y: Representation, both_orders: bool) -> Iterator[Cell]:
    yield _cell(measure, x, y)
    if both_orders and not measure.symmetric and x is not y:
        yield _cell(measure, y, x)


def _cell(measure: Measure, x: Representation, y: Representation) -> Cell:
    start, value, reason, remarks = time.perf_counter(), None, None, None
    try:
        value = scalar(measure.evaluate(x, y))
        remarks = _remarks(measure, x, y)
    except (Undefined, np.linalg.LinAlgError) as error:
        # The same data may have another name elsewhere: what is kept names them by their fingerprint.
        reason = str(error)
        for r in (x, y):
            reason = reason.replace(title(r), f"{{{fingerprint(r)}}}")
    seconds = time.perf_counter() - start
    return Cell(measure.spec, measure.version, fingerprint(x), fingerprint(y), value, seconds, reason, remarks)


def _remarks(measure: Measure, x: Representation, y: Representation) -> str | None:
    """What the measure says of this pair besides the value, as JSON text."""
    found = {name: float(value) for name, value in measure.remarks(x, y).items()}
    if taken := sorted(found.keys() & set(COLUMNS)):
        raise ValueError(f"{measure}: a remark cannot be called {taken[0]!r}, which is a column of the records")
    return json.dumps(found, allow_nan=False) if found else None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run BLAS, OpenMP and PyTorch on one thread inside this block."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    with threadpool_limits(limits=1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)


# ------------------------------------------------------------------------------------------------- what is to be done


def _plan(
    measures: Sequence[Measure],
    every: Sequence[Representation],
    rows: int,
    rectangle: bool,
    memory: int,
    block: int | None,
) -> Iterator[Tile]:
    n, d = every[0].shape[0], max(r.shape[1] for r in every)
    groups = group_measures(measures, n, d, len(every), memory)
    for t in tiles(groups, rows, len(every) - rows if rectangle else None, memory, block):
        yield t._replace(columns=tuple(c + rows for c in t.columns)) if rectangle else t


def _unfinished(
    measures: Sequence[Measure], every: Sequence[Representation], rows: int, rectangle: bool, done: Container[Any]
) -> list[Measure]:
    """Leave out the measures of which every cell is there, so that no tiles need to be planned for them."""
    names = [fingerprint(r) for r in every]
    columns = range(rows, len(every)) if rectangle else range(rows)
    pairs = [(names[i], names[j]) for i in range(rows) for j in columns if rectangle or i <= j]
    return [m for m in measures if not all(_is_done(m, x, y, done, not rectangle) for x, y in pairs)]


def _task(t: Tile, every: Sequence[Representation], done: Container[Any], both_orders: bool) -> Task:
    """Leave out of a tile the lower half of a diagonal block and every cell that is already there."""
    wanted = []
    for i in t.rows:
        for j in (j for j in t.columns if i <= j):
            x, y = fingerprint(every[i]), fingerprint(every[j])
            missing = tuple(p for p, m in enumerate(t.measures) if not _is_done(m, x, y, done, both_orders))
            wanted += [(i, j, missing)] if missing else []
    needed = {k for i, j, _ in wanted for k in (i, j)}
    return Task(t.measures, {k: every[k] for k in sorted(needed)}, tuple(wanted), both_orders)


def _block_for_workers(count: int) -> int:
    """Height of b blocks, the fewest whose b (b + 1) / 2 pairs give every processor a task."""
    blocks = math.ceil((math.sqrt(8 * (os.cpu_count() or 1) + 1) - 1) / 2)
    return max(1, math.ceil(count / blocks))


def _is_done(m: Measure, x: str, y: str, done: Container[Any], both_orders: bool) -> bool:
    forward, backward = (m.spec, m.version, x, y) in done, (m.spec, m.version, y, x) in done
    if m.symmetric:
        return forward or backward
    return forward and (backward or not both_orders)


def _check(rows: Sequence[Representation], columns: Sequence[Representation] | None) -> None:
    if not rows or columns == []:
        raise ValueError("compare: there is nothing to compare")
    for side in (rows, columns or []):
        names = [r.name for r in side]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"compare: two representations are called {twice[0]!r}; names must be unique")
    first = rows[0]
    with_ids = next((r for r in [*rows, *(columns or [])] if r.ids is not None), first)
    for r in [*rows, *(columns or [])]:
        if r.shape[0] != first.shape[0]:
            raise ValueError(
                f"compare: {first.name!r} has {first.shape[0]} samples (rows) and {r.name!r} has {r.shape[0]}; "
                f"all must be representations of the same samples{hint_of_counts(r.shape[0], first.shape[0])}"
            )
        check_same_samples("compare", with_ids, r)
        mine, other = (f"{type(s.source).__module__.split('.')[0]} in {s.precision}" for s in (first, r))
        if mine != other:
            raise ValueError(f"compare: {first.name!r} is computed by {mine} and {r.name!r} by {other}; convert one")


def _choose(measures: Any) -> tuple[list[Measure], list[Measure]]:
    """Return the measures to compute, and those of the default list whose optional dependency is missing."""
    if measures is None:
        default = preset("default")
        usable = [m for m in default if not m.extra or _installed(m)]
        return usable, [m for m in default if m not in usable]
    chosen = get_measures([measures] if isinstance(measures, str | Measure) else measures)
    if not chosen:
        raise ValueError("compare: measures is empty")
    for m in chosen:
        require(m)
        twin = next((other for other in [*list_measures(), *chosen] if other.name == m.name), m)
        if twin.function is not m.function:
            raise ValueError(f"compare: {m.function.__module__} has a measure called {m.name!r}, a name that is taken")
    return chosen, []


def _installed(m: Measure) -> bool:
    try:
        require(m)
    except ImportError:
        return False
    return True


@contextmanager
def _reporting(progress: Progress, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more cells are done."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if callable(progress):
            progress(done, total)

    if progress is not True or not total:
        yield count
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        job = bar.add_task("comparing", total=total)
        yield lambda more: bar.advance(job, more)
