"""Drift between two versions: each synthetic change is named as what it is, thresholds, verdicts,
recorded values."""

from __future__ import annotations

import json
import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from factories.files import GOLDEN
from scipy.spatial.distance import cdist, pdist
from scipy.stats import ks_2samp, t, wasserstein_distance

import resemblance as rs
from resemblance.base.results import saved_document, saved_text
from resemblance.report.of_drift import drift_result
from resemblance.statistics.spectrum import effective_rank, participation_ratio
from resemblance.versions import DriftTest, Finding
from resemblance.versions.diagnosis import diagnose
from resemblance.versions.facts import find_version_facts
from resemblance.versions.findings import (
    FINDING_CONFIDENCE,
    bootstrap_mean_interval,
    format_distinct_percents,
    leave_out_half_width,
)
from resemblance.versions.losses import class_loss_finding
from resemblance.versions.moved import ClassMeans, find_moved_classes, version_class_means
from resemblance.versions.retrieval import (
    column_medians,
    lost_neighbor_share,
    same_rows,
    version_rows,
)
from resemblance.versions.retrieval import find_nearest_rows as search
from resemblance.versions.table import DriftRules, drift_table, noisy_versions
from resemblance.versions.two_samples import (
    class_shares_test,
    classifier_test,
    energy_test,
    feature_tests,
    mmd_test,
)

SHESHA = json.loads((GOLDEN / "stab_outputs_shesha.json").read_text())
CASES = [case for case in SHESHA if "geometric_stability_scripts" in SHESHA[case]]


def orthogonal(d: int, g: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(g.standard_normal((d, d)))[0]


def reference(d: int, g: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four classes in a space with directions of different variance, away from the origin."""
    labels = np.arange(400 if d > 100 else 240) % 4
    samples = g.standard_normal((len(labels), d)) * np.linspace(1, 2, d) @ orthogonal(d, g)
    return samples + 3 * g.standard_normal((4, d))[labels] + 2 * g.standard_normal(d), labels


def anisotropic(d: int, g: np.random.Generator) -> np.ndarray:
    return orthogonal(d, g) * np.linspace(0.4, 2.5, d) @ orthogonal(d, g)


def collapsed(x: np.ndarray, g: np.random.Generator) -> np.ndarray:
    """A quarter of the dimensions is left: the leading ones."""
    centered = x - x.mean(axis=0)
    kept = np.linalg.svd(centered, full_matrices=False)[2][: max(1, x.shape[1] // 4)]
    return x.mean(axis=0) + centered @ kept.T @ kept


def merged(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Classes 1 and 3 moved onto 0 and 2."""
    means = np.array([x[labels == c].mean(axis=0) for c in range(4)])
    return x + (means[labels - labels % 2] - means[labels])


CHANGES = {
    "identical": (lambda x, y, g: x.copy(), ()),
    "translation": (lambda x, y, g: x + g.standard_normal(x.shape[1]), ("translation",)),
    "scale": (lambda x, y, g: 1.4 * x, ("scale",)),
    "rotation": (lambda x, y, g: x @ orthogonal(x.shape[1], g), ("rotation",)),
    "linear": (lambda x, y, g: x @ anisotropic(x.shape[1], g), ("linear",)),
    "collapse": (lambda x, y, g: collapsed(x, g), ("collapse",)),
    "shuffled": (lambda x, y, g: x[g.permutation(len(x))], ("neighbours",)),
    "merged": (lambda x, y, g: merged(x, y), ("classes",)),
    "all at once": (
        lambda x, y, g: 0.5 * x @ orthogonal(x.shape[1], g) + 4,
        ("translation", "scale", "rotation"),
    ),
    "rotation into more dimensions": (
        lambda x, y, g: np.c_[x, np.zeros((len(x), 3))] @ orthogonal(x.shape[1] + 3, g),
        ("rotation",),
    ),
    "linear into more dimensions": (
        lambda x, y, g: (
            x @ (np.eye(x.shape[1], x.shape[1] + 2) + 0.4 * g.standard_normal((1, x.shape[1] + 2)))
        ),
        ("linear",),
    ),
}


def quick(x: object, y: object, **options: object) -> rs.DriftReport:
    return rs.drift(x, y, **{"n_resamples": 10} | options)


def strict(x: object, y: object, **options: object) -> rs.DriftReport:
    return quick(x, y, threshold=0.05, **options)


def by_kind(report: rs.DriftReport) -> dict[str, Finding]:
    return {finding.kind: finding for finding in report.findings}


def by_name(report: rs.DriftReport) -> dict[str, DriftTest]:
    return {drift.name: drift for drift in report.drifts}


def test_each_change_is_named_as_what_it_is(subtests):
    for change, d, seed in product(CHANGES, [2, 16, 128], [0, 1, 2]):
        with subtests.test(f"{change}, {d}, {seed}"):
            g = np.random.default_rng([seed, d])
            x, labels = reference(d, g)
            make, named = CHANGES[change]
            groups = labels if change in ("merged", "rotation", "identical") else None
            found = strict(x, make(x, labels, g), labels=groups)
            others = [k for k in found.changes if k != "moved_classes" or change != "merged"]
            assert tuple(others) == named, [(f.kind, f.sentence) for f in found.findings]


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    g = np.random.default_rng(0)
    return *reference(6, g), g


def test_noise_is_a_loss_of_neighbors_and_no_map(pair):
    x, _, g = pair
    found = quick(x, x + 0.3 * x.std() * g.standard_normal(x.shape))
    assert found.changes == ("neighbours",)
    assert found.map == "identity"
    assert 0.03 < found.unexplained < 0.15


def test_a_change_through_noise_is_named_too(pair):
    x, _, g = pair
    noise = 0.1 * x.std() * g.standard_normal(x.shape)
    assert quick(x, x @ orthogonal(6, g) + noise).changes == ("rotation", "neighbours")
    assert quick(x, 2 * x + noise).changes == ("scale", "neighbours")


def test_lost_correspondence_is_not_a_change_of_scale(pair):
    """Half of the rows shuffled: least squares would shrink, which is what regression to the mean
    looks like."""
    x, _, g = pair
    rows = np.arange(len(x))
    rows[:120] = g.permutation(120)
    assert quick(x, x[rows]).changes == ("neighbours",)


def test_amounts_are_those_of_the_change(pair):
    x, labels, _ = pair
    angle = np.radians(30)
    turn = np.eye(6)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    radius = np.sqrt(x.var(axis=0).sum())
    shift = np.r_[radius, np.zeros(5)]
    by = by_kind(quick(x, x + shift))
    assert by["translation"].amount == pytest.approx(1, rel=1e-9)
    by = by_kind(quick(x, 1.25 * x @ turn))
    assert by["scale"].amount == pytest.approx(1.25, rel=1e-9)
    assert by["rotation"].named
    by = by_kind(quick(x, merged(x, labels), labels=labels))
    assert by["classes"].amount > 0.4


def test_a_collapse_to_one_point_is_drift_not_an_error(pair):
    x, _, _ = pair
    found = quick(x, np.ones_like(x))
    assert found.drifted
    assert found.changes == ("collapse",)
    assert found.drifts[0].value is None
    assert found.drifts[0].reason
    json.loads(saved_text(found))


def test_nothing_happened_to_an_identical_version(pair):
    x, labels, _ = pair
    for threshold in ("calibrated", 1e-9):
        found = quick(x, x, labels=labels, threshold=threshold)
        assert not found.drifted
        assert all(d.value < 1e-9 for d in found.drifts)
        assert found.unexplained < 1e-20


def test_a_rotation_keeps_what_rotations_keep_and_moves_the_rest(pair):
    x, _, g = pair
    drifts = by_name(rs.drift(x, x @ orthogonal(6, g), n_resamples=20))
    still = {name for name, d in drifts.items() if d.value < 1e-9}
    moving = {"mmd", "sliced_wasserstein", "displacement", "old_index"}
    assert still == set(drifts) - moving
    assert {name for name, d in drifts.items() if d.exceeds_threshold} == moving


def test_the_squared_procrustes_drift_is_quadratic_in_a_small_change_and_its_root_linear(pair):
    x, _, g = pair
    noise = g.standard_normal(x.shape)
    small, large = ({d.name: d.value for d in quick(x, x + s * noise).drifts} for s in (0.01, 0.02))
    assert large["procrustes"] / small["procrustes"] == pytest.approx(4, rel=0.01)
    assert large["procrustes_root"] / small["procrustes_root"] == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("d", [2, 16, 64])
def test_calibrated_thresholds_pass_other_samples_of_the_same_and_catch_another_distribution(d):
    """Distribution drifts: a fresh sample of the same distribution has no more drift than halves of
    the reference."""
    g = np.random.default_rng(d)
    x, fresh = (g.standard_normal((300, d)) * np.linspace(1, 2, d) for _ in "ab")
    names = ("mmd", "sliced_wasserstein", "effective_rank", "participation_ratio")
    same = by_name(rs.drift(x, fresh, n_resamples=20))
    other = by_name(rs.drift(x, fresh * np.linspace(3, 0.2, d) + 1, n_resamples=20))
    assert not any(same[name].exceeds_threshold for name in names)
    assert all(other[name].exceeds_threshold for name in names)


def test_thresholds_as_numbers_judge_shares_and_losses_only(pair):
    x, labels, g = pair
    found = quick(x, x @ orthogonal(6, g) + 5, threshold=0.99, purpose="geometry")
    assert not found.drifted
    judged = {d.name for d in found.drifts if d.threshold is not None}
    assert judged == {d.name for d in found.drifts if d.is_share}
    assert quick(x, merged(x, labels), labels=labels, threshold=0.3).drifted
    assert quick(x, x[g.permutation(240)], threshold=0.9).drifted


def test_the_samples_that_moved_most(pair):
    x, _, g = pair
    y = x @ orthogonal(6, g)
    y[[7, 31]] += 4 * x.std()
    found = quick(rs.Representation(x, ids=[f"s{i}" for i in range(len(x))]), y)
    assert {m.id for m in found.moved[:2]} == {"s7", "s31"}
    assert [m.index for m in found.displaced] != [m.index for m in found.moved]
    assert found.displaced[0].distance >= found.displaced[1].distance
    y = 3 * x
    y[7] += 4 * y.std()
    first, second = quick(x, y).moved[:2]
    assert (first.index, second.unexplained < 0.1 * first.unexplained) == (7, True)


def test_maps_of_more_freedom_leave_less(pair):
    x, _, g = pair
    left = dict(quick(x, 2 * x @ anisotropic(6, g) + 3).unexplained_by_map)
    assert left["nothing"] > left["scale"] > left["rotation"] > left["linear map"]
    assert left["linear map"] < 1e-20


def test_the_same_call_gives_the_same_report_and_another_seed_other_intervals(pair):
    x, _, g = pair
    y = x + 0.1 * g.standard_normal(x.shape)
    first, again, other = (quick(x, y, seed=s) for s in (0, 0, 1))
    assert saved_text(first) == saved_text(again)
    paired = [[d.value for d in found.drifts if d.paired] for found in (first, other)]
    assert paired[0] == paired[1]
    assert [d.low for d in first.drifts] != [d.low for d in other.drifts]


def test_many_samples_are_thinned_out_and_the_settings_say_so():
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 3))
    found = quick(x, x, max_samples=100)
    assert (found.settings["samples"], found.settings["used"]) == (400, 100)


