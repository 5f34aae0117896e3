"""Drift reports of several layers as a single result: a row for every layer, then a section per
layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.results import saved_document
from ..comparison.provenance import environment_versions
from ..sections.result import Result, result_document
from ..sections.sections import Section, Table, TableEntry
from ..versions import DriftReport
from ..versions.findings import CHANGE_NAMES
from .of_drift import drift_result, drift_tone
from .output import Output, color_by_tone
from .terminal import text_table

LAYER_DRIFT_COLUMNS = {  # drifts in the table of layers, and column headings
    "cka": "1 − CKA",
    "displacement": "displacement",
    "neighbors": "neighbours lost",
    "old_index": "lost on old vectors",
    "energy": "energy distance",
    "mmd": "MMD",
    "classifier": "classifier",
}
TONES_WORST_FIRST = ("bad", "warning", "good")


def layers_output(
    reports: Mapping[str, DriftReport], left_out: str, provenance: Mapping[str, Any]
) -> Output:
    """Return the output of ``reports``, drift reports by layer name; the exit code is 1 if a layer
    drifted.

    ``left_out``: a sentence on the layers that only a single side has, or "". ``provenance``: the
    settings to record.
    """
    result = layers_result(reports, left_out, provenance)
    layers = result["layers"].tables[0]
    parts: list[Any] = [text_table(layers, tones=[(i, 1, "bad") for i in layers.marked])]
    parts += ["", *result.caveats, color_by_tone(result.conclusion, result.tone)]
    has_drifted = any(report.drifted for report in reports.values())
    documents = {layer: saved_document(report) for layer, report in reports.items()}
    records = [
        {"layer": n, **row} for n, drift_report in reports.items() for row in drift_report.records()
    ]
    document = {"drifted": has_drifted, "layers": documents} | result_document(result)
    return Output(parts, document, records, page=result, code=int(has_drifted))


def layers_result(
    reports: Mapping[str, DriftReport], left_out: str, provenance: Mapping[str, Any]
) -> Result:
    """Return a result with a table row and a section for every layer. The tone is the worst tone of
    a layer. ``reports``: by layer. ``left_out``: a sentence on the layers that only a single side
    has, or "". ``provenance``: the settings to record."""
    tones = {layer: drift_tone(report) for layer, report in reports.items()}
    drifted = [layer for layer, report in reports.items() if report.drifted]
    conclusion = f"No drift beyond the threshold in any of {len(reports)} layers."
    if drifted:
        conclusion = f"Drift in {len(drifted)} of {len(reports)} layers: {', '.join(drifted)}."
    settings = next(iter(reports.values())).settings
    return Result(
        "drift",
        "",
        (
            _layers_table(reports),
            *(_layer_section(layer, report) for layer, report in reports.items()),
        ),
        provenance={**environment_versions(), **provenance},
        facts={"purpose": settings["purpose"]},
        conclusion=conclusion,
        caveats=(left_out,) if left_out else (),
        title="Drift between two versions, layer by layer",
        counts={"layers with drift": f"{len(drifted)} of {len(reports)}"},
        tone=next(word for word in TONES_WORST_FIRST if word in tones.values()),
    )


def _layers_table(reports: Mapping[str, DriftReport]) -> Section:
    drift_names = {d.name for r in reports.values() for d in r.drifts if d.value is not None}
    names = [name for name in LAYER_DRIFT_COLUMNS if name in drift_names]
    columns = ("layer", "result", "what happened", *(LAYER_DRIFT_COLUMNS[name] for name in names))
    rows = tuple(_layer_row(layer, report, names) for layer, report in reports.items())
    drifted_rows = tuple(i for i, report in enumerate(reports.values()) if report.drifted)
    table = Table("layers", "Layers", columns, rows, marked=drifted_rows, figures=3)
    description = "One report for each layer that both sides have, by the same name."
    return Section("layers", "Layers", description, (table,))


def _layer_row(layer: str, report: DriftReport, names: list[str]) -> tuple[TableEntry, ...]:
    kinds = [fact.kind for fact in report.row_facts]
    kinds += (
        ["another order"] if report.reordered else [CHANGE_NAMES[kind] for kind in report.changes]
    )
    result = "drift" if report.drifted else "no drift"
    return layer, result, ", ".join(kinds), *(_layer_drift_value(report, name) for name in names)


def _layer_drift_value(report: DriftReport, name: str) -> float | None:
    return next((drift.value for drift in report.drifts if drift.name == name), None)


def _layer_section(layer: str, report: DriftReport) -> Section:
    """Return the section of a layer: the conclusion, then the tables and figures of its drifts."""
    drifts = drift_result(report)["drifts"]
    return Section(f"layer {layer}", layer, report.conclusion, drifts.tables, drifts.figures)
