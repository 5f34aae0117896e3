"""Forecast the pairs, the memory and the tasks of a comparison before it begins."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import unwrap
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..base.formatting import count_with_noun, format_bytes, format_duration
from ..base.results import BaseResult
from ..base.text import html_fact_table
from ..comparison.scores import MAX_MATRIX_BYTES_IN_MEMORY
from ..comparison.store import ScoreFile
from ..contracts._measure import Measure, MeasureArgument
from ..data.representation import Representation, fingerprint
from .arguments import named_representations
from .cache_sharing import shared_cache
from .execution import plan_comparisons
from .inputs import ComparisonInputs, find_missing_pairs, load_saved_scores
from .intermediate_sizes import pair_cache_bytes, representation_cache_bytes
from .jobs import Jobs, open_executor
from .memory import available_memory
from .options import RunOptions, check_run_options
from .plan import ComparisonPlan, PairBlock
from .workers import is_on_this_machine

MIN_FITTING_SAMPLES = 2
UNCACHED_FINGERPRINT = unwrap(fingerprint)  # the function that is the cache key
# The cached intermediates of a task: from the previous task, from all earlier tasks (shared cache),
# or none.
CachedIntermediates = Literal["previous", "all", "none"]


class MeasureForecast(NamedTuple):
    """The forecast for one measure.

    ``values`` is the number of values to compute, ``stored`` the number in the file of ``save``;
    ``memory`` is the bytes of the intermediates of one pair; ``note`` says if a pair does not fit
    in memory.
    """

    measure: str
    values: int
    stored: int
    memory: int
    note: str

    @property
    def reason(self) -> str:
        """Why the measure cannot be computed; otherwise ""."""
        return self.note


@dataclass(frozen=True, repr=False)
class Forecast(BaseResult):
    """The forecast of a comparison: values, tasks and memory.

    ``passes`` is the average number of times that the intermediates of a representation are
    computed over all blocks of pairs. ``memory`` is the peak in bytes, besides the arrays
    themselves: intermediates, and the matrices of values. For :func:`plan_models`, ``models`` is
    the CPU seconds of running the models, ``disk`` is the bytes of their features, ``permutations``
    is the number of permuted values of the evidence, and ``permuted`` is the same number if no pair
    has exact moments.
    """

    measures: tuple[MeasureForecast, ...]
    samples: int
    features: tuple[int, int]
    representations: int
    passes: float
    tasks: int
    workers: int
    memory: int
    budget: int
    available: int | None
    models: float = 0.0
    disk: int = 0
    permutations: int = 0
    permuted: int = 0
    _derived: ClassVar[tuple[str, ...]] = ("values", "caveats")

    @property
    def values(self) -> int:
        """The number of values to compute."""
        return sum(m.values for m in self.measures)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why the run may fail: not enough memory."""
        if self.available is None or self.memory <= self.available:
            return ()
        sizes = f"{format_bytes(self.memory)} is needed, {format_bytes(self.available)} available"
        return (f"the memory does not suffice: {sizes}",)

    @property
    def failures(self) -> tuple[MeasureForecast, ...]:
        """The measures with a pair too large for the memory, with reasons."""
        return tuple(m for m in self.measures if m.reason)

    def summary(self) -> str:
        """Return one line with values, measures, workers and memory, then the caveats."""
        at_once = f" on {self.workers} workers" if self.workers > 1 else ""
        count = f"{len(self.measures)} measure{'s' * (len(self.measures) != 1)}"
        values = count_with_noun(self.values, "value")
        line = f"{values} of {count}{at_once}, {format_bytes(self.memory)}"
        return "\n".join((line, *(f"  {caveat}" for caveat in self.caveats)))

    def records(self) -> list[dict[str, Any]]:
        """Return one record per measure, and a total."""
        total = {
            "measure": "together",
            "values": self.values,
            "stored": sum(m.stored for m in self.measures),
            "memory": self.memory,
            "note": "",
        }
        return [*(m._asdict() for m in self.measures), total]

    def _repr_html_(self) -> str:
        return html_fact_table("Forecast", forecast_facts(self))


def forecast_facts(forecast: Forecast) -> dict[str, str]:
    """Return the facts about all measures together, as text by name of the fact; "" for a fact
    that does not apply."""
    low, high = forecast.features
    width = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    stored = sum(m.stored for m in forecast.measures)
    times = "once" if forecast.passes == 1 else f"{forecast.passes:.3g} times"
    facts = {
        "data": f"{forecast.representations:,} representations of {forecast.samples:,} x {width}",
        "models": f"{format_duration(forecast.models)} of CPU to run them"
        if forecast.models
        else "",
        "values": f"{forecast.values:,} to compute" + (f", {stored:,} stored" if stored else ""),
        "evidence": _describe_permuted_values(forecast),
        "intermediates": f"computed {times} for each representation",
        "memory": f"{format_bytes(forecast.memory)}; budget {format_bytes(forecast.budget)}",
        "disk": f"{format_bytes(forecast.disk)} of features" if forecast.disk else "",
        "tasks": f"{forecast.tasks:,}, on {forecast.workers} at a time",
    }
    if forecast.available is not None:
        facts["memory"] += f", available {format_bytes(forecast.available)}"
    return facts


