"""Vision transformers from the folders of their pretrained weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....extras import need
from ..resources import Resources
from ..transformer_files import read_folder, read_model

FOLDERS = {"vit-b32": "vit-base-patch32-224-in21k", "vit-l32": "vit-large-patch32-224-in21k"}
# What the configuration of a vision transformer calls the options of its size
SIZES = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "patch": "patch_size",
    "size": "image_size",
}


def folder_of(architecture: str, data: Path) -> Path:
    """Return the folder with the pretrained weights of an architecture."""
    return data / "vision" / "models" / FOLDERS[architecture]


def configuration(architecture: str, options: Mapping[str, Any], resources: Resources) -> Any:
    """Return the configuration of a vision transformer: of the sizes in ``options`` if they have
    any, otherwise that in the folder of its pretrained weights."""
    transformers = need("transformers")
    if options["hidden"] is not None:
        return transformers.ViTConfig(**{SIZES[name]: options[name] for name in SIZES})
    folder = _weights_folder(architecture, resources)
    return read_folder(transformers.ViTConfig, folder, _origin(architecture))


def with_pretrained(
    model: Any, architecture: str, options: Mapping[str, Any], resources: Resources
) -> Any:
    """Return a model whose weights, except those of the classifier, are the pretrained ones.

    They are read from ``vision/models/vit-base-patch32-224-in21k`` in the folder of the data
    (``vit-large-...`` for ViT-L/32), which is as ``save_pretrained`` of transformers writes it, or
    downloaded by that library if that is allowed.

    Raises ``ValueError`` that names the folder if it is missing, damaged, or of another size.
    Reference: Dosovitskiy et al. (ICLR 2021).
    """
    folder, origin = _weights_folder(architecture, resources), _origin(architecture)
    body = read_model(need("transformers").ViTModel, folder, origin, add_pooling_layer=False)
    for option, name in SIZES.items():
        wanted, got = getattr(model.config, name), getattr(body.config, name)
        if wanted != got:
            raise ValueError(
                f"{folder} is not {FOLDERS[architecture]}: expected {option} {wanted}, got {got}; "
                f"get it from {origin}"
            )
    model.vit.load_state_dict(body.state_dict())
    return model


def vision_transformer(config: Any, classes: int) -> Any:
    """Return a freshly initialised vision transformer with a linear classifier of the CLS token."""
    torch, transformers = need("torch"), need("transformers")
    config.num_labels = classes
    model = transformers.ViTForImageClassification(config)
    model.classifier = torch.nn.Linear(config.hidden_size, classes)  # as initialised by PyTorch
    return model


def blocks_of(model: Any) -> Any:
    """Return the blocks of a vision transformer, whatever its library calls them."""
    return model.vit.layers if hasattr(model.vit, "layers") else model.vit.encoder.layer


def _weights_folder(architecture: str, resources: Resources) -> Path:
    """Return the folder with the pretrained weights, after their download if that is allowed."""
    folder = folder_of(architecture, resources.data)
    if resources.download and not folder.is_dir():
        whole = need("transformers").ViTModel.from_pretrained(f"google/{FOLDERS[architecture]}")
        whole.save_pretrained(folder)
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"{folder / 'config.json'} is missing: put the files of {_origin(architecture)} into "
            "that folder"
        )
    return folder


def _origin(architecture: str) -> str:
    return f"https://huggingface.co/google/{FOLDERS[architecture]}"
