"""The scores of all measures on a series of packs, from the scores in files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from resemblance.sections.ranks import is_ranked_reading
from resemblance.sections.result import Result
from resemblance.sections.sections import RankRule, Section
from resemblance.sections.values import distinct_labels

from .. import SUITES
from ..packs import Pack, list_packs, open_pack
from ..packs.opening import find_pack
from ..reliability import is_reliable
from .score_file import MeasureCard, PackScores, read_scores

SHIPPED = Path(__file__).with_name("scores.jsonl")  # scores of the measures of this library
DEFAULT_PACK_SERIES = "compact"  # the packs that ship with the library
# The scores of the measures on ten architectures ship, and the features do not.
ARCHITECTURES_SERIES, ARCHITECTURES_PACK = "architectures", "resi-architectures@1"
SHIPPED_ARCHITECTURES = Path(__file__).with_name("architectures.jsonl")
BUILD_COMMANDS = (
    "resemblance bench run resi study --size architectures -m cka",
    "resemblance pack build resi study --half",
    f"resemblance pack get {ARCHITECTURES_PACK} --source .",
)
ScoresByCell = dict[str, dict[str, float | None]]  # by task, then by specification


class Board(NamedTuple):
    """The leaderboard: the scores of measures on a pack of every suite, combined.

    ``results``: by suite, the scores of all measures with scores in the suite. ``cards``: by
    specification, the declared properties of measures. ``scores``: by suite, then by specification.
    ``labels``: of the measures, by specification. ``unranked``: by suite, then by (test, task), the
    reliability of the expected differences, for tasks too unreliable to rank measures.
    """

    results: Mapping[str, Result]
    cards: Mapping[str, MeasureCard]
    scores: Mapping[str, Mapping[str, PackScores]]
    labels: Mapping[str, str]
    unranked: Mapping[str, Mapping[tuple[str, str], float]]


def read_board(*files: str | Path, packs: str = DEFAULT_PACK_SERIES) -> Board:
    """Read the leaderboard of a series of packs, from the scores that ship with the library and
    from score files.

    ``packs``: the series, such as "compact". If a measure has scores of several versions, the most
    recently computed version counts; your files override the scores that ship.

    Raises ``ValueError`` for a series without scores.
    """
    scores = newest_scores(read_all_scores(*files, packs=packs))
    if not scores:
        raise ValueError(f"no scores on packs of the series {packs!r}; see: resemblance pack list")
    return board_of(scores)


def read_all_scores(*files: str | Path, packs: str = DEFAULT_PACK_SERIES) -> tuple[PackScores, ...]:
    """Read all scores on a series of packs, oldest first: the scores that ship with the library,
    and the scores in files.

    Scores on earlier pack versions are included. Raises ``ValueError`` for a file without scores on
    packs of the series, and for scores on a version of a shipped pack that this version of the
    library does not know.
    """
    shipped = shipped_file(packs)
    scores = list(_scores_in_series(shipped, packs)) if shipped.is_file() else []
    for file in files:
        file_scores = _scores_in_series(file, packs)
        if not file_scores:
            raise ValueError(f"{file} holds no scores on packs of the series {packs!r}")
        scores += file_scores
    _check_known_pack_versions(scores)
    return tuple(sorted(scores, key=_score_age))


def shipped_file(series: str) -> Path:
    """Return the file of the scores that ship with the library, for packs of a series."""
    return SHIPPED_ARCHITECTURES if series == ARCHITECTURES_SERIES else SHIPPED


def _score_age(scores: PackScores) -> tuple[int, str, int]:
    """Return the sort key for the age of scores: the version of the pack, the date, the version of
    the measure. The version of a user's measure is a hash, so the date comes before the version."""
    return scores.pack_version, scores.environment.get("date", ""), scores.measure.version


