"""How often intervals of values, and of differences of mean ranks, hold what is expected; and how
often tests call different what is equal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rankdata, ttest_rel
from validity_tests import LEVEL, Key, Numbers, Row, Study

import resemblance as rs
from resemblance.base.exceptions import BiasedDifferenceWarning
from resemblance.data.representation import Representation
from resemblance.inference import Evidence
from resemblance.significance.standings_gaps import (
    BootstrapTasks,
    MeasurePairs,
    bootstrap_gaps,
    bootstrap_tasks,
    measure_pairs,
    simultaneous_half_widths,
)

NARROW, WIDE = (20, 30), (200, 300)
EIGHT = (
    "cka",
    "cka[estimator=debiased]",
    "nbs",
    "rsa",
    "rsa[compare=pearson]",
    "mutual_knn",
    "mka[k=10]",
    "mean_cca",
)
SEVEN = EIGHT[:-1]  # canonical correlations are 1 where there are more features than samples
SIX = EIGHT[:-2]  # mka takes half of the time where n and d are large
RESAMPLES = 40  # for what is not offered
RESAMPLED = ("cka", "cka[estimator=debiased]", "nbs", "rsa", "mutual_knn")
MORE = 2  # data sets besides, of which only the values are computed, for the expected value
SMOOTH = ("cka", "cka[estimator=debiased]", "rsa[compare=pearson]", "mutual_knn")


# ------------------------------------------------------------------------------------ coverage


def pair_of(rng: np.random.Generator, n: int, widths: tuple[int, int]) -> list[np.ndarray]:
    """Return two noisy linear views of five factors with heavy tails; the views are always the
    same, only the samples differ."""
    fixed_rng = np.random.default_rng(77)
    views = [fixed_rng.standard_normal((5, width)) for width in widths]
    sizes = [2 * (1 + 2 * fixed_rng.random(widths[0])), np.full(widths[1], 3.0)]
    factors = rng.laplace(size=(n, 5))
    return [
        factors @ view + size * rng.standard_normal((n, len(size)))
        for view, size in zip(views, sizes)
    ]


def intervals(
    n: int,
    widths: tuple[int, int],
    specs: Sequence[str],
    has_others: bool,
    rng: np.random.Generator,
) -> Numbers:
    """Return the values and the ends of the intervals of ``rs.evidence``, and other values."""
    x, y = pair_of(rng, n, widths)
    evidence = rs.evidence(
        *({"x": x}, {"y": y}),
        measures=specs,
        null="permutations",
        n_permutations=1,  # intervals need none
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    numbers: Numbers = {}
    for spec in specs:
        kind = evidence.parts[evidence.comparison.info(spec).spec].kind
        numbers[Key(kind, spec, "value")] = float(evidence[spec][0, 0])
        numbers[Key(kind, spec, "low")] = float(evidence.low(spec)[0, 0])
        numbers[Key(kind, spec, "high")] = float(evidence.high(spec)[0, 0])
    for i in range(MORE):
        values = values_of(specs, *pair_of(rng, n, widths))
        numbers |= {Key("", spec, f"other value {i}"): v for spec, v in zip(specs, values)}
    return numbers | (resampled(RESAMPLED, x, y, rng) if has_others else {})


def values_of(specs: Sequence[str], x: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the values of measures that share their views."""
    a, b = Representation(x), Representation(y)
    return [float(rs.get_measure(spec).evaluate(a, b)) for spec in specs]


