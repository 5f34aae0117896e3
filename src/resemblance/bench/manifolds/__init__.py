"""Point clouds with known similarity (Islam et al. 2025)."""

from .suite import MEASURES, SIZES, run

__all__ = ["MEASURES", "SIZES", "run"]
