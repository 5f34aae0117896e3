"""Format numbers, durations, sizes and lists of names: the only number formatter for all output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

ROUNDING_NOISE = 1e-12  # smaller numbers are rounding errors of 0
SMALLEST_SHARE = 1e-9  # smaller shares are rounding errors of 0
THIN_SPACE = "\u202f"
UNIT_PREFIXES = "kMGT"  # powers of 1000


def format_number(
    value: float | None, figures: int = 3, *, rounding: float = ROUNDING_NOISE
) -> str:
    """Format a number with ``figures`` significant digits.

    Up to 2 * ``figures`` digits before the decimal point are all written. None and NaN become a
    dash, infinity "∞", and magnitudes below ``rounding`` 0.
    """
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
    """Format the ends of a range with ``figures`` significant figures: "0.21 to 0.23", or a single
    number if the ends look equal. ``rounding``: the magnitude below which an end counts as 0."""
    ends = (format_number(end, figures, rounding=rounding) for end in (low, high))
    return " to ".join(dict.fromkeys(ends))


def format_two_decimals(value: float, digits: int = 2) -> str:
    """Format a number from 0.01 to 10 with two decimals.

    A smaller number has ``digits`` significant digits, and a larger number has three.
    """
    size = abs(value)
    if 0.01 <= size < 10:
        return format_fixed(value)
    return format_number(value, digits if size < 1 else 3)


def format_fixed(value: float, places: int = 2) -> str:
    """Format a number with ``places`` decimals: "−0.20"."""
    return f"{value:z.{places}f}".replace("-", "−")


def format_percent(share: float) -> str:
    """Format a share from 0 to 1 as a percentage: "45 %", and below 10 % with a decimal, "4.5 %".

    A share below 0.1 % is "under 0.1 %"; 0 and rounding errors of 0 are "0 %".
    """
    if SMALLEST_SHARE < share < 1e-3:
        return "under 0.1 %"
    decimals = 1 if SMALLEST_SHARE < share < 0.0995 else 0
    return f"{100 * share:.{decimals}f} %"


def format_level(level: float) -> str:
    """Format the confidence level of a test or an interval, from 0 to 1: "95 %" for 0.95."""
    return f"{100 * level:g} %"


def format_estimate(value: float) -> str:
    """Format a number with two significant digits, a number from 10 upwards as a whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def format_duration(seconds: float) -> str:
    """Format a duration, given in seconds, in a suitable unit: "0.3 s", "12 min", "3.5 h", "40
    days"; "< 0.01 s" for less."""
    for unit, size, smallest in (("days", 86400, 2), ("h", 3600, 1.5), ("min", 60, 1.5)):
        if seconds >= smallest * size:
            return f"{format_estimate(seconds / size)} {unit}"
    return f"{format_estimate(seconds)} s" if seconds >= 0.01 or not seconds else "< 0.01 s"


def format_bytes(size: float) -> str:
    """Format a number of bytes in a suitable unit: "812 bytes", "1.6 GB"."""
    return format_with_prefix(size, "B") if size >= 1000 else count_with_noun(round(size), "byte")


def format_with_prefix(value: float, unit: str = "") -> str:
    """Format a non-negative number with three digits and a unit prefix, followed by ``unit``: "22.7
    M", "1.6 GB"."""
    power = 0
    while power < len(UNIT_PREFIXES) and float(f"{value:.3g}") >= 1000:
        value, power = value / 1000, power + 1
    return f"{format_number(value)} {UNIT_PREFIXES[power - 1] if power else ''}{unit}".rstrip()


def round_to_figures(value: float | None, figures: int) -> float | None:
    """Return a number rounded to ``figures`` significant digits; None for None, NaN and
    infinity."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{figures}g}")


def format_count(value: int) -> str:
    """Format a count, with thin spaces between thousands."""
    return f"{value:,}".replace(",", THIN_SPACE)


def count_with_noun(value: int, word: str) -> str:
    """Format a count with a noun: "1 pair", "2 pairs". ``word``: the singular."""
    return f"{format_count(value)} {word}{'' if value == 1 else 's'}"


def list_names(names: Iterable[object], limit: int | None = None) -> str:
    """Join names with commas and abbreviate a long list: "a, b, c", "a, b and 3 more".

    ``limit``: how many names of a long list are written; a list of ``limit`` + 1 names is not
    abbreviated.
    """
    texts = [str(name) for name in names]
    if limit is None or len(texts) <= limit + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:limit])} and {len(texts) - limit} more"


def join_words(words: Iterable[object], limit: int | None = None) -> str:
    """Join words with commas and "and": "a, b and c". ``limit``: how many words of a long list are
    written, "a, b and 3 more"; a list of ``limit`` + 1 words is not abbreviated."""
    texts = [str(word) for word in words]
    if len(texts) < 2 or (limit is not None and len(texts) > limit + 1):
        return list_names(texts, limit)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def layer_words(names: Sequence[str], limit: int | None = None) -> str:
    """Return layers for a sentence, numbers with the word "layer": "layer 2", "layers 1 and 2",
    "stem and layer 1"; abbreviate a long list as :func:`list_names` does."""
    if len(names) > 1 and all(map(str.isdecimal, names)):
        return f"layers {join_words(names, limit)}"
    return join_words((f"layer {name}" if name.isdecimal() else name for name in names), limit)


def with_minus_signs(text: str) -> str:
    """Return a text with typographic minus signs before numbers.

    Hyphens in words, and between numbers, stay.
    """
    return re.sub(r"(?<![\w.)\]-])-(?=\.?\d)", "−", text)


def decimals_for_column(sizes: Sequence[float]) -> int | None:
    """Return the number of decimals, from 0 to 3, for a column of numbers; 0 for whole numbers.
    ``sizes``: the absolute values of the numbers.

    None if no single number of decimals fits: whole numbers reach 1e12, the largest other number is
    below 0.02 or at least 1e7, or a small number would have fewer than two digits, as when a column
    mixes measures.
    """
    sizes = [0.0 if size < ROUNDING_NOISE else size for size in sizes if math.isfinite(size)]
    if all(size == int(size) and size < 1e12 for size in sizes):
        return 0
    largest = max(sizes)
    if largest >= 1e7 or largest < 0.02:
        return None
    places = 0 if largest >= 1e4 else 1 if largest >= 100 else 2 if largest >= 10 else 3
    if places < 3 and min((size for size in sizes if size), default=largest) < 10.0 ** (1 - places):
        return None
    while places and all(math.isclose(round(size, places - 1), size) for size in sizes):
        places -= 1  # the last decimal of every number is 0
    return places


def format_decimals(value: float, places: int | None) -> str:
    """Format a number with ``places`` decimals; NaN and infinity become a dash.

    A nonzero number has three significant digits where the decimals would show 0, and any number
    has three if ``places`` is None.
    """
    if not math.isfinite(value):
        return "–"
    value = 0.0 if abs(value) < ROUNDING_NOISE else value
    # A nonzero number must not be rounded to 0
    if places is None or (value != 0 and abs(value) < 0.5 * 10.0**-places):
        return format_number(value)
    return f"{value:,.{places}f}".replace(",", THIN_SPACE).replace("-", "−")
