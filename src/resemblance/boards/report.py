"""The report of a submission, in Markdown: for its author, and for those who read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..report.markup import as_markdown
from ..report.numbers import counted
from ..report.terminal import plain_table
from .ranking import board_of
from .score_files import ScoreFile
from .standing import Standing, can_rank, moved, standing, standing_parts, view_of
from .submission import Submission
from .views import labels_of

MOST = 12  # measures whose position moved


class Joining(NamedTuple):
    """What a measure does to the ranking it joins: where it stands, and which other measures change
    places with each other, as :func:`~.standing.moved` returns them."""

    standing: Standing
    shifts: Mapping[str, tuple[int, int]]
    labels: Mapping[str, str]


def joining(others: Sequence[ScoreFile], submission: Submission) -> Joining | None:
    """Return what a measure does to the ranking of others; None if there are none to rank."""
    files = [*others, *submission.scores]
    if not can_rank(files):
        return None
    board = board_of(files)
    shown, labels = view_of(board), labels_of(board)
    shifts = {}
    if can_rank(others):
        shifts = moved(view_of(board_of(others)), shown, submission.spec)
    return Joining(standing(board, shown, submission.spec), shifts, labels)


def report_text(submission: Submission, joined: Joining | None) -> str:
    """Return the report: where the measure stands, whose position it moved, its checks, its card
    and where its scores were computed."""
    return as_markdown([*_parts(submission, joined)])


def _parts(submission: Submission, joined: Joining | None) -> Iterator[Any]:
    if joined is None:
        yield f"{submission.spec}: there are no other measures on these packs to rank it among."
    else:
        yield from standing_parts(joined.standing, joined.labels)
        yield from _shift_parts(joined.shifts, joined.labels)
    yield from _check_parts(submission)
    card = submission.card.authors
    tuned = ", ".join(card.tuned_on) or "nothing here"
    yield (
        f"{card.title}, by {', '.join(card.authors)}; licence: {card.licence}; tuned on: {tuned}."
    )
    yield plain_table(("computed with", ""), _environment(submission))


def _shift_parts(shifts: Mapping[str, tuple[int, int]], labels: Mapping[str, str]) -> Iterator[Any]:
    if not shifts:
        yield "No other measures change places with each other."
        return
    yield f"{counted(len(shifts), 'other measure')} in another position among each other:"
    rows = [(labels[m], str(old), str(new)) for m, (old, new) in list(shifts.items())[:MOST]]
    yield plain_table(("measure", "before", "now"), rows, right=(1, 2))


def _check_parts(submission: Submission) -> Iterator[Any]:
    decided = [o for o in submission.outcomes if o.holds is not None]
    open_checks = len(submission.outcomes) - len(decided)
    rest = f"; {open_checks} could not be decided" if open_checks else ""
    holding = sum(bool(o.holds) for o in decided)
    yield f"{holding} of {counted(len(decided), 'check')} hold{rest}."
    if submission.failing:
        rows = [(o.check, o.claimed, o.detail) for o in submission.failing]
        yield plain_table(("check that fails", "claimed", "what was found"), rows)


def _environment(submission: Submission) -> list[tuple[str, str]]:
    environments = [scores.environment for scores in submission.scores]
    return sorted({item for environment in environments for item in environment.items()})
