"""The ReSi benchmark (Klabunde et al. 2025): six tests of how well measures find models alike."""

from .evaluation import ResiResult, evaluate, load_resi
from .suite import run

__all__ = ["ResiResult", "evaluate", "load_resi", "run"]
