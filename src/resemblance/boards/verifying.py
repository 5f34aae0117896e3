"""Score files computed again: which scores, claims and checksums differ from what they state."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..catalogue import preset
from ..display import printable
from ..packs import Pack
from ..suites.pinned import pinned_cells
from ..suites.study import Progress
from .apart import LIMITS, Limits, Request, answers
from .ranking import SERIES, SHIPPED, packs_of
from .repository import MEASURES, RESULTS, TOLERANCE, open_packs, read_rules
from .score_files import ScoredCell, ScoreFile, measure_in
from .scoring import score_all
from .states import Fault, compared_with, content_of, shipped_scores


class Verified(NamedTuple):
    """What a verification gave: the faults, and the score files that were computed again."""

    faults: tuple[Fault, ...]
    files: tuple[str, ...]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.faults


def verify_shipped(
    *,
    measures: Iterable[str] = (),
    packs: Iterable[str] = (),
    tolerance: float = TOLERANCE,
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: Path = SHIPPED,
    series: str = SERIES,
) -> Verified:
    """Compute the scores again that ship with the library, and return what differs.

    ``measures``: specifications, by default all of the preset ``board``; ``packs``: names with
    versions, by default all of the series. ``tolerance``: by how much a score may differ.
    """
    specs, known = set(measures), {m: {m.spec, m.label} for m in preset("board")}
    if unknown := specs.difference(*known.values()):
        raise ValueError(f"no measure of the board is called {', '.join(sorted(unknown))}")
    chosen = [m for m, names in known.items() if not specs or names & specs]
    places = _packs(packs_of(series), packs)
    stored, faults = shipped_scores(folder)
    work = [(measure, pack) for measure in chosen for pack in places]
    scores = list(score_all(work, executor, progress))
    return _verified(scores, stored, faults, places, tolerance)


def verify_repository(
    folder: str | Path,
    *,
    base: str | Path | None = None,
    measures: Iterable[str] = (),
    packs: Iterable[str] = (),
    tolerance: float | None = None,
    limits: Limits = LIMITS,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verified:
    """Verify a repository of results: its files, claims, checksums, checks and scores.

    It runs the files of the measures, which others wrote, each in a process of its own within
    ``limits``, and ``jobs`` of them at a time. ``base``: the repository as it was before; nothing
    of it may have changed or gone, and only what is new is computed again. ``measures``, ``packs``:
    compute only these again. ``tolerance``: by default that of the board. That nothing was computed
    is a fault.

    Raises ``ValueError`` for a folder without a board, and for packs that are not here.
    """
    root = Path(folder)
    rules = read_rules(root if base is None else Path(base))
    places = _packs(open_packs(rules), packs)
    cards, stored, faults = content_of(root, rules)
    new: frozenset[str] | None = None
    if base is not None:
        differences, new = compared_with(root, Path(base))
        faults += differences
        if rules.frozen and new:
            faults.append(Fault(min(new), f"the board takes no more measures since {rules.frozen}"))
    if new is not None:  # those whose file, card or any scores are new
        names = set(map(_measure_of, new))
        cards = {name: card for name, card in cards.items() if name in names}
    specs, requests = set(measures), list[Request]()
    unknown = specs.difference(cards, *(card.specs for card in cards.values()))
    faults += [
        Fault(MEASURES, f"has no measure {name!r:.80} to verify") for name in sorted(unknown)
    ]
    for name, card in cards.items():
        chosen = tuple(spec for spec in card.specs if not specs or {spec, name} & specs)
        if chosen:
            file = os.path.abspath(root / MEASURES / f"{name}.py")
            folders = tuple(os.path.abspath(pack.folder) for pack in places)
            requests.append(Request(file, chosen, card.failing, folders))
    scores = list[ScoreFile]()
    for done, (request, answer) in enumerate(zip(requests, answers(requests, limits, jobs)), 1):
        expected = {(spec, pack.manifest.identity) for spec in request.specs for pack in places}
        scored = {(one.measure.spec, one.pack): one for one in answer.scores}
        faults += answer.faults
        if scored.keys() != expected and not answer.faults:
            faults.append(Fault(request.place, "does not give the scores that its card lists"))
        scores += [scored[key] for key in sorted(scored.keys() & expected)]
        if progress:
            progress("measures", done, len(requests))
    limit = rules.tolerance if tolerance is None else tolerance
    return _verified(scores, stored, faults, places, limit, f"{RESULTS}/")


def _measure_of(file: str) -> str:
    """Return the measure that a file of a repository belongs to; "" where there is none."""
    path = PurePosixPath(file)
    if file.startswith(f"{MEASURES}/"):
        return path.stem
    return measure_in(path.name) if file.startswith(f"{RESULTS}/") else ""


def _packs(packs: Sequence[Pack], names: Iterable[str]) -> list[Pack]:
    identities = list(names)
    known = [pack.manifest.identity for pack in packs]
    for name in identities:
        if name not in known:
            raise ValueError(f"the board has no pack {name}; it has {', '.join(known) or 'none'}")
    return [p for p in packs if not identities or p.manifest.identity in identities]


# ------------------------------------------------------------------------------- what is recomputed


def _verified(
    scores: Iterable[ScoreFile],
    stored: Mapping[str, ScoreFile],
    faults: Iterable[Fault],
    packs: Iterable[Pack],
    tolerance: float,
    below: str = "",
) -> Verified:
    """Compare stored scores with those that were computed again."""
    problems, names = list(faults), list[str]()
    refused, places = {fault.file for fault in problems}, {p.manifest.identity: p for p in packs}
    for again in scores:
        name = f"{below}{again.path.as_posix()}"
        if name in stored:
            names.append(name)
            one, pack = stored[name], places[again.pack]
            stated = list(stated_faults(one, again, pack))
            problems += [Fault(name, p) for p in stated or score_faults(one, again, tolerance)]
        elif name not in refused:
            what = f"is missing: {again.measure.spec} has no scores on {again.pack}"
            problems.append(Fault(name, what))
    if not names and not problems:
        problems.append(Fault(below or ".", "has no scores to compute again: nothing is verified"))
    safe = (Fault(printable(file), printable(what, keep="\n")) for file, what in problems)
    return Verified(tuple(safe), tuple(sorted(names)), tolerance)


def stated_faults(stored: ScoreFile, again: ScoreFile, pack: Pack) -> Iterator[str]:
    """Yield what a score file states wrongly about its pack, its measure and its cells."""
    if stored.manifest != pack.manifest.sha256:
        yield f"is on the manifest {stored.manifest[:12]}, not {pack.manifest.sha256[:12]}"
    if stored.suite != pack.manifest.suite:
        yield f"is of the suite {stored.suite}, and its pack of {pack.manifest.suite}"
    for field, value in again.measure._asdict().items():
        stated = getattr(stored.measure, field)
        if stated != value:
            yield f"states {field} {stated!r}, and the code {value!r}"
    if stored.code != again.code:
        yield "was computed by other code than is here"
    if not (math.isfinite(stored.seconds) and stored.seconds >= 0):
        yield f"states a time of {stored.seconds} seconds"
    expected = [(c.test, c.cell, c.parts, c.models) for c in pinned_cells(pack)]
    for cells in (stored.cells, again.cells):
        if [(c.test, c.cell, len(c.parts), c.models) for c in cells] != expected:
            yield f"does not have the cells of {pack.manifest.identity}"
            return


def score_faults(stored: ScoreFile, again: ScoreFile, tolerance: float) -> Iterator[str]:
    """Yield where stored scores differ from the same computed again, a line for every cell."""
    for one, other in zip(stored.cells, again.cells, strict=True):
        for what, a, b in _numbers(one, other):
            if (a is None) != (b is None) or (
                a is not None and b is not None and not abs(a - b) <= tolerance
            ):
                yield f"{one.test}, {one.cell}: {what} is {_word(a)}, and {_word(b)} when computed"
        if one.is_incomplete != other.is_incomplete:
            state = "incomplete" if other.is_incomplete else "complete"
            yield f"{one.test}, {one.cell}: it is {state} when computed"
        if bool(one.reason) != (one.value is None):
            yield f"{one.test}, {one.cell}: a reason belongs to a cell without a score"


def _numbers(
    one: ScoredCell, other: ScoredCell
) -> Iterator[tuple[str, float | None, float | None]]:
    yield "the score", one.value, other.value
    for i, (a, b) in enumerate(zip(one.parts, other.parts, strict=True), start=1):
        yield f"part {i}", a, b


def _word(value: float | None) -> str:
    return "missing" if value is None else f"{value:.12g}"


def summary_of(verified: Verified) -> Mapping[str, object]:
    """Return a verification as JSON can hold it."""
    return {
        "holds": verified.holds,
        "tolerance": verified.tolerance,
        "files": list(verified.files),
        "faults": [fault._asdict() for fault in verified.faults],
    }
