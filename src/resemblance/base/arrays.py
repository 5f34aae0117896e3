"""Functions missing from the array API standard: gradients, precision, conversion to NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np

from .shared_setting import SharedSetting

# Any array of the array API standard: no static type covers NumPy, PyTorch and JAX
Array = Any
NUMPY_NAMESPACE = array_api_compat.numpy
# Most arrays have a type from this set; a lookup here is faster than array_api_compat
NUMPY_TYPES = frozenset({np.ndarray, np.float64, np.float32})

# The number of rows of a block is part of the algorithms: another height changes the rounding
BLOCK_HEIGHT = 256
# The range of sums of squares in double precision without overflow and lost digits
MIN_SAFE_DOUBLE = float(np.finfo(float).smallest_normal) / float(np.finfo(float).eps) ** 2
MAX_DOUBLE = float(np.finfo(float).max)
# The machine epsilon of the precisions of computation; a lookup is faster than np.finfo
EPSILONS: dict[Any, float] = {
    kind: float(np.finfo(name).eps)
    for name in ("float32", "float64")
    for kind in (name, np.dtype(name))
}
MAX_BLAS_DOT_LENGTH = 2**31  # BLAS indexes vectors with 32-bit integers


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace of the library of ``arrays``. Arrays of different libraries
    raise ``TypeError``."""
    for array in arrays:
        if type(array) not in NUMPY_TYPES:
            return array_api_compat.array_namespace(*arrays)
    return NUMPY_NAMESPACE


def array_library(array: Array) -> str:
    """Return the name of an array's library ("numpy", "torch"), also for subclasses of arrays."""
    return str(namespace(array).__name__).removeprefix("array_api_compat.").partition(".")[0]


def is_torch(array: Array) -> bool:
    """Return whether an array is a PyTorch tensor, without importing PyTorch."""
    if type(array) in NUMPY_TYPES:
        return False
    return "torch" in sys.modules and array_api_compat.is_torch_array(array)


def records_gradient(array: Array) -> bool:
    """Return whether PyTorch or JAX records operations on an array for differentiation; False for
    NumPy."""
    if type(array) in NUMPY_TYPES:
        return False
    if is_torch(array):
        return bool(array.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())
    return _is_traced(array)


def has_no_values(array: Array) -> bool:
    """Return whether an array is a JAX tracer without values, as inside ``jax.jit`` and
    ``jax.vmap``."""
    if type(array) in NUMPY_TYPES:
        return False
    return _is_traced(array) and _is_traced(detach(array))


def is_on_several_devices(array: Array) -> bool:
    """Return whether a JAX array is sharded over, or replicated on, several devices; False for
    arrays of other libraries."""
    return _is_jax(array) and len(detach(array).devices()) > 1


def _is_traced(array: Array) -> bool:
    return "jax" in sys.modules and isinstance(array, sys.modules["jax"].core.Tracer)


def _is_jax(array: Array) -> bool:
    return "jax" in sys.modules and array_api_compat.is_jax_array(array)


def is_double(array: Array) -> bool:
    """Return whether an array is stored in double precision."""
    if isinstance(array, np.ndarray):  # called for every pair: comparing text is slow
        return bool(array.dtype == np.float64)
    return str(array.dtype).rpartition(".")[2] == "float64"


def has_float64(array: Array) -> bool:
    """Return whether the library and the device of an array support double precision; in JAX only
    if double precision is enabled."""
    if type(array) in NUMPY_TYPES:
        return True
    if _is_jax(array):
        return bool(sys.modules["jax"].config.jax_enable_x64)
    if is_double(array) or is_on_cpu(array):
        return True
    return "float64" in namespace(array).__array_namespace_info__().dtypes(device=device(array))


