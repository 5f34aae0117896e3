"""Sentence classifiers trained on docstrings, plain or with a known influence.

Transformers as in ReSi (Klabunde et al., ICLR 2025), but small, with random initial weights, for
sentences that need no download: to which package of Python's standard library does a sentence of
its documentation belong? A recipe describes the training of one model; :func:`fit` trains it and
:func:`extract` runs it on the fixed inputs of the benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....rng import generator
from ....subject import Extraction, Recipe
from ..common import State, accuracy, load_state, seeded, state_of
from ..snapshot import load_snapshot
from .eda import eda, load_synonyms
from .networks import (
    ARCHITECTURES,
    CLASS_TOKENS,
    CLASSES,
    SPECIAL,
    Words,
    activations,
    build,
    encode,
    learn,
    logits_of,
    vocabulary,
    words_of,
)

VERSION = 1
DATASET = "docstrings"
SETTINGS = ("normal", "labels", "shortcut", "augmentation")

# packages: number of classes, the first ones of the snapshot; train, test: numbers of sentences;
# vocabulary: its size; tokens: the most in a sentence; wordnet: None or a folder. The others are
# sizes of the network and of training. There is no dropout: with it, networks as small as these
# learn nothing from labels that are mostly random.
_MINI: dict[str, Any] = {
    "packages": 5,
    "train": 2500,
    "test": 500,
    "vocabulary": 1500,
    "tokens": 20,
}
_MINI |= {"wordnet": None}
_STANDARD: dict[str, Any] = {
    "packages": 10,
    "train": 4041,
    "test": 1000,
    "vocabulary": 4000,
    "tokens": 32,
}
_STANDARD |= {"wordnet": None}
_SMALL = {"layers": 5, "width": 32, "inner": 64, "heads": 2, "init": 0.1, "dropout": 0.0}
_LARGE = {"layers": 6, "width": 64, "inner": 128, "heads": 4, "init": 0.07, "dropout": 0.0}
_ADAMW = {"batch": 32, "decay": 0.01, "clip": 2.0}
_TINY: dict[str, Any] = {"packages": 3, "train": 200, "test": 100, "tokens": 12, "width": 16}
_TINY |= {"inner": 32, "epochs": 4, "rate": 3e-3, "batch": 25}

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {"bert": _MINI | _SMALL | _ADAMW | _TINY},
    "mini": {"bert": _MINI | _SMALL | _ADAMW | {"epochs": 4, "rate": 3e-3}},
    "standard": {
        name: _STANDARD | _LARGE | _ADAMW | {"epochs": 5, "rate": 1e-3} for name in ARCHITECTURES
    },
}
DEEP: dict[str, dict[str, Any]] = {  # one architecture with many layers, by size
    "small": OPTIONS["slice"]["bert"]
    | {"layers": 3, "width": 8, "inner": 16, "epochs": 1, "test": 120},
    "default": OPTIONS["mini"]["bert"] | {"layers": 8, "train": 1500},
}


class Docstrings(NamedTuple):
    """Sentences as words, with their classes, (n,), and the ids of tokens."""

    train: list[list[str]]
    train_labels: np.ndarray
    test: list[list[str]]
    test_labels: np.ndarray
    vocabulary: Mapping[str, int]


def fit(recipe: Recipe) -> State:
    """Train the model of a recipe and return its weights by name.

    Training minimises cross-entropy with AdamW and a learning rate that rises over the first tenth
    of the steps and then falls to zero, both linearly. Initial weights, order, corruption and
    augmentation depend on the whole name of the model, so that two models share nothing but the
    task.

    - ``"normal"``: the task as it is.
    - ``"labels"``: the labels of a share ``strength`` of the training sentences are drawn anew; see
      :func:`random_labels`.
    - ``"shortcut"``: each training sentence starts with a token for a class, the true one with
      probability ``strength``; see :func:`with_shortcut`. The tokens of a model are drawn once.
    - ``"augmentation"``: in each epoch all training sentences undergo one operation of
      :func:`.augment.eda` on a share ``strength`` of their words. ``options["wordnet"]`` is the
      folder of a WordNet 3.0 database or None: then there are no synonyms, and inserted words come
      from other training sentences.

    Differs from ReSi, whose models are pre-trained (BERT by one run per seed, the others all by the
    same); pre-trained weights would need a download. In ReSi all models of a group also share the
    corrupted labels and the shortcut tokens, although the paper says that these vary; and sentences
    are augmented once, not in each epoch. Needs the extra ``resi``.

    Raises ``ValueError`` for a recipe of another kind, and for options that are missing or do not
    fit the data.
    """
    data = _task(recipe)
    random = generator(recipe.seed, "language", recipe.name, "data")
    labels = data.train_labels
    if recipe.setting == "labels":
        labels = random_labels(labels, recipe.strength, recipe.options["packages"], random)
    with seeded(recipe.seed, "language", recipe.name) as torch:
        model = build(recipe.architecture, recipe.options["packages"], recipe.options)
        learn(torch, model, _epochs(recipe, data, random), labels, recipe.options)
    return state_of(model)


def extract(recipe: Recipe, state: State) -> Extraction:
    """Return the outputs of a trained model and of its layers for the test sentences.

    The sentences are the same for all models; those of models with shortcuts start with a class
    token drawn uniformly, the same for all of these, which says nothing about the class.
    ``layers["cls"]`` (the first token) and ``layers["mean"]`` (over all real tokens) for BERT and
    ALBERT, ``layers["last"]`` (the last token) for Llama, hold arrays (n_test, width) for
    "embedding" and "block1" onwards. The first and the last token are the same in all sentences, so
    "cls" and "last" start at "block1": a constant representation has no similarity to anything,
    though ReSi includes it in its test of layers.

    ``accuracies``: ``"test"`` on these inputs; ``"leaked"`` for shortcuts, with the tokens of the
    true classes; ``"augmented"`` for ``"normal"`` and ``"augmentation"``, after EDA of strength 1,
    the same for all models.

    Raises ``ValueError`` as :func:`fit` does.
    """
    data, architecture, options = _task(recipe), recipe.architecture, recipe.options
    encoded = partial(encode, ids=data.vocabulary, tokens=options["tokens"])
    others = {name: encoded(words) for name, words in _other_inputs(recipe, data).items()}
    with seeded(0, "language", "extract") as torch:
        model = load_state(build(architecture, options["packages"], options), state)
        test = activations(torch, model, encoded(_inputs(recipe, data)), architecture)
        logits = {name: logits_of(torch, model, ids) for name, ids in others.items()}
    accuracies = {"test": accuracy(test.outputs, data.test_labels)}
    accuracies |= {name: accuracy(values, data.test_labels) for name, values in logits.items()}
    return Extraction(test.layers, test.outputs, data.test_labels, accuracies)


def docstrings(packages: int, train: int, test: int, size: int) -> Docstrings:
    """Return the sentences of the first ``packages`` of the snapshot, always with the same split.

    ``train`` and ``test`` sentences are drawn from all modules; the vocabulary of ``size`` tokens
    is that of the training sentences. Raises ``ValueError`` when there are fewer packages or
    sentences.
    """
    sentences = load_snapshot().sentences
    if not 2 <= packages <= CLASSES:
        raise ValueError(f"language: packages must be between 2 and {CLASSES}; got {packages}")
    candidates = np.flatnonzero(sentences.labels < packages)
    rows = generator(0, "language", DATASET, "split").permutation(candidates)
    if not (test > 0 and 0 < train <= len(rows) - test):
        raise ValueError(
            f"language: train and test must add up to at most {len(rows)}; got {train} and {test}"
        )
    test_rows, train_rows = rows[:test], rows[test : test + train]
    words = {int(i): words_of(sentences.texts[i]) for i in rows[: test + train]}
    training, testing = [words[i] for i in train_rows], [words[i] for i in test_rows]
    train_labels, test_labels = sentences.labels[train_rows], sentences.labels[test_rows]
    return Docstrings(training, train_labels, testing, test_labels, vocabulary(training, size))


def random_labels(
    labels: np.ndarray, share: float, classes: int, random: np.random.Generator
) -> np.ndarray:
    """Return labels, (n,), of which exactly ``int(share * n)`` are drawn anew from all classes.

    The true class may be drawn again, so that labels of share 1 carry no information. Without it,
    they would tell what a sentence is not, and with few classes a model learns that. ReSi draws
    from five new classes instead, so that a model of share 1 never answers with a true class.
    """
    result = labels.copy()
    rows = random.permutation(len(labels))[: int(share * len(labels))]
    result[rows] = random.integers(classes, size=len(rows))
    return result


def with_shortcut(
    sentences: Sequence[Words],
    labels: np.ndarray,
    rate: float,
    classes: int,
    random: np.random.Generator,
) -> list[list[str]]:
    """Return sentences after a class token, with probability ``rate`` of the true class.

    Otherwise the token is of any class. A rate of 0 is uninformative, as is the smallest of ReSi,
    whose code draws from the wrong classes only but at a rate close to one over the number of
    classes.
    """
    leaks = random.random(len(labels)) < rate
    hints = np.where(leaks, labels, random.integers(classes, size=len(labels)))
    return [[CLASS_TOKENS[k], *words] for k, words in zip(hints, sentences)]


# ------------------------------------------------------------------------------------------- inputs


def _epochs(recipe: Recipe, data: Docstrings, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the token ids of the training sentences of each epoch."""
    options, sentences, change = recipe.options, data.train, None
    if recipe.setting == "shortcut":
        rate, classes = recipe.strength, options["packages"]
        sentences = with_shortcut(sentences, data.train_labels, rate, classes, random)
    if recipe.setting == "augmentation":
        change = _augmentation(recipe, data, recipe.strength, random)
    for _ in range(options["epochs"]):
        changed = sentences if change is None else [change(words) for words in sentences]
        yield encode(changed, data.vocabulary, options["tokens"])


