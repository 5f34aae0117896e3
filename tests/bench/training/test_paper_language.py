"""Language models of the ReSi paper on made data and tiny pretrained folders: fine-tuning, hidden
states, and weights that the authors released."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from factories.text_data import TINY, VOCABULARY, save, write_all, write_bert
from safetensors.torch import load_file, save_file

from resemblance.bench.training import archive
from resemblance.bench.training.language import paper
from resemblance.bench.training.language.data import read, validation_examples
from resemblance.bench.training.language.networks import padded_batch
from resemblance.bench.training.language.objective import (
    build_objective,
    count_steps,
    linear_schedule,
    lower_states,
    training_hyperparameters,
    upper_logits,
)
from resemblance.bench.training.language.pretrained import text_network
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def resources(tmp_path_factory):
    return TrainingEnvironment(write_all(tmp_path_factory.mktemp("texts")), device="cpu")


@pytest.fixture(scope="module")
def task(resources):
    return read("sst2", resources.data, strict=False)


def recipe_of(architecture, setting="normal", strength=0.0, seed=0, dataset="sst2", **changes):
    options = paper.options(dataset, architecture, "resi-code", True) | changes
    return Recipe("language", dataset, architecture, setting, strength, seed, options)


# -------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize(
    ("architecture", "changes"),
    [
        ("minilm", {"epochs": 10, "rate": 1e-2, "tokens": 32}),
        ("bert-small", {"epochs": 10, "rate": 1e-2, "tokens": 32}),
        ("smollm2", {"targets": "answer", "steps": 100, "rate": 1e-2}),
    ],
)
def test_a_model_learns_the_task(resources, architecture, changes):
    recipe = recipe_of(architecture, **changes)
    seen = paper.extract(recipe, paper.fit(recipe, resources), resources)
    assert seen.accuracies["test"] > 0.8


# ------------------------------------------------------------------------------ frozen lower layers


def test_the_upper_layers_on_stored_states_are_the_whole_model(resources, task, tmp_path):
    model, encode, _ = text_network(recipe_of("minilm"), task, resources)
    tokens, rows = encode(task.validation, 32), [3, 0, 11, 5]
    with torch.no_grad():
        whole = model(**padded_batch(torch, tokens, rows, CPU)).logits
        for damage in (None, None, b"damaged"):  # computed, read, and computed again
            logits = upper_logits(model, tokens, 1, tmp_path, CPU)(np.array(rows))
            assert torch.allclose(logits, whole, atol=1e-6)
            (file,) = tmp_path.iterdir()
            if damage:
                file.write_bytes(damage)
    others = lower_states(model, encode(task.train, 32), 1, tmp_path, CPU)
    assert len(others) == encode(task.train, 32).lengths.sum()


# ----------------------------------------------------------------------- architectures of the paper


@pytest.mark.parametrize("targets", ["text", "answer"])
def test_the_loss_of_prompts_is_that_of_the_next_token(resources, task, targets):
    recipe, rows = recipe_of("smollm2", targets=targets), np.array([4, 0, 9])
    net = text_network(recipe, task, resources)
    objective = build_objective(recipe, net, (task.train, task.validation), resources, CPU)
    tokens, losses = net.encode(task.train, 64), []
    for i in rows:
        ids = torch.tensor([[*tokens.ids[i], net.answers[task.train.labels[i]]]])
        logits = torch.log_softmax(net.model(ids).logits[0, :-1], dim=-1)
        each = -logits[range(len(tokens.ids[i])), ids[0, 1:]]
        losses += each.tolist() if targets == "text" else each[-1:].tolist()
    assert objective.loss(rows).item() == pytest.approx(np.mean(losses), rel=1e-5)
    assert objective.lengths[4] == len(tokens.ids[4]) + 1
    assert 3 < objective.validation() < 5  # about the logarithm of the size of the vocabulary


def test_shortcuts_are_tokens_and_embeddings_a_multiple_of_64(resources, task):
    recipe, first = recipe_of("bert", "shortcut", 1.0), len(VOCABULARY)
    net = text_network(recipe, task, resources)
    ids = net.encode(task.validation._replace(hints=task.validation.labels), 64).ids
    assert [int(row[1]) - first for row in ids] == task.validation.labels.tolist()
    weights = net.model.get_input_embeddings().weight
    again = text_network(recipe._replace(strength=0.5), task, resources).model
    assert weights.shape[0] == 64
    assert torch.equal(weights, again.get_input_embeddings().weight)


def test_a_folder_with_a_word_list_and_weights_of_pretraining(resources, task, tmp_path):
    """The files of the MultiBERTs: heads of the pretraining, in PyTorch's format, no tokenizer."""
    place = tmp_path / "language" / "models" / "multiberts-seed_0"
    place.mkdir(parents=True)
    model = transformers.BertForPreTraining(transformers.BertConfig(**TINY))
    model.config.save_pretrained(place)
    torch.save(model.state_dict(), place / "pytorch_model.bin")
    (place / "vocab.txt").write_text("\n".join([*VOCABULARY, ""]))
    net = text_network(recipe_of("bert"), task, resources._replace(data=tmp_path))
    name = "bert.encoder.layer.1.output.dense.weight"
    assert torch.equal(net.model.state_dict()[name], model.state_dict()[name])
    usual = text_network(recipe_of("bert"), task, resources).encode(task.validation, 32)
    tokens = net.encode(task.validation, 32)
    assert [row.tolist() for row in tokens.ids] == [row.tolist() for row in usual.ids]


