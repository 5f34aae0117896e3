"""Layouts: pool activations with tokens, positions or time bins to one row per sample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..base.arrays import Array, as_array_like, is_torch, namespace, to_numpy, working_precision
from ..base.text import check_choice, warn
from .array_files import npy_path, open_npy
from .inputs import sample_order
from .representation import Representation, read_array

TokenPool = Literal["first", "last", "mean", "max", "flatten"]
MapPool = Literal["mean", "max", "flatten", "positions"]
TrialPool = Literal["mean", "max", "flatten"]
SampleIds = tuple[Hashable, ...] | None
AXIS_NAMES = {  # accepted names of response axes, in the singular
    "trial": "trials", "bin": "bins", "time": "bins", "unit": "units", "neuron": "units",
    "channel": "units",
    "cell": "units",
}  # fmt: skip
SAMPLES = (
    "sample", "stimulus", "stimuli", "trial", "presentation", "item", "image", "sentence", "text",
    "document", "example", "instance", "observation", "batch",
)  # fmt: skip
FEATURES = (
    "feature", "unit", "neuron", "channel", "cell", "voxel", "hidden", "embedding", "dimension",
)  # fmt: skip
TOKENS = {  # accepted names of token axes, in the singular
    "samples": SAMPLES,
    "tokens": ("token", "word", "position", "patch", "step", "time", "bin"),
    "features": FEATURES,
}
MAPS = {
    "samples": SAMPLES,
    "channels": (*FEATURES, "filter"),
    "height": ("height", "row", "y", "h"),
    "width": ("width", "column", "x", "w"),
}
# Pooling converts only this many samples at a time to the precision of computation
SAMPLES_PER_BLOCK = 512


def from_tokens(
    X: Any,
    *,
    pool: TokenPool,
    mask: Any = None,
    name: str = "",
    ids: Sequence[Hashable] | None = None,
) -> Representation:
    """Return a representation with one row per sample, from activations with a row per token.

    Parameters
    ----------
    X : (n_samples, tokens, features), of any library, the path of a ``.npy`` file, or a list with a
        (tokens, features) array for each sample, all of the same shape. A DataArray of xarray may
        have the axes in any order if the dimensions have usual names (sample, stimulus; token,
        position, time; feature, unit ...).
    pool : ``"first"`` or ``"last"`` real token, ``"mean"`` or ``"max"`` over the real tokens, or
        ``"flatten"``: all tokens side by side, (n_samples, tokens * features).
    mask : (n_samples, tokens), true or 1 for real tokens and false or 0 for padding, at any
        position. Without a mask all tokens are real.
    name, ids : as in :class:`Representation`.

    Raises ``ValueError`` for another shape or pooling, for a sample without real tokens, and for
    ``"flatten"`` with padding, because a column would mean different tokens in different rows.
    Warns, without a mask, about samples that end or begin with different numbers of zero tokens.
    """
    X = _in_order_of_axes(X, "from_tokens", "X", TOKENS)
    mask = _in_order_of_axes(mask, "from_tokens", "mask", TOKENS)
    ids = _dataarray_ids(X) if ids is None else ids
    X, name = _check_layout(X, name, "from_tokens", "(n_samples, tokens, features)", 3)
    check_choice("from_tokens: pool", pool, get_args(TokenPool))
    if mask is None and pool != "flatten" and (ends := count_zero_padded(X)):
        warn(
            f"from_tokens: {ends}, like padding, and the zeros are pooled like other tokens; if "
            "the zeros are padding, pass mask=(X != 0).any(-1), or the attention mask of the "
            "tokenizer"
        )
    return Representation(pool_tokens(X, pool, mask, ids), name, ids=ids)


def pool_tokens(
    X: Array, pool: TokenPool, mask: Any, ids: Sequence[Hashable] | None = None
) -> Array:
    """Return activations ``X`` (n, tokens, features) pooled over the tokens, (n, features), without
    a warning; with ``pool="flatten"`` all tokens side by side, (n, tokens * features).

    ``pool``: "first" or "last" real token, "mean" or "max" over real tokens. ``mask``: (n, tokens),
    true for real tokens and false for padding; None if all tokens are real. ``ids``: of the
    samples, for errors.
    """
    token_mask = None if mask is None else _token_mask(mask, X, ids)
    if pool == "flatten":
        _refuse_padding(token_mask)
        return _flatten_samples(X)
    if pool in ("first", "last"):
        return _first_or_last_token(X, token_mask, pool)
    mask_of_x = [] if token_mask is None else [as_array_like(token_mask, X)]
    return _apply_in_blocks(
        _mean_over_tokens if pool == "mean" else _max_over_tokens, X, *mask_of_x
    )


def count_zero_padded(X: Array) -> str:
    """Return the number of samples of ``X`` (n, tokens, features) that begin or end with zero
    tokens, in words, if the numbers of zero tokens differ; else ""."""
    for index, verb in ((-1, "end"), (0, "begin")):
        is_zero = to_numpy(X[:, index, :] == 0).all(axis=1)
        if not is_zero.any():
            continue
        values: Any = to_numpy(X != 0)
        tokens = values.any(axis=2)[:, :: index or 1]
        counts = tokens.argmax(axis=1)[tokens.any(axis=1)]  # without samples of only zeros
        if len(set(counts.tolist())) > 1:
            return (
                f"{int((counts > 0).sum())} of {len(tokens)} samples {verb} with tokens that are "
                f"zero, up to {counts.max()} of them"
            )
    return ""


def from_maps(
    X: Any,
    *,
    pool: MapPool,
    size: tuple[int, int] | None = None,
    name: str = "",
    ids: Sequence[Hashable] | None = None,
) -> Representation:
    """Return a representation with one row per sample or per position, from activation maps of
    channels.

    Parameters
    ----------
    X : (n_samples, channels, height, width), of any library, the path of a ``.npy`` file, or a
        list with a (channels, height, width) array for each sample, all of the same shape. A
        DataArray of xarray may have the axes in any order if the dimensions have usual names
        (sample; channel, feature; height, row, y; width, column, x ...).
    pool : ``"mean"`` or ``"max"`` over the positions; ``"flatten"``: (n_samples, channels * height
        * width); or ``"positions"``: each position is a sample, (n_samples * height * width,
        channels), sample by sample and row by row of the map. Sample ids then become (id, row,
        column).
    size : (height, width); before pooling, adaptive average pooling, as defined by PyTorch, resizes
        the maps to this size: bin i of h covers floor(i H / h) to ceil((i + 1) H / h). With a size,
        maps of different sizes can be compared. A larger size repeats positions.
    name, ids : as in :class:`Representation`.

    Raises ``ValueError`` for another shape or pooling, for a size other than two positive integers,
    and for ids that do not fit. Warns about maps with equal second and third axes and a different
    fourth axis, as with channels last, and about a size that repeats positions.
    """
    X = _in_order_of_axes(X, "from_maps", "X", MAPS)
    ids = _dataarray_ids(X) if ids is None else ids
    X, name = _check_layout(X, name, "from_maps", "(n_samples, channels, height, width)", 4)
    check_choice("from_maps: pool", pool, get_args(MapPool))
    _warn_map_axes(tuple(X.shape), size)
    X = _resize_maps(X, size)
    if pool == "positions":
        n, _, height, width = X.shape
        points = map_positions(X)
        if ids is not None and len(ids) != n:
            raise ValueError(f"from_maps: X has {n} samples but {len(ids)} ids")
        position_ids = None if ids is None else list(product(ids, range(height), range(width)))
        return Representation(points, name, ids=position_ids)
    return Representation(pool_maps(X, pool), name, ids=ids)


def map_positions(X: Array, size: tuple[int, int] | None = None) -> Array:
    """Return the maps ``X`` (n, channels, height, width) with a row for each position, (n * height
    * width, channels), sample by sample and row by row of the map. ``size``: (height, width) to
    resize to first; None for no change."""
    X = _resize_maps(X, size)
    n, channels, height, width = X.shape
    channels_last = namespace(X).permute_dims(X, (0, 2, 3, 1))
    return namespace(X).reshape(channels_last, (n * height * width, channels))


def _resize_maps(X: Array, size: tuple[int, int] | None) -> Array:
    if size is None or _validated_map_size(size) == tuple(X.shape[2:]):
        return X
    return _apply_in_blocks(lambda block: _adaptive_average_pool(block, *size), X)


def pool_maps(X: Array, pool: MapPool) -> Array:
    """Return the mean or maximum of the maps ``X`` (n, channels, height, width) over positions, (n,
    channels); with ``pool="flatten"`` all values, (n, channels * height * width). "positions" is
    not supported."""
    if pool == "flatten":
        return _flatten_samples(X)
    xp, axes = namespace(X), (2, 3)
    return _apply_in_blocks(lambda maps: getattr(xp, pool)(maps, axis=axes), X)


def _warn_map_axes(shape: tuple[int, ...], size: tuple[int, int] | None) -> None:
    """Warn about maps of ``shape`` (n, channels, height, width) that may have channels last, and
    about a ``size`` (height, width) that repeats positions."""
    _, channels, height, width = shape
    if channels == height != width:
        warn(
            f"from_maps: X {shape} is read as (samples, channels, height, width), {channels} "
            f"channels of {height} x {width}; if its channels are last, pass np.moveaxis(X, -1, 1) "
            "(X.permute(0, 3, 1, 2) of PyTorch)"
        )
    if size is not None and (_validated_map_size(size)[0] > height or size[1] > width):
        warn(
            f"from_maps: size={size} is larger than maps of {height} x {width}, so positions are "
            f"repeated; pass size={(min(size[0], height), min(size[1], width))} for all layers "
            "that are compared"
        )


def from_trials(
    X: Any,
    *,
    pool: TrialPool,
    window: tuple[int, int] | None = None,
    axes: str | None = None,
    name: str = "",
    ids: Sequence[Hashable] | None = None,
) -> Representation:
    """Return a representation with one row per trial, from responses with time bins.

    Parameters
    ----------
    X : responses with axes for trials, bins and units, of any library, or the path of a ``.npy``
        file.
    pool : ``"mean"`` or ``"max"`` over the bins, or ``"flatten"``: all bins side by side,
        (n_trials, bins * units).
    window : (start, stop), pools only the bins ``start`` to ``stop - 1``; all bins by default. Raju
        2026 (Section 13) uses the mean of bins 50 to 99, the decision epoch: ``pool="mean",
        window=(50, 100)``.
    axes : the axes of X in order, ``"trials bins units"`` or ``"trials units bins"``. Required,
        because responses come in both orders, unless X is a DataArray of xarray with dimensions of
        these names. Bins may be called time or times, and units neurons, channels or cells.
    name, ids : as in :class:`Representation`; one id per trial, by default the coordinate of the
        trials of a DataArray.

    Statistics of trials assume rows in the order of recording. Raises ``ValueError`` for another
    shape, pooling or order of axes, and for a window that is empty or not inside the trial.
    """
    X, name, coordinates = as_trials(X, axes, "from_trials", name)
    ids = coordinates if ids is None else ids
    check_choice("from_trials: pool", pool, get_args(TrialPool))
    start, stop = (0, X.shape[1]) if window is None else _validated_window(window, X.shape[1])
    X = X[:, start:stop, :]
    if pool == "flatten":
        return Representation(_flatten_samples(X), name, ids=ids)
    rows = _apply_in_blocks(_mean_over_tokens if pool == "mean" else _max_over_tokens, X)
    return Representation(rows, name, ids=ids)


def as_trials(
    X: Any, axes: str | None, function: str, name: str = ""
) -> tuple[Array, str, SampleIds]:
    """Return the responses ``X``, a 3-d array or a DataArray, as an array (n_trials, bins, units),
    the name, and the trial ids of a DataArray, None for other data.

    ``axes``: the names of the axes of X in order, such as "trials units bins"; None for the
    dimensions of a DataArray. ``function``: the name in errors. Raises ``ValueError`` unless
    ``axes``, or the dimensions, name the three axes.
    """
    words = axes.split() if isinstance(axes, str) else axes
    names = list(words) if words is not None else [str(dim) for dim in getattr(X, "dims", ())]
    order = [AXIS_NAMES.get(axis.lower().rstrip("s"), axis) for axis in names]
    layout = ", ".join(names or ("trials", "bins", "units"))
    data, name = _check_layout(X, name, function, f"({layout})", 3)
    if sorted(order) != ["bins", "trials", "units"]:
        remedy = "'trials', 'bins' and 'units' in the order of X"
        if names:
            raise ValueError(f"{function}: axes must be {remedy}; got {axes!r}")
        example = f'axes="trials bins units" if {tuple(data.shape)} is that'
        raise ValueError(f"{function} needs axes, {remedy}: {example}")
    trials, bins, units = (order.index(axis) for axis in ("trials", "bins", "units"))
    ids = _dataarray_ids(X.transpose(X.dims[trials], ...)) if hasattr(X, "dims") else None
    return namespace(data).permute_dims(data, (trials, bins, units)), name, ids


# ----------------------------------------------------------------------------------------- checking


def _dataarray_ids(data: Any) -> SampleIds:
    order = sample_order(data, "X")
    return order if isinstance(order, tuple) else None


def _in_order_of_axes(
    data: Any, function: str, title: str, roles: Mapping[str, Sequence[str]]
) -> Any:
    """Return a DataArray with axes in the order of the roles, using the names of the dimensions;
    other data unchanged.

    ``title``: "X" or "mask"; a mask has only the first two roles. ``roles``: the usual names of
    dimensions by role, in the order of the axes. A single unknown name gets the only missing role.
    Raises ``ValueError`` if several names are unknown and a known name is in the position of
    another role.
    """
    dims = getattr(data, "dims", None)
    order = list(roles) if title == "X" else list(roles)[:2]  # a mask has no features
    if not isinstance(dims, tuple) or len(dims) != len(order):
        return data
    axis_roles = [_role_of(str(dim), roles) for dim in dims]
    for place, role in enumerate(order):  # of two names for one role, keep the name in place
        if axis_roles.count(role) > 1:
            axis_roles = [r if r != role or i == place else None for i, r in enumerate(axis_roles)]
    missing_roles = [role for role in order if role not in axis_roles]
    if len(missing_roles) == 1 and axis_roles.count(None) == 1:
        axis_roles[axis_roles.index(None)] = missing_roles[0]
    if all(role in (None, place) for role, place in zip(axis_roles, order)):
        return data
    if set(axis_roles) == set(order):
        return data.transpose(*(dims[axis_roles.index(role)] for role in order))
    raise ValueError(
        f"{function}: {title} has the dimensions {dims}, and its axes must be "
        f"({', '.join(order)}); give its dimensions these names in any order, "
        f"{title}.rename(...), or pass {title}.to_numpy() if its axes are in this order"
    )


def _role_of(dimension: str, roles: Mapping[str, Sequence[str]]) -> str | None:
    name = dimension.lower()
    singular = name.removesuffix("s")
    return next((r for r, names in roles.items() if name in names or singular in names), None)


def _check_layout(
    data: Any, name: str, function: str, layout: str, dimensions: int
) -> tuple[Array, str]:
    """Return the data as an array, and the name, by default of the file.

    ``dimensions``: the required number of axes. Raises ``ValueError`` for an empty array or another
    number of axes; the message has ``function`` and ``layout``.
    """
    is_path = isinstance(data, str | Path)
    data = _stack_samples(data, function, dimensions)
    X = read_array(open_npy(npy_path(data)) if is_path else data, name)
    X = np.asarray(X) if isinstance(X, np.ndarray) else X  # a memory map, without reading it
    shape = tuple(X.shape)
    if len(shape) != dimensions:
        remedies = {
            2: "use it as it is",
            3: 'rs.from_tokens(X, pool="mean")',
            4: 'rs.from_maps(X, pool="mean")',
        }
        remedy = f"; for this shape: {remedies[len(shape)]}" if len(shape) in remedies else ""
        raise ValueError(f"{function} needs X {layout}; got shape {shape}{remedy}")
    if 0 in shape:
        raise ValueError(f"{function}: X is empty: shape {shape}")
    return X, name or (Path(data).stem if is_path else "")


def _stack_samples(data: Any, function: str, dimensions: int) -> Any:
    """Return a list with an array of ``dimensions - 1`` axes for each sample as one array; other
    data unchanged. For ``function`` "from_maps", raises ``ValueError`` for maps of several
    shapes."""
    if not isinstance(data, list | tuple) or not data:
        return data
    shapes = [tuple(getattr(sample, "shape", ())) for sample in data]
    if {len(shape) for shape in shapes} != {dimensions - 1}:
        return data
    if len(set(shapes)) == 1:
        xp = namespace(*data)
        return xp.stack(list(data))
    if function != "from_maps":
        return data
    other_shape = next(shape for shape in shapes if shape != shapes[0])
    mean = "torch.stack([x.mean(dim=(1, 2)) for x in X])"
    mean = mean if is_torch(data[0]) else "np.stack([x.mean(axis=(1, 2)) for x in X])"
    raise ValueError(
        f"from_maps: X is a list of maps of several shapes, {shapes[0]} and {other_shape}; take "
        f"their means, {mean}, or bring them to one size"
    )


def _token_mask(mask: Any, X: Array, ids: Sequence[Hashable] | None) -> np.ndarray:
    """Return the ``mask`` of the activations ``X`` (n, tokens, features) as booleans, (n, tokens),
    with at least one real token in each row; raise ``ValueError`` for other masks. ``ids``: the
    samples in messages."""
    flags = to_numpy(read_array(mask, "mask"))
    if flags.shape != tuple(X.shape[:2]):
        raise ValueError(
            f"from_tokens: the mask of X {tuple(X.shape)} must be {tuple(X.shape[:2])}; got "
            f"{flags.shape}"
        )
    if not np.isin(flags, (0, 1)).all():
        raise ValueError(
            "from_tokens: the mask must be 1 (or true) for real tokens and 0 for padding"
        )
    empty_rows = np.flatnonzero(~flags.astype(bool).any(axis=1))
    if empty_rows.size:
        id_note = (
            f" (id {ids[empty_rows[0]]!r})" if ids is not None and len(ids) == len(flags) else ""
        )
        raise ValueError(
            f"from_tokens: row {empty_rows[0]}{id_note} has no real token in the mask; leave out "
            "such samples"
        )
    return flags.astype(bool)


def _refuse_padding(mask: np.ndarray | None) -> None:
    if mask is not None and not mask.all():
        raise ValueError(
            f'from_tokens: pool="flatten" puts all tokens side by side, but {int((~mask).sum())} '
            f"of {mask.size} are "
            'padding; pool with "first", "last", "mean" or "max", or cut X to tokens that all '
            "samples have"
        )


def _validated_window(window: Any, bins: int) -> tuple[int, int]:
    is_pair = isinstance(window, tuple | list) and len(window) == 2
    if is_pair and all(isinstance(t, int | np.integer) for t in window):
        start, stop = (int(t) for t in window)
        if 0 <= start < stop <= bins:
            return start, stop
    raise ValueError(
        f"from_trials: window must be (start, stop) with 0 <= start < stop <= {bins}; got "
        f"{window!r}"
    )


def _validated_map_size(size: Any) -> tuple[int, ...]:
    is_pair = isinstance(size, tuple | list) and len(size) == 2
    if is_pair and all(isinstance(s, int) and s > 0 for s in size):
        return tuple(size)
    raise ValueError(
        f"from_maps: size must be (height, width), two positive integers; got {size!r}"
    )


# ------------------------------------------------------------------------------------------ pooling


def _apply_in_blocks(function: Callable[..., Array], *arrays: Array) -> Array:
    """Return ``function(*blocks)`` for blocks of samples, in the precision of computation, with the
    results concatenated along the samples. Only the first array is converted to this precision."""
    xp, precision, results = namespace(arrays[0]), working_precision(arrays[0]), []
    n = arrays[0].shape[0]
    for start in range(0, n, SAMPLES_PER_BLOCK):
        block, *other_blocks = (a[start : min(start + SAMPLES_PER_BLOCK, n), ...] for a in arrays)
        with np.errstate(all="ignore"):  # a measure reports infinite values, with their places
            results.append(
                function(xp.astype(block, getattr(xp, precision), copy=False), *other_blocks)
            )
    return xp.concat(results)


def _flatten_samples(X: Array) -> Array:
    return namespace(X).reshape(X, (X.shape[0], -1))


def _first_or_last_token(X: Array, mask: np.ndarray | None, pool: TokenPool) -> Array:
    """Return the first or last real token of each sample of ``X`` (n, tokens, features), shape (n,
    features). ``mask``: (n, tokens), True for real tokens; None if all are real."""
    n, tokens, features = X.shape
    if mask is None:
        return X[:, 0, :] if pool == "first" else X[:, -1, :]
    starts, ends = mask.argmax(axis=1), tokens - 1 - mask[:, ::-1].argmax(axis=1)
    rows = np.arange(n) * tokens + (starts if pool == "first" else ends)
    xp = namespace(X)
    return xp.take(xp.reshape(X, (n * tokens, features)), as_array_like(rows, X), axis=0)


def _mean_over_tokens(X: Array, mask: Array | None = None) -> Array:
    xp = namespace(X)
    if mask is None:
        return xp.mean(X, axis=1)
    tokens = xp.where(mask[:, :, None], X, xp.zeros_like(X))  # padding may hold anything, even NaN
    return xp.sum(tokens, axis=1) / xp.sum(xp.astype(mask, X.dtype), axis=1)[:, None]


def _max_over_tokens(X: Array, mask: Array | None = None) -> Array:
    xp = namespace(X)
    tokens = X if mask is None else xp.where(mask[:, :, None], X, xp.full_like(X, -xp.inf))
    return xp.max(tokens, axis=1)


def _adaptive_average_pool(X: Array, height: int, width: int) -> Array:
    """Return the maps ``X`` (n, channels, height, width) after adaptive average pooling to the
    sides ``height`` and ``width``, first over columns and then over rows."""
    transpose = namespace(X).matrix_transpose
    return transpose(_average_pool_last_axis(transpose(_average_pool_last_axis(X, width)), height))


def _average_pool_last_axis(X: Array, bins: int) -> Array:
    """Return means of ``X`` over ``bins`` adjacent, possibly overlapping segments of the last axis,
    (..., bins)."""
    xp, length = namespace(X), X.shape[-1]
    stretches = [(i * length // bins, -(-(i + 1) * length // bins)) for i in range(bins)]
    return xp.stack([xp.mean(X[..., start:stop], axis=-1) for start, stop in stretches], axis=-1)
