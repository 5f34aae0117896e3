"""Mean ranks of measures as a figure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .figures import Bar, Bars
from .ranks import Ranking

MEAN_RANK_AXIS = "mean rank, 1 is the best"
MEAN_RANKS_NOTE = (
    "Mean ranks are of these tasks alone, without intervals; a measure without a value in a task "
    "is ranked behind all that have one."
)


def mean_rank_bars(
    rankings: Iterable[Ranking],
    names: Mapping[str, str],
    *,
    name: str = "mean ranks",
    title: str = "Mean ranks",
    worst: float,
    note: str = MEAN_RANKS_NOTE,
    marked: Collection[str] = (),
) -> Bars:
    """Return the mean ranks of measures as a figure, in the order of ``rankings``.

    ``names``: the labels by measure. ``worst``: the last rank of the axis. ``marked``: the measures
    that stand out.
    """
    bars = tuple(
        Bar(names.get(r.measure, r.measure), r.mean, is_marked=r.measure in marked)
        for r in rankings
    )
    return Bars(name, title, MEAN_RANK_AXIS, bars, note, None, (1.0, worst), is_dotted=True)
