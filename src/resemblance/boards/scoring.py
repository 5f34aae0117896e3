"""From a measure and a pack to its scores in all cells of the pack."""

from __future__ import annotations

import hashlib
import inspect
import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..catalogue import get_measure
from ..measure import Measure
from ..packs import Pack
from ..provenance import machine_words, versions
from ..results.ranks import BY_SCORES
from ..results.result import Result
from ..results.sections import Section
from ..suites.pinned import PinnedCell, pinned_cells, run_pack
from ..suites.study import Progress
from .score_files import MeasureCard, ScoredCell, ScoreFile

MISSING = "no value: a comparison failed, or all its values are equal"
DIGITS = 12  # of scores that are kept


def score(
    pack: Pack,
    measure: str | Measure,
    *,
    memory: int | str = "half",
    progress: Progress | None = None,
) -> ScoreFile:
    """Run a measure on a pack, and return its scores.

    Scores are kept to 12 digits. Cells are those of the pack, whatever the measure: where it has no
    value it has a reason.

    Raises ``ValueError`` for a measure of outputs, for packs hold layers, and for cells that the
    pack does not know, which another version of the suite would have.
    """
    tested = get_measure(measure) if isinstance(measure, str) else measure
    if tested.family == "outputs":
        raise ValueError(
            f"{tested.spec} compares predictions of models, and packs hold their layers: choose a "
            "measure of representations"
        )
    options: dict[str, Any] = {"memory": memory, "progress": progress}
    start = time.process_time()
    result = run_pack(pack, measures=[tested], with_intervals=False, **options)
    cells = scores_of(pack, result, tested)
    seconds = time.process_time() - start
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ScoreFile(
        pack.manifest.identity,
        pack.manifest.sha256,
        pack.manifest.suite,
        card_of(tested),
        code_of(tested),
        round(seconds, 2),
        {**versions(), "machine": machine_words(), "date": now},
        cells,
    )


def scores_of(pack: Pack, result: Result, measure: Measure) -> tuple[ScoredCell, ...]:
    """Return the scores of a measure in all cells of a pack, from a result that has them."""
    sections = {s.key(cell): (s, cell) for s in result.sections for cell in s.scores}
    expected = {(cell.test, cell.cell): cell for cell in pinned_cells(pack)}
    if unknown := sorted(set(sections) - set(expected)):
        raise ValueError(
            f"{pack.manifest.identity} has no cell {unknown[0]}: it was built for another version "
            "of the suite; build it again"
        )
    return tuple(_cell(cell, sections.get(key), measure) for key, cell in expected.items())


def _cell(pinned: PinnedCell, place: tuple[Section, str] | None, measure: Measure) -> ScoredCell:
    empty = _empty(pinned, MISSING)
    if place is None:
        return empty
    section, cell = place
    rule = section.rules.get(cell, BY_SCORES)
    value = _rounded(section.scores[cell].get(measure.spec))
    return empty._replace(
        value=value,
        parts=tuple(_rounded(part.get(measure.spec)) for part in rule.parts) or empty.parts,
        is_incomplete=measure.spec in rule.incomplete,
        reason="" if value is not None else _reason(section, cell, pinned.models, measure),
    )


def _empty(pinned: PinnedCell, reason: str) -> ScoredCell:
    parts = (None,) * pinned.parts
    return ScoredCell(pinned.test, pinned.cell, None, parts, False, pinned.models, reason)


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, DIGITS)


def _reason(section: Section, cell: str, models: str, measure: Measure) -> str:
    """Return why a measure has no score in a cell, as far as its section states it: of the cell, of
    its models, or of the measure everywhere."""
    names = (measure.spec, measure.label)
    about = (
        *(f"{cell}: {name}" for name in names),
        *(f"{models}{sign}{name}" for sign in (", ", ": ") for name in names),
        *names,
    )
    return next((section.reasons[what] for what in about if what in section.reasons), MISSING)


def card_of(measure: Measure) -> MeasureCard:
    """Return the name, the version and the claims of a measure."""
    low, high = (float(end) if math.isfinite(end) else None for end in measure.range)
    return MeasureCard(
        measure.spec,
        measure.label,
        measure.name,
        measure.version,
        measure.family,
        measure.larger_is_more_similar,
        (low, high),
        measure.symmetric,
        measure.metric,
        measure.differentiable,
        tuple(sorted(measure.invariant_to)),
        measure.reference,
        measure.summary,
    )


def code_of(measure: Measure) -> str:
    """Return the SHA-256 of what computes a measure: its function, or the whole file of a user."""
    if measure.function.__module__.partition(".")[0] == __package__.partition(".")[0]:
        text = inspect.getsource(measure.function)
    else:
        text = Path(inspect.getfile(measure.function)).read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()
