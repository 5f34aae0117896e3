"""Numbers, durations, sizes and lists of names as texts: the one place that writes them for all
output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

ROUNDING_NOISE = 1e-12  # smaller numbers are 0 but for rounding errors
SMALLEST_SHARE = 1e-9  # smaller shares are 0 but for rounding errors
THIN_SPACE = "\u202f"
UNIT_PREFIXES = "kMGT"  # each 1000 times the one before


def format_number(
    value: float | None, figures: int = 3, *, rounding: float = ROUNDING_NOISE
) -> str:
    """Write a number in so many significant digits, a missing one as a dash, one below ``rounding``
    as 0."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    value = 0.0 if abs(value) < rounding else value
    is_whole = 10.0**figures <= abs(value) < 10.0 ** (2 * figures)
    text = f"{value:.0f}" if is_whole else f"{value:.{figures}g}"
    return re.sub(r"e([−+])0*", lambda e: "e" + e[1].strip("+"), text.replace("-", "−"))


def format_range(
    low: float, high: float, figures: int = 3, *, rounding: float = ROUNDING_NOISE
) -> str:
    """Write both ends of a range, or the one number that both are: "0.21 to 0.23"."""
    ends = (format_number(end, figures, rounding=rounding) for end in (low, high))
    return " to ".join(dict.fromkeys(ends))


def format_two_decimals(value: float, digits: int = 2) -> str:
    """Write a number with two decimals.

    A number below 0.01 has ``digits`` significant digits, a number from 10 on has three.
    """
    size = abs(value)
    if 0.01 <= size < 10:
        return format_fixed(value)
    return format_number(value, digits if size < 1 else 3)


def format_fixed(value: float, places: int = 2) -> str:
    """Write a number with so many decimals: "−0.20"."""
    return f"{value:z.{places}f}".replace("-", "−")


def format_percent(share: float) -> str:
    """Write a share as a percentage; a share above 0 is never written as 0."""
    if SMALLEST_SHARE < share < 1e-3:
        return "under 0.1 %"
    decimals = 1 if SMALLEST_SHARE < share < 0.0995 else 0
    return f"{100 * share:.{decimals}f} %"


def format_level(level: float) -> str:
    """Write the level of a test or of an interval: "95 %"."""
    return f"{100 * level:g} %"


def format_estimate(value: float) -> str:
    """Write a number with two significant digits, a number from 10 on as a whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def format_duration(seconds: float) -> str:
    """Write seconds in the unit that suits them: "0.3 s", "12 min", "3.5 h", "40 days"."""
    for unit, size, smallest in (("days", 86400, 2), ("h", 3600, 1.5), ("min", 60, 1.5)):
        if seconds >= smallest * size:
            return f"{format_estimate(seconds / size)} {unit}"
    return f"{format_estimate(seconds)} s" if seconds >= 0.01 or not seconds else "< 0.01 s"


def format_bytes(size: float) -> str:
    """Write a number of bytes in the unit that suits it: "812 bytes", "1.6 GB"."""
    return format_with_prefix(size, "B") if size >= 1000 else count_with_noun(round(size), "byte")


def format_with_prefix(value: float, unit: str = "") -> str:
    """Write a number of at least 0 in three digits with a prefix of its unit: "22.7 M"."""
    power = 0
    while power < len(UNIT_PREFIXES) and float(f"{value:.3g}") >= 1000:
        value, power = value / 1000, power + 1
    return f"{format_number(value)} {UNIT_PREFIXES[power - 1] if power else ''}{unit}".rstrip()


def round_to_figures(value: float | None, figures: int) -> float | None:
    """Return a number in so many significant digits; None for a missing or infinite number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{figures}g}")


def format_count(value: int) -> str:
    """Write a count, with thin spaces between thousands."""
    return f"{value:,}".replace(",", THIN_SPACE)


def count_with_noun(value: int, word: str) -> str:
    """Write a count with its noun: "1 pair", "2 pairs"."""
    return f"{format_count(value)} {word}{'' if value == 1 else 's'}"


def list_names(names: Iterable[object], limit: int | None = None) -> str:
    """Join names by commas, and count what is left of a long list: "a, b, c", "a, b and 3 more".

    ``limit``: how many names of a long list are written; a list of one name more is written whole.
    """
    texts = [str(name) for name in names]
    if limit is None or len(texts) <= limit + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:limit])} and {len(texts) - limit} more"


def join_words(words: Iterable[object], limit: int | None = None) -> str:
    """Join words by commas, the last one by "and": "a, b and c"; a long list as
    :func:`list_names`."""
    texts = [str(word) for word in words]
    if len(texts) < 2 or (limit is not None and len(texts) > limit + 1):
        return list_names(texts, limit)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


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
