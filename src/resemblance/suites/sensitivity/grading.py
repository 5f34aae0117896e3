"""From sets of representations with their functionality to numbers: correlations, intervals,
p-values, by measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...compare import compare
from ...comparison import Comparison
from ...measure import Measure
from ...representation import Representation
from ...results.values import known
from ...significance import attainable, bootstrap_counts, exchanges
from .procedure import agreement, expected_from, one_sided, reference_of
from .resampling import Copies, Resampled, bootstrap, permutation_test
from .settings import PAPER, PROCRUSTES, SLOW, Size

CONSTANT = (
    "all models have {:.3f} there, so that no distance can follow it: left out for all measures"
)
QUALITIES = ("spearman", "kendall")
PRECISION = 1e-12  # of the largest difference; what lies below is rounding
# representations have unit size, so that differences below are rounding whatever the largest is
NOISE = 1e-14
FEWEST_BLOCKS = 4  # of what is resampled: fewer give too few samples for an interval
LEVEL = 0.05


class Set(NamedTuple):
    """A set S of representations: what is compared, which of them can be the reference, and what
    they can do.

    ``columns``: all, by name; ``rows``: positions of those that can be the reference.
    ``functionality``: by name, one number for each of the columns.
    """

    columns: Mapping[str, Representation]
    rows: tuple[int, ...]
    functionality: Mapping[str, np.ndarray]


class Design(NamedTuple):
    """What the representations of a set share, by which they are resampled and permuted.

    ``drawn``: as for :func:`resemblance.suites.sensitivity.bootstrap_counts`; ``exchanged``: as for
    :func:`resemblance.suites.sensitivity.exchanges`. Empty where models share nothing.
    """

    drawn: Mapping[str, Any] = {}
    exchanged: Mapping[str, Any] = {}


class Work(NamedTuple):
    """How sets are compared: where results are kept, by which measures, in which memory, and how
    much."""

    folder: Path
    measures: tuple[Measure, ...]
    memory: int | str
    size: Size


COPIES: tuple[Copies, ...] = ("one", "all")
Samples = dict[Copies, Resampled]  # the correlations in bootstrap samples


class Graded(NamedTuple):
    """What measures make of sets: numbers as JSON can hold them, and by set the differences that
    they come from."""

    numbers: dict[str, Any]
    differences: dict[str, dict[str, np.ndarray]]


def graded(sets: Mapping[str, Set], design: Design, work: Work) -> Graded:
    """Return what every measure makes of every set and functionality, as JSON can hold it.

    ``sets``: by layer, of the same models. Of the numbers, ``cells``: one for every set and
    functionality; ``means``: over sets, by functionality, and over all ("*"); ``contrasts``:
    differences between measures of the same. Of these there are none for a measure with failed
    comparisons, so that nothing is gained by failing where it is hard. Sets on which all can do the
    same, so that there is nothing to follow, are no cells: ``constant`` says which.
    """
    n = len(next(iter(sets.values())).columns)
    blocks = blocks_of(n, design.drawn)
    counts = bootstrap_counts(n, **design.drawn, draws=work.size.draws)[
        : None if blocks >= FEWEST_BLOCKS else 0
    ]
    orders = exchanges(n, **design.exchanged, draws=work.size.permutations)
    smallest = max(attainable(n, **design.exchanged), 1 / (1 + work.size.permutations))
    cells, drawn, failed = (
        list[dict[str, Any]](),
        dict[tuple[str, str], Samples](),
        Counter[tuple[str, str]](),
    )
    every, constant = dict[str, dict[str, np.ndarray]](), dict[str, str]()
    for layer, given in sets.items():
        found = compared(given, work)
        failed.update((f.measure, f.reason) for f in found.failures)
        differences = every[layer] = settled(found)
        for name, f in given.functionality.items():
            if np.ptp(f.round(12)) == 0:
                constant[name if len(sets) == 1 else f"{layer}, {name}"] = CONSTANT.format(f[0])
                continue
            samples = {
                c: bootstrap(differences, f, counts, rows=given.rows, copies=c) for c in COPIES
            }
            p = (
                permutation_test(differences, f, orders, rows=given.rows)
                if smallest <= LEVEL
                else {}
            )
            values = {
                spec: _entry(d, f, given, spec, samples, p.get(spec))
                for spec, d in differences.items()
            }
            reference = list(given.columns)[reference_of(f, np.array(given.rows))]
            spread = [known(v) for v in (f.min(), float(np.median(f)), f.max())]
            cells.append(
                {
                    "layer": layer,
                    "functionality": name,
                    "values": values,
                    "n": n,
                    "reference": reference,
                    "spread": spread,
                }
            )
            drawn[layer, name] = samples
    numbers = {
        "cells": cells,
        "failed": _reasons(failed),
        "silent": silent(every),
        "constant": constant,
        "blocks": blocks,
        "draws": len(counts),
        "smallest": smallest,
        **_over_sets(cells, drawn),
    }
    return Graded(numbers, every)


def blocks_of(n: int, drawn: Mapping[str, Any]) -> int:
    """Return how many things bootstrap samples are drawn from, the fewer where there are two
    kinds."""
    kinds = drawn.get("crossed") or [drawn[name] for name in ("blocks", "nested") if name in drawn]
    return min((len(set(kind)) for kind in kinds), default=n)


def mean_of_all(values: Iterable[float | None]) -> float | None:
    """Return the mean of numbers; None when there are none, or one of them is not known."""
    every = list(values)
    known_ones = [v for v in every if v is not None]
    return sum(known_ones) / len(every) if every and len(known_ones) == len(every) else None


def silent(differences: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """Return the measures that give all pairs the same: normalised representations have nothing for
    them."""
    by_measure: dict[str, list[np.ndarray]] = {}
    for found in differences.values():
        for spec, d in found.items():
            by_measure.setdefault(spec, []).append(d[~np.isnan(d)])
    return [spec for spec, d in by_measure.items() if all(v.size and np.ptp(v) == 0 for v in d)]


def _reasons(failed: Counter[tuple[str, str]]) -> dict[str, str]:
    """Return by measure how many comparisons failed, and most often why."""
    found = dict[str, str]()
    for spec in dict.fromkeys(measure for measure, _ in failed):
        reasons = Counter(
            {reason: count for (measure, reason), count in failed.items() if measure == spec}
        )
        found[spec] = (
            f"{reasons.total()} comparisons failed; most often: {reasons.most_common(1)[0][0]}"
        )
    return found


def usable(measures: Sequence[Measure], size: Size, samples: int) -> tuple[Measure, ...]:
    """Return the measures that are not too slow for so many samples."""
    return tuple(
        m for m in measures if m.name not in SLOW or min(size.samples, samples) <= size.slow
    )


def compared(given: Set, work: Work) -> Comparison:
    """Return the comparison of the possible references, in rows, with all representations."""
    columns = list(given.columns.values())
    options: dict[str, Any] = {
        "save": work.folder / "comparisons.db",
        "memory": work.memory,
        "progress": False,
    }
    measures = usable(work.measures, work.size, columns[0].shape[0])
    if given.rows == tuple(range(len(columns))):
        return compare(columns, measures=measures, **options)
    return compare([columns[i] for i in given.rows], columns, measures=measures, **options)


def settled(found: Comparison) -> dict[str, np.ndarray]:
    """Return differences by measure, without the digits that are rounding: equal ones stay
    equal."""
    return {m.spec: without_rounding(found.difference(m.spec)) for m in found.measures}


def without_rounding(differences: np.ndarray) -> np.ndarray:
    """Return differences rounded to 1e-12 of the largest, and to 1e-14 at least; NaN stay."""
    step = max(PRECISION * float(np.nanmax(np.abs(differences), initial=0.0)), NOISE)
    rounded: np.ndarray = np.round(differences / step) * step + 0.0
    return rounded


def _entry(
    d: np.ndarray, f: np.ndarray, given: Set, spec: str, samples: Samples, permuted: float | None
) -> dict[str, Any]:
    best = agreement(d, f, rows=given.rows)
    every = agreement(d, f, rows=given.rows, reference="every")
    alone = agreement(d, f, rows=given.rows, self_pair=False)
    reference = reference_of(f, np.array(given.rows))
    naive = one_sided(d[given.rows.index(reference)], expected_from(f, reference))
    entry: dict[str, Any] = {
        "naive": list(map(known, naive)),
        "permuted": known(permuted),
        "pairs": best.pairs,
    }
    entry["whole"] = not np.isnan(d).any()
    for quality in QUALITIES:
        draws = {copies: getattr(s, quality)[spec] for copies, s in samples.items()}
        entry[f"{quality}_draws"] = int((~np.isnan(draws["one"])).sum())
        entry[quality] = [known(getattr(best, quality)), *interval(draws["one"])]
        entry[f"{quality}_copies"] = interval(draws["all"])
        entry[f"{quality}_every"] = known(getattr(every, quality))
        entry[f"{quality}_alone"] = known(getattr(alone, quality))
    return entry


def interval(draws: np.ndarray) -> list[float | None]:
    """Return the 2.5 and 97.5 percentile of what is known; two None where nothing is."""
    values = draws[~np.isnan(draws)]
    return (
        [known(float(v)) for v in np.percentile(values, [2.5, 97.5])]
        if len(values)
        else [None, None]
    )


# ------------------------------------------------------------------------------ means over all sets


def _over_sets(
    cells: Sequence[Mapping[str, Any]], drawn: Mapping[tuple[str, str], Samples]
) -> dict[str, Any]:
    if not cells:
        return {"means": {}, "contrasts": {}, "by_layer": {}}
    names = list(dict.fromkeys(c["functionality"] for c in cells))
    groups = {
        "*": cells,
        **{name: [c for c in cells if c["functionality"] == name] for name in names},
    }
    means, contrasts = {}, {}
    for group, members in groups.items():
        samples = [drawn[c["layer"], c["functionality"]] for c in members]
        means[group] = {spec: _mean(spec, members, samples) for spec in members[0]["values"]}
        contrasts[group] = {quality: _contrasts(members, samples, quality) for quality in QUALITIES}
    layers = {c["layer"]: [m for m in cells if m["layer"] == c["layer"]] for c in cells}
    by_layer = {
        layer: _contrasts(m, [drawn[c["layer"], c["functionality"]] for c in m])
        for layer, m in layers.items()
    }
    return {"means": means, "contrasts": contrasts, "by_layer": by_layer}


def _mean(
    spec: str, cells: Sequence[Mapping[str, Any]], samples: Sequence[Samples]
) -> dict[str, Any]:
    """The mean of a measure over cells with its intervals; None if a cell has no value, or only of
    some pairs."""
    entry: dict[str, Any] = {}
    for quality in QUALITIES:
        mean = mean_of_all(value_of(c, spec, quality) for c in cells)
        ends = {copies: interval(_draws(spec, quality, samples, copies)) for copies in COPIES}
        ends = ends if mean is not None else {copies: [None, None] for copies in COPIES}
        entry[quality], entry[f"{quality}_copies"] = [mean, *ends["one"]], ends["all"]
        entry[f"{quality}_known"] = mean_of_all(c["values"][spec][quality][0] for c in cells)
    draws = _draws(spec, "spearman", samples, "one")
    entry["draws"] = int((~np.isnan(draws)).sum())
    pairs = [c["values"][spec]["pairs"] for c in cells]
    entry["pairs"] = [int(sum(pairs)), int(sum(c["n"] for c in cells))]
    p = [c["values"][spec]["permuted"] for c in cells]
    entry["rejected"] = mean_of_all(None if v is None else float(v <= LEVEL) for v in p)
    return entry


def value_of(cell: Mapping[str, Any], spec: str, quality: str) -> float | None:
    """Return the correlation of a measure in a cell; None where it has none, or some comparisons
    failed."""
    entry = cell["values"][spec]
    return float(entry[quality][0]) if entry["whole"] and entry[quality][0] is not None else None


def _draws(spec: str, quality: str, samples: Sequence[Samples], copies: Copies) -> np.ndarray:
    """The mean over cells in every bootstrap sample: all cells see the same resampled models."""
    draws: np.ndarray = np.mean([getattr(s[copies], quality)[spec] for s in samples], axis=0)
    return draws


def _contrasts(
    cells: Sequence[Mapping[str, Any]], samples: Sequence[Samples], quality: str = "kendall"
) -> list[list[Any]]:
    """Differences (first - second) of a correlation: measures, value, interval, that with all
    copies, and draws.

    ``draws``: how many bootstrap samples have the difference. None for measures with failed
    comparisons.
    """
    specs = list(cells[0]["values"])
    leading = [spec for spec in PAPER.values() if spec in specs]
    pairs = [(a, b) for i, a in enumerate(leading) for b in leading[i + 1 :]]
    pairs += [(spec, PROCRUSTES) for spec in specs if spec not in leading and PROCRUSTES in specs]
    rows = []
    for a, b in pairs:
        first, second = (mean_of_all(value_of(c, spec, quality) for c in cells) for spec in (a, b))
        if first is None or second is None:
            continue
        drawn = [_draws(a, quality, samples, c) - _draws(b, quality, samples, c) for c in COPIES]
        ends = [end for values in drawn for end in interval(values)]
        rows.append([a, b, first - second, *ends, int((~np.isnan(drawn[0])).sum())])
    return rows
