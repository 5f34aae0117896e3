"""An encoder called on noisy inputs: does its representation stay?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..arrays import norm, to_numpy
from ..claims import when
from ..representation import Representation, finite
from ..rng import generator
from ..statistic import statistic
from .rdm import agreement, rows


@statistic(
    label="Input noise",
    family="perturbation",
    larger_is_more_stable=True,
    range=(0, 1),
    reference="raju2026geometric",
    min_samples=3,
    limits={"k": (1, 10_000), "noise": (0, np.inf)},
    changes=(when({"score": "rdm"}, range=(-1, 1)),),
)
def input_noise_stability(
    x: Representation,
    encoder: Callable[[np.ndarray], Any],
    *,
    noise: float = 0.1,
    k: int = 10,
    score: Literal["distance", "rdm"] = "distance",
    seed: int = 0,
) -> float:
    r"""Input-noise stability: how little noise in the inputs moves a representation.

    .. math:: \frac{1}{1 + \bar{d}}, \qquad \bar{d} = \frac{1}{K n} \sum_{s, i}
        \lVert f(x_i + \sigma \varepsilon_{s, i}) - f(x_i) \rVert, \quad \varepsilon \sim
        \mathcal{N}(0, I)

    σ is ``noise`` times the standard deviation of all entries of the inputs. ``score="rdm"`` gives
    the mean Spearman correlation between the cosine dissimilarities of f(x) and of f(x + σε)
    instead, which does not depend on the scale of the representation. X is the (n, d) inputs and
    ``encoder`` a function from such an array to (n, e): an encoder of images reshapes first. The
    value is in (0, 1], for ``"rdm"`` in [-1, 1].

    Invariances are those of the encoder: none is claimed. Raises ``ValueError`` for an encoder that
    does not return one row per input and ``Undefined`` for NaN in what it returns.

    Reference: Raju 2026 (latent-space perturbation; no code of the author computes it). The scale
    of the noise and the score by dissimilarities are ours.
    """
    inputs = rows(x)
    size = int(np.frexp(np.abs(inputs).max())[1])  # whose squares are in range
    clean = _encoded(encoder, inputs)
    scale = noise * float(np.ldexp(np.ldexp(inputs, -size).std(), size))
    draws = (
        generator(seed, "input_noise_stability", s).standard_normal(inputs.shape) for s in range(k)
    )
    noisy = (_encoded(encoder, inputs + scale * drawn) for drawn in draws)
    if score == "rdm":
        return float(np.mean([agreement(clean, other, "cosine", "spearman") for other in noisy]))
    moved = np.mean([norm(other - clean, axis=1).mean() for other in noisy])
    return float(1 / (1 + moved))


def _encoded(encoder: Callable[[np.ndarray], Any], inputs: np.ndarray) -> np.ndarray:
    # A copy, because an encoder may write into what it gets.
    encoded = Representation(encoder(inputs.copy()), "encoder(X)")
    if encoded.shape[0] != len(inputs):
        raise ValueError(
            f"input_noise_stability: the encoder returned {encoded.shape[0]} rows for "
            f"{len(inputs)} inputs"
        )
    finite(encoded)
    return np.array(to_numpy(encoded.array), dtype=np.float64)
