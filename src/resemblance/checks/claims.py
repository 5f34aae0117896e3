"""Checks of the claims of a measure, in two directions: declared properties hold, and properties
that hold are declared, because users search for measures by claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from functools import partial
from itertools import chain

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._measure import Measure
from ..contracts.claims import INVARIANCES, JOINT_INVARIANCES, implied_invariances, is_outside_range
from .data import Triple, non_metric_triples, triples_between_endpoints, varied_representations
from .groups import apply_random_transformation, rotate_samples_jointly
from .hostile import EXTREME_SCALES, hostile_outcome
from .trial import (
    CHECK_FEATURES,
    CallOutcome,
    CheckContext,
    CheckFunction,
    CheckResult,
    Outcome,
    call_outcome,
    generic_value,
    shared_by_checks,
)

TRANSFORMED_SIDES = ("m(TX, Y)", "m(X, TY)", "m(TX, SY)")
SELF = "X"  # X as its own partner
UNKNOWN_CLAIM = "unknown"  # of a plain function
SAFE_RANGES = ((0, np.inf), (-np.inf, 0), (-np.inf, np.inf))  # no data prove a finite bound
UNCLAIMED_HINT = "holds on all generic data: declare the property, so that users can search for it"
STREAMABLE_HINT = "holds on all generic data: a claim of it lets the measure be streamed"
SCALE_SAFE_HINT = "; the intermediates points.unit and points.unit_rows are safe at every scale"
# Share of a value that extreme scales may change; smaller values count as this value.
MAX_LOST_SHARE, NEGLIGIBLE_VALUE = (1e-6, 1e-2)
# Noise levels, in units of the data, and the number of draws whose mean decides the direction.
CHECK_NOISE_LEVELS, NOISE_DRAWS = (0.05, 0.3, 3.0), 3


def claim_checks(measure: Measure) -> dict[str, CheckFunction]:
    """Return the checks of the claims of a measure, by name. The checks of scale, offset and
    triangle inequality apply only to some claims."""
    checks: dict[str, CheckFunction] = {
        f"invariant to {name.replace('_', ' ')}": partial(measure_is_invariant, name=name)
        for name in INVARIANCES
    }
    for name in JOINT_INVARIANCES:
        checks[f"invariant to {name.replace('_', ' ')}"] = partial(joint_invariance, name=name)
    checks |= {
        "symmetric": symmetry,
        "range": measure_values_in_range,
        "identity": self_comparison_reaches_end,
    }
    checks |= {"X is most similar to X": self_is_most_similar, "direction": noise_lowers_similarity}
    if "isotropic_scaling" in measure.invariant_to:
        checks["every scale"] = measure_at_every_scale
    if "translation" in measure.invariant_to:
        checks["huge offset"] = measure_at_huge_offset
    if measure.metric or not measure.larger_is_more_similar:
        checks["triangle inequality"] = triangle_inequality
    return checks


def declaration(trial: CheckContext, outcomes: Iterable[Outcome]) -> str:
    """Return the decorator for a plain function, as text, with the properties that hold.
    ``outcomes``: of all checks of the function."""
    m, held = trial.entry, {o.check for o in outcomes if o.claimed == UNKNOWN_CLAIM and o.holds}
    invariances = {n for n in INVARIANCES if f"invariant to {n.replace('_', ' ')}" in held}
    needed = [n for n in INVARIANCES if n in invariances - _implied_by_others(n, invariances)]
    claims = {
        "label": m.name,
        "family": m.family,
        "citation": f"{m.name}2026",
        "larger_is_more_similar": m.larger_is_more_similar,
    }
    low, high = (f"{end:g}".replace("inf", "np.inf") for end in _fitting_range(trial))
    words = [f"{name}={value!r}" for name, value in claims.items()]
    words.append(f"range=({low}, {high})")
    words += [f"invariant_to={{{', '.join(map(repr, needed))}}}"] if needed else []
    words += [f"{name}=False" for name in ("symmetric", "identity") if name not in held]
    words += ["needs_pairing=False"] if "needs no pairing" in held else []
    return f"@rs.measure({', '.join(words)}, differentiable=False)  # range: set known bounds"


def _implied_by_others(name: str, names: Set[str]) -> set[str]:
    """Return {name} if the other names imply the invariance ``name``, otherwise the empty set."""
    return {name} & implied_invariances(names - {name})


def _fitting_range(trial: CheckContext) -> tuple[float, float]:
    """Return the narrowest range of ``SAFE_RANGES`` with all values of generic pairs, (low,
    high)."""
    replies = partner_outcomes(trial, trial.entry.range)
    values = [reply.value for _, _, reply in replies if np.isfinite(reply.value)]
    return next(
        ends
        for ends in SAFE_RANGES
        if not any(is_outside_range(v, ends, trial.rounding) for v in values)
    )


def measure_is_invariant(trial: CheckContext, name: str) -> CheckResult:
    """Check m(TX, Y) = m(X, TY) = m(TX, SY) = m(X, Y) for random T and S of the group ``name``, or
    that an equation fails if the invariance is not claimed."""
    is_claimed = name in trial.entry.invariant_to
    return compare_claim_to_behavior(trial, is_claimed, partial(_find_change_of_measure, name=name))


def joint_invariance(trial: CheckContext, name: str) -> CheckResult:
    """Check m(TX, TY) = m(X, Y) for random orthogonal maps T of the samples that keep means.

    A missing claim is no failure: the claim promises that the measure can be streamed.
    """
    ruling = compare_claim_to_behavior(trial, name in trial.entry.invariant_to, _joint_change)
    return ("not claimed", None, STREAMABLE_HINT) if ruling[2] == UNCLAIMED_HINT else ruling


def measure_at_every_scale(trial: CheckContext) -> CheckResult:
    """Check that a declared invariance to scaling holds where squares overflow or underflow."""
    scaled = [f"{side} times {scale:g}" for scale in EXTREME_SCALES for side in ("X", "Y", "both")]
    extremes = ["largest", "nearly overflowing", "as far apart as can be"]
    claim, holds, detail = _extreme_pairs_keep_value(trial, [*scaled, *extremes])
    return claim, holds, detail and detail + SCALE_SAFE_HINT


def measure_at_huge_offset(trial: CheckContext) -> CheckResult:
    """Check that a translation-invariant measure of data far from the origin loses no more digits
    than the data."""
    return _extreme_pairs_keep_value(trial, ["huge offset"])


def symmetry(trial: CheckContext) -> CheckResult:
    """Check m(X, Y) = m(Y, X), or that the equation fails if symmetry is not claimed."""
    return compare_claim_to_behavior(trial, trial.entry.symmetric, _asymmetry)


def measure_values_in_range(trial: CheckContext) -> CheckResult:
    """Check that values of related, unrelated and opposite representations are in the range. For a
    plain function, the detail names the narrowest usual range."""
    low, high = trial.entry.range
    if not trial.entry.is_declared:
        low, high = _fitting_range(trial)
    fault = ""
    for seed, name, reply in partner_outcomes(trial, trial.entry.range):
        slack = trial.rounding * max(1.0, abs(reply.value))
        if reply.fault or reply.value < low - slack or reply.value > high + slack:
            fault = f"m(X, {name}) {reply.fault or f'= {reply.value:.6g}'} (seed {seed})"
            break
    if not trial.entry.is_declared:
        detail = fault or f"all values of generic pairs are from {low:g} to {high:g}"
        return UNKNOWN_CLAIM, False if fault else None, detail
    return f"{low:g} to {high:g}", not fault, fault


def self_comparison_reaches_end(trial: CheckContext) -> CheckResult:
    """Check that X compared with itself reaches the end of the range for "identical", for X of many
    kinds, or that some X does not if identity is not claimed."""
    m = trial.entry
    ends = m.range if m.is_declared else _fitting_range(trial)
    end, n_values, change = ends[m.larger_is_more_similar], 0, ""
    trial = trial.few()
    for kind, x in varied_representations(trial.samples):
        try:
            value = trial.value(trial.suited(x), trial.suited(x))
        except UndefinedError:
            continue
        n_values += 1
        if not abs(value - end) <= max(1e-7, trial.rounding):  # an infinite end is never reached
            change = change or f"m(X, X) = {value:.6g}, not {end:g} ({kind})"
    if not n_values:
        return _claim_text(m.identity), None, "m(X, X) has no value for any X"
    return _claim_result(m.identity, change, m.is_declared)


def self_is_most_similar(trial: CheckContext) -> CheckResult:
    """Check that no representation is more similar to X than X itself. A counterexample is a
    failure only if identity is claimed."""
    m, change, self_value = trial.entry, "", np.nan
    for seed, name, reply in partner_outcomes(trial, trial.entry.range):
        value = reply.value
        if name == SELF:
            self_value = value
        excess = value - self_value if m.larger_is_more_similar else self_value - value
        if excess > trial.rounding * max(1.0, abs(self_value)):
            change = f"m(X, {name}) = {value:.6g}, m(X, X) = {self_value:.6g} (seed {seed})"
            break
    if change and not m.identity:
        return "not claimed", None, change
    return _claim_text(m.identity), not change, change


def noise_lowers_similarity(trial: CheckContext) -> CheckResult:
    """Check that, on average, X with strong noise is less similar to X than X with weak noise.
    Equal values decide nothing."""
    m = trial.entry
    values = [_add_generic_noise(trial, level) for level in CHECK_NOISE_LEVELS]
    step = values[-1] - values[0]
    falls = step < 0 if m.larger_is_more_similar else step > 0
    listing = ", ".join(f"{value:.4g}" for value in values)
    detail = f"m(X, X + noise) = {listing} for noise of {', '.join(map(str, CHECK_NOISE_LEVELS))}"
    claim = "larger" if m.larger_is_more_similar else "smaller"
    if np.isnan(step):
        return claim, None, "X with noise has no value"
    if trial.same(values[-1], values[0]):
        return claim, None, f"does not respond to noise: {detail}"
    return claim, falls, "" if falls else detail


def triangle_inequality(trial: CheckContext) -> CheckResult:
    """Check m(X, Z) <= m(X, Y) + m(Y, Z) on triples chosen to violate the inequality. Without the
    claim ``metric``, and without a violation, the check neither passes nor fails."""
    m = trial.entry
    if m.larger_is_more_similar:
        return "claimed", False, "a similarity is no metric: set metric=False"
    violation = next(
        filter(None, (_triangle_violation(trial, t) for t in _metric_test_triples(trial))), ""
    )
    if m.metric:
        return "claimed", not violation, violation
    if violation:
        return "not claimed", True, violation
    return "not claimed", None, "no violation found; declare metric=True if the property is proved"


# ------------------------------------------------------------------------------------- in both ways


def compare_claim_to_behavior(
    trial: CheckContext, is_claimed: bool, change: Callable[[CheckContext], str]
) -> CheckResult:
    """Return the outcome of a claim, or of a missing claim.

    ``change``: a function that returns a counterexample to the property in words, or "". If small
    data show no change, wide data decide about a missing claim, and about a claim if the small data
    are no wider than a parameter.
    """
    counterexample = change(trial)
    if not counterexample and not (is_claimed and trial.most < trial.features):
        wide_trial = trial.wide()
        with suppress(ValueError):  # the measure refuses wide data
            if counterexample := change(wide_trial):
                counterexample += f", of {wide_trial.features} features"
    return _claim_result(is_claimed, counterexample, trial.entry.is_declared)


def _extreme_pairs_keep_value(trial: CheckContext, cases: list[str]) -> CheckResult:
    """Check that the hostile pairs named in ``cases`` have the value of the generic pair from which
    the hostile pairs are scaled."""
    value_before = hostile_outcome(trial, "generic").value
    for case in cases:
        reply = hostile_outcome(trial, case)
        if not abs(reply.value - value_before) <= MAX_LOST_SHARE * max(
            abs(value_before), NEGLIGIBLE_VALUE
        ):
            value_after = reply.fault or f"{reply.value:.8g}"
            return "claimed", False, f"{case}: {value_after}, not {value_before:.8g}"
    return "claimed", True, ""


def _claim_result(is_claimed: bool, counterexample: str, is_declared: bool = True) -> CheckResult:
    """Return the outcome of a claim, which one counterexample refutes, or of a missing claim, which
    fails without a counterexample. ``counterexample``: in words, "" for none.

    For a plain function (``is_declared`` is False), ``holds`` of the outcome is True or None:
    whether the property holds.
    """
    if not is_declared:
        return UNKNOWN_CLAIM, None if counterexample else True, counterexample or UNCLAIMED_HINT
    holds = is_claimed == (not counterexample)
    detail = counterexample or ("" if is_claimed else UNCLAIMED_HINT)
    return _claim_text(is_claimed), holds, detail


def _claim_text(is_claimed: bool) -> str:
    return "claimed" if is_claimed else "not claimed"


def equation(expression: str, value_after: float, value_before: float, seed: int) -> str:
    """Return a counterexample in words: the expression with the value ``value_after``, or "is
    refused" for NaN, and m(X, Y) with ``value_before``."""
    value = "is refused" if np.isnan(value_after) else f"= {value_after:.6g}"
    return f"{expression} {value}, m(X, Y) = {value_before:.6g} (seed {seed})"


