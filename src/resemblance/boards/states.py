"""The files of a repository of results: which are missing, foreign, or have changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..json_files import checksum
from .repository import (
    MEASURES,
    NAME,
    REPORT,
    RESULTS,
    RULES,
    BoardRules,
    SubmittedCard,
    is_repository,
    read_rules,
    read_submitted,
)
from .score_files import ScoreFile, read_scores
from .submission import LARGEST

IGNORED = (".git", REPORT)  # at the root: no part of a board
COMPILED = re.compile(r"(.*/)?__pycache__/.*|.*\.py[co]")  # which Python runs in place of a file
PLACEHOLDER = ".gitkeep"  # an empty file, without which git knows no empty folder
SCORES = 10_000_000  # bytes of a score file


class Fault(NamedTuple):
    """What is wrong with a file, by its path in the repository."""

    file: str
    what: str


def content_of(
    root: Path, rules: BoardRules
) -> tuple[dict[str, SubmittedCard], dict[str, ScoreFile], list[Fault]]:
    """Return the cards of a repository by the name of the measure, its score files by their paths,
    and what is wrong with its files, before any is run."""
    faults = list[Fault]()
    for name in files_below(root):
        if COMPILED.fullmatch(name):
            faults.append(Fault(name, "is compiled code, which nobody can read: remove it"))
        elif "/" not in name and (root / name).is_symlink():
            faults.append(Fault(name, "is a link: a repository holds its own files"))
    if is_repository(root):
        try:
            if read_rules(root) != rules:
                faults.append(Fault(RULES, "has other rules than before"))
        except ValueError as error:
            faults.append(Fault(RULES, str(error)))
    cards = _cards(root, faults)
    return cards, _scores(root, rules, cards, faults), faults


def shipped_scores(folder: Path) -> tuple[dict[str, ScoreFile], list[Fault]]:
    """Return the score files in a folder of results, and what is wrong with others."""
    scores, faults = dict[str, ScoreFile](), list[Fault]()
    for name in files_below(folder):
        try:
            scores[name] = _read(folder / name)
        except ValueError as error:
            faults.append(Fault(name, str(error)))
    return scores, faults


def compared_with(root: Path, base: Path) -> tuple[list[Fault], frozenset[str]]:
    """Return what a repository changed or removed of an earlier state of it, and its new files.

    New are those of measures and scores, and the cards that have more specifications than before;
    whatever else is new is a fault.
    """
    before, after = set(files_below(base)), set(files_below(root))
    faults = [Fault(name, "was removed") for name in sorted(before - after)]
    new = set[str]()
    for name in sorted(after):
        if name not in before:
            new.add(name)
            if name.partition("/")[0] not in (MEASURES, RESULTS):
                faults.append(Fault(name, "is new, and neither a measure nor its scores"))
        elif not _is_same(root / name, base / name):
            new.add(name)
            if not _is_extended(root / name, base / name, name):
                faults.append(Fault(name, "was changed: nothing on a board is"))
    return faults, frozenset(new)


def _is_same(one: Path, other: Path) -> bool:
    """Return whether two files are equal; links, which are not followed, if they lead to one
    place."""
    if one.is_symlink() or other.is_symlink():
        are_links = one.is_symlink() and other.is_symlink()
        return are_links and os.readlink(one) == os.readlink(other)
    return checksum(one) == checksum(other)


def _is_extended(after: Path, before: Path, name: str) -> bool:
    """Return whether a card differs only by more specifications, and their checks."""
    if not (name.startswith(f"{MEASURES}/") and name.endswith(".toml")):
        return False
    try:
        new, old = read_submitted(after), read_submitted(before)
    except ValueError:
        return False
    same = (new.authors, new.sha256) == (old.authors, old.sha256)
    return same and set(old.specs) < set(new.specs) and set(old.failing) <= set(new.failing)


def files_below(root: Path, below: str = "") -> Iterator[str]:
    """Yield the paths of all files of a repository, with slashes, in their order; links are files,
    for nobody follows them."""
    entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
    for entry in entries:
        path = f"{below}{entry.name}"
        if path in IGNORED or (entry.name == PLACEHOLDER and _is_empty(entry)):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(root, f"{path}/")
        else:
            yield path


def _is_empty(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) and not entry.stat().st_size


# ---------------------------------------------------------------------------------------- the parts


def _cards(root: Path, faults: list[Fault]) -> dict[str, SubmittedCard]:
    """Return the cards whose measure is there as it was submitted; note what is wrong."""
    cards = {}
    names = [name for name in files_below(root) if name.startswith(f"{MEASURES}/")]
    for name in names:
        path = root / name
        if not _is_expected(name) or path.is_symlink():
            faults.append(Fault(name, "is neither the file of a measure nor its card"))
            continue
        try:
            if path.suffix == ".toml":
                cards[path.stem] = _card(path)
            elif not path.with_suffix(".toml").is_file():
                raise ValueError("has no card")
        except ValueError as error:
            faults.append(Fault(name, str(error)))
    seen = set[str]()
    for name in sorted(cards):
        if name.lower() in seen:
            faults.append(Fault(f"{MEASURES}/{name}.py", "differs from another only in case"))
        seen.add(name.lower())
    return cards


def _is_expected(name: str) -> bool:
    parts = name.split("/")
    stem, _, suffix = parts[-1].rpartition(".")
    return len(parts) == 2 and suffix in ("py", "toml") and NAME.fullmatch(stem) is not None


def _card(path: Path) -> SubmittedCard:
    """Return a card whose checksum is that of the file next to it."""
    card, file = read_submitted(path), path.with_suffix(".py")
    if not file.is_file() or file.is_symlink() or file.stat().st_size > LARGEST:
        raise ValueError(f"there is no {file.name} next to it, or it is too large")
    if checksum(file) != card.sha256:
        raise ValueError(f"{file.name} has another SHA-256 than its card states")
    if others := [spec for spec in card.specs if spec.partition("[")[0] != path.stem]:
        raise ValueError(f"lists {others[0]!r:.80}, which is not of {path.stem}")
    return card


def _scores(
    root: Path, rules: BoardRules, cards: Mapping[str, SubmittedCard], faults: list[Fault]
) -> dict[str, ScoreFile]:
    """Return the score files; note foreign ones, damaged ones, and two of one measure on one
    pack."""
    scores, versions = dict[str, ScoreFile](), dict[tuple[str, str], str]()
    for name in files_below(root):
        if not name.startswith(f"{RESULTS}/"):
            continue
        path = root / name
        try:
            if path.is_symlink() or len(name.split("/")) != 3 or path.suffix != ".json":
                raise ValueError("is no score file: PACK@VERSION/MEASURE@vVERSION.json")
            stored = _read(path)
            _check_place(stored, rules, cards)
            first = versions.setdefault((stored.pack, stored.measure.spec), name)
            if first != name:
                raise ValueError(f"has the measure of {first}, which is there already")
            scores[name] = stored
        except ValueError as error:
            faults.append(Fault(name, str(error)))
    return scores


def _read(path: Path) -> ScoreFile:
    if path.stat().st_size > SCORES:
        raise ValueError(f"has more than {SCORES:,} bytes")
    return read_scores(path)


def _check_place(scores: ScoreFile, rules: BoardRules, cards: Mapping[str, SubmittedCard]) -> None:
    """Raise ``ValueError`` for scores on another pack, or of a measure without a card."""
    if scores.pack not in rules.packs:
        raise ValueError(f"is on {scores.pack}, which is no pack of the board")
    card = cards.get(scores.measure.name)
    if card is None or scores.measure.spec not in card.specs:
        raise ValueError(f"has scores of {scores.measure.spec}, which no card in measures/ lists")
