"""Do recommendations hold in a domain that was left out? Writes choosing-validation.md.

    python benchmarks/choosing.py

For each domain and question, measures are ranked in the cells of the other two domains, of the
suites ReSi and sensitivity. The tied group that :func:`resemblance.recommend` would give is held
against the order of the measures in the domain that was left out, and so is what the overall order
of ReSi gives: its first ``k`` measures, as many as the group has, and its leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from resemblance.boards import Board, read_board
from resemblance.boards.views import DOMAINS
from resemblance.choosing.cells import Keys, asked_cells, mean_ranks, ranks_in, standing_in
from resemblance.choosing.questions import EVERYTHING, QUESTIONS, Question
from resemblance.grounding import spearman
from resemblance.suites.joint_ranks import CellRanks

FILE = Path(__file__).parents[1] / "docs" / "_generated" / "choosing-validation.md"
MADE = "<!-- made by benchmarks/choosing.py; change the code, not this file -->"
SUITES = ("resi", "sensitivity")
ASKED = (
    EVERYTHING,
    *(QUESTIONS[name] for name in ("function", "training", "layers", "robustness")),
)
HEAD = (
    "question", "left out", "cells", "group", "holds the best", "best place in it", "mean place",
    "leader", "order",
)  # fmt: skip


class Advised(NamedTuple):
    """Measures that some advice gives, held against the domain that was left out.

    ``has_best``: the best measure there is among them; of a random choice, the probability.
    ``best``: the best place there of any of them; ``mean``: of one of them at random; ``leader``:
    of the first. ``agreement``: Spearman's correlation of both orders of all measures.
    """

    has_best: float
    best: float
    mean: float
    leader: float
    agreement: float


class LeftOut(NamedTuple):
    """A question and the domain that was left out: the cells there and in the others, the size of
    the tied group, and what the group, the order of ReSi and chance give."""

    question: Question
    domain: str
    learned: int
    tested: int
    measures: int
    group: int
    chooser: Advised
    resi: Advised
    chance: Advised


def left_out(board: Board, question: Question, domain: str, *, is_alone: bool = False) -> LeftOut:
    """Hold what the other domains recommend against a domain.

    ``is_alone``: by the cells that ask the question alone, as no recommendation is made.
    """
    measures = [spec for spec, card in board.cards.items() if card.family != "outputs"]
    others = [name for name in DOMAINS if name != domain]
    everything = _cells(board, EVERYTHING, others)
    asked = _cells(board, question, others)
    learned = standing_in(board, asked, measures, None if is_alone else everything)
    tested = ranks_in(board, _cells(board, question, [domain]), measures)
    resi = {"resi": everything["resi"]}
    overall = ordered(ranks_in(board, resi, measures))
    group = [p.measure for p in learned.places.rows if p.is_tied]
    truth = ordered(tested)
    means = {p.measure: p.mean for p in learned.places.rows}
    return LeftOut(
        question,
        domain,
        learned.size,
        sum(map(len, tested.values())),
        len(truth),
        len(group),
        advised(group, means, truth),
        advised(list(overall)[: len(group)], overall, truth),
        chance(len(group), len(truth)),
    )


def _cells(board: Board, question: Question, domains: Iterable[str]) -> Keys:
    chosen = asked_cells(board, question, domains)
    return {suite: keys for suite, keys in chosen.items() if suite in SUITES}


def ordered(ranks: Mapping[str, CellRanks]) -> dict[str, float]:
    """Return the mean ranks of measures, suites counting alike, the best first."""
    suites = mean_ranks(ranks, lambda suite, *_: suite).values()
    means = {m: float(np.mean([of[m] for of in suites])) for m in next(iter(suites))}
    return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))


def advised(
    group: Sequence[str], learned: Mapping[str, float], truth: Mapping[str, float]
) -> Advised:
    """Hold a group, in its order, and the mean ranks that it follows from against others."""
    positions = {m: 1 + sum(other < mean for other in truth.values()) for m, mean in truth.items()}
    places = [positions[m] for m in group]
    both = (np.array([side[m] for m in sorted(truth)]) for side in (learned, truth))
    agreement = float(spearman(*both).value)
    return Advised(min(places) == 1, min(places), float(np.mean(places)), places[0], agreement)


def chance(k: int, measures: int) -> Advised:
    """Return what k measures drawn at random give on average."""
    middle = (measures + 1) / 2
    return Advised(k / measures, (measures + 1) / (k + 1), middle, middle, 0.0)


# ---------------------------------------------------------------------------------------- the table


def rows(board: Board, *, is_alone: bool = False) -> list[LeftOut]:
    """Return all questions with all domains left out."""
    pairs = [(question, domain) for question in ASKED for domain in DOMAINS]
    return [left_out(board, *pair, is_alone=is_alone) for pair in pairs]


def document(board: Board) -> str:
    """Return the file: a line for each question and domain, one for all, and what they come to."""
    results = rows(board)
    lines = [*map(line, results), overall(results)]
    marks = ["---", "---", *["--:"] * (len(HEAD) - 2)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (HEAD, marks, *lines))
    return f"{MADE}\n\n{table}\n\n{verdict(results, rows(board, is_alone=True))}\n"


def verdict(results: Sequence[LeftOut], alone: Sequence[LeftOut]) -> str:
    """Return in words whether the groups hold the best measure more often than ReSi's order."""
    hits = {name: _total(results, name, "has_best") for name in ("chooser", "resi", "chance")}
    chooser, resi = hits["chooser"], hits["resi"]
    if chooser == resi:
        holds = "It holds as often as ReSi's order, not more often."
    else:
        holds = f"It holds {'more' if chooser > resi else 'less'} often than ReSi's order."
    count, leaders = len(results), [_total(results, n, "leader") for n in ("chooser", "resi")]
    agreement = [_total(results, n, "agreement") / count for n in ("chooser", "resi")]
    return (
        f"**{holds}** The group holds the best measure of the domain left out in {chooser:.0f} of "
        f"{count} cases, as many measures from the top of ReSi's overall order in {resi:.0f}, as "
        f"many drawn at random in {hits['chance']:.1f}. The leader of the group comes out at place "
        f"{leaders[0] / count:.0f} there on average, that of ReSi at place "
        f"{leaders[1] / count:.0f}; the order of all measures agrees with that of the domain left "
        f"out by {agreement[0]:.2f}, ReSi's by {agreement[1]:.2f}. By the cells of the question "
        f"alone, without all others, a group of {_size(alone):.0f} measures instead of "
        f"{_size(results):.0f} would hold the best in {_total(alone, 'chooser', 'has_best'):.0f} "
        f"cases, with a leader at place {_total(alone, 'chooser', 'leader') / count:.0f} and an "
        f"agreement of {_total(alone, 'chooser', 'agreement') / count:.2f}."
    )


