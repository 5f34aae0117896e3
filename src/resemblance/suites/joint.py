"""One ranking of measures over several suites, and which conclusions of their papers hold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from ..catalogue import get_measure
from ..comparison import environment
from ..grounding import spearman
from ..results.claims import VERDICTS
from ..results.figures import Bar, Bars
from ..results.headlines import OWN, RESAMPLING, TRIAL, headline, listed, size_words
from ..results.result import Result
from ..results.sections import Entry, Section, Table
from ..results.values import distinct, known
from ..significance import DECIMALS, Places, places, summarize
from .contests import SUITES, Contest, Ranks, read_contest


def joint(folders: Iterable[str | Path]) -> Result:
    """Return one ranking of measures over the studies in several folders, each of another suite.

    Measures that take part in all of them are ranked anew among each other in every cell: equal
    values share the mean of their ranks, and measures without a value stand last. Cells in which
    all are equal do not count. A suite has the same weight as any other, however many cells it has:
    a measure's place is the mean over suites of its mean rank over cells.

    Intervals come from 2000 samples of the cells of every suite with replacement, the same for all
    measures (see
    :func:`resemblance.significance.places`). They say how far a place depends on which cells were
    asked. They are too narrow for other models and data, since cells of one suite share models, and
    for a suite of few cells (the manifold suite has three).

    A study of a size that is only for trying out is left out, and the findings say so; when fewer
    than two others remain the whole ranking is a trial, without places, intervals and verdicts.

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, a folder without
    a result, a suite without a cell that tells measures apart, and when fewer than two measures
    take part in all.
    """
    every = [read_contest(folder) for folder in folders]
    _check(every)
    contests = [c for c in every if not c.is_trial]
    is_trial = len(contests) < 2
    contests = every if is_trial else contests
    among = set.intersection(*(set(c.labels) for c in contests))
    ranks = {c.suite: c.ranks(among) for c in contests}
    shared = {suite: _shared(suite, own) for suite, own in ranks.items()}
    found = places(shared)
    told = {spec: label for c in contests for spec, label in c.labels.items() if spec in among}
    labels = distinct({spec: _label(spec, label) for spec, label in told.items()})
    standing = _trial_standing if is_trial else _standing
    by_suite = (_of_suite(c, shared[c.suite], len(ranks[c.suite]), found, labels) for c in contests)
    sections = (
        standing(found, labels, contests, shared, among),
        _agreement(found, contests),
        *by_suite,
    )
    lead = "" if is_trial else " ".join((headline(found, labels), *_disagreement(found, labels)))
    remarks = tuple(
        f"Left out of the ranking: {_study(c)}, which is a trial."
        for c in every
        if c not in contests
    )
    size = "trial" if is_trial else " + ".join(c.suite for c in contests)
    facts = {"studies": "; ".join(map(_study, contests))}
    return Result("joint", size, sections, labels, {}, environment(), facts, lead, remarks)


def _study(contest: Contest) -> str:
    return f"{contest.suite}, {size_words(contest.suite, contest.size) if contest.size else OWN}"


def _disagreement(found: Places, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield who leads in each suite, and which two suites agree the least."""
    leaders = {suite: min(own.values()) for suite, own in found.by_group.items()}
    first = {
        suite: listed([labels[m] for m, mean in own.items() if mean == leaders[suite]])
        for suite, own in found.by_group.items()
    }
    if len(set(first.values())) == 1:
        yield "The same measure leads in every suite."
    else:
        yield (
            "The suites have different leaders: "
            f"{', '.join(f'{name} in {suite}' for suite, name in first.items())}."
        )
    pairs = {pair: _correlation(found, *pair) for pair in combinations(found.by_group, 2)}
    known_pairs = {pair: value for pair, value in pairs.items() if not math.isnan(value)}
    if known_pairs:
        least = min(known_pairs, key=lambda pair: known_pairs[pair])
        value = f"{known_pairs[least]:.2f}".replace("-", "−")
        yield f"{least[0]} and {least[1]} agree the least on the order (correlation {value})."


def _check(contests: Sequence[Contest]) -> None:
    suites = [c.suite for c in contests]
    if len(suites) < 2:
        raise ValueError("a joint ranking needs the studies of at least two suites")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"two studies are of {suite!r}; give one of each suite")
    among = set.intersection(*(set(c.labels) for c in contests))
    if len(among) < 2:
        raise ValueError(
            "fewer than two measures take part in all suites: run them again with common --measures"
        )


def _shared(suite: str, ranks: Ranks) -> Ranks:
    """Return ranks of which equal ones share their mean, so that chance has the middle; cells
    without any order go."""
    found = {}
    for cell, own in ranks.items():
        shared = rankdata(np.round(list(own.values()), DECIMALS))
        if np.ptp(shared) > 0:
            found[cell] = dict(zip(own, shared.tolist()))
    if not found:
        raise ValueError(
            f"no cell of the {suite} study tells the measures apart that all suites have in common"
        )
    return found


def _label(spec: str, told: str) -> str:
    """Return what the catalogue calls a measure, since suites differ, or what a suite calls one
    that is not in it."""
    try:
        return get_measure(spec).label
    except ValueError:
        return told


# ------------------------------------------------------------------------------------- the sections


