"""Images with their classes, in memory or in files, and one of them as Pillow sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ....extras import need

FORMATS = ("JPEG", "PNG")  # ImageNet has a PNG or two whose names end with .JPEG
BROKEN: tuple[type[Exception], ...] = (OSError, ValueError, SyntaxError, EOFError)


class Pictures(NamedTuple):
    """Images and their classes.

    ``images``: (n, height, width, 3) from 0 to 255, or the n files that hold them. ``labels``: (n,)
    classes.
    """

    images: np.ndarray | Sequence[Path]
    labels: np.ndarray


class PictureTask(NamedTuple):
    """The training and the test images of a data set, and how many classes it has."""

    train: Pictures
    test: Pictures
    classes: int


def picture(pictures: Pictures, place: int) -> Any:
    """Return one image as a ``PIL.Image`` in red, green and blue.

    Raises ``ValueError`` that names the file if it is damaged, no JPEG, or far too large.
    """
    image_module = need("PIL.Image")
    image = pictures.images[place]
    if isinstance(image, np.ndarray):
        return image_module.fromarray(image)
    try:
        with image_module.open(image, formats=FORMATS) as opened:
            return opened.convert("RGB")
    except (*BROKEN, image_module.DecompressionBombError) as error:
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{image} is not a JPEG that can be read ({reason}); copy it again from the data set"
        ) from error
