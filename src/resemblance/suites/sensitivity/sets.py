"""Sets of representations that are compared, and the differences between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...compare import compare
from ...comparison import Comparison
from ...grounding import Rule, by_reference, kendall, spearman
from ...measure import Measure
from ...representation import Representation
from ..experiments import RunConfig

PRECISION = 1e-12  # of the largest difference; smaller differences are rounding
# Representations have unit size, so smaller differences are rounding whatever the largest is.
NOISE = 1e-14
SLOW = frozenset({"rtd"})  # compared only up to a number of samples
Differences: TypeAlias = Mapping[str, np.ndarray]  # by measure: (references, representations)
Measured: TypeAlias = Mapping[str, Differences]  # by layer


class Effort(NamedTuple):
    """How much is computed.

    ``samples``: inputs on which representations are compared (probes see all). ``layers``: how
    many, counted from the last, have components deleted. ``splits``: of the samples for each probe.
    ``draws``: bootstrap samples. ``permutations``: of the permutation tests. ``slow``: the most
    samples for a slow measure.
    """

    samples: int
    layers: int
    splits: int
    draws: int = 2000
    permutations: int = 1999
    slow: int = 150


class RepresentationSet(NamedTuple):
    """A set S of the paper: the representations that are compared, and what each can do.

    ``columns``: all, by name; ``rows``: positions of those that can be the reference.
    ``functionality``: by name, one number for each of the columns.
    """

    columns: Mapping[str, Representation]
    rows: tuple[int, ...]
    functionality: Mapping[str, np.ndarray]


class ResamplingDesign(NamedTuple):
    """What the representations of a set share, by which they are resampled and permuted.

    ``drawn``: as for :func:`resemblance.suites.sensitivity.bootstrap_counts`; ``exchanged``: as for
    :func:`resemblance.suites.sensitivity.exchanges`. Empty where models share nothing.
    """

    drawn: Mapping[str, Any] = {}
    exchanged: Mapping[str, Any] = {}


Sets: TypeAlias = tuple[dict[str, RepresentationSet], ResamplingDesign]  # by layer


def fast_enough(measures: Sequence[Measure], effort: Effort, samples: int) -> tuple[Measure, ...]:
    """Return the measures that are not too slow for so many samples."""
    is_small = min(effort.samples, samples) <= effort.slow
    return tuple(m for m in measures if m.name not in SLOW or is_small)


def compared(members: RepresentationSet, config: RunConfig, effort: Effort) -> Comparison:
    """Return the comparison of the possible references, in rows, with all representations."""
    columns = list(members.columns.values())
    measures = fast_enough(config.measures, effort, columns[0].shape[0])
    references = [columns[i] for i in members.rows]
    is_square = members.rows == tuple(range(len(columns)))
    return compare(
        columns if is_square else references,
        None if is_square else columns,
        measures=measures,
        save=config.folder / "comparisons.db",
        memory=config.memory,
        progress=False,
    )


def rounded_differences(comparison: Comparison) -> dict[str, np.ndarray]:
    """Return differences by measure without the digits that are rounding: equal ones stay equal."""
    return {m.spec: without_rounding(comparison.difference(m.spec)) for m in comparison.measures}


def without_rounding(differences: np.ndarray) -> np.ndarray:
    """Return differences rounded to 1e-12 of the largest, and to 1e-14 at least; NaN stay."""
    step = max(PRECISION * float(np.nanmax(np.abs(differences), initial=0.0)), NOISE)
    return np.round(differences / step) * step + 0.0


ORDERS: Mapping[str, Rule] = {  # by the correlation of distances with what is lost
    name: Rule(by_reference, quality, is_complete=True, rounded=without_rounding)
    for name, quality in (("spearman", spearman), ("kendall", kendall))
}


def constant_measures(differences: Mapping[str, Differences]) -> tuple[str, ...]:
    """Return the measures with equal differences for all pairs: normalisation removed what they
    measure."""
    values = defaultdict[str, list[np.ndarray]](list)
    for measures in differences.values():
        for spec, d in measures.items():
            values[spec].append(d[~np.isnan(d)])
    return tuple(spec for spec, known in values.items() if all(map(_is_constant, known)))


def _is_constant(values: np.ndarray) -> bool:
    return bool(values.size and np.ptp(values) == 0)
