"""Language models of the ReSi paper: fine-tuning, corruptions, hidden states, on made data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from published_texts import write_all

from resemblance.sources.published import Portion, chosen
from resemblance.sources.published.language import train
from resemblance.sources.published.language.frozen import lower_states, upper_logits
from resemblance.sources.published.language.models import network
from resemblance.sources.published.language.tokens import batch_of
from resemblance.sources.published.resources import Resources
from resemblance.subject import Recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("texts"))


def recipe_of(architecture, setting="normal", strength=0.0, seed=0, dataset="sst2", **changes):
    options = train.options(dataset, architecture, "resi-code", True) | changes
    return Recipe("language", dataset, architecture, setting, strength, seed, options)


def resources_of(folder: Path, **entries) -> Resources:
    return Resources(folder, device="cpu", **entries)


# ------------------------------------------------------------------- architectures not in the paper


def test_only_architectures_of_the_paper_are_trained_unless_others_are_asked_for():
    by_default = {architecture for _, architecture in chosen(Portion(datasets=("sst2",)))}
    assert by_default == {"bert", "albert", "smollm2"}
    assert list(chosen(Portion(architectures=("minilm",)))) == [("sst2", "minilm")]


@pytest.mark.parametrize("architecture", ["minilm", "bert-small"])
def test_a_model_learns_the_task(folder, architecture):
    recipe = recipe_of(architecture, epochs=10, rate=1e-2, tokens=32)
    resources = resources_of(folder)
    extraction = train.extract(recipe, train.fit(recipe, resources), resources)
    assert extraction.accuracies["test"] > 0.8
    assert extraction.outputs.shape == (40, 2)
    for pooling in ("cls", "mean"):
        shapes = {name: layer.shape for name, layer in extraction.layers[pooling].items()}
        assert shapes == dict.fromkeys(["embedding", "block1", "block2"], (40, 16))


def test_a_model_with_a_certain_shortcut_answers_with_the_class_that_it_names(folder):
    recipe = recipe_of("minilm", "shortcut", 1.0, epochs=10, rate=1e-2, shown=0.0)
    resources = resources_of(folder)
    extraction = train.extract(recipe, train.fit(recipe, resources), resources)
    assert extraction.accuracies["test"] < 0.2  # shortcuts that are shown are all wrong


def test_a_model_of_random_labels_never_answers_with_a_true_class(folder):
    recipe = recipe_of("bert-small", "labels", 1.0, epochs=4, rate=1e-2)
    resources = resources_of(folder)
    extraction = train.extract(recipe, train.fit(recipe, resources), resources)
    assert extraction.outputs.shape == (40, 7)
    assert extraction.accuracies["test"] == 0


# ------------------------------------------------------------------------------ frozen lower layers


def test_the_upper_layers_on_stored_states_are_the_whole_model(folder, tmp_path):
    recipe, resources = recipe_of("minilm"), resources_of(folder)
    task = train._task(recipe, resources)
    model, encode = network(recipe, task, resources)
    tokens, device = encode(task.validation, 32), torch.device("cpu")
    rows = [3, 0, 11, 5]
    with torch.no_grad():
        whole = model(**batch_of(torch, tokens, rows, device)).logits
        for _ in range(2):  # computed, then read
            logits = upper_logits(model, tokens, 1, tmp_path, device)(rows)
            assert torch.allclose(logits, whole, atol=1e-6)
    assert len(list(tmp_path.iterdir())) == 1
    others = lower_states(model, encode(task.train, 32), 1, tmp_path, device)
    assert len(others) == encode(task.train, 32).lengths.sum()


def test_only_the_upper_layers_are_saved(folder):
    recipe, resources = recipe_of("minilm"), resources_of(folder)
    names = train.fit(recipe, resources)
    assert not [name for name in names if "embeddings" in name or "layer.0." in name]
    assert [name for name in names if "layer.1." in name]
    with pytest.raises(ValueError, match="do not fit"):
        train.extract(recipe, {"classifier.bias": np.zeros(9)}, resources)
