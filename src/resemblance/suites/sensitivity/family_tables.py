"""Tables of one family of models: means, layers, functionalities, p-values, contrasts."""

from __future__ import annotations

from collections.abc import Iterable

from ...results.sections import Entry, Table
from .facts import (
    ALL,
    CKA,
    LEVEL,
    PAPER,
    PROCRUSTES,
    PWCCA,
    QUALITIES,
    CellScore,
    Contrast,
    FamilyFacts,
    GradedCell,
    Grades,
    MeanScore,
    Quality,
    mean_or_none,
    mean_value,
    share_of_small,
)
from .grading import FEWEST_BLOCKS, grouped

INDEPENDENT = (
    "Naive p-values assume that pairs are independent, as the paper's do; permuted ones do not."
)
FEW = 25  # cells whose p-values are all shown
CONTRASTS = ((PROCRUSTES, CKA), (PROCRUSTES, PWCCA), (CKA, PWCCA))
MEANS = (
    "measure", "ρ", "ρ low", "ρ high", "τ", "τ low", "τ high", "ρ, every reference",
    "ρ, no self pair", "naive p ≤ 0.05", "permuted p ≤ 0.05", "draws", "known pairs only",
)  # fmt: skip
P_VALUES = (
    "layer", "functionality", "measure", "ρ", "τ", "naive p (ρ)", "naive p (τ)", "permuted p (ρ)",
)  # fmt: skip
REJECTIONS = ("layer", "measure", "ρ", "τ", "naive p ≤ 0.05", "permuted p ≤ 0.05")
DIFFERENCES = (
    "first", "second", "first - second", "low", "high", "low, all copies", "high, all copies",
    "draws",
)  # fmt: skip


def tables_of(facts: FamilyFacts) -> list[Table]:
    """Return the tables of a family that every benchmark has."""
    layers = _by_layer(facts)
    functionalities = grouped(facts.grades.cells, lambda cell: cell.functionality)
    tables = [_means(facts)]
    if len(layers) > 1:
        tables += [_matrix(facts, "layer", layers, quality) for quality in QUALITIES]
    if len(functionalities) > 1:
        tables.append(_matrix(facts, "functionality", functionalities, "spearman"))
    tables.append(_p_values(facts) if len(facts.grades.cells) <= FEW else _rejections(facts))
    tables += [_differences(facts, quality) for quality in QUALITIES]
    if len(facts.grades.by_layer) > 1:
        tables.append(_differences_by_layer(facts))
    return tables


def _by_layer(facts: FamilyFacts) -> dict[str, list[GradedCell]]:
    return grouped(facts.grades.cells, lambda cell: cell.layer)


def best_first(rows: Iterable[tuple[Entry, ...]]) -> tuple[tuple[Entry, ...], ...]:
    """Sort rows by their second entry, a number, the largest first, None last."""
    return tuple(sorted(rows, key=lambda r: (r[1] is None, -float(r[1] or 0), str(r[0]))))


# -------------------------------------------------------------------------------------------- means


def _means(facts: FamilyFacts) -> Table:
    cells = facts.grades.cells
    rows = [_mean_row(facts, spec, score) for spec, score in facts.grades.means[ALL].items()]
    count = "one cell"
    if len(cells) > 1:
        count = f"mean over {len(cells)} cells (layers times functionalities)"
    note = (
        f"{cells[0].n} representations, {count}. Spearman's ρ and Kendall's τ with 95 % intervals "
        "over bootstrap samples of models, or of the seeds that they share; every sample chooses "
        "the reference again. Then ρ averaged over all references, ρ without the pair of the "
        "reference with itself, and the share of cells with a p-value of at most 0.05. "
        f"{INDEPENDENT} {_sureness(facts.grades)} A measure with failed comparisons has no mean "
        "and is last; the last column gives the mean over its other pairs."
    )
    return Table(
        f"{facts.family.title}: measures",
        f"All measures: {facts.family.title}",
        MEANS,
        best_first(rows),
        note,
    )


def _mean_row(facts: FamilyFacts, spec: str, score: MeanScore) -> tuple[Entry, ...]:
    scores = [cell.scores[spec] for cell in facts.grades.cells]
    complete = [s.spearman if s.is_complete else None for s in scores]
    return (
        facts.name(spec),
        *score.spearman.estimate,
        *score.kendall.estimate,
        mean_or_none(c.every_reference if c else None for c in complete),
        mean_or_none(c.no_self_pair if c else None for c in complete),
        _naive_share(facts.grades.cells, spec),
        score.rejected,
        float(score.draws),
        _of_known_pairs(score),
    )


def _naive_share(cells: Iterable[GradedCell], spec: str) -> float | None:
    scores = (cell.scores[spec] for cell in cells)
    return share_of_small(s.spearman.naive if s.is_complete else None for s in scores)


def _of_known_pairs(score: MeanScore) -> str | None:
    """The mean over the known pairs of a measure with failed comparisons, and their number."""
    mean = score.spearman.of_known_pairs
    if mean is None or score.spearman.estimate.value is not None:
        return None
    return f"{mean:.2f} ({score.pairs} of {score.of})"


