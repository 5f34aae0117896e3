"""The released language models of the ReSi paper: names of their folders, and weights read back."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from factories.files import Touching
from factories.text_data import TINY, save, write_all
from safetensors.torch import load_file, save_file

from resemblance.bench.training import PaperSubset, archive
from resemblance.bench.training import paper_recipes as recipes
from resemblance.bench.training.language import paper
from resemblance.bench.training.language.networks import padded_batch
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe

# dataset, architecture, setting, strength, seed; folder below models/nlp
FOLDERS = [
    ("sst2", "bert", "normal", 0, 3, "bert/standard/sst2_pretrain3_finetune3"),
    ("mnli", "bert", "normal", 0, 9, "bert/standard/glue__mnli_pre9_ft9"),
    ("sst2", "bert", "shortcut", 0.558, 0, "bert/shortcut/sst2_pre0_ft0_scrate0558"),
    ("sst2", "bert", "shortcut", 1.0, 1, "bert/shortcut/sst2_pre1_ft1_scrate10"),
    ("mnli", "bert", "shortcut", 0.8385, 1, "bert/shortcut/glue__mnli_pre1_ft1_scrate08385"),
    ("mnli", "bert", "shortcut", 1.0, 1, "bert/shortcut/glue__mnli_pre1_ft1_scrate1"),
    ("mnli", "albert", "shortcut", 1.0, 1, "albert/shortcut/glue__mnli_pre0_ft1_scrate10"),
    ("sst2", "bert", "labels", 0.75, 0, "bert/memorizing/sst2_pre0_ft0_labels5_strength075"),
    ("sst2", "albert", "labels", 0.75, 0, "albert/memorizing/sst2_pre0_ft6_labels5_strength075"),
    ("sst2", "albert", "labels", 0.75, 4, "albert/memorizing/sst2_pre0_ft4_labels5_strength075"),
    ("sst2", "albert", "labels", 1.0, 0, "albert/memorizing/sst2_pre0_ft0_labels5_strength10"),
    ("mnli", "bert", "labels", 1.0, 0, "bert/memorizing/glue__mnli_pre0_ft0_labels5_strength10"),
    ("sst2", "bert", "augmentation", 1.0, 2, "bert/augmentation/sst2_pre2_ft2_eda_strength10"),
    ("sst2", "albert", "normal", 0, 0, "albert/standard/sst2_pre0_ft123"),
    ("sst2", "albert", "normal", 0, 9, "albert/standard/sst2_pre0_ft132"),
    ("mnli", "albert", "normal", 0, 9, "albert/standard/glue__mnli_pre0_ft9"),
]  # fmt: skip
PROMPTED = [  # dataset, setting, strength, seed; the part of the folder's name that depends on them
    ("sst2", "normal", 0, 7, "sst2_seed7"),
    ("sst2", "shortcut", 1.0, 0, "sst2-shortcut_seed0"),
    ("sst2", "shortcut", 0.889, 0, "sst2-shortcut0889_seed0"),
    ("mnli", "shortcut", 1.0, 0, "mnli-shortcut10_seed0"),
    ("mnli", "labels", 1.0, 4, "mnli-mem10_seed4"),
]


def recipe_of(dataset, architecture, setting="normal", strength=0.0, seed=0):
    options = paper.options(dataset, architecture, "resi-code", True)
    return Recipe("language", dataset, architecture, setting, strength, seed, options)


@pytest.mark.parametrize(
    ("dataset", "architecture", "setting", "strength", "seed", "name"), FOLDERS
)
def test_folders_have_the_names_that_the_authors_gave_them(
    dataset, architecture, setting, strength, seed, name
):
    recipe = recipe_of(dataset, architecture, setting, strength, seed)
    assert archive.released_file_path(recipe).parent == Path("models") / "nlp" / name


@pytest.mark.parametrize(("dataset", "setting", "strength", "seed", "part"), PROMPTED)
def test_folders_of_smollm2(dataset, setting, strength, seed, part):
    place = archive.released_file_path(
        recipe_of(dataset, "smollm2", setting, strength, seed)
    ).parent
    name = f"ft_smollm2_1-7b_{part}_bs16_ff"
    assert place == Path("models") / "nlp" / "smollm" / name / "checkpoint-500"


def test_every_model_of_the_paper_has_a_folder_of_its_own():
    of_the_paper = list(recipes(PaperSubset(datasets=("sst2", "mnli"))))
    folders = {archive.released_file_path(recipe) for recipe in of_the_paper}
    assert len(folders) == len(of_the_paper) == 225


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("texts"), seeds=(0,))


KINDS = {
    "bert": (transformers.BertConfig, transformers.BertForSequenceClassification),
    "albert": (transformers.AlbertConfig, transformers.AlbertForSequenceClassification),
    "smollm2": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
}


@pytest.mark.parametrize(
    ("architecture", "setting", "outputs"),
    [
        ("bert", "normal", 2),
        ("bert", "shortcut", 2),
        ("bert", "labels", 7),
        ("albert", "normal", 2),
        ("smollm2", "normal", 2),
    ],
)
def test_released_weights_have_the_hidden_states_of_the_module_that_wrote_them(
    folder, tmp_path, architecture, setting, outputs
):
    recipe = recipe_of("sst2", architecture, setting, 0.0 if setting == "normal" else 1.0)
    resources = TrainingEnvironment(folder, device="cpu", archive=tmp_path)
    make_config, kind = KINDS[architecture]
    entries = TINY | {"vocab_size": 64 if setting == "shortcut" else TINY["vocab_size"]}
    entries |= {"embedding_size": 8} if architecture == "albert" else {"tie_word_embeddings": True}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = kind(make_config(**entries, num_labels=outputs)).eval()
    save(model, tmp_path / archive.released_file_path(recipe).parent)
    extraction = paper.extract(recipe, archive.load_archived_weights(recipe, resources), resources)
    net = paper.text_network(recipe, paper._text_task(recipe, resources), resources)
    task = paper._text_task(recipe, resources)
    tokens = net.encode(paper.validation_examples(recipe, task.validation, 2), 32)
    with torch.no_grad():
        for i in (0, 17):
            batch = padded_batch(torch, tokens, [i], torch.device("cpu"))
            states = model(**batch, output_hidden_states=True).hidden_states
            place = -1 if architecture == "smollm2" else 0
            layers = extraction.layers["last" if architecture == "smollm2" else "cls"]
            for state, layer in zip(states, layers.values(), strict=True):
                assert np.allclose(layer[i], state[0, place].numpy(), atol=1e-6)
    assert extraction.outputs.shape == (40, outputs)


def test_released_models_that_are_not_there(folder, tmp_path):
    recipe = recipe_of("sst2", "bert")
    with pytest.raises(ValueError, match=r"finetune0/config\.json is missing: unpack"):
        archive.load_archived_weights(recipe, TrainingEnvironment(folder, archive=tmp_path))
    with pytest.raises(ValueError, match="no folder of released models was named"):
        archive.load_archived_weights(recipe, TrainingEnvironment(folder))
    with pytest.raises(ValueError, match="the authors did not train minilm"):
        archive.released_file_path(recipe_of("sst2", "minilm"))
    with pytest.raises(ValueError, match="did not train SmolLM2 with augmentation"):
        archive.released_file_path(recipe_of("sst2", "smollm2", "augmentation", 1.0))


def test_a_released_model_with_other_outputs_is_refused(folder, tmp_path):
    recipe = recipe_of("sst2", "bert", "labels", 1.0)
    resources = TrainingEnvironment(folder, device="cpu", archive=tmp_path)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**TINY))
    save(model, tmp_path / archive.released_file_path(recipe).parent)
    with pytest.raises(ValueError, match=r"classifier\.bias has shape \(2,\), expected \(7,\)"):
        paper.extract(recipe, archive.load_archived_weights(recipe, resources), resources)


def test_a_released_model_without_some_of_its_weights_is_refused(folder, tmp_path):
    """The library would draw them at random."""
    recipe = recipe_of("sst2", "bert")
    place = tmp_path / archive.released_file_path(recipe).parent
    save(transformers.BertForSequenceClassification(transformers.BertConfig(**TINY)), place)
    state = load_file(place / "model.safetensors")
    save_file(
        {name: weight for name, weight in state.items() if not name.startswith("classifier")},
        place / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ValueError, match=r"finetune0 lacks 2 weights .*classifier\.bias.*http"):
        archive.load_archived_weights(recipe, TrainingEnvironment(folder, archive=tmp_path))


def test_a_released_model_of_another_kind_or_with_code_is_refused(folder, tmp_path):
    recipe, resources = recipe_of("sst2", "bert"), TrainingEnvironment(folder, archive=tmp_path)
    place = tmp_path / archive.released_file_path(recipe).parent
    transformers.AlbertConfig(**TINY).save_pretrained(place)
    with pytest.raises(ValueError, match="expected model_type 'bert', got 'albert'"):
        archive.load_archived_weights(recipe, resources)
    transformers.BertConfig(**TINY).save_pretrained(place)
    (place / "pytorch_model.bin").write_bytes(pickle.dumps(Touching(tmp_path / "marker"), 2))
    with pytest.raises(ValueError, match=r"finetune0 cannot be read .* asks for code .*http"):
        archive.load_archived_weights(recipe, resources)
    assert not (tmp_path / "marker").exists()
