"""Tables for a family of models: means, layers, functionalities, p-values, contrasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from resemblance.sections.sections import Table, TableEntry
from resemblance.sections.values import finite_or_none

from .findings import (
    CORRELATION_NAMES,
    MIN_BLOCKS,
    P_VALUE_LEVEL,
    PAPER_CKA,
    PAPER_MEASURES,
    PAPER_PROCRUSTES,
    PAPER_PWCCA,
    Contrast,
    CorrelationName,
    Correlations,
    Findings,
    count_values,
)

NAIVE_P_VALUES_NOTE = (
    "Naive p-values assume that pairs are independent, as the paper's do; permuted ones do not."
)
MAX_LISTED_P_VALUES = 25  # with more tasks, p-values are summarised by layer
PAPER_CONTRASTS = (
    (PAPER_PROCRUSTES, PAPER_CKA),
    (PAPER_PROCRUSTES, PAPER_PWCCA),
    (PAPER_CKA, PAPER_PWCCA),
)
CONTRAST_COLUMNS = (
    "first", "second", "first - second", "low", "high", "low, all copies", "high, all copies",
    "resamples",
)  # fmt: skip
CORRELATION_SIGNS: Mapping[CorrelationName, str] = {"spearman": "ρ", "kendall": "τ"}
TableRecord = dict[str, TableEntry]


def family_tables(findings: Findings) -> Iterator[Table]:
    """Yield the tables of a family that all benchmarks share."""
    names = findings.correlations.names
    layers, functionalities = (list(dict.fromkeys(name[i] for name in names)) for i in (0, 1))
    yield _mean_correlations_table(findings)
    if len(layers) > 1:
        for quality in CORRELATION_NAMES:
            yield _correlations_table(findings, "layer", layers, quality)
    if len(functionalities) > 1:
        yield _correlations_table(findings, "functionality", functionalities, "spearman")
    yield _pvalues_table(findings, layers)
    for quality in CORRELATION_NAMES:
        note = (
            f"Differences of {quality.capitalize()}'s correlation, mean over tasks, with 95 % "
            "bootstrap intervals: first with one pair of the reference with itself, then with one "
            "for each time that it was drawn, as in the paper's procedure. Draws: the bootstrap "
            "samples with a value. Measures with failed comparisons are left out."
        )
        yield Table.of(
            [
                _contrast_record(findings, c)
                for c in measure_contrasts(findings.correlations, quality)
            ],
            f"{findings.family.title}: differences {quality}",
            f"Measures against each other, {quality.capitalize()}: {findings.family.title}",
            note,
            columns=CONTRAST_COLUMNS,
        )
    if len(layers) > 1:
        yield _differences_by_layer(findings, layers)


def sort_best_first(records: Iterable[TableRecord], key: str) -> list[TableRecord]:
    """Return the records sorted by the number under ``key``, the largest first and None last; ties
    up to rounding are sorted by the text under "measure"."""
    return sorted(
        records, key=lambda r: (r[key] is None, -round(float(r[key] or 0), 9), str(r["measure"]))
    )


def _mean_correlations_table(findings: Findings) -> Table:
    c = findings.correlations
    records = list[TableRecord]()
    for spec in c.measures:
        rho, tau = (c.estimate(spec, quality) for quality in CORRELATION_NAMES)
        naive_share, permuted_share = c.rejected(spec)
        known_pairs = c.mean(spec, kind="known") if rho.value is None else None
        m = c.measures.index(spec)
        records.append(
            {
                "measure": findings.name(spec),
                **dict(zip(("ρ", "ρ low", "ρ high"), rho)),
                **dict(zip(("τ", "τ low", "τ high"), tau)),
                "ρ, every reference": c.mean(spec, kind="every"),
                "ρ, no self pair": c.mean(spec, kind="alone"),
                "naive p ≤ 0.05": naive_share,
                "permuted p ≤ 0.05": permuted_share,
                "resamples": float(count_values(c.drawn(spec))),
                "known pairs only": None
                if known_pairs is None
                else f"{known_pairs:.2f} ({int(c.pairs[m].sum())} of {c.of * len(c.names)})",
            }
        )
    cells = "one task"
    if len(c.names) > 1:
        cells = f"mean over {len(c.names)} tasks (layers times functionalities)"
    note = (
        f"{c.of} representations, {cells}. Spearman's ρ and Kendall's τ with 95 % intervals "
        "over bootstrap samples of models, or of the seeds that they share; every sample chooses "
        "the reference again. Then ρ averaged over all references, ρ without the pair of the "
        "reference with itself, and the share of tasks with a p-value of at most 0.05. "
        f"{NAIVE_P_VALUES_NOTE} {_resampling_note(c)} A measure with failed comparisons has no "
        "mean and is last; the last column gives the mean over its other pairs."
    )
    title = findings.family.title
    return Table.of(
        sort_best_first(records, "ρ"), f"{title}: measures", f"All measures: {title}", note
    )


def _resampling_note(c: Correlations) -> str:
    """Return a note on the number of bootstrap samples behind intervals, and on the smallest
    attainable permutation p-value."""
    text = (
        f"Resamples: the bootstrap samples, of {c.resampled.shape[-1]}, in which the measure has a "
        "value; intervals are of these."
    )
    if not c.resampled.shape[-1]:
        text = (
            f"There are no intervals: samples would be drawn from {c.blocks} blocks, and "
            f"{MIN_BLOCKS} are needed."
        )
    limit = "a limit set by the number of permutations"
    if c.smallest > P_VALUE_LEVEL:
        limit = "so that none is given"
    return (
        f"{text} The smallest permuted p-value that these models can give is "
        f"{c.smallest:.2g}, {limit}."
    )


def _correlations_table(
    findings: Findings, axis: str, names: Sequence[str], quality: CorrelationName
) -> Table:
    """Return a table of measures by layers or by functionalities, averaged over the other factor.
    ``axis``: "layer" or "functionality". ``names``: of the columns."""
    c = findings.correlations
    cells = {name: c.cells(**{axis: name}) for name in names}
    records = [
        {
            "measure": findings.name(spec),
            "mean": c.mean(spec, quality),
            **{name: c.mean(spec, quality, indices) for name, indices in cells.items()},
        }
        for spec in c.measures
    ]
    return Table.of(
        sort_best_first(records, "mean"),
        f"{findings.family.title}: {axis} {quality}",
        f"{quality.capitalize()} by {axis}: {findings.family.title}",
    )


def _pvalues_table(findings: Findings, layers: Sequence[str]) -> Table:
    """Return a table with the p-values of the paper's measures in every task; with many tasks, with
    the share of small p-values by layer."""
    c = findings.correlations
    specs = [spec for spec in c.measures if spec in PAPER_MEASURES.values()]
    if len(c.names) <= MAX_LISTED_P_VALUES:
        records = [
            _p_record(findings, cell, spec) for cell in range(len(c.names)) for spec in specs
        ]
        heading = "One-sided p-values for the measures of the paper."
    else:
        records = [
            {
                "layer": layer,
                "measure": findings.name(spec),
                **{
                    CORRELATION_SIGNS[q]: c.mean(spec, q, c.cells(layer=layer))
                    for q in CORRELATION_NAMES
                },
                **dict(
                    zip(
                        ("naive p ≤ 0.05", "permuted p ≤ 0.05"),
                        c.rejected(spec, c.cells(layer=layer)),
                    )
                ),
            }
            for layer in layers
            for spec in specs
        ]
        heading = (
            "By layer, mean correlations and the share of functionalities with one-sided p of at "
            "most 0.05."
        )
    title = findings.family.title
    return Table.of(
        records,
        f"{title}: p-values",
        f"p-values: {title}",
        f"{heading} {NAIVE_P_VALUES_NOTE} {_resampling_note(c)}",
        columns=(
            "layer",
            *(["functionality"] if len(c.names) <= MAX_LISTED_P_VALUES else []),
            "measure",
        ),
    )


def _p_record(findings: Findings, cell: int, spec: str) -> TableRecord:
    c = findings.correlations
    (layer, functionality), m = c.names[cell], c.measures.index(spec)
    values: TableRecord = {}
    for quality, sign in CORRELATION_SIGNS.items():
        value = c.mean(spec, quality, [cell], "known")
        pairs = int(c.pairs[m, cell])
        is_marked = value is not None and pairs < c.of
        values[sign] = f"{value:.2f} ({pairs} of {c.of} pairs)" if is_marked else value
    p_values = {
        f"naive p ({CORRELATION_SIGNS[q]})": c.mean(spec, q, [cell], "naive")
        for q in CORRELATION_NAMES
    }
    return {
        "layer": layer,
        "functionality": functionality,
        "measure": findings.name(spec),
        **values,
        **p_values,
        "permuted p (ρ)": finite_or_none(c.pvalue[m, cell]),
    }


def measure_contrasts(c: Correlations, quality: CorrelationName) -> list[Contrast]:
    """Return contrasts between the measures of the paper, and between Procrustes and every other
    measure; measures without a mean are left out. ``quality``: "spearman" or "kendall"."""
    paper_specs = [spec for spec in PAPER_MEASURES.values() if spec in c.measures]
    pairs = list(combinations(paper_specs, 2))
    if PAPER_PROCRUSTES in c.measures:
        pairs += [(spec, PAPER_PROCRUSTES) for spec in c.measures if spec not in paper_specs]
    contrasts = (c.contrast(first, second, quality) for first, second in pairs)
    return [contrast for contrast in contrasts if contrast is not None]


def _contrast_record(findings: Findings, contrast: Contrast) -> TableRecord:
    first, second, *numbers = contrast
    return dict(zip(CONTRAST_COLUMNS, (findings.name(first), findings.name(second), *numbers)))


def contrasts_by_layer(c: Correlations, first: str, second: str) -> dict[str, Contrast]:
    """Return, by layer with a value, the difference of Kendall's correlations of two measures,
    first minus second."""
    layers = dict.fromkeys(layer for layer, _ in c.names)
    contrasts = {
        layer: c.contrast(first, second, "kendall", c.cells(layer=layer)) for layer in layers
    }
    return {layer: contrast for layer, contrast in contrasts.items() if contrast is not None}


def _differences_by_layer(findings: Findings, layers: Sequence[str]) -> Table:
    """Return a table of Appendix E of the paper: per layer and pair of the paper's measures, the
    difference of Kendall's correlation, averaged over functionalities. ``layers``: their names, in
    order."""
    contrasts = [contrasts_by_layer(findings.correlations, *pair) for pair in PAPER_CONTRASTS]
    return Table.of(
        [
            {"layer": layer, **_contrast_record(findings, by_layer[layer])}
            for layer in layers
            for by_layer in contrasts
            if layer in by_layer
        ],
        f"{findings.family.title}: differences by layer",
        f"Measures against each other by layer: {findings.family.title}",
        "Differences of Kendall's correlation in every layer, mean over functionalities; columns "
        "as above.",
        columns=("layer", *CONTRAST_COLUMNS),
    )
