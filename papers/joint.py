"""The joint ranking on the packs that ship, and which claims of the papers hold: the tables of
``docs/board.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from resemblance.boards import read_board
from resemblance.results.claims import NO_DATA, VERDICTS, Claim
from resemblance.results.result import Result
from resemblance.suites import SUITES
from resemblance.suites.joint import result_of_ranks

from .markdown import MADE, fixed, table


def joint_documents() -> dict[str, str]:
    """Return the tables of the joint ranking, by path from the root."""
    result = result_of_ranks(read_board().ranks)
    tables = {"lead": result.headline(), "ranks": _ranks(result), "agreement": _agreement(result)}
    return {
        f"docs/_generated/joint-{name}.md": f"{MADE}\n\n{text}\n" for name, text in tables.items()
    }


def _ranks(result: Result) -> str:
    (places,) = result["standing"].tables
    suites = [suite for suite in SUITES if suite in places.columns]
    at = [places.columns.index(name) for name in ("measure", "place", "mean rank", *suites)]
    rows = [[row[i] for i in at] for row in places.rows]
    lines = [(str(m), str(place), *(fixed(rank, 1) for rank in r)) for m, place, *r in rows]
    return table(("", "place", "all", *suites), lines)


def _agreement(result: Result) -> str:
    (agreement,) = result["agreement"].tables
    return table(agreement.columns, ([fixed(entry) for entry in row] for row in agreement.rows))


def verdicts(claims: Iterable[tuple[str, tuple[Claim, ...]]]) -> str:
    """Return how many claims of every paper have which verdict, as a table."""
    columns = [v for v in VERDICTS if v != NO_DATA]
    counts = {heading: Counter(claim.verdict for claim in group) for heading, group in claims}
    rows = [(heading, *(str(count[v]) for v in columns)) for heading, count in counts.items()]
    return table(("paper", *columns), rows)
