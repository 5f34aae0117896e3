"""The context of a check: a measure or statistic adapted to small data, the outcome of a call, and
the outcome of a check."""

from __future__ import annotations

import inspect
import math
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..base.arrays import scalar
from ..base.exceptions import UninformativeWarning
from ..contracts._measure import Measure
from ..contracts._statistic import Statistic
from ..contracts.claims import RANGE_TOLERANCE, DeclaredFunction, as_argument, is_outside_range
from ..contracts.folds import HELD_OUT, restrict_folds
from ..data.representation import Representation, pair_cache
from .data import (
    generic_classes,
    generic_labels,
    generic_pair,
    repeated_pair,
    softmax_rows,
    stimuli,
    with_repeats,
)

P = ParamSpec("P")
T = TypeVar("T")
CHECK_SAMPLES = 60
CHECK_NEIGHBORS = 10  # number of neighbours that small data allow
MAX_CHECK_SAMPLES = 100  # above the number of samples of any check
# Samples and starts of checks that need few: wide data and degenerate data are slow.
FEW_CHECK_SAMPLES, FEW_CHECK_STARTS = 24, 4
CHECK_FEATURES = 6
# Features of wide data; a parameter up to this maximum may be a number of features.
WIDE_CHECK_FEATURES, MAX_COUNT_PARAMETER = (64, 100)
DEFAULT_VALUE_ROUNDING = 1e-6  # relative rounding error that a user's formula may have


class Outcome(NamedTuple):
    """The outcome of one check of a measure or statistic.

    ``claimed``: the claim in words, "" for a check without a claim. ``holds`` is None if the check
    decides nothing; then ``detail`` gives the reason. Otherwise ``detail`` contains the values that
    show a failure, or that show why a property is not declared.
    """

    check: str
    claimed: str
    holds: bool | None
    detail: str


