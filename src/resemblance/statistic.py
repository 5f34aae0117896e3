"""A statistic: a plain function of one representation, and what else it needs, with claims that the
tests prove."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import Any, Literal, get_args

import numpy as np

from .arrays import to_numpy
from .inputs import check_order, order_of
from .measure import (
    Change,
    argument,
    check_parameters,
    claims_under,
    hashable,
    implied,
    in_range,
    specification,
)
from .modules import restore, version_of
from .notebook import card
from .representation import Representation, Undefined, check_same_samples, finite
from .suggestions import did_you_mean

StatisticFamily = Literal[
    "splits", "replicates", "supervised", "perturbation", "trials", "spectrum", "transfer"
]
STATISTIC_FAMILIES: tuple[str, ...] = get_args(StatisticFamily)


@dataclass(frozen=True, eq=False, repr=False)
class Statistic:
    """A function of one representation, and of the labels or second array it needs, with what is
    claimed of it.

    Call it with an (n_samples, n_features) array and what ``needs`` names, in that order or by
    name. It returns a ``float``, computed in double precision by NumPy whatever library the array
    is of. It raises ``ValueError`` for input that does not fit and :class:`~resemblance.Undefined`
    (a ``ValueError``) when the data leave it without a value; it never returns NaN.
    """

    function: Callable[..., float]
    name: str
    label: str
    family: StatisticFamily
    larger_is_more_stable: bool | None
    range: tuple[float, float]
    reference: str
    invariant_to: frozenset[str] = frozenset()
    min_samples: int = 2
    min_features: int = 1
    version: int = 1
    caution: str = ""
    parameters: tuple[tuple[str, Any], ...] = ()
    changes: tuple[Change, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    base: Statistic | None = None
    needs: tuple[str, ...] = field(init=False)  # what it is called with after the representation
    defaults: Mapping[str, Any] = field(init=False)  # the parameters, with their default values
    spec: str = field(init=False)  # the name with every parameter that is not at its default

    def __post_init__(self) -> None:
        needs, defaults = _needs_and_defaults(self.function)
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "defaults", defaults)
        object.__setattr__(self, "spec", specification(self.name, self.parameters, defaults))
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__module__", self.function.__module__)

    def __call__(self, X: Any, *data: Any, **parameters: Any) -> float:
        """Return the value of the statistic for a representation."""
        statistic, given = self.with_data(parameters)
        x = argument(X, "X")
        return statistic.evaluate(x, *self.prepare(x, *data, **given))

    def with_data(self, named: Mapping[str, Any]) -> tuple[Statistic, dict[str, Any]]:
        """Part arguments given by name: the statistic with its parameters fixed, and what it needs
        besides X."""
        given = {name: named[name] for name in self.needs if name in named}
        parameters = {name: value for name, value in named.items() if name not in given}
        return self.where(**parameters) if parameters else self, given

    def prepare(self, x: Representation, *data: Any, **named: Any) -> tuple[Any, ...]:
        """Check what the statistic needs besides the representation and return it in its order.

        Labels become integers from 0; arrays become representations.
        """
        given = dict(zip(self.needs, data)) | named
        for name in set(self.needs[: len(data)]) & set(named):
            raise ValueError(f"{self.name}: {name} is given twice, by position and by name")
        if len(data) > len(self.needs) or len(given) != len(self.needs):
            wanted = ", ".join(("X", *self.needs))
            raise ValueError(
                f"{self.name} is called as {self.name}({wanted}); parameters are given by name"
            )
        return tuple(ROLES[name](self.name, x, given[name]) for name in self.needs)

    def evaluate(self, x: Representation, *prepared: Any) -> float:
        """Check the representation and compute, from what :meth:`prepare` returned."""
        n, d = x.shape
        if n < self.min_samples:
            raise Undefined(f"{self} needs at least {self.min_samples} samples; got {n}")
        if d < self.min_features:
            raise Undefined(f"{self} needs at least {self.min_features} features; got {d}")
        finite(x)
        value = float(self.function(x, *prepared, **dict(self.parameters)))
        return float(in_range(value, self, "float64"))

    def where(self, **parameters: Any) -> Statistic:
        """Return the statistic with parameters fixed; it is named after them,
        ``feature_split[rdm=euclidean]``.

        Raises ``ValueError`` for a parameter or a choice the statistic does not have.
        """
        parameters = {k: hashable(v) for k, v in parameters.items()}
        check_parameters(self.function, self.defaults, self.limits, parameters)
        fixed = dict(self.parameters) | parameters
        base = self.base or self  # claims always start from the declared ones
        claims = claims_under(self.changes, {**self.defaults, **fixed})
        return replace(base, base=base, parameters=tuple(sorted(fixed.items())), **claims)

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"<statistic {self.spec}: {', '.join(filter(None, self._claims().values()))}>"

    def _repr_html_(self) -> str:
        return card(f"statistic {self.spec}", {"definition": self.summary, **self._claims()})

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        words = {True: "larger is more stable", False: "smaller is more stable", None: ""}
        unchanged = sorted(name.replace("_", " ") for name in self.invariant_to)
        return {
            "label": self.label,
            "range": f"in {low:.4g} to {high:.4g}",
            "direction": words[self.larger_is_more_stable],
            "invariance": f"invariant to {', '.join(unchanged)}"
            if unchanged
            else "no invariance claimed",
            "needs": f"needs {', '.join(self.needs)}" if self.needs else "",
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistic) and (self.function, self.spec) == (
            other.function,
            other.spec,
        )

    def __hash__(self) -> int:
        return hash((self.function, self.spec))

    def __reduce__(self) -> Any:
        # Travels by name, like a function.
        module = sys.modules[self.function.__module__]
        if not isinstance(getattr(module, self.name, None), Statistic):
            where = f"define it at the top level of a module, as {self.name}"
            raise ValueError(f"{self} cannot be sent to a worker process: {where}")
        return restore, (
            module.__name__,
            self.name,
            self.parameters,
            getattr(module, "__file__", None),
        )


def statistic(
    *,
    label: str,
    family: StatisticFamily,
    larger_is_more_stable: bool | None,
    range: tuple[float, float],
    reference: str,
    invariant_to: Set[str] = frozenset(),
    changes: tuple[Change, ...] = (),
    **claims: Any,
) -> Callable[[Callable[..., float]], Statistic]:
    """Declare a function of one representation to be a statistic, and what is claimed of it.

    The positional arguments after the representation say what it needs and are named by ``ROLES``;
    the keyword arguments are its parameters.

    Parameters
    ----------
    label : what papers print.
    family : one of ``STATISTIC_FAMILIES``.
    larger_is_more_stable : True where a larger value is more of what the statistic is about
        (stability, separation, transferability), False where it is less, None where it describes
        without a better or worse.
    range : the smallest and the largest value it can take.
    reference : a key of ``references.bib``.
    invariant_to : transformations of the features that leave the value unchanged (``INVARIANCES``),
        applied alike to every array of features it is called with.
    changes : claims that differ under some parameters, each made by :func:`resemblance.when`.
    claims : ``min_samples``, ``min_features``, ``limits`` (smallest and largest value of
        parameters), ``version`` (raise it when the algorithm changes), ``caution`` (why the value
        must not be used as it was published).
    """

    def declare(function: Callable[..., float]) -> Statistic:
        base = Statistic(
            function,
            function.__name__,
            label,
            family,
            larger_is_more_stable,
            range,
            reference,
            implied(invariant_to),
            changes=changes,
            **{"version": version_of(function), **claims},
        )
        return base.where()

    return declare


def classes(called: str, x: Representation, values: Any, role: str = "labels") -> np.ndarray:
    """Return labels as integers from 0, in the order of the sorted labels, by position.

    Raises ``ValueError`` unless there is one per sample, none is missing, and all are numbers or
    all of one type; and when the index of labels and the ids of the samples say that they do not
    belong together.
    """
    found, n = _label_array(values), x.shape[0]
    if found.shape != (n,):
        remedy = f"; give their column, of shape ({n},)" if found.shape == (n, 1) else ""
        raise ValueError(
            f"{called}: {role} must be one per sample, shape ({n},); got shape "
            f"{found.shape}{remedy}"
        )
    check_order(called, "X", x.order, f"the index of {role}", order_of(values, role))
    if (
        np.ma.getmaskarray(values).any()
        if isinstance(values, np.ma.MaskedArray)
        else any(map(_is_missing, found))
    ):
        raise ValueError(
            f"{called}: {role} are missing, NaN or infinite for some samples; leave those samples "
            "out"
        )
    kinds = {_kind(v) for v in found.tolist()}
    if len(kinds) > 1:
        raise ValueError(
            f"{called}: {role} are of several types ({', '.join(sorted(kinds))}); make all of "
            "them words"
        )
    try:
        return np.unique(found, return_inverse=True)[1]
    except TypeError:
        raise ValueError(
            f"{called}: {role} must be numbers or words; got {next(iter(kinds))}"
        ) from None


def _label_array(values: Any) -> np.ndarray:
    """Labels as an array that has not made words of numbers, or of None."""
    if hasattr(values, "__dlpack__"):
        return to_numpy(values)
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    found = np.asarray(values, dtype=object)
    return (
        np.asarray(values)
        if all(isinstance(v, int | float | np.number) for v in found.ravel())
        else found
    )


def _kind(value: Any) -> str:
    return (
        "number"
        if isinstance(value, Number | np.bool_)
        else "str"
        if isinstance(value, str)
        else type(value).__name__
    )


def _is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, infinite, or another value that is not equal to itself (NaT,
    pandas.NA)."""
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


