"""Curves over the scale of a measure: every value is that of a single call."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

import resemblance as rs
from resemblance.intermediates import rectangles

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
NEIGHBORS = (
    "mutual_knn", "mutual_knn[metric=euclidean]", "mutual_knn[corrected=True,metric=inner]",
    "jaccard", "rank_similarity", "cycle_knn", "information_imbalance", "second_order_cosine",
    "lcs_knn", "edit_distance_knn", "cknna[estimator=biased]", "mka", "kcka",
)  # fmt: skip
KERNELS = ("cka[kernel=rbf]", "cka[estimator=debiased,kernel=laplace]", "mmd")


def pair(kind: str, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((2, n, 6))
    y = x + noise
    match kind:
        case "tied":
            return np.round(x), np.round(y)
        case "duplicates":
            return x[np.arange(n) // 3], y[np.arange(n) // 4]
        case "wide":
            return rng.standard_normal((2, 20, 50))
        case "far groups":  # the digits of distances in a group are lost for most samples
            offsets = np.repeat(1e8 * rng.standard_normal((8, 6)), 5, axis=0)
            return x + offsets, y + offsets
        case "outlier":
            return np.concatenate([1e5 * x[:1], x[1:]]), y
    return x, y


def single_values(m: rs.Measure, scale: str, scales, x, y) -> list[float]:
    values = []
    for s in scales:
        try:
            values.append(m.with_parameters(**{scale: s})(x, y))
        except rs.UndefinedError:
            values.append(np.nan)
    return values


def test_values_over_k_are_those_of_single_calls(subtests):
    kinds = ("usual", "tied", "duplicates", "wide", "outlier", "far groups")
    for i, spec in enumerate(NEIGHBORS):
        for kind in kinds[i % 2 :: 2]:
            with subtests.test(f"{spec} {kind}"):
                x, y = pair(kind)
                scales = [1, 2, 7, 18]
                curve = rs.scale_curve(x, y, measure=spec, k=scales)
                expected = single_values(rs.get_measure(spec), "k", scales, x, y)
                np.testing.assert_array_equal(curve.values, expected)


def test_values_over_widths_are_those_of_single_calls(subtests):
    for spec in KERNELS:
        for kind in ("usual", "tied", "duplicates", "wide", "outlier"):
            for scale, scales in (("bandwidth", [0.3, 1, 4]), ("width", [0.5, 2, 20.0])):
                with subtests.test(f"{spec} {kind} {scale}"):
                    x, y = pair(kind)
                    curve = rs.scale_curve(x, y, measure=spec, **{scale: scales})
                    expected = single_values(rs.get_measure(spec), scale, scales, x, y)
                    np.testing.assert_allclose(curve.values, expected, rtol=1e-12, atol=1e-12)


def test_values_equal_scikit_learn():
    x, y = pair("usual", 60)
    indices = [NearestNeighbors(n_neighbors=31).fit(z).kneighbors(z)[1][:, 1:] for z in (x, y)]
    shared = [
        np.mean([len({*a[:k]} & {*b[:k]}) / k for a, b in zip(*indices)]) for k in range(1, 31)
    ]
    curve = rs.scale_curve(x, y, measure="mutual_knn[metric=euclidean]", k=range(1, 31))
    assert curve.values == pytest.approx(shared, rel=1e-12)
    assert curve.mean == pytest.approx(np.mean(shared), rel=1e-12)
    assert curve.chance == pytest.approx(np.arange(1, 31) / 59, rel=1e-12)
    assert curve.scales.tolist() == list(range(1, 31))


def test_tensors_a_self_comparison_and_many_samples(monkeypatch):
    x, y = pair("usual")
    expected = rs.scale_curve(x, y, measure="cka[kernel=rbf]", width=[1.0, 3.0]).values
    tensors = torch.tensor(x, requires_grad=True), torch.tensor(y)
    curve = rs.scale_curve(*tensors, measure="cka[kernel=rbf]", width=[1.0, 3.0])
    assert curve.values == pytest.approx(expected, rel=1e-12)
    assert rs.scale_curve(x, x, k=[1, 5]).values.tolist() == [1, 1]
    with monkeypatch.context() as many:
        many.setattr(rectangles, "MAX_STORED_SAMPLES", 0)
        curve = rs.scale_curve(x, y, measure="cka[kernel=rbf]", width=[1.0, 3.0])
    assert curve.values == pytest.approx(expected, rel=1e-10)


def share_of_nearest(X, Y, *, k: int = 1):
    """Share of nearest: a function of one's own with a number of neighbours."""
    nearest = [np.argsort(-(z @ z.T) + 1e9 * np.eye(len(z)), axis=1)[:, :k] for z in (X, Y)]
    return np.mean([len({*a} & {*b}) / k for a, b in zip(*nearest)])


