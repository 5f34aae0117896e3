"""A comparison of the layers of a stream: the engine's, with a provenance that says what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from ..catalogue import preset
from ..compare import compare, compare_many
from ..comparison import Comparison, describe, fingerprints_of
from ..engine.scores import Matrix
from ..engine.store import Store
from ..engine.work import Work
from ..measure import Measure
from ..representation import Representation
from ..streamed import needs_of

Measures = Iterable[str | Measure] | str | Measure | None
Layers = Mapping[str, Representation]


def compared(
    layers: Layers, measures: Measures, about: dict[str, Any], options: Mapping[str, Any]
) -> Comparison:
    """Compare all layers with each other."""
    comparison = compare(dict(layers), measures=_chosen(measures, layers), **options)
    return _streamed(comparison, about, options)


def compared_in_pairs(
    by_pair: Mapping[tuple[str, str], Layers],
    measures: Measures,
    about: dict[str, Any],
    options: Mapping[str, Any],
) -> Comparison:
    """Compare the first layer of each pair with the second; the others are not computed."""
    anyone = next(iter(by_pair.values()))
    chosen = _chosen(measures, anyone)
    works = []
    for (row, column), layers in by_pair.items():
        works.append(Work.of({row: layers[row]}, chosen, {column: layers[column]}))
    parts = compare_many(works, **options)
    sides: dict[str, dict[str, Any]] = {"rows": {}, "columns": {}}
    for part in parts:
        for side, identities in sides.items():
            identities |= part.provenance[side]
    provenance = dict(parts[0].provenance) | sides
    names, infos = (tuple(sides["rows"]), tuple(sides["columns"])), parts[0].measures
    absent = {m.spec: "not among the pairs of the stream" for m in infos}
    data = fingerprints_of(*names, provenance)
    matrices = {m.spec: Matrix(m.spec, m.version, m.symmetric, *data) for m in infos}
    for part, spec in product(parts, matrices):
        for scores in part.matrices[spec].columns_without():
            matrices[spec].put(scores)
    whole = Comparison(*names, infos, matrices, provenance, absent)
    return _streamed(whole, about, options)


def _chosen(measures: Measures, layers: Layers) -> Measures:
    """Return the measures asked for, or the default ones that the stream can compute."""
    if measures is not None:
        return measures
    origin = next(iter(layers.values())).origin
    accumulated = {"", *(origin.accumulated if origin else ())}
    return [m for m in preset("default") if needs_of(m) in accumulated]


def _streamed(
    comparison: Comparison, about: dict[str, Any], options: Mapping[str, Any]
) -> Comparison:
    """Return the comparison with a provenance that says how its values came about."""
    dtypes = about["dtypes"]
    provenance = dict(comparison.provenance)
    for side in ("rows", "columns"):
        identities = provenance[side].items()
        provenance[side] = {name: of | {"dtype": dtypes[name]} for name, of in identities}
    provenance["stream"] = {name: fact for name, fact in about.items() if name != "dtypes"}
    comparison = replace(comparison, provenance=provenance)
    if options.get("save") is not None:
        with Store(options["save"]) as store:
            store.describe(describe(comparison))
    return comparison
