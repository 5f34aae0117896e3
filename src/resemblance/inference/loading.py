"""Read evidence from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..comparison import Comparison, Failure, MeasureInfo
from ..engine.saved import load
from ..engine.scores import Column
from ..engine.store import EVIDENCE, NOTHING, Store, reading
from ..significance.orders import Design
from ..significance.parts import Kind
from .cells import NullCells, PartCells
from .result import Evidence
from .saving import NULLS, PARTS, REASONS, WAYS

LABELS = ("groups", "blocks")
SLACK = 1e-6  # of numbers that rounding has put beside their range
Vectors = dict[tuple[str, int, str], Column]  # by measure, version and kind


def load_evidence(path: str | Path) -> Evidence:
    """Read evidence from the file of ``evidence(..., save=path)`` or ``Evidence.save``.

    It has no arrays, so ``influence`` and ``curve`` need the representations again. Raises
    ``ValueError`` for a file that does not exist, is damaged, or holds no finished evidence.
    """
    path = Path(path)
    comparison = load(path)
    with Store(path, read_only=True) as store, reading(path):
        entry = store.description().get(EVIDENCE)
        if entry is None or "cautions" not in entry:
            raise ValueError(
                f"{path} holds a comparison and no finished evidence: the call of evidence that "
                "began it continues it; resemblance.load reads the comparison"
            )
        results = store.columns([NOTHING], by_inference=True)
        vectors = {(c.measure, c.version, c.kind): c for c in results}
        shape = len(comparison.rows), len(comparison.columns)
        return Evidence(
            comparison,
            _design(entry, comparison),
            _level(entry),
            {m.spec: _null(vectors, m, shape) for m in comparison.measures},
            {m.spec: _parts(vectors, m, shape) for m in comparison.measures},
            bool(entry["is_square"]),
            tuple(map(str, entry["cautions"])),
        )


def _design(entry: dict[str, Any], comparison: Comparison) -> Design:
    groups, blocks = (None if entry[k] is None else np.asarray(entry[k]) for k in LABELS)
    n, shifts, draws, seed = (int(entry[k]) for k in ("n", "shifts", "draws", "seed"))
    sizes = {n, comparison.provenance["n_samples"]}
    sizes |= {len(labels) for labels in (groups, blocks) if labels is not None}
    if len(sizes) > 1 or not 0 <= 2 * shifts < n or draws < 1:
        raise ValueError(f"its design of {n} samples does not fit the values: {entry}")
    return Design(n, groups, blocks, shifts, draws, seed)


def _level(entry: dict[str, Any]) -> float:
    level = float(entry["level"])
    if not 0 < level < 1:
        raise ValueError(f"its level is {level}")
    return level


def _null(vectors: Vectors, m: MeasureInfo, shape: tuple[int, int]) -> NullCells:
    tables = {name: _table(vectors, m, name, shape) for name in NULLS}
    flat = {name: table[..., 0] for name, table in tables.items() if name != "drawn"}
    ends = {"p": (0.0, 1.0), "spread": (0.0, np.inf), "chance": m.range, "observed": m.range}
    for name, (low, high) in ends.items():
        if (flat[name] < low - SLACK).any() or (flat[name] > high + SLACK).any():
            raise ValueError(f"{m.spec} has a {name} outside {low:g} to {high:g}")
    how = json.loads(_of(vectors, m, WAYS).reasons[0])
    if [len(row) for row in how] != [shape[1]] * shape[0]:
        raise ValueError(f"{m.spec} has {how!r} for a map of {shape}")
    return NullCells(**flat, drawn=tables["drawn"], how=tuple(map(tuple, how)))


def _parts(vectors: Vectors, m: MeasureInfo, shape: tuple[int, int]) -> PartCells:
    kind: Any = _of(vectors, m, PARTS).reasons[0]
    if kind not in get_args(Kind):
        raise ValueError(f"{m.spec} has intervals of an unknown kind, {kind!r}")
    entries = json.loads(_of(vectors, m, REASONS).reasons[0])
    reasons = tuple(Failure(*map(str, entry)) for entry in entries)
    return PartCells(kind, _table(vectors, m, PARTS, shape), reasons)


def _table(vectors: Vectors, m: MeasureInfo, name: str, shape: tuple[int, int]) -> np.ndarray:
    numbers = _of(vectors, m, name).values
    return numbers.reshape(*shape, -1 if numbers.size else 0)


def _of(vectors: Vectors, m: MeasureInfo, name: str) -> Column:
    return vectors[m.spec, m.version, name]