def resampled(
    specs: Sequence[str], x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Numbers:
    """Return what is not offered: quantiles of the bootstrap, and of halves around the value."""
    numbers: Numbers = {}
    values, n = np.array(values_of(specs, x, y)), len(x)
    for method, size in (("bootstrap quantiles", n), ("quantiles of halves", n // 2)):
        rows = [rng.choice(n, size, replace=size == n) for _ in range(RESAMPLES)]
        repeats = np.array([values_of(specs, x[r], y[r]) for r in rows])
        if size < n:
            repeats += values - repeats.mean(axis=0)
        ends = np.quantile(repeats, [0.025, 0.975], axis=0)
        for spec, low, high in zip(specs, *ends):
            numbers |= {
                Key(method, spec, "low"): float(low),
                Key(method, spec, "high"): float(high),
            }
    return numbers


def coverage(study: Study, results: Sequence[Numbers]) -> list[Row]:
    """Return how often intervals hold the mean of all values, and how wide they are.

    The width is in units of 2 x 1.96 standard deviations of the values, the narrowest that holds.
    """
    rows = []
    kinds = {key.measure: key.way for key in results[0] if key.what == "value"}
    for key in results[0]:
        if key.what != "low":
            continue
        values = [
            numbers[other_key]
            for numbers in results
            for other_key in numbers
            if other_key.measure == key.measure and "value" in other_key.what
        ]
        low, high = (
            np.array([numbers[key._replace(what=end)] for numbers in results])
            for end in ("low", "high")
        )
        holds = 100 * float(np.mean((low <= np.mean(values)) & (np.mean(values) <= high)))
        width = float(np.mean(high - low) / (2 * 1.96 * np.std(values)))
        method = "rs.evidence" if key.way == kinds[key.measure] else key.way
        fields = study.table, study.case, method, key.measure
        rows.append(Row(*fields, "coverage", holds, len(results)))
        rows.append(Row(*fields, "width", width, len(results)))
    return rows


# --------------------------------------------------------------------------------- differences


def triple(
    rng: np.random.Generator, n: int, widths: tuple[int, int, int], extra: float
) -> dict[str, np.ndarray]:
    """Return A, and B and C that are equally similar to it by linear CKA, but for the noise that
    B has less (``extra``)."""
    factors = rng.laplace(size=(n, 5))
    share = 2.25 / widths[1]
    size = 5 * (2 + share) ** 2 + (widths[1] - 5) * share**2
    noises = [1.5, 1.5 - extra, noise_for(widths[2], size)]
    sides = {}
    for name, width, noise in zip("ABC", widths, noises):
        basis = np.linalg.qr(rng.standard_normal((width, 5)))[0]
        sides[name] = factors @ basis.T * np.sqrt(width) + noise * rng.standard_normal((n, width))
    return sides


def noise_for(width: int, size: float) -> float:
    """Return the noise that gives the covariance of a view of this width a squared norm.

    With u the variance of the noise over the width, the root of 5 (2 + u)^2 + (width - 5) u^2.
    """
    u = (-20 + np.sqrt(400 - 4 * width * (20 - size))) / (2 * width)
    return float(np.sqrt(u * width))


def differences(
    specs: Sequence[str], widths: tuple[int, int, int], extra: float, rng: np.random.Generator
) -> Numbers:
    """Say whether the test of the difference rejects, paired over the samples and not."""
    data = triple(rng, 100, widths, extra)
    evidence = rs.evidence(
        *({"A": data.pop("A")}, data),
        measures=specs,
        null="permutations",
        n_permutations=1,
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    numbers: Numbers = {}
    for spec in specs:
        for kind, other in (("paired", None), ("not paired", evidence)):
            p = p_of_difference(evidence, spec, other)
            numbers[Key(kind, spec, "rejected")] = p <= LEVEL
    return numbers


def p_of_difference(evidence: Evidence, spec: str, other: Evidence | None) -> float:
    """Return the p-value of A and B against A and C, without the warning of the biased CKA."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasedDifferenceWarning)
        return evidence.difference(spec, ("A", "B"), ("A", "C"), of=other).pvalue


# ------------------------------------------------------------------------------ models of subjects

SUBJECT_SETS, FEATURES, UNITS = 600, 12, 40


def equal_models(subjects: int, stimuli: int, rng: np.random.Generator) -> Numbers:
    """Return which tests call two models different that see half of the features of the stimuli
    each, of which all subjects see all."""
    features = rng.standard_normal((stimuli, FEATURES))
    area = {
        f"subject {i}": features @ rng.standard_normal((FEATURES, UNITS))
        + 2 * rng.standard_normal((stimuli, UNITS))
        for i in range(subjects)
    }
    half = FEATURES // 2
    scores = rs.score_models({"first": features[:, :half], "second": features[:, half:]}, area)
    p = {
        "score_models": scores.dissimilarity("first", "second").pvalue,
        "t-test over subjects": float(ttest_rel(*scores.values.T).pvalue),
    }
    return {Key(test, "", "rejected"): float(value <= LEVEL) for test, value in p.items()}


# ------------------------------------------------------------------------------------- mean ranks

DRAWS = 500
RANK_SETS = 500  # of data, for every study
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
    model_ranks = np.mean([expected(level, 1.0) for level in levels], axis=0)
    population_ranks = expected(design.quality, 1 + design.between**2)
    return {f"{i}": list(stratum_ranks) for i, stratum_ranks in enumerate(ranks)}, Truth(
        model_ranks, population_ranks
    )


def expected(levels: np.ndarray, variance: float) -> np.ndarray:
    """Return the expected ranks of normal values with these means and a variance."""
    win_rates = norm.cdf((levels[None, :] - levels[:, None]) / np.sqrt(2 * variance))
    return 0.5 + win_rates.sum(axis=1)


def table_of(ranks: Mapping[str, Sequence[np.ndarray]], method: str, seed: int) -> BootstrapTasks:
    """Return the samples that a way of resampling gives."""
    names = [f"{i:03d}" for i in range(len(next(iter(ranks.values()))[0]))]
    if method == "sets of models":
        cells = {name: dict(zip(names, np.mean(rows, axis=0))) for name, rows in ranks.items()}
        return bootstrap_tasks("", cells, names, None, n_resamples=DRAWS, seed=seed)
    cells = {
        (s, i): dict(zip(names, row))
        for s, stratum_cells in ranks.items()
        for i, row in enumerate(stratum_cells)
    }
    strata = {cell: cell[0] for cell in cells} if method == "cells within sets" else None
    return bootstrap_tasks("", cells, names, strata, n_resamples=DRAWS, seed=seed)


def resampling(design: Design, rng: np.random.Generator) -> Numbers:
    """Return which ways of resampling hold all differences, on these models and on others, and how
    many of the measures that differ on others they tell apart."""
    ranks, truth = drawn(design, rng)
    numbers: Numbers = {}
    for method in ("cells freely", "cells within sets", "sets of models"):
        table = table_of(ranks, method, int(rng.integers(2**31)))
        pairs = measure_pairs([table])
        half = simultaneous_half_widths([table], pairs, np.ones(len(pairs.gap), bool))
        for population, ranks_expected in truth._asdict().items():
            gaps = ranks_expected[pairs.second] - ranks_expected[pairs.first]
            numbers[Key(method, "", population)] = float(np.all(np.abs(pairs.gap - gaps) <= half))
        is_apart = np.abs(pairs.gap) > half
        numbers[Key(method, "", "apart")] = float(is_apart[np.abs(gaps) > APART].mean())
    return numbers


def of_ranks(design: Design, rng: np.random.Generator) -> Numbers:
    """Return which intervals hold all differences on these models, which tell apart what is equal,
    and how many of the measures that differ they tell apart."""
    ranks, truth = drawn(design, rng)
    table = table_of(ranks, "cells within sets", int(rng.integers(2**31)))
    pairs = measure_pairs([table])
    gaps = truth.these[pairs.second] - truth.these[pairs.first]
    numbers: Numbers = {}
    for method, half in halves(table, pairs).items():
        is_different = np.abs(gaps) > APART
        is_apart = np.abs(pairs.gap) > half
        numbers[Key(method, "", "holds")] = float(np.all(np.abs(pairs.gap - gaps) <= half + APART))
        numbers[Key(method, "", "wrong")] = float(any(misled(pairs, half, gaps)))
        numbers[Key(method, "", "apart")] = (
            float(is_apart[is_different].mean()) if is_different.any() else np.nan
        )
    return numbers


def misled(pairs: MeasurePairs, half: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Return which pairs are told apart although they are equal, or the wrong way round."""
    is_wrong: np.ndarray = (np.abs(pairs.gap) > half) & (np.sign(pairs.gap) * gaps <= APART)
    return is_wrong


def halves(table: BootstrapTasks, pairs: MeasurePairs) -> dict[str, np.ndarray]:
    """Return half of the width of intervals: those of ``places``, and three simpler ones."""
    samples = np.hstack([gaps for _, gaps in bootstrap_gaps([table], pairs)]) - pairs.gap
    error = samples.std(axis=0)
    is_varying = error > 1e-9
    maxima = (np.abs(samples[:, is_varying]) / error[is_varying]).max(axis=1)
    return {
        "places": simultaneous_half_widths([table], pairs, np.ones(len(pairs.gap), bool)),
        "studentized maximum": np.quantile(maxima, 0.95) * error,
        "one margin for all": np.full(len(error), np.quantile(np.abs(samples).max(axis=1), 0.95)),
        "not corrected": np.quantile(np.abs(samples), 0.95, axis=0),
    }


def with_few(cells: int, rng: np.random.Generator) -> Numbers:
    """Return which ways of counting a group of few cells tell 20 equal measures apart, and how wide
    their intervals are, in those without the group."""
    large_groups, small_group = (
        [rng.random((n, 20)) for n in sizes] for sizes in (LARGE, (cells,))
    )
    groups = [{"": list(rankdata(values, axis=1))} for values in large_groups + small_group]
    tables = [table_of(values, "cells freely", seed) for seed, values in enumerate(groups)]
    exact = BootstrapTasks(tables[-1].ranks, np.arange(cells), np.ones((DRAWS, cells)))
    tables_by_method = {
        "not counted": tables[:-1],
        "the spread of its cells": tables,
        "counted as exact": [*tables[:-1], exact],
    }
    numbers: Numbers = {}
    for method, method_tables in tables_by_method.items():
        pairs = measure_pairs(method_tables)
        half = simultaneous_half_widths(method_tables, pairs, np.ones(len(pairs.gap), bool))
        numbers[Key(method, "", "wrong")] = float(np.any(np.abs(pairs.gap) > half))
        numbers[Key(method, "", "width")] = float(half.mean())
    base_width = numbers[Key("not counted", "", "width")]
    return {key: n / base_width if key.what == "width" else n for key, n in numbers.items()}


DESIGNS = {
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
STUDIES = (
    *(
        Study(
            "coverage",
            f"n = {n}, d = {widths[0]} and {widths[1]}",
            sets,
            partial(intervals, n, widths, specs, n == 100 and widths == NARROW),
            coverage,
        )
        for n, sets, widths, specs in (
            (30, 200, NARROW, SEVEN),
            (100, 200, NARROW, EIGHT),
            (100, 200, WIDE, SEVEN),
            (500, 80, NARROW, EIGHT),
            (500, 80, WIDE, SIX),
        )
    ),
    *(
        Study("differences", case, sets, partial(differences, specs, widths, extra))
        for case, sets, specs, widths, extra in (
            ("no difference", 500, SMOOTH, (30, 40, 40), 0.0),
            ("no difference, widths 20 and 200", 500, SMOOTH[:2], (30, 20, 200), 0.0),
            ("a small difference", 200, SMOOTH, (30, 40, 40), 0.25),
        )
    ),
)
RANKS = (
    *(
        Study("strata", case, RANK_SETS, partial(resampling, design))
        for case, design in DESIGNS.items()
    ),
    *(
        Study("ranks", case, RANK_SETS, partial(of_ranks, design))
        for case, design in INTERVALS.items()
    ),
    *(
        Study("few", f"a group of {words}", RANK_SETS, partial(with_few, cells))
        for cells, words in ((1, "one cell"), (3, "three cells"), (5, "five cells"))
    ),
    *(
        Study(
            "subjects",
            f"{subjects} subjects, {stimuli} stimuli",
            SUBJECT_SETS,
            partial(equal_models, subjects, stimuli),
        )
        for subjects, stimuli in ((8, 24), (8, 60), (20, 24))
    ),
)
