"""The ranks of measures on a leaderboard: as records, as a data frame, in words, and for a single
measure with its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from resemblance.base.formatting import count_with_noun, format_duration, format_number, join_words
from resemblance.base.results import BaseResult
from resemblance.citations import CITATIONS_BY_NAME
from resemblance.report.terminal import plain_table
from resemblance.sections.headlines import (
    MAX_NAMES_IN_HEADLINE,
    headline,
    leaders_without_each_group,
)
from resemblance.sections.standing import RANK_INTERVALS_NOTE, format_rank_interval
from resemblance.significance import SETTLING, Place, Places

from .. import SUITES
from ..reliability import LEAST_RELIABILITY
from .ranking import DEFAULT_PACK_SERIES, Board, read_board
from .score_file import MeasureCard
from .subsets import (
    COST_REFERENCE,
    RankedSubset,
    cpu_seconds_on_packs,
    leaderboard_labels,
    rank_subset,
    select_measure_subset,
    select_task_subset,
)

N_NEIGHBORS_SHOWN = 3  # on both sides of the measure
EQUAL_SCORE_TOLERANCE = 1e-9  # largest difference between equal scores
MIN_SHARE_OF_EQUAL_SCORES = 0.9  # share of tasks; fewer equal scores can be chance
LEADERBOARD_HEADER = ("place", "measure", "mean rank", "95 %", "CPU time")
CURRENT_ROW_MARK = "→"  # marks the ranked measure among its neighbours


# ------------------------------------------------------------------------------------- for programs


class Unplaced(NamedTuple):
    """A measure without a rank, and the reason."""

    measure: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(BaseResult):
    """The ranking of measures with rank intervals, returned by :func:`resemblance.leaderboard`.

    ``rows``: a record per measure, best first, then measures without a rank, by name.
    ``conclusion``: the leading measure. ``cells`` and ``measures``: keys of the selected tasks and
    measures. ``counts``: by suite, the number of tasks in which the measures differ. ``packs``: by
    pack, the SHA-256 of its manifest.
    """

    rows: tuple[Mapping[str, Any], ...]
    conclusion: str
    cells: str
    measures: str
    counts: Mapping[str, int]
    packs: Mapping[str, str]
    caveats: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Unplaced, ...]:
        """The measures without a rank, and the reasons."""
        is_settled = any(row["place"] is not None for row in self.rows)
        reason = "it lacks scores in some suite" if is_settled else "there are too few cells"
        return tuple(Unplaced(row["spec"], reason) for row in self.rows if row["place"] is None)

    def summary(self) -> str:
        """Return which measure leads, or why there is no order."""
        return "\n".join((self.conclusion, *self.caveats))

    def records(self) -> list[dict[str, Any]]:
        """Return a record per measure: rank interval, mean rank with its interval, and declared
        properties."""
        return [dict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the records as a ``pandas.DataFrame`` (extra ``frames``)."""
        whole_numbers = dict.fromkeys(("place", "best", "worst"), "Int64")
        return super().to_pandas().astype(whole_numbers | {"is_tied": "boolean"})

    def _document(self) -> dict[str, Any]:
        return {
            "cells": self.cells,
            "measures": self.measures,
            "counts": dict(self.counts),
            "packs": dict(self.packs),
            "caveats": list(self.caveats),
            "ranking": self.records(),
        }

    def _table_parts(self) -> list[Any]:
        records = [row for row in self.rows if row["place"] is not None]
        if not records:
            return [self.conclusion]
        rows = [
            (
                " to ".join(dict.fromkeys((str(row["best"]), str(row["worst"])))),
                f"{row['label']}{' *' * bool(row['own_suites'])}",
                f"{row['mean_rank']:.2f}",
                f"{row['low']:.1f} to {row['high']:.1f}",
                format_duration(row["cpu_seconds"]),
            )
            for row in records
        ]
        table = plain_table(LEADERBOARD_HEADER, rows, right=(0, 2, 3, 4))
        return [self.conclusion, "", table, "", RANK_INTERVALS_NOTE, *self.caveats]


