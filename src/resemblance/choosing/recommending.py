"""From needs to measures: filtered by claims, ordered by the evidence that asks the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ..boards import Board, read_board
from ..boards.views import domain_of
from ..catalogue import list_measures, preset
from ..claims import INVARIANCES
from ..engine.costs import cost_table
from ..measure import Measure
from .cells import EvidenceCells, evidence_for, has_order
from .filtering import reasons_against
from .needs import Needs, checked
from .objections import groups_of, objections
from .questions import Question, question_of
from .recommendation import Candidate, Exclusion, Recommendation
from .sizes import AtSize, at_size


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
