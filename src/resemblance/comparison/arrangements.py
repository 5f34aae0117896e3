"""Arrangements of representations: plane embeddings, linkage trees, and curves over layer depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ..base.text import snap_to_bounds
from ..contracts._measure import Measure
from .comparison import Comparison, complete_differences

MIN_REPRESENTATIONS = 3  # fewest representations of a plane embedding or a tree


class PlaneEmbedding(NamedTuple):
    """Points in a plane; distances between points approximate differences between representations.

    ``names``: the representations with a value for all pairs. ``points``: (n, 2). ``share``: the
    share of the differences in the plane, from 0 to 1: the two largest eigenvalues divided by the
    sum of the positive eigenvalues.
    """

    names: tuple[str, ...]
    points: np.ndarray
    share: float


class LinkageTree(NamedTuple):
    """Representations joined by average linkage, the most similar first.

    ``merges``: (n - 1, 4), as by ``scipy.cluster.hierarchy.linkage``. ``order``: the positions of
    the names along the leaves.
    """

    names: tuple[str, ...]
    merges: np.ndarray
    order: tuple[int, ...]


class DepthCurve(NamedTuple):
    """Values by depth: the values of the layers of ``model`` with layers of ``other``.

    ``partners``: the compared layers of ``other``. Missing values are NaN.
    """

    model: str
    other: str
    layers: tuple[str, ...]
    partners: tuple[str, ...]
    values: tuple[float, ...]


def layers_by_model(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions in ``names`` of the layers of each model; the model is the name before
    the last slash.

    Names without a slash belong to the model "".
    """
    models: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        models.setdefault(name.rpartition("/")[0], []).append(i)
    return models


def is_between_models(
    rows: Sequence[str], columns: Sequence[str], reference: str = ""
) -> np.ndarray:
    """Return a mask (n_rows, n_columns) of the pairs that are layers of different models, from the
    names of rows and columns.

    Pairs with the model ``reference`` do not count. No pair counts unless all names are layers of
    several models, ``model/layer``.
    """
    models, column_models = (
        [name.rpartition("/")[0] for name in names] for names in (rows, columns)
    )
    distinct = {*models, *column_models}
    if len(distinct) < 2 or "" in distinct:
        return np.zeros((len(rows), len(columns)), dtype=bool)
    is_copy = np.logical_or.outer(
        [model == reference for model in models], [label == reference for label in column_models]
    )
    return np.not_equal.outer(np.array(models), np.array(column_models)) & ~is_copy


def layer_name(name: str) -> str:
    """Return the name of a layer without the name of its model: the part of ``name`` after the
    last slash."""
    return name.rpartition("/")[2]


def plane_embedding(comparison: Comparison, measure: str | Measure) -> PlaneEmbedding:
    """Return classical multidimensional scaling of the differences between all representations.

    .. math:: B = -\\tfrac12 H D^{\\circ 2} H

    The coordinates are the two leading eigenvectors of B times the square roots of their
    eigenvalues. H is the centring matrix; D contains the differences, averaged over the two
    directions. Axes are signed so that the coordinate farthest from 0 is positive.

    Raises ``ValueError`` for a rectangular comparison, and if fewer than three representations have
    a value for all pairs.
    """
    names, differences = complete_differences(comparison, measure, MIN_REPRESENTATIONS)
    centered = differences**2
    centered = centered - centered.mean(axis=0)
    centered = -(centered - centered.mean(axis=1)[:, None]) / 2
    values, vectors = np.linalg.eigh((centered + centered.T) / 2)
    positive_sum = values[values > 0].sum()
    points = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    points *= np.where(_farthest_coordinates(points) < 0, -1.0, 1.0)
    share = np.maximum(values[-2:], 0).sum() / positive_sum if positive_sum > 0 else 1.0
    return PlaneEmbedding(names, points, float(share))


def linkage_tree(comparison: Comparison, measure: str | Measure) -> LinkageTree:
    """Return the tree of all representations by average linkage of their differences.

    Raises ``ValueError`` for a rectangular comparison, and if fewer than three representations have
    a value for all pairs.
    """
    names, differences = complete_differences(comparison, measure, MIN_REPRESENTATIONS)
    merges = linkage(squareform(differences, checks=False), "average")
    return LinkageTree(names, merges, tuple(leaves_list(merges).tolist()))


