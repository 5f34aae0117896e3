"""The ReSi benchmark (Klabunde et al. 2025): six tests of how well measures find models alike."""

from .evaluation import assess, evaluate
from .facts import Evaluation, load_facts
from .sections import result_of
from .suite import SIZES, run, status

__all__ = ["SIZES", "Evaluation", "assess", "evaluate", "load_facts", "result_of", "run", "status"]
