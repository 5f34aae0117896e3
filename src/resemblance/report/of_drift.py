"""A drift report as a result: kinds of change, samples, maps, drift measures, and largest
movements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_level, format_number, format_percent, format_range
from ..base.results import saved_document
from ..sections.figures import Bar, Bars, Cloud, Clouds
from ..sections.result import Result
from ..sections.sections import Section, Table, TableEntry
from ..versions import DriftReport, DriftTest, Finding, Moved, MovedClass
from ..versions.findings import CHANGE_NAMES, MIN_WRITTEN_VALUE
from .output import Output, color_by_tone
from .terminal import text_table

DRIFT_TITLE = "Drift between two versions"
_DRIFT_TONES = {"drift": "bad", "changed, not counted": "warning"}  # by the outcome of a drift
MAX_CLASS_ROWS = 12  # rows in the table of classes
# Multiples of the threshold; drifts outside are drawn at the end of the scale
MIN_DRAWN_RATIO, MAX_DRAWN_RATIO = 0.1, 1e6
SIDE_LABELS = {"geometry": "geometry", "coordinates": "coordinates", "index": "old index"}
MAP_DESCRIPTIONS = {
    "identity": "none needed but a shift and a factor of scale",
    "rotation": "a rotation, with a shift and a factor of scale",
    "linear": "a linear map with a shift",
    "classes": "a shift of each class",
}
DRIFT_REFERENCE = (
    "Most of the drifts: Raju, “Geometric Stability: The Missing Axis of Representations”, "
    "arXiv 2601.09173."
)


def drift_result(report: DriftReport, *, title: str = DRIFT_TITLE) -> Result:
    """Return a drift report as a :class:`~resemblance.sections.result.Result`, to show or save."""
    settings = report.settings
    sections = [
        *_drift_facts(report),
        *(_paired_samples_sections if settings["paired"] else _batches_section)(report),
    ]
    return Result(
        "drift",
        "",
        tuple(sections),
        provenance={**report.provenance, **_describe_drift_settings(report)},
        facts={"purpose": settings["purpose"], **_drift_sizes(report)},
        conclusion="\n".join((report.conclusion, *report.details, *suggest_next_step(report))),
        about=" ".join(f"{caveat}." for caveat in report.caveats),
        title=title,
        counts=_drift_counts(report),
        tone=drift_tone(report),
    )


def _paired_samples_sections(report: DriftReport) -> list[Section]:
    sections = [
        _kinds_of_change_section(report),
        _samples_description(report),
        *_version_maps_section(report),
        _drifts_section(report),
    ]
    return [*sections, *_classes_section(report), _moved_samples_section(report)]


def _drift_counts(report: DriftReport) -> dict[str, str]:
    """Return the numbers behind the verdict, as texts by label: tests that exceed their thresholds,
    lost neighbours, and the variance that the map leaves."""
    tests = [d for d in report.drifts if d.exceeds_threshold or d.threshold is not None]
    count = sum(d.exceeds_threshold for d in tests)
    counts = {"drifts above the threshold": f"{count} of {len(tests)}"} if tests else {}
    lost = next((d.value for d in report.drifts if d.aspect == "index"), None)
    if lost is not None:
        words = "of the nearest neighbours are lost by new queries on old vectors"
        counts[words] = format_percent(lost)
    if report.unexplained is not None:
        words = "of the variance is not explained by the map"
        if _lost_dimensions(report):
            words += " of the dimensions that are left"
        counts[words] = format_percent(min(report.unexplained, 1))
    return counts


def _lost_dimensions(report: DriftReport) -> bool:
    """Return whether a loss of dimensions is named: the chosen map is then fitted to the part of
    the reference that is left."""
    return any(finding.kind == "collapse" and finding.named for finding in report.findings)


def _drift_sizes(report: DriftReport) -> dict[str, str]:
    settings = report.settings
    if report.unexplained is None:
        sizes = f"{settings['samples']:,} and {settings['batch']:,}"
        return {"samples, other ones in both": sizes, "features": f"{settings['widths'][0]:,}"}
    return {
        _describe_sample_settings(settings): f"{settings['samples']:,}",
        "features, reference → current": " → ".join(f"{w:,}" for w in settings["widths"]),
    }


def drift_output(report: DriftReport) -> Output:
    """Return the output of a drift report for a terminal and files; the document is the content of
    the saved file."""
    result = drift_result(report)
    by_name = {table.name: table for section in result.sections for table in section.tables}
    drifts, kinds = by_name["drifts"], by_name.get("kinds of change")
    outcomes = [_DRIFT_TONES.get(str(row[-1]).partition(":")[0], "") for row in drifts.rows]
    tones = [(i, 5, color) for i, color in enumerate(outcomes) if color]
    parts: list[Any] = [f"Note: {caveat}." for caveat in report.caveats]
    parts += [fact.sentence for fact in report.row_facts]
    parts += ["", text_table(drifts, tones=tones)] if parts else [text_table(drifts, tones=tones)]
    if kinds is not None:
        parts += ["", text_table(kinds, tones=[(i, 1, "warning") for i in kinds.marked])]
    parts += [
        "",
        *([f"Not assessed: {unassessed}."] if (unassessed := unassessed_changes(report)) else []),
    ]
    parts += [
        describe_samples_used(report),
        *report.details,
        color_by_tone(report.conclusion, result.tone),
    ]
    if result.tone == "warning":
        parts.append("Use --purpose index to count it.")
    parts += suggest_next_step(report)
    return Output(parts, saved_document(report), report.records())


def suggest_next_step(report: DriftReport) -> list[str]:
    """Return one line of advice about an index, if new queries no longer find the old neighbours
    and no row fact has a remedy; otherwise []."""
    has_lost = report.index.drifted and report.index.counts and report.reordered is None
    # The remedies of row facts come first
    if not has_lost or report.row_facts:
        return []
    return [
        "First ask rs.upgrade_index, or resemblance upgrade-index: a map of new queries may keep "
        "the index."
    ]


def drift_tone(report: DriftReport) -> str:
    """Return "bad" for drift, "warning" for changes that do not count, else "good"."""
    sides = (report.geometry, report.coordinates, report.index)
    if report.drifted:
        return "bad"
    return "warning" if any(side.drifted for side in sides) else "good"


def _describe_sample_settings(settings: Mapping[str, Any]) -> str:
    is_part = settings["used"] < settings["samples"]
    return f"samples, {settings['used']:,} used" if is_part else "samples"


def _describe_drift_settings(report: DriftReport) -> dict[str, str]:
    settings = report.settings
    if not settings["paired"]:
        level = f"{format_level(settings['level'])} for {settings['tests']} tests together"
        return {
            "samples": describe_samples_used(report),
            "level": level,
            "seed": str(settings["seed"]),
        }
    threshold = f"calibrated by noise of {settings['tolerance']:g} radii"
    if settings["threshold"] != "calibrated":
        threshold = f"{settings['threshold']:g}"
    return {
        "samples": describe_samples_used(report),
        "threshold": threshold,
        "random halves": str(settings["n_resamples"]),
        "seed": str(settings["seed"]),
        "labels": "given" if settings["labels"] else "none",
    }


# ----------------------------------------------------------------------------------- what happened


def _drift_facts(report: DriftReport) -> list[Section]:
    if not report.row_facts:
        return []
    table = Table(
        "facts",
        "Facts",
        ("fact", "rows", "share", "what the rows show", "remedy"),
        tuple((f.kind, f.count, f.count / f.rows, f.sentence, f.remedy) for f in report.row_facts),
        brief=("fact", "rows", "what the rows show", "remedy"),
        figures=3,
    )
    description = "Counted before any map is fitted; one map of all rows does not explain them."
    return [Section("facts", "What the rows show", description, (table,))]


def _kinds_of_change_section(report: DriftReport) -> Section:
    findings = [f for f in report.findings if f.assessed]
    order = sorted(
        findings, key=lambda f: ("yes", "explained by the map", "no").index(change_status(f))
    )
    rows = tuple((CHANGE_NAMES[f.kind], change_status(f), f.sentence) for f in order)
    table = Table(
        "kinds of change",
        "Kinds of change",
        ("kind of change", "happened", "what the data show"),
        rows,
        marked=tuple(i for i, f in enumerate(order) if change_status(f) != "no"),
    )
    no_change_note = " No kind of change explains the drifts below, if there are any."
    if table.marked:
        no_change_note = ""
    description = (
        "A kind of change is named when maps that allow it explain clearly more, on samples they "
        f"were not fitted to, than maps that do not.{no_change_note} The map that was chosen: "
        f"{MAP_DESCRIPTIONS[report.map]}."
    )
    reasons = {
        CHANGE_NAMES[f.kind]: f"not assessed: {f.sentence}"
        for f in report.findings
        if not f.assessed
    }
    tables = (table,) if rows else ()
    return Section("kinds", "What happened", description, tables, reasons=reasons)


def change_status(finding: Finding) -> str:
    """Return whether an assessed kind of change happened: "yes", "no", or "explained by the
    map"."""
    if finding.explained:
        return "explained by the map"
    return "yes" if finding.named else "no"


