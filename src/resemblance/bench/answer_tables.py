"""Answers in words and as tables: a row per question, and a row per measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ..base.formatting import count_with_noun, format_duration, join_words
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from .answers import Answer, Interval, MeasureAnswer, answer_questions

ANSWERS_SECTION, ANSWERS_TITLE = "answers", "Which measure?"
MAX_BEST = 8  # with more measures that may be the best, the text says that nobody is
MAX_EQUAL = 5  # labels of measures with equal scores that are written
MAX_DECIMALS = 7  # a bound that rounds to zero with fewer decimals is zero
MAX_LISTED = 10  # measures listed in a cell; the rest are counted
OWN_MARK = "→ "  # marks your own measures
ANSWERS_NOTE = (
    "The tasks are fixed, and the models are random: the answers hold for {} May be best: in 95 % "
    "of repetitions with other {}, the truly best measure is in the list. Differences: the 95 % "
    "intervals hold together with all measures of a row. Measures with equal scores in every task "
    "count once."
)
MEASURES_NOTE = (
    "* may be the best of the column; + and − better and worse than the baseline, by the intervals "
    "that hold together with all measures. Largest shortfall: the largest distance from the best "
    "score of a column."
)
Labels = Mapping[str, str]


# ----------------------------------------------------------------------------------------- in words


def format_score(value: float) -> str:
    """Return a score with two decimals: "0.83", "−0.20"."""
    return _format_decimals(value, 2)


def _format_decimals(value: float, decimals: int) -> str:
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _format_bound(value: float) -> str:
    """Return an end of an interval with two decimals, or with up to six decimals if fewer would
    show zero."""
    shown = (n for n in range(2, MAX_DECIMALS) if round(value, n) != 0)
    return _format_decimals(value, next(shown, 2))


def format_difference(interval: Interval) -> str:
    """Return the value of an interval with its sign, without the ends: "+0.15"."""
    value = format_score(interval.value)
    return value if value.startswith("−") else f"+{value}"


def format_ends(interval: Interval) -> str:
    """Return the ends of an interval: "0.05 to 0.24"."""
    return f"{_format_bound(interval.low)} to {_format_bound(interval.high)}"


def format_interval(interval: Interval) -> str:
    """Return a difference with its interval: "+0.15 (0.05 to 0.24)"."""
    return f"{format_difference(interval)} ({format_ends(interval)})"


def line_label(line: MeasureAnswer, labels: Labels) -> str:
    """Return the labels of the measures in a line, "Bures = ProcDist"; of more than five measures,
    the first label and the number of other measures.

    ``labels``: by specification; a measure without a label keeps its specification.
    """
    names = [labels.get(spec, spec) for spec in line.measures]
    if len(names) <= MAX_EQUAL:
        return " = ".join(names)
    return f"{names[0]} (and {len(names) - 1} equal)"


def _with_score(lines: Iterable[MeasureAnswer], labels: Labels) -> list[str]:
    return [f"{line_label(line, labels)} {format_score(line.score)}" for line in lines]


def best_text(answer: Answer, labels: Labels) -> str:
    """Return the measures that may be the best, with scores: "CKA 0.83; RSA 0.81".

    Of more than eight such measures, the text has the number and the first three. Without
    intervals, the text has the reason and the three largest scores. ``labels``: by specification.
    """
    if not answer.has_intervals:
        reason = f"shown, not ranked ({answer.unranked_reason})"
        return f"{reason}: {_listed(_with_score(answer.measures[:3], labels))}"
    names = _with_score(answer.best, labels)
    if len(names) <= MAX_BEST:
        return "; ".join(names)
    count = f"{len(names)} of {len(answer.measures)}"
    return f"no difference shown: {count} may be the best ({'; '.join(names[:3])}; …)"


def behind_text(answer: Answer) -> str:
    """Return the number of measures that are surely behind: "41 of 44"; "–" without intervals.
    Measures with equal scores count once."""
    if not answer.has_intervals:
        return "–"
    return f"{len(answer.measures) - len(answer.best)} of {len(answer.measures)}"


def different_text(answer: Answer, labels: Labels, *, is_better: bool) -> str:
    """Return the measures that are surely better, or surely worse (the worst first), than the
    baseline, with intervals: at most ten, then the number of further measures.

    "none" for no measure; "–" without intervals, and if the baseline has no score. ``labels``: by
    specification.
    """
    lines = [
        (line, line.joint)
        for line in answer.measures
        if line.joint and (line.joint.is_better if is_better else line.joint.is_worse)
    ]
    if not answer.has_intervals or not any(line.joint for line in answer.measures):
        return "–"
    if not is_better:
        lines = lines[::-1]
    names = [f"{line_label(line, labels)} {format_interval(joint)}" for line, joint in lines]
    return _listed(names) or "none"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= MAX_LISTED + 1:
        return "; ".join(names)
    return f"{'; '.join(names[:MAX_LISTED])}; and {len(names) - MAX_LISTED} more"


def conclusion_of_answers(answers: Sequence[Answer], labels: Labels) -> str:
    """Return the conclusion of a ranking: a line per question with intervals, and a line about
    networks as the random unit; the reasons if no question has intervals. ``labels``: by
    specification."""
    lines = []
    for answer in answers:
        if answer.has_intervals:
            names = [line_label(line, labels) for line in answer.best]
            words = answer.question.words
            if len(names) > MAX_BEST:
                count = f"{len(names)} of {len(answer.measures)}"
                lines.append(f"To know {words}: {count} measures may be the best.")
            else:
                verb = "is the best measure" if len(names) == 1 else "may be the best measures"
                lines.append(f"To know {words}: {join_words(names)} {verb}.")
    if not answers:
        return "No measure has a score in all tasks of a question."
    if not lines:
        return f"No ranking: {join_words(dict.fromkeys(a.unranked_reason for a in answers))}."
    return "\n".join(filter(None, (*lines, networks_sentence(answers, labels))))


def networks_sentence(answers: Iterable[Answer], labels: Labels) -> str:
    """Return a sentence about networks as the random unit instead of seeds: how many measures
    differ from the baseline, by question. "" if no number is known, and for answers whose random
    unit is the network. ``labels``: by specification."""
    answers = [a for a in answers if a.unit != "networks"]
    counts = {a.question.words: a.n_differ_by_models for a in answers if a.has_intervals}
    found = {words: count for words, count in counts.items() if count}
    baseline = next((labels.get(a.baseline, a.baseline) for a in answers), "")
    if not any(count is not None for count in counts.values()):
        return ""
    if not found:
        return f"With networks as the random unit, no measure is shown to differ from {baseline}."
    parts = [f"{count_with_noun(count, 'measure')} ({words})" for words, count in found.items()]
    differ = "differs" if list(found.values()) == [1] else "differ"
    return f"With networks as the random unit, {join_words(parts)} {differ} from {baseline}."


def differences_sentence(answers: Sequence[Answer], labels: Labels) -> str:
    """Return which measures are surely better, and surely worse, than the baseline, question by
    question, and the questions without an answer of the baseline: "Better than CKA: no measure.
    Worse than CKA: MMD (how far apart layers are)."."""
    baseline = labels.get(answers[0].baseline, answers[0].baseline)
    sentences = []
    for is_better, word in ((True, "Better"), (False, "Worse")):
        parts = []
        for answer in answers:
            names = [
                line_label(line, labels)
                for line in answer.measures
                if line.joint and (line.joint.is_better if is_better else line.joint.is_worse)
            ]
            if names:
                parts.append(f"{', '.join(names)} ({answer.question.words})")
        sentences.append(f"{word} than {baseline}: {'; '.join(parts) or 'no measure'}.")
    if words := [a.question.words for a in answers if a.of(a.baseline) is None]:
        sentences.append(f"{baseline} has no answer to {join_words(words)}.")
    return " ".join(sentences)


