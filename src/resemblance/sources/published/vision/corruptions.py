"""What the settings do to images and labels: coloured dots, noise, labels drawn at random."""

from __future__ import annotations

import colorsys
from typing import Any, NamedTuple

import numpy as np

from ....extras import need
from ....rng import generator

EDGE = 1.5  # pixels beyond the half diameter that a dot reaches


class Dots(NamedTuple):
    """The coloured dots of n images: the class whose colour each has, and its middle.

    ``hints``, ``rows``, ``columns``: (n,).
    """

    hints: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def draw_dots(
    labels: np.ndarray, rate: float, seed: int, side: int, diameter: int, classes: int, coins: int
) -> Dots:
    """Return dots for images of side x side pixels with these labels, in their order.

    A dot has the colour of the class of the image, unless one of ``coins`` throws comes out against
    it, each with probability ``1 - rate``: then that of a class drawn uniformly, the true one among
    them. With one coin the share of true colours is ``rate + (1 - rate) / classes``, with two
    ``rate**2 + (1 - rate**2) / classes``. The numbers are those that ``numpy.random.default_rng``
    gives the authors of ReSi for the same seed and order.
    """
    random = np.random.default_rng(seed)
    dots = [_dot(int(label), rate, random, side, diameter // 2, classes, coins) for label in labels]
    hints, rows, columns = np.array(dots, np.int64).reshape(-1, 3).T
    return Dots(hints, rows, columns)


def _dot(
    label: int,
    rate: float,
    random: np.random.Generator,
    side: int,
    half: int,
    classes: int,
    coins: int,
) -> tuple[int, int, int]:
    for _ in range(coins):
        if random.random() > rate:
            label = int(random.integers(classes))
    row = int(random.integers(half, side - half))
    return label, row, int(random.integers(half, side - half))


def hues(classes: int) -> np.ndarray:
    """Return a bright colour for every class, (classes, 3) from 0 to 255, with evenly spaced hues
    that begin at red."""
    colours = [colorsys.hsv_to_rgb(k / classes, 1, 1) for k in range(classes)]
    return (np.array(colours) * 255).astype(np.uint8)


def drawn_colours(classes: int) -> np.ndarray:
    """Return a colour for every class drawn uniformly, (classes, 3) from 0 to 255, the same for all
    models."""
    random = generator(0, "vision", "dots", "colours")
    return random.integers(256, size=(classes, 3)).astype(np.uint8)


def with_dot(image: Any, colour: np.ndarray, row: int, column: int, diameter: int) -> Any:
    """Return an image with a disk around a pixel, of radius ``diameter // 2 + 1.5`` pixels."""
    pixels, radius = np.array(image), diameter // 2 + EDGE
    rows, columns = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    inside = ((rows - row) / radius) ** 2 + ((columns - column) / radius) ** 2 < 1
    pixels[inside] = colour
    return need("PIL.Image").fromarray(pixels)


def with_noise(image: Any, most: float, random: np.random.Generator) -> Any:
    """Return an image with Gaussian noise whose variance is drawn uniformly from 0 to ``most``, on
    the scale from 0 to 255, drawn for each pixel and channel."""
    pixels = np.asarray(image, np.float32)
    deviation = np.sqrt(random.uniform(0, most))
    noise = random.standard_normal(pixels.shape, np.float32) * np.float32(deviation)
    return need("PIL.Image").fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))


def random_labels(
    labels: np.ndarray, share: float, classes: int, random: np.random.Generator
) -> np.ndarray:
    """Return labels, each drawn anew from all classes with probability ``share``; the true class
    may be drawn again."""
    replaced = random.random(len(labels)) < share
    return np.where(replaced, random.integers(classes, size=len(labels)), labels)
