"""The ranks of a study next to those that follow from the printed tables."""

from __future__ import annotations

from papers.published import KEYS, RankRow, compare_published, order_agreement, published_ranks
from resemblance.results.figures import Chart, Line
from resemblance.results.sections import Section, Table
from resemblance.suites.resi.facts import Evaluation
from resemblance.suites.resi.ranking import ranking


def published_rows(
    evaluation: Evaluation, domain: str | None = None, paper: str = "resi"
) -> list[RankRow]:
    """Return the mean ranks of a run and the published ones; empty when they have no measure in
    common."""
    names = {
        m.spec: m.label if KEYS[paper] == "label" else _published_name(m.spec, evaluation)
        for m in evaluation.measures
    }
    ours = {names[r.measure]: r.mean for r in ranking(evaluation.ranks(), domain)}
    try:
        return compare_published(ours, domain, paper=paper)
    except ValueError:
        return []


def _published_name(spec: str, evaluation: Evaluation) -> str:
    """Return the specification under which a paper has a measure: without conventions, if it is
    alone of its name."""
    name = spec.partition("[")[0]
    alone = sum(m.spec.partition("[")[0] == name for m in evaluation.measures) == 1
    return name if alone and spec not in published_ranks(paper="mka") else spec


def agreement_text(rows: list[RankRow]) -> str:
    """Say how far the two orders agree; nothing where that cannot be said."""
    agreement = order_agreement(rows)
    if agreement is None:
        return ""
    return f"Spearman correlation of the two orders: {agreement:.2f}".replace("-", "−")


def published_section(rows: list[RankRow]) -> Section:
    """Return a section that shows mean ranks of a run and the published ones: a table, and every
    measure as a point."""
    table = Table(
        "ours",
        "Mean ranks",
        ("measure", "here", "published", "position here", "published position"),
        tuple((r.label, r.ours, r.published, r.position, r.position_published) for r in rows),
    )
    worst = max(value for row in rows for value in (row.ours, row.published))
    points = Line(
        "measures",
        tuple((row.published, row.ours) for row in rows),
        titles=tuple(
            f"{row.label}: mean rank {row.ours:.2f} here, {row.published:.2f} published"
            for row in rows
        ),
    )
    chart = Chart(
        "ranks",
        "Mean ranks here and published",
        "published mean rank",
        "mean rank here",
        (points,),
        joined=False,
        span_x=(1.0, worst),
        span_y=(1.0, worst),
        has_diagonal=True,
    )
    about = (
        "Mean ranks of the measures that the paper has too; its ranks are over other models, data "
        f"sets and cells. {agreement_text(rows)}"
    )
    return Section("published", "Published ranks", about.strip(), (table,), (chart,))