def population_words(answers: Iterable[Answer]) -> str:
    """Return the models that the answers hold for: "other seeds of the same networks."."""
    answers = list(answers)
    if not any(answer.unit == "networks" for answer in answers):
        return "other seeds of the same networks."
    # The name of a network is domain/data set/architecture, or domain/architecture.
    places = [[m.split("/")[:-1][:2] for m in answer.models] for answer in answers]
    shares = any(place in group[:i] for group in places for i, place in enumerate(group) if place)
    data = "on the same data sets" if shares else "with other data sets"
    return f"other networks {data}, as if the networks were drawn at random."


# --------------------------------------------------------------------------------------- as tables


def question_records(answers: Iterable[Answer], labels: Labels) -> list[dict[str, TableEntry]]:
    """Return a row per question, in words; the keys are the headings of the table. ``labels``: of
    measures, by specification."""
    return [
        {
            "you want to know": f"{a.question.words} ({_task_words(a)})",
            "may be best": best_text(a, labels),
            "surely behind": behind_text(a),
            f"surely better than {(name := labels.get(a.baseline, a.baseline))}": different_text(
                a, labels, is_better=True
            ),
            f"surely worse than {name}": different_text(a, labels, is_better=False),
            "for comparison": _comparison_text(a, labels),
        }
        for a in answers
    ]


def _task_words(answer: Answer) -> str:
    return f"{count_with_noun(answer.n_tasks, 'task')}, {answer.question.quality}"


def _comparison_text(answer: Answer, labels: Labels) -> str:
    baseline = answer.of(answer.baseline)
    own = [] if baseline is None else [baseline._replace(measures=(answer.baseline,))]
    return "; ".join(_with_score((*own, *answer.trivial), labels)) or "–"


