"""Sentence classifiers trained on docstrings, plain or with a known corruption.

The transformers follow ReSi (Klabunde et al., ICLR 2025), but are small, have random initial
weights, and learn from sentences without downloads. The task: to which package of Python's standard
library does a sentence of the documentation belong? Models fine-tuned from the same weights agree
on sentences similar to the training sentences, and differ on sentences from other files and under
stress tests. The benchmark of Ding et al. (NeurIPS 2021) tests whether representations show such
differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.models.recipe import TRANSFER_SETTINGS as TRANSFER_SETTINGS
from resemblance.models.recipe import Recipe

from .. import corruption
from ..corruption import draw_any_class, replace_labels, shortcut_labels
from ..loop import Schedule, train_steps
from ..packaged import check_recipe, training_example_positions
from ..standard_library import Sentences, load_snapshot
from . import networks
from .networks import (
    CLASS_TOKENS,
    HUGGING_FACE_ARCHITECTURES,
    N_CLASS_TOKENS,
    SPECIAL_TOKENS,
    TokenRows,
    WordSequence,
    encode_sentences,
)
from .shifts import TEXT_STRESSES, cue_words, eda, load_synonyms, stress_sentences

VERSION, TRANSFER_VERSION = 1, 2
DOCSTRINGS_NAME = "docstrings"
# Packages below this number are for fine-tuning, all other packages for pretraining.
FIRST_PRETRAINING_CLASS = 5
# The largest share of a fine-tuning package's sentences in held-out files
HELD_OUT_SENTENCE_SHARE = 0.2
N_CUE_WORDS = 160
SENTENCES_PER_BATCH = 256  # sentences per batch at evaluation

# packages: number of classes, the first packages of the snapshot; train, test: numbers of
# sentences; vocabulary: number of tokens; tokens: limit per sentence; wordnet: None or a folder.
# All other options are sizes of the network and of the training. There is no dropout: with dropout,
# networks as small as these learn nothing from mostly random labels.
_MINI_TEXT: dict[str, Any] = {
    "packages": 5, "train": 2500, "test": 500, "vocabulary": 1500, "tokens": 20, "wordnet": None,
    "layers": 5, "width": 32, "inner": 64, "heads": 2, "init": 0.1, "dropout": 0.0,
    "batch": 32, "decay": 0.01, "clip": 2.0, "epochs": 4, "rate": 3e-3,
}  # fmt: skip
_STANDARD_TEXT: dict[str, Any] = {
    "packages": 10, "train": 4041, "test": 1000, "vocabulary": 4000, "tokens": 32, "wordnet": None,
    "layers": 6, "width": 64, "inner": 128, "heads": 4, "init": 0.07, "dropout": 0.0,
    "batch": 32, "decay": 0.01, "clip": 2.0, "epochs": 5, "rate": 1e-3,
}  # fmt: skip
_SLICE_TEXT = _MINI_TEXT | {"packages": 3, "train": 200, "test": 100, "tokens": 12, "width": 16}
_SLICE_TEXT |= {"inner": 32, "batch": 25}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "slice": {"bert": _SLICE_TEXT},
    "mini": {"bert": _MINI_TEXT},
    "demo": {"bert": _MINI_TEXT | {"test": 250, "batch": 64, "rate": 4e-3}},
    "standard": dict.fromkeys(HUGGING_FACE_ARCHITECTURES, _STANDARD_TEXT),
}
OPTIONS["architectures"] = dict.fromkeys(HUGGING_FACE_ARCHITECTURES, _MINI_TEXT | {"test": 250})
DEEP: dict[str, dict[str, Any]] = {
    "small": _SLICE_TEXT | {"layers": 3, "width": 8, "inner": 16, "epochs": 1, "test": 120},
    "default": _MINI_TEXT | {"layers": 8, "train": 1500},
}
_DEFAULT_TRANSFER_TEXT: dict[str, Any] = {
    "classes": 5, "test": 500, "vocabulary": 2000, "tokens": 32, "layers": 3, "width": 32,
    "inner": 64, "heads": 2, "init": 0.1, "dropout": 0.0, "batch": 32, "decay": 0.01, "clip": 2.0,
}  # fmt: skip
_SMALL_TRANSFER_TEXT = _DEFAULT_TRANSFER_TEXT | {
    "test": 120,
    "vocabulary": 300,
    "tokens": 12,
    "layers": 2,
    "width": 16,
}
_SMALL_TRANSFER_TEXT |= {"inner": 32, "epochs": 2, "batch": 25}
TRANSFER: dict[str, dict[str, Any]] = {
    "small": _SMALL_TRANSFER_TEXT
    | {"rate": 5e-3, "shots": 100, "pretraining": _SMALL_TRANSFER_TEXT | {"rate": 3e-3}},
    "default": _DEFAULT_TRANSFER_TEXT
    | {"epochs": 6, "rate": 5e-3, "shots": 200}
    | {"pretraining": _DEFAULT_TRANSFER_TEXT | {"epochs": 4, "rate": 3e-3}},
}


class SentenceTask(NamedTuple):
    """Sentences as words, with labels (n,) from 0 to ``classes`` - 1, and the token ids.

    Transfer tasks also have sentences of held-out files without training sentences, and cues: see
    :func:`.shifts.cue_words`.
    """

    train: list[list[str]]
    train_labels: np.ndarray
    test: list[list[str]]
    test_labels: np.ndarray
    vocabulary: Mapping[str, int]
    classes: int
    held_out: Sequence[list[str]] = ()
    held_out_labels: np.ndarray = np.empty(0, np.int64)
    cues: Sequence[list[str]] = ()


def check(recipe: Recipe) -> None:
    """Raise ``ValueError`` for an invalid recipe, and for missing or invalid options."""
    options = TRANSFER["default"] if recipe.setting in TRANSFER_SETTINGS else _MINI_TEXT
    check_recipe(recipe, options, FIRST_PRETRAINING_CLASS)
    if recipe.options["vocabulary"] <= len(SPECIAL_TOKENS) or recipe.options["tokens"] < 4:
        raise ValueError(
            f"language: needs a vocabulary of more than {len(SPECIAL_TOKENS)} and sentences of 4 "
            "tokens or more"
        )


def learn(model: Any, recipe: Recipe) -> None:
    """Train a network with AdamW and cross-entropy.

    The learning rate rises linearly over the first tenth of the steps and then falls linearly to
    zero. Gradients are scaled down to a norm of ``options["clip"]``: without clipping, a small
    model sometimes collapses to a single class. Batches contain sentences of similar length.

    - ``"normal"``: the plain task.
    - ``"labels"``: the labels of exactly ``int(strength * n)`` training sentences are redrawn from
      all classes. ReSi draws from five new classes instead, so a model of strength 1 never answers
      with a true class.
    - ``"shortcut"``: every training sentence starts with a class token, for the true class with
      probability ``strength``; see :func:`add_class_tokens`. The tokens of a model are drawn once.
    - ``"augmentation"``: in every epoch, one operation of :func:`.shifts.eda` changes a share
      ``strength`` of the words of every training sentence. ``options["wordnet"]`` is the folder of
      a WordNet 3.0 database or None. With None there are no synonyms, and inserted words come from
      other training sentences.

    Pretrained models learn the sentences of the last five packages; fine-tuned models learn the
    first five packages from a few sentences per package. The vocabulary covers all ten packages.
    Transfer recipes have ``classes`` (5) instead of ``packages``, ``train`` and ``wordnet``.

    Differences from ReSi: ReSi's models are pretrained (BERT with one pretraining run per seed, all
    other models with the same run), but pretrained weights would need a download. In ReSi all
    models of a group share the corrupted labels and the shortcut tokens, although the paper
    describes independent draws; and sentences are augmented once, not in every epoch. Needs the
    extra ``resi``.
    """
    torch, task, options = import_optional("torch"), sentence_task(recipe), recipe.options
    random = generator(recipe.seed, "language", recipe.name, "data")
    rows = training_example_positions(recipe, task.train_labels)
    labels = task.train_labels[rows]
    if recipe.setting == "labels":
        labels = replace_labels(
            labels, recipe.strength, draw_any_class(task.classes, random), random
        )
    targets, count = torch.from_numpy(labels), -(-len(labels) // options["batch"])
    total = options["epochs"] * count
    schedule = Schedule(total, (-1, max(1, total // 10) - 1), 0)

    # The order of batches is not that of `objective.text_batches`: another order would change the
    # weights of all models in the feature packs.
    def steps(first: int) -> Iterator[Any]:
        for tokens in _epochs_of_batches(recipe, task, random):
            permutation = torch.randperm(len(rows))
            lengths = torch.from_numpy(tokens.lengths[rows])[permutation]
            parts = permutation[lengths.argsort(stable=True)].split(options["batch"])
            for i in torch.randperm(len(parts)):
                batch = networks.padded_batch(torch, tokens, rows[parts[i].numpy()], "cpu")
                yield [(batch, targets[parts[i]])]

    def loss(part: tuple[dict[str, Any], Any]) -> Any:
        return torch.nn.functional.cross_entropy(model(**part[0]).logits, part[1])

    settings = {"lr": options["rate"], "weight_decay": options["decay"], "fused": True}
    optimizer = torch.optim.AdamW(model.parameters(), **settings)
    clip = partial(torch.nn.utils.clip_grad_norm_, max_norm=options["clip"])
    train_steps(model, steps, loss, optimizer, schedule=schedule, clip=clip)


def inputs_of(recipe: Recipe) -> dict[str, tuple[TokenRows, np.ndarray]]:
    """Return tokens and labels (n,), by accuracy name.

    ``"test"``: the test sentences, the same for all models. For models with shortcuts, the
    sentences start with a class token drawn uniformly, the same for all models, without information
    about the class. ``"leaked"``, for models with shortcuts: the tokens show the true classes.
    ``"augmented"``, for the settings ``"normal"`` and ``"augmentation"``: the sentences after EDA
    of strength 1, the same for all models.

    For fine-tuned models, ``"held_out_files"``: sentences from the files of :func:`held_out_files`,
    without sentences equal to a training sentence; ``"<stress>/<severity>"``: the test sentences,
    from files with training sentences, after every stress test in :data:`.shifts.TEXT_STRESSES`,
    drawn once for all models.
    """
    task = sentence_task(recipe)
    sentences: dict[str, tuple[Sequence[WordSequence], np.ndarray]] = {
        name: (words, task.test_labels) for name, words in test_sentences(recipe, task).items()
    }
    if recipe.setting == "finetuned":
        sentences["held_out_files"] = (task.held_out, task.held_out_labels)
    encode = partial(encode_sentences, ids=task.vocabulary, tokens=recipe.options["tokens"])
    return {name: (encode(words), labels) for name, (words, labels) in sentences.items()}


def test_sentences(recipe: Recipe, task: SentenceTask) -> dict[str, list[list[str]]]:
    """Return the variants of the test sentences that :func:`inputs_of` describes, by name."""
    test, labels, classes = task.test, task.test_labels, task.classes
    random = generator(0, "language", DOCSTRINGS_NAME, "other test inputs")
    if recipe.setting == "shortcut":
        draws = generator(0, "language", DOCSTRINGS_NAME, "test tokens")
        return {
            "test": add_class_tokens(test, labels, 0.0, classes, draws),
            "leaked": add_class_tokens(test, labels, 1.0, classes, random),
        }
    sentences = {"test": test}
    if recipe.setting in ("normal", "augmentation"):
        change = augment_sentences(recipe, task, 1.0, random)
        sentences["augmented"] = [change(words) for words in test]
    if recipe.setting == "finetuned":
        for name in TEXT_STRESSES:
            for severity in corruption.SEVERITIES:
                random = generator(0, "language", "stress", name, severity)
                variant = stress_sentences(test, labels, name, severity, task.cues, random)
                sentences[f"{name}/{severity}"] = variant
    return sentences


def run(
    model: Any, recipe: Recipe, inputs: TokenRows
) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the layers of sentences, arrays (n, width) by pooling and name, and the logits (n,
    classes).

    ``model``: a trained network in evaluation mode. ``inputs``: the tokens. The poolings of BERT
    and ALBERT are "cls" and "mean"; the pooling of Llama, with causal attention, is "last". The
    first and the last token are the same in all sentences, so "cls" and "last" start at "block1": a
    constant representation has no similarity to any representation. ReSi includes the constant
    layer in the layer test.
    """
    poolings = ("last",) if recipe.architecture == "llama" else ("cls", "mean")
    batches = np.split(
        np.arange(len(inputs.ids)), range(SENTENCES_PER_BATCH, len(inputs.ids), SENTENCES_PER_BATCH)
    )
    layers, logits = networks.hidden_states(model, inputs, poolings, batches)
    for pooling in set(layers) - {"mean"}:
        del layers[pooling]["embedding"]
    return layers, logits


