"""Measures: plain functions of two representations with claims verified by the test suite."""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ..base.arrays import (
    Array,
    array_library,
    as_array_like,
    full_precision,
    is_torch,
    records_gradient,
    scalar,
)
from ..base.exceptions import UndefinedError, UninformativeWarning
from ..base.extras import EXTRA_OF_PACKAGE, require_package
from ..base.text import check_choice
from ..data.caveats import single_pair_caveats
from ..data.inputs import TRANSPOSED_HINT, check_label_order, sample_count_hint, transposition_hint
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
from .claims import (
    SHAPE_INVARIANCES,
    AllPairs,
    DeclaredFunction,
    Product,
    as_argument,
    clip_to_range,
    describe_invariance,
    require_arguments,
)
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
    """Return no diagnostics: the default of a measure."""
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
    streams_with: Literal["squares", "directions"] | None = None
    takes: Literal["features", "dissimilarities", "distances", "repeats"] = "features"
    needs_equal_columns: bool = False

    def __post_init__(self) -> None:
        signature = _user_signature(self.function)
        self._settle(list(signature.parameters.values())[2:], __signature__=signature)

    def __call__(self, X: Any, Y: Any, *positional: Any, **parameters: Any) -> Any:
        """Return the value of the measure for two representations of the same samples."""
        if positional:
            call = f"{self.name}(X, Y, {next(iter(self.defaults), 'parameter')}=...)"
            raise TypeError(
                f"{self.name} takes two representations; parameters are given by name: {call}"
            )
        measure = self.with_parameters(**parameters) if parameters else self
        x = as_argument(X, "X")
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
                value = self.function(x, y, **dict(self.parameters))
        value = clip_to_range(value, self, x.dtype)
        if isinstance(x.source, np.ndarray):
            return scalar(value)
        return _as_0d_array(value if self.differentiable else scalar(value), x.array)

    def is_in_blocks(self, *representations: Representation) -> bool:
        """Say whether ``all_pairs``, not the plain function, computes pairs of the
        representations."""
        if any(r.origin or records_gradient(r.source) for r in representations):
            return False
        if self.takes_blocks(representations[0].shape[0]):
            return True
        return bool(
            self.all_pairs
            and self.all_pairs.replaces
            and any(map(self.all_pairs.replaces, representations))
        )

    def takes_blocks(self, n: int) -> bool:
        """Say whether n samples are too many for the plain function, so ``all_pairs`` replaces the
        function."""
        faces = self.all_pairs
        return faces is not None and faces.above is not None and n > faces.above

    def caveat(self, x: Representation, y: Representation) -> str:
        """Return why the measure says little about this pair, whatever the data; an empty string
        for most pairs."""
        if x is y:
            return ""
        n, d, e = x.n_samples, x.shape[1], y.shape[1]
        if n == 2 and self.invariant_to >= SHAPE_INVARIANCES:
            return "fixed by the number of samples: any two samples have the same shape"
        try:
            reason = self.uninformative and self.uninformative(*map(without_gradient, (x, y)))
        except UndefinedError:
            return ""
        if reason and d == e >= TRANSPOSED_WIDTH_RATIO * n:
            reason += TRANSPOSED_HINT
        return reason or ""

    def _data_caveats(self, x: Representation, y: Representation) -> tuple[str, ...]:
        """Return the caveats about the data of a pair, such as duplicate samples."""
        if x is y:
            return ()
        by_variance = (
            self.family in VARIANCE_FAMILIES and "invertible_linear" not in self.invariant_to
        )
        return single_pair_caveats(x, y, by_variance=by_variance)

    @property
    def uninformative_when(self) -> str:
        """The cases in which the value is fixed or near an extreme, whatever the data; empty if no
        case is known."""
        function = getattr(self.uninformative, "func", None)
        paragraph = (inspect.getdoc(function) or "").split("\n\n")[0] if function else ""
        return paragraph.replace("\n", " ").replace("``", "")

    def _claims(self) -> dict[str, str]:
        low, high = self.range
        difference = "metric" if self.metric else "dissimilarity"
        kind = "similarity" if self.larger_is_more_similar else difference
        return {
            "label": self.label,
            "kind": f"{kind} in {low:.4g} to {high:.4g}",
            "symmetry": "symmetric" if self.symmetric else "not symmetric",
            "invariance": describe_invariance(self.invariant_to),
        }

    def check_pair(self, x: Representation, y: Representation) -> None:
        """Raise an error for a pair of representations without a value.

        ``ValueError`` for a pair that cannot be compared; :class:`~resemblance.UndefinedError` for
        too few samples, for values that are not finite, and for different column names where the
        measure compares column with column.
        """
        kinds = [array_library(r.source) for r in (x, y)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"{self}: X is a {kinds[0]} array and Y a {kinds[1]} array; convert one of them"
            )
        n, m = x.n_samples, y.n_samples
        if n != m:
            hint = sample_count_hint(n, m) or transposition_hint(x.shape, y.shape)
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
                f"and {self} compares column by column; compare layers of one width, or take a "
                "measure that no rotation changes, such as procrustes or cka"
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
        """Return y with the columns in the order of x, if the measure depends on the order of
        columns; raise errors as :meth:`check_pair` does."""
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
        :class:`AllPairs`: many pairs in blocks of samples). Write a claim longer than a line below
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


def batchable_measures(
    measures: Sequence[Measure], representations: Sequence[Representation]
) -> tuple[Measure, ...]:
    """Return the measures able to compute many pairs of the representations together.

    A measure that batches only for speed is included if every measure can batch, because the
    measures of a pair share intermediates.
    """
    blocked = tuple(m for m in measures if m.is_in_blocks(*representations))
    is_fast = all(m in blocked or (m.all_pairs and m.all_pairs.above is None) for m in measures)
    are_at_hand = all(
        isinstance(r.source, np.ndarray) or (is_torch(r.source) and not records_gradient(r.source))
        for r in representations
    )
    return tuple(measures) if is_fast and are_at_hand else blocked


def require_measure_extra(measure: Measure) -> None:
    """Raise ``ImportError`` with the name of the extra if the optional dependency of a measure is
    not installed."""
    if measure.requires is None:
        return
    for package in (
        name for name, requires in EXTRA_OF_PACKAGE.items() if requires == measure.requires
    ):
        require_package(package)


def _user_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature for calling a measure: X and Y, then the parameters."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[2:]
    arrays = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("X", "Y")]
    return signature.replace(parameters=[*arrays, *parameters])


def _as_0d_array(value: Any, array: Array) -> Array:
    is_array = hasattr(value, "dtype") and not isinstance(value, np.generic)
    return value if is_array else as_array_like(float(value), array)
