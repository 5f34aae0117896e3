"""Tables with a column of vectors, as written by vector stores and notebooks, and id columns:
pandas and polars DataFrames, and pyarrow Tables."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.extras import import_optional
from ..base.formatting import list_names
from ..base.text import did_you_mean, warn
from .columns import FeatureNames, to_python_names
from .sample_ids import ID_COLUMN_NAME

NUMBERS_KIND, VECTORS_KIND, WORDS_KIND, NUMERALS_KIND, TEXT_LISTS_KIND, OTHER_KIND = (
    "numbers", "vectors", "words", "numbers as text or objects", "lists as text", "others"
)  # fmt: skip
MAX_LISTED_COLUMNS = 5  # names of columns in a message
MAX_INSPECTED_CELLS = 100  # cells inspected to find the kind of a column


class TableColumn(NamedTuple):
    """A column of a table: the name, the kind of values, and the values in the original library."""

    name: Any
    kind: str
    values: Any


class TableSelection(NamedTuple):
    """The features and ids selected from a table.

    ``values``: the vectors, or a frame of the feature columns. ``ids``: the sample ids, if a column
    contains ids. ``frame``: the whole table as a frame; the index may contain ids. ``features``:
    the feature names; None for vectors.
    """

    values: Any
    ids: tuple[Hashable, ...] | None
    frame: Any
    features: FeatureNames = None


def is_table(data: Any) -> bool:
    """Return whether data are a pandas or polars DataFrame, or a pyarrow Table."""
    is_frame = hasattr(data, "columns") and hasattr(data, "dtypes") and hasattr(data, "to_numpy")
    return is_frame or _is_arrow(data)


def is_column(data: Any) -> bool:
    """Return whether data are a pandas or polars Series, or a pyarrow Array."""
    if hasattr(data, "columns") or not hasattr(data, "__array__"):
        return False
    is_series = type(data).__name__ == "Series" and hasattr(data, "dtype")
    return is_series or (hasattr(data, "null_count") and hasattr(data, "type"))


def select_features(data: Any, title: str, column: str | None, ids: Any) -> TableSelection:
    """Return the vectors or the features of the table ``data``, and the sample ids from a column.

    ``title``: the table in errors. ``column``: the column of vectors; by default the only column of
    vectors; a table without a column of vectors has a feature per column. ``ids``: the name of the
    column with sample ids; None selects a column of words or numbers with a usual name, such as
    ``id`` or ``filename``.

    Raises ``ValueError``, with a remedy, if you must choose ``column``, if the table does not have
    the named column, and if vectors are missing or differ in length. Warns about omitted columns.
    """
    frame = _as_frame(data)
    if column is None and not isinstance(ids, str) and all(map(is_numeric_dtype, frame.dtypes)):
        return TableSelection(frame, None, frame, to_python_names(frame.columns))
    columns = table_columns(frame)
    id_column = _find_column(columns, ids, title) if isinstance(ids, str) else None
    if id_column is None and ids is None and not _has_named_index(frame):
        id_column = next((c for c in columns if _holds_sample_ids(c, columns)), None)
    other_columns = [c for c in columns if c is not id_column]
    vectors = [c for c in other_columns if c.kind == VECTORS_KIND]
    if column is None and len(vectors) == 1:
        feature_column: TableColumn | None = vectors[0]
        _warn_unused_columns(title, vectors[0], [c for c in other_columns if c is not vectors[0]])
    elif column is None and vectors:
        raise ValueError(
            f"{title} has columns of vectors, {_list_columns(vectors)}: choose one, "
            f"column={vectors[0].name!r}"
        )
    else:
        feature_column = None if column is None else _find_column(columns, column, title)
    order = None if id_column is None else _ids_from_column(id_column, title, data)
    if feature_column is None:
        values = frame if id_column is None else _drop_frame_column(frame, id_column.name)
        if id_column is not None and not len(values.columns):
            raise ValueError(
                f"{title} holds no features, only the ids {id_column.name!r} of its samples"
            )
        return TableSelection(values, order, frame, to_python_names(values.columns))
    if feature_column.kind == NUMBERS_KIND:
        return TableSelection(
            _arrow_array(feature_column.values).reshape(-1, 1), order, frame, (feature_column.name,)
        )
    return TableSelection(stack_vector_column(feature_column, title, data), order, frame)


def unusable_columns_remedy(data: Any, unusable: Sequence[Any]) -> str:
    """Return a remedy, as text with code, for the columns called ``unusable``, which have no
    numbers: how to drop or convert the columns.

    ``data``: the table, called X in the code. The remedy keeps at least one feature, or names
    another way to create features.
    """
    columns = table_columns(_as_frame(data))
    unusable_columns = [c for c in columns if c.name in unusable]
    if lists := [c for c in unusable_columns if c.kind == TEXT_LISTS_KIND]:
        return _text_vectors_remedy(lists[0])
    if object_columns := [c for c in unusable_columns if c.kind == OTHER_KIND]:
        cells = _first_cells(object_columns[0].values)
        if remedy := _object_cells_remedy(data, object_columns[0].name, cells):
            return remedy
    if numerals := [c for c in unusable_columns if c.kind == NUMERALS_KIND]:
        return (
            f"{_list_columns(numerals)}: numbers as text or objects; pass "
            f"{_cast_to_float_code(data, numerals)}"
        )
    if len(unusable_columns) == len(columns):
        return (
            f"no column contains numbers; for classes pass {_one_hot_code(data)}, for texts use "
            "a model"
        )
    return drop_columns_remedy(data, [c.name for c in unusable_columns])


def _text_vectors_remedy(column: TableColumn) -> str:
    """Return the code to parse vectors from text: JSON, or the format of printed NumPy arrays."""
    column_code = f"X[{column.name!r}]"
    texts = [str(text) for text in _first_cells(column.values)]
    statement = f"{column.name!r} holds vectors written as text"
    if any("..." in text for text in texts):
        return f"{statement}, with numbers left out (...); write them again as lists, x.tolist()"
    if all("," in text or len(text.split()) == 1 for text in texts):
        return f"{statement}; pass np.array([json.loads(str(text)) for text in {column_code}])"
    return (
        f"{statement}; pass np.array([str(text).strip(' []').split() for text in {column_code}], "
        "float)"
    )


def _object_cells_remedy(data: Any, name: Any, cells: Sequence[Any]) -> str:
    """Return a remedy, as text, for the column ``name`` of neither numbers nor words, from
    ``cells``, the first cells of the column; "" if no remedy fits. ``data``: the table."""
    if not cells:
        return f"{name!r} has no values; leave out the column, {_drop_columns_code(data, [name])}"
    if all(isinstance(cell, complex) for cell in cells):
        return "take the absolute value, abs(X), or X.to_numpy().real and .imag side by side"
    if all(isinstance(cell, dict) for cell in cells):
        code = f"pd.json_normalize(X[{name!r}].to_list())"
        return f"{name!r} holds records; pass {code}"
    if any(not isinstance(cell, str) and np.ndim(cell) == 1 for cell in cells):
        return (
            f"{name!r} holds vectors with words or missing numbers; pass "
            f"np.array([list(v) for v in X[{name!r}]], dtype=float), in which a missing number is "
            "NaN, and leave those rows out"
        )
    return ""


def _drop_columns_code(data: Any, names: Sequence[Any]) -> str:
    ellipsis = ["..."] * (len(names) > MAX_LISTED_COLUMNS)
    name_list = ", ".join([*map(repr, names[:MAX_LISTED_COLUMNS]), *ellipsis])
    if hasattr(data, "iloc"):
        return f"X.drop(columns=[{name_list}])"
    return f"X.drop_columns([{name_list}])" if _is_arrow(data) else f"X.drop({name_list})"


def drop_columns_remedy(data: Any, names: Sequence[Any], *, have_ids: bool = True) -> str:
    """Return advice with code, as text, to drop the columns ``names`` of the table ``data``; with
    ``have_ids`` also to use the first of these columns as sample ids. The code calls the table
    X."""
    code = f"leave out columns without features, {_drop_columns_code(data, names)}"
    if not have_ids:
        return code
    ids = f"rs.Representation(X, ids={names[0]!r})"
    if hasattr(data, "iloc"):
        ids = f"X.set_index({names[0]!r})"
    return f"{code}, or use a column as sample ids, {ids}"


def _cast_to_float_code(data: Any, columns: Sequence[TableColumn]) -> str:
    """Return the code, as text, to convert columns of numbers, stored as text or objects, to float.
    The code calls the table X. ``data``: the table, which decides between pandas, polars and
    pyarrow."""
    pairs = ", ".join(f"{c.name!r}: float" for c in columns)
    if hasattr(data, "iloc"):
        return f"X.astype({{{pairs}}})"
    return f"X.to_pandas().astype({{{pairs}}})" if _is_arrow(data) else f"X.cast({{{pairs}}})"


def _one_hot_code(data: Any) -> str:
    if hasattr(data, "iloc"):
        return "pd.get_dummies(X)"
    return "pd.get_dummies(X.to_pandas())" if _is_arrow(data) else "X.to_dummies()"


# ------------------------------------------------------------------------------------------ columns


def table_columns(data: Any) -> list[TableColumn]:
    """Return the columns of ``data``, a pandas or polars DataFrame, with the kind of values."""
    if hasattr(data, "iloc"):
        columns = [(name, data.iloc[:, index]) for index, name in enumerate(data.columns)]
    else:
        columns = [(name, data.get_column(name)) for name in data.columns]
    return [make_table_column(name, values) for name, values in columns]


def make_table_column(name: Any, values: Any) -> TableColumn:
    """Return a pandas or polars Series, or a pyarrow Array, as a column called ``name``, with the
    kind of values."""
    return TableColumn(name, _column_kind(values), values)


def is_numeric_dtype(dtype: Any) -> bool:
    """Return whether a pandas or polars dtype is a dtype of real numbers or booleans."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biuf"
    return bool(dtype.is_numeric() or str(dtype) == "Boolean")  # polars


