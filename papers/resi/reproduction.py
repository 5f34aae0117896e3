"""The reproduction of the ReSi paper: the ReSi suite with the conclusions of the paper, and its
ranks next to ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from papers.markdown import claims_table
from papers.reproductions import Paper, Tables
from resemblance.results.result import Result
from resemblance.suites.resi import load_facts
from resemblance.suites.resi import run as run_suite

from .claims import CLAIMS
from .ranks import published_rows, published_section


def run(folder: str | Path, **options: Any) -> Result:
    """Run the ReSi suite in a folder, or continue there, and return its result with the claims
    judged, and a section with the ranks of the paper.

    ``options``: of :func:`resemblance.suites.resi.run`.
    """
    result = run_suite(folder, claims=CLAIMS, **options)
    rows = published_rows(load_facts(Path(folder)))
    sections = (*result.sections, *([published_section(rows)] if rows else []))
    return replace(result, sections=sections)


def tables(result: Result) -> Tables:
    """Return the tables of the documentation: all claims."""
    return {"claims": claims_table(result.claims)}


PAPER = Paper(
    name="resi",
    citation=(
        "Klabunde et al. 2025, “ReSi: A Comprehensive Benchmark for Representational Similarity "
        "Measures”, ICLR"
    ),
    url="https://arxiv.org/abs/2408.00531",
    run=run,
    sizes={"small": "slice", "default": "mini", "paper": "standard"},
    heading="ReSi: six tests of similarity measures",
    introduction=(
        "The six tests of the ReSi benchmark (Klabunde et al. 2025, arXiv 2408.00531) on small "
        "models. The conclusions of the paper, and those of Islam et al. 2025 from the same tests, "
        "are judged, and the published ranks shown next to ours."
    ),
    about="""\
Reproduced are the six tests, on small models of three domains that are trained here instead of the
paper's, so mean ranks can be compared and scores cannot. The paper ranks the measures of its final
version; the tables that could be read are those of its first, and parts of them are lost (see
`published` in `../published.py`). `python -m papers.resi compare FOLDER` compares any study with
them, `--paper mka` with the tables of Islam et al. 2025.""",
    kept=("ours",),
    tables=tables,
)
