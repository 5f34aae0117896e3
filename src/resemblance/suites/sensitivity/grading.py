"""From sets of representations with their functionality to correlations, intervals and p-values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ...comparison import Comparison
from ...results.values import known
from ...significance import attainable, bootstrap_counts, exchanges, percentile_interval
from ..experiments import RunConfig
from .facts import (
    ALL,
    LEVEL,
    PAPER,
    PROCRUSTES,
    QUALITIES,
    CellScore,
    Contrast,
    Correlation,
    Estimate,
    GradedCell,
    Grades,
    MeanCorrelation,
    MeanScore,
    Quality,
    mean_or_none,
    mean_value,
    share_of_small,
)
from .procedure import agreement, expected_from, one_sided, reference_of
from .resampling import Copies, Resampled, bootstrap, permutation_test
from .sets import (
    Differences,
    Effort,
    Measured,
    RepresentationSet,
    ResamplingDesign,
    compared,
    constant_measures,
    rounded_differences,
)

CONSTANT = (
    "all models have {:.3f} there, so that no distance can follow it: left out for all measures"
)
FEWEST_BLOCKS = 4  # that an interval needs: with fewer there are too few different samples
COPIES: tuple[Copies, ...] = ("one", "all")
Item = TypeVar("Item")
Samples: TypeAlias = Mapping[Copies, Resampled]  # the correlations in bootstrap samples


class Draws(NamedTuple):
    """Bootstrap samples and permutations of n models.

    ``counts``: (draws, n), empty with fewer than four blocks. ``orders``: (permutations, n).
    ``blocks``: how many units samples are drawn from. ``smallest``: the smallest attainable
    p-value.
    """

    counts: np.ndarray
    orders: np.ndarray
    blocks: int
    smallest: float


class SampledCell(NamedTuple):
    """A cell with the correlations of its bootstrap samples."""

    cell: GradedCell
    samples: Samples


def graded(
    sets: Mapping[str, RepresentationSet],
    design: ResamplingDesign,
    config: RunConfig,
    effort: Effort,
) -> tuple[Grades, Measured]:
    """Return how well every measure follows every functionality of every set, and the differences
    behind that, by set.

    ``sets``: by layer, of the same models. A set in which all models have one functionality is no
    cell: no distance can follow it. A measure with failed comparisons has no mean and no contrast,
    so that failing on hard pairs never helps.
    """
    comparisons = {layer: compared(members, config, effort) for layer, members in sets.items()}
    differences = {layer: rounded_differences(c) for layer, c in comparisons.items()}
    draws = _draws_of(len(next(iter(sets.values())).columns), design, effort)
    cells, constant = list[SampledCell](), dict[str, str]()
    for layer, members in sets.items():
        for name, f in members.functionality.items():
            if np.ptp(f.round(12)) == 0:
                where = name if len(sets) == 1 else f"{layer}, {name}"
                constant[where] = CONSTANT.format(f[0])
            else:
                cells.append(_cell(layer, name, members, differences[layer], draws))
    layers = grouped(cells, lambda sampled: sampled.cell.layer)
    grades = Grades(
        cells=tuple(c.cell for c in cells),
        means=_means(cells),
        contrasts={q: _contrasts(cells, q) for q in QUALITIES} if cells else {},
        by_layer={layer: _contrasts(group, "kendall") for layer, group in layers.items()},
        failed=_failures(comparisons.values()),
        constant_measures=constant_measures(differences),
        constant=constant,
        blocks=draws.blocks,
        draws=len(draws.counts),
        smallest=draws.smallest,
    )
    return grades, differences


def _failures(comparisons: Iterable[Comparison]) -> dict[str, str]:
    """Return by measure how many comparisons failed, and the most frequent reason."""
    reasons = defaultdict[str, Counter[str]](Counter)
    for failure in (failure for c in comparisons for failure in c.failures):
        reasons[failure.measure][failure.reason] += 1
    return {
        spec: f"{r.total()} comparisons failed; most often: {r.most_common(1)[0][0]}"
        for spec, r in reasons.items()
    }


# ----------------------------------------------------------------------------------------- one cell


def _draws_of(n: int, design: ResamplingDesign, effort: Effort) -> Draws:
    blocks = blocks_of(n, design.drawn)
    counts = bootstrap_counts(n, **design.drawn, draws=effort.draws)
    orders = exchanges(n, **design.exchanged, draws=effort.permutations)
    smallest = max(attainable(n, **design.exchanged), 1 / (1 + effort.permutations))
    enough = blocks >= FEWEST_BLOCKS and effort.draws > 1
    return Draws(counts if enough else counts[:0], orders, blocks, smallest)


def blocks_of(n: int, drawn: Mapping[str, Any]) -> int:
    """Return how many units bootstrap samples are drawn from, the fewer of two crossed kinds."""
    kinds = drawn.get("crossed") or [drawn[name] for name in ("blocks", "nested") if name in drawn]
    return min((len(set(kind)) for kind in kinds), default=n)


def _cell(
    layer: str, name: str, members: RepresentationSet, differences: Differences, draws: Draws
) -> SampledCell:
    f, rows = members.functionality[name], members.rows
    samples = {c: bootstrap(differences, f, draws.counts, rows=rows, copies=c) for c in COPIES}
    p_values: Mapping[str, float] = {}
    if draws.smallest <= LEVEL:
        p_values = permutation_test(differences, f, draws.orders, rows=rows)
    scores = {
        spec: _score(d, f, rows, samples["one"], spec, p_values.get(spec))
        for spec, d in differences.items()
    }
    return SampledCell(GradedCell(layer, name, len(f), scores), samples)


def _score(
    d: np.ndarray,
    f: np.ndarray,
    rows: tuple[int, ...],
    samples: Resampled,
    spec: str,
    permuted: float | None,
) -> CellScore:
    best = agreement(d, f, rows=rows)
    mean = agreement(d, f, rows=rows, reference="every")
    alone = agreement(d, f, rows=rows, self_pair=False)
    reference = reference_of(f, np.array(rows))
    naive = one_sided(d[rows.index(reference)], expected_from(f, reference))
    spearman, kendall = (
        Correlation(
            estimate=Estimate(known(getattr(best, quality)), *interval(drawn[spec])),
            every_reference=known(getattr(mean, quality)),
            no_self_pair=known(getattr(alone, quality)),
            naive=known(p),
        )
        for quality, drawn, p in zip(QUALITIES, samples, naive)
    )
    return CellScore(spearman, kendall, known(permuted), best.pairs, best.pairs == len(f))


def interval(draws: np.ndarray) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the draws with a value; two None without any."""
    low, high = percentile_interval(draws)
    return known(low), known(high)


