"""A measure or statistic on trial: ready for small data, its answer to them, and the outcome of a
check."""

from __future__ import annotations

import inspect
import math
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import scalar
from ..contracts._measure import Measure, UninformativeWarning
from ..contracts._statistic import Statistic
from ..contracts.claims import SLACK, Declared, argument, outside
from ..data.representation import comparing
from .data import generic_pair, labels_of, probabilities, with_classes

SAMPLES = 60
NEIGHBOURS = 10  # as many as small data have
MANY = 100  # samples that no trial has
FEATURES = 6
WIDE, MOST = 64, 100  # features of wide data; a parameter that is no more may be a number of them
ROUNDING = 1e-6  # of a value, which a user's formula may lose


class Outcome(NamedTuple):
    """What came of one check of a measure or statistic.

    ``holds`` is None where the check decides nothing; then ``detail`` says why. Otherwise
    ``detail`` has the values that show a failure, or that show why something is not claimed.
    """

    check: str
    claimed: str
    holds: bool | None
    detail: str


class Trial(NamedTuple):
    """A measure or statistic with what it needs for small data, and how they are drawn.

    ``rounding``: what may be lost of a value, relative to it or to 1. ``seeds``: of the data on
    which claims are tried. ``classes``: of the labels that a statistic needs.
    """

    entry: Any  # a measure or a statistic
    samples: int = SAMPLES
    rounding: float = ROUNDING
    takes_probabilities: bool = False
    features: int = FEATURES
    seeds: range = range(3)
    classes: int = 4

    def inputs(self, seed: int = 0) -> tuple[Any, ...]:
        """Return what it is called with: two related representations for a measure, one and what
        else it needs for a statistic."""
        if isinstance(self.entry, Statistic):
            shape = self.samples, self.features, self.classes
            x, data = with_classes(*shape, seed)
            return self.suited(x), *(data[name] for name in self.entry.needs)
        x, y = generic_pair(self.samples, self.features, self.features, seed)
        return self.suited(x), self.suited(y)

    def shapes(self) -> list[tuple[Any, ...]]:
        """Return inputs of a measure with more samples than features, with fewer, and of two
        widths; those of a statistic."""
        if isinstance(self.entry, Statistic):
            return [self.inputs()]
        few = self.entry.min_samples + 8
        shapes = (self.samples, 6, 6), (few, few + 8, few + 8), (self.samples, 4, 7)
        return [(self.suited(x), self.suited(y)) for x, y in starmap(generic_pair, shapes)]

    @property
    def most(self) -> int:
        """The largest parameter that may be a number of components or neighbours."""
        values = {**self.entry.defaults, **dict(self.entry.parameters), "seed": None}.values()
        return max((v for v in values if type(v) is int and v <= MOST), default=0)

    def wide(self) -> Trial:
        """Return the trial on data that are wider than every such parameter: with no more features
        than components, a part of them is the whole."""
        features = max(WIDE, 2 * self.most)
        samples = max(self.samples, 3 * features + 8)
        return self._replace(features=features, samples=samples, seeds=range(1))

    def suited(self, x: np.ndarray) -> np.ndarray:
        """Return the same data, as probabilities where only these are taken."""
        return probabilities(x) if self.takes_probabilities else x

    def value(self, *inputs: Any) -> float:
        """Return what the function gives for inputs, held against no range.

        They are copied, as the function may write into its own.
        """
        with strictly():
            return scalar(computed(labelled(self.entry, len(inputs[0])), *map(copied, inputs)))

    def value_or_nan(self, *inputs: Any) -> float:
        """Return the value, or NaN where the data are refused."""
        try:
            return self.value(*inputs)
        except ValueError:
            return math.nan

    def same(self, a: float, b: float) -> bool:
        """Return whether two values differ by no more than rounding; NaN is the same as nothing."""
        return abs(a - b) <= self.rounding * max(1.0, abs(b))


Ruling = tuple[str, bool | None, str]  # what is claimed, whether it holds, the detail
Check = Callable[[Trial], Ruling]


class Answer(NamedTuple):
    """What a measure or statistic does with its inputs: a value, or a refusal, or a fault."""

    value: float = math.nan
    refusal: str = ""
    fault: str = ""


def trial_of(measure: Measure, samples: int = SAMPLES, rounding: float = ROUNDING) -> Trial:
    """Return a measure ready for small data: with fewer neighbours, with labels, with rows of
    probabilities where it takes no others."""
    measure = for_few_samples(measure)
    labels = dict(measure.parameters).get("labels", ())
    samples = len(labels) or max(samples, measure.min_samples + 1)
    if not labels and "labels" in measure.defaults:
        measure = measure.where(labels=labels_of(samples))
    trial = Trial(measure, samples, rounding)
    takes_probabilities = ("outputs", "probabilities") in measure.parameters
    if measure.family == "outputs" and answer(measure, *trial.inputs()).refusal:
        takes_probabilities = True
    return trial._replace(takes_probabilities=takes_probabilities)


