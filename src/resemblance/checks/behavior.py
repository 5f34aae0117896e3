"""Checks of the behavior of a measure or statistic as a function: dependencies, side effects, and
transfer to other processes."""

from __future__ import annotations

import math
import pickle
import random
import sys
import time
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..base.rng import generator
from ..base.user_modules import USER_MODULE_PREFIX
from ..contracts._measure import Measure
from ..data.representation import Representation
from .data import with_repeats
from .trial import (
    CheckContext,
    CheckFunction,
    CheckResult,
    call_outcome,
    copy_if_array,
    format_user_error,
    generic_value,
    input_names,
    is_matrix,
    permute_context_samples,
    warnings_as_errors,
)

MAX_SINGLE_PRECISION_CHANGE = 1e-4  # largest change from rounding the data to single precision
NEAR_OFFSET, FAR_OFFSET = 1e5, 1e8  # offsets that keep all digits that count
# share of a value that a larger offset may change, as the value tends to a limit
MAX_OFFSET_CHANGE = 0.02
OFFSET_STEP = 3.0  # added to the far offset: all differences stay, but products round differently
MAX_ROUNDING_SHARE = 1e-3  # largest share of rounding error in a value
LOST_DIGITS_REMEDY = "centre inside, or raise rs.UndefinedError"
IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")  # a missing library is no fault of a variant
MAX_PAIR_SECONDS = 1.0  # most seconds for a pair of small representations


def behavior_checks() -> dict[str, CheckFunction]:
    """Return the checks, by name, of properties that every measure and statistic must have without
    a claim."""
    return {
        "order of samples": order_of_samples,
        "inputs unchanged": inputs_unchanged,
        "same value cold and warm": same_with_and_without_cache,
        "float32": stable_in_single_precision,
        "lost digits": lost_digits,
        "deterministic": is_deterministic,
        "global generator untouched": global_generator,
        "few samples": handles_few_samples,
        "variants": takes_every_parameter_choice,
        "pickles": survives_pickling,
        "documented": has_documentation,
        "speed": report_speed,
    }


def order_of_samples(trial: CheckContext) -> CheckResult:
    """Check that the value stays the same if the samples of all inputs are permuted together. A
    random measure that draws a number for each position decides nothing."""
    value_before = generic_value(trial)
    order = generator(1, "order").permutation(trial.samples)
    permuted_trial, inputs = permute_context_samples(trial, order, trial.inputs())
    value_after = permuted_trial.value(*inputs)
    detail = f"m(X, Y) = {value_before:.6g}, reordered {value_after:.6g}"
    if abs(value_after - value_before) <= max(1e-7, trial.rounding) * max(1, abs(value_before)):
        return "", True, ""
    # random numbers belong to positions, so a permutation changes the draw
    if depends_on_sample_positions(trial):
        return "", None, f"draws for each position: {detail}"
    return "", False, detail


def depends_on_sample_positions(trial: CheckContext) -> bool:
    """Return whether another seed gives another value; False for a function without ``seed``."""
    m = trial.entry
    if "seed" not in m.defaults:
        return False
    seed = int({**m.defaults, **dict(m.parameters)}["seed"])
    reseeded_trial = trial._replace(entry=m.with_parameters(seed=seed + 1))
    return reseeded_trial.value(*trial.inputs()) != generic_value(trial)


def inputs_unchanged(trial: CheckContext) -> CheckResult:
    """Check that the function accepts read-only arrays, and does not change writable arrays."""
    original = trial.inputs()
    for is_writable in (True, False):
        inputs = tuple(map(copy_if_array, original))
        for array in inputs:
            if isinstance(array, np.ndarray):
                array.flags.writeable = is_writable
        reply = call_outcome(trial.entry, *inputs)
        if np.isnan(reply.value):
            return "", False, reply.fault or reply.refusal
        changed_names = [
            name
            for name, new, old in zip(input_names(trial.entry), inputs, original)
            if np.any(new != old)
        ]
        if changed_names:
            return "", False, f"writes into {' and '.join(changed_names)}"
    return "", True, ""


def same_with_and_without_cache(trial: CheckContext) -> CheckResult:
    """Check that the value is the same, to the last bit, with and without cached intermediates. A
    random function decides nothing."""
    inputs = trial.inputs()
    if generic_value(trial) != trial.value(*inputs):
        return "", None, "not deterministic"
    arrays = [with_repeats(trial.entry, copy_if_array(a)) for a in inputs]
    intermediates = [
        with_repeats(trial.entry, Representation(a.copy())) if is_matrix(a) else a for a in inputs
    ]
    with warnings_as_errors():
        values = [
            float(trial.entry(*arguments)) for arguments in (arrays, intermediates, intermediates)
        ]
    detail = "cold {:.17g}, first {:.17g}, warm {:.17g}".format(*values)
    return ("", len(set(values)) == 1, "" if len(set(values)) == 1 else detail)


