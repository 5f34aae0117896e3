"""Results of the jobs of inference: null distributions, resampled scores, and moment profiles."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..comparison.scores import StoredResult
from ..contracts._measure import Measure
from .moments import MatrixSide, MomentProfile

COMMON_FIELDS = ("pair", "values", "note")
LEAVE_ONE_OUT = "leave-one-out"  # the subsets of samples without each sample


class MeasuredPair(NamedTuple):
    """A measure, and the tokens of the data of x and y."""

    measure: str
    version: int
    x: str
    y: str


def measured_pair(measure: Measure, x: str, y: str) -> MeasuredPair:
    """Return the measure and the tokens ``x``, ``y`` of the data of a pair, as the key of
    results."""
    return MeasuredPair(measure.spec, measure.version, x, y)


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """Numbers that a job computes for a pair; ``note`` is the reason for missing numbers, or ""."""

    pair: MeasuredPair
    values: np.ndarray
    note: str = ""

    @property
    def key(self) -> Hashable:
        """The key of the result: the type, the pair, and the values of the fields of the type
        other than values and note."""
        facts = {name: v for name, v in vars(self).items() if name not in COMMON_FIELDS}
        return result_key(type(self), self.pair, **facts)

    def stored(self) -> StoredResult:
        """Return the result in the form in which a file of scores keeps results."""
        facts = {name: v for name, v in vars(self).items() if name not in ("pair", "values")}
        return StoredResult(type(self).__name__, *self.pair, facts, self.values)


@dataclass(frozen=True, kw_only=True)
class NullDistribution(JobResult):
    """The scores of a pair in the draws of a design from number ``start`` on.

    ``design`` identifies the permutations and the purpose of the draws. A score is NaN for data
    outside the domain of the measure.
    """

    design: str
    start: int


@dataclass(frozen=True, kw_only=True)
class ResampledScores(JobResult):
    """The scores of a pair on subsets of the samples; NaN for a missing score.

    ``subsets`` identifies the subsets. Without values the next run repeats the computation.
    """

    subsets: str


@dataclass(frozen=True, kw_only=True)
class SideMoments(JobResult):
    """The moment profile of a representation, both x and y of ``pair``, for a side of a measure.

    ``values`` are the numbers of the profile; empty without a profile.
    """

    side: MatrixSide

    @property
    def profile(self) -> MomentProfile | None:
        """The moment profile, or None."""
        if not len(self.values):
            return None
        square, share, scale, is_clumped, sample = map(float, self.values[:5])
        return MomentProfile(self.values[5:], square, share, scale, bool(is_clumped), int(sample))


RESULT_TYPES = {t.__name__: t for t in (NullDistribution, ResampledScores, SideMoments)}


def result_key(kind: type[JobResult], pair: MeasuredPair, **facts: str | int) -> Hashable:
    """Return the key of the result of type ``kind`` for a pair; ``facts`` are the fields of the
    type other than pair, values and note."""
    return kind.__name__, pair, tuple(sorted(facts.items()))


def result_from_file(stored: StoredResult) -> JobResult:
    """Return a stored result as an object of its type; raise ``ValueError`` for an unknown
    type."""
    kind: Any = RESULT_TYPES.get(stored.kind)
    if kind is None or stored.facts.keys() != {f.name for f in fields(kind)[2:]}:
        raise ValueError(f"there is no result of inference called {stored.kind!r}")
    result: JobResult = kind(pair=MeasuredPair(*stored[1:5]), **stored.facts, values=stored.values)
    return result