def _conditions(called: str, x: Representation, values: Any) -> np.ndarray:
    return classes(called, x, values, "conditions")


def _replicate(called: str, x: Representation, data: Any) -> Representation:
    """Return a second representation of the same samples in the same order."""
    y = argument(data, "replicate")
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{called}: X {x.shape} and its replicate {y.shape} must have the same samples (rows)"
        )
    check_same_samples(called, x, y)
    finite(y)
    return y


def _control(called: str, x: Representation, data: Any) -> Representation:
    """Return the representation of other samples by the same features."""
    y = argument(data, "control")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{called}: X {x.shape} and control {y.shape} must have the same features (columns)"
        )
    finite(y)
    return y


def _encoder(called: str, x: Representation, encoder: Any) -> Callable[[np.ndarray], Any]:
    if not callable(encoder):
        raise ValueError(
            f"{called}: encoder must be a function from inputs to a representation; got {encoder!r}"
        )
    found: Callable[[np.ndarray], Any] = encoder
    return found


ROLES: Mapping[str, Callable[[str, Representation, Any], Any]] = {
    "labels": classes,
    "conditions": _conditions,
    "replicate": _replicate,
    "control": _control,
    "encoder": _encoder,
}


def _needs_and_defaults(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the positional arguments after the first, and the keyword-only ones with their
    defaults."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needs = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
    for name in needs:
        if name not in ROLES:
            raise ValueError(
                f"{function.__name__}: no role {name!r} for an argument{did_you_mean(name, ROLES)}"
            )
    return needs, {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
