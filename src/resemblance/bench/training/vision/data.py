"""Labelled images, in memory or in files, and readers for CIFAR-100 and ImageNet-100."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.formatting import list_names
from resemblance.models.published_files import (
    DatasetOrigin,
    naming_dataset_file,
    read_verified_bytes,
    require_dataset_folder,
    unpickle_plain_data,
)

IMAGE_FORMATS = ("JPEG", "PNG")  # a few files of ImageNet named .JPEG are PNG files
BROKEN_IMAGE_ERRORS: tuple[type[Exception], ...] = (OSError, ValueError, SyntaxError, EOFError)


class Pictures(NamedTuple):
    """Images and classes.

    ``images``: (n, height, width, 3) from 0 to 255, or the paths of n image files. ``labels``: (n,)
    classes.
    """

    images: np.ndarray | Sequence[Path]
    labels: np.ndarray


class PictureTask(NamedTuple):
    """The training and the test images of a data set, and the number of classes."""

    train: Pictures
    test: Pictures
    classes: int


def read_image(pictures: Pictures, place: int) -> Any:
    """Return the image at index ``place`` as an RGB ``PIL.Image``.

    Raises ``ValueError`` with the name of a file that is damaged, neither a JPEG nor a PNG, or far
    too large.
    """
    image_module = import_optional("PIL.Image")
    image = pictures.images[place]
    if isinstance(image, np.ndarray):
        return image_module.fromarray(image)
    try:
        with image_module.open(image, formats=IMAGE_FORMATS) as file:
            return file.convert("RGB")
    except (*BROKEN_IMAGE_ERRORS, image_module.DecompressionBombError) as error:
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"{image} is not a JPEG or PNG image that can be read ({reason}); copy the file again "
            "from the data set"
        ) from error


CIFAR100_ORIGIN = DatasetOrigin(
    "CIFAR-100",
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    ("vision/cifar-100-python", "cifar-100-python"),
)
_N_IMAGE_CLASSES, _CIFAR_SHAPE = 100, (3, 32, 32)
CIFAR100_MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}


def read_cifar100(folder: Path, strict: bool) -> PictureTask:
    """Return CIFAR-100 from the folder with the files ``train``, ``test`` and ``meta``.

    The files are pickles of Python 2. Images are (n, 32, 32, 3) from 0 to 255, in the order of the
    files; labels are the 100 fine classes. ``strict``: whether the MD5 of every file must equal the
    MD5 of the release.

    Raises ``ValueError`` with the name of a file that is missing, damaged or not the right file.
    """
    parts = {}
    for name, digest in CIFAR100_MD5.items():
        with naming_dataset_file(folder / name, CIFAR100_ORIGIN) as file:
            content = unpickle_plain_data(
                read_verified_bytes(file, digest if strict else "", "md5")
            )
            if name == "meta":
                continue
            labels = np.array(content["fine_labels"], np.int64)
            images = content["data"].reshape(len(labels), *_CIFAR_SHAPE).transpose(0, 2, 3, 1)
            if images.dtype != np.uint8 or labels.min() < 0 or labels.max() >= _N_IMAGE_CLASSES:
                raise ValueError("it holds other images or classes")
            parts[name] = Pictures(np.ascontiguousarray(images), labels)
    return PictureTask(parts["train"], parts["test"], _N_IMAGE_CLASSES)


IMAGENET100_ORIGIN = DatasetOrigin(
    "ImageNet-100",
    "https://www.kaggle.com/datasets/ambityga/imagenet100",
    ("vision/imagenet100", "vision/Imagenet100", "imagenet100", "Imagenet100"),
)
IMAGES_PER_CLASS = {"train": 1300, "val": 50}
FILE_ORDER_SEED = 32  # the authors' seed for shuffling lists of files
IMAGENET_SUFFIX = ".JPEG"
IMAGENET100_CLASSES = (
    "n01440764", "n01443537", "n01484850", "n01491361", "n01494475", "n01496331", "n01498041",
    "n01514668", "n01514859", "n01531178", "n01537544", "n01560419", "n01582220", "n01592084",
    "n01601694", "n01608432", "n01614925", "n01622779", "n01630670", "n01632458", "n01632777",
    "n01644900", "n01664065", "n01665541", "n01667114", "n01667778", "n01675722", "n01677366",
    "n01685808", "n01687978", "n01693334", "n01695060", "n01698640", "n01728572", "n01729322",
    "n01729977", "n01734418", "n01735189", "n01739381", "n01740131", "n01742172", "n01749939",
    "n01751748", "n01753488", "n01755581", "n01756291", "n01770081", "n01770393", "n01773157",
    "n01773549", "n01773797", "n01774384", "n01774750", "n01775062", "n01776313", "n01795545",
    "n01796340", "n01798484", "n01806143", "n01818515", "n01819313", "n01820546", "n01824575",
    "n01828970", "n01829413", "n01833805", "n01843383", "n01847000", "n01855672", "n01860187",
    "n01877812", "n01883070", "n01910747", "n01914609", "n01924916", "n01930112", "n01943899",
    "n01944390", "n01950731", "n01955084", "n01968897", "n01978287", "n01978455", "n01984695",
    "n01985128", "n01986214", "n02002556", "n02006656", "n02007558", "n02011460", "n02012849",
    "n02013706", "n02018207", "n02018795", "n02027492", "n02028035", "n02037110", "n02051845",
    "n02058221", "n02077923",
)  # fmt: skip
MAX_LISTED_FILES = 3  # file names in an error message


def read_imagenet100(folder: Path, strict: bool) -> PictureTask:
    """Return ImageNet-100 from the folders ``train/<class>`` and ``val/<class>`` of JPEG files.

    Images are paths; a file is opened on use. Classes are indices into :data:`IMAGENET100_CLASSES`,
    the authors' list of 100 classes. Training images are sorted by path. Test images come from
    ``val``, sorted by path and then shuffled by ``numpy.random.default_rng(32)`` as in the authors'
    code, so the row order is the same everywhere. Hidden files are skipped. ``strict``: whether all
    100 classes with 1,300 training and 50 test images per class are required; otherwise any subset
    of the classes is allowed, with any number of images.

    Raises ``ValueError`` with the name of the folder or file for folders that are missing or belong
    to other classes, for other numbers of images, and for files that are not images.
    """
    train, test = (_imagenet_part(folder / part, part, strict) for part in IMAGES_PER_CLASS)
    order = list(range(len(test.labels)))
    np.random.default_rng(FILE_ORDER_SEED).shuffle(order)
    pictures = Pictures([test.images[i] for i in order], test.labels[order])
    return PictureTask(train, pictures, len(IMAGENET100_CLASSES))


def _imagenet_part(folder: Path, part: str, strict: bool) -> Pictures:
    if not folder.is_dir():
        raise ValueError(
            f"{folder} is missing: get it from {IMAGENET100_ORIGIN.url}, where train is in the "
            "folders train.X1 to train.X4, which must be merged into one, and val is called val.X"
        )
    wnids = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    _check_image_folders(folder, wnids, strict)
    files, labels = [], []
    for wnid in wnids:
        images = _list_images(folder / wnid)
        if strict and len(images) != IMAGES_PER_CLASS[part]:
            raise ValueError(
                f"{folder / wnid} is not of ImageNet-100: expected {IMAGES_PER_CLASS[part]} "
                f"images, got {len(images)}; get it from {IMAGENET100_ORIGIN.url}"
            )
        files += images
        labels += [IMAGENET100_CLASSES.index(wnid)] * len(images)
    if not files:
        raise ValueError(f"{folder} has no images: get ImageNet-100 from {IMAGENET100_ORIGIN.url}")
    return Pictures(files, np.array(labels, np.int64))


def _check_image_folders(folder: Path, wnids: list[str], strict: bool) -> None:
    extra_classes = [
        wnid for wnid in wnids if wnid not in IMAGENET100_CLASSES or not (folder / wnid).is_dir()
    ]
    missing = [wnid for wnid in IMAGENET100_CLASSES if wnid not in wnids]
    if extra_classes:
        raise ValueError(
            f"{folder} has {list_names(extra_classes, MAX_LISTED_FILES)}, which are no "
            "classes of ImageNet-100: take them out, or get the data set from "
            f"{IMAGENET100_ORIGIN.url}"
        )
    if missing and strict:
        raise ValueError(
            f"{folder} lacks {len(missing)} of 100 classes of ImageNet-100 "
            f"({list_names(missing, MAX_LISTED_FILES)}): get them from {IMAGENET100_ORIGIN.url}"
        )


def _list_images(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    extra_names = [path.name for path in files if path.suffix != IMAGENET_SUFFIX]
    if extra_names:
        raise ValueError(
            f"{folder} has {list_names(extra_names, MAX_LISTED_FILES)}, which are no "
            f"images (*{IMAGENET_SUFFIX}): take them out"
        )
    return files


CHECKSUMS = {"cifar100": CIFAR100_MD5}  # known checksums by data set and file
IMAGE_READERS: Mapping[str, tuple[DatasetOrigin, Callable[[Path, bool], PictureTask]]] = {
    "cifar100": (CIFAR100_ORIGIN, read_cifar100),
    "imagenet100": (IMAGENET100_ORIGIN, read_imagenet100),
}


def read(dataset: str, folder: Path, download: bool = False, strict: bool = True) -> PictureTask:
    """Return a data set of images, "cifar100" or "imagenet100", read from the files in a folder.

    CIFAR-100 lies in ``folder/vision/cifar-100-python``, ImageNet-100 in
    ``folder/vision/imagenet100`` with ``train/<class>/*.JPEG`` and ``val/<class>/*.JPEG``. You may
    leave out the folder ``vision``. See :func:`.read_cifar100` and :func:`.read_imagenet100`.
    ``download``: no effect except on the error message, because no library downloads the two data
    sets. ``strict``: whether checksums and numbers of images must equal the release.

    Raises ``ValueError`` with the file and the source for files that are missing, damaged or not
    the right files. Reference: Krizhevsky (2009); Deng et al. (CVPR 2009); Klabunde et al. (ICLR
    2025).
    """
    origin, reader = IMAGE_READERS[dataset]
    return reader(
        require_dataset_folder(
            folder, origin, "; nothing here can download it" if download else ""
        ),
        strict,
    )
