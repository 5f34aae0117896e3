"""Stability, similarity and drift (Raju 2026)."""

from .suite import run

__all__ = ["run"]
