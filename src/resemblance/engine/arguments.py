"""The arguments of compare: named representations and measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from ..base.arrays import array_library
from ..base.text import closest_name
from ..catalogue import get_measure, get_measures, list_measures, preset
from ..contracts._measure import Measure, require_measure_extra
from ..contracts.claims import written_function
from ..contracts.folds import Folds
from ..data.inputs import holds_named_arrays, is_single_input, row_count_hint, transposition_hint
from ..data.joining import align_columns
from ..data.lists import batch_shapes_hint
from ..data.model_features import ModelFeatures
from ..data.representation import Representation, as_representation, check_same_samples
from ..measures.held_out.predictivity import HELD_OUT_MEASURES

# The rows, and the columns of a rectangular comparison
RowsAndColumns = tuple[list[Representation], list[Representation] | None]


OWN_SAMPLES_REMEDY = (
    "; measure='rsa[rdm=sqeuclidean,compare=cosine]' compares each model on the samples that it "
    "has, where models have ids"
)


def named_representations(
    rows: Any, columns: Any = None, caller: str = "compare"
) -> RowsAndColumns:
    """Return the rows and the columns of a comparison as representations with unique names; None
    for the columns without ``columns``.

    The layers of a model are called ``model/layer``. Models of equal name are numbered: "ResNet",
    "ResNet 2". Arrays with equal column names get the same column order. ``caller`` is the function
    name in messages.

    Raises ``ValueError`` when there is nothing to compare, when two representations have the same
    name, when numbers of samples, sample ids or array libraries differ, and when column names
    overlap only in part.
    """
    models: dict[str, list[ModelFeatures]] = {}
    first = [_as_named_representation(*entry) for entry in _named_entries(rows, "x", models)]
    second = None
    if columns is not None:
        second = [
            _as_named_representation(*entry) for entry in _named_entries(columns, "y", models)
        ]
    if not first or second == []:
        raise ValueError(f"{caller}: there is nothing to compare")
    for side in (first, second or []):
        counts = Counter(r.name for r in side)
        if duplicates := sorted(name for name, count in counts.items() if count > 1):
            raise ValueError(
                f"{caller}: two representations are called {duplicates[0]!r}; names must be unique"
            )
    _check_common_samples(first + (second or []), caller)
    representations = align_columns(caller, first + (second or []))
    rows, columns = list(representations[: len(first)]), list(representations[len(first) :])
    return rows, None if second is None else columns


def select_measures(
    measures: Any, folds: Folds | None = None, caller: str = "compare"
) -> tuple[list[Measure], list[Measure]]:
    """Return the measures to compute, and the default measures that lack their optional
    dependency. ``measures``: the argument of :func:`compare`.

    With ``folds`` the measures score held-out samples; the default is then every measure with a
    fit. Raises ``ValueError`` for an empty selection, for two measures with the same name or label,
    and with ``folds`` for a measure without a fit; ``ImportError`` for a measure asked for by name
    without its optional dependency.
    """
    if folds is not None:
        measures = [m for m in list_measures() if m.fit] if measures is None else measures
        selected, _ = select_measures(measures)
        fitted = measures_with_fit(caller, selected)
        if twice := [m for m in fitted if m.held_out is not None and m.held_out != folds]:
            raise ValueError(
                f"{caller}: {twice[0]} has other folds than held_out=; give the folds once"
            )
        return [m.with_parameters(held_out=folds) for m in fitted], []
    if measures is None:
        default = preset("default")
        installed = [m for m in default if not m.requires or _is_measure_installed(m)]
        return installed, [m for m in default if m not in installed]
    selected = get_measures([measures] if isinstance(measures, str) else measures)
    if not selected:
        raise ValueError("compare: measures is empty")
    for m in selected:
        require_measure_extra(m)
        _check_unique_measure(m, selected)
    return selected, []


def measures_with_fit(caller: str, measures: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """Return ``measures``, specifications such as "cka" or measures, as measures; raise
    ``ValueError`` for an unknown name, and for a measure that fits no map to samples."""
    fitted = [*(m.name for m in list_measures() if m.fit), *HELD_OUT_MEASURES]
    words = {"linear_predictivity": " (ridge regression)", "mean_cca": " (CCA)"}
    described = ", ".join(name + words.get(name, "") for name in fitted)
    for m in measures:
        if isinstance(m, str) and not _is_measure_name(m):
            match = closest_name(m.partition("[")[0], fitted)
            hint = f"; did you mean {match!r}? The" if match else "; the"
            raise ValueError(f"{caller}: no method {m!r}{hint} methods are {described}")
        if get_measure(m).fit is None:
            raise ValueError(
                f"{caller}: {m} fits no map that other samples could test; the measures with a "
                f"fit are {described}"
            )
    return tuple(map(get_measure, measures))


# ------------------------------------------------------------------------------------------ entries


def _unique_model_name(model: ModelFeatures, models: dict[str, list[ModelFeatures]]) -> str:
    """Return the name of a model, numbered if an earlier model of the same name is in ``models``,
    models by name; add the model to ``models``."""
    namesakes = models.setdefault(model.name, [])
    position = next(
        (i for i, namesake in enumerate(namesakes) if namesake is model), len(namesakes)
    )
    if position == len(namesakes):
        namesakes.append(model)
    return model.name if position == 0 else f"{model.name} {position + 1}"


def _named_entries(
    argument: Any, prefix: str, models: dict[str, list[ModelFeatures]]
) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of every representation in ``argument``: the given name, the
    data's own name, or ``prefix`` and a number; layers as ``name/layer``. ``models``: earlier
    models by name, which the function extends."""
    if isinstance(argument, ModelFeatures):
        yield from _expand_layers(_unique_model_name(argument, models), argument)
        return
    argument = list(argument) if isinstance(argument, Iterator | ItemsView) else argument
    if isinstance(argument, Mapping) or holds_named_arrays(argument):
        for name, data in argument.items() if isinstance(argument, Mapping) else argument:
            yield from _expand_layers(str(name), data)
        return
    if is_single_input(argument) or not isinstance(argument, Iterable):
        argument = [argument]
    for position, data in enumerate(argument):
        if isinstance(data, Measure) or _is_measure_name(data):
            raise ValueError("measures go by keyword: compare(representations, measures=[...])")
        is_model = isinstance(data, ModelFeatures)
        if is_model:
            name = _unique_model_name(data, models)
        else:
            name = _name_of_argument(data, f"{prefix}{position}")
        yield from _expand_layers(name, data)


