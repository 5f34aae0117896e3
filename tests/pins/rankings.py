"""Rankings of measures: the board, packs that ship, stored results of papers."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import resemblance as rs
from resemblance import bench as suites
from resemblance.sections.result import Result

ROOT = Path(__file__).parents[2]
MEASURES = (
    *("cka", "procrustes", "rsa", "jaccard", "mutual_knn", "linear_regression", "mean_cca"),
    *(
        "distance_correlation",
        "magnitude_difference",
        "bures",
        "shape_distance",
        "second_order_cosine",
    ),
)


def board(scratch: Path) -> list[dict[str, Any]]:
    """A record per measure of the board that ships, without the processor time."""
    frame = rs.leaderboard().to_pandas().drop(columns="cpu_seconds")
    records: list[dict[str, Any]] = (
        frame.astype(object).where(frame.notna(), None).to_dict("records")
    )
    return records


@cache
def on_pack(suite: str) -> Result:
    return suites.run(suite, pack=f"{suite}-compact@1", measures=MEASURES, with_intervals=False)


def packs(scratch: Path) -> dict[str, Any]:
    """The scores and mean ranks of twelve measures on the four packs that ship."""
    table = {}
    for suite in suites.SUITES:
        result = on_pack(suite)
        table[suite] = {
            "scores": {"; ".join(cell): dict(of) for cell, of in result.scores().items()},
            "mean ranks": {row.measure: row.mean for row in result.mean_ranks()},
        }
    return table


def papers(scratch: Path) -> dict[str, str]:
    """The digests of the stored results of papers."""
    files = sorted((ROOT / "papers").glob("**/results/*.json"))
    return {
        str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }
