"""Compare models on the same samples: extract the layers, then compare the layers."""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ..base.formatting import count_with_noun
from ..base.progress import Progress
from ..base.text import escape_control_characters
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure, MeasureArgument
from ..data.inputs import TRANSPOSED_HINT
from ..data.model_features import ModelFeatures
from ..data.representation import Representation
from ..engine._compare import compare_many
from ..engine.arguments import select_measures
from ..engine.forecast import Forecast, plan
from ..engine.inputs import ComparisonInputs
from ..engine.jobs import Jobs, open_executor
from ..engine.options import check_run_options
from ..inference._error_consistency import ErrorConsistency, error_consistency
from ..inference._evidence import evidence_from_comparison
from ..inference.exact_pairs import has_exact_moments
from ..significance.orders import DESIGN_PERMUTATIONS, design_of
from ..significance.resampling import check_confidence_level
from . import LoadedModel, Samples, first_batch, load_model, load_samples
from .extraction import DEPENDENCE_KEY, POOLING_BY_LAYER_KEY, check_batch_size, extract_loaded_model
from .loading import DEFAULT_LAYERS_KEY, make_untrained_copy, split_model_name
from .row_masks import kept_row_numbers, select_model_rows

SCORES_FILE = "scores.comparison"
POOLING_PHRASES = {  # {} is the pooled axes, such as tokens
    "mean": "mean over {}", "max": "maximum over {}", "flatten": "{} flattened",
    "cls": "first token", "first": "first token", "last": "last token",
}  # fmt: skip
SAMPLE_UNITS = {"arrays": "rows", "batches": "samples", "graph": "nodes"}
# Default names of samples without a name
GENERIC_SAMPLE_NAMES = ("array", "batches", "graph", "images", "texts")
SAMPLE_LOSS_KEYS = ("blank", "copies", "other files")  # kinds of left-out samples
CONSTANT_LAYERS_KEY = "layers left out"
MAX_COMPARED_VALUES = 2**22  # values compared at a time
REFERENCE_KEY = "reinitialized"
# Bytes of the name of a folder, and letters of a shortened name
MAX_FOLDER_NAME_BYTES, MAX_CUT_NAME_LETTERS = 200, 40


