"""The matrices behind the scores: selectable heat maps of expected and measured differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from resemblance.base.formatting import format_fixed, round_to_figures
from resemblance.sections.figures import Choice, HeatMap, Option

from ..ranks import ScoreOverview
from ..study_models import ModelFamily
from .cases import QUALITY_TITLES
from .evaluation import ComparedPart, Evaluation

MATRICES_NOTE = (
    "The data behind a score: for every pair of models, or of layers, the expected "
    "difference and the measured difference (for a similarity: the largest value minus the "
    "similarity). Dark is similar; each map has its own scale, over pairs of different models."
)


class MatrixPool:
    """A pool of heat maps that stores equal matrices once."""

    def __init__(self) -> None:
        self.maps: dict[HeatMap, int] = {}

    def add(self, title: str, labels: tuple[str, ...], values: np.ndarray) -> int:
        """Add a matrix of differences (n, n) to the pool unless an equal matrix is there, and
        return the index of the matrix in the pool. ``labels``: of the n rows and columns."""
        rows = tuple(tuple(round_to_figures(v, 4) for v in row) for row in values.tolist())
        heat = HeatMap(
            title, title, labels, labels, rows, span=difference_limits(values), is_reversed=True
        )
        return self.maps.setdefault(heat, len(self.maps))


def matrices_choice(evaluation: Evaluation, overview: ScoreOverview, test: str) -> Choice | None:
    """Return a selectable figure with the expected and the measured differences of a test; None if
    the test was not made. ``overview``: the measures in the order of the page, with their names.

    A reader selects models, model, quality and measure. The printed option is the best score of the
    first quality in the first part.
    """
    scores = {(s.cell, s.measure): s.parts for s in evaluation.scores if s.test == test}
    pool, options, examples = MatrixPool(), list[Option](), list[tuple[float, int]]()
    counts = Counter[ModelFamily]()
    for part in (p for p in evaluation.parts() if p.test == test):
        position = counts[part.family]
        counts[part.family] += 1
        title, labels = _part_and_row_names(part, position)
        differences = {m: part.comparison.dissimilarity(m) for m in overview.order}
        first_quality = next(q for q in QUALITY_TITLES[test] if q in part.by_quality)
        is_example = not options
        for quality in part.by_quality:
            expected = pool.add("expected", labels, part.expected(quality))
            for spec, values in differences.items():
                name, word = overview.names[spec], QUALITY_TITLES[test][quality]
                by_part = scores.get(((test, quality, *part.family), spec), ())
                score = by_part[position] if position < len(by_part) else math.nan
                maps = expected, pool.add(f"measured by {name}", labels, values)
                note = f"{name}: {word} {'–' if math.isnan(score) else format_fixed(score)}"
                choices = (str(part.family), title, word, name)
                options.append(Option(choices, maps, note))
                if is_example and quality == first_quality and not math.isnan(score):
                    examples.append((score, -len(options)))
    if not options:
        return None
    best_option = -max(examples)[1] - 1 if examples else 0
    return Choice(
        f"{test} maps",
        "Expected and measured differences",
        ("models", "model", "quality", "measure"),
        tuple(options),
        tuple(pool.maps),
        MATRICES_NOTE,
        static=(best_option,),
    )


def _part_and_row_names(part: ComparedPart, position: int) -> tuple[str, tuple[str, ...]]:
    """Return the title of a part within the family of models, and the row names without the common
    prefix. The title is "" if models are compared. ``position``: of the part in the family, from
    0."""
    names, model = part.comparison.rows, part.model.split("/") if part.model else []
    prefix = model or common_prefix(names)
    labels = tuple("/".join(name.split("/")[len(prefix) :]) for name in names)
    return ("/".join(model[3:]) or f"model {position + 1}") if model else "", labels


def common_prefix(names: Sequence[str]) -> list[str]:
    """Return the slash-separated words with which all names begin, at most all words but the last
    of the shortest name."""
    split = [name.split("/") for name in names]
    n_shared = min(len(parts) for parts in split) - 1
    while len({tuple(parts[:n_shared]) for parts in split}) > 1:
        n_shared -= 1
    return split[0][:n_shared]


def difference_limits(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest finite difference between different representations:
    entries of ``values`` (n, n) off the diagonal.

    (0, 1) if all differences are missing.
    """
    pairs = values[~np.eye(len(values), dtype=bool)]
    finite_values = pairs[np.isfinite(pairs)]
    if finite_values.size:
        return float(finite_values.min()), float(finite_values.max())
    return 0.0, 1.0
