"""Language models of the benchmark: the task, what is done to it, and what is seen of the
models."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from resemblance.base.rng import generator
from resemblance.bench.training import corruption, extract, fit
from resemblance.bench.training.language import networks
from resemblance.bench.training.language import packaged as language
from resemblance.bench.training.language.networks import (
    HUGGING_FACE_ARCHITECTURES,
    SPECIAL_TOKENS,
    build_vocabulary,
    encode_sentences,
    split_words,
)
from resemblance.bench.training.language.packaged import add_class_tokens, docstring_task
from resemblance.bench.training.loop import seeded_torch
from resemblance.models.recipe import Recipe

OPTIONS = language.OPTIONS["slice"]["bert"] | {
    "train": 60,
    "test": 30,
    "vocabulary": 200,
    "width": 8,
    "epochs": 1,
}


def recipe(
    setting="normal", strength=0.0, *, seed=0, architecture="bert", dataset="docstrings", **options
):
    return Recipe("language", dataset, architecture, setting, strength, seed, OPTIONS | options)


@pytest.fixture(scope="module")
def trained():
    plan = [
        recipe(),
        recipe(seed=1),
        recipe("labels", 1.0),
        recipe("shortcut", 1.0),
        recipe("shortcut", 0.5, seed=1),
        recipe("augmentation", 1.0),
    ]
    return {
        f"{r.setting} {r.seed}": (r, state, extract(r, state)) for r in plan for state in [fit(r)]
    }


# -------------------------------------------------------------------------------------------- words


def test_words_are_lower_case_words_numbers_and_marks():
    assert split_words("Return x_1, in UTF-8 (naïve).") == [
        *["return", "x", "1", ",", "in", "utf", "-", "8", "(", "naïve", ")", "."]
    ]


def test_the_vocabulary_is_the_special_tokens_and_the_most_frequent_words():
    sentences = [["b", "a", "c"], ["c", "b"], ["c", "d"]]
    known = build_vocabulary(sentences, len(SPECIAL_TOKENS) + 3)
    assert list(known) == [*SPECIAL_TOKENS, "c", "b", "a"]
    assert list(known.values()) == list(range(len(known)))
    assert build_vocabulary(sentences[::-1], len(SPECIAL_TOKENS) + 3) == known


def test_encoded_sentences_start_end_and_are_cut():
    known = build_vocabulary([["a", "b"]], 100)
    start, end, unknown = (SPECIAL_TOKENS.index(token) for token in ("[CLS]", "[SEP]", "[UNK]"))
    tokens = encode_sentences([["a"], ["b", "z", "a", "a"], []], known, 5)
    assert [row.tolist() for row in tokens.ids] == [
        [start, known["a"], end],
        [start, known["b"], unknown, known["a"], end],
        [start, end],
    ]


# --------------------------------------------------------------------------------------------- task


def test_the_split_is_fixed_and_disjoint():
    small, large = docstring_task(3, 100, 50, 300), docstring_task(3, 200, 50, 300)
    assert small.test == large.test
    assert small.train == large.train[:100]
    assert set(small.train_labels) == set(small.test_labels) == {0, 1, 2}
    assert len(small.vocabulary) == 300
    shared = {tuple(words) for words in large.train} & {tuple(words) for words in large.test}
    assert len(shared) <= 2  # different sentences of the documentation that differ in capitals only


def test_random_labels_are_exactly_as_many_and_of_all_classes():
    def random_labels(share):
        random = generator(0, "labels")
        return corruption.replace_labels(
            labels, share, corruption.draw_any_class(5, random), random
        )

    labels = np.repeat(np.arange(5), 400)
    half = random_labels(0.5)
    assert (half != labels).sum() == pytest.approx(0.5 * 0.8 * len(labels), rel=0.08)
    assert (half != labels).sum() <= 1000
    assert (random_labels(1.0) == labels).mean() == pytest.approx(0.2, abs=0.04)
    assert np.array_equal(random_labels(0.0), labels)


@pytest.mark.parametrize(("rate", "share"), [(0.0, 0.25), (0.5, 0.625), (1.0, 1.0)])
def test_shortcuts_show_the_class_at_the_rate(rate, share):
    labels = np.tile(np.arange(4), 1000)
    sentences = add_class_tokens(
        [["word"]] * len(labels), labels, rate, 4, generator(0, "shortcut")
    )
    shown = np.array(
        [int(words[0].removeprefix("[CLASS").removesuffix("]")) for words in sentences]
    )
    assert (shown == labels).mean() == pytest.approx(share, abs=0.03)
    assert all(words[1:] == ["word"] for words in sentences)


# ------------------------------------------------------------------------------------------- models


def test_inputs_are_the_same_for_all_models(trained):
    labels = [seen.labels for _, _, seen in trained.values()]
    assert all(np.array_equal(labels[0], other) for other in labels)
    inputs = {
        name: language.test_sentences(r, language.sentence_task(r))["test"]
        for name, (r, _, _) in trained.items()
    }
    assert (
        inputs["normal 0"] == inputs["normal 1"] == inputs["labels 0"] == inputs["augmentation 0"]
    )
    assert inputs["shortcut 0"] == inputs["shortcut 1"]
    assert [words[1:] for words in inputs["shortcut 0"]] == inputs["normal 0"]


@pytest.mark.parametrize("architecture", HUGGING_FACE_ARCHITECTURES)
def test_states_are_those_of_the_network_for_each_sentence_alone(architecture):
    """Whatever goes through the network with a sentence, and in which order."""
    known = build_vocabulary([["a", "b", "c"]], 50)
    tokens = encode_sentences(
        [["a", "b"], ["c"] * 8, ["b"], ["a", "c"], ["c", "a", "b"]], known, 12
    )
    with seeded_torch(0, "test"):
        model = networks.build_text_network(architecture, 3, OPTIONS | {"vocabulary": 50}).eval()
    poolings = ("last",) if architecture == "llama" else ("cls", "mean")
    for batches in ([[0, 1, 2, 3, 4]], [[4, 1], [3], [2, 0]]):
        layers, logits = networks.hidden_states(model, tokens, poolings, map(np.array, batches))
        for i, ids in enumerate(tokens.ids):
            with torch.no_grad():
                expected = model(torch.from_numpy(ids)[None], output_hidden_states=True)
            assert np.allclose(logits[i], expected.logits[0], atol=1e-5)
            for k, state in enumerate(expected.hidden_states):
                pooled = {"cls": state[0, 0], "mean": state[0].mean(0), "last": state[0, -1]}
                for pooling in poolings:
                    values = layers[pooling][f"block{k}" if k else "embedding"]
                    assert np.allclose(values[i], pooled[pooling], atol=1e-5)


def test_a_model_learns_the_task_and_the_shortcut():
    options = {
        "packages": 2,
        "train": 500,
        "test": 200,
        "vocabulary": 800,
        "width": 16,
        "layers": 2,
        "epochs": 4,
    }
    plain, led = recipe(**options), recipe("shortcut", 1.0, **options)
    assert extract(plain, fit(plain)).accuracies["test"] > 0.7
    seen = extract(led, fit(led)).accuracies
    assert seen["leaked"] > 0.95
    assert seen["test"] < 0.7


def test_synonyms_are_used_when_there_is_a_wordnet(tmp_path):
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text(
            "00001 06 n 03 the 0 zebra 0 gnu 0 000 | not in any docstring\n"
        )
    given = recipe("augmentation", 1.0, wordnet=str(tmp_path))
    data = language.sentence_task(given)
    change = language.augment_sentences(given, data, 1.0, generator(0, "test"))
    changed = [word for words in data.train for word in change(words)]
    assert {"zebra", "gnu"} <= set(changed)
    assert set(fit(given)) == set(fit(recipe("augmentation", 1.0)))


def test_the_suites_hold_every_option():
    for suite in language.OPTIONS.values():
        for options in suite.values():
            assert options.keys() == language.OPTIONS["mini"]["bert"].keys()
    assert tuple(language.OPTIONS["standard"]) == HUGGING_FACE_ARCHITECTURES
