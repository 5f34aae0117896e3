"""What all pages of the site know: the board, its files of all versions, and addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from ...display import printable
from ...report.svg import shortened
from ...significance import Place
from ...suites.joint import CellRanks, shared_ranks
from ..frames import labels_of
from ..ranking import Board
from ..score_files import ScoreFile, scores_text
from ..views import REFERENCE, seconds_of
from .authors import AuthorsCard
from .slugs import slugs

LONGEST = 40  # characters of a label
SCORES = "results"  # the folder of the site with the score files


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

    @property
    def is_settled(self) -> bool:
        """Whether there are enough cells for a joint order."""
        return self.board.ranks.places.is_settling

    @property
    def reference(self) -> float | None:
        """The CPU seconds of CKA, if it is on the board."""
        return seconds_of(self.board, REFERENCE) if REFERENCE in self.board.ranks.labels else None

    def address(self, spec: str) -> str:
        """Return the address of the page of a measure, from the root of the site."""
        return f"measure/{self.slugs[spec]}.html"


def content_of(
    board: Board, files: tuple[ScoreFile, ...], authors: Mapping[str, AuthorsCard], series: str
) -> Content:
    """Return what all pages know, with labels of strangers made short and harmless."""
    labels = {s: shortened(printable(name), LONGEST) for s, name in labels_of(board).items()}
    rows = board.ranks.places.rows if board.ranks.places.is_settling else ()
    digest = hashlib.sha256()
    for scores in sorted(files, key=lambda s: s.path.as_posix()):
        digest.update(scores_text(scores).encode())
    state, places = digest.hexdigest(), {place.measure: place for place in rows}
    ranks = {suite: shared_ranks(result.ranks()) for suite, result in board.results.items()}
    names = slugs(board.cards)
    return Content(board, files, authors, series, labels, names, state, places, ranks)


def raw_address(scores: ScoreFile) -> str:
    """Return the address of the copy of a score file, from the root of the site."""
    return f"{SCORES}/{quote(scores.path.as_posix())}"
