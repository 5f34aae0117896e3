"""A representation with its samples in another order, whose intermediates are carried over.

How each intermediate moves with the samples is read off a probe, by the shape of its value, and
proved on it: the values of the measure are the same with reordered intermediates and with
intermediates of the moved array. So nothing has to be declared, also for the measures of a user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import unwrap
from itertools import chain, count
from typing import Any, NamedTuple, cast

import numpy as np

from ..base.arrays import Array, device, records_gradient, scalar
from ..base.rng import generator
from ..contracts._measure import Measure
from ..data.representation import Representation, fingerprint, replace_rows, working_values
from ..intermediates.exact_differences import shifted_gram
from ..intermediates.grams import gram_by_feature_blocks
from ..intermediates.points import is_rotated, preshape
from ..intermediates.similarities import take_rows
from .reorder import (
    AxisRule,
    Permutation,
    permute_intermediate,
    permute_pair_vector,
    read_axis_rule,
    square_from_pair_vector,
)

NARROW_PROBE_COLUMNS = 7  # of a probe with fewer columns than samples
CACHE_PROBE_PERMUTATIONS = 3  # in which a probe is compared
DATA_CHECK_PERMUTATIONS = 2  # orders in which the real data are
ROUNDING_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}  # relative difference that is rounding
# the intermediates that read the source
SOURCE_INTERMEDIATES = (unwrap(working_values), unwrap(fingerprint), unwrap(gram_by_feature_blocks))
# Intermediates of the points whose shape does not say how they move: (n, n) each where d > n.
ROWS_RULE, BOTH_AXES_RULE = AxisRule("axes", (0,)), AxisRule("axes", (0, 1))
POINT_AXIS_RULES = {unwrap(preshape): ROWS_RULE, unwrap(shifted_gram): BOTH_AXES_RULE}
UNPROBED_INTERMEDIATES = (*SOURCE_INTERMEDIATES, unwrap(shifted_gram), square_from_pair_vector)

ProbePair = tuple[Representation, Representation]


class AxisRules(NamedTuple):
    """How the intermediates that a measure takes of one representation move with its samples.

    ``of_intermediate``: the :class:`~.reorder.AxisRule` on each intermediate, by its key with the
    number of samples replaced by ``"n"``; None if the measure needs intermediates of the moved
    array. ``is_fixed``: no order changes the value.
    """

    of_intermediate: Mapping[Any, AxisRule] | None
    is_fixed: bool


NO_RULES = AxisRules(None, False)  # carries nothing


# ------------------------------------------------------------------------------------- moving


def permute_representation(
    y: Representation, order: np.ndarray | Permutation, moves: AxisRules
) -> Representation:
    """Return ``y`` with its samples in another order; its intermediates are carried over from
    ``y``.

    Row i of the result is row ``order[i]`` of ``y``; name, dtype, precision and ids are the same,
    so the rows of a stimulus move to the place of another one. An intermediate is carried when it
    is asked for, and so is the array: it is not copied for measures that need only other
    intermediates. An intermediate whose move is not known is computed from the moved array, and so
    are all intermediates if ``moves.of_intermediate`` is None or gradients are recorded.

    Raises ``ValueError`` for an order that does not hold each sample once.
    """
    permutation = order if isinstance(order, Permutation) else Permutation(order)
    if len(permutation.rows) != y.shape[0]:
        raise ValueError(
            f"reordered: an order of {len(permutation.rows)} samples for data of shape {y.shape}"
        )
    if moves.of_intermediate is None or records_gradient(y.source):
        return _permuted_array(y, permutation)
    z = replace_rows(y, _empty_like_source(y), y.ids)
    rules = moves.of_intermediate

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        # This does not refer to z, which is freed as soon as it is out of use.
        function, _ = key
        if function in SOURCE_INTERMEDIATES:
            return compute(_permuted_array(y, permutation))
        move = rules.get(key) or rules.get(_size_independent_key(key, y.shape[0]))
        move = BOTH_AXES_RULE if function is unwrap(shifted_gram) else move
        if move is None:
            return None
        value = compute(y)
        in_square = move.kind == "pairs" and isinstance(value, np.ndarray)
        return (
            permute_pair_vector(y, key, value, permutation)
            if in_square
            else permute_intermediate(move, value, permutation)
        )

    z._carry = carry
    return z


def _permuted_array(y: Representation, permutation: Permutation) -> Representation:
    # The source of a representation that was moved itself is blank.
    source = y.array if y._carry else y.source
    z = replace_rows(y, take_rows(source, permutation.rows), y.ids)

    def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
        # Any rotation will do: that of the first order saves a decomposition.
        move = POINT_AXIS_RULES.get(key[0])
        return None if move is None else permute_intermediate(move, compute(y), permutation)

    z._carry = carry if is_rotated(y) else None
    return z


def _empty_like_source(y: Representation) -> Array:
    """An array with the shape, dtype and device of the source, but without its numbers."""
    xp, kind = y.xp, y.source.dtype
    number = math.nan if xp.isdtype(kind, "real floating") else 0
    return xp.broadcast_to(xp.full((1, 1), number, dtype=kind, device=device(y.source)), y.shape)


def _size_independent_key(key: Any, n: int) -> Any:
    """Return the key of an intermediate with "n" for parameters that are the number of samples."""
    function, parameters = key
    return function, tuple((name, _replace_sample_count(value, n)) for name, value in parameters)


def _replace_sample_count(value: Any, n: int) -> Any:
    if hasattr(value, "_fields"):
        return type(value)(*(_replace_sample_count(part, n) for part in value))
    return "n" if type(value) is int and value == n else value


# ------------------------------------------------------------------------------ read and proved


@lru_cache(maxsize=512)
def find_axis_rules(measure: Measure) -> AxisRules:
    """Return how the intermediates of a measure move, read off a probe and proved on it.

    Nothing is carried for a measure that does not run on the probe: one that needs labels, or that
    lacks an optional dependency.
    """
    try:
        return _proven_axis_rules(measure)
    except Exception:  # whatever it raises here, the real data decide whether it fails
        return NO_RULES


def combine_axis_rules(moves: Iterable[AxisRules]) -> AxisRules:
    """Return the moves for measures that share moved representations.

    An intermediate on whose move two measures disagree is computed anew. Raises ``ValueError`` for
    a measure that carries nothing, whose intermediates must not be mixed with carried ones: it
    needs moved representations of its own.
    """
    members = tuple(moves)
    union: dict[Any, AxisRule] = {}
    conflicts = set()
    for rules, _ in members:
        if rules is None:
            raise ValueError(
                "merged: a measure that carries no intermediates needs moved representations of "
                "its own"
            )
        conflicts |= {key for key in rules.keys() & union.keys() if rules[key] != union[key]}
        union |= rules
    is_fixed = all(member.is_fixed for member in members)
    return AxisRules({k: union[k] for k in union.keys() - conflicts}, is_fixed)


def permuted_cache_agrees(
    measure: Measure,
    x: Representation,
    y: Representation,
    orders: Sequence[np.ndarray | Permutation],
    moves: AxisRules,
) -> bool:
    """Say whether the moves hold for this pair, as they do for the probe.

    In the first two orders of the samples of y, the values with reordered intermediates must be
    those with intermediates of the moved array, up to rounding, or neither must exist. If no order
    is to change the value, they must also be the value of the pair itself. It is False if nothing
    is claimed: no intermediate is carried, and orders may change the value.
    """
    if moves == NO_RULES:
        return False
    fixed_values = [_value_if_defined(measure, x, y)] if moves.is_fixed else []
    for order in orders[:DATA_CHECK_PERMUTATIONS]:
        permutation = order if isinstance(order, Permutation) else Permutation(order)
        expected = _value_if_defined(measure, x, permute_representation(y, permutation, NO_RULES))
        values = [
            _value_if_defined(measure, x, permute_representation(y, permutation, moves)),
            *fixed_values,
        ]
        if not all(_agrees_within_rounding(measure, expected, value, x.dtype) for value in values):
            return False
    return True


def _proven_axis_rules(measure: Measure) -> AxisRules:
    tall, *wide = _probe_arrays(measure)
    pairs, coarse = list(_comparable_probes(measure, wide)), np.maximum(np.round(tall), 0)
    shares = np.exp(tall) / np.exp(tall).sum(axis=-1, keepdims=True)
    first = next(_comparable_probes(measure, [tall, shares]))  # without any, nothing is carried
    probes = chain([first], pairs, _comparable_probes(measure, [coarse]))
    is_fixed = all(_is_permutation_invariant(measure, pair) for pair in probes)
    for has_labels in (True, False):  # some integers below n are not samples
        if _is_permuted_cache_right(
            measure, first, AxisRules(_infer_axis_rules([first], has_labels), False)
        ):
            moves = AxisRules(_infer_axis_rules([first, *pairs], has_labels), is_fixed)
            if all(_is_permuted_cache_right(measure, pair, moves) for pair in pairs):
                return moves
            break
    return AxisRules(None, is_fixed)


def _probe_arrays(measure: Measure) -> tuple[Any, ...]:
    """Return pairs of arrays with fewer columns than samples, with more, and with both.

    Their number of samples is no parameter of the measure.
    """
    parameters = {**measure.defaults, **dict(measure.parameters)}.values()
    rows = max(23, measure.min_samples + 6)
    rows += next(n_extra for n_extra in count() if rows + n_extra not in parameters)
    x, y = noise = generator(0, "probe").standard_normal((2, rows, rows + 8))
    return noise[:, :, :NARROW_PROBE_COLUMNS], noise, (x[:, :NARROW_PROBE_COLUMNS], y)


def _comparable_probes(measure: Measure, arrays: Iterable[Any]) -> Iterator[ProbePair]:
    """Yield pairs of representations that the measure has a value for."""
    pairs = ((Representation(x), Representation(y)) for x, y in arrays)
    return (pair for pair in pairs if not math.isnan(_value_if_defined(measure, *pair)))


def _infer_axis_rules(probes: Iterable[ProbePair], has_labels: bool) -> dict[Any, AxisRule]:
    """Return the moves on the intermediates that were taken of these pairs; those first met
    decide."""
    rules: dict[Any, AxisRule] = {}
    for x in (x for pair in probes for x in pair):
        (n, d), intermediates = x.shape, cast(dict[Any, Any], x.cache)
        for key, value in intermediates.items():
            move = read_axis_rule(value, n, is_wide=d > n, has_labels=has_labels)
            if move is not None and key[0] not in UNPROBED_INTERMEDIATES:
                rules.setdefault(_size_independent_key(key, n), move)
    return rules


def _is_permuted_cache_right(measure: Measure, pair: ProbePair, moves: AxisRules) -> bool:
    """Say whether reordered intermediates give the values of intermediates of the moved array, with
    one side moved and with both."""
    x, y = pair
    for first, second in zip(_draw_probe_permutations(x, "x"), _draw_probe_permutations(y, "y")):
        a, b = (
            _value_if_defined(measure, x, permute_representation(y, second, rules))
            for rules in (moves, NO_RULES)
        )
        c, d = (
            _value_if_defined(
                measure,
                permute_representation(x, first, rules),
                permute_representation(y, second, rules),
            )
            for rules in (moves, NO_RULES)
        )
        if not (_agrees_within_rounding(measure, a, b) and _agrees_within_rounding(measure, c, d)):
            return False
    return True


def _is_permutation_invariant(measure: Measure, pair: ProbePair) -> bool:
    x, y = pair
    value = _value_if_defined(measure, x, y)
    permuted_values = (
        _value_if_defined(measure, x, permute_representation(y, order, NO_RULES))
        for order in _draw_probe_permutations(y, "y")
    )
    return all(
        _agrees_within_rounding(measure, value, permuted_value)
        for permuted_value in permuted_values
    )


def _draw_probe_permutations(x: Representation, side: str) -> list[Permutation]:
    n = x.shape[0]
    draws = (generator(0, "probe order", n, draw, side) for draw in range(CACHE_PROBE_PERMUTATIONS))
    return [Permutation(draw.permutation(n)) for draw in draws]


def _value_if_defined(measure: Measure, x: Representation, y: Representation) -> float:
    """Return the value; NaN where the data leave the measure without one."""
    try:
        return scalar(measure.evaluate(x, y))
    except ValueError:
        return math.nan


def _agrees_within_rounding(
    measure: Measure, a: float, b: float, precision: str = "float64"
) -> bool:
    """Say whether two values differ by no more than rounding, or both do not exist."""
    low, high = measure.range
    tolerance = ROUNDING_TOLERANCE[precision]
    span = high - low if math.isfinite(high - low) else 0.0
    is_close = math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-3 * tolerance * span)
    return is_close or (math.isnan(a) and math.isnan(b))
