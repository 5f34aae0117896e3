"""Streams: one pass over any number of samples, and then the exact scores."""

from .running import stream_from_model
from .stream import Stream

__all__ = ["Stream", "stream_from_model"]
