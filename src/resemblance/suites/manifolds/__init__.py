"""Point clouds whose similarity is known (Islam et al. 2025)."""

from .grades import Grade, ManifoldFacts, Measurement, load_facts
from .sections import result_of
from .suite import MEASURES, SIZES, collect, run

__all__ = [
    "MEASURES",
    "SIZES",
    "Grade",
    "ManifoldFacts",
    "Measurement",
    "collect",
    "load_facts",
    "result_of",
    "run",
]
