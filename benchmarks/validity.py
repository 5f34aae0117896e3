"""Measure whether inference keeps its promises: levels of tests, coverage of intervals, maps.

    python benchmarks/validity.py                  # measure what is missing, then write the tables
    python benchmarks/validity.py --only levels    # only studies whose name has this in it
    python benchmarks/validity.py --again          # measure all again
    python benchmarks/validity.py --table          # only write docs/_generated/validity-*.md
    python benchmarks/validity.py --quick          # a few data sets of each study; writes nothing

About 20 minutes of CPU, in two processes of one thread each. The draws of every data set follow
from the name of its study and its number, so the numbers do not depend on the processes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import validity_intervals
import validity_levels
import validity_maps
import validity_places
import validity_subjects
from bench import options, store, stored
from threadpoolctl import threadpool_limits
from validity_studies import Numbers, Row, Study, random_of
from validity_tables import TABLES

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "validity.csv"
GENERATED = ROOT / "docs" / "_generated"
PROCESSES = 2
QUICK = 4  # data sets of a quick run

STUDIES: tuple[Study, ...] = (
    *validity_levels.STUDIES,
    *validity_intervals.STUDIES,
    *validity_maps.STUDIES,
    *validity_places.STUDIES,
    *validity_subjects.STUDIES,
)


def one(study: Study, index: int) -> Numbers:
    """Measure one data set."""
    return study.of_set(random_of(study, index))


def measured(study: Study, sets: int, processes: ProcessPoolExecutor | None) -> list[Row]:
    """Measure the data sets of a study, and return what they say together."""
    if processes is None:
        results = [one(study, index) for index in range(sets)]
    else:
        size = max(1, sets // (8 * PROCESSES))
        results = list(processes.map(one, [study] * sets, range(sets), chunksize=size))
    return study.summary(study, results)


def write_tables() -> None:
    """Write the tables of the documentation from what has been measured."""
    rows = stored(MEASURED, Row)
    for name, make in TABLES.items():
        (GENERATED / name).write_text(make(rows), encoding="utf-8")


def run(studies: Sequence[Study], is_quick: bool) -> None:
    """Measure studies; each is written as soon as it is done, or printed if it is quick."""
    with ProcessPoolExecutor(PROCESSES, initializer=threadpool_limits, initargs=(1,)) as processes:
        for study in studies:
            start = time.perf_counter()
            rows = measured(study, QUICK if is_quick else study.sets, processes)
            print(f"{study.table}, {study.case}: {time.perf_counter() - start:.0f} s", flush=True)
            for row in rows:
                print("   ", *row[2:5], f"{row.number:.4g}", row.sets, sep="  ", flush=True)
            if not is_quick:
                others = [row for row in stored(MEASURED, Row) if row[:2] != study[:2]]
                places = {known[:2]: place for place, known in enumerate(STUDIES)}
                store(MEASURED, sorted([*others, *rows], key=lambda row: places[row[:2]]))


def main() -> None:
    """``--only``: studies whose table or case has this in it; ``--again``: also what is stored;
    ``--table``: measure nothing; ``--quick``: a few data sets, stored nowhere."""
    chosen = options(__doc__, "again", "table", "quick", only="")
    known = set() if chosen.again or chosen.quick else {row[:2] for row in stored(MEASURED, Row)}
    studies = [
        study
        for study in STUDIES
        if chosen.only in f"{study.table}, {study.case}" and study[:2] not in known
    ]
    if not chosen.table:
        run(studies, chosen.quick)
    if not chosen.quick:
        write_tables()


if __name__ == "__main__":
    sys.exit(main())
