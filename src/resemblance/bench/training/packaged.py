"""Small models of all domains on data of the package: how one is trained, and what is seen of it.

A domain is a module ``packaged`` with the tables ``OPTIONS`` (by size and architecture), ``DEEP``
(of models with many layers, by size), ``TRANSFER`` (of fine-tuned models, by size), ``VERSION`` and
``TRANSFER_VERSION``, and the functions ::

    check(recipe)                      raises ValueError for a recipe that cannot be
    build(recipe)                      a new model
    learn(model, recipe)               trains it
    inputs_of(recipe)                  by accuracy, the inputs that it is measured on, and labels
    run(model, recipe, inputs)         layers by pooling, and logits
    head_of(recipe)                    how the names of the weights of its last layer start
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.recipe import TRANSFER_SETTINGS, ModelOutputs, Recipe

from . import domain_module
from .loop import WeightsByName, accuracy, load_state, seeded_torch, weights_as_arrays

FINETUNING_OPTION_NAMES = frozenset(
    {"shots", "pretraining"}
)  # options that pretrained models do not have


def fit(recipe: Recipe, start: WeightsByName | None = None) -> WeightsByName:
    """Train the model of a recipe and return its weights by name.

    Initial weights, order, corruption and augmentation depend on the whole name of the model, so
    that two models share nothing but the task. What a setting does is written at ``learn`` of the
    domain. Two settings are those of transfer:

    - ``"pretrained"``: random weights learn to tell the later classes of the data apart.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, gets a new last layer and learns
      the first classes, from ``shots`` examples of each; all weights are trained. The examples, the
      initial last layer and the order depend on ``recipe.seed`` alone, so models of one seed share
      them, whatever was pretrained.

    Raises ``ValueError`` for a recipe of another kind, for options that are missing or do not fit
    the data, and for a ``start`` that is missing or of another network.
    """
    domain, is_finetuned = domain_module(recipe.domain), recipe.setting == "finetuned"
    domain.check(recipe)
    names = ("finetuned", recipe.architecture) if is_finetuned else (recipe.name,)
    with seeded_torch(recipe.seed, recipe.domain, *names):
        model = domain.build(recipe)
        if is_finetuned:
            _load_pretrained_body(recipe, model, start, domain.head_of(recipe))
        domain.learn(model, recipe)
    return weights_as_arrays(model)


def extract(recipe: Recipe, state: WeightsByName) -> ModelOutputs:
    """Return the outputs of a trained model and of its layers for the test inputs.

    These are the same, in the same order, for all models of a setting, and for all fine-tuned ones;
    those of a pretrained model are of its own classes. Layers and poolings: see ``run`` of the
    domain. ``accuracies``: ``"test"`` on these inputs, and those on the other inputs of
    ``inputs_of``. Those of a fine-tuned model have a shift and its severity as name
    (``"rotation/3"``); ``"<shift>"`` is the mean over the severities of one, and ``"shift"`` that
    over all shifts. For these, a fine-tuned model also keeps which inputs it answers right.

    Raises ``ValueError`` as :func:`fit` does.
    """
    domain = domain_module(recipe.domain)
    domain.check(recipe)
    inputs, accuracies = domain.inputs_of(recipe), {}
    layers, outputs = dict[str, dict[str, np.ndarray]](), np.empty(0)
    right = dict[str, np.ndarray]()
    with seeded_torch(0, recipe.domain, "extract") as torch, torch.no_grad():
        model = load_state(domain.build(recipe), state, recipe.name)
        for name, (values, labels) in inputs.items():
            result = domain.run(model, recipe, values)
            accuracies[name] = accuracy(result[1], labels)
            if name == "test":
                layers, outputs = result
            elif recipe.setting == "finetuned":
                right[name] = result[1].argmax(axis=1) == labels
    if recipe.setting == "finetuned":
        accuracies = _add_mean_accuracies(accuracies)
    return ModelOutputs(layers, outputs, inputs["test"][1], accuracies, right=right)


def _load_pretrained_body(
    recipe: Recipe, model: Any, start: WeightsByName | None, head: str
) -> None:
    """Load pretrained weights into every layer of a new model except the head.

    ``head``: how the names of the head's weights start; these keep their random values.
    """
    if start is None:
        raise ValueError(f"{recipe.name}: fit needs start, the weights of {recipe.parent.name}")  # type: ignore[union-attr]
    torch, weights = import_optional("torch"), model.state_dict()
    body = {name: value for name, value in weights.items() if not name.startswith(head)}
    for name, value in body.items():
        if name not in start or np.shape(start[name]) != tuple(value.shape):
            description = f"the shape {np.shape(start[name])}" if name in start else "nothing"
            raise ValueError(
                f"{recipe.name}: start has {description} for {name}, which is {tuple(value.shape)}"
            )
    model.load_state_dict(
        weights | {name: torch.from_numpy(np.array(start[name])) for name in body}
    )


def _add_mean_accuracies(accuracies: Mapping[str, float]) -> dict[str, float]:
    """Return accuracies and their means: of each shift over its severities, and as ``"shift"`` of
    all of these."""
    families: dict[str, list[float]] = {}
    for name, value in accuracies.items():
        if name != "test":
            families.setdefault(name.partition("/")[0], []).append(value)
    means = {name: float(np.mean(values)) for name, values in families.items()}
    return {**accuracies, **means, "shift": float(np.mean(list(means.values())))}


def check_recipe(
    recipe: Recipe, choices: Mapping[str, Collection[str]], options: Collection[str], classes: int
) -> None:
    """Raise ``ValueError`` unless a recipe is of a known kind and has at least these options, and
    those of transfer so many ``classes``; for a fine-tuned model its parent, too."""
    for name, values in choices.items():
        check_choice(f"{recipe.domain}: {name}", getattr(recipe, name), values)
    if recipe.setting in TRANSFER_SETTINGS and recipe.strength != 0:
        raise ValueError(
            f"{recipe.domain}: {recipe.setting} models have strength 0; got {recipe.strength!r}"
        )
    if not 0 <= recipe.strength <= 1:
        raise ValueError(
            f"{recipe.domain}: strength must be between 0 and 1; got {recipe.strength!r}"
        )
    option_names = set(options) - (
        FINETUNING_OPTION_NAMES if recipe.setting == "pretrained" else set()
    )
    names = sorted(option_names - recipe.options.keys())
    if names:
        raise ValueError(
            f"{recipe.domain}: options for {recipe.architecture!r} lack {', '.join(names)}; "
            "start from OPTIONS"
        )
    if recipe.setting in TRANSFER_SETTINGS and recipe.options["classes"] != classes:
        raise ValueError(
            f"{recipe.domain}: classes must be {classes}; got {recipe.options['classes']!r}"
        )
    if recipe.parent is not None:
        check_recipe(recipe.parent, choices, options, classes)


def training_example_positions(recipe: Recipe, labels: np.ndarray) -> np.ndarray:
    """Return the places of the training examples of a recipe: all of them, or those of a
    fine-tuning, ``shots`` of every class, drawn without replacement, class by class.

    Raises ``ValueError`` when a class has fewer.
    """
    if recipe.setting != "finetuned":
        return np.arange(len(labels))
    shots, classes = recipe.options["shots"], recipe.options["classes"]
    random = generator(recipe.seed, recipe.domain, "finetuned", "examples")
    min_count = np.bincount(labels, minlength=classes).min()
    if not 0 < shots <= min_count:
        raise ValueError(
            f"{recipe.domain}: shots must be between 1 and {min_count}, the examples of the rarest "
            f"class; got {shots!r}"
        )
    return np.concatenate(
        [random.permutation(np.flatnonzero(labels == k))[:shots] for k in range(classes)]
    )
