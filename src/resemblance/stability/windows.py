"""Any statistic over the time of a trial, in sliding windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..catalogue import get_statistic
from ..contracts._statistic import Statistic
from ..data.layouts import as_trials, from_trials

WINDOW_AXES = "trials bins units"


class Window(NamedTuple):
    """The bins from ``start`` to ``stop - 1``, with the value of the statistic, or None and the
    reason for the missing value."""

    start: int
    stop: int
    value: float | None
    reason: str


def sliding_windows(
    statistic: str | Statistic,
    X: Any,
    *data: Any,
    width: int,
    step: int | None = None,
    axes: str | None = None,
    **parameters: Any,
) -> tuple[Window, ...]:
    """Return a statistic of the mean response in every window of ``width`` bins.

    Windows begin ``step`` bins apart, by default ``width`` bins.

    X has the ``axes`` trials (in the order of recording), bins and units, named as for
    :func:`resemblance.from_trials`, which also computes the means. ``data`` and ``parameters``
    are the data and parameters of the statistic. A shorter last window is left out.
    Overlapping windows share noise. Windows with different firing rates differ in reliability, so a
    drop may only mean fewer spikes.

    Raises ``ValueError`` for another shape and for a width or step that does not fit. Errors of the
    statistic are raised, except :class:`~resemblance.UndefinedError`: the window then has a reason
    in place of a value.
    """
    entry, inputs = get_statistic(statistic).with_data(parameters)
    X, _, ids = as_trials(X, axes, "sliding_windows")
    bins, step = int(X.shape[1]), width if step is None else step
    if (
        not all(isinstance(t, int | np.integer) for t in (width, step))
        or not 1 <= width <= bins
        or step < 1
    ):
        raise ValueError(
            f"sliding_windows: width must be from 1 to {bins} and step 1 or more; got {width} and "
            f"{step}"
        )
    return tuple(
        _value_in_window(entry, X, ids, data, inputs, start, start + width)
        for start in range(0, bins - width + 1, step)
    )


def _value_in_window(
    statistic: Statistic, X: Any, ids: Any, data: Any, inputs: dict[str, Any], start: int, stop: int
) -> Window:
    x = from_trials(
        X,
        pool="mean",
        window=(start, stop),
        axes=WINDOW_AXES,
        ids=ids,
        name=f"bins {start} to {stop - 1}",
    )
    try:
        return Window(start, stop, statistic(x, *data, **inputs), "")
    except UndefinedError as reason:
        return Window(start, stop, None, str(reason))
