"""Spectral deletion: how soon measures respond to missing leading principal components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from resemblance.data.representation import Representation

from ..case import Case, Part
from ..grounding import Rule, by_reference, spearman

HARMONIC_SEED = 420
HARMONIC_FILE = "harmonic.npy"  # file of a pack: the representation before any deletion
N_HARMONIC_SAMPLES, N_HARMONIC_FEATURES = 200, 256
REMOVED_COMPONENTS: Mapping[str, tuple[int, ...]] = {
    "small": (0, 1, 10, 19, 20, 30, 50),
    "default": tuple(range(51)),
    "paper": tuple(range(51)),
}
EQUAL_DIFFERENCE_TOLERANCE = 1e-9


def harmonic_representation(seed: int) -> np.ndarray:
    """Return a representation (200, 256) with singular values 100 / i, i = 1 to 200, along random
    directions."""
    random = np.random.default_rng(seed)
    left, _ = np.linalg.qr(random.standard_normal((N_HARMONIC_SAMPLES, N_HARMONIC_SAMPLES)))
    right, _ = np.linalg.qr(random.standard_normal((N_HARMONIC_FEATURES, N_HARMONIC_FEATURES)))
    return (left * (100 / np.arange(1, N_HARMONIC_SAMPLES + 1))) @ right.T[:N_HARMONIC_SAMPLES]


def delete_leading_components(points: np.ndarray, counts: Iterable[int]) -> list[np.ndarray]:
    """Return, for every count, the points (n, d) without their first ``count`` principal
    components: (n, d), with the same mean."""
    mean = points.mean(axis=0)
    u, s, vt = np.linalg.svd(points - mean, full_matrices=False)
    return [(u[:, count:] * s[count:]) @ vt[count:] + mean for count in counts]


def zero_if_equal(differences: np.ndarray) -> np.ndarray:
    """Return an array of zeros if all differences are equal up to rounding error; otherwise the
    differences."""
    values = differences[~np.isnan(differences)]
    size = np.abs(values).max(initial=1e-3)
    if values.size and np.ptp(values) <= EQUAL_DIFFERENCE_TOLERANCE * size:
        return differences * 0
    return differences


DELETION_ORDER_RULE = Rule(by_reference, spearman, is_complete=True, rounded=zero_if_equal)


def deletion_case(points: np.ndarray, size: str) -> Case:
    """Return the single task of the experiment, on a representation (n, d): the points against the
    points after every deletion of the size of the suite. The deletions fix the expected order, so
    the reliability is 1."""
    copies = zip(
        REMOVED_COMPONENTS[size], delete_leading_components(points, REMOVED_COMPONENTS[size])
    )
    columns = {f"y{k}": Representation(array, f"y{k}") for k, array in copies}
    part = Part({"x": Representation(points, "x")}, REMOVED_COMPONENTS[size], columns)
    return Case("spectral", ("order",), DELETION_ORDER_RULE, (part,), "spectral", reliability=1.0)
