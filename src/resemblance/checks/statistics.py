"""Checks of what a statistic of one representation claims, and of data that break its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..base.rng import generator
from ..contracts._statistic import Statistic
from ..contracts.claims import INVARIANCES
from .claims import LOST, SMALL, both_ways
from .groups import transformed
from .trial import Check, Ruling, Trial, answer

FEATURES = ("X", "replicate", "control")  # the inputs that a map of the features changes alike
CLASSES = ("labels", "conditions")
FAR = (1e-150, 1e150)
FACTORS = (1.0, 0.1, 1 / 3, 0.7, 1.3)  # some of which rounding leaves as they are
ALIKE = 1e-3  # share of a value that is rounding, where little but rounding is left of the data
ROW = np.array([0.3, -1.7, 0.1, 2.9, 1 / 3, 0.7])
REPEATED: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "a constant": lambda x, labels: np.ones_like(x),
    "equal rows": lambda x, labels: np.tile(ROW, (len(x), 1)),
    "one direction": lambda x, labels: np.linspace(1, 2, len(x))[:, None] ** 2 * ROW,
    "copies of rows": lambda x, labels: x[np.arange(len(x)) // 10],
    "classes that are points": lambda x, labels: x[:4][labels],
    "constant columns": lambda x, labels: np.hstack([x[:, :3], np.tile(ROW[:3], (len(x), 1))]),
}


def statistic_claims(statistic: Statistic) -> dict[str, Check]:
    """Return the checks of what a statistic claims, by their names."""
    checks: dict[str, Check] = {
        f"invariant to {name.replace('_', ' ')}": partial(invariance, name=name)
        for name in INVARIANCES
    }
    checks["range"] = values_in_range
    if statistic.larger_is_more_stable is not None:
        checks["direction"] = direction
    if "isotropic_scaling" in statistic.invariant_to:
        checks["every scale"] = every_scale
    if "translation" in statistic.invariant_to:
        checks["huge offset"] = huge_offset
    return checks


def breaking(statistic: Statistic) -> dict[str, Check]:
    """Return the checks of data that break a formula of one representation, by their names."""
    checks: dict[str, Check] = {"hostile: rounding": no_value_of_rounding}
    if {*CLASSES} & {*statistic.needs}:
        checks["hostile: labels"] = hostile_labels
    return checks


# ------------------------------------------------------------------------------------------- claims


def invariance(trial: Trial, name: str) -> Ruling:
    """Check s(TX) = s(X) for generic T of a group."""
    return both_ways(trial, name in trial.entry.invariant_to, partial(_change, name=name))


def _change(trial: Trial, name: str) -> str:
    """Return the first transformation of a group that changes a value."""
    for seed in trial.seeds:
        inputs, rng = trial.inputs(seed), generator(seed, "members of groups")
        before = trial.value(*inputs)
        after = trial.value_or_nan(
            *alike(trial, inputs, partial(transformed, invariance=name, rng=rng))
        )
        if not trial.same(after, before):
            value = "is refused" if math.isnan(after) else f"= {after:.6g}"
            return f"s(TX) {value}, s(X) = {before:.6g} (seed {seed})"
    return ""


def alike(
    trial: Trial, inputs: tuple[Any, ...], change: Callable[[np.ndarray], np.ndarray]
) -> tuple[Any, ...]:
    """Return inputs after one change of the rows of all their arrays of features together."""
    places = [i for i, name in enumerate(("X", *trial.entry.needs)) if name in FEATURES]
    rows = change(np.concatenate([inputs[i] for i in places]))
    parts = np.split(rows, np.cumsum([len(inputs[i]) for i in places])[:-1])
    changed = dict(zip(places, parts))
    return tuple(changed.get(i, value) for i, value in enumerate(inputs))


def values_in_range(trial: Trial) -> Ruling:
    """Check that values of data with classes, of noise, and of maps of both are in the range."""
    low, high = trial.entry.range
    for seed in trial.seeds:
        x, *data = trial.inputs(seed)
        noise = generator(seed, "noise").standard_normal(x.shape)
        for what, other in {"X": x, "noise": noise, "-X": -x, "X³": x**3}.items():
            reply = answer(trial.entry, trial.suited(other), *data)
            slack = trial.rounding * max(1.0, abs(reply.value))
            if reply.fault or reply.value < low - slack or reply.value > high + slack:
                detail = f"s({what}) {reply.fault or f'= {reply.value:.6g}'} (seed {seed})"
                return f"{low:g} to {high:g}", False, detail
    return f"{low:g} to {high:g}", True, ""


def direction(trial: Trial) -> Ruling:
    """Check that less of what the statistic is about makes it less stable, for data of all seeds;
    where it does so for some only, nothing is decided."""
    is_larger = bool(trial.entry.larger_is_more_stable)
    claimed = "larger" if is_larger else "smaller"
    of_trials = trial.entry.family == "trials"
    # Few features, or conditions, have much in common by chance.
    trial = trial._replace(
        features=12,
        samples=max(1000 if of_trials else 80, trial.samples),
        classes=8 if of_trials else trial.classes,
    )
    pairs = []
    for seed in trial.seeds:
        inputs = trial.inputs(seed)
        pairs.append((trial.value(*inputs), trial.value_or_nan(*_destroyed(trial, inputs))))
    falls = [(before > after) == is_larger and before != after for before, after in pairs]
    shown = "; ".join(f"{before:.4g}, then {after:.4g}" for before, after in pairs)
    detail = "" if all(falls) else f"with less of what it is about: {shown}"
    return claimed, all(falls) if len(set(falls)) == 1 else None, detail


def _destroyed(trial: Trial, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return inputs with less of what the statistic is about: each feature in an order of its own,
    no common shift from the controls, an encoder that depends on the smallest change, or later
    trials that are the opposite of the earlier ones."""
    (x, *data), rng = inputs, generator(1, "destroyed")
    needs = dict(zip(trial.entry.needs, data))
    if "encoder" in needs:
        return x, *(wild if name == "encoder" else value for name, value in needs.items())
    if "control" in needs:
        return needs["control"].mean(axis=0) + 3 * rng.standard_normal(x.shape), *data
    if trial.entry.family == "trials" and not needs:
        return (np.where(np.arange(len(x))[:, None] < len(x) // 2, x, -x),)
    return rng.permuted(x, axis=0), *data


def wild(x: np.ndarray) -> np.ndarray:
    """Return what the smallest change of an input changes wholly."""
    return np.asarray(20 * np.sin(20 * x))


def every_scale(trial: Trial) -> Ruling:
    """Check that a claimed invariance to scaling holds where squares over- or underflow."""
    return _unchanged(trial, {f"X times {c:g}": partial(np.multiply, c) for c in FAR})


def huge_offset(trial: Trial) -> Ruling:
    """Check that of data far from the origin a statistic that ignores where they are loses no more
    digits than the data."""
    offset = 1e6 * generator(0, "offset").standard_normal((1, trial.features))
    return _unchanged(trial, {"huge offset": partial(np.add, offset)})


def _unchanged(trial: Trial, changes: Mapping[str, Callable[[np.ndarray], np.ndarray]]) -> Ruling:
    inputs = trial.inputs()
    before = trial.value(*inputs)
    for case, change in changes.items():
        after = trial.value_or_nan(*alike(trial, inputs, change))
        if not abs(after - before) <= LOST * max(abs(before), SMALL):
            return "claimed", False, f"{case}: {after:.8g}, not {before:.8g}"
    return "claimed", True, ""


# ------------------------------------------------------------------------------------- hostile data


def of_pair(trial: Trial, x: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Return what a statistic is called with, of two arrays that break formulas."""
    shared = min(x.shape[1], y.shape[1])
    data: dict[str, Any] = dict.fromkeys(CLASSES, np.arange(len(x)) % trial.classes)
    data |= {"replicate": y, "control": y[:, :shared], "encoder": np.tanh}
    needs = trial.entry.needs
    return x[:, :shared] if "control" in needs else x, *(data[name] for name in needs)


def no_value_of_rounding(trial: Trial) -> Ruling:
    """Check that data which repeat themselves have a value, the same one if scale changes nothing,
    or have none, whatever number they are multiplied with: the mean of 0.1 is off by rounding."""
    is_scaled = "isotropic_scaling" in trial.entry.invariant_to
    factors = [*FACTORS, 1e-30, 1e30] if is_scaled else [*FACTORS]
    if "encoder" in trial.entry.needs:  # which makes something else of every number
        factors = [1e-30]
    for kind in REPEATED:
        values = []
        for inputs in _repeated(trial, kind, factors):
            reply = answer(trial.entry, *inputs)
            if reply.fault:
                return "", False, f"{kind}: {reply.fault}"
            values.append(reply.value)
        known = [value for value in values if not math.isnan(value)]
        is_same = not is_scaled or np.ptp(known or [0]) <= ALIKE * max(1e-3, *map(abs, known), 0)
        if not is_same or len(known) not in (0, len(values)):
            shown = ", ".join(f"{v:.6g} ({c:.2g})" for v, c in zip(values, factors))
            return "", False, f"{kind}, times a number: {shown}"
    return "", True, ""


def _repeated(trial: Trial, kind: str, factors: list[float]) -> Iterator[tuple[Any, ...]]:
    """Yield inputs that repeat themselves, times each factor; controls have twice their size."""
    inputs = dict(zip(("X", *trial.entry.needs), trial.inputs()))
    classes = next((inputs[name] for name in CLASSES if name in inputs), None)
    if classes is None:
        classes = np.arange(trial.samples) % trial.classes
    for factor in factors:
        sizes = {"X": factor, "replicate": factor, "control": 2 * factor}
        yield tuple(
            trial.suited(sizes[name] * REPEATED[kind](value, classes[: len(value)]))
            if name in sizes
            else value
            for name, value in inputs.items()
        )


def hostile_labels(trial: Trial) -> Ruling:
    """Check that labels of one class, of classes of one sample, and of as many classes as samples
    have a number in the range, or a reason why not."""
    (x, *data), samples = trial.inputs(), np.arange(trial.samples)
    kinds = {
        "one class": 0 * samples,
        "a class of one sample": np.where(samples == 3, trial.classes, samples % trial.classes),
        "a class for each sample": samples,
        "two samples in a class": samples // 2,
    }
    for kind, values in kinds.items():
        labels = (values if name in CLASSES else a for name, a in zip(trial.entry.needs, data))
        if fault := answer(trial.entry, x, *labels).fault:
            return "", False, f"{kind}: {fault}"
    return "", True, ""
