"""Figures 1 and 2 of the paper for one family of models, and the numbers behind them for every
measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...results.figures import Bar, Bars, Chart, Line
from ...results.sections import Table
from .grading import mean_of_all
from .sections import Finding, name_of
from .settings import CKA, PAPER, PROCRUSTES, PWCCA

Shown = tuple[tuple[Table, ...], tuple[Chart | Bars, ...]]


def specificity(finding: Finding) -> Shown:
    """Return Figure 1: the middle layer against all layers of its own model and of another seed."""
    family, numbers = finding
    rows = [
        (name_of(spec, numbers["labels"]), mean_of_all(shares), *shares)
        for spec, shares in numbers["exceeding"].items()
    ]
    rows.sort(key=lambda r: (r[1] is None, -(r[1] or 0), r[0]))
    table = Table(
        f"{family.title}: specificity",
        f"Do layers differ more than seeds? {family.title}",
        ("measure", "mean", *numbers["layers"]),
        tuple(rows),
        "By layer, the share of the other layers of the same model that are farther from it than "
        "the same layer of another seed; the mean over pairs of seeds. Near 1: layers differ more "
        "than random starts. Near 0: the measure fails the specificity test of the paper.",
    )
    probe = [(str(layer), value) for layer, value in zip(numbers["layers"], numbers["probe"])]
    accuracy = Table(
        f"{family.title}: probes",
        f"Accuracy of probes: {family.title}",
        ("layer", "accuracy"),
        tuple(probe),
        "Mean over seeds.",
    )
    return (table, accuracy), tuple(
        _zoom(family.title, spec, numbers)
        for spec in (CKA, PROCRUSTES, PWCCA)
        if spec in numbers["zoom"]
    )


def _zoom(title: str, spec: str, numbers: Mapping[str, Any]) -> Chart:
    middle, found = numbers["middle"], numbers["zoom"][spec]
    lines = tuple(
        Line(name, tuple((i + 1.0, v) for i, v in enumerate(found[key]) if v is not None))
        for key, name in (("within", "same model"), ("across", "another seed"))
    )
    note = (
        f"Distances of layer {numbers['layers'][middle]} from every layer, from 1, mean over "
        "seeds; the threshold is that from the same layer of another seed. What lies below it "
        "differs less than two random starts."
    )
    name = name_of(spec, numbers["labels"])
    return Chart(
        f"{title}: {name} by layer",
        f"Figure 1, {name}: {title}",
        "layer",
        "distance",
        lines,
        note,
        threshold=found["across"][middle],
    )


def deletions(finding: Finding) -> Shown:
    """Return Figure 2: distances from undeleted representations over the share of components
    deleted."""
    family, numbers = finding
    curves, shares, probe = numbers["curves"], numbers["shares"], numbers["probe"]
    there: dict[float | None, float | None] = {None: None, **dict(zip(shares, probe))}
    rows = [
        (name_of(spec, numbers["labels"]), c["detected"], there[c["detected"]], c["threshold"])
        for spec, c in curves.items()
    ]
    rows.sort(key=lambda r: (r[1] is None, r[1] or 0, r[0]))
    note = (
        f"Layer {numbers['layer']}. Detected: the smallest share of deleted components at which "
        "the distance from the undeleted representation exceeds the mean distance between seeds "
        "(threshold); none where it never does. Probe: accuracy with that share deleted; "
        f"{probe[0]:.3f} with none. Shares tried: " + ", ".join(f"{s:.2f}" for s in shares) + "."
    )
    lacking = "; ".join(
        f"{name_of(spec, numbers['labels'])}: {why}" for spec, why in numbers["unknown"].items()
    )
    note += f" Without a value ({lacking})." if lacking else ""
    columns = ("measure", "detected", "probe there", "threshold")
    title = f"How much can be deleted unseen? {family.title}"
    table = Table(f"{family.title}: detection", title, columns, tuple(rows), note)
    return (table,), (_curves(finding), _detected(finding))


def _curves(finding: Finding) -> Chart:
    family, numbers = finding
    lines = tuple(
        Line(
            name_of(spec, numbers["labels"]),
            tuple(
                (share, d / c["threshold"])
                for share, d in zip(numbers["shares"], c["distance"])
                if d is not None
            ),
        )
        for spec, c in numbers["curves"].items()
        if spec in PAPER.values() and c["threshold"]
    )
    probe = Line("accuracy of probes", tuple(zip(numbers["shares"], numbers["probe"])))
    note = (
        "Distances in units of the mean distance between seeds, the threshold, which is 1; mean "
        "over seeds. The accuracy of probes is on the same axis as it is, a share of 1."
    )
    title = f"Figure 2: {family.title}, {numbers['layer']}"
    return Chart(
        f"{family.title}: deletion",
        title,
        "share of components deleted",
        "distance / threshold; accuracy",
        (*lines, probe),
        note,
        threshold=1.0,
    )


def _detected(finding: Finding) -> Bars:
    family, numbers = finding
    found = sorted(
        numbers["curves"].items(), key=lambda item: (item[1]["detected"] or 2.0, item[0])
    )
    bars = tuple(
        Bar(name_of(spec, numbers["labels"]), c["detected"])
        for spec, c in found
        if c["detected"] is not None
    )
    never = [name_of(spec, numbers["labels"]) for spec, c in found if c["detected"] is None]
    note = "Smallest share of components whose deletion is seen; small is sensitive."
    note += f" Never seen by {', '.join(never)}." if never else ""
    unknown = [name_of(spec, numbers["labels"]) for spec in numbers["unknown"]]
    note += f" Without a value, which is another thing: {', '.join(unknown)}." if unknown else ""
    return Bars(
        f"{family.title}: detected",
        f"Seen from: {family.title}",
        "share of components deleted",
        bars,
        note,
    )
