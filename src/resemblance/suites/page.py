"""What the pages of all suites show of their scores: where measures stand, every score, the times
of comparisons, and what failed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..catalogue import get_measure
from ..claims import INVARIANCES
from ..comparison import MeasureInfo
from ..measure import Measure
from ..results.figures import Bars, Box, Boxes, Diagram, HeatMap
from ..results.headlines import RESAMPLING
from ..results.sections import Entry, Section, Sign, Table
from ..results.standing import AXIS, TIES, rank_bars, tie_diagram, tie_words
from ..results.values import known
from ..significance import Place, Ranking, duels, stars, summarize
from .case import Score
from .ranks import Cell, Overview
from .scoring import Failed, failure_of

Groups = Mapping[str, Callable[[Cell], bool]]  # of cells, such as those of a domain of models

UNMEASURED = "this measure was not evaluated here"
SHORT = {"isotropic_scaling": "scaling", "invertible_linear": "linear"}
YES, NO, UNKNOWN = "●", "·", "?"


def in_catalogue(info: MeasureInfo) -> Measure | None:
    """Return the measure of the catalogue that a result is of; None for one of a user."""
    try:
        measure = get_measure(info.spec)
    except ValueError:
        return None
    return measure if (measure.label, measure.version) == (info.label, info.version) else None


def measure_signs(overview: Overview, order: Iterable[str]) -> tuple[Sign, ...]:
    """Return the note at the name of every measure in the first column of a table: what it is
    called in full, and whether it is not one of the suite."""
    infos = {m.spec: m for m in overview.measures}
    return tuple(_sign(row, infos[spec], overview.usual) for row, spec in enumerate(order))


def _sign(row: int, info: MeasureInfo, usual: frozenset[tuple[str, str]]) -> Sign:
    if (info.spec, info.label) not in usual:
        return Sign(row, 0, "added", f"{info.spec}: not one of the benchmark's measures")
    measure = in_catalogue(info)
    meaning = f": {measure.summary.replace('``', '')}" if measure else ""
    return Sign(row, 0, "", f"{info.spec}{meaning}")


# ----------------------------------------------------------------------------- where measures stand


def ranking_section(overview: Overview, groups: Groups, about: str = "") -> Section:
    """Return the overall ranking, with intervals where they mean something, and the mean ranks in
    every group of cells; ``about``: what a cell is."""
    figures = tuple(_ranking_figures(overview))
    text = f"Mean rank over all cells. {about}".strip()
    if overview.is_sure:
        text = (
            "Mean rank over all cells, and the 95 % interval of how far a measure is behind the "
            "leader. Measures that cannot be told from the leader are shaded. "
            f"{RESAMPLING}"
        )
    table = _ranking_table(overview, groups)
    return Section("ranking", "Overall ranking", text, (table,), figures)


def _ranking_figures(overview: Overview) -> Iterator[Bars | Diagram]:
    """Yield the mean ranks, and which measures cannot be told apart; nothing without a rank."""
    standing, is_sure = overview.places, overview.is_sure
    ranked = {place.measure for place in standing.rows}
    if not ranked:
        return
    order = [spec for spec in overview.order if spec in ranked]
    yield Bars(
        "mean ranks",
        "Mean rank over all cells",
        AXIS,
        rank_bars(standing, overview.names, order, is_sure=is_sure),
        TIES if is_sure else "",
        standing.rows[0].mean if is_sure else None,
        (1.0, overview.worst),
        is_dotted=True,
    )
    diagram = tie_diagram(standing, overview.names) if is_sure else None
    if diagram is not None:
        yield diagram


def _ranking_table(overview: Overview, groups: Groups) -> Table:
    overall = {r.measure: r for r in _ranking(overview)}
    means = {
        name: {r.measure: r.mean for r in _ranking(overview, is_in)}
        for name, is_in in groups.items()
    }
    by_measure = {p.measure: p for p in overview.places.rows}
    records = list[Mapping[str, Entry]]()
    for spec in overview.order:
        place, whole = by_measure.get(spec), overall.get(spec)
        records.append(
            {
                "measure": overview.names[spec],
                "mean rank": whole.mean if whole else None,
                **(_ties(place, overview) if overview.is_sure else {}),
                "median": whole.median if whole else None,
                "cells": float(len(whole.ranks)) if whole else 0.0,
                **{group: of_group.get(spec) for group, of_group in means.items()},
            }
        )
    tied = {p.measure for p in overview.places.rows if p.is_tied and overview.is_sure}
    return Table.of(
        records,
        "ranking",
        "Where measures stand",
        marked=tuple(i for i, spec in enumerate(overview.order) if spec in tied),
        signs=measure_signs(overview, overview.order),
        hints={
            "behind": "95 % interval of the difference of mean ranks from the leader, in the same "
            "cells; sorts by the lower end",
            "tied with": "the measures that it cannot be told from",
            **{group: f"mean rank in {group}" for group in means},
        },
        is_leading=True,
    )


def _ranking(overview: Overview, is_in: Callable[[Cell], bool] = bool) -> tuple[Ranking, ...]:
    """Return the mean ranks of measures over all cells, or those of a group."""
    return summarize({cell: ranks for cell, ranks in overview.ranks.items() if is_in(cell)})


def _ties(place: Place | None, overview: Overview) -> dict[str, str | None]:
    """How far a measure is behind the leader, and what it cannot be told from."""
    if place is None:
        return {"behind": None, "tied with": None}
    low, high = place.simultaneous
    behind = None if math.isnan(low) else f"{low:.2f} to {high:.2f}"
    tied = tie_words(overview.places, place.measure, overview.names)
    return {"behind": behind, "tied with": tied}


def distribution_section(
    overview: Overview, groups: Groups, text_of: Callable[[Cell], str] = "/".join
) -> Section:
    """Return the ranks of every measure as boxes, a figure for each group of cells."""
    figures = (_boxes(overview, name, is_in, text_of) for name, is_in in groups.items())
    order = (
        ""
        if overview.is_trial
        else "In each group measures are in the order of their median, then of their mean rank. "
    )
    about = (
        f"{order}Boxes span the quartiles, lines reach the farthest rank within 1.5 times that "
        "span, points are cells. Rank 1 is the best."
    )
    return Section("distribution", "Distribution of ranks", about, (), tuple(filter(None, figures)))


def _boxes(
    overview: Overview, group: str, is_in: Callable[[Cell], bool], text_of: Callable[[Cell], str]
) -> Boxes | None:
    cells = {cell: ranks for cell, ranks in overview.ranks.items() if is_in(cell)}
    order = [row.measure for row in _ranking(overview, is_in)]
    if overview.is_trial:
        order = [spec for spec in overview.order if spec in set(order)]
    families = {m.spec: in_catalogue(m) for m in overview.measures}
    boxes = []
    for spec in order:
        ranks = {text_of(cell): of_cell[spec] for cell, of_cell in cells.items() if spec in of_cell}
        measure = families[spec]
        family = measure.family.replace("_", " ") if measure else ""
        boxes.append(Box(overview.names[spec], tuple(ranks.values()), tuple(ranks), family))
    if not boxes:
        return None
    span = (1.0, overview.worst)
    return Boxes(group, group, "rank, 1 is the best", tuple(boxes), span=span)


def before_section(overview: Overview) -> Section | None:
    """Return how sure it is that one measure is before another; nothing where cells do not say."""
    if not overview.is_sure:
        return None
    names, before = overview.names, overview.places.before
    order = [p.measure for p in overview.places.rows]
    wins = duels(dict(overview.ranks.items()))

    def share(a: str, b: str) -> float | None:
        return known(before.get((a, b))) if (a, b) in wins else None

    def text(a: str, b: str) -> str:
        if (value := share(a, b)) is None:
            return ""
        duel = wins[a, b]
        return (
            f"{names[a]} before {names[b]} in {value:.0%} of the samples of the cells; ranked "
            f"before it in {duel.better} of {duel.cells} cells ({duel.tied} tied)"
        )

    rows = [[share(a, b) for b in order] for a in order]
    labels = tuple(names[spec] for spec in order)
    figure = HeatMap(
        "before",
        "The row before the column, in % of the samples of the cells",
        labels,
        labels,
        tuple(tuple(None if v is None else float(round(100 * v)) for v in row) for row in rows),
        "Blue where the row mostly has the better mean rank, orange where it mostly has not; "
        "between 3 and 97 nothing is settled.",
        span=(0.0, 100.0),
        is_diverging=True,
        titles=tuple(tuple(text(a, b) for b in order) for a in order),
    )
    about = (
        "How sure it is that the measure of the row has a better mean rank than that of the "
        "column: in how many of 100 samples of the cells it has, equal ranks counted as half."
    )
    return Section("before", "A ranked before B", about, (), (figure,))


# -------------------------------------------------------------------------------------- every score


class ScoreColumn(NamedTuple):
    """A column of the table of scores: the test and the words of its cell, the headings, what the
    pointer reads, what it is in every selector, and why nobody has a score there."""

    test: str
    cell: Cell
    group: str
    heading: str
    hint: str = ""
    choices: Mapping[str, str] = {}
    absence: str = UNMEASURED


def scores_section(
    overview: Overview,
    columns: Sequence[ScoreColumn],
    about: str = "",
    *,
    has_complete: bool = True,
    name: str = "scores",
    title: str = "Scores by test",
) -> Section:
    """Return every score: a row per measure, in the order of the ranking, and a column per cell.

    ``has_complete``: the best of a column are complete, without failed comparisons. ``about``: what
    stars mean, where there are any.
    """
    scores = {(s.test, s.cell, s.measure): s for s in overview.scores}
    table = [[scores.get((of.test, of.cell, spec)) for of in columns] for spec in overview.order]
    values = [[s and known(s.value) for s in row] for row in table]
    letters, signs, is_partial = dict[str, str](), list[Sign](), False
    for j, column in enumerate(columns):
        for i, row in enumerate(table):
            score, value = row[j], values[i][j]
            if value is None or score is None:
                reason = failure_of(score) if score else column.absence
                mark = letters.setdefault(reason, letter(len(letters)))
                signs.append(Sign(i, j + 1, mark, reason))
            elif mark := stars(score.p_value) + ("†" if score.failed else ""):
                is_partial |= bool(score.failed)
                note = (score.reason or "") if score.failed else ""
                signs.append(Sign(i, j + 1, mark, note))
    framed = list[tuple[int, int]]()
    for j in range(0 if overview.is_trial else len(columns)):
        rated = {
            i: value
            for i, row in enumerate(values)
            if (value := row[j]) is not None
            and not (has_complete and (score := table[i][j]) and score.failed)
        }
        # averages of equal numbers differ by rounding
        framed += [(i, j + 1) for i, v in rated.items() if v >= max(rated.values()) - 1e-9]
    selectors = _selectors(columns)
    shown = Table(
        name,
        title,
        ("measure", *(of.heading for of in columns)),
        tuple((overview.names[m], *row) for m, row in zip(overview.order, values)),
        "† some comparisons failed, so the score rests on fewer pairs" if is_partial else "",
        groups=("", *(of.group for of in columns)),
        shades=tuple(
            (None, *(v if v is None else float(np.clip(v, -1, 1)) for v in row)) for row in values
        ),
        framed=tuple(framed),
        signs=(*measure_signs(overview, overview.order), *signs),
        hints=("", *(of.hint for of in columns)),
        selectors=tuple(selectors),
        choices=tuple(zip(*(("", *choices) for choices in selectors.values()))),
    )
    best = "" if overview.is_trial else "; the best of each column is framed"
    text = (
        "Larger is better. The shade follows the value, blue above zero and orange below"
        f"{best}. {about}"
    ).strip()
    terms = {mark: f"no score: {reason}" for reason, mark in letters.items()}
    return Section(name, title, text, (shown,), terms=terms)


def _selectors(columns: Sequence[ScoreColumn]) -> dict[str, list[str]]:
    """Return what every column is in the selectors that leave a choice."""
    names = dict.fromkeys(name for of in columns for name in of.choices)
    choices = {name: [of.choices.get(name, "") for of in columns] for name in names}
    return {name: words for name, words in choices.items() if len({*words} - {""}) > 1}


def letter(position: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    before = letter(position // 26 - 1) if position >= 26 else ""
    return before + "abcdefghijklmnopqrstuvwxyz"[position % 26]


def data_table(
    overview: Overview, name: str, scores: Iterable[Score], words: Sequence[str]
) -> Table:
    """Return all numbers of some scores, with p-values and the pairs that they rest on; ``words``:
    what those of a cell are."""
    ranks = {} if overview.is_trial else overview.ranks
    records = [
        {
            **dict(zip(words, s.cell, strict=True)),
            "measure": s.measure,
            "label": s.label,
            "value": known(s.value),
            "p_value": s.p_value,
            "pairs": s.pairs,
            "failed": s.failed,
            "reason": s.reason,
            "reliability": s.reliability,
            "rank": ranks.get(s.key, {}).get(s.measure),
        }
        for s in scores
    ]
    return Table.of(records, name, "Scores", is_data=True)


# ------------------------------------------------------------------------ times, failures, measures


def times_section(
    overview: Overview, seconds: Mapping[str, Mapping[str, float]], note: str = ""
) -> Section:
    """Return the milliseconds that a comparison takes under every measure, the fastest first;
    ``seconds``: by group, then by measure."""
    spent = {
        spec: {group: 1000 * of[spec] if spec in of else None for group, of in seconds.items()}
        for spec in overview.names
    }

    def mean(spec: str) -> float:
        known_times = [ms for ms in spent[spec].values() if ms is not None]
        return sum(known_times) / max(len(known_times), 1)

    order = sorted(spent, key=lambda spec: (mean(spec), overview.names[spec]))
    positive = [ms for row in spent.values() for ms in row.values() if ms is not None and ms > 0]
    ends = (min(positive, default=1.0), max(positive, default=1.0))
    table = Table.of(
        [{"measure": overview.names[spec], **spent[spec]} for spec in order],
        "times",
        "Mean milliseconds of one comparison",
        "The shade is logarithmic.",
        shade=lambda entry: log_shade(entry, *ends) if isinstance(entry, float) else None,
        signs=measure_signs(overview, order),
    )
    about = (
        "Mean milliseconds of one comparison on this machine; the cost of a view that measures "
        f"share is charged to the first that uses it. {note}"
    ).strip()
    return Section("times", "Run times", about, (table,))


def log_shade(value: float, least: float, most: float) -> float:
    """Return where a positive number lies between two others on a logarithmic scale, 0 to 1."""
    if value <= 0 or most <= least:
        return 0.0
    return round(math.log(value / least) / math.log(most / least), 2)


def failures_section(
    names: Mapping[str, str], failed: Iterable[Failed], reasons: Mapping[str, str] = {}
) -> Section:
    """Return the failed comparisons by measure and reason, the most frequent first; ``reasons``:
    why measures were left out, by name."""
    by_reason: dict[tuple[str, str], list[Failed]] = defaultdict(list)
    for of in failed:
        by_reason[names.get(of.measure, of.measure), of.reason].append(of)
    counts = sorted(
        (-sum(of.comparisons for of in some), name, reason, _where(some))
        for (name, reason), some in by_reason.items()
    )
    heads = ("comparisons", "measure", "most frequent reason", "where")
    rows: list[dict[str, Entry]] = [
        dict(zip(heads, (-float(count), *words))) for count, *words in counts
    ]
    about = (
        "Comparisons without a value by measure and reason. A comparison that several tests use is "
        "counted in each."
        if rows
        else "Every comparison has a value."
    )
    tables = (
        (Table.of(rows, "failures", "Comparisons without a value", columns=("measure",)),)
        if rows
        else ()
    )
    return Section("failures", "Failures", about, tables, reasons=reasons)


def _where(failed: Iterable[Failed]) -> str:
    tests: dict[str, list[str]] = defaultdict(list)
    for of in failed:
        tests[of.models].append(of.test)
    parts = (
        f"{models}: {', '.join(some)}" if models else ", ".join(some)
        for models, some in tests.items()
    )
    return "; ".join(parts)


def measures_section(overview: Overview) -> Section:
    """Return what every measure claims, in the order in which the measures were given."""
    table = Table.of(
        [_claims(overview.names[info.spec], info) for info in overview.measures],
        "claims",
        "What the measures claim",
        signs=measure_signs(overview, [info.spec for info in overview.measures]),
        hints={
            **{SHORT.get(i, i): f"unchanged by: {i.replace('_', ' ')}" for i in INVARIANCES},
            "samples": "the fewest samples that it takes",
        },
    )
    about = (
        f"{YES} what a measure claims: it is symmetric, a metric, or does not change when one side "
        f"is transformed. {UNKNOWN}: a measure that is not in the catalogue shows what the result "
        "knows of it."
    )
    return Section("measures", "What the measures claim", about, (table,))


def _claims(name: str, info: MeasureInfo) -> dict[str, Entry]:
    measure = in_catalogue(info)
    low, high = (f"{end:g}".replace("-", "−") for end in info.range)
    claimed = {
        SHORT.get(i, i): _tick(i in measure.invariant_to if measure else None) for i in INVARIANCES
    }
    return {
        "measure": name,
        "specification": info.spec,
        "family": info.family.replace("_", " "),
        "more similar is": "larger" if info.larger_is_more_similar else "smaller",
        "range": f"{low} to {high}",
        "symmetric": _tick(info.symmetric),
        "metric": _tick(measure.metric if measure else None),
        **claimed,
        "samples": f"≥ {measure.min_samples}" if measure else UNKNOWN,
    }


def _tick(claim: bool | None) -> str:
    return UNKNOWN if claim is None else YES if claim else NO


def inputs_section(representations: Mapping[str, Mapping[str, object]], about: str) -> Section:
    """Return the representations that were compared and their fingerprints."""
    keys = ("n_samples", "n_features", "dtype", "computed_in", "fingerprint")
    heads = ("representation", "samples", "features", "type", "computed in", "fingerprint")
    records = [
        dict(zip(heads, (name, *(_number_or_text(of[key]) for key in keys))))
        for name, of in representations.items()
    ]
    count = f"{len(records):,}".replace(",", "\u202f")
    title = f"{count} representation{'' if len(records) == 1 else 's'} and their fingerprints"
    table = Table.of(records, "inputs", title, is_closed=True)
    return Section("inputs", "What was compared", about, (table,))


def _number_or_text(value: object) -> Entry:
    return float(value) if isinstance(value, int | float) else str(value)