def head_of(recipe: Recipe) -> str:
    """Return the prefix of the weight names of the last layer."""
    return "score." if recipe.architecture == "llama" else "classifier."


def build(recipe: Recipe) -> Any:
    """Return the untrained network of a recipe, with weights from PyTorch's random state."""
    options = recipe.options
    classes = options["classes" if recipe.setting in TRANSFER_SETTINGS else "packages"]
    return networks.build_text_network(recipe.architecture, classes, options)


# --------------------------------------------------------------------------------------------- data


def sentence_task(recipe: Recipe) -> SentenceTask:
    """Return the task of a recipe, with the same split for all seeds."""
    if recipe.setting in TRANSFER_SETTINGS:
        return _sentence_transfer_task(recipe)
    options = recipe.options
    return docstring_task(
        options["packages"], options["train"], options["test"], options["vocabulary"]
    )


def docstring_task(packages: int, train: int, test: int, size: int) -> SentenceTask:
    """Return the sentences of the first ``packages`` packages of the snapshot, always with the same
    split.

    ``train``, ``test``: numbers of sentences, drawn from all modules. ``size``: the number of
    tokens in the vocabulary of the training sentences. Raises ``ValueError`` when there are fewer
    packages or sentences.
    """
    sentences = load_snapshot().sentences
    if not 2 <= packages <= N_CLASS_TOKENS:
        raise ValueError(
            f"language: packages must be between 2 and {N_CLASS_TOKENS}; got {packages}"
        )
    candidates = np.flatnonzero(sentences.labels < packages)
    rows = generator(0, "language", DOCSTRINGS_NAME, "split").permutation(candidates)
    if not (test > 0 and 0 < train <= len(rows) - test):
        raise ValueError(
            f"language: train and test must add up to at most {len(rows)}; got {train} and {test}"
        )
    test_rows, train_rows = rows[:test], rows[test : test + train]
    words = {int(i): networks.split_words(sentences.texts[i]) for i in rows[: test + train]}
    train_words, test_words = [words[i] for i in train_rows], [words[i] for i in test_rows]
    labels, vocabulary = sentences.labels, networks.build_vocabulary(train_words, size)
    return SentenceTask(
        train_words, labels[train_rows], test_words, labels[test_rows], vocabulary, packages
    )


