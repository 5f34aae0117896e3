"""Compare all pairs of representations with many measures; compute every shared quantity once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..base.progress import Progress
from ..comparison.comparison import Comparison
from ..contracts._measure import MeasureArgument
from ..data.caveats import data_caveats
from .execution import compute_missing_scores
from .inputs import ComparisonInputs
from .jobs import Jobs, open_executor
from .options import RunOptions, check_run_options


def compare(
    representations: Any,
    against: Any = None,
    *,
    measures: Iterable[MeasureArgument] | MeasureArgument | None = None,
    held_out: Any = None,
    jobs: Jobs = None,
    memory: int | str = "half",
    block_size: int | None = None,
    progress: Progress = True,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Comparison:
    """Compare representations of the same samples with many measures; compute shared parts once.

    Parameters
    ----------
    representations : a mapping from names to (n_samples, n_features) arrays, several arrays or
        :class:`Representation`, or a single array. All arrays have the same samples as rows, in the
        same order. An entry may also be a :class:`ModelFeatures`, with layers called
        ``model/layer`` (models of equal name are numbered), or a mapping from layers to arrays.
        Cached intermediates are dropped after the last pair that needs them.
    against : the columns of a rectangular comparison, in the same forms; without ``against``, all
        pairs of ``representations`` are compared.
    measures : measures, names, labels, specifications like ``"cka[estimator=debiased]"``, names of
        presets, or plain functions of two NumPy arrays (see :func:`get_measure`). Default: the 24
        measures of ``preset("default")``; a default measure with a missing optional dependency is
        recorded as failed. A measure that you ask for by name raises ``ImportError`` if the
        optional dependency is missing.
    held_out : folds: the value is the mean, over the folds, of the score of the test samples, with
        a map fitted to the training samples (see :func:`align`). A number k makes k folds of
        successive samples, as ``KFold(k)`` of scikit-learn; samples with equal ids stay in one
        fold. Other folds: a splitter such as ``KFold(5, shuffle=True, random_state=0)``, or pairs
        (train, test) of row numbers. Only measures with a fit have such values; they are the
        default with ``held_out``. The measure is then called ``procrustes[held_out=5]``, a name
        that ``measures`` also takes.
    jobs : a number of local processes, or any ``concurrent.futures.Executor``, for example the
        executor of a Dask cluster. Default: the calling process computes. The tasks are blocks of
        pairs; the values are identical, to the last bit, for all executors. If a process of a
        Python process pool is killed, a new pool of the same kind repeats the lost work.
    memory : budget for the cached intermediates of a task, for example ``"2GB"``. Default: half of
        the memory available when the call begins, shared by the local workers; 2 GB per task on
        other machines, because an executor does not report the memory of other machines. The values
        do not depend on the budget. If a pair needs more than the budget, ``compare`` warns and
        computes the pair; if a pair needs more than the free memory of the machine, the pair fails.
    block_size : largest number of representations on a side of a block of pairs, the unit of a
        task. Default: as many as fit ``memory``; with an executor also few enough for ten tasks per
        worker, or for two if tasks do not share intermediates.
    progress : show a bar with the remaining time on standard error, or call
        ``progress(done, total)``, the first time before any computation. Long work begins with the
        first pairs of every measure, computed singly; then a line with the estimated total time is
        printed.
    save : file for the scores. Every score is written immediately; threads and processes of a
        Python pool write their scores themselves. A later run with the same file computes only the
        missing scores: after an interruption, or for more measures and representations.
    spill : where the tasks of an executor share intermediates, so that every intermediate is
        computed once. Default: threads share memory; the processes of a Python pool, and a
        ``LocalCluster`` of Dask, use files in the memory of the machine, or in the folder for
        temporary files if more room is there; a Dask cluster of other machines uses the memory of
        the cluster. A folder visible to all workers serves any executor; the files are removed in
        the end. False, and by default with other executors: tasks share nothing. Tensors are not
        shared between processes.

    Returns
    -------
    :class:`Comparison`. A pair that a measure cannot handle, or a pair that needs too much memory,
    is NaN, with a recorded reason; no other errors are caught. A later run with the same file
    repeats the pairs that failed for lack of memory.

    Raises ``ValueError`` when representations have different numbers of samples, sample ids or
    array libraries, when two have the same name, and for ``held_out`` with a measure without a
    fit, with a row that does not exist, or with a row in both parts of a fold. During the call BLAS
    runs on a single thread: faster for many small problems, and with the same values on all
    machines; the setting is restored.
    """
    inputs = ComparisonInputs.of(representations, measures, against, held_out=held_out)
    inputs.note(data_caveats(inputs.all))
    with open_executor("compare", jobs) as executor:
        options = check_run_options(
            executor, memory, block_size, progress=progress, save=save, spill=spill
        )
        return compare_many([inputs], options)[0]


def compare_many(
    comparisons: Sequence[ComparisonInputs], options: RunOptions, *, described: bool = True
) -> tuple[Comparison, ...]:
    """Return several comparisons, computed in a joint run.

    ``compare_many`` differs from successive calls of :func:`compare` in three ways. An executor
    gets the blocks of all comparisons at once, so no worker waits for the end of a comparison. A
    score needed by several comparisons is computed once, also without ``save``. And ``progress``
    counts all comparisons together. The values are identical, to the last bit. Without an executor,
    intermediates are cached for at most two blocks of a comparison at a time.

    The exceptions are the exceptions of :func:`compare`. The file of ``save`` describes the last
    comparison; with ``described=False`` the description in the file does not change.
    """
    if comparisons:
        compute_missing_scores(comparisons, options, described)
    return tuple(inputs.comparison() for inputs in comparisons)
