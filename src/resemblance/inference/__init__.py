"""How sure a score is: its chance level, a p-value, an interval, and tests of differences.

An order of the samples moves the intermediates of a representation
(:mod:`.reordered_intermediates`), so the values of a measure under the null hypothesis need no new
intermediates; measures that are functions of an inner product of two matrices need no orders at all
(:mod:`~.moments`); values without some of the samples give intervals, differences, influence and
sample sizes.
"""

from ..data.caveats import duplicate_labels
from ._evidence import evidence
from ._score_models import ModelScores, score_models
from .answers import Best, Contributions, CurvePoint, Difference, Influence, PairEvidence
from .intervals import PartCells
from .nulls import NullCells
from .result import Evidence

__all__ = [
    "ModelScores",
    "Best",
    "Contributions",
    "CurvePoint",
    "Difference",
    "Evidence",
    "Influence",
    "NullCells",
    "PairEvidence",
    "PartCells",
    "score_models",
    "duplicate_labels",
    "evidence",
]
