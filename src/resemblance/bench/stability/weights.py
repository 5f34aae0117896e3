"""The canary: do measures warn before a model with perturbed weights loses accuracy?

After Raju 2026, Section 10. Weights receive noise, fewer bits or a random adapter. The last layer
after the perturbation is compared with the last layer before. Studies and packs store the layers as
arrays, so that nothing is computed twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from resemblance.base.arrays import to_numpy
from resemblance.base.json_files import atomic_write, decode_record, read_document, write_atomically
from resemblance.data.representation import Representation
from resemblance.engine.workers import WorkerCall, run_calls, single_threaded
from resemblance.models.model_folder import read_model
from resemblance.models.recipe import Recipe

from ..case import Case, Part, task_name
from ..grounding import Rule, by_reference, spearman
from ..pinned import Reduction
from ..reliability import reliability
from ..study import StageProgress, append_to_log
from ..study_models import model_folder, train_plan
from ..training import extract
from ..training.loop import WeightsByName
from .alarms import (
    DETECTED_LOSSES,
    MIN_COPIES_PER_CLASS,
    PERTURBATION_KINDS,
    loss_detection_auc,
    round_to_ten_digits,
)
from .models import domain_and_architecture, plain_models
from .perturbed import add_low_rank_adapters, add_weight_noise, quantize_weights, shuffle_weights

# The index exists only in packs, the folder in packs and studies.
COPIES_INDEX_FILE, COPIES_FOLDER = "canary.json", "canary"
COPIES_VERSION = 1  # raise the version when the arrays of a part change
UNCHANGED_NAME = "unchanged"
TRACKING_RULE = Rule(by_reference, spearman, is_complete=True, rounded=round_to_ten_digits)
LOSS_DETECTION_RULE = TRACKING_RULE._replace(quality=loss_detection_auc)


class PerturbationLevels(NamedTuple):
    """The levels of perturbations: noise levels α, numbers of bits, adapters (rank, scale), and
    number of shuffles."""

    noise: tuple[float, ...]
    bits: tuple[int, ...]
    adapters: tuple[tuple[int, float], ...]
    shuffles: int


_ADAPTER_LEVELS = (
    *((r, 0.01) for r in (1, 2, 4, 8, 16, 32, 64)),
    *((8, s) for s in (0.001, 0.005, 0.02, 0.05, 0.1)),
)
LEVELS_BY_SIZE: Mapping[str, PerturbationLevels] = {
    "small": PerturbationLevels((0.0, 0.1, 0.3, 0.5), (8, 4, 2), ((2, 0.01), (8, 0.1)), 1),
    "default": PerturbationLevels(
        tuple(k / 32 for k in range(17)), (8, 7, 6, 5, 4, 3, 2), _ADAPTER_LEVELS, 3
    ),
    "paper": PerturbationLevels(
        tuple(k / 100 for k in range(51)), (8, 7, 6, 5, 4, 3, 2), _ADAPTER_LEVELS, 3
    ),
}
PerturbationSpec = Mapping[str, Any]  # model and fingerprint of its recipe, kind, draw, levels


class WeightChange(NamedTuple):
    """A change of weights and its effect.

    ``name``, ``level``: the strength in words and as a number. ``accuracy``: after the change.
    ``lost``, ``gained``: the numbers of lost and gained correct answers.
    """

    name: str
    level: float
    accuracy: float
    lost: int
    gained: int


class PerturbationOutcome(NamedTuple):
    """A model before and after the changes of a part.

    ``part``: the model and its perturbations. ``accuracy``: before the changes. ``reference``: the
    last layer as stored after training, (n_samples, n_features). ``layers``: the last layer
    recomputed with unchanged weights, then after every change. ``losses``: (n_changes, n_inputs), 1
    for a lost correct answer and -1 for a gained correct answer; None in packs.
    """

    part: PerturbationSpec
    accuracy: float
    changes: tuple[WeightChange, ...]
    reference: np.ndarray
    layers: tuple[np.ndarray, ...]
    losses: np.ndarray | None = None


# ----------------------------------------------------------------------------- what weights become


def planned_perturbations(size: str) -> list[tuple[Recipe, PerturbationSpec]]:
    """Return the perturbations of all models in a benchmark of a size ("small", "default" or
    "paper"), each with the recipe of the model."""
    levels = LEVELS_BY_SIZE[size]
    plan: list[tuple[str, int, Any]] = [
        ("noise", 0, levels.noise),
        ("noise", 1, levels.noise),
        ("rounding", 0, levels.bits),
        ("adapters", 0, [list(pair) for pair in levels.adapters]),
        ("shuffled", 0, range(levels.shuffles)),
    ]
    return [
        (
            recipe,
            {
                **{"model": recipe.name, "recipe": recipe.fingerprint},
                **{"kind": kind, "draw": draw, "levels": list(values)},
            },
        )
        for recipe in plain_models(size)
        for kind, draw, values in plan
    ]


def _perturb_weights(
    part: PerturbationSpec, state: WeightsByName
) -> Iterator[tuple[str, float, WeightsByName]]:
    """Yield a name, the level (the amount of the perturbation), and the changed weights for every
    perturbation of a part. ``state``: the weights of the model, by name; not changed."""
    labels = (0, "canary", part["model"])  # labels of the random generator
    for level in part["levels"]:
        if part["kind"] == "noise":
            yield f"{level:g}", level, add_weight_noise(state, level, *labels, part["draw"])
        elif part["kind"] == "rounding":
            yield f"{level} bits", level, quantize_weights(state, level)
        elif part["kind"] == "adapters":
            rank, scale = level
            yield (
                f"rank {rank}, scale {scale:g}",
                scale,
                add_low_rank_adapters(state, rank, scale, *labels),
            )
        else:
            yield f"shuffle {level}", level, shuffle_weights(state, *labels, level)


def perturb_and_observe(
    folder: Path, recipe: Recipe, part: PerturbationSpec
) -> PerturbationOutcome:
    """Return the last layer and the answers of a trained model after every change of its weights.
    ``folder``: of the study with the model."""
    model = model_folder(folder, recipe)
    features = read_model(model)[0]
    with np.load(model / "weights.npz", allow_pickle=False) as arrays:
        state = dict(arrays)
    assert features.outputs is not None
    right = features.outputs.argmax(axis=1) == features.labels
    layers, changes, losses = [_outputs_with_weights(recipe, state)[0]], list[WeightChange](), []
    for name, level, weights in _perturb_weights(part, state):
        layer, outputs = _outputs_with_weights(recipe, weights)
        is_right = outputs.argmax(axis=1) == features.labels
        loss = right.astype(int) - is_right
        layers.append(layer)
        losses.append(loss)
        answers = float(is_right.mean()), int((loss > 0).sum()), int((loss < 0).sum())
        changes.append(WeightChange(name, level, *answers))
    reference, accuracy = to_numpy(features.last.source), float(right.mean())
    return PerturbationOutcome(
        part, accuracy, tuple(changes), reference, tuple(layers), np.array(losses)
    )


def _outputs_with_weights(recipe: Recipe, state: WeightsByName) -> tuple[np.ndarray, np.ndarray]:
    """Run the benchmark inputs through a model with the weights ``state``, by name; return the last
    layer (n, features) and the outputs (n, classes)."""
    extraction = extract(recipe, state)
    layers = next(iter(extraction.layers.values()))
    return list(layers.values())[-1], extraction.outputs


# ------------------------------------------------------------------------------- studies and packs


def prepare(
    folder: Path, size: str, executor: Executor | None, progress: StageProgress
) -> list[PerturbationOutcome]:
    """Train and perturb the models of a size, as far as the study in ``folder`` lacks them, and
    return the outcomes. ``progress`` is called with ("training" or "disturbing", done, total)."""
    plan = {
        _arrays_file(folder, part): (recipe, part) for recipe, part in planned_perturbations(size)
    }
    train_plan(folder, list({r.name: r for r, _ in plan.values()}.values()), executor, progress)
    (folder / COPIES_FOLDER).mkdir(exist_ok=True)
    missing = {file: entry for file, entry in plan.items() if _read_outcome(file, entry[1]) is None}
    calls = [
        WorkerCall(_spec_title(entry[1]), _perturb_and_save, (folder, *entry))
        for entry in missing.values()
    ]
    done = len(plan) - len(missing)
    progress("disturbing", done, len(plan))
    for _, future in run_calls(calls, executor, partial(append_to_log, folder)):
        future.result()
        done += 1
        progress("disturbing", done, len(plan))
    return list(stored_outcomes(folder, size))


def stored_outcomes(folder: Path, size: str) -> Iterator[PerturbationOutcome]:
    """Yield the stored outcomes of the study in ``folder``, in the order of the plan of a size;
    ``ValueError`` for a missing part."""
    for _, part in planned_perturbations(size):
        outcome = _read_outcome(_arrays_file(folder, part), part)
        if outcome is None:
            raise ValueError(f"{folder} lacks the {_spec_title(part)}: finish the study first")
        yield outcome


def _spec_title(part: PerturbationSpec) -> str:
    return f"{part['model']} after {part['kind']}, draw {part['draw']}"


def _arrays_file(folder: Path, part: PerturbationSpec) -> Path:
    """Return the file for the arrays of a part in a study; the JSON file of the same name describes
    the arrays."""
    key = json.dumps([COPIES_VERSION, part], sort_keys=True, allow_nan=False)
    return folder / COPIES_FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npy"


def _perturb_and_save(folder: Path, recipe: Recipe, part: PerturbationSpec) -> None:
    """Perturb a model of the study in ``folder`` and save the outcome: first the arrays, then the
    description."""
    with single_threaded():
        outcome = perturb_and_observe(folder, recipe, part)
    file = _arrays_file(folder, part)
    with atomic_write(file) as partial_file, partial_file.open("wb") as stream:
        np.save(stream, np.stack([outcome.reference, *outcome.layers]))
    assert outcome.losses is not None
    entry = {**_outcome_entry(outcome), "losses": outcome.losses.tolist()}
    write_atomically(file.with_suffix(".json"), json.dumps(entry, allow_nan=False))


def _read_outcome(file: Path, part: PerturbationSpec) -> PerturbationOutcome | None:
    """Read the stored outcome of a part from the arrays in ``file`` and the description beside
    them; None if the files are missing, damaged, or belong to another part."""
    try:
        entry = read_document(file.with_suffix(".json"), dict, "what becomes of disturbed models")
        outcome = _parse_outcome(entry, np.load(file, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError):
        return None
    return outcome if outcome.part == json.loads(json.dumps(part)) else None


def _outcome_entry(outcome: PerturbationOutcome) -> dict[str, Any]:
    changes = [list(change) for change in outcome.changes]
    return {"part": dict(outcome.part), "accuracy": outcome.accuracy, "changes": changes}


def _parse_outcome(entry: Mapping[str, Any], arrays: np.ndarray) -> PerturbationOutcome:
    changes = decode_record(tuple[WeightChange, ...], entry["changes"])
    losses = np.array(entry["losses"]) if "losses" in entry else None
    return PerturbationOutcome(
        entry["part"], entry["accuracy"], changes, arrays[0], tuple(arrays[1:]), losses
    )


def write_copies_to_pack(
    pack: Path, outcomes: Sequence[PerturbationOutcome], reduction: Reduction
) -> None:
    """Write the arrays of all outcomes and their index into the folder of a pack. ``reduction``:
    the samples to keep, and the precision."""
    (pack / COPIES_FOLDER).mkdir()
    for number, outcome in enumerate(outcomes):
        dataset = outcome.part["model"].split("/")[1]
        arrays = [reduction.array(a, dataset) for a in (outcome.reference, *outcome.layers)]
        np.save(pack / COPIES_FOLDER / f"{number}.npy", np.stack(arrays))
    text = json.dumps(list(map(_outcome_entry, outcomes)), indent=1)
    (pack / COPIES_INDEX_FILE).write_text(text + "\n", encoding="utf-8")


def read_copies_from_pack(pack: Path) -> Iterator[PerturbationOutcome]:
    """Yield the outcomes in the folder of a pack, in the order of the index."""
    for number, entry in enumerate(
        read_document(pack / COPIES_INDEX_FILE, list, "the index of a pack")
    ):
        yield _parse_outcome(
            entry, np.load(pack / COPIES_FOLDER / f"{number}.npy", allow_pickle=False)
        )


# ------------------------------------------------------------------------------------------- cases


def outcome_as_part(outcome: PerturbationOutcome) -> Part:
    """Return the comparison of a model with itself ("unchanged") and with its perturbed copies,
    without expectation."""
    names = (UNCHANGED_NAME, *(change.name for change in outcome.changes))
    columns = {n: Representation(layer, n) for n, layer in zip(names, outcome.layers, strict=True)}
    model = outcome.part["model"]
    return Part({"before": Representation(outcome.reference, "before")}, None, columns, model)


def cases_of_copies(
    outcomes: Sequence[PerturbationOutcome],
    parts: Sequence[Part],
    reliabilities: Mapping[str, float] | None = None,
) -> list[Case]:
    """Return the tasks: for every architecture, the kinds of perturbation with some loss of
    accuracy.

    ``outcomes``: the perturbations of all models. ``parts``: the comparisons of the outcomes, in
    the same order. A task has a single quality, so that the same copies do not count twice. The
    quality is the area under the ROC curve if enough copies lost more than two points and enough
    copies did not; otherwise Spearman's correlation. ``reliabilities``: by task name, for models
    without stored answers.
    """
    draws = defaultdict[tuple[str, str], list[tuple[PerturbationOutcome, Part]]](list)
    for outcome, part in zip(outcomes, parts, strict=True):
        draws[outcome.part["model"], outcome.part["kind"]].append((outcome, part))
    cases = list[Case]()
    for models, kind in product(
        dict.fromkeys(domain_and_architecture(model) for model, _ in draws), PERTURBATION_KINDS
    ):
        kind_draws = [
            pairs
            for (m, k), pairs in draws.items()
            if (domain_and_architecture(m), k) == (models, kind)
        ]
        cases += _copies_case(models, kind, list(map(_pool_draws, kind_draws)), reliabilities or {})
    return cases


def _pool_draws(
    draws: Sequence[tuple[PerturbationOutcome, Part]],
) -> tuple[Part, np.ndarray | None]:
    """Pool the draws of a kind of perturbation of a model: return a part with all perturbed copies
    and their losses of accuracy, and the losses by input, (copies, inputs); None for the losses if
    unknown.

    The weight of the part is the number of pairs of a copy with a loss above two points and a copy
    without.
    """
    copies, losses, counts = dict[str, Representation](), list[float](), list[int]()
    by_input = list[np.ndarray]()
    for draw, (outcome, part) in enumerate(draws):
        layers = list((part.columns or {}).values())[1:]
        indices = [i for i, change in enumerate(outcome.changes) if change.level > 0]
        copies |= {f"{outcome.changes[i].name}, draw {draw}": layers[i] for i in indices}
        losses += [round(outcome.accuracy - outcome.changes[i].accuracy, 12) for i in indices]
        by_input += [] if outcome.losses is None else [outcome.losses[indices]]
        counts.append(len(indices))
    all_losses, (first_outcome, first_part) = np.array(losses), draws[0]
    n_harmed = int((all_losses > DETECTED_LOSSES[1]).sum())
    weight = float(n_harmed * (len(all_losses) - n_harmed))
    part = Part(
        first_part.rows,
        all_losses,
        copies,
        first_outcome.part["model"],
        weight,
        draws=tuple(counts),
    )
    return part, np.concatenate(by_input) if len(by_input) == len(draws) else None


def _copies_case(
    models: str,
    kind: str,
    pairs: Sequence[tuple[Part, np.ndarray | None]],
    reliabilities: Mapping[str, float],
) -> list[Case]:
    """Return the task for an architecture and a kind of perturbation, in a list; [] without a loss
    of accuracy.

    ``models``: domain and architecture, "vision/resnet". ``pairs``: of every model, from
    :func:`_pool_draws`. ``reliabilities``: by task name, for models without stored answers.
    """
    domain, architecture = models.split("/")
    weighted_pairs = [(part, losses) for part, losses in pairs if part.weight]
    n_harmed = sum(int((part.expected > DETECTED_LOSSES[1]).sum()) for part, _ in weighted_pairs)
    n_others = sum(len(part.expected) for part, _ in weighted_pairs) - n_harmed
    is_area = min(n_harmed, n_others) >= MIN_COPIES_PER_CLASS
    selection = weighted_pairs
    if not is_area:
        selection = [
            (part._replace(weight=1.0), values)
            for part, values in pairs
            if np.ptp(part.expected) > 0
        ]
    if not selection:
        return []
    cell = (domain, f"{architecture}, {kind}: {'AUC' if is_area else 'Spearman'}")
    repeats = _copies_reliability(selection, is_area)
    repeats = reliabilities.get(task_name(cell)) if repeats is None else repeats
    parts = tuple(part for part, _ in selection)
    rule = LOSS_DETECTION_RULE if is_area else TRACKING_RULE
    return [Case("canary", cell, rule, parts, models, reliability=repeats)]


def _copies_reliability(
    pairs: Sequence[tuple[Part, np.ndarray | None]], is_area: bool
) -> float | None:
    """Return the reliability of the expected losses, at most 1: of the loss exceeding two points if
    ``is_area``, otherwise of the loss of accuracy. The result is the mean over models, with the
    weights of their parts; None if unknown for all.

    ``pairs``: per model, the part and the losses by input, (copies, inputs), or None.
    """
    expected = (lambda loss: (loss > DETECTED_LOSSES[1]).astype(float)) if is_area else np.asarray
    weighted_values = list[tuple[float, float]]()
    for part, losses in pairs:
        if losses is not None and (value := reliability(losses, expected)) is not None:
            weighted_values.append((value, part.weight))
    if not weighted_values:
        return None
    values, weights = zip(*weighted_values)
    return float(np.average(values, weights=weights))
