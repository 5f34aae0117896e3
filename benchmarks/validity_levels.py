"""How often unrelated representations are called similar, and how often similar ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from validity_studies import Key, Numbers, Study, Tested, drawn_p, exact_p, percentages

import resemblance as rs
from resemblance.representation import Representation
from resemblance.significance.orders import design_of

LEVEL = 0.05
SAMPLES, WIDTHS, DRAWS = 100, (30, 50), 99
NINE = (
    "cka",
    "cka[estimator=debiased]",
    "cka[kernel=rbf]",
    "rsa",
    "distance_correlation",
    "mutual_knn",
    "mka[k=10]",
    "procrustes",
    "mean_cca",
)
FIVE = ("cka", "cka[estimator=debiased]", "rsa", "mutual_knn", "procrustes")
SERIES = ("cka[estimator=debiased]", "rsa[compare=pearson]", "procrustes")
CLASSES = np.repeat(np.arange(5), 20)
BLOCKS = np.repeat(np.arange(20), 5)
RUNS = np.repeat(np.arange(10), 10)
STEPS = 200  # samples of a series of which windows are shifted
SIGNAL = 0.2  # size of what two representations share, next to noise of size 1


class Data(NamedTuple):
    """The rows of X and of Y."""

    x: np.ndarray
    y: np.ndarray


# ------------------------------------------------------------------------------------- the data


def rows(rng: np.random.Generator, signal: float = 0.0, is_heavy: bool = False) -> Data:
    """Return rows that are independent of each other; ``signal``: two factors in X and in Y."""
    sides = [rng.standard_normal((SAMPLES, width)) for width in WIDTHS]
    if is_heavy:
        sides = [np.exp(side) for side in sides]
    return shared(rng, Data(*sides), signal)


def grouped(rng: np.random.Generator, labels: np.ndarray, signal: float = 0.0) -> Data:
    """Return rows that are alike in each group of both sides."""
    sides = []
    for width in WIDTHS:
        centres = rng.standard_normal((labels.max() + 1, width))
        sides.append(centres[labels] + rng.standard_normal((SAMPLES, width)))
    return shared(rng, Data(*sides), signal)


def shared(rng: np.random.Generator, data: Data, signal: float) -> Data:
    """Add two factors to both sides."""
    if not signal:
        return data
    factors = rng.standard_normal((len(data.x), 2))
    return Data(*(s + signal * factors @ rng.standard_normal((2, s.shape[1])) for s in data))


def in_time(rng: np.random.Generator, n: int = SAMPLES) -> Data:
    """Return series in which each row is 0.8 of the last one, and noise; variance 1."""
    sides = []
    for width in WIDTHS:
        side = rng.standard_normal((n + 50, width))
        for step in range(1, len(side)):
            side[step] = 0.8 * side[step - 1] + 0.6 * side[step]
        sides.append(side[50:])
    return Data(*sides)


def without_means(data: Data, labels: np.ndarray) -> Data:
    """Subtract the means of the groups."""
    means = [[side[labels == g].mean(axis=0) for g in np.unique(labels)] for side in data]
    return Data(*(side - np.array(of)[labels] for side, of in zip(data, means)))


# ------------------------------------------------------------------------------------ the tests


def rejections(
    data: Data, rng: np.random.Generator, specs: Sequence[str], way: str, **labels: np.ndarray
) -> Numbers:
    """Say for each measure whether the p-value of orders is below the level."""
    design = design_of(len(data.x), draws=DRAWS, seed=int(rng.integers(2**31)), **labels)
    orders = [design.order(draw) for draw in range(DRAWS)]
    tested = Tested(Representation(data.x), Representation(data.y), design)
    p_values = {spec: drawn_p(rs.get_measure(spec), tested, orders) for spec in specs}
    return {Key(way, spec, "rejected"): p <= LEVEL for spec, p in p_values.items()}


def with_moments(data: Data, drawn: Numbers, way: str = "exact moments") -> Numbers:
    """Say for each measure with exact moments whether their p-value is below the level.

    Where one sample dominates both sides, orders are drawn, as by ``rs.evidence``.
    """
    x, y = map(Representation, data)
    numbers: Numbers = {}
    for key, is_rejected in drawn.items():
        m = rs.get_measure(key.measure)
        if m.product is not None:
            p = exact_p(m, x, y)
            numbers[key._replace(way=way)] = is_rejected if p is None else p <= LEVEL
            numbers[Key(way, key.measure, "drawn instead")] = p is None
    return numbers


def free(make: Callable[[np.random.Generator], Data], rng: np.random.Generator) -> Numbers:
    """Test rows in any order, by orders and by exact moments."""
    data = make(rng)
    drawn = rejections(data, rng, NINE, "orders")
    return drawn | with_moments(data, drawn)


def of_blocks(rng: np.random.Generator) -> Numbers:
    """Test rows of which five at a time are alike."""
    data = grouped(rng, BLOCKS)
    numbers = rejections(data, rng, FIVE, "free orders")
    return numbers | rejections(data, rng, FIVE, "whole blocks", blocks=BLOCKS)


def of_classes(rng: np.random.Generator) -> Numbers:
    """Test rows of classes that both sides have; also without the means of the classes."""
    data = grouped(rng, CLASSES)
    numbers = rejections(data, rng, FIVE, "free orders")
    numbers |= rejections(data, rng, FIVE, "inside classes", within=CLASSES)
    rest = without_means(data, CLASSES)
    drawn = rejections(rest, rng, FIVE, "class means subtracted")
    return numbers | drawn | with_moments(rest, drawn, "class means subtracted, exact moments")


def in_classes(rng: np.random.Generator) -> Numbers:
    """Test rows of shared classes that also share a small signal."""
    data = grouped(rng, CLASSES, SIGNAL)
    return rejections(data, rng, FIVE, "inside classes", within=CLASSES)


def of_series(rng: np.random.Generator) -> Numbers:
    """Test independent series by orders, by shifts in a circle, and by runs in time."""
    data = in_time(rng)
    numbers = rejections(data, rng, SERIES, "free orders")
    numbers |= rejections(data, rng, SERIES, "runs of 10", blocks=RUNS)
    circle = [np.roll(np.arange(SAMPLES), shift) for shift in range(1, SAMPLES)]
    tested = Tested(*map(Representation, data), design_of(SAMPLES, draws=DRAWS))
    for spec in SERIES:
        p = drawn_p(rs.get_measure(spec), tested, circle)
        numbers[Key("circular shifts", spec, "rejected")] = p <= LEVEL
    return numbers


def of_windows(rng: np.random.Generator) -> Numbers:
    """Test independent series by windows that are shifted against each other."""
    data, design = in_time(rng, STEPS), design_of(STEPS, series=True)
    measures = [rs.get_measure(spec) for spec in SERIES]
    values = np.empty((len(measures), design.total + 1))
    for draw in range(design.total + 1):
        windows = design.windows(draw)
        x, y = (Representation(side[rows]) for side, rows in zip(data, windows))
        values[:, draw] = [float(m.evaluate(x, y)) for m in measures]
    numbers: Numbers = {}
    for m, of in zip(measures, values):
        sign = 1 if m.larger_is_more_similar else -1
        p = design.p_value(float(sign * of[0]), sign * of[1:])
        numbers[Key("shifted windows", m.spec, "rejected")] = p <= LEVEL
    return numbers


STUDIES = (
    Study("levels", "Gaussian rows", 500, partial(free, rows), percentages),
    Study(
        "levels", "lognormal rows", 500, partial(free, partial(rows, is_heavy=True)), percentages
    ),
    Study("levels", "20 blocks of 5 rows", 500, of_blocks, percentages),
    Study("levels", "5 shared classes", 500, of_classes, percentages),
    Study("levels", "series", 500, of_series, percentages),
    Study("levels", "series of 200", 500, of_windows, percentages),
    Study("power", "small signal", 300, partial(free, partial(rows, signal=SIGNAL)), percentages),
    Study("power", "small signal and 5 shared classes", 300, in_classes, percentages),
)
