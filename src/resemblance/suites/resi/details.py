"""Details of an evaluation: groups of models, times, failures, claims of the measures, inputs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from ...claims import INVARIANCES
from ...comparison import MeasureInfo
from ...results.figures import Strip, Strips
from ...results.sections import Entry, Section, Table
from ..families import ModelFamily
from .cases import TESTS
from .facts import Evaluation, FailedComparisons, family_of
from .groups import ModelGroup
from .standings import Standings, in_catalogue, measure_signs

SHORT = {"isotropic_scaling": "scaling", "invertible_linear": "linear"}
YES, NO, UNKNOWN = "●", "·", "?"


# ------------------------------------------------------------------------------------------- groups


def strips_of(facts: Evaluation, test: str) -> tuple[Strips, ...]:
    """Return the accuracies of the groups of a test, a figure per architecture.

    Poolings of one architecture that have accuracies of their own have figures of their own.
    """
    panels: dict[tuple[tuple[str, ...], int], list[ModelGroup]] = defaultdict(list)
    seen = Counter[tuple[str, ...]]()
    for group in (g for g in facts.groups if g.test == test):
        where = (group.domain, group.dataset, group.architecture)
        seen[*where, group.name] += 1
        panels[where, seen[*where, group.name]].append(group)
    return tuple(
        _strips(str(_models_of(groups[0])), turn, groups) for (_, turn), groups in panels.items()
    )


def _models_of(group: ModelGroup) -> ModelFamily:
    return ModelFamily(group.domain, group.dataset, group.architecture, "")


def _strips(models: str, turn: int, groups: Sequence[ModelGroup]) -> Strips:
    criterion = groups[0].criterion
    if criterion == "none":
        axis, note = "accuracy", "Accuracies are unknown: groups are not checked."
    else:
        axis = f"accuracy on {criterion} inputs"
        note = " ".join(f"{g.name}: {g.note}." for g in groups if g.note)
    name = f"groups {models}" + (f" {turn}" if turn > 1 else "")
    strips = tuple(Strip(g.name, g.accuracies, g.kept, g.note) for g in groups)
    return Strips(name, models, axis, strips, note)


def group_table(facts: Evaluation) -> Table:
    """Return the accuracies of every group of models, and why a group was left out."""
    columns = ("test", "models", "group", "accuracy", "from", "to", "inputs", "")
    rows: list[tuple[Entry, ...]] = []
    for g in facts.groups:
        a = g.accuracies
        ends = (math.fsum(a) / len(a), min(a), max(a)) if a else (None, None, None)
        rows.append((TESTS[g.test], _models_of(g).short, g.name, *ends, g.criterion, g.note))
    return Table("groups", "Accuracies of the groups", columns, tuple(rows), is_closed=True)


# ---------------------------------------------------------------------------- times and failures


def times_section(standings: Standings) -> Section:
    """Return the milliseconds that a comparison takes under every measure, the fastest first."""
    seconds = standings.facts.seconds
    by_domain = [{m: 1000 * s for m, s in of.items()} for of in seconds.values()]
    spent = {spec: [ms.get(spec) for ms in by_domain] for spec in standings.names}
    order = tuple(sorted(spent, key=lambda spec: (_mean(spent[spec]), standings.names[spec])))
    positive = [ms for row in spent.values() for ms in row if ms is not None and ms > 0]
    ends = (min(positive, default=1.0), max(positive, default=1.0))
    table = Table(
        "times",
        "Mean milliseconds of one comparison",
        ("measure", *seconds),
        tuple((standings.names[spec], *spent[spec]) for spec in order),
        "The shade is logarithmic.",
        shades=tuple((None, *(log_shade(ms, *ends) for ms in spent[spec])) for spec in order),
        signs=measure_signs(standings, order),
    )
    about = (
        "Mean milliseconds of one comparison on this machine; the cost of a view that measures "
        "share is charged to the first that uses it."
    )
    return Section("times", "Run times", about, (table,))


def _mean(row: Sequence[float | None]) -> float:
    spent = [ms for ms in row if ms is not None]
    return sum(spent) / max(len(spent), 1)


def log_shade(value: float | None, least: float, most: float) -> float | None:
    """Return where a positive number lies between two others on a logarithmic scale, 0 to 1."""
    if value is None:
        return None
    if value <= 0 or most <= least:
        return 0.0
    return round(math.log(value / least) / math.log(most / least), 2)


def failures_section(standings: Standings) -> Section:
    """Return the failed comparisons by measure and reason, the most frequent first."""
    by_reason: dict[tuple[str, str], list[FailedComparisons]] = defaultdict(list)
    for failed in standings.facts.failed:
        by_reason[failed.measure, failed.reason].append(failed)
    rows = [
        (standings.names[measure], float(sum(f.comparisons for f in some)), reason, _places(some))
        for (measure, reason), some in by_reason.items()
    ]
    rows.sort(key=lambda row: (-row[1], row[0], row[2]))
    columns = ("measure", "comparisons", "most frequent reason", "where")
    table = Table("failures", "Comparisons without a value", columns, tuple(rows))
    about = (
        "Comparisons without a value by measure and reason. A comparison that several tests use is "
        "counted in each."
        if rows
        else "Every comparison has a value."
    )
    return Section("failures", "Failures", about, (table,) if rows else ())


def _places(rows: Sequence[FailedComparisons]) -> str:
    tests: dict[ModelFamily, list[str]] = defaultdict(list)
    for row in rows:
        tests[family_of(row)].append(TESTS.get(row.test, row.test))
    return "; ".join(f"{family}: {', '.join(names)}" for family, names in tests.items())


# ----------------------------------------------------------------------- measures and their inputs


def measures_section(standings: Standings) -> Section:
    """Return what every measure claims, in the order in which the measures were given."""
    columns = (
        "measure", "specification", "family", "more similar is", "range", "symmetric", "metric",
    )  # fmt: skip
    infos = standings.facts.measures
    unchanged = [f"unchanged by: {i.replace('_', ' ')}" for i in INVARIANCES]
    table = Table(
        "claims",
        "What the measures claim",
        (*columns, *(SHORT.get(i, i) for i in INVARIANCES), "samples"),
        tuple((standings.names[info.spec], *_claims(info)) for info in infos),
        signs=measure_signs(standings, tuple(info.spec for info in infos)),
        hints=(*[""] * len(columns), *unchanged, "the fewest samples that it takes"),
    )
    about = (
        f"{YES} what a measure claims: it is symmetric, a metric, or does not change when one side "
        f"is transformed. {UNKNOWN}: a measure that is not in the catalogue shows what the result "
        "knows of it."
    )
    return Section("measures", "What the measures claim", about, (table,))


def _claims(info: MeasureInfo) -> tuple[str, ...]:
    measure = in_catalogue(info)
    low, high = (f"{end:g}".replace("-", "−") for end in info.range)
    return (
        info.spec,
        info.family.replace("_", " "),
        "larger" if info.larger_is_more_similar else "smaller",
        f"{low} to {high}",
        _tick(info.symmetric),
        _tick(measure.metric if measure else None),
        *(_tick(i in measure.invariant_to if measure else None) for i in INVARIANCES),
        f"≥ {measure.min_samples}" if measure else UNKNOWN,
    )


def _tick(claim: bool | None) -> str:
    return UNKNOWN if claim is None else YES if claim else NO


def inputs_section(standings: Standings) -> Section | None:
    """Return the representations that were compared and their fingerprints.

    Nothing where there are none.
    """
    representations = standings.facts.provenance.get("representations", {})
    if not representations:
        return None
    columns = ("representation", "samples", "features", "type", "computed in", "fingerprint")
    keys = ("n_samples", "n_features", "dtype", "computed_in", "fingerprint")
    rows = tuple(
        (name, *(_entry(identity[key]) for key in keys))
        for name, identity in representations.items()
    )
    count = f"{len(rows):,}".replace(",", "\u202f")
    title = f"{count} representation{'' if len(rows) == 1 else 's'} and their fingerprints"
    families = "; ".join(map(str, standings.facts.families()))
    table = Table("inputs", title, columns, rows, is_closed=True)
    return Section("inputs", "What was compared", f"Models: {families}.", (table,))


def _entry(value: object) -> str | float:
    return float(value) if isinstance(value, int | float) else str(value)
