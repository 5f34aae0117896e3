"""Weights that the authors of the ReSi paper trained and released, as a replacement for
training."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.json_files import read_document
from resemblance.models.recipe import Recipe
from resemblance.models.transformer_files import load_error_cause, read_pretrained_model

from .graphs import paper as graphs
from .language.pretrained import check_config, config_kind
from .loop import TrainingEnvironment
from .vision import pretrained as vision

ARCHIVE_ORIGIN = "the authors' archive of trained models, see https://github.com/mklabunde/resi"


def load_archived_weights(recipe: Recipe, resources: TrainingEnvironment) -> dict[str, np.ndarray]:
    """Return the weights of the authors' model for a recipe, under the weight names of our network.

    ``resources.archive`` is the authors' folder ``experiments``, or contains that folder. Reading a
    file never runs code from the file. Of the recipe's options only the network options matter.

    - Graphs: ``models/graphs/<data>/<architecture>/<setting>/model_s<seed>.pt``. The files contain
      no anchor sets, so a P-GNN only gives representations with ``anchors="redrawn"``, as in the
      authors' code.
    - Language: a folder of weights below ``models/nlp``. Tokenizers and configs come from the
      pretrained models; pretrained weights are not needed. The prompts for SmolLM2 here differ in
      wording from the prompts of the authors' training.
    - Vision: ``checkpoints/final.ckpt`` of
      ``models/vision/vision_models_simbench/<setting>__<data>__<architecture>/groupid_<seed>``,
      with the training parameters in ``output.json``.

    Files from older libraries may contain a weight under two names. The function accepts the two
    copies if the values are equal.

    Raises ``ValueError`` with the name of a file that is missing, damaged, or from another network,
    and for a recipe without a released model. Reference: Klabunde et al. (ICLR 2025).
    """
    if recipe.options.get("anchors") == "of training":
        raise ValueError(
            f"{recipe.name}: the archive has no anchor sets of P-GNN; choose the hyperparameters "
            "resi-code, with which they are redrawn"
        )
    file = _find_released_file(recipe, resources)
    if recipe.domain == "language":
        return _language_weights(recipe, file)
    if recipe.domain == "graphs":
        # The device "meta" gives names and shapes without drawing random weights.
        with import_optional("torch").device("meta"):
            network = graphs.new_network(recipe, resources)
        return _renamed_weights(recipe, file, network.state_dict(), _graph_name)
    summary, config = file.parents[1] / "output.json", None
    if summary.is_file():
        read_document(summary, lambda facts: _check_checkpoint_facts(recipe, facts), "a summary")
    if recipe.architecture in vision.VIT_NAMES:
        config = vision.vit_configuration(recipe.architecture, recipe.options, resources)
    with import_optional("torch").device("meta"):
        network = vision.build_image_network(recipe.architecture, recipe.options, config)
    return _renamed_weights(recipe, file, network.state_dict(), _vision_name)


def released_file_path(recipe: Recipe) -> Path:
    """Return the path of a recipe's file below the archive, whether or not the file exists.

    Raises ``ValueError`` for an architecture, setting or strength that the authors did not train.
    """
    places = {"graphs": _graph_file, "language": _language_config_file, "vision": _vision_file}
    return places[recipe.domain](recipe)


def _find_released_file(recipe: Recipe, resources: TrainingEnvironment) -> Path:
    """Return the full path of a recipe's file in the archive; raise ``ValueError`` without an
    archive or without the file."""
    place = released_file_path(recipe)
    if resources.archive is None:
        raise ValueError(
            f"{recipe.name}: no folder of released models was named; get {ARCHIVE_ORIGIN}"
        )
    for root in (resources.archive, resources.archive / "experiments"):
        if (root / place).is_file():
            return root / place
    raise ValueError(
        f"{resources.archive / place} is missing: unpack the file that has it, such as "
        f"normal_imagenet100.zip, so that it is there; it is part of {ARCHIVE_ORIGIN}"
    )


def _renamed_weights(
    recipe: Recipe,
    file: Path,
    network: Mapping[str, Any],
    our_name: Callable[[str, Mapping[str, Any]], str],
) -> dict[str, np.ndarray]:
    """Return the weights in a file under the weight names of our network, with the data types of
    our network.

    ``network``: our weights by name, for names, shapes and data types. ``our_name``: maps a name in
    the file, and ``network``, to our name. Raises ``ValueError`` if a name or a shape differs.
    """
    tensors: dict[str, Any] = {}
    for name, value in weights_in(file).items():
        key = our_name(name, network)
        weight = tensors.setdefault(key, value)
        if weight.shape != value.shape or not bool((weight == value).all()):
            raise ValueError(f"{file} has two different {key}, one of them as {name}")
    shapes, expected = (
        {name: tuple(value.shape) for name, value in part.items()} for part in (tensors, network)
    )
    for name in expected | shapes:
        if expected.get(name) != shapes.get(name):
            raise ValueError(
                f"{file} is not the {recipe.architecture} of this recipe: {name} is "
                f"{shapes.get(name, 'missing')}, expected {expected.get(name, 'none')}"
            )
    return {name: tensors[name].detach().to(network[name].dtype).numpy() for name in network}


def weights_in(path: Path) -> dict[str, Any]:
    """Return the tensors of a PyTorch file by name, including files of Lightning checkpoints.

    ``torch.load(weights_only=True)`` reads the file without running code from the file.

    Raises ``ValueError`` with the name of the file if the file is damaged, contains objects other
    than tensors, or contains values that are not finite.
    """
    torch = import_optional("torch")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights = dict(content.get("state_dict", content))
    except Exception as error:  # a damaged or hostile file may raise anything
        raise ValueError(
            f"{path} cannot be read as weights ({load_error_cause(error)}); download it again from "
            f"{ARCHIVE_ORIGIN}"
        ) from error
    names = [name for name, value in weights.items() if isinstance(value, torch.Tensor)]
    if not names or len(names) < len(weights) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{path} does not hold the weights of one network by name")
    for name, value in weights.items():
        if value.is_floating_point() and not value.isfinite().all():
            raise ValueError(f"{path}: {name} has values that are not finite")
    return weights


# ------------------------------------------------------------------------------------------- graphs

ARCHIVE_GRAPH_MODELS = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "pgnn": "PGNN"}
ARCHIVE_GRAPH_SETTINGS = {"normal": "Normal", "layers": "MultiLayer"}
ARCHIVE_GRAPH_GROUPS = {
    "labels": "RandomLabels",
    "shortcut": "Shortcut",
    "augmentation": "Augmentation",
}


def _graph_file(recipe: Recipe) -> Path:
    setting = ARCHIVE_GRAPH_SETTINGS.get(recipe.setting)
    if setting is None:
        setting = f"{ARCHIVE_GRAPH_GROUPS[recipe.setting]}_{round(100 * recipe.strength)}"
    folder = Path(
        "models", "graphs", recipe.dataset, ARCHIVE_GRAPH_MODELS[recipe.architecture], setting
    )
    return folder / f"model_s{recipe.seed}.pt"


def _graph_name(name: str, network: Mapping[str, Any]) -> str:
    """Return the current name of a weight, whatever the ``network``. PyTorch Geometric before 2.5
    stores the single matrix of a GAT layer twice; the authors' P-GNN stores the first layer
    twice."""
    new_name = name.replace("lin_src.", "lin.").replace("lin_dst.", "lin.")
    return re.sub(r"^init_conv\.", "convs.0.", new_name)


# ----------------------------------------------------------------------------------------- language

_ARCHIVE_SETTINGS = {
    "normal": "standard",
    "labels": "memorizing",
    "shortcut": "shortcut",
    "augmentation": "augmentation",
}
_FIRST_ALBERT_SEED = 123  # the first seed of the normal ALBERT models on SST-2


def _language_weights(recipe: Recipe, config: Path) -> dict[str, np.ndarray]:
    check_config(config, recipe, config_kind(recipe), ARCHIVE_ORIGIN)
    is_prompted = recipe.architecture == "smollm2"
    kind = "AutoModelForCausalLM" if is_prompted else "AutoModelForSequenceClassification"
    model, _ = read_pretrained_model(
        getattr(import_optional("transformers"), kind),
        config.parent,
        f"get it from {ARCHIVE_ORIGIN}",
        lambda name: False,
        dtype=import_optional("torch").float32,
        local_files_only=True,
    )
    return {name: weight.detach().numpy() for name, weight in model.named_parameters()}


def _language_config_file(recipe: Recipe) -> Path:
    """Return the path of the config of a released model, below the archive.

    Some released files have seeds that differ from the seed of the recipe: the normal ALBERT models
    on SST-2 have the seeds 123 to 132, and among the ALBERT models on SST-2 with 75 % random
    labels, seed 6 replaces seed 0.
    """
    models = Path("models", "nlp")
    if recipe.architecture == "smollm2":
        return models / "smollm" / _prompted_folder(recipe) / "checkpoint-500" / "config.json"
    if recipe.architecture not in ("bert", "albert"):
        raise ValueError(
            f"the authors did not train {recipe.architecture}; it is trained without their archive"
        )
    is_albert = recipe.architecture == "albert"
    seed = recipe.seed
    rate = _strength_digits(recipe.strength)
    key = (recipe.architecture, recipe.dataset, recipe.setting)
    stem = f"sst2_pretrain{seed}_finetune{seed}"
    if key != ("bert", "sst2", "normal"):
        seed += _FIRST_ALBERT_SEED if key == ("albert", "sst2", "normal") else 0
        if key == ("albert", "sst2", "labels") and (seed, recipe.strength) == (0, 0.75):
            seed = 6
        data = "sst2" if recipe.dataset == "sst2" else "glue__mnli"
        stem = f"{data}_pre{0 if is_albert else seed}_ft{seed}"
    rate = "1" if (*key, rate) == ("bert", "mnli", "shortcut", "10") else rate
    endings = {
        "normal": "",
        "labels": f"_labels5_strength{rate}",
        "shortcut": f"_scrate{rate}",
        "augmentation": f"_eda_strength{rate}",
    }
    place = models / recipe.architecture / _ARCHIVE_SETTINGS[recipe.setting]
    return place / f"{stem}{endings[recipe.setting]}" / "config.json"


def _prompted_folder(recipe: Recipe) -> str:
    rate = _strength_digits(recipe.strength)
    if recipe.dataset == "sst2" and recipe.setting == "shortcut" and rate == "10":
        rate = ""
    data = {"normal": "", "labels": f"-mem{rate}", "shortcut": f"-shortcut{rate}"}
    if recipe.setting not in data:
        raise ValueError(f"{recipe.name}: the authors did not train SmolLM2 with augmentation")
    kind = f"{recipe.dataset}{data[recipe.setting]}"
    return f"ft_smollm2_1-7b_{kind}_seed{recipe.seed}_bs16_ff"


def _strength_digits(strength: float) -> str:
    """Return a strength as written in folder names: 0.558 is "0558", 1 is "10"."""
    return f"{strength:.10g}".replace(".", "") if strength % 1 else f"{strength:.0f}0"


# ------------------------------------------------------------------------------------------- vision

ARCHIVE_IMAGE_DATA = {"imagenet100": "ImageNet100", "cifar100": "CIFAR100"}
SHORT_DATASET_NAMES = {"imagenet100": "IN100", "cifar100": "C100"}
ARCHIVE_IMAGE_MODELS = {
    "resnet18": "ResNet18", "resnet34": "ResNet34", "resnet101": "ResNet101", "vgg11": "VGG11",
    "vgg19": "VGG19", "vit-b32": "ViT_B32", "vit-l32": "ViT_L32",
}  # fmt: skip
# Weight names may start with prefixes of an enclosing module, such as "net.".
MAX_NAME_PREFIXES = 2
NOISE_FOLDER_NAMES = {0: "Off", 25: "S", 50: "M", 75: "L", 100: "Max"}
# Patterns of weight names of a vision transformer before transformers 5, and the present names
VIT_PART_NAMES = (
    (r"^vit\.encoder\.layer\.", "vit.layers."),
    (r"\.attention\.attention\.(query|key|value)\.", r".attention.\1."),
    (r"\.attention\.query\.", ".attention.q_proj."),
    (r"\.attention\.key\.", ".attention.k_proj."),
    (r"\.attention\.value\.", ".attention.v_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"(\.\d+)\.output\.dense\.", r"\1.mlp.fc2."),
)


def _vision_file(recipe: Recipe) -> Path:
    percent, dataset = round(100 * recipe.strength), ARCHIVE_IMAGE_DATA[recipe.dataset]
    dots = "C100" if recipe.dataset == "cifar100" else dataset
    names = {
        "normal": f"Normal__{dataset}",
        "labels": f"Randomlabel__RandomLabel_{percent}_"
        f"{SHORT_DATASET_NAMES[recipe.dataset]}_DataModule",
        "shortcut": f"Shortcut__ColorDot_{percent}_{dots}DataModule",
        "augmentation": f"GaussNoise__Gauss_{NOISE_FOLDER_NAMES.get(percent)}_{dataset}DataModule",
    }
    if recipe.setting not in names or percent not in NOISE_FOLDER_NAMES:
        raise ValueError(f"{recipe.name}: the authors trained no such model")
    folder = f"{names[recipe.setting]}__{ARCHIVE_IMAGE_MODELS[recipe.architecture]}"
    models = Path("models", "vision", "vision_models_simbench", folder)
    return models / f"groupid_{recipe.seed}" / "checkpoints" / "final.ckpt"


def _check_checkpoint_facts(recipe: Recipe, facts: Any) -> None:
    if not isinstance(facts, dict):
        raise ValueError("it has no entries by name")
    options = recipe.options
    expected = {"n_cls": options["classes"], "early_downsampling": options.get("early")}
    expected["global_average_pooling"] = options.get("pool")
    for name, value in expected.items():
        if value is not None and name in facts and facts[name] != value:
            raise ValueError(f"{name} is {facts[name]!r}, not {value!r}")


def _vision_name(name: str, network: Mapping[str, Any]) -> str:
    """Return the name in our network of a weight called ``name`` in a file.

    ``network``: the weights of our network, by name. The function uses the current names of
    transformers and removes up to two prefixes of an enclosing module. If our network has no
    matching weight, the name stays unchanged.
    """
    for words in range(MAX_NAME_PREFIXES + 1):
        short_name = name.split(".", words)[-1]
        new_name = short_name
        for pattern, replacement in VIT_PART_NAMES:
            new_name = re.sub(pattern, replacement, new_name)
        for candidate in (short_name, new_name):
            if candidate in network:
                return candidate
    return name
