"""How long comparisons take, by the number and the size of representations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...measure import Measure
from ...subject import MapShape

# Measured on one core: seconds by one of 23 measures for a representation of 5,000 inputs and 512
# features, and for a pair of them.
ROWS, OF_ONE, OF_PAIR = 5000, 12.7 / 23, 0.7 / 23


class Workload(NamedTuple):
    """Representations of one size, and pairs of them to compare."""

    rows: int
    width: int
    representations: int
    pairs: int


def all_pairs(rows: int, width: int, representations: int) -> Workload:
    """Return the work of comparing all pairs of so many representations."""
    return Workload(rows, width, representations, representations * (representations + 1) // 2)


def of_layers(
    rows: int, widths: Sequence[int], shapes: Sequence[MapShape | None]
) -> Iterator[Workload]:
    """Yield the work of comparing all pairs of layers on so many samples."""
    yield all_pairs(rows, max(widths), len(widths))


def comparing_hours(works: Iterable[Workload], measures: Sequence[Measure]) -> dict[str, float]:
    """Return the CPU hours of one core that comparisons take, by the specification of a measure."""
    seconds = sum(
        (work.rows / ROWS) ** 2 * (OF_ONE * work.representations + OF_PAIR * work.pairs)
        for work in works
    )
    return {m.spec: seconds / 3600 for m in measures}
