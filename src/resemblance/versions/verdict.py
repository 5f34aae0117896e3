"""What counts as drift for which purpose, and the verdict in words."""

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
SIDES_BY_PURPOSE: dict[str, tuple[DriftSide, ...]] = {  # what counts for each, the strictest first
    "index": ("geometry", "coordinates", "index"), "head": ("geometry", "coordinates"),
    "geometry": ("geometry",),
}  # fmt: skip
PURPOSE_NAMES = {
    "index": "a search index",
    "head": "a trained head",
    "geometry": "the geometry alone",
}
MAX_NAMED_COLUMNS = 5  # columns that a verdict names
COORDINATE_CHANGES = (
    "translation",
    "scale",
    "rotation",
    "linear",
)  # kinds of change that move the coordinates


@dataclass(frozen=True)
class Judgement:
    """One side of the change: whether something is above its threshold, and whether that counts for
    the purpose."""

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
    """Judge the geometry, the coordinates, and old vectors that new queries search."""
    wider = f"the width changed from {widths[0]} to {widths[1]}" if widths[0] != widths[1] else ""
    # That of neighbours is a row of its own.
    losses = [format_change(f) for f in findings if f.exceeds_threshold and f.kind != "neighbours"]
    geometry = _format_exceeded_tests([d for d in rows if d.aspect == "geometry"], losses)
    coordinates = _format_exceeded_tests(
        [d for d in rows if d.aspect == "coordinates"], [wider] if wider else []
    )
    (old,) = (d for d in rows if d.aspect == "index")
    counts = SIDES_BY_PURPOSE[purpose]
    return {
        "geometry": Judgement(
            bool(geometry), "geometry" in counts, _side_sentence("Geometry", geometry)
        ),
        "coordinates": Judgement(
            bool(coordinates), "coordinates" in counts, _side_sentence("Coordinates", coordinates)
        ),
        "index": Judgement(
            old.exceeds_threshold, "index" in counts, _search_sentence(old, wider, k)
        ),
    }


def _format_exceeded_tests(rows: Sequence[DriftTest], more: Sequence[str]) -> str:
    far = sum(d.exceeds_threshold for d in rows)
    judged = sum(d.exceeds_threshold or d.threshold is not None for d in rows)
    return ", ".join([f"{far} of {judged} tests above the threshold", *more] if far else more)


def _side_sentence(side: str, above: str) -> str:
    return f"{side} changed ({above})" if above else f"{side} did not change beyond the threshold"


def _search_sentence(old: DriftTest, wider: str, k: int) -> str:
    if old.value is None or old.threshold is None:
        return f"New queries cannot search old vectors: {wider or old.reason}"
    value, limit = format_distinct_percents(old.value, old.threshold)
    side = "above" if old.exceeds_threshold else "within"
    return (
        f"New queries on old vectors lose {value} of their {k} nearest neighbours ({side} the "
        f"threshold of {limit})"
    )


def purpose_sentences(purpose: str, sides: Sequence[Judgement]) -> tuple[str, ...]:
    """A sentence for every side, which says when a change does not count."""
    left_out = f"; not counted for {PURPOSE_NAMES[purpose]}"
    return tuple(f"{j.sentence}{'' if j.counts or not j.drifted else left_out}." for j in sides)


def has_drifted(sides: dict[DriftSide, Judgement], order: RowPermutation | None) -> bool:
    """Whether a side that counts changed, or the rows are in another order, so that other samples
    were compared."""
    return order is not None or any(j.drifted and j.counts for j in sides.values())


def drift_verdict(
    purpose: str,
    sides: dict[DriftSide, Judgement],
    findings: Sequence[Finding],
    order: RowPermutation | None,
    facts: Sequence[Fact] = (),
) -> str:
    """Say whether there is drift for the purpose, what the rows show, what happened, and what
    changed without counting.

    A fact that explains the change takes the place of maps of all rows, unless classes moved, and
    of what undoes them.
    """
    drift = has_drifted(sides, order)
    first = f"{'Drift' if drift else 'No drift beyond the threshold'} for {PURPOSE_NAMES[purpose]}."
    if order:
        return f"{first} {_row_order_sentence(order)}"
    words = [fact.sentences for fact in facts]
    named = [f for f in findings if f.named]
    if any(fact.explains for fact in facts):
        has_moved = any(f.kind == "moved_classes" for f in named)
        return " ".join([first, *words, *(_format_named_changes(named) if has_moved else [])])
    words += _format_named_changes(named) if named or not facts else []
    return " ".join([first, *words, *_consequences(sides, findings)])


