"""The report of a submission, in Markdown: for its author, and for those who read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..report.markup import as_markdown
from ..report.numbers import counted
from ..report.terminal import plain_table
from .ranking import board_of
from .score_files import ScoreFile
from .standing import can_rank, moved, standing, standing_parts, view_of
from .submission import Submission
from .views import labels_of

MOST = 12  # measures whose position moved


def joined_parts(
    others: Sequence[ScoreFile], submission: Submission
) -> tuple[list[Any], list[Any]]:
    """Return texts and tables: where a measure is in the ranking that it joins, and which other
    measures change places with each other. Nothing where there are no others to rank."""
    files = [*others, *submission.scores]
    if not can_rank(files):
        return [], []
    board = board_of(files)
    shown, labels = view_of(board), labels_of(board)
    shifts = {}
    if can_rank(others):
        shifts = moved(view_of(board_of(others)), shown, submission.spec)
    where = standing(board, shown, submission.spec)
    return [*standing_parts(where, labels)], [*_shift_parts(shifts, labels)]


def report_text(submission: Submission, joined: Sequence[Any]) -> str:
    """Return the report: where the measure stands and whose position it moved, as it is ``joined``,
    its checks, its card and where its scores were computed."""
    return as_markdown([*_parts(submission, joined)])


def _parts(submission: Submission, joined: Sequence[Any]) -> Iterator[Any]:
    yield from joined or [
        f"{submission.spec}: there are no other measures on these packs to rank it among."
    ]
    yield from _check_parts(submission)
    card = submission.card.authors
    tuned = ", ".join(card.tuned_on) or "nothing here"
    yield (
        f"{card.title}, by {', '.join(card.authors)}; licence: {card.licence}; tuned on: {tuned}."
    )
    environments = [scores.environment for scores in submission.scores]
    lines = sorted({item for environment in environments for item in environment.items()})
    yield plain_table(("computed with", ""), lines)


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
