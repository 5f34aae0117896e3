"""Shesha: stability, similarity and drift (Raju 2026, arXiv 2601.09173)."""

from .suite import CLAIMS, EXPERIMENTS, run

__all__ = ["CLAIMS", "EXPERIMENTS", "run"]