def test_what_a_notebook_shows(pair):
    x, _, _ = pair
    page = quick(x, 2 * x, threshold=0.5, purpose="geometry")._repr_html_()
    assert page.startswith("<p><b>No drift beyond the threshold for the geometry alone. What happ")


def test_mistakes_are_named(pair, subtests):
    x, _, _ = pair
    apart = [rs.Representation(x, ids=range(i, i + 240)) for i in (0, 1)]
    for mistake, message in (
        ((x, x[:-1]), "has 240 samples and the current version 239"),
        ((x[:10], x[:10]), "at least 20 samples; got 10"),
        ((0 * x, x), "reference is constant"),
        ((x, np.where(x == x[0, 0], np.nan, x)), "NaN"),
        (apart, "join_samples"),
    ):
        with subtests.test(message), pytest.raises(ValueError, match=message):
            rs.drift(*mistake)


# ------------------------------------------------------------------------- any width, any direction


@pytest.mark.parametrize(("n", "d"), [(150, 300), (150, 150), (60, 400), (120, 100)])
def test_a_rotation_is_a_rotation_however_few_samples_there_are(n, d):
    g = np.random.default_rng(d)
    x = g.standard_normal((n, d)) + g.standard_normal(d)
    for y in (x @ orthogonal(d, g), x @ orthogonal(d, g) + 1e-3 * g.standard_normal((n, d)), -x):
        found = strict(x, y, labels=np.arange(n) % 3)
        assert found.changes == ("rotation",), [(f.kind, f.sentence) for f in found.findings]
        assert not found.geometry.drifted


@pytest.mark.parametrize("d", [1, 2, 16])
def test_a_reflection_is_a_rotation(d):
    g = np.random.default_rng(d)
    x = g.standard_normal((200, d)) * np.linspace(1, 2, d) + 3
    assert strict(x, -x).changes == ("rotation",)


def test_with_fewer_samples_than_directions_what_cannot_be_told_apart_is_not_assessed():
    g = np.random.default_rng(0)
    x = g.standard_normal((100, 200)) + 2
    by = by_kind(strict(x, x @ anisotropic(200, g)))
    missing = {"rotation", "linear", "translation", "classes", "moved_classes"}
    assert {kind for kind, f in by.items() if not f.assessed} == missing
    assert {kind for kind, f in by.items() if f.named} == {"neighbours"}
    noise = strict(x, x + 0.3 * g.standard_normal(x.shape))
    assert noise.changes == ("neighbours",)
    assert strict(x, x[g.permutation(100)]).changes == ("neighbours",)
    shifted = strict(x, x @ orthogonal(200, g) + 5)
    assert shifted.changes == ("translation", "rotation")
    turned = x @ orthogonal(200, g) + 0.05 * g.standard_normal(x.shape)
    assert "translation" not in strict(x, turned).changes


def power_law(n: int, d: int, g: np.random.Generator) -> np.ndarray:
    return 3 * g.standard_normal((n, d)) / np.arange(1, d + 1) @ orthogonal(d, g) + 2


def low_rank(n: int, d: int, g: np.random.Generator) -> np.ndarray:
    return g.standard_normal((n, 3)) @ g.standard_normal((3, d)) + 2 * g.standard_normal(d)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("kind", [power_law, low_rank])
def test_noise_in_the_reference_is_no_map(kind, noise, seed):
    """Least squares shrink what is noisy, and the reference's mean with it: neither is a change of
    the model."""
    g = np.random.default_rng(seed)
    z = kind(200, 16, g)
    first, second = (z + noise * z.std() * g.standard_normal(z.shape) for _ in "ab")
    assert strict(first, second).changes == ("neighbours",)
    assert strict(first, second @ orthogonal(16, g)).changes == ("rotation", "neighbours")
    named = strict(first, z).changes
    assert set(named) <= {"neighbours", "collapse"}, named  # noise of its own has more directions


def test_a_linear_map_is_named_through_noise():
    g = np.random.default_rng(0)
    z = power_law(200, 6, g)
    noise = 0.02 * z.std()
    versions = [data + noise * g.standard_normal(z.shape) for data in (z, z @ anisotropic(6, g))]
    assert "linear" in quick(*versions).changes


@pytest.mark.parametrize(("n", "d"), [(150, 150), (150, 120), (150, 75), (80, 300)])
def test_classes_are_not_lost_to_a_discriminant_that_overfits(n, d):
    g = np.random.default_rng(n + d)
    labels = np.arange(n) % 4
    x = g.standard_normal((n, d)) + 1.5 * g.standard_normal((4, d))[labels]
    changed = (x @ orthogonal(d, g), x + 0.3 * g.standard_normal((n, d)), x @ anisotropic(d, g))
    for y in changed:
        assert "classes" not in strict(x, y, labels=labels).changes
    assert strict(x, merged(x, labels), labels=labels).changes == ("classes",)


# ---------------------------------------------------------------------- thresholds and two verdicts


PURPOSES = ("index", "head", "geometry")
PLACED = ["translation", "scale", "rotation", "all at once"]


def placed(change: str, pair: tuple[np.ndarray, np.ndarray, np.random.Generator]) -> np.ndarray:
    x, labels, g = pair
    return CHANGES[change][0](x, labels, g) if change != "translation" else x + x.std()


@pytest.mark.parametrize("threshold", [0.05, "calibrated"])
@pytest.mark.parametrize("change", PLACED)
def test_the_purpose_decides_whether_a_change_of_the_coordinates_alone_is_drift(
    change, threshold, pair
):
    x, y = pair[0], placed(change, pair)
    by = {p: quick(x, y, threshold=threshold, purpose=p) for p in PURPOSES}
    assert [p for p in PURPOSES if by[p].drifted] == ["index", "head"]
    for purpose, found in by.items():
        assert found.settings["purpose"] == purpose
        assert not found.geometry.drifted
        assert found.coordinates.drifted
        assert found.details[0] == "Geometry did not change beyond the threshold."
        assert found.details[1].startswith("Coordinates changed (")
    assert by["geometry"].details[1].endswith("; not counted for the geometry alone.")
    assert not by["head"].details[1].endswith("head.")
    for purpose in by:
        assert not quick(x, x, threshold=threshold, purpose=purpose).drifted


@pytest.mark.parametrize("change", PLACED)
def test_a_change_that_does_not_count_is_in_the_verdict_itself(change, pair):
    x, y = pair[0], placed(change, pair)
    found = strict(x, y, purpose="geometry")
    assert "But the coordinates changed" in found.conclusion
    assert "vectors of the old version cannot be compared with new ones" in found.conclusion
    assert "For an index or a head this is drift." in found.conclusion
    assert found.conclusion in found._repr_html_()
    assert found.conclusion in repr(found)
    assert "But" not in strict(x, x, purpose="geometry").conclusion


def test_the_default_purpose_is_the_strictest(pair):
    x, _, g = pair
    found = quick(x, x @ orthogonal(6, g))
    assert found.settings["purpose"] == "index"
    assert found.drifted
    assert found.geometry.counts
    assert found.coordinates.counts
    assert found.index.counts
    assert "embed everything again" in found.conclusion
    assert "train the head again" in quick(x, x @ orthogonal(6, g), purpose="head").conclusion


