"""The models that the authors of the ReSi paper released: where each lies in their archive, and
what is refused as one."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
import transformers
from factories.files import Touching
from factories.graph_data import write_cora
from factories.text_data import TINY

from resemblance.bench.training import DATASETS, PaperSubset, archive, dataset_module, paper_recipes
from resemblance.bench.training.graphs import paper as graphs
from resemblance.bench.training.loop import TrainingEnvironment
from resemblance.models.recipe import Recipe


def recipe(dataset, architecture, setting="normal", strength=0.0, seed=0, **more):
    options = dataset_module(dataset, "paper").options(dataset, architecture, reduced=True) | more
    domain = DATASETS[dataset].domain
    return Recipe(domain, dataset, architecture, setting, strength, seed, options)


# data set, architecture, setting, strength, seed; file below the folder of the domain
GRAPHS = [
    ("cora", "gcn", "normal", 0, 2, "GCN/Normal"),
    ("flickr", "sage", "layers", 0, 2, "GraphSAGE/MultiLayer"),
    ("ogbn-arxiv", "gat", "labels", 0.25, 2, "GAT/RandomLabels_25"),
    ("cora", "pgnn", "shortcut", 0.5, 2, "PGNN/Shortcut_50"),
    ("cora", "gcn", "augmentation", 1.0, 2, "GCN/Augmentation_100"),
]
TEXTS = [
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
    ("sst2", "smollm2", "normal", 0, 7, "sst2_seed7"),
    ("sst2", "smollm2", "shortcut", 1.0, 0, "sst2-shortcut_seed0"),
    ("sst2", "smollm2", "shortcut", 0.889, 0, "sst2-shortcut0889_seed0"),
    ("mnli", "smollm2", "shortcut", 1.0, 0, "mnli-shortcut10_seed0"),
    ("mnli", "smollm2", "labels", 1.0, 4, "mnli-mem10_seed4"),
]
IMAGES = [
    ("imagenet100", "resnet18", "normal", 0, 0, "Normal__ImageNet100"),
    ("cifar100", "resnet101", "labels", 0.75, 3, "Randomlabel__RandomLabel_75_C100_DataModule"),
    ("imagenet100", "resnet34", "labels", 0.5, 1, "Randomlabel__RandomLabel_50_IN100_DataModule"),
    ("cifar100", "vgg11", "shortcut", 0.0, 1, "Shortcut__ColorDot_0_C100DataModule"),
    ("imagenet100", "vgg19", "shortcut", 1.0, 4, "Shortcut__ColorDot_100_ImageNet100DataModule"),
    ("cifar100", "vit-l32", "augmentation", 1.0, 1, "GaussNoise__Gauss_Max_CIFAR100DataModule"),
    (
        "imagenet100",
        "vit-b32",
        "augmentation",
        0.25,
        0,
        "GaussNoise__Gauss_S_ImageNet100DataModule",
    ),
    ("imagenet100", "vgg11", "augmentation", 0.5, 0, "GaussNoise__Gauss_M_ImageNet100DataModule"),
]


def test_files_have_the_places_that_the_authors_gave_them(subtests):
    for *which, name in (*GRAPHS, *TEXTS, *IMAGES):
        place = archive.released_file_path(recipe(*which))
        dataset, architecture, seed = which[0], which[1], which[4]
        if architecture == "smollm2":
            name = f"smollm/ft_smollm2_1-7b_{name}_bs16_ff/checkpoint-500"
        title = DATASETS[dataset].architectures[architecture].title
        images = f"vision_models_simbench/{name}__{title.replace('-', '_').replace('/', '')}"
        expected = {
            "graphs": f"graphs/{dataset}/{name}/model_s{seed}.pt",
            "language": f"nlp/{name}/config.json",
            "vision": f"vision/{images}/groupid_{seed}/checkpoints/final.ckpt",
        }
        with subtests.test(name):
            assert place == Path("models", expected[DATASETS[dataset].domain])


def test_every_model_of_the_paper_has_a_file_of_its_own():
    of_the_paper = list(paper_recipes(PaperSubset(hyperparameters="resi-code", reduced=True)))
    assert len({archive.released_file_path(one) for one in of_the_paper}) == len(of_the_paper)
    assert len({one.name for one in of_the_paper}) == len(of_the_paper) == 225 + 14 * 50 + 490


UNTRAINED = [
    (("sst2", "minilm"), "the authors did not train minilm"),
    (("sst2", "smollm2", "augmentation", 1.0), "did not train SmolLM2 with augmentation"),
    (("cifar100", "vgg11", "augmentation", 0.3), "the authors trained no such model"),
]


@pytest.mark.parametrize(("which", "message"), UNTRAINED)
def test_models_that_the_authors_did_not_train_are_refused(which, message):
    with pytest.raises(ValueError, match=message):
        archive.released_file_path(recipe(*which))


@pytest.fixture
def resources(tmp_path) -> TrainingEnvironment:
    write_cora(tmp_path / "data" / "cora")
    return TrainingEnvironment(tmp_path / "data", device="cpu", archive=tmp_path)


def refused(one, resources, message):
    with pytest.raises(ValueError, match=message):
        archive.load_archived_weights(one, resources)


def test_a_missing_file_is_named(resources):
    refused(recipe("cora", "sage", "labels", 0.25), resources, "25/model_s0.pt is missing: unpack")
    refused(recipe("sst2", "bert"), resources, r"finetune0/config\.json is missing: unpack")
    without = resources._replace(archive=None)
    refused(recipe("cora", "gcn"), without, "no folder of released models was named")
    kept = recipe("cora", "pgnn", anchors="of training")
    refused(kept, resources, "the archive has no anchor sets of P-GNN")


def test_files_that_are_no_weights_of_the_network(resources, tmp_path):
    one, marker, bias = recipe("cora", "gcn"), tmp_path / "marker", "convs.1.bias"
    path = tmp_path / "experiments" / archive.released_file_path(one)
    path.parent.mkdir(parents=True)
    before = torch.get_rng_state()
    state = graphs.new_network(one, resources).state_dict()
    torch.set_rng_state(before)
    torch.save(state, path)
    assert archive.load_archived_weights(one, resources).keys() == state.keys()
    assert torch.equal(torch.get_rng_state(), before)  # no random numbers are drawn
    refused(recipe("cora", "gcn", hidden=8), resources, r"not the gcn .* is \(16,\), expected \(8")
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"no weights"):
        path.write_bytes(damaged)
        refused(one, resources, r"model_s0.pt cannot be read as weights \(.")
    unfit = [
        ({name: value for name, value in state.items() if name != bias}, "bias is missing, exp"),
        (state | {"more.bias": state[bias]}, r"more.bias is \(16,\), expected none"),
        (state | {bias: state[bias] * torch.nan}, "convs.1.bias has values .* not finite"),
    ]
    others = [Touching(marker), {"a": Touching(marker)}, [1], torch.zeros(3), {"state_dict": [1]}]
    unfit += [(content, "model_s0.pt cannot be read") for content in others]
    unfit += [(content, "does not hold the weights") for content in ({"a": "b"}, {})]
    for content, message in unfit:
        torch.save(content, path)
        refused(one, resources, message)
    assert not marker.exists()


def test_code_in_a_released_language_model_is_not_run(resources, tmp_path):
    one = recipe("sst2", "bert")
    place = tmp_path / archive.released_file_path(one).parent
    transformers.BertConfig(**TINY).save_pretrained(place)
    (place / "pytorch_model.bin").write_bytes(pickle.dumps(Touching(tmp_path / "marker"), 2))
    refused(one, resources, r"finetune0 cannot be read .* requires to run code.*http")
    assert not (tmp_path / "marker").exists()
