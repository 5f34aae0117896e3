"""Feature packs: store the features of a finished study as a pack, and run every suite on packs.

The module ``suite`` of every suite has three functions for packs. ``pin`` writes the features and
the expected differences into the folder of a pack. ``cases_of`` reads a pack as tasks.
``run_pinned`` runs the suite on a pack.
"""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.json_files import DAMAGED_FILE_ERRORS, decode_record, read_document
from ..base.rng import generator
from ..base.text import check_choice
from ..catalogue import get_measures
from ..contracts._measure import Measure
from ..models.model_folder import TRAITS_FILE
from ..models.recipe import Recipe
from ..sections.result import Result
from . import SUITES
from .case import Case, task_name
from .packs import Manifest, Pack, write_pack
from .packs.archive import PACK_SUFFIX
from .reliability import RELIABILITY
from .scoring import score
from .study import StageProgress, purpose
from .study_models import model_folder

LayersByPooling = Mapping[str, list[str]]  # by pooling, layer names in network order
PACK_MODELS_FOLDER = "models"  # models in the folder of a pack, read by `read_models`
MIN_PACK_SAMPLES = 20


# A task belongs to a pack if at least one of these measures has a score in the task.
TASK_CHECK_MEASURES = ("cka", "procrustes", "jaccard", "rsa")


class FrozenFeatures(NamedTuple):
    """The content of a pack, for the suite of the pack.

    The folder, the facts that the suite stored, the name of the pack in a study, and the SHA-256 of
    the manifest. ``with_intervals``: a run also computes intervals and p-values of single
    experiments; scores do not depend on intervals and p-values.
    """

    folder: Path
    facts: Mapping[str, Any]
    identity: str
    manifest: str = ""
    with_intervals: bool = True

    def named(self, result: Result) -> Result:
        """Return the result of a run on this pack, with the name of the pack as the size."""
        provenance = {"pack": self.identity, "manifest": self.manifest}
        return replace(result, size=self.identity, provenance=provenance | dict(result.provenance))


class Reduction(NamedTuple):
    """How a pack is smaller than its study: a subsample, the same for all models of a data set, and
    arrays in half precision."""

    samples: int | None = None
    half: bool = False

    def rows(self, dataset: str, n: int) -> np.ndarray:
        """Return the sorted indices of the samples to keep, out of n samples of a data set."""
        if self.samples is None or self.samples >= n:
            return np.arange(n)
        g = generator(0, "pack", dataset)
        return np.sort(g.permutation(n)[: self.samples])

    def array(self, values: np.ndarray, dataset: str) -> np.ndarray:
        """Return the kept rows of an array, in half precision if the pack uses half precision."""
        subset: np.ndarray = values[self.rows(dataset, len(values))]
        if self.half and subset.dtype.kind == "f":
            subset = subset.astype(np.float16)
        return subset


class PackTask(NamedTuple):
    """A task of a pack: test, name, number of parts, and the models that define the stratum of the
    task in the bootstrap."""

    test: str
    cell: str
    parts: int = 0
    models: str = ""


def build_pack(
    study: str | Path,
    target: str | Path,
    *,
    name: str | None = None,
    version: int = 1,
    max_samples: int | None = None,
    half: bool = False,
) -> tuple[Path, Manifest]:
    """Write the features of a finished study as a pack; return the archive and the manifest.

    ``target``: a folder, or a file name that ends in ``.tar.xz``. ``name``: by default the suite
    and the size of the study. ``max_samples``: the number of samples per model, by default all.
    ``half``: store arrays in half precision.

    Raises ``ValueError`` for a folder that is not a finished study of trained models.
    """
    study_purpose = purpose(study)
    if study_purpose.models is not None:
        raise ValueError(f"{study} is of models that were not trained for a size of the suite")
    if max_samples is not None and max_samples < MIN_PACK_SAMPLES:
        raise ValueError(
            f"a pack needs at least {MIN_PACK_SAMPLES} samples of every model; got {max_samples}"
        )
    reduction = Reduction(max_samples, half)
    with tempfile.TemporaryDirectory() as temporary:
        content = Path(temporary) / "content"
        content.mkdir()
        facts = _suite_module(study_purpose.suite).pin(Path(study), content, reduction)
        features = FrozenFeatures(content, facts, "pack", with_intervals=False)
        facts["cells"] = [list(cell) for cell in tasks_with_scores(study_purpose.suite, features)]
        facts["reduction"] = {k: v for k, v in reduction._asdict().items() if v}
        manifest = write_pack(
            content,
            Path(target),
            name=name or f"{study_purpose.suite}-{study_purpose.size}",
            version=version,
            suite=study_purpose.suite,
            about=_describe_pack(
                study_purpose.suite, study_purpose.size, facts.pop("content", ""), reduction
            ),
            facts=facts,
        )
    place = Path(target)
    is_archive = place.name.endswith(PACK_SUFFIX)
    return place if is_archive else place / f"{manifest.identity}{PACK_SUFFIX}", manifest


def _describe_pack(suite: str, size: str, content: str, reduction: Reduction) -> str:
    samples_note = f"{reduction.samples} samples of each model" if reduction.samples else ""
    precision = "half precision" if reduction.half else ""
    parts = [SUITES[suite], f"size {size}", content or samples_note, precision]
    return ", ".join(filter(None, parts))


