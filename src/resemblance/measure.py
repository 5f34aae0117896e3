"""A measure: a plain function of two representations, with claims that the test suite proves."""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
import typing
import warnings
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, library, like, scalar
from .caveat import UninformativeWarning, caveat_of, condition, no_caveat, transposition
from .extras import EXTRA, check
from .inputs import hint_of_counts
from .modules import restore, version_of
from .notebook import card
from .representation import (
    Representation,
    Undefined,
    as_representation,
    check_same_samples,
    comparing,
    finite,
    without_gradient,
)
from .suggestions import did_you_mean

INVARIANCES = (
    "permutation",
    "orthogonal",
    "isotropic_scaling",
    "invertible_linear",
    "translation",
    "affine",
)
Family = Literal[
    "cca", "alignment", "similarity_matrix", "neighbours", "topology", "statistic", "outputs"
]
FAMILIES: tuple[str, ...] = typing.get_args(Family)
SLACK = {"float64": 1e-6, "float32": 1e-3}  # of a value, by the precision it is computed in
KINDS: dict[Any, Any] = {bool: bool, int: int, float: (int, float)}


def no_remarks(x: Representation, y: Representation, **parameters: Any) -> dict[str, float]:
    """What most measures remark of a pair: nothing."""
    return {}


class Change(NamedTuple):
    """Claims that differ when some parameters have these values, or values that satisfy these
    conditions."""

    parameters: Mapping[str, Any]
    claims: Mapping[str, Any]


