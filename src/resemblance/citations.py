"""BibTeX entries to cite: the software, and the papers of measures, statistics and suites."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from .base.formatting import join_words
from .base.text import did_you_mean
from .catalogue import get_measure, get_statistic, list_measures, list_statistics

SOFTWARE_KEY = "resemblance"
CITATIONS_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "resi": ("klabunde2025resi",),
    "sensitivity": ("ding2021grounding",),
    "manifolds": ("islam2025manifold",),
    "stability": ("raju2026geometric",),
    "evidence": (
        "phipson2010permutation",
        "westfall1993resampling",
        "holm1979simple",
        "bretz2009graphical",
        "kaziaoual1995refined",
        "efron1981jackknife",
    ),
    "score_models": ("nili2014toolbox", "schutt2023statistical"),
    "score_models_over_time": (
        "nili2014toolbox",
        "schutt2023statistical",
        "cichy2014resolving",
        "maris2007nonparametric",
    ),
    "error_consistency": ("geirhos2020beyond",),
    "patch_models": ("vig2020investigating",),
    "fitted_parts": ("khalighrazavi2014deep",),
    "drift": ("raju2026geometric",),
    "joint": ("klabunde2025resi", "ding2021grounding", "islam2025manifold", "raju2026geometric"),
}
# Works to cite for a parameter's value, besides the paper of the measure
CITATIONS_BY_PARAMETER: Mapping[str, tuple[str, ...]] = {
    "estimator=debiased": ("song2012feature", "murphy2024correcting"),
    "estimator=features": ("chun2025estimating",),
    "compare=whitened_cosine": ("diedrichsen2021comparing",),
    "compare=whitened_pearson": ("diedrichsen2021comparing",),
}
PACKAGE_PATH = Path(__file__).parent
# The file of the installed package, then the file of a source checkout
BIBLIOGRAPHY_PATHS = (PACKAGE_PATH / "references.bib", PACKAGE_PATH.parents[1] / "references.bib")
BIBTEX_ENTRY = re.compile(r"^@\w+\{([^,\s]+),\n.*?^\}", re.MULTILINE | re.DOTALL)
TEX_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    '"': "\u0308",
    "^": "\u0302",
    "~": "\u0303",
    "v": "\u030c",
}
BIBTEX_FIELD = re.compile(r"^  (\w+)\s*= \{(.*)\},$", re.MULTILINE)


def cite(*names: Any) -> str:
    """Return the BibTeX entries to cite for the given names, in order and without duplicates.

    ``names``: measures and statistics, as objects or by name, label or specification; names of
    suites; ``"evidence"``, ``"score_models"``, ``"fitted_parts"`` of ``score_models``,
    ``"score_models_over_time"``, ``"patch_models"``, ``"error_consistency"``; keys of the
    bibliography; and ``"resemblance"`` for the software, the default. For all measures of a result:
    ``cite("resemblance", *result.measures)``.

    Raises ``ValueError`` with the closest name for an unknown name.
    """
    words = [str(getattr(name, "spec", name)) for name in names]
    keys = dict.fromkeys(key for word in words or [SOFTWARE_KEY] for key in citation_keys(word))
    return "\n\n".join(bibtex_entry(key) for key in keys)


def citation_keys(name: str) -> tuple[str, ...]:
    """Return the bibliography keys to cite for a name that :func:`cite` accepts.

    Raises ``ValueError`` with the closest name for an unknown name.
    """
    if name == SOFTWARE_KEY or name in bibliography():
        return (name,)
    if name.lower() in CITATIONS_BY_NAME:
        return CITATIONS_BY_NAME[name.lower()]
    for get in (get_measure, get_statistic):
        try:
            entry = get(name)
        except ValueError:
            continue
        choices = [f"{key}={value}" for key, value in entry.parameters]
        return (
            entry.citation,
            *(key for c in choices for key in CITATIONS_BY_PARAMETER.get(c, ())),
        )
    suggestions = (
        SOFTWARE_KEY,
        *CITATIONS_BY_NAME,
        "any measure or statistic",
        "any key of references.bib",
    )
    raise ValueError(
        f"nothing to cite for {name!r}{did_you_mean(name, _citable_names(), suggestions)}"
    )


def bibtex_entry(key: str) -> str:
    """Return the bibliography entry of ``key``, or the software's entry for "resemblance", as
    BibTeX."""
    if key == SOFTWARE_KEY:
        return software_bibtex()
    return bibliography()[key]


def software_bibtex() -> str:
    """Return the BibTeX entry of this package in the installed version."""
    from . import __version__

    return (
        "@misc{resemblance,\n  author  = {{The resemblance developers}},\n"
        "  title   = {resemblance: Comparing Neural-Network Representations},\n"
        f"  year    = {{2026}},\n  note    = {{Version {__version__}}},\n"
        "}"
    )


def citation_url(key: str) -> str | None:
    """Return the web address of the work with a key of the bibliography; None for an unknown key or
    a work without an address."""
    fields = dict(BIBTEX_FIELD.findall(bibliography().get(key, "")))
    return f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url")


def short_citation(key: str) -> str:
    """Return authors and year of the work with a key of the bibliography: "Kornblith et al. 2019".

    Raises ``ValueError`` for a key missing from the bibliography.
    """
    fields = dict(BIBTEX_FIELD.findall(bibtex_entry(key) + "\n"))
    surnames = [name.partition(",")[0] for name in fields["author"].split(" and ")]
    surnames = [_decode_bibtex(name) for name in surnames]
    is_long = len(surnames) > 2 or surnames[-1] == "others"
    names = f"{surnames[0]} et al." if is_long else join_words(surnames)
    return f"{names} {fields['year']}"


def _decode_bibtex(text: str) -> str:
    """Return a BibTeX text with accents as letters and without braces."""
    accented = re.sub(r"\{?\\(.)\{?(\w)\}?\}?", lambda m: m[2] + TEX_ACCENTS.get(m[1], ""), text)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", accented))


def bibliography() -> Mapping[str, str]:
    """Return the BibTeX entries of the bibliography, by key; {} if the file is missing."""
    place = next((path for path in BIBLIOGRAPHY_PATHS if path.exists()), None)
    return _parse_bibliography(place, place.stat().st_mtime_ns) if place else {}


@lru_cache(maxsize=1)
def _parse_bibliography(path: Path, mtime: int) -> Mapping[str, str]:
    """Return the BibTeX entries of a file, by key; the modification time ``mtime`` in nanoseconds
    is part of the cache key."""
    text = path.read_text(encoding="utf-8")
    return {match[1]: match[0] for match in BIBTEX_ENTRY.finditer(text)}


def _citable_names() -> list[str]:
    """Return all names with a citation, including the labels of measures and statistics."""
    measures, statistics = list_measures(), list_statistics()
    names = [*(m.name for m in measures), *(s.name for s in statistics)]
    labels = [*(m.label for m in measures), *(s.label for s in statistics)]
    return [SOFTWARE_KEY, *CITATIONS_BY_NAME, *names, *labels]
