"""Checks of how a measure behaves as a function: what it depends on, what it changes, how it
travels."""

from __future__ import annotations

import pickle
import random
import sys
import time
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..representation import Representation
from ..rng import generator
from ..user_modules import OWN_MODULE, restore
from .data import generic_pair
from .trial import Check, Ruling, Trial, answer, in_words, reordered, strictly

SINGLE = 1e-4  # what rounding the data to single precision may change
NOT_INSTALLED = ("ImportError", "ModuleNotFoundError")  # which is no fault of a variant
SLOW = 1.0  # seconds for a pair of small representations


def behaviour() -> dict[str, Check]:
    """Return the checks of what every measure has without claiming it, by their names."""
    return {
        "order of samples": order_of_samples,
        "inputs unchanged": inputs_unchanged,
        "same value cold and warm": cold_and_warm,
        "float32": single_precision,
        "deterministic": deterministic,
        "global generator untouched": global_generator,
        "different widths": different_widths,
        "few samples": fewest_samples,
        "variants": variants,
        "pickles": pickles,
        "documented": documented,
        "speed": speed,
    }


def order_of_samples(trial: Trial) -> Ruling:
    """Check that another order of the samples, of both sides alike, changes nothing."""
    x, y = trial.pair()
    before = trial.value(x, y)
    order = generator(1, "order").permutation(len(x))
    measure = reordered(trial.measure, order.tolist())
    after = trial._replace(measure=measure).value(x[order], y[order])
    detail = f"m(X, Y) = {before:.6g}, reordered {after:.6g}"
    if abs(after - before) <= max(1e-7, trial.rounding) * max(1, abs(before)):
        return "", True, ""
    if draws(trial):  # for positions, so that another order is another draw
        return "", None, f"draws for each position: {detail}"
    return "", False, detail


def draws(trial: Trial) -> bool:
    """Say whether another seed gives another value."""
    m = trial.measure
    if "seed" not in m.defaults:
        return False
    seed = int({**m.defaults, **dict(m.parameters)}["seed"])
    another = trial._replace(measure=m.where(seed=seed + 1))
    return another.value(*trial.pair()) != trial.value(*trial.pair())


def inputs_unchanged(trial: Trial) -> Ruling:
    """Check that arrays which cannot be written to are enough, and others stay as they are."""
    x, y = trial.pair()
    inputs = [(x.copy(), y.copy()) for _ in range(2)]
    for array in inputs[1]:
        array.flags.writeable = False
    for a, b in inputs:
        reply = answer(trial.measure, a, b)
        if np.isnan(reply.value):
            return "", False, reply.fault or reply.refusal
        changed = [name for name, new, old in (("X", a, x), ("Y", b, y)) if (new != old).any()]
        if changed:
            return "", False, f"writes into {' and '.join(changed)}"
    return "", True, ""


def cold_and_warm(trial: Trial) -> Ruling:
    """Check that the value is the same, to the last bit, whether views are remembered or not."""
    x, y = trial.pair()
    if trial.value(x, y) != trial.value(x, y):
        return "", None, "not deterministic"
    a, b = Representation(x.copy()), Representation(y.copy())
    arguments = (x.copy(), y.copy()), (a, b), (a, b)
    with strictly():
        values = [float(trial.measure(*pair)) for pair in arguments]
    detail = "cold {:.17g}, first {:.17g}, warm {:.17g}".format(*values)
    return ("", len(set(values)) == 1, "" if len(set(values)) == 1 else detail)


def single_precision(trial: Trial) -> Ruling:
    """Check that rounding the data to single precision changes the value no more than that."""
    x, y = trial.pair()
    double, single = trial.value(x, y), trial.value(x.astype(np.float32), y.astype(np.float32))
    holds = abs(single - double) <= SINGLE * max(1.0, abs(double))
    detail = f"of float32 {single:.8g}, of float64 {double:.8g}"
    return "", holds, "" if holds else detail


def deterministic(trial: Trial) -> Ruling:
    """Check that the same arguments give the same value."""
    x, y = trial.pair()
    values = [trial.value(x, y) for _ in range(3)]
    same = len(set(values)) == 1
    detail = "" if same else f"{values[0]:.17g}, then {values[1]:.17g}, {values[2]:.17g}"
    if trial.measure.deterministic:
        return "claimed", same, detail
    return "not claimed", None, detail or "the same three times"


