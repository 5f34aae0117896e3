"""A statistic: a plain function of one representation, and what else it needs, with claims that the
tests prove."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .declared import (
    Change,
    argument,
    as_card,
    by_name,
    choices_of,
    fixed_parameters,
    hash_of,
    implied,
    in_brief,
    in_range,
    invariance,
    is_same,
    settle,
    spec_of,
    summary,
    with_parameters,
)
from .modules import version_of
from .representation import Representation, Undefined, finite
from .roles import ROLES
from .streamed import need_samples_at_hand
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
        settle(self, defaults, needs=needs)

    def __call__(self, X: Any, *data: Any, **parameters: Any) -> float:
        """Return the value of the statistic for a representation."""
        statistic, inputs = self.with_data(parameters)
        x = argument(X, "X")
        return statistic.evaluate(x, *self.prepare(x, *data, **inputs))

    def with_data(self, named: Mapping[str, Any]) -> tuple[Statistic, dict[str, Any]]:
        """Split arguments by name: the statistic with its parameters fixed, and what it needs in
        addition to X."""
        inputs = {name: named[name] for name in self.needs if name in named}
        parameters = {name: value for name, value in named.items() if name not in inputs}
        return self.where(**parameters) if parameters else self, inputs

    def prepare(self, x: Representation, *data: Any, **named: Any) -> tuple[Any, ...]:
        """Check what the statistic needs in addition to the representation; return it in order.

        Labels become integers from 0; arrays become representations.
        """
        inputs = dict(zip(self.needs, data)) | named
        for name in set(self.needs[: len(data)]) & set(named):
            raise ValueError(f"{self.name}: {name} is given twice, by position and by name")
        if len(data) > len(self.needs) or len(inputs) != len(self.needs):
            wanted = ", ".join(("X", *self.needs))
            raise ValueError(
                f"{self.name} is called as {self.name}({wanted}); parameters are given by name"
            )
        return tuple(ROLES[name](self.name, x, inputs[name]) for name in self.needs)

    def evaluate(self, x: Representation, *prepared: Any) -> float:
        """Check the representation and compute, from what :meth:`prepare` returned."""
        n, d = x.shape
        if n < self.min_samples:
            raise Undefined(f"{self} needs at least {self.min_samples} samples; got {n}")
        if d < self.min_features:
            raise Undefined(f"{self} needs at least {self.min_features} features; got {d}")
        need_samples_at_hand(str(self), x)
        finite(x)
        value = float(self.function(x, *prepared, **dict(self.parameters)))
        return float(in_range(value, self, "float64"))

    def where(self, **parameters: Any) -> Statistic:
        """Return the statistic with parameters fixed; it is named after them,
        ``feature_split[rdm=euclidean]``.

        Raises ``ValueError`` for a parameter or a choice the statistic does not have.
        """
        return with_parameters(self.base or self, fixed_parameters(self, parameters))

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        words = {True: "larger is more stable", False: "smaller is more stable", None: ""}
        return {
            "label": self.label,
            "range": f"in {low:.4g} to {high:.4g}",
            "direction": words[self.larger_is_more_stable],
            "invariance": invariance(self.invariant_to),
            "needs": f"needs {', '.join(self.needs)}" if self.needs else "",
        }

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The values that each parameter with a fixed list of them can take."""
        return choices_of(self.function)

    summary = property(summary)
    __str__ = spec_of
    __repr__ = in_brief
    _repr_html_ = as_card
    __eq__ = is_same
    __hash__ = hash_of
    __reduce__ = by_name


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
