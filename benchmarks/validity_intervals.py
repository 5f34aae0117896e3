"""Studies of validity of intervals: how often intervals of values contain the expected value; and
how often tests call equal quantities different."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.stats import ttest_rel
from validity_tests import LEVEL, Key, Numbers, Row, Study

import resemblance as rs
from resemblance.base.exceptions import BiasedDifferenceWarning
from resemblance.data.representation import Representation
from resemblance.inference import Evidence

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
SEVEN = EIGHT[:-1]  # canonical correlations are 1 if there are more features than samples
SIX = EIGHT[:-2]  # mka needs half of the time if n and d are large
RESAMPLES = 40  # for interval methods that the package does not offer
RESAMPLED = ("cka", "cka[estimator=debiased]", "nbs", "rsa", "mutual_knn")
MORE = 2  # additional data sets, used only to estimate the expected value
SMOOTH = ("cka", "cka[estimator=debiased]", "rsa[compare=pearson]", "mutual_knn")


# ------------------------------------------------------------------------------------ coverage


def pair_of(rng: np.random.Generator, n: int, widths: tuple[int, int]) -> list[np.ndarray]:
    """Return two noisy linear maps of five heavy-tailed factors. The maps are fixed; only the
    samples are random."""
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
    """Return the values and the ends of the intervals of ``rs.evidence``, and values of other data
    sets.

    ``has_others``: also compute intervals that the package does not offer.
    """
    x, y = pair_of(rng, n, widths)
    evidence = rs.evidence(
        *({"x": x}, {"y": y}),
        measures=specs,
        null="permutations",
        n_permutations=1,  # intervals need no permutations
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
    """Return the values of several measures, which share cached intermediates."""
    a, b = Representation(x), Representation(y)
    return [float(rs.get_measure(spec).evaluate(a, b)) for spec in specs]


def resampled(
    specs: Sequence[str], x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Numbers:
    """Return intervals that the package does not offer: bootstrap quantiles, and quantiles over
    random halves, centred on the value."""
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
    """Return how often intervals contain the mean of all values, and the mean width of the
    intervals.

    The unit of the width is 2 x 1.96 standard deviations of the values, the narrowest width with
    correct coverage.
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
    """Return A, B and C. B and C are equally similar to A by linear CKA, except that the noise of B
    is smaller by ``extra``."""
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
    """Return the noise for which the covariance of a map of this width has the squared norm
    ``size``.

    With u the variance of the noise over the width, solve 5 (2 + u)^2 + (width - 5) u^2 = ``size``.
    """
    u = (-20 + np.sqrt(400 - 4 * width * (20 - size))) / (2 * width)
    return float(np.sqrt(u * width))


def differences(
    specs: Sequence[str], widths: tuple[int, int, int], extra: float, rng: np.random.Generator
) -> Numbers:
    """Return whether the test of the difference rejects, with and without pairing over the
    samples."""
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
    """Return the p-value of (A, B) against (A, C), without the warning about biased CKA."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasedDifferenceWarning)
        return evidence.difference(spec, ("A", "B"), ("A", "C"), of=other).pvalue


# ------------------------------------------------------------------------------ models of subjects

SUBJECT_SETS, FEATURES, UNITS = 600, 12, 40


def equal_models(subjects: int, stimuli: int, rng: np.random.Generator) -> Numbers:
    """Return which tests call two equally good models different. The subjects see all features of
    the stimuli, and each model sees a different half of the features."""
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
SUBJECTS = tuple(
    Study(
        "subjects",
        f"{subjects} subjects, {stimuli} stimuli",
        SUBJECT_SETS,
        partial(equal_models, subjects, stimuli),
    )
    for subjects, stimuli in ((8, 24), (8, 60), (20, 24))
)
