"""Image pipeline: the training and test images of a model, in order, and the transformations of
every image."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.rng import generator
from resemblance.models.recipe import Recipe

from ..corruption import draw_any_class, redraw_labels
from .changes import (
    Dots,
    add_dot,
    add_pixel_noise,
    augment_image,
    crop_and_resize,
    cut_out_square,
    dot_hues,
    draw_dot_colors,
    draw_dots,
    mirror_image,
    normalize_colors,
    random_box,
    resample_box,
    resize_image,
    shift_image,
)
from .data import Pictures, PictureTask, read_image

CROP_AREA_RANGE = (0.08, 1.0)  # share of the image area that a resized crop covers
CROP_PADDING = 4  # pixels by which a padded crop moves an image
# The seed for the dots of test images if the training dots depend on the model
TEST_DOTS_SEED = 123
N_PREFETCHED_BATCHES = 3  # batches loaded ahead


class ImageFeed(NamedTuple):
    """Images for a model.

    ``rows``: (n,) the indices of the images in ``pictures``, in order. ``labels``: (n,) the labels
    to learn, or the true classes. ``side``: the side of the model's input in pixels. ``dots``: the
    dot of every image in the shortcut setting. ``colors``: the dot colour of every class in the
    shortcut setting.
    """

    pictures: Pictures
    rows: np.ndarray
    labels: np.ndarray
    side: int
    dots: Dots | None = None
    colors: np.ndarray | None = None


def training_feed(recipe: Recipe, task: PictureTask, side: int) -> ImageFeed:
    """Return the training images of a recipe with the training labels. ``side``: the side of the
    model's input in pixels.

    ``options["left_out"]`` has two numbers per setting, with 0 for no effect. The first number k
    leaves out one in k images of every class, the first images by name (the authors' code takes the
    first images that the file system lists). The second number k leaves out one in k of all images,
    the last images. Between the two steps, ``options["shuffle"]`` is the seed for shuffling the
    images; None for no shuffling.
    """
    pictures, options = task.train, recipe.options
    class_share, total_share = options["left_out"][recipe.setting]
    rows = _without_first(pictures.labels, class_share)
    if options["shuffle"] is not None:
        order = list(range(len(rows)))
        np.random.default_rng(options["shuffle"]).shuffle(order)
        rows = rows[order]
    feed = ImageFeed(pictures, rows, pictures.labels[rows], side)
    if recipe.setting == "shortcut":
        seed = recipe.seed if options["dot_seed"] is None else options["dot_seed"]
        feed = add_dots_to_feed(options, feed, recipe.strength, seed)
    if recipe.setting == "labels":
        random = generator(recipe.seed, "vision", recipe.name, "labels")
        labels = redraw_labels(
            feed.labels, recipe.strength, draw_any_class(task.classes, random), random
        )
        feed = feed._replace(labels=labels)
    count = len(rows) - (len(rows) // total_share if total_share else 0)
    count = count if options["most"] is None else min(count, options["most"])
    dots = None if feed.dots is None else Dots(*(values[:count] for values in feed.dots))
    return feed._replace(rows=feed.rows[:count], labels=feed.labels[:count], dots=dots)


def test_feed(recipe: Recipe, task: PictureTask, side: int) -> ImageFeed:
    """Return the test images of a recipe with the true classes, the same in the same order for all
    models. ``side``: the side of the model's input in pixels."""
    rows = np.arange(len(task.test.labels))[: recipe.options["most"]]
    return ImageFeed(task.test, rows, task.test.labels[rows], side)


def test_dots(recipe: Recipe, feed: ImageFeed, rate: float) -> ImageFeed:
    """Return a feed of test images with dots that show the true class at the given ``rate``. The
    dots are the same for all models with any seed, because representations can only be compared on
    the same images."""
    seed = recipe.options["dot_seed"]
    return add_dots_to_feed(recipe.options, feed, rate, TEST_DOTS_SEED if seed is None else seed)


def add_dots_to_feed(
    options: Mapping[str, Any], feed: ImageFeed, rate: float, seed: int
) -> ImageFeed:
    """Return a feed with dots that show the true class at the given ``rate``. ``options``: of the
    recipe.

    ``seed``: for the positions of the dots and for the classes shown; all images share the colours
    of the classes.
    """
    classes, images = options["classes"], feed.pictures.images
    is_original = options["dotted"] == "original" and isinstance(images, np.ndarray)
    side = images.shape[1] if is_original else feed.side  # type: ignore[union-attr]
    dots = draw_dots(feed.labels, rate, seed, side, options["dot"], classes, options["coins"])
    colors = dot_hues(classes) if options["colours"] == "hues" else draw_dot_colors(classes)
    return feed._replace(dots=dots, colors=colors)


