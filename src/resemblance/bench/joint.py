"""Combine the results of several suites: a common ranking of measures, and the conclusions of the
papers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ..base.formatting import format_fixed, format_percent, join_words
from ..catalogue import get_measure
from ..comparison.provenance import environment_versions
from ..sections.claims import VERDICTS
from ..sections.headlines import (
    MAX_NAMES_IN_HEADLINE,
    RESAMPLING_NOTE,
    TRIAL_WARNING,
    USER_MODELS_NOTE,
    describe_run_size,
    headline,
    leaders_without_each_group,
)
from ..sections.ranks import average_readings
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from ..sections.standing import (
    RANK_INTERVALS_NOTE,
    format_rank_interval,
    format_tied_measures,
    mean_rank_figures,
)
from ..sections.values import distinct_labels, finite_or_none
from ..significance import DECIMALS, Place, Places, places, ranks_of_rows, summarize
from . import SUITES
from .grounding import spearman
from .loading import load_study

# Ranks of measures, by test and task.
MeasureRanksByTask: TypeAlias = Mapping[tuple[str, str], Mapping[str, float]]
COMBINED_SECTION, COMBINED_TITLE = "standing", "All suites together"
REPEATED_FACTS = ("domains", "protocol")  # facts of a study that its section on the page repeats


def combine(*studies: str | Path) -> Result:
    r"""Return one ranking of measures over the studies of several suites.

    ``studies``: two or more folders with results, such as ``combine("resi", "manifolds")``.

    The measures that all studies share are ranked again among each other in every task. Equal
    scores share the mean rank, and measures without a score rank last. Tasks in which all measures
    tie do not count. Every suite has the same weight, whatever its number of tasks: measures are
    ordered by the mean over suites of the mean rank over tasks,

    .. math:: \bar r = \frac{1}{S} \sum_{s=1}^{S} \frac{1}{C_s} \sum_{c=1}^{C_s} r_{sc}

    with rank :math:`r_{sc}` in task :math:`c` of :math:`C_s` tasks of suite :math:`s` of :math:`S`.
    A suite of fewer than six tasks does not count; the page shows its mean ranks.

    Intervals come from 2000 bootstrap samples of the tasks, stratified by the models that tasks
    share, the same samples for all measures (see :func:`resemblance.significance.places`). The
    intervals hold for all pairs at once. They show which measures could change order on other tasks
    of the same models; they are too narrow for other models and data.

    A study of a trial size is left out, and the result says so. If fewer than two other studies
    remain, the whole ranking is a trial, without rank intervals and verdicts.

    Raises ``ValueError`` for fewer than two suites, two studies of the same suite, a folder without
    a result, a suite in which all measures tie in every task, and fewer than two measures that all
    studies share.
    """
    results = [_read_suite_result(folder) for folder in studies]
    ranks = combine_rankings(results)
    remarks = tuple(
        f"Left out of the ranking: {describe_study(study)}, which is a trial."
        for study in results
        if study not in ranks.studies
    )
    return combined_result(ranks, remarks)


def combined_result(ranks: CombinedRanking, remarks: tuple[str, ...] = ()) -> Result:
    """Return a combined ranking as a result for a page; ``remarks`` precede its numbers."""
    section = _trial_combined_section(ranks) if ranks.is_trial else _combined_section(ranks)
    sentences = (
        headline(ranks.places, ranks.labels),
        leaders_without_each_group(ranks.places, ranks.labels),
    )
    suites = "; ".join(SUITES[study.suite] for study in ranks.studies)
    return Result(
        "joint",
        "trial" if ranks.is_trial else " + ".join(study.suite for study in ranks.studies),
        (
            section,
            _suite_agreement_section(ranks),
            *(_suite_section(study, ranks) for study in ranks.studies),
        ),
        ranks.labels,
        provenance=environment_versions(),
        facts={"studies": "; ".join(map(describe_study, ranks.studies))},
        conclusion=""
        if ranks.is_trial
        else " ".join(filter(None, (*sentences, *_suite_disagreements(ranks)))),
        caveats=remarks,
        title="One ranking of measures",
        about=(
            f"Each suite asks in its own way whether a measure can be trusted: {suites}. Here the "
            "measures that took part in all of them are ranked together, with what their papers "
            "concluded and whether it holds."
        ),
    )


def _read_suite_result(folder: str | Path) -> Result:
    result = load_study(folder)
    if result.suite not in SUITES:
        raise ValueError(f"{folder} is of {result.suite!r}; known: {', '.join(SUITES)}")
    return result


# ------------------------------------------------------------------------------------------ ranks


class CombinedRanking(NamedTuple):
    """The measures that several studies share, ranked among each other.

    ``is_trial``: at most one study is not a trial. ``labels``: of the measures, by specification.
    ``cells``: by suite and task, the rank of every measure. Ties share the mean rank; tasks with
    all measures tied are left out. ``tied``: by suite, the number of tasks left out.
    """

    studies: tuple[Result, ...]
    is_trial: bool
    labels: Mapping[str, str]
    cells: Mapping[str, MeasureRanksByTask]
    tied: Mapping[str, int]
    places: Places

    def agreement(self, suite: str, other: str) -> float:
        """Return Spearman's correlation between the mean ranks in two suites."""
        means = self.places.by_group
        sides = (np.array([means[s][p.measure] for p in self.places.rows]) for s in (suite, other))
        return float(spearman(*sides).value)


