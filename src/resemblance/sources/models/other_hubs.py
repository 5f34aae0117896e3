"""Pretrained models of images, by their names in timm and torchvision."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...extras import need

Loaded = tuple[Any, Any, dict[str, Any]]


def timm(name: str, kind: str | None) -> Loaded:
    """Return a pretrained model of timm and the transform of one image."""
    create = _package("timm")
    data = importlib.import_module("timm.data")
    model = _pretrained(lambda: create.create_model(name, pretrained=True), "timm", name)
    config = data.resolve_data_config({}, model=model)
    transform = data.create_transform(**config)
    return model, _of_images(transform), {"weights": "pretrained", "transform": repr(transform)}


def torchvision(name: str, kind: str | None) -> Loaded:
    """Return a model of torchvision with its default weights, and their transform of one image."""
    _package("torchvision")
    models = importlib.import_module("torchvision.models")
    model = _pretrained(lambda: models.get_model(name, weights="DEFAULT"), "torchvision", name)
    weights = models.get_model_weights(name).DEFAULT
    transform = weights.transforms()
    return model, _of_images(transform), {"weights": str(weights), "transform": repr(transform)}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed: pip install {name}") from error


def _pretrained(create: Callable[[], Any], hub: str, name: str) -> Any:
    """Return a model from a hub; ``ValueError`` with the remedy for whatever goes wrong there."""
    try:
        return create()
    except Exception as error:  # unknown names, missing files, no network
        raise ValueError(
            f"load_model: {hub} cannot load {name!r} ({type(error).__name__}: {error}); check the "
            "name, and download its weights once where there is a network"
        ) from error


def _of_images(transform: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    def prepare(images: list[Any]) -> Any:
        return need("torch").stack([transform(image) for image in images])

    return prepare
