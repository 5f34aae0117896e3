"""Point clouds whose similarity is known (Islam et al. 2025)."""

from .suite import run

__all__ = ["run"]
