"""Neighbours that a change loses: exactly those of a search among all samples, with all digits; and
rows that are in another order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from factories.versions import CHANGES, PURPOSES, anisotropic, by_kind, by_name, orthogonal, strict

import resemblance as rs
from resemblance.versions.retrieval import (
    column_medians,
    find_nearest_rows,
    lost_neighbor_share,
    same_rows,
    version_rows,
)


def nearest(points: np.ndarray, rows: np.ndarray, k: int) -> list[set[int]]:
    far = ((points[:, None] - rows) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    return [set(row) for row in np.argsort(far, axis=1)[:, :k]]


def lost_shares(x: np.ndarray, y: np.ndarray, k: int) -> list[float]:
    """Of all samples: when everything is embedded again, and of new queries on old vectors."""
    true, again, old = (nearest(p, rows, k) for p, rows in ((x, x), (y, y), (y, x)))
    return [1 - np.mean([len(a & b) for a, b in zip(true, other)]) / k for other in (again, old)]


def test_neighbors_are_those_among_all_samples_however_few_are_drawn():
    g = np.random.default_rng(0)
    x = g.standard_normal((2000, 8)) + 5
    y = x @ (np.eye(8) + 0.1 * g.standard_normal((8, 8))) + 0.1 * g.standard_normal(x.shape)
    found = strict(x, y, max_samples=300)
    settings = [found.settings[name] for name in ("samples", "used", "queries")]
    assert settings == [2000, 300, 300]
    lost, values = lost_shares(x, y, 10), by_name(found)
    for name, share in zip(("neighbours", "old_index"), lost):
        assert values[name].value == pytest.approx(share, abs=0.03)
        assert values[name].low < values[name].value < values[name].high
    among_drawn = strict(x[:300], y[:300])
    assert by_name(among_drawn)["neighbours"].value < lost[0] - 0.05  # thinned out
    assert "300 queries among 2,000 samples" in by_kind(found)["neighbours"].sentence


@pytest.mark.parametrize("k", [1, 40])
def test_every_query_is_counted_when_all_samples_are_used(k, pair):
    x, _, g = pair
    y = x + 0.2 * x.std() * g.standard_normal(x.shape)
    by = {d.name: d.value for d in strict(x, y, k=k).drifts}
    expected = pytest.approx(lost_shares(x, y, k), abs=1e-12)
    assert [by["neighbours"], by["old_index"]] == expected


def test_duplicates_and_ties_are_no_losses():
    g = np.random.default_rng(0)
    x = g.integers(0, 2, (300, 6)).astype(float)
    by = by_name(strict(x, x @ orthogonal(6, g) + 1))
    assert by["neighbours"].value == 0
    assert by["old_index"].value > 0.1


def test_a_neighbor_that_rounding_puts_farther_is_not_lost():
    """0.4 is as far from 0.1 as from 0.7, but 0.4 - 0.1 > 0.7 - 0.4 in double precision."""
    first = np.zeros((1, 1), int)
    for other, expected in ((0.1, 0), (0.0999, 1)):
        rows = np.array([[0.7], [other]])
        lost = lost_neighbor_share(np.array([[0.4]]), first, first + 1, rows.__getitem__)
        assert lost == expected


def exactly_lost(points: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The loss of neighbours of new points among old rows, in fractions."""
    exact = np.vectorize(Fraction, otypes=[object])

    def far(rows: np.ndarray) -> np.ndarray:
        return ((exact(rows)[None] - exact(points)[:, None]) ** 2).sum(axis=2)

    true, hits = far(new), np.argsort(far(old), axis=1)[:, :10]
    limit = np.sort(true, axis=1)[:, 9:10]
    return (np.take_along_axis(true, hits, axis=1) > limit).mean(axis=1)


ROWS = 120


def at(offset: float, columns: slice, rows: slice = slice(None)) -> np.ndarray:
    far = np.zeros((ROWS, 8))
    far[rows, columns] = offset
    return far