def compare_models(
    models: Mapping[str, Any] | Sequence[Any],
    data: Any,
    *,
    reinitialized: bool = False,
    column: str | None = None,
    max_samples: int | None = None,
    unique: bool = False,
    mask: Any = None,
    layers: str | Sequence[str] = "blocks",
    pool: str | Sequence[str] | Mapping[str, str] | None = None,
    measures: Iterable[MeasureArgument] | MeasureArgument | None = None,
    within: Any = None,
    whole_blocks: Any = None,
    n_permutations: int = DESIGN_PERMUTATIONS,
    confidence_level: float = 0.95,
    batch_size: int = 32,
    device: str | None = None,
    save: str | Path | None = None,
    seed: int = 0,
    jobs: Jobs = None,
    memory: int | str = "half",
    progress: Progress = True,
) -> Comparison:
    """Run two models, or more, over the same samples and compare all their layers.

    Parameters
    ----------
    models : a mapping from names to models, or a list of models, in any of the forms of
        :func:`extract_features`. Models with equal names in a list are numbered.
    data : samples, in any of the forms of :func:`extract_features`.
    reinitialized : also compare a re-initialized copy of the first model, with random weights drawn
        by ``seed``. Similarity with this copy is not an effect of training.
    column : the column of a table, or the name of an array in an archive, with the samples.
    max_samples : use only this number of samples, drawn by ``seed``, in their order.
    unique : leave out samples that equal an earlier sample. Duplicates make unrelated models
        similar.
    mask : the samples to compare: the name of a mask of a graph, such as ``"test_mask"``, n
        booleans, or numbers of rows. The models see all samples. Default: all.
    layers, pool, batch_size, device : as in :func:`extract_features`, for all models. With several
        poolings, such as ``["mean", "last"]``, a model runs once, and is compared with each
        pooling, as ``"base mean"`` and ``"base last"``.
    measures : as in :func:`compare`. Default: debiased CKA, Procrustes, RSA and mutual nearest
        neighbours; ``"default"`` means 24 measures.
    within, whole_blocks, n_permutations, confidence_level : as in :func:`evidence`. Pass labels for
        all samples, or only for the compared samples, without the samples that ``max_samples``,
        ``unique`` and ``mask`` leave out; ``"labels"`` means the classes of the data.
    save : folder for the features, in a folder per model, and for the scores. A later call with the
        same folder computes only missing values: after an interruption, for more layers or
        measures, or for a further model. Random draws for the evidence are kept as well. Without
        ``save``, the features are temporary files.
    seed : seed of samples, of permutations for chance levels, and of the weights of the
        re-initialized copy.
    jobs, memory, progress : as in :func:`compare`.

    Returns
    -------
    :class:`Comparison` of all pairs of layers, called ``model/layer``. A constant layer (equal rows
    for all samples) is left out. ``evidence`` of the comparison is the :func:`evidence` for the
    first measure: chance levels, p-values and intervals; the page of the comparison shows the
    evidence. ``error_consistency`` of the comparison is the :func:`error_consistency` of the models
    if all are classifiers of the classes of the data. ``provenance`` has ``"models"``: the source
    of each model and the pooling of its layers, ``"data"``, ``"reinitialized"``: the name of the
    re-initialized copy, and ``"inputs"``: one line with the samples, the pooling, cut texts,
    left-out samples and layers, and the number of duplicate samples.

    Raises ``ValueError`` as :func:`extract_features` and :func:`compare` do, for fewer than two
    models, for weights of the first model that cannot be re-initialized, for an unknown ``mask``,
    and for a model with only constant layers.
    """
    selected_measures, entries, number = _checked_choices(
        "compare_models", models, measures, reinitialized, pool, batch_size, confidence_level, seed
    )
    samples = load_samples(data, column=column, max_samples=max_samples, unique=unique, seed=seed)
    numbers = _compared_row_numbers("compare_models", mask, samples)
    labels = {"within": within, "whole_blocks": whole_blocks}
    design: Any = {"n_permutations": n_permutations, "seed": seed}
    design |= _compared_sample_labels("compare_models", labels, samples, numbers)
    options: Any = {"layers": layers, "pool": pool, "batch_size": batch_size, "progress": progress}
    with _feature_folder(save) as folder, open_executor("compare_models", jobs) as executor:
        extracted = [
            extract_loaded_model(model, samples, folder / model_folder_name(model.name), **options)
            for model in _loaded_models("compare_models", entries, samples, device, number)
        ]
        if number is not None:
            extracted.append(extracted.pop(1))
        model_features = [
            _drop_constant_layers(select_model_rows(s, numbers))
            for features in extracted
            for s in _split_by_pooling(features)
        ]
        errors = _error_consistency_of(
            [features[0] for features in extracted], numbers, design, confidence_level
        )
        has_blocks = layers in ("blocks", ["blocks"])
        provenance = _models_provenance(
            model_features, samples, has_reference=number is not None, has_blocks=has_blocks
        )
        provenance |= {"mask": mask} if isinstance(mask, str) else {}
        scores = None if save is None else folder / SCORES_FILE
        run_options = check_run_options(executor, memory, save=scores, progress=progress)
        inputs = ComparisonInputs.of(model_features, selected_measures, metadata=provenance)
        (comparison,) = compare_many([inputs], run_options)
        evidence = evidence_from_comparison(
            comparison, model_features, selected_measures[:1], design, confidence_level, run_options
        )
    _advise_more_samples(comparison)
    kept_inputs = None if save is None else evidence.inputs  # temporary files no longer exist
    comparison = replace(
        comparison, evidence=replace(evidence, inputs=kept_inputs), error_consistency=errors
    )
    if scores is not None:
        comparison.save(scores)
    return comparison


