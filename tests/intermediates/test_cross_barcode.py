"""Cross-barcodes against GUDHI, and threads and installations that do not disturb them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from factories import HANG_SECONDS
from scipy.spatial.distance import cdist, squareform

import resemblance as rs
from resemblance import intermediates as intermediates
from resemblance.intermediates import cross_barcode
from resemblance.intermediates.cross_barcode import SortedEdges, bar_length_totals, enclosing_radius
from resemblance.intermediates.samples import subset_indices


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


def test_bars_equal_gudhi(subtests):
    for kind, n in [*itertools.product(KINDS, (1, 2, 7, 33, 60)), (clusters, 130)]:
        with subtests.test(f"{kind.__name__}, {n}"):
            w1, w2 = two(kind, n)
            m = np.minimum(w1, w2)
            totals = cross_barcode_totals(w1, w2)
            for bars, total, w in zip(cross_barcodes(w1, w2), totals, (w1, w2)):
                expected = gudhi_bars(w, m)
                assert np.array_equal(bars, expected)
                lengths = expected[:, 1] - expected[:, 0]
                assert total == pytest.approx(lengths.sum(), rel=1e-9, abs=1e-12)


def test_rtd_is_the_mean_of_both_directions_and_over_subsets():
    x, y = np.random.default_rng(4).standard_normal((2, 30, 5))
    first, second = (rs.rtd(x, y, direction=side) for side in ("first", "second"))
    assert first != second
    assert rs.rtd(x, y) == pytest.approx((first + second) / 2, rel=1e-12)
    assert rs.rtd(y, x, direction="first") == pytest.approx(second, rel=1e-12)
    draws = [subset_indices(30, 20, 0, trial) for trial in range(2)]
    parts = [rs.rtd(x[rows], y[rows]) for rows in draws]
    assert rs.rtd(x, y, subsample=20, repeats=2) == pytest.approx(np.mean(parts), rel=1e-12)


def test_a_square_loses_its_loop():
    """At side 1 and diagonal 2 the loop lives from 1 to 2; where all distances are 2, three merges
    are late as well."""
    square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=float)
    flat = 2 * (1 - np.eye(4))
    assert cross_barcode_totals(square, flat) == (0.0, 4.0)


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
        timeout=HANG_SECONDS,
    )
    assert done.stdout == "True [3. 1. 2.]\n", done.stderr
