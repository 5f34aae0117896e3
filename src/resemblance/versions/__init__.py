"""Drift between two versions of a representation: its size, its kind, and the consequences for an
index."""

from ._drift import drift
from ._upgrade_index import IndexUpgrade, upgrade_index
from .facts import Fact
from .findings import Finding
from .moved import Moved, MovedClass
from .result import DriftReport
from .table import DriftTest
from .verdict import Judgement

__all__ = [
    "DriftReport",
    "DriftTest",
    "Fact",
    "Finding",
    "Judgement",
    "Moved",
    "MovedClass",
    "IndexUpgrade",
    "drift",
    "upgrade_index",
]
