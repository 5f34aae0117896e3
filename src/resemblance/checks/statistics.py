"""Checks of the claims of a statistic of one representation, and of data that break its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..base.rng import generator
from ..contracts._statistic import Statistic
from ..contracts.claims import INVARIANCES
from .claims import MAX_LOST_SHARE, NEGLIGIBLE_VALUE, compare_claim_to_behavior
from .data import random_classifier
from .groups import apply_random_transformation
from .trial import CheckContext, CheckFunction, CheckResult, call_outcome, generic_value

# Inputs that a map of the features changes together.
FEATURE_INPUTS = ("X", "replicate", "control")
CLASS_INPUTS = ("labels", "conditions")
EXTREME_STATISTIC_SCALES = (1e-150, 1e150)
ROUNDING_FACTORS = (1.0, 0.1, 1 / 3, 0.7, 1.3)  # factors with and without rounding error
# Largest share of rounding error in a value of data with little but rounding error.
MAX_ROUNDING_SPREAD = 1e-3
REPEATED_ROW = np.array([0.3, -1.7, 0.1, 2.9, 1 / 3, 0.7])
REPEATED_DATA: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a constant": lambda x, labels: np.ones_like(x),
    "equal rows": lambda x, labels: np.tile(REPEATED_ROW, (len(x), 1)),
    "one direction": lambda x, labels: np.linspace(1, 2, len(x))[:, None] ** 2 * REPEATED_ROW,
    "copies of rows": lambda x, labels: x[np.arange(len(x)) // 10],
    "classes that are points": lambda x, labels: x[:4][labels],
    "constant columns": lambda x, labels: np.hstack(
        [x[:, :3], np.tile(REPEATED_ROW[:3], (len(x), 1))]
    ),
}


def statistic_claims(statistic: Statistic) -> dict[str, CheckFunction]:
    """Return the checks of the claims of a statistic, by name."""
    checks: dict[str, CheckFunction] = {
        f"invariant to {name.replace('_', ' ')}": partial(statistic_is_invariant, name=name)
        for name in INVARIANCES
    }
    checks["range"] = statistic_values_in_range
    if statistic.larger_is_more_stable is not None:
        checks["direction"] = damage_lowers_stability
    if "isotropic_scaling" in statistic.invariant_to:
        checks["every scale"] = statistic_at_every_scale
    if "translation" in statistic.invariant_to:
        checks["huge offset"] = statistic_at_huge_offset
    return checks


def hostile_statistic_checks(statistic: Statistic) -> dict[str, CheckFunction]:
    """Return the checks of data that break a formula of one representation, by name."""
    checks: dict[str, CheckFunction] = {"hostile: rounding": no_value_of_rounding}
    if {*CLASS_INPUTS} & {*statistic.needs}:
        checks["hostile: labels"] = hostile_labels
    return checks


# ------------------------------------------------------------------------------------------- claims


def statistic_is_invariant(trial: CheckContext, name: str) -> CheckResult:
    """Check s(TX) = s(X) for random T of the group ``name``, or that the equation fails if the
    invariance is not claimed."""
    return compare_claim_to_behavior(
        trial, name in trial.entry.invariant_to, partial(_find_change_of_statistic, name=name)
    )


def _find_change_of_statistic(trial: CheckContext, name: str) -> str:
    """Return the value before and after the first random transformation of the group ``name`` that
    changes the value, in words; "" if none does."""
    for seed in trial.seeds:
        inputs, rng = trial.inputs(seed), generator(seed, "members of groups")
        value_before = generic_value(trial, seed)
        value_after = trial.value_or_nan(
            *change_rows_together(
                trial, inputs, partial(apply_random_transformation, invariance=name, rng=rng)
            )
        )
        if not trial.same(value_after, value_before):
            value = "is refused" if math.isnan(value_after) else f"= {value_after:.6g}"
            return f"s(TX) {value}, s(X) = {value_before:.6g} (seed {seed})"
    return ""


def change_rows_together(
    trial: CheckContext, inputs: tuple[Any, ...], change: Callable[[np.ndarray], np.ndarray]
) -> tuple[Any, ...]:
    """Return new inputs in which X, ``replicate`` and ``control`` are changed together; other
    inputs stay unchanged. ``change``: called once with the stacked rows of these inputs; returns
    the changed rows. ``inputs``: X, then the further inputs of the statistic."""
    places = [i for i, name in enumerate(("X", *trial.entry.needs)) if name in FEATURE_INPUTS]
    rows = change(np.concatenate([inputs[i] for i in places]))
    parts = np.split(rows, np.cumsum([len(inputs[i]) for i in places])[:-1])
    parts_by_place = dict(zip(places, parts))
    return tuple(parts_by_place.get(i, value) for i, value in enumerate(inputs))


def statistic_values_in_range(trial: CheckContext) -> CheckResult:
    """Check that values of X, of noise, of -X and of the cubes of X are in the range."""
    low, high = trial.entry.range
    for seed in trial.seeds:
        x, *data = trial.inputs(seed)
        noise = generator(seed, "noise").standard_normal(x.shape)
        for name, variant in {"X": x, "noise": noise, "-X": -x, "X³": x**3}.items():
            reply = call_outcome(trial.entry, trial.suited(variant), *data)
            slack = trial.rounding * max(1.0, abs(reply.value))
            if reply.fault or reply.value < low - slack or reply.value > high + slack:
                detail = f"s({name}) {reply.fault or f'= {reply.value:.6g}'} (seed {seed})"
                return f"{low:g} to {high:g}", False, detail
    return f"{low:g} to {high:g}", True, ""


def damage_lowers_stability(trial: CheckContext) -> CheckResult:
    """Check that destroying the measured structure makes the statistic less stable, for the data of
    all seeds; if the effect shows for some seeds only, the check decides nothing."""
    is_larger = bool(trial.entry.larger_is_more_stable)
    claim = "larger" if is_larger else "smaller"
    is_of_trials = trial.entry.family == "trials"
    # With few features or conditions, chance similarity is high.
    trial = trial._replace(
        features=12,
        samples=max(1000 if is_of_trials else 80, trial.samples),
        classes=8 if is_of_trials else trial.classes,
    )
    pairs = []
    for seed in trial.seeds:
        inputs = trial.inputs(seed)
        pairs.append((trial.value(*inputs), trial.value_or_nan(*_destroy_structure(trial, inputs))))
    falls = [
        (value_before > value_after) == is_larger and value_before != value_after
        for value_before, value_after in pairs
    ]
    listing = "; ".join(
        f"{value_before:.4g}, then {value_after:.4g}" for value_before, value_after in pairs
    )
    detail = "" if all(falls) else f"with less of what it is about: {listing}"
    return claim, all(falls) if len(set(falls)) == 1 else None, detail


def _destroy_structure(trial: CheckContext, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return new inputs with less of the structure that the statistic measures: a discontinuous
    encoder, no common shift from the controls, later trials with the opposite sign of earlier
    trials, or every feature permuted independently. ``inputs``: X, then the further inputs of the
    statistic."""
    (x, *data), rng = inputs, generator(1, "destroyed")
    needs = dict(zip(trial.entry.needs, data))
    if "encoder" in needs:
        return x, *(
            discontinuous_encoder if name == "encoder" else value for name, value in needs.items()
        )
    if "control" in needs:
        return needs["control"].mean(axis=0) + 3 * rng.standard_normal(x.shape), *data
    if trial.entry.family == "trials" and not needs:
        return (np.where(np.arange(len(x))[:, None] < len(x) // 2, x, -x),)
    return rng.permuted(x, axis=0), *data


def discontinuous_encoder(x: np.ndarray) -> np.ndarray:
    """Return outputs in the shape of ``x`` that change completely with a very small change of an
    input."""
    return np.asarray(20 * np.sin(20 * x))


def statistic_at_every_scale(trial: CheckContext) -> CheckResult:
    """Check that a declared invariance to scaling holds where squares overflow or underflow."""
    return _statistic_keeps_value(
        trial, {f"X times {c:g}": partial(np.multiply, c) for c in EXTREME_STATISTIC_SCALES}
    )


def statistic_at_huge_offset(trial: CheckContext) -> CheckResult:
    """Check that a translation-invariant statistic of data far from the origin loses no more digits
    than the data."""
    offset = 1e6 * generator(0, "offset").standard_normal((1, trial.features))
    return _statistic_keeps_value(trial, {"huge offset": partial(np.add, offset)})


def _statistic_keeps_value(
    trial: CheckContext, changes: Mapping[str, Callable[[np.ndarray], np.ndarray]]
) -> CheckResult:
    inputs, value_before = trial.inputs(), generic_value(trial)
    for case, change in changes.items():
        value_after = trial.value_or_nan(*change_rows_together(trial, inputs, change))
        if not abs(value_after - value_before) <= MAX_LOST_SHARE * max(
            abs(value_before), NEGLIGIBLE_VALUE
        ):
            return "claimed", False, f"{case}: {value_after:.8g}, not {value_before:.8g}"
    return "claimed", True, ""


# ------------------------------------------------------------------------------------- hostile data


def inputs_from_pair(trial: CheckContext, x: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Return the arguments of a statistic, made from a hostile pair: ``x`` (n, d) is the
    representation, ``y`` (n, e) the replicate, control or projection. With controls, only the first
    min(d, e) columns are used."""
    n_shared = min(x.shape[1], y.shape[1])
    data: dict[str, Any] = dict.fromkeys(CLASS_INPUTS, np.arange(len(x)) % trial.classes)
    data |= {"replicate": y, "control": y[:, :n_shared], "encoder": np.tanh, "projection": y}
    data["classifier"] = random_classifier(trial.classes, x.shape[1])
    needs = trial.entry.needs
    return x[:, :n_shared] if "control" in needs else x, *(data[name] for name in needs)


def no_value_of_rounding(trial: CheckContext) -> CheckResult:
    """Check that degenerate data times each of several factors have either a value for every
    factor, the same value for a scale-invariant statistic, or no value for any factor. A value that
    is rounding error depends on the factor."""
    is_scaled = "isotropic_scaling" in trial.entry.invariant_to
    factors = [*ROUNDING_FACTORS, 1e-30, 1e30] if is_scaled else [*ROUNDING_FACTORS]
    if "encoder" in trial.entry.needs:  # an encoder changes with every factor
        factors = [1e-30]
    for kind in REPEATED_DATA:
        values = []
        for inputs in _repeated_inputs(trial, kind, factors):
            reply = call_outcome(trial.entry, *inputs)
            if reply.fault:
                return "", False, f"{kind}: {reply.fault}"
            values.append(reply.value)
        numbers = [value for value in values if not math.isnan(value)]
        is_same = not is_scaled or np.ptp(numbers or [0]) <= MAX_ROUNDING_SPREAD * max(
            1e-3, *map(abs, numbers), 0
        )
        if not is_same or len(numbers) not in (0, len(values)):
            listing = ", ".join(f"{v:.6g} ({c:.2g})" for v, c in zip(values, factors))
            return "", False, f"{kind}, times a number: {listing}"
    return "", True, ""


def _repeated_inputs(
    trial: CheckContext, kind: str, factors: list[float]
) -> Iterator[tuple[Any, ...]]:
    """Yield the inputs of a statistic with degenerate data, once for every factor. ``kind``: a key
    of ``REPEATED_DATA``. ``factors``: numbers that multiply X and the replicate; controls are twice
    as large."""
    inputs = dict(zip(("X", *trial.entry.needs), trial.inputs()))
    classes = next((inputs[name] for name in CLASS_INPUTS if name in inputs), None)
    if classes is None:
        classes = np.arange(trial.samples) % trial.classes
    for factor in factors:
        sizes = {"X": factor, "replicate": factor, "control": 2 * factor}
        yield tuple(
            trial.suited(sizes[name] * REPEATED_DATA[kind](value, classes[: len(value)]))
            if name in sizes
            else value
            for name, value in inputs.items()
        )


def hostile_labels(trial: CheckContext) -> CheckResult:
    """Check that a statistic returns a number in its range, or raises ``ValueError``, for four
    extreme labellings.

    The labellings are: all samples in one class; one class with a single sample; every sample in a
    separate class; two samples in every class. The labellings replace the data ``labels`` and
    ``conditions``.
    """
    (x, *data), samples = trial.inputs(), np.arange(trial.samples)
    kinds = {
        "one class": 0 * samples,
        "a class of one sample": np.where(samples == 3, trial.classes, samples % trial.classes),
        "a class for each sample": samples,
        "two samples in a class": samples // 2,
    }
    for kind, values in kinds.items():
        labels = (values if name in CLASS_INPUTS else a for name, a in zip(trial.entry.needs, data))
        if fault := call_outcome(trial.entry, x, *labels).fault:
            return "", False, f"{kind}: {fault}"
    return "", True, ""
