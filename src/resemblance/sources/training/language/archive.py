"""The language models that the authors of the ReSi paper trained and released."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....extras import need
from ...recipe import Recipe
from ...transformer_files import read_model
from ..loop import Resources
from ..released import ORIGIN, released
from .pretrained import check_config, kind_of

_KINDS = {
    "normal": "standard",
    "labels": "memorizing",
    "shortcut": "shortcut",
    "augmentation": "augmentation",
}
_FIRST_SEED = 123  # of the normal ALBERT models on SST-2


def load(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Return the weights, by name, of the released model that takes the place of a recipe.

    ``resources.archive`` is the folder ``experiments`` of the archive, with ``models/nlp``. The
    folders there have the weights only; tokenizers and configs are those of the pretrained models
    (see :data:`.models.PRETRAINED`), whose weights are not needed. Some of the released models have
    other seeds than their places suggest: the normal ALBERT models on SST-2 have 123 to 132, and of
    those with 75 % random labels the one of seed 6 takes the place of 0. The prompts of SmolLM2
    here are not, word for word, those that it was trained on.

    Raises ``ValueError`` that names the file or folder when it is missing, damaged, of another kind
    or without some of the weights, and when none was released for this recipe.
    """
    config = released(recipe, resources, folder_of(recipe, Path()) / "config.json")
    check_config(config, recipe, kind_of(recipe), ORIGIN)
    transformers = need("transformers")
    is_prompted = recipe.architecture == "smollm2"
    kind = transformers.AutoModelForCausalLM
    kind = kind if is_prompted else transformers.AutoModelForSequenceClassification
    model, _ = read_model(
        kind,
        config.parent,
        f"get it from {ORIGIN}",
        lambda name: False,
        dtype=need("torch").float32,
        local_files_only=True,
    )
    return {name: weight.detach().numpy() for name, weight in model.named_parameters()}


def folder_of(recipe: Recipe, archive: Path) -> Path:
    """Return the folder of the released model of a recipe, whether it is there or not.

    Raises ``ValueError`` for an architecture that the authors did not train.
    """
    if recipe.architecture == "smollm2":
        return archive / "models" / "nlp" / "smollm" / _prompted(recipe) / "checkpoint-500"
    if recipe.architecture not in ("bert", "albert"):
        raise ValueError(
            f"the authors did not train {recipe.architecture}; it is trained without their archive"
        )
    place = archive / "models" / "nlp" / recipe.architecture / _KINDS[recipe.setting]
    return place / f"{_stem(recipe)}{_ending(recipe)}"


def _stem(recipe: Recipe) -> str:
    """Return the part of a folder's name that says which data, pretraining and seed."""
    is_albert, seed = recipe.architecture == "albert", recipe.seed
    if recipe.dataset == "sst2" and recipe.setting == "normal":
        if not is_albert:
            return f"sst2_pretrain{seed}_finetune{seed}"
        seed += _FIRST_SEED
    if is_albert and recipe.dataset == "sst2" and (recipe.setting, seed) == ("labels", 0):
        seed = 6 if recipe.strength == 0.75 else seed
    data = "sst2" if recipe.dataset == "sst2" else "glue__mnli"
    return f"{data}_pre{0 if is_albert else seed}_ft{seed}"


def _ending(recipe: Recipe) -> str:
    """Return the part of a folder's name that says what was done to the data."""
    rate = _digits(recipe.strength)
    if (recipe.architecture, recipe.dataset, rate) == ("bert", "mnli", "10"):
        rate = "1" if recipe.setting == "shortcut" else rate
    endings = {
        "normal": "",
        "labels": f"_labels5_strength{rate}",
        "shortcut": f"_scrate{rate}",
        "augmentation": f"_eda_strength{rate}",
    }
    return endings[recipe.setting]


def _prompted(recipe: Recipe) -> str:
    """Return the name of the folder of a SmolLM2 model."""
    rate = _digits(recipe.strength)
    if recipe.dataset == "sst2" and recipe.setting == "shortcut" and rate == "10":
        rate = ""
    data = {"normal": "", "labels": f"-mem{rate}", "shortcut": f"-shortcut{rate}"}
    if recipe.setting not in data:
        raise ValueError(f"{recipe.name}: the authors did not train SmolLM2 with augmentation")
    kind = f"{recipe.dataset}{data[recipe.setting]}"
    return f"ft_smollm2_1-7b_{kind}_seed{recipe.seed}_bs16_ff"


def _digits(strength: float) -> str:
    """Return a share as the names of folders have it: 0.558 is "0558", 1 is "10"."""
    return f"{strength:.10g}".replace(".", "") if strength % 1 else f"{strength:.0f}0"
