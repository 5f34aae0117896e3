"""The made representations of the paper and its splits of features, drawn from the random streams
of its author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ...compare import compare
from ...measure import Measure
from ...representation import Representation
from ...statistics.rdm import Rdm, mean_agreement
from ...statistics.splits import halves
from ..experiments import Part, Setting

SEED, SPLITS = 320, 50  # of the author's scripts
SAMPLES, FEATURES, HIDDEN = 200, 256, 50


class Size(NamedTuple):
    """How much of the suite is run.

    ``removed``: how many components are deleted in turn. ``pairs``: of each quadrant.
    ``bootstraps``: of an interval. ``draws``: of noise. ``suite``, ``models``: of which suite of
    the ReSi benchmark, and how many of a domain, models are transformed. ``seeds``: of the
    transformations; ``splits``: of the features of what was transformed.
    """

    removed: tuple[int, ...]
    pairs: int
    bootstraps: int
    draws: int
    suite: str
    models: int
    seeds: tuple[int, ...]
    splits: int


SIZES: Mapping[str, Size] = {
    "small": Size((0, 1, 10, 19, 20, 30, 50), 2, 100, 1, "", 0, (320,), 5),
    "default": Size(tuple(range(51)), 15, 2000, 5, "mini", 2, (320, 1991), 30),
    "paper": Size(
        tuple(range(51)),
        15,
        10_000,
        30,
        "standard",
        2,
        (320, 1991, 9, 7258, 7, 2222, 724, 3, 12, 108, 18, 11, 1754, 411, 103),
        30,
    ),
}


def mixture(share: float, seed: int, scale: str = "deviation") -> np.ndarray:
    """Return signal of 50 hidden dimensions and noise, (200, 256), in the share α and 1 - α.

    The signal Z W has deviation 1, as in the author's script; ``scale="norm"`` divides it by its
    Frobenius norm instead, as the formula of Section 7.1.1 says, and what is left of it is 1/226 of
    the noise.
    """
    random = np.random.default_rng(seed)
    signal = random.standard_normal((SAMPLES, HIDDEN)) @ random.standard_normal((HIDDEN, FEATURES))
    size = np.std(signal) + 1e-9 if scale == "deviation" else np.linalg.norm(signal)
    mixed: np.ndarray = share * (signal / size) + (1 - share) * random.standard_normal(
        (SAMPLES, FEATURES)
    )
    return mixed


def harmonic(seed: int) -> np.ndarray:
    """Return a representation (200, 256) with singular values 100 / i along random directions."""
    random = np.random.default_rng(seed)
    left, _ = np.linalg.qr(random.standard_normal((SAMPLES, SAMPLES)))
    right, _ = np.linalg.qr(random.standard_normal((FEATURES, FEATURES)))
    made: np.ndarray = (left * (100 / np.arange(1, SAMPLES + 1))) @ right.T[:SAMPLES]
    return made


def without_leading(points: np.ndarray, count: int) -> np.ndarray:
    """Return the points without their first principal components."""
    mean = points.mean(axis=0)
    u, s, vt = np.linalg.svd(points - mean, full_matrices=False)
    left: np.ndarray = (u[:, count:] * s[count:]) @ vt[count:] + mean
    return left


def split_score(
    points: np.ndarray, seeds: int | Iterator[int], *, k: int = SPLITS, rdm: Rdm = "correlation"
) -> float:
    """Return the feature-split stability with the splits of the author's scripts.

    They are permutations of one ``default_rng(seed)``, in turn; an iterator gives each split a seed
    of its own. ``resemblance.stability.feature_split`` is the same with other splits.
    """
    arranged = np.asfortranarray(points)
    streams = (
        repeat(np.random.default_rng(seeds))
        if isinstance(seeds, int)
        else map(np.random.default_rng, seeds)
    )
    orders = (random.permutation(points.shape[1]) for random, _ in zip(streams, range(k)))
    return mean_agreement((halves(arranged, order) for order in orders), rdm, "spearman")


def measure_of(setting: Setting, part: Part) -> Measure:
    """Return the measure that a part names by its specification and version."""
    return next(m for m in setting.measures if [m.spec, m.version] == part["measure"])


def compared(
    setting: Setting, part: Part, first: np.ndarray, others: list[np.ndarray]
) -> dict[str, list[Any]]:
    """Return values and differences of a part's measure between one array and others, None with a
    reason for none."""
    measure = measure_of(setting, part)
    names = [f"y{i}" for i in range(len(others))]
    columns = [Representation(other, name) for other, name in zip(others, names)]
    found = compare(
        Representation(first, "x"),
        columns,
        measures=[measure],
        memory=setting.memory,
        progress=False,
    )
    reasons = {failure.y: failure.reason for failure in found.failures}
    values, differences = found[measure.spec][0], found.difference(measure.spec)[0]
    known = [np.isfinite(v) for v in values]
    return {
        "values": [float(v) if k else None for v, k in zip(values, known)],
        "differences": [float(v) if k else None for v, k in zip(differences, known)],
        "reasons": [reasons.get(name, "" if k else "no value") for name, k in zip(names, known)],
    }
