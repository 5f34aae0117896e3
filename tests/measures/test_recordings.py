"""Dissimilarities of noisy responses: rsatoolbox's numbers, definitions and closed forms."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import squareform
from scipy.stats import kendalltau, spearmanr

import resemblance as rs
from resemblance.statistics.rdm import condensed_dissimilarities as dissimilarities_of_statistics

N, D, RUNS = 12, 20, 6
LABELS, NUMBERS = np.tile(np.arange(N), RUNS), np.repeat(np.arange(RUNS), N)
# rsatoolbox 0.3.2, but for the covariance "diagonal", which is by definition: the first six entries
COVARIANCES = {
    None: [2.989847054264, 0.105916521442, -0.349139328048, -0.497194804228, 0.990612921426],
    "only": [2.989847054264, 0.0, 0.0, 0.0, 0.0],
    "identity": [2.763683860238, 0.080509941984, -0.265390013406, -0.377930886496, 0.752991013552],
}
DISSIMILARITIES = {
    "sqeuclidean": [1.484624514617, 2.08848368656, 2.373792206991, 2.11635420003, 2.17567291227],
    "correlation": [0.935840584457, 0.740292270783, 0.784502624169, 1.084972828808, 1.200443218566],
    "poisson": [0.602008492947, 0.512134241486, 0.53653281348, 0.467037220678, 0.35197502338],
}
COMPARISONS = {
    "cosine": 0.971155808619,
    "pearson": 0.794586940586,
    "spearman": 0.751537093962,
    "rho_a": 0.749274605991,
    "kendall_a": 0.572494172494,
    "whitened_cosine": 0.896329689804,
    "whitened_pearson": 0.767954256718,
}


class Recording:
    """Six runs of twelve conditions, and what rsatoolbox was given."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.true = rng.standard_normal((N, D))
        mix = rng.standard_normal((D, D)) / 4 + np.eye(D)
        self.trials = self.true[LABELS] + rng.standard_normal((N * RUNS, D)) @ mix
        self.counts = rng.poisson(3 + 3 * rng.random((N, D))[LABELS]).astype(float)
        rng.standard_normal((N, 40))
        self.variances = tuple(rng.uniform(0.5, 2, N))
        self.noise = rs.noise_covariance(self.trials, LABELS)
        options: dict[str, Any] = {"noise": self.noise, "runs": NUMBERS}
        self.crossnobis = rs.dissimilarities(self.trials, LABELS, **options)
        above = np.round(above_of(rs.dissimilarities(self.true)), 1)  # with ties
        self.model = rs.from_dissimilarities(above)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording()


def above_of(x: rs.Representation) -> np.ndarray:
    return rs.rdm(x)[np.triu_indices(x.shape[0], 1)]


def by_definition(a: np.ndarray, b: np.ndarray, covariance: Any, centered: bool) -> float:
    """Compare two vectors of dissimilarities with V formed and inverted."""
    n, S = len(covariance), np.array(covariance)
    S = np.diag(S) if S.ndim == 1 else S
    contrasts = np.array([np.eye(n)[i] - np.eye(n)[j] for i in range(n) for j in range(i + 1, n)])
    metric = np.linalg.inv((contrasts @ S @ contrasts.T) ** 2)
    if centered:
        ones = np.ones(len(a))
        a, b = (v - (ones @ metric @ v) / (ones @ metric @ ones) for v in (a, b))
    return float(a @ metric @ b / np.sqrt((a @ metric @ a) * (b @ metric @ b)))


# ------------------------------------------------------------------------------------------ points


def with_holes(seed: int, n: int = 12, share: float = 0.2, whole: tuple[int, ...] = ()) -> Any:
    """Return a matrix of dissimilarities; a share of the pairs, and whole conditions, have NaN."""
    rng = np.random.default_rng(seed)
    matrix = rs.rdm(rng.standard_normal((n, 5)), "sqeuclidean") * 1e-6
    holes = np.triu(rng.random((n, n)) < share, 1)
    matrix[holes | holes.T] = np.nan
    for i in whole:
        matrix[i] = matrix[:, i] = np.nan
    np.fill_diagonal(matrix, 0)
    return matrix


