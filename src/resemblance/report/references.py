"""References as a person reads them: authors, year, title, venue and address."""

from __future__ import annotations

import re
import unicodedata

from ..citations import FIELD, entry, url_of

ACCENTS = {"`": "\u0300", "'": "\u0301", '"': "\u0308", "^": "\u0302", "~": "\u0303",
           "v": "\u030c", "c": "\u0327"}  # fmt: skip
ACCENT = re.compile(r"\\([`'\"^~vc])\{?(\w)\}?")
VENUES = ("journal", "booktitle", "howpublished", "publisher", "institution")
FEW = 3  # authors that are all named


def reference(key: str) -> str:
    """Return one work of the bibliography, or the software, as a line of text.

    Raises ``ValueError`` for a key that the bibliography does not have.
    """
    fields = {name: readable(text) for name, text in FIELD.findall(entry(key))}
    venue = next((fields[name] for name in VENUES if name in fields), "")
    version = f"version {fields['version']}" if "version" in fields else ""
    parts = (fields["title"], venue, version, url_of(key) or "")
    who = f"{authors(fields['author'])} ({fields['year']})"
    return ". ".join([who, *filter(None, parts)])


def authors(text: str) -> str:
    """Return the family names of a list of authors, the first one of many."""
    names = [name.partition(",")[0] for name in text.split(" and ")]
    if len(names) > FEW:
        return f"{names[0]} et al."
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def readable(text: str) -> str:
    """Return a field of BibTeX without braces, with real accents and dashes."""
    text = ACCENT.sub(lambda match: match[2] + ACCENTS[match[1]], text)
    text = text.replace(r"\&", "&").replace("---", "—").replace("--", "–")
    return unicodedata.normalize("NFC", re.sub("[{}]", "", text))
