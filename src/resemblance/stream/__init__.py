"""Streams: one pass over any number of samples, and then the exact scores."""

from .stream import Stream, stream_from_model

__all__ = ["Stream", "stream_from_model"]
