"""What makes chance and intervals of these data doubtful: repeats, equal rows, dominant samples."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import to_numpy
from ..catalogue import get_measure
from ..inputs import stimuli_of
from ..representation import Representation, as_representation
from ..significance.orders import Design
from ..views.distances import row_blocks
from .layout import Layout

# Of the product of both shares, times n: from there on intervals of 95 % held the expected value in
# 69 to 98 % of data with few large samples; 30 Gaussian samples of one feature rarely have as much.
DOMINANT = 2
SHARE = 20  # one copy among so many samples, on all sides, is worth a word
NAMED = 3  # sides with few distinct rows are named, at most
FIRST = 16  # values of a row, by which most rows are told apart
LEVELS = 10  # different whole numbers, at most, that make rows a code of classes or ratings


def equal_rows(X: Any) -> np.ndarray:
    """Return for each sample the number of its row among the different rows, for ``blocks=``.

    ``X``: an array or representation, (n, d). Integers (n,), from 0 in the order in which the rows
    first occur; samples whose values are all equal have the same number, and -0 equals 0.

    Raises ``ValueError`` as :func:`as_representation` does.
    """
    source = to_numpy(as_representation(X).source)
    numbers, starts = dict[bytes, int](), [row.tobytes() for row in source[:, :FIRST] + 0]
    count = Counter(starts)
    keys = (start if count[start] == 1 else _digest(row) for start, row in zip(starts, source))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _digest(row: np.ndarray) -> bytes:
    return hashlib.blake2b((row + 0).tobytes(), digest_size=16).digest()


def cautions_of(layout: Layout, design: Design) -> tuple[str, ...]:
    """Return why chance or intervals of these data are doubtful; nothing for most data."""
    return (*_repeats(layout, design), *_copies(layout, design), *_dominance(layout))


def _repeats(layout: Layout, design: Design) -> Iterator[str]:
    """Yield of how many stimuli the samples are, where rows of one do not move as one block."""
    blocks = np.arange(layout.n) if design.blocks is None else design.blocks
    for ids in filter(None, (stimuli_of(r.ids) for r in layout.all)):
        numbers = {name: number for number, name in enumerate(dict.fromkeys(ids))}
        if _crosses(np.array([numbers[name] for name in ids]), blocks):
            equal = len(set(Counter(ids).values())) == 1  # blocks of one size can change places
            yield (
                f"{layout.n} samples are of {len(numbers)} stimuli: repeats of one stimulus depend "
                f"on each other; {'pass the stimulus of each sample as blocks, or ' * equal}"
                "average them (rs.condition_means)"
            )
            return


def _copies(layout: Layout, design: Design) -> Iterator[str]:
    """Yield how many samples are copies, on all sides or on one, unless they move as one block.

    Rows that are codes of classes are equal without being copies.
    """
    n, sides = layout.n, [r for r in layout.all if not _is_code(r)]
    rows = [equal_rows(r) for r in sides]
    blocks = np.arange(n) if design.blocks is None else design.blocks
    if len(sides) == len(layout.all):
        on_all = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(n)
        count = len(np.unique(on_all))
        if _crosses(on_all, blocks) and SHARE * (n - count) >= n:
            words = f"{n - count} of {n} samples are copies of others: {count} distinct rows"
            yield f"{words}; {_remedy(on_all)}"
            return
    crossing = [(r.name, of) for r, of in zip(sides, rows) if _crosses(of, blocks)]
    few = [(name, of) for name, of in crossing if 2 * len(np.unique(of)) <= n]
    if few:
        words = ", ".join(f"{len(np.unique(of))} of {name}" for name, of in few[:NAMED])
        words += f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        yield f"distinct rows of {n} samples: {words}; {_remedy(few[0][1])}"


def _is_code(x: Representation) -> bool:
    """Say whether rows are few whole numbers, as one-hot classes, labels and ratings are."""
    source = to_numpy(x.source)
    return all(_is_whole(part) for part in (source[0], source)) and (
        x.shape[1] == 1 or len(np.unique(source)) <= LEVELS
    )


def _is_whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values == np.round(values)).all())


def _remedy(rows: np.ndarray) -> str:
    """Say what to do about equal rows; blocks of one size only can change places."""
    sizes = np.unique(np.unique(rows, return_counts=True)[1])
    other = (
        "pass their numbers as blocks (rs.equal_rows)" if len(sizes) == 1 else "leave out copies"
    )
    return f"if these are repeats, not classes, average them (rs.condition_means) or {other}"


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
        blocks = (source[start:stop] - mean for start, stop in row_blocks(len(source)))
        squares = np.concatenate([np.square(block).sum(axis=1) for block in blocks])
        total = float(squares.sum())
    return squares / total if 0 < total < math.inf else np.zeros(len(squares))


class BiasedDifferenceWarning(UserWarning):
    """A difference between values of a biased estimator, whose bias depends on the widths."""


def warn_of_bias(spec: str) -> None:
    """Warn of the estimator of CKA whose bias depends on the widths."""
    if spec.partition("[")[0] != "cka":
        return
    measure = get_measure(spec)
    if {**measure.defaults, **dict(measure.parameters)}["estimator"] == "biased":
        message = (
            f"{spec} is biased, the more the wider the representations are: pairs of equal "
            "similarity and different widths differ; use cka[estimator=debiased]"
        )
        warnings.warn(message, BiasedDifferenceWarning, stacklevel=3)