def _sureness(grades: Grades) -> str:
    """Say how many bootstrap samples intervals have, and how small a permuted p-value can be."""
    text = (
        f"Draws: the bootstrap samples, of {grades.draws}, in which the measure has a value; "
        "intervals are of these."
    )
    if not grades.draws:
        text = (
            f"There are no intervals: samples would be drawn from {grades.blocks} blocks, and "
            f"{FEWEST_BLOCKS} are needed."
        )
    limit = "by the number of orders, or of permutations"
    if grades.smallest > LEVEL:
        limit = "so that none is given"
    return (
        f"{text} The smallest permuted p-value that these models can give is "
        f"{grades.smallest:.2g}, {limit}."
    )


def _matrix(
    facts: FamilyFacts, by: str, groups: dict[str, list[GradedCell]], quality: Quality
) -> Table:
    """Measures times layers, or times functionalities: the mean over the other."""
    rows = []
    for spec, score in facts.grades.means[ALL].items():
        values = [mean_value(cells, spec, quality) for cells in groups.values()]
        rows.append((facts.name(spec), score.estimate(quality).value, *values))
    return Table(
        f"{facts.family.title}: {by} {quality}",
        f"{quality.capitalize()} by {by}: {facts.family.title}",
        ("measure", "mean", *groups),
        best_first(rows),
    )


# ----------------------------------------------------------------------------------------- p-values


def _p_values(facts: FamilyFacts) -> Table:
    pairs = ((c, spec) for c in facts.grades.cells for spec in c.scores if spec in PAPER.values())
    rows = tuple(_p_row(facts, cell, spec) for cell, spec in pairs)
    title = facts.family.title
    note = (
        f"One-sided p-values for the measures of the paper. {INDEPENDENT} {_sureness(facts.grades)}"
    )
    return Table(f"{title}: p-values", f"p-values: {title}", P_VALUES, rows, note)


def _p_row(facts: FamilyFacts, cell: GradedCell, spec: str) -> tuple[Entry, ...]:
    score = cell.scores[spec]
    values = (_marked(score, quality, cell.n) for quality in QUALITIES)
    naive = (score.spearman.naive, score.kendall.naive)
    return (cell.layer, cell.functionality, facts.name(spec), *values, *naive, score.permuted)


def _marked(score: CellScore, quality: Quality, of: int) -> Entry:
    """A correlation; with its number of pairs where comparisons failed."""
    value = score.correlation(quality).estimate.value
    if score.is_complete or value is None:
        return value
    return f"{value:.2f} ({score.pairs} of {of} pairs)"


def _rejections(facts: FamilyFacts) -> Table:
    """Where cells are many: by layer, the share of functionalities with a small p-value."""
    measures = [spec for spec in facts.grades.means[ALL] if spec in PAPER.values()]
    rows = []
    for layer, cells in _by_layer(facts).items():
        for spec in measures:
            means = (mean_value(cells, spec, quality) for quality in QUALITIES)
            permuted = share_of_small(cell.scores[spec].permuted for cell in cells)
            naive = _naive_share(cells, spec)
            rows.append((layer, facts.name(spec), *means, naive, permuted))
    note = (
        "By layer, mean correlations and the share of functionalities with one-sided p of at most "
        f"0.05. {INDEPENDENT} {_sureness(facts.grades)}"
    )
    title = facts.family.title
    return Table(f"{title}: p-values", f"p-values: {title}", REJECTIONS, tuple(rows), note)


# ---------------------------------------------------------------------------------------- contrasts


def _differences(facts: FamilyFacts, quality: Quality) -> Table:
    rows = tuple(_contrast_row(facts, c) for c in facts.grades.contrasts[quality])
    note = (
        f"Differences of {quality.capitalize()}'s correlation, mean over cells, with 95 % "
        "bootstrap intervals: first with one pair of the reference with itself, then with one for "
        "each time that it was drawn, as in the paper's procedure. Draws: the bootstrap samples "
        "with a value. Measures with failed comparisons are left out."
    )
    title = f"Measures against each other, {quality.capitalize()}: {facts.family.title}"
    return Table(f"{facts.family.title}: differences {quality}", title, DIFFERENCES, rows, note)


def _contrast_row(facts: FamilyFacts, contrast: Contrast) -> tuple[Entry, ...]:
    first, second, *numbers = contrast
    return (facts.name(first), facts.name(second), *numbers)


def _differences_by_layer(facts: FamilyFacts) -> Table:
    """The measures of the paper against each other in every layer, as in its Appendix E."""
    rows = tuple(
        (layer, *_contrast_row(facts, contrast))
        for layer, contrasts in facts.grades.by_layer.items()
        for contrast in contrasts
        if (contrast.first, contrast.second) in CONTRASTS
    )
    note = (
        "Differences of Kendall's correlation in every layer, mean over functionalities; columns "
        "as above."
    )
    title = f"Measures against each other by layer: {facts.family.title}"
    columns = ("layer", *DIFFERENCES)
    return Table(f"{facts.family.title}: differences by layer", title, columns, rows, note)