def unassessed_changes(report: DriftReport) -> str:
    """Return the kinds of change that were not assessed, with reasons, on a single line; "" for
    none."""
    reasons: dict[str, list[str]] = {}
    for f in report.findings:
        if not f.assessed:
            reasons.setdefault(f.sentence, []).append(CHANGE_NAMES[f.kind])
    return "; ".join(f"{', '.join(kinds)} ({reason})" for reason, kinds in reasons.items())


# --------------------------------------------------------------------------------- samples and maps


def _samples_description(report: DriftReport) -> Section:
    clouds = {name: tuple(points) for name, points in report.projection.items()}
    cloud = clouds["current"]
    pair = (
        Cloud("as they are", cloud, origins=clouds["reference"]),
        Cloud("after the map", cloud, origins=clouds["mapped"]),
    )
    description = (
        f"{len(cloud):,} of {report.settings['used']:,} samples in the plane of largest variance "
        "of both versions. Blue: where a sample is now. Grey: on the left where it was, on the "
        "right where the map puts it. A line joins the two; on the right it is what the map does "
        "not explain."
    )
    figure = Clouds("samples", "Where the samples are", pair)
    return Section("samples", "The samples", description, figures=(figure,))


def _version_maps_section(report: DriftReport) -> list[Section]:
    if not report.unexplained_by_map:
        return []
    bars = tuple(
        _version_map_bar(name, unexplained) for name, unexplained in report.unexplained_by_map
    )
    title, axis = "Unexplained variance by map", "variance that is left, %"
    figure = Bars("unexplained", title, axis, bars, span=(0.0, 100.0))
    description = (
        "Share of the variance of the current version that is left, each line allowing one more "
        "kind of map; from the factor of scale on, for samples the map was not fitted to, so it "
        "can also rise."
    )
    if _lost_dimensions(report):
        description += " The maps of the figure start from all dimensions of the reference."
    if len(report.unexplained_by_map) < 5:
        description += (
            " There are as many directions as samples: the rotation was fitted to all of them, and "
            "a linear map would explain anything."
        )
    return [Section("maps", "What maps explain", description, figures=(figure,))]


