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


def test_cifar_is_also_found_without_the_folder_of_the_domain(tmp_path, cifar):
    cifar.rename(tmp_path / cifar.name)
    assert len(data.read("cifar100", tmp_path, strict=False).test.labels) == 4


def test_cifar_of_another_checksum_is_refused(tmp_path, cifar):
    with pytest.raises(ValueError, match=r"train is not .*CIFAR-100 \(it has another MD5.*kriz"):
        data.read("cifar100", tmp_path)


@pytest.mark.parametrize("name", ["train", "test", "meta"])
def test_a_missing_file_of_cifar_is_named(tmp_path, cifar, name):
    (cifar / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} is missing: .*https://www.cs.toronto.edu"):
        data.read("cifar100", tmp_path, strict=False)


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


def test_imagenet_has_the_classes_of_the_list_in_its_order(tmp_path, imagenet):
    task = data.read("imagenet100", tmp_path, strict=False)
    assert len(set(data.IMAGENET100_CLASSES)) == task.classes == 100
    assert [*data.IMAGENET100_CLASSES] == sorted(data.IMAGENET100_CLASSES)
    np.testing.assert_array_equal(task.train.labels, np.arange(100).repeat(2))
    for pictures in task[:2]:
        names = [file.parent.name for file in pictures.images]
        assert names == [data.IMAGENET100_CLASSES[label] for label in pictures.labels]
    assert read_image(task.train, 0).mode == "RGB"


def test_the_test_images_of_imagenet_are_shuffled_as_the_authors_do(tmp_path, imagenet):
    files = sorted((path, path.parent.name) for path in (imagenet / "val").glob("*/*.JPEG"))
    np.random.default_rng(32).shuffle(files)
    task = data.read("imagenet100", tmp_path, strict=False)
    assert list(task.test.images) == [path for path, _ in files]


def test_imagenet_with_other_numbers_of_images_is_refused(tmp_path, imagenet):
    with pytest.raises(ValueError, match=r"n01440764 is not of .*: expected 1300 images, got 2"):
        data.read("imagenet100", tmp_path)


def test_imagenet_without_all_classes_is_refused_if_strict(tmp_path, imagenet):
    (imagenet / "train" / "n02077923").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"lacks 1 of 100 classes of ImageNet-100 \(n02077923\)"):
        data.read("imagenet100", tmp_path)
    assert len(data.read("imagenet100", tmp_path, strict=False).train.labels) == 198


@pytest.mark.parametrize("place", ["train/n09999999", "val/readme.txt"])
def test_strangers_among_the_classes_are_refused(tmp_path, imagenet, place):
    (imagenet / place).mkdir()
    with pytest.raises(ValueError, match=f"{Path(place).name}, which are no classes"):
        data.read("imagenet100", tmp_path, strict=False)


def test_strangers_among_the_images_are_refused_and_hidden_files_are_not(tmp_path, imagenet):
    folder = imagenet / "train" / "n01440764"
    (folder / "._n01440764_0.JPEG").write_bytes(b"what macOS leaves")
    assert len(data.read("imagenet100", tmp_path, strict=False).train.labels) == 200
    (folder / "Thumbs.db").write_bytes(b"")
    with pytest.raises(ValueError, match=r"n01440764 has Thumbs.db, which are no images \(\*.JPEG"):
        data.read("imagenet100", tmp_path, strict=False)


def test_folders_as_they_are_downloaded_are_explained(tmp_path, imagenet):
    (imagenet / "train").rename(imagenet / "train.X1")
    with pytest.raises(ValueError, match=r"train is missing: .*train.X1 to train.X4.*merged"):
        data.read("imagenet100", tmp_path)


def test_broken_images_and_other_formats_are_named(tmp_path, imagenet):
    task = data.read("imagenet100", tmp_path, strict=False)
    file, gif = task.train.images[5], io.BytesIO()
    Image.new("RGB", (8, 8)).save(gif, format="GIF")
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"<html>404</html>", gif.getvalue()):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{file.name} is not a JPEG that can be read"):
            read_image(task.train, 5)


def test_gray_images_get_three_colors(tmp_path, imagenet):
    task = data.read("imagenet100", tmp_path, strict=False)
    Image.new("L", (8, 8), 7).save(task.train.images[0], format="JPEG")
    assert read_image(task.train, 0).mode == "RGB"
