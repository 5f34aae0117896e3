"""A representation: one (n_samples, n_features) array that caches every quantity computed from the
array."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial, wraps
from operator import attrgetter, is_
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, overload
from uuid import uuid4

import numpy as np
import xxhash

from ..base.arrays import (
    NUMPY_NAMESPACE,
    NUMPY_TYPES,
    Array,
    blocks_have_safe_squares,
    detach,
    device,
    has_float64,
    has_safe_squares,
    is_on_cpu,
    is_torch,
    namespace,
    records_gradient,
    scalar,
    to_numpy,
    working_precision,
)
from ..base.context_values import context_value
from ..base.exceptions import UndefinedError
from ..base.json_files import recorded_fingerprint
from ..base.text import check_choice
from .array_files import (
    content_version,
    file_version,
    hash_values,
    map_version,
    memmap_layout,
    npy_path,
    open_npy,
    sample_bytes,
)
from .array_protocol import as_read_only_numpy, forbid_operators, missing_attribute_message
from .cache_keys import cache_key_function
from .columns import FeatureNames, column_numbers, to_python_names
from .gaps import describe_gaps
from .inputs import (
    SampleOrder,
    as_labeled_array,
    as_read_only,
    check_array_shape,
    check_sample_order,
    stimulus_of_each_row,
    validated_name,
)
from .sample_ids import check_not_sorted_by_ids

P = ParamSpec("P")
T = TypeVar("T")
MIN_LARGE_VALUES = 2**25  # the number of values of a large array: no cached copy is kept
_FORCED_LARGE: ContextVar[bool] = ContextVar("large", default=False)
AXIS_WORDS = {"n", "d", "k"}  # samples, features, and any other axis of an intermediate
KINDS_OF_VALUES = ("scalar", "pairs", "neighbors", "anew")
MISSING = object()  # stands for an intermediate without a cached value
ROWS_PER_COPIED_BLOCK = 2**11  # the rows converted at a time in a large array
# A function from the cache key of an intermediate, and a function that computes the intermediate of
# another representation, to the intermediate; None if the intermediate must be computed
IntermediateSource = Callable[[Hashable, Callable[["Representation"], Any]], Any]


class StreamSummary(NamedTuple):
    """A summary of a stream: the representation's points have the centred inner products of the
    samples.

    ``stream``: an identifier; only representations with the same identifier can be compared.
    ``dtype``: the dtype of the samples. ``accumulated``: the names of the accumulated sums.
    ``power``: the power of the condition number by which whitening magnifies rounding.
    ``intermediates`` returns the intermediates that differ between points and samples.
    """

    stream: str
    n_samples: int
    dtype: str
    accumulated: frozenset[str]
    power: int
    intermediates: IntermediateSource


class PseudoEuclidean(NamedTuple):
    """A marker of points that represent given dissimilarities, with a sign for every column.

    ``kind``: the kind of dissimilarity. The dissimilarity of i and j is the sum over columns a of
    signs[a] (p_ia - p_ja)^2. If pairs are missing, the last columns have sign 0: see
    ``intermediates.missing_pairs``.
    """

    signs: np.ndarray  # (n_features,)
    kind: str


class Representation:
    """One (n_samples, n_features) array with a name, optional sample ids, and cached intermediates.

    ``data`` is a NumPy array (memory-mapped or not), a PyTorch tensor, any array of the array API
    standard, a DataFrame of pandas or polars, a DataArray of xarray, the path of a ``.npy`` file,
    or anything ``numpy.asarray`` understands. The precision of computation is float64 on the CPU,
    whatever the precision of the data (most measures subtract nearly equal numbers), and the
    precision of the data, at least float32, on an accelerator and in JAX without
    ``jax_enable_x64``; ``dtype`` selects another precision.

    The data are not copied. If you change the data between two calls, the next call notices the
    change and computes everything anew; if the file of a path changes, the next call raises
    ``ValueError``. You must not change the data during a call.

    In a table with one column of vectors, the vectors are the features; ``column`` chooses among
    several columns of vectors. A mapping from ids to vectors uses the keys as ids. A few words with
    long vectors may also name columns: pass ``pandas.DataFrame(X)`` for columns, ``ids=list(X)``
    for samples.

    Without ``ids`` the index of a DataFrame, or the coordinate of the first dimension of a
    DataArray, names the samples, unless the index is 0, 1, ..., n - 1; a column of words with a
    usual name, such as ``id`` or ``filename``, also names the samples. ``ids`` may be the name of a
    column. Ids may repeat. Without ``features`` the columns of a DataFrame, or the coordinate of
    the second dimension of a DataArray, name the features.

    Raises ``ValueError`` for data that are not two-dimensional, not numeric, or masked, and for ids
    and names of features that do not fit.
    """

    def __init__(
        self,
        data: Any,
        name: str = "",
        *,
        ids: Sequence[Hashable] | str | None = None,
        features: Sequence[Hashable] | None = None,
        dtype: str | None = None,
        column: str | None = None,
    ):
        self.path = npy_path(data) if isinstance(data, str | Path) else None
        file = file_version(self.path) if self.path else None  # before the data are read
        self.name = validated_name(name) or (self.path.stem if self.path else "")
        labeled = as_labeled_array(
            open_npy(self.path) if self.path else data, representation_title(self), ids, column
        )
        self.source: Array = labeled.array
        if dtype is not None:
            check_choice(f"{representation_title(self)}: dtype", dtype, ("float32", "float64"))
        if dtype == "float64" and not has_float64(self.source):
            raise ValueError(
                f"{representation_title(self)} cannot be computed in float64 where it is; in JAX "
                "that needs jax.config.update('jax_enable_x64', True)"
            )
        self.requested_dtype = dtype
        self.order: SampleOrder = labeled.order
        self.features: FeatureNames = (
            labeled.features if features is None else to_python_names(features)
        )
        self.column_order = ""  # the order of reordered columns, for caveats
        self.is_sorted = False  # whether the package sorted the rows by id
        self._cache: dict[Any, Any] = {}
        self._lock = threading.RLock()
        self._key = ""  # see data_key
        # Derives an intermediate from the same intermediate of a related representation
        self._carry: IntermediateSource | None = None
        # A function from the cache key of an intermediate to a value from another process or from
        # all samples; None for intermediates that must be computed
        self._known: Callable[[Hashable], Any] | None = None
        self.origin: StreamSummary | None = None
        self.signed: PseudoEuclidean | None = None
        check_array_shape(representation_title(self), self.source, self.order, self.features)
        self._note_shape()
        # The version of the data in the cache; None before the first call with an array in memory
        self._version: Hashable = file and (*file, sample_bytes(self.source))

    def _note_shape(self) -> None:
        n, d = self.source.shape
        self._shape = int(n), int(d)

    # Read hundreds of times in a call, so the getter is no Python function
    shape: tuple[int, int] = property(  # type: ignore[assignment]
        attrgetter("_shape"), doc="(n_samples, n_features)."
    )

    @property
    def n_samples(self) -> int:
        """The number of samples; for a representation of a stream, the number of samples in the
        stream."""
        return self.origin.n_samples if self.origin else self.shape[0]

    @property
    def ids(self) -> tuple[Hashable, ...] | None:
        """The ids of the samples, if any; rows without names have no ids."""
        return self.order if isinstance(self.order, tuple) else None

    @property
    def dtype(self) -> str:
        """The dtype of computation: ``dtype``, or float64 on the CPU, else at least float32."""
        if type(self.source) in NUMPY_TYPES:
            return self.requested_dtype or "float64"
        return self.requested_dtype or working_precision(self.source)

    @property
    def array(self) -> Array:
        """The values in the precision of computation."""
        return contiguous_values(self) if is_transient(self) else working_values(self)

    @property
    def xp(self) -> Any:
        """The array-API namespace of the values."""
        return NUMPY_NAMESPACE if type(self.source) in NUMPY_TYPES else namespace(self.source)

    @property
    def cache(self) -> dict[Hashable, Any]:
        """The cached intermediates."""
        return dict(self._cache)

    def clear_cache(self, *, keep: Collection[Hashable] = ()) -> None:
        """Drop the cached arrays; a later use recomputes the arrays.

        Cached numbers and words stay. A cached array also stays if ``stays_below`` marks the
        function and the array is small enough, or if its key in ``cache`` is in ``keep``.
        """
        with self._lock:
            self._cache = {
                k: v for k, v in self._cache.items() if k in keep or self._stays(k[0], v)
            }

    def _forget_changed_values(self) -> None:
        """Drop all cached values, in place, if the data changed since the last call of this method.

        Raises ``ValueError`` if the file of the representation changed.
        """
        if self.origin or self._carry or self._known:
            return  # the data of the package itself
        if self.path:
            version: Hashable = map_version(self.source, self.path)
            if None not in (version, self._version) and version != self._version:
                raise ValueError(
                    f"{representation_title(self)}: the file {self.path} changed after it was "
                    "opened; open it again, rs.Representation(path)"
                )
            return
        version = content_version(self.source)
        with self._lock:
            if version is None or version != self._version:
                self._cache, self._key, self._version = {}, "", version

    def _stays(self, function: Any, value: Any) -> bool:
        if isinstance(value, int | float | str):
            return True
        if not isinstance(value, np.ndarray) or self.path is not None:
            return False
        limit: float = getattr(function, "stays_below", 0)
        return value.nbytes < limit * math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def __repr__(self) -> str:
        size = f"n_samples={self.n_samples}, n_features={self.shape[1]}"
        kind = ", streamed" if self.origin else ""
        if self.signed:
            size, kind = f"n_samples={self.n_samples}", f", dissimilarities ({self.signed.kind})"
        return f"Representation({self.name!r}, {size}, dtype={self.source.dtype}{kind})"

    def __len__(self) -> int:
        return self.n_samples

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._forget_changed_values()
        return as_read_only_numpy(self._features(), dtype, copy)

    def __iter__(self) -> Iterator[Array]:
        return iter(self._features())

    def __getitem__(self, index: Any) -> Array:
        return self._features()[index]

    def _features(self) -> Array:
        if self.signed:
            raise ValueError(
                f"{representation_title(self)} stands for dissimilarities, and its points are no "
                "features; rs.rdm(x) returns the dissimilarities"
            )
        return self.array

    def __getattr__(self, name: str) -> Any:
        is_of_arrays = not name.startswith("_") and hasattr(np.ndarray, name)
        raise AttributeError(missing_attribute_message(type(self).__name__, name, is_of_arrays))

    def __getstate__(self) -> dict[str, Any]:
        # Intermediates are not pickled, because recomputing is cheaper than sending. A pickled
        # memory map is only a path.
        path = self.path and self.path.absolute()  # a worker may have another working folder
        state: dict[str, Any] = {
            "path": path,
            "name": self.name,
            "requested_dtype": self.requested_dtype,
        }
        state |= {"order": self.order, "origin": self.origin, "signed": self.signed}
        state |= {"features": self.features, "column_order": self.column_order}
        state |= {"is_sorted": self.is_sorted, "_version": self._version, "_key": self._key}
        return state | {"source": memmap_layout(self.source) if self.path else self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.path:
            self.source = np.memmap(self.path, **self.source)
            if self._version not in (None, map_version(self.source, self.path)):
                self._key = ""  # a replaced file, or a copy on another machine
        self._note_shape()
        self._cache, self._lock = {}, threading.RLock()
        self._carry = self.origin.intermediates if self.origin else None
        self._known = None


forbid_operators(Representation)


def as_representation(data: Any, name: str = "") -> Representation:
    """Return ``data`` if it is a :class:`Representation`, else a representation of ``data``.

    A public function calls ``as_representation`` for its arguments, so that values cached from data
    that changed since are dropped.
    """
    if not isinstance(data, Representation):
        return Representation(data, name)
    pair = _current_pair.get()
    # The data of a pair do not change while measures compare the pair.
    if pair is None or not (data is pair[0] or data is pair[1]):
        data._forget_changed_values()
    return data


def replace_rows(
    x: Representation, source: Array, ids: Sequence[Hashable] | None = None
) -> Representation:
    """Return a new representation of the rows ``source`` with the name and features of x; ids only
    if ``ids`` is given, and nothing cached."""
    y = Representation(source, x.name, ids=ids, features=x.features, dtype=x.requested_dtype)
    y.signed, y.column_order, y.is_sorted = x.signed, x.column_order, x.is_sorted
    return y


def without_gradient(x: Representation) -> Representation:
    """Return x itself, or a new representation without gradients if gradients are recorded."""
    if not records_gradient(x.source):
        return x
    return replace_rows(x, detach(x.source), x.ids)


# ------------------------------------------------------------------------------------ intermediates


class IntermediateDecorator(Protocol):
    """The type of ``cached("n d")``: a decorator of functions of a representation."""

    def __call__(
        self, function: Callable[Concatenate[Representation, P], T], /
    ) -> Callable[Concatenate[Representation, P], T]: ...


@overload
def cached(
    function: Callable[Concatenate[Representation, P], T], /
) -> Callable[Concatenate[Representation, P], T]: ...


@overload
def cached(axes: str, /, *more_axes: str) -> IntermediateDecorator: ...


def cached(first: Any, /, *more_axes: str) -> Any:
    """Cache the values of ``function(representation, **parameters)`` in the representation.

    Write ``@cached("n d")`` above a function with an array of one row per sample as its value,
    ``@cached("n n")`` for a matrix of pairs of samples, dense or sparse, ``@cached("pairs")`` for a
    vector of the n (n - 1) / 2 pairs above the diagonal, row by row, and ``@cached("k")``,
    ``@cached("d d")`` or ``@cached("scalar")`` for a value that no permutation of the samples
    changes. For a tuple, write one text for each part: ``@cached("n k", "k", "k d")``.
    ``"neighbors"`` stands for lists of nearest neighbours, and ``"anew"`` for a value that depends
    on the positions of samples. Permutation tests permute a value along the axes ``n`` instead of
    recomputing the value. Without axes, ``@cached``, a permutation test recomputes the value in
    each permutation.

    The value is computed once per representation and set of parameters, for any number of pairs and
    measures. A value with gradients is never cached, so a graph is never kept alive or used twice.

    Raises ``ValueError`` for an unknown word, because a misspelt ``n`` would keep a value fixed.
    """
    if callable(first):
        return _cached_function(first, None)
    axes = (first, *more_axes)
    for words in axes:
        if words not in KINDS_OF_VALUES and not (words and set(str(words).split()) <= AXIS_WORDS):
            raise ValueError(
                "cached: axes are n (samples), d (features) and k (any other), such as "
                f"cached('n d') or cached('n k', 'k'), or one of {', '.join(KINDS_OF_VALUES)}; "
                f"got {words!r}"
            )
    return partial(_cached_function, axes=axes)


def _cached_function(
    function: Callable[Concatenate[Representation, P], T], axes: tuple[str, ...] | None
) -> Callable[Concatenate[Representation, P], T]:
    function.axes = axes  # type: ignore[attr-defined]
    make_key = cache_key_function(function, arrays=1)
    default_key = make_key()

    @wraps(function)
    def cached_value(x: Representation, /, *args: P.args, **parameters: P.kwargs) -> T:
        if not isinstance(x.source, np.ndarray) and records_gradient(x.source):
            return function(x, *args, **parameters)
        key = make_key(*args, **parameters) if args or parameters else default_key
        value: Any = x._cache.get(key, MISSING)  # most calls find a value, and need no lock
        if value is not MISSING:
            stored: T = value
            return stored
        with x._lock:
            value = x._cache.get(key, MISSING)
            if value is MISSING:
                result = x._known and x._known(key)
                if result is None and x._carry:
                    result = x._carry(key, lambda y: cached_value(y, *args, **parameters))
                if result is None:
                    result = function(x, *args, **parameters)
                value = x._cache[key] = _make_contiguous(result)
            found: T = value
            return found

    cached_value.make_key = make_key  # type: ignore[attr-defined]
    return cached_value


def _make_contiguous(value: Any) -> Any:
    """Return ``value``, an array, a tuple or any other object, with contiguous arrays, as after
    pickling, because sums over another memory layout can differ in the last digits. Arrays are
    copied only if necessary, also inside tuples; other values are returned unchanged."""
    if isinstance(value, np.ndarray):
        return value if value.flags.forc else np.ascontiguousarray(value)
    if isinstance(value, tuple):
        parts = tuple(map(_make_contiguous, value))
        if all(map(is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return value


def stored_value(x: Representation, function: Callable[..., T], *args: Any) -> T | None:
    """Return the cached value of the intermediate ``function`` of x, or None without a cached
    value; ``args`` are the arguments of the intermediate after the representation."""
    value: T | None = x._cache.get(function.make_key(*args))  # type: ignore[attr-defined]
    return value


def store_value(x: Representation, function: Callable[..., T], value: T, *args: Any) -> None:
    """Cache the value of the intermediate ``function`` that another function has computed together
    with the values of other representations.

    ``args``: the arguments of the intermediate after the representation. A value that is already
    cached stays.
    """
    key = function.make_key(*args)  # type: ignore[attr-defined]
    with x._lock:
        x._cache.setdefault(key, value)


def keep_while_small(stays_below: float) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that marks a slow intermediate: ``clear_cache`` keeps a value that takes
    less memory than ``stays_below`` times the array in the precision of computation."""

    def mark(function: Callable[P, T]) -> Callable[P, T]:
        function.stays_below = stays_below  # type: ignore[attr-defined]
        return function

    return mark


