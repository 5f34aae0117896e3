"""Scores of models over time as a result: the curves, the clusters of times, and all values."""

from __future__ import annotations

from collections.abc import Iterator

from ..base.formatting import format_level, format_two_decimals, join_words, with_minus_signs
from ..inference import TimeCourses
from ..inference._time_courses import CLUSTER_LEVEL, NO_CLUSTER_WORDS, describe_time_span
from ..inference.nulls import format_labeled_pvalue, format_pvalue
from ..sections.figures import Chart, Line
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry

CEILING_NAME = "noise ceiling"
SHARED_FIELDS = ("measure", "score")  # fields that are equal in all records
CLUSTER_NOTE = (
    "A cluster is a run of neighbouring times. The p-value is about the whole cluster, adjusted "
    "for all times and models, and not about the time when an effect begins (Maris and Oostenveld "
    "2007; Sassenhagen and Draschkow 2019)."
)


def time_course_chart(result: TimeCourses) -> Chart:
    """Return a line for each model with its intervals, and both ends of the noise ceiling."""
    times = result.times.tolist()
    lines = [
        Line(
            model,
            tuple(zip(times, result.mean[:, i].tolist())),
            tuple(zip(result.low[:, i].tolist(), result.high[:, i].tolist())),
        )
        for i, model in enumerate(result.models)
    ]
    if result.ceiling is not None:
        lines += [
            Line(CEILING_NAME, tuple(zip(times, result.ceiling[:, end].tolist())), is_dashed=True)
            for end in (0, 2)
        ]
    label = f"{result.title.partition('[')[0]}, mean over {len(result.subjects)} subjects"
    return Chart(
        "time_courses",
        result.title,
        "time",
        label,
        tuple(lines),
        f"Bands are {format_level(result.confidence_level)} intervals for each time alone, for "
        "other subjects and other stimuli.",
        threshold=0.0 if result.is_0_by_chance else None,
    )


def time_courses_result(result: TimeCourses) -> Result:
    """Return scores over time as tables and figures of a page."""
    clusters: list[dict[str, TableEntry]] = [
        {
            "model": c.model,
            "from": c.start,
            "to": c.stop,
            "mass": c.mass,
            "p": format_pvalue(c.pvalue),
        }
        for c in result.clusters
    ]
    tables = [Table.of(clusters, "clusters", "Clusters above 0", CLUSTER_NOTE, figures=3)]
    reasons = {failure.x: failure.reason for failure in result.failures}
    records = [
        {name.replace("_", " "): v for name, v in record.items() if name not in SHARED_FIELDS}
        for record in result.records()
    ]
    values = Table.of(records, "values", "Values", figures=3)
    return Result(
        "score_models_over_time",
        "",
        (
            Section(
                "courses",
                "Scores over time",
                "",
                tuple(tables) if clusters else (),
                (time_course_chart(result),),
                reasons=reasons,
            ),
            Section("values", "Values", "", (values,), is_closed=True),
        ),
        {result.measure: result.measure},
        provenance={"command": "rs.score_models_over_time", **result.provenance},
        facts={
            "measure": result.title,
            "models": str(len(result.models)),
            "subjects": str(len(result.subjects)),
            "times": ", ".join((str(len(result.times)), _time_span(*result.times[[0, -1]]))),
        },
        conclusion="\n".join(_time_course_sentences(result)),
        caveats=tuple(f"{caveat}." for caveat in result.caveats),
        title="Scores of models over time",
    )


def _time_course_sentences(result: TimeCourses) -> Iterator[str]:
    """Yield a sentence for each model: the significant clusters of times, and the highest mean
    score."""
    for column, model in enumerate(result.models):
        place = int(result.mean[:, column].argmax())
        score, time = format_two_decimals(result.mean[place, column]), result.times[place]
        spans = [
            f"{_time_span(c.start, c.stop)} ({format_labeled_pvalue(c.pvalue)})"
            for c in result.clusters
            if c.model == model and c.pvalue <= CLUSTER_LEVEL
        ]
        words = f"scores above 0 {join_words(spans)}" if spans else f"has {NO_CLUSTER_WORDS}"
        start = f"{model} {words}; the" if result.is_0_by_chance else f"{model}: the"
        yield f"{start} highest mean score is {score}, {_time_span(time, time)}."


def _time_span(start: float, stop: float) -> str:
    return with_minus_signs(describe_time_span(start, stop))
