"""The trained vision models that the authors of ReSi published, in place of training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....extras import need
from ....json_files import read_document
from ...recipe import Recipe
from ..loop import Resources
from ..released import released, weights_in
from .pretrained import VITS, build, configuration

MODELS = Path("models", "vision", "vision_models_simbench")
DATASETS = {"imagenet100": "ImageNet100", "cifar100": "CIFAR100"}
SHORT = {"imagenet100": "IN100", "cifar100": "C100"}
ARCHITECTURES = {
    "resnet18": "ResNet18", "resnet34": "ResNet34", "resnet101": "ResNet101", "vgg11": "VGG11",
    "vgg19": "VGG19", "vit-b32": "ViT_B32", "vit-l32": "ViT_L32",
}  # fmt: skip
MOST_WORDS = 2  # that stand before the names of weights, such as "net." of what trained them
NOISE = {0: "Off", 25: "S", 50: "M", 75: "L", 100: "Max"}
# What transformers calls parts of a vision transformer since version 5, and called them before
RENAMED = (
    (r"^vit\.encoder\.layer\.", "vit.layers."),
    (r"\.attention\.attention\.(query|key|value)\.", r".attention.\1."),
    (r"\.attention\.query\.", ".attention.q_proj."),
    (r"\.attention\.key\.", ".attention.k_proj."),
    (r"\.attention\.value\.", ".attention.v_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"(\.\d+)\.output\.dense\.", r"\1.mlp.fc2."),
)


def load(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Return the weights of the authors' model for a recipe, by the names of our networks.

    The archive is the authors' folder ``experiments``, or has it: its models lie in
    ``models/vision/vision_models_simbench/<setting>__<data>__<architecture>/groupid_<seed>`` as
    ``checkpoints/final.ckpt``, with what they were trained with in ``output.json``. Weights of ViT
    have the names of transformers before version 5 there. Files are read without running anything
    that they may ask for. Of the recipe's options only those of the network matter.

    Raises ``ValueError`` that names the file if it is missing, cannot be read, or is of another
    network. Reference: Klabunde et al. (ICLR 2025).
    """
    place = MODELS / folder_name(recipe) / f"groupid_{recipe.seed}"
    file = released(recipe, resources, place / "checkpoints" / "final.ckpt")
    folder = file.parents[1]
    if (folder / "output.json").is_file():
        read_document(
            folder / "output.json", lambda facts: _check_facts(recipe, facts), "a summary"
        )
    network = _network(recipe, resources)
    return _renamed(file, weights_in(file), network.state_dict())


def folder_name(recipe: Recipe) -> str:
    """Return the name of the authors' folder with the models of a recipe of every seed.

    Raises ``ValueError`` for a setting or strength that they did not train.
    """
    percent, dataset = round(100 * recipe.strength), DATASETS[recipe.dataset]
    names = {
        "normal": f"Normal__{dataset}",
        "labels": f"Randomlabel__RandomLabel_{percent}_{SHORT[recipe.dataset]}_DataModule",
        "shortcut": f"Shortcut__ColorDot_{percent}_{_of_dots(recipe.dataset)}DataModule",
        "augmentation": f"GaussNoise__Gauss_{NOISE.get(percent)}_{dataset}DataModule",
    }
    if recipe.setting not in names or percent not in NOISE:
        raise ValueError(f"{recipe.name}: the authors trained no such model")
    return f"{names[recipe.setting]}__{ARCHITECTURES[recipe.architecture]}"


def _of_dots(dataset: str) -> str:
    return "C100" if dataset == "cifar100" else DATASETS[dataset]


def _network(recipe: Recipe, resources: Resources) -> Any:
    """Return the network of a recipe, on the meta device: names and shapes without weights."""
    config = None
    if recipe.architecture in VITS:
        config = configuration(recipe.architecture, recipe.options, resources)
    with need("torch").device("meta"):
        return build(recipe.architecture, recipe.options, config)


def _check_facts(recipe: Recipe, facts: Any) -> None:
    if not isinstance(facts, dict):
        raise ValueError("it has no entries by name")
    options = recipe.options
    expected = {"n_cls": options["classes"], "early_downsampling": options.get("early")}
    expected["global_average_pooling"] = options.get("pool")
    for name, value in expected.items():
        if value is not None and name in facts and facts[name] != value:
            raise ValueError(f"{name} is {facts[name]!r}, not {value!r}")


def _renamed(
    file: Path, tensors: Mapping[str, Any], network: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return the weights of a file by the names of our network; its first words may differ."""
    weights = {_our_name(name, network): value for name, value in tensors.items()}
    absent, strange = sorted(network.keys() - weights.keys()), sorted(weights.keys() - network)
    if absent or strange or len(weights) < len(tensors):
        raise ValueError(
            f"{file} is of another network: it has {len(strange)} other weights "
            f"({_first(strange)}) and lacks {len(absent)} ({_first(absent)})"
        )
    for name, value in weights.items():
        if value.shape != network[name].shape:
            raise ValueError(
                f"{file} is of another network: {name} is {tuple(value.shape)}, not "
                f"{tuple(network[name].shape)}"
            )
    return {name: weights[name].to(network[name].dtype).numpy() for name in network}


def _our_name(name: str, network: Mapping[str, Any]) -> str:
    """Return a name as our network has it: as transformers says it today, and without up to two
    words of what held the network; or the name itself if our network has none."""
    for words in range(MOST_WORDS + 1):
        shorter = name.split(".", words)[-1]
        today = shorter
        for before, now in RENAMED:
            today = re.sub(before, now, today)
        for candidate in (shorter, today):
            if candidate in network:
                return candidate
    return name


def _first(names: list[str]) -> str:
    return names[0] if names else "none"
