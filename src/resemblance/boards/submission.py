"""A measure of a user's own, added to a repository of results: checked, scored and written."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from ..catalogue import list_measures
from ..checks import Outcome, check_measure
from ..json_files import checksum, replacing, write_atomically
from ..measure import Measure
from ..packs import Pack
from ..suites.study import Progress
from .repository import (
    MEASURES,
    NAME,
    RESULTS,
    RULES,
    AuthorsCard,
    BoardRules,
    SubmittedCard,
    card_text,
    check_packs,
    is_repository,
    open_packs,
    read_rules,
    read_submitted,
    rules_of,
    rules_text,
)
from .score_files import ScoreFile, measure_in, write_scores
from .scoring import scores_on

DEVICES = {"con", "prn", "aux", "nul", *(f"{p}{i}" for p in ("com", "lpt") for i in range(10))}
LARGEST = 1_000_000  # bytes of a file that defines a measure
Check = Callable[[Measure], Sequence[Outcome]]


class Submission(NamedTuple):
    """A measure that was added to a repository: what its checks gave, its scores, and the files
    that were written."""

    spec: str
    outcomes: tuple[Outcome, ...]
    scores: tuple[ScoreFile, ...]
    card: SubmittedCard
    files: tuple[Path, ...]

    @property
    def failing(self) -> tuple[Outcome, ...]:
        """The checks that do not hold."""
        return tuple(outcome for outcome in self.outcomes if outcome.holds is False)


def submit(
    measure: Measure,
    folder: str | Path,
    authors: AuthorsCard,
    *,
    packs: Sequence[Pack] | None = None,
    allow_failed_checks: bool = False,
    replace: bool = False,
    check: Check = check_measure,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Submission:
    """Check a measure of a user's file, score it on the packs of a board, and add it to the
    repository of results in a folder.

    Nothing is written before all scores are there. ``packs``: those of a new board, where the
    folder has none yet. ``allow_failed_checks``: submit the measure although some of its checks
    fail, which its card then lists. ``replace``: in place of an earlier submission of the same
    name, which was not published yet.

    Raises ``ValueError`` for a measure of the catalogue, a name that is taken, a board that is
    closed or on other packs, an incomplete card, and checks that fail.
    """
    root = Path(folder)
    file = source_of(measure)
    rules = read_rules(root) if is_repository(root) else rules_of(packs or ())
    before = _earlier(root, measure, file, replace)
    _check_card(authors)
    if rules.frozen:
        raise ValueError(f"{root / RULES}: the board takes no more measures since {rules.frozen}")
    outcomes = tuple(check(measure))
    failing = tuple(o.check for o in outcomes if o.holds is False)
    if failing and not allow_failed_checks:
        raise ValueError(_refusal(measure, outcomes))
    places = open_packs(rules) if packs is None else tuple(packs)
    check_packs(rules, places)
    digest = checksum(file)
    scores = scores_on(places, [measure], executor, progress)
    if checksum(file) != digest:
        raise ValueError(f"{file} was changed while it was scored: submit it again")
    specs = tuple(dict.fromkeys((*(before.specs if before else ()), measure.spec)))
    failing = tuple(dict.fromkeys((*(before.failing if before else ()), *failing)))
    card = SubmittedCard(authors, specs, digest, failing)
    if replace:  # an own file stays, for it may be the only one that its author has
        _, about = _files_of(root, measure.name)
        of_scores = (root / RESULTS).glob("*@*/*.json")
        for old in (about, *(s for s in of_scores if measure_in(s.name) == measure.name)):
            old.unlink(missing_ok=True)
    files = _written(root, rules, measure.name, file, card, scores)
    return Submission(measure.spec, outcomes, scores, card, files)


def source_of(measure: Measure) -> Path:
    """Return the file that defines a user's measure.

    Raises ``ValueError`` for a measure of the catalogue, one that no single file defines, and a
    name that cannot be that of a file on every system.
    """
    name = measure.name
    taken = {known.name.lower() for known in list_measures()}
    if not NAME.fullmatch(name) or name.lower() in DEVICES:
        raise ValueError(
            f"a measure on a board is named by at most 64 letters a to z, digits and underscores; "
            f"got {name!r:.80}"
        )
    if measure.function.__module__.partition(".")[0] == __package__.partition(".")[0]:
        raise ValueError(f"{measure.spec} is a measure of this library: it is on the board")
    if name.lower() in taken:
        raise ValueError(f"the catalogue has a measure {name.lower()}: give yours another name")
    file = Path(inspect.getfile(measure.function))
    if not file.is_file() or file.suffix != ".py":
        raise ValueError(f"{measure.spec} is not defined in a file of its own: put it into one")
    if file.stat().st_size > LARGEST:
        raise ValueError(f"{file} has more than {LARGEST:,} bytes")
    return file


def _earlier(root: Path, measure: Measure, file: Path, replace: bool) -> SubmittedCard | None:
    """Return the card of an earlier submission of the same file, such as with other parameters."""
    defined, card = _files_of(root, measure.name)
    names = {p.stem.lower(): p for p in (root / MEASURES).glob("*.py")}
    other = names.get(measure.name.lower(), defined)
    if replace or not other.exists():
        return None
    if other.name != defined.name or checksum(other) != checksum(file):
        raise ValueError(
            f"{other} is there with another content: nothing on a board is changed, so give the "
            "measure another name; --replace is for a submission that was not published yet"
        )
    if not card.exists():  # the card is written last: without it, a submission was interrupted
        return None
    return read_submitted(card)


def _files_of(root: Path, name: str) -> tuple[Path, Path]:
    return root / MEASURES / f"{name}.py", root / MEASURES / f"{name}.toml"


def _check_card(authors: AuthorsCard) -> None:
    for entry in ("title", "authors", "licence"):
        if not getattr(authors, entry):
            raise ValueError(
                f"the card of a measure needs an entry {entry!r}: give --{entry}, or a --card that "
                "has it"
            )


def _refusal(measure: Measure, outcomes: Sequence[Outcome]) -> str:
    failing = [o for o in outcomes if o.holds is False]
    first = f"{failing[0].check}: {failing[0].detail}".rstrip(": ")
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return (
        f"{measure.spec} fails {len(failing)} of its checks ({first}{more}); see resemblance "
        "check, correct the measure or its claims, or give --allow-failed-checks, which its card "
        "records"
    )


def _written(
    root: Path,
    rules: BoardRules,
    name: str,
    file: Path,
    card: SubmittedCard,
    scores: Sequence[ScoreFile],
) -> tuple[Path, ...]:
    """Write all files of a submission, each at once, the card last."""
    defined, about = _files_of(root, name)
    defined.parent.mkdir(parents=True, exist_ok=True)
    if not is_repository(root):
        write_atomically(root / RULES, rules_text(rules))
    if not (defined.exists() and os.path.samefile(file, defined)):
        with replacing(defined) as partial:
            shutil.copyfile(file, partial)
    written = [write_scores(root / RESULTS, of_pack) for of_pack in scores]
    write_atomically(about, card_text(card))
    return (defined, about, *written)
