"""Training and evaluation of the small models on data of the package, for all domains.

A domain is a module ``packaged`` with the tables ``OPTIONS`` (by size and architecture), ``DEEP``
(models with many layers, by size), ``TRANSFER`` (fine-tuned models, by size), ``VERSION`` and
``TRANSFER_VERSION``, and the functions ::

    check(recipe)                      raise ValueError for an invalid recipe
    build(recipe)                      return an untrained model
    learn(model, recipe)               train the model
    inputs_of(recipe)                  return the evaluation inputs and labels, by accuracy name
    run(model, recipe, inputs)         return the layers by pooling, and the logits
    head_of(recipe)                    return the prefix of the weight names of the last layer
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.base.text import check_choice
from resemblance.models.recipe import TRANSFER_SETTINGS, ModelOutputs, Recipe

from . import DOMAINS, domain_module
from .loop import WeightsByName, accuracy, load_state, seeded_torch, weights_as_arrays

# Options that pretrained models do not have
FINETUNING_OPTION_NAMES = frozenset({"shots", "pretraining"})


def fit(recipe: Recipe, start: WeightsByName | None = None) -> WeightsByName:
    """Train the model of a recipe and return the weights by name.

    Initial weights, sample order, corruption and augmentation depend on the full name of the model,
    so two models share nothing but the task. ``learn`` of the domain documents the settings. Two
    settings are for transfer:

    - ``"pretrained"``: a model with random weights learns the later classes of the data.
    - ``"finetuned"``: the model starts from ``start``, the weights of ``recipe.parent`` by name,
      gets a new last layer and learns the first classes, from ``shots`` examples per class; all
      weights are trained. The examples, the initial last layer and the sample order depend on
      ``recipe.seed`` alone, so models with the same seed share all three, whatever the
      pretraining.

    Raises ``ValueError`` for an invalid recipe, for options that are missing or do not fit the
    data, and if ``start`` is missing or belongs to another network.
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
    """Return the outputs of a trained model and of the model's layers for the test inputs.
    ``state``: the weights, arrays by name.

    All models of a setting have the same test inputs in the same order, and so do all fine-tuned
    models; the test inputs of a pretrained model belong to the pretraining classes. See ``run`` of
    the domain for layers and poolings. ``accuracies``: ``"test"`` on the test inputs, and one
    accuracy per further entry of ``inputs_of``. The further accuracies of a fine-tuned model are
    named by shift and severity (``"rotation/3"``); ``"<shift>"`` is the mean over the severities of
    a shift, and ``"shift"`` the mean over all shifts. For the shifted inputs, a fine-tuned model
    also stores which inputs are classified correctly.

    Raises ``ValueError`` for an invalid recipe, and for weights of another network.
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
    """Load the pretrained weights ``start`` into every layer of a new model, in place, except the
    head.

    ``head``: the prefix of the names of the head's weights. The head keeps random weights. Raises
    ``ValueError`` if ``start`` is missing or has other shapes.
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
    """Return the ``accuracies``, with names such as "rotation/3", and their means: for every shift
    over the severities ("rotation"), and as ``"shift"`` over all shifts. "test" belongs to no
    mean."""
    families: dict[str, list[float]] = {}
    for name, value in accuracies.items():
        if name != "test":
            families.setdefault(name.partition("/")[0], []).append(value)
    means = {name: float(np.mean(values)) for name, values in families.items()}
    return {**accuracies, **means, "shift": float(np.mean(list(means.values())))}


def check_recipe(
    recipe: Recipe,
    options: Collection[str],
    classes: int,
    architectures: Collection[str] | None = None,
) -> None:
    """Raise ``ValueError`` unless the domain has the data set, the architecture and the setting of
    a recipe, the strength is between 0 and 1, and the recipe has at least the given ``options``.
    For a fine-tuned model, check the parent too.

    ``classes``: the number of classes that a transfer recipe must have. ``architectures``: by
    default all architectures of the domain.
    """
    domain = DOMAINS[recipe.domain]
    settings = [s for s in ("normal", "layers", *domain.strengths) if domain.only.get(s) != ()]
    choices: dict[str, Collection[str]] = {
        "dataset": (domain.dataset,),
        "architecture": architectures or domain.architectures,
        "setting": (*settings, *TRANSFER_SETTINGS),
    }
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
        check_recipe(recipe.parent, options, classes, architectures)


def training_example_positions(recipe: Recipe, labels: np.ndarray) -> np.ndarray:
    """Return the indices of the training examples of a recipe among n examples: all indices, or for
    fine-tuning ``shots`` examples per class, drawn without replacement, class by class. ``labels``:
    the classes of the examples, (n,).

    Raises ``ValueError`` when a class has fewer than ``shots`` examples.
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
