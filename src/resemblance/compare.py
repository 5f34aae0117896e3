"""The engine: all pairs of representations by many measures, each shared part computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from .comparison import Comparison, describe
from .engine.scores import Column
from .engine.shared_views import lending
from .engine.store import Store
from .engine.tasks import run_tasks
from .engine.workers import shares_files, single_threaded
from .measure import Measure
from .outline import Outline, Request, Settings, checked_budget, outline_of, plan_of, read_scores
from .progress import Progress, reporting


def compare(
    representations: Any,
    other: Any = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    tile: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Comparison:
    """Compare representations of the same samples by many measures, each shared part computed once.

    Parameters
    ----------
    representations : a mapping from names to (n_samples, n_features) arrays, several arrays or
        :class:`Representation`, or one array. Their rows are the same samples in the same order. A
        :class:`Subject`, whose layers are called ``model/layer`` (models of one name are numbered),
        or a mapping from layers to arrays may take the place of an array. The views of the
        representations are dropped when they are no longer needed.
    other : the same, for the columns of a rectangle; without it all pairs of ``representations``
        are compared.
    measures : measures, names, labels, specifications such as ``"cka[estimator=debiased]"``, or
        names of presets. Default: the 24 measures of ``preset("default")``; one whose optional
        dependency is missing is then recorded as failed, while a measure asked for by name raises
        ``ImportError``.
    executor : any ``concurrent.futures.Executor``. Its tasks are blocks of pairs; the values are
        the same, to the last bit, for all executors. If a process of a pool of Python's own is
        killed, a new pool of the same kind does its work again.
    memory : budget for the views held at a time, per task, such as ``"2GB"``. Default: half of what
        is available when the call begins, shared by the workers on this machine; 2 GB for each task
        on other machines, which an executor does not describe. The values do not depend on it.
        A measure that needs more for one pair is still computed, after a warning; one that needs
        more than the machine has left fails.
    tile : largest number of representations in one side of a block. Default: what fits ``memory``;
        with an executor also few enough that there are ten tasks for each worker, or two if each
        task computes its own views.
    progress : show a bar on standard error, or call ``progress(done, total)``, the first time
        before anything is computed.
    save : file for the results, each written as soon as it is computed, by the workers themselves
        if these are threads or processes of a pool of Python's own. A later run with the same file
        computes only the missing results: after an interruption, or for more measures and
        representations.
    spill : where the tasks of an executor find views, which are then computed once. Default: the
        memory that threads share; for the processes of a pool of Python's own, and for a
        ``LocalCluster`` of Dask, files in the memory of this machine, or among its temporary files
        if there is more room; the memory of a Dask cluster of other machines. A folder that all
        workers see serves any executor; its files are removed in the end. False, and by default
        with other executors: each task computes its own. Tensors are not shared between processes.

    Returns
    -------
    :class:`Comparison`. A pair that a measure cannot handle, or that needs too much memory, is NaN,
    with a recorded reason; no other errors are caught. A later run with the same file tries again
    what failed for lack of memory.

    Raises ``ValueError`` when representations have different numbers of samples, sample ids or
    array libraries, or when two have the same name. BLAS runs on one thread meanwhile, which is
    faster for many small problems and gives the same values on all machines; the setting is
    restored.
    """
    request = Request(representations, measures, other)
    return _compared([request], Settings(executor, memory, tile, progress, save, spill))[0]


def compare_many(
    requests: Iterable[Request],
    *,
    executor: Executor | None = None,
    memory: int | str = "half",
    tile: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
    described: bool = True,
) -> tuple[Comparison, ...]:
    """Return one comparison for each request, all computed in one run.

    It differs from calls of :func:`compare` one after the other in three ways. An executor gets the
    tasks of all requests at once, so no worker waits for the end of a comparison. A value that
    several requests ask for is computed once, also without ``save``. And ``progress`` counts all of
    them together. The values are the same, to the last bit. Here, views are held for at most two
    blocks of one request at a time.

    The parameters, and what is raised, are those of :func:`compare`; a file of ``save`` describes
    the last request, unless its description is to stay as it is (``described=False``).
    """
    settings = Settings(executor, memory, tile, progress, save, spill)
    return _compared(list(requests), settings, described)


def _compared(
    requests: Sequence[Request], settings: Settings, described: bool = True
) -> tuple[Comparison, ...]:
    outlines = list(map(outline_of, requests))
    save = settings.save if outlines else None
    with ExitStack() as file, ExitStack() as stack:
        store = file.enter_context(Store(save)) if save is not None else None
        read_scores(store, outlines)
        if store and described:
            store.describe(describe(outlines[-1].comparison()))
        stack.enter_context(single_threaded())
        workers_write = store and store.is_shared and shares_files(settings.executor)
        keep = store.path if store and workers_write else None
        budget = checked_budget(settings)
        lender = stack.enter_context(lending(settings.executor, settings.spill, budget))
        plan = plan_of(outlines, settings, budget, lender, keep)
        advance = stack.enter_context(reporting(settings.progress, plan.total, "comparing"))
        if plan.total:
            advance(0)  # says how much there is before the first of it is done
        _take(plan.hopeless, outlines, store, advance)
        if keep:  # a process that is forked with the file open would not let go of it
            file.close()
            store = None
        # closed before what is lent is removed
        scores = stack.enter_context(
            closing(run_tasks(plan.streams, settings.executor, lender, save))
        )
        for batch in scores:
            _take(batch, outlines, store, advance)
    return tuple(outline.comparison() for outline in outlines)


def _take(
    batch: list[Column],
    outlines: Iterable[Outline],
    store: Store | None,
    advance: Callable[[int], None],
) -> None:
    """Take in scores, and write them unless the workers do."""
    for column in batch:
        for outline in outlines:
            outline.put(column)
    if store and batch:
        store.put(batch)
    if batch:
        advance(sum(column.size for column in batch))