def _check_known_pack_versions(pack_scores: Iterable[PackScores]) -> None:
    """Raise ``ValueError`` for scores on an unknown version of a known pack, which would displace
    all scores of the suite. A copy of the pack of ten architectures has a manifest of its own."""
    manifests = {p.identity: p.manifest for p in list_packs()}
    names = {identity.partition("@")[0] for identity in (*manifests, ARCHITECTURES_PACK)}
    for scores in pack_scores:
        if scores.pack.partition("@")[0] not in names or scores.pack == ARCHITECTURES_PACK:
            continue
        if manifests.get(scores.pack) != scores.manifest:
            raise ValueError(
                f"the scores of {scores.measure.spec} are on {scores.pack} with the manifest "
                f"{scores.manifest[:12]}, which this version of the library does not know"
            )


def _scores_in_series(file: str | Path, series: str) -> list[PackScores]:
    return [scores for scores in read_scores(file) if pack_series(scores.pack) == series]


def newest_scores(pack_scores: Sequence[PackScores]) -> tuple[PackScores, ...]:
    """Return the scores on the newest version of the pack of every suite, in the given order."""
    by_version = sorted(pack_scores, key=lambda scores: scores.pack_version)
    versions = {scores.suite: scores.pack_version for scores in by_version}
    return tuple(s for s in pack_scores if s.pack_version == versions[s.suite])


def pack_series(pack: str) -> str:
    """Return the series of a pack: "compact" for "resi-compact@1"."""
    return pack.partition("@")[0].partition("-")[2]


def board_of(scores: Iterable[PackScores]) -> Board:
    """Build the leaderboard from the last scores of every measure in every suite.

    The version of a measure is the version of its last scores in any suite. Scores of other
    versions are left out in all suites, so scores of different versions, such as on two packs, are
    never mixed.

    Raises ``ValueError`` if the scores left in a suite are on different packs or have different
    tasks.
    """
    by_suite: dict[str, dict[str, PackScores]] = {}
    pack_scores = tuple(scores)
    versions = {entry.measure.spec: entry.measure.version for entry in pack_scores}
    for entry in pack_scores:
        if entry.measure.version == versions[entry.measure.spec]:
            by_suite.setdefault(entry.suite, {})[entry.measure.spec] = entry
    suite_scores = {suite: by_suite[suite] for suite in SUITES if suite in by_suite}
    unranked_tasks = {
        suite: _unreliable_tasks(by_measure.values()) for suite, by_measure in suite_scores.items()
    }
    results = {
        suite: join_measure_scores(list(by_measure.values()), unranked_tasks[suite])
        for suite, by_measure in suite_scores.items()
    }
    cards = {
        entry.measure.spec: entry.measure
        for by_measure in suite_scores.values()
        for entry in by_measure.values()
    }
    labels = distinct_labels({spec: card.label for spec, card in cards.items()})
    return Board(results, cards, suite_scores, labels, unranked_tasks)


def _unreliable_tasks(scores: Iterable[PackScores]) -> dict[tuple[str, str], float]:
    """Return the reliability, by (test, task), of the tasks too unreliable to rank measures.
    ``scores``: of all measures on a pack."""
    cells = (cell for entry in scores for cell in entry.cells)
    return {
        (cell.test, cell.cell): cell.reliability
        for cell in cells
        if cell.reliability is not None and not is_reliable(cell.reliability)
    }


def join_measure_scores(
    pack_scores: Sequence[PackScores], unranked_tasks: Iterable[tuple[str, str]] = ()
) -> Result:
    """Combine the scores of several measures on a pack into one result without tables, with a
    section per test.

    ``unranked_tasks``: (test, task) pairs; these tasks are not ranked. Raises ``ValueError`` for
    scores on different packs or in different tasks.
    """
    first = pack_scores[0]
    for other in pack_scores[1:]:
        _check_equal_results(first, other)
    specs, noise = [s.measure.spec for s in pack_scores], set(unranked_tasks)
    scores = defaultdict[str, ScoresByCell](dict)
    rules = defaultdict[str, dict[str, RankRule]](dict)
    for cells in zip(*(s.cells for s in pack_scores), strict=True):
        test, cell, *_ = scored_cell = cells[0]
        scores[test][cell] = dict(zip(specs, (c.value for c in cells)))
        rules[test][cell] = RankRule(
            tuple(dict(zip(specs, part)) for part in zip(*(c.parts for c in cells), strict=True)),
            tuple(spec for spec, c in zip(specs, cells) if c.is_incomplete),
            test=test,
            models=scored_cell.models,
            is_ranked=(test, cell) not in noise and is_ranked_reading(cell.split("/")),
            without={spec: c.without for spec, c in zip(specs, cells)},
            reasons={spec: c.reason for spec, c in zip(specs, cells) if c.reason},
        )
    return Result(
        first.suite,
        first.pack,
        tuple(Section(t, t, "", scores=by_cell, rules=rules[t]) for t, by_cell in scores.items()),
        {s.measure.spec: s.measure.label for s in pack_scores},
        {s.measure.spec: s.seconds for s in pack_scores},
        {"pack": first.pack, "manifest": first.manifest},
    )


