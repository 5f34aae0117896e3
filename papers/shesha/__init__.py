"""Shesha: stability, similarity and drift (Raju 2026, arXiv 2601.09173)."""

from .reproduction import CLAIMS, run

__all__ = ["CLAIMS", "run"]