class CheckContext(NamedTuple):
    """A measure or statistic, and the settings of the small data for its checks.

    ``samples``, ``features``: numbers of rows and columns of the data. ``rounding``: the allowed
    rounding error, relative to the value or to 1. ``takes_probabilities``: whether the function
    accepts only rows of probabilities. ``seeds``: seeds of the data that test claims. ``classes``:
    number of classes of the labels that a statistic needs. ``shared``: the values that several
    checks share, by check; contexts made from this context have the same dictionary.
    """

    shared: dict[Any, Any]
    entry: Any  # a measure or a statistic
    samples: int = CHECK_SAMPLES
    rounding: float = DEFAULT_VALUE_ROUNDING
    takes_probabilities: bool = False
    features: int = CHECK_FEATURES
    seeds: range = range(2)
    classes: int = 4

    def inputs(self, seed: int = 0) -> tuple[Any, ...]:
        """Return the arguments of the function: two related representations (samples, features) for
        a measure; a representation and the further inputs for a statistic."""
        if isinstance(self.entry, Statistic):
            shape = self.samples, self.features, self.classes
            x, data = generic_classes(*shape, seed)
            return self.suited(x), *(data[name] for name in self.entry.needs)
        return self.pair(self.samples, self.features, self.features, seed)

    def pair(self, n: int, d: int, e: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return two related representations, (n, d) and (n, e), with repeats for a measure that
        reads repeats."""
        input_kind = getattr(self.entry, "takes", "features")
        x, y = (repeated_pair if input_kind == "repeats" else generic_pair)(n, d, e, seed)
        return self.suited(x), self.suited(y)

    def shapes(self) -> list[tuple[Any, ...]]:
        """Return the inputs of three calls of a measure: more samples than features, fewer samples
        than features, two widths; for a statistic, the inputs of a single call."""
        if isinstance(self.entry, Statistic):
            return [self.inputs()]
        n_samples = self.entry.min_samples + 8
        shapes = (
            (self.samples, self.features, self.features),
            (n_samples, n_samples + 8, n_samples + 8),
            (self.samples, 4, 7),
        )
        return [self.pair(*shape) for shape in shapes]

    @property
    def most(self) -> int:
        """The largest parameter value up to 100 that may be a number of components or neighbours; 0
        without a parameter of this kind."""
        overrides = {"seed": None, "starts": None}
        values = {**self.entry.defaults, **dict(self.entry.parameters), **overrides}.values()
        return max((v for v in values if type(v) is int and v <= MAX_COUNT_PARAMETER), default=0)

    def wide(self) -> CheckContext:
        """Return a new context with data wider than every number of components, more samples than
        features, and a single seed."""
        features = max(WIDE_CHECK_FEATURES, 2 * self.most)
        samples = max(self.samples, 3 * features + 8)
        return self._replace(features=features, samples=samples, seeds=range(1))

    def few(self) -> CheckContext:
        """Return a new context with few samples and few starts of a search, for data with more
        features than samples."""
        samples = max(FEW_CHECK_SAMPLES, self.entry.min_samples + 1)
        entry = with_matching_labels(self.entry, samples)
        return self._replace(entry=entry, samples=samples).with_few_starts()

    def with_few_starts(self) -> CheckContext:
        """Return a context with 4 starts of a search, for checks that need no global minimum; this
        context unchanged, if the measure has at most 4 starts by default."""
        if self.entry.defaults.get("starts", 0) <= FEW_CHECK_STARTS:
            return self
        return self._replace(entry=self.entry.with_parameters(starts=FEW_CHECK_STARTS))

    def suited(self, x: np.ndarray) -> np.ndarray:
        """Return ``x`` (n, d), or the softmax of every row if the function accepts only
        probabilities."""
        return softmax_rows(x) if self.takes_probabilities else x

    def value(self, *inputs: Any) -> float:
        """Return the value of the function for ``inputs``, the arrays and further arguments of a
        call, without a check of the range.

        Labels of another length than the inputs are replaced. The function gets copies of the
        inputs. Numerical warnings are errors.
        """
        with warnings_as_errors():
            return scalar(
                call_checked(
                    with_matching_labels(self.entry, len(inputs[0])), *map(copy_if_array, inputs)
                )
            )

    def value_or_nan(self, *inputs: Any) -> float:
        """Return the value of the function for ``inputs``, the arrays and further arguments of a
        call, or NaN if the function raises ``ValueError``."""
        try:
            return self.value(*inputs)
        except ValueError:
            return math.nan

    def same(self, a: float, b: float) -> bool:
        """Return whether two values differ by at most the allowed rounding error, relative to ``b``
        or to 1; False if a value is NaN."""
        return abs(a - b) <= self.rounding * max(1.0, abs(b))


def shared_by_checks(
    compute: Callable[Concatenate[CheckContext, P], T],
) -> Callable[Concatenate[CheckContext, P], T]:
    """Compute a value of a context once for all checks of a measure. The value lives as long as the
    context, so nothing keeps the function of the measure."""

    @wraps(compute)
    def shared_value(trial: CheckContext, /, *args: P.args, **parameters: P.kwargs) -> T:
        key = compute.__name__, trial[1:], args, tuple(parameters.items())
        if key not in trial.shared:
            trial.shared[key] = compute(trial, *args, **parameters)
        value: T = trial.shared[key]
        return value

    return shared_value


@shared_by_checks
def generic_value(trial: CheckContext, seed: int = 0) -> float:
    """Return the value of the function for the data of ``seed``. Several checks share the
    value."""
    return trial.value(*trial.inputs(seed))


CheckResult = tuple[str, bool | None, str]  # the claim, whether the claim holds, the detail
CheckFunction = Callable[[CheckContext], CheckResult]


class CallOutcome(NamedTuple):
    """The outcome of calling a measure or statistic: a value (NaN for none), the reason of a
    refusal (``ValueError``), or a fault. A number outside the range is a value with a fault."""

    value: float = math.nan
    refusal: str = ""
    fault: str = ""


def measure_check_context(
    measure: Measure, samples: int = CHECK_SAMPLES, rounding: float = DEFAULT_VALUE_ROUNDING
) -> CheckContext:
    """Return the context of a measure, adapted to small data: with fewer neighbours, with labels,
    with rows of probabilities if the measure accepts no other rows.

    ``samples``: number of samples; replaced by the number of labels of the measure, and raised to
    the number that the measure needs. ``rounding``: the allowed rounding error, relative to the
    value or to 1.
    """
    measure = limit_neighbors(measure)
    labels = dict(measure.parameters).get("labels", ())
    samples = len(labels) or max(samples, measure.min_samples + 1)
    if not labels and "labels" in measure.defaults:
        measure = measure.with_parameters(labels=generic_labels(samples))
    trial = CheckContext({}, measure, samples, rounding)
    takes_probabilities = ("outputs", "probabilities") in measure.parameters
    if measure.family == "outputs" and call_outcome(measure, *trial.inputs()).refusal:
        takes_probabilities = True
    return trial._replace(takes_probabilities=takes_probabilities)


def statistic_check_context(
    statistic: Statistic, rounding: float = DEFAULT_VALUE_ROUNDING
) -> CheckContext:
    """Return the context of a statistic, adapted to small data: with two classes if the statistic
    refuses more, with rows of probabilities if the statistic accepts no other rows. ``rounding``:
    the allowed rounding error, relative to the value or to 1."""
    samples = max(CHECK_SAMPLES, statistic.min_samples + 1)
    takes_probabilities = ("outputs", "probabilities") in statistic.parameters
    trial = CheckContext({}, statistic, samples, rounding, takes_probabilities, seeds=range(3))
    two_class_trial = trial._replace(classes=2)
    needs_two_classes = (
        call_outcome(statistic, *trial.inputs()).refusal
        and not call_outcome(statistic, *two_class_trial.inputs()).refusal
    )
    return two_class_trial if needs_two_classes else trial


def limit_neighbors(measure: Measure) -> Measure:
    """Return the measure with ``k`` = 10 neighbours if the measure has a ``k`` and needs more than
    100 samples; otherwise the measure unchanged."""
    has_k = "k" in measure.defaults and measure.min_samples > MAX_CHECK_SAMPLES
    return measure.with_parameters(k=CHECK_NEIGHBORS) if has_k else measure


def with_matching_labels(entry: Any, samples: int) -> Any:
    """Return the measure or statistic ``entry`` with ``samples`` generic labels if the ``labels``
    parameter has another length; otherwise ``entry`` unchanged."""
    labels = dict(entry.parameters).get("labels")
    if labels is None or len(labels) == samples:
        return entry
    return entry.with_parameters(labels=generic_labels(samples))


def permute_context_samples(
    trial: CheckContext, order: np.ndarray, inputs: tuple[Any, ...]
) -> tuple[CheckContext, tuple[Any, ...]]:
    """Return a new context and new inputs with the samples in another order.

    The function permutes the rows of every input except ``control``, ``encoder`` and
    ``classifier``. In the context, the function permutes the labels and the folds. For a measure
    that reads repeats, the returned inputs have permuted ids of stimuli. ``order``: for every new
    row, the index of the old row (n,).
    """
    entry, labels = trial.entry, dict(trial.entry.parameters).get("labels")
    if labels:
        entry = entry.with_parameters(labels=[labels[i] for i in order])
    if (folds := getattr(entry, HELD_OUT, None)) is not None:
        entry = entry.with_parameters(
            held_out=restrict_folds(folds, order, Representation(inputs[0]))
        )
    permuted_inputs = tuple(
        value if name in ("control", "encoder", "classifier") else value[order]
        for name, value in zip(input_names(entry), inputs)
    )
    if getattr(entry, "takes", "") == "repeats":
        names = stimuli(len(order))
        permuted_inputs = tuple(
            Representation(a, ids=[names[i] for i in order]) for a in permuted_inputs
        )
    return trial._replace(entry=entry), permuted_inputs


def input_names(entry: Measure | Statistic) -> tuple[str, ...]:
    """Return the names of the inputs: "X" and "Y" for a measure; "X" and the names of the further
    inputs for a statistic."""
    return ("X", *entry.needs) if isinstance(entry, Statistic) else ("X", "Y")


def is_matrix(value: Any) -> bool:
    """Return whether a value has two dimensions, as an array of rows has; False for labels, a
    function or a classifier."""
    return getattr(value, "ndim", 0) == 2


def copy_if_array(value: Any) -> Any:
    """Return a copy of an array, and any other value unchanged."""
    return value.copy() if isinstance(value, np.ndarray) else value


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """Inside the ``with`` block, turn numerical warnings into errors, and silence warnings about
    small data."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UninformativeWarning)
        yield


def call_outcome(entry: Measure | Statistic, *inputs: Any) -> CallOutcome:
    """Return the outcome of calling a measure or statistic with ``inputs``: X and Y for a measure,
    X and the further inputs for a statistic.

    The wrapped function is called directly: ``evaluate`` would raise for NaN, infinity, and values
    outside the claimed range, and here these are faults.
    """
    entry = with_matching_labels(entry, len(inputs[0]))
    try:
        with warnings_as_errors():
            value = call_checked(entry, *inputs)
    except ValueError as error:
        return CallOutcome(refusal=str(error))
    except (Exception, SystemExit) as error:  # any error is the finding
        return CallOutcome(fault=format_user_error(error, entry))
    kind = type(value).__name__
    if getattr(value, "shape", ()) != () or not isinstance(
        value, int | float | np.number | np.ndarray
    ):
        return CallOutcome(fault=f"returned {kind}, not a number")
    number = scalar(value)
    low, high = entry.range
    if not math.isfinite(number):
        return CallOutcome(fault=f"returned {number}")
    if is_outside_range(number, entry.range, RANGE_TOLERANCE["float64"]):
        return CallOutcome(number, fault=f"returned {number:.6g}, outside {low:g} to {high:g}")
    return CallOutcome(number)


def call_checked(entry: Measure | Statistic, x: Any, *extra_inputs: Any) -> Any:
    """Return the value that the function of a measure or statistic returns for the representation
    or array ``x``, after a check of the inputs. ``extra_inputs``: Y for a measure; the further
    inputs for a statistic. For a measure that reads repeats, the rows of arrays get the ids of
    :func:`stimuli`."""
    a, parameters = as_argument(with_repeats(entry, x), "X"), dict(entry.parameters)
    if isinstance(entry, Statistic):
        data = entry.prepare(a, *extra_inputs)
        entry.check(a)
        return entry.function(a, *data, **parameters)
    b = as_argument(with_repeats(entry, extra_inputs[0]), "Y")
    entry.check_pair(a, b)
    with pair_cache(a, b):
        return entry.compute(a, b)


def format_user_error(error: BaseException, entry: DeclaredFunction) -> str:
    """Return the type and message of an error in a single line, followed by the file and line of
    the user's function where the error occurred, if known."""
    file = getattr(inspect.unwrap(entry.function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if file is not None and f.filename == file.co_filename]
    place = f" ({Path(file.co_filename).name}:{lines[-1]})" if file and lines else ""
    return " ".join(f"{type(error).__name__}: {error}{place}".split())
