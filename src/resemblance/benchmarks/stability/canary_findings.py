"""The canary as tables, figures, claims and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...measure import Measure
from ..experiments import Part
from ..findings import Bar, Bars, Chart, Entry, Line, Section, Table, known
from .canary_claims import claims
from .canary_facts import (
    CKA,
    DRIFTS,
    KINDS,
    POINTS,
    PROCRUSTES,
    RDM,
    SHARE,
    SQUARED,
    Point,
    Watched,
    calibrated_threshold,
    detection,
    families,
    first_alarm,
    first_harm,
    fixed_threshold,
    pooled,
    rates,
    scale,
    shares,
    tested,
    tracking,
    watched,
)
from .detection import roc

ABOUT = (
    "A canary in a mine falls silent before the miners notice the gas. Does the representation of a network change "
    "before its answers get worse? The weights of trained networks are disturbed: by noise of a standard deviation of "
    "α times that of each parameter, by rounding them to few bits, by random adapters of low rank. Every disturbed "
    "network sees the same inputs as before. A measure is a good canary when its difference grows as accuracy falls, "
    "and when it stays silent as long as nothing is lost: whether accuracy was lost is decided by McNemar's test at "
    "5 %. Differences are shares of the scale of a measure: the difference between the network and itself with the "
    "weights of every parameter shuffled."
)
SCALE = "share of the difference to the network with shuffled weights"
TITLES = {"noise": "Noise in the weights", "rounding": "Weights of few bits", "adapters": "Random adapters"}


def conclude(measures: Sequence[Measure], done: Sequence[tuple[Part, Any]]) -> Section:
    """Return the section that follows from all parts."""
    models, labels = watched(done), {m.spec: _short(m) for m in measures}
    reasons = {f"{part['model']}: {what}": why for part, value in done for what, why in value["reasons"].items()}
    scores = _scores(models, labels)
    return Section(
        "canary", "Canary: weights that drift", ABOUT,
        (*(_levels(models, labels, kind) for kind in KINDS), _measures(models, labels), _alarms(models, labels)),
        (*_curves(models, labels), _scatter(models, labels), _rocs(models, labels), *_bars(models, labels)),
        claims(models), scores, reasons | _unscaled(models, labels) | _unscored(scores),
    )  # fmt: skip


def _short(measure: Measure) -> str:
    special = {RDM: "RDM drift", CKA: "CKA, debiased", PROCRUSTES: "Procrustes (root)", SQUARED: "Procrustes (squared)"}
    fixed = ", ".join(str(v) for _, v in measure.parameters)
    return special.get(measure.spec, f"{measure.label} ({fixed})" if fixed else measure.label)


def _drifts(labels: dict[str, str]) -> list[str]:
    return [spec for spec in DRIFTS if spec in labels]


# ------------------------------------------------------------------------------------------------------------- tables


def _levels(models: Sequence[Watched], labels: dict[str, str], kind: str) -> Table:
    """Means over models at every level, as Tables 47 to 51 of the paper."""
    by_name: dict[str, list[tuple[Watched, Point]]] = {}
    for model in models:
        for p in model.of(kind):
            by_name.setdefault(p.name, []).append((model, p))
    drifts = _drifts(labels)
    rows = tuple(
        (name, _mean([p.loss for _, p in own]), _mean([float(p.harmed) for _, p in own]),
         *(_mean([float(shares(model, [p], spec)[0]) for model, p in own]) for spec in drifts))
        for name, own in by_name.items()
    )  # fmt: skip
    columns = ({"noise": "α", "rounding": "bits", "adapters": "adapter"}[kind], "accuracy lost", "significantly")
    note = f"Means over {len(models)} models. Drifts: {SCALE}."
    return Table(f"canary_{kind}", TITLES[kind], (*columns, *(labels[spec] for spec in drifts)), rows, note)


def _measures(models: Sequence[Watched], labels: dict[str, str]) -> Table:
    groups, rows = families(models).values(), list[tuple[Entry, ...]]()
    for spec, label in labels.items():
        linear = [tracking(models, spec, kind, linear=True) for kind in KINDS]
        areas = [_mean([detection(g, spec, kind, loss) for g in groups for kind in KINDS]) for loss in POINTS]
        rows.append((label, *(known(tracking(models, spec, k)) for k in KINDS), *map(known, linear), *areas))
    kinds = [f"{name}, {kind}" for name in ("Spearman", "Pearson") for kind in KINDS]
    points = [f"AUC, {100 * loss:g} points" for loss in POINTS]
    note = (
        "Correlation of the difference with the accuracy lost, the mean over models; area under the ROC for more than "
        "so many points lost, the mean over kinds of models and disturbances."
    )
    ordered = sorted(rows, key=lambda row: -float(row[1] or 0))
    return Table(
        "canary_measures", "Which measures follow accuracy?", ("measure", *kinds, *points), tuple(ordered), note
    )


def _alarms(models: Sequence[Watched], labels: dict[str, str]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for spec, label in labels.items():
        row: list[Entry] = [label]
        for threshold in (fixed_threshold, calibrated_threshold):
            found = rates(models, spec, threshold)
            row += [_typical([first_alarm(m, spec, threshold) for m in models]), *map(known, found)]
        rows.append(tuple(row))
    every = [p for m in models for p in tested(m)]
    note = (
        f"Median over models of the first α that raises the alarm (none: never), and the share of {len(every)} "
        f"disturbed models that raise it, of the {sum(not p.harmed for p in every)} that lost no accuracy and of the "
        f"{sum(p.harmed for p in every)} that did. The first α that loses accuracy: "
        f"{_said(_typical([first_harm(m) for m in models]))}. Thresholds: 5 % of the scale, as in the paper; and "
        "calibrated, what 95 % of the differences after another draw of harmless noise stay below. Only the second is "
        "the same for a difference and its square."
    )
    columns = [f"{what}, {how}" for how in ("5 %", "calibrated") for what in ("first α", "false alarms", "caught")]
    return Table("canary_alarms", "First alarms and false alarms", ("measure", *columns), tuple(rows), note)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None and not np.isnan(v)]
    return float(np.mean(there)) if there else None


def _typical(levels: Sequence[float]) -> float | None:
    """Median of levels of which some may be infinite."""
    return known(float(np.quantile(levels, 0.5, method="higher")))


def _said(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


# ------------------------------------------------------------------------------------------------------------ figures


def _curves(models: Sequence[Watched], labels: dict[str, str]) -> list[Chart]:
    charts = []
    for name, members in families(models).items():
        lines = [_line(members, spec, labels[spec]) for spec in _drifts(labels)]
        levels = sorted({p.level for p in members[0].of("noise")})
        lost = [
            (x, _mean([p.loss / m.accuracy for m in members for p in m.of("noise") if p.level == x])) for x in levels
        ]
        lines.append(Line("accuracy lost, relative", tuple((x, y) for x, y in lost if y is not None)))
        charts.append(Chart(
            f"canary_{name.replace('/', '_')}", f"Difference against noise: {name}", "α", SCALE, tuple(lines),
            f"Means over {len(members)} models and 2 draws. Line: {SHARE:g}, the threshold of the paper: the root "
            "of a small number is large, so the root of Procrustes crosses it first.", threshold=SHARE,
        ))  # fmt: skip
    return charts


def _line(models: Sequence[Watched], spec: str, label: str) -> Line:
    by_level: dict[float, list[float]] = {}
    for model in models:
        points = model.of("noise")
        for p, value in zip(points, shares(model, points, spec)):
            by_level.setdefault(p.level, []).append(float(value))
    means = {level: _mean(values) for level, values in sorted(by_level.items())}
    return Line(label, tuple((level, value) for level, value in means.items() if value is not None))


def _scatter(models: Sequence[Watched], labels: dict[str, str]) -> Chart:
    lines = []
    for spec in _drifts(labels)[:5]:
        values, losses = pooled(models, spec)
        lines.append(Line(labels[spec], tuple((float(x), float(y)) for x, y in zip(values, losses))))
    note = "One point for each disturbed model, of all kinds."
    return Chart("canary_losses", "Accuracy lost against difference", SCALE, "accuracy lost", tuple(lines), note, False)


def _rocs(models: Sequence[Watched], labels: dict[str, str]) -> Chart:
    lines = []
    for spec in _drifts(labels):
        values, losses = pooled(models, spec)
        positive = losses > POINTS[1]
        if positive.any() and not positive.all():
            lines.append(Line(labels[spec], tuple(roc(values, positive))))
    note = "Pooled over all models and kinds of disturbance. A difference and its square have nearly the same curve."
    return Chart(
        "canary_roc", "ROC: more than 2 points of accuracy lost?", "false alarms", "caught", tuple(lines), note
    )


def _bars(models: Sequence[Watched], labels: dict[str, str]) -> list[Bars]:
    follows = [(labels[s], known(tracking(models, s, "noise"))) for s in labels]
    alarms = [(labels[s], known(rates(models, s, fixed_threshold).false_alarms)) for s in labels]
    return [
        Bars("canary_follows", "Spearman of difference and accuracy lost, noise", "Spearman", _sorted(follows, -1)),
        Bars("canary_false", "False alarms at 5 % of the scale", "share of harmless changes", _sorted(alarms, 1),
             "The same information, squared or not, has other rates of false alarms: the threshold decides."),
    ]  # fmt: skip


def _sorted(values: Sequence[tuple[str, float | None]], sign: int) -> tuple[Bar, ...]:
    there = [Bar(name, value) for name, value in values if value is not None]
    return tuple(sorted(there, key=lambda bar: sign * bar.value))


# ------------------------------------------------------------------------------------------------------------- scores


def _scores(models: Sequence[Watched], labels: dict[str, str]) -> dict[str, dict[str, float | None]]:
    """How well every measure follows accuracy, by kind of model and disturbance; without cells nobody has."""
    cells: dict[str, dict[str, float | None]] = {}
    for name, members in families(models).items():
        for kind in KINDS:
            cells[f"{name}, {kind}: Spearman"] = {s: known(tracking(members, s, kind)) for s in labels}
            cells[f"{name}, {kind}: AUC"] = {s: known(detection(members, s, kind, POINTS[1])) for s in labels}
    return {cell: found for cell, found in cells.items() if any(v is not None for v in found.values())}


def _unscored(scores: Mapping[str, Mapping[str, float | None]]) -> dict[str, str]:
    why = "too few values, equal differences, or no change lost accuracy"
    return {f"{cell}: {spec}": why for cell, found in scores.items() for spec, v in found.items() if v is None}


def _unscaled(models: Sequence[Watched], labels: Iterable[str]) -> dict[str, str]:
    why = "no scale: it does not see that the weights were shuffled, or has no value for it"
    return {f"{m.name}: {spec}": why for m in models for spec in labels if np.isnan(scale(m, spec))}
