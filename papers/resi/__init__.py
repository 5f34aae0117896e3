"""Klabunde et al. 2025, "ReSi: A Comprehensive Benchmark for ... Similarity Measures"."""
