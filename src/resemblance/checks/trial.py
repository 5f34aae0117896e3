"""A measure on trial: ready for small data, its answer to a pair, and the outcome of a check."""

from __future__ import annotations

import inspect
import math
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import scalar
from ..claims import SLACK, argument, outside
from ..measure import Measure, UninformativeWarning
from ..representation import comparing
from .data import generic_pair, labels_of, probabilities

SAMPLES = 60
NEIGHBOURS = 10  # as many as small data have
MANY = 100  # samples that no trial has
FEATURES = 6
WIDE, MOST = 64, 100  # features of wide data; a parameter that is no more may be a number of them
ROUNDING = 1e-6  # of a value, which a user's formula may lose


class Outcome(NamedTuple):
    """What came of one check of a measure.

    ``holds`` is None where the check decides nothing; then ``detail`` says why. Otherwise
    ``detail`` has the values that show a failure, or that show why something is not claimed.
    """

    check: str
    claimed: str
    holds: bool | None
    detail: str


class Trial(NamedTuple):
    """A measure with what it needs for small data, and how they are drawn.

    ``rounding``: what may be lost of a value, relative to it or to 1. ``seeds``: of the data on
    which claims are tried.
    """

    measure: Measure
    samples: int = SAMPLES
    rounding: float = ROUNDING
    takes_probabilities: bool = False
    features: int = FEATURES
    seeds: range = range(3)

    def pair(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return two related representations that the measure takes."""
        x, y = generic_pair(self.samples, self.features, self.features, seed)
        return self.suited(x), self.suited(y)

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of more samples than features, of fewer, and of two widths."""
        few = self.measure.min_samples + 8
        shapes = (self.samples, 6, 6), (few, few + 8, few + 8), (self.samples, 4, 7)
        return [(self.suited(x), self.suited(y)) for x, y in starmap(generic_pair, shapes)]

    @property
    def most(self) -> int:
        """The largest parameter of the measure that may be a number of components or neighbours."""
        values = {**self.measure.defaults, **dict(self.measure.parameters), "seed": None}.values()
        return max((v for v in values if type(v) is int and v <= MOST), default=0)

    def wide(self) -> Trial:
        """Return the trial on data that are wider than every such parameter: with no more features
        than components, a part of them is the whole."""
        features = max(WIDE, 2 * self.most)
        samples = max(self.samples, 3 * features + 8)
        return self._replace(features=features, samples=samples, seeds=range(1))

    def suited(self, x: np.ndarray) -> np.ndarray:
        """Return the same data, as probabilities for a measure that takes only these."""
        return probabilities(x) if self.takes_probabilities else x

    def value(self, x: Any, y: Any) -> float:
        """Return what the function gives for two arrays, held against no range.

        They are copied, as a measure may write into its own.
        """
        with strictly():
            return scalar(computed(labelled(self.measure, len(x)), x.copy(), y.copy()))

    def value_or_nan(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the value, or NaN where the measure refuses the data."""
        try:
            return self.value(x, y)
        except ValueError:
            return math.nan

    def same(self, a: float, b: float) -> bool:
        """Return whether two values differ by no more than rounding; NaN is the same as nothing."""
        return abs(a - b) <= self.rounding * max(1.0, abs(b))


Ruling = tuple[str, bool | None, str]  # what is claimed, whether it holds, the detail
Check = Callable[[Trial], Ruling]


class Answer(NamedTuple):
    """What a measure does with two arrays: a value, or a refusal, or a fault."""

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
    if measure.family == "outputs" and answer(measure, *trial.pair()).refusal:
        takes_probabilities = True
    return trial._replace(takes_probabilities=takes_probabilities)


def for_few_samples(measure: Measure) -> Measure:
    """Return a measure with no more neighbours than small data have."""
    has_k = "k" in measure.defaults and measure.min_samples > MANY
    return measure.where(k=NEIGHBOURS) if has_k else measure


def labelled(measure: Measure, samples: int) -> Measure:
    """Return a measure with labels of so many samples, if it takes labels of another number."""
    labels = dict(measure.parameters).get("labels")
    if labels is None or len(labels) == samples:
        return measure
    return measure.where(labels=labels_of(samples))


def reordered(measure: Measure, order: Sequence[int]) -> Measure:
    """Return a measure whose labels, if it has any, are in another order."""
    labels = dict(measure.parameters).get("labels")
    return measure.where(labels=[labels[i] for i in order]) if labels else measure


@contextmanager
def strictly() -> Iterator[None]:
    """Let warnings of numerical trouble be errors, and those of small data be silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UninformativeWarning)
        yield


def answer(measure: Measure, x: Any, y: Any) -> Answer:
    """Return what a measure does with two arrays.

    Its function is called directly, since :meth:`Measure.evaluate` refuses what is a fault: NaN,
    infinity, and values outside the claimed range.
    """
    measure = labelled(measure, len(x))
    try:
        with strictly():
            value = computed(measure, x, y)
    except ValueError as error:
        return Answer(refusal=str(error))
    except (Exception, SystemExit) as error:  # whatever it is, it is the finding
        return Answer(fault=in_words(error, measure))
    kind = type(value).__name__
    if getattr(value, "shape", ()) != () or not isinstance(
        value, int | float | np.number | np.ndarray
    ):
        return Answer(fault=f"returned {kind}, not a number")
    number = scalar(value)
    low, high = measure.range
    if not math.isfinite(number):
        return Answer(fault=f"returned {number}")
    if outside(number, measure.range, SLACK["float64"]):
        return Answer(number, fault=f"returned {number:.6g}, outside {low:g} to {high:g}")
    return Answer(number)


def computed(measure: Measure, x: Any, y: Any) -> Any:
    """Return what the function of a measure gives for two arrays, which are checked first."""
    a, b = argument(x, "X"), argument(y, "Y")
    measure.check_pair(a, b)
    with comparing(a, b):
        return measure.function(a, b, **dict(measure.parameters))


def in_words(error: BaseException, measure: Measure) -> str:
    """Return an error in one line, with the line of the measure's file that it came through."""
    file = getattr(inspect.unwrap(measure.function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if file is not None and f.filename == file.co_filename]
    place = f" ({Path(file.co_filename).name}:{lines[-1]})" if file and lines else ""
    return " ".join(f"{type(error).__name__}: {error}{place}".split())