def _version_map_bar(name: str, unexplained: float) -> Bar:
    """Return the bar of a map: 100 times ``unexplained``, the share of the variance that the map
    leaves; the bar of a map worse than no map fills the scale."""
    label = "as it is" if name == "nothing" else f"+ {name}"
    is_over = unexplained > 1.005
    note = f"{label}: {'over 100 %' if is_over else format_percent(unexplained)}"
    suffix = " (over 100 %)" if is_over else ""
    return Bar(f"{label}{suffix}", 100 * min(max(unexplained, 0.0), 1.0), note=note)


# ------------------------------------------------------------------------------------------- drifts


def _drifts_section(report: DriftReport) -> Section:
    judged_drifts = [d for d in report.drifts if d.value is not None and d.threshold]
    figure = Bars(
        "thresholds",
        "Drifts by their thresholds",
        "times the threshold",
        tuple(map(_threshold_ratio_bar, judged_drifts)),
        "The line at 1 is the threshold"
        + (
            "; the thin line of a drift is its 95 % interval." if report.unexplained_by_map else "."
        ),
        threshold=1.0,
        span=(MIN_DRAWN_RATIO, _scale_end(judged_drifts)),
        log_x=True,
        is_limit=True,
    )
    is_paired = report.settings["paired"]
    middle = "95 % interval" if is_paired else "p"
    table = Table(
        "drifts",
        "Drifts and their thresholds",
        ("drift", "side", "value", middle, "threshold", "times the threshold", "result"),
        tuple(_drift_row(report, d) for d in report.drifts),
        describe_samples_used(report),
        marked=tuple(i for i, d in enumerate(report.drifts) if d.exceeds_threshold),
        figures=3,
        brief=("side", "drift", "value", middle, "threshold", "result"),
    )
    return Section("drifts", "Drifts", _describe_drifts(report), (table,), (figure,))


