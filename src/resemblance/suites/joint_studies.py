"""The studies that a joint ranking is made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from ..results.result import Result, load_result
from . import SUITES
from .resi.facts import FACTS, load_facts
from .resi.sections import result_of

CellRanks: TypeAlias = Mapping[tuple[str, str], Mapping[str, float]]  # by test, and cell of it
Study: TypeAlias = Result


def read_result(folder: str | Path) -> Result:
    """Return the result of the study in a folder; ``ValueError`` for a folder without one, or with
    that of no suite."""
    file = Path(folder) / "result.json"
    if not file.exists():
        raise ValueError(
            f"{folder} has no results yet: run a suite there, such as: resemblance resi run "
            f"{folder}"
        )
    try:
        result = load_result(file)
    except ValueError as error:
        if (Path(folder) / FACTS).exists():
            raise
        try:
            result = result_of(load_facts(folder))  # of an earlier version of the ReSi suite
        except ValueError:
            raise error from None
    if result.suite not in SUITES:
        raise ValueError(f"{file} is of {result.suite!r}; known: {', '.join(SUITES)}")
    return result
