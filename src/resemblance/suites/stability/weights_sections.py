"""The canary as tables, figures, claims and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...measure import Measure
from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Entry, RankRule, Section, Table
from ...results.values import distinct, known, mean
from . import weight_changes
from .detection import roc
from .weight_changes import DRIFTS, FEWEST, KINDS, POINTS, SHARE, DisturbedModel, shares

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


Labels = Mapping[str, str]  # of measures, by specification


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
        scores=scores,
        reasons={**reasons, **_unscaled(models, labels), **why},
        rules=rules,
    )


def _labels(measures: Sequence[Measure]) -> dict[str, str]:
    """What measures are called, the drifts of the paper before all others."""
    special = {
        weight_changes.RDM: "RDM drift",
        weight_changes.CKA: "CKA, debiased",
        weight_changes.PROCRUSTES: "Procrustes (root)",
        weight_changes.SQUARED: "Procrustes (squared)",
    }
    by_spec = {m.spec: special.get(m.spec, m.label) for m in measures}
    first = [spec for spec in DRIFTS if spec in by_spec]
    return distinct({spec: by_spec[spec] for spec in dict.fromkeys([*first, *by_spec])})


# ------------------------------------------------------------------------------------------- tables


def _levels(models: Sequence[DisturbedModel], labels: Labels, kind: str) -> Table:
    """Means over models at every level, as Tables 47 to 51 of the paper."""
    rows = []
    for name in dict.fromkeys(p.name for model in models for p in model.of(kind)):
        copies = [(model, p) for model in models for p in model.of(kind) if p.name == name]
        columns = [
            [p.loss for _, p in copies],
            [float(p.harmed) for _, p in copies],
            *([float(shares(m, [p], spec)[0]) for m, p in copies] for spec in labels),
        ]
        rows.append((name, *(known(mean(column)) for column in columns)))
    level = {"noise": "α", "rounding": "bits", "adapters": "adapter"}[kind]
    columns_of = (level, "accuracy lost", "significantly", *labels.values())
    note = f"Means over {len(models)} models. Differences: {SCALE}."
    return Table(f"canary_{kind}", TITLES[kind], columns_of, tuple(rows), note)


def _measures(models: Sequence[DisturbedModel], labels: Labels) -> Table:
    rows: list[tuple[Entry, ...]] = [
        (
            label,
            *(known(weight_changes.tracking(models, spec, k)) for k in KINDS),
            *(known(weight_changes.tracking(models, spec, k, linear=True)) for k in KINDS),
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
    rows.sort(key=lambda row: (row[1] is None, -float(row[1] or 0)))
    title = "Which measures follow accuracy?"
    return Table("canary_measures", title, ("measure", *kinds, *points), tuple(rows), note)


def _area(models: Sequence[DisturbedModel], spec: str, loss: float) -> float | None:
    """Return the mean area over all cells with enough copies of either kind.

    None where the measure lacks one.
    """
    areas = [
        weight_changes.detection(group, spec, kind, loss)
        for group in weight_changes.families(models).values()
        for kind in KINDS
        if min(weight_changes.lost(group, kind, loss)) >= FEWEST
    ]
    return known(float(np.mean(areas))) if areas else None


def _alarms(models: Sequence[DisturbedModel], labels: Labels) -> Table:
    thresholds = {
        "0.05": weight_changes.as_printed,
        "5 % of the scale": weight_changes.scaled,
        "calibrated": weight_changes.calibrated,
    }
    rows: list[tuple[Entry, ...]] = []
    for spec, label in labels.items():
        row: list[Entry] = [label]
        for threshold in thresholds.values():
            row.append(_typical([weight_changes.first_alarm(m, spec, threshold) for m in models]))
            row += map(known, weight_changes.rates(models, spec, threshold))
        rows.append(tuple(row))
    copies = [p for m in models for p in weight_changes.tested(m)]
    counts = sorted(len(weight_changes.calibration(m)) for m in models)
    harm = _typical([weight_changes.first_harm(m) for m in models])
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
        f"{what}, {how}" for how in thresholds for what in ("first α", "false alarms", "caught")
    ]
    title = "First alarms and false alarms"
    return Table("canary_alarms", title, ("measure", *columns), tuple(rows), note)


def _typical(levels: Sequence[float]) -> float | None:
    """Median of levels of which some may be infinite."""
    return known(float(np.quantile(levels, 0.5, method="higher")))


# ------------------------------------------------------------------------------------------ figures


def _curves(models: Sequence[DisturbedModel], labels: Labels) -> Iterator[Chart]:
    for name, members in weight_changes.families(models).items():
        levels = sorted({p.level for p in members[0].of("noise")})
        losses = [_relative_loss(members, level) for level in levels]
        lines = [_line(members, spec, label) for spec, label in labels.items()]
        yield Chart(
            f"canary_{name.replace('/', '_')}",
            f"Difference against noise: {name}",
            "α",
            SCALE,
            (*lines, Line("accuracy lost, relative", tuple(zip(levels, losses)))),
            f"Means over {len(members)} models and 2 draws. Line: {SHARE:.0%} of the scale: "
            "the root of a small number is large, so the root of Procrustes crosses it first.",
            threshold=SHARE,
        )


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
    return Line(label, tuple((x, y) for x, y in means.items() if not np.isnan(y)))


def _scatter(models: Sequence[DisturbedModel], labels: Labels) -> Chart:
    shown = [spec for spec in labels if spec in DRIFTS][:5]
    pooled = {labels[spec]: weight_changes.pooled(models, spec) for spec in shown}
    return Chart(
        "canary_losses",
        "Accuracy lost against difference",
        SCALE,
        "accuracy lost",
        tuple(Line(name, tuple(zip(*map(np.ndarray.tolist, of)))) for name, of in pooled.items()),
        "One point for each disturbed model, of all kinds; the first drifts of the paper.",
        joined=False,
    )


def _rocs(models: Sequence[DisturbedModel], labels: Labels) -> Chart:
    lines = []
    for spec in labels:
        values, losses = weight_changes.pooled(models, spec)
        positive = losses > POINTS[1]
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


def _bars(models: Sequence[DisturbedModel], labels: Labels) -> tuple[Bars, Bars]:
    scaled = weight_changes.scaled
    follows = [Bar(labels[s], weight_changes.tracking(models, s, "noise")) for s in labels]
    alarms = [Bar(labels[s], weight_changes.rates(models, s, scaled).false_alarms) for s in labels]
    return (
        Bars(
            "canary_follows",
            "Spearman of difference and accuracy lost, noise",
            "Spearman",
            tuple(sorted(filter(_has_value, follows), key=lambda bar: -bar.value)),
        ),
        Bars(
            "canary_false",
            "False alarms at 5 % of the scale",
            "share of harmless changes",
            tuple(sorted(filter(_has_value, alarms), key=lambda bar: bar.value)),
            "The same information, squared or not, has other rates of false alarms: the threshold "
            "decides.",
        ),
    )


def _has_value(bar: Bar) -> bool:
    return math.isfinite(bar.value)


# ------------------------------------------------------------------------------------------- scores


Scores = dict[str, dict[str, float | None]]


def _scores(
    models: Sequence[DisturbedModel], labels: Labels
) -> tuple[Scores, dict[str, str], dict[str, RankRule]]:
    """Return how well every measure detects losses of accuracy, by kind of model and disturbance;
    why it has no number; and the models of every cell.

    One quality of each, so that the same copies do not count twice: the area under the ROC where
    copies enough lost more than two points and did not, Spearman's correlation elsewhere, none
    where no accuracy was lost.
    """
    cells, reasons, rules = Scores(), dict[str, str](), dict[str, RankRule]()
    for name, members in weight_changes.families(models).items():
        for kind in KINDS:
            harmed, others = weight_changes.lost(members, kind, POINTS[1])
            is_enough = min(harmed, others) >= FEWEST
            if is_enough:
                scores = {
                    s: known(weight_changes.detection(members, s, kind, POINTS[1])) for s in labels
                }
            else:
                why = f"{harmed} copies lost more than 2 points, {others} did not"
                reasons[f"{name}, {kind}: AUC"] = why
                scores = {s: known(weight_changes.tracking(members, s, kind)) for s in labels}
            cell = f"{name}, {kind}: {'AUC' if is_enough else 'Spearman'}"
            if any(v is not None for v in scores.values()):
                cells[cell], rules[cell] = scores, RankRule(models=name)
                reasons |= {
                    f"{cell}: {s}": _why(members, s, kind) for s, v in scores.items() if v is None
                }
    return cells, reasons, rules


def _why(models: Sequence[DisturbedModel], spec: str, kind: str) -> str:
    """The first failed comparison, or that nothing was seen."""
    failed = (
        f"{m.name}, {p.name}: {p.reasons[spec]}"
        for m in models
        for p in m.disturbed(kind)
        if spec in p.reasons
    )
    return next(failed, "the same difference whatever was done")


def _unscaled(models: Sequence[DisturbedModel], labels: Labels) -> dict[str, str]:
    why = "no scale: unchanged or shuffled weights have no value, or shuffled ones are not farther"
    return {
        f"{m.name}: {spec}": why
        for m in models
        for spec in labels
        if np.isnan(weight_changes.scale(m, spec))
    }