def working_precision(array: Array) -> str:
    """Return the name of the dtype in which results of an array are computed by default, "float64"
    or "float32".

    "float64" for arrays on the CPU and for arrays in double precision, unless JAX disables double
    precision.
    """
    if type(array) in NUMPY_TYPES:
        return "float64"
    is_wide = (is_double(array) or is_on_cpu(array)) and has_float64(array)
    return "float64" if is_wide else "float32"


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute matrix products inside the ``with`` block in the full precision of the dtype.

    On a GPU, JAX computes float32 products with fewer digits, and so does PyTorch where a program
    enabled TF32 or autocast. Fewer digits change nearest neighbours. TF32 stays disabled in the
    process until every thread has left the block.
    """
    torch, jax = (sys.modules.get(name) for name in ("torch", "jax"))
    with ExitStack() as stack:
        if jax:
            stack.enter_context(jax.default_matmul_precision("highest"))
        if torch:
            for kind in filter(torch.is_autocast_enabled, ("cpu", "cuda")):
                stack.enter_context(torch.autocast(kind, enabled=False))
            stack.enter_context(_NO_TF32)
        yield


def _disable_tf32(stack: ExitStack) -> None:
    """Disable TF32 in PyTorch until ``stack`` closes, which restores the earlier settings."""
    torch = sys.modules["torch"]
    backends: list[Any] = [
        torch.backends.cuda.matmul,
        getattr(torch.backends.mkldnn, "matmul", None),
    ]
    supported = [backend for backend in backends if hasattr(backend, "fp32_precision")]
    if supported and all(backend.fp32_precision in ("none", "ieee") for backend in supported):
        return
    for backend in supported:
        stack.callback(setattr, backend, "fp32_precision", backend.fp32_precision)
    with suppress(RuntimeError):  # raised where a program uses the settings of PyTorch 2.9
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("highest")
    for backend in supported:
        backend.fp32_precision = "ieee"


_NO_TF32 = SharedSetting(_disable_tf32)


def detach(array: Array) -> Array:
    """Return an array with the same values outside any gradient graph; arrays that record no
    gradient are returned without a copy."""
    if type(array) in NUMPY_TYPES:
        return array
    if _is_traced(array):
        return sys.modules["jax"].lax.stop_gradient(array)
    return array.detach() if is_torch(array) else array


def scalar(value: Array) -> float:
    """Return a number, or the only entry of a 0-d array, as a ``float`` outside any gradient
    graph."""
    return float(value if type(value) in NUMPY_TYPES else detach(value))


def device(array: Array) -> Any:
    """Return the device of an array as the library of the array represents devices."""
    return array_api_compat.device(detach(array))


def is_on_cpu(array: Array) -> bool:
    """Return whether the values of an array are in CPU memory, not on an accelerator."""
    if type(array) in NUMPY_TYPES:
        return True
    if _is_jax(array):
        return all(place.platform == "cpu" for place in detach(array).devices())
    return "cpu" in str(device(array)).lower()


def to_numpy(array: Array) -> np.ndarray:
    """Return the values of an array of any library as a NumPy array: the only conversion for
    algorithms outside the array API.

    A NumPy array is returned without a copy. Gradients are dropped. bfloat16 becomes float32.
    """
    if isinstance(array, np.ndarray):
        return array
    array = detach(array)
    if is_torch(array):
        array = array.cpu()
        return np.asarray(array.float() if str(array.dtype) == "torch.bfloat16" else array)
    if _is_jax(array):
        return np.asarray(array.astype("float32") if array.dtype.kind == "V" else array)
    if not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    return np.asarray(np.from_dlpack(array) if is_on_cpu(array) else _copy_from_accelerator(array))


def as_float64(array: Array) -> np.ndarray:
    """Return the values of an array of any library as a NumPy array in float64; a NumPy array in
    float64 is returned without a copy."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def _copy_from_accelerator(array: Array) -> np.ndarray:
    """Return the values of an array on an accelerator as a NumPy array, copied by CuPy's ``get`` or
    by the DLPack protocol of the standard."""
    if hasattr(array, "get"):
        return np.asarray(array.get())
    return np.from_dlpack(array, device="cpu")


def as_array_like(values: np.ndarray | float, array: Array) -> Array:
    """Return NumPy values as an array of the library and on the device of ``array``; floats also
    get the dtype of ``array``, and other values keep their dtype."""
    dtype = array.dtype if np.asarray(values).dtype.kind == "f" else None
    return namespace(array).asarray(np.asarray(values), dtype=dtype, device=device(array))


def take_from_table(table: np.ndarray, places: Array) -> Array:
    """Return ``table[places]`` in the library and on the device of ``places``. ``table``: a NumPy
    vector (m,). ``places``: integers from 0 to m - 1, in any shape."""
    if isinstance(places, np.ndarray):
        return table[places]
    xp = namespace(places)
    device_table = xp.asarray(table, device=device(places))
    return xp.reshape(xp.take(device_table, xp.reshape(places, (-1,))), places.shape)