_current_pair: ContextVar[tuple[Representation, Representation, dict[Hashable, Any]] | None] = (
    ContextVar("pair", default=None)
)


def pair_cache(x: Representation, y: Representation) -> AbstractContextManager[dict[Hashable, Any]]:
    """Cache the intermediates shared by the measures of a pair inside the ``with`` block, and yield
    the cache. A nested block for the same pair shares the cache."""
    cache = _cache_of_pair(x, y)
    # A nested call by a measure shares the intermediates of the pair
    return _new_pair_cache(x, y) if cache is None else nullcontext(cache)


@contextmanager
def _new_pair_cache(x: Representation, y: Representation) -> Iterator[dict[Hashable, Any]]:
    cache: dict[Hashable, Any] = {}
    token = _current_pair.set((x, y, cache))
    try:
        yield cache
    finally:
        _current_pair.reset(token)


def _cache_of_pair(x: Representation, y: Representation) -> dict[Hashable, Any] | None:
    """Return the cache of the current pair if the pair is x and y, in either order; otherwise
    None."""
    current = _current_pair.get()
    if current is None:
        return None
    first, second, cache = current
    is_current = (x is first and y is second) or (x is second and y is first)
    return cache if is_current else None


def cached_pair(
    *, swap: Callable[[Any], Any]
) -> Callable[
    [Callable[Concatenate[Representation, Representation, P], T]],
    Callable[Concatenate[Representation, Representation, P], T],
]:
    """Cache the values of ``function(x, y, **parameters)`` for all measures of the current pair.

    ``swap`` converts the value for (x, y) to the value for (y, x): a transpose for a cross product,
    the identity for a symmetric number. So both orders of an asymmetric measure need only one
    product.
    """

    def decorate(
        function: Callable[Concatenate[Representation, Representation, P], T],
    ) -> Callable[Concatenate[Representation, Representation, P], T]:
        make_key = cache_key_function(function, arrays=2)
        default_key = make_key()

        @wraps(function)
        def shared(
            x: Representation, y: Representation, /, *args: P.args, **parameters: P.kwargs
        ) -> T:
            current = _current_pair.get()
            if current is None or _cache_of_pair(x, y) is None:
                return function(x, y, *args, **parameters)
            first, second, cache = current
            key = make_key(*args, **parameters) if args or parameters else default_key
            if key not in cache:
                cache[key] = function(first, second, *args, **parameters)
            value: T = cache[key]
            return value if x is first else swap(value)

        return shared

    return decorate