def test_neighbors_lost_in_an_old_index_count_for_an_index_and_are_said_for_a_head():
    """Noise that moves samples little and neighbours much: in 60 dimensions all distances are
    alike."""
    g = np.random.default_rng(0)
    x = g.standard_normal((150, 60))
    y = x + 0.15 * g.standard_normal(x.shape)
    index, head = (quick(x, y, threshold=0.08, purpose=p) for p in ("index", "head"))
    assert index.index.drifted
    assert not index.coordinates.drifted
    assert head.index.drifted
    assert not head.index.counts
    assert "new queries on old vectors lose" in head.details[2].lower()
    assert head.details[2].endswith("; not counted for a trained head.")


@pytest.mark.parametrize("more", [1, 3])
def test_another_width_is_drift_for_whatever_reads_the_vectors(more, pair):
    x, _, _ = pair
    y = np.c_[x, np.zeros((len(x), more))]  # the same points: no distance changes
    by = {p: strict(x, y, purpose=p) for p in PURPOSES}
    assert [p for p in PURPOSES if by[p].drifted] == ["index", "head"]
    words = by["geometry"].conclusion + by["geometry"].details[1]
    assert f"the width changed from 6 to {6 + more}" in words
    assert by["index"].details[2].startswith("New queries cannot search old vectors")


@pytest.mark.parametrize("offset", [5e7, 1e8])
def test_versions_without_digits_are_refused(offset, pair):
    x, _, g = pair
    y = x + 0.1 * g.standard_normal(x.shape)
    far = [(z + offset).astype(np.float32) for z in (x, y)]
    queries = [(g.standard_normal((30, 6)) + offset).astype(np.float32) for _ in far]
    for call in (
        lambda: quick(*far),
        lambda: rs.drift(*far, paired=False, progress=False),
        lambda: rs.upgrade_index(*far, *queries, progress=False),
    ):
        with pytest.raises(rs.UndefinedError, match="centre first"):
            call()
    assert quick(*(z + offset for z in (x, y))).drifts  # in double precision there are digits


def test_drifts_by_column_have_no_value_for_two_widths(pair):
    x, _, _ = pair
    found = quick(x, x[:, :4])
    by_column = {d.name: d for d in found.drifts if "column by column" in d.reason}
    assert set(by_column) == {"displacement", "sliced_wasserstein", "mmd"}
    assert all(d.value is None and "6 and 4 columns" in d.reason for d in by_column.values())
    assert found.coordinates.drifted
    assert "1 of 1 tests above the threshold, the width changed" in found.coordinates.sentence


def test_drifts_of_the_geometry_do_not_see_the_coordinates(pair):
    x, _, g = pair
    found = quick(x, 0.3 * x @ orthogonal(6, g) + 7)
    assert all(d.value < 1e-9 for d in found.drifts if d.aspect == "geometry")
    assert all(d.value > 0.01 for d in found.drifts if d.aspect == "coordinates")
    places = {"displacement", "rdm", "sliced_wasserstein", "mmd"}
    assert {d.name for d in found.drifts if d.aspect == "coordinates"} == places


@pytest.mark.parametrize(("d", "rank"), [(1, 1), (16, 16), (16, 3), (64, 64)])
def test_calibrated_thresholds_mean_noise_of_the_tolerance_in_every_dimension(d, rank):
    """The same noise within the data passes up to the tolerance and not at four times as much: any
    width, any rank."""
    g = np.random.default_rng(d)
    frame = np.linalg.qr(g.standard_normal((d, rank)))[0]
    x = g.standard_normal((150, rank)) * np.linspace(1, 2, rank) @ frame.T
    radius = np.sqrt(x.var(axis=0).sum())
    noise = radius / np.sqrt(rank) * g.standard_normal((150, rank)) @ frame.T
    names = ("cka", "procrustes", "displacement")
    for size, expected in ((0.02, False), (0.4, True)):
        found = quick(x, x + size * noise, tolerance=0.1)
        assert [by_name(found)[name].exceeds_threshold for name in names] == [expected] * 3
        assert found.geometry.drifted == expected
    limit = {d.name: d.threshold for d in quick(x, x, tolerance=0.1).drifts}
    assert limit["displacement"] == pytest.approx(0.01, rel=0.35)
    assert min(limit[name] for name in names) > 1e-4


def test_noise_of_the_tolerance_is_rarely_drift():
    x = np.random.default_rng(0).standard_normal((60, 5))
    rules = DriftRules(threshold=None, tolerance=0.1, n_resamples=20, seed=0)
    versions = noisy_versions(x, rules._replace(seed=1), 12)
    drifts = [d for y in versions for d in drift_table(x, y, (16, 16), rules, lambda share: None)]
    assert sum(d.exceeds_threshold for d in drifts if d.name == "displacement") <= 2


def test_calibrated_thresholds_turn_with_the_data(pair):
    x, _, g = pair
    first, second = (by_name(quick(z, z)) for z in (x, x @ orthogonal(6, g)))
    for name in ("cka", "procrustes", "displacement"):
        assert first[name].threshold == pytest.approx(second[name].threshold, rel=1e-6)


def test_losses_are_calibrated_too(pair):
    """Neighbours that noise of the tolerance would change are lost, and named, but not drift."""
    g = np.random.default_rng(0)
    x = g.standard_normal((150, 60))
    y = x + 0.15 * g.standard_normal(x.shape)
    strict, lenient = (quick(x, y, tolerance=t) for t in (0.05, 0.3))
    assert strict.changes == lenient.changes == ("neighbours",)
    limits = [by_kind(found)["neighbours"] for found in (strict, lenient)]
    assert limits[0].threshold < limits[0].amount < limits[1].threshold
    assert (
        [f.exceeds_threshold for f in limits] == [strict.drifted, lenient.drifted] == [True, False]
    )


@pytest.mark.parametrize("width", [16, 400])
def test_rounding_is_no_drift_of_the_subspace(width):
    g = np.random.default_rng(0)
    z = g.standard_normal((300, 3)) @ g.standard_normal((3, width))
    found = strict(z, z.astype("f4"))
    assert not found.drifted
    assert found.changes == ()
    subspace = by_name(found)["subspace"]
    assert subspace.value < 1e-6
    lost = z @ np.linalg.svd(z)[2][:2].T @ np.linalg.svd(z)[2][:2]
    assert by_name(strict(z, lost))["subspace"].value > 0.3


# ----------------------------------------------------------------------------- levels, units, input


def test_intervals_of_findings_cover_what_happened_at_their_level():
    """99 % intervals of a shift, from 60 samples of noise: at most a few of 40 may miss, and they
    are not wide."""
    missed, widths = 0, []
    for seed in range(40):
        g = np.random.default_rng(seed)
        x = g.standard_normal((60, 3))
        y = x + np.r_[0.5, 0, 0] + 0.1 * g.standard_normal(x.shape)
        found = diagnose(x, y, None, seed).findings[0]
        true = 0.5 / np.sqrt(y.var(axis=0).sum())
        missed += not found.low <= true <= found.high
        widths.append((found.high - found.low) / 2)
        assert found.confidence_level == 0.99
    deviation = 0.1 / np.sqrt(60) / np.sqrt(3)
    assert missed <= 3
    assert 1.5 * deviation < np.median(widths) < 15 * deviation


def test_the_margin_is_that_of_a_mean():
    """Of Student's t with four degrees of freedom: nine of ten means of noise lie within, and one
    in a hundred not."""
    g = np.random.default_rng(0)
    outside = 0
    for _ in range(1000):
        values = g.standard_normal(50)
        parts = [np.delete(values, np.arange(i, i + 10)).mean() for i in range(0, 50, 10)]
        outside += abs(values.mean()) > leave_out_half_width(parts)
    assert 2 <= outside <= 25


def test_bootstrap_intervals_have_the_width_of_their_level():
    values = np.random.default_rng(0).standard_normal(400)
    for level, quantile in ((0.99, 2.576), (0.8, 1.282)):
        low, high = bootstrap_mean_interval(values, 0, confidence_level=level)
        assert (high - low) / 2 == pytest.approx(quantile * values.std() / 20, rel=0.1)


def test_the_unit_of_the_data_does_not_matter_and_overflow_is_refused(pair):
    x, _, g = pair
    y = 1.3 * x @ orthogonal(6, g)
    plain, huge, tiny = (quick(s * x, s * y) for s in (1.0, 1e180, 1e-180))
    assert plain.changes == huge.changes == tiny.changes == ("scale", "rotation")
    values = [d.value for d in plain.drifts]
    assert [d.value for d in huge.drifts] == pytest.approx(values, abs=1e-9)
    for factor in (1e200, 1e-200):
        with pytest.raises(ValueError, match="in the same unit"):
            quick(x, x * factor)
    json.loads(saved_text(quick(x, x * 1e20)))