def global_generator(trial: Trial) -> Ruling:
    """Check that the random numbers of other programs are left alone."""
    ours, standard = np.random.get_state(), random.getstate()  # noqa: NPY002 - what is checked
    try:
        np.random.seed(5)  # noqa: NPY002
        random.seed(5)
        before = _drawn()
        np.random.seed(5)  # noqa: NPY002
        random.seed(5)
        trial.value(*trial.pair())
        touched = _drawn() != before
    finally:
        np.random.set_state(ours)  # noqa: NPY002
        random.setstate(standard)
    detail = "draws from or seeds it: use resemblance.rng.generator(seed, ...)" if touched else ""
    return "", not touched, detail


def _drawn() -> tuple[float, float]:
    return np.random.random(), random.random()  # noqa: NPY002


def different_widths(trial: Trial) -> Ruling:
    """Check that representations of two widths have a value, in both orders, or are refused."""
    x, y = map(trial.suited, generic_pair(trial.samples, d=4, e=7))
    forward, backward = answer(trial.measure, x, y), answer(trial.measure, y, x)
    claimed = ""
    if fault := forward.fault or backward.fault:
        return claimed, False, f"widths 4 and 7: {fault}"
    if forward.refusal or backward.refusal:
        return claimed, True, forward.refusal or backward.refusal
    if trial.measure.symmetric and not trial.same(backward.value, forward.value):
        detail = f"m(X, Y) = {forward.value:.6g}, m(Y, X) = {backward.value:.6g}"
        return claimed, False, f"symmetric, but of widths 4 and 7 {detail}"
    return claimed, True, ""


def fewest_samples(trial: Trial) -> Ruling:
    """Check that from the smallest number of samples on there is a value, or a reason why not."""
    fewest = trial.measure.min_samples
    for n in range(max(1, fewest - 1), fewest + 4):
        x, y = map(trial.suited, generic_pair(n))
        reply = answer(trial.measure, x, y)
        if reply.fault or (n < fewest and not reply.refusal):
            detail = f"{n} samples: {reply.fault or 'not refused'}"
            return f"at least {fewest}", False, detail
    return f"at least {fewest}", True, ""


# --------------------------------------------------------------------------------------- as a thing


def variants(trial: Trial) -> Ruling:
    """Check that the measure takes every choice of every parameter, and itself its defaults."""
    total = 0
    for parameters in _choices(trial):
        variant, total = trial.measure.where(**parameters), total + 1
        fault = answer(variant, *trial.pair()).fault
        if fault and not fault.startswith(NOT_INSTALLED):
            return "", False, f"{variant}: {fault}"
    if not total:
        return "", None, "it has no parameters"
    return "", True, ""


def _choices(trial: Trial) -> Iterator[dict[str, Any]]:
    """Yield each choice of each parameter, and each other parameter as it is."""
    m = trial.measure
    hints, values = typing.get_type_hints(m.function), {**m.defaults, **dict(m.parameters)}
    for name in m.defaults.keys() - {"labels"}:
        choices = (False, True) if hints.get(name) is bool else m.choices.get(name, (values[name],))
        yield from ({name: choice} for choice in choices)


def pickles(trial: Trial) -> Ruling:
    """Check that a worker process can have the measure, from a user's file by loading it anew."""
    m = trial.measure
    try:
        copy = pickle.loads(pickle.dumps(m))
        _, (module, name, parameters, file) = m.__reduce__()
        if module.startswith(OWN_MODULE):
            copy = _loaded_anew(f"{module}_anew", name, parameters, file)
    except Exception as error:
        return "", False, in_words(error, trial.measure)
    value, original = (trial._replace(measure=n).value(*trial.pair()) for n in (copy, m))
    holds = copy.spec == m.spec and trial.same(value, original)
    return "", holds, "" if holds else f"comes back as {copy}, {value:.6g}"


def _loaded_anew(module: str, name: str, parameters: Any, file: str | None) -> Any:
    """Return the measure as a worker gets it, who has not run the file."""
    try:
        return restore(module, name, parameters, file)
    finally:
        sys.modules.pop(module, None)


def documented(trial: Trial) -> Ruling:
    """Check that there is a sentence that says what the measure is, and a reference."""
    m = trial.measure
    missing = [
        what for what, text in (("docstring", m.summary), ("reference", m.reference)) if not text
    ]
    detail = f"no {' and no '.join(missing)}" if missing else ""
    return "", None if missing else True, detail


def speed(trial: Trial) -> Ruling:
    """Report how long a pair takes; slow is not wrong."""
    x, y = trial.pair()
    start = time.perf_counter()
    trial.value(x, y)
    seconds = time.perf_counter() - start
    detail = f"{seconds:.2g} s a pair of {len(x)} samples"
    return "", True if seconds < SLOW else None, detail