def equal_depth_curves(comparison: Comparison, measure: str | Measure) -> tuple[DepthCurve, ...]:
    """Return, for every two models with several layers, the values of the measure for layers of
    equal depth.

    If the models have different numbers of layers, a layer of the first model is compared with the
    layer of the second model at the nearest relative depth: layer k of n with layer round(k (m - 1)
    / (n - 1)) of m, from 0, halves up. Models are the first part of the names ``model/layer``. The
    second model of a pair comes later in the list, or is among the columns of a rectangular
    comparison.
    """
    values = _measure_matrix(comparison, measure)
    curves = []
    for (model, i), (other, j) in _layered_model_pairs(comparison):
        if min(len(i), len(j)) > 1:
            pairs = [(a, j[k]) for a, k in zip(i, nearest_depths(len(i), len(j)))]
            curves.append(_depth_curve(comparison, values, (model, other), pairs))
    return tuple(curves)


def nearest_depths(count: int, n_other: int) -> list[int]:
    """Return, for every k from 0 to ``count`` - 1, the nearest of ``n_other`` depths of the same
    range: round(k (n_other - 1) / (count - 1)), halves up. ``count`` is at least 2."""
    return [(2 * k * (n_other - 1) + count - 1) // (2 * (count - 1)) for k in range(count)]


def single_layers(comparison: Comparison, measure: str | Measure) -> tuple[DepthCurve, ...]:
    """Return, for every two models with a single layer each, the value of the measure for the two
    layers. Names without a model are left out."""
    values = _measure_matrix(comparison, measure)
    return tuple(
        _depth_curve(comparison, values, (model, other), [(i[0], j[0])])
        for (model, i), (other, j) in _layered_model_pairs(comparison)
        if model and other and len(i) == len(j) == 1
    )


def best_matches(comparison: Comparison, measure: str | Measure) -> tuple[DepthCurve, ...]:
    """Return, for every two models, a curve with the most similar layer of the second model for
    every layer of the first model.

    A layer without any value stays in the curve, with the value NaN and the first layer as partner.
    A first model with a single layer has no curve, and two models without any value have none.
    """
    values, differences = _measure_matrix(comparison, measure), comparison.dissimilarity(measure)
    curves = []
    for (model, i), (other, j) in _layered_model_pairs(comparison):
        block = differences[np.ix_(i, j)]
        if len(i) > 1 and not np.isnan(block).all():
            nearest = np.where(np.isnan(block), np.inf, block).argmin(axis=1)
            pairs = [(a, j[k]) for a, k in zip(i, nearest)]
            curves.append(_depth_curve(comparison, values, (model, other), pairs))
    return tuple(curves)


def _measure_matrix(comparison: Comparison, measure: str | Measure) -> np.ndarray:
    info = comparison.info(measure)
    return snap_to_bounds(comparison.values[info.spec], info)


ModelLayers = tuple[str, list[int]]  # name of a model, positions of its layers


def _layered_model_pairs(comparison: Comparison) -> list[tuple[ModelLayers, ModelLayers]]:
    """Return every two different models, each with the positions of its layers: in a square every
    pair once, in a rectangle every model of the rows with every model of the columns, also if the
    two are the same."""
    rows, columns = layers_by_model(comparison.rows), layers_by_model(comparison.columns)
    if comparison.rows != comparison.columns:
        return [(row, column) for row in rows.items() for column in columns.items()]
    models = list(rows.items())
    return [(model, other) for k, model in enumerate(models) for other in models[k + 1 :]]


def _depth_curve(
    comparison: Comparison,
    values: np.ndarray,
    models: tuple[str, str],
    pairs: Sequence[tuple[int, int]],
) -> DepthCurve:
    layers = tuple(layer_name(comparison.rows[i]) for i, _ in pairs)
    partners = tuple(layer_name(comparison.columns[j]) for _, j in pairs)
    return DepthCurve(*models, layers, partners, tuple(float(values[i, j]) for i, j in pairs))


def _farthest_coordinates(points: np.ndarray) -> np.ndarray:
    """Return, for every column of ``points`` (n, k), the entry with the largest magnitude, with its
    sign, (k,)."""
    places = np.abs(points).argmax(axis=0)
    farthest: np.ndarray = points[places, np.arange(points.shape[1])]
    return farthest
