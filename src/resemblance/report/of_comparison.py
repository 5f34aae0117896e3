"""A comparison or an evidence as a result for a page: finding, main figures, and details."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..base.formatting import (
    count_with_noun,
    format_count,
    format_level,
    join_words,
    with_minus_signs,
)
from ..base.text import diagnostic_notes
from ..comparison.arrangements import layers_by_model
from ..comparison.comparison import Comparison
from ..contracts._measure import Measure
from ..contracts.claims import CHANCE_KEY
from ..inference import ErrorConsistency
from ..inference.result import Evidence
from ..sections.result import Result
from ..sections.sections import Section, Table
from .comparing.figures import agreement_section, family_sections, first_section
from .comparing.finding import headline_numbers, summary_sentences
from .comparing.stats import (
    PageContext,
    is_all_pairs_of_one_list,
    measure_agreement,
    name_in_sentence,
    off_diagonal,
    only_pair_position,
    page_context,
)
from .comparing.tables import (
    CHANCE_NOTE,
    MAX_MODELS_IN_SUBTITLE,
    PAIR_SUMMARY_NOTE,
    depths_sections,
    evidence_sections,
    failures_table,
    measures_table,
    models_facts,
    models_section,
    pair_table,
    representations_table,
)
from .evidence_words import (
    describe_caveats,
    describe_null_hypothesis,
    describe_significance,
    design_facts,
    measure_results,
)

# Provenance that a page shows outside the settings
PROVENANCE_SHOWN_ELSEWHERE = {"rows", "columns", "models", "data", "inputs", "caveats"}


def result_from_comparison(
    comparison: Comparison,
    *,
    evidence: Evidence | None = None,
    measure: str | Measure | None = None,
    stretch: bool = False,
) -> Result:
    """Return a comparison as a result for a page.

    ``evidence``: chance, p-values and intervals; by default the evidence stored in the comparison,
    and then the first measure of the evidence leads. ``measure``: the leading measure; by default
    debiased CKA, then CKA, then the first. With ``stretch`` the colours of every map span the
    values instead of the range of the measure, and a note on the map says so.

    Raises ``KeyError`` for a measure missing from the comparison, and ``ValueError`` for evidence
    of other representations.
    """
    if evidence is None and comparison.evidence is not None:
        evidence = comparison.evidence
        measure = measure or evidence.measures[0].spec
    context = page_context(comparison, measure=measure, evidence=evidence, stretch=stretch)
    design = {} if evidence is None else design_facts(evidence)
    description = [f"{line}." for line in [comparison.provenance.get("inputs")] if line]
    description += [f"{caveat}." for caveat in comparison.caveats if evidence is None]
    if evidence is not None:
        description += [
            describe_null_hypothesis(evidence),
            *(f"{caveat}." for caveat in describe_caveats(evidence)),
        ]
    return Result(
        "compare",
        "",
        (*comparison_sections(context),),
        {m.spec: m.label for m in comparison.measures},
        provenance={
            name.removeprefix("n_").replace("_", " "): value
            for name, value in comparison.provenance.items()
            if name not in PROVENANCE_SHOWN_ELSEWHERE
        },
        facts=_comparison_facts(comparison)
        | {name: with_minus_signs(fact) for name, fact in design.items()},
        conclusion=summary_sentences(context),
        title=comparison_title(comparison, "Comparison of"),
        about=" ".join(description),
        counts=headline_numbers(context),
    )


def result_from_evidence(
    evidence: Evidence, *, measure: str | Measure | None = None, stretch: bool = False
) -> Result:
    """Return an evidence as a result for a page.

    ``measure``: the leading measure. With ``stretch`` the colours of every map span the values.
    """
    result = result_from_comparison(
        evidence.comparison, evidence=evidence, measure=measure, stretch=stretch
    )
    results = measure_results(evidence)
    return replace(
        result,
        suite="evidence",
        provenance={**result.provenance, "seed": evidence.design.seed},
        conclusion="\n".join(map(_without_line_breaks, describe_significance(evidence, results))),
        title=comparison_title(evidence.comparison, "Evidence for the similarity of"),
    )


def _without_line_breaks(text: str) -> str:
    """Return a text on a single line; names of representations may contain line breaks."""
    return with_minus_signs(" ".join(text.split()))


def comparison_title(comparison: Comparison, words: str) -> str:
    """Return ``words`` followed by two to four names; for other numbers followed by
    "representations".

    The names are of models, if every representation has a model and there are two models or more;
    otherwise of representations. A reinitialised model does not count.
    """
    sides = comparison.rows, comparison.columns
    models = dict.fromkeys(m for side in sides for m in layers_by_model(side))
    names = [m for m in models if m != comparison.provenance.get("reinitialized")]
    if "" in models or len(names) < 2:
        names = list(dict.fromkeys((*comparison.rows, *comparison.columns)))
    if not 2 <= len(names) <= MAX_MODELS_IN_SUBTITLE:
        return f"{words} representations"
    return f"{words} {join_words(map(name_in_sentence, names))}"


def _comparison_facts(comparison: Comparison) -> dict[str, str]:
    """Return the facts under the title: known models and data, and the numbers of inputs."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    sizes = {
        "representations": format_count(rows)
        if is_all_pairs_of_one_list(comparison)
        else f"{rows} x {columns}",
        "samples": format_count(comparison.provenance["n_samples"]),
        "measures": format_count(len(comparison.measures)),
    }
    return models_facts(comparison.provenance) | sizes


