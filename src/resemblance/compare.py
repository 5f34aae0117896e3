"""The engine: all pairs of representations by many measures, each shared part computed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from .arguments import Selection, Sides, select_measures, sides_of
from .arrays import on_processor
from .assembly import assemble, check_ranges
from .comparison import Comparison, MeasureInfo, describe, info_of, provenance_of
from .execution import run_plan, single_threaded
from .extras import NEEDS, install_hint
from .machine import available_memory
from .measure import Measure
from .plan import Pairs, WorkPlan, count, distinct, joined, planned
from .progress import Progress, reporting
from .representation import Representation, fingerprint
from .store import NO_MEMORY, Cell, Key, Store, key_of
from .tiles import in_units, parse_bytes
from .workers import shares_files, workers_of

TASKS_PER_WORKER = 2  # with more, the load is more even, but views are computed more often


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
        the same, to the last bit, for all executors. A task computes the views of its
        representations itself, so b blocks compute each view up to b times: an executor pays off
        when there are many pairs or the measures of pairs are slow.
    memory : budget in bytes for the views held at a time, per task. The values do not depend on it.
        A measure that needs more for one pair is still computed, after a warning; one that needs
        more than the machine has left fails.
    tile : largest number of representations in one side of a block. Default: what fits ``memory``;
        with an executor also few enough that there are two tasks for each worker.
    progress : show a bar on standard error, or call ``progress(done, total)``, the first time
        before anything is computed.
    save : file for the results, each written as soon as it is computed, by the workers themselves
        if these are threads or processes of a pool of Python's own. A later run with the same file
        computes only the missing results: after an interruption, or for more measures and
        representations.

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
    return _compared([request], Settings(executor, memory, tile, progress, save))[0]


def compare_many(
    requests: Iterable[Request],
    *,
    executor: Executor | None = None,
    memory: int | str = "2GB",
    tile: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
) -> tuple[Comparison, ...]:
    """Return one comparison for each request, all computed in one run.

    It differs from calls of :func:`compare` one after the other in three ways. An executor gets the
    tasks of all requests at once, so no worker waits for the end of a comparison. A value that
    several requests ask for is computed once, also without ``save``. And ``progress`` counts all of
    them together. The values are the same, to the last bit. Here, views are held for at most two
    blocks of one request at a time.

    The parameters, and what is raised, are those of :func:`compare`; a file of ``save`` describes
    the last request.
    """
    return _compared(list(requests), Settings(executor, memory, tile, progress, save))


class Request(NamedTuple):
    """A comparison to make: representations, measures and ``other`` as in :func:`compare`."""

    representations: Any
    measures: Iterable[str | Measure] | str | Measure | None = None
    other: Any = None


class Settings(NamedTuple):
    """How comparisons are computed: the parameters of :func:`compare` of these names."""

    executor: Executor | None
    memory: int | str
    tile: int | None
    progress: Progress
    save: str | Path | None


class Outline(NamedTuple):
    """What a comparison is of, known before anything is computed."""

    sides: Sides
    selection: Selection
    infos: tuple[MeasureInfo, ...]
    provenance: dict[str, Any]

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """The names of the rows and of the columns."""
        return list(self.provenance["rows"]), list(self.provenance["columns"])

    @property
    def description(self) -> dict[str, Any]:
        """What a file says of the comparison."""
        return describe(*self.names, self.infos, self.provenance)

    @property
    def work(self) -> Pairs:
        """The pairs of different data."""
        rows, columns = self.sides
        return Pairs(distinct(rows), distinct(columns) if columns else None)

    def comparison(self, cells: Mapping[Key, Cell]) -> Comparison:
        """Return the comparison that these cells make."""
        missing = self.selection.uninstalled
        absent = {m.spec: f"{NEEDS}: {install_hint(m.extra or '')}" for m in missing}
        return assemble(*self.names, self.infos, cells, self.provenance, absent)


def _outline(request: Request) -> Outline:
    sides = sides_of(request.representations, request.other)
    selection = select_measures(request.measures)
    infos = tuple(map(info_of, (*selection.measures, *selection.uninstalled)))
    provenance = provenance_of(sides.rows, sides.columns or sides.rows)
    return Outline(sides, selection, infos, provenance)


def _compared(requests: Sequence[Request], settings: Settings) -> tuple[Comparison, ...]:
    outlines = list(map(_outline, requests))
    budget = _budget(settings.memory, settings.tile)
    with ExitStack() as stack:
        save = settings.save if outlines else None
        store = stack.enter_context(Store(save)) if save is not None else None
        cells = _cells_before(store, outlines)
        if store:
            store.describe(outlines[-1].description)
        stack.enter_context(single_threaded())
        workers_write = store and store.is_shared and shares_files(settings.executor)
        keep = store.path if store and workers_write else None
        plan = _plan(outlines, cells.keys(), budget, settings, keep)
        _warn_of_memory(plan.beyond_budget, settings.memory)
        total = sum(map(count, plan.tasks)) + len(plan.hopeless)
        advance = stack.enter_context(reporting(settings.progress, total, "comparing"))
        if total:
            advance(0)  # says how much there is before the first of it is done
        for batch in run_plan(plan, settings.executor, save):
            cells |= {key_of(cell): cell for cell in batch}
            advance(len(batch))
            if store:
                store.put(batch)
    return tuple(outline.comparison(cells) for outline in outlines)


def _plan(
    outlines: Sequence[Outline],
    computed: Set[Key],
    budget: int,
    settings: Settings,
    keep: Path | None,
) -> WorkPlan:
    """Return the tasks of all comparisons in their order, none with what an earlier one has."""
    works = [outline.work for outline in outlines]
    settled, plans = set(computed), list[WorkPlan]()
    tasks = TASKS_PER_WORKER * workers_of(settings.executor) if settings.executor else 0
    pairs = sum(work.size for work in works)
    for outline, work in zip(outlines, works):
        block = settings.tile
        if block is None and settings.executor is not None:
            block = work.block(tasks * work.size / pairs)
        available = available_memory() if _is_here(settings.executor, outline.sides.all) else None
        plan = work.plan(outline.selection.measures, settled, budget, available, block, keep)
        settled |= planned(plan)
        plans.append(plan)
    return joined(plans)


# --------------------------------------------------------------------- what goes in, what comes out


def _budget(memory: int | str, tile: int | None) -> int:
    if tile is not None and tile < 1:
        raise ValueError(f"compare: tile must be at least 1; got {tile}")
    return parse_bytes(memory)


def _cells_before(store: Store | None, outlines: Iterable[Outline]) -> dict[Key, Cell]:
    """Return the cells in the file for these data, except those that failed for lack of memory."""
    if store is None:
        return {}
    cells = store.cells(fingerprint(r) for outline in outlines for r in outline.sides.all)
    check_ranges(cells, [info for outline in outlines for info in outline.infos], store.path)
    return {key_of(c): c for c in cells if not (c.reason or "").startswith(NO_MEMORY)}


def _is_here(executor: Executor | None, representations: Sequence[Representation]) -> bool:
    """Say whether the work takes memory of this machine, not of a cluster or an accelerator."""
    runs_here = executor is None or shares_files(executor)
    return runs_here and all(on_processor(r.source) for r in representations)


def _warn_of_memory(beyond_budget: Mapping[str, int], memory: int | str) -> None:
    if beyond_budget:
        sizes = ", ".join(f"{spec} {in_units(size)}" for spec, size in beyond_budget.items())
        problem = f"compare: memory={memory!r} is less than one pair takes ({sizes})"
        warnings.warn(f"{problem}; it is computed all the same", stacklevel=4)
