"""What to do with an old index, decided from recalls and said in sentences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from .findings import percent

Goal = Literal["as_new", "as_before"]
WAYS = {
    "keep": "new queries as they are",
    "orthogonal": "a rotation of new queries",
    "affine": "an affine map of new queries",
}
TRUTHS = {
    "as_new": "the new model would find if all documents were embedded again",
    "as_before": "the old model found",
}
ANSWERS = {"as_new": "the new model's answers", "as_before": "the old model's"}
OVERSTATED = 0.043  # the most by which a continued recall was too high, of nine tried


class GroupRecall(NamedTuple):
    """The recall of the queries of one group; ``low`` is None where they are fewer than 20."""

    group: Hashable
    value: float
    low: float | None
    queries: int


class Recall(NamedTuple):
    """The share of the k right documents that queries find, averaged over queries, with its
    interval.

    The bounds of groups hold for all groups at once. ``hidden`` is what more documents in the pool
    might still take away, which ``low`` allows for.
    """

    value: float
    low: float
    high: float
    queries: int
    groups: tuple[GroupRecall, ...] = ()
    hidden: float = 0.0

    @property
    def worst(self) -> GroupRecall | None:
        """The group with the lowest recall of those with 20 queries at least."""
        assessed = [group for group in self.groups if group.low is not None]
        return min(assessed, key=lambda group: group.value, default=None)


class Option(NamedTuple):
    """A way to ask the old index, its recall by both truths, and why one is not assessed.

    ``numbers``: how many free numbers were fitted.
    """

    name: str
    numbers: int
    as_new: Recall | None
    as_before: Recall | None
    reason: str = ""


class Decision(NamedTuple):
    """What to do: "keep", "bridge", "re-embed" or "undecided"; by which option; and the groups
    whose documents are to be embedded again."""

    name: str
    option: str | None = None
    groups: tuple[Hashable, ...] = ()


def decide(options: Sequence[Option], goal: Goal, accept: float, is_estimate: bool) -> Decision:
    """Return the option of fewest free numbers whose lower bounds, of all queries and of every
    group, are at least ``accept``; else the one that fails in some groups only; else re-embed.

    An estimate for a larger index is no ground for a bridge.
    """
    recalls = {option.name: getattr(option, goal) for option in options}
    known = {name: recall for name, recall in recalls.items() if recall is not None}
    if not known:
        return Decision("undecided")
    if is_estimate:
        is_low = all(recall.high < accept for recall in known.values())
        return Decision("re-embed" if is_low else "undecided")
    for name, recall in known.items():
        if recall.low >= accept and not _failing(recall, accept):
            return Decision("keep" if name == "keep" else "bridge", name)
    for name, recall in known.items():
        failing = _failing(recall, accept)
        rest = [g for g in recall.groups if g.low is not None and g not in failing]
        if sum(group.queries for group in rest) >= recall.queries / 2:
            groups = tuple(group.group for group in failing)
            return Decision("keep" if name == "keep" else "bridge", name, groups)
    return Decision("re-embed")


def _failing(recall: Recall, accept: float) -> list[GroupRecall]:
    return [group for group in recall.groups if group.low is not None and group.low < accept]


def verdict(
    decision: Decision, options: Sequence[Option], goal: Goal, accept: float, k: int
) -> str:
    """Say in a sentence or two what to do, and what it gives."""
    goals = {o.name: getattr(o, goal) for o in options if getattr(o, goal) is not None}
    aim = f"of the {k} documents that {TRUTHS[goal]}"
    if decision.option is None:
        best = max(goals, key=lambda name: goals[name].value, default=None)
        if best is None:
            return (
                "Undecided: too few documents are known by both models to say what the new model "
                "would find. Pass index and embed."
            )
        finds = f"{WAYS[best]} {_finds(best)} {_share(goals[best])} {aim}"
        if decision.name == "undecided":
            return (
                f"Undecided: in an index of this size {finds}, by an estimate that was too high by "
                f"up to {percent(OVERSTATED)} where it was tried. Pass embed for a measured recall."
            )
        return (
            f"Embed all documents again: no way to ask the old index is shown to find "
            f"{percent(accept)}; at best {finds}."
        )
    recall = goals[decision.option]
    how = {
        "keep": "Keep the index, and ask it with new queries as they are",
        "orthogonal": "Keep the index, and map new queries by a rotation",
        "affine": "Keep the index, and map new queries by an affine map",
    }[decision.option]
    text = f"{how}: they find {_share(recall)} {aim}."
    if decision.groups:
        names = ", ".join(map(str, decision.groups))
        put = "put them" if decision.option == "keep" else "put them, mapped like the queries,"
        text += (
            f" Embed the documents of {names} again and {put} into the old index: queries of "
            f"{'these groups are' if len(decision.groups) > 1 else 'this group are'} not shown to "
            f"find {percent(accept)}."
        )
    return text


def _finds(name: str) -> str:
    return "find" if name == "keep" else "finds"


def _share(recall: Recall) -> str:
    return f"{percent(recall.value)} ({percent(recall.low)} to {percent(recall.high)})"


def option_line(option: Option, goal: Goal) -> str:
    """Say what one way to ask the old index gives by both truths, and in the worst group."""
    name = WAYS[option.name]
    words = f"{name[0].upper()}{name[1:]} {_finds(option.name)}"
    parts = [
        f"{_share(recall)} of {ANSWERS[truth]}"
        for truth, recall in (("as_new", option.as_new), ("as_before", option.as_before))
        if recall is not None
    ]
    if not parts:
        return f"{name[0].upper()}{name[1:]}: not assessed, as {option.reason}."
    line = f"{words} {', and '.join(parts)}"
    recall = getattr(option, goal)
    worst = None if recall is None else recall.worst
    if worst is not None and worst.low is not None:
        line += f"; {percent(worst.value)} (at least {percent(worst.low)}) in group {worst.group}"
    return f"{line}."
