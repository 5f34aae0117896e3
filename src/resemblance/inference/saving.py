"""Evidence in one file: the comparison, and the matrices that inference adds to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison import MeasureInfo, describe
from ..recording import columns_of
from ..store import EVIDENCE, Store, Vector

if TYPE_CHECKING:
    from .result import Evidence

NULLS = ("chance", "spread", "p", "drawn", "observed")
WAYS, PARTS, REASONS = "how", "parts", "reasons"


def save_evidence(evidence: Evidence, path: str | Path) -> None:
    """Write evidence into a file, which then describes it; its values are written as well."""
    of = evidence.comparison
    description = describe(of.rows, of.columns, of.measures, of.provenance)
    with Store(path) as store:
        store.put(columns_of(of))
        store.put_vectors(_vectors(evidence))
        store.describe(description | {EVIDENCE: _entry(evidence)})


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


def _vectors(evidence: Evidence) -> Iterator[Vector]:
    for m in evidence.measures:
        null, parts = evidence.nulls[m.spec], evidence.parts[m.spec]
        for name in NULLS:
            yield _vector(m, name, getattr(null, name))
        yield _vector(m, WAYS, np.zeros(0), json.dumps(null.how))
        yield _vector(m, PARTS, parts.values, parts.kind)
        yield _vector(m, REASONS, np.zeros(0), json.dumps(parts.reasons))


def _vector(m: MeasureInfo, kind: str, numbers: np.ndarray, note: str | None = None) -> Vector:
    return Vector(m.spec, m.version, "", "", kind, 0, np.ravel(numbers), note)
