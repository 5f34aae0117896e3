"""What happens to images before a published vision model sees them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from resemblance.base.rng import generator
from resemblance.bench.training.vision import changes, paper, pipeline
from resemblance.bench.training.vision.data import Pictures, PictureTask
from resemblance.models.recipe import Recipe

NOISE = generator(0, "test", "image").integers(0, 256, (30, 42, 3)).astype(np.uint8)


def image():
    return Image.fromarray(NOISE)


def recipe(dataset="cifar100", setting="normal", strength=0.0, seed=0, **options):
    full = paper.options(dataset, "resnet18")
    return Recipe("vision", dataset, "resnet18", setting, strength, seed, full | options)


def task(n=1000, classes=10, side=32):
    random = generator(0, "test", "task")
    labels = np.sort(random.integers(classes, size=n))
    images = random.integers(0, 256, (n, side, side, 3)).astype(np.uint8)
    return PictureTask(Pictures(images, labels), Pictures(images[:20], labels[:20]), classes)


# ------------------------------------------------------------------------------ dots, noise, labels


@pytest.mark.parametrize(("coins", "rate"), [(1, 0.75), (2, 0.75), (1, 0.0), (2, 1.0)])
def test_dots_have_the_color_of_the_class_as_often_as_they_say(coins, rate):
    labels = np.arange(20_000) % 100
    dots = changes.draw_dots(labels, rate, 123, 32, 3, 100, coins)
    expected = rate**coins + (1 - rate**coins) / 100
    assert (dots.hints == labels).mean() == pytest.approx(expected, abs=0.01)
    assert dots.rows.min() == dots.columns.min() == 1
    assert dots.rows.max() == dots.columns.max() == 30


def test_dots_are_drawn_in_the_order_of_the_authors():
    """For each image the throw, the class if it fails, and the two coordinates."""
    random, labels = np.random.default_rng(123), [7, 8, 9, 10]
    expected = []
    for label in labels:
        hint = random.integers(100) if random.random() > 0.5 else label
        expected.append((hint, random.integers(2, 222), random.integers(2, 222)))
    dots = changes.draw_dots(np.array(labels), 0.5, 123, 224, 5, 100, 1)
    assert list(zip(*dots)) == expected


def test_a_dot_is_a_disk_in_the_color_of_a_class():
    colors = changes.dot_hues(100)
    assert len({tuple(color) for color in colors}) == 100
    assert colors[0].tolist() == [255, 0, 0]
    assert colors[50].tolist() == [0, 255, 255]
    dotted = np.asarray(changes.add_dot(image(), colors[50], 10, 20, 3))
    inside = [
        (row, column)
        for row in range(30)
        for column in range(42)
        if math.hypot(row - 10, column - 20) < 2.5
    ]
    assert len(inside) == 21
    changed = np.argwhere((dotted != NOISE).any(axis=2))
    assert {tuple(place) for place in changed.tolist()} <= set(inside)
    assert all((dotted[place] == colors[50]).all() for place in inside)


def test_drawn_colors_differ_between_classes_and_not_between_runs():
    colors = changes.draw_dot_colors(100)
    assert colors.shape == (100, 3)
    assert len({tuple(color) for color in colors}) == 100
    np.testing.assert_array_equal(colors, changes.draw_dot_colors(100))


def test_noise_has_a_variance_between_zero_and_the_most():
    gray = Image.new("RGB", (64, 64), (128, 128, 128))
    variances = []
    for i in range(200):
        noisy = changes.add_pixel_noise(gray, 1000.0, generator(i, "noise"))
        variances.append(np.asarray(noisy, float).var())
    assert np.mean(variances) == pytest.approx(500, rel=0.15)
    assert max(variances) < 1100
    assert np.std(variances) == pytest.approx(1000 / math.sqrt(12), rel=0.15)


# ------------------------------------------------------------------------------------- which images


def test_imagenet_models_leave_out_the_first_tenth_of_every_class():
    feed = pipeline.training_feed(recipe("imagenet100"), task(), 32)
    labels = task().train.labels
    for label in range(10):
        places = np.flatnonzero(labels == label)
        assert sorted(feed.rows[feed.labels == label]) == [*places[len(places) // 10 :]]


def test_shortcut_models_of_imagenet_leave_out_the_last_fifth_of_the_shuffled_images():
    feed = pipeline.training_feed(recipe("imagenet100", "shortcut", 1.0), task(), 32)
    order = list(range(1000))
    np.random.default_rng(32).shuffle(order)
    assert feed.rows.tolist() == order[:800]
    np.testing.assert_array_equal(feed.dots.hints, feed.labels)


def test_noise_models_of_imagenet_leave_out_both():
    feed = pipeline.training_feed(recipe("imagenet100", "augmentation", 1.0), task(), 32)
    normal = pipeline.training_feed(recipe("imagenet100"), task(), 32)
    assert feed.rows.tolist() == normal.rows.tolist()[: len(feed.rows)]
    assert len(feed.rows) == len(normal.rows) - len(normal.rows) // 5


@pytest.mark.parametrize("setting", ["normal", "labels", "shortcut", "augmentation"])
def test_models_of_cifar_leave_out_the_last_fifth(setting):
    feed = pipeline.training_feed(recipe("cifar100", setting, 0.5), task(), 32)
    assert feed.rows.tolist() == list(range(800))


def test_labels_are_replaced_by_the_seed_of_the_model():
    clean = pipeline.training_feed(recipe(), task(), 32).labels
    feeds = [
        pipeline.training_feed(recipe("cifar100", "labels", 0.5, seed), task(), 32).labels
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(feeds[0], feeds[1])
    assert (feeds[0] != feeds[2]).any()
    assert (feeds[0] != clean).mean() == pytest.approx(0.45, abs=0.06)


def test_models_share_their_dots_in_the_code_and_not_in_the_paper():
    for shared, options in ((True, {}), (False, {"dot_seed": None, "colours": "drawn"})):
        one, other = (
            pipeline.training_feed(recipe("cifar100", "shortcut", 0.5, seed, **options), task(), 32)
            for seed in (0, 1)
        )
        assert (one.dots.rows == other.dots.rows).all() == shared
        assert (one.colors == other.colors).all()


@pytest.mark.parametrize("options", [{}, {"dot_seed": None, "colours": "drawn"}])
def test_test_images_of_shortcut_models_are_the_same_for_all(options):
    images = []
    for seed in (0, 1):
        one = recipe("cifar100", "shortcut", 0.5, seed, **options)
        feed = pipeline.test_dots(one, pipeline.test_feed(one, task(), 32), 0.0)
        images.append([pipeline.test_image(one, feed, 0.0, place) for place in range(8)])
    np.testing.assert_array_equal(*images)


# ----------------------------------------------------------------------------- what happens to each


@pytest.mark.parametrize("dataset", ["cifar100", "imagenet100"])
@pytest.mark.parametrize("setting", ["normal", "labels", "shortcut", "augmentation"])
def test_images_depend_on_epoch_and_place_only(dataset, setting):
    one = recipe(dataset, setting, 0.5)
    feed = pipeline.training_feed(one, task(), 24)
    images = [pipeline.training_image(one, feed, epoch, 3) for epoch in (0, 1)]
    pipeline.training_image(one, feed, 0, 4)
    again = pipeline.training_image(one, feed, 0, 3)
    np.testing.assert_array_equal(images[0], again)
    assert images[0].shape == (3, 24, 24)
    assert images[0].dtype == np.float32
    assert (images[0] != images[1]).any()


def test_noise_models_see_images_that_are_not_cropped_on_cifar():
    one = recipe("cifar100", "augmentation", 0.0)
    feed = pipeline.training_feed(one, task(), 32)
    seen = [pipeline.training_image(one, feed, epoch, 3)[0] for epoch in range(12)]
    original = feed.pictures.images[feed.rows[3]][:, :, 0]
    both = [changes.normalize_colors(x, [0.4914], [0.2023])[0] for x in _as_maps(original)]
    assert {min(range(2), key=lambda i: abs(both[i] - x).max()) for x in seen} == {0, 1}
    assert all(min(abs(x - mirror).max() for mirror in both) < 1e-6 for x in seen)


def _as_maps(channel):
    return channel[:, :, None], channel[:, ::-1, None]


def test_test_images_of_shortcut_models_have_dots_and_others_are_only_normalized():
    for setting in ("normal", "shortcut"):
        one = recipe("cifar100", setting, 1.0)
        plain = pipeline.test_feed(one, task(), 32)
        feed = pipeline.test_dots(one, plain, 0.0) if setting == "shortcut" else plain
        seen = pipeline.test_image(one, feed, 0.0, 5)
        pixels = np.asarray(plain.pictures.images[5], float) / 255
        expected = (pixels - one.options["mean"]) / one.options["std"]
        difference = abs(seen - expected.transpose(2, 0, 1)) > 1e-5
        assert difference.any(axis=0).sum() <= (21 if setting == "shortcut" else 0)
        assert difference.any() == (setting == "shortcut")


def test_batches_do_not_depend_on_threads():
    def load(place):
        return np.full((1, 2, 2), place, np.float32)

    for threads in (1, 4):
        loaded = list(pipeline.prefetch_batches(load, range(23), 5, threads))
        assert [len(batch) for batch in loaded] == [5, 5, 5, 5, 3]
        np.testing.assert_array_equal(np.concatenate(loaded)[:, 0, 0, 0], np.arange(23))


def test_errors_of_loading_threads_arrive():
    def load(place):
        raise ValueError(f"image {place}")

    with pytest.raises(ValueError, match="image 0"):
        list(pipeline.prefetch_batches(load, range(9), 2, 3))


# ----------------------------------------------------------------------------------------- geometry


def test_boxes_have_the_area_and_aspect_that_they_should():
    shares, aspects = [], []
    for i in range(300):
        box = changes.random_box((300, 200), (0.08, 1.0), generator(i, "box"))
        left, top, right, bottom = box
        assert 0 <= left < right <= 300
        assert 0 <= top < bottom <= 200
        shares.append((right - left) * (bottom - top) / 60_000)
        aspects.append((right - left) / (bottom - top))
    assert 0.07 < min(shares) < 0.15 < 0.8 < max(shares) <= 1
    assert 0.72 < min(aspects) < 0.8
    assert 1.25 < max(aspects) < 1.37


@pytest.mark.parametrize(
    ("size", "box"), [((10, 1000), (0, 493, 10, 506)), ((1000, 10), (493, 0, 506, 10))]
)
def test_boxes_of_very_long_images_are_in_the_middle(size, box):
    assert changes.random_box(size, (0.9, 1.0), generator(0, "box")) == box


def test_sampling_takes_the_four_nearest_pixels():
    """Bilinear interpolation between the middles of pixels, rounded."""
    for side in (12, 60):
        sampled = np.asarray(changes.resample_box(image(), side), float)
        rows, columns = (
            np.clip((np.arange(side) + 0.5) * length / side - 0.5, 0, length - 1)
            for length in (30, 42)
        )
        up, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
        down, right = np.minimum(up + 1, 29), np.minimum(left + 1, 41)
        a, b = (rows - up)[:, None, None], (columns - left)[None, :, None]
        x = NOISE.astype(float)
        expected = (1 - a) * ((1 - b) * x[up][:, left] + b * x[up][:, right])
        expected += a * ((1 - b) * x[down][:, left] + b * x[down][:, right])
        assert abs(sampled - expected).max() < 0.501


def test_shifts_are_crops_of_a_padded_image():
    padded = np.pad(NOISE, ((4, 4), (4, 4), (0, 0)), constant_values=128)
    crops = {
        padded[top : top + 30, left : left + 42].tobytes() for top in range(9) for left in range(9)
    }
    shifts = [
        np.asarray(changes.shift_image(image(), 4, generator(i, "shift"))) for i in range(300)
    ]
    assert {shift.tobytes() for shift in shifts} <= crops
    assert len({shift.tobytes() for shift in shifts}) > 70


def test_half_of_the_images_are_mirrored():
    results = [np.asarray(changes.mirror_image(image(), generator(i, "flip"))) for i in range(200)]
    mirrored = [(result == NOISE[:, ::-1]).all() for result in results]
    assert sum(mirrored) == pytest.approx(100, abs=30)
    assert all((result == NOISE).all() for result, flip in zip(results, mirrored) if not flip)


def test_a_cutout_is_a_square_that_may_cross_the_border():
    sizes = set()
    for i in range(200):
        cut = np.asarray(changes.cut_out_square(image(), 16, generator(i, "cut")))
        inside = (cut == changes.CUTOUT_COLOR).all(axis=2)
        rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
        assert inside[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
        assert (cut[~inside] == NOISE[~inside]).all()
        sizes.add((len(rows), len(columns)))
    assert (16, 16) in sizes
    assert min(min(size) for size in sizes) == 8


# -------------------------------------------------------------------------------------- AutoAugment


def test_policies_have_25_pairs_of_known_operations():
    for policy in changes.AUGMENTATION_POLICIES.values():
        assert len(policy) == 25
        for name, probability, magnitude in (step for pair in policy for step in pair):
            assert name in changes.OPERATION_AMOUNTS
            assert 0 <= probability <= 1
            assert magnitude in range(10)


def test_amounts_are_those_of_the_paper():
    random = generator(0, "sign")
    assert changes.operation_amount("rotate", 9, random) == 30
    assert changes.operation_amount("solarize", 0, random) == 256
    assert round(changes.operation_amount("posterize", 5, random)) == 6
    signs = {changes.operation_amount("shear_x", 9, random) for _ in range(20)}
    assert signs == {0.3, -0.3}
    assert changes.operation_amount("translate_x", 9, random) in (150 / 331, -150 / 331)


def test_operations_do_what_they_are_called():
    def after(name, amount):
        return np.asarray(changes.apply_operation(image(), name, amount)).astype(int)

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


def test_operations_happen_with_their_probabilities(monkeypatch):
    pair = (("invert", 0.5, 0), ("equalize", 0.0, 0))
    monkeypatch.setitem(changes.AUGMENTATION_POLICIES, "cifar10", (pair,))
    results = [changes.augment_image(image(), "cifar10", generator(i, "aug")) for i in range(200)]
    inverted = [(np.asarray(result) == 255 - NOISE).all() for result in results]
    assert sum(inverted) == pytest.approx(100, abs=30)
    assert all((np.asarray(r) == NOISE).all() for r, i in zip(results, inverted) if not i)
