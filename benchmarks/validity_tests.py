"""Studies of validity of tests: how often tests call unrelated representations, or maps of
unrelated layers, similar, and how often tests detect related representations."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

import resemblance as rs
from resemblance.data.representation import Representation
from resemblance.inference import Evidence, NullCells
from resemblance.inference.moments import exact_null, has_continuous_tail, moment_profile
from resemblance.inference.nulls import EXACT_MOMENTS
from resemblance.inference.reorder import permute_representation
from resemblance.significance.multiple_testing import step_down_max_t
from resemblance.significance.orders import Design, design_of

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
STEPS = 200  # samples of a series for the test by shifted windows
SIGNAL = 0.2  # size of the factors that two representations share; the noise has size 1
MAP_SAMPLES, MAP_WIDTH, MAP_DRAWS, MAP_SIGNAL = 80, 40, 199, 0.1
FAR = 10  # factor on the distance of an outlier from the mean

Data = tuple[np.ndarray, np.ndarray]  # the rows of X and of Y


class Key(NamedTuple):
    """Key of a number of one data set: the method, the measure, and the name of the number."""

    way: str
    measure: str
    what: str


Numbers = dict[Key, float]
Orders = Sequence[np.ndarray]


class Row(NamedTuple):
    """A number of a study: a mean over data sets, in percent for counts."""

    table: str
    case: str
    way: str
    measure: str
    what: str
    number: float
    sets: int


def percentages(study: Study, results: Sequence[Numbers]) -> list[Row]:
    """Return the percentage of data sets in which each event happened."""
    shares = {
        key: 100 * float(np.nanmean([numbers[key] for numbers in results])) for key in results[0]
    }
    return [Row(*study[:2], *key, share, len(results)) for key, share in shares.items()]


class Study(NamedTuple):
    """Many data sets of one kind: ``of_set`` measures one data set, ``summary`` summarises all data
    sets."""

    table: str
    case: str
    sets: int
    of_set: Callable[[np.random.Generator], Numbers]
    summary: Callable[[Study, Sequence[Numbers]], list[Row]] = percentages

    def measured(self, index: int) -> Numbers:
        """Return the numbers of one data set. The random numbers depend only on the study and the
        index."""
        name = f"{self.table}, {self.case}"
        return self.of_set(np.random.default_rng([zlib.crc32(name.encode()), index]))


# ------------------------------------------------------------------- p-values, as in rs.evidence


def drawn_p(
    m: rs.Measure, x: Representation, y: Representation, design: Design, orders: Orders
) -> float:
    """Return the p-value from values under permutations of the samples of y."""
    values = values_in_orders(m, [x], [y], [np.arange(x.shape[0]), *orders])[0, 0]
    sign = 1 if m.larger_is_more_similar else -1
    return design.pvalue(float(sign * values[0]), sign * values[1:])


def values_in_orders(
    m: rs.Measure, rows: Sequence[Representation], columns: Sequence[Representation], orders: Orders
) -> np.ndarray:
    """Return the values under every permutation of the samples of the columns, (rows, columns,
    orders).

    Values come from inner products if the measure depends on inner products only, otherwise from
    permuted intermediates.
    """
    if m.product is None:
        permuted = [[permute_representation(y, order) for order in orders] for y in columns]
        return np.array(
            [
                [[float(m.evaluate(x, z)) for z in permutations] for permutations in permuted]
                for x in rows
            ]
        )
    left = np.stack([m.product.matrix(x, "left") for x in rows])
    right = np.stack([m.product.matrix(y, "right") for y in columns])
    flat_left = left.reshape(len(left), -1)
    products = [flat_left @ right[:, o][:, :, o].reshape(len(right), -1).T for o in orders]
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
    """Return the p-value from exact moments, or None where moments do not describe the tail well
    enough."""
    n = x.shape[0]
    sides = moment_profile(x, m, "left"), moment_profile(y, m, "right")
    if not has_continuous_tail(*sides, n):
        return None
    return exact_null(m, float(m.evaluate(x, y)), *sides, n).pvalue


# ------------------------------------------------------------------------------- unrelated rows


def rows(rng: np.random.Generator, signal: float = 0.0, is_heavy: bool = False) -> Data:
    """Return X and Y with independent rows. ``signal`` is the size of two factors shared by X and
    Y."""
    sides = [rng.standard_normal((SAMPLES, width)) for width in WIDTHS]
    if is_heavy:
        sides = [np.exp(side) for side in sides]
    return shared(rng, (sides[0], sides[1]), signal)


def grouped(rng: np.random.Generator, labels: np.ndarray, signal: float = 0.0) -> Data:
    """Return X and Y with rows that are similar within every group, the same groups in X and Y."""
    sides = []
    for width in WIDTHS:
        centers = rng.standard_normal((labels.max() + 1, width))
        sides.append(centers[labels] + rng.standard_normal((SAMPLES, width)))
    return shared(rng, (sides[0], sides[1]), signal)


def shared(rng: np.random.Generator, data: Data, signal: float) -> Data:
    """Add two shared factors to X and Y."""
    if not signal:
        return data
    factors = rng.standard_normal((len(data[0]), 2))
    x, y = (s + signal * factors @ rng.standard_normal((2, s.shape[1])) for s in data)
    return x, y


def in_time(rng: np.random.Generator, n: int = SAMPLES) -> Data:
    """Return autoregressive series: a row is 0.8 times the previous row plus noise, with variance
    1."""
    sides = []
    for width in WIDTHS:
        side = rng.standard_normal((n + 50, width))
        for step in range(1, len(side)):
            side[step] = 0.8 * side[step - 1] + 0.6 * side[step]
        sides.append(side[50:])
    return sides[0], sides[1]


def without_means(data: Data, labels: np.ndarray) -> Data:
    """Subtract the group means from X and from Y."""
    means = [[side[labels == g].mean(axis=0) for g in np.unique(labels)] for side in data]
    x, y = (side - np.array(group_means)[labels] for side, group_means in zip(data, means))
    return x, y


def rejections(
    data: Data, rng: np.random.Generator, specs: Sequence[str], method: str, **labels: np.ndarray
) -> Numbers:
    """Return for every measure whether the permutation p-value is at most the level."""
    design = design_of(len(data[0]), n_permutations=DRAWS, seed=int(rng.integers(2**31)), **labels)
    orders = [design.order(draw) for draw in range(DRAWS)]
    x, y = map(Representation, data)
    pvalues = {spec: drawn_p(rs.get_measure(spec), x, y, design, orders) for spec in specs}
    return {Key(method, spec, "rejected"): p <= LEVEL for spec, p in pvalues.items()}


def with_moments(data: Data, decisions: Numbers, method: str = "exact moments") -> Numbers:
    """Return for every measure with exact moments whether its p-value is at most the level.

    Where a single sample dominates X and Y, permutations replace exact moments, as in
    ``rs.evidence``.
    """
    x, y = map(Representation, data)
    numbers: Numbers = {}
    for key, is_rejected in decisions.items():
        m = rs.get_measure(key.measure)
        if m.product is not None:
            p = exact_p(m, x, y)
            numbers[key._replace(way=method)] = is_rejected if p is None else p <= LEVEL
            numbers[Key(method, key.measure, "drawn instead")] = p is None
    return numbers


def free(make: Callable[[np.random.Generator], Data], rng: np.random.Generator) -> Numbers:
    """Test exchangeable rows by permutations and by exact moments."""
    data = make(rng)
    decisions = rejections(data, rng, NINE, "permutations")
    return decisions | with_moments(data, decisions)


def of_blocks(rng: np.random.Generator) -> Numbers:
    """Test rows in blocks of five similar rows, by free permutations and by permutations of
    blocks."""
    data = grouped(rng, BLOCKS)
    numbers = rejections(data, rng, FIVE, "free permutations")
    return numbers | rejections(data, rng, FIVE, "whole blocks", whole_blocks=BLOCKS)


def of_classes(rng: np.random.Generator) -> Numbers:
    """Test X and Y with the same classes, before and after subtracting the class means."""
    data = grouped(rng, CLASSES)
    numbers = rejections(data, rng, FIVE, "free permutations")
    numbers |= rejections(data, rng, FIVE, "within classes", within=CLASSES)
    residuals = without_means(data, CLASSES)
    decisions = rejections(residuals, rng, FIVE, "class means subtracted")
    return (
        numbers
        | decisions
        | with_moments(residuals, decisions, "class means subtracted, exact moments")
    )


def in_classes(rng: np.random.Generator) -> Numbers:
    """Test X and Y with the same classes and a small shared signal, by permutations within
    classes."""
    data = grouped(rng, CLASSES, SIGNAL)
    return rejections(data, rng, FIVE, "within classes", within=CLASSES)


def of_series(rng: np.random.Generator) -> Numbers:
    """Test independent time series by free permutations, by circular shifts, and by permutations of
    runs."""
    data = in_time(rng)
    numbers = rejections(data, rng, SERIES, "free permutations")
    numbers |= rejections(data, rng, SERIES, "runs of 10", whole_blocks=RUNS)
    circle = [np.roll(np.arange(SAMPLES), shift) for shift in range(1, SAMPLES)]
    x, y, design = *map(Representation, data), design_of(SAMPLES, n_permutations=DRAWS)
    for spec in SERIES:
        p = drawn_p(rs.get_measure(spec), x, y, design, circle)
        numbers[Key("circular shifts", spec, "rejected")] = p <= LEVEL
    return numbers


def of_windows(rng: np.random.Generator) -> Numbers:
    """Test independent time series by windows that are shifted against each other."""
    data, design = in_time(rng, STEPS), design_of(STEPS, time_series=True)
    measures = [rs.get_measure(spec) for spec in SERIES]
    values = np.empty((len(measures), design.total + 1))
    for draw in range(design.total + 1):
        windows = design.windows(draw)
        x, y = (Representation(side[rows]) for side, rows in zip(data, windows))
        values[:, draw] = [float(m.evaluate(x, y)) for m in measures]
    numbers: Numbers = {}
    for m, window_values in zip(measures, values):
        sign = 1 if m.larger_is_more_similar else -1
        p = design.pvalue(float(sign * window_values[0]), sign * window_values[1:])
        numbers[Key("shifted windows", m.spec, "rejected")] = p <= LEVEL
    return numbers


# --------------------------------------------------------------------------------- maps of layers


class Map(NamedTuple):
    """The layers of two models; ``is_shared`` marks the pairs of layers that share a signal."""

    rows: tuple[Representation, ...]
    columns: tuple[Representation, ...]
    is_shared: np.ndarray


def models(rng: np.random.Generator, layers: int, signal: float) -> Map:
    """Return two models with independent weights and inputs; the later halves of the layers share
    factors."""
    factors = rng.standard_normal((MAP_SAMPLES, 3))
    sides = [layers_of(rng, layers, signal * factors) for _ in range(2)]
    is_late = np.arange(layers) >= layers // 2
    return Map(*map(tuple, sides), np.outer(is_late, is_late) & (signal > 0))


def layers_of(rng: np.random.Generator, layers: int, factors: np.ndarray) -> list[Representation]:
    hidden = rng.standard_normal((MAP_SAMPLES, MAP_WIDTH))
    representations = []
    for layer in range(layers):
        hidden = np.tanh(hidden @ rng.standard_normal((MAP_WIDTH, MAP_WIDTH)) / 6)
        hidden += 0.3 * rng.standard_normal(hidden.shape)
        signal_rows = factors @ rng.standard_normal((factors.shape[1], MAP_WIDTH))
        values = hidden + signal_rows if layer >= layers // 2 else hidden
        representations.append(Representation(values, f"layer {layer}"))
    return representations


def by_moments(layer_map: Map, m: rs.Measure) -> Evidence:
    """Return evidence from exact moments, like :func:`resemblance.evidence`."""
    left = [moment_profile(x, m, "left") for x in layer_map.rows]
    right = [moment_profile(y, m, "right") for y in layer_map.columns]
    comparison = rs.compare(layer_map.rows, layer_map.columns, measures=[m], progress=False)
    values = comparison[m]
    cells = [
        [exact_null(m, values[i, j], a, b, MAP_SAMPLES) for j, b in enumerate(right)]
        for i, a in enumerate(left)
    ]
    chance, spread, p = (
        np.array([[getattr(cell, name) for cell in row] for row in cells])
        for name in ("chance", "spread", "pvalue")
    )
    draws = np.zeros((*p.shape, 0))
    return evidence_of(comparison, m, (chance, spread, p, draws), EXACT_MOMENTS, values)


def by_orders(layer_map: Map, m: rs.Measure, seed: int) -> Evidence:
    """Return evidence from permutations; all columns share the permutation of a draw."""
    design = design_of(MAP_SAMPLES, n_permutations=MAP_DRAWS, seed=seed)
    orders = [np.arange(MAP_SAMPLES), *(design.order(draw) for draw in range(MAP_DRAWS))]
    values = values_in_orders(m, layer_map.rows, layer_map.columns, orders)
    observed_values, draws = values[..., 0], values[..., 1:]
    p = np.array([[design.pvalue(float(v[0]), v[1:]) for v in row] for row in values])
    cells = draws.mean(axis=-1), draws.std(axis=-1), p, draws
    comparison = rs.compare(layer_map.rows, layer_map.columns, measures=[m], progress=False)
    return evidence_of(comparison, m, cells, "permutations", observed_values)


def evidence_of(
    comparison: rs.Comparison, m: rs.Measure, cells: Orders, method: str, values: np.ndarray
) -> Evidence:
    """Return the evidence for given chance levels, spreads, p-values and drawn values."""
    nulls = NullCells(*cells, tuple((method,) * values.shape[1] for _ in values), values)
    design = design_of(MAP_SAMPLES, n_permutations=max(1, cells[-1].shape[-1]))
    return Evidence(comparison, design, 0.95, {m.spec: nulls}, {}, False)


def all_errors(decisions: dict[str, np.ndarray], is_shared: np.ndarray) -> Numbers:
    """Return for every method the family-wise error (any unrelated pair is rejected), the false
    discovery rate (share of unrelated pairs among rejected pairs), and the power (share of rejected
    pairs among related pairs)."""
    numbers: Numbers = {}
    for method, is_rejected in decisions.items():
        n_wrong = int((is_rejected & ~is_shared).sum())
        numbers[Key(method, "", "family-wise error")] = float(n_wrong > 0)
        if is_shared.any():
            share = n_wrong / max(1, int(is_rejected.sum()))
            numbers[Key(method, "", "false discovery rate")] = share
            numbers[Key(method, "", "power")] = float(is_rejected[is_shared].mean())
    return numbers


def best_of(evidence: Evidence, m: rs.Measure) -> np.ndarray:
    """Return a mask with the best pair if the best pair is significant, otherwise an empty mask."""
    best = evidence.best(m)
    is_best = np.zeros((len(evidence.rows), len(evidence.columns)), dtype=bool)
    is_best[evidence.rows.index(best.x), evidence.columns.index(best.y)] = best.pvalue <= LEVEL
    return is_best


def small(signal: float, rng: np.random.Generator) -> Numbers:
    """Test the 36 pairs of layers of two models of six layers by all methods."""
    layer_map, m = models(rng, 6, signal), rs.get_measure("cka")
    exact = by_moments(layer_map, m)
    order_evidence = by_orders(layer_map, m, int(rng.integers(2**31)))
    nulls = order_evidence.nulls[m.spec]
    pvalues = step_down_max_t(nulls.observed.ravel(), nulls.drawn.reshape(-1, MAP_DRAWS).T)
    decisions = {
        "not adjusted, exact moments": exact.pvalue(m) <= LEVEL,
        "adjusted, exact moments (Holm)": exact.pvalue(m, adjust="familywise") <= LEVEL,
        "adjusted, permutations (step-down maxT)": order_evidence.pvalue(m, adjust="familywise")
        <= LEVEL,
        "step-down maxT of the values as they are": pvalues.reshape(nulls.pvalue.shape) <= LEVEL,
        "false discovery rate, exact moments": exact.pvalue(m, adjust="fdr") <= LEVEL,
        "false discovery rate, permutations": order_evidence.pvalue(m, adjust="fdr") <= LEVEL,
        "best, exact moments": best_of(exact, m),
        "best, permutations": best_of(order_evidence, m),
    }
    return all_errors(decisions, layer_map.is_shared)


def large(signal: float, rng: np.random.Generator) -> Numbers:
    """Test the 576 pairs of layers of two models of 24 layers by exact moments."""
    layer_map, m = models(rng, 24, signal), rs.get_measure("cka[estimator=debiased]")
    evidence = by_moments(layer_map, m)
    decisions = {
        "not adjusted, exact moments": evidence.pvalue(m) <= LEVEL,
        "adjusted, exact moments (Holm)": evidence.pvalue(m, adjust="familywise") <= LEVEL,
        "false discovery rate, exact moments": evidence.pvalue(m, adjust="fdr") <= LEVEL,
        "best, exact moments": best_of(evidence, m),
    }
    return all_errors(decisions, layer_map.is_shared)


def far(layer_map: Map, rng: np.random.Generator) -> Map:
    """Return the same map with one outlier sample per model in the later layers. If the models
    share a signal, the outlier is the same sample in the two models."""
    x_outlier = int(rng.integers(MAP_SAMPLES))
    y_outlier = x_outlier if layer_map.is_shared.any() else int(rng.integers(MAP_SAMPLES))
    sides = (
        [_with_far(r, outlier if layer >= len(side) // 2 else None) for layer, r in enumerate(side)]
        for side, outlier in ((layer_map.rows, x_outlier), (layer_map.columns, y_outlier))
    )
    return Map(*map(tuple, sides), layer_map.is_shared)


def _with_far(r: Representation, outlier: int | None) -> Representation:
    if outlier is None:
        return r
    values = np.asarray(r.source) - np.mean(r.source, axis=0)
    values[outlier] *= FAR
    return Representation(values, r.name)


def mixed(signal: float, rng: np.random.Generator) -> Numbers:
    """Test the 36 pairs of layers of two models; about 9 pairs are tested by permutations, all
    other pairs by exact moments."""
    m = rs.get_measure("cka[estimator=debiased]")
    layer_map = far(models(rng, 6, signal), rng)
    options = {"n_permutations": MAP_DRAWS, "seed": int(rng.integers(2**31)), "progress": False}
    evidence = rs.evidence(list(layer_map.rows), list(layer_map.columns), measures=[m], **options)
    decisions = {
        "not adjusted": evidence.pvalue(m) <= LEVEL,
        "adjusted": evidence.pvalue(m, adjust="familywise") <= LEVEL,
        "exact moments of all pairs (Holm)": by_moments(layer_map, m).pvalue(m, adjust="familywise")
        <= LEVEL,
    }
    return all_errors(decisions, layer_map.is_shared)


STUDIES = (
    Study("levels", "Gaussian rows", 500, partial(free, rows)),
    Study("levels", "lognormal rows", 500, partial(free, partial(rows, is_heavy=True))),
    Study("levels", "20 blocks of 5 rows", 500, of_blocks),
    Study("levels", "5 shared classes", 500, of_classes),
    Study("levels", "series", 500, of_series),
    Study("levels", "series of 200", 500, of_windows),
    Study("power", "small signal", 300, partial(free, partial(rows, signal=SIGNAL))),
    Study("power", "small signal and 5 shared classes", 300, in_classes),
)
MAPS = (
    Study("maps", "6 x 6, unrelated", 500, partial(small, 0.0)),
    Study("maps", "6 x 6, 9 pairs share a signal", 200, partial(small, MAP_SIGNAL)),
    Study("maps", "24 x 24, unrelated", 300, partial(large, 0.0)),
    Study("maps", "24 x 24, 144 pairs share a signal", 60, partial(large, MAP_SIGNAL)),
    Study("far", "6 x 6, unrelated", 400, partial(mixed, 0.0)),
    Study("far", "6 x 6, 9 pairs share a signal", 100, partial(mixed, MAP_SIGNAL)),
)
