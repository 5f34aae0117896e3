"""Comparisons and evidence read from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..comparison.comparison import Comparison
from .evidence_file import read_evidence_file, restrict_to_measures
from .result import Evidence


def load(path: str | Path) -> Comparison:
    """Read a saved comparison; pairs that an interrupted one lacks are in its ``failures``.

    Its ``evidence`` is the one that the file holds, or None. Raises ``ValueError`` for a file that
    does not exist, is damaged or is not a comparison.
    """
    comparison, fields = read_evidence_file(path)
    if fields is None:
        return comparison
    evidence = Evidence(restrict_to_measures(comparison, fields.nulls), **fields._asdict())
    return replace(comparison, evidence=evidence)


def load_evidence(path: str | Path) -> Evidence:
    """Read evidence from the file of ``evidence(..., save=path)`` or ``Evidence.save``, or from the
    scores of :func:`compare_models`.

    It has no arrays, so ``influence`` and ``curve`` need the representations again. Raises
    ``ValueError`` for a file that does not exist, is damaged, or holds no finished evidence.
    """
    evidence: Evidence | None = load(path).evidence
    if evidence is None:
        raise ValueError(
            f"{path} holds a comparison and no finished evidence: the call of evidence that "
            "began it continues it; resemblance.load reads the comparison"
        )
    return evidence
