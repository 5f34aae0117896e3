"""Point clouds whose similarity is known (Islam et al. 2025)."""

from .suite import MEASURES, SIZES, run

__all__ = ["MEASURES", "SIZES", "run"]
