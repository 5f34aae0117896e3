"""Orders of samples under a null hypothesis: permutations that keep what a design keeps, each by
itself, and p-values that can be counted by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from resemblance.significance.orders import Design, design_of

BLOCKS = {
    "in runs": np.repeat(np.arange(6), 3),
    "in turn": np.tile(np.arange(6), 3),
    "scattered": np.random.default_rng(3).permutation(np.repeat(np.arange(6), 3)),
}


def orders(design: Design, draws: int | None = None) -> np.ndarray:
    return np.array([design.order(i) for i in range(draws or design.total)])


# ------------------------------------------------------------------------------------------- orders


@pytest.mark.parametrize(
    "design",
    [
        design_of(18),
        design_of(18, within=[0, 1, 2] * 6),
        design_of(18, within=["a"] * 17 + ["b"]),
        *(design_of(18, whole_blocks=blocks) for blocks in BLOCKS.values()),
        *(design_of(18, whole_blocks=blocks, within=blocks % 2) for blocks in BLOCKS.values()),
    ],
    ids=lambda design: design.words,
)
def test_every_order_is_a_permutation_that_keeps_groups_and_blocks(design):
    for order in orders(design, min(design.total, 50)):
        assert sorted(order) == list(range(18))
        if design.groups is not None:
            assert np.array_equal(design.groups[order], design.groups)
        if design.whole_blocks is not None:
            for block in range(6):
                rows = order[
                    design.whole_blocks == block
                ]  # the rows that come in the place of a block
                assert np.array_equal(
                    rows, np.flatnonzero(design.whole_blocks == design.whole_blocks[rows[0]])
                )


@pytest.mark.parametrize("kept", [{"n": 4}, {"n": 8, "whole_blocks": [0, 0, 1, 1, 2, 2, 3, 3]}])
def test_orders_are_equally_likely(kept):
    """Of 2400 permutations out of 24, each is drawn 100 times, with a deviation of 10."""
    design = design_of(**kept, n_permutations=23)
    counts = Counter(tuple(order) for order in orders(design, 2400))
    assert len(counts) == 24
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 49.7  # 99.9 % of chi2(23)


def test_an_order_depends_on_the_seed_and_not_on_the_number_of_permutations():
    design, more, other = (design_of(30, **o) for o in ({}, {"n_permutations": 5000}, {"seed": 1}))
    assert np.array_equal(design.order(400), more.order(400))
    assert not np.array_equal(design.order(400), other.order(400))


def test_labels_and_blocks_that_restrict_nothing_are_no_design():
    named, free = design_of(6, within=["b", "a"] * 3), design_of(30)
    for labels in (np.array([7, 3] * 3), [True, False] * 3, [7.5, 3] * 3):
        assert design_of(6, within=labels).key == named.key
    for design in (design_of(30, within=["all"] * 30), design_of(30, whole_blocks=range(30))):
        assert (design.is_free, design.key) == (True, free.key)
    assert not design_of(30, within=[0, 1] * 15).is_free
    assert not design_of(30, time_series=True).is_free


def test_the_number_of_orders():
    assert design_of(9).count == math.factorial(9)
    assert design_of(170).count == pytest.approx(math.factorial(170))
    assert design_of(171).count == design_of(2000).count == math.inf
    assert design_of(40, within=np.arange(40) // 2).count == 2**20
    assert (
        design_of(40, whole_blocks=np.arange(40) // 4, within=np.arange(40) // 20).count == 120**2
    )


# --------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("kind", ["within", "whole_blocks"])
@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([0, 1, 0], r"must be one per sample, shape \(4,\); got shape \(3,\)"),
        ([[0], [1], [0], [1]], r"got shape \(4, 1\); give their column"),
        ("abab", r"got shape \(\)"),
        (3, r"got shape \(\)"),
        ({"a": 1}, r"got shape \(\)"),
        ([0, 1, None, 1], "missing"),
        ([0, 1, math.nan, 1], "missing"),
        (["a", "b", math.nan, "b"], "missing"),
        (np.array([0, 1, np.inf, 1]), "missing, NaN or infinite"),
        (np.ma.masked_equal([0, 1, 2, 1], 2), "missing"),
        ([0, "1", 0, "1"], r"several types \(number, str\)"),
    ],
)
def test_labels_that_do_not_fit_are_refused(kind, labels, problem):
    with pytest.raises(ValueError, match=f"evidence: {kind}.*{problem}"):
        design_of(4, **{kind: labels})


HALVES = [0, 0, 0, 1, 1, 1]
SERIES = {"n": 20, "time_series": True}
REFUSED = [
    ({"n": 6, "within": range(6)}, "only one permutation is possible"),
    ({"n": 6, "whole_blocks": ["a"] * 6}, "only one permutation is possible"),
    ({"n": 6, "within": HALVES, "whole_blocks": HALVES}, "only one permutation is possible"),
    ({"n": 0}, "only one permutation is possible: the data have 0 samples"),
    ({"n": 1}, "only one permutation is possible: the data have 1 sample"),
    ({"n": 6, "whole_blocks": [0, 0, 1, 1, 1, 1]}, "got 2, 4 samples; cut .* or give within="),
    ({"n": 6, "whole_blocks": [0, 0, 1, 1, 2, 2], "within": HALVES}, "samples of several groups"),
    *(
        ({"n": 10, "n_permutations": draws, "caller": "plan"}, "plan: n_permutations must be a")
        for draws in (0, -3, 2.5, "9", True, None)
    ),
    *(
        (SERIES | {kind: [0, 1] * 10}, "leave out within= and whole_blocks=")
        for kind in ("within", "whole_blocks")
    ),
    *((SERIES | {"max_shift": s}, "max_shift must be a whole") for s in (0, -1, 1.5, "yes")),
    *((SERIES | {"time_series": no}, "must be True or False") for no in (1, "yes", None)),
    ({"n": 20, "max_shift": 3}, "add time_series=True"),
    (SERIES | {"max_shift": 9}, "shifts of up to 9 steps leave a window of 2 of 20 samples"),
    *((SERIES | {"n": n}, "give more samples") for n in (1, 2, 5)),
]


@pytest.mark.parametrize(("kept", "problem"), REFUSED)
def test_designs_that_cannot_be_are_refused(kept, problem):
    with pytest.raises(ValueError, match=problem):
        design_of(**kept)


def test_designs_at_the_edge_of_what_is_refused():
    labels, sizes = [0, 0, 1, 1, 1, 2, 2, 3, 3, 3], [2, 2, 3, 3, 3, 2, 2, 3, 3, 3]
    assert design_of(10, whole_blocks=labels, within=sizes).count == 4
    assert design_of(6, time_series=True).shifts == 1
    assert design_of(20, time_series=True, max_shift=8).shifts == 8


def test_draws_that_do_not_exist_are_refused():
    series = design_of(20, time_series=True, max_shift=5)
    for design, draw, message in (
        (design_of(4), 24, "draw 24 of 24"),
        (design_of(20), -1, "draw -1 of 999"),
        (series, 0, "a time series has windows"),
    ):
        with pytest.raises((IndexError, ValueError), match=message):
            design.order(draw)
    for design, draw, message in (
        (series, 11, "draw 11 of 10"),
        (design_of(20), 0, "only a time series has windows"),
    ):
        with pytest.raises((IndexError, ValueError), match=message):
            design.windows(draw)


# ------------------------------------------------------------------------------------------- series


def test_windows_of_a_series():
    design = design_of(12, time_series=True, max_shift=3)
    windows = [design.windows(draw) for draw in range(design.total + 1)]
    assert all(x == slice(3, 9) for x, _ in windows)
    assert [y.start - 3 for _, y in windows] == [0, -1, 1, -2, 2, -3, 3]
    assert all(y.stop - y.start == 6 and 0 <= y.start <= y.stop <= 12 for _, y in windows)
    assert design.total == 6
    assert design.attainable == 1 / 4


def test_the_two_sides_of_a_series_count_as_one():
    design = design_of(12, time_series=True, max_shift=3)
    assert design.pvalue(5.0, np.array([1, 2, 3, 4, 0, 1])) == 1 / 4
    assert design.pvalue(5.0, np.array([1, 2, 7, 4, 0, 1])) == 2 / 4
    assert design.pvalue(0.0, np.array([1, 2, 3, 4, 5, 6])) == 1


# ----------------------------------------------------------------------------------------- p-values


def test_pvalues_that_are_counted_by_hand():
    design = design_of(20, n_permutations=9)
    drawn = np.arange(9.0)  # 0 to 8
    assert design.pvalue(9.0, drawn) == 1 / 10
    assert design.pvalue(8.0, drawn) == 2 / 10  # one is equal
    assert design.pvalue(4.5, drawn) == 5 / 10
    assert design.pvalue(-1.0, drawn) == 1
    assert isinstance(design.pvalue(4.5, drawn), float)
    # of all orders of three samples, the first is the value observed
    whole = design_of(3)
    assert whole.pvalue(5.0, np.array([5.0, 1, 2, 3, 4, 0])) == 1 / 6
    assert whole.pvalue(3.0, np.array([3.0, 1, 2, 3, 4, 0])) == 3 / 6
    assert whole.pvalue(0.0, np.array([0.0, 1, 2, 3, 4, 5])) == 1


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_values_that_differ_by_rounding_are_equal_in_any_unit(unit):
    design = design_of(20, n_permutations=4)
    assert design.pvalue(0.3 * unit, unit * np.array([0.1, 0.1 + 0.2, 0.3 - 1e-15, 0.2])) == 3 / 5
    assert design.pvalue(0.3 * unit, unit * np.array([0.1, 0.3 - 1e-9, 0.2, 0.2])) == 1 / 5
    assert design.pvalue(0.0, unit * np.array([-1e-16, -1.0, -2.0, -1.0])) == 2 / 5


def test_missing_and_infinite_values():
    design = design_of(20, n_permutations=4)
    assert design.pvalue(9.0, np.array([np.nan, 1, 2, np.nan])) == 3 / 5
    assert design.pvalue(9.0, np.full(4, np.nan)) == 1
    assert math.isnan(design.pvalue(math.nan, np.arange(4.0)))
    assert design.pvalue(math.inf, np.array([1e300, 1, np.inf, 2])) == 2 / 5
    assert design.pvalue(-math.inf, np.array([-1e300, -np.inf, 1, 2])) == 1
    assert design.pvalue(9.0, np.array([-np.inf, 1, np.inf, 2])) == 2 / 5
    assert design.pvalue(9.0, np.array([1e15, 1, 2, 3])) == 2 / 5  # an outlier makes no ties


@pytest.mark.parametrize(
    "design",
    [
        design_of(20, n_permutations=19),
        design_of(4),
        design_of(2),
        design_of(8, within=[0, 0, 0, 1, 1, 1, 1, 1]),
        design_of(12, whole_blocks=np.arange(12) // 4),
        design_of(40, time_series=True),
        design_of(40, time_series=True, max_shift=2),
    ],
    ids=lambda design: design.words,
)
def test_the_smallest_pvalue_is_attainable_and_none_is_smaller(design):
    lower = np.zeros(design.total)
    assert design.pvalue(1.0, lower) == design.attainable
    for reached in range(design.total + 1):
        drawn = np.where(np.arange(design.total) < reached, 2.0, 0.0)
        assert design.attainable <= design.pvalue(1.0, drawn) <= 1
