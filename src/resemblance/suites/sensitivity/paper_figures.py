"""Figures 1 and 2 of the paper for one family of models, with all measures in tables."""

from __future__ import annotations

from typing import TypeAlias

from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Table
from .facts import (
    CKA,
    PAPER,
    PROCRUSTES,
    PWCCA,
    DeletionCurves,
    FamilyFacts,
    Shares,
    Specificity,
    mean_or_none,
)
from .family_tables import best_first
from .operators import Deletion

Shown: TypeAlias = tuple[list[Table], list[Chart | Bars]]


def figures_of_paper(facts: FamilyFacts) -> Shown:
    """Return the tables and figures of a family in benchmarks 1 and 2; none in the others."""
    if facts.specificity:
        return _figure_1(facts, facts.specificity)
    if facts.deletion:
        return _figure_2(facts, facts.deletion)
    return [], []


# ----------------------------------------------------------------------------------------- Figure 1


def _figure_1(facts: FamilyFacts, specificity: Specificity) -> Shown:
    """The middle layer against all layers of its own model and of another seed."""
    tables = [_specificity_table(facts, specificity), _probe_table(facts, specificity)]
    shown = [spec for spec in (CKA, PROCRUSTES, PWCCA) if spec in specificity.zoom]
    return tables, [_zoom(facts, specificity, spec) for spec in shown]


def _specificity_table(facts: FamilyFacts, specificity: Specificity) -> Table:
    rows = [
        (facts.name(spec), mean_or_none(shares), *shares)
        for spec, shares in specificity.exceeding.items()
    ]
    return Table(
        f"{facts.family.title}: specificity",
        f"Do layers differ more than seeds? {facts.family.title}",
        ("measure", "mean", *specificity.layers),
        best_first(rows),
        "By layer, the share of the other layers of the same model that are farther from it than "
        "the same layer of another seed; the mean over pairs of seeds. Near 1: layers differ more "
        "than random starts. Near 0: the measure fails the specificity test of the paper.",
    )


def _probe_table(facts: FamilyFacts, specificity: Specificity) -> Table:
    title = facts.family.title
    rows = tuple(zip(specificity.layers, specificity.probe))
    columns, note = ("layer", "accuracy"), "Mean over seeds."
    return Table(f"{title}: probes", f"Accuracy of probes: {title}", columns, rows, note)


def _zoom(facts: FamilyFacts, specificity: Specificity, spec: str) -> Chart:
    title, name = facts.family.title, facts.name(spec)
    middle, distances = specificity.middle, specificity.zoom[spec]
    lines = (
        Line("same model", _points(distances.within)),
        Line("another seed", _points(distances.across)),
    )
    note = (
        f"Distances of layer {specificity.layers[middle]} from every layer, from 1, mean over "
        "seeds; the threshold is the distance from the same layer of another seed. Layers below "
        "it differ less than two random starts."
    )
    return Chart(
        f"{title}: {name} by layer",
        f"Figure 1, {name}: {title}",
        "layer",
        "distance",
        lines,
        note,
        threshold=distances.across[middle],
    )


def _points(values: Shares) -> tuple[tuple[float, float], ...]:
    return tuple((i + 1.0, v) for i, v in enumerate(values) if v is not None)


# ---------------------------------------------------------------------------------------- Figure 2


def _figure_2(facts: FamilyFacts, deletion: DeletionCurves) -> Shown:
    """Distances from undeleted representations over the share of components deleted."""
    table = _detection_table(facts, deletion)
    return [table], [_curves(facts, deletion), _detected(facts, deletion)]


def _detection_table(facts: FamilyFacts, deletion: DeletionCurves) -> Table:
    shares, probe = deletion.shares, deletion.probe
    accuracy: dict[float | None, float | None] = {None: None, **dict(zip(shares, probe))}
    rows = [
        (facts.name(spec), c.detected, accuracy[c.detected], c.threshold)
        for spec, c in deletion.curves.items()
    ]
    rows.sort(key=lambda r: (r[1] is None, r[1] or 0, r[0]))
    note = (
        f"Layer {deletion.layer}. Detected: the smallest share of deleted components at which "
        "the distance from the undeleted representation exceeds the mean distance between seeds "
        "(threshold); none where it never does. Probe: accuracy with that share deleted; "
        f"{probe[0]:.3f} with none. Shares tried: " + ", ".join(f"{s:.2f}" for s in shares) + "."
    )
    lacking = "; ".join(f"{facts.name(spec)}: {why}" for spec, why in deletion.unknown.items())
    note += f" Without a value ({lacking})." if lacking else ""
    columns = ("measure", "detected", "probe there", "threshold")
    title = f"How much can be deleted unseen? {facts.family.title}"
    return Table(f"{facts.family.title}: detection", title, columns, tuple(rows), note)


def _curves(facts: FamilyFacts, deletion: DeletionCurves) -> Chart:
    lines = tuple(
        _relative(facts.name(spec), curve)
        for spec, curve in deletion.curves.items()
        if spec in PAPER.values() and curve.threshold
    )
    probe = Line("accuracy of probes", tuple(zip(deletion.shares, deletion.probe)))
    note = (
        "Distances in units of the mean distance between seeds, the threshold, which is 1; mean "
        "over seeds. The accuracy of probes, a share of 1, is on the same axis."
    )
    return Chart(
        f"{facts.family.title}: deletion",
        f"Figure 2: {facts.family.title}, {deletion.layer}",
        "share of components deleted",
        "distance / threshold; accuracy",
        (*lines, probe),
        note,
        threshold=1.0,
    )


def _relative(name: str, curve: Deletion) -> Line:
    """A curve in units of its threshold."""
    pairs = zip(curve.share, curve.distance)
    return Line(name, tuple((share, distance / curve.threshold) for share, distance in pairs))


def _detected(facts: FamilyFacts, deletion: DeletionCurves) -> Bars:
    curves = sorted(deletion.curves.items(), key=lambda item: (item[1].detected or 2.0, item[0]))
    bars = tuple(Bar(facts.name(spec), c.detected) for spec, c in curves if c.detected is not None)
    never = [facts.name(spec) for spec, c in curves if c.detected is None]
    unknown = [facts.name(spec) for spec in deletion.unknown]
    note = "Smallest share of components whose deletion is detected; small is sensitive."
    note += f" Never detected by {', '.join(never)}." if never else ""
    note += f" Without a value, which is not the same: {', '.join(unknown)}." if unknown else ""
    return Bars(
        f"{facts.family.title}: detected",
        f"Seen from: {facts.family.title}",
        "share of components deleted",
        bars,
        note,
    )
