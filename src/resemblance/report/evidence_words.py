"""Evidence in words: one reading per pair, the design, the intervals, the result and its doubts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ..base.rendering import picture
from ..base.text import ROUNDING, diagnostic_notes, table, without_rounding
from ..comparison.arrangements import between_models
from ..comparison.comparison import MeasureInfo, label_of
from ..contracts.claims import CHANCE
from ..inference.nulls import EXACT, FIXED, UNPAIRED, p_text, p_words
from ..inference.result import Evidence, above_chance
from .numbers import count, counted

ALPHA = 0.05  # of adjusted p-values: pairs above it count as not beyond chance
FEW_PAIRS = 6  # that a notebook shows one by one
FEW_REASONS = 3  # of missing numbers that a notebook shows
FEW_MEASURES = 8  # of more of them, not each gets a line of its own
MISSING = "–"
NAMES = ("measure", "value", "{level} interval", "chance", "above chance", "p", "how")
BETWEEN = " between models"
LARGE, MOST_PLACES = 10, 6  # numbers from there on have no set decimals; nor more of them than this


class Reading(NamedTuple):
    """All that is known about one measure of one pair; NaN where something does not exist.

    ``reason``: why there is no value, or "". ``is_self``: a representation and itself.
    """

    x: str
    y: str
    value: float
    low: float
    high: float
    chance: float
    above: float
    p: float
    adjusted: float
    how: str
    reason: str = ""
    is_self: bool = False

    @property
    def is_beyond(self) -> bool:
        """Whether the pair is beyond chance, all pairs of the map taken together."""
        return self.adjusted <= ALPHA

    @property
    def is_tested(self) -> bool:
        """Whether there is a p-value."""
        return not math.isnan(self.p)


class Readings(NamedTuple):
    """The readings of one measure: of every cell, and of the pairs that are tests of their own.

    ``name``: its label, or its specification where another measure here has that label.
    ``where``: which pairs these are, in words: " between models", or "" for all.
    """

    info: MeasureInfo
    name: str
    cells: tuple[tuple[Reading, ...], ...]
    pairs: tuple[Reading, ...]
    where: str = ""

    @property
    def tested(self) -> list[Reading]:
        """The pairs whose value could be beyond chance: none if the pairing does not matter."""
        return [pair for pair in self.pairs if pair.is_tested and pair.how != FIXED]

    @property
    def beyond(self) -> int:
        """How many pairs are beyond chance."""
        return sum(pair.is_beyond for pair in self.pairs)


def readings(evidence: Evidence) -> tuple[Readings, ...]:
    """Return the readings of all measures."""
    return tuple(readings_of(evidence, info) for info in evidence.measures)


def readings_of(evidence: Evidence, info: MeasureInfo) -> Readings:
    """Return the readings of one measure."""
    spec, is_square = info.spec, evidence.is_square
    reasons = {(f.x, f.y): f.reason for f in evidence.comparison.failures if f.measure == spec}
    scores = (evidence[spec], evidence.low(spec), evidence.high(spec), evidence.chance(spec))
    tables = [without_rounding(table, info) for table in scores]
    tables += [above_chance(evidence, info), evidence.p(spec), evidence.adjusted(spec)]
    columns = np.stack(tables, axis=-1).tolist()
    cells = tuple(
        tuple(
            Reading._make((x, y, *numbers, how, reasons.get((x, y), ""), is_square and i == j))
            for j, (y, numbers, how) in enumerate(zip(evidence.columns, row, ways))
        )
        for i, (x, row, ways) in enumerate(zip(evidence.rows, columns, evidence.nulls[spec].how))
    )
    is_half = is_square and info.symmetric
    pairs = tuple(c for i, row in enumerate(cells) for c in row[i + 1 if is_half else 0 :])
    others = tuple(pair for pair in pairs if not pair.is_self)
    return Readings(info, label_of(evidence.comparison, info), cells, others)


def readings_between_models(evidence: Evidence, known: Sequence[Readings]) -> tuple[Readings, ...]:
    """Return the readings with the pairs of layers of different models alone, without an untrained
    copy; with all pairs where no names are layers of several models."""
    reference = str(evidence.comparison.provenance.get("reference", ""))
    is_between = between_models(evidence.rows, evidence.columns, reference)
    if not is_between.any():
        return tuple(known)
    rows, columns = (
        {name: i for i, name in enumerate(names)} for names in (evidence.rows, evidence.columns)
    )
    chosen = []
    for of in known:
        pairs = tuple(p for p in of.pairs if is_between[rows[p.x], columns[p.y]])
        chosen.append(of._replace(pairs=pairs, where=BETWEEN))
    return tuple(chosen)


# ------------------------------------------------------------------------------------------ numbers


def brief(value: float) -> str:
    """Write a number with two decimals, one that is small or large with two or three digits."""
    if math.isnan(value):
        return MISSING
    if abs(value) < ROUNDING or not math.isfinite(value):
        return "0" if math.isfinite(value) else f"{value:g}"
    size = abs(value)
    return f"{value:.2f}" if 0.01 <= size < 10 else f"{value:.{2 if size < 1 else 3}g}"


def scores(reading: Reading) -> tuple[str, str, str, str]:
    """Write value, interval, chance and what is above it with the same decimals; no interval is "".

    The interval sets how many: at least two, and so many that half its width is not 0.
    """
    half = (reading.high - reading.low) / 2
    numbers = (reading.value, reading.low, reading.high, reading.chance, reading.above)
    if not 0 < half < math.inf or max(map(abs, numbers[:3])) >= LARGE:
        value, low, high, chance, above = map(brief, numbers)
    else:
        places = min(max(2, math.ceil(-math.log10(half))), MOST_PLACES)
        value, low, high, chance, above = (_rounded(number, places) for number in numbers)
    return value, "" if math.isnan(half) else f"{low} to {high}", chance, above


def _rounded(number: float, places: int) -> str:
    """Write a number with so many decimals, one without any or that is 0 as :func:`brief` does."""
    if not math.isfinite(number) or abs(number) < ROUNDING:
        return brief(number)
    return f"{round(number, places) + 0.0:.{places}f}"  # no −0


def score_words(reading: Reading) -> str:
    """Write a value with its interval and chance: "0.71 (0.66 to 0.75), chance 0.23"."""
    value, interval, chance, _ = scores(reading)
    ends = f" ({interval})" if interval else ""
    return f"{value}{ends}" + ("" if math.isnan(reading.chance) else f", chance {chance}")


def words_of(reading: Reading) -> str:
    """Return everything about one pair, as the pointer reads it."""
    if math.isnan(reading.value):
        return f"no value: {reading.reason}" if reading.reason else "no value"
    if reading.is_self:
        return f"{brief(reading.value)}; a representation is not tested against itself"
    parts = [score_words(reading)]
    if not math.isnan(reading.above):
        parts.append(f"above chance {scores(reading)[-1]}")
    if reading.is_tested and reading.how != FIXED:
        parts.append(p_words(reading.p, reading.how))
    if math.isnan(reading.chance):
        parts.append("chance unknown")
    return ", ".join([*parts, *([reading.how] if reading.how else [])])


# ------------------------------------------------------------------------------------------- design


def design_facts(evidence: Evidence) -> dict[str, str]:
    """Return by name: the samples, how chance was computed, the smallest p, the intervals."""
    is_map = len(_pairs(evidence)) > 1  # else there is nothing to adjust for
    adjusted = {"adjusted p": _by_measure(evidence, Evidence.adjustment)} if is_map else {}
    return {
        "samples": count(evidence.n_samples),
        "chance": _by_measure(evidence, Evidence.how),
        "smallest possible p": attainable_words(evidence),
        **adjusted,
        f"{level_words(evidence)} intervals": _by_measure(evidence, _parts_words),
    }


def _pairs(evidence: Evidence) -> set[frozenset[str]]:
    return {frozenset((x, y)) for x in evidence.rows for y in evidence.columns if x != y}


def design_line(evidence: Evidence) -> str:
    """Return the design in one line."""
    facts = design_facts(evidence)
    samples = facts.pop("samples")
    parts = [f"{samples} samples", *(f"{name}: {fact}" for name, fact in facts.items())]
    if evidence.design.shifts:
        parts.append("values are of all samples, the rest of windows that are not shifted")
    return "; ".join(parts)


def level_words(evidence: Evidence) -> str:
    """Write the level of the intervals: "95 %"."""
    return f"{100 * evidence.level:g} %"


def attainable_words(evidence: Evidence) -> str:
    """Say which p-values are the smallest that the design and the moments can give."""
    ways = {how for m in evidence.measures for row in evidence.nulls[m.spec].how for how in row}
    orders = p_text(evidence.attainable)
    if EXACT not in ways:
        return orders
    drawn = ways - {EXACT, FIXED, ""}
    return f"{orders} by orders, < 1e-4 by exact moments" if drawn else "< 1e-4"


def null_words(evidence: Evidence) -> str:
    """Say what chance is: the null hypothesis that the orders of the samples stand for."""
    design = evidence.design
    if design.shifts:
        return (
            f"Chance is the mean of the values of windows of {design.n - 2 * design.shifts} "
            f"samples that are shifted against each other by up to {design.shifts} steps in time, "
            "so that slow changes of each series by itself count as chance; what is above chance "
            "is of the windows that are not shifted (Harris 2020)."
        )
    groups, blocks = (
        "" if labels is None else counted(len(np.unique(labels)), word)
        for labels, word in ((design.groups, "group"), (design.blocks, "block"))
    )
    groups = groups and f" inside {groups}"
    if blocks:
        moved = f"{blocks} of samples of one representation change places{groups}"
    else:
        moved = f"the samples of one representation are reordered{groups}"
    shared = "; what all samples of a group share is part of chance" if groups else ""
    return f"Chance is the mean of the values when {moved}{shared}."


def caveats_in_words(evidence: Evidence) -> tuple[str, ...]:
    """Say why values, chance or intervals mean little: of the data, then of each measure."""
    notes = diagnostic_notes(evidence.comparison, without=CHANCE)
    return (*evidence.cautions, *(f"{spec}: {note}" for spec, note in notes.items()))


def _parts_words(evidence: Evidence, info: MeasureInfo) -> str:
    """Say from which values the intervals of a measure follow."""
    kind, values, _ = evidence.parts[info.spec]
    if kind == "left_out":
        return "from the values without each sample"
    unit = "samples" if evidence.design.blocks is None else "blocks"
    if kind == "halves":
        return f"from {values.shape[-1]} random halves of the {unit}"
    groups = "runs in time" if evidence.design.shifts else f"groups of {unit}"
    return f"from the values without each of {values.shape[-1]} {groups}"


def _by_measure(evidence: Evidence, text_of: Callable[[Evidence, MeasureInfo], str]) -> str:
    """Join texts about measures; each text once, with its measures if there are several texts."""
    names: dict[str, list[str]] = {}
    for info in evidence.measures:
        if text := text_of(evidence, info):
            names.setdefault(text, []).append(label_of(evidence.comparison, info))
    if len(names) <= 1:
        return "".join(names) or MISSING
    return ", ".join(f"{text} ({', '.join(labels)})" for text, labels in names.items())


# ------------------------------------------------------------------------------------------ results


def results_in_words(evidence: Evidence, known: Sequence[Readings]) -> tuple[str, ...]:
    """Say how many pairs are beyond chance and which is furthest; then a line for each measure, if
    there are several but not many. Of layers of several models, the pairs between models count."""
    tested = [r for r in readings_between_models(evidence, known) if r.tested]
    if not tested:
        return ("No pair could be tested.",)
    names = {frozenset((pair.x, pair.y)) for r in tested for pair in r.pairs}
    if len(names) == 1 and len(tested) > 1:
        first = _one_pair(evidence, tested)
    elif len(tested) == 1:
        return (_one_measure(evidence, tested[0]),)
    else:
        first = _several(evidence, tested)
    each = [_brief(evidence, r) for r in tested] if len(tested) <= FEW_MEASURES else []
    return (first, *each)


def furthest(evidence: Evidence, known: Readings) -> Reading:
    """Return the reading of the pair furthest above chance, in units of the spread."""
    pairs = [(pair.x, pair.y) for pair in known.pairs]
    best = evidence.best(known.info.spec, pairs=pairs)
    return known.pairs[pairs.index((best.row, best.column))]


def _one_measure(evidence: Evidence, known: Readings) -> str:
    """Say what the only measure shows."""
    pairs, label = known.tested, known.name
    best = furthest(evidence, known)
    if len(pairs) == 1:
        verb = "are beyond chance" if best.is_beyond else "are not beyond chance"
        return f"{best.x} and {best.y} {verb} by {label}: {_score(best, pairs)}."
    rest = f"furthest are {best.x} and {best.y}: {_score(best, pairs)}"
    share = _share(known.beyond, len(pairs), known.where)
    return f"{share} beyond chance by {label}; {rest}."


def _brief(evidence: Evidence, known: Readings) -> str:
    """Say what one of several measures shows."""
    pairs, label, best = known.tested, known.name, furthest(evidence, known)
    if len(pairs) == 1:
        return f"{label}: {_score(best, pairs)}"
    share = f"{known.beyond} of {len(pairs)}"
    return f"{label}: {share}, furthest {best.x} and {best.y}: {_score(best, pairs)}"


def _score(best: Reading, pairs: Sequence[Reading]) -> str:
    """Write the score of a pair with the p-value that holds for all pairs."""
    if len(pairs) == 1:
        return f"{score_words(best)}, {p_words(best.p, best.how)}"
    return f"{score_words(best)}, adjusted {p_words(best.adjusted, best.how)}"


def _share(beyond: int, pairs: int, where: str) -> str:
    if not beyond:
        return f"None of {pairs} pairs{where} is"
    if beyond == pairs:
        return f"All {pairs} pairs{where} are"
    return f"{beyond} of {pairs} pairs{where} {'is' if beyond == 1 else 'are'}"


def _one_pair(evidence: Evidence, tested: Sequence[Readings]) -> str:
    """Say by how many measures the only pair is beyond chance."""
    pair, beyond = tested[0].pairs[0], sum(r.beyond > 0 for r in tested)
    whole = "both" if len(tested) == 2 else f"all {len(tested)}"
    many = whole if beyond == len(tested) else f"{beyond or 'none'} of {len(tested)}"
    rest = "" if len(tested) == len(evidence.measures) else " that could be tested"
    return f"{pair.x} and {pair.y} are beyond chance by {many} measures{rest}."


def _several(evidence: Evidence, tested: Sequence[Readings]) -> str:
    """Say how many pairs are beyond chance by at least one measure, and by all."""
    verdicts: dict[frozenset[str] | tuple[str, str], list[bool]] = {}
    for known in tested:
        for pair in known.tested:
            key = frozenset((pair.x, pair.y)) if evidence.is_square else (pair.x, pair.y)
            verdicts.setdefault(key, []).append(pair.is_beyond)
    by_any, by_all = (sum(map(test, verdicts.values())) for test in (any, all))
    best, several = furthest(evidence, tested[0]), f"{len(tested)} measures"
    if by_any == by_all:
        whole = "both measures" if len(tested) == 2 else f"all {several}"
        ways = whole if by_all else f"any of {several}"
    else:
        ways = f"at least one of {several}, {by_all or 'none'} by all"
    return (
        f"{_share(by_any, len(verdicts), tested[0].where)} beyond chance by {ways}; furthest by "
        f"{tested[0].name} are {best.x} and {best.y}."
    )


# ----------------------------------------------------------------------------- terminal, notebook


def text_of(evidence: Evidence) -> str:
    """Return a head and a line for each measure."""
    rows = _rows(evidence, readings_between_models(evidence, readings(evidence)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    notes = (*caveats_in_words(evidence), *_reasons(evidence))
    return "\n  ".join([_head(evidence), *lines, *notes])


def _reasons(evidence: Evidence) -> list[str]:
    """Say of each measure why pairs lack a number; what ``how`` says is not said again."""
    reasons = Counter((f.measure, f.reason) for f in evidence.failures if UNPAIRED not in f.reason)
    return [
        f"{spec}: {reason}" + (f" ({number} pairs)" if number > 1 else "")
        for (spec, reason), number in reasons.most_common(FEW_REASONS)
    ]


def html_of(evidence: Evidence) -> str:
    """Return the table of the measures and a map of each of the first measures, as HTML."""
    known = readings(evidence)
    first, *_ = results_in_words(evidence, known)
    names, *lines = _rows(evidence, readings_between_models(evidence, known))
    facts = table(_head(evidence), names, lines)
    maps = picture(evidence) if any(len(of.pairs) > 1 for of in known) else ""
    notes = [*caveats_in_words(evidence), design_line(evidence)]
    return "".join([_paragraph(first), facts, maps, *map(_paragraph, notes)])


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _head(evidence: Evidence) -> str:
    size = f"{len(evidence.rows)} x {len(evidence.columns)} representations"
    of = (
        " and ".join((evidence.rows[0], evidence.columns[-1]))
        if len(_pairs(evidence)) == 1
        else size
    )
    return f"Evidence for {of}, {evidence.n_samples} samples"


def _rows(evidence: Evidence, known: Sequence[Readings]) -> list[tuple[str, ...]]:
    """Return names of columns, and lines: a line for each measure and pair, of more than a few
    pairs one for each measure."""
    most = max(len(of.pairs) for of in known)
    names = [name.format(level=level_words(evidence)) for name in NAMES]
    names[-2] = "p" if most == 1 else "adjusted p"
    if most > FEW_PAIRS:
        return [tuple(names), *(_line(evidence, of) for of in known)]
    rows = [tuple(names)] if most == 1 else [(names[0], "x", "y", *names[1:])]
    for info, pair in ((of.info, pair) for of in known for pair in of.pairs):
        p, places = (pair.p, ()) if most == 1 else (pair.adjusted, (pair.x, pair.y))
        rows.append((info.spec, *places, *scores(pair), p_text(p, pair.how), pair.how))
    return rows


def _line(evidence: Evidence, known: Readings) -> tuple[str, ...]:
    """Return what one measure shows of several pairs: the spans of their numbers."""
    pairs, spec = known.pairs, known.info.spec
    how = evidence.how(spec)
    names = "value", "chance", "above"
    value, chance, above = (_span([getattr(pair, name) for pair in pairs]) for name in names)
    tested = len(known.tested)
    share = f"{known.beyond} of {tested}{known.where} ≤ {ALPHA:g}" if tested else "not tested"
    widest = max((pair.high - pair.low for pair in pairs if pair.high > pair.low), default=0.0)
    interval = f"± {brief(widest / 2)} or less" if widest else ""
    return spec, value, interval, chance, above, share, how


def _span(values: Sequence[float]) -> str:
    """Write the least and the largest of some numbers, both with two decimals if one has them."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return MISSING
    least, largest = min(known), max(known)
    is_plain = 0.01 <= max(-least, largest) < 10
    ends = (f"{round(x, 2) + 0.0:.2f}" if is_plain else brief(x) for x in (least, largest))
    return " to ".join(dict.fromkeys(ends))