def when(parameters: Mapping[str, Any], **claims: Any) -> Change:
    """State which claims change under which parameters, e.g. ``when({"squared": True},
    metric=False)``.

    A value may be a condition: ``when({"ridge": lambda ridge: ridge > 0}, ...)``.
    """
    return Change(parameters, claims)


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """A function of two representations together with what is claimed of it.

    Call it with two (n_samples, n_features) arrays whose rows are the same samples in the same
    order. It returns a ``float`` for NumPy input and a 0-d tensor of the same library otherwise. It
    raises ``ValueError`` for input that cannot be compared and :class:`~resemblance.Undefined` (a
    ``ValueError``) when the data leave it without a value; it never returns NaN. It warns with
    :class:`~resemblance.UninformativeWarning` where the value says little.
    """

    function: Callable[..., Any]
    name: str
    label: str
    family: Family
    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    reference: str
    invariant_to: frozenset[str] = frozenset()
    metric: bool = False
    identity: bool = True
    differentiable: bool = True
    deterministic: bool = True
    min_samples: Any = (
        2  # a function of the parameters where it is declared, a number in every measure
    )
    version: int = 1
    extra: str | None = None
    remarks: Callable[..., Mapping[str, float]] = (
        no_remarks  # of (x, y) in every measure: see where()
    )
    uninformative: Callable[..., str] = no_caveat  # likewise
    parameters: tuple[tuple[str, Any], ...] = ()
    changes: tuple[Change, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    base: Measure | None = None
    defaults: Mapping[str, Any] = field(
        init=False
    )  # the parameters after the arrays, with their default values
    spec: str = field(
        init=False
    )  # the name with every parameter that is not at its default: the identity of a result

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__signature__", _public_signature(self.function))
        object.__setattr__(self, "defaults", _defaults(self.function))
        object.__setattr__(self, "spec", specification(self.name, self.parameters, self.defaults))
        object.__setattr__(self, "__module__", self.function.__module__)

    def __call__(self, X: Any, Y: Any, *positional: Any, **parameters: Any) -> Any:
        """Return the value of the measure for two representations of the same samples."""
        if positional:
            call = f"{self.name}(X, Y, {next(iter(self.defaults), 'parameter')}=...)"
            raise TypeError(
                f"{self.name} takes two representations; parameters are given by name: {call}"
            )
        measure = self.where(**parameters) if parameters else self
        x = argument(X, "X")
        y = x if Y is X else argument(Y, "Y")
        value = measure.evaluate(x, y)
        if caveat := measure.caveat(x, y):
            warnings.warn(f"{measure}: {caveat}", UninformativeWarning, stacklevel=2)
        return value

    def evaluate(self, x: Representation, y: Representation) -> Any:
        """Check the pair and compute: what a single call and :func:`resemblance.compare` both do,
        without a warning."""
        self._check_pair(x, y)
        require(self)
        if not self.differentiable:
            x, y = without_gradient(x), without_gradient(y)
        with comparing(x, y):
            value = self.function(x, y, **dict(self.parameters))
        value = in_range(value, self, x.precision)
        if isinstance(x.source, np.ndarray):
            return scalar(value)
        return _as_0d(value if self.differentiable else scalar(value), x.array)

    def caveat(self, x: Representation, y: Representation) -> str:
        """Return why the value says little of this pair, whatever the data; an empty string for
        most pairs."""
        return caveat_of(self.uninformative, self.invariant_to, x, y)

    def where(self, **parameters: Any) -> Measure:
        """Return the measure with parameters fixed; it is named after them,
        ``cka[estimator=debiased]``.

        Raises ``ValueError`` for a parameter or a choice the measure does not have.
        """
        parameters = {k: hashable(v) for k, v in parameters.items()}
        check_parameters(self.function, self.defaults, self.limits, parameters)
        fixed = dict(self.parameters) | parameters
        claims = claims_under(self.changes, {**self.defaults, **fixed})
        base = self.base or self  # claims always start from the declared ones
        if callable(base.min_samples):
            claims["min_samples"] = base.min_samples(**{**self.defaults, **fixed})
        for name in ("remarks", "uninformative"):
            claims[name] = partial(getattr(base, name), **{**self.defaults, **fixed})
        return replace(base, base=base, parameters=tuple(sorted(fixed.items())), **claims)

    @property
    def uninformative_when(self) -> str:
        """When the value is fixed, or near its extreme, whatever the data; empty where nothing is
        known."""
        return condition((self.base or self).uninformative)

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"<measure {self.spec}: {', '.join(filter(None, self._claims().values()))}>"

    def _repr_html_(self) -> str:
        return card(f"measure {self.spec}", {"definition": self.summary, **self._claims()})

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        unchanged = [name.replace("_", " ") for name in INVARIANCES if name in self.invariant_to]
        kind = (
            "similarity"
            if self.larger_is_more_similar
            else "metric"
            if self.metric
            else "dissimilarity"
        )
        return {
            "label": self.label,
            "kind": f"{kind} in {low:.4g} to {high:.4g}",
            "symmetry": "symmetric" if self.symmetric else "not symmetric",
            "invariance": f"invariant to {', '.join(unchanged)}"
            if unchanged
            else "no invariance claimed",
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and (self.function, self.spec) == (
            other.function,
            other.spec,
        )

    def __hash__(self) -> int:
        return hash((self.function, self.spec))

    def __reduce__(self) -> Any:
        # Travels by name, like a function; a measure from a user's file also by that file.
        module = sys.modules[self.function.__module__]
        if not isinstance(getattr(module, self.name, None), Measure):
            where = f"define it at the top level of a module, as {self.name}"
            raise ValueError(f"{self} cannot be sent to a worker process: {where}")
        file = getattr(module, "__file__", None)
        return restore, (self.function.__module__, self.function.__name__, self.parameters, file)

    def _check_pair(self, x: Representation, y: Representation) -> None:
        kinds = [library(r.source) for r in (x, y)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"{self}: X is a {kinds[0]} array and Y a {kinds[1]} array; convert one of them"
            )
        n, m = x.shape[0], y.shape[0]
        if n != m:
            hint = hint_of_counts(n, m) or transposition(x.shape, y.shape)
            raise ValueError(
                f"{self}: X {x.shape} and Y {y.shape} must have the same number of samples "
                f"(rows){hint}"
            )
        check_same_samples(str(self), x, y)
        if x.precision != y.precision:
            how = f"X is computed in {x.precision} and Y in {y.precision}"
            raise ValueError(
                f"{self}: {how}; give both the same, for example Representation(X, dtype='float64')"
            )
        if n < self.min_samples:
            raise Undefined(f"{self} needs at least {self.min_samples} samples; got {n}")
        finite(x), finite(y)

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The values that each parameter with a fixed list of them can take."""
        return choices_of(self.function)


def measure(
    *,
    label: str,
    family: Family,
    larger_is_more_similar: bool,
    range: tuple[float, float],
    symmetric: bool,
    reference: str,
    invariant_to: Set[str] = frozenset(),
    changes: tuple[Change, ...] = (),
    **claims: Any,
) -> Callable[[Callable[..., Any]], Measure]:
    """Declare a function of two representations to be a measure, and what is claimed of it.

    Parameters
    ----------
    label : what papers print.
    family : one of ``FAMILIES``.
    reference : a key of ``references.bib``.
    larger_is_more_similar : True for a similarity, False for a distance or difference.
    range : the smallest and the largest value it can take.
    symmetric : m(X, Y) = m(Y, X).
    invariant_to : transformations of either argument, independently, that leave the value unchanged
        (``INVARIANCES``).
    changes : claims that differ under some parameters, each made by :func:`when`.
    claims : ``metric`` (it is a distance and the triangle inequality holds), ``identity`` (X with
        itself gives the end of the range that means most similar, for all X), ``differentiable``,
        ``deterministic``, ``min_samples`` (a number, or a function of the parameters), ``limits``
        (smallest and largest value of parameters), ``version`` (raise it when the algorithm
        changes: results of older versions are computed again), ``extra`` (the optional dependency
        it needs), ``remarks`` (a function of what the measure is a function of; the numbers it
        returns by name are recorded beside the value, such as how exact that is), ``uninformative``
        (a function of the same, whose docstring says when the value is fixed or near its extreme
        whatever the data; it returns a sentence for such a pair and an empty string for others: a
        warning of a call, a caveat in a result).
    """

    def declare(function: Callable[..., Any]) -> Measure:
        base = Measure(
            function,
            function.__name__,
            label,
            family,
            larger_is_more_similar,
            range,
            symmetric,
            reference,
            implied(invariant_to),
            changes=changes,
            **{"version": version_of(function), **claims},
        )
        return base.where()

    return declare


def implied(invariances: Set[str]) -> frozenset[str]:
    """Close a set of invariances: affine contains linear and translation, linear contains
    orthogonal, and so on."""
    unknown = set(invariances) - set(INVARIANCES)
    if unknown:
        raise ValueError(f"unknown invariances {sorted(unknown)}; known: {', '.join(INVARIANCES)}")
    closed = set(invariances)
    if "affine" in closed or {"invertible_linear", "translation"} <= closed:
        closed |= {"affine", "invertible_linear", "translation"}
    if "invertible_linear" in closed:
        closed |= {"orthogonal", "isotropic_scaling"}
    if "orthogonal" in closed:
        closed.add("permutation")
    return frozenset(closed)


def claims_under(changes: tuple[Change, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims that differ from the declared ones when the parameters have these
    values."""
    claims: dict[str, Any] = {}
    for change in changes:
        if all(holds(values[k], wanted) for k, wanted in change.parameters.items()):
            claims |= change.claims
    return claims | (
        {"invariant_to": implied(claims["invariant_to"])} if "invariant_to" in claims else {}
    )


def check_parameters(
    function: Callable[..., Any],
    defaults: Mapping[str, Any],
    limits: Mapping[str, tuple[float, float]],
    parameters: Mapping[str, Any],
) -> None:
    """Raise ``ValueError`` for a parameter, a choice, a type or a size that the declared function
    does not take."""
    called, choices, hints = (
        function.__name__,
        choices_of(function),
        typing.get_type_hints(function),
    )
    for name, value in parameters.items():
        if name not in defaults:
            raise ValueError(f"{called} has no parameter {name!r}{did_you_mean(name, defaults)}")
        hint: Any = hints.get(name)
        if name in choices and value not in choices[name]:
            raise ValueError(
                f"{called}: {name} must be one of {', '.join(map(repr, choices[name]))}; got "
                f"{value!r}"
            )
        if hint in KINDS and not (
            isinstance(value, KINDS[hint]) and isinstance(value, bool) == (hint is bool)
        ):
            raise ValueError(f"{called}: {name} must be of type {hint.__name__}; got {value!r}")
        low, high = limits.get(name, (-math.inf, math.inf))
        if hint in (int, float) and not low <= value <= high:
            raise ValueError(f"{called}: {name} must be from {low:g} to {high:g}; got {value!r}")


def choices_of(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the values that each parameter with a fixed list of them can take."""
    hints = typing.get_type_hints(function)
    return {k: typing.get_args(h) for k, h in hints.items() if typing.get_origin(h) is Literal}


def specification(
    name: str, parameters: tuple[tuple[str, Any], ...], defaults: Mapping[str, Any]
) -> str:
    """Return the name with every parameter that is not at its default."""
    changed = [f"{k}={brief(v)}" for k, v in parameters if k not in defaults or defaults[k] != v]
    return f"{name}[{','.join(changed)}]" if changed else name


def in_range(value: Any, claimed: Any, precision: str) -> Any:
    """Return a value without the rounding errors that brought it out of the claimed range.

    Raises :class:`~resemblance.Undefined` for NaN, for infinity, and for what no rounding explains:
    the claim is wrong.
    """
    number = scalar(value)
    if math.isnan(number):
        raise Undefined(f"{claimed} returned NaN (not a number) for these data")
    if math.isinf(number):
        raise Undefined(f"{claimed}: the value overflows for these data; rescale them")
    low, high = claimed.range
    if outside(number, claimed.range, SLACK[precision]):
        raise Undefined(
            f"{claimed}: the value {number:.6g} is outside the declared range, {low:g} to {high:g}"
        )
    excess = number - min(max(number, low), high)
    rounding = 64 * float(np.finfo(precision).eps) * max(1.0, abs(number))
    return value - excess if 0 < abs(excess) <= rounding else value


def require(measure: Measure) -> None:
    """Raise ``ImportError`` naming the extra when the optional dependency of a measure is not
    installed."""
    for package in (name for name, extra in EXTRA.items() if extra == measure.extra):
        check(package)


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    return {k: p.default for k, p in list(inspect.signature(function).parameters.items())[2:]}


def _public_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature a measure is called with: X and Y, then the parameters."""
    signature = inspect.signature(function)
    arrays = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("X", "Y")
    ]
    return signature.replace(parameters=[*arrays, *list(signature.parameters.values())[2:]])


def outside(value: float, ends: tuple[float, float], rounding: float) -> bool:
    """Say whether a value is out of a range by more than rounding."""
    low, high = ends
    return not low - rounding * max(1.0, abs(low)) <= value <= high + rounding * max(1.0, abs(high))


def holds(value: Any, wanted: Any) -> bool:
    """Say whether a value is the wanted one, or satisfies the wanted condition."""
    return bool(wanted(value)) if callable(wanted) else value == wanted


def _as_0d(value: Any, array: Array) -> Array:
    return (
        value
        if hasattr(value, "dtype") and not isinstance(value, np.generic)
        else like(float(value), array)
    )


def argument(data: Any, name: str) -> Representation:
    """Make a representation that error messages can name: X or Y, unless it is a file, which has a
    name."""
    return as_representation(data, "" if isinstance(data, str | Path) else name)


def hashable(value: Any) -> Any:
    """Return a value with every array and list of it as a tuple."""
    value = (
        value.tolist() if hasattr(value, "tolist") else value
    )  # an array, tensor or scalar of any library
    return tuple(hashable(v) for v in value) if isinstance(value, list | tuple) else value


def brief(value: Any) -> str:
    """Return how a specification shows a value: a long tuple as its length and hash."""
    if not isinstance(value, tuple) or len(value) <= 8:
        return str(value)
    return (
        f"<{len(value)} values {hashlib.blake2b(repr(value).encode(), digest_size=4).hexdigest()}>"
    )