def _column_kind(values: Any) -> str:
    dtype = values.dtype if hasattr(values, "dtype") else values.type
    kind, text = getattr(dtype, "kind", None), str(dtype).lower()
    if re.match(r"(fixed_size_|large_)?list|array\(", text):
        inner = re.search(r"float|double|int|bool", text)
        return VECTORS_KIND if inner and not re.search(r"string|struct", text) else OTHER_KIND
    if (hasattr(dtype, "is_numeric") or kind is not None) and is_numeric_dtype(dtype):
        return NUMBERS_KIND
    if text == "object" or text.startswith(("str", "large_string", "cat", "dictionary", "utf")):
        return _object_cells_kind(_first_cells(values))
    if re.match(r"u?int\d|float|double|halffloat|bool|decimal", text):
        return NUMBERS_KIND
    return OTHER_KIND


def _first_cells(values: Any) -> list[Any]:
    """Return the first cells, at most 100, without missing values, as Python objects."""
    if hasattr(values, "iloc"):
        return list(values.dropna().iloc[:MAX_INSPECTED_CELLS])
    cells = values.slice(0, MAX_INSPECTED_CELLS)
    objects = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.to_list()
    return [cell for cell in objects if cell is not None]


def _object_cells_kind(cells: list[Any]) -> str:
    if not cells:
        return OTHER_KIND
    if all(isinstance(cell, str) for cell in cells):
        if all(_is_number_text(cell) for cell in cells):
            return NUMERALS_KIND
        if all(re.match(r"\s*\[.*\]\s*$", cell, re.DOTALL) for cell in cells):
            return TEXT_LISTS_KIND
        return WORDS_KIND
    if all(isinstance(cell, list | tuple) or hasattr(cell, "shape") for cell in cells):
        kinds = {np.asarray(cell).dtype.kind for cell in cells if np.ndim(cell)}
        return VECTORS_KIND if kinds and kinds <= set("biuf") else OTHER_KIND
    if all(
        isinstance(cell, int | float | np.number) or is_decimal_or_fraction(cell) for cell in cells
    ):
        return NUMERALS_KIND
    return OTHER_KIND


