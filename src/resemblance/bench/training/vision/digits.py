"""Small convolutional networks trained on handwritten digits, without downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.rng import generator
from resemblance.data.layouts import from_maps
from resemblance.data.representation import Representation

from ..loop import accuracy, seeded_torch, train_steps

DIGIT_CHANNELS = (16, 32, 64)
DIGIT_LAYERS = ("conv1", "conv2", "conv3", "linear")
DIGIT_BATCH_SIZE = 64


class DigitSplit(NamedTuple):
    """Training and test images, (n, channels, 8, 8) in float32, with labels."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


class Digits(NamedTuple):
    """The outputs of all layers of all networks for the test images, and the accuracies of the
    networks."""

    representations: Mapping[str, Representation]
    accuracies: Mapping[str, float]


def train_on_digits(
    *,
    seeds: int = 3,
    shuffled: int = 1,
    epochs: int = 30,
    images: int = 500,
    progress: Callable[[str, int, int], None] | None = None,
) -> Digits:
    """Train networks on scikit-learn's handwritten digits and return the outputs of all layers.

    A network has three 3 x 3 convolutions, every convolution followed by a ReLU (16, 32 and 64
    channels; the second and third halve the image), and one linear layer on the flattened maps.
    ``seeds`` networks, named "seed 0", "seed 1" and so on, differ in initial weights and sample
    order. ``shuffled`` additional networks, named "shuffled 0" ..., are trained on labels shuffled
    at random, so a network can only memorise the images. ``epochs``: epochs of every training.

    The representations are named "seed 0/conv1" to "shuffled 0/linear" and describe the same
    ``images`` test images. The outputs of the convolutions are taken after the ReLU and averaged
    over the positions; the outputs of the linear layer stay unchanged. Accuracies are measured on
    the same images. PyTorch runs on one thread and the function restores PyTorch's random state, so
    every run on a machine gives the same result. ``progress`` is called with "training", the number
    of finished epochs over all networks, and the total number of epochs. Needs the extra ``torch``.

    Raises ``ValueError`` when no image is left for training.
    """
    split = split_digits(images)
    noise = generator(0, "digits", "shuffled labels").permutation(len(split.train_labels))
    labels = {f"seed {i}": split.train_labels for i in range(seeds)}
    labels |= {f"shuffled {i}": split.train_labels[noise] for i in range(shuffled)}
    representations, accuracies = {}, {}
    for position, (name, train_labels) in enumerate(labels.items()):

        def report(epoch: int, offset: int = position * epochs) -> None:
            if progress is not None:
                progress("training", offset + epoch, len(labels) * epochs)

        data = split._replace(train_labels=train_labels)
        outputs = train_network(data, name, epochs, report)
        accuracies[name] = accuracy(outputs["linear"], split.test_labels)
        for layer, values in outputs.items():
            title, is_map = f"{name}/{layer}", values.ndim == 4
            features = from_maps(values, pool="mean").source if is_map else values
            representations[title] = Representation(features, title)
    return Digits(representations, accuracies)


def split_digits(images: int) -> DigitSplit:
    """Split the 1,797 digits into training images and ``images`` test images, equally in every
    call. Images are (n, 1, 8, 8) from 0 to 1."""
    x, y = _shuffled_digits()
    if not 0 < images < len(y):
        raise ValueError(f"split_digits: images must be between 1 and {len(y) - 1}; got {images}")
    return DigitSplit(x[images:], y[images:], x[:images], y[:images])


@lru_cache(maxsize=1)  # every model of a study reads the same images twice
def _shuffled_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return all images, (n, 1, 8, 8) from 0 to 1, and labels, in a fixed random order."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = generator(0, "digits", "split").permutation(len(labels))
    return (pixels[order].reshape(-1, 1, 8, 8) / 16).astype(np.float32), labels[order]


def train_network(
    split: DigitSplit, name: str, epochs: int, report: Callable[[int], None]
) -> dict[str, np.ndarray]:
    """Train one network and return the outputs of the layers for the test images, by layer: maps
    (n, channels, height, width), or (n, 10) for "linear".

    ``split``: the training and test images. ``name``: sets the random state. ``report`` is called
    after every epoch with the number of finished epochs.
    """
    with seeded_torch(0, "digits", name) as torch:
        first, second, third = DIGIT_CHANNELS
        layers = torch.nn.ModuleList(
            [
                torch.nn.Conv2d(1, first, 3, padding=1),
                torch.nn.Conv2d(first, second, 3, padding=1, stride=2),
                torch.nn.Conv2d(second, third, 3, padding=1, stride=2),
                torch.nn.Linear(4 * third, 10),
            ]
        )
        x, y = torch.from_numpy(split.train), torch.from_numpy(split.train_labels)

        def forward(x: Any) -> list[Any]:
            outputs = []
            for convolution in layers[:-1]:
                x = convolution(x).relu()
                outputs.append(x)
            return [*outputs, layers[-1](x.flatten(1))]

        def steps(first: int) -> Iterator[Any]:
            for epoch in range(epochs):
                yield from ([rows] for rows in torch.randperm(len(x)).split(DIGIT_BATCH_SIZE))
                report(epoch + 1)

        def loss(rows: Any) -> Any:
            return torch.nn.functional.cross_entropy(forward(x[rows])[-1], y[rows])

        train_steps(layers, steps, loss, torch.optim.Adam(layers.parameters(), lr=2e-3))
        with torch.no_grad():
            outputs = forward(torch.from_numpy(split.test))
    return {layer: values.numpy() for layer, values in zip(DIGIT_LAYERS, outputs)}