# ---------------------------------------------------------------------------------- counterexamples


def _find_change_of_measure(trial: CheckContext, name: str) -> str:
    """Return the first random transformation of the group ``name`` that changes the value, in
    words; "" for none."""
    for seed in trial.seeds:
        rng = generator(seed, "members of groups")
        x, y = trial.inputs(seed)
        value_before = generic_value(trial, seed)
        for side, expression in enumerate(TRANSFORMED_SIDES):
            a = x if side == 1 else apply_random_transformation(x, name, rng)
            b = y if side == 0 else apply_random_transformation(y, name, rng)
            value_after = trial.value_or_nan(a, b)
            if not trial.same(value_after, value_before):
                return equation(expression, value_after, value_before, seed)
    return ""


def _asymmetry(trial: CheckContext) -> str:
    for seed in trial.seeds:
        x, y = trial.inputs(seed)
        forward, backward = generic_value(trial, seed), trial.value(y, x)
        if not trial.same(backward, forward):
            return equation("m(Y, X)", backward, forward, seed)
    return ""


def _joint_change(trial: CheckContext) -> str:
    for seed in trial.seeds:
        x, y = trial.inputs(seed)
        value_before = generic_value(trial, seed)
        rotated_pair = rotate_samples_jointly(x, y, generator(seed, "joint maps"))
        value_after = trial.value_or_nan(*rotated_pair)
        if not trial.same(value_after, value_before):
            return equation("m(TX, TY)", value_after, value_before, seed)
    return ""


