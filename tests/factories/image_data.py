"""Small data in the exact layout of CIFAR-100, ImageNet-100, pretrained vision transformers, and
the archive of ReSi's authors."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image

from resemblance.base.rng import generator
from resemblance.bench.training.vision.data import IMAGENET100_CLASSES
from resemblance.bench.training.vision.pretrained import VIT_FOLDERS
from resemblance.models.transformer_files import silence_transformers


class Python2Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes pickles as Python 2 and NumPy 1 did, with text and bytes alike."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def save_old_string(self, text: str | bytes) -> None:
        content = text.encode("latin1") if isinstance(text, str) else text
        self.write(b"T" + struct.pack("<i", len(content)) + content)
        self.memoize(text)

    dispatch[bytes] = dispatch[str] = save_old_string


def old_pickle(file: Path, content: Any) -> None:
    with file.open("wb") as stream:
        Python2Pickler(stream, protocol=2).dump(content)
    text = file.read_bytes()
    file.write_bytes(text.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))


def class_images(labels: np.ndarray, side: int, *purpose: str) -> np.ndarray:
    """Images (n, side, side, 3) that show their classes: a pattern of each with noise."""
    patterns = generator(0, "patterns").integers(0, 256, (100, 4, 4, 3))
    blocks = patterns[labels].repeat(side // 4, axis=1).repeat(side // 4, axis=2)
    noise = generator(0, "noise", *purpose).integers(-20, 20, blocks.shape)
    return np.clip(blocks + noise, 0, 255).astype(np.uint8)


def make_cifar100(data: Path, train: int = 250, test: int = 40, classes: int = 100) -> Path:
    folder = data / "vision" / "cifar-100-python"
    folder.mkdir(parents=True)
    for part, count in (("train", train), ("test", test)):
        labels = np.arange(count) % classes
        images = class_images(labels, 32, part)
        content = {
            "filenames": [f"image_{i}.png" for i in range(count)],
            "batch_label": f"{part}ing batch 1 of 1",
            "fine_labels": labels.tolist(),
            "coarse_labels": (labels // 5).tolist(),
            "data": images.transpose(0, 3, 1, 2).reshape(count, -1),
        }
        old_pickle(folder / part, content)
    names = {"fine_label_names": [f"class_{k}" for k in range(100)]}
    old_pickle(folder / "meta", names | {"coarse_label_names": [f"k_{k}" for k in range(20)]})
    return folder


def make_imagenet100(data: Path, train: int = 2, val: int = 1) -> Path:
    folder = data / "vision" / "imagenet100"
    for part, count in (("train", train), ("val", val)):
        labels = np.arange(100).repeat(count)
        for i, (label, image) in enumerate(zip(labels, class_images(labels, 40, part))):
            place = folder / part / IMAGENET100_CLASSES[label]
            place.mkdir(parents=True, exist_ok=True)
            # Neither square nor all of one size
            Image.fromarray(image[: 40 - i % 5, : 36 + i % 3]).save(
                place / f"{IMAGENET100_CLASSES[label]}_{i}.JPEG", format="JPEG"
            )
    return folder


def make_vit(data: Path, architecture: str, layers: int = 7) -> Path:
    """A tiny transformer in the folder of the pretrained one, as its first authors saved it: with a
    pooling layer."""
    from transformers import ViTConfig, ViTModel

    folder = data / "vision" / "models" / VIT_FOLDERS[architecture]
    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=64,
        patch_size=32,
    )
    with torch.random.fork_rng(devices=[]), silence_transformers():
        torch.manual_seed(0)
        ViTModel(config, add_pooling_layer=True).save_pretrained(folder)
    return folder


def make_archive(file: Path, weights: Mapping[str, Any], facts: Mapping[str, Any]) -> Path:
    """Write a model and, where the authors have it, what it was trained with; return the latter."""
    file.parent.mkdir(parents=True)
    torch.save(dict(weights), file)
    summary = file.parents[1] / "output.json"
    summary.write_text(json.dumps(facts))
    return summary
