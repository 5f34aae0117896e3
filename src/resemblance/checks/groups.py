"""Random elements of the transformation groups that measures may be invariant to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def random_orthogonal_matrix(d: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random orthogonal matrix (d, d)."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def apply_random_transformation(
    x: np.ndarray, invariance: str, rng: np.random.Generator
) -> np.ndarray:
    """Return a new array: the rows ``x`` (n, d) after a random map of the features from the group
    with the name ``invariance``, such as "orthogonal"; every call draws a new map."""
    d = x.shape[1]
    linear_map = (
        random_orthogonal_matrix(d, rng)
        * rng.uniform(0.4, 2.5, d)
        @ random_orthogonal_matrix(d, rng)
    )
    shift = rng.uniform(0.5, 2, d) * x.std()
    members: dict[str, Callable[[], np.ndarray]] = {
        "permutation": lambda: x[:, np.roll(rng.permutation(d), 1)],
        "orthogonal": lambda: x @ random_orthogonal_matrix(d, rng),
        "isotropic_scaling": lambda: rng.choice([0.05, 3.1]) * x,
        "invertible_linear": lambda: x @ linear_map,
        "translation": lambda: x + shift,
        "affine": lambda: x @ linear_map + shift,
    }
    return members[invariance]()


def rotate_samples_jointly(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return new arrays (x, y): the arrays (n, d) and (n, e) after the same random orthogonal map
    of the n samples, which keeps the mean of every column."""
    n = len(x)
    basis = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, n - 1))])[0]
    mean, complement = basis[:, :1], basis[:, 1:]
    turn = mean @ mean.T + complement @ random_orthogonal_matrix(n - 1, rng) @ complement.T
    return turn @ x, turn @ y
