"""A measure: a plain function of two representations, with claims that the test suite proves."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import math
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, like, scalar
from .representation import Representation, Undefined, as_representation, comparing, finite

INVARIANCES = ("permutation", "orthogonal", "isotropic_scaling", "invertible_linear", "translation", "affine")
FAMILIES = ("cca", "alignment", "similarity_matrix", "neighbours", "topology", "statistic", "outputs")
Family = Literal["cca", "alignment", "similarity_matrix", "neighbours", "topology", "statistic", "outputs"]


class Change(NamedTuple):
    """Claims that differ when some parameters have these values, or values that satisfy these conditions."""

    parameters: Mapping[str, Any]
    claims: Mapping[str, Any]


def when(parameters: Mapping[str, Any], **claims: Any) -> Change:
    """State which claims change under which parameters, e.g. ``when({"squared": True}, metric=False)``.

    A value may be a condition: ``when({"ridge": lambda ridge: ridge > 0}, ...)``.
    """
    return Change(parameters, claims)


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """A function of two representations together with what is claimed of it.

    Call it with two (n_samples, n_features) arrays whose rows are the same samples in the same order. It returns a
    ``float`` for NumPy input and a 0-d tensor of the same library otherwise. It raises ``ValueError`` for input that
    cannot be compared and :class:`~resemblance.Undefined` (a ``ValueError``) when the data leave it without a value;
    it never returns NaN.
    """

    function: Callable[..., Any] = field()
    name: str
    label: str
    family: Family
    larger_is_more_similar: bool
    range: tuple[float, float]
    symmetric: bool
    reference: str
    invariant_to: frozenset[str] = frozenset()
    metric: bool = False
    differentiable: bool = True
    deterministic: bool = True
    min_samples: int = 2
    version: int = 1
    extra: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    changes: tuple[Change, ...] = field(default=(), repr=False)
    base: Measure | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__module__", self.function.__module__)

    def __call__(self, X: Any, Y: Any, **parameters: Any) -> Any:
        """Return the value of the measure for two representations of the same samples."""
        measure = self.where(**parameters) if parameters else self
        x = _argument(X, "X")
        y = x if Y is X else _argument(Y, "Y")
        return measure.evaluate(x, y)

    def evaluate(self, x: Representation, y: Representation) -> Any:
        """Check the pair and compute: what a single call and :func:`resemblance.compare` both do."""
        self._check_pair(x, y)
        require(self)
        with comparing(x, y):
            value = self.function(x, y, **dict(self.parameters))
        number = scalar(value)
        if not math.isfinite(number):
            raise Undefined(f"{self}: the value overflows for these data; rescale both representations")
        if isinstance(x.source, np.ndarray):
            return number
        return _as_0d(value if self.differentiable else number, x.array)

    def where(self, **parameters: Any) -> Measure:
        """Return the measure with parameters fixed; it is named after them, ``cka[estimator=debiased]``.

        Raises ``ValueError`` for a parameter or a choice the measure does not have.
        """
        self._check_parameters(parameters)
        fixed = dict(self.parameters) | {k: _hashable(v) for k, v in parameters.items()}
        claims: dict[str, Any] = {}
        for change in self.changes:
            if all(_holds(self._value(fixed, k), wanted) for k, wanted in change.parameters.items()):
                claims |= change.claims
        if "invariant_to" in claims:
            claims["invariant_to"] = implied(claims["invariant_to"])
        base = self.base or self  # claims always start from the declared ones
        return replace(base, base=base, parameters=tuple(sorted(fixed.items())), **claims)

    @property
    def spec(self) -> str:
        """The name with every parameter that differs from its default: the identity of a result."""
        default = self.defaults
        changed = [f"{k}={_brief(v)}" for k, v in self.parameters if k not in default or default[k] != v]
        return f"{self.name}[{','.join(changed)}]" if changed else self.name

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters after the arrays, with their default values."""
        signature = inspect.signature(self.function)
        return {k: p.default for k, p in list(signature.parameters.items())[2:]}

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"<measure {self.spec}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and (self.function, self.spec) == (other.function, other.spec)

    def __hash__(self) -> int:
        return hash((self.function, self.spec))

    def __reduce__(self) -> Any:
        # Travels by name, like a function; a measure from a user's file also by that file.
        module = sys.modules[self.function.__module__]
        file = getattr(module, "__file__", None)
        return _restore, (self.function.__module__, self.function.__name__, self.parameters, file)

    def _value(self, fixed: Mapping[str, Any], name: str) -> Any:
        return fixed[name] if name in fixed else self.defaults[name]

    def _check_pair(self, x: Representation, y: Representation) -> None:
        if type(x.source) is not type(y.source) and not all(isinstance(r.source, np.ndarray) for r in (x, y)):
            kinds = [type(r.source).__module__.split(".")[0] for r in (x, y)]
            raise ValueError(f"{self}: X is a {kinds[0]} array and Y a {kinds[1]} array; convert one of them")
        (n, d), (m, e) = x.shape, y.shape
        if n != m:
            hint = "; did you pass (n_features, n_samples)? Transpose both." if d == e else ""
            raise ValueError(f"{self}: X {x.shape} and Y {y.shape} must have the same number of samples (rows){hint}")
        if x.ids is not None and y.ids is not None and x.ids != y.ids:
            order = "in another order" if set(x.ids) == set(y.ids) else "of other samples"
            raise ValueError(f"{self}: the sample ids of Y are {order} than those of X; see resemblance.join_samples")
        if x.precision != y.precision:
            how = f"X is computed in {x.precision} and Y in {y.precision}"
            raise ValueError(f"{self}: {how}; give both the same, for example Representation(X, dtype='float64')")
        if n < self.min_samples:
            raise Undefined(f"{self} needs at least {self.min_samples} samples; got {n}")
        finite(x), finite(y)

    def _check_parameters(self, parameters: Mapping[str, Any]) -> None:
        known = self.defaults
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{self.name} has no parameter {name!r}{did_you_mean(name, known)}")
            choices = self.choices.get(name)
            if choices and value not in choices:
                raise ValueError(f"{self.name}: {name} must be one of {', '.join(map(repr, choices))}; got {value!r}")

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The values that each parameter with a fixed list of them can take."""
        hints = typing.get_type_hints(self.function)
        return {k: typing.get_args(h) for k, h in hints.items() if typing.get_origin(h) is Literal}


def measure(
    *,
    label: str,
    family: Family,
    larger_is_more_similar: bool,
    range: tuple[float, float],
    symmetric: bool,
    reference: str,
    invariant_to: set[str] = frozenset(),  # type: ignore[assignment]
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
    invariant_to : transformations of either argument, independently, that leave the value unchanged (``INVARIANCES``).
    changes : claims that differ under some parameters, each made by :func:`when`.
    claims : ``metric`` (the triangle inequality holds), ``differentiable``, ``deterministic``, ``min_samples``,
        ``version`` (raise it when the algorithm changes: results of older versions are computed again), ``extra``
        (the optional dependency it needs).
    """

    def declare(function: Callable[..., Any]) -> Measure:
        base = Measure(
            function, function.__name__, label, family, larger_is_more_similar, range, symmetric, reference,
            implied(invariant_to), changes=changes, **claims,
        )  # fmt: skip
        return base.where()

    return declare