def leaderboard_of_subset(board: Board, subset: RankedSubset) -> Leaderboard:
    """Return the ranking in a subset of a leaderboard as a result."""
    labels = leaderboard_labels(board)
    cards = [board.cards[place.measure] for place in subset.places.rows if subset.is_settled]
    return Leaderboard(
        tuple(leaderboard_records(board, subset)),
        leader_sentence(subset, labels),
        subset.cells.key,
        subset.measures.key,
        dict(subset.counts),
        {f.pack: f.manifest for by_measure in board.scores.values() for f in by_measure.values()},
        tuple(filter(None, [own_suites_note(cards, labels)])),
    )


def leaderboard(*files: str | Path, packs: str = DEFAULT_PACK_SERIES) -> Leaderboard:
    """Return the published ranking of measures, a record per measure, best first.

    ``spec``, ``label``, ``version``, ``family``: of the measure. ``place``: the rank. ``best`` to
    ``worst``: the rank interval, over all measures that are statistically tied with the measure (95
    %). ``mean_rank``: 1 for the best, with ``low`` and ``high``. ``is_tied``: tied with the leader.
    A column per suite with the mean rank in the suite, such as ``rank_resi``. ``own_suites``:
    suites from the paper of the measure. ``cpu_seconds``: on all packs. The remaining columns are
    the declared properties of the measure. Suites of fewer than six tasks do not count towards the
    mean. Measures without scores in some suite come last, without a rank.

    ``files``: score files to add to the scores that ship with the library, such as the scores of
    your own measures, which :func:`resemblance.bench.ranking.write_scores` writes. ``packs``: the
    series of the packs, such as "compact" for "resi-compact@1".

    Raises ``ValueError`` for files of another kind, and for scores that cannot be combined.
    """
    scores = read_board(*files, packs=packs)
    subset = rank_subset(scores, select_task_subset(scores), select_measure_subset(scores))
    return leaderboard_of_subset(scores, subset)


def leaderboard_records(board: Board, subset: RankedSubset) -> list[dict[str, Any]]:
    """Return a record per measure of a subset, best first, then measures without a rank, by name.

    In a subset with too few tasks, no measure has a rank.
    """
    labels, rows = leaderboard_labels(board), subset.places.rows if subset.is_settled else ()
    place_by_spec = {place.measure: place for place in rows}
    remaining_specs = sorted(
        subset.measures.specs - set(place_by_spec), key=lambda spec: (labels[spec], spec)
    )
    suites = subset.cells.suites
    records = []
    for spec in (*place_by_spec, *remaining_specs):
        place, card = place_by_spec.get(spec), board.cards[spec]
        record: dict[str, Any] = {"spec": spec, "label": labels[spec]}
        record |= {"version": card.version, "family": card.family, **_rank_interval_entry(place)}
        means = subset.places.by_group
        record |= {f"rank_{s}": means[s][spec] if place and s in means else None for s in suites}
        record |= {"own_suites": ", ".join(own_suites(card))}
        records.append(
            record | {"cpu_seconds": cpu_seconds_on_packs(board, spec), **_claim_record(card)}
        )
    return records


def _rank_interval_entry(place: Place | None) -> dict[str, Any]:
    names = ("place", "best", "worst", "mean_rank", "low", "high", "is_tied")
    if place is None:
        return dict.fromkeys(names)
    values = (place.position, place.best, place.worst, place.mean, place.low, place.high)
    return dict(zip(names, (*values, place.is_tied)))


def _claim_record(card: MeasureCard) -> dict[str, Any]:
    return {
        "larger_is_more_similar": card.larger_is_more_similar,
        "smallest": card.range[0],
        "largest": card.range[1],
        "symmetric": card.symmetric,
        "metric": card.metric,
        "differentiable": card.differentiable,
        "invariant_to": ", ".join(card.invariant_to),
        "citation": card.citation,
    }


# ----------------------------------------------------------------------------------------- in words