def trial_of_statistic(statistic: Statistic, rounding: float = ROUNDING) -> Trial:
    """Return a statistic ready for small data: with two classes, with rows of probabilities where
    it takes no others."""
    samples = max(SAMPLES, statistic.min_samples + 1)
    takes_probabilities = ("outputs", "probabilities") in statistic.parameters
    trial = Trial(statistic, samples, rounding, takes_probabilities)
    of_two = trial._replace(classes=2)
    is_of_two = (
        answer(statistic, *trial.inputs()).refusal
        and not answer(statistic, *of_two.inputs()).refusal
    )
    return of_two if is_of_two else trial


def for_few_samples(measure: Measure) -> Measure:
    """Return a measure with no more neighbours than small data have."""
    has_k = "k" in measure.defaults and measure.min_samples > MANY
    return measure.where(k=NEIGHBOURS) if has_k else measure


def labelled(entry: Any, samples: int) -> Any:
    """Return a measure with labels of so many samples, if it takes labels of another number."""
    labels = dict(entry.parameters).get("labels")
    if labels is None or len(labels) == samples:
        return entry
    return entry.where(labels=labels_of(samples))


def reordered(trial: Trial, order: np.ndarray) -> tuple[Trial, tuple[Any, ...]]:
    """Return the trial and its inputs with the samples in another order, labels included."""
    entry, labels = trial.entry, dict(trial.entry.parameters).get("labels")
    if labels:
        entry = entry.where(labels=[labels[i] for i in order])
    inputs = (
        value if name in ("control", "encoder") else value[order]
        for name, value in zip(names_of(entry), trial.inputs())
    )
    return trial._replace(entry=entry), tuple(inputs)


def names_of(entry: Measure | Statistic) -> tuple[str, ...]:
    """Return what the inputs of a measure or statistic are called."""
    return ("X", *entry.needs) if isinstance(entry, Statistic) else ("X", "Y")


def copied(value: Any) -> Any:
    """Return a copy of an array, and anything else as it is."""
    return value.copy() if isinstance(value, np.ndarray) else value


@contextmanager
def strictly() -> Iterator[None]:
    """Let warnings of numerical trouble be errors, and those of small data be silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UninformativeWarning)
        yield


def answer(entry: Measure | Statistic, *inputs: Any) -> Answer:
    """Return what a measure or statistic does with its inputs.

    Its function is called directly, since ``evaluate`` refuses what is a fault: NaN, infinity, and
    values outside the claimed range.
    """
    entry = labelled(entry, len(inputs[0]))
    try:
        with strictly():
            value = computed(entry, *inputs)
    except ValueError as error:
        return Answer(refusal=str(error))
    except (Exception, SystemExit) as error:  # whatever it is, it is the finding
        return Answer(fault=in_words(error, entry))
    kind = type(value).__name__
    if getattr(value, "shape", ()) != () or not isinstance(
        value, int | float | np.number | np.ndarray
    ):
        return Answer(fault=f"returned {kind}, not a number")
    number = scalar(value)
    low, high = entry.range
    if not math.isfinite(number):
        return Answer(fault=f"returned {number}")
    if outside(number, entry.range, SLACK["float64"]):
        return Answer(number, fault=f"returned {number:.6g}, outside {low:g} to {high:g}")
    return Answer(number)


def computed(entry: Measure | Statistic, x: Any, *others: Any) -> Any:
    """Return what the function of a measure or statistic gives for inputs, which are checked
    first."""
    a, parameters = argument(x, "X"), dict(entry.parameters)
    if isinstance(entry, Statistic):
        data = entry.prepare(a, *others)
        entry.check(a)
        return entry.function(a, *data, **parameters)
    b = argument(others[0], "Y")
    entry.check_pair(a, b)
    with comparing(a, b):
        return entry.function(a, b, **parameters)


def in_words(error: BaseException, entry: Declared) -> str:
    """Return an error in one line, with the line of the user's file that it came through."""
    file = getattr(inspect.unwrap(entry.function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if file is not None and f.filename == file.co_filename]
    place = f" ({Path(file.co_filename).name}:{lines[-1]})" if file and lines else ""
    return " ".join(f"{type(error).__name__}: {error}{place}".split())
