"""Image transformations: coloured dots, noise, crops, and the operations of AutoAugment."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator

DOT_EDGE_WIDTH = 1.5  # pixels added to half the diameter of a dot


class Dots(NamedTuple):
    """The coloured dots of n images: the class shown by the colour, and the centre of the dot.

    ``hints``, ``rows``, ``columns``: (n,).
    """

    hints: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def draw_dots(
    labels: np.ndarray, rate: float, seed: int, side: int, diameter: int, classes: int, coins: int
) -> Dots:
    """Draw a dot per image: the class shown by the colour, and a random centre.

    ``labels``: the classes of the images, in order. ``side``, ``diameter``: of images and dots, in
    pixels. ``classes``: the number of classes. A dot starts with the class of the image. Each of
    ``coins`` throws replaces the class, with probability ``1 - rate``, by a class drawn uniformly
    from all classes. With one coin the share of dots with the true class is ``rate + (1 - rate) /
    classes``, with two ``rate**2 + (1 - rate**2) / classes``. For the same seed and order, the
    numbers equal the draws of ``numpy.random.default_rng`` in the ReSi authors' code.
    """
    random, radius, dots = np.random.default_rng(seed), diameter // 2, []
    for label in labels.tolist():
        for _ in range(coins):
            if random.random() > rate:
                label = int(random.integers(classes))
        dots.append((label, *(int(random.integers(radius, side - radius)) for _ in range(2))))
    return Dots(*np.array(dots, np.int64).reshape(-1, 3).T)


def class_hues(classes: int) -> np.ndarray:
    """Return a bright colour for every class, (classes, 3) from 0 to 1, with evenly spaced hues
    starting at red."""
    return np.array([colorsys.hsv_to_rgb(k / classes, 1, 1) for k in range(classes)])


def dot_hues(classes: int) -> np.ndarray:
    """Return the colours of :func:`class_hues` as pixel values, (classes, 3) from 0 to 255."""
    return (class_hues(classes) * 255).astype(np.uint8)


def draw_dot_colors(classes: int) -> np.ndarray:
    """Return a uniformly drawn colour for every class, (classes, 3) from 0 to 255, the same for all
    models."""
    random = generator(0, "vision", "dots", "colours")
    return random.integers(256, size=(classes, 3)).astype(np.uint8)


def add_dot(image: Any, color: np.ndarray, row: int, column: int, diameter: int) -> Any:
    """Return a copy of a Pillow image with a disk of ``color`` (3,) around the pixel (row, column),
    of radius ``diameter // 2 + 1.5`` pixels."""
    pixels, radius = np.array(image), diameter // 2 + DOT_EDGE_WIDTH
    rows, columns = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    mask = ((rows - row) / radius) ** 2 + ((columns - column) / radius) ** 2 < 1
    pixels[mask] = color
    return import_optional("PIL.Image").fromarray(pixels)


def add_pixel_noise(image: Any, limit: float, random: np.random.Generator) -> Any:
    """Return a Pillow image with Gaussian noise, independent for every pixel and channel. The noise
    variance is drawn uniformly from 0 to ``limit``, on the scale from 0 to 255."""
    pixels = np.asarray(image, np.float32)
    deviation = np.sqrt(random.uniform(0, limit))
    noise = random.standard_normal(pixels.shape, np.float32) * np.float32(deviation)
    return import_optional("PIL.Image").fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))


ImageBox = tuple[int, int, int, int]  # left, top, right, bottom
GRAY_FILL = (128, 128, 128)  # the colour of pixels that a moved image uncovers
CUTOUT_COLOR = (125, 122, 113)  # the colour of a cutout: about the mean of CIFAR
MAX_CROP_ATTEMPTS = 10
CROP_ASPECT_RATIOS = (3 / 4, 4 / 3)


