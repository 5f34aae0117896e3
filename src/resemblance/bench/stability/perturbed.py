"""Perturb the weights of a trained model as deployment does: noise, rounding, adapters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from resemblance.base.rng import generator

from ..training.loop import WeightsByName

# Statistics of the inputs, not learned parameters.
RUNNING_STATISTICS = ("running_mean", "running_var")


def add_weight_noise(
    state: WeightsByName, alpha: float, seed: int, *labels: str | int
) -> WeightsByName:
    r"""Return weights (by name) with Gaussian noise in every parameter of more than one number.

    .. math:: \theta + \mathcal{N}(0, (\alpha \operatorname{std} \theta)^2)

    with the standard deviation of the numbers of each parameter (n - 1 in the denominator). At α =
    0 the weights are unchanged. The random generator depends on ``seed``, ``labels``, the name of
    the parameter and α.

    Reference: Raju 2026, Section 10.
    """

    def change(name: str, value: np.ndarray) -> np.ndarray:
        noise = generator(seed, *labels, name, repr(float(alpha))).standard_normal(value.shape)
        return value + alpha * value.std(ddof=1, dtype=np.float64) * noise

    return _change_parameters(state, change)


def quantize_weights(state: WeightsByName, bits: int) -> WeightsByName:
    r"""Return weights (by name) rounded to ``bits`` bits.

    Every parameter of more than one number has its own scale.

    .. math:: s \operatorname{round}(\theta / s), \qquad s = \frac{\max |\theta|}{2^{b - 1} - 1}

    The rounding is symmetric and per tensor; 8 bits are INT8. The error is at most s / 2, apart
    from the rounding of the floating-point format. Raises ``ValueError`` for less than 2 bits.

    Reference: Raju 2026, Section 10. The paper rounds with bitsandbytes (vectors of INT8, blocks of
    NF4).
    """
    if bits < 2:
        raise ValueError(
            f"quantize_weights: bits must be at least 2, one of which is the sign; got {bits}"
        )

    def change(name: str, value: np.ndarray) -> np.ndarray:
        weights = value.astype(np.float64)
        step = np.abs(weights).max() / (2 ** (bits - 1) - 1)
        return np.round(weights / step) * step if step else weights

    return _change_parameters(state, change)


def add_low_rank_adapters(
    state: WeightsByName, rank: int, scale: float, seed: int, *labels: str | int
) -> WeightsByName:
    r"""Return weights (by name) with a random adapter of low rank (LoRA) on every matrix and
    convolution.

    .. math:: W + \frac{\alpha}{r} B A, \qquad A \sim \mathcal{N}(0, 2 / d_\text{in}), \quad
        B \sim \mathcal{N}(0, s^2), \quad \alpha = 2 r

    r is ``rank``, s is ``scale``. W is (d_out, d_in); a convolution is flattened, with channels and
    input positions side by side. A is (r, d_in), B is (d_out, r). The added matrix has rank r, or
    the smaller side of W if that is less. Embeddings keep their weights. ``seed``, ``labels``: of
    the random generator. Raises ``ValueError`` for a rank below 1.

    Reference: Raju 2026, Section 10, with the initialisation of its code; the paper places adapters
    on some matrices only.
    """
    if rank < 1:
        raise ValueError(f"add_low_rank_adapters: rank must be at least 1; got {rank}")

    def change(name: str, value: np.ndarray) -> np.ndarray:
        draw = generator(seed, *labels, name, rank, repr(float(scale)))
        width = math.prod(value.shape[1:])
        down = draw.standard_normal((rank, width)) * math.sqrt(2 / width)
        up = draw.standard_normal((len(value), rank)) * scale
        return value + (2 * up @ down).reshape(value.shape)

    return _change_parameters(state, change, _is_matrix)


def shuffle_weights(state: WeightsByName, seed: int, *labels: str | int) -> WeightsByName:
    """Return weights (by name) with the numbers of every parameter in random order. ``seed``,
    ``labels``: of the random generator.

    Shuffled weights keep their size but carry no information about the task.
    """

    def change(name: str, value: np.ndarray) -> np.ndarray:
        return generator(seed, *labels, name).permutation(value.ravel()).reshape(value.shape)

    return _change_parameters(state, change)


def _change_parameters(
    state: WeightsByName,
    change: Callable[[str, np.ndarray], np.ndarray],
    is_chosen: Callable[[str, np.ndarray], bool] = lambda name, value: value.size > 1,
) -> WeightsByName:
    """Return weights (by name) with the chosen parameters changed, by default all parameters of
    more than one number; every parameter keeps its precision.

    ``change``: maps the name and the value of a parameter to the new value. ``is_chosen``: whether
    to change a parameter. Running statistics and integers never change.
    """
    changed = dict(state)
    for name, value in state.items():
        is_parameter = value.dtype.kind == "f" and not name.endswith(RUNNING_STATISTICS)
        if is_parameter and is_chosen(name, value):
            changed[name] = change(name, value).astype(value.dtype)
    return changed


def _is_matrix(name: str, value: np.ndarray) -> bool:
    return value.ndim > 1 and name.endswith("weight") and "embed" not in name
