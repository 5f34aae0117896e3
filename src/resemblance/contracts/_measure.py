"""Measures: plain functions of two representations with claims verified by the test suite."""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, Self, TypeGuard

import numpy as np

from ..base.arrays import (
    Array,
    array_library,
    as_array_like,
    full_precision,
    is_torch,
    records_gradient,
    scalar,
    to_numpy,
)
from ..base.exceptions import UndefinedError, UninformativeWarning
from ..base.extras import EXTRA_OF_PACKAGE, require_package
from ..base.function_cache import cached_by_function
from ..base.rng import generator
from ..base.text import check_choice
from ..base.user_modules import find_definition, function_version, text_version
from ..data.caveats import single_pair_caveats
from ..data.inputs import TRANSPOSED_HINT, check_label_order, row_count_hint
from ..data.joining import align_columns_to
from ..data.representation import (
    Representation,
    check_all_finite,
    check_same_samples,
    pair_cache,
    representation_title,
    without_gradient,
)
from ..intermediates.digits import check_digits
from ..intermediates.grams import largest_share_bound
from .claims import (
    SHAPE_INVARIANCES,
    AllPairs,
    DeclaredFunction,
    Product,
    as_argument,
    check_one_number,
    clip_to_range,
    declaration_template,
    describe_invariance,
    require_arguments,
)
from .folds import HELD_OUT, Fit, Folds, check_folds, held_out_value, untested_samples_caveat
from .streamed import check_stream_precision, require_distances, require_features

MeasureFamily = Literal[
    "cca", "alignment", "similarity_matrix", "neighbors", "topology", "descriptive", "outputs"
]
MEASURE_FAMILIES: tuple[str, ...] = typing.get_args(MeasureFamily)
RowKind = Literal["samples", "positions"]
POSITION_FAMILIES: frozenset[str] = frozenset({"cca", "alignment", "neighbors", "topology"})
VARIANCE_FAMILIES = frozenset({"similarity_matrix", "alignment", "cca", "neighbors", "topology"})
TRANSPOSED_WIDTH_RATIO = 4  # features per sample that suggest two transposed arrays


