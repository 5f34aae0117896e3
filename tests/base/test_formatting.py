"""Numbers, durations, sizes and lists of names as texts."""

from __future__ import annotations

import math
from functools import partial

import pytest

from resemblance.base.formatting import (
    count_with_noun,
    decimals_for_column,
    format_bytes,
    format_decimals,
    format_duration,
    format_estimate,
    format_fixed,
    format_level,
    format_number,
    format_percent,
    format_range,
    format_two_decimals,
    format_with_prefix,
    join_words,
    list_names,
    round_to_figures,
    with_minus_signs,
)

LARGE = "12\u202f346"  # thin spaces between thousands

NUMBERS = {
    None: "–", math.nan: "–", math.inf: "∞", -math.inf: "−∞", 0.0: "0", -1e-15: "0",
    0.12345: "0.123", -2.0: "−2", 12345.6: "12346", 1e-7: "1e−7", 3.2e9: "3.2e9", 1e9: "1e9",
    1e10: "1e10", -2.5e-10: "−2.5e−10",
}  # fmt: skip
DURATIONS = {
    0: "0 s", 0.001: "< 0.01 s", 0.234: "0.23 s", 42.4: "42 s", 89: "89 s", 95: "1.6 min",
    720: "12 min", 5400: "1.5 h", 12_600: "3.5 h", 40 * 86400: "40 days",
}  # fmt: skip
SIZES = {
    0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1 kB", 70_600_000: "70.6 MB",
    999_999_999: "1 GB", 1.6e9: "1.6 GB", 1.6e12: "1.6 TB", 4.2e15: "4200 TB",
}  # fmt: skip
SHARES = {
    0.0: "0 %", 1e-12: "0 %", 1e-6: "under 0.1 %", 0.0123: "1.2 %", 0.456: "46 %", 1.0: "100 %",
}  # fmt: skip
TWO_DECIMALS = {
    0.714: "0.71", -0.2: "−0.20", 0.0012: "0.0012", 46.31: "46.3", -2e-13: "0", math.nan: "–",
    12345.6: "12346",
}  # fmt: skip
THREE_DECIMALS = {
    0.5: "0.500", 0.0: "0.000", 0.0002: "0.0002", math.nan: "–", -1e-15: "0.000",
}  # fmt: skip
DECIMALS = {
    (1, 20): 0, (0.5, 0.123): 3, (12.34, 1.0): 2, (150.52,): 1, (12345.5,): 0, (0.5, 0.1): 1,
    (44.0, 7.3): 1, (250.0, 0.4123): None, (31.4, 0.02): None, (0.5, 1e-15): 1, (0.001,): None,
    (2.55e7,): 0, (2.55e7, 0.5): None, (): 0, (math.nan, 0.25): 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (format_number, NUMBERS),
        (format_duration, DURATIONS),
        (format_bytes, SIZES),
        (format_percent, SHARES),
        (format_two_decimals, TWO_DECIMALS),
        (format_level, {0.95: "95 %", 0.05: "5 %", 0.999: "99.9 %"}),
        (format_estimate, {0.234: "0.23", 9.96: "10", 12345.6: "12,346"}),
        (format_with_prefix, {7: "7", 1500: "1.5 k", 22.7e6: "22.7 M", 1.1e9: "1.1 G"}),
        (format_fixed, {-0.2: "−0.20", -0.001: "0.00", 12.345: "12.35"}),
        (with_minus_signs, {"-1 to -.5": "−1 to −.5", "layer-1, 3-4": "layer-1, 3-4"}),
        (partial(format_number, figures=4), {0.123456: "0.1235", 18315.6: "18316", 2e-5: "2e−5"}),
        (partial(format_number, rounding=1e-9), {1e-10: "0"}),
        (partial(format_two_decimals, digits=1), {0.0012: "0.001"}),
        (partial(format_decimals, places=3), THREE_DECIMALS),
        (partial(format_decimals, places=0), {12345.5: LARGE}),
        (partial(format_range, 0.21, figures=2), {0.234: "0.21 to 0.23", 0.2102: "0.21"}),
        (partial(round_to_figures, figures=4), {2.00001: 2, 0.12345: 0.1235, math.inf: None}),
        (
            partial(count_with_noun, word="pair"),
            {0: "0 pairs", 1: "1 pair", 12346: f"{LARGE} pairs"},
        ),
        (list_names, {(): "", (1, 2, 3): "1, 2, 3"}),
        (partial(list_names, limit=2), {"abcd": "a, b and 2 more", "abc": "a, b, c"}),  # not 1 more
        (join_words, {"": "", "a": "a", "ab": "a and b", "abc": "a, b and c"}),
        (partial(join_words, limit=2), {"abc": "a, b and c", "abcd": "a, b and 2 more"}),
        (decimals_for_column, DECIMALS),
    ],
)
def test_examples(write, texts):
    assert {value: write(value) for value in texts} == texts