def test_labels_are_read_by_position_and_checked(pair):
    import pandas as pd

    x, labels, _ = pair
    y = merged(x, labels)
    first = quick(x, y, labels=labels)
    series = pd.Series(labels, index=np.arange(240)[::-1])
    places = [f"s{i}" for i in range(240)]
    words = pd.Series(np.array([*"abcd"])[labels], index=places, dtype="category")
    assert saved_text(quick(x, y, labels=series)) == saved_text(first)
    named = quick(x, y, labels=words)
    assert (named.drifts, named.findings[:-1]) == (first.drifts, first.findings[:-1])
    assert named.findings[-1].amount == first.findings[-1].amount
    mixed, masked = ["a", *labels[1:].tolist()], np.ma.masked_equal(labels, 3)
    for bad in ([None, *labels[1:]], labels[:, None], mixed, masked):
        with pytest.raises(ValueError, match="drift: labels"):
            quick(x, y, labels=bad)


def test_parameters_are_checked(pair, subtests):
    for name, value, message in (
        ("threshold", True, "calibrated"),
        ("threshold", -1, "calibrated"),
        ("threshold", "high", "calibrated"),
        ("threshold", np.array([0.1, 0.2]), "calibrated"),
        ("threshold", float("nan"), "calibrated"),
        ("threshold", 5, r"a number between 0 and 1; got 5: .* never above 1.*; 5 % is 0.05"),
        ("threshold", 1, r"no drift in anything; 1 % is 0.01"),
        ("threshold", 1000.0, "never above 1"),
        ("threshold", float("inf"), "between 0 and 1"),
        ("k", 2.5, "k must be at least 1 and a whole number; got 2.5"),
        ("k", True, "k must be"),
        ("n_resamples", 1, "n_resamples must be at least 10"),
        ("n_resamples", 10.5, "n_resamples must be at least 10 and a whole number"),
        ("max_samples", 1e3, "max_samples must be at least 20 and a whole number"),
        ("seed", -1, "seed must be"),
        ("tolerance", 0, "tolerance must be a number between 0 and 1"),
        ("tolerance", True, "tolerance must be"),
        ("purpose", "yes", "purpose must be one of 'index', 'head', 'geometry'; got 'yes'"),
        ("purpose", "heads", "did you mean 'head'"),
        ("purpose", None, "purpose must be one of"),
        ("labels", [0] * 240, "one class only"),
        ("labels", [0, 1], r"labels must be one per sample, shape \(240,\); got shape \(2,\)"),
    ):
        with subtests.test(f"{name}, {value}"), pytest.raises(ValueError, match=message):
            rs.drift(pair[0], pair[0], **{name: value})


def test_numbers_of_numpy_are_numbers(pair):
    x, _, _ = pair
    numbers = {"k": np.int64(5), "n_resamples": np.int32(10), "max_samples": np.int16(100)}
    found = rs.drift(x, x, threshold=np.float32(0.05), **numbers)
    plain = quick(x, x, threshold=float(np.float32(0.05)), k=5, max_samples=100)
    assert saved_text(found) == saved_text(plain)


def test_kinds_that_were_not_assessed_say_so(pair):
    x, _, _ = pair
    by = by_kind(quick(x, x))
    for kind in ("classes", "moved_classes"):
        assert (by[kind].named, by[kind].assessed) == (False, False)
    gone = quick(x, np.ones_like(x)).findings
    assert [f.kind for f in gone if f.assessed] == ["collapse"]


# ------------------------------------------------------------------- recorded values and identities


@pytest.fixture(params=CASES)
def recorded(request) -> tuple[np.ndarray, np.ndarray, dict, dict]:
    with np.load(GOLDEN / "stab_inputs.npz") as archive:
        x, y = archive[f"{request.param}__X"], archive[f"{request.param}__Y"]
    found = SHESHA[request.param]
    return x, y, found["geometric_stability_scripts"], found["shesha_0_3_0"]


def test_drifts_equal_the_authors_code_where_the_definition_is_the_same(recorded):
    x, y, scripts, package = recorded
    rank = min(np.linalg.matrix_rank(z - z.mean(axis=0)) for z in (x, y))
    values = {
        "eigenspectrum_similarity": rs.eigenspectrum_similarity(x, y),
        "pwcka_0.99": rs.pwcka(x, y),
        "participation_ratio_X": float(participation_ratio(rs.Representation(x))),
        "effective_rank_Y": float(effective_rank(rs.Representation(y))),
    }
    for name, value in values.items():
        assert value == pytest.approx(scripts[name], rel=1e-9), name
    debiased = rs.cka(x, y, estimator="debiased")
    assert debiased == pytest.approx(scripts["song_debiased_linear_cka"], rel=1e-8)
    # Beyond, their k is that of the narrower side for both.
    for k in (k for k in (5, 10, 20) if k <= rank):
        theirs = scripts[f"subspace_overlap_k{k}"]
        assert rs.subspace_overlap(x, y, k=k) == pytest.approx(theirs, rel=1e-8)
    if isinstance(package["rdm_drift"], float):  # theirs refuses rows of zeros
        assert 1 - rs.rsa(x, y, rdm="cosine") == pytest.approx(package["rdm_drift"], abs=1e-6)


def test_mmd_equals_the_authors_code_with_its_bandwidth(recorded):
    x, y, scripts, _ = recorded
    if x.shape[1] == y.shape[1]:
        assert rs.mmd(x, y, bandwidth=0.5**0.5) == pytest.approx(scripts["mmd_rbf"], abs=2e-3)
    else:
        assert scripts["mmd_rbf"].startswith("ValueError")  # there is no padding there


def test_sliced_wasserstein_is_that_of_the_authors_but_for_the_directions(recorded):
    """Theirs draws 100 directions from NumPy's default generator, ours from its own: they differ as
    two draws do."""
    x, y, scripts, _ = recorded
    if x.shape[1] != y.shape[1]:
        assert scripts["sliced_wasserstein"].startswith("ValueError")
        return
    drawn = np.random.default_rng(320).standard_normal((x.shape[1], 100))
    drawn /= np.linalg.norm(drawn, axis=0)
    each = np.abs(np.sort(x @ drawn, axis=0) - np.sort(y @ drawn, axis=0)).mean(axis=0)
    assert each.mean() == pytest.approx(scripts["sliced_wasserstein"], rel=1e-9)
    assert abs(rs.sliced_wasserstein(x, y) - each.mean()) < 4 * each.std() * np.sqrt(2 / 100)


def test_sliced_wasserstein_of_one_dimension_is_the_wasserstein_distance():
    x, y = np.random.default_rng(0).standard_normal((2, 50, 1))
    y = 2 * y + 0.3
    expected = pytest.approx(wasserstein_distance(x[:, 0], y[:, 0]), rel=1e-12)
    assert rs.sliced_wasserstein(x, y, projections=3) == expected


def test_pwcka_of_all_components_is_cka():
    x, y = np.random.default_rng(0).standard_normal((2, 40, 7))
    assert rs.pwcka(x, y, explained_variance=1.0) == pytest.approx(rs.cka(x, y), rel=1e-12)


def test_subspace_overlap_of_all_components_is_the_mean_squared_canonical_correlation():
    x, y = np.random.default_rng(0).standard_normal((2, 40, 4))
    expected = rs.mean_cca(x, y, aggregation="mean_squared")
    assert rs.subspace_overlap(x, y, k=9) == pytest.approx(expected, rel=1e-12)


# -------------------------------------------------------------------------- neighbours, all of them


def nearest(points: np.ndarray, rows: np.ndarray, own: np.ndarray, k: int) -> list[set[int]]:
    far = ((points[:, None] - rows) ** 2).sum(axis=2)
    far[np.arange(len(own)), own] = np.inf
    return [set(row) for row in np.argsort(far, axis=1)[:, :k]]


def test_neighbors_are_those_among_all_samples_however_few_are_drawn():
    g = np.random.default_rng(0)
    x = g.standard_normal((3000, 8)) + 5
    y = x @ (np.eye(8) + 0.1 * g.standard_normal((8, 8))) + 0.1 * g.standard_normal(x.shape)
    found = strict(x, y, max_samples=300)
    assert (found.settings["used"], found.settings["queries"]) == (300, 300)
    own = np.arange(3000)
    true, again, old = (nearest(p, r, own, 10) for p, r in ((x, x), (y, y), (y, x)))
    lost = [1 - np.mean([len(a & b) for a, b in zip(true, other)]) / 10 for other in (again, old)]
    values = by_name(found)
    for name, share in zip(("neighbours", "old_index"), lost):
        assert values[name].value == pytest.approx(share, abs=0.03)
        assert values[name].low < values[name].value < values[name].high
    among_drawn = strict(x[:300], y[:300])
    assert by_name(among_drawn)["neighbours"].value < lost[0] - 0.05  # thinned out
    assert "300 queries among 3,000 samples" in by_kind(found)["neighbours"].sentence


@pytest.mark.parametrize("k", [1, 10, 40])
def test_every_query_is_counted_when_all_samples_are_used(k, pair):
    x, _, g = pair
    y = x + 0.2 * x.std() * g.standard_normal(x.shape)
    own = np.arange(240)
    true, again, old = (nearest(p, r, own, k) for p, r in ((x, x), (y, y), (y, x)))
    lost = [1 - np.mean([len(a & b) for a, b in zip(true, other)]) / k for other in (again, old)]
    by = {d.name: d.value for d in strict(x, y, k=k).drifts}
    assert [by["neighbours"], by["old_index"]] == pytest.approx(lost, abs=1e-12)


def test_duplicates_and_ties_are_no_losses():
    g = np.random.default_rng(0)
    x = g.integers(0, 2, (300, 6)).astype(float)
    by = {d.name: d.value for d in strict(x, x @ orthogonal(6, g) + 1).drifts}
    assert by["neighbours"] == 0
    assert by["old_index"] > 0.1