def _error_consistency_of(
    model_features: Sequence[ModelFeatures],
    numbers: np.ndarray | None,
    design: Mapping[str, Any],
    confidence_level: float,
) -> ErrorConsistency | None:
    """Return the error consistency of classifiers on the compared samples; None unless the classes
    of the samples and the outputs of all models are known.

    ``model_features``: the features of each model for all samples. ``numbers``: the rows to
    compare; None for all. ``design``: has "whole_blocks" and "seed".
    """
    labels = model_features[0].labels
    if labels is None or any(s.outputs is None or s.labels is None for s in model_features):
        return None
    kept = slice(None) if numbers is None else numbers
    outputs = {s.name: np.asarray(s.outputs)[kept] for s in model_features}
    return error_consistency(
        outputs,
        np.asarray(labels)[kept],
        whole_blocks=design["whole_blocks"],
        confidence_level=confidence_level,
        seed=design["seed"],
    )


def _advise_more_samples(comparison: Comparison) -> None:
    """Change the caveats of a comparison in place: replace advice to transpose arrays by advice to
    use more samples."""
    hint = "; more samples are needed"
    for matrix in comparison.matrices.values():
        matrix.caveats = {
            k: text.replace(TRANSPOSED_HINT, hint) for k, text in matrix.caveats.items()
        }


def _checked_choices(
    function: str,
    models: Any,
    measures: Any,
    reinitialized: Any,
    pool: Any,
    batch_size: Any,
    confidence_level: Any,
    seed: int,
) -> tuple[list[Measure], list[Any], int | None]:
    """Return the measures, the models as a list, and the seed of the re-initialized copy, None
    without a copy; raise ``ValueError``, naming ``function``, for invalid choices."""
    selected_measures, _ = select_measures("quick" if measures is None else measures)
    if not isinstance(reinitialized, bool):
        raise ValueError(
            f"{function}: reinitialized must be True or False; got {reinitialized!r}. seed= draws "
            "the weights of the copy"
        )
    entries = _model_entries(function, models)
    if reinitialized and not isinstance(pool, str | Mapping | None):
        raise ValueError(
            f"{function}: reinitialized needs a single pooling; got {list(pool)}: make one "
            "comparison per pooling"
        )
    check_batch_size(function, batch_size)
    check_confidence_level(f"{function}: confidence_level", confidence_level)
    return selected_measures, entries, seed if reinitialized else None


def _split_by_pooling(model_features: list[ModelFeatures]) -> list[ModelFeatures]:
    """Return the features of a model with each pooling, unchanged for a single pooling. Several
    poolings get names that end with the pooling."""
    if len(model_features) == 1:
        return model_features
    return [replace(s, name=f"{s.name} {s.traits['pooling']}") for s in model_features]


def _model_entries(function: str, models: Any) -> list[Any]:
    """Return the models of a list, or the pairs (name, model) of a mapping, as a list; raise
    ``ValueError``, naming ``function``, for fewer than two models."""
    is_group = isinstance(models, Mapping | Sequence) and not isinstance(models, str)
    if not is_group or len(models) < 2:
        raise ValueError(
            f"{function}: pass two or more models, as a list or as a mapping from names: "
            f"{function}({{'base': base, 'tuned': tuned}}, data); got "
            f"{len(models) if is_group else repr(models)}"
        )
    return list(models.items()) if isinstance(models, Mapping) else list(models)


@contextmanager
def _feature_folder(save: str | Path | None) -> Iterator[Path]:
    """Yield the folder for features: the folder ``save``, or a temporary folder if ``save`` is
    None."""
    if save is not None:
        if Path(save).is_file():
            raise ValueError(f"{save} is a file: features are kept in a folder; name another")
        yield Path(save)  # the first run of a model makes the folder
        return
    with tempfile.TemporaryDirectory(prefix="resemblance-") as folder:
        yield Path(folder)