def rank_interval_sentence(place: Place, count: int) -> str:
    """Return the rank interval in words: "Place 3 to 6 of 49, mean rank 8.41 (95 %: 7.9 to
    9.0)."."""
    ends = f"95 %: {place.low:.1f} to {place.high:.1f}"
    return (
        f"Place {format_rank_interval(place)} of {count}, with a mean rank of {place.mean:.2f} "
        f"({ends}). A measure that guesses has about {(count + 1) / 2:g}."
    )


def leader_sentence(subset: RankedSubset, labels: Mapping[str, str]) -> str:
    """Return the conclusion for a subset: the leading measure, or the reason why there is no
    order."""
    cells = sum(subset.counts.values())
    if subset.is_settled:
        parts = (
            headline(subset.places, labels),
            leaders_without_each_group(subset.places, labels),
            _ranked_tasks_text(subset),
        )
        return " ".join(filter(None, (*parts, unranked_tasks_sentence(subset))))
    if max(subset.counts.values(), default=0) < SETTLING:
        verb = "cell tells" if cells == 1 else "cells tell"
        return (
            f"Too few cells for an order: {cells} {verb} these measures apart, and with fewer than "
            f"{SETTLING} of a suite even the first in all of them may be so by chance. "
            f"{unranked_tasks_sentence(subset)}"
        ).rstrip()
    return "There are not two measures with scores here, so there is no order."


def unranked_tasks_sentence(subset: RankedSubset) -> str:
    """Return the number of unranked tasks, and the reason; "" if all tasks are ranked."""
    if not subset.unranked:
        return ""
    return (
        f"Shown, but not ranked: {count_with_noun(subset.unranked, 'cell')} whose expected "
        f"differences do not repeat on other inputs (reliability below {LEAST_RELIABILITY})."
    )


def _ranked_tasks_text(subset: RankedSubset) -> str:
    if len(subset.counts) < 2:
        return ""
    parts = [f"{count} in {suite}" for suite, count in subset.counts.items()]
    return (
        f"Cells: {join_words(parts, MAX_NAMES_IN_HEADLINE)}; every suite that decides counts alike."
    )


def own_suites(card: MeasureCard) -> tuple[str, ...]:
    """Return the suites from the paper of a measure, where the measure may have an advantage."""
    return tuple(suite for suite in SUITES if card.citation in CITATIONS_BY_NAME[suite])


def own_suites_note(cards: Iterable[MeasureCard], labels: Mapping[str, str]) -> str:
    """Return the footnote for starred measures, and the list of starred measures; "" without such
    measures."""
    suites = {labels[card.spec]: own_suites(card) for card in cards}
    names = [
        f"{label} ({', '.join(suite_names)})"
        for label, suite_names in suites.items()
        if suite_names
    ]
    return f"* One of the suites is from its own paper: {', '.join(names)}." if names else ""


# -------------------------------------------------------------------------------------- one measure


class SuiteRank(NamedTuple):
    """The mean rank of a measure in a suite, and the mean rank of the leader of the suite. A suite
    with too few tasks does not count for the overall rank."""

    suite: str
    mean: float
    leader: str
    leading: float
    counts: bool


class MeasureRank(NamedTuple):
    """The rank of a measure on a leaderboard, ``among`` a number of measures.

    ``place``: the rank interval; None if the measure has no score in some suite, or with too few
    tasks for an order. ``ties``: labels of statistically tied measures, the nearest first.
    ``above``, ``below``: the nearest neighbours, best first. ``same``: by label, measures with the
    same score in nearly all tasks, and the number of equal scores. ``missing``: by reason, the
    number of tasks without a score, out of all ``cells``. ``seconds``: CPU time on all packs.
    ``times``: CPU time in multiples of the CPU time of CKA, if known.
    """

    spec: str
    label: str
    among: int
    place: Place | None
    ties: tuple[str, ...]
    above: tuple[Place, ...]
    below: tuple[Place, ...]
    suites: tuple[SuiteRank, ...]
    same: dict[str, int]
    missing: dict[str, int]
    cells: int
    seconds: float
    times: float | None

    @property
    def has_scores(self) -> bool:
        """Whether the measure has a score in any task; without a score the measure has no rank."""
        return sum(self.missing.values()) < self.cells