def comparison_sections(context: PageContext) -> Iterator[Section]:
    """Yield the sections of the page of a comparison: for a single pair tables, for several pairs
    also maps."""
    comparison = context.comparison
    pair = only_pair_position(context.comparison)
    description = _describe_comparison(context.comparison)
    # The tables and maps show chance
    notes = diagnostic_notes(comparison, exclude=CHANCE_KEY)
    if pair is None:
        yield first_section(context)
        yield from depths_sections(context)
        yield from evidence_sections(context)
        table = measures_table(comparison, context.evidence)
        words = [description, PAIR_SUMMARY_NOTE, CHANCE_NOTE][
            : 3 if context.evidence is None else 2
        ]
        yield Section("measures", "Measures", " ".join(words), (table,), terms=notes)
        yield from family_sections(context)
    elif context.evidence is not None:
        yield from evidence_sections(context)
    else:
        table, description = pair_table(comparison, pair), f"{description} {CHANCE_NOTE}"
        yield Section("measures", "The pair", description, (table,), terms=notes)
    if comparison.error_consistency is not None:
        yield error_consistency_section(comparison.error_consistency)
    agreement = measure_agreement(comparison)
    if agreement is not None:
        yield agreement_section(agreement)
    if comparison.failures:
        yield Section("failures", "Failures", "", (failures_table(comparison),))
    yield from models_section(comparison.provenance)
    yield representations_section(comparison)


def error_consistency_section(errors: ErrorConsistency) -> Section:
    """Return the section of the errors of the compared classifiers."""
    rows = [{k: v for k, v in row.items() if k != "measure"} for row in errors.records()]
    about = (
        f"Error consistency is Cohen's kappa of right and wrong on {errors.n_samples} samples. 0: "
        "the errors are as independent as the accuracies allow; 1: both err on the same samples. "
        f"Low and high are the ends of the {format_level(errors.confidence_level)} interval for "
        "other samples. Observed and expected are shares of samples for which both are right or "
        "both are wrong."
    )
    reasons = {f"{f.x} and {f.y}": f.reason for f in errors.failures}
    table = Table.of(rows, "errors", "Pairs of classifiers", figures=3)
    return Section("error_consistency", "Error consistency", about, (table,), reasons=reasons)


def representations_section(comparison: Comparison) -> Section:
    """Return the closed section of representations."""
    table = representations_table(comparison)
    return Section("inputs", "Representations", "", (table,), is_closed=True)


def _describe_comparison(comparison: Comparison) -> str:
    """Return a description of the compared inputs, and whether every value could be computed."""
    rows, columns = len(comparison.rows), len(comparison.columns)
    sides = f"{count_with_noun(rows, 'representation')} (rows) and {columns} (columns)"
    inputs = (
        count_with_noun(rows, "representation") if is_all_pairs_of_one_list(comparison) else sides
    )
    pairs = int(off_diagonal(comparison).sum()) // (
        2 if is_all_pairs_of_one_list(comparison) else 1
    )
    failed = len(comparison.failures)
    outcome = f"{count_with_noun(failed, 'value')} could not be computed: see Failures."
    return (
        f"{inputs} of the same {comparison.provenance['n_samples']} samples, compared by "
        f"{count_with_noun(len(comparison.measures), 'measure')}: "
        f"{count_with_noun(pairs, 'pair')} each. "
        f"{outcome if failed else 'Every value could be computed.'}"
    )