def _standing(
    found: Places,
    labels: Mapping[str, str],
    contests: Sequence[Contest],
    ranks: Mapping[str, Ranks],
    among: set[str],
) -> Section:
    rows: list[tuple[Entry, ...]] = []
    for p, following in zip_longest(found.rows, found.rows[1:]):
        ahead = f"{found.before[p.measure, following.measure]:.0%}" if following else None
        rows.append(
            (
                labels[p.measure],
                p.mean,
                f"{p.low:.1f} to {p.high:.1f}",
                p.position,
                f"{p.best} to {p.worst}",
                "tied with the leader"
                if p.is_tied
                else f"{p.behind_low:.1f} to {p.behind_high:.1f}",
                ahead,
                *(own[p.measure] for own in found.by_group.values()),
            )
        )
    columns = (
        "measure", "mean rank", "95 %", "position", "95 %", "behind the leader, 95 %",
        "before the next",
        *found.by_group,
    )  # fmt: skip
    note = (
        "Tied with the leader: the 95 % interval of the difference from the leader holds 0, in "
        "the same samples of the cells. Before the next: in how many samples a measure has the "
        "better mean rank than the one below, equal ones half; 50 % is no order. Columns of "
        "suites: mean rank over its cells."
    )
    bars = tuple(Bar(labels[p.measure], p.mean, p.low, p.high) for p in found.rows)
    figure = Bars(
        "mean ranks",
        "Mean rank over suites",
        "mean rank, 1 is the best",
        bars,
        "The line is the mean rank of a measure that guesses.",
        (len(found.rows) + 1) / 2,
        (1.0, float(len(found.rows))),
    )
    about = (
        f"{_about(found, contests, ranks)} {RESAMPLING} In a suite of few cells they are too "
        "narrow as well."
    )
    table = Table("places", "Where measures stand", columns, tuple(rows), note, is_leading=True)
    return Section(
        "standing",
        "All suites together",
        about,
        (table,),
        (figure,),
        reasons=_absent(contests, among),
    )


def _trial_standing(
    found: Places,
    labels: Mapping[str, str],
    contests: Sequence[Contest],
    ranks: Mapping[str, Ranks],
    among: set[str],
) -> Section:
    """Mean ranks without places, intervals or order, by the name of the measure."""
    means = found.by_group.values()
    rows: list[tuple[Entry, ...]] = [
        (labels[p.measure], p.mean, *(own[p.measure] for own in means)) for p in found.rows
    ]
    columns = ("measure", "mean rank", *found.by_group)
    note = "By name; the ranks mean nothing."
    by_name = tuple(sorted(rows, key=lambda row: str(row[0])))
    table = Table("mean ranks", "Mean ranks of a trial", columns, by_name, note, is_leading=True)
    about = f"{TRIAL} {_about(found, contests, ranks)}"
    return Section(
        "standing", "All suites together", about, (table,), reasons=_absent(contests, among)
    )


def _about(found: Places, contests: Sequence[Contest], ranks: Mapping[str, Ranks]) -> str:
    counts = ", ".join(f"{len(own)} in {suite}" for suite, own in ranks.items())
    return (
        f"{len(found.rows)} measures take part in all of {len(contests)} suites and are ranked "
        "among each other in every cell, 1 for the best; equal ones share the mean of their "
        f"ranks. Cells that tell measures apart: {counts}. Every suite has the same weight."
    )


def _absent(contests: Sequence[Contest], among: set[str]) -> dict[str, str]:
    return {
        f"{label} ({spec})": "takes no part in "
        f"{', '.join(o.suite for o in contests if spec not in o.labels)}"
        for c in contests
        for spec, label in c.labels.items()
        if spec not in among
    }


def _agreement(found: Places, contests: Sequence[Contest]) -> Section:
    suites = [c.suite for c in contests]
    rows: list[tuple[Entry, ...]] = []
    for one in suites:
        correlations = [
            1.0 if one == other else _correlation(found, one, other) for other in suites
        ]
        rows.append((one, *map(known, correlations)))
    about = (
        "Spearman's correlation of the mean ranks that two suites give to the same measures: 1 "
        "when they put them in the same order, 0 when they have nothing in common, below 0 when "
        "what is good in the one is bad in the other."
    )
    table = Table("agreement", "Do the suites agree?", ("", *suites), tuple(rows))
    return Section("agreement", "Agreement of the suites", about, (table,))


def _correlation(found: Places, one: str, other: str) -> float:
    sides = (
        np.array([found.by_group[suite][p.measure] for p in found.rows]) for suite in (one, other)
    )
    return float(spearman(*sides).value)


def _of_suite(
    contest: Contest, ranks: Ranks, asked: int, found: Places, labels: Mapping[str, str]
) -> Section:
    tests: dict[str, dict[Hashable, Mapping[str, float]]] = defaultdict(dict)
    for cell, own in ranks.items():
        tests[cell[0]][cell] = own
    standings = {
        test: {r.measure: r.mean for r in summarize(cells)} for test, cells in tests.items()
    }
    means = found.by_group[contest.suite]
    order = sorted(
        found.rows, key=lambda p: labels[p.measure] if contest.is_trial else means[p.measure]
    )
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (labels[p.measure], means[p.measure], *(standings[t][p.measure] for t in tests))
        for p in order
    )
    columns = ("measure", "all", *(f"{test} ({len(cells)})" for test, cells in tests.items()))
    counts = {v: sum(c.verdict == v for c in contest.claims) for v in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    tied = f" (in {asked - len(ranks)} more all measures are equal)" if asked > len(ranks) else ""
    about = (
        f"Cells: {len(ranks)}{tied}. {contest.about} Conclusions of the paper on the models and "
        f"data here: {said or 'none judged'}."
    )
    table = Table("ranks", "Mean rank by test", columns, rows, "In brackets: the number of cells.")
    return Section(contest.suite, SUITES[contest.suite], about, (table,), claims=contest.claims)
