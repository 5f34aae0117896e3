"""AutoAugment: pairs of operations on images, learned for ImageNet and for CIFAR-10."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ....extras import need
from .changes import GRAY

Step = tuple[str, float, int]  # operation, probability, magnitude from 0 to 9
LEVELS = 10

# Cubuk et al. (CVPR 2019), tables 7 and 9
POLICIES: Mapping[str, tuple[tuple[Step, Step], ...]] = {
    "cifar10": (
        (("invert", 0.1, 7), ("contrast", 0.2, 6)),
        (("rotate", 0.7, 2), ("translate_x", 0.3, 9)),
        (("sharpness", 0.8, 1), ("sharpness", 0.9, 3)),
        (("shear_y", 0.5, 8), ("translate_y", 0.7, 9)),
        (("autocontrast", 0.5, 8), ("equalize", 0.9, 2)),
        (("shear_y", 0.2, 7), ("posterize", 0.3, 7)),
        (("color", 0.4, 3), ("brightness", 0.6, 7)),
        (("sharpness", 0.3, 9), ("brightness", 0.7, 9)),
        (("equalize", 0.6, 5), ("equalize", 0.5, 1)),
        (("contrast", 0.6, 7), ("sharpness", 0.6, 5)),
        (("color", 0.7, 7), ("translate_x", 0.5, 8)),
        (("equalize", 0.3, 7), ("autocontrast", 0.4, 8)),
        (("translate_y", 0.4, 3), ("sharpness", 0.2, 6)),
        (("brightness", 0.9, 6), ("color", 0.2, 8)),
        (("solarize", 0.5, 2), ("invert", 0.0, 3)),
        (("equalize", 0.2, 0), ("autocontrast", 0.6, 0)),
        (("equalize", 0.2, 8), ("equalize", 0.8, 4)),
        (("color", 0.9, 9), ("equalize", 0.6, 6)),
        (("autocontrast", 0.8, 4), ("solarize", 0.2, 8)),
        (("brightness", 0.1, 3), ("color", 0.7, 0)),
        (("solarize", 0.4, 5), ("autocontrast", 0.9, 3)),
        (("translate_y", 0.9, 9), ("translate_y", 0.7, 9)),
        (("autocontrast", 0.9, 2), ("solarize", 0.8, 3)),
        (("equalize", 0.8, 8), ("invert", 0.1, 3)),
        (("translate_y", 0.7, 9), ("autocontrast", 0.9, 1)),
    ),
    "imagenet": (
        (("posterize", 0.4, 8), ("rotate", 0.6, 9)),
        (("solarize", 0.6, 5), ("autocontrast", 0.6, 5)),
        (("equalize", 0.8, 8), ("equalize", 0.6, 3)),
        (("posterize", 0.6, 7), ("posterize", 0.6, 6)),
        (("equalize", 0.4, 7), ("solarize", 0.2, 4)),
        (("equalize", 0.4, 4), ("rotate", 0.8, 8)),
        (("solarize", 0.6, 3), ("equalize", 0.6, 7)),
        (("posterize", 0.8, 5), ("equalize", 1.0, 2)),
        (("rotate", 0.2, 3), ("solarize", 0.6, 8)),
        (("equalize", 0.6, 8), ("posterize", 0.4, 6)),
        (("rotate", 0.8, 8), ("color", 0.4, 0)),
        (("rotate", 0.4, 9), ("equalize", 0.6, 2)),
        (("equalize", 0.0, 7), ("equalize", 0.8, 8)),
        (("invert", 0.6, 4), ("equalize", 1.0, 8)),
        (("color", 0.6, 4), ("contrast", 1.0, 8)),
        (("rotate", 0.8, 8), ("color", 1.0, 2)),
        (("color", 0.8, 8), ("solarize", 0.8, 7)),
        (("sharpness", 0.4, 7), ("invert", 0.6, 8)),
        (("shear_x", 0.6, 5), ("equalize", 1.0, 9)),
        (("color", 0.4, 0), ("equalize", 0.6, 3)),
        (("equalize", 0.4, 7), ("solarize", 0.2, 4)),
        (("solarize", 0.6, 5), ("autocontrast", 0.6, 5)),
        (("invert", 0.6, 4), ("equalize", 1.0, 8)),
        (("color", 0.6, 4), ("contrast", 1.0, 8)),
        (("equalize", 0.8, 8), ("equalize", 0.6, 3)),
    ),
}
# The amounts at the magnitudes 0 and 9; those between are evenly spaced
AMOUNTS: Mapping[str, tuple[float, float]] = {
    "shear_x": (0.0, 0.3),
    "shear_y": (0.0, 0.3),
    "translate_x": (0.0, 150 / 331),
    "translate_y": (0.0, 150 / 331),
    "rotate": (0.0, 30.0),
    "color": (0.0, 0.9),
    "contrast": (0.0, 0.9),
    "sharpness": (0.0, 0.9),
    "brightness": (0.0, 0.9),
    "posterize": (8.0, 4.0),
    "solarize": (256.0, 0.0),
    "autocontrast": (0.0, 0.0),
    "equalize": (0.0, 0.0),
    "invert": (0.0, 0.0),
}
MOVES = ("shear_x", "shear_y", "translate_x", "translate_y")
SIGNED = frozenset((*MOVES, "color", "contrast", "sharpness", "brightness"))


def augmented(image: Any, policy: str, random: np.random.Generator) -> Any:
    """Return an image after one of the 25 pairs of operations of a policy, "imagenet" or "cifar10".

    Each operation happens with its probability. Amounts have a random sign where they have one,
    except that images turn one way only, as in the code that the authors of ReSi use: widespread
    since, with amounts relative to the size of the image and gray where nothing is left of it.
    Reference: Cubuk, Zoph, Mane, Vasudevan and Le (CVPR 2019).
    """
    pair = POLICIES[policy][int(random.integers(len(POLICIES[policy])))]
    for name, probability, magnitude in pair:
        if random.random() < probability:
            image = changed(image, name, amount_of(name, magnitude, random))
    return image


def amount_of(name: str, magnitude: int, random: np.random.Generator) -> float:
    """Return the amount of an operation at a magnitude from 0 to 9, with a random sign if the
    operation has a direction."""
    amount = float(np.linspace(*AMOUNTS[name], LEVELS)[magnitude])
    return -amount if name in SIGNED and random.random() < 0.5 else amount


def changed(image: Any, name: str, amount: float) -> Any:
    """Return an image after one operation."""
    return _OPERATIONS[name](image, amount)


# --------------------------------------------------------------------------------------- operations


def _sheared(across: float, down: float, image: Any, amount: float) -> Any:
    matrix = (1, across * amount, 0, down * amount, 1, 0)
    return _moved(image, matrix, need("PIL.Image").Resampling.BICUBIC)


def _translated(across: float, down: float, image: Any, amount: float) -> Any:
    width, height = image.size
    matrix = (1, 0, across * amount * width, 0, 1, down * amount * height)
    return _moved(image, matrix, need("PIL.Image").Resampling.NEAREST)


def _moved(image: Any, matrix: tuple[float, ...], resampling: Any) -> Any:
    affine = need("PIL.Image").Transform.AFFINE
    return image.transform(image.size, affine, matrix, resampling, fillcolor=GRAY)


def _rotated(image: Any, amount: float) -> Any:
    return image.rotate(amount, fillcolor=GRAY)


def _enhanced(kind: str, image: Any, amount: float) -> Any:
    return getattr(need("PIL.ImageEnhance"), kind)(image).enhance(1 + amount)


def _posterized(image: Any, amount: float) -> Any:
    return need("PIL.ImageOps").posterize(image, round(amount))


def _solarized(image: Any, amount: float) -> Any:
    return need("PIL.ImageOps").solarize(image, amount)


def _plain(kind: str, image: Any, amount: float) -> Any:
    return getattr(need("PIL.ImageOps"), kind)(image)


_OPERATIONS: Mapping[str, Callable[[Any, float], Any]] = {
    "shear_x": partial(_sheared, 1, 0),
    "shear_y": partial(_sheared, 0, 1),
    "translate_x": partial(_translated, 1, 0),
    "translate_y": partial(_translated, 0, 1),
    "rotate": _rotated,
    "color": partial(_enhanced, "Color"),
    "contrast": partial(_enhanced, "Contrast"),
    "sharpness": partial(_enhanced, "Sharpness"),
    "brightness": partial(_enhanced, "Brightness"),
    "posterize": _posterized,
    "solarize": _solarized,
    "autocontrast": partial(_plain, "autocontrast"),
    "equalize": partial(_plain, "equalize"),
    "invert": partial(_plain, "invert"),
}