def run_pack(
    pack: Pack,
    folder: str | Path | None = None,
    *,
    measures: Iterable[str | Measure] | None = None,
    executor: Executor | None = None,
    memory: int | str = "half",
    progress: StageProgress | None = None,
    with_intervals: bool = True,
) -> Result:
    """Run measures on a pack with the suite of the pack, or continue a run in a folder.

    Nothing is trained, and PyTorch is not needed. The size of the result is the name of the pack,
    ``NAME@VERSION``. ``measures``: by default :func:`resemblance.preset` ``"default"``.
    ``with_intervals``: also compute intervals and p-values of single experiments; scores do not
    depend on intervals and p-values. ``executor``: of ``concurrent.futures``; by default this
    process computes. ``folder``: the folder of the study.

    Raises ``ValueError`` if the folder holds a study of something else.
    """
    selection = get_measures(("default",) if measures is None else measures)
    features = pack_content(pack, with_intervals)
    place = None if folder is None else Path(folder)
    options = {"executor": executor, "memory": memory, "progress": progress}
    result: Result = _suite_module(pack.manifest.suite).run_pinned(
        features, selection, place, **options
    )
    return result


def pack_tasks(pack: Pack) -> tuple[PackTask, ...]:
    """Return the tasks of a pack; ``ValueError`` if the manifest lists no tasks."""
    try:
        cells: tuple[PackTask, ...] = decode_record(
            tuple[PackTask, ...], pack.manifest.facts["cells"]
        )
    except DAMAGED_FILE_ERRORS as error:
        raise ValueError(
            f"{pack.manifest.identity} does not name the cells in which it ranks measures: build "
            "it with resemblance pack build"
        ) from error
    return cells


def pack_content(pack: Pack, with_intervals: bool = True) -> FrozenFeatures:
    """Return the content of a pack for its suite."""
    manifest = pack.manifest
    return FrozenFeatures(
        pack.folder, manifest.facts, manifest.identity, manifest.sha256, with_intervals
    )


def pack_cases(pack: Pack) -> list[Case]:
    """Return the tasks of a pack as cases."""
    cases: list[Case] = _suite_module(pack.manifest.suite).cases_of(pack_content(pack))
    return cases


def _suite_module(suite: str) -> Any:
    check_choice("suite", suite, SUITES)
    return importlib.import_module(f"{__package__}.{suite}.suite")


def tasks_with_scores(suite: str, features: FrozenFeatures) -> Iterator[PackTask]:
    """Yield the tasks of a pack with a score for at least one of ``TASK_CHECK_MEASURES``."""
    cases = _suite_module(suite).cases_of(features)
    keys = {
        (row.test, row.cell)
        for row in score(cases, get_measures(TASK_CHECK_MEASURES))
        if not np.isnan(row.value)
    }
    for case in cases:
        if (case.test, case.cell) in keys:
            parts = len(case.parts) if case.is_by_part and len(case.parts) > 1 else 0
            yield PackTask(case.test, task_name(case.cell), parts, case.models)


# ------------------------------------------------------------------------- copies of trained models


def pack_facts(
    size: str, plan: Iterable[Recipe], reliabilities: Mapping[str, float | None]
) -> dict[str, Any]:
    """Return the facts about trained models for a pack: size, recipe fingerprints, reliabilities.

    ``reliabilities``: by task; None if the expected differences do not depend on inputs.
    """
    return {
        "size": size,
        "recipes": {r.name: r.fingerprint for r in plan},
        RELIABILITY: {cell: value for cell, value in reliabilities.items() if value is not None},
    }


def layers_by_pooling(traits: Mapping[str, Any]) -> LayersByPooling:
    """Return all layers of a model, by pooling."""
    return dict(traits["layers"])


def copy_model_to_pack(
    study: Path,
    recipe: Recipe,
    pack: Path,
    reduction: Reduction,
    layers_of: Callable[[Mapping[str, Any]], LayersByPooling] = layers_by_pooling,
    **extra: Any,
) -> None:
    """Copy a trained model into a pack, without weights and records.

    ``layers_of``: selects the layers to keep, given the traits. ``extra``: additional traits.
    Accuracies stay the accuracies on all samples.

    Raises ``ValueError`` for a model that the study lacks.
    """
    source, target = model_folder(study, recipe), pack / PACK_MODELS_FOLDER / recipe.name
    if not (source / TRAITS_FILE).exists():
        raise ValueError(
            f"{study} lacks the model {recipe.name}: finish the study before packing it"
        )
    traits = read_document(source / TRAITS_FILE, dict, "an object of traits")
    layers = layers_of(traits)
    target.mkdir(parents=True)
    names = [
        f"{pooling}.{layer}" for pooling, pooled_layers in layers.items() for layer in pooled_layers
    ]
    for name in (*names, "outputs", "labels"):
        values = np.load(source / f"{name}.npy", allow_pickle=False)
        np.save(target / f"{name}.npy", reduction.array(values, recipe.dataset))
    traits.pop("files", None)
    text = json.dumps({**traits, **extra, "layers": layers}, indent=1)
    (target / TRAITS_FILE).write_text(text + "\n", encoding="utf-8")
