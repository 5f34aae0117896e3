"""Approximate nearest neighbours: what is found, what is missed and recorded, and files of other
formats."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from factories.measures import declared

import resemblance as rs
from resemblance.comparison.comparison import Diagnostic
from resemblance.comparison.store import SCORE_FILE_FORMAT
from resemblance.intermediates import approximate
from resemblance.intermediates.neighbors import neighbors
from resemblance.intermediates.recall import RECALL_SAMPLES

MEASURES = [
    "mka[k=15]", "mka[k=15,metric=cosine]", "kcka[k=15]", "jaccard",
    "rank_similarity[metric=euclidean]", "second_order_cosine", "mutual_knn",
    "mutual_knn[metric=inner]", "cycle_knn[corrected=True]", "lcs_knn",
    "edit_distance_knn[metric=euclidean]", "cknna", "cknna[kernel=linear]",
]  # fmt: skip


def clusters(n: int = 600, d: int = 8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 4 * rng.standard_normal((10, d))[rng.integers(10, size=n)]


def isotropic(n: int = 600, d: int = 40, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def shared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many entries each row of a has in common with that of b."""
    return np.array([len(np.intersect1d(p, q)) for p, q in zip(a, b)])


@pytest.fixture
def poor(monkeypatch):
    """A graph with hardly any links, searched with hardly any effort."""
    few = {"HNSW_LINKS": 4, "HNSW_BUILD_CANDIDATES": 5, "HNSW_SEARCH_CANDIDATES": 1}
    for name, value in few.items():
        monkeypatch.setattr(approximate, name, value)


# ------------------------------------------------------------------------------------ what is found


def test_the_value_is_the_exact_one_where_every_neighbor_is_found(subtests):
    for spec in MEASURES:
        with subtests.test(str(spec)):
            x = clusters()
            y = x + 0.5 * clusters(seed=1)
            m = rs.get_measure(spec)
            assert m(x, y, search="hnsw") == m(x, y)
            assert m.with_parameters(search="exact") == m
            assert (m.requires, m.with_parameters(search="hnsw").requires) == (None, "neighbors")


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner"])
def test_found_in_the_order_of_the_exact_search(metric):
    """Also where single precision does not tell samples apart; all samples have cosine 0 with a
    zero row."""
    x = clusters()
    x[::3] = x[1::3] + 1e-9 * isotropic(200, 8)
    x[5] = 0
    r = rs.Representation(x)
    exact, found = (neighbors(r, k=10, metric=metric, search=index) for index in ("exact", "hnsw"))
    some = np.arange(600) != 5 if metric != "euclidean" else slice(None)
    assert np.array_equal(exact[some], found[some])
    assert 5 not in found[5]


def test_too_few_found_has_a_remedy(monkeypatch):
    monkeypatch.setattr(approximate, "HNSW_LINKS", 2)
    x = np.repeat(clusters(20), 100, axis=0)  # twenty points, each a hundred times
    with pytest.raises(
        rs.UndefinedError, match=r'of 300 neighbours of a sample; take search="exact"'
    ):
        rs.mka(x, x[::-1].copy(), k=300, search="hnsw")


def test_the_same_in_another_process_with_other_threads(poor):
    code = (
        "import sys, numpy as np, resemblance as rs; from resemblance.intermediates import "
        "approximate, neighbors as n;approximate.HNSW_LINKS, approximate.HNSW_BUILD_CANDIDATES, "
        "approximate.HNSW_SEARCH_CANDIDATES = 4, 5, 1;x = "
        "rs.Representation(np.random.default_rng(0).standard_normal((600, "
        "40)));sys.stdout.buffer.write(n.neighbors(x, k=10, metric='euclidean', "
        "search='hnsw').tobytes())"
    )
    here = neighbors(rs.Representation(isotropic()), k=10, metric="euclidean", search="hnsw")
    threads = os.environ | {"OMP_NUM_THREADS": "3"}
    there = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=threads
    )
    assert there.stdout == here.tobytes()


# ----------------------------------------------------------------------------------- what is missed


def test_recall_is_the_share_of_the_exact_neighbors(poor):
    r = rs.Representation(isotropic())
    exact, found = (
        neighbors(r, k=10, metric="cosine", search=index) for index in ("exact", "hnsw")
    )
    recall = rs.neighbor_recall(r, k=10, metric="cosine")
    assert recall == shared(exact, found).sum() / exact.size
    assert 0 < recall < 0.9
    assert rs.neighbor_recall(r, k=10, metric="cosine", search="exact") == 1
    assert rs.neighbor_recall(clusters(), k=10) > recall


def test_recall_of_many_samples_is_estimated(poor):
    r = rs.Representation(isotropic(3000))
    exact, found = (
        neighbors(r, k=10, metric="euclidean", search=index) for index in ("exact", "hnsw")
    )
    shares = shared(exact, found) / 10
    recall = rs.neighbor_recall(r, k=10)
    assert recall == pytest.approx(shares.mean(), abs=4 * shares.std() / RECALL_SAMPLES**0.5)
    assert recall != shares.mean()
    r.clear_cache()
    kept = [value for value in r.cache.values() if type(value) is float]
    assert recall in kept  # is not computed again
    assert rs.neighbor_recall(r, k=10) == recall