@cached("n d")
def working_values(x: Representation) -> Array:
    """Return the array in the precision of computation (see :class:`Representation`)."""
    return contiguous_values(x)


def contiguous_values(x: Representation) -> Array:
    """Return the values in the precision of computation, in row-major memory order."""
    if isinstance(x.source, np.ndarray) and not needs_copy(x):
        return as_read_only(np.asarray(x.source))
    # Another layout in memory changes the last digits, and pickling does not preserve it.
    source: Array = np.ascontiguousarray(x.source) if isinstance(x.source, np.ndarray) else x.source
    source = source.contiguous() if is_torch(x.source) else source
    with np.errstate(over="ignore"):  # a later check refuses infinite values
        return as_read_only(x.xp.astype(source, getattr(x.xp, x.dtype), copy=False))


def working_value_blocks(x: Representation) -> Iterator[Array]:
    """Yield the values in the precision of computation, in blocks of rows if the array is large."""
    if not is_large_array(x):
        yield x.array
        return
    for start in range(0, x.shape[0], ROWS_PER_COPIED_BLOCK):
        with np.errstate(over="ignore"):
            block = np.ascontiguousarray(
                x.source[start : start + ROWS_PER_COPIED_BLOCK], dtype=x.dtype
            )
        yield block


def needs_copy(x: Representation) -> bool:
    """Return whether the values need a copy of the source in another precision or memory layout."""
    if isinstance(x.source, np.ndarray):
        return bool(x.source.dtype != x.dtype or not x.source.flags.c_contiguous)
    has_layout = is_torch(x.source) and not x.source.is_contiguous()
    return has_layout or str(x.source.dtype).rpartition(".")[2] != x.dtype