def no_diagnostics(x: Representation, y: Representation, **parameters: Any) -> dict[str, float]:
    """Return {}, no diagnostics: the default of a measure."""
    return {}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measure(DeclaredFunction):
    """A function of two representations with declared claims, such as range, symmetry and
    invariances.

    Call a measure with two (n_samples, n_features) arrays; row i of the two arrays is the same
    sample. The result is a ``float`` for NumPy input and a 0-d tensor of the same library
    otherwise. A measure raises ``ValueError`` for input that cannot be compared and
    :class:`~resemblance.UndefinedError` (a ``ValueError``) for data without a value; a measure
    never returns NaN. A measure warns with :class:`~resemblance.UninformativeWarning` where the
    value says little.
    """

    family: MeasureFamily
    larger_is_more_similar: bool
    symmetric: bool
    metric: bool = False
    min_features: int = 1
    identity: bool = True
    needs_pairing: bool = True
    differentiable: bool = True
    deterministic: bool = True
    rows_of_maps: RowKind = "samples"
    requires: str | None = None
    # Functions of (x, y) and of the parameters that they name: see `measure`
    diagnostics: Callable[..., Mapping[str, float]] = no_diagnostics
    uninformative: Callable[..., str] | None = None
    leave_one_out: Callable[..., np.ndarray] | None = None
    chance: Callable[..., float] | None = None
    compares: Product | None = None
    product: Product | None = None
    all_pairs: AllPairs | None = None
    fit: Fit | None = None
    streams_with: Literal["squares", "directions"] | None = None
    takes: Literal["features", "dissimilarities", "distances", "repeats"] = "features"
    needs_equal_columns: bool = False

    def __post_init__(self) -> None:
        signature = _user_signature(self.function)
        self._settle(list(signature.parameters.values())[2:], __signature__=signature)

    def __call__(self, X: Any, Y: Any, *positional: Any, **parameters: Any) -> Any:
        """Return the value of the measure for two representations ``X`` and ``Y``, or arrays (n, d)
        and (n, e), of the same samples.

        ``parameters``: values for this call, by name. Warns of caveats. Raises ``TypeError`` for
        parameters by position.
        """
        if positional:
            call = f"{self.name}(X, Y, {next(iter(self.defaults), 'parameter')}=...)"
            raise TypeError(
                f"{self.name} takes two representations; parameters are given by name: {call}"
            )
        measure = self.with_parameters(**parameters) if parameters else self
        x = as_argument(X, "X")
        if parameters:
            check_label_order(self.name, representation_title(x), x.order, **parameters)
        y = x if Y is X else measure.in_order_of(x, as_argument(Y, "Y"))
        with nullcontext() if isinstance(x.source, np.ndarray) else full_precision():
            with pair_cache(x, y):
                value, caveat = measure.evaluate(x, y), measure.caveat(x, y)
            caveats = measure._data_caveats(x, y)
        for words in filter(None, (caveat, *caveats)):
            warnings.warn(f"{measure}: {words}", UninformativeWarning, stacklevel=2)
        return value

    def evaluate(self, x: Representation, y: Representation) -> Any:
        """Check the pair and return the value without warnings: the computation shared by a single
        call and :func:`resemblance.compare`."""
        self.check_pair(x, y)
        y = self.in_order_of(x, y)
        require_measure_extra(self)
        if not self.differentiable:
            x, y = without_gradient(x), without_gradient(y)
        if self.all_pairs and self.is_in_blocks(x, y):
            value = self.all_pairs([x], [y]).values[0, 0]
        else:
            with pair_cache(x, y):
                value = self.compute(x, y)
        value = clip_to_range(value, self, x.dtype)
        if isinstance(x.source, np.ndarray):
            return scalar(value)
        return _as_0d_array(value if self.differentiable else scalar(value), x.array)

    def compute(self, x: Representation, y: Representation) -> Any:
        """Return the value of a checked pair: the plain function, or with ``held_out`` the mean of
        the values of the test samples."""
        parameters = dict(self.parameters)
        folds = parameters.pop(HELD_OUT, None)
        if folds is None or self.fit is None:
            return self.function(x, y, **parameters)
        return held_out_value(str(self), self.fit, x, y, folds)

    @property
    def held_out(self) -> Folds | None:
        """The folds whose test samples give the value; None for the value of all samples."""
        folds: Folds | None = dict(self.parameters).get(HELD_OUT)
        return folds

    def with_parameters(self, **parameters: Any) -> Self:
        """Return this measure with fixed parameters, which become part of the name:
        ``cka[estimator=debiased]``.

        Every measure with a fit also has the parameter ``held_out``: a number of folds, or pairs
        (train, test) of row numbers (see :func:`resemblance.compare`). Raises ``ValueError`` for an
        unknown parameter or an unknown choice of a parameter, and for ``held_out`` of a measure
        without a fit.
        """
        if HELD_OUT in parameters:
            parameters[HELD_OUT] = check_folds(self.name, parameters[HELD_OUT])
        entry = super().with_parameters(**parameters)
        if entry.fit is None and entry.held_out is not None:
            raise ValueError(
                f"{entry.with_parameters(held_out=None)} fits no map to samples, so no sample can "
                "be held out; the measures with a fit are [m for m in rs.list_measures() if m.fit]"
            )
        return entry

    def _check(self, parameters: Mapping[str, Any]) -> None:
        super()._check({name: value for name, value in parameters.items() if name != HELD_OUT})

    def is_in_blocks(self, *representations: Representation) -> bool:
        """Return whether ``all_pairs``, not the plain function, computes pairs of the
        representations."""
        for r in representations:
            if r.origin or records_gradient(r.source):
                return False
        if self.takes_blocks(representations[0].shape[0]):
            return True
        return bool(
            self.all_pairs
            and self.all_pairs.replaces
            and any(map(self.all_pairs.replaces, representations))
        )

    def takes_blocks(self, n: int) -> bool:
        """Return whether n samples are too many for the plain function, so ``all_pairs`` replaces
        the function."""
        faces = self.all_pairs
        return faces is not None and faces.above is not None and n > faces.above

    def caveat(self, x: Representation, y: Representation) -> str:
        """Return why the measure says little about this pair, whatever the data; an empty string
        for most pairs."""
        if x is y:
            return ""
        n, d, e = x.n_samples, x.shape[1], y.shape[1]
        if n == 2 and self.invariant_to >= SHAPE_INVARIANCES:
            return "fixed by the number of samples: two points always have the same shape"
        try:
            reason = self.uninformative and self.uninformative(*map(without_gradient, (x, y)))
        except UndefinedError:
            return ""
        if reason and d == e >= TRANSPOSED_WIDTH_RATIO * n:
            reason += TRANSPOSED_HINT
        return reason or ""

    def _data_caveats(self, x: Representation, y: Representation) -> tuple[str, ...]:
        """Return the caveats about the data of a pair, such as duplicate samples; () if x is y."""
        if x is y:
            return ()
        by_variance = (
            self.family in VARIANCE_FAMILIES and "invertible_linear" not in self.invariant_to
        )
        shares = (largest_share_bound(x), largest_share_bound(y)) if by_variance else None
        return single_pair_caveats(x, y, shares)

    @property
    def uninformative_when(self) -> str:
        """The cases in which the value is fixed or near an extreme, whatever the data; empty if no
        case is known."""
        function = getattr(self.uninformative, "func", None)
        paragraph = (inspect.getdoc(function) or "").split("\n\n")[0] if function else ""
        return paragraph.replace("\n", " ").replace("``", "")

    @property
    def _restore(self) -> Callable[..., Any]:
        return super()._restore if self.is_declared else restore_undeclared_measure

    def _claims(self) -> dict[str, str]:
        if not self.is_declared:
            return {"claims": self.undeclared_caveat}
        low, high = self.range
        difference = "metric" if self.metric else "dissimilarity"
        kind = "similarity" if self.larger_is_more_similar else difference
        return {
            "label": self.label,
            "kind": f"{kind} in {low:.4g} to {high:.4g}",
            "symmetry": "symmetric" if self.symmetric else "not symmetric",
            "invariance": describe_invariance(self.invariant_to),
        }

    @property
    def undeclared_caveat(self) -> str:
        """What is assumed about a plain function; empty for a declared measure."""
        if self.is_declared:
            return ""
        relation = "more" if self.larger_is_more_similar else "less"
        return (
            f"{self.name} is a function without declared properties: larger values count as "
            f"{relation} similar, because {self.name}(X, X) is "
            f"{'larger' if self.larger_is_more_similar else 'smaller'} than {self.name}(X, Y) for "
            "random X and Y, and nothing else is assumed"
        )

    def check_pair(self, x: Representation, y: Representation) -> None:
        """Raise an error for a pair of representations without a value.

        ``ValueError`` for a pair that cannot be compared; :class:`~resemblance.UndefinedError` for
        too few samples, for values that are not finite, and for different column names where the
        measure compares column with column.
        """
        if type(x.source) is not type(y.source):
            kinds = [array_library(r.source) for r in (x, y)]
            if kinds[0] != kinds[1]:
                raise ValueError(
                    f"{self}: X is a {kinds[0]} array and Y a {kinds[1]} array; convert one of them"
                )
        n, m = x.n_samples, y.n_samples
        if n != m:
            hint = row_count_hint(x.shape, y.shape)
            raise ValueError(
                f"{self}: X {x.shape} and Y {y.shape} must have the same number of samples "
                f"(rows){hint}"
            )
        check_same_samples(str(self), x, y)
        if x.dtype != y.dtype:
            problem = f"X is computed in {x.dtype} and Y in {y.dtype}"
            raise ValueError(
                f"{self}: {problem}; give both the same, for example "
                "Representation(X, dtype='float64')"
            )
        if n < self.min_samples:
            raise UndefinedError(f"{self} needs at least {self.min_samples} samples; got {n}")
        if self.needs_equal_columns and x.shape[1] != y.shape[1]:
            raise UndefinedError(
                f"{self}: X {x.shape} and Y {y.shape} have {x.shape[1]} and {y.shape[1]} columns, "
                f"and {self} compares column by column; compare layers of the same width, or use a "
                "measure that is invariant to rotations, such as procrustes or cka"
            )
        check_all_finite(x), check_all_finite(y)
        if x.origin or y.origin:
            check_stream_precision(self, x, y)
        elif self.takes == "distances":
            require_distances(str(self), x, y)
        elif self.takes != "dissimilarities":
            require_features(str(self), x, y)
        self.in_order_of(x, y)
        for r in (x, y):
            check_digits(r)

    def in_order_of(self, x: Representation, y: Representation) -> Representation:
        """Return y with the columns in the order of x if the measure depends on the order of
        columns; otherwise y unchanged.

        Raises ``UndefinedError`` for column names that do not match, and ``ValueError`` for partly
        equal names if the order does not count.
        """
        if x.features is y.features:
            return y
        if "permutation" in self.invariant_to:
            align_columns_to(str(self), x, y, is_one_model=False)  # raises for names partly equal
            return y
        is_one_model = self.needs_equal_columns or self.family == "outputs"
        try:
            return align_columns_to(str(self), x, y, is_one_model=is_one_model)
        except ValueError as error:
            raise UndefinedError(str(error)) from None


