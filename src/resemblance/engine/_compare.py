"""Compare all pairs of representations by many measures; compute each shared quantity once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..base.progress import Progress
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..data.caveats import data_caveats
from .execution import compare_many
from .jobs import Jobs, open_executor
from .work import ComparisonPlan, RunOptions


def compare(
    representations: Any,
    against: Any = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    jobs: Jobs = None,
    memory: int | str = "half",
    block_size: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Comparison:
    """Compare representations of the same samples by many measures, each shared part computed once.

    Parameters
    ----------
    representations : a mapping from names to (n_samples, n_features) arrays, several arrays or
        :class:`Representation`, or one array. Their rows are the same samples in the same order. A
        :class:`ModelFeatures`, whose layers are called ``model/layer`` (models of one name are
        numbered), or a mapping from layers to arrays may take the place of an array. The
        intermediates of the representations are dropped when they are no longer needed.
    against : the same, for the columns of a rectangle; without it all pairs of ``representations``
        are compared.
    measures : measures, names, labels, specifications such as ``"cka[estimator=debiased]"``, or
        names of presets. Default: the 24 measures of ``preset("default")``; one whose optional
        dependency is missing is then recorded as failed, while a measure asked for by name raises
        ``ImportError``.
    jobs : a number of processes of this machine, or any ``concurrent.futures.Executor``, such as
        that of a Dask cluster. Default: this process computes. The tasks are blocks of pairs; the
        values are the same, to the last bit, for all executors. If a process of a pool of Python's
        own is killed, a new pool of the same kind does its work again.
    memory : budget for the intermediates held at a time, per task, such as ``"2GB"``. Default: half
        of what is available when the call begins, shared by the workers on this machine; 2 GB for
        each task on other machines, which an executor does not describe. The values do not depend
        on it. A measure that needs more for one pair is still computed, after a warning; one that
        needs more than the machine has left fails.
    block_size : largest number of representations in one side of a block of pairs, which is a task.
        Default: what fits ``memory``; with an executor also few enough that there are ten tasks for
        each worker, or two if each task computes its own intermediates.
    progress : show a bar with the time left on standard error, or call ``progress(done, total)``,
        the first time before anything is computed. Long work begins with the first pairs of each
        measure, one at a time; one line then says how long the whole takes.
    save : file for the results, each written as soon as it is computed, by the workers themselves
        if these are threads or processes of a pool of Python's own. A later run with the same file
        computes only the missing results: after an interruption, or for more measures and
        representations.
    spill : where the tasks of an executor find intermediates, which are then computed once.
        Default: the memory that threads share; for the processes of a pool of Python's own, and for
        a ``LocalCluster`` of Dask, files in the memory of this machine, or among its temporary
        files if there is more room; the memory of a Dask cluster of other machines. A folder that
        all workers see serves any executor; its files are removed in the end. False, and by default
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
    work = ComparisonPlan.of(representations, measures, against)
    work.note(data_caveats(work.all))
    with open_executor("compare", jobs) as executor:
        options: RunOptions = {"executor": executor, "memory": memory, "block_size": block_size}
        options |= {"progress": progress, "save": save, "spill": spill}
        return compare_many([work], **options)[0]
