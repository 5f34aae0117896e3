"""Generic members of the groups that measures may be invariant to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def orthogonal(d: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def transformed(x: np.ndarray, invariance: str, rng: np.random.Generator) -> np.ndarray:
    """Return x after a generic member of a group of ``INVARIANCES``, another one each time."""
    d = x.shape[1]
    linear = orthogonal(d, rng) * rng.uniform(0.4, 2.5, d) @ orthogonal(d, rng)
    shift = rng.uniform(0.5, 2, d) * x.std()
    members: dict[str, Callable[[], np.ndarray]] = {
        "permutation": lambda: x[:, np.roll(rng.permutation(d), 1)],
        "orthogonal": lambda: x @ orthogonal(d, rng),
        "isotropic_scaling": lambda: rng.choice([0.05, 3.1]) * x,
        "invertible_linear": lambda: x @ linear,
        "translation": lambda: x + shift,
        "affine": lambda: x @ linear + shift,
    }
    return members[invariance]()


def jointly_transformed(
    x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return both after one orthogonal map of the samples, which leaves the means as they are."""
    n = len(x)
    basis = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, n - 1))])[0]
    mean, rest = basis[:, :1], basis[:, 1:]
    turn = mean @ mean.T + rest @ orthogonal(n - 1, rng) @ rest.T
    return turn @ x, turn @ y
