"""Convert users' arrays, tables and files to an array with sample ids and feature names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from ..base.arrays import Array, has_no_values, is_on_several_devices, is_torch, namespace
from ..base.formatting import list_names
from ..significance.labels import is_missing_label
from .columns import FeatureNames, dataarray_coordinate_ids, dataarray_feature_names
from .frames import (
    VECTORS_KIND,
    drop_columns_remedy,
    is_column,
    is_decimal_or_fraction,
    is_numeric_dtype,
    is_table,
    make_table_column,
    select_features,
    stack_vector_column,
    unusable_columns_remedy,
)
from .lists import list_problem, stack_mapping
from .sample_ids import NUMERIC_ID_COLUMN_NAME, are_table_slices, id_spelling_hint

# The samples of the rows: ids, a range if the rows are only numbered 0, 1, ..., or None if unknown
SampleOrder = tuple[Hashable, ...] | range | None
TRANSPOSED_HINT = "; did you pass (n_features, n_samples)?"
# In a table with at least this many rows, a column 0, 1, 2, ... is an old index, not a feature
MIN_ROWS_FOR_INDEX_COLUMN = 10
NUMERIC_KINDS = ("bool", "integral", "real floating")
LABEL_COLUMN_NAMES = ("label", "labels", "class", "target")  # usual names of class labels
SAMPLE_DIMENSION_NAMES = (
    "sample",
    "samples",
    "trial",
    "trials",
    "stimulus",
    "stimuli",
    "presentation",
)


SHAPE_REMEDIES = {
    1: "; for one feature per sample write X[:, None], or X.to_frame()",
    3: '; pool it first, for example rs.from_tokens(X, pool="mean")',
    4: '; pool it first, for example rs.from_maps(X, pool="mean")',
}


class LabeledArray(NamedTuple):
    """An array in the original library, the samples of the rows, and the names of the columns."""

    array: Array
    order: SampleOrder
    features: FeatureNames = None


def as_labeled_array(
    data: Any, title: str, ids: Iterable[Hashable] | str | None = None, column: str | None = None
) -> LabeledArray:
    """Return a user's data as an array of real numbers with sample ids and feature names.

    ``data``: an array, a table, a mapping from ids to vectors, or anything ``numpy.asarray``
    understands. ``title``: the data in errors. ``ids``: the sample ids, or the column of a table
    with the ids; by default from the data. ``column``: the column of a table with the vectors.
    Raises ``ValueError`` with a remedy for other data, and for values other than real numbers.
    """
    is_named = column is not None or isinstance(ids, str)
    if type(data) is np.ndarray and data.dtype.kind in "biuf" and not is_named:
        return LabeledArray(data, None if ids is None else to_python_ids(ids))
    if (vectors := stack_mapping(data, title, has_ids=ids is not None)) is not None:
        data, ids = vectors.array, vectors.ids if ids is None else ids
    if problem := _input_problem(data):
        raise ValueError(f"{title} {problem}")
    if is_table(data):
        selection = select_features(data, title, column, ids)
        ids = selection.ids if ids is None or isinstance(ids, str) else ids
        array = selection.values
        if is_table(array):
            array = _table_to_array(array, title, data)
        data, names = selection.frame, selection.features
    elif is_named:
        option = f"column={column!r}" if column is not None else f"ids={ids!r}"
        raise ValueError(
            f"{title} is not a table; leave out {option}, which names a column of a table"
        )
    else:
        array, names = _real_number_array(data, title), None
        if array.ndim == 2:
            names = dataarray_feature_names(data, array.shape[1])
    if not _holds_real_numbers(array):
        raise ValueError(
            f"{title} must hold real numbers; got dtype {array.dtype}; {_conversion_remedy(array)}"
        )
    order = sample_order(data, title)
    return LabeledArray(array, order if ids is None else to_python_ids(ids), names)


def _holds_real_numbers(array: Array) -> bool:
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
        return True  # much faster than ``isdtype``
    if getattr(array.dtype, "names", None) or getattr(array.dtype, "kind", "") == "T":
        return False
    return bool(namespace(array).isdtype(array.dtype, NUMERIC_KINDS))


def validated_name(name: Any) -> str:
    """Return the name of a representation, "" for None; raise ``ValueError`` for another type, such
    as a list of ids."""
    if name is None:
        return ""
    if not isinstance(name, str):
        raise ValueError(
            f"the name of a representation must be a word; got {type(name).__name__}; sample ids "
            "are given by name, ids=..."
        )
    return name


def as_read_only(array: Array) -> Array:
    """Return a read-only view of a NumPy array, because a measure that writes to an array would
    change the data of the next measure; an array of another library unchanged."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def sample_order(data: Any, title: str) -> SampleOrder:
    """Return the sample ids from the index of a table or from the first coordinate of a DataArray;
    None for other data, and without such a coordinate.

    An index 0, 1, ..., n - 1 does not name samples and becomes ``range(n)``. Raises ``ValueError``
    for an index with missing values; ``title``: the data in the message.
    """
    if hasattr(data, "iloc"):
        index = data.index
    elif _is_dataarray(data):
        index = data.indexes.get(data.dims[0]) if data.dims else None
        if index is None:
            return dataarray_coordinate_ids(data) or None
    else:
        return None
    if index.isna().any() if index.nlevels == 1 else False:
        raise ValueError(
            f"{title} has missing values in its index; fill them in, or drop the index: "
            "reset_index()"
        )
    numbers = np.asarray(index)
    if numbers.dtype.kind in "iu" and np.array_equal(numbers, np.arange(len(numbers))):
        return range(len(numbers))
    return tuple(index)


