"""Cross-barcodes against Ripser, GUDHI and a boundary matrix reduced in plain Python, and what must
not change them."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, squareform

import resemblance as rs
from resemblance import Representation
from resemblance import intermediates as intermediates
from resemblance.intermediates import _cone, cross_barcode
from resemblance.intermediates.cross_barcode import SortedEdges, bar_length_totals, enclosing_radius
from resemblance.intermediates.samples import normalized_distances, sorted_edges, subset_draws


def edges(w1, w2):
    """The number of points, and what a cross-barcode needs of two matrices of distances."""
    above = [squareform(w, checks=False) for w in (w1, w2)]
    return len(w1), *(SortedEdges(lengths, enclosing_radius(lengths)) for lengths in above)


def cross_barcodes(w1, w2):
    return cross_barcode.cross_barcodes(*edges(w1, w2))


def cross_barcode_totals(w1, w2):
    return bar_length_totals(*edges(w1, w2))


# ------------------------------------------------------------------------------- kinds of distances


def euclidean(rng, n):
    return cdist(*[rng.standard_normal((n, 3))] * 2)


def lattice(rng, n):
    """Many ties and, with more points than places, duplicates."""
    return cdist(*[rng.integers(0, 3, (n, 2)).astype(float)] * 2)


def duplicates(rng, n):
    return cdist(
        *[rng.standard_normal((max(1, n // 2), 2))[rng.integers(0, max(1, n // 2), n)]] * 2
    )


def clusters(rng, n):
    return cdist(
        *[
            5 * rng.standard_normal((4, 3))[rng.integers(0, 4, n)]
            + 0.2 * rng.standard_normal((n, 3))
        ]
        * 2
    )


def circle(rng, n):
    angle = 2 * np.pi * rng.random(n)
    return cdist(
        *[np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((n, 2))] * 2
    )


def arbitrary(rng, n):
    """No triangle inequality."""
    return squareform(rng.random(n * (n - 1) // 2), checks=False) if n > 1 else np.zeros((1, 1))


def integers(rng, n):
    """Neither a triangle inequality nor distinct values."""
    return np.floor(4 * arbitrary(rng, n))


KINDS = [euclidean, lattice, duplicates, clusters, circle, arbitrary, integers]


def two(kind, n, seed=0):
    rng = np.random.default_rng([seed, n])
    return kind(rng, n), kind(rng, n)


# ---------------------------------------------------------------------- independent implementations


def doubled(w, m):
    """Distances of the 2n points whose Vietoris-Rips complex Barannikov et al. take instead of the
    cone."""
    return np.block([[np.zeros_like(w), w], [w, m]])


def sorted_bars(bars):
    bars = np.asarray(bars, dtype=np.float64).reshape(-1, 2)
    bars = bars[bars[:, 0] < bars[:, 1]]
    return bars[np.lexsort((bars[:, 1], bars[:, 0]))]


def gudhi_bars(w, m):
    module = pytest.importorskip("gudhi.sklearn.rips_persistence")
    transformer = module.RipsPersistence(homology_dimensions=1, input_type="full distance matrix")
    return sorted_bars(transformer.fit_transform([doubled(w, m)])[0])


def ripser_total(w, m):
    ripser = pytest.importorskip("ripser")
    bars = ripser.ripser(doubled(w, m), distance_matrix=True, maxdim=1)["dgms"][1].astype(
        np.float64
    )
    return (bars[:, 1] - bars[:, 0]).sum()


def cone_simplices(w, m):
    """(value, simplex) of the cone up to dimension 2, faces before cofaces; the apex is point n."""
    n = len(w)
    simplices = [(0.0, (v,)) for v in range(n + 1)] + [(0.0, (v, n)) for v in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        simplices += [(m[i, j], (i, j)), (w[i, j], (i, j, n))]
    for i, j, k in itertools.combinations(range(n), 3):
        simplices.append((max(m[i, j], m[i, k], m[j, k]), (i, j, k)))
    return sorted(simplices, key=lambda entry: (entry[0], len(entry[1]), entry[1]))


def textbook_bars(w, m):
    """Bars of H1 by the reduction of the boundary matrix, column by column, modulo 2."""
    simplices = cone_simplices(w, m)
    position = {simplex: k for k, (_, simplex) in enumerate(simplices)}
    reduced, bars, cycles = {}, [], set()
    for k, (value, simplex) in enumerate(simplices):
        column = {
            position[face] for face in itertools.combinations(simplex, len(simplex) - 1) if face
        }
        while column and max(column) in reduced:
            column ^= reduced[max(column)]
        if column:
            reduced[max(column)] = column
        if not column and len(simplex) == 2:
            cycles.add(k)
        if column and len(simplex) == 3:
            cycles.remove(max(column))
            bars.append((simplices[max(column)][0], value))
    assert not cycles, "an infinite bar"
    return sorted_bars(bars)


def test_bars_equal_textbook_reduction(subtests):
    for n in [1, 2, 3, 4, 5, 8, 12]:
        for kind in KINDS:
            with subtests.test(f"{n}, {kind}"):
                w1, w2 = two(kind, n)
                m = np.minimum(w1, w2)
                for bars, w in zip(cross_barcodes(w1, w2), (w1, w2)):
                    assert np.array_equal(bars, textbook_bars(w, m))


def test_bars_equal_gudhi(subtests):
    for n in [2, 7, 20, 33, 60]:
        for kind in KINDS:
            with subtests.test(f"{n}, {kind}"):
                w1, w2 = two(kind, n)
                m = np.minimum(w1, w2)
                for bars, total, w in zip(
                    cross_barcodes(w1, w2), cross_barcode_totals(w1, w2), (w1, w2)
                ):
                    expected = gudhi_bars(w, m)
                    assert np.array_equal(bars, expected)
                    assert total == pytest.approx(
                        (expected[:, 1] - expected[:, 0]).sum(), rel=1e-9, abs=1e-12
                    )


def test_totals_equal_ripser(subtests):
    for kind, n in [(kind, n) for kind in KINDS for n in (6, 25, 60)] + [(clusters, 150)]:
        with subtests.test(f"{kind.__name__}, {n}"):
            w1, w2 = two(kind, n, seed=1)
            m = np.minimum(w1, w2)
            expected = [ripser_total(w, m) for w in (w1, w2)]  # in float32
            assert cross_barcode_totals(w1, w2) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_different_kinds_equal_gudhi():
    rng = np.random.default_rng(2)
    w1, w2 = circle(rng, 70), clusters(rng, 70) / 5
    m = np.minimum(w1, w2)
    for bars, w in zip(cross_barcodes(w1, w2), (w1, w2)):
        assert np.array_equal(bars, gudhi_bars(w, m))


# ------------------------------------------------------------- each pair by itself, to the last bit


def plain_bars(w1, w2):
    """Bars of both directions with nothing remembered: every pair sorts its own edges."""
    n = len(w1)
    first, second = np.triu_indices(n, 1)
    both = [np.maximum(w, w.T) for w in (w1, w2)]
    radii = [w.max(axis=1).min() for w in both]
    a, b = (w[first, second] for w in both)
    m = np.minimum(a, b)
    order = np.argsort(m, kind="stable")
    order = order[m[order] <= max(radii)]
    edges = _cone.Edges(first[order].astype(np.int32), second[order].astype(np.int32))
    starts = np.empty(len(order) + 1, dtype=np.int64)
    links = _cone.Links(starts, _cone.link_components(n, edges, starts))
    m = m[order]
    for w, radius in zip((a[order], b[order]), radii):
        chosen = np.flatnonzero((w > m) & (w <= radius))
        by_w = chosen[np.argsort(w[chosen], kind="stable")]
        size = int((m <= radius).sum())
        yield sorted_bars(_cone.barcode(n, edges, links, m[:size], w[:size], by_w))


def test_bars_equal_those_of_every_pair_by_itself(subtests):
    for n in [2, 3, 30, 130]:
        for kind in KINDS:
            with subtests.test(f"{n}, {kind}"):
                w1, w2 = two(kind, n, seed=3)
                for bars, expected in zip(cross_barcodes(w1, w2), plain_bars(w1, w2)):
                    assert np.array_equal(bars, expected)


def data(kind, n):
    """Three representations of n samples."""
    arrays = np.random.default_rng([4, n]).standard_normal((3, n, 5))
    arrays[1:] += arrays[0]
    return {
        "normal": arrays,
        "single precision": arrays.astype(np.float32),
        "ties": np.round(arrays),
        "duplicates": arrays[:, np.arange(n) // 2],
        "few places": np.round(arrays[:, :, :2]),
    }[kind]


def test_rtd_equals_that_of_every_pair_by_itself(subtests):
    for kind in ["normal", "single precision", "ties", "duplicates", "few places"]:
        for n in [12, 60, 90]:
            with subtests.test(f"{kind}, {n}"):
                m, reps = (
                    rs.rtd.with_parameters(subsample=60, repeats=2),
                    [Representation(x) for x in data(kind, n)],
                )
                for x, y in itertools.permutations(reps, 2):
                    totals = []
                    for draw in subset_draws(n, 60, 2, 0):
                        matrices = [normalized_distances(r, draw) for r in (x, y)]
                        totals.append(
                            [math.fsum(bars[:, 1] - bars[:, 0]) for bars in plain_bars(*matrices)]
                        )
                    xy, yx = np.mean(totals, axis=0)
                    assert m.evaluate(x, y) == float((xy + yx) / 2)
                    assert m.with_parameters(direction="first").evaluate(x, y) == float(xy)


def test_distances_are_sorted_once_per_representation_and_subset():
    reps = [Representation(x) for x in data("normal", 90)]
    m = rs.rtd.with_parameters(subsample=60, repeats=2)
    m.evaluate(reps[0], reps[1])
    drawn = subset_draws(90, 60, 2, 0)
    before = [sorted_edges(reps[0], draw).order for draw in drawn]
    cached_before = set(reps[0].cache)
    m.evaluate(reps[2], reps[0])
    assert all(sorted_edges(reps[0], d).order is o for d, o in zip(drawn, before))
    assert set(reps[0].cache) == cached_before


# ------------------------------------------------------------------------------------- closed forms


def test_two_points_merge_later():
    near, far = 1 - np.eye(2), 3 * (1 - np.eye(2))
    bars_near, bars_far = cross_barcodes(near, far)
    assert bars_near.shape == (0, 2)
    assert np.array_equal(bars_far, [[1.0, 3.0]])


def test_a_square_loses_its_loop():
    """At side 1 and diagonal 2 the loop lives from 1 to 2; where all distances are 2, three merges
    are late as well."""
    square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=float)
    flat = 2 * (1 - np.eye(4))
    assert cross_barcode_totals(square, flat) == (0.0, 4.0)


def test_all_distances_zero(subtests):
    for n in [1, 2, 3, 10, 70]:
        with subtests.test(str(n)):
            assert cross_barcode_totals(np.zeros((n, n)), np.zeros((n, n))) == (0.0, 0.0)


# --------------------------------------------------------------------------------------- properties


@st.composite
def distances(draw, n=None):
    n = draw(st.integers(1, 14)) if n is None else n
    values = draw(st.sampled_from([st.integers(0, 3).map(float), st.floats(0, 8, width=32)]))
    size = n * (n - 1) // 2
    flat = np.array(draw(st.lists(values, min_size=size, max_size=size)))
    result = np.zeros((n, n))
    result[np.triu_indices(n, 1)] = flat
    return result + result.T


@st.composite
def pairs(draw):
    first = draw(distances())
    return first, draw(distances(n=len(first)))


quickly = settings(max_examples=60, deadline=None)


@quickly
@given(pairs())
def test_property_bars_equal_textbook_reduction(pair):
    m = np.minimum(*pair)
    for bars, w in zip(cross_barcodes(*pair), pair):
        assert np.array_equal(bars, textbook_bars(w, m))


@quickly
@given(distances())
def test_identical_distances_have_no_bars(w):
    assert cross_barcode_totals(w, w) == (0.0, 0.0)


@quickly
@given(pairs())
def test_swapping_the_arguments_swaps_the_results(pair):
    assert cross_barcode_totals(*pair) == cross_barcode_totals(*pair[::-1])[::-1]


@quickly
@given(pairs(), st.randoms(use_true_random=False))
def test_order_of_points_is_irrelevant(pair, random):
    order = list(range(len(pair[0])))
    random.shuffle(order)
    assert cross_barcode_totals(*(w[np.ix_(order, order)] for w in pair)) == cross_barcode_totals(
        *pair
    )


@quickly
@given(pairs(), st.floats(1e-3, 1e3))
def test_scales_with_the_distances(pair, scale):
    expected = [scale * total for total in cross_barcode_totals(*pair)]
    assert cross_barcode_totals(*(scale * w for w in pair)) == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )


@quickly
@given(pairs())
def test_powers_of_two_scale_exactly(pair):
    expected = tuple(total / 1024 for total in cross_barcode_totals(*pair))
    assert cross_barcode_totals(*(w / 1024 for w in pair)) == pytest.approx(expected, rel=0, abs=0)


@quickly
@given(pairs())
def test_the_smaller_distances_have_no_bars(pair):
    """Where w <= w', the inclusion of VR(w) is the identity and its cone is contractible."""
    smaller = np.minimum(*pair)
    assert cross_barcode_totals(smaller, pair[0])[0] == 0.0


