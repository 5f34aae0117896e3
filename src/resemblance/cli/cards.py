"""The card of a submitted measure, from a file, options, and answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from ..boards.site.authors import AuthorsCard, read_card

NONE = "none"
QUESTIONS = {
    "authors": "Authors, separated by commas",
    "licence": "Licence of the file",
    "tuned_on": "Packs or data sets on which it was tuned, separated by commas, or none",
}
LISTS = ("authors", "tuned_on")


def card_of_options(file: Path | None, options: Mapping[str, object], label: str) -> AuthorsCard:
    """Return a card: what options say goes before what the file says, and what is missing is asked
    for on a terminal.

    Raises ``ValueError`` for what is missing where nobody can be asked.
    """
    card = read_card(file) if file is not None else AuthorsCard()
    chosen = {name: value for name, value in options.items() if value}
    entries: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()
    }
    card = card._replace(**entries)
    if not card.title:
        card = card._replace(title=label)
    missing = [n for n in ("authors", "licence") if not getattr(card, n)]
    missing += ["tuned_on"] if "tuned_on" not in chosen and file is None else []
    for name in missing:
        answer: dict[str, Any] = {name: _asked(name)}
        card = card._replace(**answer)
    return card._replace(tuned_on=tuple(t for t in card.tuned_on if t.strip().lower() != NONE))


def _asked(name: str) -> str | tuple[str, ...]:
    """Return an answer to what the options left open."""
    if not sys.stdin.isatty():
        option = f"--{name.replace('_', '-')}"
        more = " (none, if it was not tuned)" if name == "tuned_on" else ""
        raise ValueError(f"the card of a measure needs {option}{more}, or a --card that has it")
    answer: str = typer.prompt(QUESTIONS[name])
    if name in LISTS:
        return tuple(part.strip() for part in answer.split(",") if part.strip())
    return answer.strip()