def is_decimal_or_fraction(cell: Any) -> bool:
    """Return whether a cell is a Python ``Decimal`` or ``Fraction``."""
    return type(cell).__module__ in ("decimal", "fractions")


def _is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _holds_sample_ids(column: TableColumn, columns: Sequence[TableColumn]) -> bool:
    """Return whether a column contains sample ids: a usual name of ids with words, or with distinct
    integers beside a column of vectors. ``columns``: all columns of the table."""
    if not ID_COLUMN_NAME.fullmatch(str(column.name)):
        return False
    if column.kind in (WORDS_KIND, NUMERALS_KIND):
        return column.kind == WORDS_KIND or any(c.kind == VECTORS_KIND for c in columns)
    if column.kind != NUMBERS_KIND or not any(c.kind == VECTORS_KIND for c in columns):
        return False
    numbers = _arrow_array(column.values)
    return numbers.dtype.kind in "iu" and len(np.unique(numbers)) == len(numbers)


def _find_column(columns: Sequence[TableColumn], name: str, title: str) -> TableColumn:
    matches = [c for c in columns if c.name == name]
    if len(matches) > 1:
        raise ValueError(f"{title} has {len(matches)} columns called {name!r}; rename them")
    column = next(iter(matches), None)
    if column is None:
        names = [str(c.name) for c in columns]
        raise ValueError(f"{title} has no column {name!r}{did_you_mean(name, names)}")
    return column