@quickly
@given(pairs())
def test_at_least_the_difference_of_spanning_trees(pair):
    """By the long exact sequence of the cone, this is the part of the total that comes from
    components."""
    w1, w2 = (w + 1 - np.eye(len(w)) for w in pair)  # a sparse graph takes zero for "no edge"
    shortest = minimum_spanning_tree(np.minimum(w1, w2)).sum()
    for total, w in zip(cross_barcode_totals(w1, w2), (w1, w2)):
        assert total >= minimum_spanning_tree(w).sum() - shortest - 1e-9


def test_inputs_are_left_alone(subtests):
    for kind in KINDS:
        with subtests.test(str(kind)):
            w1, w2 = two(kind, 20)
            before = w1.copy(), w2.copy()
            expected = cross_barcode_totals(w1, w2)
            w1.flags.writeable = w2.flags.writeable = False
            assert cross_barcode_totals(w1, w2) == expected
            assert np.array_equal(w1, before[0])
            assert np.array_equal(w2, before[1])
            assert (
                cross_barcode_totals(np.asfortranarray(w1), np.repeat(w2, 2, axis=0)[::2])
                == expected
            )
            assert min(expected) >= 0


def test_threads_do_not_disturb_each_other():
    cases = [two(kind, 40, seed=s) for kind in KINDS for s in range(4)]
    expected = [cross_barcode_totals(*case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda case: cross_barcode_totals(*case), cases)) == expected


