"""The output of checks and of results other than comparisons: a table for a person, records for
programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_bytes, format_level, format_number
from ..base.results import BaseResult, saved_document
from ..checks import Outcome
from ..checks.checking import ROOT_CAUSE_CHECKS
from ..engine.forecast import Forecast, forecast_facts
from ..inference._score_models import ModelScores
from ..inference.fitting import describe_fitted_parts
from ..inference.nulls import format_pvalue
from ..models.patching import LayerPatches
from ..sections.result import Result
from ..sections.sections import Section, Table
from ..versions import DriftReport, IndexUpgrade
from .of_drift import drift_output
from .of_patches import patches_output
from .of_upgrade import upgrade_output
from .output import Output
from .terminal import plain_table

CHECK_HEADER = ("check", "claimed", "", "detail")
OUTCOME_MARKS: Mapping[bool | None, str] = {True: "✓", False: "✗", None: "–"}
OUTCOME_TONES: Mapping[bool | None, str] = {True: "good", False: "bad", None: "warning"}
OutcomesBySpec = Mapping[str, Sequence[Outcome]]


def output_of_result(result: BaseResult) -> Output:
    """Return the output of a result other than a comparison, evidence or benchmark, by its
    class."""
    if isinstance(result, ModelScores):
        return model_scores_output(result)
    if isinstance(result, DriftReport):
        return drift_output(result)
    if isinstance(result, IndexUpgrade):
        return upgrade_output(result)
    if isinstance(result, LayerPatches):
        return patches_output(result)
    if isinstance(result, Forecast):
        return Output(forecast_tables(result), saved_document(result), result.records())
    return records_output(result)


def records_output(result: BaseResult) -> Output:
    """Return the output of a result: the parts that the result provides for a terminal, or else the
    records as table, notes and summary."""
    records, notes = result.records(), [f"Note: {caveat}." for caveat in result.caveats]
    parts = result._table_parts() or [records_table(records), "", *notes, result.summary()]
    return Output(parts, result._document(), records)


def records_table(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return records as a table of texts, "–" for None; columns without texts are right-aligned.
    ``records``: entries by column name; a record may lack columns."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    rows = [[_format_entry(record.get(name)) for name in columns] for record in records]
    is_number = [
        all(not isinstance(record.get(name), str) for record in records) for name in columns
    ]
    return plain_table(columns, rows, right=[i for i, is_right in enumerate(is_number) if is_right])


def _format_entry(value: Any) -> str:
    if value is None:
        return "–"
    return format_number(value) if isinstance(value, float) else str(value)


def checks_output(outcomes: OutcomesBySpec) -> Output:
    """Return the output of checks; the exit code is 1 if a check fails. ``outcomes``: by measure
    specification."""
    records = [
        {"measure": spec, **outcome._asdict()}
        for spec, measure_outcomes in outcomes.items()
        for outcome in measure_outcomes
    ]
    failed = any(
        o.holds is False for measure_outcomes in outcomes.values() for o in measure_outcomes
    )
    marked_records = [{**r, "holds": OUTCOME_MARKS[r["holds"]]} for r in records]
    page = page_of_records("check", marked_records, "Checks of declared properties")
    document = {"records": records}
    return Output(check_tables(outcomes), document, records, page=page, code=int(failed))


def page_of_records(name: str, records: Sequence[Mapping[str, Any]], title: str) -> Result:
    """Return the content of a page with the records of a command as a table."""
    table = Table.of(records, "values", "Values")
    return Result(name, "", (Section("values", title, "", tables=(table,)),), title=title)


def check_tables(outcomes: OutcomesBySpec) -> list[Any]:
    """Return the parts to print for each measure: the specification, a table, and the counts of
    outcomes."""
    return [
        part
        for spec, measure_outcomes in outcomes.items()
        for part in (spec, _outcomes_table(measure_outcomes), count_outcomes(measure_outcomes))
    ]


def count_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Return the numbers of checks that hold, fail, and remain undecided, in words; and the failure
    to mend first, if the first outcome makes other checks fail."""
    counts = Counter(outcome.holds for outcome in outcomes)
    words = {False: "fail", None: "could not be decided"}
    other_counts = [f"{counts[holds]} {word}" for holds, word in words.items() if counts[holds]]
    summary = ", ".join([f"{counts[True]} checks hold", *other_counts])
    cause = outcomes[0] if outcomes else None
    if cause and cause.holds is False and cause.check in ROOT_CAUSE_CHECKS and counts[False] > 1:
        return f"{summary}; mend {cause.check!r} first: others can fail because of it"
    return summary