def is_large_array(x: Representation) -> bool:
    """Return whether, judged by the shape, blocks of rows should replace a copy of all values."""
    n, d = x.shape
    is_large = n * d >= MIN_LARGE_VALUES or _FORCED_LARGE.get()
    return is_large and isinstance(x.source, np.ndarray) and not (x._carry or x.origin)


def force_large_arrays(large: bool) -> AbstractContextManager[None]:
    """Return a context in which, if ``large``, small arrays count as large arrays, to see the
    intermediates of large arrays."""
    return context_value(_FORCED_LARGE, large)


def is_transient(x: Representation) -> bool:
    """Return whether the values are a large copy of the source, recreated for every use instead of
    cached.

    A cached copy would take as much memory as all other cached arrays together.
    """
    n, d = x.shape
    return n * d >= MIN_LARGE_VALUES and x._carry is None and needs_copy(x)


@cached("anew")
def fingerprint(x: Representation) -> str:
    """Return a hash of the original values, shape, precision, precision of computation, repeated
    rows, and column names that do more than number the columns.

    The hash is 128 bits of XXH3, which detects accidental differences, not deliberate collisions.
    The hash reads the values as bytes in row-major order: the memory layout and the library of an
    array do not count, and a tensor on an accelerator is copied. Equal numbers with other bits,
    such as -0.0 and 0.0, have different fingerprints, and so have NaNs with other bits. If the
    fingerprint of an unchanged file is recorded, the file is not read.
    """
    values, name = to_numpy(x.source), str(x.source.dtype).rpartition(".")[2]
    # bfloat16 becomes float32 in NumPy, but the stored precision decides which values tie
    kind = values.dtype.str if values.dtype.name == name else name
    repeats = stimulus_of_each_row(x.ids)
    names = x.features if x.features and column_numbers(x.features) is None else ()
    tail = x.signed.signs.tobytes() if x.signed else b""
    tail += repr(repeats).encode() if repeats else b""
    tail += repr(names).encode() if names else b""
    is_plain = x.dtype == "float64" and not tail
    # A replaced or removed file is not read again: the map of the opened file has the values.
    path = x.path if x.path and map_version(values, x.path) == x._version else None
    if path and is_plain and (recorded := recorded_fingerprint(path)):
        return recorded
    digest = xxhash.xxh3_128(f"{kind}{x.shape}{x.dtype}".encode())
    digest.update(x._version if isinstance(x._version, bytes) else hash_values(values, path))
    digest.update(tail)
    return digest.hexdigest()