def stable_in_single_precision(trial: CheckContext) -> CheckResult:
    """Check that rounding the data to single precision changes the value by at most 1e-4, relative
    to the value or to 1."""
    inputs = trial.inputs()
    rounded = (a.astype(np.float32) if is_matrix(a) else a for a in inputs)
    double, single = generic_value(trial), trial.value(*rounded)
    holds = abs(single - double) <= MAX_SINGLE_PRECISION_CHANGE * max(1.0, abs(double))
    detail = f"of float32 {single:.8g}, of float64 {double:.8g}"
    return "", holds, "" if holds else detail


def lost_digits(trial: CheckContext) -> CheckResult:
    """Check that data far from the origin, in one feature or in all features, give a value with
    enough digits or a refusal.

    If translations affect the measure, the value may change with the offset; the check then decides
    nothing. But the value may not reach "identical", and may not change when only the rounding
    changes.
    """
    inputs, follows = trial.inputs(), ""
    is_fixed = getattr(trial.entry, "deterministic", True)
    for place, columns in {"one feature": slice(0, 1), "all features": slice(None)}.items():
        near, far, redrawn = (
            call_outcome(trial.entry, *_with_offset(inputs, columns, offset))
            for offset in (NEAR_OFFSET, FAR_OFFSET, FAR_OFFSET + OFFSET_STEP)
        )
        if fault := near.fault or far.fault:
            return "", False, f"an offset of {NEAR_OFFSET:g} or {FAR_OFFSET:g}: {fault}"
        if _differ(far.value, redrawn.value, MAX_ROUNDING_SHARE) and is_fixed:
            detail = f"{far.value:.4g} and {redrawn.value:.4g} with offsets of {FAR_OFFSET:g} and"
            detail = f"{detail} {FAR_OFFSET + OFFSET_STEP:.10g} in {place}: the value is rounding"
            return "", False, f"{detail}; {LOST_DIGITS_REMEDY}"
        if not _differ(near.value, far.value, MAX_OFFSET_CHANGE):
            continue
        detail = f"{near.value:.4g} with an offset of {NEAR_OFFSET:g} in {place}"
        detail = f"{detail}, {far.value:.4g} with {FAR_OFFSET:g}"
        if "translation" in trial.entry.invariant_to or _is_most_similar(trial, far.value):
            return "", False, f"{detail}; {LOST_DIGITS_REMEDY}"
        follows = follows or f"{detail}: the value follows the offset"
    return "", None if follows else True, follows


def _differ(a: float, b: float, share: float) -> bool:
    """Return whether two values differ by more than ``share`` times the first value, or times 0.1
    for a smaller first value; False for NaN (a refusal)."""
    return abs(a - b) > share * max(abs(a), 0.1)


def _is_most_similar(trial: CheckContext, value: float) -> bool:
    """Return whether a value is the finite end of the range for identical representations; False
    for a statistic."""
    m = trial.entry
    if not isinstance(m, Measure):
        return False
    end = m.range[1 if m.larger_is_more_similar else 0]
    return math.isfinite(end) and trial.same(value, end)


def _with_offset(inputs: tuple[Any, ...], columns: slice, offset: float) -> tuple[Any, ...]:
    """Return the inputs, with an offset added to the columns ``columns`` in copies of all feature
    arrays; other inputs are returned unchanged."""
    shifted = tuple(a.copy() if is_matrix(a) else a for a in inputs)
    for array in shifted:
        if is_matrix(array):
            array[:, columns] += offset
    return shifted


def is_deterministic(trial: CheckContext) -> CheckResult:
    """Check that the same arguments give the same value three times; decide nothing for a measure
    that is declared random."""
    values = [generic_value(trial), *(trial.value(*trial.inputs()) for _ in range(2))]
    is_same = len(set(values)) == 1
    detail = "" if is_same else f"{values[0]:.17g}, then {values[1]:.17g}, {values[2]:.17g}"
    if isinstance(trial.entry, Measure) and not trial.entry.deterministic:
        return "not claimed", None, detail or "the same three times"
    return "claimed", is_same, detail


def global_generator(trial: CheckContext) -> CheckResult:
    """Check that the function neither draws from nor seeds the global random generators of NumPy
    and Python."""
    numpy_state, random_state = np.random.get_state(), random.getstate()  # noqa: NPY002 - what is checked
    try:
        np.random.seed(5)  # noqa: NPY002
        random.seed(5)
        numbers = _global_random_numbers()
        np.random.seed(5)  # noqa: NPY002
        random.seed(5)
        trial.value(*trial.inputs())
        is_touched = _global_random_numbers() != numbers
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(random_state)
    detail = "draws from or seeds it: use base.rng.generator(seed, ...)" if is_touched else ""
    return "", not is_touched, detail


def _global_random_numbers() -> tuple[float, float]:
    return np.random.random(), random.random()  # noqa: NPY002


