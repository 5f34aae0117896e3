"""The state of a stream: shifts, sums, and rows that wait to be added."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, like, to_numpy
from .rows import WaitingRows, directions_of, first_shift, rows_at_a_time, shifted
from .sums import LayerMoments, Pair, ProductSums, Sums, TriangularFactor, checked, shifting

KINDS = ("points", "directions")


class Shifted(NamedTuple):
    """Sums of rows of every layer, and the shift of each, none before there are rows."""

    shifts: tuple[np.ndarray, ...]
    sums: Sums

    def plus(self, rows: Sequence[Array]) -> Shifted:
        """Return the sums with these rows, the first of which determine the shifts."""
        shifts = self.shifts or tuple(map(first_shift, rows))
        self.sums.add([shifted(block, like(a, block)) for block, a in zip(rows, shifts)])
        return Shifted(shifts, self.sums)

    def merged(self, other: Shifted) -> Shifted:
        """Return the sums with those of another state, brought to the shifts of this one."""
        if not other.shifts:
            return self
        shifts = self.shifts or other.shifts
        self.sums.merge(other.sums, [shifting(b - a) for a, b in zip(shifts, other.shifts)])  # type: ignore[arg-type]
        return Shifted(shifts, self.sums)

    def moments(self, layers: Sequence[int], n: int) -> LayerMoments:
        """Return what is known of some layers, the means of the rows as they are."""
        known = self.sums.moments(layers, n)
        means = [self.shifts[i] + mean for i, mean in zip(layers, known.means)]
        return known._replace(means=tuple(means))


class Closed(NamedTuple):
    """What all rows add up to: their points and, where they are kept, their directions, of which
    ``counts`` says how many there are for each two layers."""

    parts: tuple[Shifted, ...]
    counts: np.ndarray

    def plus(self, rows: Sequence[Array]) -> Closed:
        """Return what these rows, too, add up to; the sums themselves are changed."""
        points, *directions = self.parts
        if not directions:
            return self._replace(parts=(points.plus(rows),))
        units, counts = directions_of(rows)
        return Closed((points.plus(rows), directions[0].plus(units)), self.counts + counts)

    def copy(self) -> Closed:
        """Return the same sums, which can be changed."""
        copies = tuple(Shifted(part.shifts, part.sums.copy()) for part in self.parts)
        return Closed(copies, self.counts)

    def digest(self) -> str:
        """Return a hash of all numbers."""
        total = hashlib.sha256(self.counts.tobytes())
        for part in self.parts:
            for array in (*part.shifts, *part.sums.arrays().values()):
                total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()


class State:
    """Sums of the rows of some layers."""

    def __init__(
        self,
        widths: Sequence[int],
        pairs: Sequence[Pair],
        method: str,
        directions: bool,
        place: Array,
    ):
        kind: Any = ProductSums if method == "gram" else TriangularFactor
        self.n = 0
        self._widths = tuple(widths)
        self._rows = WaitingRows(widths, rows_at_a_time(widths, method), place)
        empty = (Shifted((), kind(widths, pairs, place)) for _ in range(1 + directions))
        self._sums = Closed(tuple(empty), np.zeros((len(widths), len(widths))))

    def take(self, sources: Sequence[Array]) -> None:
        """Add rows of every layer, or let them wait."""
        self._rows.take(sources, self._add)
        self.n += sources[0].shape[0]

    def _add(self, rows: Sequence[Array]) -> None:
        self._sums = self._sums.plus(rows)

    def merge(self, other: State) -> None:
        """Add the rows of another state of the same layers."""
        mine, theirs = self._sums, other._sums
        parts = (part.merged(more) for part, more in zip(mine.parts, theirs.parts))
        self._sums = Closed(tuple(parts), mine.counts + theirs.counts)
        waiting = other._rows.waiting()
        self.n += other.n - waiting[0].shape[0]
        self.take(waiting)

    def closed(self) -> Closed:
        """Return what all rows add up to, without those that wait being added here."""
        sums = self._sums.copy()
        return sums.plus(self._rows.waiting()) if self._rows.filled else sums

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays by name."""
        named = {f"rows.{i}": to_numpy(block) for i, block in enumerate(self._rows.waiting())}
        named["counts"] = self._sums.counts
        for kind, (shifts, sums) in zip(KINDS, self._sums.parts):
            named |= {f"{kind}.shift.{i}": shift for i, shift in enumerate(shifts)}
            more = sums.arrays().items() if shifts else ()
            named |= {f"{kind}.{name}": array for name, array in more}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray], n: int) -> None:
        """Take the state from arrays by name; ``ValueError`` if one is missing or damaged."""
        layers, waiting = len(self._widths), len(arrays.get("rows.0", ()))
        parts = []
        for kind, (shifts, sums) in zip(KINDS, self._sums.parts):
            start = f"{kind}."
            mine = {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
            if n > waiting:
                sums.restore(mine)
                named = [(f"shift.{i}", (width,)) for i, width in enumerate(self._widths)]
                shifts = tuple(checked(mine, name, shape) for name, shape in named)
            parts.append(Shifted(shifts, sums))
        self._sums = Closed(tuple(parts), checked(arrays, "counts", (layers, layers)))
        rows = [checked(arrays, f"rows.{i}", (waiting, w)) for i, w in enumerate(self._widths)]
        self.n = n - waiting
        self.take(rows)
