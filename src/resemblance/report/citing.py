"""What to cite on a page and in a terminal, as a person reads it, and what labels mean."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ..catalogue import get_measure
from ..citations import FIELD, PAPERS_OF, SOFTWARE, entries, entry, short, url_of
from ..contracts._measure import Measure
from ..sections.result import Result

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


class Paper(NamedTuple):
    """A work: its authors and year, and its address, "" where none is known."""

    name: str
    url: str


class Meaning(NamedTuple):
    """What the label of a measure means: a sentence, its place on the page, and its paper."""

    summary: str
    place: str
    paper: Paper | None


class Citing(NamedTuple):
    """The papers of a suite, and the BibTeX of all that a page rests on."""

    papers: tuple[Paper, ...]
    bibtex: str
    works: int


def meanings_of(result: Result) -> dict[str, Meaning]:
    """Return what the labels of measures mean, of those in the catalogue."""
    return {
        label: Meaning(
            measure.summary.replace("``", ""), _place(label), paper_of(measure.reference)
        )
        for label, measure in _measures(result).items()
    }


def citing_of(result: Result) -> Citing:
    """Return what to cite: the software, the papers of the suite, and those of the measures."""
    papers = PAPERS_OF.get(result.suite, ())
    measures = [measure.reference for measure in _measures(result).values()]
    keys = dict.fromkeys([SOFTWARE, *(key for key in (*papers, *measures) if key in entries())])
    works = tuple(filter(None, map(paper_of, papers)))
    return Citing(works, "\n\n".join(map(entry, keys)), len(keys))


def _measures(result: Result) -> dict[str, Measure]:
    """Return the measures of a result by label, of those in the catalogue."""
    measures = {}
    for spec, label in result.labels.items():
        try:
            measures[label] = get_measure(spec)
        except ValueError:
            continue
    return measures


def _place(label: str) -> str:
    return f"label-{re.sub(r'[^A-Za-z0-9.]+', '-', label).strip('-')}"


def paper_of(key: str) -> Paper | None:
    """Return the work of a key of the bibliography; None for another."""
    return Paper(short(key), url_of(key) or "") if key in entries() else None
