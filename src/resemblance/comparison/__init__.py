"""Scores of pairs of representations, in memory and on disk."""