def _loaded_models(
    function: str,
    models: Sequence[Any],
    samples: Samples,
    device: str | None,
    reference: int | None,
) -> Iterator[LoadedModel]:
    """Yield the loaded models, and after the first model a re-initialized copy if ``reference`` is
    a seed. ``function``: the function that errors name.

    Only one model is in memory at a time, unless the models are passed as modules.
    """
    if samples.count == 1:
        raise ValueError(f"{samples.name} has one sample: a comparison needs at least two")
    title = f"reinitialized-{reference}" if reference else "reinitialized"
    names = [] if reference is None else [title]
    for k, model in enumerate(models):
        loaded_model = load_with_unique_name(function, model, samples, device, names)
        names.append(loaded_model.name)
        yield loaded_model
        if k == 0 and reference is not None:
            yield make_untrained_copy(loaded_model, title, reference)


def _compared_row_numbers(function: str, mask: Any, samples: Samples) -> np.ndarray | None:
    """Return the numbers of the rows to compare, from 0; None for all rows. ``function``: the
    function that errors name. ``mask``: a choice of samples in any form of the option ``mask``, or
    None."""
    if mask is not None and samples.count is None:
        raise ValueError(f"{function}: mask={mask!r} needs a known number of samples")
    return kept_row_numbers(function, mask, samples, samples.count or 0)


def _compared_sample_labels(
    function: str, labels: Mapping[str, Any], samples: Samples, numbers: np.ndarray | None
) -> dict[str, Any]:
    """Return for every option in ``labels`` a label for each compared sample: the passed labels, or
    for the word "labels" the classes of the data; None without labels.

    ``function``: the function that errors name. ``numbers``: the rows to compare, None for all.
    Labels for all samples are reduced to the compared samples. Raises ``ValueError`` for another
    number of labels.
    """
    return {
        role: _labels_of_option(f"{function}: {role}", given, samples, numbers)
        for role, given in labels.items()
    }


def _labels_of_option(title: str, labels: Any, samples: Samples, numbers: np.ndarray | None) -> Any:
    if isinstance(labels, str):
        if labels != "labels" or samples.labels is None:
            raise ValueError(
                f"{title} must be a label for each sample, or 'labels' for data that "
                f"come with classes; got {labels!r}, and {samples.name} comes with "
                f"{'none' if samples.labels is None else 'classes'}"
            )
        return samples.labels if numbers is None else samples.labels[numbers]
    if labels is None:
        return None
    if samples.places is not None and len(labels) == samples.total:
        labels = np.asarray(labels)[list(samples.places)]
    if numbers is not None and len(labels) == samples.count:
        labels = np.asarray(labels)[numbers]
    count = samples.count if numbers is None else len(numbers)
    if count not in (None, len(labels)):
        raise ValueError(
            f"{title} has {len(labels)} labels for {count} samples that are compared; "
            "pass one for each of them, or of all samples, in their order"
        )
    return labels


