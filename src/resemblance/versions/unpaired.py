"""Drift between batches of different samples: whether two sets of rows have the same
distribution."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.exceptions import UndefinedError
from ..base.rng import generator
from ..contracts._statistic import class_indices
from ..contracts.streamed import require_features
from ..data.joining import align_columns
from ..data.representation import Representation, as_representation, representation_title
from ..intermediates.digits import check_digits
from ..significance.multiple_testing import holm_adjust
from .findings import CHANGE_NAMES, Finding, unassessed_finding
from .moved import MovedClass, class_mean_shifts
from .retrieval import Rows
from .table import DRIFT_ROWS, SEARCH_DRIFT_ROWS, DriftRow, DriftTest
from .two_samples import (
    TwoSampleResult,
    class_shares_test,
    classifier_test,
    energy_test,
    feature_tests,
    mmd_test,
    pooled_components,
    spectrum_test,
    to_typical_units,
)

BATCH_TEST_LEVEL = 0.05  # significance level of all tests together
MIN_BATCH_ROWS = 20  # fewest rows of a batch
MIN_CLASS_ROWS = 10  # fewest rows of a class in either batch, for a test of the class
NEEDS_PAIRS_REASON = "the test needs the same samples in both versions"
TEST_DRIFT_ROWS = (
    DriftRow("energy", "Energy distance", "coordinates", False, False),
    DriftRow(
        "classifier", "Classifier: pairs of rows in the right order", "coordinates", False, True
    ),
    DriftRow("features", "Features that moved, share", "coordinates", False, True),
    DriftRow("class_rows", "Classes whose rows moved, share", "coordinates", False, True),
    DriftRow("class_shares", "Shares of the classes, total variation", "coordinates", False, True),
)
SPECTRUM_DISTANCES = {
    "eigenspectrum": lambda a, b: 1 - _cosine_similarity_of_shares(np.sqrt(a), np.sqrt(b)),
    "participation_ratio": lambda a, b: _relative_difference(1 / (a**2).sum(), 1 / (b**2).sum()),
    "effective_rank": lambda a, b: _relative_difference(
        _effective_rank_of_shares(a), _effective_rank_of_shares(b)
    ),
}


class MovedFeature(NamedTuple):
    """A feature with another distribution: column, largest difference of the two cumulative shares
    (Kolmogorov-Smirnov), adjusted p-value, and the means before and after."""

    column: int
    distance: float
    pvalue: float
    before: float
    after: float


class BatchPair(NamedTuple):
    """The subsampled rows of two batches, with classes as integers and the names of the classes."""

    x: np.ndarray
    y: np.ndarray
    classes: tuple[np.ndarray, np.ndarray] | None
    names: tuple[Hashable, ...]


class BatchDifferences(NamedTuple):
    """The results of the tests: drifts, features, classes, findings, and the number of tests."""

    drifts: tuple[DriftTest, ...]
    features: tuple[MovedFeature, ...]
    classes: tuple[MovedClass, ...]
    findings: tuple[Finding, ...]
    tests: int


def validate_batches(
    reference: Any, current: Any, labels: tuple[Any, Any]
) -> tuple[Representation, Representation, tuple[np.ndarray, np.ndarray] | None, tuple[Any, ...]]:
    """Return four values: the two batches as representations, their class numbers (n,) and (m,),
    and the label of each class number. Raise ``ValueError`` if the batches cannot be compared.

    ``reference``, ``current``: arrays (n, d) and (m, d). ``labels``: the classes of the two
    batches, or (None, None); the class numbers are then None and the labels ().
    """
    x, y = as_representation(reference, "reference"), as_representation(current, "current")
    require_features("drift", x, y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"drift: {representation_title(x)} {x.shape} and {representation_title(y)} {y.shape} "
            "have different widths; batches of different samples must come from one model: embed "
            "both with the same model"
        )
    for batch in (x, y):
        if batch.shape[0] < MIN_BATCH_ROWS:
            raise UndefinedError(
                f"drift needs at least {MIN_BATCH_ROWS} samples in each batch; "
                f"{representation_title(batch)} has {batch.shape[0]}"
            )
    x, y = align_columns("drift", (x, y), is_one_model=True)
    check_digits(x)
    if labels[0] is None and labels[1] is None:
        return x, y, None, ()
    if labels[0] is None or labels[1] is None:
        given, missing = ("labels", "batch_labels")[:: 1 if labels[1] is None else -1]
        raise ValueError(
            "drift: with paired=False the reference has labels and the current batch has "
            f"batch_labels; got {given} only: pass {missing}, too, or neither"
        )
    for batch, values, argument in zip((x, y), labels, ("labels", "batch_labels")):
        class_indices("drift", batch, values, argument)
    label_arrays = [np.asarray(values) for values in labels]
    names, numbers = np.unique(np.concatenate(label_arrays), return_inverse=True)
    return x, y, (numbers[: x.shape[0]], numbers[x.shape[0] :]), tuple(names.tolist())


def sample_batch_rows(rows: Rows, max_samples: int, seed: int, side: str) -> np.ndarray:
    """Return the sorted indices of a random subsample of a batch, at most ``max_samples``.
    ``side``: "x" or "y"; the two batches have different random draws."""
    n = len(rows.source)
    return np.sort(generator(seed, "samples", side, n).permutation(n)[:max_samples])


def find_batch_differences(batches: BatchPair, seed: int) -> BatchDifferences:
    """Return the results of tests for differences between two batches, all tests together at
    ``BATCH_TEST_LEVEL`` (Bonferroni)."""
    x, y, classes, _ = batches
    n, pooled = len(x), to_typical_units(np.concatenate([x, y]))
    components = pooled_components(pooled)
    results = {"energy": energy_test(pooled, n, seed), "mmd": mmd_test(pooled, n, seed)}
    results["classifier"] = classifier_test(components, n, seed)
    results |= {
        name: spectrum_test(components, n, f, seed) for name, f in SPECTRUM_DISTANCES.items()
    }
    tests = len(results) + 1 + (0 if classes is None else 2)
    level = BATCH_TEST_LEVEL / tests
    drifts = [
        _drift_from_test(row, results[row.name], level)
        for row in _unpaired_drift_rows()
        if row.name in results
    ]
    distances, p = feature_tests(x, y)
    adjusted = holm_adjust(p)
    features = tuple(
        MovedFeature(int(i), float(distances[i]), float(adjusted[i]), *_column_means(x, y, i))
        for i in np.argsort(adjusted, kind="stable")
        if adjusted[i] <= level
    )
    drifts.append(_share_drift("features", len(features) / x.shape[1], adjusted.min()))
    findings = {kind: unassessed_finding(kind, NEEDS_PAIRS_REASON) for kind in CHANGE_NAMES}
    table: tuple[MovedClass, ...] = ()
    if classes is None:
        findings["moved_classes"] = unassessed_finding("moved_classes", "it needs labels")
    else:
        class_drifts, findings["moved_classes"], table = _class_differences(
            batches, pooled, level, seed
        )
        drifts += class_drifts
    return BatchDifferences(
        _order_drifts_by_side(drifts), features, table, tuple(findings.values()), tests
    )


def _unpaired_drift_rows() -> tuple[DriftRow, ...]:
    """Return the rows of the table that need no pairs, and the rows of tests."""
    unpaired = {row.name: row for row in DRIFT_ROWS if not row.paired}
    return (*TEST_DRIFT_ROWS, *unpaired.values())


def _drift_row_by_name(name: str) -> DriftRow:
    return next(row for row in _unpaired_drift_rows() if row.name == name)


def _drift_from_test(row: DriftRow, test: TwoSampleResult, level: float) -> DriftTest:
    limit = test.limit(level)
    return _tested_drift(row, test.value, test.pvalue, limit, test.pvalue <= level)


def _share_drift(name: str, value: float, p: float) -> DriftTest:
    return _tested_drift(_drift_row_by_name(name), value, float(p), 0.0, value > 0)


def _tested_drift(row: DriftRow, value: float, p: float, limit: float, exceeds: bool) -> DriftTest:
    return DriftTest(
        **row._asdict(),
        value=value,
        low=None,
        high=None,
        threshold=limit,
        exceeds_threshold=bool(exceeds),
        pvalue=p,
    )


def _order_drifts_by_side(drifts: Sequence[DriftTest]) -> tuple[DriftTest, ...]:
    """Return all rows of the table, ordered by side. A row that is not among ``drifts`` has no
    value and gives the reason."""
    by_name = {drift.name: drift for drift in drifts}
    other_reason = "the energy distance and MMD decide for batches of different samples"
    table = []
    for row in (*DRIFT_ROWS, *TEST_DRIFT_ROWS, *SEARCH_DRIFT_ROWS):
        reason = NEEDS_PAIRS_REASON if row.paired else other_reason
        if row.name.startswith("class_"):
            reason = "it needs labels"
        missing_drift = DriftTest(
            **row._asdict(),
            value=None,
            low=None,
            high=None,
            threshold=None,
            exceeds_threshold=False,
            reason=reason,
        )
        table.append(by_name.get(row.name, missing_drift))
    return tuple(sorted(table, key=lambda d: ("geometry", "coordinates", "index").index(d.aspect)))


def _class_differences(
    batches: BatchPair, pooled: np.ndarray, level: float, seed: int
) -> tuple[list[DriftTest], Finding, tuple[MovedClass, ...]]:
    """Return two drifts, the finding, and the shifts of the class means, from tests whether the
    class shares changed, and which classes have other rows.

    ``pooled``: the rows of the two batches, (n + m, d). ``level``: the significance level of one
    test.
    """
    assert batches.classes is not None
    reference_classes, current_classes = batches.classes
    count = len(batches.names)
    before, after = (
        np.bincount(codes, minlength=count) for codes in (reference_classes, current_classes)
    )
    shares = _drift_from_test(
        _drift_row_by_name("class_shares"), class_shares_test(before, after, seed), level
    )
    tested_classes = np.flatnonzero(np.minimum(before, after) >= MIN_CLASS_ROWS)
    pooled_classes = np.concatenate([reference_classes, current_classes])
    p = np.array(
        [
            energy_test(
                pooled[pooled_classes == c],
                int(before[c]),
                seed,
                _permutations_for_level(level, len(tested_classes)),
            ).pvalue
            for c in tested_classes
        ]
    )
    adjusted = holm_adjust(p) if len(p) else np.ones(1)
    moved_classes = class_mean_shifts(batches.x, batches.y, batches.classes, batches.names)
    changed_labels = [
        batches.names[c] for c, value in zip(tested_classes, adjusted) if value <= level
    ]
    share = len(changed_labels) / max(1, len(tested_classes))
    rows = _share_drift("class_rows", share, float(adjusted.min()))
    label_list = ", ".join(f"{label}" for label in changed_labels)
    n_untested = count - len(tested_classes)
    note = ""
    if n_untested:
        note = f"; {n_untested} of {count} have fewer than {MIN_CLASS_ROWS} rows in a batch"
    finding = Finding(
        "moved_classes",
        bool(changed_labels),
        share,
        None,
        None,
        (label_list or "none significant") + note,
        exceeds_threshold=bool(changed_labels),
    )
    return [shares, rows], finding, moved_classes


def _permutations_for_level(level: float, tests: int) -> int:
    """Return the number of permutations, 999 to 9999, that lets one of ``tests`` tests fall below
    the level."""
    return int(min(9999, max(999, 2 * tests / level)))


def _column_means(x: np.ndarray, y: np.ndarray, column: int) -> tuple[float, float]:
    return float(x[:, column].mean()), float(y[:, column].mean())


def _cosine_similarity_of_shares(a: np.ndarray, b: np.ndarray) -> float:
    k = min(len(a), len(b))
    return float((a[:k] * b[:k]).sum() / np.sqrt((a**2).sum() * (b**2).sum()))


def _relative_difference(a: float, b: float) -> float:
    return float(1 - min(a, b) / max(a, b))


def _effective_rank_of_shares(shares: np.ndarray) -> float:
    return float(np.exp(-(shares * np.log(shares)).sum()))
