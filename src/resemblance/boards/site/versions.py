"""The versions of measures on the board, and where each would stand now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...results.sections import Entry, Table
from ...results.standing import place_words
from ...significance import Place
from ..ranking import board_of, current
from ..score_files import ScoreFile
from .content import Content
from .tables import LinkedTable, linked

COLUMNS = ("version", "place", "mean rank", "code", "library", "date", "packs")
SHORT = 12  # characters of a checksum


class VersionOf(NamedTuple):
    """A version of a measure: its score files on the newest packs, and its place ``among`` so many,
    if it has one."""

    spec: str
    version: int
    files: tuple[ScoreFile, ...]
    is_current: bool
    place: Place | None
    among: int


def versions_of(content: Content, spec: str) -> tuple[VersionOf, ...]:
    """Return all versions of a measure, newest first.

    The place of an earlier version is the one it would have now, in place of the newest.
    """
    mine = [s for s in current(content.files) if s.measure.spec == spec]
    numbers = sorted({s.measure.version for s in mine}, reverse=True)
    return tuple(_version(content, spec, number, number == numbers[0]) for number in numbers)


def _version(content: Content, spec: str, version: int, is_current: bool) -> VersionOf:
    files = current(content.files)
    mine = {s.suite: s for s in files if (s.measure.spec, s.measure.version) == (spec, version)}
    if is_current:
        place, count = content.places.get(spec), len(content.places)
    else:
        place, count = _former_place(content, spec, mine.values())
    return VersionOf(spec, version, tuple(mine.values()), is_current, place, count)


def _former_place(
    content: Content, spec: str, files: Iterable[ScoreFile]
) -> tuple[Place | None, int]:
    others = [s for of in content.board.files.values() for s in of.values()]
    others = [s for s in others if s.measure.spec != spec]
    places = board_of([*others, *files]).ranks.places
    rows = places.rows if places.is_settling else ()
    return next((row for row in rows if row.measure == spec), None), len(rows)


def versions_table(versions: Sequence[VersionOf]) -> LinkedTable:
    """Return the versions of a measure as a table."""
    rows = tuple(map(_row, versions))
    note = (
        "A changed measure is a new version with a row of its own. The place of an earlier version "
        "is the one that it would have now."
    )
    return linked(Table("versions", "Versions", COLUMNS, rows, note), {})


def _row(version: VersionOf) -> tuple[Entry, ...]:
    place = version.place
    dates = {s.environment.get("date", "") for s in version.files}
    return (
        f"{version.version}" + ("" if version.is_current else " (replaced)"),
        f"{place_words(place)} of {version.among}" if place else "–",
        place.mean if place else None,
        ", ".join(sorted({s.code[:SHORT] for s in version.files})),
        ", ".join(sorted({s.environment.get("resemblance", "") for s in version.files})),
        max(dates) or "not recorded",
        ", ".join(s.pack for s in version.files),
    )


def history_page(content: Content, versions: Mapping[str, Sequence[VersionOf]]) -> dict[str, Any]:
    """Return what the page of versions shows."""
    rows: list[tuple[Entry, ...]] = []
    addresses: dict[tuple[int, int], str] = {}
    for spec in content.order:
        for version in versions[spec]:
            addresses[len(rows), 0] = content.address(spec)
            rows.append((content.labels[spec], *_row(version)))
    note = "Every version whose scores are known. The code is the start of its SHA-256."
    table = Table("versions", "All versions", ("measure", *COLUMNS), tuple(rows), note)
    return {"table_of_versions": linked(table, addresses)}


def packs_of(content: Content) -> Iterator[tuple[str, str, str, int]]:
    """Yield the packs of which there are scores: their name, suite, manifest and how many files."""
    packs: dict[tuple[str, str, str], int] = {}
    for scores in content.files:
        key = (scores.pack, scores.suite, scores.manifest)
        packs[key] = packs.get(key, 0) + 1
    for (pack, suite, manifest), count in sorted(packs.items()):
        yield pack, suite, manifest, count
