"""The stability suite: test measures with deleted principal components and with perturbed
weights."""

from .suite import MEASURES, SIZES, run

__all__ = ["MEASURES", "SIZES", "run"]
