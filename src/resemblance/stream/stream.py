"""The class of streams: sums over layers, batch by batch, and the exact scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..base.arrays import Array, detach
from ..base.formatting import list_names
from ..base.json_files import decode_record
from ..base.text import check_choice, did_you_mean
from ..catalogue import preset
from ..comparison.comparison import Comparison
from ..contracts._measure import MeasureArgument
from ..contracts.streamed import stream_requirements
from ..data.caveats import describe_column_orders, square_and_copy_caveats, variance_caveats
from ..data.columns import column_order
from ..data.representation import Representation
from ..engine._compare import compare_many
from ..engine.inputs import ComparisonInputs
from ..engine.jobs import open_executor
from ..engine.options import check_run_options
from .comparing import compare_pairs
from .files import read_stream_file, write_stream_file
from .rows import (
    SMALLEST_STREAMED_VALUE,
    LayerFacts,
    combine_layer_facts,
    layer_facts,
    read_batch_layers,
    sum_location,
)
from .stand_ins import surrogate_layers
from .state import StreamState
from .sums import LayerPair

StreamMethod = Literal["gram", "qr"]


class Stream:
    r"""Layers processed batch by batch, in memory that does not grow with the number of samples.

    .. math:: \sum_i z_i z_i^\top, \qquad z_i = (1,\; x_i - a,\; \lVert x_i - a \rVert^2,\;
        y_i - b,\; \lVert y_i - b \rVert^2, \ldots)

    These sums, with fixed shifts a, b, determine every measure that is invariant to
    ``sample_rotation``, and debiased linear CKA. The values equal the values over all samples at
    once, up to rounding. Batches may have any size. You can merge streams of different samples,
    computed in different places.

    Parameters
    ----------
    method : ``"gram"`` adds up the products, in compensated sums. Whitening then magnifies rounding
        by the square of the condition number of a layer; if the resulting error is above 1e-4, the
        value is missing. ``"qr"`` keeps the triangular factor of all columns instead, at three to
        four times the cost. Whitening then magnifies rounding by the condition number.
    pairs : the pairs of layers to compare; by default all pairs. The stream keeps only the products
        of these pairs, which saves memory with many layers. Not with ``"qr"``.
    directions : also keep the products of the rows at unit length, at twice the cost, for measures
        of directions: ``aligned_cosine``, ``concentricity_difference`` and CKA with the cosine
        kernel.

    The state takes about 8 D² bytes for D columns in total, twice as much with ``directions``, and
    buffers a few thousand rows to add together. Sums are in float64, on the device of the first
    batch if the device has float64. Several threads must not use a stream at the same time.
    """

    def __init__(
        self,
        method: StreamMethod = "gram",
        *,
        pairs: Iterable[tuple[str, str]] | None = None,
        directions: bool = False,
    ):
        check_choice("Stream: method", method, get_args(StreamMethod))
        if not isinstance(directions, bool | np.bool_):
            raise ValueError(f"Stream: directions must be True or False; got {directions!r}")
        pair_list: list[Any] = [] if pairs is None else list(pairs)
        if invalid_pairs := [pair for pair in pair_list if isinstance(pair, str) or len(pair) != 2]:
            raise ValueError(
                f'Stream: pairs are two names each, [("a", "b"), ...]; one is {invalid_pairs[0]!r}'
            )
        self.method: StreamMethod = method
        self.pairs = None if pairs is None else tuple((str(a), str(b)) for a, b in pair_list)
        self.directions = bool(directions)
        if self.pairs is not None and (method == "qr" or not self.pairs):
            problem = "method='qr' keeps all pairs" if self.pairs else "pairs is empty"
            raise ValueError(f"Stream: {problem}; leave pairs out, or take method='gram'")
        self._facts: dict[str, LayerFacts] = {}
        self._batches = 0
        self._caveats: tuple[str, ...] = ()  # caveats about batches
        self._state: StreamState | None = None  # None before the first batch

    @property
    def n_samples(self) -> int:
        """The number of samples so far."""
        return self._state.n if self._state else 0

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers; empty before the first batch."""
        return tuple(self._facts)

    def __repr__(self) -> str:
        sizes = [f"{name} ({facts.width})" for name, facts in self._facts.items()]
        layer_list = list_names(sizes, 6)
        options = f"method={self.method!r}" + (", directions=True" if self.directions else "")
        return f"<Stream of {self.n_samples:,} samples: {layer_list or 'no layers yet'}; {options}>"

    # -------------------------------------------------------------------------------------- samples

    def update(self, batch: Mapping[str, Any]) -> None:
        """Add a batch: for every layer, an array (rows, features) of any library or a
        representation, with the same rows in all layers.

        Raises ``ValueError``, and adds nothing, for layers or widths different from earlier
        batches, for layers with different numbers of rows, without rows, or with different samples
        by the ids, for columns with other names, and for NaN or infinite values. If columns have
        equal names in another order, the stream reorders the columns to match earlier batches, and
        the caveats say so.
        """
        layers = read_batch_layers(batch, self._batches, self._facts)
        facts = {name: layer_facts(r, self._batches) for name, r in layers.items()}
        sources = [detach(r.source) for r in layers.values()]
        caveats = square_and_copy_caveats(list(layers.values()))
        self._begun(facts, sum_location(sources[0])).take(sources)
        self._learn(facts)
        self._caveats = tuple(
            dict.fromkeys((*self._caveats, *(f"in a batch {c}" for c in caveats)))
        )
        self._batches += 1

    def merge(self, other: Stream) -> None:
        """Add the samples of another stream, which stays unchanged.

        If columns have equal names in another order, the stream reorders the columns of the other
        stream, and the caveats say so.

        Raises ``ValueError``, and adds nothing, if the layers, method, pairs, directions or column
        names differ.
        """
        self._check_alike(other)
        if other._state is not None:
            state, orders = self._begun(other._facts, np.zeros(0)), []
            merged_facts = dict(other._facts)
            for name, facts in self._facts.items():
                other_facts, title = other._facts[name], f"layer {name!r}"
                names = f"{title} here", facts.columns, f"{title} there", other_facts.columns
                order = column_order("Stream.merge", *names, is_one_model=True)
                orders.append(np.arange(facts.width) if order is None else np.array(order))
                if order is not None:
                    column_orders = (*other_facts.column_orders, "the first stream")
                    merged_facts[name] = other_facts._replace(column_orders=column_orders)
            state.merge(other._state, orders)
            self._learn(merged_facts)
            self._caveats = tuple(dict.fromkeys((*self._caveats, *other._caveats)))
            self._batches += other._batches

    # --------------------------------------------------------------------------------------- scores

    def representations(self, *layers: str) -> dict[str, Representation]:
        """Return the layers (by default all layers) as representations for measures that stream.

        The representations hold D + 1 points for D columns, with the means and the inner products
        of the samples: ``rs.cka(*stream.representations("a", "b").values())``. Compare only
        representations from the same call. Raises ``ValueError`` for a stream with fewer than two
        samples, for a layer that does not exist, and for a pair of layers without stored products.
        """
        positions = {name: self.layers.index(name) for name in self._checked_names(layers)}
        if self._state is None or self.n_samples < 2:
            raise ValueError(
                f"Stream: {self.n_samples} samples are too few; update it with at least 2"
            )
        facts = [self._facts[name] for name in positions]
        return surrogate_layers(self._state.closed(), positions, facts, self.pairs is None)

    def compare(
        self, measures: Iterable[MeasureArgument] | MeasureArgument | None = None, **options: Any
    ) -> Comparison:
        """Compare all layers, or the pairs of the stream, with measures that stream.

        ``measures`` defaults to the measures of ``preset("default")`` that this stream can compute.
        Other ``options`` are the options of :func:`resemblance.compare`. A pair that a measure
        cannot handle, or a measure that needs the samples, is NaN with a reason. For a measure that
        whitens, the diagnostic ``conditioning`` is the error due to rounding. The provenance says
        that the values were streamed, and from how many samples and batches.
        """
        provenance = {
            "method": self.method,
            "directions": self.directions,
            "n_samples": self.n_samples,
            "batches": self._batches,
        }
        caveats = self.caveats()
        if measures is None:
            row_kinds = {"", "squares", *(["directions"] if self.directions else [])}
            measures = [m for m in preset("default") if stream_requirements(m) in row_kinds]
        with open_executor("compare", options.pop("jobs", None)) as executor:
            run_options = check_run_options(executor, **options)
            if self.pairs is None:
                inputs = ComparisonInputs.of(
                    self.representations(), measures, metadata={"stream": provenance}
                )
                inputs.note(caveats)
                return compare_many([inputs], run_options)[0]
            by_pair = {pair: self.representations(*dict.fromkeys(pair)) for pair in self.pairs}
            notes = {"caveats": list(caveats)} if caveats else {}
            return compare_pairs(by_pair, measures, {"stream": provenance, **notes}, run_options)

    def caveats(self) -> tuple[str, ...]:
        """Return the caveats about the samples so far: reordered columns, duplicate samples and
        matrices of samples inside a batch, and features with half of the variance."""
        order_caveats = describe_column_orders(
            (n, o) for n, f in self._facts.items() for o in f.column_orders
        )
        shares = [] if self._state is None else self._state.closed().shares(self.n_samples)
        return (*order_caveats, *self._caveats, *variance_caveats(self.layers, shares))

    # ---------------------------------------------------------------------------------------- files

    def save(self, path: str | Path) -> None:
        """Write the state, with the names of columns, to a ``.npz`` file, completely or not at all.

        Raises ``ValueError`` for a folder, ``OSError`` if the file cannot be written.
        """
        header = {
            "method": self.method,
            "pairs": self.pairs,
            "directions": self.directions,
            "layers": [[name, *facts] for name, facts in self._facts.items()],
            "n_samples": self.n_samples,
            "batches": self._batches,
            "caveats": self._caveats,
        }
        write_stream_file(Path(path), header, self._state.arrays() if self._state else {})

    @classmethod
    def load(cls, path: str | Path) -> Stream:
        """Return the stream from a file of :meth:`save`, ready for more batches.

        Raises ``ValueError`` for a missing file, for another kind of file and for a damaged file.
        """
        header, arrays = read_stream_file(Path(path))
        try:
            stream = cls(header["method"], pairs=header["pairs"], directions=header["directions"])
            layers = {name: facts for name, *facts in header["layers"]}
            facts: dict[str, LayerFacts] = decode_record(Mapping[str, LayerFacts], layers, "layers")
            stream._caveats = decode_record(tuple[str, ...], header["caveats"], "caveats")
            for name in ("n_samples", "batches"):
                if decode_record(int, header[name], name) < 0:
                    raise ValueError(f"{name} is {header[name]}")
            if len(facts) < len(header["layers"]):
                raise ValueError("a layer is listed twice")
            if facts:
                stream._begun(facts, np.zeros(0)).restore(arrays, header["n_samples"])
            stream._batches = header["batches"]
        except (TypeError, ValueError, MemoryError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        return stream

    # ------------------------------------------------------------------------------------- checking

    def _begun(self, facts: Mapping[str, LayerFacts], location: Array) -> StreamState:
        """Return the state of the stream. On the first call, create the state for the layers of
        ``facts``, the facts about each layer by name.

        ``location``: an empty array with the library and the device of the sums.
        """
        if self._state is None:
            widths, pairs = [f.width for f in facts.values()], self._positions(list(facts))
            self._state = StreamState(widths, pairs, self.method, self.directions, location)
            self._facts = dict(facts)
        return self._state

    def _learn(self, facts: Mapping[str, LayerFacts]) -> None:
        self._facts = {
            n: combine_layer_facts(own_facts, facts[n]) for n, own_facts in self._facts.items()
        }

    def _positions(self, names: Sequence[str]) -> list[LayerPair]:
        """Return the pairs of layers with stored products, as positions (i, j) in ``names``, the
        layers, with i <= j.

        Every layer forms a pair with itself, too. Raises ``ValueError`` if a pair names an unknown
        layer.
        """
        if self.pairs is None:
            return list(combinations_with_replacement(range(len(names)), 2))
        for name in dict.fromkeys(name for pair in self.pairs for name in pair):
            if name not in names:
                raise ValueError(f"Stream: pairs has {name!r}{did_you_mean(name, names)}")
        pairs = [(names.index(a), names.index(b)) for a, b in self.pairs]
        sorted_pairs = [(min(pair), max(pair)) for pair in pairs]
        return list(dict.fromkeys([*((i, i) for i in range(len(names))), *sorted_pairs]))

    def _check_alike(self, other: Stream) -> None:
        """Raise ``ValueError`` if the other stream has another method, other options or other
        layers."""
        if not isinstance(other, Stream) or other is self:
            term = "another Stream, not itself" if other is self else "a Stream"
            raise ValueError(f"Stream.merge takes {term}; got {other!r}")
        for term in ("method", "pairs", "directions"):
            own_value, other_value = getattr(self, term), getattr(other, term)
            if own_value != other_value:
                raise ValueError(
                    f"Stream.merge: this stream has {term}={own_value!r} and the other "
                    f"{other_value!r}; create both with the same options"
                )
        widths = [{n: f.width for n, f in s._facts.items()} for s in (self, other)]
        if all(widths) and list(widths[0].items()) != list(widths[1].items()):
            raise ValueError(
                f"Stream.merge: this stream has the layers {widths[0]} and the other {widths[1]}; "
                "create both with the same layers in the same order"
            )

    def _checked_names(self, layers: Sequence[str]) -> tuple[str, ...]:
        """Return the requested layers, by default all layers.

        Raises ``ValueError`` if a layer does not exist or has too small values, or if the products
        of two layers are not stored.
        """
        names = layers or self.layers
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"Stream: layers are named one by one, not in a list: {name!r}")
            if name not in self._facts:
                raise ValueError(f"Stream: no layer {name!r}{did_you_mean(name, self.layers)}")
            if 0 < self._facts[name].largest < SMALLEST_STREAMED_VALUE:
                raise ValueError(f"Stream: layer {name!r} is too small to be squared; rescale it")
        kept_pairs = set(self._positions(self.layers))
        for a, b in combinations_with_replacement(names, 2):
            i, j = sorted((self.layers.index(a), self.layers.index(b)))
            if (i, j) not in kept_pairs:
                raise ValueError(
                    f"Stream: the products of {a!r} and {b!r} are not kept; add them to pairs, or "
                    "ask for layers of one pair: representations(a, b)"
                )
        return tuple(names)
