"""Shapes of which is known how alike they are: where their points lie, and that they are always the
same."""

from __future__ import annotations

import numpy as np
import pytest

import resemblance as rs
from resemblance.bench.point_clouds import (
    clusters,
    gaussian_spots,
    ring_radii,
    rings,
    swiss_roll_s_curve,
    uniform_spots,
)


def test_the_swiss_roll_and_the_s_curve_are_their_formulas():
    roll, curve = swiss_roll_s_curve(0.5, n=101)
    assert roll.shape == curve.shape == (101, 2)
    z = 1.5 * np.pi * (1 + 2 * 0.25)
    assert np.allclose(roll[25], [z * np.cos(z), z * np.sin(z)])
    z = 3 * np.pi * (0.75 - 0.5)
    assert np.allclose(curve[75], [np.sin(z), np.cos(z) - 1])
    assert np.allclose(curve, -curve[::-1])  # the sign of z turns the lower half round


def test_the_s_curve_in_the_middle_is_the_roll_unrolled():
    """At r = 1/2 neighbours on the curve are neighbours on the roll; at r = 0 the curve meets
    itself."""
    middle, start = (
        rs.jaccard(*swiss_roll_s_curve(r, n=300), k=5, metric="euclidean") for r in (0.5, 0.0)
    )
    assert middle > 0.9 > start
    linear = [rs.cka(*swiss_roll_s_curve(r)) for r in (0.0, 0.5)]
    assert linear == pytest.approx([0.918, 0.220], abs=5e-4)  # as with the authors' code


def test_rings_have_the_radii_of_the_original_and_equal_ones_lie_on_each_other():
    assert ring_radii(1) == (1, 1.25, 0.75, 1.5, 0.5)
    assert ring_radii(3) == (1, 1, 1, 1.25, 0.75)
    for large in range(1, 6):
        parts = rings(large).reshape(5, 100, 2)
        assert np.allclose(np.linalg.norm(parts, axis=2), np.array(ring_radii(large))[:, None])
        assert len(np.unique(rings(large), axis=0)) == 100 * (6 - large)
        assert all((part == parts[0]).all() for part in parts[:large])


def test_rings_and_clusters_have_the_divergence_of_the_original():
    """The values of the authors of RTD, who found tau = 0.8 for rings."""
    found = [rs.rtd(rings(1, points=40), rings(large, points=40)) for large in (1, 2, 3)]
    assert found[0] == 0
    assert found[1] > found[2] > 0
    assert rs.rtd(rings(1), rings(5)) == pytest.approx(8.808, abs=5e-4)
    assert clusters(1)[0] == pytest.approx([1.690526, -0.465937], abs=1e-6)
    assert rs.rtd(clusters(1), clusters(2)) == pytest.approx(10.376, abs=5e-4)
    assert rs.rtd(clusters(1), clusters(3)) == pytest.approx(11.958, abs=5e-4)


def test_clusters_move_in_blocks_of_five_and_leave_the_global_generator():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    base = clusters(1)
    for count in (2, 3, 12):
        moved = (clusters(count) - base).reshape(60, 5, 2)
        angle = 2 * np.pi * (np.arange(60) % count) / count
        assert np.allclose(moved, 10 * np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, None])
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_gaussian_spots():
    reference, perturbed, lost = gaussian_spots(4000, 3, noise=0.5)
    for array, spread in ((reference, 1), (perturbed - reference, 0.5), (lost, 1)):
        assert array.shape == (4000, 3)
        assert np.allclose(array.mean(axis=0), 0, atol=0.06)
        assert np.allclose(array.std(axis=0), spread, rtol=0.05)
    for a, b in ((reference, lost), (reference, perturbed - reference)):
        assert np.abs(np.corrcoef(a.T, b.T)[:3, 3:]).max() < 0.06
    one, same, other = (gaussian_spots(9, 2, seed=seed).lost for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_uniform_spots_keep_their_points_when_one_moves():
    near, far = uniform_spots(50, 3, 0.0), uniform_spots(50, 3, 10.0)
    assert np.array_equal(near[:50], far[:50])
    assert np.allclose(far[50:] - near[50:], [10, 0, 0])
    assert np.abs(near[:50]).max() <= 0.5
    assert np.abs(near - [1.1, 0, 0])[50:].max() <= 0.5
    assert not np.array_equal(near, uniform_spots(50, 3, 0.0, seed=4))


REFUSED = [
    (swiss_roll_s_curve, (1.5,), {}, "r must lie between 0 and 1"),
    (swiss_roll_s_curve, (0.5,), {"n": 1}, "n must be a whole number, at least 2"),
    (rings, (6,), {}, "large must be a whole number from 1 to 5"),
    (rings, (1.5,), {}, "large must be"),
    (rings, (2,), {"points": 1}, "points must be"),
    (clusters, (0,), {}, "count must be a whole number from 1 to 60"),
    (gaussian_spots, (10, 0), {}, "d must be"),
    (gaussian_spots, (10, 2), {"noise": -1}, "noise must be a number from 0"),
    (uniform_spots, (10, 2, -1.0), {}, "t must be a number from 0"),
    (uniform_spots, (1, 2, 1.0), {}, "n must be"),
]


@pytest.mark.parametrize(("make", "arguments", "named", "words"), REFUSED)
def test_what_makes_no_shape_says_why(make, arguments, named, words):
    with pytest.raises(ValueError, match=words):
        make(*arguments, **named)
