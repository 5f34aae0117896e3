"""One page of every kind of result, byte for byte.

A page is the digests of its parts, so that a difference says where it is; ``write_pages`` writes
the pages themselves, to be looked at before and after a change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import resemblance as rs
from resemblance import bench as suites
from resemblance.report import write_page
from resemblance.report.of_drift import drift_result
from resemblance.sections.result import Result

from .data import layers
from .rankings import on_pack

PARTS = re.compile(r"(?=<(?:section|script|style|header|footer|nav)\b)")
ELSEWHERE = ("python", "machine", "libraries")  # differ from machine to machine
MEASURES = ("cka[estimator=debiased]", "rsa", "procrustes")


def pages(scratch: Path) -> dict[str, Any]:
    return pinned_parts(scratch, results_of_arrays() | results_on_packs())


def pinned_parts(scratch: Path, results: Mapping[str, Any]) -> dict[str, Any]:
    write_pages(scratch, results)
    parts = {file.stem: PARTS.split(file.read_text()) for file in sorted(scratch.glob("*.html"))}
    return {
        "digests": {name: list(map(digest, of_page)) for name, of_page in parts.items()},
        "parts": {name: list(map(opening, of_page)) for name, of_page in parts.items()},
    }


def opening(part: str) -> str:
    """The tag that a part begins with."""
    return " ".join(part.split(">")[0].split())


def digest(part: str) -> str:
    return hashlib.sha256(part.encode()).hexdigest()[:16]


def write_pages(folder: Path, results: Mapping[str, Any]) -> None:
    """Write a page for each of these results."""
    for name, result in results.items():
        write_page(result, folder / f"{name}.html", title=name)


def results_of_arrays() -> dict[str, Any]:
    """Results that take seconds, without what differs from run to run."""
    comparison = rs.compare(layers(), measures=MEASURES, progress=False)
    certain = rs.evidence(layers(), measures=MEASURES, n_permutations=19, progress=False)
    rng = np.random.default_rng(11)
    old = rng.standard_normal((120, 6))
    report = rs.drift(
        old,
        old @ rng.standard_normal((6, 6)),
        labels=np.arange(120) % 3,
        n_resamples=10,
        progress=False,
    )
    return {
        "comparison": timeless(comparison),
        "evidence": replace(certain, comparison=timeless(certain.comparison)),
        "drift": timeless(drift_result(report)),
    }


def results_on_packs() -> dict[str, Any]:
    """A result of each suite, without what differs from run to run."""
    return {suite: timeless(on_pack(suite)) for suite in suites.SUITES}


def timeless(result: Any) -> Any:
    """A result without times, versions and machines."""
    facts = {name: fact for name, fact in result.provenance.items() if name not in ELSEWHERE}
    if isinstance(result, Result):
        sections = tuple(s for s in result.sections if s.name != "times")
        seconds = dict.fromkeys(result.seconds, 0.0)
        return replace(result, provenance=facts, sections=sections, seconds=seconds)
    for matrix in result.matrices.values():
        matrix.seconds = 0.0
    return replace(result, provenance=facts)
