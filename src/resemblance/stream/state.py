"""The state of a stream: sums, and buffered rows that are not yet added."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from ..base.arrays import Array, as_array_like, to_numpy
from .rows import PendingRows, rows_per_addition, unit_rows_and_pair_counts
from .sums import LayerPair, ProductSums, ShiftedSums, TriangularFactor, require_finite_array

STREAMED_ROW_KINDS = ("points", "directions")


class StreamState:
    """Sums over the rows of layers: over the points and, optionally, over the directions.

    ``counts`` is the number of rows with a direction in both layers, for every pair of layers.
    """

    def __init__(
        self,
        widths: Sequence[int],
        pairs: Sequence[LayerPair],
        method: str,
        directions: bool,
        location: Array,
    ):
        kind = ProductSums if method == "gram" else TriangularFactor
        self.n = 0
        self.counts = np.zeros((len(widths), len(widths)))
        self.parts: list[ShiftedSums] = [
            kind(widths, pairs, location) for _ in STREAMED_ROW_KINDS[: 1 + directions]
        ]
        self._widths = tuple(widths)
        self._rows = PendingRows(widths, rows_per_addition(widths, method), location)

    def take(self, sources: Sequence[Array]) -> None:
        """Add rows (n, d) of every layer, ``sources`` in the order of the layers, to the sums, or
        buffer the rows."""
        self._rows.take(sources, self._add)
        self.n += sources[0].shape[0]

    def _add(self, rows: Sequence[Array]) -> None:
        points, *directions = self.parts
        points.add(rows)
        for sums in directions:
            units, counts = unit_rows_and_pair_counts(rows)
            sums.add(units)
            self.counts = self.counts + counts

    def merge(self, other: StreamState, orders: Sequence[np.ndarray]) -> None:
        """Add the rows of another state of the same layers; the other state stays unchanged.

        ``orders``: for each layer, the columns of the other state in the order of this state, as
        positions.
        """
        for sums, other_sums in zip(self.parts, other.parts):
            sums.merge(other_sums, orders)
        self.counts = self.counts + other.counts
        pending_rows = [
            block[:, as_array_like(order, block)]
            for block, order in zip(other._rows.waiting(), orders)
        ]
        self.n += other.n - pending_rows[0].shape[0]
        self.take(pending_rows)

    def closed(self) -> StreamState:
        """Return a copy of the state with all rows added; this state keeps its buffered rows."""
        closed = copy(self)
        closed.parts = list(map(copy, self.parts))
        if self._rows.filled:
            closed._add(self._rows.waiting())
        return closed

    def shares(self, n: int) -> list[np.ndarray]:
        """Return, for each layer, the share of the variance in every column, (d,); [] with fewer
        than two samples. All buffered rows are added, and ``n`` is the number of samples of the
        state."""
        if n < 2:
            return []
        shares = []
        for layer in range(len(self._widths)):
            squares = np.square(self.parts[0].moments([layer], n).factors[0]).sum(axis=0)
            shares.append(squares / squares.sum() if squares.any() else squares)
        return shares

    def digest(self) -> str:
        """Return a hash, as text, of all numbers except the buffered rows."""
        total = hashlib.sha256(self.counts.tobytes())
        for array in (array for sums in self.parts for array in sums.arrays().values()):
            total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state, sums and buffered rows, as arrays by name."""
        arrays_by_name = {
            f"rows.{i}": to_numpy(block) for i, block in enumerate(self._rows.waiting())
        }
        arrays_by_name["counts"] = self.counts
        for kind, sums in zip(STREAMED_ROW_KINDS, self.parts):
            arrays_by_name |= {f"{kind}.{name}": array for name, array in sums.arrays().items()}
        return arrays_by_name

    def restore(self, arrays: Mapping[str, np.ndarray], n: int) -> None:
        """Set the state to ``n`` samples from the arrays of :meth:`arrays`, in place;
        ``ValueError`` for a missing or damaged array."""
        n_pending = len(arrays.get("rows.0", ()))
        for kind, sums in zip(STREAMED_ROW_KINDS, self.parts if n > n_pending else ()):
            prefix = f"{kind}."
            sum_arrays = {
                k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)
            }
            sums.restore(sum_arrays)
        self.counts = require_finite_array(arrays, "counts", self.counts.shape)
        rows = [
            require_finite_array(arrays, f"rows.{i}", (n_pending, w))
            for i, w in enumerate(self._widths)
        ]
        self.n = n - n_pending
        self.take(rows)
