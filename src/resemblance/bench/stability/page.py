"""The page of the stability suite: tables, figures and scores for deletions and for the canary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from resemblance.base.formatting import format_percent
from resemblance.comparison.comparison import Comparison, MeasureInfo
from resemblance.sections.figures import Bar, Bars, Chart, Figure, Line
from resemblance.sections.sections import Section, Table, TableEntry
from resemblance.sections.values import distinct_labels, finite_or_none, mean_without_missing

from ..case import Score
from ..page import ScoreColumn, data_table
from ..ranks import ScoreOverview
from . import alarms
from .alarms import (
    ALARM_SHARE,
    DETECTED_LOSSES,
    DRIFT_MEASURES,
    MIN_COPIES_PER_CLASS,
    PERTURBATION_KINDS,
    TRIMMED_DIGITS,
    PerturbedModel,
    roc,
    shares_of_scale,
)
from .spectral import zero_if_equal

SHOWN_REMOVED_COUNTS = (0, 1, 10, 30, 50)  # numbers of removed components in the table
HALF_OF_SCALE = 0.5
INSENSITIVE_NOTE = (
    "the same value whatever is removed: it sees only what a deletion keeps, such as the mean of "
    "the points, or fits fewer samples than features without error"
)
DELETION_TITLE = "Spectral deletion"
ABOUT_DELETION = (
    "A representation of 200 samples and 256 features has singular values that fall as 100 / i; "
    "the leading principal components are deleted one after the other, and what is left is "
    "compared with the whole. The curves show how much of its largest difference each measure "
    "reports after each deletion. A measure scores well when its difference grows with the number "
    "of components that are missing."
)
ABOUT_CANARY = (
    "Does the representation of a network change before the accuracy drops? The weights of trained "
    "networks are perturbed with noise (a standard deviation of α times the standard deviation of "
    "each parameter), with rounding to few bits, or with random adapters of low rank. Every "
    "perturbed network gets the same inputs as before. A measure is a good canary if its "
    "difference grows as accuracy falls, and if the difference stays small while no accuracy is "
    "lost: whether accuracy was lost is decided by McNemar's test at 5 %. Differences are shares "
    "of the scale of a measure: from the network and itself to the network with the weights of "
    "every parameter shuffled. A measure without a value for one change has no value for that kind "
    "of change and ranks last, so that failing in hard cases never pays."
)
CANARY_TITLE = "Canary: weights that drift"
SCALE_LABEL = "share of the scale: 0 for unchanged weights, 1 for shuffled ones"
KIND_TITLES = {
    "noise": "Noise in the weights",
    "rounding": "Weights of few bits",
    "adapters": "Random adapters",
}
LabelsByMeasure = Mapping[str, str]  # by specification


def stability_labels(measures: Iterable[MeasureInfo]) -> dict[str, str]:
    """Return the labels of measures by specification, the drift measures of the paper first."""
    drift_labels = {
        alarms.RDM_SPEARMAN: "RDM drift",
        alarms.DEBIASED_CKA: "CKA, debiased",
        alarms.ROOT_PROCRUSTES: "Procrustes (root)",
        alarms.SQUARED_PROCRUSTES: "Procrustes (squared)",
    }
    labels = {m.spec: drift_labels.get(m.spec, m.label) for m in measures}
    drift_specs = [spec for spec in DRIFT_MEASURES if spec in labels]
    return distinct_labels({spec: labels[spec] for spec in dict.fromkeys([*drift_specs, *labels])})


# ---------------------------------------------------------------------------------------- deletions


def deletion_section(
    comparison: Comparison,
    removed_counts: Sequence[int],
    scores: Sequence[Score],
    overview: ScoreOverview,
) -> Section:
    """Return the section of the deletion experiment: the value of every measure after every
    deletion, and the correlation with the number of deleted components.

    ``comparison``: of the representation with every deletion. ``removed_counts``: the deleted
    components of every column. ``scores``: of the task.
    """
    names = overview.names
    values = {m: dict(zip(removed_counts, comparison[m][0].tolist())) for m in names}
    differences = {
        m: dict(zip(removed_counts, zero_if_equal(comparison.dissimilarity(m)[0]).tolist()))
        for m in names
    }
    shares = {m: _shares_by_removed(by_count) for m, by_count in differences.items()}
    rows = list[dict[str, TableEntry]]()
    order = {s.measure: finite_or_none(s.value) for s in scores}
    for m, name in names.items():
        half_point = next(
            (float(k) for k, share in shares[m].items() if share >= HALF_OF_SCALE), None
        )
        cells = {str(k): finite_or_none(values[m].get(k)) for k in SHOWN_REMOVED_COUNTS}
        rows.append({"measure": name, **cells, "half seen at": half_point, "order": order[m]})
    table = Table.of(
        rows,
        "sensitivity",
        "Values of all measures by the number of removed components",
        "“Half seen at”: components removed when half of the largest difference is reported. "
        "“Order”: rank correlation of differences with components removed.",
    )
    lines = (
        Line(names[m], tuple((float(k), s) for k, s in by_count.items()))
        for m, by_count in shares.items()
    )
    chart = Chart(
        "measures",
        "How soon measures detect a deletion",
        "components removed",
        "share of the largest difference",
        tuple(line for line in lines if line.points),
        "0: the smallest difference that the measure reports, 1: the largest. Measures without a "
        "value are left out.",
        threshold=HALF_OF_SCALE,
    )
    reasons = {names[m]: INSENSITIVE_NOTE for m, by_count in shares.items() if not by_count}
    columns = dict(zip(comparison.columns, removed_counts))
    for failure in reversed(comparison.failures):
        reasons[names[failure.measure]] = f"{columns[failure.y]} removed: {failure.reason}"
    tables = (table, data_table(overview, "scores", scores, ("cell",)))
    return Section("spectral", DELETION_TITLE, ABOUT_DELETION, tables, (chart,), reasons=reasons)


def _shares_by_removed(differences: Mapping[int, float]) -> dict[int, float]:
    """Return differences as shares of their range, 0 for the smallest and 1 for the largest, by
    number of removed components. ``differences``: by the same numbers.

    {} if all differences are equal; a missing difference (NaN) is left out.
    """
    numbers = {k: d for k, d in differences.items() if not np.isnan(d)}
    low, high = min(numbers.values(), default=0.0), max(numbers.values(), default=0.0)
    return {k: (d - low) / (high - low) for k, d in numbers.items() if high > low}


# ------------------------------------------------------------------------------------------- canary


def canary_section(
    models: Sequence[PerturbedModel], reasons: Mapping[str, str], overview: ScoreOverview
) -> Section:
    """Return the section of the canary experiment. ``models``: the perturbed models. ``reasons``:
    why other models could not be trained. ``overview``: the measures and their scores."""
    if not models:
        return Section("canary", CANARY_TITLE, ABOUT_CANARY, reasons=reasons)
    labels = stability_labels(overview.measures)
    counts = dict[str, str]()
    for name, members in alarms.models_by_architecture(models).items():
        for kind in PERTURBATION_KINDS:
            n_harmed, n_others = alarms.count_harmed_copies(members, kind, DETECTED_LOSSES[1])
            if min(n_harmed, n_others) < MIN_COPIES_PER_CLASS:
                words = f"{n_harmed} copies lost more than 2 points, {n_others} did not"
                counts[f"{name}, {kind}: AUC"] = words
    scores = [s for s in overview.scores if s.test == "canary"]
    tables = (
        *(_levels_table(models, labels, kind) for kind in PERTURBATION_KINDS),
        _tracking_table(models, labels),
        _alarms_table(models, labels),
        data_table(overview, "scores", scores, ("domain", "cell")),
    )
    figures: tuple[Figure, ...] = (
        *_noise_charts(models, labels),
        _loss_scatter(models, labels),
        _roc_chart(models, labels),
        *_alarm_bars(models, labels),
    )
    all_reasons = {**reasons, **_measures_without_scale(models, labels), **counts}
    return Section("canary", CANARY_TITLE, ABOUT_CANARY, tables, figures, reasons=all_reasons)


def stability_score_columns(scores: Sequence[Score]) -> list[ScoreColumn]:
    """Return the columns of the table of scores: a column per task, in the order of the scores,
    with the reliability of its losses."""
    columns = []
    for test, cell, repeats in dict.fromkeys((s.test, s.cell, s.reliability) for s in scores):
        models, _, kind = "/".join(cell).partition(", ")
        hint = "the reliability of the losses on other inputs is unknown"
        if repeats is not None:
            hint = f"on other inputs the losses have a reliability of {repeats:.2f}"
        is_canary = test == "canary"
        group, head = (models, kind) if is_canary else ("deletions", models)
        columns.append(
            ScoreColumn(test, cell, group, head, f"{'/'.join(cell)}; {hint}" if is_canary else "")
        )
    return columns


# ------------------------------------------------------------------------------ tables of canaries


def _levels_table(models: Sequence[PerturbedModel], labels: LabelsByMeasure, kind: str) -> Table:
    """Return a table with a row per level of a kind of perturbation (Tables 47 to 51 of the paper):
    means over ``models`` of the loss of accuracy, of the share of significant losses, and of the
    difference of every measure as a share of its scale.

    ``labels``: of measures, by specification. ``kind``: "noise", "rounding" or "adapters".
    """
    rows = []
    for name in dict.fromkeys(p.name for model in models for p in model.of(kind)):
        copies = [(model, p) for model in models for p in model.of(kind) if p.name == name]
        columns = [
            [p.loss for _, p in copies],
            [float(p.harmed) for _, p in copies],
            *([float(shares_of_scale(m, [p], spec)[0]) for m, p in copies] for spec in labels),
        ]
        means = (round(mean_without_missing(column), TRIMMED_DIGITS) + 0.0 for column in columns)
        rows.append((name, *map(finite_or_none, means)))
    level = {"noise": "α", "rounding": "bits", "adapters": "adapter"}[kind]
    columns_of = (level, "accuracy lost", "significantly", *labels.values())
    note = f"Means over {len(models)} models. Differences: {SCALE_LABEL}."
    return Table(f"canary_{kind}", KIND_TITLES[kind], columns_of, tuple(rows), note)


def _tracking_table(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> Table:
    rows: list[tuple[TableEntry, ...]] = [
        (
            label,
            *(finite_or_none(alarms.loss_tracking(models, spec, k)) for k in PERTURBATION_KINDS),
            *(
                finite_or_none(alarms.loss_tracking(models, spec, k, linear=True))
                for k in PERTURBATION_KINDS
            ),
            *(_mean_detection_area(models, spec, loss) for loss in DETECTED_LOSSES),
        )
        for spec, label in labels.items()
    ]
    kinds = [f"{name}, {kind}" for name in ("Spearman", "Pearson") for kind in PERTURBATION_KINDS]
    points = [f"AUC, {100 * loss:g} points" for loss in DETECTED_LOSSES]
    note = (
        "Correlation of the difference with the accuracy lost, the mean over models; area under "
        "the ROC for more than so many points lost, among copies of one model, the mean over "
        f"kinds of models and disturbances of which at least {MIN_COPIES_PER_CLASS} copies did "
        f"and {MIN_COPIES_PER_CLASS} did "
        "not. Unchanged weights are left out. Without a value: a comparison failed."
    )
    rows.sort(key=lambda row: (row[1] is None, -float(row[1] or 0)))
    title = "Which measures follow accuracy?"
    return Table("canary_measures", title, ("measure", *kinds, *points), tuple(rows), note)


def _mean_detection_area(models: Sequence[PerturbedModel], spec: str, loss: float) -> float | None:
    """Return the mean area under the ROC curve for a loss above ``loss`` (a share), over all
    architectures of ``models`` and kinds of perturbation with enough copies above and below.

    None if the measure lacks an area, and without such copies.
    """
    areas = [
        alarms.loss_detection(group, spec, kind, loss)
        for group in alarms.models_by_architecture(models).values()
        for kind in PERTURBATION_KINDS
        if min(alarms.count_harmed_copies(group, kind, loss)) >= MIN_COPIES_PER_CLASS
    ]
    return finite_or_none(float(np.mean(areas))) if areas else None


def _alarms_table(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> Table:
    thresholds = {
        "0.05": alarms.excess_over_paper_threshold,
        "5 % of the scale": alarms.excess_over_scale_share,
        "calibrated": alarms.excess_over_calibration,
    }
    rows: list[tuple[TableEntry, ...]] = []
    for spec, label in labels.items():
        row: list[TableEntry] = [label]
        for threshold in thresholds.values():
            row.append(_median_level([alarms.first_alarm(m, spec, threshold) for m in models]))
            row += map(finite_or_none, alarms.alarm_rates(models, spec, threshold))
        rows.append(tuple(row))
    copies = [p for m in models for p in alarms.threshold_test_copies(m)]
    counts = sorted(len(alarms.calibration_copies(m)) for m in models)
    harm = _median_level([alarms.first_harm(m) for m in models])
    note = (
        "Median over models of the first α that raises the alarm (none: never), and the share of "
        f"{len(copies)} disturbed models that raise it, of the {sum(not p.harmed for p in copies)} "
        f"that lost no accuracy and of the {sum(p.harmed for p in copies)} that did. The first α "
        f"that loses accuracy, after Holm over all α: {'none' if harm is None else f'{harm:.3g}'}. "
        "Thresholds: 0.05 on rows of length "
        "1, the rule of the paper, for its own drifts; 5 % of the scale; and calibrated, what 95 "
        f"% of the differences after another draw of harmless noise do not exceed ({counts[0]} to "
        f"{counts[-1]} of a model, so that it is one of the largest). Only the last is the same "
        "for a difference and its square."
    )
    columns = [
        f"{head}, {name}" for name in thresholds for head in ("first α", "false alarms", "caught")
    ]
    title = "First alarms and false alarms"
    return Table("canary_alarms", title, ("measure", *columns), tuple(rows), note)


def _median_level(levels: Sequence[float]) -> float | None:
    """Return the upper median of noise levels, which may be infinite: always an observed level.
    None if the median is infinite or a level is NaN."""
    return finite_or_none(float(np.quantile(levels, 0.5, method="higher")))


# ----------------------------------------------------------------------------- figures of canaries


def _noise_charts(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> Iterator[Chart]:
    for name, members in alarms.models_by_architecture(models).items():
        levels = sorted({p.level for p in members[0].of("noise")})
        losses = [
            mean_without_missing(
                p.loss / m.accuracy for m in members for p in m.of("noise") if p.level == level
            )
            for level in levels
        ]
        lines = [_noise_line(members, spec, label) for spec, label in labels.items()]
        yield Chart(
            f"canary_{name.replace('/', '_')}",
            f"Difference against noise: {name}",
            "α",
            SCALE_LABEL,
            (*lines, Line("accuracy lost, relative", tuple(zip(levels, losses)), is_shown=True)),
            f"Means over {len(members)} models and 2 draws. Line: {format_percent(ALARM_SHARE)} of "
            "the scale: the root of a small number is large, so the root of Procrustes crosses it "
            "first.",
            threshold=ALARM_SHARE,
        )


def _noise_line(models: Sequence[PerturbedModel], spec: str, label: str) -> Line:
    by_level: dict[float, list[float]] = {}
    for model in models:
        points = model.of("noise")
        for p, value in zip(points, shares_of_scale(model, points, spec)):
            by_level.setdefault(p.level, []).append(float(value))
    means = {level: mean_without_missing(values) for level, values in sorted(by_level.items())}
    return Line(label, tuple((x, y) for x, y in means.items() if not np.isnan(y)))


def _loss_scatter(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> Chart:
    specs = [spec for spec in labels if spec in DRIFT_MEASURES][:5]
    pairs_by_label = {labels[spec]: alarms.pooled_shares_and_losses(models, spec) for spec in specs}
    return Chart(
        "canary_losses",
        "Accuracy lost against difference",
        SCALE_LABEL,
        "accuracy lost",
        tuple(
            Line(name, tuple(zip(*map(np.ndarray.tolist, pairs))))
            for name, pairs in pairs_by_label.items()
        ),
        "One point for each disturbed model, of all kinds; the first drifts of the paper.",
        joined=False,
    )


def _roc_chart(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> Chart:
    lines = []
    for spec in labels:
        values, losses = alarms.pooled_shares_and_losses(models, spec)
        positive = losses > DETECTED_LOSSES[1]
        if positive.any() and not positive.all():
            lines.append(Line(labels[spec], tuple(roc(values, positive))))
    return Chart(
        "canary_roc",
        "ROC: more than 2 points of accuracy lost?",
        "false alarms",
        "caught",
        tuple(lines),
        "Pooled over all models and kinds of disturbance. A difference and its square have nearly "
        "the same curve.",
    )


def _alarm_bars(models: Sequence[PerturbedModel], labels: LabelsByMeasure) -> tuple[Bars, Bars]:
    threshold = alarms.excess_over_scale_share
    tracking = {s: alarms.loss_tracking(models, s, "noise") for s in labels}
    rates = {s: alarms.alarm_rates(models, s, threshold).false_alarms for s in labels}
    tracking_bars, false_bars = (
        [Bar(labels[s], value) for s, value in values.items() if math.isfinite(value)]
        for values in (tracking, rates)
    )
    return (
        Bars(
            "canary_follows",
            "Spearman of difference and accuracy lost, noise",
            "Spearman",
            tuple(sorted(tracking_bars, key=lambda bar: -bar.value)),
        ),
        Bars(
            "canary_false",
            "False alarms at 5 % of the scale",
            "share of harmless changes",
            tuple(sorted(false_bars, key=lambda bar: bar.value)),
            "The same information, squared or not, has other rates of false alarms: the threshold "
            "decides.",
        ),
    )


def _measures_without_scale(
    models: Sequence[PerturbedModel], labels: LabelsByMeasure
) -> dict[str, str]:
    reason = (
        "no scale: unchanged or shuffled weights have no value, or shuffled ones are not farther"
    )
    return {
        f"{m.name}: {spec}": reason
        for m in models
        for spec in labels
        if np.isnan(alarms.shuffled_scale(m, spec))
    }
