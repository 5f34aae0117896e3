"""The board as a table for programs: a record per measure, and a frame of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..extras import need
from ..significance import Place
from .ranking import SERIES, Board, read_board
from .score_files import MeasureCard
from .views import View, chosen_cells, chosen_measures, seconds_of, view
from .words import own_suites

if TYPE_CHECKING:
    import pandas


def board(*folders: str | Path, series: str = SERIES) -> pandas.DataFrame:
    """Return the published ranking of measures as a frame, one row a measure, best first.

    ``spec``, ``label``, ``version``, ``family``; ``place``, and ``best`` to ``worst``, which run
    over all measures that it cannot be told from (95 %); ``mean_rank``, 1 for the best, with
    ``low`` and ``high``; ``is_tied``: it cannot be told from the leader; a column with the mean
    rank in each suite, such as ``rank_resi``; ``own_suites``: those from the paper of the measure;
    ``cpu_seconds`` on all packs; then what the measure claims. Suites of fewer than six cells do
    not count towards the mean. Measures without scores in some suite are last, without a place.

    ``folders``: results to add to those that ship with the library, such as those of your own
    measures, see :func:`resemblance.boards.write_scores`. ``series``: the packs.

    Raises ``ValueError`` for a folder without score files, and for files that cannot be joined.
    Needs the extra ``frames``.
    """
    pd = need("pandas")
    scores = read_board(*folders, series=series)
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
        record |= {"version": card.version, "family": card.family, **_standing(place)}
        means = shown.places.by_group
        record |= {f"rank_{s}": means[s][spec] if place and s in means else None for s in suites}
        record |= {"own_suites": ", ".join(own_suites(card))}
        records.append(record | {"cpu_seconds": seconds_of(board, spec), **_claims(card)})
    return records


def _standing(place: Place | None) -> dict[str, Any]:
    names = ("place", "best", "worst", "mean_rank", "low", "high", "is_tied")
    if place is None:
        return dict.fromkeys(names)
    where = (place.position, place.best, place.worst, place.mean, place.low, place.high)
    return dict(zip(names, (*where, place.is_tied)))


def labels_of(board: Board) -> dict[str, str]:
    """Return what all measures of a board are called, also those without a place."""
    labels = {spec: card.label for spec, card in board.cards.items()}
    return labels | dict(board.ranks.labels)


def _claims(card: MeasureCard) -> dict[str, Any]:
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
