"""The sections of a joint ranking: where measures are placed, how far suites agree, and a section
for each suite."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations, zip_longest

from ..results.claims import VERDICTS
from ..results.figures import Bars, Diagram
from ..results.headlines import OWN, RESAMPLING, TRIAL, headline, listed, size_words, without_each
from ..results.result import Result
from ..results.sections import Entry, Section, Table
from ..results.standing import AXIS, PLACES, TIES, place_words, rank_bars, tie_diagram, tie_words
from ..results.values import known
from ..significance import Place, summarize
from . import SUITES
from .joint_ranks import JointRanks

STANDING, STANDING_TITLE = "standing", "All suites together"
REPEATED = ("domains", "protocol")  # facts of a study that its section repeats


def sections_of(ranks: JointRanks) -> tuple[Section, ...]:
    """Return all sections."""
    first = _trial_standing(ranks) if ranks.is_trial else _standing(ranks)
    return (first, _agreement(ranks), *(_of_suite(study, ranks) for study in ranks.studies))


def words_of(study: Result) -> str:
    """Return a study in words: "stability, small: for trying out"."""
    return f"{study.suite}, {size_words(study.suite, study.size) if study.size else OWN}"


def introduction(ranks: JointRanks) -> str:
    """Return what a page says first: which suites there are."""
    suites = "; ".join(SUITES[study.suite] for study in ranks.studies)
    return (
        f"Each suite asks in its own way whether a measure can be trusted: {suites}. Here the "
        "measures that took part in all of them are ranked together, with what their papers "
        "concluded and whether it holds."
    )


# --------------------------------------------------------------------------------------- the lead


def lead_of(ranks: JointRanks) -> str:
    """Say who leads, who leads in each suite, and which suites agree the least; nothing of a
    trial."""
    if ranks.is_trial:
        return ""
    lead = headline(ranks.places, ranks.labels), without_each(ranks.places, ranks.labels)
    return " ".join(filter(None, (*lead, *_disagreement(ranks))))


def _disagreement(ranks: JointRanks) -> Iterator[str]:
    leaders = {suite: _leaders(ranks, means) for suite, means in ranks.places.by_group.items()}
    if len(set(leaders.values())) == 1:
        yield "The same measure leads in every suite."
    else:
        names = ", ".join(f"{name} in {suite}" for suite, name in leaders.items())
        yield f"The suites have different leaders: {names}."
    pairs = {pair: ranks.agreement(*pair) for pair in combinations(leaders, 2)}
    known_pairs = {pair: value for pair, value in pairs.items() if not math.isnan(value)}
    if known_pairs:
        least = min(known_pairs, key=lambda pair: known_pairs[pair])
        value = f"{known_pairs[least]:.2f}".replace("-", "−")
        yield f"{least[0]} and {least[1]} agree the least on the order (correlation {value})."


def _leaders(ranks: JointRanks, means: Mapping[str, float]) -> str:
    best = min(means.values())
    return listed([ranks.labels[measure] for measure, mean in means.items() if mean == best])


# ------------------------------------------------------------------------------------ the standing


def _standing(ranks: JointRanks) -> Section:
    places = ranks.places
    columns = (
        "measure", "mean rank", "place", "behind the leader, 95 %", "before the next",
        "tied with",
    )  # fmt: skip
    note = (
        f"{PLACES} Behind the leader: the interval of "
        "the difference of mean ranks. Before the next: the share of samples in which a measure "
        "has a better mean rank than the one below, ties counting half; 50 % is no order. Columns "
        "of suites: mean rank over its cells."
    )
    rows = tuple(
        _row(ranks, place, following)
        for place, following in zip_longest(places.rows, places.rows[1:])
    )
    about = f"{_about(ranks)} {RESAMPLING}"
    table = Table(
        "places", "Where measures stand", (*columns, *places.by_group), rows, note, is_leading=True
    )
    figures = tuple(_standing_figures(ranks))
    return Section(STANDING, STANDING_TITLE, about, (table,), figures, reasons=_absent(ranks))


def _standing_figures(ranks: JointRanks) -> Iterator[Bars | Diagram]:
    """Yield the mean ranks, and which measures cannot be told apart."""
    places, is_sure = ranks.places, ranks.places.is_settling
    order = [place.measure for place in places.rows]
    bars = rank_bars(places, ranks.labels, order, is_sure=is_sure)
    guess = (len(bars) + 1) / 2
    note = f"A measure that guesses has a mean rank of {guess:g}."
    yield Bars(
        "mean ranks",
        "Mean rank over suites",
        AXIS,
        bars,
        f"{TIES} {note}" if is_sure else note,
        places.rows[0].mean if is_sure else None,
        (1.0, float(len(bars))),
        is_dotted=True,
    )
    diagram = tie_diagram(places, ranks.labels)
    if diagram is not None:
        yield diagram


def _row(ranks: JointRanks, place: Place, following: Place | None) -> tuple[Entry, ...]:
    before, (low, high) = ranks.places.before, place.simultaneous
    return (
        ranks.labels[place.measure],
        place.mean,
        place_words(place),
        "tied with the leader" if place.is_tied else f"{low:.1f} to {high:.1f}",
        f"{before[place.measure, following.measure]:.0%}" if following else None,
        tie_words(ranks.places, place.measure, ranks.labels),
        *(means[place.measure] for means in ranks.places.by_group.values()),
    )


def _trial_standing(ranks: JointRanks) -> Section:
    """Mean ranks without places, intervals or order, by the name of the measure."""
    means = ranks.places.by_group
    rows: list[tuple[Entry, ...]] = [
        (ranks.labels[p.measure], p.mean, *(of_suite[p.measure] for of_suite in means.values()))
        for p in ranks.places.rows
    ]
    by_name = tuple(sorted(rows, key=lambda row: str(row[0])))
    table = Table(
        "mean ranks",
        "Mean ranks of a trial",
        ("measure", "mean rank", *means),
        by_name,
        "By name; the ranks mean nothing.",
        is_leading=True,
    )
    about = f"{TRIAL} {_about(ranks)}"
    return Section(STANDING, STANDING_TITLE, about, (table,), reasons=_absent(ranks))


def _about(ranks: JointRanks) -> str:
    counts = ", ".join(f"{len(cells)} in {suite}" for suite, cells in ranks.cells.items())
    return (
        f"{len(ranks.places.rows)} measures take part in all of {len(ranks.studies)} suites and "
        "are ranked among each other in every cell, 1 for the best; equal ones share the mean of "
        f"their ranks. Cells that tell measures apart: {counts}. Every suite has the same weight, "
        "but one of fewer than six cells, which does not count towards the mean rank."
    )


def _absent(ranks: JointRanks) -> dict[str, str]:
    labels = {s: label for study in ranks.studies for s, label in study.labels.items()}
    return {
        f"{label} ({spec})": f"takes no part in {_without(ranks, spec)}"
        for spec, label in labels.items()
        if spec not in ranks.labels
    }


def _without(ranks: JointRanks, spec: str) -> str:
    return ", ".join(study.suite for study in ranks.studies if spec not in study.labels)


# ----------------------------------------------------------------------------- agreement and suites


def _agreement(ranks: JointRanks) -> Section:
    suites = list(ranks.cells)
    rows: list[tuple[Entry, ...]] = []
    for one in suites:
        values = [1.0 if one == other else ranks.agreement(one, other) for other in suites]
        rows.append((one, *map(known, values)))
    about = (
        "Spearman's correlation of the mean ranks that two suites give to the same measures: 1 "
        "when they put them in the same order, 0 when the orders have nothing in common, below 0 "
        "when one order is more like the reverse of the other."
    )
    table = Table("agreement", "Do the suites agree?", ("", *suites), tuple(rows))
    return Section("agreement", "Agreement of the suites", about, (table,))


def _of_suite(study: Result, ranks: JointRanks) -> Section:
    tests: dict[str, dict[Hashable, Mapping[str, float]]] = defaultdict(dict)
    for cell, of_cell in ranks.cells[study.suite].items():
        tests[cell[0]][cell] = of_cell
    by_test = {
        test: {row.measure: row.mean for row in summarize(cells)} for test, cells in tests.items()
    }
    means = ranks.places.by_group[study.suite]
    measures = [p.measure for p in ranks.places.rows]
    measures.sort(key=lambda m: ranks.labels[m] if study.is_trial else means[m])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (ranks.labels[m], means[m], *(by_test[test][m] for test in tests)) for m in measures
    )
    columns = ("measure", "all", *(f"{test} ({len(cells)})" for test, cells in tests.items()))
    note = "In brackets: the number of cells."
    table = Table("ranks", "Mean rank by test", columns, rows, note)
    title = SUITES[study.suite]
    return Section(study.suite, title, _about_suite(study, ranks), (table,), claims=study.claims)


def _about_suite(study: Result, ranks: JointRanks) -> str:
    cells, tied = len(ranks.cells[study.suite]), ranks.tied[study.suite]
    more = f" (in {tied} more all measures are equal)" if tied else ""
    facts = [f"{name}: {study.facts[name]}" for name in REPEATED if name in study.facts]
    counts = {v: sum(claim.verdict == v for claim in study.claims) for v in VERDICTS}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return (
        f"Cells: {cells}{more}. Size of the study: {'; '.join([study.size or OWN, *facts])}. "
        "Conclusions of the paper on the models and data here: "
        f"{verdicts or 'none judged'}."
    )
