"""Where measures stand on a board: as records and a frame, in words, and one measure among its
neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from resemblance.base.extras import need
from resemblance.citations import PAPERS_OF
from resemblance.report.numbers import counted, duration, number
from resemblance.report.terminal import plain_table
from resemblance.sections.headlines import headline, listed, without_each
from resemblance.sections.standing import place_words
from resemblance.significance import SETTLING, Place, Places

from .. import SUITES
from ..reliability import LEAST_RELIABILITY
from .ranking import SERIES, Board, read_board
from .score_file import MeasureCard
from .views import REFERENCE, View, chosen_cells, chosen_measures, labels_of, seconds_of, view

if TYPE_CHECKING:
    import pandas

NEIGHBOURS = 3  # on either side
SAME = 1e-9  # by which equal scores may differ
NEARLY = 0.9  # of the cells, in which other measures have other scores
MARK = "→"  # before the measure in question


# ------------------------------------------------------------------------------------- for programs


def board(*files: str | Path, series: str = SERIES) -> pandas.DataFrame:
    """Return the published ranking of measures as a frame, one row a measure, best first.

    ``spec``, ``label``, ``version``, ``family``; ``place``, and ``best`` to ``worst``, which run
    over all measures that it cannot be told from (95 %); ``mean_rank``, 1 for the best, with
    ``low`` and ``high``; ``is_tied``: it cannot be told from the leader; a column with the mean
    rank in each suite, such as ``rank_resi``; ``own_suites``: those from the paper of the measure;
    ``cpu_seconds`` on all packs; then what the measure claims. Suites of fewer than six cells do
    not count towards the mean. Measures without scores in some suite are last, without a place.

    ``files``: files of scores to add to those that ship with the library, such as those of your own
    measures, which :func:`resemblance.bench.ranking.write_scores` writes. ``series``: the packs.

    Raises ``ValueError`` for files of something else, and for scores that cannot be joined.
    Needs the extra ``frames``.
    """
    pd = need("pandas")
    scores = read_board(*files, series=series)
    whole = view(scores, chosen_cells(scores), chosen_measures(scores))
    frame: pandas.DataFrame = pd.DataFrame(records_of(scores, whole))
    whole_numbers = dict.fromkeys(("place", "best", "worst"), "Int64")
    return frame.astype(whole_numbers | {"is_tied": "boolean"})


def records_of(board: Board, shown: View) -> list[dict[str, Any]]:
    """Return a record per measure of a view, best first, then those without a place by name.

    In a view with too few cells no measure has a place.
    """
    labels, rows = labels_of(board), shown.places.rows if shown.is_settled else ()
    placed = {place.measure: place for place in rows}
    rest = sorted(shown.measures.specs - set(placed), key=lambda spec: (labels[spec], spec))
    suites = shown.cells.suites
    records = []
    for spec in (*placed, *rest):
        place, card = placed.get(spec), board.cards[spec]
        record: dict[str, Any] = {"spec": spec, "label": labels[spec]}
        record |= {"version": card.version, "family": card.family, **_place_record(place)}
        means = shown.places.by_group
        record |= {f"rank_{s}": means[s][spec] if place and s in means else None for s in suites}
        record |= {"own_suites": ", ".join(own_suites(card))}
        records.append(record | {"cpu_seconds": seconds_of(board, spec), **_claim_record(card)})
    return records


def _place_record(place: Place | None) -> dict[str, Any]:
    names = ("place", "best", "worst", "mean_rank", "low", "high", "is_tied")
    if place is None:
        return dict.fromkeys(names)
    where = (place.position, place.best, place.worst, place.mean, place.low, place.high)
    return dict(zip(names, (*where, place.is_tied)))


def _claim_record(card: MeasureCard) -> dict[str, Any]:
    return {
        "larger_is_more_similar": card.larger_is_more_similar,
        "smallest": card.range[0],
        "largest": card.range[1],
        "symmetric": card.symmetric,
        "metric": card.metric,
        "differentiable": card.differentiable,
        "invariant_to": ", ".join(card.invariant_to),
        "reference": card.reference,
    }


# ----------------------------------------------------------------------------------------- in words


def place_sentence(place: Place, count: int) -> str:
    """Return where a measure stands: "Place 3 to 6 of 49, mean rank 8.41 (95 %: 7.9 to 9.0)."."""
    ends = f"95 %: {place.low:.1f} to {place.high:.1f}"
    return (
        f"Place {place_words(place)} of {count}, with a mean rank of {place.mean:.2f} ({ends}). "
        f"A measure that guesses has about {(count + 1) / 2:g}."
    )


def view_words(view: View, labels: Mapping[str, str]) -> str:
    """Return what a view shows: which measure leads there, or why there is no order."""
    cells = sum(view.counts.values())
    if view.is_settled:
        parts = (headline(view.places, labels), without_each(view.places, labels), _counts(view))
        return " ".join(filter(None, (*parts, unranked_words(view))))
    if max(view.counts.values(), default=0) < SETTLING:
        have = "cell tells" if cells == 1 else "cells tell"
        return (
            f"Too few cells for an order: {cells} {have} these measures apart, and with fewer than "
            f"{SETTLING} of a suite even the first in all of them may be so by chance. "
            f"{unranked_words(view)}"
        ).rstrip()
    return "There are not two measures with scores here, so there is no order."


def unranked_words(view: View) -> str:
    """Return how many cells are shown and not ranked, and why; nothing of none."""
    if not view.unranked:
        return ""
    return (
        f"Shown, but not ranked: {counted(view.unranked, 'cell')} whose expected differences do "
        f"not repeat on other inputs (reliability below {LEAST_RELIABILITY})."
    )


def _counts(view: View) -> str:
    if len(view.counts) < 2:
        return ""
    parts = [f"{count} in {suite}" for suite, count in view.counts.items()]
    return f"Cells: {listed(parts)}; every suite that decides counts alike."


def own_suites(card: MeasureCard) -> tuple[str, ...]:
    """Return the suites that are from the paper of a measure, which may be good at them for that
    reason."""
    return tuple(suite for suite in SUITES if card.reference in PAPERS_OF[suite])


def own_words(cards: Iterable[MeasureCard], labels: Mapping[str, str]) -> str:
    """Return what a star at a measure means, and at which it is; nothing of none."""
    suites = {labels[card.spec]: own_suites(card) for card in cards}
    names = [f"{label} ({', '.join(of)})" for label, of in suites.items() if of]
    return f"* One of the suites is from its own paper: {', '.join(names)}." if names else ""


# -------------------------------------------------------------------------------------- one measure


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
    files = [board.scores[s][spec] for s in shown.cells.suites if spec in board.scores[s]]
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
    files = [board.scores[s][spec] for s in shown.cells.suites if spec in board.scores[s]]
    return {(f.suite, cell.test, cell.cell): cell.value for f in files for cell in f.cells}


def _is_same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= SAME


def _suite_ranks(places: Places, spec: str) -> Iterable[SuiteRank]:
    for suite, means in places.by_group.items():
        leader = min(means, key=lambda m: (means[m], m))
        yield SuiteRank(suite, means[spec], leader, means[leader], suite not in places.few)


def _times(board: Board, spec: str) -> float | None:
    """Return the CPU time of a measure in multiples of that of CKA on the same packs; None of CKA
    itself, and where its time is not known."""
    suites = [suite for suite, files in board.scores.items() if {spec, REFERENCE} <= files.keys()]
    reference = sum(board.scores[suite][REFERENCE].seconds for suite in suites)
    seconds = sum(board.scores[suite][spec].seconds for suite in suites)
    return seconds / reference if reference and spec != REFERENCE else None


def standing_sentence(standing: Standing) -> str:
    """Return where a measure stands, in one paragraph."""
    lines = _place_lines(standing) if standing.has_scores else _missing_lines(standing)
    return " ".join((f"{_name(standing)}:", *_same_lines(standing), *lines))


def standing_parts(standing: Standing, labels: Mapping[str, str]) -> Iterator[Any]:
    """Yield texts and tables: place, ties, neighbours, ranks by suite, missing scores, cost."""
    yield _name(standing)
    missing = [*_missing_lines(standing)]
    if standing.has_scores:
        yield from _same_lines(standing)
        yield from _place_lines(standing)
    else:
        yield from missing
    if standing.place:
        yield _neighbours(standing, standing.place, labels)
        yield _by_suite(standing, labels)
    if standing.has_scores:
        yield from missing
    times = f", {number(standing.times, 2)} times that of CKA" if standing.times else ""
    yield f"CPU time: {duration(standing.seconds)}{times}."


def _name(standing: Standing) -> str:
    label, spec = standing.label, standing.spec
    return label if label == spec else f"{label} ({spec})"


def _same_lines(standing: Standing) -> Iterator[str]:
    for label, count in standing.same.items():
        yield (
            f"It has the same score as {label} in {count} of {counted(standing.cells, 'cell')}: is "
            "it the same measure?"
        )


def _place_lines(standing: Standing) -> Iterator[str]:
    if standing.place is None:
        cells = counted(standing.cells, "cell")
        yield (
            "It has no place: it lacks scores in some suite."
            if standing.among
            else f"It has no place: an order takes two measures and {SETTLING} cells of a suite; "
            f"there are {cells}."
        )
        return
    yield place_sentence(standing.place, standing.among)
    if standing.ties:
        yield f"It cannot be told from {listed(standing.ties)}."
    else:
        yield "It can be told from all others."


def _neighbours(standing: Standing, place: Place, labels: Mapping[str, str]) -> Any:
    rows = [
        (
            MARK if p is place else "",
            place_words(p),
            labels[p.measure],
            f"{p.mean:.2f}",
            f"{p.low:.1f} to {p.high:.1f}",
        )
        for p in (*standing.above, place, *standing.below)
    ]
    return plain_table(("", "place", "measure", "mean rank", "95 %"), rows, right=(1, 3, 4))


def _by_suite(standing: Standing, labels: Mapping[str, str]) -> Any:
    rows = [
        (
            s.suite if s.counts else f"{s.suite} (not counted: fewer than {SETTLING} cells)",
            f"{s.mean:.2f}",
            labels[s.leader],
            f"{s.leading:.2f}",
        )
        for s in standing.suites
    ]
    header = ("suite", "its mean rank", "leader", "mean rank of the leader")
    return plain_table(header, rows, right=(1, 3))


def _missing_lines(standing: Standing) -> Iterator[str]:
    if not standing.has_scores:
        yield f"No score in any of {counted(standing.cells, 'cell')}, so it has no place."
    parts = [f"in {count}, {reason}" for reason, count in standing.missing.items()]
    if parts:
        missing = sum(standing.missing.values())
        yield f"No score in {missing} of {counted(standing.cells, 'cell')} ({'; '.join(parts)})."
