"""Store evidence in a file of scores: the comparison, and the tables of the inference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from ..comparison.comparison import Comparison, Failure, MeasureInfo
from ..comparison.saved import load_comparison
from ..comparison.scores import StoredResult
from ..comparison.store import EVIDENCE_KEY, GLOBAL_KEY, ScoreFile, name_damaged_score_file
from ..significance.orders import Design
from ..significance.resampling import ResamplingKind
from .intervals import PartCells
from .nulls import EXACT_MOMENTS, PAIRING_INDEPENDENT, NullCells

NULL_TABLES = ("chance", "spread", "pvalue", "drawn", "observed")
METHOD_ENTRY, PARTS_ENTRY, REASONS_ENTRY = "how", "parts", "reasons"
EVIDENCE_RESULT = "Evidence"  # the kind of the results in a file
STORED_ENTRIES = (*NULL_TABLES, METHOD_ENTRY, PARTS_ENTRY, REASONS_ENTRY)
STORED_RANGE_TOLERANCE = 1e-6  # rounding may put numbers outside their range


class EvidenceFields(NamedTuple):
    """The stored fields of evidence besides the scores, with the names of :class:`.Evidence`."""

    design: Design
    confidence_level: float
    nulls: Mapping[str, NullCells]
    parts: Mapping[str, PartCells]
    is_square: bool
    caveats: tuple[str, ...]


def serialize_evidence(
    measures: Iterable[MeasureInfo], fields: EvidenceFields
) -> tuple[dict[str, Any], Iterator[StoredResult]]:
    """Return the description of evidence for a file, and an iterator over the tables, for those
    ``measures`` that have null distributions in ``fields``."""
    settings = asdict(fields.design)
    labels = {
        name: values.tolist() for name, values in settings.items() if isinstance(values, np.ndarray)
    }
    common = {
        "confidence_level": fields.confidence_level,
        "is_square": fields.is_square,
        "caveats": fields.caveats,
    }
    selected = [m for m in measures if m.spec in fields.nulls]
    entry = settings | labels | common | {"measures": [m.spec for m in selected]}
    results = (_stored_tables(m, fields.nulls[m.spec], fields.parts[m.spec]) for m in selected)
    return {EVIDENCE_KEY: entry}, chain.from_iterable(results)


def _stored_tables(m: MeasureInfo, null: NullCells, parts: PartCells) -> Iterator[StoredResult]:
    entries: list[tuple[str, Any, Any]] = [(k, getattr(null, k), "") for k in NULL_TABLES]
    entries += [(METHOD_ENTRY, [], null.how), (REASONS_ENTRY, [], parts.reasons)]
    for name, table, words in [*entries, (PARTS_ENTRY, parts.values, parts.kind)]:
        key = (EVIDENCE_RESULT, m.spec, m.version, GLOBAL_KEY, GLOBAL_KEY)
        yield StoredResult(*key, {"table": name, "words": words}, np.asarray(table, float))


def read_evidence_file(path: str | Path) -> tuple[Comparison, EvidenceFields | None]:
    """Return the comparison in a file, and the stored fields of the evidence, None without
    evidence.

    Raises ``ValueError`` for a missing or damaged file.
    """
    path = Path(path)
    comparison = load_comparison(path)
    with ScoreFile(path, read_only=True) as store, name_damaged_score_file(path):
        entry = store.description().get(EVIDENCE_KEY)
        return comparison, None if entry is None else _parse_evidence_fields(
            entry, comparison, store
        )


def _parse_evidence_fields(
    entry: Mapping[str, Any], comparison: Comparison, store: ScoreFile
) -> EvidenceFields:
    design, confidence_level, caveats = (
        _parse_design(entry, comparison),
        entry["confidence_level"],
        entry["caveats"],
    )
    if not 0 < confidence_level < 1:
        raise ValueError(f"its level is {confidence_level}")
    if not (isinstance(caveats, list) and all(isinstance(words, str) for words in caveats)):
        raise ValueError(f"its caveats are no list of texts: {caveats!r}")
    results = store.results([GLOBAL_KEY])
    tables = {(r.measure, r.version, r.facts["table"]): r for r in results}
    nulls, parts = {}, {}
    for m in map(comparison.info, entry["measures"]):
        tables_of_measure = {name: tables[m.spec, m.version, name] for name in STORED_ENTRIES}
        nulls[m.spec] = _parse_null_cells(tables_of_measure, m, comparison[m].shape, design)
        parts[m.spec] = _parse_part_cells(tables_of_measure, m, comparison[m].shape)
    return EvidenceFields(
        design, float(confidence_level), nulls, parts, bool(entry["is_square"]), tuple(caveats)
    )


def restrict_to_measures(comparison: Comparison, specs: Iterable[str]) -> Comparison:
    """Return a new comparison with only the measures with the specifications ``specs``, without
    evidence."""
    selected = set(specs)
    measures = tuple(m for m in comparison.measures if m.spec in selected)
    matrices = {m.spec: comparison.matrices[m.spec] for m in measures}
    return replace(comparison, measures=measures, matrices=matrices, absent={}, evidence=None)


def _parse_design(entry: Mapping[str, Any], comparison: Comparison) -> Design:
    names = "groups", "whole_blocks"
    labels: dict[str, Any] = {k: None if entry[k] is None else np.asarray(entry[k]) for k in names}
    n, shifts, draws, seed = (int(entry[k]) for k in ("n", "shifts", "n_permutations", "seed"))
    sizes = {n, comparison.provenance["n_samples"]}
    sizes |= {len(values) for values in labels.values() if values is not None}
    if len(sizes) > 1 or not 0 <= 2 * shifts < n or draws < 1:
        raise ValueError(f"its design of {n} samples does not fit the values: {entry}")
    return Design(n, shifts=shifts, n_permutations=draws, seed=seed, **labels)


def _parse_null_cells(
    results: Mapping[str, StoredResult], m: MeasureInfo, shape: tuple[int, ...], design: Design
) -> NullCells:
    drawn = _reshape_to_pairs(results["drawn"], shape)
    tables = {name: results[name].values.reshape(shape) for name in NULL_TABLES if name != "drawn"}
    ends = {"pvalue": (0.0, 1.0), "spread": (0.0, np.inf), "chance": m.range, "observed": m.range}
    for name, (low, high) in ends.items():
        if (tables[name] < low - STORED_RANGE_TOLERANCE).any() or (
            tables[name] > high + STORED_RANGE_TOLERANCE
        ).any():
            raise ValueError(f"{m.spec} has a {name} outside {low:g} to {high:g}")
    methods = results[METHOD_ENTRY].facts["words"]
    if [len(row) for row in methods] != [shape[1]] * shape[0]:
        raise ValueError(f"{m.spec} has {methods!r} for a map of {shape}")
    ways = {way for row in methods for way in row} - {EXACT_MOMENTS, PAIRING_INDEPENDENT, ""}
    is_of_design = all(way.startswith(design.words) for way in ways)
    if not is_of_design or drawn.shape[-1] not in (0, design.total):
        words = "; ".join([*sorted(ways), f"{drawn.shape[-1]} draws"])
        raise ValueError(f"{m.spec} has {words} in a design of {design.words}")
    return NullCells(**tables, drawn=drawn, how=tuple(map(tuple, methods)))


def _parse_part_cells(
    results: Mapping[str, StoredResult], m: MeasureInfo, shape: tuple[int, ...]
) -> PartCells:
    kind: Any = results[PARTS_ENTRY].facts["words"]
    if kind not in get_args(ResamplingKind):
        raise ValueError(f"{m.spec} has intervals of an unknown kind, {kind!r}")
    reasons = [Failure(*map(str, entry)) for entry in results[REASONS_ENTRY].facts["words"]]
    return PartCells(kind, _reshape_to_pairs(results[PARTS_ENTRY], shape), tuple(reasons))


def _reshape_to_pairs(result: StoredResult, shape: tuple[int, ...]) -> np.ndarray:
    return result.values.reshape(*shape, -1 if result.values.size else 0)
