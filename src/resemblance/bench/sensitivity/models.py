"""The models of the benchmarks of Ding, Denain and Steinhardt (2021): training plans by size,
families of models, and functionalities."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.text import check_choice
from resemblance.data.model_features import ModelFeatures
from resemblance.data.representation import fingerprint
from resemblance.models.recipe import Recipe

from ..study_models import ModelFamily
from ..training import DOMAINS, check_domains, domain_module

# The accuracy on inputs of the task, and the mean over all shifts, do not count as functionalities.
EXCLUDED_ACCURACIES = ("test", "shift")


class SensitivitySize(NamedTuple):
    """The numbers of models of a domain, and the amount of computation.

    ``seeds``: number of normal models. ``finetunings``: number of fine-tuned models of the first
    pretrained model. ``grid``: number of pretrained models, and of fine-tuned models per pretrained
    model, with common seeds. ``samples``: number of inputs for comparisons (probes use all inputs).
    ``layers``: number of last layers with deleted components. ``splits``: divisions of the samples
    per probe. ``n_resamples``: bootstrap samples. ``permutations``: of the permutation tests.
    ``slow``: the largest number of samples for a slow measure.
    """

    seeds: int
    finetunings: int
    grid: tuple[int, int]
    samples: int
    layers: int
    splits: int
    n_resamples: int = 2000
    permutations: int = 1999
    slow: int = 150


SIZES: Mapping[str, SensitivitySize] = {
    "small": SensitivitySize(
        2, 3, (2, 2), 120, layers=1, splits=1, n_resamples=200, permutations=199, slow=100
    ),
    "default": SensitivitySize(5, 20, (4, 5), 200, layers=2, splits=3),
    "paper": SensitivitySize(
        10, 100, (10, 10), 1000, layers=5, splits=3, permutations=9999, slow=500
    ),
}


def sensitivity_recipes(size: str, domains: Sequence[str] = tuple(DOMAINS)) -> tuple[Recipe, ...]:
    """Return the recipe of every model that the four benchmarks need, domain by domain.

    ``size``: ``"small"`` for trials, ``"default"``, or ``"paper"``, with the numbers of models in
    the paper; ``"paper"`` includes the recipes of ``"default"``. Every domain has:

    - ``"normal"`` models, one per seed, with many layers, for benchmarks 1 (seeds and layers) and 2
      (seeds and deleted principal components). At the default size, vision has 13 layers, language
      8 or 9 depending on pooling, and graphs 8.
    - ``"pretrained"`` models, trained to classify one half of the classes; fine-tuned models start
      from the pretrained models.
    - ``"finetuned"`` models, trained on a few examples of the other half. ``pretrain`` is the seed
      of the pretrained model. ``seed`` is the seed of the fine-tuning, which draws first the
      examples, then head and order. Models with ``pretrain`` 0 serve benchmark 3, and the grid
      ``SIZES[size].grid`` of both seeds serves benchmark 4.

    All models of the same domain and setting represent the same inputs, in distribution, with the
    true classes in ``ModelFeatures.labels``. ``ModelFeatures.traits["accuracies"]`` of fine-tuned
    models has all shifts by name: see :func:`resemblance.bench.training.packaged.extract`.

    Raises ``ValueError`` for an unknown size or domain.
    """
    check_choice("size", size, SIZES)
    check_domains(domains)
    return tuple(
        chain.from_iterable(_recipes_of_domain(size, domain) for domain in dict.fromkeys(domains))
    )


def _recipes_of_domain(size: str, domain: str) -> Iterator[Recipe]:
    seeds, finetunings, (pretrainings, n_finetunings) = SIZES[size][:3]
    info, scale = DOMAINS[domain], "small" if size == "small" else "default"
    key = (domain, info.dataset, info.chosen)
    trainer = domain_module(domain)
    for seed in range(seeds):
        yield Recipe(*key, "normal", 0.0, seed, trainer.DEEP[scale], trainer.VERSION)
    options, version = trainer.TRANSFER[scale], trainer.TRANSFER_VERSION
    for p in range(pretrainings):
        recipe = Recipe(*key, "finetuned", 0.0, 0, options, version, p)
        assert recipe.parent is not None
        yield recipe.parent
        yield from (
            recipe._replace(seed=seed)
            for seed in range(max(n_finetunings, finetunings if p == 0 else 0))
        )


# ----------------------------------------------------------------------------------------- families


def models_by_family(
    model_features: Iterable[ModelFeatures],
) -> dict[ModelFamily, list[ModelFeatures]]:
    """Group models by family, with the first pooling only, since further poolings belong to the
    same models."""
    members = defaultdict[ModelFamily, list[ModelFeatures]](list)
    first_poolings: dict[str, str] = {}
    for s in model_features:
        family = ModelFamily(*(s.traits[name] for name in ModelFamily._fields))
        if first_poolings.setdefault("/".join(family[:3]), family.pooling) == family.pooling:
            members[family].append(s)
    return dict(members)


def probed_model_key(features: ModelFeatures, *extra: object) -> str:
    """Return a hash, 24 hexadecimal digits, that identifies a probed model and the probe settings:
    layers, labels and ``extra``, which must be JSON-serialisable."""
    labels = [] if features.labels is None else features.labels.tolist()
    layers = {name: fingerprint(r) for name, r in features.layers.items()}
    content = json.dumps([labels, layers, *extra], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def drop_settings_with_nan(
    model_features: Sequence[ModelFeatures], setting: str
) -> tuple[tuple[ModelFeatures, ...], dict[str, str]]:
    """Drop the models of the setting ``setting`` with NaN or infinite values; return two values:
    the remaining models, of all settings, and the reasons by name of a dropped model."""
    reasons = {}
    for s in (s for s in model_features if s.traits["setting"] == setting):
        layers = [name for name, r in s.layers.items() if not np.isfinite(r.source).all()]
        if layers:
            reasons[s.name] = f"left out: {', '.join(layers)} holds NaN or infinity"
    return tuple(s for s in model_features if s.name not in reasons), reasons


def have_same_layers(model_features: Sequence[ModelFeatures]) -> bool:
    """Return whether all models have layers of the same names in the same order."""
    return len({tuple(s.layers) for s in model_features}) == 1


# ------------------------------------------------------------------------- accuracy on other inputs


def functionalities(model_features: Sequence[ModelFeatures]) -> dict[str, np.ndarray]:
    """Return the out-of-distribution accuracies that all models have, (models,), by kind ("fog"),
    averaged over severities ("fog/1", "fog/2")."""
    accuracies = _shifted_accuracies(model_features)
    return {
        kind: np.array([np.mean([values[name] for name in names]) for values in accuracies])
        for kind, names in _common_accuracy_kinds(accuracies).items()
    }


def right_answers(model_features: Sequence[ModelFeatures]) -> dict[str, np.ndarray]:
    """Return the correctness of every model for every input, (models, inputs), by kind of
    out-of-distribution accuracy.

    Values are averaged over severities. Only kinds for which all models stored their answers are
    returned.
    """
    by_model = [s.traits.get("right") or {} for s in model_features]
    right = {}
    for kind, names in _common_accuracy_kinds(by_model).items():
        answers = [[parse_bits(entry[name]) for name in names] for entry in by_model]
        if len({len(bits) for entry in answers for bits in entry}) == 1:
            right[kind] = np.array(answers, float).mean(axis=1)
    return right


def parse_bits(text: Any) -> np.ndarray:
    """Parse "0110" into the array 0, 1, 1, 0; ``ValueError`` for any other text."""
    if not isinstance(text, str) or set(text) - {"0", "1"}:
        raise ValueError(
            "right in traits.json must have words of 0 and 1, a sign for each input; got "
            f"{text!r:.40}"
        )
    return np.frombuffer(text.encode("ascii"), np.uint8) - ord("0")


def missing_accuracies(model_features: Sequence[ModelFeatures]) -> dict[str, str]:
    """Return, by name, why an out-of-distribution accuracy is left out: only some of the models
    have the accuracy."""
    accuracies = _shifted_accuracies(model_features)
    reasons = {}
    for name in dict.fromkeys(chain.from_iterable(accuracies)):
        names = [s.name for s, values in zip(model_features, accuracies) if name not in values]
        if names:
            reasons[name] = (
                f"left out: {len(names)} of {len(model_features)} models have no accuracy "
                f"there, such as {names[0]}"
            )
    return reasons


def _shifted_accuracies(model_features: Sequence[ModelFeatures]) -> list[dict[str, float]]:
    """Return the out-of-distribution accuracies of every model, a share by name, without
    ``EXCLUDED_ACCURACIES``; {} for a model without accuracies."""
    results = [dict(s.traits.get("accuracies") or {}) for s in model_features]
    for accuracies in results:
        for name in EXCLUDED_ACCURACIES:
            accuracies.pop(name, None)
    return results


def _common_accuracy_kinds(models: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Return the names that all models have, grouped by kind: the word before the slash in "fog/1".
    ``models``: of every model, a mapping with the names as keys."""
    kinds = defaultdict[str, list[str]](list)
    for name in models[0]:
        if all(name in entry for entry in models):
            kinds[name.partition("/")[0]].append(name)
    return dict(kinds)
