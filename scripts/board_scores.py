"""Compute the scores of the measures of this library on a series of packs, as they ship with it.

    python scripts/board_scores.py [--series compact] [--packs FOLDER] [--jobs 2] [MEASURE ...]

Scores that are there already, of the same code on the same pack, are not computed again. How far
what a ReSi pack expects repeats on other inputs is written for packs that do not say so themselves.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import resemblance as rs
from resemblance.boards import read_scores, score, write_scores
from resemblance.boards.ranking import RELIABILITIES, SERIES, SHIPPED, packs_of
from resemblance.boards.score_files import file_name
from resemblance.boards.scoring import code_of
from resemblance.engine.workers import single_threaded
from resemblance.json_files import write_atomically
from resemblance.packs import Pack, open_pack
from resemblance.sources.model_folder import read_subjects
from resemblance.suites.case import cell_name
from resemblance.suites.pinned import MODELS
from resemblance.suites.reliability import RELIABILITY
from resemblance.suites.resi.cases import six_tests


def computed(pack: Pack, spec: str, folder: Path) -> str:
    """Compute and write the scores of one measure on one pack; return a line about it."""
    with single_threaded():
        scores = score(pack, spec)
    write_scores(folder, scores)
    missing = sum(cell.value is None for cell in scores.cells)
    return f"{scores.pack} {spec}: {scores.seconds:.0f} s, {missing} of {len(scores.cells)} missing"


def is_current(pack: Pack, measure: rs.Measure, folder: Path) -> bool:
    """Whether the scores of a measure on a pack are there, of the code that computes it now."""
    file = folder / pack.manifest.identity / file_name(measure.spec, measure.version)
    if not file.exists():
        return False
    scores = read_scores(file)
    return (scores.manifest, scores.code) == (pack.manifest.sha256, code_of(measure))


def outstanding(
    packs: list[Pack], measures: list[rs.Measure], folder: Path
) -> Iterator[tuple[Pack, str]]:
    """Yield what is to be computed, the packs that take longest first."""
    for pack in packs:
        for measure in measures:
            if not is_current(pack, measure, folder):
                yield pack, measure.spec


def reliabilities(pack: Pack) -> dict[str, float]:
    """Return how far what the cells of a pack expect repeats on other inputs, by the name of the
    cell, computed from the inputs that the pack holds; nothing of a pack that says so itself."""
    if pack.manifest.suite != "resi" or RELIABILITY in pack.manifest.facts:
        return {}
    cases = six_tests(read_subjects(pack.folder / MODELS)).cases
    return {cell_name(c.cell): c.reliability for c in cases if c.reliability is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*")
    parser.add_argument("--series", default=SERIES)
    parser.add_argument("--packs", type=Path, nargs="*", help="archives, instead of a series")
    parser.add_argument("--results", type=Path, default=SHIPPED)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    packs = (
        [open_pack(p) for p in options.packs] if options.packs else list(packs_of(options.series))
    )
    measures = [rs.get_measure(m) for m in options.measures] or list(rs.preset("board"))
    known = json.loads(RELIABILITIES.read_text()) if RELIABILITIES.exists() else {}
    known |= {p.manifest.sha256: of_pack for p in packs if (of_pack := reliabilities(p))}
    write_atomically(RELIABILITIES, json.dumps(known, indent=1) + "\n")
    work = list(outstanding(packs, measures, options.results))
    print(f"{len(work)} score files to compute", flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        calls = [pool.submit(computed, pack, spec, options.results) for pack, spec in work]
        for done, call in enumerate(as_completed(calls), 1):
            print(f"{done}/{len(work)} {call.result()}", flush=True)


if __name__ == "__main__":
    main()
