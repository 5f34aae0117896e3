r"""What a benchmark answers: for every question, which measures may be the best, and which measures
differ from a baseline.

The tasks of a question are fixed, and the models are random: an interval says which values other
seeds of the same networks may give, or with networks as the random unit, which values other
networks may give. The score of a question is the mean over networks of the mean over tasks,

.. math:: \theta = \frac{1}{G} \sum_g \frac{1}{C_g} \sum_{c} \theta_{gc}

and the standard error follows from the scores without each seed, or without each network (see
``resemblance.significance.jackknife``). A reference model is dropped with its seed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.formatting import count_with_noun
from ..base.text import check_choice, did_you_mean
from ..sections.ranks import DEFAULT_RANK_RULE, is_ranked_reading
from ..sections.result import Result
from ..significance import (
    Differences,
    JackknifeScores,
    differences_from,
    jackknife_deviations,
    may_be_best,
)
from .questions import QUESTIONS, Question, question_of
from .reliability import LEAST_RELIABILITY
from .scoring import failure_without_count

BASELINE = "cka"  # the measure that other measures are compared with, unless you name another
# The random units of intervals, and how many of them intervals need.
RANDOM_UNITS: Mapping[str, str] = {
    "seeds": "two seeds of every network",
    "networks": "two networks",
}
EQUAL_SCORE_TOLERANCE = 1e-9
# Whether to select a task, given suite, test and task name.
TaskPredicate: TypeAlias = Callable[[str, str, str], bool]


class ScoredTask(NamedTuple):
    """The scores of measures in a task, and the scores without the models of each seed.

    ``models``: the network behind the task. ``scores``: by measure; None for a measure without a
    score, or with failed comparisons. ``without``: by measure, then by seed. ``reasons``: by
    measure, why comparisons or the score are missing. ``is_ranked``: whether the expected
    differences repeat on other inputs, so that the scores rank measures.
    """

    suite: str
    test: str
    name: str
    models: str
    scores: Mapping[str, float | None]
    without: Mapping[str, Mapping[str, float | None]]
    reasons: Mapping[str, str] = {}
    is_ranked: bool = True


class Interval(NamedTuple):
    """A difference of mean scores, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.high < 0


class MeasureAnswer(NamedTuple):
    """How well a measure answers a question.

    ``measures``: measures with equal scores in all tasks, by specification. ``score``: the mean
    score. ``by_models``: the mean score on every network. ``may_be_best``: no rival is ahead by
    more than chance. ``joint``: the difference from the baseline; the intervals of all measures
    hold together with 95 %. ``single``: the same difference; each interval holds alone.
    ``may_be_best``, ``joint`` and ``single`` are None without scores of several seeds, ``joint``
    and ``single`` also if the baseline has no score.
    """

    measures: tuple[str, ...]
    score: float
    by_models: Mapping[str, float]
    may_be_best: bool | None = None
    joint: Interval | None = None
    single: Interval | None = None


class Answer(NamedTuple):
    """The answer to a question. ``measures``: best first.

    ``baseline``: the specification of the measure that other measures are compared with.
    ``trivial``: the trivial measures, which do not compete. ``missing``: by measure without an
    answer, the reason. ``n_tasks``: the number of tasks. ``models``: the networks.
    ``unranked_reason``: why the scores are shown and have no intervals; "" with intervals.
    ``degrees_of_freedom``: seeds minus networks, or networks minus one if networks are the random
    unit; 0 without intervals. ``n_differ_by_models``: the number of measures that differ from the
    baseline if networks and data sets are the random unit, not seeds; None with fewer than two
    networks, and if the baseline has no score. ``unit``: the random unit of the intervals, "seeds"
    or "networks".
    """

    question: Question
    baseline: str
    n_tasks: int
    models: tuple[str, ...]
    degrees_of_freedom: int
    measures: tuple[MeasureAnswer, ...]
    trivial: tuple[MeasureAnswer, ...] = ()
    missing: Mapping[str, str] = {}
    n_differ_by_models: int | None = None
    unranked_reason: str = ""
    unit: str = "seeds"

    @property
    def has_intervals(self) -> bool:
        """Whether the scores rank measures, with intervals."""
        return any(m.may_be_best is not None for m in self.measures)

    @property
    def best(self) -> tuple[MeasureAnswer, ...]:
        """The measures with no rival ahead by more than chance; () without intervals."""
        return tuple(m for m in self.measures if m.may_be_best)

    def of(self, measure: str) -> MeasureAnswer | None:
        """Return the line of a measure by its specification, competing or trivial; None if the
        measure has no answer."""
        lines = (*self.measures, *self.trivial)
        return next((line for line in lines if measure in line.measures), None)

    def shortfall(self, measure: str) -> float | None:
        """Return the best score of competing measures minus the score of ``measure``, a
        specification: 0 for the best measure; None without a score."""
        line = self.of(measure)
        return None if line is None else self.measures[0].score - line.score


