"""The colours of heat maps: dark blue for the important end, brown below 0; and PNG images."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from ..sections.figures import HeatMap

MIN_DARK_LEVEL = 0.45  # fraction of the levels; text on darker levels is white
N_COLOR_LEVELS = 100  # colours per direction, with a CSS class for each colour


def color_limits(heat: HeatMap) -> tuple[float, float]:
    """Return the values at the ends of the colour scale: the span of the map, or the extreme
    values; (0, 1) without values.

    In a square map with equal row and column names, the diagonal counts only if no other cell has a
    value.
    """
    if heat.span is not None:
        return heat.span
    is_square = heat.rows == heat.columns
    pairs = [
        v for i, row in enumerate(heat.values) for j, v in enumerate(row) if not is_square or i != j
    ]
    numbers = _finite_map_values(pairs) or _finite_map_values(
        [v for row in heat.values for v in row]
    )
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def _finite_map_values(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None and math.isfinite(v)]


def color_level(heat: HeatMap, value: float | None, ends: tuple[float, float]) -> int | None:
    """Return the colour level of a value, from 0 (palest) to 99 (darkest); None for a missing
    value.

    ``ends``: the limits of the scale. On a diverging scale, levels in the opposite direction are
    negative.
    """
    if value is None or not math.isfinite(value):
        return None
    return round((N_COLOR_LEVELS - 1) * color_position(heat, value, ends))


def color_position(heat: HeatMap, value: float, ends: tuple[float, float]) -> float:
    """Return the position of a value on the colour scale with the limits ``ends``: 0 at the low end
    to 1, dark, at the high end; in a reversed map 1 at the low end.

    On a diverging scale: -1 to 1, with 0 at :func:`diverging_center`, and equal steps in the two
    directions; a reversed map changes the sign. Values beyond the ends have the position of the
    end.
    """
    low, high = ends
    if heat.is_diverging:
        middle, reach = diverging_center(low, high)
        share = (value - middle) / reach
        share = -share if heat.is_reversed else share
        return min(max(share, -1.0), 1.0)
    share = min(max((value - low) / (high - low if high > low else 1.0), 0.0), 1.0)
    return 1 - share if heat.is_reversed else share


def diverging_center(low: float, high: float) -> tuple[float, float]:
    """Return the value at which the two colours of a diverging scale meet (0, or the middle of a
    scale without 0), and the distance from there to the farther of ``low`` and ``high``; 1 for the
    distance 0."""
    middle = 0.0 if low < 0 < high else (low + high) / 2
    return middle, max(high - middle, middle - low) or 1.0


def css_class(step: int | None) -> str:
    """Return the CSS class of a colour level: "q5", "o5" for −5, or "missing" for None."""
    if step is None:
        return "missing"
    return f"q{step}" if step >= 0 else f"o{-step}"


def colors_by_class() -> dict[str, np.ndarray]:
    """Return the colour of every class of :func:`css_class`, shape (3,), RGB in 0..1."""
    ramps = (
        ("q", color_palette(N_COLOR_LEVELS)),
        ("o", color_palette(N_COLOR_LEVELS, opposite=True)),
    )
    return {f"{name}{i}": color for name, table in ramps for i, color in enumerate(table)}


def color_style_sheet() -> str:
    """Return the CSS rules of all colours."""
    rules = [
        f".{name}{{fill:{format_css_rgb(color)}}}" for name, color in colors_by_class().items()
    ]
    return "".join([*rules, "\n.cells .missing { fill: url(#hatch); }"])


def format_css_rgb(color: np.ndarray) -> str:
    """Return a colour in CSS syntax, "rgb(255 0 0)". ``color``: (3,), RGB in 0..1."""
    return "rgb({:.0f} {:.0f} {:.0f})".format(*(255 * color))


def needs_white_text(step: int | None) -> bool:
    """Return whether text on a colour level must be white; False for None."""
    return step is not None and abs(step) > MIN_DARK_LEVEL * N_COLOR_LEVELS


def color_palette(size: int = 256, *, opposite: bool = False) -> np.ndarray:
    """Return colours from pale sand through green to deep blue, shape (size, 3), RGB in 0..1.

    Lightness falls evenly. Steps are even in the perceptual colour space Oklab (Ottosson 2020).
    With ``opposite``, colours run from the same sand to brown.
    """
    t = np.linspace(0, 1, size)
    chroma_end, hue_turn, fall = (0.075, -55, 0.575) if opposite else (0.06, 165, 0.685)
    lightness = 0.975 - fall * t
    chroma = 0.025 + 0.2 * t * (1 - t) + chroma_end * t
    hue = np.radians(100 + hue_turn * t)
    return _oklab_to_srgb(np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1))


def _oklab_to_srgb(lab: np.ndarray) -> np.ndarray:
    """Return Oklab colours, (n, 3), as sRGB colours, (n, 3), clipped to 0..1."""
    to_cones = np.array(
        [
            [1, 0.3963377774, 0.2158037573],
            [1, -0.1055613458, -0.0638541728],
            [1, -0.0894841775, -1.2914855480],
        ]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear_rgb = np.clip((lab @ to_cones.T) ** 3 @ to_rgb.T, 0, 1)
    return np.where(
        linear_rgb <= 0.0031308, 12.92 * linear_rgb, 1.055 * linear_rgb ** (1 / 2.4) - 0.055
    )


TRANSPARENT_PIXEL = 255  # palette index of a cell without a value


def png_of_levels(levels: Sequence[Sequence[int | None]]) -> str:
    """Return a PNG image as a data URL, with a pixel per colour level; None is transparent.
    ``levels``: rows of colour levels, at least one, from the top."""
    height, width = len(levels), len(levels[0])
    rows = b"".join(b"\0" + bytes(map(_palette_index, row)) for row in levels)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        _png_chunk(b"IHDR", header),
        _png_chunk(b"PLTE", _png_palette()),
        _png_chunk(b"tRNS", b"\xff" * TRANSPARENT_PIXEL + b"\0"),
        _png_chunk(b"IDAT", zlib.compress(rows, 9)),
        _png_chunk(b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _palette_index(level: int | None) -> int:
    """Return the palette index of a colour level; negative levels come after all levels from 0."""
    if level is None:
        return TRANSPARENT_PIXEL
    return level if level >= 0 else N_COLOR_LEVELS - level


def _png_palette() -> bytes:
    """Return the 256 palette colours: the two directions, then transparent."""
    colors = [*color_palette(N_COLOR_LEVELS), *color_palette(N_COLOR_LEVELS, opposite=True)]
    data = b"".join(bytes(round(255 * float(part)) for part in color) for color in colors)
    return data.ljust(3 * (TRANSPARENT_PIXEL + 1), b"\0")


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check