def _is_measure_name(data: Any) -> bool:
    if not isinstance(data, str):
        return False
    known_measures = [*list_measures(), *HELD_OUT_MEASURES.values()]
    names = {word.lower() for m in known_measures for word in (m.name, m.label)}
    return data.partition("[")[0].lower() in names


def _expand_layers(name: str, data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name ``name/layer`` and the array of every layer of a model or mapping; for any
    other data, ``name`` and the data."""
    layers = data.layers if isinstance(data, ModelFeatures) else data
    if not isinstance(layers, Mapping):
        yield name, data
        return
    for layer, array in layers.items():
        yield f"{name}/{layer}", array


def _name_of_argument(data: Any, fallback: str) -> str:
    if isinstance(data, Representation) and data.name:
        return data.name
    return Path(data).stem if isinstance(data, str | Path) else fallback


def _as_named_representation(name: str, data: Any) -> Representation:
    representation = as_representation(data, name)
    if representation.name != name:
        # The caller's representation keeps its name; the copy has an empty cache.
        representation = copy(representation)
        representation.name = name
    return representation


# ----------------------------------------------------------------------------------------- checking


def _check_common_samples(representations: Sequence[Representation], caller: str) -> None:
    first = representations[0]
    reference = next((r for r in representations if r.ids is not None), first)
    for r in representations:
        if r.n_samples != first.n_samples and r.ids and first.ids:
            smaller, larger = sorted((first, r), key=lambda x: x.n_samples)
            missing = next(i for i in larger.ids or () if i not in set(smaller.ids or ()))
            raise ValueError(
                f"{caller}: {smaller.name!r} lacks sample {missing!r} of {larger.name!r}; "
                "rs.join_samples keeps the samples that all have"
                + OWN_SAMPLES_REMEDY
                * (caller == "score_models")
            )
        if r.n_samples != first.n_samples:
            names = repr(first.name), repr(r.name)
            batches = batch_shapes_hint([entry.shape for entry in representations])
            hints = transposition_hint if batches else row_count_hint
            hint = batches + hints(first.shape, r.shape, names)
            raise ValueError(
                f"{caller}: {first.name!r} has {first.n_samples} samples (rows) and {r.name!r} has "
                f"{r.n_samples}; all must be representations of the same samples{hint}"
            )
        check_same_samples(caller, reference, r)
        expected, got = (f"{array_library(s.source)} in {s.dtype}" for s in (first, r))
        if expected != got:
            raise ValueError(
                f"{caller}: {first.name!r} is computed by {expected} and {r.name!r} by {got}; "
                "convert one"
            )


def _check_unique_measure(m: Measure, measures: Sequence[Measure]) -> None:
    """Raise ``ValueError`` if another function has the name of ``m``, or another measure in
    ``measures`` the label of ``m``."""
    known_measures = [*list_measures(), *HELD_OUT_MEASURES.values(), *measures]
    namesake = next((other for other in known_measures if other.name == m.name), m)
    if written_function(namesake) != written_function(m):  # a method is new at each access
        raise ValueError(
            f"compare: {m.function.__module__} has a measure called {m.name!r}, a name that is "
            "taken; rename the function"
        )
    other = next(
        (
            candidate
            for candidate in measures
            if candidate.label == m.label and candidate.name != m.name
        ),
        None,
    )
    if other:
        raise ValueError(
            f"compare: {m.name} and {other.name} are both labelled {m.label!r}; give one of them "
            "another label"
        )


def _is_measure_installed(m: Measure) -> bool:
    try:
        require_measure_extra(m)
    except ImportError:
        return False
    return True
