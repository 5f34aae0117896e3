"""The reproduction of Ding et al.: the sensitivity suite with the claims of the paper, and the
paper's tables next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from papers.markdown import decimal_table
from papers.reproductions import Paper, Tables
from resemblance import bench
from resemblance.bench.sensitivity.findings import Findings
from resemblance.sections.claims import Claim
from resemblance.sections.result import Result
from resemblance.sections.sections import Section

from .claims import CLAIMS, ByBenchmark
from .tables import leaders, published_tables


def run(folder: str | Path | None = None, **options: Any) -> Result:
    """Run the sensitivity suite, or resume in a folder; return the result with judged claims and a
    section of the paper's tables.

    ``options``: see :func:`resemblance.bench.run`.
    """
    findings = dict[str, Sequence[Findings]]()

    def judge_all(by_benchmark: ByBenchmark) -> tuple[Claim, ...]:
        findings.update(by_benchmark)
        return CLAIMS["summary"](by_benchmark)

    result = bench.run("sensitivity", folder, claims={**CLAIMS, "summary": judge_all}, **options)
    comparisons = (leaders(findings), *published_tables(findings))
    about = "The numbers that the paper prints, next to those of the corresponding models here."
    section = Section("published", "The paper's tables and ours", about, comparisons)
    return replace(result, sections=(*result.sections, section))


def tables(result: Result) -> Tables:
    """Return the table of the documentation: the three measures of the paper."""
    (table,) = (t for t in result["published"].tables if t.name == "leaders")
    return {"leaders": decimal_table(table)}


PAPER = Paper(
    name="ding",
    citation=(
        "Ding, Denain and Steinhardt 2021, “Grounding Representation Similarity Through "
        "Statistical Testing”, NeurIPS"
    ),
    url="https://arxiv.org/abs/2108.01661",
    run=run,
    heading="Sensitivity and specificity",
    about="""\
Reproduced are the four benchmarks, on small models that are trained here instead of BERT and
ResNet-18 from the network; see the [sensitivity suite](../../docs/other-suites.md). So the order of
measures can be compared with the paper's, and its numbers only roughly. `claims.py` has the paper's
conclusions, `tables.py` its printed tables next to ours (the numbers are in
`../data/ding_published.csv.gz`). `resemblance bench run sensitivity study --claims
papers/ding/claims.py:CLAIMS` shows the claims on the page of a study. [Differences](differences.md)
lists where the paper, its code and the suite differ.""",
    kept=(
        "leaders",
        *(
            f"paper {part}{quality}"
            for part in ("", "layers ", "corruptions ")
            for quality in ("spearman", "kendall")
        ),
    ),
    tables=tables,
)
