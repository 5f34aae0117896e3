"""Klabunde et al. 2025, "ReSi: A Comprehensive Benchmark for Representational Similarity
Measures"."""

from .claims import CLAIMS, conclusions
from .ranks import published_rows

__all__ = ["CLAIMS", "conclusions", "published_rows"]
