"""Describe NaN and infinite entries of an array in words, with the remedy that loses the least
data."""

from __future__ import annotations

import numpy as np

from ..base.formatting import list_names

MEAN_OVER_FINITE_TRIALS = "each mean is over the trials that have a number"
MAX_LISTED_GAPS = 5  # rows or columns listed in a message
MAX_FILLED_SHARE = 0.2  # with more missing entries, filled-in values would decide the similarity


def describe_gaps(gaps: np.ndarray) -> str:
    """Return the number and location of the missing entries of an (n, d) array, and a remedy.

    ``gaps``: True for NaN and infinite entries; at least one entry is True. The text names columns
    without a number (features), rows without a number (samples), and scattered entries.
    """
    row, column = (int(i) for i in np.argwhere(gaps)[0])
    count = (
        f"has {int(gaps.sum())} NaN or infinite value(s), the first at row {row}, column {column}"
    )
    if gaps.all():
        return f"{count}: all values are missing; compute the array again"
    columns, rows = np.flatnonzero(gaps.all(axis=0)), np.flatnonzero(gaps.all(axis=1))
    scattered = gaps.copy()
    scattered[:, columns], scattered[rows] = False, False
    clauses = [_describe_column_gaps(columns)] * bool(columns.size) + [
        _describe_row_gaps(rows)
    ] * bool(rows.size)
    if scattered.any():
        prefix = f"{int(scattered.sum())} more: " if clauses else ""
        clauses.append(prefix + _describe_scattered_gaps(scattered))
    return f"{count}; {'; '.join(clauses)}"


def describe_trial_gaps(gaps: np.ndarray) -> str:
    """Return the number and location of the missing entries of labelled trials, and a remedy; if at
    most half of the trials have gaps, also the code that drops these trials with their labels.

    ``gaps``: (n_trials, d), True for NaN and infinite entries; at least one entry is True.
    """
    description, count = describe_gaps(gaps), int(gaps.any(axis=1).sum())
    if 2 * count > len(gaps):
        return description
    return (
        f"{description}; {count} of {len(gaps)} trials have missing values: leave out these trials "
        "and their labels, ok = np.isfinite(X).all(axis=1), X[ok], np.asarray(conditions)[ok] (so "
        "with runs)"
    )


def count_trials_with_gaps(
    caller: str, title: str, gaps: np.ndarray, consequence: str = MEAN_OVER_FINITE_TRIALS
) -> str:
    """Return a sentence with the number of trials with NaN, and the consequence. ``gaps``: True for
    missing entries, (n_trials, d)."""
    count = int(gaps.any(axis=1).sum())
    return f"{caller}: {count} of {len(gaps)} trials of {title} have NaN; {consequence}"


def _describe_column_gaps(columns: np.ndarray) -> str:
    if len(columns) == 1:
        subject = f"column {columns[0]} has"
    else:
        subject = f"columns {list_names(columns, MAX_LISTED_GAPS)} have"
    noun = "that feature" if len(columns) == 1 else "those features"
    return f"{subject} no number in any row: leave {noun} out, {_np_delete_code(columns, 1)}"


def _describe_row_gaps(rows: np.ndarray) -> str:
    subject = (
        f"row {rows[0]} has" if len(rows) == 1 else f"rows {list_names(rows, MAX_LISTED_GAPS)} have"
    )
    noun = "that sample" if len(rows) == 1 else "those samples"
    code = _np_delete_code(rows, 0)
    return f"{subject} no number in any column: leave {noun} out of all representations, {code}"


def _describe_scattered_gaps(gaps: np.ndarray) -> str:
    rows, columns = np.flatnonzero(gaps.any(axis=1)), np.flatnonzero(gaps.any(axis=0))
    n, d = gaps.shape
    if 2 * len(rows) <= n:
        return "leave those samples out or fill them in"
    if 2 * len(columns) <= d:
        axis_noun, noun = "column", "that feature"
        if len(columns) > 1:
            axis_noun, noun = "columns", "those features"
        column_list = list_names(columns, MAX_LISTED_GAPS)
        return f"they lie in {axis_noun} {column_list}: leave {noun} out or fill them in"
    spread = f"{len(rows)} of {n} rows and {len(columns)} of {d} columns have some"
    if gaps.mean() > MAX_FILLED_SHARE:
        return f"{spread}, too many to fill in: compute the array again"
    return (
        f"{spread}: fill them in with the means of the columns, np.where(np.isfinite(X), X, "
        "np.nanmean(np.where(np.isfinite(X), X, np.nan), axis=0))"
    )


def _np_delete_code(indices: np.ndarray, axis: int) -> str:
    if len(indices) > MAX_LISTED_GAPS:
        condition = f"np.isfinite(X).any(axis={1 - axis})"
        return f"X[:, {condition}]" if axis else f"X[{condition}]"
    return f"np.delete(X, {indices.tolist()}, axis={axis})"
