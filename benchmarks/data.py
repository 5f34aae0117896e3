"""Made representations that look like trained models': shared clusters, random non-linear maps,
decaying spectra."""

from __future__ import annotations

import numpy as np


def model_like(n: int, d: int, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return ``count`` representations of n samples: noisy non-linear views of one clustered latent
    space.

    Full rank, with a power-law spectrum (condition numbers of 100 to 1000), the later ones noisier.
    """
    rng = np.random.default_rng(seed)
    latent = 2 * rng.standard_normal((10, 32))[rng.integers(10, size=n)] + rng.standard_normal(
        (n, 32)
    )
    made = {}
    for i in range(count):
        hidden = np.tanh(latent @ rng.standard_normal((32, 2 * d)) / 8)
        mixed = hidden @ rng.standard_normal((2 * d, d)) / np.sqrt(2 * d)
        u, s, vt = np.linalg.svd(
            mixed + 0.02 * (1 + i) * rng.standard_normal((n, d)), full_matrices=False
        )
        made[f"model {i}"] = (u * s * np.arange(1, d + 1) ** -0.5) @ vt + 0.1 * rng.standard_normal(
            d
        )
    return made