def test_any_symmetric_matrix_comes_back_and_its_rows_move(subtests: Any) -> None:
    rng, rows = np.random.default_rng(3), [10, 2, 5, 0]
    matrices = {
        "noise": squareform(rng.standard_normal(66)),
        "equal": 1 - np.eye(12),
        "small": squareform(1e-200 * rng.random(66)),
        "scattered holes": with_holes(1),
        "without two conditions": with_holes(1, whole=(0, 11)),
    }
    for name, matrix in matrices.items():
        with subtests.test(name):
            x = rs.from_dissimilarities(matrix, ids=list("abcdefghijkl"))
            of_vector = rs.from_dissimilarities(squareform(matrix, checks=False))
            chosen = rs.join_samples(rs.Representation(np.eye(4, 3), ids=list("kcfa")), x)[1]
            slack = {"rtol": 0, "atol": 1e-13 * np.nanmax(np.abs(matrix)), "equal_nan": True}
            for y in (x, of_vector, pickle.loads(pickle.dumps(x))):
                assert np.allclose(rs.rdm(y), matrix, **slack)
            assert np.allclose(rs.rdm(chosen), matrix[np.ix_(rows, rows)], **slack)
    zero = rs.from_dissimilarities(np.zeros(66))
    with pytest.raises(rs.UndefinedError):
        rs.rsa(zero, zero)


def test_dissimilarities_are_compared_with_features_and_with_each_other(recording: Any) -> None:
    x, given = recording.true, rs.from_dissimilarities(rs.rdm(recording.true, "sqeuclidean"))
    y = np.random.default_rng(1).standard_normal((N, 5))
    for compare in ("spearman", "pearson", "kendall", "whitened_cosine"):
        measure = rs.rsa.with_parameters(rdm="sqeuclidean", compare=compare)
        assert measure(given, y) == pytest.approx(measure(x, y), abs=1e-12)
    spec = "rsa[rdm=sqeuclidean]"
    of_features, of_given = (
        rs.evidence({"a": a}, {"b": y}, measures=spec, n_permutations=99, progress=False).records()[
            0
        ]
        for a in (x, given)
    )
    numbers = {name for name, v in of_features.items() if type(v) is float} - {"seconds"}
    assert {"value", "low", "high"} <= numbers
    for name in numbers:
        assert of_given[name] == pytest.approx(of_features[name], abs=1e-6)
    with pytest.raises(rs.UndefinedError, match="use rsa"):
        rs.cka(given, y)
    with pytest.raises(rs.UndefinedError, match="use rsa"):
        rs.statistics.feature_split(given)


def test_dissimilarities_in_single_precision_are_taken() -> None:
    x = np.random.default_rng(2).standard_normal((8, 5)).astype("f4")
    matrix = rs.rdm(x).astype("f4")
    matrix[0, 0], matrix[2, 1] = 1e-7, matrix[1, 2] + np.float32(2e-7)
    assert np.allclose(rs.rdm(rs.from_dissimilarities(matrix)), rs.rdm(x), rtol=0, atol=1e-6)


def test_what_is_no_matrix_of_dissimilarities_is_refused(subtests: Any) -> None:
    hole = np.ones((4, 4)) - np.eye(4)
    hole[1, 2] = hole[2, 1] = np.nan
    distances = rs.rdm(np.random.default_rng(4).standard_normal((5, 3)), "euclidean")
    cases = {
        "five pairs": (np.ones(5), "number of pairs"),
        "none": (np.ones(0), "number of pairs"),
        "features": (np.ones((4, 3)), "rs.dissimilarities"),
        "matrices": (np.ones((2, 4, 4)), "each matrix"),
        "vectors": (np.ones((2, 6)), "each matrix or vector"),
        "similarities": (np.eye(4), "diagonal"),
        "one half": (np.triu(np.ones((4, 4)), 1), "symmetric"),
        "an infinite one": (np.where(np.isnan(hole), np.inf, hole), "between conditions 1 and 2"),
        "a hole in one half": (np.where(np.tri(4) > 0, 1 - np.eye(4), hole), "np.fmax"),
        "no pair": (np.full(6, np.nan), "of any pair"),
        "negative ones": (-distances, "not -D"),
        "negative squares": (squareform(-(distances**2)), "not -D"),
        "unreliabilities": (np.ones((4, 4)) + 0.1 * np.eye(4), "fill_diagonal"),
        "words": (np.array([["a", "b"], ["b", "a"]]), "real numbers"),
        "a file": ("distances.csv", "npy"),
    }
    for name, (values, message) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.from_dissimilarities(values)
    # Cross-validated ones may be negative, but not all.
    rs.from_dissimilarities(distances - 0.9 * distances.max() * (1 - np.eye(5)))


