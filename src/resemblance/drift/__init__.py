"""Drift between two versions of a representation: how much, and in what way."""

from .drift import drift
from .findings import Finding
from .moved import Moved, MovedClass
from .result import DriftReport
from .table import Drift
from .verdict import Judgement

__all__ = ["Drift", "DriftReport", "Finding", "Judgement", "Moved", "MovedClass", "drift"]
