"""The canary: do measures warn before a model whose weights are disturbed loses accuracy?

After Raju 2026, Section 10. Weights get noise, fewer bits or a random adapter, and the
representation of the last layer is compared with the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...arrays import to_numpy
from ...compare import compare
from ...measure import Measure
from ...representation import Representation
from ...results.sections import Section
from ...results.values import known
from ...sources.recipe import Recipe
from ...sources.training import extract
from ...sources.training.loop import State
from ...statistics.rdm import rows, unit
from ..experiments import Experiment, Part, RunConfig, claims_of, measured
from .models import absent_of, labels_of, names_of, plain_models, recipe_of, subjects, weights
from .observations import Observation, WeightChange, pinned_parts, read_observation
from .perturbed import adapted, noisy, rounded, shuffled
from .weight_changes import DRIFTS, PROCRUSTES, SQUARED, disturbed_models, trimmed
from .weights_sections import conclude

UNCHANGED = "unchanged"
AS_IN_PAPER = {
    PROCRUSTES: 2**0.5,
    SQUARED: 2.0,
}  # a distance between shapes of size 1 is divided by this
Differences = Mapping[str, np.ndarray]  # by specification, one for every layer that was compared


class Levels(NamedTuple):
    """How strongly weights are disturbed: α of noise, bits, adapters (rank, scale), and
    shuffles."""

    noise: tuple[float, ...]
    bits: tuple[int, ...]
    adapters: tuple[tuple[int, float], ...]
    shuffles: int


_ADAPTERS = (
    *((r, 0.01) for r in (1, 2, 4, 8, 16, 32, 64)),
    *((8, s) for s in (0.001, 0.005, 0.02, 0.05, 0.1)),
)
LEVELS: Mapping[str, Levels] = {
    "small": Levels((0.0, 0.1, 0.3, 0.5), (8, 4, 2), ((2, 0.01), (8, 0.1)), 1),
    "default": Levels(tuple(k / 32 for k in range(17)), (8, 7, 6, 5, 4, 3, 2), _ADAPTERS, 3),
    "paper": Levels(tuple(k / 100 for k in range(51)), (8, 7, 6, 5, 4, 3, 2), _ADAPTERS, 3),
}
Disturbance = Callable[[State], State]


def _parts(config: RunConfig) -> list[Part]:
    measures = measured(config.measures)
    if config.pinned:
        pinned = {"pack": config.pinned.identity, "measures": measures}
        return [{**part, **pinned} for part in pinned_parts(config.pinned.folder)]
    return [{**part, "measures": measures} for part in planned_parts(config)]


def planned_parts(config: RunConfig) -> list[Part]:
    """Return what is done to every model, without measures."""
    levels = LEVELS[config.size]
    plan: list[tuple[str, int, Any]] = [
        ("noise", 0, levels.noise),
        ("noise", 1, levels.noise),
        ("rounding", 0, levels.bits),
        ("adapters", 0, [list(pair) for pair in levels.adapters]),
        ("shuffled", 0, range(levels.shuffles)),
    ]
    return [
        {**names_of(recipe), "kind": kind, "draw": draw, "levels": list(of)}
        for recipe in plain_models(config)
        for kind, draw, of in plan
    ]


def _changes(part: Part) -> Iterator[tuple[str, float, Disturbance]]:
    """Yield what a part does to weights: a name, the level, and the function."""
    labels = (0, "canary", part["model"])  # of what is drawn
    for level in part["levels"]:
        if part["kind"] == "noise":
            yield f"{level:g}", level, partial(_after, noisy, (level, *labels, part["draw"]))
        elif part["kind"] == "rounding":
            yield f"{level} bits", level, partial(_after, rounded, (level,))
        elif part["kind"] == "adapters":
            rank, scale = level
            name = f"rank {rank}, scale {scale:g}"
            yield name, scale, partial(_after, adapted, (rank, scale, *labels))
        else:
            yield f"shuffle {level}", level, partial(_after, shuffled, (*labels, level))


def _after(change: Callable[..., State], options: tuple[Any, ...], state: State) -> State:
    return change(state, *options)


def _compute(config: RunConfig, part: Part) -> Any:
    """What disturbed weights do to the accuracy, and to the last layer by every measure."""
    pinned = config.pinned
    seen = read_observation(pinned.folder, part) if pinned else observed(config, part)
    names = (UNCHANGED, *(change.name for change in seen.changes))
    layers = {name: Representation(layer) for name, layer in zip(names, seen.layers)}
    differences, drifts, reasons = _compared(config, Representation(seen.reference), layers)
    points = [
        {**change._asdict(), "differences": _at(differences, i), "drifts": _at(drifts, i)}
        for i, change in enumerate(seen.changes, 1)
    ]
    unchanged = _at(differences, 0)
    return {"accuracy": seen.accuracy, "unchanged": unchanged, "points": points, "reasons": reasons}


def observed(config: RunConfig, part: Part) -> Observation:
    """Return the last layer and the answers of a trained model after each change of its weights."""
    recipe = recipe_of(config, part)
    reference, state = subjects(config, recipe)[0], weights(config, recipe)
    labels = labels_of(config, recipe)
    assert reference.outputs is not None
    before = reference.outputs.argmax(axis=1) == labels
    layers, changes = [_seen(recipe, state)[0]], list[WeightChange]()
    for name, level, change in _changes(part):
        layer, outputs = _seen(recipe, change(state))
        now = outputs.argmax(axis=1) == labels
        answers = float(now.mean()), int((before & ~now).sum()), int((now & ~before).sum())
        layers.append(layer)
        changes.append(WeightChange(name, level, *answers))
    first = to_numpy(reference.last.source)
    return Observation(float(before.mean()), tuple(changes), first, tuple(layers))


def _compared(
    config: RunConfig, reference: Representation, layers: Mapping[str, Representation]
) -> tuple[Differences, Differences, dict[str, str]]:
    """Return the differences by all measures, the drifts of the paper, and why some are missing."""
    differences, reasons = _differences(config, config.measures, reference, layers)
    first, *others = (Representation(unit(rows(x))) for x in (reference, *layers.values()))
    chosen = [m for m in config.measures if m.spec in DRIFTS]
    drifts = _differences(config, chosen, first, dict(zip(layers, others)))[0] if chosen else {}
    return (
        differences,
        {spec: v / AS_IN_PAPER.get(spec, 1.0) for spec, v in drifts.items()},
        reasons,
    )


def _differences(
    config: RunConfig,
    measures: Sequence[Measure],
    reference: Representation,
    layers: Mapping[str, Representation],
) -> tuple[Differences, dict[str, str]]:
    comparison = compare(
        {"reference": reference}, layers, measures=measures, memory=config.memory, progress=False
    )
    reasons = {f"{f.measure}, {f.y}": f.reason for f in comparison.failures}
    return {m.spec: trimmed(comparison.difference(m.spec)[0]) for m in comparison.measures}, reasons


def _at(differences: Differences, position: int) -> dict[str, float | None]:
    return {spec: known(values[position]) for spec, values in differences.items()}


def _seen(recipe: Recipe, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the last layer and the outputs of a model with these weights on the inputs of the
    benchmark."""
    extraction = extract(recipe, state)
    layers = next(iter(extraction.layers.values()))
    return list(layers.values())[-1], extraction.outputs


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    models = disturbed_models(done)
    reasons = absent_of(config) | {
        f"{part['model']}: {what}": why
        for part, value in done
        for what, why in value["reasons"].items()
    }
    section = conclude(config.measures, models, reasons)
    return section._replace(claims=claims_of(config, section.name, models))


CANARY = Experiment("canary", _parts, _compute, _conclude, plain_models, version=2)
