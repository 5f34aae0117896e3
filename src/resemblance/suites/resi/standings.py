"""Where measures stand: names, ranks and places of an evaluation, each worked out once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...catalogue import get_measure, preset
from ...comparison import MeasureInfo
from ...measure import Measure
from ...results.figures import Bars, Box, Boxes, Diagram, HeatMap
from ...results.headlines import RESAMPLING, headline
from ...results.sections import Entry, Section, Sign, Table
from ...results.standing import AXIS, TIES, rank_bars, tie_diagram, tie_words
from ...results.values import distinct
from ...significance import Duel, Place, Places, Ranking, duels, places
from ...sources.training import DOMAINS
from .facts import Evaluation
from .ranking import Ranks, models_of, ranking
from .rules import PRESETS
from .words import cell_text


class Standings(NamedTuple):
    """An evaluation with what follows from its ranks.

    ``names``: by specification, what a measure is called here. ``order``: of the measures on a
    page: best mean rank first, those without a rank last; of a trial, whose order says nothing, as
    they were given. ``is_sure``: intervals and ties mean something, as they do neither in a trial
    nor in too few cells.
    """

    facts: Evaluation
    names: Mapping[str, str]
    domains: tuple[str, ...]
    ranks: Ranks
    places: Places
    order: tuple[str, ...]
    is_sure: bool

    @property
    def worst(self) -> float:
        """The largest rank on the page."""
        ranks = (rank for cell in self.ranks.values() for rank in cell.values())
        return float(max([*ranks, len(self.names), 2]))


def standings_of(facts: Evaluation) -> Standings:
    """Return the standings of an evaluation."""
    names = distinct({m.spec: m.label for m in facts.measures})
    ranks = facts.ranks()
    positions = places({"resi": ranks}, strata={"resi": {c: models_of(c) for c in ranks}})
    ranked = [p.measure for p in positions.rows]
    if facts.is_trial:
        ranked = [spec for spec in names if spec in set(ranked)]
    order = (*ranked, *(spec for spec in names if spec not in set(ranked)))
    is_sure = positions.is_settling and not facts.is_trial
    return Standings(facts, names, _domains(facts), ranks, positions, order, is_sure)


def _domains(facts: Evaluation) -> tuple[str, ...]:
    """Return the domains of the benchmark that are there, then all others."""
    domains = dict.fromkeys(family.domain for family in facts.families())
    return (*(d for d in DOMAINS if d in domains), *(d for d in domains if d not in DOMAINS))


def verdict(standings: Standings) -> str:
    """Say which measure leads, and which others cannot be told from it; nothing of a trial."""
    if standings.facts.is_trial:
        return ""
    families = {cell[2:] for cell in standings.ranks}
    alone = " All cells are on the models of one architecture." if len(families) == 1 else ""
    return f"{headline(standings.places, standings.names)}{alone}"


def in_catalogue(info: MeasureInfo) -> Measure | None:
    """Return the measure of the catalogue that a result is of; None for one of a user."""
    try:
        measure = get_measure(info.spec)
    except ValueError:
        return None
    return measure if (measure.label, measure.version) == (info.label, info.version) else None


def measure_signs(standings: Standings, order: tuple[str, ...]) -> tuple[Sign, ...]:
    """Return the note at the name of every measure in the first column of a table.

    What it is called in full, and whether it is not one of the benchmark.
    """
    preset_of = PRESETS.get(standings.facts.protocol, "default")
    usual = {(m.spec, m.label) for m in preset(preset_of)}
    infos = {m.spec: m for m in standings.facts.measures}
    return tuple(
        _sign(row, infos[spec], (spec, infos[spec].label) in usual)
        for row, spec in enumerate(order)
    )


def _sign(row: int, info: MeasureInfo, is_usual: bool) -> Sign:
    if not is_usual:
        return Sign(row, 0, "added", f"{info.spec}: not one of the benchmark's measures")
    measure = in_catalogue(info)
    meaning = f": {measure.summary.replace('``', '')}" if measure else ""
    return Sign(row, 0, "", f"{info.spec}{meaning}")


# ------------------------------------------------------------------------------------ the sections


def ranking_section(standings: Standings) -> Section:
    """Return the overall ranking, with intervals where they mean something."""
    figures = tuple(_ranking_figures(standings))
    about = "Mean rank over all cells. A cell is one test on one architecture by one quality."
    if standings.is_sure:
        about = (
            "Mean rank over all cells, and the 95 % interval of how far a measure is behind the "
            "leader. Measures that cannot be told from the leader are shaded. "
            f"{RESAMPLING}"
        )
    return Section("ranking", "Overall ranking", about, (_ranking_table(standings),), figures)


def _ranking_figures(standings: Standings) -> Iterator[Bars | Diagram]:
    """Yield the mean ranks, and which measures cannot be told apart; nothing without a rank."""
    places, is_sure = standings.places, standings.is_sure
    ranked = {place.measure for place in places.rows}
    if not ranked:
        return
    order = [spec for spec in standings.order if spec in ranked]
    yield Bars(
        "mean ranks",
        "Mean rank over all cells",
        AXIS,
        rank_bars(places, standings.names, order, is_sure=is_sure),
        TIES if is_sure else "",
        places.rows[0].mean if is_sure else None,
        (1.0, standings.worst),
        is_dotted=True,
    )
    diagram = tie_diagram(places, standings.names) if is_sure else None
    if diagram is not None:
        yield diagram


def _ranking_table(standings: Standings) -> Table:
    overall = {r.measure: r for r in ranking(standings.ranks)}
    by_domain = [
        {r.measure: r.mean for r in ranking(standings.ranks, d)} for d in standings.domains
    ]
    by_measure = {p.measure: p for p in standings.places.rows}
    intervals = ("behind", "tied with") if standings.is_sure else ()
    rows: list[tuple[Entry, ...]] = []
    for spec in standings.order:
        place, whole = by_measure.get(spec), overall.get(spec)
        rows.append(
            (
                standings.names[spec],
                whole.mean if whole else None,
                *(_ties(place, standings) if intervals else ()),
                whole.median if whole else None,
                float(len(whole.ranks)) if whole else 0.0,
                *(means.get(spec) for means in by_domain),
            )
        )
    hints = {
        "behind": "95 % interval of the difference of mean ranks from the leader, in the same "
        "cells; sorts by the lower end",
        "tied with": "the measures that it cannot be told from",
        **dict.fromkeys(standings.domains, "mean rank in this domain"),
    }
    columns = ("measure", "mean rank", *intervals, "median", "cells", *standings.domains)
    tied = {p.measure for p in standings.places.rows if p.is_tied and standings.is_sure}
    return Table(
        "ranking",
        "Where measures stand",
        columns,
        tuple(rows),
        marked=tuple(i for i, spec in enumerate(standings.order) if spec in tied),
        signs=measure_signs(standings, standings.order),
        hints=tuple(hints.get(column, "") for column in columns),
        is_leading=True,
    )


def _ties(place: Place | None, standings: Standings) -> tuple[str | None, str | None]:
    """How far a measure is behind the leader, and what it cannot be told from."""
    if place is None:
        return None, None
    low, high = place.simultaneous
    behind = None if np.isnan(low) else f"{low:.2f} to {high:.2f}"
    return behind, tie_words(standings.places, place.measure, standings.names)


def distribution_section(standings: Standings) -> Section:
    """Return the ranks of every measure as boxes, domain by domain."""
    figures = tuple(filter(None, (_boxes(standings, domain) for domain in standings.domains)))
    order = (
        ""
        if standings.facts.is_trial
        else ("In each domain measures are in the order of their median, then of their mean rank. ")
    )
    about = (
        f"{order}Boxes span the quartiles, lines reach the farthest rank within 1.5 times that "
        "span, points are cells. Rank 1 is the best."
    )
    return Section("distribution", "Distribution of ranks", about, (), figures)


def _boxes(standings: Standings, domain: str) -> Boxes | None:
    cells = {cell: ranks for cell, ranks in standings.ranks.items() if cell[2] == domain}
    rows: tuple[Ranking, ...] = ranking(cells)
    order = [row.measure for row in rows]
    if standings.facts.is_trial:
        order = [spec for spec in standings.order if spec in set(order)]
    boxes = []
    for spec in order:
        ranks = {cell_text(cell): ranks[spec] for cell, ranks in cells.items() if spec in ranks}
        name, group = standings.names[spec], _family(spec)
        boxes.append(Box(name, tuple(ranks.values()), tuple(ranks), group))
    if not boxes:
        return None
    span = (1.0, standings.worst)
    return Boxes(domain, domain, "rank, 1 is the best", tuple(boxes), span=span)


def _family(spec: str) -> str:
    """Return the family of a measure in words; nothing for one that is not in the catalogue."""
    try:
        return get_measure(spec).family.replace("_", " ")
    except ValueError:
        return ""


def before_section(standings: Standings) -> Section | None:
    """Return how sure it is that one measure is before another; nothing where cells do not say."""
    order = [p.measure for p in standings.places.rows]
    if not standings.is_sure:
        return None
    cells: dict[Hashable, Mapping[str, float]] = dict(standings.ranks.items())
    wins, before = duels(cells), standings.places.before
    names = tuple(standings.names[spec] for spec in order)
    figure = HeatMap(
        "before",
        "The row before the column, in % of the samples of the cells",
        names,
        names,
        tuple(
            tuple(_percent(before.get((a, b))) if (a, b) in wins else None for b in order)
            for a in order
        ),
        "Blue where the row mostly has the better mean rank, orange where it mostly has not; "
        "between 3 and 97 nothing is settled.",
        span=(0.0, 100.0),
        is_diverging=True,
        titles=tuple(
            tuple(_duel_text(standings.names, a, b, before, wins) for b in order) for a in order
        ),
    )
    about = (
        "How sure it is that the measure of the row has a better mean rank than that of the "
        "column: in how many of 100 samples of the cells it has, equal ranks counted as half."
    )
    return Section("before", "A ranked before B", about, (), (figure,))


def _percent(share: float | None) -> float | None:
    return None if share is None or np.isnan(share) else float(round(100 * share))


def _duel_text(
    names: Mapping[str, str],
    a: str,
    b: str,
    before: Mapping[tuple[str, str], float],
    wins: Mapping[tuple[str, str], Duel],
) -> str:
    duel, share = wins.get((a, b)), before.get((a, b), np.nan)
    if duel is None or np.isnan(share):
        return ""
    return (
        f"{names[a]} before {names[b]} in {share:.0%} of the samples of the cells; ranked before "
        f"it in {duel.better} of {duel.cells} cells ({duel.tied} tied)"
    )
