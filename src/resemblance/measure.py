"""A measure: a plain function of two representations, with claims that the test suite proves."""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from .arrays import Array, carries_gradient, library, like, scalar
from .caveat import UninformativeWarning, caveat_of, condition, no_caveat, transposition
from .declared import (
    Change,
    argument,
    as_card,
    by_name,
    choices_of,
    claims_under,
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
from .extras import EXTRA, check
from .faces import AllPairs, Product
from .inputs import hint_of_counts
from .modules import version_of
from .representation import (
    Representation,
    Undefined,
    check_same_samples,
    comparing,
    finite,
    without_gradient,
)
from .streamed import check_streamed

Family = Literal[
    "cca", "alignment", "similarity_matrix", "neighbours", "topology", "statistic", "outputs"
]
FAMILIES: tuple[str, ...] = typing.get_args(Family)
Rows = Literal["samples", "positions"]
BY_POSITIONS: frozenset[str] = frozenset({"cca", "alignment", "neighbours", "topology"})


FUNCTIONS = ("diagnostics", "uninformative", "left_out", "chance")  # claims with the parameters


def no_diagnostics(x: Representation, y: Representation, **parameters: Any) -> dict[str, float]:
    """Return none: the default."""
    return {}


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
    rows_of_maps: Rows = "samples"
    # Where the measure is declared, min_samples may be a function of its parameters, and
    # diagnostics and uninformative take them, too; in every measure these are a number and
    # functions of (x, y).
    min_samples: Any = 2
    version: int = 1
    extra: str | None = None
    diagnostics: Callable[..., Mapping[str, float]] = no_diagnostics
    uninformative: Callable[..., str] = no_caveat
    # Optional faces, functions of the parameters, too, where they are declared: see `measure`.
    product: Product | None = None
    left_out: Callable[..., np.ndarray] | None = None
    chance: Callable[..., float] | None = None
    all_pairs: AllPairs | None = None
    streams_with: Literal["squares", "directions"] | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    changes: tuple[Change, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    base: Measure | None = None
    defaults: Mapping[str, Any] = field(init=False)  # the parameters, with their default values
    # The name with every parameter that is not at its default: the identity of a result.
    spec: str = field(init=False)

    def __post_init__(self) -> None:
        signature = _public_signature(self.function)
        defaults = {p.name: p.default for p in list(signature.parameters.values())[2:]}
        settle(self, defaults, __signature__=signature)

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
        self.check_pair(x, y)
        require(self)
        if not self.differentiable:
            x, y = without_gradient(x), without_gradient(y)
        if self.all_pairs and self.is_in_blocks(x, y):
            value = self.all_pairs([x], [y]).values[0, 0]
        else:
            with comparing(x, y):
                value = self.function(x, y, **dict(self.parameters))
        value = in_range(value, self, x.precision)
        if isinstance(x.source, np.ndarray):
            return scalar(value)
        return _as_0d(value if self.differentiable else scalar(value), x.array)

    def is_in_blocks(self, *representations: Representation) -> bool:
        """Say whether pairs of these are computed by ``all_pairs``, not by the plain function."""
        if self.all_pairs is None or any(
            r.origin or carries_gradient(r.source) for r in representations
        ):
            return False
        above = self.all_pairs.above
        return above is not None and representations[0].shape[0] > above

    def caveat(self, x: Representation, y: Representation) -> str:
        """Return why the value says little of this pair, whatever the data; an empty string for
        most pairs."""
        return caveat_of(self.uninformative, self.invariant_to, x, y)

    def where(self, **parameters: Any) -> Measure:
        """Return the measure with parameters fixed; it is named after them,
        ``cka[estimator=debiased]``.

        Raises ``ValueError`` for a parameter or a choice the measure does not have.
        """
        fixed, base = fixed_parameters(self, parameters), self.base or self
        values = {**self.defaults, **fixed}
        changed = claims_under(base.changes, values)
        claims = {}
        for name in FUNCTIONS:
            claim = changed.get(name, getattr(base, name))
            claims[name] = claim and partial(claim, **values)
        product = changed.get("product", base.product)
        claims["product"] = product and product.bound(values)
        together = changed.get("all_pairs", base.all_pairs)
        claims["all_pairs"] = together and together.bound(values)
        if callable(base.min_samples):
            claims["min_samples"] = base.min_samples(**values)
        return with_parameters(base, fixed, **claims)

    @property
    def uninformative_when(self) -> str:
        """When the value is fixed, or near its extreme, whatever the data; empty where nothing is
        known."""
        return condition((self.base or self).uninformative)

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        difference = "metric" if self.metric else "dissimilarity"
        kind = "similarity" if self.larger_is_more_similar else difference
        return {
            "label": self.label,
            "kind": f"{kind} in {low:.4g} to {high:.4g}",
            "symmetry": "symmetric" if self.symmetric else "not symmetric",
            "invariance": invariance(self.invariant_to),
        }

    def check_pair(self, x: Representation, y: Representation) -> None:
        """Raise ``ValueError`` for a pair that cannot be compared, :class:`~resemblance.Undefined`
        for too few samples and for values that are not finite."""
        kinds = [library(r.source) for r in (x, y)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"{self}: X is a {kinds[0]} array and Y a {kinds[1]} array; convert one of them"
            )
        n, m = x.n_samples, y.n_samples
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
        if x.origin or y.origin:
            check_streamed(self, x, y)

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
        ``deterministic``, ``rows_of_maps`` (what its rows are where layers are maps of channels, as
        in the ReSi suite: ``"samples"``, each map flattened, or ``"positions"`` of maps of one
        size, with their channels; by default, positions for the families in ``BY_POSITIONS``),
        ``min_samples`` (a number, or a function of the parameters), ``limits``
        (smallest and largest value of parameters), ``version`` (raise it when the algorithm
        changes: results of older versions are computed again), ``extra`` (the optional dependency
        it needs), ``diagnostics`` (a function of the same arguments; the numbers it returns by
        name are recorded with the value, such as how exact it is), ``uninformative``
        (a function of the same, whose docstring says when the value is fixed or near its extreme
        whatever the data; it returns a sentence for such a pair and an empty string for others: a
        warning of a call, a caveat in a result). Optional faces make inference exact or cheap, and
        large data possible; a measure without them works everywhere: ``product`` (a
        :class:`Product`: exact permutation moments), ``left_out`` (a function of the same
        arguments; the (n,) values without each sample), ``chance`` (a function of the same; the
        exact mean of the value over all orders of the samples, at no more than the cost of the
        value), ``all_pairs`` (an :class:`AllPairs`: many pairs in blocks of samples). And
        ``streams_with``: ``"squares"`` or ``"directions"``, what a stream adds up for it.
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
            **{"version": version_of(function), "rows_of_maps": _rows_of(family), **claims},
        )
        return base.where()

    return declare


def _rows_of(family: str) -> Rows:
    """Return what the rows of maps are for most measures of a family."""
    return "positions" if family in BY_POSITIONS else "samples"


def require(measure: Measure) -> None:
    """Raise ``ImportError`` naming the extra when the optional dependency of a measure is not
    installed."""
    for package in (name for name, extra in EXTRA.items() if extra == measure.extra):
        check(package)


def _public_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature a measure is called with: X and Y, then the parameters."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[2:]
    arrays = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("X", "Y")]
    return signature.replace(parameters=[*arrays, *parameters])


def _as_0d(value: Any, array: Array) -> Array:
    is_array = hasattr(value, "dtype") and not isinstance(value, np.generic)
    return value if is_array else like(float(value), array)
