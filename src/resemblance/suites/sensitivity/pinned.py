"""The sensitivity suite on pinned features: models with the accuracies of their probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...measure import Measure
from ...results.result import Result
from ...sources.model_folder import read_subject, read_subjects
from ...sources.recipe import Recipe
from ...sources.training import DOMAINS
from ..case import Case, Part
from ..pinning import MODELS, Pinned, Reduction, pin_model
from ..study import purpose
from ..training import is_written, model_folder
from .benchmarks import BENCHMARKS
from .grading import grouped
from .models import recipes
from .normal_models import probes_of
from .procedure import expected_from, reference_of
from .sets import ORDERS, RepresentationSet
from .subjects import families, without_nan
from .suite import SIZES, run


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the models of a finished study into a pack, and return what it must remember.

    The accuracies of probes, on all samples, become traits of the models that the first two
    benchmarks compare: they are what representations are held to, not what a measure sees.
    """
    known = purpose(study)
    if known.models:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    plan = _trained(study, known.size)
    effort = SIZES[known.size]
    for recipe in plan:
        probes = {}
        if recipe.setting == "normal":
            subject = read_subject(model_folder(study, recipe))[0]
            probes = {"probes": probes_of(subject, study, effort)}
        pin_model(study, recipe, pack, reduction, _first_pooling, **probes)
    return {"size": known.size, "recipes": {r.name: r.fingerprint for r in plan}}


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
    effort, cases = SIZES[pinned.facts["size"]], list[Case]()
    models = families(read_subjects(pinned.folder / MODELS))
    for benchmark in BENCHMARKS:
        for family, members in models.items():
            subjects = benchmark.choose(without_nan(members, benchmark.setting)[0])
            if not isinstance(subjects, str):
                sets, _ = benchmark.sets(subjects, None, effort)
                parts = grouped(_parts(sets), lambda part: part.name)
                cases += [
                    Case(
                        benchmark.name,
                        (*filter(None, family), functionality, quality),
                        rule,
                        tuple(of),
                        family.title,
                    )
                    for functionality, of in parts.items()
                    for quality, rule in ORDERS.items()
                ]
    return cases


def _parts(sets: Mapping[str, RepresentationSet]) -> Iterator[Part]:
    """Yield the best representation and all of its set, for every layer and functionality in which
    not all are equal; a part has the name of its functionality."""
    for members in sets.values():
        columns = list(members.columns.items())
        for name, f in members.functionality.items():
            if np.ptp(f.round(12)) > 0:
                best = reference_of(f, np.array(members.rows))
                yield Part(dict([columns[best]]), expected_from(f, best), members.columns, name)


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
