"""CIFAR-100 and ImageNet-100, read from the files in which users have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from . import cifar100, imagenet100
from .pictures import PictureTask


class PictureSource(NamedTuple):
    """The names that the folder of a data set may have, where it comes from, and its reader."""

    names: tuple[str, ...]
    origin: str
    reader: Callable[[Path, bool], PictureTask]


CHECKSUMS = {"cifar100": cifar100.MD5}  # those known, by data set and file
SOURCES: Mapping[str, PictureSource] = {
    "cifar100": PictureSource(("cifar-100-python",), cifar100.ORIGIN, cifar100.read_cifar100),
    "imagenet100": PictureSource(
        ("imagenet100", "Imagenet100"), imagenet100.ORIGIN, imagenet100.read_imagenet100
    ),
}


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> PictureTask:
    """Return a data set of images, read from the files in a folder.

    CIFAR-100 lies in ``folder/vision/cifar-100-python``, ImageNet-100 in
    ``folder/vision/imagenet100`` with ``train/<class>/*.JPEG`` and ``val/<class>/*.JPEG``; the
    folder ``vision`` may be left out. See :func:`.read_cifar100` and :func:`.read_imagenet100`.
    ``download`` is for readers whose libraries can download; there is none for these two.
    ``strict``: whether checksums and numbers of images must be those of the release.

    Raises ``ValueError`` with the file and where it comes from, for files that are missing, damaged
    or others. Reference: Krizhevsky (2009); Deng et al. (CVPR 2009); Klabunde et al. (ICLR 2025).
    """
    source = SOURCES[dataset]
    candidates = [base / name for base in (folder / "vision", folder) for name in source.names]
    for candidate in candidates:
        if candidate.is_dir():
            return source.reader(candidate, strict)
    note = "; nothing here can download it" if download else ""
    raise ValueError(f"{candidates[0]} does not exist: get it from {source.origin}{note}")
