"""The models of a study: train missing models, pretrained models first; and group comparable models
into families."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.extras import require_package
from ..base.json_files import read_document
from ..data.model_features import ModelFeatures
from ..engine.workers import WorkerCall, run_calls
from ..models.model_folder import TRAITS_FILE, is_complete, read_model, write_model
from ..models.recipe import ModelOutputs, Recipe
from . import training
from .study import StageProgress, append_to_log
from .training import DATASETS, DOMAINS
from .training.loop import Checkpoint, TrainingEnvironment

TrainingOutcome = str | Exception  # a line for the log, or the exception of a failed training


def train_plan(
    folder: Path, plan: Sequence[Recipe], executor: Executor | None, progress: StageProgress
) -> None:
    """Train every model of the plan that the study in ``folder`` lacks.

    ``progress`` is called with ("training", done, total). Pretrained models come first and are
    trained once, even if only fine-tuned models of the plan refer to a pretrained model. All other
    models follow; fine-tuned models start from the stored weights. A recipe therefore gives the
    same model whatever the order, the number of processes and the number of attempts.

    Raises the exception of the first failed training.
    """
    for _, outcome in _train_parents_first(folder, plan, executor, progress, None):
        if isinstance(outcome, Exception):
            raise outcome


def train_possible(
    folder: Path,
    plan: Sequence[Recipe],
    executor: Executor | None,
    progress: StageProgress,
    resources: TrainingEnvironment | None = None,
) -> dict[str, str]:
    """Train every model of the plan that the study in ``folder`` lacks, and continue after a failed
    training; return the reasons of failures, by model name.

    ``progress`` is called with ("training", done, total), and after failures with ("not trained",
    failures, failures). ``resources``: for models on real data. Only an interrupt ends the whole
    run, or a pool that lost a worker and cannot be replaced (see
    :func:`resemblance.engine.workers.run_calls`).
    """
    failures = dict[str, str]()
    for recipe, outcome in _train_parents_first(folder, plan, executor, progress, resources):
        if isinstance(outcome, Exception):
            failures[recipe.name] = " ".join(f"{type(outcome).__name__}: {outcome}".split())
            append_to_log(folder, "".join(traceback.format_exception(outcome)))
            append_to_log(folder, f"could not train {recipe.name}: {failures[recipe.name]}")
            progress("not trained", len(failures), len(failures))
    return failures


def _train_parents_first(
    folder: Path,
    plan: Sequence[Recipe],
    executor: Executor | None,
    progress: StageProgress,
    resources: TrainingEnvironment | None,
) -> Iterator[tuple[Recipe, TrainingOutcome]]:
    """Train the models of ``plan`` that the study in ``folder`` lacks, pretrained models first;
    yield pairs: the recipe of a missing model, and a line for the log, or the exception of the
    training."""
    plan = add_parent_recipes(plan)
    missing_recipes = [recipe for recipe in plan if not is_trained(folder, recipe)]
    for domain in {recipe.domain for recipe in missing_recipes}:
        require_package(DOMAINS[domain].needs)
    done, place = len(plan) - len(missing_recipes), folder.resolve()
    progress("training", done, len(plan))
    for wave in (True, False):
        recipes = {r.name: r for r in missing_recipes if (r.setting == "pretrained") == wave}
        calls = [
            WorkerCall(
                name,
                train_one,
                (r, model_folder(place, r), r.parent and model_folder(place, r.parent), resources),
            )
            for name, r in recipes.items()
        ]
        for call, future in run_calls(calls, executor, partial(append_to_log, folder)):
            error = future.exception()
            # A broken executor cannot run any other training either.
            if isinstance(error, BrokenExecutor):
                raise error
            outcome = error if isinstance(error, Exception) else future.result()
            if isinstance(outcome, str):
                append_to_log(folder, outcome)
            yield recipes[call.name], outcome
            done += 1
            progress("training", done, len(plan))


def add_parent_recipes(plan: Iterable[Recipe]) -> list[Recipe]:
    """Return the recipes of a plan and the pretrained models that fine-tuned models start from,
    each recipe once, a pretrained model before its first child.

    Raises ``ValueError`` if two different recipes have the same name, and so the same folder in a
    study.
    """
    recipes = dict[str, Recipe]()
    for recipe in plan:
        for entry in (recipe.parent, recipe):
            if (
                entry is not None
                and recipes.setdefault(entry.name, entry).fingerprint != entry.fingerprint
            ):
                raise ValueError(
                    f"two recipes are named {entry.name}, with different options or versions"
                )
    return list(recipes.values())


def load_weights(folder: Path, child: Recipe) -> dict[str, np.ndarray]:
    """Load the weights of a pretrained model, by name, for a child recipe that starts from the
    pretrained model. ``folder``: of the pretrained model.

    Raises ``ValueError`` if the model is missing or damaged, or was trained with another recipe
    than the parent recipe of the child, and if the child has no parent.
    """
    parent = child.parent
    if parent is None:
        raise ValueError(f"{child.name} starts from random weights")
    if not _holds_recipe(folder, parent):
        raise ValueError(
            f"{child.name} starts from {parent.name}, which {folder} does not hold: train that "
            "first"
        )
    with np.load(folder / "weights.npz", allow_pickle=False) as weights:
        return dict(weights)


def train_one(
    recipe: Recipe,
    folder: Path,
    parent: Path | None = None,
    resources: TrainingEnvironment | None = None,
) -> str:
    """Train a model, run the benchmark inputs through the model, write model and outputs into
    ``folder``, and return a line for the log.

    ``parent``: the folder of the pretrained model that a fine-tuned model starts from.
    ``resources``: needed by a model on real data; if ``resources`` names an archive of trained
    models, the model is read from the archive instead of trained. The checkpoint is removed after
    the model is written.

    Raises ``ValueError`` for a model on real data without resources, and for a diverged training;
    and the exceptions of the training.
    """
    start_time = time.perf_counter()
    is_read = resources is not None and resources.archive is not None
    start_weights = None if parent is None else load_weights(parent, recipe)
    state = training.fit(recipe, resources, start_weights)
    extraction = training.extract(recipe, state, resources)
    _check_finite_outputs(recipe, extraction)
    write_model(folder, extraction, {**recipe.traits, "recipe": recipe.fingerprint}, state)
    if resources is not None:
        Checkpoint(recipe, resources).remove()
    accuracy = extraction.accuracies["test"]
    word, seconds = "read" if is_read else "trained", time.perf_counter() - start_time
    return f"{word} {recipe.name}: accuracy {accuracy:.3f}, {seconds:.1f} s"


def _check_finite_outputs(recipe: Recipe, extraction: ModelOutputs) -> None:
    layers = {name: x for arrays in extraction.layers.values() for name, x in arrays.items()}
    for name, array in {**layers, "logits": extraction.outputs}.items():
        if not np.isfinite(array).all():
            raise ValueError(
                f"{recipe.name}: {name} has values that are not finite: the training diverged"
            )


def model_folder(study: Path, recipe: Recipe) -> Path:
    """Return the folder of a model in a study."""
    return study / "models" / recipe.name


def is_trained(folder: Path, recipe: Recipe) -> bool:
    """Return whether the study in ``folder`` contains the model of a recipe, complete and
    undamaged.

    Arrays are read only if the size or the modification time differs from the recorded value.
    """
    model = model_folder(folder, recipe)
    try:
        return _holds_recipe(model, recipe) and bool(read_model(model, verify="changed"))
    except (ValueError, OSError):
        return False


def is_written(folder: Path, recipe: Recipe) -> bool:
    """Return whether the study in ``folder`` contains the model of a recipe according to its
    traits; arrays are not checked."""
    try:
        return _fingerprint_in_folder(model_folder(folder, recipe)) == recipe.fingerprint
    except (ValueError, OSError):
        return False


def _fingerprint_in_folder(model: Path) -> str | None:
    """Return the stored recipe fingerprint of the model in a folder; None if the traits have no
    fingerprint."""
    file, description = model / TRAITS_FILE, "an object of traits"
    return read_document(file, lambda traits: traits.get("recipe"), description)


def _holds_recipe(model: Path, recipe: Recipe) -> bool:
    """Return whether the folder ``model`` contains the model of this recipe, with all files and
    undamaged weights."""
    try:
        return _fingerprint_in_folder(model) == recipe.fingerprint and is_complete(model)
    except (ValueError, OSError):
        return False


def study_models(folder: Path, plan: Iterable[Recipe]) -> tuple[ModelFeatures, ...]:
    """Return the features of the trained models of a plan, in the order of the plan. ``folder``: of
    the study."""
    return tuple(s for recipe in plan for s in read_model(model_folder(folder, recipe)))


# ------------------------------------------------------------------------------- families of models


class ModelFamily(NamedTuple):
    """The properties that comparable models share: domain, data set, architecture and pooling."""

    domain: str
    dataset: str
    architecture: str
    pooling: str

    def __str__(self) -> str:
        parts = (self.domain, *display_names(self.dataset, self.architecture), self.pooling)
        return " · ".join(part for part in parts if part)

    @property
    def short(self) -> str:
        """A short readable name; the domain is replaced by the title of a known data set."""
        dataset, architecture = display_names(self.dataset, self.architecture)
        name = dataset if self.dataset in DATASETS else self.domain
        return " ".join(part for part in (name, architecture, self.pooling) if part)

    @property
    def title(self) -> str:
        """The full name, with parts joined by slashes."""
        return "/".join(part for part in self if part)


def display_names(dataset: str, architecture: str) -> tuple[str, str]:
    """Return the display names (data set, architecture): the names of the ReSi paper for its own
    data sets and architectures, otherwise the arguments."""
    dataset_info = DATASETS.get(dataset)
    if dataset_info is None:
        return dataset, architecture
    architecture_info = dataset_info.architectures.get(architecture)
    return (
        dataset_info.title,
        architecture if architecture_info is None else architecture_info.title,
    )
