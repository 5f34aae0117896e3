"""What measures and statistics share: a function declared with claims, which travels by its name
and takes parameters."""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
import typing
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from .arrays import scalar
from .modules import restore
from .notebook import card
from .representation import Representation, Undefined, as_representation
from .suggestions import did_you_mean

INVARIANCES = (
    "permutation",
    "orthogonal",
    "isotropic_scaling",
    "invertible_linear",
    "translation",
    "affine",
)
# of both arguments together: an orthogonal map of the samples that leaves the means as they are
JOINT_INVARIANCES = ("sample_rotation",)
SLACK = {"float64": 1e-6, "float32": 1e-3}  # of a value, by the precision it is computed in
KINDS: dict[Any, Any] = {bool: bool, int: int, float: (int, float)}
LONGEST = 8  # values that a specification spells out


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


class Declared(Protocol):
    """A measure or a statistic, as far as the functions of this module use it."""

    __dataclass_fields__: typing.ClassVar[dict[str, Any]]

    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def reference(self) -> str: ...
    @property
    def spec(self) -> str: ...
    @property
    def parameters(self) -> tuple[tuple[str, Any], ...]: ...
    @property
    def defaults(self) -> Mapping[str, Any]: ...
    @property
    def limits(self) -> Mapping[str, tuple[float, float]]: ...
    @property
    def changes(self) -> tuple[Change, ...]: ...
    def _claims(self) -> dict[str, str]: ...


D = TypeVar("D", bound=Declared)


# ---------------------------------------------------------------------- what both do as an object


def settle(declared: Declared, defaults: Mapping[str, Any], **attributes: Any) -> None:
    """Complete a frozen dataclass of a function: its specification, and the name, docstring and
    module of the function."""
    function = declared.function
    spec = specification(declared.name, declared.parameters, defaults)
    function_like = {
        "__doc__": function.__doc__,
        "__wrapped__": function,
        "__name__": declared.name,
        "__module__": function.__module__,
    }
    for name, value in {**function_like, "defaults": defaults, "spec": spec, **attributes}.items():
        object.__setattr__(declared, name, value)