def data_key(x: Representation) -> str:
    """Return the key of the data in a comparison: representations with equal keys have equal data.

    The key is the fingerprint. An array on an accelerator has another key until scores are saved or
    looked up, because the fingerprint copies the array.
    """
    with x._lock:  # two threads must not draw two keys
        if not x._key:
            is_unread = not (x._carry or x._known or is_on_cpu(x.source))
            x._key = f"unread {uuid4().hex}" if is_unread else fingerprint(x)
        return x._key


def unify_keys(representations: Sequence[Representation], *, portable: bool = False) -> None:
    """Give representations with equal data the same key, in place.

    ``portable``: all keys become fingerprints, under which scores are saved. Otherwise arrays on an
    accelerator are compared there, if their shapes and a few values are equal.
    """
    unread = [r for r in representations if data_key(r).startswith("unread ")]
    if portable:
        for r in unread:
            r._key = fingerprint(r)
        return
    groups: dict[Hashable, list[Representation]] = {}
    for r in unread:
        facts = (r.dtype, r.ids and stimulus_of_each_row(r.ids), r.features, device(r.source))
        group = groups.setdefault(
            (r.shape, str(r.source.dtype), sample_bytes(r.source), repr(facts), repr(r.signed)), []
        )
        twin = next((q for q in group if bool(r.xp.all(q.source == r.source))), None)
        if twin is None:
            group.append(r)
        else:
            r._key = twin._key


