"""The models that the ReSi suite compares: brought along, trained on data of the package, those of
the paper, or those of a pack."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.text import check_choice
from resemblance.data.model_features import ModelFeatures
from resemblance.models.model_folder import list_unread_folders, read_models
from resemblance.models.recipe import Recipe

from .. import training
from ..case import task_name
from ..packs import open_pack
from ..packs.archive import PACK_IDENTITY_PATTERN
from ..pinned import (
    PACK_MODELS_FOLDER,
    LayersByPooling,
    Reduction,
    copy_model_to_pack,
    layers_by_pooling,
    pack_facts,
)
from ..reliability import RELIABILITY
from ..study import Purpose, purpose
from ..study_models import is_trained, study_models
from ..training import DATASETS, DOMAINS, PaperSubset, dataset_module
from ..training.loop import TrainingEnvironment
from .cases import PlannedTests, six_tests
from .paper import PAPER_SUBSETS, PaperRun, paper_subset_for, planned_recipes, seed_groups_by_models

ALL_STRENGTHS = {
    "labels": (0.25, 0.5, 0.75, 1.0),
    "shortcut": (0.0, 0.25, 0.5, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 0.75, 1.0),
}
EXTREME_STRENGTHS = {"labels": (1.0,), "shortcut": (0.0, 1.0), "augmentation": (1.0,)}


class TrainingPlan(NamedTuple):
    """Which models are trained.

    ``seeds`` normal ones, and ``members`` per group and strength of the other settings;
    ``strengths`` by domain.
    """

    seeds: int
    members: int
    strengths: Mapping[str, training.Strengths]


TRAINING_PLANS: Mapping[str, TrainingPlan] = {
    "slice": TrainingPlan(4, 2, dict.fromkeys(DOMAINS, EXTREME_STRENGTHS)),
    "mini": TrainingPlan(10, 5, {name: domain.strengths for name, domain in DOMAINS.items()}),
    "standard": TrainingPlan(10, 5, dict.fromkeys(DOMAINS, ALL_STRENGTHS)),
}
# Trains recipes, and returns by name why others could not be trained.
TrainFunction = Callable[[Sequence[Recipe], TrainingEnvironment | None], Mapping[str, str]]


class ModelGroups(NamedTuple):
    """The models that a run compares: as models, which of them make which tests, the folders that
    are no models, where they come from, and what is known of the reliability of cells."""

    model_features: Sequence[ModelFeatures]
    planned: PlannedTests = PlannedTests()
    left_out: Mapping[str, str] = {}
    origin: Mapping[str, Any] = {}
    reliabilities: Mapping[str, float] | None = None


def resi_recipes(size: str, domains: Sequence[str] = tuple(DOMAINS)) -> tuple[Recipe, ...]:
    """Return the recipe of every model of a size of the suite, domain by domain.

    Raises ``ValueError`` for an unknown size or domain.
    """
    check_choice("size", size, TRAINING_PLANS)
    training.check_domains(domains)
    return tuple(
        recipe
        for domain in dict.fromkeys(domains)
        for recipe in training.recipes(
            domain, size, _planned_settings(TRAINING_PLANS[size], domain)
        )
    )


def _planned_settings(plan: TrainingPlan, domain: str) -> Iterator[tuple[str, float, int]]:
    """Yield setting, strength and number of models."""
    yield "normal", 0.0, plan.seeds
    yield "layers", 0.0, plan.seeds
    for setting, strengths in plan.strengths[domain].items():
        yield from ((setting, strength, plan.members) for strength in strengths)


def study_domains(purpose: Purpose) -> tuple[str, ...]:
    """Return the domains that the runs of a study were of, in their order; all by default."""
    return tuple(d for d in DOMAINS if d in purpose.more.get("domains", DOMAINS))


def paper_subsets_of_study(purpose: Purpose) -> tuple[PaperSubset, ...]:
    """Return the parts of the paper's benchmark that the runs of a study were of."""
    return tuple(
        paper_subset_for(purpose.size, **words) for words in purpose.more.get("portions", ())
    )


def study_recipes(purpose: Purpose) -> tuple[Recipe, ...]:
    """Return the recipe of every model that a study trains."""
    if purpose.size in PAPER_SUBSETS:
        return planned_recipes(paper_subsets_of_study(purpose))
    return resi_recipes(purpose.size, study_domains(purpose))


