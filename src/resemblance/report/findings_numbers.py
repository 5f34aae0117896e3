"""Numbers as a person reads them, in tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

ROUNDING = 1e-12  # smaller numbers are 0 but for rounding errors


def number(value: float | None) -> str:
    """Write a number in three significant digits, a missing one as a dash."""
    if value is None or not math.isfinite(value):
        return "–"
    value = 0.0 if abs(value) < ROUNDING else value
    told = f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return told.replace("-", "−").replace("e+0", "e").replace("e−0", "e−")


def minus(text: str) -> str:
    """Return a text with real minus signs before its numbers; hyphens in words, and between
    numbers, stay."""
    return re.sub(r"(?<![\w.)\]-])-(?=\.?\d)", "−", text)


def decimals(sizes: Sequence[float]) -> int | None:
    """Return how many decimals show numbers of a column; None if no one number of decimals shows
    all of them.

    That is so where a large number would leave a small one with less than two digits, as when
    measures are mixed.
    """
    sizes = [0.0 if size < ROUNDING else size for size in sizes if math.isfinite(size)]
    if all(size == int(size) and size < 1e7 for size in sizes):
        return 0
    largest = max(sizes)
    if largest >= 1e7 or largest < 0.02:
        return None
    places = 0 if largest >= 1e4 else 1 if largest >= 100 else 2 if largest >= 10 else 3
    if places < 3 and min((size for size in sizes if size), default=largest) < 10.0 ** (1 - places):
        return None
    while places and all(math.isclose(round(size, places - 1), size) for size in sizes):
        places -= 1  # all would end in 0
    return places


def digits(value: float, places: int | None) -> str:
    """Write a number with so many decimals, one that would then be 0 in three significant
    digits."""
    if not math.isfinite(value):
        return "–"
    value = 0.0 if abs(value) < ROUNDING else value
    if places is None or (value != 0 and abs(value) < 0.5 * 10.0**-places):  # would be written as 0
        return number(value)
    return f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")
