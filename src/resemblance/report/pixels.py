"""Pictures with a pixel for each cell of a large map, as addresses that hold them."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

from .colours import LEVELS, colour_table

TRANSPARENT = 255  # the pixel of a cell without a value


def picture(levels: Sequence[Sequence[int | None]]) -> str:
    """Return a PNG with a pixel for each level of colour as an address; None is transparent.

    It is smaller by far than a path for every cell, and each viewer shows the same colours.
    """
    height, width = len(levels), len(levels[0])
    rows = b"".join(b"\0" + bytes(map(_index, row)) for row in levels)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        _chunk(b"IHDR", header),
        _chunk(b"PLTE", _palette()),
        _chunk(b"tRNS", b"\xff" * TRANSPARENT + b"\0"),
        _chunk(b"IDAT", zlib.compress(rows, 9)),
        _chunk(b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _index(level: int | None) -> int:
    """Return the place of a level in the palette: those below 0 follow the others."""
    if level is None:
        return TRANSPARENT
    return level if level >= 0 else LEVELS - level


def _palette() -> bytes:
    """Return 256 colours: both directions, then the transparent one."""
    colours = [*colour_table(LEVELS), *colour_table(LEVELS, opposite=True)]
    data = b"".join(bytes(round(255 * float(part)) for part in colour) for colour in colours)
    return data.ljust(3 * (TRANSPARENT + 1), b"\0")


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check
