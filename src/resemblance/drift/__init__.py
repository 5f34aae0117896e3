"""Drift between two versions of a representation: how much, and in what way."""

from .findings import Finding
from .report import DriftReport, Moved, drift
from .table import Drift

__all__ = ["Drift", "DriftReport", "Finding", "Moved", "drift"]
