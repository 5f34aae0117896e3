"""Badges: where a measure stands on the board, as small SVG images."""

from __future__ import annotations

from collections.abc import Iterator

from ...report.svg import tag, text
from ...results.standing import place_words
from ...significance import Place

NAME = "resemblance board"
HEIGHT, SIDE = 20.0, 7.0  # of a badge, and the room at the sides of a text
CHARACTER = 6.4  # mean width of a character
FONT = "Verdana, DejaVu Sans, Geneva, sans-serif"
DARK, BLUE, GREY = "#3d4650", "#0b62a4", "#6b7683"


def badge(place: Place | None, count: int) -> str:
    """Return the badge of a measure with a place among so many, or without one, as SVG."""
    words = f"place {place_words(place).replace(' to ', '–')} of {count}" if place else "no place"
    left, right = (2 * SIDE + CHARACTER * len(part) for part in (NAME, words))
    label = f"{NAME}: {words}"
    parts = [
        tag("rect", width=left + right, height=HEIGHT, rx=3.0, fill=DARK),
        tag("rect", x=left, width=right, height=HEIGHT, rx=3.0, fill=BLUE if place else GREY),
        tag("rect", x=left, width=4.0, height=HEIGHT, fill=BLUE if place else GREY),
        *_texts(((NAME, left / 2), (words, left + right / 2))),
    ]
    size = {"width": f"{left + right:g}", "height": f"{HEIGHT:g}"}
    about = {"role": "img", "aria_label": label, "font_family": FONT, "font_size": 11}
    space = {"xmlns": "http://www.w3.org/2000/svg"}
    return tag("svg", tag("title", label), *parts, **space, **size, **about) + "\n"


def _texts(parts: tuple[tuple[str, float], ...]) -> Iterator[str]:
    for words, middle in parts:
        length = round(CHARACTER * len(words), 1)
        style = {"fill": "#fff", "text_anchor": "middle", "textLength": length}
        yield text(words, round(middle, 1), 14, **style)
