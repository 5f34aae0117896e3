"""Images in folders, read when a model sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...display import encodable
from ...extras import need
from ..files import natural
from .contents import digest_of_file, digest_of_files
from .samples import Samples

IMAGE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
)  # fmt: skip


def read_folder_of_images(folder: Path) -> Samples:
    """Return the images in a folder in natural order; its sub-folders are their classes."""
    files = [file for file in folder.rglob("*") if file.is_file() and not _is_hidden(folder, file)]
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    if not images:
        raise ValueError(
            f"load_samples: {folder} holds no image ({', '.join(IMAGE_SUFFIXES)}), and no "
            "raw/ind.cora.* of Cora; name another folder, or a file"
        )
    others = sorted(str(f.relative_to(folder).as_posix()) for f in files if f not in set(images))
    facts = {"folder": folder.name} | ({"other files left out": others} if others else {})
    return of_image_files(images, folder, facts)


def of_image_files(files: Sequence[Path], folder: Path | None, facts: dict[str, Any]) -> Samples:
    """Return files of images as samples: in natural order below a folder, or as they are listed."""
    if folder is not None:
        files = sorted(files, key=lambda file: natural(file.relative_to(folder)))
    by_name = {_name(file, folder): file for file in files}
    if len(by_name) < len(files):
        raise ValueError("load_samples: an image is listed twice; name each once")

    def read(start: int, stop: int) -> list[Any]:
        return [open_image(file) for file in files[start:stop]]

    @cache
    def keys(count: int) -> list[bytes]:
        return [digest_of_file(file) for file in files[:count]]

    def digest(count: int) -> str:
        return digest_of_files(dict(zip(by_name, keys(count))))

    labels, classes = _labels(files, folder)
    return Samples(
        "images",
        folder.name if folder is not None else "images",
        tuple(by_name),
        labels,
        len(files),
        facts | ({"classes": classes} if classes else {}),
        read,
        digest=digest,
        keys=keys,
    )


def open_image(path: Path) -> Any:
    """Return an image in red, green and blue; ``ValueError``, naming the file, if it is broken."""
    image = need("PIL.Image")
    try:
        with image.open(path) as opened:
            return opened.convert("RGB")
    except Exception as error:  # whatever a damaged file causes in its decoder
        raise ValueError(
            f"load_samples: {path} is not an image that can be read ({error}); remove or replace it"
        ) from error


def _labels(files: Sequence[Path], folder: Path | None) -> tuple[np.ndarray | None, list[str]]:
    parts = [file.relative_to(folder).parts if folder else () for file in files]
    if not all(len(part) > 1 for part in parts):
        return None, []
    classes = sorted({part[0] for part in parts}, key=lambda name: natural(Path(name)))
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers[part[0]] for part in parts]), [encodable(name) for name in classes]


def _name(file: Path, folder: Path | None) -> str:
    return encodable((file.relative_to(folder) if folder else file).as_posix())


def _is_hidden(folder: Path, file: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
