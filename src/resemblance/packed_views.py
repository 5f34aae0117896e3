"""Views of a representation as one piece of memory, from which others read them without a copy.

What is read has the strides of what was packed, and shares memory where that did: an array of other
strides can have other last digits in its sums.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from .representation import Representation

ALIGNMENT = 64  # bytes, of a line of the processor's cache
SOURCE, PACKED = 0, 1  # the memory in which an array is: that of the source, or that of the pack


class ViewName(NamedTuple):
    """What a view is called in all processes: its function and its parameters."""

    module: str
    function: str
    parameters: Hashable


class Span(NamedTuple):
    """Where the memory of an array is: in the source or in the pack, from a byte on."""

    memory: int
    start: int
    size: int


class PackedView(NamedTuple):
    """A view without its arrays, and where these are."""

    pickled: bytes
    spans: tuple[Span, ...]


class Views(NamedTuple):
    """Packed views: what each consists of, and the memory of their arrays, as bytes."""

    contents: Mapping[ViewName, PackedView]
    memory: np.ndarray

    def lent_to(self, x: Representation) -> Representation:
        """Let a representation, of the same source, find its views here."""
        contents, memory = self.contents, (_memory_of(x.source), self.memory)

        def carry(key: Any, compute: Callable[[Representation], Any]) -> Any:
            view = contents.get(name) if (name := _name_of(key)) else None
            if view is None:
                return None
            arrays = [memory[place][start : start + size] for place, start, size in view.spans]
            return pickle.loads(view.pickled, buffers=arrays)

        x._carry = carry
        return x


class Packed(NamedTuple):
    """Views taken apart: the pieces of memory of their arrays, one after the other, and the rest.

    ``pieces`` have the byte that each begins at, and ``size`` is the byte that the last ends at.
    """

    contents: Mapping[ViewName, PackedView]
    pieces: tuple[tuple[int, np.ndarray], ...]
    size: int

    def views(self) -> Views:
        """Return the views in memory of their own."""
        memory = np.zeros(self.size, np.uint8)
        for start, piece in self.pieces:
            memory[start : start + len(piece)] = piece
        return Views(self.contents, memory)

    def write(self, file: Path) -> None:
        """Write all to a file that :func:`read_views` maps."""
        with file.open("wb") as stream:
            for start, piece in self.pieces:
                stream.write(bytes(start - stream.tell()))
                stream.write(piece.data)
            pickle.dump(self.contents, stream, protocol=5)
            stream.write(self.size.to_bytes(8, "little"))


def read_views(file: Path) -> Views:
    """Return the views in a file, whose memory is that of the file.

    Who changes an array changes neither the file nor what others read.
    """
    content = np.memmap(file, np.uint8, mode="c").view(np.ndarray)
    size = int.from_bytes(content[-8:].tobytes(), "little")
    return Views(pickle.loads(content[size:-8].data), content[:size])


def pack(x: Representation) -> Packed:
    """Take the views that a representation remembers apart.

    Those are left out that cannot be pickled, or whose functions have no name of their own.
    """
    names = Counter(map(_name_of, x.views))
    pieces, contents = _Pieces(x.source), dict[ViewName, PackedView]()
    for key, value in x.views.items():
        name = _name_of(key)
        if name is None or names[name] > 1:
            continue
        try:
            pickle.dumps(name)
            contents[name] = _packed(value, pieces)
        except Exception:  # whatever its classes raise; it is computed again
            continue
    return Packed(contents, pieces.of_pack, pieces.size)


def _name_of(key: Any) -> ViewName | None:
    """Return what a view is called; None for one whose function is local or has no name."""
    function, parameters = key
    name = getattr(function, "__qualname__", "<none>")
    return None if "<" in name else ViewName(function.__module__, name, parameters)


def _packed(value: Any, pieces: _Pieces) -> PackedView:
    spans: list[Span] = []

    def place(buffer: pickle.PickleBuffer) -> None:
        spans.append(pieces.span(np.frombuffer(buffer.raw(), np.uint8)))

    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5, buffer_callback=place)
    arrays = dict.fromkeys((np.ndarray, np.memmap), _reduced)
    pickler.dispatch_table = {**copyreg.dispatch_table, **arrays}
    pickler.dump(value)
    return PackedView(stream.getvalue(), tuple(spans))


class _Pieces:
    """Pieces of memory to be put one after the other, none of them twice."""

    def __init__(self, source: np.ndarray):
        self._pieces = [(SOURCE, 0, _memory_of(source))]
        self.size = 0

    @property
    def of_pack(self) -> tuple[tuple[int, np.ndarray], ...]:
        """The pieces that are not of the source."""
        return tuple((start, piece) for _, start, piece in self._pieces[1:])

    def span(self, memory: np.ndarray) -> Span:
        """Return where some memory is, alone or inside what is there already."""
        for place, start, piece in self._pieces:
            inside = memory.ctypes.data - piece.ctypes.data
            if 0 <= inside <= len(piece) - len(memory):
                return Span(place, start + inside, len(memory))
        start = self.size + -self.size % ALIGNMENT
        self._pieces.append((PACKED, start, memory))  # its address is not given to another now
        self.size = start + len(memory)
        return Span(PACKED, start, len(memory))


def _reduced(array: np.ndarray) -> tuple[Any, ...]:
    """Return what makes an array of the same strides from its memory."""
    plain = np.asarray(array)
    size = plain.itemsize
    if plain.dtype.hasobject or plain.size == 0 or any(s % size for s in plain.strides):
        return cast(tuple[Any, ...], plain.copy().__reduce__())
    start = sum((1 - n) * s for n, s in zip(plain.shape, plain.strides) if s < 0)
    memory = pickle.PickleBuffer(_memory_of(plain).data)
    return _array, (memory, plain.dtype, plain.shape, plain.strides, start)


def _array(
    memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], start: int
) -> np.ndarray:
    return np.ndarray(shape, dtype, memory, start, strides)


def _memory_of(array: np.ndarray) -> np.ndarray:
    """Return the bytes from the first to the last of an array, whatever lies between."""
    upwards = tuple(slice(None, None, -1 if s < 0 else 1) for s in array.strides)
    lowest = np.asarray(array)[upwards]
    steps = zip(lowest.shape, lowest.strides)
    entries = 1 + sum((n - 1) * s for n, s in steps) // lowest.itemsize
    flat = np.lib.stride_tricks.as_strided(lowest, (entries,), (lowest.itemsize,))
    return flat.view(np.uint8)
