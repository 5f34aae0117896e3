"""Measures of tests, which claim as little as a measure can; and whether scores are equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

import resemblance as rs


def declared(label: str, **claims):
    """Return the decorator of a measure from 0 to 1 in which nothing is special but what is
    claimed here."""
    usual = {"family": "descriptive", "larger_is_more_similar": True, "range": (0, 1)}
    usual |= {"symmetric": True, "citation": "nobody2026nothing"}
    usual |= {"invariant_to": {"permutation"}}  # other measures need columns of one width
    return rs.measure(label=label, **usual | claims)


def with_each(
    m: rs.Measure, candidates: Iterable[tuple[tuple[str, Any], ...]]
) -> Iterator[rs.Measure]:
    """Yield the measure with each of these parameters that go together."""
    for parameters in candidates:
        with suppress(ValueError):
            yield m.with_parameters(**dict(parameters))


def same_scores(one: rs.Comparison, other: rs.Comparison) -> bool:
    """Whether two comparisons have the same measures and, to the last bit, the same scores."""
    return [m.spec for m in one.measures] == [m.spec for m in other.measures] and all(
        np.array_equal(one[m.spec], other[m.spec], equal_nan=True) for m in one.measures
    )
