"""Image classifiers of the ReSi paper: ResNets, VGGs and vision transformers on CIFAR-100 and
ImageNet-100, plain or with a known influence.

After the paper (Klabunde et al., ICLR 2025) and its authors' public code. A recipe describes the
training of one model; :func:`fit` trains it and :func:`extract` runs it on the test images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....extras import need
from ....subject import Extraction, Recipe
from ...trained.common import accuracy, seeded
from .. import DATASETS, check_options
from ..devices import device_of
from ..resources import Resources
from .data import read
from .hyperparameters import hyperparameters_of
from .learning import learn, threads_for
from .models import POOLING, VITS, build, forward, layer_names
from .pictures import PictureTask
from .pipeline import Feed, batches, test_dots, test_feed, test_image, training_feed
from .pretrained import configuration, with_pretrained

VERSION = 1
BATCH = 100  # images that the trained models see at once, as in the authors' code
State = Mapping[str, np.ndarray]


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return all hyperparameters of the models of an architecture on a data set.

    ``"resi-code"`` follows the authors' code, ``"paper"`` what the paper and the authors'
    parameters say where the code does otherwise. The differences, as options of both:

    - ``label_smoothing``: 0; for ImageNet-100 the parameters say 0.1, which the loss ignores.
    - ``gradient_clip`` (by value): 0; for ViT on ImageNet-100 the parameters say 1, which only the
      evaluation gets.
    - ``coins``: on CIFAR-100 two throws decide whether a dot has the colour of the class, so that
      this happens with the square of the strength; one in the paper.
    - ``dot_seed``: 123, so that all models share their dots; None, the seed of the model, in the
      paper, but for the test images, which are the same for all. ``colours``: evenly spaced hues;
      drawn uniformly in the paper.
    - ``hooks``: of ViT-L/32 the code sees 13 blocks of 24, so its last layer is the 13th block.

    What both have in common: ViT on CIFAR-100 is trained with SGD as the CNNs are, on images of 224
    pixels; ``left_out`` differs between settings (see :func:`.training_feed`); the paper's text has
    labels of 100 % on ImageNet-100 in its first version and 75 % in its last, which is what
    :data:`.DATASETS` has.

    ``reduced``: the size for trying out a folder or a cluster: one epoch on at most ``most`` images
    of small networks, without checks of counts and checksums; ViT as the folder of its pretrained
    weights says.

    Raises ``ValueError`` for an unknown architecture, or unknown hyperparameters.
    """
    check_options(dataset, architecture, hyperparameters)
    return hyperparameters_of(dataset, architecture, hyperparameters, reduced)


def fit(recipe: Recipe, resources: Resources) -> dict[str, np.ndarray]:
    """Train the model of a recipe on real data and return its weights by name.

    CNNs are trained by SGD with Nesterov momentum and a learning rate that falls as a cosine, ViT
    from pretrained weights (Dosovitskiy et al., ICLR 2021), on ImageNet-100 by AdamW with a
    warm-up. Images are cropped at random, mirrored, and changed by AutoAugment (Cubuk et al., CVPR
    2019), on CIFAR-100 also cut out (DeVries and Taylor, 2017).

    - ``"normal"``: nothing else.
    - ``"labels"``: each label is drawn anew from all classes with probability ``strength``.
    - ``"shortcut"``: each image gets a coloured dot that tells its class with probability
      ``strength``, before it is cropped; on CIFAR-100 nothing is cut out.
    - ``"augmentation"``: in place of AutoAugment and cutout, Gaussian noise whose variance is drawn
      for every image from 0 to ``strength * options["noise"]``. On CIFAR-100 images are only
      mirrored besides.

    The authors set no seeds; here initial weights, order, labels and all changes of images depend
    on the recipe alone, never on how images are loaded. Weights are the same on every run on one
    kind of device where PyTorch is deterministic there, and after an interruption. Needs the extra
    ``resi``.

    Raises ``ValueError`` for a recipe of another kind, and for data that are missing or damaged.
    """
    task, config, side = _prepared(recipe, resources)
    device = device_of(resources)
    with seeded(recipe.seed, "vision", recipe.name, device=device) as torch:
        model = build(recipe.architecture, recipe.options, config)
        if recipe.architecture in VITS:
            model = with_pretrained(model, recipe.architecture, recipe.options, resources)
        feed = training_feed(recipe, task, side)
        model = learn(torch, device, recipe, model, feed, resources)
    return {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}


