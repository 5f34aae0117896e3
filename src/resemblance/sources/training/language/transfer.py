"""Sentence classifiers pretrained on some packages and fine-tuned on few examples of others.

Models fine-tuned from the same weights agree on sentences like those they learned from, and differ
on sentences from other files and under stress: what the benchmark of Ding et al. (NeurIPS 2021)
asks representations to show.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import (
    SEVERITIES,
    State,
    accuracy,
    begin,
    check_transfer,
    examples,
    load_state,
    seeded,
    state_of,
    with_means,
)
from ..snapshot import Sentences, load_snapshot
from .networks import (
    ARCHITECTURES,
    SPECIAL,
    activations,
    build,
    encode,
    learn,
    logits_of,
    vocabulary,
    words_of,
)
from .packaged import DATASET
from .shifts import STRESSES, cue_words, stressed

VERSION = 2
FIRST = 5  # packages before this one are for fine-tuning, the others for pretraining
HELD_OUT = 0.2  # share of the sentences of a fine-tuning package in files without training
CUES = 160

_BERT = {"classes": 5, "test": 500, "vocabulary": 2000, "tokens": 32}
_BERT |= {"layers": 3, "width": 32, "inner": 64}
_ADAMW = {"heads": 2, "init": 0.1, "dropout": 0.0, "batch": 32, "decay": 0.01, "clip": 2.0}
_PRETRAINING: dict[str, Any] = _BERT | _ADAMW | {"epochs": 4, "rate": 3e-3}
_FINETUNING: dict[str, Any] = _BERT | _ADAMW | {"epochs": 6, "rate": 5e-3, "shots": 200}
_SMALL = {"test": 120, "vocabulary": 300, "tokens": 12, "layers": 2}
_SMALL |= {"width": 16, "inner": 32, "epochs": 2, "batch": 25}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {"bert": _FINETUNING | _SMALL | {"shots": 100, "pretraining": _PRETRAINING | _SMALL}},
    "default": {"bert": _FINETUNING | {"pretraining": _PRETRAINING}},
}


class SentenceTransfer(NamedTuple):
    """Sentences as words, with labels from 0: for training, for tests, and from other files.

    No model learns from the other, held-out files. ``ids`` are those of all tokens; ``cues``: see
    :func:`.stress.cue_words`.
    """

    train: list[list[str]]
    train_labels: np.ndarray
    test: list[list[str]]
    test_labels: np.ndarray
    held_out: list[list[str]]
    held_out_labels: np.ndarray
    ids: dict[str, int]
    cues: list[list[str]]


def fit(recipe: Recipe, start: State | None = None) -> State:
    """Train the model of a recipe and return its weights by name.

    - ``"pretrained"``: random weights learn to classify sentences of the last five packages of the
      snapshot, from all of them but the ``test`` ones.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, gets a new head and learns the
      same for the first five packages, from ``shots`` sentences of each; all weights are trained.
      The sentences, the initial head and the order depend on ``recipe.seed`` alone, so models of
      one seed share them, whatever was pretrained.

    The vocabulary is that of the training sentences of both tasks. Options: those of
    :data:`.language.OPTIONS` without ``packages``, ``train`` and ``wordnet``, with ``classes`` (5);
    fine-tuning also has ``shots`` and ``pretraining``, the options of the parent. Needs the extra
    ``resi``.

    Raises ``ValueError`` for a recipe of another kind, for options that are missing or do not fit
    the data, and for a ``start`` that is missing or of another network.
    """
    task, options = _task(recipe), recipe.options
    ids = encode(task.train, task.ids, options["tokens"])
    if recipe.setting == "pretrained":
        with seeded(recipe.seed, "language", recipe.name) as torch:
            model = build(recipe.architecture, options["classes"], options)
            learn(torch, model, [ids] * options["epochs"], task.train_labels, options)
        return state_of(model)
    random = generator(recipe.seed, "language", "finetuned", "examples")
    rows = examples(task.train_labels, options["shots"], options["classes"], random)
    with seeded(recipe.seed, "language", "finetuned", recipe.architecture) as torch:
        head = "score." if recipe.architecture == "llama" else "classifier."
        model = begin(recipe, build(recipe.architecture, options["classes"], options), start, head)
        learn(torch, model, [ids[rows]] * options["epochs"], task.train_labels[rows], options)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return the outputs of a trained model and of its layers for the test sentences.

    Layers are for the test sentences as they are (in distribution: from files with training
    sentences), the same for all fine-tuned models; layers and poolings are those of
    :func:`.language.extract`. Those of a pretrained model are for test sentences of its packages.

    ``accuracies`` of fine-tuned models: ``"test"`` on these sentences; ``"held_out_files"`` on
    sentences from the files of :func:`held_out_files`, without those that also are, word for word,
    training sentences; ``"<stress>/<severity>"`` on the test sentences after each of
    :data:`.stress.STRESSES`, drawn once for all models; ``"<stress>"``, the mean over its
    severities; ``"shift"``, the mean over the stress tests and the held-out files. A pretrained
    model has ``"test"`` only.

    Raises ``ValueError`` as :func:`fit` does.
    """
    task, options = _task(recipe), recipe.options
    encoded = partial(encode, ids=task.ids, tokens=options["tokens"])
    others = _shifted(task) if recipe.setting == "finetuned" else {}
    with seeded(0, "language", "extract") as torch:
        model = load_state(build(recipe.architecture, options["classes"], options), state)
        test = activations(torch, model, encoded(task.test), recipe.architecture)
        accuracies = {"test": accuracy(test.outputs, task.test_labels)}
        for name, (sentences, labels) in others.items():
            order = np.argsort(list(map(len, sentences)))  # equal lengths need no padding
            ids = encoded([sentences[i] for i in order])
            accuracies[name] = accuracy(logits_of(torch, model, ids), labels[order])
    accuracies = with_means(accuracies) if others else accuracies
    return Extraction(test.layers, test.outputs, task.test_labels, accuracies)