def whole_suite_subset(board: Board, suite: str | None = None) -> RankedSubset:
    """Return the subset of all tasks of a leaderboard, or of the tasks of a suite, with all
    measures."""
    return rank_subset(board, select_task_subset(board, suite), select_measure_subset(board))


def rank_of(board: Board, subset: RankedSubset, spec: str) -> MeasureRank:
    """Return the rank of a measure in a subset of a leaderboard.

    Raises ``ValueError`` for a measure that the leaderboard lacks.
    """
    if spec not in board.cards:
        raise ValueError(f"the leaderboard has no measure {spec!r}")
    rows = subset.places.rows if subset.is_settled else ()
    index = next((i for i, row in enumerate(rows) if row.measure == spec), None)
    place = None if index is None else rows[index]
    labels = leaderboard_labels(board)
    files = [board.scores[s][spec] for s in subset.cells.suites if spec in board.scores[s]]
    cells = [cell for scores in files for cell in scores.cells]
    return MeasureRank(
        spec,
        labels[spec],
        len(rows),
        place,
        tuple(labels[m] for m in _nearest_tied_measures(subset.places, spec)) if place else (),
        () if index is None else rows[max(index - N_NEIGHBORS_SHOWN, 0) : index],
        () if index is None else rows[index + 1 : index + 1 + N_NEIGHBORS_SHOWN],
        tuple(_ranks_by_suite(subset.places, spec)) if place else (),
        {labels[other]: count for other, count in _measures_with_equal_scores(board, subset, spec)},
        dict(Counter(cell.reason for cell in cells if cell.value is None)),
        len(cells),
        sum(scores.seconds for scores in files),
        _relative_cost(board, spec),
    )


def _nearest_tied_measures(places: Places, spec: str) -> list[str]:
    """Return the measures tied with a measure, the nearest mean ranks first."""
    means = {place.measure: place.mean for place in places.rows}
    return sorted(places.tied_with(spec), key=lambda m: abs(means[m] - means[spec]))


def _measures_with_equal_scores(
    board: Board, subset: RankedSubset, spec: str
) -> Iterable[tuple[str, int]]:
    """Yield measures that have the same scores as ``spec``, and the number of equal scores.

    Scores must be equal in at least 90 % of the tasks in which either measure has a score; fewer
    equal scores can be chance.
    """
    scores = _scores_in_subset(board, subset, spec)
    tasks = {cell for cell, value in scores.items() if value is not None}
    for other in sorted(board.cards.keys() - {spec}):
        other_scores = _scores_in_subset(board, subset, other)
        cells = tasks | {cell for cell, value in other_scores.items() if value is not None}
        n_equal = sum(_are_equal_scores(scores.get(cell), other_scores.get(cell)) for cell in cells)
        if cells and n_equal >= MIN_SHARE_OF_EQUAL_SCORES * len(cells):
            yield other, n_equal


def _scores_in_subset(
    board: Board, subset: RankedSubset, spec: str
) -> dict[tuple[str, str, str], float | None]:
    """Return the scores of a measure, by suite, test and task."""
    files = [board.scores[s][spec] for s in subset.cells.suites if spec in board.scores[s]]
    return {(f.suite, cell.test, cell.cell): cell.value for f in files for cell in f.cells}


def _are_equal_scores(score: float | None, other: float | None) -> bool:
    return score is not None and other is not None and abs(score - other) <= EQUAL_SCORE_TOLERANCE


def _ranks_by_suite(places: Places, spec: str) -> Iterable[SuiteRank]:
    for suite, means in places.by_group.items():
        leader = min(means, key=lambda m: (means[m], m))
        yield SuiteRank(suite, means[spec], leader, means[leader], suite not in places.few)