@shared_by_checks
def partner_outcomes(
    trial: CheckContext, claimed_range: tuple[float, float]
) -> list[tuple[int, str, CallOutcome]]:
    """Return (seed, name of the partner, outcome of the call) for X with several partners, for each
    seed: X itself first, then related, unrelated and opposite partners.

    Several checks share the outcomes. ``claimed_range``, (low, high), tells shared outcomes apart:
    the range decides which outcomes are faults.
    """
    return [
        (seed, name, call_outcome(trial.entry, x.copy(), partner.copy()))
        for seed, name, x, partner in _comparison_partners(trial)
    ]


def _comparison_partners(trial: CheckContext) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
    for seed in trial.seeds:
        x, y = trial.pair(trial.samples, CHECK_FEATURES, CHECK_FEATURES, seed)
        noise = generator(seed, "noise").standard_normal(x.shape)
        common = noise + 2 * noise[:, :1]  # features with a common component
        partners = {SELF: x, "Y": y, "noise": noise, "common noise": common, "-X": -x, "X³": x**3}
        for name, partner in (partners | {"X reversed": x[::-1]}).items():
            yield seed, name, trial.suited(x), trial.suited(partner)


def _add_generic_noise(trial: CheckContext, level: float) -> float:
    values = []
    for seed in range(NOISE_DRAWS):
        x, _ = trial.pair(trial.samples, CHECK_FEATURES, CHECK_FEATURES, seed)
        noise = generator(seed, "noise of a level").standard_normal(x.shape)
        noisy = x + level * x.std(axis=0) * noise
        values.append(trial.value_or_nan(trial.suited(x), trial.suited(noisy)))
    return float(np.mean(values))


