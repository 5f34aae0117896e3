"""Vision transformers from the folders of their pretrained weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....extras import need
from ..resources import Resources

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
    return _read(architecture, resources, transformers.ViTConfig.from_pretrained)


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
    body = _read(architecture, resources, _body_of)
    for option, name in SIZES.items():
        wanted, got = getattr(model.config, name), getattr(body.config, name)
        if wanted != got:
            raise ValueError(
                f"{folder_of(architecture, resources.data)} is not {FOLDERS[architecture]}: "
                f"expected {option} {wanted}, got {got}; get it from {_origin(architecture)}"
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


def _body_of(folder: Path, **options: Any) -> Any:
    with silent():
        return need("transformers").ViTModel.from_pretrained(
            folder, add_pooling_layer=False, **options
        )


def _read(architecture: str, resources: Resources, reader: Any) -> Any:
    folder, origin = folder_of(architecture, resources.data), _origin(architecture)
    if resources.download and not folder.is_dir():
        whole = need("transformers").ViTModel.from_pretrained(f"google/{FOLDERS[architecture]}")
        whole.save_pretrained(folder)
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"{folder / 'config.json'} is missing: put the files of {origin} into that folder"
        )
    try:
        return reader(folder, local_files_only=True)
    except Exception as error:  # whatever a damaged file causes in the library
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{folder} is not a vision transformer that can be read ({reason}); get it from "
            f"{origin}"
        ) from error


def _origin(architecture: str) -> str:
    return f"https://huggingface.co/google/{FOLDERS[architecture]}"


@contextmanager
def silent() -> Iterator[None]:
    """Keep the library from reporting that the weights of the pooling layer are left out."""
    logging = need("transformers").utils.logging
    level, shows = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows:
            logging.enable_progress_bar()
