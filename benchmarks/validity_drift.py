"""How often drift between two versions, and between batches of different samples, is detected, with
and without true drift."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from validity_tests import LEVEL, Key, Numbers, Study

import resemblance as rs

TOLERANCE = 0.05
CENTRES = 2 * np.random.default_rng(0).standard_normal((5, 12))


def classes_of_rows(rng: np.random.Generator, n: int, shares: Sequence[float]) -> np.ndarray:
    """Return skewed rows of five classes, (n, 12). ``shares``: class probabilities."""
    return CENTRES[rng.choice(5, n, p=shares)] + rng.gamma(1.5, 1, (n, 12))


def with_noise(times: float, rng: np.random.Generator) -> Numbers:
    """Compare a reference with a copy with noise of ``times`` the tolerance, and return the
    decisions."""
    x = classes_of_rows(rng, 150, [0.2] * 5)
    size = times * TOLERANCE * float(np.sqrt(x.var(axis=0).sum() / 12))
    y = x + size * rng.standard_normal(x.shape)
    numbers: Numbers = {}
    for draws in (50, 10):
        report = rs.drift(x, y, n_resamples=draws, progress=False)
        decisions = [drift.exceeds_threshold for drift in report.drifts]
        sides = {
            "verdict": report.drifted,
            "geometry": report.geometry.drifted,
            "coordinates": report.coordinates.drifted,
            "each": float(np.mean(decisions)),
        }
        numbers |= {
            Key(f"draws={draws}", "drift", quantity): float(v) for quantity, v in sides.items()
        }
    return numbers


def of_batches(shift: float, shares: Sequence[float], rng: np.random.Generator) -> Numbers:
    """Test batches of different samples, the second with a shifted feature or other class
    probabilities."""
    x, y = classes_of_rows(rng, 100, [0.2] * 5), classes_of_rows(rng, 70, shares)
    y[:, 4] += shift
    report = rs.drift(x, y, paired=False, purpose="head", progress=False)
    p = {drift.name: drift.pvalue for drift in report.drifts if drift.pvalue is not None}
    names = ("energy", "mmd", "classifier", "features", "effective_rank")
    numbers = {Key(name, "drift", "rejected"): float(p[name] <= LEVEL) for name in names}
    return numbers | {Key("verdict", "drift", "rejected"): float(report.drifted)}


STUDIES = (
    *(
        Study("drift", f"noise of {times:g} times the tolerance", sets, partial(with_noise, times))
        for times, sets in ((0.8, 20), (1.0, 80), (1.2, 20))
    ),
    Study("batches", "one distribution", 300, partial(of_batches, 0.0, [0.2] * 5)),
    Study("batches", "a feature shifted by 1", 100, partial(of_batches, 1.0, [0.2] * 5)),
    Study(
        "batches",
        "other shares of classes",
        100,
        partial(of_batches, 0.0, [0.4, 0.15, 0.15, 0.15, 0.15]),
    ),
)
