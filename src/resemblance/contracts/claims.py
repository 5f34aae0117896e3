"""The base class of measures and statistics, a function with declared claims and parameters; and
the claims longer than a word or a number."""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial, wraps
from numbers import Number
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from ..base.arrays import EPSILONS, scalar
from ..base.exceptions import UndefinedError
from ..base.function_cache import cached_by_function
from ..base.text import check_choice, did_you_mean, html_fact_table
from ..base.user_modules import function_version, restore_function
from ..data.representation import Representation, as_representation
from ..intermediates.pair_matrix import PairMatrix, expected_inner
from ..intermediates.rectangles import (
    MAX_STORED_SAMPLES,
    all_row_column_pairs,
    matrix_inner_products,
)
from .folds import HELD_OUT, Fit, held_out_claims

INVARIANCES = (
    "permutation", "orthogonal", "isotropic_scaling", "invertible_linear", "translation", "affine",
)  # fmt: skip
# The invariance to one orthogonal map of the samples, applied to X and Y, that keeps the means
JOINT_INVARIANCES = ("sample_rotation",)
SAMPLE_ROTATION = {"sample_rotation"}
COSINE_INVARIANCES = {"orthogonal", "isotropic_scaling"}
RIGID_INVARIANCES = {"orthogonal", "translation"}
SHAPE_INVARIANCES = COSINE_INVARIANCES | RIGID_INVARIANCES
COLUMN_INVARIANCES = {"permutation", "isotropic_scaling", "translation"}
# The relative tolerance of the claimed range, by the precision of computation
RANGE_TOLERANCE = {"float64": 1e-6, "float32": 1e-3}
CHANCE_KEY = "chance"  # the diagnostic with the mean over all permutations of the samples
ACCEPTED_TYPES: dict[Any, Any] = {bool: bool, int: int, float: (int, float)}
_type_hints = cached_by_function(typing.get_type_hints)  # slow even for few parameters
Claim = TypeVar("Claim")
P = ParamSpec("P")
T = TypeVar("T")
# The parameters of kernels in other packages, in terms of `width` and `bandwidth`
WIDTH_HINT = (
    "; the width of the kernel is width={}, in units of the data, or bandwidth, in medians of the "
    "distances"
)
KERNEL_PARAMETER_HINTS = {
    **dict.fromkeys(("sigma", "rbf_sigma"), WIDTH_HINT.format("sigma")),
    **dict.fromkeys(
        ("length_scale", "lengthscale"),
        WIDTH_HINT.format("length_scale for exp(-d²/(2 length_scale²)) and exp(-d/length_scale)"),
    ),
    "gamma": WIDTH_HINT.format("(2*gamma)**-0.5 for exp(-gamma d²) and 1/gamma for exp(-gamma d)"),
    "kernel": "; the kernel is Gaussian, kernel='rbf' of cka; leave kernel= out",
}
MAX_SPELLED_VALUES = 8  # a specification shows a longer tuple as a hash


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DeclaredFunction(ABC):
    """A function of representations with declared claims, such as range and invariances.

    Two declared functions are equal if the functions and the parameters are equal. Pickling stores
    the name, as for a plain function.
    """

    function: Callable[..., Any]
    name: str
    label: str
    family: str
    range: tuple[float, float]
    citation: str
    invariant_to: frozenset[str] = frozenset()
    min_samples: int = 2
    version: int = 1
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    excludes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: tuple[tuple[str, Any], ...] = ()
    claims_for: Callable[..., Mapping[str, Any]] | None = None  # a function of the parameters
    is_declared: bool = True  # False for a plain function, of which nothing is claimed
    declared: Mapping[str, Any]  # the claims before the parameters changed any claim
    defaults: Mapping[str, Any] = field(init=False)  # the parameters with default values
    # The name with every parameter that is not at the default: the identity of a result
    spec: str = field(init=False)

    @classmethod
    def _declare(cls, function: Callable[..., Any], claims: Mapping[str, Any]) -> Self:
        """Return a declared function with the claims for the default parameters. ``claims``: by
        name, before the parameters change any claim."""
        claims = {"version": function_version(function), **claims}
        return cls(
            function=function, name=function.__name__, declared=claims, **claims
        ).with_parameters()

    def with_parameters(self, **parameters: Any) -> Self:
        """Return a copy of this function with fixed parameters, which become part of the
        specification: ``cka[estimator=debiased]``.

        Raises ``ValueError`` for an unknown parameter, for an unknown choice of a parameter, and
        for two parameters that exclude each other.
        """
        parameters = {name: as_hashable(value) for name, value in parameters.items()}
        self._check(parameters)
        all_parameters = dict(self.parameters) | parameters
        if all_parameters.get(HELD_OUT, 0) is None:
            del all_parameters[HELD_OUT]
        self._check_excluded(all_parameters)
        claims = resolve_claims(self.declared, {**self.defaults, **all_parameters})
        return type(self)(
            function=self.function,
            name=self.name,
            parameters=tuple(sorted(all_parameters.items())),
            declared=self.declared,
            **claims,
        )

    def claim(self, name: str) -> Callable[[Claim], Claim]:
        """Return a decorator for declaring a function as the claim ``name`` below the formula, for
        long claims such as the warning ``uninformative``.

        Use the decorator only in the module of the declared function, before any other code reads
        the claims.
        """

        def added(value: Claim) -> Claim:
            vars(self).update(vars(self._declare(self.function, {**self.declared, name: value})))
            return value

        return added

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The allowed values of every parameter annotated with a ``Literal``."""
        hints = _type_hints(self.function)
        return {k: typing.get_args(h) for k, h in hints.items() if typing.get_origin(h) is Literal}

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"<{self._kind} {self.spec}: {', '.join(filter(None, self._claims().values()))}>"

    def _repr_html_(self) -> str:
        """Return the definition and the claims as HTML, for display in a notebook."""
        lines: dict[str, object] = {"definition": self.summary, **self._claims()}
        lines |= {"family": self.family.replace("_", " "), "citation": self.citation}
        return html_fact_table(f"{self._kind} {self.spec}", lines | dict(self.parameters))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeclaredFunction) or type(other) is not type(self):
            return False
        return (written_function(other), other.spec) == (written_function(self), self.spec)

    def __hash__(self) -> int:
        return hash((written_function(self), self.spec))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the arguments for unpickling: module, name, parameters and, for a user's file, the
        path.

        Raises ``ValueError`` if the module does not contain this function under its name.
        """
        module = sys.modules[self.function.__module__]
        definition = getattr(module, self.name, None)
        # The plain function itself, which may be compiled or decorated and so have a `__wrapped__`
        plain = None if self.is_declared else written_function(self)
        if not isinstance(definition, type(self)) and (plain is None or definition is not plain):
            remedy = f"define it at the top level of a module, as {self.name}"
            if "<lambda>" in self.name:
                remedy = "define the function at the top level of a module, def name(X, Y)"
            elif "<locals>" in getattr(plain, "__qualname__", ""):
                remedy += ", by def; a decorator keeps this name with functools.wraps"
            raise ValueError(f"{self} cannot be sent to a worker process: {remedy}")
        file = getattr(module, "__file__", None)
        return self._restore, (module.__name__, self.name, self.parameters, file)

    @property
    def _restore(self) -> Callable[..., Any]:
        """The function that rebuilds this function from module, name, parameters and path, for
        unpickling."""
        return restore_function

    @abstractmethod
    def _claims(self) -> dict[str, str]:
        """Return the claims in words, by the name of the claim."""

    @property
    def _kind(self) -> str:
        return type(self).__name__.lower()

    def _settle(self, parameters: Sequence[inspect.Parameter], **attributes: Any) -> None:
        """Complete the frozen dataclass, in place, with defaults, specification and
        ``attributes``, and copy name, docstring and module from the function. ``parameters``: the
        parameters with defaults."""
        defaults = {p.name: p.default for p in parameters}
        vars(self).update(
            defaults=defaults,
            spec=format_specification(self.name, self.parameters, defaults),
            __doc__=self.function.__doc__,
            __wrapped__=self.function,
            __name__=self.name,
            __module__=self.function.__module__,
            **attributes,
        )

    def _check(self, parameters: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` for an unknown parameter or choice, a wrong type, or a number
        outside the limits, in ``parameters``, values by name; None passes where the annotation
        allows None."""
        choices, hints = self.choices, _type_hints(self.function)
        for name, value in parameters.items():
            if name not in self.defaults:
                known = KERNEL_PARAMETER_HINTS if "width" in self.defaults else {}
                hint = known.get(name) or did_you_mean(name, self.defaults)
                raise ValueError(f"{self.name} has no parameter {name!r}{hint}")
            if name in choices:
                check_choice(f"{self.name}: {name}", value, choices[name])
            kind: Any = hints.get(name)
            if type(None) in (options := typing.get_args(kind)):
                if value is None:
                    continue
                kind = options[0]
            problem = f"{self.name}: {name} must be"
            is_instance = isinstance(value, ACCEPTED_TYPES.get(kind, object))
            if kind in ACCEPTED_TYPES and not (
                is_instance and isinstance(value, bool) == (kind is bool)
            ):
                raise ValueError(f"{problem} of type {kind.__name__}; got {value!r}")
            low, high = self.limits.get(name, (-math.inf, math.inf))
            if kind in (int, float) and not low <= value <= high:
                raise ValueError(f"{problem} from {low:g} to {high:g}; got {value!r}")

    def _check_excluded(self, parameters: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` if ``parameters``, values by name, has a parameter together with a
        parameter that ``excludes`` lists."""
        for name, others in self.excludes.items():
            clash = next((other for other in others if other in parameters), None)
            if clash and parameters.get(name) is not None:
                raise ValueError(
                    f"{self.name}: {name}={parameters[name]!r} takes the place of "
                    f"{clash}={parameters[clash]!r}; give one of the two"
                )


# ------------------------------------------------------------------------------------------- claims


def written_function(entry: DeclaredFunction) -> Callable[..., Any]:
    """Return the function as written: for a measure of a plain function, the function of two NumPy
    arrays, not the function of two representations that calls the plain function."""
    function: Callable[..., Any] = (
        entry.function if entry.is_declared else vars(entry.function)["__wrapped__"]
    )
    return function


def implied_invariances(invariances: Set[str]) -> frozenset[str]:
    """Return a set of invariances with all implied invariances: affine implies invertible linear
    and translation, invertible linear implies orthogonal, and so on.

    Raises ``ValueError`` for an unknown invariance.
    """
    names = INVARIANCES + JOINT_INVARIANCES
    unknown_names = set(invariances) - set(names)
    if unknown_names:
        raise ValueError(f"unknown invariances {sorted(unknown_names)}; known: {', '.join(names)}")
    closure = set(invariances)
    if "affine" in closure or {"invertible_linear", "translation"} <= closure:
        closure |= {"affine", "invertible_linear", "translation"}
    if "invertible_linear" in closure:
        closure |= {"orthogonal", "isotropic_scaling"}
    if "orthogonal" in closure:
        closure.add("permutation")
    return frozenset(closure)


def describe_invariance(names: Set[str]) -> str:
    """Return the invariances in words, "invariant to permutation, orthogonal", or "no declared
    invariance"."""
    invariances = INVARIANCES + JOINT_INVARIANCES
    words = [name.replace("_", " ") for name in invariances if name in names]
    return f"invariant to {', '.join(words)}" if words else "no declared invariance"


def resolve_claims(declared: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims for the parameter ``values``: the ``declared`` claims, changed by
    ``claims_for``, with the claims derived from other claims, such as ``product`` from
    ``compares``.

    Claims that are functions of representations and parameters get the parameter values bound. With
    folds, the claims are the result of :func:`held_out_claims`.
    """
    claims_for = declared.get("claims_for")
    claims = {**declared, **(bind_known(claims_for, values)() if claims_for else {})}
    if compared := claims.get("compares"):
        compared = compared._replace(parameters=values)
        if bool(compared.by_rows) != bool(compared.rows_of):
            raise ValueError(
                "Product: by_rows and rows_of belong together; declare both or neither"
            )
        mean = None if compared.root else compared.mean
        claims = {"product": compared, "chance": mean} | claims
        if compared.blocks:
            claims["all_pairs"] = AllPairs(compared.in_blocks, MAX_STORED_SAMPLES)
    for name, claim in claims.items():
        if isinstance(claim, Product | AllPairs):
            claims[name] = claim._replace(parameters=values)
        elif isinstance(claim, Fit):
            claims[name] = claim._replace(function=bind_known(claim.function, values))
        elif callable(claim) and name != "claims_for":
            claims[name] = bind_known(claim, values)
    if values.get(HELD_OUT) is not None and claims.get("fit"):
        claims = held_out_claims(claims, values[HELD_OUT])
    return claims | {"invariant_to": implied_invariances(claims["invariant_to"])}


def bind_known(function: Callable[..., Any], values: Mapping[str, Any]) -> Callable[..., Any]:
    """Return ``function`` with the parameters in its signature fixed to ``values``, by name; other
    values are ignored, unless the function has ``**keywords``."""
    names, takes_all = _parameter_names(function)
    return partial(function, **{k: v for k, v in values.items() if takes_all or k in names})


@cached_by_function
def _parameter_names(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the parameter names of a function, and whether the function has ``**keywords``."""
    parameters = inspect.signature(function).parameters
    return frozenset(parameters), any(p.kind is p.VAR_KEYWORD for p in parameters.values())


# --------------------------------------------------------------------------------------- parameters


def format_specification(
    name: str, parameters: tuple[tuple[str, Any], ...], defaults: Mapping[str, Any]
) -> str:
    """Return the specification: ``name`` with every parameter that is not at the default,
    ``name[a=1,b=2]``, or the name alone.

    ``parameters``: the given values, pairs (name, value). ``defaults``: values by name.
    """
    settings = [
        f"{k}={short_repr(v)}" for k, v in parameters if k not in defaults or defaults[k] != v
    ]
    return f"{name}[{','.join(settings)}]" if settings else name


def as_hashable(value: Any) -> Any:
    """Return a value with every list, and every array of any library, converted to a tuple, and
    NumPy numbers converted to Python numbers."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(as_hashable(v) for v in value) if isinstance(value, list | tuple) else value


def short_repr(value: Any) -> str:
    """Return the text of a value in a specification; a nested tuple, or a tuple of more than
    ``MAX_SPELLED_VALUES`` values, becomes its length and a hash."""
    is_nested = isinstance(value, tuple) and any(isinstance(part, tuple) for part in value)
    if not isinstance(value, tuple) or (len(value) <= MAX_SPELLED_VALUES and not is_nested):
        return str(value)
    digest = hashlib.blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return f"<{len(value)} values {digest}>"


# ----------------------------------------------------------------------------- arguments and values


def require_arguments(declare: Callable[P, T]) -> Callable[P, T]:
    """Return the decorator factory ``declare`` (``measure`` or ``statistic``) with a helpful error
    for ``@rs.measure`` without claims."""
    parameters = inspect.signature(declare).parameters.values()
    required_names = (
        p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty
    )
    call = f"{declare.__name__}({', '.join(f'{name}=...' for name in required_names)})"

    @wraps(declare)
    def declared(*args: P.args, **claims: P.kwargs) -> T:
        if args:
            raise TypeError(f"rs.{declare.__name__} takes claims, by name: @rs.{call}")
        return declare(*args, **claims)

    return declared


EXAMPLE_CLAIMS = {
    "label": "'{}'", "larger_is_more_similar": "True", "larger_is_more_stable": "True",
    "range": "(0, 1)", "citation": "'{}'",
}  # fmt: skip


def declaration_template(
    function_name: str, kind: str, declare: Callable[..., Any], family: str
) -> str:
    """Return the code of the decorator for declaring the function ``function_name``, with an
    example value for every required claim. ``kind``: "measure" or "statistic", the name of
    ``declare``. ``family``: the example of a family."""
    examples = EXAMPLE_CLAIMS | {"family": repr(family)}
    parameters = inspect.signature(declare).parameters.values()
    required_names = (
        p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty
    )
    claims = (
        f"{name}={examples.get(name, '...').format(function_name)}" for name in required_names
    )
    return f"@resemblance.{kind}({', '.join(claims)})"


def as_argument(data: Any, name: str) -> Representation:
    """Return data as a representation called ``name`` (X or Y) in error messages; a path keeps the
    name of the file."""
    return as_representation(data, "" if isinstance(data, str | Path) else name)


def clip_to_range(value: Any, entry: Any, precision: str) -> Any:
    """Return a value, clipped to the claimed range for an excess of up to 64 machine epsilons; an
    excess within ``RANGE_TOLERANCE`` stays.

    Raises :class:`~resemblance.UndefinedError` for NaN, for infinity, and for a larger excess, a
    sign of a wrong claim. Raises ``ValueError`` for anything but one number. ``entry``: the measure
    or statistic. ``precision``: "float64" or "float32".
    """
    low, high = entry.range
    if type(value) is np.float64 and low <= value <= high and math.isfinite(value):
        return value
    check_one_number(entry, value)
    number = scalar(value)
    if math.isnan(number):
        raise UndefinedError(f"{entry} returned NaN (not a number) for these data")
    if math.isinf(number):
        raise UndefinedError(f"{entry}: the value overflows for these data; rescale them")
    if is_outside_range(number, entry.range, RANGE_TOLERANCE[precision]):
        raise UndefinedError(
            f"{entry}: the value {number:.6g} is outside the declared range, {low:g} to {high:g}"
        )
    excess = number - min(max(number, low), high)
    rounding = 64 * EPSILONS[precision] * max(1.0, abs(number))
    return value - excess if 0 < abs(excess) <= rounding else value


def check_one_number(entry: object, value: Any) -> None:
    """Raise ``ValueError`` if ``value``, which the function ``entry`` returned, is anything but
    one real number."""
    kind, shape = getattr(value, "dtype", type(value)), getattr(value, "shape", ())
    # The name of a dtype of NumPy is slow to make
    is_real = isinstance(value, float) or getattr(kind, "kind", "") == "f"
    is_number = is_real or hasattr(value, "dtype") or isinstance(value, Number)
    if shape != () or not is_number or (not is_real and "complex" in str(kind)):
        description = f"an array of shape {tuple(shape)}" if shape else repr(value)
        raise ValueError(f"{entry} must return one number; it returned {description}")


def is_outside_range(value: float, ends: tuple[float, float], rounding: float) -> bool:
    """Return whether a value is outside the range ``ends`` by more than ``rounding``, relative to
    an end with a magnitude above 1; True for NaN."""
    low, high = ends
    return not low - rounding * max(1.0, abs(low)) <= value <= high + rounding * max(1.0, abs(high))


# ------------------------------------------------------------- other algorithms for the same value
#
# Tests prove that these algorithms return the value of the plain function. Only ``leave_one_out``
# of ranks and of kernels with a median width is approximate; the docstrings state the error.


def matrix_cosine(product: float, x_square: float, y_square: float) -> float:
    """Return the cosine of two matrices A and B from ``product`` = <A, B>, ``x_square`` = <A, A>
    and ``y_square`` = <B, B>."""
    return product / math.sqrt(x_square * y_square)


class Product(NamedTuple):
    """The claim that a value is a linear function of an inner product of two (n, n) matrices.

    ``left`` and ``right`` (by default the same function) are functions of one representation and
    the parameters of the measure. The functions return the matrix of the representation: a float64
    array, or a ``intermediates.pair_matrix.PairMatrix``. A permutation of the samples permutes the
    rows and columns of the matrix. ``symmetric`` says whether all matrices are symmetric. ``value``
    returns the value, or with ``root=True`` the squared value, from the inner product <A, B> and
    from <A, A> and <B, B>. The value is linear in <A, B> and increases with similarity. So the
    mean, the variance and the skewness of the value over all permutations of the samples are known
    exactly (see :mod:`resemblance.inference`).

    ``scale``, if given, is a function of one representation and the parameters; ``value`` receives
    the scale in place of <A, A> and <B, B>. The measure fills in ``parameters``; a function
    receives only the parameters in its signature. ``blocks`` says whether the matrices, equal on
    the left and right, can be recomputed block by block for many samples (``PairMatrix.block``);
    then the measure computes many pairs together (:class:`AllPairs`).

    ``by_rows`` and ``rows_of`` declare that the claim ``leave_one_out`` accepts ``rows``, such as
    the inner products of the matrices' rows. ``by_rows`` is a function of x, y, and the number of
    representations compared with each of x and y; the result says whether computing ``rows`` for
    all pairs together is faster. ``rows_of`` computes ``rows``: a function of representations,
    pairs of positions in the list of representations, and parameters.
    """

    left: Callable[..., np.ndarray | PairMatrix]
    right: Callable[..., np.ndarray | PairMatrix] | None = None
    symmetric: bool = True
    value: Callable[[float, float, float], float] = matrix_cosine
    root: bool = False
    scale: Callable[..., float] | None = None
    blocks: bool = False
    by_rows: Callable[[Representation, Representation, float], bool] | None = None
    rows_of: Callable[..., np.ndarray] | None = None
    parameters: Mapping[str, Any] = {}

    def matrix(self, x: Representation, side: Literal["left", "right"]) -> np.ndarray:
        """Return the left or the right matrix of a representation as an array (n, n), for
        reading."""
        matrix = self.of(x, side)
        return matrix.entries if isinstance(matrix, PairMatrix) else matrix

    def square(self, x: Representation, matrix: np.ndarray | PairMatrix) -> float:
        """Return the argument of ``value`` for a representation: the squared norm <A, A> of the
        given ``matrix`` A, (n, n), or the scale if the claim has ``scale``."""
        if self.scale:
            return float(bind_known(self.scale, self.parameters)(x))
        return matrix.square if isinstance(matrix, PairMatrix) else float(np.vdot(matrix, matrix))

    def mean(self, x: Representation, y: Representation) -> float:
        """Return the mean of the value (with ``root``, of the squared value) over all permutations
        of the samples of y, computed from the traces and sums of two ``PairMatrix`` objects."""
        a, b = self.of(x, "left"), self.of(y, "right")
        return self.value(expected_inner(a, b), self.square(x, a), self.square(y, b))

    def in_blocks(self, xs: Sequence[Representation], ys: Sequence[Representation]) -> Scores:
        """Return the values of all pairs of ``xs`` (rows) and ``ys`` (columns) in one pass over
        blocks of the matrices, without storing an n x n matrix.

        O(n^2 d) time for each representation and O(n^2) for each pair, O(n d) memory.
        """
        grid = all_row_column_pairs(xs, ys)
        matrices = [self.of(r, "left") for r in grid.representations]
        sums = matrix_inner_products(
            [matrix.block for matrix in matrices], grid.pairs, grid.samples
        )
        squares = [matrix.square for matrix in matrices]
        values = np.array(
            [self.value(s, squares[i], squares[j]) for s, (i, j) in zip(sums, grid.pairs)]
        )
        return Scores((np.sqrt(np.maximum(values, 0)) if self.root else values)[grid.places])

    def of_rows(
        self, representations: Sequence[Representation], pairs: Sequence[tuple[int, int]]
    ) -> np.ndarray:
        """Return the result of ``rows_of`` for pairs of positions in ``representations``, shape
        (pairs, n)."""
        assert self.rows_of
        positions = sorted({position for pair in pairs for position in pair})
        places = {position: place for place, position in enumerate(positions)}
        return bind_known(self.rows_of, self.parameters)(
            [representations[position] for position in positions],
            [(places[i], places[j]) for i, j in pairs],
        )

    def of(self, x: Representation, side: Literal["left", "right"]) -> Any:
        """Return the left or the right matrix of a representation: an array, or a
        ``PairMatrix``."""
        function = self.right if side == "right" and self.right else self.left
        return bind_known(function, self.parameters)(x)


class Scores(NamedTuple):
    """The scores of many pairs, computed together by one measure.

    ``values`` has shape (rows, columns). ``diagnostics``: numbers recorded with the values, by
    name, in the same shape; NaN where a pair has no number. ``caveats``: why values mean little, by
    row and column; None if the measure must check every pair separately.
    """

    values: np.ndarray
    diagnostics: Mapping[str, np.ndarray] = {}
    caveats: Mapping[tuple[int, int], str] | None = None


class AllPairs(NamedTuple):
    """The claim that a measure can compute many pairs together, from blocks of samples.

    ``function`` receives the representations of the rows, the representations of the columns, and
    the parameters in its signature; the result is :class:`Scores`. The function never stores an n x
    n matrix. A value does not depend on the other pairs, not even in the last bit. If the function
    raises an error, the caller computes every pair separately, so each pair without a value has its
    own reason. If both lists are the same object and the measure is symmetric, half of the pairs
    are enough.

    For more than ``above`` samples the function replaces the plain function, in a single call and
    in a comparison. The two values agree within 1e-10, or within a recorded error bound. With
    ``above=None`` the function serves only comparisons of many pairs, and the values equal the
    plain function's values to the last bit for NumPy arrays and PyTorch tensors.

    ``replaces`` says for which representations the function replaces the plain function whatever
    ``above`` is; one such representation among the pairs is enough. ``block_bytes``: the
    bytes that the function then holds for one representation, besides the cached intermediates.
    """

    function: Callable[..., Scores]
    above: int | None = None
    parameters: Mapping[str, Any] = {}
    replaces: Callable[[Representation], bool] | None = None
    block_bytes: int = 0

    def __call__(self, xs: Sequence[Representation], ys: Sequence[Representation]) -> Scores:
        """Return the scores of all pairs of rows ``xs`` and columns ``ys``."""
        return bind_known(self.function, self.parameters)(xs, ys)
