"""Joined score files: the ranks and places of all measures on a series of packs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..json_files import read_document
from ..packs import Pack, known_packs, open_pack
from ..results.result import Result
from ..results.sections import RankRule, Section
from ..suites import SUITES
from ..suites.joint import JointRanks, joint_ranks
from ..suites.reliability import is_reliable
from .score_files import MeasureCard, ScoreFile, read_scores, score_files

SHIPPED = Path(__file__).with_name("results")  # the scores of the measures of this library
SERIES = "compact"  # the packs that ship with the library
# By manifest and cell, how far what the cells of packs expect repeats on other inputs, of packs
# that do not say so themselves; made by scripts/board_scores.py
RELIABILITIES = Path(__file__).with_name("reliability.json")
Scores = dict[str, dict[str, float | None]]  # by cell, then by specification


class Board(NamedTuple):
    """The scores of measures on packs, one pack of every suite, joined.

    ``results``: by suite, the scores of all measures that have some there. ``cards``: by
    specification, what measures claim. ``files``: by suite and specification. ``ranks``: of the
    measures that have scores in all suites. ``unranked``: by suite and cell, the reliability of
    what is expected in cells where it is too low to rank measures by it.
    """

    results: Mapping[str, Result]
    cards: Mapping[str, MeasureCard]
    files: Mapping[str, Mapping[str, ScoreFile]]
    ranks: JointRanks
    unranked: Mapping[str, Mapping[tuple[str, str], float]]


def read_board(*folders: str | Path, series: str = SERIES) -> Board:
    """Return the board of a series of packs, from the scores that ship with the library and those
    in folders of results.

    Of several versions of a measure the one that was computed last counts, and a file of a folder
    before one that ships.
    """
    return board_of(current(read_files(*folders, series=series)))


def read_files(*folders: str | Path, series: str = SERIES) -> tuple[ScoreFile, ...]:
    """Return all score files of a series of packs, also those of earlier versions, which come
    first: the files that ship with the library, and those in folders of results.

    Raises ``ValueError`` for a folder without scores on packs of the series, and for scores on a
    version of a pack that ships which this version of the library does not know.
    """
    paths = _of_series(SHIPPED, series) if SHIPPED.is_dir() else []
    for folder in folders:
        added = _of_series(folder, series)
        if not added:
            raise ValueError(f"{folder} holds no scores on packs of the series {series!r}")
        paths += added
    files = list(map(read_scores, paths))
    _check_known(files)
    return tuple(sorted(files, key=_age))


def _age(scores: ScoreFile) -> tuple[int, str, int]:
    """Return what orders files: versions of measures of users are hashes, so dates go first."""
    return scores.pack_version, scores.environment.get("date", ""), scores.measure.version


def _check_known(files: Iterable[ScoreFile]) -> None:
    """Raise ``ValueError`` for scores on an unknown version of a known pack: they would displace
    all scores of their suite."""
    known = {p.identity: p.manifest for p in known_packs()}
    names = {identity.partition("@")[0] for identity in known}
    for scores in files:
        if scores.pack.partition("@")[0] not in names:
            continue
        if known.get(scores.pack) != scores.manifest:
            raise ValueError(
                f"the scores of {scores.measure.spec} are on {scores.pack} with the manifest "
                f"{scores.manifest[:12]}, which this version of the library does not know"
            )


def _of_series(folder: str | Path, series: str) -> list[Path]:
    return [path for path in score_files(folder) if series_of(path.parent.name) == series]


def current(files: Sequence[ScoreFile]) -> tuple[ScoreFile, ...]:
    """Return the score files on the newest version of every pack."""
    ordered = sorted(files, key=lambda scores: scores.pack_version)
    newest = {scores.suite: scores.pack_version for scores in ordered}
    return tuple(s for s in files if s.pack_version == newest[s.suite])


def series_of(pack: str) -> str:
    """Return the series of a pack: "compact" of "resi-compact@1"."""
    return pack.partition("@")[0].partition("-")[2]


def board_of(files: Iterable[ScoreFile]) -> Board:
    """Return the board of score files, later ones in place of earlier ones of the same measure.

    The version of a measure is that of its last file: scores of different versions, such as on two
    packs, are never mixed, and those of another version are left out. A measure without a score in
    any cell is not ranked.

    Raises ``ValueError`` for scores on different packs of one suite, and for files whose cells
    differ.
    """
    by_suite: dict[str, dict[str, ScoreFile]] = {}
    several = tuple(files)
    versions = {scores.measure.spec: scores.measure.version for scores in several}
    for scores in several:
        if scores.measure.version != versions[scores.measure.spec]:
            continue
        by_suite.setdefault(scores.suite, {})[scores.measure.spec] = scores
    ordered = {suite: by_suite[suite] for suite in SUITES if suite in by_suite}
    scored = {spec for of in ordered.values() for spec, scores in of.items() if scores.has_values}
    known: Mapping[str, Mapping[str, float]] = read_document(
        RELIABILITIES, dict, "a table of reliabilities"
    )
    unranked = dict[str, dict[tuple[str, str], float]]()
    for suite, first in ((suite, next(iter(of.values()))) for suite, of in ordered.items()):
        of_pack = known.get(first.manifest, {})
        cells = ((c.test, c.cell, of_pack.get(c.cell)) for c in first.cells)
        unranked[suite] = {(t, c): r for t, c, r in cells if r is not None and not is_reliable(r)}
    results = {suite: joined(_chosen(of, scored), unranked[suite]) for suite, of in ordered.items()}
    cards = {s.measure.spec: s.measure for of in ordered.values() for s in of.values()}
    return Board(results, cards, ordered, joint_ranks(list(results.values())), unranked)


def _chosen(files: Mapping[str, ScoreFile], specs: set[str]) -> list[ScoreFile]:
    """Return the files of some measures, or all where these have none."""
    return [scores for spec, scores in files.items() if spec in specs] or list(files.values())


def joined(files: Sequence[ScoreFile], unranked: Iterable[tuple[str, str]] = ()) -> Result:
    """Return the scores of several measures on one pack as one result, without tables; those in
    ``unranked`` cells are not ranked.

    Raises ``ValueError`` for files of different packs or with different cells.
    """
    first = files[0]
    for other in files[1:]:
        _check_same(first, other)
    specs, noise = [s.measure.spec for s in files], set(unranked)
    scores, rules = defaultdict[str, Scores](dict), defaultdict[str, dict[str, RankRule]](dict)
    for cells in zip(*(s.cells for s in files), strict=True):
        test, cell, *_ = one = cells[0]
        scores[test][cell] = dict(zip(specs, (c.value for c in cells)))
        rules[test][cell] = RankRule(
            tuple(dict(zip(specs, part)) for part in zip(*(c.parts for c in cells), strict=True)),
            tuple(spec for spec, c in zip(specs, cells) if c.is_incomplete),
            test=test,
            models=one.models,
            is_ranked=(test, cell) not in noise,
        )
    return Result(
        first.suite,
        first.pack,
        tuple(Section(t, t, "", scores=of, rules=rules[t]) for t, of in scores.items()),
        {s.measure.spec: s.measure.label for s in files},
        {s.measure.spec: s.seconds for s in files},
        {"pack": first.pack, "manifest": first.manifest},
    )


def _check_same(one: ScoreFile, other: ScoreFile) -> None:
    who = f"{one.measure.spec} and {other.measure.spec}"
    if (one.pack, one.manifest) != (other.pack, other.manifest):
        raise ValueError(
            f"{who} have scores on different packs: {one.pack} ({one.manifest[:12]}) and "
            f"{other.pack} ({other.manifest[:12]}); compute them again on one"
        )
    if [c[:2] for c in one.cells] != [c[:2] for c in other.cells]:
        raise ValueError(f"{who} have scores in different cells of {one.pack}")


def packs_of(series: str = SERIES) -> tuple[Pack, ...]:
    """Return the packs of a series, opened: the newest version of each, in the order of suites."""
    newest = {
        p.suite: p
        for p in sorted(known_packs(), key=lambda p: p.version)
        if series_of(f"{p.name}@{p.version}") == series
    }
    return tuple(open_pack(f"{newest[s].name}@{newest[s].version}") for s in SUITES if s in newest)
