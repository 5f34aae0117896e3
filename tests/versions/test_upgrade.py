"""An old index under a new model: maps undo what they can, recalls are exact, and the decision."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import upgrade_pair
from scipy.stats import t
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

import resemblance as rs
from resemblance.cli import run
from resemblance.report import write_page
from resemblance.versions import index_maps
from resemblance.versions.advice import choose_option
from resemblance.versions.index_maps import (
    compute_document_moments,
    fit_affine_map,
    fit_orthogonal_map,
)
from resemblance.versions.index_options import DECISION_EXIT_CODES, GroupRecall, Option, Recall
from resemblance.versions.recalls import mean_share_interval, recall_at_index_size
from resemblance.versions.relevance import RelevanceGain
from resemblance.versions.retrieval import Rows, version_rows

K = 5
MODELS = ("new", "old")


def rotation(d: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def clusters(n: int, seed: int, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Points of four classes, and their classes."""
    g, centers = np.random.default_rng(seed), np.random.default_rng(9).standard_normal((4, d))
    labels = np.arange(n) % 4
    return 4 * centers[labels] + g.standard_normal((n, d)), labels


DOCUMENTS, _ = clusters(1200, 1)
QUERIES, CLASSES = clusters(200, 2)


def rows(x: np.ndarray) -> Rows:
    return version_rows(rs.Representation(x))


def named(x: np.ndarray, ids: np.ndarray) -> rs.Representation:
    return rs.Representation(x, ids=ids)


def option(result: rs.IndexUpgrade, name: str) -> Option:
    return next(o for o in result.options if o.name == name)


def brute(points: np.ndarray, index: np.ndarray, k: int = K) -> np.ndarray:
    return NearestNeighbors(n_neighbors=k).fit(index).kneighbors(points, return_distance=False)


