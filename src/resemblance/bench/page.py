"""The page of every suite: scores, run times, failures and declared properties of measures around
the suite's own sections."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..base.formatting import format_number
from ..comparison.comparison import MeasureInfo
from ..contracts.claims import INVARIANCES
from ..sections.sections import (
    FAILED_MEASURE_COLUMN,
    FAILURE_REASON_COLUMN,
    FAILURES_TABLE,
    Section,
    Sign,
    Table,
    TableEntry,
)
from ..sections.values import finite_or_none
from ..significance import stars
from .case import Case, Score
from .ranks import (
    ScoreOverview,
    TaskFilters,
    TaskKey,
    add_scores,
    catalogue_measure,
    distribution_section,
    measure_signs,
    ranking_section,
)
from .reliability import LEAST_RELIABILITY, is_reliable
from .scoring import FailedComparisons, failure_without_count

NOT_EVALUATED_NOTE = "this measure was not evaluated here"
SHORT_INVARIANCE_NAMES = {"isotropic_scaling": "scaling", "invertible_linear": "linear"}
CLAIM_YES, CLAIM_NO, CLAIM_UNKNOWN = "●", "·", "?"


# -------------------------------------------------------------------------------------- every score


class ScoreColumn(NamedTuple):
    """A column of the table of scores.

    ``test``, ``cell``: the test and the words of the task. ``group``, ``heading``: two levels of
    headings. ``hint``: the tooltip. ``choices``: by the name of a selector, the option of the
    column. ``absence``: the reason if a measure has no :class:`Score` in the task.
    """

    test: str
    cell: TaskKey
    group: str
    heading: str
    hint: str = ""
    choices: Mapping[str, str] = {}
    absence: str = NOT_EVALUATED_NOTE


def scores_section(
    overview: ScoreOverview,
    columns: Sequence[ScoreColumn],
    about: str = "",
    *,
    has_complete: bool = True,
) -> Section:
    """Return the section with the table of all scores: a row per measure in the order of the
    ranking, a column per task.

    ``columns``: the tasks, in order, with heading and choices. ``about``: the meaning of the stars,
    if the table has stars. ``has_complete``: frame the best score of a column only among measures
    without failed comparisons.
    """
    scores = {(s.test, s.cell, s.measure): s for s in overview.scores}
    table = [[scores.get((c.test, c.cell, spec)) for c in columns] for spec in overview.order]
    values = [[s and finite_or_none(s.value) for s in row] for row in table]
    letters, signs, is_partial = dict[str, str](), list[Sign](), False
    for j, column in enumerate(columns):
        for i, row in enumerate(table):
            score, value = row[j], values[i][j]
            if value is None or score is None:
                reason = failure_without_count(score.reason) if score else column.absence
                mark = letters.setdefault(reason, column_letter(len(letters)))
                signs.append(Sign(i, j + 1, mark, reason))
            elif mark := stars(score.pvalue) + ("†" if score.failed else ""):
                is_partial |= bool(score.failed)
                note = (score.reason or "") if score.failed else ""
                signs.append(Sign(i, j + 1, mark, note))
    framed_cells = list[tuple[int, int]]()
    for j in range(0 if overview.is_trial else len(columns)):
        values_by_row = {
            i: value
            for i, row in enumerate(values)
            if (value := row[j]) is not None
            and not (has_complete and (score := table[i][j]) and score.failed)
        }
        # averages of equal scores differ by rounding error
        framed_cells += [
            (i, j + 1) for i, v in values_by_row.items() if v >= max(values_by_row.values()) - 1e-9
        ]
    selectors = _column_choices(columns)
    scores_table = Table(
        "scores",
        "Scores by test",
        ("measure", *(c.heading for c in columns)),
        tuple((overview.names[m], *row) for m, row in zip(overview.order, values)),
        "† some comparisons failed, so the score rests on fewer pairs" if is_partial else "",
        groups=("", *(c.group for c in columns)),
        shades=tuple(
            (None, *(v if v is None else float(np.clip(v, -1, 1)) for v in row)) for row in values
        ),
        framed=tuple(framed_cells),
        signs=(*measure_signs(overview, overview.order), *signs),
        hints=("", *(c.hint for c in columns)),
        selectors=tuple(selectors),
        choices=tuple(zip(*(("", *choices) for choices in selectors.values()))),
    )
    frame_note = "" if overview.is_trial else "; the best of each column is framed"
    text = (
        "Larger is better. The shade follows the value, blue above zero and orange below"
        f"{frame_note}. {about}"
    ).strip()
    terms = {mark: f"no score: {reason}" for reason, mark in letters.items()}
    return Section("scores", "Scores by test", text, (scores_table,), terms=terms)


def _column_choices(columns: Sequence[ScoreColumn]) -> dict[str, list[str]]:
    """Return the option of every column by selector, "" for none; only selectors with more than one
    option."""
    names = dict.fromkeys(name for column in columns for name in column.choices)
    choices = {name: [column.choices.get(name, "") for column in columns] for name in names}
    return {name: words for name, words in choices.items() if len({*words} - {""}) > 1}


def column_letter(position: int) -> str:
    """Return the letters that mark the footnote at a position from 0: a, b, ..., z, aa, ab, ..."""
    prefix = column_letter(position // 26 - 1) if position >= 26 else ""
    return prefix + "abcdefghijklmnopqrstuvwxyz"[position % 26]


def data_table(
    overview: ScoreOverview, name: str, scores: Iterable[Score], words: Sequence[str]
) -> Table:
    """Return scores as a data table called ``name``, a row per score, with p-values, numbers of
    pairs and ranks (from ``overview``; none in a trial).

    ``words``: the column headings for the words of a task, as many as ``cell`` of every score has.
    """
    ranks = {} if overview.is_trial else overview.ranks
    records = [
        {
            **dict(zip(words, s.cell, strict=True)),
            "measure": s.measure,
            "label": s.label,
            "value": finite_or_none(s.value),
            "pvalue": s.pvalue,
            "pairs": s.pairs,
            "failed": s.failed,
            "reason": s.reason,
            "reliability": s.reliability,
            "rank": ranks.get(s.key, {}).get(s.measure),
        }
        for s in scores
    ]
    return Table.of(records, name, "Scores", is_data=True)


# ------------------------------------------------------------------------ times, failures, measures


def times_section(overview: ScoreOverview, seconds: Mapping[str, Mapping[str, float]]) -> Section:
    """Return the section with the mean milliseconds of a comparison with every measure, the fastest
    measure first.

    ``seconds``: the mean seconds by group, then by measure.
    """
    times = {
        spec: {
            group: 1000 * by_measure[spec] if spec in by_measure else None
            for group, by_measure in seconds.items()
        }
        for spec in overview.names
    }

    def mean(spec: str) -> float:
        numbers = [ms for ms in times[spec].values() if ms is not None]
        return sum(numbers) / len(numbers) if numbers else math.inf

    order = sorted(times, key=lambda spec: (mean(spec), overview.names[spec]))
    positive = [ms for row in times.values() for ms in row.values() if ms is not None and ms > 0]
    ends = (min(positive, default=1.0), max(positive, default=1.0))
    table = Table.of(
        [{"measure": overview.names[spec], **times[spec]} for spec in order],
        "times",
        "Mean milliseconds of one comparison",
        "The shade is logarithmic.",
        shade=lambda entry: log_scale_fraction(entry, *ends) if isinstance(entry, float) else None,
        signs=measure_signs(overview, order),
    )
    about = (
        "Mean milliseconds of one comparison on this machine; the cost of an intermediate that "
        "several measures share counts for the first of these measures."
    )
    return Section("times", "Run times", about, (table,))


def log_scale_fraction(value: float, low: float, high: float) -> float:
    """Return the position of ``value`` on a logarithmic scale, with two decimals: 0 at ``low``, 1
    at ``high``; 0 for a value of 0 or below, and for a scale without length."""
    if value <= 0 or high <= low:
        return 0.0
    return round(math.log(value / low) / math.log(high / low), 2)


def failures_section(
    names: Mapping[str, str], failures: Iterable[FailedComparisons], reasons: Mapping[str, str] = {}
) -> Section:
    """Return the section with the numbers of failed comparisons by measure and reason, the largest
    number first.

    ``names``: labels of measures, by specification. ``failures``: a measure, a test, the number of
    comparisons and the reason. ``reasons``: by measure that was left out, why.
    """
    by_reason: dict[tuple[str, str], list[FailedComparisons]] = defaultdict(list)
    for failure in failures:
        by_reason[names.get(failure.measure, failure.measure), failure.reason].append(failure)
    counts = sorted(
        (-sum(failure.comparisons for failure in group), name, reason, _failed_tests_text(group))
        for (name, reason), group in by_reason.items()
    )
    heads = ("comparisons", FAILED_MEASURE_COLUMN, FAILURE_REASON_COLUMN, "where")
    if not counts:
        return Section("failures", "Failures", "No comparison failed.", reasons=reasons)
    rows: list[dict[str, TableEntry]] = [
        dict(zip(heads, (-float(count), *words))) for count, *words in counts
    ]
    title = "Comparisons without a value"
    table = Table.of(rows, FAILURES_TABLE, title, columns=(FAILED_MEASURE_COLUMN,))
    about = (
        "Failed comparisons by measure and reason. A comparison that several tests use counts in "
        "each test."
    )
    return Section("failures", "Failures", about, (table,), reasons=reasons)


def _failed_tests_text(failures: Iterable[FailedComparisons]) -> str:
    tests: dict[str, list[str]] = defaultdict(list)
    for failure in failures:
        tests[failure.models].append(failure.test)
    parts = (
        f"{models}: {', '.join(names)}" if models else ", ".join(names)
        for models, names in tests.items()
    )
    return "; ".join(parts)


def measures_section(overview: ScoreOverview) -> Section:
    """Return the section with the declared properties of every measure, in the order of the run."""
    table = Table.of(
        [_claims_record(overview.names[info.spec], info) for info in overview.measures],
        "claims",
        "Declared properties of the measures",
        signs=measure_signs(overview, [info.spec for info in overview.measures]),
        hints={
            **{
                SHORT_INVARIANCE_NAMES.get(i, i): f"unchanged by: {i.replace('_', ' ')}"
                for i in INVARIANCES
            },
            "samples": "smallest number of samples",
        },
    )
    about = (
        f"{CLAIM_YES} a declared property of the measure: symmetric, metric, or invariant to a "
        f"transformation of one side. {CLAIM_UNKNOWN}: unknown, for a measure that is not in the "
        "catalogue."
    )
    return Section("measures", "Declared properties of the measures", about, (table,))


def _claims_record(name: str, info: MeasureInfo) -> dict[str, TableEntry]:
    measure = catalogue_measure(info)
    low, high = map(format_number, info.range)
    marks = {
        SHORT_INVARIANCE_NAMES.get(i, i): _claim_mark(
            i in measure.invariant_to if measure else None
        )
        for i in INVARIANCES
    }
    return {
        "measure": name,
        "specification": info.spec,
        "family": info.family.replace("_", " "),
        "more similar is": "larger" if info.larger_is_more_similar else "smaller",
        "range": f"{low} to {high}",
        "symmetric": _claim_mark(info.symmetric),
        "metric": _claim_mark(measure.metric if measure else None),
        **marks,
        "samples": f"≥ {measure.min_samples}" if measure else CLAIM_UNKNOWN,
    }


def _claim_mark(claim: bool | None) -> str:
    return CLAIM_UNKNOWN if claim is None else CLAIM_YES if claim else CLAIM_NO


def compared_inputs_section(
    representations: Mapping[str, Mapping[str, object]], about: str
) -> Section:
    """Return the section with the compared representations and their fingerprints.

    ``representations``: by name, the facts of the provenance, such as "n_samples". ``about``: the
    paragraph above the table.
    """
    keys = ("n_samples", "n_features", "dtype", "computed_in", "fingerprint")
    heads = ("representation", "samples", "features", "type", "computed in", "fingerprint")
    records = [
        dict(zip(heads, (name, *(_number_or_text(facts[key]) for key in keys))))
        for name, facts in representations.items()
    ]
    table = Table.of(records, "inputs", "Representations and their fingerprints", is_closed=True)
    return Section("inputs", "What was compared", about, (table,))


def _number_or_text(value: object) -> TableEntry:
    return float(value) if isinstance(value, int | float) else str(value)


# -------------------------------------------------------------------------------- the whole page


def frame_sections(
    overview: ScoreOverview,
    own: Sequence[Section],
    columns: Sequence[ScoreColumn],
    seconds: Mapping[str, Mapping[str, float]],
    failures: Iterable[FailedComparisons],
    *,
    groups: TaskFilters,
    kind: str = "group",
    definition: str = "",
    text_of: Callable[[TaskKey], str] = "/".join,
    stars_note: str = "",
    has_complete: bool = True,
    keeps_scores: bool = False,
    reasons: Mapping[str, str] = {},
) -> tuple[Section, ...]:
    """Return the sections of a suite's page: the ranking, all scores, the suite's own sections, run
    times, failures and properties of measures.

    ``own``: the suite's own sections. ``columns``: of the table of scores. ``seconds``: the mean
    seconds of a comparison, by group, then by measure. ``failures``: the comparisons without a
    value. ``groups``, ``kind``, ``definition``, ``text_of``: by name of a group, the predicate that
    selects tasks; the noun for a group; the definition of a task; and a function from a task to its
    display name. ``stars_note``: the meaning of the stars. ``has_complete``: frame only scores
    without failed comparisons. ``keeps_scores``: the section of all scores keeps the scores for
    later rankings; otherwise the own sections keep the scores. ``reasons``: why measures were left
    out, by name.
    """
    scores = scores_section(overview, columns, stars_note, has_complete=has_complete)
    sections = (
        ranking_section(overview, groups, definition, kind=kind),
        distribution_section(overview, groups, text_of, kind=kind),
        add_scores(scores, overview.cells, 0) if keeps_scores else scores,
        *own,
        times_section(overview, seconds),
        failures_section(overview.names, failures, reasons),
        measures_section(overview),
    )
    return tuple(section for section in sections if section is not None)


def groups_by_test(tasks: Iterable[Case | Score]) -> dict[str, Callable[[TaskKey], bool]]:
    """Return, for each test of ``tasks`` (tasks or scores), a predicate: whether the key of a task
    begins with the test."""
    return {test: partial(_is_of_test, test) for test in dict.fromkeys(t.test for t in tasks)}


def _is_of_test(test: str, cell: TaskKey) -> bool:
    return cell[0] == test


def noise_remark(reliabilities: Mapping[str, float | None]) -> str:
    """Return a sentence about the unranked tasks, where the expected differences are mostly noise;
    "" without unranked tasks.

    ``reliabilities``: by the name of a task; None for a task that needs no reliability.
    """
    cells = [
        f"{name} ({value:.2f})"
        for name, value in reliabilities.items()
        if value is not None and not is_reliable(value)
    ]
    if not cells:
        return ""
    return (
        "Not ranked, because the expected differences do not repeat on other inputs (split-half "
        f"reliability below {LEAST_RELIABILITY}): {'; '.join(cells)}."
    )
