"""Small models for the ReSi suite, one of them constant, and a measure of a user."""

from __future__ import annotations

from functools import cache

import numpy as np

import resemblance as rs
from resemblance.bench.resi import Evaluation, assess
from resemblance.data.model_features import ModelFeatures

SAYS = {"larger_is_more_similar": False, "symmetric": True, "citation": "none"}


@rs.measure(label="Mine", family="descriptive", range=(0, np.inf), **SAYS)
def mine(x, y):
    """Difference of the norms."""
    return abs(float(np.linalg.norm(x.array)) - float(np.linalg.norm(y.array)))


MEASURES = [rs.get_measure("cka"), rs.get_measure("procrustes"), mine]


def models(
    domain, architecture, pooling, settings, *, dead=None, name="{setting}-{strength:g}/seed{seed}"
):
    """Small models: ``settings`` is a list of (setting, strength, how many)."""
    g = np.random.default_rng(len(domain + architecture + pooling))
    base, found = g.normal(size=(20, 4)), []
    for setting, strength, count in settings:
        shift = 3 * strength * g.normal(size=base.shape)
        for seed in range(count):
            last = (
                np.ones_like(base)
                if (setting, seed) == dead
                else base + shift + 0.3 * g.normal(size=base.shape)
            )
            layers = {f"l{k}": base + k * g.normal(size=base.shape) for k in (3, 2, 1)} | {
                "last": last
            }
            traits = {
                "domain": domain, "dataset": "toy", "architecture": architecture,
                "pooling": pooling,
                "setting": setting, "strength": strength, "seed": seed,
                "accuracy": 0.9 - 0.3 * strength - 0.01 * seed,
            }  # fmt: skip
            traits["accuracies"] = {"test": traits["accuracy"]}
            title = f"{domain}/toy/{architecture}/" + name.format(**traits)
            layers = {k: rs.Representation(v, f"{title}/{k}") for k, v in layers.items()}
            found.append(
                ModelFeatures(title, layers, last[:, :3] + 0.1 * g.normal(size=(20, 3)), traits)
            )
    return found


@cache
def small_evaluation() -> Evaluation:
    """Two domains, two poolings, a failure, absent tests, a measure of the user."""
    settings = [("normal", 0.0, 4), ("labels", 0.5, 3), ("labels", 1.0, 3)]
    model_features = models("graphs", "sage", "node", settings, dead=("normal", 1))
    for pooling in ("cls", "mean"):
        model_features += models("language", "bert", pooling, [("normal", 0.0, 4)])
    return assess(model_features, measures=MEASURES)