REFERENCES = {
    "spearman": lambda a, b: spearmanr(a, b)[0],
    "kendall": lambda a, b: kendalltau(a, b)[0],
    "kendall_a": lambda a, b: kendalltau(a, b)[0],  # without ties
    "rho_a": lambda a, b: spearmanr(a, b)[0],
    "pearson": lambda a, b: np.corrcoef(a, b)[0, 1],
    "cosine": lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)),
}


@pytest.mark.parametrize("compare", REFERENCES)
def test_rsa_takes_the_pairs_that_both_sides_have(compare: Any, subtests: Any) -> None:
    above = np.triu_indices(12, 1)
    features = np.random.default_rng(9).standard_normal((12, 6))
    sides = {
        "one side": (with_holes(1), with_holes(2, share=0)),
        "both sides": (with_holes(1), with_holes(2, share=0.4)),
        "a condition each": (with_holes(1, whole=(3,)), with_holes(2, share=0, whole=(8,))),
        "features": (with_holes(3, whole=(0,)), features),
    }
    for name, (one, other) in sides.items():
        given = rs.from_dissimilarities(one)
        y = other if other is features else rs.from_dissimilarities(other)
        a, b = one[above], rs.rdm(y, "euclidean")[above]
        shared = np.isfinite(a) & np.isfinite(b)
        measure = f"rsa[rdm=euclidean,compare={compare}]"
        with subtests.test(name):
            value = rs.rsa(given, y, rdm="euclidean", compare=compare)
            assert value == pytest.approx(REFERENCES[compare](a[shared], b[shared]), abs=1e-9)
            record = rs.compare({"x": given}, {"y": y}, measures=[measure]).records()[0]
            assert record["value"] == value
            assert record["pairs"] == shared.sum()


def test_missing_dissimilarities_leave_some_without_a_value(subtests: Any) -> None:
    x, y = (rs.from_dissimilarities(with_holes(seed)) for seed in (1, 2))
    few = np.full((12, 12), np.nan)
    few[0, 1] = few[1, 0] = 1.0
    few[1, 2] = few[2, 1] = 2.0
    cases = {
        "two pairs": (lambda: rs.rsa(rs.from_dissimilarities(few), x), "at least 3"),
        "whitened": (lambda: rs.rsa(x, y, compare="whitened_cosine"), "lacks .* compare="),
        "points": (lambda: rs.cka(x, y), "use rsa"),
    }
    for name, (call, message) in cases.items():
        with subtests.test(name), pytest.raises(rs.UndefinedError, match=message):
            call()
    with subtests.test("the remedy"):
        assert np.isfinite(rs.rsa(x, y, compare="pearson"))


# ------------------------------------------------------------------------------------------- noise


