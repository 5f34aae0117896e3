"""An old index under a new model: maps undo what they can, recalls are exact, and the decision."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestNeighbors

import resemblance as rs
from resemblance.cli import run
from resemblance.drift import bridges
from resemblance.drift.advice import GroupRecall, Option, Recall, decide
from resemblance.drift.bridges import affine, moments, orthogonal
from resemblance.drift.recalls import larger
from resemblance.drift.retrieval import Rows, rows_of
from resemblance.report import write_page

K = 5


def rotation(d: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def clusters(n: int, seed: int, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Points of four classes, and their classes."""
    g, centres = np.random.default_rng(seed), np.random.default_rng(9).standard_normal((4, d))
    labels = np.arange(n) % 4
    return 4 * centres[labels] + g.standard_normal((n, d)), labels


DOCUMENTS, _ = clusters(1200, 1)
QUERIES, CLASSES = clusters(200, 2)


def rows(x: np.ndarray) -> Rows:
    return rows_of(rs.Representation(x))


def named(x: np.ndarray, ids: np.ndarray) -> rs.Representation:
    return rs.Representation(x, ids=ids)


def option(result: rs.Upgrade, name: str) -> Option:
    return next(o for o in result.options if o.name == name)


def brute(points: np.ndarray, index: np.ndarray, k: int = K) -> np.ndarray:
    return NearestNeighbors(n_neighbors=k).fit(index).kneighbors(points, return_distance=False)


def share(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (found[:, :, None] == right[:, None]).any(axis=1).mean(axis=1)


# -------------------------------------------------------------------------------------------- maps


def test_an_orthogonal_map_undoes_rotation_shift_and_scale() -> None:
    new = 3 * DOCUMENTS @ rotation(12) + 5
    bridge = orthogonal(moments(rows(new), rows(DOCUMENTS), np.arange(1200)))
    np.testing.assert_allclose(bridge(new), DOCUMENTS, atol=1e-12)


def test_an_affine_map_is_ridge_regression_with_the_least_validation_error() -> None:
    g = np.random.default_rng(3)
    target = DOCUMENTS @ g.standard_normal((12, 7)) + 2 * g.standard_normal((1200, 7))
    bridge = affine(moments(rows(DOCUMENTS), rows(target), np.arange(1200)))
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
    whole = moments(rows(DOCUMENTS), rows(DOCUMENTS[:, :5]), np.arange(1200))
    monkeypatch.setattr(bridges, "HEIGHT", 7)
    parts = moments(rows(DOCUMENTS), rows(DOCUMENTS[:, :5]), np.arange(1200))
    for one, other in zip(whole, parts):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(whole.spread, np.cov(DOCUMENTS.T, bias=True), atol=1e-12)


# ----------------------------------------------------------------------------------------- recalls


def test_recalls_are_those_of_an_exact_search() -> None:
    g = np.random.default_rng(4)
    turn = rotation(12) * np.linspace(0.5, 2, 12)
    new = DOCUMENTS @ turn + 0.4 * g.standard_normal(DOCUMENTS.shape)
    queries = QUERIES @ turn + 0.4 * g.standard_normal(QUERIES.shape)
    result = rs.upgrade(DOCUMENTS, new, (QUERIES, queries), k=K)
    after, before = brute(queries, new), brute(QUERIES, DOCUMENTS)
    for way in result.options:
        points = queries if way.name == "keep" else result.map(way.name)(queries)
        hits = brute(points, DOCUMENTS)
        for truth, right in (("as_new", after), ("as_before", before)):
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
        rs.upgrade(
            DOCUMENTS + c,
            DOCUMENTS @ change + c,
            (QUERIES + c, QUERIES @ change + c),
            maps=["orthogonal"],
            progress=False,
        )
        for c in (0, offset)
    )
    assert option(there, "keep").as_new == option(here, "keep").as_new
    assert here.decision == there.decision == "re-embed"