def combine_rankings(studies: Sequence[Result]) -> CombinedRanking:
    """Rank the measures that all studies share. Trial studies are left out, unless fewer than two
    other studies remain; ``ValueError`` if there is nothing to rank."""
    _check_distinct_suites(studies)
    full_studies = tuple(study for study in studies if not study.is_trial)
    is_trial = len(full_studies) < 2
    ranked_studies = tuple(studies) if is_trial else full_studies
    specs = set.intersection(*(set(study.labels) for study in ranked_studies))
    ranks = {study.suite: study.ranks(specs) for study in ranked_studies}
    cells = {suite: share_tied_ranks(suite_ranks) for suite, suite_ranks in ranks.items()}
    for suite in (suite for suite, suite_ranks in cells.items() if not suite_ranks):
        raise ValueError(
            f"no cell of the {suite} study tells the measures apart that all suites have in common"
        )
    n_tied = {suite: len(suite_ranks) - len(cells[suite]) for suite, suite_ranks in ranks.items()}
    cells = {suite: average_readings(suite_ranks) for suite, suite_ranks in cells.items()}
    standing = places(cells, strata={study.suite: study.models() for study in ranked_studies})
    return CombinedRanking(
        ranked_studies,
        is_trial,
        _shared_measure_labels(ranked_studies, specs),
        cells,
        n_tied,
        standing,
    )


def _check_distinct_suites(studies: Sequence[Result]) -> None:
    suites = [study.suite for study in studies]
    if len(suites) < 2:
        raise ValueError("combine: a joint ranking needs the studies of at least two suites")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"two studies are of {suite!r}; give one of each suite")
    if len(set.intersection(*(set(study.labels) for study in studies))) < 2:
        raise ValueError(
            "fewer than two measures take part in all suites: run them again with common --measures"
        )


def share_tied_ranks(ranks: MeasureRanksByTask) -> MeasureRanksByTask:
    """Give tied measures the mean rank, so that chance is the middle rank; drop tasks with all
    measures tied."""
    cells = {}
    for cell, cell_ranks in ranks.items():
        mean_ranks = ranks_of_rows(np.round(list(cell_ranks.values()), DECIMALS))
        if np.ptp(mean_ranks) > 0:
            cells[cell] = dict(zip(cell_ranks, mean_ranks.tolist()))
    return cells


def _shared_measure_labels(studies: Sequence[Result], specs: set[str]) -> dict[str, str]:
    labels = {spec: label for s in studies for spec, label in s.labels.items() if spec in specs}
    return distinct_labels({spec: _catalogue_label(spec, label) for spec, label in labels.items()})


