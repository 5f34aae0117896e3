"""A comparison of the layers of a stream: the engine's, with a provenance that says what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ..assembly import assemble
from ..catalogue import preset
from ..columns import Matrix
from ..compare import compare, compare_many
from ..comparison import Comparison, describe
from ..measure import Measure
from ..outline import Request
from ..recording import columns_of
from ..representation import Representation
from ..store import Store
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
    requests = []
    for (row, column), layers in by_pair.items():
        requests.append(Request({row: layers[row]}, chosen, {column: layers[column]}))
    parts = compare_many(requests, **options)
    sides: dict[str, dict[str, Any]] = {"rows": {}, "columns": {}}
    for part in parts:
        for side, identities in sides.items():
            identities |= part.provenance[side]
    provenance = dict(parts[0].provenance) | sides
    absent = {m.spec: "not among the pairs of the stream" for m in parts[0].measures}
    prints = [[of["fingerprint"] for of in side.values()] for side in sides.values()]
    infos = parts[0].measures
    matrices = {m.spec: Matrix(prints[0], prints[1], m.symmetric) for m in infos}
    for scores in chain.from_iterable(map(columns_of, parts)):
        matrices[scores.measure].put(scores)
    whole = assemble(sides["rows"], sides["columns"], infos, matrices, provenance, absent)
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
    if options.get("save") is not None:
        names = (comparison.rows, comparison.columns, comparison.measures)
        with Store(options["save"]) as store:
            store.describe(describe(*names, provenance))
    return replace(comparison, provenance=provenance)
