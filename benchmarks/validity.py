"""Measure whether inference keeps its promises: levels of tests, coverage of intervals, maps.

    python benchmarks/validity.py                  # measure what is missing, then write the tables
    python benchmarks/validity.py --only levels    # only studies whose name has this in it
    python benchmarks/validity.py --again          # measure all again
    python benchmarks/validity.py --table          # only write docs/_generated/validity-*.md
    python benchmarks/validity.py --quick          # a few data sets of each study; writes nothing

The script needs about 20 minutes of CPU, in two processes of one thread each. The random numbers of
a data set depend only on the name of the study and the number of the data set, so the results do
not depend on the processes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import validity_drift
import validity_intervals
import validity_ranking
import validity_recalls
import validity_tests
from bench import GENERATED, brief, command, document, grid, store, stored
from threadpoolctl import threadpool_limits
from validity_tests import Row, Study

MEASURED = Path(__file__).with_suffix(".csv")
PROCESSES = 2
QUICK = 4  # data sets of a quick run
NONE = "–"
STUDIES: tuple[Study, ...] = (
    *validity_tests.STUDIES,
    *validity_intervals.STUDIES,
    *validity_tests.MAPS,
    *validity_recalls.STUDIES,
    *validity_ranking.STUDIES,
    *validity_intervals.SUBJECTS,
    *validity_drift.STUDIES,
)

# ----------------------------------------------------------------- the tables of the documentation

# Maps the title of a column to the case and the method of its numbers.
Columns = Mapping[str, tuple[str, str]]
NARROW, WIDE = "20 and 30", "200 and 300"
INDEPENDENT: Columns = {
    f"{case}: {way}": (case, way)
    for case in ("Gaussian rows", "lognormal rows")
    for way in ("permutations", "exact moments")
}
DEPENDENT: Columns = {
    "20 blocks of 5 rows: free permutations": ("20 blocks of 5 rows", "free permutations"),
    "whole blocks": ("20 blocks of 5 rows", "whole blocks"),
    "5 shared classes: free permutations": ("5 shared classes", "free permutations"),
    "within classes": ("5 shared classes", "within classes"),
    "class means subtracted, free permutations": ("5 shared classes", "class means subtracted"),
}
SERIES: Columns = {
    "free permutations": ("series", "free permutations"),
    "runs of 10": ("series", "runs of 10"),
    "circular shifts": ("series", "circular shifts"),
    "shifted windows": ("series of 200", "shifted windows"),
}
POWER: Columns = {
    "permutations": ("small signal", "permutations"),
    "exact moments": ("small signal", "exact moments"),
    "within classes": ("small signal and 5 shared classes", "within classes"),
}
COVERAGE: Columns = {
    case: (case, "rs.evidence")
    for n, widths in ((30, (NARROW,)), (100, (NARROW, WIDE)), (500, (NARROW, WIDE)))
    for case in (f"n = {n}, d = {d}" for d in widths)
}
NOT_OFFERED: Columns = {
    "`evidence`": ("n = 100, d = 20 and 30", "rs.evidence"),
    "bootstrap, quantiles": ("n = 100, d = 20 and 30", "bootstrap quantiles"),
    "halves, quantiles": ("n = 100, d = 20 and 30", "quantiles of halves"),
}
DIFFERENCES: Columns = {
    f"{case.removeprefix('a ')}: {way}": (case, way)
    for case in ("no difference", "no difference, widths 20 and 200", "a small difference")
    for way in ("paired", "not paired")
}
MAPS = (
    ("6 x 6, unrelated", "family-wise error"),
    ("6 x 6, 9 pairs share a signal", "false discovery rate"),
    ("6 x 6, 9 pairs share a signal", "power"),
    ("24 x 24, unrelated", "family-wise error"),
    ("24 x 24, 144 pairs share a signal", "power"),
)
FAR = (
    ("6 x 6, unrelated", "family-wise error"),
    ("6 x 6, 9 pairs share a signal", "family-wise error"),
    ("6 x 6, 9 pairs share a signal", "power"),
)


def by_measure(table: str, columns: Columns, rows: Sequence[Row]) -> str:
    """Return a table with a row for every measure that has a number in one of the columns."""
    numbers = {row[1:5]: row.number for row in rows if row.table == table}
    quantity = "coverage" if table == "coverage" else "rejected"
    cases = {case for case, _ in columns.values()}
    lines = []
    for measure in dict.fromkeys(key[2] for key in numbers if key[0] in cases):
        if any((*prefix, measure, quantity) in numbers for prefix in columns.values()):
            cells = (cell(numbers, (*prefix, measure), quantity) for prefix in columns.values())
            lines.append([f"`{measure}`", *cells])
    return document(__file__, grid(["measure", *columns], lines))


def cell(numbers: Mapping[tuple[str, ...], float], prefix: tuple[str, ...], quantity: str) -> str:
    """Return the percentage of a measure as text: coverage with the width of the intervals,
    rejections with the percentage of data sets in which permutations replaced exact moments."""
    number = numbers.get((*prefix, quantity))
    drawn_share = numbers.get((*prefix, "drawn instead"), 0.0)
    if number is None:
        return NONE
    if quantity == "coverage":
        return f"{number:.0f} / {numbers[*prefix, 'width']:.2f}"
    return f"{number:.1f}" + (f" ({drawn_share:.0f} drawn)" if drawn_share >= 0.5 else "")


def by_case(
    table: str, methods: Sequence[str], quantities: Sequence[str], rows: Sequence[Row]
) -> str:
    """Return a table with a row for every kind of data, and several percentages for every
    method."""
    numbers_by_key = {
        (row.case, row.way, row.what): row.number for row in rows if row.table == table
    }
    lines = []
    for case in dict.fromkeys(case for case, _, _ in numbers_by_key):
        numbers = (
            [numbers_by_key[case, method, quantity] for quantity in quantities]
            for method in methods
        )
        cells = (
            [NONE if math.isnan(n) else f"{n:.0f}" for n in row_numbers] for row_numbers in numbers
        )
        lines.append([case, *map(" / ".join, cells)])
    return document(__file__, grid(["", *methods], lines))


def maps(table: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> str:
    """Return a table of layer maps, with a row for every method of adjusting p-values. The power of
    the best pair, a single pair, is omitted."""
    numbers_by_key = {
        (row.way, row.case, row.what): row.number for row in rows if row.table == table
    }
    lines = []
    for method in dict.fromkeys(method for method, _, _ in numbers_by_key):
        is_reported = [
            not (method.startswith("best") and quantity == "power") for _, quantity in columns
        ]
        numbers = [
            numbers_by_key.get((method, *column)) if is_shown else None
            for column, is_shown in zip(columns, is_reported)
        ]
        lines.append([method, *(NONE if n is None else f"{n:.1f}" for n in numbers)])
    return document(__file__, grid(["way", *map(": ".join, columns)], lines))


def recalls(rows: Sequence[Row]) -> str:
    """Return the table of lower bounds of recalls: how often bounds are too high, how far bounds
    are below the expected recall, and how often an option with too low a recall is accepted."""
    numbers = {row[:5]: row.number for row in rows if row.table in ("recalls", "accepted")}
    methods = ("rs.upgrade_index", "Student's t alone")
    lines = []
    for case in dict.fromkeys(case for table, case, *_ in numbers if table == "recalls"):
        errors = (f"{numbers['recalls', case, method, '', 'wrong']:.1f}" for method in methods)
        distances = (
            f"{numbers['recalls', case, method, '', 'distance']:.3f}" for method in methods
        )
        accepted = numbers.get(("accepted", case, methods[0], "", "accepted"))
        lines.append([case, *errors, *distances, NONE if accepted is None else f"{accepted:.1f}"])
    head = [
        "",
        *(f"too high: {method}" for method in methods),
        *(f"distance: {method}" for method in methods),
    ]
    return document(__file__, grid([*head, "accepted: rs.upgrade_index"], lines))


BATCHES = ("verdict", "energy", "mmd", "classifier", "features", "effective_rank")
RANKING = (
    "may be the best",
    "all against a baseline",
    "one against a baseline",
    "one of the noisiest quarter",
    "Wilcoxon and Holm over tasks",
)
TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "validity-independent.md": partial(by_measure, "levels", INDEPENDENT),
    "validity-dependent.md": partial(by_measure, "levels", DEPENDENT),
    "validity-series.md": partial(by_measure, "levels", SERIES),
    "validity-power.md": partial(by_measure, "power", POWER),
    "validity-coverage.md": partial(by_measure, "coverage", COVERAGE),
    "validity-not-offered.md": partial(by_measure, "coverage", NOT_OFFERED),
    "validity-differences.md": partial(by_measure, "differences", DIFFERENCES),
    "validity-maps.md": partial(maps, "maps", MAPS),
    "validity-far.md": partial(maps, "far", FAR),
    "validity-recalls.md": recalls,
    "validity-ranking.md": partial(by_case, "ranking", RANKING, ("wrong", "found")),
    "validity-batches.md": partial(by_case, "batches", BATCHES, ("rejected",)),
    "validity-subjects.md": partial(
        by_case, "subjects", ("score_models", "t-test over subjects"), ("rejected",)
    ),
}

# --------------------------------------------------------------------------------------- measuring


def run(studies: Sequence[Study], is_quick: bool) -> None:
    """Measure studies, and store the rows of every finished study; a quick run only prints."""
    positions = {study[:2]: position for position, study in enumerate(STUDIES)}
    with ProcessPoolExecutor(PROCESSES, initializer=threadpool_limits, initargs=(1,)) as processes:
        for study in studies:
            start, sets = time.perf_counter(), QUICK if is_quick else study.sets
            size = max(1, sets // (8 * PROCESSES))
            results = list(processes.map(study.measured, range(sets), chunksize=size))
            rows = study.summary(study, results)
            print(f"{study.table}, {study.case}: {time.perf_counter() - start:.0f} s", flush=True)
            for row in rows:
                print("   ", *row[2:5], brief(row.number), row.sets, sep="  ", flush=True)
            if not is_quick:
                other_rows = [row for row in stored(MEASURED, Row) if row[:2] != study[:2]]
                store(MEASURED, sorted([*other_rows, *rows], key=lambda row: positions[row[:2]]))


def main(only: str = "", again: bool = False, table: bool = False, quick: bool = False) -> None:
    """Measure studies, and write the tables.

    ``only``: studies with this text in their table or case; ``again``: repeat stored studies;
    ``table``: only write the tables; ``quick``: a few data sets, stored nowhere.
    """
    measured = set() if again or quick else {row[:2] for row in stored(MEASURED, Row)}
    selected = [study for study in STUDIES if only in f"{study.table}, {study.case}"]
    if not table:
        run([study for study in selected if study[:2] not in measured], quick)
    if not quick:
        rows = stored(MEASURED, Row)
        for name, make in TABLES.items():
            (GENERATED / name).write_text(make(rows), encoding="utf-8")


if __name__ == "__main__":
    command(__doc__, main)
