"""The hyperparameters of the vision models of the ReSi paper."""

from __future__ import annotations

from typing import Any

from .models import RESNETS, VGGS, VITS

Options = dict[str, Any]

_IMAGES: dict[str, Options] = {
    "imagenet100": {
        "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "crop": "resized",
        "policy": "imagenet", "cutout": 0, "dot": 5, "dotted": "resized", "coins": 1,
        "shuffle": 32,
        "left_out": {"normal": [10, 0], "labels": [10, 0], "shortcut": [0, 5],
                     "augmentation": [10, 5]},
    },
    "cifar100": {
        "mean": [0.4914, 0.4822, 0.4465], "std": [0.2023, 0.1994, 0.2010], "crop": "padded",
        "policy": "cifar10", "cutout": 16, "dot": 3, "dotted": "original", "coins": 2,
        "shuffle": None,
        "left_out": {"normal": [0, 5], "labels": [0, 5], "shortcut": [0, 5],
                     "augmentation": [0, 5]},
    },
}  # fmt: skip
_CORRUPTIONS: Options = {
    "dot_seed": 123, "colours": "hues",
    "noise": 4000.0, "noise_crop": [0.75, 1.0], "noise_size": "sampled",
}  # fmt: skip
_SGD: Options = {
    "optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "epochs": 200, "warmup": 0,
    "batch": 128, "accumulate": 1, "label_smoothing": 0.0, "gradient_clip": 0.0,
}  # fmt: skip
_ADAMW: Options = {
    "optimizer": "adamw", "lr": 3e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.1,
    "epochs": 300, "warmup": 35, "batch": 128, "accumulate": 4,
    "label_smoothing": 0.0, "gradient_clip": 0.0,
}  # fmt: skip
_DECAY = {"imagenet100": 4e-5, "cifar100": 5e-4}
_VITS: dict[str, Options] = {
    "vit-b32": {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072},
    "vit-l32": {"hidden": 1024, "layers": 24, "heads": 16, "intermediate": 4096},
}
COMPARED = {"resnet18": 5, "vgg11": 5}  # layers at the end that the test of layers compares; else 6
_SHORT = {"resnet18": [1, 1, 1, 1], "resnet34": [1, 1, 2, 1], "resnet101": [1, 1, 2, 1]}


def hyperparameters_of(dataset: str, architecture: str, kind: str, reduced: bool) -> Options:
    """Return the options of a model; see :func:`.train.options`."""
    result = _CORRUPTIONS | _IMAGES[dataset] | _sizes(dataset, architecture)
    result |= _optimization(dataset, architecture)
    result |= {"hyperparameters": kind, "strict": True, "most": None, "classes": 100}
    result |= {"compared": COMPARED.get(architecture, 6), "hooks": None}
    result |= _as_coded(architecture) if kind == "resi-code" else _as_meant(dataset, architecture)
    return result | _reduced(dataset, architecture) if reduced else result


def _sizes(dataset: str, architecture: str) -> Options:
    early = dataset == "imagenet100"
    if architecture in VITS:
        return _VITS[architecture] | {"patch": 32, "size": 224}
    depths = RESNETS[architecture][1] if architecture in RESNETS else VGGS[architecture]
    shape = {"size": 224 if early else 32, "width": 64, "depths": list(depths)}
    return shape | {"early": early, "pool": 5 if early else 4}


def _optimization(dataset: str, architecture: str) -> Options:
    if architecture in VITS and dataset == "imagenet100":
        return _ADAMW
    return _SGD | {"weight_decay": _DECAY[dataset]}


def _as_coded(architecture: str) -> Options:
    return {"hooks": 13} if architecture == "vit-l32" else {}


def _as_meant(dataset: str, architecture: str) -> Options:
    smoothing = 0.1 if dataset == "imagenet100" else 0.0
    clip = 1.0 if architecture in VITS and dataset == "imagenet100" else 0.0
    return {"coins": 1, "dot_seed": None, "colours": "drawn"} | {
        "label_smoothing": smoothing,
        "gradient_clip": clip,
    }


def _reduced(dataset: str, architecture: str) -> Options:
    result: Options = {"strict": False, "most": 200, "epochs": 1, "warmup": 0, "batch": 32}
    if architecture in VITS:
        return result | dict.fromkeys(
            ("hidden", "layers", "heads", "intermediate", "patch", "size")
        )
    small = {"size": 64, "pool": 2} if dataset == "imagenet100" else {}
    short = {"depths": _SHORT[architecture]} if architecture in _SHORT else {}
    return result | {"width": 4} | small | short