def _outcomes_table(outcomes: Sequence[Outcome]) -> Any:
    rows = [(o.check, o.claimed, OUTCOME_MARKS[o.holds], o.detail) for o in outcomes]
    tones = [(i, 2, OUTCOME_TONES[outcome.holds]) for i, outcome in enumerate(outcomes)]
    return plain_table(CHECK_HEADER, rows, tones=tones)


# --------------------------------------------------------------------------------------- forecasts


def forecast_tables(forecast: Forecast) -> list[Any]:
    """Return the parts to print: a row per measure, then facts about all measures."""
    header = ("measure", "values", "stored", "memory", "note")
    columns = [
        i for i, name in enumerate(header) if name != "stored" or _has_stored_scores(forecast)
    ]
    rows = [
        (m.measure, f"{m.values:,}", f"{m.stored:,}", format_bytes(m.memory), m.note)
        for m in forecast.measures
    ]
    cells = [tuple(row[i] for i in columns) for row in rows]
    facts = [(name, text) for name, text in forecast_facts(forecast).items() if text]
    return [
        plain_table([header[i] for i in columns], cells, right=range(1, len(columns) - 1)),
        *(f"{name:<10} {text}" for name, text in facts),
        *(f"Note: {caveat}." for caveat in forecast.caveats),
    ]


def _has_stored_scores(forecast: Forecast) -> bool:
    return any(m.stored for m in forecast.measures)


# ------------------------------------------------------------------------------- several subjects


def model_scores_output(scores: ModelScores) -> Output:
    """Return the output of model scores."""
    rows = scores.records()
    return Output(_model_scores_tables(scores, rows), _model_scores_document(scores, rows), rows)


def _model_scores_tables(scores: ModelScores, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the parts to print: a table of the models, most similar first; then lines with the
    noise ceiling, fitted parts, failures and notes.

    ``rows``: the records of ``scores``, in the order of ``scores.models``.
    """
    rows = [rows[i] for i in scores.order]
    tests = {"pvalue_above_0": "p above 0", "pvalue_below_ceiling": "p below the ceiling"}
    tests = {name: words for name, words in tests.items() if rows[0][name] is not None}
    columns = [
        "model",
        "mean",
        f"{format_level(scores.confidence_level)} interval",
        *tests.values(),
    ]
    cells = []
    for row in rows:
        span = f"{format_number(row['low'], 3)} to {format_number(row['high'], 3)}"
        p_values = [format_pvalue(row[name]) for name in tests]
        cells.append([row["model"], format_number(row["value"], 3), span, *p_values])
    lines = [f"{scores.title}, mean over {len(scores.subjects)} subjects"]
    if scores.ceiling:
        low, error, high = (format_number(value, 3) for value in scores.ceiling)
        lines.append(f"Noise ceiling: {low} (standard error {error}) to {high}")
    lines += [f"{line[0].upper()}{line[1:]}" for line in describe_fitted_parts(scores.fitted_parts)]
    lines += [f"Left out: {f.x}: {f.reason}" for f in scores.failures]
    lines += [f"Note: {caveat}." for caveat in scores.caveats]
    return [plain_table(columns, cells, right=(1, 3, 4)), *lines]


def _model_scores_document(
    scores: ModelScores, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    pairs = [
        {"a": a, "b": b, **scores.difference(a, b)._asdict()}
        for i, a in enumerate(scores.models)
        for b in scores.models[i + 1 :]
    ]
    return {
        "measure": scores.measure,
        "score": scores.score,
        "subjects": scores.subjects,
        "confidence_level": scores.confidence_level,
        "models": rows,
        "values": scores.values.tolist(),
        "differences": pairs,
        "ceiling": dict(zip(("low", "standard_error", "high"), scores.ceiling))
        if scores.ceiling
        else None,
        "freedom": scores.freedom,
        "folds": None if scores.folds is None else scores.folds.tolist(),
        "fitted_parts": [part._asdict() for part in scores.fitted_parts],
        "failures": [{"subject": f.x, "reason": f.reason} for f in scores.failures],
        "caveats": scores.caveats,
        "provenance": dict(scores.provenance),
    }