def answer_questions(
    results: Iterable[Result],
    *,
    baseline: str = BASELINE,
    unit: str = "seeds",
    among: Collection[str] | None = None,
    trivial: Collection[str] = (),
    is_chosen: TaskPredicate = lambda suite, test, name: True,
) -> tuple[Answer, ...]:
    """Return the answer to every question of the results of suites, in the order of the questions.

    ``baseline``: the specification of the measure that other measures are compared with. ``unit``:
    the random unit of the intervals, "seeds" (of the same networks) or "networks". ``among``: the
    measures that compete, by default all measures; the baseline always takes part. ``trivial``:
    measures that are shown next to the competing measures and do not compete. ``is_chosen``:
    whether a task counts, given suite, test and name. A question without a competing measure that
    has all scores is left out.

    Raises ``ValueError`` for an unknown unit, and for a baseline without any score; the default
    baseline may lack scores.
    """
    check_choice("unit", unit, RANDOM_UNITS)
    tasks = [
        task
        for result in results
        for task in scored_tasks(result)
        if is_chosen(task.suite, task.test, task.name)
    ]
    scored = {
        spec
        for task in tasks
        if task.is_ranked
        for spec, score in task.scores.items()
        if score is not None
    }
    if baseline != BASELINE and baseline not in scored:
        raise ValueError(
            f"the baseline {baseline!r} has no scores{did_you_mean(baseline, scored)}; compare "
            "with a measure that has scores"
        )
    by_question: dict[Question, list[ScoredTask]] = defaultdict(list)
    for task in tasks:
        by_question[question_of(task.suite, task.test)].append(task)
    order = {question: i for i, question in enumerate(QUESTIONS)}
    questions = sorted(by_question, key=lambda q: order.get(q, len(order)))
    answers = (_answer(q, by_question[q], baseline, unit, among, trivial) for q in questions)
    return tuple(answer for answer in answers if answer.measures)


def scored_tasks(result: Result) -> Iterator[ScoredTask]:
    """Yield the tasks of a result, unreliable tasks too, without readings that are only shown
    (Kendall's correlation next to Spearman's)."""
    for section in result.sections:
        for cell, scores in section.scores.items():
            rule = section.rules.get(cell, DEFAULT_RANK_RULE)
            if is_ranked_reading(cell.split("/")):
                incomplete = rule.incomplete if rule.failures == "last" else ()
                complete = {m: None if m in incomplete else v for m, v in scores.items()}
                test, name = section.key(cell)
                yield ScoredTask(
                    result.suite,
                    test,
                    name,
                    rule.models,
                    complete,
                    rule.without,
                    rule.reasons,
                    rule.is_ranked,
                )


# ------------------------------------------------------------------------------------- one question


