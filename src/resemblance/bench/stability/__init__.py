"""The stability suite: test measures with deleted principal components and with perturbed
weights."""

from .suite import MEASURES, SIZES, SUITE

__all__ = ["MEASURES", "SIZES", "SUITE"]
