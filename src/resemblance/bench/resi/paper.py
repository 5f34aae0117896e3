"""The size "paper" of the ReSi suite: the part of the paper's benchmark that a run covers, its
data, and the models for its tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from resemblance.base.text import check_choice
from resemblance.models.recipe import Recipe

from ..training import (
    DATASETS,
    HYPERPARAMETER_SOURCES,
    PaperSubset,
    SeedGroup,
    chosen_architectures,
    key_from_title,
    planned_tests,
)
from ..training import paper_recipes as recipes
from ..training.loop import TRAINING_PRECISIONS, TrainingEnvironment
from .cases import TEST_TITLES, DatasetAndArchitecture, SeedGroupsByTest

PAPER_SUBSETS: Mapping[str, PaperSubset] = {  # by size
    "paper": PaperSubset(),
    "paper-slice": PaperSubset(seeds=4, members=2, reduced=True),
}
MIN_NORMAL_MODELS = 3  # a correlation needs three pairs of models


class PaperRun(NamedTuple):
    """A run at a size of the paper: the part of the benchmark, and the training resources."""

    portion: PaperSubset
    resources: TrainingEnvironment


def paper_run(
    size: str,
    *,
    data: str | Path | None = None,
    models_from: str | Path | None = None,
    device: str | None = None,
    precision: str = "float32",
    download: bool = False,
    **portion: object,
) -> PaperRun:
    """Check the options of a run at a size of the paper, and return the run.

    Parameters
    ----------
    size : ``"paper"``, or ``"paper-slice"``: one epoch at reduced width, on data of any size in the
        layout of the data sets, for trying out.
    data : the folder with the data sets and pretrained weights.
    models_from : the folder with the authors' trained models, which are read instead of trained.
    device : of PyTorch, for training; by default the first accelerator, else the processor.
    precision : of the products of matrices in training: "float32", "bfloat16" or "float16".
    download : whether libraries that can download a data set may do so into ``data``.
    portion : see :func:`paper_subset_for`.

    Raises ``ValueError`` for missing, unknown or contradictory options.
    """
    subset = paper_subset_for(size, **portion)  # type: ignore[arg-type]
    check_choice("precision", precision, TRAINING_PRECISIONS)
    if data is None:
        raise ValueError(
            f"run: size {size!r} trains on real data: data must be the folder with the data sets "
            "(on the command line --data DIR, or the environment variable RESEMBLANCE_DATA)"
        )
    for name, place in (("data", data), ("models_from", models_from)):
        if place is not None and not Path(place).is_dir():
            raise ValueError(f"run: {name} must be a folder that exists; got {str(place)!r}")
    archive = None if models_from is None else Path(models_from).resolve()
    resources = TrainingEnvironment(
        Path(data).resolve(), download, device, precision, archive=archive
    )
    return PaperRun(subset, resources)


def paper_subset_for(
    size: str,
    *,
    datasets: Sequence[str] | None = None,
    architectures: Sequence[str] | None = None,
    tests: Sequence[str] | None = None,
    seeds: int | None = None,
    hyperparameters: str = "resi-code",
    domains: Sequence[str] | None = None,
) -> PaperSubset:
    """Return a part of the paper's benchmark.

    Parameters
    ----------
    size : ``"paper"`` or ``"paper-slice"``.
    datasets, architectures, tests : names or titles, in any spelling; default: all.
    domains : some of "graphs", "language", "vision", for all their data sets.
    seeds : number of normal models to train, at least 3; a group has half as many, at least 2.
        Default: 10 (and 5), as in the paper; 4 (and 2) for ``"paper-slice"``.
    hyperparameters : ``"resi-code"`` (the authors' code) or ``"paper"``.

    Raises ``ValueError`` for unknown words, for too few seeds, and for an architecture that no
    chosen data set has.
    """
    check_choice("hyperparameters", hyperparameters, HYPERPARAMETER_SOURCES)
    default_subset = PAPER_SUBSETS[size]
    if seeds is not None and seeds < MIN_NORMAL_MODELS:
        raise ValueError(f"seeds must be at least {MIN_NORMAL_MODELS}; got {seeds!r}")
    portion = default_subset._replace(
        datasets=_datasets(datasets, domains),
        architectures=_names_from_words("architecture", architectures, _architectures()),
        tests=_names_from_words("test", tests, TEST_TITLES),
        seeds=seeds or default_subset.seeds,
        members=max(2, seeds // 2) if seeds else default_subset.members,
        hyperparameters=hyperparameters,
    )
    _check_architectures(portion)
    return portion


def _datasets(words: Sequence[str] | None, domains: Sequence[str] | None) -> tuple[str, ...]:
    if words and domains:
        raise ValueError("run: give datasets or domains, not both")
    all_domains = tuple(dict.fromkeys(dataset.domain for dataset in DATASETS.values()))
    for domain in domains or ():
        check_choice("domain", domain, all_domains)
    if domains:
        return tuple(name for name, dataset in DATASETS.items() if dataset.domain in domains)
    return _names_from_words(
        "data set", words, {name: dataset.title for name, dataset in DATASETS.items()}
    )


def _architectures() -> dict[str, str]:
    return {
        name: architecture.title
        for dataset in DATASETS.values()
        for name, architecture in dataset.architectures.items()
    }


def _names_from_words(
    kind: str, words: Sequence[str] | None, titles: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the names that the words (names or titles, in any spelling) refer to, without
    repetition, in the order of ``titles``; () without words.

    ``kind``: the noun in errors. ``titles``: by name.
    """
    selection = {key_from_title(kind, word, titles) for word in words or ()}
    return tuple(name for name in titles if name in selection)


def _check_architectures(portion: PaperSubset) -> None:
    """Raise ``ValueError`` for a chosen architecture that no chosen data set has, and for a chosen
    data set without a chosen architecture."""
    pairs, titles = list(chosen_architectures(portion)), _architectures()
    for architecture in portion.architectures:
        if architecture not in {model for _, model in pairs}:
            places = [a.title for a in DATASETS.values() if architecture in a.architectures]
            raise ValueError(
                f"no chosen data set has models of the architecture {titles[architecture]}; "
                f"{', '.join(places)} has"
            )
    for dataset in portion.datasets:
        if dataset not in {name for name, _ in pairs}:
            entry = DATASETS[dataset]
            names = ", ".join(a.title for a in entry.architectures.values())
            raise ValueError(f"{entry.title} has none of the chosen architectures; it has {names}")


# ------------------------------------------------------------------------- the models of the tests


def planned_recipes(portions: Iterable[PaperSubset]) -> tuple[Recipe, ...]:
    """Return the recipes of all models for several parts of the benchmark, without repetition."""
    plan = {recipe.name: recipe for portion in portions for recipe in recipes(portion)}
    return tuple(plan.values())


def seed_groups_by_models(
    portion: PaperSubset, others: Iterable[PaperSubset], is_ready: Callable[[Recipe], bool]
) -> dict[DatasetAndArchitecture, SeedGroupsByTest]:
    """Return the models for every test, by data set and architecture, of ``portion``, a part of the
    benchmark, and of further parts with complete models.

    ``others``: further parts; an architecture on a data set counts if ``is_ready`` holds for the
    recipes of all its models. If several parts contain a test, the part with the most models is
    used.
    """
    designs: dict[DatasetAndArchitecture, SeedGroupsByTest] = {
        models: _seed_groups_by_test(portion, *models) for models in chosen_architectures(portion)
    }
    for other in others:
        for dataset, architecture in chosen_architectures(other):
            subset = other._replace(datasets=(dataset,), architectures=(architecture,))
            if all(map(is_ready, recipes(subset))):
                models = (dataset, architecture)
                seed_groups = _seed_groups_by_test(other, dataset, architecture)
                designs[models] = _larger_seed_groups(designs.get(models, {}), seed_groups)
    return designs


def _seed_groups_by_test(portion: PaperSubset, dataset: str, architecture: str) -> SeedGroupsByTest:
    """Return the models of all requested tests, by test; an empty group for a test that the paper
    does not make on the architecture."""
    made_in_paper = planned_tests(portion, dataset, architecture)
    return {
        test: made_in_paper.get(test, SeedGroup((), 0)) for test in portion.tests or TEST_TITLES
    }


def _larger_seed_groups(first: SeedGroupsByTest, second: SeedGroupsByTest) -> SeedGroupsByTest:
    groups = dict(first)
    for test, members in second.items():
        groups[test] = max(members, first.get(test, members), key=lambda group: group.each)
    return groups
