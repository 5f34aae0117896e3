"""The ReSi benchmark on pinned features: what a pack holds of a study, and the run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...measure import Measure
from ...results.result import Result
from ...sources.model_folder import read_subjects
from ..case import Case, cell_name
from ..pinned import MODELS, Layers, Pinned, Reduction, all_layers_of, pin_model
from ..reliability import is_reliable
from ..study import Purpose, purpose, study_folder
from ..training import subjects_of
from .cases import six_tests, with_reliabilities
from .models import RELIABILITY, models_of, of_pack
from .page import result_of
from .paper import PORTIONS
from .rules import RANKED
from .suite import Order, evaluated, publish


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
    return {
        "size": known.size,
        "recipes": {r.name: r.fingerprint for r in plan},
        RELIABILITY: {cell_name(c.cell): c.reliability for c in cases if c.reliability is not None},
    }


def _last_of(traits: Mapping[str, Any]) -> Layers:
    return {pooling: names[-1:] for pooling, names in traits["layers"].items()}


def cases_of(pinned: Pinned) -> list[Case]:
    """Return the cells of the six tests that count for the ranking."""
    cases = six_tests(read_subjects(pinned.folder / MODELS)).cases
    known = with_reliabilities(cases, pinned.facts.get(RELIABILITY, {}))
    return [c for c in known if c.cell[1] in RANKED and is_reliable(c.reliability)]


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through the six tests on the models of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    material = of_pack(pinned.folder, pinned.facts)
    more = {"pack": str(pinned.folder)}
    order = Order(Purpose("resi", models=pinned.identity, more=more), {})
    with study_folder(folder, order.purpose) as (study, known):
        evaluation = evaluated(order, material, study, measures=measures, **options)
        result = pinned.named(result_of(evaluation))
        publish(study, known, order, evaluation, result)
    return result
