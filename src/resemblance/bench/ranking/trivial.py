"""Trivial measures, as lines in the tables of the ranking: a measure that is not ahead of a trivial
measure has found nothing about geometry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from resemblance.base.arrays import Array, euclidean_norm
from resemblance.base.rng import generator
from resemblance.contracts._measure import Measure, measure
from resemblance.data.representation import Representation
from resemblance.intermediates.points import mean_direction, size
from resemblance.statistics import participation_ratio

from ..case import Case, Part, Score, seeds_of_case
from ..grounding import apply
from ..scoring import mean_over_parts

N_GUESSES = 100


@measure(
    label="size alone", family="descriptive", citation="", larger_is_more_similar=False,
    range=(0, np.inf), metric=True, needs_pairing=False, invariant_to={"orthogonal", "translation"},
)  # fmt: skip
def size_alone(x: Representation, y: Representation) -> Array:
    r"""Size alone: the difference of the root mean square norms of the centred rows.

    .. math:: \bigl| \lVert HX \rVert_F - \lVert HY \rVert_F \bigr| / \sqrt{n}

    with H = I - 11'/n. X is (n, d), Y is (n, e). The value is in the units of the activations.
    """
    return x.xp.abs(size(x) - size(y)) / x.shape[0] ** 0.5


@measure(
    label="size after normalisation", family="descriptive", citation="",
    larger_is_more_similar=False, range=(0, 1), metric=True, needs_pairing=False,
    invariant_to={"orthogonal", "isotropic_scaling"},
)  # fmt: skip
def normalized_size_alone(x: Representation, y: Representation) -> Array:
    r"""Size after normalisation: size alone, of rows of length 1.

    .. math:: \bigl| s(X) - s(Y) \bigr|, \qquad s(X) = \sqrt{1 - \lVert \bar{u} \rVert^2}

    where :math:`\bar{u}` is the mean of the rows divided by their lengths. X is (n, d), Y is (n,
    e).
    """
    a, b = ((1 - euclidean_norm(mean_direction(r)) ** 2) for r in (x, y))
    xp = x.xp
    return xp.abs(xp.sqrt(xp.maximum(a, 0 * a)) - xp.sqrt(xp.maximum(b, 0 * b)))


@measure(
    label="dimension alone", family="descriptive", citation="gao2017theory",
    larger_is_more_similar=False, range=(0, np.inf), metric=True, needs_pairing=False,
    invariant_to={"orthogonal", "isotropic_scaling", "translation"},
)  # fmt: skip
def dimension_alone(x: Representation, y: Representation) -> float:
    """Dimension alone: the difference of the participation ratios.

    X is (n, d), Y is (n, e). See :func:`resemblance.statistics.participation_ratio`.
    """
    return abs(float(participation_ratio(x)) - float(participation_ratio(y)))


@measure(
    label="random guessing", family="descriptive", citation="", larger_is_more_similar=False,
    range=(0, 1), needs_pairing=False,
)  # fmt: skip
def random_guessing(x: Representation, y: Representation) -> float:
    """Random guessing: a random difference for every pair. :func:`guess_scores` gives the mean
    score; the function itself compares nothing."""
    raise RuntimeError("random_guessing has scores and no values: see guess_scores")


TRIVIAL_MEASURES: tuple[Measure, ...] = (
    size_alone,
    normalized_size_alone,
    dimension_alone,
    random_guessing,
)
TRIVIAL_SPECS = tuple(entry.spec for entry in TRIVIAL_MEASURES)


def is_random_guessing(entry: Measure) -> bool:
    """Return whether a measure is :func:`random_guessing`, also after a transfer to another
    process."""
    is_own = entry.function.__module__ == random_guessing.function.__module__
    return is_own and entry.spec == random_guessing.spec


def guess_scores(cases: Iterable[Case]) -> Iterator[Score]:
    """Yield a score per task for the measure :func:`random_guessing`: the mean score of random
    differences over ``N_GUESSES`` draws. All parts, and all scores without a seed, have the same
    value."""
    for case in cases:
        value = float(np.mean([_guess_score(case, draw) for draw in range(N_GUESSES)]))
        name, label = random_guessing.spec, random_guessing.label
        without = dict.fromkeys(seeds_of_case(case), value)
        parts = (value,) * len(case.parts)
        yield Score(case.test, case.cell, name, label, value, parts, without=without)


def _guess_score(case: Case, draw: int) -> float:
    rule = case.rule.of(larger_is_more_similar=False)
    values = []
    for i, part in enumerate(case.parts):
        matrix = _random_differences(part, generator(draw, "guess", *case.key, i))
        values.append(apply(rule, matrix, rule.blocks(part.expected, both_orders=False)))
    return mean_over_parts(rule, values, [part.weight for part in case.parts])


def _random_differences(part: Part, random: np.random.Generator) -> np.ndarray:
    if part.columns is not None:
        return random.random((len(part.rows), len(part.columns)))
    matrix = random.random((len(part.rows),) * 2)
    return np.triu(matrix, 1) + np.triu(matrix, 1).T
