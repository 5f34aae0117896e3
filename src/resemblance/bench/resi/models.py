"""The models that the ReSi suite compares: brought along, trained on data of the package, those of
the paper, or those of a pack."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.data.subject import Subject
from resemblance.models.model_folder import folders_left_out, read_subjects
from resemblance.models.recipe import Recipe

from .. import training
from ..case import cell_name
from ..packs import open_pack
from ..packs.archive import IDENTITY
from ..pinned import MODELS, Layers, Reduction, all_layers_of, pin_model, remembered
from ..reliability import RELIABILITY
from ..study import Purpose, purpose
from ..study_models import is_trained, subjects_of
from ..training import DATASETS, DOMAINS, Portion, part_of
from ..training.loop import Resources
from .cases import PlannedTests, six_tests
from .paper import PORTIONS, PaperRun, designs_of, planned, portion_of

EVERY = {
    "labels": (0.25, 0.5, 0.75, 1.0),
    "shortcut": (0.0, 0.25, 0.5, 0.75, 1.0),
    "augmentation": (0.25, 0.5, 0.75, 1.0),
}
EXTREMES = {"labels": (1.0,), "shortcut": (0.0, 1.0), "augmentation": (1.0,)}


class TrainingPlan(NamedTuple):
    """Which models are trained.

    ``seeds`` normal ones, and ``members`` per group and strength of the other settings;
    ``strengths`` by domain.
    """

    seeds: int
    members: int
    strengths: Mapping[str, training.Strengths]


SIZES: Mapping[str, TrainingPlan] = {
    "slice": TrainingPlan(4, 2, dict.fromkeys(DOMAINS, EXTREMES)),
    "mini": TrainingPlan(10, 5, {name: domain.strengths for name, domain in DOMAINS.items()}),
    "standard": TrainingPlan(10, 5, dict.fromkeys(DOMAINS, EVERY)),
}
# Trains recipes, and returns by name why others could not be trained.
Train = Callable[[Sequence[Recipe], Resources | None], Mapping[str, str]]


class Material(NamedTuple):
    """The models that a run compares: as subjects, which of them make which tests, the folders that
    are no models, where they come from, and what is known of the reliability of cells."""

    subjects: Sequence[Subject]
    planned: PlannedTests = PlannedTests()
    left_out: Mapping[str, str] = {}
    origin: Mapping[str, Any] = {}
    reliabilities: Mapping[str, float] | None = None


def recipes(size: str, domains: Sequence[str] = tuple(DOMAINS)) -> tuple[Recipe, ...]:
    """Return the recipe of every model of a size of the suite, domain by domain.

    Raises ``ValueError`` for an unknown size or domain.
    """
    if size not in SIZES:
        raise ValueError(f"no size {size!r}; known: {', '.join(SIZES)}")
    training.check_domains(domains)
    return tuple(
        recipe
        for domain in dict.fromkeys(domains)
        for recipe in training.recipes(domain, size, _settings(SIZES[size], domain))
    )


def _settings(plan: TrainingPlan, domain: str) -> Iterator[tuple[str, float, int]]:
    """Yield setting, strength and number of models."""
    yield "normal", 0.0, plan.seeds
    yield "layers", 0.0, plan.seeds
    for setting, strengths in plan.strengths[domain].items():
        yield from ((setting, strength, plan.members) for strength in strengths)


def domains_of(purpose: Purpose) -> tuple[str, ...]:
    """Return the domains that the runs of a study were of, in their order; all by default."""
    return tuple(d for d in DOMAINS if d in purpose.more.get("domains", DOMAINS))


def portions_of(purpose: Purpose) -> tuple[Portion, ...]:
    """Return the parts of the paper's benchmark that the runs of a study were of."""
    return tuple(portion_of(purpose.size, **words) for words in purpose.more.get("portions", ()))


def models_of(purpose: Purpose) -> tuple[Recipe, ...]:
    """Return the recipe of every model that a study trains."""
    if purpose.size in PORTIONS:
        return planned(portions_of(purpose))
    return recipes(purpose.size, domains_of(purpose))