def _inputs(recipe: Recipe, data: Docstrings) -> list[list[str]]:
    """Return the test sentences that representations are taken of."""
    if recipe.setting != "shortcut":
        return data.test
    random = generator(0, "language", DATASET, "test tokens")
    return with_shortcut(data.test, data.test_labels, 0.0, recipe.options["packages"], random)


def _other_inputs(recipe: Recipe, data: Docstrings) -> dict[str, list[list[str]]]:
    """Return the test sentences in other forms, for accuracies only."""
    random = generator(0, "language", DATASET, "other test inputs")
    if recipe.setting == "labels":
        return {}
    if recipe.setting == "shortcut":
        classes = recipe.options["packages"]
        return {"leaked": with_shortcut(data.test, data.test_labels, 1.0, classes, random)}
    change = _augmentation(recipe, data, 1.0, random)
    return {"augmented": [change(words) for words in data.test]}


def _augmentation(
    recipe: Recipe, data: Docstrings, share: float, random: np.random.Generator
) -> partial[list[str]]:
    """Return the function that changes one sentence."""
    folder = recipe.options["wordnet"]
    synonyms = None if folder is None else load_synonyms(folder)
    others = [word for words in data.train for word in words]
    return partial(eda, share=share, random=random, others=others, synonyms=synonyms)


# ----------------------------------------------------------------------------------------- checking


def _task(recipe: Recipe) -> Docstrings:
    """Return the task of a recipe, or raise an error that names the fault of the recipe."""
    allowed = {"dataset": (DATASET,), "architecture": ARCHITECTURES, "setting": SETTINGS}
    for name, values in allowed.items():
        value = getattr(recipe, name)
        if value not in values:
            raise ValueError(f"language: {name} must be one of {', '.join(values)}; got {value!r}")
    if not 0 <= recipe.strength <= 1:
        raise ValueError(f"language: strength must be between 0 and 1; got {recipe.strength!r}")
    options = recipe.options
    absent = sorted(set(OPTIONS["mini"]["bert"]) - set(options))
    if absent:
        raise ValueError(f"language: the recipe must have the options {', '.join(absent)}")
    if options["vocabulary"] <= len(SPECIAL) or options["tokens"] < 4:
        raise ValueError(
            f"language: needs a vocabulary of more than {len(SPECIAL)} and sentences of 4 tokens "
            "or more"
        )
    return docstrings(options["packages"], options["train"], options["test"], options["vocabulary"])