@cached("scalar")
def sum_of_stored_squares(x: Representation) -> float:
    """Return the sum of the squares of the stored values, in their precision, in one pass.

    NaN unless the data are a NumPy array of float32 or float64 without gaps in memory.
    """
    source = x.source
    is_plain = isinstance(source, np.ndarray) and source.flags.forc
    if not is_plain or source.dtype not in (np.float32, np.float64):
        return math.nan
    entries = source.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return float(np.vdot(entries, entries))


@cached("scalar")
def check_all_finite(x: Representation) -> bool:
    """Return True, or raise :class:`UndefinedError` with the location of the first NaN or infinite
    entry.

    Values so large that a sum over rows or columns could overflow are refused, too. Only two
    numbers are copied from the device, unless the error names an entry.
    """
    # Squares that are safe in float32 are safe in float64, so the check needs no float64 copy
    total = sum_of_stored_squares(x)
    is_precise = not math.isnan(total) and x.source.dtype in (np.float32, x.dtype)
    if is_precise and has_safe_squares(x.source.dtype.type(total)):
        return True
    if blocks_have_safe_squares(working_value_blocks(x)):
        return True
    max_value = max(scalar(x.xp.max(x.array)), -scalar(x.xp.min(x.array)))
    if not math.isfinite(max_value):
        _raise_for_gaps(x)
    if max_value > float(x.xp.finfo(x.array.dtype).max) / (16 * sum(x.shape)):
        raise UndefinedError(
            f"{representation_title(x)} has values near the largest of {x.dtype} "
            f"({max_value:.3g}); rescale it"
        )
    return True