def _relative_cost(board: Board, spec: str) -> float | None:
    """Return the CPU time of a measure in multiples of the CPU time of CKA on the same packs; None
    for CKA itself, and if the time is unknown."""
    suites = [
        suite for suite, files in board.scores.items() if {spec, COST_REFERENCE} <= files.keys()
    ]
    reference = sum(board.scores[suite][COST_REFERENCE].seconds for suite in suites)
    seconds = sum(board.scores[suite][spec].seconds for suite in suites)
    return seconds / reference if reference and spec != COST_REFERENCE else None


def rank_sentence(standing: MeasureRank) -> str:
    """Return the rank of a measure in words, as a paragraph."""
    lines = _rank_interval_lines(standing) if standing.has_scores else _missing_lines(standing)
    return " ".join((f"{_label_with_spec(standing)}:", *_equal_scores_lines(standing), *lines))


def missing_place_reason(standing: MeasureRank) -> str:
    """Return why a measure has no rank, as a paragraph."""
    lines = _rank_interval_lines(standing) if standing.has_scores else _missing_lines(standing)
    return " ".join(lines)


def rank_report_parts(standing: MeasureRank, labels: Mapping[str, str]) -> Iterator[Any]:
    """Yield texts and tables: rank, ties, neighbours, ranks by suite, missing scores, cost."""
    yield _label_with_spec(standing)
    missing_lines = [*_missing_lines(standing)]
    if standing.has_scores:
        yield from _equal_scores_lines(standing)
        yield from _rank_interval_lines(standing)
    else:
        yield from missing_lines
    if standing.place:
        yield _neighbors_table(standing, standing.place, labels)
        yield _suite_ranks_table(standing, labels)
    if standing.has_scores:
        yield from missing_lines
    times = f", {format_number(standing.times, 2)} times that of CKA" if standing.times else ""
    yield f"CPU time: {format_duration(standing.seconds)}{times}."


def _label_with_spec(standing: MeasureRank) -> str:
    label, spec = standing.label, standing.spec
    return label if label == spec else f"{label} ({spec})"


def _equal_scores_lines(standing: MeasureRank) -> Iterator[str]:
    for label, count in standing.same.items():
        yield (
            f"It has the same score as {label} in {count} of "
            f"{count_with_noun(standing.cells, 'cell')}: is it the same measure?"
        )


def _rank_interval_lines(standing: MeasureRank) -> Iterator[str]:
    if standing.place is None:
        cells = count_with_noun(standing.cells, "cell")
        yield (
            "It has no place: it lacks scores in some suite."
            if standing.among
            else f"It has no place: an order takes two measures and {SETTLING} cells of a suite; "
            f"there are {cells}."
        )
        return
    yield rank_interval_sentence(standing.place, standing.among)
    if standing.ties:
        yield f"It cannot be told from {join_words(standing.ties, MAX_NAMES_IN_HEADLINE)}."
    else:
        yield "It can be told from all others."


def _neighbors_table(standing: MeasureRank, place: Place, labels: Mapping[str, str]) -> Any:
    rows = [
        (
            CURRENT_ROW_MARK if p is place else "",
            format_rank_interval(p),
            labels[p.measure],
            f"{p.mean:.2f}",
            f"{p.low:.1f} to {p.high:.1f}",
        )
        for p in (*standing.above, place, *standing.below)
    ]
    return plain_table(("", "place", "measure", "mean rank", "95 %"), rows, right=(1, 3, 4))


def _suite_ranks_table(standing: MeasureRank, labels: Mapping[str, str]) -> Any:
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


def _missing_lines(standing: MeasureRank) -> Iterator[str]:
    if not standing.has_scores:
        yield f"No score in any of {count_with_noun(standing.cells, 'cell')}, so it has no place."
    parts = [f"in {count}, {reason}" for reason, count in standing.missing.items()]
    if parts:
        n_missing = sum(standing.missing.values())
        yield (
            f"No score in {n_missing} of {count_with_noun(standing.cells, 'cell')} "
            f"({'; '.join(parts)})."
        )