def extract(recipe: Recipe, state: State, resources: Resources) -> Extraction:
    """Return the outputs of a trained model and of its layers for the test images, in float32.

    Layers of normal models are the last ``options["compared"]`` that the hooks of the authors' code
    see (:func:`.layer_names`), of others the last one alone, since only the test of layers compares
    several. Maps are averaged to 7 x 7 positions where they are larger and flattened to (n,
    channels * height * width); ``maps`` has their shapes, also that of ResNet's last layer, a map
    of one position. The pooling is called "mean" for CNNs, "cls" for ViT.

    Test images are brought to the size of the model as a whole. Those of shortcut models have dots
    of strength 0; those of augmentation models, on ImageNet-100 and for ViT, are made smaller or
    larger without smoothing, as in the authors' code. ``accuracies``: ``"test"`` on these images;
    for shortcut models also ``"leaked"``, with dots of strength 1, and for normal and augmentation
    models ``"augmented"``, with noise of strength 1.

    Raises ``ValueError`` as :func:`fit` does, and for weights of another network.
    """
    task, config, side = _prepared(recipe, resources)
    device = device_of(resources)
    with seeded(recipe.seed, "vision", "extract", device=device) as torch, torch.no_grad():
        model = _loaded(torch, recipe, build(recipe.architecture, recipe.options, config), state)
        model.to(device).eval()
        run, feed = partial(_outputs, device, recipe, model), test_feed(recipe, task, side)
        names = layer_names(recipe.architecture, model)[: recipe.options["hooks"]]
        few = recipe.options["compared"] if recipe.setting == "normal" else 1
        plain = test_dots(recipe, feed, 0.0) if recipe.setting == "shortcut" else feed
        outputs = run(plain, names[-few:])
        logits = outputs.pop("logits")
        accuracies = {"test": accuracy(logits, feed.labels)}
        accuracies |= _other_accuracy(run, recipe, feed)
    maps = {name: x.shape[1:] for name, x in outputs.items() if x.ndim == 4}
    layers = {name: x.reshape(len(x), -1) for name, x in outputs.items()}
    return Extraction({POOLING[recipe.architecture]: layers}, logits, feed.labels, accuracies, maps)


def _prepared(recipe: Recipe, resources: Resources) -> tuple[PictureTask, Any, int]:
    """Return the data, the configuration of a vision transformer and the side of images."""
    _check(recipe)
    options = recipe.options
    task = read(recipe.dataset, resources.data, resources.download, options["strict"])
    if recipe.architecture not in VITS:
        return task, None, options["size"]
    config = configuration(recipe.architecture, options, resources)
    return task, config, config.image_size


def _check(recipe: Recipe) -> None:
    about = DATASETS.get(recipe.dataset)
    if recipe.domain != "vision" or about is None or about.domain != "vision":
        raise ValueError(f"{recipe.name} is not a vision model of the ReSi paper")
    if recipe.architecture not in about.architectures:
        raise ValueError(f"{recipe.name}: no architecture {recipe.architecture!r} of {about.title}")
    known_options = hyperparameters_of(recipe.dataset, recipe.architecture, "resi-code", False)
    absent = sorted(known_options.keys() - recipe.options.keys())
    if absent:
        raise ValueError(f"{recipe.name}: options lack {', '.join(absent)}; start from options()")
    if recipe.setting not in recipe.options["left_out"] or not 0 <= recipe.strength <= 1:
        known = ", ".join(recipe.options["left_out"])
        raise ValueError(
            f"{recipe.name}: setting must be one of {known}, with a strength from 0 to 1"
        )


def _loaded(torch: Any, recipe: Recipe, model: Any, state: State) -> Any:
    try:
        model.load_state_dict(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        )
    except RuntimeError as error:
        raise ValueError(f"{recipe.name}: the weights are of another network: {error}") from error
    return model


def _outputs(
    device: Any, recipe: Recipe, model: Any, feed: Feed, names: Sequence[str], noise: float = 0.0
) -> dict[str, np.ndarray]:
    """Return the outputs of layers and the logits for all images; one batch is on the device at a
    time."""
    torch = need("torch")
    results: dict[str, np.ndarray] = {}
    load, count, start = partial(test_image, recipe, feed, noise), len(feed.rows), 0
    for images in batches(load, range(count), BATCH, threads_for(device)):
        x = torch.from_numpy(images).to(device)
        for name, values in forward(recipe.architecture, model, x, names).items():
            if name not in results:
                results[name] = np.empty((count, *values.shape[1:]), np.float32)
            results[name][start : start + len(images)] = values.cpu().numpy()
        start += len(images)
    return results


def _other_accuracy(
    run: Callable[..., dict[str, np.ndarray]], recipe: Recipe, feed: Feed
) -> dict[str, float]:
    """Return the accuracy on images that show what the setting is about."""
    if recipe.setting == "labels":
        return {}
    if recipe.setting == "shortcut":
        outputs = run(test_dots(recipe, feed, 1.0), ())
        return {"leaked": accuracy(outputs["logits"], feed.labels)}
    outputs = run(feed, (), recipe.options["noise"])
    return {"augmented": accuracy(outputs["logits"], feed.labels)}
