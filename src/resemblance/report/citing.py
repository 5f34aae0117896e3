"""What a page cites: the papers of its measures and of its suite, and their BibTeX."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..catalogue import get_measure
from ..citations import PAPERS_OF, SOFTWARE, entries, entry, short, url_of
from ..measure import Measure
from ..results.result import Result


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
        label: Meaning(measure.summary.replace("``", ""), _place(label), _paper(measure.reference))
        for label, measure in _measures(result).items()
    }


def citing_of(result: Result) -> Citing:
    """Return what to cite: the software, the papers of the suite, and those of the measures."""
    papers = PAPERS_OF.get(result.suite, ())
    measures = [measure.reference for measure in _measures(result).values()]
    keys = dict.fromkeys([SOFTWARE, *(key for key in (*papers, *measures) if key in entries())])
    works = tuple(filter(None, map(_paper, papers)))
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


def _paper(key: str) -> Paper | None:
    return Paper(short(key), url_of(key) or "") if key in entries() else None
