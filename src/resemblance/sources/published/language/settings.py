"""The hyperparameters of all language models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import check_options

LOWEST = {"sst2": 0.558, "mnli": 0.354}  # the rate of shortcuts in the compared sentences
_ONCE = {"labels": "once", "shortcut": "once", "augmentation": "once"}
_COMMON: dict[str, Any] = {
    "strict": True,
    "train": None,
    "tokens": 64,
    "longest": 128,
    "new_classes": 5,
    "drawn": _ONCE,
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
# what the Trainer of Hugging Face does
_TRAINER: dict[str, Any] = {"order": "random", "rate": 5e-5, "synonyms": True}
_ENCODERS = {**_TRAINER, "batch": 64, "evaluate": 1000}
_SMALL_BERT: dict[str, Any] = {"vocabulary": 8000, "layers": 4, "width": 64, "inner": 256}
_SMALL_BERT |= {"heads": 4, "init": 0.07, "dropout": 0.1}
_PROMPTED = {"steps": 500, "batch": 16, "tokens": 512, "longest": 512, "targets": "text"}
_BY_NAME: Mapping[str, dict[str, Any]] = {
    "bert": _ENCODERS,
    "albert": _ENCODERS,
    "smollm2": {**_TRAINER, **_PROMPTED},
    "minilm": {"frozen": 4, "train": 8000, "rate": 2e-4},
    "bert-small": {**_SMALL_BERT, "train": 20000, "rate": 2e-3},
}
_EPOCHS = {
    "sst2": {"normal": 10, "labels": 10, "shortcut": 3, "augmentation": 10},
    "mnli": {"normal": 5, "labels": 10, "shortcut": 5, "augmentation": 10},
}
_MNLI: Mapping[str, int] = {"tokens": 128}
_MNLI_BATCH = {"normal": 128, "labels": 64, "shortcut": 64, "augmentation": 64}
_REDUCED: dict[str, Any] = {"strict": False, "train": 200, "tokens": 16, "longest": 32}
_REDUCED |= {"epochs": 1, "batch": 16, "synonyms": False, "evaluate": None}
_REDUCED_BERT = {"vocabulary": 200, "layers": 2, "width": 16, "inner": 32, "heads": 2}
_REDUCED_PROMPTED = {"steps": 10, "train": 64, "tokens": 64, "longest": 64}


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return all hyperparameters of an architecture on a data set.

    Where the code of the authors and their paper differ, ``hyperparameters`` says whose they are:
    in the code, a batch of the normal models on MNLI has 128 examples, in the paper 64; in the
    code, the shortcuts of all models of a group are those of seed 0, in the paper they vary with
    the seed. Epochs on MNLI with shortcuts are in neither; they are those of its normal models. Nor
    is the training of SmolLM2 besides its steps and its batch: its rate is that of Hugging Face's
    Trainer, its loss that of all tokens.

    - ``strict``: whether data and weights must have the original sizes.
    - ``train``: the number of training examples, drawn once for all models; None for all.
    - ``tokens``, ``longest``: the most tokens of a text in training and in extraction.
    - ``new_classes``: those of random labels. ``synonyms``: whether augmentation uses WordNet.
    - ``drawn``: whether the corruption of a setting is drawn "once" for all its models or
      "by-model".
    - ``shown``: the rate of shortcuts in the sentences that are compared.
    - ``frozen``: how many of the first layers are not trained, nor the embeddings; 0: all are.
    - ``steps``: None for as many as ``epochs`` have. ``batch``: texts in a step; ``accumulate``,
      ``order``, ``evaluate``, ``clip``: see :func:`.learning.learn` and :func:`.learning.batches`.
    - ``rate``, ``decay``: of AdamW; ``warmup``: the share of the steps in which the rate rises.
    - ``targets``: of prompts, see :func:`.prompts.prompt_lesson`.

    ``reduced``: one epoch (of SmolLM2 ten steps) and few, short sentences. The pretrained models
    are those in the folders, whatever their sizes; BERT-small is smaller.

    ``epochs`` and ``batch`` may be dictionaries, by setting.

    Raises ``ValueError`` for an unknown architecture, or unknown hyperparameters.
    """
    check_options(dataset, architecture, hyperparameters)
    result = {**_COMMON, **_BY_NAME[architecture], "shown": LOWEST[dataset]}
    if architecture in ("bert", "albert"):
        result["epochs"] = _EPOCHS[dataset]
        result |= _MNLI if dataset == "mnli" else {}
        if dataset == "mnli" and hyperparameters == "resi-code":
            result["batch"] = _MNLI_BATCH
    if hyperparameters == "paper":
        result["drawn"] = {**_ONCE, "shortcut": "by-model"}
    return _reduced(architecture, result) if reduced else result


def _reduced(architecture: str, options: dict[str, Any]) -> dict[str, Any]:
    result = options | _REDUCED | {"frozen": min(1, options["frozen"])}
    if architecture == "bert-small":
        result |= _REDUCED_BERT
    return result | (_REDUCED_PROMPTED if architecture == "smollm2" else {})
