"""The data behind the report of a benchmark: ranks, scores, groups, failures and claims, computed and not drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..benchmarks.evaluate import PRESETS, Result
from ..benchmarks.groups import Group
from ..benchmarks.ranking import ranking
from ..benchmarks.resi import DOMAINS, TESTS
from ..catalogue import get_measure, preset
from ..comparison import MeasureInfo
from ..measure import Measure
from ..significance import Duel, duels


class Name(NamedTuple):
    """What a measure is called here; ``is_added`` when it is not one of the benchmark's own."""

    spec: str
    text: str
    is_added: bool


class Family(NamedTuple):
    """Models that are compared with each other, seen by one pooling."""

    domain: str
    dataset: str
    architecture: str
    pooling: str


class Standing(NamedTuple):
    """Where a measure stands over all cells; ``None`` when it has no rank."""

    name: Name
    mean: float | None
    low: float | None
    high: float | None
    median: float | None
    cells: int
    by_domain: Mapping[str, float]


class Headline(NamedTuple):
    """What was evaluated, in numbers. ``comparisons`` are of two different representations, each counted once."""

    models: int
    measures: int
    cells: int
    comparisons: int


class Box(NamedTuple):
    """The ranks of a measure in the cells of a domain: median, quartiles, and the farthest within 1.5 of their span.

    ``cells`` says of every rank in which cell it is.
    """

    name: Name
    median: float
    mean: float
    lower: float
    upper: float
    least: float
    most: float
    ranks: tuple[float, ...]
    cells: tuple[str, ...] = ()


class Panel(NamedTuple):
    """The groups of one test on one architecture."""

    test: str
    domain: str
    dataset: str
    architecture: str
    criterion: str
    groups: tuple[Group, ...]


class FailureRow(NamedTuple):
    """Comparisons that failed for one reason under one measure, and where: a line for each family of models."""

    name: Name
    reason: str
    comparisons: int
    places: tuple[str, ...]


class Claim(NamedTuple):
    """What is said of a measure; ``found`` is its entry in the catalogue, if it has one."""

    name: Name
    info: MeasureInfo
    found: Measure | None


# ------------------------------------------------------------------------------------------------ names and the whole


def names_of(result: Result) -> dict[str, Name]:
    """Return what to call every measure: its label, or its specification when two share a label."""
    usual = {(m.spec, m.label) for m in preset(PRESETS.get(result.protocol, "default"))}
    count = Counter(info.label for info in result.measures)
    return {
        m.spec: Name(m.spec, m.label if count[m.label] == 1 else m.spec, (m.spec, m.label) not in usual)
        for m in result.measures
    }


def domains_of(result: Result) -> tuple[str, ...]:
    """Return the domains of the benchmark that are there, then all others."""
    found = dict.fromkeys(family.domain for family in families_of(result))
    return (*(d for d in DOMAINS if d in found), *(d for d in found if d not in DOMAINS))


def families_of(result: Result) -> tuple[Family, ...]:
    """Return the families of models in the order in which they were evaluated."""
    return tuple(dict.fromkeys(family_of(row) for row in (*result.scores, *result.maps, *result.absent)))


def family_of(row: Any) -> Family:
    """Return the models that a score, a map, a failure or an absent test is about."""
    return Family(row.domain, row.dataset, row.architecture, row.pooling)


def family_text(family: Family) -> str:
    """Return the name of a family of models."""
    return " · ".join(part for part in family if part)


def headline(result: Result) -> Headline:
    """Return how many models, measures, ranked cells and comparisons there are."""
    models, pairs = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for m in result.maps:
        where = (m.domain, m.dataset, m.architecture)
        models |= {(*where, name) for name in (("/".join(common_start(m.names)),) if m.test == "layers" else m.names)}
        pairs |= {(*where, m.pooling, *sorted(pair)) for pair in combinations(m.names, 2)}
    orders = sum(1 if info.symmetric else 2 for info in result.measures)
    return Headline(len(models), len(result.measures), len(result.ranks()), len(pairs) * orders)


def standings(result: Result) -> tuple[Standing, ...]:
    """Return where every measure stands, best mean rank first; those without a rank at the end."""
    names, ranks = names_of(result), result.ranks()
    by_domain = {d: {r.measure: r.mean for r in ranking(ranks, d)} for d in domains_of(result)}
    overall = {r.measure: r for r in ranking(ranks)}
    ranked = [
        Standing(names[m], r.mean, r.low, r.high, r.median, len(r.ranks),
                 {d: means[m] for d, means in by_domain.items() if m in means})
        for m, r in sorted(overall.items(), key=lambda item: (item[1].mean, item[1].median, item[0]))
    ]  # fmt: skip
    rest = [Standing(name, None, None, None, None, 0, {}) for spec, name in names.items() if spec not in overall]
    return (*ranked, *rest)


