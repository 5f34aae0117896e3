"""An upgrade of an embedding model as a result: the options for the old index, and recall by
group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..base.formatting import format_count, format_number, format_percent
from ..sections.figures import Bar, Bars, Chart, Line
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from ..versions import IndexUpgrade
from ..versions.advice import format_decision, format_option_recalls
from .output import Output
from .terminal import text_table

UPGRADE_TITLE = "An old index under a new model"
GOAL_LABELS = {"new_model": "the new model's answers", "old_model": "the old model's answers"}
DECISION_TONES = {0: "good", 1: "bad", 4: "warning"}  # by the exit code of the decision
OPTION_MEANINGS = {
    "keep": "The old index answers new queries as they are.",
    "normalize": "The stored vectors are normalised.",
    "cut": "The wider vectors are cut.",
    "orthogonal": "The queries are rotated.",
    "affine": "The queries have a linear map and a shift.",
    "documents_orthogonal, documents_affine": "The stored vectors are mapped to the new model.",
    "part[s]": "The share s of the documents is re-embedded, and the others are mapped. The search "
    "ranks new and mapped vectors together, so part[s] can find less than a map of all documents.",
    "re-embed": "All documents are re-embedded.",
}
MAX_GROUP_ROWS = 12  # groups in the table, those with the lowest recall


def upgrade_result(upgrade: IndexUpgrade, *, title: str = UPGRADE_TITLE) -> Result:
    """Return an upgrade as a :class:`~resemblance.sections.result.Result`, to show or save."""
    settings = upgrade.settings
    run_settings = {
        "seed": str(settings["seed"]),
        "confidence_level": f"{settings['confidence_level']:g}",
    }
    return Result(
        "upgrade",
        "",
        (
            _options_section(upgrade),
            *_candidates_sections(upgrade),
            *_lowest_groups_sections(upgrade),
            *_recall_curve_sections(upgrade),
        ),
        provenance={**upgrade.provenance, **run_settings},
        facts={
            "documents in the index": f"{settings['index']:,}",
            "documents by both models": f"{settings['documents']:,}",
            "queries": f"{settings['queries']:,}",
            "features, old → new": " → ".join(f"{w:,}" for w in settings["widths"]),
        },
        conclusion="\n".join((upgrade.conclusion, *_details_beside_table(upgrade))),
        about=" ".join(f"{caveat}." for caveat in upgrade.caveats),
        title=title,
        counts=_headline_numbers(upgrade),
        tone=DECISION_TONES[upgrade.code],
    )


def _headline_numbers(upgrade: IndexUpgrade) -> dict[str, str]:
    """Return texts by label: the decision, the recall of the chosen or best option and of keeping
    the index, and the smallest acceptable recall."""
    target = upgrade.settings["target"]
    recalls = {o.name: recall for o in upgrade.options if (recall := getattr(o, target))}
    best = upgrade.option or max(
        (name for name in recalls if name != "re-embed"),
        key=lambda name: recalls[name].value,
        default="",
    )
    labels = {best: f"recall with {best}", "keep": "recall with new queries as they are"}
    numbers = {
        label: format_percent(recalls[name].value)
        for name, label in labels.items()
        if name in recalls
    }
    enough = format_percent(upgrade.settings["min_recall"])
    decision = format_decision(upgrade.decision, upgrade.option)
    return {"decision": decision, **numbers, "recall that is enough": enough}


def upgrade_output(upgrade: IndexUpgrade) -> Output:
    """Return the output of an upgrade; the document has everything except the maps."""
    rows, result = upgrade.records(), upgrade_result(upgrade)
    document = {
        "decision": upgrade.decision,
        "option": upgrade.option,
        "groups": list(upgrade.groups),
        "gain": None if upgrade.gain is None else upgrade.gain._asdict(),
        "conclusion": upgrade.conclusion,
        "options": rows,
        "settings": dict(upgrade.settings),
        "caveats": list(upgrade.caveats),
        "details": list(upgrade.details),
        "provenance": dict(upgrade.provenance),
    }
    tables = [
        table for name in ("ways", "candidates") for table in _tables_of_section(result, name)
    ]
    notes = (f"Note: {caveat}." for caveat in upgrade.caveats)
    decision = f"Decision: {format_decision(upgrade.decision, upgrade.option)}"
    parts: list[Any] = [decision, upgrade.conclusion, *notes, *_details_beside_table(upgrade)]
    parts += [part for table in tables for part in ("", text_table(table))]
    return Output(parts, document, rows)


def _details_beside_table(upgrade: IndexUpgrade) -> list[str]:
    """Return the details of an upgrade without the sentences on recalls of options, which are rows
    of the table."""
    target = upgrade.settings["target"]
    recalls = {format_option_recalls(option, target) for option in upgrade.options}
    return [sentence for sentence in upgrade.details if sentence not in recalls]


def _tables_of_section(result: Result, name: str) -> Sequence[Table]:
    return next((s.tables for s in result.sections if s.name == name), ())


def _options_section(upgrade: IndexUpgrade) -> Section:
    """Return the section with the recall of every option, against the answers of the new model and
    of the old model, and the costs."""
    columns = (
        "option", "answers of", "recall", "low", "high", "lowest of a group", "parameters",
        "re-embed", "rebuild", "break-even",
    )  # fmt: skip
    rows: list[tuple[TableEntry, ...]] = []
    for row in upgrade.records():
        if row["value"] is not None and not row["candidates"]:
            worst_value, group = row["worst_value"], row["worst_group"]
            lowest = None if worst_value is None else f"{format_number(worst_value)} ({group})"
            numbers, embeds = (
                None if count is None else format_count(count)
                for count in (row["n_parameters"], row["embeds"])
            )
            facts = (row["value"], row["low"], row["high"], lowest, numbers)
            rebuild = "yes" if row["rebuild"] else "no"
            costs = (embeds, rebuild, row["break_even"])
            truth = "new" if row["target"] == "new_model" else "old"
            rows.append((row["option"], truth, *facts, *costs))
    goal, accept = upgrade.settings["target"], upgrade.settings["min_recall"]
    figure = Bars(
        "recalls",
        f"Recall of {GOAL_LABELS[goal]}",
        f"share of the {upgrade.settings['k']} documents",
        tuple(_recall_bars(upgrade)),
        f"The line is the smallest acceptable recall, {accept:g}.",
        threshold=accept,
        span=(0.0, 1.0),
    )
    description = (
        "The recall is the share of the right documents that a query finds: the documents that the "
        "new model would find if all documents were re-embedded, or the documents that the old "
        "query found. Re-embed is the number of documents to embed again at once, rebuild whether "
        "stored vectors change. The break-even is the number of queries after which re-embedding "
        "all documents costs less than the lost answers."
    )
    reasons = {
        o.name: f"not assessed: {o.reason}"
        for o in upgrade.options
        if o.new_model is None and o.old_model is None
    }
    table = Table("ways", "Options for the old index", columns, tuple(rows), figures=3)
    table = table.without_empty_columns("lowest of a group", "break-even")
    figures = (figure,) if figure.bars else ()
    title = "Options for the old index"
    return Section(
        "ways", title, description, (table,), figures, reasons=reasons, terms=OPTION_MEANINGS
    )


def _recall_bars(upgrade: IndexUpgrade) -> Iterator[Bar]:
    for option in upgrade.options:
        recall = getattr(option, upgrade.settings["target"])
        if recall is not None and not option.candidates:
            yield Bar(option.name, recall.value, recall.low, recall.high)


def _candidates_sections(upgrade: IndexUpgrade) -> Iterator[Section]:
    """Yield the section with the share of the new model's answers among the first candidates of
    every option; nothing without candidates."""
    options = [o for o in upgrade.options if o.candidates and o.new_model is not None]
    if not options:
        return
    counts = sorted({o.candidates for o in options})
    recall_by_base = {(o.base, o.candidates): o.new_model for o in options}
    rows: list[tuple[TableEntry, ...]] = []
    for base in dict.fromkeys(o.base for o in options):
        recalls = [recall_by_base.get((base, count)) for count in counts]
        rows.append((base, *(None if recall is None else recall.value for recall in recalls)))
    description = (
        "Each option returns candidates of the old index, and the new model re-ranks the "
        "candidates: the share of the new model's answers among them. old_queries are queries by "
        "the old model. The candidates of each query are re-embedded when it is asked."
    )
    columns = ("candidates of", *(f"first {count}" for count in counts))
    table = Table("candidates", "Candidates to re-rank", columns, tuple(rows), figures=3)
    yield Section("candidates", "Candidates to re-rank", description, (table,))


def _lowest_groups_sections(upgrade: IndexUpgrade) -> Iterator[Section]:
    """Yield the section with the groups of lowest recall, for the chosen option or the best option;
    nothing without groups."""
    goal = upgrade.settings["target"]
    recalls = {o.name: getattr(o, goal) for o in upgrade.options if getattr(o, goal) is not None}
    best = upgrade.option if upgrade.option in recalls else ""
    best = best or max(
        (name for name in recalls if name != "re-embed"),
        key=lambda name: recalls[name].value,
        default="",
    )
    if not best or not recalls[best].groups:
        return
    groups = sorted(recalls[best].groups, key=lambda group: group.value)[:MAX_GROUP_ROWS]
    rows = tuple((str(g.group), g.value, g.low, g.queries) for g in groups)
    description = (
        f"Recall of {GOAL_LABELS[goal]} by {best}, the groups with the lowest first. Lower bounds "
        "hold for all groups together; a group of few queries has none."
    )
    columns = ("group", "recall", "at least", "queries")
    yield Section(
        "groups", "Groups", description, (Table("groups", "Groups", columns, rows, figures=3),)
    )


def _recall_curve_sections(upgrade: IndexUpgrade) -> Iterator[Section]:
    """Yield the section with the recall for growing numbers of documents, up to the size of the
    index; nothing without a curve."""
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
    description = (
        "The last point of each line is the estimate for the whole index; the others are known."
    )
    yield Section("curve", "Recall by size of the index", description, figures=(chart,))
