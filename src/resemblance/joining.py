"""Representations restricted to the samples that all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from .representation import Representation, as_representation, title


def join_samples(*representations: Any) -> tuple[Representation, ...]:
    """Restrict representations or data frames to their common sample ids, ordered as in the first.

    Raises ``ValueError`` when one has no ids or repeats one, or when no id is common to all.
    """
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


def _select(x: Representation, ids: list[Hashable]) -> Representation:
    row = {sample: i for i, sample in enumerate(x.order or ())}
    rows = x.xp.asarray([row[i] for i in ids])
    return Representation(x.xp.take(x.source, rows, axis=0), x.name, ids=ids, dtype=x.dtype)