def plan_models(models: Mapping[str, Any] | Sequence[Any], data: Any, **options: Any) -> Forecast:
    """Estimate the cost of :func:`compare_models` with the same arguments, from one batch.

    Each model is loaded and runs once, over ``batch_size`` random samples, or over the whole of a
    graph. The cost of the comparison follows from the widths of the layers, as in :func:`plan`. All
    work is counted, including finished work in a folder of ``save``.

    Returns the :class:`Forecast`, with the CPU seconds of running all ``models``, the bytes of
    their features on ``disk``, and the permuted values of the evidence for the first measure.

    Raises ``ValueError`` as :func:`compare_models` does, and for a loader with an unknown number of
    samples; ``TypeError`` for an unknown option.
    """
    call = signature(compare_models).bind(models, data, **options)
    call.apply_defaults()
    arguments = call.arguments
    names = ("measures", "reinitialized", "pool", "batch_size", "confidence_level", "seed")
    measures, entries, number = _checked_choices(
        "plan_models", models, *(arguments[name] for name in names)
    )
    samples = load_samples(
        data,
        column=arguments["column"],
        max_samples=arguments["max_samples"],
        unique=arguments["unique"],
        seed=arguments["seed"],
    )
    numbers = _compared_row_numbers("plan_models", arguments["mask"], samples)
    labels = {name: arguments[name] for name in ("within", "whole_blocks")}
    _compared_sample_labels("plan_models", labels, samples, numbers)
    if samples.count is None:
        raise ValueError(f"plan_models: the number of samples of {samples.name} is not known")
    sample_batch, n = first_batch(samples, arguments["batch_size"], arguments["seed"]), len(samples)
    n_rows = n if numbers is None else len(numbers)
    arrays, seconds, disk = dict[str, np.ndarray](), 0.0, 0
    with _feature_folder(None) as folder:
        for loaded_model in _loaded_models(
            "plan_models", entries, sample_batch, arguments["device"], number
        ):
            start_time = time.process_time()
            model_folder = folder / model_folder_name(loaded_model.name)
            choices = (arguments["layers"], arguments["pool"], arguments["batch_size"], False)
            model_features = _split_by_pooling(
                extract_loaded_model(loaded_model, sample_batch, model_folder, *choices)
            )
            seconds += (time.process_time() - start_time) * n / model_features[0].last.n_samples
            rows = [(s.name, *layer) for s in model_features for layer in s.layers.items()]
            for model, name, layer in rows:
                row = np.array(layer.source[:1])
                disk += n * row.nbytes
                arrays[f"{model}/{name}"] = np.broadcast_to(row, (n_rows, row.shape[1]))
    forecast = plan(arrays, measures=measures, jobs=arguments["jobs"], memory=arguments["memory"])
    measure, design = measures[0], design_of(n_rows, n_permutations=arguments["n_permutations"])
    pairs = len(arrays) * (len(arrays) - 1) // (2 if measure.symmetric else 1)
    is_free = arguments["within"] is None and arguments["whole_blocks"] is None
    is_exact = is_free and has_exact_moments(measure, design)
    permuted = pairs * design.total
    permutations = 0 if is_exact else permuted
    return replace(
        forecast, models=seconds, disk=disk, permutations=permutations, permuted=permuted
    )


def _drop_constant_layers(features: ModelFeatures) -> ModelFeatures:
    """Return a model without constant layers (equal rows for all samples); its traits name the
    left-out layers.

    Raises ``ValueError`` if all layers are constant.
    """
    constant = [name for name, layer in features.layers.items() if _is_constant_layer(layer)]
    layers = {name: r for name, r in features.layers.items() if name not in constant}
    if not layers:
        raise ValueError(
            f"compare_models: all layers of {features.name} are the same for all samples with "
            f"pool={features.traits['pooling']!r}; pool otherwise, or name other layers"
        )
    return replace(
        features, layers=layers, traits={**features.traits, CONSTANT_LAYERS_KEY: constant}
    )


def _is_constant_layer(layer: Representation) -> bool:
    rows = np.asarray(layer.source)
    step = max(1, MAX_COMPARED_VALUES // max(1, rows.shape[1]))
    starts = range(0, len(rows), step)
    return len(rows) > 1 and all((rows[i : i + step] == rows[0]).all() for i in starts)


def model_folder_name(name: str) -> str:
    """Return the name of the folder for a model: the model name with "-" in place of unusual
    letters. A name that is invalid, reserved or too long is cut, and gets a hash."""
    safe_name = re.sub(r"[^\w.+-]+", "-", name)
    if (
        not safe_name.startswith(".")
        and safe_name != SCORES_FILE
        and 0 < len(safe_name.encode()) <= MAX_FOLDER_NAME_BYTES
    ):
        return safe_name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe_name.strip('.')[:MAX_CUT_NAME_LETTERS] or 'model'}-{digest}"


