"""The stability suite: measures put to the test by deletions and by disturbed weights."""

from .suite import MEASURES, SIZES, run

__all__ = ["MEASURES", "SIZES", "run"]