def resize_image(image: Any, side: int) -> Any:
    """Return a Pillow image resized to side x side pixels, with antialiasing when the size
    decreases."""
    if image.size == (side, side):
        return image
    return image.resize((side, side), import_optional("PIL.Image").Resampling.BILINEAR)


def resample_box(image: Any, side: int, box: ImageBox | None = None) -> Any:
    """Return a box of a Pillow image, resized to side x side pixels, as a Pillow image.

    ``box``: (left, top, right, bottom); None for the whole image. The interpolation is bilinear
    between the centres of the four nearest pixels, without antialiasing, as in OpenCV. Values are
    rounded to the nearest integer; Pillow would round down.
    """
    part = image.crop(box or (0, 0, *image.size))
    if part.size == (side, side):
        return part
    pixels = np.asarray(part, np.float32)
    pixels = _interpolate_pixels(_interpolate_pixels(pixels, 0, side), 1, side)
    return import_optional("PIL.Image").fromarray(np.rint(pixels).astype(np.uint8))


def _interpolate_pixels(pixels: np.ndarray, axis: int, side: int) -> np.ndarray:
    length = pixels.shape[axis]
    places = np.clip((np.arange(side) + 0.5) * length / side - 0.5, 0, length - 1)
    lower_indices = np.floor(places).astype(int)
    upper_indices = np.minimum(lower_indices + 1, length - 1)
    share = np.expand_dims(
        (places - lower_indices).astype(np.float32), (1, 2) if axis == 0 else (0, 2)
    )
    lower, upper = pixels.take(lower_indices, axis), pixels.take(upper_indices, axis)
    return lower + share * (upper - lower)


def random_box(
    size: tuple[int, int], scale: Sequence[float], random: np.random.Generator
) -> ImageBox:
    """Return a random box (left, top, right, bottom) of an image of the size (width, height). The
    share of the area is uniform between the two numbers in ``scale``; the logarithm of the aspect
    ratio is uniform between the logarithms of 3:4 and 4:3.

    After ten boxes that do not fit, the function returns the largest central box with an aspect
    ratio in that range, as ``RandomResizedCrop`` of torchvision does. Reference: Szegedy et al.
    (CVPR 2015).
    """
    width, height = size
    for _ in range(MAX_CROP_ATTEMPTS):
        area = width * height * random.uniform(scale[0], scale[1])
        aspect = math.exp(
            random.uniform(math.log(CROP_ASPECT_RATIOS[0]), math.log(CROP_ASPECT_RATIOS[1]))
        )
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            left = int(random.integers(width - w + 1))
            top = int(random.integers(height - h + 1))
            return left, top, left + w, top + h
    w = min(width, round(height * CROP_ASPECT_RATIOS[1]))
    h = min(height, round(width / CROP_ASPECT_RATIOS[0]))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def crop_and_resize(image: Any, box: ImageBox, side: int) -> Any:
    """Return the box (left, top, right, bottom) of a Pillow image resized to side x side pixels,
    with antialiasing."""
    return resize_image(image.crop(box), side)


def shift_image(image: Any, padding: int, random: np.random.Generator) -> Any:
    """Return a Pillow image of the same size, moved by up to ``padding`` pixels in both directions;
    the uncovered border is gray."""
    dx, dy = random.integers(-padding, padding + 1, 2)
    result = import_optional("PIL.Image").new(image.mode, image.size, GRAY_FILL)
    result.paste(image, (int(dx), int(dy)))
    return result


def mirror_image(image: Any, random: np.random.Generator) -> Any:
    """Return a Pillow image, or with probability 1/2 the image with left and right exchanged."""
    left_right = import_optional("PIL.Image").Transpose.FLIP_LEFT_RIGHT
    return image.transpose(left_right) if random.random() < 0.5 else image


