"""Do recommendations hold in a domain that was left out? Writes choosing-validation.md, and the
numbers that every recommendation repeats.

    python benchmarks/choosing.py

For each domain and question, measures are ranked in the cells of the other two domains, of the
suites ReSi and sensitivity. The tied group that :func:`resemblance.recommend` would give is held
against the order of the measures in the domain that was left out, and so is what the order by all
cells gives: its first ``k`` measures, as many as the group has, and its leader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import GENERATED, command, document, grid

from resemblance.boards import Board, read_board
from resemblance.boards.views import DOMAINS, Ranks, places_in, ranks_in
from resemblance.catalogue import preset
from resemblance.choosing.questions import EVERYTHING, QUESTIONS, Question, asking
from resemblance.choosing.recommendation import MEASURED, has_order
from resemblance.grounding import spearman
from resemblance.json_files import write_atomically
from resemblance.significance import Places

FILE = GENERATED / "choosing-validation.md"
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


LEADER = Advised._fields.index("leader")


class LeftOut(NamedTuple):
    """A question and the domain that was left out: the cells there and in the others, the size of
    the tied group, and what the group, the order by all cells and chance give."""

    question: Question
    domain: str
    learned: int
    tested: int
    measures: int
    has_order: bool
    group: int
    chooser: Advised
    overall: Advised
    chance: Advised


def left_out(board: Board, question: Question, domain: str) -> LeftOut:
    """Hold what the other domains recommend against a domain."""
    measures = [m.spec for m in preset("board") if m.spec in board.cards]
    others = [name for name in DOMAINS if name != domain]
    learned = _ranks(board, measures, question, others)
    here = places_in(board, learned, question.name)
    overall = means_of(places_in(board, _ranks(board, measures, EVERYTHING, others)))
    tested = _ranks(board, measures, question, [domain])
    truth = means_of(places_in(board, tested, question.name))
    group = [p.measure for p in here.rows if p.is_tied]
    return LeftOut(
        question,
        domain,
        sum(map(len, learned.values())),
        sum(map(len, tested.values())),
        len(truth),
        has_order(here),
        len(group),
        advised(group, means_of(here), truth),
        advised(list(overall)[: len(group)], overall, truth),
        chance(len(group), len(truth)),
    )


def _ranks(
    board: Board, measures: Iterable[str], question: Question, domains: Iterable[str]
) -> Ranks:
    asks = asking(question, domains)
    return ranks_in(board, measures, lambda suite, *key: suite in SUITES and asks(suite, *key))


def means_of(places: Places) -> dict[str, float]:
    """Return the mean ranks of measures, the best first."""
    return {place.measure: place.mean for place in places.rows}


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


def rows(board: Board) -> list[LeftOut]:
    """Return all questions with all domains left out."""
    return [left_out(board, question, domain) for question in ASKED for domain in DOMAINS]


def documents(board: Board) -> dict[Path, str]:
    """Return the files: a table with a line for each question and domain and one for all, with what
    they come to, and the numbers that recommendations repeat."""
    everything = rows(board)
    results = [result for result in everything if result.has_order]
    advice = np.array([(r.chooser, r.overall, r.chance) for r in results], float)
    means, hits, count = advice.mean(axis=0), advice[:, :, 0].sum(axis=0), len(results)
    groups = f"{np.mean([r.group for r in results]):.1f}"
    held = f"{hits[0]:.0f} / {hits[1]:.0f} / {hits[2]:.1f} of {count}"
    lines = [*map(line, everything), ["**mean**", "", "", groups, held, *places_of(means)]]
    marks = f"| --- | --- |{' --: |' * (len(HEAD) - 2)}"
    numbers = {
        "cases": count,
        "held": round(hits[0]),
        "chance": round(hits[2], 1),
        "leader": round(means[0, LEADER]),
        "overall": round(means[1, LEADER]),
        "measures": max(result.measures for result in results),
    }
    words = verdict(hits, means, count) + _silent(len(everything) - count)
    return {
        FILE: document(__file__, grid(HEAD, lines, marks), words),
        MEASURED: f"{json.dumps(numbers, indent=1)}\n",
    }


def verdict(hits: np.ndarray, means: np.ndarray, count: int) -> str:
    """Return in words whether the groups hold the best measure more often than the order by all
    cells."""
    if hits[0] == hits[1]:
        holds = "It holds as often as the order by all cells, not more often."
    else:
        more = "more" if hits[0] > hits[1] else "less"
        holds = f"It holds {more} often than the order by all cells."
    return (
        f"**{holds}** The group holds the best measure of the domain left out in {hits[0]:.0f} of "
        f"{count} cases, as many measures from the top of the order by all cells in {hits[1]:.0f}, "
        f"as many drawn at random in {hits[2]:.1f}. The leader of the group comes out at place "
        f"{means[0, LEADER]:.0f} there on average, that of the order by all cells at place "
        f"{means[1, LEADER]:.0f}; the order of all measures agrees with that of the domain left "
        f"out by {means[0, -1]:.2f}, that by all cells by {means[1, -1]:.2f}."
    )


def _silent(count: int) -> str:
    """Say in how many cases there is no order, so that nothing is recommended."""
    if not count:
        return ""
    return (
        f" In {count} more cases the cells of the question tell no two measures apart, so nothing "
        "is recommended, and they are not counted."
    )


def line(result: LeftOut) -> list[str]:
    """Return the line of a question and a domain: recommended / all cells / chance."""
    advice = np.array((result.chooser, result.overall, result.chance), float)
    held = ("yes" if has else "no" for has in advice[:2, 0])
    return [
        result.question.name or "all tests",
        result.domain,
        f"{result.learned} → {result.tested}",
        f"{result.group} of {result.measures}" if result.has_order else "no order",
        " / ".join([*held, f"{result.chance.has_best:.2f}"]),
        *places_of(advice),
    ]


def places_of(advice: np.ndarray) -> list[str]:
    """Return the cells of the best place, the mean place, the leader and the agreement of the
    orders, which chance has none of."""
    places = (" / ".join(f"{place:.1f}" for place in of) for of in advice.T[1:-1])
    return [*places, " / ".join(f"{a:.2f}".replace("-", "−") for a in advice[:2, -1])]


def main() -> None:
    for file, text in documents(read_board()).items():
        write_atomically(file, text)
        print(f"wrote {file}")


if __name__ == "__main__":
    command(__doc__, main)
