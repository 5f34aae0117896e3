"""The models that the ReSi suite compares: a user's own models, models trained on packaged data,
the models of the paper, or the models of a pack."""

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
    """The numbers of models to train.

    ``seeds``: the number of normal models, and of models for the layer test. ``members``: the
    number of models per strength of the other settings. ``strengths``: by domain, then by setting.
    """

    seeds: int
    members: int
    strengths: Mapping[str, training.Strengths]


TRAINING_PLANS: Mapping[str, TrainingPlan] = {
    "slice": TrainingPlan(4, 2, dict.fromkeys(DOMAINS, EXTREME_STRENGTHS)),
    # The questions that the leaderboard answers, on half the inputs: ten normal models are only
    # for accuracies and outputs, which rank no measure, and five seeds are enough for layers.
    "demo": TrainingPlan(5, 5, dict.fromkeys(DOMAINS, EXTREME_STRENGTHS)),
    "mini": TrainingPlan(10, 5, {name: domain.strengths for name, domain in DOMAINS.items()}),
    # All architectures, for groups and layers.
    "architectures": TrainingPlan(
        3, 3, {name: domain.strengths for name, domain in DOMAINS.items()}
    ),
    "standard": TrainingPlan(10, 5, dict.fromkeys(DOMAINS, ALL_STRENGTHS)),
}
# Trains recipes, and returns the reasons of failed trainings by model name.
TrainFunction = Callable[[Sequence[Recipe], TrainingEnvironment | None], Mapping[str, str]]


class ModelGroups(NamedTuple):
    """The models that a run compares.

    ``planned``: the training plan. ``left_out``: by folder that contains no model, the reason.
    ``origin``: of the models, for the provenance. ``reliabilities``: by task name, if known.
    """

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
    """Yield triples of a domain: setting, strength (0 to 1), and number of models."""
    yield "normal", 0.0, plan.seeds
    yield "layers", 0.0, plan.seeds
    for setting, strengths in plan.strengths[domain].items():
        yield from ((setting, strength, plan.members) for strength in strengths)


def study_domains(purpose: Purpose) -> tuple[str, ...]:
    """Return the domains of the runs of a study, in the order of ``DOMAINS``; all domains if the
    purpose names none."""
    return tuple(d for d in DOMAINS if d in purpose.more.get("domains", DOMAINS))


def paper_subsets_of_study(purpose: Purpose) -> tuple[PaperSubset, ...]:
    """Return the parts of the paper's benchmark that the runs of a study covered, given the purpose
    of the study; () for other sizes."""
    return tuple(
        paper_subset_for(purpose.size, **words) for words in purpose.more.get("portions", ())
    )


def study_recipes(purpose: Purpose) -> tuple[Recipe, ...]:
    """Return the recipe of every model that a study with this purpose trains."""
    if purpose.size in PAPER_SUBSETS:
        return planned_recipes(paper_subsets_of_study(purpose))
    return resi_recipes(purpose.size, study_domains(purpose))


def collect_model_groups(
    place: Path,
    run_purpose: Purpose,
    study_purpose: Purpose,
    run: PaperRun | None,
    train: TrainFunction,
) -> ModelGroups:
    """Train the missing models of a study, and return the models that a run compares.

    ``place``: the folder of the study. ``run_purpose``: the purpose of this run. ``study_purpose``:
    the joint purpose of this run and of earlier runs. ``run``: None except at a size of the paper.
    ``train``: trains recipes, and returns the reasons of failures by model name; not called for a
    user's own models and for packs.
    """
    if run is not None:
        return _paper_model_groups(run, place, study_purpose, train)
    if run_purpose.models and PACK_IDENTITY_PATTERN.fullmatch(run_purpose.models):
        folder = Path(run_purpose.more["pack"])
        pack = open_pack(folder if folder.exists() else run_purpose.models)
        return pack_model_groups(pack.folder, pack.manifest.facts)
    if run_purpose.models:
        model_features = read_models(run_purpose.models, verify=True)
        return ModelGroups(model_features, left_out=list_unread_folders(run_purpose.models))
    plan = resi_recipes(run_purpose.size, run_purpose.more["domains"])
    failures = train(plan, None)
    trained_recipes = [
        r for r in _complete_groups(place, plan, study_purpose) if r.name not in failures
    ]
    return ModelGroups(
        study_models(place, trained_recipes), PlannedTests({}, _training_failures(plan, failures))
    )


def _complete_groups(folder: Path, plan: Sequence[Recipe], study_purpose: Purpose) -> list[Recipe]:
    """Return the recipes of ``plan``, then the recipes of every other domain of which the study has
    all models. ``folder``: of the study."""
    domains, all_recipes = {recipe.domain for recipe in plan}, list(plan)
    for domain in study_domains(study_purpose):
        domain_recipes = resi_recipes(study_purpose.size, [domain]) if domain not in domains else ()
        if all(is_trained(folder, recipe) for recipe in domain_recipes):
            all_recipes += domain_recipes
    return all_recipes


