"""Corruptions of gray images of any size at five severities, in the manner of CIFAR-10-C."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..corruption import Shift, check_shift


def corrupt_images(
    images: np.ndarray, name: str, severity: int, random: np.random.Generator
) -> np.ndarray:
    """Return gray images (n, height, width) after a corruption, clipped to 0 to 1.

    0 is paper and 1 is ink. ``name`` is a key of :data:`IMAGE_CORRUPTIONS`; ``severity`` is 1 to 5,
    and 0 returns the images unchanged. Random numbers are drawn independently for every image.
    Reference: Hendrycks and Dietterich (ICLR 2019), for the families and the five severities. The
    amounts differ from the reference: the amounts here fit images of 8 x 8 pixels, not larger
    photographs. Colour and weather (saturation, frost, snow, fog) are left out, because gray
    drawings have neither colour nor weather.

    Raises ``ValueError`` for an unknown corruption or severity, and for images that are not (n,
    height, width) of numbers from 0 to 1 in floating point.
    """
    check_shift("corrupt_images", "corruption", name, IMAGE_CORRUPTIONS, severity)
    if np.ndim(images) != 3:
        raise ValueError(
            f"corrupt_images: images must be (n, height, width); got shape {np.shape(images)}"
        )
    if not isinstance(images, np.ndarray) or images.dtype.kind != "f":
        kind = getattr(images, "dtype", type(images).__name__)
        raise ValueError(
            "corrupt_images: images must be floating point from 0 to 1, such as pixels / 255.0; "
            f"got {kind}"
        )
    if not (images.min(initial=0.0) >= 0 and images.max(initial=1.0) <= 1):  # false for NaN, too
        raise ValueError("corrupt_images: images must be between 0 and 1, without NaN")
    if severity == 0:
        return images.copy()
    change, amounts = IMAGE_CORRUPTIONS[name]
    result: np.ndarray = change(images, amounts[severity - 1], random)
    return result.clip(0, 1).astype(images.dtype)


def gaussian_noise(images: np.ndarray, deviation: float, random: np.random.Generator) -> np.ndarray:
    """Return images (n, height, width) plus Gaussian noise with standard deviation ``deviation``,
    in units of the pixels."""
    return images + deviation * random.standard_normal(images.shape)


def shot_noise(images: np.ndarray, photons: float, random: np.random.Generator) -> np.ndarray:
    """Return images (n, height, width) of scaled Poisson counts: for a pixel x, the mean x and the
    variance x / photons."""
    return random.poisson(images * photons) / photons


def impulse_noise(images: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return images with every pixel replaced, with probability ``share``, by paper (0) or ink (1)
    at random."""
    hit, ink = random.random(images.shape) < share, random.random(images.shape) < 0.5
    return np.where(hit, ink, images)


def blur(images: np.ndarray, deviation: float, random: np.random.Generator) -> np.ndarray:
    """Return images convolved with a Gaussian with standard deviation ``deviation`` in pixels.

    Images are mirrored at the edges, so the image means do not change.
    """
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images, (0, deviation, deviation), mode="reflect")


def contrast(images: np.ndarray, factor: float, random: np.random.Generator) -> np.ndarray:
    """Return images (n, height, width) with the deviations from the mean of each image multiplied
    by ``factor``."""
    mean = images.mean(axis=(1, 2), keepdims=True)
    return mean + factor * (images - mean)


def brightness(images: np.ndarray, amount: float, random: np.random.Generator) -> np.ndarray:
    """Return images (n, height, width) with ``amount`` added to all pixels, without clipping."""
    return images + amount


