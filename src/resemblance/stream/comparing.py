"""A comparison of some pairs of the layers of a stream, each with points of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..comparison.comparison import Comparison, comparison_description
from ..comparison.store import ScoreFile
from ..data.representation import Representation
from ..engine.execution import compare_many
from ..engine.work import ComparisonPlan


def compare_pairs(
    by_pair: Mapping[tuple[str, str], Mapping[str, Representation]],
    measures: Any,
    about: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Comparison:
    """Compare the first layer of each pair with the second; the others are not computed."""
    rows = {row: layers[row] for (row, _), layers in by_pair.items()}
    columns = {column: layers[column] for (_, column), layers in by_pair.items()}
    whole = ComparisonPlan.of(rows, measures, columns, metadata=about)
    if options.get("save") is not None:
        with ScoreFile(options["save"]) as store:
            store.describe(comparison_description(whole.comparison()))
    parts = [
        ComparisonPlan.of({row: layers[row]}, measures, {column: layers[column]}, metadata=about)
        for (row, column), layers in by_pair.items()
    ]
    for part in compare_many(parts, described=False, **options):
        for matrix in part.matrices.values():
            for scores in matrix.columns_without():
                whole.put(scores)
    absent = {m.spec: "not among the pairs of the stream" for m in whole.infos}
    return replace(whole.comparison(), absent=absent)
