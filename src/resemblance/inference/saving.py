"""Evidence in one file: the comparison, and the matrices that inference adds to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison import describe, put_scores
from ..engine.scores import Column
from ..engine.store import EVIDENCE, NOTHING, Store
from .tasks import vector

if TYPE_CHECKING:
    from .result import Evidence

NULLS = ("chance", "spread", "p", "drawn", "observed")
WAYS, PARTS, REASONS = "how", "parts", "reasons"
DATA = NOTHING, NOTHING


def save_evidence(evidence: Evidence, path: str | Path) -> None:
    """Write evidence into a file, which then describes it; its values are written as well."""
    comparison = evidence.comparison
    with Store(path) as store:
        put_scores(comparison, store)
        description = describe(comparison) | {EVIDENCE: _entry(evidence)}
        store.describe(description, _results(evidence))


def _entry(evidence: Evidence) -> dict[str, Any]:
    """Return how inference was made, as JSON takes it."""
    design = evidence.design
    labels = {"groups": design.groups, "blocks": design.blocks}
    return {
        "n": design.n,
        **{name: None if value is None else value.tolist() for name, value in labels.items()},
        "shifts": design.shifts,
        "draws": design.draws,
        "seed": design.seed,
        "level": evidence.level,
        "is_square": evidence.is_square,
        "cautions": evidence.cautions,
    }


def _results(evidence: Evidence) -> Iterator[Column]:
    for m in evidence.measures:
        null, parts = evidence.nulls[m.spec], evidence.parts[m.spec]
        for name in NULLS:
            yield vector(m, DATA, name, getattr(null, name))
        yield vector(m, DATA, WAYS, np.zeros(0), json.dumps(null.how))
        yield vector(m, DATA, PARTS, parts.values, parts.kind)
        yield vector(m, DATA, REASONS, np.zeros(0), json.dumps(parts.reasons))
