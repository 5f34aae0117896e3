"""Point clouds with known similarity (Islam et al. 2025)."""

from .suite import MEASURES, SIZES, SUITE

__all__ = ["MEASURES", "SIZES", "SUITE"]