def test_mistakes_are_named(subtests):
    for x, parameters, message in [
        (clusters(30), {"k": 30}, "k must be from 1 to 29"),
        (
            clusters(30),
            {"k": 5, "metric": "manhattan"},
            "metric must be one of 'cosine', 'euclidean', 'inner'",
        ),
        (clusters(30), {"k": 5.0}, r"neighbor_recall: k must be an integer; got"),
        (clusters(30), {"k": True}, r"neighbor_recall: k must be an integer; got"),
        (clusters(30), {"k": 5, "search": "ivf"}, "search must be 'exact' or 'hnsw'; got 'ivf'"),
        (np.full((30, 2), np.nan), {"k": 5}, "60 NaN"),
        (np.ones((30, 2)), {"k": 5}, "is constant"),
    ]:
        with subtests.test(f"{message}"), pytest.raises(ValueError, match=message):
            rs.neighbor_recall(x, **parameters)


def test_a_missing_package_names_its_extra(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "faiss" else found(name, *a)
    )
    x = clusters(100)
    assert rs.mka(x, x, k=5) == pytest.approx(1)
    calls = (
        lambda: rs.mka(x, x, k=5, search="hnsw"),
        lambda: rs.compare([x, x], measures="jaccard[search=hnsw]", progress=False),
        lambda: rs.neighbor_recall(x, k=5),
    )
    for call in calls:
        with pytest.raises(
            ImportError, match=r'faiss is not installed: pip install .*\[neighbors\]"'
        ):
            call()


POOR = [
    "mka[k=15,search=hnsw]",
    "cycle_knn[search=hnsw]",
    "cknna[search=hnsw,kernel=linear]",
    "second_order_cosine",
]


@pytest.fixture
def reps() -> dict[str, np.ndarray]:
    return {"a": isotropic(), "b": isotropic() + 0.5 * isotropic(seed=1), "c": clusters()}


def test_the_lower_recall_of_a_pair_is_recorded(reps, poor):
    compared = rs.compare(reps, measures=POOR, progress=False)
    for spec, parameters in {
        "mka": {"k": 15},
        "cycle_knn": {"k": 10, "metric": "cosine"},
        "cknna": {"k": 10, "metric": "inner"},
    }.items():
        own = [rs.neighbor_recall(x, **parameters) for x in reps.values()]
        recorded = compared.numbers[compared.info(spec).spec]["neighbor_recall"]
        assert np.array_equal(recorded, np.minimum.outer(own, own))
        assert own[0] < 0.9
    assert {r.measure.split("[")[0] for r in compared.diagnostics} == {"mka", "cycle_knn", "cknna"}
    words = compared.to_xarray()[POOR[0]].attrs["diagnostics"]
    assert words.startswith("neighbor recall 0.")


# ----------------------------------------------------------------- diagnostics of one's own measure


@declared(
    "Trimmed",
    larger_is_more_similar=False,
    range=(0, np.inf),
    diagnostics=lambda x, y, share, **_: {"left_out": round(share * x.shape[0])} if share else {},
)
def trimmed(x, y, *, share: float = 0.1) -> float:
    """Trimmed: a difference that leaves out samples."""
    return float(share + abs(np.median(x.array) - np.median(y.array)))


@declared("Taken", diagnostics=lambda x, y: {"value": 1.0})
def taken(x, y) -> float:
    """Taken: a measure whose diagnostic has the name of a column."""
    return 0.0


def test_diagnostics_depend_on_the_parameters():
    x, y = clusters(50), isotropic(50)
    result = rs.compare(
        {"x": x}, {"y": y}, measures=[trimmed, trimmed.with_parameters(share=0.5)], progress=False
    )
    assert result.diagnostics == (
        Diagnostic("trimmed", "x", "y", "left_out", 5.0),
        Diagnostic("trimmed[share=0.5]", "x", "y", "left_out", 25.0),
    )
    assert "left out 25" in repr(result)
    assert trimmed.with_parameters(share=0.0).diagnostics(*map(rs.Representation, (x, y))) == {}
    with pytest.raises(ValueError, match="a diagnostic cannot be called 'value'"):
        rs.compare([x, y], measures=[taken], progress=False)


# --------------------------------------------------------------------------- files of other formats


def test_a_file_of_another_format_is_refused_in_one_line(reps, tmp_path):
    path = tmp_path / "other.db"
    rs.compare(reps, measures="cka", progress=False).save(path)
    for version in (1, SCORE_FILE_FORMAT - 1, SCORE_FILE_FORMAT + 1):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        before = path.read_bytes()
        for use in (rs.load, lambda file: rs.compare(reps, save=file, progress=False)):
            with pytest.raises(ValueError, match=rf"^{path}.*format {version}.*Compare again.*$"):
                use(path)
            assert path.read_bytes() == before
