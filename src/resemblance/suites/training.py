"""The training of models into a study: what is missing is trained, pretrained models before those
that need them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import numpy as np

from ..documents import read_document
from ..extras import check
from ..sources.folders import TRAITS, is_complete, read_subject, write_subject
from ..sources.trained import DOMAINS, source
from ..subject import Recipe, Subject
from ..workers import Call, carry_out
from .study import Progress, log


def train(
    folder: Path, plan: Sequence[Recipe], executor: Executor | None, progress: Progress
) -> None:
    """Train every model of the plan that the study does not have.

    Pretrained models come first, once each, whether the plan lists them or only models that start
    from them. All others follow; fine-tuned models start from the weights that the study keeps. So
    a recipe gives the same model whatever the order, the number of processes and of attempts.
    """
    plan = with_parents(plan)
    missing = [recipe for recipe in plan if not is_trained(folder, recipe)]
    for domain in {recipe.domain for recipe in missing}:
        check(DOMAINS[domain].needs)
    done = len(plan) - len(missing)
    progress("training", done, len(plan))
    for wave in (True, False):
        for line in _trained(
            folder, [r for r in missing if (r.setting == "pretrained") == wave], executor
        ):
            log(folder, line)
            done += 1
            progress("training", done, len(plan))


def with_parents(plan: Iterable[Recipe]) -> list[Recipe]:
    """Return a plan with the pretrained models that its fine-tuned ones start from.

    Raises ``ValueError`` when two different recipes have one name, and so one place in a study.
    """
    recipes = dict[str, Recipe]()
    for recipe in plan:
        for one in (recipe.parent, recipe):
            if one is not None and recipes.setdefault(one.name, one).fingerprint != one.fingerprint:
                raise ValueError(
                    f"two recipes are named {one.name}, with different options or versions"
                )
    return list(recipes.values())


def _trained(folder: Path, missing: Iterable[Recipe], executor: Executor | None) -> Iterator[str]:
    calls = [
        Call(r.name, train_one, (r, model_folder(folder, r), _parent_folder(folder, r)))
        for r in missing
    ]
    for _, future in carry_out(calls, executor, partial(log, folder)):
        yield future.result()


def _parent_folder(study: Path, recipe: Recipe) -> Path | None:
    return None if recipe.parent is None else model_folder(study, recipe.parent)


def load_weights(folder: Path, child: Recipe) -> dict[str, np.ndarray]:
    """Return the weights of the pretrained model in a folder, for the recipe of a model that starts
    from them.

    Raises ``ValueError`` when the model is not there, damaged, or of another recipe than the child
    was planned with.
    """
    parent = child.parent
    if parent is None:
        raise ValueError(f"{child.name} starts from random weights")
    if not _is_same(folder, parent):
        raise ValueError(
            f"{child.name} starts from {parent.name}, which {folder} does not hold: train that "
            "first"
        )
    with np.load(folder / "weights.npz", allow_pickle=False) as weights:
        return dict(weights)


def train_one(recipe: Recipe, folder: Path, parent: Path | None = None) -> str:
    """Train one model, run the inputs of its benchmark through it, write both, and return a line
    for the log.

    ``parent`` is the folder of the pretrained model that a fine-tuned one starts from.
    """
    start, trainer = time.perf_counter(), source(recipe.domain, recipe.setting)
    state = (
        trainer.fit(recipe) if parent is None else trainer.fit(recipe, load_weights(parent, recipe))
    )
    extraction = trainer.extract(recipe, state)
    write_subject(folder, extraction, {**recipe.traits, "recipe": recipe.fingerprint}, state)
    accuracy = extraction.accuracies["test"]
    return f"trained {recipe.name}: accuracy {accuracy:.3f}, {time.perf_counter() - start:.1f} s"


def model_folder(study: Path, recipe: Recipe) -> Path:
    """Return the folder of a model inside a study."""
    return study / "subjects" / recipe.name


def is_trained(folder: Path, recipe: Recipe) -> bool:
    """Whether a study has the model of a recipe, complete and undamaged.

    Arrays are read only if their size or time of change is not what was recorded of them.
    """
    model = model_folder(folder, recipe)
    try:
        return _is_same(model, recipe) and bool(read_subject(model, verify="changed"))
    except (ValueError, OSError):
        return False


def _is_same(model: Path, recipe: Recipe) -> bool:
    """Whether a folder holds a model of this recipe, with all its parts and undamaged weights."""
    try:
        recorded = read_document(
            model / TRAITS, lambda traits: traits.get("recipe"), "an object of traits"
        )
        return recorded == recipe.fingerprint and is_complete(model)
    except (ValueError, OSError):
        return False


def subjects_of(folder: Path, plan: Iterable[Recipe]) -> tuple[Subject, ...]:
    """Return the subjects of the trained models of a plan."""
    return tuple(s for recipe in plan for s in read_subject(model_folder(folder, recipe)))
