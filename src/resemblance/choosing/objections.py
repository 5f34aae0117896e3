"""What argues against a measure that could be recommended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

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


MeanRanks = Mapping[str, Mapping[str, float]]  # of measures, by where they are ranked


def groups_of(
    board: Board,
    evidence: EvidenceCells,
    question: Question,
    measures: Iterable[str],
    domain: str | None,
) -> tuple[MeanRanks, MeanRanks]:
    """Return the mean ranks of measures by test, in the cells that count, and in each of the other
    domains, in the cells that ask the same there.

    ``domain``: the one whose cells count, by default all.
    """
    everywhere = ranks_in(board, asked_cells(board, question), measures)
    tests = mean_ranks(evidence.ranks, lambda suite, test, cell: f"{test} ({suite})")
    domains = mean_ranks(everywhere, lambda suite, test, cell: domain_of(cell))
    return tests, {name: of for name, of in domains.items() if name != domain}


def objections(
    measure: Measure,
    board: Board,
    evidence: EvidenceCells,
    groups: Iterable[MeanRanks],
    size: AtSize | None,
) -> tuple[str, ...]:
    """Return what argues against a measure, the gravest first."""
    return (
        *_at_size(size),
        *_failures(measure.spec, board, evidence),
        *chain.from_iterable(_worst(measure.spec, group) for group in groups),
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


def _worst(spec: str, groups: MeanRanks) -> Iterator[str]:
    """Yield where a measure does worst, if it is not in the best third there."""
    places = [
        (1 + sum(mean < means[spec] for mean in means.values()), len(means), name)
        for name, means in groups.items()
    ]
    if not places:
        return
    place, measures, name = max(places, key=lambda at: at[0] / at[1])
    if measures >= FEWEST and 3 * place > measures:
        yield f"place {place} of {measures} in {name}"


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