def pixelate(images: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return images shrunk to ``share`` of the sides, rounded to whole pixels, and enlarged again,
    with averages over areas.

    The mean of an image does not change.
    """
    height, width = images.shape[1:]
    rows = _shrink_and_enlarge(height, max(1, round(share * height)))
    columns = _shrink_and_enlarge(width, max(1, round(share * width)))
    return rows @ images @ columns.T


def _shrink_and_enlarge(side: int, n_blocks: int) -> np.ndarray:
    """Return a (side, side) matrix that replaces a row of ``side`` pixels by averages over
    ``n_blocks`` blocks of equal length, weighted by overlap."""
    edges, blocks = np.arange(side + 1) / side, np.arange(n_blocks + 1) / n_blocks
    starts = np.maximum(edges[:-1, None], blocks[:-1])
    ends = np.minimum(edges[1:, None], blocks[1:])
    overlap = np.maximum(ends - starts, 0)
    return side * n_blocks * overlap @ overlap.T


def compression(images: np.ndarray, step: float, random: np.random.Generator) -> np.ndarray:
    """Return images (n, height, width) with the cosine transform of each image rounded to multiples
    of ``step``.

    JPEG rounds the transforms of 8 x 8 blocks, with larger steps for higher frequencies. Here all
    frequencies have the same step.
    """
    from scipy.fft import dctn, idctn

    frequencies = step * np.round(dctn(images, axes=(1, 2), norm="ortho") / step)
    return idctn(frequencies, axes=(1, 2), norm="ortho")


def translation(images: np.ndarray, pixels: float, random: np.random.Generator) -> np.ndarray:
    """Return images moved by ``pixels`` pixels in a random direction; uncovered pixels are paper
    (0)."""
    angles = random.uniform(0, 2 * np.pi, len(images))
    moves = pixels * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    grid = _pixel_grid(images)
    return _interpolate_at(images, grid - moves[:, :, None, None])


def rotation(images: np.ndarray, degrees: float, random: np.random.Generator) -> np.ndarray:
    """Return images rotated by ``degrees`` about the centre, left or right at random; uncovered
    pixels are paper (0)."""
    angles = np.deg2rad(degrees) * np.where(random.random(len(images)) < 0.5, -1, 1)
    rotations = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    center = (np.array(images.shape[1:]) - 1)[:, None, None] / 2
    return _interpolate_at(
        images, np.einsum("ijn,jhw->nihw", rotations, _pixel_grid(images) - center) + center
    )


def elastic(images: np.ndarray, pixels: float, random: np.random.Generator) -> np.ndarray:
    """Return images with every pixel moved by a smooth random field, with a root mean square of
    ``pixels`` per axis; uncovered pixels are paper (0)."""
    from scipy.ndimage import gaussian_filter

    noise = random.standard_normal((len(images), 2, *images.shape[1:]))
    field = gaussian_filter(noise, (0, 0, 1.5, 1.5))
    field /= np.sqrt((field**2).mean(axis=(2, 3), keepdims=True))
    return _interpolate_at(images, _pixel_grid(images) + pixels * field)


def _pixel_grid(images: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*map(np.arange, images.shape[1:]), indexing="ij")).astype(float)


def _interpolate_at(images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the values of images (n, h, w) at ``places`` (n, 2, height, width): (n, height,
    width).

    A place is a row and a column in pixels. Values are interpolated linearly between pixels, and
    are 0 outside.
    """
    from scipy.ndimage import map_coordinates

    sample = partial(map_coordinates, order=1, mode="constant")
    return np.stack(list(map(sample, images, places)))


IMAGE_CORRUPTIONS: Mapping[str, Shift] = {
    "gaussian_noise": Shift(gaussian_noise, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "shot_noise": Shift(shot_noise, (20.0, 10.0, 5.0, 3.0, 1.5)),
    "impulse_noise": Shift(impulse_noise, (0.03, 0.07, 0.12, 0.2, 0.3)),
    "blur": Shift(blur, (0.4, 0.5, 0.6, 0.75, 0.9)),
    "contrast": Shift(contrast, (0.8, 0.65, 0.5, 0.4, 0.3)),
    "brightness": Shift(brightness, (0.1, 0.2, 0.3, 0.45, 0.6)),
    "pixelate": Shift(pixelate, (0.875, 0.75, 0.625, 0.5, 0.375)),
    "compression": Shift(compression, (0.25, 0.5, 0.75, 1.0, 1.5)),
    "translation": Shift(translation, (0.3, 0.6, 0.9, 1.2, 1.5)),
    "rotation": Shift(rotation, (10.0, 20.0, 30.0, 40.0, 50.0)),
    "elastic": Shift(elastic, (0.3, 0.45, 0.6, 0.75, 0.9)),
}
