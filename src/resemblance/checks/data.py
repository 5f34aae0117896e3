"""Small data for checks of measures and statistics: data without special symmetry, and data of many
kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..base.rng import generator
from ..data.representation import Representation

REPEATS = 4  # fewest repeats of a stimulus, in data for measures that read repeats
NOISE = 0.3  # noise of repeats, in units of the data


class Triple(NamedTuple):
    """Three representations on which non-metric distances tend to violate the triangle inequality,
    with a name for messages."""

    name: str
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


def generic_pair(
    n: int = 60, d: int = 6, e: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return two related representations, (n, d) and (n, e), without any special symmetry.

    The rows are in four clusters and can be read as logits.
    """
    rng = generator(seed, "generic pair")
    latent = rng.standard_normal((n, 5)) + 2 * rng.standard_normal((4, 5))[rng.integers(4, size=n)]
    x, y = (
        np.tanh(latent @ rng.standard_normal((5, w)) / 2) + 0.3 * rng.standard_normal((n, w))
        for w in (d, e)
    )
    x = x * rng.uniform(0.7, 1.4, d) + rng.uniform(0.2, 0.8, d)
    return x, 1.3 * y * rng.uniform(0.7, 1.4, e) + 0.4


def generic_classes(
    n: int = 60, d: int = 6, classes: int = 4, seed: int = 0
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a representation (n, d) in classes, without any special symmetry, and a mapping with
    all further inputs of statistics, by the name of the argument."""
    rng = generator(seed, "with classes")
    labels = rng.permutation(np.arange(n) % classes)
    x = rng.standard_normal((classes, d))[labels]
    x = x + 0.7 * rng.standard_normal((n, d)) @ rng.uniform(0.2, 0.8, (d, d))
    x = x * rng.uniform(0.7, 1.4, d) + rng.uniform(0.2, 0.8, d)
    return x, {
        "labels": labels,
        "conditions": labels,
        "replicate": x + 0.3 * rng.standard_normal((n, d)),
        "control": 0.6 * rng.standard_normal((40, d)) + rng.uniform(0.2, 0.8, d),
        "encoder": random_layer,
        "projection": x[:, :2] + 0.3 * generator(seed, "projection").standard_normal((n, 2)),
        "classifier": random_classifier(classes, d),
    }


def random_classifier(classes: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random weights (classes, d) and biases (classes,), in every call the same."""
    rng = generator(0, "classifier")
    return rng.standard_normal((classes, d)), rng.standard_normal(classes)


def random_layer(x: np.ndarray) -> np.ndarray:
    """Return five units (n, 5) of a layer with fixed random weights, applied to ``x`` (n, d)."""
    return np.tanh(x @ generator(0, "encoder").standard_normal((x.shape[1], 5)))


def generic_labels(n: int) -> tuple[int, ...]:
    """Return n classes from 0 to 3 in a random order, always the same."""
    return tuple(generator(9, "labels").integers(4, size=n).tolist())


def stimuli(n: int) -> tuple[int, ...]:
    """Return the number of the stimulus of each of n rows, in a random order, in every call the
    same. Each stimulus has four repeats, or the next larger number of repeats that divides n."""
    repeats = next((r for r in range(REPEATS, n) if n % r == 0), n)
    return tuple(generator(9, "stimuli").permutation(np.arange(n) % (n // repeats)).tolist())


def repeated_pair(
    n: int = 60, d: int = 6, e: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return two related representations, (n, d) and (n, e), whose rows are responses to
    :func:`stimuli`.

    The response to a stimulus is a row of a generic pair plus noise; the covariance of the noise
    depends on the stimulus.
    """
    rng, names = generator(seed, "repeated pair"), np.array(stimuli(n))
    noisy = []
    for rows in generic_pair(n, d, e, seed):
        width = rows.shape[1]
        mix = rng.standard_normal((n, width, width)) / width**0.5
        noise = np.einsum("nd,nde->ne", rng.standard_normal((n, width)), mix[names])
        noisy.append(rows[names] + NOISE * rows.std() * noise)
    return noisy[0], noisy[1]


def with_repeats(entry: Any, x: Any) -> Any:
    """Return a representation of ``x`` with the ids of :func:`stimuli`, if the measure ``entry``
    reads repeats and the data have no ids. Otherwise return ``x`` unchanged."""
    if getattr(entry, "takes", "") != "repeats":
        return x
    representation = x if isinstance(x, Representation) else Representation(x)
    if representation.ids is not None:
        return x
    return Representation(
        representation.source, representation.name, ids=stimuli(representation.n_samples)
    )


def softmax_rows(x: np.ndarray) -> np.ndarray:
    """Return the softmax of every row of ``x`` (n, classes): new rows of probabilities."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def varied_representations(n: int = 60) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (kind, representation of n samples) for many kinds: dead units, n < d, categories, a
    circle."""
    x, rng = generic_pair(n)[0], generator(0, "many kinds")
    angles, half = np.arange(n) * 2 * np.pi / n, n // 2
    yield "generic", x
    yield "scaled", 50 * x
    yield "one column", x[:, :1]
    yield "a dead unit", np.c_[x, np.zeros(n)]
    yield "columns twice", np.c_[x, x]
    yield "rows twice", np.r_[np.repeat(x[:half], 2, axis=0), x[2 * half :]]
    yield "of rank 2", x[:, :2] @ rng.standard_normal((2, 6))
    yield "n < d", rng.standard_normal((n, n + 8))
    yield "one category a sample", np.eye(n)
    yield "four categories", np.eye(4)[np.arange(n) % 4]
    yield "one zero row", np.where(np.arange(n)[:, None] == 3, 0, x)
    yield "a circle", np.c_[np.cos(angles), np.sin(angles)]


def degenerate_pairs(n: int = 60) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (kind, X, Y) with degenerate distances, ranks or singular values, where gradients may
    be undefined."""
    (x, y), rng = generic_pair(n), generator(0, "degenerate pairs")
    for kind, z in varied_representations(n):
        yield kind, z, y
        yield f"{kind} (X = Y)", z, z.copy()
    rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    white = [np.linalg.qr(a - a.mean(axis=0))[0] for a in (x, y)]
    yield "rotated and scaled", x, 3 * x @ rotation
    yield "whitened", white[0], y
    yield "both whitened", white[0], white[1]
    yield "dead units on each side", x * (np.arange(6) < 4), y * (np.arange(6) > 0)
    yield "huge", 1e150 * x, y
    yield "tiny", 1e-150 * x, y


def triples_between_endpoints(n: int = 60, seeds: int = 6) -> Iterator[Triple]:
    """Yield triples of two generic representations (n, d) and a third near X or between X and Z.
    ``seeds``: the number of triples."""
    for seed in range(seeds):
        rng = generator(seed, "paths")
        x, z = generic_pair(n, seed=seed)
        y = (x + z) / 2 if seed % 2 else x + 0.3 * rng.standard_normal(x.shape)
        yield Triple(f"seed {seed}", x, y, z)


def non_metric_triples(n: int = 60) -> Iterator[Triple]:
    """Yield triples that violate the triangle inequality for non-metric distances."""
    x = generic_pair(n)[0]
    step = 0.05 * generator(0, "step").standard_normal(x.shape)
    features = generator(0, "joint").standard_normal((n, 2))
    first, joint, second = features[:, :1], features, features[:, 1:]
    column, ones = x[:, :1], np.ones((n, 1))
    sure = [np.tile(p, (n, 1)) for p in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0])]
    # The square of the whole distance exceeds the sum of the squares of its halves.
    yield Triple("three points of a line", x, x + step, x + 2 * step)
    # 1 bit directly, 0.62 bits in two steps.
    yield Triple("certain, undecided, certain of the other", *sure)
    yield Triple("the same as logits", *(100 * p for p in sure))
    # Neighbours in two numbers are close in each number; neighbours in one number say nothing about
    # the other number.
    yield Triple("two independent numbers and both", first, joint, second)
    yield Triple("the same with a constant", *(np.c_[a, ones] for a in (first, joint, second)))
    yield Triple("two small shifts", x, x + 0.1, x + 0.2)
    # A shift is smaller in wider spaces.
    yield Triple("a line, padded, moved", column, np.c_[column, np.zeros((n, 19))], column + 5)
    yield random_walk_in_plane()


def random_walk_in_plane(n: int = 8) -> Triple:
    """Return a triple of n points of the plane and two successive steps of noise."""
    # The first seed whose topology violates the triangle inequality in both directions
    rng = generator(57, "walk")
    x = rng.standard_normal((n, 2))
    y = x + 0.3 * rng.standard_normal(x.shape)
    return Triple("two steps of a walk", x, y, y + 0.3 * rng.standard_normal(x.shape))
