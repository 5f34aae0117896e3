"""Drift between two versions of a representation: how much, and in what way."""

from .kinds import Finding
from .report import DriftReport, Judgement, Moved, drift
from .table import Drift

__all__ = ["Drift", "DriftReport", "Finding", "Judgement", "Moved", "drift"]
