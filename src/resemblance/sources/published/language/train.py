"""Fine-tuning of language models on SST-2 and MNLI, and their representations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....extras import need
from ....rng import generator
from ....subject import Extraction, Recipe
from ..devices import device_of, training_on
from ..resources import Resources
from .corruptions import corrupted, shown
from .data import TextTask, read
from .hidden import hidden_states
from .learning import learn
from .lessons import lesson_of
from .models import network

VERSION = 1
State = Mapping[str, np.ndarray]  # the weights that training changed, by name

_LOWEST = {"sst2": 0.558, "mnli": 0.354}  # the rate of shortcuts in the compared sentences
_COMMON: dict[str, Any] = {
    "strict": True,
    "train": None,
    "tokens": 64,
    "longest": 128,
    "new_classes": 5,
    "drawn": {"labels": "once", "shortcut": "once", "augmentation": "once"},
    "synonyms": False,
    "frozen": 0,
    "order": "similar-lengths",
    "steps": None,
    "epochs": 2,
    "batch": 32,
    "decay": 0.0,
    "warmup": 0.1,
    "clip": 1.0,
    "accumulate": 1,
    "evaluate": None,
}
_SMALL_BERT = {"vocabulary": 8000, "layers": 4, "width": 64, "inner": 256, "heads": 4}
_SMALL_BERT |= {"init": 0.07, "dropout": 0.1}
_BY_NAME: Mapping[str, dict[str, Any]] = {
    "minilm": {"frozen": 4, "train": 8000, "rate": 2e-4},
    "bert-small": {**_SMALL_BERT, "train": 20000, "rate": 2e-3},
}
_REDUCED: dict[str, Any] = {"strict": False, "train": 200, "tokens": 16, "longest": 32}
_REDUCED |= {"epochs": 1, "batch": 16, "synonyms": False, "evaluate": None}
_REDUCED_BERT = {"vocabulary": 200, "layers": 2, "width": 16, "inner": 32, "heads": 2}


def options(dataset: str, architecture: str, hyperparameters: str, reduced: bool) -> dict[str, Any]:
    """Return all hyperparameters of an architecture on a data set.

    ``strict``: whether data and weights must have the original sizes. ``train``: the number of
    training sentences, drawn once for all models; None for all. ``tokens``, ``longest``: the most
    tokens of a text in training and in extraction. ``new_classes``: those of random labels.
    ``drawn``: whether the corruption of a setting is drawn "once" for all its models or "by-model".
    ``synonyms``: whether augmentation uses WordNet. ``frozen``: how many of the first layers are
    not trained. ``order``: see :func:`.learning.batches`. ``steps``: the number of steps, None for
    that of the epochs. ``shown``: the rate of shortcuts in the sentences that are compared.
    """
    result = {**_COMMON, **_BY_NAME[architecture], "shown": _LOWEST[dataset]}
    if reduced:
        result |= _REDUCED | {"frozen": min(1, result["frozen"])}
        result |= _REDUCED_BERT if architecture == "bert-small" else {}
    return result


def fit(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Fine-tune the model of a recipe and return the weights that training changed, by name.

    - ``"normal"``: the data as they are.
    - ``"labels"``: a share ``strength`` of the examples get one of five new classes.
    - ``"shortcut"``: each example starts with a token for a class, the true one with probability
      ``strength``.
    - ``"augmentation"``: each example underwent one operation of EDA, on a share ``strength`` of
      its words.

    Head, order and dropout depend on the name of the model; for what was drawn of the data see
    ``drawn`` in :func:`options`. MiniLM and BERT-small are not in the paper: they are for computers
    without an accelerator. MiniLM has pretrained weights, of which the upper two of six layers are
    trained; what the others return is computed once, in the folder of the checkpoints. BERT-small
    starts from random weights, with the words of its training sentences.

    Raises ``ValueError`` for data or weights that are missing or of another kind.
    """
    device = device_of(resources)
    task = _task(recipe, resources)
    parts = (
        corrupted(recipe, task.train, "train", task.classes, None),
        corrupted(recipe, task.validation, "validation", task.classes, None),
    )
    with training_on(device, recipe.seed, "published", recipe.name):
        model, encode = network(recipe, task, resources)
        lesson = lesson_of(recipe, model.to(device), encode, parts, resources, device)
        return learn(recipe, model, lesson, resources, device)


def extract(recipe: Recipe, state: State, resources: Resources) -> Extraction:
    """Return the outputs of a fine-tuned model and of its layers for the validation examples.

    Those of models with shortcuts have one each, as :func:`.corruptions.shown` draws them. Layers
    and poolings: see :func:`.hidden.hidden_states`.
    """
    device = device_of(resources)
    task = _task(recipe, resources)
    examples = shown(recipe, task.validation, task.classes)
    with training_on(device, 0, "published", "extract"):
        model, encode = network(recipe, task, resources)
        model = _with_weights(model, state, recipe).to(device).eval()
        tokens = encode(examples, recipe.options["longest"])
        states = hidden_states(model, tokens, ("cls", "mean"), device)
    right = states.outputs.argmax(axis=1) == examples.labels
    return Extraction(states.layers, states.outputs, examples.labels, {"test": float(right.mean())})


def _task(recipe: Recipe, resources: Resources) -> TextTask:
    """Return the data of a recipe, with as many training examples as it asks for."""
    options = recipe.options
    task = read(recipe.dataset, resources.data, resources.download, options["strict"])
    count, size = options["train"], len(task.train.labels)
    if count is None or count >= size:
        return task
    random = generator(0, "published", recipe.dataset, "training examples")
    return task._replace(train=task.train.take(np.sort(random.permutation(size)[:count])))


def _with_weights(model: Any, state: State, recipe: Recipe) -> Any:
    """Put the weights that training changed into a model, and return it."""
    torch, weights = need("torch"), dict(model.named_parameters())
    for name, value in state.items():
        if name not in weights or tuple(weights[name].shape) != np.shape(value):
            raise ValueError(f"{recipe.name}: the saved weights {name!r} do not fit its network")
        with torch.no_grad():
            weights[name].copy_(torch.from_numpy(np.array(value)))
    return model
