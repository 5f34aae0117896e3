"""How far the packs that ship keep the order of measures that whole studies give.

    python benchmarks/compact.py STUDY [STUDY ...]     about a quarter of an hour of CPU for each
    python benchmarks/compact.py                       only write the table of the docs again

A study runs with all samples in full precision, by all measures except the measures of outputs and
three measures that need hours. The mean ranks are stored in ``compact.json``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from bench import GENERATED, command, grid

import resemblance as rs
from resemblance.base.json_files import write_atomically
from resemblance.bench import run
from resemblance.bench.packs import open_pack
from resemblance.bench.pinned import build_pack
from resemblance.bench.ranking.ranking import DEFAULT_PACK_SERIES, read_board
from resemblance.bench.study import purpose
from resemblance.significance import rank_correlation, ranks_of_rows

KEPT = Path(__file__).with_suffix(".json")
TABLE = GENERATED / "compact.md"
SLOW = {"rtd", "rtd_lite", "imd"}
FIRST = 5  # best measures that the table lists


def tested() -> list[rs.Measure]:
    """Return the measures that are ranked in whole studies."""
    return [m for m in rs.preset("all") if m.name not in SLOW]


def whole_ranks(study: Path) -> dict[str, float]:
    """Return the mean rank of every measure in a whole study."""
    with tempfile.TemporaryDirectory() as folder:
        archive, _ = build_pack(study, folder)
        pack = open_pack(archive, cache=Path(folder) / "cache")
        result = run(pack.manifest.suite, pack=pack, measures=tested(), with_intervals=False)
    return {row.measure: row.mean for row in result.mean_ranks()}


def compact_ranks(suite: str, measures: Mapping[str, float]) -> dict[str, float]:
    """Return the mean ranks of the same measures on the feature pack of the package."""
    ranks = read_board(packs=DEFAULT_PACK_SERIES).results[suite].ranks(measures)
    return {m: float(np.mean([cell[m] for cell in ranks.values()])) for m in measures}


def table(ranks_by_suite: Mapping[str, Mapping[str, float]]) -> str:
    """Return the table of the docs: rank correlations and best measures."""
    lines = []
    for suite, means in ranks_by_suite.items():
        compact = compact_ranks(suite, means)
        rank_arrays = [
            ranks_of_rows(np.array([ranks[m] for m in means])) for ranks in (means, compact)
        ]
        leaders = [
            ", ".join(f"`{m}`" for m in sorted(ranks, key=ranks.__getitem__)[:FIRST])
            for ranks in (means, compact)
        ]
        value = float(rank_correlation(*rank_arrays))
        lines.append((suite, str(len(means)), f"{value:.2f}", *leaders))
    head = ("suite", "measures", "Spearman", "first five of the study", "first five of the pack")
    return grid(head, lines, "|---|--:|--:|---|---|") + "\n"


def main(*studies: Path) -> None:
    """Rank the measures in whole studies, and write the table."""
    ranks_by_suite = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for study in map(Path, studies):
        ranks_by_suite[purpose(study).suite] = whole_ranks(study)
        write_atomically(KEPT, json.dumps(ranks_by_suite, indent=1, sort_keys=True) + "\n")
    write_atomically(TABLE, table(ranks_by_suite))


if __name__ == "__main__":
    command(__doc__, main)
