"""Islam, Liu and Sarkar 2025, "Manifold Approximation leads to Robust Kernel Alignment"."""

from .claims import CLAIMS

__all__ = ["CLAIMS"]