def _total(results: Iterable[LeftOut], advice: str, entry: str) -> float:
    return float(sum(getattr(getattr(result, advice), entry) for result in results))


def _size(results: Sequence[LeftOut]) -> float:
    return sum(result.group for result in results) / len(results)


def line(result: LeftOut) -> list[str]:
    """Return the line of a question and a domain: recommended / ReSi / chance."""
    advice = (result.chooser, result.resi, result.chance)
    return [
        result.question.name or "all tests",
        result.domain,
        f"{result.learned} → {result.tested}",
        f"{result.group} of {result.measures}",
        " / ".join([*(_yes(a.has_best) for a in advice[:2]), f"{result.chance.has_best:.2f}"]),
        _three([a.best for a in advice]),
        _three([a.mean for a in advice]),
        _three([a.leader for a in advice]),
        " / ".join(f"{a.agreement:.2f}".replace("-", "−") for a in advice[:2]),
    ]


def overall(results: Sequence[LeftOut]) -> list[str]:
    """Return the line of the means over all questions and domains."""
    advice = [(r.chooser, r.resi, r.chance) for r in results]
    means = [Advised(*np.mean([of[i] for of in advice], axis=0).tolist()) for i in range(3)]
    hits = [sum(of[i].has_best for of in advice) for i in range(3)]
    return [
        "**mean**",
        "",
        "",
        f"{np.mean([r.group for r in results]):.1f}",
        f"{hits[0]:.0f} / {hits[1]:.0f} / {hits[2]:.1f} of {len(results)}",
        _three([m.best for m in means]),
        _three([m.mean for m in means]),
        _three([m.leader for m in means]),
        " / ".join(f"{m.agreement:.2f}".replace("-", "−") for m in means[:2]),
    ]


def _yes(has: float) -> str:
    return "yes" if has else "no"


def _three(numbers: Iterable[float]) -> str:
    return " / ".join(f"{number:.1f}" for number in numbers)


def main() -> None:
    FILE.write_text(document(read_board()), encoding="utf-8")
    print(f"wrote {FILE}")


if __name__ == "__main__":
    main()