def to_python_ids(ids: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return ids as Python numbers and strings, which compare equal across libraries.

    Raises ``ValueError`` for a set, which has no order, for a two-dimensional array of ids, and for
    a missing id.
    """
    if isinstance(ids, set | frozenset):
        raise ValueError(f"ids must be a list, one for each row; got {type(ids).__name__}")
    if len(shape := tuple(getattr(ids, "shape", (0,)))) != 1:
        remedy = "; pass ids[:, 0]" if shape[1:] == (1,) else ""
        raise ValueError(f"ids must be a list, one for each row; got shape {shape}{remedy}")
    # tolist() drops the unit of NumPy dates and durations
    kind = getattr(getattr(ids, "dtype", None), "kind", "")
    python_ids = tuple(
        ids.tolist()
        if hasattr(ids, "tolist") and kind not in ("m", "M")
        else map(_to_python_id, ids)
    )
    missing_rows = [row for row, name in enumerate(python_ids) if is_missing_label(name)]
    if missing_rows:
        raise ValueError(
            f"ids: row {missing_rows[0]} has none, but {python_ids[missing_rows[0]]!r}; name that "
            "sample, or leave it out of the data and of ids, in all representations"
        )
    return python_ids


def _to_python_id(value: Any) -> Any:
    """Return an id (possibly a tuple) with NumPy scalars converted to Python objects."""
    if isinstance(value, tuple):
        return tuple(map(_to_python_id, value))
    is_number_or_word = isinstance(value, np.generic) and value.dtype.kind not in ("m", "M")
    return value.item() if is_number_or_word else value


def check_array_shape(title: str, array: Array, order: SampleOrder, features: FeatureNames) -> None:
    """Raise ``ValueError``, with a remedy, for an ``array`` with another shape than (n, d), and for
    ids or feature names that do not fit the shape. ``order``: the ids, or None. ``features``: the
    names of the columns, or None."""
    if array.ndim == 1 and not len(array):
        raise ValueError(f"{title} is empty: shape {tuple(array.shape)}")
    if array.ndim != 2:
        flatten_hint = "; to put all values of a sample side by side write X.reshape(len(X), -1)"
        remedy = SHAPE_REMEDIES.get(array.ndim, flatten_hint if array.ndim > 2 else "")
        raise ValueError(
            f"{title} must be (n_samples, n_features); got shape {tuple(array.shape)}{remedy}"
        )
    if 0 in array.shape:
        raise ValueError(f"{title} is empty: shape {tuple(array.shape)}")
    if order is None and features is None:
        return
    labels = ("samples", "ids", order), ("features", "names of features", features)
    for (noun, label, names), length in zip(labels, array.shape):
        if names is None:
            continue
        if len(names) != length:
            raise ValueError(f"{title} has {length} {noun} but {len(names)} {label}")
        try:
            hash(names)
        except TypeError as error:
            raise ValueError(
                f"{title}: {label} must be words, numbers or tuples of them ({error})"
            ) from None


def stimulus_of_each_row(ids: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """Return the stimulus of each row, (n,), if stimuli repeat, else (). The stimulus is the id in
    ``ids``, or the first part of an id (stimulus, trial)."""
    names = [i[0] if isinstance(i, tuple) and len(i) == 2 else i for i in ids or ()]
    return tuple(names) if len(set(names)) < len(names) else ()


def check_sample_order(caller: str, x: str, x_ids: SampleOrder, y: str, y_ids: SampleOrder) -> None:
    """Raise ``ValueError`` if the ids show that x and y differ in samples or in the order of
    samples; None, for unknown ids, passes.

    ``caller``, ``x``, ``y``: the function and the two sides in messages. Rows without names,
    numbered 0, 1, ..., may belong to any samples, unless the ids of the other side are the same
    numbers in another order.
    """
    if x_ids is None or y_ids is None or tuple(x_ids) == tuple(y_ids):
        return
    if repeated_ids := [
        name for ids in (x_ids, y_ids) for name, n in Counter(ids).items() if n > 1
    ]:
        problem = (
            "the samples of {} in a different order" if Counter(x_ids) == Counter(y_ids) else ""
        )
        problem = problem or "sample ids that {} does not have"
        raise ValueError(
            f"{caller}: {y} has {problem.format(x)}, and {repeated_ids[0]!r} occurs several "
            "times, so rows cannot be matched; average repeats on both sides, "
            "rs.condition_means(X, ids), or number them, ids=[(sample, trial), ...]"
        )
    if Counter(x_ids) == Counter(y_ids):
        raise ValueError(
            f"{caller}: {y} has the samples of {x} in a different order; match the order with "
            "rs.join_samples, or with .loc[other.index] for data frames (or drop the index, if "
            "the rows belong together: reset_index(drop=True))"
        )
    are_halves = False
    if isinstance(x_ids, range) or isinstance(y_ids, range):
        are_halves = are_table_slices(x_ids, y_ids)
        if not are_halves:
            return
    if are_halves or not set(x_ids) & set(y_ids):
        spans = " and ".join(f"{ids[0]!r} to {ids[-1]!r}" for ids in (x_ids, y_ids))
        slice_note = f"; the ids are {spans}, like two parts of one table" if are_halves else ""
        remedy = id_spelling_hint(x_ids, y_ids) or (
            "; compare the same samples, X.loc[Y.index] of the whole table (or drop the index, if "
            "the rows belong together: reset_index(drop=True))"
        )
        raise ValueError(
            f"{caller}: {y} has sample ids that {x} does not have, such as "
            f"{next(i for i in y_ids if i not in set(x_ids))!r}{slice_note}{remedy}"
        )
    example = next((b for b in y_ids if b not in set(x_ids)), y_ids[0])
    raise ValueError(
        f"{caller}: {y} has sample ids that {x} does not have, such as {example!r}; "
        "rs.join_samples keeps the common samples (or drop the index, if the rows belong "
        "together: reset_index(drop=True))"
    )


def check_label_order(caller: str, x: str, x_ids: SampleOrder, **labels: Any) -> None:
    """Raise ``ValueError`` for labels with an index of other samples than ``x_ids``, or in another
    order. ``caller``, ``x``: the function and the side in messages. ``labels``: by the name of the
    argument."""
    for role, values in labels.items():
        check_sample_order(caller, x, x_ids, f"{role}=", sample_order(values, f"{role}="))


def is_single_input(data: Any) -> bool:
    """Return whether data are a single array, table, file or model, not a collection."""
    if isinstance(data, str | Path | bytes):
        return True
    if any(hasattr(data, name) for name in ("__array__", "column_names", "named_modules")):
        return True
    return bool(array_api_compat.is_array_api_obj(data)) or _is_sparse_matrix(data)


def holds_named_arrays(data: Any) -> bool:
    """Return whether data are a list of pairs (name, array)."""
    return isinstance(data, list | tuple) and bool(data) and all(map(_is_named_array, data))


def _is_named_array(entry: Any) -> bool:
    is_pair = isinstance(entry, list | tuple) and len(entry) == 2
    return is_pair and isinstance(entry[0], str)


def sample_count_hint(n: int, m: int) -> str:
    """Return advice, as the end of an error message, about different numbers of samples, n and m.

    If the larger number is a multiple of the smaller, the text says that the rows may be trials of
    the same samples, and advises to average the trials or to repeat the samples. Otherwise, and if
    the smaller number is 1, the text is "".
    """
    smaller, larger = sorted((n, m))
    if not 1 < smaller < larger or larger % smaller:
        return ""
    return (
        f"; {larger} is {larger // smaller} x {smaller}: if these are {larger // smaller} trials "
        "of each sample, average them, or repeat the samples"
    )


def transposition_hint(
    x: tuple[int, int], y: tuple[int, int], names: tuple[str, str] = ("X", "Y")
) -> str:
    """Return a hint for an error about numbers of rows, if the shapes x and y look transposed; else
    "".

    ``names``: the two sides in the hint. If either of the two may be transposed, the hint names the
    side with fewer rows than columns.
    """
    are_both = x[1] == y[1] > max(x[0], y[0])
    fits = {"both": are_both, names[0]: x[1] == y[0], names[1]: x[0] == y[1]}
    if x == y[::-1]:
        fits[names[0]] = x[0] < x[1]
    suspect = next((name for name, is_match in fits.items() if is_match), None)
    return f"{TRANSPOSED_HINT} Transpose {suspect}." if suspect else ""


def row_count_hint(
    x: tuple[int, int], y: tuple[int, int], names: tuple[str, str] = ("X", "Y")
) -> str:
    """Return the hints for an error about arrays with different numbers of rows, from the shapes x
    and y: trials of the same samples, and transposed arrays; "" without a hint. ``names``: the two
    sides in the hints."""
    trials = "" if x == y[::-1] else sample_count_hint(x[0], y[0])
    return trials + transposition_hint(x, y, names)


# ------------------------------------------------------------------------------------------- arrays


def _real_number_array(data: Any, title: str) -> Array:
    if is_column(data) and (column := make_table_column(None, data)).kind == VECTORS_KIND:
        return stack_vector_column(column, title, data)
    if array_api_compat.is_array_api_obj(data):
        array = np.asarray(data) if isinstance(data, np.matrix) else data
    else:
        try:
            array = np.asarray(data)
        except (ValueError, RuntimeError, TypeError) as error:
            reason = (
                list_problem(data) or "is not an array of numbers: its rows have different lengths"
            )
            raise ValueError(f"{title} {reason}") from error
        is_odd = array.ndim > 2 or array.dtype == object
        if isinstance(data, list | tuple) and is_odd and (reason := list_problem(data)):
            raise ValueError(f"{title} {reason}")
    if isinstance(array, np.ndarray) and array.dtype == object:
        return _stack_object_rows(array, title)
    return array


def _stack_object_rows(array: np.ndarray, title: str) -> np.ndarray:
    """Return the rows of ``array``, stored as objects, such as embeddings in a column of a table,
    as a numeric array. Raises ``ValueError`` for rows of different shapes, and for other objects.
    ``title``: the data in errors."""
    rows = [np.asarray(row) for row in array] if array.ndim == 1 else []
    if rows and all(row.ndim and row.dtype.kind in "biuf" for row in rows):
        if len({row.shape for row in rows}) == 1:
            return np.stack(rows)
        raise ValueError(f"{title} {list_problem(list(array))}")
    example = next(iter(array.ravel()), None)
    if isinstance(example, int | float | np.number) or is_decimal_or_fraction(example):
        raise ValueError(
            f"{title} must hold real numbers; got dtype object; if all are numbers, pass "
            "np.asarray(X, dtype=float)"
        )
    raise ValueError(
        f"{title} must hold real numbers; got Python objects, the first of type "
        f"{type(example).__name__}"
    )


def _conversion_remedy(array: Array) -> str:
    """Return a remedy, as text with code, for an array with values other than real numbers."""
    if "complex" in str(array.dtype):
        return "take abs(X), or X.real and X.imag side by side"
    if getattr(array.dtype, "names", None):
        return _structured_array_remedy(array.dtype)
    if getattr(array.dtype, "kind", "") in ("S", "U", "T"):
        return _text_array_remedy(array)
    return "convert them first"


def _structured_array_remedy(dtype: Any) -> str:
    """Return a remedy, as text, for an array with the structured ``dtype``: pass a field of
    vectors, or stack all numeric fields."""
    fields = {name: dtype.fields[name][0] for name in dtype.names}
    numbers = [name for name, field in fields.items() if field.base.kind in "biuf"]
    vectors = [name for name in numbers if fields[name].shape]
    statement = f"it has fields {', '.join(fields)}: "
    if vectors:
        return f"{statement}pass X[{vectors[0]!r}]"
    numbers = [name for name in numbers if not NUMERIC_ID_COLUMN_NAME.fullmatch(name)] or numbers
    return f"{statement}pass np.column_stack([X[field] for field in {numbers}])"


def _text_array_remedy(array: Array) -> str:
    try:
        np.asarray(array).astype(float)
    except ValueError:
        example = str(np.asarray(array).ravel()[0])[:40]
        return (
            f"it holds words, such as {example!r}; if the words name samples, pass the words as "
            "ids: rs.Representation(features, ids=words)"
        )
    return "they are numbers written as text, pass X.astype(float)"


def _table_to_array(data: Any, title: str, table: Any) -> np.ndarray:
    """Return the columns of ``data``, a pandas or polars DataFrame, as an array (n, d).

    ``title``: the table in errors. ``table``: the user's original table, for remedies. Raises
    ``ValueError`` for columns that are not numbers, and for columns that number the rows or look
    like labels.
    """
    text_columns = [
        name for name, dtype in zip(data.columns, data.dtypes) if not is_numeric_dtype(dtype)
    ]
    if text_columns:
        raise ValueError(
            f"{title} has columns that are not numbers: {_abbreviate_names(text_columns)}; "
            f"{unusable_columns_remedy(table, text_columns)}"
        )
    values: np.ndarray = data.to_numpy()
    if values.dtype == object:  # pandas columns with missing numbers
        values = data.to_numpy(dtype="float64", na_value=np.nan)
    if len(values) >= MIN_ROWS_FOR_INDEX_COLUMN and values.shape[1] > 1:
        first_row, steps = values[:1], np.arange(len(values))[:, None]
        with np.errstate(invalid="ignore"):
            are_whole = (values % 1 == 0).all(axis=0)
        are_counts = (values == first_row + steps).all(axis=0) & are_whole
        are_counts |= _are_shuffled_ranges(values, are_whole)
        numbers = [name for name, is_count in zip(data.columns, are_counts) if is_count]
        labels = []
        if not are_whole.all():  # word counts are all integers, and a word may be "class"
            whole_columns = ((data.columns[i], values[:, i]) for i in np.flatnonzero(are_whole))
            labels = [name for name, column in whole_columns if _is_label_column(name, column)]
        numbers += [
            n for n, v in zip(data.columns, values.T) if n not in numbers and _is_id_column(n, v)
        ]
        if numbers or labels:
            predicate = "numbers its rows" if numbers else "looks like a label"
            remedy = drop_columns_remedy(table, numbers or labels, have_ids=bool(numbers))
            raise ValueError(
                f"{title} has a column that {predicate}: {_abbreviate_names(numbers or labels)}; "
                f"{remedy}; if it "
                f"is a feature, pass X.to_numpy(){', and ids=X.index' * hasattr(data, 'iloc')}"
            )
    return values


def _are_shuffled_ranges(values: np.ndarray, are_whole: np.ndarray) -> np.ndarray:
    """Return, for each column of ``values`` (n, d), whether the column contains consecutive
    integers in any order: (d,).

    ``are_whole``: whether each column has whole numbers only, (d,). If all columns are such ranges,
    the columns are ranks, not row numbers, and the result is False for all columns.
    """
    n = len(values)
    with np.errstate(invalid="ignore"):
        are_spans = are_whole & (values.max(axis=0) * 1.0 - values.min(axis=0) == n - 1)
    unique = [is_span and len(np.unique(v)) == n for is_span, v in zip(are_spans, values.T)]
    return np.array(unique) & (not all(unique))


def _is_id_column(name: Any, column: np.ndarray) -> bool:
    """Return whether a column has a usual name of row numbers and a distinct integer in each
    row."""
    if (
        not NUMERIC_ID_COLUMN_NAME.fullmatch(str(name))
        or not np.isfinite(column).all()
        or (column % 1).any()
    ):
        return False
    return len(np.unique(column)) == len(column)


def _is_label_column(name: Any, column: np.ndarray) -> bool:
    return str(name).lower() in LABEL_COLUMN_NAMES and 2 * len(np.unique(column)) <= len(column)


# ------------------------------------------------------------------------ data other than arrays


def _input_problem(data: Any) -> str:
    """Return why data are not an array of numbers, with a remedy; "" if data may be an array."""
    if isinstance(data, type):
        return f"is the class {data.__name__}, not an array"
    if isinstance(data, np.ma.MaskedArray):
        remedy = "drop or fill the masked samples first, X.filled(np.nan)"
        remedy = remedy if np.ma.is_masked(data) else "nothing is masked, so pass X.data"
        return f"is a masked array, which is not supported: {remedy}"
    if _is_sparse_matrix(data):
        return "is a sparse matrix, which is not supported: pass data.toarray()"
    if is_torch(data):
        return _tensor_problem(data)
    if has_no_values(data):
        return (
            "has no values inside jax.jit, jax.vmap and jax.lax, and measures need values; call "
            "the measure outside, where jax.grad works, or with jax.pure_callback"
        )
    if is_on_several_devices(data):
        return "is spread over several devices: pass jax.device_put(X, jax.devices()[0])"
    if hasattr(data, "obs_names") and hasattr(data, "obsm"):
        return (
            "is an AnnData; pass rs.Representation(adata.X, ids=adata.obs_names), or an array of "
            "its obsm"
        )
    if type(data).__name__ == "LazyFrame":
        return "is a LazyFrame, which has no values yet: pass X.collect()"
    if _is_dataarray(data) and [str(d).lower() in SAMPLE_DIMENSION_NAMES for d in data.dims] == [
        False,
        True,
    ]:
        return (
            f"has the dimensions {data.dims}, samples last: pass X.T, or X.to_numpy() if its rows "
            "are what you compare"
        )
    if hasattr(data, "named_modules"):
        return (
            "is a model; pass its activations for your inputs: rs.extract_features(model, loader)"
        )
    if isinstance(getattr(data, "layers", None), Mapping):
        return (
            f"is a model with layers {_abbreviate_names(data.layers)}; pass one, X.layers[...], "
            "or all to rs.compare"
        )
    if hasattr(data, "column_names") and not hasattr(data, "__array__"):
        code = f"one, np.asarray(X[{data.column_names[0]!r}])"
        code = "X.to_pandas()" if hasattr(data, "to_pandas") else code
        return f"is a dataset with columns {_abbreviate_names(data.column_names)}; pass {code}"
    if isinstance(data, Mapping):
        return (
            f"is a mapping with {_abbreviate_names(data)}; pass one of its arrays, or all to "
            "rs.compare"
        )
    if isinstance(data, Iterator):
        return f"is a {type(data).__name__}, which can be read only once; pass list(X)"
    if holds_named_arrays(data):
        return "is a list of names and arrays; pass one of its arrays, or dict(X) to rs.compare"
    if isinstance(getattr(data, "cache", None), dict):
        return "is a Representation already; pass it as it is, or its array, X.source"
    return "is None, not an array" if data is None else ""


def _tensor_problem(data: Any) -> str:
    if data.is_nested:
        return (
            "is a nested tensor: pass the means of its parts, torch.stack([x.mean(0) for x in "
            "X.unbind()])"
        )
    if str(data.layout) != "torch.strided":
        return f"is a sparse tensor ({data.layout}), which is not supported: pass X.to_dense()"
    if data.is_meta:
        return "has no values: it is on the device 'meta'"
    if data.is_quantized:
        return "is a quantized tensor: pass X.dequantize()"
    return f"has dtype {data.dtype}: pass X.float()" if "float8" in str(data.dtype) else ""


def _is_dataarray(data: Any) -> bool:
    return hasattr(data, "dims") and hasattr(data, "indexes")


def _is_sparse_matrix(data: Any) -> bool:
    return type(data).__module__.startswith("scipy.sparse")


def _abbreviate_names(names: Any) -> str:
    return list_names(map(repr, names), 5) or "nothing in it"
