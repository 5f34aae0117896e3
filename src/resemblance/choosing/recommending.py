"""From needs to measures: filtered by claims, ordered by the evidence that asks the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from statistics import median
from typing import NamedTuple

from ..boards import Board, read_board
from ..boards.views import Ranks, domain_of, places_in, ranks_in
from ..catalogue import list_measures, preset
from ..claims import INVARIANCES
from ..engine.costs import cost_table, seconds_of
from ..engine.forecast import duration
from ..measure import Measure, require
from ..significance import Places, summarize
from .questions import (
    EVERYTHING,
    SIGHTS,
    Needs,
    Question,
    Sight,
    asking,
    checked,
    question_of,
    skill,
)
from .recommendation import Candidate, Exclusion, Recommendation, has_order
from .sizes import AtSize, at_size

OUTPUTS = "compares predictions of models, not representations"
FEWEST = 4  # measures among which a place can be poor
HIGH = 0.5  # of the way from the least to the most similar value
SLOW = 1.0  # seconds of a pair
MeanRanks = Mapping[str, Mapping[str, float]]  # of measures, by where they are ranked


def recommend(
    *,
    invariant_to: str | Iterable[str] = (),
    must_see: str | Iterable[str] = (),
    n: int | None = None,
    d: int | None = None,
    task: str | None = None,
    domain: str | None = None,
    metric: bool = False,
    differentiable: bool = False,
    symmetric: bool = False,
    budget: float | None = None,
    pairs: int = 1,
    board: Board | None = None,
) -> Recommendation:
    """Return which measures of the catalogue fit a case, and why the others do not.

    Measures are filtered by their claims, which the test suite proves, and ordered by their scores
    in the cells of the board that ask the same question; their places by all cells are given as
    well. The answer is the group of measures that cannot be told from the leader there. In the
    group, those come first that are not saturated at n and d, by their places; where these are
    equal, by their places over all cells, and then by cost. Where the cells that ask the question
    tell no two measures apart there is no order, and all that pass are listed by name.

    Parameters
    ----------
    invariant_to : changes that must not move the value: ``"permutation"``, ``"orthogonal"``,
        ``"isotropic_scaling"``, ``"translation"``, ``"invertible_linear"``, ``"affine"``, and all
        that these imply.
    must_see : changes that must move it: the same words, or those of
        ``resemblance.choosing.SIGHTS``, such as ``"layers"`` or ``"noise"``. A measure sees one of
        these if its median score in the cells that show it is above chance.
    n, d : samples and features of your representations; chance levels and costs need both.
    task : a question of ``resemblance.choosing.QUESTIONS``: ``"function"``, ``"training"``,
        ``"layers"``, ``"robustness"``, ``"drift"`` or ``"geometry"``; by default all tests count.
    domain : ``"vision"``, ``"language"`` or ``"graphs"``: only cells of it count, if they are
        enough to settle an order.
    metric, differentiable, symmetric : only measures with this claim.
    budget : CPU seconds that ``pairs`` comparisons may take, on the machine of the table of costs.
    board : scores to use instead of those that ship with the library.

    Raises ``ValueError`` for a word, task or domain that does not exist, for needs that contradict
    each other, and for a budget without n and d.
    """
    plain = Needs(frozenset(), (), n, d, task, domain, metric, differentiable, symmetric, budget)
    needs = checked(invariant_to, must_see, plain._replace(pairs=pairs))
    scores = read_board() if board is None else board
    if not isinstance(scores, Board):
        raise ValueError(
            "recommend: board must be what resemblance.boards.read_board returns; got "
            f"{type(scores).__name__}"
        )
    measures = dict.fromkeys((*list_measures(), *preset("board")))
    reasons = {m: reasons_against(m, needs, scores) for m in measures}
    passed = [m for m, why in reasons.items() if not why]
    question = question_of(task)
    evidence = evidence_for(scores, [m.spec for m in passed], question, domain)
    sizes = at_size(passed, *needs.size) if needs.size else {}
    return Recommendation(
        needs=needs,
        candidates=_candidates(passed, needs, scores, evidence, sizes),
        excluded=tuple(Exclusion(m.spec, why) for m, why in reasons.items() if why),
        evidence=evidence_words(scores, evidence, question),
        remarks=_remarks(needs, evidence, len(passed)),
        places=evidence.places,
        ranks=evidence.ranks,
        manifests={suite: scores.results[suite].provenance["manifest"] for suite in evidence.ranks},
        machine=cost_table().machine if needs.size else "",
    )


def _candidates(
    measures: Sequence[Measure],
    needs: Needs,
    board: Board,
    evidence: EvidenceCells,
    sizes: Mapping[str, AtSize],
) -> tuple[Candidate, ...]:
    """Return the tied group in the order of its rule, then all others by their places; all by name
    where too few cells count for any."""
    places = {p.measure: p for p in evidence.places.rows if has_order(evidence.places)}
    overall = {p.measure: p for p in evidence.overall.rows}
    # where its cells are too few, those of all domains count
    domain = None if evidence.remark else needs.domain
    specs = [m.spec for m in measures]
    groups = groups_of(board, evidence, question_of(needs.task), specs, domain)
    candidates = [
        Candidate(
            measure=m.spec,
            label=m.label,
            place=place,
            overall=overall.get(m.spec),
            is_tied=place is None or place.is_tied,
            cells=evidence.size,
            ignores=_ignored(m),
            size=sizes.get(m.spec),
            against=objections(m, board, evidence, groups, sizes.get(m.spec)),
        )
        for m, place in ((m, places.get(m.spec)) for m in measures)
    ]
    return tuple(sorted(candidates, key=_order))


def _ignored(measure: Measure) -> tuple[str, ...]:
    return tuple(word for word in INVARIANCES if word in measure.invariant_to)


def _order(candidate: Candidate) -> tuple[object, ...]:
    if candidate.place is None or candidate.overall is None:
        return (False, candidate.measure)
    positions, size = (candidate.place.position, candidate.overall.position), candidate.size
    if not candidate.is_tied:
        return (True, *positions, candidate.measure)
    is_saturated = size is not None and bool(size.caveat)
    seconds = math.inf if size is None or size.seconds is None else size.seconds
    return (False, is_saturated, *positions, seconds, candidate.measure)


def evidence_words(board: Board, evidence: EvidenceCells, question: Question) -> str:
    """Return on which cells an order rests, in words."""
    if not evidence.size:
        return "no cells of the board tell these measures apart"
    parts, domains = [], set[str]()
    for suite, cells in evidence.ranks.items():
        tests = ", ".join(dict.fromkeys(test for test, _ in cells))
        parts.append(f"{board.results[suite].size} ({tests}: {len(cells)})")
        domains |= {domain_of(cell) for _, cell in cells} - {""}
    of = f" of {', '.join(sorted(domains))}" if domains else ""
    return f"{question.text} {evidence.size} cells{of}: {'; '.join(parts)}"


def _remarks(needs: Needs, evidence: EvidenceCells, passed: int) -> tuple[str, ...]:
    remarks = [evidence.remark] if evidence.remark else []
    if not passed:
        remarks.append("no measure has all that is asked for: ask for less")
    elif passed == 1:
        remarks.append("with a single measure there is nothing to rank")
    elif not has_order(evidence.places):
        remarks.append(
            f"{evidence.size} cells tell no two of these measures apart, so they are listed by name"
        )
    if needs.task == "function":
        remarks.append("where you have predictions, disagreement compares them directly")
    if needs.size is None:
        remarks.append("without n and d, chance levels and costs are not known")
    return tuple(remarks)


# ------------------------------------------------------------------------------------------ filters


def reasons_against(measure: Measure, needs: Needs, board: Board) -> tuple[str, ...]:
    """Return every reason why a measure is not what a user needs; none for one that is."""
    return (
        *_claims_against(measure, needs),
        *_sizes(measure, needs),
        *_scores(measure, needs, board),
    )


def _claims_against(measure: Measure, needs: Needs) -> Iterator[str]:
    if measure.family == "outputs":
        yield OUTPUTS
    if changed := needs.invariant_to - measure.invariant_to:
        yield f"changes under {_listed(changed)}"
    if ignored := measure.invariant_to & set(needs.must_see):
        yield f"ignores {_listed(ignored)}"
    for claim, words in (
        ("metric", "is not a metric"),
        ("differentiable", "is not differentiable"),
        ("symmetric", "is not symmetric"),
    ):
        if getattr(needs, claim) and not getattr(measure, claim):
            yield words
    try:
        require(measure)
    except ImportError as error:
        yield f"needs the extra {measure.extra}: {error}"


def _sizes(measure: Measure, needs: Needs) -> Iterator[str]:
    if needs.n is not None and needs.n < measure.min_samples:
        yield f"needs at least {measure.min_samples} samples"
    if needs.budget is None or needs.size is None:
        return
    seconds = seconds_of([measure], *needs.size, pairs=needs.pairs)
    if seconds is not None and seconds > needs.budget:
        pairs = "a pair" if needs.pairs == 1 else f"{needs.pairs:,} pairs"
        yield f"takes about {duration(seconds)} for {pairs}"


def _scores(measure: Measure, needs: Needs, board: Board) -> Iterator[str]:
    if measure.family == "outputs":
        return
    if absent := [suite for suite, files in board.scores.items() if measure.spec not in files]:
        yield f"has no scores in {', '.join(absent)}"
        return
    for word in needs.must_see:
        if word in SIGHTS and (blindness := blind(measure.spec, SIGHTS[word], board)):
            yield blindness


def blind(spec: str, sight: Sight, board: Board) -> str:
    """Return why a measure does not see a change, or an empty string.

    It sees one if its median score, over the cells that show the change, is above chance.
    """
    skills = list(_skills(spec, sight, board))
    if not skills:
        return f"has no score that shows whether it sees {sight.name}"
    middle = median(skills)
    if middle > 0:
        return ""
    cells = f"{len(skills)} cell{'s' if len(skills) > 1 else ''}"
    return f"does not see {sight.name}: median skill {middle:.2f} over {cells}"


def _skills(spec: str, sight: Sight, board: Board) -> Iterator[float]:
    for suite, result in board.results.items():
        for (test, cell), scores in result.scores().items():
            score = scores.get(spec)
            is_shown = (suite, test) in sight.tests and sight.word in cell
            if is_shown and score is not None and (test, cell) not in board.unranked[suite]:
                yield skill(cell, score)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in sorted(names))


# ----------------------------------------------------------------------------------------- evidence


class EvidenceCells(NamedTuple):
    """The cells that count, with the ranks of measures among each other, by suite, and the places
    that follow. ``overall``: the places by all cells of the board. ``remark``: what was not as
    asked for."""

    ranks: Ranks
    places: Places
    overall: Places
    remark: str = ""

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(map(len, self.ranks.values()))


def evidence_for(
    board: Board, measures: Iterable[str], question: Question, domain: str | None = None
) -> EvidenceCells:
    """Return how measures rank in the cells that ask a question, and by all cells of the board.

    Only cells of ``domain`` count as asking, unless there are too few to settle an order.
    """
    among, remark = list(measures), ""
    overall = places_in(board, ranks_in(board, among, asking(EVERYTHING)))
    ranks = ranks_in(board, among, asking(question, domain and (domain,)))
    places_here = places_in(board, ranks, question.name)
    if domain is not None and len(among) > 1 and not places_here.is_settling:
        remark = (
            f"{sum(map(len, ranks.values()))} cells of {domain} are too few to settle an order, so "
            "cells of all domains count"
        )
        ranks = ranks_in(board, among, asking(question))
        places_here = places_in(board, ranks, question.name)
    return EvidenceCells(ranks, places_here, overall, remark)


def mean_ranks(ranks: Ranks, kind: Callable[[str, str, str], str]) -> MeanRanks:
    """Return the mean rank of every measure over the cells of each kind; "" is no kind.

    ``kind``: of a suite, a test and a cell.
    """
    cells: dict[str, dict[Hashable, Mapping[str, float]]] = {}
    for suite, of_suite in ranks.items():
        for key, of_cell in of_suite.items():
            cells.setdefault(kind(suite, *key), {})[suite, *key] = of_cell
    cells.pop("", None)
    return {k: {r.measure: r.mean for r in summarize(of)} for k, of in cells.items()}


# ------------------------------------------------------------------------------------------ caveats


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
    everywhere = ranks_in(board, measures, asking(question))
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
        scores = {(c.test, c.cell): c for c in board.scores[suite][spec].cells}
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
