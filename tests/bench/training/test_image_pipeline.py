"""What happens to images before a published vision model sees them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from resemblance.base.rng import generator
from resemblance.bench.training.vision import changes, paper, pipeline
from resemblance.bench.training.vision.data import Pictures, PictureTask
from resemblance.models.recipe import Recipe

NOISE = generator(0, "test", "image").integers(0, 256, (30, 42, 3)).astype(np.uint8)
IMAGE = Image.fromarray(NOISE)
OF_PAPER = {"dot_seed": None, "colours": "drawn"}


def recipe(dataset="cifar100", setting="normal", strength=0.0, seed=0, **options):
    full = paper.options(dataset, "resnet18")
    return Recipe("vision", dataset, "resnet18", setting, strength, seed, full | options)


def task(n=1000, classes=10, side=32):
    random = generator(0, "test", "task")
    labels = np.sort(random.integers(classes, size=n))
    images = random.integers(0, 256, (n, side, side, 3)).astype(np.uint8)
    return PictureTask(Pictures(images, labels), Pictures(images[:20], labels[:20]), classes)


def feed_of(*which, **options):
    return pipeline.training_feed(recipe(*which, **options), task(), 32)


@pytest.mark.parametrize("coins", [1, 2])
def test_dots_are_drawn_in_the_order_of_the_authors(coins):
    """For each image the throws, the class after each that fails, and the two coordinates."""
    random, labels, expected = np.random.default_rng(123), range(100), []
    for hint in labels:
        for _ in range(coins):
            hint = random.integers(100) if random.random() > 0.5 else hint
        expected.append((hint, random.integers(2, 222), random.integers(2, 222)))
    dots = changes.draw_dots(np.array(labels), 0.5, 123, 224, 5, 100, coins)
    assert list(zip(*dots)) == expected


# ------------------------------------------------------------------------------------- which images


def test_imagenet_models_leave_out_a_tenth_of_every_class_the_last_fifth_or_both():
    labels, feed = task().train.labels, feed_of("imagenet100")
    for label in range(10):
        places = np.flatnonzero(labels == label)
        assert sorted(feed.rows[feed.labels == label]) == [*places[len(places) // 10 :]]
    shortcut, order = feed_of("imagenet100", "shortcut", 1.0), list(range(1000))
    np.random.default_rng(32).shuffle(order)
    assert shortcut.rows.tolist() == order[:800]
    np.testing.assert_array_equal(shortcut.dots.hints, shortcut.labels)
    both = feed_of("imagenet100", "augmentation", 1.0).rows.tolist()
    assert both == feed.rows.tolist()[: len(feed.rows) - len(feed.rows) // 5]
    assert feed_of("cifar100").rows.tolist() == list(range(800))


@pytest.mark.parametrize("options", [{}, OF_PAPER], ids=["code", "paper"])
def test_models_share_their_dots_in_the_code_and_only_those_of_test_images_in_the_paper(options):
    feeds, images = [], []
    for seed in (0, 1):
        one = recipe("cifar100", "shortcut", 0.5, seed, **options)
        feeds.append(pipeline.training_feed(one, task(), 32))
        tested = pipeline.test_dots(one, pipeline.test_feed(one, task(), 32), 0.0)
        images.append([pipeline.test_image(one, tested, 0.0, place) for place in range(8)])
    assert (feeds[0].dots.rows == feeds[1].dots.rows).all() == (not options)
    assert (feeds[0].colors == feeds[1].colors).all()
    np.testing.assert_array_equal(*images)


# ----------------------------------------------------------------------------- what happens to each


def test_batches_do_not_depend_on_threads_and_errors_of_loading_arrive():
    for threads in (1, 4):
        loaded = list(pipeline.prefetch_batches(np.array, range(23), 5, threads))
        assert [len(batch) for batch in loaded] == [5, 5, 5, 5, 3]
        np.testing.assert_array_equal(np.concatenate(loaded), np.arange(23))

    def load(place):
        raise ValueError(f"image {place}")

    with pytest.raises(ValueError, match="image 0"):
        list(pipeline.prefetch_batches(load, range(9), 2, 3))


# ----------------------------------------------------------------------------------------- geometry


def test_boxes_have_the_area_and_aspect_that_they_should():
    boxes = np.array(
        [changes.random_box((300, 200), (0.08, 1.0), generator(i, "box")) for i in range(300)]
    )
    left, top, right, bottom = boxes.T
    assert left.min() == top.min() == 0
    assert (right.max(), bottom.max()) == (300, 200)
    shares, aspects = (right - left) * (bottom - top) / 60_000, (right - left) / (bottom - top)
    assert 0.07 < shares.min() < 0.15 < 0.8 < shares.max() <= 1
    assert 0.72 < aspects.min() < 0.8
    assert 1.25 < aspects.max() < 1.37
    for size, box in (((10, 1000), (0, 493, 10, 506)), ((1000, 10), (493, 0, 506, 10))):
        assert changes.random_box(size, (0.9, 1.0), generator(0, "box")) == box  # the middle


# -------------------------------------------------------------------------------------- AutoAugment


def test_policies_have_25_pairs_of_known_operations_with_the_amounts_of_the_paper():
    for policy in changes.AUGMENTATION_POLICIES.values():
        assert len(policy) == 25
        for name, probability, magnitude in (step for pair in policy for step in pair):
            assert name in changes.OPERATION_AMOUNTS
            assert 0 <= probability <= 1
            assert magnitude in range(10)
    random = generator(0, "sign")
    assert changes.operation_amount("rotate", 9, random) == 30
    assert changes.operation_amount("solarize", 0, random) == 256
    assert round(changes.operation_amount("posterize", 5, random)) == 6
    assert {changes.operation_amount("shear_x", 9, random) for _ in range(20)} == {0.3, -0.3}
    assert changes.operation_amount("translate_x", 9, random) in (150 / 331, -150 / 331)


def test_operations_do_what_they_are_called():
    def after(name, amount):
        return np.asarray(changes.apply_operation(IMAGE, name, amount)).astype(int)

    np.testing.assert_array_equal(after("invert", 0), 255 - NOISE)
    np.testing.assert_array_equal(after("posterize", 4), NOISE & 0b11110000)
    np.testing.assert_array_equal(after("solarize", 100), np.where(NOISE < 100, NOISE, 255 - NOISE))
    moved = after("translate_x", 0.5)
    np.testing.assert_array_equal(moved[:, :21], NOISE[:, 21:])
    assert (moved[:, 21:] == 128).all()
    np.testing.assert_array_equal(after("translate_y", -0.5)[15:], NOISE[:15])
    for name in ("shear_x", "shear_y", "rotate", "color", "contrast", "sharpness", "brightness"):
        np.testing.assert_array_equal(after(name, 0.0), NOISE)
    np.testing.assert_array_equal(after("brightness", -1.0), 0)
    assert (np.ptp(after("color", -1.0), axis=2) == 0).all()
    assert abs(after("rotate", 30.0)[0, 0] - 128).max() == 0
    # The middle of the last row is 29.5 pixels down, that of the last column 41.5 across
    np.testing.assert_array_equal(after("shear_x", 2 / 29.5)[-1, :40], NOISE[-1, 2:])
    np.testing.assert_array_equal(after("shear_y", -3 / 41.5)[3:, -1], NOISE[:27, -1])
