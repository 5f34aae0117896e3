"""The paper's synthetic representations and splits, from its author's random streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import NamedTuple

import numpy as np

from resemblance.statistics.rdm import Rdm, mean_agreement
from resemblance.statistics.splits import halves
from resemblance.suites.stability.spectral import FEATURES, SAMPLES

SEED, SPLITS = 320, 50  # of the author's scripts
HIDDEN = 50


class Size(NamedTuple):
    """How much of the suite is run.

    ``pairs``: of each quadrant. ``bootstraps``: of an interval. ``draws``: of noise. ``suite``,
    ``models``: the size of the ReSi suite whose models are transformed, and how many of a domain.
    ``seeds``: of the transformations; ``splits``: of the features of what was transformed.
    """

    pairs: int
    bootstraps: int
    draws: int
    suite: str
    models: int
    seeds: tuple[int, ...]
    splits: int


SIZES: Mapping[str, Size] = {
    "small": Size(2, 100, 1, "", 0, (320,), 5),
    "default": Size(15, 2000, 5, "mini", 2, (320, 1991), 30),
    "paper": Size(
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
