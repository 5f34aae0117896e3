"""Streams: one pass over any number of samples, then the exact scores."""

from .stream import Stream

__all__ = ["Stream"]
