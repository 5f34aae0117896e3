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

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import validity_intervals
import validity_levels
import validity_maps
import validity_places
import validity_subjects
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


def stored() -> list[Row]:
    """Return what has been measured."""
    if not MEASURED.exists():
        return []
    with MEASURED.open() as file:
        records = list(csv.reader(file))[1:]
    return [Row(*record[:5], float(record[5]), int(record[6])) for record in records]


def store(rows: Iterable[Row]) -> None:
    """Write all that has been measured, in the order of the studies."""
    places = {study[:2]: place for place, study in enumerate(STUDIES)}
    with MEASURED.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for row in sorted(rows, key=lambda row: places[row[:2]]):
            writer.writerow(row._replace(number=f"{row.number:.4g}"))


def write_tables() -> None:
    """Write the tables of the documentation from what has been measured."""
    rows = stored()
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
                store([*(row for row in stored() if row[:2] != study[:2]), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="studies whose table or case has this in it")
    parser.add_argument("--again", action="store_true", help="also what is stored")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few data sets, stored nowhere")
    options = parser.parse_args()
    known = set() if options.again or options.quick else {row[:2] for row in stored()}
    studies = [
        study
        for study in STUDIES
        if options.only in f"{study.table}, {study.case}" and study[:2] not in known
    ]
    if not options.table:
        run(studies, options.quick)
    if not options.quick:
        write_tables()


if __name__ == "__main__":
    sys.exit(main())
