"""Tables of comparisons, evidence and scores of models in a chosen layout, and tables with chosen
columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.text import check_choice, did_you_mean, snap_to_bounds
from ..comparison.arrangements import layer_name
from ..comparison.comparison import Comparison, MeasureInfo
from ..inference import ModelScores
from ..inference.result import Evidence
from .comparing.figures import between_two_models
from .comparing.stats import PageContext, page_context
from .comparing.tables import depths_table, pairs_table, values_table
from .evidence_words import measure_results
from .of_model_scores import differences_table, subjects_table
from .tables import TextTable
from .terminal import matrix_table, plain_table, table_as_text, value_texts

LAYOUTS = ("pairs", "depth", "matrix")


def arranged_tables(content: Any, layout: str) -> list[Any]:
    """Return the tables of a comparison, an evidence or scores of models in a layout: "pairs",
    "depth" or "matrix". ``content``: the result.

    The titles of tables are texts in the list, before the tables. Raises ``ValueError`` for another
    layout, for any other result, for a table by depth without models of several layers, and for
    pairs of a single model.
    """
    check_choice("layout", layout, LAYOUTS)
    if isinstance(content, ModelScores):
        return [_scores_table(content, layout)]
    if not isinstance(content, Comparison | Evidence):
        raise ValueError(
            "a layout is for comparisons, evidence and scores of models; choose columns of this "
            "result"
        )
    comparison = content.comparison if isinstance(content, Evidence) else content
    evidence = content if isinstance(content, Evidence) else content.evidence
    leading = None if evidence is None else evidence.measures[0].spec
    context = page_context(comparison, measure=leading, evidence=evidence)
    if layout == "pairs":
        table = pairs_table(comparison)
        if isinstance(content, Evidence):
            table = values_table(content, measure_results(content))
        return [table_as_text(table)]
    if layout == "depth":
        by_depth = depths_table(context)
        if by_depth is None:
            raise ValueError(
                "the layout 'depth' needs layers of two models or more, called model/layer; take "
                "'pairs' or 'matrix'"
            )
        return [by_depth.title, table_as_text(by_depth)]
    return [part for info in context.measures for part in _titled_matrix(context, info)]


def _scores_table(scores: ModelScores, layout: str) -> TextTable:
    """Return the table of scores of models: the differences of pairs of models for the layout
    "pairs", or subjects by models for "matrix"; raise ``ValueError`` for "depth", and for pairs of
    a single model."""
    if layout == "matrix":
        return table_as_text(subjects_table(scores))
    if layout == "depth" or len(scores.models) < 2:
        count = "" if layout == "depth" else f"; the only model is {scores.models[0]!r}"
        raise ValueError(
            "the layouts of scores of models are 'pairs', a row for each two models, and 'matrix', "
            f"a row for each subject; got {layout!r}{count}"
        )
    return table_as_text(differences_table(scores))


def _titled_matrix(context: PageContext, info: MeasureInfo) -> tuple[str, TextTable]:
    """Return two values: the name of a measure, and its matrix as a table. For two models, the
    matrix has only the values between the models, and the title names the models."""
    places = between_two_models(context)
    if places is None:
        return context.label(info), matrix_table(context.comparison, info)
    rows, columns = ([context.comparison.rows[i] for i in side] for side in places)
    values = snap_to_bounds(context.comparison.values[info.spec], info)[places[0]][:, places[1]]
    model, other = (side[0].rpartition("/")[0] for side in (rows, columns))
    has_one = len({name.rpartition("/")[0] for name in columns}) == 1
    heads = [layer_name(name) if has_one else name for name in columns]
    lines = [(layer_name(name), *texts) for name, texts in zip(rows, value_texts(values))]
    title = f"{context.label(info)}: rows {model}, columns {other if has_one else 'below'}"
    return title, plain_table(["", *heads], lines, right=range(1, len(heads) + 1))


def with_columns(parts: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Return texts unchanged and tables with only the named columns, in the order of ``columns``.

    ``parts``: texts and tables. A table without a column lacks the column. "interval" is the column
    with the interval. Raises ``ValueError`` for a column that no table has.
    """
    tables = [part for part in parts if isinstance(part, TextTable)]
    columns = [columns] if isinstance(columns, str) else columns
    heads = list(dict.fromkeys(name for table in tables for name in table.header if name))
    names = [
        next((h for h in heads if h.endswith(" interval")), name) if name == "interval" else name
        for name in columns
    ]
    for name in names:
        if name not in heads:
            raise ValueError(f"no column {name!r}{did_you_mean(name, heads)}")
    return [_selected(part, names) if isinstance(part, TextTable) else part for part in parts]


def _selected(table: TextTable, names: Sequence[str]) -> TextTable:
    kept = [table.header.index(name) for name in names if name in table.header]
    return table._replace(
        header=tuple(table.header[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in table.rows),
        right=frozenset(k for k, i in enumerate(kept) if i in table.right),
        tones=(),
    )