def test_covariances_of_noise(recording: Any, subtests: Any) -> None:
    for shrink, expected in COVARIANCES.items():
        with subtests.test(str(shrink)):
            covariance = rs.noise_covariance(recording.trials, LABELS, shrink=shrink)
            assert covariance[0, :5] == pytest.approx(expected, abs=1e-11)
    residuals = recording.trials - recording.trials.reshape(RUNS, N, D).mean(0)[LABELS]
    n, dof = N * RUNS, N * (RUNS - 1)
    z = residuals / np.sqrt((residuals**2).sum(0) / (n - 1))
    w = z[:, :, None] * z[:, None]
    variance = n / (n - 1) ** 3 * ((w - w.mean(0)) ** 2).sum(0)
    off = ~np.eye(D, dtype=bool)
    weight = variance[off].sum() / ((w.sum(0) / (n - 1))[off] ** 2).sum()
    plain = residuals.T @ residuals / dof
    assert np.allclose(recording.noise, np.where(off, (1 - weight) * plain, plain), atol=1e-13)
    given = rs.noise_covariance(residuals, shrink=None, dof=1)
    assert np.allclose(given / dof, plain, atol=1e-13)
    with pytest.raises(ValueError, match="repeated"):
        rs.noise_covariance(recording.true, np.arange(N))


def test_dissimilarities_of_means(recording: Any, subtests: Any) -> None:
    for kind, expected in DISSIMILARITIES.items():
        with subtests.test(kind):
            trials = recording.counts if kind == "poisson" else recording.trials
            x = rs.dissimilarities(trials, LABELS, rdm=kind)
            assert above_of(x)[:5] == pytest.approx(expected, abs=1e-11)
    mahalanobis = rs.dissimilarities(recording.trials, LABELS, noise=recording.noise)
    assert above_of(mahalanobis)[:2] == pytest.approx([1.162282855323, 1.375453097046], abs=1e-11)


def test_crossnobis(recording: Any) -> None:
    means = recording.trials.reshape(RUNS, N, D)
    precision = np.linalg.inv(recording.noise)
    expected = np.zeros((N, N))
    for run in range(RUNS):
        others = np.delete(means, run, axis=0).mean(0)
        for i, j in np.ndindex(N, N):
            product = (others[i] - others[j]) @ precision @ (means[run, i] - means[run, j])
            expected[i, j] += product / D / RUNS
    assert np.allclose(rs.rdm(recording.crossnobis), expected, atol=1e-12)
    twice = np.concatenate([recording.true, recording.true])
    labels, runs = np.tile(np.arange(N), 2), np.repeat([0, 1], N)
    equal = rs.dissimilarities(twice, labels, runs=runs)
    assert np.allclose(rs.rdm(equal), rs.rdm(rs.dissimilarities(recording.true)), atol=1e-12)


@pytest.mark.parametrize("missing", [[(0, 0)], [(0, 0), (1, 2), (1, 3), (4, 4)], [(2, 1), (3, 1)]])
@pytest.mark.parametrize("kind", ["sqeuclidean", "poisson"])
def test_each_pair_of_conditions_has_the_runs_that_hold_both(
    recording: Any, missing: list[tuple[int, int]], kind: str
) -> None:
    """Mean over all pairs of different runs of both, written out."""
    is_there = np.array([(c, r) not in missing for c, r in zip(LABELS, NUMBERS)])
    X, labels, runs = recording.counts[is_there], LABELS[is_there], NUMBERS[is_there]
    found = rs.rdm(rs.dissimilarities(X, labels, runs=runs, rdm=kind))
    rates = (X + 0.1) / 1.1 if kind == "poisson" else X
    other = np.log(rates) if kind == "poisson" else X
    for i, j in combinations(range(N), 2):
        shared = np.intersect1d(runs[labels == i], runs[labels == j])
        first, second = (
            {
                r: v[(labels == i) & (runs == r)][0] - v[(labels == j) & (runs == r)][0]
                for r in shared
            }
            for v in (rates, other)
        )
        if kind == "poisson":  # the logarithm is of one run, the rates of the mean of the others
            means = {r: np.mean([first[s] for s in shared if s != r], axis=0) for r in shared}
            expected = np.mean([means[r] @ second[r] for r in shared]) / D
        else:
            pairs = [first[r] @ second[s] for r in shared for s in shared if r != s]
            expected = np.mean(pairs) / D
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


