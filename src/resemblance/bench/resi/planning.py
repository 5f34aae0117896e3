"""Estimate the cost of a part of the ReSi paper's benchmark: models to train, hours, and disk
space. Planning trains nothing and reads no data.

Hours on Cora, and hours of the small models on SST-2, are measured on one core. All other hours are
estimates, never measured here: the number of training examples (the paper's epochs and data sets),
divided by an assumed throughput of one H100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.formatting import format_estimate
from resemblance.models.recipe import TRAINING_SETTINGS, Recipe

from ..study_models import is_written
from ..training import DATASETS
from ..training import paper_recipes as recipes
from .paper import paper_subset_for

HOUR_COLUMNS, DISK_COLUMNS = ("GPU h", "CPU h"), ("weights, GB", "representations, GB")
BYTES_PER_NUMBER = 4
BYTES_PER_GIGABYTE = 1e9
PLAN_NOTE = (
    "Hours are estimates for training the missing models, on one H100, or on one core where that "
    "time was measured; all other columns are for all models. With the size paper-slice a model "
    "takes seconds. A run times the first comparisons and prints an estimate for all comparisons."
)


class ModelSize(NamedTuple):
    """The size of a model of an architecture on a data set.

    ``rows``: number of compared inputs. ``width``: features of the last layer. ``features``: of all
    stored layers, per input. ``millions``: of weights.
    """

    rows: int
    width: int
    features: int
    millions: float


class Speed(NamedTuple):
    """The number of examples of a training, and the throughput of the accelerator in examples per
    second."""

    examples: float
    per_second: float

    @property
    def hours(self) -> float:
        """The hours that one training takes: ``examples`` divided by ``per_second``, in hours."""
        return self.examples / self.per_second / 3600


# Seconds for one training and the representations of its model, on one core: the mean over all
# models of a study with ten seeds.
CORE_SECONDS: Mapping[tuple[str, str], float] = {
    ("cora", "gcn"): 4.2, ("cora", "sage"): 4.8, ("cora", "gat"): 5.6, ("cora", "pgnn"): 17.5,
    ("sst2", "minilm"): 74.0, ("sst2", "bert-small"): 29.0,
}  # fmt: skip
SPEEDS: Mapping[tuple[str, str], Speed] = {
    # Graphs: an example is an epoch of the whole graph.
    ("flickr", "gcn"): Speed(200, 20), ("flickr", "sage"): Speed(200, 20),
    ("flickr", "gat"): Speed(500, 8),
    ("ogbn-arxiv", "gcn"): Speed(500, 12), ("ogbn-arxiv", "sage"): Speed(500, 12),
    ("ogbn-arxiv", "gat"): Speed(500, 5),
    # Language: sentences of up to 64 tokens, pairs of up to 128 tokens, prompts.
    ("sst2", "bert"): Speed(673_490, 2_500), ("sst2", "albert"): Speed(673_490, 2_500),
    ("sst2", "smollm2"): Speed(8_000, 40),
    ("mnli", "bert"): Speed(3_927_020, 1_200), ("mnli", "albert"): Speed(3_927_020, 1_200),
    ("mnli", "smollm2"): Speed(8_000, 30),
    # Vision: 200 epochs of nine tenths of the images; 300 epochs for transformers on ImageNet-100.
    ("cifar100", "resnet18"): Speed(8_000_000, 12_000),
    ("cifar100", "resnet34"): Speed(8_000_000, 8_000),
    ("cifar100", "resnet101"): Speed(8_000_000, 3_000),
    ("cifar100", "vgg11"): Speed(8_000_000, 25_000),
    ("cifar100", "vgg19"): Speed(8_000_000, 12_000),
    ("cifar100", "vit-b32"): Speed(8_000_000, 3_000),
    ("cifar100", "vit-l32"): Speed(8_000_000, 1_100),
    ("imagenet100", "resnet18"): Speed(23_400_000, 3_000),
    ("imagenet100", "resnet34"): Speed(23_400_000, 2_500),
    ("imagenet100", "resnet101"): Speed(23_400_000, 1_000),
    ("imagenet100", "vgg11"): Speed(23_400_000, 1_800),
    ("imagenet100", "vgg19"): Speed(23_400_000, 800),
    ("imagenet100", "vit-b32"): Speed(35_100_000, 3_000),
    ("imagenet100", "vit-l32"): Speed(35_100_000, 1_100),
}  # fmt: skip
COMPARED_SAMPLES: Mapping[str, int] = {
    "cora": 1000, "flickr": 10_000, "ogbn-arxiv": 10_000, "sst2": 872, "mnli": 9815,
    "cifar100": 10_000, "imagenet100": 5000,
}  # fmt: skip
# By architecture: width, stored features per input, millions of weights. The features of
# convolutional networks include maps of 7 x 7 positions.
LAYER_SHAPES: Mapping[str, tuple[int, int, float]] = {
    "gcn": (256, 512, 0.2), "sage": (256, 512, 0.4), "gat": (256, 512, 0.2), "pgnn": (32, 32, 2.1),
    "bert": (768, 19_968, 110.0), "albert": (768, 19_968, 11.7),
    "smollm2": (2048, 51_200, 1711.0),
    "minilm": (384, 5376, 22.7), "bert-small": (64, 640, 0.7),
    "resnet18": (512, 75_776, 11.2), "resnet34": (512, 100_864, 21.3),
    "resnet101": (2048, 403_456, 42.7),
    "vgg11": (512, 100_864, 9.3), "vgg19": (512, 125_952, 20.1),
    "vit-b32": (768, 4608, 87.5), "vit-l32": (1024, 6144, 305.6),
}  # fmt: skip
CORA_LAYER_WIDTH = 64  # features of a layer on Cora


class PlannedModels(NamedTuple):
    """The models of an architecture on a data set, for a plan.

    ``models``: numbers of models by setting. ``trained``: the number of trained models.
    ``gpu_hours``, ``cpu_hours``: to train the missing models, on an accelerator or on one core.
    ``weights_gb``, ``representations_gb``: the disk space of all models in gigabytes.
    """

    dataset: str
    architecture: str
    models: Mapping[str, int]
    trained: int
    gpu_hours: float
    cpu_hours: float
    weights_gb: float
    representations_gb: float


def plan(
    folder: str | Path | None = None, size: str = "paper", **portion: Any
) -> tuple[PlannedModels, ...]:
    """Return the cost of a part of the paper's benchmark, by data set and architecture.

    ``folder``: a study, which may already contain some of the models. ``portion``: ``datasets``,
    ``architectures``, ``tests``, ``domains``, ``seeds`` or ``hyperparameters``, the keywords of
    :func:`resemblance.bench.resi.paper.paper_subset_for`. Raises ``ValueError`` for unknown words,
    for too few seeds, and for an architecture that no chosen data set has.
    """
    subset = paper_subset_for(size, **portion)
    by_models = groupby(recipes(subset), key=lambda r: (r.dataset, r.architecture))
    return tuple(_plan_row(list(group), folder) for _, group in by_models)


def _plan_row(group: Sequence[Recipe], folder: str | Path | None) -> PlannedModels:
    models = group[0].dataset, group[0].architecture
    size, (gpu_hours, cpu_hours) = model_size(*models), training_hours(*models)
    n_trained = 0 if folder is None else sum(is_written(Path(folder), r) for r in group)
    dataset = DATASETS[models[0]]
    return PlannedModels(
        dataset.title,
        dataset.architectures[models[1]].title,
        dict(Counter(r.setting for r in group)),
        n_trained,
        gpu_hours * (len(group) - n_trained),
        cpu_hours * (len(group) - n_trained),
        len(group) * size.millions * 1e6 * BYTES_PER_NUMBER / BYTES_PER_GIGABYTE,
        sum(_numbers_written(recipe, size) for recipe in group)
        * BYTES_PER_NUMBER
        / BYTES_PER_GIGABYTE,
    )


def _numbers_written(recipe: Recipe, size: ModelSize) -> int:
    """Return how many numbers are stored for a model: inputs times features of all layers; for
    vision models in settings other than "normal", of the last layer only."""
    is_whole = recipe.domain != "vision" or recipe.setting == "normal"
    return size.rows * (size.features if is_whole else size.width)


def plan_table(rows: Sequence[PlannedModels]) -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """Return the table of a plan in three parts: the header; the lines, one per row of ``rows``,
    then a line with totals; and the note."""
    used_settings = {setting for row in rows for setting in row.models}
    settings = [setting for setting in TRAINING_SETTINGS if setting in used_settings]
    header = ("data set", "models", *settings, "there", *HOUR_COLUMNS, *DISK_COLUMNS)
    lines = [
        (
            row.dataset,
            row.architecture,
            *(str(row.models.get(setting, 0)) for setting in settings),
            str(row.trained),
            # Hours and gigabytes are the last fields.
            *map(format_estimate, row[4:]),
        )
        for row in rows
    ]
    counts = [sum(row.models.get(setting, 0) for row in rows) for setting in settings]
    sums = [sum(column) for column in zip(*(row[4:] for row in rows))]
    n_trained = sum(row.trained for row in rows)
    lines.append(
        ("all", str(sum(counts)), *map(str, counts), str(n_trained), *map(format_estimate, sums))
    )
    return header, lines, PLAN_NOTE


def model_size(dataset: str, architecture: str) -> ModelSize:
    """Return the size of a model of an architecture on a data set, both by name."""
    width, features, millions = LAYER_SHAPES[architecture]
    if dataset == "cora" and architecture != "pgnn":
        width, features, millions = CORA_LAYER_WIDTH, 2 * CORA_LAYER_WIDTH, 0.1
    return ModelSize(COMPARED_SAMPLES[dataset], width, features, millions)


def training_hours(dataset: str, architecture: str) -> tuple[float, float]:
    """Return the hours to train a model of an architecture on a data set, both by name: on an
    accelerator, and on one core; one of the two is zero."""
    seconds = CORE_SECONDS.get((dataset, architecture))
    if seconds is not None:
        return 0.0, seconds / 3600
    return SPEEDS[dataset, architecture].hours, 0.0