@require_arguments
def measure(
    *,
    label: str,
    family: MeasureFamily,
    larger_is_more_similar: bool,
    range: tuple[float, float],
    citation: str,
    symmetric: bool = True,
    invariant_to: Set[str] = frozenset(),
    claims_for: Callable[..., Mapping[str, Any]] | None = None,
    **claims: Any,
) -> Callable[[Callable[..., Any]], Measure]:
    """Declare a function of two representations as a measure with claims.

    Parameters
    ----------
    label : the name printed in papers.
    family : one of ``MEASURE_FAMILIES``.
    larger_is_more_similar : True for a similarity, False for a distance or difference.
    range : the smallest and the largest possible value.
    citation : a key of ``references.bib``.
    symmetric : m(X, Y) = m(Y, X).
    invariant_to : transformations of X or Y, independently, that leave the value unchanged
        (``INVARIANCES``).
    claims_for : a function of parameters (matched by name) that returns, by name, the claims that
        depend on the parameters.
    claims : ``metric`` (the measure is a distance and satisfies the triangle inequality),
        ``identity`` (X compared with X gives the most similar end of the range, for all X),
        ``needs_pairing`` (False if no permutation of the samples of X or Y changes the value),
        ``differentiable``, ``deterministic``, ``rows_of_maps`` (the rows of a layer of channel
        maps, as in the ReSi suite: ``"samples"``, flattened maps, or ``"positions"`` of maps of the
        same size, with channels as columns; by default, positions for the families in
        ``POSITION_FAMILIES``), ``min_samples`` and ``min_features`` (with fewer samples or features
        the measure is undefined, whatever the data), ``limits`` (smallest and largest value of
        parameters), ``excludes`` (the parameters that a parameter takes the place of, so that
        giving both is an error), ``version`` (raise the version when the algorithm changes: results
        of older versions are computed again), ``requires`` (an optional dependency),
        ``streams_with`` (``"squares"`` or ``"directions"``, the sums accumulated by a stream for
        the measure), ``takes`` (``"dissimilarities"`` if the measure compares dissimilarities and
        so also accepts given dissimilarities; ``"distances"`` if the measure depends on the
        Euclidean distances between samples only and so also accepts given squared distances;
        ``"repeats"`` if the measure compares the noise of repeats, which are rows with equal ids),
        ``needs_equal_columns`` (column i of X corresponds to column i of Y, so layers of different
        widths have no value).

        The following claims are functions of x, y and parameters (matched by name):
        ``diagnostics`` (returns numbers by name, recorded with the value, such as the accuracy),
        ``uninformative`` (returns a sentence if the value of the pair is fixed or near an extreme
        whatever the data, otherwise an empty string; a call warns with the sentence, a result
        records the sentence as a caveat; the docstring says when), ``leave_one_out`` (the (n,)
        values without each sample), ``chance`` (the exact mean of the value over all permutations
        of the samples, at no more than the cost of the value).

        ``leave_one_out``, ``chance`` and the following claims make inference exact or cheap, and
        large data possible; a measure works everywhere without such claims: ``product`` (a
        :class:`Product`: exact permutation moments), ``compares`` (a product of matrices with known
        traces: also the chance level and, with ``blocks=True``, many samples), ``all_pairs`` (an
        :class:`AllPairs`: many pairs in blocks of samples), ``fit`` (a ``Fit`` of
        ``resemblance.contracts.folds``: maps that training samples determine, for :func:`align` and
        held-out samples). Write a claim longer than a line below
        the formula: ``@cka.claim("uninformative")``.
    """
    check_choice("family", family, MEASURE_FAMILIES)
    if not range[0] < range[1]:
        raise ValueError(f"range must be (smallest, largest); got {range}")
    rows: RowKind = "positions" if family in POSITION_FAMILIES else "samples"
    common_claims = {
        "label": label,
        "family": family,
        "larger_is_more_similar": larger_is_more_similar,
        "range": range,
        "citation": citation,
        "symmetric": symmetric,
        "invariant_to": invariant_to,
        "claims_for": claims_for,
        "rows_of_maps": rows,
    }
    return partial(Measure._declare, claims=common_claims | claims)


