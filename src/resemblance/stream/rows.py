"""The rows of a stream: check batches, and collect rows until there are enough to add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import Array, device, is_on_cpu, is_torch, namespace, scalar, to_numpy
from ..base.exceptions import UndefinedError
from ..contracts.streamed import require_features
from ..data.columns import column_order
from ..data.joining import align_columns, reorder_columns
from ..data.representation import Representation, check_all_finite, check_same_samples, replace_rows
from ..intermediates.digits import resolution
from ..intermediates.points import directed, unit_rows

LARGEST_STREAMED_VALUE = 1e60  # the fourth power of a larger value overflows
SMALLEST_STREAMED_VALUE = 1e-60  # the fourth power of a smaller value underflows
MIN_ROWS_PER_ADDITION, MAX_ROWS_PER_ADDITION = 256, 4096  # number of rows added together
# Numbers in the rows added together. MIN_ROWS_PER_ADDITION overrides this limit.
MAX_NUMBERS_PER_ADDITION = 2**22


class LayerFacts(NamedTuple):
    """Facts about a layer over all samples so far.

    ``width``: number of columns. ``dtype`` and ``resolution``: the coarsest precision of the data,
    as a name and as the distance between neighbouring numbers. ``largest``: the largest magnitude.
    ``columns``: the names of the columns. ``column_orders``: for samples with reordered columns,
    the source of the new order.
    """

    width: int
    dtype: str
    resolution: float
    largest: float
    columns: tuple[str | int, ...] | None = None
    column_orders: tuple[str, ...] = ()


def combine_layer_facts(first: LayerFacts, second: LayerFacts) -> LayerFacts:
    """Return the facts about a layer over two sets of samples; the coarser precision counts."""
    base = max(first, second, key=lambda facts: facts.resolution)
    return base._replace(
        largest=max(first.largest, second.largest),
        columns=first.columns or second.columns,
        column_orders=tuple(dict.fromkeys((*first.column_orders, *second.column_orders))),
    )


def read_batch_layers(
    batch: Mapping[str, Any], number: int, facts: Mapping[str, LayerFacts]
) -> dict[str, Representation]:
    """Return the layers of a batch, by name, in the order of the first batch.

    ``number``: the number of the batch, for errors. ``facts``: of the layers of earlier batches; {}
    for the first batch. Raises ``ValueError`` if the layers do not match the earlier batches.
    """
    caller = f"Stream.update: batch {number}"
    if not isinstance(batch, Mapping) or not batch:
        raise ValueError(f"{caller} must be a mapping from layers to arrays, {{layer: (b, d)}}")
    arrays = {str(name): data for name, data in batch.items()}
    if len(arrays) < len(batch):
        names = [str(name) for name in batch]
        repeated_name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{caller}: two layers are called {repeated_name!r}; names must be unique")
    if facts and set(arrays) != set(facts):
        change = ", ".join(map(repr, sorted(set(arrays) ^ set(facts))))
        raise ValueError(
            f"{caller} has different layers than the first batch: {change}; pass all layers in "
            "every batch"
        )
    layers = {}
    for name in facts or arrays:
        try:
            layers[name] = _as_batch_layer(arrays[name], name)
        except ValueError as error:
            raise ValueError(f"{caller}: {error}") from error
    _check_batch_samples(caller, layers, facts)
    if not facts:
        return dict(zip(layers, align_columns(caller, list(layers.values()))))
    return {name: _reorder_features(caller, r, facts[name]) for name, r in layers.items()}


def _as_batch_layer(data: Any, name: str) -> Representation:
    """Return ``data``, an array (rows, features) of any library or a representation, as a new
    representation called ``name``.

    Raises ``ValueError`` for a representation whose rows are not samples.
    """
    if not isinstance(data, Representation):
        return Representation(data, name)
    require_features("Stream.update", data)
    layer = replace_rows(data, data.source, data.ids)
    layer.name = name
    return layer


def _feature_names(r: Representation) -> tuple[str | int, ...] | None:
    """Return the names of the columns as strings and integers, which a stream file can hold; None
    without names."""
    return (
        None if r.features is None else tuple(i if type(i) is int else str(i) for i in r.features)
    )


def _reorder_features(caller: str, r: Representation, facts: LayerFacts) -> Representation:
    """Return a layer of a batch with the columns in the order of earlier batches, which ``facts``
    names; ``r`` itself if the order is the same.

    Raises ``ValueError`` for columns with other names.
    """
    names = _feature_names(r)
    earlier_title, layer_title = f"layer {r.name!r} of earlier batches", f"layer {r.name!r}"
    order = column_order(
        caller, earlier_title, facts.columns, layer_title, names, is_one_model=True
    )
    return r if order is None else reorder_columns(r, order, "earlier batches")


def _check_batch_samples(
    caller: str, layers: Mapping[str, Representation], facts: Mapping[str, LayerFacts]
) -> None:
    first_name = next(iter(layers))
    reference = next((r for r in layers.values() if r.ids is not None), layers[first_name])
    for name, r in layers.items():
        n, d = r.shape
        if name in facts and d != facts[name].width:
            raise ValueError(f"{caller}: layer {name!r} has {d} features, not {facts[name].width}")
        if n != layers[first_name].shape[0]:
            rows = (
                f"layer {name!r} has {n} rows and {first_name!r} has {layers[first_name].shape[0]}"
            )
            raise ValueError(f"{caller}: {rows}; they must be the same samples")
        check_same_samples(caller, reference, r)


def layer_facts(r: Representation, number: int) -> LayerFacts:
    """Return the facts about the layer ``r`` of batch ``number``; raise ``ValueError`` for values
    that are not finite or too large to be added."""
    xp, kind = r.xp, str(r.source.dtype).rpartition(".")[2]
    is_floating = xp.isdtype(r.source.dtype, "real floating")
    max_value = scalar(xp.max(xp.abs(r.source if is_floating else r.array)))
    if not max_value <= LARGEST_STREAMED_VALUE:  # also true for NaN
        try:
            check_all_finite(r)
        except UndefinedError as error:
            raise ValueError(f"Stream.update: batch {number}: {error}") from error
        raise ValueError(
            f"Stream.update: batch {number}: layer {r.name!r} has values up to {max_value:.3g}, "
            "whose fourth powers overflow; rescale it in all batches"
        )
    orders = (r.column_order,) if r.column_order else ()
    return LayerFacts(r.shape[1], kind, resolution(r), max_value, _feature_names(r), orders)


def sum_location(source: Array) -> Array:
    """Return an empty float64 array with the library and the device of the sums of a stream of
    arrays such as ``source``.

    PyTorch tensors on a device with float64 keep their sums on the device. All other arrays have
    sums in NumPy.
    """
    if not is_torch(source) or is_on_cpu(source) or "mps" in str(device(source)):
        return np.zeros(0)
    return source.detach().new_zeros(0, dtype=namespace(source).float64)


def rows_per_addition(widths: Sequence[int], method: str) -> int:
    """Return the number of rows to add together, large enough to make the cost of the products
    exceed the cost of the sums. ``widths``: the number of columns of each layer. ``method``: "gram"
    or "qr"."""
    columns = sum(widths)
    count = max(
        MIN_ROWS_PER_ADDITION, min(MAX_ROWS_PER_ADDITION, MAX_NUMBERS_PER_ADDITION // columns)
    )
    return max(count, 2 * columns) if method == "qr" else count


class PendingRows:
    """A buffer of ``count`` rows of each layer, so that the sums do not depend on the size of
    batches. ``filled``: the number of rows in the buffer. ``location``: an array with the library
    and the device of the buffer."""

    def __init__(self, widths: Sequence[int], count: int, location: Array) -> None:
        self.place = location
        self.filled = 0
        empty = namespace(location).empty
        options = {"dtype": location.dtype, "device": device(location)}
        self._arrays = [empty((count, width), **options) for width in widths]

    def take(self, sources: Sequence[Array], add: Callable[[list[Array]], None]) -> None:
        """Append ``sources``, rows (n, d) of each layer, to the buffer. Whenever the buffer is
        full, call ``add`` with the buffered rows of each layer, and empty the buffer; ``add`` must
        not keep the arrays."""
        arrays = [source if is_torch(self.place) else to_numpy(source) for source in sources]
        start, n, count = 0, arrays[0].shape[0], self._arrays[0].shape[0]
        while start < n:
            stop = min(n, start + count - self.filled)
            for array, source in zip(self._arrays, arrays):
                array[self.filled : self.filled + stop - start] = _rows_on_device(
                    source, start, stop, array
                )
            self.filled, start = self.filled + stop - start, stop
            if self.filled == count:
                self.filled = 0
                add(self._arrays)

    def waiting(self) -> list[Array]:
        """Return the buffered rows of each layer, (filled, d), as views."""
        return [array[: self.filled] for array in self._arrays]


def _rows_on_device(source: Array, start: int, stop: int, array: Array) -> Array:
    if not is_torch(array):
        return source[start:stop]
    rows = source[start:stop] if is_torch(source) else to_numpy(source[start:stop])
    return namespace(array).as_tensor(rows, device=device(array))


def unit_rows_and_pair_counts(rows: Sequence[Array]) -> tuple[list[Array], np.ndarray]:
    """Return the rows of every layer at unit length, (n, d), and a count for every pair of layers,
    (layers, layers).

    The count is the number of rows with a direction (not zero) in both layers.
    """
    layers = [Representation(block) for block in rows]
    has_direction = np.stack([to_numpy(directed(r)) for r in layers])
    return list(map(unit_rows, layers)), has_direction @ has_direction.T
