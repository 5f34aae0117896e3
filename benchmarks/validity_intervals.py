"""How often intervals hold the expected value, and how often tests of differences reject."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from validity_studies import Key, Numbers, Row, Study, percentages

import resemblance as rs
from resemblance.inference import BiasedDifferenceWarning, Evidence
from resemblance.representation import Representation

LEVEL = 0.05
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
    fixed = np.random.default_rng(77)
    views = [fixed.standard_normal((5, width)) for width in widths]
    sizes = [2 * (1 + 2 * fixed.random(widths[0])), np.full(widths[1], 3.0)]
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
        exact=False,
        draws=1,  # intervals need none
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    numbers: Numbers = {}
    for spec in specs:
        way = evidence.parts[evidence.comparison.info(spec).spec].kind
        numbers[Key(way, spec, "value")] = float(evidence[spec][0, 0])
        numbers[Key(way, spec, "low")] = float(evidence.low(spec)[0, 0])
        numbers[Key(way, spec, "high")] = float(evidence.high(spec)[0, 0])
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
    for way, size in (("bootstrap quantiles", n), ("quantiles of halves", n // 2)):
        rows = [rng.choice(n, size, replace=size == n) for _ in range(RESAMPLES)]
        repeats = np.array([values_of(specs, x[r], y[r]) for r in rows])
        if size < n:
            repeats += values - repeats.mean(axis=0)
        ends = np.quantile(repeats, [0.025, 0.975], axis=0)
        for spec, low, high in zip(specs, *ends):
            numbers |= {Key(way, spec, "low"): float(low), Key(way, spec, "high"): float(high)}
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
            numbers[other]
            for numbers in results
            for other in numbers
            if other.measure == key.measure and "value" in other.what
        ]
        low, high = (
            np.array([numbers[key._replace(what=end)] for numbers in results])
            for end in ("low", "high")
        )
        holds = 100 * float(np.mean((low <= np.mean(values)) & (np.mean(values) <= high)))
        width = float(np.mean(high - low) / (2 * 1.96 * np.std(values)))
        way = "rs.evidence" if key.way == kinds[key.measure] else key.way
        of = study.table, study.case, way, key.measure
        rows.append(Row(*of, "coverage", holds, len(results)))
        rows.append(Row(*of, "width", width, len(results)))
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
        exact=False,
        draws=1,
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    numbers: Numbers = {}
    for spec in specs:
        for way, other in (("paired", None), ("not paired", evidence)):
            p = p_of_difference(evidence, spec, other)
            numbers[Key(way, spec, "rejected")] = p <= LEVEL
    return numbers


def p_of_difference(evidence: Evidence, spec: str, other: Evidence | None) -> float:
    """Return the p-value of A and B against A and C, without the warning of the biased CKA."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasedDifferenceWarning)
        return evidence.difference(spec, ("A", "B"), ("A", "C"), of=other).p


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
    Study(
        "differences",
        "no difference",
        500,
        partial(differences, SMOOTH, (30, 40, 40), 0.0),
        percentages,
    ),
    Study(
        "differences",
        "no difference, widths 20 and 200",
        500,
        partial(differences, SMOOTH[:2], (30, 20, 200), 0.0),
        percentages,
    ),
    Study(
        "differences",
        "a small difference",
        200,
        partial(differences, SMOOTH, (30, 40, 40), 0.25),
        percentages,
    ),
)
