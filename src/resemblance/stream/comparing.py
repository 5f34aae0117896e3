"""Comparison of chosen pairs of layers of a stream; each pair has its own surrogate points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..comparison.comparison import Comparison
from ..comparison.store import ScoreFile
from ..data.representation import Representation
from ..engine._compare import compare_many
from ..engine.inputs import ComparisonInputs
from ..engine.options import RunOptions


def compare_pairs(
    by_pair: Mapping[tuple[str, str], Mapping[str, Representation]],
    measures: Any,
    provenance: Mapping[str, Any],
    options: RunOptions,
) -> Comparison:
    """Compare the two layers of each pair; return a comparison of all rows with all columns, in
    which the scores of other pairs are missing with a reason.

    ``by_pair``: for each pair of names (row, column), the representations of both layers by name.
    ``measures``: the argument of :func:`resemblance.compare`. ``provenance``: further entries of
    the provenance, by name.
    """
    rows = {row: layers[row] for (row, _), layers in by_pair.items()}
    columns = {column: layers[column] for (_, column), layers in by_pair.items()}
    inputs = ComparisonInputs.of(rows, measures, columns, metadata=provenance)
    if options.save is not None:
        with ScoreFile(options.save) as store:
            store.describe(inputs.description())
    pairs = [
        ComparisonInputs.of(
            {row: layers[row]}, measures, {column: layers[column]}, metadata=provenance
        )
        for (row, column), layers in by_pair.items()
    ]
    for comparison in compare_many(pairs, options, described=False):
        for matrix in comparison.matrices.values():
            for scores in matrix.columns_without():
                inputs.put(scores)
    reasons = {m.spec: "not among the pairs of the stream" for m in inputs.infos}
    return replace(inputs.comparison(), absent=reasons)