def judge_batches(purpose: str, rows: Sequence[DriftTest]) -> dict[DriftSide, Judgement]:
    """Judge batches of other samples: what the tests of each side show."""
    counts = SIDES_BY_PURPOSE[purpose]
    sides: dict[DriftSide, Judgement] = {}
    for side, name in (("geometry", "Geometry"), ("coordinates", "Coordinates")):
        above = _format_exceeded_tests([d for d in rows if d.aspect == side], [])
        words = f"{name} did not change beyond chance" if not above else _side_sentence(name, above)
        sides[side] = Judgement(bool(above), side in counts, words)  # type: ignore[index]
    unknown = "New queries on old vectors: not known, as it takes the same samples"
    sides["index"] = Judgement(False, "index" in counts, unknown)
    return sides


def batch_verdict(
    purpose: str,
    sides: dict[DriftSide, Judgement],
    rows: Sequence[DriftTest],
    facts: Sequence[Fact],
    features: Sequence[int],
    level: float,
) -> str:
    """Say whether batches of other samples have one distribution, and what differs."""
    drift = has_drifted(sides, None)
    first = f"{'Drift' if drift else 'No drift beyond chance'} for {PURPOSE_NAMES[purpose]}."
    tests = [d for d in rows if d.pvalue is not None]
    above = [d for d in tests if d.exceeds_threshold]
    words = f"of {len(tests)} tests, at {format_level(level)} for all together"
    text = f"The batches hold other samples, and none {words}, shows another distribution"
    if above:
        text = (
            f"The batches hold other samples, and {len(above)} {words}, show another distribution"
        )
    named = ", ".join(map(_short_test_label, above))
    parts = [first, *(fact.sentences for fact in facts), f"{text}{f': {named}' if named else ''}."]
    if features:
        listed = list_names(features, MAX_NAMED_COLUMNS)
        parts.append(f"Columns with another distribution, from 0: {listed}.")
    return " ".join(parts)


def _short_test_label(test: DriftTest) -> str:
    """The label of a test without its explanation, in small letters but for an acronym."""
    name = test.label.partition(":")[0].partition(",")[0]
    return name if name.isupper() else f"{name[0].lower()}{name[1:]}"


def _row_order_sentence(order: RowPermutation) -> str:
    rows = "the same rows" if order.exactly else "nearly the same rows"
    place = f"{format_percent(order.share)} of the samples are where another one was"
    return (
        f"The current version holds {rows} in another order ({place}): pair the samples and "
        "compare again."
    )


def _format_named_changes(named: Sequence[Finding]) -> list[str]:
    kinds = ", ".join(map(format_change, named))
    return [f"What happened: {kinds}." if named else "No kind of change is named."]


def _consequences(sides: dict[DriftSide, Judgement], findings: Sequence[Finding]) -> list[str]:
    """What a user of the old coordinates has to know: that a change there does not count, or how it
    is undone."""
    geometry, coordinates, index = (sides[side] for side in ("geometry", "coordinates", "index"))
    named = ", ".join(
        CHANGE_NAMES[f.kind] for f in findings if f.named and f.kind in COORDINATE_CHANGES
    )
    place = f"the coordinates changed{f' ({named})' if named else ''}"
    if coordinates.drifted and not coordinates.counts:
        return [
            f"But {place}: vectors of the old version cannot be compared with new ones, and a "
            "head trained on the old ones no longer fits. For an index or a head this is drift."
        ]
    if index.drifted and not index.counts and not (geometry.drifted or coordinates.drifted):
        return [f"But {index.sentence[0].lower()}{index.sentence[1:]}: for an index this is drift."]
    if coordinates.drifted and not geometry.drifted:
        same = ["put the old vectors through the same map"] if named else []
        remedies = ["map new queries, as rs.upgrade_index does", *same, "embed everything again"]
        if not index.counts:
            same = ["bring the new vectors back by the inverse map"] if named else []
            remedies = ["train the head again", *same]
        return [f"Only {place}: {', or '.join(remedies)}."]
    return []