def fixed_parameters(declared: Declared, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters fixed so far together with new ones.

    Raises ``ValueError`` for a parameter or a choice that the function does not have.
    """
    parameters = {name: hashable(value) for name, value in parameters.items()}
    check_parameters(declared.function, declared.defaults, declared.limits, parameters)
    return dict(declared.parameters) | parameters


def with_parameters(base: D, fixed: Mapping[str, Any], **claims: Any) -> D:
    """Return the declared function with these parameters fixed and the claims that hold for
    them."""
    changed = claims_under(base.changes, {**base.defaults, **fixed})
    parameters = tuple(sorted(fixed.items()))
    return replace(base, **{"base": base, "parameters": parameters, **changed, **claims})


def summary(declared: Declared) -> str:
    """The first sentence of the docstring."""
    return (inspect.getdoc(declared.function) or "").split("\n\n")[0].replace("\n", " ")


def spec_of(declared: Declared) -> str:
    """Return the specification: what ``str`` gives."""
    return declared.spec


def in_brief(declared: Declared) -> str:
    """Return the specification and the claims in one line: what ``repr`` gives."""
    claims = ", ".join(filter(None, declared._claims().values()))
    return f"<{_kind(declared)} {declared.spec}: {claims}>"


def as_card(declared: Declared) -> str:
    """Return the definition and the claims as HTML: what a notebook shows."""
    lines: dict[str, object] = {"definition": summary(declared), **declared._claims()}
    lines |= {"family": declared.family.replace("_", " "), "reference": declared.reference}
    lines |= dict(declared.parameters)
    return card(f"{_kind(declared)} {declared.spec}", lines)


def is_same(declared: Declared, other: object) -> bool:
    """Say whether both are the same function with the same parameters."""
    same: bool = type(other) is type(declared) and _identity(declared) == _identity(other)
    return same


def hash_of(declared: Declared) -> int:
    """Return a hash that agrees with :func:`is_same`."""
    return hash(_identity(declared))


def by_name(declared: Declared) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return how to pickle it: by its name, like a function; from a user's file also by that file.

    Raises ``ValueError`` when its module does not hold it under its name.
    """
    module = sys.modules[declared.function.__module__]
    if not isinstance(getattr(module, declared.name, None), type(declared)):
        where = f"define it at the top level of a module, as {declared.name}"
        raise ValueError(f"{declared} cannot be sent to a worker process: {where}")
    file = getattr(module, "__file__", None)
    return restore, (module.__name__, declared.name, declared.parameters, file)


def invariance(names: Set[str]) -> str:
    """Return what leaves a value unchanged, in words."""
    known = INVARIANCES + JOINT_INVARIANCES
    unchanged = [name.replace("_", " ") for name in known if name in names]
    return f"invariant to {', '.join(unchanged)}" if unchanged else "no invariance claimed"


def _kind(declared: Declared) -> str:
    return type(declared).__name__.lower()


def _identity(declared: Any) -> tuple[Callable[..., Any], str]:
    return declared.function, declared.spec


# ------------------------------------------------------------------------------------------- claims


def implied(invariances: Set[str]) -> frozenset[str]:
    """Close a set of invariances: affine contains linear and translation, linear contains
    orthogonal, and so on."""
    known = INVARIANCES + JOINT_INVARIANCES
    unknown = set(invariances) - set(known)
    if unknown:
        raise ValueError(f"unknown invariances {sorted(unknown)}; known: {', '.join(known)}")
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
        if all(holds(values[name], wanted) for name, wanted in change.parameters.items()):
            claims |= change.claims
    if "invariant_to" in claims:
        claims["invariant_to"] = implied(claims["invariant_to"])
    return claims


def holds(value: Any, wanted: Any) -> bool:
    """Say whether a value is the wanted one, or satisfies the wanted condition."""
    return bool(wanted(value)) if callable(wanted) else value == wanted


# --------------------------------------------------------------------------------------- parameters


def check_parameters(
    function: Callable[..., Any],
    defaults: Mapping[str, Any],
    limits: Mapping[str, tuple[float, float]],
    parameters: Mapping[str, Any],
) -> None:
    """Raise ``ValueError`` for a parameter, a choice, a type or a size that the declared function
    does not take."""
    called = function.__name__
    choices, hints = choices_of(function), typing.get_type_hints(function)
    for name, value in parameters.items():
        if name not in defaults:
            raise ValueError(f"{called} has no parameter {name!r}{did_you_mean(name, defaults)}")
        if name in choices and value not in choices[name]:
            known = ", ".join(map(repr, choices[name]))
            raise ValueError(f"{called}: {name} must be one of {known}; got {value!r}")
        hint: Any = hints.get(name)
        if hint in KINDS and not _is_of(hint, value):
            raise ValueError(f"{called}: {name} must be of type {hint.__name__}; got {value!r}")
        low, high = limits.get(name, (-math.inf, math.inf))
        if hint in (int, float) and not low <= value <= high:
            raise ValueError(f"{called}: {name} must be from {low:g} to {high:g}; got {value!r}")


def _is_of(hint: Any, value: Any) -> bool:
    return isinstance(value, KINDS[hint]) and isinstance(value, bool) == (hint is bool)


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


def hashable(value: Any) -> Any:
    """Return a value with every array (of any library) and list in it as a tuple."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(hashable(v) for v in value) if isinstance(value, list | tuple) else value


def brief(value: Any) -> str:
    """Return how a specification shows a value: a long tuple as its length and hash."""
    if not isinstance(value, tuple) or len(value) <= LONGEST:
        return str(value)
    digest = hashlib.blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return f"<{len(value)} values {digest}>"


# ----------------------------------------------------------------------------- arguments and values


def argument(data: Any, name: str) -> Representation:
    """Make a representation that error messages can name: X or Y, unless it is a file, which has a
    name."""
    return as_representation(data, "" if isinstance(data, str | Path) else name)


def in_range(value: Any, declared: Any, precision: str) -> Any:
    """Return a value without the rounding errors that brought it out of the claimed range.

    Raises :class:`~resemblance.Undefined` for NaN, for infinity, and for what no rounding explains:
    the claim is wrong. Raises ``ValueError`` for what is no number.
    """
    if value is None or getattr(value, "shape", ()) != ():
        what = "None" if value is None else f"an array of shape {tuple(value.shape)}"
        raise ValueError(f"{declared} must return one number; it returned {what}")
    number = scalar(value)
    if math.isnan(number):
        raise Undefined(f"{declared} returned NaN (not a number) for these data")
    if math.isinf(number):
        raise Undefined(f"{declared}: the value overflows for these data; rescale them")
    low, high = declared.range
    if outside(number, declared.range, SLACK[precision]):
        raise Undefined(
            f"{declared}: the value {number:.6g} is outside the declared range, {low:g} to {high:g}"
        )
    excess = number - min(max(number, low), high)
    rounding = 64 * float(np.finfo(precision).eps) * max(1.0, abs(number))
    return value - excess if 0 < abs(excess) <= rounding else value


def outside(value: float, ends: tuple[float, float], rounding: float) -> bool:
    """Say whether a value is out of a range by more than rounding."""
    low, high = ends
    return not low - rounding * max(1.0, abs(low)) <= value <= high + rounding * max(1.0, abs(high))
