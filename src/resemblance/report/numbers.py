"""Numbers as a person reads them: the one place that writes them for all output."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

ROUNDING_NOISE = 1e-12  # smaller numbers are 0 but for rounding errors
THIN_SPACE = "\u202f"


def format_number(value: float | None, figures: int = 3) -> str:
    """Write a number in so many significant digits, a missing one as a dash."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    value = 0.0 if abs(value) < ROUNDING_NOISE else value
    is_whole = 10.0**figures <= abs(value) < 10.0 ** (2 * figures)
    text = f"{value:.0f}" if is_whole else f"{value:.{figures}g}"
    return re.sub(r"e([−+])0*", lambda e: "e" + e[1].strip("+"), text.replace("-", "−"))


def format_interval_ends(low: float, high: float, figures: int = 3) -> str:
    """Write the two ends of an interval or of a range."""
    return f"{format_number(low, figures)} to {format_number(high, figures)}"


def format_count(value: int) -> str:
    """Write a count, with thin spaces between thousands."""
    return f"{value:,}".replace(",", THIN_SPACE)


def count_with_noun(value: int, word: str) -> str:
    """Write a count with its noun: "1 pair", "2 pairs"."""
    return f"{format_count(value)} {word}{'' if value == 1 else 's'}"


def join_with_rest_counted(names: Sequence[str], most: int, slack: int = 0) -> str:
    """Join names by commas; with over ``slack`` more than ``most`` of them, the rest is counted."""
    rest = len(names) - most
    return ", ".join(names) if rest <= slack else f"{', '.join(names[:most])} and {rest} more"


def format_time(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    if 0 < seconds < 0.01:
        return "< 0.01 s"
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def with_minus_signs(text: str) -> str:
    """Return a text with real minus signs before its numbers.

    Hyphens in words, and between numbers, stay.
    """
    return re.sub(r"(?<![\w.)\]-])-(?=\.?\d)", "−", text)


def decimals_for_column(sizes: Sequence[float]) -> int | None:
    """Return how many decimals show the numbers of a column; None if no single count shows all.

    That is so where a large number would leave a small one with less than two digits, as when
    measures are mixed.
    """
    sizes = [0.0 if size < ROUNDING_NOISE else size for size in sizes if math.isfinite(size)]
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


def format_decimals(value: float, places: int | None) -> str:
    """Write a number with so many decimals.

    One that would then be 0 has three significant digits.
    """
    if not math.isfinite(value):
        return "–"
    value = 0.0 if abs(value) < ROUNDING_NOISE else value
    if places is None or (value != 0 and abs(value) < 0.5 * 10.0**-places):  # would be written as 0
        return format_number(value)
    return f"{value:,.{places}f}".replace(",", THIN_SPACE).replace("-", "−")