def verdict(rows: Sequence[Standing]) -> str:
    """Say which measure has the best mean rank, and which others it cannot be told apart from."""
    ranked = [row for row in rows if row.mean is not None]
    if not ranked:
        return "No measure has a rank: there is no cell in which measures were ranked."
    if len(ranked) == 1:
        return f"{ranked[0].name.text} is the only measure with a rank, so its rank says nothing."
    best, *others = ranked
    if best.cells == 1:
        return f"{best.name.text} is first in the only cell; one cell says little about measures."
    said = (
        f"{best.name.text} has the best mean rank of {len(ranked)} measures: {_interval(best)} over {best.cells} cells."
    )
    near = [row for row in others if (row.low or 0) <= (best.high or 0)]
    if not near:
        return f"{said} No other interval overlaps with its own; the next is {_rank(others[0])}."
    listed = ", ".join(_rank(row) for row in near[:4]) + (f", and {len(near) - 4} more" if len(near) > 4 else "")
    some = "The interval of 1 other overlaps" if len(near) == 1 else f"The intervals of {len(near)} others overlap"
    return f"{said} {some} with its own, so these cells do not settle the order among them: {listed}."


def boxes(result: Result, domain: str) -> tuple[Box, ...]:
    """Return the ranks of every measure in a domain, best median first, then best mean."""
    names = names_of(result)
    cells = {cell: own for cell, own in result.ranks().items() if cell[2] == domain}
    return tuple(
        _box(names[r.measure], {_cell_text(cell): own[r.measure] for cell, own in cells.items() if r.measure in own})
        for r in ranking(cells)
    )


def wins(result: Result) -> dict[tuple[str, str], Duel]:
    """Return for every ordered pair of measures in how many cells the first is ranked before the second."""
    cells: dict[Hashable, Mapping[str, float]] = dict(result.ranks().items())
    return duels(cells)


# ------------------------------------------------------------------------------------ groups, failures, times, claims


def panels(result: Result) -> tuple[Panel, ...]:
    """Return the groups of every test on every architecture, whether they were used or not."""
    found = defaultdict[tuple[tuple[str, str, str, str], int], list[Group]](list)
    seen = Counter[tuple[str, ...]]()
    for group in result.groups:
        where = (group.test, group.domain, group.dataset, group.architecture)
        seen[*where, group.name] += 1  # more than once when poolings of one architecture have accuracies of their own
        found[where, seen[*where, group.name]].append(group)
    return tuple(Panel(*where, groups[0].criterion, tuple(groups)) for (where, _), groups in found.items())


def failure_rows(result: Result) -> tuple[FailureRow, ...]:
    """Return the failed comparisons by measure and reason, the most frequent first."""
    names, found = names_of(result), defaultdict[tuple[str, str], list[Any]](list)
    for failed in result.failed:
        found[failed.measure, failed.reason].append(failed)
    rows = [
        FailureRow(names[measure], reason, sum(f.comparisons for f in some), _places(some))
        for (measure, reason), some in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.comparisons, row.name.text, row.reason)))


def times(result: Result) -> tuple[tuple[Name, Mapping[str, float]], ...]:
    """Return the milliseconds that a comparison takes under every measure, by domain."""
    rows = [
        (name, {d: 1000 * spent[spec] for d, spent in result.seconds.items() if spec in spent})
        for spec, name in names_of(result).items()
    ]
    return tuple(sorted(rows, key=lambda row: (sum(row[1].values()) / max(len(row[1]), 1), row[0].text)))


def claims(result: Result) -> tuple[Claim, ...]:
    """Return what is said of every measure, in the order in which they were given."""
    names = names_of(result)
    return tuple(Claim(names[info.spec], info, _in_catalogue(info)) for info in result.measures)


def common_start(names: Sequence[str]) -> list[str]:
    """Return the parts, between slashes, with which all names begin; never all parts of a name."""
    split = [name.split("/") for name in names]
    shared = min(len(parts) for parts in split) - 1
    while len({tuple(parts[:shared]) for parts in split}) > 1:
        shared -= 1
    return split[0][:shared]


def _places(rows: Sequence[Any]) -> tuple[str, ...]:
    tests = defaultdict[Family, list[str]](list)
    for row in rows:
        tests[family_of(row)].append(TESTS.get(row.test, row.test))
    return tuple(f"{family_text(family)}: {', '.join(found)}" for family, found in tests.items())


def _in_catalogue(info: MeasureInfo) -> Measure | None:
    try:
        found = get_measure(info.spec)
    except ValueError:
        return None
    return found if (found.label, found.version) == (info.label, info.version) else None


def _rank(row: Standing) -> str:
    return f"{row.name.text} {row.mean:.2f}"


def _interval(row: Standing) -> str:
    return f"{row.mean:.2f} (95 % interval {row.low:.2f} to {row.high:.2f})"


def _cell_text(cell: Sequence[str]) -> str:
    """Return the name of a cell: its test and quality, then its models."""
    test, quality, *family = cell
    word = quality.removeprefix("spearman").strip("_")
    told = "" if word in test else f" ({word})"
    return f"{TESTS.get(test, test)}{told}, {family_text(Family(*family))}"


def _box(name: Name, found: Mapping[str, float]) -> Box:
    ranks = tuple(found.values())
    lower, median, upper = (float(q) for q in np.percentile(ranks, [25, 50, 75]))
    reach = 1.5 * (upper - lower)
    inside = [r for r in ranks if lower - reach <= r <= upper + reach]
    return Box(name, median, float(np.mean(ranks)), lower, upper, min(inside), max(inside), ranks, tuple(found))