def _describe_permuted_values(forecast: Forecast) -> str:
    if not forecast.permuted:
        return ""
    if forecast.permutations == forecast.permuted:
        return f"{forecast.permuted:,} permuted values"
    return f"exact moments; {forecast.permuted:,} permuted values if far samples rule them out"


def plan(
    representations: Any,
    against: Any = None,
    *,
    measures: Iterable[MeasureArgument] | MeasureArgument | None = None,
    jobs: Jobs = None,
    memory: int | str = "half",
    block_size: int | None = None,
    save: str | Path | None = None,
    spill: str | Path | bool | None = None,
) -> Forecast:
    """Forecast the work of :func:`compare` with the same arguments, without computing any score.

    The forecast follows the order of work of ``compare``. The number of values (without the values
    in the file of ``save``), the number of tasks, and the number of passes over the intermediates
    under the budget are therefore the same. If a pair of a measure does not fit in memory, the
    forecast reports the largest number of samples that fits. A plan has no seconds: ``compare``
    times the first pairs of long work and prints the estimate. Only the header of a ``.npy`` file
    is read, unless there is a file of ``save``, because the file identifies scores by the data.
    Other data are read once, to recognise equal data.

    Raises ``ValueError`` for invalid arguments of ``compare``. The file of ``save`` is only read.
    """
    with open_executor("plan", jobs) as executor:
        options = check_run_options(executor, memory, block_size, save=save, spill=spill)
        return _forecast_comparison(representations, against, measures, options)


def _forecast_comparison(
    representations: Any, against: Any, measures: Any, options: RunOptions
) -> Forecast:
    executor, save = options.executor, options.save
    rows, columns = named_representations(representations, against)
    if save is None:
        rows = list(map(_file_representation, rows))
        columns = columns and list(map(_file_representation, columns))
    inputs = ComparisonInputs.of(rows, measures, columns)
    if save is not None and Path(save).exists() and Path(save).stat().st_size:
        with ScoreFile(save, read_only=True) as store:
            load_saved_scores(store, [inputs])
    masks, memory = find_missing_pairs([inputs]), available_memory()
    missing = {spec: int(np.count_nonzero(mask)) for spec, mask in masks[0].items()}
    with warnings.catch_warnings(), shared_cache(executor, options.spill, options.memory) as cache:
        warnings.simplefilter("ignore")  # the forecast reports memory itself
        is_shared = cache is not None and cache.has_room(inputs.all, tuple(inputs.measures))
        (plan_of_pairs,), _ = plan_comparisons([inputs], masks, options, memory, cache)
    finds: CachedIntermediates = "previous" if executor is None else "all" if is_shared else "none"
    widths = [r.shape[1] for r in inputs.all]
    tallies = _count_tasks(plan_of_pairs.blocks(), finds, widths)
    is_here = executor is None or is_on_this_machine(executor)
    count = sum(t.tasks for t in tallies)
    uses = sum(len(t.measures) for t in tallies)
    loads = sum(t.loads * len(t.measures) for t in tallies)
    return Forecast(
        measures=tuple(
            _measure_forecast(
                m,
                plan_of_pairs,
                int(np.count_nonzero(inputs.required_pairs(m))),
                missing[m.spec],
                memory,
                tallies,
            )
            for m in inputs.measures
        ),
        samples=plan_of_pairs.largest[0],
        features=(min(widths), max(widths)),
        representations=len(widths),
        passes=float(loads) / max(1, uses) / len(widths),
        tasks=count,
        workers=options.workers,
        memory=_peak_memory(
            plan_of_pairs, tallies, min(options.workers, max(1, count)) if is_here else 1
        ),
        budget=options.memory,
        available=memory,
    )


def _file_representation(x: Representation) -> Representation:
    """Return a copy of ``x`` with a fingerprint from path, time and size of its file; ``x`` itself
    if its array is not in a file.

    The function reads no values of the file.
    """
    if x.path is None or not isinstance(x.source, np.memmap):
        return x
    y, facts = copy(x), Path(x.path).stat()
    token = f"{x.path} {facts.st_mtime_ns} {facts.st_size} {x.source.offset} {x.shape} {x.dtype}"

    def carry(key: Any, compute: Any) -> str | None:
        return token if key[0] is UNCACHED_FINGERPRINT else None

    stored_carry, y._carry = y._carry, carry
    fingerprint(y)
    y._carry = stored_carry
    return y


# ----------------------------------------------------------------------------------- tasks counted


