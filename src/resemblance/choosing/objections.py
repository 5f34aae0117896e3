"""What argues against a measure that could be recommended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..boards import Board
from ..boards.views import domain_of
from ..engine.forecast import duration
from ..measure import Measure
from .cells import EvidenceCells, asked_cells, mean_ranks, ranks_in
from .questions import Question
from .sizes import AtSize

FEWEST = 4  # measures among which a place can be poor
HIGH = 0.5  # of the way from the least to the most similar value
SLOW = 1.0  # seconds of a pair


class Weakness(NamedTuple):
    """Where a measure does worst: the place of its mean rank among the others there."""

    name: str
    place: int
    measures: int

    @property
    def words(self) -> str:
        """The place in words."""
        return f"place {self.place} of {self.measures} in {self.name}"


class StandingsElsewhere(NamedTuple):
    """The mean ranks of measures by test, in the cells that count, and in each of the other
    domains, in the cells that ask the same there."""

    tests: Mapping[str, Mapping[str, float]]
    elsewhere: Mapping[str, Mapping[str, float]]


def standings_of(
    board: Board,
    evidence: EvidenceCells,
    question: Question,
    measures: Iterable[str],
    domain: str | None,
) -> StandingsElsewhere:
    """Return where measures stand; ``domain``: the one whose cells count, by default all."""
    everywhere = ranks_in(board, asked_cells(board, question), measures)
    tests = mean_ranks(evidence.ranks, lambda suite, test, cell: f"{test} ({suite})")
    domains = mean_ranks(everywhere, lambda suite, test, cell: domain_of(cell))
    return StandingsElsewhere(tests, {name: of for name, of in domains.items() if name != domain})


def objections(
    measure: Measure,
    board: Board,
    evidence: EvidenceCells,
    standings: StandingsElsewhere,
    size: AtSize | None,
) -> tuple[str, ...]:
    """Return what argues against a measure, the gravest first."""
    return (
        *_at_size(size),
        *_failures(measure.spec, board, evidence),
        *(weakness.words for weakness in _worst(measure.spec, standings.tests)),
        *(weakness.words for weakness in _worst(measure.spec, standings.elsewhere)),
        *_claims(measure),
    )


def _at_size(size: AtSize | None) -> Iterator[str]:
    if size is None:
        return
    if size.caveat:
        yield size.caveat
    elif size.closeness is not None and size.closeness >= HIGH:
        yield f"chance comes {size.closeness:.0%} of the way to the most similar value"
    if size.seconds is None:
        yield "its cost is not known"
    elif size.seconds >= SLOW:
        yield f"slow: about {duration(size.seconds)} for a pair"


def _failures(spec: str, board: Board, evidence: EvidenceCells) -> Iterator[str]:
    failed = 0
    for suite, cells in evidence.ranks.items():
        scores = {(c.test, c.cell): c for c in board.files[suite][spec].cells}
        failed += sum(scores[key].value is None or scores[key].is_incomplete for key in cells)
    if failed:
        yield f"failed in {failed} of {evidence.size} cells"


def _worst(spec: str, groups: Mapping[str, Mapping[str, float]]) -> Iterator[Weakness]:
    """Yield where a measure does worst, if it is not in the best third there."""
    places = [
        Weakness(name, 1 + sum(mean < means[spec] for mean in means.values()), len(means))
        for name, means in groups.items()
    ]
    worst = max(places, key=lambda w: w.place / w.measures, default=None)
    if worst and worst.measures >= FEWEST and 3 * worst.place > worst.measures:
        yield worst


def _claims(measure: Measure) -> Iterator[str]:
    if not measure.metric:
        yield "not a metric"
    if not measure.symmetric:
        yield "not symmetric"
    if measure.extra:
        yield f"needs the extra {measure.extra}"


def grouped(objections: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the measures against which something argues, by what it is."""
    by_reason: dict[str, list[str]] = {}
    for spec, reasons in objections.items():
        for reason in reasons:
            by_reason.setdefault(reason, []).append(spec)
    return by_reason