def _sentence_transfer_task(recipe: Recipe) -> SentenceTask:
    sentences, test = load_snapshot().sentences, recipe.options["test"]
    words = [networks.split_words(text) for text in sentences.texts]
    is_held_out = np.isin(sentences.files, list(held_out_files(sentences)))
    order = generator(0, "language", "transfer", "split").permutation(np.flatnonzero(~is_held_out))
    is_later = sentences.labels[order] >= FIRST_PRETRAINING_CLASS
    parts = {"pretrained": order[is_later], "finetuned": order[~is_later]}
    min_size = min(map(len, parts.values()))
    if not 0 < test < min_size:
        raise ValueError(f"language: test must be between 1 and {min_size - 1}; got {test!r}")
    training = [words[i] for rows in parts.values() for i in rows[test:]]
    # A sentence that is also a training sentence is not held out, even in a held-out file.
    train_sentences = set(map(tuple, training))
    held_out_rows = np.array(
        [i for i in np.flatnonzero(is_held_out) if tuple(words[i]) not in train_sentences]
    )
    train_rows, test_rows = parts[recipe.setting][test:], parts[recipe.setting][:test]
    labels, train_words = sentences.labels % FIRST_PRETRAINING_CLASS, [words[i] for i in train_rows]
    return SentenceTask(
        train_words,
        labels[train_rows],
        [words[i] for i in test_rows],
        labels[test_rows],
        networks.build_vocabulary(training, recipe.options["vocabulary"]),
        FIRST_PRETRAINING_CLASS,
        [words[i] for i in held_out_rows],
        labels[held_out_rows],
        cue_words(train_words, labels[train_rows], FIRST_PRETRAINING_CLASS, N_CUE_WORDS),
    )


