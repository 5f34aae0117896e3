"""Small convolutional networks trained on handwritten digits, which need no download."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....representation import Representation
from ....rng import generator
from ...layouts import from_maps
from ..loop import seeded, train

CHANNELS = (16, 32, 64)
LAYERS = ("conv1", "conv2", "conv3", "linear")


class Split(NamedTuple):
    """Training and test images, (n, channels, 8, 8) in float32, with their labels."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


class Digits(NamedTuple):
    """The outputs of all layers of all networks for the test images, and the accuracies."""

    representations: Mapping[str, Representation]
    accuracies: Mapping[str, float]


def digits(
    *,
    seeds: int = 3,
    shuffled: int = 1,
    epochs: int = 30,
    images: int = 500,
    progress: Callable[[str, int, int], None] | None = None,
) -> Digits:
    """Train networks on scikit-learn's handwritten digits and return the outputs of their layers.

    A network is three 3 x 3 convolutions, each followed by a ReLU (16, 32 and 64 channels; the
    second and third halve the image), and one linear layer on the flattened maps. ``seeds``
    networks, named "seed 0", "seed 1" and so on, differ in their initial weights and order of
    training; ``shuffled`` more, named "shuffled 0" ..., are trained on labels that were assigned to
    the images at random, so they can only memorise the images.

    The representations are named "seed 0/conv1" to "shuffled 0/linear" and describe the same
    ``images`` test images: the outputs of the convolutions after the ReLU, averaged over the
    positions, and those of the linear layer as they are. Accuracies are on these images too.
    PyTorch runs on one thread and its random state is left as it was, so the result is the same in
    each run on a machine. ``progress`` is called with "training", the number of epochs so far, of
    all networks together, and their total. Needs the extra ``torch``.

    Raises ``ValueError`` when no image is left to train with.
    """
    split = split_digits(images)
    noise = generator(0, "digits", "shuffled labels").permutation(len(split.train_labels))
    mislabelled = split._replace(train_labels=split.train_labels[noise])
    plan = {f"seed {i}": split for i in range(seeds)} | {
        f"shuffled {i}": mislabelled for i in range(shuffled)
    }
    representations, accuracies = {}, {}
    for position, (name, data) in enumerate(plan.items()):
        report = _counting(progress, position * epochs, len(plan) * epochs)
        outputs = train_network(data, name, epochs, report=report)
        accuracies[name] = float((outputs["linear"].argmax(axis=1) == split.test_labels).mean())
        for layer, values in outputs.items():
            title = f"{name}/{layer}"
            representations[title] = _representation(values, title)
    return Digits(representations, accuracies)


def _representation(values: np.ndarray, title: str) -> Representation:
    if values.ndim == 4:
        return from_maps(values, pool="mean", name=title)
    return Representation(values, title)


def _counting(
    progress: Callable[[str, int, int], None] | None, before: int, total: int
) -> Callable[[int], None] | None:
    """Return a function that reports the epochs of one network as progress of all networks."""
    return None if progress is None else lambda epoch: progress("training", before + epoch, total)


def split_digits(images: int) -> Split:
    """Return the digits, with the same ``images`` always set aside for testing."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    if not 0 < images < len(labels):
        raise ValueError(f"digits: images must be between 1 and {len(labels) - 1}; got {images}")
    order = generator(0, "digits", "split").permutation(len(labels))
    x = (pixels[order].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    y = labels[order]
    return Split(x[images:], y[images:], x[:images], y[:images])


def train_network(
    split: Split,
    name: str,
    epochs: int,
    batch: int = 64,
    *,
    report: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Train one network and return the outputs of its layers for the test images.

    ``report`` is called after each epoch with their number so far.
    """
    with seeded(0, "digits", name) as torch:
        first, second, third = CHANNELS
        layers = torch.nn.ModuleList(
            [
                torch.nn.Conv2d(1, first, 3, padding=1),
                torch.nn.Conv2d(first, second, 3, padding=1, stride=2),
                torch.nn.Conv2d(second, third, 3, padding=1, stride=2),
                torch.nn.Linear(4 * third, 10),
            ]
        )
        x, y = torch.from_numpy(split.train), torch.from_numpy(split.train_labels)

        def steps(first: int) -> Iterator[Any]:
            for epoch in range(epochs):
                yield from ([rows] for rows in torch.randperm(len(x)).split(batch))
                if report:
                    report(epoch + 1)

        def loss(rows: Any) -> Any:
            return torch.nn.functional.cross_entropy(_forward(layers, x[rows])["linear"], y[rows])

        train(layers, steps, loss, torch.optim.Adam(layers.parameters(), lr=2e-3))
        with torch.no_grad():
            outputs = _forward(layers, torch.from_numpy(split.test))
    return {layer: values.numpy() for layer, values in outputs.items()}


def _forward(layers: Any, x: Any) -> dict[str, Any]:
    """Return the outputs of all layers by name."""
    outputs = []
    for convolution in layers[:-1]:
        x = convolution(x).relu()
        outputs.append(x)
    return dict(zip(LAYERS, [*outputs, layers[-1](x.flatten(1))]))