def test_a_neighbor_that_rounding_puts_farther_is_not_lost():
    """0.4 is as far from 0.1 as from 0.7, but 0.4 - 0.1 > 0.7 - 0.4 in double precision."""
    for other, expected in ((0.1, 0), (0.0999, 1)):
        rows, first = np.array([[0.7], [other]]), np.zeros((1, 1), int)
        assert (
            lost_neighbor_share(np.array([[0.4]]), first, first + 1, rows.__getitem__) == expected
        )


def exactly_lost(points: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The loss of neighbours of new points among old rows, in fractions."""
    exact = np.vectorize(Fraction, otypes=[object])

    def far(rows: np.ndarray) -> np.ndarray:
        return ((exact(rows)[None] - exact(points)[:, None]) ** 2).sum(axis=2)

    true, nearest = far(new), np.argsort(far(old), axis=1)[:, :10]
    limit = np.sort(true, axis=1)[:, 9:10]
    return (np.take_along_axis(true, nearest, axis=1) > limit).mean(axis=1)


ROWS = 200


def at(offset: float, columns: slice, rows: slice = slice(None)) -> np.ndarray:
    far = np.zeros((ROWS, 8))
    far[rows, columns] = offset
    return far


FAR = {
    **{f"{c:g} in all columns": (at(c, slice(None)), 1.0) for c in (0.0, 1e3, 1e6, 1e7, 1e10)},
    **{f"{c:g} in one column": (at(c, slice(0, 1)), 1.0) for c in (1e4, 1e7, 1e9, 1e12)},
    "half of the rows at 1e7": (at(1e7, slice(2, 3), slice(0, None, 2)), 1.0),
    "few rows at 1e10": (at(1e10, slice(2, 3), slice(0, 30)), 1.0),
    **{f"a row at {c:g}": (at(c, slice(None), slice(70, 71)), 1.0) for c in (1e8, 1e12, 1e30)},
    **{f"in units of {c:g}": (at(0, slice(0)), c) for c in (1e-290, 1e-200, 1e90, 1e140)},
}


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("side", ["both", "new"])
def test_neighbors_keep_their_digits_wherever_the_vectors_are(far, side):
    g = np.random.default_rng(0)
    old = g.standard_normal((ROWS, 8))
    new = old @ (np.eye(8) + 0.2 * g.standard_normal((8, 8))) + 0.1 * g.standard_normal(old.shape)
    offset, unit = FAR[far]
    new = (new + offset) * unit
    if side == "both":
        old = (old + offset) * unit
    nobody, some = np.full(10, -1), np.arange(0, ROWS, 20)
    near, hits = (
        search(new[some], nobody, [(0, v[:80]), (80, v[80:])], column_medians(v), 10)
        for v in (new, old)
    )
    found = lost_neighbor_share(new[some], near, hits, new.__getitem__)
    assert found.tolist() == exactly_lost(new[some], old, new).tolist()


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e7])
@pytest.mark.parametrize("columns", [slice(None), slice(3, 4)])
def test_an_offset_common_to_both_versions_changes_no_loss_of_neighbors(offset, columns):
    g = np.random.default_rng(0)
    x = g.standard_normal((300, 8))
    y, far = x + 0.1 * g.standard_normal(x.shape), np.zeros(8)
    far[columns] = offset
    here, there = (by_name(strict(x + c, y + c)) for c in (0, far))
    for name in ("neighbours", "old_index"):
        assert here[name].value > 0.03
        assert there[name].value == pytest.approx(here[name].value, abs=1e-12)


@pytest.mark.parametrize("rows", [np.eye(9), np.eye(9) * 1e-200, np.arange(54).reshape(9, 6) % 4])
def test_ties_of_turned_and_shifted_rows_stay_ties(rows):
    g = np.random.default_rng(1)
    x = rows[g.integers(0, 9, 200)].astype(float)
    turned = (x + 1000 * rows.max()) @ orthogonal(x.shape[1], g)
    own = np.arange(200)
    near, hits = (search(v, own, [(0, v)], column_medians(v), 5) for v in (turned, x))
    assert lost_neighbor_share(turned, near, hits, turned.__getitem__).max() == 0


def test_a_loss_that_the_map_explains_is_not_called_none(pair):
    from resemblance.report.of_drift import change_status

    x, _, g = pair
    y = x @ anisotropic(6, g)
    found = strict(x, y)
    neighbors = by_kind(found)["neighbours"]
    assert found.changes == ("linear",)
    assert neighbors.amount > 0.2
    assert neighbors.explained
    assert neighbors.exceeds_threshold
    assert change_status(neighbors) == "explained by the map"
    same = by_kind(strict(x, x))["neighbours"]
    assert (same.amount, same.explained, change_status(same)) == (0, False, "no")


def test_the_map_is_judged_among_all_samples_too():
    g = np.random.default_rng(0)
    x = g.standard_normal((2000, 5))
    after = by_kind(strict(x, x @ anisotropic(5, g), max_samples=200))["neighbours"]
    assert after.sentence.endswith("and 0 % beyond what the map does")
    labels = np.arange(2000) % 2
    shifted = x + np.array([[0.0], [3.0]])[labels] * np.r_[1, np.zeros(4)]
    classwise = by_kind(strict(x, shifted, labels=labels, max_samples=200))["neighbours"]
    assert "among 200 samples beyond what the map does" in classwise.sentence


# -------------------------------------------------------------------------------- order of the rows


def test_rows_in_another_order_are_named_as_that(subtests):
    changes = {
        "exactly": lambda x, g: x,
        "in half precision": lambda x, g: x.astype("f2"),
        "with noise": lambda x, g: x + 1e-3 * g.standard_normal(x.shape),
    }
    for (change, make), share in product(changes.items(), [1.0, 0.3]):
        with subtests.test(f"{change}, {share}"):
            g = np.random.default_rng(0)
            x = g.standard_normal((400, 12))
            rows = np.arange(400)
            moved = g.permutation(400)[: int(share * 400)]
            rows[np.sort(moved)] = moved
            found = quick(x, make(x[rows], g))
            same = "the same rows" if change == "exactly" else "nearly the same rows"
            assert f"holds {same} in another order" in found.conclusion
            assert found.drifted
            assert "pair the samples" in found.conclusion
            shifted = (rows != np.arange(400)).mean()
            assert found.reordered.share == pytest.approx(shifted, abs=0.01)
            assert found.reordered.exactly == (change == "exactly")


def test_rows_are_compared_without_a_list_of_them(rng):
    x = rng.standard_normal((100_000, 2))
    x[:2] = x[2:4]
    once_more = x.copy()
    once_more[0] = x[3]
    rows = [version_rows(rs.Representation(a)) for a in (x, x[::-1], -0.0 * x, once_more)]
    tracemalloc.start()
    try:
        assert [same_rows(rows[0], other) for other in rows] == [True, True, False, False]
        assert tracemalloc.get_traced_memory()[1] < 4e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("purpose", PURPOSES)
def test_two_rows_that_changed_places_are_drift_though_no_average_is_above_its_threshold(purpose):
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 12))
    rows = np.arange(400)
    rows[[3, 7]] = 7, 3
    found = strict(x, x[rows], purpose=purpose)
    assert not any(d.exceeds_threshold for d in found.drifts)
    assert found.drifted
    assert found.conclusion.startswith("Drift for")


def test_copies_of_other_rows_are_not_taken_for_another_order():
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 12))
    y = x.copy()
    y[20:40] = x[:20]
    found = quick(x, y)
    assert found.drifted
    assert found.reordered is None


def test_tests_that_a_number_cannot_judge_are_not_counted(pair):
    x, _, g = pair
    found = strict(x, x @ orthogonal(x.shape[1], g))
    assert found.coordinates.sentence == "Coordinates changed (1 of 2 tests above the threshold)"


def test_a_map_is_advised_only_where_one_is_named(pair):
    x, _, _ = pair
    padded = np.pad(x, ((0, 0), (0, 2))) * np.linspace(1, 1 + 1e-9, len(x.T) + 2)
    said = {
        p: quick(x, padded, purpose=p).conclusion.rpartition(": ")[2] for p in ("index", "head")
    }
    assert said == {
        "index": "map new queries, as rs.upgrade_index does, or embed everything again.",
        "head": "train the head again.",
    }


def test_other_changes_are_not_taken_for_another_order(pair):
    x, labels, g = pair
    for make, _ in (change for name, change in CHANGES.items() if name != "shuffled"):
        assert strict(x, make(x, labels, g)).reordered is None
    line = g.standard_normal((200, 1))
    assert quick(line, -line, k=40).reordered is None
    assert quick(x, g.standard_normal(x.shape)).reordered is None


# ------------------------------------------------------------------------------ classes, provenance


def test_classes_say_which_came_together(pair):
    x, labels, _ = pair
    names = np.array(["ant", "bee", "cat", "dog"])[labels]
    found = quick(x, merged(x, labels), labels=names)
    by = {c.label: c for c in found.class_shifts}
    assert sorted(by) == ["ant", "bee", "cat", "dog"]
    assert {by[name].samples for name in by} == {60}
    assert (by["bee"].nearest_after, by["dog"].nearest_after) == ("ant", "cat")
    assert by["bee"].distance_after < 1e-9 < by["bee"].distance_before
    assert by["bee"].moved > 0.1 > by["ant"].moved
    assert {m.label for m in found.displaced} <= {"bee", "dog"}
    assert quick(x, x).class_shifts == ()


def with_a_lost_class(d: int = 16, classes: int = 40, n: int = 4000):
    """Labels, a reference, a version with little noise, and one in which class 7 went to 8."""
    g = np.random.default_rng(0)
    labels = np.arange(n) % classes
    means = g.standard_normal((classes, d))
    x = means[labels] + 0.5 * g.standard_normal((n, d))
    fine = x + 0.02 * g.standard_normal((n, d))
    return labels, x, fine, fine + np.where(labels == 7, 1, 0)[:, None] * (means[8] - means[7])


@pytest.mark.parametrize("kind", ["no map", "rotation", "linear"])
def test_a_class_that_moved_is_named_however_few_of_its_samples_are_drawn(kind):
    labels, x, fine, lost = with_a_lost_class()
    g = np.random.default_rng(1)
    maps = {"no map": np.eye(16), "rotation": orthogonal(16, g), "linear": anisotropic(16, g)}
    matrix = maps[kind]
    options = {"labels": [f"class {c}" for c in labels], "n_resamples": 10, "max_samples": 300}
    found = rs.drift(x, lost @ matrix, purpose="geometry", **options)
    finding = found.findings[-1]
    assert (finding.kind, finding.named, finding.exceeds_threshold) == ("moved_classes", True, True)
    assert finding.sentence.startswith("class 7 (")
    assert finding.sentence.endswith("nearest to class 8)")
    of_7 = next(c for c in found.class_shifts if c.label == "class 7")
    assert (of_7.samples, len(found.class_shifts)) == (100, 40)
    assert finding.low < of_7.unexplained < finding.high
    assert found.drifted
    assert finding.sentence in found.conclusion
    assert finding.sentence in found.details[0]
    unmoved = rs.drift(x, fine @ matrix, purpose="geometry", **options)
    assert not unmoved.findings[-1].named
    assert "class 7" not in unmoved.conclusion + unmoved.details[0]


def test_unmoved_classes_are_not_named(subtests):
    g = np.random.default_rng(0)
    for classes, n, d, noise in ((3, 60, 4, 0.3), (8, 80, 40, 0.3), (60, 300, 8, 1.0)):
        labels = np.r_[np.arange(classes), g.choice(classes, n - classes)]
        x = g.standard_normal((classes, d))[labels] + g.standard_normal((n, d))
        for unmoved in (x, x + noise * g.standard_t(3, (n, d)), x @ anisotropic(d, g)):
            with subtests.test(classes=classes):
                found = quick(x, unmoved, labels=labels, max_samples=200)
                assert not found.findings[-1].named, found.findings[-1].sentence


def test_a_loss_of_accuracy_by_chance_is_not_named(subtests):
    labels = np.arange(60) % 2
    for seed in range(8):
        with subtests.test(f"{seed}"):
            before, after = np.random.default_rng(seed).standard_normal((2, 60, 3))
            finding = class_loss_finding(
                before + labels[:, None], after + labels[:, None], labels, seed
            )
            assert not finding.named, finding.sentence


def test_the_scatter_of_a_class_is_an_unbiased_variance(rng):
    groups, rest = np.repeat([0, 1], [3, 9]), rng.standard_normal((12, 4))
    x = rng.standard_normal((12, 4))
    means = version_class_means([(groups, x, x + rest, x)], {0: "a", 1: "b"})
    expected = [rest[groups == c].var(axis=0, ddof=1).sum() for c in (0, 1)]
    np.testing.assert_allclose(means.scatter, expected)


def test_the_limit_of_moved_classes_is_that_of_all_together(subtests):
    """That of Student for four classes of ten samples, or five times the usual distance."""
    by_chance = t.isf((1 - FINDING_CONFIDENCE) / 2 / 4, 9) * np.sqrt(4 / 10)
    for scatter, usual, limit in ((4.0, 0.0, by_chance), (1e-6, 0.2, 1.0)):
        for share in (0.98, 1.02):
            with subtests.test(f"{scatter:g}, {share}"):
                after = np.diag([usual, usual, usual, share * limit])
                counts, before = np.full(4, 10.0), np.zeros((4, 4))
                means = ClassMeans([*"abcd"], counts, before, after, before, np.full(4, scatter))
                finding, _ = find_moved_classes(means, (1.0, 1.0))
                assert finding.named == (share > 1)


def test_which_class_moved_needs_three_of_them_and_samples(pair):
    x, labels, _ = pair
    for groups in (labels % 2, np.arange(len(x))):
        found = quick(x, 2 * x, labels=groups)
        assert not found.findings[-1].assessed
        json.loads(saved_text(found))
    assert quick(x, x).findings[-1].sentence == "it needs labels"


def test_a_report_says_from_which_data_and_by_what_it_was_made(pair, tmp_path):
    x, _, _ = pair
    np.save(tmp_path / "new.npy", x.astype("f4"))
    made = json.loads(saved_text(quick(x, tmp_path / "new.npy")))["provenance"]
    assert made["resemblance"] == rs.__version__
    assert made["reference"]["file"] is None
    assert made["current"]["file"] == str((tmp_path / "new.npy").resolve())
    assert made["current"]["shape"] == [240, 6]
    assert [made[side]["dtype"] for side in ("reference", "current")] == ["float64", "float32"]
    again = quick(x + 1, x).provenance
    assert again["reference"]["fingerprint"] != made["reference"]["fingerprint"]


def test_a_report_is_printed_as_its_verdicts(pair):
    x, _, _ = pair
    found = quick(x, 2 * x)
    assert repr(found).splitlines() == [found.conclusion, *(f"  {line}" for line in found.details)]
    assert len(repr(found)) < 1000


# ------------------------------------------------------------------------------- files and progress


def test_progress_is_told_in_order_and_ends_at_the_total(pair):
    x, _, g = pair
    told: list[tuple[int, int]] = []
    for y in (x + 0.1 * g.standard_normal(x.shape), np.ones_like(x)):
        told.clear()
        quick(x, y, progress=lambda *step: told.append(step))
        assert len(told) > 9
        assert told == sorted(told)
        assert len({total for _, total in told}) == 1
        assert told[-1][0] == told[-1][1]


def test_progress_writes_nothing_where_there_is_no_terminal(pair, capsys):
    quick(pair[0], pair[0])
    assert capsys.readouterr() == ("", "")


def test_a_value_that_is_not_drawn_is_still_checked(tmp_path):
    g = np.random.default_rng(0)
    x = g.standard_normal((20_000, 30)).astype("f4")
    bad = x.copy()
    bad[17_001, 4] = np.nan
    bad[17_002, 5] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    for pair in ((x, tmp_path / "bad.npy"), (tmp_path / "bad.npy", x)):
        with pytest.raises(rs.UndefinedError, match="row 17001, column 4"):
            quick(*pair, max_samples=50)


def test_a_file_on_disk_is_not_read_as_a_whole(tmp_path):
    """Three times as many rows, 41 MB more in double precision, take no more memory."""
    peaks = []
    for n in (20_000, 60_000):
        x = np.random.default_rng(0).standard_normal((n, 128)).astype("f4")
        np.save(tmp_path / f"{n}.npy", x)
        np.save(tmp_path / f"{n}-new.npy", x + 0.01)
        del x
        tracemalloc.start()
        strict(tmp_path / f"{n}.npy", tmp_path / f"{n}-new.npy", max_samples=200)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 5e6


def test_arrays_of_any_layout_and_precision_are_read_alike():
    g = np.random.default_rng(0)
    x, y = g.standard_normal((2, 300, 8)).astype("f4")
    plain = [d.value for d in quick(x, y, max_samples=100).drifts]
    for a, b in (
        (np.asfortranarray(x), y[:, ::1]),
        (np.repeat(x, 2, axis=0)[::2], y.astype(">f4")),
        (x.astype("f8"), y),
    ):
        assert [d.value for d in quick(a, b, max_samples=100).drifts] == plain


# ---------------------------------------------------------------------------------- degenerate data

DEGENERATE = {
    "one row": lambda g, n, d: 1.5 * np.eye(n, 1, -3) * np.ones((n, d)),
    "one other row": lambda g, n, d: np.r_[np.zeros((n - 1, d)), np.ones((1, d))],
    "duplicates": lambda g, n, d: g.standard_normal((3, d))[g.integers(3, size=n)],
    "normal": lambda g, n, d: g.standard_normal((n, d)),
    "tiny": lambda g, n, d: 1e-200 * g.standard_normal((n, d)),
    "huge": lambda g, n, d: 1e200 * g.standard_normal((n, d)),
    "one direction": lambda g, n, d: g.standard_normal((n, 1)) * np.eye(1, d),
    "rounding": lambda g, n, d: 1e16 + g.standard_normal((n, d)),
    "no rank": lambda g, n, d: 1e8 + 1e-9 * g.standard_normal((n, d)),
    "saturated": lambda g, n, d: (1 + 1e-3 * g.integers(0, 2, (n, d))).astype("f2"),
    "binary": lambda g, n, d: g.integers(0, 2, (n, d)),
    "all scales": lambda g, n, d: g.standard_normal((n, d)) * 10.0 ** g.integers(-100, 100, (n, 1)),
    "constant": lambda g, n, d: np.ones((n, d)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("before", DEGENERATE)
def test_degenerate_data_give_a_report_or_a_value_error(before):
    refused = {}
    for seed, after in enumerate(DEGENERATE):
        g = np.random.default_rng(seed)
        n, d, e = ((20, 1, 1), (24, 6, 6), (22, 40, 3))[(seed + len(before)) % 3]
        x, y = DEGENERATE[before](g, n, d), DEGENERATE[after](g, n, e)
        for options in ({"threshold": 0.05, "labels": np.arange(n) % 2}, {}):
            try:
                found = quick(x, y, **options)
            except ValueError as error:
                refused[after] = str(error)
                continue
            json.loads(saved_text(found))
            assert all(d.value is not None or d.reason for d in found.drifts), after
    reasons = refused.values()
    known = ("constant", "in the same unit", "centre first")
    assert all(any(words in said for words in known) for said in reasons), refused


def test_a_reference_with_one_row_that_differs_gives_a_report():
    x = np.zeros((40, 6))
    x[5] = 1.5
    assert quick(x, np.random.default_rng(0).standard_normal((40, 6))).drifted
    assert not quick(x, x).drifted


# ------------------------------------------------------------------------------------------- facts


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def clustered(seed: int, n: int = 600, d: int = 24) -> np.ndarray:
    g, centers = np.random.default_rng(seed), np.random.default_rng(9).standard_normal((12, d))
    return centers[g.integers(0, 12, n)] + 0.7 * g.standard_normal((n, d))


OLD = clustered(0)
NEW = OLD @ orthogonal(24, np.random.default_rng(1))
CHOSEN = [3, 7, 1, 20, 11, 15]


def with_rows(x: np.ndarray, rows: slice, values: object) -> np.ndarray:
    changed = x.copy()
    changed[rows] = values
    return changed


FACTS = {
    "half migrated": (OLD, with_rows(OLD, slice(360, None), NEW[360:]), {"equal rows": 360}),
    "half migrated, in float32": (
        OLD, with_rows(OLD, slice(8), NEW[:8]).astype("f4"), {"equal rows": 592},
    ),
    "lengths lost": (unit(OLD), OLD, {"lengths": 600}),
    "lengths of some": (OLD, with_rows(OLD, slice(500, None), unit(OLD[500:])), {"lengths": 100}),
    "lengths and another model": (
        OLD, np.concatenate([OLD[:200], unit(OLD[200:400]), NEW[400:]]),
        {"equal rows": 200, "lengths": 200},
    ),
    "cut and normalised": (OLD, unit(OLD[:, :8]), {"leading columns": 600}),
    "cut": (OLD[:, :8], OLD.astype("f4"), {"leading columns": 600}),
    "chosen": (OLD, OLD[:, CHOSEN], {"chosen columns": 600}),
    "chosen and normalised": (unit(OLD[:, CHOSEN]), OLD, {"chosen columns": 600}),
    "in another order": (OLD, OLD[:, ::-1].astype("f4"), {"order of columns": 600}),
    "chosen with dead units": (
        OLD * (np.arange(24) % 6 > 0), (OLD * (np.arange(24) % 6 > 0))[:, [3, 6, 0, 5, 12]],
        {"chosen columns": 600},
    ),
    "other inputs": (OLD, clustered(3), {"other inputs": 600}),
    "unrelated": (OLD, clustered(3)[:, :8] ** 3, {"unrelated rows": 600}),
    "zeros": (OLD, with_rows(NEW, slice(0, 20), 0), {"zeros": 20}),
    "one zero": (OLD, with_rows(NEW, slice(5, 6), 0), {"zeros": 1}),
    "zeros in both": (
        with_rows(OLD, slice(0, 9), 0), with_rows(NEW, slice(0, 9), 0), {"zeros": 9},
    ),
    "a default vector": (OLD, with_rows(NEW, slice(0, 30), NEW[77]), {"copies": 31}),
    "inputs that repeat": (OLD[np.arange(600) % 590], NEW[np.arange(600) % 590], {"copies": 20}),
    "an outlier": (OLD, with_rows(NEW, slice(3, 4), 1e9), {"far rows": 1}),
    "packed bits": (OLD, np.packbits(OLD > 0, axis=1), {"packed bits": 600}),
    "packed bits, signed": (
        np.packbits(OLD > 0, axis=1).astype(int) - 128, OLD > 0.0, {"packed bits": 600},
    ),
    "nothing but a rotation": (OLD, NEW, {}),
    "nothing at all": (OLD, OLD.copy(), {}),
    "rounding": (OLD, OLD.astype("f4"), {}),
    "a factor": (OLD, OLD.astype("f4") * 3, {}),
    "noise": (OLD, OLD + 0.5 * clustered(4), {}),
    "a nonlinear model": (OLD, np.tanh(NEW[:, :9] + NEW[:, 9:18]), {}),
    "classes": (np.eye(5)[np.arange(600) % 5], np.eye(5)[np.arange(600) % 5] * 2, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FACTS)
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e90])
def test_rows_show_facts_that_no_map_explains(case, size):
    x, y, expected = FACTS[case]
    if size != 1 and (y.dtype == "f4" or "bits" in case):
        size = 1.0
    versions = (version_rows(rs.Representation(v * size if size != 1 else v)) for v in (x, y))
    facts = find_version_facts(*versions)
    assert {fact.kind: fact.count for fact in facts} == expected
    assert all(f.count == f.rows or f"{f.count:,} of {f.rows:,} rows" in f.sentence for f in facts)


def test_facts_come_first_and_take_the_place_of_maps_that_do_not_hold():
    reports = {name: quick(*FACTS[name][:2]) for name in ("half migrated", "lengths lost", "zeros")}
    for name, report in reports.items():
        first = report.row_facts[0]
        assert report.conclusion.startswith(f"Drift for a search index. {first.sentences}")
        assert ("What happened" in report.conclusion) == (name == "zeros")
        assert saved_document(report)["row_facts"][0]["kind"] == first.kind
        page = drift_result(report)
        assert page.sections[0].tables[0].rows[0][0] == first.kind
        assert "rs.upgrade_index" not in page.conclusion


def test_what_a_fact_advises_works():
    reference, current, _ = FACTS["half migrated"]
    changed = (reference != current).any(axis=1)
    assert quick(reference[changed], current[changed]).changes == ("rotation",)
    reference, current, _ = FACTS["lengths lost"]
    assert not quick(unit(reference), unit(current)).drifted
    reference, current, _ = FACTS["cut and normalised"]
    assert not quick(unit(reference[:, :8]), current).drifted
    for name in ("chosen", "chosen and normalised", "in another order"):
        reference, current, _ = FACTS[name]
        (fact,) = quick(reference, current).row_facts
        kept = eval(fact.remedy.rpartition("most, ")[2].rstrip("."))
        shorter = min(reference, current, key=lambda v: (v.shape[1], v is reference))
        assert "3, 7, 1, 20, 11, 15 (from 0)" in fact.sentence or name == "in another order"
        assert not quick(unit(kept), unit(shorter.astype(float))).drifted
    reference, current, _ = FACTS["zeros"]
    rest = ~(current == 0).all(axis=1)
    assert not quick(reference[rest], current[rest]).row_facts
    for packed, back in ((np.packbits(OLD > 0, axis=1), 0), (FACTS["packed bits, signed"][0], 128)):
        assert (np.unpackbits((packed + back).astype(np.uint8), axis=1)[:, :24] == (OLD > 0)).all()


def test_facts_of_rows_in_another_order_are_left_out_of_its_verdict():
    swapped = OLD[np.r_[1, 0, 2:600]]
    assert "another order" in quick(OLD, swapped, max_samples=600).conclusion
    assert "Two models" not in quick(OLD, swapped, max_samples=600).conclusion


@pytest.mark.parametrize(
    "shares", [(0.0142, 0.0138), (0.5, 0.4999), (0.0004, 0.0003), (0.2, 0.2), (0.1, 0.3)]
)
def test_shares_are_written_apart_if_they_differ(shares):
    words = format_distinct_percents(*shares)
    assert (words[0] != words[1]) == (shares[0] != shares[1])


# ------------------------------------------------------------------------ batches of other samples


def batch(n: int, seed: int, shares: list[float] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four classes, and the classes."""
    g, centers = np.random.default_rng(seed), np.random.default_rng(7).standard_normal((4, 6))
    classes = g.choice(4, n, p=shares)
    return 2 * centers[classes] + g.standard_normal((n, 6)), classes


FIRST, FIRST_CLASSES = batch(160, 1)
SECOND, SECOND_CLASSES = batch(120, 2)


def unpaired(y: np.ndarray, classes: np.ndarray | None = None, **options: object) -> rs.DriftReport:
    labels = {} if classes is None else {"labels": FIRST_CLASSES, "batch_labels": classes}
    return rs.drift(FIRST, y, paired=False, progress=False, **labels, **options)


def test_batches_of_one_distribution_do_not_differ():
    report = unpaired(SECOND, SECOND_CLASSES)
    assert not report.drifted
    assert report.changes == report.features == report.moved == report.unexplained_by_map == ()
    for drift in report.drifts:
        is_known = drift.pvalue is not None
        assert is_known == (drift.value is not None) == (drift.reason == "")
        assert not (drift.paired and is_known)
    assert by_name(report)["cka"].reason == "it needs the same samples in both"
    assert report.unexplained is None
    assert json.loads(saved_text(report))["settings"]["batch"] == 120


SHIFTED = SECOND + 1.5 * np.eye(6)[2]
CLASS_MOVED = SECOND + (SECOND_CLASSES == 1)[:, None] * 2.5 * np.eye(6)[0]
CHANGED = {
    "a feature": (SHIFTED, SECOND_CLASSES, {"energy", "mmd", "features"}),
    "the spread": (3 * SECOND, SECOND_CLASSES, {"energy", "mmd"}),
    "dimensions": (SECOND * [3, 1, 1, 0.1, 0.1, 0.1], SECOND_CLASSES, {"effective_rank"}),
    "the shares of classes": (*batch(120, 3, [0.7, 0.1, 0.1, 0.1]), {"class_shares"}),
    "a class": (CLASS_MOVED, SECOND_CLASSES, {"class_rows"}),
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_differs_between_batches_is_named(change):
    y, classes, expected = CHANGED[change]
    report = unpaired(y, classes)
    assert report.drifted
    assert expected <= {drift.name for drift in report.drifts if drift.exceeds_threshold}
    assert not report.index.drifted
    if change == "a feature":
        assert [feature.column for feature in report.features] == [2]
        assert "Columns with another distribution, from 0: 2." in report.conclusion
        feature = report.features[0]
        assert feature.after - feature.before == pytest.approx(1.5, abs=0.5)
    if change == "a class":
        assert by_kind(report)["moved_classes"].sentence == "1"
        assert report.changes == ("moved_classes",)
        assert report.class_shifts[0].label == 1
    for thing in (report._repr_html_(), repr(report), drift_result(report).conclusion):
        assert "other samples" in thing


def test_statistics_of_two_samples_are_those_of_their_formulas():
    x, y = FIRST[:30], SECOND[:25]
    pooled = np.concatenate([x, y])
    a, b, c = (cdist(*pair).mean() for pair in ((x, y), (x, x), (y, y)))
    energy = energy_test(pooled, 30, 0)
    assert energy.value == pytest.approx(2 * a - b - c)
    width = np.median(pdist(pooled) ** 2)
    k = np.exp(-(cdist(pooled, pooled) ** 2) / width)
    value = k[:30, :30].mean() + k[30:, 30:].mean() - 2 * k[:30, 30:].mean()
    assert mmd_test(pooled, 30, 0).value == pytest.approx(np.sqrt(value))
    assert energy.pvalue == pytest.approx((1 + (energy.permuted >= energy.value).sum()) / 1000)
    level = 0.02
    at_most = [v for v in energy.permuted if (1 + (energy.permuted >= v).sum()) / 1000 <= level]
    assert energy.limit(level) <= min(at_most)
    distances, p = feature_tests(x, y)
    for column, (distance, value) in enumerate(zip(distances, p)):
        other = ks_2samp(x[:, column], y[:, column], method="asymp")
        assert (distance, value) == pytest.approx((other.statistic, other.pvalue))
    counts = np.array([10, 20]), np.array([15, 5])
    assert class_shares_test(*counts, 0).value == pytest.approx(0.75 - 1 / 3)


def test_the_classifier_is_judged_on_rows_that_it_was_not_fitted_to():
    g = np.random.default_rng(0)
    parts = g.standard_normal((90, 20))
    assert 0.3 < classifier_test(parts, 60, 0).value < 0.7
    parts[:60, 3] += 3
    found = classifier_test(parts, 60, 0)
    assert found.value > 0.9
    assert found.pvalue == 1 / 1000


def test_tests_of_two_samples_keep_their_level():
    """Of 200 pairs of batches without a difference, 5 % and at most the chance of three deviations
    are rejected by each test, and by all together."""
    names = ("energy", "mmd", "classifier", "together")
    rejected = dict.fromkeys(names, 0)
    for seed in range(200):
        pooled = np.random.default_rng(seed).standard_normal((50, 5))
        tests = (energy_test(pooled, 30, seed, 99), mmd_test(pooled, 30, seed, 99),
                 classifier_test(pooled, 30, seed, 99))  # fmt: skip
        p = [test.pvalue for test in tests]
        for name, value in zip(names, (*p, 3 * min(p))):
            rejected[name] += value <= 0.05
    assert max(rejected.values()) <= 10 + 3 * np.sqrt(200 * 0.05 * 0.95)
    assert min(rejected[name] for name in names[:3]) >= 2


def test_the_seed_decides_and_the_order_of_rows_hardly_matters():
    one, other = (unpaired(SHIFTED, seed=2) for _ in range(2))
    assert saved_document(one)["drifts"] == saved_document(other)["drifts"]
    turned = unpaired(SHIFTED[::-1])
    for name in ("energy", "mmd", "features", "eigenspectrum"):
        assert by_name(turned)[name].value == pytest.approx(by_name(one)[name].value)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e90])
