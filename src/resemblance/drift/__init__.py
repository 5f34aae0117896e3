"""Drift between two versions of a representation: how much, in what way, and what becomes of an
index."""

from .drift import drift
from .facts import Fact
from .findings import Finding
from .moved import Moved, MovedClass
from .result import DriftReport
from .table import Drift
from .upgrade import Upgrade, upgrade
from .verdict import Judgement

__all__ = [
    "Drift",
    "DriftReport",
    "Fact",
    "Finding",
    "Judgement",
    "Moved",
    "MovedClass",
    "Upgrade",
    "drift",
    "upgrade",
]
