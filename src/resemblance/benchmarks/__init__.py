"""Benchmarks of measures: models with known similarities and differences, and how well each measure
finds them."""

from .evaluate import Result, evaluate, load_result
from .published import published, published_ranks
from .study import run

__all__ = ["Result", "evaluate", "load_result", "published", "published_ranks", "run"]