def questions_table(answers: Sequence[Answer], labels: Labels) -> Table:
    """Return the table with a row per question. ``labels``: of measures, by specification."""
    records = question_records(answers, labels)
    unit = answers[0].unit if answers else "seeds"
    note = ANSWERS_NOTE.format(population_words(answers), unit)
    return Table.of(records, "questions", "What the benchmarks answer", note)


def measure_order(answers: Sequence[Answer], specs: Iterable[str]) -> list[str]:
    """Return the specifications ``specs`` by their largest shortfall over the questions with
    intervals, the smallest first, then by name; measures without an answer to one of the questions
    come last."""

    def key(spec: str) -> tuple[float, str]:
        shortfall = largest_shortfall(answers, spec)
        return (math.inf if shortfall is None else round(shortfall, 9), spec)

    return sorted(specs, key=key)


def largest_shortfall(answers: Iterable[Answer], spec: str) -> float | None:
    """Return the largest shortfall of the measure ``spec`` over the questions with intervals: the
    best score minus the score of the measure, in units of scores. None if the measure lacks an
    answer to one of the questions, and without questions."""
    distances = [a.shortfall(spec) for a in answers if a.has_intervals]
    if not distances or None in distances:
        return None
    return max(d for d in distances if d is not None)


def measure_records(
    answers: Sequence[Answer],
    labels: Labels,
    specs: Iterable[str],
    *,
    own: Collection[str] = (),
    seconds: Callable[[str], float | None] | None = None,
) -> list[dict[str, TableEntry]]:
    """Return a row per measure, in words: the score in every question with marks, the largest
    shortfall, and the CPU time. The keys are the headings of the table.

    ``labels``: by specification. ``specs``: the measures, in any order; rows are sorted by
    shortfall. ``own``: the measures to mark as yours. ``seconds``: maps a specification to the CPU
    time; without the function there is no column of times.
    """
    records = []
    for spec in measure_order(answers, specs):
        record: dict[str, TableEntry] = {
            "measure": f"{OWN_MARK * (spec in own)}{labels.get(spec, spec)}"
        }
        for answer in answers:
            line = answer.of(spec)
            record[answer.question.name] = None if line is None else _marked_score(line)
        shortfall = largest_shortfall(answers, spec)
        record["largest shortfall"] = None if shortfall is None else format_score(shortfall)
        if seconds is not None:
            record["CPU time"] = format_duration(seconds(spec) or 0.0)
        records.append(record)
    return records


def _marked_score(line: MeasureAnswer) -> str:
    marks = "*" * bool(line.may_be_best)
    if line.joint:
        marks += "+" * line.joint.is_better + "−" * line.joint.is_worse
    return f"{format_score(line.score)}{marks}"


def missing_measures(answers: Iterable[Answer], labels: Labels) -> dict[tuple[str, str], list[str]]:
    """Return the labels of measures without an answer, by (words of the question, reason).
    ``labels``: by specification."""
    measures: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        for spec, reason in answer.missing.items():
            key = answer.question.words, reason
            measures.setdefault(key, []).append(labels.get(spec, spec))
    return measures


def answers_section(
    answers: Sequence[Answer], labels: Labels, specs: Iterable[str], own: Collection[str] = ()
) -> Section:
    """Return the section of a page: a table with a row per question, and a table with a row per
    measure.

    ``labels``: by specification. ``specs``: the measures in the second table. ``own``: the measures
    to mark as yours.
    """
    questions = questions_table(answers, labels)
    order = measure_order(answers, specs)
    measures = Table.of(
        measure_records(answers, labels, order, own=own),
        "measures",
        "Every measure",
        MEASURES_NOTE,
        marked=tuple(i for i, spec in enumerate(order) if spec in own),
        is_leading=True,
        hints={a.question.name: a.question.words for a in answers},
    )
    reasons = {
        f"{', '.join(names)}: {words}": reason
        for (words, reason), names in missing_measures(answers, labels).items()
    }
    about = networks_sentence(answers, labels)
    return Section(ANSWERS_SECTION, ANSWERS_TITLE, about, (questions, measures), reasons=reasons)


def add_answers(result: Result) -> Result:
    """Return the result of a run with the answers as the first section and as the conclusion. A
    trial, and a result without intervals, is returned unchanged."""
    answers = () if result.is_trial else answer_questions([result])
    if not any(answer.has_intervals for answer in answers):
        return result
    specs = {spec for answer in answers for line in answer.measures for spec in line.measures}
    section = answers_section(answers, result.labels, specs)
    return replace(
        result,
        sections=(section, *result.sections),
        conclusion=conclusion_of_answers(answers, result.labels),
    )