def _describe_drifts(report: DriftReport) -> str:
    settings = report.settings
    if not settings["paired"]:
        return (
            "Tests whether both batches have one distribution. A threshold is what permuted rows "
            f"of both together exceed once in {settings['tests'] / settings['level']:g} tests, so "
            f"that all {settings['tests']} tests together find a difference where there is none "
            f"in {format_level(settings['level'])} of the cases at most. Rows that need the same "
            "samples in both have no value."
        )
    threshold_note = (
        "A drift that is not a share between 0 and 1 cannot be judged by a number and has no bar."
    )
    if settings["threshold"] == "calibrated":
        threshold_note = (
            f"A threshold is what the reference gives with noise of {settings['tolerance']} of its "
            "radius, or one half of its samples against the other."
        )
    return (
        "Each drift is 0 without change. The bars show how many times its threshold a drift is, on "
        f"one logarithmic scale. {threshold_note} Drifts of the geometry are 0 after a rotation, a "
        "translation, or a factor of scale; those of the coordinates and of the index are not. "
        f"{DRIFT_REFERENCE}"
    )


def _threshold_ratio_bar(drift: DriftTest) -> Bar:
    """Return a bar of the ratio between a drift and the threshold, with the interval if known,
    clipped to the scale.

    The note has the ratio without clipping. A drift of at most ``MIN_WRITTEN_VALUE`` has no
    interval. A missing value counts as 0, and a missing threshold as 1.
    """
    value, limit = drift.value or 0.0, drift.threshold or 1.0
    value_text, times, threshold = (
        format_number(number, rounding=MIN_WRITTEN_VALUE)
        for number in (value, value / limit, limit)
    )
    note = f"{drift.label}: {value_text}, {times} times the threshold of {threshold}"
    bar = Bar(drift.name.replace("_", " "), _clip_to_scale(value / limit), note=note)
    if drift.low is None or drift.high is None or value <= MIN_WRITTEN_VALUE:
        return bar
    return bar._replace(
        low=_clip_to_scale(drift.low / limit), high=_clip_to_scale(drift.high / limit)
    )


def _clip_to_scale(times: float) -> float:
    return min(max(times, MIN_DRAWN_RATIO), MAX_DRAWN_RATIO)


def _scale_end(drifts: Sequence[DriftTest]) -> float:
    """Return the upper end of a scale for all drifts, as a multiple of the threshold.

    The end is the smallest power of ten from 100 to ``MAX_DRAWN_RATIO`` that is at least the
    largest ratio of a drift to its threshold. Ratios above ``MAX_DRAWN_RATIO`` are clipped.
    Without drifts the end is 100. A missing value counts as 0, and a missing threshold as 1.
    """
    ratios = [(d.value or 0.0) / (d.threshold or 1.0) for d in drifts]
    end = 100.0
    while end < min(max(ratios, default=0.0), MAX_DRAWN_RATIO):
        end *= 10
    return end


def _drift_row(report: DriftReport, drift: DriftTest) -> tuple[TableEntry, ...]:
    value, limit = drift.value, drift.threshold
    times = _without_rounding_noise(value / limit) if value is not None and limit else None
    side, result = SIDE_LABELS[drift.aspect], drift_outcome(report, drift)
    middle = format_drift_interval(drift) if report.settings["paired"] else drift.pvalue
    return drift.label, side, _without_rounding_noise(value), middle, limit, times, result


def _without_rounding_noise(value: float | None) -> float | None:
    """Return a number; rounding noise becomes 0, and None stays None."""
    return 0.0 if value is not None and abs(value) < MIN_WRITTEN_VALUE else value


def format_drift_interval(drift: DriftTest) -> str:
    """Return the interval of a drift as text; "" without an interval."""
    if drift.low is None or drift.high is None:
        return ""
    return format_range(drift.low, drift.high, rounding=MIN_WRITTEN_VALUE)


def drift_outcome(report: DriftReport, drift: DriftTest) -> str:
    """Return the outcome of a test in words.

    Above the threshold: "drift", or "changed, not counted" for a side that does not count for the
    purpose, followed by the reason if there is one. Below the threshold: the reason, "not judged by
    a number" without threshold, or "".
    """
    if not drift.exceeds_threshold:
        return drift.reason or ("" if drift.threshold is not None else "not judged by a number")
    sides = {"geometry": report.geometry, "coordinates": report.coordinates, "index": report.index}
    word = "drift" if sides[drift.aspect].counts else "changed, not counted"
    return f"{word}: {drift.reason}" if drift.reason else word