def test_a_covariance_is_no_precision_and_the_remedy_gives_the_covariance() -> None:
    rng = np.random.default_rng(5)
    for scale in (0.01, 1.0, 30.0):
        mix = scale * (rng.standard_normal((D, D)) + np.eye(D))
        labels = np.repeat(np.arange(8), 6)
        trials = rng.standard_normal((48, D)) @ mix + scale * rng.standard_normal((8, D))[labels]
        covariance = rs.noise_covariance(trials, labels)
        for factor in (1, 0.01, 100, scale**-2):  # of means of trials, of another unit
            rs.dissimilarities(trials, labels, noise=factor * covariance)
        rs.dissimilarities(trials, labels, noise=np.eye(D))
        with pytest.raises(ValueError, match=r"np\.linalg\.inv\(noise\)"):
            rs.dissimilarities(trials, labels, noise=np.linalg.inv(covariance))


def test_one_rule_for_patterns_without_direction(subtests: Any) -> None:
    """Constant rows, also of numbers that have no exact mean, have dissimilarity 1 to all others
    and to each other, in all that correlates patterns."""
    rng = np.random.default_rng(0)
    for d in (2, 7, 100):
        for u, v in ((0.1, 0.7), (0.3, 0.3), (1.3, -0.1), (1e8 / 3, 1e-8 / 3), (0, 0)):
            X = rng.standard_normal((6, d))
            X[0], X[1] = u, v
            X[0, 1:] += 2 * np.spacing(u) * bool(u)  # the rounding of a mean
            with subtests.test(f"{d}, {u}, {v}"):
                kinds = [rs.rdm(X, "correlation"), rs.rdm(rs.dissimilarities(X, rdm="correlation"))]
                kinds.append(squareform(dissimilarities_of_statistics(X, "correlation")))
                for found in kinds:
                    assert np.allclose(found[:2], 1 - np.eye(6)[:2], atol=1e-12)
                assert np.allclose(kinds[0], kinds[1], atol=1e-12)
                zero = np.where(np.arange(6)[:, None] < 2, 0, X)
                for found in (
                    rs.rdm(zero, "cosine"),
                    rs.rdm(rs.dissimilarities(zero, rdm="cosine")),
                ):
                    assert np.allclose(found[:2], 1 - np.eye(6)[:2], atol=1e-12)


def test_one_feature_has_no_correlation_and_equal_responses_no_dissimilarity() -> None:
    X = np.array([[1.0], [5.0], [9.0]])
    for f in (rs.rdm, lambda X: rs.dissimilarities(X, rdm="correlation")):
        with pytest.raises(ValueError, match="one feature"):
            f(X)
    assert rs.rdm(X, "euclidean")[0].tolist() == [0, 4, 8]  # the remedy
    assert rs.rdm(X, "cosine").max() < 1e-12
    assert not rs.rdm(rs.from_dissimilarities(np.zeros((4, 4)))).any()
    assert not rs.rdm(rs.dissimilarities(np.ones((4, 3)))).any()
    runs = np.repeat([0, 1], 3)
    assert not rs.rdm(rs.dissimilarities(np.ones((6, 3)), [0, 1, 2] * 2, runs=runs)).any()


def test_conditions_are_the_samples() -> None:
    words = np.array(["cat", "ant", "bee"] * 4)
    x = rs.dissimilarities(np.random.default_rng(0).standard_normal((12, 5)), words, name="V1")
    assert (x.ids, x.name, x.shape[0]) == (("ant", "bee", "cat"), "V1", 3)
    assert "sqeuclidean" in repr(x)


