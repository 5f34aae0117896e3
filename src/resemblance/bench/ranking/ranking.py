"""The ranks and places of all measures on a series of packs, from their scores in files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from resemblance.sections.result import Result
from resemblance.sections.sections import RankRule, Section

from .. import SUITES
from ..joint import CombinedRanking, combine_rankings
from ..packs import Pack, list_packs, open_pack
from ..reliability import is_reliable
from .score_file import MeasureCard, PackScores, read_scores

SHIPPED = Path(__file__).with_name("scores.jsonl")  # the scores of the measures of this library
DEFAULT_PACK_SERIES = "compact"  # the packs that ship with the library
ScoresByCell = dict[str, dict[str, float | None]]  # by cell, then by specification


class Board(NamedTuple):
    """The scores of measures on packs, one pack of every suite, joined.

    ``results``: by suite, the scores of all measures that have some there. ``cards``: by
    specification, what measures claim. ``scores``: by suite and specification. ``ranks``: of the
    measures that have scores in all suites. ``unranked``: by suite and cell, the reliability of
    what is expected in cells where it is too low to rank measures by it.
    """

    results: Mapping[str, Result]
    cards: Mapping[str, MeasureCard]
    scores: Mapping[str, Mapping[str, PackScores]]
    ranks: CombinedRanking
    unranked: Mapping[str, Mapping[tuple[str, str], float]]


def read_board(*files: str | Path, packs: str = DEFAULT_PACK_SERIES) -> Board:
    """Return the board of a series of packs, from the scores that ship with the library and those
    in score files.

    Of several versions of a measure the one that was computed last counts, and a file of yours
    before the scores that ship.
    """
    return board_of(newest_scores(read_all_scores(*files, packs=packs)))


def read_all_scores(*files: str | Path, packs: str = DEFAULT_PACK_SERIES) -> tuple[PackScores, ...]:
    """Return all scores on a series of packs, also those of earlier versions, which come first: the
    scores that ship with the library, and those in score files.

    Raises ``ValueError`` for a file without scores on packs of the series, and for scores on a
    version of a pack that ships which this version of the library does not know.
    """
    scores = list(_scores_in_series(SHIPPED, packs)) if SHIPPED.is_file() else []
    for file in files:
        added = _scores_in_series(file, packs)
        if not added:
            raise ValueError(f"{file} holds no scores on packs of the series {packs!r}")
        scores += added
    _check_known_pack_versions(scores)
    return tuple(sorted(scores, key=_score_age))


def _score_age(scores: PackScores) -> tuple[int, str, int]:
    """Return what orders scores: versions of measures of users are hashes, so dates go first."""
    return scores.pack_version, scores.environment.get("date", ""), scores.measure.version


def _check_known_pack_versions(several: Iterable[PackScores]) -> None:
    """Raise ``ValueError`` for scores on an unknown version of a known pack: they would displace
    all scores of their suite."""
    known = {p.identity: p.manifest for p in list_packs()}
    names = {identity.partition("@")[0] for identity in known}
    for scores in several:
        if scores.pack.partition("@")[0] not in names:
            continue
        if known.get(scores.pack) != scores.manifest:
            raise ValueError(
                f"the scores of {scores.measure.spec} are on {scores.pack} with the manifest "
                f"{scores.manifest[:12]}, which this version of the library does not know"
            )


def _scores_in_series(file: str | Path, series: str) -> list[PackScores]:
    return [scores for scores in read_scores(file) if pack_series(scores.pack) == series]


def newest_scores(several: Sequence[PackScores]) -> tuple[PackScores, ...]:
    """Return the scores on the newest version of every pack."""
    ordered = sorted(several, key=lambda scores: scores.pack_version)
    newest = {scores.suite: scores.pack_version for scores in ordered}
    return tuple(s for s in several if s.pack_version == newest[s.suite])


def pack_series(pack: str) -> str:
    """Return the series of a pack: "compact" of "resi-compact@1"."""
    return pack.partition("@")[0].partition("-")[2]


def board_of(scores: Iterable[PackScores]) -> Board:
    """Return the board of scores, later ones in place of earlier ones of the same measure.

    The version of a measure is that of its last scores: scores of different versions, such as on
    two packs, are never mixed, and those of another version are left out. A measure without a score
    in any cell is not ranked.

    Raises ``ValueError`` for scores on different packs of one suite, and for scores whose cells
    differ.
    """
    by_suite: dict[str, dict[str, PackScores]] = {}
    several = tuple(scores)
    versions = {one.measure.spec: one.measure.version for one in several}
    for one in several:
        if one.measure.version == versions[one.measure.spec]:
            by_suite.setdefault(one.suite, {})[one.measure.spec] = one
    ordered = {suite: by_suite[suite] for suite in SUITES if suite in by_suite}
    with_values = {spec for of in ordered.values() for spec, one in of.items() if one.has_values}
    unranked = {suite: _unreliable_tasks(of.values()) for suite, of in ordered.items()}
    results = {
        suite: join_measure_scores(_select_measure_scores(of, with_values), unranked[suite])
        for suite, of in ordered.items()
    }
    cards = {one.measure.spec: one.measure for of in ordered.values() for one in of.values()}
    return Board(results, cards, ordered, combine_rankings(list(results.values())), unranked)


def _unreliable_tasks(scores: Iterable[PackScores]) -> dict[tuple[str, str], float]:
    """Return the reliability of cells where it is too low to rank measures, by test and cell."""
    cells = (cell for one in scores for cell in one.cells)
    return {
        (cell.test, cell.cell): cell.reliability
        for cell in cells
        if cell.reliability is not None and not is_reliable(cell.reliability)
    }


def _select_measure_scores(scores: Mapping[str, PackScores], specs: set[str]) -> list[PackScores]:
    """Return the scores of some measures, or all where these have none."""
    return [one for spec, one in scores.items() if spec in specs] or list(scores.values())


def join_measure_scores(
    several: Sequence[PackScores], unranked: Iterable[tuple[str, str]] = ()
) -> Result:
    """Return the scores of several measures on one pack as one result, without tables; those in
    ``unranked`` cells are not ranked.

    Raises ``ValueError`` for scores on different packs or in different cells.
    """
    first = several[0]
    for other in several[1:]:
        _check_equal_results(first, other)
    specs, noise = [s.measure.spec for s in several], set(unranked)
    scores, rules = (
        defaultdict[str, ScoresByCell](dict),
        defaultdict[str, dict[str, RankRule]](dict),
    )
    for cells in zip(*(s.cells for s in several), strict=True):
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
        {s.measure.spec: s.measure.label for s in several},
        {s.measure.spec: s.seconds for s in several},
        {"pack": first.pack, "manifest": first.manifest},
    )


def _check_equal_results(one: PackScores, other: PackScores) -> None:
    who = f"{one.measure.spec} and {other.measure.spec}"
    if (one.pack, one.manifest) != (other.pack, other.manifest):
        raise ValueError(
            f"{who} have scores on different packs: {one.pack} ({one.manifest[:12]}) and "
            f"{other.pack} ({other.manifest[:12]}); compute them again on one"
        )
    if [c[:2] for c in one.cells] != [c[:2] for c in other.cells]:
        raise ValueError(f"{who} have scores in different cells of {one.pack}")


def packs_of(
    packs: str = DEFAULT_PACK_SERIES, scores: Iterable[PackScores] = ()
) -> tuple[Pack, ...]:
    """Return the packs of a series, opened: the newest version of each, in the order of suites.

    Known are the packs that ship with the library, and those that ``scores`` are on, which may be
    in the cache.

    Raises ``ValueError`` for a series of which no packs are known, and for a pack whose manifest is
    not that of its scores.
    """
    listed = [(p.version, p.suite, p.identity) for p in list_packs()]
    listed += [(s.pack_version, s.suite, s.pack) for s in scores]
    newest = {suite: pack for _, suite, pack in sorted(listed) if pack_series(pack) == packs}
    if not newest:
        raise ValueError(f"no packs of the series {packs!r} are known; see: resemblance pack list")
    opened = {suite: open_pack(newest[suite]) for suite in SUITES if suite in newest}
    for one in scores:
        manifest = opened[one.suite].manifest if one.suite in opened else None
        if manifest and manifest.identity == one.pack and manifest.sha256 != one.manifest:
            raise ValueError(
                f"{one.pack} is here with the manifest {manifest.sha256[:12]}, and the scores of "
                f"{one.measure.spec} are on {one.manifest[:12]}: get the pack of the scores"
            )
    return tuple(opened.values())
