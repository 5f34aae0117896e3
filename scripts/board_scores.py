"""Compute the scores of measures on a series of packs, as they ship with the library.

    python scripts/board_scores.py [--series compact] [--packs FOLDER] [--jobs 2] [MEASURE ...]
    python scripts/board_scores.py --series architectures    after the commands that build the pack
    python scripts/board_scores.py --check [MEASURE ...]

Without --check, the script writes the scores of the named measures, by default of all measures. A
score is not computed again if the file has a score of the same code on the same pack. The script
also writes the reliability of the expected differences of a ReSi pack on other inputs.

With --check, the script writes nothing. It computes the scores of the named measures again, prints
a table of the differences from the file, and exits with 1 if there are differences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import resemblance as rs
from resemblance.base.formatting import count_with_noun
from resemblance.bench.case import task_name
from resemblance.bench.packs import Pack, open_pack
from resemblance.bench.packs.opening import find_pack
from resemblance.bench.pinned import PACK_MODELS_FOLDER
from resemblance.bench.ranking import PackScores, ScoredCell, write_scores
from resemblance.bench.ranking.ranking import (
    ARCHITECTURES_PACK,
    ARCHITECTURES_SERIES,
    DEFAULT_PACK_SERIES,
    packs_of,
    shipped_file,
)
from resemblance.bench.ranking.score_file import read_scores_if_any
from resemblance.bench.ranking.scoring import measure_card, measure_code_hash, score_all
from resemblance.bench.ranking.trivial import TRIVIAL_MEASURES
from resemblance.bench.reliability import RELIABILITY
from resemblance.bench.resi.cases import six_tests
from resemblance.models.model_folder import read_models
from resemblance.report.output import print_tables
from resemblance.report.terminal import plain_table

TOLERANCE = 1e-6  # largest allowed difference of a score between machines
SHOWN = 40  # maximum number of differences to print
HEADER = ("measure", "pack", "what differs", "in the file", "computed")
Difference = tuple[str, str, str, str, str]  # a row of the table


# -------------------------------------------------------------------------------- scores to compute


def is_current(scores: PackScores | None, pack: Pack, measure: rs.Measure) -> bool:
    """Return whether the scores of a measure on a pack exist, also without each seed, and were
    computed by the current code."""
    return (
        scores is not None
        and not any(map(_lacks_scores_by_seeds, scores.cells))
        and (scores.manifest, scores.measure, scores.code)
        == (pack.manifest.sha256, measure_card(measure), measure_code_hash(measure))
    )


def _lacks_scores_by_seeds(cell: ScoredCell) -> bool:
    return cell.value is not None and set(cell.without.values()) == {None}


def outstanding(
    packs: Sequence[Pack], measures: Sequence[rs.Measure], file: Path
) -> list[tuple[rs.Measure, Pack]]:
    """Return the pairs of a measure and a pack with scores to compute, grouped by pack."""
    scores_by_key = {(s.measure.spec, s.pack): s for s in read_scores_if_any(file)}
    return [
        (measure, pack)
        for pack in packs
        for measure in measures
        if not is_current(scores_by_key.get((measure.spec, pack.manifest.identity)), pack, measure)
    ]


def reliabilities(pack: Pack) -> dict[str, float]:
    """Return the reliability of the expected differences of every task of a ReSi pack, by task
    name.

    The reliability is computed from the inputs in the pack. The result is empty for other packs and
    for a pack that states its reliability.
    """
    if pack.manifest.suite != "resi" or RELIABILITY in pack.manifest.facts:
        return {}
    cases = six_tests(read_models(pack.folder / PACK_MODELS_FOLDER)).cases
    return {task_name(c.cell): c.reliability for c in cases if c.reliability is not None}


def with_reliabilities(scores: PackScores, values: dict[str, float]) -> PackScores:
    """Return the scores with the reliability of expected differences added to every task."""
    cells = tuple(cell._replace(reliability=values.get(cell.cell)) for cell in scores.cells)
    return scores._replace(cells=cells)


def write(packs: Sequence[Pack], measures: Sequence[rs.Measure], file: Path, jobs: int) -> None:
    """Compute the scores that the file lacks, and write every score as soon as it is ready."""
    tasks = outstanding(packs, measures, file)
    print(f"{len(tasks)} scores of measures on packs to compute", flush=True)
    reliabilities_by_pack = {p.manifest.identity: reliabilities(p) for p in packs} if tasks else {}
    with ProcessPoolExecutor(jobs) as pool:
        for n_done, scores in enumerate(score_all(tasks, pool), 1):
            write_scores(file, [with_reliabilities(scores, reliabilities_by_pack[scores.pack])])
            n_missing = sum(cell.value is None for cell in scores.cells)
            print(
                f"{n_done}/{len(tasks)} {scores.pack} {scores.measure.spec}: {scores.seconds:.0f} "
                f"s, {n_missing} of {len(scores.cells)} missing",
                flush=True,
            )


# ---------------------------------------------------------------------------------- scores to check


def check(
    packs: Sequence[Pack],
    measures: Sequence[rs.Measure],
    file: Path,
    jobs: int,
    tolerance: float = TOLERANCE,
) -> list[Difference]:
    """Compute scores again, and return the differences from the scores in the file."""
    stored_scores = {(s.measure.spec, s.pack): s for s in read_scores_if_any(file)}
    tasks = [(measure, pack) for pack in packs for measure in measures]
    rows = list[Difference]()
    with ProcessPoolExecutor(jobs) as pool:
        for scores in score_all(tasks, pool):
            key = scores.measure.spec, scores.pack
            stored = stored_scores.get(key)
            if stored is None:
                rows.append((*key, "all scores", "missing", "present"))
            else:
                rows += [(*key, *row) for row in differences(stored, scores, tolerance)]
    return sorted(rows)


def differences(
    stored: PackScores, scores: PackScores, tolerance: float
) -> Iterator[tuple[str, str, str]]:
    """Yield the differences between stored and recomputed scores: name, stored value, recomputed
    value."""
    facts = [("manifest", stored.manifest, scores.manifest)]
    cards = stored.measure._asdict(), scores.measure._asdict()
    facts += [(name, str(cards[0][name]), str(cards[1][name])) for name in cards[0]]
    names = [[(c.test, c.cell, c.models, len(c.parts)) for c in s.cells] for s in (stored, scores)]
    facts.append(("cells", *(f"{len(keys)} cells" for keys in names)))
    yield from (fact for fact in facts if fact[1] != fact[2])
    if names[0] == names[1]:
        for stored_cell, cell in zip(stored.cells, scores.cells):
            yield from _cell_differences(stored_cell, cell, tolerance)
    elif len(names[0]) == len(names[1]):
        index = next(i for i, (a, b) in enumerate(zip(*names)) if a != b)
        yield "cells", *(" ".join(map(str, keys[index])) for keys in names)


def _cell_differences(
    stored: ScoredCell, cell: ScoredCell, tolerance: float
) -> Iterator[tuple[str, str, str]]:
    title = f"{stored.test}, {stored.cell}"
    numbers = [(title, stored.value, cell.value)]
    parts = zip(stored.parts, cell.parts)
    numbers += [(f"{title}, part {i}", a, b) for i, (a, b) in enumerate(parts, 1)]
    for name, a, b in numbers:
        if (a is None) != (b is None) or (a is not None and not abs(a - (b or 0.0)) <= tolerance):
            yield name, _number(a), _number(b)
    if stored.is_incomplete != cell.is_incomplete:
        states = ("incomplete" if c.is_incomplete else "complete" for c in (stored, cell))
        yield title, *states


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.12g}"


# ------------------------------------------------------------------------------------------ command


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*")
    parser.add_argument("--check", action="store_true", help="compare with the file; write nothing")
    parser.add_argument("--series", default=DEFAULT_PACK_SERIES)
    parser.add_argument("--packs", type=Path, nargs="*", help="archives, instead of a series")
    parser.add_argument("--file", type=Path, help="the file of scores; default: of the series")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(None if arguments is None else list(arguments))
    try:
        packs = list(map(open_pack, options.packs or ())) or list(packs_of(options.series))
    except ValueError as error:
        is_missing = options.series == ARCHITECTURES_SERIES and not find_pack(ARCHITECTURES_PACK)
        if options.packs or options.check or not is_missing:
            raise
        print(f"nothing computed: {error}")
        return 0
    measures = [rs.get_measure(m) for m in options.measures] or [
        *rs.preset("leaderboard"),
        *TRIVIAL_MEASURES,
    ]
    file = options.file or shipped_file(options.series)
    if not options.check:
        write(packs, measures, file, options.jobs)
        return 0
    rows = check(packs, measures, file, options.jobs)
    if not rows:
        number = count_with_noun(len(measures), "measure")
        print(f"{number} on {len(packs)} packs: no score differs by more than {TOLERANCE:g}")
        return 0
    footer = [f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    print_tables([plain_table(HEADER, rows[:SHOWN], right=(3, 4)), *footer])
    return 1


if __name__ == "__main__":
    sys.exit(main())