# --------------------------------------------------------------------------------- means over cells


def grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """Return items by their key, in the order of its first occurrence."""
    groups = defaultdict[str, list[Item]](list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def _means(cells: Sequence[SampledCell]) -> dict[str, dict[str, MeanScore]]:
    """Return the mean of every measure over all cells, and over those of each functionality."""
    groups = {ALL: list(cells)} if cells else {}
    groups |= grouped(cells, lambda sampled: sampled.cell.functionality)
    return {
        name: {spec: _mean(spec, members) for spec in members[0].cell.scores}
        for name, members in groups.items()
    }


def _mean(spec: str, cells: Sequence[SampledCell]) -> MeanScore:
    """The mean of a measure over cells; without a value if a cell has none or lacks some pairs."""
    scores = [c.cell.scores[spec] for c in cells]
    means = []
    for quality in QUALITIES:
        mean = mean_or_none(score.value(quality) for score in scores)
        ends = (None, None) if mean is None else interval(_draws(spec, quality, cells, "one"))
        values = (score.correlation(quality).estimate.value for score in scores)
        means.append(MeanCorrelation(Estimate(mean, *ends), mean_or_none(values)))
    spearman, kendall = means
    return MeanScore(
        spearman,
        kendall,
        draws=_count(_draws(spec, "spearman", cells, "one")),
        pairs=sum(score.pairs for score in scores),
        of=sum(c.cell.n for c in cells),
        rejected=share_of_small(score.permuted for score in scores),
    )


def _draws(spec: str, quality: Quality, cells: Sequence[SampledCell], copies: Copies) -> np.ndarray:
    """The mean over cells in every bootstrap sample: all cells share the resampled models."""
    samples = [getattr(c.samples[copies], quality)[spec] for c in cells]
    return np.mean(samples, axis=0)


def _count(draws: np.ndarray) -> int:
    """Return how many draws have a value."""
    return int((~np.isnan(draws)).sum())


def _contrasts(cells: Sequence[SampledCell], quality: Quality) -> tuple[Contrast, ...]:
    """The measures of the paper against each other, and Procrustes against every other measure.

    None for a measure with failed comparisons.
    """
    specs = list(cells[0].cell.scores)
    leading = [spec for spec in PAPER.values() if spec in specs]
    pairs = list(combinations(leading, 2))
    if PROCRUSTES in specs:
        pairs += [(spec, PROCRUSTES) for spec in specs if spec not in leading]
    contrasts = (_contrast(cells, quality, first, second) for first, second in pairs)
    return tuple(contrast for contrast in contrasts if contrast is not None)


def _contrast(
    cells: Sequence[SampledCell], quality: Quality, first: str, second: str
) -> Contrast | None:
    a, b = (mean_value((c.cell for c in cells), spec, quality) for spec in (first, second))
    if a is None or b is None:
        return None
    one, copies = (
        _draws(first, quality, cells, c) - _draws(second, quality, cells, c) for c in COPIES
    )
    return Contrast(first, second, a - b, *interval(one), *interval(copies), _count(one))