def material_of(
    place: Path, wanted: Purpose, known: Purpose, run: PaperRun | None, train: Train
) -> Material:
    """Train what is missing in a study, and return the models that a run compares.

    ``wanted``: what this run is for; ``known``: also what earlier runs were for.
    """
    if run is not None:
        return _of_paper(run, place, known, train)
    if wanted.models and IDENTITY.fullmatch(wanted.models):
        folder = Path(wanted.more["pack"])
        pack = open_pack(folder if folder.exists() else wanted.models)
        return of_pack(pack.folder, pack.manifest.facts)
    if wanted.models:
        subjects = read_subjects(wanted.models, verify=True)
        return Material(subjects, left_out=folders_left_out(wanted.models))
    plan = recipes(wanted.size, wanted.more["domains"])
    failed = train(plan, None)
    complete = [r for r in _complete(place, plan, known) if r.name not in failed]
    return Material(subjects_of(place, complete), PlannedTests({}, _failures(plan, failed)))


def _complete(folder: Path, plan: Sequence[Recipe], known: Purpose) -> list[Recipe]:
    """Return the recipes of the plan, and of the other domains that the study has in full."""
    done, complete = {recipe.domain for recipe in plan}, list(plan)
    for domain in domains_of(known):
        more = recipes(known.size, [domain]) if domain not in done else ()
        complete += more if all(is_trained(folder, recipe) for recipe in more) else ()
    return complete


def _failures(plan: Iterable[Recipe], failed: Mapping[str, str]) -> list[tuple[Recipe, str]]:
    return [(recipe, failed[recipe.name]) for recipe in plan if recipe.name in failed]


# ------------------------------------------------------------------------- at a size of the paper


def _of_paper(run: PaperRun, place: Path, known: Purpose, train: Train) -> Material:
    resources = run.resources._replace(checkpoints=place.resolve() / "checkpoints")
    portions = portions_of(known)
    plan, every_plan = planned([run.portion]), planned(portions)
    ready = {recipe.name for recipe in every_plan if is_trained(place, recipe)}
    failed = train(plan, resources)
    if not failed:  # nothing goes on from them
        shutil.rmtree(place / "checkpoints", ignore_errors=True)
    ready |= {recipe.name for recipe in plan} - failed.keys()
    others = [portion for portion in portions if portion != run.portion]
    designs = designs_of(run.portion, others, lambda recipe: recipe.name in ready)
    order = [(name, model) for name, about in DATASETS.items() for model in about.architectures]
    complete = sorted(
        (r for r in every_plan if r.name in ready and (r.dataset, r.architecture) in designs),
        key=lambda recipe: order.index((recipe.dataset, recipe.architecture)),
    )
    return Material(
        subjects_of(place, complete),
        PlannedTests(designs, _failures(plan, failed)),
        origin=origin_of(run, complete),
    )


def check_data(run: PaperRun, missing: Iterable[Recipe]) -> None:
    """Read the data that these models are trained on; raise what the readers raise."""
    for dataset in dict.fromkeys(recipe.dataset for recipe in missing):
        part_of(dataset, "data").read(
            dataset,
            run.resources.data,
            download=run.resources.download,
            strict=not run.portion.reduced,
        )


def origin_of(run: PaperRun, complete: Iterable[Recipe]) -> dict[str, Any]:
    """Return where the models come from: how they were trained, and on what, with the checksums
    that the files of a data set were checked by, where any are known."""
    checksums = {
        dataset: {} if run.portion.reduced else part_of(dataset, "data").CHECKSUMS.get(dataset, {})
        for dataset in dict.fromkeys(recipe.dataset for recipe in complete)
    }
    return {
        "hyperparameters": run.portion.hyperparameters,
        "models": "trained" if run.resources.archive is None else "the authors', where read",
        "data": {DATASETS[dataset].title: dict(of) for dataset, of in checksums.items()},
    }


# ---------------------------------------------------------------------------------- in a pack


def of_pack(folder: Path, facts: Mapping[str, Any]) -> Material:
    """Return the models of a pack; what it does not know of reliability follows from its inputs."""
    return Material(read_subjects(folder / MODELS), reliabilities=facts.get(RELIABILITY))


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return what it must remember.

    Only models for the test of layers have all of these; of all others the last one is compared.
    How far what is expected repeats on other inputs is that of the study, with all its inputs.
    """
    known = purpose(study)
    if known.models or known.size in PORTIONS:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan = models_of(known)
    deep = {recipe[:3] for recipe in plan if recipe.setting == "layers"}
    for recipe in plan:
        has_all = recipe.setting == ("layers" if recipe[:3] in deep else "normal")
        pin_model(study, recipe, pack, reduction, all_layers_of if has_all else _last_of)
    cases = six_tests(subjects_of(study, plan)).cases
    return remembered(known.size, plan, {cell_name(c.cell): c.reliability for c in cases})


def _last_of(traits: Mapping[str, Any]) -> Layers:
    return {pooling: names[-1:] for pooling, names in traits["layers"].items()}
