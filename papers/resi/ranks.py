"""The ranks of a study next to those that follow from the printed tables."""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.judging import number
from papers.published import (
    DOMAINS,
    KEYS,
    RankRow,
    compare_published,
    order_agreement,
    published_ranks,
)
from resemblance.bench.resi import Evaluation, load_evaluation, result_of
from resemblance.bench.resi.page import add_judged_claims
from resemblance.report import write_page
from resemblance.report.output import print_tables
from resemblance.report.terminal import claim_table, claims_without_data_line, text_table
from resemblance.sections.ranks import summarize
from resemblance.sections.result import Result
from resemblance.sections.sections import Section, Table

from .claims import CLAIMS

HEADS = ("measure", "here", "published", "position here", "published position")


def published_rows(
    evaluation: Evaluation, domain: str | None = None, paper: str = "resi"
) -> list[RankRow]:
    """Return the mean ranks of a run next to the published mean ranks; empty without common
    measures."""
    names = {
        m.spec: m.label if KEYS[paper] == "label" else _published_name(m.spec, evaluation)
        for m in evaluation.measures
    }
    cells: dict[Hashable, Mapping[str, float]] = {
        cell: ranks for cell, ranks in evaluation.ranks().items() if domain in (None, cell[2])
    }
    ours = {names[r.measure]: r.mean for r in summarize(cells)}
    return compare_published(ours, domain, paper=paper)


def _published_name(spec: str, evaluation: Evaluation) -> str:
    """Return the specification of a measure in a paper. The parameters are dropped if the run has
    one variant of the measure and the paper has no such variant."""
    name = spec.partition("[")[0]
    alone = sum(m.spec.partition("[")[0] == name for m in evaluation.measures) == 1
    return name if alone and spec not in published_ranks(paper="mka") else spec


def agreement_text(rows: Sequence[RankRow]) -> str:
    """Return the correlation of the two rankings as a sentence, or an empty text if the correlation
    is undefined."""
    agreement = order_agreement(rows)
    if np.isnan(agreement):
        return ""
    return f"Spearman correlation of the two orders: {number(agreement, 2)}"


def published_section(rows: Sequence[RankRow]) -> Section:
    """Return a section with the mean ranks of a run and the published mean ranks."""
    entries = ((r.label, r.ours, r.published, r.position, r.position_published) for r in rows)
    table = Table.of([dict(zip(HEADS, row)) for row in entries], "ours", "Mean ranks")
    about = (
        "Mean ranks of the measures that the paper has too, among all measures of the run (a claim "
        "ranks the measures of the paper among each other); the published ranks are over other "
        f"models, data sets and cells. {agreement_text(rows)}"
    )
    return Section("published", "Published ranks", about.strip(), (table,))


def with_published(result: Result, evaluation: Evaluation) -> Result:
    """Return the result of a study, with a section of published ranks if there are common
    measures."""
    rows = published_rows(evaluation)
    more = [published_section(rows)] if rows else []
    return replace(result, sections=(*result.sections, *more))


def compare_command(arguments: Sequence[str]) -> int:
    """Print the ranks of a study next to the published ranks. With ``--output``, also write a page
    with verdicts on the paper's conclusions."""
    parser = argparse.ArgumentParser("python -m papers resi-compare", description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("--domain", choices=DOMAINS)
    parser.add_argument("--paper", choices=tuple(KEYS), default="resi")
    parser.add_argument("-o", "--output", type=Path, help="a page with the conclusions judged")
    options = parser.parse_args(arguments)
    evaluation = load_evaluation(options.study)
    rows = published_rows(evaluation, options.domain, options.paper)
    where = f" in the domain {options.domain}" if options.domain else ""
    if rows:
        print_tables([text_table(published_section(rows).tables[0]), agreement_text(rows)])
    else:
        print_tables([f"no measure of this study has a published rank{where}"])
    if options.output:
        result = with_published(
            add_judged_claims(result_of(evaluation), evaluation, CLAIMS), evaluation
        )
        write_page(result, options.output)
        claims = [claim_table(result), *claims_without_data_line(result.claims)]
        print_tables([*claims, f"Open {options.output.resolve()}"])
    return 0
