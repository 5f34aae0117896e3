"""The data behind the report of a benchmark: ranks, scores, groups, failures and claims, computed
and not drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..catalogue import get_measure, preset
from ..comparison import MeasureInfo
from ..measure import Measure
from ..results.headlines import OWN, TRIAL, few_models, size_words
from ..results.headlines import headline as headline_of
from ..significance import Duel, Places, duels, places
from ..sources.trained import DOMAINS
from ..suites.resi.evaluation import PRESETS, ResiResult
from ..suites.resi.groups import Group
from ..suites.resi.ranking import ranking
from ..suites.resi.tests import TESTS


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
    """Where a measure stands over all cells; ``None`` when it has no rank, and for what few cells
    cannot tell.

    ``behind``: the 95 % interval of its distance from the leader, in the same cells. ``is_tied``:
    it leads, or cannot be told from what does.
    """

    name: Name
    mean: float | None
    low: float | None
    high: float | None
    median: float | None
    cells: int
    by_domain: Mapping[str, float]
    behind: tuple[float, float] | None = None
    is_tied: bool = False


class Headline(NamedTuple):
    """What was evaluated, in numbers. ``comparisons`` are of two different representations, each
    counted once."""

    models: int
    measures: int
    cells: int
    comparisons: int


class Box(NamedTuple):
    """The ranks of a measure in the cells of a domain: median, quartiles, and the farthest within
    1.5 of their span.

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
    """Comparisons that failed for one reason under one measure, and where: a line for each family
    of models."""

    name: Name
    reason: str
    comparisons: int
    places: tuple[str, ...]


class Claim(NamedTuple):
    """What is said of a measure; ``found`` is its entry in the catalogue, if it has one."""

    name: Name
    info: MeasureInfo
    found: Measure | None


# ------------------------------------------------------------------------------ names and the whole


def names_of(result: ResiResult) -> dict[str, Name]:
    """Return what to call every measure: its label, or its specification when two share a label."""
    usual = {(m.spec, m.label) for m in preset(PRESETS.get(result.protocol, "default"))}
    count = Counter(info.label for info in result.measures)
    return {
        m.spec: Name(
            m.spec, m.label if count[m.label] == 1 else m.spec, (m.spec, m.label) not in usual
        )
        for m in result.measures
    }


def domains_of(result: ResiResult) -> tuple[str, ...]:
    """Return the domains of the benchmark that are there, then all others."""
    found = dict.fromkeys(family.domain for family in families_of(result))
    return (*(d for d in DOMAINS if d in found), *(d for d in found if d not in DOMAINS))


def families_of(result: ResiResult) -> tuple[Family, ...]:
    """Return the families of models in the order in which they were evaluated."""
    return tuple(
        dict.fromkeys(family_of(row) for row in (*result.scores, *result.maps, *result.absent))
    )


def family_of(row: Any) -> Family:
    """Return the models that a score, a map, a failure or an absent test is about."""
    return Family(row.domain, row.dataset, row.architecture, row.pooling)


def family_text(family: Family) -> str:
    """Return the name of a family of models."""
    return " · ".join(part for part in family if part)


def headline(result: ResiResult) -> Headline:
    """Return how many models, measures, ranked cells and comparisons there are."""
    pairs = set[tuple[str, ...]]()
    for m in result.maps:
        where = (m.domain, m.dataset, m.architecture)
        pairs |= {(*where, m.pooling, *sorted(pair)) for pair in combinations(m.names, 2)}
    orders = sum(1 if info.symmetric else 2 for info in result.measures)
    return Headline(
        len(models_of(result)), len(result.measures), len(result.ranks()), len(pairs) * orders
    )


def places_of(result: ResiResult) -> Places:
    """Return where measures stand, and how sure that is."""
    return places({"resi": result.ranks()})


def standings(result: ResiResult) -> tuple[Standing, ...]:
    """Return where every measure stands, best mean rank first; those without a rank at the end.

    A trial, and too few cells to settle anything, have no intervals and no ties; a trial has no
    order either.
    """
    names, ranks, found = names_of(result), result.ranks(), places_of(result)
    by_domain = {d: {r.measure: r.mean for r in ranking(ranks, d)} for d in domains_of(result)}
    overall = {r.measure: r for r in ranking(ranks)}
    is_sure = found.is_settling and not result.is_trial
    rows = []
    for p in found.rows:
        own = overall[p.measure]
        low, high, behind = (
            (p.low, p.high, (p.behind_low, p.behind_high)) if is_sure else (None, None, None)
        )
        means = {d: known[p.measure] for d, known in by_domain.items() if p.measure in known}
        rows.append(
            Standing(
                names[p.measure],
                own.mean,
                low,
                high,
                own.median,
                len(own.ranks),
                means,
                behind,
                is_sure and p.is_tied,
            )
        )
    if result.is_trial:  # whose order says nothing
        rows.sort(key=lambda row: list(names).index(row.name.spec))
    ranked = {p.measure for p in found.rows}
    rest = [
        Standing(name, None, None, None, None, 0, {})
        for spec, name in names.items()
        if spec not in ranked
    ]
    return (*rows, *rest)


