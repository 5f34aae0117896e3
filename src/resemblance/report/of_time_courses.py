"""Scores of models over time as a result: the curves, the clusters of times, and all values."""

from __future__ import annotations

from ..base.formatting import format_level
from ..inference import TimeCourses
from ..sections.figures import Chart, Line
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry

CEILING_NAME = "noise ceiling"
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
        {"model": c.model, "from": c.start, "to": c.stop, "mass": c.mass, "p": c.pvalue}
        for c in result.clusters
    ]
    tables = [Table.of(clusters, "clusters", "Clusters above 0", CLUSTER_NOTE, figures=4)]
    reasons = {failure.x: failure.reason for failure in result.failures}
    values = Table.of(result.records(), "values", "Values", figures=4)
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
        conclusion=result.summary(),
        caveats=tuple(f"{caveat}." for caveat in result.caveats),
        title="Scores of models over time",
    )