def test_batches_in_any_unit_and_at_any_offset_give_the_same(scale):
    here = by_name(unpaired(SHIFTED))
    there = by_name(rs.drift(FIRST * scale, SHIFTED * scale, paired=False, progress=False))
    moved = by_name(rs.drift(FIRST + 1e6, SHIFTED + 1e6, paired=False, progress=False))
    for name in ("energy", "mmd", "classifier", "effective_rank"):
        assert there[name].value == pytest.approx(here[name].value)
        assert moved[name].value == pytest.approx(here[name].value, rel=1e-4)


def test_rows_of_both_batches_are_a_fact():
    both = np.concatenate([SECOND, FIRST[:30]])
    (fact,) = unpaired(both).row_facts
    assert (fact.kind, fact.count, fact.rows) == ("shared rows", 30, 150)
    zeros = unpaired(with_rows(SECOND, slice(0, 3), 0)).row_facts
    assert [(fact.kind, fact.count) for fact in zeros] == [("zeros", 3), ("copies", 0)][:1]


BAD_BATCHES = {
    "other widths": ({"current": SECOND[:, :3]}, "by the same model"),
    "few": ({"current": SECOND[:19]}, "at least 20 samples in each batch"),
    "labels of one batch": ({"labels": FIRST_CLASSES}, "got labels only: pass batch_labels"),
    "labels of the other": ({"batch_labels": SECOND_CLASSES}, "got batch_labels only: pass labels"),
    "labels of a batch of pairs": (
        {"paired": True, "current": FIRST, "batch_labels": FIRST_CLASSES}, "pass paired=False",
    ),
    "labels of another length": (
        {"labels": FIRST_CLASSES, "batch_labels": FIRST_CLASSES},
        r"batch_labels must be one per sample.*120",
    ),
    "a number as threshold": ({"threshold": 0.05}, 'threshold="calibrated"'),
    "a word for a flag": ({"paired": "no"}, "True or False"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BAD_BATCHES)
def test_mistakes_about_batches_are_named(mistake):
    options, words = BAD_BATCHES[mistake]
    call = {"reference": FIRST, "current": SECOND, "paired": False} | options
    with pytest.raises(ValueError, match=words):
        rs.drift(**call, progress=False)


def test_unequal_numbers_of_samples_point_to_batches():
    with pytest.raises(ValueError, match="paired=False"):
        rs.drift(FIRST, SECOND)
    assert not rs.drift(FIRST, SECOND, paired=False, progress=False).drifted


@pytest.mark.parametrize("paired", [True, False])
def test_copies_of_samples_are_named_once(paired):
    rows = np.arange(600) % 300
    rows[:10] = np.arange(10) + 590
    report = rs.drift(OLD[rows], NEW[rows], paired=paired, n_resamples=10, progress=False)
    assert [fact.kind for fact in report.row_facts].count("copies") == 1
    assert not any("cop" in caveat or "distinct" in caveat for caveat in report.caveats)


def test_a_single_zero_vector_is_one():
    report = rs.drift(OLD, with_rows(OLD, slice(3, 4), 0 * OLD[:1]), n_resamples=10, progress=False)
    assert "1 of 600 rows (0.2 %) of the current version is a zero vector." in report.conclusion


@pytest.mark.parametrize("kind", [np.uint16, np.uint32, np.uint64])
def test_bits_packed_into_words_are_named_with_a_remedy_that_unpacks_them(kind):
    vectors = np.random.default_rng(0).standard_normal((200, 128))
    packed = np.packbits(vectors > 0, axis=1).view(kind)
    report = rs.drift(vectors, packed, n_resamples=10, progress=False)
    assert [fact.kind for fact in report.row_facts] == ["packed bits"]
    assert "np.ascontiguousarray(vectors).view(np.uint8)" in report.conclusion
    unpacked = np.unpackbits(np.ascontiguousarray(packed).view(np.uint8), axis=1)[:, :128]
    assert np.array_equal(unpacked, vectors > 0)


def test_classes_of_other_inputs_are_not_the_same_rows_in_another_order():
    g = np.random.default_rng(0)
    x, y = (np.eye(24)[g.integers(0, 24, 400)] for _ in "xy")
    assert quick(x, y).reordered is None
    assert quick(x, x[g.permutation(400)]).reordered.exactly
