"""Digits that an offset takes from the differences between samples: what keeps them, what is
refused, and the check that finds a measure which compares rounding."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.stats
from factories.measures import declared

import resemblance as rs
from resemblance.checks.behavior import lost_digits
from resemblance.checks.trial import measure_check_context

pytestmark = pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")

FAR_X = np.random.default_rng(5).standard_normal((60, 6))
FAR_Y = FAR_X @ np.random.default_rng(6).standard_normal((6, 6)) / 2
FAR_Y += np.random.default_rng(7).standard_normal((60, 6))


def moved(x: np.ndarray, offset: float, columns: str) -> np.ndarray:
    return x + offset * (np.arange(x.shape[1]) < (1 if columns == "one" else x.shape[1]))


def exact_chords(x: np.ndarray) -> np.ndarray:
    """1 minus cosine, in extended precision."""
    rows = x.astype(np.longdouble)
    rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return ((rows[:, None] - rows[None]) ** 2).sum(axis=2) / 2


def exact_overlap(distances: list[np.ndarray], k: int = 10) -> float:
    near = [
        np.argsort(np.where(np.eye(len(d), dtype=bool), np.inf, d), axis=1)[:, :k]
        for d in distances
    ]
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(*near)]))


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("columns", ["one", "all"])
@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_cosine_neighbors_keep_their_digits(dtype: Any, columns: str, offset: float) -> None:
    """A constant column of 1e4, as in language models, left unrelated layers at 1."""
    pair = [moved(x, offset, columns) for x in (FAR_X, FAR_Y)]
    true = exact_overlap([exact_chords(x) for x in pair])
    a, b = (rs.Representation(x, dtype=dtype) for x in pair)
    assert rs.mutual_knn(a, b) == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("kind", ["cosine", "correlation"])
@pytest.mark.parametrize("offset", [1e7, 1e9])
def test_dissimilarities_keep_their_digits(kind: Any, offset: float) -> None:
    pair = [moved(x, offset, "one") for x in (FAR_X, FAR_Y)]
    rows = [x.astype(np.longdouble) for x in pair]
    if kind == "correlation":
        rows = [x - x.mean(axis=1, keepdims=True) for x in rows]
    above = np.triu_indices(60, 1)
    true = scipy.stats.spearmanr(*(exact_chords(x)[above].astype(float) for x in rows))[0]
    assert rs.rsa(*pair, rdm=kind) == pytest.approx(true, abs=1e-6)


@pytest.mark.parametrize("size", [1e8, 1e15])
def test_a_giant_row_takes_no_digits_of_the_others(size: float) -> None:
    x = FAR_X.copy()
    x[7] *= size
    squares = [((z[:, None] - z[None]) ** 2).sum(axis=2) for z in (x.astype(np.longdouble), FAR_Y)]
    found = rs.mutual_knn(x, FAR_Y, metric="euclidean")
    # From the giant row itself, all others may be equally far.
    assert found == pytest.approx(exact_overlap(squares), abs=0.01)
    above = np.triu_indices(60, 1)
    true = scipy.stats.spearmanr(*(d[above].astype(float) for d in squares))[0]
    assert rs.rsa(x, FAR_Y, rdm="euclidean") == pytest.approx(true, abs=1e-3)


def test_groups_too_far_apart_have_no_neighbors() -> None:
    side = 1e9 * np.where(np.arange(60) % 2, 1, -1)[:, None]
    for metric in ("cosine", "euclidean"):
        with pytest.raises(rs.UndefinedError, match="one group at a time"):
            rs.mutual_knn(FAR_X + side, FAR_Y + side, metric=metric)
    one, other = ((x + side)[1::2] for x in (FAR_X, FAR_Y))
    one, other = (x - x.mean(axis=0) for x in (one, other))
    assert 0 < rs.mutual_knn(one, other) < 1


def test_the_remedy_for_lost_digits() -> None:
    far = [moved(x, 1e7, "all").astype(np.float32) for x in (FAR_X, FAR_Y)]
    for measure in (rs.cka, rs.mutual_knn, rs.aligned_cosine):
        with pytest.raises(rs.UndefinedError, match="before the data are stored in float32"):
            measure(*far)
        centered = [moved(x, 1e7, "all") for x in (FAR_X, FAR_Y)]
        centered = [(x - x.mean(axis=0)).astype(np.float32) for x in centered]
        assert math.isfinite(measure(*centered))
    single = [rs.Representation(moved(x, 1e7, "all"), dtype="float32") for x in (FAR_X, FAR_Y)]
    with pytest.raises(rs.UndefinedError, match="or take dtype='float64'"):
        rs.cka(*single)
    double = [rs.Representation(moved(x, 1e7, "all"), dtype="float64") for x in (FAR_X, FAR_Y)]
    assert rs.cka(*double) == pytest.approx(rs.cka(FAR_X, FAR_Y), rel=1e-6)


def test_constant_columns_and_exact_ties_have_lost_nothing() -> None:
    """The digits of one column are its own."""
    wide = [np.c_[x, np.full(60, 1e10)].astype(np.float32) for x in (FAR_X, FAR_Y)]
    assert rs.cka(*wide) == pytest.approx(rs.cka(FAR_X, FAR_Y), rel=1e-5)
    hot = np.eye(6)[np.arange(60) % 6]
    bits = (FAR_X > 0) + 0.0
    for metric in ("cosine", "euclidean"):
        assert rs.mutual_knn(hot, 3 * hot, metric=metric) == 1
        assert rs.mutual_knn(bits, bits[:, ::-1], metric=metric) == pytest.approx(1)


def test_rows_that_vary_by_rounding_are_constant_rows() -> None:
    x, y = (z.astype(np.float32) for z in (FAR_X, FAR_Y))
    saturated, ones = x.copy(), x.copy()
    draws = np.random.default_rng(0).random((20, 6)) < 0.5
    saturated[:20], ones[:20] = np.where(draws, 1, np.float32(1 - 2**-24)), 1
    for kind in (np.float32, np.float64):  # as they are stored
        assert (rs.rdm(saturated.astype(kind))[0, 1] == 1) == (kind is np.float32)
    assert rs.rsa(saturated, y) == rs.rsa(ones, y)
    needed = {
        "replicate": {"replicate": y},
        "anchor_profile": {"replicate": y, "anchors": (30, 31, 40)},
        "feature_split": {},
        "label_conditioned_split": {"labels": np.arange(60) // 5},
    }
    for name, inputs in needed.items():
        statistic = rs.get_statistic(name).with_parameters(rdm="correlation")
        one, other = (statistic(x, **inputs) for x in (saturated, ones))
        assert one == other


# --------------------------------------------------------------------------------------- the check


def likeness(x: np.ndarray, y: np.ndarray) -> float:
    """How alike the distances between rows are, from products, which the offset takes digits of."""
    squares = [(z * z).sum(axis=1)[:, None] + (z * z).sum(axis=1) - 2 * z @ z.T for z in (x, y)]
    a, b = (np.sqrt(np.maximum(square, 0)) for square in squares)
    return float(1 / (1 + np.abs(a - b).mean()))


@declared("Of products", symmetric=True)
def of_products(x: rs.Representation, y: rs.Representation) -> float:
    """Of products: distances in double precision, far from the origin of rounding."""
    return likeness(np.asarray(x.array), np.asarray(y.array))


@declared("Rounded", symmetric=True)
def rounded(x: rs.Representation, y: rs.Representation) -> float:
    """Rounded: numbers of 16 bits, of which those of far samples are equal, and all alike."""
    steps = [2.0 ** (np.floor(np.log2(np.abs(z.array).max())) - 16) for z in (x, y)]
    a, b = (np.round(z.array / step) * step for z, step in zip((x, y), steps))
    return likeness(a - a[:1], b - b[:1])


@declared("Centred", symmetric=True)
def centred(x: rs.Representation, y: rs.Representation) -> float:
    """Centred: what the others should be."""
    return likeness(*(np.asarray(z.array) - np.asarray(z.array)[:1] for z in (x, y)))


@declared("Refused", symmetric=True)
def refused(x: rs.Representation, y: rs.Representation) -> float:
    """Refused: products, but for samples that are far from the origin no value."""
    if np.abs(np.asarray(x.array)).max() > 1e3:
        raise rs.UndefinedError("too far from the origin")
    return of_products.function(x, y)


@pytest.mark.parametrize(
    ("measure", "fault"),
    [
        (of_products, "the value is rounding; centre inside"),
        (rounded, r"1 with 1e\+08; centre inside, or raise rs.UndefinedError"),
        (centred, None),
        (refused, None),
    ],
    ids=str,
)
def test_a_value_of_rounding_is_found(measure: rs.Measure, fault: str | None) -> None:
    _, holds, detail = lost_digits(measure_check_context(measure))
    assert holds is (fault is None)
    assert re.search(fault or "^$", detail)