def collect_model_groups(
    place: Path, wanted: Purpose, known: Purpose, run: PaperRun | None, train: TrainFunction
) -> ModelGroups:
    """Train what is missing in a study, and return the models that a run compares.

    ``wanted``: what this run is for; ``known``: also what earlier runs were for.
    """
    if run is not None:
        return _paper_model_groups(run, place, known, train)
    if wanted.models and PACK_IDENTITY_PATTERN.fullmatch(wanted.models):
        folder = Path(wanted.more["pack"])
        pack = open_pack(folder if folder.exists() else wanted.models)
        return pack_model_groups(pack.folder, pack.manifest.facts)
    if wanted.models:
        model_features = read_models(wanted.models, verify=True)
        return ModelGroups(model_features, left_out=list_unread_folders(wanted.models))
    plan = resi_recipes(wanted.size, wanted.more["domains"])
    failed = train(plan, None)
    complete = [r for r in _complete_groups(place, plan, known) if r.name not in failed]
    return ModelGroups(
        study_models(place, complete), PlannedTests({}, _training_failures(plan, failed))
    )


def _complete_groups(folder: Path, plan: Sequence[Recipe], known: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains that the study has in full."""
    done, complete = {recipe.domain for recipe in plan}, list(plan)
    for domain in study_domains(known):
        more = resi_recipes(known.size, [domain]) if domain not in done else ()
        complete += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return complete


def _training_failures(
    plan: Iterable[Recipe], failed: Mapping[str, str]
) -> list[tuple[Recipe, str]]:
    return [(recipe, failed[recipe.name]) for recipe in plan if recipe.name in failed]


# ------------------------------------------------------------------------- at a size of the paper


def _paper_model_groups(
    run: PaperRun, place: Path, known: Purpose, train: TrainFunction
) -> ModelGroups:
    resources = run.resources._replace(checkpoints=place.resolve() / "checkpoints")
    portions = paper_subsets_of_study(known)
    plan, every_plan = planned_recipes([run.portion]), planned_recipes(portions)
    ready = {recipe.name for recipe in every_plan if is_trained(place, recipe)}
    failed = train(plan, resources)
    if not failed:  # nothing goes on from them
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
    ready |= {recipe.name for recipe in plan} - failed.keys()
    others = [portion for portion in portions if portion != run.portion]
    designs = seed_groups_by_models(run.portion, others, lambda recipe: recipe.name in ready)
    order = [(name, model) for name, about in DATASETS.items() for model in about.architectures]
    complete = sorted(
        (r for r in every_plan if r.name in ready and (r.dataset, r.architecture) in designs),
        key=lambda recipe: order.index((recipe.dataset, recipe.architecture)),
    )
    return ModelGroups(
        study_models(place, complete),
        PlannedTests(designs, _training_failures(plan, failed)),
        origin=model_origin(run, complete),
    )


def check_data(run: PaperRun, missing: Iterable[Recipe]) -> None:
    """Read the data that these models are trained on; raise what the readers raise."""
    for dataset in dict.fromkeys(recipe.dataset for recipe in missing):
        dataset_module(dataset, "data").read(
            dataset,
            run.resources.data,
            download=run.resources.download,
            strict=not run.portion.reduced,
        )


def model_origin(run: PaperRun, complete: Iterable[Recipe]) -> dict[str, Any]:
    """Return where the models come from: how they were trained, and on what, with the checksums
    that the files of a data set were checked by, where any are known."""
    checksums = {
        dataset: {}
        if run.portion.reduced
        else dataset_module(dataset, "data").CHECKSUMS.get(dataset, {})
        for dataset in dict.fromkeys(recipe.dataset for recipe in complete)
    }
    return {
        "hyperparameters": run.portion.hyperparameters,
        "models": "trained" if run.resources.archive is None else "the authors', where read",
        "data": {DATASETS[dataset].title: dict(of) for dataset, of in checksums.items()},
    }


# ---------------------------------------------------------------------------------- in a pack


def pack_model_groups(folder: Path, facts: Mapping[str, Any]) -> ModelGroups:
    """Return the models of a pack; what it does not know of reliability follows from its inputs."""
    return ModelGroups(
        read_models(folder / PACK_MODELS_FOLDER), reliabilities=facts.get(RELIABILITY)
    )


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return what it must remember.

    Only models for the test of layers have all of these; of all others the last one is compared.
    How far what is expected repeats on other inputs is that of the study, with all its inputs.
    """
    known = purpose(study)
    if known.models or known.size in PAPER_SUBSETS:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan = study_recipes(known)
    deep = {recipe[:3] for recipe in plan if recipe.setting == "layers"}
    for recipe in plan:
        has_all = recipe.setting == ("layers" if recipe[:3] in deep else "normal")
        copy_model_to_pack(
            study, recipe, pack, reduction, layers_by_pooling if has_all else _last_layers
        )
    cases = six_tests(study_models(study, plan)).cases
    return pack_facts(known.size, plan, {task_name(c.cell): c.reliability for c in cases})


def _last_layers(traits: Mapping[str, Any]) -> LayersByPooling:
    return {pooling: names[-1:] for pooling, names in traits["layers"].items()}