def load_with_unique_name(
    function: str, model: Any, samples: Samples, device: str | None, names: Sequence[str]
) -> LoadedModel:
    """Return a loaded model with a name that is not among ``names``. ``function``: the function
    that errors name. ``model``: a model, or a pair (name, model).

    A taken name gets a number. Raises ``ValueError`` if the user gave the taken name in a pair.
    """
    name, model = split_model_name(model)
    if name and name in names:
        raise ValueError(f"{function}: two models are called {name!r}; give another name")
    loaded_model = load_model(model, name=name, device=device, samples=samples)
    number, title = 1, loaded_model.name
    while title in names:
        number += 1
        title = f"{loaded_model.name} {number}"
    return loaded_model._replace(name=title)


def _models_provenance(
    model_features: Sequence[ModelFeatures],
    samples: Samples,
    *,
    has_reference: bool,
    has_blocks: bool,
) -> dict[str, Any]:
    """Return the entries about models and data in the provenance of a comparison: "models", "data"
    and "inputs". ``model_features``: of all models.

    ``has_reference``: the last model is the re-initialized copy of the first. ``has_blocks``: the
    layers are the default layers.
    """
    provenance = {
        "models": {s.name: _recorded_model_facts(s) for s in model_features},
        "data": model_features[0].traits["data"],
        "inputs": _format_model_inputs(model_features, samples, has_reference, has_blocks),
    }
    return provenance | ({REFERENCE_KEY: model_features[-1].name} if has_reference else {})


def _format_model_inputs(
    model_features: Sequence[ModelFeatures], samples: Samples, has_reference: bool, has_blocks: bool
) -> str:
    """Return one line about the inputs of the models: samples, pooling, layers, cut texts and
    left-out parts. ``model_features``: of all models. ``has_reference``: the last model is the
    re-initialized copy of the first. ``has_blocks``: the layers are the default layers."""
    layers = {s.name: len(s.layers) for s in model_features}
    counts = {name: count_with_noun(n, "layer") for name, n in layers.items()}
    count_list = ", ".join(f"{count} of {name}" for name, count in counts.items())
    count_phrase = f"{counts[model_features[0].name]} each"
    pooled = {part for s in model_features for part in s.traits["model"].get("pooled", ())}
    forms = " and ".join(sorted(pooled))
    pooling = " and ".join(
        dict.fromkeys(POOLING_PHRASES[s.traits["pooling"]].format(forms) for s in model_features)
    )
    parts = [
        _format_sample_count(samples, model_features[0].last.n_samples),
        pooling if pooled else "",
    ]
    parts.append(count_phrase if len(set(layers.values())) == 1 else count_list)
    by_layer = [
        (f"{s.name}/{k}", w, s)
        for s in model_features
        for k, w in s.traits.get(POOLING_BY_LAYER_KEY, {}).items()
    ]
    notes = [f"{k} by {w}" for k, w, s in by_layer if w != s.traits["pooling"]]
    notes = [
        *(_format_default_layers(model_features) if has_blocks else ()),
        *notes,
        *_format_sample_losses(samples),
        *_format_cut_texts(model_features),
        *(n for s in model_features for n in _model_notes(s)),
    ]
    if samples.kind == "graph":
        notes.append(
            "nodes of a graph depend on each other: intervals and p-values may be too small"
        )
    if has_reference:
        notes.append(
            f"{model_features[-1].name} is {model_features[0].name} with re-initialised weights"
        )
    return escape_control_characters("; ".join([", ".join(filter(None, parts)), *notes]))