def verdict(result: ResiResult) -> str:
    """Say which measure leads, and which others cannot be told from it; of a trial, that it is
    one."""
    if result.is_trial:
        return TRIAL
    said = headline_of(
        places_of(result), {spec: name.text for spec, name in names_of(result).items()}
    )
    families = {cell[2:] for cell in result.ranks()}
    alone = " All cells are on the models of one architecture." if len(families) == 1 else ""
    return f"{said}{alone}"


def facts(result: ResiResult) -> dict[str, str]:
    """Return what was evaluated: suite, data sets, models, seeds."""
    known = dict.fromkeys((m.domain, m.dataset, m.architecture) for m in result.maps)
    told = {"suite": size_words("resi", result.suite) if result.suite else OWN}
    told["data sets"] = ", ".join(dict.fromkeys(dataset for _, dataset, _ in known)) or "none"
    told["models"] = f"{len(models_of(result))}: " + (
        ", ".join(dict.fromkeys(a for *_, a in known)) or "none"
    )
    seeds = {name.rpartition("/seed")[2] for *_, name in models_of(result) if "/seed" in name}
    return told | ({"seeds": str(len(seeds))} if seeds else {})


def remarks(result: ResiResult) -> tuple[str, ...]:
    """Return what a reader must know before the numbers: few models, and folders of models that
    were left out."""
    most = max((len(m.names) for m in result.maps if m.test != "layers"), default=0)
    few = "" if result.suite else few_models(most)
    left = "; ".join(f"{folder} ({why})" for folder, why in result.left_out.items())
    return tuple(filter(None, (few, f"Left out: {left}." if left else "")))


def models_of(result: ResiResult) -> set[tuple[str, ...]]:
    """Return domain, data set, architecture and name of every model that was compared."""
    found = set[tuple[str, ...]]()
    for m in result.maps:
        names = ("/".join(common_start(m.names)),) if m.test == "layers" else m.names
        found |= {(m.domain, m.dataset, m.architecture, name) for name in names}
    return found


def boxes(result: ResiResult, domain: str) -> tuple[Box, ...]:
    """Return the ranks of every measure in a domain, best median first, then best mean; of a trial,
    in no order."""
    names = names_of(result)
    cells = {cell: own for cell, own in result.ranks().items() if cell[2] == domain}
    ranked = [r.measure for r in ranking(cells)]
    return tuple(
        _box(names[m], {_cell_text(cell): own[m] for cell, own in cells.items() if m in own})
        for m in (filter(ranked.__contains__, names) if result.is_trial else ranked)
    )


def before(result: ResiResult) -> Mapping[tuple[str, str], float]:
    """Return for two measures in what share of the samples of the cells the first has the better
    mean rank.

    Nothing for a trial, and where cells are too few to settle anything.
    """
    found = places_of(result)
    return found.before if found.is_settling and not result.is_trial else {}


def wins(result: ResiResult) -> dict[tuple[str, str], Duel]:
    """Return for every ordered pair of measures in how many cells the first is ranked before the
    second."""
    cells: dict[Hashable, Mapping[str, float]] = dict(result.ranks().items())
    return duels(cells)


# ------------------------------------------------------------------ groups, failures, times, claims


def panels(result: ResiResult) -> tuple[Panel, ...]:
    """Return the groups of every test on every architecture, whether they were used or not."""
    found = defaultdict[tuple[tuple[str, str, str, str], int], list[Group]](list)
    seen = Counter[tuple[str, ...]]()
    for group in result.groups:
        where = (group.test, group.domain, group.dataset, group.architecture)
        seen[*where, group.name] += (
            1  # more than once when poolings of one architecture have accuracies of their own
        )
        found[where, seen[*where, group.name]].append(group)
    return tuple(
        Panel(*where, groups[0].criterion, tuple(groups)) for (where, _), groups in found.items()
    )


def failure_rows(result: ResiResult) -> tuple[FailureRow, ...]:
    """Return the failed comparisons by measure and reason, the most frequent first."""
    names, found = names_of(result), defaultdict[tuple[str, str], list[Any]](list)
    for failed in result.failed:
        found[failed.measure, failed.reason].append(failed)
    rows = [
        FailureRow(names[measure], reason, sum(f.comparisons for f in some), _places(some))
        for (measure, reason), some in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.comparisons, row.name.text, row.reason)))


def times(result: ResiResult) -> tuple[tuple[Name, Mapping[str, float]], ...]:
    """Return the milliseconds that a comparison takes under every measure, by domain."""
    rows = [
        (name, {d: 1000 * spent[spec] for d, spent in result.seconds.items() if spec in spent})
        for spec, name in names_of(result).items()
    ]
    return tuple(
        sorted(rows, key=lambda row: (sum(row[1].values()) / max(len(row[1]), 1), row[0].text))
    )


def claims(result: ResiResult) -> tuple[Claim, ...]:
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
    return Box(
        name,
        median,
        float(np.mean(ranks)),
        lower,
        upper,
        min(inside),
        max(inside),
        ranks,
        tuple(found),
    )