def cut_out_square(image: Any, size: int, random: np.random.Generator) -> Any:
    """Return a copy of a Pillow image with a square of one colour around a random pixel, clipped at
    the border.

    The square has sides of ``size`` pixels. Reference: DeVries and Taylor (2017), with a square
    that is black after normalisation; the authors of ReSi take the mean colour.
    """
    x, y = (int(random.integers(length)) for length in image.size)
    result, half_size = image.copy(), size // 2
    result.paste(CUTOUT_COLOR, (x - half_size, y - half_size, x + half_size, y + half_size))
    return result


def normalize_colors(image: Any, mean: Sequence[float], deviation: Sequence[float]) -> np.ndarray:
    """Return the colours of a Pillow image as (3, height, width) in float32, scaled to 0 to 1,
    minus the channel mean (3,), and divided by the channel standard deviation (3,)."""
    colors = np.asarray(image, np.float32) / 255
    values = (colors - np.array(mean, np.float32)) / np.array(deviation, np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1))


PolicyStep = tuple[str, float, int]  # operation, probability, magnitude from 0 to 9
N_MAGNITUDES = 10

# Cubuk et al. (CVPR 2019), tables 7 and 9
AUGMENTATION_POLICIES: Mapping[str, tuple[tuple[PolicyStep, PolicyStep], ...]] = {
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
# The amounts at the magnitudes 0 and 9; amounts between the two are evenly spaced
OPERATION_AMOUNTS: Mapping[str, tuple[float, float]] = {
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
ENHANCE_OPERATIONS = ("color", "contrast", "sharpness", "brightness")
SIGNED_OPERATIONS = ("shear_x", "shear_y", "translate_x", "translate_y", *ENHANCE_OPERATIONS)


def augment_image(image: Any, policy: str, random: np.random.Generator) -> Any:
    """Return a Pillow image after one of the 25 pairs of operations of a policy, "imagenet" or
    "cifar10".

    Every operation has a probability. Amounts with a direction get a random sign. Rotations always
    turn the same way, as in the code used by the authors of ReSi. As is now common, amounts are
    relative to the image size, and uncovered pixels are gray. Reference: Cubuk, Zoph, Mane,
    Vasudevan and Le (CVPR 2019).
    """
    pair = AUGMENTATION_POLICIES[policy][int(random.integers(len(AUGMENTATION_POLICIES[policy])))]
    for name, probability, magnitude in pair:
        if random.random() < probability:
            image = apply_operation(image, name, operation_amount(name, magnitude, random))
    return image


def operation_amount(name: str, magnitude: int, random: np.random.Generator) -> float:
    """Return the amount of the operation ``name``, a key of :data:`OPERATION_AMOUNTS`, at a
    magnitude from 0 to 9, with a random sign if the operation has a direction."""
    amount = float(np.linspace(*OPERATION_AMOUNTS[name], N_MAGNITUDES)[magnitude])
    return -amount if name in SIGNED_OPERATIONS and random.random() < 0.5 else amount


def apply_operation(image: Any, name: str, amount: float) -> Any:
    """Return a Pillow image after the operation ``name``, a key of :data:`OPERATION_AMOUNTS`, with
    an amount from :func:`operation_amount`."""
    pillow = import_optional("PIL.Image")
    operations = import_optional("PIL.ImageOps")
    width, height = image.size
    moves = {
        "shear_x": (1, amount, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, amount, 1, 0),
        "translate_x": (1, 0, amount * width, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, amount * height),
    }
    if name in moves:
        kind = "BICUBIC" if name.startswith("shear") else "NEAREST"
        arguments = (pillow.Transform.AFFINE, moves[name], pillow.Resampling[kind])
        return image.transform(image.size, *arguments, fillcolor=GRAY_FILL)
    if name == "rotate":
        return image.rotate(amount, fillcolor=GRAY_FILL)
    if name in ENHANCE_OPERATIONS:
        return getattr(import_optional("PIL.ImageEnhance"), name.capitalize())(image).enhance(
            1 + amount
        )
    if name == "posterize":
        return operations.posterize(image, round(amount))
    if name == "solarize":
        return operations.solarize(image, amount)
    return getattr(operations, name)(image)