def different_widths(trial: CheckContext) -> CheckResult:
    """Check that representations of widths 4 and 7 have a value, in both orders, or are refused. A
    symmetric measure has the same value in both orders."""
    x, y = trial.pair(trial.samples, 4, 7)
    forward, backward = call_outcome(trial.entry, x, y), call_outcome(trial.entry, y, x)
    claim = ""
    if fault := forward.fault or backward.fault:
        return claim, False, f"widths 4 and 7: {fault}"
    if forward.refusal or backward.refusal:
        return claim, True, forward.refusal or backward.refusal
    if trial.entry.symmetric and not trial.same(backward.value, forward.value):
        detail = f"m(X, Y) = {forward.value:.6g}, m(Y, X) = {backward.value:.6g}"
        return claim, False, f"symmetric, but of widths 4 and 7 {detail}"
    return claim, True, ""


def handles_few_samples(trial: CheckContext) -> CheckResult:
    """Check that every number of samples from ``min_samples`` on gives a value or a refusal, and
    that fewer samples give a refusal."""
    fewest = trial.entry.min_samples
    for n in range(max(1, fewest - 1), fewest + 4):
        reply = call_outcome(trial.entry, *trial._replace(samples=n).inputs())
        if reply.fault or (n < fewest and not reply.refusal):
            detail = f"{n} samples: {reply.fault or 'not refused'}"
            return f"at least {fewest}", False, detail
    return f"at least {fewest}", True, ""


# --------------------------------------------------------------------------------------- as a thing


def takes_every_parameter_choice(trial: CheckContext) -> CheckResult:
    """Check that the function accepts every choice of every parameter, with other parameters at
    their current values. A choice that excludes a current value, or needs a missing package, is
    left out."""
    total, entry = 0, trial.entry
    if getattr(entry, "held_out", None) is not None:  # some choices fit no map
        entry = entry.with_parameters(held_out=None)
    for parameters in _parameter_choices(trial):
        try:
            variant, total = entry.with_parameters(**parameters), total + 1
        except ValueError:
            if (entry.defaults | dict(entry.parameters)).items() >= parameters.items():
                raise
            continue
        few = trial._replace(samples=max(trial.samples // 2, variant.min_samples))
        fault = call_outcome(variant, *few.inputs()).fault
        if fault and not fault.startswith(IMPORT_ERRORS):
            return "", False, f"{variant}: {fault}"
    if not total:
        return "", None, "it has no parameters"
    return "", True, ""


def _parameter_choices(trial: CheckContext) -> Iterator[dict[str, Any]]:
    """Yield mappings {name: choice}, one for each choice of each parameter; for a parameter without
    choices, one with the current value. Labels, and parameters that a current value excludes, are
    left out."""
    m = trial.entry
    hints, values = typing.get_type_hints(m.function), {**m.defaults, **dict(m.parameters)}
    given = [names for by, names in m.excludes.items() if values[by] is not None]
    for name in m.defaults.keys() - {"labels"} - {name for names in given for name in names}:
        choices = (False, True) if hints.get(name) is bool else m.choices.get(name, (values[name],))
        yield from ({name: choice} for choice in choices)


def survives_pickling(trial: CheckContext) -> CheckResult:
    """Check that an unpickled copy has the same name and value. A measure from a user's file is
    restored by loading the file again."""
    m = trial.entry
    try:
        copy = pickle.loads(pickle.dumps(m))
        restore, (module, *names_and_file) = m.__reduce__()
        if module.startswith(USER_MODULE_PREFIX):
            copy = _reload_from_user_file(restore, f"{module}_anew", *names_and_file)
    except Exception as error:
        return "", False, format_user_error(error, trial.entry)
    value, original = trial._replace(entry=copy).value(*trial.inputs()), generic_value(trial)
    holds = copy.spec == m.spec and trial.same(value, original)
    return "", holds, "" if holds else f"comes back as {copy}, {value:.6g}"


def _reload_from_user_file(
    restore: Callable[..., Any], module: str, name: str, parameters: Any, file: str | None
) -> Any:
    """Return the measure as a worker process restores it: from the user's file, run under a new
    module name, which is forgotten afterwards.

    ``restore``: the function of the pickle. ``module``: the new module name. ``name``,
    ``parameters``, ``file``: the further arguments of ``restore``.
    """
    try:
        return restore(module, name, parameters, file)
    finally:
        sys.modules.pop(module, None)


def has_documentation(trial: CheckContext) -> CheckResult:
    """Check that there is a docstring and a citation; without a part, the check decides nothing."""
    m = trial.entry
    missing_parts = [
        part for part, text in (("docstring", m.summary), ("citation", m.citation)) if not text
    ]
    detail = f"no {' and no '.join(missing_parts)}" if missing_parts else ""
    return "", None if missing_parts else True, detail


def report_speed(trial: CheckContext) -> CheckResult:
    """Report the time of one call. A time of 1 s or more is no failure, and decides nothing."""
    inputs = trial.inputs()
    start = time.perf_counter()
    trial.value(*inputs)
    seconds = time.perf_counter() - start
    prefix = "a pair of " if isinstance(trial.entry, Measure) else "for "
    detail = f"{seconds:.2g} s {prefix}{trial.samples} samples"
    return "", True if seconds < MAX_PAIR_SECONDS else None, detail
