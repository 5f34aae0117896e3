"""Two models to an answer: their layers for the same samples, extracted and compared."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .compare import compare
from .comparison import Comparison, describe
from .measure import Measure
from .progress import Progress
from .sources.extraction import extract
from .sources.models import LoadedModel, Samples, load_model, load_samples
from .store import Store
from .subject import Subject

# One of each view of similarity, cheap enough for all layers of large models
MEASURES = ("cka[estimator=debiased]", "procrustes", "rsa", "mutual_knn")
SCORES = "scores.comparison"
LONGEST, CUT = 200, 40  # bytes of the name of a folder, and letters of one that is cut


def compare_models(
    a: Any,
    b: Any,
    data: Any,
    *,
    more: Sequence[Any] = (),
    layers: str | Sequence[str] = "blocks",
    pool: str | None = None,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    batch_size: int = 32,
    device: str | None = None,
    save: str | Path | None = None,
    progress: Progress = True,
) -> Comparison:
    """Run two models, or more, over the same samples and compare all their layers.

    Parameters
    ----------
    a, b : models, in any of the forms of :func:`extract_features`; a pair ``("name", model)`` names
        one. Models of one name are numbered.
    data : samples, in any of the forms of :func:`extract_features`.
    more : further models.
    layers, pool, batch_size, device : as in :func:`extract_features`, of all models.
    measures : as in :func:`compare`. Default: debiased CKA, Procrustes, RSA and mutual nearest
        neighbours; ``"default"`` are 24.
    save : folder that keeps the features, in a folder for each model, and the scores. A later call
        with the same folder computes only what it lacks: after an interruption, for more layers or
        measures, or for a further model. Without it the features are temporary files.
    progress : as in :func:`compare`.

    Returns
    -------
    :class:`Comparison` of all pairs of layers, called ``model/layer``. Its ``provenance`` has
    ``"models"``: what each model is and how its layers were pooled, and ``"data"``.

    Raises ``ValueError`` as :func:`extract_features` and :func:`compare` do.
    """
    options: dict[str, Any] = {"layers": layers, "pool": pool, "batch_size": batch_size}
    options |= {"device": device, "progress": progress}
    chosen = MEASURES if measures is None else measures
    with features(save) as folder:
        subjects = extract_models([a, b, *more], data, folder, **options)
        scores = None if save is None else folder / SCORES
        comparison = compare(subjects, measures=chosen, save=scores, progress=progress)
        return with_models(comparison, subjects, scores)


@contextmanager
def features(save: str | Path | None) -> Iterator[Path]:
    """Yield the folder for features: one that stays, or a temporary one."""
    if save is not None:
        Path(save).mkdir(parents=True, exist_ok=True)
        yield Path(save)
        return
    with tempfile.TemporaryDirectory(prefix="resemblance-") as folder:
        yield Path(folder)


def extract_models(
    models: Iterable[Any],
    data: Any,
    folder: Path,
    *,
    layers: str | Sequence[str] = "blocks",
    pool: str | None = None,
    batch_size: int = 32,
    device: str | None = None,
    progress: Progress = True,
) -> list[Subject]:
    """Return the layers of models for the same samples; each has a folder inside ``folder``.

    One model at a time is in memory, unless they come as modules.
    """
    samples = load_samples(data)
    names: list[str] = []
    subjects = []
    for model in models:
        loaded = _loaded(model, samples, device, names)
        names.append(loaded.name)
        place = folder / folder_of(loaded.name)
        subjects.append(extract(loaded, samples, place, layers, pool, batch_size, progress))
    return subjects


def folder_of(name: str) -> str:
    """Return the name of the folder for a model: its own, or one that can be a folder inside."""
    plain = re.sub(r"[^\w.+-]+", "-", name)
    if not plain.startswith(".") and plain != SCORES and 0 < len(plain.encode()) <= LONGEST:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain.strip('.')[:CUT] or 'model'}-{digest}"


def _loaded(model: Any, samples: Samples, device: str | None, names: Sequence[str]) -> LoadedModel:
    """Return a model with a name that is not among ``names``."""
    name = ""
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], str):
        name, model = model
        if name in names:
            raise ValueError(f"compare_models: two models are called {name!r}")
    loaded = load_model(model, name=name, device=device, samples=samples)
    number, title = 1, loaded.name
    while title in names:
        number += 1
        title = f"{loaded.name} {number}"
    return loaded._replace(name=title)


def with_models(
    comparison: Comparison, subjects: Sequence[Subject], scores: Path | None
) -> Comparison:
    """Return a comparison whose provenance has the models and the data."""
    models = {s.name: _facts(s) for s in subjects}
    provenance = dict(comparison.provenance)
    provenance |= {"models": models, "data": subjects[0].traits["data"]}
    if scores is not None:
        names = (comparison.rows, comparison.columns, comparison.measures)
        with Store(scores) as store:
            store.describe(describe(*names, provenance))
    return replace(comparison, provenance=provenance)


def _facts(subject: Subject) -> Mapping[str, Any]:
    """Return what is recorded of a model and of how its layers were made."""
    return {**subject.traits["model"], "pooling": subject.traits["pooling"]}