def take_in_rows(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return ``np.take_along_axis(values, columns, axis=1)`` for matrices, (n, k), in half the
    time.

    ``values``: (n, d). ``columns``: (n, k), for every row the indices of the columns to take.
    """
    starts = values.shape[1] * np.arange(len(values))
    return values.reshape(-1).take(columns + starts[:, None])


def supports_bincount(array: Array) -> bool:
    """Return whether :func:`bincount` works in the library and on the device of an array, and the
    device has double precision."""
    return hasattr(namespace(array), "bincount") and not _is_jax(array) and has_float64(array)


def bincount(places: Array, size: int) -> Array:
    """Return the number of occurrences of every integer from 0 to ``size`` - 1, (size,), on the
    device of ``places``. ``places``: integers from 0 to ``size`` - 1, in any shape."""
    return namespace(places).bincount(places.reshape(-1), minlength=size)


def epsilon(array: Array) -> float:
    """Return the machine epsilon of the array's dtype."""
    eps = EPSILONS.get(array.dtype) if isinstance(array, np.ndarray) else None
    return eps or float(namespace(array).finfo(array.dtype).eps)


def clip_above_one(values: Array) -> Array:
    """Return a new array with values above 1 (rounding errors) replaced by 1; NaN stays NaN."""
    if type(values) is np.float64:
        return np.float64(1) if values > 1 else values
    xp = namespace(values)
    return xp.where(values > 1, xp.ones_like(values), values)


def clip_below_zero(values: Array) -> Array:
    """Return a new array with negative values (rounding errors) replaced by 0; NaN stays NaN."""
    xp = namespace(values)
    return xp.where(values < 0, xp.zeros_like(values), values)


def safe_sqrt(values: Array) -> Array:
    """Return the square root of every entry, with gradient 0 instead of infinity at 0.

    Negative values, which are rounding errors, have root 0.
    """
    if isinstance(values, np.ndarray):  # equal values in fewer passes over the array
        return np.sqrt(np.maximum(values, 0))
    xp = namespace(values)
    positive = (values > 0) | xp.isnan(values)
    roots = xp.sqrt(xp.where(positive, values, xp.ones_like(values)))
    return xp.where(positive, roots, xp.zeros_like(values))


def frobenius_inner(a: Array, b: Array) -> Array:
    """Return the Frobenius inner product of two arrays of the same shape (the sum of the products
    of all entries) as a 0-d array, using BLAS."""
    xp = namespace(a, b)
    if xp is NUMPY_NAMESPACE:
        return np.vecdot(a.reshape(-1), b.reshape(-1))
    a, b = xp.reshape(a, (-1,)), xp.reshape(b, (-1,))
    # PyTorch implements vecdot as a matrix product, and dot with BLAS
    return a.dot(b) if is_torch(a) and len(a) < MAX_BLAS_DOT_LENGTH else xp.vecdot(a, b)


def apply_in_place(function: Callable[..., Array], values: Array, other: Array) -> Array:
    """Return ``function(values, other)``; a NumPy array ``values`` is overwritten by the result.

    ``function``: a function of the array API, such as ``xp.subtract``. The caller must hold the
    only reference to ``values``.
    """
    if isinstance(values, np.ndarray):
        return function(values, other, out=values)
    return function(values, other)


def column_means(values: Array) -> Array:
    """Return the mean of every column of ``values`` (n, d), shape (1, d)."""
    if isinstance(values, np.ndarray):  # equal digits, without the overhead of np.mean
        return np.add.reduce(values, axis=0, keepdims=True) / len(values)
    return namespace(values).mean(values, axis=0, keepdims=True)


def euclidean_norm(values: Array, axis: int | None = None) -> Array:
    """Return the Euclidean norm along ``axis``, 0 or 1 of a matrix (one number per column or per
    row), or of all entries without an axis (0-d). Dividing by the largest magnitude prevents over-
    and underflow."""
    xp = namespace(values)
    squares = sum_of_squares(values, axis)
    if has_safe_squares(squares):
        return xp.sqrt(squares)
    largest = detach(xp.max(xp.abs(values), axis=axis, keepdims=True))
    scale = xp.where(largest > 0, largest, xp.ones_like(largest))
    squares = xp.sum((values / scale) ** 2, axis=axis)
    return xp.reshape(scale, squares.shape) * safe_sqrt(squares)


def sum_of_squares(values: Array, axis: int | None = None) -> Array:
    """Return the sum of squared entries along ``axis``, 0 or 1 of a matrix (one number per column
    or per row), or of all entries without an axis; an overflow gives infinity.

    The sum over all entries adds row sums: BLAS splits long vectors among threads, so the last
    digits would depend on the number of threads.
    """
    xp = namespace(values)
    with np.errstate(over="ignore", under="ignore"):
        if axis == 0:
            return xp.sum(values * values, axis=0)
        rows = xp.vecdot(values, values)
        if axis is None:  # np.add.reduce is np.sum without its overhead
            return np.add.reduce(rows) if type(rows) is np.ndarray else xp.sum(rows)
        return rows


def has_safe_squares(sums: Array) -> bool:
    """Return whether no sum of squares in ``sums``, a number or an array, overflowed or lost
    significant digits to underflow.

    A safe sum of squares is finite and positive.
    """
    if type(sums) is np.float64:
        return bool(MIN_SAFE_DOUBLE < sums <= MAX_DOUBLE)
    xp, limits = namespace(sums), namespace(sums).finfo(sums.dtype)
    sums = detach(sums)
    smallest, largest = (sums, sums) if sums.ndim == 0 else (xp.min(sums), xp.max(sums))
    tiny = float(limits.smallest_normal) / float(limits.eps) ** 2
    return tiny < scalar(smallest) and scalar(largest) <= float(limits.max)


def safe_quotient(value: float, divisor: Array, array: Array) -> Array:
    """Return ``value / divisor`` for positive numbers, clipped to a range of the dtype of
    ``array``. ``divisor``: a 0-d array.

    Within the range, the third power is finite and positive, and so is the derivative of an inverse
    square.
    """
    low = float(namespace(array).finfo(array.dtype).smallest_normal) ** 0.3
    with np.errstate(over="ignore"):
        return namespace(divisor).clip(value / divisor, low, 1 / low)


def blocks_have_safe_squares(blocks: Iterable[Array]) -> bool:
    """Return whether the sum of the squared entries of all matrices in ``blocks`` neither overflows
    nor is so small that squares lose digits."""
    with np.errstate(over="ignore"):
        return has_safe_squares(sum(namespace(b).sum(sum_of_squares(b, axis=1)) for b in blocks))


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Return the thin singular value decomposition (u, s, vt) of a matrix (n, d), with the shapes
    (n, k), (k,) and (k, d) for k = min(n, d), and falling singular values.

    If NumPy's driver does not converge, SciPy's slower driver "gesvd" computes the decomposition.
    """
    try:
        u, s, vt = namespace(matrix).linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        from scipy.linalg import svd as slower_svd

        u, s, vt = slower_svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u, s, vt


def singular_values(matrix: Array) -> Array:
    """Return the singular values of a matrix (n, d), falling, (min(n, d),). If NumPy's driver does
    not converge, SciPy's slower driver "gesvd" computes the values."""
    try:
        return namespace(matrix).linalg.svdvals(matrix)
    except np.linalg.LinAlgError:
        return svd(matrix)[1]


def concatenate_blocks(blocks: Iterable[Array], out: Array) -> Array:
    """Return the blocks concatenated along the first axis. ``out``: an array of the shape of the
    result; NumPy and PyTorch write into ``out`` and return ``out``, other libraries return a new
    array.

    The blocks may be computed lazily from ``out``: every block is written before the next block is
    computed.
    """
    if not (isinstance(out, np.ndarray) or is_torch(out)):
        return namespace(out).concat(list(blocks), axis=0)
    filled = 0
    for block in blocks:
        out[filled : filled + block.shape[0]] = block
        filled += block.shape[0]
    return out


def row_blocks(n: int, height: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of ``n`` rows, without row ``stop``: ``height``
    rows each, by default ``BLOCK_HEIGHT``, and fewer in the last block."""
    height = BLOCK_HEIGHT if height is None else height
    return ((start, min(start + height, n)) for start in range(0, n, height))


def scatter(values: Array, order: Array) -> Array:
    """Return a new array ``result`` with ``result[order] = values``. ``values``: (n,). ``order``: a
    permutation of 0 to n - 1."""
    if isinstance(values, np.ndarray) or is_torch(values):
        result = namespace(values).empty_like(values)
        result[order] = values
        return result
    # The standard has no assignment by index, so a second sort inverts the permutation
    xp = namespace(values)
    return xp.take(values, xp.argsort(order))


def assign(values: Array, index: Array, new: Array) -> Array:
    """Return ``values`` after ``values[index] = new``: overwritten in NumPy and PyTorch, a copy in
    other libraries. ``index``: a mask, or an array of positions. ``new``: the values at the index,
    as many as positions."""
    if isinstance(values, np.ndarray) or is_torch(values):
        values[index] = new
        return values
    xp = namespace(values)
    copy = to_numpy(values).copy()  # the standard has no assignment by index
    copy[to_numpy(index)] = to_numpy(new)
    return xp.asarray(copy, dtype=values.dtype, device=device(values))
