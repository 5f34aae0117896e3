"""The sensitivity suite on pinned features: models with the accuracies of their probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...measure import Measure
from ...results.result import Result
from ...sources.model_folder import read_subject
from ...sources.training import DOMAINS
from ...subject import Recipe
from ..pinning import MODELS, Pinned, Reduction, pin_model
from ..study import purpose
from ..training import is_written, model_folder
from .models import recipes
from .normal_models import probes_of
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
    by_domain = [recipes(size, [domain]) for domain in DOMAINS]
    complete = [some for some in by_domain if _are_written(study, some)]
    trained = [recipe for some in complete for recipe in some]
    if not trained:
        raise ValueError(f"{study} lacks models of every domain: finish the study first")
    return [recipe for recipe in trained if recipe.setting != "pretrained"]


def _are_written(study: Path, some: Iterable[Recipe]) -> bool:
    return all(is_written(study, recipe) for recipe in some)


def _first_pooling(traits: Mapping[str, Any]) -> dict[str, list[str]]:
    """Of several poolings the first is compared, as the others are the same models."""
    return dict(list(traits["layers"].items())[:1])


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
