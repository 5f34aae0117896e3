"""Scores of models over subjects as a figure and as a page: the best model, the noise ceiling, and
the differences between models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..base.formatting import format_level, format_number, format_two_decimals, join_words
from ..base.text import check_choice, did_you_mean
from ..inference._score_models import ModelScores
from ..inference.fitting import FittedPart, shares_by_part
from ..inference.nulls import format_pvalue
from ..inference.several_models import SCORE_TITLES
from ..sections.figures import Bar, Bars, Bracket
from ..sections.result import Result
from ..sections.sections import Section, Table
from ..sections.values import finite_or_none
from .evidence_words import ALPHA
from .svg import shorten_name

ScoreMarks: TypeAlias = Literal["points", "bars"]
BracketChoice: TypeAlias = Literal["significant", "neighbors"]
MAX_BRACKETS = 15  # brackets of a figure
MAX_NAMES_IN_LINE = 4  # models that a sentence names
MAX_MEASURE_NAME_LENGTH = 48  # characters of a measure name
SCORES_NOTE = (
    "Small points are the subjects. A hollow mark is not significantly above 0. The band is the "
    "noise ceiling: from the score of each subject with the other subjects to the highest mean "
    "that a model can reach. Brackets have the p-values of differences, adjusted for all pairs."
)


def model_scores_bars(
    scores: ModelScores,
    *,
    marks: ScoreMarks = "points",
    brackets: Sequence[tuple[str, str]] | BracketChoice | None = None,
) -> Bars:
    """Return the scores as a figure, the most similar model first.

    ``marks``: "points" or "bars". ``brackets``: pairs of model names, "significant" or "neighbors";
    None draws no brackets. Raises ``ValueError`` for other marks and brackets, and for more than 15
    brackets.
    """
    check_choice("plot.model_scores: marks", marks, get_args(ScoreMarks))
    order = scores.order
    is_above = np.full(len(order), True)
    if scores.is_0_by_chance:
        is_above = scores.above_0() <= ALPHA
    bars = tuple(
        Bar(
            scores.models[i],
            float(scores.mean[i]),
            finite_or_none(scores.low[i]),
            finite_or_none(scores.high[i]),
            is_hollow=not is_above[i],
            points=tuple(scores.values[:, i].tolist()),
        )
        for i in order
    )
    label = f"{shorten_name(scores.measure, MAX_MEASURE_NAME_LENGTH)}, "
    if scores.score != "similarity":
        label = f"{SCORE_TITLES[scores.score]}, {label}"
    label += f"mean over {len(scores.subjects)} subjects"
    return Bars(
        "model_scores",
        scores.measure,
        label,
        bars,
        is_dotted=marks == "points",
        band=(scores.ceiling[0], scores.ceiling[2]) if scores.ceiling else None,
        brackets=tuple(_brackets(scores, brackets)),
    )


def _brackets(
    scores: ModelScores, choice: Sequence[tuple[str, str]] | BracketChoice | None
) -> Iterator[Bracket]:
    """Yield the chosen brackets, the nearest rows first; none for None.

    ``choice``: pairs of model names, "significant" pairs, or "neighbors". A bracket has two rows of
    the figure, from 0 for the most similar model, and the adjusted p-value. Raises ``ValueError``
    for other choices, and for more than 15 brackets.
    """
    if choice is None:
        return
    pvalues, order = scores.pairs(), scores.order.tolist()
    rows = {scores.models[i]: row for row, i in enumerate(order)}
    if isinstance(choice, str):
        check_choice("plot.model_scores: brackets", choice, get_args(BracketChoice))
        pairs = list(combinations(range(len(order)), 2))
        if choice == "neighbors":
            pairs = [(i, j) for i, j in pairs if j == i + 1]
        else:
            pairs = [(i, j) for i, j in pairs if pvalues[order[i], order[j]] <= ALPHA]
    else:
        named: Any = choice
        if not isinstance(named, Sequence) or any(isinstance(pair, str) for pair in named):
            raise ValueError(
                "plot.model_scores: brackets are pairs of models, such as [('a', 'b')], or "
                f"{' or '.join(map(repr, get_args(BracketChoice)))}; got {choice!r}"
            )
        pairs = [_rows_of_pair(pair, rows) for pair in named]
    if len(pairs) > MAX_BRACKETS:
        raise ValueError(
            f"plot.model_scores draws at most {MAX_BRACKETS} brackets; got {len(pairs)}; choose "
            "some by brackets=[(model, model), ...]"
        )
    for i, j in sorted(pairs, key=lambda pair: abs(pair[1] - pair[0])):
        p = float(pvalues[order[i], order[j]])
        yield Bracket(i, j, format_pvalue(p if p >= 0.001 else float(f"{p:.1g}")))


def _rows_of_pair(pair: tuple[str, str], rows: dict[str, int]) -> tuple[int, int]:
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(
            f"plot.model_scores: a bracket joins two different models, (a, b); got {pair!r}"
        )
    for name in pair:
        if name not in rows:
            raise ValueError(
                f"plot.model_scores: brackets name no model {name!r}{did_you_mean(name, rows)}"
            )
    return rows[pair[0]], rows[pair[1]]


# --------------------------------------------------------------------------------------------- page


def model_scores_result(scores: ModelScores) -> Result:
    """Return scores of models as a result for a page."""
    level, best = format_level(scores.confidence_level), int(scores.order[0])
    label = f"score of {scores.models[best]} ({level} interval {_interval(scores, best)})"
    counts = {label: format_two_decimals(float(scores.mean[best]))}
    if scores.ceiling:
        low, _, high = map(format_two_decimals, scores.ceiling)
        counts["noise ceiling"] = f"{low} to {high}"
    if scores.is_0_by_chance:
        count = int((scores.above_0() <= ALPHA).sum())
        counts["models significantly above 0"] = f"{count} of {len(scores.models)}"
    sections = [
        _scores_section(scores),
        *_differences_sections(scores),
        *_fitted_parts_sections(scores.fitted_parts),
        Section("subjects", "Score of each subject", "", (subjects_table(scores),), is_closed=True),
    ]
    return Result(
        "score_models",
        "",
        tuple(sections),
        {scores.measure: scores.measure},
        provenance={"command": "resemblance score-models", **scores.provenance},
        facts={
            "measure": scores.measure,
            "models": str(len(scores.models)),
            "subjects": str(len(scores.subjects)),
        },
        conclusion="\n".join(_conclusion(scores)),
        caveats=tuple(f"{caveat[:1].upper()}{caveat[1:]}." for caveat in scores.caveats),
        title="Scores of models over subjects",
        counts=counts,
    )


def _interval(scores: ModelScores, i: int) -> str:
    return f"{format_two_decimals(scores.low[i])} to {format_two_decimals(scores.high[i])}"


def _conclusion(scores: ModelScores) -> Iterator[str]:
    """Yield sentences: the best model, the models tied with the best, and the models that are not
    below the noise ceiling."""
    first, *others = scores.order.tolist()
    name = scores.models[first]
    yield f"{name} has the best mean score over {len(scores.subjects)} subjects."
    pvalues = scores.pairs()
    tied = [scores.models[i] for i in others if not pvalues[first, i] <= ALPHA]
    if others:
        words = f"significantly more similar than {_names_or_count(scores, others, tied)}"
        yield f"{name} is {words} (adjusted p at most {ALPHA:g})."
    if scores.ceiling:
        is_below = scores.below_ceiling() <= ALPHA
        reached = [scores.models[i] for i in scores.order if not is_below[i]]
        words = join_words(reached[:MAX_NAMES_IN_LINE]) if reached else "No model"
        more = f" and {len(reached) - MAX_NAMES_IN_LINE} more" * (len(reached) > MAX_NAMES_IN_LINE)
        verb = "is" if len(reached) < 2 else "are"
        ending = f"{verb} not significantly below" if reached else "reaches"
        yield f"{words}{more} {ending} the noise ceiling."


def _names_or_count(scores: ModelScores, others: Sequence[int], tied: Sequence[str]) -> str:
    better = len(others) - len(tied)
    if not better:
        return "no other model"
    if len(others) == 1:
        return scores.models[others[0]]
    tail = f"; {join_words(tied)} {'is' if len(tied) == 1 else 'are'} tied" if tied else ""
    tail = tail if len(tied) <= MAX_NAMES_IN_LINE else f"; {len(tied)} models are tied"
    return f"{better} of {len(others)} other models{tail}"


def _scores_section(scores: ModelScores) -> Section:
    pairs = scores.pairs()[np.triu_indices(len(scores.models), 1)]
    is_few = 0 < (pairs <= ALPHA).sum() <= MAX_BRACKETS
    figure = model_scores_bars(scores, brackets="significant" if is_few else None)
    records, level = scores.records(), format_level(scores.confidence_level)
    rows = []
    for i in scores.order:
        row = records[i]
        span = f"{format_number(row['low'], 3)} to {format_number(row['high'], 3)}"
        tests = [
            None if row[name] is None else format_pvalue(row[name])
            for name in ("pvalue_above_0", "pvalue_below_ceiling")
        ]
        rows.append((row["model"], row["value"], span, *tests))
    columns = ("model", "mean", f"{level} interval", "p above 0", "p below the ceiling")
    table = Table("models", "Models", columns, tuple(rows), figures=3)
    table = table.without_empty_columns(*columns[3:])
    reasons = {failure.x: failure.reason for failure in scores.failures}
    figure = figure._replace(title="Scores", note=SCORES_NOTE)
    return Section("scores", "Scores", "", (table,), (figure,), reasons=reasons)


def _differences_sections(scores: ModelScores) -> Iterator[Section]:
    """Yield the section with the differences of all pairs of models; nothing for a single model."""
    if len(scores.models) > 1:
        about = "Errors account for other subjects and other stimuli. Adjusted p-values: Holm."
        table = differences_table(scores)
        yield Section("differences", "Differences between models", about, (table,))


def differences_table(scores: ModelScores) -> Table:
    """Return the differences of all pairs of models, the most similar models first."""
    pvalues, level = scores.pairs(), format_level(scores.confidence_level)
    rows = []
    for i, j in combinations(scores.order.tolist(), 2):
        d = scores.difference(scores.models[i], scores.models[j])
        span = f"{format_number(d.low, 3)} to {format_number(d.high, 3)}"
        names = (scores.models[i], scores.models[j])
        rows.append((*names, d.value, span, format_pvalue(d.pvalue), format_pvalue(pvalues[i, j])))
    columns = ("model", "other model", "difference", f"{level} interval", "p", "adjusted p")
    return Table("differences", "Differences", columns, tuple(rows), figures=3)


def _fitted_parts_sections(parts: Sequence[FittedPart]) -> Iterator[Section]:
    """Yield two sections: the mean shares of the parts of fitted models, and the weights of all
    fits. Yield nothing without parts."""
    if not parts:
        return
    rows = tuple(
        (model, part, float(np.mean(shares)), min(shares), max(shares))
        for model, by_part in shares_by_part(parts).items()
        for part, shares in by_part.items()
    )
    columns = ("model", "part", "mean share", "smallest share", "largest share")
    yield Section(
        "fitted_parts",
        "Parts of the fitted models",
        "A share is the weight of a part scaled to length 1. The shares of a fit sum to 1. Each "
        "subject and fold has a fit to the other subjects and the other stimuli.",
        (Table("parts", "Parts", columns, rows, figures=3),),
    )
    weights = Table.of([part._asdict() for part in parts], "weights", "Weights", figures=3)
    yield Section("weights", "Weights of each subject and fold", "", (weights,), is_closed=True)


def subjects_table(scores: ModelScores) -> Table:
    """Return the score of each subject, a row for each subject and a column for each model."""
    names = tuple(scores.models[i] for i in scores.order)
    rows = tuple(
        (subject, *values.tolist())
        for subject, values in zip(scores.subjects, scores.values[:, scores.order])
    )
    return Table("subjects", "Subjects", ("subject", *names), rows, figures=3)
