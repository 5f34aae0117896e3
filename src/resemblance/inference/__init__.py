"""How sure a score is: its chance level, a p-value, an interval, and tests of differences.

An order of the samples acts on the views of a representation (:mod:`~.carrying`), so the values of
a measure under the null hypothesis need no new views; measures that are functions of an inner
product of two matrices need no orders at all (:mod:`~.moments`); values without some of the samples
give intervals, differences, influence and sample sizes.
"""

from .cautions import equal_rows
from .cells import Best, NullCells, PartCells
from .differences import BiasedDifferenceWarning, Difference
from .evidence import evidence
from .loading import load_evidence
from .result import Evidence

__all__ = [
    "Best",
    "BiasedDifferenceWarning",
    "Difference",
    "Evidence",
    "NullCells",
    "PartCells",
    "equal_rows",
    "evidence",
    "load_evidence",
]