def held_out_files(sentences: Sentences) -> frozenset[str]:
    """Return the files of the fine-tuning packages that no model learns from, by the names in
    ``sentences.files``.

    For each package, the function goes through the files in a fixed random order. A file is added
    if all added files together contain at most a fifth of the package's sentences. A file with more
    than a fifth, such as ``tkinter``, is never added.
    """
    files, result = np.array(sentences.files), set[str]()
    for package in range(FIRST_PRETRAINING_CLASS):
        names, counts = np.unique(files[sentences.labels == package], return_counts=True)
        limit, size = HELD_OUT_SENTENCE_SHARE * counts.sum(), 0
        random = generator(0, "language", DOCSTRINGS_NAME, "held-out files", package)
        for i in random.permutation(len(names)):
            if size + counts[i] <= limit:
                result.add(str(names[i]))
                size += counts[i]
    return frozenset(result)


def add_class_tokens(
    sentences: Sequence[WordSequence],
    labels: np.ndarray,
    rate: float,
    classes: int,
    random: np.random.Generator,
) -> list[list[str]]:
    """Return ``sentences`` (lists of words) with a class token in front: the true class from
    ``labels`` (n,) with probability ``rate``, otherwise any of the ``classes`` classes.

    Rate 0 carries no information. ReSi's smallest rate is equally uninformative: ReSi's code draws
    from the wrong classes only, at a rate close to one over the number of classes.
    """
    shown_classes = shortcut_labels(labels, rate, draw_any_class(classes, random), random)
    return [[CLASS_TOKENS[k], *words] for k, words in zip(shown_classes, sentences)]


def _epochs_of_batches(
    recipe: Recipe, task: SentenceTask, random: np.random.Generator
) -> Iterator[TokenRows]:
    sentences, change = task.train, None
    if recipe.setting == "shortcut":
        strength, classes = recipe.strength, task.classes
        sentences = add_class_tokens(sentences, task.train_labels, strength, classes, random)
    if recipe.setting == "augmentation":
        change = augment_sentences(recipe, task, recipe.strength, random)
    tokens = encode_sentences(sentences, task.vocabulary, recipe.options["tokens"])
    for _ in range(recipe.options["epochs"]):
        if change is not None:
            variants = [change(words) for words in sentences]
            tokens = encode_sentences(variants, task.vocabulary, recipe.options["tokens"])
        yield tokens


def augment_sentences(
    recipe: Recipe, task: SentenceTask, share: float, random: np.random.Generator
) -> partial[list[str]]:
    """Return a function that maps the words of one sentence to the words after EDA. ``share``: of
    the words that change."""
    folder = recipe.options["wordnet"]
    synonyms = None if folder is None else load_synonyms(folder)
    other_words = [word for words in task.train for word in words]
    return partial(eda, share=share, random=random, others=other_words, synonyms=synonyms)