def test_a_rotation_is_bridged_and_equal_models_keep_their_index(subtests) -> None:
    turn = rotation(12)
    cases = {
        "keep": ((DOCUMENTS, QUERIES), "keep"),
        "bridge": ((DOCUMENTS @ turn, QUERIES @ turn), "orthogonal"),
        "re-embed": (tuple(np.tanh(x @ turn) ** 3 for x in (DOCUMENTS, QUERIES)), None),
    }
    for decision, ((new, queries), way) in cases.items():
        with subtests.test(decision):
            result = rs.upgrade(DOCUMENTS, new, (QUERIES, queries))
            assert (result.decision, result.option) == (decision, way)


def test_a_linear_map_is_bridged_to_other_widths() -> None:
    g = np.random.default_rng(5)
    wide = g.standard_normal((12, 20))
    result = rs.upgrade(
        DOCUMENTS, DOCUMENTS @ wide, (QUERIES, QUERIES @ wide), goal="as_before", k=K
    )
    assert result.option == "affine"
    assert option(result, "affine").as_before.value == 1
    assert "widths differ" in option(result, "keep").reason
    assert result.map()(QUERIES @ wide).shape == QUERIES.shape
    np.testing.assert_allclose(result.map()(QUERIES @ wide), QUERIES, atol=1e-5)


def test_one_class_with_new_neighbours_is_to_be_embedded_again() -> None:
    (documents, classes), turn = clusters(1200, 1), rotation(12)
    new, queries = documents @ turn, QUERIES @ turn
    new[classes == 2] = clusters(1200, 5)[0][classes == 2] @ turn
    queries[CLASSES == 2] = clusters(200, 6)[0][CLASSES == 2] @ turn
    labels = np.array(["a", "b", "moved", "d"])[CLASSES]
    result = rs.upgrade(
        documents, new, (QUERIES, queries), groups=labels, maps=["orthogonal"], accept=0.8
    )
    assert option(result, "orthogonal").as_new.worst.group == "moved"
    assert (result.decision, result.groups) == ("bridge", ("moved",))
    assert "moved" in result.verdict


def test_bounds_of_groups_hold_for_all_of_them() -> None:
    g, turn = np.random.default_rng(4), rotation(12)
    new, queries = (x @ turn + g.standard_normal(x.shape) for x in (DOCUMENTS, QUERIES))
    result = rs.upgrade(DOCUMENTS, new, (QUERIES, queries), groups=CLASSES, k=K)
    shares = share(brute(result.map("affine")(queries), DOCUMENTS), brute(queries, new))
    for group in option(result, "affine").as_new.groups:
        values = np.append(shares[group.group == CLASSES], 0)
        error = values.std(ddof=1) / np.sqrt(len(values))
        bound = values.mean() - t.ppf(1 - 0.05 / 4 / 2, len(values) - 1) * error
        assert group.low == pytest.approx(max(0, bound), abs=1e-12)


def test_queries_that_are_documents_leave_themselves_out() -> None:
    ids = np.arange(1200)
    some = ids[::6]
    args = [named(DOCUMENTS, ids), named(DOCUMENTS, ids)]
    pair = (named(DOCUMENTS[some], some), named(DOCUMENTS[some], some))
    result = rs.upgrade(*args, pair, k=K)
    assert option(result, "keep").as_new.value == 1
    with pytest.raises(ValueError, match=r"equal a document.*ids"):
        rs.upgrade(DOCUMENTS, DOCUMENTS, (DOCUMENTS[some], DOCUMENTS[some]))


# -------------------------------------------------------------------------------------- large index


