"""The ReSi benchmark (Klabunde et al. 2025): six tests of how well measures recognise similar
models."""

from .evaluation import Evaluation, assess
from .page import evaluate, result_of
from .suite import SIZES, load_evaluation, run, status

__all__ = [
    "SIZES", "Evaluation", "assess", "evaluate", "load_evaluation", "result_of", "run", "status",
]  # fmt: skip
