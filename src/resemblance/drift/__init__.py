"""Drift between two versions of a representation: how much, and in what way."""

from .changes import Moved, MovedClass
from .kinds import Finding
from .report import DriftReport, drift
from .table import Drift
from .verdict import Judgement

__all__ = ["Drift", "DriftReport", "Finding", "Judgement", "Moved", "MovedClass", "drift"]
