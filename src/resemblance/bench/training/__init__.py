"""The models that are trained here: small ones on data of the package, by domain in ``DOMAINS``,
and those of the ReSi paper on real data, by data set in ``DATASETS``."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from resemblance.base.text import check_choice, did_you_mean
from resemblance.models.recipe import ModelOutputs, Recipe

from .loop import TrainingEnvironment, WeightsByName

Strengths = Mapping[str, tuple[float, ...]]  # by setting


class Domain(NamedTuple):
    """A domain: what is trained, on which data of the package.

    ``dataset``: what all models are trained on. ``architectures``: those that exist, the usual
    first choice being ``chosen``, of which models are fine-tuned. ``needs``: the module that must
    be installed. ``strengths``: by setting, how much of it tells models apart at the size "mini".
    ``only``: by setting, the architectures that have it, where not all do.
    """

    dataset: str
    architectures: tuple[str, ...]
    chosen: str
    needs: str
    strengths: Strengths
    only: Mapping[str, tuple[str, ...]] = {"layers": ()}


DOMAINS: Mapping[str, Domain] = {
    "graphs": Domain(
        "stdlib",
        ("gcn", "sage", "gat", "pgnn"),
        "sage",
        "torch_geometric.nn",
        {"labels": (0.25, 1.0), "shortcut": (0.0, 0.5, 1.0), "augmentation": (0.25, 1.0)},
        # A P-GNN has no edges to drop: its input is distances.
        {"layers": ("gcn", "sage", "gat"), "augmentation": ("gcn", "sage", "gat")},
    ),
    "language": Domain(
        "docstrings",
        ("bert", "albert", "llama"),
        "bert",
        "transformers",
        {"labels": (0.75, 1.0), "shortcut": (0.0, 0.75, 1.0), "augmentation": (1.0,)},
    ),
    "vision": Domain(
        "digits",
        ("resnet", "vgg", "vit"),
        "resnet",
        "torch",
        {"labels": (0.5, 0.75), "shortcut": (0.0, 0.75, 1.0), "augmentation": (0.25, 1.0)},
    ),
}


def fit(
    recipe: Recipe, resources: TrainingEnvironment | None = None, start: WeightsByName | None = None
) -> WeightsByName:
    """Train the model of a recipe, or read it from ``resources.archive`` where that is named, and
    return its weights by name.

    ``resources``: for models on real data. ``start``: the weights of ``recipe.parent``, for
    fine-tuned models. See ``packaged``, and the module ``paper`` of each domain.

    Raises ``ValueError`` for a recipe that cannot be, and for a model on real data without
    resources, or whose data are missing or damaged.
    """
    if recipe.dataset not in DATASETS:
        return _training_module("packaged").fit(recipe, start)
    if (environment := _require_resources(recipe, resources)).archive is not None:
        return _training_module("archive").load_archived_weights(recipe, environment)
    return dataset_module(recipe.dataset, "paper").fit(recipe, environment)


def extract(
    recipe: Recipe, state: WeightsByName, resources: TrainingEnvironment | None = None
) -> ModelOutputs:
    """Return the outputs of a trained model and of its layers for the inputs of its benchmark.

    Raises ``ValueError`` as :func:`fit` does.
    """
    if recipe.dataset not in DATASETS:
        return _training_module("packaged").extract(recipe, state)
    return dataset_module(recipe.dataset, "paper").extract(
        recipe, state, _require_resources(recipe, resources)
    )


def _require_resources(
    recipe: Recipe, resources: TrainingEnvironment | None
) -> TrainingEnvironment:
    if resources is None:
        raise ValueError(
            f"{recipe.name} is trained on real data: resources must say where they are"
        )
    return resources


def domain_module(name: str) -> Any:
    """Return the module of a domain, with the tables ``OPTIONS``, ``DEEP`` and ``TRANSFER``: see
    ``packaged``.

    Raises ``ValueError`` for a domain that does not exist.
    """
    check_domains([name])
    return _training_module(f"{name}.packaged")


def _training_module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def check_domains(domains: Iterable[str]) -> None:
    """Raise ``ValueError`` for a domain that does not exist."""
    for domain in domains:
        check_choice("domain", domain, DOMAINS)


def recipes(domain: str, size: str, plan: Iterable[tuple[str, float, int]]) -> Iterator[Recipe]:
    """Yield the recipes of a domain at a size of its ``OPTIONS``, architecture by architecture.

    ``plan``: settings with their strength and how many seeds they have; an architecture leaves out
    the settings that it does not have.
    """
    info, trainer, plan = DOMAINS[domain], domain_module(domain), tuple(plan)
    for architecture, options in trainer.OPTIONS[size].items():
        for setting, strength, seeds in plan:
            is_there = architecture in info.only.get(setting, info.architectures)
            key = (domain, info.dataset, architecture, setting, strength)
            for seed in range(seeds if is_there else 0):
                yield Recipe(*key, seed, options, trainer.VERSION)


HYPERPARAMETER_SOURCES = ("resi-code", "paper")  # where the authors' code and their paper differ


class Architecture(NamedTuple):
    """An architecture on a data set: its name in the paper, and the groups of models of its tests.

    ``strengths``: by setting, those that the paper compares; a setting that is not there is not
    tested. ``deeper``: whether the models of the test of layers are trained for it, with more
    layers; otherwise they are the normal ones, all of them where ``all_layers``, else as many as a
    group has. ``published``: whether it is one of the paper; others are part of a run only when
    they are asked for by name.
    """

    title: str
    strengths: Strengths
    all_layers: bool = False
    deeper: bool = False
    published: bool = True


class Dataset(NamedTuple):
    """A data set of the paper: its name there, its domain, and the architectures trained on it."""

    title: str
    domain: str
    architectures: Mapping[str, Architecture]


class PaperSubset(NamedTuple):
    """A part of the benchmark: which data sets, architectures and tests, and how many models.

    Empty tuples mean all that are in the paper. ``seeds``: of normal models; ``members``: of every
    group. ``reduced``: one epoch at reduced width, on data of any size in the layout of the data
    set.
    """

    datasets: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    seeds: int = 10
    members: int = 5
    hyperparameters: str = "resi-code"
    reduced: bool = False


_GRAPH_STRENGTHS: Strengths = {
    "labels": (0.25, 1.0),
    "shortcut": (0.0, 0.5, 1.0),
    "augmentation": (0.25, 1.0),
}
_GRAPH_ARCHITECTURES = {
    "gcn": Architecture("GCN", _GRAPH_STRENGTHS, deeper=True),
    "sage": Architecture("GraphSAGE", _GRAPH_STRENGTHS, deeper=True),
    "gat": Architecture("GAT", _GRAPH_STRENGTHS, deeper=True),
}
_PGNN_STRENGTHS = {
    name: strengths for name, strengths in _GRAPH_STRENGTHS.items() if name != "augmentation"
}
_CNN_STRENGTHS: Strengths = {
    "labels": (0.5, 0.75),
    "shortcut": (0.0, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 1.0),
}
_CNN_ARCHITECTURES = {
    "resnet18": Architecture("ResNet18", _CNN_STRENGTHS, all_layers=True),
    "resnet34": Architecture("ResNet34", _CNN_STRENGTHS, all_layers=True),
    "resnet101": Architecture("ResNet101", _CNN_STRENGTHS, all_layers=True),
    "vgg11": Architecture("VGG11", _CNN_STRENGTHS, all_layers=True),
    "vgg19": Architecture("VGG19", _CNN_STRENGTHS, all_layers=True),
}
_VIT_ARCHITECTURES = {
    "vit-b32": Architecture("ViT-B/32", _CNN_STRENGTHS, all_layers=True),
    "vit-l32": Architecture("ViT-L/32", _CNN_STRENGTHS, all_layers=True),
}


def _text_architectures(
    shortcut: tuple[float, ...], augmentation: tuple[float, ...]
) -> dict[str, Architecture]:
    labels: Strengths = {"labels": (0.75, 1.0), "shortcut": shortcut}
    strengths = {**labels, "augmentation": augmentation}
    return {
        "bert": Architecture("BERT", strengths),
        "albert": Architecture("ALBERT", {**strengths, "augmentation": (1.0,)}),
        "smollm2": Architecture("SmolLM2", {**labels, "labels": (1.0,)}),
    }


_TEXT_ARCHITECTURES = _text_architectures((0.558, 0.889, 1.0), (1.0,))
_SMALL_TEXT_ARCHITECTURES = {  # not in the paper: for a computer without accelerator
    "minilm": Architecture("MiniLM", _TEXT_ARCHITECTURES["bert"].strengths, published=False),
    "bert-small": Architecture(
        "BERT-small", _TEXT_ARCHITECTURES["bert"].strengths, published=False
    ),
}

DATASETS: Mapping[str, Dataset] = {
    "cora": Dataset(
        "Cora",
        "graphs",
        {**_GRAPH_ARCHITECTURES, "pgnn": Architecture("P-GNN", _PGNN_STRENGTHS, deeper=True)},
    ),
    "flickr": Dataset("Flickr", "graphs", _GRAPH_ARCHITECTURES),
    "ogbn-arxiv": Dataset("OGBN-Arxiv", "graphs", _GRAPH_ARCHITECTURES),
    "sst2": Dataset("SST-2", "language", {**_TEXT_ARCHITECTURES, **_SMALL_TEXT_ARCHITECTURES}),
    "mnli": Dataset("MNLI", "language", _text_architectures((0.354, 0.8385, 1.0), (0.25, 1.0))),
    "cifar100": Dataset("CIFAR-100", "vision", {**_CNN_ARCHITECTURES, **_VIT_ARCHITECTURES}),
    "imagenet100": Dataset("ImageNet-100", "vision", {**_CNN_ARCHITECTURES, **_VIT_ARCHITECTURES}),
}


def dataset_module(dataset: str, part: str) -> Any:
    """Return a module of the package of a data set: "data" or "paper"."""
    return _training_module(f"{DATASETS[dataset].domain}.{part}")


def check_training_options(dataset: str, architecture: str, hyperparameters: str) -> None:
    """Raise ``ValueError`` for an architecture that is not trained on a data set, and for
    hyperparameters of another name than those of :data:`HYPERPARAMETER_SOURCES`."""
    info = DATASETS.get(dataset)
    if info is None or architecture not in info.architectures:
        raise ValueError(f"no architecture {architecture!r} is trained on {dataset!r}")
    check_choice("hyperparameters", hyperparameters, HYPERPARAMETER_SOURCES)


def key_from_title(kind: str, word: str, titles: Mapping[str, str]) -> str:
    """Return the key that a user means by a word: the key itself or its title, in any case and
    with any hyphens.

    Raises ``ValueError`` for a word that means none.
    """
    by_word = {_letters_and_digits(key): key for key in titles} | {
        _letters_and_digits(t): key for key, t in titles.items()
    }
    if _letters_and_digits(word) not in by_word:
        names = list(titles.values())
        raise ValueError(f"no {kind} {word!r}{did_you_mean(word, names)}")
    return by_word[_letters_and_digits(word)]


def _letters_and_digits(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def paper_recipes(portion: PaperSubset) -> Iterator[Recipe]:
    """Yield the recipe of every model of a part of the benchmark, data set by data set.

    The normal models come first, since all tests but that of shortcuts need them.
    """
    for dataset, architecture in chosen_architectures(portion):
        trainer = dataset_module(dataset, "paper")
        domain = DATASETS[dataset].domain
        options = trainer.options(dataset, architecture, portion.hyperparameters, portion.reduced)
        strengths = DATASETS[dataset].architectures[architecture].strengths
        tests = planned_tests(portion, dataset, architecture).values()
        for setting in ("normal", "layers", *strengths):
            seeds = range(
                max((group.each for group in tests if setting in group.settings), default=0)
            )
            for strength, seed in product(strengths.get(setting, (0.0,)), seeds):
                key = (domain, dataset, architecture, setting, strength, seed)
                yield Recipe(*key, options, trainer.VERSION)


def chosen_architectures(portion: PaperSubset) -> Iterator[tuple[str, str]]:
    """Yield the data sets and architectures of a part of the benchmark."""
    for dataset, info in DATASETS.items():
        if portion.datasets and dataset not in portion.datasets:
            continue
        for architecture, model_info in info.architectures.items():
            is_default = model_info.published and not portion.architectures
            if is_default or architecture in portion.architectures:
                yield dataset, architecture


class SeedGroup(NamedTuple):
    """The models that a test compares: those of these settings, so many of every strength."""

    settings: tuple[str, ...]
    each: int


def planned_tests(portion: PaperSubset, dataset: str, architecture: str) -> dict[str, SeedGroup]:
    """Return the tests of a part of the benchmark on one architecture, and their models.

    A test that the paper does not make on an architecture is not there.
    """
    info = DATASETS[dataset].architectures[architecture]
    normal_tests = _TESTS_WITH_NORMAL_GROUP[DATASETS[dataset].domain]
    group_tests = {
        test: SeedGroup(("normal", test) if test in normal_tests else (test,), portion.members)
        for test in info.strengths
    }
    n_seeds = portion.seeds if info.all_layers else portion.members
    tests = {
        "accuracy": SeedGroup(("normal",), portion.seeds),
        "output": SeedGroup(("normal",), portion.seeds),
        **group_tests,
        "layers": SeedGroup(("layers",) if info.deeper else ("normal",), n_seeds),
    }
    return {
        test: group for test, group in tests.items() if not portion.tests or test in portion.tests
    }


# A model that was trained with a shortcut of no strength sees other inputs than a normal one; and
# images are augmented in other ways besides noise, so that the paper compares noise with noise.
_TESTS_WITH_NORMAL_GROUP: Mapping[str, tuple[str, ...]] = {
    "graphs": ("labels", "augmentation"),
    "language": ("labels", "augmentation"),
    "vision": ("labels",),
}