def _training_failures(
    plan: Iterable[Recipe], reasons: Mapping[str, str]
) -> list[tuple[Recipe, str]]:
    return [(recipe, reasons[recipe.name]) for recipe in plan if recipe.name in reasons]


# ------------------------------------------------------------------------- at a size of the paper


def _paper_model_groups(
    run: PaperRun, place: Path, study_purpose: Purpose, train: TrainFunction
) -> ModelGroups:
    resources = run.resources._replace(checkpoints=place.resolve() / "checkpoints")
    portions = paper_subsets_of_study(study_purpose)
    plan, all_recipes = planned_recipes([run.portion]), planned_recipes(portions)
    ready_names = {recipe.name for recipe in all_recipes if is_trained(place, recipe)}
    failures = train(plan, resources)
    # Without failures, no training will continue from a checkpoint.
    if not failures:
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
    ready_names |= {recipe.name for recipe in plan} - failures.keys()
    other_portions = [portion for portion in portions if portion != run.portion]
    designs = seed_groups_by_models(
        run.portion, other_portions, lambda recipe: recipe.name in ready_names
    )
    order = [(name, model) for name, dataset in DATASETS.items() for model in dataset.architectures]
    trained_recipes = sorted(
        (
            r
            for r in all_recipes
            if r.name in ready_names and (r.dataset, r.architecture) in designs
        ),
        key=lambda recipe: order.index((recipe.dataset, recipe.architecture)),
    )
    return ModelGroups(
        study_models(place, trained_recipes),
        PlannedTests(designs, _training_failures(plan, failures)),
        origin=model_origin(run, trained_recipes),
    )


def check_data(run: PaperRun, recipes: Iterable[Recipe]) -> None:
    """Read the data sets of the recipes, and discard the data; raise the exceptions of the
    readers."""
    for dataset in dict.fromkeys(recipe.dataset for recipe in recipes):
        dataset_module(dataset, "data").read(
            dataset,
            run.resources.data,
            download=run.resources.download,
            strict=not run.portion.reduced,
        )


def model_origin(run: PaperRun, recipes: Iterable[Recipe]) -> dict[str, Any]:
    """Return the origin of the models, for the provenance: how the models were trained, the data
    sets of the recipes, and known checksums of the data files."""
    checksums = {
        dataset: {}
        if run.portion.reduced
        else dataset_module(dataset, "data").CHECKSUMS.get(dataset, {})
        for dataset in dict.fromkeys(recipe.dataset for recipe in recipes)
    }
    return {
        "hyperparameters": run.portion.hyperparameters,
        "models": "trained" if run.resources.archive is None else "the authors', where read",
        "data": {DATASETS[dataset].title: dict(digests) for dataset, digests in checksums.items()},
    }


# ---------------------------------------------------------------------------------- in a pack


def pack_model_groups(folder: Path, facts: Mapping[str, Any]) -> ModelGroups:
    """Read the features of every model in the folder of a pack, and the task reliabilities in
    ``facts`` of the pack. Without such reliabilities, ``reliabilities`` is None: the run computes
    the reliabilities from the inputs."""
    return ModelGroups(
        read_models(folder / PACK_MODELS_FOLDER), reliabilities=facts.get(RELIABILITY)
    )


def write_resi_models(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return the facts that the pack stores.

    ``study``: the folder of the study. ``pack``: the folder with the content of the pack.
    ``reduction``: the samples to keep, and the precision. Only models for the layer test keep all
    layers; other models keep the last layer, the only compared layer. The reliabilities are the
    reliabilities of the study with all inputs.

    Raises ``ValueError`` for a study of a user's models, and for a size of the paper.
    """
    study_purpose = purpose(study)
    if study_purpose.models or study_purpose.size in PAPER_SUBSETS:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan = study_recipes(study_purpose)
    layer_families = {recipe[:3] for recipe in plan if recipe.setting == "layers"}
    for recipe in plan:
        has_all = recipe.setting == ("layers" if recipe[:3] in layer_families else "normal")
        copy_model_to_pack(
            study, recipe, pack, reduction, layers_by_pooling if has_all else _last_layers
        )
    cases = six_tests(study_models(study, plan)).cases
    return pack_facts(study_purpose.size, plan, {task_name(c.cell): c.reliability for c in cases})


def _last_layers(traits: Mapping[str, Any]) -> LayersByPooling:
    return {pooling: names[-1:] for pooling, names in traits["layers"].items()}