def training_image(recipe: Recipe, feed: ImageFeed, epoch: int, place: int) -> np.ndarray:
    """Return the image ``feed.rows[place]`` as input of the model in an epoch, (3, side, side) in
    float32.

    Recipe, epoch and ``feed.rows[place]`` decide on all random choices.
    """
    row, options = int(feed.rows[place]), recipe.options
    random = generator(recipe.seed, "vision", recipe.name, "image", epoch, row)
    image = read_image(feed.pictures, row)
    if recipe.setting == "augmentation":
        image = mirror_image(_noise_crop(options, image, feed.side, random), random)
        image = add_pixel_noise(image, recipe.strength * options["noise"], random)
    else:
        image = _add_dots_to_image(options, feed, image, place)
        if options["crop"] == "resized":
            image = crop_and_resize(
                image, random_box(image.size, CROP_AREA_RANGE, random), feed.side
            )
        else:
            image = shift_image(resize_image(image, feed.side), CROP_PADDING, random)
        image = augment_image(mirror_image(image, random), options["policy"], random)
        if options["cutout"] and recipe.setting != "shortcut":
            image = cut_out_square(image, options["cutout"], random)
    return normalize_colors(image, options["mean"], options["std"])


def test_image(recipe: Recipe, feed: ImageFeed, noise: float, place: int) -> np.ndarray:
    """Return the image ``feed.rows[place]`` of a test feed as model input, (3, side, side) in
    float32.

    The function adds the shortcut dot if the feed has dots, resizes the image, adds noise, and
    normalises the colours. ``noise``: the largest variance of the noise, on the scale from 0 to
    255; the function draws the variance uniformly from 0 to ``noise``. An image has the same noise
    for all models; 0 means no noise.
    """
    row, options = int(feed.rows[place]), recipe.options
    image = _add_dots_to_image(options, feed, read_image(feed.pictures, row), place)
    is_sampled = recipe.setting == "augmentation" and options["noise_size"] == "sampled"
    image = (resample_box if is_sampled else resize_image)(image, feed.side)
    if noise:
        image = add_pixel_noise(image, noise, generator(0, "vision", "augmented", row))
    return normalize_colors(image, options["mean"], options["std"])


def prefetch_batches(
    load: Callable[[int], np.ndarray], places: Sequence[int], size: int, threads: int
) -> Iterator[np.ndarray]:
    """Yield arrays of ``size`` loaded images (the last array may have fewer), in the order of
    ``places``. ``load``: maps an entry of ``places`` to an image.

    With more than one thread, the next batches load while the caller uses a batch; nothing else
    depends on the number of threads.
    """
    groups = [places[i : i + size] for i in range(0, len(places), size)]
    if threads == 1:
        yield from (np.stack([load(place) for place in group]) for group in groups)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        queue: deque[list[Any]] = deque()
        for group in groups:
            queue.append([pool.submit(load, place) for place in group])
            if len(queue) > N_PREFETCHED_BATCHES:
                yield np.stack([future.result() for future in queue.popleft()])
        while queue:
            yield np.stack([future.result() for future in queue.popleft()])
    finally:
        pool.shutdown(cancel_futures=True)


# -------------------------------------------------------------------------------------------- parts


def _without_first(labels: np.ndarray, share: int) -> np.ndarray:
    """Return the indices of all images with these labels, (n,), without the first images of every
    class: one in ``share`` images of the class, rounded down. 0 keeps all images."""
    if not share:
        return np.arange(len(labels))
    mask = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        mask[places[: len(places) // share]] = True
    return np.flatnonzero(~mask)


def _add_dots_to_image(options: Any, feed: ImageFeed, image: Any, place: int) -> Any:
    if feed.dots is None or feed.colors is None:
        return image
    hint, row, column = (int(values[place]) for values in feed.dots)
    image = resize_image(image, feed.side) if options["dotted"] == "resized" else image
    return add_dot(image, feed.colors[hint], row, column, options["dot"])


def _noise_crop(options: Any, image: Any, side: int, random: np.random.Generator) -> Any:
    """Return a Pillow image cropped at random and resized to side x side pixels, before noise is
    added. ``options``: of the recipe; without the option of resized crops, the whole image is
    resized."""
    is_cropped = options["crop"] == "resized"
    box = random_box(image.size, options["noise_crop"], random) if is_cropped else None
    if options["noise_size"] == "sampled":
        return resample_box(image, side, box)
    return crop_and_resize(image, box or (0, 0, *image.size), side)
