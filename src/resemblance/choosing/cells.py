"""Cells of the board that ask a question, and where measures stand in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..boards import Board
from ..boards.views import domain_of
from ..significance import Places, places
from ..suites.joint import CellRanks, shared_ranks
from .questions import EVERYTHING, Question, is_asked

Keys: TypeAlias = Mapping[str, frozenset[tuple[str, str]]]  # by suite: test, and cell of it
Kind: TypeAlias = Callable[[str, str, str], str]  # of a suite, a test and a cell


class EvidenceCells(NamedTuple):
    """The cells that count, with the ranks of measures among each other, by suite, and the places
    that follow. ``overall``: the places by all cells of the board. ``remark``: what was not as
    asked for."""

    ranks: Mapping[str, CellRanks]
    places: Places
    overall: Places
    remark: str = ""

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(map(len, self.ranks.values()))


def asked_cells(
    board: Board, question: Question = EVERYTHING, domains: Iterable[str] | None = None
) -> Keys:
    """Return the cells of a board that ask a question; those of some domains, if these are
    given."""
    chosen = None if domains is None else set(domains)
    cells: dict[str, frozenset[tuple[str, str]]] = {}
    for suite, result in board.results.items():
        cells_that_rank = result.scores().keys() - board.unranked[suite].keys()
        asked = {key for key in cells_that_rank if is_asked(question, suite, key[0])}
        if chosen is not None:
            asked = {key for key in asked if domain_of(key[1]) in chosen}
        cells |= {suite: frozenset(asked)} if asked else {}
    return cells


def evidence_for(
    board: Board, measures: Iterable[str], question: Question, domain: str | None = None
) -> EvidenceCells:
    """Return how measures rank in the cells that ask a question, and by all cells of the board.

    Only cells of ``domain`` count as asking, unless there are too few to settle an order.
    """
    among = list(measures)
    overall = places_in(board, ranks_in(board, asked_cells(board), among), EVERYTHING)
    ranks = ranks_in(board, asked_cells(board, question, domain and (domain,)), among)
    places_here, remark = places_in(board, ranks, question), ""
    if domain is not None and len(among) > 1 and not places_here.is_settling:
        remark = (
            f"{sum(map(len, ranks.values()))} cells of {domain} are too few to settle an order, so "
            "cells of all domains count"
        )
        ranks = ranks_in(board, asked_cells(board, question), among)
        places_here = places_in(board, ranks, question)
    return EvidenceCells(ranks, places_here, overall, remark)


def places_in(board: Board, ranks: Mapping[str, CellRanks], question: Question) -> Places:
    """Return the places of measures by their ranks in cells, by suite: cells that ask a question
    count alike, and suites where nothing is asked."""
    models = {suite: board.results[suite].models() for suite in ranks}
    if not question.tests:
        return places(ranks, strata=models)
    cells = {(suite, *key): of for suite, cells in ranks.items() for key, of in cells.items()}
    strata = {key: f"{key[0]}/{models[key[0]][key[1:]]}" for key in cells}
    return places({question.name: cells}, strata={question.name: strata} if cells else {})


def has_order(standing: Places) -> bool:
    """Return whether any two measures can be told apart."""
    return any(place.worst < len(standing.rows) for place in standing.rows)


def ranks_in(board: Board, cells: Keys, measures: Iterable[str]) -> dict[str, CellRanks]:
    """Return how measures rank among each other in these cells, by suite.

    Equal ones share the mean of their ranks; cells in which all are equal are left out.
    """
    among, ranks = frozenset(measures), {}
    for suite, keys in cells.items():
        everywhere = board.results[suite].ranks(among) if among else {}
        of_suite = shared_ranks({key: everywhere[key] for key in sorted(keys) if key in everywhere})
        if of_suite:
            ranks[suite] = of_suite
    return ranks


def mean_ranks(ranks: Mapping[str, CellRanks], kind: Kind) -> dict[str, dict[str, float]]:
    """Return the mean rank of every measure over the cells of each kind; "" is no kind."""
    cells: dict[str, list[Mapping[str, float]]] = {}
    for suite, of_suite in ranks.items():
        for (test, cell), of_cell in of_suite.items():
            cells.setdefault(kind(suite, test, cell), []).append(of_cell)
    return {name: _means(members) for name, members in cells.items() if name}


def _means(cells: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = list(cells[0])
    table = np.array([[ranks[m] for m in names] for ranks in cells])
    return dict(zip(names, table.mean(axis=0).tolist()))
