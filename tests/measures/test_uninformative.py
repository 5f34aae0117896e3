"""Values that mean nothing: what a measure says of them is exact, and is said wherever the value is
given."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import resemblance as rs
from resemblance.data.inputs import TRANSPOSED_HINT
from resemblance.intermediates.spectra import root_flatness_bounds
from resemblance.measures.inner_products import MIN_CEILING_SHARE, warn_near_ceiling

WIDTH = 12
EXACT = [
    "mean_cca", "mean_cca[aggregation=mean_squared]", "mean_cca[divisor=width]",
    "svcca[explained_variance=1.0]", "pwcca", "pwcca[weights=second]", "pwcca[weights=symmetric]",
    "pwcca[directions=all]", "linear_regression", "linear_regression[predict=first]", "gulp",
    "gulp[squared=True]", "gulp[ridge=0.1]", "eigenspace_overlap", "subspace_overlap",
    "subspace_overlap[k=3]", "shape_distance[alpha=0.0]", "shape_distance", "cka",
    "cka[kernel=rbf]", "cka[kernel=cosine]", "distance_correlation", "procrustes", "angular_shape",
    "nbs", "pwcka", "ensd", "riemannian", "jaccard[k=4]", "mutual_knn[k=4]",
    "mutual_knn[corrected=True,k=4]", "information_imbalance[k=4]",
    "information_imbalance[corrected=True,k=4]", "cka[estimator=debiased]", "rsa",
    "magnitude_difference",
]  # fmt: skip


def noise(n: int, d: int, seed: int, rank: int | None = None) -> rs.Representation:
    rng = np.random.default_rng([n, d, seed])
    points = rng.standard_normal((n, d if rank is None else rank))
    return rs.Representation(points if rank is None else points @ rng.standard_normal((rank, d)))


def pairs(n: int, kind: str) -> list[tuple[rs.Representation, rs.Representation]]:
    """Pairs of unrelated representations, of full rank or not, of one width or of two."""
    d, e = (WIDTH, WIDTH) if kind == "equal" else (WIDTH, 4) if kind == "narrow" else (4, WIDTH)
    rank = 3 if kind == "low rank" else None
    return [(noise(n, d, 2 * t, rank), noise(n, e, 2 * t + 1, rank)) for t in range(3)]


def test_a_value_is_fixed_exactly_where_that_is_said(subtests):
    for kind in ["equal", "narrow", "wide", "low rank"]:
        for spec in EXACT:
            with subtests.test(f"{kind}, {spec}"):
                measure = rs.get_measure(spec)
                seen = set()
                for n in (2, 3, 4, 5, 6, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH + 2, 40):
                    if n < measure.min_samples:
                        continue
                    values, said = [], set()
                    for x, y in pairs(n, kind):
                        try:
                            values.append(measure.evaluate(x, y))
                        except rs.UndefinedError:
                            continue
                        said.add(measure.caveat(x, y).startswith("fixed"))
                    if values:
                        assert len(said) == 1
                        assert (np.ptp(values) < 1e-9) == said.pop(), (n, values)
                        seen.add(n)
                assert len(seen) > 5


def test_what_is_fixed_for_one_reading_of_the_correlations_is_not_for_another():
    """All directions of x count: what y cannot reach lowers the value by how much of x it is."""
    x, y = noise(8, WIDTH, 0), noise(8, 3, 1)
    assert rs.pwcca.caveat(x, y).startswith("fixed")
    assert not rs.pwcca.with_parameters(directions="all").caveat(x, y)
    assert rs.pwcca.with_parameters(directions="all").caveat(y, x).startswith("fixed")


ROTATION_MEASURES = [rs.procrustes, rs.nbs, rs.bures, rs.angular_shape, rs.procrustes_size_shape]


def flatness(points: np.ndarray) -> float:
    singular = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return singular.sum() / np.linalg.norm(singular) / (len(points) - 1) ** 0.5


def test_measures_after_a_rotation_warn_by_the_flatness_of_both_spectra(subtests):
    """The words are those of all singular values, also where bounds replace the values."""
    seen = set()
    for n, d, steep in itertools.product((12, 60), (9, 12, 50, 60, 90, 200, 1500), (0, 0.3, 1, 3)):
        with subtests.test(f"{n} x {d}, {steep}"):
            rng = np.random.default_rng([n, d])
            sizes = np.exp(steep * rng.standard_normal(d))
            x, y = (rs.Representation(sizes * rng.standard_normal((n, d))) for _ in range(2))
            words = warn_near_ceiling(n, flatness(x.array) * flatness(y.array))
            expected = words if rs.nbs.evaluate(x, y) >= MIN_CEILING_SHARE else ""
            hint = TRANSPOSED_HINT if expected and d >= 4 * n else ""
            assert {m.caveat(x, y) for m in ROTATION_MEASURES} == {expected + hint}
            low, high = root_flatness_bounds(x)
            assert low <= flatness(x.array) <= high
            seen.add(expected.partition("come ")[2][:2])
    assert seen == {"", "80", "90", "95", "99"}


def test_a_pair_less_similar_than_chance_near_the_ceiling_has_no_caveat():
    """Large directions of x are small in y, so the value is far below that of unrelated data."""
    basis = np.linalg.qr(np.c_[np.ones(41), noise(41, 40, 0).array])[0][:, 1:]
    sizes = np.repeat([1.0, 2.5], 20)
    x, y = basis * sizes, basis * sizes[::-1]
    assert flatness(x) * flatness(y) > MIN_CEILING_SHARE
    assert rs.nbs(x, y) == pytest.approx(2 * 2.5 / (1 + 2.5**2))
    with pytest.warns(rs.UninformativeWarning, match="80 % of the way"):
        rs.nbs(x, basis * sizes)


def test_a_representation_with_itself_has_no_caveat():
    x = noise(8, WIDTH, 0)
    assert not rs.mean_cca.caveat(x, x)
    assert rs.compare([x.array, x.array], measures="mean_cca", progress=False).diagnostics == ()


# --------------------------------------------------------------------------------- where it is said


@pytest.fixture
def few(tmp_path):
    x, y = noise(10, 64, 0).array, noise(10, 64, 1).array
    np.save(tmp_path / "a.npy", x)
    np.save(tmp_path / "b.npy", y)
    return x, y


def test_a_call_warns_at_the_line_of_the_caller(few):
    with pytest.warns(
        rs.UninformativeWarning, match=r"^mean_cca: fixed .*10 .*did you pass \(n_features"
    ) as caught:
        rs.mean_cca(*few)
    assert caught[0].filename == __file__
    with pytest.warns(rs.UninformativeWarning, match="^cka: little above chance"):
        rs.cka(*few)


def test_a_comparison_records_it_and_does_not_warn(few, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = rs.compare(
            dict(zip("ab", few)),
            measures=["mean_cca", "rsa"],
            save=tmp_path / "c.db",
            progress=False,
        )
    caveats = [r for r in result.diagnostics if r.name == "caveat"]
    assert {(r.measure, r.x, r.y) for r in caveats} == {
        ("mean_cca", "a", "b"),
        ("mean_cca", "b", "a"),
    }
    assert rs.load(tmp_path / "c.db").diagnostics == result.diagnostics
    said = caveats[0].value
    assert said.startswith("fixed by the number of samples")
    records = [r["caveat"] for r in result.records() if r["measure"] == "mean_cca"]
    assert records == [None, said, said, None]
    assert f"{said} (2 values)" in repr(result)
    assert said in result._repr_html_()


# -------------------------------------------------------------------------------- transposed arrays


def test_arrays_that_look_transposed(subtests):
    for shapes, hint in [
        (((16, 200), (200, 12)), "Transpose X."),
        (((200, 12), (16, 200)), "Transpose Y."),
        (((16, 200), (12, 200)), "Transpose both."),
        (((64, 500), (32, 500)), "Transpose both."),
    ]:
        with subtests.test(f"{hint}"):
            x, y = (np.random.default_rng(0).standard_normal(shape) for shape in shapes)
            with pytest.raises(
                ValueError, match=rf"did you pass \(n_features, n_samples\)\? {hint}"
            ):
                rs.cka(x, y)
            named = hint.replace("X", "'first'").replace("Y", "'second'")
            with pytest.raises(ValueError, match=named):
                rs.compare({"first": x, "second": y}, measures="cka")


def test_outputs_without_a_column_for_each_class(subtests):
    classes = np.arange(30) % 3
    first, second = np.eye(3)[classes], np.eye(3)[(classes + 1) % 3]
    of_labels = rs.accuracy_difference.with_parameters(labels=classes)
    for measure in (rs.disagreement, rs.jensen_shannon, of_labels):
        with subtests.test(str(measure.name)):
            with pytest.warns(rs.UninformativeWarning, match=r"'X' has one column.*np.eye"):
                measure(classes[:, None], 2 - classes[:, None])
            measure(2 * first, 2 * second)
    with pytest.warns(rs.UninformativeWarning, match=r"up to 3, and .*'X' has 3 columns"):
        rs.accuracy_difference(first, second, labels=tuple(classes + 1))


def test_dissimilarities_taken_for_features_are_said():
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((24, 10)), rng.random((24, 24))
    R = R + R.T
    graph = np.triu(rng.random((24, 24)) < 0.3, 1).astype(float)
    features = [R.copy(), R - 2 * np.triu(R, 1), R[:, :20], graph + graph.T]
    np.fill_diagonal(R, 0)
    for Y in (X, *features):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rs.rsa(X, Y)
    for measure in ("rsa", "rsa[rdm=sqeuclidean]", "procrustes"):
        with pytest.warns(rs.UninformativeWarning, match="24 x 24, symmetric.*from_dissim"):
            rs.get_measure(measure)(X, R)
    for Z in (X, X.astype("f4")):
        with pytest.warns(rs.UninformativeWarning, match="24 x 24, symmetric"):
            rs.rsa(X, 1 - np.corrcoef(Z, dtype=Z.dtype))
    with pytest.warns(rs.UninformativeWarning, match="fixed|24 x 24") as both:
        rs.linear_regression(R, R + 0)
    assert len(both) == 2
    both = rs.compare({"X": X, "R": R}, measures=["rsa", "cka"], progress=False)
    assert "24 x 24, symmetric" in repr(both)
    assert "24 x 24, symmetric" in repr(rs.evidence(X, R, measures="rsa", progress=False))


# ----------------------------------------------------------------- one list of caveats, by command


def wide_feature(x: np.ndarray) -> np.ndarray:
    return x * np.where(np.arange(x.shape[1]) == 7, 60.0, 1.0)


def far_sample(x: np.ndarray) -> np.ndarray:
    return x * np.where(np.arange(len(x)) == 7, 200.0, 1.0)[:, None]


def distances(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(x[:, None] - x, axis=2))


CAVEATS = {
    "copies": (lambda x: x[np.arange(40) % 10], "30 of 40 samples are duplicates of other samples"),
    "dissimilarities": (distances, "40 x 40, symmetric, zeros on the diagonal"),
    "inner products": (lambda x: x @ x.T, "40 x 40 and symmetric"),
    "correlations": (lambda x: np.corrcoef(x), "40 x 40 and symmetric"),
    "a feature": (wide_feature, "feature 7 has"),
    "a sample": (far_sample, "sample 7 has"),
}


def warnings_of_call(x: np.ndarray, y: np.ndarray) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rs.procrustes(x, y)
    return [str(w.message) for w in caught if w.category is rs.UninformativeWarning]


def caveats_of_upgrade(x: np.ndarray, y: np.ndarray) -> list[str]:
    queries = np.random.default_rng(9).standard_normal((20, x.shape[1]))
    return list(rs.upgrade_index(x, y, queries, queries, k=2, progress=False).caveats)


QUIET = {"progress": False}
COMMANDS = {
    "a call": warnings_of_call,
    "compare": lambda x, y: rs.compare([x, y], measures="cka", **QUIET).caveats,
    "evidence": lambda x, y: rs.evidence(x, y, measures="cka", n_permutations=9, **QUIET).caveats,
    "score-models": lambda x, y: rs.score_models({"m": x + y}, {"a": x, "b": y}, **QUIET).caveats,
    "drift": lambda x, y: rs.drift(x, y, n_resamples=10, **QUIET).caveats,
    "upgrade": caveats_of_upgrade,
}


@pytest.mark.parametrize("caveat", CAVEATS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_every_caveat(command, caveat):
    change, words = CAVEATS[caveat]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 12))
    y = x + 0.3 * rng.standard_normal((40, 12))
    if (command, caveat) == ("score-models", "dissimilarities"):  # which refuses these
        with pytest.raises(ValueError, match="from_dissimilarities"):
            COMMANDS[command](change(x), change(y))
        return
    assert not any("of the variance" in c or "copies" in c for c in COMMANDS[command](x, y))
    assert any(words in c for c in COMMANDS[command](change(x), change(y)))


@pytest.mark.parametrize("change", [lambda x: x.astype("f4"), lambda x: 2 * x, np.copy])
def test_subjects_are_the_same_whatever_their_unit_and_precision(change):
    rng = np.random.default_rng(0)
    base = rng.standard_normal((20, 6))
    subjects = {f"s{i}": base + rng.standard_normal(base.shape) for i in range(3)}
    copied = change(subjects["s0"])
    notes = rs.score_models({"m": base}, subjects | {"s3": copied}, progress=False).caveats
    assert any("subjects have the same data: 's0', 's3'" in words for words in notes)
    notes = rs.score_models({"m": copied}, subjects, progress=False).caveats
    assert any("models have the data of subjects: 'm' is 's0'" in words for words in notes)
    assert not any("data" in words for words in rs.score_models({"m": base}, subjects).caveats)


def test_remedies_of_caveats_give_the_value_of_the_features():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 6)), rng.standard_normal((30, 6))
    of = []
    for z in (x, y):
        w, v = np.linalg.eigh(z @ z.T)
        of.append(v * np.sqrt(np.maximum(w, 0)))
    assert rs.cka(*of) == pytest.approx(rs.cka(x, y))
    given = [rs.from_dissimilarities(rs.rdm(z)) for z in (x, y)]
    assert rs.rsa(*given) == pytest.approx(rs.rsa(x, y))
    items = np.arange(30) % 10
    means = [rs.condition_means(z[items], rs.duplicate_labels(z[items])) for z in (x, y)]
    assert rs.mutual_knn(*means, k=3) == pytest.approx(rs.mutual_knn(x[:10], y[:10], k=3))


def test_probabilities_are_no_logits_and_logits_no_probabilities():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), 30), rng.dirichlet(np.ones(5), 30)
    logits, labels = rng.standard_normal((30, 5)), np.arange(30) % 3
    spoilt = np.r_[p[:-1], 3 * p[-1:]]
    for named, outputs in (
        ("probabilities", spoilt),
        ("probabilities", p.round(2)),
        ("percentages", 100 * p),
    ):
        with pytest.raises(rs.UndefinedError, match=f"are {named}"):
            rs.jensen_shannon(outputs, q)
    for outputs in (p, p.astype("f2"), np.eye(5)[np.arange(30) % 5]):
        with pytest.raises(rs.UndefinedError, match='outputs="probabilities"'):
            rs.jensen_shannon(outputs, q)
        with pytest.raises(ValueError, match='outputs="probabilities"'):
            rs.statistics.leep(outputs, labels)
        assert 0 < rs.jensen_shannon(outputs, q, outputs="probabilities") < 1
        assert np.isfinite(rs.statistics.leep(outputs, labels, outputs="probabilities"))
    with pytest.raises(rs.UndefinedError, match='outputs="logits"'):
        rs.jensen_shannon(logits, logits + 1, outputs="probabilities")
    reasons = rs.compare([p, q], measures="jensen_shannon", progress=False).failures
    assert 'outputs="probabilities"' in reasons[0].reason
