"""Citations on pages and in a terminal: formatted references, BibTeX, and meanings of measure
labels."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ..base.formatting import join_words
from ..catalogue import get_measure
from ..citations import (
    BIBTEX_FIELD,
    CITATIONS_BY_NAME,
    SOFTWARE_KEY,
    bibliography,
    bibtex_entry,
    citation_keys,
    citation_url,
    short_citation,
)
from ..contracts._measure import Measure
from ..sections.result import Result

COMBINING_ACCENTS = {"`": "\u0300", "'": "\u0301", '"': "\u0308", "^": "\u0302", "~": "\u0303",
           "v": "\u030c", "c": "\u0327"}  # fmt: skip
LATEX_ACCENT = re.compile(r"\\([`'\"^~vc])\{?(\w)\}?")
VENUE_FIELDS = ("journal", "booktitle", "howpublished", "publisher", "institution")
MAX_NAMED_AUTHORS = 3  # longer lists show the first author and "et al."


def format_reference(key: str) -> str:
    """Return a work of the bibliography, or the software, as a line of text.

    Raises ``ValueError`` for a key missing from the bibliography.
    """
    fields = {name: bibtex_to_text(text) for name, text in BIBTEX_FIELD.findall(bibtex_entry(key))}
    venue = next((fields[name] for name in VENUE_FIELDS if name in fields), "")
    version = f"version {fields['version']}" if "version" in fields else ""
    parts = (fields["title"], venue, version, citation_url(key) or "")
    authors = f"{format_authors(fields['author'])} ({fields['year']})"
    return ". ".join([authors, *filter(None, parts)])


def format_authors(text: str) -> str:
    """Return the family names of a BibTeX list of authors; of four or more authors, the first name
    and "et al."."""
    names = [name.partition(",")[0] for name in text.split(" and ")]
    if len(names) > MAX_NAMED_AUTHORS:
        return f"{names[0]} et al."
    return join_words(names)


def bibtex_to_text(text: str) -> str:
    """Return a BibTeX field as plain text: no braces, Unicode accents and dashes."""
    text = LATEX_ACCENT.sub(lambda match: match[2] + COMBINING_ACCENTS[match[1]], text)
    text = text.replace(r"\&", "&").replace("---", "—").replace("--", "–")
    return unicodedata.normalize("NFC", re.sub("[{}]", "", text))


class Paper(NamedTuple):
    """A publication: authors and year, and the URL, "" if unknown."""

    name: str
    url: str


class LabelMeaning(NamedTuple):
    """The meaning of a measure label: a summary sentence, the anchor on the page, and the paper;
    None for an unknown paper."""

    summary: str
    place: str
    paper: Paper | None


class ResultCitations(NamedTuple):
    """The papers of a suite, the BibTeX entries of all works behind a page as one text, and the
    number of works."""

    papers: tuple[Paper, ...]
    bibtex: str
    works: int


def label_meanings(result: Result) -> dict[str, LabelMeaning]:
    """Return the meaning of every measure label, for measures in the catalogue."""
    return {
        label: LabelMeaning(
            measure.summary.replace("``", ""), _label_anchor(label), paper_by_key(measure.citation)
        )
        for label, measure in _catalogue_measures(result).items()
    }


def citations_of_result(result: Result) -> ResultCitations:
    """Return the works to cite: the software, the papers of the suite and of the methods in the
    sections, and the papers of the measures with their parameters."""
    names = (result.suite, *(section.name for section in result.sections))
    papers = dict.fromkeys(key for name in names for key in CITATIONS_BY_NAME.get(name, ()))
    measures = [key for m in _catalogue_measures(result).values() for key in citation_keys(m.spec)]
    keys = dict.fromkeys(
        [SOFTWARE_KEY, *(key for key in (*papers, *measures) if key in bibliography())]
    )
    works = tuple(filter(None, map(paper_by_key, papers)))
    return ResultCitations(works, "\n\n".join(map(bibtex_entry, keys)), len(keys))


def _catalogue_measures(result: Result) -> dict[str, Measure]:
    """Return the measures of a result by label, without measures missing from the catalogue."""
    measures = {}
    for spec, label in result.labels.items():
        try:
            measures[label] = get_measure(spec)
        except ValueError:
            continue
    return measures


def _label_anchor(label: str) -> str:
    return f"label-{re.sub(r'[^A-Za-z0-9.]+', '-', label).strip('-')}"


def paper_by_key(key: str) -> Paper | None:
    """Return the publication of a bibliography key; None for an unknown key."""
    return Paper(short_citation(key), citation_url(key) or "") if key in bibliography() else None