def _has_named_index(frame: Any) -> bool:
    """Return whether the index of ``frame``, a pandas DataFrame, contains sample names, not only
    row numbers; False for another table."""
    if not hasattr(frame, "iloc"):
        return False
    index = frame.index
    return index.nlevels > 1 or index.name is not None or np.asarray(index).dtype.kind not in "iu"


def _ids_from_column(column: TableColumn, title: str, data: Any) -> tuple[Hashable, ...]:
    values = column.values
    cells = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
    if column.kind in (VECTORS_KIND, TEXT_LISTS_KIND):
        raise ValueError(f"{title}: column {column.name!r} holds vectors, not ids")
    empty_rows = [row for row, cell in enumerate(cells) if cell is None or cell != cell]
    if empty_rows:
        raise ValueError(
            f"{title}: column {column.name!r} has no id in row {empty_rows[0]}; leave out rows "
            f"without one, {_drop_missing_rows_code(data, column.name)}"
        )
    return tuple(cells)


def _warn_unused_columns(
    title: str, vector_column: TableColumn, other_columns: Sequence[TableColumn]
) -> None:
    """Warn about ``other_columns``, omitted beside the column of vectors; raise ``ValueError`` if
    omitted columns may be features. ``title``: the table in messages."""
    features = [
        c
        for c in other_columns
        if c.kind == NUMBERS_KIND and _arrow_array(c.values).dtype.kind == "f"
    ]
    if features:
        raise ValueError(
            f"{title} has a column of vectors, {vector_column.name!r}, beside numbers, "
            f"{_list_columns(features)}; for the vectors alone pass column={vector_column.name!r} "
            "to rs.Representation"
        )
    if other_columns:
        warn(
            f"{title}: the vectors are {vector_column.name!r}; left out: "
            f"{_list_columns(other_columns)}"
        )


# ------------------------------------------------------------------------------------------ vectors


def stack_vector_column(column: TableColumn, title: str, data: Any) -> np.ndarray:
    """Return a column of vectors as an (n, d) array, without creating a Python object per number.

    ``data`` is the table of the column; an error message suggests how to select rows of ``data``.
    Raises ``ValueError`` with the row of a missing vector or of a vector of another length.
    """
    if column.kind != VECTORS_KIND:
        content = "dates or objects" if column.kind == OTHER_KIND else column.kind
        raise ValueError(f"{title}: column {column.name!r} holds {content}, not vectors of numbers")
    values = column.values
    if hasattr(values, "iloc") and str(values.dtype) != "object":
        values = values.array.__arrow_array__()
    if hasattr(values, "null_count") and hasattr(values, "type"):
        return _vectors_from_arrow(values, column.name, title, data)
    if hasattr(values, "explode") and not hasattr(values, "iloc"):
        return _vectors_from_polars(values, column.name, title, data)
    cells = list(values)
    lengths = np.array([-1 if _is_missing_cell(cell) else len(cell) for cell in cells])
    _common_vector_length(lengths, column.name, title, data)
    return np.stack([np.asarray(cell) for cell in cells])


def _vectors_from_arrow(values: Any, name: Any, title: str, data: Any) -> np.ndarray:
    blocks, lengths = [], []
    for chunk in getattr(values, "chunks", [values]):
        is_valid = np.asarray(chunk.is_valid())
        if hasattr(chunk, "offsets"):
            sizes = np.diff(chunk.offsets.to_numpy())
        else:
            sizes = np.full(len(chunk), chunk.type.list_size)
        lengths.append(np.where(is_valid, sizes, -1))
        blocks.append(chunk.flatten().to_numpy(zero_copy_only=False))
    width = _common_vector_length(np.concatenate(lengths), name, title, data)
    return (blocks[0] if len(blocks) == 1 else np.concatenate(blocks)).reshape(-1, width)