def held_out_files(sentences: Sentences) -> frozenset[str]:
    """Return the files of the fine-tuning packages that no model learns from.

    These are files of each package in a fixed random order, as long as they hold at most a fifth
    of its sentences; a file with more than a fifth, such as ``tkinter``, is never among them.
    """
    files, result = np.array(sentences.files), set[str]()
    for package in range(FIRST):
        names, counts = np.unique(files[sentences.labels == package], return_counts=True)
        most, size = HELD_OUT * counts.sum(), 0
        random = generator(0, "language", DATASET, "held-out files", package)
        for i in random.permutation(len(names)):
            if size + counts[i] <= most:
                result.add(str(names[i]))
                size += counts[i]
    return frozenset(result)


def _shifted(task: SentenceTransfer) -> dict[str, tuple[list[list[str]], np.ndarray]]:
    inputs = {"held_out_files": (task.held_out, task.held_out_labels)}
    for name in STRESSES:
        for severity in SEVERITIES:
            random = generator(0, "language", "stress", name, severity)
            changed = stressed(task.test, task.test_labels, name, severity, task.cues, random)
            inputs[f"{name}/{severity}"] = (changed, task.test_labels)
    return inputs


def _task(recipe: Recipe) -> SentenceTransfer:
    """Return the task of a valid recipe, with one split for all seeds."""
    _check(recipe)
    sentences, test = load_snapshot().sentences, recipe.options["test"]
    words = [words_of(text) for text in sentences.texts]
    away = np.isin(sentences.files, list(held_out_files(sentences)))
    order = generator(0, "language", "transfer", "split").permutation(np.flatnonzero(~away))
    later = sentences.labels[order] >= FIRST
    parts = {"pretrained": order[later], "finetuned": order[~later]}
    fewest = min(map(len, parts.values()))
    if not 0 < test < fewest:
        raise ValueError(f"language: test must be between 1 and {fewest - 1}; got {test!r}")
    training = [words[i] for rows in parts.values() for i in rows[test:]]
    # A training sentence is not held out, even if it is in a held-out file as well
    seen = set(map(tuple, training))
    held_out = np.array([i for i in np.flatnonzero(away) if tuple(words[i]) not in seen])
    train_rows, test_rows = parts[recipe.setting][test:], parts[recipe.setting][:test]
    labels, train = sentences.labels % FIRST, [words[i] for i in train_rows]
    return SentenceTransfer(
        train,
        labels[train_rows],
        [words[i] for i in test_rows],
        labels[test_rows],
        [words[i] for i in held_out],
        labels[held_out],
        vocabulary(training, recipe.options["vocabulary"]),
        cue_words(train, labels[train_rows], FIRST, CUES),
    )


def _check(recipe: Recipe) -> None:
    allowed = {"domain": ("language",), "dataset": (DATASET,), "architecture": ARCHITECTURES}
    check_transfer(recipe, allowed, OPTIONS["default"]["bert"])
    if recipe.options["classes"] != FIRST:
        raise ValueError(f"language: classes must be {FIRST}; got {recipe.options['classes']!r}")
    if recipe.options["vocabulary"] <= len(SPECIAL) or recipe.options["tokens"] < 4:
        raise ValueError(
            f"language: needs a vocabulary of more than {len(SPECIAL)} and sentences of 4 tokens "
            "or more"
        )