def share(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (found[:, :, None] == right[:, None]).any(axis=1).mean(axis=1)


# -------------------------------------------------------------------------------------------- maps


def test_an_orthogonal_map_undoes_rotation_shift_and_scale() -> None:
    new = 3 * DOCUMENTS @ rotation(12) + 5
    bridge = fit_orthogonal_map(
        compute_document_moments(rows(new), rows(DOCUMENTS), np.arange(1200), MODELS)
    )
    np.testing.assert_allclose(bridge(new), DOCUMENTS, atol=1e-12)


def test_an_affine_map_is_ridge_regression_with_the_least_validation_error() -> None:
    g = np.random.default_rng(3)
    target = DOCUMENTS @ g.standard_normal((12, 7)) + 2 * g.standard_normal((1200, 7))
    bridge = fit_affine_map(
        compute_document_moments(rows(DOCUMENTS), rows(target), np.arange(1200), MODELS)
    )
    x, y = DOCUMENTS - DOCUMENTS.mean(axis=0), target - target.mean(axis=0)
    sizes = np.linalg.eigvalsh(x.T @ x / 1200)
    errors, weights = [], []
    for ridge in sizes.mean() * np.logspace(-8, 1, 40):
        fit = Ridge(ridge * 1200, fit_intercept=False).fit(x, y)
        freedom = (sizes / (sizes + ridge)).sum() + 1
        errors.append(((y - fit.predict(x)) ** 2).sum() / (1 - freedom / 1200) ** 2)
        weights.append(fit.coef_.T)
    np.testing.assert_allclose(bridge.matrix, weights[int(np.argmin(errors))], atol=1e-10)


def test_moments_are_those_of_all_rows_whatever_the_blocks(monkeypatch) -> None:
    whole = compute_document_moments(
        rows(DOCUMENTS), rows(DOCUMENTS[:, :5]), np.arange(1200), MODELS
    )
    monkeypatch.setattr(index_maps, "MAX_BLOCK_ROWS", 7)
    parts = compute_document_moments(
        rows(DOCUMENTS), rows(DOCUMENTS[:, :5]), np.arange(1200), MODELS
    )
    for one, other in zip(whole, parts):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(whole.spread, np.cov(DOCUMENTS.T, bias=True), atol=1e-12)


# ----------------------------------------------------------------------------------------- recalls


def test_recalls_are_those_of_an_exact_search() -> None:
    g = np.random.default_rng(4)
    turn = rotation(12) * np.linspace(0.5, 2, 12)
    new = DOCUMENTS @ turn + 0.4 * g.standard_normal(DOCUMENTS.shape)
    queries = QUERIES @ turn + 0.4 * g.standard_normal(QUERIES.shape)
    result = rs.upgrade_index(DOCUMENTS, new, QUERIES, queries, k=K)
    after, before = brute(queries, new), brute(QUERIES, DOCUMENTS)
    for way in (option(result, name) for name in ("keep", "orthogonal", "affine")):
        points = queries if way.name == "keep" else result.map(way.name)(queries)
        hits = brute(points, DOCUMENTS)
        for truth, right in (("new_model", after), ("old_model", before)):
            shares, recall = share(hits, right), getattr(way, truth)
            assert recall.value == pytest.approx(shares.mean(), abs=1e-12)
            for end, added, side in ((recall.low, 0, -1), (recall.high, 1, 1)):
                more = np.append(shares, added)
                half = 1.9719 * np.sqrt(more.var(ddof=1) / 201)
                assert end == pytest.approx(np.clip(more.mean() + side * half, 0, 1), abs=1e-5)
    assert result.changed == pytest.approx(1 - share(before, after).mean(), abs=1e-12)


@pytest.mark.parametrize("offset", [1e7, 1e7 * np.eye(12)[3], 1e10 * np.eye(12)[3]])
def test_recalls_of_keeping_do_not_depend_on_a_common_offset(offset) -> None:
    change = np.eye(12) + 0.2 * np.random.default_rng(3).standard_normal((12, 12))
    here, there = (
        rs.upgrade_index(
            DOCUMENTS + c,
            DOCUMENTS @ change + c,
            QUERIES + c,
            QUERIES @ change + c,
            maps=["orthogonal"],
            progress=False,
        )
        for c in (0, offset)
    )
    assert option(there, "keep").new_model == option(here, "keep").new_model
    assert here.decision == there.decision


def test_a_rotation_is_mapped_and_equal_models_keep_their_index(subtests) -> None:
    turn = rotation(12)
    cases = {
        "keep": ((DOCUMENTS, QUERIES), "keep"),
        "map queries": ((DOCUMENTS @ turn, QUERIES @ turn), "orthogonal"),
        "re-rank": (
            tuple(np.tanh(x @ turn) ** 3 for x in (DOCUMENTS, QUERIES)),
            "rerank[documents_affine, 100]",
        ),
        "re-embed": (tuple(clusters(len(x), 7)[0][::-1] for x in (DOCUMENTS, QUERIES)), None),
    }
    for decision, ((new, queries), way) in cases.items():
        with subtests.test(decision):
            result = rs.upgrade_index(DOCUMENTS, new, QUERIES, queries)
            assert (result.decision, result.option) == (decision, way)


def test_a_linear_map_is_mapped_to_other_widths() -> None:
    g = np.random.default_rng(5)
    wide = g.standard_normal((12, 20))
    result = rs.upgrade_index(
        DOCUMENTS, DOCUMENTS @ wide, QUERIES, QUERIES @ wide, target="old_model", k=K
    )
    assert result.option == "affine"
    assert option(result, "affine").old_model.value == 1
    assert "widths differ" in option(result, "keep").reason
    assert result.map()(QUERIES @ wide).shape == QUERIES.shape
    np.testing.assert_allclose(result.map()(QUERIES @ wide), QUERIES, atol=1e-5)


def test_one_class_with_new_neighbors_is_to_be_embedded_again() -> None:
    (documents, classes), turn = clusters(1200, 1), rotation(12)
    new, queries = documents @ turn, QUERIES @ turn
    new[classes == 2] = clusters(1200, 5)[0][classes == 2] @ turn
    queries[CLASSES == 2] = clusters(200, 6)[0][CLASSES == 2] @ turn
    labels = np.array(["a", "b", "moved", "d"])[CLASSES]
    result = rs.upgrade_index(
        documents, new, QUERIES, queries, groups=labels, maps=["orthogonal"], min_recall=0.8
    )
    assert option(result, "orthogonal").new_model.worst.group == "moved"
    assert (result.decision, result.groups) == ("re-embed a part", ("moved",))
    assert result.code == 1
    assert "moved" in result.conclusion


def test_bounds_of_groups_hold_for_all_of_them() -> None:
    g, turn = np.random.default_rng(4), rotation(12)
    new, queries = (x @ turn + g.standard_normal(x.shape) for x in (DOCUMENTS, QUERIES))
    result = rs.upgrade_index(DOCUMENTS, new, QUERIES, queries, groups=CLASSES, k=K)
    shares = share(brute(result.map("affine")(queries), DOCUMENTS), brute(queries, new))
    for group in option(result, "affine").new_model.groups:
        values = np.append(shares[group.group == CLASSES], 0)
        error = values.std(ddof=1) / np.sqrt(len(values))
        bound = values.mean() - t.ppf(1 - 0.05 / 4 / 2, len(values) - 1) * error
        assert group.low == pytest.approx(max(0, bound), abs=1e-12)


def test_queries_that_are_documents_leave_themselves_out() -> None:
    ids = np.arange(1200)
    some = ids[::6]
    args = [named(DOCUMENTS, ids), named(DOCUMENTS, ids)]
    pair = (named(DOCUMENTS[some], some), named(DOCUMENTS[some], some))
    result = rs.upgrade_index(*args, *pair, k=K)
    assert option(result, "keep").new_model.value == 1
    with pytest.raises(ValueError, match=r"equal a document.*ids"):
        rs.upgrade_index(DOCUMENTS, DOCUMENTS, DOCUMENTS[some], DOCUMENTS[some])


# ------------------------------------------------------------------------------- lost digits, units


def exact(points: np.ndarray, index: np.ndarray, k: int, metric: str) -> np.ndarray:
    """The nearest rows by a search in long double, ties in the order of the rows."""
    p, rows = (np.asarray(x, np.longdouble) for x in (points, index))
    if metric == "cosine":
        p, rows = (x / np.sqrt((x**2).sum(axis=1, keepdims=True)) for x in (p, rows))
    if metric == "inner":
        far = -(p[:, None] * (rows - rows[:1])[None]).sum(axis=2)
    else:
        far = ((rows[None] - p[:, None]) ** 2).sum(axis=2)
    return np.argsort(far, axis=1, kind="stable")[:, :k]


COLUMN = np.eye(12)[3]
FAR = {"new document at 1e12": ("new", 1e12), "document at 1e30 by both": ("both", 1e30)}
OFFSETS = {"none": 0.0, "1e4": 1e4, "1e6": 1e6, "1e7": 1e7, "1e10": 1e10}
OFFSETS |= {f"{size} in one column": value * COLUMN for size, value in OFFSETS.items() if value}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner"])
@pytest.mark.parametrize("case", [*OFFSETS, *FAR])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_recalls_keep_their_digits(metric, case, dtype) -> None:
    if dtype == "float32" and case in ("1e7", "1e10"):
        return  # most rows of float32 are equal there
    g = np.random.default_rng(0)
    turn = np.eye(12) + 0.2 * g.standard_normal((12, 12))
    old, a = g.standard_normal((1200, 12)), g.standard_normal((60, 12))
    new, b = (x @ turn + 0.1 * g.standard_normal(x.shape) for x in (old, a))
    if case in FAR:
        side, place = FAR[case]
        new[5] = place
        old[5] = place if side == "both" else old[5]
    arrays = [(x + OFFSETS.get(case, 0.0)).astype(dtype) for x in (old, new, a, b)]
    old, new, a, b = arrays
    result = rs.upgrade_index(old, new, a, b, metric=metric, progress=False)
    right = exact(b, new, 10, metric)
    for name in ("keep", "orthogonal", "affine"):
        points = b if name == "keep" else result.map(name)(b)
        found = share(exact(points, old, 10, metric), right).mean()
        assert option(result, name).new_model.value == pytest.approx(found, abs=0.004), name
    changed = 1 - share(exact(a, old, 10, metric), right).mean()
    assert result.changed == pytest.approx(changed, abs=0.004)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sizes", [(1, 1e90), (1e-200, 1), (1e-200, 1e90), (1e80, 1e-200)])
def test_the_unit_of_a_model_does_not_matter(sizes) -> None:
    turn = rotation(12)
    new, queries = (x @ turn + 0.01 * np.sin(x) for x in (DOCUMENTS, QUERIES))
    plain = rs.upgrade_index(DOCUMENTS, new, QUERIES, queries, progress=False)
    before, after = sizes
    scaled = rs.upgrade_index(
        before * DOCUMENTS, after * new, before * QUERIES, after * queries, progress=False
    )
    for name in ("orthogonal", "affine", "documents_orthogonal", "documents_affine"):
        assert option(scaled, name).new_model == option(plain, name).new_model
        one, other = scaled.map(name), plain.map(name)
        rows, unit = (queries, (before, after)) if one.side == "queries" else (QUERIES, sizes[::-1])
        mapped = one(rows * unit[1]) / unit[0]
        np.testing.assert_allclose(mapped, other(rows), rtol=1e-6, atol=1e-6)


def test_cosines_that_differ_by_rounding_are_undefined_and_centring_is_the_remedy() -> None:
    far = [x * 1e-3 + 1e12 for x in (DOCUMENTS, DOCUMENTS, QUERIES, QUERIES)]
    with pytest.raises(rs.UndefinedError, match="centre the vectors first"):
        rs.upgrade_index(far[0], far[1], far[2], far[3], metric="cosine")
    center = far[0].mean(axis=0)
    near = [x - center for x in far]
    assert rs.upgrade_index(near[0], near[1], near[2], near[3], metric="cosine").decision == "keep"


# --------------------------------------------------------------------------- options, by their cost


def unit_rows(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nested(n: int, seed: int) -> np.ndarray:
    """Unit vectors whose first values matter most, as Matryoshka models give them."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(3).standard_normal((12, 32))
    x = fixed[g.integers(12, size=n)] + 0.7 * g.standard_normal((n, 32))
    return unit_rows(x * np.linspace(2, 0.2, 32))


WIDE, ASKED = nested(1500, 0), nested(200, 1)
NARROW = [unit_rows(x[:, :16]) for x in (WIDE, ASKED)]
LONG = [x * np.exp(0.6 * np.sin(9 * x.sum(axis=1, keepdims=True))) for x in (WIDE, ASKED)]


@pytest.mark.parametrize(
    ("decision", "old", "new"),
    [
        ("cut", (WIDE, ASKED), NARROW),
        ("cut", NARROW, [np.hstack([x, 0 * x[:, :9]]) for x in NARROW]),
        ("cut", LONG, [x[:, :20] for x in LONG]),
        ("normalize", LONG, (WIDE, ASKED)),
        ("keep", (WIDE, ASKED), [3 * x for x in (WIDE, ASKED)]),
    ],
)
def test_what_can_be_done_to_stored_vectors_comes_before_maps(decision, old, new) -> None:
    result = rs.upgrade_index(old[0], new[0], old[1], new[1], progress=False)
    assert (result.decision, result.code) == (decision, 0)
    chosen = option(result, result.option)
    assert chosen.new_model.value == 1
    assert (chosen.embeds, chosen.n_parameters) == (0, 0)
    assert chosen.rebuild == (decision == "normalize" or old[0].shape[1] > new[0].shape[1])


def test_the_index_decides_how_nearness_is_measured() -> None:
    g = np.random.default_rng(2)
    lengths = [np.exp(0.8 * g.standard_normal((len(x), 1))) for x in (DOCUMENTS, QUERIES)]
    old, a = DOCUMENTS * lengths[0], QUERIES * lengths[1]
    new, b = (x + 0.5 * g.standard_normal(x.shape) for x in (old, a))
    inner = rs.upgrade_index(old, new, a, b, metric="inner", progress=False)
    plain, cosine = (
        rs.upgrade_index(old, new, a, b, metric=metric, progress=False)
        for metric in ("euclidean", "cosine")
    )
    assert inner.decision == "keep"
    assert option(plain, "keep").new_model.value + 0.2 < option(inner, "keep").new_model.value
    apart = rs.upgrade_index(*map(unit_rows, (old, new, a, b)), progress=False)
    assert option(cosine, "keep").new_model == option(apart, "keep").new_model
    with pytest.raises(ValueError, match="did you mean 'inner'"):
        rs.upgrade_index(old, new, a, b, metric="innner")


def noisy(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of 24 latent directions; the old model is the noisier one."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(8)
    intermediates = fixed.standard_normal((24, 40)), fixed.standard_normal((24, 32))
    latent = g.standard_normal((n, 24))
    blurred = latent + 0.12 * g.standard_normal((n, 24))
    return unit_rows(blurred @ intermediates[0]), unit_rows(latent @ intermediates[1])


def test_candidates_are_re_ranked_and_a_part_is_re_embedded() -> None:
    (old, new), (a, b) = noisy(3000, 0), noisy(300, 1)
    result = rs.upgrade_index(old, new, a, b, progress=False)
    right = exact(b, new, 10, "euclidean")
    starts = {"orthogonal": result.map("orthogonal")(b), "old_queries": a}
    for base, points in starts.items():
        found = exact(points, old, 200, "euclidean")
        for count in (20, 50, 100, 200):
            among = share(found[:, :count], right).mean()
            recall = option(result, f"rerank[{base}, {count}]").new_model
            assert recall.value == pytest.approx(among, abs=1e-12)
    assert result.decision == "re-rank"
    chosen = option(result, result.option)
    cheaper = [o for o in result.options if 0 < o.candidates < chosen.candidates]
    assert all(o.new_model.low < 0.9 for o in cheaper)
    assert chosen.new_model.low >= 0.9
    recalls = [option(result, f"part[{part}]").new_model.value for part in (0.25, 0.5, 0.75)]
    whole = option(result, "documents_affine").new_model.value
    assert whole < recalls[0] < recalls[1] < recalls[2] < 1
    assert [o.embeds for o in result.options][-4:] == [750, 1500, 2250, 3000]
    strict = rs.upgrade_index(old, new, a, b, maps=[], min_recall=0.999, progress=False)
    assert (strict.decision, strict.option, strict.code) == ("re-embed", None, 1)


def test_a_part_has_new_vectors_and_the_others_are_mapped() -> None:
    (old, new), (a, b) = noisy(1600, 0), noisy(200, 1)
    result = rs.upgrade_index(old, new, a, b, maps=["affine"], progress=False)
    stored = result.map("documents_affine")(old)
    half = np.random.default_rng(0).permutation(1600)[:800]
    stored = unit_rows(stored)
    stored[half] = new[half]
    found = share(exact(b, stored, 10, "euclidean"), exact(b, new, 10, "euclidean")).mean()
    assert option(result, "part[0.5]").new_model.value == pytest.approx(found, abs=0.05)


def test_a_map_of_documents_is_judged_on_documents_that_took_no_part_in_its_fit() -> None:
    g = np.random.default_rng(0)
    old, new = g.standard_normal((300, 100)), g.standard_normal((300, 60))
    queries = (g.standard_normal((100, 100)), g.standard_normal((100, 60)))
    result = rs.upgrade_index(old, new, *queries, progress=False)
    for name in ("affine", "documents_affine", "documents_orthogonal"):
        assert option(result, name).new_model.value < 0.08  # chance is 10 of 300
    assert result.decision == "re-embed"


def test_a_map_says_for_which_side_it_is() -> None:
    wide = np.random.default_rng(5).standard_normal((12, 20))
    result = rs.upgrade_index(DOCUMENTS, DOCUMENTS @ wide, QUERIES, QUERIES @ wide, progress=False)
    assert [result.maps[name].side for name in ("affine", "documents_affine")] == [
        "queries", "documents",
    ]  # fmt: skip
    np.testing.assert_allclose(result.map("documents_affine")(QUERIES), QUERIES @ wide, atol=1e-3)
    with pytest.raises(ValueError, match=r"for documents by the old model.*12"):
        result.map("documents_affine")(QUERIES @ wide)
    assert any("no map for the other direction" in line for line in result.details)


def test_what_the_rows_show_is_said_first() -> None:
    turned, zeros = DOCUMENTS @ TURN, DOCUMENTS @ TURN
    turned[:700], zeros[:24] = DOCUMENTS[:700], 0
    for new, kind, words in (
        (turned, "equal rows", "Two models in one index"),
        (zeros, "zeros", "24 of 1,200 rows"),
        (np.random.default_rng(3).standard_normal(DOCUMENTS.shape), "unrelated rows", "same order"),
    ):
        result = rs.upgrade_index(DOCUMENTS, new, QUERIES, QUERIES @ TURN, progress=False)
        assert kind in [fact.kind for fact in result.row_facts]
        assert words in result.details[0]
    same = rs.upgrade_index(DOCUMENTS, DOCUMENTS @ TURN, QUERIES, QUERIES @ TURN, progress=False)
    assert same.row_facts == ()


# ------------------------------------------------------------------------------- relevant documents


def judged(noise_old: float, noise_new: float) -> tuple[tuple, dict]:
    """Documents, queries by two models with noise, and the nearest true documents of each."""
    g = np.random.default_rng(6)
    near = {f"q{i}": [f"d{j}" for j in row] for i, row in enumerate(brute(QUERIES, DOCUMENTS, 3))}
    ids = [f"d{i}" for i in range(1200)], [f"q{i}" for i in range(200)]
    old, new = (
        [x + noise * g.standard_normal(x.shape) for x in (DOCUMENTS, QUERIES)]
        for noise in (noise_old, noise_new)
    )
    documents = [rs.Representation(x[0], ids=ids[0]) for x in (old, new)]
    queries = tuple(rs.Representation(x[1], ids=ids[1]) for x in (old, new))
    return (*documents, *queries), near


def test_relevant_documents_say_whether_the_new_model_is_better(subtests) -> None:
    cases = {(0.6, 0.2): True, (0.2, 0.6): False, (0.3, 0.3): False}
    for (before, after), better in cases.items():
        with subtests.test(f"{before} to {after}"):
            args, near = judged(before, after)
            result = rs.upgrade_index(*args, relevant=near, progress=False)
            found = [brute(args[2 + i].source, args[i].source, 10) for i in (0, 1)]
            names = [[f"d{j}" for j in rows] for rows in found[1]]
            recall = np.mean([len(set(n) & set(near[f"q{i}"])) / 3 for i, n in enumerate(names)])
            assert result.gain.new == pytest.approx(recall)
            assert (result.decision == "stay") == (not better)
            assert (result.gain.low > 0) == better
            assert result.code == (0 if not better else result.code)
            assert result.gain.low <= result.gain.difference <= result.gain.high
            assert isinstance(result.gain, RelevanceGain)
            words = result.conclusion if not better else result.details[0]
            assert "of the relevant documents" in words


def test_relevant_documents_must_be_known() -> None:
    args, near = judged(0.2, 0.2)
    for change, words in (
        ({"q7": ["d5000"]}, r"'d5000'.*none of the 1,200 documents.*ids such as 'd0'"),
        ({"q900": ["d1"]}, r"'q900'.*none of the 200 queries"),
        ({"q3": []}, "no document for query 'q3'; leave that query out"),
    ):
        with pytest.raises(ValueError, match=words):
            rs.upgrade_index(*args, relevant=near | change)
    with pytest.raises(ValueError, match="must map ids"):
        rs.upgrade_index(*args, relevant=list(near))
    with pytest.raises(ValueError, match=r"at least 20 queries.*got 3"):
        rs.upgrade_index(*args, relevant=dict(list(near.items())[:3]))
    plain = (args[0].source, args[1].source, *(q.source for q in args[2:]))
    places = {int(q[1:]): [int(d[1:]) for d in of] for q, of in near.items()}
    by_place = rs.upgrade_index(*plain, relevant=places, progress=False)
    assert by_place.gain == rs.upgrade_index(*args, relevant=near, progress=False).gain
    with pytest.raises(ValueError, match="positions, as they have no ids"):
        rs.upgrade_index(*plain, relevant=near)


# -------------------------------------------------------------------------------------- large index


def world(seed: int, n: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of a space of fewer directions, by two models."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    centers, spread = fixed.standard_normal((8, 16)), fixed.standard_normal((8, 6, 16)) / 2
    c, z = g.integers(8, size=n), g.standard_normal((n, 6))
    old = centers[c] + np.einsum("ni,nij->nj", z, spread[c])
    new = old * np.exp(0.3 * fixed.standard_normal(16)) @ rotation(16)
    new = new + noise * g.standard_normal((n, 16))
    return tuple(x / np.linalg.norm(x, axis=1, keepdims=True) for x in (old, new))


def test_a_pool_estimates_what_the_new_model_would_find() -> None:
    (old, new), queries = world(0, 12_000), world(1, 400)
    exact = rs.upgrade_index(old, new, *queries)
    sizes: list[int] = []

    def embed(positions: np.ndarray) -> np.ndarray:
        sizes.append(len(positions))
        return new[positions]

    pool = rs.upgrade_index(old[:3000], new[:3000], *queries, index=old, embed=embed)
    assert 0 < sum(sizes) < 200 * 200
    for way in ("orthogonal", "affine"):
        truth, recall = option(exact, way).new_model, option(pool, way).new_model
        assert recall.low <= truth.value <= recall.high + 0.02
        assert recall.queries == 200
        before = option(pool, way).old_model
        assert before.value == pytest.approx(option(exact, way).old_model.value, abs=0.01)
    assert pool.changed == pytest.approx(exact.changed, abs=0.05)


def test_vectors_in_other_batches_order_or_precision_give_the_same(subtests) -> None:
    (old, new), queries = world(0, 6000), world(1, 200)
    order, noise = np.random.default_rng(0).permutation(6000), 1 + 1e-6 * np.sin(new)
    args, half = (old[:2000], new[:2000], *queries), new.astype(np.float16)
    exact = rs.upgrade_index(*args, index=old, embed=lambda p: new[p])
    cases = {
        "index in half precision": (old.astype(np.float16), lambda p: new[p]),
        "new vectors in half precision": (old, lambda p: half[p]),
        "other batches": (old, lambda p: new[p] * noise[p]),
        "index in another order": (old[order], lambda p: new[order[p]]),
    }
    for name, (index, embed) in cases.items():
        with subtests.test(name):
            result = rs.upgrade_index(*args, index=index, embed=embed)
            assert result.decision == exact.decision
            for one, other in zip(result.options, exact.options):
                assert one.name == other.name
                if other.new_model is not None:
                    assert one.new_model.value == pytest.approx(other.new_model.value, abs=0.005)


def test_an_estimate_for_a_larger_index_never_says_to_keep() -> None:
    (old, new), queries = world(0, 12_000), world(1, 400)
    poor = rs.upgrade_index(old[:2000], new[:2000], *queries, index=old)
    assert (poor.decision, poor.code) == ("undecided", 4)  # candidates to re-rank may be enough
    names = {name for name, *_ in poor.curve}
    assert names == {"keep", "orthogonal", "affine", "documents_orthogonal", "documents_affine"}
    assert [n for name, n, _ in poor.curve if name == "affine"] == [250, 500, 1000, 2000, 12_000]
    fine = rs.upgrade_index(
        old[:2000], old[:2000] @ rotation(16), queries[0], queries[0] @ rotation(16), index=old
    )
    assert fine.decision == "undecided"
    assert "embed" in fine.conclusion
    few = rs.upgrade_index(old[:900], new[:900], *queries, index=old)
    assert few.decision == "undecided"
    assert option(few, "affine").new_model is None
    assert "1,000" in option(few, "affine").reason
    by_old = rs.upgrade_index(
        old[:900], old[:900], queries[0], queries[0], index=old, target="old_model"
    )
    assert by_old.decision == "keep"


def test_a_recall_is_continued_as_a_line_of_its_logit() -> None:
    sizes = np.array([100, 200, 400, 800])
    logits = 2 - 0.3 * np.log(sizes)
    value = recall_at_index_size(sizes, 1 / (1 + np.exp(-logits)), 10_000)
    assert value == pytest.approx(1 / (1 + np.exp(-(2 - 0.3 * np.log(10_000)))))


# ---------------------------------------------------------------------------------------- decision


def recall(low: float, groups: tuple[GroupRecall, ...] = ()) -> Recall:
    return Recall(low + 0.01, low, low + 0.02, 100, groups)


def test_the_decision_takes_the_fewest_numbers_that_are_enough(subtests) -> None:
    good, poor = GroupRecall("a", 0.95, 0.92, 70), GroupRecall("b", 0.5, 0.4, 30)
    few = GroupRecall("c", 0.1, None, 3)
    cases = {
        "first that is enough": ((0.2, 0.95, 0.99), (), ("map queries", "orthogonal", ())),
        "none is": ((0.2, 0.5, 0.89), (), ("re-embed", None, ())),
        "one group fails": ((0.2, 0.91, 0.95), (good, poor), ("re-embed a part", "keep", ("b",))),
        "few queries are not judged": ((0.95, 0.9, 0.9), (good, few), ("keep", "keep", ())),
        "most fail": ((0.95, 0.9, 0.9), (good._replace(queries=10), poor), ("re-embed", None, ())),
    }
    for name, (lows, groups, (decision, way, again)) in cases.items():
        options = [
            Option(n, i, recall(low, groups), None)
            for i, (n, low) in enumerate(zip(("keep", "orthogonal", "affine"), lows))
        ]
        with subtests.test(name):
            result = choose_option(options, "new_model", 0.9, is_estimate=False)
            assert (result.name, result.option, result.groups) == (decision, way, again)


def test_prices_give_the_number_of_queries_that_pays() -> None:
    turn = rotation(12) * np.linspace(0.5, 2, 12)
    result = rs.upgrade_index(
        DOCUMENTS,
        DOCUMENTS @ turn,
        QUERIES,
        QUERIES @ turn,
        k=K,
        cost_per_document=2.0,
        cost_per_miss=0.5,
    )
    missed = 1 - option(result, "orthogonal").new_model.value
    assert result.break_even("orthogonal") == pytest.approx(1200 * 2.0 / (missed * K * 0.5))
    same = rs.upgrade_index(
        DOCUMENTS, DOCUMENTS, QUERIES, QUERIES, cost_per_document=1, cost_per_miss=1
    )
    assert same.break_even("keep") == np.inf


# ------------------------------------------------------------------------------------ hostile input


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


PAIR = (QUERIES, QUERIES)
TURN = rotation(12)
TURNED = DOCUMENTS @ TURN
NAMES = [f"q{i}" for i in range(200)]
SHUFFLED = np.random.default_rng(0).permutation(1200)
MISTAKES = {
    "other documents": ((DOCUMENTS, DOCUMENTS[:900], PAIR), {}, "1,200 documents.*900"),
    "other queries": ((DOCUMENTS, DOCUMENTS, (QUERIES, QUERIES[:90])), {}, "200 queries.*90"),
    "queries of another model": (
        (DOCUMENTS, DOCUMENTS[:, :9], (QUERIES[:, :9], QUERIES)), {}, "same width"
    ),
    "documents in another order": (
        (named(DOCUMENTS, np.arange(1200)), named(DOCUMENTS, SHUFFLED), PAIR), {}, "order"
    ),
    "one query": ((DOCUMENTS, DOCUMENTS, (QUERIES[:1], QUERIES[:1])), {}, "20 queries"),
    "few documents": ((DOCUMENTS[:30], DOCUMENTS[:30], PAIR), {"k": 20}, "40 documents"),
    "a small index": ((DOCUMENTS, DOCUMENTS, PAIR), {"index": DOCUMENTS}, "leave it out"),
    "embed alone": ((DOCUMENTS, DOCUMENTS, PAIR), {"embed": len}, "index"),
    "NaN": ((DOCUMENTS, np.where(DOCUMENTS > 9, np.nan, DOCUMENTS), PAIR), {}, "NaN"),
    "NaN in queries": ((DOCUMENTS, DOCUMENTS, (QUERIES, QUERIES * np.nan)), {}, "NaN"),
    "huge": ((1e200 * DOCUMENTS, DOCUMENTS, (1e200 * QUERIES, QUERIES)), {}, "unit"),
    "one point": ((DOCUMENTS, np.ones((1200, 3)), (QUERIES, np.ones((200, 3)))), {}, "same point"),
    "groups of documents": ((DOCUMENTS, DOCUMENTS, PAIR), {"groups": np.zeros(1200)}, "groups"),
    "groups in another order": (
        (DOCUMENTS, DOCUMENTS, (pd.DataFrame(QUERIES, index=NAMES), QUERIES)),
        {"groups": pd.Series(CLASSES, index=NAMES[::-1])}, "order",
    ),
    "a share in percent": ((DOCUMENTS, DOCUMENTS, PAIR), {"min_recall": 90}, "min_recall"),
    "a target": ((DOCUMENTS, DOCUMENTS, PAIR), {"target": "as_old"}, "old_model"),
    "a map": ((DOCUMENTS, DOCUMENTS, PAIR), {"maps": ["rotation"]}, "map"),
    "maps as a word": ((DOCUMENTS, DOCUMENTS, PAIR), {"maps": "affine"}, "list"),
    "a cost alone": ((DOCUMENTS, DOCUMENTS, PAIR), {"cost_per_document": 1}, "cost_per_miss"),
    "k": ((DOCUMENTS, DOCUMENTS, PAIR), {"k": 0}, "k must"),
    "embed of another width": (
        (DOCUMENTS[:600], DOCUMENTS[:600], PAIR),
        {"index": DOCUMENTS, "embed": lambda p: DOCUMENTS[p, :3]}, "one new vector",
    ),
    "embed by the old model": (
        (DOCUMENTS[:600], DOCUMENTS[:600] + 1, PAIR),
        {"index": DOCUMENTS, "embed": lambda p: DOCUMENTS[p]}, "returned the old vectors",
    ),
    "an index of old vectors in another precision": (
        (DOCUMENTS[:600], TURNED[:600], (QUERIES, QUERIES @ TURN)),
        {"index": DOCUMENTS.astype(np.float16), "embed": lambda p: DOCUMENTS[p]}, "the old vectors",
    ),
    "an index that is normalised": (
        (DOCUMENTS[:600], TURNED[:600], (QUERIES, QUERIES @ TURN)),
        {"index": unit(DOCUMENTS), "embed": lambda p: TURNED[p]}, "of index are normalised",
    ),
    "queries that are normalised": (
        (DOCUMENTS, TURNED, (QUERIES, unit(QUERIES @ TURN))), {}, "queries by new are normalised"
    ),
    "embed that normalises": (
        (DOCUMENTS[:600], TURNED[:600], (QUERIES, QUERIES @ TURN)),
        {"index": DOCUMENTS, "embed": lambda p: unit(TURNED[p])}, "20 of 20 .*normalise vectors if",
    ),
    "an index in another order than that of embed": (
        (DOCUMENTS[:600], TURNED[:600], (QUERIES, QUERIES @ TURN)),
        {"index": DOCUMENTS[SHUFFLED], "embed": lambda p: TURNED[p]}, "positions of the index",
    ),
    "queries that are documents in other batches": (
        (DOCUMENTS, TURNED, (DOCUMENTS[:200] * (1 + 1e-6), TURNED[:200])), {}, "200 of 200 queries"
    ),
    "all documents are queries": (
        (*[named(DOCUMENTS, np.arange(1200))] * 2, [named(DOCUMENTS, np.arange(1200))] * 2),
        {}, "no queries",
    ),
}  # fmt: skip


def test_mistakes_are_named(subtests) -> None:
    for name, (arguments, options, words) in MISTAKES.items():
        with subtests.test(name), pytest.raises(ValueError, match=words):
            rs.upgrade_index(*arguments[:2], *arguments[2], **options)


def test_unusual_data_are_fine(subtests) -> None:
    zeros = DOCUMENTS.copy()
    zeros[:7] = 0
    cases = {
        "float16": tuple(x.astype(np.float16) for x in (DOCUMENTS, DOCUMENTS, QUERIES, QUERIES)),
        "integers": tuple((9 * x).astype(int) for x in (DOCUMENTS, DOCUMENTS, QUERIES, QUERIES)),
        "zero vectors": (zeros, zeros, QUERIES, QUERIES),
        "few documents": (DOCUMENTS[:22], DOCUMENTS[:22], QUERIES, QUERIES),
    }
    for name, (old, new, *pair) in cases.items():
        with subtests.test(name):
            result = rs.upgrade_index(old, new, *pair, k=3)
            assert (result.decision, result.changed) == ("keep", 0)
    few = rs.upgrade_index(DOCUMENTS[:22], DOCUMENTS[:22], *PAIR, k=3)
    assert "24 documents" in option(few, "affine").reason
    groups = np.where(np.arange(200) < 3, "rare", "usual")
    result = rs.upgrade_index(DOCUMENTS, DOCUMENTS, *PAIR, groups=groups)
    assert any("rare" in line for line in result.details)


# --------------------------------------------------------------------------------- what is written


def test_what_is_written_has_the_same_numbers(tmp_path) -> None:
    turn = rotation(12)
    result = rs.upgrade_index(DOCUMENTS, DOCUMENTS @ turn, QUERIES, QUERIES @ turn, groups=CLASSES)
    result.to_table(tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["decision"] == "map queries"
    names = ["keep", "normalize", "cut", "orthogonal", "affine", "documents_orthogonal"]
    assert [o.name for o in result.options][:6] == names
    assert len(document["options"]) == len(result.to_pandas()) == len(result.records())
    write_page(result, tmp_path / "a.html")
    assert "mapped" not in result.conclusion
    text = (tmp_path / "a.html").read_text()
    assert "An old index under a new model" in text
    assert result.conclusion.split(":")[0] in text
    with pytest.raises(ValueError, match=r"\.csv"):
        result.to_table(tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="no map"):
        result.map("keep")


def test_the_command_decides_and_saves_the_map(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    turn = rotation(12)
    arrays = {
        "old": DOCUMENTS[:600], "new": DOCUMENTS[:600] @ turn, "all": DOCUMENTS,
        "q": QUERIES, "p": QUERIES @ turn, "turned": DOCUMENTS @ turn,
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    (tmp_path / "classes.csv").write_text("\n".join(f"c{c}" for c in CLASSES) + "\n")
    (tmp_path / "embed.py").write_text(
        "import numpy as np\n\n\ndef vectors(positions):\n"
        "    return np.load('turned.npy')[positions]\n"
    )
    four = ["upgrade-index", "old.npy", "new.npy", "q.npy", "p.npy", "-q"]
    assert run([*four, "--map", "map.npz", "--groups", "classes.csv"]) == 0
    saved = np.load("map.npz")
    mapped = saved["after"] + saved["factor"] * (arrays["p"] - saved["before"]) @ saved["matrix"]
    np.testing.assert_allclose(mapped, QUERIES, atol=1e-10)
    assert "rotation" in capsys.readouterr().out
    large = [*four, "--index", "all.npy"]
    assert run([*large, "--embed", "embed.py:vectors", "-o", "a.csv"]) == 0
    assert run(large) == 4
    assert "embed" in capsys.readouterr().out
    assert run([*large, "--map", "none.npz"]) == 4
    assert "no map written to none.npz: the decision is undecided" in capsys.readouterr().err
    assert not (tmp_path / "none.npz").exists()
    assert run(["upgrade-index", "old.npy", "q.npy", "q.npy", "p.npy"]) == 2
    assert run([*large, "--exit-zero"]) == 0
    capsys.readouterr()
    assert run([*four, "--maps", "affine", "--confidence-level", "0.8", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    expected = rs.upgrade_index(
        arrays["old"], arrays["new"], arrays["q"], arrays["p"], maps=("affine",),
        confidence_level=0.8, progress=False,
    )  # fmt: skip
    assert {option["option"] for option in document["options"]} == {
        record["option"] for record in expected.records()
    }
    assert [option["low"] for option in document["options"]] == pytest.approx(
        [record["low"] for record in expected.records()], nan_ok=True
    )
    for wrong, message in (
        (["--maps", "afine"], "no map 'afine'; did you mean 'affine'"),
        (["--confidence-level", "2"], "--confidence-level"),
    ):
        assert run([*four, *wrong]) == 2
        assert message in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of documents and queries by an old model, by a rotated and by an unrelated one."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    for name, x in (("documents", DOCUMENTS), ("queries", QUERIES)):
        np.save(f"old_{name}.npy", x)
        np.save(f"turned_{name}.npy", x @ TURN)
        np.save(f"other_{name}.npy", g.standard_normal(x.shape))
    return tmp_path


def words(new: str, *options: str) -> list[str]:
    names = ("old_documents", f"{new}_documents", "old_queries", f"{new}_queries")
    return ["upgrade-index", *(f"{name}.npy" for name in names), *options]


def test_a_map_that_there_is_not_costs_no_other_output_and_no_code(folder, capsys) -> None:
    outputs = ("--html", "page.html", "-o", "result.json")
    assert run(words("other", "--map", "map.npz", *outputs)) == 1
    err = capsys.readouterr().err
    assert "no map written to map.npz: the decision is re-embed, which has no map" in err
    assert "wrote result.json, page.html" in err
    assert json.loads((folder / "result.json").read_text())["decision"] == "re-embed"
    assert "Re-embed all documents" in (folder / "page.html").read_text()
    assert not (folder / "map.npz").exists()
    assert run(words("turned", "--map", "map.npz", *outputs)) == 0
    saved = np.load(folder / "map.npz")
    assert (str(saved["side"]), bool(saved["normalize"])) == ("queries", False)
    assert "wrote result.json, page.html, map.npz" in capsys.readouterr().err
    assert run(words("turned", "--map", "none/map.npz")) == 2
    assert "the folder none does not exist" in capsys.readouterr().err


def test_a_file_that_the_disk_does_not_take_costs_no_other_output(folder, capsys) -> None:
    # /dev/full takes no byte
    code = run(words("turned", "--map", "map.npz", "-o", "/dev/full", "--html", "page.html"))
    assert code == 2
    assert (folder / "page.html").stat().st_size > 1000
    assert (folder / "map.npz").exists()


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_command_reads_relevant_documents(folder, capsys, suffix) -> None:
    mark = "," if suffix == ".csv" else "\t"
    pairs = [(i, j) for i, row in enumerate(brute(QUERIES, DOCUMENTS, 2)) for j in row]
    (folder / f"pairs{suffix}").write_text("".join(f"{i}{mark}{j}\n" for i, j in pairs))
    assert run(words("other", "--relevant", f"pairs{suffix}", "--format", "json", "-q")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] == "stay"
    assert document["gain"]["high"] < 0
    (folder / "wrong.csv").write_text("query,document\n3,5000\n")
    assert run(words("other", "--relevant", "wrong.csv")) == 2
    assert "--relevant names 5000" in capsys.readouterr().err
    (folder / "wrong.csv").write_text("3,5,7\n")
    assert run(words("other", "--relevant", "wrong.csv")) == 2
    assert "line 1: 3 columns" in capsys.readouterr().err
    (folder / "wrong.csv").write_bytes("3,ä\n".encode("latin-1"))
    assert run(words("other", "--relevant", "wrong.csv")) == 2
    assert "--relevant: wrong.csv is not UTF-8 (byte 2)" in capsys.readouterr().err


def test_the_command_knows_metrics(folder, capsys) -> None:
    assert run(words("turned", "--metric", "inner", "-q")) == 0
    assert run(words("turned", "--metric", "inne")) == 2
    assert "did you mean 'inner'" in capsys.readouterr().err


def test_every_decision_has_a_code_on_the_page_of_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "upgrade.md").read_text("utf-8")
    for decision, code in DECISION_EXIT_CODES.items():
        assert re.search(rf"^\| `{decision}` \|.*\| {code} \|$", text, re.MULTILINE), decision


def test_copies_of_documents_are_named_once():
    rng = np.random.default_rng(0)
    rows = np.arange(400) % 200
    rows[:6] = np.arange(6) + 394
    old, queries = rng.standard_normal((400, 8)), rng.standard_normal((40, 8))
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    result = rs.upgrade_index(old[rows], old[rows] @ turn, queries, queries @ turn)
    assert [fact.kind for fact in result.row_facts].count("copies") == 1
    assert not any("cop" in caveat or "distinct" in caveat for caveat in result.caveats)


# -------------------------------------------------------------------------------------- on the page

PAGE = Path(__file__).parents[2] / "docs" / "upgrade.md"


def test_the_table_of_a_real_pair_is_what_its_stored_numbers_make() -> None:
    stored = json.loads(upgrade_pair.MEASURED.read_text("utf-8"))
    assert upgrade_pair.TABLE.read_text("utf-8") == upgrade_pair.table_of(stored)


def test_the_page_says_how_much_lower_the_bound_of_so_many_queries_is() -> None:
    """With 97 % on average, three of ten queries miss one document of ten."""
    text = " ".join(PAGE.read_text("utf-8").split())
    sentence = re.search(r"at a recall of 0\.97, the lower bound of .*?\. Take", text)
    assert sentence is not None
    numbers = {int(n): float(by) for n, by in re.findall(r"(\d+) queries \D*(0\.\d+)", sentence[0])}
    assert list(numbers) == [100, 40, 300]
    for n, lower in numbers.items():
        low, _ = mean_share_interval(np.where(np.arange(n) % 10 < 3, 0.9, 1.0), 0.95)
        assert round(0.97 - low, 2) == lower


def test_a_table_of_a_vector_store_is_taken_by_its_column() -> None:
    import pyarrow as pa

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(DOCUMENTS.ravel()), DOCUMENTS.shape[1])
    table = pa.table({"id": [f"d{i}" for i in range(len(DOCUMENTS))], "vector": vectors})
    r = rs.Representation(table, column="vector")
    assert np.array_equal(np.asarray(r), DOCUMENTS)
    assert r.ids is not None
    assert r.ids[:2] == ("d0", "d1")
