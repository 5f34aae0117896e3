"""A comparison or an evidence as a result for a page: finding, first figures, and all behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..base.text import diagnostic_notes
from ..comparison.arrangements import models_of
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..contracts.claims import CHANCE
from ..inference.result import Evidence
from ..sections.result import Result
from ..sections.sections import Section
from .comparing.figures import agreement_section, family_sections, first_section
from .comparing.finding import finding
from .comparing.stats import Shown, agreement, is_square, named, off_diagonal, pair_of, shown_of
from .comparing.tables import (
    CHANCE_NOTE,
    FEW_MODELS,
    OVER_PAIRS,
    evidence_sections,
    failures_table,
    inputs_table,
    measures_table,
    models_facts,
    models_section,
    pair_table,
)
from .evidence_words import caveats_in_words, design_facts, null_words, readings, results_in_words
from .numbers import count, counted, minus

BEHIND = {
    "rows",
    "columns",
    "models",
    "data",
    "inputs",
    "cautions",
}  # which have places of their own


def result_of(
    comparison: Comparison,
    *,
    evidence: Evidence | None = None,
    measure: str | Measure | None = None,
    stretch: bool = False,
) -> Result:
    """Return a comparison as a result for a page.

    ``evidence``: what is known of its chance, p-values and intervals, by default its own, whose
    measure leads then. ``measure``: which one leads; by default debiased CKA, then CKA, then the
    first. With ``stretch`` the colours of every map
    span its values instead of the range of its measure; the maps say so.

    Raises ``KeyError`` for a measure that the comparison does not have, and ``ValueError`` for
    evidence of something else.
    """
    if evidence is None and comparison.evidence is not None:
        evidence = comparison.evidence
        measure = measure or evidence.measures[0].spec
    shown = shown_of(comparison, measure=measure, evidence=evidence, stretch=stretch)
    design = {} if evidence is None else design_facts(evidence)
    about = [f"{line}." for line in [comparison.provenance.get("inputs")] if line]
    about += [f"{caution}." for caution in comparison.cautions if evidence is None]
    if evidence is not None:
        about += [null_words(evidence), *(f"{caveat}." for caveat in caveats_in_words(evidence))]
    return Result(
        "compare",
        "",
        (*sections(shown),),
        {m.spec: m.label for m in comparison.measures},
        provenance=settings_of(comparison),
        facts=_facts(comparison) | {name: minus(fact) for name, fact in design.items()},
        lead=finding(shown),
        title=title_of(comparison, "Comparison of"),
        about=" ".join(about),
    )


def result_of_evidence(
    evidence: Evidence, *, measure: str | Measure | None = None, stretch: bool = False
) -> Result:
    """Return an evidence as a result for a page.

    ``measure``: which one leads; with ``stretch`` the colours of every map span its values.
    """
    result = result_of(evidence.comparison, evidence=evidence, measure=measure, stretch=stretch)
    known = readings(evidence)
    return replace(
        result,
        suite="evidence",
        provenance={**result.provenance, "seed": evidence.design.seed},
        lead="\n".join(map(_one_line, results_in_words(evidence, known))),
        title=title_of(evidence.comparison, "Evidence for the similarity of"),
    )


def _one_line(text: str) -> str:
    """Return a text without line breaks, which names of representations may have."""
    return minus(" ".join(text.split()))


def title_of(comparison: Comparison, words: str) -> str:
    """Return a title with the names of models or representations, if there are few of them."""
    sides = comparison.rows, comparison.columns
    models = dict.fromkeys(m for side in sides for m in models_of(side))
    names = [m for m in models if m != comparison.provenance.get("reference")]
    if "" in models or len(names) < 2:
        names = list(dict.fromkeys((*comparison.rows, *comparison.columns)))
    if not 2 <= len(names) <= FEW_MODELS:
        return f"{words} representations"
    return f"{words} {', '.join(map(named, names[:-1]))} and {named(names[-1])}"


def _facts(comparison: Comparison) -> dict[str, str]:
    """Return the line under the title: models and data where they are known, and how many."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    sizes = {
        "representations": count(rows) if is_square(comparison) else f"{rows} x {columns}",
        "samples": count(comparison.provenance["n_samples"]),
        "measures": count(len(comparison.measures)),
    }
    return models_facts(comparison.provenance) | sizes


def sections(shown: Shown) -> Iterator[Section]:
    """Yield what a page shows of a comparison: of a single pair tables, of more also maps."""
    comparison, pair, about = shown.comparison, pair_of(shown.comparison), _about(shown.comparison)
    notes = diagnostic_notes(comparison, without=CHANCE)  # which the tables and maps show
    if pair is None:
        yield first_section(shown)
        yield from evidence_sections(shown)
        table, about = measures_table(comparison), f"{about} {OVER_PAIRS}"
        yield Section("measures", "Measures", about, (table,), terms=notes)
        yield from family_sections(shown)
    elif shown.evidence is not None:
        yield from evidence_sections(shown)
    else:
        table, about = pair_table(comparison, pair), f"{about} {CHANCE_NOTE}"
        yield Section("measures", "The pair", about, (table,), terms=notes)
    together = agreement(comparison)
    if together is not None:
        yield agreement_section(together)
    if comparison.failures:
        yield Section("failures", "Failures", "", (failures_table(comparison),))
    yield from models_section(comparison.provenance)
    yield inputs_section(comparison)


def inputs_section(comparison: Comparison) -> Section:
    """Return the representations, closed: their fingerprints are for who repeats the run."""
    table = inputs_table(comparison)
    return Section("inputs", "Representations", "", (table,), is_closed=True)


def settings_of(comparison: Comparison) -> dict[str, Any]:
    """Return how a comparison was made, by the names that a page shows."""
    return {
        name.removeprefix("n_").replace("_", " "): value
        for name, value in comparison.provenance.items()
        if name not in BEHIND
    }


def _about(comparison: Comparison) -> str:
    """Say what was compared with what, and whether every value could be computed."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    several = f"{counted(rows, 'representation')} (rows) and {columns} (columns)"
    inputs = counted(rows, "representation") if is_square(comparison) else several
    pairs = int(off_diagonal(comparison).sum()) // (2 if is_square(comparison) else 1)
    failed = len(comparison.failures)
    outcome = f"{counted(failed, 'value')} could not be computed: see Failures."
    return (
        f"{inputs} of the same {comparison.provenance['n_samples']} samples, compared by "
        f"{counted(len(comparison.measures), 'measure')}: {counted(pairs, 'pair')} each. "
        f"{outcome if failed else 'Every value could be computed.'}"
    )
