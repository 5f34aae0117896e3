"""The joint ranking over the studies of all papers, and which of their claims hold: the tables of
``docs/joint.md``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from resemblance.documents import write_atomically
from resemblance.results.claims import NO_DATA, VERDICTS, Claim
from resemblance.results.result import Result, load_result
from resemblance.results.sections import Section
from resemblance.suites import SUITES
from resemblance.suites.joint import joint

from .markdown import MADE, fixed, table

STORED = Path("papers") / "results" / "joint.json"


def store_joint(folders: Iterable[Path], root: Path) -> None:
    """Store the joint ranking of the studies in these folders."""
    result = joint(folders)
    sections = tuple(
        Section(s.name, s.title, s.about, s.tables)
        for s in result.sections
        if s.name in ("standing", "agreement")
    )
    (root / STORED).parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        replace(result, sections=sections).document(), indent=1, ensure_ascii=False, default=dict
    )
    write_atomically(root / STORED, text + "\n")


def joint_documents(root: Path) -> dict[str, str]:
    """Return the tables of the joint ranking, by path from the root; none when none is stored."""
    if not (root / STORED).exists():
        return {}
    result = load_result(root / STORED)
    tables = {"lead": result.headline(), "ranks": _ranks(result), "agreement": _agreement(result)}
    return {
        f"docs/_generated/joint-{name}.md": f"{MADE}\n\n{text}\n" for name, text in tables.items()
    }


def _ranks(result: Result) -> str:
    (places,) = result["standing"].tables
    suites = [suite for suite in SUITES if suite in places.columns]
    at = [places.columns.index(name) for name in ("measure", "mean rank", *suites)]
    rows = [[row[i] for i in at] for row in places.rows]
    lines = [(str(name), *(fixed(rank, 1) for rank in ranks)) for name, *ranks in rows]
    return table(("", "all", *suites), lines)


def _agreement(result: Result) -> str:
    (agreement,) = result["agreement"].tables
    return table(agreement.columns, ([fixed(entry) for entry in row] for row in agreement.rows))


def verdicts(claims: Iterable[tuple[str, tuple[Claim, ...]]]) -> str:
    """Return how many claims of every paper have which verdict, as a table."""
    columns = [v for v in VERDICTS if v != NO_DATA]
    counts = {heading: Counter(claim.verdict for claim in group) for heading, group in claims}
    rows = [(heading, *(str(count[v]) for v in columns)) for heading, count in counts.items()]
    return table(("paper", *columns), rows)
