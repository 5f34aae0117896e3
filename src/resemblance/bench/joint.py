"""Combine the results of several suites: what the suites answer together, and the conclusions of
the papers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..catalogue import get_measure
from ..comparison.provenance import environment_versions
from ..sections.claims import VERDICTS
from ..sections.headlines import TRIAL_WARNING, USER_MODELS_NOTE, describe_run_size
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from ..sections.values import distinct_labels
from . import SUITES
from .answer_tables import answers_section, conclusion_of_answers
from .answers import BASELINE, Answer, answer_questions, scored_tasks
from .loading import load_study

REPEATED_FACTS = ("domains", "protocol")  # facts of a study that its section on the page repeats


def combine(*studies: str | Path, baseline: str = BASELINE) -> Result:
    r"""Return what the studies of several suites answer, question by question.

    ``studies``: two or more folders with results, such as ``combine("resi", "manifolds")``.
    ``baseline``: the measure that the others are compared with.

    The tasks of a question are fixed, and the models are random. The score of a measure is the mean
    over networks of its mean score over tasks; intervals come from the scores without each seed
    (see ``resemblance.significance.jackknife``). A measure takes part in a question if it has a
    score in all tasks of the question. Questions without several seeds are shown without intervals.

    A study of a trial size is left out, and the result says so. If fewer than two other studies
    remain, the whole result is a trial, without answers and verdicts.

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, and a folder
    without a result.
    """
    results = [_read_suite_result(folder) for folder in studies]
    _check_distinct_suites(results)
    full = [study for study in results if not study.is_trial]
    is_trial = len(full) < 2
    chosen = results if is_trial else full
    remarks = tuple(
        f"Left out: {describe_study(study)}, which is a trial."
        for study in results
        if study not in chosen
    )
    answers = () if is_trial else answer_questions(chosen, baseline=baseline)
    return combined_result(
        chosen, answers, shared_labels(chosen), remarks=remarks, is_trial=is_trial
    )


def combined_result(
    studies: Sequence[Result],
    answers: Sequence[Answer],
    labels: Mapping[str, str],
    *,
    remarks: tuple[str, ...] = (),
    own: Mapping[str, str] = {},
    is_trial: bool = False,
) -> Result:
    """Return the answers of several suites as a result for a page.

    ``studies``: the result of every suite. ``answers``: to the questions, from these results.
    ``labels``: of measures, by specification. ``remarks`` are caveats. ``own``: by specification,
    the verdicts on the measures that the page marks as yours; the verdicts lead the page.
    ``is_trial``: without answers and conclusion.
    """
    specs = {spec for a in answers for line in (*a.measures, *a.trivial) for spec in line.measures}
    sections = [] if is_trial else [answers_section(answers, labels, specs | set(own), own)]
    suites = "; ".join(SUITES[study.suite] for study in studies)
    return Result(
        "joint",
        "trial" if is_trial else " + ".join(study.suite for study in studies),
        (*sections, *(_suite_section(study, labels, is_trial) for study in studies)),
        labels,
        provenance=environment_versions(),
        facts={"studies": "; ".join(map(describe_study, studies))},
        conclusion=""
        if is_trial
        else "\n".join((*own.values(), conclusion_of_answers(answers, labels))),
        caveats=remarks,
        title="Which measure?",
        about=(
            f"Each suite tests measures in its own way: {suites}. This page combines the answers, "
            "and lists the conclusions of the papers and whether the conclusions hold."
        ),
    )


def _read_suite_result(folder: str | Path) -> Result:
    result = load_study(folder)
    if result.suite not in SUITES:
        raise ValueError(f"{folder} is of {result.suite!r}; known: {', '.join(SUITES)}")
    return result


def _check_distinct_suites(studies: Sequence[Result]) -> None:
    suites = [study.suite for study in studies]
    if len(suites) < 2:
        raise ValueError("combine: a joint ranking needs the studies of at least two suites")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"two studies are of {suite!r}; give one of each suite")


def shared_labels(studies: Sequence[Result]) -> dict[str, str]:
    """Return the labels of the measures of several suites, by specification: the labels of the
    catalogue, because labels differ between suites."""
    labels = {spec: label for study in studies for spec, label in study.labels.items()}
    return distinct_labels({spec: _catalogue_label(spec, label) for spec, label in labels.items()})


def _catalogue_label(spec: str, label: str) -> str:
    """Return the catalogue's label of a measure; the suite's label for a measure outside the
    catalogue."""
    try:
        return get_measure(spec).label
    except ValueError:
        return label


def describe_study(study: Result) -> str:
    """Return the suite and the size of a study in words: "stability, small: for trying out"."""
    return (
        f"{study.suite}, "
        f"{describe_run_size(study.suite, study.size) if study.size else USER_MODELS_NOTE}"
    )


def _suite_section(study: Result, labels: Mapping[str, str], is_trial: bool) -> Section:
    """Return the section of a suite: the mean scores of every measure by test, and the conclusions
    of the paper. ``labels``: of measures, by specification. ``is_trial``: warn of a trial."""
    scores: dict[str, dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    tasks = [task for task in scored_tasks(study) if task.is_ranked]
    for task in tasks:
        for spec, score in task.scores.items():
            scores[spec][task.test].append(score)
    tests = list(dict.fromkeys(task.test for task in tasks))
    records = [
        {"measure": labels.get(spec, spec), **{t: _mean_or_none(by_test[t]) for t in tests}}
        for spec, by_test in sorted(scores.items(), key=lambda item: labels.get(item[0], item[0]))
    ]
    note = "Sorted by name. Larger is better; a test with a missing score has no number."
    table = Table.of(records, "scores", "Mean score by test", note, columns=("measure",))
    about = f"{TRIAL_WARNING * is_trial} {_describe_suite(study)}".strip()
    return Section(study.suite, SUITES[study.suite], about, (table,), claims=study.claims)


def _mean_or_none(scores: Sequence[float | None]) -> TableEntry:
    known = [score for score in scores if score is not None]
    return float(np.mean(known)) if known and len(known) == len(scores) else None


def _describe_suite(study: Result) -> str:
    facts = [f"{name}: {study.facts[name]}" for name in REPEATED_FACTS if name in study.facts]
    counts = {v: sum(claim.verdict == v for claim in study.claims) for v in VERDICTS}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return (
        f"Size of the study: {'; '.join([study.size or USER_MODELS_NOTE, *facts])}. "
        f"Conclusions of the paper on the models and data here: {verdicts or 'none judged'}."
    )
