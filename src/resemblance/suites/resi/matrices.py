"""The matrices behind the scores: what was expected and what was measured, to choose from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import as_difference
from ...results.figures import Choice, HeatMap, Option
from ..case import Score
from .facts import Matrices, family_of
from .standings import Standings
from .words import QUALITIES, common_start, quality_word

NOTE = (
    "What a score is made of: every pair of models, or of layers, with the difference that is "
    "expected and the one that a measure finds (for a similarity, its largest value minus the "
    "similarity). Dark is alike; each map has its own scale, over pairs of different models."
)


class Part(NamedTuple):
    """The matrices of one part of a case; ``scores``: by quality and measure."""

    title: str
    labels: tuple[str, ...]
    matrices: Matrices
    scores: dict[tuple[str, str], float]


class Pool:
    """Matrices of which each is kept once."""

    def __init__(self) -> None:
        self.maps: dict[HeatMap, int] = {}

    def add(self, title: str, labels: tuple[str, ...], values: np.ndarray) -> int:
        """Return the position of a matrix of differences."""
        rows = tuple(tuple(map(brief, row)) for row in values.tolist())
        heat = HeatMap(title, title, labels, labels, rows, span=limits(values), is_reversed=True)
        return self.maps.setdefault(heat, len(self.maps))


def choice_of(standings: Standings, test: str) -> Choice | None:
    """Return the expected and the measured differences of a test, to choose from.

    By models, quality and measure; nothing when the test could not be made.
    """
    parts = _parts(standings, test)
    if not parts:
        return None
    pool, options, examples = Pool(), list[Option](), list[tuple[float, int]]()
    first_quality = next(q for q in (*QUALITIES[test], *parts[0].matrices.expected))
    for part in parts:
        measured = _measured(standings, part)
        for quality, rows in part.matrices.expected.items():
            expected = pool.add("expected", part.labels, np.array(rows, float))
            for spec in (s for s in standings.order if s in measured):
                name, score = standings.names[spec], part.scores.get((quality, spec), math.nan)
                word = quality_word(test, quality)
                choices = (str(family_of(part.matrices)), part.title, word, name)
                position = pool.add(f"measured by {name}", part.labels, measured[spec])
                note = f"{name}: {word} {'–' if math.isnan(score) else f'{score:.2f}'}"
                options.append(Option(choices, (expected, position), note.replace("-", "−")))
                if part is parts[0] and quality == first_quality and not math.isnan(score):
                    examples.append((score, -len(options)))
    best = -max(examples)[1] - 1 if examples else 0
    selectors = ("models", "model", "quality", "measure")
    return Choice(
        f"{test} maps",
        "Expected and measured differences",
        selectors,
        tuple(options),
        tuple(pool.maps),
        NOTE,
        static=(best,),
    )


def _parts(standings: Standings, test: str) -> list[Part]:
    facts = standings.facts
    scores: dict[tuple[str, ...], list[Score]] = defaultdict(list)
    for s in facts.scores:
        if s.test == test:
            scores[family_of(s)].append(s)
    parts, positions = list[Part](), defaultdict[tuple[str, ...], int](int)
    for matrices in (m for m in facts.maps if m.test == test):
        family = family_of(matrices)
        position = positions[family]
        positions[family] += 1
        parts.append(_part(matrices, position, scores[family]))
    return parts


def _part(matrices: Matrices, position: int, scores: Sequence[Score]) -> Part:
    model = matrices.model.split("/") if matrices.model else []
    start = model or common_start(matrices.names)
    labels = tuple("/".join(name.split("/")[len(start) :]) for name in matrices.names)
    title = ("/".join(model[3:]) or f"model {position + 1}") if model else ""
    by_measure = {
        (s.cell[1], s.measure): s.parts[position] for s in scores if position < len(s.parts)
    }
    return Part(title, labels, matrices, by_measure)


def _measured(standings: Standings, part: Part) -> dict[str, np.ndarray]:
    """Return the matrices of all measures as differences."""
    values, infos = part.matrices.values, standings.facts.measures
    return {
        m.spec: as_difference(np.array(values[m.spec], float), m) for m in infos if m.spec in values
    }


def limits(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and largest difference between two different representations.

    (0, 1) if there is none.
    """
    pairs = values[~np.eye(len(values), dtype=bool)]
    finite = pairs[np.isfinite(pairs)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def brief(value: float) -> float | None:
    """Return a number in four significant digits, None for what is not finite."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
