"""The tables of an evidence for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..inference.nulls import p_text
from ..inference.result import Evidence
from .evidence_words import (
    Reading,
    Readings,
    caveats_in_words,
    design_line,
    furthest,
    level_words,
    readings,
    results_in_words,
)
from .numbers import decimals, digits, minus, number
from .terminal import LINES, plain_table


def evidence_tables(evidence: Evidence) -> list[Any]:
    """Return what to print: a line per measure and pair, or per measure if these are too many;
    then the result in words, what makes it doubtful, and the design."""
    known = readings(evidence)
    count = sum(len(of.pairs) for of in known)
    table = _pairs(evidence, known) if count <= LINES else _furthest(evidence, known)
    more = [] if count <= LINES else ["Every value: --format csv or json, --html FILE"]
    first, *_ = results_in_words(evidence, known)
    lines = [first, *caveats_in_words(evidence), design_line(evidence)]
    return [table, *map(minus, lines), *more]


def _pairs(evidence: Evidence, known: Sequence[Readings]) -> Any:
    """Return a line per measure and pair."""
    has_several = any(len(of.pairs) > 1 for of in known)
    has_reasons = not has_several and any(pair.reason for of in known for pair in of.pairs)
    header = ["measure", "x", "y", *_scores(evidence), "p"]
    header += ["adjusted"] * has_several + ["how"] + ["why not"] * has_reasons
    rows = [
        (
            *(of.info.spec, pair.x, pair.y),
            *_numbers(pair, places),
            p_text(pair.p, pair.how),
            *([p_text(pair.adjusted, pair.how)] if has_several else []),
            pair.how or "–",
            *([pair.reason] if has_reasons else []),
        )
        for of, places in zip(known, map(places_of, known))
        for pair in of.pairs
    ]
    column = 7 + has_several  # of the p-value that decides
    known_pairs = [pair for of in known for pair in of.pairs]
    tones = [
        (i, column, "good" if pair.is_beyond else "warning")
        for i, pair in enumerate(known_pairs)
        if pair.is_tested
    ]
    return plain_table(header, rows, right=range(3, 8 + has_several), tones=tones)


def _furthest(evidence: Evidence, known: Sequence[Readings]) -> Any:
    """Return a line per measure: how many pairs are beyond chance, and the furthest."""
    header = ("measure", "beyond chance", "x", "y", *_scores(evidence), "adjusted", "how")
    rows = []
    for of in known:
        tested = of.tested
        how = evidence.how(of.info.spec) or "–"
        if not tested:
            rows.append((of.info.spec, "not tested", *["–"] * 7, how))
            continue
        best, share = furthest(evidence, of), f"{of.beyond} of {len(tested)}"
        names, p = (best.x, best.y), p_text(best.adjusted, best.how)
        rows.append((of.info.spec, share, *names, *_numbers(best, places_of(of)), p, how))
    return plain_table(header, rows, right=(1, *range(4, 9)))


def _scores(evidence: Evidence) -> tuple[str, ...]:
    return "value", f"{level_words(evidence)} interval", "chance", "above chance"


def places_of(of: Readings) -> int | None:
    """Return how many decimals show the scores of all pairs of a measure; None for no one count."""
    return decimals(
        [abs(x) for pair in of.pairs for x in (pair.value, pair.low, pair.high, pair.chance)]
    )


def interval_of(pair: Reading, places: int | None) -> str:
    """Write the interval of a pair, a dash for none."""
    return (
        "–"
        if math.isnan(pair.low)
        else f"{digits(pair.low, places)} to {digits(pair.high, places)}"
    )


def _numbers(pair: Reading, places: int | None) -> tuple[str, ...]:
    """Write the scores of a pair with so many decimals."""
    value, chance = (number(x) if x == 0 else digits(x, places) for x in (pair.value, pair.chance))
    return value, interval_of(pair, places), chance, digits(pair.above, 3)