def world(seed: int, n: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of a space of fewer directions, by two models."""
    g, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    centres, spread = fixed.standard_normal((8, 16)), fixed.standard_normal((8, 6, 16)) / 2
    c, z = g.integers(8, size=n), g.standard_normal((n, 6))
    old = centres[c] + np.einsum("ni,nij->nj", z, spread[c])
    new = old * np.exp(0.3 * fixed.standard_normal(16)) @ rotation(16)
    new = new + noise * g.standard_normal((n, 16))
    return tuple(x / np.linalg.norm(x, axis=1, keepdims=True) for x in (old, new))


def test_a_pool_estimates_what_the_new_model_would_find() -> None:
    (old, new), queries = world(0, 12_000), world(1, 400)
    exact = rs.upgrade(old, new, queries)
    sizes: list[int] = []

    def embed(positions: np.ndarray) -> np.ndarray:
        sizes.append(len(positions))
        return new[positions]

    pool = rs.upgrade(old[:3000], new[:3000], queries, index=old, embed=embed)
    assert 0 < sum(sizes) < 200 * 200
    for way in ("orthogonal", "affine"):
        truth, recall = option(exact, way).as_new, option(pool, way).as_new
        assert recall.low <= truth.value <= recall.high + 0.02
        assert recall.queries == 200
        before = option(pool, way).as_before
        assert before.value == pytest.approx(option(exact, way).as_before.value, abs=0.01)
    assert pool.changed == pytest.approx(exact.changed, abs=0.05)


def test_vectors_in_other_batches_order_or_precision_give_the_same(subtests) -> None:
    (old, new), queries = world(0, 6000), world(1, 200)
    order, noise = np.random.default_rng(0).permutation(6000), 1 + 1e-6 * np.sin(new)
    args, half = (old[:2000], new[:2000], queries), new.astype(np.float16)
    exact = rs.upgrade(*args, index=old, embed=lambda p: new[p])
    cases = {
        "index in half precision": (old.astype(np.float16), lambda p: new[p]),
        "new vectors in half precision": (old, lambda p: half[p]),
        "other batches": (old, lambda p: new[p] * noise[p]),
        "index in another order": (old[order], lambda p: new[order[p]]),
    }
    for name, (index, embed) in cases.items():
        with subtests.test(name):
            result = rs.upgrade(*args, index=index, embed=embed)
            assert result.decision == exact.decision
            for one, other in zip(result.options, exact.options):
                assert one.as_new.value == pytest.approx(other.as_new.value, abs=0.005)


def test_an_estimate_for_a_larger_index_never_says_bridge() -> None:
    (old, new), queries = world(0, 12_000), world(1, 400)
    poor = rs.upgrade(old[:2000], new[:2000], queries, index=old)
    assert poor.decision == "re-embed"
    names = {name for name, *_ in poor.curve}
    assert names == {"keep", "orthogonal", "affine"}
    assert [n for name, n, _ in poor.curve if name == "affine"] == [250, 500, 1000, 2000, 12_000]
    fine = rs.upgrade(
        old[:2000], old[:2000] @ rotation(16), (queries[0], queries[0] @ rotation(16)), index=old
    )
    assert fine.decision == "undecided"
    assert "embed" in fine.verdict
    few = rs.upgrade(old[:900], new[:900], queries, index=old)
    assert few.decision == "undecided"
    assert option(few, "affine").as_new is None
    assert "1,000" in option(few, "affine").reason
    by_old = rs.upgrade(old[:900], old[:900], (queries[0], queries[0]), index=old, goal="as_before")
    assert by_old.decision == "keep"


def test_a_recall_is_continued_as_a_line_of_its_logit() -> None:
    sizes = np.array([100, 200, 400, 800])
    logits = 2 - 0.3 * np.log(sizes)
    value = larger(sizes, 1 / (1 + np.exp(-logits)), 10_000)
    assert value == pytest.approx(1 / (1 + np.exp(-(2 - 0.3 * np.log(10_000)))))


# ---------------------------------------------------------------------------------------- decision


def recall(low: float, groups: tuple[GroupRecall, ...] = ()) -> Recall:
    return Recall(low + 0.01, low, low + 0.02, 100, groups)


def test_the_decision_takes_the_fewest_numbers_that_are_enough(subtests) -> None:
    good, poor = GroupRecall("a", 0.95, 0.92, 70), GroupRecall("b", 0.5, 0.4, 30)
    few = GroupRecall("c", 0.1, None, 3)
    cases = {
        "first that is enough": ((0.2, 0.95, 0.99), (), ("bridge", "orthogonal", ())),
        "none is": ((0.2, 0.5, 0.89), (), ("re-embed", None, ())),
        "one group fails": ((0.2, 0.91, 0.95), (good, poor), ("bridge", "keep", ("b",))),
        "few queries are not judged": ((0.95, 0.9, 0.9), (good, few), ("keep", "keep", ())),
        "most fail": ((0.95, 0.9, 0.9), (good._replace(queries=10), poor), ("re-embed", None, ())),
    }
    for name, (lows, groups, (decision, way, again)) in cases.items():
        options = [
            Option(n, i, recall(low, groups), None)
            for i, (n, low) in enumerate(zip(("keep", "orthogonal", "affine"), lows))
        ]
        with subtests.test(name):
            result = decide(options, "as_new", 0.9, is_estimate=False)
            expected = "keep" if way == "keep" else decision
            assert (result.name, result.option, result.groups) == (expected, way, again)


def test_prices_give_the_number_of_queries_that_pays() -> None:
    turn = rotation(12) * np.linspace(0.5, 2, 12)
    result = rs.upgrade(
        DOCUMENTS, DOCUMENTS @ turn, (QUERIES, QUERIES @ turn), k=K, price=2.0, loss=0.5
    )
    missed = 1 - option(result, "orthogonal").as_new.value
    assert result.break_even("orthogonal") == pytest.approx(1200 * 2.0 / (missed * K * 0.5))
    same = rs.upgrade(DOCUMENTS, DOCUMENTS, (QUERIES, QUERIES), price=1, loss=1)
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
    "one array of queries": ((DOCUMENTS, DOCUMENTS, QUERIES), {}, "pair"),
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
    "a share in percent": ((DOCUMENTS, DOCUMENTS, PAIR), {"accept": 90}, "accept"),
    "a goal": ((DOCUMENTS, DOCUMENTS, PAIR), {"goal": "as_old"}, "as_before"),
    "a map": ((DOCUMENTS, DOCUMENTS, PAIR), {"maps": ["rotation"]}, "map"),
    "maps as a word": ((DOCUMENTS, DOCUMENTS, PAIR), {"maps": "affine"}, "list"),
    "a price alone": ((DOCUMENTS, DOCUMENTS, PAIR), {"price": 1}, "loss"),
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
            rs.upgrade(*arguments, **options)


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
            result = rs.upgrade(old, new, pair, k=3)
            assert (result.decision, result.changed) == ("keep", 0)
    few = rs.upgrade(DOCUMENTS[:22], DOCUMENTS[:22], PAIR, k=3)
    assert "24 documents" in option(few, "affine").reason
    groups = np.where(np.arange(200) < 3, "rare", "usual")
    result = rs.upgrade(DOCUMENTS, DOCUMENTS, PAIR, groups=groups)
    assert any("rare" in line for line in result.lines)


# --------------------------------------------------------------------------------- what is written


def test_what_is_written_has_the_same_numbers(tmp_path) -> None:
    turn = rotation(12)
    result = rs.upgrade(DOCUMENTS, DOCUMENTS @ turn, (QUERIES, QUERIES @ turn), groups=CLASSES)
    result.save(tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["decision"] == "bridge"
    assert len(document["options"]) == len(result.to_pandas()) == 6
    write_page(result, tmp_path / "a.html")
    assert "mapped" not in result.verdict
    text = (tmp_path / "a.html").read_text()
    assert "An old index under a new model" in text
    assert result.verdict.split(":")[0] in text
    with pytest.raises(ValueError, match=r"\.csv"):
        result.save(tmp_path / "a.xlsx")
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
    four = ["upgrade", "old.npy", "new.npy", "q.npy", "p.npy", "-q"]
    assert run([*four, "--map", "map.npz", "--groups", "classes.csv"]) == 0
    saved = np.load("map.npz")
    mapped = saved["after"] + saved["factor"] * (arrays["p"] - saved["before"]) @ saved["matrix"]
    np.testing.assert_allclose(mapped, QUERIES, atol=1e-10)
    assert "rotation" in capsys.readouterr().out
    large = [*four, "--index", "all.npy"]
    assert run([*large, "--embed", "embed.py:vectors", "-o", "a.csv"]) == 0
    assert run(large) == 1
    assert "embed" in capsys.readouterr().out
    assert run([*large, "--map", "none.npz"]) == 2
    assert run(["upgrade", "old.npy", "q.npy", "q.npy", "p.npy"]) == 2