# --------------------------------------------------------------------------------- plain functions


LAMBDA_REMEDY = "a file cannot name a lambda: define the function with def name(X, Y)"
PROBE_SHAPES = ((40, 6), (250, 40))  # the random data that decide the direction of a function


MeasureArgument = str | Measure | Callable[..., Any]  # a specification, a measure or a function


def is_plain_function(value: Any) -> TypeGuard[Callable[..., Any]]:
    """Return whether a value is a function with a name, and neither a class nor a declared
    function."""
    return (
        callable(value)
        and not isinstance(value, type | DeclaredFunction)
        and hasattr(value, "__name__")
    )


def takes_two_arrays(function: Callable[..., Any]) -> bool:
    """Return whether a plain function can be called with two arrays alone: all further parameters
    have defaults."""
    try:
        return bool(_parameters_of_plain(function))
    except ValueError:
        return False


def undeclared_measure(function: Callable[..., Any]) -> Measure:
    """Return a plain function of two NumPy arrays, (n, d) and (n, e), as a measure without claims.

    The function receives copies of the arrays and returns a number; further parameters have
    defaults. Random data decide, once for a function, whether larger values count as more similar.
    No symmetry, no range and no invariance is assumed. The measures of one function are equal.

    Raises ``ValueError`` for a function that does not take two arrays, for an object without a
    hash, and for a function whose direction the random data do not show.
    """
    try:
        hash(function)
    except TypeError as error:
        raise ValueError(
            f"{function.__name__} is a {type(function).__name__} without a hash ({error}), and a "
            "measure needs a hash: decorate the class with @dataclass(frozen=True), with "
            "hashable fields, or write a function of two arrays"
        ) from error
    parameters = _parameters_of_plain(function)
    rows: RowKind = "samples"
    claims = {
        "label": function.__name__,
        "family": "descriptive",
        "larger_is_more_similar": _is_similarity(function),
        "range": (-np.inf, np.inf),
        "citation": "",
        "symmetric": False,
        "identity": False,
        "differentiable": False,
        "invariant_to": frozenset(),
        "rows_of_maps": rows,
        "is_declared": False,
    }
    defaults = {p.name: p.default for p in parameters}
    if defaults:  # two functions of one file may differ in their defaults alone
        claims["version"] = text_version(f"{function_version(function)} {defaults!r}")
    return Measure._declare(_on_arrays(function, parameters), claims)