# ------------------------------------------------------------------------------------------- errors


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "resemblance.intermediates._cone", raising=False)
    monkeypatch.delattr(intermediates, "_cone", raising=False)
    with pytest.raises(ImportError, match=r"numba is not installed: pip install .*\[topology\]"):
        cross_barcode_totals(np.zeros((3, 3)), np.zeros((3, 3)))


def test_where_nothing_can_be_kept_it_is_compiled_every_time(tmp_path):
    """A copy of the package and a home with files where folders for compiled code would be: root
    cannot write there."""
    shutil.copytree(
        Path(intermediates.__file__).parents[1],
        tmp_path / "resemblance",
        ignore=shutil.ignore_patterns("__py*"),
    )
    place = tmp_path / "file"
    place.write_text("")
    for part in ("intermediates", "significance"):
        (tmp_path / "resemblance" / part / "__pycache__").write_text("")
    code = (  # small functions of both modules, for all are made alike
        "import numpy as np; from resemblance.intermediates._cone import allocate_vectors; "
        "from resemblance.significance._radix import radix_mean_ranks; print(allocate_vectors(2, "
        "64).shape[0] > 0, radix_mean_ranks(np.array([3.0, 1.0, 2.0]), 1.0, 3.0, 0.0))"
    )
    environment = {
        "NUMBA_CACHE_DIR": "",
        "HOME": f"{place}/home",
        "XDG_CACHE_HOME": f"{place}/cache",
    }
    environment |= {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "True [3. 1. 2.]\n", done.stderr


def test_values_are_those_of_plain_python():
    """Coverage and debuggers turn the compiler off."""
    code = (
        "import numpy as np, resemblance as rs; rng = np.random.default_rng(0);"
        "print(rs.rtd(rng.standard_normal((12, 3)), rng.standard_normal((12, 3))))"
    )
    values = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"NUMBA_DISABLE_JIT": off},
        ).stdout
        for off in "01"
    ]
    assert values[0] == values[1]
