"""Models that the benchmarks train.

``DOMAINS`` lists the small models on data of the package, by domain. ``DATASETS`` lists the models
of the ReSi paper on real data, by data set.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from resemblance.base.text import check_choice, did_you_mean
from resemblance.models.recipe import ModelOutputs, Recipe

from .loop import TrainingEnvironment, WeightsByName

Strengths = Mapping[str, tuple[float, ...]]  # the strengths of each setting


class Domain(NamedTuple):
    """A domain: the data set of the package and the architectures trained on it.

    ``dataset``: the training data of all models. ``architectures``: the available architectures.
    ``chosen``: the default architecture, also used for fine-tuned models. ``needs``: the Python
    module that must be installed. ``strengths``: by setting, the corruption strengths that make
    groups of models distinguishable at the size "mini". ``only``: by setting, the architectures
    that have the setting, for settings that some architectures lack.
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
        # A P-GNN takes distances as input and has no edges to drop.
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
    """Train the model of a recipe, or load the model from ``resources.archive`` if given, and
    return the weights by name.

    ``resources``: required for models on real data. ``start``: the weights of ``recipe.parent`` by
    name, required for fine-tuned models. See ``packaged``, and the module ``paper`` of every
    domain.

    Raises ``ValueError`` for an invalid recipe, for a model on real data without resources, and for
    missing or damaged data.
    """
    if recipe.dataset not in DATASETS:
        return _training_module("packaged").fit(recipe, start)
    if (environment := _require_resources(recipe, resources)).archive is not None:
        return _training_module("archive").load_archived_weights(recipe, environment)
    return dataset_module(recipe.dataset, "paper").fit(recipe, environment)


def extract(
    recipe: Recipe, state: WeightsByName, resources: TrainingEnvironment | None = None
) -> ModelOutputs:
    """Return the outputs of a trained model and of the model's layers for the benchmark inputs.

    ``state``: the weights by name, arrays as :func:`fit` returns. ``resources``: required for
    models on real data. Raises ``ValueError`` for an invalid recipe, missing or damaged data, and
    weights of another network.
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
    """Return the module ``packaged`` of a domain, with the tables ``OPTIONS``, ``DEEP`` and
    ``TRANSFER``.

    Raises ``ValueError`` for an unknown domain.
    """
    check_domains([name])
    return _training_module(f"{name}.packaged")


def _training_module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def check_domains(domains: Iterable[str]) -> None:
    """Raise ``ValueError`` if the list has an unknown domain."""
    for domain in domains:
        check_choice("domain", domain, DOMAINS)


def recipes(domain: str, size: str, plan: Iterable[tuple[str, float, int]]) -> Iterator[Recipe]:
    """Yield the recipes of a domain at a size of the domain's ``OPTIONS``, architecture by
    architecture.

    ``plan``: triples of setting, strength of the corruption and number of seeds. Settings that an
    architecture does not have are skipped.
    """
    info, trainer, plan = DOMAINS[domain], domain_module(domain), tuple(plan)
    for architecture, options in trainer.OPTIONS[size].items():
        for setting, strength, seeds in plan:
            is_there = architecture in info.only.get(setting, info.architectures)
            key = (domain, info.dataset, architecture, setting, strength)
            for seed in range(seeds if is_there else 0):
                yield Recipe(*key, seed, options, trainer.VERSION)


# The authors' code and paper differ in some hyperparameters.
HYPERPARAMETER_SOURCES = ("resi-code", "paper")


class Architecture(NamedTuple):
    """An architecture on a data set: the name in the paper, and the groups of models in the tests.

    ``strengths``: by setting, the strengths that the paper compares; a setting without an entry is
    not tested. ``deeper``: whether the layer test trains deeper models of this architecture;
    otherwise the layer test uses normal models, all normal models if ``all_layers``, else as many
    as a group has. ``published``: whether the paper contains the architecture; a run includes an
    unpublished architecture only if you name the architecture.
    """

    title: str
    strengths: Strengths
    all_layers: bool = False
    deeper: bool = False
    published: bool = True


class Dataset(NamedTuple):
    """A data set of the paper: the name in the paper, the domain, and the architectures trained on
    the data set."""

    title: str
    domain: str
    architectures: Mapping[str, Architecture]


class PaperSubset(NamedTuple):
    """A subset of the benchmark: data sets, architectures, tests and numbers of models.

    An empty tuple selects everything in the paper. ``seeds``: the number of normal models.
    ``members``: the number of models in every group. ``hyperparameters``: "resi-code" or "paper".
    ``reduced``: train for one epoch at reduced width, on data of any size in the layout of the data
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
# Not in the paper; for computers without an accelerator
_SMALL_TEXT_ARCHITECTURES = {
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
    """Return the module called ``part``, "data" or "paper", for the domain of a data set."""
    return _training_module(f"{DATASETS[dataset].domain}.{part}")


def check_training_options(dataset: str, architecture: str, hyperparameters: str) -> None:
    """Raise ``ValueError`` if an architecture is not trained on a data set, or if
    ``hyperparameters`` is not in :data:`HYPERPARAMETER_SOURCES`."""
    info = DATASETS.get(dataset)
    if info is None or architecture not in info.architectures:
        raise ValueError(f"no architecture {architecture!r} is trained on {dataset!r}")
    check_choice("hyperparameters", hyperparameters, HYPERPARAMETER_SOURCES)


def key_from_title(kind: str, word: str, titles: Mapping[str, str]) -> str:
    """Return the key for a word from the user: the key itself or the title, without regard to case,
    spaces and hyphens.

    ``kind``: the noun in errors. ``titles``: by key. Raises ``ValueError`` for an unknown word.
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
    """Yield the recipe of every model in a subset of the benchmark, data set by data set.

    Normal models come first, because all tests except the shortcut test need normal models.
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
    """Yield the pairs (data set, architecture) in a subset of the benchmark: the named
    architectures, by default the architectures in the paper."""
    for dataset, info in DATASETS.items():
        if portion.datasets and dataset not in portion.datasets:
            continue
        for architecture, model_info in info.architectures.items():
            is_default = model_info.published and not portion.architectures
            if is_default or architecture in portion.architectures:
                yield dataset, architecture


class SeedGroup(NamedTuple):
    """The models that a test compares: ``each`` models for every strength of every setting."""

    settings: tuple[str, ...]
    each: int


def planned_tests(portion: PaperSubset, dataset: str, architecture: str) -> dict[str, SeedGroup]:
    """Return the tests in a subset of the benchmark for one architecture on a data set, and the
    models of every test, by test.

    Tests that the paper does not run on the architecture are left out.
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


# A model trained with a shortcut of strength 0 gets different inputs than a normal model. Normal
# image models train with augmentations other than noise, so the paper compares noise with noise.
_TESTS_WITH_NORMAL_GROUP: Mapping[str, tuple[str, ...]] = {
    "graphs": ("labels", "augmentation"),
    "language": ("labels", "augmentation"),
    "vision": ("labels",),
}
