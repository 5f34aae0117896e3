"""Measures of tests, which claim as little as a measure can."""

from __future__ import annotations

import resemblance as rs


def declared(label: str, **claims):
    """Return the decorator of a measure from 0 to 1 in which nothing is special but what is
    claimed here."""
    usual = {"family": "descriptive", "larger_is_more_similar": True, "range": (0, 1)}
    usual |= {"symmetric": True, "citation": "nobody2026nothing"}
    usual |= {"invariant_to": {"permutation"}}  # other measures need columns of one width
    return rs.measure(label=label, **usual | claims)
