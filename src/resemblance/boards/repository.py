"""A repository of results: a board in a folder, to which anybody can add a measure.

::

    RESULTS/
      board.toml                              the packs of the board, and how exact scores must be
      measures/NAME.py                        the file that defines a measure
      measures/NAME.toml                      its card: authors, licence, what it was tuned on
      results/PACK@VERSION/SPEC@vVERSION.json its scores, one file for each pack

Nothing in it is ever changed: a measure that changes gets another name.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..json_files import DAMAGED, check_types
from ..packs import Pack, open_pack
from ..packs.archive import DIGEST, IDENTITY
from .ranking import SERIES, packs_of, series_of
from .score_files import has_scores

RULES, MEASURES, RESULTS, REPORT = "board.toml", "measures", "results", "REPORT.md"
FORMAT = 1
TOLERANCE = 1e-6  # of a score that is computed again
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LARGEST_CARD = 100_000  # bytes of a card, or of the rules
CARD = "the card of a measure"
DELETE = "\x7f"  # which JSON leaves as it is, and TOML does not take


class BoardRules(NamedTuple):
    """What a board is about.

    ``packs``: the SHA-256 of the manifest of each, by its name with its version. ``tolerance``: by
    how much a score may differ when it is computed again. ``frozen``: the date after which no
    measure joins; empty while the board is open.
    """

    series: str
    packs: Mapping[str, str]
    tolerance: float = TOLERANCE
    frozen: str = ""


class AuthorsCard(NamedTuple):
    """What the authors of a measure say of it.

    ``paper``: its address; ``bib``: BibTeX; ``tuned_on``: the packs or data on which its parameters
    were chosen.
    """

    title: str = ""
    authors: tuple[str, ...] = ()
    paper: str = ""
    bib: str = ""
    licence: str = ""
    tuned_on: tuple[str, ...] = ()


class SubmittedCard(NamedTuple):
    """The card of a submitted measure.

    ``specs``: the specifications that have scores. ``sha256``: of the file that defines it.
    ``failing``: the names of its checks that do not hold.
    """

    authors: AuthorsCard
    specs: tuple[str, ...]
    sha256: str
    failing: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------- rules


def rules_of(packs: Iterable[Pack]) -> BoardRules:
    """Return the rules of a board on packs of one series; ``ValueError`` for none, or several."""
    manifests = [pack.manifest for pack in packs]
    series = sorted({series_of(manifest.identity) for manifest in manifests})
    if len(series) != 1:
        raise ValueError(
            f"a board needs packs of one series; got {', '.join(series) or 'no packs'}"
        )
    return BoardRules(series[0], {m.identity: m.sha256 for m in manifests})


def rules_text(rules: BoardRules) -> str:
    """Return rules as TOML."""
    lines = [
        "# The rules of this board. Scores are comparable only on the same packs.",
        f"format = {FORMAT}",
        f"series = {toml(rules.series)}",
        f"tolerance = {toml(rules.tolerance)}",
        f"frozen = {toml(rules.frozen)}  # a date, once no more measures join",
        "",
        "[packs]  # by name and version, the SHA-256 of the manifest",
        *(f"{toml(identity)} = {toml(sha256)}" for identity, sha256 in rules.packs.items()),
    ]
    return "\n".join(lines) + "\n"


def is_repository(folder: Path) -> bool:
    """Return whether a folder has the rules of a board."""
    return (folder / RULES).is_file()


def read_rules(folder: Path) -> BoardRules:
    """Return the rules of the board in a folder; ``ValueError`` for a folder without a board."""
    file = folder / RULES
    if not file.is_file():
        raise ValueError(
            f"{folder} is no repository of results: it has no {RULES}; resemblance board init "
            f"{folder} makes one"
        )
    document = _toml_of(file, "the rules of a board")
    try:
        if document.pop("format") != FORMAT:
            raise ValueError(f"it has another format than {FORMAT}")
        rules = BoardRules(**document)
        check_types(rules, BoardRules)
        _check_rules(rules)
    except DAMAGED as error:
        raise ValueError(f"{file} does not hold the rules of a board ({error})") from error
    return rules


def _check_rules(rules: BoardRules) -> None:
    for identity, sha256 in rules.packs.items():
        if not IDENTITY.fullmatch(identity) or "@" not in identity:
            raise ValueError(f"{identity!r:.80} is no pack with a version")
        if series_of(identity) != rules.series or not DIGEST.fullmatch(sha256):
            raise ValueError(f"{identity} is not of {rules.series}, or has no SHA-256")
    if not rules.packs or not 0 <= rules.tolerance < 1:
        raise ValueError("it names no packs, or its tolerance is not between 0 and 1")


def open_packs(rules: BoardRules) -> tuple[Pack, ...]:
    """Return the packs of a board, opened; ``ValueError`` for one that is missing or another."""
    packs = tuple(open_pack(identity) for identity in rules.packs)
    check_packs(rules, packs)
    return packs


def check_packs(rules: BoardRules, packs: Iterable[Pack]) -> None:
    """Raise ``ValueError`` unless packs are those of a board, with the same content."""
    manifests = {pack.manifest.identity: pack.manifest.sha256 for pack in packs}
    if manifests.keys() != rules.packs.keys():
        raise ValueError(
            f"the board is on {', '.join(rules.packs)}; got {', '.join(manifests) or 'no packs'}"
        )
    for identity, sha256 in manifests.items():
        if sha256 != rules.packs[identity]:
            raise ValueError(
                f"{identity} is here with the manifest {sha256[:12]}, and the board is on "
                f"{rules.packs[identity][:12]}: get the pack of the board"
            )


def packs_for(folder: Path | None, series: str = SERIES) -> tuple[Pack, ...]:
    """Return the packs of the board in a folder; without one, those of a series.

    Raises ``ValueError`` for a series of which no packs are known.
    """
    if folder is not None and is_repository(folder):
        return open_packs(read_rules(folder))
    packs = packs_of(series)
    if not packs:
        raise ValueError(f"no packs of the series {series!r} are known; see: resemblance pack list")
    return packs


def results_in(folders: Iterable[Path]) -> list[Path]:
    """Return the folders of the score files in repositories and in folders of results; none for a
    repository to which nobody has submitted yet."""
    places = {folder: is_repository(folder) for folder in folders}
    inside = {f: f / RESULTS if is_board else f for f, is_board in places.items()}
    return [inside[f] for f, is_board in places.items() if not is_board or has_scores(inside[f])]


# ------------------------------------------------------------------------------------------- cards


def card_text(card: SubmittedCard) -> str:
    """Return the card of a measure as TOML."""
    entries: dict[str, Any] = card.authors._asdict()
    entries |= {"specs": card.specs, "sha256": card.sha256}
    lines = [f"{name} = {toml(value)}" for name, value in entries.items()]
    lines += ["", "[checks]", f"failing = {toml(card.failing)}"]
    return "\n".join(lines) + "\n"


def read_cards(*folders: str | Path) -> dict[str, AuthorsCard]:
    """Return the cards next to folders of results, ``measures/NAME.toml``, by the name of the
    measure: in a folder itself, or in that around it.

    Raises ``ValueError`` for a file that is no card.
    """
    around = ((f.resolve().parent / MEASURES, f / MEASURES) for f in map(Path, folders))
    files = [file for places in around for p in places for file in sorted(p.glob("*.toml"))]
    return {file.stem: read_card(file) for file in files}


def read_card(file: Path) -> AuthorsCard:
    """Return the card in a file; ``ValueError`` for what is none. Other entries are ignored."""
    return _authors_in(_toml_of(file, CARD), file)


def _authors_in(document: Mapping[str, Any], file: Path) -> AuthorsCard:
    entries: dict[str, Any] = {}
    for name, usual in AuthorsCard()._asdict().items():
        entry, is_list = document.get(name, usual), isinstance(usual, tuple)
        texts = [entry] if isinstance(entry, str) else entry if is_list else None
        if not isinstance(texts, list | tuple) or any(not isinstance(t, str) for t in texts):
            kind = "a list of texts" if is_list else "a text"
            raise ValueError(f"{file} is not {CARD}: {name} must be {kind}")
        entries[name] = tuple(filter(None, texts)) if is_list else entry
    return AuthorsCard(**entries)


def read_submitted(file: Path) -> SubmittedCard:
    """Return the card of a submitted measure; ``ValueError`` for a file that is none."""
    document = _toml_of(file, CARD)
    authors = _authors_in(document, file)
    try:
        if unknown := sorted(document["checks"].keys() - {"failing"}):
            raise ValueError(f"[checks] has the unknown entry {unknown[0]!r:.80}")
        failing = tuple(document["checks"].get("failing", ()))
        card = SubmittedCard(authors, tuple(document["specs"]), document["sha256"], failing)
        check_types(card, SubmittedCard)
    except DAMAGED as error:
        problem = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{file} is not the card of a submitted measure ({problem}): submit the measure again"
        ) from error
    return card


def _toml_of(file: Path, what: str) -> dict[str, Any]:
    try:
        if file.stat().st_size > LARGEST_CARD:
            raise ValueError(f"it has more than {LARGEST_CARD:,} bytes")
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except DAMAGED as error:
        raise ValueError(f"{file} is not {what}: {error}") from error


def toml(value: object) -> str:
    """Write a text, a number or a list of them as TOML."""
    if isinstance(value, str):
        text = json.dumps(value.replace("\r\n", "\n"), ensure_ascii=False)
        return text.replace(DELETE, "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return repr(value)
