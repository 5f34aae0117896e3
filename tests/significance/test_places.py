"""Places of measures: closed forms, what no number may depend on, ties, and how often intervals
hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm, t

from resemblance.significance import SETTLING, places

NAN = float("nan")


def cells_of(table, names="abcdefghijklmnop"):
    """Cells with these ranks, (cells, measures)."""
    return {i: dict(zip(names, map(float, row))) for i, row in enumerate(np.asarray(table))}


def random_ranks(cells, measures, seed=0):
    g = np.random.default_rng(seed)
    scores = g.normal(size=(cells, measures)) - 0.4 * np.arange(measures)
    return 1.0 + np.argsort(np.argsort(-scores, axis=1), axis=1)


# --------------------------------------------------------------------------------- closed forms


def test_the_interval_of_two_measures_is_that_of_student():
    """One pair borrows from itself, so its interval is that of a t-test, with more degrees of
    freedom; the sample of cells gives the quantile of the normal distribution."""
    gaps = np.random.default_rng(3).normal(0.3, 1.0, 60)
    found = places({"g": cells_of(np.stack([0 * gaps, gaps], axis=1))}, n_resamples=20_000)
    low, high = found.rows[1].simultaneous
    half = t.isf(0.025, 59 + 4) * gaps.std(ddof=1) / np.sqrt(60)
    assert (low + high) / 2 == pytest.approx(gaps.mean())
    assert (high - low) / 2 == pytest.approx(half, rel=0.03)


def test_variances_are_those_within_strata():
    """Two strata of 20 cells, in which the gap is around 0 and around 10: only its spread inside
    them counts."""
    g = np.random.default_rng(0)
    gaps = np.r_[g.normal(0, 1, 20), g.normal(10, 1, 20)]
    cells = cells_of(np.stack([0 * gaps, gaps], axis=1))
    strata = {i: "one" if i < 20 else "two" for i in cells}
    apart = places({"g": cells}, strata={"g": strata}, n_resamples=20_000).rows[1]
    free = places({"g": cells}, n_resamples=20_000).rows[1]
    inside = np.sqrt((gaps[:20].var(ddof=1) + gaps[20:].var(ddof=1)) / 20 / 4)
    expected = 2 * t.isf(0.025, 38 + 4) * inside
    assert np.ptp(apart.simultaneous) == pytest.approx(expected, rel=0.03)
    assert apart.high - apart.low == pytest.approx(2 * norm.isf(0.025) * inside, rel=0.08)
    assert np.ptp(free.simultaneous) > 4 * expected


def test_variances_of_groups_add_up():
    """The interval of a mean over groups is that of Welch and Satterthwaite."""
    gaps = np.random.default_rng(2).normal(size=(2, 10))
    groups = {str(i): cells_of(np.stack([0 * of, of], axis=1)) for i, of in enumerate(gaps)}
    low, high = places(groups, n_resamples=20_000).differences["b", "a"]
    parts = gaps.var(axis=1, ddof=1) / 10 / 4
    freedom = parts.sum() ** 2 / (parts**2 / 9).sum()
    expected = t.isf(0.025, freedom + 4) * np.sqrt(parts.sum())
    assert (high - low) / 2 == pytest.approx(expected, rel=0.02)


def test_strata_of_two_cells_vary_as_much_as_they_should():
    """Samples of two cells vary half as much as other cells would, which is made up for."""
    gaps = np.random.default_rng(2).normal(size=(30, 2)) + 10 * np.arange(30)[:, None]
    cells = cells_of(np.stack([0 * gaps.ravel(), gaps.ravel()], axis=1))
    strata = {"g": {i: f"{i // 2}" for i in cells}}
    low, high = places({"g": cells}, strata=strata, n_resamples=20_000).differences["b", "a"]
    parts = gaps.var(axis=1, ddof=1) * 2 / 60**2
    freedom = parts.sum() ** 2 / (parts**2).sum()
    expected = t.isf(0.025, freedom + 4) * np.sqrt(parts.sum())
    assert (high - low) / 2 == pytest.approx(expected, rel=0.05)


def test_a_gap_that_is_the_same_everywhere_borrows_a_spread():
    noise = np.random.default_rng(0).normal(size=30)
    found = places({"g": cells_of(np.stack([0 * noise, 0 * noise + 1, noise], axis=1))})
    low, high = found.differences["b", "a"]
    assert 0 < low < 1 < high


# ------------------------------------------------------------------------ what nothing depends on


@pytest.mark.parametrize("is_complete", [True, False])
def test_no_number_depends_on_the_order_of_cells_and_measures_or_on_names_of_cells(is_complete):
    table = random_ranks(23, 5)
    if not is_complete:
        table[np.random.default_rng(1).random(table.shape) < 0.1] = NAN
    cells = cells_of(table)
    strata = {i: f"models {i % 4}" for i in cells}
    found = places({"g": cells}, strata={"g": strata})
    order = np.random.default_rng(2).permutation(23).tolist()
    other = {("cell", i): dict(reversed(cells[i].items())) for i in order}
    again = places({"g": other}, strata={"g": {("cell", i): strata[i] for i in order}})
    assert found == again
    assert len({p.simultaneous for p in found.rows}) == 5


# ----------------------------------------------------------------------------------------- strata


def test_single_cells_share_a_stratum_and_a_lone_one_joins_the_smallest():
    cells = cells_of(random_ranks(12, 3))
    single = places({"g": cells}, strata={"g": {i: f"{i}" for i in cells}})
    assert single.rows[1].low < single.rows[1].mean < single.rows[1].high
    lone = {i: "large" if i < 7 else "small" if i < 11 else "lone" for i in cells}
    joined = {i: "large" if i < 7 else "small" for i in cells}
    first, second = (places({"g": cells}, strata={"g": s}) for s in (lone, joined))
    assert first == second


def test_a_group_of_few_cells_has_ranks_but_decides_nothing():
    many, few = cells_of(random_ranks(30, 2)), cells_of([[2, 1]] * (SETTLING - 1))
    both, alone = places({"x": many, "y": few}), places({"x": many})
    assert (both.rows, both.differences, both.cells) == (alone.rows, alone.differences, 30)
    assert (both.by_group["y"], both.few) == ({"a": 2.0, "b": 1.0}, ("y",))
    assert both.leader_without("y") == (alone.rows[0].measure,)
    assert both.leader_without("x") == ()
    third = {"x": many, "y": few, "z": cells_of([[1, 2]] * SETTLING)}
    assert places(third).leader_without("x") == ("a",)


def test_where_all_groups_have_few_cells_nothing_is_told_apart():
    few = cells_of([[1, 2]] * (SETTLING - 1))
    found = places({"x": few, "y": few})
    assert (found.is_settling, found.few) == (False, ("x", "y"))
    assert all(place.is_tied for place in found.rows)


def test_strata_must_fit():
    cells = cells_of(random_ranks(6, 2))
    with pytest.raises(ValueError, match=r"strata of 'other'; groups: g"):
        places({"g": cells}, strata={"other": {}})
    with pytest.raises(ValueError, match=r"strata of 'g' lack the cell 5"):
        places({"g": cells}, strata={"g": dict.fromkeys(range(5), "m")})


# ------------------------------------------------------------------------------------------- ties


def test_tie_groups_are_the_largest_runs_of_measures_that_are_all_tied():
    """a and b change places, and so do c and d; between them is a gap."""
    table = [[1, 2, 5, 6], [2, 1, 6, 5]] * 10
    found = places({"g": cells_of(table)})
    assert [p.measure for p in found.rows] == ["a", "b", "c", "d"]
    assert found.groups == (("a", "b"), ("c", "d"))
    assert found.tied_with("a") == ("b",)
    assert found.tied_with("d") == ("c",)
    assert [p.is_tied for p in found.rows] == [True, True, False, False]
    with pytest.raises(ValueError, match="no place for 'z'; there are a, b, c, d"):
        found.tied_with("z")


def test_equal_measures_are_tied():
    found = places({"g": cells_of([[1, 1, 3]] * 8)})
    assert found.groups == (("a", "b"), ("c",))
    assert [(place.best, place.worst) for place in found.rows] == [(1, 2), (1, 2), (3, 3)]
    assert found.rows[1].simultaneous == (0.0, 0.0)
    assert found.before["a", "b"] == found.before["b", "a"] == 0.5


def test_few_cells_tie_all():
    """Five cells of one order are no evidence at 5 %, 2 / 2^5, and six are."""
    found = places({"g": cells_of([[1, 2, 3]] * 5)})
    assert found.groups == (("a", "b", "c"),)
    assert np.isnan(found.rows[2].simultaneous).all()
    assert not places({"g": cells_of([[1, 2, 3]] * 6)}).rows[2].is_tied


def test_a_measure_of_few_ranks_is_tied_and_widens_no_other_interval():
    table = random_ranks(40, 4).astype(float)
    cells = cells_of(table[:, :3])
    few = {i: {**r, "z": table[i, 3]} if i < 4 else r for i, r in cells.items()}
    found = places({"g": few})
    assert found.tied_with("z") == tuple(p.measure for p in found.rows if p.measure != "z")
    assert found.differences["b", "a"] == places({"g": cells}).differences["b", "a"]


def test_one_measure_and_none():
    (row,) = places({"g": cells_of([[1]] * 8)}).rows
    assert (row.mean, row.is_tied, row.simultaneous) == (1, True, (0, 0))
    assert places({"g": cells_of([[1]] * 8)}).groups == (("a",),)
    assert places({"g": {0: {"a": NAN}}}).rows == ()
    assert places({}, strata={}).groups == ()


def test_a_place_is_as_wide_as_its_ties():
    noise = np.random.default_rng(0).normal(size=(40, 9))
    found = places({"g": cells_of(np.arange(9) + 4 * noise)})
    for place in found.rows:
        assert place.worst - place.best == len(found.tied_with(place.measure))
        assert place.best <= place.position <= place.worst
        assert place.is_tied == (place.best == 1)
    assert {place.worst - place.best for place in found.rows} > {2}


# --------------------------------------------------------------------------------------- coverage


def test_few_cells_of_a_group_do_not_make_places_too_narrow():
    """Six equal measures in a group of 30 cells and in one of three: none is ahead of another."""
    g, misled, sets = np.random.default_rng(7), 0, 100
    for _ in range(sets):
        groups = {n: cells_of(g.normal(size=(n, 6)).argsort(axis=1)) for n in (30, 3)}
        misled += any(p.best > 1 for p in places(groups, n_resamples=400).rows)
    assert misled <= binom.isf(1e-3, sets, 0.05)


def test_all_differences_are_inside_their_intervals_together():
    """Six measures of which two at a time are equal, in five sets of models with eight cells each:
    the truth of these models, by the normal distribution."""
    g, held, misled, sets = np.random.default_rng(5), 0, 0, 120
    for _ in range(sets):
        levels = np.repeat([0.0, 0.4, 0.8], 2) + g.normal(0, 0.5, size=(5, 6))
        scores = levels[:, None] + g.normal(size=(5, 8, 6))
        ranks = 1 + (scores[..., None, :] > scores[..., None]).sum(axis=-1)
        ahead = norm.cdf((levels[:, None, :] - levels[:, :, None]) / np.sqrt(2))
        truth = dict(zip("abcdef", 0.5 + ahead.sum(axis=2).mean(axis=0)))
        cells = cells_of(ranks.reshape(40, 6))
        strata = {"g": {i: f"{i // 8}" for i in cells}}
        found = places({"g": cells}, strata=strata, n_resamples=400).differences
        held += all(low <= truth[a] - truth[b] <= high for (a, b), (low, high) in found.items())
        misled += any(low > 0 and truth[a] <= truth[b] for (a, b), (low, high) in found.items())
    assert binom.ppf(1e-3, sets, 0.92) <= held <= binom.isf(1e-3, sets, 0.98)
    assert misled <= binom.isf(1e-3, sets, 0.05)