def _format_sample_count(samples: Samples, n: int) -> str:
    """Return the number and the source of the samples, as a phrase such as "100 texts (column text
    of data.csv)". ``n``: the number of compared samples."""
    facts = samples.facts
    source = facts.get("file") or facts.get("folder")
    source = samples.name if source is None and samples.name not in GENERIC_SAMPLE_NAMES else source
    clauses = [f"column {facts['column'][:MAX_CUT_NAME_LETTERS]}"] if "column" in facts else []
    clauses += [str(source)] if source and source != facts.get("column") else []
    draw_note = f"drawn from {facts['of']}, " if facts.get("of") else ""
    origin = f"{draw_note}{' of '.join(clauses)}".removesuffix(", ")
    count = f"{n} of {samples.count}" if samples.count not in (None, n) else str(n)
    return f"{count} {SAMPLE_UNITS.get(samples.kind, samples.kind)}" + (
        f" ({origin})" if origin else ""
    )


def _format_default_layers(model_features: Sequence[ModelFeatures]) -> Iterator[str]:
    """Yield a sentence for each description of default layers, preceded by the names of models if
    models differ."""
    models = defaultdict[str, list[str]](list)
    for features in model_features:
        models[features.traits["model"].get(DEFAULT_LAYERS_KEY, "")].append(features.name)
    for note, names in models.items():
        if note:
            yield note if len(names) == len(model_features) else f"{', '.join(names)}: {note}"


def _format_sample_losses(samples: Samples) -> Iterator[str]:
    """Yield phrases with the number of left-out samples of each kind, and of duplicates among the
    samples."""
    for noun in SAMPLE_LOSS_KEYS:
        losses = samples.facts.get(f"{noun} left out", 0)
        if losses:
            yield f"{losses if isinstance(losses, int) else len(losses)} {noun} left out"
    copies = 0 if samples.distinct is None else len(samples) - len(samples.distinct)
    if copies:
        yield f"{copies} of the samples are duplicates, which unique=True (--unique) leaves out"


def _format_cut_texts(model_features: Sequence[ModelFeatures]) -> Iterator[str]:
    """Yield sentences with the number of truncated texts, with the names of models if
    ``model_features`` differ."""
    models = defaultdict[str, list[str]](list)
    for features in model_features:
        facts = features.traits["model"]
        if n_cut := facts.get("texts cut"):
            n, limit = features.last.n_samples, facts["max_length"]
            models[f"{n_cut} of {n} texts were cut to {limit} tokens"].append(features.name)
    for note, names in models.items():
        yield note if len(names) == len(model_features) else f"{note} for {', '.join(names)}"


def _model_notes(features: ModelFeatures) -> Iterator[str]:
    """Yield notes on a model: its own pooling, dependence of rows on more than the samples, hooks,
    modes of PyTorch, and left-out layers."""
    facts, pooling = features.traits["model"], features.traits["pooling"]
    if POOLING_PHRASES.get(facts.get("its pooling", pooling)) != POOLING_PHRASES[pooling]:
        yield f"{features.name} itself pools by {facts['its pooling']}"
    if DEPENDENCE_KEY in facts:
        yield f"{features.name} {DEPENDENCE_KEY} {facts[DEPENDENCE_KEY]}"
    if hooks := facts.get("hooks"):
        yield f"{features.name} runs with {count_with_noun(len(hooks), 'hook')} ({hooks[0]})"
    for mode in facts.get("context", ()):
        yield f"{features.name} runs with {mode}"
    for layer in features.traits[CONSTANT_LAYERS_KEY]:
        yield f"{features.name}/{layer} is the same for all samples and left out"


def _recorded_model_facts(features: ModelFeatures) -> Mapping[str, Any]:
    """Return the recorded facts of a model, the pooling if layers were pooled, and the left-out
    constant layers."""
    facts, constant = dict(features.traits["model"]), features.traits[CONSTANT_LAYERS_KEY]
    facts |= {"pooling": features.traits["pooling"]} if facts.get("pooled", True) else {}
    return facts | ({CONSTANT_LAYERS_KEY: constant} if constant else {})
