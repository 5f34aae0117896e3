"""How long comparisons take, by the number and the size of representations."""

from __future__ import annotations

from collections.abc import Sequence

from ...measure import Measure

# Measured on one core with the 24 measures of the benchmark: seconds for a representation of 5,000
# inputs and 512 features, for a pair of them, and for a pair by RTD whatever their size.
ROWS, WIDTH = 5000, 512
OF_ONE, OF_PAIR, OF_RTD = 12.7, 0.7, 0.6
USUAL = 23  # measures besides RTD


def comparing_seconds(
    measures: Sequence[Measure], rows: int, width: int, representations: int
) -> float:
    """Return how long it takes to compare all pairs of so many representations.

    Most of the work is on matrices of distances between inputs, so that it grows with the square of
    their number; the rest, with the number of features, is at most as much.
    """
    share = sum(m.name != "rtd" for m in measures) / USUAL
    pairs = representations * (representations - 1) / 2
    size = (rows / ROWS) ** 2 * (0.5 + 0.5 * width / WIDTH)
    seconds = share * size * (OF_ONE * representations + OF_PAIR * pairs)
    return seconds + OF_RTD * pairs * any(m.name == "rtd" for m in measures)
