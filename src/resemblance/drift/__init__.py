"""Drift between two versions of a representation: how much, and in what way."""

from .changes import Moved, MovedClass
from .drift import drift
from .kinds import Finding
from .result import DriftReport
from .sections import drift_result
from .table import Drift
from .verdict import Judgement

__all__ = [
    "Drift",
    "DriftReport",
    "Finding",
    "Judgement",
    "Moved",
    "MovedClass",
    "drift",
    "drift_result",
]