FAR = {
    **{f"{c:g} in all columns": (at(c, slice(None)), 1.0) for c in (0.0, 1e7, 1e10)},
    **{f"{c:g} in one column": (at(c, slice(0, 1)), 1.0) for c in (1e7, 1e12)},
    "half of the rows at 1e7": (at(1e7, slice(2, 3), slice(0, None, 2)), 1.0),
    "few rows at 1e10": (at(1e10, slice(2, 3), slice(0, 30)), 1.0),
    **{f"a row at {c:g}": (at(c, slice(None), slice(70, 71)), 1.0) for c in (1e12, 1e30)},
    **{f"in units of {c:g}": (at(0, slice(0)), c) for c in (1e-290, 1e140)},
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
    nobody, some = np.full(6, -1), np.arange(0, ROWS, 20)
    near, hits = (
        find_nearest_rows(new[some], nobody, [(0, v[:80]), (80, v[80:])], column_medians(v), 10)
        for v in (new, old)
    )
    found = lost_neighbor_share(new[some], near, hits, new.__getitem__)
    assert found.tolist() == exactly_lost(new[some], old, new).tolist()


# -------------------------------------------------------------------- beyond what a map does


def test_a_loss_that_the_map_explains_is_not_called_none(pair):
    x, _, g = pair
    found = strict(x, x @ anisotropic(6, g))
    neighbors = by_kind(found)["neighbours"]
    assert found.changes == ("linear",)
    assert neighbors.amount > 0.2
    assert neighbors.explained
    assert neighbors.exceeds_threshold
    same = by_kind(strict(x, x))["neighbours"]
    assert (same.amount, same.explained) == (0, False)


# -------------------------------------------------------------------------------- order of the rows


def test_rows_in_another_order_are_named_as_that(subtests):
    changes = {
        "exactly": lambda x, g: x,
        "in half precision": lambda x, g: x.astype("f2"),
        "with noise": lambda x, g: x + 1e-3 * g.standard_normal(x.shape),
    }
    for (change, make), share in zip(changes.items(), [1.0, 0.3, 1.0]):
        with subtests.test(f"{change}, {share}"):
            g = np.random.default_rng(0)
            x = g.standard_normal((400, 12))
            rows = np.arange(400)
            moved = g.permutation(400)[: int(share * 400)]
            rows[np.sort(moved)] = moved
            found = strict(x, make(x[rows], g))
            same = "the same rows" if change == "exactly" else "nearly the same rows"
            assert f"holds {same} in another order" in found.conclusion
            assert found.drifted
            assert "pair the samples" in found.conclusion
            shifted = (rows != np.arange(400)).mean()
            assert found.reordered.share == pytest.approx(shifted, abs=0.01)
            assert found.reordered.exactly == (change == "exactly")


@pytest.mark.parametrize("purpose", PURPOSES)
def test_two_rows_that_changed_places_are_drift_though_no_average_is_above_its_threshold(purpose):
    x = np.random.default_rng(0).standard_normal((400, 12))
    rows = np.arange(400)
    rows[[3, 7]] = 7, 3
    found = strict(x, x[rows], purpose=purpose)
    assert not any(d.exceeds_threshold for d in found.drifts)
    assert found.drifted
    assert found.conclusion.startswith("Drift for")


def test_copies_of_other_rows_are_not_taken_for_another_order():
    x = np.random.default_rng(0).standard_normal((400, 12))
    y = x.copy()
    y[20:40] = x[:20]
    found = strict(x, y)
    assert found.drifted
    assert found.reordered is None


def test_rows_of_0_are_the_same_with_either_sign():
    z = np.zeros((2, 1))
    assert same_rows(*(version_rows(rs.Representation(a)) for a in (z, -z)))


def test_other_changes_are_not_taken_for_another_order(pair):
    x, labels, g = pair
    for make, _ in (change for name, change in CHANGES.items() if name != "shuffled"):
        assert strict(x, make(x, labels, g)).reordered is None
    line = g.standard_normal((200, 1))
    assert strict(line, -line, k=40).reordered is None
    assert strict(x, g.standard_normal(x.shape)).reordered is None


def test_classes_of_other_inputs_are_not_the_same_rows_in_another_order():
    g = np.random.default_rng(0)
    x, y = (np.eye(24)[g.integers(0, 24, 400)] for _ in "xy")
    assert strict(x, y).reordered is None
    assert strict(x, x[g.permutation(400)]).reordered.exactly
