"""Samples with annotations: values of AnnData, sparse or backed by a file, and the labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import to_numpy
from ..base.extras import import_optional
from ..base.formatting import list_names
from ..base.text import did_you_mean
from ..data.inputs import check_sample_order, sample_order
from ..data.representation import Representation, read_array
from ..significance.labels import is_missing_label

CONTROL_NAMES = frozenset({
    "control", "controls", "ctrl", "negctrl", "neg", "negative", "negativecontrol", "nt", "ntc",
    "nontargeting", "nontargetingcontrol", "scramble", "scrambled", "intergenic", "unperturbed",
    "untreated", "vehicle", "dmso", "mock", "gal4", "gfp",
})  # fmt: skip
# Arrays of these libraries become dense a few rows at a time.
LAZY_ARRAY_LIBRARIES = {"scipy", "h5py", "anndata", "zarr"}
MAX_LISTED_LABELS = 20


class LabelledRows(NamedTuple):
    """Two-dimensional values (``source``), in memory or on disk, with a label and a stratum for
    every row.

    ``labels``, ``strata``: the names. ``stratum``: the index into ``strata`` for every row, -1
    without a stratum.
    """

    source: Any
    labels: Sequence[str]
    label: np.ndarray  # index into ``labels`` for every row, -1 without a label
    strata: Sequence[str]
    stratum: np.ndarray

    def rows_of(self, name: str) -> np.ndarray:
        """Return the row numbers with the label ``name``, in increasing order."""
        return np.flatnonzero(self.label == self.labels.index(name))

    def dense(self, rows: np.ndarray, name: str) -> Representation:
        """Return the rows with the numbers ``rows`` as a dense representation in memory, called
        ``name``."""
        block = self.source[rows]
        return Representation(block.toarray() if hasattr(block, "toarray") else block, name)


@contextmanager
def open_labeled_rows(
    X: Any, labels: Any, match: Any, layer: str | None, obsm: str | None
) -> Iterator[LabelledRows]:
    """Yield the data of :func:`resemblance.stability.perturbations` with labels and strata; on
    exit, close a file that was opened.

    ``X``: an array (n, d), an AnnData, or a path. ``labels``, ``match``: a label and a stratum per
    sample, or names of columns of ``obs``. Without ``match``, all rows are in one stratum.
    ``layer``, ``obsm``: the entry of an AnnData to read, or None.
    """
    if not isinstance(X, str | Path) or Path(X).suffix != ".h5ad":
        yield _labeled_rows(X, labels, match, layer, obsm)
        return
    if not Path(X).is_file():
        raise ValueError(f"perturbations: no file at {X}; check the path")
    anndata = import_optional("anndata")
    try:
        data = anndata.read_h5ad(X, backed="r")
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"perturbations: {X} cannot be read ({error}); write it again by write_h5ad"
        ) from error
    try:
        yield _labeled_rows(data, labels, match, layer, obsm)
    finally:
        data.file.close()


def _labeled_rows(
    X: Any, labels: Any, match: Any, layer: str | None, obsm: str | None
) -> LabelledRows:
    if hasattr(X, "obs") and hasattr(X, "obsm"):
        labels = _annotation_column(X, labels, "labels")
        match = _annotation_column(X, match, "match")
        X = _select_annotated_values(X, layer, obsm)
    elif layer is not None or obsm is not None or isinstance(labels, str) or isinstance(match, str):
        raise ValueError(
            "perturbations: layer, obsm and names of columns are for AnnData; with an array give "
            "labels, and match, as arrays, one entry per sample"
        )
    order = X.order if isinstance(X, Representation) else sample_order(X, "X")
    check_sample_order(
        "perturbations", "X", order, "the index of labels", sample_order(labels, "labels")
    )
    source = _row_indexable_values(X)
    n = source.shape[0]
    names, label = _encode_row_labels(labels, n, "labels")
    strata, stratum = _encode_row_labels(
        np.zeros(n, dtype=int) if match is None else match, n, "match"
    )
    n_blank = int(((stratum < 0) & (label >= 0)).sum())
    if n_blank:
        raise ValueError(
            f"perturbations: {n_blank} labelled samples have no stratum; fill it in or leave them "
            "out"
        )
    return LabelledRows(source, names, label, strata, stratum)


def _select_annotated_values(data: Any, layer: str | None, obsm: str | None) -> Any:
    if layer is not None and obsm is not None:
        raise ValueError("perturbations: give layer or obsm, not both")
    if obsm is not None:
        return _named_annotation_entry(data.obsm, obsm, "obsm")
    if layer is not None:
        return _named_annotation_entry(data.layers, layer, "layers")
    try:
        values = data.X if hasattr(type(data), "X") else None
    # With some versions of SciPy, anndata cannot read or copy rows of sparse values on disk.
    except AttributeError as error:
        problem = "the rows of this part of an AnnData cannot be read from its file"
        raise ValueError(
            f"perturbations: {problem}; take them from a copy of all in memory, "
            "adata.to_memory()[rows]"
        ) from error
    if values is None:
        raise ValueError(
            "perturbations: this AnnData has no X; name one of its layers or of its obsm (or a "
            "modality)"
        )
    return values


def _annotation_column(data: Any, column: Any, role: str) -> Any:
    """Return a column of the annotations of an AnnData, or the argument ``column`` itself.

    A name selects a column of ``obs``. A Series is reordered to the names of the samples; a missing
    name raises ``ValueError``. Any other argument is returned unchanged. ``role``: the argument in
    errors.
    """
    if isinstance(column, str):
        return _named_annotation_entry(data.obs, column, "obs")
    if not (hasattr(column, "reindex") and hasattr(column, "loc")) or column.index.equals(
        data.obs_names
    ):
        return column
    if not column.index.is_unique or not data.obs_names.isin(column.index).all():
        remedy = f"give {role}.to_numpy() if they are in the order of the samples"
        raise ValueError(
            f"perturbations: the index of {role} does not name every one of obs_names once; "
            f"{remedy}"
        )
    return column.reindex(data.obs_names)


def _named_annotation_entry(entries: Mapping[str, Any], key: str, location: str) -> Any:
    if key not in entries:
        raise ValueError(
            f"perturbations: no {key!r} in {location}{did_you_mean(key, list(entries.keys()))}"
        )
    return entries[key]


def _row_indexable_values(X: Any) -> Any:
    """Return the values (n, d) of ``X``, an array, a sparse matrix, a representation or a path, in
    a form that supports indexing by rows.

    Sparse values stay sparse. Dense values in a file stay in the file. Raises ``ValueError`` for
    another number of axes.
    """
    if type(X).__module__.partition(".")[0] in LAZY_ARRAY_LIBRARIES:
        # Some versions of SciPy cannot read rows of sparse values on disk.
        X = X.to_memory() if hasattr(X, "to_memory") else X
        source = X.tocsr() if hasattr(X, "tocsr") else X
    elif isinstance(X, Representation | str | Path):
        source = to_numpy(X.source if isinstance(X, Representation) else Representation(X).source)
    else:
        source = to_numpy(read_array(X, "X"))
    if len(source.shape) != 2:
        raise ValueError(
            f"perturbations: X must be (n_samples, n_features); got shape {tuple(source.shape)}"
        )
    return source


def _encode_row_labels(values: Any, n: int, role: str) -> tuple[list[str], np.ndarray]:
    """Return the sorted distinct labels as text, and the index of every sample's label, (n,), -1
    without a label.

    ``values``: a label per sample. ``role``: the argument in errors. Raises ``ValueError`` for
    another number of labels, and for labels that look the same, like 1 and "1".
    """
    if hasattr(values, "cat") or hasattr(values, "categories"):
        # With a missing category, whole numbers would become 1.0, 2.0.
        values = values.astype(object)
    array = to_numpy(values) if hasattr(values, "__dlpack__") else np.asarray(values)
    if array.shape != (n,):
        raise ValueError(
            f"perturbations: {role} must be one per sample, shape ({n},); got shape {array.shape}"
        )
    entries = array.tolist()
    mask = np.array([not is_missing_label(value) for value in entries], dtype=bool)
    labels = list(itertools.compress(entries, mask))
    texts = [str(value) for value in labels]
    names, places = np.unique(np.array(texts, dtype=str), return_inverse=True)
    if array.dtype == object and len(set(labels)) != len(names):
        raise ValueError(
            f"perturbations: {role} of different kinds look the same, like 1 and '1'; make them "
            "all text"
        )
    codes = np.full(n, -1)
    codes[mask] = places
    return names.tolist(), codes


def control_labels(control: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of the controls, as texts.

    ``control``: one label, or several; None for the only usual name of controls among ``names``,
    the labels of the samples. Raises ``ValueError``, with a list of ``names``, if a control label
    is missing or unclear.
    """
    if control is None:
        candidates = _usual_control_labels(names)
        if len(candidates) == 1:
            return tuple(candidates)
        problem = "no usual control label"
        if candidates:
            problem = f"several labels may be controls: {', '.join(map(repr, candidates))}"
        raise ValueError(
            f"perturbations: {problem}; name it, control=...; {_format_label_list(names)}"
        )
    requested_labels = _requested_control_labels(control)
    for label in requested_labels:
        if label not in names:
            suggestions = [
                name for name in names if _is_same_label(name, label)
            ] or _usual_control_labels(names)
            hint = f"; did you mean {' or '.join(map(repr, suggestions))}?" if suggestions else ""
            raise ValueError(
                f"perturbations: no sample is labelled {label!r}{hint}; {_format_label_list(names)}"
            )
    if not requested_labels:
        raise ValueError("perturbations: control is empty; name at least one label")
    return requested_labels


def _requested_control_labels(control: Any) -> tuple[str, ...]:
    """Return the text of one label, or of all distinct labels in a list, set or array ``control``;
    a set is sorted."""
    values = control.tolist() if hasattr(control, "tolist") else control
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (str(values),)
    texts = [str(label) for label in values]
    return tuple(dict.fromkeys(sorted(texts) if isinstance(values, set | frozenset) else texts))


def _is_same_label(name: str, label: str) -> bool:
    """Return whether two labels are equal up to case and punctuation, or are the same number."""
    try:
        return float(name) == float(label)
    except ValueError:
        return _normalize_label(name) == _normalize_label(label)


def _usual_control_labels(names: Sequence[str]) -> list[str]:
    return [name for name in names if _normalize_label(name) in CONTROL_NAMES]


def _normalize_label(label: str) -> str:
    return re.sub(r"[^a-z0-9]", "", label.lower())


def _format_label_list(names: Sequence[str]) -> str:
    listing = list_names(map(repr, names), MAX_LISTED_LABELS)
    return f"labels: {listing}" if names else "no sample has a label"
