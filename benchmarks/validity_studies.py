"""What the studies of validity share: repeated data sets, what is measured on each, and means."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import resemblance as rs
from resemblance.inference.moments import exact_null, is_trusted, profile
from resemblance.inference.reordered_views import moves_of, reordered
from resemblance.representation import Representation
from resemblance.significance.orders import Design


class Key(NamedTuple):
    """What a number of one data set is: how it was made, of which measure, and its name."""

    way: str
    measure: str
    what: str


Numbers = dict[Key, float]


class Row(NamedTuple):
    """A number of a study: a mean over data sets, in percent if it counts."""

    table: str
    case: str
    way: str
    measure: str
    what: str
    number: float
    sets: int


class Study(NamedTuple):
    """Many data sets of one kind: ``of_set`` measures one of them, ``summary`` all together."""

    table: str
    case: str
    sets: int
    of_set: Callable[[np.random.Generator], Numbers]
    summary: Callable[[Study, Sequence[Numbers]], list[Row]]


def random_of(study: Study, index: int) -> np.random.Generator:
    """Return the random numbers of one data set."""
    name = f"{study.table}, {study.case}"
    return np.random.default_rng([zlib.crc32(name.encode()), index])


def percentages(study: Study, results: Sequence[Numbers]) -> list[Row]:
    """Return in how many of the data sets each thing happened."""
    rows = []
    for key in results[0]:
        share = 100 * float(np.nanmean([numbers[key] for numbers in results]))
        rows.append(Row(study.table, study.case, *key, share, len(results)))
    return rows


# --------------------------------------------------------------------- what rs.evidence computes


class Tested(NamedTuple):
    """Two representations, and how the samples of the second are reordered."""

    x: Representation
    y: Representation
    design: Design


def drawn_p(m: rs.Measure, tested: Tested, orders: Sequence[np.ndarray]) -> float:
    """Return the p-value from the values in orders of the samples of y."""
    with_identity = [np.arange(tested.x.shape[0]), *orders]
    values = values_in_orders(m, [tested.x], [tested.y], with_identity)[0, 0]
    sign = 1 if m.larger_is_more_similar else -1
    return tested.design.p_value(float(sign * values[0]), sign * values[1:])


def values_in_orders(
    m: rs.Measure,
    rows: Sequence[Representation],
    columns: Sequence[Representation],
    orders: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the values with the samples of the columns in each order, (rows, columns, orders).

    From the inner products that the measure is a function of, else from carried views.
    """
    if m.product is None:
        moves = moves_of(m)
        moving = [[reordered(y, order, moves) for order in orders] for y in columns]
        return np.array([[[float(m.evaluate(x, z)) for z in of] for of in moving] for x in rows])
    left = np.stack([m.product.matrix(x, "left") for x in rows])
    right = np.stack([m.product.matrix(y, "right") for y in columns])
    flat = left.reshape(len(left), -1)
    products = [flat @ right[:, o][:, :, o].reshape(len(right), -1).T for o in orders]
    sizes = [
        [m.product.scale(r) if m.product.scale else float(np.vdot(a, a)) for r, a in zip(*side)]
        for side in ((rows, left), (columns, right))
    ]
    values = [
        [[m.product.value(float(t[i, j]), a, b) for t in products] for j, b in enumerate(sizes[1])]
        for i, a in enumerate(sizes[0])
    ]
    return np.sqrt(values) if m.product.root else np.array(values)


def exact_p(m: rs.Measure, x: Representation, y: Representation) -> float | None:
    """Return the p-value of exact moments; None where they say too little of the tail."""
    n = x.shape[0]
    sides = profile(x, m, "left"), profile(y, m, "right")
    if not is_trusted(*sides, n):
        return None
    return exact_null(m, float(m.evaluate(x, y)), *sides, n).p
