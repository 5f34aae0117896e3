"""Sentence classifiers that were pretrained on some packages and fine-tuned on others, of which
they see few examples.

Models fine-tuned from the same weights agree on sentences like those they learned from, and differ
on sentences from other files and under stress: what the benchmark of Ding et al. (NeurIPS 2021)
asks representations to show.
"""

from __future__ import annotations

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
from .models import (
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
from .stress import STRESSES, cue_words, stressed
from .train import DATASET

VERSION = 2
FIRST = 5  # packages of the snapshot from here on are for pretraining, those before for fine-tuning
HELD_OUT = (
    0.2  # share of the sentences of every fine-tuning package that is in files nobody learns from
)
CUES = 160

_BERT = {
    "classes": 5,
    "test": 500,
    "vocabulary": 2000,
    "tokens": 32,
    "layers": 3,
    "width": 32,
    "inner": 64,
}
_ADAMW = {"heads": 2, "init": 0.1, "dropout": 0.0, "batch": 32, "decay": 0.01, "clip": 2.0}
_PRETRAINING: dict[str, Any] = _BERT | _ADAMW | {"epochs": 4, "rate": 3e-3}
_FINETUNING: dict[str, Any] = _BERT | _ADAMW | {"epochs": 6, "rate": 5e-3, "shots": 200}
_SMALL = {
    "test": 120,
    "vocabulary": 300,
    "tokens": 12,
    "layers": 2,
    "width": 16,
    "inner": 32,
    "epochs": 2,
    "batch": 25,
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {"bert": _FINETUNING | _SMALL | {"shots": 100, "pretraining": _PRETRAINING | _SMALL}},
    "default": {"bert": _FINETUNING | {"pretraining": _PRETRAINING}},
}


class Task(NamedTuple):
    """Sentences as words, with labels from 0: to learn from, to test on, and from files that nobody
    learns from.

    ``known``: the id of every token; ``cues``: of the classes, see :func:`.stress.cue_words`.
    """

    train: list[list[str]]
    train_labels: np.ndarray
    test: list[list[str]]
    test_labels: np.ndarray
    held_out: list[list[str]]
    held_out_labels: np.ndarray
    known: dict[str, int]
    cues: list[list[str]]


def fit(recipe: Recipe, start: State | None = None) -> State:
    """Train the model of a recipe and return its weights by name.

    - ``"pretrained"``: random weights learn from which of the last five packages of the snapshot a
      sentence is, on all their sentences but the ``test`` ones.
    - ``"finetuned"``: ``start``, the weights of ``recipe.parent``, get a new head and learn the
      same of the first five packages, from ``shots`` sentences of each; all weights are trained.
      Which sentences, the initial head and the order depend on ``recipe.seed`` alone, so models of
      one seed have them in common, whatever was pretrained.

    The vocabulary is that of all sentences to learn from, of both tasks. Options: those of
    :data:`.language.OPTIONS` without ``packages``, ``train`` and ``wordnet``, with ``classes`` (5);
    fine-tuning also has ``shots`` and ``pretraining``, the options of the parent. Needs the extra
    ``resi``.

    Raises ``ValueError`` for a recipe of another kind, for options that are missing or do not fit
    the data, and for a ``start`` that is missing or of another network.
    """
    task, options = _task(recipe), recipe.options
    ids = encode(task.train, task.known, options["tokens"])
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
    """Return what the layers of a trained model make of the test sentences, and how well it
    classifies sentences.

    Representations are of the test sentences as they are (in distribution: from files that were
    also learned from), the same for all fine-tuned models; layers and poolings are those of
    :func:`.language.extract`. Those of a pretrained model are of test sentences of its own
    packages.

    ``accuracies`` of fine-tuned models: ``"test"`` on these sentences; ``"held_out_files"`` on
    sentences from the files of :func:`held_out_files`, without those that are word for word among
    the learned ones; ``"<stress>/<severity>"`` on the test sentences after each of
    :data:`.stress.STRESSES`, drawn once for all models; ``"<stress>"``, the mean over its
    severities; ``"shift"``, the mean over the stress tests and the held-out files. A pretrained
    model has ``"test"`` only.

    Raises ``ValueError`` as :func:`fit` does.
    """
    task, options = _task(recipe), recipe.options
    others = _shifted(task) if recipe.setting == "finetuned" else {}
    with seeded(0, "language", "extract") as torch:
        model = load_state(build(recipe.architecture, options["classes"], options), state)
        seen = activations(
            torch, model, encode(task.test, task.known, options["tokens"]), recipe.architecture
        )
        accuracies = {"test": accuracy(seen.outputs, task.test_labels)}
        for name, (sentences, labels) in others.items():
            order = np.argsort(
                [len(words) for words in sentences]
            )  # sentences of one length need no padding
            ids = encode([sentences[i] for i in order], task.known, options["tokens"])
            accuracies[name] = accuracy(logits_of(torch, model, ids), labels[order])
    known = with_means(accuracies) if others else accuracies
    return Extraction(seen.layers, seen.outputs, task.test_labels, known)


def held_out_files(sentences: Sentences) -> frozenset[str]:
    """Return the files of the fine-tuning packages that no model learns from.

    Of every package, files in a random order, always the same, until they hold a fifth of its
    sentences; never one that holds more than a fifth, such as ``tkinter``.
    """
    files, result = np.array(sentences.files), set[str]()
    for package in range(FIRST):
        names, counts = np.unique(files[sentences.labels == package], return_counts=True)
        wanted, have = HELD_OUT * counts.sum(), 0
        for i in generator(0, "language", DATASET, "held-out files", package).permutation(
            len(names)
        ):
            if have + counts[i] <= wanted:
                result.add(str(names[i]))
                have += counts[i]
    return frozenset(result)


def _shifted(task: Task) -> dict[str, tuple[list[list[str]], np.ndarray]]:
    found = {"held_out_files": (task.held_out, task.held_out_labels)}
    for name in STRESSES:
        for severity in SEVERITIES:
            random = generator(0, "language", "stress", name, severity)
            changed = stressed(task.test, task.test_labels, name, severity, task.cues, random)
            found[f"{name}/{severity}"] = (changed, task.test_labels)
    return found


def _task(recipe: Recipe) -> Task:
    """Return the task of a recipe that is known to make sense; its split is the same for all
    seeds."""
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
    learned = [words[i] for rows in parts.values() for i in rows[test:]]
    twice = {
        tuple(sentence) for sentence in learned
    }  # what was learned is not held out, whichever file it is in
    away_rows = np.array([i for i in np.flatnonzero(away) if tuple(words[i]) not in twice])
    rows = parts[recipe.setting]
    labels = sentences.labels % FIRST
    chosen = [(part, [words[i] for i in part]) for part in (rows[test:], rows[:test], away_rows)]
    (train_rows, train), (test_rows, tested), (_, held_out) = chosen
    return Task(
        train,
        labels[train_rows],
        tested,
        labels[test_rows],
        held_out,
        labels[away_rows],
        vocabulary(learned, recipe.options["vocabulary"]),
        cue_words(train, labels[train_rows], FIRST, CUES),
    )


def _check(recipe: Recipe) -> None:
    known = {"domain": ("language",), "dataset": (DATASET,), "architecture": ARCHITECTURES}
    check_transfer(recipe, known, OPTIONS["default"]["bert"])
    if recipe.options["classes"] != FIRST:
        raise ValueError(f"language: classes must be {FIRST}; got {recipe.options['classes']!r}")
    if recipe.options["vocabulary"] <= len(SPECIAL) or recipe.options["tokens"] < 4:
        raise ValueError(
            f"language: needs a vocabulary of more than {len(SPECIAL)} and sentences of 4 tokens "
            "or more"
        )
