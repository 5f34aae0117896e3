"""How often intervals of differences of mean ranks hold, all at once, and which measures they tell
apart: ways of resampling cells that share models, and ways of making intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata
from validity_studies import Key, Numbers, Study, percentages

from resemblance.significance.standings_gaps import (
    MeasurePairs,
    Sampled,
    drawn_gaps,
    margins,
    pairs_of,
    sampled,
)

DRAWS = 500
SETS = 500  # of data, for every study
SPREAD = 1.5  # between the best and the worst measure, in units of the noise of a cell
LARGE = (28, 104, 10)  # cells of groups, as those of the board
APART = 0.02  # ranks: truths less apart are equal


class Design(NamedTuple):
    """How many measures are ranked in how many cells of how many sets of models.

    ``between``: how much models move the measures, in units of the noise of a cell.
    """

    measures: int
    strata: int
    cells: int
    between: float = 0.0
    is_null: bool = False

    @property
    def quality(self) -> np.ndarray:
        """How good measures are; two are always equally good."""
        if self.is_null:
            return np.zeros(self.measures)
        return np.repeat(np.linspace(0, SPREAD, self.measures // 2), 2)


class Truth(NamedTuple):
    """The expected ranks of measures on the models of the cells, and on any models."""

    these: np.ndarray
    others: np.ndarray


def drawn(design: Design, rng: np.random.Generator) -> tuple[dict[str, list[np.ndarray]], Truth]:
    """Return the ranks in the cells of every stratum, and what they are to estimate."""
    effects = design.between * rng.standard_normal((design.strata, design.measures))
    levels = design.quality + effects
    noise = rng.standard_normal((design.strata, design.cells, design.measures))
    ranks = rankdata(-(levels[:, None] + noise), axis=-1)
    these = np.mean([expected(level, 1.0) for level in levels], axis=0)
    others = expected(design.quality, 1 + design.between**2)
    return {f"{i}": list(of_stratum) for i, of_stratum in enumerate(ranks)}, Truth(these, others)


def expected(levels: np.ndarray, variance: float) -> np.ndarray:
    """Return the expected ranks of normal values with these means and a variance."""
    ahead = norm.cdf((levels[None, :] - levels[:, None]) / np.sqrt(2 * variance))
    return 0.5 + ahead.sum(axis=1)


def table_of(ranks: Mapping[str, Sequence[np.ndarray]], way: str, seed: int) -> Sampled:
    """Return the samples that a way of resampling gives."""
    names = [f"{i:03d}" for i in range(len(next(iter(ranks.values()))[0]))]
    if way == "sets of models":
        cells = {name: dict(zip(names, np.mean(rows, axis=0))) for name, rows in ranks.items()}
        return sampled("", cells, names, None, draws=DRAWS, seed=seed)
    cells = {(s, i): dict(zip(names, row)) for s, of in ranks.items() for i, row in enumerate(of)}
    strata = {cell: cell[0] for cell in cells} if way == "cells within sets" else None
    return sampled("", cells, names, strata, draws=DRAWS, seed=seed)


def resampling(design: Design, rng: np.random.Generator) -> Numbers:
    """Return which ways of resampling hold all differences, on these models and on others, and how
    many of the measures that differ on others they tell apart."""
    ranks, truth = drawn(design, rng)
    numbers: Numbers = {}
    for way in ("cells freely", "cells within sets", "sets of models"):
        table = table_of(ranks, way, int(rng.integers(2**31)))
        pairs = pairs_of([table])
        half = margins([table], pairs, np.ones(len(pairs.gap), bool))
        for what, ranks_expected in truth._asdict().items():
            gaps = ranks_expected[pairs.second] - ranks_expected[pairs.first]
            numbers[Key(way, "", what)] = float(np.all(np.abs(pairs.gap - gaps) <= half))
        apart = np.abs(pairs.gap) > half
        numbers[Key(way, "", "apart")] = float(apart[np.abs(gaps) > APART].mean())
    return numbers


def intervals(design: Design, rng: np.random.Generator) -> Numbers:
    """Return which intervals hold all differences on these models, which tell apart what is equal,
    and how many of the measures that differ they tell apart."""
    ranks, truth = drawn(design, rng)
    table = table_of(ranks, "cells within sets", int(rng.integers(2**31)))
    pairs = pairs_of([table])
    gaps = truth.these[pairs.second] - truth.these[pairs.first]
    numbers: Numbers = {}
    for way, half in halves(table, pairs).items():
        differs = np.abs(gaps) > APART
        apart = np.abs(pairs.gap) > half
        numbers[Key(way, "", "holds")] = float(np.all(np.abs(pairs.gap - gaps) <= half + APART))
        numbers[Key(way, "", "wrong")] = float(any(misled(pairs, half, gaps)))
        numbers[Key(way, "", "apart")] = float(apart[differs].mean()) if differs.any() else np.nan
    return numbers


def misled(pairs: MeasurePairs, half: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Return which pairs are told apart although they are equal, or the wrong way round."""
    wrong: np.ndarray = (np.abs(pairs.gap) > half) & (np.sign(pairs.gap) * gaps <= APART)
    return wrong


