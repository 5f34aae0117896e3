"""The cells behind the report of a benchmark: the table of scores, and the matrices that each score
was made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..comparison import Comparison
from ..significance import stars
from ..suites.resi.evaluation import Map, ResiResult
from ..suites.resi.grading import Score
from ..suites.resi.tests import TESTS
from .resi_data import Family, Name, common_start, domains_of, families_of, family_of, standings

QUALITIES: Mapping[
    str, Mapping[str, str]
] = {  # of every test, the one that is shown first and the others, in words
    "accuracy": {"spearman_accuracy": "Spearman"},
    "output": {"spearman_jsd": "JSD", "spearman_disagreement": "disagreement"},
    "labels": {"auprc": "AUPRC", "conformity": "conformity"},
    "shortcut": {"auprc": "AUPRC", "conformity": "conformity"},
    "augmentation": {"auprc": "AUPRC", "conformity": "conformity"},
    "layers": {"spearman": "Spearman", "conformity": "conformity"},
}


class Column(NamedTuple):
    """A column of the table of scores; ``is_shown`` before anything is chosen."""

    test: str
    quality: str
    family: Family
    is_shown: bool


class Entry(NamedTuple):
    """A cell of the table: a value, or ``None`` with a reason, marked by the letter of the note
    that explains it.

    ``shade`` is the value in -1 to 1; a value with a reason rests on fewer pairs than it should.
    """

    value: float | None
    stars: str = ""
    reason: str = ""
    mark: str = ""
    is_best: bool = False
    shade: float = 0.0


class ScoreTable(NamedTuple):
    """Measures x columns of scores, and the reasons of what is empty by their letters."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Name, tuple[Entry, ...]], ...]
    notes: Mapping[str, str]
    is_partial: bool  # some value rests on fewer pairs than it should


class Part(NamedTuple):
    """Measured and expected differences of the same representations, by measure and by quality."""

    title: str
    labels: tuple[str, ...]
    measured: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]
    scores: Mapping[str, Mapping[str, float]]


class Exhibit(NamedTuple):
    """The matrices of one case."""

    test: str
    family: Family
    parts: tuple[Part, ...]


# ------------------------------------------------------------------------------ the table of scores


def score_table(result: ResiResult) -> ScoreTable:
    """Return every score, a row per measure in the order of the ranking, a column per test, family
    and quality.

    A trial has no best of a column.
    """
    columns, letters = _columns(result), dict[str, str]()
    scores = {(*_case(s), s.quality, s.measure): s for s in result.scores}
    absent = {_case(a): a.reason for a in result.absent}
    failed = {(*_case(f), f.measure): f.reason for f in result.failed}
    rows = []
    for name in (row.name for row in standings(result)):
        entries = []
        for column in columns:
            place = (column.test, *column.family)
            score = scores.get((*place, column.quality, name.spec))
            why = failed.get((*place, name.spec), "")
            entries.append(
                _entry(
                    score, absent.get(place, "this measure was not evaluated here"), why, letters
                )
            )
        rows.append((name, tuple(entries)))
    if not result.is_trial:
        rows = _with_best(rows, complete_only=result.failures == "last")
    is_partial = any(e.value is not None and e.reason for _, entries in rows for e in entries)
    return ScoreTable(
        columns, tuple(rows), {mark: reason for reason, mark in letters.items()}, is_partial
    )


def _columns(result: ResiResult) -> tuple[Column, ...]:
    families, first = families_of(result), dict[str, Family]()
    for family in families:
        first.setdefault(family.domain, family)
    ordered = sorted(families, key=lambda family: domains_of(result).index(family.domain))
    there = {_case(row) for row in (*result.scores, *result.absent)}
    return tuple(
        Column(test, quality, family, position == 0 and first[family.domain] == family)
        for test in TESTS
        for family in ordered
        if (test, *family) in there
        for position, quality in enumerate(QUALITIES[test])
    )