def _answer(
    question: Question,
    all_tasks: Sequence[ScoredTask],
    baseline: str,
    unit: str,
    among: Collection[str] | None,
    trivial: Collection[str],
) -> Answer:
    tasks = [task for task in all_tasks if task.is_ranked]
    specs = sorted({spec for task in tasks for spec in task.scores})
    missing = {spec: reason for spec in specs if (reason := _missing_reason(tasks, spec))}
    complete = [spec for spec in specs if spec not in missing]
    is_competing = {
        spec: spec == baseline or (spec not in trivial and (among is None or spec in among))
        for spec in complete
    }
    groups = _groups_of_equal_scores(tasks, [s for s in complete if is_competing[s]])
    sets = _tasks_by_models(tasks)
    answer = Answer(question, baseline, len(tasks), tuple(sets), 0, (), missing=missing, unit=unit)
    if not groups:
        return answer
    columns = [*groups, *((s,) for s in trivial if s in complete and not is_competing[s])]
    by_models = np.array(
        [[_mean_score(members, group[0]) for group in columns] for members in sets.values()]
    ).reshape(len(sets), len(columns))
    lines = [
        MeasureAnswer(group, float(mean), dict(zip(sets, scores.tolist())))
        for group, mean, scores in zip(columns, by_models.mean(axis=0), by_models.T)
    ]
    scores = (
        _jackknife_by_models(by_models)
        if unit == "networks"
        else _jackknife_scores(sets, [group[0] for group in columns])
    )
    reason = question.unranked_reason or _unreliable_reason(all_tasks)
    if len(groups) < 2:
        reason = reason or "a single measure"
    if scores is None:
        reason = reason or f"without {RANDOM_UNITS[unit]}, there are no intervals"
    elif not reason:
        lines = _add_intervals(lines, scores, len(groups), baseline)
        answer = answer._replace(degrees_of_freedom=scores.degrees_of_freedom)
    ordered = sorted(lines[: len(groups)], key=lambda line: (-round(line.score, 9), line.measures))
    return answer._replace(
        measures=tuple(ordered),
        trivial=tuple(lines[len(groups) :]),
        n_differ_by_models=_n_differ_by_models(by_models[:, : len(groups)], lines, baseline),
        unranked_reason=reason,
    )


def _unreliable_reason(tasks: Sequence[ScoredTask]) -> str:
    """Return why unreliable tasks keep a question from a ranking: of many unreliable tasks, a few
    seem reliable by chance. "" if at least half of the tasks are reliable."""
    n_unreliable = sum(not task.is_ranked for task in tasks)
    if 2 * n_unreliable <= len(tasks):
        return ""
    return f"the reliability of {n_unreliable} of {len(tasks)} tasks is below {LEAST_RELIABILITY}"


def _missing_reason(tasks: Sequence[ScoredTask], spec: str) -> str:
    missing = [task for task in tasks if task.scores.get(spec) is None]
    if missing:
        reasons = [task.reasons[spec] for task in missing if spec in task.reasons]
        most_often = Counter(map(failure_without_count, reasons)).most_common(1)
        count = f"no score in {len(missing)} of {count_with_noun(len(tasks), 'task')}"
        return ": ".join((count, *(reason for reason, _ in most_often)))
    for task in tasks:
        known = {seed for by_seed in task.without.values() for seed in _seeds_with_score(by_seed)}
        own = _seeds_with_score(task.without.get(spec, {}))
        if known and not own:
            return "not computed by seeds"
        if known - own:
            return "no score without one of the seeds"
    return ""


def _seeds_with_score(without: Mapping[str, float | None]) -> set[str]:
    return {seed for seed, score in without.items() if score is not None}


def _groups_of_equal_scores(
    tasks: Sequence[ScoredTask], specs: Iterable[str]
) -> list[tuple[str, ...]]:
    """Return the measures ``specs`` in groups with equal scores in all ``tasks``. Scores are equal
    to a group if the difference from its first measure is at most ``EQUAL_SCORE_TOLERANCE`` in
    every task. All ``specs`` have a score in every task."""
    groups: list[list[str]] = []
    vectors: list[np.ndarray] = []
    for spec in specs:
        vector = np.array([task.scores[spec] for task in tasks], float)
        for group, other in zip(groups, vectors):
            if np.allclose(vector, other, rtol=0, atol=EQUAL_SCORE_TOLERANCE):
                group.append(spec)
                break
        else:
            groups.append([spec])
            vectors.append(vector)
    return list(map(tuple, groups))


def _tasks_by_models(tasks: Iterable[ScoredTask]) -> dict[str, list[ScoredTask]]:
    sets: dict[str, list[ScoredTask]] = defaultdict(list)
    for task in tasks:
        sets[task.models].append(task)
    return dict(sorted(sets.items()))


