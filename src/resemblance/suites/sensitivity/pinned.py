"""The sensitivity suite on pinned features: models with the accuracies of their probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...measure import Measure
from ...results.result import Result
from ...sources.model_folder import read_subjects
from ...sources.recipe import Recipe, with_defaults
from ...sources.training import DOMAINS
from ...subject import Subject
from ..case import Case
from ..pinned import MODELS, Pinned, Reduction, pin_model
from ..reliability import RELIABILITY, is_reliable
from ..study import purpose
from ..training import is_written, subjects_of
from .cases import BENCHMARKS, accuracies_of, cases_of_family, reliability_key, sets_of, with_probes
from .models import SIZES, Size, recipes
from .suite import run


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return what it must remember.

    The accuracies of probes, on all samples, become traits of the models that the first two
    benchmarks compare: they are what representations are held to, not what a measure sees. How far
    what is expected repeats on other inputs is that of the study, with all its inputs.
    """
    known = purpose(study)
    if known.models:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan, size, subjects = _trained(study, known.size), SIZES[known.size], []
    for recipe in plan:
        subject, more = subjects_of(study, [recipe])[0], {}
        if recipe.setting == "normal":
            subject = with_probes(subject, size, study / "probes")
            more = {"probes": accuracies_of(subject)}
        subjects.append(subject)
        pin_model(study, recipe, pack, reduction, _first_pooling, **more)
    cases = _cases(subjects, size)
    return {
        "size": known.size,
        "recipes": {r.name: r.fingerprint for r in plan},
        RELIABILITY: {
            reliability_key(c): c.reliability for c in cases if c.reliability is not None
        },
    }


def _trained(study: Path, size: str) -> list[Recipe]:
    """Return the models that are compared, of the domains that a study has in full."""
    trained = list[Recipe]()
    for domain in DOMAINS:
        plan = recipes(size, [domain])
        trained += plan if all(is_written(study, recipe) for recipe in plan) else ()
    if not trained:
        raise ValueError(f"{study} lacks models of every domain: finish the study first")
    return [recipe for recipe in trained if recipe.setting != "pretrained"]


def _first_pooling(traits: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of several poolings the first is compared, as the others are the same models."""
    return dict(list(traits["layers"].items())[:1])


def cases_of(pinned: Pinned) -> list[Case]:
    """Return what the measures are ranked by: the order of distances from the best representation,
    for each benchmark, family of models and functionality by both correlations."""
    subjects = [*map(with_defaults, read_subjects(pinned.folder / MODELS))]
    cases = _cases(subjects, SIZES[pinned.facts["size"]], pinned.facts.get(RELIABILITY, {}))
    return [case for case in cases if is_reliable(case.reliability)]


def _cases(subjects: Sequence[Subject], size: Size, known: Mapping[str, float] = {}) -> list[Case]:
    """Return the cases of all benchmarks, which compare the best representation only."""
    return [
        case
        for benchmark in BENCHMARKS
        for of in sets_of(benchmark, subjects, size)
        for case in cases_of_family(benchmark.name, of, known=known)
    ]


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through the four benchmarks on the models of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    return run(
        folder,
        measures=measures,
        size=pinned.facts["size"],
        models=pinned.folder / MODELS,
        pinned=pinned,
        **options,
    )
