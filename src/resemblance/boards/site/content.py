"""What all pages of the site know: the board, its files of all versions, and addresses."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from ...display import printable
from ...report.svg import shortened, tag, text
from ...results.standing import place_words
from ...significance import Place
from ...suites.joint import CellRanks, shared_ranks
from ..ranking import Board
from ..repository import AuthorsCard
from ..score_files import ScoreFile, scores_text
from ..views import labels_of

LONGEST, LONGEST_SLUG = 40, 60  # characters of a label, and of an address
SHORT = 12  # characters of a checksum that are shown
SCORES = "results"  # the folder of the site with the score files
PLAIN = re.compile(r"[a-z0-9_]+(\.[0-9]+)?")  # a word of a specification that needs no change
NAME = "resemblance board"  # on badges
HEIGHT, SIDE = 20.0, 7.0  # of a badge, and the room at the sides of a text
CHARACTER = 6.4  # mean width of a character
FONT = "Verdana, DejaVu Sans, Geneva, sans-serif"
DARK, BLUE, GREY = "#3d4650", "#0b62a4", "#6b7683"


class Content(NamedTuple):
    """The board, and what all pages say of it.

    ``files``: of all versions. ``labels`` and ``slugs``: by specification. ``state``: the checksum
    of all files. ``places``: the joint ranking, best first; empty with too few cells for an order.
    ``ranks``: by suite, of all its measures, in the cells that tell them apart.
    """

    board: Board
    files: tuple[ScoreFile, ...]
    authors: Mapping[str, AuthorsCard]
    series: str
    labels: Mapping[str, str]
    slugs: Mapping[str, str]
    state: str
    places: Mapping[str, Place]
    ranks: Mapping[str, CellRanks]

    @property
    def order(self) -> tuple[str, ...]:
        """All measures: those with a place, best first, then the others by name."""
        rest = sorted(set(self.board.cards) - set(self.places), key=lambda s: (self.labels[s], s))
        return (*self.places, *rest)

    def address(self, spec: str) -> str:
        """Return the address of the page of a measure, from the root of the site."""
        return f"measure/{self.slugs[spec]}.html"

    def badge_address(self, spec: str) -> str:
        """Return the address of the badge of a measure, from the root of the site."""
        return f"badge/{self.slugs[spec]}.svg"


def content_of(
    board: Board, files: tuple[ScoreFile, ...], authors: Mapping[str, AuthorsCard], series: str
) -> Content:
    """Return what all pages know, with labels of strangers made short and harmless."""
    rows = board.ranks.places.rows if board.ranks.places.is_settling else ()
    digest = hashlib.sha256()
    for scores in sorted(files, key=lambda s: s.path.as_posix()):
        digest.update(scores_text(scores).encode())
    return Content(
        board,
        files,
        authors,
        series,
        labels={s: shortened(printable(name), LONGEST) for s, name in labels_of(board).items()},
        slugs=slugs(board.cards),
        state=digest.hexdigest(),
        places={place.measure: place for place in rows},
        ranks={suite: shared_ranks(result.ranks()) for suite, result in board.results.items()},
    )


def raw_address(scores: ScoreFile) -> str:
    """Return the address of the copy of a score file, from the root of the site."""
    return f"{SCORES}/{quote(scores.path.as_posix())}"


def slugs(specs: Iterable[str]) -> dict[str, str]:
    """Return specifications as parts of addresses, all different and safe on every system:
    "cka-estimator-debiased" of "cka[estimator=debiased]".

    One with other characters, or a long one, ends with digits of its checksum.
    """
    words = {spec: list(filter(None, re.split(r"[\[\]=,]", spec))) for spec in specs}
    plain = {spec: "-".join(parts) for spec, parts in words.items()}
    counts = Counter(plain.values())
    safe = {
        spec: bool(parts) and len(spec) <= LONGEST_SLUG and all(map(PLAIN.fullmatch, parts))
        for spec, parts in words.items()
    }
    return {
        spec: name if safe[spec] and counts[name] == 1 else _hashed(spec)
        for spec, name in plain.items()
    }


def _hashed(spec: str) -> str:
    words = re.sub(r"[^a-z0-9_]+", "-", spec.lower())[:LONGEST_SLUG].strip("-") or "measure"
    return f"{words}-{hashlib.sha256(spec.encode('utf-8', 'replace')).hexdigest()[:8]}"


def badge(place: Place | None, count: int) -> str:
    """Return the badge of a measure with a place among so many, or without one, as SVG."""
    words = f"place {place_words(place).replace(' to ', '–')} of {count}" if place else "no place"
    left, right = (2 * SIDE + CHARACTER * len(part) for part in (NAME, words))
    label, colour = f"{NAME}: {words}", BLUE if place else GREY
    parts = [
        tag("rect", width=left + right, height=HEIGHT, rx=3.0, fill=DARK),
        tag("rect", x=left, width=right, height=HEIGHT, rx=3.0, fill=colour),
        tag("rect", x=left, width=4.0, height=HEIGHT, fill=colour),
    ]
    for part, middle in ((NAME, left / 2), (words, left + right / 2)):
        length = round(CHARACTER * len(part), 1)
        style = {"fill": "#fff", "text_anchor": "middle", "textLength": length}
        parts.append(text(part, round(middle, 1), 14, **style))
    size = {"width": f"{left + right:g}", "height": f"{HEIGHT:g}"}
    about = {"role": "img", "aria_label": label, "font_family": FONT, "font_size": 11}
    space = {"xmlns": "http://www.w3.org/2000/svg"}
    return tag("svg", tag("title", label), *parts, **space, **size, **about) + "\n"