def restore_undeclared_measure(
    module: str, name: str, parameters: tuple[tuple[str, Any], ...], file: str | None
) -> Measure:
    """Return the measure of a plain function by module and name, with the parameters fixed, for
    unpickling. ``file``: the path of a user's file; None for a module that Python can import."""
    definition = undeclared_measure(find_definition(module, name, file))
    return definition.with_parameters(**dict(parameters))


def require_own_name(measures: Iterable[Measure]) -> None:
    """Raise ``ValueError`` if a plain function among ``measures`` has values that no file can tell
    from the values of another function: a lambda, a method, or a function with variables of an
    enclosing function."""
    for m in measures:
        if m.is_declared:
            continue
        if "<lambda>" in m.name:
            raise ValueError(LAMBDA_REMEDY)
        for function in _wrapped_functions(m.function):
            if inspect.ismethod(function):
                raise ValueError(
                    f"{m.name} is a method of an object whose values no file records: write a "
                    "function of two arrays at the top level of a module"
                )
            if names := _enclosing_variables(function):
                raise ValueError(
                    f"{m.name} uses {', '.join(names)} of an enclosing function, which no file "
                    f"records: make each a parameter with a default, def {m.name}(X, Y, *, "
                    f"{names[0]}=...)"
                )


def _wrapped_functions(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield the plain function behind the function of a measure, then the functions that its
    decorators wrapped."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
        yield function


def _enclosing_variables(function: Callable[..., Any]) -> list[str]:
    """Return the names of the variables of enclosing functions that ``function`` uses, without the
    wrapped function of a decorator."""
    wrapped = getattr(function, "__wrapped__", None)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return [name for name, cell in zip(names, cells) if cell.cell_contents is not wrapped]


def _on_arrays(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """Return a function of two representations that calls a function of two NumPy arrays with
    copies of the arrays.

    ``parameters``: the signature of the returned function.
    """

    @wraps(function)
    def on_arrays(x: Representation, y: Representation, **values: Any) -> Any:
        try:
            return function(np.array(to_numpy(x.array)), np.array(to_numpy(y.array)), **values)
        except UndefinedError:
            raise
        except Exception as error:
            shapes = f"X {x.shape} and Y {y.shape}"
            if type(error) in (ValueError, RuntimeError) and x.shape[1] != y.shape[1]:
                raise UndefinedError(
                    f"{function.__name__}: no value for {shapes}, arrays of different widths: "
                    f"{error}; compare layers of the same width"
                ) from error
            error.add_note(
                f"{function.__name__} was called with {shapes}; for data without a value, raise "
                "resemblance.UndefinedError(reason) in the function: then the reason is recorded, "
                "and all other pairs are computed"
            )
            raise

    try:
        hints = typing.get_type_hints(function)
    except Exception:  # annotations of a user's function may name what is not imported
        hints = {}
    names = {p.name for p in parameters[2:]}
    vars(on_arrays).update(__signature__=inspect.Signature(parameters))
    on_arrays.__annotations__ = {name: hint for name, hint in hints.items() if name in names}
    return on_arrays


def _parameters_of_plain(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a plain function as a measure: two arrays by position, X and Y, and
    the further parameters, with defaults, by name.

    Only the arrays for a function without a Python signature. Raises ``ValueError`` for a function
    that does not take two arrays, or has a further parameter without a default.
    """
    arrays = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("X", "Y")]
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function without a Python signature
        return arrays
    given = list(signature.parameters.values())
    named = [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    positional = [p for p in named if p.kind is not p.KEYWORD_ONLY]
    rest = [p for p in named if p not in positional[:2]]
    takes_two = len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in given)
    if not takes_two or any(p.default is p.empty for p in rest):
        raise ValueError(
            f"{function.__name__}{signature} cannot be a measure: a measure takes two arrays, "
            "(n, d) and (n, e), and further parameters with defaults"
        )
    return [*arrays, *(p.replace(kind=p.KEYWORD_ONLY) for p in rest)]


@cached_by_function
def _is_similarity(function: Callable[..., Any]) -> bool:
    """Return whether a plain function has a larger value for equal than for unrelated random
    arrays.

    Raises ``ValueError`` if the function fails, or has equal values, on all random arrays.
    """
    name, problem = function.__name__, ""
    for shape in PROBE_SHAPES:
        x, z = generator(0, "direction of a function", *shape).standard_normal((2, *shape))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                values = [function(x.copy(), y.copy()) for y in (x, z)]
        except Exception as error:  # any error of the user's function is the reason
            problem = f"raises {type(error).__name__}: {error}"
            continue
        for value in values:
            check_one_number(name, value)
        equal, unrelated = map(scalar, values)
        problem = "returns equal values" if equal == unrelated else "returns NaN or infinity"
        if np.isfinite([equal, unrelated]).all() and equal != unrelated:
            return equal > unrelated
    line = declaration_template(name, "measure", measure, MEASURE_FAMILIES[2])
    raise ValueError(
        f"{name} {problem} for random arrays X {shape} and Y {shape}, so {name}(X, X) and "
        f"{name}(X, Y) do not show whether larger values mean more similar; correct {name}, or, if "
        f"{name} has values for your data alone, decorate {name} with {line}, and fill in the "
        "properties"
    )


def measure_caveats(measures: Iterable[Measure], n: int) -> tuple[str, ...]:
    """Return the caveats about plain functions among ``measures``, and about folds that do not
    test all ``n`` samples."""
    texts = (
        text
        for m in measures
        for text in (m.undeclared_caveat, untested_samples_caveat(m.held_out, n))
    )
    return tuple(dict.fromkeys(filter(None, texts)))


def batchable_measures(
    measures: Sequence[Measure], representations: Sequence[Representation]
) -> tuple[Measure, ...]:
    """Return the measures to compute for many pairs of the representations together; all other
    measures are computed pair by pair.

    These are all measures if every measure can batch and all arrays are NumPy arrays, or PyTorch
    tensors without gradients. Otherwise these are the measures that compute pairs of the
    representations by ``all_pairs`` alone (:meth:`Measure.is_in_blocks`). A measure that batches
    only for speed is then left out, because the measures of a pair share intermediates.
    """
    blocked = tuple(m for m in measures if m.is_in_blocks(*representations))
    is_fast = all(m in blocked or (m.all_pairs and m.all_pairs.above is None) for m in measures)
    are_at_hand = all(
        isinstance(r.source, np.ndarray) or (is_torch(r.source) and not records_gradient(r.source))
        for r in representations
    )
    return tuple(measures) if is_fast and are_at_hand else blocked


def require_measure_extra(measure: Measure) -> None:
    """Raise ``ImportError`` with the name of the extra if an optional dependency of a measure is
    not installed."""
    if measure.requires is None:
        return
    for package in (
        name for name, requires in EXTRA_OF_PACKAGE.items() if requires == measure.requires
    ):
        require_package(package)


def _user_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature for calling a measure: X and Y in place of the two representations,
    then the parameters of ``function``."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[2:]
    arrays = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("X", "Y")]
    return signature.replace(parameters=[*arrays, *parameters])


def _as_0d_array(value: Any, array: Array) -> Array:
    is_array = hasattr(value, "dtype") and not isinstance(value, np.generic)
    return value if is_array else as_array_like(float(value), array)
