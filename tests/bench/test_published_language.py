"""Language models of the ReSi paper: fine-tuning, corruptions, hidden states, on made data."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from factories.text_data import TINY, VOCABULARY, write_all, write_bert

from resemblance.bench.training import PaperSubset, chosen_architectures
from resemblance.bench.training.language import paper as train
from resemblance.bench.training.language.networks import (
    batches_by_length,
    hidden_states,
    padded_batch,
)
from resemblance.bench.training.language.objective import (
    build_objective,
    count_steps,
    linear_schedule,
    lower_states,
    text_batches,
    training_hyperparameters,
    upper_logits,
)
from resemblance.bench.training.language.pretrained import build_prompts, text_network
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("texts"))


def recipe_of(architecture, setting="normal", strength=0.0, seed=0, dataset="sst2", **changes):
    options = train.options(dataset, architecture, "resi-code", True) | changes
    return Recipe("language", dataset, architecture, setting, strength, seed, options)


def resources_of(folder: Path, **entries) -> TrainingEnvironment:
    return TrainingEnvironment(folder, device="cpu", **entries)


# ------------------------------------------------------------------- architectures not in the paper


def test_only_architectures_of_the_paper_are_trained_unless_others_are_asked_for():
    by_default = {
        architecture for _, architecture in chosen_architectures(PaperSubset(datasets=("sst2",)))
    }
    assert by_default == {"bert", "albert", "smollm2"}
    assert list(chosen_architectures(PaperSubset(architectures=("minilm",)))) == [
        ("sst2", "minilm")
    ]


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
    task = train._text_task(recipe, resources)
    model, encode, _ = text_network(recipe, task, resources)
    tokens, device = encode(task.validation, 32), torch.device("cpu")
    rows = [3, 0, 11, 5]
    with torch.no_grad():
        whole = model(**padded_batch(torch, tokens, rows, device)).logits
        for _ in range(2):  # computed, then read
            logits = upper_logits(model, tokens, 1, tmp_path, device)(np.array(rows))
            assert torch.allclose(logits, whole, atol=1e-6)
    assert len(list(tmp_path.iterdir())) == 1
    others = lower_states(model, encode(task.train, 32), 1, tmp_path, device)
    assert len(others) == encode(task.train, 32).lengths.sum()


def test_only_the_upper_layers_are_saved(folder):
    recipe, resources = recipe_of("minilm"), resources_of(folder)
    names = train.fit(recipe, resources)
    assert not [name for name in names if "embeddings" in name or "layer.0." in name]
    assert [name for name in names if "layer.1." in name]
    with pytest.raises(ValueError, match="of another network"):
        train.extract(recipe, {"classifier.bias": np.zeros(9)}, resources)


# ----------------------------------------------------------------------- architectures of the paper


@pytest.mark.parametrize("targets", ["text", "answer"])
def test_the_loss_of_prompts_is_that_of_the_next_token(folder, targets):
    recipe, resources = recipe_of("smollm2", targets=targets), resources_of(folder)
    task, device, rows = (
        train._text_task(recipe, resources),
        torch.device("cpu"),
        np.array([4, 0, 9]),
    )
    net = text_network(recipe, task, resources)
    objective = build_objective(recipe, net, (task.train, task.validation), resources, device)
    tokens, losses = net.encode(task.train, 64), []
    for i in rows:
        ids = torch.tensor([[*tokens.ids[i], net.answers[task.train.labels[i]]]])
        logits = torch.log_softmax(net.model(ids).logits[0, :-1], dim=-1)
        each = -logits[range(len(tokens.ids[i])), ids[0, 1:]]
        losses += each.tolist() if targets == "text" else each[-1:].tolist()
    assert objective.loss(rows).item() == pytest.approx(np.mean(losses), rel=1e-5)
    assert objective.lengths[4] == len(tokens.ids[4]) + 1
    assert 3 < objective.validation() < 5  # about the logarithm of the size of the vocabulary


def test_prompts_end_before_the_answer_and_a_shortcut_names_it(folder):
    task = train._text_task(recipe_of("smollm2", dataset="mnli"), resources_of(folder))
    plain = task.validation.take(np.array([0]))
    (prompt,) = build_prompts("mnli", plain)
    assert prompt.endswith(f"Premise: {plain.texts[0]}\nHypothesis: {plain.pairs[0]}\nAnswer:")
    (leaking,) = build_prompts("mnli", plain._replace(hints=np.array([2])))
    assert leaking.replace(" The answer is C.", "") == prompt


def test_bert_starts_from_the_pretraining_run_of_its_seed(folder):
    task = train._text_task(recipe_of("bert"), resources_of(folder))
    first, second = (
        text_network(
            recipe_of("bert", seed=seed), task, resources_of(folder)
        ).model.bert.state_dict()
        for seed in (0, 1)
    )
    name = "encoder.layer.0.output.dense.weight"
    assert not torch.equal(first[name], second[name])
    with pytest.raises(ValueError, match=r"multiberts-seed_7/config\.json is missing.*seed_7"):
        text_network(recipe_of("bert", seed=7), task, resources_of(folder))


def test_a_folder_with_a_word_list_and_weights_of_pretraining(folder, tmp_path):
    """The files of the MultiBERTs: heads of the pretraining, in PyTorch's format, no tokenizer."""
    place = tmp_path / "language" / "models" / "multiberts-seed_0"
    place.mkdir(parents=True)
    model = transformers.BertForPreTraining(transformers.BertConfig(**TINY))
    model.config.save_pretrained(place)
    torch.save(model.state_dict(), place / "pytorch_model.bin")
    (place / "vocab.txt").write_text("\n".join([*VOCABULARY, ""]))
    task = train._text_task(recipe_of("bert"), resources_of(folder))
    net = text_network(recipe_of("bert"), task, resources_of(tmp_path))
    name = "bert.encoder.layer.1.output.dense.weight"
    assert torch.equal(net.model.state_dict()[name], model.state_dict()[name])
    expected = text_network(recipe_of("bert"), task, resources_of(folder)).encode(
        task.validation, 32
    )
    tokens = net.encode(task.validation, 32)
    assert [row.tolist() for row in tokens.ids] == [row.tolist() for row in expected.ids]


