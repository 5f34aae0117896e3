"""Compute the scores of measures on a series of packs, as they ship with the library.

    python scripts/board_scores.py [--series compact] [--packs FOLDER] [--jobs 2] [MEASURE ...]
    python scripts/board_scores.py --check [MEASURE ...]

Without --check, the script writes the scores of the named measures, by default of all. Scores that
the file already has, of the same code on the same pack, are not computed again. The script also
writes how far the expected differences of a ReSi pack repeat on other inputs.

With --check, the script writes nothing. It computes the scores of the named measures again, prints
a table of the differences from the file, and exits with 1 if there are any.
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
from resemblance.bench.pinned import PACK_MODELS_FOLDER
from resemblance.bench.ranking import PackScores, ScoredCell, write_scores
from resemblance.bench.ranking.ranking import DEFAULT_PACK_SERIES, SHIPPED, packs_of
from resemblance.bench.ranking.score_file import read_scores_if_any
from resemblance.bench.ranking.scoring import measure_card, measure_code_hash, score_all
from resemblance.bench.reliability import RELIABILITY
from resemblance.bench.resi.cases import six_tests
from resemblance.models.model_folder import read_models
from resemblance.report.output import print_tables
from resemblance.report.terminal import plain_table

TOLERANCE = 1e-6  # by which a score may differ on another machine
SHOWN = 40  # differences that a terminal gets
HEADER = ("measure", "pack", "what differs", "in the file", "computed")
Difference = tuple[str, str, str, str, str]  # a row of the table


# -------------------------------------------------------------------------------- scores to compute


def is_current(scores: PackScores | None, pack: Pack, measure: rs.Measure) -> bool:
    """Whether the scores of a measure on a pack are there, of the code that computes it now."""
    return scores is not None and (scores.manifest, scores.measure, scores.code) == (
        pack.manifest.sha256, measure_card(measure), measure_code_hash(measure)
    )  # fmt: skip


def outstanding(
    packs: Sequence[Pack], measures: Sequence[rs.Measure], file: Path
) -> list[tuple[rs.Measure, Pack]]:
    """Return the scores that the file lacks, those on the packs that take longest first."""
    known = {(s.measure.spec, s.pack): s for s in read_scores_if_any(file)}
    return [
        (measure, pack)
        for pack in packs
        for measure in measures
        if not is_current(known.get((measure.spec, pack.manifest.identity)), pack, measure)
    ]


def reliabilities(pack: Pack) -> dict[str, float]:
    """Return how far the expected differences of the cells of a pack repeat on other inputs, by the
    name of the cell, computed from the inputs in the pack; nothing of a pack that states it."""
    if pack.manifest.suite != "resi" or RELIABILITY in pack.manifest.facts:
        return {}
    cases = six_tests(read_models(pack.folder / PACK_MODELS_FOLDER)).cases
    return {task_name(c.cell): c.reliability for c in cases if c.reliability is not None}


def with_reliabilities(scores: PackScores, known: dict[str, float]) -> PackScores:
    """Return scores whose cells state how far their expected differences repeat."""
    cells = tuple(cell._replace(reliability=known.get(cell.cell)) for cell in scores.cells)
    return scores._replace(cells=cells)


def write(packs: Sequence[Pack], measures: Sequence[rs.Measure], file: Path, jobs: int) -> None:
    """Compute the scores that the file lacks, and add them to the file as they are ready."""
    work = outstanding(packs, measures, file)
    print(f"{len(work)} scores of measures on packs to compute", flush=True)
    known = {p.manifest.identity: reliabilities(p) for p in packs} if work else {}
    with ProcessPoolExecutor(jobs) as pool:
        for done, scores in enumerate(score_all(work, pool), 1):
            write_scores(file, [with_reliabilities(scores, known[scores.pack])])
            missing = sum(cell.value is None for cell in scores.cells)
            print(
                f"{done}/{len(work)} {scores.pack} {scores.measure.spec}: {scores.seconds:.0f} s, "
                f"{missing} of {len(scores.cells)} missing",
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
    """Compute scores again, and return where the scores in the file differ."""
    known = {(s.measure.spec, s.pack): s for s in read_scores_if_any(file)}
    work = [(measure, pack) for pack in packs for measure in measures]
    rows = list[Difference]()
    with ProcessPoolExecutor(jobs) as pool:
        for again in score_all(work, pool):
            about = again.measure.spec, again.pack
            stored = known.get(about)
            if stored is None:
                rows.append((*about, "all scores", "missing", "present"))
            else:
                rows += [(*about, *row) for row in differences(stored, again, tolerance)]
    return sorted(rows)


def differences(
    stored: PackScores, again: PackScores, tolerance: float
) -> Iterator[tuple[str, str, str]]:
    """Yield where stored scores differ from the same computed again: what, before and now."""
    facts = [("manifest", stored.manifest, again.manifest)]
    cards = stored.measure._asdict(), again.measure._asdict()
    facts += [(name, str(cards[0][name]), str(cards[1][name])) for name in cards[0]]
    names = [[(c.test, c.cell, c.models, len(c.parts)) for c in s.cells] for s in (stored, again)]
    facts.append(("cells", *(f"{len(of)} cells" for of in names)))
    yield from (fact for fact in facts if fact[1] != fact[2])
    if names[0] == names[1]:
        for one, other in zip(stored.cells, again.cells):
            yield from _cell_differences(one, other, tolerance)
    elif len(names[0]) == len(names[1]):
        where = next(i for i, (a, b) in enumerate(zip(*names)) if a != b)
        yield "cells", *(" ".join(map(str, of[where])) for of in names)


def _cell_differences(
    one: ScoredCell, other: ScoredCell, tolerance: float
) -> Iterator[tuple[str, str, str]]:
    where = f"{one.test}, {one.cell}"
    numbers = [(where, one.value, other.value)]
    parts = zip(one.parts, other.parts)
    numbers += [(f"{where}, part {i}", a, b) for i, (a, b) in enumerate(parts, 1)]
    for what, a, b in numbers:
        if (a is None) != (b is None) or (a is not None and not abs(a - (b or 0.0)) <= tolerance):
            yield what, _number(a), _number(b)
    if one.is_incomplete != other.is_incomplete:
        states = ("incomplete" if c.is_incomplete else "complete" for c in (one, other))
        yield where, *states


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.12g}"


# ------------------------------------------------------------------------------------------ command


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*")
    parser.add_argument("--check", action="store_true", help="compare with the file; write nothing")
    parser.add_argument("--series", default=DEFAULT_PACK_SERIES)
    parser.add_argument("--packs", type=Path, nargs="*", help="archives, instead of a series")
    parser.add_argument("--file", type=Path, default=SHIPPED, help="the file of scores")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(None if arguments is None else list(arguments))
    packs = (
        [open_pack(p) for p in options.packs] if options.packs else list(packs_of(options.series))
    )
    measures = [rs.get_measure(m) for m in options.measures] or list(rs.preset("leaderboard"))
    if not options.check:
        write(packs, measures, options.file, options.jobs)
        return 0
    rows = check(packs, measures, options.file, options.jobs)
    if not rows:
        number = count_with_noun(len(measures), "measure")
        print(f"{number} on {len(packs)} packs: no score differs by more than {TOLERANCE:g}")
        return 0
    more = [f"and {len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
    print_tables([plain_table(HEADER, rows[:SHOWN], right=(3, 4)), *more])
    return 1


if __name__ == "__main__":
    sys.exit(main())
