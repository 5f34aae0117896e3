"""Statistics: plain functions of one representation, and of labels or a second array, with claims
verified by the tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..base.arrays import as_float64, full_precision
from ..base.exceptions import UndefinedError
from ..base.text import did_you_mean
from ..data.inputs import check_sample_order, sample_order
from ..data.joining import align_columns_to
from ..data.representation import Representation, check_all_finite, check_same_samples
from ..intermediates.digits import check_digits
from ..significance.labels import label_codes
from .claims import (
    DeclaredFunction,
    as_argument,
    clip_to_range,
    describe_invariance,
    require_arguments,
)
from .streamed import require_features

StatisticFamily = Literal[
    "splits",
    "replicates",
    "supervised",
    "perturbation",
    "trials",
    "spectrum",
    "transfer",
    "dimension",
    "collapse",
    "projection",
]
STATISTIC_FAMILIES: tuple[str, ...] = get_args(StatisticFamily)
TrialHalves = Literal["early and late", "odd and even"]


class Readout(NamedTuple):
    """The last layer of a classifier: weights (classes, features) and biases (classes,)."""

    weights: np.ndarray
    biases: np.ndarray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Statistic(DeclaredFunction):
    """A function of one representation, and of labels or a second array, with declared claims.

    Call a statistic with an (n_samples, n_features) array and the arguments listed in ``needs``, in
    order or by name. The result is a ``float``, computed in double precision by NumPy whatever the
    library of the array. A statistic raises ``ValueError`` for input that does not fit and
    :class:`~resemblance.UndefinedError` (a ``ValueError``) for data without a value; a statistic
    never returns NaN.
    """

    family: StatisticFamily
    larger_is_more_stable: bool | None
    min_features: int = 1
    caveat: str = ""
    parts: TrialHalves | None = None
    needs: tuple[str, ...] = field(init=False)  # the positional arguments after the representation

    def __post_init__(self) -> None:
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        needs = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        for name in needs:
            if name not in ARGUMENT_READERS:
                hint = did_you_mean(name, ARGUMENT_READERS)
                raise ValueError(f"{self.name}: no argument can be called {name!r}{hint}")
        self._settle([p for p in parameters if p.kind is p.KEYWORD_ONLY], needs=needs)
        if self.parts == "early and late" and "early" not in self.defaults:
            raise ValueError(
                f"{self.name}: early and late parts need the parameter early: the share of the "
                "first samples"
            )

    def __call__(self, X: Any, *data: Any, **parameters: Any) -> float:
        """Return the value of the statistic for the representation, or array (n, d), ``X``.
        ``data``: the further inputs, in the order of ``needs``."""
        statistic, inputs = self.with_data(parameters)
        x = as_argument(X, "X")
        with nullcontext() if isinstance(x.source, np.ndarray) else full_precision():
            return statistic.evaluate(x, *self.prepare(x, *data, **inputs))

    def with_data(self, named: Mapping[str, Any]) -> tuple[Statistic, dict[str, Any]]:
        """Split the keyword arguments ``named`` into parameters and data: return the statistic with
        the parameters fixed, and the arguments in ``needs``, by name."""
        inputs = {name: named[name] for name in self.needs if name in named}
        parameters = {name: value for name, value in named.items() if name not in inputs}
        return self.with_parameters(**parameters) if parameters else self, inputs

    def prepare(self, x: Representation, *data: Any, **named: Any) -> tuple[Any, ...]:
        """Return the arguments in ``needs``, checked, in the order of ``needs``.

        ``data``: the first arguments in ``needs`` by position; ``named``: the others by name.
        Labels become integers from 0; arrays become representations. Raises ``ValueError`` for a
        missing argument or one too many.
        """
        inputs = dict(zip(self.needs, data)) | named
        for name in set(self.needs[: len(data)]) & set(named):
            raise ValueError(f"{self.name}: {name} is given twice, by position and by name")
        if len(data) > len(self.needs) or len(inputs) != len(self.needs):
            signature = ", ".join(("X", *self.needs))
            raise ValueError(
                f"{self.name} is called as {self.name}({signature}); parameters are given by name"
            )
        return tuple(ARGUMENT_READERS[name](self.name, x, inputs[name]) for name in self.needs)

    def evaluate(self, x: Representation, *prepared: Any) -> float:
        """Check the representation and return the value. ``prepared``: the results of
        :meth:`prepare`, in order."""
        self.check(x)
        value = float(self.function(x, *prepared, **dict(self.parameters)))
        return float(clip_to_range(value, self, "float64"))

    def check(self, x: Representation) -> None:
        """Raise ``UndefinedError`` for a representation that is too small, without features, or not
        finite."""
        n, d = x.shape
        if n < self.min_samples:
            raise UndefinedError(f"{self} needs at least {self.min_samples} samples; got {n}")
        if d < self.min_features:
            raise UndefinedError(f"{self} needs at least {self.min_features} features; got {d}")
        require_features(str(self), x)
        check_all_finite(x)
        check_digits(x)

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        words = {True: "larger is more stable", False: "smaller is more stable", None: ""}
        return {
            "label": self.label,
            "range": f"in {low:.4g} to {high:.4g}",
            "direction": words[self.larger_is_more_stable],
            "invariance": describe_invariance(self.invariant_to),
            "needs": f"needs {', '.join(self.needs)}" if self.needs else "",
        }


@require_arguments
def statistic(
    *,
    label: str,
    family: StatisticFamily,
    larger_is_more_stable: bool | None,
    range: tuple[float, float],
    citation: str,
    invariant_to: Set[str] = frozenset(),
    claims_for: Callable[..., Mapping[str, Any]] | None = None,
    **claims: Any,
) -> Callable[[Callable[..., float]], Statistic]:
    """Declare a function of one representation as a statistic with claims.

    The positional arguments after the representation are data, with names from
    ``ARGUMENT_READERS``; the keyword arguments are parameters of the statistic.

    Parameters
    ----------
    label : the name printed in papers.
    family : one of ``STATISTIC_FAMILIES``.
    larger_is_more_stable : True if a larger value means more of the measured property (stability,
        separation, transferability), False if a larger value means less, None if neither direction
        is better.
    range : the smallest and the largest possible value.
    citation : a key of ``references.bib``.
    invariant_to : transformations of the features that leave the value unchanged (``INVARIANCES``),
        applied alike to every array of features among the arguments.
    claims_for : a function of parameters (matched by name) that returns, by name, the claims that
        depend on the parameters.
    claims : ``min_samples``, ``min_features``, ``limits`` (smallest and largest value of
        parameters), ``version`` (raise the version when the algorithm changes), ``caveat`` (why the
        value must not be used as published), ``parts`` (the compared parts of the trials, so
        :func:`resemblance.stability.interval` halves each part separately: "early and late", the
        first share ``early``, a parameter, and the remaining trials; or "odd and even", alternate
        trials of a condition).
    """
    common_claims = {
        "label": label,
        "family": family,
        "larger_is_more_stable": larger_is_more_stable,
        "range": range,
        "citation": citation,
        "invariant_to": invariant_to,
        "claims_for": claims_for,
    }
    return partial(Statistic._declare, claims=common_claims | claims)


# ------------------------------------------------------- arguments besides a representation


def class_indices(caller: str, x: Representation, values: Any, role: str = "labels") -> np.ndarray:
    """Return the labels ``values``, a list, array or Series, as integers from 0, (n,): the position
    of each label among the sorted distinct labels.

    ``x``: the samples of the labels. ``caller``, ``role``: the function and the parameter in
    errors. Raises ``ValueError`` unless every sample has a label and the labels are all numbers or
    all of the same type; and when the index of the labels and the ids of the samples do not match.
    """
    numbers = label_codes(caller, values, x.shape[0], role)
    check_sample_order(caller, "X", x.order, f"the index of {role}", sample_order(values, role))
    return numbers


def _representation_of_samples(
    caller: str, x: Representation, data: Any, name: str
) -> Representation:
    """Return ``data`` as a second representation of the same samples in the same order, of any
    width; ``name`` is the name in errors.

    Raises ``ValueError`` for other samples.
    """
    y = as_argument(data, name)
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{caller}: X {x.shape} and the {name} {y.shape} must have the same samples (rows)"
        )
    check_same_samples(caller, x, y)
    check_all_finite(y)
    return y


def _replicate_representation(caller: str, x: Representation, data: Any) -> Representation:
    """Return ``data`` as a second representation of the same samples, with columns in the order of
    X.

    Raises ``ValueError`` for other samples or other columns.
    """
    y = _representation_of_samples(caller, x, data, "replicate")
    return align_columns_to(caller, x, y, is_one_model=True)


def _control_representation(caller: str, x: Representation, data: Any) -> Representation:
    """Return ``data`` as a representation of any samples with the features of X, with columns in
    the order of X.

    Raises ``ValueError`` for other features.
    """
    y = as_argument(data, "control")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{caller}: X {x.shape} and control {y.shape} must have the same features (columns)"
        )
    check_all_finite(y)
    return align_columns_to(caller, x, y, is_one_model=True)


def _readout(caller: str, x: Representation, classifier: Any) -> Readout:
    """Return the weights and biases of ``classifier``, a linear layer, a pair, or a weight matrix
    alone; zero biases where none are given. ``x`` is not used.

    Raises ``ValueError`` for other shapes, for weights that are all 0, and for numbers that are not
    finite.
    """
    if hasattr(classifier, "weight"):
        parts = (classifier.weight, getattr(classifier, "bias", None))
    else:
        parts = classifier if isinstance(classifier, tuple) else (classifier, None)
    try:
        weights, biases = parts
        weights = as_float64(weights)
        biases = np.zeros(len(weights)) if biases is None else as_float64(biases)
    except (TypeError, ValueError):
        weights = biases = np.empty(0)
    if weights.ndim != 2 or biases.shape != weights.shape[:1] or not weights.any():
        raise ValueError(
            f"{caller}: classifier must be a torch.nn.Linear, a weight matrix (classes, features), "
            f"or a pair (weights, biases (classes,)); got {type(classifier).__name__}"
        )
    if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
        raise ValueError(f"{caller}: the weights or biases of the classifier are not finite")
    return Readout(weights, biases)


def _encoder_function(caller: str, x: Representation, encoder: Any) -> Callable[[np.ndarray], Any]:
    if not callable(encoder):
        raise ValueError(
            f"{caller}: encoder must be a function from inputs to a representation; got {encoder!r}"
        )
    return encoder


ARGUMENT_READERS: Mapping[str, Callable[[str, Representation, Any], Any]] = {
    "labels": class_indices,
    "conditions": partial(class_indices, role="conditions"),
    "replicate": _replicate_representation,
    "control": _control_representation,
    "encoder": _encoder_function,
    "projection": partial(_representation_of_samples, name="projection"),
    "classifier": _readout,
}
