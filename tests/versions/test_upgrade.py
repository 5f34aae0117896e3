"""An old index under a new model: maps undo what they can, recalls are exact, and the decision."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import upgrade_pair
from factories.versions import unit_rows
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

import resemblance as rs
from resemblance.cli import run
from resemblance.versions import index_maps
from resemblance.versions.advice import choose_option
from resemblance.versions.index_maps import compute_document_moments, fit_affine_map
from resemblance.versions.index_options import DECISION_EXIT_CODES, GroupRecall, Option, Recall
from resemblance.versions.retrieval import version_rows

K = 5


def rotation(d: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def clusters(n: int, seed: int, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Points of four classes, and their classes."""
    g, centers = np.random.default_rng(seed), np.random.default_rng(9).standard_normal((4, d))
    labels = np.arange(n) % 4
    return 4 * centers[labels] + g.standard_normal((n, d)), labels


DOCUMENTS, DOCUMENT_CLASSES = clusters(1200, 1)
QUERIES, CLASSES = clusters(200, 2)
TURN = rotation(12)
TURNED, TURNED_QUERIES = DOCUMENTS @ TURN, QUERIES @ TURN
STRETCH = TURN * np.linspace(0.5, 2, 12)


def upgrade(old, new, old_queries, new_queries, **options) -> rs.IndexUpgrade:
    return rs.upgrade_index(old, new, old_queries, new_queries, **{"progress": False} | options)


def with_ids(x: np.ndarray, ids: np.ndarray) -> rs.Representation:
    return rs.Representation(x, ids=ids)


def option(result: rs.IndexUpgrade, name: str) -> Option:
    return next(o for o in result.options if o.name == name)


def brute(points: np.ndarray, index: np.ndarray, k: int = K) -> np.ndarray:
    return NearestNeighbors(n_neighbors=k).fit(index).kneighbors(points, return_distance=False)


