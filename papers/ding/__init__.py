"""Ding, Denain and Steinhardt 2021, "Grounding Representation Similarity Through Statistical
Testing"."""

from .claims import CLAIMS

__all__ = ["CLAIMS"]
