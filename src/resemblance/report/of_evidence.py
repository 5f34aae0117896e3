"""An evidence as a result for a page: that of its comparison, with what is beyond chance first."""

from __future__ import annotations

from dataclasses import replace

from ..inference.result import Evidence
from ..measure import Measure
from ..results.result import Result
from .evidence_words import readings, results_in_words
from .numbers import minus
from .of_comparison import result_of


def result_of_evidence(
    evidence: Evidence, *, measure: str | Measure | None = None, stretch: bool = False
) -> Result:
    """Return an evidence as a result for a page.

    ``measure``: which one leads; with ``stretch`` the colours of every map span its values.
    """
    result = result_of(evidence.comparison, evidence=evidence, measure=measure, stretch=stretch)
    known = readings(evidence)
    return replace(
        result,
        suite="evidence",
        provenance={**result.provenance, "seed": evidence.design.seed},
        lead="\n".join(map(_one_line, results_in_words(evidence, known))),
        title="Evidence for similarity",
    )


def _one_line(text: str) -> str:
    """Return a text without line breaks, which names of representations may have."""
    return minus(" ".join(text.split()))
