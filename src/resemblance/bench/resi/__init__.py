"""The ReSi benchmark (Klabunde et al. 2025): six tests of how well measures recognise similar
models."""

from .evaluation import Evaluation, assess
from .page import evaluate, result_of
from .suite import SIZES, SUITE, configure_resi, load_evaluation, status

__all__ = [
    "SIZES", "SUITE", "Evaluation", "assess", "configure_resi", "evaluate", "load_evaluation",
    "result_of", "status",
]  # fmt: skip