def implied(invariances: set[str] | frozenset[str]) -> frozenset[str]:
    """Close a set of invariances: affine contains linear and translation, linear contains orthogonal, and so on."""
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


def require(measure: Measure) -> None:
    """Raise ``ImportError`` naming the extra when the optional dependency of a measure is not installed."""
    package = {"topology": "numba", "ot": "ot"}.get(measure.extra or "")
    if package and importlib.util.find_spec(package) is None:
        raise ImportError(f'{measure.name} needs {package}: pip install "resemblance[{measure.extra}]"')


def did_you_mean(name: str, known: typing.Iterable[str], show: typing.Iterable[str] | None = None) -> str:
    """Return the end of an error message: the closest known name, or all of them (or those to ``show``)."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(known if show is None else show)}" if known else "; it has none"


@lru_cache(maxsize=256)
def views_used(measure: Measure, n: int, d: int) -> dict[Any, int]:
    """Return the views of one representation that a measure takes, each with its bytes at (n, d).

    Found by running the measure on a small probe and scaling the shapes found there, so a measure never declares
    what it needs. A measure that does not run on the probe is taken to need one n x n matrix.
    """
    rows, columns = (23, 7) if d <= n else (23, 31)
    scale = {rows: n, columns: d, rows * (rows - 1) // 2: n * (n - 1) // 2}
    noise = np.random.default_rng(0).standard_normal((2, rows, columns))
    x, y = Representation(noise[0]), Representation(noise[1])
    try:
        measure.evaluate(x, y)
    except (ValueError, np.linalg.LinAlgError):
        return {(measure, "unknown"): 8 * n * n}
    return {key: _bytes(value, scale) for key, value in x._views.items()}


def _bytes(value: Any, scale: Mapping[int, int]) -> int:
    if isinstance(value, tuple):
        return sum(_bytes(part, scale) for part in value)
    if not isinstance(value, np.ndarray):
        return 0
    return int(math.prod(scale.get(length, length) for length in value.shape) * value.itemsize)


def _holds(value: Any, wanted: Any) -> bool:
    return bool(wanted(value)) if callable(wanted) else value == wanted


def _as_0d(value: Any, array: Array) -> Array:
    return value if hasattr(value, "dtype") and not isinstance(value, np.generic) else like(float(value), array)


def _argument(data: Any, name: str) -> Representation:
    """Make a representation that error messages can name: X or Y, unless it is a file, which has a name."""
    return as_representation(data, "" if isinstance(data, str | Path) else name)


def _hashable(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value  # an array, tensor or scalar of any library
    return tuple(_hashable(v) for v in value) if isinstance(value, list | tuple) else value


def _brief(value: Any) -> str:
    if not isinstance(value, tuple) or len(value) <= 8:
        return str(value)
    return f"<{len(value)} values {hashlib.blake2b(repr(value).encode(), digest_size=4).hexdigest()}>"


def _restore(module: str, name: str, parameters: tuple[tuple[str, Any], ...], file: str | None) -> Measure:
    try:
        found: Measure = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        if file is None:
            raise
        found = getattr(load_module(file, module), name)
    return found.where(**dict(parameters))


def load_module(file: str, name: str) -> Any:
    """Import a Python file that is not part of a package (a user's own measures)."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
