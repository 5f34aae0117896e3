"""Spectral deletion: how soon measures notice that leading principal components are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...compare import compare
from ...grounding import Rule, by_reference, spearman
from ...representation import Representation
from ...results.figures import Chart, Line
from ...results.sections import RankRule, Section, Table
from ...results.values import distinct, known
from ..case import Case, value_of
from ..case import Part as ComparedPart
from ..experiments import Experiment, Part, RunConfig, claims_of, measured

SEED = 420
WHOLE = "harmonic.npy"  # of a pack: the representation before any deletion
SAMPLES, FEATURES = 200, 256
REMOVED: Mapping[str, tuple[int, ...]] = {
    "small": (0, 1, 10, 19, 20, 30, 50),
    "default": tuple(range(51)),
    "paper": tuple(range(51)),
}
SHOWN = (0, 1, 10, 30, 50)  # components removed, in the table
HALF = 0.5
ROUNDING = 1e-9
BLIND = (
    "the same value whatever is removed: it sees only what a deletion keeps, such as the mean of "
    "the points, or fits fewer samples than features without error"
)
TITLE = "Spectral deletion"
ABOUT = (
    "A representation of 200 samples and 256 features has singular values that fall as 100 / i; "
    "the leading principal components are deleted one after the other, and what is left is "
    "compared with the whole. The curves show how much of its largest difference each measure "
    "reports after each deletion. A measure scores well when its difference grows with the number "
    "of components that are missing."
)


class DeletionCurve(NamedTuple):
    """What one measure reports after each deletion, with None and a reason where it has no value.

    ``removed``: how many components are missing, by which the others are arranged.
    """

    removed: tuple[int, ...]
    values: tuple[float | None, ...]
    differences: tuple[float | None, ...]
    reasons: tuple[str, ...]


Curves = Mapping[str, DeletionCurve]  # by specification


def harmonic(seed: int) -> np.ndarray:
    """Return a representation (200, 256) with singular values 100 / i along random directions."""
    random = np.random.default_rng(seed)
    left, _ = np.linalg.qr(random.standard_normal((SAMPLES, SAMPLES)))
    right, _ = np.linalg.qr(random.standard_normal((FEATURES, FEATURES)))
    return (left * (100 / np.arange(1, SAMPLES + 1))) @ right.T[:SAMPLES]


def _stored(pack: Path) -> np.ndarray:
    return np.load(pack / WHOLE, allow_pickle=False).astype(np.float64)


def without_leading(points: np.ndarray, counts: Iterable[int]) -> list[np.ndarray]:
    """Return the points without their first principal components, for each number of these."""
    mean = points.mean(axis=0)
    u, s, vt = np.linalg.svd(points - mean, full_matrices=False)
    return [(u[:, count:] * s[count:]) @ vt[count:] + mean for count in counts]


def without_rounding(differences: np.ndarray) -> np.ndarray:
    """Return differences, all 0 where they differ by rounding only."""
    known = differences[~np.isnan(differences)]
    size = np.abs(known).max(initial=1e-3)
    return differences * 0 if known.size and np.ptp(known) <= ROUNDING * size else differences


ORDER = Rule(by_reference, spearman, is_complete=True, rounded=without_rounding)


def case_of(pack: Path, size: str) -> Case:
    """Return the one cell of the experiment, on the representation of a pack."""
    points = _stored(pack)
    left = zip(REMOVED[size], without_leading(points, REMOVED[size]))
    columns = {f"y{k}": Representation(rest, f"y{k}") for k, rest in left}
    part = ComparedPart({"x": Representation(points, "x")}, REMOVED[size], columns)
    return Case("spectral", ("order",), ORDER, (part,), "spectral")


def compared(
    config: RunConfig, part: Part, first: np.ndarray, others: Sequence[np.ndarray]
) -> dict[str, list[Any]]:
    """Return values and differences of a part's measure between one array and others.

    Where there is no value there is None, and a reason.
    """
    measure = next(m for m in config.measures if [m.spec, m.version] == part["measure"])
    columns = [Representation(other, f"y{i}") for i, other in enumerate(others)]
    comparison = compare(
        Representation(first, "x"),
        columns,
        measures=[measure],
        memory=config.memory,
        progress=False,
    )
    failures = {failure.y: failure.reason for failure in comparison.failures}
    values = comparison[measure.spec][0]
    differences = comparison.difference(measure.spec)[0]
    finite = np.isfinite(values)
    return {
        "values": [float(v) if ok else None for v, ok in zip(values, finite)],
        "differences": [float(v) if ok else None for v, ok in zip(differences, finite)],
        "reasons": [
            failures.get(column.name, "" if ok else "no value")
            for column, ok in zip(columns, finite)
        ],
    }


def measure_parts(config: RunConfig) -> list[Part]:
    """Return a part for every measure of a run: the measure and the deletions it is shown."""
    shared = {"what": "measure", "removed": list(REMOVED[config.size]), "seed": SEED}
    shared |= {"pack": config.pinned.identity} if config.pinned else {}
    return [{**shared, "measure": m} for m in measured(config.measures)]


def compute_measure(config: RunConfig, part: Part) -> dict[str, list[Any]]:
    """Return what the measure of a part reports after each deletion."""
    points = _stored(config.pinned.folder) if config.pinned else harmonic(part["seed"])
    return compared(config, part, points, without_leading(points, part["removed"]))


def curves_of(done: Iterable[tuple[Part, Any]]) -> Curves:
    """Return the curve of every measure that has a part."""
    return {
        part["measure"][0]: DeletionCurve(
            tuple(part["removed"]), *(tuple(value[name]) for name in DeletionCurve._fields[1:])
        )
        for part, value in done
    }


# -------------------------------------------------------------------------------------- the section


def conclude(curves: Curves, labels: Mapping[str, str]) -> Section:
    """Return the section that follows from the curves of the measures in ``labels``."""
    if not curves:
        return Section("spectral", TITLE, ABOUT)
    return Section(
        "spectral",
        TITLE,
        ABOUT,
        (_sensitivities(curves, labels),),
        (_chart(curves, labels),),
        (),
        {"order": {spec: _order(curves[spec]) for spec in labels}},
        {labels.get(s, s): why for s, curve in curves.items() if (why := _reason(curve))},
        rules={"order": RankRule(models="spectral")},
    )


def _reason(curve: DeletionCurve) -> str:
    """Return why a curve, or a value of it, is missing; nothing when all is there."""
    failures = [f"{k} removed: {why}" for k, why in zip(curve.removed, curve.reasons) if why]
    if failures:
        return failures[0]
    return "" if _shares(curve) else BLIND


def _shares(curve: DeletionCurve) -> dict[int, float]:
    """Return differences as shares of the largest, by number of components removed.

    Without a spread there are none.
    """
    numbers = without_rounding(np.array(curve.differences, float))  # NaN for None
    differences = {k: d for k, d in zip(curve.removed, numbers.tolist()) if not np.isnan(d)}
    low, high = min(differences.values(), default=0.0), max(differences.values(), default=0.0)
    return {k: (d - low) / (high - low) for k, d in differences.items() if high > low}


def _chart(curves: Curves, labels: Mapping[str, str]) -> Chart:
    points = {
        label: tuple((float(k), share) for k, share in _shares(curves[spec]).items())
        for spec, label in labels.items()
    }
    lines = tuple(Line(label, curve) for label, curve in points.items() if curve)
    return Chart(
        "measures",
        "How soon measures see a deletion",
        "components removed",
        "share of the largest difference",
        lines,
        "0: the smallest difference that the measure reports, 1: the largest. Measures without a "
        "value are left out.",
        threshold=HALF,
    )


def _sensitivities(curves: Curves, labels: Mapping[str, str]) -> Table:
    rows = []
    for spec, label in labels.items():
        shares = _shares(curves[spec])
        values = dict(zip(curves[spec].removed, curves[spec].values))
        half = next((float(k) for k, s in shares.items() if s >= HALF), None)
        rows.append(
            (label, *(known(values.get(k)) for k in SHOWN), half, known(_order(curves[spec])))
        )
    return Table(
        "sensitivity",
        "Values of all measures by components removed",
        ("measure", *map(str, SHOWN), "half seen at", "order"),
        tuple(rows),
        "“Half seen at”: components removed when half of the largest difference is reported. "
        "“Order”: rank correlation of differences with components removed.",
    )


def _order(curve: DeletionCurve) -> float | None:
    """Return Spearman's correlation of differences with components removed.

    None where a difference is missing, or all are equal.
    """
    return known(value_of(ORDER, np.array(curve.differences, float), curve.removed))


def _conclude(config: RunConfig, done: Sequence[tuple[Part, Any]]) -> Section:
    curves = curves_of(done)
    section = conclude(curves, distinct({m.spec: m.label for m in config.measures}))
    return section._replace(claims=claims_of(config, section.name, curves))


SPECTRAL = Experiment("spectral", measure_parts, compute_measure, _conclude)