def _catalogue_label(spec: str, label: str) -> str:
    """Return the catalogue's label of a measure, because labels differ between suites; the suite's
    label for a measure outside the catalogue."""
    try:
        return get_measure(spec).label
    except ValueError:
        return label


# --------------------------------------------------------------------------------------- the lead


def describe_study(study: Result) -> str:
    """Return the suite and the size of a study in words: "stability, small: for trying out"."""
    return (
        f"{study.suite}, "
        f"{describe_run_size(study.suite, study.size) if study.size else USER_MODELS_NOTE}"
    )


def _suite_disagreements(ranks: CombinedRanking) -> Iterator[str]:
    """Yield sentences: the leader of every suite, and the two suites with the least agreement."""
    leaders = dict[str, str]()
    for suite, means in ranks.places.by_group.items():
        best_mean = min(means.values())
        leaders[suite] = join_words(
            [ranks.labels[m] for m, mean in means.items() if mean == best_mean],
            MAX_NAMES_IN_HEADLINE,
        )
    if len(set(leaders.values())) == 1:
        yield "The same measure leads in every suite."
    else:
        names = ", ".join(f"{name} in {suite}" for suite, name in leaders.items())
        yield f"The suites have different leaders: {names}."
    pairs = {pair: ranks.agreement(*pair) for pair in combinations(leaders, 2)}
    correlations = {pair: value for pair, value in pairs.items() if not math.isnan(value)}
    if correlations:
        suites = min(correlations, key=lambda pair: correlations[pair])
        value = format_fixed(correlations[suites])
        yield f"{suites[0]} and {suites[1]} agree the least on the order (correlation {value})."


# ------------------------------------------------------------------------------------ the standing


def _combined_section(ranks: CombinedRanking) -> Section:
    places = ranks.places
    note = (
        f"{RANK_INTERVALS_NOTE} Behind the leader: the interval of "
        "the difference of mean ranks. Before the next: the share of samples in which a measure "
        "has a better mean rank than the one below, ties counting half; 50 % is no order. Columns "
        "of suites: mean rank over its cells."
    )
    records = [
        _combined_record(ranks, place, next_place)
        for place, next_place in zip_longest(places.rows, places.rows[1:])
    ]
    about = f"{_about_combined_ranks(ranks)} {RESAMPLING_NOTE}"
    table = Table.of(records, "places", "Where measures stand", note, is_leading=True)
    count = len(places.rows)
    figures = mean_rank_figures(
        places,
        ranks.labels,
        [place.measure for place in places.rows],
        "Mean rank over suites",
        worst=float(count),
        is_sure=places.is_settling,
        note=f"A measure that guesses has a mean rank of {(count + 1) / 2:g}.",
    )
    reasons = _measures_missing_in_a_suite(ranks)
    return Section(
        COMBINED_SECTION, COMBINED_TITLE, about, (table,), tuple(figures), reasons=reasons
    )


def _combined_record(
    ranks: CombinedRanking, place: Place, next_place: Place | None
) -> dict[str, TableEntry]:
    probabilities, (low, high) = ranks.places.before, place.simultaneous
    return {
        "measure": ranks.labels[place.measure],
        "mean rank": place.mean,
        "place": format_rank_interval(place),
        "behind the leader, 95 %": "tied with the leader"
        if place.is_tied
        else f"{low:.1f} to {high:.1f}",
        "before the next": format_percent(probabilities[place.measure, next_place.measure])
        if next_place
        else None,
        "tied with": format_tied_measures(ranks.places, place.measure, ranks.labels),
        **{suite: means[place.measure] for suite, means in ranks.places.by_group.items()},
    }


