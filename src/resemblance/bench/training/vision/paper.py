"""Image classifiers of the ReSi paper: ResNets, VGGs and vision transformers on CIFAR-100 and
ImageNet-100, plain or with a known corruption.

The training follows the paper (Klabunde et al., ICLR 2025) and the authors' public code. A recipe
describes the training of one model; :func:`fit` trains the model and :func:`extract` runs the model
on the test images.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from resemblance.base.extras import import_optional
from resemblance.base.rng import generator
from resemblance.models.recipe import ModelOutputs, Recipe

from .. import check_training_options
from ..loop import (
    Checkpoint,
    Schedule,
    TrainingEnvironment,
    WeightsByName,
    accuracy,
    build_optimizer,
    load_state,
    seeded_torch,
    train_steps,
    training_device,
    weights_as_arrays,
)
from .data import PictureTask, read
from .pipeline import (
    ImageFeed,
    prefetch_batches,
    test_dots,
    test_feed,
    test_image,
    training_feed,
    training_image,
)
from .pretrained import (
    IMAGE_POOLING,
    RESNET_BLOCKS,
    VGG_CONVOLUTIONS,
    VIT_NAMES,
    build_image_network,
    load_pretrained_weights,
    run_image_network,
    vit_configuration,
)

VERSION = 1
EVALUATION_BATCH_SIZE = 100  # images per batch at evaluation, as in the authors' code


def options(
    dataset: str, architecture: str, hyperparameters: str = "resi-code", reduced: bool = False
) -> dict[str, Any]:
    """Return all hyperparameters of the models of an architecture on a data set.

    ``"resi-code"`` follows the authors' code; ``"paper"`` follows the paper and the authors'
    parameters where the code differs. The differences:

    - ``label_smoothing``: 0 in the code; for ImageNet-100 the parameters say 0.1, but the loss
      ignores the value.
    - ``gradient_clip`` (by value): 0 in the code; for ViT on ImageNet-100 the parameters say 1, but
      only the evaluation receives the value.
    - ``coins``: in the code, two throws on CIFAR-100 decide whether a dot has the colour of the
      class, so the probability is the square of the strength; in the paper, one throw.
    - ``dot_seed``: 123 in the code, so all models share their dots. None in the paper: the dots
      depend on the seed of the model, except on the test images, where all models have the same
      dots.
    - ``colours``: evenly spaced hues in the code; drawn uniformly in the paper.
    - ``hooks``: for ViT-L/32 the code records 13 of 24 blocks, so the last layer is the 13th block.

    Code and paper agree on the rest: ViT on CIFAR-100 is trained with SGD like the CNNs, on images
    of 224 pixels; ``left_out`` differs between settings (see :func:`.training_feed`). For
    ImageNet-100, the first version of the paper has 100 % random labels and the last version 75 %;
    :data:`.DATASETS` has 75 %.

    ``reduced``: a small size for trying out a folder or a cluster: one epoch on at most ``most``
    images with small networks, without checks of counts and checksums; the folder of pretrained
    weights determines the size of ViT.

    Raises ``ValueError`` for an unknown architecture, or unknown hyperparameters.
    """
    check_training_options(dataset, architecture, hyperparameters)
    is_large, is_vit = dataset == "imagenet100", architecture in VIT_NAMES
    result = _CORRUPTION_OPTIONS | _IMAGE_OPTIONS[dataset]
    if is_vit and is_large:
        result |= _VIT_ADAMW_OPTIONS
    else:
        result |= _CNN_SGD_OPTIONS | {"weight_decay": _WEIGHT_DECAYS[dataset]}
    result |= {"hyperparameters": hyperparameters, "strict": True, "most": None, "classes": 100}
    result |= {"compared": N_COMPARED_LAYERS.get(architecture, 6), "hooks": None}
    if is_vit:
        result |= _VIT_OPTIONS[architecture]
    else:
        if architecture in RESNET_BLOCKS:
            depths = RESNET_BLOCKS[architecture][1]
        else:
            depths = VGG_CONVOLUTIONS[architecture]
        result |= {"size": 224 if is_large else 32, "width": 64, "depths": list(depths)}
        result |= {"early": is_large, "pool": 5 if is_large else 4}
    if hyperparameters == "paper":
        result |= {"coins": 1, "dot_seed": None, "colours": "drawn"}
        result["label_smoothing"] = 0.1 if is_large else 0.0
        result["gradient_clip"] = 1.0 if is_vit and is_large else 0.0
    elif architecture == "vit-l32":
        result["hooks"] = 13
    if reduced:
        result |= {"strict": False, "most": 200, "epochs": 1, "warmup": 0, "batch": 32}
        result |= dict.fromkeys(_VIT_OPTIONS[architecture]) if is_vit else {"width": 4}
        result |= {"size": 64, "pool": 2} if is_large and not is_vit else {}
        if architecture in _REDUCED_STAGES:
            result |= {"depths": _REDUCED_STAGES[architecture]}
    return result


def fit(recipe: Recipe, resources: TrainingEnvironment) -> dict[str, np.ndarray]:
    """Train the model of a recipe on real data and return the weights by name.

    CNNs are trained by SGD with Nesterov momentum and a cosine learning-rate schedule. ViT starts
    from pretrained weights (Dosovitskiy et al., ICLR 2021) and is trained on ImageNet-100 by AdamW
    with a warm-up. Images are randomly cropped, mirrored, and changed by AutoAugment (Cubuk et al.,
    CVPR 2019), and on CIFAR-100 by cutout (DeVries and Taylor, 2017).

    - ``"normal"``: no corruption.
    - ``"labels"``: every label is replaced, with probability ``strength``, by a label drawn from
      all classes.
    - ``"shortcut"``: before cropping, every image gets a coloured dot that shows the true class
      with probability ``strength``; on CIFAR-100 there is no cutout.
    - ``"augmentation"``: Gaussian noise replaces AutoAugment and cutout; the variance is drawn for
      every image from 0 to ``strength * options["noise"]``. On CIFAR-100 the only other
      augmentation is mirroring.

    The authors set no seeds. Here initial weights, sample order, labels and all image
    transformations depend on the recipe alone, never on the loading of images. Weights are the same
    in every run on one kind of device if PyTorch is deterministic on that device, also after an
    interruption. Needs the extra ``resi``.

    Raises ``ValueError`` for an invalid recipe, and for missing or damaged data.
    """
    task, config, side = _prepare_images(recipe, resources)
    device = training_device(resources)
    with seeded_torch(recipe.seed, "vision", recipe.name, device=device):
        model = build_image_network(recipe.architecture, recipe.options, config)
        if recipe.architecture in VIT_NAMES:
            model = load_pretrained_weights(model, recipe.architecture, resources)
        feed = training_feed(recipe, task, side)
        train_image_model(recipe, model.to(device), feed, resources)
    return weights_as_arrays(model)


def extract(recipe: Recipe, state: WeightsByName, resources: TrainingEnvironment) -> ModelOutputs:
    """Return the outputs of a trained model and of the model's layers for the test images, in
    float32. ``state``: the weights, arrays by name.

    For normal models, the layers are the last ``options["compared"]`` layers recorded by the hooks
    of the authors' code (:func:`.run_image_network`). For all other models, only the last layer is
    returned, because only the layer test compares several layers. Maps larger than 7 x 7 positions
    are averaged to 7 x 7, and all maps are flattened to (n, channels * height * width); ``maps``
    has the shapes, including ResNet's last layer, a map of one position. The pooling is called
    "mean" for CNNs, "cls" for ViT.

    Test images are resized to the input size of the model without cropping. Test images of shortcut
    models have dots of strength 0. Test images of augmentation models, on ImageNet-100 and for ViT,
    are resized without antialiasing, as in the authors' code. ``accuracies``: ``"test"`` on these
    images; ``"leaked"`` for shortcut models, with dots of strength 1; ``"augmented"`` for normal
    and augmentation models, with noise of strength 1.

    Raises ``ValueError`` for missing or other data, and for weights of another network.
    """
    task, config, side = _prepare_images(recipe, resources)
    device = training_device(resources)
    with seeded_torch(recipe.seed, "vision", "extract", device=device) as torch, torch.no_grad():
        model = build_image_network(recipe.architecture, recipe.options, config)
        load_state(model, state, recipe.name).to(device)
        run, feed = partial(_run_test_images, device, recipe, model), test_feed(recipe, task, side)
        image = torch.from_numpy(test_image(recipe, feed, 0.0, 0)[None]).to(device)
        names = [*run_image_network(recipe.architecture, model, image, None)][:-1][
            : recipe.options["hooks"]
        ]
        n_layers = recipe.options["compared"] if recipe.setting == "normal" else 1
        plain_feed = test_dots(recipe, feed, 0.0) if recipe.setting == "shortcut" else feed
        outputs = run(plain_feed, names[-n_layers:])
        logits = outputs.pop("logits")
        accuracies = {"test": accuracy(logits, feed.labels)}
        if recipe.setting == "shortcut":
            results = run(test_dots(recipe, feed, 1.0), ())
            accuracies["leaked"] = accuracy(results["logits"], feed.labels)
        elif recipe.setting != "labels":
            results = run(feed, (), recipe.options["noise"])
            accuracies["augmented"] = accuracy(results["logits"], feed.labels)
    maps = {name: x.shape[1:] for name, x in outputs.items() if x.ndim == 4}
    layers = {name: x.reshape(len(x), -1) for name, x in outputs.items()}
    return ModelOutputs(
        {IMAGE_POOLING[recipe.architecture]: layers}, logits, feed.labels, accuracies, maps
    )


def _prepare_images(recipe: Recipe, resources: TrainingEnvironment) -> tuple[PictureTask, Any, int]:
    """Check the recipe, and return the data, the configuration of a vision transformer (None for
    other networks), and the side of the input images in pixels."""
    missing_options = sorted(
        options(recipe.dataset, recipe.architecture).keys() - recipe.options.keys()
    )
    if missing_options:
        raise ValueError(
            f"{recipe.name}: options lack {', '.join(missing_options)}; start from options()"
        )
    if recipe.setting not in recipe.options["left_out"] or not 0 <= recipe.strength <= 1:
        settings = ", ".join(recipe.options["left_out"])
        raise ValueError(
            f"{recipe.name}: setting must be one of {settings}, with a strength from 0 to 1"
        )
    task = read(recipe.dataset, resources.data, resources.download, recipe.options["strict"])
    if recipe.architecture not in VIT_NAMES:
        return task, None, recipe.options["size"]
    config = vit_configuration(recipe.architecture, recipe.options, resources)
    return task, config, config.image_size


def _run_test_images(
    device: Any,
    recipe: Recipe,
    model: Any,
    feed: ImageFeed,
    names: Sequence[str],
    noise: float = 0.0,
) -> dict[str, np.ndarray]:
    """Return, by name, the outputs of the layers ``names`` and the "logits" for all n images of the
    feed, arrays (n, ...) in float32, with one batch at a time on the device.

    ``model``: on ``device``, in evaluation mode. ``noise``: the largest variance of the pixel
    noise, on the scale from 0 to 255; 0 for no noise.
    """
    torch = import_optional("torch")
    results: dict[str, np.ndarray] = {}
    load, count, start = partial(test_image, recipe, feed, noise), len(feed.rows), 0
    for images in prefetch_batches(
        load, range(count), EVALUATION_BATCH_SIZE, count_loader_threads(device)
    ):
        x = torch.from_numpy(images).to(device)
        for name, values in run_image_network(recipe.architecture, model, x, names).items():
            if name not in results:
                results[name] = np.empty((count, *values.shape[1:]), np.float32)
            results[name][start : start + len(images)] = values.cpu().numpy()
        start += len(images)
    return results


ImageOptions = dict[str, Any]

_IMAGE_OPTIONS: dict[str, ImageOptions] = {
    "imagenet100": {
        "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "crop": "resized",
        "policy": "imagenet", "cutout": 0, "dot": 5, "dotted": "resized", "coins": 1,
        "shuffle": 32,
        "left_out": {"normal": [10, 0], "labels": [10, 0], "shortcut": [0, 5],
                     "augmentation": [10, 5]},
    },
    "cifar100": {
        "mean": [0.4914, 0.4822, 0.4465], "std": [0.2023, 0.1994, 0.2010], "crop": "padded",
        "policy": "cifar10", "cutout": 16, "dot": 3, "dotted": "original", "coins": 2,
        "shuffle": None,
        "left_out": {"normal": [0, 5], "labels": [0, 5], "shortcut": [0, 5],
                     "augmentation": [0, 5]},
    },
}  # fmt: skip
_CORRUPTION_OPTIONS: ImageOptions = {
    "dot_seed": 123, "colours": "hues",
    "noise": 4000.0, "noise_crop": [0.75, 1.0], "noise_size": "sampled",
}  # fmt: skip
_CNN_SGD_OPTIONS: ImageOptions = {
    "optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "epochs": 200, "warmup": 0,
    "batch": 128, "accumulate": 1, "label_smoothing": 0.0, "gradient_clip": 0.0,
}  # fmt: skip
_VIT_ADAMW_OPTIONS: ImageOptions = {
    "optimizer": "adamw", "lr": 3e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.1,
    "epochs": 300, "warmup": 35, "batch": 128, "accumulate": 4,
    "label_smoothing": 0.0, "gradient_clip": 0.0,
}  # fmt: skip
_WEIGHT_DECAYS = {"imagenet100": 4e-5, "cifar100": 5e-4}
_VIT_OPTIONS: dict[str, ImageOptions] = {
    "vit-b32": {
        "hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072, "patch": 32, "size": 224,
    },
    "vit-l32": {
        "hidden": 1024, "layers": 24, "heads": 16, "intermediate": 4096, "patch": 32, "size": 224,
    },
}  # fmt: skip
# The number of final layers that the layer test compares; 6 for all other architectures
N_COMPARED_LAYERS = {"resnet18": 5, "vgg11": 5}
_REDUCED_STAGES = {"resnet18": [1, 1, 1, 1], "resnet34": [1, 1, 2, 1], "resnet101": [1, 1, 2, 1]}


MAX_LOADER_THREADS = 16  # threads that load images for an accelerator


def train_image_model(
    recipe: Recipe, model: Any, feed: ImageFeed, environment: TrainingEnvironment
) -> None:
    """Train a model, in place, with the options of the recipe on the images of the feed.

    The loss is the cross-entropy; every step accumulates the gradients of ``accumulate`` equally
    weighted batches. :func:`image_schedule` sets the learning rate of every epoch. Weight decay
    applies to all weights. Every epoch has a different order of images.
    """
    torch, options = import_optional("torch"), recipe.options
    device = next(model.parameters()).device
    group = options["batch"] * options["accumulate"]  # images per step
    steps_per_epoch = math.ceil(len(feed.rows) / group)  # steps per epoch

    def steps(first: int) -> Iterator[Any]:
        for epoch in range(first // steps_per_epoch, options["epochs"]):
            order = generator(recipe.seed, "vision", recipe.name, "order", epoch)
            places = order.permutation(len(feed.rows))[
                max(first - epoch * steps_per_epoch, 0) * group :
            ]
            yield from _image_training_steps(
                recipe, feed, epoch, places.tolist(), count_loader_threads(device)
            )

    def loss(part: tuple[np.ndarray, np.ndarray]) -> Any:
        x, y = (torch.from_numpy(array).to(device) for array in part)
        logits = run_image_network(recipe.architecture, model, x)["logits"].float()
        smoothing = {"label_smoothing": options["label_smoothing"]}
        mean = torch.nn.functional.cross_entropy(logits, y, **smoothing)
        return mean / options["accumulate"]

    clip, max_gradient = None, options["gradient_clip"]
    if max_gradient:
        clip = partial(torch.nn.utils.clip_grad_value_, clip_value=max_gradient)
    train_steps(
        model,
        steps,
        loss,
        build_optimizer(model, options),
        schedule=image_schedule(options, steps_per_epoch),
        clip=clip,
        precision=environment.precision,
        checkpoint=Checkpoint(recipe, environment),
    )


def _image_training_steps(
    recipe: Recipe, feed: ImageFeed, epoch: int, places: list[int], threads: int
) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Yield the batches of every step: a list of pairs of images and labels.

    ``places``: positions in ``feed.rows``, in the order of training. A step has ``accumulate``
    batches of ``batch`` images; the last batch may have fewer images, and the last step fewer
    batches. Images are (images, 3, side, side); labels are (images,). ``threads`` load images and
    have no effect on the result.
    """
    size, parts = recipe.options["batch"], list[tuple[np.ndarray, np.ndarray]]()
    load = partial(training_image, recipe, feed, epoch)
    for i, images in enumerate(prefetch_batches(load, places, size, threads)):
        parts.append((images, feed.labels[places[i * size : (i + 1) * size]]))
        if len(parts) == recipe.options["accumulate"]:
            yield parts
            parts = []
    if parts:
        yield parts


def image_schedule(options: Mapping[str, Any], unit: int) -> Schedule:
    """Return the learning-rate schedule for epochs of ``unit`` steps. ``options``: "epochs" and
    "warmup", numbers of epochs.

    The rate rises linearly from 0 in the first epoch to the full rate in the last epoch of
    ``warmup``, then falls as half a cosine to 0 after the last epoch. With a warm-up, the first
    epoch therefore changes nothing, as in the authors' code.
    """
    warmup = options["warmup"]
    return Schedule(options["epochs"], (0, warmup - 1), warmup, cosine=True, unit=unit)


def count_loader_threads(device: Any) -> int:
    """Return the number of threads that load images: one thread if the CPU also trains the model;
    otherwise one per processor, at most ``MAX_LOADER_THREADS``."""
    return 1 if device.type == "cpu" else min(MAX_LOADER_THREADS, os.cpu_count() or 1)
