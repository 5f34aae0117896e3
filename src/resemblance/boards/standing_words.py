"""Where a measure stands on a board, in words and tables for a terminal or a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..report.numbers import counted, duration, number
from ..report.terminal import plain_table
from ..results.headlines import listed
from ..results.standing import place_words
from ..significance import SETTLING, Place
from .standing import Standing
from .words import place_sentence

MARK = "→"  # before the measure in question


def standing_sentence(standing: Standing) -> str:
    """Return where a measure stands, in one paragraph."""
    lines = _place_lines(standing) if standing.has_scores else _missing_lines(standing)
    return " ".join((f"{_name(standing)}:", *_same_lines(standing), *lines))


def standing_parts(standing: Standing, labels: Mapping[str, str]) -> Iterator[Any]:
    """Yield texts and tables: place, ties, neighbours, ranks by suite, missing scores, cost."""
    yield _name(standing)
    missing = [*_missing_lines(standing)]
    if standing.has_scores:
        yield from _same_lines(standing)
        yield from _place_lines(standing)
    else:
        yield from missing
    if standing.place:
        yield _neighbours(standing, standing.place, labels)
        yield _by_suite(standing, labels)
    if standing.has_scores:
        yield from missing
    yield _cost(standing)


def _name(standing: Standing) -> str:
    label, spec = standing.label, standing.spec
    return label if label == spec else f"{label} ({spec})"


def _same_lines(standing: Standing) -> Iterator[str]:
    for label, count in standing.same.items():
        yield (
            f"It has the same score as {label} in {count} of {counted(standing.cells, 'cell')}: is "
            "it the same measure?"
        )


def _place_lines(standing: Standing) -> Iterator[str]:
    if standing.place is None:
        cells = counted(standing.cells, "cell")
        yield (
            "It has no place: it lacks scores in some suite."
            if standing.among
            else f"It has no place: an order takes two measures and {SETTLING} cells of a suite; "
            f"there are {cells}."
        )
        return
    yield place_sentence(standing.place, standing.among)
    if standing.ties:
        yield f"It cannot be told from {listed(standing.ties)}."
    else:
        yield "It can be told from all others."


def _neighbours(standing: Standing, place: Place, labels: Mapping[str, str]) -> Any:
    rows = [
        (
            MARK if p is place else "",
            place_words(p),
            labels[p.measure],
            f"{p.mean:.2f}",
            f"{p.low:.1f} to {p.high:.1f}",
        )
        for p in (*standing.above, place, *standing.below)
    ]
    return plain_table(("", "place", "measure", "mean rank", "95 %"), rows, right=(1, 3, 4))


def _by_suite(standing: Standing, labels: Mapping[str, str]) -> Any:
    rows = [
        (
            s.suite if s.counts else f"{s.suite} (not counted: fewer than {SETTLING} cells)",
            f"{s.mean:.2f}",
            labels[s.leader],
            f"{s.leading:.2f}",
        )
        for s in standing.suites
    ]
    header = ("suite", "its mean rank", "leader", "mean rank of the leader")
    return plain_table(header, rows, right=(1, 3))


def _missing_lines(standing: Standing) -> Iterator[str]:
    if not standing.has_scores:
        yield f"No score in any of {counted(standing.cells, 'cell')}, so it has no place."
    parts = [f"{count}: {reason}" for reason, count in standing.missing.items()]
    if parts:
        missing = sum(standing.missing.values())
        yield f"No score in {missing} of {counted(standing.cells, 'cell')} ({'; '.join(parts)})."


def _cost(standing: Standing) -> str:
    times = f", {number(standing.times, 2)} times that of CKA" if standing.times else ""
    return f"CPU time: {duration(standing.seconds)}{times}."
