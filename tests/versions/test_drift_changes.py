"""What happened between two versions: each synthetic change is named as what it is, and nothing is
named that noise, few samples, or chance make."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pytest
from factories.versions import (
    CHANGES,
    anisotropic,
    by_kind,
    merged,
    orthogonal,
    quick,
    reference,
    strict,
)
from scipy.stats import t

import resemblance as rs
from resemblance.base.results import saved_text
from resemblance.versions.findings import FINDING_CONFIDENCE, bootstrap_mean_interval
from resemblance.versions.losses import class_loss_finding
from resemblance.versions.moved import ClassMeans, find_moved_classes, version_class_means


def test_each_change_is_named_as_what_it_is(subtests):
    for change, (d, seed) in product(CHANGES, [(2, 0), (16, 1)]):
        with subtests.test(f"{change}, {d}, {seed}"):
            g = np.random.default_rng([seed, d])
            x, labels = reference(d, g)
            make, named = CHANGES[change]
            groups = labels if change in ("merged", "rotation", "identical") else None
            found = strict(x, make(x, labels, g), labels=groups)
            others = [k for k in found.changes if k != "moved_classes" or change != "merged"]
            assert tuple(others) == named, [(f.kind, f.sentence) for f in found.findings]


@pytest.mark.parametrize(("change", "scale"), [("", 1), ("rotation", 1), ("change of scale", 2)])
def test_the_verdict_names_noise_beside_a_motion_that_keeps_the_geometry(change, scale):
    g = np.random.default_rng(0)
    x = g.standard_normal((400, 8))
    moved = scale * (x @ orthogonal(8, g) if change == "rotation" else x)
    assert "noise" not in quick(x, moved).conclusion
    noisy = moved + 0.2 * scale * g.standard_normal(x.shape)
    verdict = re.search(r"What happened: (.*?)\.(?!\d)", quick(x, noisy).conclusion)[1]
    assert verdict.startswith(change)
    share = re.search(r"noise or .* no linear map explains \((.*) % of the variance\)", verdict)[1]
    assert float(share) == pytest.approx(100 * 0.04 / 1.04, abs=0.4)


def test_amounts_are_those_of_the_change(pair):
    x, labels, _ = pair
    angle = np.radians(30)
    turn = np.eye(6)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    radius = np.sqrt(x.var(axis=0).sum())
    shifted = by_kind(strict(x, x + np.r_[radius, np.zeros(5)]))
    assert shifted["translation"].amount == pytest.approx(1, rel=1e-9)
    turned = by_kind(strict(x, 1.25 * x @ turn))
    assert turned["scale"].amount == pytest.approx(1.25, rel=1e-9)
    assert turned["rotation"].named
    lost = by_kind(quick(x, merged(x, labels), labels=labels))["classes"]
    assert lost.amount > 0.4 > lost.threshold >= 0
    assert lost.exceeds_threshold


def test_a_collapse_to_one_point_is_drift_not_an_error(pair):
    x, _, _ = pair
    found = quick(x, np.ones_like(x))
    assert found.drifted
    assert found.changes == ("collapse",)
    assert [f.kind for f in found.findings if f.assessed] == ["collapse"]
    assert found.drifts[0].value is None
    assert found.drifts[0].reason
    json.loads(saved_text(found))


def test_maps_of_more_freedom_leave_less(pair):
    x, _, g = pair
    left = dict(strict(x, 2 * x @ anisotropic(6, g) + 3).unexplained_by_map)
    assert left["nothing"] > left["scale"] > left["rotation"] > left["linear map"]
    assert left["linear map"] < 1e-20


def test_the_samples_that_moved_most(pair):
    x, _, g = pair
    y = x @ orthogonal(6, g)
    y[[7, 31]] += 4 * x.std()
    found = strict(rs.Representation(x, ids=[f"s{i}" for i in range(len(x))]), y)
    assert {m.id for m in found.moved[:2]} == {"s7", "s31"}
    assert [m.index for m in found.displaced] != [m.index for m in found.moved]
    assert found.displaced[0].distance >= found.displaced[1].distance
    y = 3 * x
    y[7] += 4 * y.std()
    first, second = strict(x, y).moved[:2]
    assert (first.index, second.unexplained < 0.1 * first.unexplained) == (7, True)


# ------------------------------------------------------------------------------- noise, few samples


def test_noise_is_a_loss_of_neighbors_beside_the_change_and_no_map(pair):
    x, _, g = pair
    found = strict(x, x + 0.3 * x.std() * g.standard_normal(x.shape))
    assert (found.changes, found.map) == (("neighbours",), "identity")
    assert 0.03 < found.unexplained < 0.15
    noise = 0.1 * x.std() * g.standard_normal(x.shape)
    assert strict(x, x @ orthogonal(6, g) + noise).changes == ("rotation", "neighbours")
    assert strict(x, 2 * x + noise).changes == ("scale", "neighbours")


def test_lost_correspondence_is_not_a_change_of_scale(pair):
    """Half of the rows shuffled: least squares would shrink, which is what regression to the mean
    looks like."""
    x, _, g = pair
    rows = np.arange(len(x))
    rows[:120] = g.permutation(120)
    assert strict(x, x[rows]).changes == ("neighbours",)


@pytest.mark.parametrize(("n", "d"), [(80, 160), (120, 100)])
def test_a_rotation_is_a_rotation_however_few_samples_there_are(n, d):
    g = np.random.default_rng(d)
    x = g.standard_normal((n, d)) + g.standard_normal(d)
    for y in (x @ orthogonal(d, g) + 1e-3 * g.standard_normal((n, d)), -x):
        found = strict(x, y, labels=np.arange(n) % 3)
        assert found.changes == ("rotation",), [(f.kind, f.sentence) for f in found.findings]
        assert not found.geometry.drifted


def test_with_fewer_samples_than_directions_what_cannot_be_told_apart_is_not_assessed():
    g = np.random.default_rng(0)
    x = g.standard_normal((100, 200)) + 2
    by = by_kind(strict(x, x @ anisotropic(200, g)))
    missing = {"rotation", "linear", "translation", "classes", "moved_classes"}
    assert {kind for kind, f in by.items() if not f.assessed} == missing
    assert {kind for kind, f in by.items() if f.named} == {"neighbours"}
    assert strict(x, x[g.permutation(100)]).changes == ("neighbours",)
    shifted = strict(x, x @ orthogonal(200, g) + 5)
    assert shifted.changes == ("translation", "rotation")
    turned = x @ orthogonal(200, g) + 0.05 * g.standard_normal(x.shape)
    assert "translation" not in strict(x, turned).changes


def power_law(n: int, d: int, g: np.random.Generator) -> np.ndarray:
    return 3 * g.standard_normal((n, d)) / np.arange(1, d + 1) @ orthogonal(d, g) + 2


def low_rank(n: int, d: int, g: np.random.Generator) -> np.ndarray:
    return g.standard_normal((n, 3)) @ g.standard_normal((3, d)) + 2 * g.standard_normal(d)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("kind", "noise"), [(power_law, 0.3), (low_rank, 0.1)])
def test_noise_in_the_reference_is_no_map(kind, noise, seed):
    """Least squares shrink what is noisy, and the reference's mean with it: neither is a change of
    the model."""
    g = np.random.default_rng(seed)
    z = kind(200, 16, g)
    first, second = (z + noise * z.std() * g.standard_normal(z.shape) for _ in "ab")
    assert strict(first, second).changes == ("neighbours",)
    assert strict(first, second @ orthogonal(16, g)).changes == ("rotation", "neighbours")
    # Noise of its own has more directions.
    assert set(strict(first, z).changes) <= {"neighbours", "collapse"}


def test_bootstrap_intervals_have_the_width_of_their_level():
    values = np.random.default_rng(0).standard_normal(400)
    for level, quantile in ((0.99, 2.576), (0.8, 1.282)):
        low, high = bootstrap_mean_interval(values, 0, confidence_level=level)
        assert (high - low) / 2 == pytest.approx(quantile * values.std() / 20, rel=0.1)


# ------------------------------------------------------------------------------------------ classes


@pytest.mark.parametrize(("n", "d"), [(150, 150), (150, 75), (80, 300)])
def test_classes_are_not_lost_to_a_discriminant_that_overfits(n, d):
    g = np.random.default_rng(n + d)
    labels = np.arange(n) % 4
    x = g.standard_normal((n, d)) + 1.5 * g.standard_normal((4, d))[labels]
    for y in (x @ orthogonal(d, g), x + 0.3 * g.standard_normal((n, d)), x @ anisotropic(d, g)):
        assert "classes" not in strict(x, y, labels=labels).changes
    assert strict(x, merged(x, labels), labels=labels).changes == ("classes",)


def test_a_loss_of_accuracy_by_chance_is_not_named(subtests):
    labels = np.arange(60) % 2
    for seed in range(8):
        with subtests.test(f"{seed}"):
            before, after = np.random.default_rng(seed).standard_normal((2, 60, 3))
            shift = labels[:, None]
            finding = class_loss_finding(before + shift, after + shift, labels, seed)
            assert not finding.named, finding.sentence


def test_classes_say_which_came_together(pair):
    x, labels, _ = pair
    names = np.array(["ant", "bee", "cat", "dog"])[labels]
    found = strict(x, merged(x, labels), labels=names)
    by = {c.label: c for c in found.class_shifts}
    assert sorted(by) == ["ant", "bee", "cat", "dog"]
    assert {by[name].samples for name in by} == {60}
    assert (by["bee"].nearest_after, by["dog"].nearest_after) == ("ant", "cat")
    assert by["bee"].distance_after < 1e-9 < by["bee"].distance_before
    assert by["bee"].moved > 0.1 > by["ant"].moved
    assert {m.label for m in found.displaced} <= {"bee", "dog"}
    assert strict(x, x).class_shifts == ()


@pytest.mark.parametrize("kind", ["no map", "rotation", "linear"])
def test_a_class_that_moved_is_named_however_few_of_its_samples_are_drawn(kind):
    """Of 40 classes with little noise, class 7 went to class 8."""
    g = np.random.default_rng(0)
    classes, means = np.arange(2000) % 40, g.standard_normal((40, 16))
    x = means[classes] + 0.5 * g.standard_normal((2000, 16))
    unmoved = x + 0.02 * g.standard_normal(x.shape)
    lost = unmoved + np.where(classes == 7, 1, 0)[:, None] * (means[8] - means[7])
    maps = {"no map": np.eye(16), "rotation": orthogonal(16, g), "linear": anisotropic(16, g)}
    options = {"labels": [f"class {c}" for c in classes], "max_samples": 300}
    found = quick(x, lost @ maps[kind], purpose="geometry", **options)
    finding = found.findings[-1]
    assert (finding.kind, finding.named, finding.exceeds_threshold) == ("moved_classes", True, True)
    assert finding.sentence.startswith("class 7 (")
    assert finding.sentence.endswith("nearest to class 8)")
    of_7 = next(c for c in found.class_shifts if c.label == "class 7")
    assert (of_7.samples, len(found.class_shifts)) == (50, 40)
    assert finding.low < of_7.unexplained < finding.high
    assert found.drifted
    found = quick(x, unmoved @ maps[kind], purpose="geometry", **options)
    assert not found.findings[-1].named


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
        found = strict(x, 2 * x, labels=groups)
        assert not found.findings[-1].assessed
        json.loads(saved_text(found))
    assert strict(x, x).findings[-1].sentence == "it needs labels"
