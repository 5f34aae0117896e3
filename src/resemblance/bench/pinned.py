"""Feature packs: store the features of a finished study as a pack, and read the tasks of a pack.

A suite has two functions for packs. ``write_pack`` writes the features and the expected differences
into the folder of a pack. ``read_pack`` reads the inputs of the tasks from a pack.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.json_files import DAMAGED_FILE_ERRORS, decode_record, read_document
from ..base.rng import generator
from ..catalogue import get_measures
from ..models.model_folder import TRAITS_FILE
from ..models.recipe import Recipe
from ..sections.result import Result
from . import SUITES, load_suite
from .case import Case, task_name
from .packs import Manifest, Pack, write_pack
from .packs.archive import PACK_SUFFIX
from .reliability import RELIABILITY, is_reliable
from .scoring import score
from .study import purpose
from .study_models import model_folder

if TYPE_CHECKING:
    from .suite import Suite

LayersByPooling = Mapping[str, list[str]]  # by pooling, layer names in network order
PACK_MODELS_FOLDER = "models"  # models in the folder of a pack, read by `read_models`
MIN_PACK_SAMPLES = 20


# A task belongs to a pack if at least one of these measures has a score in the task.
TASK_CHECK_MEASURES = ("cka", "procrustes", "jaccard", "rsa")


class FrozenFeatures(NamedTuple):
    """The content of a pack, for the suite of the pack.

    ``folder``: the unpacked content. ``facts``: stored by the suite. ``identity``: "NAME@VERSION",
    the name of the pack in a study. ``manifest``: the SHA-256 of the manifest.
    """

    folder: Path
    facts: Mapping[str, Any]
    identity: str
    manifest: str = ""

    def named(self, result: Result) -> Result:
        """Return a new result of a run on this pack, with the name of the pack as the size, and the
        pack in the provenance."""
        provenance = {"pack": self.identity, "manifest": self.manifest}
        return replace(result, size=self.identity, provenance=provenance | dict(result.provenance))


class Reduction(NamedTuple):
    """How a pack is smaller than its study.

    ``samples``: the number of samples to keep, the same samples for all models of a data set; None
    for all. ``half``: store arrays in half precision.
    """

    samples: int | None = None
    half: bool = False

    def rows(self, dataset: str, n: int) -> np.ndarray:
        """Return the sorted indices of the samples to keep, out of n samples of the data set called
        ``dataset``; equal for all arrays of a data set."""
        if self.samples is None or self.samples >= n:
            return np.arange(n)
        g = generator(0, "pack", dataset)
        return np.sort(g.permutation(n)[: self.samples])

    def array(self, values: np.ndarray, dataset: str) -> np.ndarray:
        """Return the kept rows of ``values``, (n, ...), of the data set called ``dataset``; in half
        precision if the pack uses half precision and the array holds floating-point numbers."""
        subset: np.ndarray = values[self.rows(dataset, len(values))]
        if self.half and subset.dtype.kind == "f":
            subset = subset.astype(np.float16)
        return subset


class PackTask(NamedTuple):
    """A task of a pack.

    ``cell``: the name, with slashes between words. ``parts``: the number of parts if measures are
    ranked by part, else 0. ``models``: the models behind the task.
    """

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
    """Write the features of a finished study as a pack; return the path of the archive, and the
    manifest.

    ``study``: the folder of the study. ``target``: a folder, or a file name that ends in
    ``.tar.xz``. ``name``: by default the suite and the size of the study. ``max_samples``: the
    number of samples per model, by default all. ``half``: store arrays in half precision.

    Raises ``ValueError`` for a folder that is not a finished study of trained models, a suite
    without packs, and fewer than 20 samples.
    """
    study_purpose = purpose(study)
    if study_purpose.models is not None:
        raise ValueError(f"{study} has models that were not trained for a size of the suite")
    if max_samples is not None and max_samples < MIN_PACK_SAMPLES:
        raise ValueError(
            f"a pack needs at least {MIN_PACK_SAMPLES} samples of every model; got {max_samples}"
        )
    write = load_suite(study_purpose.suite).write_pack
    if write is None:
        raise ValueError(f"studies of {study_purpose.suite} cannot be packed")
    reduction = Reduction(max_samples, half)
    with tempfile.TemporaryDirectory() as temporary:
        content = Path(temporary) / "content"
        content.mkdir()
        facts = write(Path(study), content, reduction)
        features = FrozenFeatures(content, facts, "pack")
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


def pack_tasks(pack: Pack) -> tuple[PackTask, ...]:
    """Return the tasks of a pack; ``ValueError`` if the manifest lists no tasks."""
    try:
        cells: tuple[PackTask, ...] = decode_record(
            tuple[PackTask, ...], pack.manifest.facts["cells"]
        )
    except DAMAGED_FILE_ERRORS as error:
        raise ValueError(
            f"{pack.manifest.identity} does not list the tasks in which measures are ranked; build "
            "the pack again with resemblance pack build"
        ) from error
    return cells


def pack_content(pack: Pack) -> FrozenFeatures:
    """Return the content of a pack for its suite."""
    manifest = pack.manifest
    return FrozenFeatures(pack.folder, manifest.facts, manifest.identity, manifest.sha256)


def pack_cases(pack: Pack) -> list[Case]:
    """Return the tasks of a pack as cases, without tasks whose expected differences do not repeat
    on other inputs."""
    return _ranked_cases(load_suite(pack.manifest.suite), pack_content(pack))


def _ranked_cases(suite: Suite, features: FrozenFeatures) -> list[Case]:
    """Return the tasks of a pack, as cases, whose expected differences repeat on other inputs."""
    assert suite.read_pack is not None
    inputs = suite.read_pack(features)
    return [case for case in suite.tasks(inputs) if is_reliable(case.reliability)]


def tasks_with_scores(suite: str, features: FrozenFeatures) -> Iterator[PackTask]:
    """Yield the tasks of a pack with a score for at least one of ``TASK_CHECK_MEASURES``.
    ``suite``: the name. ``features``: the content of the pack."""
    cases = _ranked_cases(load_suite(suite), features)
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

    ``plan``: the recipes of the models. ``reliabilities``: by the name of a task; None, left out,
    if the expected differences do not depend on inputs.
    """
    return {
        "size": size,
        "recipes": {r.name: r.fingerprint for r in plan},
        RELIABILITY: {cell: value for cell, value in reliabilities.items() if value is not None},
    }


def layers_by_pooling(traits: Mapping[str, Any]) -> LayersByPooling:
    """Return the names of all layers of a model, by pooling. ``traits``: of the model."""
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

    ``study``: the folder of the study. ``pack``: the folder with the content of the pack.
    ``reduction``: the samples to keep, and the precision. ``layers_of``: maps the traits to the
    names of the layers to keep, by pooling. ``extra``: additional traits. Accuracies stay the
    accuracies on all samples.

    Raises ``ValueError`` for a model that the study lacks.
    """
    source, target = model_folder(study, recipe), pack / PACK_MODELS_FOLDER / recipe.name
    if not (source / TRAITS_FILE).exists():
        raise ValueError(
            f"{study} lacks the model {recipe.name}; finish the study before you pack the features"
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
