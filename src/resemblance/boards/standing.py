"""Where one measure stands on a board: its place, its neighbours, its ranks by suite, and the cells
in which it has no score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..significance import Place, Places
from .frames import labels_of
from .ranking import Board
from .score_files import ScoreFile
from .views import REFERENCE, View, chosen_cells, chosen_measures, view

NEIGHBOURS = 3  # on either side
SAME = 1e-9  # by which equal scores may differ
NEARLY = 0.9  # of the cells, in which other measures have other scores


class SuiteRank(NamedTuple):
    """The mean rank of a measure in a suite, with that of the measure that leads there; a suite of
    too few cells does not count for the place."""

    suite: str
    mean: float
    leader: str
    leading: float
    counts: bool


class Standing(NamedTuple):
    """Where a measure stands on a board, ``among`` how many measures.

    ``place``: None where it has no score in some suite, or where there are too few cells for an
    order. ``ties``: labels of the measures that it cannot be told from, the nearest first.
    ``above``, ``below``: its nearest neighbours, best first. ``same``: by label, measures that have
    its score in nearly all cells, and in how many. ``missing``: by reason, in how many of all
    ``cells`` it has no score. ``seconds``: CPU time on all packs; ``times``: in multiples of that
    of CKA, where that is known.
    """

    spec: str
    label: str
    among: int
    place: Place | None
    ties: tuple[str, ...]
    above: tuple[Place, ...]
    below: tuple[Place, ...]
    suites: tuple[SuiteRank, ...]
    same: dict[str, int]
    missing: dict[str, int]
    cells: int
    seconds: float
    times: float | None

    @property
    def has_scores(self) -> bool:
        """Whether the measure has a score in any cell; without one it has no place."""
        return sum(self.missing.values()) < self.cells


def can_rank(files: Sequence[ScoreFile]) -> bool:
    """Return whether score files are of two suites, and of two measures that both have."""
    by_suite: dict[str, set[str]] = {}
    for scores in files:
        by_suite.setdefault(scores.suite, set()).add(scores.measure.spec)
    return len(by_suite) > 1 and len(set.intersection(*by_suite.values())) > 1


def view_of(board: Board, suite: str | None = None) -> View:
    """Return the view of all cells of a board, or of those of a suite, with all measures."""
    return view(board, chosen_cells(board, suite), chosen_measures(board))


def standing(board: Board, shown: View, spec: str) -> Standing:
    """Return where a measure stands in a view of a board.

    Raises ``ValueError`` for a measure that the board does not have.
    """
    if spec not in board.cards:
        raise ValueError(f"the board has no measure {spec!r}")
    rows = shown.places.rows if shown.is_settled else ()
    index = next((i for i, row in enumerate(rows) if row.measure == spec), None)
    place = None if index is None else rows[index]
    labels = labels_of(board)
    files = [board.files[s][spec] for s in shown.cells.suites if spec in board.files[s]]
    cells = [cell for scores in files for cell in scores.cells]
    return Standing(
        spec,
        labels[spec],
        len(rows),
        place,
        tuple(labels[m] for m in _nearest(shown.places, spec)) if place else (),
        () if index is None else rows[max(index - NEIGHBOURS, 0) : index],
        () if index is None else rows[index + 1 : index + 1 + NEIGHBOURS],
        tuple(_suite_ranks(shown.places, spec)) if place else (),
        {labels[other]: count for other, count in _same(board, shown, spec)},
        dict(Counter(cell.reason for cell in cells if cell.value is None)),
        len(cells),
        sum(scores.seconds for scores in files),
        _times(board, spec),
    )


def _nearest(places: Places, spec: str) -> list[str]:
    """Return the measures that one is tied with, those with the nearest mean ranks first."""
    means = {place.measure: place.mean for place in places.rows}
    return sorted(places.tied_with(spec), key=lambda m: abs(means[m] - means[spec]))


def _same(board: Board, shown: View, spec: str) -> Iterable[tuple[str, int]]:
    """Yield the measures with the score of one in nearly all cells where either has one, and in how
    many; scores of fewer than that are equal by chance."""
    scores = _scores(board, shown, spec)
    scored = {cell for cell, value in scores.items() if value is not None}
    for other in sorted(board.cards.keys() - {spec}):
        others = _scores(board, shown, other)
        cells = scored | {cell for cell, value in others.items() if value is not None}
        same = sum(_is_same(scores.get(cell), others.get(cell)) for cell in cells)
        if cells and same >= NEARLY * len(cells):
            yield other, same


def _scores(board: Board, shown: View, spec: str) -> dict[tuple[str, str, str], float | None]:
    """Return the scores of a measure, by suite, test and cell."""
    files = [board.files[s][spec] for s in shown.cells.suites if spec in board.files[s]]
    return {(f.suite, cell.test, cell.cell): cell.value for f in files for cell in f.cells}


def _is_same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= SAME


def _suite_ranks(places: Places, spec: str) -> Iterable[SuiteRank]:
    for suite, means in places.by_group.items():
        leader = min(means, key=lambda m: (means[m], m))
        yield SuiteRank(suite, means[spec], leader, means[leader], suite not in places.few)


def _times(board: Board, spec: str) -> float | None:
    """Return the CPU time of a measure in multiples of that of CKA on the same packs."""
    suites = [suite for suite, files in board.files.items() if {spec, REFERENCE} <= files.keys()]
    reference = sum(board.files[suite][REFERENCE].seconds for suite in suites)
    seconds = sum(board.files[suite][spec].seconds for suite in suites)
    return seconds / reference if reference else None


def moved(before: View, after: View, spec: str) -> dict[str, tuple[int, int]]:
    """Return the measures whose position among the others changes when a measure joins them: by
    specification, the position before and after, both counted without the new one."""
    old = [place.measure for place in before.places.rows if place.measure != spec]
    new = [place.measure for place in after.places.rows if place.measure in old]
    positions = {m: (old.index(m) + 1, new.index(m) + 1) for m in new}
    return {m: pair for m, pair in positions.items() if pair[0] != pair[1]}
