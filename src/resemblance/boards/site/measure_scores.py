"""The scores of a measure, next to those of the others."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...results.values import known, mean
from ..views import tests_of
from .content import Content


class ScoresInTest(NamedTuple):
    """The scores of a measure in a test.

    ``rank``: the mean over its cells, among so many ``measures``; ``score``: the mean; ``others``:
    the median of the mean scores of the other measures. None where there is none.
    """

    suite: str
    test: str
    cells: int
    rank: float | None
    measures: int
    score: float | None
    others: float | None


def scores_in_tests(content: Content, spec: str) -> tuple[ScoresInTest, ...]:
    """Return the scores of a measure in every test of the suites in which it has scores."""
    board = content.board
    return tuple(
        _of_test(content, suite, test, spec)
        for suite in board.results
        if spec in board.files[suite]
        for test in tests_of(board, suite)
    )


def _of_test(content: Content, suite: str, test: str, spec: str) -> ScoresInTest:
    scores = [of for key, of in content.board.results[suite].scores().items() if key[0] == test]
    ranks = [of[spec] for key, of in content.ranks[suite].items() if key[0] == test and spec in of]
    files = content.board.files[suite]
    others = [_mean_score(scores, other) for other in files if other != spec]
    return ScoresInTest(
        suite,
        test,
        len(scores),
        known(mean(ranks)),
        len(files),
        known(_mean_score(scores, spec)),
        median(others),
    )


def _mean_score(scores: Sequence[Mapping[str, float | None]], spec: str) -> float:
    return mean(of_cell.get(spec) for of_cell in scores)


def cell_rows(content: Content, spec: str) -> Iterator[tuple[str | float | None, ...]]:
    """Yield for every cell its name, test and suite, the score and rank of a measure there, and the
    median score of the others."""
    for suite, files in content.board.files.items():
        if spec not in files:
            continue
        for (test, cell), scores in content.board.results[suite].scores().items():
            others = [value for other, value in scores.items() if other != spec]
            rank = content.ranks[suite].get((test, cell), {}).get(spec)
            yield cell, test, suite, known(scores.get(spec)), rank, median(others)


def median(values: list[float] | list[float | None]) -> float | None:
    """Return the median of the values that are known; None where none is."""
    numbers = [value for value in map(known, values) if value is not None]
    return statistics.median(numbers) if numbers else None