def test_recordings_that_do_not_fit_are_refused(recording: Any, subtests: Any) -> None:
    trials, short = recording.trials, NUMBERS.copy()
    short[LABELS == 0] = 1  # condition 0 is in one run
    inverse = np.linalg.inv(recording.noise)
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "a condition without a run": ("conditions 0 and 1 are together in 1 of 6", {"runs": short}),
        "a precision": ("inv", {"noise": inverse}),
        "a precision of runs": ("inv", {"noise": 2 * inverse / 3, "runs": NUMBERS}),
        "noise of each run": ("mean", {"noise": np.array([np.eye(D)] * RUNS), "runs": NUMBERS}),
        "one run": ("two or more", {"runs": np.zeros(len(trials))}),
        "runs of another length": ("runs", {"runs": NUMBERS[1:]}),
        "no unbiased form": ("no unbiased form", {"runs": NUMBERS, "rdm": "correlation"}),
        "noise of a correlation": ("noise", {"noise": np.eye(D), "rdm": "cosine"}),
        "noise of other features": ("noise", {"noise": np.eye(3)}),
        "noise without an inverse": ("shrink", {"noise": np.ones((D, D))}),
        "negative counts": ("negative", {"rdm": "poisson"}),
        "no weight": ("prior", {"rdm": "poisson", "prior": (1.0, 0.0)}),
        "one number of a prior": ("prior", {"rdm": "poisson", "prior": 1.0}),
        "noise in a word": ("noise_covariance", {"noise": "shrinkage"}),
        "a feature without noise": ("feature 0", {"noise": np.diag(np.arange(D))}),
        "another kind": ("rdm", {"rdm": "crossnobis"}),
    }
    for name, (message, options) in cases.items():
        data = abs(trials) if "prior" in options else trials
        with subtests.test(name), pytest.raises(ValueError, match=message):
            rs.dissimilarities(data, LABELS, **options)
    calls = {
        "trials in time": ("from_trials", lambda: rs.dissimilarities(trials[:, :, None], LABELS)),
        "runs alone": ("runs need conditions", lambda: rs.dissimilarities(trials, runs=NUMBERS)),
        "labels of another length": (
            "noise_covariance: conditions",
            lambda: rs.noise_covariance(trials, LABELS[1:]),
        ),
        "freedom in a word": (
            "degrees of freedom",
            lambda: rs.noise_covariance(trials, LABELS, dof="all"),  # type: ignore[arg-type]
        ),
        "infinite": (
            "infinite",
            lambda: rs.dissimilarities(np.where(trials > 2, np.inf, trials), LABELS),
        ),
        "dissimilarities": ("features", lambda: rs.dissimilarities(recording.crossnobis)),
    }
    for name, (message, call) in calls.items():
        with subtests.test(name), pytest.raises(ValueError, match=message):
            call()


