"""Load comparisons and evidence from files of scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..base.results import result_from_document
from ..comparison.comparison import Comparison
from ..comparison.store import ERRORS_KEY, ScoreFile
from ._error_consistency import ErrorConsistency
from .evidence_file import read_evidence_file, restrict_to_measures
from .result import Evidence


def load_scores(path: str | Path) -> Comparison | Evidence:
    """Load the comparison or the evidence in a file of scores.

    Pairs missing after an interrupted run are in ``failures``. If the file of a comparison also
    holds evidence, ``comparison.evidence`` has the evidence. Evidence from a file has no arrays, so
    ``influence`` and ``curve`` need the representations again. Raises ``ValueError`` for a file
    that does not exist, is damaged or holds no scores.
    """
    comparison, fields = read_evidence_file(path)
    with ScoreFile(path, read_only=True) as store:
        is_evidence = store.class_name() == Evidence.__name__
        document = store.description().get(ERRORS_KEY)
    if document is not None:
        errors = result_from_document(ErrorConsistency, document, str(path))
        comparison = replace(comparison, error_consistency=errors)
    if fields is None:
        return comparison
    evidence = Evidence(restrict_to_measures(comparison, fields.nulls), **fields._asdict())
    return evidence if is_evidence else replace(comparison, evidence=evidence)
