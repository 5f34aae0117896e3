"""An upgrade of an embedding model as a result: the ways to ask the old index, and their groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..drift import Upgrade
from ..results.figures import Bar, Bars, Chart, Line
from ..results.result import Result
from ..results.sections import Entry, Section, Table
from .numbers import number
from .output import Output
from .terminal import text_table

TITLE = "An old index under a new model"
NAMES = {"as_new": "the new model's answers", "as_before": "the old model's answers"}
TONES = {"keep": "good", "bridge": "good", "re-embed": "bad", "undecided": "warning"}
GROUPS = 12  # in the table of groups, those with the lowest recall


def upgrade_result(upgrade: Upgrade, *, title: str = TITLE) -> Result:
    """Return an upgrade as a :class:`~resemblance.results.result.Result`, to show or save."""
    settings = upgrade.settings
    used = {"seed": str(settings["seed"]), "level": f"{settings['level']:g}"}
    return Result(
        "upgrade",
        "",
        (_ways(upgrade), *_groups(upgrade), *_curve(upgrade)),
        provenance={**upgrade.provenance, **used},
        facts={"decision": upgrade.decision},
        lead="\n".join((upgrade.verdict, *upgrade.lines)),
        about=" ".join(f"{caution}." for caution in upgrade.cautions),
        title=title,
        counts={
            "documents in the index": f"{settings['index']:,}",
            "documents by both models": f"{settings['documents']:,}",
            "queries": f"{settings['queries']:,}",
            "features, old → new": " → ".join(f"{w:,}" for w in settings["widths"]),
        },
        tone=TONES[upgrade.decision],
    )


def upgrade_output(upgrade: Upgrade, provenance: Mapping[str, Any] | None = None) -> Output:
    """Return what is written of an upgrade."""
    rows, result = upgrade.records(), upgrade_result(upgrade)
    document = result.document() | {
        "decision": upgrade.decision,
        "option": upgrade.option,
        "groups": list(upgrade.groups),
        "verdict": upgrade.verdict,
        "options": rows,
        "settings": dict(upgrade.settings),
        "cautions": list(upgrade.cautions),
    }
    if provenance:
        document["provenance"] = {**document["provenance"], **provenance}
    code = 0 if upgrade.decision in ("keep", "bridge") else 1
    cautions = [f"Note: {caution}." for caution in upgrade.cautions]
    shown = [
        *cautions,
        text_table(result.sections[0].tables[0]),
        "",
        *upgrade.lines,
        upgrade.verdict,
    ]
    return Output(shown, document, rows, page=upgrade, code=code)


def _ways(upgrade: Upgrade) -> Section:
    """The recall of each way to ask the old index, by both truths."""
    columns = (
        "way to ask", "answers of", "recall", "low", "high", "lowest of a group", "free numbers",
        "break-even",
    )  # fmt: skip
    rows: list[tuple[Entry, ...]] = []
    for row in upgrade.records():
        if row["recall"] is not None:
            worst, group = row["worst_recall"], row["worst_group"]
            lowest = None if worst is None else f"{number(worst)} ({group})"
            facts = (row["recall"], row["low"], row["high"], lowest)
            ends = (row["numbers"], row["break_even"])
            rows.append(
                (row["option"], "new" if row["truth"] == "as_new" else "old", *facts, *ends)
            )
    goal, accept = upgrade.settings["goal"], upgrade.settings["accept"]
    figure = Bars(
        "recalls",
        f"Recall of {NAMES[goal]}",
        f"share of the {upgrade.settings['k']} documents",
        tuple(_bars(upgrade)),
        f"The line is the recall that is enough, {accept:g}.",
        threshold=accept,
        span=(0.0, 1.0),
    )
    about = (
        "keep asks the old index with new queries as they are, orthogonal after a rotation, affine "
        "after a linear map with a shift. The recall is the share of the right documents that a "
        "query finds: those that the new model would find if all documents were embedded again, or "
        "those that the old query found. The break-even is the number of queries after which "
        "embedding all documents again costs less than what is lost."
    )
    reasons = {o.name: f"not assessed: {o.reason}" for o in upgrade.options if o.reason}
    table = Table("ways", "Ways to ask the old index", columns, tuple(rows), figures=3)
    figures = (figure,) if figure.bars else ()
    return Section("ways", "Ways to ask the old index", about, (table,), figures, reasons=reasons)


def _bars(upgrade: Upgrade) -> Iterator[Bar]:
    for option in upgrade.options:
        recall = getattr(option, upgrade.settings["goal"])
        if recall is not None:
            yield Bar(option.name, recall.value, recall.low, recall.high)


def _groups(upgrade: Upgrade) -> Iterator[Section]:
    """The groups with the lowest recalls, by the option chosen or the best one."""
    goal = upgrade.settings["goal"]
    recalls = {o.name: getattr(o, goal) for o in upgrade.options if getattr(o, goal) is not None}
    best = upgrade.option or max(recalls, key=lambda name: recalls[name].value, default="")
    if not best or not recalls[best].groups:
        return
    groups = sorted(recalls[best].groups, key=lambda group: group.value)[:GROUPS]
    rows = tuple((str(g.group), g.value, g.low, g.queries) for g in groups)
    about = (
        f"Recall of {NAMES[goal]} by {best}, the groups with the lowest first. Lower bounds hold "
        "for all groups together; a group of few queries has none."
    )
    columns = ("group", "recall", "at least", "queries")
    yield Section("groups", "Groups", about, (Table("groups", "Groups", columns, rows, figures=3),))


def _curve(upgrade: Upgrade) -> Iterator[Section]:
    """The recall among ever more documents, continued to the size of the index."""
    if not upgrade.curve:
        return
    points: dict[str, list[tuple[float, float]]] = {}
    for name, documents, recall in upgrade.curve:
        points.setdefault(name, []).append((float(documents), recall))
    lines = tuple(Line(name, tuple(places)) for name, places in points.items())
    chart = Chart(
        "curve", "Recall by size of the index", "documents", "recall", lines, log_x=True,
        span_y=(0.0, 1.0),
    )  # fmt: skip
    about = "The last point of each line is the estimate for the whole index; the others are known."
    yield Section("curve", "Recall by size of the index", about, figures=(chart,))