def _trial_combined_section(ranks: CombinedRanking) -> Section:
    """Return the section of a trial: mean ranks without intervals or order, sorted by the name of
    the measure."""
    means = ranks.places.by_group
    records: list[dict[str, TableEntry]] = [
        {
            "measure": ranks.labels[p.measure],
            "mean rank": p.mean,
            **{suite: suite_means[p.measure] for suite, suite_means in means.items()},
        }
        for p in sorted(ranks.places.rows, key=lambda p: ranks.labels[p.measure])
    ]
    note = "By name; the ranks mean nothing."
    table = Table.of(records, "mean ranks", "Mean ranks of a trial", note, is_leading=True)
    about = f"{TRIAL_WARNING} {_about_combined_ranks(ranks)}"
    return Section(
        COMBINED_SECTION,
        COMBINED_TITLE,
        about,
        (table,),
        reasons=_measures_missing_in_a_suite(ranks),
    )


def _about_combined_ranks(ranks: CombinedRanking) -> str:
    counts = ", ".join(f"{len(cells)} in {suite}" for suite, cells in ranks.cells.items())
    return (
        f"{len(ranks.places.rows)} measures take part in all of {len(ranks.studies)} suites and "
        "are ranked among each other in every cell, 1 for the best; equal ones share the mean of "
        f"their ranks. Cells that tell measures apart: {counts}. Every suite has the same weight, "
        "but one of fewer than six cells, which does not count towards the mean rank."
    )


def _measures_missing_in_a_suite(ranks: CombinedRanking) -> dict[str, str]:
    labels = {s: label for study in ranks.studies for s, label in study.labels.items()}
    reasons = dict[str, str]()
    for spec in (spec for spec in labels if spec not in ranks.labels):
        suites = ", ".join(study.suite for study in ranks.studies if spec not in study.labels)
        reasons[f"{labels[spec]} ({spec})"] = f"takes no part in {suites}"
    return reasons


# ----------------------------------------------------------------------------- agreement and suites


def _suite_agreement_section(ranks: CombinedRanking) -> Section:
    suites = list(ranks.cells)
    records: list[dict[str, TableEntry]] = [
        {
            "": suite,
            **{s: 1.0 if s == suite else finite_or_none(ranks.agreement(suite, s)) for s in suites},
        }
        for suite in suites
    ]
    about = (
        "Spearman's correlation of the mean ranks that two suites give to the same measures: 1 "
        "when they put them in the same order, 0 when the orders have nothing in common, below 0 "
        "when one order is more like the reverse of the other."
    )
    table = Table.of(records, "agreement", "Do the suites agree?")
    return Section("agreement", "Agreement of the suites", about, (table,))


def _suite_section(study: Result, ranks: CombinedRanking) -> Section:
    tests: dict[str, dict[Hashable, Mapping[str, float]]] = defaultdict(dict)
    for cell, cell_ranks in ranks.cells[study.suite].items():
        tests[cell[0]][cell] = cell_ranks
    by_test = {
        test: {row.measure: row.mean for row in summarize(cells)} for test, cells in tests.items()
    }
    means = ranks.places.by_group[study.suite]
    measures = [p.measure for p in ranks.places.rows]
    measures.sort(key=lambda m: ranks.labels[m] if study.is_trial else means[m])
    records: list[dict[str, TableEntry]] = [
        {
            "measure": ranks.labels[m],
            "all": means[m],
            **{f"{test} ({len(cells)})": by_test[test][m] for test, cells in tests.items()},
        }
        for m in measures
    ]
    table = Table.of(records, "ranks", "Mean rank by test", "In brackets: the number of cells.")
    title = SUITES[study.suite]
    return Section(
        study.suite, title, _describe_suite_ranks(study, ranks), (table,), claims=study.claims
    )


def _describe_suite_ranks(study: Result, ranks: CombinedRanking) -> str:
    cells, n_tied = len(ranks.cells[study.suite]), ranks.tied[study.suite]
    tied_note = f" (in {n_tied} more all measures are equal)" if n_tied else ""
    facts = [f"{name}: {study.facts[name]}" for name in REPEATED_FACTS if name in study.facts]
    counts = {v: sum(claim.verdict == v for claim in study.claims) for v in VERDICTS}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return (
        f"Cells: {cells}{tied_note}. Size of the study: "
        f"{'; '.join([study.size or USER_MODELS_NOTE, *facts])}. "
        f"Conclusions of the paper on the models and data here: {verdicts or 'none judged'}."
    )