def _mean_score(tasks: Iterable[ScoredTask], spec: str) -> float:
    return float(np.mean([task.scores[spec] for task in tasks]))


def _jackknife_scores(
    sets: Mapping[str, Sequence[ScoredTask]], specs: Sequence[str]
) -> JackknifeScores | None:
    """Return the mean scores of the measures ``specs``, and the deviations without each seed; None
    if a network has fewer than two seeds, or a score without a seed is unknown.

    ``sets``: the tasks of every network.
    """
    deviations = []
    for tasks in sets.values():
        units = sorted({unit for task in tasks for unit in task.without.get(specs[0], {})})
        if len(units) < 2:
            return None
        total = np.zeros((len(units), len(specs)))
        for task in tasks:
            by_measure = [task.without.get(spec, {}) for spec in specs]
            if any(len(seeds) < 2 or None in seeds.values() for seeds in by_measure):
                return None
            own_units = sorted(task.without[specs[0]])
            without = np.array(
                [[task.without[spec][unit] for spec in specs] for unit in own_units], float
            )
            rows = [units.index(unit) for unit in own_units]
            total[rows] += jackknife_deviations(without)
        deviations.append(total / len(tasks) / len(sets))
    means = np.mean(
        [[_mean_score(tasks, spec) for spec in specs] for tasks in sets.values()], axis=0
    )
    return JackknifeScores(means, tuple(deviations))


def _jackknife_by_models(by_models: np.ndarray) -> JackknifeScores | None:
    """Return the mean scores of measures and their deviations without each network; None with fewer
    than two networks. ``by_models``: (networks, measures)."""
    if len(by_models) < 2:
        return None
    # The mean without one network, for a jackknife of a plain mean.
    without = (by_models.sum(axis=0) - by_models) / (len(by_models) - 1)
    return JackknifeScores(by_models.mean(axis=0), (jackknife_deviations(without),))


def _add_intervals(
    lines: Sequence[MeasureAnswer], scores: JackknifeScores, n_competing: int, baseline: str
) -> list[MeasureAnswer]:
    """Return copies of ``lines`` with the inference: whether the measure may be best, and the
    intervals of the difference from the baseline, joint and single.

    The first ``n_competing`` lines compete; the lines after them have only single differences.
    ``scores``: of the lines, in the same order. ``baseline``: the specification of a measure;
    without a competing line of the baseline, intervals are None.
    """
    competing = JackknifeScores(
        scores.means[:n_competing], tuple(d[:, :n_competing] for d in scores.deviations)
    )
    best: list[bool | None] = [*map(bool, may_be_best(competing))]
    position = _position(lines[:n_competing], baseline)
    joint: list[Interval | None] = [None] * len(lines)
    single = list(joint)
    if position is not None:
        joint[:n_competing] = _intervals(differences_from(competing, position))
        single = [*_intervals(differences_from(scores, position, is_joint=False))]
    best += [None] * (len(lines) - n_competing)
    return [
        line._replace(may_be_best=b, joint=j, single=s)
        for line, b, j, s in zip(lines, best, joint, single, strict=True)
    ]


def _position(lines: Sequence[MeasureAnswer], measure: str) -> int | None:
    return next((i for i, line in enumerate(lines) if measure in line.measures), None)


def _intervals(differences: Differences) -> list[Interval]:
    return [Interval(*map(float, ends)) for ends in zip(*differences)]


def _n_differ_by_models(
    by_models: np.ndarray, lines: Sequence[MeasureAnswer], baseline: str
) -> int | None:
    """Return how many measures differ from the baseline, with networks as the random unit; None
    with fewer than two networks or measures, and if no line has the baseline.

    ``by_models``: the mean scores, (networks, competing measures); ``lines`` begins with the same
    measures.
    """
    n_lines = by_models.shape[1]
    position = _position(lines[:n_lines], baseline)
    scores = _jackknife_by_models(by_models)
    if scores is None or n_lines < 2 or position is None:
        return None
    intervals = _intervals(differences_from(scores, position))
    return sum(interval.is_better or interval.is_worse for interval in intervals)
