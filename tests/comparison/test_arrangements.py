"""Maps, trees and curves of representations against distances worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import resemblance as rs
from resemblance.comparison.arrangements import (
    best_matches,
    equal_depth_curves,
    linkage_tree,
    plane_embedding,
)


@rs.measure(
    label="Mean", family="descriptive", larger_is_more_similar=False, range=(0, np.inf),
    symmetric=True, identity=False, invariant_to=set(), citation="none",
)  # fmt: skip
def distance_of_means(x, y):
    """Distance between the means of the first two columns."""
    return abs(complex(*(x.array.mean(0) - y.array.mean(0))[:2]))


POINTS = np.array([[0.0, 0], [4, 0], [4, 3], [0, 3]])
NAMES = ("a/0", "a/1", "b/0", "b/1")


def comparison():
    noise = np.random.default_rng(0).standard_normal((5, 2))
    noise -= noise.mean(0)
    return rs.compare(
        {name: noise + point for name, point in zip(NAMES, POINTS)}, measures=[distance_of_means]
    )


def test_a_plane_keeps_distances_that_fit_into_it():
    p = plane_embedding(comparison(), "distance_of_means")
    assert p.names == NAMES
    assert p.share == pytest.approx(1)
    np.testing.assert_allclose(pdist(p.points), pdist(POINTS), atol=1e-6)
    assert (p.points[np.abs(p.points).argmax(0), [0, 1]] > 0).all()


def test_a_tree_joins_the_most_similar_first():
    t = linkage_tree(comparison(), "distance_of_means")
    assert t.merges[0, :3].tolist() == [0, 3, 3]  # a/0 and b/1, 3 apart
    assert t.merges[2, 2] == pytest.approx(squareform(pdist(POINTS))[[0, 3]][:, [1, 2]].mean())


def test_curves_by_depth_and_best_matches():
    c = comparison()
    (curve,) = equal_depth_curves(c, "distance_of_means")
    assert (curve.model, curve.other, curve.layers) == ("a", "b", ("0", "1"))
    assert curve.values == pytest.approx([5, 5])
    (match,) = best_matches(c, "distance_of_means")
    assert match.partners == ("1", "0")
    assert match.values == pytest.approx([3, 3])


def test_layers_of_unlike_models_are_paired_by_their_share_of_the_depth():
    g = np.random.default_rng(0)
    layers = {
        f"{m}/{i}": g.standard_normal((20, 3)) for m, n in (("a", 7), ("b", 4)) for i in range(n)
    }
    c = rs.compare(layers, measures="procrustes", progress=False)
    (curve,) = equal_depth_curves(c, "procrustes")
    assert curve.layers == tuple("0123456")
    assert curve.partners == tuple("0112233")
    place = c.rows.index("a/2"), c.columns.index("b/1")
    assert curve.values[2] == c["procrustes"][place]


def test_a_layer_without_a_value_keeps_its_depth_among_best_matches():
    layers = {name: np.random.default_rng(7).standard_normal((20, 3)) for name in ("a/0", "b/0")}
    others = {f"b/{i}": np.random.default_rng(i).standard_normal((20, 3)) for i in (1, 2)}
    last = np.random.default_rng(3).standard_normal((20, 3))
    c = rs.compare(
        {**layers, **others, "a/dead": np.zeros((20, 3)), "a/2": last}, measures="procrustes"
    )
    (curve,) = best_matches(c, "procrustes")
    assert curve.layers == ("0", "dead", "2")
    assert np.isnan(curve.values).tolist() == [False, True, False]
    assert curve.values[0] == 0  # not the rounding error of equal arrays


def test_what_has_no_value_is_left_out_of_a_plane():
    layers = {f"m/{i}": np.random.default_rng(i).standard_normal((20, 4)) for i in range(4)}
    c = rs.compare(layers | {"m/dead": np.zeros((20, 4))}, measures="cka")
    assert plane_embedding(c, "cka").names == tuple(layers)
    with pytest.raises(ValueError, match="at least 3"):
        plane_embedding(rs.compare({"a": layers["m/0"], "b": layers["m/1"]}, measures="cka"), "cka")
    with pytest.raises(ValueError, match="without the pairs within rows"):
        linkage_tree(rs.compare(layers, {"x": layers["m/0"]}, measures="cka"), "cka")