def _check_equal_results(first: PackScores, second: PackScores) -> None:
    names = f"{first.measure.spec} and {second.measure.spec}"
    if first.pack == second.pack and first.manifest != second.manifest:
        raise ValueError(
            f"{names} have scores on two copies of {first.pack} ({first.manifest[:12]} and "
            f"{second.manifest[:12]}), because training gives other features on another machine; "
            "compare the measures on your own copy: resemblance rank MEASURE --packs "
            f"{pack_series(first.pack)} --against FILE"
        )
    if first.pack != second.pack:
        raise ValueError(
            f"{names} have scores on different packs: {first.pack} and {second.pack}; "
            "compute them again on one"
        )
    if [c[:2] for c in first.cells] != [c[:2] for c in second.cells]:
        raise ValueError(f"{names} have scores on different tasks of {first.pack}")


def packs_of(
    packs: str = DEFAULT_PACK_SERIES,
    scores: Iterable[PackScores] = (),
    benchmark: str | None = None,
) -> tuple[Pack, ...]:
    """Open the packs of a series: the newest version of every pack, in the order of suites.
    ``benchmark``: open the pack of this suite alone.

    Known packs are the packs that ship with the library, the pack of ten architectures, and the
    packs of ``scores``, possibly in the cache.

    Raises ``ValueError`` for a series without known packs (of the benchmark), for a pack that
    you must build first, and for scores with a different manifest of the pack.
    """
    entries = [(p.version, p.suite, p.identity) for p in list_packs()]
    suite, _, version = ARCHITECTURES_PACK.replace("@", "-").split("-")
    entries.append((int(version), suite, ARCHITECTURES_PACK))
    entries += [(s.pack_version, s.suite, s.pack) for s in scores]
    identities = {suite: pack for _, suite, pack in sorted(entries) if pack_series(pack) == packs}
    if not identities:
        raise ValueError(f"no packs of the series {packs!r} are known; see: resemblance pack list")
    if benchmark is not None:
        identities = {suite: pack for suite, pack in identities.items() if suite == benchmark}
    if not identities:
        raise ValueError(
            f"the series {packs!r} has no pack of the benchmark {benchmark!r}; choose another "
            "benchmark, or another series of packs"
        )
    if ARCHITECTURES_PACK in identities.values() and find_pack(ARCHITECTURES_PACK) is None:
        raise ValueError(
            f"the scores on {ARCHITECTURES_PACK} ship with the library, and the features do not; "
            f"to score a measure, build the pack (32 CPU minutes): {' && '.join(BUILD_COMMANDS)}"
        )
    packs_by_suite = {
        suite: open_pack(identities[suite]) for suite in SUITES if suite in identities
    }
    for entry in scores:
        manifest = packs_by_suite[entry.suite].manifest if entry.suite in packs_by_suite else None
        if manifest and manifest.identity == entry.pack and manifest.sha256 != entry.manifest:
            raise ValueError(
                f"{entry.pack} is installed with the manifest {manifest.sha256[:12]}, but the "
                f"scores of {entry.measure.spec} are on {entry.manifest[:12]}: get the pack of the "
                "scores"
            )
    return tuple(packs_by_suite.values())