def _vectors_from_polars(values: Any, name: Any, title: str, data: Any) -> np.ndarray:
    if "array" in str(values.dtype).lower():
        lengths = np.where(values.is_null().to_numpy(), -1, values.dtype.shape[0])
    else:
        lengths = values.list.len().cast(int).fill_null(-1).to_numpy()
    width = _common_vector_length(lengths, name, title, data)
    return np.asarray(values.explode().to_numpy()).reshape(len(values), width)


def _common_vector_length(lengths: np.ndarray, name: Any, title: str, data: Any) -> int:
    """Return the common length of all vectors; raise ``ValueError`` if lengths differ, or if a
    vector is missing.

    ``lengths``: the length of the vector of each row, -1 for a missing vector. ``name``: the column
    of the table ``data``; None if ``data`` is a single column.
    """
    location = title if name is None else f"{title}: column {name!r}"
    if not lengths.size or not lengths.any():
        raise ValueError(f"{location} has no numbers")
    sizes, counts = np.unique(lengths[lengths >= 0], return_counts=True)
    common_length, n_others = int(sizes[np.argmax(counts)]) if sizes.size else 0, len(lengths)
    if (lengths < 0).any():
        row, n_others = int(np.argmax(lengths < 0)), int((lengths < 0).sum()) - 1
        problem, remedy = f"has no vector in row {row}", _drop_missing_rows_code(data, name)
    elif len(sizes) > 1:
        row = int(np.argmax(lengths != common_length))
        n_others = int((lengths != common_length).sum()) - 1
        problem = (
            f"has vectors of different lengths: most have {common_length} numbers, row {row} has "
            f"{int(lengths[row])}"
        )
        remedy = _select_length_code(data, name, common_length)
    else:
        return common_length
    note = f" ({n_others} more)" * (n_others > 0)
    raise ValueError(
        f"{location} {problem}{note}; leave those rows out, in all representations: {remedy}"
    )


def _drop_missing_rows_code(data: Any, name: Any) -> str:
    """Return the code, as text, to drop rows without a vector; the code calls the data X.

    ``name``: the column of the table ``data``; None if ``data`` is a single column.
    """
    if name is None:
        methods = {"iloc": "dropna", "drop_null": "drop_null"}
        return f"X.{next((m for a, m in methods.items() if hasattr(data, a)), 'drop_nulls')}()"
    if hasattr(data, "iloc"):
        return f"X.dropna(subset=[{name!r}])"
    return f"X.filter(X[{name!r}].is_valid())" if _is_arrow(data) else f"X.drop_nulls({name!r})"


def _select_length_code(data: Any, name: Any, length: int) -> str:
    """Return the code, as text, to select the rows with vectors of a length; the code calls the
    data X.

    ``name``: the column of the table ``data``; None if ``data`` is a single column.
    """
    column_code = "X" if name is None else f"X[{name!r}]"
    if hasattr(data, "iloc"):
        return f"X[{column_code}.map(len) == {length}]"
    if hasattr(data, "to_pylist"):
        lengths = f"pyarrow.compute.list_value_length({column_code})"
        return f"X.filter(pyarrow.compute.equal({lengths}, {length}))"
    return f"X.filter({column_code}.list.len() == {length})"


# ------------------------------------------------------------------------------------------- pieces


def _is_arrow(data: Any) -> bool:
    return hasattr(data, "schema") and hasattr(data, "column_names") and hasattr(data, "__array__")


def _is_missing_cell(cell: Any) -> bool:
    return not hasattr(cell, "__len__")


def _arrow_array(values: Any) -> np.ndarray:
    numbers = values.to_numpy()
    if numbers.dtype == object:  # a pandas column with missing numbers
        numbers = values.to_numpy(dtype="float64", na_value=np.nan)
    return np.asarray(numbers)


def _drop_frame_column(frame: Any, name: Any) -> Any:
    return frame.drop(columns=[name]) if hasattr(frame, "iloc") else frame.drop(name)


def _as_frame(data: Any) -> Any:
    """Return a pyarrow Table as a pandas DataFrame with vectors still stored by pyarrow; another
    table unchanged."""
    if not _is_arrow(data):
        return data
    pandas = import_optional("pandas")
    return data.to_pandas(
        types_mapper=lambda kind: pandas.ArrowDtype(kind) if "list" in str(kind) else None
    )


def _list_columns(columns: Sequence[TableColumn]) -> str:
    return list_names((repr(c.name) for c in columns), MAX_LISTED_COLUMNS)