def _entry(score: Score | None, absence: str, failure: str, letters: dict[str, str]) -> Entry:
    if score is not None and np.isfinite(score.value):
        reason = (score.reason or "") if score.failed else ""
        bounded = float(np.clip(score.value, -1, 1))
        return Entry(
            float(score.value), stars(score.p_value), reason, "†" if reason else "", shade=bounded
        )
    reason = (
        absence
        if score is None
        else failure
        if score.failed and failure
        else score.reason or "no value"
    )
    mark = letters.setdefault(reason, _letter(len(letters)))
    return Entry(None, "", reason, mark)


def _with_best(
    rows: Iterable[tuple[Name, Sequence[Entry]]], *, complete_only: bool
) -> list[tuple[Name, tuple[Entry, ...]]]:
    """Mark the largest value of every column; one that rests on fewer pairs only where it is ranked
    as if complete."""
    rows = list(rows)
    counts = [
        [_counts(e, complete_only) for e in column]
        for column in zip(*(entries for _, entries in rows))
    ]
    best = [max((v for v in column if v is not None), default=np.inf) for column in counts]
    return [
        (
            name,
            tuple(
                e._replace(is_best=_is_best(_counts(e, complete_only), top))
                for e, top in zip(entries, best)
            ),
        )
        for name, entries in rows
    ]


def _counts(entry: Entry, complete_only: bool) -> float | None:
    return None if complete_only and entry.reason else entry.value


def _is_best(value: float | None, top: float) -> bool:
    return value is not None and value >= top - 1e-9  # averages of equal numbers differ by rounding


def _letter(position: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    return (_letter(position // 26 - 1) if position >= 26 else "") + "abcdefghijklmnopqrstuvwxyz"[
        position % 26
    ]


def _case(row: Any) -> tuple[str, ...]:
    return (row.test, *family_of(row))


# ------------------------------------------------------------------------------------- the matrices


def exhibits(result: ResiResult) -> tuple[Exhibit, ...]:
    """Return what was measured and what was expected in every case, as differences."""
    found = defaultdict[tuple[str, Family], list[Map]](list)
    for m in result.maps:
        found[m.test, family_of(m)].append(m)
    scores = defaultdict[tuple[str, ...], list[Score]](list)
    for score in result.scores:
        scores[_case(score)].append(score)
    return tuple(
        Exhibit(
            test,
            family,
            tuple(_part(result, m, i, scores[test, *family]) for i, m in enumerate(maps)),
        )
        for (test, family), maps in found.items()
    )


def example(exhibit: Exhibit) -> tuple[Part, str, str]:
    """Return a part, a quality and a measure that show what a test is about: the measure that does
    best in it."""
    part = exhibit.parts[0]
    quality = next(
        q for q in (*QUALITIES.get(exhibit.test, ()), *part.expected) if q in part.expected
    )
    known = {
        m: v
        for m, v in part.scores.get(quality, {}).items()
        if np.isfinite(v) and m in part.measured
    }
    return part, quality, max(known, key=lambda m: known[m]) if known else next(iter(part.measured))


def _part(result: ResiResult, found: Map, position: int, scores: Iterable[Score]) -> Part:
    values = {spec: np.array(rows, float) for spec, rows in found.values.items()}
    comparison = Comparison(found.names, found.names, result.measures, values, {}, (), {})
    start = common_start(found.names)
    by_quality = defaultdict[str, dict[str, float]](dict)
    for score in scores:
        if position < len(score.parts):
            by_quality[score.quality][score.measure] = score.parts[position]
    return Part(
        "/".join(start[3:]) or f"model {position + 1}",
        tuple("/".join(name.split("/")[len(start) :]) for name in found.names),
        {
            info.spec: comparison.difference(info.spec)
            for info in result.measures
            if info.spec in values
        },
        {quality: np.array(rows, float) for quality, rows in found.expected.items()},
        by_quality,
    )
