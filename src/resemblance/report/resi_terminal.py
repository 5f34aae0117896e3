"""Results of the ReSi benchmark as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..significance import stars
from ..suites.published import KEYS, RankRow, compare_published, order_agreement, published_ranks
from ..suites.resi.evaluation import ResiResult
from ..suites.resi.ranking import ranking
from ..suites.resi.tests import TESTS
from .resi_data import Standing, domains_of, facts, remarks, standings, verdict
from .terminal import plain_table

SHORT = {
    "spearman_accuracy": "acc", "spearman_jsd": "JSD", "spearman_disagreement": "disagr.",
    "auprc": "AUPRC",
    "conformity": "conf.", "spearman": "Spearman",
}  # fmt: skip


def ranking_table(result: ResiResult) -> Any:
    """Return the mean rank of every measure with its intervals, overall and by domain, best
    first."""
    domains, rows = domains_of(result), [row for row in standings(result) if row.mean is not None]
    sure = any(row.behind for row in rows)
    spans = ("95 %", "behind the leader, 95 %") if sure else ()
    header = ("measure", "mean rank", *spans, "median", "cells", *domains)
    lines = [
        (
            row.name.text,
            _rank(row.mean),
            *((_span(row.low, row.high), _behind(row)) if sure else ()),
            _rank(row.median),
            str(row.cells),
            *(_rank(row.by_domain.get(d)) for d in domains),
        )
        for row in rows
    ]
    return plain_table(header, lines, right=range(1, len(header)))


def headline_lines(result: ResiResult) -> list[str]:
    """Return what must be read before the numbers: what was evaluated, a trial or few models, and
    what leads."""
    told = "; ".join(f"{name} {value}" for name, value in facts(result).items())
    return [told, *remarks(result), verdict(result), ""]


def _span(low: float | None, high: float | None) -> str:
    return f"{_rank(low)} to {_rank(high)}"


def _behind(row: Standing) -> str:
    return "tied with the leader" if row.is_tied else _span(*row.behind) if row.behind else "-"


def score_tables(result: ResiResult) -> Iterable[Any]:
    """Yield, for every test, a table of scores: a line per measure, a column per quality and set of
    models.

    Stars mark correlations that chance seldom reaches (* p <= 0.05, ** p <= 0.01); an exclamation
    mark, scores that rest on fewer comparisons because some failed; a dash, no value.
    """
    for test, title in TESTS.items():
        scores = [s for s in result.scores if s.test == test]
        cells = list(dict.fromkeys(s.cell for s in scores))
        if cells:
            found = {(s.cell, s.measure): s for s in scores}
            header = ("measure", *(_heading(cell) for cell in cells))
            rows = [
                (m.label, *(_score(found[cell, m.spec]) for cell in cells)) for m in result.measures
            ]
            yield f"\n{title}"
            yield plain_table(header, rows, right=range(1, len(header)))
    for absent in result.absent:
        where = "/".join(filter(None, absent[1:5]))
        yield f"{TESTS[absent.test]} on {where}: none, {absent.reason}"


def group_table(result: ResiResult) -> Any:
    """Return the accuracies of every group of models, on what they were measured, and why a group
    was left out."""
    header = ("groups", "models", "group", "accuracy", "from", "to", "inputs", "")
    rows = [
        (
            TESTS[g.test],
            f"{g.domain} {g.architecture}",
            g.name,
            *_range(g.accuracies),
            g.criterion,
            g.note,
        )
        for g in result.groups
    ]
    return plain_table(header, rows, right=(3, 4, 5))


def _range(accuracies: Sequence[float]) -> tuple[str, str, str]:
    if not accuracies:
        return ("-", "-", "-")
    return (f"{np.mean(accuracies):.3f}", f"{min(accuracies):.3f}", f"{max(accuracies):.3f}")


def published_rows(
    result: ResiResult, domain: str | None = None, paper: str = "resi"
) -> list[RankRow]:
    """Return the mean ranks of a result beside the published ones; empty when they have no measure
    in common."""
    names = {
        m.spec: m.label if KEYS[paper] == "label" else _published_name(m.spec, result)
        for m in result.measures
    }
    ours = {names[r.measure]: r.mean for r in ranking(result.ranks(), domain)}
    try:
        return compare_published(ours, domain, paper=paper)
    except ValueError:
        return []


def _published_name(spec: str, result: ResiResult) -> str:
    """Return the specification under which a paper has a measure: without conventions, if it is
    alone of its name."""
    name = spec.partition("[")[0]
    alone = sum(m.spec.partition("[")[0] == name for m in result.measures) == 1
    return name if alone and spec not in published_ranks(paper="mka") else spec


def published_table(
    result: ResiResult, domain: str | None = None, paper: str = "resi"
) -> Sequence[Any]:
    """Return a table of our mean ranks beside the published ones, and how far the two orders
    agree."""
    rows = published_rows(result, domain, paper)
    if not rows:
        return [
            "no measure of this study has a published rank"
            + (f" in the domain {domain}" if domain else "")
        ]
    header = ("measure", "here", "published", "position", "published")
    lines = [
        (r.label, f"{r.ours:.1f}", f"{r.published:.1f}", str(r.position), str(r.position_published))
        for r in rows
    ]
    agreement = order_agreement(rows)
    note = "" if agreement is None else f"Spearman correlation of the two orders: {agreement:.2f}"
    return [plain_table(header, lines, right=range(1, 5)), note]


def _rank(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.1f}"


def _heading(cell: tuple[str, ...]) -> str:
    _, quality, domain, _, architecture, pooling = cell
    return " ".join(filter(None, (domain, architecture, pooling, SHORT.get(quality, quality))))


def _score(score: Any) -> str:
    if np.isnan(score.value):
        return "-"
    return f"{score.value:.2f}{stars(score.p_value)}{'!' if score.failed else ''}"
