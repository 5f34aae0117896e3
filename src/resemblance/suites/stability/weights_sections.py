"""The canary as tables, figures, claims and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...measure import Measure
from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Entry, RankRule, Section, Table
from ...results.values import distinct, known, mean
from .detection import roc
from .weight_changes import (
    CKA,
    DRIFTS,
    FEWEST,
    KINDS,
    POINTS,
    PROCRUSTES,
    RDM,
    SHARE,
    SQUARED,
    DisturbedCopy,
    DisturbedModel,
    as_printed,
    calibrated,
    calibration,
    detection,
    families,
    first_alarm,
    first_harm,
    lost,
    pooled,
    rates,
    scale,
    scaled,
    shares,
    tested,
    tracking,
)

ABOUT = (
    "A canary in a mine falls silent before the miners notice the gas. Does the representation of "
    "a network change before its answers get worse? The weights of trained networks are "
    "disturbed: by noise of a standard deviation of α times that of each parameter, by rounding "
    "them to few bits, by random adapters of low rank. Every disturbed network sees the same "
    "inputs as before. A measure is a good canary when its difference grows as accuracy falls, "
    "and when it stays silent as long as nothing is lost: whether accuracy was lost is decided by "
    "McNemar's test at 5 %. Differences are shares of the scale of a measure: from the network "
    "and itself to the network with the weights of every parameter shuffled. A measure that has "
    "no value for a change has none for that kind of change, and comes last there: a measure must "
    "not gain by failing in hard cases."
)
TITLE = "Canary: weights that drift"
SCALE = "share of the scale: 0 for unchanged weights, 1 for shuffled ones"
TITLES = {
    "noise": "Noise in the weights",
    "rounding": "Weights of few bits",
    "adapters": "Random adapters",
}


def conclude(
    measures: Sequence[Measure], models: Sequence[DisturbedModel], reasons: Mapping[str, str]
) -> Section:
    """Return the section that follows from disturbed models.

    ``reasons``: why models could not be trained, or comparisons failed.
    """
    if not models:
        return Section("canary", TITLE, ABOUT, reasons=reasons)
    labels = _labels(measures)
    scores, why, rules = _scores(models, labels)
    return Section(
        "canary",
        TITLE,
        ABOUT,
        (
            *(_levels(models, labels, kind) for kind in KINDS),
            _measures(models, labels),
            _alarms(models, labels),
        ),
        (
            *_curves(models, labels),
            _scatter(models, labels),
            _rocs(models, labels),
            *_bars(models, labels),
        ),
        (),
        scores,
        {**reasons, **_unscaled(models, labels), **why},
        rules=rules,
    )


def _labels(measures: Sequence[Measure]) -> dict[str, str]:
    """What measures are called, the drifts of the paper before all others."""
    special = {
        RDM: "RDM drift",
        CKA: "CKA, debiased",
        PROCRUSTES: "Procrustes (root)",
        SQUARED: "Procrustes (squared)",
    }
    by_spec = {m.spec: special.get(m.spec, m.label) for m in measures}
    first = [spec for spec in DRIFTS if spec in by_spec]
    return distinct({spec: by_spec[spec] for spec in dict.fromkeys([*first, *by_spec])})


# ------------------------------------------------------------------------------------------- tables


def _levels(models: Sequence[DisturbedModel], labels: dict[str, str], kind: str) -> Table:
    """Means over models at every level, as Tables 47 to 51 of the paper."""
    by_name: dict[str, list[tuple[DisturbedModel, DisturbedCopy]]] = {}
    for model in models:
        for p in model.of(kind):
            by_name.setdefault(p.name, []).append((model, p))
    rows = tuple(
        (
            name,
            known(mean(p.loss for _, p in copies)),
            known(mean(float(p.harmed) for _, p in copies)),
            *(
                known(mean(float(shares(model, [p], spec)[0]) for model, p in copies))
                for spec in labels
            ),
        )
        for name, copies in by_name.items()
    )
    columns = (
        {"noise": "α", "rounding": "bits", "adapters": "adapter"}[kind],
        "accuracy lost",
        "significantly",
    )
    note = f"Means over {len(models)} models. Differences: {SCALE}."
    return Table(f"canary_{kind}", TITLES[kind], (*columns, *labels.values()), rows, note)


def _measures(models: Sequence[DisturbedModel], labels: dict[str, str]) -> Table:
    rows: list[tuple[Entry, ...]] = [
        (
            label,
            *(known(tracking(models, spec, k)) for k in KINDS),
            *(known(tracking(models, spec, k, linear=True)) for k in KINDS),
            *(_area(models, spec, loss) for loss in POINTS),
        )
        for spec, label in labels.items()
    ]
    kinds = [f"{name}, {kind}" for name in ("Spearman", "Pearson") for kind in KINDS]
    points = [f"AUC, {100 * loss:g} points" for loss in POINTS]
    note = (
        "Correlation of the difference with the accuracy lost, the mean over models; area under "
        "the ROC for more than so many points lost, among copies of one model, the mean over "
        f"kinds of models and disturbances of which at least {FEWEST} copies did and {FEWEST} did "
        "not. Unchanged weights are left out. Without a value: a comparison failed."
    )
    ordered = sorted(rows, key=lambda row: (row[1] is None, -float(row[1] or 0)))
    return Table(
        "canary_measures",
        "Which measures follow accuracy?",
        ("measure", *kinds, *points),
        tuple(ordered),
        note,
    )


def _area(models: Sequence[DisturbedModel], spec: str, loss: float) -> float | None:
    """Return the mean area over all cells with enough copies of either kind.

    None where the measure lacks one.
    """
    cells = [
        (g, k) for g in families(models).values() for k in KINDS if min(lost(g, k, loss)) >= FEWEST
    ]
    return known(float(np.mean([detection(g, spec, k, loss) for g, k in cells]))) if cells else None


def _alarms(models: Sequence[DisturbedModel], labels: dict[str, str]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for spec, label in labels.items():
        row: list[Entry] = [label]
        for threshold in (as_printed, scaled, calibrated):
            frequencies = rates(models, spec, threshold)
            row += [
                _typical([first_alarm(m, spec, threshold) for m in models]),
                *map(known, frequencies),
            ]
        rows.append(tuple(row))
    copies = [p for m in models for p in tested(m)]
    counts = sorted(len(calibration(m)) for m in models)
    note = (
        "Median over models of the first α that raises the alarm (none: never), and the share of "
        f"{len(copies)} disturbed models that raise it, of the {sum(not p.harmed for p in copies)} "
        f"that lost no accuracy and of the {sum(p.harmed for p in copies)} that did. The first α "
        "that loses accuracy, after Holm over all α: "
        f"{_said(_typical([first_harm(m) for m in models]))}. Thresholds: 0.05 on rows of length "
        "1, the rule of the paper, for its own drifts; 5 % of the scale; and calibrated, what 95 "
        f"% of the differences after another draw of harmless noise do not exceed ({counts[0]} to "
        f"{counts[-1]} of a model, so that it is one of the largest). Only the last is the same "
        "for a difference and its square."
    )
    how = ("0.05", "5 % of the scale", "calibrated")
    columns = [f"{what}, {by}" for by in how for what in ("first α", "false alarms", "caught")]
    return Table(
        "canary_alarms", "First alarms and false alarms", ("measure", *columns), tuple(rows), note
    )


def _typical(levels: Sequence[float]) -> float | None:
    """Median of levels of which some may be infinite."""
    return known(float(np.quantile(levels, 0.5, method="higher")))


def _said(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


# ------------------------------------------------------------------------------------------ figures


def _curves(models: Sequence[DisturbedModel], labels: dict[str, str]) -> list[Chart]:
    charts = []
    for name, members in families(models).items():
        lines = [_line(members, spec, label) for spec, label in labels.items()]
        levels = sorted({p.level for p in members[0].of("noise")})
        losses = tuple((level, _relative_loss(members, level)) for level in levels)
        lines.append(Line("accuracy lost, relative", losses))
        charts.append(
            Chart(
                f"canary_{name.replace('/', '_')}",
                f"Difference against noise: {name}",
                "α",
                SCALE,
                tuple(lines),
                f"Means over {len(members)} models and 2 draws. Line: {SHARE:.0%} of the scale: "
                "the root of a small number is large, so the root of Procrustes crosses it first.",
                threshold=SHARE,
            )
        )
    return charts


def _relative_loss(models: Sequence[DisturbedModel], level: float) -> float:
    """Return the mean share of its accuracy that a model loses at one level of noise."""
    return mean(p.loss / m.accuracy for m in models for p in m.of("noise") if p.level == level)


def _line(models: Sequence[DisturbedModel], spec: str, label: str) -> Line:
    by_level: dict[float, list[float]] = {}
    for model in models:
        points = model.of("noise")
        for p, value in zip(points, shares(model, points, spec)):
            by_level.setdefault(p.level, []).append(float(value))
    means = {level: mean(values) for level, values in sorted(by_level.items())}
    return Line(
        label, tuple((level, value) for level, value in means.items() if not np.isnan(value))
    )


def _scatter(models: Sequence[DisturbedModel], labels: dict[str, str]) -> Chart:
    lines = []
    for spec in [spec for spec in labels if spec in DRIFTS][:5]:
        values, losses = pooled(models, spec)
        lines.append(
            Line(labels[spec], tuple((float(x), float(y)) for x, y in zip(values, losses)))
        )
    note = "One point for each disturbed model, of all kinds; the first drifts of the paper."
    return Chart(
        "canary_losses",
        "Accuracy lost against difference",
        SCALE,
        "accuracy lost",
        tuple(lines),
        note,
        False,
    )


def _rocs(models: Sequence[DisturbedModel], labels: dict[str, str]) -> Chart:
    lines = []
    for spec in labels:
        values, losses = pooled(models, spec)
        positive = losses > POINTS[1]
        if positive.any() and not positive.all():
            lines.append(Line(labels[spec], tuple(roc(values, positive))))
    note = (
        "Pooled over all models and kinds of disturbance. A difference and its square have nearly "
        "the same curve."
    )
    return Chart(
        "canary_roc",
        "ROC: more than 2 points of accuracy lost?",
        "false alarms",
        "caught",
        tuple(lines),
        note,
    )


def _bars(models: Sequence[DisturbedModel], labels: dict[str, str]) -> list[Bars]:
    follows = [(labels[s], known(tracking(models, s, "noise"))) for s in labels]
    alarms = [(labels[s], known(rates(models, s, scaled).false_alarms)) for s in labels]
    return [
        Bars(
            "canary_follows",
            "Spearman of difference and accuracy lost, noise",
            "Spearman",
            _sorted(follows, -1),
        ),
        Bars(
            "canary_false",
            "False alarms at 5 % of the scale",
            "share of harmless changes",
            _sorted(alarms, 1),
            "The same information, squared or not, has other rates of false alarms: the threshold "
            "decides.",
        ),
    ]


def _sorted(values: Sequence[tuple[str, float | None]], sign: int) -> tuple[Bar, ...]:
    bars = [Bar(name, value) for name, value in values if value is not None]
    return tuple(sorted(bars, key=lambda bar: sign * bar.value))


# ------------------------------------------------------------------------------------------- scores


Scores = dict[str, dict[str, float | None]]


def _scores(
    models: Sequence[DisturbedModel], labels: dict[str, str]
) -> tuple[Scores, dict[str, str], dict[str, RankRule]]:
    """Return how well every measure detects losses of accuracy, why it has no number, and the
    models of every cell.

    By kind of model and disturbance.

    One quality of each, so that the same copies do not count twice: the area under the ROC where
    copies enough lost more than two points and did not, Spearman's correlation elsewhere, none
    where no accuracy was lost.
    """
    cells, reasons, rules = Scores(), dict[str, str](), dict[str, RankRule]()
    for name, members in families(models).items():
        for kind in KINDS:
            harmed, others = lost(members, kind, POINTS[1])
            enough = min(harmed, others) >= FEWEST
            cell = f"{name}, {kind}: {'AUC' if enough else 'Spearman'}"
            if not enough:
                reasons[f"{name}, {kind}: AUC"] = (
                    f"{harmed} copies lost more than 2 points, {others} did not"
                )
            scores = {s: known(_quality(members, s, kind, enough)) for s in labels}
            if any(v is not None for v in scores.values()):
                cells[cell], rules[cell] = scores, RankRule(models=name)
                reasons |= {
                    f"{cell}: {s}": _why(members, s, kind) for s, v in scores.items() if v is None
                }
    return cells, reasons, rules


def _quality(models: Sequence[DisturbedModel], spec: str, kind: str, area: bool) -> float:
    return detection(models, spec, kind, POINTS[1]) if area else tracking(models, spec, kind)


def _why(models: Sequence[DisturbedModel], spec: str, kind: str) -> str:
    """The first failed comparison, or that nothing was seen."""
    failed = (
        f"{m.name}, {p.name}: {p.reasons[spec]}"
        for m in models
        for p in m.disturbed(kind)
        if spec in p.reasons
    )
    return next(failed, "the same difference whatever was done")


def _unscaled(models: Sequence[DisturbedModel], labels: Iterable[str]) -> dict[str, str]:
    why = "no scale: unchanged or shuffled weights have no value, or shuffled ones are not farther"
    return {f"{m.name}: {spec}": why for m in models for spec in labels if np.isnan(scale(m, spec))}
