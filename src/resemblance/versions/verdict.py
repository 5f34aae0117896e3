"""The changes that count as drift for a purpose, and the verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..base.formatting import format_level, format_percent, list_names
from .facts import Fact
from .findings import CHANGE_NAMES, Finding, format_change, format_distinct_percents
from .moved import RowPermutation
from .table import DriftSide, DriftTest

DriftPurpose = Literal["index", "head", "geometry"]
# sides that count, the strictest purpose first
SIDES_BY_PURPOSE: dict[str, tuple[DriftSide, ...]] = {
    "index": ("geometry", "coordinates", "index"), "head": ("geometry", "coordinates"),
    "geometry": ("geometry",),
}  # fmt: skip
PURPOSE_NAMES = {
    "index": "a search index",
    "head": "a trained head",
    "geometry": "the geometry alone",
}
# losses that may be the variance that no map explains
NAMED_LOSSES = frozenset({"collapse", "classes", "moved_classes"})
MAX_NAMED_COLUMNS = 5  # columns that a verdict names
COORDINATE_CHANGES = (
    "translation",
    "scale",
    "rotation",
    "linear",
)  # kinds of change that move the coordinates


@dataclass(frozen=True)
class Judgement:
    """The judgement of a side of the change: whether a value is above the threshold, and whether
    the side counts for the purpose."""

    drifted: bool
    counts: bool
    sentence: str


def judge_versions(
    purpose: str,
    rows: Sequence[DriftTest],
    findings: Sequence[Finding],
    widths: tuple[int, int],
    k: int,
) -> dict[DriftSide, Judgement]:
    """Return the judgements of the geometry, the coordinates, and the search of new queries in old
    vectors, by side.

    ``rows``: the drifts. ``widths``: the columns of the two versions. ``k``: neighbours per query.
    """
    width_note = (
        f"the width changed from {widths[0]} to {widths[1]}" if widths[0] != widths[1] else ""
    )
    # The loss of neighbours has its own row of the table.
    losses = [format_change(f) for f in findings if f.exceeds_threshold and f.kind != "neighbours"]
    geometry = _format_exceeded_tests([d for d in rows if d.aspect == "geometry"], losses)
    coordinates = _format_exceeded_tests(
        [d for d in rows if d.aspect == "coordinates"], [width_note] if width_note else []
    )
    (index_test,) = (d for d in rows if d.aspect == "index")
    counts = SIDES_BY_PURPOSE[purpose]
    return {
        "geometry": Judgement(
            bool(geometry), "geometry" in counts, _side_sentence("Geometry", geometry)
        ),
        "coordinates": Judgement(
            bool(coordinates), "coordinates" in counts, _side_sentence("Coordinates", coordinates)
        ),
        "index": Judgement(
            index_test.exceeds_threshold,
            "index" in counts,
            _search_sentence(index_test, width_note, k),
        ),
    }


def _format_exceeded_tests(rows: Sequence[DriftTest], clauses: Sequence[str]) -> str:
    n_exceeded = sum(d.exceeds_threshold for d in rows)
    n_judged = sum(d.exceeds_threshold or d.threshold is not None for d in rows)
    return ", ".join(
        [f"{n_exceeded} of {n_judged} tests above the threshold", *clauses]
        if n_exceeded
        else clauses
    )


def _side_sentence(side: str, change: str) -> str:
    return f"{side} changed ({change})" if change else f"{side} did not change beyond the threshold"


def _search_sentence(test: DriftTest, width_note: str, k: int) -> str:
    if test.value is None or test.threshold is None:
        return f"New queries cannot search old vectors: {width_note or test.reason}"
    value, limit = format_distinct_percents(test.value, test.threshold)
    relation = "above" if test.exceeds_threshold else "within"
    return (
        f"New queries on old vectors lose {value} of their {k} nearest neighbours ({relation} the "
        f"threshold of {limit})"
    )


def purpose_sentences(purpose: str, sides: Sequence[Judgement]) -> tuple[str, ...]:
    """Return a sentence for every side, with a note if a change does not count for the purpose."""
    note = f"; not counted for {PURPOSE_NAMES[purpose]}"
    return tuple(f"{j.sentence}{'' if j.counts or not j.drifted else note}." for j in sides)


def has_drifted(sides: dict[DriftSide, Judgement], order: RowPermutation | None) -> bool:
    """Return whether a side with ``counts`` changed, or the rows are in another order, so that
    different samples were compared. ``sides``: the judgements by side. ``order``: the permutation
    of the rows, None if the rows are in place."""
    return order is not None or any(j.drifted and j.counts for j in sides.values())


def drift_verdict(
    purpose: str,
    sides: dict[DriftSide, Judgement],
    findings: Sequence[Finding],
    order: RowPermutation | None,
    facts: Sequence[Fact] = (),
    unexplained: str = "",
) -> str:
    """Return the verdict: drift or not, the facts of the rows, the named changes, the variance that
    no map explains, and changes that do not count.

    ``unexplained``: :attr:`.Diagnosis.unexplained_phrase`. The verdict has the phrase if the named
    changes do not account for the drift: changes of coordinates keep the geometry.

    A fact that explains the change replaces the named changes, unless classes moved, and the advice
    on undoing the change.
    """
    drift = has_drifted(sides, order)
    headline = (
        f"{'Drift' if drift else 'No drift beyond the threshold'} for {PURPOSE_NAMES[purpose]}."
    )
    if order:
        return f"{headline} {_row_order_sentence(order)}"
    sentences = [fact.sentences for fact in facts]
    named_findings = [f for f in findings if f.named]
    if any(fact.explains for fact in facts):
        has_moved = any(f.kind == "moved_classes" for f in named_findings)
        return " ".join(
            [headline, *sentences, *(_format_named_changes(named_findings) if has_moved else [])]
        )
    kinds = {finding.kind for finding in named_findings}
    is_needed = drift and (sides["geometry"].drifted or not kinds) and not kinds & NAMED_LOSSES
    rest = unexplained if is_needed else ""
    if named_findings or rest or not facts:
        sentences += _format_named_changes(named_findings, rest)
    return " ".join([headline, *sentences, *_consequences(sides, findings)])


def judge_batches(purpose: str, rows: Sequence[DriftTest]) -> dict[DriftSide, Judgement]:
    """Return the judgements of batches of different samples, by side. The side "index" is unknown:
    ``drifted`` is False. ``rows``: the drifts."""
    counts = SIDES_BY_PURPOSE[purpose]
    sides: dict[DriftSide, Judgement] = {}
    for side, name in (("geometry", "Geometry"), ("coordinates", "Coordinates")):
        change = _format_exceeded_tests([d for d in rows if d.aspect == side], [])
        sentence = (
            f"{name} did not change significantly" if not change else _side_sentence(name, change)
        )
        sides[side] = Judgement(bool(change), side in counts, sentence)  # type: ignore[index]
    unknown_sentence = (
        "New queries on old vectors: unknown, because this test needs the same "
        "samples in both versions"
    )
    sides["index"] = Judgement(False, "index" in counts, unknown_sentence)
    return sides


def batch_verdict(
    purpose: str,
    sides: dict[DriftSide, Judgement],
    rows: Sequence[DriftTest],
    facts: Sequence[Fact],
    features: Sequence[int],
    level: float,
) -> str:
    """Return the sentences that say whether batches of different samples have the same
    distribution, and which tests differ.

    ``sides``: the judgements by side. ``rows``: the drifts. ``facts``: about the rows.
    ``features``: the positions of the columns that moved. ``level``: the significance level of all
    tests together.
    """
    drift = has_drifted(sides, None)
    headline = f"{'Drift' if drift else 'No significant drift'} for {PURPOSE_NAMES[purpose]}."
    tests = [d for d in rows if d.pvalue is not None]
    exceeded_tests = [d for d in tests if d.exceeds_threshold]
    scope = f"of {len(tests)} tests, at {format_level(level)} for all together"
    text = f"The batches contain different samples, and none {scope}, shows another distribution"
    if exceeded_tests:
        text = (
            f"The batches contain different samples, and {len(exceeded_tests)} {scope}, show "
            "another distribution"
        )
    test_list = ", ".join(map(_short_test_label, exceeded_tests))
    sentences = [
        headline,
        *(fact.sentences for fact in facts),
        f"{text}{f': {test_list}' if test_list else ''}.",
    ]
    if features:
        column_list = list_names(features, MAX_NAMED_COLUMNS)
        sentences.append(f"Columns with another distribution, from 0: {column_list}.")
    if exceeded_tests:
        sentences.append(
            "The inputs may differ, or the model: to find out, embed the inputs of one batch "
            "again, and compare the two versions in pairs."
        )
    return " ".join(sentences)


def _short_test_label(test: DriftTest) -> str:
    """Return the label of a test without the explanation, with a small first letter except for an
    acronym."""
    name = test.label.partition(":")[0].partition(",")[0]
    return name if name.isupper() else f"{name[0].lower()}{name[1:]}"


def _row_order_sentence(order: RowPermutation) -> str:
    rows = "the same rows" if order.exactly else "nearly the same rows"
    note = f"{format_percent(order.share)} of the samples are where another one was"
    return (
        f"The current version holds {rows} in another order ({note}): pair the samples and "
        "compare again."
    )


def _format_named_changes(findings: Sequence[Finding], rest: str = "") -> list[str]:
    kinds = ", ".join(map(format_change, findings))
    text = ", and ".join(filter(None, (kinds, rest)))
    return [f"What happened: {text}." if text else "No kind of change is named."]


def _consequences(sides: dict[DriftSide, Judgement], findings: Sequence[Finding]) -> list[str]:
    """Return at most one sentence for users of the old coordinates: that a change does not count,
    or how to undo the change. ``sides``: the judgements of "geometry", "coordinates" and
    "index"."""
    geometry, coordinates, index = (sides[side] for side in ("geometry", "coordinates", "index"))
    changes = ", ".join(
        CHANGE_NAMES[f.kind] for f in findings if f.named and f.kind in COORDINATE_CHANGES
    )
    change_phrase = f"the coordinates changed{f' ({changes})' if changes else ''}"
    if coordinates.drifted and not coordinates.counts:
        return [
            f"But {change_phrase}: vectors of the old version cannot be compared with new ones, "
            "and a head trained on the old ones no longer fits. For an index or a head this is "
            "drift."
        ]
    if index.drifted and not index.counts and not (geometry.drifted or coordinates.drifted):
        return [f"But {index.sentence[0].lower()}{index.sentence[1:]}: for an index this is drift."]
    if coordinates.drifted and not geometry.drifted:
        map_remedies = ["apply the same map to the old vectors"] if changes else []
        remedies = [
            "map new queries, as rs.upgrade_index does",
            *map_remedies,
            "re-embed everything",
        ]
        if not index.counts:
            map_remedies = ["apply the inverse map to the new vectors"] if changes else []
            remedies = ["retrain the head", *map_remedies]
        return [f"Only {change_phrase}: {', or '.join(remedies)}."]
    return []
