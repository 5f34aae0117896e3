"""The stability suite on pinned features: layers of models whose weights were disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...measure import Measure
from ...representation import Representation
from ...results.result import Result
from ..case import Case, Part
from ..experiments import RunConfig
from ..pinned import Pinned, Reduction
from ..study import purpose
from .models import family, plain_models
from .observations import Observation, observations, write_index, write_observation
from .spectral import SEED, WHOLE, case_of, harmonic
from .suite import run
from .weight_changes import FEWEST, KINDS, POINTS, TRACKING, WARNING
from .weights import observed, planned_parts


def pin(study: Path, pack: Path, reduction: Reduction) -> dict[str, Any]:
    """Write the layers of disturbed models, and the representation whose components are deleted,
    into a pack; return what the pack must remember."""
    known = purpose(study)
    config = RunConfig(study, known.size, ())
    parts = planned_parts(config)
    entries = [
        write_observation(pack, i, part, observed(config, part), reduction)
        for i, part in enumerate(parts)
    ]
    write_index(pack, entries)
    np.save(pack / WHOLE, harmonic(SEED).astype(np.float32))
    recipes = {r.name: r.fingerprint for r in plain_models(config)}
    return {"size": known.size, "recipes": recipes}


def cases_of(pinned: Pinned) -> list[Case]:
    """Return the deletion, and by kind of model the disturbances of which some lose accuracy.

    One quality of each, so that the same copies do not count twice: the area under the ROC where
    copies enough lost more than two points and did not, Spearman's correlation elsewhere.
    """
    groups: dict[str, dict[str, dict[str, list[Observation]]]] = {}
    for part, seen in observations(pinned.folder):
        by_kind = groups.setdefault(family(part["model"]), {})
        by_model = by_kind.setdefault(part["kind"], {})
        by_model.setdefault(part["model"], []).append(seen)
    cases = [case_of(pinned.folder, pinned.facts["size"])]
    for models, by_kind in groups.items():
        for kind in KINDS:
            parts = [_disturbed(*of_model) for of_model in by_kind.get(kind, {}).items()]
            cases += _canary(models, kind, parts)
    return cases


def _canary(models: str, kind: str, parts: Sequence[Part]) -> list[Case]:
    """Return the cell of a kind of models and disturbances; none where no accuracy was lost."""
    domain, architecture = models.split("/")
    both = [part for part in parts if part.weight]
    harmed = [int((part.expected > POINTS[1]).sum()) for part in both]
    others = [len(part.expected) - count for part, count in zip(both, harmed)]
    if min(sum(harmed), sum(others)) >= FEWEST:
        cell = (domain, f"{architecture}, {kind}: AUC")
        return [Case("canary", cell, WARNING, tuple(both), models)]
    losing = [part._replace(weight=1.0) for part in parts if np.ptp(part.expected) > 0]
    cell = (domain, f"{architecture}, {kind}: Spearman")
    return [Case("canary", cell, TRACKING, tuple(losing), models)] if losing else []


def _disturbed(model: str, seen: Sequence[Observation]) -> Part:
    """Return a model and its disturbed copies, with the accuracy that each lost.

    The weight is the number of pairs of copies of which one lost more than two points.
    """
    copies, losses, draws = dict[str, Representation](), list[float](), list[int]()
    for draw, of_draw in enumerate(seen):
        for change, layer in zip(of_draw.changes, of_draw.layers[1:], strict=True):
            if change.level > 0:
                name = f"{change.name}, draw {draw}"
                copies[name] = Representation(layer, name)
                losses.append(round(of_draw.accuracy - change.accuracy, 12))
        draws.append(len(losses) - sum(draws))
    lost, before = np.array(losses), Representation(seen[0].reference, "before")
    harmed = int((lost > POINTS[1]).sum())
    weight = float(harmed * (len(lost) - harmed))
    return Part({"before": before}, lost, copies, model, weight, draws=tuple(draws))


def run_pinned(
    pinned: Pinned, measures: Sequence[Measure], folder: Path | None, **options: Any
) -> Result:
    """Run measures through both experiments on the arrays of a pack, or continue in a folder.

    ``options``: executor, memory and progress.
    """
    return run(folder, measures=measures, size=pinned.facts["size"], pinned=pinned, **options)
