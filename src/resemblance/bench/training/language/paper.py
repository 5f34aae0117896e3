"""Fine-tuning of language models on SST-2 and MNLI as in the ReSi paper, and their
representations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from resemblance.base.rng import generator
from resemblance.models.recipe import ModelOutputs, Recipe

from .. import check_training_options
from ..loop import (
    TrainingEnvironment,
    WeightsByName,
    accuracy,
    load_state,
    seeded_torch,
    training_device,
)
from .data import TextTask, corrupt_examples, load_needed_synonyms, read, validation_examples
from .networks import batches_by_length, hidden_states
from .objective import build_objective, train_unfrozen
from .pretrained import text_network

__all__ = ["VERSION", "extract", "fit", "options"]

VERSION = 1
TEXTS_PER_BATCH = 32  # texts per batch at extraction


def fit(recipe: Recipe, resources: TrainingEnvironment) -> dict[str, np.ndarray]:
    """Fine-tune the model of a recipe and return the trained weights by name.

    - ``"normal"``: the plain data.
    - ``"labels"``: a share ``strength`` of the examples get a random label among five new classes.
    - ``"shortcut"``: every example starts with a class token, for the true class with probability
      ``strength``; in a prompt, the instruction names the answer.
    - ``"augmentation"``: one operation of EDA changed a share ``strength`` of the words of every
      example.

    The validation examples, which select the weights with the lowest loss, are corrupted in the
    same way. Head, sample order and dropout depend on the name of the model; see ``drawn`` in
    :func:`options` for the draws of the data. BERT of seed i starts from the i-th MultiBERT, all
    ALBERT and SmolLM2 models from the same weights. Two architectures are not in the paper but suit
    computers without an accelerator. MiniLM has pretrained weights and trains the upper two of six
    layers; the outputs of the lower layers are computed once and stored in the folder of the
    checkpoints. BERT-small starts from random weights, with the words of the training sentences.

    Raises ``ValueError`` for data or weights that are missing or of another kind. References:
    Klabunde et al. (ICLR 2025), appendix B; Sellam et al. (MultiBERTs, ICLR 2022); Lan et al.
    (ALBERT, ICLR 2020); Ben Allal et al. (SmolLM2, 2025).
    """
    device = training_device(resources)
    task, synonyms = _text_task(recipe, resources), load_needed_synonyms(recipe, resources.data)
    parts = (
        corrupt_examples(recipe, task.train, "train", task.classes, synonyms),
        corrupt_examples(recipe, task.validation, "validation", task.classes, synonyms),
    )
    with seeded_torch(recipe.seed, "published", recipe.name, device=device):
        net = text_network(recipe, task, resources)
        net.model.to(device)
        objective = build_objective(recipe, net, parts, resources, device)
        return train_unfrozen(recipe, net.model, objective, resources)


def extract(recipe: Recipe, state: WeightsByName, resources: TrainingEnvironment) -> ModelOutputs:
    """Return the outputs of a fine-tuned model and of the model's layers for the validation
    examples. ``state``: the weights, arrays by name; without frozen layers.

    For models with shortcuts, every example has a shortcut; see :func:`.data.validation_examples`.
    Layers and poolings: see :func:`.hidden_states`; "cls" and "mean" for BERT and ALBERT, "last"
    for SmolLM2. The first token, and the last token of a prompt, are the same in all texts, so the
    "embedding" of these tokens is constant; the authors include the embedding too. The outputs of a
    language model are the logits of the answer tokens. ``accuracies["test"]`` uses the true
    classes, whatever labels the model learned.

    Batches contain texts of similar lengths. The authors pad one text at a time to 128 tokens and
    mask the padding, with the same result up to rounding.
    """
    device = training_device(resources)
    task = _text_task(recipe, resources)
    examples = validation_examples(recipe, task.validation, task.classes)
    with seeded_torch(0, "published", "extract", device=device):
        is_partly = bool(recipe.options["frozen"])
        net = text_network(recipe, task, resources, pretrained=is_partly)
        load_state(net.model, state, recipe.name, is_partly).to(device)
        tokens = net.encode(examples, recipe.options["longest"])
        poolings = ("cls", "mean") if net.answers is None else ("last",)
        batches = batches_by_length(tokens.lengths, TEXTS_PER_BATCH)
        layers, outputs = hidden_states(net.model, tokens, poolings, batches, device)
    outputs = outputs if net.answers is None else outputs[:, list(net.answers)]
    accuracies = {"test": accuracy(outputs, examples.labels)}
    return ModelOutputs(layers, outputs, examples.labels, accuracies)


def _text_task(recipe: Recipe, resources: TrainingEnvironment) -> TextTask:
    """Return the data of a recipe; if ``options["train"]`` is a number, with this number of
    training examples, drawn once for all models."""
    options = recipe.options
    task = read(recipe.dataset, resources.data, resources.download, options["strict"])
    count, size = options["train"], len(task.train.labels)
    if count is None or count >= size:
        return task
    random = generator(0, "published", recipe.dataset, "training examples")
    return task._replace(train=task.train.take(np.sort(random.permutation(size)[:count])))


# The rate of shortcuts in the compared sentences
LOWEST_SHORTCUT_RATES = {"sst2": 0.558, "mnli": 0.354}
_DRAWN_ONCE = {"labels": "once", "shortcut": "once", "augmentation": "once"}
_COMMON_TEXT_OPTIONS: dict[str, Any] = {
    "strict": True,
    "train": None,
    "tokens": 64,
    "longest": 128,
    "new_classes": 5,
    "drawn": _DRAWN_ONCE,
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
# The defaults of Hugging Face's Trainer
_TRAINER_OPTIONS: dict[str, Any] = {"order": "random", "rate": 5e-5, "synonyms": True}
_ENCODER_OPTIONS = {**_TRAINER_OPTIONS, "batch": 64, "evaluate": 1000}
_SMALL_BERT_OPTIONS: dict[str, Any] = {"vocabulary": 8000, "layers": 4, "width": 64, "inner": 256}
_SMALL_BERT_OPTIONS |= {"heads": 4, "init": 0.07, "dropout": 0.1}
_PROMPTED_OPTIONS = {"steps": 500, "batch": 16, "tokens": 512, "longest": 512, "targets": "text"}
_OPTIONS_BY_ARCHITECTURE: Mapping[str, dict[str, Any]] = {
    "bert": _ENCODER_OPTIONS,
    "albert": _ENCODER_OPTIONS,
    "smollm2": {**_TRAINER_OPTIONS, **_PROMPTED_OPTIONS},
    "minilm": {"frozen": 4, "train": 8000, "rate": 2e-4},
    "bert-small": {**_SMALL_BERT_OPTIONS, "train": 20000, "rate": 2e-3},
}
_EPOCHS_BY_SETTING = {
    "sst2": {"normal": 10, "labels": 10, "shortcut": 3, "augmentation": 10},
    "mnli": {"normal": 5, "labels": 10, "shortcut": 5, "augmentation": 10},
}
_MNLI_OPTIONS: Mapping[str, int] = {"tokens": 128}
_MNLI_BATCH_SIZES = {"normal": 128, "labels": 64, "shortcut": 64, "augmentation": 64}
_REDUCED_TEXT_OPTIONS: dict[str, Any] = {"strict": False, "train": 200, "tokens": 16, "longest": 32}
_REDUCED_TEXT_OPTIONS |= {"epochs": 1, "batch": 16, "synonyms": False, "evaluate": None}
_REDUCED_BERT = {"vocabulary": 200, "layers": 2, "width": 16, "inner": 32, "heads": 2}
_REDUCED_PROMPTED = {"steps": 10, "train": 64, "tokens": 64, "longest": 64}


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return all hyperparameters of an architecture on a data set.

    ``hyperparameters`` selects the authors' code or the paper where the two differ. A batch of the
    normal models on MNLI has 128 examples in the code, 64 in the paper. In the code, all models of
    a group share the shortcuts of seed 0; in the paper, the shortcuts vary with the seed. Neither
    code nor paper gives the epochs on MNLI with shortcuts; the epochs here equal the epochs of the
    normal models. For SmolLM2, code and paper give only steps and batch size; the rate is the
    default of Hugging Face's Trainer, and the loss covers all tokens.

    - ``strict``: whether data and weights must have the original sizes.
    - ``train``: the number of training examples, drawn once for all models; None for all.
    - ``tokens``, ``longest``: the largest number of tokens per text in training and in extraction.
    - ``new_classes``: the number of new classes for random labels. ``synonyms``: whether
      augmentation uses WordNet.
    - ``drawn``: whether the corruption of a setting is drawn "once" for all models or "by-model".
    - ``shown``: the rate of shortcuts in the compared sentences.
    - ``frozen``: the number of first layers that are not trained, together with the embeddings; 0
      to train all weights.
    - ``steps``: the number of steps; None for the steps of ``epochs``. ``batch``: texts per step.
      ``accumulate``, ``order``, ``evaluate``, ``clip``: see :func:`.train_unfrozen` and
      :func:`.text_batches`.
    - ``rate``, ``decay``: learning rate and weight decay of AdamW. ``warmup``: the share of steps
      with a rising rate.
    - ``targets``: the predicted tokens of prompts, see :func:`.objective.prompt_objective`.

    ``reduced``: one epoch (ten steps for SmolLM2) and few, short sentences. The pretrained models
    are the models in the folders, of any size; BERT-small is smaller.

    ``epochs`` and ``batch`` may be dictionaries, by setting.

    Raises ``ValueError`` for an unknown architecture, or unknown hyperparameters.
    """
    check_training_options(dataset, architecture, hyperparameters)
    result = {
        **_COMMON_TEXT_OPTIONS,
        **_OPTIONS_BY_ARCHITECTURE[architecture],
        "shown": LOWEST_SHORTCUT_RATES[dataset],
    }
    if architecture in ("bert", "albert"):
        result["epochs"] = _EPOCHS_BY_SETTING[dataset]
        result |= _MNLI_OPTIONS if dataset == "mnli" else {}
        if dataset == "mnli" and hyperparameters == "resi-code":
            result["batch"] = _MNLI_BATCH_SIZES
    if hyperparameters == "paper":
        result["drawn"] = {**_DRAWN_ONCE, "shortcut": "by-model"}
    if reduced:
        result |= _REDUCED_TEXT_OPTIONS | {"frozen": min(1, result["frozen"])}
        result |= {"bert-small": _REDUCED_BERT, "smollm2": _REDUCED_PROMPTED}.get(architecture, {})
    return result