def test_means_are_over_the_trials_that_have_a_number(recording: Any, subtests: Any) -> None:
    trials = np.array(recording.trials)
    trials[5, 3], trials[17] = np.nan, np.nan
    ok = np.isfinite(trials).any(axis=1)
    means = np.array([np.nanmean(trials[i == LABELS], axis=0) for i in range(N)])
    between = ((means[:, None] - means) ** 2).mean(axis=2)
    with subtests.test("means"):
        with pytest.warns(UserWarning, match="2 of 72 trials"):
            value = rs.condition_means(trials, LABELS).array
        assert np.allclose(value, means, rtol=0, atol=1e-12)
    with subtests.test("dissimilarities"):
        with pytest.warns(UserWarning, match="2 of 72 trials"):
            value = rs.rdm(rs.dissimilarities(trials, LABELS))
        assert np.allclose(value, between, rtol=0, atol=1e-12)
    trials[5, 3] = 0.0
    with subtests.test("crossnobis"):
        with pytest.warns(UserWarning, match="1 of 72 trials"):
            value = rs.rdm(rs.dissimilarities(trials, LABELS, runs=NUMBERS))
        expected = rs.rdm(rs.dissimilarities(trials[ok], LABELS[ok], runs=NUMBERS[ok]))
        assert np.allclose(value, expected, rtol=0, atol=1e-12)
    with subtests.test("noise"):
        with pytest.warns(UserWarning, match="1 of 72 trials.*left out"):
            value = rs.noise_covariance(trials, LABELS)
        assert np.array_equal(value, rs.noise_covariance(trials[ok], LABELS[ok]))
    trials[LABELS == 2, 0] = np.nan
    with subtests.test("a feature without a number"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(rs.UndefinedError, match="condition 2 has no number of feature 0"):
            rs.dissimilarities(trials, LABELS)
    with subtests.test("a condition without a trial"):
        trials = np.where(LABELS[:, None] == 2, np.nan, recording.trials)
        with pytest.warns(UserWarning, match="trials"):
            value = rs.rdm(rs.dissimilarities(trials, LABELS))
        rest = np.arange(N) != 2
        assert np.isnan(value[2, rest]).all()
        whole = rs.rdm(rs.dissimilarities(recording.trials, LABELS))
        assert np.allclose(value[np.ix_(rest, rest)], whole[np.ix_(rest, rest)], atol=1e-12)
    with subtests.test("infinite"), pytest.raises(rs.UndefinedError, match="infinite"):
        rs.condition_means(np.where(trials > 1, np.inf, trials), LABELS)
    with subtests.test("a condition without any number"):
        trials = np.where(LABELS[:, None] == 4, np.nan, recording.trials)
        means = rs.condition_means(trials, LABELS).array
        assert np.array_equal(np.isnan(means).all(axis=1), np.arange(N) == 4)
    with (
        subtests.test("given dissimilarities"),
        pytest.raises(rs.UndefinedError, match="missing dissimilarities"),
    ):
        rs.condition_means(rs.from_dissimilarities(with_holes(1)), np.arange(12) // 2)


# ------------------------------------------------------------------------------------- comparisons


@pytest.mark.filterwarnings("ignore::resemblance.UninformativeWarning")
def test_comparisons_are_the_peers(recording: Any, subtests: Any) -> None:
    for compare, expected in COMPARISONS.items():
        with subtests.test(compare):
            value = rs.rsa(recording.crossnobis, recording.model, compare=compare)
            assert value == pytest.approx(expected, abs=2e-11)
    a, b = (above_of(x) for x in (recording.crossnobis, recording.model))
    signs = [np.sign(v[:, None] - v) for v in (a, b)]
    pairs = len(a) * (len(a) - 1)
    concordance = (signs[0] * np.where(np.abs(b[:, None] - b) < 1e-9, 0, signs[1])).sum() / pairs
    value = rs.rsa(recording.crossnobis, recording.model, compare="kendall_a")
    assert value == pytest.approx(concordance, abs=1e-12)


def neighbor_noise(n: int) -> np.ndarray:
    """Return a covariance of conditions with noise that neighbours share, as of slow responses."""
    sizes = np.linspace(0.5, 2, n)
    return 0.6 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * np.outer(sizes, sizes)


def test_whitened_comparisons_are_those_of_the_definition(recording: Any, subtests: Any) -> None:
    a, b = (above_of(x) for x in (recording.crossnobis, recording.model))
    for covariance in (None, recording.variances, neighbor_noise(N)):
        for compare in ("whitened_cosine", "whitened_pearson"):
            with subtests.test(f"{compare} {covariance is None}"):
                measure = rs.rsa.with_parameters(compare=compare, covariance=covariance)
                filled = np.ones(N) if covariance is None else covariance
                exact = by_definition(a, b, filled, compare.endswith("pearson"))
                value = measure(recording.crossnobis, recording.model)
                assert value == pytest.approx(exact, abs=1e-12)
    x, y = np.random.default_rng(8).standard_normal((2, 30, 8))
    whitened = rs.rsa(x, y, rdm="sqeuclidean", compare="whitened_cosine")
    assert whitened == pytest.approx(rs.cka(x, y), abs=1e-13)


def test_whitened_comparisons_without_each_sample(subtests: Any) -> None:
    x, y = np.random.default_rng(9).standard_normal((2, 9, 6))
    for covariance in (None, tuple(np.linspace(0.5, 2, 9)), neighbor_noise(9)):
        for compare in ("whitened_cosine", "whitened_pearson"):
            with subtests.test(f"{compare} {covariance is None}"):
                measure = rs.rsa.with_parameters(
                    rdm="sqeuclidean", compare=compare, covariance=covariance
                )
                without = measure.leave_one_out(*map(rs.as_representation, (x, y)))
                for i in range(9):
                    rest = np.delete(np.arange(9), i)
                    few = covariance
                    for axis in range(np.ndim(covariance)):
                        few = np.delete(few, i, axis=axis)
                    value = measure.with_parameters(covariance=few)(x[rest], y[rest])
                    assert without[i] == pytest.approx(value, abs=1e-12)


def test_variances_that_do_not_fit_are_refused(subtests: Any) -> None:
    x = np.random.default_rng(0).standard_normal((6, 3))
    cases = {
        "too few": ((1.0, 2.0), "whitened_cosine"),
        "zero": ((0.0,) * 6, "whitened_pearson"),
        "not a number": ((np.nan,) * 6, "whitened_pearson"),
        "not whitened": ((1.0,) * 6, "cosine"),
        "not symmetric": (np.triu(np.ones((6, 6))), "whitened_cosine"),
        "not positive definite": (np.ones((6, 6)), "whitened_cosine"),
        "of five samples": (np.eye(5), "whitened_pearson"),
    }
    for name, (covariance, compare) in cases.items():
        with subtests.test(name), pytest.raises(ValueError, match="covariance"):
            rs.rsa(x, x + 1, compare=compare, covariance=covariance)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e200])