def share(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (found[:, :, None] == right[:, None]).any(axis=1).mean(axis=1)


# -------------------------------------------------------------------------------------------- maps


def test_an_orthogonal_map_undoes_rotation_shift_and_scale():
    result = upgrade(DOCUMENTS, 3 * TURNED + 5, QUERIES, 3 * TURNED_QUERIES + 5)
    mapped = result.map("orthogonal")(3 * TURNED_QUERIES + 5)
    np.testing.assert_allclose(mapped, QUERIES, atol=1e-12)


def test_an_affine_map_is_ridge_regression_with_the_least_validation_error(monkeypatch):
    """Also when the documents are read in blocks."""
    g = np.random.default_rng(3)
    target = DOCUMENTS @ g.standard_normal((12, 7)) + 2 * g.standard_normal((1200, 7))
    x, y = DOCUMENTS - DOCUMENTS.mean(axis=0), target - target.mean(axis=0)
    sizes = np.linalg.eigvalsh(x.T @ x / 1200)
    errors, weights = [], []
    for ridge in sizes.mean() * np.logspace(-8, 1, 40):
        fit = Ridge(ridge * 1200, fit_intercept=False).fit(x, y)
        freedom = (sizes / (sizes + ridge)).sum() + 1
        errors.append(((y - fit.predict(x)) ** 2).sum() / (1 - freedom / 1200) ** 2)
        weights.append(fit.coef_.T)
    expected = weights[int(np.argmin(errors))]
    versions = [version_rows(rs.Representation(v)) for v in (DOCUMENTS, target)]
    for height in (index_maps.MAX_BLOCK_ROWS, 7):
        monkeypatch.setattr(index_maps, "MAX_BLOCK_ROWS", height)
        moments = compute_document_moments(*versions, np.arange(1200), ("new", "old"))
        np.testing.assert_allclose(fit_affine_map(moments).matrix, expected, atol=1e-10)


def test_a_map_goes_to_another_width_and_says_for_which_side_it_is():
    wide = np.random.default_rng(5).standard_normal((12, 20))
    args = DOCUMENTS, DOCUMENTS @ wide, QUERIES, QUERIES @ wide
    result = upgrade(*args, target="old_model", k=K)
    assert result.option == "affine"
    assert option(result, "affine").old_model.value == 1
    assert "widths differ" in option(result, "keep").reason
    assert [result.maps[n].side for n in ("affine", "documents_affine")] == ["queries", "documents"]
    np.testing.assert_allclose(result.map()(QUERIES @ wide), QUERIES, atol=1e-5)
    np.testing.assert_allclose(result.map("documents_affine")(QUERIES), QUERIES @ wide, atol=1e-3)
    with pytest.raises(ValueError, match=r"for documents by the old model.*12"):
        result.map("documents_affine")(QUERIES @ wide)
    with pytest.raises(ValueError, match="no map"):
        result.map("keep")


def test_a_map_of_documents_is_judged_on_documents_that_took_no_part_in_its_fit():
    g = np.random.default_rng(0)
    old, new = g.standard_normal((300, 100)), g.standard_normal((300, 60))
    result = upgrade(old, new, g.standard_normal((100, 100)), g.standard_normal((100, 60)))
    for name in ("affine", "documents_affine", "documents_orthogonal"):
        assert option(result, name).new_model.value < 0.08  # chance is 10 of 300
    assert result.decision == "re-embed"


# ----------------------------------------------------------------------------------------- recalls


def test_recalls_are_those_of_an_exact_search():
    g = np.random.default_rng(4)
    new, queries = (x @ STRETCH + 0.4 * g.standard_normal(x.shape) for x in (DOCUMENTS, QUERIES))
    result = upgrade(DOCUMENTS, new, QUERIES, queries, k=K)
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


FAR_ROWS = {"new document at 1e12": ("new", 1e12), "document at 1e30 by both": ("both", 1e30)}
OFFSETS = {"none": 0.0, "1e6": 1e6, "1e10": 1e10, "1e10 in one column": 1e10 * np.eye(12)[3]}
DIGITS = [(case, "float64") for case in (*OFFSETS, *FAR_ROWS)]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner"])
@pytest.mark.parametrize(("case", "dtype"), [*DIGITS, ("1e6", "float32")])
def test_recalls_keep_their_digits(metric, case, dtype):
    g = np.random.default_rng(0)
    turn = np.eye(12) + 0.2 * g.standard_normal((12, 12))
    old, a = g.standard_normal((600, 12)), g.standard_normal((60, 12))
    new, b = (x @ turn + 0.1 * g.standard_normal(x.shape) for x in (old, a))
    if case in FAR_ROWS:
        side, place = FAR_ROWS[case]
        new[5] = place
        old[5] = place if side == "both" else old[5]
    old, new, a, b = ((x + OFFSETS.get(case, 0.0)).astype(dtype) for x in (old, new, a, b))
    result = upgrade(old, new, a, b, metric=metric)
    right = exact(b, new, 10, metric)
    for name in ("keep", "orthogonal", "affine"):
        points = b if name == "keep" else result.map(name)(b)
        found = share(exact(points, old, 10, metric), right).mean()
        assert option(result, name).new_model.value == pytest.approx(found, abs=0.004), name
    changed = 1 - share(exact(a, old, 10, metric), right).mean()
    assert result.changed == pytest.approx(changed, abs=0.004)


@pytest.mark.parametrize("sizes", [(1, 1e90), (1e-200, 1e90)])
def test_the_unit_of_a_model_does_not_matter(sizes):
    new, queries = (x @ TURN + 0.01 * np.sin(x) for x in (DOCUMENTS, QUERIES))
    plain = upgrade(DOCUMENTS, new, QUERIES, queries)
    before, after = sizes
    scaled = upgrade(before * DOCUMENTS, after * new, before * QUERIES, after * queries)
    for name in ("orthogonal", "affine", "documents_orthogonal", "documents_affine"):
        assert option(scaled, name).new_model == option(plain, name).new_model
        one, other = scaled.map(name), plain.map(name)
        rows, unit = (queries, (before, after)) if one.side == "queries" else (QUERIES, sizes[::-1])
        mapped = one(rows * unit[1]) / unit[0]
        np.testing.assert_allclose(mapped, other(rows), rtol=1e-6, atol=1e-6)


def test_cosines_that_differ_by_rounding_are_undefined_and_centring_is_the_remedy():
    far = [x * 1e-3 + 1e12 for x in (DOCUMENTS, DOCUMENTS, QUERIES, QUERIES)]
    with pytest.raises(rs.UndefinedError, match="centre the vectors first"):
        upgrade(*far, metric="cosine")
    near = [x - far[0].mean(axis=0) for x in far]
    assert upgrade(*near, metric="cosine").decision == "keep"


def test_bounds_of_groups_hold_for_all_of_them():
    g = np.random.default_rng(4)
    new, queries = (x @ TURN + g.standard_normal(x.shape) for x in (DOCUMENTS, QUERIES))
    result = upgrade(DOCUMENTS, new, QUERIES, queries, groups=CLASSES, k=K)
    shares = share(brute(result.map("affine")(queries), DOCUMENTS), brute(queries, new))
    for group in option(result, "affine").new_model.groups:
        values = np.append(shares[group.group == CLASSES], 0)
        error = values.std(ddof=1) / np.sqrt(len(values))
        bound = values.mean() - t.ppf(1 - 0.05 / 4 / 2, len(values) - 1) * error
        assert group.low == pytest.approx(max(0, bound), abs=1e-12)


def test_queries_that_are_documents_leave_themselves_out():
    some = np.arange(0, 1200, 6)
    documents, queries = with_ids(DOCUMENTS, np.arange(1200)), with_ids(DOCUMENTS[some], some)
    assert option(upgrade(documents, documents, queries, queries), "keep").new_model.value == 1
    with pytest.raises(ValueError, match=r"equal a document.*ids"):
        upgrade(DOCUMENTS, DOCUMENTS, DOCUMENTS[some], DOCUMENTS[some])


# --------------------------------------------------------------------------- options, by their cost


def test_the_decision_follows_from_what_happened_to_the_vectors(subtests):
    cases = {
        "keep": ((DOCUMENTS, QUERIES), "keep"),
        "map queries": ((TURNED, TURNED_QUERIES), "orthogonal"),
        "re-rank": (
            tuple(np.tanh(x) ** 3 for x in (TURNED, TURNED_QUERIES)),
            "rerank[documents_affine, 100]",
        ),
        "re-embed": (tuple(clusters(len(x), 7)[0][::-1] for x in (DOCUMENTS, QUERIES)), None),
    }
    for decision, ((new, queries), way) in cases.items():
        with subtests.test(decision):
            result = upgrade(DOCUMENTS, new, QUERIES, queries)
            assert (result.decision, result.option) == (decision, way)


def test_one_class_with_new_neighbors_is_to_be_embedded_again():
    new, queries = TURNED.copy(), TURNED_QUERIES.copy()
    new[DOCUMENT_CLASSES == 2] = clusters(1200, 5)[0][DOCUMENT_CLASSES == 2] @ TURN
    queries[CLASSES == 2] = clusters(200, 6)[0][CLASSES == 2] @ TURN
    labels = np.array(["a", "b", "moved", "d"])[CLASSES]
    options = {"groups": labels, "maps": ["orthogonal"], "min_recall": 0.8}
    result = upgrade(DOCUMENTS, new, QUERIES, queries, **options)
    assert option(result, "orthogonal").new_model.worst.group == "moved"
    assert (result.decision, result.groups) == ("re-embed a part", ("moved",))
    assert result.code == 1
    assert "moved" in result.conclusion


def nested(n: int, seed: int) -> np.ndarray:
    """Unit vectors whose first values matter most, as Matryoshka models give them."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(3).standard_normal((12, 32))
    x = fixed[g.integers(12, size=n)] + 0.7 * g.standard_normal((n, 32))
    return unit_rows(x * np.linspace(2, 0.2, 32))


WIDE = nested(1500, 0), nested(200, 1)
NARROW = [unit_rows(x[:, :16]) for x in WIDE]
LONG = [x * np.exp(0.6 * np.sin(9 * x.sum(axis=1, keepdims=True))) for x in WIDE]


@pytest.mark.parametrize(
    ("decision", "old", "new"),
    [
        ("cut", WIDE, NARROW),
        ("cut", NARROW, [np.hstack([x, 0 * x[:, :9]]) for x in NARROW]),
        ("cut", LONG, [x[:, :20] for x in LONG]),
        ("normalize", LONG, WIDE),
        ("keep", WIDE, [3 * x for x in WIDE]),
    ],
)
def test_what_can_be_done_to_stored_vectors_comes_before_maps(decision, old, new):
    result = upgrade(old[0], new[0], old[1], new[1])
    assert (result.decision, result.code) == (decision, 0)
    chosen = option(result, result.option)
    assert chosen.new_model.value == 1
    assert (chosen.embeds, chosen.n_parameters) == (0, 0)
    assert chosen.rebuild == (decision == "normalize" or old[0].shape[1] > new[0].shape[1])


def blurred(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of 24 latent directions; the old model is the noisier one."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(8)
    intermediates = fixed.standard_normal((24, 40)), fixed.standard_normal((24, 32))
    latent = g.standard_normal((n, 24))
    noisy = latent + 0.12 * g.standard_normal((n, 24))
    return unit_rows(noisy @ intermediates[0]), unit_rows(latent @ intermediates[1])


def test_candidates_are_re_ranked_and_a_part_is_re_embedded():
    (old, new), (a, b) = blurred(3000, 0), blurred(300, 1)
    result = upgrade(old, new, a, b)
    right = exact(b, new, 10, "euclidean")
    for base, points in {"orthogonal": result.map("orthogonal")(b), "old_queries": a}.items():
        found = exact(points, old, 200, "euclidean")
        for count in (20, 200):
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
    half = np.random.default_rng(0).permutation(3000)[:1500]
    stored = result.map("documents_affine")(old)  # of length 1, as new vectors are
    np.testing.assert_allclose(stored, unit_rows(stored))
    assert "3,000 documents" not in str(result.caveats)
    few = upgrade(old[:400], new[:400], a, b).caveats[-1]
    assert "advised 1,000 for a rotation and 2,000 for re-ranking; the recalls are for" in few
    stored[half] = new[half]
    assert recalls[1] == pytest.approx(
        share(exact(b, stored, 10, "euclidean"), right).mean(), abs=0.05
    )
    strict = upgrade(old, new, a, b, maps=[], min_recall=0.999)
    assert (strict.decision, strict.option, strict.code) == ("re-embed", None, 1)


def recall(low: float, groups: tuple[GroupRecall, ...] = ()) -> Recall:
    return Recall(low + 0.01, low, low + 0.02, 100, groups)


GOOD, POOR = GroupRecall("a", 0.95, 0.92, 70), GroupRecall("b", 0.5, 0.4, 30)
FEW = GroupRecall("c", 0.1, None, 3)


@pytest.mark.parametrize(
    ("lows", "groups", "expected"),
    [
        ((0.2, 0.95, 0.99), (), ("map queries", "orthogonal", ())),
        ((0.95, 0.95, 0.95), (GOOD, POOR), ("re-embed a part", "keep", ("b",))),
        ((0.95, 0.9, 0.9), (GOOD, FEW), ("keep", "keep", ())),
        ((0.95, 0.9, 0.9), (GOOD._replace(queries=30), POOR), ("re-embed", None, ())),
    ],
)
def test_the_first_option_that_passes_in_every_group_is_chosen(lows, groups, expected):
    named = enumerate(zip(("keep", "orthogonal", "affine"), lows))
    options = [Option(name, i, recall(low, groups), None) for i, (name, low) in named]
    assert choose_option(options, "new_model", 0.9, is_estimate=False) == expected


def test_prices_give_the_number_of_queries_that_pays():
    prices = {"cost_per_document": 2.0, "cost_per_miss": 0.5}
    result = upgrade(DOCUMENTS, DOCUMENTS @ STRETCH, QUERIES, QUERIES @ STRETCH, k=K, **prices)
    missed = 1 - option(result, "orthogonal").new_model.value
    assert result.break_even("orthogonal") == pytest.approx(1200 * 2.0 / (missed * K * 0.5))
    priced = [r["target"] for r in result.records() if r["break_even"] is not None]
    assert {*priced} == {"new_model"}
    same = upgrade(DOCUMENTS, DOCUMENTS, QUERIES, QUERIES, **prices)
    assert same.break_even("keep") == np.inf


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
    return tuple(with_ids(x[i], ids[i]) for i in (0, 1) for x in (old, new)), near


@pytest.mark.parametrize(("before", "after"), [(0.6, 0.2), (0.2, 0.6), (0.3, 0.3)])
def test_relevant_documents_say_whether_the_new_model_is_better(before, after):
    args, near = judged(before, after)
    result, is_better = upgrade(*args, relevant=near), before > after
    names = [[f"d{j}" for j in row] for row in brute(args[3].source, args[1].source, 10)]
    found = np.mean([len({*n} & {*near[f"q{i}"]}) / 3 for i, n in enumerate(names)])
    assert result.gain.new == pytest.approx(found)
    assert result.gain.low <= result.gain.difference <= result.gain.high
    assert (result.gain.low > 0) == is_better
    assert (result.decision == "stay") == (not is_better)
    assert is_better or result.code == 0
    words = result.details[0] if is_better else result.conclusion
    assert "of the relevant documents" in words


def test_relevant_documents_may_be_named_by_their_places():
    args, near = judged(0.2, 0.2)
    plain = (args[0].source, args[1].source, *(q.source for q in args[2:]))
    places = {int(q[1:]): [int(d[1:]) for d in of] for q, of in near.items()}
    gains = [upgrade(*args, relevant=near).gain, upgrade(*plain, relevant=places).gain]
    assert gains[0] == gains[1]
    with pytest.raises(ValueError, match="positions, as they have no ids"):
        upgrade(*plain, relevant=near)


# -------------------------------------------------------------------------------------- large index


def world(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of a space of fewer directions, by two models."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    centers, spread = fixed.standard_normal((8, 16)), fixed.standard_normal((8, 6, 16)) / 2
    c, z = g.integers(8, size=n), g.standard_normal((n, 6))
    old = centers[c] + np.einsum("ni,nij->nj", z, spread[c])
    new = old * np.exp(0.3 * fixed.standard_normal(16)) @ rotation(16)
    return unit_rows(old), unit_rows(new + 0.3 * g.standard_normal((n, 16)))


def test_a_pool_estimates_what_the_new_model_would_find():
    (old, new), queries = world(0, 12_000), world(1, 400)
    whole = upgrade(old, new, *queries)
    sizes: list[int] = []

    def embed(positions: np.ndarray) -> np.ndarray:
        sizes.append(len(positions))
        return new[positions]

    pool = upgrade(old[:3000], new[:3000], *queries, index=old, embed=embed)
    assert 0 < sum(sizes) < 200 * 200
    for name in ("orthogonal", "affine"):
        truth, found = option(whole, name), option(pool, name)
        assert found.new_model.low <= truth.new_model.value <= found.new_model.high + 0.02
        assert found.new_model.queries == 200
        assert found.old_model.value == pytest.approx(truth.old_model.value, abs=0.01)
    assert pool.changed == pytest.approx(whole.changed, abs=0.05)


def test_an_estimate_for_a_larger_index_never_says_to_keep():
    """Its recall is continued as a line of the logit over the logarithm of the size."""
    (old, new), queries = world(0, 12_000), world(1, 400)
    poor = upgrade(old[:2000], new[:2000], *queries, index=old)
    assert (poor.decision, poor.code) == ("undecided", 4)  # candidates to re-rank may be enough
    names = {name for name, *_ in poor.curve}
    assert names == {"keep", "orthogonal", "affine", "documents_orthogonal", "documents_affine"}
    sizes, values = zip(*((n, value) for name, n, value in poor.curve if name == "affine"))
    assert sizes == (250, 500, 1000, 2000, 12_000)
    line = np.polyfit(np.log(sizes[:-1]), logit(values[:-1]), 1)
    assert values[-1] == pytest.approx(expit(np.polyval(line, np.log(12_000))))
    a, b = queries[0], queries[0] @ rotation(16)
    fine = upgrade(old[:2000], old[:2000] @ rotation(16), a, b, index=old)
    assert fine.decision == "undecided"
    assert "embed" in fine.conclusion
    assert {o.candidates for o in poor.options if o.candidates and o.new_model} == {20, 50, 100}
    for n, k, needed in ((900, 10, "1,000"), (1200, 80, "1,280")):  # 2 k in an eighth of them
        few = upgrade(old[:n], new[:n], *queries, index=old, k=k)
        assert few.decision == "undecided"
        assert option(few, "affine").new_model is None
        assert f"fewer than {needed} documents" in option(few, "affine").reason
    by_old = upgrade(old[:900], old[:900], a, a, index=old, target="old_model")
    assert by_old.decision == "keep"


# ------------------------------------------------------------- queries and documents paired wrongly

SPREAD = TURN * np.linspace(0.8, 1.25, 12)
MODELS = {
    "rotation": lambda x, g: x @ TURN,
    "noisy linear map": lambda x, g: x @ SPREAD + 0.05 * g.standard_normal(x.shape),
    "curved": lambda x, g: np.tanh(x @ TURN / 8),
}
QUERY_ORDER = np.random.default_rng(1).permutation(200)
DOCUMENT_ORDER = np.random.default_rng(1).permutation(1200)
WRONG_PAIRS = {
    "exchanged": lambda x, y, a, b: (x, y, b, a),
    "document files are exchanged": lambda x, y, a, b: (y, x, a, b),
    "query files": lambda x, y, a, b: (x, y, a, a),
    "document files": lambda x, y, a, b: (x, x, a, b),
    "order of the queries": lambda x, y, a, b: (x, y, a, b[QUERY_ORDER]),
    "each by the model": lambda x, y, a, b: (x, y, a[:, ::-1] ** 2, b),
    "Pass the same documents": lambda x, y, a, b: (x, y[DOCUMENT_ORDER], a, b),
}


@pytest.mark.parametrize("model", MODELS)
def test_wrong_pairs_are_undecided_and_the_verdict_begins_with_the_check(model, subtests):
    g = np.random.default_rng(0)
    x, y, a, b = (DOCUMENTS, MODELS[model](DOCUMENTS, g), QUERIES, MODELS[model](QUERIES, g))
    assert upgrade(x, y, a, b).decision != "undecided"
    assert upgrade(x, y, a + 2, b - 1).decision != "undecided"  # queries with a prompt
    for check, pair in WRONG_PAIRS.items():
        with subtests.test(check):
            result = upgrade(*pair(x, y, a, b))
            assert (result.decision, result.option, result.code) == ("undecided", None, 4)
            words = "exchanged" if "exchanged" in check else check
            assert words in result.conclusion.partition(":")[0]
            assert ("query encoder" in result.conclusion) == (check == "document files")


def test_a_check_of_pairs_takes_39_queries_and_40_documents():
    for n_documents, n_queries in ((40, 39), (39, 39), (40, 38)):
        x, y = DOCUMENTS[:n_documents], TURNED[n_documents - 1 :: -1]
        result = upgrade(x, y, QUERIES[:n_queries], TURNED_QUERIES[:n_queries])
        is_found = result.conclusion.startswith("Pass the same documents")
        assert is_found == (n_documents + n_queries == 79)


def test_equal_files_are_a_caveat(folder, capsys):
    words = "are equal to the last bit: probably the same file twice"
    assert run(["drift", *["old_queries.npy"] * 2, "--n-resamples", "10"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Note: the reference and the current version {words}.\n")
    pairs = ["old_documents.npy", "old_documents.npy", "old_queries.npy", "old_queries.npy"]
    assert run(["upgrade-index", *pairs]) == 0
    lines = capsys.readouterr().out.splitlines()
    sides = ("old and new", "old_queries and new_queries")
    assert lines[2:4] == [f"Note: {side} {words}." for side in sides]
    arrays = {"a": QUERIES, "b": QUERIES + 1, "a2": QUERIES.copy()}
    evidence = rs.evidence(arrays, measures="cka", n_permutations=9, progress=False)
    assert evidence.caveats[0] == f"'a' and 'a2' {words}"


# ------------------------------------------------------------------------- refusals, unusual data

NUMBERED = with_ids(DOCUMENTS, np.arange(1200))
NAMES = [f"q{i}" for i in range(200)]
NAMED_QUERIES = pd.DataFrame(QUERIES, index=NAMES)
SHUFFLED = np.random.default_rng(0).permutation(1200)
JUDGED, NEAR = judged(0.2, 0.2)
SAME = {"old": DOCUMENTS, "new": DOCUMENTS, "old_queries": QUERIES, "new_queries": QUERIES}
OTHER = SAME | {"new": TURNED, "new_queries": TURNED_QUERIES}
PART = OTHER | {"old": DOCUMENTS[:600], "new": TURNED[:600]}
KNOWN = dict(zip(SAME, JUDGED))
MISTAKES = [
    (SAME | {"new": DOCUMENTS[:900]}, "1,200 documents.*900"),
    (SAME | {"new_queries": QUERIES[:90]}, "200 queries.*90"),
    (SAME | {"new": DOCUMENTS.T}, "Transpose the documents by the new model"),
    (SAME | {"old": DOCUMENTS.T}, "Transpose the documents by the old model"),
    (SAME | {"new_queries": QUERIES.T}, "Transpose the queries by the new model"),
    (SAME | {"new": DOCUMENTS[:, :9], "old_queries": QUERIES[:, :9]}, "same width"),
    (SAME | {"old": NUMBERED, "new": with_ids(DOCUMENTS, SHUFFLED)}, "order"),
    (SAME | {"old_queries": QUERIES[:1], "new_queries": QUERIES[:1]}, "20 queries"),
    (SAME | {"old": DOCUMENTS[:30], "new": DOCUMENTS[:30], "k": 20}, "40 documents"),
    (SAME | {"index": DOCUMENTS}, "leave out index"),
    (SAME | {"embed": len}, "index"),
    (SAME | {"new": np.where(DOCUMENTS > 9, np.nan, DOCUMENTS)}, "NaN"),
    (SAME | {"new_queries": QUERIES * np.nan}, "NaN"),
    (SAME | {"old": 1e200 * DOCUMENTS, "old_queries": 1e200 * QUERIES}, "unit"),
    (SAME | {"new": np.ones((1200, 3)), "new_queries": np.ones((200, 3))}, "same point"),
    (SAME | {"groups": np.zeros(1200)}, "groups"),
    (SAME | {"old_queries": NAMED_QUERIES, "groups": pd.Series(CLASSES, NAMES[::-1])}, "order"),
    (SAME | {"min_recall": 90}, "min_recall"),
    (SAME | {"target": "as_old"}, "old_model"),
    (SAME | {"maps": ["rotation"]}, "map"),
    (SAME | {"maps": "affine"}, "list"),
    (SAME | {"metric": "innner"}, "did you mean 'inner'"),
    (SAME | {"cost_per_document": 1}, "cost_per_miss"),
    (SAME | {"k": 0}, "k must"),
    (PART | {"index": DOCUMENTS, "embed": lambda p: DOCUMENTS[p, :3]}, "one new vector"),
    (PART | {"index": DOCUMENTS, "embed": lambda p: DOCUMENTS[p]}, "returned the old vectors"),
    (PART | {"index": unit_rows(DOCUMENTS), "embed": lambda p: TURNED[p]}, "of index are normal"),
    (OTHER | {"new_queries": unit_rows(TURNED_QUERIES)}, "queries by new are normalised"),
    (
        PART | {"index": DOCUMENTS, "embed": lambda p: unit_rows(TURNED[p])},
        "20 of 20 .*normalise vectors if",
    ),
    (PART | {"index": DOCUMENTS[SHUFFLED], "embed": lambda p: TURNED[p]}, "positions of the index"),
    (
        OTHER | {"old_queries": DOCUMENTS[:200] * (1 + 1e-6), "new_queries": TURNED[:200]},
        "200 of 200 queries",
    ),
    (dict.fromkeys(SAME, NUMBERED), "not queries"),
    (
        KNOWN | {"relevant": NEAR | {"q7": ["d5000"]}},
        r"'d5000'.*none of the 1,200 documents.*ids such as 'd0'",
    ),
    (KNOWN | {"relevant": NEAR | {"q900": ["d1"]}}, r"'q900'.*none of the 200 queries"),
    (KNOWN | {"relevant": NEAR | {"q3": []}}, "no document for query 'q3'; leave that query out"),
    (KNOWN | {"relevant": list(NEAR)}, "must map ids"),
    (KNOWN | {"relevant": dict(list(NEAR.items())[:3])}, r"at least 20 queries.*got 3"),
]


def test_mistakes_are_named(subtests):
    for call, words in MISTAKES:
        with subtests.test(words), pytest.raises(ValueError, match=words):
            upgrade(*(call[name] for name in SAME), **{k: call[k] for k in call if k not in SAME})


def test_unusual_data_are_fine(subtests):
    zeros = DOCUMENTS.copy()
    zeros[:7] = 0
    cases = {
        "float16": tuple(x.astype(np.float16) for x in SAME.values()),
        "integers": tuple((9 * x).astype(int) for x in SAME.values()),
        "zero vectors": (zeros, zeros, QUERIES, QUERIES),
        "few documents": (DOCUMENTS[:22], DOCUMENTS[:22], QUERIES, QUERIES),
    }
    for name, arrays in cases.items():
        with subtests.test(name):
            result = upgrade(*arrays, k=3)
            assert (result.decision, result.changed) == ("keep", 0)
    assert "24 documents" in option(upgrade(*cases["few documents"], k=3), "affine").reason
    groups = np.where(np.arange(200) < 3, "rare", "usual")
    result = upgrade(*SAME.values(), groups=groups)
    assert any("rare" in line for line in result.details)


# --------------------------------------------------------------------------------- what is written


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Files of documents and queries by an old model, by a rotated and by an unrelated one."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    for name, x in (("documents", DOCUMENTS), ("queries", QUERIES)):
        np.save(f"old_{name}.npy", x)
        np.save(f"turned_{name}.npy", x @ TURN)
        np.save(f"other_{name}.npy", g.standard_normal(x.shape))
        np.save(f"part_{name}.npy", x[:600] @ TURN)
    np.save("first_documents.npy", DOCUMENTS[:600])
    return tmp_path


def words(new: str, *options: str, old: str = "old") -> list[str]:
    names = (f"{old}_documents", f"{new}_documents", "old_queries", f"{new}_queries")
    return ["upgrade-index", *(f"{name}.npy" for name in names), *options]


def test_the_command_gives_what_the_function_does_and_saves_the_map(folder, capsys):
    (folder / "classes.csv").write_text("\n".join(f"c{c}" for c in CLASSES) + "\n")
    assert run(words("turned", "-q", "--map", "map.npz", "--groups", "classes.csv")) == 0
    saved = rs.load("map.npz")
    np.testing.assert_allclose(saved(TURNED_QUERIES), QUERIES, atol=1e-10)
    assert saved[-3:] == ("queries", False, False)
    np.savez("damaged.npz", **saved._asdict() | {"before": [0.0]})
    with pytest.raises(ValueError, match=r"damaged\.npz"):
        rs.load("damaged.npz")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Decision: map queries (option orthogonal)"
    assert lines[1].startswith("Keep the index, and map new queries with a rotation")
    assert lines[2].startswith("Note: 200 queries are fewer than the advised 300")
    assert "finds" not in "".join(lines[4:])
    options = ["--maps", "affine", "--confidence-level", "0.8", "--metric", "inner"]
    run(words("turned", "-q", *options, "--format", "json"))
    found = json.loads(capsys.readouterr().out)["options"]
    same = {"maps": ("affine",), "confidence_level": 0.8, "metric": "inner"}
    expected = upgrade(*OTHER.values(), **same).records()
    assert [row["option"] for row in found] == [row["option"] for row in expected]
    lows = [row["low"] for row in expected]
    assert [row["low"] for row in found] == pytest.approx(lows, nan_ok=True)


def test_the_command_estimates_for_a_larger_index(folder, capsys):
    (folder / "embed.py").write_text(
        "import numpy as np\n\n\ndef vectors(positions):\n"
        "    return np.load('turned_documents.npy')[positions]\n"
    )
    large = words("part", "-q", "--index", "old_documents.npy", old="first")
    assert run([*large, "--embed", "embed.py:vectors", "-o", "a.csv"]) == 0
    assert run(large) == 4
    assert "embed" in capsys.readouterr().out
    assert run([*large, "--map", "none.npz"]) == 4
    assert "no map written to none.npz: the decision is undecided" in capsys.readouterr().err
    assert not (folder / "none.npz").exists()
    assert run([*large, "--exit-zero"]) == 0
    wrong = ["old_documents", "turned_documents", "turned_queries", "old_queries"]
    assert run(["upgrade-index", *(f"{name}.npy" for name in wrong), "--map", "none.npz"]) == 4
    assert "\nCheck whether old_queries and new_queries are" in capsys.readouterr().out
    assert not (folder / "none.npz").exists()


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_command_reads_relevant_documents(folder, capsys, suffix):
    mark = "," if suffix == ".csv" else "\t"
    pairs = [(i, j) for i, row in enumerate(brute(QUERIES, DOCUMENTS, 2)) for j in row]
    (folder / f"pairs{suffix}").write_text("".join(f"{i}{mark}{j}\n" for i, j in pairs))
    assert run(words("other", "--relevant", f"pairs{suffix}", "--format", "json", "-q")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] == "stay"
    assert document["gain"]["high"] < 0


def test_mistakes_of_the_command_are_named(folder, capsys, subtests):
    (folder / "unknown.csv").write_text("query,document\n3,5000\n")
    (folder / "wide.csv").write_text("3,5,7\n")
    (folder / "latin.csv").write_bytes("3,ä\n".encode("latin-1"))
    for options, message in (
        (["--maps", "afine"], "no map 'afine'; did you mean 'affine'"),
        (["--confidence-level", "2"], "--confidence-level"),
        (["--metric", "inne"], "did you mean 'inner'"),
        (["--map", "none/map.npz"], "the folder none does not exist"),
        (["--relevant", "unknown.csv"], "--relevant names 5000"),
        (["--relevant", "wide.csv"], "line 1: 3 columns"),
        (["--relevant", "latin.csv"], "--relevant: latin.csv is not UTF-8 (byte 2)"),
    ):
        with subtests.test(message):
            assert run(words("turned", *options)) == 2
            assert message in capsys.readouterr().err


def test_every_decision_has_a_code_on_the_page_of_the_documentation():
    text = (Path(__file__).parents[2] / "docs" / "upgrade.md").read_text("utf-8")
    for decision, code in DECISION_EXIT_CODES.items():
        assert re.search(rf"^\| `{decision}` \|.*\| {code} \|$", text, re.MULTILINE), decision


def test_the_table_of_a_real_pair_is_what_its_stored_numbers_make():
    stored = json.loads(upgrade_pair.MEASURED.read_text("utf-8"))
    assert upgrade_pair.TABLE.read_text("utf-8") == upgrade_pair.table_of(stored)