def test_weights_that_are_missing_damaged_or_of_another_network_are_refused(
    resources, task, tmp_path
):
    with pytest.raises(ValueError, match=r"multiberts-seed_7/config\.json is missing.*seed_7"):
        text_network(recipe_of("bert", seed=7), task, resources)
    with pytest.raises(ValueError, match="that of albert: expected num_hidden_layers 12, got 2"):
        text_network(recipe_of("albert", strict=True), task, resources)
    wrong = {"classifier.bias": np.zeros(9, np.float32)}
    for architecture in ("albert", "minilm"):
        with pytest.raises(ValueError, match="the weights are of another network"):
            paper.extract(recipe_of(architecture), wrong, resources)
    place, where = write_bert(tmp_path, "multiberts-seed_0"), resources._replace(data=tmp_path)
    (place / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="multiberts-seed_0 cannot be read"):
        text_network(recipe_of("bert"), task, where)
    (place / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not the config of a model"):
        text_network(recipe_of("bert"), task, where)


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
    options = paper.options("sst2", "bert", "resi-code", False)
    recipe = Recipe("language", "sst2", "bert", "shortcut", 1.0, 0, options)
    assert training_hyperparameters(recipe)["epochs"] == 3
    assert count_steps(67_349, training_hyperparameters(recipe)) == 3 * 1053
    assert count_steps(100, paper.options("sst2", "smollm2", "resi-code", False)) == 500
    mnli, text = (paper.options("mnli", "bert", name, False) for name in ("resi-code", "paper"))
    assert (mnli["batch"]["normal"], text["batch"]) == (128, 64)
    assert (mnli["drawn"]["shortcut"], text["drawn"]["shortcut"]) == ("once", "by-model")


def test_the_weights_with_the_lowest_validation_loss_are_returned(resources, monkeypatch):
    losses, states, whole = iter([0.5, 0.2, 0.7, 0.4, 0.9, 0.6]), [], paper.build_objective

    def judged(recipe, net, *others):
        def validation():
            states.append(net.model.classifier.bias.detach().numpy().copy())
            return next(losses)

        return whole(recipe, net, *others)._replace(validation=validation)

    monkeypatch.setattr(paper, "build_objective", judged)
    state = paper.fit(recipe_of("bert", evaluate=2, epochs=1, rate=1e-2), resources)
    assert (state["classifier.bias"] == states[1]).all()
    assert not (states[1] == states[-1]).all()


def test_parts_of_a_batch_give_the_gradient_of_the_whole(resources):
    whole, parts = (
        paper.fit(recipe_of("bert-small", dropout=0.0, accumulate=count), resources)
        for count in (1, 3)
    )
    name = "bert.encoder.layer.0.output.dense.weight"
    assert np.allclose(whole[name], parts[name], atol=1e-5)


def test_products_may_have_lower_precision(resources):
    low, full = (
        paper.fit(recipe_of("bert", steps=2), resources._replace(precision=precision))
        for precision in ("bfloat16", "float32")
    )
    assert {value.dtype for value in low.values()} == {np.dtype("float32")}
    assert not (low["classifier.weight"] == full["classifier.weight"]).all()
    with pytest.raises(ValueError, match="float16 needs an accelerator"):
        paper.fit(recipe_of("bert", steps=2), resources._replace(precision="float16"))


# ------------------------------------------------------------------------------- released weights

BERT, ALBERT, LLAMA = (
    (transformers.BertConfig, transformers.BertForSequenceClassification),
    (transformers.AlbertConfig, transformers.AlbertForSequenceClassification),
    (transformers.LlamaConfig, transformers.LlamaForCausalLM),
)
RELEASED = [
    (recipe_of("bert"), BERT, {"num_labels": 2}),
    (recipe_of("bert", "shortcut", 1.0), BERT, {"num_labels": 2, "vocab_size": 64}),
    (recipe_of("bert", "labels", 1.0), BERT, {"num_labels": 7}),
    (recipe_of("albert"), ALBERT, {"num_labels": 2, "embedding_size": 8}),
    (recipe_of("smollm2"), LLAMA, {"num_labels": 2, "tie_word_embeddings": True}),
]


@pytest.mark.parametrize(("recipe", "kind", "entries"), RELEASED, ids=range(5))
def test_released_weights_have_the_hidden_states_of_the_module_that_wrote_them(
    resources, task, tmp_path, recipe, kind, entries
):
    where = resources._replace(archive=tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = kind[1](kind[0](**(TINY | entries))).eval()
    save(model, tmp_path / archive.released_file_path(recipe).parent)
    extraction = paper.extract(recipe, archive.load_archived_weights(recipe, where), where)
    net, is_prompted = text_network(recipe, task, where), kind is LLAMA
    tokens = net.encode(validation_examples(recipe, task.validation, 2), 32)
    layers = extraction.layers["last" if is_prompted else "cls"]
    for i in (0, 17):
        with torch.no_grad():
            batch = padded_batch(torch, tokens, [i], CPU)
            states = model(**batch, output_hidden_states=True).hidden_states
        for state, layer in zip(states, layers.values(), strict=True):
            expected = state[0, -1 if is_prompted else 0].numpy()
            assert np.allclose(layer[i], expected, atol=1e-6)
    assert extraction.outputs.shape == (40, entries["num_labels"])


def test_released_models_of_another_kind_or_without_some_weights_are_refused(resources, tmp_path):
    """The library would draw missing weights at random."""
    recipe, where = recipe_of("bert"), resources._replace(archive=tmp_path)
    place = tmp_path / archive.released_file_path(recipe).parent
    save(transformers.BertForSequenceClassification(transformers.BertConfig(**TINY)), place)
    weights = archive.load_archived_weights(recipe, where)
    random = recipe_of("bert", "labels", 1.0)
    with pytest.raises(ValueError, match=r"classifier\.bias has shape \(2,\), expected \(7,\)"):
        paper.extract(random, weights, where)
    state = load_file(place / "model.safetensors")
    kept = {name: value for name, value in state.items() if not name.startswith("classifier")}
    save_file(kept, place / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"finetune0 lacks 2 weights .*classifier\.bias.*http"):
        archive.load_archived_weights(recipe, where)
    transformers.AlbertConfig(**TINY).save_pretrained(place)
    with pytest.raises(ValueError, match="expected model_type 'bert', got 'albert'"):
        archive.load_archived_weights(recipe, where)