def halves(table: Sampled, pairs: MeasurePairs) -> dict[str, np.ndarray]:
    """Return half of the width of intervals: those of ``places``, and three simpler ones."""
    samples = np.hstack([drawn for _, drawn in drawn_gaps([table], pairs)]) - pairs.gap
    error = samples.std(axis=0)
    varies = error > 1e-9
    largest = (np.abs(samples[:, varies]) / error[varies]).max(axis=1)
    return {
        "places": margins([table], pairs, np.ones(len(pairs.gap), bool)),
        "studentized maximum": np.quantile(largest, 0.95) * error,
        "one margin for all": np.full(len(error), np.quantile(np.abs(samples).max(axis=1), 0.95)),
        "not corrected": np.quantile(np.abs(samples), 0.95, axis=0),
    }


def with_few(cells: int, rng: np.random.Generator) -> Numbers:
    """Return which ways of counting a group of few cells tell 20 equal measures apart, and how wide
    their intervals are, in those without the group."""
    many, few = ([rng.random((n, 20)) for n in sizes] for sizes in (LARGE, (cells,)))
    groups = [{"": list(rankdata(of, axis=1))} for of in many + few]
    tables = [table_of(of, "cells freely", seed) for seed, of in enumerate(groups)]
    exact = Sampled(tables[-1].ranks, np.arange(cells), np.ones((DRAWS, cells)))
    ways = {
        "not counted": tables[:-1],
        "the spread of its cells": tables,
        "counted as exact": [*tables[:-1], exact],
    }
    numbers: Numbers = {}
    for way, chosen in ways.items():
        pairs = pairs_of(chosen)
        half = margins(chosen, pairs, np.ones(len(pairs.gap), bool))
        numbers[Key(way, "", "wrong")] = float(np.any(np.abs(pairs.gap) > half))
        numbers[Key(way, "", "width")] = float(half.mean())
    usual = numbers[Key("not counted", "", "width")]
    return {key: n / usual if key.what == "width" else n for key, n in numbers.items()}


RESAMPLED = {
    f"{strata} sets of {cells} cells, {words}": Design(10, strata, cells, between)
    for strata, cells in ((3, 10), (6, 10), (6, 25))
    for words, between in (("models alike", 0.0), ("models differ", 0.5))
}
INTERVALS = {
    "6 measures, 6 cells": Design(6, 1, 6),
    "20 measures, 6 cells": Design(20, 1, 6),
    "20 measures, 20 cells": Design(20, 1, 20),
    "20 measures, 100 cells": Design(20, 1, 100),
    "20 measures, 20 sets of 2 cells": Design(20, 20, 2, 0.5),
    "20 measures, 10 sets of 6 cells": Design(20, 10, 6, 0.5),
    "20 equal measures, 20 cells": Design(20, 1, 20, 0.0, is_null=True),
    "20 equal measures, 10 sets of 6 cells": Design(20, 10, 6, 0.0, is_null=True),
}
STUDIES: tuple[Study, ...] = (
    *(
        Study("strata", case, SETS, partial(resampling, design), percentages)
        for case, design in RESAMPLED.items()
    ),
    *(
        Study("ranks", case, SETS, partial(intervals, design), percentages)
        for case, design in INTERVALS.items()
    ),
    *(
        Study("few", f"a group of {words}", SETS, partial(with_few, cells), percentages)
        for cells, words in ((1, "one cell"), (3, "three cells"), (5, "five cells"))
    ),
)
