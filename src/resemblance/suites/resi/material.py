"""What a run of the ReSi suite is of, and the models that it compares: brought along, trained on
data of the package, or those of the paper."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from ...sources.model_folder import folders_left_out, read_subjects
from ...sources.recipe import Recipe
from ...sources.training import DATASETS, DOMAINS, part_of
from ...subject import Subject
from ..study import Progress, Purpose
from ..training import is_trained, subjects_of, train_possible
from .facts import Evaluation
from .groups import GROUPS
from .membership import PlannedTests
from .models import recipes
from .paper import PORTIONS, PaperRun, designs_of, paper_run, planned
from .rules import check_choice


class Order(NamedTuple):
    """What a run is to do: the purpose of its study, which groups of models are compared, and at a
    size of the paper, with what."""

    purpose: Purpose
    groups: str
    paper: PaperRun | None = None


class Material(NamedTuple):
    """The models that a run compares: as subjects, which of them make which tests, the folders that
    are no models, and what a reader must know of their origin."""

    subjects: Sequence[Subject]
    planned: PlannedTests
    left_out: Mapping[str, str] = {}
    origin: Mapping[str, Any] = {}


def order_of(
    size: str | None,
    domains: Sequence[str] | None,
    models: str | Path | None,
    groups: str | None,
    paper: Mapping[str, Any],
) -> Order:
    """Return what a run is to do.

    Raises ``ValueError`` for what does not go together, is missing or unknown.
    """
    if groups is not None:
        check_choice("groups", groups, GROUPS)
    if size is not None and size in PORTIONS and models is None:
        run = paper_run(size, domains=domains, **paper)
        purpose = Purpose("resi", size, portions=(run.portion,))
        return Order(purpose, groups or "published", run)
    if words := [name for name, value in paper.items() if value not in (None, (), [], False)]:
        raise ValueError(
            f"run: {', '.join(words)} {'is' if len(words) == 1 else 'are'} for the sizes "
            f"{' and '.join(PORTIONS)}; got size {size or 'mini'!r}"
        )
    if models is None:
        purpose = Purpose("resi", size or "mini", tuple(dict.fromkeys(domains or DOMAINS)))
        recipes(purpose.size, purpose.domains)  # raises for unknown words
        return Order(purpose, groups or "separated")
    if size or domains:
        raise ValueError(
            "run: models brings models along; size and domains are for models to be trained"
        )
    return Order(Purpose("resi", models=str(Path(models).resolve())), groups or "separated")


def check_order(order: Order, folder: Path | None) -> None:
    """Read the data that a run trains models on, so that a mistake in them is found before the work
    and before the study knows of it."""
    if order.paper is not None:
        plan = planned([order.paper.portion])
        check_data(order.paper, [r for r in plan if folder is None or not is_trained(folder, r)])


def models_of(purpose: Purpose) -> tuple[Recipe, ...]:
    """Return the recipe of every model that a study trains."""
    if purpose.portions:
        return planned(purpose.portions)
    return recipes(purpose.size, purpose.domains or tuple(DOMAINS))


def material_of(
    order: Order, place: Path, purpose: Purpose, executor: Executor | None, progress: Progress
) -> Material:
    """Train what is missing in a study, and return the models that a run compares.

    ``purpose``: what the study is for, with what its earlier runs were for.
    """
    if order.paper is not None:
        return _of_paper(order.paper, place, purpose, executor, progress)
    if order.purpose.models:
        subjects = read_subjects(order.purpose.models, verify=True)
        return Material(subjects, PlannedTests(), folders_left_out(order.purpose.models))
    plan = recipes(order.purpose.size, order.purpose.domains)
    failed = train_possible(place, plan, executor, progress)
    complete = [r for r in _complete(place, plan, purpose) if r.name not in failed]
    return Material(subjects_of(place, complete), PlannedTests({}, _failures(plan, failed)))


def _complete(folder: Path, plan: Sequence[Recipe], purpose: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains that the study has in full."""
    done, subjects = {recipe.domain for recipe in plan}, list(plan)
    for domain in purpose.domains:
        more = recipes(purpose.size, [domain]) if purpose.size and domain not in done else ()
        subjects += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return subjects


def _failures(plan: Iterable[Recipe], failed: Mapping[str, str]) -> list[tuple[Recipe, str]]:
    return [(recipe, failed[recipe.name]) for recipe in plan if recipe.name in failed]


# ------------------------------------------------------------------------- at a size of the paper


def _of_paper(
    run: PaperRun, place: Path, purpose: Purpose, executor: Executor | None, progress: Progress
) -> Material:
    resources = run.resources._replace(checkpoints=place.resolve() / "checkpoints")
    plan, every_plan = planned([run.portion]), planned(purpose.portions)
    trained = {recipe.name for recipe in every_plan if is_trained(place, recipe)}
    failed = train_possible(place, plan, executor, progress, resources)
    if not failed:  # nothing goes on from them
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
    trained |= {recipe.name for recipe in plan} - failed.keys()
    others = [portion for portion in purpose.portions if portion != run.portion]
    designs = designs_of(run.portion, others, lambda recipe: recipe.name in trained)
    order = [(name, model) for name, about in DATASETS.items() for model in about.architectures]
    complete = sorted(
        (r for r in every_plan if r.name in trained and _models(r) in designs),
        key=lambda recipe: order.index(_models(recipe)),
    )
    return Material(
        subjects_of(place, complete),
        PlannedTests(designs, _failures(plan, failed)),
        origin=_origin(run, complete),
    )


def _models(recipe: Recipe) -> tuple[str, str]:
    return recipe.dataset, recipe.architecture


def check_data(run: PaperRun, missing: Iterable[Recipe]) -> None:
    """Read the data that these models are trained on; raise what the readers raise."""
    for dataset in dict.fromkeys(recipe.dataset for recipe in missing):
        part_of(dataset, "data").read(
            dataset,
            run.resources.data,
            download=run.resources.download,
            strict=not run.portion.reduced,
        )


def _origin(run: PaperRun, complete: Iterable[Recipe]) -> dict[str, Any]:
    """Return where the models come from: how they were trained, and on what."""
    return {
        "hyperparameters": run.portion.hyperparameters,
        "models": "trained" if run.resources.archive is None else "the authors', where read",
        "data": {
            DATASETS[dataset].title: _checksums(run, dataset)
            for dataset in dict.fromkeys(recipe.dataset for recipe in complete)
        },
    }


def _checksums(run: PaperRun, dataset: str) -> dict[str, str]:
    """Return the checksums that the files of a data set were checked by; none where any data do, or
    none are known."""
    known = {} if run.portion.reduced else part_of(dataset, "data").CHECKSUMS
    return dict(known.get(dataset, {}))


def with_material(facts: Evaluation, order: Order, material: Material) -> Evaluation:
    """Return the facts of an evaluation with what is known of its models."""
    untrained = {recipe.name: why for recipe, why in material.planned.failed}
    about = {**material.origin, "groups": order.groups}
    return facts._replace(
        size=order.purpose.size,
        left_out=material.left_out,
        untrained=untrained,
        provenance={**about, **facts.provenance},
    )
