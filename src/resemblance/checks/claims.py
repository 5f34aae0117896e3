"""Checks of what a measure claims, in both directions: what is claimed holds, and what holds is
claimed, as users find measures by their claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain

import numpy as np

from ..base.rng import generator
from ..contracts._measure import Measure
from ..contracts.claims import INVARIANCES, JOINT_INVARIANCES
from ..data.representation import Undefined
from .data import Triple, generic_pair, many_kinds, paths, triples
from .groups import jointly_transformed, transformed
from .hostile import SCALES, hostile_pairs
from .trial import Check, Ruling, Trial, answer

SIDES = ("m(TX, Y)", "m(X, TY)", "m(TX, SY)")
NOT_CLAIMED = "holds on all generic data: claim it, so that users can search for it"
STREAMS = "holds on all generic data: a claim of it lets the measure be streamed"
UNITS = "; the views points.unit and points.unit_rows are safe at every scale"
LOST, SMALL = 1e-6, 1e-2  # share of a value that extremes may cost; what is no value to lose from
LEVELS = (0.05, 0.3, 3.0)  # of noise, in units of the data


def claims(measure: Measure) -> dict[str, Check]:
    """Return the checks of what a measure claims, by their names."""
    checks: dict[str, Check] = {
        f"invariant to {name.replace('_', ' ')}": partial(invariance, name=name)
        for name in INVARIANCES
    }
    for name in JOINT_INVARIANCES:
        checks[f"invariant to {name.replace('_', ' ')}"] = partial(joint_invariance, name=name)
    checks |= {"symmetric": symmetry, "range": values_in_range, "identity": identity}
    checks |= {"X is most similar to X": extreme, "direction": direction}
    if "isotropic_scaling" in measure.invariant_to:
        checks["every scale"] = every_scale
    if "translation" in measure.invariant_to:
        checks["huge offset"] = huge_offset
    if measure.metric or not measure.larger_is_more_similar:
        checks["triangle inequality"] = triangle_inequality
    return checks


def invariance(trial: Trial, name: str) -> Ruling:
    """Check m(TX, SY) = m(X, Y) for generic T and S of a group."""
    is_claimed = name in trial.entry.invariant_to
    return both_ways(trial, is_claimed, partial(_change, name=name))


def joint_invariance(trial: Trial, name: str) -> Ruling:
    """Check m(TX, TY) = m(X, Y) for generic orthogonal maps T of the samples that keep means.

    Not to claim it is no failure: whoever does promises that the measure can be streamed.
    """
    ruling = both_ways(trial, name in trial.entry.invariant_to, _joint_change)
    return ("not claimed", None, STREAMS) if ruling[2] == NOT_CLAIMED else ruling


def every_scale(trial: Trial) -> Ruling:
    """Check that a claimed invariance to scaling holds where squares over- or underflow."""
    scaled = [f"{side} times {scale:g}" for scale in SCALES for side in ("X", "Y", "both")]
    extremes = ["largest", "nearly overflowing", "as far apart as can be"]
    claimed, holds, detail = _unchanged(trial, [*scaled, *extremes])
    return claimed, holds, detail and detail + UNITS


def huge_offset(trial: Trial) -> Ruling:
    """Check that of data far from the origin a measure that ignores where they are loses no more
    digits than the data."""
    return _unchanged(trial, ["huge offset"])


def symmetry(trial: Trial) -> Ruling:
    """Check m(X, Y) = m(Y, X)."""
    return both_ways(trial, trial.entry.symmetric, _asymmetry)


def values_in_range(trial: Trial) -> Ruling:
    """Check that values of related, unrelated and opposite representations are in the range."""
    low, high = trial.entry.range
    fault = ""
    for seed, what, x, other in _others(trial):
        reply = answer(trial.entry, x, other)
        slack = trial.rounding * max(1.0, abs(reply.value))
        if reply.fault or reply.value < low - slack or reply.value > high + slack:
            fault = f"m(X, {what}) {reply.fault or f'= {reply.value:.6g}'} (seed {seed})"
            break
    return f"{low:g} to {high:g}", not fault, fault


def identity(trial: Trial) -> Ruling:
    """Check that X with itself is at the end of the range, for X of many kinds."""
    m = trial.entry
    end, tries, change = m.range[m.larger_is_more_similar], 0, ""
    for kind, x in many_kinds(trial.samples):
        try:
            value = trial.value(trial.suited(x), trial.suited(x))
        except Undefined:
            continue
        tries += 1
        if not abs(value - end) <= max(1e-7, trial.rounding):  # infinite ends are none
            change = change or f"m(X, X) = {value:.6g}, not {end:g} ({kind})"
    if not tries:
        return _claimed(m.identity), None, "m(X, X) has no value for any X"
    return _ruling(m.identity, change)


def extreme(trial: Trial) -> Ruling:
    """Check that nothing is more similar to X than X."""
    m = trial.entry
    change = ""
    for seed, what, x, other in _others(trial):
        same, value = trial.value(x, x), trial.value_or_nan(x, other)
        excess = value - same if m.larger_is_more_similar else same - value
        if excess > trial.rounding * max(1.0, abs(same)):
            change = f"m(X, {what}) = {value:.6g}, m(X, X) = {same:.6g} (seed {seed})"
            break
    if change and not m.identity:
        return "not claimed", None, change
    return _claimed(m.identity), not change, change


def direction(trial: Trial) -> Ruling:
    """Check that, on average, X with much noise is less similar to X than X with a little."""
    m = trial.entry
    values = [_with_noise(trial, level) for level in LEVELS]
    step = values[-1] - values[0]
    falls = step < 0 if m.larger_is_more_similar else step > 0
    shown = ", ".join(f"{value:.4g}" for value in values)
    detail = f"m(X, X + noise) = {shown} for noise of {', '.join(map(str, LEVELS))}"
    claimed = "larger" if m.larger_is_more_similar else "smaller"
    if np.isnan(step):
        return claimed, None, "X with noise has no value"
    if trial.same(values[-1], values[0]):
        return claimed, None, f"does not respond to noise: {detail}"
    return claimed, falls, "" if falls else detail


def triangle_inequality(trial: Trial) -> Ruling:
    """Check m(X, Z) <= m(X, Y) + m(Y, Z); that no violation was found proves nothing."""
    m = trial.entry
    if m.larger_is_more_similar:
        return "claimed", False, "a similarity is no metric: set metric=False"
    violation = next(filter(None, (_violation(trial, t) for t in _triples(trial))), "")
    if m.metric:
        return "claimed", not violation, violation
    if violation:
        return "not claimed", True, violation
    return "not claimed", None, "no violation found; claim metric if it is proved"


# ------------------------------------------------------------------------------------- in both ways


def both_ways(trial: Trial, is_claimed: bool, change: Callable[[Trial], str]) -> Ruling:
    """Return the outcome of a claim, or of its absence.

    Where nothing changes on small data, wide data decide about what is not claimed, and about what
    is where small data are no wider than a parameter.
    """
    counterexample = change(trial)
    if not counterexample and not (is_claimed and trial.most < trial.features):
        wide = trial.wide()
        with suppress(ValueError):  # of a measure that refuses them
            if counterexample := change(wide):
                counterexample += f", of {wide.features} features"
    return _ruling(is_claimed, counterexample)


def _unchanged(trial: Trial, cases: list[str]) -> Ruling:
    """Check that hostile pairs have the value of the generic ones that they are made of."""
    pairs = hostile_pairs()
    before = trial.value(*map(trial.suited, pairs["generic"]))
    for case in cases:
        after = trial.value_or_nan(*map(trial.suited, pairs[case]))
        if not abs(after - before) <= LOST * max(abs(before), SMALL):
            return "claimed", False, f"{case}: {after:.8g}, not {before:.8g}"
    return "claimed", True, ""


def _ruling(is_claimed: bool, counterexample: str) -> Ruling:
    """Return the outcome of a claim that one counterexample refutes, or of its absence."""
    holds = is_claimed == (not counterexample)
    detail = counterexample or ("" if is_claimed else NOT_CLAIMED)
    return _claimed(is_claimed), holds, detail


def _claimed(is_claimed: bool) -> str:
    return "claimed" if is_claimed else "not claimed"


def _equation(changed: str, after: float, before: float, seed: int) -> str:
    value = "is refused" if np.isnan(after) else f"= {after:.6g}"
    return f"{changed} {value}, m(X, Y) = {before:.6g} (seed {seed})"


# ---------------------------------------------------------------------------------- counterexamples


def _change(trial: Trial, name: str) -> str:
    """Return the first transformation of a group that changes a value."""
    for seed in trial.seeds:
        rng = generator(seed, "members of groups")
        x, y = trial.inputs(seed)
        before = trial.value(x, y)
        for side, where in enumerate(SIDES):
            a = x if side == 1 else transformed(x, name, rng)
            b = y if side == 0 else transformed(y, name, rng)
            after = trial.value_or_nan(a, b)
            if not trial.same(after, before):
                return _equation(where, after, before, seed)
    return ""


def _asymmetry(trial: Trial) -> str:
    for seed in trial.seeds:
        x, y = trial.inputs(seed)
        forward, backward = trial.value(x, y), trial.value(y, x)
        if not trial.same(backward, forward):
            return _equation("m(Y, X)", backward, forward, seed)
    return ""


def _joint_change(trial: Trial) -> str:
    for seed in trial.seeds:
        x, y = trial.inputs(seed)
        before = trial.value(x, y)
        turned = jointly_transformed(x, y, generator(seed, "joint maps"))
        after = trial.value_or_nan(*turned)
        if not trial.same(after, before):
            return _equation("m(TX, TY)", after, before, seed)
    return ""


def _others(trial: Trial) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
    """Yield X of each seed with representations that are related, unrelated and opposite to it."""
    for seed in trial.seeds:
        x, y = generic_pair(trial.samples, seed=seed)
        noise = generator(seed, "noise").standard_normal(x.shape)
        common = noise + 2 * noise[:, :1]  # features that have something in common
        others = {"Y": y, "X": x, "noise": noise, "common noise": common, "-X": -x, "X³": x**3}
        for what, other in (others | {"X reversed": x[::-1]}).items():
            yield seed, what, trial.suited(x), trial.suited(other)


def _with_noise(trial: Trial, level: float) -> float:
    values = []
    for seed in trial.seeds:
        x, _ = generic_pair(trial.samples, seed=seed)
        noise = generator(seed, "noise of a level").standard_normal(x.shape)
        noisy = x + level * x.std(axis=0) * noise
        values.append(trial.value_or_nan(trial.suited(x), trial.suited(noisy)))
    return float(np.mean(values))


def _triples(trial: Trial) -> Iterator[Triple]:
    """Yield what distances violate the triangle inequality on, rows of probabilities where
    needed."""
    for triple in chain(triples(trial.samples), paths(trial.samples)):
        is_suited = not trial.takes_probabilities or _are_probabilities(triple)
        name, *arrays = triple
        yield triple if is_suited else Triple(name, *map(trial.suited, arrays))


def _are_probabilities(triple: Triple) -> bool:
    return all(a.min() >= 0 and np.allclose(a.sum(axis=1), 1) for a in triple[1:])


def _violation(trial: Trial, triple: Triple) -> str:
    """Return where the direct way is longer than the one over a third representation."""
    x, y, z = triple[1:]
    names = ("X", "Y", "Z"), ("Y", "Z", "X"), ("Z", "X", "Y")
    for (a, b, c), ways in zip(names, ((x, y, z), (y, z, x), (z, x, y))):
        direct, first, second = _lengths(trial, *ways)
        excess = direct - first - second
        if excess > trial.rounding * max(1.0, abs(direct)):
            return (
                f"m({a}, {c}) = {direct:.6g} > m({a}, {b}) + m({b}, {c}) = "
                f"{first + second:.6g} ({triple.name})"
            )
    return ""


def _lengths(
    trial: Trial, x: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[float, float, float]:
    """Return the direct way from x to z and its two parts over y."""
    value = trial.value_or_nan
    return value(x, z), value(x, y), value(y, z)
