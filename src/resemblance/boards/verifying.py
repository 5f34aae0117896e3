"""Score files computed again: which scores, claims and checksums differ from what they state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..catalogue import list_measures
from ..checks import Outcome, check_measure
from ..measure import Measure
from ..packs import Pack
from ..suites.pinned import pinned_cells
from ..suites.study import Progress
from .computing import score_all
from .loading import own_measures
from .ranking import SERIES, SHIPPED, packs_of
from .repository import MEASURES, RESULTS, TOLERANCE, SubmittedCard, open_packs, read_rules
from .score_files import ScoredCell, ScoreFile, file_name, measure_in, read_scores
from .scoring import card_of, code_of
from .states import Fault, compared_with, faults_of_files, shipped_faults

Check = Callable[[Measure], Sequence[Outcome]]


class Verified(NamedTuple):
    """What a verification gave: the faults, and the score files that were computed again."""

    faults: tuple[Fault, ...]
    files: tuple[str, ...]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.faults


class Recomputed(NamedTuple):
    """A score file that is computed again, with the measure and the pack that it is of."""

    path: Path
    scores: ScoreFile
    measure: Measure
    pack: Pack


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

    ``measures``: specifications, by default all of the catalogue; ``packs``: names with versions,
    by default all of the series. ``tolerance``: by how much a score may differ.
    """
    specs, known = set(measures), {m: {m.spec, m.name, m.label} for m in list_measures()}
    if unknown := specs.difference(*known.values()):
        raise ValueError(f"no measure of the catalogue is called {', '.join(sorted(unknown))}")
    chosen = [m for m, names in known.items() if not specs or names & specs]
    places = _packs(packs_of(series), packs)
    faults, work = list(shipped_faults(folder) if not specs else ()), list[Recomputed]()
    for measure in chosen:
        for pack in places:
            path = folder / pack.manifest.identity / file_name(measure.spec, measure.version)
            faults += _read(path, measure, pack, work, folder)
    return _verified(work, faults, folder, tolerance, executor, progress)


def verify_repository(
    folder: str | Path,
    *,
    base: str | Path | None = None,
    measures: Iterable[str] = (),
    packs: Iterable[str] = (),
    tolerance: float | None = None,
    check: Check = check_measure,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Verify a repository of results: its files, claims, checksums, checks and scores.

    It runs the files of the measures, which others wrote. ``base``: the repository as it was
    before; nothing of it may have changed or gone, and only what is new is computed again.
    ``measures``, ``packs``: compute only these again. ``tolerance``: by default that of the board.

    Raises ``ValueError`` for a folder without a board, and for packs that are not here.
    """
    root = Path(folder)
    rules = read_rules(root if base is None else Path(base))
    places = open_packs(rules)
    cards, faults = faults_of_files(root, rules)
    new: frozenset[str] | None = None
    if base is not None:
        differences, new = compared_with(root, Path(base))
        faults += differences
        if rules.frozen and new:
            faults.append(Fault(min(new), f"the board takes no more measures since {rules.frozen}"))
    cards = {name: card for name, card in cards.items() if new is None or _is_new(name, new)}
    specs, work = set(measures), list[Recomputed]()
    unknown = specs.difference(cards, *(card.specs for card in cards.values()))
    faults += [
        Fault(MEASURES, f"has no measure {name!r:.80} to verify") for name in sorted(unknown)
    ]
    for name, card in cards.items():
        chosen, problems = own_measures(root / MEASURES / f"{name}.py", name, card)
        faults += problems
        chosen = [m for m in chosen if not specs or {m.spec, m.name} & specs]
        faults += [fault for m in chosen for fault in _check_faults(m, card, check)]
        for measure in chosen:
            for pack in _packs(places, packs):
                file = file_name(measure.spec, measure.version)
                path = root / RESULTS / pack.manifest.identity / file
                faults += _read(path, measure, pack, work, root)
    limit = rules.tolerance if tolerance is None else tolerance
    return _verified(work, faults, root, limit, executor, progress)


def _is_new(name: str, new: Iterable[str]) -> bool:
    """Return whether the file of a measure, its card or any of its scores is new."""
    return any(_measure_of(file) == name for file in new)


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


# ----------------------------------------------------------------------------------- what is stated


def _read(
    path: Path, measure: Measure, pack: Pack, work: list[Recomputed], root: Path
) -> Iterator[Fault]:
    """Read a score file and compare what it states; add it to the work if it can be computed."""
    name = path.relative_to(root).as_posix()
    if not path.is_file():
        yield Fault(name, f"is missing: {measure.spec} has no scores on {pack.manifest.identity}")
        return
    try:
        scores = read_scores(path)
    except ValueError as error:
        yield Fault(name, str(error))
        return
    problems = tuple(stated_faults(scores, measure, pack))
    yield from (Fault(name, problem) for problem in problems)
    if not problems:
        work.append(Recomputed(path, scores, measure, pack))


def stated_faults(scores: ScoreFile, measure: Measure, pack: Pack) -> Iterator[str]:
    """Yield what a score file states wrongly about its pack, its measure and its cells."""
    if scores.manifest != pack.manifest.sha256:
        yield f"is on the manifest {scores.manifest[:12]}, not {pack.manifest.sha256[:12]}"
    if scores.suite != pack.manifest.suite:
        yield f"is of the suite {scores.suite}, and its pack of {pack.manifest.suite}"
    card = card_of(measure)
    for field, value in card._asdict().items():
        stated = getattr(scores.measure, field)
        if stated != value:
            yield f"states {field} {stated!r}, and the code {value!r}"
    if scores.code != code_of(measure):
        yield "was computed by other code than is here"
    if not (math.isfinite(scores.seconds) and scores.seconds >= 0):
        yield f"states a time of {scores.seconds} seconds"
    expected = [(c.test, c.cell, c.parts, c.models) for c in pinned_cells(pack)]
    if [(c.test, c.cell, len(c.parts), c.models) for c in scores.cells] != expected:
        yield f"does not have the cells of {pack.manifest.identity}"


def _check_faults(measure: Measure, card: SubmittedCard, check: Check) -> Iterator[Fault]:
    file = f"{MEASURES}/{measure.name}.toml"
    for outcome in check(measure):
        if outcome.holds is False and outcome.check not in card.failing:
            problem = f"{measure.spec} fails the check {outcome.check!r}, which is not listed"
            yield Fault(file, f"{problem} ({outcome.detail})")


# ------------------------------------------------------------------------------- what is recomputed


def _verified(
    work: Sequence[Recomputed],
    faults: Iterable[Fault],
    root: Path,
    tolerance: float,
    executor: Executor | None,
    progress: Progress | None,
) -> Verified:
    stored = {(w.measure.spec, w.pack.manifest.identity): w for w in work}
    problems = list(faults)
    for again in score_all([(w.measure, w.pack) for w in work], executor, progress):
        one = stored[again.measure.spec, again.pack]
        name = one.path.relative_to(root).as_posix()
        problems += [Fault(name, p) for p in score_faults(one.scores, again, tolerance)]
    files = tuple(sorted(w.path.relative_to(root).as_posix() for w in work))
    return Verified(tuple(problems), files, tolerance)


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
