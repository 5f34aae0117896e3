"""The ranks of a study next to those that follow from the printed tables."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from papers.published import (
    DOMAINS,
    KEYS,
    PAPERS,
    RankRow,
    compare_published,
    order_agreement,
    published_ranks,
)
from resemblance.report import write_page
from resemblance.report.output import show
from resemblance.report.terminal import claim_table, plain_table, without_data
from resemblance.results.figures import Chart, Line
from resemblance.results.result import Result
from resemblance.results.sections import Section, Table
from resemblance.significance import summarize
from resemblance.suites.resi import Evaluation, load_evaluation, result_of
from resemblance.suites.resi.page import judged

from .claims import CLAIMS


def published_rows(
    evaluation: Evaluation, domain: str | None = None, paper: str = "resi"
) -> list[RankRow]:
    """Return the mean ranks of a run and the published ones; empty when they have no measure in
    common."""
    names = {
        m.spec: m.label if KEYS[paper] == "label" else _published_name(m.spec, evaluation)
        for m in evaluation.measures
    }
    ranks = evaluation.ranks().items()
    cells: dict[Hashable, Mapping[str, float]] = {
        cell: of_cell for cell, of_cell in ranks if domain in (None, cell[2])
    }
    ours = {names[r.measure]: r.mean for r in summarize(cells)}
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
    heads = ("measure", "here", "published", "position here", "published position")
    entries = [(r.label, r.ours, r.published, r.position, r.position_published) for r in rows]
    table = Table.of([dict(zip(heads, row)) for row in entries], "ours", "Mean ranks")
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


def compare(study: Path, domain: str | None = None, paper: str = "resi") -> list[object]:
    """Return a table of the mean ranks of a study and the published ones, and how far the two
    orders agree."""
    rows = published_rows(load_evaluation(study), domain, paper)
    if not rows:
        where = f" in the domain {domain}" if domain else ""
        return [f"no measure of this study has a published rank{where}"]
    header = ("measure", "here", "published", "position", "published")
    lines = [
        (r.label, f"{r.ours:.1f}", f"{r.published:.1f}", str(r.position), str(r.position_published))
        for r in rows
    ]
    return [plain_table(header, lines, right=range(1, 5)), agreement_text(rows)]


def judged_result(study: Path) -> Result:
    """Return the result of a study with the conclusions of the paper and the published ranks."""
    facts = load_evaluation(study)
    result, rows = judged(result_of(facts), facts, CLAIMS), published_rows(facts)
    sections = (*result.sections, *([published_section(rows)] if rows else []))
    return replace(result, sections=sections)


def compare_command(arguments: Sequence[str]) -> int:
    """Compare the ranks of a study with the published ones, and judge the paper's conclusions on a
    page if one is wanted."""
    parser = argparse.ArgumentParser("python -m papers resi-compare", description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("--domain", choices=DOMAINS)
    parser.add_argument("--paper", choices=tuple(PAPERS), default="resi")
    parser.add_argument("-o", "--output", type=Path, help="a page with the conclusions judged")
    options = parser.parse_args(arguments)
    show(compare(options.study, options.domain, options.paper))
    if options.output:
        result = judged_result(options.study)
        write_page(result, options.output)
        claims = [claim_table(result), *without_data(result.claims)]
        show([*claims, f"Open {options.output.resolve()}"])
    return 0