class TaskCounts:
    """Counts over the tasks of a group of measures.

    ``loads``: the number of representations with new intermediates, counted at every load;
    ``values``: the number of values per measure. ``widths``: the different numbers of features,
    ascending. ``largest``: for every task, the number of representations per width with
    intermediates at the same time.
    """

    def __init__(self, first: PairBlock, widths: np.ndarray):
        self.measures, self.widths, self.n = first.measures, widths, first.rows[0].shape[0]
        self.values = np.zeros(len(first.measures), dtype=int)
        self.largest, self.tasks, self.loads = set[tuple[int, ...]](), 0, 0

    def add(self, task: PairBlock, n_loaded: int) -> None:
        """Count a task; ``n_loaded`` representations get their intermediates for this task."""
        self.tasks += 1
        self.loads += n_loaded
        for p, block in enumerate(task.forward):
            self.values[p] += np.count_nonzero(block)
            if task.backward is not None and not task.is_diagonal:
                self.values[p] += np.count_nonzero(task.backward[p])
        representations = {id(r): r for r in task.representations}.values()
        places = np.searchsorted(self.widths, [r.shape[1] for r in representations])
        self.largest.add(tuple(np.bincount(places, minlength=len(self.widths)).tolist()))

    def bytes(self, copied: bool) -> int:
        """Return the largest number of bytes of intermediates that a task holds. ``copied``:
        whether intermediates copy the arrays."""
        sizes = [
            representation_cache_bytes(self.measures, self.n, d, copied)
            for d in self.widths.tolist()
        ]
        return max(int(np.dot(counts, sizes)) for counts in self.largest)


def _count_tasks(
    tasks: Iterable[PairBlock], finds: CachedIntermediates, widths: Sequence[int]
) -> list[TaskCounts]:
    """Return the counts of tasks, one :class:`TaskCounts` per group of measures.

    ``finds``: whether a task finds the intermediates of the previous task ("previous"), of all
    earlier tasks ("all"), or none in the cache ("none"). ``widths``: the numbers of features of the
    representations.
    """
    tallies: dict[tuple[Measure, ...], TaskCounts] = {}
    cached_keys = set[tuple[int, tuple[Measure, ...]]]()
    for task in tasks:
        if task.measures not in tallies:
            tallies[task.measures] = TaskCounts(task, np.unique(widths))
        intermediates = {(id(r), task.measures): r for r in task.representations}
        tallies[task.measures].add(task, len(intermediates.keys() - cached_keys))
        cached_keys = {
            "previous": set(intermediates),
            "all": cached_keys | set(intermediates),
            "none": set(),
        }[finds]
    return list(tallies.values())


# ----------------------------------------------------------------------------------- by measure


def _measure_forecast(
    m: Measure,
    pairs: ComparisonPlan,
    required: int,
    missing: int,
    memory: int | None,
    tallies: Sequence[TaskCounts],
) -> MeasureForecast:
    """Return the forecast of a measure. ``pairs``: the plan of the comparison; ``tallies``: the
    counts of its tasks, an entry per group of measures.

    ``required``: the number of pairs; ``missing``: the number of pairs without a value. ``memory``:
    the available bytes, None if unknown.
    """
    own_tallies = [t for t in tallies if m in t.measures]
    values = int(sum(t.values[t.measures.index(m)] for t in own_tallies))
    return MeasureForecast(
        m.spec,
        values,
        required - missing,
        pairs.bytes_of_pair(m),
        "" if values == missing else _max_fitting_samples(m, pairs, memory or math.inf),
    )


def _max_fitting_samples(m: Measure, pairs: ComparisonPlan, available: float) -> str:
    """Return a note with the largest number of samples, rounded down to two digits, for which a
    pair of the measure fits into ``available`` bytes; without such a number the note advises fewer
    features."""
    high, widest = pairs.largest
    low = MIN_FITTING_SAMPLES
    while high - low > 1:
        middle = (low + high) // 2
        fits = pair_cache_bytes(m, middle, widest, widest, pairs.is_copied) <= available
        low, high = (middle, high) if fits else (low, middle)
    if low == MIN_FITTING_SAMPLES:
        return "does not fit: use fewer features"
    figures = 10 ** max(0, int(math.log10(low)) - 1)  # rounded down to two digits
    return f"does not fit: use at most {low // figures * figures:,} samples"


# ---------------------------------------------------------------------------------------- memory


def _peak_memory(pairs: ComparisonPlan, tallies: Sequence[TaskCounts], workers: int) -> int:
    """Return the peak bytes on this machine: intermediates of ``workers`` workers, and matrices of
    values that are kept in memory."""
    intermediates = max((t.bytes(pairs.is_copied) for t in tallies), default=0)
    matrix = 8 * len(pairs.sides[0]) * len(pairs.sides[1])
    matrices = len(pairs.measures) if matrix <= MAX_MATRIX_BYTES_IN_MEMORY else 0
    return workers * intermediates + matrices * matrix
