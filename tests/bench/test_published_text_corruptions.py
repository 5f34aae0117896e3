"""Random labels, shortcuts and augmentation of the language models of the ReSi paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from factories.text_data import VOCABULARY, sentences, write_all

from resemblance.base.rng import generator
from resemblance.bench.training.corruption import draw_wrong_class, shortcut_labels
from resemblance.bench.training.language import data, paper
from resemblance.bench.training.language.data import Examples, TextTask
from resemblance.bench.training.language.pretrained import text_network, word_encoder
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("texts"), seeds=(0,))


@pytest.fixture(scope="module")
def examples() -> Examples:
    texts, labels = zip(*sentences(400, 5))
    return Examples(texts, None, np.array(labels))


def recipe_of(setting, strength, seed=0, architecture="bert", hyperparameters="resi-code"):
    options = paper.options("sst2", architecture, hyperparameters, True)
    return Recipe("language", "sst2", architecture, setting, strength, seed, options)


def test_random_labels_are_new_classes_for_an_exact_share(examples):
    labels = data.corrupt_examples(recipe_of("labels", 0.75), examples, "train", 2, None).labels
    changed = labels != examples.labels
    assert changed.sum() == 300
    assert set(labels[changed]) == {2, 3, 4, 5, 6}
    assert np.bincount(labels[changed])[2:].min() > 30


def test_shortcuts_name_the_class_at_their_rate_and_a_wrong_one_otherwise(examples):
    labels, random = np.arange(3000) % 3, generator(0, "hints")
    hints = shortcut_labels(labels, 0.354, draw_wrong_class(3, random), random)
    assert (hints == labels).mean() == pytest.approx(0.354, abs=0.03)
    wrong = (hints - labels)[hints != labels] % 3
    assert (wrong == 1).mean() == pytest.approx(0.5, abs=0.05)
    assert (shortcut_labels(labels, 1.0, draw_wrong_class(3, random), random) == labels).all()


def test_a_group_shares_what_was_drawn_as_in_the_code_or_not_as_in_the_paper(examples):
    def drawn(seed, hyperparameters):
        recipe = recipe_of("shortcut", 0.558, seed, hyperparameters=hyperparameters)
        return data.corrupt_examples(recipe, examples, "train", 2, None).hints

    assert (drawn(0, "resi-code") == drawn(3, "resi-code")).all()
    assert (drawn(0, "paper") != drawn(3, "paper")).any()


def test_normal_models_get_the_data_as_they_are(examples):
    assert data.corrupt_examples(recipe_of("normal", 0.0), examples, "train", 2, None) is examples
    assert data.validation_examples(recipe_of("labels", 1.0), examples, 2) is examples


def test_settings_that_language_models_do_not_have(examples):
    with pytest.raises(
        ValueError, match="must be one of 'normal', 'labels', 'shortcut', 'augmentation'"
    ):
        data.corrupt_examples(recipe_of("layers", 0.0), examples, "train", 2, None)


def test_all_models_with_shortcuts_are_compared_on_the_same_sentences(examples):
    shown = [
        data.validation_examples(recipe_of("shortcut", rate, seed), examples, 2).hints
        for rate, seed in ((0.558, 0), (1.0, 4))
    ]
    assert (shown[0] == shown[1]).all()
    assert (shown[0] == examples.labels).mean() == pytest.approx(0.558, abs=0.08)


def test_augmentation_changes_words_but_neither_labels_nor_second_sentences(examples):
    pairs = examples._replace(pairs=list(examples.texts))
    result = data.corrupt_examples(recipe_of("augmentation", 1.0), pairs, "train", 2, None)
    assert result.pairs == pairs.pairs
    assert result.labels is pairs.labels
    changed = np.mean([a != b for a, b in zip(result.texts, pairs.texts)])
    assert changed > 0.8
    assert all(text.split() for text in result.texts)


def test_synonyms_come_from_a_wordnet_folder(examples, tmp_path):
    recipe = recipe_of("augmentation", 1.0)
    assert data.load_needed_synonyms(recipe, tmp_path) is None
    recipe = recipe._replace(options={**recipe.options, "synonyms": True})
    with pytest.raises(ValueError, match=r"language/wordnet does not exist: put data\.noun"):
        data.load_needed_synonyms(recipe, tmp_path)
    place = tmp_path / "language" / "wordnet"
    place.mkdir(parents=True)
    for part in ("noun", "verb", "adj", "adv"):
        (place / f"data.{part}").write_text("1 03 n 02 film 0 movie 0 000 | a thing\n")
    synonyms = data.load_needed_synonyms(recipe, tmp_path)
    assert synonyms == {"film": ("movie",), "movie": ("film",)}
    texts = data.corrupt_examples(recipe, examples, "train", 2, synonyms).texts
    assert any("movie" in text for text in texts)


# ---------------------------------------------------------------------------------------- as tokens


def test_shortcuts_are_tokens_and_embeddings_a_multiple_of_64(folder):
    recipe, resources = recipe_of("shortcut", 1.0), TrainingEnvironment(folder, device="cpu")
    task = paper._text_task(recipe, resources)
    net = text_network(recipe, task, resources)
    first, second = len(VOCABULARY), len(VOCABULARY) + 1
    ids = net.encode(task.validation._replace(hints=task.validation.labels), 64).ids
    given_away = [int(row[1]) for row in ids]
    assert given_away == [(first, second)[label] for label in task.validation.labels]
    assert net.model.get_input_embeddings().weight.shape[0] == 64
    again = text_network(recipe._replace(seed=0, strength=0.5), task, resources).model
    weights = [model.get_input_embeddings().weight for model in (net.model, again)]
    assert torch.equal(*weights)
    plain = net.encode(task.validation, 64).ids
    assert [len(row) for row in ids] == [len(row) + 1 for row in plain]


def test_words_of_pairs_have_segments(examples):
    pairs = examples._replace(pairs=[*examples.texts[1:], "rich"])
    encode = word_encoder(TextTask(pairs, pairs, 2).train, 60)
    tokens = encode(pairs._replace(hints=pairs.labels), 40)
    assert tokens.segments is not None
    row, segments = tokens.ids[0], tokens.segments[0]
    before = len(examples.texts[0].split()) + 3  # [CLS], shortcut, [SEP]
    assert segments.tolist() == [0] * before + [1] * (len(row) - before)
    assert row[-1] == row[before - 1] != row[0]
    assert max(len(ids) for ids in encode(pairs, 7).ids) == 7


def test_the_vocabulary_is_that_of_the_training_sentences(examples):
    tokens = word_encoder(examples, 20)(Examples(["unseen film"], None, np.zeros(1, int)), 9)
    assert len(tokens.ids[0]) == 4
    assert tokens.ids[0][1] == 3  # [UNK]
