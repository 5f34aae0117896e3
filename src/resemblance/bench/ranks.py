"""Rank the measures of a suite, in every task and over all tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..catalogue import get_measure
from ..comparison.comparison import MeasureInfo
from ..contracts._measure import Measure
from ..sections.figures import Box, Boxes
from ..sections.mean_ranks import MEAN_RANKS_NOTE, mean_rank_bars
from ..sections.ranks import (
    Ranking,
    ScoresByMeasure,
    average_readings,
    is_ranked_reading,
    mean_ranks,
    rank_measures_of_task,
    summarize,
)
from ..sections.sections import RankRule, Section, Sign, Table, TableEntry
from ..sections.values import distinct_labels, finite_or_none
from .case import Case, Score, task_name
from .reliability import is_reliable

TaskKey = tuple[str, ...]  # the test and the words of a task
# Predicates that select tasks, such as the tasks of a domain.
TaskFilters = Mapping[str, Callable[[TaskKey], bool]]
# By task, the scores of measures and the rule for ranking.
ScoresAndRulesByTask = Mapping[TaskKey, tuple[ScoresByMeasure, RankRule]]


class ScoreOverview(NamedTuple):
    """The scores of a run, and the ranks computed from the scores.

    ``cells``: by task, the scores and the rule for ranking. ``ranks``: by task with ranks, then by
    measure. ``rankings``: mean ranks, best first. ``names``: labels of measures on the page, by
    specification. ``order``: of the measures on a page, best mean rank first, unranked measures
    last; in a trial, the order of the run, because ranks of a trial mean nothing. ``usual``:
    specifications and labels of the suite's default measures; the page marks other measures.
    """

    scores: tuple[Score, ...]
    measures: tuple[MeasureInfo, ...]
    cells: ScoresAndRulesByTask
    ranks: Mapping[TaskKey, Mapping[str, float]]
    rankings: tuple[Ranking, ...]
    names: Mapping[str, str]
    order: tuple[str, ...]
    usual: frozenset[tuple[str, str]]
    is_trial: bool

    @property
    def worst(self) -> float:
        """The largest possible rank, for axes: the number of measures in ``names``, at least 2, and
        at least every rank."""
        ranks = (rank for cell in self.ranks.values() for rank in cell.values())
        return float(max([*ranks, len(self.names), 2]))


def summarize_scores(
    suite: str,
    scores: Iterable[Score],
    measures: Iterable[MeasureInfo],
    cells: ScoresAndRulesByTask,
    default_measures: Iterable[Measure],
    *,
    is_trial: bool,
) -> ScoreOverview:
    """Rank the measures of a suite and return the content of its pages.

    ``suite``: the name. ``scores``: of all measures in all tasks. ``measures``: of the run, in
    their order. ``cells``: by task, the scores of measures and the rule for ranking.
    ``default_measures``: of the suite. ``is_trial``: keep the order of the run instead of the
    ranking.
    """
    infos = tuple(measures)
    names = distinct_labels({m.spec: m.label for m in infos})
    by_cell = {cell: rank_measures_of_task(*ranked) for cell, ranked in cells.items()}
    ranks = {cell: measure_ranks for cell, measure_ranks in by_cell.items() if measure_ranks}
    rankings = mean_ranks(ranks)
    ranked = [r.measure for r in rankings]
    if is_trial:
        ranked = [spec for spec in names if spec in set(ranked)]
    return ScoreOverview(
        tuple(scores),
        infos,
        cells,
        ranks,
        rankings,
        names,
        (*ranked, *(spec for spec in names if spec not in set(ranked))),
        frozenset((m.spec, m.label) for m in default_measures),
        is_trial,
    )


def tasks_with_rank_rules(cases: Iterable[Case], scores: Iterable[Score]) -> ScoresAndRulesByTask:
    """Return by task, with the key ``Case.key``, a pair: the score of every measure, by
    specification (None for a missing score), and the rule for ranking. A task without any score is
    left out."""
    by_cell: dict[TaskKey, list[Score]] = defaultdict(list)
    for score in scores:
        by_cell[score.key].append(score)
    cells = dict[TaskKey, tuple[ScoresByMeasure, RankRule]]()
    for case in cases:
        if task_scores := by_cell[case.key]:
            rule = rank_rule(task_scores, case.test, case.models, is_by_part=case.is_by_part)
            cells[case.key] = {s.measure: finite_or_none(s.value) for s in task_scores}, rule
    return cells


def rank_rule(
    scores: Sequence[Score],
    test: str,
    models: str,
    *,
    is_by_part: bool = True,
    failures: str = "last",
    is_shared: bool = False,
    is_ranked: bool = False,
) -> RankRule:
    """Return the rule that ranks the measures of a task by their scores.

    ``scores``: of all measures in the task. ``models``: the models behind the task. ``is_by_part``:
    rank within every part. ``failures``: the rank of measures with failed comparisons, "last" or
    "unranked". ``is_shared``: all measures share one rank. A task with unreliable expected
    differences is shown and not ranked, unless ``is_ranked`` is True; Kendall's correlation is
    shown next to Spearman's and never ranked.
    """
    count = max(len(s.parts) for s in scores) if is_by_part else 1
    parts = tuple(
        # With a single part, the score of the part equals the score of the task.
        {s.measure: finite_or_none(s.parts[i]) if i < len(s.parts) else None for s in scores}
        for i in range(count if count > 1 else 0)
    )
    incomplete = tuple(s.measure for s in scores if s.failed)
    is_ranked = is_ranked or is_reliable(scores[0].reliability)
    is_ranked = is_ranked and is_ranked_reading(scores[0].key)
    without = {s.measure: {u: finite_or_none(v) for u, v in s.without.items()} for s in scores}
    reasons = {s.measure: s.reason for s in scores if s.reason}
    return RankRule(
        parts, incomplete, failures, is_shared, test, models, is_ranked, without, reasons
    )


def add_scores(section: Section, cells: ScoresAndRulesByTask, words: int = 1) -> Section:
    """Return a copy of the section with the scores of tasks and the rules for ranking.

    ``cells``: by task, the scores and the rule. The name of a task in the section omits the first
    ``words`` words of its key, such as the test.
    """
    return section._replace(
        scores={task_name(cell[words:]): scores for cell, (scores, _) in cells.items()},
        rules={task_name(cell[words:]): rule for cell, (_, rule) in cells.items()},
    )


def catalogue_measure(info: MeasureInfo) -> Measure | None:
    """Return the catalogue measure behind a result; None for a user's own measure, and for another
    label or version."""
    try:
        measure = get_measure(info.spec)
    except ValueError:
        return None
    return measure if (measure.label, measure.version) == (info.label, info.version) else None


def measure_signs(overview: ScoreOverview, order: Iterable[str]) -> tuple[Sign, ...]:
    """Return a tooltip for every measure in the first column of a table: the specification and a
    summary. A measure that is not a default measure of the suite also gets the mark "added".

    ``order``: the measures of the rows, by specification.
    """
    infos, signs = {m.spec: m for m in overview.measures}, list[Sign]()
    added = _added_measures(overview)
    for row, info in enumerate(infos[spec] for spec in order):
        measure, mark = catalogue_measure(info), ""
        note = f": {measure.summary.replace('``', '')}" if measure else ""
        if info.spec in added:
            mark, note = "added", ": not one of the benchmark's measures"
        signs.append(Sign(row, 0, mark, f"{info.spec}{note}"))
    return tuple(signs)


def _added_measures(overview: ScoreOverview) -> set[str]:
    """Return the measures that are not default measures of the suite."""
    return {m.spec for m in overview.measures if (m.spec, m.label) not in overview.usual}


# ----------------------------------------------------------------------------- where measures stand


def ranking_section(
    overview: ScoreOverview, groups: TaskFilters, about: str = "", *, kind: str = "group"
) -> Section:
    """Return the section with the mean ranks, overall and per group of tasks.

    ``groups``: by name of a group, the predicate that selects tasks. ``about``: describes a task.
    ``kind``: the noun for a group.
    """
    by_spec = {r.measure: r for r in overview.rankings}
    rankings = [by_spec[spec] for spec in overview.order if spec in by_spec]
    bars = mean_rank_bars(
        rankings,
        overview.names,
        title="Mean rank over all tasks",
        worst=overview.worst,
        marked=_added_measures(overview),
    )
    table = _ranking_table(overview, groups, kind)
    figures = (bars,) if rankings else ()
    return Section("ranking", "Mean ranks", about, (table,), figures)


def _ranking_table(overview: ScoreOverview, groups: TaskFilters, kind: str) -> Table:
    overall = {r.measure: r for r in overview.rankings}
    means = {
        name: {r.measure: r.mean for r in _rankings(overview, is_in)}
        for name, is_in in groups.items()
    }
    records = list[Mapping[str, TableEntry]]()
    for spec in overview.order:
        ranking = overall.get(spec)
        records.append(
            {
                "measure": overview.names[spec],
                "mean rank": ranking.mean if ranking else None,
                "median": ranking.median if ranking else None,
                "tasks": float(len(ranking.ranks)) if ranking else 0.0,
                **{group: group_means.get(spec) for group, group_means in means.items()},
            }
        )
    return Table.of(
        records,
        "ranking",
        "Mean ranks of a trial, in the order of the list" if overview.is_trial else "Mean ranks",
        MEAN_RANKS_NOTE,
        signs=measure_signs(overview, overview.order),
        hints=dict.fromkeys(means, f"mean rank in this {kind}"),
        is_leading=True,
    )


def _rankings(
    overview: ScoreOverview, is_in: Callable[[TaskKey], bool] = bool
) -> tuple[Ranking, ...]:
    """Return the mean ranks of measures over all experiments, or over the tasks that ``is_in``
    selects by their keys; best median first."""
    ranks = {cell: ranks for cell, ranks in overview.ranks.items() if is_in(cell)}
    return summarize(average_readings(ranks))


def distribution_section(
    overview: ScoreOverview,
    groups: TaskFilters,
    text_of: Callable[[TaskKey], str] = "/".join,
    *,
    kind: str = "group",
) -> Section:
    """Return the section with box plots of the ranks of every measure, a figure per group of tasks.

    ``groups``: by name of a group, the predicate that selects tasks. ``text_of``: maps a task to
    its display name. ``kind``: the noun for a group.
    """
    figures = (_rank_box_figure(overview, name, is_in, text_of) for name, is_in in groups.items())
    order = ""
    if not overview.is_trial:
        order = f"In each {kind}, measures are sorted by median rank, then by mean rank. "
    about = (
        f"{order}Boxes span the quartiles, lines reach the farthest rank within 1.5 times that "
        "span, points are tasks. Rank 1 is the best."
    )
    return Section("distribution", "Distribution of ranks", about, (), tuple(filter(None, figures)))


def _rank_box_figure(
    overview: ScoreOverview,
    group: str,
    is_in: Callable[[TaskKey], bool],
    text_of: Callable[[TaskKey], str],
) -> Boxes | None:
    cells = {cell: ranks for cell, ranks in overview.ranks.items() if is_in(cell)}
    order = [row.measure for row in _rankings(overview, is_in)]
    if overview.is_trial:
        order = [spec for spec in overview.order if spec in set(order)]
    families = {m.spec: m.family.replace("_", " ") for m in overview.measures}
    boxes = []
    for spec in order:
        ranks = {
            text_of(cell): cell_ranks[spec]
            for cell, cell_ranks in cells.items()
            if spec in cell_ranks
        }
        box = Box(overview.names[spec], tuple(ranks.values()), tuple(ranks), families[spec])
        boxes.append(box)
    if not boxes:
        return None
    span = (1.0, overview.worst)
    return Boxes(group, group, "rank, 1 is the best", tuple(boxes), span=span)
