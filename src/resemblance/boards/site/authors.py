"""What the authors of a measure say of it: the cards in TOML that lie next to results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...json_files import DAMAGED

FOLDER = "measures"
MOST = 100_000  # bytes of a card


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


def read_cards(*folders: str | Path) -> dict[str, AuthorsCard]:
    """Return the cards next to folders of results, ``measures/NAME.toml``, by the name of the
    measure: in a folder itself, or in that around it.

    Raises ``ValueError`` for a file that is no card.
    """
    cards = {}
    for folder in map(Path, folders):
        for place in (folder.resolve().parent / FOLDER, folder / FOLDER):
            for file in sorted(place.glob("*.toml")):
                cards[file.stem] = read_card(file)
    return cards


def read_card(file: Path) -> AuthorsCard:
    """Return the card in a file; ``ValueError`` for what is none. Other entries are ignored."""
    try:
        if file.stat().st_size > MOST:
            raise ValueError(f"it has more than {MOST:,} bytes")
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        return AuthorsCard(
            title=_text(document, "title"),
            authors=_list(document, "authors"),
            paper=_text(document, "paper"),
            bib=_text(document, "bib"),
            licence=_text(document, "licence"),
            tuned_on=_list(document, "tuned_on"),
        )
    except DAMAGED as error:
        raise ValueError(f"{file} is not the card of a measure: {error}") from error


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text; got {type(value).__name__}")
    return value


def _list(document: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = document.get(name, [])
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} must be a list of texts")
    return tuple(filter(None, texts))