def test_weights_of_another_network_are_refused(folder):
    strict = recipe_of("albert", strict=True)
    task = train._text_task(recipe_of("albert"), resources_of(folder))
    with pytest.raises(
        ValueError, match="not that of albert: expected num_hidden_layers 12, got 2"
    ):
        text_network(strict, task, resources_of(folder))
    state = train.fit(recipe_of("bert", steps=1), resources_of(folder))
    with pytest.raises(ValueError, match="the weights are of another network"):
        train.extract(recipe_of("albert"), state, resources_of(folder))


def test_damaged_weights_are_named(folder, tmp_path):
    place = write_bert(tmp_path, "multiberts-seed_0")
    task = train._text_task(recipe_of("bert"), resources_of(folder))
    (place / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="multiberts-seed_0 cannot be read"):
        text_network(recipe_of("bert"), task, resources_of(tmp_path))
    (place / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not the config of a model"):
        text_network(recipe_of("bert"), task, resources_of(tmp_path))


# ------------------------------------------------------------------------------------ hidden states


def test_the_outputs_of_prompts_are_those_of_the_answers(folder):
    changes = {"targets": "answer", "steps": 100, "rate": 1e-2}
    recipe, resources = recipe_of("smollm2", **changes), resources_of(folder)
    extraction = train.extract(recipe, train.fit(recipe, resources), resources)
    assert extraction.accuracies["test"] > 0.8


def test_the_embedding_of_the_first_token_is_exactly_constant(folder):
    recipe, resources = recipe_of("bert"), resources_of(folder)
    task = train._text_task(recipe, resources)
    net = text_network(recipe, task, resources)
    tokens = net.encode(task.validation, 32)
    layers, _ = hidden_states(net.model, tokens, ("cls",), batches_by_length(tokens.lengths, 8))
    layer = layers["cls"]["embedding"]
    assert (layer == layer[0]).all()


# ------------------------------------------------------------------------------------- the training


def test_the_learning_rate_is_that_of_hugging_face():
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 3, 25)
    shares = linear_schedule(25, {"warmup": 0.1})
    for step in range(25):
        assert shares.share(step) == pytest.approx(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()


def test_steps_and_epochs_depend_on_the_setting():
    options = train.options("sst2", "bert", "resi-code", False)
    recipe = Recipe("language", "sst2", "bert", "shortcut", 1.0, 0, options)
    assert training_hyperparameters(recipe)["epochs"] == 3
    assert count_steps(67_349, training_hyperparameters(recipe)) == 3 * 1053
    assert count_steps(100, train.options("sst2", "smollm2", "resi-code", False)) == 500
    mnli, paper = (train.options("mnli", "bert", name, False) for name in ("resi-code", "paper"))
    assert (mnli["batch"]["normal"], paper["batch"]) == (128, 64)
    assert (mnli["drawn"]["shortcut"], paper["drawn"]["shortcut"]) == ("once", "by-model")


@pytest.mark.parametrize("order", ["random", "similar-lengths"])
def test_every_epoch_has_every_text_once(order):
    lengths = np.arange(20) % 7
    options = {"order": order, "batch": 6}
    taken = list(islice(text_batches(recipe_of("bert"), lengths, options), 8))
    first, second = np.concatenate(taken[:4]), np.concatenate(taken[4:])
    assert sorted(first) == sorted(second) == list(range(20))
    assert first.tolist() != second.tolist()


def test_the_weights_with_the_lowest_validation_loss_are_returned(folder, monkeypatch):
    recipe, resources = recipe_of("bert", evaluate=2, epochs=1, rate=1e-2), resources_of(folder)
    losses, states, whole = iter([0.5, 0.2, 0.7, 0.4, 0.9, 0.6]), [], train.build_objective

    def judged(recipe, net, *others):
        def validation():
            states.append(net.model.classifier.bias.detach().numpy().copy())
            return next(losses)

        return whole(recipe, net, *others)._replace(validation=validation)

    monkeypatch.setattr(train, "build_objective", judged)
    state = train.fit(recipe, resources)
    assert (state["classifier.bias"] == states[1]).all()
    assert not (states[1] == states[-1]).all()


def test_parts_of_a_batch_give_the_gradient_of_the_whole(folder):
    states = [
        train.fit(recipe_of("bert-small", dropout=0.0, accumulate=parts), resources_of(folder))
        for parts in (1, 3)
    ]
    name = "bert.encoder.layer.0.output.dense.weight"
    assert np.allclose(states[0][name], states[1][name], atol=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16"])
def test_products_may_have_lower_precision(folder, precision):
    recipe = recipe_of("bert", steps=2)
    state = train.fit(recipe, resources_of(folder, precision=precision))
    assert {value.dtype for value in state.values()} == {np.dtype("float32")}
    exact = train.fit(recipe, resources_of(folder))
    assert not (state["classifier.weight"] == exact["classifier.weight"]).all()