def _raise_for_gaps(x: Representation) -> None:
    are_gaps = ~x.xp.isfinite(x.array)
    if x.xp.all(x.xp.isfinite(detach(x.source)) | ~are_gaps):
        raise UndefinedError(
            f"{representation_title(x)} has values too large for {x.dtype}; leave "
            f"dtype={x.requested_dtype!r} out, or rescale it"
        )
    is_half = str(x.source.dtype).removeprefix("torch.") == "float16"
    if is_half and x.xp.any(x.array == math.inf) and not x.xp.any(x.xp.isnan(x.array)):
        raise UndefinedError(
            f"{representation_title(x)} has {int(x.xp.count_nonzero(are_gaps))} infinite value(s) "
            "in float16, where numbers above 65,504 overflow; store the activations as float32"
        )
    raise UndefinedError(f"{representation_title(x)} {describe_gaps(to_numpy(are_gaps))}")


def representation_title(x: Representation | str) -> str:
    """Return the words for a representation, or for a name, in error messages; "a representation"
    without a name."""
    name = x if isinstance(x, str) else x.name
    return f"representation {name!r}" if name else "a representation"


def read_array(data: Any, name: str = "") -> Array:
    """Return ``data`` as an array; raise ``ValueError`` unless the values are real numbers.
    ``name``: the data in messages."""
    return as_labeled_array(data, representation_title(name)).array


def check_same_samples(caller: str, x: Representation, y: Representation) -> None:
    """Raise ``ValueError`` if the ids of two representations differ or are in another order, and if
    one representation has no ids and the package sorted the rows of the other representation.
    ``caller``: the function in messages."""
    if x.order is None and y.order is None:
        return
    titles = [
        representation_title(r) if r.name else fallback
        for r, fallback in ((x, "the first"), (y, "the second"))
    ]
    titles = [t if t.startswith("r") else f"{t} representation" for t in titles]
    check_sample_order(caller, titles[0], x.order, titles[1], y.order)
    for first, second, names in ((x, y, titles), (y, x, titles[::-1])):
        if first.is_sorted and first.ids and second.ids is None:
            check_not_sorted_by_ids(caller, names[0], first.ids, names[1])