def test_dissimilarities_of_any_size_are_right_or_refused(size):
    x, conditions = np.random.default_rng(0).standard_normal((40, 6)), np.repeat(range(10), 4)
    for kind, power in (("euclidean", 1), ("correlation", 0)):
        expected = rs.rdm(rs.dissimilarities(x, conditions, rdm=kind)) * size**power
        found = rs.rdm(rs.dissimilarities(size * x, conditions, rdm=kind))
        assert np.allclose(found, expected, rtol=1e-9, atol=0)
    with pytest.raises(ValueError, match="divide X by its size first"):
        rs.dissimilarities(size * x, conditions)
    assert rs.rdm(rs.dissimilarities(size * x / size, conditions)).shape == (10, 10)


@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.parametrize("options", [{}, {"runs": NUMBERS}, {"rdm": "euclidean"}])
def test_responses_far_from_the_origin_keep_their_digits(
    recording: Any, offset: float, options: Any
) -> None:
    far = recording.trials + offset
    value, expected = (
        rs.rdm(rs.dissimilarities(x, LABELS, **options)) for x in (far, far - offset)
    )
    assert np.allclose(value, expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(rs.UndefinedError, match="centre first"):
        rs.dissimilarities(recording.trials + 1e17, LABELS, **options)


@pytest.mark.parametrize("kind", ["sqeuclidean", "correlation"])
def test_gram_matrices_of_given_distances_are_those_of_features(kind: str) -> None:
    x, y = np.random.default_rng(2).standard_normal((2, 10, 14))
    given = [rs.from_dissimilarities(rs.rdm(v, kind)) for v in (x, y)]
    if kind == "correlation":  # half the squared distances of centred rows of length 1
        x, y = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
        x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) / 2**0.5 for v in (x, y))
    for measure in (rs.nbs, rs.bures, rs.riemannian.with_parameters(shrinkage=0.2)):
        expected = pytest.approx(measure(x, y), rel=1e-6)
        assert measure(*given) == expected
        assert measure(given[0], y) == expected
    subjects = {"a": given[1], "b": y}
    scores = rs.score_models({"m": given[0]}, subjects, measure="nbs", progress=False)
    assert scores.values[:, 0] == pytest.approx([rs.nbs(x, y)] * 2, abs=1e-9)


def test_dissimilarities_without_a_gram_matrix_are_refused(recording: Any, subtests: Any) -> None:
    missing = rs.rdm(recording.model).copy()
    missing[0, 1] = missing[1, 0] = np.nan
    for name, x in (
        ("cross-validated", recording.crossnobis),
        ("missing", rs.from_dissimilarities(missing)),
    ):
        for measure in (rs.nbs, rs.bures, rs.riemannian):
            with (
                subtests.test(f"{name} {measure}"),
                pytest.raises(rs.UndefinedError, match="runs="),
            ):
                measure(x, recording.model)