def test_a_plain_function_has_a_curve():
    x, y = pair("usual")
    curve = rs.scale_curve(x, y, measure=share_of_nearest, k=[4, 2])
    assert curve.values.tolist() == [share_of_nearest(x, y, k=k) for k in (2, 4)]
    assert np.isnan(curve.chance).all()


def test_a_scale_without_a_value_has_a_reason(tmp_path):
    x, y = pair("usual")
    curve = rs.scale_curve(rs.Representation(x, "first"), y, k=[5, 39, 40, 80])
    assert np.isnan(curve.values).tolist() == [False, False, True, True]
    assert [f.scale for f in curve.failures] == [40, 80]
    assert "at least 41 samples; got 40" in curve.failures[0].reason
    assert np.isnan(curve.mean)
    assert "first and Y, 40 samples, 4 scales, k = 5 to 80; 2 without a value: k = 40" in str(curve)
    assert "k = 39: fixed" in curve.caveats[0]
    assert curve.records()[0] | {"value": 0, "chance": 0} == {
        "measure": "mutual_knn", "x": "first", "y": "Y", "k": 5, "value": 0, "chance": 0,
    }  # fmt: skip
    curve.save(tmp_path / "curve.json")
    assert rs.load(tmp_path / "curve.json").points[:2] == curve.points[:2]
    ax = curve.plot()
    assert ax.lines[0].get_xydata().tolist() == [[p.scale, p.value] for p in curve.points[:2]]
    assert ax.get_xlabel() == "k"
    assert "larger = more similar" in ax.get_ylabel().replace("\n", " ")
    none = rs.scale_curve(x, y, k=[50])
    with pytest.raises(ValueError, match="no scale has a value; mutual_knn"):
        none.plot()
    with pytest.raises(ValueError, match="class ScaleCurve; got int"):
        rs.plot.scale_curve(3)


def test_a_scale_without_effect_is_told():
    x, _ = pair("usual")
    curve = rs.scale_curve(x, x, k=[1, 5])
    assert curve.caveats == ("all values are equal: k has no effect on mutual_knn of X and X",)


def test_mistakes_are_named_with_a_remedy():
    x, y = pair("usual")
    for arguments, message in [
        ({}, r"scale_curve: give one of k=, bandwidth= and width=.*; got none"),
        ({"k": [1], "width": [1.0]}, r"give one of k=, .*; got k= and width="),
        ({"k": []}, r"k must be different numbers, such as range\(1, 51\); got \[\]"),
        ({"k": [3, 3]}, "k must be different numbers"),
        ({"k": 5}, r"k must be different numbers, such as .*; got 5"),
        ({"k": [1.5]}, "mutual_knn: k must be of type int; got 1.5"),
        ({"k": [0, 3]}, "mutual_knn: k must be from 1 to inf; got 0"),
        ({"width": [np.nan]}, "width must be different numbers"),
        ({"width": [1.0]}, "mutual_knn has no parameter 'width'; it has k"),
        ({"measure": "rsa", "k": [1]}, "rsa has no parameter 'k'; it has no scale"),
        ({"measure": "mutual_knn[k=3]", "k": [1]}, "fixes k=3; leave it out of the measure"),
        ({"measure": "cka", "width": [1.0]}, "kernel='linear' has no width"),
        ({"measure": "cka", "bandwidth": [0.5, 1]}, "kernel='linear' has no width; bandwidth=0.5"),
        ({"measure": "cka[bandwidth=2,kernel=rbf]", "width": [1.0]}, "takes the place of bandwid"),
    ]:
        with pytest.raises(ValueError, match=message):
            rs.scale_curve(x, y, **arguments)
    with pytest.raises(ValueError, match="must have the same number of samples"):
        rs.scale_curve(x, y[:30], k=[1])
