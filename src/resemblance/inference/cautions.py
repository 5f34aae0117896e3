"""What makes chance and intervals of these data doubtful: equal rows, and samples that dominate."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..representation import Representation, as_representation
from ..significance.orders import Design
from .layout import Layout

# Of the product of both shares, times n: from there on intervals of 95 % held the expected value in
# 69 to 98 % of data with few large samples; 30 Gaussian samples of one feature rarely have as much.
DOMINANT = 2
REMEDY = (
    "copies and repeats are not independent: average them (rs.condition_means), or pass "
    "blocks=rs.equal_rows(X)"
)


def equal_rows(X: Any) -> np.ndarray:
    """Return for each sample the number of its row among the different rows, for ``blocks=``.

    ``X``: an array or representation, (n, d). Integers (n,), from 0 in the order in which the rows
    first occur; samples whose values are all equal have the same number, and -0 equals 0.

    Raises ``ValueError`` as :func:`as_representation` does.
    """
    source = to_numpy(as_representation(X).source)
    numbers = dict[bytes, int]()
    digests = (hashlib.blake2b((row + 0).tobytes(), digest_size=16).digest() for row in source)
    return np.array([numbers.setdefault(digest, len(numbers)) for digest in digests])


def cautions_of(layout: Layout, design: Design) -> tuple[str, ...]:
    """Return why chance or intervals of these data are doubtful; nothing for most data."""
    return (*_copies(layout, design), *_dominance(layout))


def _copies(layout: Layout, design: Design) -> Iterator[str]:
    """Yield how many samples are copies, on all sides or on one, unless they move as one block."""
    n, rows = layout.n, [equal_rows(r) for r in layout.all]
    blocks = np.arange(n) if design.blocks is None else design.blocks
    on_all = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(n)
    if _crosses(on_all, blocks):
        count = len(np.unique(on_all))
        yield f"{n - count} of {n} samples are copies of others: {count} distinct rows; {REMEDY}"
        return
    counts = [len(np.unique(of)) if _crosses(of, blocks) else n for of in rows]
    few = {r.name: count for r, count in zip(layout.all, counts) if 2 * count <= n}
    if few:
        words = ", ".join(f"{count} of {name}" for name, count in few.items())
        yield f"distinct rows of {n} samples: {words}; {REMEDY}"


def _crosses(rows: np.ndarray, blocks: np.ndarray) -> bool:
    """Say whether equal rows are in several blocks."""
    pairs = np.unique(np.stack([rows, blocks]), axis=1)
    return bool(len(np.unique(rows)) < pairs.shape[1])


def _dominance(layout: Layout) -> Iterator[str]:
    """Yield which sample dominates both sides of a pair, where one does."""
    shares = [_shares(r) for r in layout.all]
    pairs = [(i, j) for j in layout.movable for i in range(len(layout.rows)) if i != j]
    most = {pair: (shares[pair[0]] * shares[pair[1]]).max() for pair in pairs}
    i, j = max(most, key=lambda pair: most[pair])
    if layout.n * most[i, j] <= DOMINANT:
        return
    sample = int((shares[i] * shares[j]).argmax())
    x, y = (f"{100 * shares[k][sample]:.0f} % of {layout.all[k].name}" for k in (i, j))
    count = sum(layout.n * share > DOMINANT for share in most.values())
    rest = f"; {count} of {len(most)} pairs have such samples" if len(most) > 1 else ""
    yield (
        f"sample {sample} has {x} and {y}, in squared distances from the mean{rest}: intervals may "
        "be far too narrow, but for measures of ranks and neighbours"
    )


def _shares(x: Representation) -> np.ndarray:
    """Return the share that each sample has of the squared distances from the mean, (n,); zeros
    where there is none."""
    source = to_numpy(x.source)
    with np.errstate(all="ignore"):
        mean = source.mean(axis=0, dtype=np.float64)
        squares = np.array([np.square(row - mean).sum() for row in source])
        total = float(squares.sum())
    return squares / total if 0 < total < math.inf else np.zeros(len(squares))