def _metric_test_triples(trial: CheckContext) -> Iterator[Triple]:
    """Yield triples on which distances tend to violate the triangle inequality, as rows of
    probabilities if the measure needs probabilities."""
    for triple in chain(
        non_metric_triples(trial.samples), triples_between_endpoints(trial.samples)
    ):
        is_suited = not trial.takes_probabilities or _are_probabilities(triple)
        name, *arrays = triple
        yield triple if is_suited else Triple(name, *map(trial.suited, arrays))


def _are_probabilities(triple: Triple) -> bool:
    return all(a.min() >= 0 and np.allclose(a.sum(axis=1), 1) for a in triple[1:])


def _triangle_violation(trial: CheckContext, triple: Triple) -> str:
    """Return the violation of the triangle inequality: a direct distance longer than the way over a
    third representation; "" for none."""
    arrays, lengths = dict(zip("XYZ", triple[1:])), dict[tuple[str, str], float]()

    def length(a: str, b: str) -> float:
        """Return m(a, b), computed once. For a symmetric measure m(b, a) is reused; another check
        tests the symmetry."""
        if trial.entry.symmetric and (b, a) in lengths:
            return lengths[b, a]
        if (a, b) not in lengths:
            lengths[a, b] = trial.value_or_nan(arrays[a], arrays[b])
        return lengths[a, b]

    for a, b, c in ("XYZ", "YZX", "ZXY"):
        direct, first, second = length(a, c), length(a, b), length(b, c)
        excess = direct - first - second
        if excess > trial.rounding * max(1.0, abs(direct)):
            return (
                f"m({a}, {c}) = {direct:.6g} > m({a}, {b}) + m({b}, {c}) = "
                f"{first + second:.6g} ({triple.name})"
            )
    return ""
