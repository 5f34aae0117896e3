"""Synthetic models without a network, for which the right answer of a similarity measure is
known."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from resemblance.base.rng import generator
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import Representation
from resemblance.models.recipe import model_name

LOGIT_STD = 3.0  # standard deviation of the logits


def tight_groups(
    *,
    groups: int = 3,
    members: int = 5,
    samples: int = 60,
    features: int = 8,
    noise: float = 0.01,
    setting: str = "labels",
    seed: int = 0,
) -> tuple[ModelFeatures, ...]:
    """Return ``groups * members`` models, nearly equal within a group and dissimilar across groups.

    Every group has a prototype, an array (``samples``, ``features``) of independent normal numbers.
    The members of a group are the prototype plus independent noise, ``noise`` times as large. Any
    sensible measure finds all pairs within a group more similar than any other pair: conformity 1
    and AUPRC 1. The groups also differ in spread and in the length of the mean, so most measures
    that compare a single number per representation reach the same scores.

    ``setting``: "labels" or "augmentation", where the first group is the normal models, or
    "shortcut". Strengths go from 0 to 1 in equal steps; accuracies are invented and fall with the
    strength, so that no group is left out.
    """
    model_features = []
    for g in range(groups):
        spread, shift = 0.2 * 1.5**g, (1 + g) / np.sqrt(features)
        prototype = (
            _standard_normal(samples, features, seed, "tight_groups", "prototype", g) + shift
        )
        for m in range(members):
            change = _standard_normal(samples, features, seed, "tight_groups", "member", g, m)
            traits = _synthetic_traits("tight_groups", setting, g / (groups - 1), m)
            model_features.append(
                _synthetic_model(traits, {"last": spread * (prototype + noise * change)})
            )
    return tuple(model_features)


def independent_noise(
    *,
    groups: int = 3,
    members: int = 5,
    samples: int = 60,
    features: int = 8,
    setting: str = "labels",
    seed: int = 0,
) -> tuple[ModelFeatures, ...]:
    """Return ``groups * members`` models of independent normal numbers; the groups have no meaning.

    All measures are at chance: conformity is about 1/2, and AUPRC about the share of pairs within a
    group. Settings, strengths and accuracies are as in :func:`tight_groups`.
    """
    model_features = []
    for g, m in product(range(groups), range(members)):
        traits = _synthetic_traits("independent_noise", setting, g / (groups - 1), m)
        rows = _standard_normal(samples, features, seed, "independent_noise", g, m)
        model_features.append(_synthetic_model(traits, {"last": rows}))
    return tuple(model_features)


def noise_walk(
    *,
    models: int = 1,
    layers: int = 6,
    samples: int = 100,
    features: int = 10,
    keep: float = 0.8,
    seed: int = 0,
) -> tuple[ModelFeatures, ...]:
    r"""Return models (by default one) in which every layer is the previous layer plus new noise.

    .. math:: X_{l+1} = \kappa X_l + \sqrt{1 - \kappa^2}\, E_l, \qquad
        X_0, E_l \sim \mathcal{N}(0, 1)

    with :math:`\kappa` = ``keep``. All layers have the same distribution, and two layers correlate
    by :math:`\kappa^{|l - m|}`, so any sensible measure falls with the distance of the layers at
    every depth. Measures that compare a single number per representation find no order.

    Layers are (``samples``, ``features``), named "layer0" and so on; the setting is "layers".
    """
    model_features = []
    for m in range(models):
        draws = [
            _standard_normal(samples, features, seed, "noise_walk", m, k) for k in range(layers)
        ]
        rows = draws[:1]
        for noise in draws[1:]:
            rows.append(keep * rows[-1] + np.sqrt(1 - keep**2) * noise)
        arrays = {f"layer{k}": values for k, values in enumerate(rows)}
        model_features.append(
            _synthetic_model(_synthetic_traits("noise_walk", "layers", 0.0, m), arrays)
        )
    return tuple(model_features)


def graded_outputs(
    *, models: int = 10, samples: int = 100, features: int = 10, classes: int = 4, seed: int = 0
) -> tuple[ModelFeatures, ...]:
    r"""Return models whose representations and outputs depend on the same hidden number.

    .. math:: X_t = \cos(\pi t / 2)\, A + \sin(\pi t / 2)\, B, \qquad Y_t = X_t W

    with normal numbers in A and B, (``samples``, ``features``), and W, (``features``, ``classes``),
    and ``models`` values of t from 0 to 1 with unequal steps (the trait "hidden"). The
    representations of two models correlate by :math:`\cos(\pi (t - s) / 2)`, and so do the logits
    Y, so differences in representations and in outputs grow with the distance of t. The difference
    of accuracies grows too, because the prediction of the first model is the true class: Spearman's
    correlation is near 1 in the tests of outputs and of accuracies.

    The setting is "normal".
    """
    start = _standard_normal(samples, features, seed, "graded_outputs", "start")
    end = _standard_normal(samples, features, seed, "graded_outputs", "end")
    weights = _standard_normal(features, classes, seed, "graded_outputs", "readout")
    readout = weights * LOGIT_STD / np.sqrt(features)
    steps = generator(seed, "graded_outputs", "steps").uniform(0.5, 1.5, models - 1)
    hidden = np.concatenate([[0.0], steps.cumsum() / steps.sum()])
    truth = (start @ readout).argmax(axis=1)
    model_features = []
    for m, t in enumerate(hidden):
        rows = np.cos(np.pi / 2 * t) * start + np.sin(np.pi / 2 * t) * end
        logits = rows @ readout
        traits = _synthetic_traits("graded_outputs", "normal", 0.0, m)
        traits |= {"accuracy": float((logits.argmax(axis=1) == truth).mean()), "hidden": float(t)}
        model_features.append(_synthetic_model(traits, {"last": rows}, logits))
    return tuple(model_features)


def _standard_normal(rows: int, columns: int, seed: int, *labels: str | int) -> np.ndarray:
    return generator(seed, "synthetic", *labels).standard_normal((rows, columns))


def _synthetic_traits(dataset: str, setting: str, strength: float, seed: int) -> dict[str, Any]:
    """Return the traits of a model; strength 0 of a setting that is compared with normal models
    gives the setting "normal"."""
    is_normal = strength == 0 and setting in ("labels", "augmentation")
    return {
        "domain": "synthetic",
        "dataset": dataset,
        "architecture": "gaussian",
        "pooling": "none",
        "setting": "normal" if is_normal else setting,
        "strength": strength,
        "seed": seed,
        "accuracy": 0.95 - 0.6 * strength - 0.001 * seed,
    }


def _synthetic_model(
    traits: Mapping[str, Any], layers: Mapping[str, np.ndarray], outputs: np.ndarray | None = None
) -> ModelFeatures:
    name = model_name(traits)
    representations = {layer: Representation(x, f"{name}/{layer}") for layer, x in layers.items()}
    return ModelFeatures(name, representations, outputs, traits)
