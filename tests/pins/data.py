"""The data that the package is asked about: small, of six kinds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Pair(NamedTuple):
    """Two representations of the same samples, and what statistics need besides."""

    x: np.ndarray
    y: np.ndarray
    labels: np.ndarray


def pairs() -> dict[str, Pair]:
    return {
        "tall": _related(60, 8, 5, seed=1),
        "wide": _related(24, 40, 30, seed=2),
        "sparse": _sparse(),
        "clusters": _clusters(),
        "integers": _integers(),
        "float32": _single(),
    }


def _related(n: int, d: int, e: int, seed: int) -> Pair:
    """Two mixtures of the same six sources, with noise and means of their own."""
    rng = np.random.default_rng(seed)
    sources = rng.standard_normal((n, 6))
    x = sources @ rng.standard_normal((6, d)) + 0.7 * rng.standard_normal((n, d)) + 0.3
    y = sources @ rng.standard_normal((6, e)) + 0.7 * rng.standard_normal((n, e)) - 0.2
    return Pair(x, y, np.arange(n) % 4)


def _sparse() -> Pair:
    """Zeros and ones, many of them equal: distances and neighbours have ties, and rows repeat."""
    rng = np.random.default_rng(3)
    x, y = rng.random((48, 7)) < 0.3, rng.random((48, 9)) < 0.25
    y[:, :3] = x[:, :3]
    return Pair(x.astype(float), y.astype(float), np.arange(48) % 3)


def _clusters() -> Pair:
    rng = np.random.default_rng(4)
    labels = np.arange(50) % 5
    x = 3 * rng.standard_normal((5, 6))[labels] + 0.5 * rng.standard_normal((50, 6))
    y = 2 * rng.standard_normal((5, 6))[labels] + rng.standard_normal((50, 6))
    return Pair(x, y, labels)


def _integers() -> Pair:
    rng = np.random.default_rng(5)
    x = rng.integers(-4, 5, (40, 6))
    y = x[:, :4] + rng.integers(-2, 3, (40, 4))
    return Pair(x, y, np.arange(40) % 4)


def _single() -> Pair:
    x, y, labels = _related(50, 7, 9, seed=6)
    return Pair(x.astype(np.float32), y.astype(np.float32), labels)


def outputs(seed: int = 7) -> dict[str, Any]:
    """What two classifiers of three classes answer, and the true classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(45) % 3
    logits = [1.5 * np.eye(3)[labels] + rng.standard_normal((45, 3)) for _ in range(2)]
    x, y = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in logits)
    return {"x": x, "y": y, "labels": labels}


def layers(n: int = 60, seed: int = 8) -> dict[str, np.ndarray]:
    """Four representations of the same samples, each less like the first."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((n, 8))
    mixed = first @ rng.standard_normal((8, 6))
    return {
        "first": first,
        "mixed": mixed,
        "noisy": np.tanh(mixed) + 1.5 * rng.standard_normal((n, 6)),
        "other": rng.standard_normal((n, 10)),
    }