def describe_samples_used(report: DriftReport) -> str:
    """Return a sentence with the number of samples that the report uses."""
    s = report.settings
    if not s["paired"]:
        return (
            f"{s['used']:,} of {s['samples']:,} samples of the reference were used, and "
            f"{s['batch_used']:,} of {s['batch']:,} of the current batch."
        )
    usage = f"{s['used']:,} of {s['samples']:,} samples were used, drawn at random"
    if s["used"] == s["samples"]:
        usage = f"All {s['samples']:,} samples were used"
    return (
        f"{usage}; {s['k']} neighbours of {s['queries']:,} of them were looked up among all "
        f"{s['samples']:,}."
    )


# ------------------------------------------------------------------------ batches of other samples


def _batches_section(report: DriftReport) -> list[Section]:
    clouds = {name: tuple(points) for name, points in report.projection.items()}
    points, split = clouds["reference"] + clouds["current"], len(clouds["reference"])
    groups = (0,) * split + (1,) * (len(points) - split)
    description = (
        f"The first {split:,} samples of the reference and {len(points) - split:,} of the current "
        "batch, in another colour, in the plane of largest variance of both."
    )
    figure = Clouds("samples", "Where the samples are", (Cloud("both batches", points, groups),))
    samples = Section("samples", "The samples", description, figures=(figure,))
    return [_drifts_section(report), *_features_section(report), *_classes_section(report), samples]


def _features_section(report: DriftReport) -> list[Section]:
    if not report.features:
        return []
    rows = tuple((f.column, f.distance, f.pvalue, f.before, f.after) for f in report.features)
    columns = ("column", "distance", "adjusted p", "mean before", "mean after")
    table = Table("features", "Features that moved", columns, rows, figures=3)
    description = (
        "Columns, from 0, with another distribution by the Kolmogorov-Smirnov test, adjusted for "
        "all of them (Holm)."
    )
    return [Section("features", "Features that moved", description, (table,))]


# --------------------------------------------------------------------------------------- what moved


def _classes_section(report: DriftReport) -> list[Section]:
    if not report.class_shifts:
        return []
    shifts = report.class_shifts[:MAX_CLASS_ROWS]
    is_part = len(report.class_shifts) > MAX_CLASS_ROWS
    description = (
        "How far the mean of each class moved, in radii of the current version, and the class "
        "whose mean is nearest, before and after, with its distance in radii of that version. "
        "Classes whose distance to the nearest class changed most come first"
        f"{f': {MAX_CLASS_ROWS} of {len(report.class_shifts)}' if is_part else ''}."
    )
    columns = (
        "class", "samples", "moved", "not explained",
        "nearest before", "distance before", "nearest after", "distance after",
    )  # fmt: skip
    table = Table("classes", "Classes", columns, tuple(map(_class_row, shifts)))
    return [Section("classes", "Classes", description, (table,))]


def _class_row(shift: MovedClass) -> tuple[TableEntry, ...]:
    amounts = (
        shift.samples,
        _without_rounding_noise(shift.moved),
        _without_rounding_noise(shift.unexplained),
    )
    nearest = str(shift.nearest_before), shift.distance_before
    return str(shift.label), *amounts, *nearest, str(shift.nearest_after), shift.distance_after


def _moved_samples_section(report: DriftReport) -> Section:
    with_class = bool(report.class_shifts)
    columns = ("sample", *(("class",) if with_class else ()), "moved", "not explained")
    tables = tuple(
        Table(name, title, columns, tuple(_sample_row(m, with_class) for m in samples))
        for name, title, samples in (
            ("least explained", "Samples the map explains least", report.moved),
            ("moved most", "Samples that moved most", report.displaced),
        )
    )
    return Section("moved", "Samples that moved", "In radii of the current version.", tables)


def _sample_row(moved_sample: Moved, with_class: bool) -> tuple[TableEntry, ...]:
    sample = str(moved_sample.index if moved_sample.id is None else moved_sample.id)
    label = (str(moved_sample.label),) if with_class else ()
    return (
        sample,
        *label,
        _without_rounding_noise(moved_sample.distance),
        _without_rounding_noise(moved_sample.unexplained),
    )
