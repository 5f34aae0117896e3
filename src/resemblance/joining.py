"""Representations restricted to the samples that all of them have, or averaged over repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .arrays import like
from .inputs import check_order, order_of
from .representation import Representation, as_representation, title, with_rows
from .significance.labels import numbers_of


def join_samples(*representations: Any) -> tuple[Representation, ...]:
    """Restrict representations or data frames to their common sample ids, ordered as in the first.

    Raises ``ValueError`` when one has no ids or repeats one, or when no id is common to all.
    """
    if len(representations) == 1 and isinstance(representations[0], Mapping):
        raise ValueError(
            "join_samples: it takes representations one by one; for a mapping write "
            "dict(zip(x, rs.join_samples(*x.values())))"
        )
    if not representations:
        raise ValueError("join_samples: there is nothing to join")
    inputs = [as_representation(data) for data in representations]
    for r in inputs:
        repeated = [i for i, uses in Counter(r.order or ()).items() if uses > 1]
        if r.order is None or repeated:
            problem = f"; {repeated[0]!r} occurs several times" if repeated else ""
            raise ValueError(f"join_samples: {title(r)} needs one unique id per sample{problem}")
    common = set.intersection(*(set(r.order or ()) for r in inputs))
    order = [i for i in inputs[0].order or () if i in common]
    if not order:
        raise ValueError("join_samples: no sample id is common to all representations")
    return tuple(_select(r, order) for r in inputs)


def condition_means(trials: Any, conditions: Any, *, name: str = "") -> Representation:
    r"""Return the mean over the trials of each condition, so that conditions are the samples.

    .. math:: \bar x_c = \frac{1}{|T_c|} \sum_{t \in T_c} x_t

    ``trials``: an array or representation, (n_trials, units). ``conditions``: a label for each
    trial, numbers or words. The rows, (conditions, units), are in the order of the sorted labels,
    which are their ids. Repeats of a condition are not independent: as samples of their own they
    would make unrelated representations look alike.

    Raises ``ValueError`` unless there is one label for each trial and none is missing, and for
    labels whose index has the trials in another order.
    """
    x = as_representation(trials)
    numbers = numbers_of("condition_means", conditions, x.shape[0], "conditions")
    index = order_of(conditions, "conditions")
    check_order("condition_means", title(x), x.order, "the index of conditions", index)
    rows = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    means = [x.xp.mean(x.xp.take(x.array, like(of, x.array), axis=0), axis=0) for of in rows]
    labels = np.asarray(conditions, dtype=object)
    ids = [labels[of[0]] for of in rows]
    return Representation(x.xp.stack(means), name or x.name, ids=ids, dtype=x.dtype)


def _select(x: Representation, ids: list[Hashable]) -> Representation:
    row = {sample: i for i, sample in enumerate(x.order or ())}
    rows = x.xp.asarray([row[i] for i in ids])
    return with_rows(x, x.xp.take(x.source, rows, axis=0), ids)
