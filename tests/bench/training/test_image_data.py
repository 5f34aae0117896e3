"""CIFAR-100 and ImageNet-100 are read as they are published, and nothing else is."""

from __future__ import annotations

import io
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from factories.files import Touching
from factories.image_data import class_images, make_cifar100, make_imagenet100
from PIL import Image

from resemblance.bench.training.vision import data
from resemblance.bench.training.vision.data import read_image


@pytest.fixture
def cifar(tmp_path):
    return make_cifar100(tmp_path, train=6, test=4)


@pytest.fixture(scope="module")
def whole_imagenet(tmp_path_factory):
    return make_imagenet100(tmp_path_factory.mktemp("imagenet100"))


@pytest.fixture
def imagenet(tmp_path, whole_imagenet):
    return shutil.copytree(whole_imagenet, tmp_path / "vision" / "imagenet100")


def test_cifar_has_its_images_and_classes_in_the_order_of_the_files(tmp_path, cifar):
    task = data.read("cifar100", tmp_path, strict=False)
    assert task.classes == 100
    np.testing.assert_array_equal(task.train.images, class_images(np.arange(6), 32, "train"))
    np.testing.assert_array_equal(task.test.labels, np.arange(4))
    assert read_image(task.test, 3).size == (32, 32)
    cifar.rename(tmp_path / cifar.name)  # without the folder of the domain
    assert len(data.read("cifar100", tmp_path, strict=False).test.labels) == 4


OTHERS = {
    "another width": {"data": np.zeros((6, 3071), np.uint8)},
    "another type": {"data": np.zeros((6, 3072), np.int8)},
    "no array": {"data": [[0] * 3072] * 6},
    "fewer labels": {"fine_labels": [0] * 5},
    "another class": {"fine_labels": [0] * 5 + [100]},
    "a class below 0": {"fine_labels": [0] * 5 + [-1]},
    "code": {"data": Touching(Path("ran"))},
}


def test_other_files_than_those_of_cifar_are_refused(tmp_path, cifar, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    whole = (cifar / "train").read_bytes()
    content = pickle.loads(whole.replace(b"numpy.core.", b"numpy._core."), encoding="latin1")
    of_10 = {"data": np.zeros((6, 3072), np.uint8), "labels": [0] * 6}
    pickles = {name: pickle.dumps(content | change, 2) for name, change in OTHERS.items()}
    pickles |= {"CIFAR-10": pickle.dumps(of_10, 2), "half a file": whole[: len(whole) // 2]}
    for name, damaged in pickles.items():
        with subtests.test(name):
            (cifar / "train").write_bytes(damaged)
            with pytest.raises(ValueError, match="train is not the file of CIFAR-100"):
                data.read("cifar100", tmp_path, strict=False)
    assert not Path("ran").exists()
    (cifar / "train").write_bytes(whole)
    with pytest.raises(ValueError, match=r"train is not .*CIFAR-100 \(it has another MD5.*kriz"):
        data.read("cifar100", tmp_path)
    for name in ("meta", "test", "train"):
        (cifar / name).unlink()
        with pytest.raises(ValueError, match=rf"{name} is missing: .*https://www.cs.toronto.edu"):
            data.read("cifar100", tmp_path, strict=False)


def test_imagenet_has_the_classes_of_the_list_and_shuffles_test_images_as_the_authors_do(
    tmp_path, imagenet
):
    task = data.read("imagenet100", tmp_path, strict=False)
    assert len(set(data.IMAGENET100_CLASSES)) == task.classes == 100
    assert [*data.IMAGENET100_CLASSES] == sorted(data.IMAGENET100_CLASSES)
    np.testing.assert_array_equal(task.train.labels, np.arange(100).repeat(2))
    for pictures in task[:2]:
        names = [file.parent.name for file in pictures.images]
        assert names == [data.IMAGENET100_CLASSES[label] for label in pictures.labels]
    files = sorted((path, path.parent.name) for path in (imagenet / "val").glob("*/*.JPEG"))
    np.random.default_rng(32).shuffle(files)
    assert list(task.test.images) == [path for path, _ in files]


def test_other_folders_than_those_of_imagenet_are_refused(tmp_path, imagenet, subtests):
    def refused(message, strict=True):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            data.read("imagenet100", tmp_path, strict=strict)

    refused(r"n01440764 is not of .*: expected 1300 images, got 2")
    folder = imagenet / "train"
    (folder / "n02077923").rename(tmp_path / "elsewhere")
    refused(r"lacks 1 of 100 classes of ImageNet-100 \(n02077923\)")
    (folder / "n01440764" / "._n01440764_0.JPEG").write_bytes(b"what macOS leaves")
    assert len(data.read("imagenet100", tmp_path, strict=False).train.labels) == 198
    (folder / "n01440764" / "Thumbs.db").write_bytes(b"")
    refused(r"n01440764 has Thumbs.db, which are no images \(\*.JPEG", strict=False)
    (folder / "n09999999").mkdir()
    refused("n09999999, which are no classes", strict=False)
    shutil.rmtree(folder)
    refused(r"train is missing: .*train.X1 to train.X4.*merged")
    folder.mkdir()
    refused("train has no images", strict=False)


def test_images_have_three_colors_and_broken_ones_and_other_formats_are_named(tmp_path, imagenet):
    pictures, gif = data.read("imagenet100", tmp_path, strict=False).train, io.BytesIO()
    Image.new("L", (8, 8), 7).save(pictures.images[0], format="JPEG")
    assert read_image(pictures, 0).mode == "RGB"
    file = pictures.images[5]
    Image.new("RGB", (8, 8)).save(gif, format="GIF")
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"<html>404</html>", gif.getvalue()):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{file.name} is not a JPEG or PNG image"):
            read_image(pictures, 5)
