"""Uncertainty of scores: chance levels, p-values, intervals, and tests of differences.

A permutation of the samples permutes the cached intermediates of a representation
(:mod:`.reorder`), so null values of a measure need no new intermediates. Measures that are
functions of an inner product of two matrices need no permutations at all (:mod:`~.moments`). Values
without some of the samples give intervals, differences, influence and sample sizes.
"""

from ..data.caveats import duplicate_labels
from ._error_consistency import ErrorConsistency, ErrorPair, error_consistency
from ._evidence import evidence
from ._score_models import ModelScores, score_models
from ._time_courses import TimeCluster, TimeCourses, score_models_over_time
from .answers import Best, Contributions, CurvePoint, Difference, Influence, PairEvidence
from .fitting import FittedPart
from .intervals import PartCells
from .nulls import NullCells
from .result import Evidence

__all__ = [
    "ModelScores",
    "Best",
    "Contributions",
    "CurvePoint",
    "Difference",
    "ErrorConsistency",
    "ErrorPair",
    "Evidence",
    "Influence",
    "NullCells",
    "PairEvidence",
    "PartCells",
    "FittedPart",
    "TimeCluster",
    "TimeCourses",
    "score_models",
    "score_models_over_time",
    "duplicate_labels",
    "error_consistency",
    "evidence",
]
